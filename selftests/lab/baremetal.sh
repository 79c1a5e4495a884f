#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Stand-alone traces of a bare-metal program with all kinds of control transfers. The library must
# decode exactly the instructions that the hart retired, in all modes of the encoder, and around
# losses.

name=baremetal
. "$(dirname "$0")/lib.bash"

program=$build/baremetal/tour.elf
plugin=$build/host/ntrace-plugin.so

# trace OPTIONS: run the program with these options of the model
trace()
{
	"$lab/enter" timeout 900 qemu-system-riscv64 -M virt -m 128 -cpu rv64 -bios none \
		-kernel "$program" -display none -semihosting-config enable=on,target=native \
		${icount:+-icount shift=0,sleep=off} \
		-plugin "$plugin,trace=$dir/%d.nt,truth=$dir/%d.tv${1:+,$1}" \
		</dev/null >"$dir/qemu.out" 2>&1
}

# runs OPTIONS
runs()
{
	trace "$1"
	[ $? = 0 ] && grep -q '^tour: sum .* illegal 400 fault 200 ecall 200 user 25 ticked' \
		"$dir/qemu.out" && return
	ok 1 "${1:-defaults}: runs" "$dir/qemu.out"
	return 1
}

# same INSTRUCTIONS OTHERS OPTIONS DECODE: at least so many instructions, and groups that are none:
# traps, beginnings of stretches. The N-Trace is the partial trace, the truth the verifier.
same()
{
	local insns=$1 others=$2 options=$3 decode=$4 status=0 groups

	runs "$options" || return 0
	# shellcheck disable=SC2086
	"$lab/enter" "$build/host/ntrace" tv verify --elf "$program" $decode "ntrace:$dir/0.nt" \
		--against "tv:$dir/0.tv" >"$dir/verdict" 2>"$dir/err" || status=$?
	read -r _ _ groups _ got _ <<<"$(tail -n 1 "$dir/verdict")"
	[ "${got:-0}" -ge "$insns" ] && [ $((groups - got)) -ge "$others" ] || status=1
	ok $status "${options:-defaults}${icount:+, icount}: $got instructions, $((groups - got)) traps and beginnings" \
		"$dir/verdict" "$dir/err"
}

# lossy LEAST OPTIONS DECODE: the same, and what was dropped is truthcmp's to tell
lossy()
{
	local least=$1 options=$2 decode=$3 status=0

	runs "$options" || return 0
	# decoding with losses is status 1
	"$lab/enter" sh -c "$build/host/ntrace decode --elf $program $decode --output=pc $dir/0.nt |
		$build/host/truthcmp --truth 0=$dir/0.tv --format ntrace --require $least --allow-loss" \
		>"$dir/verdict" 2>"$dir/err" || status=$?
	verdict=$(head -n 1 "$dir/verdict")
	ok $status "$options: $(figure insns) instructions, $(figure traps) traps" "$dir/verdict" \
		"$dir/err"
}

"$lab/enter" make -s --no-print-directory -C selftests/qemu/baremetal >"$dir/make.out" 2>&1
ok $? "builds" "$dir/make.out"

whole="1000000 900"
for mode in htm btm; do
	for retstack in 0 3; do
		base=mode=$mode,retstack=$retstack decode=--retstack=$retstack
		same $whole $base $decode
		same $whole $base,extaddr=1,srcbits=5,src=9,syncmode=1,syncmax=2 \
			"$decode --extaddr --srcbits=5"
		same $whole $base,timestamps=1,context=1,syncmode=2,syncmax=0 "$decode --timestamps"
		same $whole $base,icnt_bits=4,hist_bits=2,syncmode=0 $decode
		same $whole $base,btype=1,icnt_bits=6,hist_bits=8,syncmode=3,syncmax=1 $decode
		same $whole $base,can_seqjump=1,seqjump=1 "$decode --seqjump"
		same $whole $base,can_alljumps=1,alljumps=1,can_seqjump=1,seqjump=1 \
			"$decode --alljumps --seqjump"
		lossy insns=100000,drops=10 $base,overflow=100/7,timestamps=1 "$decode --timestamps"
	done
