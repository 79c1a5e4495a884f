# SPDX-License-Identifier: GPL-2.0-only
# What the lab's tests share: TAP, recording in a guest, comparing on the host.
# Sourced, with $name set to the test's own name.

. "${BASH_SOURCE[0]%/*}/../contain.sh"
contain --always "$@"
set -Euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
lab=$top/selftests/qemu/lab
build=$top/build
dir=$build/check/$name
smp=${smp:-2}

count=0 failures=0
ok()	# STATUS DESCRIPTION [FILE...]: files are shown when it failed
{
	local status=$1 text=$2 f

	shift 2
	count=$((count + 1))
	if [ "$status" = 0 ]; then
		echo "ok $count - $text"
		return
	fi
	failures=$((failures + 1))
	echo "not ok $count - $text"
	for f; do
		[ ! -s "$f" ] || ends "$f" | cut -c1-200 | sed 's/^#* */#   /'
	done
}

# ends FILE: its first lines and its last
ends()
{
	awk 'NR <= 20 { print; next }
		{ last[NR % 25] = $0 }
		END {
			if (NR > 45)
				print "[...]"
			for (i = NR > 45 ? NR - 24 : 21; i <= NR; i++)
				print last[i % 25]
		}' "$1"
}

# more COMMAND...: what only make check-all runs
more()
{
	[ "${groups:-}" != all ] || "$@"
}

# together COMMAND...: what only make check runs: several cases on one machine, or one that is
# shorter, where make check-all has each case in full
together()
{
	[ "${groups:-}" = all ] || "$@"
}

finish()
{
	echo "1..$count"
	[ $failures = 0 ]
	exit
}

. "$lab/trees.sh"
delete_tree "$dir" || exit
mkdir -p "$dir"

# need_rtl: the open RTL is built, or this test ends here
need_rtl()
{
	local why

	why=$("$lab/build-rtl")
	case $? in
	0)	;;
	4)	echo "1..0 # SKIP $why"
		exit 4 ;;
	*)	ok 1 "the RTL builds" "$build/rtl/build.log"
		finish ;;
	esac
}

# guest GROUP SCRIPT [BOOT OPTION...]: boot, run, leave everything in $dir/GROUP:
# truth.N.zst, share/ (the guest's /mnt), console.log, guest.out
guest()
{
	local group=$dir/$1 script=$2 status=0
	shift 2

	mkdir -p "$group/share"
	"$lab/boot" --smp "$smp" --share "$group/share" --log "$group/console.log" \
		--plugin-arg "truth=|zstd -q -1 -f -o $group/truth.%d.zst" \
		"$@" --run "$script" >"$group/guest.out" 2>&1 </dev/null || status=$?
	return $status
}

# From now on enter uses one namespace, instead of a new one for each command. The process ends with
# this test.
lab_inside()
{
	[ ! -e "$build/rootfs/.stamp" ] ||
		LAB_INSIDE=$("$lab/enter" sh -c 'sleep infinity </dev/null >/dev/null 2>&1 & echo $!')
	export LAB_INSIDE
}
lab_inside

# other_tree TREE DIRECTORY COMMAND...: in another tree than the rootfs, where DIRECTORY is /mnt
other_tree()
{
	unshare --mount --propagation private "$BASH" -euc '
		tree=$1 dir=$2
		shift 2
		mount --rbind /dev "$tree/dev"
		mount -t proc proc "$tree/proc"
		mount -t tmpfs tmpfs "$tree/tmp"
		mount --rbind "$dir" "$tree/mnt"
		exec env -i HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
			PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot "$tree" "$@"
	' other_tree "$@"
}

# perf for the host, in the rootfs that it was made for. A pipe has room for 64 KiB, and by itself
# perf writes 4 of them at a time: buffered=1 for long lists, whose errors go elsewhere.
host_perf()	# GROUP ARGUMENT...
{
	local group=$dir/$1
	shift
	"$lab/enter" ${buffered:+stdbuf -o256K} "$build/perf-x86_64/perf" --buildid-dir \
		"$group/share/debug" "$@"
}

# Only what truthcmp counts: windows, and messages that overflowed counters
dump()	# GROUPDIRECTORY NAME
{
	local group=$1 what=$2

	{
		flock 9
		[ -s "$group/$what.dump" ] || host_perf "${group##*/}" report -D \
			-i "$group/share/$what.data" 2>"$group/$what.dump.err" |
			grep -a -e PERF_RECORD_AUX -e ResourceFull >"$group/$what.dump"
	} 9>"$group/$what.lock"
}

