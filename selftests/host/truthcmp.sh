#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# truthcmp says "equal" when it is, and notices every kind of difference.
#	usage: truthcmp-test.sh [DIRECTORY OF BINARIES]

set -u
bin=${1:-${out:-$(cd "$(dirname "$0")/../.." && pwd)/build/host}}
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
cd "$tmp" || exit 2

count=0 failed=0
result()	# STATUS NAME
{
	count=$((count + 1))
	if [ "$1" = 0 ]; then
		echo "ok $count - $2"
	else
		failed=$((failed + 1))
		echo "not ok $count - $2"
		head -40 out err | sed 's/^/# /'
	fi
}

harts() { for ((i = 0; i < $1; i++)); do printf -- '--truth\n%d=truth.%d\n' "$i" "$i"; done; }

# gen FORMAT HARTS [OPTION...]: truth.N, list; $cmp compares them
gen()
{
	local format=$1 n=$2
	shift 2
	"$bin/truthgen" -f "$format" -h "$n" -n 40000 "$@" . >list
	mapfile -t cmp < <(harts "$n")
	case $format in
	perf-*) cmp=("$bin/truthcmp" "${cmp[@]}" --tid --types) ;;
	*) cmp=("$bin/truthcmp" "${cmp[@]}" --format ntrace --types) ;;
	esac
}

run() { "$@" >out 2>err; }

# expect STATUS NAME [COMMAND...]: truthcmp's verdict about list
expect()
{
	local want=$1 name=$2 got=0
	shift 2
	run "${cmp[@]}" "$@" list || got=$?
	[ "$got" = "$want" ]
	result $? "$name"
}

says()	# WORDS NAME: the last run's reason
{
	grep -q -- "$1" out err
	result $? "$2"
}

# How many lines are changed, one after the other; make check-all changes more.
tries=8
[ "${groups:-}" != all ] || tries=24

mutate()	# AWK PROGRAM; at, $1..: lines all over the list, one after the other, are tried
{
	local n lines status=0 tried=0

	cp list whole
	lines=$(wc -l <whole)
	for n in 2 $(seq 61 $((lines / tries)) $((lines - 1))); do
		awk -v at="$n" "$1" whole >list
		cmp -s whole list && continue
		tried=$((tried + 1))
		run "${cmp[@]}" list
		[ $? = 1 ] && grep -q '^different ' out && continue
		echo "line $n" >>err
		status=1
		break
	done
	cp whole list
	[ "$tried" -ge $((tries * 3 / 4)) ] || { echo "only $tried changes tried" >err; status=1; }
	return $status
}

changed() { mutate "$2"; result $? "$1"; }

