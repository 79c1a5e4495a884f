#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# --itrace letter by letter, and the fields of perf script: call chains and branch
# stacks, of the trace's samples and of another event's, against what itrace.py
# rebuilds from the branches; every list of samples against the list of all.

name=itrace
. "$(dirname "$0")/lib.bash"

share=$dir/run/share
log=$dir/log
fields=cpu,tid,event,ip,addr,flags,insnlen,brstack

cat >"$dir/record.sh" <<'END'
cd /mnt
record="perf --buildid-dir /mnt/debug record"
recording 1; $record -e ntrace//u -o user.data -- qsort
recording 2; $record --kcore -e ntrace// -o kernel.data -- ls /
recording 3; $record -e ntrace//u -o small.data -- ls /
recording 4; $record --aux-sample=8192 -m,16K -c 1000000 -e '{ntrace//u,cpu-clock:u}' -o clock.data -- qsort
true
END
guest run "$dir/record.sh"
ok $? "recordings" "$dir/run/guest.out"

# script FILE LETTERS FIELDS [ARGUMENT...]
script()
{
	local file=$1 letters=$2 fields=$3
	shift 3

	host_perf run script -i "$share/$file.data" --itrace="$letters" -F "$fields" "$@" 2>"$log.err"
}

# The flags of all branches of a recording, one on a line, to count in
for file in user kernel small; do
	script $file be event,flags | grep branches: | awk '{ $1 = ""; print }' >"$dir/$file.flags"
done
[ -s "$dir/user.flags" ] && [ -s "$dir/kernel.flags" ]
ok $? "b: $(wc -l <"$dir/user.flags") branches, and $(wc -l <"$dir/kernel.flags") with the kernel" "$log.err"

# same DESCRIPTION EXPECTED FOUND: two figures, or sums, that are something
same()
{
	[ -n "$2" ] && [ "$2" != 0 ] && [ "$2" = "$3" ]
	ok $? "$1: ${3:0:40}" <(echo "expected ${2:0:2000}"; echo "found ${3:0:2000}")
}

# --- call chains and branch stacks -----------------------------------------------

for file in user kernel; do
	script $file bei997ig32l16 $fields | "$top/selftests/lab/itrace.py" 16 32 instructions >"$log"
	ok $? "g l: as rebuilt from the branches, $file: $(tail -n 1 "$log")" "$log" "$log.err"
done
script clock beG32L16 $fields | "$top/selftests/lab/itrace.py" 16 32 other >"$log"
ok $? "G L: as rebuilt from the branches: $(tail -n 1 "$log")" "$log" "$log.err"

# --- lists of samples ---------------------------------------------------------------

for file in user kernel; do
	same "c, $file" "$(grep -c -e call -e int -e 'tr end' "$dir/$file.flags")" \
		"$(script $file c ip,addr | grep -c '=>')"
	same "r, $file" "$(grep -c -e return -e iret -e sysret -e 'tr strt' "$dir/$file.flags")" \
		"$(script $file r ip,addr | grep -c '=>')"
done
same "s" $(($(wc -l <"$dir/user.flags") - 1000)) "$(script user bs1000 ip,addr | grep -c '=>')"
same "I: interrupts" "$(grep -c 'hw int' "$dir/kernel.flags")" \
	"$(script kernel I event,ip,addr,flags | grep -c 'interrupt:.* hw int ')"
same "I: exceptions" "$(grep -v -e 'hw int' -e 'tr end' "$dir/kernel.flags" | grep -c -e int -e syscall)" \
	"$(script kernel I event,ip,addr,flags | grep -c 'exception:.* \(int\|syscall\) ')"

