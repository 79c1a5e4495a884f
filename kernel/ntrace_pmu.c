// SPDX-License-Identifier: GPL-2.0-only
/*
 * The perf PMU "ntrace".
 *
 * One PMU for the module's lifetime; encoders and sinks come and go beneath it.
 */
#include <linux/cpumask.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include "ntrace_compat.h"
#include "ntrace_pmu.h"

/* Terms, as in the masks of uapi/linux/ntrace.h */

PMU_FORMAT_ATTR(btm, "config:0");
PMU_FORMAT_ATTR(contextid, "config:1");
PMU_FORMAT_ATTR(timestamp, "config:2");
PMU_FORMAT_ATTR(retstack, "config:3-4");
PMU_FORMAT_ATTR(seqjump, "config:5");
PMU_FORMAT_ATTR(repeathist, "config:6");
PMU_FORMAT_ATTR(extaddr, "config:7");
PMU_FORMAT_ATTR(alljumps, "config:8");
PMU_FORMAT_ATTR(stall, "config:9");
PMU_FORMAT_ATTR(mmode, "config:10");
PMU_FORMAT_ATTR(syncmode, "config:12-13");
PMU_FORMAT_ATTR(syncmax, "config:16-19");
PMU_FORMAT_ATTR(sinkid, "config2:0-31");

static const struct attribute_group ntrace_format_group = {
	.name	= "format",
	.attrs	= (struct attribute *[]) {
		&format_attr_btm.attr,
		&format_attr_contextid.attr,
		&format_attr_timestamp.attr,
		&format_attr_retstack.attr,
		&format_attr_seqjump.attr,
		&format_attr_repeathist.attr,
		&format_attr_extaddr.attr,
		&format_attr_alljumps.attr,
		&format_attr_stall.attr,
		&format_attr_mmode.attr,
		&format_attr_syncmode.attr,
		&format_attr_syncmax.attr,
		&format_attr_sinkid.attr,
		NULL
	},
};

/* Capabilities that all encoders of this machine share */

/* Show the intersection of a set of values over all encoders, or the minimum of a number */
static ssize_t ntrace_cap_show(char *page, u32 (*get)(const struct ntrace_encoder *enc), bool set)
{
	struct ntrace_component *comp;
	u32 value, all = U32_MAX;

	guard(mutex)(&ntrace_components_lock);
	ntrace_for_each_component(comp, TR_COMP_ENCODER) {
		value = get(to_ntrace_encoder(comp));
		all = set ? all & value : min(all, value);
	}
	if (all == U32_MAX)
		all = 0;

	return set ? sysfs_emit(page, "0x%x\n", all) : sysfs_emit(page, "%u\n", all);
}

