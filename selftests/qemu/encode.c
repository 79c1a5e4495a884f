// SPDX-License-Identifier: GPL-2.0-only
/*
 * The encoder: instructions that its filters pass go through nt_enc_. Messages go through a FIFO to
 * the sink.
 *
 * Components downstream take whole messages at once while they are enabled, so the FIFO fills only
 * when one of them is full or off.
 */

#include <stdlib.h>
#include <string.h>

#include "model.h"

/* Upper limit of the bytes that one block can add to the FIFO */
#define BLOCK_RESERVE	384
/* Number of consecutive stalls in untraced code after which the hart counts as stuck */
#define STUCK		200000

struct encode {
	struct nt_enc *enc;
	bool open;
	uint8_t start;			/* SYNC of the next stretch */
	FILE *file;			/* stand-alone: output */

	uint8_t *fifo;
	unsigned int fill;
	bool flushing;			/* suppresses loss on demand */
	uint64_t messages, dropped, stalls;
	unsigned int stuck;		/* consecutive stalls in code that is not traced */
};

/*
 * FIFO and sink
 */

static unsigned int send(struct hart *h, const uint8_t *buf, unsigned int len)
{
	if (h->encode->file)
		return fwrite(buf, 1, len, h->encode->file);
	return net_send(h->comp, buf, len);
}

/* Update Control in memory when the encoder has changed it by itself */
static void show_control(struct hart *h)
{
	if (h->comp)
		mmio_show_status(h->comp);
}

static bool drain(struct hart *h, unsigned int len)
{
	struct encode *e = h->encode;
	unsigned int n;

	if (!len)
		return false;
	n = send(h, e->fifo, len);
	memmove(e->fifo, e->fifo + n, e->fill - n);
	e->fill -= n;
	loss_taken(h, n);
	if (e->fill)
		return n;
	if (!h->te.enable.is) {
		te_set_empty(&h->te, true);
		show_control(h);
	}
	return n;
}

/* Send one message, or the rest of it. Returns whether anything was taken. */
bool encode_drain_one(struct hart *h)
{
	const struct encode *e = h->encode;

	return drain(h, funnel_message(e->fifo, e->fill));
}

/* Discard the content of the FIFO */
static void discard(struct hart *h)
{
	struct encode *e = h->encode;

	if (!e->fill)
		return;
	te_set_lost(&h->te);
	show_control(h);
	e->fill = 0;
	loss_gone(h);
}

static void fifo_put(struct hart *h, const uint8_t *msg, unsigned int len)
{
	struct encode *e = h->encode;

	if (h->comp)
		h->comp->passed++;
	loss_message(h, msg, len);
	memcpy(e->fifo + e->fill, msg, len);
	e->fill += len;
	drain(h, e->fill);
	loss_wait(h);
}

static void drop(struct hart *h)
{
	struct encode *e = h->encode;

	e->dropped++;
	te_set_lost(&h->te);
	show_control(h);
	loss_refused(h);
	if (truth_holds_too_much(h))
		discard(h);
}

/* Loss on demand: by the vendor register, or periodically by option */
static bool drop_wanted(struct hart *h)
{
	struct encode *e = h->encode;

	if (opt.overflow_period && !h->te.drop && ++e->messages % opt.overflow_period == 0)
		h->te.drop = opt.overflow_count;
	if (!h->te.drop)
		return false;
	h->te.drop--;
	return true;
}

static bool emit(void *ctx, const uint8_t *msg, unsigned int len)
{
	struct hart *h = ctx;
	struct encode *e = h->encode;

	if ((!e->flushing && drop_wanted(h)) ||
	    e->fill + (msg ? len : 2 * NT_ENC_MSG_MAX) > opt.fifo) {
		drop(h);
		return false;
	}
	if (!msg)
		return true;
	fifo_put(h, msg, len);
	return true;
}

/*
 * Time
 */

uint64_t encode_time(struct hart *h)
{
	return h->comp ? net_time(h, h->comp) : 0;
}

static uint64_t emit_time(void *ctx)
{
	return encode_time(ctx);
}

/*
 * Gate
 */

bool encode_passes(const struct hart *h, enum priv priv)
{
	return filters_may_pass(&h->te.filter, priv);
}

/* Must the encoder see instructions that do not pass? They may set or clear a latch. */
bool encode_wants_all(const struct hart *h)
{
	/* An RTL encoder has its filter after its ingress port. */
	return h->te.filter.latching || opt.rtl;
}

static void open_stretch(struct hart *h)
{
	struct encode *e = h->encode;

	e->open = true;
	nt_enc_context(e->enc, 0, h->priv, false, h->scontext);
	nt_enc_start(e->enc, e->start);
	e->start = NT_SYNC_TRACE_ENABLE;
}

