// SPDX-License-Identifier: GPL-2.0-only
/*
 * Paths: found in the graph of the device tree, counted, enabled from the sink up and disabled from
 * the encoder down.
 *
 * Any other order loses trace: what has no taker is dropped.
 */
#include <linux/cleanup.h>
#include <linux/of.h>
#include <linux/of_graph.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include "ntrace_path.h"
#include "ntrace_regs.h"

const struct ntrace_component_type *const ntrace_component_types[] = {
	&ntrace_encoder_type,
	&ntrace_ramsink_type,
	NULL
};

/* Polls of the encoder between two looks at whether the sink still takes anything */
#define NTRACE_SINK_POLLS	8

static LIST_HEAD(ntrace_paths);		/* under ntrace_components_lock */

/* The graph */

/**
 * ntrace_path_encoder - the encoder of a CPU
 * @cpu: the CPU
 *
 * ntrace_components_lock is held. Return: NULL if it has none
 */
struct ntrace_encoder *ntrace_path_encoder(int cpu)
{
	struct ntrace_component *comp;

	ntrace_for_each_component(comp, TR_COMP_ENCODER)
		if (comp->cpu == cpu)
			return to_ntrace_encoder(comp);

	return NULL;
}

/* Why a node at the other end of a link cannot be part of a path */
static int ntrace_path_refuse(struct ntrace_component *from, struct device_node *np)
{
	dev_err_ratelimited(from->dev,
			    "trace %s at %pa leads to %pOF, which is no trace component in use (missing, refused or of an unsupported type)\n",
			    from->type->name, &from->start, np);

	return -ENODEV;
}

static unsigned int ntrace_path_count_inputs(struct ntrace_component *comp)
{
	struct device_node *ports __free(device_node) =
		of_get_child_by_name(comp->dev->of_node, "in-ports");

	return ports ? of_graph_get_endpoint_count(ports) : 0;
}

/* A sink with several inputs would mix streams of which each user sees all. */
static int ntrace_path_check_sink(struct ntrace_component *comp)
{
	unsigned int inputs = ntrace_path_count_inputs(comp);

	if (inputs <= 1)
		return 0;

	dev_err_ratelimited(comp->dev,
			    "trace RAM sink at %pa has %u inputs, shared sinks are not supported yet\n",
			    &comp->start, inputs);
	return -EOPNOTSUPP;
}

/*
 * Follow the outputs of the path's last component until a sink is reached, the wanted one if any is
 * wanted. On the first link that leads nowhere the reason is kept, but another link may still do.
 */
static int ntrace_path_walk(struct ntrace_path *path, u32 sinkid)
{
	struct ntrace_component *from = path->comp[path->nr - 1], *to;
	struct device_node *ports __free(device_node) =
		of_get_child_by_name(from->dev->of_node, "out-ports");
	struct device_node *endpoint;
	int ret = -ENOLINK;

	for_each_endpoint_of_node(ports, endpoint) {
		struct device_node *np __free(device_node) =
			of_graph_get_remote_port_parent(endpoint);

		if (!np || !of_device_is_available(np))
			continue;

		to = ntrace_component_find(np);
		if (!to) {
			ret = ntrace_path_refuse(from, np);
			continue;
		}
		if (to->type != &ntrace_ramsink_type) {
			ret = ntrace_path_refuse(from, np);
			continue;
		}
		if (sinkid && to_ntrace_ramsink(to)->id != sinkid)
			continue;

		of_node_put(endpoint);
		path->comp[path->nr++] = to;
		path->sink = to_ntrace_ramsink(to);
		return ntrace_path_check_sink(to);
	}

	return ret;
}

static struct ntrace_path *ntrace_path_create(struct ntrace_encoder *enc, u32 sinkid)
{
	struct ntrace_path *path;
	int ret;

	path = kzalloc(sizeof(*path), GFP_KERNEL);
	if (!path)
		return ERR_PTR(-ENOMEM);

	path->encoder = enc;
	path->comp[path->nr++] = &enc->comp;
	ret = ntrace_path_walk(path, sinkid);
	if (!ret)
		return path;

	kfree(path);
	if (ret != -ENOLINK)
		return ERR_PTR(ret);
	if (sinkid)
		return ERR_PTR(-EINVAL);

	dev_err_ratelimited(enc->comp.dev, "trace encoder at %pa: no sink reachable\n",
			    &enc->comp.start);
	return ERR_PTR(-ENODEV);
}

/* References */

static struct ntrace_path *ntrace_path_find(struct ntrace_encoder *enc, u32 sinkid)
{
	struct ntrace_path *path, *fresh;

	fresh = ntrace_path_create(enc, sinkid);
	if (IS_ERR(fresh))
		return fresh;

	list_for_each_entry(path, &ntrace_paths, node) {
		if (path->encoder == enc && path->sink == fresh->sink) {
			kfree(fresh);
			return path;
		}
	}

	list_add(&fresh->node, &ntrace_paths);
	return fresh;
}

/**
 * ntrace_path_put - give it back
 * @path: the path
 *
 * ntrace_components_lock is held.
 */
void ntrace_path_put(struct ntrace_path *path)
{
	if (--path->users)
		return;

	list_del(&path->node);
	kfree(path);
}

