#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# ntrace calls must count what the hart did. For each function of a program: the calls that
# returned, the calls that were left without a return or were cut, and the instructions that retired
# in the function and in its callees. calls.py computes the same from the truth, independently.
# qsort, which has the most calls of the same kind as prog, is compared in make check-all only; make
# check only adds up its edges.

name=calls
smp=1		# one hart's truth is the whole truth, in its order
. "$(dirname "$0")/lib.bash"

share=$dir/run/share
programs=(prog signals recurse qsort forkexec)

{
	echo 'cd /mnt; status=0'
	n=0
	for p in "${programs[@]}"; do
		n=$((n + 1))
		echo "recording $n"
		echo "perf --buildid-dir /mnt/debug record -e ntrace//u -o $p.data -- $p || status=1"
	done
	echo "recording $((n + 1))"
	echo 'perf --buildid-dir /mnt/debug record --kcore -e ntrace// -o kernel.data -- prog || status=1'
	echo 'exit $status'
} >"$dir/record.sh"
guest run "$dir/record.sh"
ok $? "recordings" "$dir/run/guest.out"
stream=$dir/run/truth.$(awk '$1 == 0 { print $2 }' "$dir/run/console.harts").zst

calls()		# NAME ARGUMENT...: to $dir/NAME.csv
{
	local what=$1
	shift
	"$lab/enter" "$build/host/ntrace" calls --buildid-dir "$share/debug" --format=csv "$@" \
		"$share/$what.data" >"$dir/$what.csv" 2>"$dir/$what.err"
}

# judge NUMBER NAME PROGRAM [KEY=VALUE...]: $said is what calls.py says
judge()
{
	local number=$1 what=$2 program=$3
	shift 3

	"$lab/enter" "$build/host/truthlist" --segment "$number" "$stream" |
		python3 "$top/selftests/lab/calls.py" elf="$build/guest/bin/$program" \
			csv="$dir/$what.csv" "$@" \
			>"$dir/$what.said" 2>&1
	local status=$?

	said=$(tail -n 1 "$dir/$what.said")
	return $status
}

n=0
for p in "${programs[@]}"; do
	n=$((n + 1))
	[ $p != qsort ] || [ "${groups:-}" = all ] || continue
	calls "$p" && judge $n "$p" "$p"
	ok $? "$p: $said" "$dir/$p.err" "$dir/$p.said"
done

# What ran in each function and in what it called is the same for pprof. (A system call executes
# nothing.)
for p in prog recurse signals; do
	tr -d '"' <"$dir/$p.csv" | awk -F, 'NR > 1 && $7 + $8 { own[$1] += $7; total[$1] += $8 }
		END { for (f in total) print f, own[f], total[f] }' | sort >"$dir/want"
	profile_of()	# FORMAT
	{
		"$lab/enter" "$build/host/ntrace" profile --buildid-dir "$share/debug" \
			--format="$1" "$share/$p.data" 2>"$dir/$p.err"
	}
	profile_of pprof >"$dir/pb" &&
		python3 "$top/selftests/host/pprof.py" functions "$dir/pb" | grep -v ' 0 0$' |
		sort >"$dir/got" &&
		diff "$dir/want" "$dir/got" >"$dir/diff" && [ "$(wc -l <"$dir/got")" -ge 10 ]
	ok $? "$p: pprof has $(wc -l <"$dir/got") functions as ntrace calls has them" "$dir/diff" \
		"$dir/$p.err"
	profile_of folded | awk '{ n += $NF } END { print n }' >"$dir/got"
	awk '{ n += $2 } END { print n }' "$dir/want" | diff - "$dir/got" >"$dir/diff"
	ok $? "$p: folded stacks have all instructions" "$dir/diff" "$dir/$p.err"
done
"$lab/enter" "$build/host/ntrace" profile --buildid-dir "$share/debug" --format=pprof \
	"$share/prog.data" >"$dir/pb" &&
	python3 "$top/selftests/host/pprof.py" files "$dir/pb" >"$dir/got" &&
	"$lab/enter" readelf -n "$build/guest/bin/prog" |
	awk '/Build ID/ { print $3 }' >"$dir/want" &&
	[ -s "$dir/want" ] && head -n 1 "$dir/got" | cut -d' ' -f1 | diff "$dir/want" - >"$dir/diff"
ok $? "pprof: the program is the first file, by its build-id" "$dir/diff"

# Edges of several recordings, added up: the profile of each program is that of the recordings
# together.
"$lab/enter" "$build/host/ntrace" profile --buildid-dir "$share/debug" --format=edges --others -o \
	"$dir/a.edges" \
	"$share/prog.data" "$share/qsort.data" 2>"$dir/edges.err" &&
	"$lab/enter" "$build/host/ntrace" profile --buildid-dir "$share/debug" --format=edges \
		--others --kernel -o "$dir/b.edges" \
		"$share/kernel.data" 2>>"$dir/edges.err"
[ $? -le 1 ] && "$lab/enter" "$build/host/ntrace" merge --flatten -o "$dir/sum.edges" \
	"$dir/b.edges" "$dir/a.edges" "$dir/b.edges" &&
	"$lab/enter" "$build/host/ntrace" profile --format=bolt --elf "$build/guest/bin/prog" \
		"$dir/sum.edges" >"$dir/got" 2>>"$dir/edges.err"
[ $? -le 1 ] && "$lab/enter" "$build/host/ntrace" profile --buildid-dir "$share/debug" \
	--format=bolt --elf "$build/guest/bin/prog" \
	"$share/prog.data" "$share/kernel.data" >"$dir/want" 2>>"$dir/edges.err"
