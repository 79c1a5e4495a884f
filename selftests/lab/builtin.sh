#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The driver built into the kernel, as at the end of make series, on Linux 6.12 and on the newest
# source available, in a small kernel without modules. KUnit tests must succeed at boot, guest/*
# must pass, and recordings of a program and of the kernel must be equal to the truth. Only in make
# check-all.
# TREES="6.12 newest" in the environment selects trees.

name=builtin
. "$(dirname "$0")/lib.bash"
[ "${groups:-}" = all ] || { echo "1..0 # SKIP make check-all builds kernels with the driver in them"; exit 4; }
. "$top/selftests/lab/series.bash"

log=$dir/log
reason="the driver is built into this kernel"
# what that is said of
modules="guest/event: unloading while the area is mapped is refused
guest/event: unloading while used is refused
guest/module: does not unload while used
guest/module: unloads and loads ten times"

config()
{
	small_config
	printf 'CONFIG_%s=y\n' DEBUG_FS RISCV_NTRACE RISCV_NTRACE_KUNIT_TEST
}

build_kernel()
{
	local end

	end=$(git -C "$tree" rev-parse ntrace) && apply "$end" master &&
		config >"$dir/config" && "$lab/build-debug-kernel" "$kernel" "$src" "$dir/config"
}

# --- what the kernel itself says, and what it records

cat >"$dir/guest.sh" <<'END'
[ -z "$DRIVER" ] && [ ! -e /sys/module/ntrace/initstate ] && ! grep ntrace /proc/modules ||
	{ echo "there is a module"; exit 1; }
ls /sys/bus/event_source/devices/ntrace/type /sys/module/ntrace/parameters || exit 1
sh $PROJECT/selftests/debug/kunit.sh >/mnt/kunit || exit 1
cd /mnt
record="perf --buildid-dir /mnt/debug record -m ,16M"
recording 1; $record -e ntrace//u -o prog.data -- prog || exit 1
recording 2; $record --kcore -a -e ntrace// -o all.data -- threads
END

boots()
{
	local n=0 what

	guest "$which" "$dir/guest.sh"
	ok $? "$which: boots, the PMU is there and no module" "$dir/$which/guest.out"
	grep -c '^ok ' "$dir/$which/share/kunit" >"$log" &&
		! grep '^not ok' "$dir/$which/share/kunit"
	ok $? "$which: KUnit at boot: $(cat "$log") cases" "$dir/$which/share/kunit"
	for what in prog all; do
		n=$((n + 1))
		compare "$which" $n $what b
		ok $? "$which: $what: what is recorded is what ran: $(figures)" "$out" "$err"
	done
}

# --- guest/*

# of TEST: its lines that begin so, and are skipped or not
lines()		# TEST BEGINNING
{
	grep "^$2 [0-9]* - $1[: ]" "$tap"
}

guest_tests()
{
	local t said

	RESULTS=$dir/$which-tests "$top/selftests/run" 'guest/*' >"$tap" 2>"$log"
	for t in "$top"/selftests/guest/*.sh; do
		t=guest/$(basename "$t" .sh)
		lines "$t" 'ok' >"$dir/good"
		lines "$t" 'not ok' >"$dir/bad"
		grep -v -i '# skip' "$dir/good" >"$dir/passed" && [ ! -s "$dir/bad" ]
		said=$?
		ok $said "$which: $t: $(wc -l <"$dir/passed") passed, $(grep -c -i '# skip' "$dir/good") skipped" \
			"$dir/bad" "$dir/good" "$log"
	done
	sed -n "s/^ok [0-9]* - \(.*\) # [Ss][Kk][Ii][Pp] $reason$/\1/p" "$tap" |
		LC_ALL=C sort >"$dir/skipped"
	[ "$(cat "$dir/skipped")" = "$modules" ]
	ok $? "$which: $(wc -l <"$dir/skipped") of all are about a module, and skip" "$dir/skipped"
}

for which in ${TREES:-6.12 newest}; do
	kernel=$dir/kernel-$which tap=$dir/$which.tap
	whole_source "$which" >"$log" 2>&1 && source_tree >>"$log" 2>&1 && git_tree >"$log" 2>&1
	ok $? "$which: make series: $(tail -n 1 "$log")" "$log"
	build_kernel >"$log" 2>&1
	ok $? "$which: a kernel with the driver in it: $(tail -n 1 "$log")" "$log" "$kernel/log"
	LAB_KERNEL=$kernel
	export LAB_KERNEL
	boots
	guest_tests
	leave_source
	delete_tree "$kernel/tree"
done
finish
