#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The graft: into the guest's kernel tree and the newest to be had, which both
# decode alike; done twice it changes nothing; a tree it does not fit is refused
# as a whole, with the place named.

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

cat >"$dir/record.sh" <<'END'
perf --buildid-dir /mnt/debug record -e ntrace//u -o /mnt/perf.data -- qsort
END
guest run "$dir/record.sh"
ok $? "a recording" "$dir/run/guest.out"

# branches PERF: 7.x calls start and end of a trace jumps too
branches()
{
	"$lab/enter" "$build/$1/perf" --buildid-dir "$dir/run/share/debug" script \
		-i "$dir/run/share/perf.data" --itrace=be -F cpu,tid,event,ip,addr,flags |
		sed -E 's/ +/ /g; s/ $//; s/tr (strt|end) jmp/tr \1/'
}

branches perf-x86_64 >"$dir/6.12.txt" 2>"$log"
branches perf-x86_64-newest >"$dir/newest.txt" 2>>"$log"
[ "$(wc -l <"$dir/6.12.txt")" -gt 100000 ] && cmp "$dir/6.12.txt" "$dir/newest.txt" >>"$log" 2>&1
ok $? "both decode it to the same $(wc -l <"$dir/6.12.txt") branches" "$log"
rm -f "$dir"/*.txt
finish