/* If comparators test addresses, encode_insn() finds the first instruction instead. */
void encode_open(struct hart *h)
{
	struct encode *e = h->encode;

	if (opt.rtl)
		feed_time(h);
	if (!e->open && e->enc && te_tracing(&h->te) && !h->te.filter.used &&
	    encode_passes(h, h->priv))
		open_stretch(h);
}

static void close_stretch(struct hart *h, uint8_t evcode, uint64_t next_pc)
{
	struct encode *e = h->encode;

	if (!e->open)
		return;
	nt_enc_stop(e->enc, evcode, next_pc);
	e->open = false;
	if (evcode == NT_EVCODE_DEBUG)
		e->start = NT_SYNC_DEBUG_EXIT;
}

void encode_close(struct hart *h, uint8_t evcode)
{
	if (opt.rtl && evcode == NT_EVCODE_DEBUG)
		feed_debug(h);
	close_stretch(h, evcode, h->next_pc);
}

static void gate_insn(struct hart *h, uint64_t pc)
{
	struct encode *e = h->encode;
	bool pass;

	if (!e->enc || !te_tracing(&h->te) || h->in_rom)
		return;
	pass = filters_pass(&h->te.filter, h->priv, pc);
	if (pass && !e->open)
		open_stretch(h);
	else if (!pass && e->open)
		close_stretch(h, NT_EVCODE_DISABLE, pc);
}

/*
 * Input
 */

/* Returns whether the instruction is traced */
bool encode_insn(struct hart *h, const struct nt_enc_op *op)
{
	if (opt.rtl)
		return feed_insn(h, op);
	if (h->te.filter.used)
		gate_insn(h, op->pc);
	if (h->encode->open)
		nt_enc_retire_op(h->encode->enc, op);
	return h->encode->open;
}

void encode_trap(struct hart *h, uint64_t from, bool interrupt, bool new_priv)
{
	struct encode *e = h->encode;

	if (opt.rtl)
		feed_trap(h, from, interrupt);
	if (!e->open)
		return;
	if (!encode_passes(h, h->priv)) {
		encode_close(h, NT_EVCODE_DISABLE);
		return;
	}
	nt_enc_trap(e->enc, from, interrupt);
	if (new_priv)
		encode_priv(h);
}

void encode_priv(struct hart *h)
{
	struct encode *e = h->encode;

	if (!e->open)
		return;
	if (encode_passes(h, h->priv))
		nt_enc_context(e->enc, 0, h->priv, false, h->scontext);
	else
		encode_close(h, NT_EVCODE_DISABLE);
}

void encode_scontext(struct hart *h)
{
	struct encode *e = h->encode;

	if (opt.rtl)
		feed_context(h);
	if (e->open)
		nt_enc_context(e->enc, 2, h->priv, false, h->scontext);
}

/*
 * Stall the hart before an instruction that would be traced, while the sink may not have room for
 * its messages and for the end of the stretch. So a window never ends in the middle of a message,
 * and the FIFO is empty when software switches the window.
 */
bool encode_stalls(struct hart *h)
{
	struct encode *e = h->encode;

	if (!(h->te.control & TE_STALL_ENA) || e->file || opt.rtl || !te_tracing(&h->te) ||
	    net_room(h->comp) >= e->fill + BLOCK_RESERVE) {
		e->stuck = 0;
		return false;
	}
	if (!encode_passes(h, h->priv)) {
		if (!opt.stall_any)
			return false;
		/* Only the kernel on this hart could make room, but the hart is stalled. */
		if (++e->stuck == STUCK)
			die("hart %u: stalled for ever, in code that is not traced", h->index);
	}
	te_set_lost(&h->te);
	show_control(h);
	e->stalls++;
	return true;
}

/*
 * Registers
 */

static struct nt_enc *new_enc(struct hart *h)
{
	uint32_t control = h->te.control, features = h->te.features;
	struct nt_enc_config c = {
		.size = sizeof(c),
		.htm = (control & TE_INST_MODE) >> TE_INST_MODE_SHIFT == TE_MODE_HTM,
		.context = control & TE_CONTEXT,
		.syncmode = (control & TE_SYNC_MODE) >> TE_SYNC_MODE_SHIFT,
		.syncmax = (control & TE_SYNC_MAX) >> TE_SYNC_MAX_SHIFT,
		.icnt_bits = opt.icnt_bits,
		.hist_bits = opt.hist_bits,
		.btype_1 = opt.btype_1,
		.emit = emit,
		.time = emit_time,
		.ctx = h,
	};
	struct nt_params p;

