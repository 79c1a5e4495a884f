#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# ntrace script, profile and timeline, which read perf.data without perf. Their output must be the
# same as with perf: all lines of branches and instructions, with time, thread, CPU, flags and
# symbols. They must refuse what they cannot decode with an explanation, and decode a truncated file
# up to its end.

name=script
. "$(dirname "$0")/lib.bash"
. "$(dirname "$0")/../forms.bash"

share=$dir/run/share group=run order=

cat >"$dir/record.sh" <<'END'
cd /mnt
record="perf --buildid-dir /mnt/debug record"
$record -e ntrace//u -o user.data -- qsort
$record -e ntrace//u -o fork.data -- sh -c 'ls / >/dev/null; ls /bin >/dev/null'
$record -e ntrace/contextid=0,timestamp=0/u --per-thread -o thread.data -- ls /
$record -e ntrace/contextid=0/u -a -o switch.data -- ls /
$record --kcore -a -e ntrace// -o all.data -- ls /
$record --kcore -e ntrace//k -o kernel.data -- ls /
$record -Se -m,64K -e ntrace//u -o snapshot.data -- qsort
$record -o - -e ntrace//u -- ls / >pipe.data
$record --aux-sample=8192 -m 8M -e '{ntrace//u,cpu-clock:u}' -o samples.data -- ls /
$record -e ntrace//u -o reload.data -- reload
$record --kcore -a -e ntrace// -o busy.data -- sh -c 'threads & threadexec & reload; wait'
$record -e ntrace//u -m,16 -o lossy.data -- bigtrace
# many windows
echo 16384 >/sys/module/ntrace/parameters/move_bytes
$record --kcore -a -e ntrace// -o system.data -- ls /
true
END
guest run "$dir/record.sh"
ok $? "recordings" "$dir/run/guest.out"
# Where two harts have one sink, and go from one to the other or write at once
cat >"$dir/shared.sh" <<'END'
cd /mnt
record="perf --buildid-dir /mnt/debug record"
$record -e ntrace//u -o cpus.data -- bounce
$record -e ntrace//u --per-thread -o task.data -- bounce
$record -a -e ntrace//u -o both.data -- threads
$record -a -e ntrace/contextid=0/u -o switches.data -- threads
$record --kcore -a -e ntrace// -o system.data -- ls /
echo 16384 >/sys/module/ntrace/parameters/move_bytes
$record -e ntrace//u -o many.data -- threads
$record -a -e ntrace/contextid=0/u -o switch.data -- bounce
true
END
guest shared "$dir/shared.sh" --topology funnel2
ok $? "recordings of a shared sink" "$dir/shared/guest.out"

# perf 6.12 gives entries of the PLT the names of others, and a function the longer name of a label
# without a size that is at the same address
without_plt()
{
	sed -E -e 's/ ([^ ]+@plt|\.plt)\+0x[0-9a-f]+/ [unknown]/g' \
		-e 's/ __syscall_cancel_arch_start\+/ __syscall_cancel_arch+/g'
}

# The same, and times have to be in the order that perf has. A start is printed with the next event
# of its CPU, so it belongs to the time of the next line.
by_cpu_at_a_time()
{
	awk 'function put(line) {
			match(line, /\[[0-9]+\]/)
			print group "\t" (RSTART ? substr(line, RSTART + 1, RLENGTH - 2) : "") "\t" line
		}
		/ tr strt / { starts[n++] = $0; next }
		{
			time = ""
			if (match($0, /\[[0-9]+\] +[0-9]+\.[0-9]+:/)) {
				split(substr($0, RSTART + 1, RLENGTH - 2), at, /\] +/)
				time = at[2]
			}
			group += time == "" || time != last; last = time
			for (i = 0; i < n; i++)
				put(starts[i])
			n = 0
			put($0)
		}
		END {
			group++
			for (i = 0; i < n; i++)
				put(starts[i])
		}' | sort -s -t "$(printf '\t')" -k 1,1n -k 2,2 | cut -f 3-
}

# like_perf NAME ITRACE FIELDS [OPTION...]: line for line, of the guest $group. Leaves
# $dir/NAME.diff, $lines. Options are ntrace's, and for perf what $perf_options has
like_perf()
{
	local what=$1 itrace=$2 fields=$3 share=$dir/$group/share status=0
	local file=$share/$1.data
	shift 3

	# shellcheck disable=SC2086
	host_perf $group script -i "$file" --itrace="$itrace" -F "$fields" --ns ${perf_options:-} \
		2>"$dir/$what.perf.err" | same_form | without_plt | sed "${only:-}" |
		${order:-cat} >"$dir/$what.perf"
	"$lab/enter" "$build/host/ntrace" script --buildid-dir "$share/debug" "$@" "$file" \
		2>"$dir/$what.err" | same_form >"$dir/$what.named"
	without_plt <"$dir/$what.named" | ${order:-cat} >"$dir/$what.ntrace"
	lines=$(wc -l <"$dir/$what.perf")
	diff "$dir/$what.perf" "$dir/$what.ntrace" >"$dir/$what.diff" || status=1
	[ $status = 0 ] && [ "$lines" -ge 1000 ]
}

