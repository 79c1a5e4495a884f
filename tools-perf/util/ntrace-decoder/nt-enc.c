// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Retired instructions -> N-Trace messages: see nt-enc.h */

#include <stdlib.h>
#include <string.h>

#include "nt-int.h"

#define STACK_DEPTH	32
#define COUNTER_DEPTH	1023	/* P550 only counts calls */
/* FORMAT of Ownership messages, and bits for those that are due */
#define FORMAT_PRIV	0
#define FORMAT_SCONTEXT	2
#define FORMAT_HCONTEXT	3
#define DUE(format)	(1u << (format))

#define REPEAT_FULL	0x3ffff	/* HREPEAT and B-CNT have 18 bits */
#define REPEAT_FULL_TT	15	/* tt-dfd: 4 */

#define STRAY		0x03	/* tt-dfd: after ResourceFull and Ownership */

/* A message that may repeat, and the number of unsent copies */
struct repeat {
	struct nt_msg msg;
	uint64_t target;		/* of a branch message */
	uint32_t due;
};

struct nt_enc {
	struct nt_enc_config cfg;
	struct nt_params params;
	uint64_t mask;			/* of addresses */
	bool tt_dfd, p550;		/* the profile */
	unsigned int depth_max;
	uint32_t icnt_full;		/* I-CNT is reported when it reaches this value */
	uint64_t hist_full;		/* bit of HIST that means full */
	uint64_t period;		/* of sync messages; 0: none */

	/* what the next message reports */
	uint32_t icnt;
	uint64_t hist;
	uint64_t ref;			/* last address sent */
	uint64_t time;			/* last time sent */
	uint64_t since_sync;		/* units of the period */

	struct nt_enc_op last;		/* retired; its target is not yet known */
	uint8_t trap;			/* enum nt_type of a trap in progress */
	uint8_t sync;			/* SYNC value of a sync message that is due ... */
	bool sync_due;			/* ... */
	bool starting;			/* the next instruction is the stretch's first */
	bool open;			/* inside a stretch */
	bool lost, restart;
	/* tt-dfd: Ownership after ProgTraceSync forms one message with it, without TSTAMP */
	bool joined;			/* the next message will be joined */
	bool bare;			/* this message is joined */
	bool attention;			/* the next instruction must be examined */

	uint8_t upper;			/* rd of the LUI or AUIPC that retired just before */
	uint8_t owner;			/* Ownership messages that are due */
	uint8_t prv;
	bool v;
	uint64_t scontext, hcontext;

	uint64_t stack[STACK_DEPTH];
	unsigned int top, depth;

	struct repeat full;		/* ResourceFull with HIST; due: all copies */
	struct repeat branch;		/* last one sent, if .msg.tcode; due: further copies */

	struct nt_branch branches[];	/* of params */
};

/*
 * Messages: fixed fields, then variable ones
 */

struct writer {
	uint8_t buf[NT_ENC_MSG_MAX];
	unsigned int len;		/* whole bytes */
	unsigned int acc, bits;		/* of the byte under construction */
};

#define MSEO_FIELD	1
#define MSEO_MESSAGE	3

static void put_fixed(struct writer *w, unsigned int value, unsigned int bits)
{
	w->acc |= value << w->bits;
	for (w->bits += bits; w->bits >= 6; w->bits -= 6) {
		w->buf[w->len++] = (w->acc & 0x3f) << 2;
		w->acc >>= 6;
	}
}

/* The rest of the byte under construction contains the field's first bits */
static void put_var(struct writer *w, uint64_t value)
{
	w->buf[w->len++] = ((w->acc | value << w->bits) & 0x3f) << 2;
	for (value >>= 6 - w->bits; value; value >>= 6)
		w->buf[w->len++] = (value & 0x3f) << 2;
	w->acc = 0;
	w->bits = 0;
	w->buf[w->len - 1] |= MSEO_FIELD;
}

/* tt-dfd: a field of 0 has no bits if it would begin a byte */
static void put_first(struct writer *w, const struct nt_params *params, uint64_t value)
{
	if (nt_is_tt_dfd(params) && !value && !w->bits)
		w->buf[w->len - 1] |= MSEO_FIELD;
	else
		put_var(w, value);
}

/* Number of bytes until the topmost sent bit equals all bits not sent */
static unsigned int extended_length(int64_t field)
{
	unsigned int n;

	for (n = 1; n < 11; n++)
		if (field >> (6 * n - 1) == 0 || field >> (6 * n - 1) == -1)
			break;
	return n;
}

