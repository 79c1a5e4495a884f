#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Messages that the encoder drops repeatedly, or a full AUX area. Each loss must be reported once,
# where messages were dropped, and nothing else (truthcmp matches them). Decoding must resume where
# trace does. Nothing more may be missing than what the dropped messages would have reported. If
# only one task runs (list s), call chains and branch stacks must not have entries from before a
# loss. Groups that differ from others in one term only are for make check-all.

name=loss
. "$(dirname "$0")/lib.bash"

record="perf --buildid-dir /mnt/debug record"

# group NAME LISTS EVENT WORKLOAD LEAST PLUGINOPTION...
group()
{
	local group=$1 lists=$2 event=$3 workload=$4 least=$5,insns=100000 list more

	shift 5
	# two copies of the kernel and of all its symbols take seconds
	[[ $event == *ntrace/*/u ]] || event="--kcore $event"
	# perf that waits for the host to write its file comes late, and more is lost.
	{
		echo "cd /mnt; recording 1; $record $event -o /tmp/it.data -- $workload &&"
		echo "cp -r /tmp/it.data ."
	} >"$dir/$group.sh"
	guest "$group" "$dir/$group.sh" "$@"
	ok $? "$group: recorded in the guest" "$dir/$group/guest.out"
	for list in $lists; do
		[ $list = s ] && more=,samples=100,whole=80 || more=
		later "$group" 1 it $list --allow-loss --require $least$more
	done
	for list in $lists; do
		result "$group" 1 it $list
		[ $? = 0 ] && [ "$(figure losses)" = $(($(figure drops) + $(figure full))) ]
		ok $? "$group: $list: $(figure percent) % decoded, $(figure drops) drops, $(figure losses) reported, $(figure full) of them of a full buffer, $(figure insns) insns, at most $(figure untold) lost by a message" "$out" "$err"
	done
	[ $failures != 0 ] || rm -rf "${dir:?}/$group"
}

group single "s $(more echo i)" '-e ntrace//u' qsort drops=50,losses=50 --plugin-arg overflow=2000/1
more group many 's i' '-e ntrace/retstack=0/u' recurse drops=20,losses=20 \
	--plugin-arg overflow=3000/300
group btm "b $(more echo i)" '-e ntrace/btm,retstack=0/u' signals drops=50,losses=50 \
	--plugin-arg overflow=2000/7
more group btm-stack 'b i' '-e ntrace/btm,retstack=3/u' forkexec drops=50,losses=50 \
	--plugin-arg overflow=2000/7
more group kernel "b i" '-e ntrace//' signals drops=50,losses=50 --plugin-arg overflow=3000/10
# SRC is in all messages of these encoders, and each has a sink of its own nevertheless. How often
# the area is full depends on when perf comes.
group src "b $(more echo i)" '-m,16K -e ntrace//u' threads insns=1000000 \
	--plugin-arg nostick=te:0x0:0x8000
more group src-kernel b '-m,64K -a -e ntrace//' forkexec insns=1000000 \
	--plugin-arg nostick=te:0x0:0x8000
# One encoder, a funnel, and a sink so small that it is full before the driver comes
smp=1
more group funnel b '-e ntrace//u' qsort insns=1000000 --topology funnel2 --plugin-arg memory=sram \
	--plugin-arg sram=0x1000
group funnel-kernel b '-a -e ntrace//' signals insns=1000000,losses=10 --topology funnel2 \
	--plugin-arg memory=sram --plugin-arg sram=0x1000
finish
