#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Rare content of recordings, generated from a normal recording: records that are duplicated or
# missing, lost trace, gaps between AUX area samples, patched kernel text. No call chain or branch
# stack may reach across missing trace. Both must continue across a pause of the window.

name=records
. "$(dirname "$0")/lib.bash"

share=$dir/run/share
log=$dir/log
change=$top/selftests/lab/perfdata.py
fields=cpu,tid,event,ip,addr,flags,insnlen,brstack

cat >"$dir/record.sh" <<'END'
cd /mnt; status=0
# On a busy host samples take long, and the kernel would throttle the event.
echo 0 >/proc/sys/kernel/perf_cpu_time_max_percent
record="perf --buildid-dir /mnt/debug record"
recording 1; $record -m,64K -e ntrace/stall/u -o moves.data -- recurse 3 || status=1
recording 2; $record --aux-sample=8192 -m 8M,16K -c 1000000 -e '{ntrace//u,cpu-clock:u}' -o clock.data -- qsort || status=1
recording 3; $record --kcore -e ntrace//k -o kernel.data -- ls / || status=1
exit $status
END
guest run "$dir/record.sh"
ok $? "recordings" "$dir/run/guest.out"

script()	# FILE LETTERS FIELDS
{
	host_perf run script -i "$share/$1.data" --itrace="$2" -F "$3" 2>"$log.err"
}
sum()	# FILE: of all branches
{
	script "$1" be cpu,tid,time,event,ip,addr,flags | grep -e ' => ' -e ' error ' | md5sum
}
# stacks FILE: chains and branch stacks are what itrace.py rebuilds from the branches
stacks()
{
	script "$1" bei997ig32l16 $fields | tee "$log.script" |
		"$top/selftests/lab/itrace.py" 16 32 instructions >"$log"
}
windows=$("$change" list "$share/moves.data" | grep -c ' aux ')

# --- records ---------------------------------------------------------------------------------

stacks moves && grep -q ' 0 errors' "$log" && [ "$windows" -gt 20 ]
ok $? "moves: $windows windows, chains and stacks go on across their pauses: $(tail -n 1 "$log")" \
	"$log" "$log.err"
whole=$(sum moves)
"$change" repeat aux 5 "$share/moves.data" "$share/changed.data" && [ "$(sum changed)" = "$whole" ]
ok $? "an AUX record that is in the file twice" "$log.err"
# two with no trace between, and a third behind
first=$("$change" list "$share/moves.data" | awk \
	'$2 == "auxtrace" { near = 0 } $2 == "aux" { if (near && n > 3) { print n - 1; exit } n++; near = 1 }')
"$change" again aux "$first" $((first + 1)) "$share/moves.data" "$share/changed.data" &&
	[ "$(sum changed)" = "$whole" ]
ok $? "AUX records and what is between them, once more" "$log.err"

