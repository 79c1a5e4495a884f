#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Kernel text that changes during a recording: instructions before the change must match the copy
# made at the start, those after it the copy made at the end, and perf must name the ranges. Text
# that was patched and restored matches neither copy: that must give an error, never a wrong branch.

name=text
. "$(dirname "$0")/lib.bash"
. "$(dirname "$0")/../forms.bash"

# The last window of a chunk of the AUX area may be full before the driver polls: record few chunks.
record="perf --buildid-dir /mnt/debug record -m ,16M"
cat >"$dir/guest.sh" <<END
cd /mnt; status=0
events=/sys/kernel/tracing/events
cat >/tmp/on <<E
forkexec
echo 1 >\$events/raw_syscalls/enable
forkexec
E
cat >/tmp/on-off <<E
forkexec
echo 1 >\$events/sched/sched_process_exit/enable
forkexec
echo 0 >\$events/sched/sched_process_exit/enable
forkexec
E
recording 1; $record --kcore -e ntrace//k -o on.data -- sh /tmp/on || status=1
echo 0 >\$events/raw_syscalls/enable
recording 2; $record --kcore -e ntrace//k -o on-off.data -- sh /tmp/on-off || status=1
recording 3; $record -e ntrace//k -o none.data -- bounce || status=1
cat >/tmp/both <<E
qsort 1
echo 1 >\$events/raw_syscalls/enable
qsort 1
E
recording 4; $record --kcore -e ntrace// -o both.data -- sh /tmp/both || status=1
exit \$status
END
guest one "$dir/guest.sh"
ok $? "recorded in the guest" "$dir/one/guest.out"

compare one 1 on b --require insns=1000000
ok $? "patched while recording: branches are what ran: $(figures)" "$out" "$err"
twice=$(figure insns)
grep -q 'the kernel was patched while recording: 0x[0-9a-f]*\.\.0x[0-9a-f]* in [a-z_]' "$err"
ok $? "perf names the ranges" "$err"

# ntrace reads the two copies as perf does.
host_perf one script -i "$dir/one/share/on.data" --itrace=be --ns \
	-F comm,tid,cpu,time,event,ip,sym,symoff,addr,flags 2>"$dir/log" | same_form |
	by_cpu >"$dir/want"
"$lab/enter" "$build/host/ntrace" script --buildid-dir "$dir/one/share/debug" \
	"$dir/one/share/on.data" \
	2>"$dir/err" | same_form | by_cpu >"$dir/got"
diff "$dir/want" "$dir/got" >"$dir/log" && [ "$(wc -l <"$dir/got")" -ge 100000 ]
ok $? "ntrace prints the same branches as perf: $(wc -l <"$dir/got")" "$dir/log" "$dir/err"
patched()
{
	sed -n 's/.*\(the kernel was patched.*\)/\1/p' "$1" | sort
}
cmp <(patched "$err") <(patched "$dir/err") >"$dir/log" 2>&1
ok $? "... and names the same ranges: $(grep -c 'the kernel was patched' "$dir/err")" "$dir/log" \
	"$dir/err"

# Symbols and modules take longer to copy than the text, and are those of the start.
cmp <(ls "$dir/one/share/on.data/kcore_dir__4294967295") <(echo kcore) >"$dir/log" 2>&1 &&
	[ "$(stat -c %s "$dir"/one/share/on.data/kcore_dir*/kcore | sort -u | wc -l)" = 1 ]
ok $? "the second copy is of the text alone, and of all of it" "$dir/log"

# Up to the first error, everything must be right. No error comes before what is patched is: the
# first of the three programs has run by then, of which the recording before had two.
compare one 2 on-off b --require insns=1000000
right=$(sed -n 's/^\(equal\|different .*\) insns=\([0-9]*\).*/\2/p' "$out")
grep -q -e '^equal' -e '^different .*: the decoder reports an error' "$out" &&
	[ "${right:-0}" -ge $((${twice:-0} / 3)) ] && [ "${right:-0}" -ge 300000 ]
ok $? "patched and patched back: no wrong branch before the first error, and $right instructions, of twice a program's $twice" "$out" "$err"

compare one 3 none b
[ $? = 1 ] && grep -q '^different .* insns=0: the decoder reports an error' "$out" &&
	grep -q 'cannot read \[kernel.kallsyms\], executed at .*--kcore' "$err"
ok $? "without a copy of the kernel's text perf says so, and what to do" "$out" "$err"
# Branches are counted up to patched code, and messages that do not fit are decoded again. Nothing
# is counted twice: it comes to the same as branch by branch.
both=$dir/one/share/both.data
# Where both copies fit, there is a loss, and the status is 1.
ntrace()	# NAME COMMAND OPTION...
{
	"$lab/enter" "$build/host/ntrace" "${@:2}" --buildid-dir "$dir/one/share/debug" "$both" \
		>"$dir/$1" 2>"$dir/$1.err" || [ $? = 1 ]
}
cat "$both"/kcore_dir*/kcore >"$dir/vmlinux"
for program in "$build/guest/bin/qsort" "$dir/vmlinux"; do
	ntrace counted profile --elf="$program" &&
		ntrace single profile --elf="$program" --one-by-one &&
		cmp "$dir/counted" "$dir/single" >"$dir/log" &&
		cmp "$dir/counted.err" "$dir/single.err" >>"$dir/log" &&
		grep -q 'the kernel was patched while recording' "$dir/counted.err" &&
		[ "$(wc -l <"$dir/counted")" -ge 1000 ]
	ok $? "a profile of ${program##*/}, the kernel patched meanwhile: $(wc -l <"$dir/counted") lines" \
		"$dir/log" "$dir/counted.err" "$dir/single.err"
done
totals()	# NAME
{
	grep -E '^(instructions|taken|losses)' "$dir/$1"
}
ntrace counted stat && ntrace single stat --one-by-one &&
	diff <(totals counted) <(totals single) >"$dir/log" && [ "$(totals counted | wc -l)" = 3 ]
ok $? "the totals are the same, too: $(totals counted | tr -s ' \n' ' ')" "$dir/log" \
	"$dir/counted.err" "$dir/single.err"

# What is before an interval is counted and forgotten: the interval is a part of the whole.
ntrace whole script
awk 'match($0, /\] +[0-9.]+:/) { print substr($0, RSTART + 1, RLENGTH - 2) + 0, $0 }' \
	CONVFMT=%.9f OFMT=%.9f "$dir/whole" >"$dir/times"
time_of()	# PERCENT: of the lines
{
	sort -n "$dir/times" | awk -v n=$(($(wc -l <"$dir/times") * $1 / 100)) 'NR == n { print $1 }'
}
for part in "20 21" "50 70" "97 99"; do
	from=$(time_of "${part% *}") to=$(time_of "${part#* }")
	ntrace part script --time="$from,$to"
	awk -v from="$from" -v to="$to" '$1 + 0 >= from + 0 && $1 + 0 <= to + 0' "$dir/times" |
		cut -d' ' -f2- | by_cpu | diff - <(grep -v '^# loss' "$dir/part" | by_cpu) >"$dir/log" &&
		[ "$(wc -l <"$dir/part")" -ge 1000 ]
	ok $? "an interval at ${part% *} % of the branches is a part of the whole: $(wc -l <"$dir/part")" \
		"$dir/log" "$dir/part.err"
done
[ $failures != 0 ] || rm -rf "$dir/one"
finish
