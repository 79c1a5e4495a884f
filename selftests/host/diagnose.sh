#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Wrong parameters, and a wrong program, are named, with the right ones; damage is not taken for
# either. SEED=N repeats a run.

. "$(dirname "$0")/lib.bash"
seed=${SEED:-$RANDOM}
RANDOM=$seed
echo "# SEED=$seed"
towers=$samples/towers/towers.elf
mix=$samples/mix/mix.elf

# hint COMMAND...: what is said of parameters and program
hint()
{
	"$ntrace" "$@" 2>&1 >/dev/null | grep -e 'do not fit' -e 'does not fit' -e 'does not follow'
}

# advises ADVICE OPTION... FILE: decode says that these options do not fit, and which would
advises()
{
	local advice=$1 said
	shift

	said=$(hint decode "$@")
	[[ $said == *"these parameters do not fit the trace; others would: $advice ("* ]]
	verdict $? "wrong ${*:3}: $advice"
	[[ $said == *"$advice ("* ]] || echo "# said: $said"
}

head -n 20000 "$samples/towers/pc.txt" >"$scratch/towers"
head -n 40000 "$samples/mix/pc.txt" >"$scratch/mix"
made()		# NAME LIST ELF OPTION...
{
	local name=$1 list=$2 elf=$3
	shift 3

	"$ntrace" encode --elf "$elf" --pc "$list" -o "$scratch/$name" "$@"
}

