#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# ntrace tv: the protocol's examples in words; what is wrong, and where.

. "$(dirname "$0")/lib.bash"

result()	# STATUS NAME
{
	verdict "$@"
	[ "$1" = 0 ] || sed 's/^/# /' "$scratch/got" "$scratch/err"
}

bytes() { printf "$(sed 's/ *\([0-9a-f][0-9a-f]\)/\\x\1/g' <<<"$*")" >"$scratch/in"; }

# expect STATUS NAME ACTION [OPTION...]: stdout is what is on stdin
expect()
{
	local want=$1 name=$2 status=0
	shift 2
	cat >"$scratch/want"
	"$ntrace" tv "$@" "$scratch/in" >"$scratch/got" 2>"$scratch/err" || status=$?
	[ $status = "$want" ] && diff -u "$scratch/want" "$scratch/got" >>"$scratch/err"
	result $? "$name"
}

says()	# WORDS NAME
{
	grep -q -- "$1" "$scratch/err"
	result $? "$2"
}

# (C.4 speaks of a0, but prints the address of a6.)
bytes 01 03 11 b3 81 62 00 04 03 10 34 12 00 00 00 00 00 00 02 \
	01 07 0a 00 01 00 0c 00 00 00 00 11 67 00 01 10 02 \
	01 03 11 d3 f3 16 01 04 27 10 f9 f4 fe 66 ff ff ff ff 06 03 00 01 02 \
	01 03 10 0d 8d 04 10 10 78 56 34 12 ff ff ff ff 02 \
	01 03 11 03 a2 82 00 04 04 10 aa 55 aa 55 aa 55 aa 55 07 02 08 00 00 01 00 00 00 00 02 \
	01 03 11 f3 b4 45 30 04 09 10 88 08 00 00 00 00 00 00 \
	04 04 03 80 08 00 00 00 00 00 00 02 \
	01 07 0a 00 00 01 00 00 00 00 00 11 00 00 00 00 04 41 03 34 12 08 00 00 00 00 00 \
	04 42 03 02 00 00 00 00 00 00 00 04 00 03 b0 18 00 00 0a 00 00 00 \
	04 43 03 00 00 00 00 00 00 00 00 07 01 03 02 \
	01 07 0a 00 00 01 00 00 00 00 00 04 41 03 56 12 08 00 00 00 00 00 \
	04 42 03 03 00 00 00 00 00 00 80 04 00 03 b0 18 00 00 0a 00 00 00 \
	04 43 03 00 00 00 00 00 00 00 00 07 01 03 02
expect 0 "the examples of appendix C" dump <<'END'
0: pc+ insn=006281b3 gp=1234
13: pc=c000100 insn=10010067
24: pc+ insn=0116f3d3 ft7=ffffffff66fef4f9 fcsr|=1
3b: pc+ insn=8d0d a6=ffffffff12345678
4c: pc+ insn=0082a203 tp=55aa55aa55aa55aa paddr=1000008
69: pc+ insn=3045b4f3 s1=888 mie=880
87: pc=10000 insn=00000000 mepc=81234 mcause=2 mstatus=a000018b0 mtval=0 priv=M
c7: pc=10000 mepc=81256 mcause=8000000000000003 mstatus=a000018b0 mtval=0 priv=M
END

bytes 01 03 11 13 00 00 00 01 03 10 01 00 05 02 10 f0 02 02 07 08 01 00 00 00 00 00 00 00 0a \
	01 0b 08 10 00 00 00 00 00 00 00 31 08 07 06 05 04 03 02 01 09 03 \
	01 08 10 00 00 00 00 00 00 00 25 55 00 00 00 09 12 66 00 00 00 07 06 77 00 00 00 02
expect 0 "implied ends, what is outside of groups, memory" dump <<'END'
0: pc+ insn=00000013
7: pc+ insn=0001 sp-=10
11: end outside of a group
12: outside of groups: mtime=1
1c: outside of groups: reset
1d: init store64 addr=10 data=102030405060708 response=ok
33: amoadd32 addr=10 data=55 response=failed data=66 store32=77
END

