#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The ntrace command: exit statuses (0 whole, 1 losses, 2 unusable), what it says
# about unusable input, where it reads from and writes to.

. "$(dirname "$0")/lib.bash"
towers=$samples/towers

# refuses DESCRIPTION WORDS ARGUMENT...: status 2, WORDS on stderr, nothing on stdout
refuses()
{
	local description=$1 words=$2 status=0
	shift 2

	"$ntrace" "$@" >"$scratch/stdout" 2>"$scratch/stderr" </dev/null || status=$?
	[ $status = 2 ] && [ ! -s "$scratch/stdout" ] && grep -qF -- "$words" "$scratch/stderr"
	verdict $? "refused: $description"
}

# status STATUS DESCRIPTION ARGUMENT...
status()
{
	local want=$1 description=$2 status=0
	shift 2

	"$ntrace" "$@" >"$scratch/stdout" 2>"$scratch/stderr" </dev/null || status=$?
	[ $status = "$want" ] && [ ! -s "$scratch/stderr" ]
	verdict $? "status $want: $description"
}

elf=$towers/towers.elf
trace=$towers/L1.bin
head -c 1000 "$trace" >"$scratch/cut"
# two messages (DirectBranch, I-CNT 0) of sources 1 and 2, SRC of 2 bits
printf '\x0c\x07\x0c\x0b' >"$scratch/sources"

refuses 'no command' 'Usage: ntrace COMMAND'
# 64 bits of ns are less than that
refuses 'files of too long a time' 'a time such as 30s' record --switch-output=1000000d -- true
refuses 'files of no size' 'a size such as 100M' record --switch-output=0M -- true
refuses 'files of neither size nor time' 'is none of signal' record --switch-output=30 -- true
refuses 'an unknown command' "unknown command \`frobnicate'; \`ntrace --help' lists them" frobnicate
refuses 'a mistyped command' "unknown command \`dmp'; did you mean \`dump'?" dmp
for command in dump decode encode stat profile; do
	refuses "$command: an unknown option" \
		"unrecognized option \`--frobnicate'; \`ntrace $command --help' lists them" \
		$command --frobnicate "$trace"
	refuses "$command: a mistyped option" \
		"unrecognized option \`--srcbit5'; did you mean \`--srcbits'?" $command \
		--srcbit5=3 "$trace"
done
refuses 'tv: a mistyped option' "did you mean \`--strict'?" tv dump --stict "$trace"
refuses 'a mistyped option, value behind it' "did you mean \`--threads'?" stat --treads 3 "$trace"
refuses 'an ambiguous option' 'ambiguous' dump --s "$trace"
refuses 'no file' "no trace file given (\`-' is standard input)" dump
refuses 'two files' "more than one trace file: \`$trace' and \`$elf'" dump "$trace" "$elf"
refuses 'a missing file' 'No such file or directory' dump "$scratch/none"
refuses 'a directory' 'Is a directory' dump "$scratch"
refuses 'no program' 'no program given' decode "$trace"
for command in calls stat decode dump timeline script profile gdbserver; do
	refuses "a missing file, of a recording that may be: $command" \
		'none: No such file' $command --cpu 1 "$scratch/none"
done
mkdir "$scratch/folder"
refuses 'a folder without a recording' 'folder: Is a directory, and no recording' calls \
	"$scratch/folder"
refuses 'a missing program' 'No such file or directory' decode --elf "$scratch/none" "$trace"
refuses 'a file that is not a program' 'not a RISC-V ELF file' decode --elf "$trace" "$trace"
refuses 'memory without address' 'is not FILE@ADDR' decode --raw "$elf" "$trace"
refuses 'an unknown output' "\`dot' is none of" decode --elf "$elf" --output=dot "$trace"
refuses 'an unknown field' "no field \`retin'; did you mean \`retinh'?" \
	decode --elf "$elf" --output=ctr --ctrctl=u,retin "$trace"
refuses 'a field of the draft only' "no field \`eten'" decode --elf "$elf" --output=ctr \
	--ctrctl=u,eten "$trace"
refuses 'records of no mode' 'no mode is enabled' decode --elf "$elf" --output=ctr --ctrctl=ste \
	"$trace"
