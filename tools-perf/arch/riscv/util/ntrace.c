// SPDX-License-Identifier: GPL-2.0-only
/*
 * Recording RISC-V N-Trace: the options of `perf record -e ntrace//`.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/perf_event.h>
#include <linux/types.h>
#include <linux/zalloc.h>

#include <internal/lib.h> // page_size
#include "../../../util/auxtrace.h"
#include "../../../util/cpumap.h"
#include "../../../util/debug.h"
#include "../../../util/event.h"
#include "../../../util/evlist.h"
#include "../../../util/evsel.h"
#include "../../../util/mmap.h"
#include "../../../util/perf_api_probe.h"
#include "../../../util/pmu.h"
#include "../../../util/record.h"
#include "../../../util/session.h"
#include "../../../util/target.h"
#include "../../../util/tsc.h"
#include "../../../util/ntrace-compat.h"
#include "../../../util/ntrace-info.h"
#include "ntrace.h"

#define KiB(x) ((x) * 1024)
#define MiB(x) ((x) * 1024 * 1024)

#define NTRACE_MIN_AUX	KiB(8)

struct ntrace_recording {
	struct auxtrace_record	itr;
	struct perf_pmu		*pmu;
	struct evlist		*evlist;
	struct ntrace_words	info;
};

static struct ntrace_recording *to_recording(struct auxtrace_record *itr)
{
	return container_of(itr, struct ntrace_recording, itr);
}

/* Every event begins with nothing set, so that perf notes what the user sets. */
void ntrace_default_attr(const struct perf_pmu *pmu __maybe_unused,
			 struct perf_event_attr *attr)
{
	attr->sample_period = 1;
}

/* Per thread: one buffer for each thread, whatever CPU it runs on */
static bool is_per_thread(struct evlist *evlist)
{
	struct perf_evlist *core = ntrace_compat_evlist_core(evlist);

	return perf_cpu_map__is_any_cpu_or_is_empty(core->user_requested_cpus);
}

static int refuse_options(struct perf_pmu *pmu, struct record_opts *opts)
{
	const char *what = NULL;

	if (opts->use_clockid)
		what = "clockid (-k option)";
	else if (opts->comp_level)
		what = "compression (-z option)";
	else if (opts->threads_spec)
		what = "parallel streaming (--threads option)";
	else if (opts->overwrite)
		what = "overwritten records (--overwrite option; -S keeps the newest trace)";

	if (!what)
		return 0;
	pr_err("Cannot use %s with %s\n", what, pmu->name);
	return -EINVAL;
}

static int find_event(struct perf_pmu *pmu, struct evlist *evlist, struct evsel **found)
{
	struct evsel *evsel;

	*found = NULL;
	evlist__for_each_entry(evlist, evsel) {
		if (evsel->core.attr.type != pmu->type)
			continue;
		if (*found) {
			pr_err("There may be only one %s event\n", pmu->name);
			return -EINVAL;
		}
		*found = evsel;
	}
	return 0;
}

static int choose_buffer_size(struct perf_pmu *pmu, struct evlist *evlist,
			      struct record_opts *opts)
{
	size_t size;

	if (opts->auxtrace_snapshot_mode || opts->auxtrace_sample_mode)
		return ntrace_ring_choose(pmu, evlist, opts);

	if (!opts->auxtrace_mmap_pages) {
		if (perf_event_paranoid_check(-1)) {
			opts->auxtrace_mmap_pages = MiB(4) / page_size;
		} else {
			/* Both buffers must fit into what a user may lock. */
			opts->auxtrace_mmap_pages = KiB(128) / page_size;
			if (opts->mmap_pages == UINT_MAX)
				opts->mmap_pages = KiB(256) / page_size;
		}
	}

	size = opts->auxtrace_mmap_pages * (size_t)page_size;
	if (size < NTRACE_MIN_AUX || !is_power_of_2(size)) {
		pr_err("Invalid mmap size for %s: must be at least %dKiB and a power of 2\n",
		       pmu->name, NTRACE_MIN_AUX / 1024);
		return -EINVAL;
	}
	return 0;
}

