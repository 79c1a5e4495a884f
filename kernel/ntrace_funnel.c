// SPDX-License-Identifier: GPL-2.0-only
/*
 * Funnel. It is enabled by the first path that needs it and disabled by the last. Inputs that no
 * path uses are disabled, because what comes in there is somebody else's. An input that was used
 * stays enabled until the funnel is off: what its encoder sent may still wait there, only a funnel
 * that is off says that it is empty, and a disabled input discards.
 */
#include <linux/bitfield.h>
#include <linux/cleanup.h>
#include <linux/sysfs.h>

#include "ntrace_component.h"

/* Every register that may come up undefined */
static int ntrace_funnel_reset(struct ntrace_component *comp)
{
	struct ntrace_funnel *funnel = to_ntrace_funnel(comp);

	ntrace_write(comp, TR_FUNNEL_CONTROL, TR_CONTROL_ACTIVE);
	if (ntrace_has_register(comp, TR_FUNNEL_DIS_INPUT))
		ntrace_write(comp, TR_FUNNEL_DIS_INPUT, 0);
	if (ntrace_has_register(comp, TR_TS_CONTROL))
		ntrace_write(comp, TR_TS_CONTROL, 0);
	/* Nothing to resume at the first reset. Active alone makes it forward others' time. */
	ntrace_timestamp_run(comp, &funnel->ts);
	funnel->dis_input = 0;

	return 0;
}

static int ntrace_funnel_probe(struct ntrace_component *comp)
{
	struct ntrace_funnel *funnel = to_ntrace_funnel(comp);

	raw_spin_lock_init(&funnel->lock);
	if (ntrace_has_register(comp, TR_FUNNEL_DIS_INPUT)) {
		funnel->can_disable = ntrace_write_back(comp, TR_FUNNEL_DIS_INPUT,
							TR_FUNNEL_DIS_INPUT_MASK) &
				      TR_FUNNEL_DIS_INPUT_MASK;
		ntrace_write(comp, TR_FUNNEL_DIS_INPUT, 0);
	}
	ntrace_timestamp_probe_funnel(comp, &funnel->ts);

	return 0;
}

static int ntrace_funnel_enable(struct ntrace_component *comp)
{
	ntrace_write(comp, TR_FUNNEL_CONTROL, TR_CONTROL_ACTIVE | TR_CONTROL_ENABLE);

	return ntrace_wait(comp, TR_CONTROL_ENABLE, TR_CONTROL_ENABLE, "Enable=1");
}

static int ntrace_funnel_disable(struct ntrace_component *comp)
{
	ntrace_write(comp, TR_FUNNEL_CONTROL, TR_CONTROL_ACTIVE);

	return ntrace_wait(comp, TR_CONTROL_ENABLE | TR_CONTROL_EMPTY, TR_CONTROL_EMPTY,
			   "Enable=0 and Empty=1");
}

/* One more input that is used. Of a funnel that is off, it is the only one. */
static int ntrace_funnel_use_input(struct ntrace_funnel *funnel, unsigned int input)
{
	u32 others = funnel->users ? funnel->dis_input : funnel->can_disable;
	u32 want = others & ~BIT(input), got;

	if (want == funnel->dis_input)
		return 0;

	got = ntrace_write_back(&funnel->comp, TR_FUNNEL_DIS_INPUT, want);
	funnel->dis_input = got;
	if (got == want)
		return 0;

	ntrace_component_complain(&funnel->comp, "trFunnelDisInput to be kept", got);
	return -EIO;
}

/**
 * ntrace_funnel_wake - reset a funnel that forgot what it was
 * @funnel: the funnel
 *
 * Interrupts are off.
 */
void ntrace_funnel_wake(struct ntrace_funnel *funnel)
{
	guard(raw_spinlock)(&funnel->lock);
	if (!funnel->users)
		ntrace_component_wake(&funnel->comp);
}

/**
 * ntrace_funnel_join - one more path leads through a funnel
 * @funnel:	the funnel
 * @input:	where the path enters
 *
 * What follows is enabled. Interrupts are off. Return: 0 or an error, and the path does not count
 */
int ntrace_funnel_join(struct ntrace_funnel *funnel, unsigned int input)
{
	int ret;

	guard(raw_spinlock)(&funnel->lock);
	if (funnel->comp.failed)
		return -EIO;

	ret = ntrace_funnel_use_input(funnel, input);
	if (!ret && !funnel->users)
		ret = ntrace_funnel_enable(&funnel->comp);
	if (!ret)
		funnel->users++;

	return ret;
}

/**
 * ntrace_funnel_leave - one path less
 * @funnel: the funnel
 *
 * What comes before is off and empty. Interrupts are off.
 */
int ntrace_funnel_leave(struct ntrace_funnel *funnel)
{
	guard(raw_spinlock)(&funnel->lock);
	funnel->users--;
	/* A failed one is held in reset: leave it there. */
	if (funnel->comp.failed)
		return -EIO;

	return funnel->users ? 0 : ntrace_funnel_disable(&funnel->comp);
}

/* sysfs */

#define NTRACE_FUNNEL_ATTR(_name, _fmt, _value)							\
static ssize_t _name##_show(struct device *dev, struct device_attribute *attr, char *buf)	\
{												\
	struct ntrace_funnel *funnel = dev_get_drvdata(dev);					\
												\
	return sysfs_emit(buf, _fmt "\n", _value);						\
}												\
static DEVICE_ATTR_RO(_name)

NTRACE_FUNNEL_ATTR(impl, "0x%08x", funnel->comp.impl);
NTRACE_FUNNEL_ATTR(dis_input, "0x%x", funnel->can_disable);
NTRACE_FUNNEL_ATTR(ts_mode, "%u", funnel->ts.mode);
NTRACE_FUNNEL_ATTR(ts_width, "%u", funnel->ts.width);
NTRACE_FUNNEL_ATTR(ts_prescale, "%u", funnel->ts.prescale);

static struct attribute *ntrace_funnel_attrs[] = {
	&dev_attr_impl.attr,
	&dev_attr_dis_input.attr,
	&dev_attr_ts_mode.attr,
	&dev_attr_ts_width.attr,
	&dev_attr_ts_prescale.attr,
	NULL
};

static const struct attribute_group ntrace_funnel_group = {
	.attrs = ntrace_funnel_attrs,
};

const struct ntrace_component_type ntrace_funnel_type = {
	.name		= "funnel",
	.id		= TR_COMP_FUNNEL,
	.size		= sizeof(struct ntrace_funnel),
	.reset		= ntrace_funnel_reset,
	.probe		= ntrace_funnel_probe,
	.enable		= ntrace_funnel_enable,
	.disable	= ntrace_funnel_disable,
	.group		= &ntrace_funnel_group,
};
