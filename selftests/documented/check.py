#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Is what a documented command printed true?

    check.py WHAT [KEY=VALUE...]

reads what the command printed from out=FILE, and compares it with the truth: truth=FILE, as
truthlist prints it, of the one hart that the program ran on. elf=FILE is the program. The
numbers of the checks are printed; status 1 when something is not true.

    branches    every branch, with symbols: stdout has them as truthcmp reads them
    insns       every instruction, likewise
    branch-head, insn-head   the first of them only
    callees     perf report: shares of functions with what they call
    own-shares  no check: their own, for truthtv
    timeline    the slices of a timeline, their calls counted
    messages    ntrace dump, perf script -D: every message, against the bytes
    records     control transfer records: the last branches
    stat        ntrace stat: messages, bytes, instructions
    samples     instructions with branch stacks, as perf inject writes them
    profile     ntrace profile: counts of runs and branches
    calls       calls and returns, in their order
    database    the tables that export-to-sqlite.py made
    trace       no check: the trace of a perf.data
    damage      no check: 64 bytes in the middle of the largest piece of a perf.data's trace change
"""

import collections
import json
import math
import re
import sqlite3
import struct
import sys

ARGS = dict(a.split("=", 1) for a in sys.argv[2:])
CALLS, RETURNS = {"call", "icall", "swap"}, {"ret", "swap"}


def die(*words):
    print("different:", *words)
    sys.exit(1)


class Elf:
    """Symbols and code of a file, without any library that perf uses"""

    def __init__(self, path):
        with open(path, "rb") as f:
            self.data = f.read()
        if self.data[:6] != b"\x7fELF\x02\x01":
            sys.exit(f"{path}: not an ELF file of 64 bits")
        phoff, shoff = struct.unpack_from("<QQ", self.data, 32)
        phsize, phnum, shsize, shnum, _ = struct.unpack_from("<HHHHH", self.data, 54)
        self.loads, self.text = [], []
        for i in range(phnum):
            kind, flags, offset, vaddr, _, size = struct.unpack_from("<IIQQQQ", self.data, phoff + i * phsize)
            if kind == 1:
                self.loads.append((vaddr, offset, size))
            if kind == 1 and flags & 1:
                self.text.append((vaddr, size, offset))
        sections = [struct.unpack_from("<IIQQQQIIQQ", self.data, shoff + i * shsize) for i in range(shnum)]
        self.by_name = collections.defaultdict(list)
        self.functions = []
        for s in sections:
            if s[1] == 2:
                self.read_symbols(s, sections[s[6]])
        self.functions.sort()
        self.memo = {}

    def read_symbols(self, table, strings):
        for at in range(table[4], table[4] + table[5], 24):
            name, info, _, section, value, size = struct.unpack_from("<IBBHQQ", self.data, at)
            end = self.data.index(b"\0", strings[4] + name)
            text = self.data[strings[4] + name:end].decode()
            if info & 15 in (0, 2, 10) and section and text:
                self.by_name[text].append((value, value + size))
                if info & 15 != 0:
                    self.functions.append((value, value + size, text))

    def code(self, addr, size):
        for vaddr, offset, length in self.loads:
            if vaddr <= addr < vaddr + length:
                return self.data[offset + addr - vaddr:offset + addr - vaddr + size]
        return b""

    def is_in(self, name, addr, offset=None):
        """Whether that name is one for code at this address; None of a label of no size"""
        key = (name, addr, offset)
        if key not in self.memo:
            self.memo[key] = self.look(name, addr, offset)
        return self.memo[key]

    def look(self, name, addr, offset):
        # without a symbol, functions have their file's name, and where they begin there
        if name == "[unknown]" or re.fullmatch(r"(.+\+)?0x[0-9a-f]+", name):
            return not any(a <= addr < b for a, b, _ in self.functions)
        if name.startswith(".L"):
            return False
        for start, end in self.by_name.get(name, ()):
            if start == end:        # as far as the next function
                end = min((a for a, _, _ in self.functions if a > start), default=1 << 64)
            if start <= addr < end and offset in (None, addr - start):
                return True
        return False

    def functions_at(self, addr):
        key = ("at", addr)
        if key not in self.memo:
            self.memo[key] = frozenset(n for a, b, n in self.functions if a <= addr < b)
        return self.memo[key]


class Insn:
    __slots__ = ("kind", "pc", "next", "bits", "type", "taken")

    def __init__(self, words):
        self.kind = words[0]
        self.pc, self.next = int(words[1], 16), int(words[2], 16)
        self.bits, self.type = words[3], words[4]
        self.taken = self.kind == "t" or self.next != self.pc + len(self.bits) // 2 or \
            self.type not in ("none", "cond", "exception")


def truth():
    """Instructions and traps. Most lines are there many times: all of these are one Insn."""
    seen = {}
    with open(ARGS["truth"]) as f:
        for line in f:
            if line not in seen:
                words = line.split()
                seen[line] = Insn(words) if words[0] in "it" else None
            if seen[line]:
                yield seen[line]


def output():
    with open(ARGS["out"], errors="replace") as f:
        yield from f


# "COMM TID [CPU] TIME: EVENT: FLAGS IP SYM+OFF (DSO) => ADDR SYM+OFF (DSO)", any of it left out
PLACE = r"([0-9a-f]+) ([^\s+]+)(?:\+(0x[0-9a-f]+))?(?: \([^)]*\))?"
BRANCH = re.compile(rf"(?P<head>.*?)\s*{PLACE} +=> +{PLACE}\s*$")
INSN = re.compile(rf"(?P<head>.*?)\s*{PLACE}(?: insn: (?P<insn>[0-9a-f ]+?))?\s*$")
TIME = re.compile(r" (\d+)\.(\d+):")
FLAGS = re.compile(r"(?:^|\s)(tr strt|tr end|hw int|[a-z][a-z ]*?)\s*$")


class Lines:
    """What all lines of a list have in common. Many lines are equal behind the time: what() runs once
    for all of these."""

    def __init__(self, elf):
        self.elf, self.last, self.number, self.heads = elf, 0, 0, set()
        self.known = {}

    def look(self, line, what):
        """what() of the part behind the time, which it gets as its second argument"""
        self.number += 1
        t = TIME.search(line)
        if t:
            now = int(t[1]) * 10**9 + int(t[2].ljust(9, "0"))
            if now < self.last:
                die(f"line {self.number}: time goes backwards: {line.rstrip()}")
            self.last = now
            self.heads.add(line[:t.start()].strip())
            line = line[t.end():]
        if line not in self.known:
            self.known[line] = what(self, line)
        return self.known[line]

    def place(self, addr, name, offset, line):
        if addr and not self.elf.is_in(name, addr, int(offset, 16) if offset else None):
            die(f"line {self.number}: {name} is not at {addr:x}: {line.rstrip()}")

    def end(self, least):
        """One task on one CPU: so what is in front of the time is the same in all lines"""
        if len(self.heads) > 1:
            die("lines of several tasks:", *sorted(self.heads)[:4])
        if self.heads and ARGS.get("comm", "prog") not in next(iter(self.heads)):
            die("lines of another task:", *self.heads)
        if self.number < least:
            die(f"{self.number} lines, expected {least}")


def branch(lines, line):
    """... as truthcmp reads it"""
    command = ARGS.get("command", "flags")
    flagged = "flags" in command or command.startswith("ntrace script")
    m = BRANCH.match(line)
    if not m:
        die(f"line {lines.number} is no branch: {line.rstrip()}")
    at, to = int(m[2], 16), int(m[5], 16)
    lines.place(at, m[3], m[4], line)
    lines.place(to, m[6], m[7], line)
    flags = FLAGS.search(m["head"])
    if flagged and not flags:
        die(f"line {lines.number} has no flags: {line.rstrip()}")
    # without flags, address 0 is where trace begins or ends
    word = flags[1] if flagged else "tr strt" if not at else "tr end" if not to else ""
    return f"1 [000] branches:u: {word} {at:x} => {to:x}\n"


def insn(lines, line):
    m = INSN.match(line)
    if not m:
        die(f"line {lines.number} is no instruction: {line.rstrip()}")
    at = int(m[2], 16)
    lines.place(at, m[3], m[4], line)
    if m["insn"]:
        code = bytes.fromhex(m["insn"].replace(" ", ""))
        if lines.elf.code(at, len(code)) != code or len(code) != (4 if code[0] & 3 == 3 else 2):
            die(f"line {lines.number}: not the instruction there: {line.rstrip()}")
    elif re.search(r"-F \S*\binsn\b", ARGS.get("command", "")):
        die(f"line {lines.number} has no bytes: {line.rstrip()}")
    return f"1 [000] instructions:u: {at:x}\n"


def branches():
    lines = Lines(Elf(ARGS["elf"]))
    sys.stdout.writelines(lines.look(line, branch) for line in output())
    lines.end(int(ARGS.get("least", 1000)))


def insns():
    lines = Lines(Elf(ARGS["elf"]))
    sys.stdout.writelines(lines.look(line, insn) for line in output())
    lines.end(int(ARGS.get("least", 1000)))


def branch_head():
    """The first lines: the first branches of the truth"""
    lines = Lines(Elf(ARGS["elf"]))
    for line in output():
        lines.look(line, branch)
    lines.end(int(ARGS.get("least", 10)))
    expected = [(e.pc, e.next) for e in truth() if e.taken]
    shown = [(int(m[2], 16), int(m[5], 16)) for m in map(BRANCH.match, output())]
    shown = [b for b in shown if b[0] and b[1]]
    if shown != expected[:len(shown)]:
        die("not the first branches that ran")
    print(f"true: {lines.number} lines, the first branches")


# ------------------------------------------------------------------- shares of functions

def shares(elf):
    """Instructions by function, with all that it calls, and how many there were. Who calls
    is on the stack: a function that ends in a jump to another leaves no frame."""
    total, stack, on, count = collections.Counter(), [], collections.Counter(), 0
    since, name = {}, {}
    for e in truth():
        if e.pc not in name:
            name[e.pc] = min(elf.functions_at(e.pc), default=None)
        f = name[e.pc]
        if e.kind == "i":
            count += 1
            total[f] += not on[f]
        if not e.taken:
            continue
        if e.type in RETURNS:
            for i in range(len(stack) - 1, max(len(stack) - 64, -1), -1):
                if stack[i][0] == e.next:
                    for _, caller in stack[i:]:
                        on[caller] -= 1
                        if not on[caller]:
                            total[caller] += count - since[caller]
                    del stack[i:]
                    break
        if e.type in CALLS:
            stack.append((e.pc + len(e.bits) // 2, f))
            if not on[f]:
                since[f] = count
            on[f] += 1
    for caller in {c for _, c in stack}:
        total[caller] += count - since[caller]
    return total, count


ROW = re.compile(r" +(\d+\.\d+)%(?: +(\d+\.\d+)%)? +(?:\S+ +)?(?:(\S+) +)?\[([.k])\] (\S+)\s*$")
SAMPLES = re.compile(r"# Samples: (\d+)(K?) +of event '(instructions[^']*)'")


def flames(root):
    """The same of what flamegraph.py writes: a tree of callers, with the samples that end there"""
    total, own = collections.Counter(), collections.Counter()

    def visit(node, above):
        with_callees = node["v"] + sum(visit(child, above | {node["n"]}) for child in node["c"])
        own[node["n"]] += node["v"]
        if node["n"] not in above:
            total[node["n"]] += with_callees
        return with_callees

    # below a task's name are functions
    samples = sum(visit(function, frozenset()) for task in root["c"] for function in task["c"])
    return samples, [(name, 100 * total[name] / samples, 100 * own[name] / samples) for name in total]


def rows():
    """Of a perf report: how many samples, and (function, with its callees or None, own) of its table"""
    samples, found, section = 0, [], False
    if ARGS["out"].endswith(".json"):
        with open(ARGS["out"], encoding="utf-8") as f:
            return flames(json.load(f))
    for line in output():
        m = SAMPLES.match(line)
        if m:
            samples, section = int(m[1]) * (1000 if m[2] else 1), True
        elif line.startswith("# Samples:"):
            section = False
        m = ROW.match(line)
        if m and section:
            found.append((m[5], float(m[1]) if m[2] else None, float(m[2] or m[1])))
    if samples < int(ARGS.get("least", 100)) or not found:
        die(f"{samples} samples in the table")
    return samples, found


def own_shares():
    """What truthtv wants of it: its options in the first line, then "SHARE FILE:FUNCTION\""""
    samples, found = rows()
    name = ARGS["elf"].rsplit("/", 1)[-1]
    maps = [f"--map={start:x},{size:x},{offset:x},{name},{ARGS['elf']}" for start, size, offset in Elf(ARGS["elf"]).text]
    print("--samples", samples, *maps)
    for function, _, own in found:
        print(own, f"{name}:{function}")


