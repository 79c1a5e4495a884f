#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# ntrace calls: each rule of ntrace(1), against numbers worked out by hand from short lists of
# instructions; what many calls took, against the single calls; tables, and what is refused.

. "$(dirname "$0")/lib.bash"
CC=${CC:-gcc}

"$CC" -std=gnu11 -Wall -Wextra -o "$scratch/callprog" "$top/selftests/host/callprog.c" &&
	"$scratch/callprog" >"$scratch/prog" <<'END'
1000 main
	nop
	call 2000
	call 2000
	call 5000
	nop
	ret
2000 f
	nop
	call 3000
	ret
3000 g
	nop
	nop
	ret
4000 tail
	nop
	jump 3000
5000 rec
	ijump
	call 5000
	ret
6000 handler
	nop
	call 3000
	mret
7000 setjmp
	nop
	ret
8000 longjmp
	nop
	ret
9000 jumper
	call 7000
	call a000
	ret
a000 deep
	call 8000
	ret
b000 warm.cold
	nop
	jump c004
c000 warm
	jump b000
	ret
ca00 leaving
	nop
	mret
cb00 signals
	call ca00
cc00 entry
	jump 6000
d000 _start
	call 1000
	call 4000
	call 9000
	call c000
	call d014
	nop
	call 3000
END
verdict $? 'a program'

# calls [OPTION...] <LIST: functions as "NAME CALLS LEFT CUT OWN TOTAL", in the order of names
calls()
{
	local status=0

	cat >"$scratch/list"
	# shellcheck disable=SC2086
	encode "$scratch/list" --elf "$scratch/prog" ${how:-} &&
		"$ntrace" calls --format=csv --elf "$scratch/prog" ${how:-} "$@" "$scratch/trace" \
			>"$scratch/csv" 2>"$scratch/stderr" || status=$?
	tr -d '"' <"$scratch/csv" | awk -F, 'NR > 1 { print $1, $4, $5, $6, $7, $8 }' |
		LC_ALL=C sort >"$scratch/got"
	return $status
}
matches()	# DESCRIPTION <EXPECTED
{
	cat >"$scratch/want"
	diff "$scratch/want" "$scratch/got" | sed 's/^/# /'
	cmp -s "$scratch/want" "$scratch/got"
	verdict $? "$1"
}
list()		# ADDRESS...: a line each
{
	printf '%s\n' "$@"
}
f='2000 2004 3000 3004 3008 2008'

# shellcheck disable=SC2086
list d000 1000 1004 $f 1008 $f 100c 5000 5004 5000 5004 5000 5008 5008 5008 1010 1014 \
	'# stop d004 EVCODE=0' | calls
matches 'calls in calls; of recursion the outermost is the total' <<'END'
_start 0 0 1 1 27
f 2 0 0 6 12
g 2 0 0 6 6
main 1 0 0 6 26
rec 3 0 0 8 8
END
# 8, 5 and 2 instructions
grep -q '^"rec",.*,5,5,8,8,,"main"$' "$scratch/csv"
verdict $? '... and mean, median, 99th percentile, longest and its caller are of single calls'

list d004 4000 4004 3000 3004 3008 '# stop d008 EVCODE=0' | calls
matches 'a tail call ends the call, and what it leads to has the same caller' <<'END'
_start 0 0 1 1 6
g 1 0 0 3 3
tail 1 0 0 2 2
END
grep '^"g",' "$scratch/csv" | grep -q ',"_start"$'
verdict $? '... which is the caller of the longest'

list d008 9000 7000 7004 9004 a000 8000 8004 9004 a000 8000 8004 9008 \
	'# stop d00c EVCODE=0' | calls
matches 'longjmp leaves what it jumps over; to behind the call is a return' <<'END'
_start 0 0 1 1 13
deep 2 1 0 2 6
jumper 1 0 0 4 12
longjmp 2 0 0 4 4
setjmp 1 0 0 2 2
END

list d00c c000 b000 b004 c004 d010 d014 | calls
matches 'the .cold part of a function is no other; a call to what comes next is none' <<'END'
_start 0 0 1 3 7
warm 1 0 0 4 4
END

