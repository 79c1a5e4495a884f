// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counting edges: what nt_flow_count() adds up is what nt_flow_next() delivers: for samples in all
 * modes, for random programs with random options, and for both damaged. SEED and ROUNDS may be set
 * in the environment.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmocka-tap.h"
#include "nt-count.h"
#include "nt-short.h"
#include "pack.h"
#include "randprog.h"

static const struct {
	const char *folder, *trace;
	uint8_t retstack;
} samples[] = {
	{ "towers", "L0.bin", 0 }, { "towers", "L1.bin", 0 }, { "towers", "L2.bin", 0 },
	{ "towers", "L3.bin", 3 }, { "towers", "L4.bin", 3 },
	{ "mix", "L0.bin", 0 }, { "mix", "L1.bin", 0 }, { "mix", "L2.bin", 0 },
	{ "mix", "L3.bin", 3 }, { "mix", "L4.bin", 3 },
};

#define NR_SAMPLES (sizeof(samples) / sizeof(samples[0]))

struct setting {
	struct nt_params params;
	struct nt_image *image;
	struct nt_code *code;
	struct nt_flow *flow;
	uint8_t *bytes;
	size_t len;
};

/* Sums that are equal when the edges and their counts are */
struct sums {
	uint64_t insns, branches, mix;
	unsigned int losses;
};

static uint64_t mix(uint64_t from, uint64_t to, unsigned int type)
{
	uint64_t h = (from * 31 + to) * 0x9e3779b97f4a7c15u + type;

	h ^= h >> 29;
	return h * 0xbf58476d1ce4e5b9u ^ from;
}

static void open_sample(struct setting *s, unsigned int n)
{
	const char *out = getenv("out");
	char path[4096];
	FILE *file;

	nt_params_init(&s->params);
	s->params.retstack = samples[n].retstack;
	s->image = nt_image_new();
	snprintf(path, sizeof(path), "%s/samples/%s/%s.elf", out ? out : "build/host",
		 samples[n].folder, samples[n].folder);
	assert_int_equal(nt_image_add_elf(s->image, path, 0), 0);
	snprintf(path, sizeof(path), "%s/samples/%s/%s", out ? out : "build/host",
		 samples[n].folder, samples[n].trace);
	file = fopen(path, "rb");
	assert_non_null(file);
	s->bytes = malloc(1 << 20);
	assert_non_null(s->bytes);
	s->len = fread(s->bytes, 1, 1 << 20, file);
	fclose(file);
	s->code = nt_code_new(&s->params, nt_image_read, s->image);
	s->flow = nt_flow_new(&s->params);
	nt_flow_set_code(s->flow, s->code, s->code);
}

static void close_sample(struct setting *s)
{
	nt_flow_free(s->flow);
	nt_code_free(s->code);
	nt_image_free(s->image);
	free(s->bytes);
}

static void deliver(struct setting *s, struct sums *sums)
{
	struct nt_event ev[256];
	int i, n;

	nt_flow_window(s->flow, s->bytes, s->len, 0);
	while ((n = nt_flow_next(s->flow, ev, 256)) > 0) {
		for (i = 0; i < n; i++) {
			sums->insns += ev[i].insns;
			sums->losses += ev[i].kind == NT_EV_LOSS;
			if (ev[i].kind != NT_EV_BRANCH)
				continue;
			sums->branches++;
			sums->mix += mix(ev[i].from, ev[i].to, ev[i].type);
		}
	}
	assert_int_equal(n, 0);
}

static void count(struct setting *s, struct nt_counts *counts)
{
	struct nt_event ev[256];
	int n;

	nt_flow_window(s->flow, s->bytes, s->len, 0);
	while ((n = nt_flow_count(s->flow, counts, ev, 256)) > 0)
		while (n--)
			assert_int_not_equal(ev[n].kind, NT_EV_BRANCH);
	assert_int_equal(n, 0);
}

static void total(struct nt_counts *counts, struct sums *sums, struct nt_counts_stats *stats)
{
	size_t i, n;
	const struct nt_edge *edge = nt_counts_edges(counts, &n);

	for (i = 0; i < n; i++) {
		sums->branches += edge[i].count;
		sums->mix += mix(edge[i].from, edge[i].to, edge[i].type) * edge[i].count;
	}
	stats->size = sizeof(*stats);
	nt_counts_get_stats(counts, stats);
	sums->insns = stats->insns;
}

static void counts_are_equal(void **state)
{
	unsigned int n, again;

	(void)state;
	for (n = 0; n < NR_SAMPLES; n++) {
		struct nt_counts *counts = nt_counts_new();
		struct sums slow = { 0 }, fast = { 0 };
		struct nt_counts_stats stats;
		struct setting s;

		open_sample(&s, n);
		for (again = 0; again < 3; again++) {
			deliver(&s, &slow);
			count(&s, counts);
			/* the program's numbers become stale, memos with them */
			if (again == 1)
				nt_code_invalidate(s.code, 0, 0);
		}
		total(counts, &fast, &stats);
		assert_int_equal(slow.losses, 0);
		assert_true(slow.branches > 100);
		assert_int_equal(slow.branches, fast.branches);
		assert_int_equal(slow.insns, fast.insns);
		assert_int_equal(slow.mix, fast.mix);
		assert_true(stats.hits > stats.walks / 4);
		nt_counts_free(counts);
		close_sample(&s);
	}
}

static void damage_does_no_harm(void **state)
{
	uint64_t x = 88172645463325252u;
	unsigned int n, round, i;

	(void)state;
	for (n = 0; n < NR_SAMPLES; n++) {
		struct nt_counts *counts = nt_counts_new();
		struct nt_counts_stats stats;
		struct sums fast = { 0 };
		struct setting s;

		open_sample(&s, n);
		for (round = 0; round < 20; round++) {
			for (i = 0; i < 20; i++) {
				x ^= x << 13;
				x ^= x >> 7;
				x ^= x << 17;
				s.bytes[x % s.len] ^= x >> 40;
			}
			count(&s, counts);
		}
		total(counts, &fast, &stats);
		assert_true(fast.branches > 0);
		nt_counts_free(counts);
		close_sample(&s);
	}
}