bytes 01 0b 04 00 c0 01 00 00 00 00 00 00 00 07 0a 00 01 00 00 00 00 00 00 07 01 00 \
	04 80 01 05 00 00 00 00 00 00 00 04 01 c0 2a 00 00 00 00 00 00 00 \
	01 0b 04 00 c0 04 00 00 00 00 00 00 00 04 02 c0 03 00 00 00 00 00 00 00 \
	04 34 12 01 00 00 00 00 00 00 00 04 05 b0 01 00 00 00 00 00 00 00
expect 0 "marks of the model" dump <<'END'
0: init mark=BEGIN pc=100 priv=U satp=5 value=2a
30: init mark=DROP unreported=3 reg1234=1 regb005=1
END

bytes 01 04 05 10 01 00 00 80 04 20 10 08 07 06 05 04 03 02 01 07 02 34 12 00 80 03 07 0a 00 \
	01 00 80
expect 0 "RV32 with Sv32 and D" dump --xlen=32 --mlen=34 <<'END'
0: t0=80000001 ft0=102030405060708 paddr=380001234 pc=80000100
END

bytes 01 07 10 00 01 00 00 00 00 00 00 02
expect 0 "the pc as appendix C prints it" dump <<'END'
0: pc=100
END
expect 2 "and refused when strict" dump --strict <<'END'
0:
END
says 'offset 0x2: unknown additional-state identifier' "saying where"

bytes 01 03 10 03 a2 82 00
expect 2 "the opcode that C.5 prints" dump <<'END'
0: pc+ insn=a203
END
says 'offset 0x5: unknown opcode' "makes the next one wrong"

bytes 01 03 11 13 00
expect 2 "a truncated trace" dump <<'END'
0: pc+
END
says 'offset 0x2: stream ends inside an item' "saying where"

bytes 01 03 11 13 00 00 00 01 03 10 01 00
expect 0 "counts" stat <<'END'
begin group                         2 items              2 bytes
increment pc                        2 items              2 bytes
16-bit instruction                  1 items              3 bytes
32-bit instruction                  1 items              5 bytes
in all                             12 bytes
bytes per instruction           6.000

groups                                  average  most  table D
nop                                 2      6.00     7       12
END

# an instruction of each category; what appendix C prints is as large as D says
bytes 01 03 11 b3 81 62 00 04 03 10 34 12 00 00 00 00 00 00 02 \
	01 07 0a 00 01 00 0c 00 00 00 00 11 67 00 01 10 02 \
	01 03 11 d3 f3 16 01 04 27 10 f9 f4 fe 66 ff ff ff ff 06 03 00 01 02 \
	01 03 11 03 a2 82 00 04 04 10 aa 55 aa 55 aa 55 aa 55 07 02 08 00 00 01 00 00 00 00 02 \
	01 07 0a 00 00 01 00 00 00 00 00 11 00 00 00 00 04 41 03 34 12 08 00 00 00 00 00 \
	04 42 03 02 00 00 00 00 00 00 00 04 00 03 b0 18 00 00 0a 00 00 00 \
	04 43 03 00 00 00 00 00 00 00 00 07 01 03 02 \
	01 07 0a 00 00 01 00 00 00 00 00 04 41 03 56 12 08 00 00 00 00 00 \
	04 42 03 03 00 00 00 00 00 00 80 04 00 03 b0 18 00 00 0a 00 00 00 \
	04 43 03 00 00 00 00 00 00 00 00 07 01 03 02
"$ntrace" tv stat "$scratch/in" >"$scratch/got" 2>"$scratch/err"
sed -n '/table D/,$p' "$scratch/got" | sed 1d |
	awk '{ print $(NF - 3), $(NF - 2), $(NF - 1), $NF }' |
	diff - <(printf '%s\n' '1 19.00 19 23' '1 17.00 17 27' '1 29.00 29 33' '1 23.00 23 27' \
		'1 59.00 59 59' '1 64.00 64 68') >>"$scratch/err"
result $? "bytes by category"

