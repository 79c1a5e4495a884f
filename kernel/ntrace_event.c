// SPDX-License-Identifier: GPL-2.0-only
/*
 * Validation of events, and the resources that they hold.
 */
#define pr_fmt(fmt) "ntrace: " fmt

#include <linux/capability.h>
#include <linux/pid_namespace.h>
#include <linux/slab.h>

#include "ntrace_compat.h"
#include "ntrace_pmu.h"

/*
 * Address filters of events (PERF_EVENT_IOC_SET_FILTER): ranges, or one start and one stop address.
 * perf's core converts offsets in files to addresses.
 */

/* The capabilities that all encoders share. Each new encoder can only reduce them. */
static unsigned int ntrace_addr_nr = TR_TE_NR_COMPS;
static bool ntrace_addr_latch = true;

/* Events, without children, which parents outlive. Protected by ntrace_components_lock. */
static unsigned int ntrace_addr_users;

/* A latching comparator takes two filters: a start and a stop address. */
#define NTRACE_LATCH_FILTERS	2U

/*
 * perf's core uses nr_addr_filters as the size of arrays of an event and of its children, but
 * writes as many entries as there are filters. It also frees filters only if the number is not 0.
 * So the number must cover all that ntrace_addr_validate() accepts, and must not change while there
 * are events.
 */
static void ntrace_addr_set(struct pmu *pmu)
{
	if (ntrace_addr_users)
		return;
	pmu->nr_addr_filters = ntrace_addr_nr;
	if (ntrace_addr_latch && ntrace_addr_nr)
		pmu->nr_addr_filters = max(ntrace_addr_nr, NTRACE_LATCH_FILTERS);
}

/* An encoder was bound. The number does not grow again when the encoder is unbound. */
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

/* ntrace_components_lock is held. */
static void ntrace_addr_put(struct pmu *pmu)
{
	ntrace_addr_users--;
	ntrace_addr_set(pmu);
}

/* Allocate the ranges of an event. Children have their own ranges, for their own mappings. */
static int ntrace_addr_init(struct perf_event *event)
{
	struct ntrace_ranges *ranges = kzalloc(sizeof(*ranges), GFP_KERNEL);

	event->hw.addr_filters = ranges;

	return ranges ? 0 : -ENOMEM;
}

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

/* Can the encoders apply these filters? */
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

/* Take over the addresses of the filters from perf's core. Called with the filters' lock held. */
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
	/* Contexts are TIDs of the initial PID namespace, which other namespaces must not see. */
	if (ntrace_attr(attr, CONTEXTID) && task_active_pid_ns(current) != &init_pid_ns &&
	    !perfmon_capable())
		return -EACCES;
	/* A stalled hart can take interrupts only if their handlers do not stall, too. */
	if (ntrace_attr(attr, STALL) && privs & ~(TR_TE_PRIV_U | TR_TE_PRIV_VU)) {
		pr_info_ratelimited("stall is for user space only (exclude_kernel, no mmode): a stalled kernel could not make room\n");
		return -EOPNOTSUPP;
	}

	return 0;
}

/*
 * An encoder that counts calls must be off between two tasks. A CPU-wide event is not, so it cannot
 * use such an encoder.
 */
static int ntrace_event_check_counter(const struct perf_event *event,
				      const struct ntrace_encoder *enc,
				      const struct ntrace_encoder_config *config)
{
	/* If the kernel is not traced, the sync message after it resets the counter. */
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
 * An event for any CPU needs at least one CPU that can be traced. Skip CPUs that have no encoder or
 * no such sink, or whose components do not respond. All other errors fail the event.
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

/* Are all paths of an event gone? */
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

/* Accept or refuse an event */
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
	 * perf record -F sets a frequency for all events. perf's core would stop and start this
	 * event at every tick, to adjust a period that has no meaning.
	 */
	event->attr.freq = 0;
	ev->owner = get_task_pid(current, PIDTYPE_PID);
	ev->lossless = ntrace_attr(&event->attr, STALL);
	/*
	 * A CPU-wide event must not wait: it might stall the reader that has to make room.
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
