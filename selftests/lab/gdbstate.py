# SPDX-License-Identifier: GPL-2.0-only
"""Runs inside GDB: frames, variables and watchpoints of a recording with registers and memory.

The environment tells: POSITIONS, where to look, numbers of instructions in ascending order; SAID,
a file. With STUB, a machine's that executes the program step by step, what GDB says of frames and
variables there is written into SAID. With PORT of the server, the same is said of the recording; and
watchpoints stop where DUMP, as ntrace tv dump prints it, has an access. WITHIN: first and last
instruction of what is watched.
"""

import json
import os
import re
import sys

import gdb

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from gdbshared import execute, fail  # noqa: E402

positions = [int(text) for text in os.environ['POSITIONS'].split()]
WATCHED = ['checksum', 'delivered', 'shelf', 'bytes[7]', 'parcels[2].weight', 'parcels[1].label']


def look():
    execute('maintenance flush register-cache')
    execute('maintenance flush dcache')
    return execute('backtrace -full').splitlines()


# ------------------------------------------------------------- frames, variables

def step_through():
    """What GDB says of the machine itself"""
    execute('target remote ' + os.environ['STUB'])
    found, at = [], 0
    for position in positions:
        for _ in range(at, position):
            execute('maintenance packet s')
        at = position
        found.append(look())
    with open(os.environ['SAID'], 'w') as file:
        json.dump(found, file)
    return '%d instructions, %d positions' % (at, len(found))


def is_unknown(line):
    return 'Cannot access memory' in line or '<unavailable>' in line


def compare():
    lines = unknown = deepest = 0
    for position, want in zip(positions, json.load(open(os.environ['SAID']))):
        execute('monitor goto %d' % position)
        got = look()
        if len(got) != len(want):
            fail('instruction %d: %s, the recording has %s' % (position, want, got))
        for ours, theirs in zip(got, want):
            # what nobody wrote is something in a machine, and nothing in a recording
            unknown += is_unknown(ours)
            if ours != theirs and not is_unknown(ours):
                fail('instruction %d: `%s\', the recording has `%s\'' % (position, theirs, ours))
        lines += len(got)
        deepest = max(deepest, sum(line.startswith('#') for line in got))
    return '%d positions, %d lines of frames and variables, %d of them not known, up to %d frames' % (
        len(positions), lines, unknown, deepest)


# -------------------------------------------------------------------- watchpoints

class Access:
    def __init__(self, at, addr, value, size):
        self.at, self.addr, self.value, self.size = at, addr, value, size     # size 0: reads


def accesses(path):
    """Of the recording, by a command that knows nothing of GDB"""
    found, at = [], 0
    for text in open(path):
        if ' insn=' not in text:
            continue
        addr = re.search(r' paddr=([0-9a-f]+)', text)
        store = re.search(r' store(\d+)=([0-9a-f]+)', text)
        if addr:
            size = int(store[1]) // 8 if store else 0
            found.append(Access(at, int(addr[1], 16), int(store[2], 16) if store else 0, size))
        at += 1
    return found


def stops(all_accesses, addr, size, kind):
    """Instructions where a watchpoint of a kind stops: one for writes does if they change something"""
    memory, found = {}, []
    for a in all_accesses:
        if not addr <= a.addr < addr + size:
            continue
        new = a.value.to_bytes(8, 'little')[:a.size]
        changes = any(memory.get(a.addr + i) != byte for i, byte in enumerate(new))
        memory.update({a.addr + i: byte for i, byte in enumerate(new)})
        if kind == 'awatch' or (changes if kind == 'watch' else not a.size):
            found.append(a.at)
    return found


def position():
    return int(re.search(r'instruction (\d+) of', execute('monitor position'))[1])


def watch(all_accesses, first, last, expression, kind):
    """All stops, in both directions, between the first instruction and the last"""
    execute('monitor goto %d' % last)
    execute('maintenance flush register-cache')
    execute('maintenance flush dcache')
    addr = int(gdb.parse_and_eval('(unsigned long)&(%s)' % expression))
    size = gdb.parse_and_eval(expression).type.sizeof
    execute('%s -l %s' % (kind, expression))
    want = [at for at in stops(all_accesses, addr, size, kind) if first <= at < last]
    got = []
    while len(got) < len(want):
        execute('reverse-continue')
        got.append(position())
    if got != want[::-1]:
        fail('%s %s, backwards: stops at %s, GDB at %s' % (kind, expression, want[::-1], got))
    # GDB is in front of the first of them now, having undone it
    for at in want:
        execute('continue')
        if position() != at + 1:
            fail('%s %s, forwards: stops behind %d, GDB at %d' % (kind, expression, at, position()))
    execute('delete')
    return len(want) * 2


def watch_all():
    first, last = map(int, os.environ['WITHIN'].split())
    all_accesses = accesses(os.environ['DUMP'])
    n = 0
    for expression in WATCHED:
        for kind in ('watch', 'awatch', 'rwatch'):
            n += watch(all_accesses, first, last, expression, kind)
    return '%d stops at watchpoints' % n


def main():
    for setting in ('confirm off', 'pagination off', 'width 0', 'remotetimeout 60'):
        execute('set ' + setting)
    if os.environ.get('STUB'):
        print('ok: ' + step_through())
        gdb.execute('detach')
        return
    execute('target remote 127.0.0.1:' + os.environ['PORT'])
    print('ok: %s; %s' % (compare(), watch_all()))
    gdb.execute('detach')


try:
    main()
except (gdb.error, LookupError, OSError, TypeError, ValueError) as error:
    fail(repr(error))
