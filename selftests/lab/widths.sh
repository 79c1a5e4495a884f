#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Encoders whose addresses and timestamps have fewer bits than in the standard. The recording must
# tell how many, kernel addresses must be complete, and times must be perf's, although the counter
# of 25 bits wraps every 3.4 s: before the first window, and while nothing is traced. perf test
# covers the rest.

name=widths
. "$(dirname "$0")/lib.bash"

bits=25
share=$dir/run/share
log=$dir/log

cat >"$dir/record.sh" <<'END'
cd /mnt; status=0
record="perf --buildid-dir /mnt/debug record --switch-events"
twice='qsort; sleep 4; qsort'
recording 1; $record -e ntrace//u -o task.data -- sh -c "$twice" || status=1
recording 2; $record --kcore -e ntrace// -o kernel.data -- ls / || status=1
recording 3
for f in addrbits ts_width ts_clock; do
	echo $f $(cat /sys/bus/event_source/devices/ntrace/cpu0/$f)
done >sysfs.txt
exit $status
END
guest run "$dir/record.sh" --topology addr48 --plugin-arg ts_width=$bits
ok $? "recordings" "$dir/run/guest.out"
# A window that stays open: time is instructions, so that it is open for one wrap, and not for two,
# however busy this machine is.
cat >"$dir/shot.sh" <<'END'
cd /mnt
recording 1
perf --buildid-dir /mnt/debug record --switch-events -e ntrace//u -S -o shot.data -- sh -c '
	qsort; sleep 4; qsort; kill -USR2 $PPID; sleep 4; qsort; sleep 4; qsort'
END
smp=1 guest shot "$dir/shot.sh" --topology addr48 --plugin-arg ts_width=$bits \
	--qemu-arg -icount --qemu-arg shift=3,sleep=off --plugin-arg clock=csr
ok $? "a snapshot" "$dir/shot/guest.out"

[ "$(xargs <"$share/sysfs.txt")" = "addrbits 48 ts_width $bits ts_clock time" ]
ok $? "sysfs: $(xargs <"$share/sysfs.txt")" "$share/sysfs.txt"
host_perf run report -D -i "$share/task.data" 2>"$log.err" |
	grep -a -E -m 4 '^ +(Address bits +48|Timestamps .* '$bits' bits.*clock time)$' >"$log"
[ "$(wc -l <"$log")" = 4 ]
ok $? "the recording tells both of each CPU" "$log" "$log.err"
compare run 1 task b
ok $? "task: $(figures)" "$out" "$err"
compare run 2 kernel b
ok $? "kernel and user: $(figures)" "$out" "$err"

# times GROUP NAME LETTERS: each branch is in a stretch of time in which perf's own records say that
# its task ran on its CPU
times()
{
	local group=$1 what=$2 itrace=$3 status=0

	host_perf "$group" script -i "$dir/$group/share/$what.data" --itrace="$itrace" \
		--show-switch-events --show-task-events \
		-F cpu,tid,time,event --ns 2>"$log.err" |
		"$top/selftests/lab/times.py" $((1 << bits)) >"$log" || status=1
	ok $status "$what, --itrace=$itrace: $(tail -n 1 "$log")" "$log" "$log.err"
}
times run task b
times run task qb
times shot shot b
times shot shot qb
finish
