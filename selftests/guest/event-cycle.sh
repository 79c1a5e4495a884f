#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Events opened and closed; check-debug asks for ten thousand.
. "$(dirname "$0")/lib"
exec event-cycle "${CYCLES:-1000}"
