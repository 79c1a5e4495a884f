// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Counting: edges instead of events, and walks that are not walked again
 *
 * A program in a loop sends the same message from the same place over and over.
 * What such a message led to is kept in a memo: where it ended, which edges it
 * took, and what it did to the return stack. The next time only a counter of
 * the memo is incremented; its edges get their share when it is thrown out, or
 * when somebody asks.
 *
 * A memo never stands for a walk that failed, or that filled a batch.
 */
#include <stdlib.h>

#include "nt-count.h"

/* ---------------------------------------------------------------- edges -- */

static uint32_t edge_slot(const struct nt_counts *c, const struct nt_edge *e)
{
	uint64_t h = (e->from ^ (e->to << 20 | e->to >> 44) ^ e->type) * 0x9e3779b97f4a7c15u;

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

/* The number of an edge, made if need be; NT_EDGE_NONE: no memory */
static uint32_t edge_get(struct nt_counts *c, const struct nt_event *ev)
{
	struct nt_edge e = { .from = ev->from, .to = ev->to, .type = ev->type };
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
		if (have->from == e.from && have->to == e.to && have->type == e.type)
			return n;
	}
	n = c->nr_edges++;
	c->edges[n] = e;
	c->table[slot] = n;
	return n;
}

/* ---------------------------------------------------------------- memos -- */

/* Give the edges what their memo has counted. */
static void settle(struct nt_counts *c, struct memo *m)
{
	unsigned int i;

	for (i = 0; i < m->nr_edges; i++)
		c->edges[m->edges[i]].count += m->hits;
	m->hits = 0;
}

static void settle_all(struct nt_counts *c)
{
	unsigned int i;

	for (i = 0; i < MEMOS; i++)
		if (c->memos[i].hits)
			settle(c, &c->memos[i]);
}

static struct memo *memo_slot(struct nt_counts *c, const struct nt_flow *f)
{
	uint64_t h = f->walk.hist * 0x9e3779b97f4a7c15u;

	h ^= ((uint64_t)f->at.block << 32) + (uint64_t)f->walk.left + f->walk.nbits;
	h *= 0xff51afd7ed558ccdu;
	return &c->memos[h >> (64 - MEMO_BITS)];
}

static bool memo_matches(const struct memo *m, const struct nt_flow *f)
{
	return m->code == f->code && m->generation == f->generation &&
	       m->block == f->at.block && m->hist == f->walk.hist &&
	       m->left == f->walk.left && m->nbits == f->walk.nbits &&
	       m->by_hist == f->walk.by_hist && m->plain == f->walk.plain;
}

/* Does the return stack allow it, and hold what the walk found there? */
static bool stack_fits(const struct memo *m, const struct stack *s)
{
	unsigned int i;

	if (s->depth < m->pops || s->depth + m->rise > s->wrap + 1)
		return false;
	for (i = 0; i < m->pops; i++)
		if (s->calls[(s->top - 1 - i) & s->wrap].pc != m->popped[i])
			return false;
	return true;
}

static void replay(struct nt_flow *f, const struct memo *m)
{
	struct stack *s = &f->stack;
	unsigned int i;

	s->depth -= m->pops;
	s->top -= m->pops;
	for (i = 0; i < m->pushes; i++)
		s->calls[s->top++ & s->wrap] = m->pushed[i];
	s->top &= s->wrap;
	s->depth += m->pushes;
	f->at = m->at;
	if (f->at.block == NT_BLOCK_NONE && f->at.link != NT_BLOCK_NONE) {
		/* the graph may know by now */
		const struct nt_block *link = &f->code->blocks[f->at.link];

		f->at.block = f->at.taken ? link->taken : link->fall;
	}
	f->open = m->open;
	f->last_pc = m->last_pc;
	f->credit -= m->credit;
	f->insns += m->insns;
	f->walk.left = 0;
	f->walk.nbits = 0;
}

/* ---- making one */

/* What the branches of a walk did to the return stack; false: too much */
static bool stack_effect(struct memo *m, const struct nt_event *ev, unsigned int n)
{
	int level = 0, low = 0, high = 0;
	unsigned int i;

	for (i = 0; i < n; i++) {
		if (ev[i].type == NT_TYPE_RET || ev[i].type == NT_TYPE_SWAP)
			level--;
		low = level < low ? level : low;
		if (ev[i].type == NT_TYPE_CALL || ev[i].type == NT_TYPE_ICALL ||
		    ev[i].type == NT_TYPE_SWAP)
			level++;
		high = level > high ? level : high;
	}
	if (-low > MEMO_STACK || level - low > MEMO_STACK)
		return false;
	m->pops = -low;
	m->pushes = level - low;
	m->rise = high;
	return true;
}

/* What a walk began with */
struct before {
	struct memo *memo;	/* where it would be kept */
	const struct nt_code *code;
	uint32_t generation, block, insns;
	int64_t credit;
	struct walk walk;
	unsigned int depth;
	uint64_t popped[MEMO_STACK];
};

static void look(const struct nt_flow *f, struct memo *m, struct before *was)
{
	const struct stack *s = &f->stack;
	unsigned int i;

	was->memo = m;
	was->code = f->code;
	was->generation = f->generation;
	was->block = f->at.block;
	was->insns = f->insns;
	was->credit = f->credit;
	was->walk = f->walk;
	was->depth = s->depth;
	for (i = 0; i < MEMO_STACK; i++)
		was->popped[i] = s->calls[(s->top - 1 - i) & s->wrap].pc;
}

