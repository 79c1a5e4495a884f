#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# All letters of --itrace, and the fields of perf script: call chains and branch stacks of the
# trace's samples and of another event's must be equal to those that itrace.py computes from the
# branches. All lists of samples are compared with the list of all instructions.

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
recording 4; $record --aux-sample=8192 -m 8M,16K -c 1000000 -e '{ntrace//u,cpu-clock:u}' -o clock.data -- qsort
recording 5; $record -m,64K -e ntrace/stall/u -o pieces.data -- qsort
# The AUX buffer is full now and then, where perf is late.
recording 6; $record -m,8K -e ntrace//u -o full.data -- qsort
true
END
guest run "$dir/record.sh"
ok $? "recordings" "$dir/run/guest.out"
cat >"$dir/cycles.sh" <<'END'
cd /mnt
record="perf --buildid-dir /mnt/debug record"
recording 1; $record -e ntrace/btm/u -o cycles.data -- qsort
recording 2; $record -e ntrace/retstack=2/u -o part.data -- recurse
recording 3
# the best that there is
$record -e ntrace//u -o best.data -- true
perf record -e ntrace/retstack=3/u -o /tmp/none.data -- true >none.txt 2>&1
END
# returns are compared in part, which is as much as these encoders can
guest core "$dir/cycles.sh" --plugin-arg ts_modes=0x08 --plugin-arg retstack_modes=0x5
[ -s "$dir/core/share/cycles.data" ] && [ -s "$dir/core/share/best.data" ]
ok $? "recordings with timestamps that count cycles, and with returns compared in part" \
	"$dir/core/guest.out"

# script FILE LETTERS FIELDS [ARGUMENT...]
script()
{
	local file=$1 letters=$2 fields=$3
	shift 3

	host_perf run script -i "$share/$file.data" --itrace="$letters" -F "$fields" \
		"$@" 2>"$log.err"
}

# The flags of all branches of a recording, one on a line, to count in
for file in user kernel small; do
	script $file be event,flags | grep branches: | awk '{ $1 = ""; print }' >"$dir/$file.flags"
done
[ -s "$dir/user.flags" ] && [ -s "$dir/kernel.flags" ]
ok $? "b: $(wc -l <"$dir/user.flags") branches, and $(wc -l <"$dir/kernel.flags") with the kernel" \
	"$log.err"

# same DESCRIPTION EXPECTED FOUND: two figures, or sums, that are something
same()
{
	[ -n "$2" ] && [ "$2" != 0 ] && [ "$2" = "$3" ]
	ok $? "$1: ${3:0:40}" <(echo "expected ${2:0:2000}"; echo "found ${3:0:2000}")
}

# --- call chains and branch stacks -----------------------------------------------

for file in user kernel; do
	script $file bei997ig32l16 $fields |
		"$top/selftests/lab/itrace.py" 16 32 instructions >"$log"
	ok $? "g l: as rebuilt from the branches, $file: $(tail -n 1 "$log")" "$log" "$log.err"
done
script clock d+o-abeG32L16 $fields | "$top/selftests/lab/itrace.py" 16 32 other >"$log"
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
found=$("$lab/enter" env PERF_CONFIG=selftests/lab/exact.perfconfig "$build/perf-x86_64/perf" \
	--buildid-dir "$share/debug" script -i "$share/small.data" --itrace=i1000i -F ip,event \
	2>"$log.err" |
	grep -c instructions)