refuses 'a buffer of nothing' 'at least one entry' decode --elf "$elf" --output=ctr --depth=0 \
	"$trace"
refuses 'a buffer too deep' '16777217 is more than' decode --elf "$elf" --output=ctr \
	--depth=16777217 "$trace"
refuses 'records of branches' '--depth is for --output=ctr' decode --elf "$elf" --depth=16 "$trace"
refuses '--not-taken with records' 'ntbren' decode --elf "$elf" --output=ctr --not-taken "$trace"
refuses 'an unknown profile' 'is none of 1.0, p550, sifive, tt-dfd' dump --profile=2.0 "$trace"
refuses 'XLEN 16' 'neither 32 nor 64' dump --xlen=16 "$trace"
refuses 'an invalid number' 'is not a number' dump --srcbits=x "$trace"
refuses 'SRC of 13 bits' '13 is more than 12' dump --srcbits=13 "$trace"
refuses 'address fields of 64 bits' '64 is more than 63' dump --addr-bits=64 "$trace"
refuses 'address fields without bits' 'at least 1 bit' dump --addr-bits=0 "$trace"
refuses 'RV32, address fields of 32 bits' '32 is more than 31' dump --xlen=32 --addr-bits=32 \
	"$trace"
refuses 'a clock of 65 bits' '65 is more than 64' dump --tstamp-bits=65 "$trace"
refuses 'a clock of 7 bits' '8 bits at least' dump --tstamp-bits=7 "$trace"
refuses 'events that no byte may stand for' 'too few' dump --work-per-byte=0 "$trace"
refuses 'events beyond any limit' '1048577 is more than 1048576' dump --work-per-byte=1048577 \
	"$trace"
refuses 'a source that does not fit' 'does not fit' dump --srcbits=2 --src=4 "$trace"
refuses 'an invalid ISA string' 'is not an ISA string' dump --isa=armv8 "$trace"
refuses 'R142 several sources, none chosen' 'choose one with --src' \
	decode --srcbits=2 --elf "$elf" "$scratch/sources"

status 0 'help' --help
for command in dump decode encode stat profile gdbserver tv 'tv dump' 'tv stat' 'tv from-elf' \
	'tv verify'; do
	# shellcheck disable=SC2086
	status 0 "$command: help" $command --help
	grep -q '^Usage: ntrace' "$scratch/stdout"
	verdict $? "$command: help tells the usage"
done
status 0 'version' --version
grep -qx 'disassembler: .*Capstone.*' "$scratch/stdout"
verdict $? 'version tells what disassembles'
status 0 'an abbreviated option' decode --el "$elf" "$trace"
status 0 'a file that looks like an option' stat -- "$trace"
status 0 'dump' dump "$trace"
status 0 'decode' decode --elf "$elf" "$trace"
status 0 'stat without a program' stat "$trace"
status 0 'stat' stat --elf "$elf" "$trace"
grep -q "^instructions *$(wc -l <"$towers/pc.txt")\$" "$scratch/stdout"
verdict $? 'stat counts instructions'
status 1 'dump of a cut file' dump "$scratch/cut"
status 1 'decode of a cut file' decode --elf "$elf" "$scratch/cut"
status 1 'stat of a cut file' stat --elf "$elf" "$scratch/cut"
status 0 'R142 one of several sources' dump --srcbits=2 --src=1 "$scratch/sources"
[ "$(wc -l <"$scratch/stdout")" = 1 ]
verdict $? 'R142 only that source is shown'

"$ntrace" dump "$trace" >"$scratch/file"
"$ntrace" dump - <"$trace" >"$scratch/stdin" && cmp -s "$scratch/file" "$scratch/stdin"
verdict $? 'reads standard input'
"$ntrace" decode --elf "$elf" "$trace" 2>"$scratch/stderr" | head -n 1 >/dev/null
[ ! -s "$scratch/stderr" ]
verdict $? 'a closed pipe ends it quietly'
# also under a parent that ignores SIGPIPE; 141 is death by it
for command in "dump" "decode --elf $elf" "decode --elf $elf --output=branch"; do
	(
		trap '' PIPE
		# shellcheck disable=SC2086
		"$ntrace" $command "$trace" 2>"$scratch/stderr"
		echo $? >"$scratch/status"
	) | head -n 1 >/dev/null
	[ ! -s "$scratch/stderr" ] && grep -qx '0\|141' "$scratch/status"
	verdict $? "a closed pipe, SIGPIPE ignored: ${command%% --elf*}"
