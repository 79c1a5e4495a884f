#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The test of topologies.sh on the machine with sixteen harts.

# alone: with less than two processors the timers of sixteen harts leave no time for anything else

TOPOLOGIES=clusters exec "$(dirname "$0")/topologies.sh"
