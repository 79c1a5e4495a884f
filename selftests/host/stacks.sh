#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# ntrace profile with call stacks, for pprof, flame graphs and KCachegrind: every instruction counts
# where it ran, own and total sums are those of ntrace calls, stacks those that were worked out by
# hand. pprof.py reads pprof's format; pprof and callgrind_annotate themselves do where they are
# installed.

. "$(dirname "$0")/lib.bash"
here=$(dirname "$0")
CC=${CC:-gcc}
exec 2>"$scratch/stderr"

build_recdata && for tool in callprog rusage; do
	"$CC" -std=gnu11 -Wall -Wextra -o "$scratch/$tool" "$top/selftests/host/$tool.c" || break
done
verdict $? 'recdata, callprog and rusage'

pprof()		# WHAT FILE
{
	python3 "$here/pprof.py" "$@"
}

# --- every instruction, where it ran ----------------------------------------------------

# exact DESCRIPTION ARGUMENT...: what ran by its list, and by each format
exact()
{
	local description=$1
	shift

	"$ntrace" decode --output=pc --no-marks "$@" | sort | uniq -c |
		awk '{ print $2, $1 }' >"$scratch/want"
	"$ntrace" profile --format=pprof "$@" >"$scratch/pb" &&
		pprof addresses "$scratch/pb" | cmp - "$scratch/want" && [ -s "$scratch/want" ]
	verdict $? "$description: pprof: each of $(wc -l <"$scratch/want") instructions"
	"$ntrace" profile --format=callgrind "$@" >"$scratch/callgrind" &&
		awk '/^calls=/ { getline; next } /^0x/ { n[substr($1, 3)] += $3 } END { for (a in n) if (n[a]) print a, n[a] }' \
			"$scratch/callgrind" | sort | cmp - "$scratch/want"
	verdict $? "$description: callgrind: the same"
	"$ntrace" profile --format=folded "$@" >"$scratch/folded" &&
		[ "$(awk '{ n += $NF } END { print n }' "$scratch/folded")" = \
			"$(awk '{ n += $2 } END { print n }' "$scratch/want")" ]
	verdict $? "$description: folded: as many in all"
	"$ntrace" calls --format=csv "$@" |
		awk -F, 'NR > 1 && $7 + $8 { gsub("\"", ""); print $1, $7, $8 }' |
		sort >"$scratch/want"
	pprof functions "$scratch/pb" | sort >"$scratch/got"
	cmp "$scratch/got" "$scratch/want" && [ -s "$scratch/want" ]
	verdict $? "$description: own and total instructions of each function as ntrace calls has them"
	# of a recursive function the innermost ones are in what the outermost took
	awk '/^fn=/ { fn = substr($0, 4) } /^cfn=/ { next }
		/^calls=/ { getline; total[fn] += $3; next } /^0x/ { own[fn] += $3; total[fn] += $3 }
		END { for (f in total) if (total[f]) print f, own[f] + 0, total[f] }' \
			"$scratch/callgrind" | sort | cmp - "$scratch/want"
	verdict $? "$description: callgrind: the same"
	awk '{ n = $NF; sub(/ [0-9]+$/, ""); k = split($0, at, ";"); own[at[k]] += n; split("", seen)
		for (i = 2; i <= k; i++) if (!seen[at[i]]++) total[at[i]] += n }
		END { for (f in total) print f, own[f] + 0, total[f] }' \
			"$scratch/folded" | sort | cmp - "$scratch/want"
	verdict $? "$description: folded: the same"
	"$ntrace" profile --format=folded --value=branches "$@" >"$scratch/folded"
	[ "$(awk '{ n += $NF } END { print n }' "$scratch/folded")" = \
		"$("$ntrace" decode --output=branch "$@" | grep -vc '^#')" ] &&
		[ "$(pprof values "$scratch/pb" | awk '$1 == "branches" { print $2 }')" = \
			"$(awk '{ n += $NF } END { print n }' "$scratch/folded")" ]
	verdict $? "$description: every branch"
}
exact 'towers' --elf "$samples/towers/towers.elf" "$samples/towers/L2.bin"
exact 'mix' --elf "$samples/mix/mix.elf" "$samples/mix/L1.bin"
cp "$samples/mix/mix.elf" "$scratch/mix.elf"
"$scratch/recdata" file "$scratch/mix.elf" "$samples/mix/L1.bin" >"$scratch/file.data"
exact 'a recording' "$scratch/file.data"

