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

int nt_walk_discover(struct nt_flow *f)
{
	struct nt_code *code = nt_walk_code_at(f, f->at.pc);
	struct nt_block *link;
	int error = NT_EUNMAPPED;

	if (code != f->code) {
		f->code = code;
		nt_walk_forget(f);
	}
	if (!code)
		return NT_EUNMAPPED;
	f->generation = code->generation;
	f->at.block = nt_code_block(code, f->at.pc, &error);
	if (f->at.block == NT_BLOCK_NONE)
		return error;
	if (f->at.link != NT_BLOCK_NONE) {
		link = &code->blocks[f->at.link];
		*(f->at.taken ? &link->taken : &link->fall) = f->at.block;
	}
	return 0;
}

/* ---------------------------------------------------- indirect transfers - */

/* Is it known without the message where an indirect transfer leads? */
static bool can_infer(const struct nt_flow *f, const struct nt_block *blk)
{
	return blk->seq || (pops(blk) && f->params.retstack && f->stack.depth);
}

static int cannot_infer(const struct nt_flow *f, const struct nt_block *blk)
{
	return pops(blk) && f->params.retstack ? NT_ESTACK : NT_EINDIRECT;
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
	uint32_t next;		/* block to go on with, NT_BLOCK_NONE unknown */
	enum way way;
	struct call call;
};

enum step {
	STEP_ON,
	STEP_OPEN,	/* the message will tell how the block ended */
	STEP_DONE,	/* the outcomes are used up */
};

NT_INLINE void run_fall(struct run *r, const struct nt_block *blk)
{
	r->next = blk->fall;
	r->way = WAY_FALL;
}

NT_INLINE void run_branch(struct run *r, const struct told *told, const struct nt_block *blk,
			  uint64_t to, unsigned int flags)
{
	write_branch(r->ev++, told, blk, to, r->insns, flags);
	r->insns = 0;
}

NT_INLINE void run_taken(struct run *r, const struct told *told, const struct nt_block *blk,
			 unsigned int flags)
{
	run_branch(r, told, blk, blk->target, flags);
	r->next = blk->taken;
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
			const struct nt_block *blk)
{
	if (r->nbits) {
		r->nbits--;
		if (r->hist >> r->nbits & 1)
			run_taken(r, told, blk, 0);
		else
			run_fall(r, blk);
		return r->nbits ? STEP_ON : hist_done(f, r);
	}
	if (!f->walk.plain)
		return -NT_ENOHIST;
	run_fall(r, blk);
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
			  const struct nt_block *blk, uint32_t n)
{
	int ret = STEP_ON;

	if (f->params.alljumps) {
		ret = step_reported_jump(f, r);
		run_fall(r, blk);
		if (ret < 0 || ret == STEP_OPEN)
			return ret;
	}
	if (blk->end == NT_END_CALL)
		push(&f->stack, fall_pc(f, blk), n);
	run_taken(r, told, blk, 0);
	return ret;
}

NT_INLINE int step_indirect(struct nt_flow *f, struct run *r, const struct told *told,
			    const struct nt_block *blk, uint32_t n)
{
	const struct call *call = NULL;

	if (!r->left && !f->walk.by_hist) {
		run_fall(r, blk);
		return STEP_OPEN;
	}
	if (!can_infer(f, blk))
		return -cannot_infer(f, blk);
	if (pops(blk))
		call = pop(&f->stack);
	if (blk->seq) {
		run_taken(r, told, blk, NT_EVF_INFERRED);
	} else {
		/* the call's block knows the way behind it */
		r->call = *call;
		r->way = WAY_RETURN;
		r->next = call->block == NT_BLOCK_NONE ? NT_BLOCK_NONE :
			  f->code->blocks[call->block].fall;
		run_branch(r, told, blk, call->pc, NT_EVF_INFERRED);
	}
	if (pushes(blk))
		push(&f->stack, fall_pc(f, blk), n);
	return STEP_ON;
}

NT_INLINE int step(struct nt_flow *f, struct run *r, const struct told *told,
		   const struct nt_block *blk, uint32_t n)
{
	switch (blk->end) {
	case NT_END_COND:
		return step_cond(f, r, told, blk);
	case NT_END_LINEAR:
		run_fall(r, blk);
		return STEP_ON;
	case NT_END_JUMP:
	case NT_END_CALL:
		return step_direct(f, r, told, blk, n);
	default:
		return step_indirect(f, r, told, blk, n);
	}
}

/* Block n was left by r->way: the place that this leads to */
NT_INLINE void arrive(struct nt_flow *f, const struct run *r, const struct nt_block *blk,
		      uint32_t n)
{
	switch (r->way) {
	case WAY_FALL:
		set_fall(f, &f->at, blk, n);
		break;
	case WAY_TAKEN:
		set_taken(&f->at, blk, n);
		break;
	case WAY_RETURN:
		f->at.pc = r->call.pc;
		f->at.block = r->next;
		f->at.link = r->call.block;
		f->at.taken = false;
		break;
	}
}

/*
 * The walk ends inside the block, behind `left` half-words of it.  The number
 * of instructions in these, or a negative enum nt_error.
 */
static int walk_part(struct nt_flow *f, const struct nt_block *blk, int64_t left)
{
	uint64_t last;
	int ret;

	if (f->walk.by_hist)
		return -NT_ERANGE;
	if (blk->end == NT_END_TRAPS)
		return -NT_ENORETIRE;
	ret = nt_code_part(f->code, blk, (unsigned int)left, &last);
	if (ret < 0)
		return ret;
	f->last_pc = last;
	nt_walk_go_to(f, (blk->pc + 2 * left) & f->mask);
	return ret;
}

