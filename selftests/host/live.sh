#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A trace that comes through a pipe: what has come is decoded before more comes, and what comes out
# is the same as of a file, however the trace is cut.

. "$(dirname "$0")/lib.bash"
seed=${SEED:-$RANDOM}
RANDOM=$seed
echo "# SEED=$seed"
elf=$samples/towers/towers.elf
mkfifo "$scratch/in" "$scratch/out"

# live SIZE OPTION... : writes SIZE bytes of the trace, and the rest only when lines have come of
# these.
# A decoder that waits for the end of the trace never answers: timeout ends it, and so the test.
live()
{
	local size=$1 first status=0
	shift

	"$ntrace" "$@" "$trace" >"$scratch/want" 2>&1 || status=$?
	timeout $hang "$ntrace" "$@" - <"$scratch/in" >"$scratch/out" 2>"$scratch/stderr" &
	exec 5>"$scratch/in" 6<"$scratch/out"
	head -c "$size" "$trace" >&5
	first=
	IFS= read -r first <&6 && [ "$first" = "$(head -n 1 "$scratch/want")" ] || {
		exec 5>&- 6<&-
		wait $!
		return 1
	}
	# all of the first bytes' lines but the last few, which the next message may belong to
	: >"$scratch/got"
	echo "$first" >>"$scratch/got"
	for ((i = 1; i < early; i++)); do
		IFS= read -r first <&6 || break
		echo "$first" >>"$scratch/got"
	done
	cmp -s "$scratch/got" <(head -n "$early" "$scratch/want") || {
		exec 5>&- 6<&-
		wait $!
		return 1
	}
	tail -c +$((size + 1)) "$trace" >&5 &
	exec 5>&-
	cat <&6 >>"$scratch/got"
	exec 6<&-
	wait
	cmp "$scratch/got" "$scratch/want"
}

# 700 bytes have 70 messages; of them come at least 40 lines
trace=$samples/towers/L1.bin early=40
for command in dump 'decode --htm' 'decode --htm --output=branch' 'decode --output=insn' \
	       'decode --threads=3 --output=block'; do
	elf_option=
	[ "$command" = dump ] || elf_option="--elf $elf"
	# shellcheck disable=SC2086
	live 700 $command $elf_option
	verdict $? "lines before the trace ends: $command"
done

# dribble FILE: the file in pieces of any size
dribble()
{
	local size at=0 n

	size=$(stat -c %s "$1")
	while [ $at -lt "$size" ]; do
		n=$((RANDOM % 3 ? 1 + RANDOM % 9000 : 1 + RANDOM % 40))
		tail -c +$((at + 1)) "$1" | head -c $n
		at=$((at + n))
	done
}

# damage: some bytes of the trace are others
damage()
{
	local size at k

	size=$(stat -c %s "$trace")
	cp "$trace" "$scratch/bad"
	for ((k = 0; k < 8; k++)); do
		at=$((64 + (RANDOM << 15 | RANDOM) % (size - 64)))
		printf "\\x$(printf %x $((RANDOM % 256)))" |
			dd of="$scratch/bad" bs=1 seek=$at conv=notrunc status=none
	done
}

for level in L0 L3 timed damaged.1 damaged.2 wrapped; do
	options= trace=$samples/mix/$level.bin program=$samples/mix/mix.elf
	case $level in
	L3) options=--retstack=3 ;;
	timed) options=--timestamps ;;
	damaged.*)
		trace=$samples/mix/L1.bin
		damage
		trace=$scratch/bad ;;
	wrapped)
		tail -c +12346 "$samples/mix/L1.bin" >"$scratch/wrapped"
		trace=$scratch/wrapped ;;
	esac
	for command in dump "decode --elf $program" "decode --elf $program --output=block" stat \
		       "stat --elf $program"; do
		# shellcheck disable=SC2086
		"$ntrace" $command $options "$trace" >"$scratch/want" 2>/dev/null
		status=$?
		# shellcheck disable=SC2086
		dribble "$trace" | "$ntrace" $command $options - >"$scratch/got" 2>/dev/null
		[ "${PIPESTATUS[1]}" = $status ] && [ -s "$scratch/want" ] &&
			cmp "$scratch/got" "$scratch/want"
		verdict $? "$level in pieces: ${command/--elf "$program"/}"
	done
done

# a sync message that lies across a multiple of 1 MiB, up to which memory is given back, and that a
# piece of the trace begins with
trace=$samples/mix/L1.bin
at=$("$ntrace" dump "$trace" | awk '/Sync/ && ++n == 5 { print $1 }')
at=$((at))
[ $at -gt 0 ] && [ $at -lt 16384 ]
verdict $? "the fifth sync message is at $at"
{
	head -c $at "$trace"
	head -c $(((3 << 20) - 3 - at)) /dev/zero | tr '\0' '\377'
	tail -c +$((at + 1)) "$trace"
} >"$scratch/across"
for command in dump stat "stat --elf $program" "decode --elf $program"; do
	# shellcheck disable=SC2086
	"$ntrace" $command "$scratch/across" >"$scratch/want" &&
		cat "$scratch/across" | "$ntrace" $command - >"$scratch/got" &&
		cmp "$scratch/got" "$scratch/want"
	verdict $? "a sync message across 3 MiB: ${command/--elf "$program"/}"
done

# memory does not grow with it
"${CC:-gcc}" -O1 -o "$scratch/rusage" "$top/selftests/host/rusage.c" || exit 1
size=$(stat -c %s "$samples/mix/L0.bin")
copies=$((40000000 / size + 1))
for command in dump "decode --output=branch --elf $samples/mix/mix.elf"; do
	# shellcheck disable=SC2086
	for ((i = 0; i < copies; i++)); do
		cat "$samples/mix/L0.bin"
	done | "$scratch/rusage" "$scratch/usage" "$ntrace" $command - >"$scratch/got" 2>/dev/null
	read -r _ kb _ <"$scratch/usage"
	[ "$kb" -le 16000 ] && [ "$(wc -l <"$scratch/got")" -gt 1000000 ]
	verdict $? "a pipe of $((copies * size)) bytes is not kept: ${command%% --elf*}: $kb KB"
done
for command in stat "stat --elf $samples/mix/mix.elf"; do
	# shellcheck disable=SC2086
	for ((i = 0; i < copies; i++)); do
		cat "$samples/mix/L0.bin"
	done | "$scratch/rusage" "$scratch/usage" "$ntrace" $command - >"$scratch/got" 2>/dev/null
	read -r _ kb _ <"$scratch/usage"
	[ "$kb" -le 16000 ] && grep -qx "file  *$((copies * size)) bytes" "$scratch/got"
	verdict $? "a pipe of $((copies * size)) bytes is not kept: ${command%% --elf*}: $kb KB"
done
finish