# --- stacks, by hand --------------------------------------------------------------------

"$scratch/callprog" >"$scratch/prog" <<'END'
1000 main
	nop
	call 2000
	call 2000
	nop
	ret
2000 f
	nop
	call 3000
	ret
3000 g
	nop
	ret
4000 tail
	nop
	jump 3000
d000 _start
	call 1000
	call 4000
	call 3000
END
cat >"$scratch/list" <<'END'
d000
1000
1004
2000
2004
3000
3004
2008
1008
2000
2004
3000
3004
2008
100c
1010
d004
4000
4004
3000
3004
d008
3000
3004
END
"$ntrace" encode --elf "$scratch/prog" --pc "$scratch/list" -o "$scratch/trace" &&
	"$ntrace" profile --format=folded --elf "$scratch/prog" "$scratch/trace" >"$scratch/got"
cat >"$scratch/want" <<'END'
[unknown];_start 3
[unknown];_start;g 4
[unknown];_start;main 5
[unknown];_start;main;f 6
[unknown];_start;main;f;g 4
[unknown];_start;tail 2
END
cmp "$scratch/want" "$scratch/got"
verdict $? 'folded: each stack; who jumps to a function leaves it its caller'
"$ntrace" profile --format=pprof --elf "$scratch/prog" "$scratch/trace" >"$scratch/pb"
sed 's/^\[unknown\];//' "$scratch/want" | cmp - <(pprof folded "$scratch/pb")
verdict $? 'pprof: the same'
"$ntrace" profile --format=callgrind --elf "$scratch/prog" "$scratch/trace" >"$scratch/callgrind"
awk '/^fn=/ { fn = substr($0, 4) } /^cfn=/ { to = substr($0, 5) }
	/^calls=/ { split($1, n, "="); getline; print fn, to, n[2], $1, $3 }' \
		"$scratch/callgrind" | sort >"$scratch/got"
cat >"$scratch/want" <<'END'
_start g 1 0xd004 2
_start g 1 0xd008 2
_start main 1 0xd000 15
_start tail 1 0xd004 2
f g 2 0x2004 4
main f 1 0x1004 5
main f 1 0x1008 5
END
cmp "$scratch/want" "$scratch/got"
verdict $? 'callgrind: each call, from where, how often, and what it took'

# --- deep recursion: as much work and memory as for what has no stacks --------------------

depth=64000
printf '%s\n' '1000 f' nop 'call 1000' '2000 main' nop 'call 1000' |
	"$scratch/callprog" >"$scratch/prog" &&
	awk -v depth=$depth 'BEGIN {
		print "2000\n2004"
		while (depth--)
			print "1000\n1004"
		print 1000
	}' >"$scratch/list" &&
	"$ntrace" encode --elf "$scratch/prog" --pc "$scratch/list" -o "$scratch/trace"
verdict $? "$depth calls in one another"
# what it takes: milliseconds of processor time, and KB
take()		# FORMAT
{
	"$scratch/rusage" "$scratch/usage" "$ntrace" profile --format="$1" --elf "$scratch/prog" \
		"$scratch/trace" >"$scratch/deep.$1" && read -r ms kb _ <"$scratch/usage"
}
take callgrind
verdict $? "callgrind: $ms ms, $kb KB"
most_ms=$((8 * ms + 100)) most_kb=$((kb + 32768))
for format in folded pprof; do
	take $format && [ "$ms" -lt $most_ms ] && [ "$kb" -lt $most_kb ]
	verdict $? "$format: $ms ms of $most_ms, $kb KB of $most_kb"
