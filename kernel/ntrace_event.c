// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events: which are taken, and what each of them holds.
 */
#define pr_fmt(fmt) "ntrace: " fmt

#include <linux/capability.h>
#include <linux/pid_namespace.h>
#include <linux/slab.h>

#include "ntrace_addr.h"
#include "ntrace_config.h"
#include "ntrace_context.h"
#include "ntrace_event.h"
#include "ntrace_regs.h"

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
		ret = perf_allow_kernel(attr);
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

static int ntrace_event_init_cpu(struct perf_event *event, struct ntrace_event *ev,
				 struct ntrace_event_cpu *on, int cpu)
{
	struct ntrace_path *path;
	int ret;

	path = ntrace_path_get(cpu, ntrace_attr_sinkid(&event->attr), ev->owner);
	if (IS_ERR(path))
		return PTR_ERR(path);

	ret = ntrace_attr_to_config(&event->attr, path->encoder, ntrace_path_is_shared(path),
				    &on->config);
	if (ret)
		ntrace_path_put(path);
	else
		on->path = path;

	return ret;
}

/* An event for any CPU does with those that can be traced, but not without any. */
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
		else if (ret == -ENODEV || ret == -EINVAL)
			none = ret == -EINVAL ? ret : none;
		else
			return ret;
	}

	return found ? 0 : none;
}

static void ntrace_event_free(struct ntrace_event *ev)
{
	unsigned int i;

	scoped_guard(mutex, &ntrace_components_lock)
		for (i = 0; i < ev->nr; i++)
			if (ev->cpu[i].path)
				ntrace_path_put(ev->cpu[i].path);

	if (ev->context)
		ntrace_context_put();
	put_pid(ev->owner);
	kfree(ev);
}

/**
 * ntrace_event_is_lost - has everything gone that it could be traced with?
 * @event: perf's event
 */
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
	ntrace_event_free(event->pmu_private);
}

/**
 * ntrace_event_init - take an event or refuse it
 * @event: perf's event
 */
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
		ntrace_event_free(ev);
		return ret;
	}

	event->pmu_private = ev;
	event->destroy = ntrace_event_destroy;

	return 0;
}
