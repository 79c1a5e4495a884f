#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# ntrace gdbserver: recordings of each form, the answers that GDB gets, and misbehaving clients.
# Steps and runs are host/gdbserver-test's.

. "$(dirname "$0")/lib.bash"
mix=$samples/mix
program=$mix/mix.elf

# speak COMMAND... : packets, a line each, of standard input; replies, a line each, to stdout, what
# is for GDB's terminal behind `O'. `monitor WORDS' is one, too.
cat >"$scratch/speak" <<'END'
#!/usr/bin/env python3
import subprocess, sys

server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

def reply():
    out, c = b'', server.stdout.read(1)
    while c in (b'+', b'-') and not out:
        c = server.stdout.read(1)
    if c != b'$':
        sys.exit('no reply: %r' % c)
    while True:
        c = server.stdout.read(1)
        if c == b'#':
            break
        if not c:
            sys.exit('cut: %r' % out)
        out += bytes([server.stdout.read(1)[0] ^ 0x20]) if c == b'}' else c
    server.stdout.read(2)
    return out

for line in sys.stdin:
    packet = line.rstrip('\n').encode('latin1')
    if packet.startswith(b'monitor '):
        packet = b'qRcmd,' + packet[8:].hex().encode()
    server.stdin.write(b'$' + packet + b'#%02x' % (sum(packet) & 255))
    server.stdin.flush()
    if packet == b'k':
        break
    while True:
        r = reply()
        if r[:1] != b'O' or r == b'OK':
            break
        print('O', bytes.fromhex(r[1:].decode()).decode(), end='')
    print(r.decode('latin1'))
server.stdin.close()
sys.exit(server.wait())
END
chmod +x "$scratch/speak"

# session ARGUMENT...: what is said to standard input, replies to $scratch/got
session()
{
	local status=0

	timeout $hang "$scratch/speak" "$ntrace" gdbserver - "$@" >"$scratch/got" \
		2>"$scratch/err" ||
		status=$?
	[ $status = 0 ] || sed 's/^/# /' "$scratch/got" "$scratch/err" | head -20
	return $status
}

# says WORDS NAME
says()
{
	grep -qF -- "$1" "$scratch/got" "$scratch/err"
	verdict $? "$2"
}

# refuses NAME WORDS ARGUMENT...: exit status 2, and words
refuses()
{
	local name=$1 words=$2 status=0
	shift 2

	timeout $hang "$ntrace" gdbserver "$@" >"$scratch/got" 2>"$scratch/err" </dev/null ||
		status=$?
	[ $status = 2 ] && grep -qF -- "$words" "$scratch/err"
	verdict $? "$name"
	[ $status = 2 ] || sed 's/^/# /' "$scratch/err"
}

# ------------------------------------------------------------- recordings

build_recdata
verdict $? 'recordings can be made'
for kind in file switch times orphan; do
	"$scratch/recdata" $kind "$program" "$mix/L1.bin" >"$scratch/$kind.data" ||
		verdict 1 "$kind.data"
done

# obeys NAME LIST ARGUMENT...
obeys()
{
	local name=$1 list=$2
	shift 2

	"$out/tests/gdbserver-test" "$list" 300 "$@" >"$scratch/got" 2>&1
	verdict $? "$name: 300 commands ($(grep -vc '^#' "$list") instructions)"
	grep -q '^ok' "$scratch/got" || sed 's/^/# /' "$scratch/got"
}

obeys 'a perf.data' "$mix/pc.txt" "$scratch/file.data"
for tid in 100 101; do
	"$ntrace" script --insns --tid=$tid "$scratch/switch.data" |
		sed -n 's/.*instructions: \([0-9a-f]*\) .*/\1/p' >"$scratch/list"
	obeys "a perf.data, thread $tid" "$scratch/list" --tid=$tid "$scratch/switch.data"
done

# the objects that GDB reads
session "$scratch/switch.data" <<'END'
qXfer:threads:read::0,1000
qfThreadInfo
qThreadExtraInfo,2
Hg2
monitor position
qXfer:exec-file:read:1:0,1000
qXfer:features:read:target.xml:0,3000
m80000000,4
D
END
verdict $? 'a session with a perf.data of two threads'
says '<thread id="1" core="1" name="prog 100"/>' 'the first thread has its name'
says '<thread id="2" core="1" name="prog 101"/>' 'and the second'
says 'm1,2' 'both are listed'
says "$(printf 'prog 101' | od -An -tx1 | tr -d ' \n')" 'a name in hexadecimal digits'
says 'O prog 101: instruction 0 of' 'the second is chosen'
says "l$(realpath "$program")" 'the program is found'
says '<architecture>riscv:rv64</architecture>' 'of 64 bits'
says "$(od -An -tx1 -j4096 -N4 "$program" | tr -d ' \n')" 'memory of its file'
grep -qx l "$scratch/got" && verdict 1 'an object is empty'

