#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# selftests/ as kselftests. On this machine, which has no trace hardware, every test must skip with
# a reason, both in the project and in a kernel tree. An installation from a kernel tree must be
# complete: it runs in a guest that has nothing else but trace hardware, and a failing test there
# must be reported.

name=kselftest
. "$(dirname "$0")/lib.bash"

"$lab/setup-lint" || { echo "Bail out! no kernel source"; exit 1; }
tree=$dir/tree
mine=$tree/tools/testing/selftests/ntrace
guests=$top/selftests/guest

copy()
{
	cp -r "$build/lint/linux" "$tree" &&
		mkdir -p "$mine" "$tree/include/uapi/linux" "$tree/usr" &&
		cp "$top/uapi/linux/ntrace.h" "$tree/include/uapi/linux/" &&
		(cd "$top" && find selftests -type f | sed 's/^selftests.//' | tar -c -C selftests \
			-T - -f -) |
			tar -x -f - -C "$mine"
}

tests=$(cd "$guests" && ls ./*.sh | sed 's,.*/,,')
number=$(wc -l <<<"$tests")
programs=$(cd "$guests" && ls ./*.c | sed 's,.*/,,; s/\.c$//')

# skipped FILE: each of them once, by its name, for the one reason that this machine has
skipped()
{
	local reasons names

	reasons=$(sed -n 's/^# 1\.\.0 # SKIP //p' "$1" | sort | uniq -c)
	names=$(sed -n 's/^ok [0-9]* selftests: ntrace: \([a-z-]*\.sh\) # SKIP$/\1/p' "$1" | sort)
	[ "$names" = "$(sort <<<"$tests")" ] && ! grep -q '^not ok' "$1" &&
		grep -qx "1\.\.$number" "$1" &&
		[ "$(xargs <<<"$reasons")" = "$number no ntrace PMU" ]
}

# kernel_make TARGET ARGUMENT...: as somebody with a kernel tree types it, who has rsync
kernel_make()
{
	"$lab/enter" env PATH="$dir/bin:/usr/sbin:/usr/bin:/sbin:/bin" make -s -C \
		"$tree/tools/testing/selftests" TARGETS=ntrace "$@" </dev/null
}

# rsync OPTION... FILE... DIRECTORY
mkdir -p "$dir/bin"
cat >"$dir/bin/rsync" <<'END'
#!/bin/sh
for to; do :; done
while [ "${1#-}" != "$1" ]; do shift; done
mkdir -p "$to" && exec cp -rL "$@"
END
chmod +x "$dir/bin/rsync"

status=0
copy || status=$?
ok $status "copied into a kernel tree"
kernel_make run_tests >"$dir/tree.out" 2>&1 || status=$?
skipped "$dir/tree.out" || status=1
ok $status "make run_tests in a kernel tree: $number tests skip, and say why" "$dir/tree.out"

status=0
kernel_make clean || status=$?
kernel_make run_tests O="$dir/native" building_out_of_srctree=1 >"$dir/out.out" 2>&1 || status=$?
skipped "$dir/out.out" || status=1
[ -z "$(cd "$mine/guest" && find . -type f -executable ! -name '*.sh')" ] || status=1
ok $status "... with O=, which leaves nothing in the tree" "$dir/out.out"

status=0
mkdir -p "$dir/project"
cp -r "$top/selftests" "$top/uapi" "$dir/project/" || status=$?
"$lab/enter" make -s -C "$dir/project/selftests" run_tests CC=gcc >"$dir/project.out" 2>&1 \
	</dev/null || status=$?
skipped "$dir/project.out" || status=1
ok $status "make run_tests in the project: $number tests skip, and say why" "$dir/project.out"

# ------------------------------------------------------------------------- tests that do not skip

mkdir -p "$dir/judged"
for which in good:0 bad:1 skips:4 killed:137; do
	echo "exit ${which#*:}" >"$dir/judged/${which%:*}.sh"
done
for which in "good bad skips killed:1" "good skips:0"; do
	status=0
	# shellcheck disable=SC2046
	(cd "$dir/judged" && sh "$top/selftests/kselftest" $(printf '%s.sh ' ${which%:*})) \
		>"$dir/judged.out" || status=$?
	wanted=$(n=0; for t in ${which%:*}; do
		n=$((n + 1))
		case $t in
		good) echo "ok $n selftests: ntrace: good.sh" ;;
		bad) echo "not ok $n selftests: ntrace: bad.sh # exit=1" ;;
		skips) echo "ok $n selftests: ntrace: skips.sh # SKIP" ;;
		killed) echo "not ok $n selftests: ntrace: killed.sh # exit=137" ;;
		esac
	done)
	[ "$status" = "${which#*:}" ] &&
		[ "$(grep -a -e '^ok' -e '^not ok' "$dir/judged.out")" = "$wanted" ]
	ok $? "the project's runner, of ${which%:*}: status $status" "$dir/judged.out"
done

# ------------------------------------------------------------------------------ where hardware is

share=$dir/run/share
mkdir -p "$share"
kernel_make install INSTALL_PATH="$share/kselftest" O="$dir/cross" ARCH=riscv \
	CROSS_COMPILE=riscv64-linux-gnu- \
	>"$dir/install.out" 2>&1
ok $? "make install of a kernel tree, for riscv64" "$dir/install.out"
missing=
for file in lib $tests $programs; do
	[ -s "$share/kselftest/ntrace/$file" ] || missing+=" $file"
done
for file in $programs; do
	"$lab/enter" readelf -h "$share/kselftest/ntrace/$file" >"$dir/elf" 2>&1
	grep -q 'Machine: *RISC-V' "$dir/elf" || missing+=" $file"
done
[ -z "$missing" ]
ok $? "it has $(wc -w <<<"$tests $programs") tests and programs:$missing" "$dir/install.out"

# One that the kernel's runner knows by its list, and fails where there is hardware
cat >"$share/kselftest/ntrace/fails.sh" <<'END'
#!/bin/sh
. "$(dirname "$0")/lib"
check "fine" true
check "bad" false
finish
END
chmod +x "$share/kselftest/ntrace/fails.sh"
echo ntrace:fails.sh >>"$share/kselftest/kselftest-list.txt"

# no program of the project's is in the guest's PATH
cat >"$dir/guest.sh" <<'END'
cd /mnt/kselftest
PATH=$(echo "$PATH" | tr : '\n' | grep -v "$PROJECT/build/guest" | paste -s -d :)
! command -v event-test || exit 1
sh ./run_kselftest.sh -s -t ntrace:event.sh -t ntrace:fails.sh
cat output.log
END
guest run "$dir/guest.sh"
log=$dir/run/guest.out
good=$(grep -a '^# ok [0-9]' "$log" | grep -v -c ' - fine$')
grep -a -q '^ok 1 selftests: ntrace: event\.sh$' "$log" &&
	[ "$good" = "$(sed -n '/ tests\[\] = {/,/^};/p' "$guests/event-test.c" | grep -c '^	{ "')" ]
ok $? "in a guest what is installed tests its hardware: $good tests are good" "$log"
grep -a -q '^not ok 2 selftests: ntrace: fails\.sh # exit=1' "$log" &&
	grep -a -q '^# not ok 2 - bad' "$log" &&
	[ "$(grep -a -c '^# not ok' "$log")" = 1 ]
ok $? "... and a test of it that fails is reported" "$log"

[ $failures != 0 ] || rm -rf "$tree" "$dir/project" "$dir/native" "$dir/cross" "$dir/run"
finish