/* ------------------------------------------------------ what a hit needs - */

#define BYTES_MAX	200000

static struct traced {
	struct program mem;
	struct nt_enc *enc;
	struct nt_enc_config cfg;
	struct nt_params params;
	uint8_t bytes[BYTES_MAX];
	size_t len;
	uint64_t now;
	uint32_t syncs;		/* to be reported */
} traced;

static bool emit(void *ctx, const uint8_t *msg, unsigned int len)
{
	struct traced *t = ctx;

	assert_true(t->len + len <= BYTES_MAX);
	if (msg)
		memcpy(t->bytes + t->len, msg, len);
	t->len += msg ? len : 0;
	return true;
}

static uint64_t now(void *ctx)
{
	return ((struct traced *)ctx)->now;
}

static void retire(uint64_t pc)
{
	uint32_t insn = 0;

	assert_true(program_read(&traced.mem, 0, pc, &insn, 4) == 4);
	nt_enc_retire(traced.enc, pc, insn, 4);
}

static void open_traced(struct setting *s, const struct nt_params *params, void *mem)
{
	s->params = *params;
	s->image = NULL;
	s->bytes = traced.bytes;
	s->len = traced.len;
	s->code = nt_code_new(&s->params, program_read, mem);
	s->flow = nt_flow_new(&s->params);
	assert_non_null(s->code);
	assert_non_null(s->flow);
	nt_flow_set_code(s->flow, s->code, s->code);
	nt_flow_report_syncs(s->flow, traced.syncs);
}

/* The same for messages that a test has packed, with idle bytes behind them */
static void open_packed(struct setting *s, const struct nt_params *params, struct program *mem,
			struct pack *k)
{
	memset(k->buf + k->len, 0xff, 64);
	k->len += 64;
	memcpy(traced.bytes, k->buf, k->len);
	traced.len = k->len;
	open_traced(s, params, mem);
}

static void close_traced(struct setting *s)
{
	nt_flow_free(s->flow);
	nt_code_free(s->code);
}

/*
 * The same message at the same place, but the return in it leads elsewhere: a function that jumps,
 * then returns, called from two places that go on alike.
 */
static void two_callers(void)
{
	static const uint64_t path[2][7] = {
		{ 0x1000, 0x2000, 0x3000, 0x3004, 0x2004, 0x2008, 0 },
		{ 0x1000, 0x2100, 0x3000, 0x3004, 0x2104, 0x2108, 0 },
	};
	struct program *p = &traced.mem;
	unsigned int i, k;

	memset(&traced, 0, sizeof(traced));
	org(p, 0x1000);
	jr(p);
	for (i = 0; i < 2; i++) {
		org(p, 0x2000 + i * 0x100);
		call(p, 0x3000);
		add(p);
		jr(p);
	}
	org(p, 0x3000);
	jr(p);
	ret(p);
	traced.cfg.size = sizeof(traced.cfg);
	nt_params_init(&traced.params);
	traced.params.retstack = 3;
	traced.cfg.htm = true;
	traced.cfg.emit = emit;
	traced.cfg.ctx = &traced;
	traced.enc = nt_enc_new(&traced.params, &traced.cfg);
	assert_non_null(traced.enc);
	nt_enc_start(traced.enc, NT_SYNC_TRACE_ENABLE);
	for (i = 0; i < 50; i++)
		for (k = 0; path[i & 1][k]; k++)
			retire(path[i & 1][k]);
	nt_enc_stop(traced.enc, NT_EVCODE_DISABLE, 0x1000);
	nt_enc_free(traced.enc);
}

static void a_hit_needs_the_same_return_stack(void **state)
{
	struct nt_counts *counts = nt_counts_new();
	struct sums slow = { 0 }, fast = { 0 };
	struct nt_counts_stats stats;
	struct setting s;

	(void)state;
	two_callers();
	open_traced(&s, &traced.params, &traced.mem);
	deliver(&s, &slow);
	count(&s, counts);
	total(counts, &fast, &stats);
	assert_int_equal(slow.losses, 0);
	assert_int_equal(slow.branches, fast.branches);
	assert_int_equal(slow.insns, fast.insns);
	assert_int_equal(slow.mix, fast.mix);
	/* both ways are remembered */
	assert_true(stats.hits > stats.walks * 3 / 4);
	nt_counts_free(counts);
	close_traced(&s);
}

/*
 * DebugStatus has TCODE 0, so its first byte may be 0. The bytes behind that one may be those of a
 * message that is remembered.
 */
static void debug_status_is_no_hit(void **state)
{
	struct nt_counts *counts = nt_counts_new();
	struct sums slow = { 0 }, fast = { 0 };
	struct nt_counts_stats stats;
	static struct pack k;
	struct setting s;
	unsigned int i;

	(void)state;
	memset(&traced, 0, sizeof(traced));
	org(&traced.mem, 0x100);
	add(&traced.mem);
	beq(&traced.mem, 0x100);
	nt_params_init(&traced.params);
	traced.params.mode = NT_MODE_BTM;
	pack_init(&k);
	pack_ptsync(&k, 5, 0, 0x100);
	for (i = 0; i < 40; i++) {
		if (i > 20 && i % 2)
			k.buf[k.len++] = 0;
		pack_db(&k, 4);
	}
	open_packed(&s, &traced.params, &traced.mem, &k);
	deliver(&s, &slow);
	count(&s, counts);
	total(counts, &fast, &stats);
	assert_int_equal(slow.losses, fast.losses);
	assert_int_equal(slow.branches, fast.branches);
	assert_true(slow.branches < 40);
	assert_true(stats.hits > 0);
	nt_counts_free(counts);
	close_traced(&s);
}

