// SPDX-License-Identifier: GPL-2.0-only
/*
 * AUX area tracing on RISC-V: finds the tracer that an event list asks for.
 */
#include <errno.h>
#include <stdbool.h>

#include "../../../util/auxtrace.h"
#include "../../../util/evlist.h"
#include "../../../util/evsel.h"
#include "../../../util/ntrace-info.h"
#include "../../../util/pmu.h"
#include "../../../util/pmus.h"
#include "ntrace.h"

void perf_pmu__arch_init(struct perf_pmu *pmu)
{
	if (strcmp(pmu->name, NTRACE_PMU_NAME))
		return;

	pmu->auxtrace = true;
	pmu->selectable = true;
	/* perf takes a PMU with a cpumask for one that tasks cannot have events of. */
	pmu->is_uncore = false;
	pmu->perf_event_attr_init_default = ntrace_default_attr;
}

struct auxtrace_record *auxtrace_record__init(struct evlist *evlist, int *err)
{
	struct perf_pmu *pmu;
	struct evsel *evsel;

	*err = 0;
	if (!evlist)
		return NULL;

	pmu = perf_pmus__find(NTRACE_PMU_NAME);
	if (!pmu)
		return NULL;

	evlist__for_each_entry(evlist, evsel) {
		if (evsel->core.attr.type == pmu->type)
			return ntrace_recording_init(err, pmu);
	}
	return NULL;
}
