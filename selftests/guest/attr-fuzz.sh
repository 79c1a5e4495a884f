#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Random events; check-debug asks for a million.
. "$(dirname "$0")/lib"
exec attr-fuzz "${ATTRS:-5000}"