def callees():
    """The other column: what each function has with all that it calls. That of functions which
    shares() does not know, as several have one address, is not compared."""
    total, count = shares(Elf(ARGS["elf"]))
    samples, found = rows()
    bound, compared = float(ARGS.get("bound", 5)), 0
    for function, with_callees, _ in found:
        if with_callees is None or function not in total:
            continue
        p = 100 * total[function] / count
        compared += 1
        if abs(p - with_callees) > bound + 4 * math.sqrt(p * (100 - p) / samples):
            die(f"{function} with its callees: truth {p:.1f} %, shown {with_callees:.1f} %")
    if compared < 2:
        die("nothing to compare")
    print(f"true: {samples} samples, {compared} functions with what they call")


# ----------------------------------------------------------------------------- timelines

def timeline():
    """Durations and depths are those asked for; every call of a function of the program is a slice
    when all are shown (full=FILE), and the default has those of them that it says"""
    elf = Elf(ARGS["elf"])
    with open(ARGS["out"]) as f:
        shown = slices(json.load(f, parse_float=str))
    with open(ARGS["full"]) as f:
        full = slices(json.load(f, parse_float=str))
    calls = collections.Counter()
    for e, count in collections.Counter(truth()).items():
        if e.type in CALLS and e.taken:
            for n in elf.functions_at(e.next):
                calls[n] += count
    found = collections.Counter(s[0] for s in full if s[1] == "user")
    for n in ("load", "draw", "shade", "fib", "compare"):
        if not calls[n] or found[n] != calls[n]:
            die(f"{n} was called {calls[n]} times, the timeline has {found[n]}")
    least = int(ARGS.get("min", 1000))
    expected = collections.Counter(s for s in full if s[3] >= least or s[1] == "loss")
    if collections.Counter(shown) != expected or not shown:
        gone = (expected - collections.Counter(shown)).most_common(1)
        more = (collections.Counter(shown) - expected).most_common(1)
        die(f"{len(shown)} slices, expected {sum(expected.values())}; missing {gone}, too much {more}")
    print(f"true: {len(shown)} slices of {least} ns and more among {len(full)}, of {sum(calls.values())} calls")


