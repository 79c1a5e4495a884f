// SPDX-License-Identifier: GPL-2.0-only
/*
 * Paths from encoders to sinks: lookup in the graph of the device tree, references, and order.
 *
 * A path is enabled from the sink up and disabled from the encoder down. Any other order loses
 * trace, because a component that is off drops its input.
 */
#define pr_fmt(fmt) "ntrace: " fmt

#include <linux/bitmap.h>
#include <linux/cleanup.h>
#include <linux/of.h>
#include <linux/of_graph.h>
#include <linux/pid.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/sysfs.h>

#include "ntrace_path.h"
#include "ntrace_version0.h"

/* Number of polls of a component between two checks whether the sink is full */
#define NTRACE_SINK_POLLS	8

static LIST_HEAD(ntrace_paths);		/* under ntrace_components_lock */

/* The graph */

/* Find the encoder of a CPU. ntrace_components_lock is held. Return: NULL if there is none */
struct ntrace_encoder *ntrace_path_encoder(int cpu)
{
	struct ntrace_component *comp;

	ntrace_for_each_component(comp, TR_COMP_ENCODER)
		if (comp->cpu == cpu)
			return to_ntrace_encoder(comp);

	return NULL;
}

/* Report a link to a node that cannot be part of a path */
static int ntrace_path_refuse(struct ntrace_component *from, struct device_node *np)
{
	ntrace_log(err_ratelimited, from,
		   " leads to %pOF, which is no trace component in use (missing, refused, unbound or of an unsupported type)",
		   np);

	return -ENODEV;
}

/* Without a sinkid, only a RAM sink will do, because perf can read it. */
static bool ntrace_path_is_wanted(const struct ntrace_component *comp, u32 sinkid)
{
	return sinkid ? comp->id == sinkid : comp->type == &ntrace_ramsink_type;
}

static int ntrace_path_walk(struct ntrace_path *path, u32 sinkid);

static int ntrace_path_port(struct device_node *endpoint)
{
	struct device_node *remote __free(device_node) = of_graph_get_remote_endpoint(endpoint);
	struct of_endpoint parsed = {};

	of_graph_parse_endpoint(remote, &parsed);

	return parsed.port;
}

/*
 * Follow one link and the links after it. Return: 0 when the wanted end is reached, -ENOLINK when
 * only other ends are, or another error if the link is not usable
 */
static int ntrace_path_step(struct ntrace_path *path, struct device_node *endpoint, u32 sinkid)
{
	struct ntrace_component *from = path->comp[path->nr - 1], *to;
	struct device_node *np __free(device_node) = of_graph_get_remote_port_parent(endpoint);
	int ret;

	if (!np || !of_device_is_available(np))
		return -ENOLINK;

	to = ntrace_component_find(np);
	if (!to || to->type == &ntrace_encoder_type)
		return ntrace_path_refuse(from, np);
	if (path->nr == NTRACE_PATH_MAX) {
		ntrace_log(err_ratelimited, from, ": more than %d components in a row",
			   NTRACE_PATH_MAX);
		return -EOPNOTSUPP;
	}

	path->input[path->nr] = ntrace_path_port(endpoint) & (TR_FUNNEL_NR_INPUTS - 1);
	path->comp[path->nr++] = to;
	if (!to->type->ends)
		ret = ntrace_path_walk(path, sinkid);
	else
		ret = ntrace_path_is_wanted(to, sinkid) ? 0 : -ENOLINK;
	if (ret)
		path->nr--;

	return ret;
}

/*
 * Follow the outputs of the path's last component to the wanted end. If a link is not usable, try
 * the next one, but remember the error. The maximum length of a path limits the recursion.
 */