list()	# LETTERS: the instructions
{
	script small "$1" time,ip,event | grep instructions >"$log"
	[ ! -s "$log" ] || { wc -l <"$log"; md5sum <"$log"; } | tr '\n' ' '
}
insns=$(script small i1i ip,event | grep -c instructions)
same "i: without a period, every instruction" "$(list i1i)" "$(list i0ns)"
# each CPU's are counted by themselves
found=$(script small i1000i ip,event | grep -c instructions)
[ "$found" -gt 10 ] && [ $((insns / 1000 - found)) -ge 0 ] && [ $((insns / 1000 - found)) -lt $smp ]
ok $? "i: every 1000: $found of $insns"
same "i: 100 ticks of 10 MHz are 10 us" "$(list i10us)" "$(list i100t)"
same "i: 1000 us are 1 ms" "$(list i1ms)" "$(list i1000us)"
script user i1ms time,event --ns | grep instructions >"$log"
awk '{ time = $1 + 0; bad += time < last; last = time } END { exit bad || NR < 3 }' "$log"
ok $? "i: every ms, in the order of time" "$log"
script user i10usZ ip >"$log"
grep -q 'no times in this trace: samples every 10000 instructions' "$log.err"
ok $? "Z: a period in time becomes one in instructions, and that is said" "$log.err"

# --- logs, errors -----------------------------------------------------------------------

script small d+o-a ip >"$dir/log.txt"
same "d: every branch" "$(grep -c -v tr "$dir/small.flags")" "$(grep -c ': 0x[0-9a-f]* -> 0x' "$dir/log.txt")"
same "d: every message" "$(host_perf run report -D -i "$share/small.data" 2>"$log.err" | grep -a -c '^  [0-9a-f]\{8\}: ')" \
	"$(grep -c '^  [0-9a-f]\{8\}: [A-Z]' "$dir/log.txt")"
! grep -q '^event ' "$dir/log.txt" && script small d+o+a ip >"$log" && grep -q '^event MMAP2: ' "$log"
ok $? "d-a and d+a: without and with the other events" "$log.err"

# trace in the middle of the file, overwritten: what is no message
cp "$share/user.data" "$share/bad.data"
for at in 30 60; do
	head -c 300 /dev/zero | tr '\0' '\125' | dd of="$share/bad.data" bs=1 conv=notrunc \
		status=none seek=$(($(stat -c %s "$share/bad.data") * at / 100))
done
errors=$(script bad e ip | grep -c 'instruction trace error')
[ "$errors" -gt 0 ] && script bad d+o+e ip >"$log" && grep -q '^error: ' "$log" &&
	[ "$(wc -l <"$log")" -lt 20000 ] && [ -z "$(script small d+o+e ip)" ]
ok $? "d+e: what led to $errors errors, nothing without: $(wc -l <"$log") lines" "$log"
host_perf run report --stdio -i "$share/bad.data" >/dev/null 2>"$log"
grep -q "$errors instruction trace errors" "$log"
ok $? "report warns of $errors errors" "$log"

# --- what people see ----------------------------------------------------------------------

script small b comm,tid,pid,cpu,time,event,ip,sym,symoff,dso,addr,flags,insn,insnlen,srcline >"$log"
same "fields: insn" "$(grep -c -v 'tr strt' "$dir/small.flags")" "$(grep -c 'insn: [0-9a-f][0-9a-f] ' "$log")"
script user i1000il event,brstacksym >"$log" && grep -q ' main+0x[0-9a-f]*/' "$log" &&
	script user i1000il event,ip,dso,brstackoff >"$log" && grep -q '(/.*qsort)' "$log"
ok $? "fields: brstacksym, brstackoff" "$log"
host_perf run script -i "$share/user.data" --call-trace >"$log" 2>&1 &&
	awk -F'\t' '$2 ~ / msort_with_tmp/ { d = match($2, /[^ ]/); min = min ? min : d; max = d > max ? d : max }
		END { exit max - min < 24 }' "$log"
ok $? "--call-trace: a recursion of 6 and more is indented" "$log"
same "--insn-trace=disasm" "$insns" "$(host_perf run script -i "$share/small.data" --insn-trace=disasm \
	2>"$log.err" | grep -c -P '\t\t[a-z]+[a-z0-9.]*( |$)')"
host_perf run inject --itrace=i997il16 --strip -i "$share/user.data" -o "$share/plain.data" 2>"$log.err"
same "inject --itrace --strip: samples and branch stacks are the same" \
	"$(script user i997il16 tid,time,ip,brstack | grep /P/ | md5sum)" \
	"$(host_perf run script -i "$share/plain.data" -F tid,time,ip,brstack 2>"$log.err" | grep /P/ | tee "$log" | md5sum)"
[ -s "$log" ]
ok $? "... and there are some" "$log.err"
finish