done
# the middle is left out: beyond 1024 they all are one stack
awk -v depth=$depth 'BEGIN {
	for (text = "main"; ++n < 1024; text = text ";f")
		print text, 2
	print text, 2 * (depth + 1 - n) + 3
}' | sort >"$scratch/want"
sed 's/^\[unknown\];//' "$scratch/deep.folded" | sort | cmp - "$scratch/want" &&
	pprof folded "$scratch/deep.pprof" | sort | cmp - "$scratch/want"
verdict $? 'each stack has what it had, the deepest the rest'

# --- labels, files, time ---------------------------------------------------------------

"$scratch/recdata" switch "$scratch/mix.elf" "$samples/mix/L1.bin" >"$scratch/switch.data"
"$ntrace" profile --format=pprof "$scratch/switch.data" >"$scratch/pb"
for tid in 100 101; do
	n=$("$ntrace" script --insns --tid=$tid "$scratch/switch.data" | grep -c instructions:)
	[ "$n" -gt 0 ] && pprof labels "$scratch/pb" | grep -qx "tid=$tid $n"
	verdict $? "pprof: thread $tid ran $n instructions"
done
pprof labels "$scratch/pb" | grep -q '^cpu=1 ' &&
	pprof labels "$scratch/pb" | grep -q '^task=prog ' &&
	pprof labels "$scratch/pb" | grep -q '^pid=100 '
verdict $? 'pprof: task, process, CPU'
pprof files "$scratch/pb" | grep -q "^- $scratch/mix.elf 80000000 8000[12][0-9a-f]* 1000\$"
verdict $? 'pprof: the file, where it was and what of it'
# three instructions in the first ten of 220 ns, of which another task had 100
printf '%s\n' '10002000 work' nop 'call 10003000' nop ret '10003000 leaf' nop ret |
	"$scratch/callprog" >"$scratch/prog" &&
	printf '%s\n' '# time 1100' '# start 10002000 SYNC=5' 10002000 10002004 10003000 \
		'# time 1110' \
		'# stop 10003004 EVCODE=0' '# time 1310' '# start 10003004 SYNC=5' 10003004 \
		'# time 1320' \
		'# stop 10002008 EVCODE=0' >"$scratch/list" &&
	"$ntrace" encode --timestamps --elf "$scratch/prog" --pc "$scratch/list" -o \
		"$scratch/trace" &&
	"$scratch/recdata" times "$scratch/prog" "$scratch/trace" >"$scratch/times.data" &&
	"$ntrace" profile --format=folded --value=time "$scratch/times.data" >"$scratch/got"
cat >"$scratch/want" <<'END'
prog;work 6
prog;work;leaf 14
prog;work;leaf;[not traced] 100
END
cmp "$scratch/want" "$scratch/got"
verdict $? 'folded: the time of each stack, without that of other tasks'
"$ntrace" profile --format=pprof "$scratch/times.data" >"$scratch/pb"
[ "$(pprof values "$scratch/pb" | tr '\n' ' ')" = 'branches 2 instructions 4 time 120 ' ]
verdict $? 'pprof: time in all'
printf '%s count\n' instructions branches >"$scratch/want" &&
	echo 'time nanoseconds' | cat "$scratch/want" - | cmp - <(pprof types "$scratch/pb")
verdict $? '... in nanoseconds'
"$ntrace" profile --format=callgrind "$scratch/times.data" | grep -qx 'summary: 4 120'
verdict $? 'callgrind: the same'
"$ntrace" profile --format=callgrind "$scratch/times.data" | grep -qx 'events: Ir Ns'
verdict $? '... in nanoseconds'
# of a raw trace nobody knows how long a tick is
"$ntrace" profile --timestamps --format=pprof --elf "$scratch/prog" "$scratch/trace" \
	>"$scratch/pb" &&
	echo 'time ticks' | cat "$scratch/want" - | cmp - <(pprof types "$scratch/pb")