handler='6000 6004 3000 3004 3008 6008'
# shellcheck disable=SC2086
list d018 3000 '# interrupt 3004 6000' $handler 3004 3008 '# stop d01c EVCODE=0' | calls
matches 'what an interrupt took is not of what it interrupted' <<'END'
_start 0 0 1 1 4
g 2 0 0 6 6
handler 1 0 0 3 6
END
# shellcheck disable=SC2086
list d018 3000 '# interrupt 3004 cc00' cc00 $handler 3004 3008 '# stop d01c EVCODE=0' | calls
matches '... wherever it jumps' <<'END'
_start 0 0 1 1 4
entry 1 0 0 1 1
g 2 0 0 6 6
handler 1 0 0 3 6
END
# shellcheck disable=SC2086
list d018 3000 '# exception 3004 6000' $handler 3004 3008 '# stop d01c EVCODE=0' | calls
matches 'what an exception took is' <<'END'
_start 0 0 1 1 10
g 2 0 0 6 9
handler 1 0 0 3 6
END

list d018 3000 '# exception 3004 cb00' cb00 ca00 ca04 2000 '# stop 2004 EVCODE=0' | calls
matches 'what a trap leads to is not called by what returned from the trap' <<'END'
_start 0 0 1 1 6
f 0 0 1 1 1
g 0 0 1 1 5
leaving 1 0 0 2 2
signals 0 0 1 1 4
END

# shellcheck disable=SC2086
list 1000 1004 $f '# stop 1008 EVCODE=0' '# start 1008 SYNC=5' 1008 2000 | calls
matches 'the begin of the trace cuts what was running, the end what is running' <<'END'
f 1 0 1 4 7
g 1 0 0 3 3
main 0 0 1 3 10
END
list 2004 3000 '# stop 3004 EVCODE=0' '# start 3004 SYNC=5' 3004 3008 2008 1008 2000 | calls
matches '... and what it returns to' <<'END'
f 0 0 2 3 6
g 1 0 0 3 3
main 0 0 1 1 2
END
list 1000 '# stop 1004 EVCODE=0' '# start 6000 SYNC=5' 6000 6004 3000 '# stop 3004 EVCODE=0' \
	'# start 1004 SYNC=5' 1004 | calls
matches 'what the trace passed over is a call: back to where it began, all above is over' <<'END'
[not traced] 2 0 0 0 3
f 0 0 1 0 0
g 1 1 0 1 1
handler 1 1 0 2 3
main 0 0 1 2 5
END

# shellcheck disable=SC2086
list 1000 1004 2000 2004 3000 3004 >"$scratch/list"
encode "$scratch/list" --elf "$scratch/prog" && cp "$scratch/trace" "$scratch/first"
# shellcheck disable=SC2086
list 1008 2000 2004 3000 3004 3008 2008 100c >"$scratch/list"
encode "$scratch/list" --elf "$scratch/prog" && cp "$scratch/trace" "$scratch/second"
status=0
# Error 0, 2: messages were lost
{ cat "$scratch/first"; printf '\x20\x08\x03'; cat "$scratch/second"; } >"$scratch/lossy"
"$ntrace" calls --format=csv --elf "$scratch/prog" "$scratch/lossy" >"$scratch/csv" \
	2>"$scratch/stderr" || status=$?
tr -d '"' <"$scratch/csv" | awk -F, 'NR > 1 { print $1, $4, $5, $6 }' | LC_ALL=C sort >"$scratch/got"
matches 'a call that a loss cuts is not whole' <<'END'
f 1 0 1
g 1 0 1
main 0 0 2
rec 0 0 1
END
[ $status = 1 ] && grep -q '^ntrace: [0-9]* losses, [0-9]* bytes skipped$' "$scratch/stderr"
verdict $? '... and is reported, with exit status 1'

# shellcheck disable=SC2086
list 1000 1004 $f '# stop 1008' >"$scratch/list"
encode "$scratch/list" --elf "$scratch/prog" && cp "$scratch/trace" "$scratch/first"
list d018 3000 '# stop 3004 EVCODE=0' >"$scratch/list"
encode "$scratch/list" --elf "$scratch/prog" &&
	cat "$scratch/first" "$scratch/trace" >"$scratch/joined"
"$ntrace" calls --format=csv --elf "$scratch/prog" "$scratch/joined" | tr -d '"' |
	awk -F, 'NR > 1 { print $1, $4, $5, $6, $7, $8 }' | LC_ALL=C sort >"$scratch/got"
matches 'where trace begins anew and no message said that it ended, calls are cut as well' <<'END'
_start 0 0 1 1 2
f 1 0 0 3 6
g 1 0 1 4 4
main 0 0 1 2 8
END

