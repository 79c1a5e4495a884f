#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# ntrace gdbserver with stock GDB (of three Debian releases in make check-all) and LLDB: random
# commands must stop where the list of retired instructions says, programs and libraries must be
# found, and sessions must look as in README.md.

name=gdbserver
smp=1		# one hart's truth is the whole truth, in its order
. "$(dirname "$0")/lib.bash"
. "$top/selftests/lab/gdb.bash"

share=$dir/run/share
samples=$build/host/samples
mkdir -p "$share"

setup_gdb

# obeys RELEASE COMMANDS NAME LIST ARGUMENT...: $BTRACE instructions of branch trace, too
seed=${SEED:-$RANDOM}
echo "# SEED=$seed"
obeys()
{
	local release=$1 commands=$2 what=$3 list=$4 said variables
	shift 4

	serving --btrace=2000 "$@"
	variables=(env "PORT=$port" "LIST=$list" "COMMANDS=$commands" "SEED=$seed" \
		"BTRACE=${BTRACE:-}"
		"CODE=${CODE:-}" "SCRIPT=${CODE:+tools-perf/ntrace/ntrace-gdb.py}")
	gdb "$release" -x selftests/lab/gdbserver.py >"$dir/gdb.out" 2>&1
	wait $server
	said=$(sed -n 's/^ok: //p' "$dir/gdb.out")
	[ -n "$said" ]
	ok $? "$release, $what: $said" "$dir/gdb.out" "$dir/server"
}

# ------------------------------------------------------------- raw traces

for release in $releases; do
	BTRACE=2000 obeys $release 300 "towers" "$samples/towers/pc.txt" \
		--elf "$samples/towers/towers.elf" "$samples/towers/L1.bin"
	obeys $release 300 "mix, implicit returns" "$samples/mix/pc.txt" \
		--elf "$samples/mix/mix.elf" --retstack=3 "$samples/mix/L4.bin"
	obeys $release 300 "rv32" "$samples/rv32/pc.txt" \
		--elf "$samples/rv32/rv32.elf" "$samples/rv32/L2.bin"
	obeys $release 300 "mix, tandem verification" "$samples/mix/pc.txt" \
		--tv --elf "$samples/mix/mix.elf" "$samples/mix/state.tv"
	more obeys $release 10000 "mix" "$samples/mix/pc.txt" \
		--elf "$samples/mix/mix.elf" "$samples/mix/L0.bin"
done

# by_lldb COMMANDS PROGRAM ARGUMENT...: those that LLDB 21 has
by_lldb()
{
	local commands=$1 program=$2 said
	shift 2

	serving --elf "$samples/$program/$program.elf" "$@"
	LAB_ROOTFS=$build/rootfs-gdb-forky timeout 900 "$lab/enter" env "PORT=$port" "SEED=$seed" \
		"COMMANDS=$commands" "LIST=$samples/$program/pc.txt" lldb --no-lldbinit -b \
		-o "target create $samples/$program/$program.elf" \
		-o 'command script import selftests/lab/lldbserver.py' -o 'process detach' \
		</dev/null >"$dir/lldb.out" 2>&1
	wait $server
	said=$(sed -n 's/^ok: //p' "$dir/lldb.out")
	[ -n "$said" ]
	ok $? "LLDB, $program ${*##*/}: $said" "$dir/lldb.out" "$dir/server"
}

more by_lldb 10000 mix "$samples/mix/L0.bin"
more by_lldb 1000 mix --tv "$samples/mix/state.tv"
more by_lldb 1000 rv32 "$samples/rv32/L2.bin"

# code ELF: of each instruction address, length, and what it is to a stack of calls, by binutils
code()
{
	"$lab/enter" riscv64-linux-gnu-objdump -d --no-show-raw-insn -M no-aliases,numeric "$1" |
		awk -F'[: \t]+' '
		/^[0-9a-f]+ </ { begins = 1 }
		/^ +[0-9a-f]+:\t/ {
			op = $3; args = $4; kind = "-"
			if (op ~ /^(c\.)?jalr?$/ && (op == "c.jalr" || args ~ /^x[15],/))
				kind = "call"
			else if ((op == "c.jr" && args == "x1") || (op == "jalr" && args ~ /^x0,0?\(?x1\)?/))
				kind = "ret"
			print $2, op ~ /^c\./ ? 2 : 4, kind, begins ? "begin" : ""
			begins = 0
		}'
}

