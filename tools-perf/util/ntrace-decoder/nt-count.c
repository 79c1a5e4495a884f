// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Counting: edges instead of events, and messages that are not decoded again
 *
 * A program in a loop sends the same message from the same place over and over. A memo remembers
 * the result of such a message. It is found by the bytes of the message and the decoder's state
 * before it, and contains the state after it, its effect on the return stack, and the edges that
 * were taken. The next time, the message is neither parsed nor walked, only a counter of the memo
 * is incremented. The counts are added to the edges when the memo is replaced, or when the caller
 * asks for them.
 *
 * There are no memos for messages that failed, that caused other events than branches, or whose
 * events did not fit into one batch.
 */
#include <limits.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "nt-count.h"
#include "nt-short.h"

/* ---------------------------------------------------------------- edges -- */

static uint32_t edge_slot(const struct nt_counts *c, const struct nt_edge *e)
{
	uint64_t h = (e->from ^ (e->to << 20 | e->to >> 44) ^ e->space << 40 ^ e->type) *
		     0x9e3779b97f4a7c15u;

	return h >> (64 - c->table_bits);
}

static void edge_insert(struct nt_counts *c, uint32_t n)
{
	const uint32_t wrap = (1u << c->table_bits) - 1;
	uint32_t slot = edge_slot(c, &c->edges[n]);

	while (c->table[slot] != NT_EDGE_NONE)
		slot = (slot + 1) & wrap;
	c->table[slot] = n;
}

static bool edges_grow(struct nt_counts *c)
{
	unsigned int bits = c->table ? c->table_bits + 1 : EDGE_BITS;
	struct nt_edge *edges;
	uint32_t *table, n;

	if (bits > EDGE_BITS_MAX)
		return false;
	edges = realloc(c->edges, sizeof(*edges) << (bits - 1));
	if (!edges)
		return false;
	c->edges = edges;
	table = malloc(sizeof(*table) << bits);
	if (!table)
		return false;
	free(c->table);
	c->table = table;
	c->table_bits = bits;
	memset(table, 0xff, sizeof(*table) << bits);
	for (n = 0; n < c->nr_edges; n++)
		edge_insert(c, n);
	return true;
}

/* The address space of an edge: an edge between the two halves belongs to the low one. */
static uint64_t space_of(const struct nt_flow *f, const struct nt_event *ev)
{
	bool high = ev->from >= f->params.high_from && ev->to >= f->params.high_from;
	const struct nt_code *code = high ? f->high : f->low;

	return code ? code->space : 0;
}

/* The index of an edge, made if needed; NT_EDGE_NONE: no memory */
static uint32_t edge_get(struct nt_counts *c, const struct nt_flow *f, const struct nt_event *ev)
{
	struct nt_edge e = {
		.from = ev->from, .to = ev->to, .type = ev->type, .space = space_of(f, ev),
	};
	uint32_t wrap, slot, n;

	if (c->nr_edges >= 1u << (c->table_bits - 1) && !edges_grow(c))
		return NT_EDGE_NONE;
	wrap = (1u << c->table_bits) - 1;
	for (slot = edge_slot(c, &e); ; slot = (slot + 1) & wrap) {
		const struct nt_edge *have;

		n = c->table[slot];
		if (n == NT_EDGE_NONE)
			break;
		have = &c->edges[n];
		if (have->from == e.from && have->to == e.to && have->type == e.type &&
		    have->space == e.space)
			return n;
	}
	n = c->nr_edges++;
	c->edges[n] = e;
	c->table[slot] = n;
	return n;
}

/* ------------------------------------------------------------ locations -- */

static uint32_t spot_slot(const struct nt_counts *c, uint64_t pc, uint32_t world)
{
	uint64_t h = (pc ^ (uint64_t)world << 56) * 0x9e3779b97f4a7c15u;

	return h >> (64 - c->spot_bits);
}

static bool spots_grow(struct nt_counts *c)
{
	unsigned int bits = c->spot_table ? c->spot_bits + 1 : SPOT_BITS;
	struct spot *spots;
	uint32_t *table, n, slot;

	if (bits > SPOT_BITS_MAX)
		return false;
	spots = realloc(c->spots, sizeof(*spots) << (bits - 1));
	if (!spots)
		return false;
	c->spots = spots;
	table = calloc((size_t)1 << bits, sizeof(*table));
	if (!table)
		return false;
	free(c->spot_table);
	c->spot_table = table;
	c->spot_bits = bits;
	for (n = SPOT_NONE + 1; n < c->nr_spots; n++) {
		slot = spot_slot(c, spots[n].pc, spots[n].world);
		while (table[slot])
			slot = (slot + 1) & ((1u << bits) - 1);
		table[slot] = n;
	}
	return true;
}

/* The index of pc in the current context; SPOT_NONE: no room */
static uint32_t spot_get(struct nt_counts *c, uint64_t pc)
{
	uint32_t slot, n;

	if (c->nr_spots >= 1u << (c->spot_bits - 1) && !spots_grow(c))
		return SPOT_NONE;
	for (slot = spot_slot(c, pc, c->world); ; slot = (slot + 1) & ((1u << c->spot_bits) - 1)) {
		n = c->spot_table[slot];
		if (n == SPOT_NONE)
			break;
		if (c->spots[n].pc == pc && c->spots[n].world == c->world)
			return n;
	}
	n = c->nr_spots++;
	c->spots[n].pc = pc;
	c->spots[n].world = c->world;
	c->spot_table[slot] = n;
	return n;
}

