// SPDX-License-Identifier: GPL-2.0-only
/*
 * The terms of perf's event: what ntrace-terms.c makes of them
 */
#include <errno.h>
#include <stdlib.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>

#include "../../../util/debug.h"
#include "../../../util/evlist.h"
#include "../../../util/evsel.h"
#include "../../../util/evsel_config.h"
#include "../../../util/pmu.h"
#include "../../../util/ntrace-compat.h"
#include "ntrace.h"

struct config {
	struct ntrace_terms terms;
	struct perf_pmu *pmu;
	struct evsel *evsel;
};

/* perf knows what the user set. */
static void set_if_unset(struct ntrace_terms *t, const char *name, u64 val)
{
	struct config *c = container_of(t, struct config, terms);

	ntrace_compat_set_config_if_unset(c->pmu, c->evsel, name, val);
	t->config = c->evsel->core.attr.config;
}

void ntrace_config_say(bool error, const char *text)
{
	if (error)
		pr_err("%s\n", text);
	else
		pr_warning("%s\n", text);
}

static const char *chosen_sink(struct evsel *evsel)
{
	struct evsel_config_term *term;
	const char *sink = NULL;

	list_for_each_entry(term, &evsel->config_terms, list) {
		if (term->type == EVSEL__CONFIG_TERM_DRV_CFG)
			sink = term->val.str;
	}
	return sink;
}

u64 ntrace_config_get(struct evsel *evsel, const char *name)
{
	return ntrace_terms_get(evsel->core.attr.config, name);
}

/* @kept: how many bytes of trace are kept at a time, 0: all */
int ntrace_config_apply(struct perf_pmu *pmu, struct evsel *evsel, u64 kept)
{
	struct perf_event_attr *attr = &evsel->core.attr;
	struct config c = {
		.pmu = pmu,
		.evsel = evsel,
		.terms = {
			.config		= attr->config,
			.config2	= attr->config2,
			.sink		= chosen_sink(evsel),
			.exclude_user	= attr->exclude_user,
			.exclude_kernel	= attr->exclude_kernel,
			.exclude_guest	= attr->exclude_guest,
			.exclude_host	= attr->exclude_host,
			.exclude_idle	= attr->exclude_idle,
			.guests_chosen	= evsel->exclude_GH,
			.set_if_unset	= set_if_unset,
			.say		= ntrace_config_say,
		},
	};
	int err = ntrace_terms_apply(&c.terms, kept);

	attr->config2 = c.terms.config2;
	attr->exclude_guest = c.terms.exclude_guest;
	return err;
}
