#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Address filters: the trace must have exactly the instructions that the filter selects: in files at
# any mapping, in children, in the kernel, and between a start and a stop address. Filters that the
# comparators cannot apply must be refused.
# R33 R34 R35 R36
#
# All instructions are compared. make check-all compares branches of each recording, too, make check
# only of two. make check leaves the machine without comparators to lab/topologies (p550).

name=filter
. "$(dirname "$0")/lib.bash"

cat >"$dir/guest.sh" <<'END'
cd /mnt; status=0
record="perf --buildid-dir /mnt/debug record"
q=$(command -v qsort) f=$(command -v forkexec) t=$(command -v threads)
cat /sys/bus/event_source/devices/ntrace/nr_addr_filters >nr.txt

recording 1; $record -e ntrace/stall/u --filter "filter bits @ $q" -o one.data -- qsort || status=1
recording 2; $record -e ntrace/stall/u --filter "filter up @ $q,filter down @ $q,filter twist @ $q" -o three.data -- qsort || status=1
recording 3; $record -e ntrace//u --filter "start bits @ $q,stop up @ $q" -o latch.data -- qsort || status=1
recording 4; $record -e ntrace//u --filter "stop up @ $q" -o stop.data -- qsort || status=1
recording 5; $record -e ntrace//u --filter "filter main @ $f" -o children.data -- forkexec || status=1
recording 6; $record -a --kcore -e ntrace//k --filter 'filter vfs_write' -o kernel.data -- threads || status=1
recording 7; $record -e ntrace/btm/u --filter "filter main @ $t" -o never.data -- qsort || status=1
recording 8
{
	for n in "filter up @ $q,start bits @ $q" "start bits @ $q,start up @ $q"; do
		$record -e ntrace//u --filter "$n" -o none.data -- true && echo "taken: $n"
	done
	dmesg | grep 'address filters'
} >refused.txt 2>&1
exit $status
END
guest run "$dir/guest.sh"
ok $? "recorded in the guest" "$dir/run/guest.out"
share=$dir/run/share
[ "$(cat "$share/nr.txt")" = 4 ]
ok $? "nr_addr_filters is the number of comparators"

# same NUMBER NAME TEXT LEAST
same()
{
	compare run "$1" "$2" i --require insns="$4"
	ok $? "$2: $3: $(figures)" "$out" "$err"
	more branches "$1" "$2"
}

branches()	# NUMBER NAME
{
	compare run "$1" "$2" b
	ok $? "$2: branches" "$out" "$err"
}

same 1 one "one function" 10000
together branches 1 one
same 2 three "three functions" 10000
same 3 latch "from a place to start to one to stop" 1000
together branches 3 latch
same 4 stop "up to a place to stop" 100
same 5 children "forked children" 50
same 6 kernel "a function of the kernel, on all CPUs" 20
host_perf run script -i "$share/never.data" --itrace=i1i >"$dir/log" 2>&1 && [ ! -s "$dir/log" ]
ok $? "a file that is never mapped: nothing" "$dir/log"
# Nothing but the function: the symbols say so, too.
host_perf run script -i "$share/one.data" --itrace=i1i -F ip,sym 2>/dev/null | awk '{ print $2 }' |
	sort -u >"$dir/log"
[ "$(tr -d ' \n' <"$dir/log")" = bits ]
ok $? "one function is that one" "$dir/log"
for words in 'do not mix' 'one place to start'; do
	grep -q "$words" "$share/refused.txt" && ! grep -q '^taken' "$share/refused.txt"
	ok $? "refused in words: $words" "$share/refused.txt"
done

cat >"$dir/less.sh" <<'END'
cd /mnt
q=$(command -v qsort)
cat /sys/bus/event_source/devices/ntrace/nr_addr_filters
perf record -e ntrace//u --filter "start bits @ $q" -o none.data -- true && echo taken: start
perf record -e ntrace//u --filter "filter bits @ $q" -o none.data -- true && echo taken: filter
dmesg | grep 'address filters'
true
END
guest nolatch "$dir/less.sh" --plugin-arg comp_modes=7
grep -q 'need latching comparators' "$dir/nolatch/guest.out" &&
	grep -q 'taken: filter' "$dir/nolatch/guest.out" &&
	! grep -q 'taken: start' "$dir/nolatch/guest.out"
ok $? "without latches: no start, but ranges" "$dir/nolatch/guest.out"
# One comparator holds a range, or a place to start and one to stop: two filters
cat >"$dir/one.sh" <<'END'
cd /mnt
q=$(command -v qsort)
cat /sys/bus/event_source/devices/ntrace/nr_addr_filters
perf record -e ntrace//u --filter "filter up @ $q,filter down @ $q" -o none.data -- true &&
	echo taken: two ranges
recording 1
perf --buildid-dir /mnt/debug record -e ntrace//u --filter "start bits @ $q,stop up @ $q" \
	-o latch.data -- qsort
END
guest onecomp "$dir/one.sh" --plugin-arg comps=1
[ $? = 0 ] && grep -qx 2 "$dir/onecomp/guest.out" && ! grep -q '^taken' "$dir/onecomp/guest.out"
ok $? "one comparator: a range, or start and stop" "$dir/onecomp/guest.out"
compare onecomp 1 latch i --require insns=1000
ok $? "one comparator: from a place to start to one to stop: $(figures)" "$out" "$err"
without_comparators()
{
	guest nocomps "$dir/less.sh" --plugin-arg comps=0
	grep -qx 0 "$dir/nocomps/guest.out" && ! grep -q '^taken' "$dir/nocomps/guest.out"
	ok $? "without comparators: no address filters" "$dir/nocomps/guest.out"
}
more without_comparators
finish
