#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Stock GDB on recordings of a bare-metal program that was compiled without optimisation, as N-Trace
# and with full state. Steps by line must end where the list of executed instructions and libdw's
# line table say. Frames, variables and registers must be equal to those of another machine that
# executes the program step by step. Watchpoints must stop at each access.

name=steps
. "$(dirname "$0")/lib.bash"
. "$top/selftests/lab/gdb.bash"

seed=${SEED:-$RANDOM}
echo "# SEED=$seed"
ntrace=$build/host/ntrace
virt="qemu-system-riscv64 -M virt -m 128 -cpu rv64 -bios none -display none
	-semihosting-config enable=on,target=native"
virt=${virt//[$'\n\t']/ }
steps="-kernel $dir/steps.elf"
# without interrupts: a machine that a debugger steps through takes none
supervisor="-kernel $dir/supervisor.elf -device loader,file=$dir/user.bin,addr=0x81001000,force-raw=on"

setup_gdb

#
# What was executed
#

"$lab/enter" make -s --no-print-directory -C selftests/qemu/baremetal out="$dir" USER_ROUNDS=20 \
	TICK=0 "$dir/steps.elf" "$dir/user.bin" "$dir/supervisor.elf" >"$dir/make.out" 2>&1 &&
	"$lab/enter" gcc -O2 -Wall -Wextra -o "$dir/lines" selftests/lab/lines.c \
		-ldw >>"$dir/make.out" 2>&1
ok $? "builds" "$dir/make.out"

# record NAME PROGRAM: $dir/NAME.nt, what the model says that retired in NAME.truth, all state in
# NAME.tv
record()
{
	# shellcheck disable=SC2086
	"$lab/enter" timeout 900 $virt $2 -plugin \
		"$build/host/ntrace-plugin.so,trace=$dir/$1.nt,truth=$dir/$1.truth,state=$dir/$1.tv" \
		</dev/null >"$dir/$1.out" 2>&1 &&
		"$lab/enter" "$ntrace" tv dump "$dir/$1.tv" >"$dir/$1.dump" 2>>"$dir/$1.out"
}
status=0
record steps "$steps" && record user "$supervisor" || status=1
# up to where the program asks the host for something; a tandem trace has the six before it, too
"$lab/enter" "$build/host/truthlist" "$dir/steps.truth" |
	awk '$1 == "e" { on = 0; exit } $1 == "i"' >"$dir/list" || [ -s "$dir/list" ] || status=1
rom=$(awk '/ insn=/ { if (/pc=80000000 /) { print n + 1; exit } n++ }' "$dir/steps.dump")
awk '{ print $2 }' "$dir/list" | sort -u |
	"$lab/enter" "$dir/lines" "$dir/steps.elf" >"$dir/table" 2>&1 || status=1
[ "${rom:-0}" -gt 0 ] || status=1
ok $status "$(wc -l <"$dir/list") instructions, $(grep -c '^row' "$dir/table") rows of lines" \
	"$dir/steps.out" "$dir/user.out" "$dir/table"

#
# Lines and frames
#

# walks RELEASE COMMANDS NAME FIRST SCRIPT ARGUMENT...
walks()
{
	local release=$1 commands=$2 what=$3 first=$4 script=$5 said variables
	shift 5

	serving --elf "$dir/steps.elf" "$@"
	# not LINES: that is how many a terminal has
	variables=(env "PORT=$port" "LIST=$dir/list" "FIRST=$first" "TABLE=$dir/table" WITHIN=work \
		INLINED=fold
		"COMMANDS=$commands" "SEED=$seed" "SCRIPT=$script")
	gdb "$release" -ex "file $dir/steps.elf" -x selftests/lab/gdblines.py >"$dir/gdb.out" 2>&1
	wait $server
	said=$(sed -n 's/^ok: //p' "$dir/gdb.out")
	[ -n "$said" ]
	ok $? "$release, lines, $what: $said" "$dir/gdb.out" "$dir/server"
}

for release in $releases; do
	walks $release 300 "N-Trace" 0 tools-perf/ntrace/ntrace-gdb.py "$dir/steps.nt"
	walks $release 300 "tandem verification" "$rom" "" --tv "$dir/steps.tv"
	more walks $release 10000 "N-Trace, more" 0 tools-perf/ntrace/ntrace-gdb.py "$dir/steps.nt"
	more walks $release 10000 "tandem verification, more" "$rom" "" --tv "$dir/steps.tv"
done

#
# All registers and memory that are known, at 200 positions
#

# witness NAME LAST PROGRAM MEMORY ELF...
witness()
{
	local what=$1 last=$2 program=$3 memory=$4 images= status=0
	shift 4

	for elf; do
		images+=" --elf $elf"
	done
	"$lab/enter" timeout 900 python3 selftests/lab/stub.py \
		"$ntrace gdbserver --tv$images - $dir/$what.tv 2>$dir/server" \
		"$virt $program -S -gdb stdio" 200 "$last" "$seed" "$memory" >"$dir/stub.out" \
		2>&1 || status=1
	ok $status "$what, against a machine that steps: $(sed -n 's/^ok: //p' "$dir/stub.out")" \
		"$dir/stub.out" "$dir/server"
}

# of the second the addresses are others' than the machine's
sed -n 's/.* paddr=\([0-9a-f]*\).*/\1/p' "$dir/steps.dump" | grep '^80' | sort -u >"$dir/memory"
[ "$(wc -l <"$dir/memory")" -ge 100 ]
ok $? "$(wc -l <"$dir/memory") addresses of memory"
witness steps "$(($(wc -l <"$dir/list") + rom))" "$steps" "$dir/memory" "$dir/steps.elf"
witness user 14000 "$supervisor" /dev/null "$dir/supervisor.elf" "$dir/user.elf"

#
# Frames and variables as GDB shows them, and watchpoints
#

# where work() is, first and last, in the list
read -r low high <<<"$(awk '$1 == "function" && $4 == "work" { print $2, $3 }' "$dir/table")"
read -r first last <<<"$(awk -v low="$low" -v high="$high" -v rom="$rom" '
	$2 >= low && $2 < high { if (!n++) first = NR; last = NR }
	END { print first - 1 + rom, last - 1 + rom }' "$dir/list")"
positions=$(awk -v from="$first" -v seed="$seed" 'BEGIN {
	srand(seed)
	for (i = 0; i < 60; i++)
		print from + int(rand() * 5000)
}' | sort -n | paste -sd' ')

# states RELEASE: what GDB says of a machine, then of the recording
states()
{
	local release=$1 machine said variables

	rm -f "$dir/gdb.socket" "$dir/said"
	# the name of a socket is short, that of a project need not be
	# shellcheck disable=SC2086
	"$lab/enter" timeout 900 $virt $steps -S -gdb chardev:gdb \
		-chardev "socket,path=${dir#"$top"/}/gdb.socket,server=on,wait=off,id=gdb" \
		</dev/null >"$dir/machine" 2>&1 &
	machine=$!
	while [ ! -S "$dir/gdb.socket" ] && kill -0 $machine 2>/dev/null; do
		sleep 0.1
	done
	variables=(env "STUB=${dir#"$top"/}/gdb.socket" "POSITIONS=$positions" "SAID=$dir/said")
	gdb "$release" -ex "file $dir/steps.elf" -x selftests/lab/gdbstate.py >"$dir/gdb.machine" \
		2>&1
	kill $machine 2>/dev/null
	wait $machine 2>/dev/null
	serving --tv --elf "$dir/steps.elf" "$dir/steps.tv"
	variables=(env "PORT=$port" "POSITIONS=$positions" "SAID=$dir/said" "WITHIN=$first $last"
		"DUMP=$dir/steps.dump")
	gdb "$release" -ex "file $dir/steps.elf" -x selftests/lab/gdbstate.py >"$dir/gdb.out" 2>&1
	wait $server
	said=$(sed -n 's/^ok: //p' "$dir/gdb.out")
	[ -n "$said" ]
	ok $? "$release, frames, variables, watchpoints: $said" "$dir/gdb.machine" "$dir/gdb.out" \
		"$dir/server"
}

for release in $releases; do
	states $release
done

#
# LLDB of Debian's next release, or LLDB=DIRECTORY, a tree with it
#

# A breakpoint, frames with an argument, and an instruction: where the list says
debug_by_lldb()
{
	local tree=${LLDB:-$build/rootfs-gdb-forky} status=0 at want

	serving --tv --elf "$dir/steps.elf" "$dir/steps.tv"
	LAB_ROOTFS=$tree timeout 300 "$lab/enter" lldb --no-lldbinit -b \
		-o 'settings set target.process.disable-memory-cache true' \
		-o "target create $dir/steps.elf" -o "gdb-remote 127.0.0.1:$port" -o \
		'breakpoint set -n deliver' \
		-o continue -o 'thread backtrace' -o 'register read pc' -o 'thread step-inst' \
		-o 'register read pc' -o 'process kill' \
		</dev/null >"$dir/lldb.out" 2>&1
	wait $server
	at=$(sed -n 's/^ *pc = 0x0*\([0-9a-f]*\).*/\1/p' "$dir/lldb.out" | paste -sd' ')
	want=$(awk -v first="${at%% *}" '$2 == first { print $2, $3; exit }' "$dir/list")
	[ -n "$at" ] && [ "$at" = "$want" ] || status=1
	# of its frames and variables those of the program's first delivery
	for line in 'frame #0: .*`deliver(order=1) at steps.c' 'frame #1: .*`work at steps.c' \
		'frame #2: .*`main at steps.c'; do
		grep -q "$line" "$dir/lldb.out" || status=1
	done
	ok $status "$(LAB_ROOTFS=$tree "$lab/enter" lldb --version | head -n 1): a breakpoint, frames, a step" \
		"$dir/lldb.out" "$dir/server"
}
more debug_by_lldb

finish
