#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Builds each commit of make series, on Linux 6.12 and on the newest source available. All parts of
# a kernel that a commit changes are built at that commit, with W=1 and without warnings: for
# riscv64 built in, as a module, and with all options; for RV32; and for x86-64 those that are not
# specific to RISC-V. perf, the selftests, the binding and the documentation are built, too.
# checkpatch --strict must only complain about what Documentation/cover-letter.rst explains. Only in
# make check-all; lab/series tests the branch itself.
# TREES="6.12 newest", PARTS="core driver programs perf" and CONFIGURATIONS="riscv64-y riscv64-m
# riscv64-all rv32-m x86_64" in the environment select parts.

name=commits
. "$(dirname "$0")/lib.bash"
[ "${groups:-}" = all ] || {
	echo "1..0 # SKIP make check-all builds each commit of make series"
	exit 4
}
. "$top/selftests/lab/series.bash"

log=$dir/log
driver=drivers/hwtracing/ntrace
bindings=Documentation/devicetree/bindings
binding=riscv/riscv,trace-component.yaml

# With the reasons in the cover letter. What is not the kernel's own code may not use its headers.
explained=ALLOC_WITH_SIZEOF,FILE_PATH_CHANGES,INCLUDE_LINUX,MACRO_ARG_REUSE
explained_for_programs=$explained,ARRAY_SIZE,BIT_MACRO,CAMELCASE,COMPLEX_MACRO,EMBEDDED_FUNCTION_NAME
explained_for_programs+=,LONG_LINE_STRING,MACRO_WITH_FLOW_CONTROL,MULTIPLE_ASSIGNMENTS
explained_for_programs+=,PREFER_DEFINED_ATTRIBUTE_MACRO,SPDX_LICENSE_TAG,VOLATILE

wants()		# PART
{
	[[ " ${PARTS:-core driver programs perf} " == *" $1 "* ]]
}

changes()	# PATTERN: the commit has such a file
{
	tr '\0' '\n' <"$dir/names" | grep -E -- "$1" >"$dir/changed"
}

# silent DESCRIPTION COMMAND...: it succeeds and says nothing
silent()
{
	local what=$1 status=0

	shift
	"$@" >"$log" 2>&1 </dev/null || status=$?
	[ $status = 0 ] && [ ! -s "$log" ]
	ok $? "$which: $what" "$log"
}

# --- the kernel --------------------------------------------------------------------

# in_kernel CONFIGURATION TARGET...
in_kernel()
{
	local config=$1 target=(ARCH=riscv CROSS_COMPILE=riscv64-linux-gnu-)

	shift
	[ "$config" != x86_64 ] || target=(ARCH=x86_64)
	"$lab/enter" make -s -j2 -C "$src" O="$out/$config" \
		"${target[@]}" KBUILD_BUILD_TIMESTAMP=now "$@"
}

# fragment CONFIGURATION: what it has that tinyconfig lacks
fragment()
{
	local value=${1##*-}

	case $1 in
	# without RISC-V's instructions there is no driver, but there is the rest
	x86_64)	printf 'CONFIG_%s=y\n' 64BIT SMP PERF_EVENTS MODULES COMPILE_TEST ;;
	*)	small_config
		echo "CONFIG_RISCV_NTRACE=$value"
		echo "CONFIG_RISCV_NTRACE_KUNIT_TEST=$value"
		case $1 in
		rv32-*) echo CONFIG_ARCH_RV32I=y ;;
		esac ;;
	esac
}

# Each time, for Kconfig has more at each commit.
configure()	# CONFIGURATION
{
	local config=$out/$1/.config

	mkdir -p "$out/$1"
	# what a commit adds to Kconfig is not in the configuration of the commit before
	if [[ $1 == *-all ]]; then
		in_kernel "$1" allmodconfig >/dev/null && in_kernel "$1" prepare modules_prepare
		return
	fi
	if [ ! -e "$config.first" ]; then
		in_kernel "$1" tinyconfig >/dev/null && mv "$config" "$config.first" || return
	fi
	# olddefconfig names values that the fragment sets once more
	{ cat "$config.first"; fragment "$1"; } >"$config" &&
		in_kernel "$1" olddefconfig >/dev/null 2>&1 &&
		in_kernel "$1" prepare modules_prepare
}

