#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# ntrace record, which does not need perf. perf and ntrace script must decode its recordings of
# programs, CPUs, processes and the kernel correctly, and to the same branches as perf's own
# recording of the same program. If the recorder or the program is killed, or the disk is full, the
# file must be decodable up to that point. What cannot be recorded must be refused with an
# explanation.

name=recorder
. "$(dirname "$0")/lib.bash"
share=$dir/run/share

cat >"$dir/guest.sh" <<'END'
cd /mnt; status=0
perf="perf --buildid-dir /mnt/debug record"
run()		# COMMAND...: one that is to succeed
{
	"$@" || { echo "failed ($?): $*"; status=1; }
}
# comes NAME: until the recording has so much in its file that tasks have begun
comes()
{
	for i in $(seq 600); do
		[ "$(stat -c %s "$1" 2>/dev/null || echo 0)" -gt "$2" ] && return
		sleep 0.1
	done
	echo "$1 does not grow"
	status=1
}

# for the host, which has no such file at its path
run perf --buildid-dir /mnt/debug buildid-cache --add "$(readlink -f "$(which sh)")"
recording 1; run ntrace record -e ntrace//u -o prog.data -- prog
recording 2; run $perf -e ntrace//u -o theirs.data -- prog
recording 3; run ntrace record -a -e ntrace//u -o all.data -- threads
recording 4; run ntrace record -C 0,1 -e ntrace/contextid=0/u -o cpus.data threads
# with an old recording in the way
mkdir kernel.data; echo old >kernel.data/data
recording 5; run ntrace record --kcore -a -e ntrace// -m 1M,4M -o kernel.data -- ls /
recording 6; run ntrace record -m ,64K -e ntrace/stall/u -o forks.data -- sh -c 'forkexec; prog >/dev/null'
mkfifo /tmp/go
sh -c 'read x </tmp/go; prog >/dev/null; threads' & pid=$!
recording 7; ntrace record -p $pid -o /tmp/pid.data & recorder=$!
comes /tmp/pid.data 2000; echo >/tmp/go
run wait $recorder; cp /tmp/pid.data . || status=1
recording 8; run ntrace record -e ntrace//u --filter "filter $FILTER@$PROJECT/build/guest/bin/prog" -o filter.data prog
recording 9; run ntrace record -Se -m ,256K -e ntrace//u -o snapshot.data -- bigtrace
recording 10; ntrace record -S1M -m ,1M -e ntrace//u -o /tmp/signal.data -- sh -c '
	prog >/dev/null; kill -USR2 $PPID
	until [ "$(stat -c %s /tmp/signal.data)" -gt 100000 ]; do usleep 100000; done' || status=1
cp /tmp/signal.data . || status=1

