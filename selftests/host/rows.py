#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A program of many rows of instructions, and an execution of it: rows.py BASE SEED DIRECTORY
writes the program (program), the addresses that are executed (pc), and the transfers of control,
with branches not taken (not) and without (branch), as ntrace decode is to print them. The program's
rows have 1 to 60 instructions, and those that begin at the same place have different lengths, as
branches in the middle of them are taken or not. There are more rows than decode keeps, and most
come again."""

import pathlib
import random
import sys

ROWS = 6000
STEPS = 20000
HANDLER = 0         # the row where interrupts lead

base = int(sys.argv[1], 0)
random.seed(int(sys.argv[2]))
out = pathlib.Path(sys.argv[3])


def jal(offset):
    o = offset & 0x1fffff
    word = (o >> 20 & 1) << 31 | (o >> 1 & 0x3ff) << 21 | (o >> 11 & 1) << 20
    return word | (o >> 12 & 0xff) << 12 | 0x6f


def beq(offset):
    o = offset & 0x1fff
    word = (o >> 12 & 1) << 31 | (o >> 5 & 0x3f) << 25 | 0x00b50000
    return word | (o >> 1 & 0xf) << 8 | (o >> 11 & 1) << 7 | 0x63


def near(i):
    """A row, but not the next one"""
    to = i + random.choice([-15, -9, -3, -1, 2, 4, 9, 15])
    return to if 0 <= to < ROWS else abs(i - 20)


# of each row: [kind, address, row where it may lead]
rows, at = [], base
for i in range(ROWS):
    row = []
    for _ in range(random.choice([0, 1, 2, 3, 5, 8, 14, 15, 16, 17, 40, 59])):
        kind = random.choice(["nop2", "nop2", "nop4", "nop4", "nop2", "cond"])
        row.append([kind, at, near(i)])
        at += 2 if kind == "nop2" else 4
    kind = random.choice(["jump", "ijump", "ijump", "cond always", "custom"])
    kind = "ijump" if i == ROWS - 1 else kind
    row.append([kind, at, near(i) if kind != "jump" else random.randrange(ROWS)])
    at += 4
    rows.append(row)

code = b""
for row in rows:
    for kind, pc, to in row:
        offset = rows[to][0][1] - pc
        word = {"nop4": 0x13, "ijump": 0x50067, "custom": 0xb, "jump": jal(offset)}.get(kind, 0)
        if kind.startswith("cond"):
            # what is too far is none
            kind, word = (kind, beq(offset)) if abs(offset) < 4096 else ("nop4", 0x13)
        code += b"\1\0" if kind == "nop2" else word.to_bytes(4, "little")

pcs, taken, both = [], [], []


def transfer(pc, to, kind):
    line = f"{pc:x} {to:x} {kind}"
    both.append(line)
    if kind != "not":
        taken.append(line)


def execute(i):
    """Row number i; to where it leads"""
    row = rows[i]
    for n, (kind, pc, to) in enumerate(row):
        target = rows[to][0][1]
        if kind.startswith("cond") and abs(target - pc) >= 4096:
            kind = "nop4"
        if kind in ("ijump", "custom"):
            to = random.choice([HANDLER, random.randrange(ROWS), random.randrange(ROWS // 10)])
            target = rows[to][0][1]
        # before the last one: the same transfer as a jump there, but another type
        if n == len(row) - 1 and random.randrange(20) == 0:
            pcs.append(f"# interrupt {pc:x} {rows[HANDLER][0][1]:x}")
            transfer(pc, rows[HANDLER][0][1], "interrupt")
            return HANDLER
        pcs.append(f"{pc:x}")
        if kind == "cond" and random.randrange(12) == 0 or kind == "cond always":
            transfer(pc, target, "cond")
            return to
        if kind == "cond":
            transfer(pc, pc + 4, "not")
        if kind == "custom":
            pcs.append(f"# ijump {pc:x} {target:x}")
        if kind in ("jump", "ijump", "custom"):
            transfer(pc, target, kind.replace("custom", "ijump"))
            return to
    return i + 1


row, steps = 1, 0
while steps < STEPS or rows[row][0][0] != "nop2":
    row = execute(row)
    steps += 1
pcs.append(f"{rows[row][0][1]:x}")
(out / "program").write_bytes(code)
for name, lines in ("pc", pcs), ("branch", taken), ("not", both):
    (out / name).write_text("\n".join(lines) + "\n")