# frames RELEASE COMMANDS NAME LIST ELF ARGUMENT...
frames()
{
	code "$5" >"$dir/code"
	CODE=$dir/code obeys "$1" "$2" "frames, $3" "$4" --elf "${@:5}"
}

for release in $releases; do
	frames $release 300 "towers" "$samples/towers/pc.txt" "$samples/towers/towers.elf" \
		"$samples/towers/L1.bin"
	frames $release 300 "mix" "$samples/mix/pc.txt" "$samples/mix/mix.elf" "$samples/mix/L0.bin"
done

# -------------------------------------------------------------- recordings

cat >"$dir/record.sh" <<'END'
cd /mnt; status=0; n=0
for p in prog qsort-dynamic parcels; do
	n=$((n + 1))
	recording $n
	perf --buildid-dir /mnt/debug record -e ntrace//u -o $p.data -- $p 2>$p.txt || [ $p = parcels ] || status=1
done
cat parcels.txt
recording 4
perf --buildid-dir /mnt/debug record --kcore -e ntrace//k -o kernel.data -- prog || status=1
recording 5
perf --buildid-dir /mnt/debug record -e ntrace/stall/u -o jit.data -- jit /mnt &&
	perf --buildid-dir /mnt/debug inject --jit -i jit.data -o jitted.data || status=1
exit $status
END
guest run "$dir/record.sh"
ok $? "recordings" "$dir/run/guest.out"
grep -qx 'parcels: there are not 16 of them on the shelf' "$dir/run/guest.out"
ok $? "a program finds at its end that something went wrong" "$dir/run/guest.out"
stream=$dir/run/truth.$(awk '$1 == 0 { print $2 }' "$dir/run/console.harts").zst

# list NUMBER: addresses that the program's one thread retired
list()
{
	"$lab/enter" "$build/host/truthlist" --segment "$1" "$stream" |
		awk '$1 == "b" { tid = $3 } $1 == "o" { tid = $2 } $1 == "i" { print tid, $2 }' \
			>"$dir/all"
	awk '{ n[$1]++ } END { for (t in n) if (n[t] > n[most]) most = t; print most }' "$dir/all" \
		>"$dir/tid"
	awk -v tid="$(cat "$dir/tid")" '$1 == tid { print $2 }' "$dir/all"
}

n=0
for p in prog qsort-dynamic; do
	n=$((n + 1))
	list $n >"$dir/$p.list"
	for release in $releases; do
		obeys $release 150 "$p" "$dir/$p.list" --buildid-dir "$share/debug" "$share/$p.data"
	done
	# found by its symbol, wherever it was mapped, in the program and in a library
	serving --buildid-dir "$share/debug" "$share/$p.data"
	variables=(env)
	gdb trixie -ex "target remote 127.0.0.1:$port" -ex sharedlibrary -ex 'break main' \
		-ex continue \
		-ex 'output/x (long)$pc' -ex 'echo \n' -ex 'info symbol $pc' -ex 'info threads' \
		-ex kill >"$dir/$p.gdb" 2>&1
	wait $server
	pc=$(sed -n 's/^0x\([0-9a-f]*\)$/\1/p' "$dir/$p.gdb")
	grep -q '^main' "$dir/$p.gdb" && [ -n "$pc" ] && grep -qx "$pc" "$dir/$p.list" &&
		grep -q "\"${p:0:15} [0-9]*\"" "$dir/$p.gdb"
	ok $? "$p: main is where it was executed, $pc" "$dir/$p.gdb" "$dir/server"
done

# Code that was made at run time, in files of perf inject: other code at the same place later
mkdir "$dir/root"
ln -s /* "$dir/root"
ln -sfn "$share" "$dir/root/mnt"
list 5 >"$dir/jit.list"
for release in $releases; do
	obeys $release 150 "code made at run time" "$dir/jit.list" --symfs "$dir/root" \
		--buildid-dir "$share/debug" "$share/jitted.data"
done
place=$(host_perf run script -i "$share/jitted.data" --show-mmap-events |
	sed -n 's|.*: \[\(0x[0-9a-f]*\)(.* /mnt/jitted-[0-9]*-0\.so$|\1|p')
serving --symfs "$dir/root" --buildid-dir "$share/debug" "$share/jitted.data"
gdb trixie -ex "target remote 127.0.0.1:$port" -ex "break *$place" -ex continue -ex 'x/6wx $pc' \
	-ex 'monitor where' -ex continue -ex 'x/8wx $pc' -ex 'monitor where' -ex kill >"$dir/jit.gdb" 2>&1
wait $server
words()		# NAME: of the function that workloads/jit.c makes
{
	awk -v head="static const uint32_t $1[]" 'index($0, head) { on = 1 } on && /};/ { exit }
		on && /^\t0x/ { print substr($1, 1, 10) }' selftests/workloads/jit.c
}
{ words all; echo all; words odd; echo odd; } >"$dir/want"
awk '/^0x[0-9a-f]+:\t/ { for (i = 2; i <= NF; i++) print $i } /^#0 / { sub(/.*</, ""); sub(/\+.*/, ""); print }' \
	"$dir/jit.gdb" | cmp - "$dir/want" >"$dir/log" 2>&1
