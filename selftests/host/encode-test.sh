#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# ntrace encode: lists of addresses become traces that decode to the same lists,
# with every option, and none is larger than what the reference encoder made of
# the same list with the same options.

. "$(dirname "$0")/lib.bash"

# encode LIST OPTION...: to $scratch/trace
encode()
{
	local list=$1
	shift

	"$ntrace" encode "$@" --pc "$list" -o "$scratch/trace"
}

# round_trip ELF LIST ENCODE-ONLY-OPTIONS OPTION...: LIST comes back whole
round_trip()
{
	local elf=$1 list=$2 only=$3
	shift 3

	# shellcheck disable=SC2086
	encode "$list" --elf "$elf" $only "$@" &&
		"$ntrace" decode --elf "$elf" "$@" "$scratch/trace" >"$scratch/got" &&
		cmp -s "$scratch/got" "$list"
	verdict $? "$(basename "$elf" .elf) there and back: $only $*"
}

# A ProgTraceCorrelation with an empty history costs a byte, which R78 wants and
# the reference encoder leaves out
no_larger()	# FOLDER TRACE
{
	local size ref cost

	cost=$("$ntrace" dump "$scratch/trace" |
		grep -c 'ProgTraceCorrelation .* CDF=1 .* HIST=0x1$')
	size=$(stat -c %s "$scratch/trace")
	ref=$(stat -c %s "$captures/$1/$2")
	[ "$size" -gt 0 ] && [ $((size - cost)) -le "$ref" ]
	verdict $? "R78 $1 $2: $size bytes, the reference's are $ref, R78 costs $cost"
}

for folder in dhrystone towers; do
	list=$scratch/$folder
	xz -dc "$captures/ref_$folder/pc.txt.xz" >"$list"
	while read -r level only options; do
		# shellcheck disable=SC2086
		round_trip "$captures/ref_$folder/$folder.elf" "$list" "${only//,/ }" $options
		no_larger "ref_$folder" "$level.bin"
	done <<-END
		L0 --btm
		L1 --htm
		L2 --htm,--repeathist
		L3 --htm --retstack=3
		L4 --htm,--repeathist --retstack=3
	END
done

