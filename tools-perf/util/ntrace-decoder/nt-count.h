/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Counting edges: functions that nt-flow.c calls for nt_flow_count()
 */
#ifndef NTRACE_NT_COUNT_H
#define NTRACE_NT_COUNT_H

#include "nt-flow.h"

/* Fuzzers use small values, so that all cases occur. */
#ifndef MEMO_BITS
#define MEMO_BITS	16
#endif
#define MEMOS		(1u << MEMO_BITS)
#define MEMO_BYTES	16	/* of a message */
/*
 * A program that hardly repeats its messages is counted faster without memos.  After MEMO_MISSES
 * misses with fewer than MEMO_GAIN times as many hits, memos are off for PAUSE batches.
 */
#ifndef MEMO_MISSES
#define MEMO_MISSES	8192u
#endif
#define MEMO_GAIN	3
#define PAUSE		(4 * MEMO_MISSES)
#define MEMO_EDGES	32	/* different edges in its walk */
#define MEMO_STACK	6	/* returns and calls in it without counterpart */

#ifndef EDGE_BITS
#define EDGE_BITS	12	/* of the first table of edges */
#endif
#define EDGE_BITS_MAX	28
#define NT_EDGE_NONE	UINT32_MAX

#define SPOT_BITS	12	/* of the first table of locations */
#define SPOT_BITS_MAX	19
#define SPOTS_MAX	(1u << (SPOT_BITS_MAX - 1))
#define SPOT_NONE	0

#define WORLDS		64

/* The context that the meaning of messages depends on: decoders in the same context share memos. */
struct world {
	struct nt_params params;
	const struct nt_code *low, *high;
	uint32_t low_generation, high_generation;
	enum nt_mode mode;
	uint32_t reported_syncs;
	bool until_other;	/* memos contain no traps ... */
	nt_watch_fn watch;	/* ... and no watched code */
	void *watch_ctx;
};

/* A location: an address in a context.  Its index identifies it. */
struct spot {
	uint64_t pc;
	uint32_t world;
};

/* The effect on the return stack and on the position */
union effect {
	struct {
		uint16_t pops : 3, pushes : 3;
		uint16_t rise : 7;	/* maximum depth above the initial one */
		uint16_t drops : 1;	/* pops one more entry, with any content, if there is one */
		uint16_t empties : 1;	/* empties the stack at the end */
		uint16_t linear : 1;	/* no branch was taken */
	};
	uint16_t any;
};

#define RISE_MAX	127

/*
 * A message in some state of the decoder, and the state after it. One cache line, which is all that
 * a hit accesses.
 *
 * `ref` and `state` are 0 as far as they have no influence, see struct kind.
 */
struct memo {
	uint64_t bytes[MEMO_BYTES / 8];	/* see struct nt_short_frame */
	uint32_t at, to;		/* locations; at SPOT_NONE: unused */
	uint32_t ref;			/* location */
	int32_t state;			/* see nt-count.c; ResourceFull: the difference */
	uint32_t hits;			/* not added to its edges yet */
	uint16_t path;			/* index in paths */
	union effect effect;
	uint32_t stack[MEMO_STACK];	/* locations popped, top first, then pushed ones */
};

/* The path that a message describes */
struct path {
	uint32_t insns;
	uint32_t tail;		/* with edges: those of insns behind the last one */
	uint32_t nr_edges;
	uint32_t edges[MEMO_EDGES];
	uint8_t times[MEMO_EDGES];
	uint32_t last;		/* last edge taken; NT_EDGE_NONE: none */
};

/* The decoder's state before a message, as far as the message's effect depends on it */
struct before {
	bool valid;
	uint32_t at, ref;		/* locations */
	int64_t state;
	unsigned int depth;		/* of the return stack */
};

/* Finds the events of a batch before which watched code ran, see nt_counts_watch(). */
struct watch {
	nt_watch_fn fn;		/* NULL: nothing is watched */
	void *ctx;
	uint64_t from;		/* target of the last transfer, or a later address in its run */
	unsigned int seen;	/* checked events */
	unsigned int first;	/* the first event with watched code; UINT_MAX: none */
	bool open;		/* watched code ran after the last event */
};

struct nt_counts {
	struct nt_edge *edges;
	uint32_t nr_edges;
	char *copy;			/* of the edges, for callers with another struct nt_edge */
	uint32_t *table;		/* open addressing: edge -> index */
	unsigned int table_bits;
	uint32_t last;			/* last counted edge of this batch, if any */
	unsigned int last_at;		/* events of the batch before it */
	uint64_t last_offset;		/* of a byte of the last message that was counted with it */

	struct spot *spots;		/* the first one is SPOT_NONE */
	uint32_t nr_spots;
	uint32_t *spot_table;		/* open addressing: location -> index */
	unsigned int spot_bits;
	struct world worlds[WORLDS];
	unsigned int nr_worlds, world;

	struct memo *memos;		/* by hash, two slots per hash */
	struct path *paths;
	uint32_t nr_paths;
	struct before was;
	uint32_t misses;	/* recent misses, and stats.hits before them */
	uint64_t hits_then;
	uint32_t pause;		/* batches left without memos */
	struct watch watch;
	struct nt_counts_stats stats;
};

/*
 * Call this with the store's lock held, before each batch: another thread may have invalidated code
 * since the last batch, and memos depend on the code.
 */
void nt_count_enter(struct nt_flow *f);

/*
 * Check the code up to f->at for watched code. If it ran, the batch ends with the next event, and
 * the result is true: the messages since the event before have no memos.
 */
bool nt_count_watch(struct nt_flow *f, struct batch *b);

/* Replay all messages from f->pos on whose effect is known, after the events of b. */
void nt_count_replay(struct nt_flow *f, const struct batch *b);

/*
 * The walk of the message after nt_count_replay() is done. Its events are those of b from b->mark
 * on: count them, and remember the message.
 */
void nt_count_learn(struct nt_flow *f, struct batch *b);

#endif /* NTRACE_NT_COUNT_H */