done

# Some of the program only: by address, and from one address to another. The truth's gate shares
# nothing with the encoder's.
at()		# SYMBOL [PROGRAM]
{
	"$lab/enter" riscv64-unknown-elf-nm "${2:-$program}" |
		awk -v name="$1" '$3 == name { print "0x" $1 }'
}

for mode in htm btm; do
	some=mode=$mode,retstack=3
	same 100000 10000 $some,range=$(at qsort):$(at exit) --retstack=3
	same 100000 1000 $some,start_stop=$(at on_trap):$(at compare) --retstack=3
	lossy insns=100000,drops=100 $some,range=$(at ackermann):$(at far),overflow=100/7 \
		--retstack=3
done

# The truth has witnesses, too: the full state of the same run, which the model writes by other
# means, and the hart's own counter of instructions. A shorter run: the state is slow.
short=$dir/short/tour.elf
"$lab/enter" make -s --no-print-directory -C selftests/qemu/baremetal ROUNDS=60 out="$dir/short" \
	"$short" >"$dir/make.out" 2>&1
ok $? "a shorter run builds" "$dir/make.out"

# watch OPTIONS [QEMU OPTION...]: run it; leaves what it says in $dir/short.out
watch()
{
	local options=$1

	shift
	"$lab/enter" timeout 900 qemu-system-riscv64 -M virt -m 128 -cpu rv64 -bios none -kernel \
		"$short" \
		-display none -semihosting-config enable=on,target=native "$@" \
		-plugin "$plugin,trace=/dev/null,truth=$dir/%d.tv,$options" </dev/null \
		>"$dir/short.out" 2>&1
}

# witness INSTRUCTIONS TITLE OPTIONS [TRUTHSTATE OPTION...]
witness()
{
	local least=$1 title=$2 options=$3 status=0

	shift 3
	watch "state=$dir/%d.state${options:+,$options}" || status=$?
	[ $status != 0 ] || "$lab/enter" "$build/host/truthstate" --truth "$dir/0.tv" \
		--state "$dir/0.state" \
		--insns "$least" "$@" >"$dir/verdict" 2>"$dir/err" || status=$?
	ok $status "truth and state of one run, $title: $(head -n 1 "$dir/verdict")" \
		"$dir/short.out" "$dir/verdict" "$dir/err"
}

witness 600000 "all of it" ""
"$lab/enter" "$build/host/truthstate" --truth "$dir/0.tv" --state "$dir/0.state" --privileges 8 \
	>"$dir/verdict" 2>&1
[ $? = 1 ] && grep -q '^different' "$dir/verdict"
ok $? "... which is not that of M mode alone" "$dir/verdict"
witness 20 "U mode alone" privileges=1 --privileges 1
range=$(at qsort "$short"):$(at exit "$short")
witness 100000 "a range of addresses" "range=$range" --range "$range"

watch mode=btm -icount shift=0,sleep=off
counted=$(sed -n 's/^tour: counted //p' "$dir/short.out")
"$lab/enter" "$build/host/truthstate" --truth "$dir/0.tv" --counted "${counted:-0}" --insns 500000 \
	>"$dir/verdict" 2>&1
ok $? "minstret counts what the truth has: ${counted:-nothing}" "$dir/short.out" "$dir/verdict"
"$lab/enter" "$build/host/truthstate" --truth "$dir/0.tv" --counted $((${counted:-0} + 1)) \
	>"$dir/verdict" 2>&1
[ $? = 1 ] && grep -q '^different' "$dir/verdict"
ok $? "... and not one more" "$dir/verdict"

# Without a clock that runs by itself every run is the same, to the byte
icount=1
same $whole "clock=csr,timestamps=1" --timestamps
cp "$dir/0.nt" "$dir/first.nt"
same $whole "clock=csr,timestamps=1" --timestamps
cmp "$dir/0.nt" "$dir/first.nt" >"$dir/cmp.out" 2>&1
ok $? "icount: the same trace again" "$dir/cmp.out"

finish
