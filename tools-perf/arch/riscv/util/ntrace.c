// SPDX-License-Identifier: GPL-2.0-only
/*
 * Recording RISC-V N-Trace: the options of `perf record -e ntrace//`.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/perf_event.h>
#include <linux/types.h>
#include <linux/zalloc.h>

#include <internal/lib.h> // page_size
#include "../../../util/auxtrace.h"
#include "../../../util/callchain.h"
#include "../../../util/cpumap.h"
#include "../../../util/debug.h"
#include "../../../util/event.h"
#include "../../../util/evlist.h"
#include "../../../util/evsel.h"
#include "../../../util/evsel_config.h"
#include "../../../util/mmap.h"
#include "../../../util/perf_api_probe.h"
#include "../../../util/pmu.h"
#include "../../../util/record.h"
#include "../../../util/session.h"
#include "../../../util/target.h"
#include "../../../util/tsc.h"
#include "../../../util/ntrace.h"
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
	bool			wants_signal;	/* -S, and trace is being recorded */
	unsigned int		snapshots;
	struct ntrace_clock	clock;
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

/* Clocks that are set, or stand still, do not go with the hart's. */
static bool goes_along(clockid_t id)
{
	return id == CLOCK_MONOTONIC || id == CLOCK_MONOTONIC_RAW;
}

static int refuse_options(struct perf_pmu *pmu, struct record_opts *opts)
{
	const char *what = NULL;

	if (opts->use_clockid && !goes_along(opts->clockid))
		what = "a clockid (-k option) but monotonic and monotonic_raw";
	else if (opts->threads_spec)
		what = "parallel streaming (--threads option)";
	else if (opts->overwrite)
		what = "overwritten records (--overwrite option; -S keeps the newest trace)";

	if (!what)
		return 0;
	pr_err("Cannot use %s with %s\n", what, pmu->name);
	return -EINVAL;
}

/* perf would find out when the events are open, and blame the session. */
static int check_kcore(struct perf_pmu *pmu, const struct record_opts *opts)
{
	int fd, err;

	if (!opts->kcore)
		return 0;
	fd = open("/proc/kcore", O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		close(fd);
		return 0;
	}
	err = -errno;
	pr_err("%s: --kcore copies /proc/kcore, which cannot be read (%s): that takes root. A trace of user space needs none: -e %s//u\n",
	       pmu->name, strerror(-err), pmu->name);
	return err;
}

/* An event that is sampled: its frequency and call chains are its own. */
static bool has_sampled_event(struct perf_pmu *pmu, struct evlist *evlist)
{
	struct evsel *evsel;

	evlist__for_each_entry(evlist, evsel) {
		if (evsel->core.attr.type != pmu->type && !evsel__is_dummy_event(evsel))
			return true;
	}
	return false;
}

static const char *sampling_term(struct evsel *event)
{
	struct evsel_config_term *term;

	list_for_each_entry(term, &event->config_terms, list) {
		switch ((int)term->type) {
		case EVSEL__CONFIG_TERM_PERIOD:
			return "a period (the term period)";
		case EVSEL__CONFIG_TERM_FREQ:
			return "a frequency (the term freq)";
		case EVSEL__CONFIG_TERM_CALLGRAPH:
			return "call chains (the term call-graph)";
		case EVSEL__CONFIG_TERM_BRANCH:
			return "branch stacks (the term branch_type)";
		default:
			break;
		}
	}
	return NULL;
}

/* Nothing is sampled while a trace is recorded: who asks for it expects something else. */
static int refuse_sampling(struct perf_pmu *pmu, struct evlist *evlist, struct evsel *event,
			   struct record_opts *opts)
{
	const char *what = sampling_term(event);

	if (!what && !has_sampled_event(pmu, evlist)) {
		if (opts->user_freq != UINT_MAX)
			what = "a frequency (-F option)";
		else if (opts->user_interval != ULLONG_MAX)
			what = "a period (-c option)";
		else if (callchain_param.enabled)
			what = "call chains (-g option)";
		else if (opts->branch_stack)
			what = "branch stacks (-b, -j options)";
	}
	if (!what)
		return 0;
	pr_err("Cannot use %s with %s: the trace has every instruction. Choose samples, call chains (g) and branch stacks (l) when decoding, e.g. perf report --itrace=i100usg\n",
	       what, pmu->name);
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
	    ntrace_config_get(event, "contextid"))
		return 0;

	if (perf_can_record_switch_events()) {
		opts->record_switch_events = true;
		/* The first switches must not be missed. */
		tracking->immediate = true;
	}
	return 0;
}

