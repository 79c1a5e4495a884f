#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# While nothing is traced, the model may slow the guest's boot down by two. The least of some boots
# each, in turn: what else the machine does makes single ones longer, not shorter.

set -u
top=$(cd "$(dirname "$0")/../.." && pwd -P)
dir=$top/build/check/boot-time
mkdir -p "$dir"
echo 'read -r up _ </proc/uptime; echo "$up"' >"$dir/script"

# boot_time BOOTOPTION...: hundredths of a second until the script starts
boot_time()
{
	local up

	up=$("$top/selftests/qemu/lab/boot" --driver "" --share "$dir/share" \
		--log "$dir/console.log" "$@" --run "$dir/script") || return
	echo $((10#${up/./}))
}

echo 1..1
plain=999999 model=999999
for round in 1 2 3 4 5 6; do
	a=$(boot_time --no-plugin) && b=$(boot_time) || { echo "not ok 1 - boots"; exit 1; }
	[ "$a" -ge "$plain" ] || plain=$a
	[ "$b" -ge "$model" ] || model=$b
	[ $round -lt 2 ] || [ "$model" -gt $((2 * plain)) ] || break
done
echo "# $plain without the model, $model with it (1/100 s), the least of $round"
if [ "$model" -le $((2 * plain)) ]; then
	echo "ok 1 - boots at most twice as slowly"
else
	echo "not ok 1 - boots at most twice as slowly"
	exit 1
fi
