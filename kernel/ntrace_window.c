// SPDX-License-Identifier: GPL-2.0-only
/*
 * Windows of a sink that only one CPU uses:
 *
 *	direct		a part of the AUX area itself: nothing is copied
 *	copied		a part of a bounce buffer: trace is copied when the window is done
 *	circular	the whole area: the newest trace overwrites the oldest
 *
 * When the encoder stops, the sink may stay enabled with its direct window. An event that continues
 * at the same position of the same area then only starts the encoder.
 */
#include <linux/align.h>
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/sizes.h>

#include "ntrace_pmu.h"

static unsigned int move_bytes = SZ_4M;
module_param(move_bytes, uint, 0644);
MODULE_PARM_DESC(move_bytes, "move a window when this much is written, at the latest");

/* How often a full sink gets another window until the encoder, or the funnels, are empty */
#define NTRACE_WINDOW_TRIES	64

/* Set the limits for the windows of a transaction */
void ntrace_window_limit(struct ntrace_cpu *c)
{
	const struct ntrace_ramsink *sink = c->path->sink;

	ntrace_aux_limit(&c->limits, &c->pace, c->buf->layout.size, sink->align,
			 ntrace_cpu_lossless(c));
	c->limits.headroom = sink->headroom;
	c->limits.quantum = min_t(u64, c->limits.quantum, READ_ONCE(move_bytes));
}

/*
 * Switch the encoder off and empty it. It may hold more than fits into the window. If the sink
 * cannot get another window, reset the encoder to empty it.
 */
static __always_inline void __ntrace_window_stop_encoder(struct ntrace_cpu *c)
{
	unsigned int tries = NTRACE_WINDOW_TRIES;
	bool overflow = false;
	int ret;

	c->lost |= ntrace_encoder_fell(c->path->encoder, &overflow);
	do
		ret = ntrace_path_stop_encoder(c->path, &overflow);
	while (ret == -ENOSPC && tries-- && c->ops->extend && !c->ops->extend(c));

	c->lost |= ret || (overflow && !ntrace_cpu_lossless(c));
	if (ret == -ENOSPC)
		ntrace_component_reset(&c->path->encoder->comp);
}

/* The same, not inline, for callers that do not run at every context switch */
void ntrace_window_stop_encoder(struct ntrace_cpu *c)
{
	__ntrace_window_stop_encoder(c);
}

static void __ntrace_window_empty_funnels(struct ntrace_cpu *c)
{
	unsigned int tries = NTRACE_WINDOW_TRIES;
	int ret;

	do
		ret = ntrace_path_empty_funnels(c->path);
	while (ret == -ENOSPC && tries-- && c->ops->extend && !c->ops->extend(c));

	c->lost |= ret;
	if (ret == -ENOSPC)
		ntrace_path_reset_funnels(c->path);
}

/*
 * Switch the funnels off and empty them, after the encoder. They, too, may hold more than fits.
 */
static __always_inline void ntrace_window_empty_funnels(struct ntrace_cpu *c)
{
	if (c->path->nr > 2)
		__ntrace_window_empty_funnels(c);
}

/* Direct */

/* Limit the size of a window, because of the time that a cache sync of it takes */
static void ntrace_window_cap(struct ntrace_cpu *c)
{
	c->window.size = min(c->window.size, c->path->sink->window_max);
}

/* Choose the first window, and skip the bytes before it. Return: 0 or -ENOSPC */
static int ntrace_window_first_direct(struct ntrace_cpu *c)
{
	u64 pad;
	int ret;

	ntrace_window_limit(c);
	ret = ntrace_aux_first(&c->buf->layout, &c->limits, c->handle.head, c->handle.size, &pad,
			       &c->window);
	ntrace_window_cap(c);
	if (ret || !pad)
		return ret;

	ntrace_buffer_skip(c->buf, c->map, c->handle.head, pad);

	return perf_aux_output_skip(&c->handle, pad);
}