branches=comm,tid,cpu,time,event,ip,sym,symoff,addr,flags
order=by_cpu_at_a_time
for what in user fork thread switch all kernel; do
	like_perf $what be $branches
	ok $? "$what: $lines lines of branches as perf script prints them" "$dir/$what.diff" \
		"$dir/$what.err"
done
order=
cp "$dir/all.perf" "$dir/everything"
# NAME@plt jumps to NAME, or to what has that and another name, or to who finds it first
awk '/ jmp [^ ]+ [^ ]+@plt\+0x8 => / {
	n++
	split($0, side, " => ")
	sub(/.* /, "", side[1])
	sub(/@plt.*/, "", side[1])
	split(side[2], to, /[ +]/)
	same += side[1] == to[2]
} END { print n + 0, same + 0; exit !(n >= 20 && same > n / 2) }' "$dir/all.named" >"$dir/plt"
ok $? "entries of the PLT have the names of what they lead to: $(cat "$dir/plt")"
like_perf snapshot be $branches
ok $? "snapshots: $lines lines" "$dir/snapshot.diff" "$dir/snapshot.err"
# perf prints the samples, too
only='/ cpu-clock:/d'
like_perf samples be $branches
ok $? "samples of the AUX area: $lines lines" "$dir/samples.diff" "$dir/samples.err"
only=
like_perf thread i1ie comm,tid,cpu,time,event,ip,sym,symoff --insns
ok $? "$lines instructions as perf script prints them" "$dir/thread.diff" "$dir/thread.err"

group=shared order=by_cpu
for what in cpus task both switches system; do
	like_perf $what be $branches
	ok $? "shared sink, $what: $lines lines of branches" "$dir/$what.diff" "$dir/$what.err"
done
like_perf switch i1ie comm,tid,cpu,time,event,ip,sym,symoff --insns
ok $? "shared sink: $lines instructions" "$dir/switch.diff" "$dir/switch.err"
group=run order=

# --- profiles -------------------------------------------------------------------------

# profile_like_perf NAME PROGRAM: the counts are those of perf's lines. Leaves $lines
profile_like_perf()
{
	local program

	program=$(find "$share/debug" -path "*/$2/*/elf")
	"$lab/enter" "$build/host/ntrace" profile --buildid-dir "$share/debug" --format=bolt \
		--elf "$program" "$share/$1.data" >"$dir/profile" 2>"$dir/profile.err" &&
		"$lab/enter" "$build/host/ntrace" profile --format=bolt --elf "$program" \
			--perf="$build/perf-x86_64/perf --buildid-dir $share/debug" \
			"$share/$1.data" >"$dir/profile.perf" 2>"$dir/profile.perf.err" || return
	lines=$(wc -l <"$dir/profile")
	[ "$lines" -ge 500 ] && cmp "$dir/profile" "$dir/profile.perf"
}
profile_like_perf user qsort
ok $? "user: a profile of $lines lines as with perf" "$dir/profile.err"
profile_like_perf fork busybox
ok $? "fork: a profile of $lines lines as with perf" "$dir/profile.err"

# What is counted as edges is what comes branch by branch, of every file that a recording may have
# trace of; make check-all does that for every recording, in every format.
cat >"$dir/counts.sh" <<'END'
ntrace=$1 share=$2 data=$3 to=$4 formats=$5 bad=0 all=0
shift 5
profile()	# TO PROGRAM OPTION...
{
	"$ntrace" profile --buildid-dir "$share/debug" --format=$format --elf="$2" "${@:3}" "$data" >"$1" 2>"$1.err"
	echo $? >>"$1.err"
}
for program; do
	for format in $formats; do
		profile "$to/edges" "$program"
		profile "$to/branches" "$program" --one-by-one
		cmp "$to/edges" "$to/branches" && cmp "$to/edges.err" "$to/branches.err" ||
			{ echo "$program: $format differs"; bad=1; }
		[ -s "$to/edges" ] || break
	done
	lines=$(wc -l <"$to/edges")
	[ $lines = 0 ] || echo "${program##*/}: $lines lines"
	all=$((all + lines))
