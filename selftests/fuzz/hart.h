/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A hart that executes a program as the input says, and the encoder that watches it: traces that
 * are right, with what they have to be decoded to.
 */
#ifndef SELFTESTS_FUZZ_HART_H
#define SELFTESTS_FUZZ_HART_H

#include "program.h"

#define STEPS_MAX	300
#define TRACE_MAX	(STEPS_MAX * 4 * NT_ENC_MSG_MAX)
#define NOWHERE		UINT32_MAX

/* What happened: an instruction retired (type NONE; `to` is behind it), or a transfer */
struct fuzz_item {
	uint64_t from, to;
	uint8_t type;
};

struct fuzz_hart {
	struct fuzz_program prog;
	struct nt_enc_config cfg;
	struct nt_params params;
	struct nt_enc *enc;
	struct input *in;
	unsigned int at, before;	/* slot to be executed; the one that retired last */
	unsigned int trap_in;		/* instructions; 0 no trap */
	unsigned int nr_calls, refuse;
	uint64_t now;
	bool open, lossy;
	uint8_t calls[256];		/* slots; wraps around: more than an encoder remembers */
	unsigned int nr_items;
	struct fuzz_item items[2 * STEPS_MAX + 2];
	size_t len;
	uint8_t trace[TRACE_MAX];
};

static inline bool fuzz_emit(void *ctx, const uint8_t *msg, unsigned int len)
{
	struct fuzz_hart *h = ctx;

	if (h->refuse) {
		h->refuse--;
		h->lossy = true;
		return false;
	}
	if (!msg)
		return true;
	MUST(len <= sizeof(h->trace) - h->len);
	memcpy(h->trace + h->len, msg, len);
	h->len += len;
	return true;
}

static inline uint64_t fuzz_now(void *ctx)
{
	return ((struct fuzz_hart *)ctx)->now;
}

/* The encoder's options, of eight bytes */
static inline void fuzz_take_config(struct fuzz_hart *h, struct input *in)
{
	struct nt_enc_config *c = &h->cfg;
	struct nt_params *p = &h->params;
	unsigned int d;

	memset(c, 0, sizeof(*c));
	c->size = sizeof(*c);
	take_params(in, p);
	if (p->profile == NT_PROFILE_SIFIVE)
		p->profile = NT_PROFILE_1_0;
	if (p->src < 0)
		p->src = 0;
	d = take(in);
	c->htm = d & 1;
	/* What is left out at the end of P550's trace does not tell the mode. */
	if (p->mode || p->profile == NT_PROFILE_P550)
		p->mode = c->htm ? NT_MODE_HTM : NT_MODE_BTM;
	c->context = d & 2;
	c->btype_1 = d & 4;
	c->repeathist = d & 8;
	c->repeatbranch = (d & 16) && !c->htm;
	if (p->profile == NT_PROFILE_P550) {
		p->retstack = 1;
		c->repeathist = false;
	}
	if (p->profile == NT_PROFILE_TT_DFD) {
		c->htm = true;
		p->mode = NT_MODE_HTM;
		c->repeathist = false;
		c->repeatbranch = d & 16;
	}
	d = take(in);
	c->icnt_bits = d & 1 ? 4 + (d >> 1) % 19 : 0;
	d = take(in);
	c->hist_bits = d & 1 ? 2 + (d >> 1) % 31 : 0;
	d = take(in);
	c->syncmode = d & 3;
	c->syncmax = d >> 2 & 7;
	c->emit = fuzz_emit;
	c->time = fuzz_now;
	c->ctx = h;
}

static inline void fuzz_happened(struct fuzz_hart *h, uint64_t from, uint64_t to, unsigned int type)
{
	if (h->open)
		h->items[h->nr_items++] = (struct fuzz_item){ from, to, type };
}

static inline uint64_t fuzz_hart_pc(const struct fuzz_hart *h)
{
	return fuzz_pc(&h->prog, h->at);
}

static inline void fuzz_trap(struct fuzz_hart *h, bool interrupt)
{
	uint64_t from = fuzz_hart_pc(h);
	unsigned int type = interrupt ? NT_TYPE_INTERRUPT : NT_TYPE_EXCEPTION;

	nt_enc_trap(h->enc, from, interrupt);
	h->before = NOWHERE;
	h->at = take(h->in) % h->prog.nr;
	fuzz_happened(h, from, fuzz_hart_pc(h), h->cfg.btype_1 ? NT_TYPE_TRAP : type);
}

