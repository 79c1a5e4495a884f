#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# ntrace encode: lists of addresses become traces that decode to the same lists,
# with every option.

. "$(dirname "$0")/lib.bash"

# round_trip ELF LIST ENCODE-ONLY-OPTIONS OPTION...: LIST comes back whole
round_trip()
{
	local elf=$1 list=$2 only=$3
	shift 3

	# shellcheck disable=SC2086
	encode "$list" --elf "$elf" $only "$@" &&
		"$ntrace" decode --no-marks --elf "$elf" "$@" "$scratch/trace" >"$scratch/got" &&
		cmp -s "$scratch/got" "$list"
	verdict $? "$(basename "$elf" .elf) there and back: $only $*"
}

for program in mix towers; do
	while read -r only options; do
		# shellcheck disable=SC2086
		round_trip "$samples/$program/$program.elf" "$samples/$program/pc.txt" \
			"${only//,/ }" $options
	done <<-END
		--btm
		--htm
		--htm,--repeathist
		--htm --retstack=3
		--htm,--repeathist --retstack=3
	END
done

for program in towers rv32; do
	while read -r only options; do
		# shellcheck disable=SC2086
		round_trip "$samples/$program/$program.elf" "$samples/$program/pc.txt" \
			"${only//,/ }" $options
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

# the times of its periodic sync messages are of no branch, and some are where a piece begins
identity 'towers timed' '' --timestamps --elf "$samples/towers/towers.elf" \
	-- "$samples/towers/timed.bin"

for program in mix towers; do
	while read -r level only options; do
		# shellcheck disable=SC2086
		identity "$program $level" "${only//,/ }" --elf "$samples/$program/$program.elf" \
			$options -- \
			"$samples/$program/$level.bin"
	done <<-END
		L0 --btm
		L1 --htm
		L2 --htm,--repeathist
		L3 --htm --retstack=3
		L4 --htm,--repeathist --retstack=3
	END
done

round_trip "$samples/towers/towers.elf" "$samples/towers/pc.txt" --btm --addr-bits=33
round_trip "$samples/towers/towers.elf" "$samples/towers/pc.txt" --htm --extaddr --addr-bits=48

# RepeatBranch: one message for all rounds of the loop
mix=(--elf "$samples/mix/mix.elf" --btm)
encode "$samples/mix/pc.txt" "${mix[@]}"
plain=$(stat -c %s "$scratch/trace")
encode "$samples/mix/pc.txt" "${mix[@]}" --repeatbranch
repeated=$(stat -c %s "$scratch/trace")
"$ntrace" dump "$scratch/trace" >"$scratch/dump"
grep -q RepeatBranch "$scratch/dump" && [ "$repeated" -lt "$plain" ]
verdict $? "R106 repeated branches take $repeated bytes, not $plain"

# each level tells the same with less
smaller=0 before=$(stat -c %s "$samples/mix/L0.bin")
for level in L1 L2 L4; do
	size=$(stat -c %s "$samples/mix/$level.bin")
	[ "$size" -lt "$before" ] || smaller=1
	before=$size
done
[ "$(stat -c %s "$samples/mix/L3.bin")" -lt "$(stat -c %s "$samples/mix/L1.bin")" ] || smaller=1
verdict $smaller "HTM is smaller than BTM, repeated histories and implicit returns are smaller still"
"$ntrace" dump "$samples/mix/L2.bin" | grep -q 'ResourceFull RCODE=2 '
verdict $? 'R109 a history that repeats is sent once, with a count'

"$ntrace" decode --elf "$samples/towers/towers.elf" "$samples/towers/L3.bin" >"$scratch/got"
[ $? = 1 ] && grep -q '^# loss' "$scratch/got"
verdict $? "R132 returns without --retstack are a loss"

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

	encode "$scratch/list" "${image[@]}" ${gaps:+"$gaps"} "$@" &&
		[ "$("$ntrace" dump $stamps "$scratch/trace" | cut -d' ' -f3-)" = "$want" ]
	verdict $? "$description"
}

lines 1000 2000 1008 >"$scratch/list"
gaps=--gaps=trap dumps 'what nothing explains is a trap, if --gaps=trap' \
	"$(lines 'ProgTraceSync SYNC=5 I-CNT=0 F-ADDR=0x800' \
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

