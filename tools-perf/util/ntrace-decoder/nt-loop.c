// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The fast path: common messages, from bytes to events in one loop
 *
 * Most messages are a few bytes long and lead over a few blocks; their path through all layers
 * costs more than their walk.  So this loop does the work of nt_msg_decode(), next_message(),
 * nt_walk() and finish() for DirectBranch, IndirectBranch, IndirectBranchHist and ResourceFull with
 * outcomes.  Other messages are left to next_message().  If a walk meets something rare, such as an
 * unknown block, nt_walk() and finish() continue from there.
 */
#include "nt-count.h"
#include "nt-walk.h"

/* ---------------------------------------------------------------- bytes -- */

/* Messages that contradict the mode are not common. */
#define BTM_TCODES	(NT_TCODE_BIT(DIRECT_BRANCH) | NT_TCODE_BIT(INDIRECT_BRANCH))
#define HTM_TCODES	(NT_SHORT_TCODES & ~NT_TCODE_BIT(DIRECT_BRANCH))

struct item {
	struct nt_short m;
	size_t pos;		/* in the window */
	uint64_t to;		/* U-ADDR as an absolute address */
	const struct nt_table *table;	/* the table that probably has it, as `pc`; NULL: none */
	uint64_t pc;
};

NT_INLINE bool has_addr(const struct nt_short *m)
{
	return m->tcode == NT_TCODE_INDIRECT_BRANCH || m->tcode == NT_TCODE_INDIRECT_BRANCH_HIST;
}

NT_INLINE bool has_hist(const struct nt_short *m)
{
	return m->tcode == NT_TCODE_RESOURCE_FULL || m->tcode == NT_TCODE_INDIRECT_BRANCH_HIST;
}

/* Decode a longer message; false: it is of another kind, damaged, or cut off. */
static __attribute__((noinline)) bool get_long(const struct nt_flow *f, uint64_t tcodes,
					       size_t pos, struct nt_short *m)
{
	struct nt_msg msg;
	int len;

	if (f->buf[pos] & 3 || !(tcodes >> (f->buf[pos] >> 2) & 1))
		return false;
	len = nt_msg_get(&f->params, f->buf + pos, f->len - pos, &msg);
	if (len <= 0)
		return false;
	m->len = len;
	m->tcode = msg.tcode;
	m->fixed = msg.tcode == NT_TCODE_RESOURCE_FULL ? msg.rcode : msg.btype;
	m->src = msg.src;
	m->stamped = msg.fields & NT_F_TSTAMP;
	m->tstamp = msg.tstamp;
	m->icnt = msg.icnt;
	m->addr = msg.addr;
	m->hist = msg.tcode == NT_TCODE_RESOURCE_FULL ? msg.rdata[0] : msg.hist;
	return true;
}

/* Decode the message at pos, from where NT_SHORT_ROOM bytes can be read; false: another kind */
NT_INLINE bool get_message(const struct nt_flow *f, const struct nt_shape *shape, size_t pos,
			   struct nt_short *m)
{
	if (!nt_short_get(f->buf + pos, &f->params, shape, m) &&
	    !get_long(f, shape->tcodes, pos, m))
		return false;
	if (nt_short_is(shape, m, NT_TCODE_RESOURCE_FULL))
		return m->fixed == 1 && m->hist > 1;
	return !m->fixed && m->icnt <= (uint64_t)ICNT_MAX &&
	       (!nt_short_is(shape, m, NT_TCODE_INDIRECT_BRANCH_HIST) || m->hist);
}

/* ---------------------------------------------------------- reading ahead - */

/*
 * In a large program, the target block of an indirect transfer is not in the host's caches, nor is
 * its entry in the table.  So some messages are read ahead of the walk, and their data is
 * prefetched: first the table entry, later its block and the blocks after it.
 */
