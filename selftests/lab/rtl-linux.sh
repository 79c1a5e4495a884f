#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Linux on open RTL: perf records through the registers of an encoder, a funnel and a sink of
# another project. The decoded instructions must be those that the hart retired: user space and
# kernel, a thread and all CPUs, in system memory and in the sink's SRAM, a snapshot, and recordings
# with losses, all of which must be reported. RTL=DIR is the directory of the RTL. groups=all (make
# check-all) records more: 20 million instructions of a program, more of the kernel, and all
# privileges at once.

name=rtl-linux
. "$(dirname "$0")/lib.bash"

need_rtl

# rtl GROUP SCRIPT SHIFT [BOOT OPTION...]: time is instructions, of 2^SHIFT ns, because what is
# traced takes a thousand times as long as what is not
rtl()
{
	local group=$1 script=$2 shift=$3

	shift 3
	smp=1 guest "$group" "$script" --topology rtl --qemu-arg -icount \
		--qemu-arg "shift=$shift,sleep=off" --plugin-arg clock=csr "$@"
}

cat >"$dir/run.sh" <<'END'
cd /mnt; status=0
record="perf --buildid-dir /mnt/debug record"
recording 1; $record -e ntrace//u --per-thread -o thread.data -- signals || status=1
recording 2; $record -m,16M -a -e ntrace//u -o all.data -- forkexec || status=1
# Much trace for so fast a machine: perf reads it when it can.
recording 3; $record -m,16M --kcore -e ntrace//k -o kernel.data -- ${LONG:+syscalls} ${SHORT:+forkexec} || status=1
recording 4; [ -z "$LONG" ] || $record -m,16M --kcore -e ntrace/mmode/ -o every.data -- forkexec || status=1
recording 5; $record -Se -m,1M -e ntrace//u -o snapshot.data -- qsort || status=1
recording 6; [ -z "$LONG" ] || $record -m,16M -e ntrace//u -o user.data -- bounce || status=1
# A reader that is woken by each switch: the encoder tells the next task behind that call of the
# firmware, before the event of the previous one stops.
recording 7; $record -m8,16M --no-buffering --kcore -e ntrace//k -e context-switches -c 1 -o switches.data -- bounce || status=1
recording 8
{
	$record -e ntrace// -o none.data -- true
	$record -e ntrace/stall/u -o none.data -- true
	$record -m,8K -e ntrace//u -o none.data -- true
	dmesg
} >refused.txt 2>&1
cat /sys/kernel/debug/ntrace/bringup >bringup.txt || status=1
exit $status
END
numbers=([1]=thread all kernel [7]=switches)
length=SHORT
if [ "${groups:-}" = all ]; then
	numbers+=([4]=every [6]=user)
	length=LONG
fi
sed -i "1i$length=1" "$dir/run.sh"
rtl run "$dir/run.sh" 3
ok $? "recorded in the guest" "$dir/run/guest.out"

cat >"$dir/sram.sh" <<'END'
cd /mnt; status=0
recording 1; perf --buildid-dir /mnt/debug record -e ntrace//u -o sram.data -- qsort || status=1
recording 2
[ "$(cat /sys/bus/platform/devices/18005000.trace/mode)" = sram ] || status=1
exit $status
END
rtl sram "$dir/sram.sh" 3 --driver-arg sram=1
ok $? "recorded in the sink's own memory" "$dir/sram/guest.out"

# The sink is full, and stops the encoder, before the driver comes to look. An encoder that
# overflows is not here: with rtl_gap=0 this RTL loses messages without a word.
cat >"$dir/lossy.sh" <<'END'
cd /mnt; status=0
recording 1; perf --buildid-dir /mnt/debug record -m,32K -e ntrace//u -o lossy.data -- qsort || status=1
recording 2
exit $status
END
rtl lossy "$dir/lossy.sh" 2
ok $? "recorded what is too much" "$dir/lossy/guest.out"

declare -A least=([user]=insns=20000000)
for n in "${!numbers[@]}"; do
	what=${numbers[n]}
	software=
	[ $what != switches ] || software='-F sw:'
	later run $n $what b --late-owner --require "${least[$what]:-insns=1000000,traps=1}"
done
for what in "${numbers[@]}"; do
	result run - $what b
	ok $? "$what: $(figures)" "$out" "$err"
done

# The encoder's timestamps are not of perf's clock: what is typed first samples by instructions.
host_perf run report -i "$dir/run/share/thread.data" --stdio -g none --no-children -F sample,sym \
	>"$dir/report.out" 2>"$dir/report.err"
awk '/^ +[0-9]/ { n += $1 } END { print n + 0; exit !(n > 1000) }' "$dir/report.out" \
	>"$dir/samples" &&
	grep -q 'trace without times: samples every 1000 instructions' "$dir/report.err"
ok $? "perf report: $(cat "$dir/samples") samples" "$dir/report.out" "$dir/report.err"

# 16 KiB fill before a look comes now and then, and that is reported.
pieces sram 1 sram "all but what is reported" --reported --insns 1000000 --errors 1000
pieces run 5 snapshot "the end is what ran last" --last --insns 100000 --pieces 8 --errors 8
pieces lossy 1 lossy "each loss is reported" --reported --insns 20000 --errors 1000
# On a busy machine perf may come so late that the area is full before the sink ever is.
grep -qE 'the sink was full|AUX buffer full' "$dir/lossy/lossy.txt"
ok $? "losses: $(grep -c 'the sink was full' "$dir/lossy/lossy.txt") of a full sink, $(grep -c \
	'AUX buffer full' "$dir/lossy/lossy.txt") of a full area" "$dir/lossy/lossy.out"

share=$dir/run/share
for words in 'pass one privilege or everything' 'stall' 'needs 16 KiB in one piece'; do
	grep -q -- "$words" "$share/refused.txt"
	ok $? "refused in words: $words" "$share/refused.txt"
done
for words in 'TsCounterLow .* a bus error' 'messages, the first has TCODE 9' \
		'^DIFFERS: the sink does not stop at Limit' \
		'^DIFFERS: a write to WP does not clear Wrap'; do
	grep -q -- "$words" "$share/bringup.txt"
	ok $? "the bring-up report says: $words" "$share/bringup.txt"
done
finish