# What the driver's configuration has come to
configured()	# CONFIGURATION
{
	local value=${1##*-}

	[ $value != all ] || value=m
	grep -qx "CONFIG_RISCV_NTRACE=$value" "$out/$1/.config" ||
		echo "the driver is not $value in $1"
}

# Files of the driver that no Makefile names yet, as a module that is not linked
early()		# CONFIGURATION
{
	local early=$dir/early-$1 objects

	rm -rf "$early"
	cp -r "$src/$driver" "$early"
	objects=$(cd "$early" && find . -name '*.c' -printf '%f\n' | LC_ALL=C sort |
		sed 's/c$/o/' | xargs)
	# the first commit has headers alone
	[ -n "$objects" ] || return 0
	echo "obj-m := $objects" >"$early/Makefile"
	in_kernel "$1" M="$early" W=1 KCFLAGS=-Werror $objects
}

build()		# CONFIGURATION TARGET...
{
	configure "$1" && in_kernel "$1" W=1 KCFLAGS=-Werror "${@:2}"
}

build_driver()	# CONFIGURATION
{
	if [ -e "$src/$driver/Makefile" ]; then
		build "$1" "$driver/" && configured "$1"
	else
		configure "$1" && early "$1"
	fi
}

# The header by itself, as the kernel's own test of such headers has it
uapi_header()
{
	echo 'int used;' >"$out/used.c"
	configure "$1" && in_kernel "$1" headers >/dev/null &&
		"$lab/enter" riscv64-linux-gnu-gcc -std=c90 -Wall -Wextra -Wpedantic -Werror \
			-fsyntax-only -x c \
			-I "$out/$1/usr/include" -include linux/ntrace.h "$out/used.c"
}

kernel_part()	# SUBJECT
{
	local config

	for config in ${CONFIGURATIONS:-riscv64-y riscv64-m riscv64-all rv32-m x86_64}; do
		! wants core || ! changes '^kernel/events/' ||
			silent "$1: $config, kernel/events" build $config kernel/events/
		[ $config = x86_64 ] || ! wants driver || ! changes "^drivers/" ||
			silent "$1: $config, driver" build_driver $config
	done
	! wants core || ! changes '^include/uapi/' ||
		silent "$1: the header in C90" uapi_header riscv64-y
}

# --- what is not compiled ----------------------------------------------------------

in_lint()	# COMMAND...
{
	"$lab/enter" env PYTHONPATH="$build/lint/usr/lib/python3/dist-packages" \
		LD_LIBRARY_PATH="$build/lint/usr/lib/x86_64-linux-gnu" \
		PATH="$build/lint/usr/bin:/usr/local/bin:/usr/bin:/bin" "$@"
}

# What dt_binding_check does, for this binding. (The dt-schema of Debian 13 ends by an exception of
# its own when it reads all that a kernel has.)
binding_check()
{
	local yaml=$src/$bindings/$binding at=$out/binding

	mkdir -p "$at"
	in_lint yamllint -c "$src/$bindings/.yamllint" "$yaml" &&
		in_lint dt-doc-validate -n "$yaml" &&
		in_lint dt-mk-schema -j -o "$at/schema.json" "$yaml" \
			"$src/$bindings/vendor-prefixes.yaml" &&
		in_lint dt-extract-example "$yaml" >"$at/example.dts" &&
		in_lint dtc -q -I dts -O dtb -o "$at/example.dtb" "$at/example.dts" &&
		in_lint dt-validate -s "$at/schema.json" "$at/example.dtb" || return
	# one that has to be found
	sed 's/cpus = </cpu = </' "$at/example.dts" >"$at/bad.dts"
	in_lint dtc -q -I dts -O dtb -o "$at/bad.dtb" "$at/bad.dts" &&
		in_lint dt-validate -s "$at/schema.json" "$at/bad.dtb" >"$at/bad.said" 2>&1
	grep -q "'cpu' does not match" "$at/bad.said" || echo "no complaint about a property 'cpu'"
}

# Where there is kernel-doc, or what looks like it
kernel_doc()
{
	tr '\0' '\n' <"$dir/names" | grep -E "^($driver/.*|include/uapi/linux/ntrace)\.[ch]$" |
		(cd "$src" && xargs "$lab/enter" sh -c \
			'cd "$0" && scripts/kernel-doc -none -Wall -Werror "$@"' "$src")
}

# What Sphinx says of the folders that have pages of this project's, as for make htmldocs
pages()
{
	local folder

	for folder in trace admin-guide/perf; do
		"$lab/enter" unshare --mount --propagation unchanged sh -c '
			mount -t overlay overlay -o "lowerdir=$1/usr:/usr" /usr &&
				mount -t overlay overlay -o "lowerdir=$1/etc:/etc" /etc && cd "$2" && exec env srctree="$2" \
				BUILDDIR="$3" python3 /usr/share/sphinx/scripts/python3/sphinx-build -b dummy -q \
				-c Documentation -d "$3/doctrees" -D version=0 -D release=0 -D kerneldoc_srctree=. \
				-D kerneldoc_bin=scripts/kernel-doc "Documentation/$4" "$3/pages"' \
			pages "$build/sphinx" "$src" "$out/pages-${folder##*/}" \
			"$folder" >"$dir/said" 2>&1 ||
			{ cat "$dir/said"; return 1; }
		! grep -F ntrace "$dir/said" || return
	done
}

checkpatch()	# COMMIT
{
	local ignored=$explained

	! changes '^tools/' || ignored=$explained_for_programs
	git -C "$tree" format-patch -q --stdout -1 "$1" >"$dir/patch" && [ -s "$dir/patch" ] &&
		strict "$ignored" "$dir/patch"
}

# In a tree that has what the patch brings
strict()	# IGNORED PATCH
{
	"$lab/enter" sh -c 'cd "$0" && exec perl scripts/checkpatch.pl "$@"' \
		"$src" --strict --terse --showfile \
		--show-types --ignore "$1" "$2"
}

# Its last line gets a blank at its end.
bad_patch()
{
	sed '$!N; s/^\(+.*\)$/\1 /' "$dir/patch" >"$dir/bad.patch"
	! strict "$explained" "$dir/bad.patch" >"$dir/said" 2>&1 &&
		grep -q TRAILING_WHITESPACE "$dir/said"
}

# --- programs ----------------------------------------------------------------------

kselftests()
{
	in_kernel riscv64-y headers >/dev/null &&
		"$lab/enter" make -s -C "$src/tools/testing/selftests" TARGETS=ntrace \
			O="$out/riscv64-y" ARCH=riscv \
			CROSS_COMPILE=riscv64-linux-gnu- USERCFLAGS=-Werror V=1
}

# As build-perf does, but for its warnings
perf()
{
	"$lab/enter" make -j2 -C "$src/tools/perf" O="$out/perf" PYTHON=python3 \
		PYTHON_CONFIG=x86_64-linux-gnu-python3-config NO_LIBPERL=1 NO_SLANG=1 NO_GTK2=1 \
		NO_LIBBPF=1 \
		NO_BPF_SKEL=1 NO_LIBAUDIT=1 NO_JEVENTS=1 WERROR=1 >"$out/perf.log" 2>&1 ||
		{ grep -E -B 2 -A 6 'error:|Error|\*\*\*' "$out/perf.log"; return 1; }
	! grep -h -E -A 12 'ntrace[-a-z/]*.*\.[ch]:[0-9]+:.*(warning|error): ' "$out/perf.log"
}

# --- each commit -------------------------------------------------------------------

each_commit()
{
	local commit subject number=0

	mkdir -p "$out/perf"
	if wants perf; then
		silent "without the series: perf" perf
	fi
	for commit in $(git -C "$tree" rev-list --reverse master..ntrace); do
		number=$((number + 1))
		subject=$(printf '%02d %s' $number "$(git -C "$tree" log -1 --format=%s "$commit")")
		silent "$subject: it applies" apply "$commit"
		silent "$subject: checkpatch --strict" checkpatch "$commit"
		! changes "^($driver/|include/uapi/)" || silent "$subject: kernel-doc" kernel_doc
		kernel_part "$subject"
		! changes 'bindings/' || silent "$subject: the binding" binding_check
		! wants programs || ! changes '^Documentation/.*rst$' ||
			silent "$subject: the pages" pages
		! wants programs || ! changes '^tools/testing/selftests/ntrace/' ||
			silent "$subject: the selftests" kselftests
		! changes '^tools/(perf|include)/' || ! wants perf || silent "$subject: perf" perf
	done
	bad_patch
	ok $? "$which: checkpatch finds a blank at the end of a line" "$dir/said"
	[ $number -gt 20 ]
	ok $? "$which: $number commits"
}

for step in setup-lint setup-sphinx; do
	"$lab/$step" || { echo "Bail out! $step failed"; exit 1; }
done
for which in ${TREES:-6.12 newest}; do
	out=$dir/out-$which
	whole_source "$which" >"$log" 2>&1
	ok $? "$which: the source" "$log"
	source_tree >>"$log" 2>&1 && git_tree >"$log" 2>&1
	ok $? "$which: make series: $(tail -n 1 "$log")" "$log"
	each_commit
	leave_source
	delete_tree "$out"
done
finish
