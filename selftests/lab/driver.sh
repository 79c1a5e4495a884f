#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The driver on hardware that is incomplete, foreign, different, slow or broken. It must name what
# it cannot use, use everything else, and never hang. make check tests one machine of each kind,
# groups=all (make check-all) the others, too.

name=driver
. "$(dirname "$0")/lib.bash"

complaints=0

# in_guest SCRIPTTEXT BOOTOPTION...: leaves $status, $dir/out, $dir/err
in_guest()
{
	{
		# what perf collects of the machine's files says nothing of the driver
		echo 'printf "[record]\n\tbuild-id = skip\n" >>~/.perfconfig'
		echo "$1"
		echo 'status=$?'
		echo 'dmesg | grep -i "ntrace" >&2'
		echo 'exit $status'
	} >"$dir/script"
	shift
	status=0
	"$lab/boot" --share "$dir/share" --log "$dir/console.log" "$@" \
		--run "$dir/script" >"$dir/out" 2>"$dir/err" </dev/null || status=$?
	[ $status != 126 ] || { complaints=$((complaints + 1)); sed 's/^/# /' "$dir/err" |
		head -n 60; }
}

check()		# DESCRIPTION CONDITION...
{
	local what=$1 status=0

	shift
	"$@" || status=$?
	ok $status "$what" "$dir/err"
}

says()		# WORDS
{
	grep -q -- "$1" "$dir/err"
}

answers()	# WORDS
{
	grep -q -- "$1" "$dir/out"
}

# What is refused, and by which words. The module must unload whatever happened.
record='perf record -q -e ntrace//u -C 0 -o /tmp/0 -- taskset -c 0 true && echo cpu0
perf record -q -e ntrace//u -C 1 -o /tmp/1 -- taskset -c 1 true && echo cpu1
perf record -q -e ntrace//u -o /tmp/t -- true && echo task
rmmod ntrace && echo unloaded'

# The CPU that is hart 0, the one with the fault: the firmware boots on whichever comes first.
faulty_cpu()
{
	awk '$2 == 0 { print $1 }' "$dir/console.harts"
}

refused()	# DESCRIPTION WORDS BOOTOPTION...
{
	local what=$1 words=$2

	shift 2
	in_guest "$record" "$@"
	check "$what: told" says "$words"
	check "$what: cannot be traced" eval '! answers cpu$(faulty_cpu)'
	check "$what: unloads" answers unloaded
}

refused "no sink" "trace encoder at 0x00000000bf000000: no sink reachable" --without sink0
check "no sink: the other CPU works" answers cpu$((1 - $(faulty_cpu)))
check "no sink: a task is traced on the other CPU" answers task
more refused "no encoder" "CPU [01] cannot be traced" --without encoder0
more check "no encoder: the other CPU works" answers cpu$((1 - $(faulty_cpu)))
more refused "R18: an E-Trace encoder" "bf000000 is an E-Trace encoder" --plugin-arg format=0
more refused "R7: version 0" "bf000000: version 0.0 is not supported (Impl 0x00010100)" \
	--plugin-arg impl=0x00010100
more refused "R7: version 2" "bf000000: version 2.0 is not supported (Impl 0x00010102)" \
	--plugin-arg impl=0x00010102
more refused "R19: another protocol" "N-Trace protocol 2.0 is not supported" \
	--plugin-arg impl=0x00020101
more refused "R6: a PIB sink" "trace PIB sink at 0x00000000bf001000 is not supported (Impl 0x00000a01)" \
	--plugin-arg sink_impl=0x00000a01
more check "a PIB sink: the encoder names it" says \
	"leads to /soc/trace@bf001000, which is no trace component"
more refused "a sink without memory" "has neither SMEM nor SRAM mode" \
	--plugin-arg sink_impl=0x00000901

# A sink that loses bits of its window's addresses would write to memory that is not the trace's.
refused "R46: a sink whose Start loses a bit" \
	"trace RAM sink at 0x00000000bf001000: trRamStart does not keep addresses (0xffffffff7ffffffc of all ones)" \
	--plugin-arg nostick=sink:0x10:0x80000000
more refused "R46: a sink whose Limit loses a bit" \
	"trace RAM sink at 0x00000000bf001000: trRamLimit does not keep addresses (0xfffffffdfffffffc of all ones)" \
	--plugin-arg nostick=sink:0x1c:0x2