# on one CPU one task behind the other: no call of the first is one of the second
first=$("$ntrace" script --insns --tid=100 "$scratch/switch.data" | grep -c 'instructions:')
session --cpu=1 "$scratch/switch.data" <<END
monitor goto $((first - 1))
monitor calls
monitor goto $first
monitor calls
D
END
says ' called 0x8' 'the calls of the first task on a CPU'
says 'no call is known that has not returned' 'are none of the second'

# an AUX record is missing: that is said where one passes it
session "$scratch/orphan.data" <<'END'
c
monitor gaps
D
END
says 'trace is lost here: AUX record lost' 'a loss of a perf.data'

# ------------------------------------------- another file at the same addresses

# The other program differs in an instruction that is never executed, at $spare, and in a name.
cp "$program" "$scratch/mix.elf"
spare=$(python3 - "$program" "$mix/pc.txt" "$scratch/mix.elf.other" <<'END'
import struct, sys
elf = bytearray(open(sys.argv[1], 'rb').read())
pcs = {int(line, 16) for line in open(sys.argv[2])}
phoff, phnum = struct.unpack_from('<Q', elf, 32)[0], struct.unpack_from('<H', elf, 56)[0]
for i in range(phnum):
    kind, flags, offset, addr, _, size = struct.unpack_from('<IIQQQQ', elf, phoff + 56 * i)
    if kind == 1 and flags & 1:
        break
# behind the last that is executed in a row
spare = max(pc for pc in pcs if pc < addr + size - 16) + 8
assert not pcs & set(range(spare - 2, spare + 4))
elf[offset + spare - addr] ^= 0x55
elf = elf.replace(b'\0_start\0', b'\0_other\0')
open(sys.argv[3], 'wb').write(elf)
print('%x' % spare)
END
)
verdict $? "a program that differs at $spare"
"$ntrace" encode --elf "$program" --pc "$mix/pc.txt" --syncmode=2 --syncmax=6 -o "$scratch/synced"
for kind in remap exec; do
	"$scratch/recdata" $kind "$scratch/mix.elf" "$scratch/synced" >"$scratch/$kind.data"
	session "$scratch/$kind.data" <<END