[ "$found" -gt 10 ] && [ $((insns / 1000 - found)) -ge 0 ] && [ $((insns / 1000 - found)) -lt $smp ]
ok $? "i: exactly every 1000: $found of $insns" "$log.err"
# one of each 100 by chance, in stretches of any length: within 5 standard deviations
found=$(script small i100i period,event | awk '/instructions/ { n += $1 } END { print n + 0 }')
[ $(((found - insns) * (found - insns))) -le $((25 * 100 * insns)) ]
ok $? "i: one of 100: samples stand for $found instructions of $insns"
same "i: the same samples each time" "$(list i100i)" "$(list i100i)"
script small i50ns time,event --ns >"$log"
awk '{ time = $1 + 0; bad += time < last; last = time } END { exit bad || NR < 1000 }' "$log"
ok $? "i: $(wc -l <"$log") samples, one in 50 ns, in the order of time" "$log.err"
# Dozens of instructions are of one message.
found=$(script small i1i time,event --ns | grep -o '^ *[0-9.]*' | sort -u | wc -l)
[ $((4 * found)) -ge "$insns" ]
ok $? "i: $insns instructions at $found times"
same "i: 100 ticks of 10 MHz are 10 us" "$(list i10us)" "$(list i100t)"
same "i: 1000 us are 1 ms" "$(list i1ms)" "$(list i1000us)"
script user i1ms time,event --ns | grep instructions >"$log"
awk '{ time = $1 + 0; bad += time < last; last = time } END { exit bad || NR < 3 }' "$log"
ok $? "i: every ms, in the order of time" "$log"
script user i10usZ ip >"$log"
grep -q 'trace without times: samples every 10000 instructions' "$log.err"
ok $? "Z: a period in time becomes one in instructions, and that is said" "$log.err"

# --- quicker ------------------------------------------------------------------------------

# Addresses in messages, and how many of them are in sync messages
host_perf run report -D -i "$share/small.data" 2>"$log.err" |
	grep -a '^  [0-9a-f]\{8\}: ' >"$dir/small.dump"
same "q: every address that messages tell" "$(grep -c '[FU]-ADDR=' "$dir/small.dump")" \
	"$(script small qi event,ip | grep -c instructions)"
same "qq: every address that syncs tell" "$(grep -c 'F-ADDR=' "$dir/small.dump")" \
	"$(script small qqi event,ip | grep -c instructions)"

# Where trace goes on after a pause is no branch, but told.
script small qb event,tid,cpu,time,flags,addr | grep branches: | grep -v 'tr strt' |
	sed 's/ jmp \| int / /; s/ \+/ /g' >"$dir/some"
script small b event,tid,cpu,time,addr | grep branches: | sed 's/ \+/ /g' >"$dir/all"
awk 'NR == FNR { some[nr++] = $0; next } at < nr && $0 == some[at + 0] { at++ }
	END { if (nr < 100 || at < nr) { print "not found:", some[at + 0]; exit 1 } }' "$dir/some" \
		"$dir/all" >"$log"
ok $? "q: its $(wc -l <"$dir/some") branches are among all, in their order, at their time" "$log"
{ script small i1i ip; script small b ip; script small b addr | sed 's/=>//'; } |
	sort -u >"$dir/all"
script small qi ip | sort -u | comm -23 - "$dir/all" >"$log" && [ ! -s "$log" ]
ok $? "q: code was at all its addresses" "$log"
mv "$share/debug" "$share/elsewhere"
script small qi event,ip >"$log"
same "q: without any binary" "$(grep -c '[FU]-ADDR=' "$dir/small.dump")" \
	"$(grep -c instructions "$log")"
mv "$share/elsewhere" "$share/debug"

# --- cycles -------------------------------------------------------------------------------

core()	# LETTERS FIELDS
{
	host_perf core script -i "$dir/core/share/cycles.data" --itrace="$1" -F "$2" 2>"$log.err"
}
# Time in the messages while trace was on, from sync to correlation
ticks=$(host_perf core report -D -i "$dir/core/share/cycles.data" 2>"$log.err" |
	grep -a '^  [0-9a-f]\{8\}: ' |
	awk 'match($0, /TSTAMP=[0-9]+/) { t = substr($0, RSTART + 7, RLENGTH - 7) + 0
			if (/Sync/) { if (on) sum += t - now; now = t; on = 1 } else { now += t; if (on) sum += t } }
		/Correlation/ { on = 0 } END { printf "%.0f", sum }')