/* Choose the next window. It may use the reserve. Return: 0 or -ENOSPC */
static int ntrace_window_next_direct(struct ntrace_cpu *c)
{
	int ret;

	ret = ntrace_aux_next(&c->buf->layout, &c->limits, c->handle.head, c->handle.size, c->done,
			      &c->window);
	ntrace_window_cap(c);

	return ret;
}

static int ntrace_window_set_direct(struct ntrace_cpu *c)
{
	struct ntrace_ramsink *sink = c->path->sink;
	struct ntrace_aux_window *window = &c->window;
	int ret;

	ret = ntrace_ramsink_set_window(sink, c->map->addr[window->chunk] + window->offset,
					window->size);
	if (!ret && sink->overruns)
		ntrace_ramsink_set_guard(sink, ntrace_buffer_at(c->buf, window->chunk,
								window->offset + window->size -
								sink->align));

	return ret;
}

static void ntrace_window_take_direct(struct ntrace_cpu *c, u64 used)
{
	if (used)
		dma_sync_single_range_for_cpu(c->path->sink->comp.dev,
					      c->map->addr[c->window.chunk], c->window.offset, used,
					      DMA_FROM_DEVICE);
}

/* Fill the rest of a window that is not continued */
static void ntrace_window_pass_direct(struct ntrace_cpu *c, u64 end)
{
	ntrace_buffer_fill_idle(c->buf, c->map, c->handle.head + c->done, end - c->done);
	c->done = end;
}

/* Copied: the content of a window in the bounce buffer always fits into the area. */

static u64 ntrace_window_bounce(const struct ntrace_cpu *c, u64 taken)
{
	const struct ntrace_ramsink_store *store = &c->path->sink->store;

	return ntrace_aux_bounce(&c->limits, c->handle.size, taken, store->size, store->fixed);
}

static int ntrace_window_place_copied(struct ntrace_cpu *c, u64 taken, u64 least)
{
	c->window.chunk = 0;
	c->window.offset = 0;
	c->window.size = ntrace_window_bounce(c, taken);

	return c->window.size >= least ? 0 : -ENOSPC;
}

static int ntrace_window_first_copied(struct ntrace_cpu *c)
{
	const struct ntrace_ramsink_store *store = &c->path->sink->store;

	ntrace_window_limit(c);
	ntrace_aux_limit_store(&c->limits, store->size, store->fixed);

	return ntrace_window_place_copied(c, c->limits.reserve,
					  c->limits.want + c->limits.headroom);
}

static int ntrace_window_next_copied(struct ntrace_cpu *c)
{
	return ntrace_window_place_copied(c, c->done, c->limits.align);
}

static bool ntrace_window_fits_copied(const struct ntrace_cpu *c, u64 end)
{
	return ntrace_window_bounce(c, end);
}

static int ntrace_window_set_copied(struct ntrace_cpu *c)
{
	struct ntrace_ramsink *sink = c->path->sink;
	int ret;

	ret = ntrace_ramsink_set_window(sink, sink->store.bus, c->window.size);
	if (ret)
		return ret;
	ntrace_ramsink_hand_back(sink);
	if (sink->overruns)
		ntrace_ramsink_set_guard(sink, sink->store.cpu + c->window.size - sink->align);

	return 0;
}

static void ntrace_window_take_copied(struct ntrace_cpu *c, u64 used)
{
	ntrace_buffer_copy(c->buf, c->handle.head + c->done, c->path->sink, 0, used);
}

/* Both */

static int ntrace_window_set(struct ntrace_cpu *c)
{
	c->seen = 0;
	c->seen_at = ntrace_clock();

	return c->ops->set(c);
}

/*
 * The sink is off and empty: account its trace, and make it visible before it is published. Return:
 * 0, -ENOSPC if the window is full, or another error if it is unknown what the sink wrote
 */