#define AHEAD		32	/* capacity of the queue */
#define AHEAD_HTM	8	/* messages read ahead; in HTM, they cover more code */
#define AHEAD_BTM	24

struct queue {
	struct item q[AHEAD];
	unsigned int first, end;	/* modulo AHEAD */
	unsigned int depth;		/* the block is prefetched when half of this is left */
	size_t pos;			/* after the last one, and perhaps others' messages */
	uint64_t ref;			/* base of the next U-ADDR */
};

NT_INLINE void ask_for_block(const struct nt_store *store, const struct queue *u)
{
	const struct item *q = &u->q[(u->first + u->depth / 2) % AHEAD];
	uint32_t slot, entry, tries = 4;
	const char *blk;
	uint64_t hash;

	if (u->end - u->first <= u->depth / 2 || !has_addr(&q->m) || !q->table)
		return;
	hash = nt_code_hash(q->pc);
	slot = nt_table_slot(q->table, hash);
	do {
		entry = nt_block_link(&q->table->entry[slot]);
		slot = (slot + 1) & ((1u << q->table->bits) - 1);
	} while (entry != NT_BLOCK_NONE && !nt_code_tagged(entry, hash) && --tries);
	if (entry == NT_BLOCK_NONE)
		return;
	blk = (const char *)&store->blocks[entry & NT_ENTRY_NUMBER];
	__builtin_prefetch(blk);
	__builtin_prefetch(blk + 64);
	__builtin_prefetch(blk + 128);
	__builtin_prefetch(blk + 192);
}

/* Like nt_msg_addr(), for a U-ADDR */
NT_INLINE uint64_t item_addr(const struct nt_flow *f, uint64_t ref, uint64_t uaddr)
{
	return nt_extend_addr(ref ^ uaddr << 1, f->params.addr_bits) & f->mask;
}

/* Limit for skipping other sources' messages in advance: they may be read again. */
#define AHEAD_OTHERS	32

NT_INLINE bool is_own(const struct nt_flow *f, const struct nt_shape *shape, unsigned int src)
{
	return !shape->srcbits || f->params.src < 0 || src == (unsigned int)f->params.src;
}

/* The length of a common message of another source at pos; 0: it is something else */
NT_INLINE unsigned int other_length(const struct nt_flow *f, const struct nt_shape *shape,
				    size_t pos)
{
	const uint8_t *p = f->buf + pos;

	if (is_own(f, shape, nt_short_source(nt_short_load(p), shape->srcbits)))
		return 0;
	return nt_short_length(p, f->kinds, shape->stamps);
}

/*
 * Move *pos to the next message of this source, after fewer than `most` messages of others.  False:
 * it is of another kind, or there are more.
 */
NT_INLINE bool get_own(const struct nt_flow *f, const struct nt_shape *shape, size_t *pos,
		       size_t most, struct item *q)
{
	unsigned int len;

	for (; most && *pos + NT_SHORT_ROOM <= f->end; most--) {
		len = other_length(f, shape, *pos);
		if (!len) {
			if (!get_message(f, shape, *pos, &q->m))
				return false;
			q->pos = *pos;
			if (is_own(f, shape, q->m.src))
				return true;
			len = q->m.len;
		}
		*pos += len;
	}
	return false;
}

/* Enqueue the message in u->q[u->end]. */
NT_INLINE void enqueue(const struct nt_flow *f, struct queue *u, struct item *q)
{
	const struct nt_map *map;

	u->pos += q->m.len;
	u->end++;
	if (!has_addr(&q->m))
		return;
	u->ref = q->to = item_addr(f, u->ref, q->m.addr);
	map = recent_map(f, f->map, q->to);
	q->table = NULL;
	if (!map)
		return;
	q->pc = q->to - map->base;
	q->table = nt_text_table(map->text);
	__builtin_prefetch(&q->table->entry[nt_table_slot(q->table, nt_code_hash(q->pc))]);
}

