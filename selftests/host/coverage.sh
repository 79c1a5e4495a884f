#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# ntrace coverage: a line without a count was never executed only where all of the trace was read;
# how often a line was entered; functions of clang's debug information.

. "$(dirname "$0")/lib.bash"
here=$top/selftests/host
exec 2>"$scratch/stderr"
"$ntrace" coverage --elf "$samples/mix/mix.elf" "$samples/mix/L1.bin" >"$scratch/got" \
	2>"$scratch/said"
! grep -q 'built without libdw' "$scratch/said" ||
	{ echo "1..0 # SKIP this ntrace was built without libdw"; exit 4; }

. "$here/gcov.bash"
# the second trace does not come to `far'
mv "$scratch/list" "$scratch/all.list"
at 16 19 20 17 21 18 >"$scratch/end.list"
for what in all end; do
	"$ntrace" encode --elf "$scratch/prog" --pc "$scratch/$what.list" -o "$scratch/$what" &&
		"$ntrace" profile --format=edges --elf "$scratch/prog" -o "$scratch/$what.edges" \
			"$scratch/$what"
	verdict $? "edges of a trace: $what"
done

# lcov STATUS FILE...: its lines are in $scratch/got
lcov()
{
	local want=$1 status=0
	shift

	"$ntrace" coverage --format=lcov --elf "$scratch/prog" "$@" >"$scratch/got" \
		2>"$scratch/said" || status=$?
	[ $status = "$want" ] && grep -q '^DA:' "$scratch/got"
}
lcov 0 "$scratch/end.edges" && grep -q '^DA:[0-9]*,0$' "$scratch/got"
verdict $? 'all of it was read: lines that were never executed'

head -c -1 "$scratch/all.edges" >"$scratch/cut.edges"
lcov 1 "$scratch/end.edges" "$scratch/cut.edges" && ! grep -q '^DA:[0-9]*,0$' "$scratch/got"
verdict $? 'a damaged file was left out: lines without a count are unknown'

"$ntrace" merge --flatten --cap=5 -o "$scratch/scaled.edges" "$scratch/all.edges" \
	"$scratch/end.edges" &&
	"$ntrace" coverage --format=lcov --elf "$scratch/prog" "$scratch/scaled.edges" \
		>"$scratch/got" &&
	grep -q '^LF:' "$scratch/got" && ! grep -q '^DA:[0-9]*,0$' "$scratch/got"
verdict $? 'counts that were scaled down to 0: the lines are unknown'

# --- a line that control leaves and enters again, and does not ------------------------------

"${compiler[@]}" -march=rv64imac -mabi=lp64 -nostdlib -static -Wl,-Ttext=0x20000 -Wl,--no-relax \
	-o "$scratch/prog" "$here/cover.S" &&
	at 0 1 2 3 4 5 6 2 3 4 5 6 2 7 10 11 12 13 12 13 12 13 14 >"$scratch/list" &&
	"$ntrace" encode --elf "$scratch/prog" --pc "$scratch/list" -o "$scratch/trace" &&
	lcov 0 "$scratch/trace" && [ "$(grep '^DA' "$scratch/got" | tr '\n' ' ')" = \
		"DA:10,1 DA:11,3 DA:12,2 DA:13,1 DA:14,3 DA:15,1 " ]
verdict $? "rounds of loops, and code of no line: $(grep '^DA' "$scratch/got" | tr '\n' ' ')"

# --- clang: DWARF 5, and files by their number from 0 on ----------------------------------

if command -v clang >/dev/null && command -v ld.lld >/dev/null; then
	cat >"$scratch/code.c" <<-'END'
		__attribute__((naked)) void f(void) { asm volatile("nop; ret"); }
		__attribute__((naked)) void g(void) { asm volatile("nop; ret"); }
		__attribute__((naked)) void _start(void) { asm volatile("jal f; jal f; nop"); }
	END
	# by its own name: then the unit's file and the function's are one
	cd "$scratch" && clang --target=riscv64-linux-gnu -fuse-ld=lld -march=rv64ima -mabi=lp64 \
		-g -gdwarf-5 -O1 -nostdlib -static \
		-Wl,-Ttext=0x20000 -o prog code.c &&
		at 4 0 1 5 0 1 6 >"$scratch/list" &&
		"$ntrace" encode --elf "$scratch/prog" --pc "$scratch/list" -o "$scratch/trace" &&
		lcov 0 "$scratch/trace" && grep '^FN' "$scratch/got" | sort >"$scratch/functions"
	diff - "$scratch/functions" <<-'END' | sed 's/^/# /'
		FN:1,f
		FN:2,g
		FN:3,_start
		FNDA:0,g
		FNDA:1,_start
		FNDA:2,f
		FNF:3
		FNH:2
	END
	[ "$(wc -l <"$scratch/functions")" = 8 ] && grep -q FNDA:2,f "$scratch/functions"
	verdict $? "clang's functions"
else
	echo "# no clang: its debug information is not tried"
fi
finish
