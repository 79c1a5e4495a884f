#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Are the types and privileges of branch stacks those of the instructions?

Reads what brstack.so printed, "FROM TO TYPE PRIV CODE". Knows RISC-V's jumps by
itself.
"""
import collections
import sys

NAMES = ["UNKNOWN", "COND", "UNCOND", "IND", "CALL", "IND_CALL", "RET", "SYSCALL", "SYSRET",
         "COND_CALL", "COND_RET", "ERET", "IRQ"]
USER, KERNEL = 1, 2
LINK = (1, 5)


def jalr(rd, rs):
    if rd in LINK and rs in LINK and rd != rs:
        return {"IND"}                  # a co-routine swap, which perf has no type for
    if rd in LINK:
        return {"IND_CALL"}
    return {"RET"} if rs in LINK else {"IND"}


def of_code(code):
    """What a transfer by this instruction is, None when it is none"""
    op, rd, rs = code & 0x7f, code >> 7 & 31, code >> 15 & 31
    if code & 3 == 3:
        return {0x63: {"COND"}, 0x6f: {"CALL"} if rd in LINK else {"UNCOND"},
                0x67: jalr(rd, rs)}.get(op, {"ERET", "SYSRET"} if code == 0x10200073 else None)
    code &= 0xffff
    if code & 0xe003 == 0xa001:
        return {"UNCOND"}
    if code & 0xc003 == 0xc001:
        return {"COND"}
    if code & 0xe07f == 0x8002 and code & 0xf80:
        return jalr(code >> 12 & 1, rd)
    return None


def main():
    bad, unread, seen = 0, 0, collections.Counter()
    for line in sys.stdin:
        words = line.split()
        source, target, code = int(words[0], 16), int(words[1], 16), int(words[4], 16)
        found, priv = NAMES[int(words[2])], int(words[3])
        if not code:
            # perf reads no kernel code for a sample of user space
            unread += 1
            continue
        in_kernel = target >> 63
        may = of_code(code)
        if may is None or (in_kernel and not source >> 63):
            # a trap; where the next instruction would have jumped, an interrupt or a fault
            may = {"SYSCALL"} if code == 0x73 and not source >> 63 else {"IRQ", "UNKNOWN"}
        elif in_kernel:
            may = may | {"IRQ", "UNKNOWN"} if found in ("IRQ", "UNKNOWN") else may
        if found not in may or priv != (KERNEL if in_kernel else USER):
            bad += 1
            if bad < 10:
                print(f"{line.strip()}: {found}, expected {'/'.join(sorted(may))}")
        seen[found] += 1
        if code & 3 == 3 and may == {"IND"} and code >> 7 & 31 in LINK:
            seen["swap"] += 1
    needed = {"COND", "UNCOND", "IND", "CALL", "IND_CALL", "RET", "SYSCALL", "SYSRET", "ERET",
              "UNKNOWN", "swap"}
    print(f"{bad} bad, {unread} unread, without {' '.join(sorted(needed - set(seen))) or 'none'}: " +
          " ".join(f"{k} {v}" for k, v in sorted(seen.items())))
    return 1 if bad or needed - set(seen) or unread * 3 > sum(seen.values()) else 0


sys.exit(main())
