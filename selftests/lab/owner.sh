#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Tasks and permissions. Threads, children, other programs, PID namespaces, whole CPUs and cgroups:
# each instruction must have the TID of the task that ran it, in the initial namespace, according to
# the kernel's current task. The trace must not have anything that was not requested: the kernel,
# the firmware, other tasks. Sinks must write only to pages of the event's AUX area.
#
# make check-all also tests a task in a PID namespace while others run, and a longer program in the
# cgroup.

name=owner
. "$(dirname "$0")/lib.bash"

sorts=$(more echo qsort)$(together echo recurse)
echo "sorts=$sorts space='$(more echo 'qsort & forkexec; wait')'" >"$dir/guest.sh"
cat >>"$dir/guest.sh" <<'END'
export sorts
cd /mnt; status=0
record="perf --buildid-dir /mnt/debug record"
mkdir -p /tmp/cgroup && mount -t cgroup -o perf_event cgroup /tmp/cgroup && mkdir /tmp/cgroup/traced || exit 1

# Others' code runs on the same CPUs all the time.
while [ ! -e /tmp/stop ]; do loop; done >/dev/null &
while [ ! -e /tmp/stop ]; do loop; done >/dev/null &
recording 1; $record -e ntrace//u -o task.data -- sh -c 'threads & forkexec; wait' || status=1
recording 2; $record -e ntrace//u -C 1 -o cpu.data -- threads || status=1
recording 3; $record -a -e ntrace//u -G traced -o cgroup.data -- sh -c '
	echo $$ >/tmp/cgroup/traced/cgroup.procs; exec $sorts' || status=1
recording 4
[ -z "$space" ] || $record -e ntrace//u -o space.data -- unshare -p -f sh -c "$space" || status=1
>/tmp/stop; wait
recording 5; $record -a -e ntrace//u -o spaces.data -- unshare -p -f sh -c 'threads & forkexec; wait' || status=1
recording 6; $record -e ntrace//u -o exec.data -- threadexec || status=1
recording 7
exit $status
END
guest run "$dir/guest.sh" ${DRIVER:+--driver "$DRIVER"}
ok $? "recorded in the guest" "$dir/run/guest.out"

# strangers NAME WORDS: what of a trace is nobody's that was asked for
lines()		# NAME FIELDS
{
	host_perf run script -i "$dir/run/share/$1.data" --itrace=b -F "$2" 2>/dev/null
}

declare -A text=([task]="threads and children" [cpu]="one CPU" [cgroup]="a cgroup" \
	[space]="a PID namespace" [spaces]="a PID namespace, and everything else" \
	[exec]="a thread that executes a program has its leader's TID")
declare -A others=([task]=loop [cgroup]=loop [space]=loop)
declare -A own=([task]=threads [cpu]=loop [cgroup]=$sorts [space]=qsort [spaces]=threads \
	[exec]=threadexec)
n=0
for what in task cpu cgroup space spaces exec; do
	n=$((n + 1))
	[ $what != space ] || [ "${groups:-}" = all ] || continue
	later run $n $what b
done
for what in task cpu cgroup $(more echo space) spaces exec; do
	result run - $what b
	ok $? "$what: ${text[$what]}, under their TIDs: $(figures)" "$out" "$err"
	lines $what comm,ip,addr >"$dir/$what.lines"
	awk -v own="${own[$what]}" -v other="${others[$what]:-}" '
	{ seen += $1 == own; strangers += other != "" && $1 == other }
	# the upper half is the kernel, the beginning of memory the firmware
	/ ffffff/ || / 8[0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f] / {
		print
		bad++
	}
	END {
		printf "%d lines, %d of %s, %d of others, %d of kernel or firmware\n", NR, seen, own,
			strangers, bad
		exit !seen || strangers || bad
	}' "$dir/$what.lines" >"$dir/log"
	ok $? "$what: nobody else: $(tail -n 1 "$dir/log")" "$dir/log"
done

# Windows are pages of an AUX area that somebody has mapped at that time.
cat >"$dir/pages.sh" <<'END'
export AUX_PAGES=/mnt/pages
for test in HTM: moving burst circular 'every optional'; do
	event-test "$test" || exit 1
done
END
guest pages "$dir/pages.sh" ${DRIVER:+--driver "$DRIVER"} --plugin-arg \
	"sink_log=$dir/pages/sink.log"
ok $? "R58: traced into areas whose pages are known" "$dir/pages/guest.out"
# Addresses have leading zeros on both sides: they compare as strings.
awk -v windows_of="$dir/pages/sink.log" '
$1 == "mapped" { begin = $2; open = nr + 1; next }
$1 == "unmapped" { for (; open <= nr; open++) until[open] = $2; next }
{ pages++ }
$1 == to[nr] && nr >= open { to[nr] = $2; next }
{ from[++nr] = $1; to[nr] = $2; since[nr] = begin }
END {
	while ((getline line <windows_of) > 0) {
		split(line, word, " ")
		if (word[2] == "off") {
			if ((word[1] in last) && word[3] + 0 > last[word[1]] + 0 && !bad++)
				print "enabled when its pages were unmapped: " line
			delete last[word[1]]
		}
		if (word[2] != "window")
			continue
		windows++
		for (i = 1; i <= nr; i++)
			if (word[3] >= from[i] && word[4] <= to[i] && word[6] + 0 >= since[i] + 0 &&
			    word[6] + 0 <= until[i] + 0)
				break;
		if (i > nr && !bad++)
			print "not granted: " line
		last[word[1]] = until[i]
	}
	for (i in last)
		if (!bad++)
			print "never disabled: " i
	printf "%d windows in %d pages, %d outside of those that were mapped then\n", windows, pages, bad
	exit bad || windows < 10
}' "$dir/pages/share/pages" >"$dir/log" 2>&1
ok $? "R58: sinks hold addresses of these pages only, and are disabled before these go: $(tail -n 1 "$dir/log")" "$dir/log"
finish
