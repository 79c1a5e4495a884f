#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# While nothing is traced, a boot of the guest takes at most twice the processor time of a boot
# without the model. The test does not compare elapsed time, because that depends on the load of the
# machine.

# alone: compares processor times

name=boot-time
. "$(dirname "$0")/lib.bash"
echo : >"$dir/script"

# boot_time BOOTOPTION...: milliseconds of processor time
boot_time()
{
	local TIMEFORMAT='%3U %3S' times

	times=$({ time "$lab/boot" --driver "" --share "$dir/share" --log "$dir/console.log" "$@" \
		--run "$dir/script" >"$dir/out" 2>&1; } 2>&1) || return
	awk '{ print int(($1 + $2) * 1000) }' <<<"$times"
}

plain=$(boot_time --no-plugin) && model=$(boot_time)
ok $? "boots" "$dir/out"
[ "$plain" -gt 1000 ] && [ "$model" -le $((2 * plain)) ]
ok $? "boots in $model ms of processor time with the model, $plain ms without"
finish
