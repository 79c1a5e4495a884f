// SPDX-License-Identifier: GPL-2.0-only
/*
 * Adds what perf record omits in all files but the first (--switch-output) and the decoder needs:
 * running tasks and their mappings.
 */
#include <linux/compiler.h>

#include "debug.h"
#include "evlist.h"
#include "evsel.h"
#include "machine.h"
#include "pmu.h"
#include "pmus.h"
#include "record.h"
#include "synthetic-events.h"
#include "target.h"
#include "ntrace.h"
#include "ntrace-compat.h"
#include "ntrace-priv.h"

bool ntrace_is_recorded(struct evlist *evlist)
{
	struct perf_pmu *pmu = perf_pmus__find(NTRACE_PMU_NAME);
	struct evsel *evsel;

	if (!pmu)
		return false;
	evlist__for_each_entry(evlist, evsel) {
		if (evsel->core.attr.type == pmu->type)
			return true;
	}
	return false;
}

/*
 * Write everything that is known of tasks into the new file. If this is incomplete, let perf
 * describe all existing tasks. perf itself only describes the process that it started or was given,
 * but the event follows its children. Any process may be such a child, even one that was
 * reparented.
 */
void ntrace_record_switched(struct evlist *evlist, struct record_opts *opts,
			    const struct perf_tool *tool, ntrace_write_t write,
			    struct machine *machine)
{
	int ret;

	if (!ntrace_is_recorded(evlist))
		return;
	ret = ntrace_switch_write(tool, write, machine);
	if (ret > 0 && !target__has_cpu(&opts->target))
		ret = perf_event__synthesize_threads(tool, write, machine, /*needs_mmap=*/true,
						     opts->sample_address,
						     /*nr_threads_synthesize=*/1);
	if (ret < 0)
		pr_warning("ntrace: cannot describe the tasks in the new file: trace of some cannot be decoded\n");
}

/* Other architectures record nothing. */
int __weak ntrace_record_clock(struct auxtrace_record *itr __maybe_unused,
			       bool end __maybe_unused,
			       const struct perf_tool *tool __maybe_unused,
			       ntrace_write_t write __maybe_unused,
			       struct machine *machine __maybe_unused)
{
	return 0;
}
