#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Are the times of a trace those of perf's clock? times.py RANGE <OUTPUT of perf script
--show-switch-events --show-task-events -F cpu,tid,time,event --ns. RANGE: of the counter, in ticks
of 100 ns. Every branch happened while perf's own records say that its task was on its CPU."""

import bisect
import re
import sys

LINE = re.compile(r"\s*(-?\d+) \[(\d+)\]\s+(\d+)\.(\d{9}):\s+(.*)")

range_ns = int(sys.argv[1]) * 100
slack = range_ns // 64          # between the time of a record and that of the trace beside it
switches, branches = {}, []
errors = 0
for line in sys.stdin:
    m = LINE.match(line)
    if not m:
        errors += " error " in line
        continue
    key, time, what = (int(m[1]), int(m[2])), int(m[3]) * 10 ** 9 + int(m[4]), m[5]
    if what.startswith("PERF_RECORD_SWITCH"):
        switches.setdefault(key, []).append((time, " IN" in what))
    elif what.startswith("PERF_RECORD_COMM exec"):
        # of the command itself, which is not switched in
        switches.setdefault(key, []).append((time, True))
    elif what.startswith("branches"):
        branches.append((key, time))

for some in switches.values():
    some.sort()
bad = 0
ranges, last = set(), {}
for key, time in branches:
    some = switches.get(key, [])
    # the newest record that is not later, but for the slack: the task began to run with it, or it
    # ended a moment ago
    at = bisect.bisect(some, (time + slack, True)) - 1
    if at < 0 or not (some[at][1] or some[at][0] >= time - slack):
        bad += 1
        if bad <= 8:
            print(f"# {key} at {time}: {some[max(at - 1, 0):at + 2]}")
    if time < last.get(key[1], 0):
        bad += 1
        print(f"# {key} at {time}: after {last[key[1]]}")
    last[key[1]] = time
    ranges.add(time // range_ns)
print(f"{len(branches)} branches at {len(ranges)} wraps of the counter, of "
      f"{max(ranges, default=0) - min(ranges, default=0)}; {bad} bad, {errors} errors")
sys.exit(bad > 0 or errors > 0 or len(branches) < 1000 or len(ranges) < 2)