def slices(doc):
    ns = lambda us: int(us.split(".")[0]) * 1000 + int(us.split(".")[1])
    return [(e["name"], e["cat"], ns(e["ts"]), ns(e["dur"])) for e in doc["traceEvents"] if e["ph"] == "X"]


# ------------------------------------------------------------------------------ messages

NAMES = {2: "Ownership", 3: "DirectBranch", 4: "IndirectBranch", 8: "Error", 9: "ProgTraceSync",
         11: "DirectBranchSync", 12: "IndirectBranchSync", 27: "ResourceFull", 28: "IndirectBranchHist",
         29: "IndirectBranchHistSync", 30: "RepeatBranch", 33: "ProgTraceCorrelation"}


def parsed(trace):
    """(offset, message type) by MSEO alone: 11 ends a message, after which a byte of ones idles"""
    start = None
    for i, byte in enumerate(trace):
        if start is None:
            if byte == 0xff:
                continue
            start = i
        if byte & 3 == 3:
            yield start, NAMES.get(trace[start] >> 2, "?"), i + 1 - start
            start = None


def messages():
    with open(ARGS["trace"], "rb") as f:
        trace = f.read()
    expected = [(at, name) for at, name, _ in parsed(trace)]
    dump = re.compile(r"0x([0-9a-f]+) \S+ (\w+)|  ([0-9a-f]{8}):  (?:[0-9a-f]{2}[ +])+ *([A-Z]\w+)")
    found = [(int(m[1] or m[3], 16), m[2] or m[4]) for m in map(dump.match, output()) if m]
    if "names" in ARGS:     # perf's offsets are those of the AUX area
        expected, found = [n for _, n in expected], [n for _, n in found]
    if found != expected or len(found) < 100:
        i = next((i for i, (a, b) in enumerate(zip(found, expected)) if a != b), min(len(found), len(expected)))
        die(f"message {i} of {len(expected)}: shown {found[i:i + 2]}, in the trace {expected[i:i + 2]}")
    print(f"true: {len(found)} messages")