#define NTRACE_CAP(_name, _set, _value)								\
static u32 ntrace_cap_##_name(const struct ntrace_encoder *enc)					\
{												\
	return _value;										\
}												\
static ssize_t ntrace_cap_##_name##_show(struct device *dev, struct device_attribute *attr,	\
					 char *page)						\
{												\
	return ntrace_cap_show(page, ntrace_cap_##_name, _set);					\
}												\
static struct device_attribute cap_attr_##_name =						\
	__ATTR(_name, 0444, ntrace_cap_##_name##_show, NULL)

NTRACE_CAP(htm, false, !!(enc->caps.inst_modes & BIT(TR_TE_INST_MODE_HTM)));
NTRACE_CAP(btm, false, !!(enc->caps.inst_modes & BIT(TR_TE_INST_MODE_BTM)));
NTRACE_CAP(contextid, false,
	   enc->caps.control & TR_TE_CONTROL_CONTEXT && ntrace_context_possible(enc->comp.cpu));
NTRACE_CAP(timestamp, false, enc->ts.mode != TR_TS_MODE_NONE);
NTRACE_CAP(retstack, true, enc->caps.retstack);
NTRACE_CAP(seqjump, false, !!(enc->caps.features & TR_TE_FEATURES_SEQUENTIAL_JUMP));
NTRACE_CAP(repeathist, false, !!(enc->caps.features & TR_TE_FEATURES_REPEATED_HISTORY));
NTRACE_CAP(extaddr, false, !!(enc->caps.features & TR_TE_FEATURES_EXTEND_ADDR_MSB));
NTRACE_CAP(alljumps, false, !!(enc->caps.features & TR_TE_FEATURES_ALL_JUMPS));
NTRACE_CAP(stall, false, !!(enc->caps.control & TR_TE_CONTROL_STALL_ENA));
NTRACE_CAP(mmode, false, !enc->caps.filters || enc->caps.privs & TR_TE_PRIV_M);
NTRACE_CAP(syncmode, true, enc->caps.sync_modes);
NTRACE_CAP(syncmax, false, enc->caps.sync_max);
NTRACE_CAP(filters, false, enc->caps.filters);
NTRACE_CAP(anyfilter, false, enc->caps.filters && !enc->caps.filter_value);
NTRACE_CAP(cpuwide, false, !ntrace_encoder_counts_calls(enc));
NTRACE_CAP(latch, false, enc->caps.latch);
NTRACE_CAP(inhibitsrc, false, !!(enc->caps.control & TR_TE_CONTROL_INHIBIT_SRC));

static const struct attribute_group ntrace_cap_group = {
	.name	= "caps",
	.attrs	= (struct attribute *[]) {
		&cap_attr_htm.attr,
		&cap_attr_btm.attr,
		&cap_attr_contextid.attr,
		&cap_attr_timestamp.attr,
		&cap_attr_retstack.attr,
		&cap_attr_seqjump.attr,
		&cap_attr_repeathist.attr,
		&cap_attr_extaddr.attr,
		&cap_attr_alljumps.attr,
		&cap_attr_stall.attr,
		&cap_attr_mmode.attr,
		&cap_attr_syncmode.attr,
		&cap_attr_syncmax.attr,
		&cap_attr_filters.attr,
		&cap_attr_anyfilter.attr,
		&cap_attr_cpuwide.attr,
		&cap_attr_latch.attr,
		&cap_attr_inhibitsrc.attr,
		NULL
	},
};

/* Files are added when sinks are bound */
static const struct attribute_group ntrace_sink_group = {
	.name	= "sinks",
	.attrs	= (struct attribute *[]) { NULL },
};

/* perf opens CPU-wide events on these CPUs only. */
static ssize_t cpumask_show(struct device *dev, struct device_attribute *attr, char *page)
{
	struct cpumask *mask __free(kfree) = kzalloc(cpumask_size(), GFP_KERNEL);
	struct ntrace_component *comp;

	if (!mask)
		return -ENOMEM;

	scoped_guard(mutex, &ntrace_components_lock)
		ntrace_for_each_component(comp, TR_COMP_ENCODER)
			if (ntrace_path_exists(to_ntrace_encoder(comp)))
				cpumask_set_cpu(comp->cpu, mask);

	cpumask_and(mask, mask, cpu_online_mask);

	return sysfs_emit(page, "%*pbl\n", cpumask_pr_args(mask));
}
static DEVICE_ATTR_RO(cpumask);

static const struct attribute_group ntrace_pmu_group = {
	.attrs	= (struct attribute *[]) { &dev_attr_cpumask.attr, NULL },
};

static const struct attribute_group *ntrace_sysfs_groups[] = {
	&ntrace_pmu_group,
	&ntrace_format_group,
	&ntrace_cap_group,
	&ntrace_sink_group,
	NULL
};

/* Components that are bound and unbound */

static ssize_t ntrace_sink_show(struct device *dev, struct device_attribute *attr, char *page)
{
	struct dev_ext_attribute *ext = container_of(attr, struct dev_ext_attribute, attr);
	struct ntrace_component *sink = ext->var;

	return sysfs_emit(page, "0x%x\n", sink->id);
}

static int ntrace_sink_bound(struct device *pmu, struct ntrace_component *comp)
{
	struct dev_ext_attribute *ext;

	ext = devm_kzalloc(comp->dev, sizeof(*ext), GFP_KERNEL);
	if (!ext)
		return -ENOMEM;

	sysfs_attr_init(&ext->attr.attr);
	ext->attr.attr.name = dev_name(comp->dev);
	ext->attr.attr.mode = 0444;
	ext->attr.show = ntrace_sink_show;
	ext->var = comp;
	comp->sysfs = &ext->attr.attr;

	return sysfs_add_file_to_group(&pmu->kobj, comp->sysfs, ntrace_sink_group.name);
}

static int ntrace_encoder_bound(struct device *pmu, struct ntrace_component *comp)
{
	char name[16];
	int ret;

	snprintf(name, sizeof(name), "cpu%d", comp->cpu);
	ret = sysfs_create_link(&pmu->kobj, &comp->dev->kobj, name);
	if (ret == -EEXIST)
		dev_err(comp->dev, "trace encoder at %pa: CPU %d has another one\n", &comp->start,
			comp->cpu);

	return ret;
}

/* A component was bound */
static int ntrace_sysfs_bound(struct device *pmu, struct ntrace_component *comp)
{
	if (comp->type == &ntrace_encoder_type)
		return ntrace_encoder_bound(pmu, comp);
	if (comp->type == &ntrace_funnel_type)
		return 0;

	return ntrace_sink_bound(pmu, comp);
}

/* A component is about to be unbound */
static void ntrace_sysfs_unbound(struct device *pmu, struct ntrace_component *comp)
{
	char name[16];

	if (comp->type == &ntrace_encoder_type) {
		snprintf(name, sizeof(name), "cpu%d", comp->cpu);
		sysfs_remove_link(&pmu->kobj, name);
	} else if (comp->sysfs) {
		sysfs_remove_file_from_group(&pmu->kobj, comp->sysfs, ntrace_sink_group.name);
	}
}

/* The PMU */

static void ntrace_pmu_read(struct perf_event *event)
{
}

static struct pmu ntrace_pmu = {
	.module = THIS_MODULE,
	.capabilities = PERF_PMU_CAP_EXCLUSIVE | PERF_PMU_CAP_ITRACE | PERF_PMU_CAP_AUX_NO_SG |
			PERF_PMU_CAP_AUX_PAUSE,
	.attr_groups = ntrace_sysfs_groups,
	/*
	 * Per-task events need a context that perf schedules. The software context does not limit
	 * the number of events.
	 */
	.task_ctx_nr = perf_sw_context,
	.event_init = ntrace_event_init,
	.add = ntrace_cpu_add,
	.del = ntrace_cpu_del,
	.start = ntrace_cpu_start,
	.stop = ntrace_cpu_stop,
	.read = ntrace_pmu_read,
	.setup_aux = ntrace_buffer_setup,
	.free_aux = ntrace_buffer_free,
	.nr_addr_filters = TR_TE_NR_COMPS,	/* upper limit, see ntrace_addr_set() */
	.addr_filters_validate = ntrace_addr_validate,
	.addr_filters_sync = ntrace_addr_sync,
};

/* Components */

static int ntrace_pmu_bound(struct ntrace_component *comp)
{
	int ret = ntrace_path_bound(comp) ?: ntrace_sysfs_bound(ntrace_pmu.dev, comp);

	if (!ret && comp->type == &ntrace_encoder_type)
		ntrace_addr_bound(&ntrace_pmu, to_ntrace_encoder(comp));

	return ret;
}

static void ntrace_pmu_unbound(struct ntrace_component *comp)
{
	ntrace_sysfs_unbound(ntrace_pmu.dev, comp);
	ntrace_path_give_up(comp);
	ntrace_cpu_evict();
	ntrace_path_gone(comp);
	if (comp->type == &ntrace_ramsink_type)
		ntrace_buffer_unbound(to_ntrace_ramsink(comp));
}

static const struct ntrace_component_listener ntrace_pmu_listener = {
	.bound		= ntrace_pmu_bound,
	.unbound	= ntrace_pmu_unbound,
};

/* Module */

static int __init ntrace_init(void)
{
	int ret;

	if (ntrace_sample_init())
		ntrace_pmu.snapshot_aux = ntrace_cpu_sample;
	ret = ntrace_cpu_init();
	if (ret)
		return ret;

	ret = perf_pmu_register(&ntrace_pmu, "ntrace", -1);
	if (ret)
		goto err_cpu;

	ret = ntrace_component_driver_register(&ntrace_pmu_listener);
	if (ret)
		goto err_pmu;

	ntrace_bringup_init();

	return 0;

err_pmu:
	perf_pmu_unregister(&ntrace_pmu);
err_cpu:
	ntrace_cpu_exit();
	return ret;
}
module_init(ntrace_init);

static void __exit ntrace_exit(void)
{
	ntrace_bringup_exit();
	ntrace_component_driver_unregister();
	perf_pmu_unregister(&ntrace_pmu);
	ntrace_cpu_exit();
	ntrace_context_exit();
}
module_exit(ntrace_exit);

MODULE_DESCRIPTION("RISC-V N-Trace for perf");
MODULE_LICENSE("GPL");
