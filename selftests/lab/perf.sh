#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Usability of perf: it must name what it cannot record or decode, and must decode kernel text that
# was patched while it was traced.

name=perf
. "$(dirname "$0")/lib.bash"

share=$dir/run/share
log=$dir/log

cat >"$dir/record.sh" <<'END'
cd /mnt
record="perf --buildid-dir /mnt/debug record"

# What cannot be recorded: the words of each, its status, and what it left behind
refused()
{
	echo "== $*"
	$record "$@" -o /tmp/refused.data -- true 2>&1
	echo "status $?"
	[ ! -e /tmp/refused.data ] || [ ! -s /tmp/refused.data ] || echo "left /tmp/refused.data"
	rm -rf /tmp/refused.data*
}
{
	refused -e ntrace/retstack=1/u
	refused -e ntrace/seqjump=1/u
	refused -e ntrace/@nosuch/u
	refused -e ntrace//u -e ntrace//k
	refused -k boottime -e ntrace//u
	refused --overwrite -e ntrace//u
	refused -Se5M -e ntrace//u
	refused -b -e ntrace//u
	refused -e ntrace/branch_type=any/u
	refused -m,4K -e ntrace//u
	refused -e ntrace/config=0x100000000/u
} >refused.txt

recording 1; $record -e ntrace//u -o user.data -- ls /
recording 2; $record -e ntrace/contextid=0,timestamp=0/u --per-thread -o thread.data -- ls /
# Each changes code that runs before the next one does: neither copy of the kernel fits all of it.
events="sched/sched_process_fork kmem/kmalloc kmem/kfree"
recording 3; $record --kcore -e ntrace//k -o patched.data -- sh -c '
	ls / >/dev/null
	for event in '"$events"'; do
		echo 1 >/sys/kernel/tracing/events/$event/enable
		ls / >/dev/null
	done'
recording 4
for event in $events; do
	echo 0 >/sys/kernel/tracing/events/$event/enable
done
# neither has build-ids of its own, and the cache has the program
recording 5; $record -z --buildid-mmap -e ntrace//u -o packed.data -- ls /
recording 6; $record --buildid-mmap -o - -e ntrace//u -- ls / >piped.data
recording 7
perf --buildid-dir /mnt/debug record -q -o - -e ntrace//u -- sh -c 'exec ls / >/dev/null' 2>pipe.err |
	perf script -i - --itrace=be -F event,sym >pipe.txt 2>>pipe.err
recording 8; $record -e ntrace//u -o prog.data -- prog
recording 9; $record -Se64K -e ntrace//u -o sized.data -- ls /
END
guest run "$dir/record.sh"
ok $? "recordings" "$dir/run/guest.out"

# --- what is refused when recording -----------------------------------------------

# says WHAT WORDS: the refusal of that command has these words
says()
{
	awk -v what="== $1" '/^== / { on = ($0 == what) } on' "$share/refused.txt" >"$log"
	grep -q -- "$2" "$log" && grep -q '^status [1-9]' "$log" && ! grep -q '^left' "$log"
	ok $? "refused in words: $1" "$log"
}
says "-e ntrace/retstack=1/u" "do not accept retstack=1, but 0, 3"
says "-e ntrace/seqjump=1/u" "no seqjump"
says "-e ntrace/@nosuch/u" 'no sink "nosuch"'
says "-e ntrace//u -e ntrace//k" "only one ntrace event"
says "-k boottime -e ntrace//u" "clockid.*but monotonic and monotonic_raw"
says "--overwrite -e ntrace//u" "-S keeps the newest trace"
says "-Se5M -e ntrace//u" "from 1 to 4194304 bytes"
says "-b -e ntrace//u" "Cannot use branch stacks (-b, -j options)"
says "-e ntrace/branch_type=any/u" "Cannot use branch stacks (the term branch_type)"
says "-m,4K -e ntrace//u" "at least 8KiB"
says "-e ntrace/config=0x100000000/u" "not supported by kernel"

# --- what is decoded ----------------------------------------------------------------

