#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The graft into the guest's kernel tree and, in make check-all, into the newest tree available. The
# resulting perfs must pass their own tests and decode alike. A second graft must change nothing. A
# tree that does not fit must be refused as a whole, with the place named.

name=graft
. "$(dirname "$0")/lib.bash"

log=$dir/log
tree=$dir/tree

sums()		# TREE
{
	(cd "$1" && find tools -type f -exec sha256sum {} + | LC_ALL=C sort -k2)
}

pristine()	# [6.12|newest]
{
	rm -rf "$tree"
	mkdir -p "$tree/tools"
	cp -a "$build/linux-${1:-6.12}/tools/perf" "$build/linux-${1:-6.12}/tools/include" \
		"$tree/tools/"
}

# auxtrace_types TREE OUT NAMES: the value of each name, one on a line, as the tree's header has it
auxtrace_types()
{
	local tree=$1 out=$2 names=$3

	{
		echo '#include <stdio.h>'
		echo '#include "util/auxtrace.h"'
		echo 'int main(void) {'
		sed 's/.*/printf("& %d\\n", &);/' "$names"
		echo 'return 0; }'
	} >"$out.c"
	"$lab/enter" sh -ec 'cd "$1/tools/perf"
		gcc -w -D_GNU_SOURCE -DHAVE_AUXTRACE_SUPPORT -I. -Iutil -I../include -I../include/uapi -I"$2/tools/lib/perf/include" \
			-I"$2/tools/lib" -I"$2/tools/lib/perf" -I"$2/tools/arch/x86/include" -I"$2/tools/arch/x86/include/uapi" \
			"$3.c" -o "$3.bin"
		"$3.bin"' types "$tree" "${4:?}" "$out" >"$out"
}

# Trees of others' have files of other tracers: their numbers stay, and ours is the project's.
numbers()	# 6.12|newest
{
	local which=$1 status=0

	pristine "$which"
	sed -n '/^enum auxtrace_type {/,/^};/p' "$tree/tools/perf/util/auxtrace.h" |
		sed -n 's/^\t\([A-Z0-9_]*\)[, ].*/\1/p' >"$dir/names"
	auxtrace_types "$tree" "$dir/pristine" "$dir/names" "$build/linux-$which" 2>"$log" ||
		status=$?
	"$top/tools-perf/graft" "$tree" >>"$log" 2>&1 || status=$?
	# A tree that an earlier graft was put into has the line in the middle.
	[ -z "${2:-}" ] || sed -i "$2" "$tree/tools/perf/util/auxtrace.h"
	"$top/tools-perf/graft" "$tree" >>"$log" 2>&1 || status=$?
	auxtrace_types "$tree" "$dir/grafted" "$dir/names" "$build/linux-$which" 2>>"$log" ||
		status=$?
	echo PERF_AUXTRACE_NTRACE >"$dir/names.ours"
	auxtrace_types "$tree" "$dir/ours" "$dir/names.ours" "$build/linux-$which" 2>>"$log" ||
		status=$?
	diff "$dir/pristine" "$dir/grafted" >>"$log" &&
		grep -qx "PERF_AUXTRACE_NTRACE $((0x4e54))" "$dir/ours" || status=1
	[ $status = 0 ] && [ "$(wc -l <"$dir/pristine")" -ge 7 ]
}

pristine
"$top/tools-perf/graft" "$tree" >"$log" 2>&1
ok $? "6.12 takes the graft" "$log"
sums "$tree" >"$dir/once"
"$top/tools-perf/graft" "$tree" >"$log" 2>&1 && sums "$tree" | cmp - "$dir/once" >"$log" 2>&1
ok $? "a second time it changes nothing" "$log"
# The filter was made of other files once.
sed -i 's|^NTRACE_CTR := .*|NTRACE_CTR := dlfilters/ntrace-ctr.c \\|' \
	"$tree/tools/perf/Makefile.perf"
"$top/tools-perf/graft" "$tree" >"$log" 2>&1 && sums "$tree" | cmp - "$dir/once" >"$log" 2>&1
ok $? "an earlier graft's rule for the filter is replaced" "$log"
[ -x "$tree/tools/perf/tests/shell/test_riscv_ntrace.sh" ]
ok $? "perf test finds its script: it is executable"