static int ntrace_path_walk(struct ntrace_path *path, u32 sinkid)
{
	struct ntrace_component *from = path->comp[path->nr - 1];
	struct device_node *ports __free(device_node) =
		of_get_child_by_name(from->dev->of_node, "out-ports");
	struct device_node *endpoint;
	int ret = -ENOLINK, err;

	for_each_endpoint_of_node(ports, endpoint) {
		err = ntrace_path_step(path, endpoint, sinkid);
		if (!err) {
			of_node_put(endpoint);
			return 0;
		}
		ret = err == -ENOLINK ? ret : err;
	}

	return ret;
}

/* Does any path from a component reach an end? ntrace_components_lock is held. */
static bool ntrace_path_has_end(const struct ntrace_component *from, unsigned int depth)
{
	struct device_node *ports __free(device_node) =
		of_get_child_by_name(from->dev->of_node, "out-ports");
	struct ntrace_component *to;
	struct device_node *endpoint;

	if (from->type->ends)
		return true;
	for_each_endpoint_of_node(ports, endpoint) {
		struct device_node *np __free(device_node) =
			of_graph_get_remote_port_parent(endpoint);

		to = np ? ntrace_component_find(np) : NULL;
		if (to && depth < NTRACE_PATH_MAX && ntrace_path_has_end(to, depth + 1)) {
			of_node_put(endpoint);
			return true;
		}
	}

	return false;
}

/* Does the encoder have a path to any end? ntrace_components_lock is held. */
bool ntrace_path_exists(const struct ntrace_encoder *enc)
{
	return ntrace_path_has_end(&enc->comp, 1);
}

static struct ntrace_path *ntrace_path_create(struct ntrace_encoder *enc, u32 sinkid)
{
	struct ntrace_component *last;
	struct ntrace_path *path;
	int ret;

	path = kzalloc(sizeof(*path), GFP_KERNEL);
	if (!path)
		return ERR_PTR(-ENOMEM);

	path->encoder = enc;
	path->comp[path->nr++] = &enc->comp;
	ret = ntrace_path_walk(path, sinkid);
	if (!ret) {
		last = path->comp[path->nr - 1];
		if (last->type == &ntrace_ramsink_type)
			path->sink = to_ntrace_ramsink(last);
		return path;
	}

	kfree(path);
	if (ret != -ENOLINK)
		return ERR_PTR(ret);
	if (sinkid)
		return ERR_PTR(-EINVAL);

	ntrace_log(err_ratelimited, &enc->comp, ": no sink reachable");
	return ERR_PTR(-ENODEV);
}

/* Sharing */

#define NTRACE_SRC_IDS	BIT(TR_TE_SRC_BITS_MAX)

/* The encoders whose trace can reach a sink */
struct ntrace_path_sources {
	unsigned int nr;
	u8 src_bits;			/* of the first encoder */
	DECLARE_BITMAP(ids, NTRACE_SRC_IDS);	/* source IDs in use */
	struct ntrace_encoder *bad;	/* an encoder whose source ID is not distinct */
};

static void ntrace_path_add_source(struct ntrace_path_sources *sources, struct ntrace_encoder *enc)
{
	if (!sources->nr++)
		sources->src_bits = enc->src_bits;
	if (!enc->src_bits || enc->src_bits != sources->src_bits ||
	    test_and_set_bit(enc->src_id & (NTRACE_SRC_IDS - 1), sources->ids))
		sources->bad = sources->bad ?: enc;
}

/* Find the encoders upstream of a component, through bound components only */
static void ntrace_path_find_sources(struct ntrace_component *comp, unsigned int depth,
				     struct ntrace_path_sources *sources)
{
	struct device_node *ports __free(device_node) =
		of_get_child_by_name(comp->dev->of_node, "in-ports");
	struct ntrace_component *from;
	struct device_node *endpoint;

	for_each_endpoint_of_node(ports, endpoint) {
		struct device_node *np __free(device_node) =
			of_graph_get_remote_port_parent(endpoint);

		from = np ? ntrace_component_find(np) : NULL;
		if (!from)
			continue;
		if (from->type == &ntrace_encoder_type)
			ntrace_path_add_source(sources, to_ntrace_encoder(from));
		else if (depth < NTRACE_PATH_MAX)
			ntrace_path_find_sources(from, depth + 1, sources);
	}
}