/* An address field, which begins at a byte and lacks bit 0 of the address */
static void put_addr(struct writer *w, const struct nt_params *params, uint64_t field)
{
	unsigned int n, unused = 64 - nt_addr_bits(params);

	if (!params->extaddr) {
		put_var(w, field & UINT64_MAX >> unused);
		return;
	}
	n = extended_length((int64_t)(field << unused) >> unused);
	if (n < 11)
		field = (int64_t)(field << unused) >> unused;
	for (; n; n--, field >>= 6)
		w->buf[w->len++] = (field & 0x3f) << 2;
	w->buf[w->len - 1] |= MSEO_FIELD;
}

static void put_fields(struct writer *w, const struct nt_params *params, const struct nt_msg *m)
{
	put_fixed(w, m->tcode, 6);
	put_fixed(w, m->src, nt_srcbits(params));
	if (m->fields & NT_F_SYNC)
		put_fixed(w, m->sync, 4);
	if (m->fields & NT_F_BTYPE)
		put_fixed(w, m->btype, 2);
	if (m->fields & NT_F_ETYPE)
		put_fixed(w, m->etype, 4);
	if (m->fields & NT_F_RCODE)
		put_fixed(w, m->rcode, 4);
	if (m->fields & NT_F_EVCODE)
		put_fixed(w, m->evcode, 4);
	if (m->fields & NT_F_CDF)
		put_fixed(w, m->cdf, 2);
	if (m->fields & (NT_F_PROCESS | NT_F_ECODE | NT_F_BCNT | NT_F_RDATA0))
		put_var(w, m->rdata[0]);
	if (m->fields & NT_F_RDATA1)
		put_var(w, m->rdata[1]);
	if (m->fields & NT_F_ICNT)
		put_first(w, params, m->icnt);
	if (m->fields & NT_F_ADDR)
		put_addr(w, params, m->addr);
	if (m->fields & NT_F_HIST)
		put_var(w, m->hist);
	if (m->fields & NT_F_TSTAMP)
		put_var(w, m->tstamp);
	w->buf[w->len - 1] |= MSEO_MESSAGE;
}

unsigned int nt_enc_msg(const struct nt_params *params, const struct nt_msg *msg, uint8_t *buf)
{
	struct writer w = { .len = 0 };
	struct nt_params all;

	put_fields(&w, nt_params_use(params, &all), msg);
	memcpy(buf, w.buf, w.len);
	return w.len;
}

/*
 * Sending
 */

static void stamp(struct nt_enc *enc, struct nt_msg *m)
{
	const unsigned int bits = nt_tstamp_bits(&enc->params);
	uint64_t now;

	if (!enc->params.timestamps || enc->bare)
		return;
	now = enc->cfg.time(enc->cfg.ctx);
	if (m->fields & NT_F_SYNC || enc->tt_dfd)
		m->tstamp = now;
	else
		m->tstamp = enc->p550 ? now ^ enc->time : now - enc->time;
	m->tstamp &= UINT64_MAX >> (64 - bits);
	m->fields |= NT_F_TSTAMP;
	enc->time = now;
}

#define TCODES_STRAY	(NT_TCODE_BIT(RESOURCE_FULL) | NT_TCODE_BIT(OWNERSHIP))

static void transmit(struct nt_enc *enc, struct nt_msg *m)
{
	struct writer w = { .len = 0 };
	uint64_t time = enc->time;

	m->fields |= NT_F_SRC;
	m->src = enc->params.src;
	if (!enc->lost)
		stamp(enc, m);
	put_fields(&w, &enc->params, m);
	if (enc->tt_dfd && !enc->bare && TCODES_STRAY >> m->tcode & 1)
		w.buf[w.len++] = STRAY;
	if (enc->lost)
		enc->restart |= enc->cfg.emit(enc->cfg.ctx, NULL, w.len);
	else if (!enc->cfg.emit(enc->cfg.ctx, w.buf, w.len)) {
		enc->lost = true;
		enc->time = time;	/* the next time is relative to the last one sent */
	}
	if (enc->cfg.syncmode == 1)
		enc->since_sync++;
}

/* The number of outcomes in a full history */
static unsigned int full_bits(const struct nt_enc *enc)
{
	return __builtin_ctzll(enc->hist_full);
}

/* Send messages that were held back because they might repeat. */
static void release(struct nt_enc *enc)
{
	struct nt_msg again = { .tcode = NT_TCODE_REPEAT_BRANCH, .fields = NT_F_BCNT };

	if (enc->p550 && enc->full.due) {
		/* count of taken or not-taken outcomes */
		enc->full.msg.rcode = enc->full.msg.rdata[0] == enc->hist_full ? 8 : 9;
		enc->full.msg.rdata[0] = (uint64_t)enc->full.due * full_bits(enc);
	} else if (enc->full.due > 1) {
		enc->full.msg.rcode = 2;
		enc->full.msg.fields |= NT_F_RDATA1;
		enc->full.msg.rdata[1] = enc->full.due;
	}
	if (enc->full.due)
		transmit(enc, &enc->full.msg);
	enc->full.due = 0;
	if (enc->branch.due) {
		again.bcnt = enc->branch.due;
		transmit(enc, &again);
	}
	enc->branch.due = 0;
}

