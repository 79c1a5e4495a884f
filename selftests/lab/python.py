# SPDX-License-Identifier: GPL-2.0-only
"""What scripts get of a trace, against what perf script prints with the same --itrace:

    perf script -s python.py calls TEXT    database export, branches and calls
    perf script -s python.py chains TEXT    database export, samples with call chains
    perf script -s python.py plain TEXT    process_event, also branch stacks

TEXT is of -F comm,tid,cpu,event,ip,addr,flags,insnlen for calls, for the others of -F
comm,tid,cpu,event,ip,sym,brstack, with --show-switch-events and --show-task-events. Calls
are paired by the addresses behind them, without a look at how perf does it. The last line
begins with "right" if all is the same."""

import re
import sys
from collections import Counter

mode, text = sys.argv[1], sys.argv[2]
perf_db_export_mode = mode != "plain"
perf_db_export_calls = mode == "calls"
perf_db_export_callchains = mode == "chains"

SYSCALL, INTERRUPT, TRACE_END = 1 << 4, 1 << 6, 1 << 9     # PERF_IP_FLAG_*
NO_CALL, NO_RETURN, NON_CALL = 1, 2, 4                     # CALL_RETURN_*

SAMPLE = re.compile(r"\s*(.*?)\s+(-?\d+) \[(\d+)\]\s+(\S+?):\S*\s*(.*)")
BRANCH = re.compile(r"(.*?)\s*([0-9a-f]+) =>\s+([0-9a-f]+)(?: ilen: (\d+))?")
FRAME = re.compile(r"\t\s*([0-9a-f]+) (.*)")
ENTRY = re.compile(r"0x([0-9a-f]+)/0x([0-9a-f]+)/")
EXEC = re.compile(r".* PERF_RECORD_COMM exec: .*:\d+/(\d+)$")
ERROR = re.compile(r" instruction trace error .* tid (-?\d+) ip \S+ code (\d+): (.*)")

threads, symbols, comms, events, paths = {}, {}, {}, {}, {}
samples, calls, errors = [], [], []
switches = 0
bad = 0


def differ(what, expected, found):
    global bad
    bad += 1
    if bad <= 8:
        print(f"# {what}: expected {expected}, found {found}")


# --- what perf hands over -------------------------------------------------------------

def evsel_table(number, name, *_):
    events[number] = name.split(":")[0]


def thread_table(number, machine, process, pid, tid, *_):
    threads[number] = tid


def comm_table(number, comm, thread, *_):
    comms[number] = comm


def symbol_table(number, dso, start, end, binding, name, *_):
    symbols[number] = name.split("\0")[0].strip()


def sample_table(*x):
    samples.append({"event": events[x[1]], "tid": threads[x[3]], "sym": x[6], "ip": x[8] % 2**64,
                    "cpu": x[10], "to_sym": x[12], "addr": x[14] % 2**64, "path": x[21],
                    "flags": x[24], "comm": comms[x[4]]})


def call_path_table(number, parent, symbol, ip, *_):
    paths[number] = parent, symbol, ip


def call_return_table(number, thread, comm, path, *x):
    calls.append({"tid": threads[thread], "path": path, "branches": x[2], "call": x[3],
                  "return": x[4], "flags": x[6]})


def auxtrace_error(kind, code, cpu, pid, tid, ip, time, msg, *_):
    errors.append((tid, code, msg))


def context_switch_table(*_):
    global switches
    switches += 1


def context_switch(*_):
    context_switch_table()


# Behind the name of a module's symbol is some more.
def name_of(frame):
    return frame["sym"]["name"].split("\0")[0].strip() if "sym" in frame else "[unknown]"


def process_event(x):
    sample = x["sample"]
    samples.append({"comm": x["comm"], "tid": sample["tid"], "cpu": sample["cpu"],
                    "event": x["ev_name"].split(":")[0], "ip": sample["ip"],
                    "chain": [name_of(frame) for frame in x["callchain"]],
                    "stack": [(e["from"], e["to"]) for e in x["brstack"]]})


# --- what perf script prints --------------------------------------------------------------

class Text:
    """Samples, errors and context switches, each in their order"""

    def __init__(self, name):
        self.samples, self.errors, self.switches, self.order = [], [], 0, []
        with open(name) as f:
            for line in f:
                self.read(line)

    def read(self, line):
        if "PERF_RECORD_SWITCH" in line:
            self.switches += 1
        elif m := ERROR.match(line):
            self.errors.append((int(m[1]), int(m[2]), m[3]))
            self.order.append({"tid": int(m[1]), "loss": len(self.samples)})
        elif "PERF_RECORD_" in line:
            if m := EXEC.match(line):
                self.order.append({"tid": int(m[1])})
        elif m := SAMPLE.match(line):
            s = {"comm": m[1], "tid": int(m[2]), "cpu": int(m[3]), "event": m[4], "chain": [],
                 "stack": []}
            if b := BRANCH.match(m[5]):
                s |= {"flags": b[1], "ip": int(b[2], 16), "addr": int(b[3], 16)}
                s["len"] = int(b[4] or 0)
            self.samples.append(s)
            self.order.append(s)
        elif m := FRAME.match(line):
            self.samples[-1]["chain"].append(m[2].strip())
            self.samples[-1].setdefault("ip", int(m[1], 16))
        elif line.startswith(" 0x"):
            self.samples[-1]["stack"] = [(int(a, 16), int(b, 16)) for a, b in ENTRY.findall(line)]


