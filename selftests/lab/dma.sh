#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Caches that are not coherent with the sinks: the driver must sync each window for its sink as a
# whole, and each written byte for the CPU. The test observes the kernel's functions for this. (The
# emulator has no caches, so the trace alone would not show a mistake.)

name=dma
. "$(dirname "$0")/lib.bash"

# The probes' records go to perf: on RISC-V a probe counts as an NMI, where ftrace's buffers take
# none.
cat >"$dir/script.sh" <<'END'
# The first instruction of the function, while all arguments are in their registers: behind the place
# that ftrace has at its beginning, or where there is none.
probe()
{
	for offset in 8 0; do
		echo "p:$1 $2+$offset at=%a0:x64 size=%a1:u64 way=%a2:u32" \
			>>/sys/kernel/tracing/kprobe_events && return
	done 2>/dev/null
	cat /sys/kernel/tracing/error_log
	return 1
}
probe give arch_sync_dma_for_device && probe take arch_sync_dma_for_cpu || exit 1
cd /mnt
status=0
recording 1; perf record -q -a -e kprobes:give -e kprobes:take -o /tmp/syncs.data -- \
	perf --buildid-dir /mnt/debug record -a -e ntrace//u -o cpus.data -- bounce || status=1
recording 2; perf record -q -a -e kprobes:give -e kprobes:take -o /tmp/more.data -- \
	perf --buildid-dir /mnt/debug record -m,16M -e ntrace/stall/u -o much.data -- \
	bigtrace 200 || status=1
recording 3
for what in syncs more; do
	perf script -i /tmp/$what.data -F event,trace || status=1
done >syncs
exit $status
END

smp=2
for t in noncoherent copy; do
	args=()
	topology=$t
	# sinks of their own, whose trace is copied all the same
	[ $t != copy ] || { topology=noncoherent-own args=(--driver-arg copy=1); }
	guest $t "$dir/script.sh" --topology $topology "${args[@]}" \
		--plugin-arg "sink_log=$dir/$t/sink.log" ${DRIVER:+--driver "$DRIVER"}
	ok $? "$t: recorded" "$dir/$t/guest.out"
	compare $t 1 cpus b
	ok $? "$t: $(figures)" "$out" "$err"
	compare $t 2 much b
	ok $? "$t, 16 MiB: $(figures)" "$out" "$err"
	# DMA_FROM_DEVICE is 2
	awk '
	function number(text,	i, n)
	{
		sub(/.*=/, "", text)
		if (text !~ /^0x/)
			return text + 0
		for (i = 3; i <= length(text); i++)
			n = 16 * n + index("0123456789abcdef", substr(text, i, 1)) - 1
		return n
	}
	BEGIN { CONVFMT = "%.17g" }
	FILENAME ~ /sink.log$/ {
		if ($2 == "window" && $5 == "smem")
			ends[number($3)] = number($4)
		else if ($2 == "wrote")
			wrote += number($4) - number($3)
		next
	}
	$5 != "way=2" { next }
	$1 ~ /:give:$/ {
		given++
		if (number($3) + number($4) >= ends[number($3)])
			delete ends[number($3)]
	}
	$1 ~ /:take:$/ {
		taken += number($4)
		if (number($4) > longest)
			longest = number($4)
	}
	END {
		for (at in ends) {
			printf "0x%x: not all of this window was handed over\n", at
			bad++
		}
		if (longest > 256 * 1024) {
			printf "%d bytes are taken back with interrupts off\n", longest
			bad++
		}
		printf "%d handed over, %d of %d bytes taken back, at most %d at a time\n", given, taken,
			wrote, longest
		exit bad || !given || !wrote || taken != wrote
	}' "$dir/$t/sink.log" "$dir/$t/share/syncs" >"$dir/log" 2>&1
	ok $? "$t: memory is handed to the sink, and taken back: $(tail -n 1 "$dir/log")" "$dir/log"
done
finish
