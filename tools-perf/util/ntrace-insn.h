/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * RISC-V instructions for perf script's -F brstackinsn. Their lengths depend on the recording, not
 * on the architecture that perf was built for.
 */
#ifndef INCLUDE__PERF_NTRACE_INSN_H__
#define INCLUDE__PERF_NTRACE_INSN_H__

#include <stddef.h>
#include "dump-insn.h"

struct machine;

const char *ntrace_dump_insn(struct perf_insn *x, u64 ip, u8 *buf, int len, int *lenp);
int ntrace_is_uncond_branch(struct machine *machine, const u8 *buf, size_t len, int is64);

/* All other architectures use perf's own functions. */
#ifndef NTRACE_INSN_ITSELF
#define dump_insn ntrace_dump_insn
#define arch_is_uncond_branch(buf, len, is64) ntrace_is_uncond_branch(machine, buf, len, is64)
#endif

#endif
