/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A circular AUX area: the newest trace overwrites the oldest.
 */
#ifndef _NTRACE_RING_H
#define _NTRACE_RING_H

#include "ntrace_buffer.h"

/**
 * struct ntrace_ring - a sink's way round an area
 * @buf:	the area
 * @map:	as the sink sees it
 * @head:	bytes that were ever written; modulo the area's size, where the next one goes
 * @begin:	@head when the AUX transaction was opened
 * @synced:	@head up to which the CPU sees what was written
 * @seen_at:	time of the last look, in ticks
 * @turn:	@head when the sink was enabled, if it begins at Start then
 */
struct ntrace_ring {
	struct ntrace_buffer *buf;
	struct ntrace_map *map;
	u64 head;
	u64 begin;
	u64 synced;
	u64 seen_at;
	u64 turn;
};

void ntrace_ring_open(struct ntrace_ring *ring, struct ntrace_buffer *buf, struct ntrace_map *map,
		      u64 head);
int ntrace_ring_aim(struct ntrace_ring *ring, const struct ntrace_aux_limits *limits);
bool ntrace_ring_look(struct ntrace_ring *ring, struct ntrace_aux_pace *pace);
void ntrace_ring_sync(struct ntrace_ring *ring);
bool ntrace_ring_overran(struct ntrace_ring *ring);
bool ntrace_ring_ends(const struct ntrace_ring *ring, const struct ntrace_aux_limits *limits);
u64 ntrace_ring_period(const struct ntrace_ring *ring, const struct ntrace_aux_limits *limits,
		       const struct ntrace_aux_pace *pace);
u64 ntrace_ring_new(const struct ntrace_ring *ring);

#endif /* _NTRACE_RING_H */