def stat():
    with open(ARGS["trace"], "rb") as f:
        trace = f.read()
    count, size = collections.Counter(), collections.Counter()
    for _, name, length in parsed(trace):
        count[name] += 1
        size[name] += length
    text = "".join(output())
    for name in count:
        m = re.search(rf"^{name} +(\d+) messages +(\d+) bytes$", text, re.M)
        if not m or (int(m[1]), int(m[2])) != (count[name], size[name]):
            die(f"{name}: {count[name]} messages of {size[name]} bytes, shown {m and m.groups()}")
    n = sum(1 for e in truth() if e.kind == "i")
    m = re.search(r"^instructions +(\d+)$", text, re.M)
    if "elf" in ARGS and (not m or int(m[1]) != n):
        die(f"{n} instructions, shown {m and m[1]}")
    print(f"true: {sum(count.values())} messages, {n} instructions")


# ------------------------------------------------------------ records, branch stacks

def records():
    """sctrstatus, then the youngest of the last branches that the settings let pass"""
    names = {"cond": "cond", "call": "call", "icall": "icall", "ret": "ret", "jump": "jump", "ijump": "ijump",
             "swap": "swap", "eret": "eret"}
    depth = int(ARGS.get("depth", 256))
    expected = [(e.pc, e.next, names.get(e.type)) for e in truth()
                if e.kind == "i" and e.taken and e.type in names]
    line = re.compile(r"(\d+) ([0-9a-f]+) ([0-9a-f]+) [0-9a-f]+ (\w+)")
    found = [(int(m[2], 16) & ~1, int(m[3], 16) & ~1, m[4]) for m in map(line.match, output()) if m]
    # what led out of user space was a trap: it is in the records, too, as STE says
    found = [r for r in found if r[2] in names]
    want = expected[::-1][:len(found)]
    if not depth * 3 // 4 <= len(found) <= depth or found != want:
        i = next((i for i, (a, b) in enumerate(zip(found, want)) if a != b), len(want))
        die(f"{len(found)} records of {depth}; number {i} is {found[i:i + 1]}, ran {want[i:i + 1]}")
    print(f"true: {len(found)} records")


