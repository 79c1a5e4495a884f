#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Events opened and closed; check-debug asks for ten thousand.
# beside the script, where a kernel tree has them
PATH=$PATH:$(dirname "$0")
exec event-cycle "${CYCLES:-1000}"