cycles=$(core bei0nsy period,event | awk '/cycles/ { sum += $1 } END { printf "%.0f", sum }')
[ "$ticks" -gt 100000 ] && [ "$cycles" -le "$ticks" ] && [ $((cycles * 1000)) -ge $((ticks * 995)) ]
ok $? "y: $cycles cycles of the $ticks in the messages" "$log.err"
found=$(core b event,ip,ipc | awk -F'[(/)]' \
	'/IPC/ { insns += $2; cycles += $3 } END { printf "%.0f %.0f", insns, cycles }')
all=$(core i0ns event | wc -l)
[ $((${found% *} * 1000)) -ge $((all * 995)) ] && [ "${found% *}" -le "$all" ] &&
	[ $((${found#* } * 1000)) -ge $((ticks * 999)) ] &&
	[ $((${found#* } * 10000)) -ge $((cycles * 9999)) ]
ok $? "ipc: $found instructions and cycles with branches, of $all" "$log.err"
few=$(core i97i event,ip,ipc | grep -c IPC)
many=$(core i97iA event,ip,ipc | grep -c IPC)
[ "$few" -gt 0 ] && [ "$many" -gt $((3 * few)) ]
ok $? "A: $many instructions with IPC, without only the $few at the end of messages"
found=$(core i1000il event,brstack | grep -o '0x[0-9a-f]*/0x[0-9a-f]*/P/-/-/[1-9][0-9]*/' | wc -l)
[ "$found" -gt 1000 ]
ok $? "l: $found entries of branch stacks with cycles"
same "y: nothing where timestamps count time" "$(script small i100i event | grep -c instructions)" \
	"$(script small i100iy event | wc -l)"

# The times of sync messages, as perf's clock would have them if `time` were what they count
host_perf core report -D -i "$dir/core/share/cycles.data" 2>"$log.err" |
	grep -a -e '^  Clock ' -e '^  [0-9a-f]\{8\}: .*Sync ' |
	python3 -c '
import re, sys
text = sys.stdin.buffer.read().decode(errors="replace")
zero, mult, shift = map(int, re.search(r"Clock +zero (\d+), mult (\d+), shift (\d+)", text).groups())
for ticks in sorted(map(int, re.findall(r"TSTAMP=(\d+)", text))):
    print(zero + (ticks * mult >> shift) & (1 << 64) - 1)' | sort -u >"$dir/syncs"
begins()	# LETTERS: times at which trace begins, those of syncs among them
{
	host_perf core script -i "$dir/core/share/cycles.data" --itrace="$1" -F time,event,flags \
		--ns \
		2>"$log.err" | grep 'tr strt' |
		sed 's/^ *\([0-9]*\)\.\([0-9]*\):.*/\1\2/; s/^0*//' | sort -u >"$dir/begins"
	echo $(wc -l <"$dir/begins") $(comm -12 "$dir/begins" "$dir/syncs" | wc -l)
}
found=$(begins bT)
[ "${found% *}" = "${found#* }" ] && [ "${found% *}" -gt 2 ] &&
	[ "$(begins b | sed 's/.* //')" = 0 ]
ok $? "T: what the timestamps say is perf's clock, at ${found#* } of ${found% *} beginnings" \
	"$dir/begins" "$dir/syncs"

# --- returns compared in part ---------------------------------------------------------------

compare core 2 part b
ok $? "retstack=2: $(figures)" "$out" "$err"
for what in part best; do
	host_perf core report -D -i "$dir/core/share/$what.data" 2>"$log.err" |
		grep -a -o 'terms 0x[0-9a-f]*' |
		sort -u >"$log"
	# trTeInstImplicitReturnMode, of what the encoder has
	terms=$(sed -n '1s/terms //p' "$log")
	[ "$(wc -l <"$log")" -ge 1 ] && [ $((${terms:-0} >> 14 & 3)) = 2 ]
	ok $? "retstack=2: $what: the encoder compares a part" "$log" "$log.err"
done
grep -q 'do not accept retstack=3, but 0, 2' "$dir/core/share/none.txt"
ok $? "retstack=3 is refused in words where it is not there" "$dir/core/share/none.txt"

# --- logs, errors -----------------------------------------------------------------------

script small d+o-a ip >"$dir/log.txt"
same "d: every branch" "$(grep -c -v tr "$dir/small.flags")" \
	"$(grep -c ': 0x[0-9a-f]* -> 0x' "$dir/log.txt")"
# same_messages FILE: what -D and d print of each message, and of what is none, is the same.
same_messages()
{
	host_perf run report -D -i "$share/$1.data" 2>"$dir/dump.err" >"$dir/dump"
	# -D prints up to 16 bytes of the message before its text.
	sed -n 's/^\(  [0-9a-f]\{8\}: \).\{50\}/\1/p' "$dir/dump" | sort >"$dir/dump.messages"
	script "$1" d+o-a ip | grep '^  [0-9a-f]\{8\}: ' | sort >"$dir/log.messages"
	diff "$dir/dump.messages" "$dir/log.messages" >"$log"
	[ $? = 0 ] && [ -s "$dir/dump.messages" ]
	ok $? "d: every message of -D, $1: $(wc -l <"$dir/dump.messages")" "$log" "$dir/dump.err" \
		"$log.err"
}
same_messages small
# The first AUX record ends behind the first byte of its last message.
size=$(awk '/ntrace: AUX / { windows++ } windows == 1 && /^  [0-9a-f]+: / { at = $1 }
	END { print at }' "$dir/dump")
"$top/selftests/lab/perfdata.py" size 0 $((0x${size%:} + 1)) "$share/small.data" "$share/cut.data"
same_messages cut
[ "$(grep -c "^  ${size%:}: cut message" "$dir/log.messages")" = 1 ]
ok $? "d: a message that the end of a window cuts, at ${size%:}" "$dir/log.messages"
# perf fills AUXTRACE records up to 8 bytes: a window that begins there belongs to the next record.
# The harts stall, so a late perf loses no trace, and has a record for each 64 KB at least.
same_messages pieces
records=$(grep -a -c 'PERF_RECORD_AUXTRACE size' "$dir/dump")
[ "$records" -ge 4 ]
ok $? "-D: several records: $records"
same_messages full
! grep -q '^event ' "$dir/log.txt" && script small d+o+a ip >"$log" &&
	grep -q '^event MMAP2: ' "$log"
ok $? "d-a and d+a: without and with the other events" "$log.err"

# trace in the middle of the file, overwritten: what is no message
cp "$share/user.data" "$share/bad.data"
for at in 30 60; do
	head -c 300 /dev/zero | tr '\0' '\125' | dd of="$share/bad.data" bs=1 conv=notrunc \
		status=none seek=$(($(stat -c %s "$share/bad.data") * at / 100))
done
same_messages bad
errors=$(script bad e ip | grep -c 'instruction trace error')
[ "$errors" -gt 0 ] && script bad d+o+e ip >"$log" && grep -q '^error: ' "$log" &&
	[ "$(wc -l <"$log")" -lt 20000 ] && [ -z "$(script small d+o+e ip)" ]
ok $? "d+e: what led to $errors errors, nothing without: $(wc -l <"$log") lines" "$log"
# longest CONFIG: the most bytes that d+e printed before an error
longest()
{
	printf '%s\n' "$1" >"$dir/log.perfconfig"
	"$lab/enter" env PERF_CONFIG="$dir/log.perfconfig" "$build/perf-x86_64/perf" --buildid-dir \
		"$share/debug" \
		script -i "$share/bad.data" --itrace=d+o+e -F ip 2>"$log.err" |
		awk '{ n += length($0) + 1 } /^error: / { if (n > most) most = n; n = 0 } END { print most + 0 }'
}
most=$(longest '')
some=$(longest $'[itrace]\n\tdebug-log-buffer-size = 4096')
[ "$most" -le 16384 ] && [ "$most" -gt 15000 ] && [ "$some" -le 4096 ] && [ "$some" -gt 3000 ]
ok $? "d+e: up to $most bytes before an error, $some with itrace.debug-log-buffer-size=4096" \
	"$log.err"
host_perf run report --stdio -i "$share/bad.data" >/dev/null 2>"$log"
grep -q "$errors instruction trace errors" "$log"
ok $? "report warns of $errors errors" "$log"

# --- what people see ----------------------------------------------------------------------

script small b comm,tid,pid,cpu,time,event,ip,sym,symoff,dso,addr,flags,insn,insnlen,srcline >"$log"
same "fields: insn" "$(grep -c -v 'tr strt' "$dir/small.flags")" \
	"$(grep -c 'insn: [0-9a-f][0-9a-f] ' "$log")"
script user i1000il event,brstacksym >"$log" && grep -q ' main+0x[0-9a-f]*/' "$log" &&
	script user i1000il event,ip,dso,brstackoff >"$log" && grep -q '(/.*qsort)' "$log"
ok $? "fields: brstacksym, brstackoff" "$log"
host_perf run script -i "$share/user.data" --call-trace >"$log" 2>&1 &&
	awk -F'\t' '$2 ~ / msort_with_tmp/ { d = match($2, /[^ ]/); min = min ? min : d; max = d > max ? d : max }
		END { exit max - min < 24 }' "$log"
ok $? "--call-trace: a recursion of 6 and more is indented" "$log"
same "--insn-trace=disasm" "$insns" "$(host_perf run script -i "$share/small.data" --insn-trace=disasm \
	2>"$log.err" | grep -c -P '\t\t[a-z]+[a-z0-9.]*( |$)')"
# Chains of default samples have 16 entries: deeper ones do not reach the function that calls main.
host_perf run report --stdio -i "$share/user.data" 2>"$log.err" | grep -v '^#' >"$log"
share_of()	# FUNCTION: the samples, by their periods, whose chain has it
{
	script user i100usg event,period,ip,sym |
		awk -v function_name="$1" 'BEGIN { RS = "" } { all += $1 }
			index($0, " " function_name) { some += $1 } END { printf "%.2f%%", 100 * some / all }'
}
caller=$(awk '$1 ~ /%$/ { print $NF; exit }' "$log")
grep -q '%--msort_with_tmp' "$log" && [ "$caller" = __libc_start_main_impl ]
ok $? "report: a profile with call chains" "$log" "$log.err"
same "report: the share of $caller" "$(share_of "$caller")" \
	"$(awk '$1 ~ /%$/ { print $1; exit }' "$log")"
host_perf run annotate --stdio -i "$share/user.data" --objdump=/usr/bin/riscv64-linux-gnu-objdump \
	>"$log" 2>"$log.err"
grep -q -E '^ +[1-9][0-9]*\.[0-9]+ +: +[0-9a-f]+: +[a-z]+' "$log"
ok $? "annotate: $(grep -c -E '^ +[1-9][0-9]*\.[0-9]+ +:' "$log") instructions with a percentage" \
	"$log.err"
host_perf run inject --itrace=i997il16 --strip -i "$share/user.data" -o "$share/plain.data" \
	2>"$log.err"
same "inject --itrace --strip: samples and branch stacks are the same" \
	"$(script user i997il200 tid,time,ip,brstack | grep /P/ | own_branches 16 | md5sum)" \
	"$(host_perf run script -i "$share/plain.data" -F tid,time,ip,brstack 2>"$log.err" | grep /P/ |
		awk '{ $1 = $1; print }' | tee "$log" | md5sum)"
[ -s "$log" ]
ok $? "... and there are some" "$log.err"

# --- a timeline ------------------------------------------------------------------------------

# timeline FILE: everything in it, against the branches
timeline()
{
	"$lab/enter" "$build/host/ntrace" timeline --min=0 --depth=512 --slices=1000000000 \
		--perf="$build/perf-x86_64/perf --buildid-dir $share/debug" "$share/$1.data" \
		>"$dir/$1.json" 2>"$log.err"
	script "$1" be comm,pid,tid,cpu,time,flags,ip,sym,addr --ns 2>/dev/null |
		"$top/selftests/lab/timeline.py" "$dir/$1.json" >"$log"
}
for file in user kernel bad; do
	timeline $file
	ok $? "ntrace timeline, $file: $(tail -n 1 "$log")" "$log" "$log.err"
done
finish