/*
 * More calls than the return stack holds, all of them by the same message at the same place, then
 * `rets` returns in one message, all but the last silent.
 */
static void nested_calls(struct pack *k, unsigned int calls, unsigned int rets)
{
	pack_init(k);
	pack_ptsync(k, 5, 0, 0x100);
	pack_ibh(k, 0, 2, 0x100 ^ 0x104, 1);
	while (--calls)
		pack_ibh(k, 0, 4, 0, 1);
	pack_ibh(k, 0, 4, 0x104 ^ 0x108, 1);
	pack_ibh(k, 0, 2 * rets, 0x108 ^ 0x100, 1);
	pack_ptc(k, 4, 0, 1);
	memset(k->buf + k->len, 0xff, 64);
	k->len += 64;
}

/* A memo is not for a return stack that has no room for what it pushes. */
static void R131_a_hit_needs_room_on_the_stack(void **state)
{
	static struct program mem;
	static struct pack k;
	unsigned int calls, rets;
	struct nt_params params;

	(void)state;
	org(&mem, 0x100);
	jr(&mem);		/* to 104, or 108 */
	call(&mem, 0x100);
	ret(&mem);
	nt_params_init(&params);
	params.retstack = 3;
	for (calls = 30; calls < 36; calls++)
	for (rets = 31; rets < 36; rets++) {
		struct nt_counts *counts = nt_counts_new();
		struct sums slow = { 0 }, fast = { 0 };
		struct nt_counts_stats stats;
		struct setting s;
		unsigned int again;

		nested_calls(&k, calls, rets);
		memcpy(traced.bytes, k.buf, k.len);
		traced.len = k.len;
		open_traced(&s, &params, &mem);
		for (again = 0; again < 2; again++) {
			deliver(&s, &slow);
			count(&s, counts);
		}
		total(counts, &fast, &stats);
		/* the stack has 32 entries; the last return is reported */
		assert_int_equal(slow.losses, rets - 1 > (calls < 32 ? calls : 32) ? 2 : 0);
		assert_int_equal(slow.branches, fast.branches);
		assert_int_equal(slow.insns, fast.insns);
		assert_int_equal(slow.mix, fast.mix);
		assert_true(stats.hits > calls / 2);
		nt_counts_free(counts);
		close_traced(&s);
	}
}

/* A message of exactly the time that is the limit is replayed, one of a later time is not. */
static void R124_limit_holds_a_hit_back(void **state)
{
	struct nt_counts *counts = nt_counts_new();
	static struct program mem;
	static struct pack k;
	struct nt_params params;
	struct nt_counts_stats stats;
	struct nt_event ev[256];
	struct setting s;
	uint64_t limit;
	size_t at, i;

	(void)state;
	org(&mem, 0x100);
	add(&mem);
	beq(&mem, 0x100);
	nt_params_init(&params);
	params.timestamps = true;
	params.mode = NT_MODE_BTM;
	pack_init(&k);
	k.timestamp = 1000;
	pack_ptsync(&k, 5, 0, 0x100);
	at = k.len;
	k.timestamp = 1;
	for (i = 0; i < 100; i++)
		pack_db(&k, 4);
	open_packed(&s, &params, &mem, &k);
	nt_flow_window(s.flow, s.bytes, s.len, 0);
	for (limit = 1000; limit < 1100; limit++) {
		stats.size = sizeof(stats);
		nt_flow_limit(s.flow, limit);
		while (nt_flow_count(s.flow, counts, ev, 256) > 0)
			;
		assert_true(nt_flow_at_limit(s.flow));
		assert_int_equal(nt_flow_consumed(s.flow), at + (limit - 1000) * 3);
		nt_counts_get_stats(counts, &stats);
		assert_int_equal(stats.insns, 2 * (limit - 1000));
	}
	assert_true(stats.hits > 90);
	nt_counts_free(counts);
	close_traced(&s);
}

/*
 * A message that was begun without a limit is later than the limit that is set now: its events are
 * delivered, also those that wait for its end. So a caller that decodes an interval event by event
 * has all of them.
 */
static void R124_begun_message_is_not_counted(void **state)
{
	struct nt_counts *counts = nt_counts_new();
	static struct program mem;
	static struct pack k;
	struct nt_params params;
	struct nt_event ev[256];
	unsigned int first, late, i;
	struct setting s;
	int n;

	(void)state;
	org(&mem, 0x100);
	add(&mem);
	beq(&mem, 0x100);
	nt_params_init(&params);
	params.timestamps = true;
	params.mode = NT_MODE_HTM;
	pack_init(&k);
	k.timestamp = 1000;
	pack_ptsync(&k, 5, 0, 0x100);
	k.timestamp = 10;
	pack_rf(&k, 1, 0x1f);
	k.timestamp = 1000;
	pack_rf(&k, 1, (2u << 30) - 1);
	open_packed(&s, &params, &mem, &k);
	for (first = 9; first < 60; first++) {
		late = 0;
		nt_flow_window(s.flow, s.bytes, s.len, 0);
		nt_flow_limit(s.flow, UINT64_MAX);
		n = nt_flow_next(s.flow, ev, first);
		for (i = 0; i < (unsigned int)n; i++)
			late += ev[i].kind == NT_EV_BRANCH && ev[i].time == 2010;
		nt_flow_limit(s.flow, 1500);
		while ((n = nt_flow_count_until(s.flow, counts, ev, 256)) > 0)
			for (i = 0; i < (unsigned int)n; i++)
				late += ev[i].kind == NT_EV_BRANCH && ev[i].time == 2010;
		assert_int_equal(n, 0);
		/* it was not begun, or all of its 30 branches are there */
		assert_true(!late || late == 30);
		assert_true(late || first < 16);
	}
	nt_counts_free(counts);
	close_traced(&s);
}

/* ------------------------------------------------------ random programs -- */

static struct randprog prog;

