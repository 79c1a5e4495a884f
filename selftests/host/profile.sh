#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# ntrace profile: every count equals what decode's lists come to, also of traces
# with traps and losses; the three formats; the tools that read them, where they
# are installed, take them. SEED=N repeats a run.

. "$(dirname "$0")/lib.bash"
seed=${SEED:-$RANDOM}
RANDOM=$seed
echo "# SEED=$seed"
program=$samples/mix/mix.elf

# Instructions executed one after the other without a transfer, as `A B count`, by
# the list of addresses and the list of runs; and instructions, as `A count`.
# Runs are arrays of the addresses that were executed, for code does not overlap.
from_list()
{
	awk '/^#/ { next } { print $1 }' "$1" | sort | uniq -c | awk '{ print $2, $1 }'
}

from_runs()	# ADDRESS-LIST PROFILE
{
	awk '{ print $1 }' "$1" | sort -u | awk '
		# ECALL never retires, so it is not in the list, but may end a run
		function upto(x,    k) {
			for (k = n; !(x in at) && k && a[k] "" > x ""; k--);
			return x in at ? at[x] : k
		}
		NR == FNR { a[++n] = $1; at[$1] = n; next }
		$1 == "F" { d[upto($2)] += $4; d[upto($3) + 1] -= $4 }
		END { for (k = 1; k <= n; k++) { sum += d[k]; print a[k], sum } }' - "$2"
}

# exact DESCRIPTION STATUS ARGUMENT...
exact()
{
	local description=$1 want=$2 status=0
	shift 2

	"$ntrace" profile --format=bolt "$@" >"$scratch/bolt" 2>"$scratch/stderr" || status=$?
	"$ntrace" decode --output=pc "$@" | grep -v '^#' >"$scratch/pcs"
	from_list "$scratch/pcs" >"$scratch/want"
	from_runs "$scratch/pcs" "$scratch/bolt" >"$scratch/got"
	[ $status = "$want" ] && [ -s "$scratch/want" ] && cmp "$scratch/want" "$scratch/got"
	verdict $? "$description: each of $(wc -l <"$scratch/want") instructions' count"
	"$ntrace" decode --output=branch "$@" |
		awk '!/^#/ && $3 !~ /^(trap|exception|interrupt|eret)$/ { n[$1 " " $2]++ }
		     END { for (e in n) print "B", e, n[e], 0 }' | sort >"$scratch/want"
	grep '^B' "$scratch/bolt" | sort >"$scratch/got"
	[ -s "$scratch/want" ] && cmp "$scratch/want" "$scratch/got"
	verdict $? "$description: each of $(wc -l <"$scratch/want") branches' count"
}

for level in 0 1 2; do
	exact "mix L$level" 0 --elf "$program" "$samples/mix/L$level.bin"
done
exact 'towers L4' 0 --retstack=3 --elf "$samples/towers/towers.elf" \
	"$samples/towers/L4.bin"
exact 'rv32' 0 --profile=sifive --elf "$samples/rv32/rv32.elf" \
	"$samples/rv32/L1.bin"

# losses: bytes changed at random
cp "$samples/mix/L1.bin" "$scratch/bad"
for ((i = 0; i < 3; i++)); do
	printf '\x5a\x01\xff' |
		dd of="$scratch/bad" bs=1 seek=$((RANDOM % 20000)) conv=notrunc status=none
done
"$ntrace" decode --elf "$program" "$samples/mix/L1.bin" >"$scratch/list"
"$ntrace" encode --elf "$program" --pc "$scratch/list" --syncmode=2 --syncmax=6 -o "$scratch/bad"
size=$(stat -c %s "$scratch/bad")
for ((i = 0; i < 5; i++)); do
	printf '\x5a\x02\x03' |
		dd of="$scratch/bad" bs=1 seek=$((RANDOM % (size - 3))) conv=notrunc status=none
done
exact 'a damaged trace' 1 --elf "$program" "$scratch/bad"
grep -q '^ntrace: [1-9][0-9]* losses, [0-9]* bytes skipped$' "$scratch/stderr"
verdict $? 'losses are reported on stderr'