/* ---------------------------------------------------------------- memos -- */

/* Add a memo's count to its edges. */
static void settle(struct nt_counts *c, struct memo *m)
{
	const struct path *path = &c->paths[m->path];
	unsigned int i;

	if (!m->hits)
		return;
	for (i = 0; i < path->nr_edges; i++)
		c->edges[path->edges[i]].count += (uint64_t)m->hits * path->times[i];
	c->stats.insns += (uint64_t)m->hits * path->insns;
	m->hits = 0;
}

static void settle_all(struct nt_counts *c)
{
	unsigned int i;

	for (i = 0; i < MEMOS; i++)
		settle(c, &c->memos[i]);
}

static void forget_all(struct nt_counts *c)
{
	settle_all(c);
	memset(c->memos, 0, MEMOS * sizeof(*c->memos));
	memset(c->spot_table, 0, sizeof(*c->spot_table) << c->spot_bits);
	c->nr_paths = 0;
	c->nr_spots = SPOT_NONE + 1;
	c->nr_worlds = 0;
	c->stats.memos = 0;
}

/* Select the context of a decoder. */
static void enter_world(struct nt_counts *c, const struct nt_flow *f)
{
	struct world w;
	unsigned int i;

	memset(&w, 0, sizeof(w));
	memcpy(&w.params, &f->params, sizeof(w.params));
	w.params.src = 0;	/* not part of keys */
	w.low = f->low;
	w.high = f->high;
	w.low_generation = f->low ? f->low->generation : 0;
	w.high_generation = f->high ? f->high->generation : 0;
	w.mode = f->mode;
	w.reported_syncs = f->reported_syncs;
	w.until_other = f->until_other;
	if (f->until_other) {
		w.watch = f->counts->watch.fn;
		w.watch_ctx = f->counts->watch.ctx;
	}
	if (c->nr_worlds && !memcmp(&c->worlds[c->world], &w, sizeof(w)))
		return;
	for (i = 0; i < c->nr_worlds; i++)
		if (!memcmp(&c->worlds[i], &w, sizeof(w)))
			break;
	if (i == WORLDS) {
		forget_all(c);
		i = 0;
	}
	memcpy(&c->worlds[i], &w, sizeof(w));
	c->world = i;
	if (i == c->nr_worlds)
		c->nr_worlds++;
}

/* ---- the decoder's state in a word: credit and flags */

#define STATE_SYNCED	1	/* f->just_synced */
#define STATE_CREDIT	(~(int64_t)STATE_SYNCED)

static int64_t get_state(const struct nt_flow *f)
{
	return f->credit * 2 | (f->just_synced ? STATE_SYNCED : 0);
}

static void set_state(struct nt_flow *f, int64_t state)
{
	f->credit = (state & STATE_CREDIT) / 2;
	f->just_synced = state & STATE_SYNCED;
}

/*
 * What messages of a kind depend on and change. ResourceFull does not depend on the state, and adds
 * that of the memo to the credit. The others depend on the state, and set it.
 */
struct kind {
	int64_t asks;		/* of the state: all or nothing */
	int32_t sets;
	uint32_t asks_ref;	/* all or nothing */
	uint32_t sets_ref;	/* all or nothing: set to the message's target */
	bool adds;
};

#define KIND_DIRECT	{ .asks = ~0ll }
#define KIND_INDIRECT	{ .asks = ~0ll, .asks_ref = ~0u, .sets_ref = ~0u }

static const struct kind kinds[64] = {
	[NT_TCODE_DIRECT_BRANCH] = KIND_DIRECT,
	[NT_TCODE_INDIRECT_BRANCH] = KIND_INDIRECT,
	[NT_TCODE_INDIRECT_BRANCH_HIST] = KIND_INDIRECT,
	[NT_TCODE_RESOURCE_FULL] = { .adds = true },
	[NT_TCODE_PROG_TRACE_SYNC] = { .asks = ~0ll, .sets = STATE_SYNCED, .sets_ref = ~0u },
	[NT_TCODE_DIRECT_BRANCH_SYNC] = { .asks = ~0ll, .sets = STATE_SYNCED, .sets_ref = ~0u },
	[NT_TCODE_INDIRECT_BRANCH_SYNC] = { .asks = ~0ll, .sets = STATE_SYNCED, .sets_ref = ~0u },
	[NT_TCODE_INDIRECT_BRANCH_HIST_SYNC] = {
		.asks = ~0ll, .sets = STATE_SYNCED, .sets_ref = ~0u },
};

/* Only these kinds have memos. */
static bool is_kept(unsigned int tcode)
{
	return kinds[tcode].asks || kinds[tcode].adds;
}

/* ---- keys */

struct key {
	uint64_t bytes[MEMO_BYTES / 8];	/* see struct nt_short_frame */
	uint32_t at, ref;
	int64_t state;
};

/* The position of SRC, if it is constant */
static uint64_t src_bits(const struct nt_flow *f)
{
	return f->params.src < 0 ? 0 : nt_short_src(f->params.srcbits, UINT_MAX);
}

