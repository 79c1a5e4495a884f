#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# ntrace timeline, against slices written by hand; and what keeps it small.

. "$(dirname "$0")/lib.bash"

# line THREAD TIME FLAGS FROM SYMBOL TO SYMBOL: as perf script prints it
line()
{
	printf '%16s %7d/%-7d [%03d] %s:   %-20s %16s %s => %16s %s\n' "${comm:-a prog}" 7 "$1" 0 \
		"$2" "$3" "$4" "$5" "$6" "$7"
}
begin()		# THREAD TIME TO SYMBOL
{
	line "$1" "$2" 'tr strt' 0 '[unknown]' "$3" "$4"
}
stop()		# THREAD TIME FROM SYMBOL [WHY]
{
	line "$1" "$2" "tr end${5:+  $5}" "$3" "$4" 0 '[unknown]'
}
lost()		# THREAD TIME REASON
{
	printf ' instruction trace error type 1 time %s cpu 0 pid 7 tid %d ip 0 code 6: %s\n' "$2" \
		"$1" "$3"
}

# Of what has the same time, in the trace or because it ends together, each thing comes a
# nanosecond later: so the last digits.

# timeline ARGUMENT...: of what is in script; slices as "TRACK NAME CATEGORY TS DUR"
timeline()
{
	status=0
	"$ntrace" timeline --perf-script "$@" "$scratch/script" >"$scratch/json" \
		2>"$scratch/stderr" || status=$?
	sed -n 's/^{"ph":"X","pid":[0-9]*,"tid":\([0-9]*\),"name":"\(.*\)","cat":"\([a-z]*\)","ts":\([0-9.]*\),"dur":\([0-9.]*\)},*$/\1 \2 \3 \4 \5/p' \
		"$scratch/json" >"$scratch/got"
}
matches()	# DESCRIPTION <EXPECTED
{
	cat >"$scratch/want"
	diff "$scratch/want" "$scratch/got" | sed 's/^/# /'
	cmp -s "$scratch/want" "$scratch/got"
	verdict $? "$1"
}

# a thread: a call in a call, a system call that is not traced, a return to before the trace
{
	begin 7 1.000000000 1000 main
	line 7 1.000010000 call 1004 main 2000 f
	line 7 1.000010000 call 2004 f 3000 'operator => (a, b)'
	line 7 1.000020000 return 3008 'operator => (a, b)' 2008 f
	stop 7 1.000030000 2010 f syscall
	begin 7 1.000040500 2014 f
	line 7 1.000050000 return 2020 f 1006 main
	line 7 1.000060000 return 1010 main 500 '_start "\'
	stop 7 1.000070000 506 _start
} >"$scratch/script"
timeline --min=0
matches 'calls, a system call, a return to before the trace' <<'END'
7 operator => (a, b) user 1000010.001 9.999
7 system call untraced 1000030.000 10.500
7 f user 1000010.000 40.000
7 main user 1000000.000 60.000
7 not traced untraced 1000070.000 0.001
7 _start \"\\ user 1000060.001 10.001
END
[ $status = 0 ] && grep -q '^ntrace: 6 slices of 1 threads, 0 losses$' "$scratch/stderr"
verdict $? 'exit status and words'
[ "$(head -n 1 "$scratch/json")" = '{"displayTimeUnit":"ns","traceEvents":[' ] &&
	[ "$(tail -n 1 "$scratch/json")" = ']}' ] &&
	[ "$(grep -c '},$' "$scratch/json")" = $(($(grep -c '^{"ph"' "$scratch/json") - 1)) ] &&
	grep -q '^{"ph":"M","pid":7,"tid":7,"name":"thread_name","args":{"name":"a prog"}},$' \
		"$scratch/json"
verdict $? 'a list of events, and the thread has its name'
if command -v python3 >/dev/null; then
	python3 -m json.tool "$scratch/json" >/dev/null
	verdict $? 'it is JSON'
else
	verdict 0 'it is JSON # SKIP no python3'
fi