done
# more than a pipe holds: 141 then
cat "$trace" "$trace" "$trace" "$trace" "$trace" "$trace" "$trace" "$trace" >"$scratch/eight"
for command in dump "decode --elf $elf" "decode --threads=3 --elf $elf"; do
	# shellcheck disable=SC2086
	"$ntrace" $command "$scratch/eight" 2>"$scratch/stderr" | head -n 1 >/dev/null
	[ "${PIPESTATUS[0]}" = 141 ] && [ ! -s "$scratch/stderr" ]
	verdict $? "status 141 when nobody reads: ${command%% --elf*}"
done
status=0
"$ntrace" decode --elf "$elf" "$trace" >/dev/full 2>"$scratch/stderr" || status=$?
[ $status = 2 ] && grep -q 'No space left' "$scratch/stderr"
verdict $? 'a full disk is an error'

# the same program as a piece of memory, and moved
dd if="$elf" of="$scratch/text" bs=4096 skip=1 count=1 2>/dev/null
dd if="$elf" of="$scratch/data" bs=4096 skip=2 2>/dev/null
"$ntrace" decode --elf "$elf" "$trace" >"$scratch/file"
"$ntrace" decode --raw "$scratch/text@0x80000000" --raw "$scratch/data@0x80001000" "$trace" \
	>"$scratch/raw" && cmp -s "$scratch/file" "$scratch/raw"
verdict $? 'decode with --raw'
# a program in two files: what the first has not, the second has
cp "$elf" "$scratch/other"
"$ntrace" decode --elf "$samples/mix/mix.elf@0x40000000" --elf "$scratch/other@0" \
	--raw "$scratch/data@0x70000000" "$trace" | cmp - "$scratch/file"
verdict $? 'several programs, each in its place'
"$ntrace" decode --elf "$elf@0x1000" "$trace" >"$scratch/moved"
! cmp -s "$scratch/file" "$scratch/moved" && grep -q '^# loss.*no code' "$scratch/moved"
verdict $? 'a bias moves the program'

# last_transfers DEPTH FIELDS OPTION...: the records of a deep buffer are the last transfers
# that decode with OPTION prints, backwards; bit 0 of the source is V
last_transfers()
{
	local depth=$1 fields=$2
	shift 2

	"$ntrace" decode --output=branch "$@" --elf "$elf" "$trace" | grep -v '^#' |
		tail -n "$depth" | tac |
		awk '{ n = length($1); digit = index("0.2.4.6.8.a.c.e", substr($1, n))
		       print substr($1, 1, n - 1) substr("1.3.5.7.9.b.d.f", digit, 1), $2, $3 }' \
		>"$scratch/want"
	"$ntrace" decode --output=ctr --depth="$depth" --ctrctl="$fields" --elf "$elf" "$trace" |
		awk '/^[0-9]/ { print $2, $3, $5 }' >"$scratch/got"
	[ "$(wc -l <"$scratch/want")" = "$depth" ] && cmp -s "$scratch/want" "$scratch/got"
}

for depth in 1 100 1000; do
	last_transfers $depth u,s,m
	verdict $? "R153 the last $depth transfers as records"
done
last_transfers 6500 u,s,m,ntbren --not-taken && grep -q ' not$' "$scratch/got"
verdict $? 'R156 the last 6500 transfers, branches not taken too, as records'

# instructions: the bits are those of the file, the text Capstone's, or data
"$ntrace" decode --output=insn --elf "$elf" "$trace" >"$scratch/insns"
cmp <(sed '/^#/d; s/ .*//' "$scratch/insns") <(grep -v '^#' "$scratch/file")
verdict $? 'a line per instruction'
rv32=$samples/rv32
"$ntrace" decode --output=insn --profile=sifive --elf "$rv32/rv32.elf" "$rv32/L1.bin" \
	>"$scratch/insns32"
