#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Compares profiles with all retired instructions: the output of perf report, with default options
# and with four periods, by function; the same samples by instruction; and perf annotate of the
# hottest function. User space, and with the kernel; with -icount, where time is the number of
# instructions, and in real time.
#	groups=all	each workload, minutes
#	PROGRAMS="qsort loop"	these

name=samples
. "$(dirname "$0")/lib.bash"

all='loop recurse qsort qsort-dynamic syscalls signals threads forkexec faults bounce bigtrace'
few='qsort syscalls'
kernel=signals
[ "${groups:-}" != all ] || few=$all kernel=$all
programs=${PROGRAMS:-$few}
kernel=${PROGRAMS:-$kernel}
periods='default i100us i10us i1us i1000i'
objdump=/usr/bin/riscv64-linux-gnu-objdump

guest_script()
{
	local p n=0 record='perf --buildid-dir /mnt/debug record'

	echo 'cd /mnt; status=0'
	for p in $programs; do
		n=$((n + 1))
		echo "recording $n; $record -e ntrace//u -o $p-user.data -- $p || status=1"
	done
	for p in $kernel; do
		n=$((n + 1))
		echo "recording $n; $record -m ,16M --kcore -e ntrace// -o $p-both.data -- $p || status=1"
	done
	echo 'exit $status'
}

# against PERIOD functions|addresses: $said is what comes out
against()
{
	local status=0

	echo "$group $what $*" >>"$dir/out"
	"$lab/compare-profile" "$dir/$group" "$data" "$@" --segment "$number" --most "$most" \
		>"$dir/verdict" 2>>"$dir/err" || status=$?
	cat "$dir/verdict" >>"$dir/out"
	said=$(sed -n '1s/^[A-Za-z]* tv=\([0-9.]*\) error=\([0-9.]*\) sigma=\([0-9.]*\) .*/\1 (\2+-\3)/p' "$dir/verdict")
	return $status
}

compare_all()	# PROGRAM user|both
{
	local functions='' addresses='' period status=0

	what=$1-$2 data=$dir/$group/share/$1-$2.data
	: >"$dir/out" >"$dir/err"
	for period in $periods; do
		against $period functions || status=1
		functions+=" $period $said"
		[ $period = default ] || against $period addresses || status=1
		[ $period = default ] || addresses+=" $period $said"
	done
	ok $status "$group, $1, $2, by function, in %:$functions" "$dir/out" "$dir/err"
	echo "# by instruction:$addresses"
}

# The percentages that perf annotate prints for the function with the most instructions
annotate()	# PROGRAM NUMBER
{
	local top range n status=0

	data=$dir/$group/share/$1-user.data
	: >"$dir/err"
	top=$(host_perf "$group" report --stdio --no-children -g none -i "$data" 2>>"$dir/err" |
		awk '/^ +[0-9.]+%/ { print $NF; exit }')
	host_perf "$group" annotate --stdio --objdump=$objdump -i "$data" -s "$top" 2>>"$dir/err" |
		awk '$1 ~ /^[0-9.]+$/ && $2 == ":" && $3 ~ /^[0-9a-f]+:$/ { sub(":", "", $3); print $1, $3 }' >"$dir/shares"
	range=$(awk 'NR == 1 { print "0x" $2 } END { print "0x" $2 }' "$dir/shares")
	n=$(host_perf "$group" script --itrace=i100us -F ip -i "$data" 2>>"$dir/err" |
		while read -r ip; do
			[ $((0x$ip >= ${range%[[:space:]]*} && 0x$ip <= ${range#*[[:space:]]})) = \
				0 ] || echo
		done | wc -l)
	"$lab/enter" "$build/host/truthtv" $("$lab/truths" "$dir/$group") --segment "$2" \
		--most "$most" \
		--samples "$n" --within <"$dir/shares" >"$dir/out" 2>>"$dir/err" || status=$?
	said=$(sed -n '1s/^[A-Za-z]* tv=\([0-9.]*\) error=\([0-9.]*\) sigma=\([0-9.]*\) .*/\1 (\2+-\3)/p' "$dir/out")
	ok $status "$group, $1: annotate $top, $(wc -l <"$dir/shares") instructions, in %: $said" \
		"$dir/out" "$dir/err"
}

# one_group NAME MOST BOOT-OPTION...
one_group()
{
	local p number=0 said='' what data

	group=$1 most=$2
	shift 2
	guest_script >"$dir/$group.sh"
	guest "$group" "$dir/$group.sh" "$@"
	ok $? "$group: recorded in the guest" "$dir/$group/guest.out"
	for p in $programs; do
		number=$((number + 1))
		compare_all $p user
	done
	for p in $kernel; do
		number=$((number + 1))
		compare_all $p both
	done
	annotate "${programs%% *}" 1
	[ $failures != 0 ] || rm -rf "${dir:?}/$group"
}

# one hart: its clock, read from the CSR, is then the instructions that it retired
one_group icount 2 --smp 1 --qemu-arg -icount --qemu-arg shift=0,sleep=off --plugin-arg clock=csr
one_group host 5
finish
