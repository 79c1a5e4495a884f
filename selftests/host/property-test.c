// SPDX-License-Identifier: GPL-2.0-only
/*
 * Properties: random programs, executed at random, encoded with random options and decoded again.
 *
 * Round trip: the decoder reports exactly the instructions and transfers that happened.
 *
 * Loss: byte ranges are dropped from such a trace. What the damage leaves between two cuts are
 * whole messages, and at the cut at most one that is merged of two halves. What must hold:
 *
 *   1. Up to the first message that a cut touches everything is reported, and true.
 *   2. A merged message that cannot be one is a loss there, and nothing is reported between this
 *      loss and the next intact sync message.
 *   3. After the first intact sync message behind a cut everything is reported, and true, up to the
 *      next cut.
 *   4. What is reported in between is at least a way through the program.
 *
 * What cannot be told, by no decoder, is between a cut and the next loss or sync message: a merged
 * message may look like a whole one, or the cut may have taken whole messages and left no trace of
 * itself; the messages behind it are then followed from the wrong place until they contradict the
 * program. The same when a merged message looks like a sync message: its wrong address counts until
 * the next intact one. Both are counted and printed; nothing else is allowed.
 *
 * SEED and ROUNDS may be set in the environment.
 */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "cmocka-tap.h"
#include "randprog.h"

#define ITEMS_MAX	20000
#define MSGS_MAX	20000
#define BYTES_MAX	200000
#define CUTS_MAX	3
/* So that a false count, of millions, does not make a test out of itself */
#define UNTOLD_MAX	2000

/* -------------------------------------------------------------- truth --- */

/* What happened: an instruction retired (type NONE), or a transfer */
struct item {
	uint64_t from, to;
	uint8_t type;
};

/* A message, and what was known when it was sent */
struct sent {
	size_t at;		/* in the trace; also in the damaged one */
	size_t len;
	size_t items;		/* had happened before it */
	uint64_t time;
	uint64_t context;
	uint8_t prv;
	bool sync, intact;
	unsigned int cuts;	/* before it */
};

static struct run {
	struct randprog prog;
	struct hart hart;
	struct nt_enc_config cfg;
	struct nt_enc *enc;
	struct item items[ITEMS_MAX];
	size_t nr_items;
	struct sent msgs[MSGS_MAX];
	size_t nr_msgs;
	uint8_t bytes[BYTES_MAX];
	size_t len;
	uint64_t now, context;
	uint8_t prv;
	unsigned int refuse;	/* messages still to refuse */
	bool open, losses;
} r;

static struct {
	uint64_t traces, insns, branches, messages, bytes;
	uint64_t cuts, legal, false_syncs, untold, told;
} sum;

static bool emit(void *ctx, const uint8_t *msg, unsigned int len)
{
	struct sent *s = &r.msgs[r.nr_msgs];
	unsigned int tcode;

	(void)ctx;
	if (r.refuse) {
		r.refuse--;
		return false;
	}
	if (!msg)
		return true;
	assert_true(r.nr_msgs < MSGS_MAX && r.len + len <= BYTES_MAX);
	tcode = msg[0] >> 2;
	*s = (struct sent){ .at = r.len, .len = len, .items = r.nr_items, .time = r.now,
			    .context = r.context, .prv = r.prv, .intact = true,
			    .sync = nt_tcode_is_sync(tcode) };
	r.nr_msgs++;
	memcpy(r.bytes + r.len, msg, len);
	r.len += len;
	return true;
}

static uint64_t now(void *ctx)
{
	(void)ctx;
	return r.now;
}

static void add_item(uint64_t from, uint64_t to, unsigned int type)
{
	assert_true(r.nr_items < ITEMS_MAX);
	r.items[r.nr_items++] = (struct item){ from, to, type };
}

