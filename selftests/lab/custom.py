#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Give the branches and direct jumps of ELF files encodings that no standard has: custom.py FILE...

Branches get the opcode custom-0, JAL gets custom-1; their other bits stay. A file that changes is a new one:
what else is linked to the old one keeps it. Prints how many there were."""

import os
import struct
import sys

SHF_EXECINSTR = 4
SHT_NOBITS = 8
BRANCH, CUSTOM_0 = 0x63, 0x0b
JAL, CUSTOM_1 = 0x6f, 0x2b


def executable_sections(elf):
    at, = struct.unpack_from('<Q', elf, 0x28)
    size, count = struct.unpack_from('<HH', elf, 0x3a)
    for n in range(count):
        kind, flags, _, offset, length = struct.unpack_from('<IQQQQ', elf, at + n * size + 4)
        if flags & SHF_EXECINSTR and kind != SHT_NOBITS:
            yield offset, offset + length


def change(elf):
    count = 0
    for at, end in executable_sections(elf):
        while at + 4 <= end:
            insn, = struct.unpack_from('<I', elf, at)
            opcode = insn & 0x7f
            if opcode == BRANCH and insn >> 12 & 7 not in (2, 3):
                elf[at] = elf[at] & 0x80 | CUSTOM_0
                count += 1
            elif opcode == JAL:
                elf[at] = elf[at] & 0x80 | CUSTOM_1
                count += 1
            at += 4 if insn & 3 == 3 else 2
    return count


total = 0
for name in sys.argv[1:]:
    with open(name, 'rb') as file:
        data = bytearray(file.read())
    if data[:5] != b'\x7fELF\x02':
        continue
    total += change(data)
    with open(name + '.new', 'wb') as file:
        file.write(data)
    os.replace(name + '.new', name)
print(total)
