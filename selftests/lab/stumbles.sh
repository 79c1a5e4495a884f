#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Common ways to use perf: function names, several output files, call chains of samples of other
# events, fields and converters, containers, clocks of JIT compilers.

name=stumbles
. "$(dirname "$0")/lib.bash"

share=$dir/run/share
log=$dir/log
# ns from sample to sample of what has call chains; make check-all takes more of them
period=$(more echo 4000000)

echo "period=${period:-16000000} all=$(more echo 1)" >"$dir/record.sh"
cat >>"$dir/record.sh" <<'END'
cd /mnt; status=0
record="perf --buildid-dir /mnt/debug record"
seq 50000 >numbers
recording 1; $record --kcore -e ntrace// -o names.data -- sh -c 'qsort-labels; cat /mnt/numbers >/dev/null; ls /mnt >/dev/null' || status=1
# so that perf reads often enough: a file is not cut but between two readings
recording 2; $record --switch-output=256K -m,256K -e ntrace/stall/u -o size.data -- sh -c 'threads; bigtrace 60; forkexec' || status=1
# A signal that comes before perf is ready is lost, and two that it meets at once are one.
recording 3; $record --switch-output -e ntrace//u -o signal.data -- sh -c '
	finished()	# N: perf has finished so many files
	{
		for i in $(seq 120); do
			[ "$(ls signal.data.2* 2>/dev/null | wc -l)" -lt $1 ] || return 0
			[ $((i % 10)) != 1 ] || kill -USR2 $PPID
			sleep 1
		done
		return 1
	}
	threads & finished 1 && wait && finished 2 && qsort' || status=1
[ -z "$all" ] || { recording 4; $record --switch-output=256K -m,256K -a -e ntrace/stall/u -o all.data -- sh -c 'threads; qsort' || status=1; }
# On one CPU: of a task that ran in another CPU's gap, perf may keep calls from which it returned.
recording 5; taskset -c 0 $record --kcore --aux-sample=16384 -m,64K -c $period -e '{ntrace//k,cpu-clock:k}' -o chains.data -- syscalls || status=1
recording 6; $record -e ntrace//u -o user.data -- qsort || status=1
perf script -i user.data --itrace=i4999il16 -F ip,brstackinsn >brstackinsn.txt 2>brstackinsn.err || status=1
# A clock that goes a tenth faster than the hart's; code that is made at run time tells when by it.
adjtimex -q -t 11000
recording 7; $record -k mono -e ntrace/stall/u -o jit.data -- jit /mnt monotonic || status=1
recording 8; $record -k mono -e ntrace/stall/u -o clock.data -- threads || status=1
adjtimex -q -t 10000
perf inject --jit -i jit.data -o jitted.data || status=1
perf script -i jitted.data --itrace=be -F cpu,tid,event,ip,addr,flags >jit.txt || status=1
# Somebody without privileges in a PID namespace, as in a container
recording 9
paranoid=$(cat /proc/sys/kernel/perf_event_paranoid)
echo 2 >/proc/sys/kernel/perf_event_paranoid
unshare -U -p -f -m --mount-proc perf record -e ntrace//u -o /tmp/container.data -- qsort >container.txt 2>&1 || status=1
unshare -U -p -f -m --mount-proc perf record -e ntrace/contextid=1/u -o /tmp/none.data -- qsort >denied.txt 2>&1 && status=1
cp /tmp/container.data . || status=1
recording 10
unshare -p -f -m --mount-proc perf record -e ntrace//u -o /tmp/root.data -- qsort >root.txt 2>&1 || status=1
echo $paranoid >/proc/sys/kernel/perf_event_paranoid
exit $status
END
mkdir -p "$share"
guest run "$dir/record.sh"
ok $? "recordings" "$dir/run/guest.out"

# script FILE LETTERS FIELDS [ARGUMENT...]
script()
{
	local file=$1 letters=$2 fields=$3
	shift 3

	host_perf run script -i "$share/$file" --itrace="$letters" -F "$fields" "$@" 2>"$log.err"
}

# --- names ---------------------------------------------------------------------------------

