#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Which instructions transfer control, and to which address: the library and objdump must agree, for
# all 16-bit encodings and some millions of longer ones, for three ISA strings, in make check-all
# for more.

# Inside the lab's tree: an ELF file of the encodings whose attributes name the ISA
if [ "${1:-}" = --disassemble ]; then
	set -Eeuo pipefail
	isa=$2 abi=lp64 cross=riscv64-linux-gnu
	[[ $isa != rv32* ]] || abi=ilp32

	cd "$3"
	$cross-as -march="$isa" -mabi=$abi -o "$isa.o" /dev/null
	$cross-objcopy --update-section .text=code \
		--set-section-flags .text=alloc,code,contents "$isa.o"
	$cross-objdump -dz -M no-aliases,numeric --adjust-vma=0x40000000 "$isa.o" |
		./isacmp compare "$isa" code
	rm "$isa.o"
	exit
fi

name=isa
. "$(dirname "$0")/lib.bash"

seed=${SEED:-$((RANDOM << 15 | RANDOM))}
decoder=$top/tools-perf/util/ntrace-decoder
echo "# SEED=$seed"

"$lab/enter" gcc -O2 -Wall -Wextra -D_GNU_SOURCE -I"$decoder" -o "$dir/isacmp" \
	"$top/selftests/lab/isacmp.c" "$decoder"/nt-*.c -lelf >"$dir/cc.out" 2>&1 &&
	"$lab/enter" "$dir/isacmp" make "$seed" "$dir/code"
ok $? "encodings to look at" "$dir/cc.out"

isas="rv64gc rv32gc rv64imac_zca_zcb_zcmp_zcmt $(more echo rv64gc_zcb rv32imac_zca_zcb_zcmp_zcmt rv64ima)"
for isa in $isas; do
	while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do
		wait -n || :
	done
	{
		"$lab/enter" selftests/lab/isa.sh --disassemble $isa "$dir" && echo "$isa done"
	} >"$dir/$isa.out" 2>&1 &
done
wait
for isa in $isas; do
	grep -qx "$isa done" "$dir/$isa.out"
	ok $? "R138 R139 $(grep "^$isa: " "$dir/$isa.out")" "$dir/$isa.out"
done
rm -f "$dir/code"

finish