static void random_options(struct nt_params *p, struct nt_enc_config *c)
{
	memset(c, 0, sizeof(*c));
	c->size = sizeof(*c);
	random_params(p);
	c->htm = rnd(2);
	if (rnd(2))
		p->mode = rnd(20) && c->htm ? NT_MODE_HTM : NT_MODE_BTM;
	c->context = rnd(3) == 0;
	c->btype_1 = rnd(2);
	c->icnt_bits = rnd(2) ? 4 + rnd(19) : 0;
	c->hist_bits = rnd(2) ? 2 + rnd(31) : 0;
	c->syncmode = rnd(4);
	c->syncmax = rnd(6);
	c->repeathist = rnd(2);
	c->repeatbranch = !c->htm && rnd(2);
	c->emit = emit;
	c->time = now;
	c->ctx = &traced;
}

static void execute(unsigned int steps)
{
	struct hart hart = { .prog = &prog, .before = NO_SLOT };
	unsigned int trap_every = rnd(3) ? 50 + rnd(300) : 0;

	random_options(&traced.params, &traced.cfg);
	randprog_make(&prog, &traced.params);
	traced.params.jvt = prog.params.jvt;
	traced.params.addr_bits = prog.params.addr_bits;
	traced.params.tstamp_bits = rnd(2) ? 8 + rnd(57) : 0;
	traced.len = 0;
	traced.now = rnd(1ull << 40);
	traced.syncs = rnd(2) ? rnd(1 << 16) : 0;
	hart.at = rnd(prog.nr);
	hart.stray = traced.params.retstack == 1 ? 0 : rnd(3) ? 5 : 0;
	traced.enc = nt_enc_new(&traced.params, &traced.cfg);
	assert_non_null(traced.enc);
	nt_enc_start(traced.enc, NT_SYNC_TRACE_ENABLE);
	while (steps--) {
		const struct slot *slot = &prog.slots[hart.at];
		uint64_t pc = slot_pc(&prog, hart.at);

		traced.now += rnd(4);
		if (traced.cfg.context && rnd(100) == 0)
			nt_enc_context(traced.enc, 2, rnd(2), false, rnd(1000));
		if (slot->op == OP_TRAPS || (trap_every && rnd(trap_every) == 0)) {
			nt_enc_trap(traced.enc, pc, slot->op != OP_TRAPS);
			hart_trap(&hart);
			continue;
		}
		nt_enc_retire(traced.enc, pc, slot->raw, slot->len);
		hart_step(&hart);
	}
	nt_enc_stop(traced.enc, NT_EVCODE_DISABLE, slot_pc(&prog, hart.at));
	nt_enc_free(traced.enc);
}

static void mutate(uint8_t *bytes, size_t len)
{
	unsigned int n = 1 + rnd(10);

	while (n-- && len) {
		size_t at = rnd(len);

		/* another one's byte, or any */
		bytes[at] = rnd(2) ? bytes[rnd(len)] : rnd(256);
	}
}

/* What nt_flow_next() delivers meanwhile counts too. */
static int step(struct setting *s, struct nt_counts *counts, struct sums *sums)
{
	struct nt_event ev[256];
	bool counted = rnd(4);
	int i, n;

	/* now and then a while without memos, as if they were of no use */
	if (rnd(20) == 0)
		counts->pause = rnd(4);
	n = counted ? nt_flow_count(s->flow, counts, ev, 256) : nt_flow_next(s->flow, ev, 64);
	for (i = 0; i < n; i++) {
		sums->losses += ev[i].kind == NT_EV_LOSS;
		sums->insns += counted ? 0 : ev[i].insns;
		if (ev[i].kind != NT_EV_BRANCH)
			continue;
		assert_false(counted);
		sums->branches++;
		sums->mix += mix(ev[i].from, ev[i].to, ev[i].type);
	}
	return n;
}

/* What is replayed has the time of a clock that wraps, too */
static void R124_hits_of_a_clock_that_wraps(void **state)
{
	struct nt_counts *counts = nt_counts_new();
	static struct program mem;
	static struct pack k;
	struct nt_params params;
	struct nt_event ev[256];
	struct setting s;
	uint64_t time = 0;
	unsigned int i;
	int n;

	(void)state;
	org(&mem, 0x100);
	add(&mem);
	beq(&mem, 0x100);
	nt_params_init(&params);
	params.timestamps = true;
	params.tstamp_bits = 8;
	params.mode = NT_MODE_BTM;
	pack_init(&k);
	k.timestamp = 0;
	pack_ptsync(&k, 5, 0, 0x100);
	for (i = 1; i <= 100; i++) {
		k.timestamp = i * 100 & 0xff;
		pack_dbsync(&k, 2, 4, 0x100);
	}
	k.timestamp = 1;
	pack_ptc(&k, 4, 2, 0);
	open_packed(&s, &params, &mem, &k);
	nt_flow_window(s.flow, s.bytes, s.len, 0);
	while ((n = nt_flow_count(s.flow, counts, ev, 256)) > 0)
		time = ev[n - 1].time;
	assert_int_equal(n, 0);
	assert_int_equal(time, 100 * 100 + 1);
	nt_counts_free(counts);
	close_traced(&s);
}

/* In pieces of time */
static void count_randomly(struct setting *s, struct nt_counts *counts, struct sums *sums)
{
	uint64_t limit = s->params.timestamps && rnd(2) ? traced.now - rnd(10000) : UINT64_MAX;
	int n;

	nt_flow_window(s->flow, s->bytes, s->len, 0);
	for (;;) {
		nt_flow_limit(s->flow, limit);
		while ((n = step(s, counts, sums)) > 0)
			;
		assert_int_equal(n, 0);
		if (!nt_flow_at_limit(s->flow))
			break;
		limit = rnd(20) ? limit + rnd(2000) : UINT64_MAX;
	}
}

