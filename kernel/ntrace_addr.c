// SPDX-License-Identifier: GPL-2.0-only
/*
 * Address filters of events (PERF_EVENT_IOC_SET_FILTER): ranges, or one place to start and one to
 * stop. perf's core knows where a file is mapped, and tells.
 */
#define pr_fmt(fmt) "ntrace: " fmt

#include <linux/slab.h>

#include "ntrace_addr.h"

/* What all encoders can do; as they come, it can only become less. */
static unsigned int ntrace_addr_nr = TR_TE_NR_COMPS;
static bool ntrace_addr_latch = true;

/**
 * ntrace_addr_bound - an encoder has come
 * @pmu:	perf's PMU
 * @enc:	the encoder
 *
 * The core sizes what belongs to an event by nr_addr_filters: it must not grow again, even if the
 * encoder goes.
 */
void ntrace_addr_bound(struct pmu *pmu, const struct ntrace_encoder *enc)
{
	ntrace_addr_nr = min_t(unsigned int, ntrace_addr_nr, enc->caps.ranges);
	ntrace_addr_latch = ntrace_addr_latch && enc->caps.latch;
	pmu->nr_addr_filters = ntrace_addr_nr;
}

/**
 * ntrace_addr_init - room for an event's ranges; children have their own, for their own mappings
 * @event: perf's event
 */
int ntrace_addr_init(struct perf_event *event)
{
	struct ntrace_ranges *ranges = kzalloc(sizeof(*ranges), GFP_KERNEL);

	event->hw.addr_filters = ranges;

	return ranges ? 0 : -ENOMEM;
}

/**
 * ntrace_addr_free - give it back
 * @event: perf's event
 */
void ntrace_addr_free(struct perf_event *event)
{
	kfree(event->hw.addr_filters);
	event->hw.addr_filters = NULL;
}

/* One filter among those before it: nothing, or why it cannot be */
static const char *ntrace_addr_refuse(const struct perf_addr_filter *filter, unsigned int ranges,
				      unsigned int starts, unsigned int stops)
{
	if (filter->action == PERF_ADDR_FILTER_ACTION_FILTER) {
		if (filter->offset + filter->size < filter->offset)
			return "a range ends behind the last address";
		return starts + stops ? "ranges, and places to start or stop, do not mix" : NULL;
	}
	if (!ntrace_addr_latch)
		return "start and stop need comparators that latch, which there are not";
	if (filter->size)
		return "start and stop are places, not ranges";
	if (ranges)
		return "ranges, and places to start or stop, do not mix";
	if (starts > 1 || stops > 1)
		return "there may be one place to start and one to stop";

	return NULL;
}

/**
 * ntrace_addr_validate - can this be filtered?
 * @filters: list of struct perf_addr_filter
 */
int ntrace_addr_validate(struct list_head *filters)
{
	unsigned int ranges = 0, starts = 0, stops = 0;
	struct perf_addr_filter *filter;
	const char *why = NULL;

	list_for_each_entry(filter, filters, entry) {
		ranges += filter->action == PERF_ADDR_FILTER_ACTION_FILTER;
		starts += filter->action == PERF_ADDR_FILTER_ACTION_START;
		stops += filter->action == PERF_ADDR_FILTER_ACTION_STOP;
		why = why ?: ntrace_addr_refuse(filter, ranges, starts, stops);
	}
	if (!why && ranges > ntrace_addr_nr)
		why = "more ranges than comparators";
	if (!why)
		return 0;

	pr_info_ratelimited("address filters: %s (nr_addr_filters is %u)\n", why, ntrace_addr_nr);
	return -EOPNOTSUPP;
}

/* A file that is not mapped has no addresses, and its range is empty. */
static void ntrace_addr_add_range(struct ntrace_ranges *ranges,
				  const struct perf_addr_filter *filter,
				  const struct perf_addr_filter_range *range)
{
	bool mapped = range->size || !filter->path.dentry;

	ranges->low[ranges->nr] = range->start;
	ranges->high[ranges->nr] = mapped ? range->start + range->size : 0;
	ranges->nr++;
}

static void ntrace_addr_add_latch(struct ntrace_ranges *ranges,
				  const struct perf_addr_filter *filter,
				  const struct perf_addr_filter_range *range)
{
	u64 *at = filter->action == PERF_ADDR_FILTER_ACTION_START ? ranges->low : ranges->high;

	if (!ranges->latch) {
		ranges->low[0] = NTRACE_NEVER;
		ranges->high[0] = NTRACE_NEVER;
	}
	ranges->latch = true;
	ranges->nr = 1;
	/* Where the file is not mapped: an address that is none, but does not mean "from now" */
	at[0] = range->start ?: filter->path.dentry ? NTRACE_NEVER - 2 : 0;
}

/**
 * ntrace_addr_sync - take over where the core says that the filters are
 * @event: perf's event, under its filters' lock
 */
void ntrace_addr_sync(struct perf_event *event)
{
	struct perf_addr_filters_head *head = perf_event_addr_filters(event);
	struct perf_addr_filter_range *range = event->addr_filter_ranges;
	struct ntrace_ranges *ranges = event->hw.addr_filters;
	struct perf_addr_filter *filter;

	memset(ranges, 0, sizeof(*ranges));
	list_for_each_entry(filter, &head->list, entry) {
		if (ranges->nr == TR_TE_NR_COMPS)
			break;
		if (filter->action == PERF_ADDR_FILTER_ACTION_FILTER)
			ntrace_addr_add_range(ranges, filter, range);
		else
			ntrace_addr_add_latch(ranges, filter, range);
		range++;
	}
}

/**
 * ntrace_addr_ranges - what is to be traced now
 * @event: perf's event
 */
const struct ntrace_ranges *ntrace_addr_ranges(struct perf_event *event)
{
	perf_event_addr_filters_sync(event);

	return event->hw.addr_filters;
}
