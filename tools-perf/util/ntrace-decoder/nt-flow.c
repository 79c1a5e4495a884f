// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The flow layer: messages and code to control flow
 *
 * A message tells how far execution went (I-CNT, and the I-CNT of ResourceFull
 * messages before it: the credit), which way each conditional branch on the way
 * went (HIST), and what was at the end of it:
 *
 *	begin_*()	message -> how far to walk, and with which outcomes
 *	walk()		through the block graph; may take several batches
 *	finish()	what the message says about the end of the walk
 *
 * Where a walk ends exactly at an instruction whose target only the message
 * knows (or says to have been overtaken by a trap), it is left open: f->open.
 */
#include <stdlib.h>
#include <string.h>

#include "nt-code.h"

/* Half-words that one I-CNT may count, and all credit together */
#define ICNT_MAX	(1ull << 30)
#define TOTAL_MAX	(1ll << 40)
/* Half-words that the outcomes of one HIST may cover */
#define HIST_REACH	(1ll << 24)
/* Counts of repetitions: 18 bits by the specification */
#define REPEAT_MAX	((1ull << 18) - 1)

/* Calls remembered: by the specification, and by the profiles' counter */
#define STACK_1_0	32
#define STACK_COUNTER	1024

/* Events that one message may need beside those of its walk */
#define ROOM		8

/* ---------------------------------------------------------- structures --- */

enum state {
	UNSYNCED,	/* no sync message yet, or none since a loss */
	RUNNING,
	STOPPED,	/* by ProgTraceCorrelation */
};

enum stage {
	NEXT_MESSAGE,
	WALKING,	/* f->walk goes on, then comes the end of f->msg */
};

struct call {
	uint64_t pc;		/* where it returns to */
	uint32_t block;		/* the call's, in f->code; NT_BLOCK_NONE unknown */
};

struct stack {
	struct call *calls;
	unsigned int wrap;	/* size - 1 */
	unsigned int top;	/* next to be written */
	unsigned int depth;
};

/* A place in the program, and what is known of how the graph leads there */
struct place {
	uint64_t pc;
	uint32_t block;		/* at pc, or NT_BLOCK_NONE: to be looked up */
	uint32_t link;		/* block that leads here and may remember it, or NONE */
	bool taken;		/* by which of its successors */
};

struct walk {
	int64_t left;		/* half-words; in a HIST walk what HIST may cover */
	uint64_t hist;		/* outcomes: bit nbits - 1 is next */
	unsigned int nbits;
	unsigned int reload;	/* nbits at the start of each repetition */
	uint64_t repeat;	/* of the outcomes, still to come */
	bool by_hist;		/* ends with the outcomes, I-CNT comes later */
	bool plain;		/* BTM: branches inside are not taken */
};

struct nt_flow {
	struct nt_params params;
	uint64_t mask;
	struct nt_code *low, *high;

	/* the window */
	const uint8_t *buf;
	size_t len, pos;
	uint64_t offset;
	bool at_limit;
	uint64_t limit;

	/* of the stream */
	enum state state;
	enum stage stage;
	bool htm;
	uint64_t ref;		/* address that U-ADDR is relative to */
	int64_t credit;
	uint64_t time;
	bool time_valid;
	struct stack stack;
	uint64_t stop_pc;	/* where the last STOP left, for NT_EVF_JOIN */
	bool stop_valid;

	/* where we are */
	struct place at;
	struct nt_code *code;	/* of all block numbers here */
	uint32_t generation;	/* of code when they were valid */
	uint32_t open;		/* block whose end the message has to tell */
	uint64_t last_pc;	/* last instruction of a finished walk */

	/* the message being worked on */
	struct nt_msg msg;
	uint64_t msg_offset;
	uint64_t msg_target;	/* its address, absolute */
	int64_t total;		/* half-words it counts, credit included */
	struct walk walk;
	bool just_synced;	/* nothing retired since a sync message */
	bool draining;		/* walking credit that no message will claim */
	enum nt_error pending;	/* the loss that comes after it, if any */

	/* for RepeatBranch: the last branch message without SYNC, resolved */
	struct nt_msg last;
	uint64_t last_target;
	bool last_valid;
	uint64_t repeats;

	uint32_t insns;		/* since the last event */
};

/* The events of one call, and what to go back to when a message is refused */
struct batch {
	struct nt_event *ev;
	unsigned int n, max;
	bool end;		/* no more in this batch */
	unsigned int mark;
	uint64_t mark_pc;
	uint32_t mark_insns;
};

/* ---------------------------------------------------------------- events - */

static struct nt_event *add_event(struct nt_flow *f, struct batch *b, enum nt_event_kind kind)
{
	struct nt_event *ev = &b->ev[b->n++];

