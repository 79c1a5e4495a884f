// SPDX-License-Identifier: GPL-2.0-only
/*
 * From retired instructions to blocks of linear code at the trace ingress port of an RTL encoder.
 *
 * A block ends at a branch, a jump or a trap, and when it is full.  Two blocks fit into a cycle;
 * traps and their returns have a cycle of their own.  A jump is the last block of its cycle: if two
 * blocks of a cycle made a message each, repeats would be lost.  After a block that makes a message
 * the hart idles for some cycles, as a hart that retires fewer instructions would. Otherwise the
 * encoder would run out of room.
 */

#include <string.h>

#include "model.h"

#define PRIV_IDLE	3		/* around a change of privilege: another stage samples it */
#define SETTLE_IDLE	16		/* until all retired instructions are in messages */
#define DEBUG_IDLE	20
#define MAX_WAIT	100000		/* cycles of backpressure */

/* Registers that only this encoder has */
#define RTL_FILTER_CONTROL	0x010
#define RTL_FILTER_INST		0x014

struct feed {
	struct rtl_block open;		/* current block; halfwords is 0: there is none */
	struct nt_enc_op last;		/* last instruction of open */
	struct rtl_block held;		/* first block of a cycle */
	unsigned int priv;
	uint64_t time;
	bool fed;			/* an instruction retired since tracing began */
	bool tracing;
};

static void idle(struct hart *h, unsigned int n)
{
	struct rtl_ports p = {
		.time = h->feed->time,
		.context = h->scontext,
		.priv = h->feed->priv,
	};

	while (n--)
		rtl_cycle(&p);
}

static bool makes_message(uint8_t itype)
{
	return itype == RTL_INDIRECT || (itype >= RTL_EXCEPTION && itype <= RTL_XRET);
}

static void tick(struct hart *h, const struct rtl_block *a, const struct rtl_block *b,
		 uint64_t tval)
{
	struct rtl_ports p = {
		.time = h->feed->time,
		.context = h->scontext,
		.priv = h->feed->priv,
		.tval = tval,
		.block = { *a },
	};
	unsigned int n = 0;

	if (b)
		p.block[1] = *b;
	while (rtl_waits() && n++ < MAX_WAIT)
		idle(h, 1);
	rtl_cycle(&p);
	if (makes_message(a->itype) || (b && makes_message(b->itype)))
		idle(h, opt.rtl_gap);
}

static void release(struct hart *h)
{
	struct feed *f = h->feed;

	if (f->held.halfwords)
		tick(h, &f->held, NULL, 0);
	f->held.halfwords = 0;
}

static void end_block(struct hart *h, uint8_t itype)
{
	struct feed *f = h->feed;
	struct rtl_block b = f->open;

	b.itype = itype;
	f->open.halfwords = 0;
	if (itype == RTL_XRET || (itype == RTL_INDIRECT && !f->held.halfwords)) {
		release(h);
		tick(h, &b, NULL, 0);
	} else if (f->held.halfwords) {
		tick(h, &f->held, &b, 0);
		f->held.halfwords = 0;
	} else {
		f->held = b;
		if (!opt.rtl_pairs)
			release(h);
	}
}

static uint8_t itype_of(const struct nt_enc_op *op, uint64_t next)
{
	switch (op->type) {
	case NT_TYPE_COND:
		return next == op->pc + op->len ? RTL_NOT_TAKEN : RTL_TAKEN;
	case NT_TYPE_JUMP:
	case NT_TYPE_CALL:
	case NT_TYPE_JUMP_LINK:
		return RTL_DIRECT;
	case NT_TYPE_IJUMP:
	case NT_TYPE_ICALL:
	case NT_TYPE_RET:
	case NT_TYPE_SWAP:
	case NT_TYPE_IJUMP_LINK:
		return RTL_INDIRECT;
	case NT_TYPE_ERET:
		return RTL_XRET;
	default:
		return RTL_LINEAR;
	}
}

/* The next pc tells whether the last instruction ended the block. */
static void resolve(struct hart *h, uint64_t next)
{
	struct feed *f = h->feed;
	uint8_t itype;

	if (!f->open.halfwords)
		return;
	itype = itype_of(&f->last, next);
	if (itype != RTL_LINEAR)
		end_block(h, itype);
}

