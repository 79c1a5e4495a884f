#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Traces of others' encoders (selftests/captures) decode to the addresses that
# others' tools say were executed: first to last, without a loss.

. "$(dirname "$0")/lib.bash"

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

	"$out/ntrace" decode "$@" --elf "$captures/$folder/$elf" --output=pc \
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

# implicit return not told: an error, not another program
"$out/ntrace" decode --elf "$captures/ref_towers/towers.elf" "$captures/ref_towers/L3.bin" \
	>"$scratch/got"
[ $? = 1 ] && grep -q '^# loss' "$scratch/got"
verdict $? "R132 returns without --retstack are a loss"

finish