static void send(struct nt_enc *enc, struct nt_msg *m)
{
	release(enc);
	enc->branch.msg.tcode = 0;
	transmit(enc, m);
}

/*
 * May RepeatBranch stand for this branch message, which leads to target? The repeated
 * message must lead to the same target. Its U-ADDR must be 0, because some decoders
 * apply U-ADDR once more with each repetition. tt-dfd repeats a message whose fields
 * are all equal, except traps.
 */
static bool is_again(const struct nt_enc *enc, const struct nt_msg *m, uint64_t target)
{
	const struct nt_msg *was = &enc->branch.msg;

	if (was->tcode != m->tcode || was->btype != m->btype || was->icnt != m->icnt)
		return false;
	if (enc->tt_dfd)
		return !m->btype && was->hist == m->hist && was->addr == m->addr;
	return !was->addr && !m->addr && enc->branch.target == target;
}

/* A branch message without SYNC, to target */
static void send_branch(struct nt_enc *enc, struct nt_msg *m, uint64_t target)
{
	struct repeat *r = &enc->branch;

	if (is_again(enc, m, target) && !enc->lost && enc->cfg.repeatbranch) {
		if (++r->due == (enc->tt_dfd ? REPEAT_FULL_TT : REPEAT_FULL))
			release(enc);
		return;
	}
	send(enc, m);
	r->msg = *m;
	r->target = target;
}

/* Every sync message resets the encoder's state and is followed by Ownership */
static void was_sync(struct nt_enc *enc)
{
	enc->depth = 0;
	enc->since_sync = 0;
	enc->sync_due = false;
	if (enc->cfg.context)
		enc->owner = DUE(FORMAT_SCONTEXT);
	if (enc->cfg.hcontext)
		enc->owner |= DUE(FORMAT_HCONTEXT);
}

static void take_icnt(struct nt_enc *enc, struct nt_msg *m)
{
	m->fields |= NT_F_ICNT;
	m->icnt = enc->icnt;
	enc->icnt = 0;
}

static void take_hist(struct nt_enc *enc, struct nt_msg *m)
{
	m->fields |= NT_F_HIST;
	m->hist = enc->hist;
	enc->hist = 1;
}

static void take_addr(struct nt_enc *enc, struct nt_msg *m, uint64_t pc)
{
	if (m->fields & NT_F_SYNC) {
		m->fields |= NT_F_FADDR;
		m->addr = pc >> 1;
	} else {
		m->fields |= NT_F_UADDR;
		m->addr = (pc ^ enc->ref) >> 1;
	}
	enc->ref = pc;
}

static void take_sync(struct nt_enc *enc, struct nt_msg *m)
{
	m->fields |= NT_F_SYNC;
	m->sync = enc->sync;
}

static void send_prog_trace_sync(struct nt_enc *enc, uint8_t reason, uint64_t pc)
{
	struct nt_msg m = { .tcode = NT_TCODE_PROG_TRACE_SYNC };

	enc->sync = reason;
	enc->icnt = 0;
	enc->hist = 1;
	take_sync(enc, &m);
	take_icnt(enc, &m);
	take_addr(enc, &m, pc);
	send(enc, &m);
	was_sync(enc);
	enc->joined = enc->tt_dfd;
}

/* Send an indirect jump, a trap, or (btype 0, with sync due) a sync message on linear code */
static void send_indirect(struct nt_enc *enc, uint8_t btype, uint64_t pc)
{
	bool sync = enc->sync_due, hist = enc->cfg.htm && (enc->hist != 1 || enc->tt_dfd);
	struct nt_msg m = { .tcode = NT_TCODE_INDIRECT_BRANCH, .fields = NT_F_BTYPE };

	m.btype = btype;
	if (hist)
		m.tcode = sync ? NT_TCODE_INDIRECT_BRANCH_HIST_SYNC : NT_TCODE_INDIRECT_BRANCH_HIST;
	else if (sync)
		m.tcode = NT_TCODE_INDIRECT_BRANCH_SYNC;
	if (sync)
		take_sync(enc, &m);
	take_icnt(enc, &m);
	take_addr(enc, &m, pc);
	if (hist)
		take_hist(enc, &m);
	if (!sync && (!enc->cfg.htm || enc->tt_dfd)) {
		send_branch(enc, &m, pc);
		return;
	}
	send(enc, &m);
	if (sync)
		was_sync(enc);
}

