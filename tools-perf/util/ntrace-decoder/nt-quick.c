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
#include "nt-walk.h"

/* ---------------------------------------------------------------- bytes -- */

/* A message without SRC and TSTAMP, B-TYPE 0 */
struct quick {
	unsigned int len;	/* in bytes */
	unsigned int tcode;
	uint64_t icnt;		/* half-words */
	uint64_t addr;		/* U-ADDR, from bit 1 on; once it is in the queue: absolute */
	uint64_t hist;		/* with the stop bit */
	uint64_t uaddr;		/* U-ADDR, also in the queue */
};

#define EACH(byte)	(0x0101010101010101ull * (byte))
#define FIRST(tcode)	(NT_TCODE_##tcode << 2)	/* first byte of a message */

INLINE uint64_t load(const uint8_t *p)
{
	uint64_t w;

	memcpy(&w, p, sizeof(w));
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
	w = __builtin_bswap64(w);
#endif
	return w;
}

/* Bits 7:2 of a byte */
INLINE uint64_t mdo(uint64_t w, unsigned int byte)
{
	return w >> (8 * byte + 2) & 0x3f;
}

/* Bits 1:0 */
INLINE unsigned int mseo(uint64_t w, unsigned int byte)
{
	return w >> (8 * byte) & 3;
}

/* DirectBranch of 2 or 3 bytes: I-CNT begins at byte 1. */
INLINE bool get_direct(uint64_t w, struct quick *q)
{
	bool two = mseo(w, 1) == 3, three = mseo(w, 1) == 0 && mseo(w, 2) == 3;

	q->icnt = mdo(w, 1) | (two ? 0 : mdo(w, 2) << 6);
	q->len = two ? 2 : 3;
	return two || three;
}

/* The MDOs of 8 bytes, without gaps */
INLINE uint64_t pack(uint64_t w)
{
	w = w >> 2 & EACH(0x3f);
	w = (w & 0x003f003f003f003f) | (w & 0x3f003f003f003f00) >> 2;
	w = (w & 0x00000fff00000fff) | (w & 0x0fff00000fff0000) >> 4;
	return (w & 0xffffff) | (w & 0x00ffffff00000000) >> 8;
}

/* The bits of a message that are not read yet, and where its fields end in w */
struct fields {
	uint64_t bits, ends;
	unsigned int at;
};

INLINE uint64_t field(struct fields *s)
{
	unsigned int end = ((unsigned int)__builtin_ctzll(s->ends) >> 3) * 6 + 6;
	uint64_t value = s->bits & ((1ull << (end - s->at)) - 1);

	s->bits >>= end - s->at;
	s->ends &= s->ends - 1;
	s->at = end;
	return value;
}

/*
 * The others, when they end within 8 bytes: their variable fields, behind
 * `fixed` bits
 */
INLINE bool get_fields(uint64_t w, uint64_t end, unsigned int fixed, struct quick *q)
{
	uint64_t mask = end ^ (end - 1);
	struct fields s = { .bits = pack(w) >> fixed, .ends = w & EACH(1) & mask, .at = fixed };

	/* a reserved MSEO? */
	if (w >> 1 & ~w & EACH(1) & mask)
		return false;
	q->len = ((unsigned int)__builtin_ctzll(end) >> 3) + 1;
	if (q->tcode == NT_TCODE_RESOURCE_FULL) {
		q->hist = field(&s);
		return !s.ends && q->hist > 1;
	}
	q->icnt = field(&s);
	if (!s.ends)
		return false;
	q->addr = field(&s);
	if (q->tcode == NT_TCODE_INDIRECT_BRANCH_HIST) {
		if (!s.ends)
			return false;
		q->hist = field(&s);
		return !s.ends && q->hist;
	}
	return !s.ends;
}

/* Room that the longest message taken here may need */
#define LONG	32

/*
 * A field byte by byte, up to 58 bits; `low` bits of the first are not of it.
 * The byte behind it, NULL when there is no such field.
 */
INLINE const uint8_t *get_field(const uint8_t *p, unsigned int low, unsigned int mseo_end,
				uint64_t *value)
{
	unsigned int shift = 0, byte;

	*value = 0;
	do {
		byte = *p++;
		*value |= (uint64_t)(byte >> 2 >> low) << shift;
		shift += 6 - low;
		low = 0;
	} while (!(byte & 3) && shift <= 52);
	return (byte & 3) == mseo_end ? p : NULL;
}

