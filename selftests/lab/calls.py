#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Are the calls of each function those that were made?

    truthlist ... | calls.py elf=PROGRAM csv=FILE [only=user]
    calls.py one=FILE csv=FILE

The first form works out from the truth of one hart what `ntrace calls --format=csv` says of the
program's functions: whole calls, those left without a return, those that are cut, own and total
instructions, the median and the longest in instructions when the file is --by=insns. The rules are those of ntrace(1), `calls', in words of what
retired:

- a call begins at its first instruction. It ends with a return to behind the call instruction
  (all that is called later ends, too: left), with a jump to where another function begins (which
  then has the same caller), or when control returns into a function further out: left.
- what the trace found running, or is running when it ends, is cut.
- the kernel comes back to what it left, or else begins a function (a signal handler).

The second form adds up the lines of single calls of one function."""

import bisect
import collections
import csv
import struct
import sys

ARGS = dict(a.split("=", 1) for a in sys.argv[1:])
CALLS = {"call", "icall", "swap"}
JUMPS = {"jump", "ijump"}


def die(*words):
    print("different:", *words)
    sys.exit(1)


class Program:
    """Functions by address"""

    def __init__(self, path):
        self.name = path.rsplit("/", 1)[-1]
        data = open(path, "rb").read()
        self.entry, phoff, shoff = struct.unpack_from("<QQQ", data, 24)
        phsize, phnum, shsize, shnum, _ = struct.unpack_from("<HHHHH", data, 54)
        loads = [struct.unpack_from("<IIQQQQ", data, phoff + i * phsize) for i in range(phnum)]
        self.loads = [(p[3], p[5], p[2]) for p in loads if p[0] == 1]
        sections = [struct.unpack_from("<IIQQQQIIQQ", data, shoff + i * shsize) for i in range(shnum)]
        at = {}
        for s in sections:
            if s[1] != 2:
                continue
            names = sections[s[6]][4]
            for o in range(s[4], s[4] + s[5], 24):
                name, info, _, section, value, size = struct.unpack_from("<IBBHQQ", data, o)
                text = data[names + name:data.index(b"\0", names + name)].decode()
                code = section < shnum and sections[section][2] & 4
                if not (info & 15 in (2, 10) and section) and \
                        not (info & 15 == 0 and section and code and text and text[0] != "$" and text[:2] != ".L"):
                    continue
                at.setdefault(value, []).append((bool(info & 15), bool(size), size, text))
        self.starts = sorted(at)
        self.size = {a: max(c[:2] + (c[2],) for c in at[a])[2] for a in at}
        self.names = {a: {c[3] for c in at[a]} for a in at}
        self.memo = {}

    def function(self, addr):
        """Where the function begins that addr is in; None: in none"""
        if addr not in self.memo:
            i = bisect.bisect_right(self.starts, addr) - 1
            start = self.starts[i] if i >= 0 else None
            if start is not None and self.size[start] and addr >= start + self.size[start]:
                start = None
            self.memo[addr] = start
        return self.memo[addr]

    def is_part(self, start):
        return all(".cold" in n for n in self.names[start])

    def offset(self, addr):
        for vaddr, size, offset in self.loads:
            if vaddr <= addr < vaddr + size:
                return addr - vaddr + offset
        return None


class Count:
    def __init__(self):
        self.calls = self.left = self.cut = self.own = self.total = 0


class Frame:
    __slots__ = ("function", "back", "begin", "cut", "gap", "outer")


class Task:
    """One that runs: its open calls, the instructions that it retired"""

    def __init__(self, counts):
        self.frames, self.insns, self.counts = [], 0, counts
        self.open = collections.Counter()

    def push(self, function, back, cut=False, gap=False):
        f = Frame()
        f.function, f.back, f.begin, f.cut, f.gap = function, back, self.insns, cut, gap
        f.outer = not self.open[function]
        self.open[function] += 1
        self.frames.append(f)

    def pop(self, how):
        f = self.frames.pop()
        self.open[f.function] -= 1
        if f.gap:
            return
        c = self.counts[f.function]
        if f.outer:
            c.total += self.insns - f.begin
        if f.cut or how == "cut":
            c.cut += 1
        else:
            c.calls += 1
            c.left += how == "left"

    def unwind(self, depth, last="left"):
        """The innermost returns, the others are left; `last' is how the outermost ends"""
        how = "returned"
        while len(self.frames) > depth:
            self.pop(last if len(self.frames) == depth + 1 and how != "returned" else how)
            how = "left"


