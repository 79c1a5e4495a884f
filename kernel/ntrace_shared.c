// SPDX-License-Identifier: GPL-2.0-only
/*
 * A sink that several CPUs share. Each CPU has an open AUX transaction. The CPU that polls copies
 * all trace in the sink, also that of other CPUs, into its own transaction. So the stream continues
 * from one AUX record to the next in the order of their times, across the buffers of all CPUs:
 *
 *	        drained            WP                      Limit
 *	           |                |                        |
 *	+----------v----------------v------------------------v-+
 *	| $$$$$$$$ | ############## |                          |
 *	+------------------------------------------------------+
 *	$ copied to an AUX area   # pending
 *
 * The sink stops at Limit, so it never overwrites pending trace, and harts of lossless events
 * stall. Long before that the driver stops, empties and restarts the sink. Upstream components hold
 * their messages meanwhile.
 */
#include <linux/align.h>
#include <linux/cleanup.h>
#include <linux/minmax.h>

#include "ntrace_pmu.h"

/*
 * How much of the bounce buffer to use. The final flush of the last user has to fit into its area:
 * for a lossless event use no more than a part of the area's size. Without an area nothing is
 * copied: if there are other users, the window stays as it is, otherwise it is the whole buffer.
 */
static u64 ntrace_shared_size(const struct ntrace_cpu *c)
{
	const struct ntrace_ramsink *sink = c->path->sink;

	if (!c->buf && sink->comp.active)
		return sink->size;
	if (sink->store.fixed || !ntrace_cpu_lossless(c) || !c->buf)
		return ALIGN_DOWN(sink->store.size, (u64)sink->align);

	return ALIGN_DOWN(min(sink->store.size, c->buf->layout.size / 8), (u64)sink->align);
}

static void ntrace_shared_limit(struct ntrace_cpu *c)
{
	u64 size = ntrace_shared_size(c);

	ntrace_window_limit(c);
	ntrace_aux_limit_store(&c->limits, size, false);
	if (ntrace_cpu_lossless(c))
		c->limits.reserve += size;
}

static int ntrace_shared_begin(struct ntrace_cpu *c)
{
	ntrace_shared_limit(c);

	return c->handle.size < c->limits.reserve + c->limits.want ? -ENOSPC : 0;
}

/* The functions below are called with the sink's lock held. */

static int ntrace_shared_set_window(struct ntrace_ramsink *sink, u64 size)
{
	int ret;

	sink->drained = 0;
	ret = ntrace_ramsink_set_window(sink, sink->store.bus, size);
	if (!ret)
		ntrace_ramsink_hand_back(sink);

	return ret;
}

static void ntrace_shared_copy(struct ntrace_cpu *c, u64 used, bool last)
{
	struct ntrace_ramsink *sink = c->path->sink;
	u64 size = ntrace_aux_copyable(&c->limits, c->handle.size, c->done, used - sink->drained,
				       last);

	ntrace_buffer_copy(c->buf, c->handle.head + c->done, sink, sink->drained, size);
	sink->drained += size;
	c->done += size;
}

/*
 * The sink is off: copy everything that fits. If the sink is full, its last message may be cut.
 * Return: 0, or an error when it is unknown what the sink wrote
 */
static int ntrace_shared_empty(struct ntrace_cpu *c, bool last, u64 *used, bool *full)
{
	struct ntrace_ramsink *sink = c->path->sink;
	int ret;

	ret = ntrace_ramsink_account(sink, used);
	if (!ret && *used < sink->drained)
		ret = ntrace_ramsink_lost_way(sink);
	if (ret) {
		c->lost = true;
		return ret;
	}

	c->lost |= ntrace_ramsink_erred(sink);
	*full = *used == sink->size;
	if (*full) {
		c->lost |= !ntrace_cpu_lossless(c) || ntrace_ramsink_unsure(sink);
		*used = max(*used - ntrace_ramsink_unsure(sink), sink->drained);
	}
	ntrace_shared_copy(c, *used, last);

	return 0;
}

/*
 * Empty and restart the sink. If there is not enough room for its trace and it is not full, it
 * continues where it is: another user may have room later. Return: 0, or an error and the sink is
 * off
 */
