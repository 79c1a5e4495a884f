#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# debugfs ntrace/bringup: the report has no difference on correct hardware, and names the difference
# on each of more than twenty kinds of broken, slow or different hardware. make check tests four
# kinds, two of them on one machine; make check-all (groups=all) tests all, each on its own machine.

name=bringup
. "$(dirname "$0")/lib.bash"

echo 'cat /sys/kernel/debug/ntrace/bringup; dmesg | sed -n "/its registers from/p"' >"$dir/script"
# What an event uses is left alone, and events come and go as ever.
cat >"$dir/used" <<'END'
perf record -q -C 0 -e ntrace//u -o /tmp/data -- cat /sys/kernel/debug/ntrace/bringup >/tmp/used
grep 'in use, not touched' /tmp/used | sed 's/^/while an event runs: /'
cat /sys/kernel/debug/ntrace/bringup
event-test "every optional field" >/tmp/out 2>&1 || echo "no event after that"
END

# Registers are the same in each report, while harts fall asleep all the time.
cat - "$dir/used" >"$dir/idle" <<'END'
for cpu in $(seq 0 $(($(nproc) - 1))); do
	taskset -c $cpu sh -c 'while [ ! -e /tmp/enough ]; do usleep 300; done' &
done
for i in $(seq ${reports:-40}); do
	grep ' keeps ' /sys/kernel/debug/ntrace/bringup >/tmp/keeps
	[ -e /tmp/keeps.first ] || cp /tmp/keeps /tmp/keeps.first
	diff /tmp/keeps.first /tmp/keeps || echo "DIFFERS: report $i from the first"
done
>/tmp/enough
wait
END

# report NUMBER BOOTOPTION...: leaves $dir/NUMBER/out, err, status
report()
{
	local at=$dir/$1 status=0

	shift
	mkdir -p "$at"
	"$lab/boot" --log "$at/console.log" "$@" >"$at/out" 2>"$at/err" </dev/null || status=$?
	echo $status >"$at/status"
}

# Two at a time; the results in the order of the numbers
n=0
what=() words=() also=() also_of=()
begin()		# DESCRIPTION WORDS BOOTOPTION...
{
	n=$((n + 1))
	what[n]=$1 words[n]=$2
	shift 2
	while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do
		wait -n || :
	done
	report $n "$@" &
}

good()		# DESCRIPTION SCRIPT BOOTOPTION...
{
	begin "$1: no difference" '' "${@:3}" --run "$dir/$2"
}

bad()		# WORDS MODEL-OPTION...
{
	local line=$1 args=() option

	shift
	for option in "$@"; do
		args+=(--plugin-arg "$option")
	done
	begin "$*" "$line" "${args[@]}" ${topology:+--topology "$topology"} --run "$dir/script"
}

# also WORDS MODEL-OPTION: what the report of the last machine says of this option, too
also()
{
	also[n]=$1 also_of[n]=$2
}

# Without words there must be no difference.
judge()		# NUMBER
{
	local at=$dir/$1 status=0 found=

	[ "$(cat "$at/status")" = 0 ] && grep -q '^# ntrace bring-up report' "$at/out" || status=1
	if [ -n "${words[$1]}" ]; then
		found=": $(grep -oE -m 1 "${words[$1]}" "$at/out")" || status=1
	else
		! grep -q -e ^DIFFERS -e '^no event' "$at/out" &&
			grep -q 'a window of' "$at/out" &&
			grep -q '^while an event runs: .*encoder' "$at/out" || status=1
	fi
	ok $status "${what[$1]}$found" "$at/out" "$at/err"
	[ -n "${also[$1]:-}" ] || return 0
	status=0
	found=$(grep -oE -m 1 "${also[$1]}" "$at/out") || status=1
	ok $status "${also_of[$1]}: $found" "$at/out" "$at/err"
}

more sed -i '1ireports=400' "$dir/idle"
good "a sink for each hart" used
good "a funnel, one sink" used --topology cascade
more good "sinks with memory of their own" used --topology sram
more good "memory set aside" used --topology region
good "harts that idle" idle --topology idle-cluster

more bad 'DIFFERS: a write to WP does not clear Wrap' wrap_sticks=1
more bad 'memory was behind a running WP at [1-9][0-9]* of' wp_ahead=16
together bad 'DIFFERS: a write to WP does not clear Wrap' wrap_sticks=1 wp_ahead=16
together also 'memory was behind a running WP at [1-9][0-9]* of' wp_ahead=16
more bad 'DIFFERS: the sink has disabled itself, its window is not full' drop_enable=sink0:3
more bad 'DIFFERS: WP is outside of the window' stray=sink0:3
more bad 'DIFFERS: bf000000.trace: timed out waiting for .*reads 0xffffffff' ones=encoder0:150
more bad 'DIFFERS: bf001000.trace: timed out waiting for Enable=1' sink_enable=never
more bad 'DIFFERS: bf001000.trace: timed out waiting for Enable=0 and Empty=1' sink_empty=never
more bad 'DIFFERS: bf000000.trace: timed out waiting for Enable=1' enable=never
more bad 'DIFFERS: bf000000.trace: timed out waiting for Enable=0 and Empty=1' empty=never
more bad 'DIFFERS: the encoder says that it overflowed' overflow=20/3
more bad 'DIFFERS: .*trace@bf000000 is not used' active=never
more bad 'bf000000.trace: its registers from 0x000: 0x[0-9a-f]{8}, 0x00010100, ' impl=0x00010100
more bad 'bf001000.trace: its registers from 0x000: 0x[0-9a-f]{8}, 0x00002902, ' \
	sink_impl=0x00002902
more bad 'DIFFERS: .*trace@bf001000 is not used' nostick=sink:0:0x100
bad 'DIFFERS: .*trace@bf001000 is not used' nostick=sink:0x20:0xf00
more bad 'DIFFERS: .*trace@bf000000 is not used' nostick=te:0:0x70
more bad 'StartLow .* keeps 0xfffff000 of ones' nostick=sink:0x10:0xffc
more bad 'WPLow .* keeps 0xffffffc1 of ones' width=64
more bad 'StartHigh .* keeps 0x00000000 of ones' addrbits=32
more bad 'TsControl +0x040 0x38000000' ts_active=never
more bad 'DIFFERS: .*trace@bf001000 is not used' nostick=sink:0x18:0x80
# one hart is enough for a funnel that fails
topology=$(more echo cascade)$(together echo row)
bad 'DIFFERS: bf080000.trace: timed out waiting for Enable=1' funnel_enable=never
more bad 'DIFFERS: bf08.000.trace: timed out waiting for Enable=0 and Empty=1' funnel_empty=never
more bad 'DisInput .* keeps 0x00000000 of ones' dis_inputs=0

wait
for i in $(seq $n); do
	judge "$i"
done
finish
