#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Control transfer records: the records of QEMU's own implementation, read by a module in the guest,
# must be equal to those computed from the trace of the same run. One recording has many settings of
# the registers: 96 fixed ones and 16 random ones for a task, 12 random ones for a CPU; 220 and 24
# random ones in make check-all. SEED=N repeats a run.

name=ctr
. "$(dirname "$0")/lib.bash"

seed=${SEED:-$RANDOM$RANDOM}
share=$dir/run/share
log=$dir/log
filter=$build/perf-x86_64/dlfilters/ntrace-ctr.so
mkdir -p "$share"

"$lab/build-ctr" >"$log" 2>&1
ok $? "module, program and firmware" "$log"

"$top/selftests/ctr/ctrlist.py" all "$seed" $(more echo 220)$(together echo 16) >"$share/task.list"
"$top/selftests/ctr/ctrlist.py" cpu "$seed" $(more echo 24)$(together echo 12) >"$share/cpu.list"
printf '0x0 16 %s\n' calls types syscalls longjmp deep types >"$share/user.list"
# longer than anybody waits for it, with records on nearly all the time
yes 0x3 64 sleep | head -n 100000 >"$share/never.list"
echo 0x3 64 calls >"$share/again.list"

cat >"$dir/guest.sh" <<'END'
cd /mnt; status=0
insmod $PROJECT/build/ctr-module/ctr_test.ko || exit 1
awk '$3 ~ /^ctr_test_(start|stop|pause|resume)$/ { print substr($3, 10), $1 }' /proc/kallsyms >symbols
record="perf --buildid-dir /mnt/debug record -q -m ,16M"
recording 1
$record --kcore -e ntrace// -o task.data -- ctrrun task.list task.hardware || status=1
taskset -c 1 qsort 3 >/dev/null & busy=$!
recording 2
$record --kcore -a -e ntrace// -o cpu.data -- ctrrun cpu.list cpu.hardware 1 || status=1
kill $busy; wait
recording 3
taskset -c 0 $record -e ntrace/retstack=3,timestamp=0,contextid=0,extaddr=0/u -o user.data -- ctrrun user.list user.hardware || status=1
csrrun SEED csr.txt || status=1
# with records on, ended by a signal, and without ever a stop
ctrrun never.list /tmp/never & sleep 1
kill -9 $! && wait $!
[ $? = 137 ] || { echo "ctrrun had ended before it was killed"; status=1; }
# what it held is free again
ctrrun again.list again.hardware || status=1
[ "$(grep -c '^[0-9]' again.hardware)" = 64 ] || { echo "no records behind a killed program"; status=1; }
rmmod ctr_test || status=1
exit $status
END
sed -i "s/SEED/$seed/" "$dir/guest.sh"
# On a busy machine the driver's timer may be late by tenths of a second. Nothing is lost if three
# quarters of a window of 4 MB are left then.
guest run "$dir/guest.sh" --cpu max --bios "$build/firmware/fw_dynamic.bin" \
	--driver-arg move_bytes=1048576
ok $? "recordings" "$dir/run/guest.out"

# Before anything is made of them: what is in the trace is what ran.
compare run 1 task b --require insns=1000000,traps=1000
ok $? "a thread's trace is what ran: $(figures)" "$out" "$err"
compare run 2 cpu b --require insns=1000000,traps=100
ok $? "all CPUs' trace is what ran: $(figures)" "$out" "$err"
compare run 3 user b --require insns=1000
ok $? "user space's trace is what ran: $(figures)" "$out" "$err"

# Of each of 200 rounds the program said all that it did; every register was read, and holds
# something.
awk '
	$1 == "n" { rounds++ }
	$1 == "r" { reads[$2]++; values[$2] += $3 !~ /^0+$/ }
	$1 == "w" { writes++ }
	END {
		print rounds + 0, "rounds,", writes + 0, "writes"
		n = split("14e 14f 150 151 152 153 155 156 157 15f", csr, " ")
		for (i = 1; i <= n; i++)
			if (reads[csr[i]] < 50 || (csr[i] !~ /^15[567]$/ && values[csr[i]] < 50)) {
				print "register", csr[i], "read", reads[csr[i]] + 0, "times, not 0", values[csr[i]] + 0
				bad = 1
			}
		exit bad || rounds != 200 || writes < 2000
	}' "$share/csr.txt" >"$log"
