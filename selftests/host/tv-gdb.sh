#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# ntrace tv verify over GDB's remote protocol: a stub of a few lines that executes one program of
# its own, and stubs that do everything wrong. Each ends the command in words, and soon.

. "$(dirname "$0")/lib.bash"

result()	# STATUS NAME
{
	verdict "$@"
	[ "$1" = 0 ] || sed 's/^/# /' "$scratch/got" "$scratch/err" | head -20
}

# verify WANTED-STATUS NAME OPTION... : a stub may take its time to start, unless an option says
# less
verify()
{
	local want=$1 name=$2 status=0
	shift 2
	timeout $hang "$ntrace" tv verify "$scratch/trace" --timeout $hang "$@" \
		>"$scratch/got" 2>"$scratch/err" || status=$?
	[ $status = "$want" ]
	result $? "$name"
}

says()	# WORDS NAME
{
	grep -qF -- "$1" "$scratch/got" "$scratch/err"
	result $? "$2"
}

# A stub for a program of two instructions: `c.addi a0, 1` at 1000, again and again with `c.nop`.
# Its argument says which mistake it makes.
cat >"$scratch/stub" <<'END'
#!/usr/bin/env python3
import random, sys

wrong = sys.argv[1] if len(sys.argv) > 1 else ''
random.seed(sys.argv[2] if len(sys.argv) > 2 else 0)
regs = [0] * 34			# x, pc, fcsr
regs[32] = 0x1000
steps = 0
code = bytes.fromhex('05050100')
xml = ('<?xml version="1.0"?><target><architecture>riscv:rv64</architecture>'
       '<!-- <reg name="a0" bitsize="8"/> --><xi:include href="more.xml"/></target>')
names = ['x%d' % i for i in range(32)] + ['pc', 'fcsr']
abi = dict(zip(range(32), 'zero ra sp gp tp t0 t1 t2 fp s1 a0 a1 a2 a3 a4 a5 a6 a7 s2 s3 s4 s5 s6 s7 '
               's8 s9 s10 s11 t3 t4 t5 t6'.split()))
more = '<feature>' + ''.join('<reg name="%s" bitsize="64" regnum="%d"/>' % (abi.get(i, names[i]), i)
                             for i in range(34)) + '</feature>'

def put(text):
    data = text.encode('latin1')
    if wrong == 'noise' and data and random.random() < 0.2:
        at = random.randrange(len(data))
        data = data[:at] + bytes([random.choice(b'0f*}zE$ OST\xff')]) + data[at + random.randrange(3):]
    if wrong == 'count':
        data += b'0*\x1f'
    s = sum(data) + (1 if wrong == 'checksum' else 0)
    sys.stdout.buffer.write(b'+$' + data + b'#%02x' % (s & 255))
    sys.stdout.buffer.flush()

def hex64(v):
    return (v & (1 << 64) - 1).to_bytes(8, 'little').hex()

def step():
    global steps
    steps += 1
    # stopped before the instruction, as QEMU does when an event of the machine comes first
    if wrong == 'never' or wrong == 'late' and steps % 3:
        return
    regs[32] = (regs[32] - 0x1000 + 2) % 4 + 0x1000
    if regs[32] == 0x1002:
        regs[10] += 2 if wrong == 'adds' else 1
    # a floating-point state that no instruction is there to write
    if wrong == 'flags' and regs[10] == 10:
        regs[33] = 3

def runs(text):			# six equal digits, as stubs shorten them
    return text.replace('000000', '0*"')

def reply(p):
    if p.startswith('qRcmd,'):
        if bytes.fromhex(p[6:]).decode() != 'begin again':
            return 'E01'
        regs[10], regs[32] = 5, 0x1000
        return 'OK'
    if p.startswith('qSupported'):
        return 'PacketSize=1000'
    if p.startswith('qXfer:features:read:'):
        name, span = p.split(':')[3:5]
        text = xml if name == 'target.xml' else more
        if wrong == 'include':
            text = '<target><xi:include href="again.xml"/></target>'
        at, n = (int(x, 16) for x in span.split(','))
        if wrong == 'endless':
            return 'm' + ' ' * n
        return ('m' if at + n < len(text) else 'l') + text[at:at + n]
    if p == 'g':
        return runs(''.join(hex64(r) for r in regs[:33])) if wrong != 'short' else '00112233445566'
    if p[0] == 'p':
        return hex64(regs[int(p[1:], 16)])
    if p[0] == 'P':
        n, v = p[1:].split('=')
        regs[int(n, 16)] = int.from_bytes(bytes.fromhex(v), 'little')
        return 'OK'
    if p[0] == 'm':
        at, n = (int(x, 16) for x in p[1:].split(','))
        return (code + code)[at - 0x1000:at - 0x1000 + n].hex() if 0x1000 <= at < 0x1004 else 'E14'
    if p == 's':
        if wrong == 'ends':
            return 'W00'
        if wrong == 'OK':
            return 'OK'
        if wrong == 'dies':
            sys.exit(0)
        step()
        put('O68690a')
        return 'T05thread:01;'
    return ''

