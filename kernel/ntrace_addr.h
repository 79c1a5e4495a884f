/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Address filters of events.
 */
#ifndef _NTRACE_ADDR_H
#define _NTRACE_ADDR_H

#include <linux/perf_event.h>

#include "ntrace_encoder.h"

int ntrace_addr_init(struct perf_event *event);
void ntrace_addr_free(struct perf_event *event);
int ntrace_addr_validate(struct list_head *filters);
void ntrace_addr_sync(struct perf_event *event);
void ntrace_addr_bound(struct pmu *pmu, const struct ntrace_encoder *enc);
const struct ntrace_ranges *ntrace_addr_ranges(struct perf_event *event);

#endif /* _NTRACE_ADDR_H */