def samples():
    """"IP FROM/TO/...": each stack is a run of the truth's branches that ends before that instruction"""
    taken, at = [], collections.defaultdict(list)
    for e in truth():
        if e.kind == "i":
            at[e.pc].append(len(taken))
        if e.taken:
            taken.append((e.pc, e.next))
    entry = re.compile(r"0x([0-9a-f]+)/0x([0-9a-f]+)/")
    number = position = full = 0
    for line in output():
        words = line.split(None, 1)
        if not words:
            continue
        number += 1
        stack = [(int(a, 16), int(b, 16)) for a, b in entry.findall(line)][::-1]
        places = [p for p in at.get(int(words[0], 16), ()) if p >= position]
        for p in places:
            if taken[max(p - len(stack), 0):p] == stack:
                position = p
                break
        else:
            die(f"sample {number} at {words[0]}: no such branches before it")
        full += len(stack) >= 60
    least = int(ARGS.get("least", 1000))
    if number < least or full < number * 9 // 10:
        die(f"{number} samples, {full} of them with 60 branches; expected {least}")
    print(f"true: {number} samples, {len(taken)} branches")


# ------------------------------------------------------------------------ counts, calls

def profile():
    """Counts of runs, and of branches: each instruction's and each branch's is the truth's"""
    elf = Elf(ARGS["elf"])
    runs, edges = [], collections.Counter()
    for line in output():
        bolt = re.match(r"([BF]) ([0-9a-f]+) ([0-9a-f]+) (\d+)", line)
        llvm = re.match(r"([0-9a-f]+)(-|->)([0-9a-f]+):(\d+)$", line)
        if bolt or llvm:
            run = bolt[1] == "F" if bolt else llvm[2] == "-"
            a, b, n = (int(bolt[2], 16), int(bolt[3], 16), int(bolt[4])) if bolt else \
                (int(llvm[1], 16), int(llvm[3], 16), int(llvm[4]))
            if run:
                runs.append((a, b, n))
            else:
                edges[a, b] += n
    count, taken = collections.Counter(), collections.Counter()
    for e, n in collections.Counter(truth()).items():
        if e.kind == "i" and elf.code(e.pc, 2):
            count[e.pc] += n
            if e.taken and e.type != "eret" and elf.code(e.next, 2):
                taken[e.pc, e.next] += n
    change = collections.Counter()
    for a, b, n in runs:
        change[a] += n
        change[b + 1] -= n
    places, now, wrong = sorted({*change, *count}), 0, []
    for at in places:
        now += change[at]
        if at in count and now != count[at]:
            wrong.append(f"{at:x} ran {count[at]} times, counted {now}")
    # the last one of all may be told to lead elsewhere, as nothing ran behind it
    wrong += [f"{a:x} to {b:x} was taken {taken[a, b]} times, counted {edges[a, b]}"
              for a, b in {*taken, *edges} if taken[a, b] != edges[a, b]][1 if "end" in ARGS else 0:]
    if wrong or len(count) < 1000:
        die(f"{len(wrong)} counts of {len(count)} instructions and {len(taken)} branches:", wrong[:4])
    print(f"true: counts of {len(count)} instructions and {len(taken)} branches")


