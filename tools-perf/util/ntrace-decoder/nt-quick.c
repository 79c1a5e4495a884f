// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The common messages, from bytes to events in one loop
 *
 * Most messages are a few bytes long and lead over a few blocks; their way
 * through all layers costs more than their walk.  So the loop here does what
 * nt_msg_decode(), next_message(), nt_walk() and finish() would for a
 * DirectBranch, IndirectBranch, IndirectBranchHist and a ResourceFull with
 * outcomes, as long as nothing about them is unusual and everything fits.  At
 * the first message that is otherwise, or that leads where the graph does not
 * know the way yet, all is as it was before that message, and left to the
 * others; nothing is decided here that they would not decide.
 */
#include "nt-short.h"
#include "nt-walk.h"

/* ---------------------------------------------------------------- bytes -- */

struct quick {
	struct nt_short m;
	size_t pos;		/* in the window */
	uint64_t to;		/* U-ADDR, absolute */
	const struct nt_table *table;	/* that is thought to have it, as `pc`; NULL: none */
	uint64_t pc;
};

/* Room that the longest message taken here may need: at most 38 bytes */
#define LONG	48

/*
 * A field byte by byte, up to 58 bits; `low` bits of the first are not of it.
 * The byte behind it, NULL when it is longer.
 */
NT_INLINE const uint8_t *get_field(const uint8_t *p, unsigned int low, uint64_t *value,
				   unsigned int *width)
{
	unsigned int byte;

	*value = *width = 0;
	do {
		byte = *p++;
		*value |= (uint64_t)(byte >> 2 >> low) << *width;
		*width += 6 - low;
		low = 0;
	} while (!(byte & 3) && *width <= 52);
	return byte & 1 ? p : NULL;
}

/* Is that the end of the message, too? */
NT_INLINE bool is_end(const uint8_t *behind)
{
	return (behind[-1] & 3) == 3;
}

/* Indirect branches without SRC with longer fields: those that lead far away */
static bool get_long(const uint8_t *msg, bool stamps, struct nt_short *m)
{
	bool hist = m->tcode == NT_TCODE_INDIRECT_BRANCH_HIST;
	const uint8_t *p = msg + 1;
	unsigned int width;

	if (*msg & 3 || (!hist && m->tcode != NT_TCODE_INDIRECT_BRANCH))
		return false;
	m->fixed = *p >> 2 & 3;
	p = get_field(p, 2, &m->icnt, &width);
	if (p && !is_end(p))
		p = get_field(p, 0, &m->addr, &m->width);
	else
		return false;
	if (hist && p)
		p = is_end(p) ? NULL : get_field(p, 0, &m->hist, &width);
	m->stamped = p && stamps && !is_end(p);
	if (m->stamped)
		p = get_field(p, 0, &m->tstamp, &width);
	if (!p || !is_end(p))
		return false;
	m->len = p - msg;
	return true;
}

/* With extaddr, extend U-ADDR.  False: it does not fit an address. */
NT_INLINE bool quick_fit_addr(const struct nt_flow *f, const struct nt_shape *shape,
			      struct nt_short *m)
{
	const uint64_t mask = UINT64_MAX >> (65 - f->params.xlen);
	const unsigned int bits = f->params.addr_bits;

	if (!shape->extaddr || !(m->addr >> (m->width - 1)))
		return !(m->addr >> bits);
	m->addr |= UINT64_MAX << m->width;
	if (~m->addr & ~mask)
		return false;
	m->addr &= mask;
	return m->addr >> (bits - 1) == mask >> (bits - 1);
}

/* Bits of I-CNT here: more, without outcomes, may be more work than walk() allows */
#define ICNT_QUICK	15

/* The message at pos, from where LONG bytes can be read; false: not one of these */
NT_INLINE bool get_message(const struct nt_flow *f, const struct nt_shape *shape, size_t pos,
			   struct nt_short *m)
{
	const uint8_t *p = f->buf + pos;

