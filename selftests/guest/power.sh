#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Components are on while an event is open whose trace goes through them, and off
# otherwise. The system is suspended, as far as to frozen tasks and back, while it is
# traced: trace goes on afterwards. (Beyond that, the guest's files would not: lab/power.)

. "$(dirname "$0")/lib"
data=/tmp/power.data

# Something that a file says only after a while
comes()		# WANTED FILE
{
	for i in $(seq 600); do
		[ "$(cat "$2")" = "$1" ] && return
		sleep 0.1
	done
	echo "# $2: $(cat "$2"), not $1"
	return 1
}

# What is recorded waits for the file, and says that it runs by another.
on=/tmp/power.on go=/tmp/power.go
waits=">$on; until [ -e $go ]; do sleep 0.1; done"
runs()
{
	for i in $(seq 600); do
		[ ! -e $on ] || return 0
		sleep 0.1
	done
	echo "# perf does not run the program"
	return 1
}
goes_on()	# PID OF PERF
{
	>$go
	wait $1
	ended=$?
	rm -f $on $go
	return $ended
}

# all STATUS: of every component
all_are()
{
	for d in $drv/*.trace; do
		comes $1 $d/power/runtime_status || return 1
	done
}

clocks()	# WANTED: so many components have their clock on
{
	comes $1 /sys/kernel/debug/clk/trace-clock/clk_enable_count
}

unused()
{
	all_are suspended && clocks 0
}

# Those of CPU 0 are on as long as somebody has an event there, whether it runs or not.
used()
{
	set -- $drv/*.trace
	perf record -q -C 0 -e ntrace//u -o $data -- sh -c "$waits" >/dev/null &
	runs && comes active $pmu/cpu0/power/runtime_status &&
		sink=$(cat $pmu/cpu0/sink) &&
		comes active $drv/$sink/power/runtime_status &&
		clocks 2
	status=$?
	goes_on $!
	[ $status = 0 ] && unused
}

everything()
{
	set -- $drv/*.trace
	perf record -q -a -e ntrace//u -o $data -- sh -c "$waits; qsort" >/dev/null &
	runs && all_are active && clocks $#
	status=$?
	goes_on $! && [ $status = 0 ] && [ "$(traced qsort)" -gt 10 ] && unused
}

if [ ! -w /sys/power/pm_test ] || ! grep -q freeze /sys/power/state; then
	skip "a kernel without tests of suspending"
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
	perf record -q -a -e ntrace//u -o $data -- sh -c "$waits; qsort" >/dev/null &
	runs && suspend freezer
	status=$?
	goes_on $! && [ $status = 0 ] && [ "$(traced qsort)" -gt 10 ]
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
	suspend freezer && event_works
}

echo 1..7
check "nobody has an event: every component is off, and so is its clock" unused
check "an event on a CPU: what it needs is on" used
check "events on all CPUs: everything is on, then off" everything
check "all CPUs are traced, and go on after a suspend" all
check "a task is traced, and goes on after a suspend" task
check "a circular buffer goes on after a suspend" ring
check "what was not used is usable after a suspend" idle
echo "$before" >/sys/module/suspend/parameters/pm_test_delay
rm -f $data
finish