compare run 1 user b
ok $? "user space: $(figures)" "$out" "$err"
compare run 2 thread i
ok $? "per thread, without context and time: $(figures)" "$out" "$err"
compare run 3 patched b
ok $? "a kernel patched meanwhile: $(figures)" "$out" "$err"
grep -q 'patched while recording.* in __kmalloc' "$err"
ok $? "what was patched is named" "$err"

compare run 5 packed b
ok $? "compressed: $(figures)" "$out" "$err"
compare run 6 piped b
ok $? "through a pipe: $(figures)" "$out" "$err"
got=$(grep -c 'branches' "$share/pipe.txt")
[ "$got" -gt 1000 ] && [ ! -s "$share/pipe.err" ] && ! grep -q error "$share/pipe.txt"
ok $? "decoded in the guest as it comes through a pipe: $got branches" "$share/pipe.err"
host_perf run script -i "$share/piped.data" --itrace=be -F time,event,ip,sym,addr,flags \
	>"$dir/file" 2>"$log"
"$lab/enter" bash -c 'cat "$1" | "$2" --buildid-dir "$3" script -i - --itrace=be -F time,event,ip,sym,addr,flags' \
	pipe "$share/piped.data" "$build/perf-x86_64/perf" "$share/debug" >"$dir/pipe" 2>"$log"
[ "$(wc -l <"$dir/file")" -gt 1000 ] && cmp "$dir/file" "$dir/pipe" >>"$log"
ok $? "a pipe decodes as the file does: $(wc -l <"$dir/pipe") lines" "$log"

# --- what perf report shows --------------------------------------------------------

# report ARGUMENT...: of a program with symbols
report()
{
	host_perf run report --stdio -i "$share/prog.data" "$@"
}
# entries ARGUMENT...: shares with and without callees, and whose they are
entries()
{
	report "$@" 2>"$log.err" | awk '$1 ~ /^[0-9.]+%$/ && $2 ~ /^[0-9.]+%$/' | sort
}
entries -g caller >"$dir/with"
entries -g none >"$dir/without"
awk '$NF == "main" && $1 + 0 > 90 && $2 + 0 < 1 { main = 1 } END { exit !main }' "$dir/with" &&
	diff "$dir/with" "$dir/without" >"$log"
ok $? "report -g none: callees are added up as with -g: $(wc -l <"$dir/with") entries" "$log"
report -g none --no-children --sort parent --parent='^main$' >"$log" 2>"$log.err"
awk '$2 == "main" && $1 + 0 > 90 { main = 1 } END { exit !main }' "$log"
ok $? "report -g none --parent finds callers" "$log" "$log.err"
report --time 9000,9001 >"$log" 2>&1
grep -q 'has no samples' "$log" && ! grep -q 'without times' "$log"
ok $? "report of a time after the trace does not say that trace has no times" "$log"
report --branch-history >"$log" 2>&1
grep -q 'add l, e.g. --itrace=i100usl' "$log"
ok $? "report --branch-history without branches says so" "$log"
report --branch-history --itrace=i100usl >"$log" 2>&1
grep -q COND_BWD "$log" && ! grep -q 'add l' "$log"
ok $? "report --branch-history with them shows them" "$log"
got=$(host_perf run script -i "$share/sized.data" --itrace=b -F event 2>"$log" | grep -c branches)
[ "$got" -gt 1000 ]
ok $? "a snapshot of -Se64K: $got branches" "$log"

# --- damaged files, other files -----------------------------------------------------

# script FILE [ARGUMENT...]: its standard error and errors in $log; false after a signal, and if it
# does not end
script()
{
	local status=0

	timeout 120 "$lab/enter" "$build/perf-x86_64/perf" --buildid-dir "$share/debug" script \
		-i "$@" \
		--itrace=e >"$log" 2>&1 || status=$?
	[ $status != 124 ] || return
	[ $status -lt 129 ] || [ $status -gt 159 ]
}

for size in 4000 20000 30000; do
	head -c $size "$share/user.data" >"$share/cut.data"
	script "$share/cut.data" && grep -q "truncated: it has $size bytes of" "$log"
	ok $? "a file cut at $size bytes is refused in words" "$log"
done