more refused "a sink whose WP loses a bit" \
	"trace RAM sink at 0x00000000bf001000: trRamWP does not keep addresses (0xffffffffffeffffc of all ones)" \
	--plugin-arg nostick=sink:0x20:0x00100000

# not_kept REGISTER OFFSET MASK: what probing cannot know: these bits are 1 for some addresses. The
# sink is not switched on.
not_kept()
{
	in_guest "$record" --plugin-arg "stick=sink:$2:$3" --plugin-arg "sink_log=$dir/sinks"
	check "$1 is not as it was written: told" \
		says "trace RAM sink at 0x00000000bf001000: timed out waiting for $1 to be kept, its register reads 0x"
	check "$1 is not as it was written: nothing is written" eval \
		'[ -e "$dir/sinks" ] && ! grep -q "^sink. " "$dir/sinks"'
	check "$1 is not as it was written: unloads" answers unloaded
}

# memory is from 2 to 3 GiB
not_kept trRamWPLow 0x20 0x40000000
more not_kept trRamLimitHigh 0x1c 0x1

# What goes wrong while it is used: a message with name, address and register, no hang
broken()	# DESCRIPTION WORDS BOOTOPTION...
{
	local what=$1 words=$2

	shift 2
	in_guest "$record" "$@"
	check "$what: told" says "$words"
	check "$what: nothing is left on" eval '! says "trRam.* to be kept"'
	check "$what: unloads" answers unloaded
}

# The failed encoder of CPU 0 belongs to the event that is open, until that is closed.
alone=$record record='event-test "what has failed"
'$record
broken "R15: an encoder that never empties" \
	"encoder at .*: timed out waiting for Enable=0 and Empty=1, its register reads 0x" \
	--plugin-arg empty=never
record=$alone
check "an encoder that failed is not reset under an event" eval \
	'answers "^ok 1 - what has failed" && ! answers SKIP'
more broken "R15: a sink that never empties" \
	"RAM sink at .*: timed out waiting for Enable=0 and Empty=1" \
	--plugin-arg sink_empty=never
more broken "an encoder that is never enabled" "encoder at .*: timed out waiting for Enable=1" \
	--plugin-arg enable=never
more broken "a component that never wakes up" "timed out waiting for Active=1" \
	--plugin-arg active=never

record='event-test "counter of calls"'
in_guest "$record" --plugin-arg retstack_modes=0xb
check "a counter of calls is for tasks and for user space" eval \
	'answers "^ok 1 - a counter of calls" && ! answers SKIP'
record=$alone

# Nothing is traced then, and the recording says so.
untraced()	# DESCRIPTION BOOTOPTION...
{
	local what=$1

	shift
	in_guest 'perf record -q -e ntrace//u -C 0 -o /tmp/0 -- taskset -c 0 true
perf script -i /tmp/0 --itrace=e 2>&1' "$@"
	check "$what: perf says that trace is lost" answers "trace lost"
}
more untraced "an encoder that is never enabled" --plugin-arg enable=never
more untraced "a sink that is never enabled" --plugin-arg sink_enable=never

# On the way to a sink that both share, either CPU may be the one that finds out.
shared()	# DESCRIPTION WORDS BOOTOPTION...
{
	broken "$@" --topology funnel2
}

shared "R15: a funnel that never empties" \
	"trace funnel at 0x00000000bf080000: timed out waiting for Enable=0 and Empty=1, its register reads 0x" \
	--plugin-arg funnel_empty=never
more shared "a funnel that is never enabled" \
	"trace funnel at 0x00000000bf080000: timed out waiting for Enable=1" \
	--plugin-arg funnel_enable=never
more shared "a funnel that never wakes up" \
	"trace component at 0x00000000bf080000: timed out waiting for Active=1" \
	--plugin-arg funnel_active=never
more shared "a shared sink that never empties" \
	"trace RAM sink at 0x00000000bf001000: timed out waiting for Enable=0 and Empty=1" \
	--plugin-arg sink_empty=never
more broken "an SRAM that never empties" \
	"trace RAM sink at .*: timed out waiting for Enable=0 and Empty=1" \
	--topology sram --plugin-arg sink_empty=never