xz -dc "$captures/e31_hello/pc.txt.xz" >"$scratch/e31_hello"
for list in towers e31_hello; do
	elf=$(echo "$captures"/*"$list/$list.elf")
	while read -r only options; do
		# shellcheck disable=SC2086
		round_trip "$elf" "$scratch/$list" "${only//,/ }" $options
	done <<-END
		--btm --retstack=1
		--htm --retstack=2
		--btm,--repeatbranch --retstack=3
		--btm,--repeatbranch --timestamps
		--htm,--repeathist --timestamps --retstack=2
		--btm --extaddr
		--htm --extaddr --srcbits=3 --src=5
		--btm --seqjump --alljumps --retstack=3
		--htm --seqjump --alljumps --retstack=1
		--htm,--syncmode=1 --srcbits=12
		--btm,--syncmode=2,--syncmax=2,--repeatbranch --timestamps
		--htm,--syncmode=3,--syncmax=3,--repeathist --retstack=3 --extaddr
	END
done

# RepeatBranch: the loop is told once
encode "$scratch/dhrystone" --elf "$captures/ref_dhrystone/dhrystone.elf" --btm
plain=$(stat -c %s "$scratch/trace")
encode "$scratch/dhrystone" --elf "$captures/ref_dhrystone/dhrystone.elf" --btm --repeatbranch
repeated=$(stat -c %s "$scratch/trace")
"$ntrace" dump "$scratch/trace" >"$scratch/dump"
grep -q RepeatBranch "$scratch/dump" && [ "$repeated" -lt "$plain" ]
verdict $? "R106 repeated branches take $repeated bytes, not $plain"

# 1000 nop; 1004 ecall; 1008 c.nop; 100a beq x0,x0,-10 (1000);  2000 mret; 2004 c.j . (2004)
printf '\x13\0\0\0\x73\0\0\0\x01\0\xe3\x0b\0\xfe' >"$scratch/low"
printf '\x73\0\x20\x30\x01\xa0' >"$scratch/high"
image=(--raw "$scratch/low@0x1000" --raw "$scratch/high@0x2000")
lines()
{
	printf '%s\n' "$@"
}

# dumps DESCRIPTION LINES OPTION...: what $scratch/list becomes
dumps()
{
	local description=$1 want=$2 stamps=
	shift 2
	[[ " $* " != *' --timestamps '* ]] || stamps=--timestamps

	encode "$scratch/list" "${image[@]}" "$@" &&
		[ "$("$ntrace" dump $stamps "$scratch/trace" | cut -d' ' -f3-)" = "$want" ]
	verdict $? "$description"
}

lines 1000 2000 1008 >"$scratch/list"
dumps 'what nothing explains is a trap' "$(lines 'ProgTraceSync SYNC=5 I-CNT=0 F-ADDR=0x800' \
	'IndirectBranch B-TYPE=1 I-CNT=2 U-ADDR=0x1800' \
	'IndirectBranch B-TYPE=0 I-CNT=2 U-ADDR=0x1804' \
	'ProgTraceCorrelation EVCODE=4 CDF=1 I-CNT=1 HIST=0x1')"
lines 1000 1004 2000 1008 >"$scratch/list"
dumps 'R99 an ECALL in the list traps and does not count' \
	"$(lines 'ProgTraceSync SYNC=5 I-CNT=0 F-ADDR=0x800' \
	'IndirectBranch B-TYPE=1 I-CNT=2 U-ADDR=0x1800' \
	'IndirectBranch B-TYPE=0 I-CNT=2 U-ADDR=0x1804' \
	'ProgTraceCorrelation EVCODE=4 CDF=1 I-CNT=1 HIST=0x1')"
lines 1000 '# loss at 0x0: something, pc 1004, skipped 2' 100a '# remark' 1000 >"$scratch/list"
dumps 'a loss is a pause' "$(lines 'ProgTraceSync SYNC=5 I-CNT=0 F-ADDR=0x800' \
	'ProgTraceCorrelation EVCODE=4 CDF=0 I-CNT=2' 'ProgTraceSync SYNC=5 I-CNT=0 F-ADDR=0x805' \
	'DirectBranch I-CNT=2' 'ProgTraceCorrelation EVCODE=4 CDF=0 I-CNT=2')" --btm
lines 1008 100a 1000 >"$scratch/list"
dumps 'R124 the clock counts instructions' \
	"$(lines 'ProgTraceSync SYNC=5 I-CNT=0 F-ADDR=0x804 TSTAMP=1' \
	'DirectBranch I-CNT=3 TSTAMP=2' \
	'ProgTraceCorrelation EVCODE=4 CDF=0 I-CNT=2 TSTAMP=0')" --btm --timestamps

encode - "${image[@]}" <"$scratch/list" && cp "$scratch/trace" "$scratch/first" &&
	"$ntrace" encode "${image[@]}" --pc "$scratch/list" -o - >"$scratch/second" &&
	[ -s "$scratch/first" ] && cmp -s "$scratch/first" "$scratch/second"
verdict $? 'reads standard input, writes standard output'

refuses()	# DESCRIPTION WORDS ARGUMENT...
{
	local description=$1 words=$2 status=0
	shift 2

	"$ntrace" encode "$@" >"$scratch/stdout" 2>"$scratch/stderr" </dev/null || status=$?
	[ $status = 2 ] && grep -qF -- "$words" "$scratch/stderr"
	verdict $? "refused: $description"
}

io=(--pc "$scratch/list" -o "$scratch/trace")
refuses 'no program' 'no program given' "${io[@]}"
refuses 'no list' 'no list given' "${image[@]}" -o "$scratch/trace"
refuses 'no output' 'no output given' "${image[@]}" --pc "$scratch/list"
refuses 'both modes' 'either --btm or --htm' "${image[@]}" "${io[@]}" --btm --htm
refuses 'a profile' 'only 1.0 can be encoded' "${image[@]}" "${io[@]}" --profile=p550
refuses 'RepeatBranch in HTM' '--repeatbranch is for --btm' "${image[@]}" "${io[@]}" --repeatbranch
refuses 'a missing list' 'No such file' "${image[@]}" --pc "$scratch/none" -o "$scratch/trace"
refuses 'a disk that is full' 'No space left' "${image[@]}" --pc "$scratch/list" -o /dev/full
refuses 'an argument too many' "\`more' is no option" "${image[@]}" "${io[@]}" more
lines 1000 xyz >"$scratch/list"
refuses 'a line that is no address' 'line 2: not a hexadecimal address' "${image[@]}" "${io[@]}"
lines 1000 3000 >"$scratch/list"
refuses 'an address without code' 'line 2: no code' "${image[@]}" "${io[@]}"
lines 1001 >"$scratch/list"
refuses 'an odd address' 'line 1: an odd address' "${image[@]}" "${io[@]}"
: >"$scratch/list"
refuses 'an empty list' 'no addresses' "${image[@]}" "${io[@]}"

finish