# zeros N: user.data with 64 zero bytes where its record number N should be
zeros()
{
	python3 - "$share/user.data" "$share/zeros.data" "$1" <<-'END'
	import struct, sys
	data = bytearray(open(sys.argv[1], "rb").read())
	at, size = struct.unpack_from("<QQ", data, 40)
	end = at + size
	for _ in range(int(sys.argv[3])):
	    kind, _, size = struct.unpack_from("<IHH", data, at)
	    at += size + (struct.unpack_from("<Q", data, at + 8)[0] if kind == 71 else 0)
	    assert at < end
	data[at:at + 64] = bytes(64)
	open(sys.argv[2], "wb").write(data)
	END
}
for number in 3 12; do
	zeros $number && script "$share/zeros.data" &&
		grep -q 'ntrace: no record at 0x[0-9a-f]* of the file, but one of 0 bytes' "$log"
	ok $? "zero bytes where record $number should be are told in words" "$log"
done

# version MAJOR MINOR: as user.data, but by a perf that writes this layout
version()
{
	python3 - "$share/user.data" "$share/version.data" "$1" "$2" <<-'END'
	import struct, sys
	data = bytearray(open(sys.argv[1], "rb").read())
	at = data.index(struct.pack("<II", 0x4e54, 0)) + 8
	struct.pack_into("<Q", data, at, int(sys.argv[3]) << 16 | int(sys.argv[4]))
	open(sys.argv[2], "wb").write(data)
	END
}
version 2 0
script "$share/version.data" && grep -q "layout version 2.0, of a newer perf" "$log"
ok $? "a newer major version is refused in words" "$log"
version 1 9
script "$share/version.data" && [ ! -s "$log" ]
ok $? "a newer minor version is read" "$log"

mv "$share/debug" "$share/elsewhere"
script "$share/user.data" && grep -q 'code 3: no code in busybox' "$log" &&
	grep -q 'cannot read .*busybox' "$log"
ok $? "a missing binary is named" "$log"
mkdir -p "$dir/fs/bin"
cp "$build/perf-riscv64/perf" "$dir/fs/bin/busybox"
script "$share/user.data" --symfs "$dir/fs" && grep -q 'busybox is not the file' "$log"
ok $? "a wrong binary is named" "$log"
echo 'void _start(void) { for (;;); }' >"$dir/other.c"
"$lab/enter" riscv64-unknown-elf-gcc -march=rv32imac -mabi=ilp32 -nostdlib -Wl,--build-id \
	"$dir/other.c" -o "$dir/fs/bin/busybox" >"$log" 2>&1 &&
	script "$share/user.data" --symfs "$dir/fs" && grep -q 'busybox is not the file' "$log"
ok $? "a wrong binary of 32 bits is named" "$log"
mv "$share/elsewhere" "$share/debug"

host_perf run report -D -i "$share/user.data" >"$log" 2>&1
grep -q 'ProgTraceSync SYNC=5 I-CNT=0 F-ADDR=0x' "$log" && grep -q 'Layout version *1\.2' "$log"
ok $? "report -D shows messages and what they were made with"
host_perf run inject -i "$share/user.data" --itrace=i1000il --strip -o "$share/plain.data" \
	>"$log" 2>&1 && host_perf run script -i "$share/plain.data" -F ip,brstack >"$log" 2>&1 &&
	grep -q '0x.*/0x' "$log" &&
	! grep -q AUXTRACE <(host_perf run report -D -i "$share/plain.data")
ok $? "inject --itrace --strip leaves samples with branch stacks, and no trace" "$log"
rm -f "$share/user.json"
host_perf run data convert --to-json "$share/user.json" -i "$share/user.data" >"$log" 2>&1 &&
	grep -q '"linux-perf-json-version"' "$share/user.json"
ok $? "a command that has no options for trace reads the rest" "$log"
"$lab/enter" "$build/perf-x86_64/perf" test -v 'N-Trace messages' 'N-Trace control flow' \
	'N-Trace description' 'N-Trace times' 'N-Trace samples' 'N-Trace without' >"$log" 2>&1
[ "$(grep -c 'N-Trace.*: Ok$' "$log")" = 6 ] && ! grep -q FAILED "$log"
ok $? "perf test: the tables of the decoder, times, samples" "$log"
finish
