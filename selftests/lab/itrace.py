#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Rebuild call chains and branch stacks from the branches of a `perf script -F
cpu,tid,event,ip,addr,flags,insnlen,brstack`, and compare with those of the other
samples in it: itrace.py STACKSIZE CHAINSIZE
instructions|other|kernel <SCRIPT, the last being the samples that there must be: the trace's, of
another event in user space, or of another event in a trace of the kernel. Knows nothing of how
perf does it."""

import re
import sys

TYPES = {
    "jcc": {"COND"}, "jmp": {"UNCOND", "IND"}, "call": {"CALL", "IND_CALL"}, "return": {"RET"},
    "hw int": {"IRQ"}, "int": {""}, "syscall": {"SYSCALL"}, "sysret": {"SYSRET"},
    "iret": {"ERET"}, "tr strt": {""}, "tr end": {""}, "tr end syscall": {"SYSCALL"},
}
HEADER = re.compile(r"\s*(\d+) \[(\d+)\]\s+(\S+?):\S*\s+(.*)")
ERROR = re.compile(r" instruction trace error .* cpu (\d+) pid \d+ tid (\d+)")
# of a log among the samples, which AUX area samples want: --itrace=d+o-a
LOG = re.compile(r"  [0-9a-f]{8}: |    (start|stop|context|loss|notice|-?\d+:) ")

stack_size, chain_size = int(sys.argv[1]), int(sys.argv[2])


class Task:
    def __init__(self):
        self.last = []          # (from, to, flags), the newest at the end
        self.calls = []         # return addresses, the innermost at the end
        self.ip = 0             # trace is at least there
        self.pending = []       # samples that the next branch has to be behind


tasks = {}
counts = {"instructions": 0, "other": 0, "kernel": 0, "late": 0, "entries": 0, "deep": 0, "branches": 0, "errors": 0}
bad = 0


def wrong(line, what, expected, found):
    global bad
    bad += 1
    if bad <= 8:
        print(f"# line {line}: {what}: expected {expected}, found {found}")


def on_branch(number, task, rest):
    m = re.match(r"(.*?)\s+([0-9a-f]+) =>\s+([0-9a-f]+)(?: ilen: (\d+))?", rest)
    flags, source, target = " ".join(m[1].split()), int(m[2], 16), int(m[3], 16)
    counts["branches"] += 1
    for ip in task.pending:
        if source < ip:
            wrong(number, "a branch behind a sample at", hex(ip), hex(source))
    task.pending = []
    before = task.last[-1] if task.last else (0, 0, "")
    joined = flags == "tr strt" and before[2].startswith("tr end") and \
        target - before[0] in (0, 4 if before[2] == "tr end syscall" else 0)
    task.last = task.last[-2000:] + [(source, target, flags)]
    task.ip = target
    if flags == "call" and source + int(m[4]) != target:
        task.calls.append(source + int(m[4]))
    elif flags in ("int", "hw int"):
        task.calls.append(source)
    elif flags == "syscall":
        task.calls.append(source + 4)
    elif flags in ("return", "iret", "sysret", "tr strt") and not joined and target in task.calls:
        # trace can begin behind a return, too, unless it goes on where it ended
        while task.calls.pop() != target:
            pass


def compare(number, event, calls, chain, last, stack):
    if chain != calls[:len(chain)] or len(chain) < min(len(calls), chain_size - 2):
        wrong(number, f"{event} chain", [hex(x) for x in calls], [hex(x) for x in chain])
    if [e[:2] for e in last] != [e[:2] for e in stack]:
        wrong(number, f"{event} branch stack", last, stack)
    for want, got in zip(last, stack):
        if got[3] not in TYPES[want[2]] or got[2] != "P":
            wrong(number, f"type of {want[0]:#x}, {want[2]}", TYPES[want[2]], got[2:])
    counts["entries"] += len(stack)
    counts["deep"] += len(chain) > 4


def on_kernel_sample(number, task, event, chain, stack):
    """The interrupt that the sample is from is in the trace, and everything up to the sample."""
    ip = chain[0]
    traps = [i for i, e in enumerate(task.last) if e[2] == "hw int" and e[0] == ip]
    calls = [i for i, addr in enumerate(task.calls) if addr == ip]
    if not traps or not calls:
        # What is not known cannot be compared, but nothing calls itself from where it was sampled.
        counts["late"] += 1
        if len(chain) > 1 and chain[1] == ip:
            wrong(number, f"{event} chain", "the leaf once", [hex(x) for x in chain])
        return
    compare(number, event, [ip] + task.calls[:calls[-1]][::-1], chain,
            task.last[:traps[-1]][:-stack_size - 1:-1], stack)
    counts["kernel"] += 1


def on_sample(number, task, event, chain, stack):
    if not chain:
        wrong(number, event, "a call chain", "none")
        return
    if sys.argv[3] == "kernel":
        on_kernel_sample(number, task, event, chain, stack)
        return
    other, last = event != "instructions", task.last
    ended = other and last and last[-1][2].startswith("tr end")
    if ended:
        # The trap that the sample is from is not among what was before it. The driver waits for
        # the newest trace, but not for ever: on a busy host some samples are without.
        if last[-1][0] != chain[0]:
            counts["late"] += 1
            return
        last = last[:-1]
    else:
        if last and chain[0] < task.ip:
            wrong(number, "ip", f"at least {task.ip:#x}", hex(chain[0]))
        # What is sampled has gaps behind the samples.
        if last and not other:
            task.pending.append(chain[0])
    compare(number, event, [chain[0]] + task.calls[::-1], chain, last[:-stack_size - 1:-1], stack)
    counts["other" if other else "instructions"] += 1


sample, gaps = None, set()


def finish():
    global sample
    if sample:
        on_sample(*sample)
    sample = None


for number, line in enumerate(sys.stdin, 1):
    line = line.rstrip("\n")
    m = ERROR.match(line)
    if m:
        finish()
        counts["errors"] += 1
        tasks.pop((int(m[2]), 0), None)
        gaps.add(int(m[1]))
        continue
    if line.startswith("window "):
        # an AUX area sample, and before it a gap
        finish()
        tasks.clear()
        continue
    if LOG.match(line):
        continue
    m = HEADER.match(line)
    if m:
        finish()
        tid, cpu = int(m[1]), int(m[2])
        if cpu in gaps:
            # up to now whatever ran there is not known; it may have been anyone
            gaps.remove(cpu)
            tasks.clear()
        task = tasks.setdefault((tid, 0 if tid else cpu), Task())
        if m[3] == "branches":
            on_branch(number, task, m[4])
        elif m[3] == "instructions" or sys.argv[3] != "instructions":
            sample = (number, task, m[3], [], [])
        continue
    if sample and re.fullmatch(r"\s+[0-9a-f]+\s*", line):
        sample[3].append(int(line, 16))
    elif sample:
        for entry in line.split():
            if entry.startswith("0x"):
                part = entry.split("/")
                sample[4].append((int(part[0], 16), int(part[1], 16), part[2], part[6]))
finish()
print(", ".join(f"{v} {k}" for k, v in counts.items()) + f", {bad} wrong")
sys.exit(bad > 0 or 20 * counts["late"] > counts["other"] > 0 or not counts[sys.argv[3]] or not counts["deep"] or not counts["entries"])