def get():
    c = sys.stdin.buffer.read(1)
    while c and c != b'$':
        c = sys.stdin.buffer.read(1)
    text = b''
    while c and c != b'#':
        c = sys.stdin.buffer.read(1)
        text += c
    sys.stdin.buffer.read(2)
    return text[:-1].decode() if c else None

if wrong == 'huge':
    sys.stdout.write('+$' + 'x' * 10000000)
while True:
    p = get()
    if p is None:
        break
    put(reply(p))
END

# 40 instructions of it, in a trace; a0 begins with 5
python3 - "$scratch/trace" <<'END'
import struct, sys
t = bytearray(b'\x01\x0b\x07\x0a' + struct.pack('<Q', 0x1000) + b'\x04\x0a\x10' + struct.pack('<Q', 5) +
              b'\x04\x03\x00' + struct.pack('<Q', 0) + b'\x02')
for i in range(20):
    t += b'\x01\x03\x10\x05\x05\x05\x0a\x10\x01\x02'
    t += b'\x01\x07\x0a' + struct.pack('<Q', 0x1000) + b'\x10\x01\x00\x02'
open(sys.argv[1], 'wb').write(t)
END

stub="python3 $scratch/stub"
verify 0 "a stub that does what the trace says" --against "gdb-pipe:$stub"
says '# groups 41 instructions 40 mismatches 0' "all of it"
verify 0 "so much of it" --against "gdb-pipe:$stub" --limit 7
says '# groups 7 instructions 6 mismatches 0' "and no more"
verify 1 "an adder that is off" --against "gdb-pipe:$stub adds"
says "0x23: a0: trace 6, verifier 7; pc 1000 insn 0505" "the first difference, in its group"
says 'mismatches 20' "the state is copied over: the next ones are differences of their own"
verify 0 "what is declared absent" --against "gdb-pipe:$stub adds" --absent=x
verify 0 "what is declared not deterministic" --against "gdb-pipe:$stub adds" --nondeterministic=a0
verify 1 "some bits of it" --against "gdb-pipe:$stub adds" --nondeterministic=a0.0 --most 1
verify 0 "steps that stop before their instruction, twice each" --against "gdb-pipe:$stub late"
says '# groups 41 instructions 40 mismatches 0' "all of it"
verify 1 "steps that never do anything" --against "gdb-pipe:$stub never" --most 1
says "pc: trace 1002, verifier 1000" "are a difference"
verify 1 "a program that ends" --against "gdb-pipe:$stub ends"
says 'the verifier has ended' "and says so"
verify 2 "a stub that dies" --against "gdb-pipe:$stub dies"
says 'has ended the connection, a reply was expected' "and says so"
verify 2 "a step that is not answered" --against "gdb-pipe:$stub OK"
says 'why it stopped' "and says so"
verify 2 "a checksum" --against "gdb-pipe:$stub checksum"
says 'expected the checksum ' "and says so"
verify 2 "half a register" --against "gdb-pipe:$stub short"
says 'whole registers' "and says so"
verify 2 "a description without end" --against "gdb-pipe:$stub endless"
says 'comes to an end' "and says so"
verify 2 "one that includes itself" --against "gdb-pipe:$stub include"
says 'fewer files' "and says so"
verify 2 "a packet of megabytes" --against "gdb-pipe:$stub huge"
says 'a packet of more than' "and says so"
verify 2 "a byte that repeats no number of times" --against "gdb-pipe:$stub count"
says "expected how often a byte repeats in a packet, \` ' to \`~', got byte 1f" "and says so"
verify 2 "another protocol" --against "gdb-pipe:echo HTTP/1.1 400; sleep 5"
says "does not speak GDB's protocol: expected \`\$' or \`+' between packets, got byte 48" \
	"and says so"
