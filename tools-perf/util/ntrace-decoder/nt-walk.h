/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What nt-walk.c and nt-quick.c do at every block, inline in both
 */
#ifndef NTRACE_NT_WALK_H
#define NTRACE_NT_WALK_H

#include "nt-flow.h"

/* ---------------------------------------------------------- return stack - */

static inline void push(struct stack *s, uint64_t pc, const struct nt_map *map, uint32_t block)
{
	s->calls[s->top].pc = pc;
	s->calls[s->top].block = block;
	s->calls[s->top].map = map;
	s->top = (s->top + 1) & s->wrap;
	if (s->depth <= s->wrap)
		s->depth++;
}

/* NULL when empty; valid until the next push */
static inline const struct call *pop(struct stack *s)
{
	if (!s->depth)
		return NULL;
	s->depth--;
	s->top = (s->top - 1) & s->wrap;
	return &s->calls[s->top];
}

/* -------------------------------------------------------------- blocks --- */

/* Addresses of a block that is in this map: behind it, of its last instruction, of its target */
NT_INLINE uint64_t fall_pc(const struct nt_flow *f, const struct nt_map *map,
			       const struct nt_block *blk)
{
	return (nt_block_end(blk) + map->base) & f->mask;
}

NT_INLINE uint64_t last_pc(const struct nt_map *map, const struct nt_block *blk)
{
	return nt_block_last(blk) + map->base;
}

NT_INLINE uint64_t target_pc(const struct nt_map *map, const struct nt_block *blk)
{
	return blk->target + map->base;
}

NT_INLINE bool pops(unsigned int end)
{
	return end == NT_END_RET || end == NT_END_SWAP;
}

NT_INLINE bool pushes(unsigned int end)
{
	return end == NT_END_CALL || end == NT_END_ICALL || end == NT_END_SWAP;
}

static inline unsigned int recent_slot(uint64_t pc)
{
	return (pc >> 12 ^ pc >> 20 ^ pc >> 28) % NR_RECENT;
}

/*
 * The map at pc, if it was met lately: the last one, or another.  No map is on both sides of
 * high_from, so it is one of the right program.
 */
static inline const struct nt_map *recent_map(const struct nt_flow *f, const struct nt_map *map,
					      uint64_t pc)
{
	if (map && nt_map_has(map, pc))
		return map;
	map = f->recent[recent_slot(pc)];
	return map && nt_map_has(map, pc) ? map : NULL;
}

/* -------------------------------------------------------------- events --- */

/*
 * What the message tells about all events of its walk.  The last 8 bytes of an
 * event are put together in a register: byte by byte they cost more than all
 * else about it.
 */
struct told {
	uint64_t time, offset;
	uint64_t tail;		/* insns, kind, type, reason, flags */
};

_Static_assert(offsetof(struct nt_event, flags) == offsetof(struct nt_event, insns) + 7,
	       "event's tail");

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define TAIL(insns, kind, type, reason, flags)				\
	((uint64_t)(insns) | (uint64_t)(kind) << 32 | (uint64_t)(type) << 40 |	\
	 (uint64_t)(reason) << 48 | (uint64_t)(flags) << 56)
#else
#define TAIL(insns, kind, type, reason, flags)				\
	((uint64_t)(insns) << 32 | (uint64_t)(kind) << 24 | (uint64_t)(type) << 16 |	\
	 (uint64_t)(reason) << 8 | (uint64_t)(flags))
#endif

NT_INLINE void write_branch(struct nt_event *ev, const struct told *told, uint64_t from,
			    uint64_t to, unsigned int type, uint32_t insns, unsigned int flags)
{
	uint64_t tail = told->tail | TAIL(insns, 0, type, 0, flags);

	ev->from = from;
	ev->to = to;
	ev->time = told->time;
	ev->offset = told->offset;
	ev->context = 0;
	memcpy((char *)ev + offsetof(struct nt_event, insns), &tail, sizeof(tail));
}

static inline void set_told(const struct nt_flow *f, struct told *told)
{
	bool sync = nt_is_sync(&f->msg);

	told->time = f->time;
	told->offset = f->msg_offset;
	told->tail = TAIL(0, NT_EV_BRANCH, 0, sync ? f->msg.sync : 0,
			  time_flags(f) | (sync ? NT_EVF_SYNC : 0));
}

#endif /* NTRACE_NT_WALK_H */