class Hart:
    def __init__(self, program):
        self.program, self.tasks = program, {}
        self.counts = collections.defaultdict(Count)
        self.now = None
        self.retired = 0

    def task(self, tid):
        if tid not in self.tasks:
            self.tasks[tid] = Task(self.counts)
        return self.tasks[tid]

    def insn(self, pc, to, size, kind):
        t, p = self.now, self.program
        if not t.frames:
            t.push(p.function(pc), None, cut=True)
        t.insns += 1
        self.counts[t.frames[-1].function].own += 1
        if kind in CALLS and to != pc + size:
            f = p.function(to)
            if f is None:           # what is called and has no symbol is a function
                f = to
                p.names[to] = {"%s+%#x" % (p.name, p.offset(to))}
            t.push(f, pc + size)
        elif kind == "ret":
            self.ret(t, to)
        elif kind in JUMPS:
            f = p.function(to)
            if f is not None and f == to and f != t.frames[-1].function and not p.is_part(f):
                old = t.frames[-1]
                t.pop("returned")
                t.push(f, old.back)

    def ret(self, t, to):
        frames, p = t.frames, self.program
        for i in range(len(frames) - 1, -1, -1):
            if frames[i].gap:
                break
            if frames[i].back == to:
                t.unwind(i, "returned")
                return
        f = p.function(to)
        for i in range(len(frames) - 1, -1, -1):
            if f is not None and not frames[i].gap and frames[i].function == f:
                t.unwind(i + 1)
                return
        depth = len(frames)
        while depth and not frames[depth - 1].gap:
            depth -= 1
        t.unwind(depth)
        t.push(f, None, cut=f != to or not frames)

    def leave(self, pc):
        if self.now:
            self.now.push("gap", pc, gap=True)

    def enter(self, pc):
        t = self.now
        for i in range(len(t.frames) - 1, -1, -1):
            f = t.frames[i]
            # the kernel was called with an ECALL, or it interrupted
            if f.gap and pc in (f.back, f.back + 2, f.back + 4):
                t.unwind(i, "returned")
                return
        if pc == self.program.entry:    # another program
            while t.frames:
                t.pop("left")
        f = self.program.function(pc)
        t.push(f, None, cut=f != pc or not t.frames)

    def run(self, lines, user):
        """Of a trace with the kernel only what programs do is followed: the kernel is where it is not"""
        outside = True
        tid = 0
        for line in lines:
            w = line.split()
            kind = w[0]
            if kind == "o":
                tid = int(w[1])
                continue
            if kind == "b" and len(w) > 2:
                tid = int(w[2])
            if kind == "d":
                sys.exit("messages were dropped: nothing to compare")
            if kind in "ber":
                if kind == "b" and not user:
                    self.now = self.task(tid)
                    self.enter(int(w[1], 16))
                if kind == "e" and not user:
                    self.leave(int(w[1], 16))
                continue
            pc = int(w[1], 16)
            self.retired += kind == "i"
            if user:
                if pc >> 63:
                    outside = True
                    continue
                if outside:
                    self.now = self.task(tid)
                    self.enter(pc)
                    outside = False
                if kind == "t":
                    self.leave(pc)
                    outside = True
                    continue
            if kind == "i":
                self.insn(pc, int(w[2], 16), len(w[3]) // 2, w[4])

    def end(self):
        for t in self.tasks.values():
            while t.frames:
                t.pop("cut")


def rows(path):
    with open(path) as f:
        return list(csv.DictReader(f))


def compare():
    program = Program(ARGS["elf"])
    hart = Hart(program)
    user = ARGS.get("only") == "user"
    hart.run(sys.stdin, user)
    hart.end()
    got = {}
    for r in rows(ARGS["csv"]):
        if r["file"].rsplit("/", 1)[-1] == ARGS["elf"].rsplit("/", 1)[-1]:
            got[int(r["start"], 16)] = r
    calls = insns = torn = 0
    wrong = []
    for start, c in hart.counts.items():
        if not isinstance(start, int) or not (c.calls or c.cut):
            continue
        r = got.pop(program.offset(start), None)
        want = {"calls": c.calls, "left": c.left, "cut": c.cut, "own_instructions": c.own,
                "total_instructions": c.total}
        have = {k: int(r[k]) for k in want} if r else None
        if user and have:
            # what the program has the kernel do counts as well; where that sleeps, trace has a gap
            del want["total_instructions"], have["total_instructions"]
            if have["cut"] > want["cut"]:
                torn += 1
                want["calls"] -= have["cut"] - want["cut"]
                want["cut"] = have["cut"]
        if have != want or r["function"] not in program.names[start]:
            wrong.append(f"{sorted(program.names[start])}: true {want}, found {have}")
        calls += c.calls
        insns += c.own
    wrong += [f"{r['function']}: it did not run" for r in got.values()]
    own = sum(int(r["own_instructions"]) for r in rows(ARGS["csv"]))
    if own != hart.retired:
        wrong.append(f"{hart.retired} instructions retired, all functions together have {own}")
    if torn * 4 > len(hart.counts):
        wrong.append(f"{torn} functions with more cut calls than there are")
    for w in wrong[:20]:
        print(w)
    if wrong:
        die(f"{len(wrong)} of {len(hart.counts)} functions")
    if calls < 1000 or insns < 100000:
        die(f"{calls} calls and {insns} instructions are too few")
    left = sum(c.left for c in hart.counts.values())
    cut = sum(c.cut for c in hart.counts.values())
    print(f"true: {len(hart.counts)} functions, {calls} calls ({left} left), {cut} cut, {own} instructions")


def add_up():
    single = rows(ARGS["one"])
    names = {r["function"] for r in single}
    if len(names) != 1:
        die(f"calls of {names}")
    total = next(r for r in rows(ARGS["csv"]) if r["function"] in names)
    whole = sorted(int(r["time_ns"]) for r in single if r["how"] != "cut")
    if len(whole) != int(total["calls"]) or len(single) - len(whole) != int(total["cut"]):
        die(f"{len(whole)} whole calls of {len(single)}, the table has {total['calls']} and {total['cut']}")
    if sum(int(r["own_instructions"]) for r in single) != int(total["own_instructions"]):
        die("their own instructions are not those of the table")
    if whole[-1] != int(total["longest_ns"]) or sum(whole) // len(whole) != int(total["mean_ns"]):
        die("mean or longest")
    for percent, column in (50, "median_ns"), (99, "p99_ns"):
        true, found = whole[-(-len(whole) * percent // 100) - 1], int(total[column])
        if (found != true) if len(whole) <= 1000 else abs(found - true) * 128 > true + 128:
            die(f"{column} is {found}, {true} is true")
    print(f"{len(single)} calls of {names.pop()}, one by one, are its line of the table")


add_up() if "one" in ARGS else compare()
