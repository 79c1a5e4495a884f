# SPDX-License-Identifier: GPL-2.0-only
"""Runs inside LLDB 21 or later: random commands, each of which ends where a list of instructions says.

The environment tells: PORT of the server, LIST of the addresses that retired, a line each, how many
COMMANDS, SEED.
"""

import os
import random
import re

import lldb


class Client:
    def __init__(self, debugger):
        self.rng = random.Random(int(os.environ['SEED']))
        self.pcs = [int(line, 16) for line in open(os.environ['LIST']) if line[0] != '#']
        self.debugger = debugger
        self.at = 0
        self.points = {}        # address -> number of the breakpoint
        self.done = {}
        self.execute('gdb-remote 127.0.0.1:' + os.environ['PORT'])

    def execute(self, command):
        if os.environ.get('TRACE'):
            print(self.at, command)
        result = lldb.SBCommandReturnObject()
        target = self.debugger.GetSelectedTarget()
        thread = target.GetProcess().GetSelectedThread()
        context = lldb.SBExecutionContext(thread) if thread else lldb.SBExecutionContext(target)
        self.debugger.GetCommandInterpreter().HandleCommand(command, context, result)
        if not result.Succeeded():
            raise RuntimeError('%s: %s' % (command, result.GetError()))
        return result.GetOutput() or ''

    def check(self, command):
        thread = self.debugger.GetSelectedTarget().GetProcess().GetSelectedThread()
        pc = thread.GetFrameAtIndex(0).GetPC()
        if self.at < len(self.pcs) and pc != self.pcs[self.at]:
            raise RuntimeError('%s: instruction %d is at %x, LLDB is at %x' %
                               (command, self.at, self.pcs[self.at], pc))
        self.done[command] = self.done.get(command, 0) + 1

    def step(self):
        self.execute('thread step-inst')
        self.at = min(len(self.pcs), self.at + 1)
        self.check('step-inst')

    def run(self):
        back = self.rng.random() < 0.5
        self.execute('process continue --reverse' if back else 'process continue --forward')
        end = 0 if back else len(self.pcs)
        while self.at != end:
            self.at += -1 if back else 1
            if self.at < len(self.pcs) and self.pcs[self.at] in self.points:
                break
        self.check('reverse' if back else 'continue')

    def go(self):
        """LLDB notices at the next step that it is elsewhere, unless that ends at the same address."""
        was = self.pcs[min(self.at, len(self.pcs) - 1)]
        self.at = self.rng.randrange(len(self.pcs) - 1)
        if self.pcs[self.at + 1] == was:
            self.at = 0
        self.execute('process plugin packet monitor goto %d' % self.at)
        self.step()

    def point(self):
        if self.points and self.rng.random() < 0.4:
            pc = self.rng.choice(sorted(self.points))
            self.execute('breakpoint delete %d' % self.points.pop(pc))
            return
        pc = self.rng.choice(self.pcs)
        if pc not in self.points and len(self.points) < 30:
            said = self.execute('breakpoint set --address %#x' % pc)
            self.points[pc] = int(re.search(r'Breakpoint (\d+)', said).group(1))


def __lldb_init_module(debugger, unused):
    debugger.SetAsync(False)
    client = Client(debugger)
    actions = [client.step] * 8 + [client.run] * 8 + [client.go] * 2 + [client.point] * 3
    for _ in range(int(os.environ['COMMANDS'])):
        client.rng.choice(actions)()
    print('ok: ' + ', '.join('%s %d' % item for item in sorted(client.done.items())))
