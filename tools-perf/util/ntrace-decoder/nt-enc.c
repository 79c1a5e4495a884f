// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Retired instructions -> N-Trace messages: see nt-enc.h */

#include <stdlib.h>
#include <string.h>

#include "ntrace.h"

#define STACK_DEPTH	32
/* FORMAT of Ownership messages, and as bits those that are due */
#define FORMAT_PRIV	0
#define FORMAT_SCONTEXT	2
#define FORMAT_HCONTEXT	3
#define DUE(format)	(1u << (format))

#define REPEAT_FULL	0x3ffff	/* HREPEAT and B-CNT have 18 bits */

/* A message that may come again, and how many of it are not yet sent */
struct repeat {
	struct nt_msg msg;
	uint64_t target;		/* of a branch message */
	uint32_t due;
};

struct nt_enc {
	struct nt_enc_config cfg;
	uint64_t mask;			/* of addresses */
	uint32_t icnt_full;		/* I-CNT is reported from here on */
	uint64_t hist_full;		/* bit of HIST that means full */
	uint64_t period;		/* of sync messages; 0 none */

	/* what the next message reports */
	uint32_t icnt;
	uint64_t hist;
	uint64_t ref;			/* address last sent */
	uint64_t time;			/* time last sent */
	uint64_t since_sync;		/* units of the period */

	struct nt_enc_op last;		/* retired; where it led is not yet known */
	uint8_t trap;			/* enum nt_type of a trap under way */
	uint8_t sync;			/* SYNC value of a sync message that is due ... */
	bool sync_due;			/* ... */
	bool starting;			/* it is the stretch's first */
	bool open;			/* inside a stretch */
	bool lost, restart;
	bool attention;			/* the next instruction needs more than counting */

	uint8_t upper;			/* rd of the LUI or AUIPC that retired just before */
	uint8_t owner;			/* Ownership messages that are due */
	uint8_t prv;
	bool v;
	uint64_t scontext, hcontext;

	uint64_t stack[STACK_DEPTH];
	unsigned int top, depth;