static void memorise(struct memo *m, const struct nt_flow *f, const struct before *was)
{
	const struct stack *s = &f->stack;
	unsigned int i;

	m->code = was->code;
	m->generation = was->generation;
	m->block = was->block;
	m->hist = was->walk.hist;
	m->left = was->walk.left;
	m->nbits = was->walk.nbits;
	m->by_hist = was->walk.by_hist;
	m->plain = was->walk.plain;
	for (i = 0; i < m->pops; i++)
		m->popped[i] = was->popped[i];
	for (i = 0; i < m->pushes; i++)
		m->pushed[i] = s->calls[(s->top - m->pushes + i) & s->wrap];
	m->at = f->at;
	m->open = f->open;
	m->last_pc = f->last_pc;
	m->credit = was->credit - f->credit;
}

/* Does the walk qualify, whose `n` events are at ev?  Then begin its memo. */
static bool may_learn(const struct nt_flow *f, const struct before *was,
		      const struct nt_event *ev, unsigned int n, struct memo *m)
{
	return n <= MEMO_EDGES && f->code == was->code && f->generation == was->generation &&
	       stack_effect(m, ev, n) && was->depth >= m->pops &&
	       was->depth + m->rise <= f->stack.wrap + 1;
}

/*
 * The walk from *was on succeeded, its events are b's from `first` on: let a
 * memo stand for them.
 */
static void learn(struct nt_counts *c, struct nt_flow *f, const struct before *was,
		  struct batch *b, unsigned int first)
{
	const struct nt_event *ev = b->ev + first;
	unsigned int i, n = b->n - first;
	uint32_t insns = f->insns - was->insns;
	struct memo *m = was->memo, fresh;

	fresh.nr_edges = n;
	fresh.hits = 0;
	if (!may_learn(f, was, ev, n, &fresh))
		return;
	for (i = 0; i < n; i++) {
		fresh.edges[i] = edge_get(c, &ev[i]);
		if (fresh.edges[i] == NT_EDGE_NONE)
			return;
		insns += ev[i].insns;
	}
	fresh.insns = insns;
	memorise(&fresh, f, was);
	if (m->code)
		settle(c, m);
	else
		c->stats.memos++;
	*m = fresh;
	b->n = first;
	f->insns = was->insns + insns;
	c->hit = m;
}

int nt_count_walk(struct nt_flow *f, struct batch *b)
{
	struct nt_counts *c = f->counts;
	unsigned int first = b->n;
	struct before was;
	struct memo *m;
	int ret;

	/* without events insns grows; let the walk pass it on before it is too much */
	if (f->walk.repeat || f->draining || f->insns >> 30)
		return nt_walk(f, b);
	if (f->at.block == NT_BLOCK_NONE) {
		ret = nt_walk_discover(f);
		if (ret)
			return -ret;
	}
	c->stats.walks++;
	m = memo_slot(c, f);
	if (memo_matches(m, f) && stack_fits(m, &f->stack)) {
		c->stats.hits++;
		replay(f, m);
		c->hit = m;
		return NT_WALK_DONE;
	}
	look(f, m, &was);
	ret = nt_walk(f, b);
	/* outcomes that are left make the message one to be refused, every time */
	if (ret == NT_WALK_DONE && !f->walk.nbits)
		learn(c, f, &was, b, first);
	return ret;
}

/* ------------------------------------------------------------- interface - */

/* 0, or -NT_ENOMEM */
static int count_events(struct nt_counts *c, const struct nt_event *ev, int n,
			struct nt_event *others, int *nr_others)
{
	uint32_t edge;
	int i;

	for (i = 0; i < n; i++) {
		c->stats.insns += ev[i].insns;
		if (ev[i].kind != NT_EV_BRANCH) {
			others[(*nr_others)++] = ev[i];
			continue;
		}
		edge = edge_get(c, &ev[i]);
		if (edge == NT_EDGE_NONE)
			return -NT_ENOMEM;
		c->edges[edge].count++;
	}
	return 0;
}

int nt_flow_count(struct nt_flow *f, struct nt_counts *c, struct nt_event *others,
		  unsigned int max)
{
	struct nt_event ev[256];
	int n, ret, nr_others = 0;

	if (max < 256)
		return -NT_EINVAL;
	do {
		f->counts = c;
		n = nt_flow_next(f, ev, 256);
		f->counts = NULL;
		if (n < 0)
			return n;
		ret = count_events(c, ev, n, others, &nr_others);
		if (ret)
			return ret;
	} while (n && !nr_others);
	return nr_others;
}

struct nt_counts *nt_counts_new(void)
{
	struct nt_counts *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->memos = calloc(MEMOS, sizeof(*c->memos));
	if (!c->memos || !edges_grow(c)) {
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
	free(c->table);
	free(c->edges);
	free(c);
}

const struct nt_edge *nt_counts_edges(struct nt_counts *c, size_t *n)
{
	settle_all(c);
	*n = c->nr_edges;
	return c->edges;
}

void nt_counts_get_stats(const struct nt_counts *c, struct nt_counts_stats *stats)
{
	size_t size = stats->size;

	if (size > sizeof(*stats))
		size = sizeof(*stats);
	memcpy(stats, &c->stats, size);
	stats->size = size;
	if (size >= sizeof(*stats))
		stats->bytes = sizeof(*c) + MEMOS * sizeof(struct memo) +
			       (sizeof(*c->edges) << (c->table_bits - 1)) +
			       (sizeof(*c->table) << c->table_bits);
}
