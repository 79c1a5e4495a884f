#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Suspends the whole system with its devices while it is traced. Trace must continue afterwards,
# through a funnel to a sink that both harts share, which no hart would set up again by itself. All
# components are in a power domain that is off while they are unused. While it is off they lose
# their state and read as ones.
# The guest loses access to its files: the kernel's virtio transport of 9P is reset with its device,
# and nothing sets it up again. So the test copies everything it needs to memory, and prints its
# results on the console. The recording leaves the guest through another transport that had no open
# files: its driver sets it up again.

name=power
. "$(dirname "$0")/lib.bash"

cat >"$dir/script.sh" <<'END'
mkdir /tmp/here && cp "$(which perf)" "$(which qsort)" "$(which event-test)" "$(which recording)" /tmp/here || exit 1
cat >/tmp/here/go <<'EOF'
# perf puts the directory of its own commands, one of the guest's files, before PATH
export PERF_EXEC_PATH=/tmp/here PATH=/tmp/here:/bin:/usr/bin
cd /tmp/here
# The kernel writes its messages one behind the other, this one among them.
tell()	# WHAT ANSWER
{
	echo "<1>power: $1=$2" >/dev/kmsg
}
traced()
{
	perf script -i "$1" --itrace=i10000i -F comm,ip 2>/dev/null | grep -c '^ *qsort '
}
domain()	# STATE: it comes
{
	for i in $(seq 600); do
		[ "$(cat /sys/kernel/debug/pm_genpd/DPHY-TX/current_state)" != "$1" ] || return 0
		sleep 0.1
	done
	cat /sys/kernel/debug/pm_genpd/pm_genpd_summary
	return 1
}
domain off-0
tell off $?
perf record -q -a -e ntrace//u -o /dev/null -- sh -c 'until [ -e go_on ]; do sleep 0.1; done' &
domain on
tell on $?
>go_on
wait
domain off-0
tell off_again $?
# all but the wait for somebody who wakes it up
suspend='echo platform >/sys/power/pm_test && echo freeze >/sys/power/state'
echo 1 >/sys/module/suspend/parameters/pm_test_delay
record="perf --buildid-dir /tmp/here/debug record -q"
recording 1
# Both harts fill the one sink: without stall what comes while it is begun anew may get lost
$record -a -e ntrace/stall/u -o all.data -- sh -c "sleep 0.1; $suspend && sleep 0.1 && qsort" >/dev/null 2>&1
tell all $?,$(traced all.data)
recording 2
$record -e ntrace/stall/u -o task.data -- sh -c "$suspend && qsort" >/dev/null 2>&1
tell task $?,$(traced task.data)
recording 3
sh -c "$suspend" && event-test 'HTM: user space' >unused.txt && grep -q '^ok 1 - HTM' unused.txt
tell unused $?
tell suspends $(cat /sys/power/suspend_stats/success)
# all of hibernating but for the image; CPU 1 does not come back with the others, for something fails
# that it does on its way up and not on its way down
cpus=/sys/devices/system/cpu
state()
{
	sed -n "s,^ *\([0-9]*\): $1\$,\1,p" $cpus/hotplug/states
}
state irq/affinity:online >$cpus/cpu1/hotplug/fail
echo processors >/sys/power/pm_test && echo disk >/sys/power/state
tell without $?,$(cat $cpus/online)
recording 4
state online >$cpus/cpu1/hotplug/target &&
	$record -C 1 -e ntrace/stall/u -o late.data -- taskset -c 1 ./qsort >/dev/null 2>&1
tell late $?,$(traced late.data)
recording 5
driver=/sys/bus/virtio/drivers/9pnet_virtio
bring_out()
{
	for device in $driver/virtio*; do
		[ "$(cat $device/mount_tag)" != out ] || break
	done
	echo ${device##*/} >$driver/unbind && echo ${device##*/} >$driver/bind && mkdir /tmp/out &&
		mount -t 9p -o trans=virtio,version=9p2000.L,msize=524288 out /tmp/out &&
		cp -r all.data task.data late.data debug /tmp/out && umount /tmp/out
}
bring_out
tell brought_out $?
# "CPU HART", as /init leaves it where the guest ends in the usual way
tell harts "$(awk '/^processor/ { cpu = $3 } /^hart[ \t]*:/ { printf "%s %s,", cpu, $3 }' /proc/cpuinfo)"
poweroff -f
EOF
exec setsid sh /tmp/here/go </dev/null >/dev/ttyS0 2>&1
END

status=0
mkdir -p "$dir/run/out"
guest run "$dir/script.sh" --topology funnel2 --power-domain --qemu-arg -fsdev \
	--qemu-arg "local,id=out,path=$dir/run/out,security_model=none" --qemu-arg -device \
	--qemu-arg virtio-9p-pci,fsdev=out,mount_tag=out ${DRIVER:+--driver "$DRIVER"} || status=$?
console=$dir/run/console.log
said()	# WHAT: the answer
{
	tr -d '\r' <"$console" | sed -n "s/^\[ *[0-9.]*\] power: $1=//p"
}

# The guest ends without going back to its script, and in no other way.
[ $status = 125 ] && ! grep -Eq 'Kernel panic|Oops|WARNING:|BUG:' "$console"
ok $? "suspended, all but for the wait, and resumed" "$dir/run/guest.out"
[ "$(said off),$(said on),$(said off_again)" = 0,0,0 ]
ok $? "the power domain is off, on with an event, off after it" "$console"
[ "$(said suspends)" = 3 ]
ok $? "$(said suspends) suspends" "$console"
[ "$(said without)" = 0,0 ]
ok $? "resumed without CPU 1" "$console"
for what in all task late; do
	IFS=, read -r ended samples <<<"$(said $what)" || :
	[ "${ended:-1}" = 0 ] && [ "${samples:-0}" -gt 10 ]
	ok $? "$what: trace goes on, ${samples:-0} samples of what ran afterwards" "$console"
done
[ "$(said brought_out)" = 0 ] && mv "$dir"/run/out/* "$dir/run/share/"
ok $? "what was recorded is here" "$console"
said harts | tr ',' '\n' | sed '/^$/d' >"$dir/run/console.harts"
equal()		# NAME RECORDING
{
	compare run "$2" "$1" i && [ "$(figure insns)" -gt 1000000 ]
	ok $? "$1: what ran, before and afterwards: $(figures)" "$out" "$err"
}
equal all 1
equal task 2
equal late 4
[ "$(said unused)" = 0 ]
ok $? "what was not used is usable" "$console"
finish
