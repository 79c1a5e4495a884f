#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# 64 MB of trace in one run through a 1 MB AUX buffer. With default options at least 90 % of
# what ran is decoded, each loss is reported by the decoder, and decoding resumed behind it;
# with stalling all of it. Recorded to memory first: /mnt is slower than a disk would be.
# For less: JUMPS=1000.

name=big
. "$(dirname "$0")/lib.bash"

jumps=${JUMPS:-9200}		# thousands, of more than 7.3 bytes each: 64 MiB
record="perf --buildid-dir /mnt/debug record -m ,1M"

cat >"$dir/guest.sh" <<END
cd /mnt; status=0
recording 1; $record -e ntrace//u -o /tmp/default.data -- bigtrace $jumps || status=1
recording 2; $record -e ntrace/stall/u -o /tmp/stall.data -- bigtrace $jumps || status=1
cp /tmp/default.data /tmp/stall.data . || status=1
exit \$status
END
guest one "$dir/guest.sh" --timeout 280
ok $? "recorded in the guest" "$dir/one/guest.out"

# What ran in all is what the second recording has, of which nothing may be missing.
later one 2 stall b --require bytes=$((jumps * 7300)),windows=64
later one 1 default b --allow-loss --require bytes=$((jumps * 6570)),windows=64
result one 2 stall b
ok $? "stalling: all that ran is decoded: $(figures)" "$out" "$err"
all=$(figure insns)

result one 1 default b
ok $? "default options: what is decoded is what ran: $(figures)" "$out" "$err"
decoded=$(figure insns)
percent=$(awk "BEGIN { print 100 * ${decoded:-0} / ${all:-1} }")
awk "BEGIN { exit !($percent >= 90) }"
ok $? "default options: $percent % decoded, $(figure losses) losses reported, $(figure drops) places" "$out"
[ $failures != 0 ] || rm -rf "$dir/one"
finish
