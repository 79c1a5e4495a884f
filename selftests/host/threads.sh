#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# ntrace --threads: what comes out is the same, byte for byte, whatever their
# number: of small traces, of long ones, whole and damaged; and of whole
# ones the same as without pieces. SEED=N repeats a run. make check-all tries each number of
# threads.

. "$(dirname "$0")/lib.bash"
seed=${SEED:-$RANDOM}
RANDOM=$seed
echo "# SEED=$seed"
elf=$samples/mix/mix.elf
numbers="2 3 8"
[ "${groups:-}" != all ] || numbers="2 3 4 5 6 7 8"

# verb=COMMAND same DESCRIPTION - ARGUMENT...: one thread says the same as $numbers, and exits so
same()
{
	local description=$1 want=0 status threads bad=0
	shift 2

	"$ntrace" "$verb" "$@" >"$scratch/one" 2>&1 || want=$?
	[ -s "$scratch/one" ] && [ $want -lt 2 ] || bad=1
	for threads in $numbers; do
		status=0
		"$ntrace" "$verb" --threads=$threads "$@" >"$scratch/many" 2>&1 || status=$?
		cmp "$scratch/one" "$scratch/many" && [ $status = $want ] && continue
		echo "# $threads threads: status $status, not $want: $verb $*"
		bad=1
	done
	verdict $bad "$description, status $want: $verb $1"
}

all_outputs()	# DESCRIPTION ARGUMENT...
{
	local description=$1
	shift

	for output in pc branch block; do
		verb=decode same "$description" - --output=$output "$@"
	done
	verb=decode same "$description" - --output=branch --not-taken "$@"
	verb=stat same "$description" - "$@"
}

size()
{
	stat -c %s "$1"
}

# damage FILE TIMES: bytes changed, runs of them removed or doubled
damage()
{
	local file=$1 i at bytes

	for ((i = 0; i < $2; i++)); do
		bytes=$(size "$file")
		at=$(((RANDOM << 15 | RANDOM) % bytes))
		case $((RANDOM % 3)) in
		0)
			# shellcheck disable=SC2059
			printf "\\x$(printf %x $((RANDOM % 256)))" |
				dd of="$file" bs=1 seek=$at conv=notrunc status=none ;;
		1)
			{ head -c $at "$file"; tail -c +$((at + RANDOM % 40)) "$file"; } \
				>"$file.new" && mv "$file.new" "$file" ;;
		2)
			{ head -c $((at + RANDOM % 40)) "$file"; tail -c +$at "$file"; } \
				>"$file.new" && mv "$file.new" "$file" ;;
		esac
	done
}

for trace in L0 L3 L4; do
	retstack=3
	[ $trace != L0 ] || retstack=0
	verb=decode same "towers $trace" - --output=block --retstack=$retstack \
		--elf "$samples/towers/towers.elf" "$samples/towers/$trace.bin"
done
verb=decode same 'rv32' - --output=insn --profile=sifive \
	--elf "$samples/rv32/rv32.elf" "$samples/rv32/L1.bin"

cat "$samples/mix/pc.txt" >"$scratch/once"
for ((i = 0; i < 4; i++)); do cat "$scratch/once"; done >"$scratch/list"

# long ENCODE-ONLY-OPTIONS OPTION...: $scratch/long, $scratch/bad
long()
{
	local only=$1
	shift

	# shellcheck disable=SC2086
	"$ntrace" encode --gaps=trap --elf "$elf" --pc "$scratch/list" -o "$scratch/long" $only "$@"
	"$ntrace" decode --no-marks --elf "$elf" "$@" --threads=8 "$scratch/long" |
		cmp - "$scratch/list"
	[ "${PIPESTATUS[*]}" = '0 0' ] && [ "$(size "$scratch/long")" -gt 30000 ]
	verdict $? "$(size "$scratch/long") bytes come back in 8 threads: $only $*"
	all_outputs "whole $only" --elf "$elf" "$@" "$scratch/long"
	# a changed count may repeat a loop for hours: another try then
	until [ -f "$scratch/bad" ] && [ "$("$ntrace" decode --elf "$elf" "$@" "$scratch/bad" |
			head -c $((40 << 20)) | wc -c)" -lt $((40 << 20)) ]; do
		cp "$scratch/long" "$scratch/bad"
		damage "$scratch/bad" 12
	done
	all_outputs "damaged $only" --elf "$elf" "$@" "$scratch/bad"
	rm "$scratch/bad"
}

long '--htm --syncmode=2 --syncmax=9' --retstack=3
long '--btm --syncmode=1 --syncmax=2' --timestamps --srcbits=4 --src=9
long '--htm --syncmode=3 --syncmax=12 --repeathist'

# without pieces: a decoder that knows nothing of them
"$ntrace" encode --elf "$elf" --pc "$scratch/once" -o "$scratch/long" --btm --syncmode=2 --syncmax=6
"${CC:-gcc}" -I"$top/tools-perf/util/ntrace-decoder" -o "$scratch/example" \
	"$top/tools-perf/util/ntrace-decoder/example.c" "$out/libntrace.a" -lelf
verdict $? 'the example builds'
"$scratch/example" "$elf" "$scratch/long" >"$scratch/whole"
"$ntrace" decode --no-marks --output=branch --threads=3 --elf "$elf" "$scratch/long" \
	>"$scratch/pieces"
