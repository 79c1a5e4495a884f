#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The machines of lab/topologies. On each of them the driver must probe all components. A program
# that moves to another hart every millisecond is recorded, on all CPUs and by thread, and perf must
# decode the instructions that the harts retired. If CPUs share a sink, two of them also fill it at
# the same time, and the harts must wait rather than lose trace. TOPOLOGIES="funnel2 sram" selects
# machines.
#
# make check tests the machines below: one of each kind, and none that another test of make check
# records on and compares (lab/dma, lab/loss, lab/script, lab/unbind). "A+B" is A with the encoders
# of B, because the capabilities of encoders and sinks are independent. Where two CPUs fill a sink,
# and on version 0, the program is not recorded by thread. make check-all tests all machines one by
# one, with all recordings.

name=topologies
. "$(dirname "$0")/lib.bash"

# lab/rtl-linux and lab/clusters have the machines of those names.
wanted="sram-shared held unknown pool+context careful+no-scontext idle+btm-only addr32 p550"
[ "${groups:-}" != all ] || wanted=$("$lab/topology" --list | grep -vx -e rtl -e clusters)
wanted=${TOPOLOGIES:-$wanted}

cat >"$dir/record.sh" <<'END'
cd /mnt
record="perf --buildid-dir /mnt/debug record"
status=0
recording 1; $record -e ntrace//u -o cpus.data -- bounce || status=1
recording 2; $record -e ntrace//u --per-thread -o thread.data -- bounce || status=1
recording 3
exit $status
END

cp "$dir/record.sh" "$dir/base.sh"
together sed -i 's/^recording 2;.*/recording 2/' "$dir/base.sh"
sed 's|^exit|$record -e ntrace/stall/u -o both.data -- threads \|\| status=1\nrecording 4\n&|' \
	"$dir/base.sh" >"$dir/both.sh"
# Without stall, which is not for everybody
sed 's|ntrace/stall/u|ntrace//u|' "$dir/both.sh" >"$dir/full.sh"
# Whoever did not ask for context has no TIDs in it, and they come from elsewhere.
sed 's|^exit|$record -a -e ntrace/contextid=0,stall/u -o both.data -- threads \|\| status=1\nrecording 4\n&|' \
	"$dir/base.sh" >"$dir/context.sh"
# A CPU without an encoder is no reason to refuse the others, and is named.
sed 's|^exit|$record -a -e ntrace//u -o all.data -- bounce 2>err \|\| status=1\ncat err\nrecording 4\
[ "$(cat /sys/bus/event_source/devices/ntrace/cpumask)" = 0-14 ] \|\| status=1\
grep -q "Only the CPUs 0-14 have a trace encoder" err \|\| status=1\
perf record -C 15 -e ntrace//u -o none.data -- true 2>err \&\& status=1\ncat err\
dmesg >messages\ngrep -q "CPU 15 cannot be traced" messages \|\| status=1\n&|' "$dir/record.sh" \
>"$dir/all.sh"

# An encoder that cannot choose is only for who wants everything, and says so
cat >"$dir/unfiltered.sh" <<'END'
cd /tmp
perf record -e ntrace//u -o none.data -- true 2>err && exit 1
cat err
grep -q 'have no filters (caps/filters is 0)' err || exit
# ... and what it says works
perf record -e ntrace/mmode/ -o every.data -- true 2>err
status=$?
cat err
perf script -i every.data --itrace=b -F ip 2>/dev/null | head -n 1 | grep . || exit 1
exit $status
END

# An encoder of version 0 has no filters, and counts calls: tasks can be traced, CPUs cannot. Of two
# threads of a program one follows the other, and the count begins anew.
cat >"$dir/version0.sh" <<END
thread=$(more echo bounce)
END
cat >>"$dir/version0.sh" <<'END'
cd /mnt
record="perf --buildid-dir /mnt/debug record --kcore -m ,4M"
pmu=/sys/bus/event_source/devices/ntrace
status=0
recording 1; $record -e ntrace/mmode,syncmax=3/ -o cpus.data -- threads || status=1
recording 2
[ -z "$thread" ] || $record -e ntrace/mmode,syncmax=3/ --per-thread -o thread.data -- $thread || status=1
recording 3
perf record -e ntrace//u -o none.data -- true 2>err && status=1
cat err; grep -q 'have no filters (caps/filters is 0)' err || status=1
perf record -a -e ntrace/mmode/ -o none.data -- true 2>err && status=1
cat err; grep -q 'caps/cpuwide is 0' err || status=1
perf record -e ntrace/mmode/ --filter 'filter vfs_write' -o none.data -- true && status=1
grep . $pmu/caps/* $pmu/cpu*/* $pmu/nr_addr_filters >files.txt 2>/dev/null
cat /sys/kernel/debug/ntrace/bringup >bringup.txt || status=1
exit $status
END