# traps: an ECALL that returns behind itself, an interrupt that returns to where it came
# 1000 c.nop; 1002 ecall; 1006 c.nop; 1008 c.j 1000;  2000 c.nop; 2002 mret
printf '\x01\0\x73\0\0\0\x01\0\xe5\xbf' >"$scratch/low"
printf '\x01\0\x73\0\x20\x30' >"$scratch/high"
printf '%s\n' 1000 2000 2002 1006 2000 2002 1008 1000 >"$scratch/list"
image=(--raw "$scratch/low@0x1000" --raw "$scratch/high@0x2000")
"$ntrace" encode --gaps=trap "${image[@]}" --pc "$scratch/list" -o "$scratch/traps"
"$ntrace" profile "${image[@]}" --format=bolt "$scratch/traps" | sort >"$scratch/got"
printf '%s\n' 'B 1008 1000 1 0' 'F 1000 1000 1' 'F 1000 1008 1' 'F 2000 2002 2' >"$scratch/want"
cmp "$scratch/want" "$scratch/got"
verdict $? 'a run goes on behind a trap, which is no branch'

# a pause: where trace goes on it comes from the instruction before. c.nop...
printf '\x01\0\x01\0\x01\0\x01\0' >"$scratch/nops"
# ProgTraceSync 5, 0, 80; ProgTraceCorrelation 4, 1, 1, 1 at 102; ProgTraceSync 3, 0, 81; the same
# at 104
printf '\x24\x15\0\x0b\x84\x50\x05\x07\x24\x0d\x04\x0b\x84\x50\x05\x07' >"$scratch/pause"
[ "$("$ntrace" profile --format=bolt --raw "$scratch/nops@0x100" "$scratch/pause")" = \
	'F 100 102 1' ]
verdict $? 'a run goes on behind a pause'
# ... and 3, 0, 82: trace went on further down
printf '\x24\x15\0\x0b\x84\x50\x05\x07\x24\x0d\x08\x0b\x84\x50\x05\x07' >"$scratch/pause"
[ "$("$ntrace" profile --format=bolt --raw "$scratch/nops@0x100" "$scratch/pause")" = \
	$'F 100 100 1\nF 104 104 1' ]
verdict $? '... not behind one that something else was executed in'

# 100, then 104, then 102: each starts where another one had stopped, but not the one before
printf '\x24\x15\0\x0b\x84\x50\x05\x07\x24\x0d\x08\x0b\x84\x50\x05\x07\x24\x0d\x04\x0b\x84\x50\x05\x07' >"$scratch/pause"
[ "$("$ntrace" profile --format=bolt --raw "$scratch/nops@0x100" "$scratch/pause")" = \
	$'F 100 100 1\nF 102 102 1\nF 104 104 1' ]
verdict $? '... not to where trace stopped some time ago'

# mix.elf has code from 80000000 to 80001fff: `c.j .' is right behind them, and right in front
printf '\x01\xa0' >"$scratch/jump"
for at in 80002000 7ffffffe; do
	printf '%s\n' $at $at $at >"$scratch/list"
	image=(--elf "$program" --raw "$scratch/jump@0x$at")
	"$ntrace" encode "${image[@]}" --pc "$scratch/list" -o "$scratch/behind"
	"$ntrace" profile "${image[@]}" --format=bolt "$scratch/behind" >"$scratch/got" \
		2>"$scratch/stderr"
	[ ! -s "$scratch/got" ] && grep -q '^ntrace: [23] transfers to or from other code' \
		"$scratch/stderr"
	verdict $? "what is not in the program's file is not in the profile: $at"
done
# what perf script prints: the same branches, in an ELF file that was mapped elsewhere,
# a call out of it and a trap that returns in it
script_of()	# NAME: 8000dxxx was mapped at 8100dxxx, and is in the file at dxxx + 0x1000
{
	"$ntrace" decode --elf "$program" --output=branch "$samples/mix/L1.bin" | grep -v '^#' |
		awk -v name="$1" '
		function place(hex) {
			return "81" substr(hex, 3) " (/mnt/" name "+0x" \
				substr("123456789abcdef", index("0123456789abcde", substr(hex, 5, 1)), 1) substr(hex, 6) ")"
		}
		function put(flags, from, to) {
			printf "%16s 7/7 [000] 1.0: %s %s => %s\n", name, flags, from, to
		}
		NR == 1 { put("tr strt", "0 ([unknown])", place("80000000")) }
		{ put($3 == "cond" ? "jcc" : $3 == "ret" ? "return" : $3, place($1), place($2)); last = $2 }
		NR == 100 {
			put("tr end  syscall", place(last), "0 ([unknown])")
			put("tr strt", "0 ([unknown])", place(last))
			put("hw int", place(last), "ffffffff80001000 ([kernel.kallsyms]+0x1000)")
			put("call", "ffffffff80001004 ([kernel.kallsyms]+0x1004)", "ffffffff80002000 ([kernel.kallsyms]+0x2000)")
			put("iret", "ffffffff80002004 ([kernel.kallsyms]+0x2004)", place(last))
		}
		END { put("tr end", place(last), "0 ([unknown])") }'
}
script_of mix.elf >"$scratch/script"
"$ntrace" profile --format=bolt --perf-script --elf "$program" "$scratch/script" \
	2>"$scratch/stderr" | sort >"$scratch/got"
