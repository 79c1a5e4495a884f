// SPDX-License-Identifier: GPL-2.0-only
/*
 * The perf PMU "ntrace".
 *
 * One PMU for the module's lifetime; encoders and sinks come and go beneath it. Trace goes directly
 * from the sink into the AUX pages: while an event runs on a CPU, a perf AUX transaction is open
 * and the sink writes into a window of it. A timer on the same CPU moves the window on before it is
 * full. Nothing is copied.
 */
#define pr_fmt(fmt) "ntrace: " fmt

#include <linux/bitfield.h>
#include <linux/capability.h>
#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>
#include <linux/dma-mapping.h>
#include <linux/hrtimer.h>
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/pid_namespace.h>
#include <linux/sched/clock.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include <asm/cpufeature.h>

#include <uapi/linux/ntrace.h>

#include "ntrace_aux.h"
#include "ntrace_compat.h"
#include "ntrace_context.h"
#include "ntrace_path.h"
#include "ntrace_regs.h"

#define NTRACE_IDLE_BYTE	0xff

/* Below this, moving windows is a large part of the work. */
#define NTRACE_SMALL_CHUNK	SZ_64K

/* How often a hart that waits for the reader looks for room */
#define NTRACE_WAIT_PERIOD_NS	(500 * NSEC_PER_USEC)

static unsigned int move_bytes = SZ_4M;
module_param(move_bytes, uint, 0644);
MODULE_PARM_DESC(move_bytes, "move a window when this much is written, at the latest");

static struct pmu ntrace_pmu;

/* User ABI: fields of perf_event_attr */

#define ntrace_attr(_attr, _field)	FIELD_GET(NTRACE_CONFIG_##_field, (_attr)->config)
#define ntrace_attr_sinkid(_attr)	FIELD_GET(NTRACE_CONFIG2_SINKID, (_attr)->config2)

/**
 * struct ntrace_field - a term
 * @attr:	its file in format/
 * @word:	of perf_event_attr, as it is called there
 * @mask:	its bits
 */
struct ntrace_field {
	struct device_attribute attr;
	const char *word;
	u64 mask;
};

static ssize_t ntrace_format_show(struct device *dev, struct device_attribute *attr, char *page)
{
	struct ntrace_field *field = container_of(attr, struct ntrace_field, attr);
	int low = __ffs64(field->mask), high = fls64(field->mask) - 1;

	return low == high ? sysfs_emit(page, "%s:%d\n", field->word, low)
			   : sysfs_emit(page, "%s:%d-%d\n", field->word, low, high);
}

#define NTRACE_FIELD(_name, _word, _mask) \
	{ __ATTR(_name, 0444, ntrace_format_show, NULL), _word, _mask }

static struct ntrace_field ntrace_fields[] = {
	NTRACE_FIELD(btm, "config", NTRACE_CONFIG_BTM),
	NTRACE_FIELD(contextid, "config", NTRACE_CONFIG_CONTEXTID),
	NTRACE_FIELD(timestamp, "config", NTRACE_CONFIG_TIMESTAMP),
	NTRACE_FIELD(retstack, "config", NTRACE_CONFIG_RETSTACK),
	NTRACE_FIELD(seqjump, "config", NTRACE_CONFIG_SEQJUMP),
	NTRACE_FIELD(repeathist, "config", NTRACE_CONFIG_REPEATHIST),
	NTRACE_FIELD(extaddr, "config", NTRACE_CONFIG_EXTADDR),
	NTRACE_FIELD(alljumps, "config", NTRACE_CONFIG_ALLJUMPS),
	NTRACE_FIELD(stall, "config", NTRACE_CONFIG_STALL),
	NTRACE_FIELD(mmode, "config", NTRACE_CONFIG_MMODE),
	NTRACE_FIELD(syncmode, "config", NTRACE_CONFIG_SYNCMODE),
	NTRACE_FIELD(syncmax, "config", NTRACE_CONFIG_SYNCMAX),
	NTRACE_FIELD(sinkid, "config2", NTRACE_CONFIG2_SINKID),
};

/* Filled from the fields */
static struct attribute *ntrace_format_attrs[ARRAY_SIZE(ntrace_fields) + 1];

static const struct attribute_group ntrace_format_group = {
	.name	= "format",
	.attrs	= ntrace_format_attrs,
};

static void ntrace_format_init(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(ntrace_fields); i++)
		ntrace_format_attrs[i] = &ntrace_fields[i].attr.attr;
}

static bool ntrace_attr_has_unknown_bits(const struct perf_event_attr *attr)
{
	u64 config = attr->config, config2 = attr->config2;
	int i;

	for (i = 0; i < ARRAY_SIZE(ntrace_fields); i++) {
		if (!strcmp(ntrace_fields[i].word, "config"))
			config &= ~ntrace_fields[i].mask;
		else
			config2 &= ~ntrace_fields[i].mask;
	}

	return config || attr->config1 || config2 || attr->config3;
}

/* User ABI: what all encoders of this machine can do */

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
NTRACE_CAP(contextid, false, enc->caps.control & TR_TE_CONTROL_CONTEXT && enc->caps.scontext);
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

static const struct attribute_group *ntrace_attr_groups[] = {
	&ntrace_format_group,
	&ntrace_cap_group,
	&ntrace_sink_group,
	NULL
};

static ssize_t ntrace_sink_show(struct device *dev, struct device_attribute *attr, char *page)
{
	struct dev_ext_attribute *ext = container_of(attr, struct dev_ext_attribute, attr);
	struct ntrace_ramsink *sink = ext->var;

	return sysfs_emit(page, "0x%x\n", sink->id);
}

