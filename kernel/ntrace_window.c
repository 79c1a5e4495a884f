// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a sink that is a CPU's own writes into, and how it gets into the AUX area:
 *
 *	direct		a window of the area itself: nothing is copied
 *	copied		a window of a store, from which trace is copied when the window is done
 *	circular	the whole area: the newest trace overwrites the oldest
 *
 * A direct window may stay with its sink, which stays enabled, when its encoder stops: an event
 * that comes back to the same place of the same area only starts the encoder.
 */
#include <linux/align.h>
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/sizes.h>

#include "ntrace_pmu.h"

static unsigned int move_bytes = SZ_4M;
module_param(move_bytes, uint, 0644);
MODULE_PARM_DESC(move_bytes, "move a window when this much is written, at the latest");

/* How often a sink that is full gets more room to get one encoder empty */
#define NTRACE_WINDOW_TRIES	64

/* The limits of a transaction's windows */
void ntrace_window_limit(struct ntrace_cpu *c)
{
	const struct ntrace_ramsink *sink = c->path->sink;

	ntrace_aux_limit(&c->limits, &c->pace, c->buf->layout.size, sink->align,
			 ntrace_cpu_lossless(c));
	c->limits.headroom = sink->headroom;
	c->limits.quantum = min_t(u64, c->limits.quantum, READ_ONCE(move_bytes));
}

/*
 * Encoder off and empty. It may hold more than the sink takes at once. When the sink cannot be
 * given more room, the encoder is emptied by a reset.
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

/* The same, where it is not at every context switch */
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
 * Funnels off and empty, behind an encoder that is. They, too, may hold more than the sink takes.
 */
static __always_inline void ntrace_window_empty_funnels(struct ntrace_cpu *c)
{
	if (c->path->nr > 2)
		__ntrace_window_empty_funnels(c);
}

/* Direct */

/* What the sink writes into the window may take that long to become visible. */
static void ntrace_window_cap(struct ntrace_cpu *c)
{
	c->window.size = min(c->window.size, c->path->sink->window_max);
}

/* The first window, behind what has to be passed over. Return: 0 or -ENOSPC */
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

/* One more, reserve included. Return: 0 or -ENOSPC */
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

/* What is left of a window that is not gone on with */
static void ntrace_window_pass_direct(struct ntrace_cpu *c, u64 end)
{
	ntrace_buffer_fill_idle(c->buf, c->map, c->handle.head + c->done, end - c->done);
	c->done = end;
}

/* Copied: what a window in the store may hold always fits into the area. */

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
 * The sink is off, or has nothing on its way: what did it write? Make that visible before anybody
 * is told. Return: 0, -ENOSPC if the window is full, or another error if nobody knows what the sink
 * did
 */
static int ntrace_window_account(struct ntrace_cpu *c)
{
	bool full;
	u64 used;
	int ret;

	ret = ntrace_ramsink_account(c->path->sink, &used);
	/* After an overrun only one thing is known: the window was too small. */
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
 * The window is full, or nearly: take the next one of the same transaction, while the encoder is
 * on. The funnels stay as they are: only the next window takes what they hold. What goes on behind
 * a full window is the rest of a message; what is left of another one becomes idle. Return: 0, or
 * an error and the sink is off (the window's size is 0 then), or -ENOSPC and nothing has changed
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

/* Bytes that the sink still takes. One that keeps headroom always has enough. */
static u64 ntrace_window_room(const struct ntrace_cpu *c)
{
	if (c->path->sink->headroom)
		return c->path->sink->headroom;

	return c->window.size ? c->window.size - ntrace_ramsink_used(c->path->sink) : 0;
}

/* The encoder was perhaps on while it waited, and what is downstream was not. */
static int ntrace_window_enable(struct ntrace_cpu *c)
{
	return ntrace_window_set(c) ?:
	       (c->state == NTRACE_WAITING ? ntrace_path_enable_downstream(c->path) :
					     ntrace_path_enable(c->path));
}

/* There is room for a flush only: let the encoder fill up and stall the hart. */
static int ntrace_window_wait(struct ntrace_cpu *c)
{
	return ntrace_encoder_start(c->path->encoder);
}

/*
 * A flush to where there is room for it: the encoder holds trace of what the hart did before it
 * stalled, and the reserve is there for that. Return: whether that is possible
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
 * The encoder is off and empty. A sink that says it has nothing on its way can stay enabled, with
 * the rest of its window, if that is enough to go on with. Return: whether it stays so
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
 * In a transaction that is open, go on in the window that was left. Else the sink that was left, if
 * any, is disabled. Return: whether the sink is enabled already
 */
bool ntrace_window_resume(struct ntrace_cpu *c)
{
	struct ntrace_ramsink *sink = this_cpu_read(ntrace_kept);

	c->resumed = false;
	if (!sink)
		return false;
	/* What is enough depends on how fast trace comes by now. */
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
 * Encoder off and empty, then the funnels, then the sink. An encoder whose sink does not take any
 * more may keep what it has, or throw it away: so the sink gets room first.
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
 * Circular, for snapshots and AUX area samples. The sink goes round the area and is never stopped
 * for want of room; it resumes where it was:
 *
 *	Start           WP                              Limit
 *	  |              |                                |
 *	+-v--------------v--------------------------------v-+
 *	| newest trace   | oldest trace ................... |
 *	+---------------------------------------------------+
 *
 * Wrap tells one lap from none, but not two from one. So the write pointer is looked at in time for
 * every lap; where that may have failed, one lap too many is counted, which says no more than that
 * nothing older is left.
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
	/* Another sink, which writes fewer bytes at a time, may have been here before. */
	ntrace_window_idle_ring(c, ALIGN(head, (u64)c->path->sink->align) - head);
	c->ring.synced = c->ring.head;

	return 0;
}

/* Of a sink that begins at Start: its window */
static u64 ntrace_window_size_ring(const struct ntrace_cpu *c)
{
	u64 size = c->buf->layout.size;

	return size - (c->ring.turn & (size - 1));
}

/*
 * A sink that cannot go on in the middle gets what is left of the area as a window, or all of it.
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

/* The sink, which is off, goes on where it was. */
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
 * Has the sink, which is off, come to the area's end, or gone beyond it? After an overrun the order
 * of the window's bytes is unknown, so all of them become idle. Otherwise only the guard and bytes
 * that may not be trace do: the reader gets the whole area.
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

/* How far has the sink come? Return: false when its write pointer is outside of the area */
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

/* It never moves, but a window in it may end, and a sink that writes elsewhere must be stopped. */
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

/* Make visible what the sink, which is off, wrote. */
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

/* Encoder off, sink off, and what they wrote is there to be read */
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

/* End a transaction, everything off. In a circular area the driver says where the head is. */
void ntrace_window_close_ring(struct ntrace_cpu *c)
{
	c->state = NTRACE_OFF;
	c->handle.head = c->ring.head;
	c->done = min(c->ring.head - c->ring.begin, c->buf->layout.size);
	ntrace_buffer_close(c);
}

static void ntrace_window_finish_ring(struct ntrace_cpu *c)
{
	/* No sample from within: it would switch everything on again, see ntrace_cpu_sample(). */
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
