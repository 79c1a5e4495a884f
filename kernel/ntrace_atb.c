// SPDX-License-Identifier: GPL-2.0-only
/*
 * ATB bridge. It hands trace over to a CoreSight component, which is outside of this driver. A path
 * may end at a bridge if an event selects the bridge by name. perf gets no trace of such a path.
 */
#include <linux/bitfield.h>
#include <linux/cleanup.h>
#include <linux/of.h>
#include <linux/of_graph.h>
#include <linux/sysfs.h>

#include "ntrace_component.h"

static u32 ntrace_atb_control(const struct ntrace_atb *atb)
{
	return TR_CONTROL_ACTIVE | FIELD_PREP(TR_ATB_CONTROL_ID, READ_ONCE(atb->id));
}

static int ntrace_atb_reset(struct ntrace_component *comp)
{
	ntrace_write(comp, TR_ATB_CONTROL, TR_CONTROL_ACTIVE);

	return 0;
}

/* CoreSight allocates trace IDs from the lowest one up, so default to the highest valid one. */
static int ntrace_atb_probe(struct ntrace_component *comp)
{
	struct ntrace_atb *atb = to_ntrace_atb(comp);
	u32 got;

	atb->id = TR_ATB_ID_MAX;
	got = ntrace_write_back(comp, TR_ATB_CONTROL, ntrace_atb_control(atb));
	if (FIELD_GET(TR_ATB_CONTROL_ID, got) == atb->id)
		return 0;

	ntrace_log(err, comp, " does not keep an ID (Control 0x%08x)", got);
	return -ENODEV;
}

/* Set the ID before the bridge is enabled, so that all of the trace carries it. */
static int ntrace_atb_enable(struct ntrace_component *comp, unsigned int input)
{
	u32 control = ntrace_atb_control(to_ntrace_atb(comp));

	guard(raw_spinlock)(&comp->lock);
	if (!comp->failed && !comp->active)
		ntrace_write(comp, TR_ATB_CONTROL, control);

	return ntrace_component_enable(comp, control);
}

static int ntrace_atb_disable(struct ntrace_component *comp)
{
	return ntrace_component_disable(comp, ntrace_atb_control(to_ntrace_atb(comp)));
}

/* sysfs */

static ssize_t atid_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "0x%02x\n", READ_ONCE(to_ntrace_atb(dev_get_drvdata(dev))->id));
}

/* Takes effect when the bridge is enabled next */
static ssize_t atid_store(struct device *dev, struct device_attribute *attr, const char *buf,
			  size_t count)
{
	struct ntrace_atb *atb = dev_get_drvdata(dev);
	u8 id;
	int ret;

	ret = kstrtou8(buf, 0, &id);
	if (ret)
		return ret;
	/* ATB reserves 0 and 0x70 to 0x7f. */
	if (id < TR_ATB_ID_MIN || id > TR_ATB_ID_MAX)
		return -EINVAL;
	WRITE_ONCE(atb->id, id);

	return count;
}
static DEVICE_ATTR_RW(atid);

/* The CoreSight component at the other end */
static ssize_t far_end_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct device_node *ports __free(device_node) =
		of_get_child_by_name(dev->of_node, "out-ports");
	struct device_node *endpoint __free(device_node) =
		of_graph_get_next_endpoint(ports, NULL);
	struct device_node *np __free(device_node) =
		endpoint ? of_graph_get_remote_port_parent(endpoint) : NULL;

	return np ? sysfs_emit(buf, "%pOF\n", np) : sysfs_emit(buf, "none\n");
}
static DEVICE_ATTR_RO(far_end);

static const struct attribute_group ntrace_atb_group = {
	.attrs	= (struct attribute *[]) {
		&dev_attr_atid.attr,
		&dev_attr_far_end.attr,
		NULL
	},
};

const struct ntrace_component_type ntrace_atb_type = {
	.name		= "ATB bridge",
	.id		= TR_COMP_ATBBRIDGE,
	.ends		= true,
	.size		= sizeof(struct ntrace_atb),
	.reset		= ntrace_atb_reset,
	.probe		= ntrace_atb_probe,
	.enable		= ntrace_atb_enable,
	.disable	= ntrace_atb_disable,
	.group		= &ntrace_atb_group,
};