# of_lines WORDS NAME AWK PROGRAM: as changed, with lines that have WORDS, at most 12 of them
of_lines()
{
	local words=$1 n status=0 tried=0

	cp list whole
	for n in $(grep -n -- "$words" whole | awk -F: '
		{ n[NR] = $1 }
		END { for (i = 1; i <= NR; i += NR > 12 ? NR / 12 : 1) print n[int(i)] }'); do
		awk -v at="$n" "$3" whole >list
		tried=$((tried + 1))
		run "${cmp[@]}" list
		[ $? = 1 ] && grep -q '^different ' out && continue
		echo "line $n" >>err
		status=1
		break
	done
	cp whole list
	[ "$tried" -ge 5 ] || { echo "only $tried changes tried" >err; status=1; }
	result $status "$2"
}

# ------------------------------------------------------------- what is equal
for seed in 1 2 3; do
	for format in perf-insn perf-branch pc branch; do
		n=2
		[[ $format == perf-* ]] || n=1
		gen $format $n -s $seed
		expect 0 "$format, seed $seed: equal"
		gen $format $n -s $seed -l 300
		expect 0 "$format, seed $seed: equal but for losses" --allow-loss
	done
done
grep -q 'skipped=[1-9]' out && grep -q 'percent=[5-9]' out
result $? "losses are counted"
expect 1 "losses are a difference in a strict comparison"
expect 1 "percent decoded can be required" --allow-loss --require percent=99.9

# doubt TO: find the first trap behind a branch on the same CPU, and replace both by a report that
# two copies of the kernel fit and a start at TO; empty: at the trap's target
doubt()
{
	cp list whole
	awk -v to="$1" '
	FNR == NR { if (!trap && FNR > 200 && /hw int/ && $2 == cpu && kind == "jcc") trap = FNR
		cpu = $2; kind = $4; next }
	FNR == trap - 1 { next }
	FNR == trap {
		printf " instruction trace error type 1 time 1.0 cpu %d pid %d tid %d ip 0x%s code 4: patched here, both copies of the kernel fit: AUX 0x1\n", substr($2, 2) + 0, $1, $1, $5
		sub(/hw int +[0-9a-f]+ => /, "tr strt 0 => ")
		if (to)
			$NF = to
	}
	{ print }' whole whole >list
	! cmp -s list whole
}
gen perf-branch 2 -s 3
doubt '' && grep -q 'tr strt 0 =>' list
result $? "two ways behind a patched place"
expect 0 "what is not told there, and said, is no difference" --require doubts=1,skipped=1
cp whole list; doubt 80000104
expect 1 "... but where the list goes on is one"
cp whole list; doubt '' && sed -i '/both copies/d' list
expect 1 "... and so is what is not told without a word"
cp whole list; doubt '' && sed -i '/both copies/{n;d}' list
expect 1 "... or if no start follows"

gen perf-insn 2
expect 0 "figures reach what is required" --require insns=30000,traps=1,migrations=1
expect 1 "too few instructions" --require insns=50000
says 'too little: insns=' "and says so"
expect 2 "an unknown figure is refused" --require nonsense=1

cmp=("$bin/truthcmp" --truth "0=|cat truth.0" --truth "1=|cat truth.1")
expect 0 "truth through a pipe"
cmp=("$bin/truthcmp" --truth "0=|cat truth.0; exit 3" --truth "1=truth.1")
expect 2 "truth from a command that fails"
if command -v zstd >/dev/null; then
	zstd -q truth.0
	cmp=("$bin/truthcmp" --truth 0=truth.0.zst --truth 1=truth.1)
	expect 0 "compressed truth"
fi

# ------------------------------------------------------ what is not: instructions
gen perf-insn 2
changed "an instruction is missing" 'NR != at'
changed "an instruction too many" '{ print } NR == at'
changed "another instruction" 'NR == at { $NF = "12345" } { print }'
changed "another task" 'NR == at { $1 = 4711 } { print }'
changed "two instructions in the wrong order" \
	'NR == at { held = $0; next } { print } NR == at + 1 { print held }'
changed "an instruction on another hart" \
	'NR == at { if (/\[000\]/) sub(/\[000\]/, "[001]"); else sub(/\[001\]/, "[000]") } { print }'
changed "an error is reported" '{ print } NR == at { print " instruction trace error type 1 time 1.0 cpu 0 pid 1 tid 1 ip 0 code 1: x" }'
changed "the end is missing" 'NR < at'
changed "the beginning is missing" 'NR > at'
changed "a stretch is missing" 'NR < at || NR > at + 100'
cp list whole
: >list
expect 1 "nothing decoded"
cp whole list

gen pc 1
changed "pc: an instruction is missing" 'NR != at'
changed "pc: an instruction too many" '{ print } NR == at'

# ------------------------------------------------------------------- branches
for format in perf-branch branch; do
	n=2
	[ $format = perf-branch ] || n=1
	gen $format $n
	grep -v 'tr end' list >list2
	[ $format = perf-branch ] || cp list list2
	# without `tr end`: a start at the same place implies the end before
	cp list2 list
	expect 0 "$format: equal"
	changed "$format: a branch is missing" 'NR == at && !/tr strt/ { next } { print }'
	changed "$format: a branch too many" '{ print } NR == at'
	changed "$format: another target" \
		'NR == at { for (i = NF; i && $i !~ /^[0-9a-f]+$/; i--) ; $i = "12346" } { print }'
done
gen branch 1
changed "another type" 'NR == at { $3 = $3 == "cond" ? "jump" : "cond" } { print }'
changed "no type" 'NR == at { NF = 2 } { print }'
sed 's/ [a-z]*$//' list >list2
cp list2 list
expect 1 "no types at all"

# what perf prints between event and address
flags='function flags(word) {
	at_flags = index($0, ":u:") + 3
	return substr($0, 1, at_flags - 1) sprintf("   %-12s ", word) substr($0, at_flags + 16)
}'
gen perf-branch 2
changed "perf-branch: no flags" "$flags"' NR == at && !/tr / { $0 = flags("") } { print }'
changed "perf-branch: flags that there are not" \
	"$flags"' NR == at && !/tr / { $0 = flags("jccc") } { print }'