[ "$(wc -l <"$scratch/whole")" -gt 40000 ] && cmp "$scratch/whole" "$scratch/pieces"
verdict $? 'branches of pieces are those of the whole'
# a run ends with a transfer, never where a piece does; the last jumps
"$ntrace" decode --no-marks --output=block --threads=3 --elf "$elf" "$scratch/long" >"$scratch/runs"
[ "$(wc -l <"$scratch/runs")" = "$(wc -l <"$scratch/whole")" ] &&
	[ "$(awk '{ n += $3 } END { print n }' "$scratch/runs")" = "$(wc -l <"$scratch/once")" ] &&
	awk 'NR == FNR { from[FNR] = $1; to[FNR] = $2; next }
	     (FNR > 1 && $1 != to[FNR - 1]) || (FNR in from && $2 != from[FNR]) { exit 1 }' \
		"$scratch/whole" "$scratch/runs"
verdict $? 'runs lead from transfer to transfer'

# a run longer than pieces: c.nop 200,000 times and `c.j .', with a sync message every 16
{ printf '\x01\0%.0s' {1..200000}; printf '\x01\xa0'; } >"$scratch/sled"
awk 'BEGIN { for (pc = 4096; pc <= 404096; pc += 2) printf "%x\n", pc; print "62a80" }' \
	>"$scratch/sled.list"
"$ntrace" encode --raw "$scratch/sled@0x1000" --pc "$scratch/sled.list" -o "$scratch/long" \
	--syncmode=2 --syncmax=0
[ "$(size "$scratch/long")" -gt $((4 << 14)) ] &&
	"$ntrace" decode --no-marks --output=block --threads=3 --raw "$scratch/sled@0x1000" \
		"$scratch/long" |
	cmp - <(printf '%s\n' '1000 62a80 200001' '62a80 62a80 1')
verdict $? 'a run of more than three pieces is one'

# times that change with every branch, or seldom: not where a piece begins
params=(--elf "$elf" --timestamps --btm)
"$ntrace" encode "${params[@]}" --pc "$scratch/once" -o "$scratch/long"
"$ntrace" decode "${params[@]}" "$scratch/long" >"$scratch/all"
for ticks in 1 100; do
	awk -v ticks=$ticks '/^# time/ { $3 -= $3 % ticks } !/^# time/ || $3 != last { print }
		/^# time/ { last = $3 }' "$scratch/all" >"$scratch/times"
	"$ntrace" encode "${params[@]}" --pc "$scratch/times" -o "$scratch/long"
	"$ntrace" decode "${params[@]}" "$scratch/long" >"$scratch/whole"
	for max in 1 4 7; do
		"$ntrace" encode "${params[@]}" --pc "$scratch/times" -o "$scratch/long" \
			--syncmode=2 --syncmax=$max
		"$ntrace" decode "${params[@]}" --threads=3 "$scratch/long" >"$scratch/pieces"
		[ "$(size "$scratch/long")" -gt $((2 << 14)) ] &&
			[ "$(grep -c '^# time' "$scratch/whole")" -gt 100 ] &&
			cmp "$scratch/whole" "$scratch/pieces"
		verdict $? "times of $ticks ticks in pieces: sync messages every $((16 << max)) instructions"
	done
done

# no sync message, no piece; and nothing at all
"$ntrace" encode --elf "$elf" --pc "$scratch/once" -o "$scratch/long" --btm
verb=decode same 'no sync messages' - --elf "$elf" "$scratch/long"
: >"$scratch/empty"
"$ntrace" decode --threads=8 --elf "$elf" "$scratch/empty" >"$scratch/got" 2>&1
[ $? = 2 ] && grep -q 'is empty' "$scratch/got"
verdict $? 'an empty trace in 8 threads'

# memory: the text of all pieces is many times of what may be kept
for ((i = 0; i < 12; i++)); do cat "$scratch/list"; done >"$scratch/longer"
"$ntrace" encode --gaps=trap --elf "$elf" --pc "$scratch/longer" -o "$scratch/long" --retstack=3 \
	--syncmode=2 --syncmax=8
bad=0
for limit in 256 224 200 180; do
	( ulimit -v $((limit << 10)) &&
	  "$ntrace" decode --no-marks --threads=4 --retstack=3 --elf "$elf" "$scratch/long" ) |
		cmp - "$scratch/longer"
	[ "${PIPESTATUS[*]}" = '0 0' ] || bad=1
done
verdict $bad "$(($(size "$scratch/longer") >> 20)) MB of text in less memory"
status=0
"$ntrace" decode --threads=4 --retstack=3 --elf "$elf" "$scratch/long" 2>"$scratch/stderr" \
	>/dev/full || status=$?
[ $status = 2 ] && grep -q 'No space left' "$scratch/stderr"
verdict $? 'a full disk ends all threads'

# a clock that wraps: time goes on from piece to piece, in whatever thread
"$ntrace" encode --htm --timestamps --tstamp-bits=16 --syncmode=1 --syncmax=4 --elf "$elf" \
	--pc "$samples/mix/pc.txt" -o "$scratch/narrow"
"$ntrace" decode --elf "$elf" --timestamps --tstamp-bits=63 "$samples/mix/timed.bin" \
	>"$scratch/wide.txt" &&
	"$ntrace" decode --elf "$elf" --timestamps --tstamp-bits=16 "$scratch/narrow" \
		>"$scratch/narrow.txt" &&
	! cmp -s "$scratch/narrow" "$samples/mix/timed.bin" &&
	grep -q '^# time [0-9]\{6\}' "$scratch/narrow.txt" &&
	cmp "$scratch/wide.txt" "$scratch/narrow.txt"
verdict $? 'a clock of 16 bits: the times of one of 64'
all_outputs 'a clock of 16 bits' --elf "$elf" --timestamps --tstamp-bits=16 "$scratch/narrow"
finish
