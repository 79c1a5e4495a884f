#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What a profile for gcc -fauto-profile has, read with nothing of ntrace's. gcov.py FILE prints
    FUNCTION head COUNT
    FUNCTION LINE[.DISCRIMINATOR] COUNT [TARGET=COUNT...]
with LINE from the function's own on, and FUNCTION/LINE[.DISCRIMINATOR]:NAME of what was inlined."""
import struct
import sys


class Reader:
    def __init__(self, data):
        self.data = data
        self.at = 0

    def word(self):
        value, = struct.unpack_from('<I', self.data, self.at)
        self.at += 4
        return value

    def count(self):
        low = self.word()
        return self.word() << 32 | low

    def text(self):
        size = self.word()
        text = self.data[self.at:self.at + size]
        self.at += size
        assert text.endswith(b'\0') and text.count(b'\0') == 1, 'a name that does not end'
        return text[:-1].decode()

    def section(self, tag):
        assert self.word() == tag, f'no section {tag:x}'
        size = self.word()
        section = Reader(self.data[self.at:self.at + size])
        self.at += size
        return section

    def end(self):
        assert self.at == len(self.data), f'{len(self.data) - self.at} bytes left'


def place(value):
    line, discriminator = value >> 16, value & 0xffff
    return f'{line}.{discriminator}' if discriminator else str(line)


def function(r, names, path=''):
    name = r.word()
    assert 0 < name < len(names), f'name {name}'
    path += names[name]
    positions, inlined = r.word(), r.word()
    for _ in range(positions):
        where, targets, count = place(r.word()), r.word(), r.count()
        words = []
        for _ in range(targets):
            r.word()
            target = names[r.count()]
            words.append(f'{target}={r.count()}')
        print(path, where, count, *words)
    for _ in range(inlined):
        where = place(r.word())
        function(r, names, f'{path}/{where}:')


def main():
    r = Reader(open(sys.argv[1], 'rb').read())
    assert (r.word(), r.word(), r.word()) == (0x67636461, 2, 0), 'not of version 2'
    section = r.section(0xaa000000)
    names = [section.text() for _ in range(section.word())]
    section.end()
    assert len(set(names)) == len(names), 'a name is there twice'
    section = r.section(0xac000000)
    for _ in range(section.word()):
        head = section.count()
        at = section.at
        print(names[section.word()], 'head', head)
        section.at = at
        function(section, names)
    section.end()
    section = r.section(0xae000000)
    assert section.word() == 0, 'modules'
    section.end()
    r.end()


main()