/* The others when they are longer, as those are that lead far: from byte 1 on */
static bool get_long(const uint8_t *msg, struct quick *q)
{
	bool hist = q->tcode == NT_TCODE_INDIRECT_BRANCH_HIST;
	const uint8_t *p = get_field(msg + 1, 2, 1, &q->icnt);

	if (p)
		p = get_field(p, 0, hist ? 1 : 3, &q->addr);
	if (p && hist)
		p = get_field(p, 0, 3, &q->hist);
	if (!p || (hist && !q->hist))
		return false;
	q->len = p - msg;
	return true;
}

/* Bits of I-CNT here: more, without outcomes, may be more work than walk() allows */
#define ICNT_QUICK	15

/* The message at the beginning of LONG bytes; false: not one of these */
INLINE bool get_message(const struct nt_flow *f, size_t pos, struct quick *q)
{
	uint64_t w = load(f->buf + pos), end = w & w >> 1 & EACH(1);
	/* the second byte has B-TYPE, or RCODE, in its lowest bits */
	unsigned int low = mdo(w, 1);

	q->tcode = mdo(w, 0);
	switch (w & 0xff) {
	case FIRST(DIRECT_BRANCH):
		return get_direct(w, q);
	case FIRST(INDIRECT_BRANCH):
	case FIRST(INDIRECT_BRANCH_HIST):
		return !(low & 3) &&
		       (end ? get_fields(w, end, 8, q) : get_long(f->buf + pos, q)) &&
		       !(q->addr >> f->params.addr_bits) && !(q->icnt >> ICNT_QUICK);
	case FIRST(RESOURCE_FULL):
		return (low & 15) == 1 && end && get_fields(w, end, 10, q);
	default:
		return false;
	}
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
};

/* All that the walk needs beside */
struct quickly {
	struct nt_flow *f;
	struct nt_block *blocks;
	const struct nt_event *full;	/* no room from here on */
	struct told told;
	/* what calls of this message have overwritten in the return stack */
	struct call undo[UNDO];
	unsigned int slots[UNDO];
	unsigned int nr_undo;
};

/* A call, from block n; false: too many in one message */
INLINE bool quick_push(struct quickly *k, struct now *now, uint32_t n)
{
	struct stack *s = &k->f->stack;

	if (k->nr_undo == UNDO)
		return false;
	k->slots[k->nr_undo] = now->top;
	k->undo[k->nr_undo++] = s->calls[now->top];
	s->calls[now->top] = (struct call){ fall_pc(k->f, &k->blocks[n]), n };
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
}

INLINE void quick_pop(const struct quickly *k, struct now *now)
{
	now->depth--;
	now->top = (now->top - 1) & k->f->stack.wrap;
}

/* The transfer at the end of the block is taken. */
INLINE void quick_taken(const struct quickly *k, struct now *now, const struct nt_block *blk)
{
	write_branch(now->ev++, &k->told, blk, blk->target, now->insns, 0);
	now->insns = 0;
	now->block = blk->taken;
}

/* A return that no message reports; false: where to is not known */
INLINE bool quick_return(const struct quickly *k, struct now *now, const struct nt_block *blk)
{
	const struct stack *s = &k->f->stack;
	const struct call *call;

	if (blk->seq || !k->f->params.retstack || !now->depth)
		return false;
	quick_pop(k, now);
	call = &s->calls[now->top];
	if (call->block == NT_BLOCK_NONE)
		return false;
	write_branch(now->ev++, &k->told, blk, call->pc, now->insns, NT_EVF_INFERRED);
	now->insns = 0;
	now->block = k->blocks[call->block].fall;
	return true;
}

/* Over the end of block n, which is no conditional branch */
INLINE bool quick_over(struct quickly *k, struct now *now, const struct nt_block *blk, uint32_t n)
{
	if (blk->end == NT_END_LINEAR) {
		now->block = blk->fall;
		return blk->halfwords;
	}
	if (now->ev >= k->full)
		return false;
	if (blk->end == NT_END_RET)
		return quick_return(k, now, blk);
	if (blk->end > NT_END_CALL || (blk->end == NT_END_CALL && !quick_push(k, now, n)))
		return false;
	quick_taken(k, now, blk);
	return true;
}

