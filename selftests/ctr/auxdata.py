#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Write the trace in a perf.data's only AUX buffer that has any: auxdata.py FILE OUT"""
import struct
import sys

AUX, AUXTRACE = 11, 71


def main():
    data = open(sys.argv[1], "rb").read()
    assert data[:8] == b"PERFILE2"
    at, size = struct.unpack_from("<QQ", data, 40)
    end, windows, buffers = at + size, set(), {}
    while at < end:
        kind, _, length = struct.unpack_from("<IHH", data, at)
        if kind == AUX:
            offset, size = struct.unpack_from("<QQ", data, at + 8)
            windows.add((offset, size))
        elif kind == AUXTRACE:
            size, offset, _, idx = struct.unpack_from("<QQQI", data, at + 8)
            buffer = buffers.setdefault(idx, bytearray())
            # a record is filled up to 8 bytes, which the next one begins before
            buffer[offset:] = data[at + length:at + length + size]
            length += size
        at += length
    assert len(buffers) == 1, f"{len(buffers)} buffers have trace"
    trace = buffers.popitem()[1]
    # what lies between windows is no trace
    open(sys.argv[2], "wb").write(b"".join(trace[at:at + size] for at, size in sorted(windows)))


main()
