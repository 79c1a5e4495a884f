// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The way through the block graph: outcomes and half-words in, branches out
 *
 * Where a walk ends exactly at an instruction whose target only the message
 * knows (or says to have been overtaken by a trap), it is left open: f->open.
 */
#include "nt-walk.h"

/* Block numbers have become stale. */
void nt_walk_forget(struct nt_flow *f)
{
	unsigned int i;

	f->at.block = f->at.link = NT_BLOCK_NONE;
	f->map = NULL;
	memset(f->recent, 0, sizeof(f->recent));
	for (i = 0; i <= f->stack.wrap; i++)
		f->stack.calls[i].block = NT_BLOCK_NONE;
}

/* -------------------------------------------------------------- blocks --- */

struct nt_code *nt_walk_code_at(const struct nt_flow *f, uint64_t pc)
{
	return pc >= f->params.high_from ? f->high : f->low;
}

void nt_walk_go_to(struct nt_flow *f, uint64_t pc)
{
	f->at.pc = pc;
	f->at.block = f->at.link = NT_BLOCK_NONE;
}

/* Blocks in f->map are remembered as leading to each other, not those in another one. */
static void be_in(struct nt_flow *f, const struct nt_map *map)
{
	if (map == f->map)
		return;
	f->map = map;
	f->at.link = NT_BLOCK_NONE;
	f->recent[recent_slot(f->at.pc)] = map;
}

int nt_walk_discover(struct nt_flow *f)
{
	struct nt_code *code = nt_walk_code_at(f, f->at.pc);
	const struct nt_map *map;
	int error = NT_EUNMAPPED;
	struct nt_block *link;

	if (!code)
		return NT_EUNMAPPED;
	if (code->store != f->store) {
		nt_walk_forget(f);
		f->store = code->store;
	}
	map = recent_map(f, f->map, f->at.pc);
	if (!map)
		map = nt_code_map(code, f->at.pc, &error);
	if (!map)
		return error;
	f->at.block = nt_code_block(code, &map, f->at.pc, &error);
	if (f->at.block == NT_BLOCK_NONE)
		return error;
	be_in(f, map);
	if (f->at.link != NT_BLOCK_NONE) {
		link = &f->store->blocks[f->at.link];
		nt_block_set_link(f->at.taken ? &link->taken : &link->fall, f->at.block);
	}
	return 0;
}

/* ---------------------------------------------------- indirect transfers - */

/* Is it known without the message where an indirect transfer leads? */
static bool can_infer(const struct nt_flow *f, const struct nt_body *is)
{
	return is->seq || (pops(is->end) && f->params.retstack && f->stack.depth);
}

static int cannot_infer(const struct nt_flow *f, const struct nt_body *is)
{
	return pops(is->end) && f->params.retstack ? NT_ESTACK : NT_EINDIRECT;
}

/* ---------------------------------------------------------------- walk --- */

/*
 * The loop over blocks.  What changes with every block stays in struct run,
 * whose address reaches only functions that are inlined: so it lives in
 * registers.
 */
/* How a block was left: where its successor is remembered */
enum way {
	WAY_FALL,
	WAY_TAKEN,
	WAY_RETURN,	/* behind the call that is run.call */
};

struct run {
	int64_t left;
	uint64_t hist;
	unsigned int nbits;
	uint32_t insns;
	struct nt_event *ev;	/* next to be written */
	const struct nt_map *map;	/* of the block */
	uint32_t next;		/* block to go on with, NT_BLOCK_NONE unknown */
	enum way way;
	struct call call;
};

enum step {
	STEP_ON,
	STEP_OPEN,	/* the message will tell how the block ended */
	STEP_DONE,	/* the outcomes are used up */
};

/* The block that is being walked over */
struct over {
	const struct nt_block *blk;
	struct nt_body is;
	uint32_t n;
};

NT_INLINE void run_fall(struct run *r, const struct over *o)
{
	r->next = nt_block_link(&o->blk->fall);
	r->way = WAY_FALL;
}

NT_INLINE void run_branch(struct run *r, const struct told *told, const struct over *o,
			  uint64_t to, unsigned int flags)
{
	write_branch(r->ev++, told, last_pc(r->map, o->blk), to, o->is.type, r->insns, flags);
	r->insns = 0;
}