changed "perf-branch: words behind the flags" \
	"$flags"' NR == at && !/tr / { $0 = flags("jcc jmp") } { print }'
changed "perf-branch: another type" "$flags"' NR == at && !/tr / { $0 = flags(/jcc/ ? "jmp" : "jcc") } { print }'
of_lines syscall "perf-branch: a system call is an interrupt" \
	"$flags"' NR == at { $0 = flags("int") } { print }'
of_lines syscall "perf-branch: a system call is a device" \
	"$flags"' NR == at { $0 = flags("hw int") } { print }'
of_lines 'hw int' "perf-branch: a device is an exception" \
	"$flags"' NR == at { $0 = flags("int") } { print }'
of_lines iret "perf-branch: a return from a trap is one from a call" \
	"$flags"' NR == at { $0 = flags("return") } { print }'
of_lines 'tr strt' "perf-branch: a beginning under another task" 'NR == at { $1 = 4711 } { print }'
of_lines 'tr end' "perf-branch: an end under another task" 'NR == at { $1 = 4711 } { print }'
sed 's/:u:   ............ /:u:                /' list >list2
cp list2 list
expect 1 "perf-branch: no flags at all"

# ------------------------------------------------------- the end, and the next task
for format in perf-insn perf-branch pc branch; do
	n=2
	[[ $format == perf-* ]] || n=1
	gen $format $n
	mutated=0
	for cpu in 000 001; do
		last=$(grep -n -e "\[$cpu\]" -e '^[0-9a-f]' list | grep -v 'tr ' | tail -n 1 |
			cut -d: -f1)
		cp list whole
		sed -i "${last}d" list
		run "${cmp[@]}" list
		[ $? = 1 ] && mutated=$((mutated + 1))
		sed "${last}p" whole >list
		run "${cmp[@]}" list
		[ $? = 1 ] && mutated=$((mutated + 1))
		cp whole list
	done
	[ $mutated = 4 ]
	result $? "$format: the last of a hart is missing, or there twice"
done
gen perf-branch 2
# a branch with nothing but a return to U mode or an END behind it is as necessary as any
of_lines 'tr end' "perf-branch: the last branch before an end is missing" '
	NR == FNR { line[NR] = $0 } END {
		for (i = at - 1; i && (line[i] ~ /tr / || substr(line[i], 9, 5) != substr(line[at], 9, 5)); i--) ;
		for (n = 1; n <= NR; n++) if (n != i) print line[n]
	}'
# The last transfer before an end, whose target the trace does not tell: one line for both
gen perf-branch 2
awk '{ cpu = $2; line[NR] = $0; before = last[cpu]; last[cpu] = NR }
	/tr end/ && before && line[before] !~ /tr |int|syscall/ {
		n = split(line[before], was)
		if (was[n] "" == $(NF - 2) "" && match(line[before], /branches:u: +/)) {
			rest = substr(line[before], RSTART + RLENGTH)
			sub(/=>.*/, "=> 0", rest)
			line[NR] = substr(line[before], 1, RSTART + 10) "   tr end  " rest
			line[before] = ""
		}
	}
	END { for (i = 1; i <= NR; i++) if (line[i] != "") print line[i] }' list >list2
cp list2 list
[ "$(grep -c 'tr end  [a-z]' list)" -ge 10 ]
result $? "perf-branch: ends with the transfer before: $(grep -c 'tr end  [a-z]' list)"
expect 0 "perf-branch: where the last transfer led is not told"
of_lines 'tr end  jmp' "perf-branch: ... another type" \
	'NR == at { sub(/jmp   /, "return") } { print }'
of_lines 'tr end  jcc' "perf-branch: ... from elsewhere" \
	'NR == at { $(NF - 2) = "12346" } { print }'

# A system call where trace ended: nothing retired in between, so an encoder may report a trap
gen perf-branch 2
"$bin/truthlist" truth.0 >truth.list && "$bin/truthlist" truth.1 >>truth.list
awk 'NR == FNR { ended["e" == $1 ? $2 : ""]; next }
	{ cpu = $2 }
	/tr end/ { before[cpu] = NR; end[cpu] = $0; line[NR] = $0; next }
	/tr strt/ && before[cpu] && match(end[cpu], /branches:u: +tr end +/) {
		was = substr(end[cpu], RSTART + RLENGTH)
		sub(/ *=>.*/, "", was)
		called = $0
		sub(/tr strt.*=>/, sprintf("%-12s %16s =>", "syscall", was), called)
		if (was in ended) { line[before[cpu]] = ""; line[NR] = called; before[cpu] = 0; next }
	}
	{ before[cpu] = 0; line[NR] = $0 }
	END { for (i = 1; i <= NR; i++) if (line[i] != "") print line[i] }' truth.list list >list2