static int ntrace_shared_restart(struct ntrace_cpu *c, bool last)
{
	struct ntrace_ramsink *sink = c->path->sink;
	bool full;
	u64 used;
	int ret;

	/* The sink is off already if no user had room for its trace. */
	ret = sink->state == NTRACE_SINK_ARMED ? 0 : ntrace_ramsink_stop(sink);
	if (ret) {
		c->lost = true;
		return ret;
	}

	ret = ntrace_shared_empty(c, last, &used, &full);
	if (ret)
		return ret;
	if (sink->drained < used && full)
		return -ENOSPC;
	/* The window may be the small one of a waiting user, see ntrace_shared_join(). */
	if (sink->drained == used)
		ret = ntrace_shared_set_window(sink, ntrace_shared_size(c));

	return ret ?: ntrace_ramsink_start(sink);
}

/* Can pending trace be copied while the sink runs? */
static bool ntrace_shared_can_read(struct ntrace_ramsink *sink, u64 *used)
{
	return sink->wp_exact && !sink->comp.failed && !ntrace_ramsink_is_sram(sink) &&
	       ntrace_ramsink_written(sink, used) && *used >= sink->drained;
}

/*
 * Copy pending trace, while the sink runs if possible. The driver restarts the sink before it is
 * full. While the sink is off, the other harts have only the buffers of their encoders. A copy from
 * the running sink keeps this time short.
 */
static int ntrace_shared_take(struct ntrace_cpu *c)
{
	struct ntrace_ramsink *sink = c->path->sink;
	u64 used;

	if (!ntrace_shared_can_read(sink, &used))
		return ntrace_shared_restart(c, false);

	ntrace_shared_copy(c, used, false);

	return used > sink->size / 2 ? ntrace_shared_restart(c, false) : 0;
}

/*
 * Add a user. The first user finds the sink off and empty. If it waits for room in its area, each
 * context switch publishes the trace that the sink took before the hart stalled. A small window
 * keeps this within the reserve for many switches.
 */
static int ntrace_shared_join(struct ntrace_cpu *c, bool wait)
{
	struct ntrace_ramsink *sink = c->path->sink;
	u64 size = ntrace_shared_size(c);
	int ret = 0;

	if (wait && !sink->store.fixed)
		size = min(size, ALIGN(NTRACE_AUX_MIN_WINDOW, (u64)sink->align));
	if (!sink->comp.active)
		ret = ntrace_shared_set_window(sink, size) ?:
		      ntrace_ramsink_start(sink);
	if (ret)
		return ret;

	ret = ntrace_path_join_funnels(c->path);
	if (ret) {
		if (!sink->comp.active)
			ntrace_ramsink_stop(sink);
		return ret;
	}

	sink->comp.active++;

	return 0;
}

/* A loss without an open transaction is reported with the next transaction that is closed. */
static void ntrace_shared_close(struct ntrace_cpu *c)
{
	struct ntrace_ramsink *sink = c->path->sink;

	c->lost |= sink->lost;
	sink->lost = c->lost && !perf_get_aux(&c->handle);
	ntrace_buffer_close(c);
}

/* Report that trace does not fit into the area, or that there is no area any more */
static void ntrace_shared_no_room(struct ntrace_cpu *c)
{
	if (perf_get_aux(&c->handle))
		perf_aux_output_flag(&c->handle, PERF_AUX_FLAG_TRUNCATED);
	else
		c->lost = true;
}

/*
 * The last user flushes the funnels into the sink, which must have room for it, and then the sink
 * into its area. Trace that does not fit into the area is lost.
 */
static void ntrace_shared_flush(struct ntrace_cpu *c)
{
	struct ntrace_ramsink *sink = c->path->sink;
	bool full;
	u64 used;

	if (sink->size - ntrace_ramsink_used(sink) < NTRACE_AUX_MARGIN &&
	    ntrace_shared_restart(c, true) == -ENOSPC) {
		ntrace_shared_no_room(c);
		if (!ntrace_shared_set_window(sink, ntrace_shared_size(c)))
			ntrace_ramsink_start(sink);
	}

	if (ntrace_path_leave_funnels(c->path))
		c->lost = true;
	if (ntrace_ramsink_stop(sink)) {
		c->lost = true;
		return;
	}
	if (!ntrace_shared_empty(c, true, &used, &full) && sink->drained < used)
		ntrace_shared_no_room(c);
}

