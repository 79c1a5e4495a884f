#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Eight recorders at once, CPUs that come and go, random events that open and close, for
# SECONDS_OF_STORM: mostly of tasks, in one quarter of the time of CPUs. A recorder may find
# the PMU busy, or that its CPU has just gone, and nothing else.

. "$(dirname "$0")/lib"
seconds=${SECONDS_OF_STORM:-20}
dir=/tmp/storm
command -v perf >/dev/null && perf record -q -e ntrace//u -o /dev/null true 2>/dev/null ||
	skip "no perf that knows ntrace"
rm -rf $dir
mkdir -p $dir
start=$(date +%s)

# for how long the storm has gone on
age()
{
	echo $(($(date +%s) - start))
}

more()
{
	[ "$(age)" -lt "$seconds" ]
}

# On a slow machine a recorder has not recorded anything by then: it goes on alone.
once_more()
{
	! grep -qs '^recorded$' $dir/$number.log && [ "$(age)" -lt $((10 * seconds)) ]
}

# kind NUMBER: perf's options for a while
kind()
{
	if [ $(($(age) / 5 % 4)) = 3 ]; then
		echo "-C $(($1 % CPUS))"
		return
	fi
	case $1 in
	1) echo --per-thread ;;
	2) echo "-S" ;;
	3) echo "-m16,64K" ;;
	*) echo "-m16,1M" ;;
	esac
}

# What became of a recording: its status and what perf said
verdict()	# STATUS FILE
{
	case $1 in
	0) echo recorded; return ;;
	124|137|143) echo stuck ;;
	*)
		if grep -q -i busy "$2"; then
			echo busy
			return
		elif grep -q -i -e 'no such device' -e offline -e 'not supported on CPU' \
				-e 'wrong: sched_setaffinity' "$2"; then
			echo gone
			return
		fi
		echo failed ;;
	esac
	{
		echo "status $1, $(cat "$dir/$number.kind")"
		cat "$2"
	} >>$dir/failed
}

recorder()
{
	programs="loop qsort syscalls signals forkexec threads"
	while more || once_more; do
		set -- $programs
		program=$1
		shift
		programs="$* $program"
		kind $number >$dir/$number.kind
		timeout -s KILL $limit perf record -q -e ntrace//u $(cat $dir/$number.kind) \
			-o $dir/$number.data -- $program >$dir/$number.err 2>&1
		verdict $? $dir/$number.err >>$dir/$number.log
		rm -f $dir/$number.data
	done
}

hotplug()
{
	while more; do
		for cpu in $(seq $((CPUS - 1))); do
			echo 0 >/sys/devices/system/cpu/cpu$cpu/online && echo off
			usleep 300000
			echo 1 >/sys/devices/system/cpu/cpu$cpu/online
			usleep 200000
		done >>$dir/hotplug.log
	done
}

opener()
{
	seed=$start
	while more; do
		timeout -s KILL $limit attr-fuzz 200 $seed others >$dir/opener.out ||
			cat $dir/opener.out >>$dir/failed
		echo 200 >>$dir/opener.log
		seed=$((seed + 1))
		sleep 1
	done
}

count()		# WORD
{
	cat $dir/[0-9].log 2>/dev/null | grep -c "^$1\$"
}

# A recording takes a second; the debug kernel, and a busy host, make it tens of them.
limit=$((600 * ${SLOW:-1}))
for number in 1 2 3 4 5 6 7 8; do
	recorder &
done
hotplug &
opener &
wait

echo 1..5

each()
{
	for number in 1 2 3 4 5 6 7 8; do
		grep -q '^recorded$' $dir/$number.log || return 1
	done
}

online()
{
	[ "$(nproc)" = "$CPUS" ]
}

echo "# $(age) s: $(count recorded) recorded, $(count busy) found it busy," \
	"$(count gone) lost their CPU"
check "each of eight at once records" each
[ ! -s $dir/failed ] || head -n 30 $dir/failed | sed 's/^/# /'
check "$(count failed) fail for another reason, $(count stuck) get stuck" [ ! -s $dir/failed ]
check "CPUs went $(wc -l <$dir/hotplug.log) times" [ -s $dir/hotplug.log ]
check "and came back" online
openings=$(($(wc -l <$dir/opener.log) * 200))
check "after that, and $openings random events, an event records as ever" event_works
rm -rf $dir
finish
