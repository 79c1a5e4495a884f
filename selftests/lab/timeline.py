#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Is a timeline what the branches say? timeline.py TIMELINE.json <SCRIPT, a `perf script
--itrace=be -F comm,pid,tid,cpu,time,flags,ip,sym,addr --ns` of the same trace; the
timeline has everything (--min=0 --depth=512). Every call, trap, gap and loss is a slice
that begins at the branch's time; slices of a track are in each other or apart, by a
nanosecond at least, and come in the order of their ends."""

import collections
import json
import re
import sys

KERNEL_TRACK = 1 << 23
LINE = re.compile(r".{16} +(\d+)/(\d+) +\[\d+\] +(\d+)\.(\d{9}): +(.*?) +([0-9a-f]+) .*=> +([0-9a-f]+)")
ERROR = re.compile(r" instruction trace error type 1 time (\d+)\.(\d{9}) .* tid (-?\d+) ")
wrong = 0


def complain(*words):
    global wrong
    wrong += 1
    if wrong <= 8:
        print("#", *words)


def ns(us):
    whole, part = us.split(".")
    return int(whole) * 1000 + int(part)


# Times are decimal numbers, to the nanosecond: floats would not do.
with open(sys.argv[1]) as f:
    events = json.load(f, parse_float=str)["traceEvents"]
slices = collections.Counter()          # (tid, what): how many
starts = collections.defaultdict(list)  # ... and when
tracks = collections.defaultdict(list)
named = set()
for e in events:
    if e["ph"] == "M":
        named.add((e["pid"], e["tid"]))
    if e["ph"] != "X":
        continue
    if (e["pid"], e["tid"]) not in named:
        complain("no name for the track of", e)
    start = ns(e["ts"])
    tracks[e["pid"], e["tid"]].append((start, start + ns(e["dur"]), e["name"]))
    tid = e["tid"] & ~KERNEL_TRACK
    what = {"untraced": "gap", "trap": "trap", "loss": "loss"}.get(e["cat"], "code")
    slices[tid, what] += 1
    starts[tid, what].append(start)
    if what == "code" and (e["cat"] == "kernel") != (e["tid"] >= KERNEL_TRACK):
        complain("on the wrong side:", e)

for track, list_ in tracks.items():
    if any(a[1] > b[1] for a, b in zip(list_, list_[1:])):
        complain("track", track, "is not in the order of time")
    stack = []
    for start, end, name in sorted(list_, key=lambda s: (s[0], -s[1])):
        if end < start:
            complain("backwards:", name, start, end)
        while stack and stack[-1] < start:
            stack.pop()
        # not even at the ends: viewers calculate in floating point
        if stack and stack[-1] <= end:
            complain("track", track, name, start, end, "overlaps what ends at", stack[-1])
        stack.append(end)

expected = collections.Counter()
when = collections.defaultdict(list)
for line in sys.stdin:
    m = ERROR.match(line)
    if m:
        expected[int(m[3]), "loss"] += 1
        continue
    m = LINE.match(line)
    if not m:
        complain("not a branch:", line.rstrip())
        continue
    tid, time, flags = int(m[2]), int(m[3]) * 10**9 + int(m[4]), " ".join(m[5].split())
    if tid == 0:
        continue                        # idle: a track for each CPU
    what = "gap" if flags.startswith("tr end") else "call" if flags == "call" else \
        "trap" if flags in ("int", "hw int", "syscall") else None
    if what:
        expected[tid, what] += 1
        when[tid, "code" if what == "call" else what].append(time)

for (tid, what), n in expected.items():
    got = slices[tid, "code" if what == "call" else what]
    # code that nothing called is a slice, too; and losses in one another are one
    if got != n and not (what == "call" and n <= got) and not (what == "loss" and 0 < got <= n):
        complain("thread", tid, what, "expected", n, "found", got)
for key, times in when.items():
    # a microsecond: what is told by one message is some nanoseconds apart
    have = sorted(starts[key])
    i = 0
    for t in times:
        while i < len(have) and have[i] < t:
            i += 1
        if i == len(have) or have[i] > t + 1000:
            complain("thread", key, "nothing begins at", t)
            break
        i += 1
total = sum(slices.values())
print(f"{total} slices on {len(tracks)} tracks, {sum(n for k, n in slices.items() if k[1] == 'loss')} losses, {wrong} wrong")
sys.exit(wrong > 0 or total < 1000)
