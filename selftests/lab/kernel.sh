#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# User space and kernel together, in HTM with implicit return and in BTM without; the kernel alone;
# and all CPUs with everything that runs on them. Branches of each recording are compared, with call
# chains and branch stacks. The kernel's text is that of the running kernel (--kcore).
#
# In make check only the recording of all CPUs is in HTM, and all instructions of the kernel alone
# are compared. make check-all records a task in HTM, too, HTM without implicit return and BTM with
# it, and compares all instructions of user space and kernel.

name=kernel
. "$(dirname "$0")/lib.bash"

least=insns=1000000,traps=1,migrations=1,moves=1,resourcefull=1
# Windows move when half of this is written, so that they do between two context switches, too.
window=16384
# Few ends of chunks: what is left there is short, and a look at it may be late on a busy host.
record="perf --buildid-dir /mnt/debug record --kcore -m ,16M"

everything="$record -a -e ntrace"
cat >"$dir/guest.sh" <<END
cd /mnt; status=0
recording 1
$(more echo "$record -e ntrace/retstack=3/ -o htm-3.data -- forkexec || status=1")
$(together echo "$everything/retstack=3/ -o all.data -- forkexec || status=1")
recording 2; $record -e ntrace/btm,retstack=0/ -o btm-0.data -- signals || status=1
recording 3; $record -e ntrace//k -o kernel.data -- bounce || status=1
recording 4
$(more echo "$everything// -o all.data -- threads || status=1
recording 5; $record -e ntrace/retstack=0/ -o htm-0.data -- signals || status=1
recording 6; $record -e ntrace/btm,retstack=3/ -o btm-3.data -- threads || status=1")
exit \$status
END
recordings="$(more echo htm-3)$(together echo all) btm-0 kernel $(more echo all htm-0 btm-3)"
guest one "$dir/guest.sh" --plugin-arg icnt_bits=14 \
	--driver-arg move_bytes=$((window / 2))
ok $? "recorded in the guest" "$dir/one/guest.out"

n=0
for what in $recordings; do
	n=$((n + 1))
	# so that samples are close behind the first return to user space, where last branches stay
	stacks_period=
	[ $what != kernel ] || stacks_period=97
	later one $n $what s --window $window --require $least,samples=200
	case $what in
	kernel) later one $n $what i --window $window --require $least ;;
	htm-3|btm-0) more later one $n $what i --window $window --require $least ;;
	esac
done
for what in $recordings; do
	result one - $what s
	ok $? "$what: branches, callers, last branches are what ran: $(figures)" "$out" "$err"
done
for what in kernel $(more echo htm-3 btm-0); do
	result one - $what i
	ok $? "$what: instructions are what ran: $(figures)" "$out" "$err"
done
[ $failures != 0 ] || rm -rf "$dir/one"
finish