if "$ntrace" --version | grep -q without; then
	want64=('80000000 4081 _start+0x0 .2byte 0x4081' \
		'80000004 3002a073 _start+0x4 .4byte 0x3002a073')
	want32=('4040100e 00b32023 fill+0x4 .4byte 0xb32023'
		'4040101a fa75 fill+0x10 .2byte 0xfa75 # 4040100e fill+0x4')
else
	want64=('80000000 4081 _start+0x0 c.li ra, 0' \
		'80000004 3002a073 _start+0x4 csrs mstatus, t0')
	want32=('4040100e 00b32023 fill+0x4 sw a1, 0(t1)'
		'4040101a fa75 fill+0x10 c.bnez a2, -0xc # 4040100e fill+0x4')
fi
for line in "${want64[@]}"; do
	grep -qxF "$line" "$scratch/insns"
	verdict $? "RV64: $line"
done
for line in "${want32[@]}"; do
	grep -qxF "$line" "$scratch/insns32"
	verdict $? "RV32: $line"
done
"$ntrace" decode --output=insn --raw "$scratch/text@0x80000000" --raw "$scratch/data@0x80001000" \
	"$trace" | grep -v '^#' | head -n 1 | grep -q '^80000000 4081 - '
verdict $? 'no symbols without an ELF file'
status 0 'decode tells its disassembler' decode --help
grep -q 'Disassembler of' "$scratch/stdout"
verdict $? 'help tells what disassembles'

# position-independent: the same, linked to 0 (third byte of the segments' addresses)
cp "$elf" "$scratch/pie"
phoff=$(od -An -tu8 -j32 -N8 "$elf") n=$(od -An -tu2 -j56 -N2 "$elf")
for ((i = 0; i < n; i++)); do
	at=$((phoff + 56 * i + 16 + 3))
	[ "$(od -An -tx1 -j$at -N1 "$elf")" != ' 80' ] ||
		printf '\0' | dd of="$scratch/pie" bs=1 seek=$at conv=notrunc status=none
done
printf '\3' | dd of="$scratch/pie" bs=1 seek=16 conv=notrunc status=none
"$ntrace" decode --elf "$scratch/pie@0x80000000" "$trace" | cmp - "$scratch/file" &&
	"$ntrace" decode --elf "$scratch/pie" "$trace" | grep -q 'no code'
verdict $? 'a position-independent program at its bias'
"$ntrace" profile --format=bolt --elf "$scratch/pie@0x80000000" "$trace" >"$scratch/got"
"$ntrace" profile --format=bolt --elf "$elf" "$trace" | sed 's/ 8000/ 0000/g' |
	awk '{ for (i = 2; i < 4; i++) { sub(/^0+/, "", $i); if ($i == "") $i = "0" } print }' |
	cmp - "$scratch/got"
verdict $? 'and its profile, at its own addresses'

# the work that a program of 350 MB makes: a million symbols, 20,000 sections, debug information
for tool in bigelf rusage; do
	"${CC:-gcc}" -O1 -o "$scratch/$tool" "$top/selftests/host/$tool.c" || exit 1
done
# takes MS KB DESCRIPTION ARGUMENT...: at most so much processor time and memory
takes()
{
	local ms kb most_ms=$1 most_kb=$2 description=$3
	shift 3

	"$scratch/rusage" "$scratch/usage" "$ntrace" "$@" >"$scratch/got" 2>"$scratch/stderr"
	read -r ms kb _ <"$scratch/usage" && [ "$ms" -le "$most_ms" ] && [ "$kb" -le "$most_kb" ]
	verdict $? "$description: $ms ms, $kb KB"
}
"$scratch/bigelf" "$elf" "$scratch/large" && [ "$(stat -c %s "$scratch/large")" -gt 350000000 ]
verdict $? 'there is a large program'
takes 300 16000 'a program of 350 MB is not read' decode --elf "$scratch/large" "$trace"
cmp "$scratch/got" "$scratch/file"
verdict $? 'and decodes as the small one'
takes 1000 160000 'its symbols only when they are wanted' decode --output=insn \
	--elf "$scratch/large" "$trace"