	if (!nt_short_get(p, shape, m) &&
	    (shape->srcbits || !get_long(p, shape->stamps, m)))
		return false;
	if (m->tcode == NT_TCODE_RESOURCE_FULL)
		return m->fixed == 1 && m->hist > 1;
	if (m->icnt >> ICNT_QUICK || m->icnt > (uint64_t)ICNT_MAX)
		return false;
	if (m->tcode == NT_TCODE_DIRECT_BRANCH)
		return true;
	return !m->fixed && (m->tcode != NT_TCODE_INDIRECT_BRANCH_HIST || m->hist) &&
	       quick_fit_addr(f, shape, m);
}

/* ----------------------------------------------------------------- walk -- */

/* Pushes of one message at most */
#define UNDO	32

/* What a message changes; of `f` only when it is done with */
struct now {
	uint32_t block;		/* NT_BLOCK_NONE unknown */
	uint32_t insns;
	struct nt_event *ev;	/* next to be written */
	unsigned int top, depth;	/* of the return stack */
	uint64_t ref;
	int64_t credit;
	uint64_t time;
};

/* Where the block is */
struct here {
	const struct nt_map *map;
	uint64_t base;
	const struct nt_table *table;
};

/* All that the walk needs beside */
struct quickly {
	struct nt_flow *f;
	struct here here, was;	/* was: before this message, if it `moved` */
	bool moved;
	struct nt_block *blocks;
	const struct nt_event *full;	/* no room from here on */
	struct told told;
	/* what calls of this message have overwritten in the return stack */
	struct call undo[UNDO];
	unsigned int slots[UNDO];
	unsigned int nr_undo;
	bool done;		/* with a message at least */
	int64_t work;		/* what they add to nt_flow.work */
	size_t last;		/* where the last one with I-CNT is, SIZE_MAX none */
};

static __attribute__((noinline)) void quick_move(struct quickly *k, const struct nt_map *map)
{
	if (!k->moved)
		k->was = k->here;
	k->moved = true;
	k->here.map = map;
	k->here.base = map->base;
	k->here.table = nt_text_table(map->text);
}

NT_INLINE void quick_be_in(struct quickly *k, const struct nt_map *map)
{
	if (__builtin_expect(map != k->here.map, false))
		quick_move(k, map);
}

/* A call, from block n; false: too many in one message */
NT_INLINE bool quick_push(struct quickly *k, struct now *now, uint32_t n)
{
	struct stack *s = &k->f->stack;

	if (k->nr_undo == UNDO)
		return false;
	k->slots[k->nr_undo] = now->top;
	k->undo[k->nr_undo++] = s->calls[now->top];
	s->calls[now->top] = (struct call){ fall_pc(k->f, k->here.map, &k->blocks[n]), n,
					    k->here.map };
	now->top = (now->top + 1) & s->wrap;
	now->depth += now->depth <= s->wrap;
	return true;
}

static void quick_undo(struct quickly *k)
{
	while (k->nr_undo) {
		k->nr_undo--;
		k->f->stack.calls[k->slots[k->nr_undo]] = k->undo[k->nr_undo];
	}
	if (k->moved)
		k->here = k->was;
	k->moved = false;
}

NT_INLINE void quick_pop(const struct quickly *k, struct now *now)
{
	now->depth--;
	now->top = (now->top - 1) & k->f->stack.wrap;
}

NT_INLINE void quick_write(const struct quickly *k, struct now *now, const struct nt_block *blk,
			   uint64_t to, unsigned int flags)
{
	write_branch(now->ev++, &k->told, nt_block_last(blk) + k->here.base, to,
		     blk->is.type, now->insns, flags);
	now->insns = 0;
}

/* The transfer at the end of the block is taken. */
NT_INLINE void quick_taken(const struct quickly *k, struct now *now, const struct nt_block *blk)
{
	quick_write(k, now, blk, blk->target + k->here.base, 0);
	now->block = nt_block_link(&blk->taken);
}