static void send_direct(struct nt_enc *enc, uint64_t pc)
{
	struct nt_msg m = { .tcode = NT_TCODE_DIRECT_BRANCH };
	bool sync = enc->sync_due;

	if (sync) {
		m.tcode = NT_TCODE_DIRECT_BRANCH_SYNC;
		take_sync(enc, &m);
	}
	take_icnt(enc, &m);
	if (!sync) {
		send_branch(enc, &m, pc);
		return;
	}
	take_addr(enc, &m, pc);
	send(enc, &m);
	was_sync(enc);
}

static void send_full(struct nt_enc *enc, uint8_t rcode, uint64_t rdata)
{
	struct nt_msg m = { .tcode = NT_TCODE_RESOURCE_FULL, .fields = NT_F_RCODE | NT_F_RDATA0 };

	m.rcode = rcode;
	m.rdata[0] = rdata;
	send(enc, &m);
}

/* P550: all outcomes are equal */
static bool is_run(const struct nt_enc *enc)
{
	return enc->p550 && (enc->hist == enc->hist_full || enc->hist == 2 * enc->hist_full - 1);
}

/* With repeathist, wait for the next one, which may be equal */
static void send_hist_full(struct nt_enc *enc)
{
	const uint32_t most = enc->p550 ? REPEAT_FULL / full_bits(enc) : REPEAT_FULL;
	struct repeat *r = &enc->full;

	if (!enc->cfg.repeathist && !is_run(enc)) {
		send_full(enc, 1, enc->hist);
		return;
	}
	if (r->due && (r->msg.rdata[0] != enc->hist || r->due == most))
		release(enc);
	if (!r->due) {
		memset(&r->msg, 0, sizeof(r->msg));
		r->msg.tcode = NT_TCODE_RESOURCE_FULL;
		r->msg.fields = NT_F_RCODE | NT_F_RDATA0;
		r->msg.rcode = 1;
		r->msg.rdata[0] = enc->hist;
	}
	r->due++;
}

static void send_error(struct nt_enc *enc)
{
	struct nt_msg m = { .tcode = NT_TCODE_ERROR, .fields = NT_F_ETYPE | NT_F_ECODE };

	m.ecode = 4;	/* program trace lost */
	send(enc, &m);
}

static void send_correlation(struct nt_enc *enc, uint8_t evcode)
{
	struct nt_msg m = { .tcode = NT_TCODE_PROG_TRACE_CORRELATION,
			    .fields = NT_F_EVCODE | NT_F_CDF };

	m.evcode = evcode;
	m.cdf = enc->cfg.htm;
	take_icnt(enc, &m);
	if (enc->cfg.htm)
		take_hist(enc, &m);
	send(enc, &m);
}

static void send_owner(struct nt_enc *enc, unsigned int format, uint64_t context)
{
	struct nt_msg m = { .tcode = NT_TCODE_OWNERSHIP, .fields = NT_F_PROCESS };

	m.process = format | enc->prv << 2 | enc->v << 4 | context << 5;
	send(enc, &m);
}

/* hcontext comes first; a message with a context also has the privilege */
static void send_owners(struct nt_enc *enc)
{
	unsigned int due = enc->owner;

	enc->owner = 0;
	if (enc->tt_dfd) {
		enc->bare = enc->joined;
		send_owner(enc, FORMAT_PRIV, enc->scontext);
		enc->bare = enc->joined = false;
		return;
	}
	if (due & DUE(FORMAT_HCONTEXT))
		send_owner(enc, FORMAT_HCONTEXT, enc->hcontext);
	if (due & DUE(FORMAT_SCONTEXT))
		send_owner(enc, FORMAT_SCONTEXT, enc->scontext);
	if (due == DUE(FORMAT_PRIV))
		send_owner(enc, FORMAT_PRIV, 0);
}

/*
 * The return stack.  It drops its oldest entry when full; the counter of mode 1 is its depth
 * without the addresses, and P550's is deeper.
 */

static void push(struct nt_enc *enc, uint64_t addr)
{
	if (!enc->params.retstack)
		return;
	enc->stack[enc->top++ % STACK_DEPTH] = addr;
	if (enc->depth < enc->depth_max)
		enc->depth++;
}

/* Returns whether the return to pc needs no message */
static bool pop(struct nt_enc *enc, uint64_t pc)
{
	if (!enc->depth)
		return false;
	enc->depth--;
	enc->top--;
	return enc->params.retstack == 1 || enc->stack[enc->top % STACK_DEPTH] == pc;
}

/* The target of the last instruction */

