#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What ntrace coverage says of a program that clang compiled, against llvm-cov's counts.

	llvmcov.py json=FILE llvm=LCOV ntrace=LCOV lines=FILE code=FILE

llvm-cov counts in a build with counters, ntrace in the trace of one without. json and llvm are what
llvm-cov exports as text and as lcov; lines and code are what llvm-dwarfdump --debug-line and
llvm-objdump -d print of the program without counters.

Functions have to be called equally often. One that llvm-cov has and the program has not must have
been inlined nowhere and called never.

Ways of a branch are compared in pairs, line by line. ntrace has those of conditional branches in
the machine code, and must have as many as there are. Where a condition has none, llvm-cov has more.
The cases of a switch are at its labels for llvm-cov, and where their values are compared for
ntrace.

Counts of lines have to be equal, with two exceptions. The jump at the end of what a brace closes is
on the line of the brace, of which llvm-cov has the region behind it. A statement on several lines
may enter one of them more than once. There ntrace's count must be a sum: for each piece of the
line's code at most one count of a region in it. A line of which one side has no count must have no
code, or be that in which a function's name is.

Each difference is printed with its reason; those without a reason fail.
"""
import bisect
import collections
import json
import os
import re
import sys

options = dict(argument.split('=', 1) for argument in sys.argv[1:])
failures = 0
reasons = collections.defaultdict(list)


def fail(text):
    global failures
    failures += 1
    print(f'not equal: {text}')


def name(path):
    return os.path.basename(path)


def read_lcov(path):
    lines, ways, functions, begins = {}, collections.defaultdict(dict), {}, {}
    for text in open(path):
        key, _, value = text.strip().partition(':')
        if key == 'SF':
            file = name(value)
        elif key == 'FN':
            line, function = value.split(',', 1)
            begins[file, int(line)] = function.split(':')[-1]
        elif key == 'FNDA':
            count, function = value.split(',', 1)
            functions[function.split(':')[-1]] = int(count)
        elif key == 'DA':
            line, count = value.split(',')[:2]
            lines[file, int(line)] = int(count)
        elif key == 'BRDA':
            line, block, _, count = value.split(',')
            ways[file, int(line)].setdefault(block, []).append(0 if count == '-' else int(count))
    return lines, {key: sorted(tuple(sorted(pair)) for pair in blocks.values())
                   for key, blocks in ways.items()}, functions, begins


def read_json(path):
    """By line: counts of the regions in it, (true, false) of its branches; and the sources"""
    counts, ways, source = collections.defaultdict(set), collections.defaultdict(list), {}
    for file in json.load(open(path))['data'][0]['files']:
        base = name(file['filename'])
        source[base] = open(file['filename']).read().split('\n')
        around = None
        segments = collections.defaultdict(list)
        for line, _, count, counted, _, _ in file['segments']:
            segments[line].append(count if counted else None)
        for line in range(1, len(source[base]) + 1):
            counts[base, line] = {count for count in [around, *segments[line]] if count is not None}
            around = segments[line][-1] if segments[line] else around
        for branch in file['branches']:
            ways[base, branch[0]].append((branch[4], branch[5]))
    return counts, ways, source


def read_line_table(path):
    """Where code of a line begins: (address, (file, line) or None at the end of a sequence)"""
    rows, names, number = [], {}, None
    for text in open(path):
        if text.startswith('debug_line['):
            names = {}
        match = re.match(r'file_names\[\s*(\d+)\]', text)
        number = int(match[1]) if match else number
        match = re.match(r'\s+name: "(.*)"', text)
        if match:
            names[number] = name(match[1])
        match = re.match(r'(0x[0-9a-f]+)\s+(\d+)\s+\d+\s+(\d+)\s+\d+\s+\d+\s+\d+(.*)', text)
        if match:
            end = 'end_sequence' in match[4]
            rows.append((int(match[1], 16), not end, len(rows),
                         None if end else (names[int(match[3])], int(match[2]))))
    return [(row[0], row[3]) for row in sorted(rows)]


def read_code(path):
    """Addresses of conditional branches, and of code that jumps lead to or that follows them"""
    branches, leaders, after = [], set(), False
    for text in open(path):
        match = re.match(r'\s*([0-9a-f]+):\s+(\S+)\s*(?:.*0x([0-9a-f]+) <)?', text)
        if not match:
            continue
        address, operation = int(match[1], 16), match[2].removeprefix('c.')
        if after:
            leaders.add(address)
        conditional = re.fullmatch('b(eq|ne|lt|gt|le|ge)u?z?', operation)
        after = conditional or operation in ('j', 'jr', 'ret')
        if conditional:
            branches.append(address)
        if after and match[3]:
            leaders.add(int(match[3], 16))
    return branches, leaders


def count_code(rows, branches, leaders):
    """Of each line in how many pieces its code is, and how many conditional branches are in it"""
    pieces, number = collections.Counter(), collections.Counter()
    leaders, branches = sorted(leaders), sorted(branches)
    before = None
    for (begin, key), (end, _) in zip(rows, rows[1:]):
        if begin == end:
            continue
        inside = leaders[bisect.bisect_right(leaders, begin):bisect.bisect_left(leaders, end)]
        first = bisect.bisect_left(leaders, begin)
        joined = key == before and leaders[first:first + 1] != [begin]
        if key:
            pieces[key] += len(inside) + (not joined)
            number[key] += bisect.bisect_left(branches, end) - bisect.bisect_left(branches, begin)
        before = key
    return pieces, number


def sum_of(total, values, most):
    """So many of the values, or fewer, whose sum it is; None: there are none"""
    sums = {0: []}
    for _ in range(most):
        for before, used in list(sums.items()):
            for value in values:
                if before + value <= total and len(used) < most:
                    sums.setdefault(before + value, [*used, value])
        if total in sums and (total or 0 in values):
            return sums[total] or [0]
    return None


def without(more, less):
    """What is left of one list without the members of the other; None: they are not all in it"""
    left = list(more)
    for member in less:
        if member not in left:
            return None
        left.remove(member)
    return left


theirs, _, their_functions, their_begins = read_lcov(options['llvm'])
ours, our_ways, our_functions, our_begins = read_lcov(options['ntrace'])
counts, their_ways, source = read_json(options['json'])
pieces, branches = count_code(read_line_table(options['lines']), *read_code(options['code']))


def text_of(key):
    return source[key[0]][key[1] - 1].strip()


def place(key):
    return f'{key[0]}:{key[1]}'


def compare_functions():
    equal = 0
    for function, count in sorted(their_functions.items()):
        if function in our_functions:
            if our_functions[function] != count:
                fail(f'{function}: llvm-cov {count}, ntrace {our_functions[function]} calls')
            equal += our_functions[function] == count
        elif count or any(f == function and pieces[key] for key, f in their_begins.items()):
            fail(f'{function}: llvm-cov {count} calls, and ntrace does not have it')
        else:
            reasons['functions without code'].append(function)
    return equal


def switch_of(key):
    """The line with the switch that a case belongs to; None: it is no case"""
    text = source[key[0]]
    if not re.match(r'\s*(case\b|default\b)', text[key[1] - 1]):
        return None
    indent = len(text[key[1] - 1]) - len(text[key[1] - 1].lstrip())
    for line in range(key[1] - 1, 0, -1):
        here = text[line - 1]
        if re.match(r'\s*switch\b', here) and len(here) - len(here.lstrip()) <= indent:
            return key[0], line
    return None


def compare_switches():
    """What is left of their ways without those of cases, and of ours"""
    cases, rest = collections.defaultdict(list), {}
    for key, ways in their_ways.items():
        switch = switch_of(key)
        if switch:
            cases[switch] += [way[0] for way in ways]
        else:
            rest[key] = sorted(tuple(sorted(way)) for way in ways)
    mine = dict(our_ways)
    for switch, taken in sorted(cases.items()):
        here = mine.pop(switch, [])
        left = without([way for pair in here for way in pair], [n for n in taken if n])
        implicit = rest.pop(switch, None)
        # a table of jumps has one branch: is the value in it? llvm-cov has that as the default
        table = len(here) == 1 and sum(taken) in here[0] and implicit in (None, here)
        if not table and (len(here) < 2 or left is None):
            fail(f'{place(switch)}: cases {taken}, default {implicit}, and branches {here}')
        what = 'a table of jumps' if table else 'compared one by one'
        reasons[f'switches, {what}'].append(f'{place(switch)}: branches {here}, cases {taken}')
    return rest, mine


def compare_ways():
    rest, mine = compare_switches()
    equal = 0
    for key in sorted(set(rest) | set(mine)):
        if key[0] not in source:
            continue
        here = mine.get(key, [])
        left = without(rest.get(key, []), here)
        if left is None:
            fail(f'{place(key)}: llvm-cov {rest.get(key)}, ntrace {here}: {text_of(key)}')
        elif left:
            reasons['conditions without a branch in the code'].append(
                f'{place(key)} {left}: {text_of(key)}')
        equal += len(here) if left is not None else 0
    return equal


def compare_with_code():
    for key in sorted(set(our_ways) | set(branches)):
        if key[0] in source and key[1] and len(our_ways.get(key, ())) != branches[key]:
            fail(f'{place(key)}: ntrace has {len(our_ways.get(key, ()))} branches, the code '
                 f'{branches[key]}: {text_of(key)}')


def is_brace(key):
    return text_of(key).startswith('}')


def goes_on(key):
    """The statement has other lines: its code may come back to this one"""
    return not text_of(key).endswith((';', '{', '}', ':', ')'))


def values_of(key):
    """Counts of regions of its code: a brace has the jump at the end of what it closes"""
    values = counts[key]
    return values | counts[key[0], key[1] - 1] if is_brace(key) else values


def is_opening(key):
    """The line table has the begin of a function at its brace, ntrace at its name"""
    begin = max((line for file, line in our_begins if file == key[0] and line < key[1]), default=0)
    function = our_begins.get((key[0], begin))
    return text_of(key) == '{' and our_functions.get(function) == theirs[key]


def compare_line(key):
    """True: both have the same count"""
    if key not in ours:
        if not pieces[key]:
            reasons['lines without code'].append(place(key))
        elif is_opening(key):
            reasons['lines where a function begins, counted at its name'].append(place(key))
        else:
            fail(f'{place(key)}: llvm-cov {theirs[key]}, ntrace has none: {text_of(key)}')
        return False
    if key not in theirs:
        function = our_begins.get(key)
        if function is None or ours[key] != their_functions.get(function):
            fail(f'{place(key)}: ntrace {ours[key]}, llvm-cov has none: {text_of(key)}')
        reasons['lines with the name of a function, before its first region'].append(place(key))
        return False
    if ours[key] == theirs[key]:
        return True
    values = values_of(key)
    used = sum_of(ours[key], values, pieces[key])
    if not (is_brace(key) or goes_on(key)) or not used:
        fail(f'{place(key)}: llvm-cov {theirs[key]}, ntrace {ours[key]}, regions '
             f'{sorted(values)}, {pieces[key]} pieces of code: {text_of(key)}')
    else:
        parts = ' + '.join(map(str, used))
        reasons['lines with a brace or a part of a statement: llvm-cov, ntrace'].append(
            f'{place(key)} {theirs[key]}, {ours[key]} = {parts}: {text_of(key)}')
    return False


def compare_lines():
    equal = 0
    for key in sorted(set(theirs) | set(ours)):
        if key[0] in source:
            equal += compare_line(key)
        else:
            reasons['files without counters'].append(place(key))
    return equal


functions = compare_functions()
ways = compare_ways()
compare_with_code()
lines = compare_lines()
if not functions or not ways or not lines:
    fail('nothing to compare')
for reason, where in reasons.items():
    long = any(': ' in what for what in where)
    print(f'{len(where)} {reason}:' + ('' if long else ' ' + ' '.join(where)))
    for what in where if long else ():
        print(f'    {what}')
different = sum(len(where) for where in reasons.values())
print(f'{functions} functions, {lines} lines and {ways} branches are equal, {different} '
      f'differences have a reason')
sys.exit(failures > 0)
