// SPDX-License-Identifier: GPL-2.0-only
/*
 * nt-loop.c does common messages in one loop, and must not be noticed: random programs, executed
 * at random, encoded, and in two of three rounds damaged; decoded with it, and without it, into
 * batches of different sizes. Both have to give the same events. The second time the program
 * may be mapped from many small files, whose code is shared.
 *
 * SEED and ROUNDS may be set in the environment.
 */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "cmocka-tap.h"
#include "nt-flow.h"
#include "randprog.h"

#define BYTES_MAX	400000
#define EVENTS_MAX	60000

static struct run {
	struct randprog prog;
	struct hart hart;
	bool beside;		/* other sources' messages among them */
	unsigned int srcbits;
	unsigned int shift;	/* log2 of what is mapped in one piece */
	uint64_t time, step;	/* of the trace clock; up to which it is decoded at a time */
	uint8_t bytes[BYTES_MAX];
	size_t len;
	struct nt_event events[2][EVENTS_MAX + 256];
} r;

static bool emit(void *ctx, const uint8_t *msg, unsigned int len)
{
	(void)ctx;
	if (!msg)
		return true;
	assert_true(r.len + len <= BYTES_MAX);
	memcpy(r.bytes + r.len, msg, len);
	r.len += len;
	while (r.beside && len > 1 && rnd(3) == 0) {
		assert_true(r.len + len <= BYTES_MAX);
		memcpy(r.bytes + r.len, msg, len);
		/* SRC follows TCODE, which has the first byte */
		r.bytes[r.len + 1] ^= 4 << rnd(r.srcbits < 6 ? r.srcbits : 6);
		r.len += len;
	}
	return true;
}

static uint64_t now(void *ctx)
{
	(void)ctx;
	r.time += rnd(8) ? rnd(20) : rnd(50) ? rnd(100000) : rnd(1ull << 45);
	return r.time;
}

static enum nt_mode true_mode(const struct nt_enc_config *c)
{
	return c->htm ? NT_MODE_HTM : NT_MODE_BTM;
}

/* What nt_loop() takes part in, and now and then what it must not */
static void random_options(struct nt_params *p, struct nt_enc_config *c)
{
	memset(c, 0, sizeof(*c));
	c->size = sizeof(*c);
	nt_params_init(p);
	p->xlen = rnd(3) ? 64 : 32;
	p->isa = NT_ISA_C | (rnd(2) ? NT_ISA_ZCMP | NT_ISA_ZCMT : NT_ISA_D);
	p->extaddr = rnd(4) == 0;
	p->alljumps = rnd(4) == 0;
	p->timestamps = rnd(2);
	if (rnd(3) == 0) {
		p->srcbits = 1 + rnd(12);
		p->src = rnd(4) ? (int)rnd(1u << p->srcbits) : -1;
	}
	p->seqjump = rnd(2);
	p->retstack = rnd(4);
	c->htm = rnd(2);
	/* told, wrongly told, or to be inferred */
	p->mode = rnd(3) ? NT_MODE_UNKNOWN : rnd(8) ? true_mode(c) : (enum nt_mode)(1 + rnd(2));
	c->context = rnd(3) == 0;
	c->icnt_bits = rnd(2) ? 4 + rnd(19) : 0;
	c->hist_bits = rnd(2) ? 2 + rnd(31) : 0;
	c->syncmode = rnd(4);
	c->syncmax = 2 + rnd(8);
	c->repeathist = c->htm && rnd(2);
	c->repeatbranch = !c->htm && rnd(2);
	c->emit = emit;
	c->time = now;
}

static void execute(const struct nt_params *p, const struct nt_enc_config *c,
		    unsigned int steps)
{
	unsigned int trap_every = rnd(3) ? 100 + rnd(1000) : 0;
	struct hart *h = &r.hart;
	struct nt_enc *enc = nt_enc_new(p, c);

	assert_non_null(enc);
	*h = (struct hart){ .prog = &r.prog, .before = NO_SLOT, .at = rnd(r.prog.nr) };
	h->stray = p->retstack == 1 ? 0 : rnd(3) ? 5 : 0;
	nt_enc_start(enc, NT_SYNC_TRACE_ENABLE);
	while (steps--) {
		const struct slot *s = &r.prog.slots[h->at];

		if (s->op == OP_TRAPS || (trap_every && rnd(trap_every) == 0)) {
			nt_enc_trap(enc, slot_pc(&r.prog, h->at), s->op != OP_TRAPS);
			hart_trap(h);
			continue;
		}
		nt_enc_retire(enc, slot_pc(&r.prog, h->at), s->raw, s->len);
		hart_step(h);
	}
	nt_enc_stop(enc, NT_EVCODE_DISABLE, slot_pc(&r.prog, h->at));
	nt_enc_flush(enc);
	nt_enc_free(enc);
}