NT_INLINE void set_key(struct key *key, const struct nt_short_frame *frame,
		       const struct kind *kind, const struct before *now)
{
	key->bytes[0] = frame->word[0];
	key->bytes[1] = frame->word[1];
	key->at = now->at;
	key->ref = now->ref & kind->asks_ref;
	key->state = now->state;
}

/* The first of the key's two slots */
static inline struct memo *memo_slot(struct memo *memos, const struct key *key)
{
	uint64_t h = key->bytes[0] ^ key->bytes[1] ^ key->at;

	h ^= h >> 32;
	h *= 0xff51afd7ed558ccdu;
	return &memos[h >> (65 - MEMO_BITS) << 1];
}

/* ----------------------------------------------------------- replaying --- */

/* Variables of a replay, and constants that the compiler must recognize as such */
struct replay {
	const uint8_t *p, *last_start;	/* a message behind that one may be incomplete */
	struct before now;
	uint64_t src_bits, src;	/* of the first word: the mask of SRC, and its expected value */
	uint64_t time, limit;
	bool differences;	/* TSTAMP is a difference, except in sync messages */
	uint64_t hits;
	const uint8_t *branch;	/* with SRC: the last branch message that was replayed, or NULL, */
	size_t others;		/* ... and the bytes of other sources that were skipped */
	const struct memo *last;	/* the last memo with a branch; NULL: none */
	uint32_t straight;	/* instructions of the memos behind that one */
	struct stack *stack;
	const struct spot *spots;
	struct memo *memos;
	const struct path *paths;
};

/* Is the return stack deep enough, but not too deep, and has the entries that the walk needs? */
NT_INLINE bool stack_fits(const struct replay *r, const struct memo *m)
{
	const struct stack *s = r->stack;
	unsigned int i, pops = m->effect.pops;

	if (s->depth < pops || s->depth + m->effect.rise > s->wrap + 1)
		return false;
	for (i = 0; i < pops; i++)
		if (s->calls[(s->top - 1 - i) & s->wrap].pc != r->spots[m->stack[i]].pc)
			return false;
	return true;
}

NT_INLINE bool memo_fits(const struct replay *r, const struct memo *m, const struct key *key,
			 const struct kind *kind)
{
	if ((m->bytes[0] ^ key->bytes[0]) | (m->bytes[1] ^ key->bytes[1]) |
	    (m->at ^ key->at) | (m->ref ^ key->ref) |
	    (uint64_t)((m->state ^ key->state) & kind->asks))
		return false;
	return !m->effect.any || stack_fits(r, m);
}

NT_INLINE void move_stack(const struct replay *r, const struct memo *m)
{
	struct stack *s = r->stack;
	unsigned int i, pops = m->effect.pops, pushes = m->effect.pushes;
	const uint32_t *pushed = &m->stack[pops];

	if (m->effect.drops && s->depth > pops)
		pops++;
	s->depth += pushes - pops;
	s->top -= pops;
	for (i = 0; i < pushes; i++, s->top++) {
		s->calls[s->top & s->wrap].pc = r->spots[pushed[i]].pc;
		s->calls[s->top & s->wrap].block = NT_BLOCK_NONE;
	}
	s->top &= s->wrap;
	if (m->effect.empties)
		s->depth = 0;
}

/* The time of a TSTAMP that is not a plain difference */
static __attribute__((noinline)) uint64_t stamp_time(const struct nt_flow *f, unsigned int tcode,
						     uint64_t stamp, uint64_t time)
{
	bool sync = NT_TCODES_SYNC >> tcode & 1 || nt_is_tt_dfd(&f->params);

	return nt_tstamp_behind(time, f->time_from, sync ? stamp : time ^ stamp,
				f->params.tstamp_bits);
}

/* Replay the message at r->p, of this kind.  False: there is no memo; nothing was done. */
NT_INLINE bool replay_kind(const struct nt_flow *f, struct replay *r,
			   const struct nt_short_frame *frame, const struct kind kind,
			   bool stamped, bool sourced)
{
	struct before *now = &r->now;
	uint64_t time = r->time;
	struct memo *m;
	struct key key;

	set_key(&key, frame, &kind, now);
	if (stamped) {
		time += frame->stamp;
		if (__builtin_expect(kind.sets || !r->differences, false))
			time = stamp_time(f, frame->tcode, frame->stamp, r->time);
		if (time > r->limit)
			return false;
	}
	m = memo_slot(r->memos, &key);
	if (!memo_fits(r, m, &key, &kind) && !memo_fits(r, ++m, &key, &kind))
		return false;
	if (__builtin_add_overflow(m->hits, 1, &m->hits)) {
		m->hits = UINT32_MAX;	/* it is settled when it is learned again */
		return false;
	}
	if (m->effect.any)
		move_stack(r, m);
	if (m->effect.linear) {
		r->straight += r->paths[m->path].insns;
	} else {
		r->last = m;
		r->straight = 0;
	}
	r->time = time;
	now->state = kind.adds ? (now->state & STATE_CREDIT) + m->state : kind.sets;
	now->ref ^= (now->ref ^ m->to) & kind.sets_ref;
	now->at = m->to;
	if (sourced && !kind.adds)
		r->branch = r->p;
	r->p += frame->len;
	r->hits++;
	return true;
}