# compare GROUP NUMBER NAME i|b|s [TRUTHCMP OPTION...]: decode share/NAME.data, compare its
# instructions, branches, or branches with samples among them, with recording NUMBER. $verdict is
# truthcmp's first line; its output, and perf's words, are in $out and $err. software="-F sw:"
# leaves out what software events recorded beside the trace; stacks_period=N is another number of
# instructions between two samples.
compare()
{
	# a period that is prime, and nothing's own
	local every=${stacks_period:-4999}
	local group=$dir/$1 number=$2 what=$3 list=$4 fields=cpu,tid,event,ip itrace=i1ie status=0
	shift 4

	[ "$list" = i ] || { itrace=be fields+=,addr,flags; set -- --branches --types "$@"; }
	# "exact": at which instruction each sample is follows from the period alone
	[ "$list" != s ] || {
		itrace+=i${every}ig1024l64 fields+=,brstack
		set -- --stacks 1024,64,$every "$@"
	}
	out=$group/$what.$list.out err=$group/$what.$list.err
	dump "$group" "$what" || status=$?
	# what perf says of a file that is not there, and so on, must not look like an empty trace
	[ $status = 0 ] && "$lab/enter" bash -o pipefail -c '
		perf=$1 truthcmp=$2 fields=$3 itrace=$4 data=$5
		export PERF_CONFIG=$6 software=$7
		shift 7
		# as buffered=1 of host_perf
		stdbuf -o256K "$perf" --buildid-dir "${data%/*}/debug" script -i "$data" \
			--itrace="$itrace" -F "$fields" $software | "$truthcmp" "$@"' compare \
			"$build/perf-x86_64/perf" \
		"$build/host/truthcmp" "$fields" "$itrace" "$group/share/$what.data" \
		"${perf_config:-selftests/lab/exact.perfconfig}" "${software:-}" \
		--segment "$number" --tid --dump "$group/$what.dump" \
		$("$lab/truths" "$group") "$@" >"$out" 2>"$err" || status=$?
	verdict=$(head -n 1 "$out" 2>/dev/null)
	return $status
}

# own_branches N: of lines "TID TIME IP ENTRY..." the newest N entries that are branches, as perf
# inject writes them: where trace ended and went on is none of the program's. False if all are.
own_branches()
{
	awk -v most="$1" '{
			line = $1 " " $2 " " $3
			for (i = 4; i <= NF && n[NR] < most; i++)
				if ($i ~ /^0x0\// || $i ~ /\/0x0(\/|$)/) gone++
				else { line = line " " $i; n[NR]++ }
			print line
		}
		END { exit !gone }'
}

# later ARGUMENT...: compare with these arguments in the background, one for each processor;
# result ARGUMENT...: wait for that one, then it is as if compare had been called
later()
{
	while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do
		wait -n || :
	done
	{
		compare "$@" && echo 0 >"$out.status" || echo $? >"$out.status"
	} &
}

result()
{
	out=$dir/$1/$3.$4.out err=$dir/$1/$3.$4.err
	while [ ! -s "$out.status" ] && [ -n "$(jobs -rp)" ]; do
		wait -n || :
	done
	verdict=$(head -n 1 "$out" 2>/dev/null)
	return "$(cat "$out.status" 2>/dev/null || echo 2)"
}

# pieces GROUP NUMBER NAME TEXT TRUTHPART-OPTION...: what is decoded of share/NAME.data is part of
# recording NUMBER
pieces()
{
	local group=$1 number=$2 what=$3 text=$4 status=0
	local list=$dir/$1/$3.txt out=$dir/$1/$3.out err=$dir/$1/$3.err

	shift 4
	buffered=1 host_perf "$group" script -i "$dir/$group/share/$what.data" --itrace=i1ie \
		-F cpu,tid,event,ip >"$list" 2>"$err" || status=$?
	# a sample has the trace before it in one piece
	! grep -q cpu-clock "$list" || set -- "$@" --pieces "$(grep -c cpu-clock "$list")"
	# shellcheck disable=SC2046
	[ $status != 0 ] || grep -v cpu-clock "$list" | "$lab/enter" "$build/host/truthpart" \
		--segment "$number" $("$lab/truths" "$dir/$group") "$@" >"$out" 2>>"$err" ||
		status=$?
	ok $status "$what: $text: $(tail -n 1 "$out")" "$out" "$err"
}

figure()	# NAME: of the last verdict
{
	tr ' ' '\n' <<<"$verdict" | sed -n "s/^$1=//p"
}

# The short story of the last verdict, for a TAP line
figures()
{
	local n text=

	[[ $verdict == equal* ]] || { echo no; return; }
	for n in insns branches traps migrations windows moves resourcefull samples; do
		[ "$(figure $n)" = 0 ] || text+="$(figure $n) $n, "
	done
	printf '%s%s bytes, %.3f bits/insn' "$text" "$(figure bytes)" "$(figure bits)"
}