# two tasks; a message tells each time
who() { echo "# context PRV=0 V=0 scontext=$1"; }
{
	list '# time 100' '# start 1000 SYNC=5' "$(who 7)" 1000 1004 2000 2004 3000 '# time 110' \
		'# stop 3004 EVCODE=0'
	list '# time 200' '# start 1000 SYNC=5' "$(who 8)" 1000 1004 2000 '# time 300' \
		'# stop 2004 EVCODE=0'
	list '# time 310' '# start 3004 SYNC=5' "$(who 7)" 3004 3008 2008 '# time 320' \
		'# stop 1008 EVCODE=0'
} >"$scratch/tasks"
how=--timestamps calls <"$scratch/tasks"
matches 'each task has its own calls' <<'END'
[not traced] 1 0 0 0 0
f 1 0 1 4 7
g 1 0 0 3 3
main 0 0 2 4 11
END
# f begins when the message comes that tells of it
tr -d '"' <"$scratch/csv" | awk -F, 'NR > 1 && $4 { print $1, $10, $11, $14, $15, $16 }' | LC_ALL=C sort >"$scratch/got"
matches '... and its own time: 90 ticks up to where the other runs, 10 after' <<'END'
[not traced] 100 90 90 110 g
f 110 100 100 110 main
g 90 90 90 110 f
END
how=--timestamps calls --function=f <"$scratch/tasks" >"$scratch/log"
tr -d '"' <"$scratch/csv" | tail -n +2 >"$scratch/got"
matches '--function: each call' <<'END'
f,,110,100,6,3,whole,0,7,7,,main
f,,300,10,1,1,cut,0,8,8,,main
END

# three pieces, of task 7, 8 and 7; behind the second messages were lost
list '# start 1000 SYNC=5' "$(who 7)" 1000 1004 2000 2004 3000 '# stop 3004 EVCODE=0' \
	>"$scratch/list.1"
list '# start 1000 SYNC=5' "$(who 8)" 1000 1004 2000 2004 >"$scratch/list.2"
list '# start 3004 SYNC=5' "$(who 7)" 3004 3008 2008 '# stop 1008 EVCODE=0' >"$scratch/list.3"
for n in 1 2 3; do
	encode "$scratch/list.$n" --elf "$scratch/prog"
	mv "$scratch/trace" "$scratch/trace.$n"
done
{ cat "$scratch/trace.1" "$scratch/trace.2"; printf '\x20\x08\x03'; cat "$scratch/trace.3"; } \
	>"$scratch/lossy"
"$ntrace" calls --format=csv --elf "$scratch/prog" "$scratch/lossy" 2>"$scratch/stderr" |
	tr -d '"' |
	awk -F, 'NR > 1 { print $1, $4, $5, $6 }' | LC_ALL=C sort >"$scratch/got"
matches 'a loss cuts the calls of a task that may have run in it, too' <<'END'
f 0 0 3
g 0 0 3
main 0 0 3
END

# Linux: kernel and program, where trace goes on elsewhere in the kernel
"$scratch/callprog" >"$scratch/prog" <<'END'
ffffffff80001000 entry
	nop
	call ffffffff80002000
	mret
ffffffff80002000 work
	nop
	call ffffffff80003000
	nop
	ret
ffffffff80003000 leaf
	nop
	ret
ffffffff80004000 program
	nop
	call ffffffff80005000
	nop
ffffffff80005000 busy
	nop
	nop
	ret
END
k=ffffffff8000
in_gap()	# KIND OF TRAP
{
	list "${k}4000" "${k}4004" "${k}5000" "# $1 ${k}5004 ${k}1000" "${k}1000" "${k}1004" \
		"${k}2000" \
		"${k}2004" "${k}3000" "# stop ${k}3004 EVCODE=0" "# start ${k}2008 SYNC=5" \
		"${k}2008" "${k}200c" "${k}1008" "${k}5004" \
		"${k}5008" "# stop ${k}4008 EVCODE=0" | calls
}
in_gap interrupt
matches 'a gap in an interrupt cuts what is in the interrupt' <<'END'
[not traced] 1 0 0 0 0
busy 1 0 0 3 3
entry 0 0 1 3 8
leaf 0 0 1 1 1
program 0 0 1 2 5
work 0 0 1 4 5
END
in_gap exception
matches 'a gap in an exception cuts also what it is of' <<'END'
[not traced] 1 0 0 0 0
busy 0 0 1 3 11
entry 0 0 1 3 8
leaf 0 0 1 1 1
program 0 0 1 2 13
work 0 0 1 4 5
END

# --- many calls -----------------------------------------------------------------------