# the kernel, traced: its own track; an interrupt in it; a second thread meanwhile
k=ffffffff80
{
	begin 7 2.000000 1000 main
	line 7 2.000010 syscall 1010 main ${k}001000 entry
	line 7 2.000020 call ${k}001004 entry ${k}002000 do_read
	line 7 2.000030 'hw int' ${k}002008 do_read ${k}001000 entry
	begin 8 2.000031 4000 other
	line 7 2.000040 iret ${k}001090 entry ${k}002008 do_read
	line 7 2.000050 return ${k}002010 do_read ${k}001008 entry
	line 7 2.000060 sysret ${k}001090 entry 1014 main
	stop 8 2.000061 4008 other
	stop 7 2.000070 1020 main
} >"$scratch/script"
timeline --min=0
matches 'the kernel has a track of its own' <<'END'
8388615 interrupt trap 2000030.000 10.000
8388615 do_read kernel 2000020.000 30.000
8388615 system call trap 2000010.000 50.000
7 not traced untraced 2000070.000 0.001
7 main user 2000000.000 70.002
8 not traced untraced 2000061.000 0.001
8 other user 2000031.000 30.002
END
grep -q '"tid":8388615,"name":"thread_name","args":{"name":"a prog (kernel)"}' "$scratch/json"
verdict $? '... and a name'

# RV32: programs have addresses with the top bit set, up to 0x9fc00000
{
	begin 7 2.000000 95550000 libc
	line 7 2.000010 syscall 95550010 libc 9fc00000 entry
	line 7 2.000020 call 9fc00004 entry c0002000 do_read
	line 7 2.000050 return c0002010 do_read 9fc00008 entry
	line 7 2.000060 sysret 9fc00090 entry 95550014 libc
	stop 7 2.000070 9fbffffe libc
} >"$scratch/script"
timeline --min=0 --xlen=32
cat >"$scratch/rv32" <<'END'
8388615 do_read kernel 2000020.000 30.000
8388615 system call trap 2000010.000 50.000
7 not traced untraced 2000070.000 0.001
7 libc user 2000000.000 70.002
END
matches "RV32's kernel" <"$scratch/rv32"
timeline --min=0
[ -s "$scratch/got" ] && ! grep -q '^8388615 ' "$scratch/got"
verdict $? 'on RV64 the same addresses are all of a program'

# a perf.data tells: a perf that has just this one
printf PERFILE2 >"$scratch/data"
cat >"$scratch/perf" <<END
#!/bin/sh
case " \$* " in
*" --header-only "*) echo "# hostname : riscv64"; echo "# arch : \$ARCH" ;;
*) cat "$scratch/script" ;;
esac
END
chmod +x "$scratch/perf"
for arch in riscv32 riscv64; do
	ARCH=$arch "$ntrace" timeline --min=0 --perf="$scratch/perf" "$scratch/data" \
		>"$scratch/json.$arch" 2>&1
done
timeline --min=0 --xlen=32
grep -v '^ntrace:' "$scratch/json.riscv32" | cmp - "$scratch/json"
verdict $? 'a perf.data of RV32 says so'
timeline --min=0
grep -v '^ntrace:' "$scratch/json.riscv64" | cmp - "$scratch/json"
verdict $? '... and one of RV64'

# a signal handler: what it interrupted goes on behind it
{
	begin 7 3.000000 1000 main
	stop 7 3.000010 1010 main
	begin 7 3.000020 5000 handler
	stop 7 3.000030 6000 sigreturn syscall
	begin 7 3.000040 1010 main
	stop 7 3.000050 1020 main
} >"$scratch/script"
timeline --min=100
matches 'a signal handler' <<'END'
7 system call untraced 3000030.000 10.000
7 handler user 3000020.000 20.001
7 not traced untraced 3000010.000 30.002
7 main user 3000000.000 50.002
END