# R58: what sinks wrote is inside the window that they were enabled with last, and every window is
# in memory, not in anybody's registers, and inside the sink's region if it has one. Addresses have
# leading zeros: they compare as strings.
grants()	# TOPOLOGY
{
	"$lab/topology" "${1%+*}" | awk -v written="$dir/$1/sink.log" '
	function address(text,	n)
	{
		sub(/^0x/, "", text)
		while (length(text) < 16)
			text = "0" text
		return "0x" text
	}
	function bad(why)
	{
		print FNR ": " $0 ": " why
		failed = 1
	}
	FILENAME != written {
		for (i = 4; $1 == "node" && i <= NF; i++)
			if (split($i, part, /[=+]/) == 3) {
				region[$2] = address(part[2])
				pool[$2] = part[1] == "pool"
			}
		next
	}
	$2 == "window" && $5 == "smem" {
		windows++
		from[$1] = $3
		to[$1] = $4
		if ($3 < address("0x80000000") || $4 <= $3)
			bad("no memory")
		if ($3 < address("0xbf100000") && $4 > address("0xbf000000"))
			bad("registers")
		# anywhere in the first megabyte of a pool
		digits = pool[$1] ? 13 : 18
		if ($1 in region && substr($3, 1, digits) != substr(region[$1], 1, digits))
			bad("outside of its region")
	}
	$2 == "window" && $5 == "sram" { sram++; delete from[$1] }
	$2 == "wrote" {
		writes++
		if (!($1 in from) || $3 < from[$1] || $4 > to[$1])
			bad("outside of its window")
	}
	END {
		printf "%d windows, %d of them in SRAM, %d ranges written\n", windows + sram, sram, writes
		exit failed || !(windows + sram) || (windows && !writes)
	}' - "$dir/$1/sink.log" >"$dir/$1/grants" 2>&1
}

# encoders TOPOLOGY: the options that make encoders such as this machine has
encoders()
{
	local option

	for option in $("$lab/topology" "$1" | awk '$1 == "option" { print $2 }'); do
		printf -- '--plugin-arg %s ' "$option"
	done
}

one()		# TOPOLOGY[+TOPOLOGY]
{
	local t=$1 machine=${1%+*} script=record options=

	[ $machine = $t ] || options=$(encoders "${t#*+}")
	case $t in
	no-filters)		script=unfiltered ;;
	funnel2|cascade|held)	script=both ;;
	unknown)		script=full ;;
	context|*+context)	script=context ;;
	p550)			script=version0 ;;
	clusters)		script=all ;;
	esac
	# There is a full sink, and what comes of it, only if the driver's timer is late.
	[ $t != p550 ] || options+=" --delay 60"
	smp=$("$lab/topology" $machine | awk '$1 == "harts" { print $2 }')
	# shellcheck disable=SC2086
	guest $t "$dir/$script.sh" --topology $machine $options \
		--plugin-arg "sink_log=$dir/$t/sink.log" ${DRIVER:+--driver "$DRIVER"}
	ok $? "$t: recorded" "$dir/$t/guest.out"
	[ $script != unfiltered ] || return 0
	grants $t
	ok $? "R58: $t: $(tail -n 1 "$dir/$t/grants")" "$dir/$t/grants"
	[ $script != version0 ] || version0 $t
}

# There is no code of firmware: what is decoded between two losses is what ran.
version0()	# TOPOLOGY
{
	local share=$dir/$1/share fact hart

	# An encoder's source is its hart; Linux numbers the hart that boots 0.
	hart=$(awk '$1 == 1 { print $2 }' "$dir/$1/console.harts")

	pieces $1 1 cpus "all but what is reported" --reported --insns 1000000 --errors 20000
	more pieces $1 2 thread "all but what is reported" --reported --insns 1000000 --errors 20000
	awk '/trace error/ && / ip 0x800.* no (code in|mappings of)/ { n++ }
		/trace error/ && ! / ip 0x800/ { print >"/dev/stderr"; others++ }
		END { printf "%d of firmware, %d others\n", n, others; exit !n }' \
		"$dir/$1/cpus.txt" $(more echo "$dir/$1/thread.txt") >"$dir/$1/losses" \
		2>"$dir/$1/others"
	ok $? "$1: what is lost: $(cat "$dir/$1/losses")" "$dir/$1/others"
	for fact in ntrace/nr_addr_filters:0 caps/contextid:0 caps/filters:0 caps/retstack:0x3 \
		caps/cpuwide:0 caps/stall:0 \
			cpu1/profile:p550 cpu1/addrbits:48 cpu1/ts_width:40 cpu1/srcbits:2 \
			cpu1/srcid:$hart; do
		grep -q "/$fact\$" "$share/files.txt"
		ok $? "$1: $fact" "$share/files.txt"
	done
	! grep -q '^DIFFERS' "$share/bringup.txt" &&
		grep -q 'RAM sink, version 0$' "$share/bringup.txt"
	ok $? "$1: the bring-up report finds nothing that differs" "$share/bringup.txt"
}

for t in $wanted; do
	one $t
