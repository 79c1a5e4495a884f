#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Every component of the machine is unbound while it records, and bound again: what records ends
# well, what comes later is refused until the component is back. UNBIND="NAME..." of them, where
# others are like these; the storm has all.

. "$(dirname "$0")/lib"
data=/tmp/unbind.data

if [ ! -w $drv/unbind ]; then
	skip "nothing can be unbound"
fi

cd $drv
devices=$(echo *.trace)
cd /tmp

# What cannot be traced while a component is missing is refused, and nothing else.
record()	# ARGUMENT...
{
	perf record -q -e ntrace//u -o $data "$@" >/dev/null
}

# The last bytes of a CPU's trace, and that the file says that there is no more
ends_early()
{
	perf report -D -i $data 2>/dev/null | grep 'PERF_RECORD_AUX ' >/tmp/unbind.aux
	grep -q 'flags: 0x4' /tmp/unbind.aux && grep -qv 'size: 0 ' /tmp/unbind.aux
}

under_cpus()	# DEVICE
{
	perf record -q -a -e ntrace//u -o $data -- sh -c "true; sleep 0.3
		echo $1 >$drv/unbind; true; sleep 0.3" >/dev/null || return 1
	[ ! -e $drv/$1 ] && ends_early || return 1
	echo $1 >$drv/bind && [ -e $drv/$1 ]
}

under_task()	# DEVICE
{
	record -- sh -c "true; echo $1 >$drv/unbind; true" || return 1
	[ ! -e $drv/$1 ] || return 1
	echo $1 >$drv/bind
}

bridge()	# DEVICE
{
	grep -q bridge /sys/bus/platform/devices/$1/of_node/compatible
}

# Whose trace can go over a bridge, if it is asked for by its name
behind()	# DEVICE: the CPU
{
	for cpu in $(seq 0 $((CPUS - 1))); do
		perf record -q -e ntrace/@$1/u -C $cpu -o $data -- true >/dev/null 2>&1 && echo $cpu
	done
}

under_bridge()	# DEVICE
{
	cpu=$(behind $1)
	[ -n "$cpu" ] || return 1
	perf record -q -e ntrace/@$1/u -C $cpu -o $data -- sh -c "taskset -c $cpu true
		echo $1 >$drv/unbind; taskset -c $cpu true" >/dev/null || return 1
	[ ! -e $drv/$1 ] && echo $1 >$drv/bind && [ "$(behind $1)" = "$cpu" ]
}

# Some CPU cannot be traced without it, and the log says why.
refused()	# DEVICE
{
	dmesg -c >/dev/null
	echo $1 >$drv/unbind
	traced=0
	for cpu in $(seq 0 $((CPUS - 1))); do
		record -C $cpu -- true 2>/dev/null && traced=$((traced + 1))
	done
	if bridge $1; then
		[ $traced = $CPUS ] && [ -z "$(behind $1)" ]
	else
		[ $traced -lt $CPUS ] && dmesg | grep -q 'cannot be traced\|refused, unbound'
	fi
	status=$?
	echo $1 >$drv/bind && return $status
}

works()
{
	record -- qsort || return 1
	record -a -- qsort || return 1
	[ "$(perf script -i $data --itrace=i10000i -F comm,ip 2>/dev/null |
		grep -c '^ *qsort ')" -gt 10 ]
}

# Everything comes and goes while perf opens and closes events as fast as it can.
storm()
{
	rm -f /tmp/unbind.stop
	while [ ! -e /tmp/unbind.stop ]; do
		perf record -q -a -e ntrace//u -o /tmp/unbind.1 -- sleep 0.1
		perf record -q -e ntrace//u -m,64K -o /tmp/unbind.2 -- qsort
		perf record -q -Se -m,64K -a -e ntrace//u -o /tmp/unbind.3 -- sleep 0.1
	done >/dev/null 2>&1 &
	for round in 1 2 3 4 5 6; do
		for d in $devices; do
			echo $d >$drv/unbind || return 1
			echo $d >$drv/bind || return 1
		done
		for d in $devices; do
			echo $d >$drv/unbind || return 1
		done
		sleep 0.2
		for d in $devices; do
			echo $d >$drv/bind || return 1
		done
	done
	>/tmp/unbind.stop
	wait $!
	no_users
}

set -- ${UNBIND:-$devices}
echo 1..$(($# * 3 + 2))
for d; do
	if bridge $d; then
		check "$d: a trace that goes there ends" under_bridge $d
	else
		check "$d: a trace of all CPUs ends early, and says so" under_cpus $d
	fi
	check "$d: a trace of a task goes on as far as it can" under_task $d
	check "$d: what needs it is refused" refused $d
done
check "everything comes and goes while events do" storm
check "everything works afterwards" works
rm -f /tmp/unbind.* $data
finish