static int ntrace_sink_bound(struct ntrace_component *comp)
{
	struct dev_ext_attribute *ext;

	ext = devm_kzalloc(comp->dev, sizeof(*ext), GFP_KERNEL);
	if (!ext)
		return -ENOMEM;

	sysfs_attr_init(&ext->attr.attr);
	ext->attr.attr.name = dev_name(comp->dev);
	ext->attr.attr.mode = 0444;
	ext->attr.show = ntrace_sink_show;
	ext->var = to_ntrace_ramsink(comp);
	comp->sysfs = &ext->attr.attr;

	return sysfs_add_file_to_group(&ntrace_pmu.dev->kobj, comp->sysfs, ntrace_sink_group.name);
}

static int ntrace_encoder_bound(struct ntrace_component *comp)
{
	char name[16];
	int ret;

	snprintf(name, sizeof(name), "cpu%d", comp->cpu);
	ret = sysfs_create_link(&ntrace_pmu.dev->kobj, &comp->dev->kobj, name);
	if (ret == -EEXIST)
		dev_err(comp->dev, "trace encoder at %pa: CPU %d has another one\n", &comp->start,
			comp->cpu);

	return ret;
}

static int ntrace_pmu_bound(struct ntrace_component *comp)
{
	int ret = ntrace_path_bound(comp);

	if (ret)
		return ret;

	return comp->type == &ntrace_encoder_type ? ntrace_encoder_bound(comp) :
						    ntrace_sink_bound(comp);
}

static void ntrace_pmu_unbound(struct ntrace_component *comp)
{
	char name[16];

	if (comp->type == &ntrace_encoder_type) {
		snprintf(name, sizeof(name), "cpu%d", comp->cpu);
		sysfs_remove_link(&ntrace_pmu.dev->kobj, name);
	} else {
		sysfs_remove_file_from_group(&ntrace_pmu.dev->kobj, comp->sysfs,
					     ntrace_sink_group.name);
	}
}

static const struct ntrace_component_listener ntrace_pmu_listener = {
	.bound		= ntrace_pmu_bound,
	.unbound	= ntrace_pmu_unbound,
};

/* From the user ABI to register values: pure functions, for validation and for use */

static bool ntrace_has_hypervisor(void)
{
	return riscv_isa_extension_available(NULL, h);
}

/* The privileges that there are */
static u32 ntrace_all_privs(void)
{
	u32 privs = TR_TE_PRIV_U | TR_TE_PRIV_S | TR_TE_PRIV_M;

	return ntrace_has_hypervisor() ? privs | TR_TE_PRIV_VU | TR_TE_PRIV_VS : privs;
}

/*
 * The privileges that an event wants to see. Linux in HS mode is both the kernel and the
 * hypervisor: exclude_kernel says whether it is seen, exclude_hv adds nothing. Without the H
 * extension there are no guests, so excluding them is no work.
 */
static u32 ntrace_attr_privs(const struct perf_event_attr *attr)
{
	u32 privs = 0;

	if (!attr->exclude_host) {
		privs |= attr->exclude_user ? 0 : TR_TE_PRIV_U;
		privs |= attr->exclude_kernel ? 0 : TR_TE_PRIV_S;
	}
	if (!attr->exclude_guest) {
		privs |= attr->exclude_user ? 0 : TR_TE_PRIV_VU;
		privs |= attr->exclude_kernel ? 0 : TR_TE_PRIV_VS;
	}
	if (ntrace_attr(attr, MMODE))
		privs |= TR_TE_PRIV_M;

	return privs & ntrace_all_privs();
}

/*
 * The filter that lets these privileges through, 0 for none. Guests' privileges may be missing from
 * a filter: then guests are not traced, which shows nobody anything.
 */
static u32 ntrace_attr_to_filter(const struct perf_event_attr *attr,
				 const struct ntrace_encoder *enc)
{
	u32 privs = ntrace_attr_privs(attr);

	return privs == ntrace_all_privs() ? 0 : privs & enc->caps.privs;
}

static u32 ntrace_attr_to_control(const struct perf_event_attr *attr,
				  const struct ntrace_encoder *enc)
{
	bool btm = ntrace_attr(attr, BTM) || !(enc->caps.inst_modes & BIT(TR_TE_INST_MODE_HTM));

	return TR_CONTROL_ACTIVE | FIELD_PREP(TR_TE_CONTROL_FORMAT, TR_TE_FORMAT_NTRACE) |
	       FIELD_PREP(TR_TE_CONTROL_INST_MODE,
			  btm ? TR_TE_INST_MODE_BTM : TR_TE_INST_MODE_HTM) |
	       FIELD_PREP(TR_TE_CONTROL_CONTEXT, ntrace_attr(attr, CONTEXTID)) |
	       FIELD_PREP(TR_TE_CONTROL_STALL_ENA, ntrace_attr(attr, STALL)) |
	       FIELD_PREP(TR_TE_CONTROL_SYNC_MODE, ntrace_attr(attr, SYNCMODE)) |
	       FIELD_PREP(TR_TE_CONTROL_SYNC_MAX, ntrace_attr(attr, SYNCMAX)) |
	       ntrace_encoder_src_control(enc);
}

static u32 ntrace_attr_to_features(const struct perf_event_attr *attr,
				   const struct ntrace_encoder *enc)
{
	return FIELD_PREP(TR_TE_FEATURES_SEQUENTIAL_JUMP, ntrace_attr(attr, SEQJUMP)) |
	       FIELD_PREP(TR_TE_FEATURES_IMPLICIT_RETURN, !!ntrace_attr(attr, RETSTACK)) |
	       FIELD_PREP(TR_TE_FEATURES_IMPLICIT_RETURN_MODE, ntrace_attr(attr, RETSTACK)) |
	       FIELD_PREP(TR_TE_FEATURES_REPEATED_HISTORY, ntrace_attr(attr, REPEATHIST)) |
	       FIELD_PREP(TR_TE_FEATURES_ALL_JUMPS, ntrace_attr(attr, ALLJUMPS)) |
	       FIELD_PREP(TR_TE_FEATURES_EXTEND_ADDR_MSB, ntrace_attr(attr, EXTADDR)) |
	       ntrace_encoder_src_features(enc);
}