/*
 * Wake perf, and let the kernel make the buffer of pieces, a quarter of it long
 * and not half: while perf is late there is more left to fill.  Pieces below
 * 64 KiB would have the driver move windows all the time.
 */
static u32 watermark(const struct record_opts *opts)
{
	size_t quarter = opts->auxtrace_mmap_pages * (size_t)page_size / 4;

	/* Nobody is woken to read a circular one. */
	if (quarter < KiB(64) || opts->auxtrace_snapshot_mode || opts->auxtrace_sample_mode)
		return 0;
	return quarter > UINT_MAX ? UINT_MAX : quarter;
}

static void set_up_event(struct evlist *evlist, struct evsel *evsel,
			 const struct record_opts *opts)
{
	evsel->core.attr.aux_watermark = watermark(opts);
	evsel->core.attr.freq = 0;
	evsel->core.attr.sample_period = 1;
	evsel->no_aux_samples = true;
	evsel->needs_auxtrace_mmap = true;

	/* The AUX buffer belongs to the first event. */
	evlist__to_front(evlist, evsel);

	/* So that an AUX record says whose it is, where and when. */
	evsel__set_sample_bit(evsel, TIME);
	evsel__set_sample_bit(evsel, TID);
	evsel__set_sample_bit(evsel, CPU);
}

/*
 * A dummy event brings what decoding needs beside the trace: mappings, names,
 * forks, and context switches where the trace itself does not tell who runs.
 */
static int add_tracking_event(struct ntrace_recording *ptr, struct evsel *event,
			      struct record_opts *opts)
{
	bool user = !event->core.attr.exclude_user;
	struct evlist *evlist = ptr->evlist;
	struct evsel *tracking;

	/* Tasks come to the chosen CPUs from others, with mappings made there. */
	tracking = evlist__add_aux_dummy(evlist, opts->target.cpu_list && user);
	if (!tracking)
		return -ENOMEM;

	evlist__set_tracking_event(evlist, tracking);
	evsel__set_sample_bit(tracking, TIME);
	evsel__set_sample_bit(tracking, TID);
	evsel__set_sample_bit(tracking, CPU);

	if (is_per_thread(evlist) || record_opts__no_switch_events(opts) ||
	    ntrace_config_get(ptr->pmu, event, "contextid"))
		return 0;

	if (perf_can_record_switch_events()) {
		opts->record_switch_events = true;
		/* The first switches must not be missed. */
		tracking->immediate = true;
	}
	return 0;
}

static int ntrace_recording_options(struct auxtrace_record *itr, struct evlist *evlist,
				    struct record_opts *opts)
{
	struct ntrace_recording *ptr = to_recording(itr);
	struct evsel *event;
	int err;

	ptr->evlist = evlist;
	err = find_event(ptr->pmu, evlist, &event);
	if (err || !event)
		return err;

	err = refuse_options(ptr->pmu, opts);
	if (err)
		return err;

	opts->full_auxtrace = true;
	err = choose_buffer_size(ptr->pmu, evlist, opts);
	if (err)
		return err;

	err = ntrace_config_apply(ptr->pmu, event, ntrace_ring_kept(evlist, opts));
	if (err)
		return err;

	set_up_event(evlist, event, opts);
	ntrace_samples_set_up(evlist);

	if (!event->core.attr.exclude_kernel && perf_can_record_text_poke_events() &&
	    perf_can_record_cpu_wide())
		opts->text_poke = true;

	return add_tracking_event(ptr, event, opts);
}

/* The words are collected here, because only now is their number known. */
static size_t ntrace_info_priv_size(struct auxtrace_record *itr, struct evlist *evlist)
{
	struct ntrace_recording *ptr = to_recording(itr);
	u64 flags = is_per_thread(evlist) ? NTRACE_INFO_FLAG_PER_THREAD : 0;

	if (ntrace_info_build(ptr->pmu, flags, &ptr->info))
		return 0;
	return ptr->info.nr * sizeof(u64);
}