def calls():
    """Calls and returns, in their order"""
    line = re.compile(rf".*:\s+(call|return)\s+{PLACE} +=> +{PLACE}\s*$")
    with open(ARGS["lines"]) as f:
        found = [(int(m[2], 16), int(m[5], 16)) for m in map(line.match, f) if m]
    expected = [(e.pc, e.next) for e in truth()
                if e.kind == "i" and e.taken and e.type in CALLS | RETURNS]
    if found != expected or len(found) < 1000:
        i = next((i for i, (a, b) in enumerate(zip(found, expected)) if a != b), min(len(found), len(expected)))
        die(f"call or return {i} of {len(expected)}, shown {len(found)}: {found[i:i + 1]}, ran {expected[i:i + 1]}")
    print(f"true: {len(found)} calls and returns")


def database():
    """What export-to-sqlite.py wrote: branches with their calls, or samples with call paths"""
    db = sqlite3.connect(ARGS["db"])
    word = (1 << 64) - 1
    rows = [(a & word, b & word) for a, b in db.execute("SELECT ip, to_ip FROM samples WHERE id > 0 ORDER BY id")]
    ran = list(truth())
    if ARGS["kind"] == "samples":
        known = {e.pc for e in ran if e.kind == "i"}
        paths = db.execute("SELECT COUNT(*) FROM call_paths").fetchone()[0]
        count = sum(e.kind == "i" for e in ran)
        if not paths or not count // 1100 <= len(rows) <= count // 900 or any(a not in known for a, _ in rows):
            die(f"{len(rows)} samples of {count} instructions, {paths} call paths")
        print(f"true: {len(rows)} samples, {paths} call paths")
        return
    taken = [(e.pc, e.next) for e in ran if e.kind == "i" and e.taken]
    shown = [r for r in rows if r[0] and r[1]]
    # an ecall is shown with where trace ended, as 0
    if shown != taken or len(shown) < 1000:
        i = next((i for i, (a, b) in enumerate(zip(shown, taken)) if a != b), min(len(shown), len(taken)))
        die(f"branch {i} of {len(taken)}, shown {len(shown)}: {shown[i:i + 1]}, ran {taken[i:i + 1]}")
    found = dict(db.execute("SELECT s.name, COUNT(*) FROM calls c JOIN call_paths p ON c.call_path_id = p.id "
                            "JOIN symbols s ON p.symbol_id = s.id GROUP BY s.name"))
    elf = Elf(ARGS["elf"])
    entered = collections.Counter(e.next for e in ran if e.kind == "i" and e.type in CALLS and e.taken)
    for name in ("load", "draw", "shade", "fib"):
        n = sum(c for at, c in entered.items() if name in elf.functions_at(at))
        if not n or found.get(name) != n:
            die(f"{name} was called {n} times, the table of calls has {found.get(name)}")
    print(f"true: {len(shown)} branches, {sum(found.values())} calls")