# Killed, in the middle of much trace. In memory: /mnt loses what is written while somebody asks for
# the size of the file.
recording 11; ntrace record -m ,256K -e ntrace/stall/u -o /tmp/killed.data -- bigtrace 3000 >/dev/null & recorder=$!
comes /tmp/killed.data 1000000
kill -9 $recorder; wait $recorder
killall bigtrace 2>/dev/null
# the program, and not the recorder
recording 12; ntrace record -m ,256K -e ntrace/stall/u -o /tmp/dying.data -- bigtrace 3000 >/dev/null 2>dying.txt & recorder=$!
comes /tmp/dying.data 500000
killall -9 bigtrace; run wait $recorder
cp /tmp/killed.data /tmp/dying.data . || status=1; rm /tmp/*.data
# a disk of 1 MiB
mkdir /tmp/small; mount -t tmpfs -o size=1M tmpfs /tmp/small
recording 13; ntrace record -m ,256K -e ntrace/stall/u -o /tmp/small/full.data -- bigtrace 1000 >/dev/null 2>full.txt
echo "status $?" >>full.txt
cp /tmp/small/full.data . || status=1; umount /tmp/small
recording 14; run ntrace record --kcore -a --duration=0.5 -o duration.data
recording 16; run ntrace record --duration=0.1 -o ended.data -- loop 1000000 2>ended.txt
# far too small a buffer
recording 17; ntrace record -m ,16K -e ntrace//u -o lossy.data -- bigtrace >/dev/null 2>lossy.txt
echo "status $?" >>lossy.txt

sh -c 'read x </tmp/go; exec prog' >/dev/null & pid=$!
recording 18; ntrace record -t $pid -o /tmp/thread.data & recorder=$!
comes /tmp/thread.data 2000; echo >/tmp/go
run wait $recorder; cp /tmp/thread.data . || status=1
recording 19; run ntrace record -C 0 -e ntrace/@$(cat /sys/bus/event_source/devices/ntrace/cpu0/sink),retstack=0/u -o sink.data -- prog

# a new file with so many bytes, of what forks; by signal, of which the last two are kept; and of the
# kernel, which is a folder each
recording 22; run ntrace record --switch-output=256K -m ,256K -e ntrace/stall/u -o /tmp/sizes.data -- \
	sh -c 'forkexec; prog >/dev/null; bigtrace 30; n=0
		until [ "$(ls /tmp/sizes.data.* 2>/dev/null | wc -l)" -ge 2 ] || [ $n = 60 ]; do
			bigtrace 30; n=$((n + 1))
		done' >/dev/null
i=0; for f in /tmp/sizes.data.*; do i=$((i + 1)); mv "$f" sizes$i.data; done
[ $i -ge 3 ] && [ ! -e /tmp/sizes.data ] || { echo "$i files"; status=1; }
echo $i >sizes.txt
# switched NAME FILES: signal the recorder, and wait until so many files of that name are complete
switched()
{
	kill -USR2 $recorder
	for i in $(seq 600); do
		[ "$(ls /tmp | grep -c "^$1.data.2")" -ge "$2" ] && return
		sleep 0.1
	done
	echo "no file was completed"; status=1
}
mkfifo /tmp/ran
sh -c 'read x </tmp/go; prog >/dev/null; echo >/tmp/ran; read x </tmp/go; threads' & pid=$!
recording 23; ntrace record --switch-output --switch-max-files=2 -p $pid -o /tmp/signals.data & recorder=$!
comes /tmp/signals.data 2000; switched signals 1
echo >/tmp/go; read x </tmp/ran; switched signals 2
first=$(ls /tmp/signals.data.2* | head -n 1)
echo >/tmp/go; run wait $recorder
[ "$(ls /tmp | grep -c '^signals.data')" = 2 ] && [ ! -e "$first" ] || { ls /tmp; status=1; }
i=0; for f in /tmp/signals.data.*; do i=$((i + 1)); mv "$f" signals$i.data; done
recording 24; run ntrace record --kcore -C 0 -e ntrace//k --switch-output=1s -o /tmp/folder.data -- \
	sh -c 'exec >/dev/null 2>&1; n=0
		until ls -d /tmp/folder.data.2* || [ $n = 600 ]; do sleep 0.1; n=$((n + 1)); done'
i=0; for f in /tmp/folder.data.*; do i=$((i + 1)); cp -r "$f" folder$i.data; rm -rf "$f"; done
[ $i -ge 2 ] || { echo "$i folders"; status=1; }
# a process whose first thread has ended, and then the program that its other thread executes
recording 26; UNTIL_EXEC=/tmp/exec UNTIL_END=/tmp/end ntrace record --switch-output -e ntrace//u \
	-o /tmp/leader.data -- leaderless & recorder=$!
# more than the beginning of a program: on a busy machine its 8 KB may be all for a while
comes /tmp/leader.data 20000; switched leader 1; comes /tmp/leader.data 20000
>/tmp/exec; switched leader 2; comes /tmp/leader.data 20000; switched leader 3
comes /tmp/leader.data 20000
>/tmp/end; run wait $recorder
i=0; for f in /tmp/leader.data.*; do i=$((i + 1)); mv "$f" leader$i.data; done
# The kernel takes fewer samples than the user asks for.
rate=$(cat /proc/sys/kernel/perf_event_max_sample_rate)
echo 500 >/proc/sys/kernel/perf_event_max_sample_rate
run ntrace record --aux-sample -e ntrace//u -o /tmp/rate.data -- true
ntrace record --aux-sample -F 2000 -e ntrace//u -o /tmp/rate.data -- true 2>rate.txt || status=1
echo "$rate" >/proc/sys/kernel/perf_event_max_sample_rate
recording 25; run ntrace record --aux-sample=8K -F 500 -e ntrace//u -o samples.data -- qsort

# started by something that ignores signals, as nohup does
recording 20; run sh -c 'trap "" HUP CHLD; exec ntrace record -e ntrace//u -o signals.data -- sh -c "kill -HUP \$PPID; exec prog"'

recording 21
# what was there is kept, be it file or folder, and a folder of others' is left alone
for kcore in "" "" --kcore "" ""; do run ntrace record $kcore -o /tmp/kept.data -- true; done
[ -f /tmp/kept.data ] && [ -f /tmp/kept.data.old ] || { echo "not kept"; status=1; }
mkdir /tmp/mine.data.old; echo mine | tee /tmp/mine.data.old/data >/tmp/mine.data.old/other
run ntrace record -o /tmp/mine.data -- true
ntrace record -o /tmp/mine.data -- true 2>mine.txt
[ "$(cat /tmp/mine.data.old/*)" = "$(printf 'mine\nmine')" ] || { echo "removed"; status=1; }
rm -rf /tmp/kept.data* /tmp/mine.data*
# a command that is stopped when its time is over; a signal that nobody asked for; a limit for files
run ntrace record --duration=0.5 -e ntrace//u -o /tmp/odd.data -- sh -c 'kill -STOP $$'
run ntrace record -e ntrace//u -o /tmp/odd.data -- sh -c 'kill -USR2 $PPID; exec true'
(ulimit -f 200; exec ntrace record -e ntrace//u -o /tmp/odd.data -- bigtrace) 2>limit.txt
[ $? = 2 ] && grep -q 'File too large: the file ends there' limit.txt || { cat limit.txt; status=1; }
rm -rf /tmp/odd.data*
# a folder as a shell completes its name
for i in 1 2; do run ntrace record --kcore -e ntrace//k -o /tmp/odd.data/ -- true; done
[ -d /tmp/odd.data ] && [ -d /tmp/odd.data.old ] || { ls /tmp; status=1; }
rm -rf /tmp/odd.data*
# in the background, where a shell without job control has SIGINT ignored
ntrace record -a -e ntrace//u -o /tmp/odd.data 2>/dev/null & recorder=$!
comes /tmp/odd.data 1000; kill -INT $recorder; wait $recorder || status=1
# what cannot go on ends the command, too
mkdir /tmp/odd.dir
ntrace record --switch-output=signal -o /tmp/odd.dir/data -- sleep 717 2>gone.txt & recorder=$!
comes /tmp/odd.dir/data 1000; rm -r /tmp/odd.dir; kill -USR2 $recorder; wait $recorder
echo "status $?" >>gone.txt
for i in $(seq 600); do
	ps | grep '[s]leep 717' >/dev/null || break
	sleep 0.1
done
ps | grep '[s]leep 717' >>gone.txt
rm -rf /tmp/odd.data*

# what is refused, and that it leaves nothing
refused()	# COMMAND...
{
	echo "== $*"
	"$@" 2>&1
	echo "status $?"
	[ ! -e /tmp/refused.data ] || echo "left /tmp/refused.data"
	rm -rf /tmp/refused.data*
}
nobody="start-stop-daemon -S -c nobody -x $(which ntrace) --"
{
	chmod 1777 /tmp
	set -- record -o /tmp/refused.data
	refused ntrace "$@" -e ntrace/seqjump=1/u -- true
	refused ntrace "$@" -e ntrace/retstakc=3/u -- true
	refused ntrace "$@" -e ntrace/@nosuch/u -- true
	refused ntrace "$@" -e cycles -- true
	refused ntrace "$@" -C 7 -- true
	refused ntrace "$@" -p 99999
	refused ntrace "$@" -p 4294967297
	refused ntrace "$@" -t 0
	refused ntrace "$@" -m ,5K -- true
	refused ntrace "$@" -m ,8M -S -- true
	refused ntrace "$@" --aux-sample -S -- true
	refused ntrace "$@" --aux-sample=63 -- true
	refused ntrace "$@" --switch-output=5x -- true
	refused ntrace "$@" --filter 'filter 0/4,filter 8/4,filter 16/4,filter 32/4,filter 64/4' -- true
	refused ntrace "$@" --filter 'filter main @ /bin/busybox' -- true
	refused ntrace "$@" -a --filter 'filter 0/4@/bin/busybox' -- true
	refused ntrace "$@" -t $$,99999
	refused ntrace "$@" -m ,2G -- true
	ln -s nowhere /tmp/refused.data
	refused ntrace "$@" -e ntrace//u -- false
	echo 2 >/proc/sys/kernel/kptr_restrict
	refused ntrace "$@" --kcore -e ntrace//k -- true
	echo 0 >/proc/sys/kernel/kptr_restrict
	refused ntrace "$@" -- nosuchprogram
	refused ntrace "$@" --no-such-option -- true
	# of the kernel's symbols a part is written before the disk is full
	mount -t tmpfs -o size=1M tmpfs /tmp/small
	refused ntrace record --kcore -e ntrace// -o /tmp/small/kernel.data -- true
	[ -z "$(ls -A /tmp/small)" ] || echo "left /tmp/small/$(ls -A /tmp/small)"
	umount /tmp/small
	echo 2 >/proc/sys/kernel/perf_event_paranoid
	refused $nobody "$@" -a -- true
	refused $nobody "$@" -e ntrace// -- true
	refused $nobody "$@" -e ntrace/mmode/u -- true
	refused $nobody "$@" -e ntrace//u -p 1
	refused $nobody "$@" -m 4M,4M -e ntrace//u -- true
	refused $nobody "$@" --kcore -- true
	refused unshare -Ur ntrace "$@" -e ntrace//k -- true
	refused no-events ntrace "$@" -e ntrace//u -- true
	refused no-events $nobody "$@" -e ntrace//u -- true
	echo 3 >/proc/sys/kernel/perf_event_paranoid
	refused $nobody "$@" -- true
	echo 2 >/proc/sys/kernel/perf_event_paranoid
	# another recording has every sink, until the program ends
	ntrace record -a -e ntrace//u -o /tmp/first.data -- \
		sh -c '>/tmp/first; until [ -e /tmp/done ]; do sleep 0.1; done' 2>/tmp/first.txt & first=$!
	for i in $(seq 600); do
		[ ! -e /tmp/first ] || break
		sleep 0.1
	done
	refused ntrace "$@" -e ntrace//u -C 1 -- true
	refused ntrace "$@" -e ntrace//u -- ls /
	>/tmp/done; wait $first || { cat /tmp/first.txt; status=1; }
	ntrace "$@" -e ntrace//u -C 1 -- true || status=1
	rm -rf /tmp/refused.data* /tmp/first*
} >refused.txt
# the buffer that anybody may have is small: on a busy machine it may lose trace, and says so
recording 15; $nobody record -o /tmp/nobody.data -e ntrace//u -- prog
[ $? -le 1 ] || status=1
cp /tmp/nobody.data . || status=1
rmmod ntrace
refused ntrace record -o /tmp/refused.data -- true >>refused.txt
exit $status
END
# where draw() is, in the file
filter=$("$lab/enter" sh -c 'nm -S build/guest/bin/prog' |
	awk '$4 == "draw" { print "0x" $1 "/0x" $2 }')
offset=$((${filter%/*} - 0x10000))
sed -i "s,\\\$FILTER,$(printf '0x%x' $offset)/${filter#*/}," "$dir/guest.sh"
guest run "$dir/guest.sh"
ok $? "recordings" "$dir/run/guest.out"

