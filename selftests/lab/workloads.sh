#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# All workloads: perf must decode the branches of all retired instructions, from the first to the
# last. All samples must have the call chain and the branch stack that follow from the instructions
# of their task. The workloads run in HTM with implicit return, two of them are also compared
# instruction by instruction, and some run in BTM without implicit return. make check-all runs all
# of them in BTM, in HTM without implicit return and in BTM with it, and compares all by
# instructions. Each mode needs one boot.
# PROGRAMS="loop qsort" MODES=htm-0 selects workloads and modes.

name=workloads
. "$(dirname "$0")/lib.bash"

all=${PROGRAMS:-loop recurse qsort qsort-dynamic syscalls signals threads forkexec faults bounce bigtrace}
few='qsort signals threads faults bigtrace'
[ -z "${PROGRAMS:-}" ] && [ "${groups:-}" != all ] || few=$all
least=insns=1000000,traps=1,migrations=1,moves=1,resourcefull=1
# Windows move when half of this is written, so that they do between two context switches, too.
window=4096
total=0
declare -A words=([s]='branches, callers, last branches' [i]=instructions)

terms()		# MODE RETSTACK
{
	[ "$1" = htm ] && echo "ntrace/retstack=$2/u" || echo "ntrace/btm,retstack=$2/u"
}

# The last window of a chunk of the AUX area may be full before the driver polls: record few chunks.
record="perf --buildid-dir /mnt/debug record -m ,16M"

guest_script()	# TERMS GROUP
{
	local p n=0

	echo 'cd /mnt; status=0'
	for p in $programs; do
		n=$((n + 1))
		echo "recording $n"
		echo "$record -e $1 -o $p.data -- $p || status=1"
	done
	[ "$2" != htm-3 ] || busy_script "$1" $((n + 1))
	echo 'exit $status'
}

# Another process of the same program, and one that is on each CPU by turns, while it is traced
busy_script()	# TERMS NUMBER
{
	cat <<-END
	threads 100000 >/dev/null & same=\$!
	bounce 100000 >/dev/null & other=\$!
	ticks() { awk '{ print \$14 + \$15 }' /proc/\$1/stat; }
	before="\$(ticks \$same) \$(ticks \$other)"
	recording $2
	$record -e $1 -o busy.data -- threads || status=1
	echo \$before \$(ticks \$same) \$(ticks \$other) >busy.txt
	kill \$same \$other
	END
}

lists()		# GROUP PROGRAM
{
	case $1-$2 in
	htm-3-signals|htm-3-bounce) echo s i ;;
	htm-3-*|btm-0-*) echo s $(more echo i) ;;
	*) echo s ;;
	esac
}

one_mode()	# MODE RETSTACK
{
	local group=$1-$2 p list more insns n=0 programs=$all

	[ "$group" != btm-0 ] || programs=$few
	guest_script "$(terms "$1" "$2")" "$group" >"$dir/$group.sh"
	# so that the straight code of the workloads overflows the counter also in BTM
	guest "$group" "$dir/$group.sh" --plugin-arg icnt_bits=14 \
		--driver-arg move_bytes=$((window / 2))
	ok $? "$group: recorded in the guest" "$dir/$group/guest.out"
	for p in $programs; do
		n=$((n + 1))
		for list in $(lists "$group" $p); do
			[ $list = i ] && more= || more=,samples=200
			later "$group" $n $p $list --window $window --require $least$more
		done
	done
	# it is seldom on a hart for as long as it takes to fill a window
	[ "$group" != htm-3 ] || later "$group" $((n + 1)) busy s --window $window \
		--require insns=1000000,traps=1,migrations=1,samples=200
	for p in $programs; do
		for list in $(lists "$group" $p); do
			result "$group" - $p $list
			ok $? "$group: $p: ${words[$list]} are what ran: $(figures)" "$out" "$err"
			insns=$(figure insns)
			[ $list = i ] || total=$((total + ${insns:-0}))
		done
	done
	[ "$group" != htm-3 ] || busy "$group"
	[ $failures != 0 ] || rm -rf "${dir:?}/$group"
}

# The threads of the one that was traced, and no other task; the others ran, too, meanwhile
busy()		# GROUP
{
	local ticks

	result "$1" - busy s && [ "$(figure tasks)" = 5 ]
	ok $? "$1: busy: nothing of others: $(figure tasks) tasks, $(figure windows) windows: $(figures)" "$out" "$err"
	ticks=$(awk '{ print $3 - $1, $4 - $2 }' "$dir/$1/share/busy.txt")
	[ "${ticks% *}" -ge 5 ] && [ "${ticks#* }" -ge 5 ]
	ok $? "$1: busy: the others ran meanwhile, ticks: $ticks"
}

modes=${MODES:-htm-3 btm-0 $(more echo htm-0 btm-3)}
for mode in $modes; do
	one_mode "${mode%-*}" "${mode#*-}"
done

if [ -z "${MODES:-}${PROGRAMS:-}" ]; then
	[ "$total" -ge 10000000 ]
	ok $? "$total instructions in all"
fi
finish
