#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Compare control transfer records: what the hart's buffer held, what trace says.

ctrcmp.py LIST HARDWARE TRACE [EQUAL]

LIST has lines "CTRCTL DEPTH WHAT". HARDWARE is what ctrrun wrote, TRACE what
ntrace-ctr.so printed: sections "# ... start N ...", sctrstatus, then an entry on a
line. A section in which trace has a gap or a loss is not compared, and counted.
Prints the first differences, then figures; fails when something differs, or more
than a quarter could not be compared.

Of "next", the thing that branches to the next instruction, exactly that difference
is expected: the model of the encoder takes a branch that leads on for one not taken.

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


def without_next(lines):
    """... branches to the next instruction, and where the write pointer is; how many"""
    left = []
    for line in lines[1:]:
        w = line.split()
        if w[4] != "cond" or int(w[2], 16) - int(w[1], 16) + 1 not in (2, 4):
            left.append(w[1:])
    return left, len(lines) - 1 - len(left)


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
    equal = different = unknown = expected = entries = switches = moves = empty = 0
    types = collections.Counter()
    report = open(sys.argv[4] if len(sys.argv) > 4 else "/dev/null", "w")
    for n, setting in enumerate(settings, 1):
        if n not in hardware or n not in trace:
            print(f"start {n}: {setting}: not in {'trace' if n in hardware else 'hardware'}")
            different += 1
            continue
        (words, h), (heading, t) = hardware[n], trace[n]
        if "gap" in heading or "loss" in heading:
            unknown += 1
            continue
        if setting.split()[2] == "next":
            (h, missing), (t, made) = without_next(h), without_next(t)
            # a full buffer has lost an older entry to the branch
            h, t = h[:min(len(h), len(t))], t[:min(len(h), len(t))]
            if (missing, made) != (1, 0):
                t = [f"{made} branches to the next instruction"]
                h = [f"{missing} branches to the next instruction"]
            elif h == t:
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
    print(f"equal {equal} different {different} expected {expected} unknown {unknown} entries {entries} empty {empty} "
          f"switches {switches} moves {moves} types " +
          " ".join(f"{k.split(',')[0]}={v}" for k, v in sorted(types.items())))
    return 1 if different or not equal or unknown * 4 > len(settings) else 0


sys.exit(main())
