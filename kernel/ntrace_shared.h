/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A sink that the trace of several CPUs goes to.
 */
#ifndef _NTRACE_SHARED_H
#define _NTRACE_SHARED_H

#include <linux/types.h>

struct ntrace_cpu;

void ntrace_shared_limit(struct ntrace_cpu *c);
int ntrace_shared_first(struct ntrace_cpu *c);
int ntrace_shared_enable(struct ntrace_cpu *c, bool wait);
u64 ntrace_shared_pending(const struct ntrace_cpu *c);
bool ntrace_shared_due(const struct ntrace_cpu *c);
int ntrace_shared_drain(struct ntrace_cpu *c);
void ntrace_shared_finish(struct ntrace_cpu *c);

#endif /* _NTRACE_SHARED_H */
