#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Verifies full-state traces of the model instruction by instruction against another QEMU, in system
# mode and in user mode, over GDB's protocol. Tests also where faults in such traces are detected.
#	groups=N	of each trace (20000), or all: millions of steps, minutes
#	faults=N	over GDB (20)

name=tandem
. "$(dirname "$0")/lib.bash"

groups=${groups:-20000}
faults=${faults:-20}
[ "$groups" != all ] || groups=1000000000
seed=${SEED:-$((RANDOM << 15 | RANDOM))}
RANDOM=$((seed & 32767))
echo "# SEED=$seed"

ntrace=$build/host/ntrace
virt="qemu-system-riscv64 -M virt -m 128 -cpu rv64 -bios none -display none
	-semihosting-config enable=on,target=native"
supervisor="-kernel $build/baremetal/supervisor.elf -device
	loader,file=$build/baremetal/user.bin,addr=0x41001000,force-raw=on"
supervisor=${supervisor/0x41001000/0x81001000}
tour="-kernel $dir/tour.elf"
# what nobody but the machine itself knows, the timer's registers among it
unknown=mip,mtime,time,cycle,instret,minstret,sc,200bff8-200bfff

# record NAME PROGRAM [OPTION]: its state in $dir/NAME.tv
record()
{
	# shellcheck disable=SC2086
	"$lab/enter" timeout 900 $virt $2 -plugin \
		"$build/host/ntrace-plugin.so,trace=$dir/%d.nt,state=$dir/$1.tv${3:-}" \
		</dev/null >"$dir/$1.out" 2>&1
}

# against system NAME PROGRAM [OPTION...]; against user NAME: what it says in $dir/said
against()
{
	local mode=$1 trace=$2 status=0 stub= verifier

	if [ "$mode" = user ]; then
		shift 2
		rm -f "$dir/gdb"
		qemu-riscv64 -g "$dir/gdb" "$build/baremetal/user.elf" </dev/null >"$dir/stub.out" \
			2>&1 &
		stub=$!
		verifier=gdb:$dir/gdb
	else
		verifier="gdb-pipe:$virt $3 -S -gdb stdio"
		shift 3
	fi
	"$lab/enter" timeout 7200 "$ntrace" tv verify "$dir/$trace.tv" \
		--against "${verifier//$'\n'/ }" \
		--nondeterministic=$unknown "$@" >"$dir/said" 2>"$dir/err" || status=$?
	[ -z "$stub" ] || { kill "$stub" 2>/dev/null; wait "$stub" 2>/dev/null || :; }
	return $status
}

said()		# WORD: the number behind it, in the last line
{
	sed -n "\$s/.* $1 \([0-9]*\).*/\1/p" "$dir/said"
}

# Beside what others build at the same time
{
	(. "$lab/common.sh" && need_tool qemu-riscv64 qemu-user) &&
		"$lab/enter" make -s --no-print-directory -C selftests/qemu/baremetal &&
		"$lab/enter" make -s --no-print-directory -C selftests/qemu/baremetal out="$dir" \
			ROUNDS=20 "$dir/tour.elf"
} >"$dir/make.out" 2>&1
ok $? "builds" "$dir/make.out"

status=0
record tour "$tour" && record machine "$supervisor" && record user "$supervisor" ,state_user=1 ||
	status=$?