/* The same, of any kind */
NT_INLINE bool replay_one(const struct nt_flow *f, struct replay *r, bool stamped, bool sourced)
{
	struct nt_short_frame frame;

	if (!nt_short_frame(r->p, stamped, sourced ? r->src_bits : 0, &frame))
		return false;
	/* The frequent kinds are constants, and have code of their own. */
	switch (frame.tcode) {
	case NT_TCODE_DIRECT_BRANCH:
		return replay_kind(f, r, &frame, (struct kind)KIND_DIRECT, stamped, sourced);
	case NT_TCODE_INDIRECT_BRANCH:
	case NT_TCODE_INDIRECT_BRANCH_HIST:
		return replay_kind(f, r, &frame, (struct kind)KIND_INDIRECT, stamped,
				   sourced);
	default:
		/* a frame does not show a first byte of 0 */
		return is_kept(frame.tcode) &&
		       replay_kind(f, r, &frame, kinds[frame.tcode], stamped, sourced);
	}
}

/* Skip the messages of other sources.  False: there is no message of this one, or not at once. */
NT_INLINE bool skip_others(const struct nt_flow *f, struct replay *r, bool stamped)
{
	unsigned int len;

	while (r->p <= r->last_start) {
		if ((nt_short_load(r->p) & r->src_bits) == r->src)
			return true;
		len = nt_short_length(r->p, f->kinds, stamped);
		if (!len)
			return false;
		r->p += len;
		r->others += len;
	}
	return false;
}

#define REPLAY(name, stamped, sourced)							\
static __attribute__((noinline)) void name(const struct nt_flow *f, struct replay *io)	\
{											\
	struct replay r = *io;								\
											\
	while ((sourced ? skip_others(f, &r, stamped) : r.p <= r.last_start) &&		\
	       replay_one(f, &r, stamped, sourced))					\
		;									\
	*io = r;									\
}

REPLAY(replay_plain, false, false)
REPLAY(replay_stamps, true, false)
REPLAY(replay_src, false, true)
REPLAY(replay_all, true, true)

static void replay(const struct nt_flow *f, struct replay *r)
{
	if (!f->params.timestamps)
		(r->src_bits ? replay_src : replay_plain)(f, r);
	else if (f->time_valid)
		(r->src_bits ? replay_all : replay_stamps)(f, r);
}

/* Without SRC: find the last branch message from `first` to `end`, for RepeatBranch. */
static void recall(struct nt_flow *f, const uint8_t *first, const uint8_t *end)
{
	while (end > first) {
		const uint8_t *p = end - 1;

		while (p > first && (p[-1] & 3) != 3)
			p--;
		if (*p >> 2 != NT_TCODE_RESOURCE_FULL) {
			f->last_at = p - f->buf;
			return;
		}
		end = p;
	}
}

/*
 * Branches were counted after the first `at` events of the batch, of messages up to f->pos. The
 * last one was `edge`.
 */
static void count_last(struct nt_counts *c, const struct nt_flow *f, uint32_t edge, unsigned int at)
{
	c->last = edge;
	c->last_at = at;
	c->last_offset = f->offset + f->pos - 1;
}

/*
 * Memos count all of their instructions, but those behind the last branch are of the next event:
 * @pending ones were before the memos, and @tail are behind them.
 */
static void count_pending(struct nt_counts *c, struct nt_flow *f, uint32_t pending, uint32_t tail)
{
	c->stats.insns += (uint64_t)pending - tail;
	f->insns = tail;
}

/* Write the result back to the decoder's state. */
static void end_replay(struct nt_flow *f, struct nt_counts *c, const struct replay *r,
		       const struct batch *b)
{
	const uint8_t *first = f->buf + f->pos;
	const struct path *last = r->last ? &c->paths[r->last->path] : NULL;

	count_pending(c, f, f->insns, (last ? last->tail : f->insns) + r->straight);
	c->stats.hits += r->hits;
	c->stats.walks += r->hits;
	f->work += (r->p - first - r->others) * f->work_per_byte;
	f->pos = r->p - f->buf;
	if (last)
		count_last(c, f, last->last, b->n);
	set_state(f, r->now.state);
	f->ref = f->msg_target = c->spots[r->now.ref].pc;
	f->time = r->time;
	nt_walk_go_to(f, c->spots[r->now.at].pc);
	/* memos contain no watched code */
	c->watch.from = f->at.pc;
	if (r->branch)
		f->last_at = r->branch - f->buf;
	else if (!r->src_bits)
		recall(f, first, r->p);
}

void nt_count_enter(struct nt_flow *f)
{
	enter_world(f->counts, f);
}