static void flush(struct hart *h, uint64_t next)
{
	resolve(h, next);
	if (h->feed->open.halfwords)
		end_block(h, RTL_LINEAR);
	release(h);
}

static void set_priv(struct hart *h, unsigned int priv)
{
	struct feed *f = h->feed;

	if (f->priv == priv)
		return;
	idle(h, PRIV_IDLE);
	f->priv = priv;
	idle(h, PRIV_IDLE);
}

/* Called at the beginning of a block: time cannot be read at a register access within a block. */
void feed_time(struct hart *h)
{
	h->feed->time = guest_time(h);
}

bool feed_insn(struct hart *h, const struct nt_enc_op *op)
{
	struct feed *f = h->feed;

	if (!f->tracing)
		return false;
	if (f->priv != h->priv) {
		flush(h, op->pc);
		set_priv(h, h->priv);
	}
	resolve(h, op->pc);
	if (f->open.halfwords + op->len / 2 > RTL_BLOCK_MAX)
		end_block(h, RTL_LINEAR);
	if (!f->open.halfwords)
		f->open.address = op->pc;
	f->open.halfwords += op->len / 2;
	f->last = *op;
	f->fed = true;
	return true;
}

/*
 * The instruction at pc did not retire; h->priv is the handler's.  A trap before the first
 * instruction is not reported.
 */
void feed_trap(struct hart *h, uint64_t pc, bool interrupt)
{
	struct rtl_block b = { .address = pc, .itype = interrupt ? RTL_INTERRUPT : RTL_EXCEPTION };

	if (!h->feed->tracing || !h->feed->fed)
		return;
	feed_time(h);
	flush(h, pc);
	tick(h, &b, NULL, guest_reg(h, h->priv == PRIV_M ? REG_MTVAL : REG_STVAL));
	set_priv(h, h->priv);
}

/* The hart enters debug mode, and leaves it when the next instruction retires. */
void feed_debug(struct hart *h)
{
	if (!h->feed->tracing)
		return;
	flush(h, h->next_pc);
	idle(h, DEBUG_IDLE);
	h->feed->priv = RTL_PRIV_DEBUG;
	idle(h, DEBUG_IDLE);
	h->feed->fed = false;
}

/* scontext changes: feed all instructions before the change */
void feed_context(struct hart *h)
{
	if (h->feed->tracing)
		flush(h, h->next_pc);
}

/* Feed all retired instructions before a register access */
void feed_settle(struct hart *h)
{
	if (!h->feed->tracing)
		return;
	flush(h, h->next_pc);
	idle(h, SETTLE_IDLE);
}

/*
 * Convert the filter of the RTL to one of the model, for the truth.  The RTL compares with one
 * privilege, the model with a mask.
 */
static void mirror_filter(struct hart *h)
{
	struct filters *f = &h->te.filter;
	uint32_t selected, control, priv;

	if (!rtl_read(h->comp, TE_INST_FILTERS, &selected) ||
	    !rtl_read(h->comp, RTL_FILTER_CONTROL, &control) ||
	    !rtl_read(h->comp, RTL_FILTER_INST, &priv))
		die("rtl: no filter");
	filters_select(f, selected & 1);
	filters_write(f, TE_FILTER(0), control & (TE_FILTER_ENABLE | TE_FILTER_MATCH_PRIV));
	filters_write(f, TE_FILTER_INST(0), 1u << (priv & 7));
}

/* Control may have changed: check whether tracing begins or ends */
void feed_control(struct hart *h)
{
	struct feed *f = h->feed;
	bool before = f->tracing;
	uint32_t control;

	if (!rtl_read(h->comp, TE_CONTROL, &control))
		die("rtl: no trTeControl");
	te_mirror(&h->te, control);
	f->tracing = te_tracing(&h->te);
	if (f->tracing && !before) {
		f->fed = false;
		mirror_filter(h);
		loss_begin(h);
		h->priv_stale = true;
		h->cur = NULL;
	} else if (!f->tracing && before) {
		f->open.halfwords = f->held.halfwords = 0;
		truth_gate(h);
	}
	truth_regs(h, 0);
	retire_rewatch(h);
}

void feed_init_hart(struct hart *h)
{
	h->feed = g_new0(struct feed, 1);
	h->feed->priv = PRIV_M;
}
