#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Compare control transfer records: what the hart's buffer held, what trace says.

ctrcmp.py LIST HARDWARE TRACE STRETCHES [EQUAL]

LIST has lines "CTRCTL DEPTH WHAT". HARDWARE is what ctrrun wrote, TRACE what
ntrace-ctr.so printed: sections "# ... start N ...", sctrstatus, then an entry on a
line. A section in which trace has a gap or a loss is not compared, and counted.
STRETCHES has the lines of truthlist that say where the harts began and ended to trace:
between two stretches of which one is in the kernel there is a gap, unless the second begins
where the first ended, or behind that instruction. Firmware may have run in between, and an
interrupt may have come right behind it: nothing in the trace says so. Each gap spoils one
section at most, so more sections that are not compared are a failure, and so is a loss where
the harts lost nothing. Where there is no truth, STRETCHES is the number of gaps.
Prints the first differences, then figures.

Of "next", the thing that branches to the next instruction, exactly that difference
is expected: the model of the encoder takes a branch that leads on for one not taken.
So trace lacks this entry, its write pointer is one less, and where the hardware's
buffer is full, trace has an older entry in exchange.

EQUAL gets a line for each setting of which all was equal: CTRCTL, in decimal, DEPTH,
WHAT, number of entries, whether frozen.
"""
import collections
import sys


def sections(path):
    """{number of the start: (words of the heading, lines)}"""
    found = {}
    with open(path) as f:
        for line in f:
            words = line.split()
            if words[0] == "#":
                now = found[int(words[words.index("start") + 1])] = (words, [])
            else:
                now[1].append(line.strip())
    return found


def count_gaps(path):
    """How often trace of the kernel ends and begins elsewhere, and how often messages were dropped"""
    if path.isdigit():
        return int(path), 0
    gaps = drops = 0
    ended = None
    with open(path) as f:
        for line in f:
            words = line.split()
            if words[0] == "d":
                drops += 1
                continue
            pc = int(words[1], 16)
            if words[0] == "b" and ended is not None and (ended | pc) >> 63 and \
                    not 0 <= pc - ended <= 4:
                gaps += 1
            ended = pc if words[0] == "e" else None
    return gaps, drops


def is_next(words):
    """An entry of a branch to the next instruction (bit 0 of the source is V)"""
    return words[4] == "cond" and int(words[2], 16) - int(words[1], 16) + 1 in (2, 4)


def without_next(lines, depth):
    """The lines that trace must have where hardware has these"""
    entries = [line.split() for line in lines[1:]]
    left = [words for words in entries if not is_next(words)]
    if len(entries) - len(left) != 1:
        return [f"{len(entries) - len(left)} branches to the next instruction"]
    name, status = lines[0].split()
    status = int(status, 16)
    pointer = (status & 0xff) - 1
    return [f"{name} {status & ~0xff | pointer % depth:x}"] + \
        [" ".join([str(i)] + words[1:]) for i, words in enumerate(left)]


def differ(n, setting, hardware, trace):
    print(f"start {n}: {setting}")
    shown = 0
    for i in range(max(len(hardware), len(trace))):
        h = hardware[i] if i < len(hardware) else "-"
        t = trace[i] if i < len(trace) else "-"
        if h != t and shown < 6:
            print(f"  hardware {h}\n  trace    {t}")
            shown += 1


def main():
    settings = [line.strip() for line in open(sys.argv[1]) if line[0] != "#"]
    hardware, trace = sections(sys.argv[2]), sections(sys.argv[3])
    equal = different = unknown = expected = entries = switches = moves = empty = losses = 0
    types = collections.Counter()
    gaps, drops = count_gaps(sys.argv[4])
    report = open(sys.argv[5] if len(sys.argv) > 5 else "/dev/null", "w")
    for n, setting in enumerate(settings, 1):
        if n not in hardware or n not in trace:
            print(f"start {n}: {setting}: not in {'trace' if n in hardware else 'hardware'}")
            different += 1
            continue
        (words, h), (heading, t) = hardware[n], trace[n]
        if "gap" in heading or "loss" in heading:
            unknown += 1
            losses += "loss" in heading
            continue
        if setting.split()[2] == "next":
            depth = int(setting.split()[1])
            full = len(h) - 1 == depth
            h = without_next(h, depth)
            if h == t or (full and h == t[:-1]):
                expected += 1
                continue
        if h != t:
            different += 1
            if different <= 5:
                differ(n, setting, h, t)
            continue
        equal += 1
        ctl, depth, thing = setting.split()
        report.write(f"{int(ctl, 16)} {depth} {thing} {len(h) - 1} {int(h[0].split()[1], 16) >> 31}\n")
        entries += len(h) - 1
        empty += len(h) == 1
        if "switches" in words:
            switches += int(words[words.index("switches") + 1])
            moves += int(words[words.index("moves") + 1])
        types.update(line.split()[3] + "," + line.split()[4] for line in h[1:])
    print(f"equal {equal} different {different} expected {expected} unknown {unknown} of {gaps} gaps entries {entries} empty {empty} "
          f"switches {switches} moves {moves} types " +
          " ".join(f"{k.split(',')[0]}={v}" for k, v in sorted(types.items())))
    return 1 if different or not equal or unknown > gaps + drops or losses > drops else 0


sys.exit(main())
