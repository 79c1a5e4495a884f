/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The block graph that nt_flow_ walks
 *
 * A block is a run of instructions that is entered only at its first one; a jump into the middle
 * makes a block of its own.  It ends after a control transfer, or before one of these:
 * NT_BLOCK_MAX, missing code, the end of the mapping, an instruction that never retires.
 *
 *	nt_store	all blocks of all address spaces, by number
 *	nt_text		the blocks of one piece of a file, or of an address space's own memory;
 *			their addresses are those in the file, or in memory
 *	nt_map		where a text is in an address space
 *	nt_code		an address space: its maps, and the callbacks that supply its bytes
 *
 * Threads: nt_flow_next() holds store->lock for reading and follows blocks without any other lock.
 * A published block only ever changes its links; store->making is held while blocks are made. Code
 * that makes blocks stale, or frees anything, holds store->lock for writing, so that no thread
 * follows blocks, and then increments a `generation`.
 */
#ifndef NTRACE_NT_CODE_H
#define NTRACE_NT_CODE_H

#include <pthread.h>
#include <string.h>

#include "nt-int.h"

enum nt_end {
	NT_END_LINEAR,		/* continues at the next address */
	NT_END_COND,
	NT_END_JUMP,		/* direct, no call */
	NT_END_CALL,		/* direct call */
	NT_END_INDIRECT,	/* target unknown, no effect on the return stack */
	NT_END_ICALL,
	NT_END_RET,
	NT_END_SWAP,
	NT_END_TRAPS,		/* an empty block: the instruction never retires */
	NT_END_STALE,		/* an empty block: its code has changed; `taken`: the new block */
};

/* Maximum number of half-words in a block */
#define NT_BLOCK_MAX	64

/* No such block, or not looked up yet */
#define NT_BLOCK_NONE	UINT32_MAX

/* The part of a block that does not depend on its address */
struct nt_body {
	uint8_t halfwords;
	uint8_t before;		/* half-words before the last instruction */
	uint8_t insns;
	uint8_t end;		/* enum nt_end */
	uint8_t type;		/* enum nt_type of the last instruction */
	uint8_t seq;		/* an indirect jump whose target is known (seqjump) */
	uint8_t table;		/* CM.JT, CM.JALT: the target is read from the table */
	uint8_t unused;
};

/*
 * 32 bytes: two per cache line, and less than 48 bytes including the table entry.  Instruction
 * boundaries inside a block are not stored, see nt_code_part().
 */
struct nt_block {
	uint64_t pc;		/* in the text, as `target` */
	/*
	 * The target of a taken transfer; for an indirect one that cannot be inferred, its last
	 * target, which is only a hint.
	 */
	uint64_t target;
	uint32_t taken;
	uint32_t fall;		/* calls: the block after the call */
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

/* The granularity of invalidation, in bytes of code.  A set has the pages with blocks. */
#define NT_PAGE_SHIFT	10

/* Open addressing: pc -> number of a block, see NT_ENTRY_* */
struct nt_table {
	struct nt_table *older;	/* a smaller one that other threads may be reading */
	unsigned int bits;
	uint32_t entry[];
};

struct nt_text {
	struct nt_text *next;	/* in the store's chain */
	uint64_t file, offset, size;	/* of the blocks; file 0: an address space's own memory */
	uint64_t used;		/* store->clock when a map was last used to come here */
	unsigned int nr_maps;

	struct nt_table *table;
	uint32_t nr_blocks;	/* including stale ones */
	uint32_t nr_stale;
	uint32_t dead;		/* stale blocks that were made again, linked by `fall` */
	uint32_t nr_dead;

	uint64_t *pages;	/* open addressing: page + 1 of addresses of blocks; 0: none */
	unsigned int page_bits;
	uint32_t nr_pages;

	uint32_t *jumps;	/* blocks that end with CM.JT, CM.JALT */
	uint32_t nr_jumps, max_jumps;
};

#define NT_TEXT_CHAINS	64

/* A single decoded instruction: branches are requested repeatedly. */
struct nt_memo {
	const struct nt_code *code;
	uint64_t generation;	/* store->memo_generation at that time */
	struct nt_insn insn;
};

#define NT_MEMO_BITS	14

struct nt_store {
	struct nt_params params;
	uint64_t mask;		/* of addresses */
	bool shared;		/* by several nt_code or threads */
	uint64_t limit;		/* limit for the memory of all this, roughly */

	pthread_rwlock_t lock;
	uint32_t generation;	/* changes when texts are evicted */

	struct nt_block *blocks;	/* space for max_blocks, allocated when touched */
	uint32_t max_blocks;

	pthread_mutex_t making;	/* protects all members below */
	uint32_t nr_blocks;	/* ever made, including the free list */
	uint32_t nr_free;
	uint32_t free;		/* first of the free list, linked by `fall` */
	uint64_t bytes;
	uint64_t clock;
	struct nt_text *chains[NT_TEXT_CHAINS];	/* of files, by hash */