ok $? "registers written and read: $(head -n 1 "$log")" "$log"

places=()
while read -r place address; do
	places+=(--dlarg "$place=0x$address")
done <"$share/symbols"

# records NAME ARGUMENT...: as the trace says
records()
{
	local what=$1

	shift
	buffered=1 host_perf run script -i "$share/$what.data" --itrace=b --dlfilter "$filter" \
		"$@" 2>"$log"
}

# stretches NUMBER: where each stretch of the recording begins and ends, as the harts say
stretches()
{
	local file

	for file in "$dir"/run/truth.*.zst; do
		"$lab/enter" "$build/host/truthlist" --segment "$1" "$file" | grep '^[bed]'
	done
}

# same NAME NUMBER TITLE ARGUMENT...
same()
{
	local what=$1 number=$2 title=$3 status=0

	shift 3
	stretches "$number" >"$dir/$what.stretches"
	records "$what" "${places[@]}" --dlarg list="$share/$what.list" \
		"$@" >"$share/$what.trace" &&
		"$top/selftests/ctr/ctrcmp.py" "$share/$what.list" "$share/$what.hardware" \
			"$share/$what.trace" "$dir/$what.stretches" "$dir/$what.equal" \
			>"$dir/$what.out" || status=1
	verdict=$(tail -n 1 "$dir/$what.out" 2>/dev/null)
	ok $status "$title, seed $seed: ${verdict%% types*}" "$dir/$what.out" "$log"
}

number()	# NAME: of the last verdict
{
	tr ' ' '\n' <<<"$verdict" | grep -x -A 1 "$1" | tail -n 1
}

same task 1 "a thread's records are what its trace says"
[ "$(number switches)" -gt 0 ] && [ "$(number moves)" -gt 0 ]
ok $? "R184 over $(number switches) switches and $(number moves) moves to another CPU" \
	"$dir/task.out"
missing=
for type in 1 2 3 4 5 8 9 a b c d e f; do
	[[ "$verdict " == *" $type="* ]] || missing+=" $type"
done
[ -z "$missing" ]
ok $? "R187 with every type:$missing ${verdict#* types}" "$dir/task.out"