# every mark there is; the list is what comes out again
lines '# source 5' '# time 7' '# start 1008 SYNC=3' '# context PRV=1 V=0 scontext=1d' 1008 100a \
	'# time 9' \
	1000 '# exception 1004 2000' '# time 30' 2000 '# interrupt 1008 2004' '# time 31' \
	'# context PRV=3 V=0 scontext=1d' '# time 40' '# stop 2004 EVCODE=0' \
	'# time 50' '# start 2004 SYNC=5' '# context PRV=3 V=0 scontext=1d' '# time 51' \
	'# stop 2004 EVCODE=4' \
	'# time 60' '# start 1004 SYNC=9' '# context PRV=3 V=0 scontext=1d' \
	'# exception 1004 1008' '# time 61' \
	'# context PRV=3 V=1 scontext=ffffffffff' 1008 100a '# time 77' \
	'# stop 1000' '# time 80' '# start 2004 SYNC=1' '# context PRV=3 V=1 scontext=ffffffffff' \
	2004 '# trap 2004 1000' \
	'# time 81' 1000 '# time 90' '# stop 1004 EVCODE=1' >"$scratch/marks"
for mode in --btm --htm; do
	# with history a taken branch has no message, and so no time; and what has no message, no
	# end
	sed "$([ $mode = --btm ] || echo '/^# time 9$/d; s/^# stop 1000$/& EVCODE=4/')" \
		"$scratch/marks" \
		>"$scratch/list"
	encode "$scratch/list" "${image[@]}" $mode --timestamps --srcbits=3 &&
		"$ntrace" decode "${image[@]}" --timestamps --srcbits=3 "$scratch/trace" \
			>"$scratch/got" &&
		cmp "$scratch/got" "$scratch/list"
	verdict $? "every mark comes back, $mode"
	diff "$scratch/list" "$scratch/got" | sed 's/^/# /'
done
# contexts that are not behind every sync message
lines '# start 1000 SYNC=5' 1000 '# exception 1004 2000' '# context PRV=3 V=0' 2000 \
	'# context PRV=0 V=0' 1008 100a '# stop 1000 EVCODE=4' >"$scratch/list"
encode "$scratch/list" "${image[@]}" &&
	"$ntrace" decode "${image[@]}" "$scratch/trace" | cmp - "$scratch/list"
verdict $? 'contexts as they come'

lines 1008 100a 1000 >"$scratch/list"
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

# 3000 c.nop; 3002 custom-0 to 3000; 3006 48 bits, to 3000; 300c custom-1 to 3012; 3010 c.nop;
# 3012 c.j 3012: branches that only the options tell of
printf '\001\000\213\157\265\376\037\000\375\377\377\377\053\003\000\000\001\000\001\240' \
	>"$scratch/told"
told=(--raw "$scratch/told@0x3000")
branches=(--branch=0x707f/0x600b --branch 0x3f/0x1f:cond:47-16@1 --branch=0x7f/0x2b:jump:31-8@1)
lines 3000 3002 3000 3002 3006 3000 3002 3006 300c 3012 3012 >"$scratch/told.list"
for mode in --btm --htm '--htm --alljumps'; do
	# shellcheck disable=SC2086
	encode "$scratch/told.list" "${told[@]}" "${branches[@]}" $mode &&
		"$ntrace" decode --no-marks "${told[@]}" "${branches[@]}" $mode "$scratch/trace" |
			cmp - "$scratch/told.list"
	verdict $? "branches of --branch there and back, $mode"
	# shellcheck disable=SC2086
	"$ntrace" stat "${told[@]}" "${branches[@]}" $mode "$scratch/trace" >"$scratch/got" &&
		grep -qx 'instructions  *11' "$scratch/got" &&
		grep -qx 'taken transfers  *5' "$scratch/got"
	verdict $? "stat counts them, $mode"
done
"$ntrace" decode --output=branch --no-marks "${told[@]}" "${branches[@]}" --alljumps \
	"$scratch/trace" |
	cmp - <(lines '3002 3000 cond' '3006 3000 cond' '300c 3012 jump' \
		'3012 3012 jump' '3012 3012 jump')
