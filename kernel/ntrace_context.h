/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The scontext CSR holds the TID of the running task while somebody wants to see it in the trace.
 */
#ifndef _NTRACE_CONTEXT_H
#define _NTRACE_CONTEXT_H

#include <linux/types.h>

bool ntrace_context_cpu_online(unsigned int cpu);
bool ntrace_context_possible(int cpu);
int ntrace_context_get(void);
void ntrace_context_put(void);
void ntrace_context_exit(void);
void ntrace_context_write_current(void);

#endif /* _NTRACE_CONTEXT_H */