void nt_count_replay(struct nt_flow *f, const struct batch *b)
{
	struct nt_counts *c = f->counts;
	struct replay r = { .p = f->buf + f->pos };

	c->was.valid = false;
	/* the run with the watched code ends in an event, not in a memo */
	if (f->state != RUNNING || f->mode == NT_MODE_UNKNOWN || c->watch.open)
		return;
	if (c->worlds[c->world].mode != f->mode)
		enter_world(c, f);
	r.now.at = spot_get(c, f->at.pc);
	r.now.ref = spot_get(c, f->ref);
	if (r.now.at == SPOT_NONE || r.now.ref == SPOT_NONE)
		return;
	r.now.state = get_state(f);
	r.stack = &f->stack;
	r.spots = c->spots;
	r.memos = c->memos;
	r.paths = c->paths;
	r.src_bits = src_bits(f);
	r.src = r.src_bits & nt_short_src(f->params.srcbits, (unsigned int)f->params.src);
	r.time = f->time;
	r.limit = f->limit;
	r.differences = nt_stamps_differences(&f->params);
	if (f->end - f->pos >= NT_SHORT_ROOM) {
		r.last_start = f->buf + f->end - NT_SHORT_ROOM;
		replay(f, &r);
	}
	if (r.hits)
		end_replay(f, c, &r, b);
	c->was = r.now;
	c->was.valid = true;
	c->was.depth = f->stack.depth;
}

/* ------------------------------------------------------------ watching --- */

/* Longest instruction of a transfer */
#define TRANSFER_LEN	4

static bool watch_runs(const struct watch *w, const struct nt_event *ev)
{
	const uint64_t end = ev->from + (nt_type_is_trap(ev->type) ? 0 : TRANSFER_LEN);

	return ev->insns && w->from < end && w->fn(w->ctx, w->from, end);
}

/* A message is counted as a whole or not at all: a caller may decode it again. */
static unsigned int first_of_message(const struct nt_event *ev, unsigned int i)
{
	while (i && ev[i - 1].offset == ev[i].offset)
		i--;
	return i;
}

/* Check the new ones of n events. Some that were checked may have become memos. */
static void watch_events(struct watch *w, const struct nt_event *ev, unsigned int n)
{
	w->seen = w->seen < n ? w->seen : n;
	for (; w->seen < n && w->first == UINT_MAX; w->seen++) {
		const struct nt_event *now = &ev[w->seen];

		if (!nt_event_leads(now))
			continue;
		if (now->kind == NT_EV_BRANCH && watch_runs(w, now))
			w->first = first_of_message(ev, w->seen);
		w->from = now->to;
		w->open = false;
	}
}

/*
 * Watched code ran since the last transfer.  If this was not counted later, its whole message must
 * not be counted.
 */
static void watch_last(struct nt_counts *c, const struct batch *b)
{
	unsigned int i = b->n;

	while (i && !nt_event_leads(&b->ev[i - 1]))
		i--;
	if (!i || c->watch.from != b->ev[i - 1].to)
		return;
	i = first_of_message(b->ev, i - 1);
	if (c->last == NT_EDGE_NONE || c->last_at <= i)
		c->watch.first = i;
}

static void watch_begin(struct watch *w, uint64_t from)
{
	w->from = from;
	w->seen = 0;
	w->first = UINT_MAX;
	w->open = false;
}

bool nt_count_watch(struct nt_flow *f, struct batch *b)
{
	struct watch *w = &f->counts->watch;

	if (!w->fn || !f->until_other)
		return false;
	watch_events(w, b->ev, b->n);
	if (f->at.pc > w->from)
		w->open |= w->fn(w->ctx, w->from, f->at.pc);
	if (w->open && w->first == UINT_MAX)
		watch_last(f->counts, b);
	b->end |= w->first != UINT_MAX;
	return b->end || w->open;
}

void nt_counts_watch(struct nt_counts *c, nt_watch_fn watch, void *ctx)
{
	c->watch.fn = watch;
	c->watch.ctx = ctx;
}

/* ------------------------------------------------------------ learning --- */

static bool is_call(unsigned int type)
{
	return type == NT_TYPE_CALL || type == NT_TYPE_ICALL || type == NT_TYPE_SWAP;
}

/* A walk's effect on the return stack so far */
struct stacking {
	unsigned int pops, pushes, rise;
	bool drops;
	uint32_t popped[MEMO_STACK];
};

/*
 * An inferred return depends on its entry of the stack; a return with an address only removes it.
 * False: more than a memo can hold.
 */
static bool stacking_pop(struct nt_counts *c, const struct nt_event *ev, struct stacking *s)
{
	if (s->pushes) {
		s->pushes--;
		return true;
	}
	if (!(ev->flags & NT_EVF_INFERRED)) {
		s->drops = true;
		return true;
	}
	if (s->pops == MEMO_STACK)
		return false;
	s->popped[s->pops] = spot_get(c, ev->to);
	return s->popped[s->pops++] != SPOT_NONE;
}

/* False: more than a memo can hold */
static bool stacking_branches(struct nt_counts *c, const struct nt_flow *f,
			      const struct nt_event *ev, unsigned int n, struct stacking *s)
{
	unsigned int i, high;

	for (i = 0; i < n; i++) {
		/* a SWAP that is a sequential jump does not go to the popped address */
		if (ev[i].type == NT_TYPE_SWAP && f->params.seqjump)
			return false;
		if ((ev[i].type == NT_TYPE_RET || ev[i].type == NT_TYPE_SWAP) &&
		    !stacking_pop(c, &ev[i], s))
			return false;
		if (is_call(ev[i].type))
			s->pushes++;
		high = s->pushes > s->pops ? s->pushes - s->pops : 0;
		s->rise = high > s->rise ? high : s->rise;
	}
	return s->rise <= RISE_MAX;
}

