#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Every machine of lab/topologies: the driver brings it up, a program is recorded there that moves
# to another hart every millisecond, for all CPUs and for its thread, and what perf decodes is what
# the harts retired. For less: TOPOLOGIES="funnel2 sram".

name=topologies
. "$(dirname "$0")/lib.bash"

wanted=${TOPOLOGIES:-$("$lab/topology" --list)}

cat >"$dir/record.sh" <<'END'
cd /mnt
record="perf --buildid-dir /mnt/debug record"
status=0
recording 1; $record -e ntrace//u -o cpus.data -- bounce || status=1
recording 2; $record -e ntrace//u --per-thread -o thread.data -- bounce || status=1
recording 3
exit $status
END

# An encoder that cannot choose is only for who wants everything
cat >"$dir/unfiltered.sh" <<'END'
cd /tmp
perf record -q -e ntrace//u -o none.data -- true && exit 1
perf record -q -e ntrace/mmode/ -o all.data -- true || exit 1
perf report -D -i all.data 2>/dev/null | grep -q ProgTraceSync
END

one()		# TOPOLOGY
{
	local t=$1 script=record

	[ $t != no-filters ] || script=unfiltered
	smp=$("$lab/topology" $t | awk '$1 == "harts" { print $2 }')
	guest $t "$dir/$script.sh" --topology $t --timeout 120 \
		--plugin-arg "sink_log=$dir/$t/sink.log" ${DRIVER:+--driver "$DRIVER"}
	ok $? "$t: recorded" "$dir/$t/guest.out"
}

for t in $wanted; do
	one $t
done
for t in $wanted; do
	for what in cpus thread; do
		[ -s "$dir/$t/share/$what.data" ] || continue
		[ $what = cpus ] && number=1 || number=2
		later $t $number $what b
	done
done
for t in $wanted; do
	for what in cpus thread; do
		[ -s "$dir/$t/share/$what.data" ] || continue
		result $t - $what b
		ok $? "$t, $what: $(figures)" "$out" "$err"
	done
done

finish
