# SPDX-License-Identifier: GPL-2.0-only
"""A perf.data written record by record, for tests of what the command makes of unusual ones.

Times of the trace are nanoseconds. Event IDs: TRACE of the trace, SIDE of all other records.
"""
import os
import struct
import subprocess

PMU = 9
TRACE = 71
SIDE = 72
SAMPLE_TYPE = 1 << 16 | 1 << 7 | 1 << 2 | 1 << 1 | 1	# identifier, CPU, time, task, IP
NTRACE = os.environ.get('NTRACE', 'ntrace')
SCRATCH = os.environ.get('SCRATCH', '.')


def text(s):
    if isinstance(s, str):
        s = s.encode()
    return s + bytes(8 - len(s) % 8)


class Recording:
    def __init__(self, xlen=64, cpus=1):
        self.out = []
        self.header = b''
        self.cpus = cpus
        info = [1 << 16 | 2, 13, cpus, 19, PMU, 0, xlen, 1, 0, 1, 0, 0, 0]
        body = struct.pack('<II13Q', 20052, 0, *info)
        for number in range(cpus):
            cpu = [0] * 19
            cpu[0], cpu[12] = number, 1
            body += struct.pack('<19Q', *cpu)
        index = struct.pack('<Q', cpus)
        for cpu in range(cpus):
            index += struct.pack('<QQQQ', self.trace_id(cpu), cpu, cpu, 2**64 - 1)
        self.record(69, 0, index)
        self.record(70, 0, body)

    def trace_id(self, cpu):
        return TRACE + 10 * cpu

    def record(self, type, misc, body, pid=None, tid=0, time=0, id=SIDE, cpu=0):
        if pid is not None:
            body += struct.pack('<iiQIIQ', pid, tid, time, cpu, 0, id)
        self.out.append(struct.pack('<IHH', type, misc, 8 + len(body)) + body)

    def comm(self, pid, tid, name, time, exec=True):
        self.record(3, 1 << 13 if exec else 0, struct.pack('<ii', pid, tid) + text(name), pid, tid, time)

    def mmap(self, pid, addr, size, offset, name, time, build_id=None):
        if build_id:
            place = struct.pack('<BBH20s', len(build_id), 0, 0, build_id)
        else:
            place = bytes(24)
        self.record(10, 2 | (1 << 14 if build_id else 0),
                    struct.pack('<iiQQQ', pid, pid, addr, size, offset) + place +
                    struct.pack('<II', 5, 2) + text(name), pid, pid, time)

    def fork(self, pid, tid, time, parent=1):
        self.record(7, 0, struct.pack('<iiiiQ', pid, parent, tid, parent, time), parent, parent, time)

    def exit(self, pid, tid, time):
        self.record(4, 0, struct.pack('<iiiiQ', pid, 1, tid, 1, time), pid, tid, time)

    def switch(self, pid, tid, time, out):
        self.record(14, 1 << 13 if out else 0, b'', pid, tid, time)

    def lost(self, number, time, type=2):
        body = struct.pack('<QQ', SIDE, number) if type == 2 else struct.pack('<Q', number)
        self.record(type, 0, body, 0, 0, time)

    def start(self, name, elf, pid, time, **k):
        """A process that executes a program, mapped where it is linked to"""
        self.fork(pid, pid, time)
        self.comm(pid, pid, name, time + 1)
        for addr, size, offset in segments(elf):
            self.mmap(pid, addr, size, offset, k.get('path', os.path.abspath(elf)), time + 2, k.get('build_id'))

    def trace(self, data, time, pid=100, more=0, mode=6, features=0):
        """`more' bytes that the file does not have"""
        terms = 1 | mode << 4 | features << 8 | 1 << 24 | 1 << 41 | 1 << 23 | 1 << 7
        self.record(21, 0, struct.pack('<Q', terms), pid, pid, 5, TRACE)
        self.record(11, 0, struct.pack('<QQQ', 0, len(data) + more, 0), pid, pid, time, TRACE)
        data += bytes(-len(data) % 8)
        self.record(71, 0, struct.pack('<QQQIiiI', len(data), 0, 0, 0, -1, 0, 0))
        self.out.append(data)

    def windows(self, cpu, windows, mode=6, kernel=False, shared=False):
        """The trace in one CPU's buffer: (data, time, tid that was current then, flags of the AUX
        record, or None without one; and optionally the number of bytes that the file lacks)"""
        sharing = 1 << 19 | cpu << 27 if shared else 1 << 41	# one bit of SRC, or a private sink
        terms = 1 | mode << 4 | 1 << 24 | sharing | 1 << 23 | 1 << 7 | kernel << 25
        self.record(21, 0, struct.pack('<Q', terms), 0, 0, 5, self.trace_id(cpu), cpu)
        offset = 0
        for data, time, tid, flags, *more in windows:
            size = len(data) + sum(more)
            if flags is not None:
                self.record(11, 0, struct.pack('<QQQ', offset, size, flags), tid, tid, time,
                            self.trace_id(cpu), cpu)
            self.record(71, 0, struct.pack('<QQQIiiI', len(data), offset, 0, cpu, -1, cpu, 0))
            self.out.append(data)
            offset += size

    def unknown_terms(self, nth, version):
        """Before the nth AUX record, the event's parameters have a version that ntrace refuses."""
        aux = [i for i, b in enumerate(self.out)
               if len(b) >= 8 and struct.unpack_from('<IHH', b)[::2] == (11, len(b))]
        at = aux[nth]
        body = struct.pack('<Q', version | 6 << 4 | 1 << 24 | 1 << 41 | 1 << 23 | 1 << 7)
        body += self.out[at][-32:]
        self.out.insert(at, struct.pack('<IHH', 21, 0, 8 + len(body)) + body)

    def write(self, name):
        def attr(type, config):
            return struct.pack('<IIQQQQQQQQQ', type, 136, config, 0, SAMPLE_TYPE, 4, 1 << 18 | 1 << 5,
                               0, 0, 0x11, 0x22) + bytes(136 - 80)
        ids = b''.join(struct.pack('<Q', self.trace_id(cpu)) for cpu in range(self.cpus))
        attrs = attr(PMU, 0x2e) + struct.pack('<QQ', 104, len(ids))
        attrs += attr(1, 9) + struct.pack('<QQ', 104 + len(ids), 8)
        ids += struct.pack('<Q', SIDE)
        data = b''.join(self.out)
        # The one feature: that there is trace. perf wants it for the addresses of branches.
        features = bytearray(32)
        features[2] = 1 << 2
        at = 104 + len(ids)
        end = at + len(attrs) + len(data)
        head = b'PERFILE2' + struct.pack('<QQQQQQQQ', 104, 152, at, len(attrs), at + len(attrs),
                                         len(data), 0, 0)
        with open(name, 'wb') as f:
            f.write(head + features + ids + attrs + data + struct.pack('<QQQ', end + 16, 8, 0))


