#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# What guest/unbind does, on machines that have more than encoders and sinks: funnels in
# a row, a shared sink, a bridge. What is recorded afterwards is what the harts retired.

name=unbind
. "$(dirname "$0")/lib.bash"

cat >"$dir/script.sh" <<'END'
sh $PROJECT/selftests/guest/unbind.sh >/mnt/tap || echo 'not ok' >>/mnt/tap
cd /mnt
recording 1; perf --buildid-dir /mnt/debug record -a -e ntrace//u -o after.data -- bounce || exit 1
recording 2
END

for t in ${TOPOLOGIES:-cascade atb}; do
	smp=$("$lab/topology" $t | awk '$1 == "harts" { print $2 }')
	guest $t "$dir/script.sh" --topology $t --timeout 240
	ok $? "$t: recorded" "$dir/$t/guest.out"
	grep -q '^ok' "$dir/$t/share/tap" && ! grep -q '^not ok' "$dir/$t/share/tap"
	ok $? "$t: $(grep -c '^ok' "$dir/$t/share/tap") checks of components that go" "$dir/$t/share/tap"
	compare $t 1 after b
	ok $? "$t: afterwards: $(figures)" "$out" "$err"
done
finish