done
[ $bad = 0 ] && [ $all -gt 0 ]
END
mkdir -p "$dir/programs"
find "$share/debug" "$dir/shared/share/debug" -name elf -print0 |
	while IFS= read -r -d '' program; do
	name=${program%/*/elf}
	cp "$program" "$dir/programs/${name##*/}"
done
some=("$share"/{reload,lossy}.data)
[ "${groups:-}" != all ] || some=("$share"/*.data "$dir"/shared/share/*.data)
for data in "${some[@]}"; do
	programs=("$dir"/programs/*)
	if [ -e "$data/kcore_dir/kcore" ]; then
		ln -sf "$data/kcore_dir/kcore" "$dir/vmlinux"
		programs+=("$dir/vmlinux")
	fi
	"$lab/enter" bash "$dir/counts.sh" "$build/host/ntrace" "${data%/*}" "$data" "$dir" \
		"bolt $(more echo llvm-profgen autofdo)" "${programs[@]}" \
		>"$dir/counts" 2>&1
	ok $? "${data#"$dir/"}: counts of $(grep -c ' lines$' "$dir/counts") files as branch by branch" "$dir/counts"
done

# of programs without a PLT
timeline()	# ARGUMENT...: to $dir/timeline
{
	"$lab/enter" "$build/host/ntrace" timeline --min=0 --depth=512 --slices=1000000000 \
		"$@" 2>"$dir/timeline.err"
}
for what in user kernel; do
	timeline --buildid-dir "$share/debug" "$share/$what.data" >"$dir/timeline" &&
		timeline --perf="$build/perf-x86_64/perf --buildid-dir $share/debug" \
			"$share/$what.data" \
			>"$dir/timeline.perf" && cmp "$dir/timeline" "$dir/timeline.perf"
	status=$?
	lines=$(wc -l <"$dir/timeline")
	[ $status = 0 ] && [ "$lines" -ge 1000 ]
	ok $? "$what: a timeline of $lines lines as with perf" "$dir/timeline.err"
done

# --- what is chosen -----------------------------------------------------------------

ntrace()	# ARGUMENT...: standard output to $dir/got, standard error to $dir/got.err
{
	local status=0

	"$lab/enter" "$build/host/ntrace" "$@" >"$dir/got.raw" 2>"$dir/got.err" || status=$?
	same_form <"$dir/got.raw" | without_plt >"$dir/got"
	return $status
}

# What is not decoded tells nothing of tasks that come from there, so perf leaves the same out.
perf_options='-C 0' like_perf all be $branches --cpu 0
ok $? "--cpu 0: $lines lines" "$dir/all.diff" "$dir/all.err"
# between: FROM,TO at so many per cent of the times that perf printed of a recording, where the
# lines may be in the order of CPUs
between()
{
	awk '{ sub(/:$/, "", $4); print $4 }' "$dir/$1.all" | sort -n |
		awk -v a="$2" -v b="$3" '{ t[NR] = $1 }
			END { print t[int(NR * a / 100) + 1] "," t[int(NR * b / 100)] }'
}
# inside FROM,TO: of lines as perf prints them those with such a time
inside()
{
	awk -v when="$1" 'BEGIN { split(when, end, ",") }
		{ time = $4; sub(/:$/, "", time) } time + 0 >= end[1] + 0 && time + 0 <= end[2] + 0'
}

# A system call may have been made before what is decoded.
without_calls()
{
	sed 's/ sysret / iret /'
}

# interval NAME FROM TO: what both print of an interval is what they print of it when they decode
# everything, and perf leaves windows out
interval()
{
	local what=$1 when=$2,$3 windows status=0

	inside "$when" <"$dir/$what.all" | without_calls >"$dir/$what.want"
	perf_options="-v --time $when" like_perf "$what" b $branches --time "$when"
	windows=$(sed -n 's/^ntrace: \([0-9]* of [0-9]*\) windows decoded.*/\1/p' \
		"$dir/$what.perf.err")
	without_calls <"$dir/$what.perf" | diff "$dir/$what.want" - >"$dir/$what.diff" || status=1
	grep -v '^#' "$dir/$what.ntrace" | without_calls |
		diff "$dir/$what.want" - >>"$dir/$what.diff" ||
		status=1
	[ $status = 0 ] && [ "$lines" -ge 100 ] && awk '{ exit !($1 < $3) }' <<<"$windows"
	ok $? "$group $what: --time $when: $lines lines, $windows windows" "$dir/$what.diff" \
		"$dir/$what.err"
}

intervals()	# NAME: at the beginning, in the middle and at the end
{
	local at

	like_perf "$1" b $branches
	cp "$dir/$1.perf" "$dir/$1.all"
	for at in 0 50 99; do
		IFS=, read -r from to <<<"$(between "$1" $at $((at + 1)))"
		interval "$1" "$from" "$to"
	done
}
# Events of two CPUs at one time have no order, and it may depend on the first decoded window
order=by_cpu_at_a_time
intervals system
group=shared order=by_cpu
more intervals many
intervals switch
group=run order=
tid=$(awk '!/^#/ { n[$2]++ } END { for (t in n) if (n[t] > n[best]) best = t; print best }' \
	"$dir/everything")