def auxtrace(data):
    """(start, end) of the bytes behind each AUXTRACE record of a perf.data"""
    at, size = struct.unpack_from("<QQ", data, 40)
    end = at + size
    while at < end:
        kind, _, length = struct.unpack_from("<IHH", data, at)
        behind = struct.unpack_from("<Q", data, at + 8)[0] if kind == 71 else 0
        if behind:
            yield at + length, at + length + behind
        at += length + behind


def trace():
    """The bytes behind the AUXTRACE records of a perf.data, to standard output. A record is padded
    to 8 bytes, and the next one of its buffer begins where the padding does."""
    with open(ARGS["out"], "rb") as f:
        data = f.read()
    buffers = {}
    for start, end in auxtrace(data):
        offset, _, idx = struct.unpack_from("<QQI", data, start - 32)
        first, trace = buffers.setdefault(idx, (offset, bytearray()))
        trace[offset - first:] = data[start:end]
    for _, trace in buffers.values():
        sys.stdout.buffer.write(trace)


def damage():
    """Each byte of 64 becomes a message of its own, with a transfer code that no encoder sends"""
    with open(ARGS["out"], "r+b") as f:
        start, end = max(auxtrace(f.read()), key=lambda piece: piece[1] - piece[0])
        if end - start < 1000:
            die(f"{end - start} bytes of trace")
        f.seek((start + end) // 2)
        f.write(b"\xfb" * 64)


CHECKS = {"branches": branches, "insns": insns, "branch-head": branch_head, "own-shares": own_shares, "callees": callees,
          "timeline": timeline, "messages": messages, "stat": stat, "records": records, "samples": samples,
          "profile": profile, "database": database, "calls": calls, "trace": trace,
          "damage": damage}
if len(sys.argv) < 2 or sys.argv[1] not in CHECKS:
    sys.exit(__doc__)
CHECKS[sys.argv[1]]()
