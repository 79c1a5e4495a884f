#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The module comes and goes, and so do CPUs.

. "$(dirname "$0")/lib"
ko=$DRIVER
cpu=$((CPUS - 1))
# Of a module the kernel says whether it is live.
builtin=
if [ ! -e /sys/module/ntrace/initstate ]; then
	builtin="the driver is built into this kernel"
elif [ -z "$ko" ]; then
	skip "\$DRIVER does not say where ntrace.ko is"
fi

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
	local status=0

	record_until -o /tmp/module.data -- || return 1
	rmmod ntrace 2>/dev/null && status=1
	end_behind && return $status
}

online()	# 0|1
{
	echo "$1" >/sys/devices/system/cpu/cpu$cpu/online
}

# Off and on under an event that traces all CPUs
hotplug()
{
	local status=0

	record_until -o /tmp/module.data -a -- || return 1
	sleep 0.5
	online 0 && sleep 0.5 && online 1 || status=1
	end_behind && return $status
}

offline_task()
{
	online 0 || return 1
	event_works
	status=$?
	online 1
	return $status
}

again()
{
	perf record -q -e ntrace//u -C $cpu -o /tmp/module.data -- taskset -c $cpu true
}

echo 1..6
if [ -n "$builtin" ]; then
	skipped "unloads and loads ten times" "$builtin"
	skipped "does not unload while used" "$builtin"
else
	check "unloads and loads ten times" reload
	check "does not unload while used" busy
fi
check "works afterwards" event_works
check "a CPU goes offline and online while it is traced" hotplug
check "tasks are traced while a CPU is offline" offline_task
check "the CPU that came back is traced" again
rm -f /tmp/module.data
finish
