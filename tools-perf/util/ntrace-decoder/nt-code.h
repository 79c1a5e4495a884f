/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The block graph, as nt_flow_ walks it
 *
 * A block is a run of instructions that is entered at its first one only; a
 * jump into the middle makes a block of its own.  It ends behind a control
 * transfer, or before whatever stops it: NT_BLOCK_MAX, missing code, the end of
 * what is mapped, an instruction that never retires.
 *
 *	nt_store	all blocks, of all address spaces, by their numbers
 *	nt_text		the blocks of one piece of a file, or of memory that is one address
 *			space's own; their addresses are those in the file, or in memory
 *	nt_map		where a text is in an address space
 *	nt_code		an address space: its maps, and who supplies its bytes
 *
 * Threads: nt_flow_next() holds store->lock for reading and follows blocks without
 * any other lock. A block, once it can be found, only ever changes its links; what makes
 * one holds store->making. What makes blocks stale, or frees something, holds store->lock
 * for writing, so that no thread follows blocks, and then increments a `generation`.
 */
#ifndef NTRACE_NT_CODE_H
#define NTRACE_NT_CODE_H

#include <pthread.h>
#include <string.h>

#include "nt-int.h"

enum nt_end {
	NT_END_LINEAR,		/* goes on at the next address */
	NT_END_COND,
	NT_END_JUMP,		/* direct, no call */
	NT_END_CALL,		/* direct call */
	NT_END_INDIRECT,	/* target unknown, no effect on the return stack */
	NT_END_ICALL,
	NT_END_RET,
	NT_END_SWAP,
	NT_END_TRAPS,		/* an empty block: the instruction never retires */
	NT_END_STALE,		/* an empty block: its code has changed; `taken`: the new one */
};

/* Half-words in a block at most */
#define NT_BLOCK_MAX	64

/* No such block, or not yet looked for */
#define NT_BLOCK_NONE	UINT32_MAX

/* What a block is, but for where */
struct nt_body {
	uint8_t halfwords;
	uint8_t before;		/* half-words before the last instruction */
	uint8_t insns;
	uint8_t end;		/* enum nt_end */
	uint8_t type;		/* enum nt_type of the last instruction */
	uint8_t seq;		/* an indirect jump whose target is known (seqjump) */
	uint8_t table;		/* CM.JT, CM.JALT: where it goes is read from the table */
	uint8_t unused;
};

/*
 * 32 bytes: two to a cache line, and with their place in the table less than 48
 * bytes each.  Where instructions begin inside is not kept, see nt_code_part().
 */
struct nt_block {
	uint64_t pc;		/* in the text, as `target` */
	/*
	 * Where a taken transfer goes; of an indirect one that can't be inferred where it
	 * went last, which is no more than a hint.
	 */
	uint64_t target;
	uint32_t taken;
	uint32_t fall;		/* of calls: where the return goes */
	struct nt_body is;
};

NT_INLINE uint32_t nt_block_link(const uint32_t *link)
{
	return __atomic_load_n(link, __ATOMIC_ACQUIRE);
}

NT_INLINE void nt_block_set_link(uint32_t *link, uint32_t n)
{
	__atomic_store_n(link, n, __ATOMIC_RELEASE);
}

/*
 * What is forgotten together, at least: so many bytes of code.  Of pages that have
 * blocks there is a set.
 */
#define NT_PAGE_SHIFT	10

/* Open addressing: pc -> number of a block, see NT_ENTRY_* */
struct nt_table {
	struct nt_table *older;	/* a smaller one, which others may be reading */
	unsigned int bits;
	uint32_t entry[];
};

struct nt_text {
	struct nt_text *next;	/* in its chain of the store */
	uint64_t file, offset, size;	/* whose blocks; file 0: an address space's own memory */
	uint64_t used;		/* store->clock when a map last led here */
	unsigned int nr_maps;

	struct nt_table *table;
	uint32_t nr_blocks;	/* stale ones included */
	uint32_t nr_stale;
	uint32_t dead;		/* stale ones that were made again, linked by `fall` */
	uint32_t nr_dead;

	uint64_t *pages;	/* open addressing: page + 1 of addresses of blocks, 0 none */
	unsigned int page_bits;
	uint32_t nr_pages;

