#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# make series: a branch for the kernel, here of those files of Linux 6.12 that it changes, and some
# others. The driver at its end must be equal to that of the project, without code for other
# kernels, and compile without warnings. perf at its end must be equal to the result of the graft.

name=series
. "$(dirname "$0")/lib.bash"
for tool in git cc perl; do
	command -v $tool >/dev/null || { echo "1..0 # SKIP no $tool"; exit 4; }
done

tree=$dir/tree log=$dir/log series=$top/series/make
export GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=Nobody GIT_AUTHOR_EMAIL=nobody@localhost \
	GIT_COMMITTER_NAME=Nobody GIT_COMMITTER_EMAIL=nobody@localhost HOME=$dir

git_tree()
{
	local top=linux-source-6.12 files

	mapfile -t files < <("$series" --files)
	files+=(kernel/acct.c kernel/Makefile tools/Makefile tools/virtio tools/testing/selftests/kvm
		Documentation/trace Documentation/admin-guide/perf
		Documentation/devicetree/bindings/arm drivers/hwtracing include/linux/perf)
	mkdir "$tree"
	xz -dc "$build/rootfs/usr/src/$top.tar.xz" |
		tar -x -f - -C "$tree" --strip-components=1 "${files[@]/#/$top/}" &&
		git -C "$tree" init -q -b master && git -C "$tree" add -A -f &&
		git -C "$tree" commit -q -m "Linux 6.12"
}
git_tree >"$log" 2>&1
ok $? "a git tree of 6.12" "$log"
sums()
{
	git -C "$tree" status --porcelain --ignored
	(cd "$tree" && cat .git/HEAD .git/config && find . -path ./.git -prune -o -type f \
		-print0 | LC_ALL=C sort -z |
		xargs -0 cat | sha256sum)
}
sums >"$dir/before"

"$series" "$tree" >"$log" 2>&1
ok $? "make series: $(tail -n 1 "$log")" "$log"
sums | cmp - "$dir/before" >"$log" 2>&1
ok $? "what is checked out, and the configuration, stay as they were" "$log"
git -C "$tree" diff --diff-filter=D --name-only master ntrace >"$log" && [ ! -s "$log" ]
ok $? "no file is removed" "$log"
git -C "$tree" log --format='%s' master..ntrace | LC_ALL=C sort >"$dir/subjects"
head -qn 1 "$top"/series/messages/* | LC_ALL=C sort | diff - "$dir/subjects" >"$log"
ok $? "a commit for each message" "$log"
! git -C "$tree" log --format='%B' master..ntrace | grep -E '^.{76,}' >"$log" &&
	[ "$(git -C "$tree" log --format='%B' master..ntrace | grep -c '^Signed-off-by: Nobody <nobody@localhost>$')" = "$(wc -l <"$dir/subjects")" ]
ok $? "messages of 75 columns, with the author's Signed-off-by" "$log"

"$series" "$tree" >"$log" 2>&1
[ $? != 0 ] && grep -q 'has a branch ntrace already' "$log"
ok $? "a branch that is there is not replaced" "$log"
"$series" "$tree" again >"$log" 2>&1 &&
	git -C "$tree" diff --quiet ntrace again
ok $? "another time the same" "$log"
"$series" "$dir" >"$log" 2>&1
[ $? != 0 ] && grep -q 'not a git tree' "$log"
ok $? "a directory without git is refused" "$log"

# --- the driver

at_end=$dir/end
mkdir "$at_end"
git -C "$tree" archive ntrace drivers/hwtracing/ntrace include/uapi/linux/ntrace.h tools/perf |
	tar -x -f - -C "$at_end"
! grep -rn 'ntrace_compat\|LINUX_VERSION_CODE\|ntrace_sample_' "$at_end/drivers" >"$log"
ok $? "the driver has no code for other kernels" "$log"
for f in "$top"/kernel/*.[ch]; do
	[[ $f == */ntrace_compat.* ]] || cmp -s "$f" "$at_end/drivers/hwtracing/ntrace/${f##*/}" ||
		echo "${f##*/}"
done >"$dir/changed"
printf '%s\n' ntrace_cpu.c ntrace_event.c ntrace_pmu.c | diff - "$dir/changed" >"$log"
ok $? "three of its files are other than the project's" "$log"
# What this kernel does not export is not there for a module of it.
"$lab/enter" make -C "/$(cd "$build/rootfs" && echo usr/src/linux-headers-*-riscv64)" ARCH=riscv \
	CROSS_COMPILE=riscv64-linux-gnu- M="$at_end/drivers/hwtracing/ntrace" \
	CONFIG_RISCV_NTRACE=m \
	KBUILD_MODPOST_WARN=1 KCFLAGS="-I$at_end/include -Werror" W=1 modules >"$log" 2>&1 &&
	[ "$(grep -c 'modpost: ".*undefined!' "$log")" = "$(grep -c 'modpost: "perf_output_copy\(_aux\)\?" ' "$log")" ]
ok $? "it compiles with W=1, and lacks the exported functions alone" "$log"

# --- perf

cp -r "$tree" "$dir/grafted" && "$top/tools-perf/graft" "$dir/grafted" >"$log" 2>&1
(cd "$dir/grafted" && git add -A -f tools/perf && git diff --cached --name-only ntrace \
	-- tools/perf) |
	grep -v -e 'ntrace-compat.h$' -e 'ntrace-tree.h$' -e 'ntrace-test.c$' -e \
		'.ntrace-graft.list$' >"$log"
[ ! -s "$log" ]
ok $? "perf is what the graft makes" "$log"
! grep -rn -e NTRACE_TREE_ -e ntrace-tree.h "$at_end/tools/perf" >"$log"
ok $? "perf has no code for other trees" "$log"
rm -rf "$dir/grafted"
finish