awk -v tid="$tid" '!/^#/ && $2 == tid' "$dir/everything" >"$dir/want"
ntrace script --buildid-dir "$share/debug" --tid "$tid" "$share/all.data"
grep -v '^#' "$dir/got" | by_cpu_at_a_time | diff "$dir/want" - >"$dir/diff" && [ -s "$dir/want" ]
ok $? "--tid $tid: what that thread ran" "$dir/diff"
order=by_cpu_at_a_time perf_options="--comms ls,swapper" like_perf all b $branches --comm ls,swapper
grep -v '^#' "$dir/all.ntrace" | diff "$dir/all.perf" - >"$dir/all.diff" && [ "$lines" -ge 1000 ]
ok $? "--comm ls,swapper: $lines lines as of perf script --comms" "$dir/all.diff" "$dir/all.err"

# --- where files are ------------------------------------------------------------------

# busybox is nowhere else here; perf's cache has it by its path
mv "$share/debug" "$share/elsewhere"
program=$(find "$share/elsewhere" -path '*/busybox/*/elf')
like_fork()	# ARGUMENT...: what came of fork.data is what perf printed above
{
	"$lab/enter" env "$@" "$share/fork.data" 2>"$dir/got.err" | same_form | by_cpu_at_a_time |
		diff "$dir/fork.perf" - >"$dir/diff"
}

ntrace script "$share/fork.data"
[ $? = 1 ] && grep -q 'cannot find /bin/busybox' "$dir/got.err" &&
	grep -q 'no code in /bin/busybox' "$dir/got"
ok $? "a missing binary is named" "$dir/got.err"
mkdir -p "$dir/fs/bin"
cp "$program" "$dir/fs/bin/busybox"
like_fork "$build/host/ntrace" script --symfs "$dir/fs"
ok $? "--symfs" "$dir/got.err" "$dir/diff"
cp "$build/guest/bin/loop" "$dir/fs/bin/busybox"
ntrace script --symfs "$dir/fs" "$share/fork.data"
[ $? = 1 ] && grep -q '/bin/busybox is not the file that was recorded' "$dir/got.err"
ok $? "a wrong binary is named" "$dir/got.err"
id=$(readelf -n "$program" | awk '/Build ID/ { print $3 }')
mkdir -p "$dir/cache/$id"
cp "$program" "$dir/cache/$id/executable"
like_fork DEBUGINFOD_CACHE_PATH="$dir/cache" "$build/host/ntrace" script
ok $? "debuginfod's cache" "$dir/got.err" "$dir/diff"
mv "$share/elsewhere" "$share/debug"
cp "$share"/debug/bin/busybox/*/elf "$dir/fs/bin/busybox"

# --- pipes, damage, what is refused ---------------------------------------------------

# such a recording has no build-ids
"$lab/enter" bash -c 'cat "$1" | "$2" script --symfs "$3" -' pipe "$share/pipe.data" \
	"$build/host/ntrace" "$dir/fs" >"$dir/got" 2>"$dir/got.err"
[ $? = 0 ] && [ "$(grep -c ' ls .*branches:' "$dir/got")" -ge 1000 ]
ok $? "a recording through a pipe: $(wc -l <"$dir/got") lines" "$dir/got.err"

size=$(stat -c %s "$share/user.data")
head -c $((size - size / 4)) "$share/user.data" >"$share/cut.data"
ntrace script --buildid-dir "$share/debug" "$share/cut.data"
[ $? = 1 ] && grep -q 'cut.data: at 0x[0-9a-f]*: the file ends.*: decoded up to there' \
	"$dir/got.err" &&
	[ "$(grep -vc '^#' "$dir/got")" -ge 1000 ] &&
	[ "$(grep -v '^#' "$dir/got" | by_cpu_at_a_time | head -n 1000 | md5sum)" = \
	  "$(grep -v '^#' "$dir/user.perf" | head -n 1000 | md5sum)" ]
ok $? "a file that is cut: $(wc -l <"$dir/got") lines, and where it ends" "$dir/got.err"

python3 - "$share/user.data" "$share/other.data" <<'END'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
data[:8] = b"2ELIFREP"
open(sys.argv[2], "wb").write(data)
END
ntrace script "$share/other.data"
[ $? = 2 ] && grep -q 'big-endian' "$dir/got.err"
ok $? "refused in words: the other byte order" "$dir/got.err"
finish