/* Sinks that stay enabled while their encoders are off */

DEFINE_PER_CPU(struct ntrace_ramsink *, ntrace_kept);

/* Disable the sink that this CPU left enabled, if any. Interrupts are off. */
void ntrace_path_let_go(void)
{
	struct ntrace_ramsink *sink = this_cpu_read(ntrace_kept);

	if (!sink)
		return;
	ntrace_path_unkeep(sink);
	ntrace_ramsink_stop(sink);
}

static void ntrace_path_let_go_here(void *unused)
{
	ntrace_path_let_go();
}

/*
 * Disable a sink that a CPU left enabled, because no event uses it any more, or the memory of its
 * window is freed. An offline CPU has not left any sink enabled.
 */
void ntrace_path_recall(struct ntrace_ramsink *sink)
{
	int cpu = READ_ONCE(sink->kept_by);

	if (cpu >= 0)
		smp_call_function_single(cpu, ntrace_path_let_go_here, NULL, 1);
}

/*
 * Find out whether an unused sink is shared, that is, whether several encoders lead to it. If so,
 * their source IDs must be distinct.
 */
static int ntrace_path_check_sharing(struct ntrace_ramsink *sink)
{
	struct ntrace_path_sources *sources __free(kfree) = kzalloc(sizeof(*sources), GFP_KERNEL);

	if (!sources)
		return -ENOMEM;

	ntrace_path_find_sources(&sink->comp, 0, sources);
	sink->shared = sources->nr > 1;
	if (!sink->shared)
		return 0;
	if (sink->headroom) {
		ntrace_log(err_ratelimited, &sink->comp,
			   " stops all its encoders when it is read: %u of them cannot share it",
			   sources->nr);
		return -EOPNOTSUPP;
	}
	if (!sources->bad)
		return 0;

	ntrace_log(err_ratelimited, &sources->bad->comp,
		   ": source ID %u of %u bits cannot be told from others' in RAM sink at %pa",
		   sources->bad->src_id, sources->bad->src_bits, &sink->comp.start);
	return -EOPNOTSUPP;
}

/* Claim a sink for one more event */
static int ntrace_path_claim_sink(struct ntrace_path *path, struct pid *owner)
{
	struct ntrace_ramsink *sink = path->sink;
	int ret;

	if (!sink->comp.claim.users) {
		ret = ntrace_path_check_sharing(sink);
		if (ret)
			return ret;
	}
	if (ntrace_claim_sink_is_busy(&sink->comp.claim, sink->shared, !path->users,
				      sink->owner != owner)) {
		if (sink->shared)
			pr_info_ratelimited("trace RAM sink at %pa is shared, and in use by another task\n",
					    &sink->comp.start);
		return -EBUSY;
	}

	if (sink->shared || sink->copied) {
		ret = ntrace_ramsink_store_get(sink);
		if (ret)
			return ret;
	}
	if (sink->shared && !sink->owner)
		sink->owner = get_pid(owner);

	return 0;
}

static void ntrace_path_release_sink(struct ntrace_ramsink *sink)
{
	if (sink->shared || sink->copied)
		ntrace_ramsink_store_put(sink);
	if (!sink->comp.claim.users) {
		ntrace_path_recall(sink);
		put_pid(sink->owner);
		sink->owner = NULL;
		sink->lost = false;
	}
}

static int ntrace_path_claim(struct ntrace_path *path, struct pid *owner)
{
	struct ntrace_claim *claims[NTRACE_PATH_MAX];
	unsigned int i;
	int ret;

	for (i = 0; i < path->nr; i++)
		claims[i] = &path->comp[i]->claim;
	ret = ntrace_claim_busy(claims, path->nr);
	if (!ret)
		pr_info_ratelimited("CPU %d: its encoder is in use for another sink, and at least one of the two is behind a funnel\n",
				    path->encoder->comp.cpu);
	if (ret >= 0)
		return -EBUSY;

	ret = path->sink ? ntrace_path_claim_sink(path, owner) : 0;
	if (!ret)
		ntrace_claim_take(claims, path->nr);

	return ret;
}

