#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Is every name that perf prints that of a function which has the address? names.py ELF KALLSYMS
FIELD <SCRIPT, a `perf script -F ip,sym,addr,dso`. A function of the ELF file is what its symbol
table calls one; of the kernel, what kallsyms has as text and no assembler made for the linker.
FIELD is the file's name as perf shows it in parentheses."""

import bisect
import collections
import re
import subprocess
import sys

PLACE = re.compile(r"([0-9a-f]+) (\S+) \(([^)]*)\)")
elf, kallsyms, shown = sys.argv[1:4]


class Functions:
    """Names by the address that they begin at"""

    def __init__(self):
        self.names = collections.defaultdict(set)
        self.end = {}

    def add(self, start, size, name):
        self.names[start].add(name)
        self.end[start] = max(self.end.get(start, 0), start + size)

    def sort(self):
        self.starts = sorted(self.names)

    def of(self, addr):
        """All names of the functions nearest below, or around, the address"""
        at = bisect.bisect_right(self.starts, addr)
        found = set()
        for start in self.starts[max(at - 8, 0):at]:
            if start == self.starts[at - 1] or addr < self.end[start]:
                found |= self.names[start]
        return found


user, kernel = Functions(), Functions()
for line in subprocess.run(["riscv64-linux-gnu-readelf", "-sW", elf], stdout=subprocess.PIPE,
                           text=True, check=True).stdout.splitlines():
    part = line.split()
    if len(part) < 8 or part[6] in ("UND", "ABS"):
        continue
    # Code written in assembly may have names without a type; those of labels are no one's.
    if part[3] in ("FUNC", "IFUNC") or part[3] == "NOTYPE" and not part[7].startswith((".L", "$", "L0")):
        user.add(int(part[1], 16), int(part[2], 0), part[7])
for line in open(kallsyms):
    part = line.split()
    if part[1] in "tTwW" and not part[2].startswith((".L", "$", "L0")):
        kernel.add(int(part[0], 16), 0, part[2])
user.sort()
kernel.sort()

counts = {"user": 0, "kernel": 0}
bad = 0
for number, line in enumerate(sys.stdin, 1):
    for addr, name, dso in PLACE.findall(line):
        addr = int(addr, 16)
        if name == "[unknown]":
            continue
        if dso.startswith("["):
            if dso == "[vdso]":
                continue
            functions = kernel
            counts["kernel"] += 1
        elif dso.endswith(shown):
            functions = user
            counts["user"] += 1
        else:
            continue
        if name not in functions.of(addr):
            bad += 1
            if bad <= 8:
                print(f"# line {number}: {addr:#x} in {dso}: expected {sorted(functions.of(addr))[:4]}, "
                      f"found {name}")
print(", ".join(f"{n} {what}" for what, n in counts.items()) + f" names, {bad} wrong")
sys.exit(bad > 0 or not all(counts.values()))
