#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# --memory: a program of 600,000 blocks is decoded with less memory than its blocks take, and prints
# the same. Sizes that make no sense are refused.

. "$(dirname "$0")/lib.bash"
blocks=600000
need_compiler
for tool in tasksdata rusage; do
	"${CC:-gcc}" -O2 -std=gnu11 -Wall -Wextra -I"$top/tools-perf/util" \
		-I"$top/tools-perf/util/ntrace-decoder" -I"$top/uapi" -o "$scratch/$tool" \
		"$top/selftests/host/$tool.c" "$out/libntrace.a" -lelf || exit 1
done

# Each block jumps over an instruction.
cat >"$scratch/prog.S" <<END
	.globl _start
_start:	.rept $blocks
	.word	0x00000463	/* beq zero, zero, .+8 */
	.word	0x00000013	/* nop */
	.endr
	.word	0x00000013
END
"${compiler[@]}" -march=rv64imac -mabi=lp64 -nostdlib -static -Wl,-Ttext=0x20000 -Wl,--no-relax \
	-o "$scratch/prog" "$scratch/prog.S" 2>"$scratch/log" &&
	awk -v blocks=$blocks 'BEGIN {
		print "# start 20000 SYNC=5"
		print "# context PRV=0 V=0 scontext=3e8"
		for (i = 0; i <= blocks; i++)
			printf "%x\n", 131072 + 8 * i
		printf "# stop %x EVCODE=4\n", 131072 + 8 * i - 4
	}' >"$scratch/list" && encode "$scratch/list" --elf "$scratch/prog" &&
	"$scratch/tasksdata" 1 1 1 "$scratch/prog" "$scratch/trace" >"$scratch/data"
verdict $? "a program of $blocks blocks"

# take NAME OPTION...: what script prints, and the kilobytes that it takes
take()
{
	kb=0
	"$scratch/rusage" "$scratch/$1.usage" "$ntrace" script "${@:2}" "$scratch/data" \
		>"$scratch/$1.lines" 2>"$scratch/stderr" && read -r _ kb _ <"$scratch/$1.usage"
}

take whole
verdict $? 'without a limit'
whole=$kb
lines=$(wc -l <"$scratch/whole.lines")
[ "$lines" -ge $blocks ]
verdict $? "$lines branches"
take part --memory=32M && cmp "$scratch/whole.lines" "$scratch/part.lines"
verdict $? 'with --memory=32M the same'
[ $((whole - kb)) -gt 8192 ] && [ "$kb" -lt $((32 * 1024 + 8192)) ]
verdict $? "$kb KB instead of $whole"

# What profile needs beside the graph is not taken away by the graph of a small program.
sed '1003,$d' "$scratch/list" >"$scratch/short" && echo '# stop 21f40 EVCODE=4' >>"$scratch/short" &&
	encode "$scratch/short" --elf "$scratch/prog" &&
	"$scratch/tasksdata" 1 1 1 "$scratch/prog" "$scratch/trace" >"$scratch/small" &&
	"$ntrace" profile --format=llvm-profgen "$scratch/small" >"$scratch/want" 2>"$scratch/stderr"
verdict $? 'a profile of a short trace'
status=0
for limit in 32M 64M 96M 128M 160M 192M 256M; do
	"$ntrace" profile --memory=$limit --format=llvm-profgen "$scratch/small" >"$scratch/got" \
		2>"$scratch/stderr" && cmp "$scratch/want" "$scratch/got" || { status=1; break; }
done
verdict $status "... with --memory=$limit and less the same"

refused()	# DESCRIPTION WORDS ARGUMENT...
{
	"$ntrace" "${@:3}" >"$scratch/got" 2>"$scratch/stderr"
	[ $? = 2 ] && [ "$(wc -l <"$scratch/stderr")" = 1 ] && grep -qF -- "$2" "$scratch/stderr"
	verdict $? "$1: $(cat "$scratch/stderr")"
}

refused 'too little' 'is no size of 16M or more' script --memory=1M "$scratch/data"
refused 'no size' 'is no size' script --memory=much "$scratch/data"
refused 'more than 64 bits' 'is no size' script --memory=17179869185G "$scratch/data"
refused 'a raw trace' '--memory is for a perf.data' decode --memory=64M --elf "$scratch/prog" \
	"$scratch/trace"
finish