static void fill_clock(struct evlist *evlist, u64 *word)
{
	struct perf_event_mmap_page *pc = ntrace_compat_evlist_mmap(evlist)[0].core.base;
	struct perf_tsc_conversion tc = { 0 };

	if (!pc || perf_read_tsc_conversion(pc, &tc)) {
		pr_debug("ntrace: the kernel does not convert `time` to perf's clock\n");
		return;
	}

	word[NTRACE_INFO_TIME_CAPS] = NTRACE_INFO_TIME_CAP_ZERO;
	if (tc.cap_user_time_short)
		word[NTRACE_INFO_TIME_CAPS] |= NTRACE_INFO_TIME_CAP_SHORT;
	word[NTRACE_INFO_TIME_SHIFT]  = tc.time_shift;
	word[NTRACE_INFO_TIME_MULT]   = tc.time_mult;
	word[NTRACE_INFO_TIME_ZERO]   = tc.time_zero;
	word[NTRACE_INFO_TIME_CYCLES] = tc.time_cycles;
	word[NTRACE_INFO_TIME_MASK]   = tc.time_mask;
}

static int ntrace_info_fill(struct auxtrace_record *itr, struct perf_session *session,
			    struct perf_record_auxtrace_info *info, size_t priv_size)
{
	struct ntrace_recording *ptr = to_recording(itr);

	if (!priv_size || priv_size != ptr->info.nr * sizeof(u64))
		return -EINVAL;
	if (!ntrace_compat_evlist_core(session->evlist)->nr_mmaps)
		return -EINVAL;

	fill_clock(session->evlist, ptr->info.word);
	info->type = NTRACE_AUXTRACE_TYPE;
	memcpy(info->priv, ptr->info.word, priv_size);
	return 0;
}

/* Only has to differ from one piece of trace to the next. */
static u64 ntrace_reference(struct auxtrace_record *itr __maybe_unused)
{
	unsigned long now;

	__asm__ __volatile__("rdtime %0" : "=r" (now));
	return now;
}

static int ntrace_recording_snapshot_start(struct auxtrace_record *itr)
{
	struct ntrace_recording *ptr = to_recording(itr);

	return ntrace_snapshot_start(ptr->evlist, ptr->pmu);
}

static int ntrace_recording_snapshot_finish(struct auxtrace_record *itr)
{
	struct ntrace_recording *ptr = to_recording(itr);

	return ntrace_snapshot_finish(ptr->evlist, ptr->pmu);
}

static void ntrace_recording_free(struct auxtrace_record *itr)
{
	struct ntrace_recording *ptr = to_recording(itr);

	free(ptr->info.word);
	free(ptr);
}

struct auxtrace_record *ntrace_recording_init(int *err, struct perf_pmu *pmu)
{
	struct ntrace_recording *ptr = zalloc(sizeof(*ptr));

	if (!ptr) {
		*err = -ENOMEM;
		return NULL;
	}

	ptr->pmu = pmu;
	ptr->itr.recording_options	 = ntrace_recording_options;
	ptr->itr.info_priv_size		 = ntrace_info_priv_size;
	ptr->itr.info_fill		 = ntrace_info_fill;
	ptr->itr.free			 = ntrace_recording_free;
	ptr->itr.parse_snapshot_options	 = ntrace_snapshot_parse;
	ptr->itr.snapshot_start		 = ntrace_recording_snapshot_start;
	ptr->itr.snapshot_finish	 = ntrace_recording_snapshot_finish;
	ptr->itr.find_snapshot		 = ntrace_snapshot_find;
	ptr->itr.reference		 = ntrace_reference;
	ptr->itr.read_finish		 = auxtrace_record__read_finish;
	ptr->itr.default_aux_sample_size = ntrace_default_sample_size();

	*err = 0;
	return &ptr->itr;
}