	struct repeat full;		/* ResourceFull with HIST; due: all of them */
	struct repeat branch;		/* sent last, if .msg.tcode; due: of it again */
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

/* The rest of the byte under construction holds the field's first bits */
static void put_var(struct writer *w, uint64_t value)
{
	w->buf[w->len++] = ((w->acc | value << w->bits) & 0x3f) << 2;
	for (value >>= 6 - w->bits; value; value >>= 6)
		w->buf[w->len++] = (value & 0x3f) << 2;
	w->acc = 0;
	w->bits = 0;
	w->buf[w->len - 1] |= MSEO_FIELD;
}

/* Bytes needed until the topmost bit sent equals all that are not */
static unsigned int extended_length(int64_t field)
{
	unsigned int n;

	for (n = 1; n < 11; n++)
		if (field >> (6 * n - 1) == 0 || field >> (6 * n - 1) == -1)
			break;
	return n;
}

/* An address field, which begins at a byte; only the bits above bit 0 of the address are in it */
static void put_addr(struct writer *w, const struct nt_params *params, uint64_t field)
{
	unsigned int n, unused = params->xlen == 32 ? 33 : 1;

	if (!params->extaddr) {
		put_var(w, field);
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
	put_fixed(w, m->src, params->srcbits);
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
		put_var(w, m->icnt);
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

	put_fields(&w, params, msg);
	memcpy(buf, w.buf, w.len);
	return w.len;
}

/*
 * Sending
 */

static void stamp(struct nt_enc *enc, struct nt_msg *m)
{
	uint64_t now;

	if (!enc->cfg.params.timestamps)
		return;
	now = enc->cfg.time(enc->cfg.ctx);
	m->tstamp = m->fields & NT_F_SYNC ? now : now - enc->time;
	m->fields |= NT_F_TSTAMP;
	enc->time = now;
}

static void transmit(struct nt_enc *enc, struct nt_msg *m)
{
	struct writer w = { .len = 0 };
	uint64_t time = enc->time;

	m->fields |= NT_F_SRC;
	m->src = enc->cfg.params.src;
	if (!enc->lost)
		stamp(enc, m);
	put_fields(&w, &enc->cfg.params, m);
	if (enc->lost)
		enc->restart |= enc->cfg.emit(enc->cfg.ctx, NULL, w.len);
	else if (!enc->cfg.emit(enc->cfg.ctx, w.buf, w.len)) {
		enc->lost = true;
		enc->time = time;	/* the next one's is relative to what was sent */
	}
	if (enc->cfg.syncmode == 1)
		enc->since_sync++;
}

/* What was held back because it might come once more */
static void release(struct nt_enc *enc)
{
	struct nt_msg again = { .tcode = NT_TCODE_REPEAT_BRANCH, .fields = NT_F_BCNT };

	if (enc->full.due > 1) {
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
 * A branch message without SYNC, to target. A repeated one goes to the same
 * target; that of a U-ADDR other than 0 some decoders would compute anew from
 * the U-ADDR, so it is not repeated.
 */
static void send_branch(struct nt_enc *enc, struct nt_msg *m, uint64_t target)
{
	struct repeat *r = &enc->branch;
	bool again = r->msg.tcode == m->tcode && r->msg.btype == m->btype &&
		     r->msg.icnt == m->icnt && !r->msg.addr && !m->addr && r->target == target;

	if (again && !enc->lost && enc->cfg.repeatbranch) {
		if (++r->due == REPEAT_FULL)
			release(enc);
		return;
	}
	send(enc, m);
	r->msg = *m;
	r->target = target;
}

/* Every sync message resets the encoder, and is followed by Ownership */
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
}

/* An indirect jump, a trap, or (btype 0, with sync due) only a sync message on linear code */
static void send_indirect(struct nt_enc *enc, uint8_t btype, uint64_t pc)
{
	bool sync = enc->sync_due, hist = enc->cfg.htm && enc->hist != 1;
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
	if (!sync && !enc->cfg.htm) {
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

/* With repeathist the next one is waited for: it may be the same */
static void send_hist_full(struct nt_enc *enc)
{
	struct repeat *r = &enc->full;

	if (!enc->cfg.repeathist) {
		send_full(enc, 1, enc->hist);
		return;
	}
	if (r->due && (r->msg.rdata[0] != enc->hist || r->due == REPEAT_FULL))
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

/* hcontext comes first; a message with a context tells the privilege too */
static void send_owners(struct nt_enc *enc)
{
	unsigned int due = enc->owner;

	enc->owner = 0;
	if (due & DUE(FORMAT_HCONTEXT))
		send_owner(enc, FORMAT_HCONTEXT, enc->hcontext);
	if (due & DUE(FORMAT_SCONTEXT))
		send_owner(enc, FORMAT_SCONTEXT, enc->scontext);
	if (due == DUE(FORMAT_PRIV))
		send_owner(enc, FORMAT_PRIV, 0);
}

/*
 * The return stack.  It drops its oldest entry when full; the counter of mode 1 is its depth
 * without the addresses.
 */

static void push(struct nt_enc *enc, uint64_t addr)
{
	if (!enc->cfg.params.retstack)
		return;
	enc->stack[enc->top++ % STACK_DEPTH] = addr;
	if (enc->depth < STACK_DEPTH)
		enc->depth++;
}

/* Returns whether the return to pc goes without saying */
static bool pop(struct nt_enc *enc, uint64_t pc)
{
	if (!enc->depth)
		return false;
	enc->depth--;
	enc->top--;
	return enc->cfg.params.retstack == 1 || enc->stack[enc->top % STACK_DEPTH] == pc;
}

/*
 * Where the last instruction led
 */

static void branch(struct nt_enc *enc, bool taken, uint64_t pc)
{
	if (enc->cfg.htm)
		enc->hist = enc->hist << 1 | taken;
	else if (taken)
		send_direct(enc, pc);
}

static bool is_sequential(const struct nt_enc *enc, const struct nt_enc_op *op)
{
	return enc->cfg.params.seqjump && op->type != NT_TYPE_RET && enc->upper &&
	       enc->upper == op->base;
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
		if (enc->cfg.params.alljumps)
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
	case NT_TYPE_IJUMP:
	case NT_TYPE_IJUMP_LINK:
	case NT_TYPE_ERET:
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

	enc->trap = 0;
	send_indirect(enc, enc->cfg.btype_1 ? 1 : btype, pc);
}

static void check_full(struct nt_enc *enc)
{
	if (enc->hist & enc->hist_full) {
		send_hist_full(enc);
		enc->hist = 1;
	}
	if (enc->icnt >= enc->icnt_full) {
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

/* Execution has arrived at pc: tell what led there, and what became due meanwhile */
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

/* What 3 bits tell of an instruction: no direct jumps, and all JALR alike */
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
		/* a decoder doesn't expect a return to be a sequential jump */
		if (op->type == NT_TYPE_RET)
			narrow.base = 0;
		op = &narrow;
	}
	if (enc->attention)
		arrive(enc, op->pc);
	/* a JALR can be inferred from the LUI before it only inside one message */
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

void nt_enc_retire(struct nt_enc *enc, uint64_t pc, uint32_t insn, unsigned int len)
{
	struct nt_enc_op op;

	nt_enc_classify(&enc->cfg.params, pc, insn, len, &op);
	nt_enc_retire_op(enc, &op);
}

void nt_enc_trap(struct nt_enc *enc, uint64_t pc, bool interrupt)
{
	if (!enc->open)
		return;
	arrive(enc, pc);
	enc->trap = interrupt ? NT_TYPE_INTERRUPT : NT_TYPE_EXCEPTION;
	enc->attention = true;
}

void nt_enc_start(struct nt_enc *enc, uint8_t reason)
{
	enc->open = true;
	enc->starting = true;
	enc->attention = true;
	enc->sync = reason;
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
	struct nt_enc_config cfg = enc->cfg;

	memset(enc, 0, sizeof(*enc));
	enc->cfg = cfg;
	enc->mask = cfg.params.xlen == 32 ? 0xffffffff : UINT64_MAX;
	enc->icnt_full = 1u << ((cfg.icnt_bits ? cfg.icnt_bits : 22) - 1);
	enc->hist_full = 1ull << ((cfg.hist_bits ? cfg.hist_bits : 32) - 1);
	enc->period = cfg.syncmode ? 16ull << cfg.syncmax : 0;
	enc->hist = 1;
}

/* Members that an older caller doesn't know of are 0. */
static bool get_config(const struct nt_enc_config *from, struct nt_enc_config *to)
{
	if (!from || from->size < offsetof(struct nt_enc_config, repeathist))
		return false;
	memset(to, 0, sizeof(*to));
	memcpy(to, from, from->size < sizeof(*to) ? from->size : sizeof(*to));
	return true;
}

static bool config_is_good(const struct nt_enc_config *c)
{
	const struct nt_params *p = &c->params;

	if ((p->xlen != 32 && p->xlen != 64) || p->srcbits > 12 || p->retstack > 3 ||
	    p->profile != NT_PROFILE_1_0 || (p->src >= 0 && p->src >> p->srcbits))
		return false;
	if (!c->emit || (p->timestamps && !c->time) || c->syncmode > 3 || c->syncmax > 15)
		return false;
	if (c->icnt_bits > 22 || (c->icnt_bits && c->icnt_bits < 4) || c->hist_bits > 32 ||
	    c->hist_bits == 1)
		return false;
	if ((c->htm && c->repeatbranch) || (c->hcontext && !c->context))
		return false;
	/* of returns and of direct jumps 3 bits tell nothing */
	return !c->itype_3 || (!p->retstack && !p->alljumps);
}

struct nt_enc *nt_enc_new(const struct nt_enc_config *config)
{
	struct nt_enc_config c;
	struct nt_enc *enc;

	if (!get_config(config, &c) || !config_is_good(&c))
		return NULL;
	enc = malloc(sizeof(*enc));
	if (!enc)
		return NULL;
	enc->cfg = c;
	if (c.params.src < 0)
		enc->cfg.params.src = 0;
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

/* What a JALR does is told by its registers */
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

static void classify_32(uint32_t i, struct nt_enc_op *op)
{
	unsigned int rd = field(i, 11, 7), f3 = field(i, 14, 12);

	switch (i & 0x7f) {
	case 0x17:	/* AUIPC */
	case 0x37:	/* LUI */
		op->upper = rd;
		break;
	case 0x63:
		if (f3 == 2 || f3 == 3)
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

void nt_enc_classify(const struct nt_params *params, uint64_t pc, uint32_t insn, unsigned int len,
		     struct nt_enc_op *op)
{
	memset(op, 0, sizeof(*op));
	op->pc = pc;
	op->len = len;
	op->type = NT_TYPE_NONE;
	if (len == 4)
		classify_32(insn, op);
	else if (len == 2 && (insn & 3) == 1)
		classify_c1(params->xlen, insn & 0xffff, op);
	else if (len == 2 && (insn & 3) == 2)
		classify_c2(params->isa, insn & 0xffff, op);
	if (params->xlen == 32)
		op->target &= 0xffffffff;
}