	/* the last code bytes read */
	const struct nt_code *window_code;
	uint64_t window_pc;
	size_t window_len;
	uint8_t window[256];

	struct nt_memo *memo;	/* by hash; NULL: none requested yet, or no memory */
	uint64_t memo_generation;
};

/* The addresses from first to last.  An address is a block's address plus base. */
struct nt_map {
	uint64_t first, last, base;
	struct nt_text *text;
	struct nt_code *code;	/* the owner */
	struct nt_map *next;	/* of nt_code.old */
};

struct nt_code {
	struct nt_store *store;
	nt_read_fn read;
	nt_map_fn map;
	nt_made_fn made;	/* or NULL */
	void *ctx;
	uint64_t space;
	uint32_t generation;	/* changes when code or mappings change */
	bool own_store;
	struct nt_map **maps;	/* by address */
	uint32_t nr_maps, max_maps;
	struct nt_map *old;	/* replaced, but other threads may use them */
	struct nt_text *own;	/* of memory without a file */
};

/* Addresses in the text: the end of a block, and its last instruction */
NT_INLINE uint64_t nt_block_end(const struct nt_block *blk)
{
	return blk->pc + 2ull * blk->is.halfwords;
}

NT_INLINE uint64_t nt_block_last(const struct nt_block *blk)
{
	return blk->pc + 2ull * blk->is.before;
}

/*
 * An entry of the table has a block's number, and above it bits of its address's hash, so that
 * hardly any other block has to be read during a search.
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

/* The entry of the block at pc, or NT_BLOCK_NONE; *slot: its index, or a free one for it */
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

/* Find the map of pc.  NULL: there is no code (*error: why), or no memory (NT_ENOMEM) */
const struct nt_map *nt_code_map(struct nt_code *code, uint64_t pc, int *error);

/*
 * The block at pc, made if needed.  *map is where the caller expects pc, and is updated if it is
 * another map.  The number stays valid until a `generation` changes.  NT_BLOCK_NONE if there is no
 * code (*error: why, see nt_is_no_code()) or no memory (NT_ENOMEM).
 */
uint32_t nt_code_block(struct nt_code *code, const struct nt_map **map, uint64_t pc, int *error);

/* nt_code_insn() for callers with the current layout of the structure */
int nt_code_one(struct nt_code *code, uint64_t pc, struct nt_insn *insn);

/*
 * Count the instructions in the first `halfwords` half-words of a block at pc, at least one and
 * fewer than the block has, and find the address of the last.  Returns 0 or a negative enum
 * nt_error, -NT_EBOUNDARY if they end inside an instruction.  Then `last` is the faulty
 * instruction, and `insns` the number before it: the result must not depend on where blocks begin.
 */
int nt_code_part(struct nt_code *code, uint64_t pc, unsigned int halfwords, uint64_t *last,
		 unsigned int *insns);

/* Call these before and after following blocks of these, one or both of which may be NULL. */
void nt_code_enter(struct nt_code *low, struct nt_code *high);
void nt_code_leave(struct nt_code *low, struct nt_code *high);

/* ------------------------------------------------------- in nt-insn.c ---- */

/*
 * An instruction during classification: what nt_insn has, and for sequential jumps, the registers
 * that it reads or writes
 */
struct nt_decoded {
	struct nt_insn *i;
	const struct nt_params *params;
	uint64_t mask;
	int writes;		/* register that gets `value`; 0: none */
	uint64_t value;
	bool absolute;		/* ... independent of the code's address */
	int jumps_to;		/* base register of an indirect jump; 0: none */
	int64_t offset;		/* added to it */
	bool table;		/* CM.JT, CM.JALT: the target is in the jump table, ... */
	unsigned int index;	/* ... at this index */
};

/* The length in bytes, from the first half-word; 0 for reserved lengths */
unsigned int nt_insn_length(unsigned int half);

/* Classify the instruction in d->i, in which only pc, len and raw are set. */
void nt_insn_decode(struct nt_decoded *d);

/* An instruction of reserved length */
void nt_insn_traps(struct nt_decoded *d);

/* ------------------------------------------------------ in nt-store.c ---- */

/* Call these with store->making held, but the first three with store->lock held for writing. */
void nt_store_evict(struct nt_store *store);
void nt_store_drop(struct nt_store *store, struct nt_text *text);
/* True: there are fewer blocks, or stale ones */
void nt_store_forget(struct nt_store *store, struct nt_text *text, uint64_t start, uint64_t last);

struct nt_text *nt_store_text(struct nt_store *store, uint64_t file, uint64_t offset,
			      uint64_t size);

/* Add `blk` to the text, which may have a stale block there.  NT_BLOCK_NONE: no memory */
uint32_t nt_store_put(struct nt_store *store, struct nt_text *text, const struct nt_block *blk);

#endif /* NTRACE_NT_CODE_H */