	memset(ev, 0, sizeof(*ev));
	ev->kind = kind;
	ev->offset = f->msg_offset;
	ev->time = f->time;
	ev->flags = f->time_valid ? NT_EVF_TIME : 0;
	return ev;
}

static void add_branch(struct nt_flow *f, struct batch *b, unsigned int type,
		       uint64_t from, uint64_t to, unsigned int flags)
{
	struct nt_event *ev = add_event(f, b, NT_EV_BRANCH);

	ev->type = type;
	ev->from = from;
	ev->to = to;
	ev->flags |= flags;
	ev->insns = f->insns;
	f->insns = 0;
	if (nt_tcode_is_sync(f->msg.tcode)) {
		ev->flags |= NT_EVF_SYNC;
		ev->reason = f->msg.sync;
	}
}

static void add_notice(struct nt_flow *f, struct batch *b, enum nt_error reason)
{
	struct nt_event *ev = add_event(f, b, NT_EV_NOTICE);

	ev->reason = reason;
	if (f->state == RUNNING) {
		ev->from = ev->to = f->at.pc;
		ev->flags |= NT_EVF_PC;
	}
}

static void mark(struct nt_flow *f, struct batch *b)
{
	b->mark = b->n;
	b->mark_pc = f->at.pc;
	b->mark_insns = f->insns;
}

/* ---------------------------------------------------------- return stack - */

static void push(struct stack *s, uint64_t pc, uint32_t block)
{
	s->calls[s->top].pc = pc;
	s->calls[s->top].block = block;
	s->top = (s->top + 1) & s->wrap;
	if (s->depth <= s->wrap)
		s->depth++;
}

/* NULL when empty; valid until the next push */
static const struct call *pop(struct stack *s)
{
	if (!s->depth)
		return NULL;
	s->depth--;
	s->top = (s->top - 1) & s->wrap;
	return &s->calls[s->top];
}

/* Block numbers have become stale. */
static void forget_blocks(struct nt_flow *f)
{
	unsigned int i;

	f->at.block = f->at.link = NT_BLOCK_NONE;
	for (i = 0; i <= f->stack.wrap; i++)
		f->stack.calls[i].block = NT_BLOCK_NONE;
}

/* -------------------------------------------------------------- blocks --- */

static struct nt_code *code_at(const struct nt_flow *f, uint64_t pc)
{
	return pc >> (f->params.xlen - 1) & 1 ? f->high : f->low;
}

static uint64_t fall_pc(const struct nt_flow *f, const struct nt_block *blk)
{
	return nt_block_end(blk) & f->mask;
}

static void go_to(struct nt_flow *f, uint64_t pc)
{
	f->at.pc = pc;
	f->at.block = f->at.link = NT_BLOCK_NONE;
}

/*
 * Look up the block at f->at, and let the graph remember it.  0 or an enum
 * nt_error.
 */
