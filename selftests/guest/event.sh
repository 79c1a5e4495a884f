#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The PMU as perf_event_open() shows it.
# beside the script, where a kernel tree has them
PATH=$PATH:$(dirname "$0")
exec event-test
