/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What nt-walk.c and nt-quick.c do at every block, inline in both
 */
#ifndef NTRACE_NT_WALK_H
#define NTRACE_NT_WALK_H

#include "nt-flow.h"

/* ---------------------------------------------------------- return stack - */

static inline void push(struct stack *s, uint64_t pc, uint32_t block)
{
	s->calls[s->top].pc = pc;
	s->calls[s->top].block = block;
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

static inline uint64_t fall_pc(const struct nt_flow *f, const struct nt_block *blk)
{
	return nt_block_end(blk) & f->mask;
}

static inline void set_fall(const struct nt_flow *f, struct place *to,
			    const struct nt_block *blk, uint32_t n)
{
	to->pc = fall_pc(f, blk);
	to->block = blk->fall;
	to->link = n;
	to->taken = false;
}

static inline void set_taken(struct place *to, const struct nt_block *blk, uint32_t n)
{
	to->pc = blk->target;
	to->block = blk->taken;
	to->link = n;
	to->taken = true;
}

static inline bool pops(const struct nt_block *blk)
{
	return blk->end == NT_END_RET || blk->end == NT_END_SWAP;
}

static inline bool pushes(const struct nt_block *blk)
{
	return blk->end == NT_END_CALL || blk->end == NT_END_ICALL || blk->end == NT_END_SWAP;
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

_Static_assert(offsetof(struct nt_event, insns) + 8 == sizeof(struct nt_event) &&
	       offsetof(struct nt_event, flags) + 1 == sizeof(struct nt_event), "event's tail");

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define TAIL(insns, kind, type, reason, flags)				\
	((uint64_t)(insns) | (uint64_t)(kind) << 32 | (uint64_t)(type) << 40 |	\
	 (uint64_t)(reason) << 48 | (uint64_t)(flags) << 56)
#else
#define TAIL(insns, kind, type, reason, flags)				\
	((uint64_t)(insns) << 32 | (uint64_t)(kind) << 24 | (uint64_t)(type) << 16 |	\
	 (uint64_t)(reason) << 8 | (uint64_t)(flags))
#endif

NT_INLINE void write_branch(struct nt_event *ev, const struct told *told,
			    const struct nt_block *blk, uint64_t to, uint32_t insns,
			    unsigned int flags)
{
	uint64_t tail = told->tail | TAIL(insns, 0, blk->type, 0, flags);

	ev->from = nt_block_last(blk);
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