/*
 * A component that failed an earlier event gets another chance, from reset on. Nobody uses it: a
 * failed one can be neither configured nor given a window.
 */
static int ntrace_path_revive(struct ntrace_path *path)
{
	unsigned int i;

	for (i = 0; i < path->nr; i++)
		if (path->comp[i]->failed && ntrace_component_reset(path->comp[i]))
			return -EIO;

	return 0;
}

/**
 * ntrace_path_get - the path from a CPU's encoder to a sink
 * @cpu:	the CPU
 * @sinkid:	which sink, 0 for the first that is reachable
 *
 * ntrace_components_lock is held. Return: the path, -ENODEV (no encoder, no sink), -EINVAL (no such
 * sink), -EOPNOTSUPP (something on the way is not supported), -EIO (it does not react) or -ENOMEM
 */
struct ntrace_path *ntrace_path_get(int cpu, u32 sinkid)
{
	struct ntrace_encoder *enc = ntrace_path_encoder(cpu);
	struct ntrace_path *path;
	int ret;

	if (!enc)
		return ERR_PTR(-ENODEV);

	path = ntrace_path_find(enc, sinkid);
	if (IS_ERR(path))
		return path;

	path->users++;
	ret = ntrace_path_revive(path);
	if (!ret)
		return path;

	ntrace_path_put(path);
	return ERR_PTR(ret);
}

/* Order */

/**
 * ntrace_path_disable_downstream - disable everything but the encoder, the sink last
 * @path: the path, whose encoder is off or stalled
 *
 * All of them are tried. Return: 0 or the first error
 */
int ntrace_path_disable_downstream(struct ntrace_path *path)
{
	unsigned int i;
	int ret = 0, err;

	for (i = 1; i < path->nr; i++) {
		/* A failed one is held in reset: leave it there. */
		err = path->comp[i]->failed ? -EIO : path->comp[i]->type->disable(path->comp[i]);
		ret = ret ?: err;
	}

	return ret;
}

/**
 * ntrace_path_enable_downstream - enable everything but the encoder, from the sink up
 * @path: the path, configured
 */
int ntrace_path_enable_downstream(struct ntrace_path *path)
{
	unsigned int i;
	int ret = 0;

	for (i = path->nr - 1; i > 0 && !ret; i--)
		ret = path->comp[i]->type->enable(path->comp[i]);
	if (ret)
		ntrace_path_disable_downstream(path);

	return ret;
}

/**
 * ntrace_path_enable - enable the whole path, the encoder last
 * @path: the path, configured
 *
 * When it fails, everything is off: a sink must not be left with a window into memory.
 */
int ntrace_path_enable(struct ntrace_path *path)
{
	int ret = ntrace_path_enable_downstream(path);

	if (ret)
		return ret;

	ret = path->comp[0]->type->enable(path->comp[0]);
	if (ret)
		ntrace_path_disable_downstream(path);

	return ret;
}

/**
 * ntrace_path_stop_encoder - switch the encoder off and let it run dry
 * @path:	the path
 * @overflow:	set when it lost trace, or wanted the hart to wait, since it was enabled
 *
 * What the encoder still holds needs a sink that takes it. Return: 0, -ENOSPC when the sink is full
 * and the encoder is not empty (give the sink another window and call again), -ETIMEDOUT
 */
int ntrace_path_stop_encoder(struct ntrace_path *path, bool *overflow)
{
	struct ntrace_component *comp = &path->encoder->comp;
	struct ntrace_deadline deadline = {};
	u32 control;

	ntrace_encoder_stop(path->encoder);
	do {
		control = ntrace_read(comp, TR_TE_CONTROL);
		if (ntrace_encoder_stopped(control)) {
			*overflow |= !!(control & TR_TE_CONTROL_STALL_OR_OVERFLOW);
			return 0;
		}
		if (deadline.polls % NTRACE_SINK_POLLS == NTRACE_SINK_POLLS - 1 &&
		    ntrace_ramsink_stopped(path->sink))
			return -ENOSPC;
	} while (!ntrace_deadline_passed(&deadline));

	return ntrace_component_fail(comp, "Enable=0 and Empty=1", control);
}

/* sysfs */

static ssize_t sink_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct ntrace_component *comp = dev_get_drvdata(dev);
	struct ntrace_path *path;
	int len;

	guard(mutex)(&ntrace_components_lock);
	path = ntrace_path_get(comp->cpu, 0);
	if (IS_ERR(path))
		return sysfs_emit(buf, "none\n");

	len = sysfs_emit(buf, "%s\n", dev_name(path->sink->comp.dev));
	ntrace_path_put(path);

	return len;
}
static DEVICE_ATTR_RO(sink);

static struct attribute *ntrace_path_attrs[] = {
	&dev_attr_sink.attr,
	NULL
};

static const struct attribute_group ntrace_path_group = {
	.attrs = ntrace_path_attrs,
};

/**
 * ntrace_path_bound - a component has come
 * @comp: the component
 */
int ntrace_path_bound(struct ntrace_component *comp)
{
	if (comp->type != &ntrace_encoder_type)
		return 0;

	return devm_device_add_group(comp->dev, &ntrace_path_group);
}