static int discover(struct nt_flow *f)
{
	struct nt_code *code = code_at(f, f->at.pc);
	struct nt_block *link;
	int error = NT_EUNMAPPED;

	if (code != f->code) {
		f->code = code;
		forget_blocks(f);
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

/* ---------------------------------------------------- indirect transfers - */

static bool pops(const struct nt_block *blk)
{
	return blk->end == NT_END_RET || blk->end == NT_END_SWAP;
}

static bool pushes(const struct nt_block *blk)
{
	return blk->end == NT_END_CALL || blk->end == NT_END_ICALL || blk->end == NT_END_SWAP;
}

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
#define INLINE	static inline __attribute__((always_inline))

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

INLINE void run_fall(struct run *r, const struct nt_block *blk)
{
	r->next = blk->fall;
	r->way = WAY_FALL;
}

INLINE void run_branch(struct run *r, const struct nt_event *proto, const struct nt_block *blk,
		       uint64_t to, unsigned int flags)
{
	struct nt_event *ev = r->ev++;

	*ev = *proto;
	ev->type = blk->type;
	ev->from = nt_block_last(blk);
	ev->to = to;
	ev->insns = r->insns;
	ev->flags |= flags;
	r->insns = 0;
}

INLINE void run_taken(struct run *r, const struct nt_event *proto, const struct nt_block *blk,
		      unsigned int flags)
{
	run_branch(r, proto, blk, blk->target, flags);
	r->next = blk->taken;
	r->way = WAY_TAKEN;
}

/* The outcomes of a HIST walk are used up: once more, or done? */
INLINE int hist_done(struct nt_flow *f, struct run *r)
{
	if (!f->walk.by_hist)
		return STEP_ON;
	f->credit -= HIST_REACH - r->left;
	r->left = HIST_REACH;
	if (!f->walk.repeat)
		return STEP_DONE;
	f->walk.repeat--;
	r->nbits = f->walk.reload;
	return STEP_ON;
}

INLINE int step_cond(struct nt_flow *f, struct run *r, const struct nt_event *proto,
		     const struct nt_block *blk)
{
	if (r->nbits) {
		r->nbits--;
		if (r->hist >> r->nbits & 1)
			run_taken(r, proto, blk, 0);
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
INLINE int step_reported_jump(struct nt_flow *f, struct run *r)
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

INLINE int step_direct(struct nt_flow *f, struct run *r, const struct nt_event *proto,
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
	run_taken(r, proto, blk, 0);
	return ret;
}

INLINE int step_indirect(struct nt_flow *f, struct run *r, const struct nt_event *proto,
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
		run_taken(r, proto, blk, NT_EVF_INFERRED);
	} else {
		/* the call's block knows the way behind it */
		r->call = *call;
		r->way = WAY_RETURN;
		r->next = call->block == NT_BLOCK_NONE ? NT_BLOCK_NONE :
			  f->code->blocks[call->block].fall;
		run_branch(r, proto, blk, call->pc, NT_EVF_INFERRED);
	}
	if (pushes(blk))
		push(&f->stack, fall_pc(f, blk), n);
	return STEP_ON;
}

INLINE int step(struct nt_flow *f, struct run *r, const struct nt_event *proto,
		const struct nt_block *blk, uint32_t n)
{
	switch (blk->end) {
	case NT_END_COND:
		return step_cond(f, r, proto, blk);
	case NT_END_LINEAR:
		run_fall(r, blk);
		return STEP_ON;
	case NT_END_JUMP:
	case NT_END_CALL:
		return step_direct(f, r, proto, blk, n);
	default:
		return step_indirect(f, r, proto, blk, n);
	}
}

/* Block n was left by r->way: the place that this leads to */
INLINE void arrive(struct nt_flow *f, const struct run *r, const struct nt_block *blk, uint32_t n)
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

enum walked {
	WALK_DONE,
	WALK_FULL,	/* the batch is; go on with the next */
};

/*
 * The walk ends inside the block, behind `left` half-words of it.  The number
 * of instructions in these, or a negative enum nt_error.
 */
static int walk_part(struct nt_flow *f, const struct nt_block *blk, int64_t left)
{
	uint64_t part;

	if (f->walk.by_hist)
		return -NT_ERANGE;
	if (blk->end == NT_END_TRAPS)
		return -NT_ENORETIRE;
	if (!(blk->starts >> left & 1))
		return -NT_EBOUNDARY;
	part = blk->starts & ((1ull << left) - 1);
	f->last_pc = blk->pc + 2 * (63 - __builtin_clzll(part));
	go_to(f, (blk->pc + 2 * left) & f->mask);
	return __builtin_popcountll(part);
}

/* From f->at on, whose block is known.  WALK_*, or a negative enum nt_error */
static int run_blocks(struct nt_flow *f, struct run *io, const struct nt_event *proto,
		      const struct nt_event *full)
{
	const struct nt_block *blocks = f->code->blocks, *blk;
	struct run r = *io;
	uint32_t n = f->at.block;
	int ret;

	for (;;) {
		blk = &blocks[n];
		if (blk->halfwords > r.left || !blk->halfwords) {
			ret = walk_part(f, blk, r.left);
			if (ret < 0) {
				go_to(f, blk->pc);
				break;
			}
			r.insns += ret;
			r.left = 0;
			ret = WALK_DONE;
			break;
		}
		r.left -= blk->halfwords;
		r.insns += blk->insns;
		ret = step(f, &r, proto, blk, n);
		if (ret < 0) {
			/* where the last instruction leads is not known */
			r.insns--;
			go_to(f, nt_block_last(blk));
			break;
		}
		if (ret != STEP_ON || !r.left) {
			f->last_pc = nt_block_last(blk);
			arrive(f, &r, blk, n);
			if (ret == STEP_OPEN)
				f->open = n;
			ret = WALK_DONE;
			break;
		}
		if (r.next == NT_BLOCK_NONE || r.ev >= full) {
			arrive(f, &r, blk, n);
			ret = f->at.block == NT_BLOCK_NONE ? -discover(f) : 0;
			if (ret)
				break;
			if (r.ev >= full) {
				ret = WALK_FULL;
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

static void set_proto(const struct nt_flow *f, struct nt_event *ev)
{
	memset(ev, 0, sizeof(*ev));
	ev->kind = NT_EV_BRANCH;
	ev->offset = f->msg_offset;
	ev->time = f->time;
	ev->flags = f->time_valid ? NT_EVF_TIME : 0;
	if (nt_tcode_is_sync(f->msg.tcode)) {
		ev->flags |= NT_EVF_SYNC;
		ev->reason = f->msg.sync;
	}
}

static int walk(struct nt_flow *f, struct batch *b)
{
	struct nt_event proto;
	struct run r;
	int ret;

	if (f->at.block == NT_BLOCK_NONE) {
		ret = discover(f);
		if (ret)
			return -ret;
	}
	memset(&r, 0, sizeof(r));
	r.left = f->walk.left;
	r.hist = f->walk.hist;
	r.nbits = f->walk.nbits;
	r.insns = f->insns;
	r.ev = b->ev + b->n;
	set_proto(f, &proto);

	ret = run_blocks(f, &r, &proto, b->ev + b->max - ROOM);

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

/* The message tells where the open block's indirect transfer went. */
static void take_told(struct nt_flow *f, struct batch *b, uint64_t addr)
{
	struct nt_block *blk = &f->code->blocks[f->open];

	if (pops(blk))
		pop(&f->stack);
	if (pushes(blk))
		push(&f->stack, fall_pc(f, blk), f->open);
	if (blk->seq) {
		go_to(f, addr);
	} else {
		if (blk->target != addr) {
			blk->target = addr;
			blk->taken = NT_BLOCK_NONE;
		}
		set_taken(&f->at, blk, f->open);
	}
	add_open_branch(f, b, 0);
}

/* The direct transfer at the open block's end was taken. */
static void take_direct(struct nt_flow *f, struct batch *b)
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
static int take_silent(struct nt_flow *f, struct batch *b)
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
		go_to(f, call->pc);
	if (pushes(blk))
		push(&f->stack, fall_pc(f, blk), f->open);
	add_open_branch(f, b, NT_EVF_INFERRED);
	return 0;
}

/* An instruction of a custom encoding may have jumped.  0 or an enum nt_error. */
static int take_custom(struct nt_flow *f, struct batch *b, uint64_t addr)
{
	struct nt_insn insn;

	if (!f->total || nt_code_insn(f->code, f->last_pc, &insn) < 0 ||
	    !(insn.flags & NT_INSN_CUSTOM))
		return NT_ENOBRANCH;
	go_to(f, addr);
	add_branch(f, b, NT_TYPE_IJUMP, f->last_pc, addr, 0);
	return 0;
}

static bool open_is_direct(const struct nt_flow *f)
{
	unsigned int end = f->code->blocks[f->open].end;

	return end == NT_END_COND || end == NT_END_JUMP || end == NT_END_CALL;
}

/* ------------------------------------------------------------- messages -- */

static void stop(struct nt_flow *f, struct batch *b, unsigned int reason, bool exact)
{
	struct nt_event *ev = add_event(f, b, NT_EV_STOP);

	ev->from = f->at.pc;
	ev->reason = reason;
	ev->insns = f->insns;
	f->insns = 0;
	f->state = STOPPED;
	f->stop_pc = f->at.pc;
	f->stop_valid = exact;
}

/* Does execution that left at stop_pc go on at addr? */
static bool joins(const struct nt_flow *f, uint64_t addr)
{
	struct nt_code *code = code_at(f, f->stop_pc);
	struct nt_insn insn;

	if (!f->stop_valid)
		return false;
	if (addr == f->stop_pc)
		return true;
	return code && nt_code_insn(code, f->stop_pc, &insn) > 0 &&
	       (insn.flags & NT_INSN_TRAPS) &&
	       addr == ((f->stop_pc + insn.len) & f->mask);
}

static void start(struct nt_flow *f, struct batch *b, uint64_t addr)
{
	struct nt_event *ev = add_event(f, b, NT_EV_START);

	ev->from = ev->to = addr;
	ev->reason = f->msg.sync;
	if (joins(f, addr))
		ev->flags |= NT_EVF_JOIN;
	f->stop_valid = false;
	f->state = RUNNING;
	f->insns = 0;
	go_to(f, addr);
}

/* What every sync message does to the decoder */
static void resync(struct nt_flow *f)
{
	f->stack.depth = 0;
	f->credit = 0;
	f->last_valid = false;
	f->just_synced = true;
}

/* ---- beginning: how far to walk */

static void begin_walk(struct nt_flow *f, const struct walk *w)
{
	f->walk = *w;
	f->open = NT_BLOCK_NONE;
	f->stage = WALKING;
}

static unsigned int hist_bits(uint64_t hist)
{
	return 63 - __builtin_clzll(hist);
}

/* A message with I-CNT, maybe HIST.  0 or an enum nt_error */
static int begin_total(struct nt_flow *f)
{
	const struct nt_msg *m = &f->msg;
	struct walk w = { .left = 0 };

	if (m->icnt > ICNT_MAX)
		return NT_ERANGE;
	f->total = w.left = f->credit + (int64_t)m->icnt;
	f->credit = 0;
	if (w.left < 0)
		return NT_ENEGATIVE;
	if (m->fields & NT_F_HIST) {
		if (!m->hist)
			return NT_EHIST;
		w.hist = m->hist;
		w.nbits = hist_bits(m->hist);
		f->htm = true;
	}
	w.plain = !f->htm || m->tcode == NT_TCODE_DIRECT_BRANCH ||
		  m->tcode == NT_TCODE_DIRECT_BRANCH_SYNC;
	begin_walk(f, &w);
	return 0;
}

/* ResourceFull with outcomes; `times` in all.  0 or an enum nt_error */
static int begin_hist(struct nt_flow *f, uint64_t hist, uint64_t times)
{
	struct walk w = { .left = HIST_REACH, .by_hist = true, .hist = hist };

	f->htm = true;
	if (!hist)
		return NT_EHIST;
	if (!times || times > REPEAT_MAX)
		return NT_ERANGE;
	w.nbits = w.reload = hist_bits(hist);
	w.repeat = times - 1;
	if (w.nbits)
		begin_walk(f, &w);
	return 0;
}

static int begin_resource_full(struct nt_flow *f)
{
	const struct nt_msg *m = &f->msg;

	switch (m->rcode) {
	case 0:
		if (m->rdata[0] > ICNT_MAX || f->credit > TOTAL_MAX)
			return NT_ERANGE;
		f->credit += (int64_t)m->rdata[0];
		return 0;
	case 1:
		return begin_hist(f, m->rdata[0], 1);
	case 2:
		return begin_hist(f, m->rdata[0], m->rdata[1]);
	}
	if (!(m->fields & NT_F_RDATA0))
		return NT_ERESERVED;
	/* profiles: RCODE 8 and 9 count equal outcomes, not taken and taken */
	return begin_hist(f, m->rcode == 8 ? 2 : 3, m->rdata[0]);
}

static int begin_repeat(struct nt_flow *f)
{
	if (!f->last_valid)
		return NT_EREPEAT;
	if (f->msg.bcnt > REPEAT_MAX)
		return NT_ERANGE;
	f->repeats = f->msg.bcnt;
	return 0;
}

/* Once more the last branch message, to the same target. */
static int begin_again(struct nt_flow *f)
{
	f->repeats--;
	f->msg = f->last;
	f->msg_target = f->last_target;
	return begin_total(f);
}

/* ---- finishing: what the message says about the end of the walk */

static const uint8_t trap_types[4] = {
	NT_TYPE_NONE, NT_TYPE_TRAP, NT_TYPE_EXCEPTION, NT_TYPE_INTERRUPT,
};

static int finish_trap(struct nt_flow *f, struct batch *b, unsigned int type)
{
	uint64_t to = f->msg_target;
	int error = take_silent(f, b);

	if (error)
		return error;
	add_branch(f, b, type, f->at.pc, to, 0);
	go_to(f, to);
	return 0;
}

static int finish_indirect(struct nt_flow *f, struct batch *b)
{
	if (f->open == NT_BLOCK_NONE)
		return take_custom(f, b, f->msg_target);
	if (open_is_direct(f))
		return NT_ENOBRANCH;
	take_told(f, b, f->msg_target);
	return 0;
}

static int finish_direct(struct nt_flow *f, struct batch *b)
{
	if (f->open == NT_BLOCK_NONE || !open_is_direct(f))
		return NT_ENOBRANCH;
	take_direct(f, b);
	return 0;
}

/* Does this sync message say that something else ran, or nothing, before it? */
static bool restarts(const struct nt_msg *m)
{
	if (m->tcode != NT_TCODE_PROG_TRACE_SYNC)
		return false;
	switch (m->sync) {
	case NT_SYNC_RESET:
	case NT_SYNC_DEBUG_EXIT:
	case NT_SYNC_TRACE_ENABLE:
	case NT_SYNC_POWER_UP:
		return true;
	default:
		return false;
	}
}

/* The open block's end, or linear code, has to lead to the sync address. */
static int check_sync(struct nt_flow *f, struct batch *b, bool just_synced)
{
	uint64_t addr = f->msg_target;

	if (f->open != NT_BLOCK_NONE && !open_is_direct(f)) {
		take_told(f, b, addr);
		return 0;
	}
	if (f->open != NT_BLOCK_NONE && addr == f->code->blocks[f->open].target) {
		take_direct(f, b);
		return 0;
	}
	if (addr == f->at.pc)
		return take_silent(f, b);
	/* a trap right after a trap return: two sync messages, nothing between */
	if (just_synced && !f->total)
		return finish_trap(f, b, NT_TYPE_TRAP);
	return take_custom(f, b, addr) ? NT_EADDR : 0;
}

static int finish_sync(struct nt_flow *f, struct batch *b, bool just_synced)
{
	int error;

	if (f->msg.sync == NT_SYNC_OVERRUN)
		return NT_EOVERFLOW;
	if (restarts(&f->msg)) {
		bool exact = f->open == NT_BLOCK_NONE;

		stop(f, b, NT_EVCODE_NONE, exact);
		start(f, b, f->msg_target);
	} else {
		error = f->msg.btype ? finish_trap(f, b, trap_types[f->msg.btype]) :
			check_sync(f, b, just_synced);
		if (error)
			return error;
	}
	resync(f);
	return 0;
}

static int finish_stop(struct nt_flow *f, struct batch *b)
{
	bool exact = !take_silent(f, b);

	if (f->htm && !f->msg.cdf && f->params.profile == NT_PROFILE_1_0)
		add_notice(f, b, NT_ECDF);
	stop(f, b, f->msg.evcode, exact);
	return 0;
}

static void remember(struct nt_flow *f)
{
	f->last = f->msg;
	f->last_target = f->msg_target;
	f->last_valid = true;
}

/* The walk is done.  0 or an enum nt_error */
static int finish(struct nt_flow *f, struct batch *b)
{
	bool just_synced = f->just_synced;
	int error;

	f->stage = NEXT_MESSAGE;
	f->just_synced = false;
	if (f->walk.by_hist)
		return 0;
	if (f->walk.nbits)
		return NT_EHIST;
	if (nt_tcode_is_sync(f->msg.tcode))
		return finish_sync(f, b, just_synced);
	if (f->msg.tcode == NT_TCODE_PROG_TRACE_CORRELATION)
		return finish_stop(f, b);
	if (f->msg.tcode == NT_TCODE_DIRECT_BRANCH)
		error = finish_direct(f, b);
	else if (f->msg.btype)
		error = finish_trap(f, b, trap_types[f->msg.btype]);
	else
		error = finish_indirect(f, b);
	if (!error)
		remember(f);
	return error;
}

/* ------------------------------------------------------------------ loss - */

static bool other_source(const struct nt_flow *f, const struct nt_msg *m)
{
	return (m->fields & NT_F_SRC) && f->params.src >= 0 && m->src != f->params.src;
}

/*
 * nt_msg_decode() found no end of a message in `left` bytes: is there only
 * idle?  It looks at no more than INT32_MAX bytes at once.
 */
static bool is_idle(const struct nt_msg *m, size_t left)
{
	return m->idle == (left < INT32_MAX ? left : INT32_MAX);
}

/* Move on to the next sync message, or the end of the window. */
static void skip_to_sync(struct nt_flow *f)
{
	struct nt_msg m;

	while (f->pos < f->len) {
		int ret = nt_msg_decode(&f->params, f->buf + f->pos, f->len - f->pos, &m);

		if (!ret) {
			f->pos = is_idle(&m, f->len - f->pos) ? f->pos + m.idle : f->len;
		} else if (ret > 0 && nt_tcode_is_sync(m.tcode) && !other_source(f, &m)) {
			f->pos += m.idle;
			return;
		} else {
			f->pos += ret > 0 ? (size_t)ret : m.skip;
		}
	}
}

/*
 * The half-words of ResourceFull messages did retire, even when the message
 * that should have claimed them never comes.  Walk them as far as the way is
 * certain.
 */
static void drain(struct nt_flow *f, enum nt_error pending)
{
	struct walk w = { .left = f->credit, .plain = !f->htm };

	f->credit = 0;
	f->draining = true;
	f->pending = pending;
	begin_walk(f, &w);
}

/*
 * What the message at msg_offset says, or its bytes, cannot be followed.  Its
 * events are taken back; if it is a sync message itself, decoding goes on with
 * its address.
 */
static void lose(struct nt_flow *f, struct batch *b, enum nt_error reason)
{
	struct nt_event *ev;
	bool here;

	if (f->state == RUNNING && f->stage == NEXT_MESSAGE && f->credit > 0) {
		drain(f, reason);
		return;
	}
	b->n = b->mark;
	ev = add_event(f, b, NT_EV_LOSS);
	ev->reason = reason;
	if (reason == NT_EUNMAPPED)
		ev->to = f->at.pc;
	if (f->state == RUNNING) {
		ev->from = b->mark_pc;
		ev->insns = b->mark_insns;
		ev->flags |= NT_EVF_PC;
	}
	f->insns = 0;
	f->state = UNSYNCED;
	f->stage = NEXT_MESSAGE;
	f->repeats = 0;
	f->stop_valid = false;

	here = f->msg.fields && nt_tcode_is_sync(f->msg.tcode);
	if (here) {
		start(f, b, f->msg_target);
		resync(f);
		return;
	}
	skip_to_sync(f);
	ev->skipped = f->offset + f->pos - f->msg_offset;
	f->time_valid = false;
}

/* -------------------------------------------------------------- messages - */

static void context(struct nt_flow *f, struct batch *b)
{
	uint64_t process = f->msg.process;
	struct nt_event *ev;

	if ((process & 3) == 1) {
		add_notice(f, b, NT_ERESERVED);
		return;
	}
	ev = add_event(f, b, NT_EV_CONTEXT);
	ev->reason = process & 3;
	ev->priv = process >> 2 & 3;
	ev->flags |= process & 0x10 ? NT_EVF_VIRT : 0;
	ev->context = process & 2 ? process >> 5 : 0;
	ev->from = ev->to = f->at.pc;
	b->end = true;
}

/* Messages while nothing is being followed.  0 or an enum nt_error */
static int on_stopped(struct nt_flow *f, struct batch *b)
{
	if (nt_tcode_is_sync(f->msg.tcode)) {
		start(f, b, f->msg_target);
		resync(f);
		return 0;
	}
	switch (f->msg.tcode) {
	case NT_TCODE_PROG_TRACE_CORRELATION:
		return 0;	/* already stopped, or never started */
	case NT_TCODE_OWNERSHIP:
		if (f->state == UNSYNCED)
			return NT_ENOSYNC;
		context(f, b);
		return 0;
	default:
		return NT_ENOSYNC;
	}
}

static int on_running(struct nt_flow *f, struct batch *b)
{
	switch (f->msg.tcode) {
	case NT_TCODE_OWNERSHIP:
		context(f, b);
		return 0;
	case NT_TCODE_RESOURCE_FULL:
		return begin_resource_full(f);
	case NT_TCODE_REPEAT_BRANCH:
		return begin_repeat(f);
	case NT_TCODE_PROG_TRACE_CORRELATION:
		if (!(f->msg.fields & NT_F_ICNT))
			return NT_ERESERVED;
		return begin_total(f);
	default:
		return begin_total(f);
	}
}

static int on_message(struct nt_flow *f, struct batch *b)
{
	const struct nt_msg *m = &f->msg;

	if (m->tcode == NT_TCODE_ERROR)
		return NT_EOVERFLOW;
	return f->state == RUNNING ? on_running(f, b) : on_stopped(f, b);
}

static void take_address(struct nt_flow *f)
{
	uint64_t addr = f->msg.addr << 1;

	if (!(f->msg.fields & NT_F_ADDR))
		return;
	if (f->msg.fields & NT_F_UADDR)
		addr ^= f->ref;
	f->msg_target = f->ref = addr & f->mask;
}

/* False when the message is beyond the limit; then nothing has changed. */
static bool take_time(struct nt_flow *f)
{
	const struct nt_msg *m = &f->msg;
	uint64_t time = m->tstamp;

	if (!(m->fields & NT_F_TSTAMP))
		return !f->time_valid || f->time <= f->limit;
	if (!nt_tcode_is_sync(m->tcode)) {
		if (!f->time_valid)
			return true;
		if (f->params.profile == NT_PROFILE_1_0)
			time += f->time;
		else
			time ^= f->time;
	}
	if (time > f->limit)
		return false;
	f->time = time;
	f->time_valid = true;
	return true;
}

/* The rest of the window is no whole message. */
static bool end_of_window(struct nt_flow *f, struct batch *b)
{
	size_t left = f->len - f->pos;

	f->msg_offset = f->offset + f->pos + f->msg.idle;
	f->msg.fields = 0;
	mark(f, b);
	if (!is_idle(&f->msg, left)) {
		lose(f, b, NT_ECUT);
		return true;
	}
	f->pos += f->msg.idle;
	if (f->pos < f->len)
		return true;
	if (f->state != RUNNING)
		return false;
	if (f->credit > 0)
		drain(f, NT_OK);
	else
		stop(f, b, NT_EVCODE_NONE, false);
	return true;
}

/* Decode the next message and begin it.  False: window consumed, or limit. */
static bool next_message(struct nt_flow *f, struct batch *b)
{
	int error, ret;

	ret = nt_msg_decode(&f->params, f->buf + f->pos, f->len - f->pos, &f->msg);
	if (!ret)
		return end_of_window(f, b);
	f->msg_offset = f->offset + f->pos + f->msg.idle;
	mark(f, b);
	if (ret < 0) {
		f->pos += f->msg.skip;
		f->msg.fields = 0;
		lose(f, b, (enum nt_error)-ret);
		return true;
	}
	if (other_source(f, &f->msg)) {
		f->pos += ret;
		return true;
	}
	if (!take_time(f)) {
		f->at_limit = true;
		return false;
	}
	f->pos += ret;
	take_address(f);
	if (!nt_tcode_is_known(f->msg.tcode)) {
		add_notice(f, b, f->msg.tcode >= NT_TCODE_VENDOR_FIRST &&
			   f->msg.tcode <= NT_TCODE_VENDOR_LAST ? NT_EVENDOR : NT_ETCODE);
		return true;
	}
	error = on_message(f, b);
	if (error)
		lose(f, b, (enum nt_error)error);
	return true;
}

static void finish_drain(struct nt_flow *f, struct batch *b)
{
	f->draining = false;
	f->stage = NEXT_MESSAGE;
	mark(f, b);
	if (f->pending)
		lose(f, b, f->pending);
	else
		stop(f, b, NT_EVCODE_NONE, false);
}

/* Go on with f->walk.  0, or negative when decoding cannot go on at all */
static int go_on(struct nt_flow *f, struct batch *b)
{
	int ret = WALK_DONE;

	if (f->walk.left)
		ret = walk(f, b);
	if (ret == WALK_FULL) {
		b->end = true;
		return 0;
	}
	if (ret == -NT_ENOMEM)
		return ret;
	if (f->draining) {
		finish_drain(f, b);
		return 0;
	}
	if (ret == WALK_DONE)
		ret = -finish(f, b);
	if (ret)
		lose(f, b, (enum nt_error)-ret);
	return 0;
}

static void check_blocks(struct nt_flow *f)
{
	if (f->code && f->code->generation != f->generation) {
		f->generation = f->code->generation;
		forget_blocks(f);
	}
}

/* ------------------------------------------------------------- interface - */

int nt_flow_next(struct nt_flow *f, struct nt_event *ev, unsigned int max)
{
	struct batch b = { .ev = ev, .max = max };
	int ret;

	if (!ev || max < 2 * ROOM)
		return -NT_EINVAL;
	check_blocks(f);
	f->at_limit = false;
	mark(f, &b);
	while (!b.end && b.n + ROOM <= max) {
		if (f->stage == WALKING) {
			ret = go_on(f, &b);
			if (ret)
				return ret;
		} else if (f->repeats) {
			mark(f, &b);
			ret = begin_again(f);
			if (ret)
				lose(f, &b, (enum nt_error)ret);
		} else if (!next_message(f, &b)) {
			break;
		}
	}
	return (int)b.n;
}

bool nt_flow_at_limit(const struct nt_flow *f)
{
	return f->at_limit;
}

size_t nt_flow_consumed(const struct nt_flow *f)
{
	return f->pos;
}

void nt_flow_limit(struct nt_flow *f, uint64_t ticks)
{
	f->limit = ticks;
}

void nt_flow_set_code(struct nt_flow *f, struct nt_code *low, struct nt_code *high)
{
	f->low = low;
	f->high = high;
	f->code = NULL;
	forget_blocks(f);
}

void nt_flow_window(struct nt_flow *f, const uint8_t *buf, size_t len, uint64_t offset)
{
	f->buf = buf;
	f->len = len;
	f->pos = 0;
	f->offset = offset;
	f->state = UNSYNCED;
	f->stage = NEXT_MESSAGE;
	f->time_valid = false;
	f->repeats = 0;
	f->draining = false;
	f->insns = 0;
	f->at_limit = false;
	resync(f);
	f->just_synced = false;
}

void nt_flow_skip_partial(struct nt_flow *f)
{
	while (f->pos < f->len && (f->buf[f->pos] & 3) != 3)
		f->pos++;
	if (f->pos < f->len)
		f->pos++;
}

struct nt_flow *nt_flow_new(const struct nt_params *params)
{
	struct nt_flow *f;
	unsigned int size = STACK_1_0;

	if (nt_params_check(params))
		return NULL;
	f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	nt_params_get(params, &f->params);
	if (f->params.profile != NT_PROFILE_1_0) {
		size = STACK_COUNTER;
		if (!f->params.retstack)
			f->params.retstack = 1;
	}
	f->stack.calls = calloc(size, sizeof(*f->stack.calls));
	if (!f->stack.calls) {
		nt_flow_free(f);
		return NULL;
	}
	f->stack.wrap = size - 1;
	f->mask = f->params.xlen == 32 ? UINT32_MAX : UINT64_MAX;
	f->limit = UINT64_MAX;
	forget_blocks(f);
	return f;
}

void nt_flow_free(struct nt_flow *f)
{
	if (!f)
		return;
	free(f->stack.calls);
	free(f);
}
