// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events: which are taken, and what each of them holds.
 */
#define pr_fmt(fmt) "ntrace: " fmt

#include <linux/capability.h>
#include <linux/pid_namespace.h>
#include <linux/slab.h>

#include "ntrace_compat.h"
#include "ntrace_pmu.h"

/*
 * Address filters of events (PERF_EVENT_IOC_SET_FILTER): ranges, or one place to start and one to
 * stop. perf's core knows where a file is mapped, and tells.
 */

/* What all encoders can do; as they come, it can only become less. */
static unsigned int ntrace_addr_nr = TR_TE_NR_COMPS;
static bool ntrace_addr_latch = true;

/* Events without their children, which they outlive. Protected by ntrace_components_lock. */
static unsigned int ntrace_addr_users;

/* A comparator that latches takes two filters: a place to start, and one to stop. */
#define NTRACE_LATCH_FILTERS	2U

/*
 * The core sizes what belongs to an event and to each of its children by nr_addr_filters, writes as
 * many entries as there are filters, and frees filters only while there can be any: the number
 * covers all that ntrace_addr_validate() allows, and stays while there are events.
 */
static void ntrace_addr_set(struct pmu *pmu)
{
	if (ntrace_addr_users)
		return;
	pmu->nr_addr_filters = ntrace_addr_nr;
	if (ntrace_addr_latch && ntrace_addr_nr)
		pmu->nr_addr_filters = max(ntrace_addr_nr, NTRACE_LATCH_FILTERS);
}

/* An encoder has come. The number does not grow again if the encoder goes. */
void ntrace_addr_bound(struct pmu *pmu, const struct ntrace_encoder *enc)
{
	ntrace_addr_nr = min_t(unsigned int, ntrace_addr_nr, enc->caps.ranges);
	ntrace_addr_latch = ntrace_addr_latch && enc->caps.latch;
	ntrace_addr_set(pmu);
}

static void ntrace_addr_get(void)
{
	guard(mutex)(&ntrace_components_lock);
	ntrace_addr_users++;
}

/* With ntrace_components_lock held */
static void ntrace_addr_put(struct pmu *pmu)
{
	ntrace_addr_users--;
	ntrace_addr_set(pmu);
}

/* Room for an event's ranges; children have their own, for their own mappings */
static int ntrace_addr_init(struct perf_event *event)
{
	struct ntrace_ranges *ranges = kzalloc(sizeof(*ranges), GFP_KERNEL);

	event->hw.addr_filters = ranges;

	return ranges ? 0 : -ENOMEM;
}

/* Give it back */
static void ntrace_addr_free(struct perf_event *event)
{
	kfree(event->hw.addr_filters);
	event->hw.addr_filters = NULL;
}

static enum ntrace_ranges_kind ntrace_addr_kind(const struct perf_addr_filter *filter)
{
	switch (filter->action) {
	case PERF_ADDR_FILTER_ACTION_START:
		return NTRACE_RANGE_START;
	case PERF_ADDR_FILTER_ACTION_STOP:
		return NTRACE_RANGE_STOP;
	default:
		return NTRACE_RANGE;
	}
}

/* Can this be filtered? */
int ntrace_addr_validate(struct list_head *filters)
{
	struct ntrace_ranges_check check = { .comps = ntrace_addr_nr, .latch = ntrace_addr_latch };
	struct perf_addr_filter *filter;
	const char *why;

	list_for_each_entry(filter, filters, entry) {
		why = ntrace_ranges_refuse(&check, ntrace_addr_kind(filter), filter->offset,
					   filter->size);
		if (!why)
			continue;
		pr_info_ratelimited("address filters: %s (comparators: %u)\n", why, check.comps);
		return -EOPNOTSUPP;
	}

	return 0;
}

/* Take over where the core says that the filters are, under their lock */
void ntrace_addr_sync(struct perf_event *event)
{
	struct perf_addr_filters_head *head = perf_event_addr_filters(event);
	struct perf_addr_filter_range *range = event->addr_filter_ranges;
	struct ntrace_ranges *ranges = event->hw.addr_filters;
	struct perf_addr_filter *filter;

	memset(ranges, 0, sizeof(*ranges));
	list_for_each_entry(filter, &head->list, entry) {
		ntrace_ranges_add(ranges, ntrace_addr_kind(filter), range->start, range->size,
				  filter->path.dentry);
		range++;
	}
}

/* What is to be traced now */
const struct ntrace_ranges *ntrace_addr_ranges(struct perf_event *event)
{
	perf_event_addr_filters_sync(event);

	return event->hw.addr_filters;
}

/* Events */

static int ntrace_event_check(struct perf_event *event)
{
	struct perf_event_attr *attr = &event->attr;
	u32 privs = ntrace_attr_privs(attr);
	int ret;

	if (ntrace_attr_has_unknown_bits(attr))
		return -EINVAL;
	if (!privs)
		return -EINVAL;
	if (!is_sampling_event(event)) {
		pr_info_ratelimited("an event without sample_period would count, but trace cannot be counted\n");
		return -EOPNOTSUPP;
	}
	if (attr->exclude_idle || has_branch_stack(event))
		return -EOPNOTSUPP;
	/* Stalling a hart delays all other tasks on it. */
	if ((ntrace_attr(attr, MMODE) || ntrace_attr(attr, STALL)) && !perfmon_capable())
		return -EACCES;
	if (!attr->exclude_kernel) {
		ret = ntrace_allow_kernel(attr);
		if (ret)
			return ret;
	}
	/* TIDs are those of the initial namespace, which is not everybody's to see. */
	if (ntrace_attr(attr, CONTEXTID) && task_active_pid_ns(current) != &init_pid_ns &&
	    !perfmon_capable())
		return -EACCES;
	/* A hart that stalls takes interrupts only if their handlers do not stall too. */
	if (ntrace_attr(attr, STALL) && privs & ~(TR_TE_PRIV_U | TR_TE_PRIV_VU)) {
		pr_info_ratelimited("stall is for user space only (exclude_kernel, no mmode): a stalled kernel could not make room\n");
		return -EOPNOTSUPP;
	}

	return 0;
}

