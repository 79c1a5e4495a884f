#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Traces of others' encoders, in CAPTURES=DIR, decode to the addresses that others' tools say were
# executed: first to last, without a loss. Encoding the same addresses takes no more bytes.
#
# ref_NAME/L0.bin to L4.bin are of the N-Trace task group's reference encoder, BTM, HTM, HTM with
# repeated history, HTM with implicit return, and with both; e31_NAME/*.rtd of SiFive's E31. Beside
# a trace are the program (ELF) and pc.txt.xz, an address a line. They are others' programs and not
# part of this project, which has golden cases of what is particular to them (golden/profiles.txt).

. "$(dirname "$0")/lib.bash"

captures=${CAPTURES:-$top/../shared/captures}
have_captures

# same GOT WANT: equal files, or the first difference of both
same()
{
	cmp -s "$1" "$2" && return
	diff <(cat -n "$1") <(cat -n "$2") | sed -n '2p;/^>/{p;q}' | sed 's/^/# /'
	return 1
}

# capture FOLDER ELF TRACE OPTION...; losses=N: how many there are
losses=0
capture()
{
	local folder=$1 elf=$2 trace=$3 status=0
	shift 3

	"$out/ntrace" decode "$@" --no-marks --elf "$captures/$folder/$elf" --output=pc \
		"$captures/$folder/$trace" >"$scratch/got" || status=$?
	grep '^#' "$scratch/got"
	grep -v '^#' "$scratch/got" >"$scratch/pcs"
	xz -dc "$captures/$folder/pc.txt.xz" >"$scratch/want"
	[ "$(grep -c '^# loss' "$scratch/got")" = $losses ] && [ "$status" = $((losses > 0)) ] &&
		[ -s "$scratch/want" ] && same "$scratch/pcs" "$scratch/want"
	verdict $? "$folder $trace ${*} ($(wc -l <"$scratch/want") instructions)"
}

for folder in dhrystone towers; do
	for level in L0 L1 L2; do
		capture ref_$folder $folder.elf $level.bin
	done
	for level in L3 L4; do
		for mode in 1 2 3; do
			capture ref_$folder $folder.elf $level.bin --retstack=$mode
		done
	done
done
capture e31_hello e31_hello.elf e31_hello.rtd --profile=sifive
# its last message is cut: two bytes of it are there
losses=1 capture e31_timestamp timestamp.elf timestamp.rtd --profile=sifive --timestamps

# times FOLDER TRACE: absolute in sync messages, elsewhere XORed with the time before
times()
{
	local count=0 time=0 text

	xz -dc "$captures/$1/message_tics.txt.xz" >"$scratch/want"
	"$out/ntrace" dump --profile=sifive --timestamps "$captures/$1/$2" | grep -v '^#' |
	while IFS= read -r text; do
		count=$((count + 1))
		case $text in
		*Sync*TSTAMP=*) time=${text##*TSTAMP=} ;;
		*TSTAMP=*) time=$((time ^ ${text##*TSTAMP=})) ;;
		esac
		echo "$count $time"
	done >"$scratch/got"
	same "$scratch/got" "$scratch/want"
	verdict $? "$1 $2 times of all messages"
}
times e31_timestamp timestamp.rtd

# no_larger FOLDER LEVEL OPTION...: a ProgTraceCorrelation with an empty history costs a byte, which
# R78 wants and the reference encoder leaves out
no_larger()
{
	local folder=ref_$1 name=$1 level=$2 size ref cost
	shift 2

	xz -dc "$captures/$folder/pc.txt.xz" >"$scratch/want"
	"$out/ntrace" encode --elf "$captures/$folder/$name.elf" --pc "$scratch/want" -o \
		"$scratch/trace" "$@"
	cost=$("$out/ntrace" dump "$scratch/trace" |
		grep -c 'ProgTraceCorrelation .* CDF=1 .* HIST=0x1$')
	size=$(stat -c %s "$scratch/trace")
	ref=$(stat -c %s "$captures/$folder/$level.bin")
	[ "$size" -gt 0 ] && [ $((size - cost)) -le "$ref" ]
	verdict $? "R78 $name $level: $size bytes, the reference's are $ref, R78 costs $cost"
}
for name in dhrystone towers; do
	no_larger $name L0 --btm
	no_larger $name L1 --htm
	no_larger $name L2 --htm --repeathist
	no_larger $name L3 --htm --retstack=3
	no_larger $name L4 --htm --repeathist --retstack=3
done

for folder in dhrystone towers; do
	while read -r level only options; do
		# shellcheck disable=SC2086
		identity "$folder $level" "${only//,/ }" --elf "$captures/ref_$folder/$folder.elf" \
			$options -- \
			"$captures/ref_$folder/$level.bin"
	done <<-END
		L0 --btm
		L1 --htm
		L2 --htm,--repeathist
		L3 --htm --retstack=3
		L4 --htm,--repeathist --retstack=3
	END
done
identity 'e31_hello, pauses' --btm --elf "$captures/e31_hello/e31_hello.elf" -- \
	--profile=sifive "$captures/e31_hello/e31_hello.rtd"
# its last message is cut
head -c 4094 "$captures/e31_timestamp/timestamp.rtd" >"$scratch/timed"
# The times of messages that encode does not make are elsewhere, and it ends what has no end; the
# second round is the same to the byte.
timestamp=(--timestamps --elf "$captures/e31_timestamp/timestamp.elf")
"$ntrace" decode "${timestamp[@]}" --profile=sifive "$scratch/timed" >"$scratch/first"
encode "$scratch/first" "${timestamp[@]}" --btm && cp "$scratch/trace" "$scratch/timed" &&
	"$ntrace" decode "${timestamp[@]}" "$scratch/timed" | sed '/^# time/d' |
		cmp - <(sed '/^# time/d; $s/^# stop.*/& EVCODE=4/' "$scratch/first")
verdict $? 'decode, encode, decode: e31_timestamp, without times'
identity 'e31_timestamp, times' --btm "${timestamp[@]}" -- "$scratch/timed"
[ "$(grep -c '^# time' "$scratch/first")" -gt 50 ]
verdict $? "... $(grep -c '^# time' "$scratch/first") of them"

finish