verdict $? 'branches of --branch by type'
"$ntrace" decode "${told[@]}" --alljumps "$scratch/trace" >"$scratch/got"
[ $? = 1 ] && grep -q '^# loss' "$scratch/got"
verdict $? 'without --branch they are a loss'

# A custom instruction that jumps, where a sync message is due: at it, before it, behind it
{ printf '\001\000%.0s' {1..20}; printf '\013\000\000\000'; } >"$scratch/custom"
for mode in '--btm --syncmode=2' '--htm --syncmode=2' '--htm --syncmode=3'; do
	bad=
	for n in {0..20}; do
		for ((i = 0; i < 5; i++)); do
			for ((pc = 0x1028 - 2 * n; pc <= 0x1028; pc += 2)); do
				printf '%x\n' $pc
			done
			printf '# ijump 1028 %x\n' $((0x1028 - 2 * n))
		done >"$scratch/list"
		printf '%x\n' $((0x1028 - 2 * n)) >>"$scratch/list"
		# shellcheck disable=SC2086
		encode "$scratch/list" --raw "$scratch/custom@0x1000" $mode --syncmax=0 &&
			"$ntrace" decode --raw "$scratch/custom@0x1000" "$scratch/trace" |
			grep -v '^# st' | cmp -s - "$scratch/list" || bad+=" $n"
	done
	[ -z "$bad" ]
	verdict $? "a jump of a custom instruction and a sync message, $mode${bad:+, behind so many:$bad}"
done

# R136: where a sequentially inferable jump leads no message tells: nothing else may be behind it.
# 1000 auipc t1,0; 1004 jr 16(t1); 1008 c.lui t1,-1 (ffff...f000); 100a jr 0(t1)
{ printf '\027\003\0\0\147\0\003\001\175\163\147\0\003\0'; printf '\001\000%.0s' {1..16}; } \
	>"$scratch/pair"
printf '\001\000%.0s' {1..8} >"$scratch/far"
image=(--raw "$scratch/pair@0x1000")
lines 1000 1004 1020 1022 >"$scratch/list"
refuses 'a sequential jump that leads elsewhere' 'line 3: 1020 cannot follow 1004' "${image[@]}" \
	--seqjump \
	--pc "$scratch/list" -o "$scratch/trace"
for taken in trap pause; do
	encode "$scratch/list" "${image[@]}" --htm --seqjump --gaps=$taken &&
		"$ntrace" decode --no-marks "${image[@]}" --htm --seqjump "$scratch/trace" |
		cmp - "$scratch/list"
	verdict $? "... is a gap, --gaps=$taken"
done
lines 1000 1004 '# interrupt 1010 1020' 1020 1022 >"$scratch/list"
encode "$scratch/list" "${image[@]}" --htm --seqjump &&
	"$ntrace" decode "${image[@]}" --htm --seqjump "$scratch/trace" |
	grep -qx '# interrupt 1010 1020'
verdict $? '... or an interrupt at its target'
lines 1000 1004 '# interrupt 1020 1010' 1010 >"$scratch/list"
refuses 'an interrupt where such a jump does not lead' 'what comes next is at 1010' "${image[@]}" \
	--seqjump \
	--pc "$scratch/list" -o "$scratch/trace"
lines 1008 100a fffffffffffff000 fffffffffffff002 >"$scratch/list"
encode "$scratch/list" "${image[@]}" --raw "$scratch/far@0xfffffffffffff000" --htm --seqjump &&
	"$ntrace" decode --no-marks "${image[@]}" --raw "$scratch/far@0xfffffffffffff000" \
		--htm --seqjump \
		"$scratch/trace" | cmp - "$scratch/list"
verdict $? 'a sequential jump by C.LUI'
lines 1004 1020 >"$scratch/list"
encode "$scratch/list" "${image[@]}" --htm --seqjump &&
	"$ntrace" decode --no-marks "${image[@]}" --htm --seqjump "$scratch/trace" |
	cmp - "$scratch/list"
verdict $? 'a jump without its pair leads anywhere'

