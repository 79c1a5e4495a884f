#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The machine shuts down, or another kernel is about to start, while everything is traced. All sinks
# must be inactive then, because the next kernel uses the memory.

name=shutdown
. "$(dirname "$0")/lib.bash"

# The script does not come back: the kernel shuts its devices down, and the machine is off.
cat >"$dir/script.sh" <<'END'
record_to_the_end()
{
	perf record -q -a -e ntrace//u -o /tmp/data -- sh -c '>/tmp/on; while :; do :; done'
}
record_to_the_end &
until [ -e /tmp/on ]; do sleep 0.1; done
sleep 0.5
poweroff -f
END

for t in per-hart funnel2 sram atb; do
	mkdir -p "$dir/$t"
	status=0
	guest $t "$dir/script.sh" --topology $t --plugin-arg "reg_log=$dir/$t/regs" \
		${DRIVER:+--driver "$DRIVER"} || status=$?
	# 125: the guest ended without going back to its script
	[ $status = 125 ] && ! grep -Eq 'Kernel panic|Oops|WARNING:|BUG:' "$dir/$t/console.log"
	ok $? "$t: off while it is traced" "$dir/$t/guest.out"
	awk '
	$1 ~ /^sink/ && $2 == "write" && $3 == "000" {
		last[$1] = $4
		if ($4 ~ /[2367abef]$/)
			enabled[$1]++
	}
	END {
		for (sink in last) {
			sinks++
			if (!enabled[sink])
				print sink " was never enabled"
			else if (last[sink] != "00000000")
				print sink " goes on: its Control was last written 0x" last[sink]
			else
				good++
		}
		printf "%d of %d sinks were stopped\n", good, sinks
		exit !sinks || good != sinks
	}' "$dir/$t/regs" >"$dir/log" 2>&1
	ok $? "$t: $(tail -n 1 "$dir/log")" "$dir/log"
done
finish