static int ntrace_window_account(struct ntrace_cpu *c)
{
	bool full;
	u64 used;
	int ret;

	ret = ntrace_ramsink_account(c->path->sink, &used);
	/* After an overrun, let the rate account for a full window at least. */
	if (ret) {
		ntrace_cpu_see(c, c->window.size);
		return ret;
	}

	c->lost |= ntrace_ramsink_erred(c->path->sink);
	full = used == c->window.size;
	if (full)
		used -= ntrace_ramsink_unsure(c->path->sink);
	c->ops->take(c, used);
	ntrace_cpu_see(c, used);
	c->done += used;

	return full ? -ENOSPC : 0;
}

/*
 * The window is full, or nearly full: switch to the next one of the same transaction, while the
 * encoder is on. The funnels stay enabled, because the next window takes their trace. A message may
 * continue from a full window in the next one; the rest of a window that is not full is filled with
 * idle bytes. Return: 0, or an error and the sink is off (the window's size is 0 then), or -ENOSPC
 * and nothing has changed
 */
static int ntrace_window_extend(struct ntrace_cpu *c)
{
	u64 end = c->done + c->window.size;
	int ret = 0;

	if (c->handle.size < end + NTRACE_AUX_MIN_WINDOW ||
	    (c->ops->fits && !c->ops->fits(c, end)))
		return -ENOSPC;

	if (c->window.size)
		ret = ntrace_ramsink_stop(c->path->sink) ?: ntrace_window_account(c);
	if (ret == -ENOSPC)
		c->lost |= !ntrace_cpu_lossless(c) || ntrace_ramsink_unsure(c->path->sink);
	else if (ret)
		goto err;
	if (c->ops->pass)
		c->ops->pass(c, end);

	ret = c->ops->next(c) ?: ntrace_window_set(c) ?: ntrace_ramsink_start(c->path->sink);
	if (!ret)
		return 0;
err:
	c->window.size = 0;
	return ret;
}

/* Bytes that the sink can still take. With headroom this always is enough. */
static u64 ntrace_window_room(const struct ntrace_cpu *c)
{
	if (c->path->sink->headroom)
		return c->path->sink->headroom;

	return c->window.size ? c->window.size - ntrace_ramsink_used(c->path->sink) : 0;
}

/* If the hart was waiting, the encoder is on already, but not the components downstream. */
static int ntrace_window_enable(struct ntrace_cpu *c)
{
	return ntrace_window_set(c) ?:
	       (c->state == NTRACE_WAITING ? ntrace_path_enable_downstream(c->path) :
					     ntrace_path_enable(c->path));
}

/* There is only room for a flush: let the encoder fill up and stall the hart. */
static int ntrace_window_wait(struct ntrace_cpu *c)
{
	return ntrace_encoder_start(c->path->encoder);
}

/*
 * End a wait. The encoder holds the trace from before the hart stalled. Set up a window in the
 * reserve to flush it into. Return: whether that is possible
 */
static bool ntrace_window_end_wait(struct ntrace_cpu *c)
{
	int ret = -ENOSPC;

	if (c->buf)
		ret = c->ops->next(c) ?: ntrace_window_set(c) ?:
					 ntrace_path_enable_downstream(c->path);
	if (!ret)
		return true;

	ntrace_component_reset(&c->path->encoder->comp);
	c->state = NTRACE_OFF;
	c->lost = true;
	ntrace_buffer_close(c);

	return false;
}

/*
 * The encoder is off and empty. A sink without trace in flight can stay enabled with the rest of
 * its window, if the rest is large enough to continue. Return: whether the sink stays enabled
 */
static __always_inline bool ntrace_window_keep(struct ntrace_cpu *c)
{
	struct ntrace_ramsink *sink = c->path->sink;
	u64 used;

	if (!c->ops->keeps || ntrace_cpu_lossless(c) || !ntrace_path_is_settled(c->path) ||
	    !ntrace_ramsink_written(sink, &used) || used + c->limits.want > c->window.size ||
	    !ntrace_path_keep(c->path, used))
		return false;

	ntrace_window_take_direct(c, used);
	ntrace_cpu_see(c, used);
	c->done += used;
	c->window.offset += used;
	c->window.size -= used;
	c->kept = c->buf;
	c->kept_head = c->handle.head + c->done;

	return true;
}