# what only a sweep looks at: from the tenth instruction on
verify 1 "a sweep with every fourth group" --against "gdb-pipe:$stub flags" --sweep 4
says '0xa0: fcsr: trace 0, verifier 3' "finds it in the next fourth"
verify 1 "no sweep" --against "gdb-pipe:$stub flags"
says '0x208: fcsr: trace 0, verifier 3' "finds it at the end"
# what the trace tells needs none: the first c.addi changes fcsr there
python3 - "$scratch/trace" "$scratch/fcsr" <<'END'
import sys
t = open(sys.argv[1], 'rb').read()
at = t.index(b'\x01\x03\x10\x05\x05\x05\x0a\x10') + 9
open(sys.argv[2], 'wb').write(t[:at] + b'\x04\x03\x00' + b'\x03' + bytes(7) + t[at:])
END
mv "$scratch/trace" "$scratch/plain"
mv "$scratch/fcsr" "$scratch/trace"
verify 1 "a register that only the trace has changed" --against "gdb-pipe:$stub"
says '0x23: fcsr: trace 3, verifier 0; pc 1000 insn 0505' "is compared in its group"
mv "$scratch/plain" "$scratch/trace"
verify 2 "a sweep of nothing" --against "gdb-pipe:$stub" --sweep 0
says '--sweep: at least 1, not 0' "is refused"
# a reset in the trace, behind all else, and all else once more
python3 - "$scratch/trace" "$scratch/resets" <<'END'
import sys
t = open(sys.argv[1], 'rb').read()
open(sys.argv[2], 'wb').write(t + b'\x01\x0a\x02' + t)
END
mv "$scratch/trace" "$scratch/plain"
mv "$scratch/resets" "$scratch/trace"
verify 2 "a reset that the verifier does not know" --against "gdb-pipe:$stub"
says "does not take \`system_reset' for that (--reset-command)" "and says so"
verify 0 "its own word for it" --against "gdb-pipe:$stub" --reset-command 'begin again'
says 'instructions 80 mismatches 0' "both times"
mv "$scratch/plain" "$scratch/trace"
# floating-point registers of 32 bits: 4 bytes of each are in the trace
python3 - "$scratch/single" <<'END'
import struct, sys
t = b'\x01\x0b\x07\x0a' + struct.pack('<Q', 0x1000) + b'\x04\x20\x10' + struct.pack('<I', 0x3f800000) + b'\x02'
open(sys.argv[1], 'wb').write(t + b'\x01\x03\x10\x05\x05\x02')
END
for flen in 32 64; do
	status=0
	"$ntrace" tv verify "$scratch/single" --against "tv:$scratch/single" --flen=$flen \
		>"$scratch/got" 2>"$scratch/err" || status=$?
	[ $status = $((flen == 32 ? 0 : 2)) ]
	result $? "--flen=$flen of a trace of 32 bits: status $status"
done
verify 2 "registers of 16 bits" --against "gdb-pipe:$stub" --flen=16
says '--flen is 32 or 64, not 16' "are refused"
# 0.0.0.0 is this machine, but not by its address
python3 - "$scratch/stub" "$scratch/port" <<'END' &
import os, socket, subprocess, sys
s = socket.socket()
s.bind(('0.0.0.0', 0))
s.listen(1)
s.settimeout(float(os.environ['hang']))
open(sys.argv[2] + '.new', 'w').write(str(s.getsockname()[1]))
os.rename(sys.argv[2] + '.new', sys.argv[2])
c = s.accept()[0]
subprocess.run(['python3', sys.argv[1]], stdin=c, stdout=c, timeout=float(os.environ['hang']))
END
server=$!
until [ -s "$scratch/port" ] || ! kill -0 $server 2>/dev/null; do sleep 0.1; done
port=$(cat "$scratch/port")
verify 2 "another machine" --against "gdb:0.0.0.0:$port"
says 'another machine; anyone between could change what it says' "is refused"
verify 0 "another machine with --any-address" --against "gdb:0.0.0.0:$port" --any-address
says '# groups 41 instructions 40 mismatches 0' "is verified"
kill $server 2>/dev/null
wait $server 2>/dev/null
# replies with bytes changed: whatever comes of it, in words
seed=${SEED:-$RANDOM}
bad=
for n in {1..8}; do
	status=0
	timeout $hang "$ntrace" tv verify "$scratch/trace" \
		--against "gdb-pipe:$stub noise $((seed + n))" \
		--timeout 1 >"$scratch/got" 2>"$scratch/err" || status=$?
	[ $status -le 2 ] && ! grep -q Sanitizer "$scratch/err" || { bad=$((seed + n)); break; }
done
[ -z "$bad" ]
result $? "noise${bad:+: SEED=$bad}"
verify 2 "silence without end" --against "gdb-pipe:exec sleep infinity" --timeout 1
says 'silent for 1 s' "and says so"
verify 2 "another machine" --against gdb:192.0.2.1:3333
says 'another machine' "and says so"
verify 2 "nobody there" --against "gdb:$scratch/none" --timeout 1
says 'cannot connect' "and says so"
long=/$(printf '%0200d' 0)
verify 2 "a socket whose path is too long" --against "gdb:$long"
says "the path of a socket has at most 107 bytes, not 201" "and says so"
verify 2 "an invalid port" --against gdb:localhost:none
says 'cannot find this machine and port' "and says so"
verify 2 "no port" --against gdb:localhost
says 'not gdb:HOST:PORT' "and says so"

finish