# Which category an instruction is of: its bytes, as they are in memory
category()	# BYTE...
{
	bytes 01 03 $([ $# = 2 ] && echo 10 || echo 11) "$@" 02
	"$ntrace" tv stat "$scratch/in" 2>>"$scratch/err" |
		sed -n '/table D$/,$p' | sed -n '2s/  *[0-9].*//p'
}

: >"$scratch/err"
while read -r -a insn; do
	echo "${insn[*]} $(category "${insn[@]}")"
done <<'END' >"$scratch/got"
01 00
05 05
08 41
08 c1
08 21
2a a0
01 a0
01 c1
02 85
02 95
2e 85
13 00 00 00
13 05 15 00
63 00 b5 00
6f 00 00 00
ef 00 00 00
67 80 00 00
e7 00 05 00
03 25 05 00
23 20 a5 00
2f 25 b5 00
0f 00 f0 0f
73 95 05 34
73 a5 05 34
73 25 00 34
73 90 05 34
73 00 00 00
07 25 05 00
27 20 a5 00
43 f5 c5 00
53 f5 c5 00
53 05 05 e0
53 05 05 c0
53 15 05 a0
END
cat >"$scratch/want" <<'END'
01 00 nop
05 05 integer computation
08 41 load
08 c1 store
08 21 fp load
2a a0 fp store
01 a0 branch, jump
01 c1 branch, jump
02 85 branch, jump
02 95 branch and link
2e 85 integer computation
13 00 00 00 nop
13 05 15 00 integer computation
63 00 b5 00 branch, jump
6f 00 00 00 branch, jump
ef 00 00 00 branch and link
67 80 00 00 branch, jump
e7 00 05 00 branch and link
03 25 05 00 load
23 20 a5 00 store
2f 25 b5 00 sc, amo
0f 00 f0 0f nop
73 95 05 34 csr read-write
73 a5 05 34 csr read-write
73 25 00 34 csr read only
73 90 05 34 csr write only
73 00 00 00 other
07 25 05 00 fp load
27 20 a5 00 fp store
43 f5 c5 00 fp computation
53 f5 c5 00 fp computation
53 05 05 e0 fp move
53 05 05 c0 fp conversion
53 15 05 a0 fp conversion
END
diff -u "$scratch/want" "$scratch/got" >>"$scratch/err"
result $? "categories of instructions"

# address NAME ONE OTHER WORDS: the only difference that verify tells
address()
{
	local status=0

	"$ntrace" tv verify "$scratch/$2" --against "tv:$scratch/$3" >"$scratch/got" \
		2>"$scratch/err" || status=$?
	[ $status = 1 ] && [ "$(grep -v '^#' "$scratch/got" | cut -d';' -f1)" = "$4" ]
	result $? "$1"
}

# the second c.nop's, while the first has one in both
bytes 01 03 10 01 00 07 02 08 00 00 01 00 00 00 00 02 01 03 10 01 00 02
mv "$scratch/in" "$scratch/less"
bytes 01 03 10 01 00 07 02 08 00 00 01 00 00 00 00 02 \
	01 03 10 01 00 07 02 08 00 00 01 00 00 00 00 02
mv "$scratch/in" "$scratch/more"
address "an address that the verifier does not tell" more less \
	'0x10: physical address: trace 1000008, verifier none'
address "an address that only the verifier tells" less more \
	'0x10: physical address: trace none, verifier 1000008'

# from-elf: the program is in memory, and nothing else
elf=$out/samples/towers/towers.elf
"$ntrace" tv from-elf "$elf" -o "$scratch/in" 2>"$scratch/err" &&
	"$ntrace" tv dump "$scratch/in" >"$scratch/got" 2>>"$scratch/err"
result $? "from-elf"
entry=$(readelf -h "$elf" | sed -n 's/.*Entry point address: *0x//p')
tail -1 "$scratch/got" | grep -q ": init pc=$entry\$"
result $? "the pc is the entry"
wanted=$(readelf -lW "$elf" | awk '$1 == "LOAD" { print $6 }' | {
	t=0
	while read -r n; do t=$((t + n)); done
	echo $t
})
stored=$(grep -o 'store[0-9]*' "$scratch/got" | sed 's/store//' |
	awk '{ n += $1 / 8 } END { print n }')
[ "$stored" = "$wanted" ]
result $? "as many bytes as are loaded: $stored of $wanted"
"$ntrace" tv verify "$scratch/in" --against "tv:$scratch/in" >"$scratch/got" 2>"$scratch/err"
result $? "verify takes it"
printf '\177ELF' >"$scratch/short"
! "$ntrace" tv from-elf "$scratch/short" >"$scratch/got" 2>"$scratch/err"
result $? "not an ELF file"
says 'not a RISC-V ELF file' "and says so"
! "$ntrace" tv verify "$scratch/in" --against spike:localhost:1234 >"$scratch/got" 2>"$scratch/err"
result $? "an unknown verifier"
says 'none of tv:FILE, ntrace:FILE' "and says so"
! "$ntrace" tv verify "$scratch/in" --against "tv:$scratch/in" --absent=y >"$scratch/got" \
	2>"$scratch/err"
result $? "an unknown element"

bytes 01 03 11 13 00 00 00 01 03 10 01 00
bytes 01
expect 2 "parameters that cannot be" dump --mlen=33 </dev/null
says '--mlen is 32, 34 or 64, not 33' "and says which"
# what would be 64 in 8 bits
for option in xlen flen mlen; do
	expect 2 "--$option=320" dump --$option=320 </dev/null
	says "--$option: 320 is more than 64" "is not 64"
done
expect 2 "no such file" dump "$scratch/none" </dev/null
! "$ntrace" tv frobnicate "$scratch/in" >"$scratch/got" 2>"$scratch/err"
result $? "an unknown action"
says 'expected dump, stat, from-elf or verify, got `frobnicate'"'" "and says so"
! "$ntrace" tv dump "$scratch/in" "$scratch/none" >"$scratch/got" 2>"$scratch/err"
result $? "two files"
says "more than one FILE: \`.*/in' and \`.*/none'" "and says which"
! "$ntrace" tv verify "$scratch/in" --against "tv:$scratch/in" --nondeterministic=a9 \
	>"$scratch/got" 2>"$scratch/err"
result $? "an unknown register"
says "\`a9' is no register; expected one such as a0" "and says what would be one"
! "$ntrace" tv verify "ntrace:$scratch/in" --against "ntrace:$scratch/in" >"$scratch/got" \
	2>"$scratch/err"
result $? "an N-Trace against an N-Trace"
says "one of them has to be tv:FILE" "and says what to give"

# from-elf: a file that was cut, and a segment that is too large for its memory
header() { readelf -hW "$elf" | sed -n "s/.*Start of program headers: *\\([0-9]*\\) .*/\\1/p"; }
index=$(readelf -lW "$elf" | awk '/^  [A-Z]/ && $2 ~ /^0x/ { if ($1 == "LOAD") { print n + 0; exit } n++ }')
at=$(($(header) + 56 * index))
poke()		# OFFSET: a word of ones, as far as numbers of files go
{
	cp "$elf" "$scratch/poked.elf" &&
		printf '\377\377\377\177' |
		dd of="$scratch/poked.elf" bs=1 seek=$(($1)) conv=notrunc 2>/dev/null
	! "$ntrace" tv from-elf "$scratch/poked.elf" -o "$scratch/none" 2>"$scratch/err"
}
poke at+32
result $? "a segment that the file does not have"
says "poked.elf: segment $index has 0x7fffffff bytes from 0x[0-9a-f]*, the file only 0x" \
	"and says how much there is"
cp "$elf" "$scratch/poked.elf"
printf '\0\0\0\0' | dd of="$scratch/poked.elf" bs=1 seek=$((at + 40)) conv=notrunc 2>/dev/null
! "$ntrace" tv from-elf "$scratch/poked.elf" -o "$scratch/none" 2>"$scratch/err"
result $? "a segment that is larger than its memory"
says "segment $index has 0x[0-9a-f]* bytes in the file, more than the 0x0 in memory" \
	"and says by how much"

finish
