/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef INCLUDE__ARCH_RISCV_NTRACE_H__
#define INCLUDE__ARCH_RISCV_NTRACE_H__

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "../../../util/tsc.h"
#include "ntrace-pmu.h"

struct auxtrace_mmap;
struct auxtrace_record;
struct evlist;
struct evsel;
struct perf_event_attr;
struct perf_pmu;
struct perf_record_time_conv;
struct record_opts;

/* ntrace.c: what is recorded, and how */
struct auxtrace_record *ntrace_recording_init(int *err, struct perf_pmu *pmu);
void ntrace_default_attr(const struct perf_pmu *pmu, struct perf_event_attr *attr);

/* ntrace-snapshot.c: trace of which only the end is kept */
int ntrace_snapshot_parse(struct auxtrace_record *itr, struct record_opts *opts, const char *str);
int ntrace_snapshot_start(struct evlist *evlist, struct perf_pmu *pmu);
int ntrace_snapshot_finish(struct evlist *evlist, struct perf_pmu *pmu);
int ntrace_snapshot_find(struct auxtrace_record *itr, int idx, struct auxtrace_mmap *mm,
			 unsigned char *data, u64 *head, u64 *old);
int ntrace_ring_choose(struct perf_pmu *pmu, struct evlist *evlist, struct record_opts *opts);
u64 ntrace_ring_kept(struct evlist *evlist, const struct record_opts *opts);
void ntrace_samples_set_up(struct evlist *evlist);
size_t ntrace_default_sample_size(void);

/* ntrace-config.c: the terms of an event */
int ntrace_config_apply(struct perf_pmu *pmu, struct evsel *evsel, u64 kept);
u64 ntrace_config_get(struct evsel *evsel, const char *name);
void ntrace_config_say(bool error, const char *text);

/* ntrace-clock.c: a clock of the user's choice */
struct ntrace_clock {
	bool		wanted;		/* perf record -k */
	bool		started;
	clockid_t	id;
	u64		ticks, ns;	/* at the start of the file */
	struct perf_tsc_conversion tc;
};

void ntrace_clock_start(struct ntrace_clock *clock, const struct perf_tsc_conversion *tc);
void ntrace_clock_end(struct ntrace_clock *clock);
void ntrace_clock_event(const struct ntrace_clock *clock, struct perf_record_time_conv *ev);

#endif