mv list2 list
expect 0 "perf-branch: system calls where trace ended"
of_lines syscall "perf-branch: ... an exception instead" \
	'NR == at { sub(/syscall/, "int    ") } { print }'
of_lines syscall "perf-branch: ... from elsewhere" 'NR == at { $(NF - 2) = "12346" } { print }'
of_lines syscall "perf-branch: ... to elsewhere" 'NR == at { $NF = "12346" } { print }'

# An encoder that tells a task only at the next trap, or return from one
gen perf-branch 2
cp list whole
# line of the first branch on CPU 0 after a switch that is no trap or return, and the task before it
read -r at was < <(awk '$2 == "[000]" {
		if (tid && $1 != tid && !/tr |int|syscall|iret|sysret/) { print NR, tid; exit }
		tid = $1
	}' whole)
late='NR == at { sub(/[0-9]+/, was) } { print }'
awk -v at="$at" -v was="$was" "$late" whole >list
expect 1 "perf-branch: a switch that shows late"
expect 0 "perf-branch: ... with --late-owner" --late-owner
awk -v at="$at" -v was=4711 "$late" whole >list
expect 1 "perf-branch: ... with --late-owner, another task" --late-owner
awk -v at="$at" -v was="$was" 'NR >= at && $2 == "[000]" && $1 != was { sub(/[0-9]+/, was) } { print }' whole >list
expect 1 "perf-branch: ... with --late-owner, for ever" --late-owner
cp whole list
for format in perf-insn perf-branch; do
	gen $format 2
	kernel='ffffffff8[0-9a-f]* *$'
	of_lines "$kernel" "$format: another task of the kernel, for one line" \
		'NR == at { $1 = 4711 } { print }'
	of_lines "$kernel" "$format: another task of the kernel, until the next" '
		NR == at { was = $1; cpu = $2 }
		was && $2 == cpu && $1 != was { was = "" }
		was && $2 == cpu { $1 = 4711 } { print }'
	of_lines "$kernel" "$format: another task of the kernel, for ever" '
		NR == at { cpu = $2 } $2 == cpu { $1 = 4711 } { print }'
done
gen perf-branch 2
awk '/tr strt/ && NR > 10 && !done { done = 1; next } { print }' list >list2
cp list2 list
expect 1 "a pause that cannot be joined is not shown"

# --------------------------------------------------------------------- losses
for format in perf-insn perf-branch pc branch; do
	n=2
	[[ $format == perf-* ]] || n=1
	gen $format $n -l 300
	cmp+=(--allow-loss)
	cp list whole
	sed -i '0,/error type\|^#/{/error type\|^#/d}' list
	expect 1 "$format: the first loss is not reported"
	sed '/error type\|^#/d' whole >list
	expect 1 "$format: no loss is reported"
	cp whole list
	gen $format $n
	cmp+=(--allow-loss)
	if [[ $format == perf-* ]]; then
		error=" instruction trace error type 1 time 1.0 cpu 1 pid 1 tid 1 ip 0 code 3: no code"
	else
		error="# loss at 0x0: no code"
	fi
	sed -i "1000a$error" list
	expect 1 "$format: an error where nothing was lost"
	sed -i '1002,1005d' list
	expect 1 "$format: a gap with an error where nothing was lost"
