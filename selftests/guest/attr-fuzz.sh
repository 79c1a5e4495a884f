#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Random events; check-debug asks for a million.
# beside the script, where a kernel tree has them
PATH=$PATH:$(dirname "$0")
exec attr-fuzz "${ATTRS:-5000}"
