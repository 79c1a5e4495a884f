#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# No memory, each time somewhere else.
exec fault-inject load "$DRIVER"
