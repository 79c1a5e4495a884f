#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# ntrace coverage of a program without counters must agree with gcov of the same source with
# counters: lines, branches and functions. For optimised code it must agree with the line table.

name=coverage
smp=1		# one hart's truth is the whole truth
. "$(dirname "$0")/lib.bash"

share=$dir/run/share
ntrace=$build/host/ntrace
programs=(ways prog qsort recurse)
cross=riscv64-linux-gnu
mkdir -p "$share"

# Names of counters' files are those of the programs, and -O is in them.
"$lab/enter" bash -euc '
	cd "$1"
	for p in $3; do
		for o in 0 2; do
			source="$2/selftests/workloads/$p.c $2/selftests/workloads/straight.S"
			'$cross'-gcc -O$o -g -static -pthread -o $p-O$o $source
			'$cross'-gcc -O$o -g -static -pthread --coverage -o $p-O$o.counted $source
			'$cross'-objdump --dwarf=decodedline $p-O$o >$p-O$o.lines 2>/dev/null
		done
	done' build "$share" "$top" "${programs[*]}" >"$dir/build.out" 2>&1
ok $? "programs with counters and without" "$dir/build.out"

builds=()
{
	echo 'cd /mnt; status=0'
	echo 'export GCOV_PREFIX=/mnt GCOV_PREFIX_STRIP=99'
	for p in "${programs[@]}"; do
		for o in 0 2; do
			builds+=("$p-O$o")
			echo "./$p-O$o.counted >$p-O$o.said || status=1"
			echo "recording ${#builds[@]}"
			echo "perf --buildid-dir /mnt/debug record -e ntrace//u -o $p-O$o.data -- ./$p-O$o || status=1"
		done
	done
	echo 'exit $status'
} >"$dir/record.sh"
guest run "$dir/record.sh"
ok $? "recordings" "$dir/run/guest.out"
stream=$dir/run/truth.$(awk '$1 == 0 { print $2 }' "$dir/run/console.harts").zst

coverage()	# NAME ARGUMENT...
{
	local what=$1
	shift
	"$lab/enter" "$ntrace" coverage --buildid-dir "$share/debug" "$@" "$share/$what.data"
}

n=0
for what in "${builds[@]}"; do
	n=$((n + 1))
	"$lab/enter" sh -c 'cd "$1" && '$cross'-gcov --branch-probabilities --json-format --stdout "$2.counted-$3.gcno"' \
		gcov "$share" "$what" "${what%-O?}" >"$dir/$what.json" 2>"$dir/$what.err" &&
		coverage "$what" --format=lcov >"$dir/$what.lcov" 2>>"$dir/$what.err"
	status=$?
	args=(gcov="$dir/$what.json" lcov="$dir/$what.lcov" lines="$share/$what.lines")
	if [ "${what%-O0}" = "$what" ]; then
		"$lab/enter" "$build/host/truthlist" --segment $n "$stream" |
			python3 "$top/selftests/lab/coverage.py" truth=- "${args[@]}" \
				>"$dir/$what.said" 2>&1 || status=1
	else
		python3 "$top/selftests/lab/coverage.py" "${args[@]}" >"$dir/$what.said" 2>&1 ||
			status=1
	fi
	ok $status "$what: $(tail -n 1 "$dir/$what.said")" "$dir/$what.err" "$dir/$what.said"
done

# the same for people: of each line of the source its count, or that there is none
coverage ways-O0 --source=ways.c >"$dir/source" 2>"$dir/err" &&
	sed -n '/^SF:.*\/ways\.c$/,/^end_of_record/s/^DA:\([0-9]*\),\([0-9]*\)$/\1 \2/p' \
		"$dir/ways-O0.lcov" >"$dir/want" &&
	tail -n +2 "$dir/source" | awk '$1 != "-" { print $2, $1 == "never" ? 0 : $1 }' \
		>"$dir/got" &&
	[ -s "$dir/want" ] && cmp "$dir/want" "$dir/got" &&
	tail -n +2 "$dir/source" | cut -c21- | cmp - "$top/selftests/workloads/ways.c"
ok $? "--source: the source, with the counts of --format=lcov" "$dir/err" "$dir/source"
coverage ways-O0 >"$dir/table" 2>"$dir/err" &&
	awk -F: '/^SF/ { file = $2 } /^[LFB]R?[FH]:/ || /^FN[FH]:/ { n[$1] = $2 }
		/^end_of_record/ { print n["LH"], n["LF"], n["FNH"], n["FNF"], n["BRH"], n["BRF"], file }' \
		"$dir/ways-O0.lcov" | grep '/ways\.c$' >"$dir/want" &&
	awk '/\/ways\.c$/ { print $1, $3, $5, $7, $9, $11, $NF }' "$dir/table" >"$dir/got" &&
	[ -s "$dir/want" ] && cmp "$dir/want" "$dir/got"
ok $? "the table has the sums: $(cut -d' ' -f1-6 "$dir/got")" "$dir/err" "$dir/table" "$dir/want"

# What ran behind a loss is not known: nothing is told to be 0, and no count is larger.
size=$(stat -c %s "$share/ways-O0.data")
head -c $((size * 3 / 4)) "$share/ways-O0.data" >"$share/cut.data"
status=0
coverage cut --elf="$share/ways-O0" --format=lcov >"$dir/cut.lcov" 2>"$dir/err" || status=$?
[ $status = 1 ] && grep -q 'the file ends in trace' "$dir/err" &&
	grep -q '^DA:[0-9]*,[1-9]' "$dir/cut.lcov" &&
	! grep -E '^(DA:[0-9]*,0|FNDA:0,)' "$dir/cut.lcov" &&
	awk -F'[:,]' '/^SF/ { file = $2 } /^DA/ && FNR == NR { whole[file, $2] = $3; next }
		/^DA/ && $3 > whole[file, $2] { print file, $0, whole[file, $2]; bad = 1 }
		END { exit bad }' "$dir/ways-O0.lcov" "$dir/cut.lcov"
ok $? "a recording that is cut: $(grep -c '^DA' "$dir/cut.lcov") lines that ran, the others are not known" "$dir/err"

# What cannot be told, in words
status=0
coverage prog-O0 --source=none.c >"$dir/got" 2>"$dir/err" || status=$?
[ $status = 2 ] && grep -q 'has no code of a file named none.c' "$dir/err"
ok $? "a file that is not the program's" "$dir/err"
"$lab/enter" $cross-strip -g -o "$share/bare" "$share/prog-O0"
status=0
coverage prog-O0 --elf="$share/bare" >"$dir/got" 2>"$dir/err" || status=$?
[ $status = 2 ] && grep -q 'has no line numbers, .*: compile it with -g' "$dir/err"
ok $? "a program without line numbers" "$dir/err"
finish
