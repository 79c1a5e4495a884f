#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What a profile for pprof has, read with nothing of ntrace's: fields by the numbers that pprof's
profile.proto gives them. pprof.py WHAT FILE:
    functions   NAME OWN TOTAL, of the first value
    addresses   ADDRESS INSTRUCTIONS, of what ran
    folded      NAME;NAME... VALUE, the first value
    values      sum of each value, by type
    types       TYPE UNIT, of each value in its order
    labels      KEY=VALUE and the first value's sum
    lines       NAME LINE INSTRUCTIONS
    files       BUILD-ID FILE START LIMIT OFFSET"""
import collections
import gzip
import sys


def fields(data):
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        else:
            assert key & 7 == 2, key
            size = varint()
            assert at + size <= len(data)
            yield key >> 3, data[at:at + size]
            at += size


def packed(data):
    value = shift = 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield value
            value = shift = 0


data = open(sys.argv[2], 'rb').read()
data = gzip.decompress(data) if data[:2] == b'\x1f\x8b' else data
parts = collections.defaultdict(list)
for number, value in fields(data):
    parts[number].append(value)
strings = [s.decode() for s in parts[6]]
assert strings[0] == ''
types = [strings[dict(fields(t))[1]] for t in parts[1]]
names = {}
for f in map(lambda x: dict(fields(x)), parts[5]):
    assert f[1] and f[1] not in names
    names[f[1]] = strings[f[2]]
maps = {m[1]: m for m in map(lambda x: dict(fields(x)), parts[3])}
locations = {}
for l in map(lambda x: dict(fields(x)), parts[4]):
    line = dict(fields(l[4]))
    m = maps[l[2]]
    assert l[1] and l[1] not in locations and m.get(2, 0) <= l.get(3, 0) < m[3]
    locations[l[1]] = (names[line[1]], l.get(3, 0), line.get(2, 0))
samples = []
for s in parts[2]:
    s = list(fields(s))
    one = dict((k, v) for k, v in s if k != 3)
    labels = {}
    for k, v in s:
        if k == 3:
            v = dict(fields(v))
            labels[strings[v[1]]] = strings[v[2]] if 2 in v else v.get(3, 0)
    samples.append(([locations[i] for i in packed(one[1])], list(packed(one[2])), labels))
    assert len(samples[-1][1]) == len(types)

count = collections.Counter()
if sys.argv[1] == 'functions':
    own, total = collections.Counter(), collections.Counter()
    for stack, value, _ in samples:
        own[stack[0][0]] += value[0]
        for name in {place[0] for place in stack}:
            total[name] += value[0]
    for name in sorted(total):
        print(name, own[name], total[name])
elif sys.argv[1] == 'files':
    for m in maps.values():
        print(strings[m.get(6, 0)] or '-', strings[m[5]], f'{m.get(2, 0):x} {m[3]:x} {m.get(4, 0):x}')
elif sys.argv[1] == 'types':
    for t in map(lambda x: dict(fields(x)), parts[1]):
        print(strings[t[1]], strings[t[2]])
elif sys.argv[1] == 'values':
    for _, value, _ in samples:
        for kind, n in zip(types, value):
            count[kind] += n
else:
    for stack, value, labels in samples:
        if sys.argv[1] == 'addresses':
            count[f'{stack[0][1]:x}'] += value[0]
        elif sys.argv[1] == 'folded':
            count[';'.join(place[0] for place in reversed(stack))] += value[0]
        elif sys.argv[1] == 'lines':
            count[f'{stack[0][0]} {stack[0][2]}'] += value[0]
        else:
            for key, text in labels.items():
                count[f'{key}={text}'] += value[0]
for key in sorted(count):
    if count[key]:
        print(key, count[key])
