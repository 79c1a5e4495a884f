#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Recordings of which only the end is kept: snapshots at exit and by signal, AUX area samples by a
# clock and, if a counter can interrupt, by a counter. All decoded instructions must have run, the
# last of them at the end, without gaps in between. It depends on chance whether perf has to pad a
# snapshot: make check tries once, make check-all six times.

name=snapshot
. "$(dirname "$0")/lib.bash"

# the snapshots that perf may have filled up
filled="1 $(more echo 2 3 4 5 6)"
echo "filled='$filled'" >"$dir/guest.sh"
cat >>"$dir/guest.sh" <<'END'
cd /mnt; status=0
record="perf --buildid-dir /mnt/debug record"
# a snapshot between two programs, by signal; perf is the shell's parent. It is taken when the file
# has grown, and grows no more. Who looks is not traced: that would be most of the trace. The file
# is in the guest's memory: of one on the host, which is read while perf writes, 9p may lose a write.
mkfifo /tmp/asked /tmp/taken
cat >/tmp/look <<'E'
read before </tmp/asked
last=
for i in $(seq 120); do
	now=$(wc -c </tmp/signal.data)
	[ $now -gt $before ] && [ "$now" = "$last" ] && break
	last=$now
	sleep 1
done
echo >/tmp/taken
E
sh /tmp/look &
cat >/tmp/twice <<'E'
qsort >/dev/null
wc -c </tmp/signal.data >/tmp/asked
kill -USR2 $PPID
read taken </tmp/taken
threads >/dev/null
E

recording 1; $record -Se -m,64K -e ntrace//u -o exit.data -- bigtrace || status=1
recording 2; $record -Se -m,4M -e ntrace//u -o whole.data -- threads || status=1
recording 3; $record -Se -m,256K -e ntrace//u -o /tmp/signal.data -- sh /tmp/twice && cp /tmp/signal.data . || status=1
recording 4; $record -Se20000 -m,32K --per-thread -e ntrace/timestamp=0/u -o thread.data -- qsort || status=1
recording 5; $record -Se -m,128K -a -e ntrace//u -o all.data -- threads || status=1
recording 6; $record --aux-sample=8192 -m 8M,16K -c 1000000 -e '{ntrace//u,cpu-clock:u}' -o clock.data -- qsort || status=1
recording 7; $record --aux-sample=8192 -m 8M,32K -c 500000 -e '{ntrace//u,instructions:u}' -o counter.data -- qsort >counter.txt 2>&1 || echo none >>counter.txt
# A snapshot that perf fills up, as it ends at no multiple of 8 bytes, and trace that goes on behind it
recording 10; $record -z --buildid-mmap --aux-sample=8192 -m 8M,16K -c 1000000 -e '{ntrace//u,cpu-clock:u}' -o packed.data -- qsort || status=1
recording 9
behind='bigtrace >/dev/null & qsort >/dev/null; kill -USR2 $PPID; wait'
for i in $filled; do
	$record -S -m,4M -e ntrace//u -o filled$i.data -- sh -c "$behind" || status=1
done
recording 8
{
	for size in 8M 4K; do $record -S -m,$size -e ntrace//u -o none.data -- true; done
	$record -S100000 -m,64K -e ntrace//u -o none.data -- true
	$record -S -e '{ntrace//u,cpu-clock:u}' --aux-sample -o none.data -- true
} >refused.txt 2>&1
grep -o 'sscofpmf' /proc/cpuinfo | head -n 1 >isa.txt
exit $status
END
guest run "$dir/guest.sh" --cpu max
ok $? "recorded in the guest" "$dir/run/guest.out"
share=$dir/run/share

# part NUMBER NAME TEXT [TRUTHPART OPTION...]: what is decoded of it is part of what ran
part()
{
	local number=$1 what=$2 text=$3 status=0 samples
	local out=$dir/run/$what.out err=$dir/run/$what.err
	shift 3

	# a sample has the trace before it in one piece
	samples=$(host_perf run script -i "$share/$what.data" --itrace=e -F event 2>"$err" |
		grep -a -c -e cpu-clock -e "instructions:u:")
	[ "$samples" = 0 ] || set -- "$@" --pieces "$samples"
	# shellcheck disable=SC2046
	buffered=1 host_perf run script -i "$share/$what.data" --itrace=i1ie -F cpu,tid,event,ip \
		2>"$err" |
		grep -a -v -e cpu-clock -e "instructions:u:" |
		"$lab/enter" "$build/host/truthpart" --segment "$number" \
			$("$lab/truths" "$dir/run") "$@" \
			>"$out" 2>>"$err" || status=$?
	ok $status "$what: $text: $(head -n 1 "$out")" "$out" "$err"
}

part 1 exit "the last 64 KiB before the end" --last --insns 10000 --pieces 2
part 2 whole "all of it, where it fits" --last --insns 100000 --pieces 4
part 3 signal "two snapshots, the first by SIGUSR2" --last --insns 100000 --pieces 8
part 4 thread "a thread's buffer, without times, less than the ring" --last --insns 10000 --pieces 4
part 5 all "all CPUs" --last --insns 10000 --pieces 4
part 6 clock "samples of cpu-clock" --insns 100000
part 10 packed "samples of cpu-clock, compressed" --insns 100000

if [ ! -s "$share/isa.txt" ]; then
	ok 0 "samples of a hardware counter # SKIP no Sscofpmf"
else
	part 7 counter "samples of a hardware counter" --insns 10000
fi
# filled FILE: snapshots that perf filled up with 4 bytes, and that are not the end of the trace
filled()
{
	host_perf run report -D -i "$1" 2>/dev/null | grep -a PERF_RECORD_AUX | python3 -c '
import re, sys
windows, pieces = set(), {}
for line in sys.stdin:
    f = dict(re.findall(r"(\w+): +(\w+)", line))
    if "PERF_RECORD_AUX " in line:
        windows.add((line.split()[0], int(f["offset"], 0)))
    elif "PERF_RECORD_AUXTRACE " in line:
        pieces.setdefault(f["cpu"], []).append((int(f["offset"], 0), int(f["size"], 0)))
ends = [(cpu, o + n) for cpu, list_ in pieces.items() for o, n in list_
        if not any(o < begin < o + n for begin, _ in list_)]
print(sum((cpu, end - 4) in windows and any(c == cpu and e > end for c, e in windows) for cpu, end in ends))'
}

ends=0
: >"$dir/cut"
for i in $filled; do
	ends=$((ends + $(filled "$share/filled$i.data")))
	host_perf run script -i "$share/filled$i.data" --itrace=e 2>&1 |
		grep 'cut by the end' >>"$dir/cut"
done
if [ $ends = 0 ] && [ ! -s "$dir/cut" ]; then
	ok 0 "snapshots in the middle of trace # SKIP none ended at 4 modulo 8 bytes"
else
	[ ! -s "$dir/cut" ]
	ok $? "$ends snapshots that perf filled up, in the middle of trace: none ends within a message" "$dir/cut"
fi
for words in 'from 8KiB to 4MiB.*not 8192KiB' 'not 4KiB' '100000 bytes cannot come' 'not both'; do
	grep -q -- "$words" "$share/refused.txt"
	ok $? "refused in words: $words" "$share/refused.txt"
done
finish