for what in "1 prog" "3 all" "4 cpus" "5 kernel" "6 forks" "7 pid" "8 filter" "18 thread" \
	"19 sink" "12 dying" "15 nobody" "20 signals"; do
	# shellcheck disable=SC2086
	set -- $what b
	[ "$what" != "15 nobody" ] || set -- "$@" --allow-loss
	compare run "$@"
	ok $? "${what#* }: $(figures)" "$out" "$err"
done
for what in "14 duration" "16 ended"; do
	# shellcheck disable=SC2086
	compare run $what b
	ok $? "${what#* }, which --duration ended: $(figures)" "$out" "$err"
done
grep -q 'loop was ended by signal 15' "$share/ended.txt"
ok $? "the end of the recording ends the command" "$share/ended.txt"

# The program's own functions: what is before main() depends on the environment.
# Where trace pauses is chance.
own='^[0-9a-f]+ (main|load|draw|shade|weigh|fib|compare)(\+0x[0-9a-f]+)? => [1-9a-f]'
for what in prog theirs; do
	host_perf run script -i "$share/$what.data" --itrace=b -F ip,sym,addr 2>>"$dir/log" |
		sed -E 's/ +/ /g; s/^ //' | grep -E "$own" >"$dir/$what.perf"
	"$lab/enter" "$build/host/ntrace" script "$share/$what.data" 2>>"$dir/log" |
		sed -E 's/.*branches: [a-z ]+ +([0-9a-f]+ [a-z])/\1/' |
		grep -E "$own" >"$dir/$what.ntrace"