	uint32_t *jumps;	/* blocks that end with CM.JT, CM.JALT */
	uint32_t nr_jumps, max_jumps;
};

#define NT_TEXT_CHAINS	64

/* An instruction that was decoded by itself: those of branches are asked for again and again. */
struct nt_memo {
	const struct nt_code *code;
	uint64_t generation;	/* store->memo_generation, if nothing was forgotten since */
	struct nt_insn insn;
};

#define NT_MEMO_BITS	14

struct nt_store {
	struct nt_params params;
	uint64_t mask;		/* of addresses */
	bool shared;		/* by several nt_code, or threads */
	uint64_t limit;		/* bytes that all this may take, about */

	pthread_rwlock_t lock;
	uint32_t generation;	/* changes when texts are evicted */

	struct nt_block *blocks;	/* room for max_blocks, given when touched */
	uint32_t max_blocks;

	pthread_mutex_t making;	/* of all that follows */
	uint32_t nr_blocks;	/* ever made; some may be on the free list */
	uint32_t nr_free;
	uint32_t free;		/* first of the free list, linked by `fall` */
	uint64_t bytes;
	uint64_t clock;
	struct nt_text *chains[NT_TEXT_CHAINS];	/* of files, by hash */

	/* the code bytes read last */
	const struct nt_code *window_code;
	uint64_t window_pc;
	size_t window_len;
	uint8_t window[256];

	struct nt_memo *memo;	/* by hash; NULL: none asked for yet, or no memory */
	uint64_t memo_generation;
};

/* Addresses from first to last: that of a block, and this base, is an address. */
struct nt_map {
	uint64_t first, last, base;
	struct nt_text *text;
	struct nt_code *code;	/* whose map it is */
	struct nt_map *next;	/* of nt_code.old */
};

struct nt_code {
	struct nt_store *store;
	nt_read_fn read;
	nt_map_fn map;
	nt_made_fn made;	/* or NULL */
	void *ctx;
	uint64_t space;
	uint32_t generation;	/* changes when code, or what is mapped, does */
	bool own_store;
	struct nt_map **maps;	/* by address */
	uint32_t nr_maps, max_maps;
	struct nt_map *old;	/* replaced, but others may be using them */
	struct nt_text *own;	/* of memory that is in no file */
};

/* In the text: the address behind a block, and that of its last instruction */
NT_INLINE uint64_t nt_block_end(const struct nt_block *blk)
{
	return blk->pc + 2ull * blk->is.halfwords;
}

NT_INLINE uint64_t nt_block_last(const struct nt_block *blk)
{
	return blk->pc + 2ull * blk->is.before;
}

/*
 * An entry of the table has a block's number, and above it bits of its address's
 * hash: hardly ever is a block looked at that is not the one looked for.
 */
#define NT_ENTRY_BITS	27
#define NT_ENTRY_NUMBER	((1u << NT_ENTRY_BITS) - 1)

NT_INLINE uint64_t nt_code_hash(uint64_t pc)
{
	return (pc >> 1) * 0x9e3779b97f4a7c15u;
}

NT_INLINE uint32_t nt_table_slot(const struct nt_table *t, uint64_t hash)
{
	return hash >> (64 - t->bits);
}

NT_INLINE bool nt_code_tagged(uint32_t entry, uint64_t hash)
{
	return !((entry ^ (uint32_t)hash) >> NT_ENTRY_BITS);
}

NT_INLINE const struct nt_table *nt_text_table(const struct nt_text *text)
{
	return __atomic_load_n(&text->table, __ATOMIC_ACQUIRE);
}

/* The entry of the block at pc, or NT_BLOCK_NONE; *slot: its place, or the free one for it */
NT_INLINE uint32_t nt_table_find(const struct nt_store *store, const struct nt_table *t,
				 uint64_t pc, uint32_t *slot)
{
	const uint32_t wrap = (1u << t->bits) - 1;
	uint64_t hash = nt_code_hash(pc);
	uint32_t entry;

	for (*slot = nt_table_slot(t, hash); ; *slot = (*slot + 1) & wrap) {
		entry = nt_block_link(&t->entry[*slot]);
		if (entry == NT_BLOCK_NONE || (nt_code_tagged(entry, hash) &&
					       store->blocks[entry & NT_ENTRY_NUMBER].pc == pc))
			return entry;
	}
}