/* The trace, again and again: whole, with other code, damaged */
static void count_often(struct nt_counts *counts, uint64_t *walks, uint64_t *hits)
{
	struct sums slow = { 0 }, fast = { 0 }, all;
	struct nt_counts_stats stats;
	struct setting s, own;
	unsigned int pass, at;

	open_traced(&s, &traced.params, &prog.mem);
	open_traced(&own, &traced.params, &prog.mem);
	/* against the plainest decoder there is, too */
	own.flow->slow = rnd(2);
	for (pass = 0; pass < 5; pass++) {
		if (pass == 2) {
			at = 2 * rnd(20 + rnd(200));
			memcpy(prog.mem.bytes + at, "\1", 2);	/* C.NOP */
			nt_code_invalidate(s.code, prog.mem.base + at, prog.mem.base + at + 2);
			nt_code_invalidate(own.code, prog.mem.base + at, prog.mem.base + at + 2);
		}
		if (pass >= 3)
			mutate(traced.bytes, traced.len);
		deliver(&own, &slow);
		count_randomly(&s, counts, &fast);
		all = fast;
		total(counts, &all, &stats);
		all.insns = fast.insns + stats.insns;
		assert_int_equal(slow.losses, all.losses);
		assert_int_equal(slow.branches, all.branches);
		assert_int_equal(slow.insns, all.insns);
		assert_int_equal(slow.mix, all.mix);
	}
	*walks += stats.walks;
	*hits += stats.hits;
	close_traced(&s);
	close_traced(&own);
}

static void random_programs_are_counted(void **state)
{
	const char *set = getenv("ROUNDS");
	unsigned long n, rounds = set ? strtoul(set, NULL, 0) : 300;
	uint64_t walks = 0, hits = 0;

	(void)state;
	for (n = 0; n < rounds; n++) {
		struct nt_counts *counts = nt_counts_new();

		assert_non_null(counts);
		execute(1 + rnd(3000));
		count_often(counts, &walks, &hits);
		nt_counts_free(counts);
	}
	print_message("# %" PRIu64 " of %" PRIu64 " messages were replayed\n", hits, walks);
	assert_true(hits > walks / 4);
}

/* What nt_flow_next() delivers of the window that is next */
static struct {
	struct nt_event *ev;
	size_t n, room;
} told;

static void tell(struct setting *s)
{
	int n;

	nt_flow_window(s->flow, s->bytes, s->len, 0);
	told.n = 0;
	do {
		if (told.n + 256 > told.room) {
			told.room = 2 * told.room + 256;
			told.ev = realloc(told.ev, told.room * sizeof(*told.ev));
			assert_non_null(told.ev);
		}
		n = nt_flow_next(s->flow, told.ev + told.n, 256);
		assert_true(n >= 0);
		told.n += n;
	} while (n);
}

static uint64_t branches_of(struct nt_counts *counts)
{
	uint64_t sum = 0;
	size_t i, n;
	const struct nt_edge *edge = nt_counts_edges(counts, &n);

	for (i = 0; i < n; i++)
		sum += edge[i].count;
	return sum;
}

struct range {
	uint64_t start, end;
};

static bool overlaps(void *ctx, uint64_t start, uint64_t end)
{
	const struct range *r = ctx;

	return start < r->end && r->start < end;
}

/* Did any of the watched code run before told.ev[at], whose instruction has `len` bytes? */
static bool ran_before(struct range *watched, size_t at, unsigned int len)
{
	const struct nt_event *ev = &told.ev[at], *before = ev;

	do
		before--;
	while (before >= told.ev && !nt_event_leads(before));
	return ev->insns && before >= told.ev && overlaps(watched, before->to, ev->from + len);
}

static bool is_counted(struct range *watched, size_t at, unsigned int len)
{
	const struct nt_event *ev = &told.ev[at];

	return ev->kind == NT_EV_BRANCH && !(ev->flags & NT_EVF_LEFT) &&
	       !nt_type_is_trap(ev->type) && !ran_before(watched, at, len);
}

/*
 * Is this event, or another one of its message, one that must not be counted? Or did watched code
 * run between them and the next event?
 */
static bool ends_counting(struct range *watched, size_t at)
{
	const uint64_t offset = told.ev[at].offset;

	for (; at < told.n && told.ev[at].offset == offset; at++)
		if (!is_counted(watched, at, 4))
			return true;
	return at == told.n || told.ev[at].kind != NT_EV_BRANCH ||
	       overlaps(watched, told.ev[at - 1].to, told.ev[at].from + 4);
}

/* The events equal those of nt_flow_next() from *at on, of which so many branches were counted. */
static void compare_told(const struct nt_event *ev, int n, uint64_t counted, size_t *at,
			 bool damaged, struct range *watched)
{
	int i;

	assert_int_equal(n && ev->kind == NT_EV_COUNTED, counted > 0);
	assert_true(*at + counted <= told.n);
	for (; counted; counted--, ++*at)
		assert_true(is_counted(watched, *at, 2));
	for (i = 0; i < n; i++) {
		if (ev[i].kind == NT_EV_COUNTED) {
			assert_int_equal(i, 0);
			assert_int_equal(ev[i].to, told.ev[*at - 1].to);
			assert_true(damaged || ev[i].time >= told.ev[*at - 1].time);
			continue;
		}
		assert_true(*at < told.n);
		assert_int_equal(ev[i].kind, told.ev[*at].kind);
		assert_int_equal(ev[i].from, told.ev[*at].from);
		assert_int_equal(ev[i].to, told.ev[*at].to);
		assert_int_equal(ev[i].time, told.ev[*at].time);
		assert_int_equal(ev[i].offset, told.ev[*at].offset);
		assert_int_equal(ev[i].flags, told.ev[*at].flags);
		assert_int_equal(ev[i].insns, told.ev[*at].insns);
		++*at;
	}
}

/* A mode that is inferred or wrong, and what RepeatBranch repeats, depend on later messages. */
static bool in_pieces(void)
{
	unsigned int mode = traced.cfg.htm ? NT_MODE_HTM : NT_MODE_BTM;

	return rnd(2) && traced.params.mode == mode && !traced.cfg.repeatbranch;
}