ok $status "recorded" "$dir"/*.out

#
# Appendix D: an instruction of each category takes no more bytes than the table says
#

status=0
for trace in tour machine user; do
	"$lab/enter" "$ntrace" tv stat "$dir/$trace.tv" >"$dir/$trace.stat" 2>&1 || status=$?
done
! grep -H exceeded "$dir"/*.stat >"$dir/exceeded" || status=1
ok $status "no category is larger than in table D" "$dir/exceeded" "$dir/tour.stat"
missing=
while read -r category; do
	grep -qh "^$category  " "$dir"/*.stat || missing+=" '$category'"
done <<'END'
integer computation
nop
branch, jump
branch and link
load
load, virtual
store
store, virtual
sc, amo
csr read-write
csr read only
csr write only
fp computation
fp move
fp conversion
fp load
fp store
interrupt
exception
END
[ -z "$missing" ]
ok $? "each category is there${missing:+, but not$missing}" "$dir"/machine.stat
insns=$(awk '/^(16|32)-bit instruction/ { n += $3 } END { print n + 0 }' "$dir/user.stat")
[ "$insns" -ge 1000000 ]
ok $? "a program of $insns instructions in U mode" "$dir/user.stat"

#
# Against another machine
#

# pass LEAST NAME ARGUMENT...: no mismatch in so many instructions
pass()
{
	local least=$1 text=$2 status=0 begin=${EPOCHREALTIME/./}
	shift 2

	[ "$least" -le "$groups" ] || least=$((groups - 1000))
	against "$@" --limit "$groups" || status=$?
	[ "$(said instructions)" -ge "$least" ] 2>/dev/null || status=1
	ok $status "$text: $(said instructions) instructions, $(said mismatches) mismatches, $(($(said groups) * 1000000 / (${EPOCHREALTIME/./} - begin + 1)))/s" \
		"$dir/said" "$dir/err"
}

pass 15000 "machine mode with interrupts, against a machine" system tour "$tour"
pass 18000 "U mode and its supervisor, against a machine" system machine "$supervisor"
pass 1000000 "U mode alone, against a user-mode emulator" user user

#
# 2,000 faults in pieces of them, against a recorded verifier
#

for trace in tour machine user user; do
	status=0
	"$lab/enter" env top="$top" out="$build/host" TRACE="$dir/$trace.tv" ROUNDS=500 \
		SEED=$((seed + RANDOM)) \
		"$build/host/tests/tv-verify-test" >"$dir/faults" 2>&1 || status=$?
	ok $status "$trace: $(sed -n 's/^# \(.* faults: .*\)/\1/p' "$dir/faults")" "$dir/faults"
done

#
# Faults over GDB: each shows in the group where a recorded verifier, which knows all, sees it,
# except what
# GDB's protocol cannot tell: mtime, transactions, addresses of loads, and of stores where the same
# value is
#

# fault NAME FIRST LAST: $dir/good.tv and bad.tv, which differ in a bit
fault()
{
	local bit byte

	head -c "$3" "$dir/$1.tv" >"$dir/good.tv"
	cp "$dir/good.tv" "$dir/bad.tv"
	bit=$(((RANDOM << 15 | RANDOM) % (8 * ($3 - $2)) + 8 * $2))
	byte=$(od -An -tu1 -j $((bit / 8)) -N 1 "$dir/bad.tv")
	# shellcheck disable=SC2059
	printf "$(printf '\\x%02x' $((byte ^ 1 << bit % 8)))" |
		dd of="$dir/bad.tv" bs=1 seek=$((bit / 8)) conv=notrunc status=none
	echo "$bit" >"$dir/bit"
}

# Lines of mismatches that GDB cannot see; what a transaction had is gone when the stub has stepped
hidden='(physical address|effective address|mtime|transaction at [0-9a-f]*): '

# A stub reads memory at effective addresses, and another place may have the same value; what
# follows from a transaction that was not seen is not, either.
elsewhere()
{
	sed -n 1p "$dir/recorded" >"$dir/first"
	grep -qE '^0x[0-9a-f]*: ((physical|effective) address|transaction at [0-9a-f]*): ' \
		"$dir/first"
}

# $dir/bad.tv against good.tv as a recorded verifier: what it says in $dir/recorded
against_recorded()
{
	"$lab/enter" "$ntrace" tv verify "$dir/bad.tv" --against "tv:$dir/good.tv" --most 1000000 \
		>"$dir/recorded" 2>"$dir/recorded.err"
}

# one_fault MODE NAME [PROGRAM]: $seen is where, or why it is not to be seen; false: wrong
one_fault()
{
	local mode=$1 wanted=0 status=0
	shift 2

	against_recorded || wanted=$?
	against "$mode" bad "$@" || status=$?
	# U mode's emulator has no reset, and one that is told there is a fault that was seen
	if [ $status = 2 ] && [ "$mode" = user ] &&
		grep -q 'the trace resets the hart' "$dir/err"; then
		seen=refused
		return
	fi
	case $wanted in
	2)	seen=refused
		[ $status = 2 ] && grep -qxFf "$dir/recorded.err" "$dir/err" ;;
	0)	seen=nothing
		[ $status = 0 ] ;;
	*)	if [ -z "$(grep '^0x' "$dir/recorded" | grep -vE "$hidden")" ] || elsewhere; then
			seen=hidden
			[ $status = 0 ] && return
		fi
		seen=shown
		[ $status = 1 ] && [ "$(sed 's/: .*//; q' "$dir/recorded")" = \
			"$(sed 's/: .*//; q' "$dir/said")" ] ;;
	esac
}

