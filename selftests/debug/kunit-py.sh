#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# machines: none
# KUnit of the AUX arithmetic and sink states through the kernel's own kunit.py, on User Mode Linux:
# a tree of links to the source, with ntrace_aux.c and its tests as lib/ntrace.

name=kunit-py
. "$(dirname "$0")/../lab/lib.bash"

whole=$build/linux-whole
tree=$build/kunit/tree

link_tree()
{
	local f

	[ "$(cat "$build/kunit/.stamp" 2>/dev/null)" != "$(cat "$whole/.stamp")" ] || return 0
	rm -rf "$build/kunit"
	mkdir -p "$build/kunit"
	cp -rs "$whole" "$tree" || return
	# kunit.py goes to the tree that it is really in; the others are changed
	for f in tools/testing/kunit lib/Kconfig lib/Makefile; do
		rm -r "${tree:?}/$f"
		cp -r "$whole/$f" "$tree/$f" || return
	done
	echo 'source "lib/ntrace/Kconfig"' >>"$tree/lib/Kconfig"
	echo 'obj-$(CONFIG_NTRACE_AUX_KUNIT_TEST) += ntrace/' >>"$tree/lib/Makefile"
	cp "$whole/.stamp" "$build/kunit/"
}

add_sources()
{
	mkdir -p "$tree/lib/ntrace"
	cp "$top"/kernel/ntrace_{aux.c,aux.h,regs.h,version0.h,aux_test.c} \
		"$tree/lib/ntrace/"
	printf 'config NTRACE_AUX_KUNIT_TEST\n\tbool "ntrace: AUX arithmetic"\n\tdepends on KUNIT=y\n' \
		>"$tree/lib/ntrace/Kconfig"
	echo 'obj-y := ntrace_aux.o ntrace_aux_test.o' >"$tree/lib/ntrace/Makefile"
	printf 'CONFIG_KUNIT=y\nCONFIG_NTRACE_AUX_KUNIT_TEST=y\n' >"$tree/lib/ntrace/.kunitconfig"
}

"$lab/setup-whole-source" && link_tree && add_sources ||
	{ echo "Bail out! no tree for kunit.py"; exit 1; }
status=0
"$lab/enter" env -C "$tree" python3 tools/testing/kunit/kunit.py run --raw_output=kunit \
	--kunitconfig=lib/ntrace --build_dir="$build/kunit/out" --jobs=2 ntrace_aux \
	>"$dir/out" 2>&1 </dev/null || status=$?
[ $status = 0 ] || tail -n 40 "$dir/out" | cut -c1-200 | sed 's/^/# /'
awk -f "$top/selftests/debug/ktap.awk" -v suite=ntrace_aux "$dir/out" && [ $status = 0 ]