# a loss: nothing goes across; it is there however short it was
{
	begin 7 4.000000 1000 main
	line 7 4.000010 call 1004 main 2000 f
	lost 7 4.000020 'the encoder "lost" messages'
	lost 7 4.000020 'more'
	begin 7 4.000020100 3000 g
	line 7 4.000040 return 3008 g 2008 f
	lost 7 4.000050 'to the end'
} >"$scratch/script"
timeline --min=5000
matches 'losses' <<'END'
7 f user 4000010.000 10.000
7 main user 4000000.000 20.001
7 lost: the encoder \"lost\" messages loss 4000020.002 0.098
7 g user 4000020.101 19.899
7 f user 4000040.001 9.999
7 lost: to the end loss 4000050.001 0.001
END
[ $status = 1 ] && grep -q ', 3 losses$' "$scratch/stderr"
verdict $? '... are reported, and the exit status is 1'

# another program in the same process; the same time for many branches; depth
{
	begin 7 5.000000 1000 main
	comm=next
	begin 7 5.000010 100 _start
	for ((i = 0; i < 50; i++)); do
		line 7 5.000020 call 104 _start 200 f
		line 7 5.000020 return 208 f 108 _start
	done
	line 7 5.000030 call 108 _start 300 g
	for ((i = 0; i < 5; i++)); do
		line 7 5.000040 call 304 g 300 g
	done
	stop 7 5.000060 304 g
	comm=
} >"$scratch/script"
timeline --min=1000 --depth=4
matches 'what is short or deep is left out; a new program ends what the old one did' <<'END'
7 main user 5000000.000 10.000
7 g user 5000040.001 20.004
7 g user 5000040.000 20.006
7 g user 5000030.000 30.007
7 _start user 5000010.001 50.007
END
grep -q '^ntrace: 5 slices of 1 threads, 54 left out (shorter than 1000 ns, or deeper than 4), 0 losses$' "$scratch/stderr"
verdict $? '... and counted'

long()		# CALLS
{
	begin 7 6.000000 1000 main
	for ((i = 1; i <= $1; i++)); do
		printf -v time '6.%06d' $((i * 10))
		line 7 $time call 1004 main 2000 f
		printf -v time '6.%06d' $((i * 10 + 1 + i % 3))
		line 7 $time return 2008 f 1008 main
	done
}
# 1, 2 and 3 us: 100, 100 of 2 and more, the rest is too short
long 1000 >"$scratch/script"
timeline --slices=100
[ "$(wc -l <"$scratch/got")" = 201 ] &&
	grep -q '"name":"from here on only what takes 4000 ns","cat":"ntrace"' "$scratch/json" &&
	grep -q '(shorter than 1000 ns or more, or deeper than 64)' "$scratch/stderr"
verdict $? "--slices: $(wc -l <"$scratch/got") of 1001"
long 20 >"$scratch/script"
timeline --slices=100
[ "$(wc -l <"$scratch/got")" = 21 ]
verdict $? '... but all of a short one'

refuses()	# DESCRIPTION WORDS ARGUMENT...
{
	local description=$1 words=$2 status=0
	shift 2

	"$ntrace" timeline "$@" >"$scratch/json" 2>"$scratch/stderr" </dev/null || status=$?
	[ $status = 2 ] && grep -qF -- "$words" "$scratch/stderr"
	verdict $? "refused: $description"
}
refuses 'no file' 'no perf.data given'
refuses 'another file' 'is not a perf.data; what perf script printed wants --perf-script' \
	"$scratch/script"
refuses 'XLEN 16' 'neither 32 nor 64' --xlen=16 "$scratch/script"
refuses 'no --slices' '--slices: 0 is too few' --slices=0 "$scratch/script"
refuses 'a depth that nothing draws' '--depth: 1000 is more than 512' --depth=1000 "$scratch/script"
echo 'Hello' >"$scratch/hello"
refuses 'another text' 'line 1 is not what perf script prints of a branch: Hello' --perf-script \
	"$scratch/hello"
printf PERFILE2 >"$scratch/data"
refuses 'no such perf' 'cannot run perf' --perf=/nowhere/perf "$scratch/data"
refuses 'a perf that fails' 'perf script failed with status 3' --perf='sh -c "exit 3"' \
	"$scratch/data"

finish
