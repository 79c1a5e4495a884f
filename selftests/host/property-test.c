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
 *      last intact message before the next cut; there is no loss in between.
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
#include "cmocka-tap.h"
#include "linear.h"
#include "nt-flow.h"
#include "pack.h"
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
	uint64_t scontext, hcontext;
	uint8_t prv;
	bool sync, intact;
	bool tells;		/* of all these items: they are reported when it is there */
	unsigned int cuts;	/* before it */
};

static struct run {
	struct randprog prog;
	struct hart hart;
	struct nt_enc_config cfg;
	struct nt_params params;
	struct nt_enc *enc;
	struct item items[ITEMS_MAX];
	size_t nr_items;
	struct sent msgs[MSGS_MAX];
	size_t nr_msgs;
	uint8_t bytes[BYTES_MAX];
	size_t len;
	uint64_t now, scontext, hcontext;
	uint8_t prv;
	unsigned int refuse;	/* messages still to refuse */
	bool open, losses;
	bool unreported;	/* HIST of some sync messages */
} r;

static struct {
	uint64_t traces, insns, branches, messages, bytes;
	uint64_t cuts, legal, misled, false_syncs, untold, told, zones;
	uint64_t htm, timed, sourced, repeating;
	uint64_t unreported, unsettled, p550, tt_dfd, sought, returns;
} sum;

/* What the next execution has in common with others of one stream, or NULL */
static const struct nt_params *stream;

/* ResourceFull tells of a part, RepeatBranch late, others of nothing */
static bool tells_all(unsigned int tcode)
{
	return nt_tcode_is_sync(tcode) || tcode == NT_TCODE_DIRECT_BRANCH ||
	       tcode == NT_TCODE_INDIRECT_BRANCH || tcode == NT_TCODE_INDIRECT_BRANCH_HIST ||
	       tcode == NT_TCODE_PROG_TRACE_CORRELATION;
}

/*
 * A sync message without flow change, as ProgTraceSync: in HTM it has no HIST then (sync examples,
 * note 2).  0: it is not one
 */
static unsigned int without_hist(const uint8_t *msg, unsigned int len, struct pack *p)
{
	struct nt_msg m;

	if (nt_msg_decode(&r.params, msg, len, &m) != (int)len || m.btype ||
	    m.tcode != NT_TCODE_INDIRECT_BRANCH_HIST_SYNC)
		return 0;
	pack_init(p);
	p->srcbits = r.params.srcbits;
	p->src = m.src;
	pack_head(p, NT_TCODE_PROG_TRACE_SYNC);
	pack_bits(p, m.sync, 4);
	pack_var(p, m.icnt);
	if (r.params.extaddr) {
		/* in full, so that there is nothing to be extended */
		pack_bits(p, m.addr, r.params.xlen == 32 ? 36 : 66);
		p->buf[p->len - 1] |= 1;
	} else {
		pack_var(p, m.addr);
	}
	if (m.fields & NT_F_TSTAMP)
		pack_var(p, m.tstamp);
	p->buf[p->len - 1] |= 3;
	sum.unreported += m.hist > 1;
	return p->len;
}