def segments(elf):
    """Those that are executable: address, size, offset"""
    data = open(elf, 'rb').read()
    phoff, = struct.unpack_from('<Q', data, 32)
    number, = struct.unpack_from('<H', data, 56)
    for i in range(number):
        kind, flags, offset, addr, _, size = struct.unpack_from('<IIQQQQ', data, phoff + 56 * i)
        if kind == 1 and flags & 1:
            yield addr, size, offset


def add_headers(elf, out, headers, tail=b''):
    """A copy with more program headers, each (type, flags, offset, address, size); offset None: of tail"""
    data = bytearray(open(elf, 'rb').read())
    phoff, = struct.unpack_from('<Q', data, 32)
    number, = struct.unpack_from('<H', data, 56)
    old = data[phoff:phoff + 56 * number]
    data += bytes(-len(data) % 8)
    struct.pack_into('<Q', data, 32, len(data))
    struct.pack_into('<H', data, 56, number + len(headers))
    end = len(data) + 56 * (number + len(headers))
    data += old
    for kind, flags, offset, addr, size in headers:
        data += struct.pack('<IIQQQQQQ', kind, flags, end if offset is None else offset, addr, addr,
                            size, size, 4)
    with open(out, 'wb') as f:
        f.write(data + tail)


def with_build_id(elf, out, build_id):
    note = struct.pack('<III', 4, len(build_id), 3) + b'GNU\0' + build_id
    add_headers(elf, out, [(4, 4, None, 0, len(note))], note)


def encode(elf, lines, options=('htm',)):
    """The trace of a list, see ntrace(1) encode"""
    listing, trace = SCRATCH + '/records.list', SCRATCH + '/records.bin'
    with open(listing, 'w') as f:
        f.write('\n'.join(lines) + '\n')
    subprocess.run([NTRACE, 'encode', *('--' + o for o in options), '--timestamps', '--elf', elf,
                    '--pc', listing, '-o', trace],
                   check=True, stderr=subprocess.DEVNULL)
    return open(trace, 'rb').read()


def stretch(elf, tid, begin, addresses, end, stop, prv=0, **k):
    """What a thread executed from one time to the other"""
    return encode(elf, ['# time %d' % begin, '# start %s SYNC=5' % addresses[0],
                        '# context PRV=%d V=0 scontext=%x' % (prv, tid)] + addresses +
                       ['# time %d' % end, '# stop %s EVCODE=4' % stop], **k)


def messages(trace):
    """The messages of a trace: MSEO 3 ends each"""
    message = bytearray()
    for byte in trace:
        message.append(byte)
        if byte & 3 == 3:
            yield message
            message = bytearray()


def without_stamps(trace, stamped):
    """Behind so many messages, only syncs and those without I-CNT keep TSTAMP, their last field."""
    out = bytearray()
    for nr, message in enumerate(messages(trace)):
        if nr >= stamped and message[0] >> 2 in (3, 4, 27, 28):
            ends = [i for i, b in enumerate(message) if b & 3]
            message = message[:ends[-2] + 1]
            message[-1] |= 3
        out += message
    return bytes(out)


def one_context(trace):
    """The same with no other Ownership message than the first"""
    out, contexts = bytearray(), 0
    for message in messages(trace):
        contexts += message[0] >> 2 == 2
        if message[0] >> 2 != 2 or contexts == 1:
            out += message
    return bytes(out)


def ask(arguments, packets, timeout=600):
    """What ntrace gdbserver answers; output of monitor commands as text"""
    def packet(s):
        return b'$' + s.encode() + b'#%02x' % (sum(s.encode()) & 255)
    p = subprocess.run([NTRACE, 'gdbserver', *arguments], input=b'+'.join(map(packet, packets)),
                       capture_output=True, timeout=timeout)
    answers = []
    for part in p.stdout.split(b'$')[1:]:
        s = part.split(b'#')[0]
        # what is escaped: } and the byte with another bit
        s = b''.join(bytes([t[0] ^ 0x20]) + t[1:] if i else t for i, t in enumerate(s.split(b'}')))
        if s.startswith(b'O') and s != b'OK':
            s = bytes.fromhex(s[1:].decode())
        answers.append(s)
    return answers, p.stderr.decode(), p.returncode


def monitor(command):
    return 'qRcmd,' + command.encode().hex()
