/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Instructions of RISC-V for perf script's -F brstackinsn: of whichever architecture perf itself
 * is, how long they are is a property of the recording.
 */
#ifndef INCLUDE__PERF_NTRACE_INSN_H__
#define INCLUDE__PERF_NTRACE_INSN_H__

#include <stddef.h>
#include "dump-insn.h"

struct machine;

const char *ntrace_dump_insn(struct perf_insn *x, u64 ip, u8 *buf, int len, int *lenp);
int ntrace_is_uncond_branch(struct machine *machine, const u8 *buf, size_t len, int is64);

/* perf's own are called for every other architecture. */
#ifndef NTRACE_INSN_ITSELF
#define dump_insn ntrace_dump_insn
#define arch_is_uncond_branch(buf, len, is64) ntrace_is_uncond_branch(machine, buf, len, is64)
#endif

#endif
