# SPDX-License-Identifier: GPL-2.0-only
"""A random kernel that is patched while it runs: patched.py SEED NAME [flat | syncs]

NAME.data is a recording with two copies of a program's text, which differ in some instructions.
Each stretch of trace ran in one of them. NAME.want has each taken transfer: FROM TO.

"flat": the encoder has no return stack, with which returns from functions that were called before
patched code can be mistaken, see nt-session-doubt.c. "syncs": the encoder also sends sync messages
again and again, some of which lack outcomes of branches.
"""
import os
import random
import shutil
import subprocess
import sys

from records import Recording, stretch

BASE = 0xffffffff80001000
# options of encode, mode and features of the recording
FORMS = [(('htm',), 6, 0), (('htm', 'retstack=3'), 6, 1 << 3 | 3 << 6),
         (('htm', 'alljumps'), 6, 1 << 9), (('btm',), 3, 0)]


def slot(n):
    return BASE + 4 * n


def instruction(n, size):
    """Jumps lead forward, mostly, so that paths do not stay in one loop."""
    kind = random.choices(('nop', 'skip', 'jump', 'call', 'ret'), (60, 15, 10, 6, 3))[0]
    if kind in ('jump', 'call'):
        to = random.randrange(size) if random.random() < .1 else \
            min(n + 1 + random.randrange(20), size - 1)
        return (kind, to)
    return (kind, None)


def make_texts(size):
    start = [instruction(n, size) for n in range(size - 1)] + [('ret', None)]
    end = list(start)
    for n in random.sample(range(size - 1), random.randint(1, min(8, size - 1))):
        while end[n] == start[n]:
            end[n] = instruction(n, size)
    return {'start': start, 'end': end}


def write_text(name, text):
    lines = ['%x first' % BASE]
    for kind, to in text:
        lines.append(kind if to is None else '%s %x' % (kind, slot(to)))
    with open(name, 'wb') as f:
        subprocess.run(['./callprog'], input='\n'.join(lines).encode(), stdout=f, check=True)


def run(text, length):
    """The slots of a path, and where it continues"""
    at, path, calls = random.randrange(len(text)), [], []
    while len(path) < length:
        kind, to = text[at]
        path.append(at)
        if kind == 'call':
            calls.append(at + 1)
        if kind == 'ret':
            at = calls.pop() if calls else random.randrange(len(text))
        elif to is not None:
            at = to
        else:
            at += 2 if kind == 'skip' and at + 2 < len(text) and random.random() < .5 else 1
    return path, at


def main(name, kind):
    options, mode, features = random.choice(FORMS[:1] + FORMS[2:] if kind else FORMS)
    if kind == 'syncs':
        options += ('syncmode=%d' % random.randint(1, 3), 'syncmax=%d' % random.randint(0, 4))
    texts = make_texts(random.choice((10, 40, 200)))
    trace, want, time = b'', [], 1000
    for copy, text in texts.items():
        write_text(name + '.' + copy, text)
    for _ in range(random.randint(2, 10)):
        copy = random.choice(('start', 'end'))
        path, stop = run(texts[copy], random.choice((5, 50, 500, 3000)))
        trace += stretch(name + '.' + copy, 100, time, ['%x' % slot(n) for n in path], time + 600,
                         '%x' % slot(stop), prv=1, options=options)
        want += ['%x %x' % (slot(a), slot(b)) for a, b in zip(path, path[1:] + [stop])
                 if b != a + 1 or texts[copy][a][0] in ('jump', 'call', 'ret')]
        time += 1000
    r = Recording()
    r.fork(100, 100, 10)
    r.comm(100, 100, 'prog', 11)
    r.trace(trace, time + 10000, mode=mode, features=features)
    r.write(name)
    shutil.rmtree(name + '.data', ignore_errors=True)
    for copy, folder in ('start', 'kcore_dir'), ('end', 'kcore_dir__4294967295'):
        os.makedirs(name + '.data/' + folder)
        shutil.copy(name + '.' + copy, name + '.data/' + folder + '/kcore')
    os.rename(name, name + '.data/data')
    with open(name + '.data/kcore_dir/kallsyms', 'w') as f:
        f.write('%x t first\n' % BASE)
    with open(name + '.want', 'w') as f:
        f.write(''.join(line + '\n' for line in want))


random.seed(int(sys.argv[1]))
main(sys.argv[2], sys.argv[3] if sys.argv[3:] else '')
