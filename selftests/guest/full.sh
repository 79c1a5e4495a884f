#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# An AUX area that is full before perf comes to read it: perf says so, the event is enabled again
# once there is room, and trace goes on.

. "$(dirname "$0")/lib"
data=/tmp/full.data
log=/tmp/full.records

# ran TICKS: bigtrace has been on a CPU for so long (1/100 s), in user space or the kernel: which of
# them a tick finds is chance. A tick is many times 32 KiB of trace.
ran()
{
	for i in $(seq 1200); do
		pid=$(pidof bigtrace) &&
			ticks=$(awk '{ print $14 + $15 }' /proc/$pid/stat 2>/dev/null) &&
			[ "${ticks:-0}" -ge $1 ] && return
		sleep 0.1
	done
	echo "# bigtrace ran for ${ticks:-0} ticks, not $1"
	return 1
}

# perf has written more than BYTES and what the full area held, twice: trace goes on.
reads_on()	# BYTES
{
	for i in $(seq 1200); do
		[ $(wc -c <$data) -gt $(($1 + 65536)) ] && return
		sleep 0.1
	done
	echo "# perf wrote $1 bytes, and then $(wc -c <$data)"
	return 1
}

# Stopped, perf reads nothing, however fast it is otherwise. The program, which is fast while it is
# not traced, would run for hours: it is ended, and perf ends as the program did.
record()
{
	perf record -q -e ntrace//u -m,8 -o $data -- bigtrace 100000000 >$log 2>&1 &
	perf=$!
	ran 2 && kill -STOP $perf && ran $((ticks + 10))
	status=$?
	bytes=$(wc -c <$data)
	kill -CONT $perf
	[ $status = 0 ] && reads_on $bytes && kill $(pidof bigtrace) || return 1
	wait $perf
	[ $? = 143 ] || return 1
	# OFFSET SIZE FLAGS of each record
	hex='\([0-9a-fx]*\)'
	perf report -D -i $data 2>/dev/null |
		sed -n "s/.*PERF_RECORD_AUX offset: $hex size: $hex flags: $hex.*/\1 \2 \3/p" >$log
}

truncated()
{
	awk '$3 ~ /[13579bdf]$/ { full++ }
		END { print "# " NR " records, " full + 0 " found the area full"; exit !full }' $log
}

goes_on()
{
	awk 'full && $2 != "0" && $2 != "0x0" { after++ } $3 ~ /[13579bdf]$/ { full++ }
		END {
			print "# " after + 0 " records of trace after the first such"
			exit !after
		}' $log
}

echo 1..3
check "recorded through 32 KiB" record
check "a full area is TRUNCATED" truncated
check "trace goes on after it" goes_on
rm -f $data $log
finish
