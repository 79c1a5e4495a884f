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

#include "ntrace_clock.h"
#include "ntrace_ring.h"

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

/**
 * ntrace_ring_aim - set the sink, which is off, to where it has to go on
 * @ring: the ring
 */
int ntrace_ring_aim(struct ntrace_ring *ring)
{
	u64 size = ring->buf->layout.size;

	ring->seen_at = ntrace_clock();

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
	bool wrapped;

	if (!ntrace_ramsink_ring_at(ring->map->sink, &at, &wrapped))
		return false;

	bytes = ntrace_aux_advance(pace, size, ring->head & (size - 1), at, wrapped, ns);
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
 * ntrace_ring_new - bytes of the transaction that are there
 * @ring: the ring
 */
u64 ntrace_ring_new(const struct ntrace_ring *ring)
{
	return min(ring->head - ring->begin, ring->buf->layout.size);
}