NT_INLINE void run_taken(struct run *r, const struct told *told,
			 const struct over *o, unsigned int flags)
{
	run_branch(r, told, o, target_pc(r->map, o->blk), flags);
	r->next = nt_block_link(&o->blk->taken);
	r->way = WAY_TAKEN;
}

/* The outcomes are used up: those of a HIST walk end it. */
NT_INLINE int hist_done(struct nt_flow *f, struct run *r)
{
	if (!f->walk.by_hist)
		return STEP_ON;
	f->credit -= HIST_REACH - r->left;
	r->left = HIST_REACH;
	return STEP_DONE;
}

NT_INLINE int step_cond(struct nt_flow *f, struct run *r, const struct told *told,
			const struct over *o)
{
	if (r->nbits) {
		r->nbits--;
		if (r->hist >> r->nbits & 1)
			run_taken(r, told, o, 0);
		else
			run_fall(r, o);
		return r->nbits ? STEP_ON : hist_done(f, r);
	}
	if (!f->walk.plain)
		return -NT_ENOHIST;
	run_fall(r, o);
	return r->left ? STEP_ON : STEP_OPEN;
}

/* With alljumps a direct jump is reported like a taken branch. */
NT_INLINE int step_reported_jump(struct nt_flow *f, struct run *r)
{
	if (r->nbits) {
		r->nbits--;
		if (!(r->hist >> r->nbits & 1))
			return -NT_EHIST;
		return r->nbits ? STEP_ON : hist_done(f, r);
	}
	if (!f->walk.plain || r->left)
		return -NT_ENOHIST;
	return STEP_OPEN;
}

NT_INLINE int step_direct(struct nt_flow *f, struct run *r, const struct told *told,
			  const struct over *o)
{
	int ret = STEP_ON;

	if (f->params.alljumps) {
		ret = step_reported_jump(f, r);
		run_fall(r, o);
		if (ret < 0 || ret == STEP_OPEN)
			return ret;
	}
	if (o->is.end == NT_END_CALL)
		push(&f->stack, fall_pc(f, r->map, o->blk), r->map, o->n);
	run_taken(r, told, o, 0);
	return ret;
}

NT_INLINE int step_indirect(struct nt_flow *f, struct run *r, const struct told *told,
			    const struct over *o)
{
	const struct nt_map *map = r->map;
	const struct call *call = NULL;

	if (!r->left && !f->walk.by_hist) {
		run_fall(r, o);
		return STEP_OPEN;
	}
	if (!can_infer(f, &o->is))
		return -cannot_infer(f, &o->is);
	if (pops(o->is.end))
		call = pop(&f->stack);
	if (o->is.seq) {
		run_taken(r, told, o, NT_EVF_INFERRED);
	} else {
		/* the call's block knows the way behind it */
		run_branch(r, told, o, call->pc, NT_EVF_INFERRED);
		r->call = *call;
		r->way = WAY_RETURN;
		r->next = NT_BLOCK_NONE;
		if (call->block != NT_BLOCK_NONE) {
			r->next = nt_block_link(&f->store->blocks[call->block].fall);
			r->map = call->map;
		}
	}
	if (pushes(o->is.end))
		push(&f->stack, fall_pc(f, map, o->blk), map, o->n);
	return STEP_ON;
}

NT_INLINE int step(struct nt_flow *f, struct run *r, const struct told *told,
		   const struct over *o)
{
	switch (o->is.end) {
	case NT_END_COND:
		return step_cond(f, r, told, o);
	case NT_END_LINEAR:
		run_fall(r, o);
		return STEP_ON;
	case NT_END_JUMP:
	case NT_END_CALL:
		return step_direct(f, r, told, o);
	default:
		return step_indirect(f, r, told, o);
	}
}

/* Where the way that the block was left by leads to */
NT_INLINE void arrive(struct nt_flow *f, const struct run *r, const struct over *o)
{
	f->map = r->map;
	f->at.block = r->next;
	f->at.link = r->way == WAY_RETURN ? r->call.block : o->n;
	f->at.taken = r->way == WAY_TAKEN;
	if (r->way == WAY_FALL)
		f->at.pc = fall_pc(f, r->map, o->blk);
	else
		f->at.pc = r->way == WAY_TAKEN ? target_pc(r->map, o->blk) : r->call.pc;
}