/* The next message; NULL: another kind */
NT_INLINE struct item *dequeue(const struct nt_flow *f, const struct nt_shape *shape,
			       struct queue *u)
{
	while (u->end - u->first < u->depth) {
		struct item *q = &u->q[u->end % AHEAD];

		if (!get_own(f, shape, &u->pos, u->end == u->first ? SIZE_MAX : AHEAD_OTHERS, q))
			break;
		enqueue(f, u, q);
	}
	if (u->end == u->first)
		return NULL;
	ask_for_block(f->store, u);
	return &u->q[u->first++ % AHEAD];
}

/* The next message without a queue, and without its address */
NT_INLINE struct item *next_item(const struct nt_flow *f, const struct nt_shape *shape,
				 size_t *pos, struct item *q)
{
	return get_own(f, shape, pos, SIZE_MAX, q) ? q : NULL;
}

/* ------------------------------------------------------------- messages -- */

/* The block at addr in another map; NT_BLOCK_NONE: not known here */
static __attribute__((noinline)) uint32_t loop_far(const struct nt_flow *f, uint64_t addr,
						   const struct nt_map **map)
{
	*map = recent_map(f, NULL, addr);
	if (!*map || (*map)->code->store != f->store)
		return NT_BLOCK_NONE;
	return nt_text_find(f->store, (*map)->text, addr - (*map)->base);
}

/* The block at `to`, the target of the end of `blk`; NT_BLOCK_NONE: not known here */
NT_INLINE uint32_t loop_lead(const struct walker *w, struct nt_block *blk, uint64_t to,
			     const struct nt_map **map)
{
	const uint64_t pc = to - w->base;
	uint32_t n;

	*map = w->map;
	if (__atomic_load_n(&blk->target, __ATOMIC_RELAXED) == pc) {
		n = nt_block_link(&blk->taken);
		if (n != NT_BLOCK_NONE && w->blocks[n].pc == pc)
			return n;
	}
	if (!nt_map_has(w->map, to))
		return loop_far(w->f, to, map);
	n = nt_text_find(w->f->store, w->map->text, pc);
	if (n == NT_BLOCK_NONE)
		return n;
	__atomic_store_n(&blk->target, pc, __ATOMIC_RELAXED);
	nt_block_set_link(&blk->taken, n);
	return n;
}

/* The message reports how the last block of the walk ended; false: leave it to nt_walk() */
NT_INLINE bool loop_indirect(struct walker *w, struct run *r, struct nt_block *blk, uint64_t to)
{
	const unsigned int end = blk->is.end;
	const struct nt_map *map;
	uint32_t n;

	if (end < NT_END_INDIRECT || end > NT_END_RET || blk->is.seq)
		return false;
	n = loop_lead(w, blk, to, &map);
	if (n == NT_BLOCK_NONE)
		return false;
	if (end == NT_END_RET && w->f->stack.depth)
		pop(&w->f->stack);
	if (end == NT_END_ICALL)
		run_push(w, blk, r->block);
	r->insns += blk->is.insns;
	run_branch(w, r, blk, to, 0);
	r->block = n;
	if (__builtin_expect(map != w->map, false))
		walker_move(w, map);
	return true;
}

NT_INLINE bool loop_direct(struct walker *w, const struct nt_shape *shape, struct run *r,
			   const struct nt_block *blk)
{
	if (!is_reported(shape, blk->is.end))
		return false;
	if (blk->is.end == NT_END_CALL)
		run_push(w, blk, r->block);
	r->insns += blk->is.insns;
	run_taken(w, r, blk, 0);
	return true;
}