static void random_options(struct nt_enc_config *c)
{
	struct nt_params *p = &c->params;

	memset(c, 0, sizeof(*c));
	c->size = sizeof(*c);
	nt_params_init(p);
	p->xlen = rnd(3) ? 64 : 32;
	p->isa = NT_ISA_C | (rnd(2) ? NT_ISA_ZCMP | NT_ISA_ZCMT : NT_ISA_D);
	p->srcbits = rnd(3) ? 0 : rnd(13);
	p->src = p->srcbits ? rnd(1u << p->srcbits) : 0;
	p->timestamps = rnd(2);
	p->extaddr = rnd(2);
	p->seqjump = rnd(2);
	p->alljumps = rnd(4) == 0;
	p->retstack = rnd(4);
	c->htm = rnd(2);
	c->context = rnd(3) == 0;
	c->btype_1 = rnd(2);
	c->icnt_bits = rnd(2) ? 4 + rnd(19) : 0;
	c->hist_bits = rnd(2) ? 2 + rnd(31) : 0;
	c->syncmode = rnd(4);
	c->syncmax = rnd(6);
	c->emit = emit;
	c->time = now;
}

static uint64_t pc(void)
{
	return slot_pc(&r.prog, r.hart.at);
}

static void trap(bool interrupt)
{
	uint64_t from = pc();
	bool open = r.open;

	nt_enc_trap(r.enc, from, interrupt);
	hart_trap(&r.hart);
	if (open)
		add_item(from, pc(), r.cfg.btype_1 ? NT_TYPE_TRAP :
			 interrupt ? NT_TYPE_INTERRUPT : NT_TYPE_EXCEPTION);
}

static void retire(void)
{
	const struct slot *s = &r.prog.slots[r.hart.at];
	uint64_t from = pc();

	nt_enc_retire(r.enc, from, s->raw, s->len);
	if (r.open)
		add_item(from, 0, NT_TYPE_NONE);
	if (hart_step(&r.hart) && r.open)
		add_item(from, pc(), s->type);
}

/* What happens beside execution */
static void now_and_then(void)
{
	r.now += rnd(rnd(10) ? 4 : 100000);
	if (!r.open && rnd(5) == 0) {
		static const uint8_t why[] = { NT_SYNC_RESET, NT_SYNC_DEBUG_EXIT,
					       NT_SYNC_TRACE_ENABLE, NT_SYNC_POWER_UP };

		nt_enc_start(r.enc, why[rnd(4)]);
		r.open = true;
	} else if (r.open && rnd(200) == 0) {
		nt_enc_stop(r.enc, rnd(2) ? NT_EVCODE_DISABLE : NT_EVCODE_DEBUG, pc());
		r.open = false;
	}
	if (rnd(100) == 0)
		nt_enc_event_sync(r.enc, rnd(2) ? NT_SYNC_TRACE_EVENT : NT_SYNC_TRIGGER);
	if (r.cfg.context && rnd(40) == 0) {
		r.prv = rnd(2);
		r.context = rnd(1ull << (1 + rnd(30)));
		nt_enc_context(r.enc, 2, r.prv, false, r.context);
	}
	if (r.losses && !r.refuse && rnd(60) == 0)
		r.refuse = 1 + rnd(8);
}

static void execute(unsigned int steps)
{
	unsigned int trap_every = rnd(3) ? 10 + rnd(300) : 0;

	random_options(&r.cfg);
	randprog_make(&r.prog, &r.cfg.params);
	r.cfg.params.jvt = r.prog.params.jvt;
	r.nr_items = r.nr_msgs = r.len = r.refuse = 0;
	r.now = rnd(1ull << 40);
	r.context = r.prv = 0;
	r.open = false;
	r.hart = (struct hart){ .prog = &r.prog, .before = NO_SLOT };
	r.hart.at = rnd(r.prog.nr);
	r.hart.stray = r.cfg.params.retstack == 1 ? 0 : rnd(3) ? 5 : 0;
	r.enc = nt_enc_new(&r.cfg);
	assert_non_null(r.enc);
	while (steps--) {
		now_and_then();
		if (r.prog.slots[r.hart.at].op == OP_TRAPS)
			trap(false);
		else if (trap_every && rnd(trap_every) == 0)
			trap(rnd(2));
		else
			retire();
	}
	nt_enc_stop(r.enc, NT_EVCODE_DISABLE, pc());
	nt_enc_flush(r.enc);
	nt_enc_free(r.enc);
	sum.traces++;
	sum.messages += r.nr_msgs;
	sum.bytes += r.len;
}

/* -------------------------------------------------------------- check --- */