# one_by_one FUNCTION ARGUMENT...: what the table says of it follows from its single calls
one_by_one()
{
	local function=$1
	shift

	"$ntrace" calls --format=csv "$@" | tr -d '"' | grep "^$function," >"$scratch/line" &&
		"$ntrace" calls --format=csv --function="$function" "$@" | tail -n +2 |
		sort -t, -k4,4n |
		awk -F, -v line="$(cat "$scratch/line")" '
		function near(value, true) { return n <= 1000 ? value == true : (value - true) ^ 2 <= (true / 128) ^ 2 }
		$7 != "cut" { t[++n] = $4; sum += $4 }
		$7 == "cut" { cut++ }
		{ own += $6 }
		END {
			split(line, f, ",")
			exit !(n == f[4] && cut + 0 == f[6] && own == f[7] && int(sum / n) == f[11] &&
				near(f[12], t[int((n * 50 + 99) / 100)]) && near(f[13], t[int((n * 99 + 99) / 100)]) &&
				t[n] == f[14])
		}'
	verdict $? "$function: $(cut -d, -f4 "$scratch/line") calls, one by one"
}
towers=(--timestamps --elf "$samples/towers/towers.elf" "$samples/towers/timed.bin")
one_by_one towers "${towers[@]}"
one_by_one move "${towers[@]}"
one_by_one fill --timestamps --elf "$samples/mix/mix.elf" "$samples/mix/timed.bin"

# at the end of a class: its begin is 1/64 from there
awk 'BEGIN {
	k = "ffffffff8000"
	for (i = 0; i < 3000; i++) {
		printf "# time %d\n# start %s2004 SYNC=5\n%s2004\n%s3000\n# stop %s3004 EVCODE=0\n", t, k, k, k, k
		t += 66500 + i * 7919 % 60
		printf "# time %d\n# start %s3004 SYNC=5\n%s3004\n# stop %s2008 EVCODE=0\n", t, k, k, k
	}
}' >"$scratch/list"
encode "$scratch/list" --timestamps --elf "$scratch/prog"
one_by_one leaf --timestamps --elf "$scratch/prog" "$scratch/trace"

# --- recordings -------------------------------------------------------------------------

mix=$samples/mix
build_recdata &&
	for kind in file switch partial; do
		"$scratch/recdata" $kind "$mix/mix.elf" "$mix/L1.bin" >"$scratch/$kind.data" ||
			break
	done
verdict $? 'recordings'
# what is of a function, however it is named
figures() { tr -d '"' | awk -F, 'NR > 1 { print $1, $4, $5, $6, $7, $8, $11, $12, $13, $14, $16 }' | LC_ALL=C sort; }
"$ntrace" calls --format=csv --elf "$mix/mix.elf" "$mix/L1.bin" | figures >"$scratch/want"
"$ntrace" calls --format=csv "$scratch/file.data" | figures >"$scratch/got"
[ -s "$scratch/want" ] && cmp "$scratch/want" "$scratch/got"
verdict $? 'of a perf.data what is of the trace in it'
"$ntrace" calls --format=csv "$scratch/file.data" | tr -d '"' >"$scratch/csv"
"$ntrace" calls --format=json "$scratch/file.data" >"$scratch/json"
grep -q ',own_none,total_none,' "$scratch/csv" && ! grep -q -e '_time":' -e '_at":' "$scratch/json" &&
	awk -F, 'NR > 1 && ($9 $10 $15 != "" || NF != 16) { bad = 1 } END { exit bad }' "$scratch/csv"
verdict $? 'without time nothing stands for it'
"$ntrace" calls --format=csv --function=mix "$scratch/switch.data" | cut -d, -f9,10 | sort |
	uniq -c |
	awk '$2 ~ /^100,/ { n[$2] = $1 } END { exit !(n["100,100"] > 1 && n["100,101"] > 1) }'
verdict $? 'two threads have calls of their own'
for tid in 100 101; do
	"$ntrace" calls --format=json --tid $tid "$scratch/switch.data" |
		sed -n 's/.*"instructions":\([0-9]*\),"losses".*/\1/p'
done | awk '{ n += $1; some += $1 > 0 } END { exit !(n && some == 2) }'
verdict $? '--tid'
# 220 ns with three instructions in the first ten; another task runs for 100 of them
list '# time 1100' "# start ${k}2000 SYNC=5" ${k}2000 ${k}2004 ${k}3000 '# time 1110' \
	"# stop ${k}3004 EVCODE=0" \
	'# time 1310' "# start ${k}3004 SYNC=5" ${k}3004 '# time 1320' "# stop ${k}2008 EVCODE=0" |
	sed 's/ffffffff8000/1000/g' >"$scratch/list"