# had TITLE CONDITION: settings that were compared, of which awk's condition is true
had()
{
	local n

	n=$(awk '
		function bit(n) { return int(ctl / 2 ^ n) % 2 }
		{ ctl = $1; depth = $2; thing = $3; entries = $4; frozen = $5 }
		'"$2"' { n++ }
		END { print n + 0 }' "$dir/task.equal")
	[ "$n" -gt 0 ]
	ok $? "$1: $n settings"
}

had "R155 R158 R163 R188 user and kernel, all of it" 'ctl == 3 && entries > 16'
had "R163 R164 R165 traps into an S-mode that is not recorded, STE set" \
	'bit(0) && !bit(1) && bit(8) && !bit(7)'
had "R163 R164 R165 the same, STE clear" 'bit(0) && !bit(1) && !bit(8) && !bit(7)'
had "R148 R157 filters, more than one" 'bit(33) + bit(34) + bit(35) + bit(37) + bit(40) + bit(41) + bit(45) > 1'
had "R148 R156 branches not taken" 'bit(36) && entries'
had "R171 R172 RAS emulation of deep recursion" 'bit(7) && thing == "deep"'
had "R171 R172 ... of longjmp and signal handlers" \
	'bit(7) && (thing == "longjmp" || thing == "signals")'
had "R174 R159 R176 frozen by a breakpoint" 'bit(11) && thing == "break" && frozen'
for depth in 16 32 64 128 256; do
	had "R149 R152 R153 depth $depth, full" 'depth == '$depth' && entries == '$depth
done

same cpu 2 "a CPU's records are what its trace says" --dlarg per=cpu

# --- the registers themselves --------------------------------------------------------

headers=(-I tools-perf/util/ntrace-decoder -I tools-perf/util/ntrace-ctr)
archives=(build/host/libntrace-ctr.a build/host/libntrace.a)
"$lab/enter" gcc -O2 -Wall -Wextra "${headers[@]}" -o "$dir/csrcmp" \
	selftests/ctr/csrcmp.c "${archives[@]}" -lelf >"$log" 2>&1 &&
	"$lab/enter" "$dir/csrcmp" <"$share/csr.txt" >"$dir/csr.out" 2>>"$log"
status=$? verdict=$(tail -n 1 "$dir/csr.out" 2>/dev/null)
ok $status "R145 R147 R151 R154 R161 R162 R183 R186 registers read as the library's: $verdict, seed $seed" \
	"$log" "$dir/csr.out"

# --- modes that Linux is not in --------------------------------------------------------

# bare metal: M-mode, VS, VU, and what QEMU departs from the text in
modes=$build/baremetal/modes.elf
{
	"$lab/enter" make -s -C selftests/qemu/baremetal out="$build/baremetal" "$modes" &&
		"$lab/enter" gcc -O2 -Wall -Wextra "${headers[@]}" -o "$dir/modescmp" \
			selftests/ctr/modescmp.c "${archives[@]}" -lelf &&
		"$lab/enter" timeout 900 qemu-system-riscv64 -M virt -m 128 -cpu max -bios none \
			-kernel "$modes" \
			-display none -monitor none -serial none \
			-semihosting-config enable=on,target=native </dev/null >"$dir/modes.txt" \
			2>&1
} >"$log" 2>&1 && "$lab/enter" "$dir/modescmp" <"$dir/modes.txt" >"$dir/modes.out" 2>>"$log"
status=$? verdict=$(tail -n 1 "$dir/modes.out" 2>/dev/null)
ok $status "R163 R164 R165 R166 R171 R172 R174 R175 M-mode, VS and VU, with QEMU's departures: $verdict" \
	"$log" "$dir/modes.out"

# --- ntrace decode says the same -----------------------------------------------------

"$top/selftests/ctr/auxdata.py" "$share/user.data" "$dir/user.trace" >"$log" 2>&1
ok $? "trace of user space, $(stat -c %s "$dir/user.trace") bytes" "$log"
for setting in u:256 u,retinh,tkbrinh:64 u,rasemu:32 u,ntbren:256 u,s,ste:16 u:5000 draft:128; do
	options=(--depth="${setting#*:}" --ctrctl="${setting%:*}") \
		args=(--dlarg depth="${setting#*:}" --dlarg ctrctl="${setting%:*}")
	case $setting in
	draft:*) options[1]=--draft args[3]=draft ;;
	esac
	"$lab/enter" "$build/host/ntrace" decode --elf "$build/guest/bin/ctrrun" --retstack=3 \
		--output=ctr "${options[@]}" "$dir/user.trace" >"$dir/decode.txt" 2>"$log" &&
		records user "${args[@]}" | grep -v '^#' >"$dir/filter.txt" &&
		[ "$(wc -l <"$dir/decode.txt")" -gt 2 ] &&
		cmp "$dir/decode.txt" "$dir/filter.txt" >>"$log"
	ok $? "ntrace decode --output=ctr says the same, $setting: $(wc -l <"$dir/decode.txt") lines" \
		"$log" "$dir/decode.txt" "$dir/filter.txt"
done

# refused WORDS ARGUMENT
refused()
{
	! records user --dlarg "$2" >"$dir/refused" && grep -q "$1" "$log" &&
		[ ! -s "$dir/refused" ]
	ok $? "refused: $2" "$log" "$dir/refused"
}
refused "no field .reting'" ctrctl=u,reting
refused "no number up to" depth=many
refused "no such argument" colour=red
refused "has no line" list=/dev/null
refused "is neither cpu nor thread" per=task

# --- branch stacks ---------------------------------------------------------------------

"$lab/enter" gcc -O2 -Wall -shared -fpic -I build/perf-source/tools/perf/include \
	-o "$dir/brstack.so" selftests/ctr/brstack.c >"$log" 2>&1 &&
	host_perf run script -i "$share/task.data" --itrace=i500il64 --dlfilter "$dir/brstack.so" \
		2>"$log" |
	sort -u | "$top/selftests/ctr/brstack.py" >"$dir/brstack.out" 2>>"$log"
ok $? "types and privileges of branch stacks: $(tail -n 1 "$dir/brstack.out")" "$dir/brstack.out" \
	"$log"

[ $failures != 0 ] || rm -rf "$dir/run"
finish