struct check {
	struct nt_code *code;
	const uint8_t *bytes;
	size_t len, nr_msgs;
	const struct sent *msgs;
	unsigned int nr_cuts;

	uint64_t pc, mask;
	bool running;		/* between START and STOP or LOSS */
	bool trusted;		/* what is reported must be what happened */
	bool lost;		/* since a loss: nothing may be reported */
	bool losses;		/* of the encoder's, which the trace tells */
	size_t item;		/* next that has to be reported */
	unsigned int cut;	/* the last one met */
	unsigned int untold;	/* transfers reported while not trusted */
	size_t sync;		/* untrusted: number of the intact sync message to come */
	uint64_t walked[4096];	/* pcs of the event under test */
	unsigned int nr_walked;
};

#define CHECK(c, cond)	do { if (!(cond)) wrong(c, ev, __LINE__, #cond); } while (0)

static void wrong(const struct check *c, const struct nt_event *ev, int line, const char *cond)
{
	const struct nt_params *p = &r.cfg.params;
	const struct item *it = &r.items[c->item];

	print_message("# options: xlen %u htm %u icnt %u hist %u sync %u/%u retstack %u seqjump %u "
		      "alljumps %u extaddr %u context %u srcbits %u\n", p->xlen, r.cfg.htm,
		      r.cfg.icnt_bits, r.cfg.hist_bits, r.cfg.syncmode, r.cfg.syncmax, p->retstack,
		      p->seqjump, p->alljumps, p->extaddr, r.cfg.context, p->srcbits);
	print_message("# event kind %u type %u reason %u %" PRIx64 "->%" PRIx64 " insns %u at %"
		      PRIu64 "\n", ev->kind, ev->type, ev->reason, ev->from, ev->to, ev->insns,
		      ev->offset);
	if (c->item < r.nr_items)
		print_message("# item %zu: type %u %" PRIx64 "->%" PRIx64 "\n", c->item, it->type,
			      it->from, it->to);
	fail_msg("trace %" PRIu64 ", line %d: %s", sum.traces, line, cond);
}

/* The instructions that the event counts, which must be linear code up to it */
static void walk(struct check *c, const struct nt_event *ev)
{
	struct nt_insn insn = { .type = NT_TYPE_NONE };
	uint32_t n;

	c->nr_walked = 0;
	for (n = 0; n < ev->insns; n++) {
		CHECK(c, insn.type == NT_TYPE_NONE || insn.type == NT_TYPE_COND);
		CHECK(c, nt_code_insn(c->code, c->pc, &insn) > 0);
		CHECK(c, !(insn.flags & NT_INSN_TRAPS));
		if (n < 4096)
			c->walked[c->nr_walked++] = c->pc;
		c->pc = (c->pc + insn.len) & c->mask;
	}
}

static void expect_items(struct check *c, const struct nt_event *ev, unsigned int first)
{
	for (; first < c->nr_walked; first++, c->item++) {
		CHECK(c, c->item < r.nr_items);
		CHECK(c, r.items[c->item].type == NT_TYPE_NONE);
		CHECK(c, r.items[c->item].from == c->walked[first]);
		sum.insns++;
	}
}

static const struct sent *find_msg(const struct check *c, uint64_t at)
{
	size_t lo = 0, hi = c->nr_msgs;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (c->msgs[mid].at < at)
			lo = mid + 1;
		else
			hi = mid;
	}
	/* those that are gone have the place of the next */
	for (; lo < c->nr_msgs && c->msgs[lo].at == at; lo++)
		if (c->msgs[lo].intact)
			return &c->msgs[lo];
	return NULL;
}

/* Number of the first intact sync message behind cut number `cut`; nr_msgs: none before the next */
static size_t sync_behind(const struct check *c, unsigned int cut)
{
	size_t n;

	for (n = 0; n < c->nr_msgs; n++)
		if (c->msgs[n].intact && c->msgs[n].sync && c->msgs[n].cuts == cut)
			return n;
	return c->nr_msgs;
}

