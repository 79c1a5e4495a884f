// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The walk through the block graph: outcomes and half-words in, branches out
 *
 * If a walk ends exactly at an instruction whose target only the message has (or which a trap has
 * interrupted, according to the message), it is left open: f->open.
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

/* Only blocks in f->map are linked to each other, not to those of another map. */
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

/* ---------------------------------------------------------------- walk --- */

/* The walk ends inside the block, or the block is empty.  Returns the same as walk_on() */
static int walk_part(struct walker *w, struct run *r)
{
	const struct nt_block *blk = &w->blocks[r->block];
	const uint64_t pc = blk->pc + w->base;
	struct nt_flow *f = w->f;
	unsigned int insns;
	uint64_t last;
	int ret;

	run_store(w, r);
	if (blk->is.end == NT_END_STALE) {
		f->at.block = NT_BLOCK_NONE;
		return NT_WALK_UNKNOWN;
	}
	nt_walk_go_to(f, pc);
	if (f->walk.by_hist)
		return -NT_ERANGE;
	if (blk->is.end == NT_END_TRAPS)
		return -NT_ENORETIRE;
	ret = nt_code_part(w->map->code, pc, (unsigned int)r->left, &last, &insns);
	f->insns += insns;
	if (ret < 0) {
		nt_walk_go_to(f, last & f->mask);
		return ret;
	}
	f->last_pc = last;
	nt_walk_go_to(f, (pc + 2 * r->left) & f->mask);
	r->left = 0;
	return NT_WALK_DONE;
}

/* The walk ends with the block. */
static int walk_last(struct walker *w, const struct nt_shape *shape, struct run *r)
{
	const struct nt_block *blk = &w->blocks[r->block];
	const uint32_t n = r->block;
	struct nt_flow *f = w->f;
	int ret;

	f->last_pc = last_pc(w->map, blk);
	r->left = 0;
	r->insns += blk->is.insns;
	ret = run_step(w, shape, r, blk, r->nbits, true);
	if (ret < 0)
		return ret;
	if (ret == NT_WALK_OPEN)
		f->open = n;
	return w->by_hist && !r->nbits ? NT_WALK_OUTCOMES : NT_WALK_DONE;
}

/* Returns the same as nt_walk(), or NT_WALK_UNKNOWN */
static int walk_on(struct walker *w, const struct nt_shape *shape, struct run *r)
{
	int ret = run_all(w, shape, r);

	if (ret == NT_WALK_LAST) {
		if (w->blocks[r->block].is.halfwords != r->left)
			return walk_part(w, r);
		ret = walk_last(w, shape, r);
	}
	if (ret == NT_WALK_OUTCOMES) {
		w->f->credit -= HIST_REACH - r->left;
		r->left = HIST_REACH;
		ret = NT_WALK_DONE;
	}
	if (ret < 0)
		run_back(w, r);
	run_store(w, r);
	return ret;
}

int nt_walk(struct nt_flow *f, struct batch *b)
{
	const struct nt_shape shape = { .alljumps = f->params.alljumps, .rare = true };
	struct walker w = { .f = f, .full = b->ev + b->max - ROOM, .plain = f->walk.plain,
			    .by_hist = f->walk.by_hist };
	int ret;

	set_told(f, &w.told);
	do {
		struct run r = { .left = f->walk.left, .hist = f->walk.hist,
				 .nbits = f->walk.nbits, .ev = b->ev + b->n };

		ret = f->at.block == NT_BLOCK_NONE ? nt_walk_discover(f) : 0;
		if (ret)
			return -ret;
		run_load(f, &w, &r);
		ret = walk_on(&w, &shape, &r);
		f->walk.left = r.left;
		f->walk.nbits = r.nbits;
		b->n = r.ev - b->ev;
	} while (ret == NT_WALK_UNKNOWN);
	return ret;
}

/* ------------------------------------------------------- open blocks ----- */

static const struct nt_block *open_block(const struct nt_flow *f)
{
	return &f->store->blocks[f->open];
}

static void add_open_branch(struct nt_flow *f, struct batch *b, unsigned int flags)
{
	const struct nt_block *blk = open_block(f);

	add_branch(f, b, blk->is.type, last_pc(f->map, blk), f->at.pc, flags);
}

/* The open block leads to addr, by its link if that is set. */
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

/* The message has the target of the open block's indirect transfer.  0 or an enum nt_error */
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
 * The message says nothing about the open block: a branch was not taken, an indirect transfer must
 * be inferred.  0 or an enum nt_error.
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

	if (f->empty || !code || nt_code_one(code, f->last_pc, &insn) < 0 ||
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

bool nt_walk_open_leads_on(const struct nt_flow *f)
{
	return open_block(f)->is.end == NT_END_COND && nt_walk_open_target(f) == f->at.pc;
}

bool nt_walk_open_is_known(const struct nt_flow *f, uint64_t *target)
{
	if (open_block(f)->is.seq)
		*target = nt_walk_open_target(f);
	return open_block(f)->is.seq;
}