def pair_calls(order):
    """Numbers of the samples that are a call and its return, but not across a loss, or an exec"""
    stacks, pairs, number = {}, set(), 0
    for s in order:
        if "event" not in s:
            stacks[s["tid"]] = []
            continue
        number += 1
        stack = stacks.setdefault(s["tid"], [])
        words = s["flags"].split()
        if not s["ip"] or not s["addr"]:
            continue
        if words[0] in ("call", "syscall", "int", "hw"):
            # what a trap interrupted goes on where it was
            behind = s["ip"] + (0 if "int" in words else s["len"])
            if behind != s["addr"]:
                stack.append((behind, number))
        elif words[0] in ("return", "sysret", "iret") and any(s["addr"] == b for b, _ in stack):
            while True:
                behind, call = stack.pop()
                if behind == s["addr"]:
                    break
            pairs.add((call, number))
    return pairs


def names_of_path(path):
    names = []
    while path and paths[path][0]:
        path, symbol, _ = paths[path]
        names.append(symbols[symbol])
    return names


# --- the two side by side -------------------------------------------------------------------

def compare_samples(expected, fields):
    if len(samples) != len(expected):
        differ("samples", len(expected), len(samples))
    for i, (found, s) in enumerate(zip(samples, expected), 1):
        for f in fields:
            if found[f] != s[f]:
                differ(f"{f} of sample {i}", s[f], found[f])
    if Counter(s["tid"] for s in samples) != Counter(s["tid"] for s in expected):
        differ("samples of each thread", "the same", "others")


def paired():
    """The same of perf's: those that it saw both called and returning, and no jumps"""
    for c in calls:
        at = samples[c["call"] - 1]
        # a stretch without trace is something called, too
        if c["flags"] & (NO_CALL | NO_RETURN | NON_CALL) or at["flags"] & TRACE_END:
            continue
        if c["tid"] != at["tid"] or paths[c["path"]][1] != at["to_sym"]:
            differ(f"callee of sample {c['call']}", at["to_sym"], paths[c["path"]])
        yield c["call"], c["return"]


def compare_calls(order):
    expected, found = pair_calls(order), set(paired())
    traps = {p for p in expected if samples[p[0] - 1]["flags"] & (SYSCALL | INTERRUPT)}
    # Of a return that fits no call perf makes a call, and then others may fit that.
    if len(expected ^ found) * 200 > len(expected):
        differ("pairs of calls and returns", len(expected), f"others: {sorted(expected ^ found)[:8]}")
    if len(traps - found) * 10 > len(traps):
        differ("pairs of traps and returns", len(traps), len(traps & found))
    for loss in (s for s in order if "loss" in s):
        if any(samples[a - 1]["tid"] == loss["tid"] and a <= loss["loss"] < b for a, b in found):
            differ("pairs across a loss", 0, "some")
    return {"pairs of calls and returns": len(expected & found), "traps": len(traps & found)}


def trace_end():
    t = Text(text)
    figures = {"threads": len({s["tid"] for s in samples}), "samples": len(samples)}
    if mode == "calls":
        compare_samples(t.samples, ("comm", "tid", "cpu", "event", "ip", "addr"))
        figures |= compare_calls(t.order)
    elif mode == "chains":
        for s in samples:
            s["chain"] = names_of_path(s["path"])
        for s in t.samples:
            s["chain"] = [n if n != "[unknown]" else "unknown" for n in s["chain"]]
        compare_samples(t.samples, ("comm", "tid", "cpu", "event", "ip", "chain"))
        figures["callers"] = sum(len(s["chain"]) for s in samples)
    else:
        compare_samples(t.samples, ("comm", "tid", "cpu", "event", "ip", "chain", "stack"))
        figures["entries of branch stacks"] = sum(len(s["stack"]) for s in samples)
    if errors != t.errors:
        differ("errors", t.errors[:4], errors[:4])
    if switches != t.switches:
        differ("context switches", t.switches, switches)
    figures |= {"errors": len(errors), "context switches": switches}
    print("wrong:" if bad else "right:", ", ".join(f"{n} {what}" for what, n in figures.items()))