/* The effect of a walk's branches on the return stack; false: more than a memo can hold */
static bool stack_effect(struct nt_counts *c, const struct nt_flow *f,
			 const struct nt_event *ev, unsigned int n, struct memo *m)
{
	const struct stack *stack = &f->stack;
	struct stacking s = { .pops = 0 };
	unsigned int i;

	memset(&m->effect, 0, sizeof(m->effect));
	/* without implicit return the stack is not used */
	if (!f->params.retstack)
		return true;
	if (!stacking_branches(c, f, ev, n, &s) || c->was.depth + s.rise > stack->wrap + 1)
		return false;
	if (nt_is_sync(&f->msg))
		s.pushes = 0;		/* sync messages empty the stack */
	if (s.pops + s.pushes > MEMO_STACK)
		return false;
	memcpy(m->stack, s.popped, s.pops * sizeof(*m->stack));
	for (i = 0; i < s.pushes; i++) {
		unsigned int at = (stack->top - s.pushes + i) & stack->wrap;

		m->stack[s.pops + i] = spot_get(c, stack->calls[at].pc);
		if (m->stack[s.pops + i] == SPOT_NONE)
			return false;
	}
	m->effect.pops = s.pops;
	m->effect.pushes = s.pushes;
	m->effect.rise = s.rise;
	m->effect.drops = s.drops;
	m->effect.empties = nt_is_sync(&f->msg);
	return true;
}

/* The key of the current message; false: it gets no memo */
static bool learn_key(const struct nt_flow *f, const struct before *was, struct key *key)
{
	size_t start = f->msg_offset - f->offset, len = f->pos - start;
	uint8_t raw[NT_SHORT_ROOM] = { 0 };
	struct nt_short_frame frame;

	/* a repeated message is not the effect of the RepeatBranch itself */
	if (len > MEMO_BYTES || !is_kept(f->buf[start] >> 2))
		return false;
	memcpy(raw, f->buf + start, len);
	if ((f->params.timestamps && !(f->msg.fields & NT_F_TSTAMP)) ||
	    !nt_short_frame(raw, f->params.timestamps, src_bits(f), &frame))
		return false;
	set_key(key, &frame, &kinds[frame.tcode], was);
	return true;
}

static bool learn_memo(struct nt_counts *c, const struct nt_flow *f, const struct key *key,
		       struct memo *m)
{
	int64_t state = key->state;

	if (kinds[f->msg.tcode].adds)
		state = (get_state(f) & STATE_CREDIT) - (c->was.state & STATE_CREDIT);
	memcpy(m->bytes, key->bytes, sizeof(m->bytes));
	m->at = key->at;
	m->ref = key->ref;
	m->state = (int32_t)state;
	m->to = spot_get(c, f->at.pc);
	m->hits = 1;
	return m->state == state && m->to != SPOT_NONE;
}

#define RECENT		32

/* The index of a known edge in the path, or path->nr_edges */
static unsigned int path_find(const struct nt_counts *c, const struct path *path,
			      const struct nt_event *ev, const uint8_t *recent)
{
	unsigned int n = recent[(ev->from >> 1) % RECENT];
	const struct nt_edge *e;

	if (n >= path->nr_edges)
		return path->nr_edges;
	e = &c->edges[path->edges[n]];
	return e->from == ev->from && e->to == ev->to && e->type == ev->type ? n : path->nr_edges;
}

/* False: other events than branches, too many branches, or no memory */
static bool learn_path(struct nt_counts *c, const struct nt_flow *f, const struct nt_event *ev,
		       unsigned int n, struct path *path)
{
	uint8_t recent[RECENT] = { 0 };
	unsigned int i, k;

	path->nr_edges = 0;
	path->insns = 0;
	path->last = NT_EDGE_NONE;
	for (i = 0; i < n; i++) {
		if (ev[i].kind != NT_EV_BRANCH ||
		    (f->until_other && nt_type_is_trap(ev[i].type)))
			return false;
		path->insns += ev[i].insns;
		k = path_find(c, path, &ev[i], recent);
		if (k < path->nr_edges) {
			path->times[k]++;
			path->last = path->edges[k];
			continue;
		}
		if (k == MEMO_EDGES)
			return false;
		path->edges[k] = path->last = edge_get(c, f, &ev[i]);
		if (path->edges[k] == NT_EDGE_NONE)
			return false;
		path->times[k] = 1;
		path->nr_edges++;
		recent[(ev[i].from >> 1) % RECENT] = k;
	}
	return true;
}

/* An empty slot, or the less used one */
static struct memo *memo_victim(const struct nt_counts *c, const struct key *key)
{
	struct memo *m = memo_slot(c->memos, key);

	if (m[0].at == SPOT_NONE || (m[1].at != SPOT_NONE && m[0].hits <= m[1].hits))
		return m;
	return m + 1;
}

/* A message was not found: are memos worth it? */
static void count_miss(struct nt_counts *c)
{
	if (++c->misses < MEMO_MISSES)
		return;
	if (c->stats.hits - c->hits_then < MEMO_GAIN * MEMO_MISSES)
		c->pause = PAUSE;
	c->misses = 0;
	c->hits_then = c->stats.hits;
}