more broken "R57: an SRAM that cannot be read" "trace RAM sink at .*: its SRAM cannot be read" \
	--topology sram --plugin-arg nostick=sink:0x28:0xffffffff
more broken "a sink that is never enabled" "trace RAM sink at .*: timed out waiting for Enable=1" \
	--plugin-arg sink_enable=never
more broken "a sink that never wakes up" \
	"trace component at 0x00000000bf001000: timed out waiting for Active=1" \
	--plugin-arg sink_active=never
more broken "an encoder that switches itself off" \
	"trace encoder at 0x00000000bf000000: timed out waiting for Enable to stay 1, its register reads 0x" \
	--plugin-arg drop_enable=encoder0:5
# stray WHAT OPTIONS TOPOLOGY BOOTOPTION...: a write pointer outside of the window says nothing of
# what is in there, and that the sink wrote elsewhere. The program runs on each CPU, whichever has
# this sink.
stray()
{
	local what="$1: a write pointer outside of its window" options=$2

	shift 2
	in_guest "perf record -q $options -e ntrace//u -o /tmp/s -- sh -c 'for c in \$(seq 0 \$((\$(nproc) - 1))); do
	taskset -c \$c sh -c \"for i in \\\$(seq 20); do sleep 0.01; done\"
done' >/dev/null 2>&1
perf report -i /tmp/s -D 2>&1 >/dev/null | grep 'AUX data had gaps'
$record" --topology "$@" --plugin-arg stray=sink0:40
	check "$what: told" \
		says "trace RAM sink at 0x00000000bf001000: timed out waiting for trRamWP to stay inside the window, its register reads 0x"
	check "$what: flagged" answers "AUX data had gaps in it"
	check "$what: works after a reset" answers task
	check "$what: unloads" answers unloaded
}
stray direct "" per-hart
more stray circular "-Se -m,64K" per-hart
more stray shared "" funnel2
more stray "shared, one hart" "" funnel2 --smp 1
more stray copied "" sram

more broken "a sink that switches itself off" "taints kernel" --plugin-arg drop_enable=sink0:5
more check "a sink that switches itself off: its trace is taken all the same" answers task
more shared "a funnel that switches itself off" "taints kernel" --plugin-arg drop_enable=funnel0:5
more check "a funnel that switches itself off: others go on" answers task
more broken "an encoder whose timestamps do not stick" "taints kernel" \
	--plugin-arg nostick=te:0x40:0x8000
more check "an encoder whose timestamps do not stick: the CPUs are traced without" answers task

# Something that has fallen off its bus: all registers read ones, at some point between probe and
# use
dead()		# TOPOLOGY COMPONENT TYPE ADDRESS ACCESSES
{
	local script=$record

	# more accesses than a probe needs
	[ "$3" != encoder ] || script="perf record -q -e ntrace//u -o /tmp/t -- sh -c 'for i in \$(seq 20); do sleep 0.01; done'
$record"
	in_guest "$script" --topology "$1" --plugin-arg "ones=$2:$5"
	check "$1: $2 whose registers become ones: told" \
		says "trace $3 at 0x00000000$4: timed out waiting for .*, its register reads 0xffffffff"
	check "$1: $2 whose registers become ones: unloads" answers unloaded
}

dead per-hart encoder0 encoder bf000000 250
more dead per-hart sink0 'RAM sink' bf001000 40
more dead funnel2 funnel0 funnel bf080000 24
more dead funnel2 sink0 'RAM sink' bf001000 40
more dead sram sink0 'RAM sink' bf001000 40

# A bridge is used by its name only
# Only hart 0 reaches it. The firmware starts either hart first, and that one is CPU 0.
record_bridge='cpu=$(awk "/^processor/ { cpu = \$3 } /^hart\t+: 0\$/ { print cpu }" /proc/cpuinfo)
perf record -q -e ntrace/@bf090000.trace/u -C "$cpu" -o /tmp/0 -- taskset -c "$cpu" true
perf record -q -e ntrace//u -o /tmp/t -- true && echo task
cat /sys/bus/platform/devices/bf090000.trace/far_end
echo 0x70 >/sys/bus/platform/devices/bf090000.trace/atid || echo refused
rmmod ntrace && echo unloaded'
bridge()	# DESCRIPTION WORDS BOOTOPTION...
{
	local record=$record_bridge

	broken "$@" --topology atb
}