/* The walk of a message with I-CNT, and its end.  Returns the same as run_blocks() */
NT_INLINE int loop_walk(struct walker *w, const struct nt_shape *shape, struct run *r,
			const struct item *q, bool btm)
{
	struct nt_block *blk;
	bool good;
	int ret;

	if (!btm && q->m.tcode == NT_TCODE_INDIRECT_BRANCH_HIST)
		ret = run_all(w, shape, r);
	else
		ret = run_blocks(w, shape, r, false);
	if (ret != NT_WALK_LAST)
		return ret;
	blk = &w->blocks[r->block];
	if (blk->is.halfwords != r->left || r->nbits)
		return ret;
	if (btm && q->m.tcode == NT_TCODE_DIRECT_BRANCH)
		good = loop_direct(w, shape, r, blk);
	else
		good = loop_indirect(w, r, blk, q->to);
	return good ? NT_WALK_DONE : ret;
}

/* Is the current block known, or quickly found? */
static bool loop_at(struct nt_flow *f)
{
	const struct nt_map *map;

	if (f->at.block != NT_BLOCK_NONE)
		return true;
	map = recent_map(f, f->map, f->at.pc);
	return map && map->code->store == f->store &&
	       nt_text_find(f->store, map->text, f->at.pc - map->base) != NT_BLOCK_NONE &&
	       !nt_walk_discover(f);
}

/* Can messages be processed here? */
static bool loop_may(struct nt_flow *f)
{
	const struct nt_params *p = &f->params;

	return f->state == RUNNING && f->mode != NT_MODE_UNKNOWN && !f->slow && f->work >= 0 &&
	       p->profile != NT_PROFILE_TT_DFD &&
	       (!p->timestamps || nt_stamps_differences(p)) &&
	       (!f->time_valid || f->time <= f->limit) && loop_at(f);
}

/* The current message, and the state at its beginning */
struct message {
	const struct item *q;
	const struct nt_event *ev;
	uint64_t base;
	uint32_t block, insns;
};

/* Set what next_message() would have set for the last message. */
static void loop_tell(const struct walker *w, struct batch *b, const struct message *m)
{
	struct nt_flow *f = w->f;

	nt_msg_get(&f->params, f->buf + m->q->pos, f->len - m->q->pos, &f->msg);
	f->msg_offset = f->offset + m->q->pos;
	f->empty = false;
	f->sure = false;
	b->mark = m->ev - b->ev;
	b->mark_pc = w->blocks[m->block].pc + m->base;
	b->mark_insns = m->insns;
}

/*
 * Store the position: after the last message, or inside it if its walk has reached something rare
 * (`why`).  Returns whether the message is complete.
 */
static __attribute__((noinline)) bool loop_store(const struct walker *w, struct batch *b,
						 struct run *r, const struct message *m, int why)
{
	struct nt_flow *f = w->f;

	if (why < 0)
		run_back(w, r);
	run_store(w, r);
	if (why == NT_WALK_DONE) {
		if (f->counts)
			loop_tell(w, b, m);
		return true;
	}
	loop_tell(w, b, m);
	f->walk = (struct walk){ r->left, r->hist, r->nbits, w->by_hist, w->plain };
	f->open = NT_BLOCK_NONE;
	f->stage = WALKING;
	b->end |= why == NT_WALK_FULL;
	return false;
}

/* Take the message's time; false: it is beyond the limit */
NT_INLINE bool loop_time(struct walker *w, const struct nt_short *m, uint64_t *time)
{
	const struct nt_flow *f = w->f;
	const uint64_t then = *time + (m->stamped ? m->tstamp : 0);

	if (!f->time_valid)
		return true;
	if (then > f->limit)
		return false;
	*time = then;
	w->told.tail = TAIL(0, NT_EV_BRANCH, 0, 0, NT_EVF_TIME | (m->stamped ? NT_EVF_STAMP : 0));
	return true;
}

/* Other variables of the loop */
struct loop {
	size_t pos;		/* in the window */
	size_t last;		/* see nt_flow.last_at */
	uint64_t ref, time;
	int64_t credit;
	uint64_t bytes;		/* that allow work */
	uint64_t most;		/* limit for half-words: more are left to begin_message() */
	uint64_t messages;	/* complete messages */
};