# R24: a sync message that is due at a pause is the one that trace goes on with. 101c c.jr t1
{ printf '\001\000%.0s' {1..14}; printf '\002\203'; printf '\001\000%.0s' {1..49}; } >"$scratch/due"
{
	echo '# start 1000 SYNC=5'
	for ((pc = 0x1000; pc <= 0x101c; pc += 2)); do printf '%x\n' $pc; done
	lines '# stop 1030' '# start 1040 SYNC=9' 1040 '# stop 1042 EVCODE=4'
} >"$scratch/list"
encode "$scratch/list" --raw "$scratch/due@0x1000" --htm --syncmode=2 &&
	"$ntrace" decode --raw "$scratch/due@0x1000" --htm "$scratch/trace" | cmp - "$scratch/list"
verdict $? 'R24 a reason to start is not lost to the periodic sync message'

# 4000 80 bits; 400a 176 bits; 4020 c.j 4000; 4022 192 bits or more
printf '\177\0\0\0\0\0\0\0\0\0\177\140%020d\305\267\177\160' 0 >"$scratch/long"
image=(--raw "$scratch/long@0x4000")
lines 4000 400a 4020 4000 400a 4020 4000 >"$scratch/list"
for mode in --btm --htm; do
	encode "$scratch/list" "${image[@]}" $mode &&
		"$ntrace" decode --no-marks "${image[@]}" $mode "$scratch/trace" |
		cmp - "$scratch/list"
	verdict $? "instructions of 80 and 176 bits there and back, $mode"
done
dumps 'and count by their half-words' "$(lines 'ProgTraceSync SYNC=5 I-CNT=0 F-ADDR=0x2000' \
	'ProgTraceCorrelation EVCODE=4 CDF=0 I-CNT=39')" --btm
lines 4022 >"$scratch/list"
refuses 'an instruction of reserved length' \
	'line 1: no instruction at 4022: 707f begins one of 192 bits or more' \
	"${image[@]}" --pc "$scratch/list" -o "$scratch/trace"
head -c 31 "$scratch/long" >"$scratch/cut"
lines 4000 400a >"$scratch/list"
refuses 'half of a long instruction' 'line 2: no code at 400a' --raw "$scratch/cut@0x4000" \
	--pc "$scratch/list" \
	-o "$scratch/trace"
image=(--raw "$scratch/low@0x1000" --raw "$scratch/high@0x2000")
lines 1008 100a 1000 >"$scratch/list"

io=(--pc "$scratch/list" -o "$scratch/trace")
refuses 'no program' 'no program given' "${io[@]}"
refuses 'no list' 'no list given' "${image[@]}" -o "$scratch/trace"
refuses 'no output' 'no output given' "${image[@]}" --pc "$scratch/list"
refuses 'both modes' 'either --btm or --htm' "${image[@]}" "${io[@]}" --btm --htm
refuses 'a profile' 'only 1.0, p550 and tt-dfd can be encoded' "${image[@]}" "${io[@]}" \
	--profile=sifive
refuses 'a return stack that is a counter' 'with --profile=p550 it is always 1' "${image[@]}" \
	"${io[@]}" \
	--profile=p550 --retstack=3
refuses 'repeated history of another kind' 'there is none with --profile=p550' "${image[@]}" \
	"${io[@]}" \
	--profile=p550 --repeathist
refuses 'RepeatBranch in HTM' '--repeatbranch is for --btm' "${image[@]}" "${io[@]}" --repeatbranch
refuses 'a missing list' 'No such file' "${image[@]}" --pc "$scratch/none" -o "$scratch/trace"
refuses 'a disk that is full' 'No space left' "${image[@]}" --pc "$scratch/list" -o /dev/full
refuses 'an argument too many' "\`more' is no option" "${image[@]}" "${io[@]}" more
lines 1000 xyz >"$scratch/list"
refuses 'a line that is no address' "line 2: expected a hexadecimal address, found \`xyz'" \
	"${image[@]}" "${io[@]}"
bad()		# DESCRIPTION WORDS LINE...
{
	local description=$1 words=$2
	shift 2

	lines "$@" >"$scratch/list"
	refuses "$description" "$words" "${image[@]}" "${io[@]}"
}
bad 'a gap without a mark' 'line 2: 2000 cannot follow 1000, and no mark tells' 1000 2000
bad 'a step back without a mark' 'line 3: 1008 cannot follow 100a' 1008 100a 1008
bad 'a stop elsewhere' 'line 2: a stop at 2000, but what comes next is at 1004' 1000 \
	'# stop 2000 EVCODE=4'