grep -q '^80000000 4081 ' "$scratch/got"
verdict $? 'and then there are some'
rm "$scratch/large"

# traces of every size, and what is none
: >"$scratch/empty"
for command in dump stat "stat --elf $elf" "decode --elf $elf" "profile --elf $elf"; do
	# shellcheck disable=SC2086
	refuses "an empty file: ${command%% --elf*}" 'is empty; expected N-Trace messages' \
		$command "$scratch/empty"
	# shellcheck disable=SC2086
	refuses "what cannot be read: ${command%% --elf*}" 'Input/output error' $command \
		/proc/self/mem
done
cp "$trace" "$scratch/long"
while [ "$(stat -c %s "$scratch/long")" -lt 20000000 ]; do
	cat "$scratch/long" "$scratch/long" >"$scratch/twice" && mv "$scratch/twice" "$scratch/long"
done
takes 1000 12000 "a trace of $(stat -c %s "$scratch/long") bytes is not kept" stat "$scratch/long"
takes 5000 20000 'nor by profile' profile --elf "$elf" "$scratch/long"
rm "$scratch/long"
for command in "stat --elf $elf" "decode --elf $elf" "profile --elf $elf"; do
	# shellcheck disable=SC2086
	"$ntrace" $command "$trace" >"$scratch/one" 2>&1
	# shellcheck disable=SC2086
	cat "$trace" | "$ntrace" $command - 2>&1 | cmp - "$scratch/one" && [ -s "$scratch/one" ]
	verdict $? "a pipe: ${command%% --elf*}"
	status=0
	# shellcheck disable=SC2086
	"$ntrace" $command "$scratch/cut" >"$scratch/one" 2>&1 || status=$?
	[ $status = 1 ]
	verdict $? "status 1, cut: ${command%% --elf*}"
	refuses "a directory: ${command%% --elf*}" 'Is a directory' ${command%% *} --elf "$elf" \
		"$scratch"
done
printf '\377\377\377' >"$scratch/idle"
refuses 'idle bytes only' 'is empty (idle bytes only)' decode --elf "$elf" "$scratch/idle"
refuses 'a program as trace' 'is an ELF file, not a trace; programs are given as --elf=FILE' \
	decode --elf "$elf" "$elf"
printf 'PERFILE2 and so on' >"$scratch/perf.data"
refuses 'a perf.data with a program' 'is a perf.data, which tells what ran' decode --elf "$elf" \
	"$scratch/perf.data"
refuses 'a perf.data with parameters' 'is a perf.data, which tells how its trace was made' dump \
	--timestamps "$scratch/perf.data"
refuses 'a raw trace with options of a perf.data' '--pid is for a perf.data' decode --elf "$elf" \
	--pid=1 "$trace"
status=0
"$ntrace" stat - <"$scratch/perf.data" >"$scratch/stdout" 2>"$scratch/stderr" || status=$?
[ $status = 2 ] && grep -q 'is a perf.data, not a raw trace' "$scratch/stderr"
verdict $? 'refused: a perf.data as trace'
printf '2ELIFREP and so on' >"$scratch/other.data"
printf 'PERFILE2\150\0\0\0\0\0\0\0' >"$scratch/perf.data"
for command in dump stat decode script; do
	refuses "$command: a perf.data that is cut" \
		'perf.data: at 0x10: the file ends in its header' \
		$command "$scratch/perf.data"
	refuses "$command: of the other byte order" 'recorded on a big-endian machine' \
		$command "$scratch/other.data"
done
gzip -c "$trace" >"$scratch/packed"
refuses 'a compressed trace' 'is compressed; decompress it first' stat "$scratch/packed"
# at most so much is read of what has no end
status=0
( ulimit -v $((4 << 20)) && exec timeout $hang "$ntrace" stat /dev/zero ) >/dev/null \
	2>"$scratch/stderr" || status=$?
[ $status = 2 ] && grep -q '/dev/zero: more than 1024 MiB, and no file that can be mapped' \
	"$scratch/stderr"
verdict $? 'a device without end'