/*
 * The walk ends inside the block, behind `left` half-words of it.  The number
 * of instructions in these, or a negative enum nt_error.
 */
static int walk_part(struct nt_flow *f, const struct nt_map *map, const struct over *o,
		     int64_t left)
{
	const uint64_t pc = o->blk->pc + map->base;
	uint64_t last;
	int ret;

	if (f->walk.by_hist)
		return -NT_ERANGE;
	if (o->is.end == NT_END_TRAPS)
		return -NT_ENORETIRE;
	ret = nt_code_part(map->code, pc, (unsigned int)left, &last);
	if (ret < 0)
		return ret;
	f->last_pc = last;
	nt_walk_go_to(f, (pc + 2 * left) & f->mask);
	return ret;
}

/*
 * The block at f->at is stale: its code is to be looked for, and what leads to it, if anything is
 * known to, shall lead to that. 0 or an enum nt_error
 */
static int renew(struct nt_flow *f, struct run *r)
{
	int error;

	f->at.block = NT_BLOCK_NONE;
	error = nt_walk_discover(f);
	r->map = f->map;
	r->next = f->at.block;
	return error;
}

/* A block that is longer than what is left, or empty: as run_blocks() */
static int run_end(struct nt_flow *f, struct run *r, const struct over *o)
{
	int ret;

	f->map = r->map;
	ret = walk_part(f, r->map, o, r->left);
	if (ret < 0) {
		nt_walk_go_to(f, o->blk->pc + r->map->base);
		return ret;
	}
	r->insns += ret;
	r->left = 0;
	return NT_WALK_DONE;
}

/* From f->at on, whose block is known.  WALK_*, or a negative enum nt_error */
static int run_blocks(struct nt_flow *f, struct run *io, const struct told *told,
		      const struct nt_event *full)
{
	const struct nt_block *blocks = f->store->blocks;
	const struct nt_map *map;
	struct over o, from;
	struct run r = *io;
	int ret;

	r.next = f->at.block;
	r.map = f->map;
	for (from.blk = NULL;; from = o) {
		o.n = r.next;
		o.blk = &blocks[o.n];
		o.is = o.blk->is;
		if (o.is.halfwords > r.left || !o.is.halfwords) {
			if (o.is.end != NT_END_STALE) {
				ret = run_end(f, &r, &o);
				break;
			}
			if (from.blk)
				arrive(f, &r, &from);
			ret = -renew(f, &r);
			if (ret)
				break;
			blocks = f->store->blocks;
			continue;
		}
		r.left -= o.is.halfwords;
		r.insns += o.is.insns;
		map = r.map;
		ret = step(f, &r, told, &o);
		if (ret < 0) {
			/* where the last instruction leads is not known: be before it */
			r.insns--;
			r.left += o.is.halfwords - o.is.before;
			f->map = r.map;
			nt_walk_go_to(f, last_pc(r.map, o.blk));
			break;
		}
		if (ret != STEP_ON || !r.left) {
			f->last_pc = last_pc(map, o.blk);
			arrive(f, &r, &o);
			if (ret == STEP_OPEN)
				f->open = o.n;
			ret = NT_WALK_DONE;
			break;
		}
		if (r.next == NT_BLOCK_NONE || r.ev >= full) {
			arrive(f, &r, &o);
			ret = f->at.block == NT_BLOCK_NONE ? -nt_walk_discover(f) : 0;
			if (ret)
				break;
			if (r.ev >= full) {
				ret = NT_WALK_FULL;
				break;
			}
			/* which may be in another store */
			blocks = f->store->blocks;
			r.next = f->at.block;
			r.map = f->map;
		}
	}
	*io = r;
	return ret;
}

int nt_walk(struct nt_flow *f, struct batch *b)
{
	struct told told;
	struct run r;
	int ret;

	if (f->at.block == NT_BLOCK_NONE) {
		ret = nt_walk_discover(f);
		if (ret)
			return -ret;
	}
	memset(&r, 0, sizeof(r));
	r.left = f->walk.left;
	r.hist = f->walk.hist;
	r.nbits = f->walk.nbits;
	r.insns = f->insns;
	r.ev = b->ev + b->n;
	set_told(f, &told);

	ret = run_blocks(f, &r, &told, b->ev + b->max - ROOM);

	f->walk.left = r.left;
	f->walk.nbits = r.nbits;
	f->insns = r.insns;
	b->n = r.ev - b->ev;
	return ret;
}