static u32 ntrace_attr_to_ts_control(const struct perf_event_attr *attr,
				     const struct ntrace_encoder *enc)
{
	return enc->ts.control | FIELD_PREP(TR_TS_CONTROL_ENABLE, ntrace_attr(attr, TIMESTAMP));
}

/* What keeps an encoder from serving an event: a term, or NULL */
static const char *ntrace_attr_unsupported(const struct perf_event_attr *attr,
					   const struct ntrace_encoder *enc)
{
	const struct ntrace_encoder_caps *caps = &enc->caps;
	u32 features = ntrace_attr_to_features(attr, enc) & ~caps->features;

	if (ntrace_attr(attr, BTM) && !(caps->inst_modes & BIT(TR_TE_INST_MODE_BTM)))
		return "btm";
	if (ntrace_attr(attr, CONTEXTID) &&
	    !(caps->control & TR_TE_CONTROL_CONTEXT && caps->scontext))
		return "contextid";
	if (ntrace_attr(attr, TIMESTAMP) && enc->ts.mode == TR_TS_MODE_NONE)
		return "timestamp";
	if (!(caps->retstack & BIT(ntrace_attr(attr, RETSTACK))))
		return "retstack";
	if (features & TR_TE_FEATURES_SEQUENTIAL_JUMP)
		return "seqjump";
	if (features & TR_TE_FEATURES_REPEATED_HISTORY)
		return "repeathist";
	if (features & TR_TE_FEATURES_EXTEND_ADDR_MSB)
		return "extaddr";
	if (features & TR_TE_FEATURES_ALL_JUMPS)
		return "alljumps";
	if (ntrace_attr(attr, STALL) && !(caps->control & TR_TE_CONTROL_STALL_ENA))
		return "stall";
	if (ntrace_attr(attr, SYNCMODE) && !(caps->sync_modes & BIT(ntrace_attr(attr, SYNCMODE))))
		return "syncmode";
	if (ntrace_attr(attr, SYNCMAX) > caps->sync_max)
		return "syncmax";

	return NULL;
}

/* The same for what to leave out: in words, or NULL */
static const char *ntrace_attr_unfiltered(const struct perf_event_attr *attr,
					  const struct ntrace_encoder *enc)
{
	u32 native = TR_TE_PRIV_U | TR_TE_PRIV_S | TR_TE_PRIV_M;
	u32 privs = ntrace_attr_privs(attr);

	if (privs == ntrace_all_privs())
		return NULL;
	if (!enc->caps.filters)
		return "leaving out anything, machine mode included: it has no filters";
	if (privs & native & ~enc->caps.privs || !(privs & enc->caps.privs))
		return "this choice of privileges: its filters do not have them";

	return NULL;
}

static int ntrace_attr_to_config(const struct perf_event_attr *attr,
				 const struct ntrace_encoder *enc,
				 struct ntrace_encoder_config *config)
{
	const char *what;

	what = ntrace_attr_unsupported(attr, enc) ?: ntrace_attr_unfiltered(attr, enc);
	if (what) {
		dev_info_ratelimited(enc->comp.dev, "trace encoder at %pa does not support %s\n",
				     &enc->comp.start, what);
		return -EOPNOTSUPP;
	}

	*config = (struct ntrace_encoder_config) {
		.control	= ntrace_attr_to_control(attr, enc),
		.features	= ntrace_attr_to_features(attr, enc),
		.ts_control	= ntrace_attr_to_ts_control(attr, enc),
		.privs		= ntrace_attr_to_filter(attr, enc),
	};

	return 0;
}

/* From register values to what the reader of the trace needs to know */
static u64 ntrace_config_to_hw_id(const struct ntrace_encoder_config *config,
				  const struct ntrace_encoder *enc)
{
	u32 privs = config->privs ?: ntrace_all_privs();
	bool src = !(config->control & TR_TE_CONTROL_INHIBIT_SRC);

	return FIELD_PREP(NTRACE_HW_ID_VERSION, NTRACE_HW_ID_VERSION_1) |
	       FIELD_PREP(NTRACE_HW_ID_INSTMODE,
			  FIELD_GET(TR_TE_CONTROL_INST_MODE, config->control)) |
	       FIELD_PREP(NTRACE_HW_ID_CONTEXT, FIELD_GET(TR_TE_CONTROL_CONTEXT, config->control)) |
	       FIELD_PREP(NTRACE_HW_ID_FEATURES,
			  FIELD_GET(TR_TE_FEATURES_PROTOCOL, config->features)) |
	       FIELD_PREP(NTRACE_HW_ID_SRCBITS,
			  src ? FIELD_GET(TR_TE_FEATURES_SRC_BITS, config->features) : 0) |
	       FIELD_PREP(NTRACE_HW_ID_TIMESTAMP,
			  FIELD_GET(TR_TS_CONTROL_ENABLE, config->ts_control)) |
	       FIELD_PREP(NTRACE_HW_ID_PRIV_U, !!(privs & (TR_TE_PRIV_U | TR_TE_PRIV_VU))) |
	       FIELD_PREP(NTRACE_HW_ID_PRIV_S, !!(privs & (TR_TE_PRIV_S | TR_TE_PRIV_VS))) |
	       FIELD_PREP(NTRACE_HW_ID_PRIV_M, !!(privs & TR_TE_PRIV_M)) |
	       FIELD_PREP(NTRACE_HW_ID_SRCID, enc->src_id) |
	       FIELD_PREP(NTRACE_HW_ID_TSPRESCALE, enc->ts.prescale);
}

