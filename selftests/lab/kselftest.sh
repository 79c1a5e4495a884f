#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# selftests/ as kselftests, on this machine, which has no trace hardware: from the
# project, and from a kernel tree, every test skips and says why.

name=kselftest
. "$(dirname "$0")/lib.bash"

"$lab/setup-lint" || { echo "Bail out! no kernel source"; exit 1; }
tree=$dir/tree
mine=$tree/tools/testing/selftests/ntrace

copy()
{
	cp -r "$build/lint/linux" "$tree" && mkdir -p "$mine" "$tree/include/uapi/linux" "$tree/usr" &&
		cp "$top/uapi/linux/ntrace.h" "$tree/include/uapi/linux/" &&
		(cd "$top" && find selftests -type f | sed 's/^selftests.//' | tar -c -C selftests -T - -f -) |
			tar -x -f - -C "$mine"
}

tests=$(ls "$top"/selftests/guest/*.sh | wc -l)
# skipped FILE: all of them, each with a reason
skipped()
{
	[ "$(grep -c '^ok .* ntrace: .*# SKIP' "$1")" = "$tests" ] && ! grep -q '^not ok' "$1" &&
		[ "$(grep -c '^# 1\.\.0 # SKIP ..' "$1")" = "$tests" ]
}

status=0
copy || status=$?
ok $status "copied into a kernel tree"
"$lab/enter" make -s -C "$tree/tools/testing/selftests" TARGETS=ntrace run_tests \
	>"$dir/tree.out" 2>&1 </dev/null || status=$?
skipped "$dir/tree.out" || status=1
ok $status "make run_tests in a kernel tree: $tests tests skip, and say why" "$dir/tree.out"

status=0
mkdir -p "$dir/project"
cp -r "$top/selftests" "$top/uapi" "$dir/project/" || status=$?
"$lab/enter" make -s -C "$dir/project/selftests" run_tests CC=gcc >"$dir/project.out" 2>&1 </dev/null || status=$?
skipped "$dir/project.out" || status=1
ok $status "make run_tests in the project: $tests tests skip, and say why" "$dir/project.out"

finish
