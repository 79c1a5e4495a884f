/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What perf's core has for AUX area samples.
 */
#ifndef _NTRACE_SAMPLE_H
#define _NTRACE_SAMPLE_H

#include <linux/perf_event.h>

bool ntrace_sample_init(void);
long ntrace_sample_copy(struct perf_output_handle *aux, struct perf_output_handle *handle, u64 head,
			unsigned long size);
long ntrace_sample_idle(struct perf_output_handle *handle, unsigned long size);

#endif /* _NTRACE_SAMPLE_H */
