#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The register accesses of the driver and their order, from probe to unload: the model logs all
# accesses, and registers.awk checks them against the specification's requirements for software.

name=registers
. "$(dirname "$0")/lib.bash"

# All that changes registers: terms that take turns, filters, CPUs that go while they are traced
cat >"$dir/script" <<'END'
set -e
cd /tmp
record="perf record -q -m,1M -o data"
$record -e ntrace//u -- qsort
$record -e ntrace/retstack=0,syncmode=1/u -- loop
$record -e ntrace/contextid,timestamp/u -a -- loop
perf record -q -m,8 -o data -e ntrace//u -- bigtrace 50	# fills windows
$record -e ntrace//u --filter 'filter main @ /bin/loop' -- loop || echo "no filters"
$record -e ntrace//u -a -- sh -c 'echo 0 >/sys/devices/system/cpu/cpu1/online; loop
	echo 1 >/sys/devices/system/cpu/cpu1/online; loop'
rmmod ntrace
END

logged()	# TOPOLOGY
{
	local t=$1

	guest "$t" "$dir/script" --topology "$t" --plugin-arg "reg_log=$dir/$t.log"
	ok $? "$t: recorded, unloaded" "$dir/$t/guest.out"
	"$lab/topology" "$t" | awk -v strict=$([ "$t" = per-hart ] && echo 1 || echo 0) \
		-f "$top/selftests/lab/registers.awk" - "$dir/$t.log" >"$dir/$t.checks"
}

# kept DESCRIPTION TOPOLOGY: what it is called by was looked at, and not broken once
kept()
{
	local what=$1 t=$2 line

	line=$(grep "^${what%%[ :]*} " "$dir/$t.checks" || echo "- 0 0")
	set -- $line
	echo "$line" >"$dir/line"
	[ "$2" -gt 0 ] && [ "$3" = 0 ]
	ok $? "$what ($t: $2 times)" "$dir/line"
}

logged per-hart
kept "R1: registers are accessed as words, inside their pages" per-hart
kept "R2: nothing but Control is touched while a component is not active" per-hart
kept "R4: reset is 0, seen inactive, then 1" per-hart
kept "R6: the type is looked at before anything else" per-hart
kept "R9: what may come up undefined is written before Enable" per-hart
kept "R10: reserved bits of Control are written 0" per-hart
kept "R11: what follows is enabled before what sends to it" per-hart
kept "R12: Enable is the last of the configuration, InstTracing comes after it" per-hart
kept "R13: what sends is off and empty before what follows is disabled" per-hart
kept "R14: nothing stays enabled, not for harts that were offline either" per-hart
kept "R18: the format is N-Trace whenever an encoder is enabled" per-hart
kept "R21: the overflow bit is never written by accident" per-hart
kept "R22: triggers stay unarmed" per-hart
kept "R30: implicit returns have both fields or none" per-hart
kept "R35: what to match is written before the filter is enabled" per-hart
kept "R45: trRamMode is written before the window" per-hart
kept "R46: Start before Limit, and both are read back" per-hart
kept "R49: WP is set, Wrap is cleared before a sink is enabled" per-hart
kept "R51: the window is written to a sink that is off and empty" per-hart
logged funnel2
kept "R2: nothing but Control is touched while a component is not active" funnel2
kept "R11: what follows is enabled before what sends to it" funnel2
kept "R14: nothing stays enabled, not for harts that were offline either" funnel2
kept "R26 R28: source IDs of a sink's encoders differ, and are of one width" funnel2
kept "R44: a funnel's inputs do not stay as probing left them" funnel2
kept "R51: the window is written to a sink that is off and empty" funnel2

# QEMU's callbacks are how the model learns of an access. A write that comes without one is in the
# guest's memory: the driver reads it back, and believes it. The model finds it at the next access.
cat >"$dir/missed.sh" <<'END'
cd /mnt; recording 1; perf record -q -e ntrace//u -o qsort.data -- qsort
END
guest missed "$dir/missed.sh" --plugin-arg miss=7 --plugin-arg "reg_log=$dir/missed.log"
ok $? "each seventh write comes without a callback: recorded" "$dir/missed/guest.out"
compare missed 1 qsort i1ie --require insns=100000 && grep -q ' missed ' "$dir/missed.log"
ok $? "... and found: $(grep -c ' missed ' "$dir/missed.log"), $(figures)" "$out" "$err"

finish
