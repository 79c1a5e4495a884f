#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# perf takes a name that begins with perf- for one of its commands.
exec /usr/libexec/perf-ntrace/perf "$@"