static void branch(struct nt_enc *enc, bool taken, uint64_t pc)
{
	/* tt-dfd omits the outcome if a sync message is due: F-ADDR shows it */
	if (enc->cfg.htm && !(enc->tt_dfd && enc->sync_due))
		enc->hist = enc->hist << 1 | taken;
	else if (!enc->cfg.htm && taken)
		send_direct(enc, pc);
}

static bool is_sequential(const struct nt_enc *enc, const struct nt_enc_op *op)
{
	return enc->params.seqjump && op->type != NT_TYPE_RET && enc->upper &&
	       enc->upper == op->base;
}

/* tt-dfd reports privilege and context at each trap and return from one. */
static void own_again(struct nt_enc *enc)
{
	if (enc->tt_dfd && enc->cfg.context)
		enc->owner |= DUE(FORMAT_PRIV);
}

static void resolve(struct nt_enc *enc, uint64_t pc)
{
	const struct nt_enc_op *op = &enc->last;
	uint64_t behind = (op->pc + op->len) & enc->mask;
	bool silent = is_sequential(enc, op);

	switch (op->type) {
	case NT_TYPE_COND:
		branch(enc, pc == op->target && pc != behind, pc);
		return;
	case NT_TYPE_CALL:
		push(enc, behind);
		/* fall through */
	case NT_TYPE_JUMP:
	case NT_TYPE_JUMP_LINK:
		if (enc->params.alljumps)
			branch(enc, true, pc);
		return;
	case NT_TYPE_ICALL:
		push(enc, behind);
		break;
	case NT_TYPE_RET:
		silent |= pop(enc, pc);
		break;
	case NT_TYPE_SWAP:
		silent |= pop(enc, pc);
		push(enc, behind);
		break;
	case NT_TYPE_ERET:
		own_again(enc);
		break;
	case NT_TYPE_IJUMP:
	case NT_TYPE_IJUMP_LINK:
		break;
	default:
		return;
	}
	if (!silent)
		send_indirect(enc, 0, pc);
}

static void resolve_trap(struct nt_enc *enc, uint64_t pc)
{
	uint8_t btype = enc->trap == NT_TYPE_INTERRUPT ? 3 : 2;

	if (enc->cfg.btype_1 || enc->trap == NT_TYPE_TRAP)
		btype = 1;
	enc->trap = 0;
	send_indirect(enc, btype, pc);
	own_again(enc);
}

static void check_full(struct nt_enc *enc)
{
	if (enc->hist & enc->hist_full) {
		send_hist_full(enc);
		enc->hist = 1;
	}
	/* tt-dfd reports a full I-CNT together with the current history */
	if (enc->icnt >= enc->icnt_full && enc->tt_dfd && enc->hist != 1) {
		enc->sync_due = true;
		enc->sync = NT_SYNC_ICNT_FULL;
	} else if (enc->icnt >= enc->icnt_full) {
		send_full(enc, 0, enc->icnt);
		enc->icnt = 0;
	}
}

static void restart(struct nt_enc *enc, uint64_t pc)
{
	enc->restart = false;
	enc->lost = false;
	enc->full.due = 0;
	enc->branch.due = 0;
	send_error(enc);
	send_prog_trace_sync(enc, NT_SYNC_OVERRUN, pc);
}

/* Execution has reached pc: report how, and what became due in the meantime */
static void arrive(struct nt_enc *enc, uint64_t pc)
{
	if (enc->period && enc->since_sync >= enc->period && !enc->sync_due) {
		enc->sync_due = true;
		enc->sync = NT_SYNC_PERIODIC;
	}
	if (enc->starting)
		send_prog_trace_sync(enc, enc->sync, pc);
	else if (enc->trap)
		resolve_trap(enc, pc);
	else
		resolve(enc, pc);
	enc->starting = false;
	enc->last.type = NT_TYPE_NONE;
	check_full(enc);
	if (enc->sync_due)
		send_indirect(enc, 0, pc);
	if (enc->restart)
		restart(enc, pc);
	if (enc->owner)
		send_owners(enc);
	enc->attention = enc->restart;
}

/* The type in 3 bits: no direct jumps, and all JALR alike */
static uint8_t narrow_type(uint8_t type)
{
	switch (type) {
	case NT_TYPE_CALL:
	case NT_TYPE_JUMP:
	case NT_TYPE_JUMP_LINK:
		return NT_TYPE_NONE;
	case NT_TYPE_ICALL:
	case NT_TYPE_SWAP:
	case NT_TYPE_RET:
	case NT_TYPE_IJUMP_LINK:
		return NT_TYPE_IJUMP;
	default:
		return type;
	}
}