# the last branch leads to itself: a run of one instruction, cut off here
"$ntrace" profile --format=bolt --elf "$program" "$samples/mix/L1.bin" | sort >"$scratch/want"
diff "$scratch/want" "$scratch/got" | sed 's/^/# /' | head -n 20
cmp "$scratch/want" "$scratch/got" &&
	grep -q '^ntrace: 1 transfers to or from other code' "$scratch/stderr"
verdict $? 'the same profile from what perf script prints'
sed '50a\ instruction trace error type 1 time 1.0 cpu 0 pid 7 tid 7 ip 0 code 6: the encoder lost messages' \
	"$scratch/script" >"$scratch/lossy"
status=0
"$ntrace" profile --format=bolt --perf-script --elf "$program" - <"$scratch/lossy" >"$scratch/got" \
	2>"$scratch/stderr" || status=$?
[ $status = 1 ] && grep -q '^ntrace: 1 losses$' "$scratch/stderr" &&
	[ "$(awk '/^B/ { n += $4 } END { print n }' "$scratch/got")" = \
		"$(awk '/^B/ { n += $4 } END { print n }' "$scratch/want")" ]
verdict $? '... with a loss: it is reported, and what was taken is counted'
# the first instructions: what came before the address that was lost
mapfile -t pcs < <("$ntrace" decode --elf "$program" --no-marks "$samples/mix/L1.bin" | head -n 4)
{
	head -n 1 "$scratch/script"
	echo " instruction trace error type 1 time 1.0 cpu 0 pid 7 tid 7 ip 0x81${pcs[3]:2} code 6: lost"
} >"$scratch/lossy"
[ "$("$ntrace" profile --format=bolt --perf-script --elf "$program" "$scratch/lossy" 2>"$scratch/stderr")" = \
	"F ${pcs[0]} ${pcs[2]} 1" ]
verdict $? '... and what was executed up to it'
script_of other.elf >"$scratch/script"
"$ntrace" profile --perf-script --elf "$program" "$scratch/script" >"$scratch/got" \
	2>"$scratch/stderr"
[ $? = 2 ] && grep -q 'has no trace of a file named mix.elf, but of /mnt/other.elf: give the file that was executed as --elf$' "$scratch/stderr"
verdict $? 'refused: what perf script prints of another program'