static bool emit(void *ctx, const uint8_t *msg, unsigned int len)
{
	struct sent *s = &r.msgs[r.nr_msgs];
	static struct pack p;
	unsigned int tcode, other;

	(void)ctx;
	if (r.refuse) {
		r.refuse--;
		return false;
	}
	if (!msg)
		return true;
	other = r.unreported && rnd(2) ? without_hist(msg, len, &p) : 0;
	if (other) {
		msg = p.buf;
		len = other;
	}
	assert_true(r.nr_msgs < MSGS_MAX && r.len + len <= BYTES_MAX);
	tcode = msg[0] >> 2;
	*s = (struct sent){ .at = r.len, .len = len, .items = r.nr_items, .time = r.now,
			    .scontext = r.scontext, .hcontext = r.hcontext, .prv = r.prv,
			    .intact = true, .sync = nt_tcode_is_sync(tcode),
			    .tells = tells_all(tcode) };
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

/* The dialect of tt-dfd: HTM, four bits of SRC, no RCODE 2, no hcontext */
static void random_tt_dfd(struct nt_params *p, struct nt_enc_config *c)
{
	p->profile = NT_PROFILE_TT_DFD;
	p->mode = rnd(2) ? NT_MODE_HTM : NT_MODE_UNKNOWN;
	p->srcbits = 4;
	p->src = rnd(16);
	c->htm = true;
	c->repeathist = c->hcontext = false;
	c->repeatbranch = rnd(2);
	sum.tt_dfd++;
}

/* The dialect of P550: a counter of calls, no RCODE 2 */
static void random_p550(struct nt_params *p, struct nt_enc_config *c)
{
	p->profile = NT_PROFILE_P550;
	p->retstack = 1;
	/*
	 * Programs may be where 48 bits do not reach; a time that is damaged may seem to be 2^40
	 * later.
	 */
	p->addr_bits = p->xlen - 1;
	p->tstamp_bits = 64;
	c->repeathist = c->itype_3 = false;
	sum.p550++;
}

static void random_options(struct nt_params *p, struct nt_enc_config *c)
{
	memset(c, 0, sizeof(*c));
	c->size = sizeof(*c);
	random_params(p);
	c->htm = rnd(2);
	if (rnd(2))
		p->mode = c->htm ? NT_MODE_HTM : NT_MODE_BTM;
	c->itype_3 = !p->retstack && !p->alljumps && rnd(2);
	c->repeathist = rnd(2);
	c->repeatbranch = !c->htm && rnd(2);
	c->context = rnd(3) == 0;
	c->hcontext = c->context && rnd(2);
	c->btype_1 = rnd(2);
	c->icnt_bits = rnd(2) ? 4 + rnd(19) : 0;
	c->hist_bits = rnd(2) ? 2 + rnd(31) : 0;
	c->syncmode = rnd(4);
	c->syncmax = rnd(6);
	c->emit = emit;
	c->time = now;
	if (!stream && !r.unreported && rnd(5) == 0)
		random_tt_dfd(p, c);
	else if (!stream && !r.unreported && rnd(5) == 0)
		random_p550(p, c);
	if (!stream)
		return;
	p->xlen = stream->xlen;
	p->srcbits = stream->srcbits;
	p->src = stream->src;
	p->timestamps = stream->timestamps;
	p->extaddr = stream->extaddr;
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
		r.scontext = rnd(1ull << (1 + rnd(30)));
		nt_enc_context(r.enc, 2, r.prv, false, r.scontext);
		if (r.cfg.hcontext && rnd(2)) {
			r.hcontext = rnd(1 << 14);
			nt_enc_context(r.enc, 3, r.prv, false, r.hcontext);
		}
	}
	if (r.losses && !r.refuse && rnd(60) == 0)
		r.refuse = 1 + rnd(8);
}

static void execute(unsigned int steps)
{
	unsigned int trap_every = rnd(3) ? 10 + rnd(300) : 0;

	random_options(&r.params, &r.cfg);
	randprog_make(&r.prog, &r.params);
	r.params.jvt = r.prog.params.jvt;
	if (!stream)
		r.params.addr_bits = r.prog.params.addr_bits;
	r.nr_items = r.nr_msgs = r.len = r.refuse = 0;
	r.now = rnd(1ull << 40);
	r.scontext = r.hcontext = r.prv = 0;
	r.open = false;
	r.hart = (struct hart){ .prog = &r.prog, .before = NO_SLOT };
	r.hart.at = rnd(r.prog.nr);
	r.hart.stray = r.params.retstack == 1 ? 0 : rnd(3) ? 5 : 0;
	r.hart.busy = rnd(2);
	r.enc = nt_enc_new(&r.params, &r.cfg);
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
	sum.htm += r.cfg.htm;
	sum.timed += r.params.timestamps;
	sum.sourced += r.params.srcbits != 0;
	sum.repeating += r.cfg.htm ? r.cfg.repeathist : r.cfg.repeatbranch;
	sum.messages += r.nr_msgs;
	sum.bytes += r.len;
}

/* -------------------------------------------------------------- check --- */

struct check {
	struct linear l;
	const uint8_t *bytes;
	size_t len, nr_msgs;
	const struct sent *msgs;
	unsigned int nr_cuts;

	bool trusted;		/* what is reported must be what happened */
	bool lost;		/* since a loss: nothing may be reported */
	bool losses;		/* of the encoder's, which the trace tells */
	size_t item;		/* next that has to be reported */
	unsigned int cut;	/* the last one met */
	unsigned int untold;	/* transfers reported while not trusted */
	bool modeless;		/* no message tells the mode: what cannot be known may be missing */
	size_t sync;		/* number of the first intact sync message behind the last cut */
	uint64_t walked[LINEAR_MAX];	/* pcs of the event under test that are not yet expected */
	unsigned int nr_walked;
};