/*
 * Begin the message.  False: it is left to next_message(), and nothing has changed.  So is a
 * message without half-words to walk, which the comparison treats as too many.
 */
NT_INLINE bool loop_begin(struct walker *w, const struct nt_shape *shape, struct run *r,
			  const struct item *q, struct loop *l, struct message *m, bool btm)
{
	l->pos = q->pos;
	w->by_hist = !btm && q->m.tcode == NT_TCODE_RESOURCE_FULL;
	r->left = w->by_hist ? HIST_REACH : l->credit + (int64_t)q->m.icnt;
	if (w->by_hist ? l->credit < -ICNT_MAX :
			 (uint64_t)r->left - 1 >= l->most)
		return false;
	if (shape->stamps && !loop_time(w, &q->m, &l->time))
		return false;
	*m = (struct message){ q, r->ev, w->base, r->block, r->insns };
	/* store both, otherwise events that load them together would wait for this store */
	w->told.time = l->time;
	w->told.offset = w->f->offset + l->pos;
	l->pos += q->m.len;
	l->bytes += q->m.len;
	if (!btm && has_hist(&q->m)) {
		r->hist = q->m.hist;
		r->nbits = 63 - __builtin_clzll(r->hist);
	}
	return true;
}

/* Process the message.  NT_WALK_DONE, or the same as run_blocks() */
NT_INLINE int loop_do(struct walker *w, const struct nt_shape *shape, struct run *r,
		      struct item *q, struct loop *l, bool ahead, bool btm)
{
	int ret;

	if (w->by_hist) {
		ret = run_blocks(w, shape, r, true);
		if (ret != NT_WALK_OUTCOMES)
			return ret;
		l->credit -= HIST_REACH - r->left;
		l->messages++;
		return NT_WALK_DONE;
	}
	l->most -= (uint64_t)r->left;
	l->credit = 0;
	if (has_addr(&q->m)) {
		if (!ahead)
			q->to = item_addr(w->f, l->ref, q->m.addr);
		l->ref = q->to;
	}
	ret = loop_walk(w, shape, r, q, btm);
	if (ret != NT_WALK_DONE)
		return ret;
	l->last = q->pos;
	l->messages++;
	return ret;
}

/* At least one message was begun, and the last one ended with `why`. */
NT_INLINE bool loop_end(const struct walker *w, struct batch *b, const struct run *r,
			const struct loop *l, const struct message *m, int why)
{
	/* a copy, so that the address of *r is not taken */
	struct run end = *r;
	struct nt_flow *f = w->f;
	const int64_t halfwords = f->work - (int64_t)l->most;

	f->credit = l->credit;
	f->ref = f->msg_target = l->ref;
	f->time = l->time;
	f->last_at = l->last;
	f->just_synced = false;
	/* like charge_walk(), except that the bytes of outcomes cover their work */
	f->work += (int64_t)l->bytes * f->work_per_byte;
	f->work -= (w->plain ? halfwords : halfwords / 16) +
		   (r->ev - (b->ev + b->n));
	b->n = r->ev - b->ev;
	/* without memos, nt_count_learn() is not called for them */
	if (f->counts && f->counts->pause)
		f->counts->stats.walks += l->messages;
	return loop_store(w, b, &end, m, why);
}

/*
 * Process messages as long as they begin before `enough`, at least one.  Messages of other sources
 * are skipped.
 */
