#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Runs guest/unbind on machines with more than encoders and sinks: funnels in a row, a shared sink,
# a bridge. Recordings made afterwards must have the instructions that the harts retired. A
# component is also probed while its harts are in an idle state that resets it: the driver must
# report the same each time. make check tests one machine of each kind, unbinds an encoder, two
# funnels and the sink, and probes in 20 rounds. make check-all tests two machines of each kind, all
# of their components, and 60 rounds.

name=unbind
. "$(dirname "$0")/lib.bash"

# cascade has three encoders more, and a funnel, that are like these.
few="bf000000.trace bf001000.trace bf080000.trace bf081000.trace"
[ "${groups:-}" != all ] || few=
echo "export UNBIND='$few'" >"$dir/script.sh"
cat >>"$dir/script.sh" <<'END'
sh $PROJECT/selftests/guest/unbind.sh >/mnt/tap || echo 'not ok' >>/mnt/tap
cd /mnt
recording 1; perf --buildid-dir /mnt/debug record -a -e ntrace//u -o after.data -- bounce || exit 1
recording 2
END

for t in ${TOPOLOGIES:-cascade $(more echo atb)}; do
	smp=$("$lab/topology" $t | awk '$1 == "harts" { print $2 }')
	guest $t "$dir/script.sh" --topology $t
	ok $? "$t: recorded" "$dir/$t/guest.out"
	grep -q '^ok' "$dir/$t/share/tap" && ! grep -q '^not ok' "$dir/$t/share/tap"
	ok $? "$t: $(grep -c '^ok' "$dir/$t/share/tap") checks of components that go" \
		"$dir/$t/share/tap"
	compare $t 1 after b
	ok $? "$t: afterwards: $(figures)" "$out" "$err"
done

rounds=$(more echo 60)
rounds=${rounds:-20}
echo "most=$rounds" >"$dir/again.sh"
cat >>"$dir/again.sh" <<'END'
drv=/sys/bus/platform/drivers/ntrace pmu=/sys/bus/event_source/devices/ntrace
told()
{
	(cd $pmu && grep -r . caps format sinks | sort)
	(cd $drv && grep . *.trace/ts_* *.trace/impl)
}
cd $drv && set -- *.trace && cd /mnt || exit 1
told >told.first
rounds=0
while [ $rounds -lt $most ]; do
	for d; do
		echo $d >$drv/unbind || exit 1
	done
	for d; do
		# the other harts have gone to sleep by then
		usleep 2000
		echo $d >$drv/bind || exit 1
	done
	told >told.now
	diff told.first told.now || exit 1
	rounds=$((rounds + 1))
done
echo $rounds >rounds
END

for t in ${IDLE_TOPOLOGIES:-idle-cluster $(more echo idle)}; do
	smp=$("$lab/topology" $t | awk '$1 == "harts" { print $2 }')
	guest $t "$dir/again.sh" --topology $t
	[ $? = 0 ] && [ "$(cat "$dir/$t/share/rounds")" = $rounds ]
	ok $? "$t: components are the same each of $rounds times that they are probed" \
		"$dir/$t/guest.out"
done
finish