void nt_enc_retire_op(struct nt_enc *enc, const struct nt_enc_op *op)
{
	struct nt_enc_op narrow;

	if (!enc->open)
		return;
	if (enc->cfg.itype_3) {
		narrow = *op;
		narrow.type = narrow_type(op->type);
		/* a decoder does not expect a return to be a sequential jump */
		if (op->type == NT_TYPE_RET)
			narrow.base = 0;
		op = &narrow;
	}
	/* an update of the previous op: its target is not known yet */
	if (!op->len && op->type && op->pc == enc->last.pc) {
		enc->last.type = op->type;
		enc->attention = true;
		return;
	}
	if (enc->attention)
		arrive(enc, op->pc);
	/* a JALR can only be inferred from a LUI or AUIPC of the same message */
	enc->upper = enc->icnt ? enc->last.upper : 0;
	enc->icnt += op->len / 2;
	enc->last = *op;
	if (enc->cfg.syncmode == 2)
		enc->since_sync++;
	else if (enc->cfg.syncmode == 3)
		enc->since_sync += op->len / 2;
	enc->attention |= op->type || enc->icnt >= enc->icnt_full ||
			 (enc->period && enc->since_sync >= enc->period);
}

void nt_enc_retire(struct nt_enc *enc, uint64_t pc, uint64_t insn, unsigned int len)
{
	struct nt_enc_op op;

	nt_enc_classify(&enc->params, pc, insn, len, &op);
	nt_enc_retire_op(enc, &op);
}

void nt_enc_trap_as(struct nt_enc *enc, uint64_t pc, uint8_t type)
{
	if (!enc->open)
		return;
	arrive(enc, pc);
	enc->trap = type;
	enc->attention = true;
}

void nt_enc_trap(struct nt_enc *enc, uint64_t pc, bool interrupt)
{
	nt_enc_trap_as(enc, pc, interrupt ? NT_TYPE_INTERRUPT : NT_TYPE_EXCEPTION);
}

void nt_enc_start(struct nt_enc *enc, uint8_t reason)
{
	enc->open = true;
	enc->starting = true;
	enc->attention = true;
	enc->sync = reason;
	/* R24: a start sends a sync message, which restarts the period */
	enc->sync_due = false;
	enc->since_sync = 0;
	enc->trap = 0;
	enc->last.type = NT_TYPE_NONE;
	enc->last.upper = 0;
}

void nt_enc_stop(struct nt_enc *enc, uint8_t evcode, uint64_t next_pc)
{
	if (!enc->open)
		return;
	enc->open = false;
	if (enc->starting)
		return;
	enc->sync_due = false;
	enc->since_sync = 0;
	arrive(enc, next_pc);
	send_correlation(enc, evcode);
	if (enc->restart) {
		enc->restart = false;
		enc->lost = false;
		send_error(enc);
	}
}

void nt_enc_flush(struct nt_enc *enc)
{
	if (!enc->lost || !enc->cfg.emit(enc->cfg.ctx, NULL, NT_ENC_MSG_MAX))
		return;
	enc->lost = false;
	enc->restart = false;
	send_error(enc);
}

void nt_enc_event_sync(struct nt_enc *enc, uint8_t reason)
{
	if (!enc->open || enc->starting)
		return;
	enc->sync = reason;
	enc->sync_due = true;
	enc->attention = true;
}

void nt_enc_context(struct nt_enc *enc, uint8_t format, uint8_t prv, bool v, uint64_t value)
{
	enc->prv = prv;
	enc->v = v;
	if (format == FORMAT_HCONTEXT)
		enc->hcontext = value;
	else
		enc->scontext = value;
	if (!enc->cfg.context || !enc->open || enc->starting ||
	    (format == FORMAT_HCONTEXT && !enc->cfg.hcontext))
		return;
	enc->owner |= DUE(format & 3);
	enc->attention = true;
}

bool nt_enc_lost(const struct nt_enc *enc)
{
	return enc->lost;
}

void nt_enc_reset(struct nt_enc *enc)
{
	const struct nt_enc_config cfg = enc->cfg;
	const struct nt_params params = enc->params;

	memset(enc, 0, sizeof(*enc));
	enc->cfg = cfg;
	enc->params = params;
	enc->mask = params.xlen == 32 ? 0xffffffff : UINT64_MAX;
	enc->tt_dfd = nt_is_tt_dfd(&params);
	enc->p550 = params.profile == NT_PROFILE_P550;
	enc->depth_max = enc->p550 ? COUNTER_DEPTH : STACK_DEPTH;
	enc->icnt_full = 1u << ((cfg.icnt_bits ? cfg.icnt_bits : enc->tt_dfd ? 12 : 22) - 1);
	enc->hist_full = 1ull << ((cfg.hist_bits ? cfg.hist_bits : 32) - 1);
	enc->period = cfg.syncmode ? 16ull << cfg.syncmax : 0;
	enc->hist = 1;
}