/*
 * In an open transaction, continue in the window that ntrace_window_keep() left, if it fits. If
 * not, disable that sink. Return: whether the sink is enabled already
 */
bool ntrace_window_resume(struct ntrace_cpu *c)
{
	struct ntrace_ramsink *sink = this_cpu_read(ntrace_kept);

	c->resumed = false;
	if (!sink)
		return false;
	/* The minimum size depends on the current rate. */
	c->limits.want = ntrace_aux_want(&c->pace, c->buf->layout.size);
	if (sink != c->path->sink || c->buf != c->kept || c->handle.head != c->kept_head ||
	    !c->ops->keeps || ntrace_cpu_lossless(c) || c->window.size < c->limits.want ||
	    c->handle.size < c->window.size + c->limits.reserve) {
		ntrace_path_let_go();
		return false;
	}
	ntrace_path_unkeep(sink);
	c->resumed = true;
	c->seen = 0;
	c->seen_at = ntrace_clock();

	return true;
}

/*
 * Switch off and empty the encoder, then the funnels, then the sink. If the sink is full, an
 * encoder may keep its trace or discard it. So give the sink enough room first.
 */
static void ntrace_window_finish(struct ntrace_cpu *c)
{
	if (c->state == NTRACE_WAITING && !ntrace_window_end_wait(c))
		return;

	while (ntrace_window_room(c) < NTRACE_AUX_MIN_WINDOW)
		if (ntrace_window_extend(c))
			break;

	__ntrace_window_stop_encoder(c);
	ntrace_window_empty_funnels(c);
	if (!c->window.size)
		c->lost = true;
	else if (!ntrace_window_keep(c) &&
		 (ntrace_ramsink_stop(c->path->sink) || ntrace_window_account(c)))
		c->lost = true;
	c->state = NTRACE_OFF;
	ntrace_buffer_close(c);
}

static bool ntrace_window_look(struct ntrace_cpu *c)
{
	ntrace_cpu_see(c, ntrace_ramsink_used(c->path->sink));

	return ntrace_aux_due(&c->limits, c->seen, c->window.size);
}

static u64 ntrace_window_period(const struct ntrace_cpu *c)
{
	if (c->path->sink->overruns)
		return ntrace_aux_row_period(&c->limits, &c->pace, c->seen, c->window.size);

	return ntrace_aux_period(&c->limits, &c->pace, c->seen, c->window.size);
}

const struct ntrace_window_ops ntrace_window_direct = {
	.begin	= ntrace_window_first_direct,
	.wait	= ntrace_window_wait,
	.enable	= ntrace_window_enable,
	.look	= ntrace_window_look,
	.period	= ntrace_window_period,
	.extend	= ntrace_window_extend,
	.finish	= ntrace_window_finish,
	.next	= ntrace_window_next_direct,
	.set	= ntrace_window_set_direct,
	.take	= ntrace_window_take_direct,
	.pass	= ntrace_window_pass_direct,
	.keeps	= true,
};

const struct ntrace_window_ops ntrace_window_copied = {
	.begin	= ntrace_window_first_copied,
	.wait	= ntrace_window_wait,
	.enable	= ntrace_window_enable,
	.look	= ntrace_window_look,
	.period	= ntrace_window_period,
	.extend	= ntrace_window_extend,
	.finish	= ntrace_window_finish,
	.next	= ntrace_window_next_copied,
	.fits	= ntrace_window_fits_copied,
	.set	= ntrace_window_set_copied,
	.take	= ntrace_window_take_copied,
};