/* Events */

/**
 * struct ntrace_event_cpu - an event on a CPU
 * @path:	NULL if the CPU cannot be traced
 * @config:	the encoder's registers
 */
struct ntrace_event_cpu {
	struct ntrace_path *path;
	struct ntrace_encoder_config config;
};

/**
 * struct ntrace_event - an event; those that children inherit share their parent's
 * @lossless:	the hart stalls rather than lose trace
 * @patient:	it also waits for the reader of a full AUX area
 * @context:	scontext is wanted
 * @reported:	CPUs for which the hardware id record is written
 * @nr:		1 or, for an event that may run anywhere, all CPUs
 * @cpu:	these
 */
struct ntrace_event {
	bool lossless;
	bool patient;
	bool context;
	struct cpumask reported;
	unsigned int nr;
	struct ntrace_event_cpu cpu[] __counted_by(nr);
};

static struct ntrace_event_cpu *ntrace_event_cpu(struct perf_event *event, int cpu)
{
	struct ntrace_event *ev = event->pmu_private;

	return &ev->cpu[event->cpu < 0 ? cpu : 0];
}

static int ntrace_event_check(struct perf_event *event)
{
	struct perf_event_attr *attr = &event->attr;
	u32 privs = ntrace_attr_privs(attr);
	int ret;

	if (ntrace_attr_has_unknown_bits(attr))
		return -EINVAL;
	if (!privs)
		return -EINVAL;
	if (attr->exclude_idle || has_branch_stack(event))
		return -EOPNOTSUPP;
	if (ntrace_attr(attr, MMODE) && !perfmon_capable())
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

static int ntrace_event_init_cpu(struct perf_event *event, struct ntrace_event_cpu *on, int cpu)
{
	struct ntrace_path *path;
	int ret;

	path = ntrace_path_get(cpu, ntrace_attr_sinkid(&event->attr));
	if (IS_ERR(path))
		return PTR_ERR(path);

	ret = ntrace_attr_to_config(&event->attr, path->encoder, &on->config);
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
		ret = ntrace_event_init_cpu(event, &ev->cpu[0], event->cpu);
		if (ret == -ENODEV)
			pr_info_ratelimited("CPU %d cannot be traced\n", event->cpu);
		return ret;
	}

	for_each_possible_cpu(cpu) {
		ret = ntrace_event_init_cpu(event, &ev->cpu[cpu], cpu);
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
	kfree(ev);
}

static void ntrace_event_destroy(struct perf_event *event)
{
	ntrace_event_free(event->pmu_private);
}

static int ntrace_pmu_event_init(struct perf_event *event)
{
	unsigned int nr = event->cpu < 0 ? nr_cpu_ids : 1;
	struct ntrace_event *ev;
	int ret;

	if (event->attr.type != event->pmu->type)
		return -ENOENT;

	/* The parent outlives its children. */
	if (event->parent) {
		event->pmu_private = event->parent->pmu_private;
		return 0;
	}

	ret = ntrace_event_check(event);
	if (ret)
		return ret;

	ev = kzalloc(struct_size(ev, cpu, nr), GFP_KERNEL);
	if (!ev)
		return -ENOMEM;
	ev->nr = nr;
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
	if (ret) {
		ntrace_event_free(ev);
		return ret;
	}

	event->pmu_private = ev;
	event->destroy = ntrace_event_destroy;

	return 0;
}

/* The AUX area, as sinks see it */

/**
 * struct ntrace_map - the area for one sink
 * @sink:	the sink
 * @addr:	bus address of each chunk
 * @nr:		chunks that are mapped
 */
struct ntrace_map {
	struct ntrace_ramsink *sink;
	dma_addr_t *addr;
	unsigned int nr;
};

/**
 * struct ntrace_buffer - an AUX area
 * @layout:	its chunks
 * @pages:	its pages' addresses; perf's array
 * @nr_maps:	number of
 * @map:	the sinks that the event can reach
 */
struct ntrace_buffer {
	struct ntrace_aux_layout layout;
	void **pages;
	unsigned int nr_maps;
	struct ntrace_map map[] __counted_by(nr_maps);
};

static u64 ntrace_buffer_chunk_size(const struct ntrace_buffer *buf, unsigned int chunk)
{
	return buf->layout.end[chunk] - ntrace_aux_chunk_start(&buf->layout, chunk);
}

static void ntrace_buffer_unmap(struct ntrace_buffer *buf, struct ntrace_map *map)
{
	while (map->nr--)
		dma_unmap_page(map->sink->comp.dev, map->addr[map->nr],
			       ntrace_buffer_chunk_size(buf, map->nr), DMA_FROM_DEVICE);
	kvfree(map->addr);
}

static int ntrace_buffer_map(struct ntrace_buffer *buf, struct ntrace_map *map,
			     struct ntrace_ramsink *sink)
{
	struct device *dev = sink->comp.dev;
	struct page *page;
	unsigned int i;
	u64 start;

	map->sink = sink;
	map->addr = kvcalloc(buf->layout.nr, sizeof(*map->addr), GFP_KERNEL);
	if (!map->addr)
		return -ENOMEM;

	for (i = 0; i < buf->layout.nr; i++) {
		start = ntrace_aux_chunk_start(&buf->layout, i);
		page = virt_to_page(buf->pages[start >> PAGE_SHIFT]);
		map->addr[i] = dma_map_page(dev, page, 0, ntrace_buffer_chunk_size(buf, i),
					    DMA_FROM_DEVICE);
		if (dma_mapping_error(dev, map->addr[i])) {
			dev_err_ratelimited(dev,
					    "trace RAM sink at %pa cannot reach the AUX area with its %u address bits\n",
					    &sink->comp.start, sink->addr_bits);
			return -ENOMEM;
		}
		map->nr++;
	}

	return 0;
}

/* perf hands out contiguous pages as far as it gets any; find out how far that was. */
static int ntrace_buffer_find_chunks(struct ntrace_buffer *buf, int nr_pages, u64 max_chunk)
{
	u64 start = 0, largest = 0, offset;
	int i;

	buf->layout.size = (u64)nr_pages << PAGE_SHIFT;
	buf->layout.end = kvcalloc(nr_pages, sizeof(*buf->layout.end), GFP_KERNEL);
	if (!buf->layout.end)
		return -ENOMEM;

	for (i = 1; i <= nr_pages; i++) {
		offset = (u64)i << PAGE_SHIFT;
		if (i < nr_pages && offset - start < max_chunk &&
		    page_to_pfn(virt_to_page(buf->pages[i])) ==
			    page_to_pfn(virt_to_page(buf->pages[i - 1])) + 1)
			continue;
		buf->layout.end[buf->layout.nr++] = offset;
		largest = max(largest, offset - start);
		start = offset;
	}

	if (largest < NTRACE_SMALL_CHUNK && buf->layout.size > NTRACE_SMALL_CHUNK)
		pr_warn_once("memory is fragmented: no more than %llu KiB of an AUX area are contiguous\n",
			     largest / SZ_1K);

	return 0;
}

static void ntrace_pmu_free_aux(void *aux)
{
	struct ntrace_buffer *buf = aux;
	unsigned int i;

	for (i = 0; i < buf->nr_maps; i++)
		ntrace_buffer_unmap(buf, &buf->map[i]);
	kvfree(buf->layout.end);
	kvfree(buf);
}

static u64 ntrace_event_max_chunk(const struct ntrace_event *ev)
{
	u64 max_chunk = SZ_4M;
	unsigned int i;

	for (i = 0; i < ev->nr; i++)
		if (ev->cpu[i].path)
			max_chunk = min_t(u64, max_chunk,
					  dma_max_mapping_size(ev->cpu[i].path->sink->comp.dev));

	return ALIGN_DOWN(max_chunk, PAGE_SIZE);
}

static void *ntrace_pmu_setup_aux(struct perf_event *event, void **pages, int nr_pages,
				  bool snapshot)
{
	struct ntrace_event *ev = event->pmu_private;
	struct ntrace_buffer *buf;
	unsigned int i;
	int ret;

	if (snapshot) {
		pr_info_ratelimited("AUX area: snapshot mode is not supported yet\n");
		return NULL;
	}
	if (nr_pages < 2 || !is_power_of_2(nr_pages)) {
		pr_info_ratelimited("AUX area: %d pages are too few, at least 2 are needed\n",
				    nr_pages);
		return NULL;
	}

	buf = kvzalloc(struct_size(buf, map, ev->nr), GFP_KERNEL);
	if (!buf)
		return NULL;
	buf->pages = pages;
	buf->nr_maps = ev->nr;

	ret = ntrace_buffer_find_chunks(buf, nr_pages, ntrace_event_max_chunk(ev));
	for (i = 0; !ret && i < ev->nr; i++)
		if (ev->cpu[i].path)
			ret = ntrace_buffer_map(buf, &buf->map[i], ev->cpu[i].path->sink);
	if (!ret)
		return buf;

	ntrace_pmu_free_aux(buf);
	return NULL;
}

/* An area may have been set up by another event, whose sinks are not this one's. */
static struct ntrace_map *ntrace_buffer_find_map(struct ntrace_buffer *buf,
						 const struct ntrace_ramsink *sink)
{
	unsigned int i;

	for (i = 0; i < buf->nr_maps; i++)
		if (buf->map[i].sink == sink)
			return &buf->map[i];

	return NULL;
}

/*
 * Idle bytes may stand between messages. The sink takes over memory that the CPU wrote: hence the
 * syncs.
 */
static void ntrace_buffer_fill_idle(struct ntrace_buffer *buf, struct ntrace_map *map, u64 head,
				    u64 size)
{
	struct ntrace_aux_window piece;
	u64 offset, done, n;

	while (size) {
		ntrace_aux_piece(&buf->layout, head, size, 1, &piece);
		dma_sync_single_range_for_cpu(map->sink->comp.dev, map->addr[piece.chunk],
					      piece.offset, piece.size, DMA_FROM_DEVICE);
		offset = ntrace_aux_chunk_start(&buf->layout, piece.chunk) + piece.offset;
		for (done = 0; done < piece.size; done += n) {
			n = min(piece.size - done, PAGE_SIZE - offset_in_page(offset + done));
			memset(buf->pages[(offset + done) >> PAGE_SHIFT] +
				       offset_in_page(offset + done),
			       NTRACE_IDLE_BYTE, n);
		}
		dma_sync_single_range_for_device(map->sink->comp.dev, map->addr[piece.chunk],
						 piece.offset, piece.size, DMA_FROM_DEVICE);
		head += piece.size;
		size -= piece.size;
	}
}

/* A CPU that traces */

enum ntrace_state {
	NTRACE_OFF,		/* encoder and sink are off */
	NTRACE_RUNNING,		/* both are on, an AUX transaction is open */
	NTRACE_WAITING,		/* AUX is full: the encoder is on and stalls, the sink is off */
};

/**
 * struct ntrace_cpu - a CPU's part, touched by that CPU only, with interrupts off
 * @state:	what it is doing
 * @online:	events may run here
 * @event:	that has the encoder, NULL if none
 * @path:	of this event
 * @handle:	AUX transaction
 * @buf:	its area
 * @map:	of the path's sink
 * @limits:	for windows
 * @window:	that the sink writes into
 * @done:	bytes in windows before, of the same transaction
 * @lost:	trace was lost in this transaction
 * @timer:	for the next look at the window
 * @pace:	how fast it fills
 * @seen:	bytes written at the last look
 * @seen_at:	time of the last look
 */
struct ntrace_cpu {
	enum ntrace_state state;
	bool online;
	struct perf_event *event;
	struct ntrace_path *path;
	struct perf_output_handle handle;
	struct ntrace_buffer *buf;
	struct ntrace_map *map;
	struct ntrace_aux_limits limits;
	struct ntrace_aux_window window;
	u64 done;
	bool lost;
	struct hrtimer timer;
	struct ntrace_aux_pace pace;
	u64 seen;
	u64 seen_at;
};

static DEFINE_PER_CPU(struct ntrace_cpu, ntrace_cpus);

static bool ntrace_cpu_lossless(const struct ntrace_cpu *c)
{
	const struct ntrace_event *ev = c->event->pmu_private;

	return ev->lossless;
}

static bool ntrace_cpu_patient(const struct ntrace_cpu *c)
{
	const struct ntrace_event *ev = c->event->pmu_private;

	return ev->patient;
}

/* AUX transactions */

/*
 * Open a transaction. Return: 0, -ENOSPC when the area is full to the last byte (there is no
 * transaction then), -EINVAL when there is no area for this sink
 */
static int ntrace_aux_open(struct ntrace_cpu *c)
{
	struct perf_output_handle *handle = &c->handle;

	/*
	 * The core fills this in before it looks for space, and tells the two failures apart in no
	 * other way.
	 */
	handle->rb = NULL;
	c->buf = perf_aux_output_begin(handle, c->event);
	if (!c->buf)
		return handle->rb ? -ENOSPC : -EINVAL;

	c->done = 0;
	c->lost = false;
	c->map = ntrace_buffer_find_map(c->buf, c->path->sink);
	if (!c->map) {
		perf_aux_output_end(handle, 0);
		return -EINVAL;
	}
	ntrace_aux_limit(&c->limits, &c->pace, c->buf->layout.size, c->path->sink->align,
			 ntrace_cpu_lossless(c));
	c->limits.quantum = min(c->limits.quantum, (u64)READ_ONCE(move_bytes));

	return 0;
}

/* End a transaction, all of whose windows are accounted in done. */
static void ntrace_aux_close(struct ntrace_cpu *c)
{
	if (c->lost)
		perf_aux_output_flag(&c->handle, PERF_AUX_FLAG_PARTIAL);
	perf_aux_output_end(&c->handle, c->done);
}

/*
 * Nothing can go on without the reader: say so, and leave the event to it. perf's own attempt to
 * disable the event depends on the kernel's version, so do not rely on it; being asked twice does
 * not matter.
 */
static void ntrace_aux_full(struct ntrace_cpu *c)
{
	struct perf_event *event = c->event;

	if (perf_get_aux(&c->handle)) {
		perf_aux_output_flag(&c->handle, PERF_AUX_FLAG_TRUNCATED);
		perf_aux_output_end(&c->handle, 0);
	}
	event->pending_disable = 1;
	irq_work_queue(&event->pending_disable_irq);
}

/* The first window, behind what has to be padded. Return: 0 or -ENOSPC */
static int ntrace_aux_first_window(struct ntrace_cpu *c)
{
	u64 pad;
	int ret;

	ret = ntrace_aux_first(&c->buf->layout, &c->limits, c->handle.head, c->handle.size, &pad,
			       &c->window);
	if (ret || !pad)
		return ret;

	ntrace_buffer_fill_idle(c->buf, c->map, c->handle.head, pad);

	return perf_aux_output_skip(&c->handle, pad);
}

/* One more, reserve included. Return: 0 or -ENOSPC */
static int ntrace_aux_next_window(struct ntrace_cpu *c)
{
	return ntrace_aux_next(&c->buf->layout, &c->limits, c->handle.head, c->handle.size, c->done,
			       &c->window);
}

static int ntrace_cpu_set_window(struct ntrace_cpu *c)
{
	dma_addr_t start = c->map->addr[c->window.chunk] + c->window.offset;

	c->seen = 0;
	c->seen_at = local_clock();

	return ntrace_ramsink_set_window(c->path->sink, start, c->window.size);
}

/*
 * The sink is off: what did it write? Make that visible before anybody is told. Return: whether the
 * window is full, in which case its last message may have been cut, and the encoder may have
 * dropped others
 */
static bool ntrace_cpu_account_window(struct ntrace_cpu *c)
{
	u64 used = ntrace_ramsink_used(c->path->sink);

	if (used)
		dma_sync_single_range_for_cpu(c->path->sink->comp.dev,
					      c->map->addr[c->window.chunk], c->window.offset, used,
					      DMA_FROM_DEVICE);
	ntrace_aux_learn(&c->pace, used > c->seen ? used - c->seen : 0, local_clock() - c->seen_at);
	c->done += used;

	return used == c->window.size;
}

/* Running */

static int ntrace_cpu_report_hw_id(struct ntrace_cpu *c)
{
	struct ntrace_event *ev = c->event->pmu_private;
	struct ntrace_encoder *enc = c->path->encoder;

	if (!cpumask_test_and_set_cpu(smp_processor_id(), &ev->reported))
		perf_report_aux_output_id(c->event, ntrace_config_to_hw_id(&enc->config, enc));

	return 0;
}

/* A full area, with room to flush into: let the encoder fill up and stall the hart. */
static int ntrace_cpu_wait(struct ntrace_cpu *c)
{
	struct ntrace_component *comp = &c->path->encoder->comp;
	int ret;

	if (c->state == NTRACE_OFF) {
		ret = comp->type->enable(comp);
		if (ret)
			return ret;
	}
	c->state = NTRACE_WAITING;

	return 0;
}

/*
 * Open a transaction and start, or go on after waiting. Return: 0 when running or waiting, else an
 * error and off
 */
static int ntrace_cpu_run(struct ntrace_cpu *c)
{
	int ret;

	ret = ntrace_aux_open(c);
	if (ret) {
		if (ret == -ENOSPC)
			ntrace_aux_full(c);
		return ret;
	}

	ret = ntrace_aux_first_window(c);
	if (ret && ntrace_cpu_patient(c) && c->handle.size >= NTRACE_AUX_MIN_WINDOW) {
		perf_aux_output_end(&c->handle, 0);
		return ntrace_cpu_wait(c);
	}
	if (ret) {
		ntrace_aux_full(c);
		return ret;
	}

	ntrace_cpu_report_hw_id(c);
	ret = ntrace_cpu_set_window(c);
	if (!ret)
		ret = c->state == NTRACE_WAITING ? ntrace_path_enable_downstream(c->path) :
						   ntrace_path_enable(c->path);
	if (ret) {
		perf_aux_output_end(&c->handle, 0);
		return ret;
	}
	c->state = NTRACE_RUNNING;

	return 0;
}

/*
 * The window is full, or nearly: take the next one of the same transaction, while the encoder is
 * on. What goes on behind a full window is the rest of a message; what is left of another one
 * becomes idle. Return: 0, or an error and the sink is off (the window's size is 0 then), or
 * -ENOSPC and nothing has changed
 */
static int ntrace_cpu_extend(struct ntrace_cpu *c)
{
	u64 end = c->done + c->window.size;
	int ret;

	if (c->handle.size < end + NTRACE_AUX_MIN_WINDOW)
		return -ENOSPC;

	ret = ntrace_path_disable_downstream(c->path);
	if (ret)
		goto err;

	if (ntrace_cpu_account_window(c))
		c->lost |= !ntrace_cpu_lossless(c);
	ntrace_buffer_fill_idle(c->buf, c->map, c->handle.head + c->done, end - c->done);
	c->done = end;

	ret = ntrace_aux_next_window(c)	       ?:
		      ntrace_cpu_set_window(c) ?:
						 ntrace_path_enable_downstream(c->path);
	if (!ret)
		return 0;
err:
	c->window.size = 0;
	return ret;
}

/* Bytes that the sink still takes */
static u64 ntrace_cpu_room(const struct ntrace_cpu *c)
{
	return c->window.size ? c->window.size - ntrace_ramsink_used(c->path->sink) : 0;
}

/*
 * Encoder off and empty, then sink off and empty. An encoder whose sink does not take any more may
 * keep what it has, or throw it away: so the sink gets room first. When there is none, the encoder
 * is emptied by a reset.
 */
static void ntrace_cpu_drain(struct ntrace_cpu *c)
{
	bool overflow = false;
	int ret;

	while (ntrace_cpu_room(c) < NTRACE_AUX_MIN_WINDOW)
		if (ntrace_cpu_extend(c))
			break;

	do
		ret = ntrace_path_stop_encoder(c->path, &overflow);
	while (ret == -ENOSPC && !ntrace_cpu_extend(c));

	c->lost |= ret || (overflow && !ntrace_cpu_lossless(c));
	if (ret == -ENOSPC)
		ntrace_component_reset(&c->path->encoder->comp);
	if (!c->window.size || ntrace_path_disable_downstream(c->path) ||
	    ntrace_cpu_account_window(c))
		c->lost = true;
	c->window.size = 0;
	c->state = NTRACE_OFF;
}

/* Stop what runs, and publish it. */
static void ntrace_cpu_finish(struct ntrace_cpu *c)
{
	ntrace_cpu_drain(c);
	ntrace_aux_close(c);
}

/*
 * Stop what waits. The encoder holds trace of what the hart did before it stalled: the reserve is
 * there for that.
 */
static void ntrace_cpu_finish_waiting(struct ntrace_cpu *c)
{
	struct ntrace_component *comp = &c->path->encoder->comp;
	int ret;

	ret = ntrace_aux_open(c);
	if (ret) {
		ntrace_component_reset(comp);
		c->state = NTRACE_OFF;
		return;
	}

	ret = ntrace_aux_next_window(c)	       ?:
		      ntrace_cpu_set_window(c) ?:
						 ntrace_path_enable_downstream(c->path);
	if (ret) {
		ntrace_component_reset(comp);
		c->lost = true;
		c->state = NTRACE_OFF;
		ntrace_aux_close(c);
		return;
	}

	ntrace_cpu_finish(c);
}

static void ntrace_cpu_stop(struct ntrace_cpu *c)
{
	if (c->state == NTRACE_RUNNING)
		ntrace_cpu_finish(c);
	else if (c->state == NTRACE_WAITING)
		ntrace_cpu_finish_waiting(c);
}

/* The timer */

static u64 ntrace_cpu_period(const struct ntrace_cpu *c)
{
	if (c->state == NTRACE_WAITING)
		return NTRACE_WAIT_PERIOD_NS;

	return ntrace_aux_period(&c->limits, &c->pace, c->seen, c->window.size);
}

/* One look at the write pointer. Return: whether the window has to move */
static bool ntrace_cpu_look(struct ntrace_cpu *c)
{
	u64 used = ntrace_ramsink_used(c->path->sink), now = local_clock();

	ntrace_aux_learn(&c->pace, used > c->seen ? used - c->seen : 0, now - c->seen_at);
	c->seen = used;
	c->seen_at = now;

	return ntrace_aux_due(&c->limits, used, c->window.size);
}

static enum hrtimer_restart ntrace_cpu_timer(struct hrtimer *timer)
{
	struct ntrace_cpu *c = container_of(timer, struct ntrace_cpu, timer);
	int ret = 0;

	if (c->state == NTRACE_OFF)
		return HRTIMER_NORESTART;

	if (c->state == NTRACE_RUNNING && ntrace_cpu_look(c)) {
		ntrace_cpu_finish(c);
		ret = ntrace_cpu_run(c);
	} else if (c->state == NTRACE_WAITING) {
		ret = ntrace_cpu_run(c);
		if (ret)
			ntrace_cpu_stop(c);
	}

	if (ret) {
		c->event->hw.state |= PERF_HES_STOPPED;
		return HRTIMER_NORESTART;
	}

	hrtimer_forward_now(timer, ns_to_ktime(ntrace_cpu_period(c)));
	return HRTIMER_RESTART;
}

/* perf callbacks */

static void ntrace_pmu_start(struct perf_event *event, int flags)
{
	struct ntrace_cpu *c = this_cpu_ptr(&ntrace_cpus);
	struct ntrace_event_cpu *on = ntrace_event_cpu(event, smp_processor_id());
	struct ntrace_event *ev = event->pmu_private;
	int ret;

	event->hw.state = 0;
	if (ev->context)
		ntrace_context_write_current();

	ret = ntrace_encoder_configure(c->path->encoder, &on->config) ?: ntrace_cpu_run(c);
	if (ret) {
		event->hw.state |= PERF_HES_STOPPED;
		return;
	}

	hrtimer_start(&c->timer, ns_to_ktime(ntrace_cpu_period(c)), HRTIMER_MODE_REL_PINNED_HARD);
}

static void ntrace_pmu_stop(struct perf_event *event, int flags)
{
	struct ntrace_cpu *c = this_cpu_ptr(&ntrace_cpus);

	if (event->hw.state & PERF_HES_STOPPED)
		return;

	/* Pinned to this CPU, where interrupts are off: it cannot be running. */
	hrtimer_try_to_cancel(&c->timer);
	ntrace_cpu_stop(c);
	event->hw.state |= PERF_HES_STOPPED | PERF_HES_UPTODATE;
}

static int ntrace_pmu_add(struct perf_event *event, int flags)
{
	struct ntrace_cpu *c = this_cpu_ptr(&ntrace_cpus);
	struct ntrace_event_cpu *on = ntrace_event_cpu(event, smp_processor_id());

	if (!on->path || !c->online)
		return -ENODEV;
	if (c->event)
		return -EBUSY;

	c->event = event;
	c->path = on->path;
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	if (flags & PERF_EF_START)
		ntrace_pmu_start(event, PERF_EF_RELOAD);

	return 0;
}

static void ntrace_pmu_del(struct perf_event *event, int flags)
{
	struct ntrace_cpu *c = this_cpu_ptr(&ntrace_cpus);

	ntrace_pmu_stop(event, PERF_EF_UPDATE);
	if (c->event == event)
		c->event = NULL;
}

static void ntrace_pmu_read(struct perf_event *event)
{
}

static struct pmu ntrace_pmu = {
	.module = THIS_MODULE,
	.capabilities = PERF_PMU_CAP_EXCLUSIVE | PERF_PMU_CAP_ITRACE | PERF_PMU_CAP_AUX_NO_SG,
	.attr_groups = ntrace_attr_groups,
	/*
	 * Per-task events need a context that is scheduled; the software context has no limit of
	 * events.
	 */
	.task_ctx_nr = perf_sw_context,
	.event_init = ntrace_pmu_event_init,
	.add = ntrace_pmu_add,
	.del = ntrace_pmu_del,
	.start = ntrace_pmu_start,
	.stop = ntrace_pmu_stop,
	.read = ntrace_pmu_read,
	.setup_aux = ntrace_pmu_setup_aux,
	.free_aux = ntrace_pmu_free_aux,
};

/* CPU hotplug */

static enum cpuhp_state ntrace_cpuhp_state;

static int ntrace_cpu_online(unsigned int cpu)
{
	this_cpu_ptr(&ntrace_cpus)->online = true;

	return 0;
}

/* perf takes its events off the CPU later than this; they find nothing to do then. */
static int ntrace_cpu_offline(unsigned int cpu)
{
	struct ntrace_cpu *c = this_cpu_ptr(&ntrace_cpus);

	guard(irqsave)();
	c->online = false;
	if (c->event)
		ntrace_pmu_stop(c->event, PERF_EF_UPDATE);

	return 0;
}

/* Module */

static void ntrace_cpu_init(struct ntrace_cpu *c)
{
	hrtimer_setup(&c->timer, ntrace_cpu_timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
}

static int __init ntrace_init(void)
{
	int cpu, ret;

	ntrace_format_init();
	for_each_possible_cpu(cpu)
		ntrace_cpu_init(per_cpu_ptr(&ntrace_cpus, cpu));

	ret = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "perf/ntrace:online", ntrace_cpu_online,
				ntrace_cpu_offline);
	if (ret < 0)
		return ret;
	ntrace_cpuhp_state = ret;

	ret = perf_pmu_register(&ntrace_pmu, "ntrace", -1);
	if (ret)
		goto err_cpuhp;

	ret = ntrace_component_driver_register(ntrace_component_types, &ntrace_pmu_listener);
	if (ret)
		goto err_pmu;

	return 0;

err_pmu:
	perf_pmu_unregister(&ntrace_pmu);
err_cpuhp:
	cpuhp_remove_state(ntrace_cpuhp_state);
	return ret;
}
module_init(ntrace_init);

static void __exit ntrace_exit(void)
{
	ntrace_component_driver_unregister();
	perf_pmu_unregister(&ntrace_pmu);
	cpuhp_remove_state(ntrace_cpuhp_state);
}
module_exit(ntrace_exit);

MODULE_DESCRIPTION("RISC-V N-Trace for perf");
MODULE_LICENSE("GPL");