static void ntrace_shared_leave(struct ntrace_cpu *c)
{
	struct ntrace_ramsink *sink = c->path->sink;
	u64 used;

	if (!--sink->comp.active) {
		ntrace_shared_flush(c);
		return;
	}

	/* If the sink failed while another CPU used it, this CPU's trace is lost, too. */
	if (ntrace_path_leave_funnels(c->path) || sink->comp.failed)
		c->lost = true;
	if (ntrace_shared_can_read(sink, &used))
		ntrace_shared_copy(c, used, false);
}

/* The functions below are called without the sink's lock. */

/* Return: 0, or an error and the path is as before */
static int ntrace_shared_start(struct ntrace_cpu *c, bool wait)
{
	struct ntrace_ramsink *sink = c->path->sink;
	int ret;

	c->seen = 0;
	c->seen_at = ntrace_clock();
	c->window.size = sink->store.size;

	scoped_guard(raw_spinlock, &sink->comp.lock)
		ret = ntrace_shared_join(c, wait);
	if (ret)
		return ret;

	ret = ntrace_encoder_start(c->path->encoder);
	if (ret) {
		scoped_guard(raw_spinlock, &sink->comp.lock)
			ntrace_shared_leave(c);
	}

	return ret;
}

static int ntrace_shared_enable(struct ntrace_cpu *c)
{
	return c->state == NTRACE_WAITING ? 0 : ntrace_shared_start(c, false);
}

/* The path is enabled while the hart waits, because a disabled funnel input discards trace. */
static int ntrace_shared_wait(struct ntrace_cpu *c)
{
	return ntrace_shared_start(c, true);
}

/* Without the lock this is an estimate. A wrong one costs at most a poll. */
static u64 ntrace_shared_pending(const struct ntrace_cpu *c)
{
	u64 drained = READ_ONCE(c->path->sink->drained);

	return c->seen > drained ? c->seen - drained : 0;
}

static bool ntrace_shared_look(struct ntrace_cpu *c)
{
	ntrace_cpu_see(c, ntrace_ramsink_used(c->path->sink));

	return ntrace_shared_pending(c) >= c->limits.quantum ||
	       c->seen > READ_ONCE(c->path->sink->size) / 2;
}

static u64 ntrace_shared_period(const struct ntrace_cpu *c)
{
	return ntrace_aux_period(&c->limits, &c->pace, ntrace_shared_pending(c), c->window.size);
}

/*
 * Publish pending trace, under the lock, so that the times of records are in the order of the
 * stream.
 */
static int ntrace_shared_move(struct ntrace_cpu *c)
{
	struct ntrace_ramsink *sink = c->path->sink;
	bool full;
	int ret;

	guard(raw_spinlock)(&sink->comp.lock);
	ret = ntrace_shared_take(c);
	if (ret && ret != -ENOSPC)
		return ret;
	full = ret || c->handle.size < c->done + c->limits.reserve + c->limits.want;
	if (full && !ntrace_cpu_patient(c))
		return -ENOSPC;

	c->seen = sink->drained;
	ntrace_shared_close(c);

	if (full)
		return -EAGAIN;
	ret = ntrace_buffer_open(c);
	if (!ret)
		ntrace_shared_limit(c);

	return ret;
}

static int ntrace_shared_extend(struct ntrace_cpu *c)
{
	struct ntrace_ramsink *sink = c->path->sink;

	guard(raw_spinlock)(&sink->comp.lock);
	/* Another CPU may be restarting the sink: it has been off only for a moment. */
	return ntrace_ramsink_stopped(sink) ? ntrace_shared_restart(c, true) : 0;
}

static void ntrace_shared_finish(struct ntrace_cpu *c)
{
	struct ntrace_ramsink *sink = c->path->sink;

	ntrace_window_stop_encoder(c);
	scoped_guard(raw_spinlock, &sink->comp.lock) {
		ntrace_shared_leave(c);
		ntrace_shared_close(c);
	}
	c->state = NTRACE_OFF;
}

const struct ntrace_window_ops ntrace_shared_ops = {
	.begin	= ntrace_shared_begin,
	.wait	= ntrace_shared_wait,
	.enable	= ntrace_shared_enable,
	.look	= ntrace_shared_look,
	.period	= ntrace_shared_period,
	.move	= ntrace_shared_move,
	.extend	= ntrace_shared_extend,
	.finish	= ntrace_shared_finish,
};