bad 'a stop before a start' 'line 1: a stop at 2000, but trace has not begun' '# stop 2000 EVCODE=4'
bad 'a start before a stop' 'line 2: trace begins at 2000, but has not stopped' 1000 \
	'# start 2000 SYNC=5'
bad 'a start elsewhere' 'line 2: the mark before leads to 1000, not to 2000' \
	'# start 1000 SYNC=5' 2000
bad 'a trap from elsewhere' 'line 2: a trap at 2000, but what comes next is at 1004' 1000 \
	'# trap 2000 1008'
bad 'a trap to elsewhere' 'line 3: the mark before leads to 1008, not to 2000' 1000 \
	'# trap 1004 1008' 2000
bad 'a jump from elsewhere' 'line 2: a jump from 1008, which is not' 1000 '# ijump 1008 2000'
bad 'a start without a reason' "line 1: expected \`# start ADDRESS SYNC=N', N 0 to 15, found" \
	'# start 1000'
bad 'a reason too many' "line 1: expected \`# start ADDRESS SYNC=N'" '# start 1000 SYNC=16'
bad 'a stop with words' "line 2: expected \`# stop ADDRESS" 1000 '# stop 1004 for lunch'
bad 'a trap to nowhere' "line 2: expected \`# trap FROM TO'" 1000 '# trap 1004'
bad 'a context without V' "line 1: expected \`# context" '# context PRV=1'
bad 'an invalid time' "line 1: expected \`# time TICKS'" '# time -1'
bad 'a source that does not fit' 'source 1 does not fit in --srcbits=0' '# source 1' 1000
refuses 'an invalid branch' "--branch: \`0x707f' is not MASK/MATCH[:TYPE[:OFFSET]]" "${io[@]}" \
	--branch=0x707f
refuses 'a branch of no length' "does not settle the instruction's length" "${io[@]}" \
	--branch=0x7003/0x6003
refuses 'a match outside of the mask' "\`0x707f/0x680b': match of a branch encoding has bits" \
	"${io[@]}" --branch=0x707f/0x680b
refuses 'a branch without an offset' 'does not go with its offset' "${io[@]}" --branch=0x3f/0x1f
refuses 'an offset in the mask' 'in the mask' "${io[@]}" --branch=0xff/0x0b
refuses 'a branch twice' "\`0x7f/0x0b': two branch encodings" "${io[@]}" --branch=0x707f/0x600b \
	--branch=0x7f/0x0b
many=()
for ((i = 0; i <= 64; i++)); do
	many+=("--branch=0x3fff/$((i << 7 | 11)):cond:31@1")
done
refuses 'too many branches' '--branch: more than 64' "${io[@]}" "${many[@]}"

lines 1000 2000 1008 >"$scratch/list"
gaps=--gaps=pause dumps 'what nothing explains is a pause, if --gaps=pause' \
	"$(lines 'ProgTraceSync SYNC=5 I-CNT=0 F-ADDR=0x800' 'ProgTraceCorrelation EVCODE=4 CDF=0 I-CNT=2' \
	'ProgTraceSync SYNC=5 I-CNT=0 F-ADDR=0x1000' \
	'IndirectBranch B-TYPE=0 I-CNT=2 U-ADDR=0x1804' \
	'ProgTraceCorrelation EVCODE=4 CDF=0 I-CNT=1')" --btm
refuses 'an unknown word for gaps' "\`jump' is none of refuse, trap, pause" "${image[@]}" \
	"${io[@]}" --gaps=jump
lines 1000 3000 >"$scratch/list"
refuses 'an address without code' 'line 2: no code at 3000' "${image[@]}" "${io[@]}"
lines 1001 >"$scratch/list"
refuses 'an odd address' 'line 1: 1001 is an odd address' "${image[@]}" "${io[@]}"
: >"$scratch/list"
refuses 'an empty list' 'no addresses' "${image[@]}" "${io[@]}"

finish
