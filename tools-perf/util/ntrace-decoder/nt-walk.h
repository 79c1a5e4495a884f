/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The walk over blocks, inline in both nt-walk.c and nt-loop.c
 *
 * nt-loop.c stops at rare cases, and nt-walk.c continues from there.
 */
#ifndef NTRACE_NT_WALK_H
#define NTRACE_NT_WALK_H

#include "nt-flow.h"
#include "nt-short.h"

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

/* NULL if empty; valid until the next push */
static inline const struct call *pop(struct stack *s)
{
	if (!s->depth)
		return NULL;
	s->depth--;
	s->top = (s->top - 1) & s->wrap;
	return &s->calls[s->top];
}

/* -------------------------------------------------------------- blocks --- */

/* Addresses of a block in this map: its end, its last instruction, its target */
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
 * The map at pc, if it was used recently: the last one, or another.  No map spans high_from, so it
 * belongs to the right program.
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
 * What the message says about all events of its walk.  The last 8 bytes of an event are assembled
 * in a register, because byte stores would cost more than the rest of the event.
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
	bool sync = is_of_sync(f);

	told->time = f->time;
	told->offset = f->msg_offset;
	told->tail = TAIL(0, NT_EV_BRANCH, 0, sync ? f->msg.sync : 0,
			  time_flags(f) | (sync ? NT_EVF_SYNC : 0));
}

/* ---------------------------------------------------------------- walk -- */

/* State of a walk that hardly changes */
struct walker {
	struct nt_flow *f;
	struct nt_block *blocks;
	const struct nt_event *full;	/* end of the room */
	const struct nt_map *map;	/* of run.block and run.link */
	uint64_t base;			/* base of the map */
	bool plain;			/* as in struct walk */
	bool by_hist;
	struct told told;
};

/* State that changes with every block; in registers, as only inline functions take &run. */
struct run {
	int64_t left;
	uint64_t hist;
	unsigned int nbits;
	uint32_t insns;
	struct nt_event *ev;	/* next to be written */
	uint32_t block;		/* current block; NT_BLOCK_NONE: not known yet */
	/*
	 * for an unknown block: the block that leads to it, and by which successor; NONE: f->at.pc
	 * is valid
	 */
	uint32_t link;
	bool taken;
};

NT_INLINE void walker_move(struct walker *w, const struct nt_map *map)
{
	w->map = map;
	w->base = map->base;
}

NT_INLINE uint64_t walker_fall(const struct walker *w, const struct nt_block *blk)
{
	return (nt_block_end(blk) + w->base) & w->f->mask;
}

/* `link` leads to the block `next`. */
NT_INLINE int run_go(struct run *r, uint32_t link, bool taken, uint32_t next)
{
	r->block = next;
	if (__builtin_expect(next != NT_BLOCK_NONE, true))
		return NT_WALK_ON;
	r->link = link;
	r->taken = taken;
	return NT_WALK_UNKNOWN;
}

NT_INLINE int run_fall(struct run *r, const struct nt_block *blk)
{
	return run_go(r, r->block, false, nt_block_link(&blk->fall));
}

NT_INLINE void run_branch(const struct walker *w, struct run *r, const struct nt_block *blk,
			  uint64_t to, unsigned int flags)
{
	write_branch(r->ev++, &w->told, nt_block_last(blk) + w->base, to, blk->is.type, r->insns,
		     flags);
	r->insns = 0;
}

/* After a branch: `ret`, or NT_WALK_FULL if there is no more room */
NT_INLINE int run_room(const struct walker *w, const struct run *r, int ret)
{
	return __builtin_expect(r->ev >= w->full, false) ? NT_WALK_FULL : ret;
}

NT_INLINE int run_taken(const struct walker *w, struct run *r, const struct nt_block *blk,
			unsigned int flags)
{
	run_branch(w, r, blk, blk->target + w->base, flags);
	return run_room(w, r, run_go(r, r->block, true, nt_block_link(&blk->taken)));
}

