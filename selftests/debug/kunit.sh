#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# KUnit of the AUX arithmetic and sink states, in the debug kernel.

results=/sys/kernel/debug/kunit/ntrace_aux/results
ko=${DRIVER%/*}/ntrace_aux_test.ko

[ -d /sys/kernel/debug/kunit ] || { echo "1..0 # SKIP this kernel has no KUnit"; exit 4; }
# what is built in has run at boot
loaded=
if [ ! -e $results ]; then
	insmod "$ko" || { echo "Bail out! $ko does not load"; exit 1; }
	loaded=1
fi
awk -f "$(dirname "$0")/ktap.awk" -v suite=ntrace_aux $results
status=$?
[ -z "$loaded" ] || rmmod ntrace_aux_test
exit $status