ok $? "code made at run time: its bytes and names" "$dir/log" "$dir/jit.gdb" "$dir/want"

# The kernel and its modules have the names that they had, without any program; where there are gaps
# GDB does not stop.
serving --kernel-symbols="$dir/kernel.elf" "$share/kernel.data"
gdb trixie -ex "symbol-file ${dir#"$top/"}/kernel.elf" -ex 'handle SIGTRAP nostop noprint' \
	-ex "target remote 127.0.0.1:$port" -ex 'break *ksys_write' -ex continue -ex \
	'output/x (long)$pc' -ex 'echo \n' \
	-ex 'info symbol $pc' -ex 'delete' -ex 'break *ntrace_cpu_del' -ex continue -ex \
	'output/x (long)$pc' \
	-ex 'echo \n' -ex 'info symbol $pc' -ex kill >"$dir/kernel.gdb" 2>&1
wait $server
awk '$3 == "ksys_write" || $3 == "ntrace_cpu_del" { print "0x" $1; print $3 " in section .text" }' \
	"$share/kernel.data/kcore_dir/kallsyms" | LC_ALL=C sort >"$dir/want"
grep -E '^0x[0-9a-f]+$| in section ' "$dir/kernel.gdb" | LC_ALL=C sort | cmp - "$dir/want" &&
	[ "$(wc -l <"$dir/want")" = 4 ]
ok $? "kernel: functions of the kernel and of a module, by their names" "$dir/kernel.gdb" \
	"$dir/server" "$dir/want"
executed=$("$lab/enter" "$build/host/truthlist" --segment 4 "$stream" |
	awk 'NR == FNR { want[substr($1, 3)]; next } $1 == "i" && $2 in want { n[$2]++ }
		END { for (pc in n) found++; print found + 0 }' <(grep ^0x "$dir/want") -)
[ "$executed" = 2 ]
ok $? "kernel: both were executed there"

# ------------------------------------------------------------- what pages show

# a session, with what GDB prints; addresses are the compiler's, folders, numbers and times this
# machine's
plain()
{
	sed 's/0x[0-9a-f]*/0x/g; s/+[0-9]*>/+>/; s| at [^ ]*/\([a-z]*\.c\):| at \1:|; s/^parcels [0-9]*: .*: 0x/parcels: 0x/'
}

# shows PAGE RECORDING: each line of the page's session is printed, and no other in between is
# missing
shows()
{
	local page=$1 data=$2 what

	what=$dir/$(basename "$page")
	# the server is elsewhere here, and so is what is not installed
	sed -n 's/^    (gdb) //p' "$top/$page" |
		sed "s|^target remote .*|target remote 127.0.0.1:@PORT@|
		s|/usr/share/ntrace/|tools-perf/ntrace/|" >"$what.commands"
	awk '/^    \(gdb\)/ { on = 1 } on && /^    [^(]/ { print substr($0, 5) } /^[^ ]/ { on = 0 }' "$top/$page" |
		plain >"$what.want"
	serving --buildid-dir "$share/debug" "$share/$data"
	grep -q '^target remote' "$what.commands" ||
		sed -i '1i target remote 127.0.0.1:@PORT@' "$what.commands"
	sed "s/@PORT@/$port/" "$what.commands" >"$what.gdb"
	variables=(env)
	gdb trixie -x "${what#"$top/"}.gdb" -ex kill 2>&1 | tee "$what.got" | plain >"$what.plain"
	wait $server
	# in that order
	[ -s "$what.want" ] && awk 'NR == FNR { want[++n] = $0; next } at < n && $0 == want[at + 1] { at++ }
		END { if (at < n) print "missing: " want[at + 1]; exit at < n }' "$what.want" \
			"$what.plain" >"$what.missing"
	ok $? "$page: GDB prints its $(wc -l <"$what.want") lines" "$what.missing" "$what.got"
}
shows README.md prog.data
shows Documentation/trace/ntrace-gdb.rst parcels.data

finish
