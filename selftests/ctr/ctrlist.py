#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Print what ctrrun is to do: ctrlist.py all|cpu SEED NUMBER

Lines "CTRCTL DEPTH WHAT". All: each thing in user mode, in the kernel, in both; each
filter alone; each depth; RAS emulation; external traps; then NUMBER at random. Cpu:
NUMBER at random, for all that a CPU does.
"""
import random
import sys

U, S, RASEMU, STE, BPFRZ, LCOFIFRZ = 1, 2, 1 << 7, 1 << 8, 1 << 11, 1 << 12
FILTERS = [1 << bit for bit in (33, 34, 35, 36, 37, 40, 41, 42, 43, 44, 45, 46, 47)]
DEPTHS = (16, 32, 64, 128, 256)
THINGS = "calls types syscalls faults signals away break longjmp deep migrate sleep mixed".split()


def fixed():
    for modes in (U, S, U | S):
        for thing in THINGS:
            yield modes, 256, thing
    for filter in FILTERS:
        yield U | S | filter, 64, "mixed"
    for depth in DEPTHS:
        yield U | S, depth, "mixed"
        yield U | RASEMU, depth, "deep"
    for modes in (U, U | S):
        for thing in THINGS:
            yield modes | RASEMU, 256, thing
    for thing in ("syscalls", "faults", "signals", "away"):
        yield U | STE, 256, thing
        yield U | STE | FILTERS[0] | FILTERS[1], 64, thing
    yield U | BPFRZ, 256, "break"
    yield U | S | BPFRZ, 256, "break"
    # interrupts: only they leave records of a busy loop
    yield U | STE | 1 << 37, 16, "tick"
    yield U | S | sum(FILTERS) - (1 << 34) - (1 << 36), 16, "tick"
    yield U, 64, "next"
    # a switch of tasks leaves a section out: more than one fills the deepest buffer
    for _ in range(2):
        yield U | S, 128, "mixed"


def at_random(n):
    for _ in range(n):
        ctl = random.choice((U, S, U | S))
        for bit, odds in [(RASEMU, .2), (STE, .4), (BPFRZ, .3), (LCOFIFRZ, .3)] + \
                [(f, .3) for f in FILTERS]:
            if random.random() < odds:
                ctl |= bit
        yield ctl, random.choice(DEPTHS), random.choice(THINGS)


def main():
    random.seed(sys.argv[2])
    lines = list(fixed()) if sys.argv[1] == "all" else []
    lines += at_random(int(sys.argv[3]))
    for ctl, depth, thing in lines:
        print(f"{ctl:#x} {depth} {thing}")


main()