[ -s "$dir/want" ] && grep '^B' "$dir/want" | diff - <(grep '^B' "$dir/got") >"$dir/diff"
ok $? "edges of three recordings, merged: each branch of prog as of its recordings" "$dir/diff" \
	"$dir/edges.err"
for what in a b; do
	"$lab/enter" "$build/host/ntrace" merge --show "$dir/$what.edges" >"$dir/$what.shown"
done
grep -q '\[kernel.kallsyms\]' "$dir/b.shown" && [ -s "$dir/a.shown" ] &&
	! grep -q kallsyms "$dir/a.shown"
ok $? "edges have the kernel on request only"

# Of each single call the sums are those of its function.
for p in prog recurse; do
	function=compare
	[ $p = prog ] || function=fib
	"$lab/enter" "$build/host/ntrace" calls --buildid-dir "$share/debug" --format=csv \
		--function=$function \
		"$share/$p.data" >"$dir/$p.one" 2>"$dir/$p.err" &&
		python3 "$top/selftests/lab/calls.py" one="$dir/$p.one" csv="$dir/$p.csv" \
			>"$dir/$p.said" 2>&1
	ok $? "$p: $(tail -n 1 "$dir/$p.said")" "$dir/$p.said" "$dir/$p.err"
done

# as the documentation has it
cd "$share" || exit
cp prog.data perf.data
documented()	# ARGUMENT...
{
	"$lab/enter" sh -c 'cd "$1" && shift && "$@"' calls "$share" "$build/host/ntrace" "$@"
}
documented calls --buildid-dir "$share/debug" perf.data >"$dir/table" 2>"$dir/prog.err" &&
	awk 'NR > 1 && $12 ~ /^(load|draw|shade|weigh|fib|compare)$/ { print $12, $1, $2, $3, $4 }' "$dir/table" |
	sort >"$dir/got"
tr -d '"' <"$dir/prog.csv" | awk -F, '$1 ~ /^(load|draw|shade|weigh|fib|compare)$/ { print $1, $4, $6, $7, $8 }' |
	sort | diff - "$dir/got" >"$dir/diff" && [ "$(wc -l <"$dir/got")" = 6 ]
ok $? "ntrace calls perf.data: the table has what the CSV has" "$dir/diff" "$dir/table"
documented calls --buildid-dir "$share/debug" --function=fib perf.data >"$dir/table" \
	2>"$dir/prog.err" &&
	[ "$(($(wc -l <"$dir/table") - 1))" = "$(awk '$1 == "fib" { print $2 }' "$dir/got")" ]
ok $? "ntrace calls --function=fib perf.data: $(($(wc -l <"$dir/table") - 1)) calls" "$dir/prog.err"

# What a thread does between two intervals is unknown: no call and no run reaches from one into the
# other. Each is of a thousand branches, the quickest of the first third and of the last one:
# whatever else the machine did meanwhile was at another time.
calls_list()	# COMMAND ARGUMENT...: of prog.data
{
	"$lab/enter" "$build/host/ntrace" "$1" --buildid-dir "$share/debug" "${@:2}" \
		"$share/prog.data"
}
calls_list script 2>"$dir/prog.err" |
	sed -n 's/^.* \([0-9]*\.[0-9]*\): *branches:.*/\1/p' >"$dir/times"
read -r -a moment < <(awk '
	function quickest(from, to,	i, at) {
		for (at = i = from; i + 1000 <= to; i++)
			if (t[i + 1000] - t[i] < t[at + 1000] - t[at])
				at = i
		return t[at] " " t[at + 1000]
	}
	{ t[NR] = $1 }
	END { print quickest(1, int(NR / 3)), quickest(int(NR / 3) * 2, NR) }' "$dir/times")
between()	# COMMAND ARGUMENT...
{
	calls_list "$1" --time="${moment[0]},${moment[1]} ${moment[2]},${moment[3]}" "${@:2}"
}
between timeline >"$dir/timeline" 2>>"$dir/prog.err" &&
	between calls --format=csv >"$dir/some" 2>>"$dir/prog.err" &&
	python3 - "$dir/timeline" "$dir/some" "${moment[@]}" >"$dir/said" 2>&1 <<'END'
import csv, json, sys
m = [float(t) for t in sys.argv[3:]]				# seconds
most = max(m[1] - m[0], m[3] - m[2]) + 1e-6
slices = [e for e in json.load(open(sys.argv[1]))['traceEvents'] if 'dur' in e]
longest = max(e['dur'] for e in slices) / 1e6
calls = list(csv.DictReader(open(sys.argv[2])))
slowest = max(int(c['longest_ns']) for c in calls) / 1e9
print(f'{len(slices)} slices up to {longest:.6f} s, {len(calls)} functions up to {slowest:.6f} s, '
      f'intervals of {m[1] - m[0]:.6f} and {m[3] - m[2]:.6f} s, {m[2] - m[1]:.6f} s between them')
sys.exit(max(longest, slowest) > most or m[2] - m[1] <= most or len(calls) < 2)
END
ok $? "two intervals: $(tail -n 1 "$dir/said")" "$dir/prog.err" "$dir/said"
between profile --elf="$build/guest/bin/prog" >"$dir/runs" 2>"$dir/prog.err" &&
	[ -s "$dir/runs" ] && [ ! -s "$dir/prog.err" ]
ok $? "two intervals: a profile without runs that nobody executed" "$dir/prog.err"

# With the kernel there are gaps, of the handler that moves windows; the program is the same.
calls kernel
[ $? -le 1 ] && judge $((n + 1)) kernel prog only=user
ok $? "kernel: $said" "$dir/kernel.err" "$dir/kernel.said"
finish