# where perf knows build-ids, they tell: a perf that lists them, and prints the same of any data
with_id()	# FILE BUILD-ID: the program with that
{
	python3 - "$program" "$1" "$2" <<'END'
import struct, sys
elf = bytearray(open(sys.argv[1], 'rb').read())
phoff, = struct.unpack_from('<Q', elf, 32)
size, number = struct.unpack_from('<HH', elf, 54)
ident = bytes.fromhex(sys.argv[3])
note = struct.pack('<III', 4, len(ident), 3) + b'GNU\0' + ident
headers = elf[phoff:phoff + size * number]
elf += bytes(-len(elf) % 8)
struct.pack_into('<Q', elf, 32, len(elf))
struct.pack_into('<H', elf, 56, number + 1)
at = len(elf) + size * (number + 1)
elf += headers + struct.pack('<IIQQQQQQ', 4, 4, at, 0, 0, len(note), len(note), 4) + note
open(sys.argv[2], 'wb').write(elf)
END
}
id=00112233445566778899aabbccddeeff01234567
with_id "$scratch/mine.elf" $id
mkdir "$scratch/new"
with_id "$scratch/new/other.elf" "${id/00/ff}"
# a linker may make build-ids of 16 bytes, which perf fills up
with_id "$scratch/short.elf" "${id:0:32}"
printf PERFILE2 >"$scratch/perf.data"
cat >"$scratch/perf" <<-'END'
	#!/bin/sh
	# the script, and "ID PATH"...
	here=${0%/*}
	case $1 in
	script) touch "$here/decoded"; cat "$here/script" ;;
	buildid-list) cat "$here/ids" ;;
	esac
END
chmod +x "$scratch/perf"
of_data()	# PROGRAM: its profile
{
	rm -f "$scratch/decoded"
	"$ntrace" profile --format=bolt --perf="$scratch/perf" --elf "$1" "$scratch/perf.data" \
		2>"$scratch/stderr"
}
# is_whole DESCRIPTION PROGRAM
is_whole()
{
	of_data "$2" | sort >"$scratch/got"
	cmp "$scratch/want" "$scratch/got"
	verdict $? "$1"
}
"$ntrace" profile --format=bolt --elf "$program" "$samples/mix/L1.bin" | sort >"$scratch/want"
printf '%s\n' "${id/00/ee} [kernel.kallsyms]" "$id /mnt/other.elf" >"$scratch/ids"
is_whole 'perf.data: a file of another name with the same build-id' "$scratch/mine.elf"
of_data "$scratch/new/other.elf" >"$scratch/got"
[ $? = 2 ] && [ ! -s "$scratch/got" ] && [ ! -e "$scratch/decoded" ] &&
	grep -q "has trace of /mnt/other.elf with the build-id $id, and .*/other.elf has ${id/00/ff}: give the file" "$scratch/stderr"
verdict $? '... refused, before perf decodes: the same name and another build-id'
cp "$program" "$scratch/other.elf"
is_whole '... a program without a build-id: the name tells' "$scratch/other.elf"
printf '%s\n' "${id:0:32}00000000 /mnt/other.elf" >"$scratch/ids"
is_whole '... a build-id of 16 bytes' "$scratch/short.elf"
printf '%s\n' "$id /mnt/some.elf" >"$scratch/ids"
is_whole '... of a file whose build-id perf does not know: the name tells' "$scratch/new/other.elf"
: >"$scratch/ids"
is_whole '... without build-ids: the name tells' "$scratch/new/other.elf"
of_data "$scratch/mine.elf" >"$scratch/got"
[ $? = 2 ] && grep -q 'has no trace of a file named mine.elf, but of /mnt/other.elf: give the file that was executed as --elf$' "$scratch/stderr"
verdict $? '... refused: no build-ids, and another name'

# the kernel: perf has no offsets of it; it runs at vmlinux's own addresses
kernel_of()	# MOVED: what is 8000xxxx in the program
{
	sed "s,81\(00[0-9a-f]*\) (/mnt/[^)]*),$1\1 ([kernel.kallsyms]),g; /ffffffff80001000/d; /ffffffff80001004/d; /iret/d" \
		"$scratch/user" >"$scratch/script"
}
script_of mix.elf >"$scratch/user"
kernel_of 80
cp "$program" "$scratch/vmlinux-6.12"
is_whole 'the kernel by a vmlinux' "$scratch/vmlinux-6.12"
printf '%s\n' "$id [kernel.kallsyms]" >"$scratch/ids"
is_whole '... by its build-id' "$scratch/mine.elf"
with_id "$scratch/vmlinux" "${id/00/ff}"
of_data "$scratch/vmlinux" >"$scratch/got"
[ $? = 2 ] && [ ! -e "$scratch/decoded" ] &&
	grep -qF "has trace of [kernel.kallsyms] with the build-id $id" "$scratch/stderr"
verdict $? '... refused: a vmlinux with another build-id'
kernel_of 82
of_data "$scratch/vmlinux-6.12" >"$scratch/got"
[ $? = 2 ] && grep -q 'the kernel was not at the addresses that .*/vmlinux-6.12 has: it moves itself, unless booted with nokaslr' "$scratch/stderr"
verdict $? '... refused: a kernel that was elsewhere'

# formats: the same numbers
profile()
{
	"$ntrace" profile --format="$1" --elf "$program${2:-}" "$samples/mix/L1.bin" \
		2>"$scratch/stderr"
}
profile bolt >"$scratch/bolt"
{ grep -c ^F "$scratch/bolt"; awk '$1 == "F" { print $2 "-" $3 ":" $4 }' "$scratch/bolt"
  grep -c ^B "$scratch/bolt"; awk '$1 == "B" { print $2 "->" $3 ":" $4 }' "$scratch/bolt"
} >"$scratch/want"
profile llvm-profgen | cmp - "$scratch/want"
verdict $? 'llvm-profgen: ranges, then branches'
# the text is at 0x80000000, in the file at 0x1000
offsets()	# KIND BETWEEN: the lines that begin with KIND
{
	local kind from to count rest

	grep -c "^$1" "$scratch/bolt"
	while read -r kind from to count rest; do
		[ "$kind" != "$1" ] || printf '%x%s%x:%s\n' $((0x$from - 0x7ffff000)) "$2" \
			$((0x$to - 0x7ffff000)) "$count"
	done <"$scratch/bolt"
}
{ offsets F -; echo 0; offsets B '->'; } >"$scratch/want"
profile autofdo | cmp - "$scratch/want"
verdict $? 'autofdo: offsets in the file'

# other code than the program's is left out, and counted
"$ntrace" encode --elf "$samples/towers/towers.elf" --pc <(cat "$samples/towers/pc.txt") \
	-o "$scratch/moved" 
"$ntrace" profile --format=bolt --elf "$samples/towers/towers.elf" "$scratch/moved" >"$scratch/want"
dd if="$samples/towers/towers.elf" of="$scratch/text" bs=4096 skip=1 status=none
"$ntrace" profile --format=bolt --elf "$program@0x100000" --raw "$scratch/text@0x80000000" \
	"$scratch/moved" \
	>"$scratch/got" 2>"$scratch/stderr"
[ -s "$scratch/want" ] && [ ! -s "$scratch/got" ] &&
	grep -q "^ntrace: [1-9][0-9]* transfers to or from other code than $program's left out$" \
		"$scratch/stderr"
verdict $? 'a profile is of the first program'
"$ntrace" profile --format=bolt --raw "$scratch/text@0x80000000" "$scratch/moved" |
	cmp - "$scratch/want"
verdict $? 'a profile without an ELF file'

# what was there stays until the new profile is whole
echo old >"$scratch/kept"
status=0
"$ntrace" profile --elf "$scratch/text" -o "$scratch/kept" "$scratch/moved" 2>"$scratch/stderr" ||
	status=$?
[ $status = 2 ] && [ "$(cat "$scratch/kept")" = old ] &&
	"$ntrace" profile --format=bolt --elf "$samples/towers/towers.elf" -o "$scratch/kept" \
		"$scratch/moved" && cmp "$scratch/kept" "$scratch/want"
verdict $? 'a profile that cannot be made leaves the old one'
"$ntrace" profile --elf "$program" -o /dev/full "$samples/mix/L0.bin" 2>"$scratch/stderr"
[ "$(cat "$scratch/stderr")" = 'ntrace: cannot write to /dev/full: No space left on device' ]
verdict $? 'a full disk is reported once, with the file name'

# refuses DESCRIPTION WORDS ARGUMENT...
refuses()
{
	local description=$1 words=$2 status=0
	shift 2

	"$ntrace" profile "$@" >"$scratch/stdout" 2>"$scratch/stderr" </dev/null || status=$?
	[ $status = 2 ] && [ ! -s "$scratch/stdout" ] && grep -qF -- "$words" "$scratch/stderr"
	verdict $? "refused: $description"
}
refuses 'no program' 'no program given' "$scratch/moved"
refuses 'an unknown format' "\`gprof' is none of llvm-profgen, autofdo, gcc, bolt, edges, pprof, folded, callgrind" --format=gprof "$scratch/moved"
refuses 'offsets without a file' 'wants a program as --elf' --format=autofdo \
	--raw "$scratch/text@0x80000000" "$scratch/moved"

# the tool itself
perf2bolt=$(find_tool perf2bolt)
if [ -n "$perf2bolt" ]; then
	"$perf2bolt" "$program" -pa -p "$scratch/bolt" -o "$scratch/fdata" >"$scratch/log" 2>&1 &&
		grep -q "read $(wc -l <"$scratch/bolt") aggregated [A-Za-z]* entries" \
			"$scratch/log" && [ -s "$scratch/fdata" ]
	verdict $? 'perf2bolt reads it'
else
	verdict 0 'perf2bolt # SKIP not installed (19 or later)'
fi

finish