# programs that cannot be
refuses 'XLEN of another program' "--xlen=32: $elf is a program of 64 bits" decode --elf "$elf" \
	--xlen=32 "$trace"
refuses 'an ISA of another program' '--isa=rv32gc: the program has 64 bits' decode --elf "$elf" \
	--isa=rv32gc "$trace"
refuses 'an ISA and an XLEN' '--isa=rv64gc: --xlen tells 32 bits' dump --isa=rv64gc --xlen=32 \
	"$trace"
refuses 'programs of two XLENs' "is a program of 32 bits, and $elf one of 64" \
	decode --elf "$elf" --elf "$rv32/rv32.elf" "$trace"
# cut inside the second program header; an object file
head -c $((64 + 56 + 20)) "$elf" >"$scratch/headers"
refuses 'program headers that are cut' 'not a RISC-V ELF file, or is cut' decode \
	--elf "$scratch/headers" "$trace"
cp "$elf" "$scratch/object"
printf '\1' | dd of="$scratch/object" bs=1 seek=16 conv=notrunc status=none	# ET_REL
printf '\0\0' | dd of="$scratch/object" bs=1 seek=56 conv=notrunc \
	status=none	# without program headers
refuses 'an object file' 'nothing that is loaded (as object files)' decode --elf "$scratch/object" \
	"$trace"

# numbers
refuses 'a negative number behind a space' "\` -5' is not a number" dump --jvt=' -5' "$trace"
refuses 'a number with a plus' "\`+5' is not a number" dump --jvt=+5 "$trace"
refuses 'memory at a negative address' 'is not FILE@ADDR' decode --raw "$elf@-5" "$trace"
refuses 'memory at a space' 'is not FILE@ADDR' decode --raw "$elf@ 5" "$trace"

# a source that no message has
refuses 'a source that is not there' 'sources: has no message of source 3, but of: 1 2' \
	stat --srcbits=2 --src=3 "$scratch/sources"
refuses 'nor for dump' 'has no message of source 0, but of: 1 2' dump --srcbits=2 --src=0 \
	"$scratch/sources"
refuses 'nor for decode' 'has no message of source 3, but of: 1 2' \
	decode --srcbits=2 --src=3 --elf "$elf" "$scratch/sources"
"$ntrace" stat --srcbits=2 --src=2 "$scratch/sources" | grep -q '^total  *1 messages'
verdict $? 'one that is'

# what timeline and profile cannot read
refuses 'timeline of nothing' 'nope: No such file' timeline "$scratch/nope"
refuses 'timeline of a trace' 'is not a perf.data; what perf script printed wants --perf-script' \
	timeline "$trace"
refuses 'profile of nothing' 'nope: No such file' profile --elf "$elf" "$scratch/nope"

# nothing of what is read is written to
"$ntrace" decode --elf "$elf" "$trace" >"$scratch/keep.pc"
cp "$scratch/keep.pc" "$scratch/kept"
ln -s keep.pc "$scratch/link.pc"
ln "$scratch/keep.pc" "$scratch/hard.pc"
cp "$elf" "$scratch/keep.elf"
for name in keep.pc link.pc hard.pc; do
	refuses "encode to its own list: $name" 'is the list itself' \
		encode --elf "$elf" --pc "$scratch/keep.pc" -o "$scratch/$name"
done
status=0
"$ntrace" encode --elf "$elf" --pc - -o "$scratch/link.pc" <"$scratch/keep.pc" \
	2>"$scratch/stderr" || status=$?
[ $status = 2 ] && grep -q 'is the list itself' "$scratch/stderr" &&
	cmp -s "$scratch/keep.pc" "$scratch/kept"
verdict $? 'encode to its own list, as standard input'
refuses 'encode to its program' 'is the program itself' \
	encode --elf "$scratch/keep.elf" --pc "$scratch/keep.pc" -o "$scratch/keep.elf"
cp "$trace" "$scratch/keep.trace"
for format in llvm-profgen bolt edges folded; do
	refuses "a profile ($format) to its own trace" 'is the trace itself' \
		profile --format=$format --elf "$scratch/keep.elf" -o "$scratch/keep.trace" \
		"$scratch/keep.trace"
	refuses "a profile ($format) to its program" 'is the program itself' \
		profile --format=$format --elf "$scratch/keep.elf" -o "$scratch/keep.elf" \
		"$scratch/keep.trace"
