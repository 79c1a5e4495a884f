#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# ntrace decode keeps the lines of rows of instructions, and of transfers, that it has printed, and
# prints them again. They are right: of a program with more rows than it keeps, that come again in
# any order; of rows that are longer, or begin at the same place; that end with a jump of a custom
# instruction; of code that is in several images; in one thread and in several. What is right is
# known from how the program was made, and from --output=insn, of which nothing is kept. SEED=N
# repeats a run.

. "$(dirname "$0")/lib.bash"
seed=${SEED:-$RANDOM}
echo "# SEED=$seed"
command -v python3 >/dev/null || { echo "1..0 # SKIP no python3"; exit 4; }

# decodes FILE OPTION... : to what is in there, however many threads there are; ends with $ends
ends=0
decodes()
{
	local want=$1 threads status
	shift

	for threads in 1 3; do
		status=0
		"$ntrace" decode --threads=$threads "$@" "$scratch/trace" \
			>"$scratch/got" 2>"$scratch/stderr" || status=$?
		cmp "$want" "$scratch/got" && [ $status = $ends ] || return
	done
}

# right DESCRIPTION OPTION... : all that is kept, with the marks and without
right()
{
	local description=$1
	shift

	grep -v '^#' "$scratch/pc" >"$scratch/plain"
	decodes "$scratch/plain" --no-marks "$@"
	verdict $? "$description: $(wc -l <"$scratch/plain") instructions"
	decodes "$scratch/branch" --no-marks --output=branch "$@" &&
		decodes "$scratch/not" --no-marks --output=branch --not-taken "$@"
	verdict $? "$description: $(wc -l <"$scratch/not") transfers and branches not taken"
	alike "$description" "$@"
}

# alike DESCRIPTION OPTION... : marks and losses, too, are those of instructions that are not kept
alike()
{
	local description=$1
	shift

	"$ntrace" decode --output=insn "$@" "$scratch/trace" 2>/dev/null |
		sed '/^#/!s/ .*//' >"$scratch/insn"
	decodes "$scratch/insn" "$@"
	verdict $? "$description: $(grep -c '^#' "$scratch/insn") marks between instructions"
}

for base in 0x1000 0xffffffff80000000; do
	python3 "$(dirname "$0")/rows.py" $base "$seed" "$scratch" || exit
	raw=(--raw "$scratch/program@$base")
	[ "$(sort -u "$scratch/branch" | wc -l)" -gt 5000 ]
	verdict $? "more transfers that differ than are kept: $(sort -u "$scratch/branch" | wc -l)"

	encode "$scratch/pc" "${raw[@]}" --htm --syncmode=2 --syncmax=6
	right "at $base" "${raw[@]}"
	# an event for each of the sync messages, in the middle of rows
	encode "$scratch/pc" "${raw[@]}" --btm --timestamps --syncmode=2 --syncmax=0
	right "at $base, in pieces of 16 instructions" "${raw[@]}" --timestamps
done

# The same in three images: where they overlap the first counts.
size=$(stat -c %s "$scratch/program")
third=$((size / 6 * 2))
head -c $((third + 1000)) "$scratch/program" >"$scratch/first"
{ head -c 1000 /dev/zero | tr '\0' '\1'; tail -c +$((third + 1001)) "$scratch/program"; } \
	>"$scratch/second"
{ head -c $((2 * third)) /dev/zero; tail -c +$((2 * third + 1)) "$scratch/program"; } \
	>"$scratch/third"
at()	# OFFSET
{
	printf '0x%x' $((base + $1))
}
right "in images that overlap" --raw "$scratch/first@$base" \
	--raw "$scratch/second@$(at $third)" --raw "$scratch/third@$base" --timestamps
head -c $((third + 1000)) "$scratch/program" | tail -c 1000 >"$scratch/patch"
! cmp -s "$scratch/patch" <(head -c 1000 "$scratch/second")
verdict $? "and differ there"

# Damaged: rows end where a loss is.
for at in 10000 20000 30000; do
	printf '\xff\xfe\x00' | dd of="$scratch/trace" bs=1 seek=$at conv=notrunc status=none
done
ends=1
alike "with losses" "${raw[@]}" --timestamps
[ "$(grep -c '^# loss' "$scratch/insn")" -ge 3 ]
verdict $? "of which there are $(grep -c '^# loss' "$scratch/insn")"
finish