/* Now and then a few events, then as many branches as can be counted, in pieces of time */
static void count_between(struct setting *s, struct nt_counts *counts, bool damaged,
			  struct range *watched)
{
	uint64_t limit = s->params.timestamps && rnd(2) ? traced.now - rnd(10000) : UINT64_MAX;
	struct nt_event ev[256];
	struct nt_counts_stats stats;
	size_t at = 0, from = 0, end, k;
	uint64_t insns;
	int n, first, i;

	stats.size = sizeof(stats);
	nt_counts_get_stats(counts, &stats);
	insns = -stats.insns;
	end = damaged || !in_pieces() ? s->len : rnd(s->len + 1);
	nt_flow_open_end(s->flow, end < s->len);
	nt_flow_window(s->flow, s->bytes, end, 0);
	nt_flow_limit(s->flow, limit);
	for (;;) {
		uint64_t before = branches_of(counts);
		bool events = rnd(3) == 0;

		if (rnd(20) == 0)
			counts->pause = rnd(4);
		n = events ? nt_flow_next(s->flow, ev, 1 + rnd(40)) :
			     nt_flow_count_until(s->flow, counts, ev, 256);
		assert_true(n >= 0);
		compare_told(ev, n, branches_of(counts) - before, &at, damaged, watched);
		/* nothing ends the counting but what must not be counted */
		first = n && ev->kind == NT_EV_COUNTED;
		if (!events && n > first)
			assert_true(ends_counting(watched, at - (size_t)(n - first)));
		for (i = 0; i < n; i++)
			insns += ev[i].insns;
		if (n)
			continue;
		if (nt_flow_at_limit(s->flow)) {
			limit = rnd(20) ? limit + rnd(2000) : UINT64_MAX;
			nt_flow_limit(s->flow, limit);
		} else if (end < s->len) {
			from += nt_flow_consumed(s->flow);
			end = s->len;
			nt_flow_open_end(s->flow, false);
			nt_flow_more(s->flow, s->bytes + from, end - from, from);
		} else {
			break;
		}
	}
	assert_int_equal(at, told.n);
	/* each instruction is in an event or in the statistics */
	nt_counts_get_stats(counts, &stats);
	insns += stats.insns;
	for (k = 0; k < told.n; k++)
		insns -= told.ev[k].insns;
	assert_int_equal(insns, 0);
}

/* Only branches are counted; all other events are delivered, and the target of the last branch. */
static void others_are_told_in_their_place(void **state)
{
	const char *set = getenv("ROUNDS");
	unsigned long n, rounds = set ? strtoul(set, NULL, 0) : 100;
	struct setting s, own;
	unsigned int pass;

	(void)state;
	for (n = 0; n < rounds; n++) {
		struct nt_counts *counts = nt_counts_new();
		struct range watched = { 0 };

		assert_non_null(counts);
		execute(1 + rnd(3000));
		if (rnd(2)) {
			watched.start = slot_pc(&prog, rnd(prog.nr)) + rnd(2) * 2;
			watched.end = watched.start + 2 + rnd(8);
			nt_counts_watch(counts, overlaps, &watched);
		}
		open_traced(&s, &traced.params, &prog.mem);
		open_traced(&own, &traced.params, &prog.mem);
		for (pass = 0; pass < 4; pass++) {
			if (pass == 3)
				mutate(traced.bytes, traced.len);
			tell(&own);
			count_between(&s, counts, pass == 3, &watched);
		}
		nt_counts_free(counts);
		close_traced(&s);
		close_traced(&own);
	}
	free(told.ev);
	memset(&told, 0, sizeof(told));
}

/* A DirectBranch whose I-CNT has so many leading zeros that no memo stands for it */
static void pack_long(struct pack *k)
{
	k->buf[k->len++] = NT_TCODE_DIRECT_BRANCH << 2;
	k->buf[k->len++] = 4 << 2;
	memset(k->buf + k->len, 0, 16);
	k->len += 16;
	k->buf[k->len++] = 1;		/* the end of I-CNT */
	k->buf[k->len++] = 1 << 2 | 3;	/* TSTAMP */
}

/*
 * Count the branches of a trace twice, and compare with the events of nt_flow_next(). @branches:
 * the number of branches that each pass counts
 */
static void count_packed(struct pack *k, struct program *mem, bool timestamps,
			 struct range *watched, unsigned int branches)
{
	struct nt_counts *counts = nt_counts_new();
	struct nt_event ev[256];
	struct nt_params params;
	struct setting s, own;
	unsigned int pass;
	size_t at;
	int n;

	nt_params_init(&params);
	params.mode = NT_MODE_BTM;
	params.timestamps = timestamps;
	memset(k->buf + k->len, 0xff, 64);
	k->len += 64;
	memcpy(traced.bytes, k->buf, k->len);
	traced.len = k->len;
	open_traced(&s, &params, mem);
	open_traced(&own, &params, mem);
	nt_counts_watch(counts, watched->end ? overlaps : NULL, watched);
	for (pass = 1; pass <= 2; pass++) {
		tell(&own);
		nt_flow_window(s.flow, s.bytes, s.len, 0);
		for (at = 0; at < told.n; ) {
			uint64_t before = branches_of(counts);

			n = nt_flow_count_until(s.flow, counts, ev, 256);
			assert_true(n > 0);
			compare_told(ev, n, branches_of(counts) - before, &at, false, watched);
		}
		assert_int_equal(branches_of(counts), pass * branches);
	}
	nt_counts_free(counts);
	close_traced(&s);
	close_traced(&own);
	free(told.ev);
	memset(&told, 0, sizeof(told));
}

/*
 * A message that lacks its TSTAMP is a NOTICE before its branch. The batch ends between the two,
 * and the next one must not count what is behind the message before it tells the NOTICE. The batch
 * holds the NOTICE back if it has another event.
 */
