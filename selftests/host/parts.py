# SPDX-License-Identifier: GPL-2.0-only
"""A random recording: parts.py SEED FILE [intact]

Threads of three processes run a loop of one of two programs on three CPUs. They move between CPUs,
pause, end, and are followed by others with their numbers. At the start of the function, one thread
may be followed by another without a stop, as in the kernel's switch. Each CPU's trace has many
windows. In some of them trace is lost, a byte is wrong (unless it is to be intact), or messages have
no times.
"""
import random
import sys

from records import Recording, encode, without_stamps

LOOP = [0x10000, 0x10004, 0x10100, 0x10104, 0x10108, 0x10008]
SWITCH = 2	# where threads follow each other
PROGRAMS = [('one.elf', 0), ('high.elf', 0x10000)]
CPUS = 3
END = 60000000


class Thread:
    def __init__(self, pid, tid, program):
        self.pid, self.tid, self.program = pid, tid, program
        self.at, self.free, self.waits = SWITCH, 0, True	# waits: no stop was traced

    def pc(self):
        return LOOP[self.at % 6] + PROGRAMS[self.program][1]

    def run(self, number):
        lines = []
        for _ in range(number):
            lines.append('%x' % self.pc())
            self.at += 1
        return lines

    def context(self):
        return '# context PRV=0 V=0 scontext=%x' % self.tid


class Cpu:
    def __init__(self, number):
        self.number, self.time, self.lines, self.windows, self.last = number, 1000, [], [], None

    def close(self, rnd, without, intact):
        """Ends the window"""
        if not self.lines:
            return
        self.time += 10
        data = encode('one.elf', self.lines, ('htm', 'elf=high.elf'))
        kind = rnd.random()
        if kind < 0.1:
            at = rnd.choice([0, 4, rnd.randrange(len(data))])
            wrong = data[:at] + bytes([data[at] ^ 1 << rnd.randrange(8)]) + data[at + 1:]
            data = data if intact else wrong
        elif kind < without:
            data = without_stamps(data, rnd.choice([0, 40]))
        flags = rnd.choice([0, 0, 0, 0, 0, 1, 4])
        self.windows.append((data, self.time, self.last.tid, flags))
        self.lines = []

    def run(self, rnd, thread):
        for _ in range(rnd.randint(1, 12)):
            self.lines += thread.run(rnd.choice([1, 10, 100, 300]) + rnd.randint(0, 6))
            self.time += rnd.choice([10, 100, 1000, 20000, 200000])
            self.lines.append('# time %d' % self.time)

    def switch(self, thread, threads, rnd):
        """Another thread that waits, or is new, runs from here on."""
        others = [t for t in threads if t.waits and t.free <= self.time and
                  t.program == thread.program and t is not thread]
        if not others or rnd.random() < 0.4:
            return None
        self.lines += thread.run((SWITCH - thread.at) % 6 + 6)
        self.time += 10
        self.lines.append('# time %d' % self.time)
        thread.waits, thread.free = True, self.time + 1
        thread = rnd.choice(others)
        thread.waits = False
        self.lines.append(thread.context())
        return thread

    def stretch(self, rnd, thread, threads):
        """Runs the thread, and perhaps others after it, up to a stop"""
        self.lines += ['# time %d' % self.time, '# start %x SYNC=5' % thread.pc(), thread.context()]
        thread.waits = False
        self.run(rnd, thread)
        while other := self.switch(thread, threads, rnd):
            thread = other
            self.run(rnd, thread)
        self.lines.append('# stop %x EVCODE=4' % thread.pc())
        self.last = thread
        thread.free = self.time + 1
        if rnd.random() < 0.3:
            thread.at += rnd.choice([1, 7])


def start(r, rnd, threads, tid, time):
    program = rnd.randrange(2)
    elf, moved = PROGRAMS[program]
    r.start('prog', elf, tid, time)
    threads.append(Thread(tid, tid, program))
    return threads[-1]


def live(r, rnd, threads, cpu, next_pid):
    """Ends a thread and starts another one; perhaps with the same number"""
    old = rnd.choice(threads)
    if any(t.pid == old.tid != t.tid for t in threads):
        return next_pid
    if old.free > cpu.time or rnd.random() > 0.2:
        return next_pid
    threads.remove(old)
    r.exit(old.pid, old.tid, cpu.time)
    cpu.time += rnd.choice([20, 20, 11000000])
    if rnd.random() < 0.5:
        new = start(r, rnd, threads, old.tid, cpu.time)
    else:
        new = start(r, rnd, threads, next_pid, cpu.time)
        next_pid += 1
    new.free = cpu.time = cpu.time + 30
    return next_pid


def main(seed, name, intact=False):
    rnd = random.Random(seed)
    r = Recording(cpus=CPUS)
    threads, cpus, next_pid = [], [Cpu(i) for i in range(CPUS)], 200
    for pid in range(100, 103):
        first = start(r, rnd, threads, pid, 10 + pid)
        for tid in (pid + 10, pid + 20):
            r.fork(pid, tid, 500, pid)
            threads.append(Thread(pid, tid, first.program))
    end = rnd.choice([END // 30, END // 3, END])
    without = rnd.choice([0.1, 0.2, 0.9])
    pauses = rnd.choice([[100, 10000], [100, 10000, 1000000, 12000000]])
    while True:
        cpu = min(cpus, key=lambda c: c.time)
        if cpu.time > end:
            break
        ready = [t for t in threads if t.free <= cpu.time and (not t.waits or t.at == SWITCH)]
        if cpu.last in ready and rnd.random() < 0.5:
            ready = [cpu.last]
        if not ready or rnd.random() < 0.1:
            cpu.time += rnd.choice(pauses)
            continue
        thread = rnd.choice(ready)
        cpu.time += rnd.choice([10, 1000, 30000])
        cpu.stretch(rnd, thread, threads)
        if rnd.random() < 0.3:
            cpu.close(rnd, without, intact)
        next_pid = live(r, rnd, threads, cpu, next_pid)
    for cpu in cpus:
        cpu.close(rnd, without, intact)
        r.windows(cpu.number, cpu.windows)
    r.write(name)


main(int(sys.argv[1]), *sys.argv[2:])
