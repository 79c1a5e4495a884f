#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The system is suspended, as far as to frozen tasks and back, while it is traced:
# trace goes on afterwards.

n=0
data=/tmp/power.data

check()		# DESCRIPTION COMMAND...
{
	what=$1
	shift
	n=$((n + 1))
	if "$@"; then
		echo "ok $n - $what"
	else
		echo "not ok $n - $what"
	fi
}

if [ ! -w /sys/power/pm_test ] || ! grep -q freeze /sys/power/state; then
	echo "1..0 # SKIP a kernel without tests of suspending"
	exit
fi

before=$(cat /sys/module/suspend/parameters/pm_test_delay)
echo 1 >/sys/module/suspend/parameters/pm_test_delay

suspend()	# HOW FAR
{
	echo "$1" >/sys/power/pm_test && echo freeze >/sys/power/state
	status=$?
	echo none >/sys/power/pm_test
	return $status
}

# traced PATTERN: how often decoded samples of that program are in the file
traced()
{
	perf script -i $data --itrace=i10000i -F comm,ip 2>/dev/null | grep -c "^ *$1 "
}

all()
{
	perf record -q -a -e ntrace//u -o $data -- sh -c 'sleep 4; qsort' >/dev/null &
	sleep 1
	suspend freezer || return 1
	wait $! && [ "$(traced qsort)" -gt 10 ]
}

task()
{
	perf record -q -e ntrace//u -o $data -- sh -c '
		echo freezer >/sys/power/pm_test; echo freeze >/sys/power/state
		echo none >/sys/power/pm_test; qsort' >/dev/null && [ "$(traced qsort)" -gt 10 ]
}

ring()
{
	perf record -q -Se -m,64K -a -e ntrace//u -o $data -- sh -c '
		echo freezer >/sys/power/pm_test; echo freeze >/sys/power/state
		echo none >/sys/power/pm_test; qsort' >/dev/null && [ "$(traced qsort)" -gt 1 ]
}

idle()
{
	suspend freezer && event-test 'HTM: user space' | grep -q '^ok 1 - HTM'
}

echo 1..4
check "all CPUs are traced, and go on after a suspend" all
check "a task is traced, and goes on after a suspend" task
check "a circular buffer goes on after a suspend" ring
check "what was not used is usable after a suspend" idle
echo "$before" >/sys/module/suspend/parameters/pm_test_delay
rm -f $data