	nt_params_init(&p);
	if (!(control & TE_INHIBIT_SRC))
		p.srcbits = (features & TE_SRC_BITS) >> TE_SRC_BITS_SHIFT;
	p.src = (features & TE_SRC_ID) >> TE_SRC_ID_SHIFT & ((1u << p.srcbits) - 1);
	p.timestamps = h->te.ts.control & TS_ENABLE && ts_mode(&h->te.ts);
	p.addr_bits = opt.addr_bits;
	p.extaddr = features & TE_EXTEND_ADDR_MSB;
	p.seqjump = features & TE_SEQUENTIAL_JUMP;
	p.alljumps = features & TE_ALL_JUMPS;
	if (features & TE_IMPLICIT_RETURN)
		p.retstack = (features & TE_RETURN_MODE) >> TE_RETURN_MODE_SHIFT;
	if (opt.version0) {
		p.profile = NT_PROFILE_P550;
		p.srcbits = v0_src_bits(h);
		p.src = p.srcbits ? v0_src(h) : 0;
		p.timestamps = v0_has_timestamps(h);
	}
	return nt_enc_new(&p, &c);
}

static void forget(struct encode *e)
{
	nt_enc_free(e->enc);
	e->enc = NULL;
	e->open = false;
	e->start = NT_SYNC_TRACE_ENABLE;
}

/* Enable fell: trace that the sink does not take now is lost, or kept with fifo_stuck */
static void flush(struct hart *h)
{
	struct encode *e = h->encode;

	e->flushing = true;
	if (e->enc)
		nt_enc_flush(e->enc);
	e->flushing = false;
	drain(h, e->fill);
	if (h->comp && !e->fill)
		net_settle(h->comp);
	if (!opt.fifo_stuck)
		discard(h);
	forget(e);
	te_set_empty(&h->te, !e->fill);
}

static void restart_time(struct hart *h)
{
	bool core = ts_mode(&h->te.ts) == TS_INTERNAL_CORE;

	ts_restart(&h->te.ts, core ? guest_core_clock(h) : guest_time(h));
}

void encode_regs(struct hart *h, unsigned int todo)
{
	struct encode *e = h->encode;

	if (todo & TE_DO_TS_RESET)
		restart_time(h);
	if (todo & TE_DO_STOP) {
		encode_close(h, NT_EVCODE_DISABLE);
		truth_gate(h);
	}
	if (todo & TE_DO_FLUSH)
		flush(h);
	if (todo & TE_DO_RESET) {
		discard(h);
		forget(e);
	}
	if (todo & TE_DO_START) {
		if (!e->enc)
			e->enc = new_enc(h);
		loss_begin(h);
		h->priv_stale = true;
		h->cur = NULL;
	}
	if (todo)
		retire_rewatch(h);
}

/* Called between blocks, where registers may change */
void encode_fault(struct hart *h)
{
	struct component *c = h->comp;

	if (!c || !c->fault.enable_after || c->passed < c->fault.enable_after)
		return;
	c->fault.enable_after = 0;
	encode_regs(h, te_drop_enable(&h->te));
	show_control(h);
}

void encode_power_loss(struct hart *h)
{
	encode_regs(h, te_power_loss(&h->te));
	truth_regs(h, 0);
	if (h->comp)
		mmio_show_all(h->comp);
}

static FILE *open_trace(unsigned int hart)
{
	char *name = g_strdup_printf(opt.trace, hart);
	FILE *f = fopen(name, "w");

	if (!f)
		die("trace: cannot write %s", name);
	g_free(name);
	return f;
}

static void start_alone(struct hart *h)
{
	h->encode->file = open_trace(h->index);
	te_write(&h->te, TE_CONTROL, TE_ACTIVE);
	te_write(&h->te, TE_INST_FEATURES, opt.features);
	te_write(&h->te, TS_CONTROL, opt.ts_control);
	te_write(&h->te, TE_INST_FILTERS, 1);
	te_write(&h->te, TE_FILTER_INST(0), opt.privileges);
	te_write(&h->te, TE_FILTER(0), TE_FILTER_ENABLE | TE_FILTER_MATCH_PRIV |
				       (opt.comp_control ? TE_FILTER_MATCH_COMP(1) : 0));
	te_write(&h->te, TE_COMP_P_LOW(0), opt.comp_p);
	te_write(&h->te, TE_COMP_P_HIGH(0), opt.comp_p >> 32);
	te_write(&h->te, TE_COMP_S_LOW(0), opt.comp_s);
	te_write(&h->te, TE_COMP_S_HIGH(0), opt.comp_s >> 32);
	te_write(&h->te, TE_COMP(0), opt.comp_control);
	encode_regs(h, te_write(&h->te, TE_CONTROL,
				opt.control | TE_ACTIVE | TE_ENABLE | TE_INST_TRACING));
	h->encode->start = NT_SYNC_RESET;
	h->in_rom = true;
}

void encode_init_hart(struct hart *h)
{
	struct encode *e = g_new0(struct encode, 1);

	e->fifo = g_malloc(opt.fifo + NT_ENC_MSG_MAX);
	e->start = NT_SYNC_TRACE_ENABLE;
	h->encode = e;
	if (opt.trace)
		start_alone(h);
}

void encode_exit(struct hart *h)
{
	if (!h->encode->file)
		return;
	encode_close(h, NT_EVCODE_DISABLE);
	flush(h);
	fclose(h->encode->file);
}
