#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What ntrace coverage says of a program, against gcov's counts of the same source.

	coverage.py gcov=JSON lcov=FILE lines=FILE [truth=-]

gcov counts in a build with counters, ntrace in the trace of one without. lines is what objdump
--dwarf=decodedline says of the latter: a line that only gcov knows must have no code there, and one
that only ntrace knows is a closing brace, or is of no C. Ways of a branch are compared without their
order, which is the compiler's; a switch has others in machine code.

truth, for optimised code, is what truthlist says on standard input: a line ran where an instruction
did that the line table says is of it, and nowhere else. Where gcov says otherwise, which moves no
code between lines, that is counted.
"""
import collections
import json
import os
import re
import sys

options = dict(argument.split('=', 1) for argument in sys.argv[1:])
optimised = 'truth' in options
failures = 0


def fail(text):
    global failures
    failures += 1
    if failures <= 30:
        print(text)


def name(path):
    return os.path.basename(path)


def read_gcov(path):
    lines, ways, functions, source = {}, {}, {}, {}
    for file in json.load(open(path))['files']:
        if not file['lines'] or not os.path.exists(file['file']):
            continue
        source[name(file['file'])] = open(file['file']).read().split('\n')
        for line in file['lines']:
            key = name(file['file']), line['line_number']
            lines[key] = line['count']
            if line['branches']:
                ways[key] = sorted(way['count'] for way in line['branches'])
        for function in file['functions']:
            functions[function['name']] = function['execution_count']
    return lines, ways, functions, source


def read_lcov(path):
    lines, ways, functions = {}, collections.defaultdict(list), {}
    file = None
    sums = collections.Counter()
    for text in open(path):
        key, _, value = text.strip().partition(':')
        if key == 'SF':
            file = name(value)
            sums.clear()
        elif key == 'DA':
            line, count = value.split(',')
            lines[file, int(line)] = int(count)
            sums['LF'] += 1
            sums['LH'] += int(count) > 0
        elif key == 'BRDA':
            line, _, _, count = value.split(',')
            ways[file, int(line)].append(0 if count == '-' else int(count))
            sums['BRF'] += 1
            sums['BRH'] += count not in '-0'
        elif key == 'FNDA':
            count, function = value.split(',')
            functions[function] = int(count)
            sums['FNF'] += 1
            sums['FNH'] += int(count) > 0
        elif key in ('LF', 'LH', 'BRF', 'BRH', 'FNF', 'FNH') and int(value) != sums[key]:
            fail(f'{file}: {key} is {value}, of {sums[key]} records')
    return lines, {k: sorted(v) for k, v in ways.items()}, functions


def read_line_table(path):
    """(begin, end, (file, line)) of all code, by address"""
    rows = []
    for text in open(path):
        match = re.match(r'(\S+)\s+(\d+|-)\s+(0x[0-9a-f]+|0)\b(.*)', text)
        if match:
            end = match[2] == '-' or 'END' in match[4]
            rows.append((int(match[3], 16), not end, len(rows),
                         None if end else (name(match[1]), int(match[2]))))
    rows.sort()
    return [(row[0], after[0], row[3]) for row, after in zip(rows, rows[1:])
            if row[3] and after[0] > row[0]]


def lines_that_ran(table):
    """Of what truthlist prints"""
    ran = {int(text.split()[1], 16) for text in sys.stdin if text[0] in 'it'}
    return {key for begin, end, key in table if any(pc in ran for pc in range(begin, end, 2))}


theirs, their_ways, their_functions, source = read_gcov(options['gcov'])
ours, our_ways, our_functions = read_lcov(options['lcov'])
table = read_line_table(options['lines'])
code = {key for _, _, key in table}
ran = lines_that_ran(table) if optimised else None


def text_of(key):
    return source[key[0]][key[1] - 1].strip() if key[0] in source else None


equal = unknown = moved = 0
for key in sorted(set(theirs) | set(ours)):
    if key not in ours:
        if key in code:
            fail(f'line {key}: gcov {theirs[key]}, and none here, although it has code: {text_of(key)}')
        unknown += 1
    elif optimised:
        # the line with a function's name has how often the function was called, and may have no code
        if key in code and (ours[key] > 0) != (key in ran):
            fail(f'line {key}: here {ours[key]}, but the truth: ran={key in ran}: {text_of(key)}')
        moved += (ours[key] > 0) != (theirs.get(key, ours[key]) > 0)
        equal += 1
    elif key not in theirs:
        if text_of(key) not in ('}', None):
            fail(f'line {key}: here {ours[key]}, and gcov has none: {text_of(key)}')
    elif ours[key] != theirs[key]:
        fail(f'line {key}: gcov {theirs[key]}, here {ours[key]}: {text_of(key)}')
    else:
        equal += 1

branches = 0
for key in sorted(set(their_ways) | set(our_ways)):
    if optimised or (text_of(key) or '').startswith('switch') or key not in theirs:
        continue
    if their_ways.get(key) != our_ways.get(key):
        fail(f'branches {key}: gcov {their_ways.get(key)}, here {our_ways.get(key)}: {text_of(key)}')
    branches += len(our_ways.get(key, ()))

for function in sorted(their_functions):
    if function not in our_functions:
        if not optimised:
            fail(f'function {function}: gcov {their_functions[function]}, and none here')
    elif our_functions[function] != their_functions[function] and not optimised:
        fail(f'function {function}: gcov {their_functions[function]}, here {our_functions[function]}')

if not equal or not (branches or optimised):
    fail('nothing to compare')
if optimised:
    print(f'{equal} lines ran as their code did, {moved} of them not as gcov says, {unknown} more have no code')
else:
    print(f'{equal} lines, {branches} ways of branches, {len(our_functions)} functions are equal, '
          f'{unknown} more lines have no code')
sys.exit(failures > 0)