done
# Each message of a sink that CPUs share is in one of their buffers: perf and ntrace print it there.
# The rest of a message that the window before begins is no message.
dumps()		# TOPOLOGY NAME
{
	local data=$dir/$1/share/$2.data dump=$dir/$1/$2.dump err=$dir/$1/$2.dump.err rests status

	host_perf "$1" report -D -i "$data" >"$dump" 2>"$err"
	sed -n -E 's/^  ([0-9a-f]{8}): .{50}SRC=([0-9]*) /0x\1 \2 /p' "$dump" | sort >"$dump.perf"
	"$lab/enter" "$build/host/ntrace" dump "$data" >"$dump.all" 2>>"$err"
	status=$?
	grep -v '^#' "$dump.all" | sort >"$dump.ntrace"
	# A sink that is full may cut a message off. Nothing else is damaged.
	awk -v status=$status '/^# window/ { full = / partial$/ }
		/^# 0x.*, skipped [0-9]+$/ { cut = 1; bad += !full || !/: message cut by the end/ }
		END { exit bad || status != cut + 0 }' "$dump.all" &&
		[ -s "$dump.perf" ] && diff "$dump.perf" "$dump.ntrace" >"$dump.diff"
	ok $? "$1: ntrace dump and perf's -D: $(wc -l <"$dump.perf") messages" "$dump.diff" "$err"
	rests=$(grep -c ' rest of a message' "$dump.all")
	[ "$rests" = "$(grep -c ' begin of a message' "$dump.all")" ] &&
		[ "$rests" = "$(grep -c ' rest of a message$' "$dump")" ] &&
		[ "$rests" = "$(grep -c ' begin of a message$' "$dump")" ] &&
		{ [ $1 != held ] || [ "$rests" -gt 0 ]; }
	ok $? "$1: $rests messages of two windows" "$err"
}

# The last message of a window becomes idle bytes and the first byte of a vendor's message, which
# the first window of the other CPU's buffer ends. No event comes from such a message.
joined()	# TOPOLOGY
{
	local share=$dir/$1/share log=$dir/$1/joined
	local cpu at end rests

	"$lab/enter" "$build/host/ntrace" dump "$share/cpus.data" 2>"$log.err" | awk '
		function window() { if (at != "") print time, cpu, end, at; at = "" }
		/^# window/ { window(); cpu = $4; end = $8 "+" $10; time = $12 }
		/^0x/ { at = $1 }
		END { window() }' | sort -n >"$log.windows"
	read -r cpu end at < <(awk 'NR > 1 && $2 != cpu { print cpu, end, at; exit }
		{ cpu = $2; end = $3; at = $4 }' "$log.windows")
	"$top/selftests/lab/perfdata.py" trace "$at@$cpu" \
		"$(printf "%$((end - at - 1))s" | sed 's/ /ff/g')e0" \
		"$share/cpus.data" "$share/joined.data"
	host_perf "$1" report -D -i "$share/joined.data" 2>>"$log.err" >"$log.dump"
	host_perf "$1" script -i "$share/joined.data" --itrace=d+o-a -F ip 2>>"$log.err" >"$log.log"
	rests=$(grep -c ' rest of a message$' "$log.dump")
	[ "$rests" = $((1 + $(grep -c ' rest of a message$' "$dir/$1/cpus.dump"))) ]
	ok $? "$1: a message in two CPUs' buffers, at $at" "$log.windows" "$log.err"
	# Both CPUs have the whole stream: the log has each line of -D twice, and the message as
	# one.
	sed -n -e '/ \(begin\|rest\) of a message$/d' -e 's/^\(  [0-9a-f]\{8\}: \).\{50\}/\1/p' \
		"$log.dump" >"$log.once"
	grep '^  [0-9a-f]\{8\}: ' "$log.log" | sort >"$log.logged"
	cat "$log.once" "$log.once" | sort | diff - "$log.logged" >"$log.diff"
	[ -s "$log.once" ] && ! grep -q '^<' "$log.diff" &&
		[ "$(grep -c '^> .*SRC=' "$log.diff")" = $((2 * rests)) ]
	ok $? "$1: --itrace=d has each message for each of two CPUs: $(wc -l <"$log.logged")" \
		"$log.diff" "$log.err"
}

for t in $wanted; do
	case $t in
	sram-shared)	dumps $t cpus; joined $t ;;
	p550)		dumps $t cpus ;;
	held)		dumps $t both ;;
	esac
done
for t in $wanted; do
	for what in cpus thread both all; do
		[ -s "$dir/$t/share/$what.data" ] && [ $t != p550 ] || continue
		case $what in
		cpus)	number=1 ;;
		thread)	number=2 ;;
		both|all) number=3 ;;
		esac
		later $t $number $what b
	done
done
for t in $wanted; do
	for what in cpus thread both all; do
		[ -s "$dir/$t/share/$what.data" ] && [ $t != p550 ] || continue
		result $t - $what b
		status=$?
		if [ $t = sram ]; then
			ok $status "R60: $t, $what: $(figures)" "$out" "$err"
		else
			ok $status "$t, $what: $(figures)" "$out" "$err"
		fi
	done
done

finish
