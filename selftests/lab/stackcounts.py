#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Has a profile the branches of the samples it was made of, so many times each?

    stackcounts.py llvm|bolt STACKS PROFILE SYMBOLS

STACKS has a sample on a line, "TID TIME IP FROM/TO/... FROM/TO/...", as perf script prints it.
PROFILE is what llvm-profgen --skip-symbolization or perf2bolt wrote. SYMBOLS is what readelf -sW
prints of the program. Every count has to be that of the stacks, and hardly a branch between two
functions of the program may be missing. llvm-profgen writes offsets from the first segment, and has
an end that is not in the program as 1; perf2bolt also counts conditional branches not taken.
"""

import bisect
import collections
import re
import sys


BASE = 0x10000      # of a static program


def stacks(path):
    """How often each branch is in them"""
    counts = collections.Counter()
    with open(path) as f:
        for line in f:
            counts.update((int(a, 16), int(b, 16)) for a, b in re.findall(r"0x([0-9a-f]+)/0x([0-9a-f]+)", line))
    return counts


def functions(path):
    """{name: addresses}, and sorted (start, end) of all"""
    by_name, spans = collections.defaultdict(set), set()
    with open(path) as f:
        for line in f:
            words = line.split()
            if len(words) >= 8 and words[3] == "FUNC" and words[6] != "UND" and int(words[2], 0):
                start = int(words[1], 16)
                by_name[words[7]].add(start)
                spans.add((start, start + int(words[2], 0)))
    return by_name, sorted(spans)


def of_llvm(path):
    """FROM->TO:COUNT, hexadecimal addresses"""
    with open(path) as f:
        for line in f:
            m = re.match(r"\s*([0-9a-f]+)->([0-9a-f]+):(\d+)$", line)
            if m and not m[1].startswith("ffff") and not m[2].startswith("ffff"):
                yield [(BASE + int(m[1], 16), BASE + int(m[2], 16))], int(m[3])


def of_bolt(path, by_name):
    """1 FUNCTION OFFSET 1 FUNCTION OFFSET MISPREDICTED COUNT: the branches it may be, by these names"""
    with open(path) as f:
        for line in f:
            m = re.match(r"1 (\S+) ([0-9a-f]+) 1 (\S+) ([0-9a-f]+) \d+ (\d+)$", line)
            if m:
                ends = [[at + int(offset, 16) for at in by_name[re.sub(r"/\d+$", "", name)]]
                        for name, offset in ((m[1], m[2]), (m[3], m[4]))]
                yield [(a, b) for a in ends[0] for b in ends[1]], int(m[5])


def main():
    kind, ran, profile, symbols = sys.argv[1:]
    counts = stacks(ran)
    by_name, spans = functions(symbols)
    found, rows = collections.Counter(), 0
    for candidates, count in of_llvm(profile) if kind == "llvm" else of_bolt(profile, by_name):
        not_taken = [c for c in candidates if not counts[c] and c[1] - c[0] in (2, 4)]
        if kind == "bolt" and (not_taken or not candidates):
            continue
        right = [c for c in candidates if counts[c] == count and c not in found]
        if not right:
            print(f"branch {', '.join(f'{a:x} to {b:x}' for a, b in candidates)}: {count} times in the profile,",
                  f"{[counts[c] for c in candidates]} in the stacks")
            return 1
        found[right[0]] = count
        rows += 1

    def inside(at):
        i = bisect.bisect_right(spans, (at, 1 << 64)) - 1
        return i >= 0 and at < spans[i][1]

    wanted = sum(n for (a, b), n in counts.items() if inside(a) and inside(b))
    share = 100 * sum(found.values()) / max(wanted, 1)
    print(f"{rows} branches, {sum(found.values())} times, {share:.1f} % of {wanted}")
    # perf2bolt names some functions otherwise than the symbol table
    return 0 if rows >= 200 and share >= (99 if kind == "llvm" else 70) else 1


sys.exit(main())
