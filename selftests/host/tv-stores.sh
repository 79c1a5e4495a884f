#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# ntrace tv verify over GDB's remote protocol: memory. A stub plays what a scenario has the verifier
# do, another part of the scenario is the trace: stores that the trace does not tell, ranges of
# addresses that are not compared, store conditionals that only the trace's hart gets through.

. "$(dirname "$0")/lib.bash"

# A step is an instruction, what the trace tells of it, and what the verifier does
cat >"$scratch/scenarios.py" <<'END'
class Step:
    def __init__(self, bits, size=4, regs=None, told=(), regs_there=None, memory=()):
        self.bits, self.size = bits, size
        self.regs = regs or {}			# name: value
        self.told = told			# stores: address, bytes
        self.regs_there = self.regs if regs_there is None else regs_there
        self.memory = memory			# address, bytes

def bit(value, at, to):
    return (value >> at & 1) << to

def spread(offset, *places):			# of (bit of the offset, bit of the instruction)
    assert offset == sum(offset & 1 << at for at, _ in places)
    return sum(bit(offset, at, to) for at, to in places)

FIELD5_3 = ((3, 10), (4, 11), (5, 12))
# name: (bits, base register, size, where the bits of the offset are); rs2' and rs2 are a0
COMPRESSED = {
    'c.fsdsp': (0xa02a, 'sp', 8, FIELD5_3 + ((6, 7), (7, 8), (8, 9))),
    'c.swsp': (0xc02a, 'sp', 4, ((2, 9),) + FIELD5_3 + ((6, 7), (7, 8))),
    'c.sdsp': (0xe02a, 'sp', 8, FIELD5_3 + ((6, 7), (7, 8), (8, 9))),
    'c.fsd': (0xa088, 's1', 8, FIELD5_3 + ((6, 5), (7, 6))),
    'c.sw': (0xc088, 's1', 4, ((2, 6), (6, 5)) + FIELD5_3),
    'c.sd': (0xe088, 's1', 8, FIELD5_3 + ((6, 5), (7, 6))),
    'c.sb': (0x8888, 's1', 1, ((0, 6), (1, 5))),
    'c.sh': (0x8c88, 's1', 2, ((1, 5),)),
}
NUMBER = {'sp': 2, 's1': 9, 't0': 5, 't1': 6, 'a0': 10}
SETUP = {'sp': 0x3000, 's1': 0x4000, 't0': 0x2000, 't1': 0x1111111122222222, 'a0': 0}
STORE = 0x00a4b023		# sd a0, 0(s1)
ADDI = 0x00050513		# addi a0, a0, 0

def told_once():		# so that a store that is not told is worth a word
    return Step(STORE, told=[(0x1f00, bytes(8))], memory=[(0x1f00, bytes(8))])

def offsets():
    yield told_once()
    for bits, _, _, places in COMPRESSED.values():
        whole = sum(1 << at for at, _ in places)
        for offset in [0, whole] + [1 << at for at, _ in places]:
            yield Step(bits | spread(offset, *places), 2)

def offsets_want():
    for name, (_, base, _, places) in COMPRESSED.items():
        whole = sum(1 << at for at, _ in places)
        for offset in [0, whole] + [1 << at for at, _ in places]:
            yield 'memory %x' % (SETUP[base] + offset)

def sizes():
    sp, s1 = SETUP['sp'], SETUP['s1']
    for bits, base, size, _ in COMPRESSED.values():
        sp, s1 = sp + 64, s1 + 64
        yield Step(ADDI, regs={'sp': sp, 's1': s1})
        at = sp if base == 'sp' else s1
        zeros = [(at, bytes(8)), (at + 8, bytes(8))]
        for store in zeros:
            yield Step(STORE, told=[store], memory=[store])
        # its last byte, and the one behind that it should not have changed
        yield Step(bits, 2, memory=[(at + size - 1, b'\xff\xff')])

def sizes_want():
    for i, (_, base, size, _) in enumerate(COMPRESSED.values(), 1):
        yield 'memory %x' % (SETUP[base] + 64 * i + size - 1)

EDGES = (0x1fff, 0x2000, 0x2007, 0x2008, 0)

def ranges():
    for at in EDGES:
        yield Step(STORE, told=[(at, b'\1')], memory=[(at, b'\2')])

def conditionals():
    word, double = 0x1862a52f, 0x1862b52f		# sc.w, sc.d a0, t1, (t0)
    yield Step(STORE, memory=[(0x2000, b'\xaa' * 8)])
    yield Step(word, regs={'a0': 0}, regs_there={'a0': 1},
               told=[(0x2000, b'\x22' * 4)])
    yield Step(STORE, told=[(0x2004, b'\xaa' * 4)])	# still there
    yield Step(double, regs={'a0': 0}, regs_there={'a0': 1},
               told=[(0x2000, b'\x22' * 4 + b'\x11' * 4)])

def more():			# what differs beside the first difference
    yield Step(ADDI, regs={'a0': 1})
    yield Step(ADDI, regs={'a0': 2}, regs_there={'a0': 3, 'fcsr': 1})
    yield Step(ADDI, regs={'a0': 3})
END