/*
 * Circular, for snapshots and AUX area samples. The sink wraps at the end of the area and never
 * stops because of missing room. It resumes where it was stopped:
 *
 *	Start           WP                              Limit
 *	  |              |                                |
 *	+-v--------------v--------------------------------v-+
 *	| newest trace   | oldest trace ................... |
 *	+---------------------------------------------------+
 *
 * Wrap tells one lap from none, but not two laps from one. So the driver polls the write pointer at
 * least once a lap. If a poll may have been too late, it counts an extra lap. This only means that
 * all older trace is overwritten.
 */

static void ntrace_window_idle_ring(struct ntrace_cpu *c, u64 size)
{
	if (size)
		ntrace_buffer_fill_idle(c->buf, c->map, c->ring.head, size);
	c->ring.head += size;
}

static int ntrace_window_begin_ring(struct ntrace_cpu *c)
{
	u64 head = c->handle.head;

	ntrace_window_limit(c);
	ntrace_aux_limit_row(&c->limits, &c->pace, c->buf->layout.size);
	c->ring.begin = head;
	c->ring.head = head;
	/* A sink with a smaller unit may have used the area before. */
	ntrace_window_idle_ring(c, ALIGN(head, (u64)c->path->sink->align) - head);
	c->ring.synced = c->ring.head;

	return 0;
}

/* Size of the window of a sink that rewinds to Start */
static u64 ntrace_window_size_ring(const struct ntrace_cpu *c)
{
	u64 size = c->buf->layout.size;

	return size - (c->ring.turn & (size - 1));
}

/*
 * The sink rewinds to Start, so it cannot resume in the middle of a ring. Its window is the rest of
 * the area or, if the rest is too small, the whole area.
 */
static int ntrace_window_rewind_ring(struct ntrace_cpu *c)
{
	struct ntrace_ramsink *sink = c->path->sink;
	u64 size = c->buf->layout.size, at;
	int ret;

	ntrace_window_idle_ring(c, ALIGN(c->ring.head, (u64)sink->align) - c->ring.head);
	at = c->ring.head & (size - 1);
	if (size - at < sink->headroom + 2 * c->limits.want) {
		ntrace_window_idle_ring(c, size - at);
		at = 0;
	}
	c->ring.turn = c->ring.head;

	ret = ntrace_ramsink_set_window(sink, c->map->addr[0] + at, size - at);
	if (!ret && sink->overruns)
		ntrace_ramsink_set_guard(sink, ntrace_buffer_at(c->buf, 0, size - sink->align));

	return ret;
}

/* Set the sink, which is off, so that it resumes where it was */
static int ntrace_window_set_ring(struct ntrace_cpu *c)
{
	u64 size = c->buf->layout.size;

	c->seen_at = ntrace_clock();
	if (c->path->sink->rewinds)
		return ntrace_window_rewind_ring(c);

	return ntrace_ramsink_set_ring(c->path->sink, c->map->addr[0], size,
				       c->ring.head & (size - 1));
}

static int ntrace_window_enable_ring(struct ntrace_cpu *c)
{
	return ntrace_window_set_ring(c) ?: ntrace_path_enable(c->path);
}

/*
 * Has the sink, which is off, reached the end of the area, or overrun it? After an overrun the
 * order of the window's bytes is unknown, so fill all of it with idle bytes. Otherwise fill only
 * the last unit, which holds the guard or may not be trace: the reader gets the whole area.
 */
static bool ntrace_window_overran_ring(struct ntrace_cpu *c)
{
	struct ntrace_ramsink *sink = c->path->sink;
	u64 size = ntrace_window_size_ring(c), from = size - sink->align;
	bool full = sink->rewinds && c->ring.head == c->ring.turn + size;
	bool overran = ntrace_ramsink_overran(sink);

	if (overran)
		from = 0;
	if (sink->guard || full)
		ntrace_buffer_fill_idle(c->buf, c->map, c->ring.turn + from, size - from);

	return overran || full;
}