done
[ "$(wc -l <"$dir/prog.perf")" -gt 10000 ] && diff "$dir/prog.perf" "$dir/theirs.perf" >"$dir/log"
ok $? "the $(wc -l <"$dir/prog.perf") branches that perf record has, as perf prints them" "$dir/log"
[ "$(wc -l <"$dir/prog.ntrace")" -gt 10000 ] &&
	diff "$dir/prog.ntrace" "$dir/theirs.ntrace" >"$dir/log"
ok $? "the $(wc -l <"$dir/prog.ntrace") branches that perf record has, as ntrace script prints them" "$dir/log"

pieces run 9 snapshot "the last 256 KiB before the end" --last --insns 10000 --pieces 2
pieces run 10 signal "a snapshot by SIGUSR2" --insns 100000 --pieces 8

times=$(sed -n 's/.*trace was lost \([0-9]*\) times, as there was no room.*/\1/p' \
	"$share/lossy.txt")
[ "${times:-0}" -ge 1 ] && grep -q '^status 1' "$share/lossy.txt" ||
	[ "$(stat -c %s "$share/lossy.data")" -ge 2000000 ]
ok $? "without room for trace ${times:-0} times, which is reported" "$share/lossy.txt"
pieces run 17 lossy "a buffer that is too small" --insns 10000 --errors 100000

