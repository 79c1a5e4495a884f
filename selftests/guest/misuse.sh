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

# first ARGUMENT...: somebody traces until told to end
first()
{
	record_until -o /tmp/misuse.first "$@" >/dev/null 2>&1
}

# second ARGUMENT...: somebody else wants to, who has to wait until the first is done
second()
{
	local refused=0

	perf record -e ntrace//u -o $data "$@" true >$log 2>&1 || refused=1
	end_behind && [ $refused = 1 ] && grep -qi busy $log &&
		perf record -q -e ntrace//u -o $data "$@" true >$log 2>&1
}

task_after_cpus()
{
	first -a -- && second --
}

cpus_after_task()
{
	first -- && second -a --
}

# refused WORDS ARGUMENT...: perf record says why, and leaves no file
refused()
{
	local words=$1

	shift
	rm -rf $data
	! perf record -o $data "$@" -- true >$log 2>&1 && grep -q -- "$words" $log && [ ! -e $data ]
}

# The same options are right for an event that is sampled.
beside()
{
	perf record -q -c 1000000 -o $data -e ntrace//u -e cpu-clock:u -- qsort >$log 2>&1
}

stalled_kernel()
{
	refused "stall traces user space only.*use ntrace/stall/u" -e ntrace/stall/ &&
		! grep -q sampling $log
}

# Who may not read /proc/kcore
unprivileged()
{
	if command -v start-stop-daemon >/dev/null; then
		start-stop-daemon -S -c 65534:65534 -x "$(command -v perf)" -- "$@"
	else
		setpriv --reuid=65534 --clear-groups perf "$@"
	fi
}

kcore_of_others()
{
	mkdir -p /tmp/misuse.dir && chmod 777 /tmp/misuse.dir
	! (cd /tmp/misuse.dir && unprivileged record --kcore -e ntrace//u -- true) >$log 2>&1 &&
		grep -q -- '--kcore copies /proc/kcore, which cannot be read.*ntrace//u' $log &&
		! grep -q 'session creation' $log
}

# A circular area of which nobody took a copy
no_snapshot()
{
	perf record -S -m,64K -e ntrace//u -o $data -- true >$log 2>&1
	grep -q 'no snapshot was taken.*SIGUSR2.*-Se' $log
}

# The sink may have filled a small window before the driver looks whether it started.
small_windows()
{
	dmesg -c >/dev/null
	for i in 1 2 3; do
		perf record -m,8K -e ntrace//u -o $data -- bigtrace >$log 2>&1 || return 1
	done
	! dmesg | grep -e 'timed out' -e 'its register reads'
}

lost()
{
	perf script -i $data --itrace=b -F ip >/dev/null 2>$log
	grep -q 'AUX records have lost trace, though there was room' $log && ! grep -q KVM $log
}

echo 1..14
check "perf stat: not supported, and the log says why" count
check "perf stat -a: likewise" count_all
check "a task, while all CPUs are traced: busy, then not" task_after_cpus
check "all CPUs, while a task is traced: busy, then not" cpus_after_task
for option in "frequency (-F option):-F 1000" "period (-c option):-c 1000" \
		"call chains (-g option):-g" "branch stacks (-b, -j options):-b"; do
	# shellcheck disable=SC2086
	check "refused in words: ${option#*:}" \
		refused "${option%:*} with ntrace" ${option#*:} -e ntrace//u
done
check "-c beside another event is that event's" beside
check "stall with the kernel: perf says why" stalled_kernel
check "--kcore without the right to it: perf says so" kcore_of_others
check "-S without a signal: perf says that there is no trace, and what to do" no_snapshot
check "windows of a page: none is taken for hardware that does not answer" small_windows
check "a loss is told in words of this trace" lost
rm -rf $data $log /tmp/misuse.first /tmp/misuse.dir
finish
