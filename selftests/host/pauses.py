#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Does any test depend on how long something takes? pauses.py SELFTESTS compares the lines of tests
that pause with SELFTESTS/pauses, where each stands with its kind, and prints what is wrong."""

import collections
import math
import pathlib
import re
import sys

KINDS = "poll load time end owed".split()
MINUTE = 60
SHELL = re.compile(r"(?:^|[\s;(&\"'])u?sleep (?!and\b|with\b)([\"$\w.]+)")
C = re.compile(r"\b(u|nano|)sleep\(([^;]*)\);")

selftests = pathlib.Path(sys.argv[1])
files = [f for d in ("debug", "guest", "host", "lab") for f in (selftests / d).iterdir()]
files = sorted(f for f in files if f.is_file() and f.suffix != ".py" and f.name != "pauses.sh")
files += [selftests / "qemu/lab/boot", selftests / "qemu/lab/init"]
wrong = []


def seconds(line):
    """Of a pause; None: it has another length each time"""
    m = C.search(line)
    if m:       # a number, or a product
        number = None if m[1] == "nano" else math.prod(int(n) for n in m[2].split("*"))
        return number / 10 ** 6 if m[1] == "u" else number
    m = SHELL.search(line)
    return float(m[1]) if re.fullmatch(r"[\d.]+", m[1]) and "usleep" not in m[0] else None


def polls(lines, at):
    """Is it in a loop that ends with what it waits for, or else after a minute or more?"""
    if re.search(r"\b(until|while)\b.*\bdo\b", lines[at]):
        return True
    for line in reversed(lines[max(at - 12, 0):at]):
        if re.match(r"\s*(until|while)\b", line):
            return True
        m = re.match(r"\s*for (?:i in \$\(seq |\(int i = 0; i < )(\d+)[);]", line)
        if m:
            return round(int(m[1]) * (seconds(lines[at]) or 0), 3) >= MINUTE
    return False


found = collections.Counter()
where = {}
for f in files:
    try:
        lines = f.read_text().split("\n")
    except UnicodeDecodeError:
        continue
    pattern = C if f.suffix in (".c", ".h") else SHELL
    for at, line in enumerate(lines):
        if pattern.search(line) and not re.match(r"\s*(#|/?\*)", line):
            key = (str(f.relative_to(selftests)), line.strip())
            found[key] += 1
            where.setdefault(key, []).append((lines, at))

listed, kind_of, entry = collections.Counter(), {}, None
for line in (selftests / "pauses").read_text().split("\n"):
    if not line or line[0] == "#":
        continue
    if line[0] == "\t":
        kind_of[entry][1] = line.strip()
        continue
    kind, rest = line.split(" ", 1)
    entry = tuple(rest.split(": ", 1))
    listed[entry] += 1
    kind_of.setdefault(entry, [kind, ""])
    if kind not in KINDS:
        wrong.append(f"{kind}: no such kind")

for key in sorted((found - listed) | (listed - found)):
    wrong.append(f"{key[0]}: {found[key]} times in the test, {listed[key]} in the list: {key[1]}")
for key, (kind, reason) in kind_of.items():
    if kind != "poll" and not reason:
        wrong.append(f"{key[0]}: no reason: {key[1]}")
    for lines, at in where.get(key, []):
        if kind == "poll" and not polls(lines, at):
            wrong.append(f"{key[0]}:{at + 1}: waits for nothing, or less than a minute: {key[1]}")
print("\n".join(wrong) or f"{sum(found.values())} pauses, " + ", ".join(
    f"{sum(listed[k] for k in kind_of if kind_of[k][0] == kind)} {kind}" for kind in KINDS))
sys.exit(bool(wrong))