/* A return that no message reports; false: where to is not known */
NT_INLINE bool quick_return(struct quickly *k, struct now *now, const struct nt_block *blk)
{
	const struct stack *s = &k->f->stack;
	const struct call *call;

	if (blk->is.seq || !k->f->params.retstack || !now->depth)
		return false;
	quick_pop(k, now);
	call = &s->calls[now->top];
	if (call->block == NT_BLOCK_NONE)
		return false;
	quick_write(k, now, blk, call->pc, NT_EVF_INFERRED);
	now->block = nt_block_link(&k->blocks[call->block].fall);
	quick_be_in(k, call->map);
	return true;
}

/* Does the trace tell of what ends the block: a conditional branch, with alljumps a direct jump? */
NT_INLINE bool quick_reported(const struct nt_shape *shape, unsigned int end)
{
	return end == NT_END_COND ||
	       (shape->alljumps && (end == NT_END_JUMP || end == NT_END_CALL));
}

/* Over the end of block n, of which the trace does not tell */
NT_INLINE bool quick_over(struct quickly *k, struct now *now, const struct nt_block *blk,
			  unsigned int end, uint32_t n)
{
	if (end == NT_END_LINEAR) {
		now->block = nt_block_link(&blk->fall);
		return blk->is.halfwords;
	}
	if (now->ev >= k->full)
		return false;
	if (end == NT_END_RET)
		return quick_return(k, now, blk);
	if (end > NT_END_CALL || (end == NT_END_CALL && !quick_push(k, now, n)))
		return false;
	quick_taken(k, now, blk);
	return true;
}

/*
 * Walk `left` half-words, without outcomes, up to the end of a block: its
 * number, or NT_BLOCK_NONE when that is not where they end, or not known.
 * plain: branches are not taken; otherwise there must be none.
 */
NT_INLINE uint32_t quick_plain(struct quickly *k, const struct nt_shape *shape, struct now *now,
			       uint64_t left, bool plain)
{
	const struct nt_block *blk;
	unsigned int end;
	unsigned int size;
	uint32_t n;

	while ((n = now->block) != NT_BLOCK_NONE) {
		blk = &k->blocks[n];
		size = blk->is.halfwords;
		now->insns += blk->is.insns;
		if (size >= left)
			return size == left ? n : NT_BLOCK_NONE;
		left -= size;
		end = blk->is.end;
		if (end == NT_END_COND && plain)
			now->block = nt_block_link(&blk->fall);
		else if (quick_reported(shape, end) || !quick_over(k, now, blk, end, n))
			break;
	}
	return NT_BLOCK_NONE;
}

/*
 * Walk until all outcomes are used up, over fewer than `left` half-words.  How
 * many are left, 0 when that does not work out.
 */
NT_INLINE uint64_t quick_hist(struct quickly *k, const struct nt_shape *shape, struct now *now,
			      uint64_t left, uint64_t hist)
{
	unsigned int nbits = 63 - __builtin_clzll(hist), end;
	const struct nt_block *blk;
	unsigned int size;
	uint32_t n;

	while (nbits && (n = now->block) != NT_BLOCK_NONE) {
		blk = &k->blocks[n];
		size = blk->is.halfwords;
		now->insns += blk->is.insns;
		if (size >= left)
			return 0;
		left -= size;
		end = blk->is.end;
		if (!quick_reported(shape, end)) {
			if (!quick_over(k, now, blk, end, n))
				return 0;
			continue;
		}
		nbits--;
		if (shape->alljumps && end != NT_END_COND) {
			if (!(hist >> nbits & 1) || !quick_over(k, now, blk, end, n))
				return 0;
			continue;
		}
		if (!(hist >> nbits & 1)) {
			now->block = nt_block_link(&blk->fall);
			continue;
		}
		if (now->ev >= k->full)
			return 0;
		quick_taken(k, now, blk);
	}
	return nbits ? 0 : left;
}

/* ---------------------------------------------------------- reading ahead - */