static void a_notice_is_told_in_its_place(void **state)
{
	struct range watched = { 0 };
	static struct program mem;
	static struct pack k;
	unsigned int i;

	(void)state;
	org(&mem, 0x100);
	add(&mem);
	beq(&mem, 0x100);
	pack_init(&k);
	k.timestamp = 1;
	pack_ptsync(&k, 5, 0, 0x100);
	for (i = 0; i < 10; i++)
		pack_db(&k, 4);
	pack_long(&k);
	k.timestamp = -1;
	pack_dbsync(&k, 2, 4, 0x100);
	k.timestamp = 1;
	for (i = 0; i < 10; i++)
		pack_db(&k, 4);
	/* The branch of the NOTICE's message is an event, and not counted. */
	count_packed(&k, &mem, true, &watched, 21);
}

/* Enter a loop at the instruction before its head, where a sync message ends, @n times. */
static void watched_loop(struct pack *k, struct program *mem, unsigned int n)
{
	unsigned int i;

	org(mem, 0x100);
	add(mem);
	add(mem);		/* the head */
	beq(mem, 0x104);
	j(mem, 0x100);
	pack_init(k);
	pack_ptsync(k, 5, 0, 0x104);
	while (n--) {
		for (i = 0; i < 5; i++)
			pack_db(k, 4);
		pack_ptsync(k, 2, 8, 0x104);
	}
	pack_ptc(k, 4, 0, 0);
}

/* The branch behind a sync message is not counted if watched code ran before the message. */
static void watched_code_before_a_sync(void **state)
{
	struct range watched = { 0x100, 0x104 };
	static struct program mem;
	static struct pack k;

	(void)state;
	watched_loop(&k, &mem, 20);
	/*
	 * Not counted: the last branch of each round, whose message runs watched code behind it,
	 * and the first branch behind that
	 */
	count_packed(&k, &mem, false, &watched, 20 * 6 - 20 - 19);
}

/* One program in two address spaces, and edges of each */
static void edges_are_of_a_space(void **state)
{
	struct nt_counts *counts = nt_counts_new();
	struct nt_code *code[2];
	struct nt_store *store;
	const struct nt_edge *edge;
	uint64_t sum[2] = { 0 }, first;
	struct setting s;
	size_t i, n;

	(void)state;
	assert_non_null(counts);
	open_sample(&s, 0);
	store = nt_store_new(&s.params, 0);
	assert_non_null(store);
	for (i = 0; i < 2; i++) {
		code[i] = nt_store_code(store, 7 + i, nt_image_read, NULL, s.image);
		assert_non_null(code[i]);
		/* addresses are of the low one, if one of them is */
		nt_flow_set_code(s.flow, code[i], s.code);
		s.flow->params.high_from = UINT64_MAX;
		count(&s, counts);
		count(&s, counts);
		if (!i)
			count(&s, counts);
	}
	edge = nt_counts_edges(counts, &n);
	assert_true(n > 0);
	for (i = 0; i < n; i++) {
		assert_in_range(edge[i].space, 7, 8);
		sum[edge[i].space - 7] += edge[i].count;
	}
	assert_true(sum[0] > 0);
	assert_int_equal(2 * sum[0], 3 * sum[1]);
	first = edge[0].from;
	assert_true(nt_counts_have(counts, 7, 0, 0));
	assert_true(nt_counts_have(counts, 8, first, first + 1));
	assert_false(nt_counts_have(counts, 9, 0, 0));
	assert_false(nt_counts_have(counts, 7, 0, 1));
	nt_counts_clear(counts);
	assert_int_equal(branches_of(counts), 0);
	count(&s, counts);
	assert_int_equal(2 * branches_of(counts), sum[1]);
	nt_flow_set_code(s.flow, s.code, s.code);
	nt_counts_free(counts);
	nt_code_free(code[0]);
	nt_code_free(code[1]);
	nt_store_free(store);
	close_sample(&s);
}

/* All messages become those of another source. */
static void change_source(const struct nt_params *p, unsigned int bits)
{
	uint8_t *at = traced.bytes, *end = at + traced.len;
	struct nt_msg msg;
	unsigned int i;
	int n;

	while ((n = nt_msg_decode(p, at, end - at, &msg)) > 0) {
		for (i = 0; i < p->srcbits; i++)
			if (bits >> i & 1)
				at[msg.idle + (i + 6) / 6] ^= 4 << i % 6;
		at += n;
	}
}

/* Harts that share a sink run the same program: what one's messages led to, another's do. */
static void R126_sources_share_memos(void **state)
{
	unsigned int round, part, other;

	(void)state;
	for (round = 0; round < 50; round++) {
		struct nt_counts *counts = nt_counts_new();
		struct sums first = { 0 }, both = { 0 };
		struct nt_counts_stats stats[2];
		struct setting s;
		uint64_t walked;

		do
			execute(500 + rnd(2000));
		while (!traced.params.srcbits);
		other = 1 + rnd((1u << traced.params.srcbits) - 1);
		open_traced(&s, &traced.params, &prog.mem);
		for (part = 0; part < 2; part++) {
			count(&s, counts);
			count(&s, counts);
			total(counts, part ? &both : &first, &stats[part]);
			/* what is not of the source does not count */
			change_source(&traced.params, other);
			count(&s, counts);
			s.flow->params.src ^= other;
		}
		walked = stats[0].walks - stats[0].hits;
		assert_int_equal(both.branches, 2 * first.branches);
		assert_int_equal(both.insns, 2 * first.insns);
		assert_true(both.mix == 2 * first.mix);
		assert_true(stats[1].walks - stats[1].hits - walked <= walked);
		nt_counts_free(counts);
		close_traced(&s);
	}
}