/* Between two tasks an encoder that counts calls must be off: an event of a CPU goes on there. */
static int ntrace_event_check_counter(const struct perf_event *event,
				      const struct ntrace_encoder *enc,
				      const struct ntrace_encoder_config *config)
{
	/* Where the kernel is not traced, a sync message behind it resets the counter. */
	const u32 kernel = TR_TE_PRIV_S | TR_TE_PRIV_VS | TR_TE_PRIV_M;

	if (event->attach_state & PERF_ATTACH_TASK || !ntrace_config_counts_calls(config) ||
	    (config->privs && !(config->privs & kernel)))
		return 0;

	pr_info_ratelimited("CPU %d: its encoder takes returns of one task for those of another, so tasks can be traced, but no CPU\n",
			    enc->comp.cpu);
	return -EOPNOTSUPP;
}

static int ntrace_event_init_cpu(struct perf_event *event, struct ntrace_event *ev,
				 struct ntrace_event_cpu *on, int cpu)
{
	struct ntrace_path *path;
	int ret;

	path = ntrace_path_get(cpu, ntrace_attr_sinkid(&event->attr), ev->owner);
	if (IS_ERR(path))
		return PTR_ERR(path);

	ret = ntrace_attr_to_config(&event->attr, path->encoder, ntrace_path_is_shared(path),
				    &on->config) ?:
	      ntrace_event_check_counter(event, path->encoder, &on->config);
	if (ret)
		ntrace_path_put(path);
	else
		on->path = path;

	return ret;
}

/*
 * An event for any CPU does with those that can be traced, but not without any. What one encoder
 * lacks, or that it does not react, is no reason not to trace elsewhere.
 */
static int ntrace_event_init_paths(struct perf_event *event, struct ntrace_event *ev)
{
	int cpu, ret, found = 0, none = -ENODEV;

	guard(mutex)(&ntrace_components_lock);

	if (event->cpu >= 0) {
		ret = ntrace_event_init_cpu(event, ev, &ev->cpu[0], event->cpu);
		if (ret == -ENODEV)
			pr_info_ratelimited("CPU %d cannot be traced\n", event->cpu);
		return ret;
	}

	for_each_possible_cpu(cpu) {
		ret = ntrace_event_init_cpu(event, ev, &ev->cpu[cpu], cpu);
		if (!ret)
			found++;
		else if (ret == -ENODEV || ret == -EINVAL || ret == -EIO)
			none = ret == -ENODEV ? none : ret;
		else
			return ret;
	}

	return found ? 0 : none;
}

static void ntrace_event_free(struct pmu *pmu, struct ntrace_event *ev)
{
	unsigned int i;

	scoped_guard(mutex, &ntrace_components_lock) {
		for (i = 0; i < ev->nr; i++)
			if (ev->cpu[i].path)
				ntrace_path_put(ev->cpu[i].path);
		ntrace_addr_put(pmu);
	}

	if (ev->context)
		ntrace_context_put();
	put_pid(ev->owner);
	kfree(ev);
}

/* Has everything gone that it could be traced with? */
bool ntrace_event_is_lost(const struct perf_event *event)
{
	const struct ntrace_event *ev = to_ntrace_event(event);
	unsigned int i;

	for (i = 0; i < ev->nr; i++)
		if (ev->cpu[i].path && !READ_ONCE(ev->cpu[i].path->gone))
			return false;

	return true;
}

static void ntrace_event_destroy_child(struct perf_event *event)
{
	ntrace_addr_free(event);
}

static void ntrace_event_destroy(struct perf_event *event)
{
	ntrace_addr_free(event);
	ntrace_event_free(event->pmu, event->pmu_private);
}

/* Take an event or refuse it */
int ntrace_event_init(struct perf_event *event)
{
	unsigned int nr = event->cpu < 0 ? nr_cpu_ids : 1;
	struct ntrace_event *ev;
	int ret;

	if (event->attr.type != event->pmu->type)
		return -ENOENT;

	/* The parent outlives its children. */
	if (event->parent) {
		event->pmu_private = event->parent->pmu_private;
		event->destroy = ntrace_event_destroy_child;
		return ntrace_addr_init(event);
	}

	ret = ntrace_event_check(event);
	if (ret)
		return ret;

	ev = kzalloc(struct_size(ev, cpu, nr), GFP_KERNEL);
	if (!ev)
		return -ENOMEM;
	ev->nr = nr;
	ntrace_addr_get();
	/*
	 * perf record -F asks all events for a frequency. For its sake the core would stop and
	 * start this one at every tick, to adjust a period that means nothing.
	 */
	event->attr.freq = 0;
	ev->owner = get_task_pid(current, PIDTYPE_PID);
	ev->lossless = ntrace_attr(&event->attr, STALL);
	/*
	 * On a CPU that is traced whoever runs there, the reader itself might be the one to wait.
	 */
	ev->patient = ev->lossless && event->attach_state & PERF_ATTACH_TASK;

	ret = ntrace_event_init_paths(event, ev);
	if (!ret && ntrace_attr(&event->attr, CONTEXTID)) {
		ret = ntrace_context_get();
		ev->context = !ret;
	}
	ret = ret ?: ntrace_addr_init(event);
	if (ret) {
		ntrace_event_free(event->pmu, ev);
		return ret;
	}

	event->pmu_private = ev;
	event->destroy = ntrace_event_destroy;

	return 0;
}