NT_INLINE bool loop_messages(struct nt_flow *f, struct batch *b, const struct nt_shape *shape,
			     const struct nt_event *enough, bool ahead, bool btm)
{
	struct walker w = { .f = f, .full = b->ev + b->max - ROOM, .plain = btm };
	struct queue u = { .depth = btm ? AHEAD_BTM : AHEAD_HTM, .pos = f->pos, .ref = f->ref };
	struct loop l = { .pos = f->pos, .last = f->last_at, .ref = f->ref, .time = f->time,
			  .credit = f->credit, .most = (uint64_t)f->work };
	struct run r = { .ev = b->ev + b->n };
	struct message m = { .q = NULL };
	struct item one, *q;
	int ret;

	w.told.tail = TAIL(0, NT_EV_BRANCH, 0, 0, f->time_valid ? NT_EVF_TIME : 0);
	run_load(f, &w, &r);
	do {
		ret = NT_WALK_DONE;
		q = ahead ? dequeue(f, shape, &u) : next_item(f, shape, &l.pos, &one);
		if (!q) {
			l.pos = ahead ? u.pos : l.pos;
			break;
		}
		if (!loop_begin(&w, shape, &r, q, &l, &m, btm))
			break;
		ret = loop_do(&w, shape, &r, q, &l, ahead, btm);
	} while (ret == NT_WALK_DONE && r.ev < enough && r.block != NT_BLOCK_NONE);
	f->pos = l.pos;
	return m.q && loop_end(&w, b, &r, &l, &m, ret);
}

/*
 * One function for each important shape. Large programs have their own, so that small ones do not
 * need the queue.
 */
#define LOOP(name, ...)									\
NT_INLINE bool name(struct nt_flow *f, struct batch *b, const struct nt_event *enough,		\
		    bool ahead, bool btm)							\
{												\
	const struct nt_params *p = &f->params;							\
	const struct nt_shape s = { .tcodes = btm ? BTM_TCODES : HTM_TCODES,			\
				    .addr_bits = p->addr_bits, __VA_ARGS__ };			\
												\
	return loop_messages(f, b, &s, enough, ahead, btm);					\
}												\
MODES(name, small, false)									\
MODES(name, large, true)

#define MODES(name, size, ahead)								\
MODE(name##_##size##_htm, name, ahead, false)							\
MODE(name##_##size##_btm, name, ahead, true)

#define MODE(which, name, ahead, btm)								\
static __attribute__((noinline)) bool								\
which(struct nt_flow *f, struct batch *b, const struct nt_event *enough)			\
{												\
	return name(f, b, enough, ahead, btm);							\
}

#define SHAPE_PLAIN	.stamps = false
#define SHAPE_STAMPS	.stamps = true
#define SHAPE_MORE	.stamps = p->timestamps, .extaddr = p->extaddr, .alljumps = p->alljumps
#define SHAPE_ANY	SHAPE_MORE, .srcbits = p->srcbits

LOOP(loop_plain, SHAPE_PLAIN)
LOOP(loop_stamps, SHAPE_STAMPS)
LOOP(loop_more, SHAPE_MORE)
LOOP(loop_any, SHAPE_ANY)

#define LOOPS(name)	{ { name##_small_htm, name##_large_htm },	\
			  { name##_small_btm, name##_large_btm } }

bool nt_loop(struct nt_flow *f, struct batch *b, bool one)
{
	static bool (*const loops[4][2][2])(struct nt_flow *f, struct batch *b,
					    const struct nt_event *enough) = {
		LOOPS(loop_plain), LOOPS(loop_stamps), LOOPS(loop_more), LOOPS(loop_any),
	};
	/* a message that begins before `enough` nearly always fits */
	const struct nt_event *enough = b->ev + b->max - ROOM - b->max / 8;
	const struct nt_params *p = &f->params;
	unsigned int shape = p->srcbits ? 3 : p->extaddr || p->alljumps ? 2 : p->timestamps;
	bool large, done;

	if (!loop_may(f))
		return false;
	large = !one && __atomic_load_n(&f->map->text->nr_blocks, __ATOMIC_RELAXED) >=
			f->ahead_from;
	done = loops[shape][f->mode == NT_MODE_BTM][large](f, b, one ? b->ev : enough);
	b->end |= !one && b->ev + b->n >= enough;
	return done;
}