/* From f->at on, whose block is known.  WALK_*, or a negative enum nt_error */
static int run_blocks(struct nt_flow *f, struct run *io, const struct told *told,
		      const struct nt_event *full)
{
	const struct nt_block *blocks = f->code->blocks, *blk;
	struct run r = *io;
	uint32_t n = f->at.block;
	int ret;

	for (;;) {
		blk = &blocks[n];
		if (blk->halfwords > r.left || !blk->halfwords) {
			if (blk->end == NT_END_STALE) {
				nt_walk_go_to(f, blk->pc);
				ret = -nt_walk_discover(f);
				if (ret)
					break;
				blocks = f->code->blocks;
				n = f->at.block;
				continue;
			}
			ret = walk_part(f, blk, r.left);
			if (ret < 0) {
				nt_walk_go_to(f, blk->pc);
				break;
			}
			r.insns += ret;
			r.left = 0;
			ret = NT_WALK_DONE;
			break;
		}
		r.left -= blk->halfwords;
		r.insns += blk->insns;
		ret = step(f, &r, told, blk, n);
		if (ret < 0) {
			/* where the last instruction leads is not known: be before it */
			r.insns--;
			r.left += blk->halfwords - blk->before;
			nt_walk_go_to(f, nt_block_last(blk));
			break;
		}
		if (ret != STEP_ON || !r.left) {
			f->last_pc = nt_block_last(blk);
			arrive(f, &r, blk, n);
			if (ret == STEP_OPEN)
				f->open = n;
			ret = NT_WALK_DONE;
			break;
		}
		if (r.next == NT_BLOCK_NONE || r.ev >= full) {
			arrive(f, &r, blk, n);
			ret = f->at.block == NT_BLOCK_NONE ? -nt_walk_discover(f) : 0;
			if (ret)
				break;
			if (r.ev >= full) {
				ret = NT_WALK_FULL;
				break;
			}
			blocks = f->code->blocks;
			r.next = f->at.block;
		}
		n = r.next;
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

static void add_open_branch(struct nt_flow *f, struct batch *b, unsigned int flags)
{
	const struct nt_block *blk = &f->code->blocks[f->open];

	add_branch(f, b, blk->type, nt_block_last(blk), f->at.pc, flags);
}

/* The message tells where the open block's indirect transfer went.  0 or an enum nt_error */
int nt_walk_told(struct nt_flow *f, struct batch *b, uint64_t addr)
{
	struct nt_block *blk = &f->code->blocks[f->open];

	if (blk->seq && blk->target != addr)
		return NT_EADDR;
	if (pops(blk))
		pop(&f->stack);
	if (pushes(blk))
		push(&f->stack, fall_pc(f, blk), f->open);
	if (blk->target != addr) {
		blk->target = addr;
		blk->taken = NT_BLOCK_NONE;
	}
	set_taken(&f->at, blk, f->open);
	/* links are kept only inside one program */
	if ((addr ^ blk->pc) >> (f->params.xlen - 1) & 1)
		nt_walk_go_to(f, addr);
	add_open_branch(f, b, 0);
	return 0;
}

/* The direct transfer at the open block's end was taken. */
void nt_walk_direct(struct nt_flow *f, struct batch *b)
{
	const struct nt_block *blk = &f->code->blocks[f->open];

	if (pushes(blk))
		push(&f->stack, fall_pc(f, blk), f->open);
	set_taken(&f->at, blk, f->open);
	add_open_branch(f, b, 0);
}

/*
 * The message does not tell about the open block: a branch was not taken, an
 * indirect transfer must be inferred.  0 or an enum nt_error.
 */
int nt_walk_silent(struct nt_flow *f, struct batch *b)
{
	const struct call *call = NULL;
	const struct nt_block *blk;

	if (f->open == NT_BLOCK_NONE)
		return 0;
	blk = &f->code->blocks[f->open];
	if (blk->end == NT_END_COND)
		return 0;
	if (blk->end == NT_END_JUMP || blk->end == NT_END_CALL)
		return NT_EADDR;
	if (!can_infer(f, blk))
		return cannot_infer(f, blk);
	if (pops(blk))
		call = pop(&f->stack);
	if (blk->seq)
		set_taken(&f->at, blk, f->open);
	else
		nt_walk_go_to(f, call->pc);
	if (pushes(blk))
		push(&f->stack, fall_pc(f, blk), f->open);
	add_open_branch(f, b, NT_EVF_INFERRED);
	return 0;
}

/* An instruction of a custom encoding may have jumped.  0 or an enum nt_error. */
int nt_walk_custom(struct nt_flow *f, struct batch *b, uint64_t addr)
{
	struct nt_insn insn;

	if (!f->total || nt_code_insn(f->code, f->last_pc, &insn) < 0 ||
	    !(insn.flags & NT_INSN_CUSTOM))
		return NT_ENOBRANCH;
	nt_walk_go_to(f, addr);
	add_branch(f, b, NT_TYPE_IJUMP, f->last_pc, addr, 0);
	return 0;
}

bool nt_walk_open_is_direct(const struct nt_flow *f)
{
	unsigned int end = f->code->blocks[f->open].end;

	return end == NT_END_COND || end == NT_END_JUMP || end == NT_END_CALL;
}

bool nt_walk_open_is_known(const struct nt_flow *f, uint64_t *target)
{
	const struct nt_block *blk = &f->code->blocks[f->open];

	if (blk->seq)
		*target = blk->target;
	return blk->seq;
}