m$spare,1
monitor position
monitor goto end
monitor position
m$spare,1
qXfer:libraries:read::0,1000
monitor goto 100
m$spare,1
qXfer:libraries:read::0,1000
qXfer:exec-file:read:1:0,1000
D
END
	verdict $? "$kind: a session"
	at=$((16#$spare - 16#80000000 + 4096))
	byte()
	{
		od -An -tx1 -j$at -N1 "$1" | tr -d ' \n'
	}
	[ "$(grep -x '[0-9a-f][0-9a-f]' "$scratch/got" | tr '\n' ' ')" = \
		"$(byte "$scratch/mix.elf") $(byte "$scratch/mix.elf.other") $(byte "$scratch/mix.elf") " ]
	verdict $? "$kind: memory is of the file that was mapped then"
	[ "$(sed -n 's/.*library name="\([^"]*\)".*/\1/p' "$scratch/got" | tr '\n' ' ')" = \
		"$(realpath "$scratch/mix.elf.other") $(realpath "$scratch/mix.elf") " ]
	verdict $? "$kind: so are libraries"
	[ "$(sed -n 's/^O.*100: .*<\([a-z_]*\)+[0-9]*>$/\1/p' "$scratch/got" | tr '\n' ' ')" = \
		'_start _other _other towers ' ]
	verdict $? "$kind: and names"
done

# what another program maps as data is none of its code, and what was mapped before is gone
"$scratch/recdata" data "$scratch/mix.elf" "$scratch/synced" >"$scratch/data.data"
session "$scratch/data.data" <<END
m$spare,1
monitor goto end
m$spare,1
qXfer:libraries:read::0,1000
D
END
[ "$(grep -x '[0-9a-f][0-9a-f]\|E01' "$scratch/got" | tr '\n' ' ')" = \
	"$(byte "$scratch/mix.elf") E01 " ]
verdict $? 'memory of the program before is not known'

# ------------------------------------------------------------ branch trace

# The blocks that GDB reads are the instructions up to the position, newest first.
cat >"$scratch/blocks" <<'END'
import re, sys
pcs = [int(l, 16) for l in open(sys.argv[1])]
at, count = int(sys.argv[2]), int(sys.argv[3])
blocks = re.findall(r'begin="0x(\w+)" end="0x(\w+)"', sys.stdin.read())
want = pcs[max(0, at - count):at + 1]
next = len(want)
for begin, end in blocks:
    begin, end = int(begin, 16), int(end, 16)
    next -= 1
    if next < 0 or want[next] != end:
        sys.exit('block %x %x: ends at another instruction' % (begin, end))
    while want[next] != begin:
        next -= 1
        if next < 0:
            sys.exit('block %x %x: begins at another instruction' % (begin, end))
        if not 2 <= want[next + 1] - want[next] <= 4:
            sys.exit('block %x %x: is not linear' % (begin, end))
if next or len(blocks) < 2:
    sys.exit('%d instructions are missing' % next)
END
for at in 7000 1234 231028; do
	size=5000
	printf '%s\n' "monitor goto $at" Qbtrace:bts qXfer:btrace-conf:read::0,1000 \
		"$(for i in $(seq 0 60); do printf 'qXfer:btrace:read:all:%x,1000\n' $((i * 4096)); done)" D |
		session --btrace=$size --elf "$program" "$mix/L2.bin"
	python3 - "$scratch/got" >"$scratch/xml" <<'END'
import re, sys
text = open(sys.argv[1]).read()
# pieces of the object, without the byte that says whether there is more
parts = re.split(r'^(?=[lm]<!DOCTYPE btrace SYSTEM)', text, flags=re.M)[1]
print(re.sub(r'\n[lm]', '', parts[1:]))
END
	python3 "$scratch/blocks" "$mix/pc.txt" $at $size <"$scratch/xml"
	verdict $? "record btrace bts: $size instructions before $at"
done

# ----------------------------------------------------------------- monitor

session --elf "$program" --timestamps "$mix/timed.bin" <<'END'
monitor help
monitor goto 25%
monitor goto end
monitor goto 99999999
monitor goto nowhere
monitor goto 5t
monitor known
monitor gaps
monitor boast
monitor where
G00
X80000000,1:a
Z2,80000000,4
m10,4
D
END
verdict $? 'a session of monitor commands'
for words in 'monitor goto ' '(25.00%), time ' '(100.00%)' 'goto: the last position of hart is' \
	"goto: \`nowhere' is not begin" 'registers: pc' 'hart has neither losses nor gaps' \
	"\`boast' is not known" '#0  0x8' 'E.a recording cannot be changed'; do
	says "$words" "monitor: $words"
done

# ------------------------------------------------------------------ memory

# Instructions at 1000 on, behind two: one that stores twice, one that stores 32 times, one that
# stores the last bytes of all
python3 - "$scratch/stores.tv" <<'PY'
import struct, sys

def group(items=b'', insn=0x13):
    return b'\x01' + items + b'\x11' + struct.pack('<I', insn) + b'\x03'

def store(addr, value):
    return b'\x07\x03' + struct.pack('<Q', addr) + b'\x07\x07' + struct.pack('<Q', value)

# a request to store 8 bytes, and the response
def request(addr, value):
    return b'\x08' + struct.pack('<QBQ', addr, 0x31, value) + b'\x09\x03'

t = b'\x01\x0b\x07\x0a' + struct.pack('<Q', 0x1000) + group() + group()
t += group(store(0x2000, 1) + store(0x3000, 2), 0x00b53023) + group()
t += group(b''.join(request(0x4000 + 8 * i, i) for i in range(32)), 0x02057027) + group()
t += group(store((1 << 64) - 8, 3), 0x00b53023) + group() + b'\x02'
open(sys.argv[1], 'wb').write(t)
PY
# watched ADDRESS SIZE: the instruction that a watchpoint stops at, or "end"
watched()
{
	printf '%s\n' "Z2,$1,$2" c 'monitor position' D | session --tv "$scratch/stores.tv"
	sed -n 's/.*replaylog:end.*/end/p; t; s/.*: instruction \([0-9]*\) of.*/\1/p' \
		"$scratch/got" | head -1
}
for watch in '2000 8 2' '3000 8 2' '3007 1 2' '3008 8 end' '4000 8 4' '40f8 1 4' '4100 8 end' \
	'fffffffffffffff8 8 6' 'ffffffffffffffff 1 6' 'ffffffffffffff00 f8 end'; do
	read -r addr size want <<<"$watch"
	got=$(watched $addr $size)
	[ "$got" = "$want" ]
	verdict $? "a watchpoint of $size bytes at $addr: $got"
done

# ------------------------------------------------------- the script for GDB

# A function that calls itself 100 times: with it GDB has 102 frames, the outermost is code at
# 80000000.
python3 - "$scratch/deep.raw" "$scratch/deep.pc" <<'END'
import struct, sys
code = [0x008000ef, 0x6f, 0x00050863, 0xfff50513, 0xff9ff0ef, 0x13, 0x8067]
open(sys.argv[1], 'wb').write(struct.pack('<7I', *code))
way = [0] + [8, 0xc, 0x10] * 100 + [8, 0x18] + [0x14, 0x18] * 100 + [4, 4]
open(sys.argv[2], 'w').write(''.join('%x\n' % (0x80000000 + pc) for pc in way))
END
"$ntrace" encode --raw "$scratch/deep.raw@0x80000000" --pc "$scratch/deep.pc" -o "$scratch/deep.bin"
verdict $? 'a trace of deep calls'
session --raw "$scratch/deep.raw@0x80000000" "$scratch/deep.bin" <<'END'
monitor goto 301
monitor where
monitor where 200
D
END
says '... and 37 more' 'where: 64 calls, and how many more'
says '#101 0x80000000' 'where 200: all of them'

# scripted ARGUMENT... : GDB with the script does what standard input says
scripted()
{
	cat >"$scratch/commands"
	timeout $hang gdb-multiarch -nx -batch -ex 'set confirm off' \
		-ex "target remote | $ntrace gdbserver - $*" \
		-ex "source $top/tools-perf/ntrace/ntrace-gdb.py" -x "$scratch/commands" \
		>"$scratch/got" 2>"$scratch/err" </dev/null
	verdict $? "GDB with the script: ${*##*/}"
}

if command -v gdb-multiarch >/dev/null; then
	scripted --raw "$scratch/deep.raw@0x80000000" "$scratch/deep.bin" <<'END'
ntrace goto 301
backtrace -2
ntrace goto 310
backtrace -2
END
	says '#101 0x0000000080000004 in' 'more than 64 frames'
	says '#97 0x0000000080000004 in' 'fewer, from another place'
	# both threads are at the same time; the frames of each are its own, whichever GDB looked at
	# last
	scripted "$scratch/switch.data" <<'END'
thread 2
ntrace goto 20000
echo one\n
backtrace
thread 1
echo two\n
backtrace
thread 2
echo one\n
backtrace
thread 1
echo two\n
backtrace
END
	python3 - "$scratch/got" <<'END'
import re, sys
parts = re.split(r'^(?:one|two)\n', open(sys.argv[1]).read(), flags=re.M)[1:]
frames = [re.findall(r'^#.*', part.split('[')[0], re.M) for part in parts]
if len(frames) != 4 or frames[:2] != frames[2:] or len(frames[0]) < 3 or len(frames[1]) < 3:
    sys.exit('expected frames of one thread, another, and again: %s' % frames)
if len(frames[0]) == len(frames[1]):
    sys.exit('both have the same frames: %s' % frames)
END
	verdict $? 'frames of two threads'
else
	echo '# no gdb-multiarch: the script is not tried here'
fi

# ----------------------------------------------------------------- clients

# A server on a free port: $port, $server
listening()
{
	# before the server begins: what the one before said names another port
	: >"$scratch/err"
	"$ntrace" gdbserver --listen=0 --elf "$program" "$mix/L1.bin" >"$scratch/got" \
		2>"$scratch/err" &
	server=$!
	port=
	while [ -z "$port" ] && kill -0 $server 2>/dev/null; do
		port=$(sed -n 's/.*listening on 127.0.0.1:\([0-9]*\);.*/\1/p' "$scratch/err")
		[ -n "$port" ] || sleep 0.05
	done
}

# ended STATUS NAME
ended()
{
	local status=0

	wait $server || status=$?
	[ $status = "$1" ]
	verdict $? "$2 (status $status)"
}

listening
exec {one}<>"/dev/tcp/127.0.0.1/$port"
# the second client gets an error, and the first one goes on
exec {two}<>"/dev/tcp/127.0.0.1/$port"
printf '+$qSupported#37' >&$two
timeout $hang cat <&$two >"$scratch/second"
exec {two}>&-
grep -qF 'E.this recording has a client already' "$scratch/second"
verdict $? 'a second client is refused in words'
printf '$?#3f' >&$one
IFS= read -r -d '#' -t $hang reply <&$one
[ "$reply" = '+$T05thread:1;20:0000008000000000;' ]
verdict $? 'the first client is served on'
printf '+$D#44' >&$one
ended 0 'a client that detaches ends the server'
exec {one}>&-

listening
exec {one}<>"/dev/tcp/127.0.0.1/$port"
printf '$vCont;c' >&$one
exec {one}>&-
ended 2 'a client that goes in the middle of a packet'
says 'the client has gone without saying so' 'is missed in words'

# what interrupts is there before the search begins; behind it, the packet that comes next is served
listening
exec {one}<>"/dev/tcp/127.0.0.1/$port"
printf '$Z0,80000000,4#9e$c#63\003$bc#c5' >&$one
replies=
for _ in 1 2 3 4 5; do
	IFS= read -r -d '#' -t $hang reply <&$one
	replies+="${reply#*\$} "
done
[[ $replies == 'OK O'*' T02thread:1;20:0000008000000000; O'*' T05thread:1;replaylog:begin;'* ]]
verdict $? 'a search is interrupted'
printf '+$D#44' >&$one
ended 0 'and the client is served on'
exec {one}>&-

listening
exec {one}<>"/dev/tcp/127.0.0.1/$port"
printf '%s' '+++---$$$#00$?#00$#00$bc#c5$Z0,zz#00\003$vCont;r1,#99$qXfer:features:read:::#00' >&$one
head -c 100000 /dev/urandom >&$one
printf '$k#6b' >&$one
exec {one}>&-
wait $server
[ $? -le 2 ]
verdict $? 'a client that talks nonsense'

# ---------------------------------------------------------------- refusals

refuses 'no program' 'no program given' - "$mix/L1.bin"
refuses 'a perf.data and a program' 'is a perf.data' - --elf "$program" "$scratch/file.data"
refuses "the kernel's symbols of a raw trace" 'is for a perf.data' - \
	--kernel-symbols="$scratch/none" --elf "$program" "$mix/L1.bin"
refuses "the kernel's symbols, which were not copied" 'perf record --kcore copies them' \
	- --kernel-symbols="$scratch/none" "$scratch/file.data"
[ ! -e "$scratch/none" ]
verdict $? 'and no file is left'
refuses 'two files' 'more than one file' --elf "$program" "$mix/L1.bin" "$mix/L2.bin"
refuses 'standard input twice' 'cannot be both' --listen=- --elf "$program" -
# GDB has sent a packet before it reads what a command in a pipe says
printf '+$qSupported#37$vMustReplyEmpty#3a' |
	"$ntrace" gdbserver - --elf "$program" "$scratch/no-such-file" >"$scratch/got" 2>"$scratch/err"
[ $? = 2 ] && grep -q 'no-such-file: No such file' "$scratch/err" &&
	[ "$(grep -o '+$E.ntrace has nothing to serve, and has said why#bf' "$scratch/got" | wc -l)" = 2 ]
verdict $? 'a pipe, and nothing to serve: GDB reads why'
"$ntrace" gdbserver - --elf "$program" "$mix/L4.bin" </dev/null >"$scratch/got" 2>"$scratch/err"
grep -q '^ntrace: [0-9]* losses$' "$scratch/err" && grep -q -e --retstack=3 "$scratch/err"
verdict $? 'the server reports losses at start, and names parameters that fit'
refuses 'a port above 65535' 'expected PORT' --listen=66000 --elf "$program" "$mix/L1.bin"
refuses 'a missing file' 'No such file' - --elf "$program" "$scratch/none"
refuses 'another program' 'no instruction could be decoded' - --elf "$samples/rv32/rv32.elf" \
	"$mix/L1.bin"
head -c 300 "$scratch/file.data" >"$scratch/cut.data"
refuses 'a perf.data that is cut' "$scratch/cut.data" - "$scratch/cut.data"

finish
