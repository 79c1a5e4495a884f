#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# 64 MB of trace in one run through a 1 MB AUX buffer. With default options at least 90 % of
# it is decoded, each loss is reported by the decoder, and decoding resumed behind it; with
# stalling all of it.

name=big
. "$(dirname "$0")/lib.bash"

calls=${CALLS:-5500}		# thousands
record="perf --buildid-dir /mnt/debug record -m ,1M"

cat >"$dir/guest.sh" <<END
cd /mnt; status=0
recording 1; $record -e ntrace/retstack=0/u -o default.data -- bigtrace $calls || status=1
recording 2; $record -e ntrace/retstack=0,stall/u -o stall.data -- bigtrace $calls || status=1
exit \$status
END
guest one "$dir/guest.sh" --timeout 280
ok $? "recorded in the guest" "$dir/one/guest.out"

megabytes=bytes=67108864
compare one 1 default b --allow-loss --require $megabytes,percent=90,windows=64
ok $? "default options: what is decoded is what ran: $(figures), $(figure percent) %, $(figure drops) drops, $(figure losses) reported" "$out" "$err"
compare one 2 stall b --require $megabytes,windows=64
ok $? "stalling: nothing is lost: $(figures)" "$out" "$err"
[ $failures != 0 ] || rm -rf "$dir/one"
finish