/* Walking over an intact sync message without an event of its own: from there on all is true. */
static void align(struct check *c, const struct nt_event *ev)
{
	size_t q, own;

	c->trusted = true;
	c->lost = false;
	c->item = c->msgs[c->sync].items;
	if (ev->kind == NT_EV_START || ev->kind == NT_EV_LOSS || !c->running)
		return;
	for (q = c->item; q < r.nr_items && r.items[q].type == NT_TYPE_NONE; q++)
		;
	if (ev->kind == NT_EV_STOP && find_msg(c, ev->offset))
		q = find_msg(c, ev->offset)->items;
	own = q - c->item;
	if (ev->kind == NT_EV_BRANCH || find_msg(c, ev->offset))
		CHECK(c, c->nr_walked >= own);
	if (own > c->nr_walked)
		own = c->nr_walked;
	expect_items(c, ev, c->nr_walked - own);
	c->nr_walked = 0;
}

static void meet_cut(struct check *c, const struct nt_event *ev)
{
	const struct sent *m = find_msg(c, ev->offset);
	unsigned int cut = c->cut;
	struct nt_msg msg;
	int ret;

	/* offset of the first damaged message: where the last intact one before it ended */
	if (m) {
		cut = m->cuts;
	} else if (ev->offset < c->len) {
		size_t n;

		cut = 0;
		for (n = 0; n < c->nr_msgs && c->msgs[n].at <= ev->offset; n++)
			if (c->msgs[n].intact)
				cut = c->msgs[n].cuts;
		cut++;
	} else {
		cut = c->nr_cuts;
	}
	if (cut <= c->cut)
		return;
	c->cut = cut;
	c->sync = sync_behind(c, cut);
	if (!m && ev->offset < c->len) {
		ret = nt_msg_decode(&r.cfg.params, c->bytes + ev->offset, c->len - ev->offset, &msg);
		/* what is no message is a loss here, after what was still certain */
		if (ret <= 0 && c->trusted)
			return;
		sum.legal += ret > 0;
	}
	c->trusted = false;
}

static void on_branch(struct check *c, const struct nt_event *ev)
{
	CHECK(c, c->running);
	if (c->trusted) {
		CHECK(c, c->item < r.nr_items);
		CHECK(c, r.items[c->item].type == ev->type);
		CHECK(c, r.items[c->item].from == ev->from);
		CHECK(c, r.items[c->item].to == ev->to);
		c->item++;
		sum.branches++;
	}
	c->pc = ev->to;
}

static void on_start(struct check *c, const struct nt_event *ev)
{
	const struct sent *m = find_msg(c, ev->offset);

	CHECK(c, !c->running);
	if (c->trusted) {
		CHECK(c, m && m->sync);
		CHECK(c, c->losses ? m->items >= c->item : m->items == c->item);
		c->item = m->items;
	}
	c->running = true;
	c->pc = ev->to;
}

static void on_end(struct check *c, const struct nt_event *ev)
{
	const struct sent *m = find_msg(c, ev->offset);

	CHECK(c, ev->kind == NT_EV_LOSS || c->running);
	if (c->trusted && ev->kind == NT_EV_STOP && m && !m->sync)
		CHECK(c, m->items == c->item);
	if (c->running && (ev->kind == NT_EV_STOP || ev->flags & NT_EVF_PC))
		CHECK(c, ev->from == c->pc);
	c->running = false;
	if (ev->kind != NT_EV_LOSS)
		return;
	if (c->trusted && c->cut == 0 && ev->offset < c->len)
		CHECK(c, c->losses && ev->reason == NT_EOVERFLOW);
	if (!c->losses) {
		c->trusted = false;
		c->lost = true;
		sum.told++;
	}
}

/* Between a loss and the next sync message nothing is reported, unless that is a false one. */
static void check_silence(struct check *c, const struct nt_event *ev)
{
	struct nt_msg msg;

	if (!c->lost || (ev->kind != NT_EV_BRANCH && ev->kind != NT_EV_START))
		return;
	if (c->sync < c->nr_msgs && ev->offset == c->msgs[c->sync].at)
		return;
	CHECK(c, ev->kind == NT_EV_START);
	CHECK(c, !find_msg(c, ev->offset));
	CHECK(c, nt_msg_decode(&r.cfg.params, c->bytes + ev->offset, c->len - ev->offset, &msg) > 0);
	CHECK(c, nt_tcode_is_sync(msg.tcode));
	/* the rest of what was refused is not tried again */
	CHECK(c, !ev->offset || (c->bytes[ev->offset - 1] & 3) == 3);
	sum.false_syncs++;
	c->lost = false;
}