/* Number of paths whose encoders use shared time. Protected by ntrace_components_lock. */
static unsigned int ntrace_path_time_users;

/* In version 0 funnels are sinks, too. */
static bool ntrace_path_is_funnel(const struct ntrace_component *comp)
{
	return comp->type == &ntrace_funnel_type ||
	       (comp->version0 && comp->type == &ntrace_ramsink_type);
}

/* A funnel forwards time only while it is on, even if no trace goes through it. */
static void ntrace_path_time_on(struct ntrace_component *comp)
{
	if (!comp->timed && ntrace_path_is_funnel(comp))
		comp->timed = !ntrace_power_get(comp);
}

static void ntrace_path_time_off(struct ntrace_component *comp)
{
	if (comp->timed)
		ntrace_power_put(comp);
	comp->timed = false;
}

static void ntrace_path_time_all(void (*how)(struct ntrace_component *comp))
{
	struct ntrace_component *comp;

	ntrace_for_each_component(comp, TR_COMP_FUNNEL)
		how(comp);
	ntrace_for_each_component(comp, TR_COMP_RAMSINK)
		how(comp);
}

static void ntrace_path_time_get(void)
{
	if (!ntrace_path_time_users++)
		ntrace_path_time_all(ntrace_path_time_on);
}

static void ntrace_path_time_put(void)
{
	if (!--ntrace_path_time_users)
		ntrace_path_time_all(ntrace_path_time_off);
}

/* Drop the path's power references to its first @nr components */
static void ntrace_path_power_off(struct ntrace_path *path, unsigned int nr)
{
	while (nr)
		ntrace_power_put(path->comp[--nr]);
	if (path->encoder->ts.mode == TR_TS_MODE_SHARED)
		ntrace_path_time_put();
}

static int ntrace_path_power_on(struct ntrace_path *path)
{
	unsigned int i;
	int ret;

	if (path->encoder->ts.mode == TR_TS_MODE_SHARED)
		ntrace_path_time_get();
	for (i = 0; i < path->nr; i++) {
		ret = ntrace_power_get(path->comp[i]);
		if (ret) {
			ntrace_path_power_off(path, i);
			return ret;
		}
	}

	return 0;
}

static void ntrace_path_release(struct ntrace_path *path)
{
	unsigned int i;

	for (i = 0; i < path->nr; i++)
		path->comp[i]->claim.users--;
	if (path->sink)
		ntrace_path_release_sink(path->sink);
	ntrace_path_power_off(path, path->nr);
}

/* References */

static struct ntrace_path *ntrace_path_find(struct ntrace_encoder *enc, u32 sinkid)
{
	struct ntrace_path *path, *fresh;
	unsigned int i;

	fresh = ntrace_path_create(enc, sinkid);
	if (IS_ERR(fresh))
		return fresh;

	list_for_each_entry(path, &ntrace_paths, node) {
		if (path->encoder == enc &&
		    path->comp[path->nr - 1] == fresh->comp[fresh->nr - 1]) {
			kfree(fresh);
			return path;
		}
	}

	for (i = 0; i < fresh->nr; i++)
		ntrace_component_get(fresh->comp[i]);
	list_add(&fresh->node, &ntrace_paths);
	return fresh;
}

static void ntrace_path_drop(struct ntrace_path *path)
{
	unsigned int i;

	if (path->users)
		return;

	list_del(&path->node);
	for (i = 0; i < path->nr; i++)
		ntrace_component_put(path->comp[i]);
	kfree(path);
}