/* The trace of a task pauses while the task runs on a CPU without an encoder or a sink. */
static void warn_of_untraced_cpus(struct perf_pmu *pmu, const struct record_opts *opts)
{
	struct perf_cpu_map *online;
	char list[256];

	if (opts->target.cpu_list || !pmu->cpus)
		return;
	online = perf_cpu_map__new_online_cpus();
	if (online && !perf_cpu_map__equal(online, pmu->cpus)) {
		cpu_map__snprint(pmu->cpus, list, sizeof(list));
		pr_warning("Only the CPUs %s have a trace encoder and a sink: %s does not record what runs on others\n",
			   list, pmu->name);
	}
	perf_cpu_map__put(online);
}

/* An encoder that counts calls cannot follow a CPU from one task to the next. */
static int check_target(struct perf_pmu *pmu, struct record_opts *opts)
{
	int wide;

	if (!target__has_cpu(&opts->target) ||
	    perf_pmu__scan_file(pmu, "caps/cpuwide", "%d", &wide) != 1 || wide)
		return 0;
	pr_err("%s: the trace encoders of this machine take returns of one task for those of another (caps/cpuwide is 0): record a program or a task (-p, -t), not CPUs (-a, -C)\n",
	       pmu->name);
	return -EINVAL;
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

	err = refuse_options(ptr->pmu, opts) ?: check_target(ptr->pmu, opts);
	if (!err)
		err = check_kcore(ptr->pmu, opts);
	if (!err)
		err = refuse_sampling(ptr->pmu, evlist, event, opts);
	if (err)
		return err;

	ptr->clock.wanted = opts->use_clockid;
	ptr->clock.id = opts->clockid;
	opts->full_auxtrace = true;
	err = choose_buffer_size(ptr->pmu, evlist, opts);
	if (err)
		return err;

	err = ntrace_config_apply(ptr->pmu, event, ntrace_ring_kept(evlist, opts));
	if (err)
		return err;

	warn_of_untraced_cpus(ptr->pmu, opts);
	ptr->wants_signal = opts->auxtrace_snapshot_mode;
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

	if (ntrace_info_build(ptr->pmu->type, flags, &ptr->info, ntrace_config_say))
		return 0;
	return ptr->info.nr * sizeof(u64);
}

/* From the `time` CSR to the kernel's own clock, which events have times of without -k */
static bool read_conversion(struct evlist *evlist, struct perf_tsc_conversion *tc)
{
	struct perf_event_mmap_page *pc = ntrace_compat_evlist_mmap(evlist)[0].core.base;

	memset(tc, 0, sizeof(*tc));
	if (pc && !perf_read_tsc_conversion(pc, tc))
		return true;
	pr_debug("ntrace: the kernel does not convert `time` to perf's clock\n");
	return false;
}

static void fill_clock(const struct ntrace_clock *clock, struct evlist *evlist, u64 *word)
{
	struct perf_tsc_conversion tc;

	if (clock->wanted && !clock->started)
		return;
	if (clock->wanted)
		tc = clock->tc;
	else if (!read_conversion(evlist, &tc))
		return;

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

	fill_clock(&ptr->clock, session->evlist, ptr->info.word);
	info->type = NTRACE_AUXTRACE_TYPE;
	memcpy(info->priv, ptr->info.word, priv_size);
	return 0;
}

int ntrace_record_clock(struct auxtrace_record *itr, bool end, const struct perf_tool *tool,
			ntrace_write_t write, struct machine *machine)
{
	struct perf_tsc_conversion tc;
	struct ntrace_recording *ptr;
	union perf_event ev;

	if (!itr || itr->info_fill != ntrace_info_fill)
		return 0;
	ptr = to_recording(itr);
	if (!ptr->clock.wanted || (end && !ptr->clock.started))
		return 0;
	if (end)
		ntrace_clock_end(&ptr->clock);
	else if (read_conversion(ptr->evlist, &tc))
		ntrace_clock_start(&ptr->clock, &tc);
	if (!ptr->clock.started)
		return 0;
	ntrace_clock_event(&ptr->clock, &ev.time_conv);
	return write(tool, &ev, NULL, machine);
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

	ptr->snapshots++;
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

	/* The words were filled in: so there was a recording. */
	if (ptr->wants_signal && ptr->info.nr && !ptr->snapshots)
		pr_warning("%s: no snapshot was taken, the file has no trace: send SIGUSR2 to perf while it records, or use -Se for one at the end\n",
			   ptr->pmu->name);
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