done
# each report has its place, and there is one for each place
for format in perf-insn perf-branch pc branch; do
	n=2 words='encoder lost\|sink was full\|^#' \
		report=" instruction trace error type 1 time 1.0 cpu 1 pid 1 tid 1 ip 0"
	[[ $format == perf-* ]] || { n=1; report="# loss at 0x0:"; }
	gen $format $n -l 300
	cmp+=(--allow-loss)
	of_lines "$words" "$format: one loss is not reported" 'NR != at'
	of_lines "$words" "$format: one is reported twice" '{ print } NR == at'
	of_lines "$words" "$format: one is reported too early" '
		NR == FNR { line[NR] = $0 } END {
			for (n = 1; n <= NR; n++) {
				if (n == at - 6) print line[at]
				if (n != at) print line[n]
			}
		}'
	changed "$format: a loss that was not" \
		"{ print } NR == at { print \"$report code 1: lost\" }"
	[[ $format == perf-* ]] || continue
	# an instruction after which trace stopped is as good a place as any: then the records tell
	awk '/AUX buffer full/ { printf "0 1%09d 0x40 [0x40]: PERF_RECORD_AUX offset: 0 size: 0x40 flags: 0x1 [T]\n", NR }
		/sink was full/ { printf "0 2%09d 0x40 [0x40]: PERF_RECORD_AUX offset: 0 size: 0x40 flags: 0x4 [P]\n", NR }' \
		list | sort >dump
	expect 0 "$format: as many full buffers as the records say" --dump dump
	# perf record writes what comes between its two looks at the buffer twice
	awk '{ print; sub(/0x40/, "0x80"); print }' dump >exact
	expect 0 "$format: each record twice in the file" --dump exact
	awk '{ print; $2++; print }' dump >exact
	expect 1 "$format: each record twice, of another time" --dump exact
	cmp+=(--dump dump)
	changed "$format: a lost window that was not" \
		"{ print } NR == at { print \"$report code 2: the sink was full\" }"
	changed "$format: a full buffer that was not" \
		"{ print } NR == at { print \"$report code 2: AUX buffer full\" }"
	of_lines 'AUX buffer full' "$format: a full buffer is not reported" 'NR != at'
	cp list whole
	# a window that the last message filled: nothing was dropped, and a record says that it was
	# full
	sed -i '0,/AUX buffer full/s//the sink was full/' list
	sed '1s/flags: 0x1/flags: 0x4/' dump >exact	# sorted: those of the AUX buffer come first
	cmp[-1]=exact
	expect 0 "$format: a sink that was full to its last byte"
	sed '1d' dump >exact
	expect 1 "$format: a sink that was full to its last byte, and no record says so"
	cmp[-1]=dump
	for code in "1: lost" "2: the sink was full" "2: AUX buffer full"; do
		{ cat whole; for n in 1 2 3; do echo "$report code $code"; done; } >list
		expect 1 "$format: three reports more at the end, code $code"
	done
	rm dump
done
gen perf-insn 2 -l 300
cmp+=(--allow-loss)
changed "an instruction is missing between losses" 'NR == at && !/error/ { next } { print }'
changed "another instruction between losses" 'NR == at && !/error/ { $NF = "12345" } { print }'

# ----------------------------------------------------------------- recordings
gen perf-insn 2 -S 3 -p 2
expect 0 "the second recording of three" --segment 2
expect 1 "another recording" --segment 3
expect 1 "all recordings"
expect 2 "a recording that is not there" --segment 9
gen perf-insn 2 -S 3
expect 0 "three recordings in a row"

# ------------------------------------------------------------------- unusable
gen perf-insn 2
sed -i '5s/.*/garbage/' list
expect 2 "a line that cannot be understood"
gen perf-insn 2
sed -i '5s/\[00.\]/[007]/' list
expect 2 "a CPU without truth"
gen perf-insn 2
printf '\002\377' >>truth.0
expect 2 "an invalid truth stream"
gen perf-insn 2
rm truth.1
expect 2 "a truth stream that is not there"
printf '\001\003\021\023\000\000\000\002' >truth.1
expect 2 "an instruction outside BEGIN and END"
run "$bin/truthcmp" list
[ $? = 2 ]
result $? "no truth at all"

# The dump of perf: windows, bytes, ResourceFull
cat >dump <<'END'
0 1 PERF_RECORD_AUX offset: 0 size: 0x1000 flags: 0 []
. ... ResourceFull RCODE=1 RDATA0=0x1f
0 1 PERF_RECORD_AUX offset: 0x1000 size: 0x800 flags: 0x4 [P]
0 1 PERF_RECORD_AUX offset: 0x1800 size: 0 flags: 0x1 [T]
END
gen perf-insn 2
expect 0 "figures of a dump" --dump dump --require windows=2,bytes=6144,resourcefull=1,bits=0.1
expect 1 "too few windows" --dump dump --require windows=3
expect 0 "windows that moved" --dump dump --window 8192 --require moves=1
expect 1 "windows that were too short to have moved" --dump dump --window 16384 --require moves=1

echo "1..$count"
[ $failed = 0 ]