/* Drop a reference of ntrace_path_get(). ntrace_components_lock is held. */
void ntrace_path_put(struct ntrace_path *path)
{
	if (!path->gone)
		ntrace_path_release(path);
	path->users--;
	ntrace_path_drop(path);
}

/*
 * Reset components that failed for an earlier event, and try again. This must not happen while any
 * event holds the component, because a CPU may be using it.
 */
static int ntrace_path_revive(struct ntrace_path *path)
{
	struct ntrace_component *comp;
	unsigned int i;

	for (i = 0; i < path->nr; i++) {
		comp = path->comp[i];
		if (comp->failed && (comp->claim.users || ntrace_component_reset(comp)))
			return -EIO;
	}

	return 0;
}

/*
 * Get the path from a CPU's encoder to a sink. @sinkid of 0: the first reachable sink.
 * ntrace_components_lock is held. Return: the path, -ENODEV (no encoder, no sink), -EINVAL (no such
 * sink), -EOPNOTSUPP (a part of the path is not supported), -EBUSY (a shared part is in use by
 * others, or for another sink), -EIO (a component does not respond) or -ENOMEM
 */
struct ntrace_path *ntrace_path_get(int cpu, u32 sinkid, struct pid *owner)
{
	struct ntrace_encoder *enc = ntrace_path_encoder(cpu);
	struct ntrace_path *path;
	int ret;

	if (!enc)
		return ERR_PTR(-ENODEV);

	path = ntrace_path_find(enc, sinkid);
	if (IS_ERR(path))
		return path;

	ret = ntrace_path_power_on(path);
	if (!ret) {
		ret = ntrace_path_revive(path) ?: ntrace_path_claim(path, owner);
		if (!ret) {
			path->users++;
			return path;
		}
		ntrace_path_power_off(path, path->nr);
	}

	ntrace_path_drop(path);
	return ERR_PTR(ret);
}

/*
 * A hart was asleep, and components of its path, which is disabled, may have lost their state. A
 * component that harts share keeps its state as long as one of them uses it. If all of them slept,
 * the first one that wakes resets it.
 */
void ntrace_path_wake(struct ntrace_path *path)
{
	unsigned int i;

	for (i = 0; i < path->nr; i++)
		ntrace_component_wake(path->comp[i]);
}

/* Order */

/*
 * Disable [first, end), from the encoder's side. Errors do not stop it. Return: the first error or
 * 0
 */
static int ntrace_path_disable_range(struct ntrace_path *path, unsigned int first,
				     unsigned int end)
{
	int ret = 0, err;

	for (; first < end; first++) {
		err = path->comp[first]->type->disable(path->comp[first]);
		ret = ret ?: err;
	}

	return ret;
}

/* Enable [first, end), from the sink's side. After an error all of them are as before. */
static int ntrace_path_enable_range(struct ntrace_path *path, unsigned int first, unsigned int end)
{
	struct ntrace_component *comp;
	unsigned int i;
	int ret;

	for (i = end; i > first; i--) {
		comp = path->comp[i - 1];
		ret = comp->type->enable(comp, path->input[i - 1]);
		if (ret) {
			ntrace_path_disable_range(path, i, end);
			return ret;
		}
	}

	return 0;
}

/*
 * Disable everything but the encoder, which is off or stalled; the sink last. Errors do not stop
 * it. Return: 0 or the first error
 */
int ntrace_path_disable_downstream(struct ntrace_path *path)
{
	return ntrace_path_disable_range(path, 1, path->nr);
}

static __always_inline int __ntrace_path_enable_downstream(struct ntrace_path *path)
{
	/* Fast path: most sinks are connected directly to the encoder. */
	if (path->nr == 2 && path->sink)
		return ntrace_ramsink_start(path->sink);

	return ntrace_path_enable_range(path, 1, path->nr);
}

/* Enable everything but the encoder, from the sink up */
int ntrace_path_enable_downstream(struct ntrace_path *path)
{
	return __ntrace_path_enable_downstream(path);
}

