#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Files of edges, read as Documentation/trace/ntrace-edges.rst says and with nothing of ntrace's:
edges.py FILE... prints what they have in all, a recording that is in several counting once:
"FROM TO KIND COUNT" per edge, places as "build-id+address" or "-".
--host=HOST=UP/DOWN: counts of what was recorded there are multiplied. Rounding carries what it
leaves over from edge to edge of a kind, in their order, and begins with what the host's name gives."""
import collections
import subprocess
import sys
import zlib

KINDS = ('branch', 'trap', 'return', 'begin', 'lost')


def number(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def blocks(name):
    data = open(name, 'rb').read()
    assert data[:9] == b'NTEDGES\n\1', name
    at = 9
    while at < len(data):
        kind = data[at:at + 1]
        size, stored, check = (int.from_bytes(data[at + i:at + i + 4], 'little') for i in (1, 5, 9))
        text = data[at + 13:at + 13 + stored]
        assert zlib.crc32(text, zlib.crc32(data[at:at + 9])) == check, name
        if stored < size:
            text = subprocess.run(['zstd', '-dcq'], input=text, stdout=subprocess.PIPE, check=True).stdout
        assert len(text) == size, name
        at += 13 + stored
        yield kind, text
    assert kind == b'T', name


def head(text):
    at = 0

    def count():
        nonlocal at
        value, at = number(text, at)
        return value

    def some(size):
        nonlocal at
        at += size
        return text[at - size:at]

    scaled = count()
    recordings = [(some(32), some(count()), [count() for _ in range(4)]) for _ in range(count())]
    files = [(some(count()), count(), some(count())) for _ in range(count())]
    assert at == len(text) and scaled <= 1
    return recordings, files


def edges(text, files):
    def place(value):
        if not value:
            return ()
        ident, base, _ = files[(value >> 40) - 1]
        return ident, base, value & ((1 << 40) - 1)

    at = before = 0
    while at < len(text):
        first, at = number(text, at)
        to, at = number(text, at)
        count, at = number(text, at)
        before += first >> 3
        yield place(before), place(before + (to >> 1 ^ -(to & 1))), first & 7, count


def show(place):
    if not place:
        return '-'
    ident, base, low = place
    return f'{ident.hex()}{"@%x" % base if base else ""}+{low:x}'


def main():
    scale = {}
    seen = {}
    for arg in sys.argv[1:]:
        if arg.startswith('--host='):
            host, ratio = arg[7:].split('=')
            scale[host] = [int(n) for n in ratio.split('/')]
            continue
        for kind, text in blocks(arg):
            if kind == b'H':
                recordings, files = head(text)
                ids = tuple(r[0] for r in recordings)
                host = recordings[0][1].decode()
                wanted = not any(set(ids) & set(i) for i in seen)
                if wanted:
                    seen[ids] = (host, collections.Counter())
            elif kind == b'E' and wanted:
                for a, b, what, n in edges(text, files):
                    seen[ids][1][a, b, what] += n
    hosts = collections.defaultdict(collections.Counter)
    for host, counts in seen.values():
        hosts[host].update(counts)
    total = collections.Counter()
    for host, counts in hosts.items():
        up, down = scale.get(host, (1, 1))
        rest = [(zlib.crc32(host.encode()) * 0x9e3779b97f4a7c15 & (1 << 64) - 1) % down] * len(KINDS)
        for key in sorted(counts):
            product = counts[key] * up + rest[key[2]]
            total[key] += product // down
            rest[key[2]] = product % down
    for start, end, kind in sorted(k for k in total if total[k]):
        print(show(start), show(end), KINDS[kind], total[start, end, kind])


if __name__ == "__main__":
    main()