# --- several files of one recording

# the last may have begun when all had ended
for what in sizes1 sizes2; do
	pieces run 22 $what "one of $(cat "$share/sizes.txt") files" --insns 1000 --pieces 4
done
host_perf run script -i "$share/sizes2.data" --itrace=i1000i -F comm,sym | sort | uniq -c |
	sort -n >"$dir/names"
! grep -q -e unknown -e ':[0-9]' "$dir/names" && [ -s "$dir/names" ]
ok $? "sizes2: tasks and functions have names" "$dir/names"
for what in 1 2; do
	pieces run 23 signals$what "one of the last two files, by SIGUSR2" --insns 1000 --pieces 4
	# the second may begin when the time is over, and has what the kernel does then
	pieces run 24 folder$what "one of two folders, by time" --insns 100 --pieces 100 \
		--errors 100
done
pieces run 25 samples "samples with trace" --insns 10000

# --- files that were not completed

# missing NAME: so many windows have bytes that the file lacks, each of them an error
missing()
{
	"$lab/enter" "$build/host/ntrace" dump "$share/$1.data" 2>>"$dir/log" |
		grep -c 'the file does not have the rest'
}
pieces run 11 killed "a recorder that was killed" --insns 100000 --errors $((6 + $(missing killed)))
"$lab/enter" "$build/host/ntrace" script "$share/killed.data" 2>"$dir/log" |
	grep -c branches: >"$dir/killed.lines"
[ "$(cat "$dir/killed.lines")" -gt 10000 ] && ! grep -v ' losses' "$dir/log"
ok $? "ntrace script decodes $(cat "$dir/killed.lines") branches of it" "$dir/log"
pieces run 13 full "a disk that is full" --insns 10000 --errors $((6 + $(missing full)))
grep -q 'No space left on device: the file ends there' "$share/full.txt" &&
	grep -q 'status 2' "$share/full.txt" &&
	host_perf run report --header-only -i "$share/full.data" >"$dir/full.header" 2>&1 &&
	grep -q 'hostname : guest' "$dir/full.header"
ok $? "a full disk is reported, and the header is complete" "$share/full.txt" "$dir/full.header"
grep -q 'bigtrace was ended by signal 9' "$share/dying.txt"
ok $? "a killed program is reported" "$share/dying.txt"

# --- the header

host_perf run report --header-only -I -i "$share/prog.data" >"$dir/header" 2>&1
for words in 'hostname : guest' 'os release : 6' 'arch : riscv64' 'nrcpus online : 2' 'cpuid : 0x' \
	'cmdline : ntrace record -e ntrace//u -o prog.data -- prog' 'event : name = ntrace//u' \
	'contains AUX area data' 'time of last sample' 'pmu mappings: .*ntrace'; do
	grep -q "$words" "$dir/header" || echo "# not in the header: $words"
done >"$dir/log"
[ ! -s "$dir/log" ]
ok $? "the header describes machine and recording" "$dir/log" "$dir/header"
id=$("$lab/enter" readelf -n "$build/guest/bin/prog" | sed -n 's/.*Build ID: //p')
host_perf run buildid-list -i "$share/prog.data" >"$dir/log" 2>&1 &&
	[ -n "$id" ] && grep -q "^$id .*/prog$" "$dir/log"