/* Disable the funnels unless other paths use them. This path's encoder is off and empty. */
int ntrace_path_leave_funnels(struct ntrace_path *path)
{
	return ntrace_path_disable_range(path, 1, path->nr - 1);
}

/* Enable the funnels between the encoder and the sink, which is enabled already */
int ntrace_path_join_funnels(struct ntrace_path *path)
{
	return ntrace_path_enable_range(path, 1, path->nr - 1);
}

/*
 * Enable the encoder; the rest of the path is enabled. After an error the whole path is off,
 * because no sink must be left enabled with a window into memory.
 */
int ntrace_path_enable_encoder(struct ntrace_path *path)
{
	int ret = ntrace_encoder_start(path->encoder);

	if (ret)
		ntrace_path_disable_downstream(path);

	return ret;
}

/* Enable the whole path, the encoder last. Return: as ntrace_path_enable_encoder() */
int ntrace_path_enable(struct ntrace_path *path)
{
	return __ntrace_path_enable_downstream(path) ?: ntrace_path_enable_encoder(path);
}

/*
 * Wait until a component is off and empty, if the first read did not show it. Return: 0, -ENOSPC
 * when the sink is full, or -ETIMEDOUT
 */
static int ntrace_path_wait_empty(struct ntrace_path *path, struct ntrace_component *comp,
				  u32 *control)
{
	struct ntrace_deadline deadline = {};

	do {
		*control = ntrace_read(comp, TR_CONTROL);
		if (ntrace_component_stopped(*control))
			return 0;
		if (deadline.polls % NTRACE_SINK_POLLS == NTRACE_SINK_POLLS - 1 && path->sink &&
		    !path->sink->headroom && ntrace_ramsink_stopped(path->sink))
			return -ENOSPC;
	} while (!ntrace_deadline_passed(&deadline));

	return ntrace_component_fail(comp, "Enable=0 and Empty=1", *control);
}

/*
 * Switch the encoder off and wait until the sink has taken the rest of its trace. @overflow is set
 * when the encoder lost trace, or stalled the hart, since it was enabled. Return: 0, -ENOSPC when
 * the sink is full and the encoder is not empty (give the sink another window and call again), or
 * -ETIMEDOUT
 */
int ntrace_path_stop_encoder(struct ntrace_path *path, bool *overflow)
{
	u32 control;
	int ret;

	ntrace_encoder_stop(path->encoder);
	control = ntrace_read(&path->encoder->comp, TR_TE_CONTROL);
	if (!ntrace_component_stopped(control)) {
		ret = ntrace_path_wait_empty(path, &path->encoder->comp, &control);
		if (ret)
			return ret;
	}
	if (control & path->encoder->lost) {
		*overflow = true;
		if (path->encoder->comp.version0)
			ntrace_version0_clear_lost(path->encoder);
	}

	return 0;
}

static int ntrace_path_empty_funnel(struct ntrace_path *path, struct ntrace_component *funnel)
{
	u32 control;

	scoped_guard(raw_spinlock, &funnel->lock) {
		funnel->active = 0;
		if (funnel->failed)
			return -EIO;
		ntrace_write(funnel, TR_CONTROL, TR_CONTROL_ACTIVE);
	}
	control = ntrace_read(funnel, TR_CONTROL);

	return ntrace_component_stopped(control) ? 0 :
						   ntrace_path_wait_empty(path, funnel, &control);
}

/*
 * Disable the funnels of a path and wait until they are empty: only a funnel that is off reports
 * that. The encoder is off and empty, and no other path leads to the sink. Return: 0,
 * -ENOSPC when the sink is full and a funnel is not empty (give the sink another window and call
 * again), or the first other error
 */
int ntrace_path_empty_funnels(struct ntrace_path *path)
{
	int ret = 0, err;
	unsigned int i;

	for (i = 1; i < path->nr - 1; i++) {
		err = ntrace_path_empty_funnel(path, path->comp[i]);
		if (err == -ENOSPC)
			return err;
		ret = ret ?: err;
	}

	return ret;
}

