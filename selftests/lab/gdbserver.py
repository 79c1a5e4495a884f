# SPDX-License-Identifier: GPL-2.0-only
"""Runs inside GDB: random commands, each of which ends where a list of instructions says.

The environment tells: PORT of the server, LIST of the addresses that retired, a line each, how many
COMMANDS, SEED; BTRACE: how many instructions record btrace reads; SCRIPT and CODE: ntrace-gdb.py, and
of each instruction address, length, call, ret or -, and begin if a function begins there.
"""

import functools
import os
import random
import sys

import gdb

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from gdbshared import execute, fail  # noqa: E402

rng = random.Random(int(os.environ['SEED']))
pcs = [int(line, 16) for line in open(os.environ['LIST']) if line[0] != '#']


class Client:
    def __init__(self):
        for setting in ('confirm off', 'pagination off', 'width 0', 'remotetimeout 60'):
            execute('set ' + setting)
        execute('target remote 127.0.0.1:' + os.environ['PORT'])
        self.at = 0
        self.points = {}        # address -> breakpoint
        self.done = {}

    def check(self, command):
        pc = int(gdb.parse_and_eval('(unsigned long)$pc')) & (1 << 64) - 1
        if self.at < len(pcs) and pc != pcs[self.at]:
            fail('%s: instruction %d is at %x, GDB is at %x' % (command, self.at, pcs[self.at], pc))
        self.done[command.split()[0]] = self.done.get(command.split()[0], 0) + 1

    def step(self):
        back = rng.random() < 0.5
        n = rng.choice((1, 1, 1, 2, 7, 30))
        execute('%s %d' % ('reverse-stepi' if back else 'stepi', n))
        # a breakpoint ends a longer one
        for _ in range(n):
            self.at = max(0, self.at - 1) if back else min(len(pcs), self.at + 1)
            if self.at < len(pcs) and pcs[self.at] in self.points and n > 1:
                break
        self.check('reverse-stepi' if back else 'stepi')

    def run(self):
        back = rng.random() < 0.5
        execute('reverse-continue' if back else 'continue')
        end = 0 if back else len(pcs)
        while self.at != end:
            self.at += -1 if back else 1
            if self.at < len(pcs) and pcs[self.at] in self.points:
                break
        self.check('reverse-continue' if back else 'continue')

    def go(self):
        self.at = rng.randrange(len(pcs))
        execute('monitor goto %d' % self.at)
        execute('maintenance flush register-cache')
        self.check('goto')

    def point(self):
        if self.points and rng.random() < 0.4:
            self.points.pop(rng.choice(sorted(self.points))).delete()
            return
        pc = rng.choice(pcs)
        if pc not in self.points and len(self.points) < 30:
            self.points[pc] = gdb.Breakpoint('*%#x' % pc)

    def history(self):
        """What record btrace has is what was executed before."""
        execute('record btrace bts')
        execute('info record')
        record = gdb.current_recording()
        got = [i.pc for i in record.instruction_history] if self.at else []
        size = min(self.at, int(os.environ.get('BTRACE', '2000')))
        if self.at and got[:size] != pcs[self.at - size:self.at]:
            fail('record btrace: %d instructions before %d are others' % (size, self.at))
        execute('record stop')
        self.check('record')


class Frames:
    """Steps over calls and out of them, against calls and returns in the list"""

    def __init__(self, client):
        self.client = client
        self.code = {}
        self.begins = set()
        for text in open(os.environ['CODE']):
            pc, size, kind, *begin = text.split()
            self.code[int(pc, 16)] = (int(size), kind)
            if begin:
                self.begins.add(int(pc, 16))
        self.stacks = []        # before each instruction: (return address, rest) or None
        self.called = []        # the instruction that called, of each, or None
        stack = None
        for at, pc in enumerate(pcs):
            self.stacks.append(stack)
            size, kind = self.code[pc]
            behind = pcs[at + 1] if at + 1 < len(pcs) else None
            if kind == 'call' and behind != pc + size:
                stack = (pc + size, stack, at)
            elif kind == 'ret' and stack:
                if stack[0] != behind and behind is not None:
                    fail('instruction %d returns to %x, not %x' % (at, behind, stack[0]))
                stack = stack[1]
        execute('source ' + os.environ['SCRIPT'])

    def go(self):
        self.client.at = rng.randrange(len(pcs))
        execute('ntrace goto %d' % self.client.at)
        self.client.check('ntrace')

    def act(self, action):
        # behind the last instruction GDB is at the last one still
        if self.client.at >= len(pcs):
            self.go()
        action()

    def backtrace(self):
        want, stack = [pcs[self.client.at]], self.stacks[self.client.at]
        while stack:
            want.append(stack[0])
            stack = stack[1]
        got, frame = [], gdb.newest_frame()
        while frame and len(got) <= len(want):
            got.append(frame.pc())
            frame = frame.older()
        # GDB shows who called the outermost one as 0, unless it knows that as the program's begin.
        if got[-1] == 0:
            got.pop()
        if got != want:
            fail('instruction %d: frames %s, GDB has %s' % (self.client.at, list(map(hex, want)), list(map(hex, got))))
        self.client.check('backtrace')

    def returns(self, at, stack):
        """The first instruction from AT on where the stack is this one"""
        while at < len(pcs) and self.stacks[at] is not stack:
            at += 1
        return at

    def nexti(self):
        at = self.client.at
        execute('nexti')
        self.client.at = self.returns(at + 1, self.stacks[at]) if self.code[pcs[at]][1] == 'call' else at + 1
        self.client.check('nexti')

    def reverse_nexti(self):
        at = self.client.at
        if not at:
            return
        execute('reverse-nexti')
        before = self.stacks[at - 1]
        returned = before and before is not self.stacks[at] and before[1] is self.stacks[at]
        self.client.at = before[2] if returned else at - 1
        self.client.check('reverse-nexti')

    def finish(self):
        at = self.client.at
        if not self.stacks[at]:
            return
        execute('finish')
        self.client.at = self.returns(at, self.stacks[at][1])
        self.client.check('finish')

    def reverse_finish(self):
        """GDB goes back to where the function began last, though that may be a call of it by itself."""
        at = self.client.at
        if not self.stacks[at]:
            return
        begin = max((b for b in self.begins if b <= pcs[at]), default=None)
        execute('reverse-finish')
        if pcs[at] != begin:
            at -= 1
            while at and pcs[at] != begin:
                at -= 1
        self.client.at = max(0, at - 1)
        self.client.check('reverse-finish')

    def actions(self):
        actions = ([self.nexti, self.reverse_nexti, self.backtrace] * 4 +
                   [self.finish, self.reverse_finish, self.go, self.client.step] * 2)
        return [functools.partial(self.act, action) for action in actions]


def main():
    client = Client()
    actions = ([client.step] * 8 + [client.run] * 4 + [client.go] * 2 + [client.point] * 3 +
               [client.history] * (1 if os.environ.get('BTRACE') else 0))
    if os.environ.get('SCRIPT'):
        actions = Frames(client).actions()
    for _ in range(int(os.environ['COMMANDS'])):
        rng.choice(actions)()
    print('ok: ' + ', '.join('%s %d' % item for item in sorted(client.done.items())))
    gdb.execute('detach')


try:
    main()
except gdb.error as error:
    fail(str(error))