# one line of seven: there are more than a million
script names.data b ip,sym,addr,dso | awk 'NR % 7 == 0' |
	"$lab/enter" "$top/selftests/lab/names.py" "$build/guest/bin/qsort-labels" \
		"$share/names.data/kcore_dir/kallsyms" /qsort-labels >"$log"
ok $? "branches: each name is that of a function there: $(tail -n 1 "$log")" "$log" "$log.err"
nameless()	# WHAT ARGUMENT...: what perf prints has no label of the assembler's, and some names
{
	local what=$1
	shift

	host_perf run "$@" -i "$share/names.data" >"$log.text" 2>"$log.err" &&
		! grep -a -m 8 -E '(^|[^A-Za-z0-9_])(\.L[A-Za-z0-9]*|\$[xd][a-z0-9_]*)' \
			"$log.text" >"$log" &&
		[ "$(grep -a -c msort_with_tmp "$log.text")" -gt 0 ]
	ok $? "$what: no labels, $(wc -l <"$log.text") lines" "$log" "$log.err"
}
nameless "script --call-trace" script --call-trace
nameless "report" report --stdio
nameless "report --branch-history" report --stdio --branch-history
"$lab/enter" "$build/host/ntrace" timeline \
	--perf="$build/perf-x86_64/perf --buildid-dir $share/debug" \
	"$share/names.data" >"$log.text" 2>"$log.err"
! grep -q -m 8 -E '"name":"(\.L|\$[xd])' "$log.text" && grep -q '"name":"msort_with_tmp' "$log.text"
ok $? "ntrace timeline: no labels" "$log.err"

# Kernel and modules are in a map each, and call each other.
host_perf run annotate --stdio -i "$share/names.data" --objdump=/usr/bin/riscv64-linux-gnu-objdump \
	>"$log" 2>"$log.err" &&
	grep -q -E '^ +[1-9][0-9]*\.[0-9]+ +: +ffffffff' "$log"
ok $? "annotate of a --kcore recording: $(grep -c -E '^ +[1-9][0-9]*\.[0-9]+ +:' "$log") instructions with a percentage" "$log.err"
host_perf run annotate --stdio -i "$share/user.data" --objdump=/nowhere/objdump >"$log" 2>&1
grep -q '^Error running /nowhere/objdump ' "$log" && grep -q 'Invalid -1 error code' "$log"
ok $? "annotate without objdump says what it could not run" "$log"

# --- several output files ------------------------------------------------------------------

# switched NUMBER NAME FILES: each file but the last ones has trace; what all of them have is what
# ran, and all of it, but for what one file has the bytes of and another the record, or was lost
# before
switched()
{
	local number=$1 what=$2 least=$3 file cut full status=0 nr=0 last=0 empty=0 names

	rm -f "$dir/$what".*
	# perf keeps no binaries of such recordings.
	[ -d "$dir/fs" ] || { mkdir -p "$dir/fs/bin" "$dir/fs$build/guest" \
		"$dir/fs$build/perf-riscv64"
		cp "$build/guest/root/bin/busybox" "$dir/fs/bin/"
		cp -r "$build/guest/root/lib" "$dir/fs/"
		cp -r "$build/guest/bin" "$dir/fs$build/guest/"
		cp "$build/perf-riscv64/perf" "$dir/fs$build/perf-riscv64/"; }
	for file in "$share/$what".data.*; do
		nr=$((nr + 1))
		host_perf run script -i "$file" --symfs "$dir/fs" \
			--itrace=i1ie -F comm,cpu,tid,event,ip >"$dir/$what.one" \
			2>>"$dir/$what.err" ||
			status=1
		# perf may switch twice while the program ends: the last two files need no trace.
		last=$((last + 1))
		[ ! -s "$dir/$what.one" ] || { empty=$((empty + last - 1)); last=0; }
		cat "$dir/$what.one" >>"$dir/$what.txt"
	done
	[ $status = 0 ] && [ $nr -ge "$least" ] && [ $empty -le 1 ] && [ $last -le 2 ]
	ok $? "$what: $nr files, $empty without trace" "$dir/$what.err"
	grep -a ' instruction trace error ' "$dir/$what.txt" >"$log"
	# where a file was cut
	cut=$(grep -c -e 'code 2: AUX record lost' -e 'code 5: message cut by the end' -e \
		'code 6: .* not in the file' "$log")
	# and where perf did not come in time
	full=$(grep -c 'code 2: trace lost: AUX buffer full' "$log")
	[ "$(wc -l <"$log")" = $((cut + full)) ] && [ "$cut" -le $((2 * smp * (nr - 1))) ]
	ok $? "$what: no losses but $cut where a file was cut, and $full where perf came late" \
		"$log"
	names=$(grep -a -v ' error ' "$dir/$what.txt" | awk '{ print $1 }' | sort -u | tr '\n' ' ')
	echo "$names" >"$log"
	! grep -q -e : -e unknown "$log" && [ -s "$log" ]
	ok $? "$what: names of tasks are known: $names" "$log"
	grep -a -v ' instruction trace error ' "$dir/$what.txt" | sed 's/^ *[^ ]* //' |
		"$lab/enter" "$build/host/truthpart" --segment "$number" \
		$("$lab/truths" "$dir/run") --pieces $((smp + 2 * cut + full)) >"$log" 2>&1
	status=$?
	[ $status != 0 ] || [ $((cut + full)) != 0 ] ||
		[ "$(sed 's/.* insns=\([0-9]*\) .*/\1/' "$log")" = \
		"$(sed 's/.* truth=\([0-9]*\).*/\1/' "$log")" ] || status=1
	ok $status "$what: decoded is what ran: $(head -n 1 "$log")" "$log"
}
switched 2 size 3
switched 3 signal 3
more switched 4 all 3