static void damage(void)
{
	unsigned int times = 1 + rnd(6);

	while (times-- && r.len > 100) {
		size_t at = rnd(r.len), n = 1 + rnd(40);

		if (n > r.len - at)
			n = r.len - at;
		if (rnd(2)) {
			r.bytes[at] ^= 1u << rnd(8);
			continue;
		}
		memmove(r.bytes + at, r.bytes + at + n, r.len - at - n);
		r.len -= n;
	}
}

/* One piece after the other: of files, of the process's own memory, or of unknown origin */
static int map_piece(void *ctx, uint64_t space, uint64_t addr, struct nt_mapping *m)
{
	const uint64_t piece = addr >> r.shift;

	(void)ctx;
	(void)space;
	m->start = piece << r.shift;
	m->end = (piece + 1) << r.shift;
	m->file = piece % 7 ? 1 + piece : 0;
	m->offset = (piece * 64) % 4096;
	return piece % 11 ? 0 : -1;
}

static struct nt_code *new_code(const struct nt_params *params, struct nt_store *store)
{
	if (!store)
		return nt_code_new(params, program_read, &r.prog.mem);
	return nt_store_code(store, 0, program_read, map_piece, &r.prog.mem);
}

/* Events into e; how many */
static unsigned int decode(const struct nt_params *params, bool slow, struct nt_store *store,
			   struct nt_event *e)
{
	struct nt_code *code = new_code(params, store);
	struct nt_flow *flow = nt_flow_new(params);
	unsigned int n = 0, max = rnd(3) ? 64 + rnd(193) : 256;
	uint64_t limit = r.step ?: UINT64_MAX;
	int got;

	assert_true(code && flow);
	flow->slow = slow;
	if (rnd(2))
		flow->ahead_from = 0;
	nt_flow_set_code(flow, code, code);
	nt_flow_window(flow, r.bytes, r.len, 1000);
	nt_flow_limit(flow, limit);
	while (n < EVENTS_MAX &&
	       ((got = nt_flow_next(flow, e + n, max)) > 0 || nt_flow_at_limit(flow))) {
		/* which events are before the limit */
		if (!got) {
			e[n] = (struct nt_event){ .kind = UINT8_MAX, .time = limit };
			got = 1;
			nt_flow_limit(flow, limit += r.step);
		}
		n += got;
		if (rnd(100) == 0)
			nt_code_invalidate(code, r.prog.mem.base, r.prog.mem.base + rnd(4000));
	}
	nt_flow_free(flow);
	nt_code_free(code);
	return n < EVENTS_MAX ? n : EVENTS_MAX;
}

static void print(const char *what, const struct nt_event *e)
{
	print_message("# %s: kind %u type %u reason %u flags %x %" PRIx64 "->%" PRIx64
		      " insns %u at %" PRIu64 "\n", what, e->kind, e->type, e->reason, e->flags,
		      e->from, e->to, e->insns, e->offset);
}

static void compare(const struct nt_params *p, unsigned int round)
{
	struct nt_store *store = NULL;
	unsigned int n[2], i;

	r.shift = 1 + rnd(14);
	if (rnd(2))
		store = nt_store_new(p, rnd(2));
	n[0] = decode(p, true, NULL, r.events[0]);
	/* the first process leaves code for the second */
	if (store && rnd(2))
		decode(p, rnd(2), store, r.events[1]);
	n[1] = decode(p, false, store, r.events[1]);
	nt_store_free(store);
	for (i = 0; i < n[0] && i < n[1]; i++) {
		const struct nt_event *a = &r.events[0][i], *b = &r.events[1][i];

		if (!memcmp(a, b, sizeof(*a)))
			continue;
		print("without", a);
		print("with", b);
		fail_msg("round %u, event %u differs, pieces of %u bytes", round, i, 1u << r.shift);
	}
	assert_int_equal(n[0], n[1]);
}

/*
 * Events of the source's pieces, of the whole stream or of chunks of it. A flow that looks for a
 * sync message reports a loss in each chunk.
 */