void nt_count_learn(struct nt_flow *f, struct batch *b)
{
	struct nt_counts *c = f->counts;
	const struct nt_event *ev = b->ev + b->mark;
	unsigned int n = b->n - b->mark;
	struct memo *m, fresh;
	struct path path;
	struct key key;

	c->stats.walks++;
	if (!c->was.valid || c->worlds[c->world].mode != f->mode)
		return;
	c->was.valid = false;
	count_miss(c);
	if (nt_count_watch(f, b))
		return;
	if (n > UINT8_MAX || !learn_key(f, &c->was, &key) ||
	    !stack_effect(c, f, ev, n, &fresh) || !learn_memo(c, f, &key, &fresh) ||
	    !learn_path(c, f, ev, n, &path))
		return;
	path.insns += f->insns - b->mark_insns;
	path.tail = f->insns;
	fresh.effect.linear = !n;
	if (n)
		count_last(c, f, path.last, b->mark);
	m = memo_victim(c, &key);
	if (m->at == SPOT_NONE) {
		fresh.path = c->nr_paths++;
		c->stats.memos++;
	} else {
		settle(c, m);
		fresh.path = m->path;
	}
	*m = fresh;
	c->paths[m->path] = path;
	b->n = b->mark;
	count_pending(c, f, b->mark_insns, f->insns);
}

/* ------------------------------------------------------------- interface - */

#define HUGE_PAGE	(2u << 20)

/* 0, or -NT_ENOMEM */
static int count_branch(struct nt_counts *c, const struct nt_flow *f, const struct nt_event *ev)
{
	uint32_t edge = edge_get(c, f, ev);

	if (edge == NT_EDGE_NONE)
		return -NT_ENOMEM;
	c->edges[edge].count++;
	return 0;
}

/* Set f->run after a batch if its last transfer was counted. */
static void count_run(const struct nt_counts *c, struct nt_flow *f, const struct nt_event *ev,
		      int n)
{
	int i = n;

	if (c->last == NT_EDGE_NONE)
		return;
	while (i-- > (int)c->last_at)
		if (nt_event_leads(&ev[i]))
			return;
	f->run = c->edges[c->last].to;
	f->run_ended = n > (int)c->last_at;
}

/* Decode a batch, without the branches of memos.  Number of events, or negative */
static int count_batch(struct nt_counts *c, struct nt_flow *f, struct nt_event *ev,
		       unsigned int max)
{
	int n;

	c->was.valid = false;
	c->last = NT_EDGE_NONE;
	c->last_at = 0;
	watch_begin(&c->watch, f->run);
	f->counts = c;
	n = nt_flow_next(f, ev, max);
	f->counts = NULL;
	count_run(c, f, ev, n);
	/* events that wait in f->queue were decoded before */
	if (n > 0 && c->watch.fn && f->until_other)
		watch_events(&c->watch, ev, (unsigned int)n);
	return n;
}

/* 0, or -NT_ENOMEM */
static int count_events(struct nt_counts *c, const struct nt_flow *f, const struct nt_event *ev,
			int n, struct nt_event *others, size_t size, int *nr_others)
{
	int i, ret;

	for (i = 0; i < n; i++) {
		c->stats.insns += ev[i].insns;
		if (ev[i].kind != NT_EV_BRANCH) {
			nt_give((char *)others + *nr_others * size, size, &ev[i], sizeof(ev[i]));
			++*nr_others;
			continue;
		}
		ret = count_branch(c, f, &ev[i]);
		if (ret)
			return ret;
	}
	return 0;
}

static int count_begin(struct nt_counts *c, size_t size, unsigned int max)
{
	if (max < 256 || size < NT_EVENT_LEAST)
		return -NT_EINVAL;
	if (c->nr_spots >= SPOTS_MAX)
		forget_all(c);
	return 0;
}

int nt_flow_count_sized(struct nt_flow *f, struct nt_counts *c, struct nt_event *others,
			size_t size, unsigned int max)
{
	struct nt_event ev[256];
	int n, nr_others = 0, ret = count_begin(c, size, max);

	if (ret)
		return ret;
	do {
		n = count_batch(c, f, ev, 256);
		if (n < 0)
			return n;
		ret = count_events(c, f, ev, n, others, size, &nr_others);
		if (ret)
			return ret;
	} while (n && !nr_others);
	return nr_others;
}

/* Was the event decoded before the limit was set, and is later? */
static bool is_late(const struct nt_flow *f, const struct nt_event *ev)
{
	return ev->time > f->limit && ev->flags & NT_EVF_TIME;
}

/*
 * Count up to the first event that is not a plain branch, or is later than the limit.  Number of
 * events, or negative
 */
static int count_until(struct nt_counts *c, const struct nt_flow *f, const struct nt_event *ev,
		       int n)
{
	int i, ret;

	for (i = 0; i < n && nt_event_is_plain(&ev[i]) && (unsigned int)i != c->watch.first &&
	     !is_late(f, &ev[i]); i++) {
		c->stats.insns += ev[i].insns;
		ret = count_branch(c, f, &ev[i]);
		if (ret)
			return ret;
	}
	return i;
}

/* Find the last counted branch of a batch with n such events; false: none. */
static bool count_led(const struct nt_counts *c, const struct nt_event *ev, int n,
		      struct nt_event *led)
{
	if (n && (c->last == NT_EDGE_NONE || c->last_at < (unsigned int)n)) {
		led->to = ev[n - 1].to;
		led->offset = ev[n - 1].offset;
	} else if (c->last != NT_EDGE_NONE) {
		led->to = c->edges[c->last].to;
		led->offset = c->last_offset;
	} else {
		return false;
	}
	led->from = led->to;
	return true;
}