declare -A counts=([shown]=0 [refused]=0 [hidden]=0 [nothing]=0)
bounds()	# NAME: where the group behind the first store begins, and where the 1001st of them
{
	"$lab/enter" "$ntrace" tv dump "$dir/$1.tv" 2>/dev/null | grep -av 'reset\|init' |
		sed '1,/ store/d' | head -n 1001 |
		sed -n '1p; $p' | sed 's/:.*//; s/^/0x/' | paste -sd' '
}

read -r first last <<<"$(bounds tour)"
read -r first_user last_user <<<"$(bounds user)"
wrong=0
for ((n = 1; n <= faults; n++)); do
	if [ $((n % 2)) = 0 ]; then
		fault tour $((first)) $((last))
		one_fault system bad "$tour" || wrong=$((wrong + 1))
	else
		fault user $((first_user)) $((last_user))
		one_fault user bad || wrong=$((wrong + 1))
	fi
	counts[$seen]=$((counts[$seen] + 1))
	[ $wrong = 0 ] || break
done
[ $wrong = 0 ]
ok $? "$faults faults over GDB: ${counts[shown]} in their groups, ${counts[refused]} refused, ${counts[hidden]} in addresses, transactions or mtime, ${counts[nothing]} in nothing that is compared" \
	"$dir/bit" "$dir/recorded" "$dir/recorded.err" "$dir/said" "$dir/err"

# A store that a trace which tells of others leaves out, one of each encoding
leave_out()	# NAME GROUPS: $dir/good.tv and bad.tv
{
	"$lab/enter" "$ntrace" tv dump "$dir/$1.tv" 2>/dev/null | head -n "$2" >"$dir/dump"
	python3 - "$dir" "$1" <<'END'
import re, sys

dir, name = sys.argv[1:]
trace = open(f'{dir}/{name}.tv', 'rb').read(1 << 22)
lines = [l for l in open(f'{dir}/dump') if re.match(' *[0-9a-f]+: pc', l)]
at = [int(l.split(':')[0], 16) for l in lines]
memory, seen, left_out, bad = {}, set(), [], bytearray(trace[:at[0]])
for n in range(len(at) - 1):
    group = trace[at[n]:at[n + 1]]
    store = re.search(rb'\x07[\x04-\x07](.{1,8})\x02$', group, re.S)
    insn = re.search(r'insn=([0-9a-f]+)', lines[n]).group(1) if 'insn=' in lines[n] else ''
    addr = re.search(r' paddr=([0-9a-f]+)', lines[n])
    if store and addr:
        if memory and memory.get(addr[1]) != store[1] and insn not in seen:
            seen.add(insn)
            left_out.append(f'0x{len(bad):x}\n')
            group = group[:store.start()] + b'\x02'
        memory[addr[1]] = store[1]
    bad += group
open(f'{dir}/good.tv', 'wb').write(trace[:at[-1]])
open(f'{dir}/bad.tv', 'wb').write(bad)
open(f'{dir}/left-out', 'w').writelines(sorted(left_out))
END
}

