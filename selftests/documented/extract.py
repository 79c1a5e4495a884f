#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The commands that a page of documentation shows: extract.py PAGE... prints them, a line each,
under a line "= PAGE". Literal lines count when they begin with a command, words in quotes when
they are a command with arguments. Markdown, reStructuredText, asciidoc and man pages."""

import re
import sys

# What a line of literal text begins with when it is a command
PROGRAM = (r"(?:perf|perf-ntrace|ntrace|make|apt|insmod|modprobe|cat|ls|grep|dmesg|echo|tar|cp|pkg-config|gdb|perf2bolt(?:-\d+)?|"
           r"clang(?:-\d+)?|riscv64-linux-gnu-gcc-\d+|llvm-\w+(?:-\d+)?|create_gcov|qemu-\S+|[A-Z_]+=\S+ \./\w+|"
           r"(?:\S+/)?(?:graft|ntrace|enter|ctrlist\.py|ctrcmp\.py|kselftest))")
COMMAND = re.compile(PROGRAM + r" (?!\.$|\()")
# In quotes that names one: nobody would type it
NAME = re.compile(r"(?:perf|ntrace) (?:tv )?[a-z][\w|-]*$")
# behind a command, in the same line: what it is for
REMARK = re.compile(r"\s+(?:#\s.*|\((?:there|here|profile|timeline)\)\s*)$")
# of one line, a trap for words in quotes: "perf record" alone names a program
QUOTED = {".md": r"`([^`]+)`", ".rst": r"``([^`]+)``", ".txt": r"(?<![\w'])'((?:[^'\n]|\n(?!\n))+)'(?!\w)"}


def roff(text):
    """A man page without its markup; bold and literal lines keep a tab in front."""
    out, literal = [], False
    for line in text.splitlines():
        if line in (".EX", ".EE"):
            literal = line == ".EX"
            continue
        bold = re.match(r"\.(?:B|BR|BI) (.*)", line)
        body = bold[1] if bold else line
        if line.startswith(".") and not bold:
            continue
        body = re.sub(r"\\f[BIRP]", "", body)
        for a, b in ((r"\-", "-"), (r"\(dq", '"'), (r"\(aq", "'"), (r"\c", ""), (r"\|", ""), (r"\&", "")):
            body = body.replace(a, b)
        if bold:
            body = re.sub(r'^"([^"]*)".*', r"\1", body)
        out.append(("\t" if literal or bold and COMMAND.match(body) and not NAME.match(body) else "") + body)
    return "\n".join(out)


def literal_lines(text):
    """Lines set in, those that go on in the next one joined"""
    lines = text.splitlines()
    i = at = 0
    while i < len(lines):
        line, start = lines[i], at
        at += len(line) + 1
        i += 1
        if not re.match(r"(?:\t| {2,})\S", line):
            continue
        line = line.strip()
        while line.endswith(("\\", "&&")) and i < len(lines):
            line = line.rstrip("\\").rstrip() + " " + lines[i].strip()
            at += len(lines[i]) + 1
            i += 1
        yield start, REMARK.sub("", line)


def commands(path):
    """In the order of the page, each once"""
    with open(path, encoding="utf-8") as f:
        text = f.read()
    suffix = path[path.rindex("."):]
    found = []
    if suffix in (".1", ".3"):
        text = roff(text)
    for at, line in literal_lines(text):
        line = line.removeprefix("$ ")
        if COMMAND.match(line) and not re.search(r"[^=]``|`,", line):
            found.append((at, line))
    for m in re.finditer(QUOTED.get(suffix, r"(?!)"), text):
        words = " ".join(m[1].split())
        if COMMAND.match(words) and not NAME.match(words):
            found.append((m.start(1), words))
    return list(dict.fromkeys(c for _, c in sorted(found, key=lambda f: f[0])))


if __name__ == "__main__":
    for page in sys.argv[1:]:
        print("=", page)
        for command in commands(page):
            print("$", command)
