#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# ntrace coverage of a program without counters, compiled by clang, must agree with llvm-cov of the
# same source with counters: functions, lines and branches. llvmcov.py documents what is compared,
# and names each line that differs, with the reason. Only in make check-all: clang is in a separate
# tree.

name=llvmcov
. "$(dirname "$0")/lib.bash"
[ "${groups:-}" = all ] || { echo "1..0 # SKIP make check-all sets up a tree with clang"; exit 4; }

share=$dir/run/share
ntrace=$build/host/ntrace
programs=(ways prog qsort recurse)
mkdir -p "$share"

"$lab/setup-tree" pgo >"$dir/tree.out" 2>&1
ok $? "a tree with clang 22" "$dir/tree.out"

# clang COMMAND: in the tree that has it. There is no process in it yet.
clang()
{
	LAB_INSIDE= LAB_ROOTFS=$build/rootfs-pgo "$lab/enter" "$@"
}

clang bash -euc '
	cd "$1"
	clang="clang-22 --target=riscv64-linux-gnu -O0 -g -static -pthread -fuse-ld=lld-22"
	for p in $3; do
		source="$2/selftests/workloads/$p.c $2/selftests/workloads/straight.S"
		$clang -o $p $source
		$clang -fprofile-instr-generate -fcoverage-mapping -fprofile-update=atomic \
			-o $p.counted $source
		llvm-dwarfdump-22 --debug-line $p >$p.lines
		llvm-objdump-22 -d --no-show-raw-insn $p >$p.code
	done' build "$share" "$top" "${programs[*]}" >"$dir/build.out" 2>&1
ok $? "programs with counters and without" "$dir/build.out"

{
	echo 'cd /mnt; status=0'
	for p in "${programs[@]}"; do
		echo "LLVM_PROFILE_FILE=/mnt/$p.raw ./$p.counted >$p.said || status=1"
		echo "perf --buildid-dir /mnt/debug record -e ntrace//u -o $p.data -- ./$p || status=1"
	done
	echo 'exit $status'
} >"$dir/record.sh"
guest run "$dir/record.sh"
ok $? "recordings" "$dir/run/guest.out"

for p in "${programs[@]}"; do
	clang sh -c 'cd "$1" && llvm-profdata-22 merge -o "$2.prof" "$2.raw" &&
		llvm-cov-22 export --format=text --instr-profile="$2.prof" "$2.counted" >"$2.json" &&
		llvm-cov-22 export --format=lcov --instr-profile="$2.prof" "$2.counted" >"$2.llvm"' \
		llvm-cov "$share" "$p" >"$dir/$p.err" 2>&1 &&
		"$lab/enter" "$ntrace" coverage --buildid-dir "$share/debug" --format=lcov \
			"$share/$p.data" >"$dir/$p.lcov" 2>>"$dir/$p.err"
	status=$?
	[ $status != 0 ] || python3 "$top/selftests/lab/llvmcov.py" json="$share/$p.json" \
		llvm="$share/$p.llvm" ntrace="$dir/$p.lcov" lines="$share/$p.lines" \
		code="$share/$p.code" >"$dir/$p.said" 2>&1 || status=1
	[ ! -e "$dir/$p.said" ] || sed 's/^/# /' "$dir/$p.said"
	ok $status "$p: $(tail -n 1 "$dir/$p.said")" "$dir/$p.err"
done

# What is compared is noticed: the same with one number changed, or left out
n=0 missed=
for change in '/^DA:/{/:26,/s/$/1/}' '/^DA:40,/d' '/^FNDA:.*,insert$/s/:/:1/' '/^FNDA:.*,dense$/d' \
	      '/^BRDA:28,0,0/s/[0-9]*$/7/' '/^BRDA:85,/d' '/^DA:154,/s/,.*/,5/' '/^BRDA:50,2,/d'; do
	n=$((n + 1))
	sed "$change" "$dir/ways.lcov" >"$dir/changed.lcov"
	! cmp -s "$dir/ways.lcov" "$dir/changed.lcov" &&
		! python3 "$top/selftests/lab/llvmcov.py" json="$share/ways.json" \
			llvm="$share/ways.llvm" ntrace="$dir/changed.lcov" \
			lines="$share/ways.lines" code="$share/ways.code" >"$dir/changed" 2>&1 &&
		grep -q '^not equal' "$dir/changed" || missed+=" $change"
done
[ -z "$missed" ]
ok $? "$n changes are noticed${missed:+, but not$missed}"
finish