cat >"$scratch/write.py" <<'END'
import struct, sys
import scenarios as s
u64 = lambda v: struct.pack('<Q', v)
reg = lambda name, v: b'\x04' + struct.pack('<H', 3 if name == 'fcsr' else 0x1000 + s.NUMBER[name]) + u64(v)
out = b'\x01\x0b\x07\x0a' + u64(0x1000) + b''.join(reg(*r) for r in s.SETUP.items()) + reg('fcsr', 0) + b'\x02'
for step in getattr(s, sys.argv[1])():
    out += b'\x01\x03' + (b'\x11' if step.size == 4 else b'\x10') + step.bits.to_bytes(step.size, 'little')
    out += b''.join(reg(*r) for r in step.regs.items())
    for at, data in step.told:
        ident = {1: b'\x04', 2: b'\x05', 4: b'\x06', 8: b'\x07'}[len(data)]
        out += b'\x07\x02' + u64(at) + b'\x07\x03' + u64(at) + b'\x07' + ident + data
    out += b'\x02'
open(sys.argv[2], 'wb').write(out)
want = getattr(s, sys.argv[1] + '_want', lambda: [])
open(sys.argv[2] + '.want', 'w').write(''.join(line + '\n' for line in want()))
END

cat >"$scratch/stub.py" <<'END'
import sys
import scenarios as s
steps = list(getattr(s, sys.argv[1])())
names = ['x%d' % i for i in range(32)] + ['pc', 'fcsr']
for name, n in s.NUMBER.items():
    names[n] = name
regs = dict.fromkeys(names, 0)
memory = {}
pc = 0x1000
for step in steps:
    for i, byte in enumerate(step.bits.to_bytes(step.size, 'little')):
        memory[pc + i] = byte
    pc += step.size
xml = '<target><architecture>riscv:rv64</architecture>' + ''.join(
    '<reg name="%s" bitsize="64" regnum="%d"/>' % (name, i) for i, name in enumerate(names)) + '</target>'

def put(text):
    data = text.encode()
    sys.stdout.buffer.write(b'+$' + data + b'#%02x' % (sum(data) & 255))
    sys.stdout.buffer.flush()

def hex64(v):
    return v.to_bytes(8, 'little').hex()

def step():
    now = steps.pop(0)
    regs['pc'] += now.size
    regs.update(now.regs_there)
    for at, data in now.memory:
        store(at, data)

def store(at, data):
    memory.update((at + i, byte) for i, byte in enumerate(data))

def numbers(text):
    return (int(x, 16) for x in text.split(','))

def reply(p):
    if p.startswith('qSupported'):
        return 'PacketSize=4000'
    if p.startswith('qXfer:features:read:'):
        at, n = numbers(p.split(':')[4])
        return ('m' if at + n < len(xml) else 'l') + xml[at:at + n]
    if p == 'g':
        return ''.join(hex64(regs[name]) for name in names[:33])
    if p[0] == 'p':
        return hex64(regs[names[int(p[1:], 16)]])
    if p[0] == 'P':
        n, v = p[1:].split('=')
        regs[names[int(n, 16)]] = int.from_bytes(bytes.fromhex(v), 'little')
        return 'OK'
    if p[0] == 'm':
        at, n = numbers(p[1:])
        return bytes(memory.get(at + i, 0) for i in range(n)).hex()
    if p[0] == 'M':
        where, data = p[1:].split(':')
        store(next(numbers(where)), bytes.fromhex(data))
        return 'OK'
    if p == 's':
        step()
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

while (p := get()) is not None:
    put(reply(p))
END

# verify SCENARIO STATUS NAME OPTION...: what differs to $scratch/differences
verify()
{
	local scenario=$1 want=$2 name=$3 status=0
	shift 3

	python3 "$scratch/write.py" "$scenario" "$scratch/trace"
	timeout $hang "$ntrace" tv verify "$scratch/trace" --most 1000 --timeout $hang "$@" \
		--against "gdb-pipe:python3 $scratch/stub.py $scenario" >"$scratch/got" \
		2>"$scratch/err" ||
		status=$?
	sed -n 's/^\(0x[0-9a-f]*\): \([^:]*\):.*/\1 \2/p' "$scratch/got" >"$scratch/differences"
	[ $status = "$want" ]
	result $? "$name: status $want"
}

result()	# STATUS NAME
{
	verdict "$@"
	[ "$1" = 0 ] || sed 's/^/# /' "$scratch/got" "$scratch/err" | head -20
}

# differs NAME LINE...: this differs, and nothing else
differs()
{
	local name=$1
	shift

	diff <(printf '%s\n' "$@") <(sed 's/^[^ ]* //' "$scratch/differences") | sed 's/^/# /'
	[ "${PIPESTATUS[0]}" = 0 ]
	result $? "$name"
}

for scenario in offsets sizes; do
	verify $scenario 1 "compressed stores that the trace does not tell: $scenario"
	mapfile -t want <"$scratch/trace.want"
	differs "${#want[@]} of them, each where it stores" "${want[@]}"
done
verify ranges 1 "a range that is not compared" --nondeterministic=2000-2007
differs "what is before it and behind it is compared" 'memory 1fff' 'memory 2008' 'memory 0'
verify ranges 1 "no such range"
differs "all of it is compared" 'memory 1fff' 'memory 2000' 'memory 2007' 'memory 2008' 'memory 0'
verify conditionals 0 "store conditionals that the verifier fails" --nondeterministic=sc
grep -q 'values taken from the trace: 2$' "$scratch/got"
result $? "it stores so many bytes as it should have"
verify conditionals 1 "the same, to be compared" --nondeterministic=mip
verify more 1 "two registers differ, one of which the instruction is not about"
differs "both are reported" a0 fcsr
[ "$(sed 's/ .*//' "$scratch/differences" | sort -u | wc -l)" = 1 ]
result $? "with the same instruction"

finish
