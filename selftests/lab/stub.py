# SPDX-License-Identifier: GPL-2.0-only
"""What ntrace gdbserver says of a tandem-verification recording against another machine's stub, which
executes the same program step by step.

	stub.py SERVER STUB POSITIONS LAST SEED MEMORY

SERVER and STUB are commands that speak GDB's protocol over standard input and output. At so many
positions by chance, up to instruction LAST, each register that the server knows is the stub's, and
so is each byte of the 64 around each address of the file MEMORY (hexadecimal, a line each).
"""

import random
import re
import subprocess
import sys


def fail(what):
    print('not ok: ' + what)
    sys.exit(1)


# What changes by itself, while a debugger holds the machine, too
CLOCKS = {'mip', 'time', 'cycle', 'mcycle', 'instret', 'minstret'}


class Remote:
    """A stub, as its client sees it"""

    def __init__(self, command):
        self.process = subprocess.Popen(command, shell=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        bufsize=1 << 16)
        self.ask('qSupported:xmlRegisters=riscv;swbreak-')

    def ask(self, packet):
        text = packet.encode()
        self.process.stdin.write(b'$%s#%02x' % (text, sum(text) & 255))
        self.process.stdin.flush()
        return self.reply()

    def reply(self):
        out = self.process.stdout
        while (byte := out.read(1)) != b'$':
            if not byte:
                fail('the connection has ended')
        body = bytearray()
        while (byte := out.read(1)) != b'#':
            if byte == b'}':
                byte = bytes([out.read(1)[0] ^ 32])
            elif byte == b'*':
                byte = body[-1:] * (out.read(1)[0] - 29)
            body += byte
        out.read(2)
        self.process.stdin.write(b'+')
        return body.decode('latin1')

    def end(self):
        self.process.kill()
        self.process.wait()

    def description(self, name):
        text, part = '', 'm'
        while part[0] == 'm':
            part = self.ask('qXfer:features:read:%s:%x,ff0' % (name, len(text)))
            text += part[1:]
        return re.sub(r'<xi:include href="([^"]*)"/>', lambda m: self.description(m[1]), text)

    def registers(self):
        """Of each its number, by the name that both sides have: x1, pc, f8, mepc"""
        found, number = {}, 0
        for element in re.findall(r'<reg [^>]*>', self.description('target.xml')):
            has = dict(re.findall(r'(\w+)="([^"]*)"', element))
            number = int(has.get('regnum', number))
            # those of the architecture have names of the ABI here or there
            name = 'x%d' % number if number < 32 else 'f%d' % (number - 33) if 33 <= number < 65 else has['name']
            found[name] = number
            number += 1
        return found

    def register(self, number):
        """None: it is not known"""
        said = self.ask('p%x' % number)
        if 'x' in said:
            return None
        if not said or said[0] == 'E':
            fail('register %d: `%s\'' % (number, said))
        return int.from_bytes(bytes.fromhex(said), 'little')

    def memory(self, addr, size):
        """As many bytes as are known, from addr on"""
        said = self.ask('m%x,%x' % (addr, size))
        return b'' if said[:1] == 'E' else bytes.fromhex(said)


class Comparison:
    def __init__(self, server, stub, blocks):
        self.server, self.stub, self.blocks = server, stub, blocks
        ours, theirs = server.registers(), stub.registers()
        # x0 is no register; the others that the stub does not have are told
        ours = {name: number for name, number in ours.items() if name != 'x0' and name not in CLOCKS}
        self.pairs = {name: (ours[name], theirs[name]) for name in ours if name in theirs}
        self.alone = sorted(set(ours) - set(theirs))
        self.reads = self.known = self.bytes = self.unknown = 0

    def at(self, position):
        self.server.ask('qRcmd,' + ('goto %d' % position).encode().hex())
        self.look_at_registers(position)
        for block in self.blocks:
            self.look_at_memory(position, block)

    def look_at_registers(self, position):
        for name, (ours, theirs) in self.pairs.items():
            value = self.server.register(ours)
            self.reads += 1
            if value is None:
                continue
            self.known += 1
            want = self.stub.register(theirs)
            if value != want:
                fail('instruction %d: %s is %x, the server has %x' % (position, name, want, value))

    def look_at_memory(self, position, block):
        want = self.stub.memory(block, 64)
        at = 0
        while at < 64:
            got = self.server.memory(block + at, 64 - at)
            if got != want[at:at + len(got)]:
                fail('instruction %d: memory at %x is %s, the server has %s' % (
                     position, block + at, want[at:at + len(got)].hex(), got.hex()))
            self.bytes += len(got)
            self.unknown += at + len(got) < 64
            at += len(got) + 1


def main():
    server_command, stub_command, positions, last, seed, memory = sys.argv[1:]
    rng = random.Random(int(seed))
    blocks = sorted({int(text, 16) & ~63 for text in open(memory)})
    server = Remote(server_command)
    # goto and so on are words on the way, and OK at the end
    one_reply = server.reply

    def last_reply():
        said = one_reply()
        while said[:1] == 'O' and said != 'OK':
            said = one_reply()
        return said
    server.reply = last_reply
    stub = Remote(stub_command)
    comparison = Comparison(server, stub, blocks)
    at = 0
    for position in sorted(rng.sample(range(int(last)), int(positions))):
        for at in range(at, position):
            if stub.ask('s')[:1] not in 'ST':
                fail('instruction %d: the stub does not step' % at)
        at = position
        comparison.at(position)
    stub.end()
    server.end()
    print('ok: %s positions, %d of %d reads of %d registers known and equal, %d bytes of memory%s' % (
          positions, comparison.known, comparison.reads, len(comparison.pairs), comparison.bytes,
          '; the stub has no ' + ', '.join(comparison.alone) if comparison.alone else ''))


main()