old='/PERF_AUXTRACE_NTRACE/d; s/^\tPERF_AUXTRACE_HISI_PTT,$/&\n\tPERF_AUXTRACE_NTRACE = NTRACE_AUXTRACE_TYPE,/'
numbers 6.12
ok $? "6.12: the $(wc -l <"$dir/pristine") types of trace have the numbers that they had" "$log"
numbers 6.12 "$old"
ok $? "6.12: and those of an earlier graft's tree" "$log"

pristine
sed -i 's/enum auxtrace_type/enum auxtrace_kind/' "$tree/tools/perf/util/auxtrace.h"
sums "$tree" >"$dir/before"
! "$top/tools-perf/graft" "$tree" >"$log" 2>&1
ok $? "a tree that has changed is refused"
grep -q 'util/auxtrace.h.*enum auxtrace_type' "$log"
ok $? "the place is named" "$log"
sums "$tree" | cmp - "$dir/before" >"$log" 2>&1
ok $? "the refused tree is as it was" "$log"
rm -rf "$tree"

# The newest perf takes as long to build as all else here.
if [ "${groups:-}" = all ]; then
	"$lab/setup-source" newest >"$log" 2>&1 && numbers newest
	ok $? "$(cut -d'"' -f2 "$build/linux-newest/PERF-VERSION-FILE"): the $(wc \
		-l <"$dir/pristine") types of trace have the numbers that they had" "$log"
	numbers newest "$old"
	ok $? "$(cut -d'"' -f2 "$build/linux-newest/PERF-VERSION-FILE"): and those of an earlier graft's tree" "$log"
	rm -rf "$tree"
	"$lab/build-perf" x86_64 newest >>"$log" 2>&1
	ok $? "Linux $(cut -d'"' -f2 "$build/linux-newest/PERF-VERSION-FILE") takes the graft, and its perf builds" "$log"
fi
# perf's own make takes warnings for errors.
# One in a macro of perf's names the file that uses the macro.
! grep -h -B 2 -A 12 -E ': (warning|error): ' "$build"/perf-*.log |
	grep -E '(ntrace[-a-z]*|nt-[-a-z]*)\.[ch]:[0-9]' >"$log"
ok $? "what the graft brings builds without warnings" "$log"

[ "${groups:-}" = all ] || finish

cat >"$dir/record.sh" <<'END'
perf --buildid-dir /mnt/debug record -e ntrace//u -o /mnt/perf.data -- qsort
END
guest run "$dir/record.sh"
ok $? "a recording" "$dir/run/guest.out"

# 7.x says Ok of the tables, too; without the hardware the script is skipped.
"$lab/enter" "$build/perf-x86_64-newest/perf" test -v 'RISC-V N-Trace' >"$log" 2>&1
[ "$(grep -c 'RISC-V N-Trace .*: Ok$' "$log")" = 6 ] &&
	grep -q 'RISC-V N-Trace recording.*: Skip' "$log"
ok $? "its perf test: 6 tables, and the script" "$log"

# script PERF ARGUMENT...: 7.x calls start and end of a trace jumps too, and has more names, of
# .plt and of functions that are inlined: of a call chain addresses only
script()
{
	local perf=$build/$1

	shift
	"$lab/enter" "$perf/perf" --buildid-dir "$dir/run/share/debug" script \
		-i "$dir/run/share/perf.data" "${@//DLFILTERS/$perf/dlfilters}" |
		sed -E 's/ +/ /g; s/ $//; s/tr (strt|end) jmp/tr \1/; s/^\t ([0-9a-f]+) .*/\1/'
}

# alike LINES WHAT ARGUMENT...: both print the same, and so many lines at least
alike()
{
	local least=$1 what=$2 status=0 lines

	shift 2
	script perf-x86_64 "$@" >"$dir/6.12.txt" 2>"$log" &&
		script perf-x86_64-newest "$@" >"$dir/newest.txt" 2>>"$log" || status=$?
	lines=$(wc -l <"$dir/6.12.txt")
	[ $status = 0 ] && [ "$lines" -ge "$least" ] &&
		cmp "$dir/6.12.txt" "$dir/newest.txt" >>"$log" 2>&1
	ok $? "both decode it alike: $what, $lines lines" "$log"
}

alike 100000 branches --itrace=be -F cpu,tid,event,ip,addr,flags
alike 1000 "call chains and branch stacks" --no-inline --itrace=i9973ig16l16e \
	-F tid,event,ip,insn,brstack
alike 100 "control transfer records" --itrace=b --dlfilter DLFILTERS/ntrace-ctr.so --dlarg ctrctl=u
rm -f "$dir"/*.txt
finish
