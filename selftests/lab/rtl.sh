#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Open RTL instead of the model's encoder, funnel and sink: bare-metal programs record themselves
# through its registers. The library, with the RTL's profile, must decode the instructions that the
# hart retired. RTL=DIR is the directory of the RTL.

name=rtl
. "$(dirname "$0")/lib.bash"

plugin=$build/host/ntrace-plugin.so
need_rtl
"$lab/topology" rtl >"$dir/topology"
model=$(awk '$1 == "option" { printf ",%s", $2 }' "$dir/topology")
model+=",ram=$dir/ram,topology=$dir/topology,rtl=$build/rtl/librtl.so,clock=csr"
model+=",truth=$dir/%d.tv,reg_log=$dir/registers"

# run [PLUGIN OPTIONS]: $program; in $dir/qemu.out what it prints, in $dir/0.nt what the sink wrote.
# Without a clock that runs by itself: every run is the same.
run()
{
	local part start end

	rm -f "$dir/ram" "$dir/0.tv" "$dir/0.nt"
	"$lab/enter" timeout 900 qemu-system-riscv64 -M virt,memory-backend=ram -m 128 -cpu rv64 \
		-object "memory-backend-file,id=ram,size=128M,mem-path=$dir/ram,share=on" \
		-bios none -kernel "$program" -display none -icount shift=0,sleep=off \
		-semihosting-config enable=on,target=native -plugin "$plugin$model${1:+,$1}" \
		</dev/null >"$dir/qemu.out" 2>&1 || return
	for part in $(sed -n 's/^trace: \(.*\) lost 0$/\1/p' "$dir/qemu.out"); do
		start=$((16#${part%-*})) end=$((16#${part#*-}))
		tail -c +$((start - 0x80000000 + 1)) "$dir/ram" |
			head -c $((end - start)) >>"$dir/0.nt"
	done
	rm "$dir/ram"
	[ -s "$dir/0.nt" ]
}

# make_program NAME [VARIABLE=VALUE...]: $program, which records itself
make_program()
{
	local out

	out=$dir/$(tr -c 'A-Za-z0-9\n' _ <<<"$*")
	program=$out/$1-trace.elf
	"$lab/enter" make -s --no-print-directory -C selftests/qemu/baremetal out="$out" "${@:2}" \
		"$program" >"$dir/make.out" 2>&1
	[ $? = 0 ] && return
	ok 1 "$*: builds" "$dir/make.out"
	return 1
}

# same INSTRUCTIONS OTHERS SAYS OPTIONS DECODE NAME [VARIABLE=VALUE...]: it says a line; at least so
# many instructions, and groups that are none
same()
{
	local insns=$1 others=$2 says=$3 options=$4 decode=$5 status=0 groups got

	shift 5
	make_program "$@" || return 0
	rm -f "$dir/verdict" "$dir/err"
	run "$options" && grep -q "$says" "$dir/qemu.out" || status=$?
	# shellcheck disable=SC2086
	[ $status != 0 ] || "$lab/enter" "$build/host/ntrace" tv verify --elf "$program" \
		--profile=tt-dfd $decode "ntrace:$dir/0.nt" --against "tv:$dir/0.tv" \
		>"$dir/verdict" 2>"$dir/err" || status=$?
	[ $status != 0 ] || read -r _ _ groups _ got _ <<<"$(tail -n 1 "$dir/verdict")"
	[ "${got:-0}" -ge "$insns" ] && [ $((${groups:-0} - ${got:-0})) -ge "$others" ] || status=1
	ok $status "$*${options:+, $options}: ${got:-no} instructions, $((${groups:-0} - ${got:-0})) traps and beginnings" \
		"$dir/qemu.out" "$dir/verdict" "$dir/err"
}

# transfers: of the last run, each with its type, and branches that were not taken
transfers()
{
	"$lab/enter" "$build/host/ntrace" decode --elf "$program" --profile=tt-dfd --output=branch \
		--not-taken "$dir/0.nt" 2>"$dir/err" | sed '/^#/d; s/ not$/ cond/' >"$dir/decoded"
	"$lab/enter" "$build/host/truthlist" "$dir/0.tv" | awk '$1 == "t" { print $2, $3, $5 }
		$1 == "i" && $5 != "none" { print $2, $3, $5 }' >"$dir/truth" 2>>"$dir/err"
	cmp "$dir/truth" "$dir/decoded" >"$dir/cmp.out" 2>&1 &&
		[ "$(wc -l <"$dir/truth")" -ge 100000 ]
	ok $? "... $(wc -l <"$dir/truth") transfers, $(grep -c exception "$dir/truth") of them exceptions" \
		"$dir/cmp.out" "$dir/err"
}

# newest INSTRUCTIONS NAME [VARIABLE=VALUE...]: the sink has overwritten what came first. At least
# so many instructions, the last that the hart retired.
newest()
{
	local least=$1 status=0 n

	shift
	make_program "$@" || return 0
	run && "$lab/enter" "$build/host/ntrace" decode --elf "$program" --profile=tt-dfd \
		--output=pc \
		"$dir/0.nt" >"$dir/decoded" 2>"$dir/err" || status=$?
	sed '/^#/d' "$dir/decoded" >"$dir/pcs"
	n=$(wc -l <"$dir/pcs")
	"$lab/enter" "$build/host/truthlist" "$dir/0.tv" |
		awk '$1 == "i" { print $2 }' >"$dir/truth"
	[ $status -le 1 ] && [ "$n" -ge "$least" ] && [ "$n" -lt "$(wc -l <"$dir/truth")" ] &&
		tail -n "$n" "$dir/truth" | cmp - "$dir/pcs" >"$dir/cmp.out" 2>&1
	ok $? "$*: the last $n instructions of $(wc -l <"$dir/truth")" "$dir/qemu.out" \
		"$dir/cmp.out" "$dir/err"
}

# Which registers there are, as facts about this RTL; all other accesses are faults, each at its
# instruction and with its address.
make_program probe && {
	run
	ok $? "probe: runs" "$dir/qemu.out"
	cat >"$dir/expected" <<-END
	probe: encoder 000-014 040-040 1a8-1a8
	probe: funnel 000-008
	probe: sink 000-004 010-02c 040-040 e00-e00
	probe: 3049 reads, 3049 writes are access faults
	probe: start 12345640
	END
	grep ^probe "$dir/qemu.out" | diff "$dir/expected" - >"$dir/diff"
	ok $? "probe: registers answer, the others are access faults" "$dir/diff"
}

tour='^tour: sum .* illegal 400 fault 200 ecall 200 user 25 ticked'
same 1000000 900 "$tour" "" "" tour
transfers
same 1000000 900 "$tour" rtl_pairs=0 "" tour
# trTeInstSyncMode 3, 1, 2: a sync message after so many half-words, messages, cycles
same 1000000 900 "$tour" "" "" tour TRACE=-DCONTROL=0x430000
same 1000000 900 "$tour" "" "" tour TRACE=-DCONTROL=0x110000
same 1000000 900 "$tour" "" "" tour TRACE=-DCONTROL=0x420000
same 1000000 900 "$tour" "" --timestamps tour TRACE=-DTIMESTAMPS=1
same 10000 5 '^tour: sum ' "" "" tour ROUNDS=1 TRACE=-DSRAM=0x4000
same 10000000 10 '^loops: sum ' "" "" loops REPEAT=14
newest 30000 tour ROUNDS=30 "TRACE=-DWINDOW=0x8000 -DCONTROL=0x330000"
newest 5000 tour ROUNDS=10 "TRACE=-DSRAM=0x4000 -DCONTROL=0x330000"
finish