static void check_context(struct check *c, const struct nt_event *ev)
{
	const struct sent *m = find_msg(c, ev->offset);

	if (!c->trusted || !m)
		return;
	if (ev->kind == NT_EV_CONTEXT && ev->reason == 2)
		CHECK(c, ev->context == m->context && ev->priv == m->prv);
	if (r.cfg.params.timestamps && ev->kind != NT_EV_NOTICE && ev->kind != NT_EV_LOSS) {
		CHECK(c, ev->flags & NT_EVF_TIME);
		CHECK(c, ev->time == m->time);
	}
}

static void on_event(struct check *c, const struct nt_event *ev)
{
	if (c->nr_cuts)
		meet_cut(c, ev);
	c->nr_walked = 0;
	if (c->running)
		walk(c, ev);
	else
		CHECK(c, ev->insns == 0);
	if (!c->trusted && c->sync < c->nr_msgs && ev->offset > c->msgs[c->sync].at &&
	    ev->kind != NT_EV_CONTEXT && ev->kind != NT_EV_NOTICE)
		align(c, ev);
	check_silence(c, ev);
	if (c->trusted)
		expect_items(c, ev, 0);
	check_context(c, ev);
	switch (ev->kind) {
	case NT_EV_BRANCH:
		sum.untold += !c->trusted;
		c->untold += !c->trusted;
		on_branch(c, ev);
		break;
	case NT_EV_START:
		on_start(c, ev);
		break;
	case NT_EV_STOP:
	case NT_EV_LOSS:
		on_end(c, ev);
		break;
	default:
		CHECK(c, ev->kind == NT_EV_CONTEXT || c->nr_cuts);
	}
	/* decoding restarted at an intact sync message: its walk was the last that is not certain */
	if (!c->trusted && ev->kind == NT_EV_START && c->sync < c->nr_msgs &&
	    ev->offset == c->msgs[c->sync].at) {
		c->trusted = true;
		c->lost = false;
		c->item = c->msgs[c->sync].items;
	}
}

static void follow(struct check *c)
{
	struct nt_flow *flow = nt_flow_new(&r.cfg.params);
	unsigned int max = 16 + rnd(240);
	struct nt_event ev[256];
	int i, n;

	c->code = nt_code_new(&r.cfg.params, program_read, &r.prog.mem);
	c->mask = r.cfg.params.xlen == 32 ? UINT32_MAX : UINT64_MAX;
	c->trusted = true;
	assert_non_null(flow);
	assert_non_null(c->code);
	nt_flow_set_code(flow, c->code, c->code);
	nt_flow_window(flow, c->bytes, c->len, 0);
	while ((n = nt_flow_next(flow, ev, max)) > 0 && c->untold < UNTOLD_MAX)
		for (i = 0; i < n; i++)
			on_event(c, &ev[i]);
	if (c->untold < UNTOLD_MAX) {
		assert_int_equal(n, 0);
		assert_int_equal(nt_flow_consumed(flow), c->len);
	}
	nt_flow_free(flow);
	nt_code_free(c->code);
}

static unsigned long rounds(unsigned long dflt)
{
	const char *s = getenv("ROUNDS");

	return s ? strtoul(s, NULL, 0) : dflt;
}

static void print_sum(void)
{
	print_message("# %" PRIu64 " traces, %" PRIu64 " messages, %" PRIu64 " bytes; reported %"
		      PRIu64 " instructions, %" PRIu64 " transfers\n", sum.traces, sum.messages,
		      sum.bytes, sum.insns, sum.branches);
	memset(&sum, 0, sizeof(sum));
}

static void R85_R93_R102_round_trip(void **state)
{
	unsigned long n = rounds(3000);
	struct check c;

	(void)state;
	r.losses = false;
	while (n--) {
		execute(1 + rnd(rnd(4) ? 300 : 4000));
		memset(&c, 0, sizeof(c));
		c.bytes = r.bytes;
		c.len = r.len;
		c.msgs = r.msgs;
		c.nr_msgs = r.nr_msgs;
		follow(&c);
		assert_int_equal(c.item, r.nr_items);
		assert_false(c.running);
	}
	print_sum();
}

