#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# ntrace profile: every count equals what decode's lists come to, also of traces
# with traps and losses; the three formats; the tools that read them, where they
# are installed, take them. SEED=N repeats a run.

. "$(dirname "$0")/lib.bash"
seed=${SEED:-$RANDOM}
RANDOM=$seed
echo "# SEED=$seed"
dhrystone=$captures/ref_dhrystone/dhrystone.elf

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
	exact "ref_dhrystone L$level" 0 --elf "$dhrystone" "$captures/ref_dhrystone/L$level.bin"
done
exact 'ref_towers L4' 0 --retstack=3 --elf "$captures/ref_towers/towers.elf" \
	"$captures/ref_towers/L4.bin"
exact 'e31_hello' 0 --profile=sifive --elf "$captures/e31_hello/e31_hello.elf" \
	"$captures/e31_hello/e31_hello.rtd"

# losses: bytes changed at random
cp "$captures/ref_dhrystone/L1.bin" "$scratch/bad"
for ((i = 0; i < 3; i++)); do
	printf '\x5a\x01\xff' |
		dd of="$scratch/bad" bs=1 seek=$((RANDOM % 20000)) conv=notrunc status=none
done
"$ntrace" decode --elf "$dhrystone" "$captures/ref_dhrystone/L1.bin" >"$scratch/list"
"$ntrace" encode --elf "$dhrystone" --pc "$scratch/list" --syncmode=2 --syncmax=6 -o "$scratch/bad"
size=$(stat -c %s "$scratch/bad")
for ((i = 0; i < 5; i++)); do
	printf '\x5a\x02\x03' |
		dd of="$scratch/bad" bs=1 seek=$((RANDOM % (size - 3))) conv=notrunc status=none
done
exact 'a damaged trace' 1 --elf "$dhrystone" "$scratch/bad"
grep -q '^ntrace: [1-9][0-9]* losses, [0-9]* bytes skipped$' "$scratch/stderr"
verdict $? 'losses are told on stderr'

# traps: an ECALL that returns behind itself, an interrupt that returns to where it came
# 1000 c.nop; 1002 ecall; 1006 c.nop; 1008 c.j 1000;  2000 c.nop; 2002 mret
printf '\x01\0\x73\0\0\0\x01\0\xe5\xbf' >"$scratch/low"
printf '\x01\0\x73\0\x20\x30' >"$scratch/high"
printf '%s\n' 1000 2000 2002 1006 2000 2002 1008 1000 >"$scratch/list"
image=(--raw "$scratch/low@0x1000" --raw "$scratch/high@0x2000")
"$ntrace" encode "${image[@]}" --pc "$scratch/list" -o "$scratch/traps"
"$ntrace" profile "${image[@]}" --format=bolt "$scratch/traps" | sort >"$scratch/got"
printf '%s\n' 'B 1008 1000 1 0' 'F 1000 1000 1' 'F 1000 1008 1' 'F 2000 2002 2' >"$scratch/want"
cmp "$scratch/want" "$scratch/got"
verdict $? 'a run goes on behind a trap, which is no branch'