#define CHECK(c, cond)	do { if (!(cond)) wrong(c, ev, __LINE__, #cond); } while (0)

static void wrong(const struct check *c, const struct nt_event *ev, int line, const char *cond)
{
	const struct nt_params *p = &r.params;
	const struct item *it = &r.items[c->item];

	print_message("# options: xlen %u htm %u icnt %u hist %u sync %u/%u retstack %u seqjump %u "
		      "alljumps %u extaddr %u addr_bits %u context %u srcbits %u\n",
		      p->xlen, r.cfg.htm, r.cfg.icnt_bits, r.cfg.hist_bits, r.cfg.syncmode,
		      r.cfg.syncmax, p->retstack, p->seqjump, p->alljumps, p->extaddr, p->addr_bits,
		      r.cfg.context, p->srcbits);
	print_message("# event kind %u type %u reason %u %" PRIx64 "->%" PRIx64 " insns %u at %"
		      PRIu64 "\n", ev->kind, ev->type, ev->reason, ev->from, ev->to, ev->insns,
		      ev->offset);
	if (c->item < r.nr_items)
		print_message("# item %zu: type %u %" PRIx64 "->%" PRIx64 "\n", c->item, it->type,
			      it->from, it->to);
	fail_msg("trace %" PRIu64 ", line %d: %s", sum.traces, line, cond);
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

/* Number of the first sync message at that place of an uncut trace, or behind it */
static size_t sync_from(const struct check *c, uint64_t at)
{
	size_t n = 0;

	while (n < c->nr_msgs && (!c->msgs[n].sync || c->msgs[n].at < at))
		n++;
	return n;
}

/* Walking over an intact sync message without an event of its own: from there on all is true. */
static void align(struct check *c, const struct nt_event *ev)
{
	size_t q, own;

	c->trusted = true;
	c->lost = false;
	c->item = c->msgs[c->sync].items;
	if (ev->kind == NT_EV_START || ev->kind == NT_EV_LOSS || !c->nr_walked)
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

/*
 * Between cut number `zone` and the next, everything was reported up to the last message that tells
 * of all; but for what did not transfer control at the end of it, which the next event counts.
 */
static void leave_zone(struct check *c, const struct nt_event *ev, unsigned int zone)
{
	size_t sync = zone ? sync_behind(c, zone) : 0, told = 0, n;

	for (n = sync; n < c->nr_msgs && c->msgs[n].cuts == zone && c->msgs[n].intact; n++)
		if (c->msgs[n].tells)
			told = c->msgs[n].items;
	if (n == sync)
		return;
	if (zone != c->cut || !c->trusted)
		c->item = c->msgs[sync].items;
	for (n = c->item; n < told; n++)
		CHECK(c, r.items[n].type == NT_TYPE_NONE);
	sum.zones++;
}

static void meet_cut(struct check *c, const struct nt_event *ev)
{
	const struct sent *m = find_msg(c, ev->offset);
	unsigned int cut = c->cut, zone;
	uint64_t damaged = ev->offset;
	struct nt_msg msg;
	int ret;

	if (m) {
		cut = m->cuts;
	} else if (ev->offset < c->len) {
		size_t n;

		cut = 0;
		damaged = 0;
		for (n = 0; n < c->nr_msgs && c->msgs[n].at <= ev->offset; n++) {
			if (!c->msgs[n].intact)
				continue;
			cut = c->msgs[n].cuts;
			/* where it ends; what follows there may look whole */
			damaged = n + 1 < c->nr_msgs ? c->msgs[n + 1].at : ev->offset;
		}
		cut++;
	} else {
		cut = c->nr_cuts;
	}
	if (cut <= c->cut)
		return;
	if (!c->losses)
		for (zone = c->cut; zone < cut; zone++)
			leave_zone(c, ev, zone);
	/* what was not met has been walked over, from before it */
	c->trusted &= cut == c->cut + 1;
	c->cut = cut;
	c->sync = sync_behind(c, cut);
	if (!m && ev->offset < c->len) {
		ret = nt_msg_decode(&r.params, c->bytes + damaged, c->len - damaged, &msg);
		/* what is no message is a loss here, after what was still certain */
		if (ret <= 0 && c->trusted)
			return;
		sum.legal += ret > 0;
	}
	c->trusted = false;
}

static void on_branch(struct check *c, const struct nt_event *ev)
{
	if (!c->trusted) {
		sum.untold++;
		c->untold++;
		return;
	}
	CHECK(c, c->item < r.nr_items);
	CHECK(c, r.items[c->item].type == ev->type);
	CHECK(c, r.items[c->item].from == ev->from);
	if (ev->flags & NT_EVF_LEFT)
		CHECK(c, r.params.profile == NT_PROFILE_TT_DFD && !ev->to);
	else
		CHECK(c, r.items[c->item].to == ev->to);
	c->item++;
	sum.branches++;
}

static void on_start(struct check *c, const struct nt_event *ev)
{
	const struct sent *m = find_msg(c, ev->offset);

	if (!c->trusted)
		return;
	CHECK(c, m && m->sync);
	CHECK(c, c->losses ? m->items >= c->item : m->items == c->item);
	c->item = m->items;
}

/*
 * Does only an encoder in BTM, or only one in HTM, send this message?  B.2, B.3.  Encoders before
 * 1.0 leave out a HIST that is empty, so ProgTraceCorrelation without it tells nothing of P550.
 */
static bool tells_mode(const struct nt_msg *msg)
{
	switch (msg->tcode) {
	case NT_TCODE_DIRECT_BRANCH:
	case NT_TCODE_DIRECT_BRANCH_SYNC:
	case NT_TCODE_INDIRECT_BRANCH_HIST:
	case NT_TCODE_INDIRECT_BRANCH_HIST_SYNC:
		return true;
	case NT_TCODE_PROG_TRACE_CORRELATION:
		return msg->fields & NT_F_HIST || r.params.profile != NT_PROFILE_P550;
	case NT_TCODE_RESOURCE_FULL:
		return msg->rcode && msg->fields & NT_F_RDATA0;
	default:
		return false;
	}
}

/*
 * Does a message tell HTM or BTM, of those behind the first sync message that are left?  Those
 * that would may be what the encoder had no room for, or what was cut out.
 */
static bool mode_is_told(const struct check *c)
{
	const struct nt_params *p = &r.params;
	bool synced = false;
	struct nt_msg msg;
	size_t at = 0;
	int ret;

	if (p->mode != NT_MODE_UNKNOWN || p->profile == NT_PROFILE_TT_DFD)
		return true;
	while (at < c->len) {
		ret = nt_msg_decode(p, c->bytes + at, c->len - at, &msg);
		if (!ret)
			break;
		at += ret > 0 ? (size_t)ret : msg.skip;
		if (ret < 0 || (p->src >= 0 && msg.src != p->src))
			continue;
		if (synced && tells_mode(&msg))
			return true;
		synced |= nt_tcode_is_sync(msg.tcode);
	}
	return false;
}

/* Does a message tell HTM of an encoder in BTM, or BTM of one in HTM? */
static bool tells_other_mode(const struct nt_msg *msg)
{
	switch (msg->tcode) {
	case NT_TCODE_DIRECT_BRANCH:
	case NT_TCODE_DIRECT_BRANCH_SYNC:
		return r.cfg.htm;
	case NT_TCODE_INDIRECT_BRANCH_HIST:
	case NT_TCODE_INDIRECT_BRANCH_HIST_SYNC:
		return !r.cfg.htm;
	case NT_TCODE_PROG_TRACE_CORRELATION:
		return tells_mode(msg) && !r.cfg.htm == !!(msg->fields & NT_F_HIST);
	default:
		return tells_mode(msg) && !r.cfg.htm;
	}
}

/*
 * Where bytes were cut out, what is left of two messages may look like one, and that may tell the
 * other mode. When the messages behind it do not outvote it, decoding follows it: what is whole
 * does not fit then.
 */
static bool is_misled(const struct check *c)
{
	const struct nt_params *p = &r.params;
	unsigned int right = 0, wrong = 0;
	size_t at = 0, since = 0;
	struct nt_msg msg;
	int ret;

	if (!c->nr_cuts || p->mode != NT_MODE_UNKNOWN || p->profile == NT_PROFILE_TT_DFD)
		return false;
	while (at < c->len && (ret = nt_msg_decode(p, c->bytes + at, c->len - at, &msg))) {
		if (ret > 0 && tells_mode(&msg) && (p->src < 0 || msg.src == p->src)) {
			if (!tells_other_mode(&msg)) {
				right += msg.tcode != NT_TCODE_PROG_TRACE_CORRELATION || r.cfg.htm;
			} else if (!find_msg(c, at + msg.idle)) {
				since = wrong++ ? since : at;
				right = wrong == 1 ? 0 : right;
			}
		}
		at += ret > 0 ? (size_t)ret : msg.skip;
		if (wrong && right > wrong)
			wrong = right = 0;
		if (wrong && at - since > MODE_AHEAD)
			return true;
	}
	return wrong;
}

static bool is_last_trap(const struct check *c, const struct nt_event *ev)
{
	const struct item *it = &r.items[c->item];

	return c->item < r.nr_items && it->from == ev->from &&
	       ends_at_trap(&r.params, ev, it->type, c->bytes, c->len);
}

static void on_end(struct check *c, const struct nt_event *ev)
{
	bool no_mode = ev->reason == NT_ENOMODE && !mode_is_told(c);
	bool unsettled = ev->reason == NT_ENOHIST || ev->reason == NT_ENOMODE;
	const struct sent *m = find_msg(c, ev->offset);

	if (c->trusted && is_last_trap(c, ev))
		c->item++;
	else if (c->trusted && ev->kind == NT_EV_STOP && m && !m->sync)
		CHECK(c, m->items == c->item);
	/* the last instruction is not a branch that was taken */
	if (c->trusted && c->nr_walked && c->item < r.nr_items)
		CHECK(c, r.items[c->item].type != NT_TYPE_COND);
	if (ev->kind != NT_EV_LOSS)
		return;
	/* of what is whole nothing is refused */
	if (c->trusted && m)
		CHECK(c, no_mode || (c->losses && (ev->reason == NT_EOVERFLOW ||
						   (r.unreported && unsettled))));
	sum.unsettled += unsettled;
	c->modeless |= no_mode;
	if (!c->losses) {
		c->trusted = false;
		c->lost = true;
		if (!c->nr_cuts)
			c->sync = sync_from(c, ev->offset);
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
	CHECK(c, nt_msg_decode(&r.params, c->bytes + ev->offset, c->len - ev->offset, &msg) > 0);
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
		CHECK(c, ev->context == m->scontext && ev->priv == m->prv);
	if (ev->kind == NT_EV_CONTEXT && ev->reason == 3)
		CHECK(c, ev->context == m->hcontext && ev->priv == m->prv);
	if (r.params.timestamps && ev->kind != NT_EV_NOTICE && ev->kind != NT_EV_LOSS) {
		CHECK(c, ev->flags & NT_EVF_TIME);
		CHECK(c, ev->time == m->time);
	}
}

static void on_event(struct check *c, const struct nt_event *ev)
{
	const char *bad;

	if (c->nr_cuts)
		meet_cut(c, ev);
	bad = linear_event(&c->l, ev);
	if (bad)
		wrong(c, ev, __LINE__, bad);
	memcpy(c->walked, c->l.walked, c->l.nr_walked * sizeof(c->walked[0]));
	c->nr_walked = c->l.nr_walked;
	if (!c->trusted && c->sync < c->nr_msgs && ev->offset > c->msgs[c->sync].at &&
	    ev->kind != NT_EV_CONTEXT && ev->kind != NT_EV_NOTICE)
		align(c, ev);
	check_silence(c, ev);
	if (c->trusted)
		expect_items(c, ev, 0);
	check_context(c, ev);
	switch (ev->kind) {
	case NT_EV_BRANCH:
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
	/*
	 * decoding restarted at an intact sync message: its walk was the last that is not certain
	 */
	if (!c->trusted && ev->kind == NT_EV_START && c->sync < c->nr_msgs &&
	    ev->offset == c->msgs[c->sync].at) {
		c->trusted = true;
		c->lost = false;
		c->item = c->msgs[c->sync].items;
	}
}

/* Between cuts all that is whole is expected; so nothing more is, when the mode is not known. */
static bool gave_up(const struct check *c)
{
	return c->modeless && c->nr_cuts;
}

static void follow(struct check *c)
{
	struct nt_flow *flow = nt_flow_new(&r.params);
	unsigned int max = rnd(4) ? 1 + rnd(256) : 1;
	struct nt_event ev[256];
	int i, n;

	c->l.code = nt_code_new(&r.params, program_read, &r.prog.mem);
	c->l.mask = r.params.xlen == 32 ? UINT32_MAX : UINT64_MAX;
	c->trusted = true;
	c->modeless = is_misled(c);
	sum.misled += c->modeless;
	assert_non_null(flow);
	assert_non_null(c->l.code);
	nt_flow_set_code(flow, c->l.code, c->l.code);
	nt_flow_window(flow, c->bytes, c->len, 0);
	while ((n = nt_flow_next(flow, ev, max)) > 0 && c->untold < UNTOLD_MAX && !gave_up(c))
		for (i = 0; i < n && !gave_up(c); i++)
			on_event(c, &ev[i]);
	if (c->untold < UNTOLD_MAX && !gave_up(c)) {
		struct nt_event none = { .kind = NT_EV_NOTICE, .offset = c->len };

		assert_int_equal(n, 0);
		assert_int_equal(nt_flow_consumed(flow), c->len);
		if (!c->losses)
			leave_zone(c, &none, c->nr_cuts);
	}
	nt_flow_free(flow);
	nt_code_free(c->l.code);
}

static uint64_t mix(uint64_t digest, uint64_t value)
{
	return (digest ^ value) * 0x100000001b3 ^ digest >> 29;
}

/* How a trace is decoded */
enum way {
	QUICKLY,
	SLOWLY,		/* without nt_loop() */
	RETURNING,	/* with limits, and returns to earlier positions */
};

#define EVENTS		272

/* Decode some batches, or count if there are counts, and return to the position before them. */
static void go_and_return(struct nt_flow *flow, struct nt_counts *counts)
{
	unsigned int max = 1 + rnd(EVENTS), batches = rnd(4);
	struct nt_event ev[EVENTS];
	int err = nt_flow_mark(flow), n = 1;

	assert_in_range(err, 0, 1);
	if (err)
		return;
	while (batches-- && n > 0)
		n = counts ? nt_flow_count_until(flow, counts, ev, EVENTS) :
			     nt_flow_next(flow, ev, max);
	assert_int_equal(nt_flow_rewind(flow), 0);
	sum.returns++;
}

/* The next batch, after detours */
static int next_returning(struct nt_flow *flow, struct nt_counts *counts, struct nt_event *ev,
			  unsigned int max, uint64_t begin)
{
	int n;

	if (!rnd(4))
		nt_flow_limit_offset(flow, begin + nt_flow_consumed(flow) + rnd(200));
	go_and_return(flow, counts);
	n = nt_flow_next(flow, ev, max);
	if (n || !nt_flow_at_limit(flow))
		return n;
	nt_flow_limit_offset(flow, UINT64_MAX);
	go_and_return(flow, counts);
	return nt_flow_next(flow, ev, max);
}

/* All that is reported of a trace, as one number */
static uint64_t digest(struct nt_code *code, const uint8_t *bytes, size_t len, enum way way)
{
	struct nt_flow *flow = nt_flow_new(&r.params);
	/* counts take long to make */
	struct nt_counts *counts = way == RETURNING && !rnd(16) ? nt_counts_new() : NULL;
	/* offsets may wrap: a stream's first window may begin with the rest of what came before */
	const uint64_t begin = way == RETURNING && rnd(2) ? -(uint64_t)rnd(1000) : 0;
	unsigned int max = 1 + rnd(256), total = 0;
	struct nt_event ev[256];
	uint64_t d = 0;
	int i, n;

	assert_non_null(flow);
	flow->slow = way == SLOWLY;
	nt_flow_set_code(flow, code, code);
	nt_flow_window(flow, bytes, len, begin);
	while (total < UNTOLD_MAX * 4 &&
	       (n = way == RETURNING ? next_returning(flow, counts, ev, max, begin) :
				       nt_flow_next(flow, ev, max)) > 0)
		for (i = 0; i < n && total < UNTOLD_MAX * 4; i++, total++) {
			d = mix(mix(mix(d, ev[i].from), ev[i].to), ev[i].time);
			d = mix(mix(mix(d, ev[i].offset - begin), ev[i].context), ev[i].insns);
			d = mix(mix(mix(mix(d, ev[i].kind), ev[i].type), ev[i].reason),
				ev[i].flags);
		}
	nt_flow_free(flow);
	nt_counts_free(counts);
	return d;
}

/* All ways report the same, whatever the bytes are. */
static void same_quickly(const uint8_t *bytes, size_t len)
{
	struct nt_code *code = nt_code_new(&r.params, program_read, &r.prog.mem);
	uint64_t slow;

	assert_non_null(code);
	slow = digest(code, bytes, len, SLOWLY);
	assert_true(digest(code, bytes, len, QUICKLY) == slow);
	assert_true(digest(code, bytes, len, RETURNING) == slow);
	nt_code_free(code);
}

#define SEEK_EVENTS	8192

/* Events of the trace from `from` on; *sync: the last sync message's offset */
static unsigned int decode_from(struct nt_code *code, size_t from, struct nt_event *ev,
				uint64_t *sync)
{
	struct nt_flow *flow = nt_flow_new(&r.params);
	unsigned int n = 0;
	int got;

	assert_non_null(flow);
	nt_flow_set_code(flow, code, code);
	nt_flow_window(flow, r.bytes + from, r.len - from, from);
	assert_true(nt_flow_last_sync(flow) == UINT64_MAX);
	while (n + 64 <= SEEK_EVENTS && (got = nt_flow_next(flow, ev + n, 64)) > 0)
		n += got;
	*sync = nt_flow_last_sync(flow);
	nt_flow_free(flow);
	return n;
}

/*
 * Decoding that begins at the last sync message before any place reports what is behind as decoding
 * from the beginning does.
 */
static void seek(void)
{
	static struct nt_event all[SEEK_EVENTS], some[SEEK_EVENTS];
	struct nt_code *code = nt_code_new(&r.params, program_read, &r.prog.mem);
	const size_t before = rnd((uint32_t)r.len + 2);
	size_t at = nt_msg_find_sync_before(&r.params, r.bytes, r.len, before), want = r.len, i;
	unsigned int n, m, a = 0, s = 0;
	uint64_t last, sync;
	struct nt_msg msg;
	bool early = true;

	assert_non_null(code);
	for (i = 0; i < r.nr_msgs && r.msgs[i].at < before; i++)
		if (nt_msg_decode(&r.params, r.bytes + r.msgs[i].at, r.msgs[i].len, &msg) > 0 &&
		    nt_tcode_is_sync(msg.tcode))
			want = r.msgs[i].at;
	assert_int_equal(at, want);
	if (at == r.len)
		goto out;
	n = decode_from(code, 0, all, &last);
	m = decode_from(code, at, some, &sync);
	if (n + 64 <= SEEK_EVENTS)
		assert_true(last == nt_msg_find_sync_before(&r.params, r.bytes, r.len, r.len));
	if (m + 64 <= SEEK_EVENTS)
		assert_true(sync == nt_msg_find_sync_before(&r.params, r.bytes, r.len, r.len));
	assert_true(m && some[0].kind == NT_EV_START && some[0].offset == at);
	while (a < n && all[a].offset <= at)
		a++;
	while (s < m && some[s].offset <= at)
		s++;
	for (i = 0; a < n && s < m; a++, s++, i++) {
		assert_int_equal(all[a].kind, some[s].kind);
		assert_int_equal(all[a].type, some[s].type);
		assert_true(all[a].from == some[s].from && all[a].to == some[s].to);
		assert_true(all[a].offset == some[s].offset);
		/* some retired before the sync message, which made no event */
		assert_true(all[a].insns == some[s].insns ||
			    (early && all[a].insns > some[s].insns));
		if (all[a].kind != NT_EV_CONTEXT && all[a].kind != NT_EV_NOTICE)
			early = false;
		if (!r.params.tstamp_bits || r.params.tstamp_bits == 64)
			assert_true(all[a].time == some[s].time);
	}
	assert_true((a == n && s == m) || n + 64 > SEEK_EVENTS || m + 64 > SEEK_EVENTS);
	sum.sought += i;
out:
	nt_code_free(code);
}

/* Follow the trace as it was sent, or lies in another that has more. */
static void follow_whole(struct check *c, const uint8_t *bytes, size_t len)
{
	memset(c, 0, sizeof(*c));
	c->bytes = bytes;
	c->len = len;
	c->msgs = r.msgs;
	c->nr_msgs = r.nr_msgs;
	c->losses = r.losses;
	follow(c);
}

static void print_sum(void)
{
	print_message("# %" PRIu64 " traces (%" PRIu64 " HTM, %" PRIu64 " with repeats, %" PRIu64
		      " with timestamps, %" PRIu64 " with SRC, %" PRIu64 " of p550, %" PRIu64
		      " of tt-dfd), %" PRIu64 " messages, %" PRIu64
		      " bytes; reported %" PRIu64 " instructions, %" PRIu64 " transfers\n",
		      sum.traces, sum.htm, sum.repeating, sum.timed, sum.sourced, sum.p550,
		      sum.tt_dfd, sum.messages, sum.bytes, sum.insns, sum.branches);
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
		follow_whole(&c, r.bytes, r.len);
		assert_int_equal(c.item, r.nr_items);
		assert_false(c.l.running);
		if (r.params.mode)
			seek();
	}
	print_message("# %" PRIu64 " events behind places that were sought\n", sum.sought);
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
		follow_whole(&c, r.bytes, r.len);
	}
	print_sum();
}

/* Sync messages of HTM without HIST: what is reported is true; what cannot be known is a loss. */
static void R121_history_is_not_reported(void **state)
{
	unsigned long n = rounds(3000) / 2;
	struct check c;

	(void)state;
	r.losses = r.unreported = true;
	while (n--) {
		execute(1 + rnd(2000));
		follow_whole(&c, r.bytes, r.len);
		same_quickly(r.bytes, r.len);
	}
	r.unreported = false;
	print_message("# %" PRIu64 " histories were not reported, %" PRIu64 " are losses\n",
		      sum.unreported, sum.unsettled);
	assert_true(sum.unsettled < sum.unreported);
	print_sum();
}

/* Two sources in one stream, message by message in any order: each is decoded as if alone. */
static void R126_R142_sources_are_apart(void **state)
{
	static uint8_t bytes[2 * BYTES_MAX];
	static struct run first;
	unsigned long n = rounds(3000) / 6;
	struct nt_params common;
	struct check c;

	(void)state;
	r.losses = false;
	nt_params_init(&common);
	stream = &common;
	while (n--) {
		size_t a = 0, b = 0, len = 0;

		common.xlen = rnd(2) ? 32 : 64;
		common.timestamps = rnd(2);
		common.extaddr = rnd(2);
		common.srcbits = 1 + rnd(12);
		common.src = rnd(1u << (common.srcbits - 1));
		execute(1 + rnd(1000));
		first = r;
		common.src += 1u << (common.srcbits - 1);
		execute(1 + rnd(1000));
		while (a < first.nr_msgs || b < r.nr_msgs) {
			bool mine = a == first.nr_msgs || (b < r.nr_msgs && rnd(2));
			struct sent *m = mine ? &r.msgs[b++] : &first.msgs[a++];

			memcpy(bytes + len, (mine ? r.bytes : first.bytes) + m->at, m->len);
			m->at = len;
			len += m->len;
		}
		follow_whole(&c, bytes, len);
		assert_int_equal(c.item, r.nr_items);
		r = first;
		follow_whole(&c, bytes, len);
		assert_int_equal(c.item, r.nr_items);
	}
	stream = NULL;
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
		/*
		 * a message in which a cut begins, or goes on, or which the rest of another
		 * swallows
		 */
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
			if (!k)
				same_quickly(bytes, c.len);
		}
	}
	print_message("# %" PRIu64 " cuts: %" PRIu64 " losses told; %" PRIu64
		      " stretches between are whole; %" PRIu64
		      " merged messages look whole, %" PRIu64
		      " traces have more of another mode; %" PRIu64 " false sync messages; %" PRIu64
		      " transfers before the cut " "could be told\n", sum.cuts, sum.told,
		      sum.zones, sum.legal, sum.misled, sum.false_syncs, sum.untold);
	print_message("# %" PRIu64 " returns to an earlier position\n", sum.returns);
	assert_true(sum.returns > sum.traces);
	print_sum();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(R85_R93_R102_round_trip),
		cmocka_unit_test(R119_R120_overflow),
		cmocka_unit_test(R121_history_is_not_reported),
		cmocka_unit_test(R126_R142_sources_are_apart),
		cmocka_unit_test(R72_R115_lost_bytes),
	};

	rnd_begin();
	return RUN_TAP(tests);
}
