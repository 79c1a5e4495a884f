#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Which code ran, and for which task: libraries loaded at addresses where others were, code
# generated at run time, the vDSO, tasks known from context switches if the trace does not tell
# them, and samples of other events in the right order.

name=code
. "$(dirname "$0")/lib.bash"

share=$dir/run/share
log=$dir/log

cat >"$dir/record.sh" <<'END'
cd /mnt; status=0
record="perf --buildid-dir /mnt/debug record"
recording 1; $record -e ntrace/stall/u -o reload.data -- reload || status=1
recording 2; $record -e ntrace/stall/u -o jit.data -- jit /mnt || status=1
recording 3; $record -a -e ntrace/contextid=0,stall/u -o switch.data -- threads || status=1
recording 4; $record -a -e ntrace/stall/u -e sched:sched_switch -o owned.data -- threads || status=1
recording 5; $record -a -e ntrace/contextid=0,stall/u -e sched:sched_switch -o beside.data -- threads || status=1
recording 6; $record -e ntrace/stall/u -o vdso.data -- bounce || status=1
# The code that was made has names of this machine: it is decoded here.
perf inject --jit -i jit.data -o jitted.data || status=1
perf script -i jitted.data --itrace=be -F cpu,tid,event,ip,addr,flags >jit.txt || status=1
perf script -i jitted.data --itrace=b -F ip,sym,addr >jit-names.txt || status=1
perf script -i jit.data --itrace=e >jit-without.txt 2>&1
exit $status
END
guest run "$dir/record.sh"
ok $? "recordings" "$dir/run/guest.out"

compare run 1 reload b
ok $? "two libraries, one after the other at the same place: $(figures)" "$out" "$err"

"$lab/enter" "$build/host/truthcmp" --branches --types --segment 2 \
	--tid $("$lab/truths" "$dir/run") \
	<"$share/jit.txt" >"$log" 2>&1
ok $? "code made at run time, twice at the same place: $(head -n 1 "$log")" "$log"
# ntrace without perf, on this machine, where what the guest had as /mnt is elsewhere
mkdir "$dir/root"
ln -s /* "$dir/root"
ln -sfn "$share" "$dir/root/mnt"
"$lab/enter" "$build/host/ntrace" script --symfs="$dir/root" "$share/jitted.data" 2>"$log" |
	sed -n 's/.* \([0-9a-f]*\) [^ ]* => \([0-9a-f]*\) .*/\1 \2/p' >"$dir/jit.ntrace"
