#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# machines: per-hart funnel2
# No memory, each time somewhere else.
exec fault-inject mmap
