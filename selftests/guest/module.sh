#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The module comes and goes, and so do CPUs.

pmu=/sys/bus/event_source/devices/ntrace
ko=$PROJECT/build/kernel-module/ntrace.ko
cpu=$((CPUS - 1))
n=0

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

works()
{
	event-test 'HTM: user space' | grep -q '^ok 1 - HTM'
}

# record ARGUMENT...: perf in the background, its events open
record()
{
	perf record -q -e ntrace//u -o /tmp/module.data "$@" &
	for i in $(seq 100); do
		[ "$(cat /sys/module/ntrace/refcnt)" = 0 ] || return 0
		sleep 0.1
	done
	return 1
}

reload()
{
	for i in 1 2 3 4 5 6 7 8 9 10; do
		rmmod ntrace || return 1
		[ ! -e $pmu ] || return 1
		insmod "$ko" || return 1
		[ -e $pmu/cpu$cpu ] || return 1
	done
}

# Unloading must fail as long as somebody has an event open, and must not hurt it.
busy()
{
	record -- sleep 2 || return 1
	rmmod ntrace 2>/dev/null && return 1
	wait $!
}

online()	# 0|1
{
	echo "$1" >/sys/devices/system/cpu/cpu$cpu/online
}

# Off and on under an event that traces all CPUs
hotplug()
{
	record -a -- sleep 3 || return 1
	sleep 0.5
	online 0 && sleep 0.5 && online 1 || return 1
	wait $!
}

offline_task()
{
	online 0 || return 1
	works
	status=$?
	online 1
	return $status
}

again()
{
	perf record -q -e ntrace//u -C $cpu -o /tmp/module.data -- taskset -c $cpu true
}

echo 1..6
check "unloads and loads ten times" reload
check "does not unload while used" busy
check "works afterwards" works
check "a CPU goes offline and online while it is traced" hotplug
check "tasks are traced while a CPU is offline" offline_task
check "the CPU that came back is traced" again
rm -f /tmp/module.data