# lost WORDS CHANGE...: one error with these words, and chains that begin anew
lost()
{
	local words=$1 status=0
	shift

	"$change" "$@" "$share/moves.data" "$share/changed.data" && stacks changed &&
		[ "$(grep -c "error.*$words" "$log.script")" = 1 ] && grep -q ' 1 errors' "$log" ||
		status=1
	ok $status "$*: $words: $(tail -n 1 "$log")" "$log" "$log.err"
}
# perf may write an AUX record twice: take one that is in the file once
once=$("$change" list "$share/moves.data" |
	awk '$2 == "aux" { time[n++] = $4; times[$4]++ }
		END { for (i = 5; i < n; i++) if (times[time[i]] == 1) { print i; exit } }')
lost 'code 2: AUX record lost' drop aux "$once"
lost 'code 2: trace lost: the sink was full' flags "$once" 4
lost 'code 2: trace lost: AUX buffer full' flags "$once" 1
host_perf run report --stdio -i "$share/changed.data" >/dev/null 2>"$log"
grep -q '^1 instruction trace errors' "$log"
ok $? "report warns of it" "$log"
[ -z "$(script changed e-l ip)" ] && [ -n "$(script changed e-o ip)" ]
ok $? "e-l, e-o: it is a loss, no overflow"
# Code that is not there is a loss of another kind, and does not stand for that of the sink.
"$change" flags "$once" 4 "$share/moves.data" "$share/changed.data" && mkdir -p "$dir/none"
"$lab/enter" "$build/perf-x86_64/perf" --buildid-dir "$dir/none" script --symfs "$dir/none" \
	-i "$share/changed.data" --itrace=e -F ip >"$log" 2>"$log.err"
[ "$(grep -c 'code 2: trace lost: the sink was full' "$log")" = 1 ] &&
	grep -q 'code 3: no code' "$log"
ok $? "without code, too: $(grep -c 'code 3' "$log") losses for want of code" "$log" "$log.err"

# --- samples -------------------------------------------------------------------------------------

# The log tells where a sample begins: before each there is a gap.
script clock d+o-abei997ig32l16 $fields | tee "$log.script" |
	"$top/selftests/lab/itrace.py" 16 32 instructions >"$log" &&
	[ "$(grep -c '^window' "$log.script")" -gt 20 ]
ok $? "$(grep -c '^window' "$log.script") AUX area samples: chains and stacks begin anew: $(tail -n 1 "$log")" "$log" "$log.err"

# --- guests --------------------------------------------------------------------------------------

# V=1 in an Ownership message amid the trace: the third byte is PRV, V and the first bits of the
# context. Up to the next such message with V=0 nothing is any task's.
# It is one in the middle of the file's first trace: offsets are those of its CPU.
read -r place byte < <(host_perf run report -D -i "$share/moves.data" 2>"$log.err" |
	awk '/PERF_RECORD_AUXTRACE size/ { areas++ } areas == 1 && / Ownership .*V=0 / { at[n++] = $1 " " $3 }
		END { sub(":", "", at[int(n / 2)]); print at[int(n / 2)] }')
"$change" trace "0x$place" "08$(printf %02x $((0x$byte | 0x40)))" "$share/moves.data" \
	"$share/changed.data"
script changed be cpu,tid,event,ip,addr >"$log"
[ "$(grep -c 'no code in a guest' "$log")" = 1 ] && [ "$(grep -c error "$log")" = 1 ] &&
	! awk '/^ *-1 .* =>  *[0-9a-f]*[1-9a-f]/ && !/ error |tid -1/ { wrong = 1 } END { exit !wrong }' "$log"
ok $? "a guest's stretch, at $place, is no task's: $(grep -c -e '^ *-1' -e 'tid -1' "$log") lines" \
	"$log.err"

# --- text ----------------------------------------------------------------------------------------

# The instruction that branched most is another one in the copies of the kernel.
whole=$(sum kernel)
read -r _ place < <(script kernel b event,ip,insn,flags | grep -a ' jcc ' |
	sed 's/.*jcc *\([0-9a-f]*\) *insn: *\(.*\)/\1/' | sort | uniq -c | sort -rn)
right=$("$change" peek "0x$place" 4 "$share/kernel.data/kcore_dir/kcore")
wrong=82808280
for copy in "$share"/kernel.data/kcore_dir*; do
	"$change" poke "0x$place" $wrong "$copy/kcore"
done
data=$share/kernel.data/data
cp "$data" "$dir/original"
errors=$(script kernel e ip | grep -c error)
[ "$errors" -gt 0 ]
ok $? "a copy of the kernel that is not what ran, at $place: $errors errors"
"$change" text-poke "0x$place" $wrong "$right" 0 "$dir/original" "$data" &&
	[ "$(sum kernel)" = "$whole" ]
ok $? "text poke: with the record of what is there all is well" "$log.err"

# Between the times that it branched the wrong one is poked in.
time=$(script kernel b time,event,ip,flags | awk -v place="$place" \
	'/ jcc / && index($0, place) { t[n++] = $1 }
	END { printf "%.0f", t[int(n / 2)] * 1000000000 }')
"$change" text-poke "0x$place" "$right" $wrong "$time" "$data" "$dir/second" &&
	cp "$dir/second" "$data"
script kernel e ip >"$log"
early=$(awk -v poked="$time" '{ sub(/.* time /, ""); split($1, t, "."); ns = t[1] * 1000000000 + t[2] }
	ns + 100000 < poked { n++ } END { print n + 0 }' "$log")
[ -s "$log" ] && [ "$early" = 0 ]
ok $? "text poke: $(wc -l <"$log") errors once the wrong one is there, none before" "$log"
[ $failures != 0 ] || rm -rf "$dir/run"
finish