/*
 * Discard the trace in the funnels, because no sink takes it. Funnels after the first one that is
 * not empty are still on. Afterwards all of them are off, ready for the next path that enables
 * them.
 */
void ntrace_path_reset_funnels(struct ntrace_path *path)
{
	unsigned int i;

	for (i = 1; i < path->nr - 1; i++) {
		struct ntrace_component *funnel = path->comp[i];

		guard(raw_spinlock)(&funnel->lock);
		funnel->active = 0;
		if (!funnel->failed)
			ntrace_component_reset(funnel);
	}
}

static ssize_t sink_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct ntrace_component *comp = dev_get_drvdata(dev);
	struct ntrace_path *path;
	int len;

	guard(mutex)(&ntrace_components_lock);
	path = ntrace_path_create(to_ntrace_encoder(comp), 0);
	if (IS_ERR(path))
		return sysfs_emit(buf, "none\n");

	len = sysfs_emit(buf, "%s\n", dev_name(path->sink->comp.dev));
	kfree(path);

	return len;
}
static DEVICE_ATTR_RO(sink);

static const struct attribute_group ntrace_path_group = {
	.attrs = (struct attribute *[]) { &dev_attr_sink.attr, NULL },
};

/*
 * A new component may be the source of an encoder's shared time: check again whether that time is
 * the kernel's.
 */
static void ntrace_path_time_bound(void)
{
	struct ntrace_component *comp;
	struct ntrace_encoder *enc;

	ntrace_path_time_get();
	ntrace_for_each_component(comp, TR_COMP_ENCODER) {
		enc = to_ntrace_encoder(comp);
		if (enc->ts.mode != TR_TS_MODE_SHARED || enc->ts.tracks_time ||
		    comp->claim.users)
			continue;
		if (ntrace_power_get(comp))
			continue;
		ntrace_timestamp_check(comp, &enc->ts);
		ntrace_power_put(comp);
	}
	ntrace_path_time_put();
}

/* A component was bound */
int ntrace_path_bound(struct ntrace_component *comp)
{
	if (ntrace_path_time_users)
		ntrace_path_time_on(comp);
	if (ntrace_path_is_funnel(comp) || comp->type == &ntrace_encoder_type)
		ntrace_path_time_bound();

	return comp->type == &ntrace_encoder_type ?
		       devm_device_add_group(comp->dev, &ntrace_path_group) : 0;
}

static bool ntrace_path_leads_through(const struct ntrace_path *path,
				      const struct ntrace_component *comp)
{
	unsigned int i;

	for (i = 0; i < path->nr; i++)
		if (path->comp[i] == comp)
			return true;

	return false;
}

/*
 * A component is about to be unbound, and lookups do not find it any more. Mark its paths, so that
 * nothing is started on them. The caller then stops running events. ntrace_components_lock is held.
 */
void ntrace_path_give_up(struct ntrace_component *comp)
{
	struct ntrace_path *path;

	list_for_each_entry(path, &ntrace_paths, node)
		if (ntrace_path_leads_through(path, comp))
			WRITE_ONCE(path->gone, true);
}

/*
 * No event runs any more on paths that were given up because of a component. Release the claims of
 * their events on other components. ntrace_components_lock is held.
 */
void ntrace_path_gone(struct ntrace_component *comp)
{
	struct ntrace_path *path, *next;
	unsigned int i, events = 0;

	ntrace_path_time_off(comp);
	list_for_each_entry_safe(path, next, &ntrace_paths, node) {
		if (!path->gone)
			continue;
		for (i = 0; i < path->users; i++)
			ntrace_path_release(path);
		events += path->users;
		list_del_init(&path->node);
	}

	if (events)
		ntrace_log(info, comp, ": unbound; %u event paths disabled", events);
}