static bool get_config(const struct nt_enc_config *from, struct nt_enc_config *to)
{
	return from && !nt_take(to, sizeof(*to), from, from->size,
				offsetof(struct nt_enc_config, repeathist));
}

static bool config_is_good(const struct nt_params *p, const struct nt_enc_config *c)
{
	if ((p->xlen != 32 && p->xlen != 64) || p->srcbits > 12 || p->retstack > 3 ||
	    p->profile == NT_PROFILE_SIFIVE || p->addr_bits >= p->xlen ||
	    (p->tstamp_bits && (p->tstamp_bits < 8 || p->tstamp_bits > 64)) ||
	    (p->src >= 0 && p->src >> nt_srcbits(p)) || nt_branches_check(p))
		return false;
	if (!c->emit || (p->timestamps && !c->time) || c->syncmode > 3 || c->syncmax > 15)
		return false;
	if (c->icnt_bits > 22 || (c->icnt_bits && c->icnt_bits < 4) || c->hist_bits > 32 ||
	    c->hist_bits == 1)
		return false;
	/* P550 has a fixed counter and a fixed encoding of equal outcomes */
	if (p->profile == NT_PROFILE_P550 && (p->retstack > 1 || c->repeathist || c->itype_3))
		return false;
	if (nt_is_tt_dfd(p) ? !c->htm || c->repeathist || c->hcontext :
	    (c->htm && c->repeatbranch) || (c->hcontext && !c->context))
		return false;
	/* 3 bits do not distinguish returns and direct jumps */
	return !c->itype_3 || (!p->retstack && !p->alljumps);
}

struct nt_enc *nt_enc_new(const struct nt_params *params, const struct nt_enc_config *config)
{
	struct nt_enc_config c;
	struct nt_params p;
	struct nt_enc *enc;
	size_t size;

	if (nt_params_get(params, &p) || !get_config(config, &c) || !config_is_good(&p, &c))
		return NULL;
	size = p.nr_branches * sizeof(enc->branches[0]);
	enc = malloc(sizeof(*enc) + size);
	if (!enc)
		return NULL;
	if (size)
		memcpy(enc->branches, p.branches, size);
	enc->cfg = c;
	enc->params = p;
	enc->params.branches = enc->branches;
	if (p.src < 0)
		enc->params.src = 0;
	if (p.profile == NT_PROFILE_P550)
		enc->params.retstack = 1;
	nt_enc_reset(enc);
	return enc;
}

void nt_enc_free(struct nt_enc *enc)
{
	free(enc);
}

/*
 * Instructions
 */

static uint32_t field(uint32_t insn, unsigned int hi, unsigned int lo)
{
	return insn >> lo & ((1u << (hi - lo + 1)) - 1);
}

static int64_t sign(uint32_t value, unsigned int bits)
{
	return (int64_t)((uint64_t)value << (64 - bits)) >> (64 - bits);
}

static bool is_link(unsigned int reg)
{
	return reg == 1 || reg == 5;
}

/* The registers of a JALR determine its type */
static uint8_t jalr_type(unsigned int rd, unsigned int rs1)
{
	if (is_link(rd))
		return is_link(rs1) && rd != rs1 ? NT_TYPE_SWAP : NT_TYPE_ICALL;
	if (is_link(rs1))
		return NT_TYPE_RET;
	return rd ? NT_TYPE_IJUMP_LINK : NT_TYPE_IJUMP;
}

static uint8_t jal_type(unsigned int rd)
{
	if (is_link(rd))
		return NT_TYPE_CALL;
	return rd ? NT_TYPE_JUMP_LINK : NT_TYPE_JUMP;
}

static int64_t imm_b(uint32_t i)
{
	return sign(field(i, 31, 31) << 12 | field(i, 7, 7) << 11 | field(i, 30, 25) << 5 |
		    field(i, 11, 8) << 1, 13);
}

static int64_t imm_j(uint32_t i)
{
	return sign(field(i, 31, 31) << 20 | field(i, 19, 12) << 12 | field(i, 20, 20) << 11 |
		    field(i, 30, 21) << 1, 21);
}

static int64_t imm_cj(uint32_t i)
{
	return sign(field(i, 12, 12) << 11 | field(i, 8, 8) << 10 | field(i, 10, 9) << 8 |
		    field(i, 6, 6) << 7 | field(i, 7, 7) << 6 | field(i, 2, 2) << 5 |
		    field(i, 11, 11) << 4 | field(i, 5, 3) << 1, 12);
}

static int64_t imm_cb(uint32_t i)
{
	return sign(field(i, 12, 12) << 8 | field(i, 6, 5) << 6 | field(i, 2, 2) << 5 |
		    field(i, 11, 10) << 3 | field(i, 4, 3) << 1, 9);
}

