// SPDX-License-Identifier: GPL-2.0-only
/*
 * A circular AUX area, for snapshots and AUX area samples. The sink goes round it and is never
 * stopped for want of room; it resumes where it was:
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
#include <linux/align.h>
#include <linux/dma-mapping.h>

#include "ntrace_pmu.h"

/**
 * ntrace_ring_open - begin a transaction
 * @ring:	the ring
 * @buf:	the area
 * @map:	as the sink sees it
 * @head:	of the transaction
 */
void ntrace_ring_open(struct ntrace_ring *ring, struct ntrace_buffer *buf, struct ntrace_map *map,
		      u64 head)
{
	u64 pad = ALIGN(head, (u64)map->sink->align) - head;

	ring->buf = buf;
	ring->map = map;
	ring->begin = head;
	/* Another sink, which writes fewer bytes at a time, may have been here before. */
	if (pad)
		ntrace_buffer_fill_idle(buf, map, head, pad);
	ring->head = head + pad;
	ring->synced = ring->head;
}

/* Of a sink that begins at Start: its window */
static u64 ntrace_ring_window(const struct ntrace_ring *ring)
{
	u64 size = ring->buf->layout.size;

	return size - (ring->turn & (size - 1));
}

/*
 * A sink that cannot go on in the middle gets what is left of the area as a window, or all of it.
 */
static int ntrace_ring_aim_window(struct ntrace_ring *ring, const struct ntrace_aux_limits *limits)
{
	struct ntrace_ramsink *sink = ring->map->sink;
	u64 pad = ALIGN(ring->head, (u64)sink->align) - ring->head;
	u64 size = ring->buf->layout.size, at;
	int ret;

	if (pad)
		ntrace_buffer_fill_idle(ring->buf, ring->map, ring->head, pad);
	ring->head += pad;
	at = ring->head & (size - 1);
	if (size - at < sink->headroom + 2 * limits->want) {
		ntrace_buffer_fill_idle(ring->buf, ring->map, ring->head, size - at);
		ring->head += size - at;
		at = 0;
	}
	ring->turn = ring->head;

	ret = ntrace_ramsink_set_window(sink, ring->map->addr[0] + at, size - at);
	if (!ret && sink->overruns)
		ntrace_ramsink_set_guard(sink,
					 ntrace_buffer_at(ring->buf, 0, size - sink->align));

	return ret;
}

/**
 * ntrace_ring_overran - has the sink, which is off, come to the area's end, or gone beyond it?
 * @ring: the ring, looked at
 *
 * After an overrun the order of the window's bytes is unknown, so all of them become idle.
 * Otherwise only the guard and bytes that may not be trace do: the reader gets the whole area.
 */
bool ntrace_ring_overran(struct ntrace_ring *ring)
{
	struct ntrace_ramsink *sink = ring->map->sink;
	u64 size = ntrace_ring_window(ring), from = size - sink->align;
	bool full = sink->rewinds && ring->head == ring->turn + size;
	bool overran = ntrace_ramsink_overran(sink);

	if (overran)
		from = 0;
	if (sink->guard || full)
		ntrace_buffer_fill_idle(ring->buf, ring->map, ring->turn + from, size - from);

	return overran || full;
}

/**
 * ntrace_ring_aim - set the sink, which is off, to where it has to go on
 * @ring:	the ring
 * @limits:	of the area
 */
int ntrace_ring_aim(struct ntrace_ring *ring, const struct ntrace_aux_limits *limits)
{
	u64 size = ring->buf->layout.size;

	ring->seen_at = ntrace_clock();
	if (ring->map->sink->rewinds)
		return ntrace_ring_aim_window(ring, limits);

	return ntrace_ramsink_set_ring(ring->map->sink, ring->map->addr[0], size,
				       ring->head & (size - 1));
}

/**
 * ntrace_ring_look - see how far the sink has come
 * @ring:	the ring
 * @pace:	how fast trace comes
 *
 * Return: false when its write pointer is outside of the ring
 */
bool ntrace_ring_look(struct ntrace_ring *ring, struct ntrace_aux_pace *pace)
{
	u64 size = ring->buf->layout.size, now = ntrace_clock(), bytes, at;
	u64 ns = ntrace_clock_ns(now - ring->seen_at);
	struct ntrace_ramsink *sink = ring->map->sink;
	bool rewinds = sink->rewinds, wrapped = false;
	bool inside = rewinds ? ntrace_ramsink_written(sink, &at) :
				ntrace_ramsink_ring_at(sink, &at, &wrapped);

	if (!inside)
		return false;

	bytes = rewinds ? ring->turn + at - ring->head :
			  ntrace_aux_advance(pace, size, ring->head & (size - 1), at, wrapped, ns);
	ntrace_aux_learn(pace, bytes, ns);
	ring->head += bytes;
	ring->seen_at = now;

	return true;
}

static void ntrace_ring_sync_piece(struct ntrace_ring *ring, u64 offset, u64 size)
{
	dma_sync_single_range_for_cpu(ring->map->sink->comp.dev, ring->map->addr[0], offset, size,
				      DMA_FROM_DEVICE);
}

/**
 * ntrace_ring_sync - make visible what the sink, which is off, wrote
 * @ring: the ring
 */
void ntrace_ring_sync(struct ntrace_ring *ring)
{
	u64 size = ring->buf->layout.size;
	u64 bytes = min(ring->head - ring->synced, size);
	u64 from = (ring->head - bytes) & (size - 1);
	u64 first = min(bytes, size - from);

	if (first)
		ntrace_ring_sync_piece(ring, from, first);
	if (bytes > first)
		ntrace_ring_sync_piece(ring, 0, bytes - first);
	ring->synced = ring->head;
}

/**
 * ntrace_ring_ends - is the window nearly full, so that the sink needs the next one?
 * @ring:	the ring, looked at
 * @limits:	of the area
 */
bool ntrace_ring_ends(const struct ntrace_ring *ring, const struct ntrace_aux_limits *limits)
{
	return ring->map->sink->rewinds &&
	       ntrace_aux_due(limits, ring->head - ring->turn, ntrace_ring_window(ring));
}

/**
 * ntrace_ring_period - when to look next
 * @ring:	the ring
 * @limits:	of the area
 * @pace:	how fast trace comes
 */
u64 ntrace_ring_period(const struct ntrace_ring *ring, const struct ntrace_aux_limits *limits,
		       const struct ntrace_aux_pace *pace)
{
	if (!ring->map->sink->rewinds)
		return ntrace_aux_lap_period(pace, ring->buf->layout.size);

	return ntrace_aux_row_period(limits, pace, ring->head - ring->turn,
				     ntrace_ring_window(ring));
}

/**
 * ntrace_ring_new - bytes of the transaction that are there
 * @ring: the ring
 */
u64 ntrace_ring_new(const struct ntrace_ring *ring)
{
	return min(ring->head - ring->begin, ring->buf->layout.size);
}