static unsigned int decode_split(const struct nt_params *params, bool whole, struct nt_event *e)
{
	struct nt_code *code = new_code(params, NULL);
	struct nt_flow *flow = nt_flow_new(params);
	struct nt_demux *demux = nt_demux_new(params);
	size_t chunk = whole ? r.len : 1 + rnd(rnd(2) ? 1000 : 100000);
	size_t from = 0, to = 0, used, len;
	unsigned int n = 0, k;
	bool first = true;
	int got;

	assert_true(code && flow && demux);
	nt_flow_set_code(flow, code, code);
	while (to < r.len) {
		const uint8_t *piece;

		to = r.len - to > chunk ? to + chunk : r.len;
		assert_int_equal(nt_demux_split(demux, r.bytes + from, to - from, 1000 + from,
						to < r.len, &used), 0);
		from += used;
		piece = nt_demux_piece(demux, params->src, &len);
		nt_flow_open_end(flow, to < r.len);
		if (first)
			nt_flow_window(flow, piece, len, 0);
		else
			nt_flow_more(flow, piece, len, 0);
		first = false;
		while (n < EVENTS_MAX && (got = nt_flow_next(flow, e + n, 256)) > 0) {
			for (k = n; k < n + got; k++)
				e[k].offset = nt_demux_offset(demux, params->src, e[k].offset);
			n += got;
		}
		nt_demux_keep(demux, params->src, nt_flow_consumed(flow));
	}
	assert_int_equal(from, r.len);
	nt_demux_free(demux);
	nt_flow_free(flow);
	nt_code_free(code);
	return n < EVENTS_MAX ? n : EVENTS_MAX;
}

static unsigned int without_losses(struct nt_event *e, unsigned int n)
{
	unsigned int i, kept = 0;

	for (i = 0; i < n; i++)
		if (e[i].kind != NT_EV_LOSS)
			e[kept++] = e[i];
	return kept;
}

static void same_split(const struct nt_params *p, unsigned int round, unsigned int n[2])
{
	unsigned int i;

	for (i = 0; i < n[0] && i < n[1]; i++) {
		struct nt_event *a = &r.events[0][i], *b = &r.events[1][i];

		b->skipped = a->skipped;
		if (!memcmp(a, b, sizeof(*a)))
			continue;
		print("the whole stream", a);
		print("the piece", b);
		fail_msg("round %u, event %u differs, source %d", round, i, p->src);
	}
}

static void compare_split(const struct nt_params *params, unsigned int round)
{
	struct nt_params p = *params;
	unsigned int n[2], i;
	bool lost = false;

	p.src ^= rnd(2) << rnd(p.srcbits);
	r.step = 0;
	n[0] = decode(&p, false, NULL, r.events[0]);
	for (i = 0; i < n[0]; i++)
		lost |= r.events[0][i].kind == NT_EV_LOSS;
	n[1] = decode_split(&p, lost, r.events[1]);
	same_split(&p, round, n);
	assert_int_equal(n[0], n[1]);
	if (!lost || n[0] == EVENTS_MAX)
		return;
	n[1] = decode_split(&p, false, r.events[1]);
	n[0] = without_losses(r.events[0], n[0]);
	n[1] = without_losses(r.events[1], n[1]);
	same_split(&p, round, n);
	assert_int_equal(n[0], n[1]);
}

static void R115_same_events(void **unused)
{
	unsigned int rounds = getenv("ROUNDS") ? atoi(getenv("ROUNDS")) : 500, i;
	unsigned int timed = 0, sourced = 0;
	uint64_t bytes = 0;

	(void)unused;
	for (i = 0; i < rounds; i++) {
		struct nt_enc_config c;
		struct nt_params p;

		random_options(&p, &c);
		randprog_make(&r.prog, &p);
		p.jvt = r.prog.params.jvt;
		p.addr_bits = r.prog.params.addr_bits;
		r.beside = p.srcbits && p.src >= 0;
		r.srcbits = p.srcbits;
		r.time = rnd(1000);
		r.step = rnd(4) ? 0 : 1000 + rnd(1000000);
		r.len = 0;
		execute(&p, &c, 1000 + rnd(20000));
		if (rnd(3))
			damage();
		/* other profiles: it is not theirs, but both have to say so */
		if (rnd(8) == 0)
			p.profile = rnd(2) ? NT_PROFILE_P550 : NT_PROFILE_SIFIVE;
		bytes += r.len;
		timed += p.timestamps;
		sourced += p.srcbits != 0;
		compare(&p, i);
		if (r.beside)
			compare_split(&p, i);
	}
	print_message("# %u traces, %" PRIu64 " bytes, %u with timestamps, %u with SRC\n", rounds,
		      bytes, timed, sourced);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(R115_same_events) };
	const char *seed = getenv("SEED");

	rnd_state = seed ? strtoull(seed, NULL, 0) : (uint64_t)time(NULL) * 2654435761u + getpid();
	rnd_state |= 1;
	printf("# SEED=%" PRIu64 "\n", rnd_state);
	fflush(stdout);
	return RUN_TAP(tests);
}