verdict $? 'pprof of a raw trace: in ticks'
"$ntrace" profile --timestamps --format=callgrind --elf "$scratch/prog" "$scratch/trace" |
	grep -qx 'events: Ir Ticks'
verdict $? 'callgrind of a raw trace: in ticks'
pprof types "$scratch/deep.pprof" | cmp - "$scratch/want"
verdict $? 'pprof of a raw trace: no time without timestamps'

# --- of edges, which know no stacks ------------------------------------------------------

"$ntrace" profile --format=edges "$scratch/file.data" >"$scratch/edges"
"$ntrace" decode --output=pc --no-marks "$scratch/file.data" | sort | uniq -c |
	awk '{ print $2, $1 }' >"$scratch/want"
"$ntrace" profile --format=pprof --elf "$scratch/mix.elf" "$scratch/edges" >"$scratch/pb" &&
	pprof addresses "$scratch/pb" | cmp - "$scratch/want"
verdict $? 'of edges, pprof: each instruction'
"$ntrace" calls --format=csv "$scratch/file.data" |
	awk -F, 'NR > 1 && $7 { gsub("\"", ""); print $1, $7 }' | sort >"$scratch/want"
"$ntrace" profile --format=folded --elf "$scratch/mix.elf" "$scratch/edges" |
	cmp - "$scratch/want" &&
	pprof folded "$scratch/pb" | cmp - "$scratch/want"
verdict $? '... folded: own instructions as ntrace calls has them'
"$ntrace" decode --output=branch "$scratch/file.data" |
	awk '$3 ~ /call$/ { n[$1 " " $2]++ } END { for (c in n) print c, n[c] }' |
	sort >"$scratch/want"
"$ntrace" profile --format=callgrind --elf "$scratch/mix.elf" "$scratch/edges" |
	awk '/^calls=/ { split($1, n, "="); to = substr($2, 3); getline; print substr($1, 3), to, n[2] }' | sort | cmp - "$scratch/want" &&
	[ -s "$scratch/want" ]
verdict $? '... callgrind: how often each call was made'

# --- which file it was -------------------------------------------------------------------

# A header of notes takes the place of the one behind the last: of build-id 01 ... 14.
"$scratch/callprog" >"$scratch/named" <<'END' &&
10000 main
	nop
	ecall
	nop
	call 10100
	nop
	ret
10100 f
	nop
	ret
END
	python3 - "$scratch/named" <<'END'
import struct
import sys
data = bytearray(open(sys.argv[1], 'rb').read())
note = struct.pack('<III4s', 4, 20, 3, b'GNU') + bytes(range(1, 21))
struct.pack_into('<H', data, 56, 2)
struct.pack_into('<IIQQQQQQ', data, 64 + 56, 4, 4, 512, 0, 0, len(note), len(note), 4)
data[512:512 + len(note)] = note
open(sys.argv[1], 'wb').write(data)
END
verdict $? 'a program with a build-id'
printf '%s\n' '# start 10000 SYNC=5' 10000 '# stop 10004 EVCODE=4' '# start 10008 SYNC=5' 10008 \
	1000c 10100 10104 10010 '# stop 10014 EVCODE=4' >"$scratch/list" &&
	encode "$scratch/list" --elf "$scratch/named" &&
	"$ntrace" profile --format=edges --elf "$scratch/named" -o "$scratch/named.edges" \
		"$scratch/trace"