/* Account the progress of the sink. Return: false when WP is outside of the area */
static bool ntrace_window_see_ring(struct ntrace_cpu *c)
{
	u64 size = c->buf->layout.size, now = ntrace_clock(), bytes, at;
	u64 ns = ntrace_clock_ns(now - c->seen_at);
	struct ntrace_ramsink *sink = c->path->sink;
	bool rewinds = sink->rewinds, wrapped = false;
	bool inside = rewinds ? ntrace_ramsink_written(sink, &at) :
				ntrace_ramsink_ring_at(sink, &at, &wrapped);

	if (!inside)
		return false;

	bytes = rewinds ? c->ring.turn + at - c->ring.head :
			  ntrace_aux_advance(&c->pace, size, c->ring.head & (size - 1), at, wrapped,
					     ns);
	ntrace_aux_learn(&c->pace, bytes, ns);
	c->ring.head += bytes;
	c->seen_at = now;

	return true;
}

/*
 * A circular area needs no switch, except for a sink that rewinds, at the end of its window. A sink
 * whose WP is outside of the area must be stopped.
 */
static bool ntrace_window_look_ring(struct ntrace_cpu *c)
{
	if (!ntrace_window_see_ring(c))
		return true;

	return c->path->sink->rewinds &&
	       ntrace_aux_due(&c->limits, c->ring.head - c->ring.turn, ntrace_window_size_ring(c));
}

static u64 ntrace_window_period_ring(const struct ntrace_cpu *c)
{
	if (!c->path->sink->rewinds)
		return ntrace_aux_lap_period(&c->pace, c->buf->layout.size);

	return ntrace_aux_row_period(&c->limits, &c->pace, c->ring.head - c->ring.turn,
				     ntrace_window_size_ring(c));
}

static void ntrace_window_sync_piece(struct ntrace_cpu *c, u64 offset, u64 size)
{
	if (size)
		dma_sync_single_range_for_cpu(c->path->sink->comp.dev, c->map->addr[0], offset,
					      size, DMA_FROM_DEVICE);
}

/* Make the trace visible that the sink, which is off, has written */
static void ntrace_window_sync_ring(struct ntrace_cpu *c)
{
	u64 size = c->buf->layout.size;
	u64 bytes = min(c->ring.head - c->ring.synced, size);
	u64 from = (c->ring.head - bytes) & (size - 1);
	u64 first = min(bytes, size - from);

	ntrace_window_sync_piece(c, from, first);
	ntrace_window_sync_piece(c, 0, bytes - first);
	c->ring.synced = c->ring.head;
}

/* Switch encoder, funnels and sink off, and make their trace readable */
void ntrace_window_drain_ring(struct ntrace_cpu *c)
{
	ntrace_window_stop_encoder(c);
	ntrace_window_empty_funnels(c);
	/* It is unknown what a failed sink has written. */
	if (ntrace_ramsink_stop(c->path->sink)) {
		c->lost = true;
	} else if (!ntrace_window_see_ring(c)) {
		ntrace_ramsink_lost_way(c->path->sink);
		c->lost = true;
	} else if (ntrace_window_overran_ring(c)) {
		c->lost = true;
	}
	ntrace_window_sync_ring(c);
}

/* End a transaction. Everything is off. For a circular area the driver has to set the head. */
void ntrace_window_close_ring(struct ntrace_cpu *c)
{
	c->state = NTRACE_OFF;
	c->handle.head = c->ring.head;
	c->done = min(c->ring.head - c->ring.begin, c->buf->layout.size);
	ntrace_buffer_close(c);
}

static void ntrace_window_finish_ring(struct ntrace_cpu *c)
{
	/* A sample in between would switch everything on again, see ntrace_cpu_sample(). */
	c->state = NTRACE_OFF;
	ntrace_window_drain_ring(c);
	ntrace_window_close_ring(c);
}

const struct ntrace_window_ops ntrace_window_circular = {
	.begin	= ntrace_window_begin_ring,
	.enable	= ntrace_window_enable_ring,
	.look	= ntrace_window_look_ring,
	.period	= ntrace_window_period_ring,
	.finish	= ntrace_window_finish_ring,
};