bridge "a bridge" "taints kernel"
check "a bridge: the CoreSight component behind it is named" answers /soc/tmc@bf0a0000
check "R62: a bridge: an ID that the bus reserves is refused" answers refused
check "a bridge: others end in their sinks" answers task
more bridge "a bridge that never empties" \
	"trace ATB bridge at 0x00000000bf090000: timed out waiting for Enable=0 and Empty=1" \
	--plugin-arg bridge_empty=never
more bridge "a bridge that is never enabled" \
	"trace ATB bridge at 0x00000000bf090000: timed out waiting for Enable=1" \
	--plugin-arg bridge_enable=never
more bridge "a bridge that never wakes up" \
	"trace component at 0x00000000bf090000: timed out waiting for Active=1" \
	--plugin-arg bridge_active=never
more bridge "a bridge that keeps no ID" "trace ATB bridge at 0x00000000bf090000 does not keep an ID" \
	--plugin-arg nostick=bridge:0:0x7f00

# Sources of time: which is found, and whether it is the kernel's clock
clock()		# DESCRIPTION MODE PRESCALE WIDTH CLOCK BOOTOPTION...
{
	local what=$1 want="ts_mode $2 ts_prescale $3 ts_width $4 ts_clock $5"

	shift 5
	in_guest 'cd /sys/bus/event_source/devices/ntrace/cpu0
for f in ts_mode ts_prescale ts_width ts_clock; do echo $f $(cat $f); done | xargs
event-test "every optional field"' "$@"
	check "$what: $want" answers "^$want\$"
	check "$what: recorded" [ "$status" = 0 ]
}

more clock "time of an external source" 1 0 56 time --plugin-arg ts_modes=0x02
more clock "time of the hart's own clock" 3 0 56 none --plugin-arg ts_modes=0x08
more clock "R39 R40 R41: time of 40 bits, divided by 16" 2 2 40 time --plugin-arg ts_width=40 \
	--plugin-arg ts_prescale=2 --plugin-arg ts_prescale_min=2
more clock "time of a unit that leaves reset late" 2 0 56 time --plugin-arg ts_active=20
more clock "no time of a unit that stays in reset" 0 0 0 none --plugin-arg ts_active=never
more clock "time that encoders share, of a funnel that divides it by 64" 4 3 56 time \
	--topology funnel2 \
	--plugin-arg funnel_ts_prescale_min=3

# What is different but good: the whole of the guest's test
good()		# DESCRIPTION BOOTOPTION...
{
	local what=$1

	shift
	in_guest event-test "$@"
	# the tests that failed, before what the kernel said
	grep '^not ok' "$dir/out" | cat - "$dir/err" >"$dir/why"
	mv "$dir/why" "$dir/err"
	check "$what" [ "$status" = 0 ]
}

more good "slow hardware" --plugin-arg flush_polls=50 --plugin-arg active_polls=20 \
	--plugin-arg enable_polls=20
more good "an encoder that keeps what its sink does not take" --plugin-arg fifo_stuck=on
more good "R59: 32-bit addresses, 64 bytes at a time" --plugin-arg addrbits=32 --plugin-arg width=64

