/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Counting edges: nt-flow.c asks nt_count_walk() in nt_walk()'s place
 */
#ifndef NTRACE_NT_COUNT_H
#define NTRACE_NT_COUNT_H

#include "nt-flow.h"

/* A fuzzer wants them small, so that everything happens to them */
#ifndef MEMO_BITS
#define MEMO_BITS	15
#endif
#define MEMOS		(1u << MEMO_BITS)
#define MEMO_EDGES	40	/* taken by one walk that is kept */
#define MEMO_STACK	4	/* returns and calls of it that are not paired */

#ifndef EDGE_BITS
#define EDGE_BITS	12	/* of the first table of edges */
#endif
#define EDGE_BITS_MAX	28
#define NT_EDGE_NONE	UINT32_MAX

/* A walk: from where with which outcomes, and what came of it */
struct memo {
	const struct nt_code *code;	/* of the block numbers; NULL: no memo */
	uint64_t hist;
	int64_t left;
	uint32_t generation;
	uint32_t block;
	uint8_t nbits;
	bool by_hist, plain;

	uint8_t nr_edges, pops, pushes, rise;
	uint32_t insns;
	uint32_t open;
	uint64_t hits;			/* that its edges don't know of yet */
	int64_t credit;
	uint64_t last_pc;
	struct place at;
	uint64_t popped[MEMO_STACK];	/* top of the stack first */
	struct call pushed[MEMO_STACK];
	uint32_t edges[MEMO_EDGES];
};

struct nt_counts {
	struct nt_edge *edges;
	uint32_t nr_edges;
	uint32_t *table;		/* open addressing: edge -> number */
	unsigned int table_bits;
	struct memo *memos;		/* by hash, one place each */
	struct memo *hit;		/* stands for the walk of this message */
	struct nt_counts_stats stats;
};

/* nt_walk(), or the memo of one like it */
int nt_count_walk(struct nt_flow *f, struct batch *b);

/* The message that was walked is done with; its memo counts if all was well. */
static inline void nt_count_finish(struct nt_flow *f, bool good)
{
	struct nt_counts *c = f->counts;

	if (good && c->hit)
		c->hit->hits++;
	c->hit = NULL;
}

#endif /* NTRACE_NT_COUNT_H */
