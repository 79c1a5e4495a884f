#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Decodes 64 MB of trace (21 MB in make check), recorded in one run through a 1 MB AUX buffer. With
# default options at least 90 % of the instructions must be decoded, the decoder must report each
# loss, and decoding must resume after it. With stalling all of them must be decoded. perf.data goes
# to memory first, because /mnt is slower than a disk.
# On a busy machine the driver's timer fires late, or perf reads late, and the emulated sink fills
# meanwhile. The guest measures the delay of each poll, and the 90 % refer to the remaining time.
# Delays in the driver itself are not excluded.
# With -icount time is the number of instructions, so nothing is late: there ntrace record must not
# lose more than perf record (only in make check-all).
# JUMPS=1000 makes a shorter run.

name=big
. "$(dirname "$0")/lib.bash"

# thousands, of more than 7.3 bytes each: 9200 are 64 MiB
jumps=${JUMPS:-$(more echo 9200)}
jumps=${jumps:-3000}
record="perf --buildid-dir /mnt/debug record -m ,1M"

cat >"$dir/guest.sh" <<END
cd /mnt; status=0
tracing=/sys/kernel/tracing
timer=\$(awk '\$3 == "ntrace_cpu_timer" { print \$1 }' /proc/kallsyms)
echo 20000 >\$tracing/buffer_size_kb
for event in hrtimer_start hrtimer_expire_entry; do
	echo "function == 0x\$timer" >\$tracing/events/timer/\$event/filter || status=1
	echo 1 >\$tracing/events/timer/\$event/enable
done
recording 1; $record -e ntrace//u -o /tmp/default.data -- bigtrace $jumps || status=1
echo 0 >\$tracing/tracing_on
cat \$tracing/trace >/mnt/timers
grep -q '^overrun: 0\$' \$tracing/per_cpu/cpu0/stats && grep -q '^overrun: 0\$' \$tracing/per_cpu/cpu1/stats || status=1
recording 2; $record -e ntrace/stall/u -o /tmp/stall.data -- bigtrace $jumps || status=1
cp /tmp/default.data /tmp/stall.data . || status=1
exit \$status
END
guest one "$dir/guest.sh"
ok $? "recorded in the guest" "$dir/one/guest.out"

# Polls while bigtrace ran, how many ms of how many they were late in all: "POLLS LATE RAN"
polls()
{
	awk '
		!match($0, /hrtimer=[0-9a-f]+/) { next }
		{ timer = substr($0, RSTART, RLENGTH) }
		/: hrtimer_start: / {
			match($0, / expires=[0-9]+/)
			due[timer] = substr($0, RSTART + 9, RLENGTH - 9)
			next
		}
		$1 ~ /^bigtrace-/ {
			match($0, / now=[0-9]+/)
			now = substr($0, RSTART + 5, RLENGTH - 5)
			first = first ? first : now
			last = now
			n++
			if (timer in due && now > due[timer])
				late += now - due[timer]
		}
		END { printf "%d %.0f %.0f\n", n, late / 1e6, (last - first) / 1e6 }' \
			"$dir/one/share/timers"
}

# ms from each record of a buffer that was full, as perf had not read, to the next record
unread()
{
	awk '/PERF_RECORD_AUX / {
			if (full)
				sum += $2 - full
			full = / flags: 0x[0-9a-f]*[13579bdf] / ? $2 : 0
		}
		END { printf "%.0f\n", sum / 1e6 }' "$dir/one/default.dump"
}

# What ran in all is what the second recording has, of which nothing may be missing.
later one 2 stall b --require bytes=$((jumps * 7300)),windows=$((jumps / 144))
read -r polls late ran < <(polls)
[ "$polls" -gt $((jumps / 20)) ]
ok $? "the driver polled $polls times, $late of $ran ms late in all" "$dir/one/share/timers"
dump "$dir/one" default
read -r unread < <(unread)
# While QEMU's threads wait, nothing runs either: time in which the program ran is shorter.
read -r waited took <"$dir/one/console.waited" || waited=0 took=1
least=$(awk "BEGIN { n = 90 - 100 * ($late + $unread) / ($ran + 1) * $took / ($took - $waited); print (n > 0 ? int(n) : 0) }")
later one 1 default b --allow-loss --require bytes=$((jumps * 73 * least)),windows=$((jumps / 144))
result one 2 stall b
ok $? "stalling: all that ran is decoded: $(figures)" "$out" "$err"
all=$(figure insns) all_bits=$(figure bits)

result one 1 default b
ok $? "default options: what is decoded is what ran: $(figures)" "$out" "$err"
decoded=$(figure insns) bits=$(figure bits)
percent=$(awk "BEGIN { print 100 * ${decoded:-0} / ${all:-1} }")
awk "BEGIN { exit !($percent >= $least) }"
ok $? "default options: $percent % decoded, at least $least % with polls $late and perf $unread of $ran ms late, $(figure losses) losses reported, $(figure drops) places" "$out"
awk "BEGIN { n = ${bits:-0} / ${all_bits:-1}; exit !(n > 0.97 && n < 1.03) }"
ok $? "default options: of what was recorded nothing is left out: $bits bits/insn, $all_bits with stalling" "$out"

# --- perf record and ntrace record, at the same pace -----------------------------------------

cat >"$dir/both.sh" <<END
cd /tmp; status=0
recording 1; $record -e ntrace//u -o perf.data -- bigtrace $jumps || status=1
recording 2; ntrace record -m ,1M -e ntrace//u -o ntrace.data -- bigtrace $jumps
# 1: trace was lost
[ \$? -le 1 ] || status=1
mv perf.data ntrace.data /mnt || status=1
exit \$status
END

# One hart, on which recorder and program take turns
both()
{
	local what number=0 decoded=

	smp=1 guest both "$dir/both.sh" --qemu-arg -icount --qemu-arg shift=3,sleep=off --plugin-arg clock=csr
	ok $? "one hart, icount: recorded by perf and by ntrace" "$dir/both/guest.out"
	for what in perf ntrace; do
		number=$((number + 1))
		compare both $number $what b --allow-loss --require bytes=$((jumps * 3000))
		ok $? "one hart, icount: $what record: $(figures)" "$out" "$err"
		decoded+=" $(figure insns)"
	done
	# whose turn it is when the buffer is full is chance: a twentieth
	awk "BEGIN { split(\"$decoded\", n); exit !(n[2] >= n[1] * 0.95) }"
	ok $? "one hart, icount: ntrace record loses no more than perf record: decoded are$decoded instructions"
}
more both
[ $failures != 0 ] || rm -rf "$dir/one" "$dir/both"
finish
