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

/*
 * What the PMU shows of itself: its terms, what the machine can make of them, its CPUs, sinks and
 * encoders.
 */

/* Terms */

static ssize_t ntrace_format_show(struct device *dev, struct device_attribute *attr, char *page)
{
	const struct ntrace_field *field = container_of(attr, struct dev_ext_attribute, attr)->var;
	int low = __ffs64(field->mask), high = fls64(field->mask) - 1;

	return low == high ? sysfs_emit(page, "%s:%d\n", field->word, low)
			   : sysfs_emit(page, "%s:%d-%d\n", field->word, low, high);
}

/* Filled from the fields */
static struct dev_ext_attribute ntrace_formats[NTRACE_NR_FIELDS];
static struct attribute *ntrace_format_attrs[NTRACE_NR_FIELDS + 1];

static const struct attribute_group ntrace_format_group = {
	.name	= "format",
	.attrs	= ntrace_format_attrs,
};

/* Make the files that stand for fields */
static void ntrace_sysfs_init(void)
{
	struct dev_ext_attribute *format;
	int i;

	for (i = 0; i < NTRACE_NR_FIELDS; i++) {
		format = &ntrace_formats[i];
		format->attr.attr.name = ntrace_fields[i].name;
		format->attr.attr.mode = 0444;
		format->attr.show = ntrace_format_show;
		format->var = (void *)&ntrace_fields[i];
		ntrace_format_attrs[i] = &format->attr.attr;
	}
}

/* What all encoders of this machine can do */

/* Of sets of values, those that all encoders accept remain; of numbers, the smallest. */
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
static ssize_t _name##_show(struct device *dev, struct device_attribute *attr, char *page)	\
{												\
	return ntrace_cap_show(page, ntrace_cap_##_name, _set);					\
}												\
static DEVICE_ATTR_RO(_name)

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

static struct attribute *ntrace_cap_attrs[] = {
	&dev_attr_htm.attr,
	&dev_attr_btm.attr,
	&dev_attr_contextid.attr,
	&dev_attr_timestamp.attr,
	&dev_attr_retstack.attr,
	&dev_attr_seqjump.attr,
	&dev_attr_repeathist.attr,
	&dev_attr_extaddr.attr,
	&dev_attr_alljumps.attr,
	&dev_attr_stall.attr,
	&dev_attr_mmode.attr,
	&dev_attr_syncmode.attr,
	&dev_attr_syncmax.attr,
	&dev_attr_filters.attr,
	&dev_attr_anyfilter.attr,
	&dev_attr_cpuwide.attr,
	&dev_attr_latch.attr,
	&dev_attr_inhibitsrc.attr,
	NULL
};

static const struct attribute_group ntrace_cap_group = {
	.name	= "caps",
	.attrs	= ntrace_cap_attrs,
};

/* Filled as sinks come */
static struct attribute *ntrace_sink_attrs[] = {
	NULL
};

static const struct attribute_group ntrace_sink_group = {
	.name	= "sinks",
	.attrs	= ntrace_sink_attrs,
};

/* perf opens a CPU-wide event on these CPUs only. */
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

static struct attribute *ntrace_pmu_attrs[] = {
	&dev_attr_cpumask.attr,
	NULL
};

static const struct attribute_group ntrace_pmu_group = {
	.attrs	= ntrace_pmu_attrs,
};

static const struct attribute_group *ntrace_sysfs_groups[] = {
	&ntrace_pmu_group,
	&ntrace_format_group,
	&ntrace_cap_group,
	&ntrace_sink_group,
	NULL
};

/* Components that come and go */

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

/* A component has come */
static int ntrace_sysfs_bound(struct device *pmu, struct ntrace_component *comp)
{
	if (comp->type == &ntrace_encoder_type)
		return ntrace_encoder_bound(pmu, comp);
	if (comp->type == &ntrace_funnel_type)
		return 0;

	return ntrace_sink_bound(pmu, comp);
}

/* A component is about to go */
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
	 * Per-task events need a context that is scheduled; the software context has no limit of
	 * events.
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
	.nr_addr_filters = TR_TE_NR_COMPS,	/* of which the encoders may have fewer */
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
	ntrace_sysfs_init();
	ret = ntrace_cpu_init();
	if (ret)
		return ret;

	ret = perf_pmu_register(&ntrace_pmu, "ntrace", -1);
	if (ret)
		goto err_cpu;

	ret = ntrace_component_driver_register(ntrace_component_types, &ntrace_pmu_listener);
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
