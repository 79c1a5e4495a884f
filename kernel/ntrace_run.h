/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What runs on each CPU: the event that has the encoder, its AUX transaction, the windows.
 */
#ifndef _NTRACE_RUN_H
#define _NTRACE_RUN_H

#include <linux/bits.h>
#include <linux/perf_event.h>

int ntrace_run_add(struct perf_event *event, int flags);
void ntrace_run_del(struct perf_event *event, int flags);
void ntrace_run_start(struct perf_event *event, int flags);
void ntrace_run_stop(struct perf_event *event, int flags);
long ntrace_run_sample(struct perf_event *event, struct perf_output_handle *handle,
		       unsigned long size);

/* Why tracing sleeps on a CPU */
#define NTRACE_ASLEEP_IDLE	BIT(0)
#define NTRACE_ASLEEP_SYSTEM	BIT(1)

void ntrace_run_evict(void);
void ntrace_run_sleep(unsigned int why);
void ntrace_run_wake(unsigned int why);
void ntrace_run_suspend(bool suspended);

int ntrace_run_cpu_online(unsigned int cpu);
int ntrace_run_cpu_offline(unsigned int cpu);
void ntrace_run_init(void);

#endif /* _NTRACE_RUN_H */
