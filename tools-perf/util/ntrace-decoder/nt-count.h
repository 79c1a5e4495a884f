/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Counting edges: what nt-flow.c calls while it works for nt_flow_count()
 */
#ifndef NTRACE_NT_COUNT_H
#define NTRACE_NT_COUNT_H

#include "nt-flow.h"

/* A fuzzer wants them small, so that everything happens to them */
#ifndef MEMO_BITS
#define MEMO_BITS	16
#endif
#define MEMOS		(1u << MEMO_BITS)
#define MEMO_BYTES	16	/* of a message that is kept */
/*
 * A program that hardly repeats its messages is counted faster without memos.  When so many were
 * not found, and fewer than MEMO_GAIN times as many were, there is a pause of PAUSE batches.
 */
#ifndef MEMO_MISSES
#define MEMO_MISSES	8192u
#endif
#define MEMO_GAIN	3
#define PAUSE		(4 * MEMO_MISSES)
#define MEMO_EDGES	32	/* different ones, taken by its walk */
#define MEMO_STACK	6	/* returns and calls in it that are not paired */

#ifndef EDGE_BITS
#define EDGE_BITS	12	/* of the first table of edges */
#endif
#define EDGE_BITS_MAX	28
#define NT_EDGE_NONE	UINT32_MAX

#define SPOT_BITS	12	/* of the first table of spots */
#define SPOT_BITS_MAX	19
#define SPOTS_MAX	(1u << (SPOT_BITS_MAX - 1))
#define SPOT_NONE	0

#define WORLDS		64

/* What messages mean depends on: decoders with the same of it share memos. */
struct world {
	struct nt_params params;
	const struct nt_code *low, *high;
	uint32_t low_generation, high_generation;
	enum nt_mode mode;
	uint32_t reported_syncs;
	bool until_other;	/* no memo has a trap */
};

/* An address in a world; its number stands for it. */
struct spot {
	uint64_t pc;
	uint32_t world;
};

/* On the return stack, and on where the flow is */
union effect {
	struct {
		uint16_t pops : 3, pushes : 3;
		uint16_t rise : 7;	/* above where it was at first */
		uint16_t drops : 1;	/* pops one more, whatever it is, if there is one */
		uint16_t empties : 1;	/* after all this */
		uint16_t linear : 1;	/* no branch was taken: it leads nowhere */
	};
	uint16_t any;
};

#define RISE_MAX	127

/*
 * A message that was met in some state of the decoder, and the state it led to.
 * One cache line, all that a hit touches.
 *
 * `ref` and `state` are 0 as far as they make no difference, see struct kind.
 */
struct memo {
	uint64_t bytes[MEMO_BYTES / 8];	/* without the timestamp; rest 0 */
	uint32_t at, to;		/* spots; at SPOT_NONE: no memo */
	uint32_t ref;			/* spot */
	int32_t state;			/* see nt-count.c; ResourceFull: what is added to it */
	uint32_t hits;			/* that its edges don't know of yet */
	uint16_t path;			/* number of what it stands for */
	union effect effect;
	uint32_t stack[MEMO_STACK];	/* spots popped, top first, then those pushed */
};

/* What happened on the way */
struct path {
	uint32_t insns;
	uint32_t nr_edges;
	uint32_t edges[MEMO_EDGES];
	uint8_t times[MEMO_EDGES];
	uint32_t last;		/* edge taken, NT_EDGE_NONE: none */
};

/* The decoder's state before a message, as far as the message's effect depends on it */
struct before {
	bool valid;
	uint32_t at, ref;		/* spots */
	int64_t state;
	unsigned int depth;		/* of the return stack */
};

struct nt_counts {
	struct nt_edge *edges;
	uint32_t nr_edges;
	char *copy;			/* of the edges, for a caller with another struct nt_edge */
	uint32_t *table;		/* open addressing: edge -> number */
	unsigned int table_bits;
	uint32_t last;			/* edge of this batch that no event tells of, if any */
	unsigned int last_at;		/* events of the batch that were before it */

	struct spot *spots;		/* the first is SPOT_NONE */
	uint32_t nr_spots;
	uint32_t *spot_table;		/* open addressing: spot -> number */
	unsigned int spot_bits;
	struct world worlds[WORLDS];
	unsigned int nr_worlds, world;

	struct memo *memos;		/* by hash, two places each */
	struct path *paths;
	uint32_t nr_paths;
	struct before was;
	uint32_t misses;	/* of the last ones, and stats.hits before them */
	uint64_t hits_then;
	uint32_t pause;		/* batches to go without memos */
	struct nt_counts_stats stats;
};

/*
 * With the store's lock held, before a batch: what is remembered is of the code that is there now,
 * which another thread may have invalidated since the last batch.
 */
void nt_count_enter(struct nt_flow *f);

/* Take all messages from f->pos on of which it is known what they do, behind the events of b. */
void nt_count_replay(struct nt_flow *f, const struct batch *b);

/*
 * The walk of the message behind nt_count_replay() is done, its events are b's
 * from b->mark on: count, and remember it.
 */
void nt_count_learn(struct nt_flow *f, struct batch *b);

#endif /* NTRACE_NT_COUNT_H */