verdict $? 'its edges'
id=$(printf %02x {1..20})
cd "$scratch" || exit
for from in trace named.edges; do
	"$ntrace" profile --format=pprof --elf named $from >pb &&
		[ "$(pprof files pb)" = "$id $scratch/named 10000 10108 1000" ]
	verdict $? "pprof of $from: build-id and whole name"
	"$ntrace" profile --format=callgrind --elf named $from >callgrind &&
		awk -F= -v name="$scratch/named" '
			$1 == "ob" || $1 == "cob" { file = $2 }
			$1 !~ /^c?fn$/ { next }
			$2 ~ /^\[/ { bad += file != "???"; next }
			{ n++; bad += file != name }
			END { exit !n || bad }' callgrind &&
		[ "$(grep -c "^ob=$scratch/named\$" callgrind)" = 2 ]
	verdict $? "callgrind of $from: the program as object, but not of what was not traced"
done
cd - >/dev/null || exit
for from in trace named.edges; do
	"$ntrace" profile --format=pprof --elf "$scratch/named" "$scratch/$from" >"$scratch/pb" &&
		pprof addresses "$scratch/pb" >"$scratch/$from.addresses"
done
printf '%s 1\n' 10000 10008 1000c 10010 10100 10104 | cmp - "$scratch/trace.addresses" &&
	cmp "$scratch/trace.addresses" "$scratch/named.edges.addresses"
verdict $? 'of edges, too, an ECALL does not count, as it never retires'

# --- the tools themselves ----------------------------------------------------------------

"$ntrace" profile --format=callgrind "$scratch/file.data" >"$scratch/callgrind.out"
"$ntrace" calls --format=csv "$scratch/file.data" |
	awk -F, 'NR > 1 && $8 { gsub("\"", ""); print $1, $8 }' | sort >"$scratch/want"
if command -v callgrind_annotate >/dev/null; then
	callgrind_annotate --inclusive=yes --threshold=100 "$scratch/callgrind.out" |
		sed -n 's/^ *\([0-9,]*\) ([ 0-9.]*%)  *???:\([^ ]*\) .*/\2 \1/p' | tr -d , | sort |
		cmp - "$scratch/want"
	verdict $? 'callgrind_annotate --inclusive=yes says what ntrace calls says'
else
	verdict 0 'callgrind_annotate # SKIP not installed'
fi
"$ntrace" profile --format=pprof "$scratch/file.data" >"$scratch/pb"
# Debian's golang has it as a program of its own.
tool=
for file in /usr/lib/go-*/pkg/tool/*/pprof "$(command -v pprof)" "${PPROF:-}"; do
	[ ! -x "$file" ] || tool=$file
done
if [ -n "$tool" ]; then
	ask()		# ARGUMENT...
	{
		HOME=$scratch "$tool" -symbolize=none "$@" "$scratch/pb"
	}
	ask -top -cum -nodefraction=0 -nodecount=1000 -unit=count |
		awk '/flat%/ { rows = 1; next } rows { print $6, $4 }' |
		sort | cmp - "$scratch/want"
	verdict $? 'pprof -top -cum says what ntrace calls says'
	ask -top -nodefraction=0 -diff_base="$scratch/pb" | grep -q 'accounting for 0, 0% of '
	verdict $? 'pprof -diff_base: no difference to itself'
	ask -tree | grep -q ' | *move$' && ask -tags | grep -q '100%): prog$' &&
		ask -raw | grep -qF "/0x1000 $scratch/mix.elf "
	verdict $? 'pprof -tree, -tags, -raw: callers, task, mapping'
	[ "$(ask -top -sample_index=branches | sed -n 's/.* of \([0-9]*\) total$/\1/p')" = \
		"$("$ntrace" decode --output=branch "$scratch/file.data" | grep -vc '^#')" ]
	verdict $? 'pprof -sample_index=branches'
else
	verdict 0 'pprof # SKIP not installed (golang-go)'
fi

# refuses DESCRIPTION WORDS ARGUMENT...
refuses()
{
	local description=$1 words=$2 status=0
	shift 2

	"$ntrace" profile "$@" >"$scratch/got" 2>"$scratch/said" </dev/null || status=$?
	[ $status = 2 ] && [ ! -s "$scratch/got" ] && grep -qF -- "$words" "$scratch/said"
	verdict $? "refused: $description"
}
refuses 'time where there is none' 'has no time' --format=folded --value=time "$scratch/file.data"
refuses '--value of another format' '--value: is for --format=folded' --format=pprof --value=insns \
	"$scratch/file.data"
refuses 'several recordings' 'is of one recording or trace' --format=pprof "$scratch/file.data" \
	"$scratch/switch.data"
finish