/* Messages of another source come between those of the trace. */
static void mix_in_others(const struct nt_params *p, unsigned int bits)
{
	static uint8_t own[BYTES_MAX], others[BYTES_MAX];
	static size_t from[BYTES_MAX];
	const size_t len = traced.len;
	size_t at = 0, nr = 0, other;
	struct nt_msg msg;
	unsigned int k;
	int n;

	memcpy(own, traced.bytes, len);
	change_source(p, bits);
	memcpy(others, traced.bytes, len);
	traced.len = 0;
	while ((n = nt_msg_decode(p, own + at, len - at, &msg)) > 0) {
		emit(&traced, own + at, n);
		from[nr++] = at;
		from[nr] = at += n;
		for (k = rnd(4); k; k--) {
			other = rnd(nr);
			emit(&traced, others + from[other], from[other + 1] - from[other]);
		}
	}
}

/* Messages of others neither count nor keep memos from being found. */
static void R126_others_between(void **state)
{
	unsigned int round;

	(void)state;
	for (round = 0; round < 100; round++) {
		struct nt_counts *alone = nt_counts_new(), *among = nt_counts_new();
		struct sums one = { 0 }, sums = { 0 }, slow = { 0 };
		struct nt_counts_stats pure, mixed;
		struct setting s;

		do
			execute(500 + rnd(2000));
		while (!traced.params.srcbits || traced.len > BYTES_MAX / 8);
		open_traced(&s, &traced.params, &prog.mem);
		count(&s, alone);
		count(&s, alone);
		total(alone, &one, &pure);
		close_traced(&s);
		mix_in_others(&traced.params, 1 + rnd((1u << traced.params.srcbits) - 1));
		open_traced(&s, &traced.params, &prog.mem);
		deliver(&s, &slow);
		count(&s, among);
		count(&s, among);
		total(among, &sums, &mixed);
		assert_int_equal(sums.branches, one.branches);
		assert_int_equal(sums.insns, one.insns);
		assert_true(sums.mix == one.mix);
		assert_int_equal(2 * slow.branches, one.branches);
		/* most are skipped at once, unless addresses are short */
		if (nt_addr_bits(&traced.params) >= NT_SHORT_ADDR_MAX)
			assert_true(2 * mixed.hits + 16 >= pure.hits);
		nt_counts_free(alone);
		nt_counts_free(among);
		close_traced(&s);
	}
}

/* Is there anything in the trace that repeats? A program may go round without a message. */
static bool repeats(void)
{
	struct nt_counts *counts = nt_counts_new();
	struct nt_counts_stats stats;
	struct sums sums = { 0 };
	struct setting s;

	assert_non_null(counts);
	open_traced(&s, &traced.params, &prog.mem);
	count(&s, counts);
	count(&s, counts);
	total(counts, &sums, &stats);
	nt_counts_free(counts);
	close_traced(&s);
	return stats.hits > 0;
}

/* Messages that are never met again are not looked for any more; the sums are the same. */
static void memos_of_no_use(void **state)
{
	struct nt_counts *counts = nt_counts_new();
	struct sums slow = { 0 }, fast = { 0 };
	struct nt_counts_stats stats;
	struct setting s;

	(void)state;
	assert_non_null(counts);
	do
		execute(20000);
	while ((traced.params.mode == NT_MODE_BTM && traced.cfg.htm) || !repeats());
	open_traced(&s, &traced.params, &prog.mem);
	counts->misses = MEMO_MISSES - 1;
	deliver(&s, &slow);
	count(&s, counts);
	total(counts, &fast, &stats);
	assert_true(counts->pause);
	assert_int_equal(stats.hits, 0);
	assert_true(stats.walks > 1);
	assert_int_equal(slow.branches, fast.branches);
	assert_int_equal(slow.insns, fast.insns);
	assert_true(slow.mix == fast.mix);
	counts->pause = 0;
	count(&s, counts);
	count(&s, counts);
	total(counts, &fast, &stats);
	assert_true(stats.hits > 0);
	nt_counts_free(counts);
	close_traced(&s);
}

/* Nothing was counted: that is no lack of memory, whatever header the caller has. */
static void no_edges(void **state)
{
	struct nt_counts *counts = nt_counts_new();
	const size_t least = offsetof(struct nt_edge, type) + 1;
	size_t n, size;

	(void)state;
	for (size = least; size <= sizeof(struct nt_edge) + 8; size++) {
		n = 1;
		if (size != sizeof(struct nt_edge))
			assert_non_null(nt_counts_edges_sized(counts, &n, size));
		else
			nt_counts_edges(counts, &n);
		assert_int_equal(n, 0);
	}
	assert_null(nt_counts_edges_sized(counts, &n, least - 1));
	nt_counts_free(counts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_are_equal),
		cmocka_unit_test(damage_does_no_harm),
		cmocka_unit_test(a_hit_needs_the_same_return_stack),
		cmocka_unit_test(debug_status_is_no_hit),
		cmocka_unit_test(R131_a_hit_needs_room_on_the_stack),
		cmocka_unit_test(R124_limit_holds_a_hit_back),
		cmocka_unit_test(R124_begun_message_is_not_counted),
		cmocka_unit_test(R124_hits_of_a_clock_that_wraps),
		cmocka_unit_test(random_programs_are_counted),
		cmocka_unit_test(others_are_told_in_their_place),
		cmocka_unit_test(a_notice_is_told_in_its_place),
		cmocka_unit_test(watched_code_before_a_sync),
		cmocka_unit_test(edges_are_of_a_space),
		cmocka_unit_test(R126_sources_share_memos),
		cmocka_unit_test(R126_others_between),
		cmocka_unit_test(memos_of_no_use),
		cmocka_unit_test(no_edges),
	};
	const char *seed = getenv("SEED");

	rnd_state = seed ? strtoull(seed, NULL, 0) : (uint64_t)time(NULL) * 2654435761u + getpid();
	rnd_state |= 1;
	printf("# SEED=%" PRIu64 "\n", rnd_state);
	fflush(stdout);
	return RUN_TAP(tests);
}