printf '%s\n' '10002000 work' nop 'call 10003000' nop ret '10003000 leaf' nop ret |
	"$scratch/callprog" >"$scratch/prog" &&
	encode "$scratch/list" --timestamps --elf "$scratch/prog" &&
	"$scratch/recdata" times "$scratch/prog" "$scratch/trace" >"$scratch/times.data" &&
	"$ntrace" calls --format=csv "$scratch/times.data" | tr -d '"' |
	awk -F, 'NR > 1 { print $1, $4, $6, $9, $10; own += $9 } END { print own }' |
	LC_ALL=C sort >"$scratch/got"
matches 'time of other tasks is not of a call' <<'END'
120
[not traced] 1 0 100 100
leaf 1 0 14 114
work 0 1 6 120
END
# own TIMES: what all functions took themselves, of what is chosen
own()
{
	"$ntrace" calls --format=csv --time="$1" "$scratch/times.data" | tr -d '"' |
		awk -F, 'NR > 1 { n += $9 } END { print n + 0 }'
}
first=0.000001100,0.000001104 second=0.000001310,0.000001320
sum=$(($(own $first) + $(own $second)))
[ $sum -gt 0 ] && [ $sum -le 14 ] && [ "$(own "$first $second")" = $sum ]
verdict $? "two intervals take what each of them does: $sum ns"
status=0
"$ntrace" calls --format=csv "$scratch/partial.data" >"$scratch/csv" 2>"$scratch/stderr" ||
	status=$?
[ $status = 1 ] && grep -q 'losses' "$scratch/stderr" && grep -q '^"_start",' "$scratch/csv"
verdict $? 'losses of a recording'

# --- what is printed --------------------------------------------------------------------

"$ntrace" calls "${towers[@]}" >"$scratch/log"
head -n 1 "$scratch/log" | grep -q '^ *calls  *cut  *own insn  *total insn  *own ticks ' &&
	[ "$(wc -l <"$scratch/log")" = 4 ] && grep -q ' move < towers$' "$scratch/log"
verdict $? 'in a pipe, the table alone'
if command -v script >/dev/null; then
	script -qec "'$ntrace' calls ${towers[*]}" /dev/null </dev/null | tr -d '\r' >"$scratch/log"
	head -n 1 "$scratch/log" |
		grep -q '^3 functions, 3070 calls, 1 more that are cut, 28663 instructions in [0-9]* ticks, 0 losses$' &&
		grep -q '^each call of a function: *ntrace calls --function=towers ' "$scratch/log"
	verdict $? 'on a terminal an overview, and how to see more'
else
	verdict 0 'on a terminal an overview # SKIP no script'
fi
"$ntrace" calls --by=insns "${towers[@]}" | grep -q ' mean insn '
verdict $? '--by=insns'
if command -v python3 >/dev/null; then
	"$ntrace" calls --format=json "${towers[@]}" | python3 -c '
import json, sys
d = json.load(sys.stdin)
sys.exit(sum(f["own_instructions"] for f in d["functions"]) != d["instructions"] or d["unit"] != "ticks")' &&
		"$ntrace" calls --format=json --function=move "${towers[@]}" |
		python3 -c 'import json, sys; sys.exit(len(json.load(sys.stdin)) != 1023)'
	verdict $? 'JSON'
else
	verdict 0 'JSON # SKIP no python3'
fi

refuses()	# DESCRIPTION WORDS ARGUMENT...
{
	local description=$1 words=$2 status=0
	shift 2

	"$ntrace" calls "$@" >"$scratch/log" 2>"$scratch/stderr" </dev/null || status=$?
	[ $status = 2 ] && grep -qF -- "$words" "$scratch/stderr"
	verdict $? "refused: $description"
}
refuses 'no program' 'no program given' "$samples/towers/L1.bin"
refuses 'another format' 'is none of table, csv, json' --format=xml "${towers[@]}"
refuses 'by anything else' 'is neither time nor insns' --by=cycles "${towers[@]}"
refuses 'time of what has none' 'has no time' --by=time --elf "$mix/mix.elf" "$mix/L1.bin"
refuses 'a program, of a perf.data' 'is a perf.data, which tells what ran' --elf "$mix/mix.elf" \
	"$scratch/file.data"
finish