/*
 * Walk `left` half-words, without outcomes, up to the end of a block: its
 * number, or NT_BLOCK_NONE when that is not where they end, or not known.
 * plain: branches are not taken; otherwise there must be none.
 */
INLINE uint32_t quick_plain(struct quickly *k, struct now *now, uint64_t left, bool plain)
{
	const struct nt_block *blk;
	uint32_t n;

	while ((n = now->block) != NT_BLOCK_NONE) {
		blk = &k->blocks[n];
		now->insns += blk->insns;
		if (blk->halfwords >= left)
			return blk->halfwords == left ? n : NT_BLOCK_NONE;
		left -= blk->halfwords;
		if (blk->end == NT_END_COND && plain)
			now->block = blk->fall;
		else if (blk->end == NT_END_COND || !quick_over(k, now, blk, n))
			break;
	}
	return NT_BLOCK_NONE;
}

/*
 * Walk until all outcomes are used up, over fewer than `left` half-words.  How
 * many are left, 0 when that does not work out.
 */
INLINE uint64_t quick_hist(struct quickly *k, struct now *now, uint64_t left, uint64_t hist)
{
	unsigned int nbits = 63 - __builtin_clzll(hist);
	const struct nt_block *blk;
	uint32_t n;

	while (nbits && (n = now->block) != NT_BLOCK_NONE) {
		blk = &k->blocks[n];
		now->insns += blk->insns;
		if (blk->halfwords >= left)
			return 0;
		left -= blk->halfwords;
		if (blk->end != NT_END_COND) {
			if (!quick_over(k, now, blk, n))
				return 0;
			continue;
		}
		nbits--;
		if (!(hist >> nbits & 1)) {
			now->block = blk->fall;
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
	size_t pos;			/* behind the last */
	uint64_t ref;			/* that the next U-ADDR is relative to */
};

INLINE void ask_for_block(const struct nt_code *code, const struct queue *u)
{
	const struct quick *q = &u->q[(u->first + u->depth / 2) % AHEAD];
	uint64_t hash = nt_code_hash(q->addr);
	uint32_t slot = nt_code_slot(code, hash), entry, tries = 4;
	const char *blk;

	if (u->end - u->first <= u->depth / 2 || q->tcode == NT_TCODE_DIRECT_BRANCH ||
	    q->tcode == NT_TCODE_RESOURCE_FULL)
		return;
	do {
		entry = code->table[slot];
		slot = (slot + 1) & ((1u << code->table_bits) - 1);
	} while (entry != NT_BLOCK_NONE && !nt_code_tagged(entry, hash) && --tries);
	if (entry == NT_BLOCK_NONE)
		return;
	blk = (const char *)&code->blocks[entry & NT_ENTRY_NUMBER];
	__builtin_prefetch(blk);
	__builtin_prefetch(blk + 64);
	__builtin_prefetch(blk + 128);
	__builtin_prefetch(blk + 192);
}

/* As nt_msg_addr(), of a U-ADDR */
INLINE uint64_t quick_addr(const struct nt_flow *f, uint64_t ref, uint64_t uaddr)
{
	return nt_extend_addr(ref ^ uaddr << 1, f->params.addr_bits) & f->mask;
}

/* The message in u->q[u->end] is taken in. */
INLINE void enqueue(const struct nt_flow *f, struct queue *u, struct quick *q)
{
	u->pos += q->len;
	u->end++;
	if (q->tcode == NT_TCODE_DIRECT_BRANCH || q->tcode == NT_TCODE_RESOURCE_FULL)
		return;
	q->uaddr = q->addr;
	u->ref = q->addr = quick_addr(f, u->ref, q->addr);
	__builtin_prefetch(&f->code->table[nt_code_slot(f->code, nt_code_hash(q->addr))]);
}

/* The next message; NULL: none of these kinds */
INLINE const struct quick *dequeue(const struct nt_flow *f, struct queue *u)
{
	while (u->end - u->first < u->depth && f->len - u->pos >= LONG) {
		struct quick *q = &u->q[u->end % AHEAD];

		if (!get_message(f, u->pos, q))
			break;
		enqueue(f, u, q);
	}
	if (u->end == u->first)
		return NULL;
	ask_for_block(f->code, u);
	return &u->q[u->first++ % AHEAD];
}

/* The same without a queue */
INLINE const struct quick *next_quick(const struct nt_flow *f, size_t pos, uint64_t ref,
				      struct quick *q)
{
	if (f->len - pos < LONG || !get_message(f, pos, q))
		return NULL;
	q->uaddr = q->addr;
	q->addr = quick_addr(f, ref, q->addr);
	return q;
}

/* ------------------------------------------------------------- messages -- */

/* The taken branch that the message reports; false: it is not of this kind */
INLINE bool quick_direct(const struct quickly *k, struct now *now, uint32_t n)
{
	const struct nt_block *blk = &k->blocks[n];

	if (blk->end != NT_END_COND)
		return false;
	quick_taken(k, now, blk);
	return true;
}

/* Have where the transfer at the block's end leads; false: not known here */
INLINE bool quick_lead(const struct quickly *k, struct nt_block *blk, uint64_t addr)
{
	uint32_t n;

	if (blk->target == addr)
		return true;
	/* links are kept only inside one program */
	if ((addr >= k->f->params.high_from) != (blk->pc >= k->f->params.high_from))
		return false;
	n = nt_code_find(k->f->code, addr);
	if (n == NT_BLOCK_NONE)
		return false;
	blk->target = addr;
	blk->taken = n;
	return true;
}

/* The indirect transfer that the message reports; false: it is not of this kind */
INLINE bool quick_indirect(struct quickly *k, struct now *now, uint32_t n)
{
	struct nt_block *blk = &k->blocks[n];

	if (blk->end < NT_END_INDIRECT || blk->end > NT_END_RET || blk->seq ||
	    !quick_lead(k, blk, now->ref))
		return false;
	if (blk->end == NT_END_RET && now->depth)
		quick_pop(k, now);
	if (blk->end == NT_END_ICALL && !quick_push(k, now, n))
		return false;
	quick_taken(k, now, blk);
	return true;
}

/* ResourceFull with outcomes; their half-words are in the I-CNT to come. */
INLINE bool quick_outcomes(struct quickly *k, struct now *now, const struct quick *q)
{
	int64_t left = quick_hist(k, now, HIST_REACH, q->hist);

	now->credit -= HIST_REACH - left;
	return left && now->credit >= -ICNT_MAX;
}

/* A message with I-CNT; false: leave it to the others */
INLINE bool quick_message(struct quickly *k, struct now *now, const struct quick *q)
{
	int64_t left = now->credit + (int64_t)q->icnt;
	uint32_t n;

	now->credit = 0;
	if (left <= 0)
		return false;
	if (q->tcode == NT_TCODE_DIRECT_BRANCH) {
		n = quick_plain(k, now, left, true);
		return n != NT_BLOCK_NONE && quick_direct(k, now, n);
	}
	if (q->tcode == NT_TCODE_INDIRECT_BRANCH_HIST) {
		left = quick_hist(k, now, left, q->hist);
		n = left ? quick_plain(k, now, left, false) : NT_BLOCK_NONE;
	} else {
		n = quick_plain(k, now, left, k->f->mode == NT_MODE_BTM);
	}
	now->ref = q->addr;
	return n != NT_BLOCK_NONE && quick_indirect(k, now, n);
}

/* Is it known, or quickly known, which block we are at? */
static bool quick_at(struct nt_flow *f)
{
	if (f->at.block != NT_BLOCK_NONE)
		return true;
	return f->code && f->code == nt_walk_code_at(f, f->at.pc) &&
	       nt_code_find(f->code, f->at.pc) != NT_BLOCK_NONE && !nt_walk_discover(f);
}

/* May there be messages that can be done here? */
static bool quick_may(struct nt_flow *f)
{
	const struct nt_params *p = &f->params;

	return f->state == RUNNING && f->mode != NT_MODE_UNKNOWN && !f->counts && !f->slow &&
	       !p->srcbits && !p->timestamps && !p->extaddr && !p->alljumps &&
	       (!f->time_valid || f->time <= f->limit) && quick_at(f);
}

#define HTM_TCODES	(NT_TCODE_BIT(RESOURCE_FULL) | NT_TCODE_BIT(INDIRECT_BRANCH_HIST))

/* Is the message one of the mode? */
INLINE bool quick_fits(const struct nt_flow *f, const struct quick *q)
{
	return !(f->mode == NT_MODE_BTM ? HTM_TCODES >> q->tcode & 1 :
		 q->tcode == NT_TCODE_DIRECT_BRANCH);
}

/* What the message before that at `pos` has left */
static void quick_done(struct nt_flow *f, struct batch *b, const struct now *now, size_t pos)
{
	f->pos = pos;
	f->just_synced = false;
	f->credit = now->credit;
	f->ref = f->msg_target = now->ref;
	f->at.block = now->block;
	f->at.pc = f->code->blocks[now->block].pc;
	f->at.link = NT_BLOCK_NONE;
	f->stack.top = now->top;
	f->stack.depth = now->depth;
	f->insns = now->insns;
	b->n = now->ev - b->ev;
}

/* What RepeatBranch may repeat */
static void quick_remember(struct nt_flow *f, const struct quick *q)
{
	bool direct = q->tcode == NT_TCODE_DIRECT_BRANCH;
	bool hist = q->tcode == NT_TCODE_INDIRECT_BRANCH_HIST;

	f->last = (struct branch_msg){
		.icnt = q->icnt,
		.hist = hist ? q->hist : 0,
		.addr = direct ? 0 : q->uaddr,
		.target = f->ref,
		.fields = NT_F_ICNT | (direct ? 0 : NT_F_BTYPE | NT_F_UADDR) | (hist ? NT_F_HIST : 0),
		.tcode = q->tcode,
	};
	f->last_valid = true;
}

/* One message after the other until `enough`; what the last one left, and where it ended */
INLINE size_t quick_messages(struct quickly *k, struct now *done, const struct nt_event *enough,
			     struct quick *last, bool ahead)
{
	struct nt_flow *f = k->f;
	struct queue u;
	struct now now = *done;
	size_t pos = f->pos;
	const struct quick *q;
	struct quick one = { .len = 0 };
	bool good;

	u.first = u.end = 0;
	u.depth = f->mode == NT_MODE_HTM ? AHEAD_HTM : AHEAD_BTM;
	u.pos = f->pos;
	u.ref = f->ref;
	while (now.ev < enough) {
		q = ahead ? dequeue(f, &u) : next_quick(f, pos, now.ref, &one);
		if (!q || !quick_fits(f, q))
			break;
		k->told.offset = f->offset + pos;
		k->nr_undo = 0;
		good = q->tcode == NT_TCODE_RESOURCE_FULL ? quick_outcomes(k, &now, q) :
		       quick_message(k, &now, q);
		if (!good || now.block == NT_BLOCK_NONE) {
			quick_undo(k);
			break;
		}
		pos += q->len;
		*done = now;
		if (q->tcode != NT_TCODE_RESOURCE_FULL)
			*last = *q;
	}
	return pos;
}

/* Two functions, so that small programs don't pay for the queue */
static __attribute__((noinline)) size_t
quick_small(struct quickly *k, struct now *done, const struct nt_event *enough, struct quick *last)
{
	return quick_messages(k, done, enough, last, false);
}

static __attribute__((noinline)) size_t
quick_large(struct quickly *k, struct now *done, const struct nt_event *enough, struct quick *last)
{
	return quick_messages(k, done, enough, last, true);
}

void nt_quick(struct nt_flow *f, struct batch *b)
{
	/* of a message that begins before `enough`, nearly always all have room */
	const struct nt_event *enough = b->ev + b->max - ROOM - b->max / 8;
	struct quick last = { .len = 0 };
	struct quickly k;
	struct now now;
	size_t pos;

	if (!quick_may(f))
		return;
	k.f = f;
	k.blocks = f->code->blocks;
	k.full = b->ev + b->max - 1;
	k.told.time = f->time;
	k.told.tail = TAIL(0, NT_EV_BRANCH, 0, 0, f->time_valid ? NT_EVF_TIME : 0);
	now = (struct now){ f->at.block, f->insns, b->ev + b->n, f->stack.top,
			    f->stack.depth, f->ref, f->credit };
	pos = f->code->nr_blocks < f->ahead_from ? quick_small(&k, &now, enough, &last) :
	      quick_large(&k, &now, enough, &last);
	if (pos == f->pos)
		return;
	quick_done(f, b, &now, pos);
	b->end = now.ev >= enough;
	if (last.len)
		quick_remember(f, &last);
}
