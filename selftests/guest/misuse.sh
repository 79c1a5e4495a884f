#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# What perf lets people ask for, and ntrace cannot do: it is refused with a reason, and
# nothing is hurt by it.

. "$(dirname "$0")/lib"
data=/tmp/misuse.data
log=/tmp/misuse.log

count()
{
	dmesg -c >/dev/null
	perf stat -e ntrace//u -- true >$log 2>&1
	grep -q '<not supported>' $log && dmesg | grep -q 'trace cannot be counted'
}

count_all()
{
	perf stat -a -e ntrace//u -- true >$log 2>&1
	grep -q '<not supported>' $log
}

# first ARGUMENT...: somebody traces for a while
first()
{
	record_behind -o /tmp/misuse.first "$@" sleep 3 >/dev/null 2>&1
}

# second ARGUMENT...: somebody else wants to, who has to wait until the first is done
second()
{
	if perf record -e ntrace//u -o $data "$@" true >$log 2>&1; then
		wait $!
		return 1
	fi
	wait $! && grep -qi busy $log && perf record -q -e ntrace//u -o $data "$@" true >$log 2>&1
}

task_after_cpus()
{
	first -a -- && second --
}

cpus_after_task()
{
	first -- && second -a --
}

sampled()
{
	perf record -q -F 1000 -e ntrace//u -o $data -- qsort >$log 2>&1 &&
		[ "$(perf script -i $data --itrace=i10000i -F comm,ip 2>>$log | grep -c '^ *qsort ')" -gt 10 ]
}

echo 1..5
check "perf stat: not supported, and the log says why" count
check "perf stat -a: likewise" count_all
check "a task, while all CPUs are traced: busy, then not" task_after_cpus
check "all CPUs, while a task is traced: busy, then not" cpus_after_task
check "a frequency that perf is told is none for the event" sampled
rm -f $data $log /tmp/misuse.first
finish
