#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Trace of which the end is kept: snapshots at exit and by signal, AUX area samples
# taken by a clock and, where a counter can interrupt, by a counter. All that is decoded
# did run, the last of it last, and no piece is missing between.

name=snapshot
. "$(dirname "$0")/lib.bash"

cat >"$dir/guest.sh" <<'END'
cd /mnt; status=0
record="perf --buildid-dir /mnt/debug record"
# a snapshot between two programs, by signal; perf is the shell's parent
twice='qsort >/dev/null; kill -USR2 $PPID; sleep 0.5; threads >/dev/null'

recording 1; $record -Se -m,64K -e ntrace//u -o exit.data -- bigtrace || status=1
recording 2; $record -Se -m,4M -e ntrace//u -o whole.data -- threads || status=1
recording 3; $record -Se -m,256K -e ntrace//u -o signal.data -- sh -c "$twice" || status=1
recording 4; $record -Se20000 -m,32K --per-thread -e ntrace/timestamp=0/u -o thread.data -- qsort || status=1
recording 5; $record -Se -m,128K -a -e ntrace//u -o all.data -- threads || status=1
recording 6; $record --aux-sample=8192 -m,16K -c 1000000 -e '{ntrace//u,cpu-clock:u}' -o clock.data -- qsort || status=1
recording 7; $record --aux-sample=8192 -m,32K -c 500000 -e '{ntrace//u,instructions:u}' -o counter.data -- qsort >counter.txt 2>&1 || echo none >>counter.txt
recording 8
{
	for size in 8M 4K; do $record -S -m,$size -e ntrace//u -o none.data -- true; done
	$record -S100000 -m,64K -e ntrace//u -o none.data -- true
	$record -S -e '{ntrace//u,cpu-clock:u}' --aux-sample -o none.data -- true
} >refused.txt 2>&1
grep -o 'sscofpmf' /proc/cpuinfo | head -n 1 >isa.txt
exit $status
END
guest run "$dir/guest.sh" --timeout 300 --cpu max
ok $? "recorded in the guest" "$dir/run/guest.out"
share=$dir/run/share

# part NUMBER NAME TEXT [TRUTHPART OPTION...]: what is decoded of it is part of what ran
part()
{
	local number=$1 what=$2 text=$3 status=0
	local out=$dir/run/$what.out err=$dir/run/$what.err
	shift 3

	"$lab/enter" bash -o pipefail -c '
		perf=$1 part=$2 data=$3
		shift 3
		"$perf" --buildid-dir "${data%/*}/debug" script -i "$data" --itrace=i1ie -F cpu,tid,event,ip |
			grep -a -v -e cpu-clock -e "instructions:u:" >"$data.txt"
		"$part" "$@" <"$data.txt"' part "$build/perf-x86_64/perf" "$build/host/truthpart" \
		"$share/$what.data" --segment "$number" $("$lab/truths" "$dir/run") "$@" >"$out" 2>"$err" || status=$?
	ok $status "$what: $text: $(head -n 1 "$out")" "$out" "$err"
}

part 1 exit "the last 64 KiB before the end" --last --insns 10000 --pieces 2
part 2 whole "all of it, where it fits" --last --insns 100000 --pieces 4
part 3 signal "two snapshots, the first by SIGUSR2" --last --insns 100000 --pieces 8
part 4 thread "a thread's buffer, without times, less than the ring" --last --insns 10000 --pieces 4
part 5 all "all CPUs" --last --insns 10000 --pieces 4
part 6 clock "samples of cpu-clock" --insns 100000

if [ ! -s "$share/isa.txt" ]; then
	ok 0 "samples of a hardware counter # SKIP no Sscofpmf"
else
	part 7 counter "samples of a hardware counter" --insns 10000
fi
for words in 'from 8KiB to 4MiB.*not 8192KiB' 'not 4KiB' '100000 bytes cannot come' 'not both'; do
	grep -q -- "$words" "$share/refused.txt"
	ok $? "refused in words: $words" "$share/refused.txt"
done
finish
