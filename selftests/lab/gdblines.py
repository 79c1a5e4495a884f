# SPDX-License-Identifier: GPL-2.0-only
"""Runs inside GDB: step, next and their reverse forms, each of which ends at the line where the list
of what was executed says; and frames, those of inlined functions among them.

The environment tells: PORT of the server; LIST, what was executed, as truthlist prints it; FIRST, the
server's number of its first instruction; TABLE, what selftests/lab/lines prints of the program;
WITHIN, the function that steps stay in, and INLINED, an inlined function that runs after it; how many
COMMANDS, SEED; SCRIPT: ntrace-gdb.py, where the server has no stack.
"""

import bisect
import os
import random
import re
import sys

import gdb

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from gdbshared import execute, fail  # noqa: E402

rng = random.Random(int(os.environ['SEED']))
first = int(os.environ['FIRST'])


class Line:
    """Code of one line, without a gap: where it starts, and what the line is"""

    def __init__(self, start, number):
        self.start = start
        self.number = number


class Lines:
    """The line table, by libdw. Of several rows at one address the last one tells."""

    def __init__(self, path):
        self.of = {}            # address: (line, file), as libdw finds them
        self.functions = {}     # where one begins: its name
        rows = {}
        for text in open(path):
            kind, *rest = text.split()
            if kind == 'pc':
                self.of[int(rest[0], 16)] = (int(rest[1]), rest[2])
            elif kind == 'row':
                rows[int(rest[0], 16)] = int(rest[1])
            elif kind == 'end':
                rows.setdefault(int(rest[0], 16), 0)
            else:
                self.functions[int(rest[0], 16)] = rest[2]
        self.lines = []
        for start in sorted(rows):
            if not self.lines or self.lines[-1].number != rows[start] or start in self.functions:
                self.lines.append(Line(start, rows[start]))
        self.starts = [line.start for line in self.lines]

    def at(self, pc):
        return self.lines[bisect.bisect(self.starts, pc) - 1]

    def behind_prologue(self, function):
        """A function's second line: its first is what the compiler adds"""
        return self.lines[bisect.bisect(self.starts, function)].start


class Call:
    """A call that has not returned"""

    def __init__(self, at, function, back, caller):
        self.at = at            # the instruction that called
        self.function = function
        self.back = back        # the address behind the call
        self.caller = caller
        self.depth = caller.depth + 1 if caller else 0