# --- call chains of samples of other events -------------------------------------------------------

# Between the interrupt and its sample there may be a thousand branches.
script chains.data d+o-abeG32L16 cpu,tid,event,ip,addr,flags,insnlen,brstack | tee "$log.script" |
	"$top/selftests/lab/itrace.py" 16 32 kernel >"$log"
ok $? "G L, kernel: as rebuilt from the branches: $(tail -n 1 "$log")" "$log" "$log.err"

# --- fields and converters
# ---------------------------------------------------------------------------

# blocks FILE: instructions of RISC-V, each as long as its first byte says
blocks()
{
	awk 'function length_of(byte) { return byte ~ /[37bf]$/ ? 4 : 2 }
		/mismatch/ { mismatch++ }
		match($0, /^\t[0-9a-f]+\t/) {
			n = split(substr($0, 19), w, /[ \t]+/)
			for (len = 0; w[len + 2] ~ /^[0-9a-f][0-9a-f]$/; len++)
				;
			insns++
			if (w[1] != "insn:" || len != length_of(w[2]))
				wrong++
		}
		END { print insns + 0, "instructions,", mismatch + 0, "mismatches,", wrong + 0, "of another length"
			exit !(insns > 1000 && !mismatch && !wrong) }' "$@"
}
host_perf run script -i "$share/user.data" --itrace=i4999il16 -F ip,brstackinsn \
	>"$dir/brstackinsn.txt" 2>"$log.err"
blocks "$dir/brstackinsn.txt" >"$log"
ok $? "brstackinsn, on the host: $(cat "$log")" "$log" "$log.err"
blocks "$share/brstackinsn.txt" >"$log"
ok $? "brstackinsn, in the guest: $(cat "$log")" "$log" "$share/brstackinsn.err"
# Flags of instructions, against what binutils makes of the same bytes
script user.data i1i ip,flags | awk '{ ip = $NF; $NF = ""; sub(/ *$/, ""); sub(/^ */, ""); print ip, $0 }' |
	sort -u >"$dir/flags"
"$lab/enter" riscv64-linux-gnu-objdump -d --no-show-raw-insn -M no-aliases,numeric \
	"$build/guest/bin/qsort" |
	awk -F'[: \t]+' '
		function flags(op, args) {
			if (op ~ /^(c\.)?b(eq|ne|lt|ge)/) return "jcc"
			if (op == "jal" || op == "c.jal") return args ~ /^x[15],/ ? "call" : "jmp"
			if (op == "c.j") return "jmp"
			if (op == "c.jalr") return "call"
			if (op == "c.jr") return args ~ /^x[15]$/ ? "return" : "jmp"
			if (op == "jalr") {
				n = split(args, a, /[,()]/)
				link = a[1] ~ /^x[15]$/
				from = args ~ /\(x[15]\)/
				return link ? "call" : from ? "return" : "jmp"
			}
			return ""
		}
		/^ +[0-9a-f]+:\t/ { print $2, flags($3, $4) }' | sort -u >"$dir/expected"
