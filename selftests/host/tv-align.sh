#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# ntrace tv verify of two recordings of one run that were not switched on together: what only one
# of them has is passed over, and told.

. "$(dirname "$0")/lib.bash"
elf=$samples/towers/towers.elf
head -n 3000 "$samples/towers/pc.txt" >"$scratch/list"

# 1000 c.nop; 1002 c.nop; 1004 jr t0: a boot ROM
printf '\x01\0\x01\0\x67\x80\2\0' >"$scratch/rom"
image=(--elf "$elf" --raw "$scratch/rom@0x1000")
{ printf '1000\n1002\n1004\n'; cat "$scratch/list"; } >"$scratch/whole"
"$ntrace" encode "${image[@]}" --pc "$scratch/whole" -o "$scratch/whole.nt"
"$ntrace" encode "${image[@]}" --pc "$scratch/list" -o "$scratch/late.nt"

# The same as tandem-verification traces: a group for each line "pc bits ..." of decode
tandem()	# TRACE
{
	"$ntrace" decode --no-marks --output=insn "${image[@]}" "$1" >"$scratch/insns"
	python3 - "$scratch/insns" "${1%.nt}.tv" <<'END'
import struct, sys
lines = [line.split()[:2] for line in open(sys.argv[1])]
pcs = [int(pc, 16) for pc, _ in lines]
out = bytearray(b'\x01\x0b\x07\x0a' + struct.pack('<Q', pcs[0]) + b'\x02')
for i, (pc, bits) in enumerate(lines):
    n = len(bits) // 2
    after = pcs[i + 1] if i + 1 < len(pcs) else pcs[i] + n
    out += b'\x01' + (b'\x03' if after == pcs[i] + n else b'\x07\x0a' + struct.pack('<Q', after))
    out += (b'\x10' if n == 2 else b'\x11') + int(bits, 16).to_bytes(n, 'little') + b'\x02'
open(sys.argv[2], 'wb').write(out)
END
}
tandem "$scratch/whole.nt"
tandem "$scratch/late.nt"

# verify STATUS INSTRUCTIONS PASSED TRACE AGAINST
verify()
{
	local status=0

	"$ntrace" tv verify "${image[@]}" "$4" --against "$5" >"$scratch/got" 2>"$scratch/err" ||
		status=$?
	[ $status = "$1" ] && grep -q " instructions $2 mismatches" "$scratch/got" &&
		[ "$(sed -n 's/^# aligned: \([0-9]*\) instructions.*/\1/p' "$scratch/got")" = "$3" ]
	verdict $? "${4##*/} against ${5##*/}: ${3:-nothing} passed over, $2 compared, status $1"
	[ $status = "$1" ] || sed 's/^/# /' "$scratch/got" "$scratch/err" | head -n 8
}

verify 0 3003 '' "$scratch/whole.tv" "ntrace:$scratch/whole.nt"
verify 0 3000 '' "$scratch/late.tv" "ntrace:$scratch/late.nt"
verify 0 3000 3 "$scratch/whole.tv" "ntrace:$scratch/late.nt"
verify 0 3000 3 "ntrace:$scratch/late.nt" "tv:$scratch/whole.tv"
verify 0 3000 3 "ntrace:$scratch/whole.nt" "tv:$scratch/late.tv"
verify 0 3000 3 "$scratch/late.tv" "ntrace:$scratch/whole.nt"
grep -q "# aligned: 3 instructions of ntrace:$scratch/whole.nt passed over, up to pc 80000000, where $scratch/late.tv begins" \
	"$scratch/got"
verdict $? 'and which, and up to where'

# an address that was executed before is no beginning
n=$(awk 'NR > 500 && seen[$1] > 3 { print NR; exit } { seen[$1]++ }' "$scratch/list")
tail -n +"$n" "$scratch/list" >"$scratch/inside"
"$ntrace" encode "${image[@]}" --pc "$scratch/inside" -o "$scratch/inside.nt"
verify 0 $((3000 - n + 1)) $((n - 1)) "$scratch/late.tv" "ntrace:$scratch/inside.nt"

# a recording of something else
tail -n 200 "$samples/towers/pc.txt" >"$scratch/end"
"$ntrace" encode "${image[@]}" --pc "$scratch/end" -o "$scratch/end.nt"
status=0
"$ntrace" tv verify "${image[@]}" "$scratch/late.tv" --against "ntrace:$scratch/end.nt" \
	>"$scratch/got" || status=$?
[ $status = 1 ] && grep -q '# not aligned: neither recording comes to where the other begins' \
	"$scratch/got"
verdict $? 'no common beginning is reported'

finish