/* The time of the counted branches before the event `before`; NULL: before the end of decoding */
static void count_time(const struct nt_flow *f, const struct nt_event *before, struct nt_event *ev)
{
	ev->time = before ? before->time : f->time;
	if (before)
		ev->flags = before->flags & (NT_EVF_TIME | NT_EVF_STAMP);
	else if (f->time_valid)
		ev->flags = NT_EVF_TIME | NT_EVF_STAMP;
}

int nt_flow_count_until_sized(struct nt_flow *f, struct nt_counts *c, struct nt_event *others,
			      size_t size, unsigned int max)
{
	int n, i, nr = 0, done, ret = count_begin(c, size, max);
	struct nt_event ev[255], stands = { .kind = NT_EV_COUNTED };
	bool any = false;

	if (ret)
		return ret;
	do {
		f->until_other = true;
		n = count_batch(c, f, ev, 255);
		f->until_other = false;
		done = n < 0 ? n : count_until(c, f, ev, n);
		if (done < 0)
			return done;
		any |= count_led(c, ev, done, &stands);
	} while (n && done == n);
	if (any) {
		count_time(f, done < n ? &ev[done] : NULL, &stands);
		nt_give(others, size, &stands, sizeof(stands));
		nr++;
	}
	for (i = done; i < n; i++, nr++)
		nt_give((char *)others + nr * size, size, &ev[i], sizeof(ev[i]));
	return nr;
}

/*
 * The table of memos is accessed randomly: huge pages, if available, avoid a thousand page faults
 * and TLB entries.
 */
static struct memo *memos_new(void)
{
	const size_t bytes = MEMOS * sizeof(struct memo);
	struct memo *memos = aligned_alloc(bytes < HUGE_PAGE ? 64 : HUGE_PAGE, bytes);

	if (!memos)
		return NULL;
	madvise(memos, bytes, MADV_HUGEPAGE);
	memset(memos, 0, bytes);
	return memos;
}

struct nt_counts *nt_counts_new(void)
{
	struct nt_counts *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->nr_spots = SPOT_NONE + 1;
	c->memos = memos_new();
	c->paths = malloc(MEMOS * sizeof(*c->paths));
	if (!c->memos || !c->paths || !edges_grow(c) || !spots_grow(c)) {
		nt_counts_free(c);
		return NULL;
	}
	return c;
}

void nt_counts_free(struct nt_counts *c)
{
	if (!c)
		return;
	free(c->memos);
	free(c->paths);
	free(c->spots);
	free(c->spot_table);
	free(c->table);
	free(c->edges);
	free(c->copy);
	free(c);
}

void nt_counts_clear(struct nt_counts *c)
{
	uint32_t i;

	settle_all(c);
	for (i = 0; i < c->nr_edges; i++)
		c->edges[i].count = 0;
}

bool nt_counts_have(const struct nt_counts *c, uint64_t space, uint64_t start, uint64_t end)
{
	const struct nt_edge *e;

	for (e = c->edges; e < c->edges + c->nr_edges; e++)
		if (e->space == space &&
		    (e->from - start <= end - 1 - start || e->to - start <= end - 1 - start))
			return true;
	return false;
}

/* Fields of the first version with a size */
#define EDGE_LEAST	(offsetof(struct nt_edge, type) + 1)

const struct nt_edge *nt_counts_edges_sized(struct nt_counts *c, size_t *n, size_t size)
{
	uint32_t i;
	char *copy;

	settle_all(c);
	*n = c->nr_edges;
	if (size == sizeof(*c->edges))
		return c->edges;
	if (size < EDGE_LEAST || size > NT_SIZE_MAX)
		return NULL;
	copy = realloc(c->copy, c->nr_edges * size + 1);
	if (!copy)
		return NULL;
	c->copy = copy;
	for (i = 0; i < c->nr_edges; i++)
		nt_give(copy + i * size, size, &c->edges[i], sizeof(c->edges[i]));
	return (const struct nt_edge *)copy;
}

/* Instructions of memos that are not settled yet */
static uint64_t unsettled_insns(const struct nt_counts *c)
{
	uint64_t insns = 0;
	unsigned int i;

	for (i = 0; i < MEMOS; i++)
		if (c->memos[i].hits)
			insns += (uint64_t)c->memos[i].hits * c->paths[c->memos[i].path].insns;
	return insns;
}

void nt_counts_get_stats(const struct nt_counts *c, struct nt_counts_stats *stats)
{
	struct nt_counts_stats now = c->stats;
	size_t size = stats->size;

	if (size > sizeof(*stats))
		size = sizeof(*stats);
	now.insns += unsettled_insns(c);
	now.bytes = sizeof(*c) + MEMOS * sizeof(struct memo) +
		    MEMOS * sizeof(struct path) +
		    (sizeof(*c->spots) << (c->spot_bits - 1)) +
		    (sizeof(*c->spot_table) << c->spot_bits) +
		    (sizeof(*c->edges) << (c->table_bits - 1)) +
		    (sizeof(*c->table) << c->table_bits);
	memcpy(stats, &now, size);
	stats->size = size;
}