join -a 1 -o 0,1.2,2.2 -e - "$dir/flags" "$dir/expected" | awk '
	{ n[$2]++ } $2 != $3 { wrong++; if (wrong < 9) print "# " $0 }
	END { print n["jcc"] + 0, "jcc,", n["call"] + 0, "call,", n["return"] + 0, "return,", n["jmp"] + 0, "jmp,", n["-"] + 0, "none,", wrong + 0, "wrong"
		exit !(n["jcc"] > 50 && n["call"] > 20 && n["return"] > 10 && n["jmp"] > 5 && !wrong) }' >"$log"
ok $? "flags of instructions: $(tail -n 1 "$log")" "$log"

rm -f "$share/user.json"
host_perf run data convert --to-json "$share/user.json" -i "$share/user.data" >"$log" 2>&1
python3 -c '
import json, sys
for s in json.load(open(sys.argv[1]))["samples"]:
    print(s["tid"], s["callchain"][0]["ip"])' "$share/user.json" 2>>"$log" | sed \
    	's/0x//' >"$dir/json"
host_perf run script -i "$share/user.data" --itrace=i100usyge -F tid,ip 2>"$log.err" |
	awk 'NF == 1 && $1 ~ /^[0-9]+$/ && first { tid = $1; next } { print }' >"$dir/script.txt"
awk '/^ *[0-9]+ *$/ && !seen { tid = $1; seen = 1; next } NF && seen { print tid, $1; seen = 0; next }
	!NF { seen = 0 }' "$dir/script.txt" >"$dir/listed"
[ "$(wc -l <"$dir/json")" -gt 100 ] && cmp "$dir/json" "$dir/listed" >>"$log" 2>&1
ok $? "data convert: the $(wc -l <"$dir/json") samples that script shows" "$log" "$log.err"

# --- a clock that was chosen
# ---------------------------------------------------------------------------

"$lab/enter" "$build/host/truthcmp" --branches --types --segment 7 \
	--tid $("$lab/truths" "$dir/run") \
	<"$share/jit.txt" >"$log" 2>&1
ok $? "code made at run time, by CLOCK_MONOTONIC, a tenth fast: $(head -n 1 "$log")" "$log"
compare run 8 clock b
ok $? "-k mono: $(figures)" "$out" "$err"
# Trace ends at the time of the record that reports it, and not before.
host_perf run report -D -i "$share/clock.data" 2>"$log.err" |
	grep -a -c 'PERF_RECORD_TIME_CONV' >"$log"
[ "$(cat "$log")" = 3 ]
ok $? "-k mono: the clock is in the file, at the start and at the end" "$log" "$log.err"

# --- containers
# ------------------------------------------------------------------------------------------

grep -q 'recording with contextid=0: in a container.*CAP_PERFMON' "$share/container.txt"
ok $? "in a container: recorded without contextid, and that is said" "$share/container.txt"
# Threads have other numbers there than the kernel's.
dump "$dir/run" container
script container.data be cpu,tid,event,ip,addr,flags --symfs "$dir/fs" |
	"$lab/enter" "$build/host/truthcmp" --branches --types --allow-loss --segment 9 \
		--dump "$dir/run/container.dump" $("$lab/truths" "$dir/run") >"$log"
ok $? "in a container: $(head -n 1 "$log")" "$log" "$log.err"
grep -q 'contextid=1 in a container.*needs CAP_PERFMON.*contextid=0' "$share/denied.txt"
ok $? "in a container: refused in words where it was asked for" "$share/denied.txt"
! grep -q contextid "$share/root.txt"
ok $? "in a container, with CAP_PERFMON: as everywhere" "$share/root.txt"
finish
