#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The graft: into the guest's kernel tree and the newest to be had, whose perfs pass
# their own tests and decode alike; done twice it changes nothing; a tree it does not
# fit is refused as a whole, with the place named.

name=graft
. "$(dirname "$0")/lib.bash"

log=$dir/log
tree=$dir/tree

sums()		# TREE
{
	(cd "$1" && find tools -type f -exec sha256sum {} + | LC_ALL=C sort -k2)
}

pristine()
{
	rm -rf "$tree"
	mkdir -p "$tree/tools"
	cp -a "$build/linux-6.12/tools/perf" "$build/linux-6.12/tools/include" "$tree/tools/"
}

pristine
"$top/tools-perf/graft" "$tree" >"$log" 2>&1
ok $? "6.12 takes the graft" "$log"
sums "$tree" >"$dir/once"
"$top/tools-perf/graft" "$tree" >"$log" 2>&1 && sums "$tree" | cmp - "$dir/once" >"$log" 2>&1
ok $? "a second time it changes nothing" "$log"
[ -x "$tree/tools/perf/tests/shell/test_riscv_ntrace.sh" ]
ok $? "perf test finds its script: it is executable"

pristine
sed -i 's/PERF_AUXTRACE_HISI_PTT/PERF_AUXTRACE_ELSE/' "$tree/tools/perf/util/auxtrace.h"
sums "$tree" >"$dir/before"
! "$top/tools-perf/graft" "$tree" >"$log" 2>&1
ok $? "a tree that has changed is refused"
grep -q 'util/auxtrace.h.*PERF_AUXTRACE_HISI_PTT' "$log"
ok $? "the place is named" "$log"
sums "$tree" | cmp - "$dir/before" >"$log" 2>&1
ok $? "the refused tree is as it was" "$log"
rm -rf "$tree"

"$lab/setup-source" newest >"$log" 2>&1 && "$lab/build-perf" x86_64 newest >>"$log" 2>&1
ok $? "Linux $(cut -d'"' -f2 "$build/linux-newest/PERF-VERSION-FILE") takes the graft, and its perf builds" "$log"
# perf's own make takes warnings for errors.
! grep -h -A 4 -E '(ntrace[-a-z]*|nt-[-a-z]*)\.[ch]:[0-9:]* (warning|error):' "$build"/perf-*.log >"$log"
ok $? "what the graft brings builds without warnings" "$log"

cat >"$dir/record.sh" <<'END'
perf --buildid-dir /mnt/debug record -e ntrace//u -o /mnt/perf.data -- qsort
END
guest run "$dir/record.sh"
ok $? "a recording" "$dir/run/guest.out"

# 7.x says Ok of the tables, too; without the hardware the script is skipped.
"$lab/enter" "$build/perf-x86_64-newest/perf" test -v 'RISC-V N-Trace' >"$log" 2>&1
[ "$(grep -c 'RISC-V N-Trace .*: Ok$' "$log")" = 3 ] && grep -q 'RISC-V N-Trace recording.*: Skip' "$log"
ok $? "its perf test: 3 tables, and the script" "$log"

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
	[ $status = 0 ] && [ "$lines" -ge "$least" ] && cmp "$dir/6.12.txt" "$dir/newest.txt" >>"$log" 2>&1
	ok $? "both decode it alike: $what, $lines lines" "$log"
}

alike 100000 branches --itrace=be -F cpu,tid,event,ip,addr,flags
alike 1000 "call chains and branch stacks" --no-inline --itrace=i9973ig16l16e -F tid,event,ip,insn,brstack
alike 100 "control transfer records" --itrace=b --dlfilter DLFILTERS/ntrace-ctr.so --dlarg ctrctl=u
rm -f "$dir"/*.txt
finish