NT_INLINE void run_push(const struct walker *w, const struct nt_block *blk, uint32_t n)
{
	push(&w->f->stack, walker_fall(w, blk), w->map, n);
}

/* Can the target of an indirect transfer be inferred? */
NT_INLINE bool can_infer(const struct nt_flow *f, const struct nt_body *is)
{
	return is->seq || (pops(is->end) && f->params.retstack && f->stack.depth);
}

static inline int cannot_infer(const struct nt_flow *f, const struct nt_body *is)
{
	return pops(is->end) && f->params.retstack ? NT_ESTACK : NT_EINDIRECT;
}

/* Continue after the call that the return belongs to; the call's block has the link. */
NT_INLINE int run_return(struct walker *w, struct run *r, const struct call *call)
{
	if (__builtin_expect(call->block == NT_BLOCK_NONE, false)) {
		w->f->at.pc = call->pc;
		return run_go(r, NT_BLOCK_NONE, false, NT_BLOCK_NONE);
	}
	if (__builtin_expect(call->map != w->map, false))
		walker_move(w, call->map);
	return run_go(r, call->block, false, nt_block_link(&w->blocks[call->block].fall));
}

/* An unreported indirect transfer that is not a return, or an empty block */
NT_INLINE int run_rare(struct walker *w, struct run *r, const struct nt_block *blk)
{
	const struct call call = { walker_fall(w, blk), r->block, w->map };
	struct nt_flow *f = w->f;
	const struct call *back;
	int ret;

	if (blk->is.end > NT_END_SWAP)
		return NT_WALK_LAST;
	if (!can_infer(f, &blk->is))
		return -cannot_infer(f, &blk->is);
	back = pops(blk->is.end) ? pop(&f->stack) : NULL;
	if (blk->is.seq) {
		ret = run_taken(w, r, blk, NT_EVF_INFERRED);
	} else {
		run_branch(w, r, blk, back->pc, NT_EVF_INFERRED);
		ret = run_room(w, r, run_return(w, r, back));
	}
	if (pushes(blk->is.end))
		push(&f->stack, call.pc, call.map, call.block);
	return ret;
}

/* An unreported indirect transfer, or an empty block.  rare: handle all cases */
NT_INLINE int run_inferred(struct walker *w, struct run *r, const struct nt_block *blk, bool rare)
{
	struct nt_flow *f = w->f;
	const struct call *call;

	if (__builtin_expect(blk->is.end == NT_END_RET && !blk->is.seq, true)) {
		if (!f->params.retstack || !f->stack.depth)
			return -cannot_infer(f, &blk->is);
		call = pop(&f->stack);
		run_branch(w, r, blk, call->pc, NT_EVF_INFERRED);
		return run_room(w, r, run_return(w, r, call));
	}
	/* a stale block leads to its replacement, if there is one yet */
	if (blk->is.end == NT_END_STALE && nt_block_link(&blk->taken) != NT_BLOCK_NONE) {
		r->block = nt_block_link(&blk->taken);
		return NT_WALK_ON;
	}
	return rare ? run_rare(w, r, blk) : NT_WALK_LAST;
}

/* Is the end of the block reported: a conditional branch, or a direct jump with alljumps? */
NT_INLINE bool is_reported(const struct nt_shape *shape, unsigned int end)
{
	return end == NT_END_COND ||
	       (shape->alljumps && (end == NT_END_JUMP || end == NT_END_CALL));
}

/*
 * Step over the end of run.block, whose half-words are already counted.  outcomes: there are some;
 * last: the walk ends with this block.  Both are constants for the compiler, except for the last
 * block.
 */