/* The encoder had no room: what it tells is true, in order, and nothing is told of the rest. */
static void R119_R120_overflow(void **state)
{
	unsigned long n = rounds(3000) / 2;
	struct check c;

	(void)state;
	r.losses = true;
	while (n--) {
		execute(1 + rnd(2000));
		memset(&c, 0, sizeof(c));
		c.bytes = r.bytes;
		c.len = r.len;
		c.msgs = r.msgs;
		c.nr_msgs = r.nr_msgs;
		c.losses = true;
		follow(&c);
	}
	print_sum();
}

/* --------------------------------------------------------------- cuts --- */

static int compare_sizes(const void *a, const void *b)
{
	const size_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Drop ranges of r.bytes into out; move the messages.  The new length */
static size_t cut(uint8_t *out, struct sent *msgs, unsigned int *nr_cuts)
{
	unsigned int want = 1 + rnd(CUTS_MAX), i, n;
	size_t ends[2 * CUTS_MAX], at, len = 0, m = 0;

	for (i = 0; i < want; i++) {
		ends[2 * i] = rnd(r.len);
		ends[2 * i + 1] = ends[2 * i] + 1 + rnd(rnd(2) ? 4 : 60);
		/* whole messages are what cannot be seen: often enough */
		if (rnd(4) == 0 && r.nr_msgs > 1)
			ends[2 * i] = r.msgs[rnd(r.nr_msgs)].at;
		if (ends[2 * i + 1] <= ends[2 * i])
			ends[2 * i + 1] = ends[2 * i] + 1;
		if (ends[2 * i + 1] > r.len)
			ends[2 * i + 1] = r.len;
	}
	qsort(ends, 2 * want, sizeof(ends[0]), compare_sizes);
	memcpy(msgs, r.msgs, r.nr_msgs * sizeof(msgs[0]));
	*nr_cuts = 0;
	for (at = 0, n = 0; at < r.len; at++) {
		bool gone;

		while (n < 2 * want && ends[n] <= at)
			n++;
		gone = n & 1;
		if (gone && (at == 0 || n == 0 || ends[n - 1] == at))
			(*nr_cuts)++;
		if (m < r.nr_msgs && r.msgs[m].at == at) {
			msgs[m].at = len;
			msgs[m].cuts = *nr_cuts;
			m++;
		}
		/* a message in which a cut begins, or goes on, or which the rest of another swallows */
		if (m && (gone || (msgs[m - 1].at == len && len && (out[len - 1] & 3) != 3)))
			msgs[m - 1].intact = false;
		if (!gone)
			out[len++] = r.bytes[at];
	}
	return len;
}

static void R72_R115_lost_bytes(void **state)
{
	static uint8_t bytes[BYTES_MAX];
	static struct sent msgs[MSGS_MAX];
	unsigned long n = rounds(3000) / 2, k;
	struct check c;

	(void)state;
	r.losses = false;
	while (n--) {
		execute(1 + rnd(2000));
		for (k = 0; k < 4 && r.len; k++) {
			memset(&c, 0, sizeof(c));
			c.len = cut(bytes, msgs, &c.nr_cuts);
			c.bytes = bytes;
			c.msgs = msgs;
			c.nr_msgs = r.nr_msgs;
			sum.cuts += c.nr_cuts;
			follow(&c);
		}
	}
	print_message("# %" PRIu64 " cuts: %" PRIu64 " losses told; %" PRIu64 " merged messages look "
		      "whole; %" PRIu64 " false sync messages; %" PRIu64 " transfers before the cut "
		      "could be told\n", sum.cuts, sum.told, sum.legal, sum.false_syncs, sum.untold);
	print_sum();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(R85_R93_R102_round_trip),
		cmocka_unit_test(R119_R120_overflow),
		cmocka_unit_test(R72_R115_lost_bytes),
	};
	const char *seed = getenv("SEED");

	rnd_state = seed ? strtoull(seed, NULL, 0) : (uint64_t)time(NULL) * 2654435761u + getpid();
	rnd_state |= 1;
	printf("# SEED=%" PRIu64 "\n", rnd_state);
	fflush(stdout);
	return RUN_TAP(tests);
}
