/* SPDX-License-Identifier: GPL-2.0-only */
/* Wrappers for perf functions that differ between kernel trees */
#ifndef INCLUDE__PERF_NTRACE_COMPAT_H__
#define INCLUDE__PERF_NTRACE_COMPAT_H__

#include <errno.h>
#include <string.h>
#include <linux/kernel.h>

#include "branch.h"
#include "data.h"
#include "event.h"
#include "evlist.h"
#include "evsel.h"
#include "pmu.h"
#include "sample.h"
#include "synthetic-events.h"
#include "ntrace-tree.h"	/* the graft script writes what this tree has */

static inline struct perf_evlist *ntrace_compat_evlist_core(struct evlist *evlist)
{
#ifdef NTRACE_TREE_EVLIST_CORE
	return evlist__core(evlist);
#else
	return &evlist->core;
#endif
}

static inline struct mmap *ntrace_compat_evlist_mmap(struct evlist *evlist)
{
#ifdef NTRACE_TREE_EVLIST_CORE
	return evlist__mmap(evlist);
#else
	return evlist->mmap;
#endif
}

static inline void ntrace_compat_set_config_if_unset(struct perf_pmu *pmu __maybe_unused,
						     struct evsel *evsel,
						     const char *name, u64 val)
{
#ifdef NTRACE_TREE_SET_CONFIG_BY_EVSEL
	evsel__set_config_if_unset(evsel, name, val);
#else
	evsel__set_config_if_unset(pmu, evsel, name, val);
#endif
}

/* Does perf read the file through a FILE? */
static inline bool ntrace_compat_use_stdio(const struct perf_data *data)
{
#ifdef NTRACE_TREE_FILE_STDIO
	return data->file.use_stdio;
#else
	return data->use_stdio;
#endif
}

/* PERF_RECORD_COMPRESSED2, which 6.12 does not know: a length, and padded bytes */
#define NTRACE_RECORD_COMPRESSED2	83

static inline void *ntrace_compat_compressed2(union perf_event *event, size_t *len)
{
	struct {
		struct perf_event_header header;
		__u64 size;
		char data[];
	} *rec = (void *)event;

	*len = 0;
	if (event->header.size >= sizeof(*rec))
		*len = min_t(__u64, rec->size, event->header.size - sizeof(*rec));
	return rec->data;
}

static inline void ntrace_compat_sample_init(struct perf_sample *sample)
{
#ifdef NTRACE_TREE_SAMPLE_INIT
	perf_sample__init(sample, /*all=*/true);
#else
	memset(sample, 0, sizeof(*sample));
#endif
}

static inline void ntrace_compat_sample_exit(struct perf_sample *sample __maybe_unused)
{
#ifdef NTRACE_TREE_SAMPLE_INIT
	perf_sample__exit(sample);
#endif
}

/* Older trees always write the index of a branch stack: remove it from the end of an event. */
static inline void ntrace_compat_drop_index(union perf_event *event __maybe_unused,
					    const struct perf_sample *sample __maybe_unused)
{
#ifndef NTRACE_TREE_SYNTH_BRANCH_TYPE
	size_t entries = sample->branch_stack->nr * sizeof(struct branch_entry);
	u8 *end = (u8 *)event + event->header.size;

	memmove(end - entries - sizeof(u64), end - entries, entries);
	event->header.size -= sizeof(u64);
#endif
}

/* Write a sample as an event, for `perf inject`. */
static inline int ntrace_compat_synthesize(union perf_event *event, u64 type, u64 branch_type,
					   struct perf_sample *sample)
{
	size_t size;
	int err;

#ifdef NTRACE_TREE_SYNTH_BRANCH_TYPE
	size = perf_event__sample_event_size(sample, type, /*read_format=*/0, branch_type);
#else
	size = perf_event__sample_event_size(sample, type, /*read_format=*/0);
#endif
	if (size >= PERF_SAMPLE_MAX_SIZE)
		return -E2BIG;
	event->header.size = size;
#ifdef NTRACE_TREE_SYNTH_BRANCH_TYPE
	err = perf_event__synthesize_sample(event, type, /*read_format=*/0, branch_type, sample);
#else
	err = perf_event__synthesize_sample(event, type, /*read_format=*/0, sample);
#endif
	if (!err && type & PERF_SAMPLE_BRANCH_STACK && !(branch_type & PERF_SAMPLE_BRANCH_HW_INDEX))
		ntrace_compat_drop_index(event, sample);
	return err;
}

/* The first event number that is free for synthesized events */
static inline u64 ntrace_compat_id_start(struct evsel *evsel)
{
#ifdef NTRACE_TREE_ID_RANGE_START
	return auxtrace_synth_id_range_start(evsel);
#else
	return evsel->core.id[0] + 1000000000 ?: 1;
#endif
}

#endif