NT_INLINE int run_step(struct walker *w, const struct nt_shape *shape, struct run *r,
		       const struct nt_block *blk, bool outcomes, bool last)
{
	const unsigned int end = blk->is.end;
	int ret;

	if (is_reported(shape, end)) {
		if (!outcomes && (!w->plain || (end != NT_END_COND && !last)))
			return -NT_ENOHIST;
		if (!outcomes) {
			ret = run_fall(r, blk);
			return last ? NT_WALK_OPEN : ret;
		}
		if (!(r->hist >> (r->nbits - 1) & 1)) {
			if (end != NT_END_COND)
				return -NT_EHIST;
			r->nbits--;
			return run_fall(r, blk);
		}
		r->nbits--;
	} else if (end == NT_END_LINEAR) {
		return run_fall(r, blk);
	} else if (end > NT_END_CALL) {
		if (last && !w->by_hist) {
			run_fall(r, blk);
			return NT_WALK_OPEN;
		}
		ret = run_inferred(w, r, blk, shape->rare);
		if (ret == NT_WALK_LAST && !last) {
			/* go back to before the block */
			r->left += blk->is.halfwords;
			r->insns -= blk->is.insns;
		}
		return ret;
	}
	if (end == NT_END_CALL)
		run_push(w, blk, r->block);
	return run_taken(w, r, blk, 0);
}

/*
 * Walk from a known block up to the last or a rare one, or with `outcomes` until they are used up.
 */
NT_INLINE int run_blocks(struct walker *w, const struct nt_shape *shape, struct run *r,
			 bool outcomes)
{
	const struct nt_block *blk;
	int ret;

	do {
		if (outcomes && !r->nbits)
			return NT_WALK_OUTCOMES;
		blk = &w->blocks[r->block];
		if (blk->is.halfwords >= r->left)
			return NT_WALK_LAST;
		r->left -= blk->is.halfwords;
		r->insns += blk->is.insns;
		ret = run_step(w, shape, r, blk, outcomes, false);
	} while (ret == NT_WALK_ON);
	/* the block after the last outcome need not be known, nor fit */
	return outcomes && w->by_hist && ret > 0 && ret != NT_WALK_LAST && !r->nbits ?
	       NT_WALK_OUTCOMES : ret;
}

/* Walk the outcomes, then the rest */
NT_INLINE int run_all(struct walker *w, const struct nt_shape *shape, struct run *r)
{
	int ret = run_blocks(w, shape, r, true);

	return ret == NT_WALK_OUTCOMES && !w->by_hist ? run_blocks(w, shape, r, false) : ret;
}

/* Begin at the position of *f. */
NT_INLINE void run_load(const struct nt_flow *f, struct walker *w, struct run *r)
{
	w->blocks = f->store->blocks;
	walker_move(w, f->map);
	r->insns = f->insns;
	r->block = f->at.block;
	r->link = NT_BLOCK_NONE;
	r->taken = false;
}

/* Store the position of the run. */
NT_INLINE void run_store(const struct walker *w, const struct run *r)
{
	struct nt_flow *f = w->f;

	f->insns = r->insns;
	f->map = w->map;
	f->at.block = r->block;
	f->at.link = r->block == NT_BLOCK_NONE ? r->link : NT_BLOCK_NONE;
	f->at.taken = r->taken;
	if (r->block != NT_BLOCK_NONE)
		f->at.pc = w->blocks[r->block].pc + w->base;
	else if (r->link != NT_BLOCK_NONE)
		f->at.pc = r->taken ? w->blocks[r->link].target + w->base :
				      walker_fall(w, &w->blocks[r->link]);
}

/* The run ended with an error: go back to before that instruction.  Its target is not known. */
NT_INLINE void run_back(const struct walker *w, struct run *r)
{
	const struct nt_block *blk = &w->blocks[r->block];

	r->insns--;
	r->left += blk->is.halfwords - blk->is.before;
	w->f->at.pc = nt_block_last(blk) + w->base;
	r->block = r->link = NT_BLOCK_NONE;
}

#endif /* NTRACE_NT_WALK_H */
