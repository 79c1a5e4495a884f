// SPDX-License-Identifier: GPL-2.0-only
/*
 * Trace of which only the end is kept: snapshots (-S), taken from a circular
 * AUX area when a signal says so, and AUX area samples (--aux-sample), which the
 * kernel takes from it with every sample of another event.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <linux/kernel.h>
#include <linux/log2.h>

#include <internal/lib.h> // page_size
#include "../../../util/auxtrace.h"
#include "../../../util/debug.h"
#include "../../../util/evlist.h"
#include "../../../util/evsel.h"
#include "../../../util/perf_api_probe.h"
#include "../../../util/pmu.h"
#include "../../../util/record.h"
#include "../../../util/ntrace-compat.h"
#include "ntrace.h"

#define KiB(x) ((x) * 1024ULL)
#define MiB(x) ((x) * 1024ULL * 1024)

/*
 * A circular area has to be one piece of memory, because the hardware knows only
 * addresses without gaps. The kernel has no larger ones.
 */
#define NTRACE_MAX_RING		MiB(4)
#define NTRACE_MIN_RING		KiB(8)

#define NTRACE_SAMPLE_SIZE	KiB(4)

/* A number, or one with a unit. parse_tag_value() takes "64Kx", too. Return: 0 if it is no size */
static unsigned long long parse_size(const char *str)
{
	unsigned long long size;
	unsigned int shift = 0;
	char *end;

	errno = 0;
	size = strtoull(str, &end, 0);
	if (*end == 'K' || *end == 'M')
		shift = *end++ == 'K' ? 10 : 20;
	else if (*end == 'B')
		end++;
	return *end || errno || size > ULLONG_MAX >> shift ? 0 : size << shift;
}

/* -S[e][SIZE[BKM]] */
int ntrace_snapshot_parse(struct auxtrace_record *itr __maybe_unused, struct record_opts *opts,
			  const char *str)
{
	unsigned long long size = 0;

	if (str && *str) {
		size = parse_size(str);
		if (!size || size > NTRACE_MAX_RING) {
			pr_err("-S%s: a snapshot has from 1 to %llu bytes, e.g. -S65536 or -S64K\n",
			       str, NTRACE_MAX_RING);
			return -EINVAL;
		}
	}

	opts->auxtrace_snapshot_mode = true;
	opts->auxtrace_snapshot_size = size;
	return 0;
}

/* As much memory as is asked for, or as fits what a user may lock */
static void default_ring(struct record_opts *opts, unsigned long long most)
{
	if (opts->auxtrace_mmap_pages)
		return;

	if (!perf_event_paranoid_check(-1)) {
		most = min(most, KiB(128));
		if (opts->mmap_pages == UINT_MAX)
			opts->mmap_pages = KiB(256) / page_size;
	}
	most = max(most, NTRACE_MIN_RING);
	opts->auxtrace_mmap_pages = roundup_pow_of_two(most) / page_size;
}

static int check_ring(struct perf_pmu *pmu, const struct record_opts *opts, const char *what,
		      unsigned long long size)
{
	unsigned long long ring = opts->auxtrace_mmap_pages * (unsigned long long)page_size;

	if (ring < NTRACE_MIN_RING || ring > NTRACE_MAX_RING || !is_power_of_2(ring)) {
		pr_err("%s: the AUX area for %s is one piece of memory: from %lluKiB to %lluMiB and a power of 2, not %lluKiB\n",
		       pmu->name, what, NTRACE_MIN_RING / 1024, NTRACE_MAX_RING >> 20, ring / 1024);
		return -EINVAL;
	}
	if (size > ring) {
		pr_err("%s: %s of %llu bytes cannot come from an AUX area of %llu: see -m\n",
		       pmu->name, what, size, ring);
		return -EINVAL;
	}
	return 0;
}

static int choose_snapshot_size(struct perf_pmu *pmu, struct record_opts *opts)
{
	default_ring(opts, opts->auxtrace_snapshot_size ?: NTRACE_MAX_RING);
	if (!opts->auxtrace_snapshot_size)
		opts->auxtrace_snapshot_size = opts->auxtrace_mmap_pages * (size_t)page_size;
	return check_ring(pmu, opts, "snapshots (-S)", opts->auxtrace_snapshot_size);
}

static u32 smallest_sample(struct evlist *evlist, u32 *largest)
{
	u32 smallest = UINT_MAX;
	struct evsel *evsel;

	*largest = 0;
	evlist__for_each_entry(evlist, evsel) {
		u32 size = evsel->core.attr.aux_sample_size;

		if (!size)
			continue;
		smallest = min(smallest, size);
		*largest = max(*largest, size);
	}
	return smallest;
}

static int choose_sample_size(struct perf_pmu *pmu, struct evlist *evlist,
			      struct record_opts *opts)
{
	u32 largest;

	smallest_sample(evlist, &largest);
	default_ring(opts, largest);
	return check_ring(pmu, opts, "AUX area samples (--aux-sample)", largest);
}

/* The size of a circular AUX area, for a mode that has one */
int ntrace_ring_choose(struct perf_pmu *pmu, struct evlist *evlist, struct record_opts *opts)
{
	if (opts->auxtrace_snapshot_mode && opts->auxtrace_sample_mode) {
		pr_err("%s: take snapshots (-S) or AUX area samples (--aux-sample), not both\n",
		       pmu->name);
		return -EINVAL;
	}
	return opts->auxtrace_snapshot_mode ? choose_snapshot_size(pmu, opts) :
					      choose_sample_size(pmu, evlist, opts);
}

/* Bytes of trace in which decoding has to find a beginning; 0: there is no lack of them */
u64 ntrace_ring_kept(struct evlist *evlist, const struct record_opts *opts)
{
	u32 largest;

	if (opts->auxtrace_sample_mode)
		return smallest_sample(evlist, &largest);
	return opts->auxtrace_snapshot_mode ? opts->auxtrace_snapshot_size : 0;
}

static int all_events(struct evlist *evlist, struct perf_pmu *pmu,
		      int (*what)(struct evsel *evsel))
{
	struct evsel *evsel;

	evlist__for_each_entry(evlist, evsel) {
		if (evsel->core.attr.type == pmu->type)
			return what(evsel);
	}
	return -EINVAL;
}

/* The trace must stand still while it is read. */
int ntrace_snapshot_start(struct evlist *evlist, struct perf_pmu *pmu)
{
	return all_events(evlist, pmu, evsel__disable);
}

int ntrace_snapshot_finish(struct evlist *evlist, struct perf_pmu *pmu)
{
	return all_events(evlist, pmu, evsel__enable);
}

/*
 * The driver counts all bytes that were ever written, so head and old tell what
 * is new without a look at the bytes: at most one lap.
 */
int ntrace_snapshot_find(struct auxtrace_record *itr __maybe_unused, int idx __maybe_unused,
			 struct auxtrace_mmap *mm, unsigned char *data __maybe_unused, u64 *head,
			 u64 *old)
{
	if (*head - *old > mm->len)
		*old = *head - mm->len;
	return 0;
}

/* What AUX records say of a window, a sample has to say itself. */
void ntrace_samples_set_up(struct evlist *evlist)
{
	struct evsel *evsel;

	evlist__for_each_entry(evlist, evsel) {
		if (!evsel->core.attr.aux_sample_size)
			continue;
		evsel__set_sample_bit(evsel, TIME);
		evsel__set_sample_bit(evsel, TID);
		evsel__set_sample_bit(evsel, CPU);
	}
}

size_t ntrace_default_sample_size(void)
{
	return NTRACE_SAMPLE_SIZE;
}