# How long a wait may take is counted in what the hardware needs, 200 reads of a register: no time
# at all is less, a minute is more. The driver is loaded with it, and it can be changed.
in_guest 'timeout_us=/sys/module/ntrace/parameters/timeout_us
told() { dmesg | grep -c "timed out waiting for"; }
traced() { perf record -q -e ntrace//u -C 0 -o /tmp/0 -- taskset -c 0 true; }
[ "$(cat $timeout_us)" = 60000000 ] && traced && [ "$(told)" = 0 ] && echo loaded with a minute
echo 0 >$timeout_us && traced
[ "$(told)" -gt 0 ] && echo changed to nothing
before=$(told)
echo 60000000 >$timeout_us && traced && [ "$(told)" = "$before" ] && echo changed to a minute
rmmod ntrace && insmod $DRIVER timeout_us=0
[ "$(cat $timeout_us)" = 0 ] && [ "$(told)" -gt "$before" ] && echo loaded with nothing
[ ! -e /sys/bus/event_source/devices/ntrace/cpu0 ] && echo without a CPU' \
	--driver-arg timeout_us=60000000 \
	--plugin-arg active=200 --plugin-arg enable=200 --plugin-arg empty=200
for way in "loaded with a minute" "changed to nothing" "changed to a minute" "loaded with nothing" \
	"without a CPU"; do
	check "timeout_us is how long the driver waits: $way" answers "^$way\$"
done

# What a sink can do is in sysfs
sink()		# ADDRESS_BITS WRITE_WIDTH BOOTOPTION...
{
	local want="address_bits $1 write_width $2"

	shift 2
	in_guest 'cd /sys/bus/platform/drivers/ntrace
for sink in $(ls /sys/bus/event_source/devices/ntrace/sinks); do
	for f in address_bits write_width; do echo $f $(cat $sink/$f); done | xargs
done | sort -u' "$@"
	check "sysfs of the sinks: $want" answers "^$want\$"
}

more sink 64 4
more sink 32 8 --plugin-arg addrbits=32 --plugin-arg width=8
more in_guest "$record" --plugin-arg nostick=sink:0x14:0xffffffff \
	--plugin-arg nostick=sink:0x24:0xfffffff0
more check "a sink with fewer bits in Start and WP than in Limit: what it reaches is used" eval \
	'answers cpu0 && answers cpu1 && ! says "timed out"'
# K13: a window that filled up leaves a Wrap that only a reset clears
in_guest 'for i in 1 2 3; do
	perf record -q -e ntrace//u -m,8 -C 0 -o /tmp/0 -- taskset -c 0 bigtrace 50 || exit
	perf report -D -i /tmp/0 2>/dev/null | sed -n "s/.*PERF_RECORD_AUX .*size: 0x[1-9a-f][0-9a-f]* flags: //p" | sort | uniq -c
done' --topology careful
check "a Wrap that only a reset clears: traced again and again" eval \
	'[ "$status" = 0 ] && ! says "to be kept"'
check "a Wrap that only a reset clears: windows were full" eval 'grep -q 0x4 "$dir/out"'
more good "a later minor version" --plugin-arg impl=0x00010121
more check "R8: a later minor version: told" says "version 1.2 is newer than 1.0"
good "two harts, a funnel, one sink" --topology funnel2
# A tracepoint that the driver passes, an event of the same group, asks for a sample while the
# driver stops the encoder and the sink.
in_guest 'perf record -q -m 1M,64K -e "{ntrace//,dma:dma_sync_single_for_cpu}" --aux-sample=4096 \
	-o /tmp/s -- qsort && perf report -D -i /tmp/s 2>/dev/null | grep -c PERF_RECORD_SAMPLE |
	sed "s/^/samples /"' --topology noncoherent-own
check "a sample from within the driver: nothing is switched on by it" eval \
	'[ "$status" = 0 ] && answers "samples [1-9]" && ! says WARNING'
# Two sinks. The clock that all encoders share is in a funnel, and no path to a hart's own sink
# leads through the funnel.
in_guest 'event-test "one sink at a time"
cat /sys/bus/event_source/devices/ntrace/cpu0/ts_clock | sed "s/^/clock /"
perf record -q -e ntrace//u -o /tmp/t -- qsort &&
	perf script -i /tmp/t --itrace=b -F time | sort -u | wc -l | sed "s/^/times /"' \
	--topology two-sinks --plugin-arg ts_modes=0x10 --plugin-arg funnel_ts_modes=0x04
check "two sinks: an encoder has one at a time, if a funnel is before the other" answers \
	"^ok 1 - an encoder has one sink at a time, if the other is behind a funnel\$"
check "two sinks: time of a funnel that no trace goes through" eval \
	'answers "clock time" && answers "times [0-9][0-9][0-9]"'
more in_guest 'event-test "of this task"' --topology funnel2 --plugin-arg dis_inputs=0
more check "R26: shared, and a funnel whose inputs cannot be disabled" [ "$status" = 0 ]
# One encoder, a funnel or two, and a sink that is full whenever the driver comes, with room in the
# AUX area and without
for machine in $(more echo funnel2) row; do
	in_guest 'perf record -q -a -e ntrace//k -o /tmp/k -- bigtrace 5 && event-test "AUX area is TRUNCATED" &&
		event-test "a reader that corrects"' --topology $machine --smp 1 \
			--plugin-arg memory=sram --plugin-arg sram=0x1000
	check "$machine: funnels before a full sink of one encoder" eval \
		'[ "$status" = 0 ] && ! says "timed out"'
done
# ... and with neither room in a window nor in the area: then funnels that are not empty are reset
in_guest 'for i in 1 2 3; do
	perf record -q -m,8 -C 0 -e ntrace//k -o /tmp/k -- bigtrace 5 &&
		perf record -q -m,2 -C 0 -e ntrace//u -o /tmp/u -- bigtrace 50 || exit
done' --topology row
check "row: funnels before a full sink, and an AUX area without room" eval \
	'[ "$status" = 0 ] && ! says "timed out"'
for harts in $(more echo 1 2); do
	in_guest 'event-test "a reader that is ahead"' --topology funnel2 --smp $harts
	check "shared by $harts, and an AUX area without room while it is drained" [ "$status" = 0 ]
done
in_guest 'cat /sys/bus/event_source/devices/ntrace/caps/contextid | sed "s/^/contextid /"
perf record -q --per-thread -e ntrace/contextid/u -o /tmp/t -- true && echo task
echo 1 >/sys/devices/system/cpu/cpu1/online
perf record -q -e ntrace/contextid/u -C 1 -o /tmp/1 -- taskset -c 1 true && echo cpu1' \
	--append maxcpus=1
check "a CPU that is offline when its encoder is found: context IDs are possible" answers \
	"contextid 1"
check "a CPU that is offline when its encoder is found: a task is traced" answers task
check "a CPU that comes later: context IDs work" answers cpu1
in_guest 'perf record -q --per-thread -e ntrace/contextid/u -o /tmp/t -- sh -c \
	"echo 1 >/sys/devices/system/cpu/cpu1/online"
cat /sys/bus/event_source/devices/ntrace/caps/contextid | sed "s/^/contextid /"' \
	--append maxcpus=1 --plugin-arg scontext_harts=1
check "a CPU that comes later without scontext: the log names it" says \
	"CPU 1 has no scontext"
check "a CPU that comes later without scontext: no more context IDs" answers "contextid 0"
in_guest 'event-test windows' --topology sram
check "little memory of the sink's own: no loss without a reason" [ "$status" = 0 ]
# A TID has 22 bits on RV64.
contexts()	# CAPS-CONTEXTID
{
	in_guest 'cat /sys/bus/event_source/devices/ntrace/caps/contextid && event-test' "${@:2}"
	check "scontext of ${*: -1}: caps/contextid $1" answers "^$1\$"
	check "scontext of ${*: -1}: recorded" [ "$status" = 0 ]
}
more contexts 1 --plugin-arg scontext_bits=22
more contexts 0 --plugin-arg scontext_bits=21
more good "R16: BTM only, no scontext, no timestamps, no stall" --plugin-arg modes=btm \
	--plugin-arg scontext=off --plugin-arg ts=off --plugin-arg can_stall=off
more good "no filters" --plugin-arg filters=0

# What a stalled hart does with traps no register tells: some stop their own kernel, which then
# cannot make room. The second machine has such harts, of a vendor that the driver trusts.
in_guest 'cat /sys/bus/event_source/devices/ntrace/caps/stall | sed "s/^/stall /"
perf record -e ntrace/stall/u -o /tmp/t -- true 2>&1
perf record -q -m,64K -e ntrace//u -o /tmp/t -- bigtrace 5000 && echo traced' \
	--topology unknown --plugin-arg stall_any=1
check "stall: not offered by an encoder of an unknown vendor" answers "stall 0"
check "stall: perf says so" answers "have no stall"
check "stall: without it, that encoder traces" answers traced
in_guest 'perf record -q -m,64K -e ntrace/stall/u -o /tmp/t -- bigtrace 100000 && echo traced' \
	--plugin-arg stall_any=1
check "stall: a hart that stalls in its kernel would never go on" eval \
	'! answers traced && says "stalled for ever"'
check "in none of these machines the kernel complained, or lost memory" [ $complaints = 0 ]

finish
