#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Change the records of a perf.data, to have in it what a recording has only by chance:

    perfdata.py list IN                         a line per record: offset, type, size, time
    perfdata.py repeat TYPE N IN OUT            the Nth record (from 0) of that type comes twice
    perfdata.py again TYPE N M IN OUT           all from the Nth to the Mth come again behind that
    perfdata.py drop TYPE N IN OUT              it is gone
    perfdata.py flags N VALUE IN OUT            flags of the Nth AUX record
    perfdata.py size N SIZE IN OUT              size of the Nth AUX record
    perfdata.py trace OFFSET[@CPU] BYTES IN OUT   bytes in hex, in the trace of the CPU, or of the
                                                first AUX buffer that has the offset
    perfdata.py text-poke ADDR OLD NEW TIME IN OUT   bytes in hex; at that time, 0: before all others
    perfdata.py peek ADDR LENGTH KCORE          bytes of a copy of the kernel, in hex
    perfdata.py poke ADDR BYTES KCORE           other bytes there

What follows the data section moves, so the offsets of the header's sections do, too."""

import struct
import sys

TYPES = {"mmap": 1, "comm": 3, "mmap2": 10, "aux": 11, "itrace-start": 12, "switch": 14,
         "switch-cpu-wide": 15, "text-poke": 20, "hw-id": 21, "auxtrace": 71}
# sample_type bits of the words behind a record, in their order
TRAILER = [("tid", 1 << 1), ("time", 1 << 2), ("id", 1 << 6), ("stream", 1 << 9),
           ("cpu", 1 << 7), ("identifier", 1 << 16)]


class File:
    def __init__(self, path):
        with open(path, "rb") as f:
            self.bytes = bytearray(f.read())
        if self.bytes[:8] != b"PERFILE2":
            sys.exit(f"{path}: not a perf.data")
        self.attr_size, self.attrs, self.attrs_size, self.data, self.size = \
            struct.unpack_from("<5Q", self.bytes, 16)
        (self.sample_type,) = struct.unpack_from("<Q", self.bytes, self.attrs + 24)
        self.words = [name for name, bit in TRAILER if self.sample_type & bit]

    def records(self):
        """(offset, type, size of the header's record, bytes of trace behind it)"""
        at = self.data
        while at < self.data + self.size:
            kind, _, size = struct.unpack_from("<IHH", self.bytes, at)
            behind = struct.unpack_from("<Q", self.bytes, at + 8)[0] if kind == 71 else 0
            yield at, kind, size, behind
            at += size + behind

    def word(self, at, size, name):
        return at + size - 8 * (len(self.words) - self.words.index(name))

    def time(self, at, kind, size):
        if "time" not in self.words or kind >= 64 or kind == 9:
            return 0
        return struct.unpack_from("<Q", self.bytes, self.word(at, size, "time"))[0]

    def find(self, name, number):
        found = [r for r in self.records() if r[1] == TYPES[name]]
        if number >= len(found):
            sys.exit(f"there are {len(found)} records of type {name}")
        return found[number]

    def replace(self, at, length, new):
        """Put other bytes in place of some of the data section; mind all offsets behind it."""
        end, moved = self.data + self.size, len(new) - length
        flags = int.from_bytes(self.bytes[72:104], "little")
        self.bytes[at:at + length] = new
        self.size += moved
        struct.pack_into("<Q", self.bytes, 48, self.size)
        for i in range(bin(flags).count("1")):
            where = end + moved + 16 * i
            (offset,) = struct.unpack_from("<Q", self.bytes, where)
            struct.pack_into("<Q", self.bytes, where, offset + moved if offset >= end else offset)

    def trace(self, where, new):
        offset, _, wanted = where.partition("@")
        offset = int(offset, 0)
        for at, kind, size, behind in self.records():
            if kind != 71:
                continue
            first, _, _, _, cpu = struct.unpack_from("<QQIIi", self.bytes, at + 16)
            if first <= offset < first + behind and wanted in ("", str(cpu)):
                at += size + offset - first
                self.bytes[at:at + len(new)] = new
                return
        sys.exit(f"no trace at {where}")

    def text_poke(self, addr, old, new, time):
        """Behind the last record of that time or earlier that has the words to go with it"""
        like, at = None, self.data
        for r in self.records():
            t = self.time(*r[:3])
            if r[1] in (TYPES["mmap2"], TYPES["comm"], TYPES["switch-cpu-wide"], TYPES["switch"]):
                if like is None or t <= time:
                    like, at = r, (r[0] if like is None and t > time else r[0] + r[2])
        trailer = bytearray(self.bytes[like[0] + like[2] - 8 * len(self.words):like[0] + like[2]])
        struct.pack_into("<Q", trailer, 8 * self.words.index("time"), time or 1)
        body = struct.pack("<QHH", addr, len(old), len(new)) + old + new
        body += bytes(-len(body) % 8)
        size = 8 + len(body) + len(trailer)
        self.replace(at, 0, struct.pack("<IHH", TYPES["text-poke"], 1, size) + body + trailer)


def kcore(what, addr, value, path):
    with open(path, "r+b") as f:
        elf = f.read(64)
        phoff, (phsize, phnum) = struct.unpack_from("<Q", elf, 32)[0], struct.unpack_from("<HH", elf, 54)
        for i in range(phnum):
            f.seek(phoff + i * phsize)
            offset, vaddr, _, size = struct.unpack_from("<4Q", f.read(phsize), 8)
            if vaddr <= addr < vaddr + size:
                f.seek(offset + addr - vaddr)
                if what == "peek":
                    print(f.read(int(value)).hex())
                else:
                    f.write(bytes.fromhex(value))
                return
    sys.exit(f"{path}: nothing at {addr:#x}")


def main():
    what, args = sys.argv[1], sys.argv[2:]
    if what in ("peek", "poke"):
        kcore(what, int(args[0], 0), args[1], args[2])
        return
    f = File(args[-1] if what == "list" else args[-2])
    if what == "list":
        names = {v: k for k, v in TYPES.items()}
        for at, kind, size, behind in f.records():
            print(f"{at:#x} {names.get(kind, kind)} {size + behind} {f.time(at, kind, size)}")
        return
    if what in ("repeat", "drop"):
        at, _, size, behind = f.find(args[0], int(args[1]))
        record = bytes(f.bytes[at:at + size + behind])
        f.replace(at, len(record), record * 2 if what == "repeat" else b"")
    elif what == "again":
        at, (last, _, size, _) = f.find(args[0], int(args[1]))[0], f.find(args[0], int(args[2]))
        f.replace(last + size, 0, bytes(f.bytes[at:last + size]))
    elif what in ("size", "flags"):
        at, _, size, _ = f.find("aux", int(args[0]))
        struct.pack_into("<Q", f.bytes, at + (16 if what == "size" else 24), int(args[1], 0))
    elif what == "trace":
        f.trace(args[0], bytes.fromhex(args[1]))
    elif what == "text-poke":
        f.text_poke(int(args[0], 0), bytes.fromhex(args[1]), bytes.fromhex(args[2]), int(args[3]))
    else:
        sys.exit(__doc__)
    with open(args[-1], "wb") as out:
        out.write(f.bytes)


main()