static void classify_32(uint32_t isa, uint32_t i, struct nt_enc_op *op)
{
	unsigned int rd = field(i, 11, 7), f3 = field(i, 14, 12);

	switch (i & 0x7f) {
	case 0x17:	/* AUIPC */
	case 0x37:	/* LUI */
		op->upper = rd;
		break;
	case 0x63:
		if ((f3 == 2 || f3 == 3) && !(isa & NT_ISA_ZIBI))
			break;
		op->type = NT_TYPE_COND;
		op->target = op->pc + imm_b(i);
		break;
	case 0x67:
		if (f3)
			break;
		op->base = field(i, 19, 15);
		op->type = jalr_type(rd, op->base);
		break;
	case 0x6f:
		op->type = jal_type(rd);
		op->target = op->pc + imm_j(i);
		break;
	case 0x73:
		/* SRET, MRET, MNRET, DRET */
		if (i == 0x10200073 || i == 0x30200073 || i == 0x70200073 || i == 0x7b200073)
			op->type = NT_TYPE_ERET;
		break;
	}
}

static void classify_c1(unsigned int xlen, uint32_t i, struct nt_enc_op *op)
{
	unsigned int rd = field(i, 11, 7);

	switch (field(i, 15, 13)) {
	case 1:
		if (xlen == 64)
			break;
		op->type = NT_TYPE_CALL;	/* C.JAL */
		op->target = op->pc + imm_cj(i);
		break;
	case 3:
		if (rd != 2 && (i & 0x107c))
			op->upper = rd;		/* C.LUI; its immediate is not 0 */
		break;
	case 5:
		op->type = NT_TYPE_JUMP;
		op->target = op->pc + imm_cj(i);
		break;
	case 6:
	case 7:
		op->type = NT_TYPE_COND;
		op->target = op->pc + imm_cb(i);
		break;
	}
}

static void classify_c2(uint32_t isa, uint32_t i, struct nt_enc_op *op)
{
	unsigned int f3 = field(i, 15, 13), rs1 = field(i, 11, 7);

	if (f3 == 4 && !field(i, 6, 2) && rs1) {
		op->base = rs1;
		op->type = jalr_type(field(i, 12, 12), rs1);	/* C.JR, C.JALR */
	} else if (f3 == 5 && isa & NT_ISA_ZCMP && (field(i, 15, 8) & 0xfd) == 0xbc &&
		   field(i, 7, 4) >= 4) {
		op->type = NT_TYPE_RET;		/* CM.POPRET, CM.POPRETZ */
	} else if (f3 == 5 && isa & NT_ISA_ZCMT && field(i, 15, 10) == 0x28) {
		op->type = field(i, 9, 2) < 32 ? NT_TYPE_JUMP : NT_TYPE_CALL;
	}
}

/* Assemble the offset from its top bit down */
static uint64_t told_offset(const struct nt_branch *b, uint64_t insn)
{
	uint64_t offset = 0;
	bool sign_known = false;
	int bit;

	for (bit = 63; bit > 0; bit--) {
		const struct nt_branch_field *f = b->offset, *end = f + NT_BRANCH_FIELDS;

		while (f < end && (bit < f->to || bit >= f->to + f->width))
			f++;
		if (f < end && insn >> (f->from + bit - f->to) & 1)
			offset |= sign_known ? 1ull << bit : -(1ull << bit);
		sign_known |= f < end;
	}
	return offset;
}

/* Classify a branch of the caller's table; indirect ones have no offset. */
static bool classify_told(const struct nt_params *params, uint64_t insn, struct nt_enc_op *op)
{
	const struct nt_branch *b = params->branches, *end = b + params->nr_branches;

	while (b < end && (insn ^ b->match) & b->mask)
		b++;
	if (b == end)
		return false;
	op->type = b->type;
	op->target = op->pc + told_offset(b, insn);
	return true;
}

void nt_enc_classify(const struct nt_params *params, uint64_t pc, uint64_t insn, unsigned int len,
		     struct nt_enc_op *op)
{
	struct nt_params all;

	params = nt_params_use(params, &all);
	memset(op, 0, sizeof(*op));
	op->pc = pc;
	op->len = len;
	op->type = NT_TYPE_NONE;
	if (params->nr_branches && classify_told(params, insn, op))
		;
	else if (len == 4)
		classify_32(params->isa, insn, op);
	else if (len == 2 && (insn & 3) == 1)
		classify_c1(params->xlen, insn & 0xffff, op);
	else if (len == 2 && (insn & 3) == 2)
		classify_c2(params->isa, insn & 0xffff, op);
	if (params->xlen == 32)
		op->target &= 0xffffffff;
}