/* ------------------------------------------- what ends an open block ----- */

static const struct nt_block *open_block(const struct nt_flow *f)
{
	return &f->store->blocks[f->open];
}

static void add_open_branch(struct nt_flow *f, struct batch *b, unsigned int flags)
{
	const struct nt_block *blk = open_block(f);

	add_branch(f, b, blk->is.type, last_pc(f->map, blk), f->at.pc, flags);
}

/* What is open leads to addr, by its link if that is there. */
static void be_taken(struct nt_flow *f, uint64_t addr)
{
	const uint32_t n = nt_block_link(&open_block(f)->taken);

	nt_walk_go_to(f, addr);
	if (n != NT_BLOCK_NONE && f->store->blocks[n].pc + f->map->base == addr)
		f->at.block = n;
	f->at.link = f->open;
	f->at.taken = true;
}

static void push_open(struct nt_flow *f)
{
	if (pushes(open_block(f)->is.end))
		push(&f->stack, fall_pc(f, f->map, open_block(f)), f->map, f->open);
}

/* The message tells where the open block's indirect transfer went.  0 or an enum nt_error */
int nt_walk_told(struct nt_flow *f, struct batch *b, uint64_t addr)
{
	if (open_block(f)->is.seq && nt_walk_open_target(f) != addr)
		return NT_EADDR;
	if (pops(open_block(f)->is.end))
		pop(&f->stack);
	push_open(f);
	be_taken(f, addr);
	add_open_branch(f, b, 0);
	return 0;
}

/* The direct transfer at the open block's end was taken. */
void nt_walk_direct(struct nt_flow *f, struct batch *b)
{
	push_open(f);
	be_taken(f, nt_walk_open_target(f));
	add_open_branch(f, b, 0);
}

/*
 * The message does not tell about the open block: a branch was not taken, an
 * indirect transfer must be inferred.  0 or an enum nt_error.
 */
int nt_walk_silent(struct nt_flow *f, struct batch *b)
{
	const struct call *call = NULL;
	struct nt_body is;

	if (f->open == NT_BLOCK_NONE)
		return 0;
	is = open_block(f)->is;
	if (is.end == NT_END_COND)
		return 0;
	if (is.end == NT_END_JUMP || is.end == NT_END_CALL)
		return NT_EADDR;
	if (!can_infer(f, &is))
		return cannot_infer(f, &is);
	if (pops(is.end))
		call = pop(&f->stack);
	if (is.seq)
		be_taken(f, nt_walk_open_target(f));
	else
		nt_walk_go_to(f, call->pc);
	push_open(f);
	add_open_branch(f, b, NT_EVF_INFERRED);
	return 0;
}

/* An instruction of a custom encoding may have jumped.  0 or an enum nt_error. */
int nt_walk_custom(struct nt_flow *f, struct batch *b, uint64_t addr)
{
	struct nt_code *code = nt_walk_code_at(f, f->last_pc);
	struct nt_insn insn;

	if (!f->total || !code || nt_code_one(code, f->last_pc, &insn) < 0 ||
	    !(insn.flags & NT_INSN_CUSTOM))
		return NT_ENOBRANCH;
	nt_walk_go_to(f, addr);
	add_branch(f, b, NT_TYPE_IJUMP, f->last_pc, addr, 0);
	return 0;
}

bool nt_walk_open_is_direct(const struct nt_flow *f)
{
	const unsigned int end = open_block(f)->is.end;

	return end == NT_END_COND || end == NT_END_JUMP || end == NT_END_CALL;
}

uint64_t nt_walk_open_target(const struct nt_flow *f)
{
	return target_pc(f->map, open_block(f));
}

bool nt_walk_open_is_known(const struct nt_flow *f, uint64_t *target)
{
	if (open_block(f)->is.seq)
		*target = nt_walk_open_target(f);
	return open_block(f)->is.seq;
}