# what perf script prints: the same branches, in an ELF file that was mapped elsewhere,
# a call out of it and a trap that returns in it
script_of()	# NAME: 8000dxxx was mapped at 8100dxxx, and is in the file at dxxx + 0x1000
{
	"$ntrace" decode --elf "$dhrystone" --output=branch "$captures/ref_dhrystone/L1.bin" | grep -v '^#' |
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
script_of dhrystone.elf >"$scratch/script"
"$ntrace" profile --format=bolt --perf-script --elf "$dhrystone" "$scratch/script" \
	2>"$scratch/stderr" | sort >"$scratch/got"
# the last branch leads to itself: a run of one instruction, cut off here
"$ntrace" profile --format=bolt --elf "$dhrystone" "$captures/ref_dhrystone/L1.bin" | sort >"$scratch/want"
diff "$scratch/want" "$scratch/got" | sed 's/^/# /' | head -n 20
cmp "$scratch/want" "$scratch/got" && grep -q '^ntrace: 1 transfers to or from other code' "$scratch/stderr"
verdict $? 'the same profile from what perf script prints'
sed '50a\ instruction trace error type 1 time 1.0 cpu 0 pid 7 tid 7 ip 0 code 6: the encoder lost messages' \
	"$scratch/script" >"$scratch/lossy"
status=0
"$ntrace" profile --format=bolt --perf-script --elf "$dhrystone" - <"$scratch/lossy" >"$scratch/got" \
	2>"$scratch/stderr" || status=$?
[ $status = 1 ] && grep -q '^ntrace: 1 losses$' "$scratch/stderr" &&
	[ "$(awk '/^B/ { n += $4 } END { print n }' "$scratch/got")" = "$(awk '/^B/ { n += $4 } END { print n }' "$scratch/want")" ]
verdict $? '... with a loss: it is told, and what was taken is counted'
# the first instructions: what came before the address that was lost
mapfile -t pcs < <("$ntrace" decode --elf "$dhrystone" --output=pc "$captures/ref_dhrystone/L1.bin" | head -n 4)
{
	head -n 1 "$scratch/script"
	echo " instruction trace error type 1 time 1.0 cpu 0 pid 7 tid 7 ip 0x81${pcs[3]:2} code 6: lost"
} >"$scratch/lossy"
[ "$("$ntrace" profile --format=bolt --perf-script --elf "$dhrystone" "$scratch/lossy" 2>"$scratch/stderr")" = \
	"F ${pcs[0]} ${pcs[2]} 1" ]
verdict $? '... and what was executed up to it'
script_of other.elf >"$scratch/script"
"$ntrace" profile --perf-script --elf "$dhrystone" "$scratch/script" >"$scratch/got" 2>"$scratch/stderr"
[ $? = 2 ] && grep -q 'has no trace of a file named dhrystone.elf, but of /mnt/other.elf$' "$scratch/stderr"
verdict $? 'refused: what perf script prints of another program'

# formats: the same numbers
profile()
{
	"$ntrace" profile --format="$1" --elf "$dhrystone${2:-}" "$captures/ref_dhrystone/L1.bin" \
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
"$ntrace" encode --elf "$captures/ref_towers/towers.elf" --pc <(xz -dc "$captures/ref_towers/pc.txt.xz") \
	-o "$scratch/moved" 
"$ntrace" profile --format=bolt --elf "$captures/ref_towers/towers.elf" "$scratch/moved" >"$scratch/want"
dd if="$captures/ref_towers/towers.elf" of="$scratch/text" bs=4096 skip=1 status=none
"$ntrace" profile --format=bolt --elf "$dhrystone@0x100000" --raw "$scratch/text@0x80000000" "$scratch/moved" \
	>"$scratch/got" 2>"$scratch/stderr"
[ -s "$scratch/want" ] && [ ! -s "$scratch/got" ] &&
	grep -q "^ntrace: [1-9][0-9]* transfers to or from other code than $dhrystone's left out$" "$scratch/stderr"
verdict $? 'a profile is of the first program'
"$ntrace" profile --format=bolt --raw "$scratch/text@0x80000000" "$scratch/moved" | cmp - "$scratch/want"
verdict $? 'a profile without an ELF file'

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
refuses 'an unknown format' "\`gprof' is none of llvm-profgen, autofdo, bolt" --format=gprof "$scratch/moved"
refuses 'offsets without a file' 'wants a program as --elf' --format=autofdo \
	--raw "$scratch/text@0x80000000" "$scratch/moved"

# the tools themselves
find_tool()	# NAME: of LLVM 19 or later
{
	local dir tool version

	for dir in ${PATH//:/ } /usr/lib/llvm-*/bin; do
		for tool in "$dir/$1" "$dir/$1"-[0-9]*; do
			version=$("$tool" --version 2>/dev/null |
				sed -n 's/.*LLVM version \([0-9]*\).*/\1/p')
			[ "${version:-0}" -lt 19 ] || { echo "$tool"; return; }
		done
	done
}
profgen=$(find_tool llvm-profgen)
if [ -n "$profgen" ]; then
	elf=$captures/e31_hello/e31_hello.elf
	"$ntrace" profile --profile=sifive --elf "$elf" "$captures/e31_hello/e31_hello.rtd" >"$scratch/prof"
	"$profgen" --binary="$elf" --unsymbolized-profile="$scratch/prof" --use-offset=0 --format=text \
		--output="$scratch/text" >"$scratch/log" 2>&1 && grep -q '^[a-z_0-9]*:[0-9]*:[0-9]*$' "$scratch/text"
	verdict $? "llvm-profgen reads it"
else
	verdict 0 'llvm-profgen # SKIP not installed (19 or later)'
fi
perf2bolt=$(find_tool perf2bolt)
if [ -n "$perf2bolt" ]; then
	"$perf2bolt" "$dhrystone" -pa -p "$scratch/bolt" -o "$scratch/fdata" >"$scratch/log" 2>&1 &&
		grep -q "read $(wc -l <"$scratch/bolt") aggregated [A-Za-z]* entries" "$scratch/log" && [ -s "$scratch/fdata" ]
	verdict $? 'perf2bolt reads it'
else
	verdict 0 'perf2bolt # SKIP not installed (19 or later)'
fi

finish
