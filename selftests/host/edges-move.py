#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A file of edges of one part, and of one program that has kernel addresses: edges-move.py FILE
TEXT BY >FILE writes what a kernel would have left whose symbol _text is at TEXT in its ELF file
and that lay BY bytes higher. Both numbers are hexadecimal."""
import os
import struct
import sys
import zlib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
edges = __import__('edges')


def put(value):
    value &= (1 << 64) - 1
    data = b''
    while value > 0x7f:
        data += bytes((value & 0x7f | 0x80,))
        value >>= 7
    return data + bytes((value,))


def block(kind, text):
    head = kind + struct.pack('<II', len(text), len(text))
    return head + struct.pack('<I', zlib.crc32(text, zlib.crc32(head))) + text


def moved_head(text, base):
    recordings, files = edges.head(text)
    ident, _, name = files[0]
    tail = put(len(ident)) + ident + put(0) + put(len(name)) + name
    assert len(files) == 1 and text.endswith(tail)
    return text[:-len(tail)] + put(len(ident)) + ident + put(base) + put(len(name)) + name


def moved_edges(text, by):
    def move(place):
        return place and (place & ~((1 << 40) - 1)) | (place + by & ((1 << 40) - 1))

    at = before = last = 0
    out = b''
    while at < len(text):
        first, at = edges.number(text, at)
        to, at = edges.number(text, at)
        count, at = edges.number(text, at)
        before += first >> 3
        end = before + (to >> 1 ^ -(to & 1))
        begin, end = move(before), move(end)
        way = end - begin
        out += put(begin - last << 3 | first & 7) + put(way << 1 ^ way >> 63) + put(count)
        last = begin
    return out


def main():
    base, by = (int(text, 16) for text in sys.argv[2:4])
    check = 0
    sys.stdout.buffer.write(b'NTEDGES\n\1')
    for kind, text in edges.blocks(sys.argv[1]):
        if kind == b'H':
            text = moved_head(text, base + by)
            check = zlib.crc32(text)
        elif kind == b'E':
            text = moved_edges(text, by)
            check = zlib.crc32(struct.pack('<I', zlib.crc32(text)), check)
        elif kind == b'S':
            size = len(text)
            at = 0
            for _ in range(3):
                _, at = edges.number(text, at)
            text = text[:at] + put(check)
            assert size >= at
        sys.stdout.buffer.write(block(kind, text))


if __name__ == '__main__':
    main()