/* The block at an address in a text, which may be stale, or NT_BLOCK_NONE */
NT_INLINE uint32_t nt_table_block(const struct nt_store *store, const struct nt_table *t,
				  uint64_t pc)
{
	uint32_t slot, entry = nt_table_find(store, t, pc, &slot);

	return entry == NT_BLOCK_NONE ? entry : entry & NT_ENTRY_NUMBER;
}

static inline uint32_t nt_text_find(const struct nt_store *store, const struct nt_text *text,
				    uint64_t pc)
{
	return nt_table_block(store, nt_text_table(text), pc);
}

NT_INLINE bool nt_map_has(const struct nt_map *map, uint64_t pc)
{
	return pc - map->first <= map->last - map->first;
}

/* Where is pc?  NULL: there is no code (*error: why), or no memory (NT_ENOMEM) */
const struct nt_map *nt_code_map(struct nt_code *code, uint64_t pc, int *error);

/*
 * The block at pc, made if need be, and *map, which has it and where the caller thinks that
 * pc is; it may have to be another one.  Its number stays valid until a `generation`
 * changes.  NT_BLOCK_NONE when there is no code (*error: why, see nt_is_no_code()) or
 * no memory (NT_ENOMEM).
 */
uint32_t nt_code_block(struct nt_code *code, const struct nt_map **map, uint64_t pc, int *error);

/* nt_code_insn(), for callers with the structure's current shape */
int nt_code_one(struct nt_code *code, uint64_t pc, struct nt_insn *insn);

/*
 * The instructions in the first `halfwords` half-words of a block at pc, at least one and fewer
 * than it has: how many there are, and the address of the last.  Returns 0 or a negative enum
 * nt_error, -NT_EBOUNDARY when they end inside an instruction.  Then `last` is the one at fault,
 * and `insns` those before it: where blocks begin must not show.
 */
int nt_code_part(struct nt_code *code, uint64_t pc, unsigned int halfwords, uint64_t *last,
		 unsigned int *insns);

/* Around all that follows blocks of these, one or both of which may be NULL */
void nt_code_enter(struct nt_code *low, struct nt_code *high);
void nt_code_leave(struct nt_code *low, struct nt_code *high);

/* ------------------------------------------------------- in nt-insn.c ---- */

/*
 * An instruction as the classification sees it: what nt_insn tells, and for
 * sequential jumps who reads or writes which register.
 */
struct nt_decoded {
	struct nt_insn *i;
	const struct nt_params *params;
	uint64_t mask;
	int writes;		/* register that gets `value`, 0 none */
	uint64_t value;
	bool absolute;		/* ... wherever the code is */
	int jumps_to;		/* register that an indirect jump goes to, 0 none */
	int64_t offset;		/* added to it */
	bool table;		/* CM.JT, CM.JALT: where it goes stands in the jump table, */
	unsigned int index;	/* ... here */
};

/* Bytes of an instruction by its first half-word; 0 for the reserved lengths */
unsigned int nt_insn_length(unsigned int half);

/* Classify the instruction in d->i, of which pc, len and raw are set, and nothing else. */
void nt_insn_decode(struct nt_decoded *d);

/* An instruction of reserved length */
void nt_insn_traps(struct nt_decoded *d);

/* ------------------------------------------------------ in nt-store.c ---- */

/* With store->making, but for the first three, which want store->lock for writing */
void nt_store_evict(struct nt_store *store);
void nt_store_drop(struct nt_store *store, struct nt_text *text);
/* True: there are fewer blocks now, or stale ones */
void nt_store_forget(struct nt_store *store, struct nt_text *text, uint64_t start, uint64_t last);

struct nt_text *nt_store_text(struct nt_store *store, uint64_t file, uint64_t offset,
			      uint64_t size);

/* Have `blk` in the text, which may have a stale one there.  NT_BLOCK_NONE: no memory */
uint32_t nt_store_put(struct nt_store *store, struct nt_text *text, const struct nt_block *blk);

#endif /* NTRACE_NT_CODE_H */