sed -n 's/.* \([0-9a-f]*\) => *\([0-9a-f]*\)$/\1 \2/p' "$share/jit.txt" >"$dir/jit.perf"
[ -s "$dir/jit.perf" ] && [ ! -s "$log" ] && cmp "$dir/jit.perf" "$dir/jit.ntrace" >>"$log" 2>&1
ok $? "ntrace script prints the same $(wc -l <"$dir/jit.perf") branches" "$log"
# Four times a loop of a thousand rounds, in the odd ones with half as many branches more
for f in all:3996 odd:5996; do
	n=$(grep -c -E "^ *[0-9a-f]+ ${f%:*} => +[0-9a-f]+ ${f%:*}\$" "$share/jit-names.txt")
	[ "$n" = ${f#*:} ]
	ok $? "its name is known: $n branches within \"${f%:*}\"" "$share/jit-names.txt"
done
grep -q 'instruction trace error.*no code in' "$share/jit-without.txt"
ok $? "without perf inject --jit it is missed, and named" "$share/jit-without.txt"

compare run 6 vdso b --require migrations=10
ok $? "the vDSO: $(figures)" "$out" "$err"
# Whoever asks libc for the time comes to the vDSO, and back.
host_perf run script -i "$share/vdso.data" --itrace=b -F flags,ip,sym,symoff,dso,addr >"$log" \
	2>"$log.err"
calls=$(grep -c '^ *call .* => .* _*clock_gettime+0x0 (.*/bounce)' "$log")
entered=$(grep -c '^ *call .* (.*/bounce) => .* __vdso_clock_gettime+0x0 (\[vdso\])' "$log")
left=$(grep -c '^ *return .* __vdso_clock_gettime+0x[0-9a-f]* (\[vdso\]) => .*/bounce)' "$log")
[ "$calls" -ge 100 ] && [ "$entered" = "$calls" ] && [ "$left" = "$calls" ]
ok $? "the vDSO: $calls calls of clock_gettime, $entered into [vdso], $left back" "$log" "$log.err"

# The same with branches and jumps that perf does not know, in each file it reads. Configuration
# tells.
mkdir -p "$dir/custom/share"
ln "$dir"/run/truth.*.zst "$dir/run/console.harts" "$dir/custom"
ln "$share/vdso.data" "$dir/custom/share"
cp -a "$share/debug" "$dir/custom/share"
changed=$(find "$dir/custom/share/debug" -type f -name elf -exec "$top/selftests/lab/custom.py" {} \
	+)
[ "$changed" -gt 10000 ]
ok $? "$changed branches and jumps have become custom ones"
compare custom 6 vdso b
[ $? = 1 ]
ok $? "without ntrace.branches another flow is decoded" "$out" "$err"
# The comparison ends at the first difference, and that may be before the first error.
host_perf custom script -i "$dir/custom/share/vdso.data" --itrace=e 2>"$log.err" >"$log"
found=$(grep -c 'instruction trace error' "$log")
[ "$found" -gt 0 ]
ok $? "without ntrace.branches there are errors: $found" "$log" "$log.err"
mkdir -p "$dir/home"
"$lab/enter" env HOME="$dir/home" "$build/perf-x86_64/perf" config --user \
	ntrace.branches="0x7f/0xb 0xfff/0x2b:jump 0xfff/0xab:call:j" >"$log" 2>&1
ok $? "perf config ntrace.branches" "$log"
perf_config=$dir/home/.perfconfig compare custom 6 vdso b --require migrations=10
ok $? "ntrace.branches: $(figures)" "$out" "$err"
for words in "0x7f" "0x7f/0xb 0x707f/0x600b"; do
	printf '[ntrace]\n\tbranches = %s\n' "$words" >"$dir/bad.perfconfig"
	! "$lab/enter" env PERF_CONFIG="$dir/bad.perfconfig" "$build/perf-x86_64/perf" script \
		-i "$share/vdso.data" --itrace=b >"$log" 2>"$log.err" &&
		grep -q "^ntrace.branches: \`${words##* }'" "$log.err" && [ ! -s "$log" ]
	ok $? "ntrace.branches=$words is refused: $(grep -m 1 ntrace.branches "$log.err")" "$log" \
		"$log.err"
done

compare run 3 switch b --require insns=1000000,migrations=1
ok $? "tasks by context switches, without Ownership: $(figures)" "$out" "$err"

# Behind a switch on a CPU all samples there are the next task's; time does not go backwards.
for file in owned beside; do
	host_perf run script -i "$share/$file.data" --itrace=be -F cpu,tid,time,event,trace \
		--ns 2>"$log.err" |
		awk '{ cpu = $2; time = $3 + 0; if (time < last[cpu]) back++; last[cpu] = time }
			/ error / { errors++; next }
			/sched_switch:/ { match($0, /next_pid=[0-9]+/); next_pid = substr($0, RSTART + 9, RLENGTH - 9)
				on[cpu] = next_pid; switches++; next }
			cpu in on { samples++; if ($1 != on[cpu]) { wrong++; if (wrong < 9) print } }
			END { print switches + 0, "switches,", samples + 0, "branches behind them,", wrong + 0,
				"of another task,", back + 0, "times backwards,", errors + 0, "errors"
				exit !(switches > 50 && samples > 10000 && !wrong && !back && !errors) }' >"$log"
	ok $? "$file: sched_switch beside the trace: $(tail -n 1 "$log")" "$log" "$log.err"
done
[ $failures != 0 ] || rm -rf "$dir/run" "$dir/custom"
finish
