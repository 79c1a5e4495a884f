#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Tools that read profiles: pprof, callgrind_annotate, llvm-profgen and perf2bolt. The tests in
# host/ with checks for these tools run where Debian's versions are installed, and must not skip any
# of them. systemd must accept the units that start ntrace collect. Only in make check-all.

name=readers
. "$(dirname "$0")/lib.bash"

if [ "${groups:-}" != all ]; then
	echo '1..0 # SKIP in make check-all only'
	exit 4
fi
"$lab/setup-tree" readers >"$dir/setup" 2>&1 || {
	ok 1 'a tree with the tools' "$dir/setup"
	finish
}
mkdir -p "$dir/tmp"
export LAB_ROOTFS=$build/rootfs-readers TMPDIR=$dir/tmp

# whole TEST: it passes, and skips no check
whole()
{
	local status=0

	"$lab/enter" env top="$top" out="$build/host" timeout 3600 "$top/selftests/host/$1.sh" \
		>"$dir/$1" 2>&1 || status=$?
	[ $status = 0 ] && ! grep -n 'SKIP' "$dir/$1" >"$dir/skipped"
	ok $? "host/$1: $(grep -c '^ok ' "$dir/$1") checks with $2, none skipped" "$dir/skipped" \
		"$dir/$1"
}

whole profile perf2bolt
whole gcov llvm-profgen
whole stacks 'pprof and callgrind_annotate'
whole records 'callgrind_annotate'

# The program is elsewhere here.
mkdir -p "$dir/units"
for unit in ntrace-collect.service ntrace-collect.timer; do
	sed "s,^ExecStart=/usr/bin/ntrace ,ExecStart=$build/host/ntrace ," \
		"$top/tools-perf/ntrace/systemd/$unit" >"$dir/units/$unit"
done
"$lab/enter" systemd-analyze verify --man=no "$dir"/units/* >"$dir/verify" 2>&1 &&
	[ ! -s "$dir/verify" ] && grep -q "ExecStart=$build" "$dir/units/ntrace-collect.service"
ok $? "systemd has nothing to say about the units" "$dir/verify"
finish