cases=(
	""				"--btm"
	"--timestamps"			"--htm --syncmode=2 --syncmax=6"
	"--srcbits=2"			"--btm --syncmode=2 --syncmax=8"
	"--srcbits=4 --timestamps"	"--htm --syncmode=2 --syncmax=6 --src=5"
	"--srcbits=6"			"--btm --src=33"
	"--retstack=3"			"--htm --syncmode=2 --syncmax=7"
	"--retstack=3 --timestamps"	"--htm --syncmode=2 --syncmax=8"
	"--alljumps"			"--btm"
	"--alljumps --srcbits=3"	"--htm --src=1"
)
for ((i = 0; i < ${#cases[@]}; i += 2)); do
	read -ra right <<<"${cases[i]}"
	read -ra only <<<"${cases[i + 1]}"
	elf=$towers list=$scratch/towers
	[ $((i % 4)) = 0 ] || elf=$mix list=$scratch/mix
	made trace "$list" "$elf" "${right[@]}" "${only[@]}"
	source=$("$ntrace" dump "${right[@]}" "$scratch/trace" | head -n 1 | cut -d' ' -f2)
	[ -z "$(hint decode --elf "$elf" "${right[@]}" "$scratch/trace")" ]
	verdict $? "right: ${right[*]}"
	# each option wrong, the others right
	for ((j = 0; j < ${#right[@]}; j++)); do
		given=("${right[@]:0:j}" "${right[@]:j+1}")
		# of one source there is no need to choose
		advises "with ${right[j]}" --elf "$elf" "${given[@]}" "$scratch/trace"
	done
	# all of them
	[ ${#right[@]} -lt 2 ] || advises "with $(printf '%s\n' "${right[@]}" |
			sed 's/--srcbits/1&/;s/--timestamps/2&/;s/--retstack/3&/;s/--alljumps/4&/' |
			sort |
			sed 's/^[0-9]//' | paste -sd' ')" --elf "$elf" "$scratch/trace"
	for wrong in --timestamps --extaddr --alljumps; do
		[[ " ${right[*]} " != *" $wrong "* ]] || continue
		advises "without $wrong" --elf "$elf" "${right[@]}" $wrong "$scratch/trace"
	done
	if [[ " ${right[*]} " != *srcbits* ]]; then
		advises 'with --srcbits=0' --elf "$elf" "${right[@]}" --srcbits=3 "$scratch/trace"
	fi
	# the program of another trace, and the right one elsewhere
	other=$towers
	[ $elf != $towers ] || other=$mix
	for program in "$other" "$elf@0x1000" "$elf@0x40000000"; do
		hint decode --elf "$program" "${right[@]}" "$scratch/trace" |
			grep -q -e 'the program does not fit' -e 'does not follow the program'
		verdict $? "wrong program ${program##*/}: ${right[*]}"
	done
	# damage, the parameters being right
	size=$(stat -c %s "$scratch/trace") said=
	for ((n = 0; n < 16; n++)); do
		cp "$scratch/trace" "$scratch/bad"
		for ((k = 0; k <= n % 3; k++)); do
			at=$(((RANDOM << 15 | RANDOM) % size))
			case $((RANDOM % 3)) in
			0) printf "\\x$(printf %x $((RANDOM % 256)))" |
				dd of="$scratch/bad" bs=1 seek=$at conv=notrunc status=none ;;
			1) { head -c $at "$scratch/trace"; tail -c +$((at + 5)) \
				"$scratch/trace"; } >"$scratch/bad" ;;
			2) { head -c $at "$scratch/trace"; tail -c +$((at > 4 ? at - 4 : 1)) \
				"$scratch/trace"; } >"$scratch/bad" ;;
			esac
		done
		said+=$(hint decode --elf "$elf" "${right[@]}" "$scratch/bad" | grep 'not fit')
	done
	[ -z "$said" ]
	verdict $? "damage is no wrong parameter: ${right[*]}"
	[ -z "$said" ] || echo "# $said" | head -n 5
done

# addresses of a kernel, whose upper bits are not sent
sed 's/^8/ffffffff8/' "$scratch/towers" >"$scratch/high"
made trace "$scratch/high" "$towers@0xffffffff00000000" --extaddr --syncmode=2 --syncmax=5
advises 'with --extaddr' --elf "$towers@0xffffffff00000000" "$scratch/trace"

# the same with fields of 48 and 38 bits
for bits in 48 38; do
	made trace "$scratch/high" "$towers@0xffffffff00000000" --addr-bits=$bits --syncmode=2 \
		--syncmax=5
	advises "with --addr-bits=$bits" --elf "$towers@0xffffffff00000000" "$scratch/trace"
done
made trace "$scratch/high" "$towers@0xffffffff00000000" --syncmode=2 --syncmax=5
advises 'with --addr-bits=63' --elf "$towers@0xffffffff00000000" --addr-bits=20 "$scratch/trace"

# one of several sources
made one "$scratch/towers" "$towers" --srcbits=2 --src=1 --syncmode=1
made two "$scratch/towers" "$towers" --srcbits=2 --src=2 --syncmode=1
cat "$scratch/one" "$scratch/two" "$scratch/two" >"$scratch/trace"
advises 'with --srcbits=2 --src=2' --elf "$towers" "$scratch/trace"
# without a program, only what messages look like
hint dump --srcbits=5 "$samples/towers/L0.bin" | grep -q 'others would: with --srcbits=0 ('
verdict $? 'dump: wrong --srcbits'
for command in stat profile; do
	hint $command --elf "$towers" --alljumps "$samples/towers/L0.bin" |
		grep -q 'others would: without --alljumps ('
	verdict $? "$command: wrong --alljumps"
done

# without an ELF file: sequential jumps, and XLEN
# loop COUNT ADDRESS...: these addresses COUNT times
loop()
{
	local n=$1
	shift

	for ((k = 0; k < n; k++)); do
		printf '%s\n' "$@"
	done
}

# 3000 auipc t1, 0; 3004 jr 12(t1); 300c c.nop; 300e c.bnez a0, 3000; 3010 c.j .
printf '\027\003\000\000\147\000\303\000\001\000\001\000\001\000\155\371\001\240' >"$scratch/seq"
{ loop 2000 3000 3004 300c 300e; echo 3010; } >"$scratch/list"
for mode in --btm --htm; do
	"$ntrace" encode --raw "$scratch/seq@0x3000" --pc "$scratch/list" -o "$scratch/trace" \
		$mode --seqjump --syncmode=1 --syncmax=1
	[ -z "$(hint decode --raw "$scratch/seq@0x3000" --seqjump "$scratch/trace")" ]
	verdict $? "right: $mode --seqjump"
	advises 'with --seqjump' --raw "$scratch/seq@0x3000" "$scratch/trace"
	# --seqjump does no harm to a trace that reports every sequential jump
	"$ntrace" encode --raw "$scratch/seq@0x3000" --pc "$scratch/list" -o "$scratch/trace" $mode
	"$ntrace" decode --no-marks --raw "$scratch/seq@0x3000" --seqjump "$scratch/trace" |
		cmp - "$scratch/list"
	verdict $? "--seqjump, all jumps reported: $mode"
done

# 80001000 c.jal 80001008, on RV64 c.addiw; 1002 c.nop; 1004 c.bnez a0, 80001000; 1006 c.j .; 1008
# ret
printf '\041\040\001\000\165\375\001\240\202\200' >"$scratch/rv32"
{ loop 2000 80001000 80001008 80001002 80001004; echo 80001006; } >"$scratch/list.32"
# 80001000 c.addiw a0, 1, on RV32 c.jal; then as above
printf '\005\045\001\000\165\375\001\240' >"$scratch/rv64"
{ loop 2000 80001000 80001002 80001004; echo 80001006; } >"$scratch/list.64"
for mode in --btm --htm; do
	for xlen in 32 64; do
		image=$scratch/rv$xlen@0x80001000
		"$ntrace" encode --raw "$image" --xlen=$xlen --pc "$scratch/list.$xlen" -o \
			"$scratch/trace" \
			$mode --syncmode=1 --syncmax=1
		[ -z "$(hint decode --raw "$image" --xlen=$xlen "$scratch/trace")" ]
		verdict $? "right: $mode --xlen=$xlen"
		advises "with --xlen=$xlen" --raw "$image" --xlen=$((96 - xlen)) "$scratch/trace"
	done
done
finish