/* What happens beside execution */
static inline void fuzz_beside(struct fuzz_hart *h, unsigned int d)
{
	static const uint8_t why[] = { NT_SYNC_RESET, NT_SYNC_DEBUG_EXIT, NT_SYNC_TRACE_ENABLE,
				       NT_SYNC_POWER_UP };

	switch (d & 7) {
	case 0:
		h->trap_in = 1 + take(h->in) % 16;
		break;
	case 1:
		nt_enc_stop(h->enc, d & 8 ? NT_EVCODE_DISABLE : NT_EVCODE_DEBUG, fuzz_hart_pc(h));
		h->open = false;
		break;
	case 2:
	case 3:
		if (!h->open)
			nt_enc_start(h->enc, why[d >> 3 & 3]);
		h->open = true;
		break;
	case 4:
		nt_enc_event_sync(h->enc, d & 8 ? NT_SYNC_TRACE_EVENT : NT_SYNC_TRIGGER);
		break;
	case 5:
		nt_enc_context(h->enc, d & 8 ? 2 : 0, d >> 4 & 1, false, take(h->in) << (d & 16));
		break;
	case 6:
		h->now += (uint64_t)take(h->in) << (d & 0x18);
		break;
	case 7:
		h->refuse = d >> 3 & 3;
		break;
	}
}

static inline unsigned int fuzz_return(struct fuzz_hart *h, unsigned int d)
{
	/* the counter of mode 1 takes every return for a true one */
	bool stray = h->params.retstack != 1 && d & 0x40;

	if (!h->nr_calls || stray)
		return take(h->in) % h->prog.nr;
	h->nr_calls--;
	return h->calls[h->nr_calls % 256];
}

static inline unsigned int fuzz_indirect(struct fuzz_hart *h, const struct fuzz_slot *s,
					 unsigned int d)
{
	unsigned int to;

	if (s->type == NT_TYPE_RET || s->type == NT_TYPE_SWAP)
		to = fuzz_return(h, d);
	else if (s->shape == FZ_LOW && h->before == h->at - 1)
		to = s->target;
	else
		to = take(h->in) % h->prog.nr;
	if (s->type == NT_TYPE_ICALL || s->type == NT_TYPE_SWAP)
		h->calls[h->nr_calls++ % 256] = h->at + 1;
	return to;
}

/* Where the instruction leads; NOWHERE: it is no transfer, or a branch not taken */
static inline unsigned int fuzz_transfer(struct fuzz_hart *h, const struct fuzz_slot *s,
					 unsigned int d)
{
	switch (s->shape) {
	case FZ_B:
	case FZ_CB:
		return d & 1 ? s->target : NOWHERE;
	case FZ_JAL:
	case FZ_CJ:
	case FZ_CJAL:
		if (s->type == NT_TYPE_CALL)
			h->calls[h->nr_calls++ % 256] = h->at + 1;
		return s->target;
	case FZ_INDIRECT:
	case FZ_LOW:
		return fuzz_indirect(h, s, d);
	}
	return NOWHERE;
}

static inline void fuzz_step(struct fuzz_hart *h)
{
	const struct fuzz_slot *s = &h->prog.slots[h->at];
	uint64_t pc = fuzz_hart_pc(h);
	unsigned int d = 0, to;

	if (h->trap_in && !--h->trap_in) {
		fuzz_trap(h, true);
		return;
	}
	if (s->shape != FZ_PLAIN && s->shape != FZ_PAIR) {
		d = take(h->in);
		if (d >= 0xc0)
			fuzz_beside(h, d);
	}
	if (s->shape == FZ_TRAPS) {
		fuzz_trap(h, false);
		return;
	}
	h->now++;
	nt_enc_retire(h->enc, pc, s->raw, s->len);
	fuzz_happened(h, pc, (pc + s->len) & h->prog.mask, NT_TYPE_NONE);
	to = fuzz_transfer(h, s, d);
	h->before = h->at;
	h->at = to == NOWHERE ? h->at + 1 : to;
	if (to != NOWHERE)
		fuzz_happened(h, pc, fuzz_hart_pc(h), s->type);
}

/* Options, a program and its execution, to the input's end and a little further */
static inline void fuzz_execute(struct fuzz_hart *h, struct input *in)
{
	unsigned int step;

	fuzz_take_config(h, in);
	fuzz_program_make(&h->prog, in, &h->params, true);
	h->in = in;
	h->at = 0;
	h->before = NOWHERE;
	h->trap_in = h->nr_calls = h->refuse = h->nr_items = 0;
	h->now = h->len = 0;
	h->lossy = false;
	h->open = true;
	h->enc = nt_enc_new(&h->params, &h->cfg);
	MUST(h->enc);
	nt_enc_start(h->enc, NT_SYNC_TRACE_ENABLE);
	for (step = 0; step < STEPS_MAX && (step < 16 || in->p < in->end); step++)
		fuzz_step(h);
	nt_enc_stop(h->enc, NT_EVCODE_DISABLE, fuzz_hart_pc(h));
	nt_enc_flush(h->enc);
	nt_enc_free(h->enc);
}

#endif /* SELFTESTS_FUZZ_HART_H */