/*
 * In a large program the block that an indirect transfer leads to is not in the
 * host's caches, nor is its place in the table.  So some messages are read ahead
 * of the walk, and what they will need is asked for in time: first the place in
 * the table, later the block that the table names, and those behind it.
 */
#define AHEAD		32	/* messages that the queue has room for */
#define AHEAD_HTM	8	/* these are read ahead, which in HTM lead farther */
#define AHEAD_BTM	24

struct queue {
	struct quick q[AHEAD];
	unsigned int first, end;	/* modulo AHEAD */
	unsigned int depth;		/* when half of that is left, the block is asked for */
	size_t pos;			/* behind the last, and maybe others' behind that */
	uint64_t ref;			/* that the next U-ADDR is relative to */
};

NT_INLINE bool has_addr(const struct nt_short *m)
{
	return m->tcode == NT_TCODE_INDIRECT_BRANCH || m->tcode == NT_TCODE_INDIRECT_BRANCH_HIST;
}

NT_INLINE void ask_for_block(const struct nt_store *store, const struct queue *u)
{
	const struct quick *q = &u->q[(u->first + u->depth / 2) % AHEAD];
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

/* As nt_msg_addr(), of a U-ADDR */
NT_INLINE uint64_t quick_addr(const struct nt_flow *f, uint64_t ref, uint64_t uaddr)
{
	return nt_extend_addr(ref ^ uaddr << 1, f->params.addr_bits) & f->mask;
}

/* Other sources' messages that are passed over to read ahead: those may be read again. */
#define AHEAD_OTHERS	32

/*
 * Have *pos at the next message of this source, behind fewer than `most` of others.  False: it is
 * none of these kinds, or there are more.
 */
NT_INLINE bool get_own(const struct nt_flow *f, const struct nt_shape *shape, size_t *pos,
		       size_t most, struct quick *q)
{
	while (most && f->len - *pos >= LONG && get_message(f, shape, *pos, &q->m)) {
		q->pos = *pos;
		if (!shape->srcbits || f->params.src < 0 || q->m.src == f->params.src)
			return true;
		*pos += q->m.len;
		most--;
	}
	return false;
}

/* The message in u->q[u->end] is taken in. */
NT_INLINE void enqueue(const struct nt_flow *f, struct queue *u, struct quick *q)
{
	const struct nt_map *map;

	u->pos += q->m.len;
	u->end++;
	if (!has_addr(&q->m))
		return;
	u->ref = q->to = quick_addr(f, u->ref, q->m.addr);
	map = recent_map(f, f->map, q->to);
	q->table = NULL;
	if (!map)
		return;
	q->pc = q->to - map->base;
	q->table = nt_text_table(map->text);
	__builtin_prefetch(&q->table->entry[nt_table_slot(q->table, nt_code_hash(q->pc))]);
}

/* The next message; NULL: none of these kinds */
NT_INLINE const struct quick *dequeue(const struct nt_flow *f, const struct nt_shape *shape,
				      struct queue *u)
{
	while (u->end - u->first < u->depth) {
		struct quick *q = &u->q[u->end % AHEAD];

		if (!get_own(f, shape, &u->pos, u->end == u->first ? SIZE_MAX : AHEAD_OTHERS, q))
			break;
		enqueue(f, u, q);
	}
	if (u->end == u->first)
		return NULL;
	ask_for_block(f->store, u);
	return &u->q[u->first++ % AHEAD];
}

/* The same without a queue */
NT_INLINE const struct quick *next_quick(const struct nt_flow *f, const struct nt_shape *shape,
					 size_t *pos, uint64_t ref, struct quick *q)
{
	if (!get_own(f, shape, pos, SIZE_MAX, q))
		return NULL;
	q->to = quick_addr(f, ref, q->m.addr);
	return q;
}

/* ------------------------------------------------------------- messages -- */

/* The taken branch that the message reports; false: it is not of this kind */
NT_INLINE bool quick_direct(struct quickly *k, const struct nt_shape *shape, struct now *now,
			    uint32_t n)
{
	const struct nt_block *blk = &k->blocks[n];
	const unsigned int end = blk->is.end;

	if (!quick_reported(shape, end) || (end == NT_END_CALL && !quick_push(k, now, n)))
		return false;
	quick_taken(k, now, blk);
	return true;
}

/* Another map's block at addr; NT_BLOCK_NONE: not known here */
static __attribute__((noinline)) uint32_t quick_far(const struct nt_flow *f, uint64_t addr,
						    const struct nt_map **map)
{
	*map = recent_map(f, NULL, addr);
	if (!*map || (*map)->code->store != f->store)
		return NT_BLOCK_NONE;
	return nt_text_find(f->store, (*map)->text, addr - (*map)->base);
}

/* The block at now->ref, where `blk` leads at its end; NT_BLOCK_NONE: not known here */
NT_INLINE uint32_t quick_lead(const struct quickly *k, const struct now *now, struct nt_block *blk,
			      const struct nt_map **map)
{
	const uint64_t pc = now->ref - k->here.base;
	const struct nt_flow *f = k->f;
	uint32_t n;

	*map = k->here.map;
	if (__atomic_load_n(&blk->target, __ATOMIC_RELAXED) == pc) {
		n = nt_block_link(&blk->taken);
		if (n != NT_BLOCK_NONE && k->blocks[n].pc == pc)
			return n;
	}
	if (nt_map_has(*map, now->ref)) {
		n = nt_table_block(f->store, k->here.table, pc);
		if (n == NT_BLOCK_NONE)
			return n;
		__atomic_store_n(&blk->target, pc, __ATOMIC_RELAXED);
		nt_block_set_link(&blk->taken, n);
		return n;
	}
	return quick_far(f, now->ref, map);
}

/* The indirect transfer that the message reports; false: it is not of this kind */
NT_INLINE bool quick_indirect(struct quickly *k, struct now *now, uint32_t n)
{
	struct nt_block *blk = &k->blocks[n];
	const unsigned int end = blk->is.end;
	const struct nt_map *map;

	if (end < NT_END_INDIRECT || end > NT_END_RET || blk->is.seq)
		return false;
	now->block = quick_lead(k, now, blk, &map);
	if (now->block == NT_BLOCK_NONE)
		return false;
	if (end == NT_END_RET && now->depth)
		quick_pop(k, now);
	if (end == NT_END_ICALL && !quick_push(k, now, n))
		return false;
	quick_write(k, now, blk, now->ref, 0);
	quick_be_in(k, map);
	return true;
}

/* ResourceFull with outcomes; their half-words are in the I-CNT to come. */
NT_INLINE bool quick_outcomes(struct quickly *k, const struct nt_shape *shape, struct now *now,
			      const struct quick *q)
{
	int64_t left = quick_hist(k, shape, now, HIST_REACH, q->m.hist);

	now->credit -= HIST_REACH - left;
	return left && now->credit >= -ICNT_MAX;
}

/* A message with I-CNT; false: leave it to the others */
NT_INLINE bool quick_message(struct quickly *k, const struct nt_shape *shape, struct now *now,
			     const struct quick *q)
{
	int64_t left = now->credit + (int64_t)q->m.icnt;
	uint32_t n;

	now->credit = 0;
	if (left <= 0)
		return false;
	if (q->m.tcode == NT_TCODE_DIRECT_BRANCH) {
		n = quick_plain(k, shape, now, left, true);
		return n != NT_BLOCK_NONE && quick_direct(k, shape, now, n);
	}
	if (q->m.tcode == NT_TCODE_INDIRECT_BRANCH_HIST) {
		left = quick_hist(k, shape, now, left, q->m.hist);
		n = left ? quick_plain(k, shape, now, left, false) : NT_BLOCK_NONE;
	} else {
		n = quick_plain(k, shape, now, left, k->f->mode == NT_MODE_BTM);
	}
	now->ref = q->to;
	return n != NT_BLOCK_NONE && quick_indirect(k, now, n);
}

/* Is it known, or quickly known, which block we are at? */
static bool quick_at(struct nt_flow *f)
{
	const struct nt_map *map;

	if (f->at.block != NT_BLOCK_NONE)
		return true;
	map = recent_map(f, f->map, f->at.pc);
	return map && map->code->store == f->store &&
	       nt_text_find(f->store, map->text, f->at.pc - map->base) != NT_BLOCK_NONE &&
	       !nt_walk_discover(f);
}

/* May there be messages that can be done here? */
static bool quick_may(struct nt_flow *f)
{
	const struct nt_params *p = &f->params;

	return f->state == RUNNING && f->mode != NT_MODE_UNKNOWN && !f->counts && !f->slow &&
	       p->profile != NT_PROFILE_TT_DFD &&
	       (!p->timestamps || p->profile == NT_PROFILE_1_0) &&
	       (!f->time_valid || f->time <= f->limit) && quick_at(f);
}

#define HTM_TCODES	(NT_TCODE_BIT(RESOURCE_FULL) | NT_TCODE_BIT(INDIRECT_BRANCH_HIST))

/* Is the message one of the mode? */
NT_INLINE bool quick_fits(const struct nt_flow *f, const struct quick *q)
{
	return !(f->mode == NT_MODE_BTM ? HTM_TCODES >> q->m.tcode & 1 :
		 q->m.tcode == NT_TCODE_DIRECT_BRANCH);
}

/* What the last message has left */
static void quick_done(struct nt_flow *f, struct batch *b, const struct quickly *k,
		       const struct now *now)
{
	f->just_synced = false;
	f->credit = now->credit;
	f->ref = f->msg_target = now->ref;
	f->map = k->here.map;
	f->at.block = now->block;
	f->at.pc = k->blocks[now->block].pc + k->here.base;
	f->at.link = NT_BLOCK_NONE;
	f->stack.top = now->top;
	f->stack.depth = now->depth;
	f->insns = now->insns;
	f->time = now->time;
	b->n = now->ev - b->ev;
}

/* What RepeatBranch may repeat: the message at `last` */
static void quick_remember(struct nt_flow *f, size_t last)
{
	struct nt_msg msg;

	if (nt_msg_get(&f->params, f->buf + last, f->len - last, &msg) > 0)
		nt_flow_remember(f, &msg);
}

/* The message's time; false: it is beyond the limit */
NT_INLINE bool quick_time(struct quickly *k, struct now *now, const struct nt_short *m)
{
	const struct nt_flow *f = k->f;

	if (!f->time_valid)
		return true;
	now->time += m->stamped ? m->tstamp : 0;
	k->told.time = now->time;
	k->told.tail = TAIL(0, NT_EV_BRANCH, 0, 0, NT_EVF_TIME | (m->stamped ? NT_EVF_STAMP : 0));
	return now->time <= f->limit;
}

/*
 * One message after the other until `enough`: what the last one left, and where the next one,
 * or other sources' messages before it, begin.
 */
NT_INLINE size_t quick_messages(struct quickly *k, const struct nt_shape *shape, struct now *done,
				const struct nt_event *enough, bool ahead)
{
	struct nt_flow *f = k->f;
	struct queue u;
	struct now now = *done;
	size_t pos = f->pos;
	const struct quick *q;
	struct quick one = { .pos = 0 };
	bool good;

	u.first = u.end = 0;
	u.depth = f->mode == NT_MODE_HTM ? AHEAD_HTM : AHEAD_BTM;
	u.pos = f->pos;
	u.ref = f->ref;
	while (now.ev < enough) {
		q = ahead ? dequeue(f, shape, &u) : next_quick(f, shape, &pos, now.ref, &one);
		if (!q)
			return ahead ? u.pos : pos;
		/* the messages of other sources are done with */
		pos = q->pos;
		if (!quick_fits(f, q) || (shape->stamps && !quick_time(k, &now, &q->m)))
			break;
		k->told.offset = f->offset + q->pos;
		k->nr_undo = 0;
		good = q->m.tcode == NT_TCODE_RESOURCE_FULL ? quick_outcomes(k, shape, &now, q) :
		       quick_message(k, shape, &now, q);
		if (!good || now.block == NT_BLOCK_NONE) {
			quick_undo(k);
			break;
		}
		pos = q->pos + q->m.len;
		*done = now;
		k->moved = false;
		k->done = true;
		k->work += q->m.len * WORK_PER_BYTE;
		if (q->m.tcode != NT_TCODE_RESOURCE_FULL)
			k->last = q->pos;
	}
	return pos;
}

/*
 * One for each shape that is worth it. Those of large programs are apart, so that small ones don't
 * pay for the queue.
 */
#define QUICK(name, shape, ahead)							\
static __attribute__((noinline)) size_t							\
name(struct quickly *k, struct now *done, const struct nt_event *enough)			\
{											\
	const struct nt_params *p = &k->f->params;					\
	const struct nt_shape s = shape;						\
											\
	(void)p;									\
	return quick_messages(k, &s, done, enough, ahead);				\
}

#define SHAPE_PLAIN	{ 0, false, false, false }
#define SHAPE_STAMPS	{ 0, true, false, false }
#define SHAPE_MORE	{ 0, p->timestamps, p->extaddr, p->alljumps }
#define SHAPE_ANY	{ p->srcbits, p->timestamps, p->extaddr, p->alljumps }

QUICK(quick_plain_small, SHAPE_PLAIN, false)
QUICK(quick_plain_large, SHAPE_PLAIN, true)
QUICK(quick_stamps_small, SHAPE_STAMPS, false)
QUICK(quick_stamps_large, SHAPE_STAMPS, true)
QUICK(quick_more_small, SHAPE_MORE, false)
QUICK(quick_more_large, SHAPE_MORE, true)
QUICK(quick_any_small, SHAPE_ANY, false)
QUICK(quick_any_large, SHAPE_ANY, true)

typedef size_t (*quick_fn)(struct quickly *k, struct now *done, const struct nt_event *enough);

static quick_fn quick_choose(const struct nt_flow *f)
{
	static const quick_fn fns[4][2] = {
		{ quick_plain_small, quick_plain_large },
		{ quick_stamps_small, quick_stamps_large },
		{ quick_more_small, quick_more_large },
		{ quick_any_small, quick_any_large },
	};
	const struct nt_params *p = &f->params;
	unsigned int shape = p->srcbits ? 3 : p->extaddr || p->alljumps ? 2 : p->timestamps;

	return fns[shape][__atomic_load_n(&f->map->text->nr_blocks, __ATOMIC_RELAXED) >=
			  f->ahead_from];
}

void nt_quick(struct nt_flow *f, struct batch *b)
{
	/* of a message that begins before `enough`, nearly always all have room */
	const struct nt_event *enough = b->ev + b->max - ROOM - b->max / 8;
	struct quickly k;
	struct now now;
	size_t pos;

	if (!quick_may(f))
		return;
	k.f = f;
	k.here = (struct here){ f->map, f->map->base, nt_text_table(f->map->text) };
	k.moved = false;
	k.done = false;
	k.work = 0;
	k.last = SIZE_MAX;
	k.blocks = f->store->blocks;
	k.full = b->ev + b->max - 1;
	k.told.time = f->time;
	k.told.tail = TAIL(0, NT_EV_BRANCH, 0, 0, f->time_valid ? NT_EVF_TIME : 0);
	now = (struct now){ f->at.block, f->insns, b->ev + b->n, f->stack.top,
			    f->stack.depth, f->ref, f->credit, f->time };
	pos = quick_choose(f)(&k, &now, enough);
	f->pos = pos;
	if (!k.done)
		return;
	f->work += k.work - (now.ev - (b->ev + b->n));
	quick_done(f, b, &k, &now);
	b->end = now.ev >= enough;
	if (k.last != SIZE_MAX)
		quick_remember(f, k.last);
}
