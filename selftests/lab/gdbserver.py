# SPDX-License-Identifier: GPL-2.0-only
"""Runs inside GDB: random commands, each of which ends where a list of instructions says.

The environment tells: PORT of the server, LIST of the addresses that retired, a line each, how many
COMMANDS, SEED; SOURCE_LINES: those of addr2line for each distinct address, for steps by line.
"""

import os
import random
import sys

import gdb

rng = random.Random(int(os.environ['SEED']))
pcs = [int(line, 16) for line in open(os.environ['LIST']) if line[0] != '#']
lines = {}
if os.environ.get('SOURCE_LINES'):
    for text in open(os.environ['SOURCE_LINES']):
        pc, line = text.split()
        lines[int(pc, 16)] = line


def fail(what):
    print('not ok: ' + what)
    gdb.execute('kill')
    sys.stdout.flush()
    os._exit(1)


def execute(command):
    said = gdb.execute(command, to_string=True)
    if os.environ.get('TRACE'):
        print(command, '->', said)
    return said


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


def main():
    client = Client()
    actions = ([client.step] * 8 + [client.run] * 4 + [client.go] * 2 + [client.point] * 3 +
               [client.history] * (1 if os.environ.get('BTRACE') else 0))
    for _ in range(int(os.environ['COMMANDS'])):
        rng.choice(actions)()
    print('ok: ' + ', '.join('%s %d' % item for item in sorted(client.done.items())))
    gdb.execute('detach')


try:
    main()
except gdb.error as error:
    fail(str(error))
