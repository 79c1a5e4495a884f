/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef INCLUDE__ARCH_RISCV_NTRACE_H__
#define INCLUDE__ARCH_RISCV_NTRACE_H__

#include <linux/types.h>
#include <stddef.h>

struct auxtrace_record;
struct evlist;
struct evsel;
struct perf_event_attr;
struct perf_pmu;

/* ntrace.c: what is recorded, and how */
struct auxtrace_record *ntrace_recording_init(int *err, struct perf_pmu *pmu);
void ntrace_default_attr(const struct perf_pmu *pmu, struct perf_event_attr *attr);

/* ntrace-config.c: the terms of an event */
int ntrace_config_apply(struct perf_pmu *pmu, struct evsel *evsel);
u64 ntrace_config_get(struct perf_pmu *pmu, struct evsel *evsel, const char *name);
u64 ntrace_config_caps(struct perf_pmu *pmu);

/* ntrace-info.c: the words of PERF_RECORD_AUXTRACE_INFO */
struct ntrace_words {
	u64 *word;
	size_t nr;
	size_t room;
};

int ntrace_info_build(struct perf_pmu *pmu, u64 flags, struct ntrace_words *out);

#endif