class Truth:
    """What was executed, and of each instruction the call that it is in"""

    def __init__(self, path, lines, within):
        self.pcs, self.call = [], []
        call, inside, file, self.inside = None, None, None, []
        for at, text in enumerate(open(path)):
            _, pc, behind, insn, kind = text.split()
            self.pcs.append(int(pc, 16))
            self.call.append(call)
            # the library's code is of another compiler's run, with optimisation
            if inside and lines.of.get(self.pcs[-1], (0, ''))[1] == file:
                self.inside.append(at)
            if kind.endswith('call'):
                call = Call(at, int(behind, 16), int(pc, 16) + len(insn) // 2, call)
                if lines.functions.get(int(behind, 16)) == within:
                    inside, file = call, lines.of[int(behind, 16)][1]
            elif kind == 'ret' and call:
                if call is inside:
                    inside = None
                call = call.caller

    def frames(self, at):
        """Addresses, as a backtrace has them"""
        found, call = [self.pcs[at]], self.call[at]
        while call:
            found.append(call.back)
            call = call.caller
        return found

    def deeper(self, at, call):
        return self.call[at] is not call and self.call[at] and (not call or self.call[at].depth > call.depth)


class Untried(Exception):
    """What GDB itself takes for something else"""


class Rules:
    """Where a command ends"""

    def __init__(self, truth, lines):
        self.truth, self.lines = truth, lines
        self.starts = [at for at in truth.inside if self.starts_line(at)]

    def starts_line(self, at):
        """The begin of a function belongs to who calls it."""
        pc = self.truth.pcs[at]
        return pc == self.line(at).start and pc not in self.lines.functions

    def line(self, at):
        return self.lines.at(self.truth.pcs[at])

    def behind_call(self, at, call):
        while self.truth.deeper(at, call):
            at += 1
        return at

    def forwards(self, at, into):
        """Where another line begins: in this call, in who called, or with `into' in what is called"""
        truth, here, call = self.truth, self.line(at), self.truth.call[at]
        number = here.number
        while True:
            at += 1
            if truth.deeper(at, call):
                if into:
                    start = self.lines.behind_prologue(truth.pcs[at])
                    while truth.pcs[at] != start:
                        at += 1
                    return at
                at = self.behind_call(at, call)
            call = truth.call[at]
            line = self.line(at)
            if line is here:
                continue
            if line.number != number and truth.pcs[at] == line.start:
                return at
            here, number = line, line.number

    def backwards(self, at, into):
        """Where the line begins that was executed before, in this call or in who called; with `into' in
        what has returned, too"""
        truth, call, here, left = self.truth, self.truth.call[at], self.line(at), None
        while True:
            last = here
            at -= 1
            if truth.deeper(at, call) and not into:
                # before the outermost of the calls that have returned
                while truth.deeper(at, call):
                    returned = truth.call[at]
                    at = returned.at
                # GDB 16 takes a call for the one that it came from, if the function is the same
                if left and left.function == returned.function:
                    raise Untried
            if call is not truth.call[at]:
                left = call
            call, here = truth.call[at], self.line(at)
            # a jump alone, of the same line
            jump = here is not last and here.number == last.number
            if self.starts_line(at) and not jump:
                return at


class Client:
    def __init__(self, truth, lines):
        self.truth, self.lines, self.done = truth, lines, {}
        self.rules = Rules(truth, lines)
        self.at = None
        for setting in ('confirm off', 'pagination off', 'width 0', 'remotetimeout 60',
                        'backtrace past-main on'):
            execute('set ' + setting)
        execute('target remote 127.0.0.1:' + os.environ['PORT'])
        if os.environ.get('SCRIPT'):
            execute('source ' + os.environ['SCRIPT'])

    def count(self, what):
        self.done[what] = self.done.get(what, 0) + 1

    def go(self):
        self.at = rng.choice(self.rules.starts)
        execute('monitor goto %d' % (first + self.at))
        execute('maintenance flush register-cache')
        self.check('goto', self.at)

    def position(self):
        return int(re.search(r'instruction (\d+) of', execute('monitor position'))[1]) - first

    def check(self, command, want):
        before, self.at = self.at, want
        pc = int(gdb.parse_and_eval('(unsigned long)$pc')) & (1 << 64) - 1
        at = self.position()
        sal = gdb.newest_frame().find_sal()
        got = (sal.line, sal.symtab.fullname() if sal.symtab else '?')
        if at != want or pc != self.truth.pcs[want]:
            fail('%s from %d, line %d: ends at instruction %d, line %s, GDB is at %d, %x, line %d' % (
                 command, before, self.rules.line(before).number, want, self.lines.of.get(self.truth.pcs[want]),
                 at, pc, got[0]))
        if got != self.lines.of.get(pc):
            fail('%s: instruction %d, %x, is of line %s, GDB shows %s' % (command, at, pc, self.lines.of.get(pc), got))
        self.count(command)

    def backtrace(self):
        """With the script, also in code of the library that is behind: functions are inlined there"""
        end = len(self.truth.pcs) if os.environ.get('SCRIPT') else self.truth.inside[-1]
        at = rng.randrange(self.truth.inside[0], end)
        execute('monitor goto %d' % (first + at))
        execute('maintenance flush register-cache')
        self.check_frames(at)
        self.go()

    def enter_inlined(self):
        """Steps from the line before: GDB is outside first, and then inside without an instruction"""
        for at in range(self.truth.inside[-1] + 1, len(self.truth.pcs)):
            block = gdb.block_for_pc(self.truth.pcs[at])
            if block and block.function and block.function.name == os.environ['INLINED']:
                break
        before = max(i for i in range(at) if self.rules.starts_line(i))
        execute('monitor goto %d' % (first + before))
        execute('maintenance flush register-cache')
        for _ in range(3):
            if gdb.newest_frame().type() == gdb.INLINE_FRAME:
                break
            execute('step')
            self.check_frames(self.position())
        else:
            fail('steps from instruction %d do not lead into the inlined function' % before)
        self.go()

    def check_frames(self, at):
        got, frame = [], gdb.newest_frame()
        while frame:
            if frame.type() == gdb.INLINE_FRAME:
                self.count('inlined')
            else:
                got.append(frame.pc())
            frame = frame.older()
        want = self.truth.frames(at)
        # who called the outermost one is nobody: 0 for GDB
        if got[:len(want)] != want or [pc for pc in got[len(want):] if pc]:
            fail('instruction %d: frames %s, GDB has %s' % (at, list(map(hex, want)), list(map(hex, got))))
        self.count('backtrace')

    def act(self, command):
        rule = self.rules.backwards if command.startswith('reverse') else self.rules.forwards
        try:
            want = rule(self.at, command.endswith('step'))
        except (Untried, IndexError):
            # nor behind the last instruction
            want = len(self.truth.pcs)
        if not self.truth.inside[0] <= want <= self.truth.inside[-1]:
            self.go()
            return
        execute(command)
        self.check(command, want)


def main():
    lines = Lines(os.environ['TABLE'])
    truth = Truth(os.environ['LIST'], lines, os.environ['WITHIN'])
    client = Client(truth, lines)
    client.go()
    client.enter_inlined()
    for _ in range(int(os.environ['COMMANDS'])):
        command = rng.choice(('next', 'step', 'reverse-next', 'reverse-step') * 3 + ('go', 'backtrace'))
        if command == 'go':
            client.go()
        elif command == 'backtrace':
            client.backtrace()
        else:
            client.act(command)
    print('ok: ' + ', '.join('%s %d' % item for item in sorted(client.done.items())))
    gdb.execute('detach')


try:
    main()
except (gdb.error, IndexError, OSError, TypeError) as error:
    fail(repr(error))
