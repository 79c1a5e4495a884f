#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The PMU as perf_event_open() shows it.
. "$(dirname "$0")/lib"
exec event-test