done
refuses 'tandem trace of an ELF file to itself' 'is the ELF file itself' \
	tv from-elf -o "$scratch/keep.elf" "$scratch/keep.elf"
mkdir "$scratch/parts"
cp "$trace" "$scratch/parts/data"
refuses 'a profile to a file of the recording that it reads' 'is a part of the trace itself' \
	profile --elf "$scratch/keep.elf" -o "$scratch/parts/data" "$scratch/parts"
cmp -s "$scratch/keep.elf" "$elf" && cmp -s "$scratch/keep.trace" "$trace" &&
	cmp -s "$scratch/parts/data" "$trace"
verdict $? 'which are still there'

# output that has no room, whatever it is
"$ntrace" tv from-elf "$elf" -o "$scratch/state"
for command in --help --version 'decode --help' "stat $trace" "dump $trace" \
	"profile --elf $elf $trace" \
		"encode --elf $elf --pc $scratch/keep.pc -o -" "tv --help" \
		"tv dump $scratch/state" \
		"tv stat $scratch/state" "tv verify $scratch/state --against tv:$scratch/state"; do
	status=0
	# shellcheck disable=SC2086
	"$ntrace" $command >/dev/full 2>"$scratch/stderr" || status=$?
	[ $status = 2 ] && [ "$(grep -c 'No space left' "$scratch/stderr")" = 1 ]
	verdict $? "no room for the output of ${command%%/*}: reported once"
done
refuses 'a directory as program' 'Is a directory' decode --elf "$scratch" "$trace"
refuses 'an empty program' 'not a RISC-V ELF file' decode --elf "$scratch/empty" "$trace"
head -c 3000 "$elf" >"$scratch/half"
refuses 'half a program' 'not a RISC-V ELF file' decode --elf "$scratch/half" "$trace"

# threads: the same figures, whatever the number of pieces, with and without losses
"$ntrace" encode --elf "$elf" --pc "$scratch/file" -o "$scratch/synced" --syncmode=2 --syncmax=4 \
	--srcbits=2 --src=1 --retstack=3
size=$(stat -c %s "$scratch/synced")
{ head -c $((size / 2)) "$scratch/synced"; tail -c +$((size / 2 + 30)) "$scratch/synced"; } \
	>"$scratch/damaged"
for file in synced damaged; do
	options="--srcbits=2 --src=1 --retstack=3 --elf $elf $scratch/$file"
	want=0
	# shellcheck disable=SC2086
	"$ntrace" stat $options >"$scratch/one" || want=$?
	for threads in 2 3 7 200; do
		status=0
		# shellcheck disable=SC2086
		"$ntrace" stat --threads=$threads $options >"$scratch/many" || status=$?
		[ "$status" = "$want" ] && [ -s "$scratch/one" ] &&
			cmp -s "$scratch/one" "$scratch/many"
		verdict $? "stat in $threads threads: $file"
	done
done
# a trace that someone makes shorter while it is read: the reader of what comes out does so, with
# all but the first of it still to be decoded
mix=$samples/mix
for command in 'decode --output=pc' 'decode --output=branch --threads=2' dump; do
	for n in {1..120}; do cat "$mix/L0.bin"; done >"$scratch/shrinks"
	[ "$command" = dump ] && program= || program="--elf $mix/mix.elf"
	# shellcheck disable=SC2086
	{
		timeout $hang "$ntrace" $command $program "$scratch/shrinks" 2>"$scratch/stderr"
		echo "status $?"
	} |
		{ head -c 1000 >/dev/null; : >"$scratch/shrinks"; tail -n 1; } >"$scratch/stdout"
	grep -aq 'status 2$' "$scratch/stdout" &&
		grep -q 'shrinks: has become shorter than [0-9]* bytes while it was read' \
			"$scratch/stderr"
	verdict $? "a trace that becomes shorter: $command"
done
refuses 'no threads' '0 is too few' stat --threads=0 "$trace"

finish
