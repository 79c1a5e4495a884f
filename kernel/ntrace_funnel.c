// SPDX-License-Identifier: GPL-2.0-only
/*
 * Funnel. The first path that needs it enables it, and the last one disables it. Inputs that no
 * path uses are disabled, because their trace belongs to somebody else. An input that was used
 * stays enabled until the funnel is off: it may still hold trace, a disabled input discards its
 * trace, and only a funnel that is off reports that it is empty.
 */
#include <linux/bitfield.h>
#include <linux/cleanup.h>

#include "ntrace_component.h"

/* Set all registers that may be undefined after reset */
static int ntrace_funnel_reset(struct ntrace_component *comp)
{
	struct ntrace_funnel *funnel = to_ntrace_funnel(comp);

	ntrace_write(comp, TR_FUNNEL_CONTROL, TR_CONTROL_ACTIVE);
	if (ntrace_has_register(comp, TR_FUNNEL_DIS_INPUT))
		ntrace_write(comp, TR_FUNNEL_DIS_INPUT, 0);
	if (ntrace_has_register(comp, TR_TS_CONTROL))
		ntrace_write(comp, TR_TS_CONTROL, 0);
	/* Does nothing at the first reset. With Active the funnel forwards the shared time. */
	ntrace_timestamp_run(comp, &funnel->ts);
	funnel->dis_input = 0;

	return 0;
}

static int ntrace_funnel_probe(struct ntrace_component *comp)
{
	struct ntrace_funnel *funnel = to_ntrace_funnel(comp);

	if (ntrace_has_register(comp, TR_FUNNEL_DIS_INPUT)) {
		funnel->can_disable = ntrace_write_back(comp, TR_FUNNEL_DIS_INPUT,
							TR_FUNNEL_DIS_INPUT_MASK) &
				      TR_FUNNEL_DIS_INPUT_MASK;
		ntrace_write(comp, TR_FUNNEL_DIS_INPUT, 0);
	}
	ntrace_timestamp_probe(comp, &funnel->ts);

	return 0;
}

/* Enable one more input. If the funnel is off, disable all other inputs. */
static int ntrace_funnel_use_input(struct ntrace_funnel *funnel, unsigned int input)
{
	u32 others = funnel->comp.active ? funnel->dis_input : funnel->can_disable;
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

static int ntrace_funnel_enable(struct ntrace_component *comp, unsigned int input)
{
	guard(raw_spinlock)(&comp->lock);
	if (comp->failed)
		return -EIO;

	return ntrace_funnel_use_input(to_ntrace_funnel(comp), input) ?:
	       ntrace_component_enable(comp, TR_CONTROL_ACTIVE);
}

static int ntrace_funnel_disable(struct ntrace_component *comp)
{
	return ntrace_component_disable(comp, TR_CONTROL_ACTIVE);
}

/* sysfs */

NTRACE_ATTR(funnel, dis_input, "0x%x", this->can_disable);
NTRACE_ATTR(funnel, ts_mode, "%u", this->ts.mode);
NTRACE_ATTR(funnel, ts_width, "%u", this->ts.width);
NTRACE_ATTR(funnel, ts_prescale, "%u", this->ts.prescale);

static const struct attribute_group ntrace_funnel_group = {
	.attrs	= (struct attribute *[]) {
		&dev_attr_dis_input.attr,
		&dev_attr_ts_mode.attr,
		&dev_attr_ts_width.attr,
		&dev_attr_ts_prescale.attr,
		NULL
	},
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
