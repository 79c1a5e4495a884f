// SPDX-License-Identifier: GPL-2.0-only
/*
 * Instructions that retire -> blocks of linear code at the ports of an encoder that is RTL, as the
 * trace ingress port of a hart has them.
 *
 * A block ends at a branch, a jump or a trap, and when it is full.  Two go into one cycle, traps
 * and their returns alone.  A jump is not followed by another block in its cycle: two that make a
 * message each lose repeats.  A hart that had a message made of what retired lets some cycles
 * pass, as one does that retires fewer instructions than this, or the encoder has no room for it.
 */

#include <string.h>

#include "model.h"

#define PRIV_IDLE	3		/* around a change of privilege, sampled at another stage */
#define SETTLE_IDLE	16		/* until all that retired is in messages */
#define DEBUG_IDLE	20
#define MAX_WAIT	100000		/* cycles of backpressure */

/* Registers that this encoder alone has */
#define RTL_FILTER_CONTROL	0x010
#define RTL_FILTER_INST		0x014

struct feed {
	struct rtl_block open;		/* it grows; no half-words: there is none */
	struct nt_enc_op last;		/* its last instruction */
	struct rtl_block held;		/* the first of a cycle */
	unsigned int priv;
	uint64_t time;
	bool fed;			/* something since tracing began */
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

/* Where execution went on tells what the last instruction did */
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

/* A block of code begins.  In the middle of one, at an access of a register, time cannot be read. */
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
 * The instruction at pc did not retire; h->priv is the handler's.  Nobody hears of a trap that
 * comes before the first instruction.
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

/* Into debug mode, and on when the next instruction retires */
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

/* The value that scontext has from now on */
void feed_context(struct hart *h)
{
	if (h->feed->tracing)
		flush(h, h->next_pc);
}

/* All that retired is where it belongs: a register is accessed now */
void feed_settle(struct hart *h)
{
	if (!h->feed->tracing)
		return;
	flush(h, h->next_pc);
	idle(h, SETTLE_IDLE);
}

/*
 * Its filter, as one of the model: what the truth takes for traced.  It compares with a privilege,
 * where the model's have a mask of them.
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

/* Control may have changed: does tracing begin or end? */
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