# left_out TEXT LEAST MODE NAME [PROGRAM]
left_out()
{
	local text=$1 least=$2 mode=$3 name=$4 wanted=0 status=0
	shift 4

	leave_out "$name" 12000 || wanted=2
	[ $wanted = 2 ] || against_recorded || wanted=$?
	against "$mode" bad "$@" --most 1000000 || status=$?
	for f in recorded said; do
		sed -n 's/^\(0x[0-9a-f]*\): memory.*/\1/p' "$dir/$f" | LC_ALL=C sort -u |
			LC_ALL=C comm -12 - "$dir/left-out" >"$dir/$f.at"
	done
	[ $wanted = 1 ] && [ $status = 1 ] && [ "$(wc -l <"$dir/said.at")" -ge "$least" ] &&
		diff "$dir/recorded.at" "$dir/said.at" >"$dir/diff"
	ok $? "$text: $(wc -l <"$dir/left-out") stores left out, $(wc -l <"$dir/said.at") change memory and are seen" \
		"$dir/diff" "$dir/recorded.err" "$dir/err" "$dir/said"
}

left_out "machine mode" 10 system tour "$tour"
left_out "U mode" 4 user user

#
# A partial trace of Linux: U mode of a program, by its N-Trace, against the truth
#

mkdir "$dir/root"
cp "$build/guest/bin/qsort" "$dir/root/init"
{
	"$lab/enter" sh -c "cd $dir/root && echo init | cpio -o -H newc --quiet >$dir/linux.cpio" &&
		"$lab/enter" timeout 900 qemu-system-riscv64 -M virt -m 512 -cpu rv64 -kernel \
			"$build/kernel/vmlinux" \
			-initrd "$dir/linux.cpio" -append \
			"console=ttyS0 panic=-1 rdinit=/init -- 6" \
			-display none -monitor none -no-reboot -plugin \
			"$build/host/ntrace-plugin.so,trace=$dir/linux.nt,truth=$dir/linux.tv,privileges=1,retstack=3"
} >"$dir/linux.out" 2>&1 </dev/null || :
linux()		# TRACE: status and $(said instructions) as of `against'
{
	local status=0

	"$lab/enter" "$ntrace" tv verify "$dir/$1" --against "ntrace:$dir/linux.nt" \
		--elf "$dir/root/init" \
		--retstack=3 >"$dir/said" 2>"$dir/err" || status=$?
	return $status
}
status=0
linux linux.tv || status=$?
[ "$(said instructions)" -ge 20000000 ] 2>/dev/null || status=1
ok $status "Linux: $(said instructions) instructions of U mode in $(said groups) groups" \
	"$dir/said" "$dir/err" "$dir/linux.out"

# One bit of one instruction in the middle of it
last=$(($(stat -c %s "$dir/linux.tv") / 2))
"$lab/enter" "$ntrace" tv dump "$dir/linux.tv" 2>/dev/null |
	awk -v least=$last 'BEGIN { h = sprintf("%x", least) } length($1) - 1 >= length(h) && $1 > h && /pc\+ insn=........$/ { sub(":", "", $1); print $1; exit }' >"$dir/at"
at=$((16#$(cat "$dir/at")))
printf "$(printf '\\x%02x' $(($(od -An -tu1 -j $((at + 6)) -N 1 "$dir/linux.tv") ^ 64)))" |
	dd of="$dir/linux.tv" bs=1 seek=$((at + 6)) conv=notrunc status=none
status=0
linux linux.tv || status=$?
[ $status = 1 ] && grep -q "^0x$(cat "$dir/at"): instruction: " "$dir/said" &&
	[ "$(said mismatches)" = 1 ]
ok $? "a bit of an instruction there" "$dir/said" "$dir/err" "$dir/at"

rm -f "$dir"/*.nt "$dir/linux.tv"
[ $failures != 0 ] || rm -f "$dir"/*.tv
finish