ok $? "the header has the program's build-id" "$dir/log"
[ "$(cat "$share/kernel.data.old/data")" = old ] &&
	[ -s "$share/kernel.data/kcore_dir/kallsyms" ] &&
	[ -s "$share/kernel.data/kcore_dir__4294967295/kcore" ]
ok $? "--kcore: a folder with two copies of the kernel; the old recording was kept"

for i in 1 2 3 4; do
	host_perf run script -i "$share/leader$i.data" --itrace=be -F ip,sym >"$dir/log" 2>&1 &&
		[ "$(grep -c -e compute_until -e _start "$dir/log")" -gt 1 ] &&
		! grep -q error "$dir/log"
	ok $? "without its first thread, file $i: $(grep -c compute_until "$dir/log") branches" "$dir/log"
done
grep -q 'kernel.perf_event_max_sample_rate): 500$' "$share/rate.txt"
ok $? "--aux-sample: fewer samples than were asked for, and that is said" "$share/rate.txt"
grep -q 'status 2' "$share/gone.txt" && ! grep -q 'sleep 717$' "$share/gone.txt"
ok $? "a recorder that cannot go on ends the command" "$share/gone.txt"

grep -q 'is a folder with other in it' "$share/mine.txt"
ok $? "a folder that is no recording is not replaced" "$share/mine.txt"

# --- what is refused

# says WHAT WORDS: the refusal of that command has these words, and left nothing
says()
{
	awk -v what="$1" '/^== / { on = index($0, what) } on' "$share/refused.txt" >"$dir/log"
	grep -q -- "$2" "$dir/log" && grep -q '^status [1-9]' "$dir/log" &&
		! grep -q '^left' "$dir/log"
	ok $? "refused in words: $1" "$dir/log"
}
says "-e ntrace/seqjump=1/u" "no seqjump"
says "-e ntrace/retstakc=3/u" 'did you mean .retstack'
says "-e ntrace/@nosuch/u" 'no sink "nosuch"'
says "-e cycles" "is no ntrace event"
says "-C 7" "CPU 7 is not online"
says "-p 99999" "there is no process 99999"
says "-p 4294967297" "is no list of numbers"
says "-t 0" "there is no task 0"
says "-m ,5K" "must be a power of 2, at least 8 KiB"
says "-m ,8M -S" "at most 4 MiB"
says "--aux-sample -S" "choose one"
says "--aux-sample=63" "multiple of 8 bytes"
says "--switch-output=5x" "a size such as 100M"
says "filter 64/4" "the driver refuses .*nr_addr_filters"
says "filter main @" "is not as the kernel has it: OFFSET/SIZE@FILE"
says "-a --filter" "are those of tasks"
says ",99999" "there is no task 99999"
says "-m ,2G" "at most 1 GiB"
says "-- false" "is a symbolic link"
says "--kcore -e ntrace//k" "kernel.kptr_restrict is 2"
says "nosuchprogram" "nosuchprogram: No such file"
says "--no-such-option" "unrecognized option"
says "/tmp/small/kernel.data" "kcore_dir/kallsyms: No space left on device"
says "nobody -x $build/guest/bin/ntrace -- record -o /tmp/refused.data -a" \
	"perf_event_paranoid of at most 0 (it is 2)"
says "refused.data -e ntrace// --" "perf_event_paranoid of at most 1 (it is 2); user space alone: -e ntrace//u"
says "-e ntrace/mmode/u" "mmode takes root or CAP_PERFMON"
says "-p 1" "task 1 is another user's"
says "-m 4M,4M" "more than this user may lock.*-m 64K,64K"
says "--kcore" "copies /proc/kcore"
says "unshare" "root of a container"
says "no-events ntrace" "this user, who has CAP_PERFMON: .* a filter of system calls, which this process has .*seccomp="
says "no-events start-stop-daemon" "the kernel refuses the event: .* a filter of system calls, which this process has .*seccomp="
says "-e ntrace//u -C 1" "the trace sink of CPU 1 is in use: another recording .* has it; end that one, or take another sink"
says "-e ntrace//u -- ls" "the trace sink of CPU [01] is in use: another recording .* has it"
says "refused.data -- true" "root and CAP_PERFMON alone (kernel.perf_event_paranoid is 3)"
tail -n 2 "$share/refused.txt" >"$dir/log"
grep -q 'no PMU .ntrace.: load its driver' "$dir/log"
ok $? "refused in words: without a driver" "$dir/log"
finish
