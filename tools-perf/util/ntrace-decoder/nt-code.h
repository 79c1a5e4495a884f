/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The block graph, as nt_flow_ walks it
 *
 * A block is a run of instructions that is entered at its first one only; a
 * jump into the middle makes a block of its own.  It ends behind a control
 * transfer, or before whatever stops it: NT_BLOCK_MAX, missing code, an
 * instruction that never retires.
 */
#ifndef NTRACE_NT_CODE_H
#define NTRACE_NT_CODE_H

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
	NT_END_STALE,		/* an empty block: to be made again, its code has changed */
};

/* Half-words in a block at most */
#define NT_BLOCK_MAX	64

/* No such block, or not yet looked for */
#define NT_BLOCK_NONE	UINT32_MAX

/*
 * 32 bytes: two to a cache line, and with their place in the table less than 48
 * bytes each.  Where instructions begin inside is not kept, see nt_code_part().
 */
struct nt_block {
	uint64_t pc;
	/*
	 * Where a taken transfer goes.  An indirect jump that cannot be
	 * inferred keeps here where it went last, `taken` being its block.
	 */
	uint64_t target;
	uint32_t taken;
	uint32_t fall;		/* of calls: where the return goes */
	uint8_t halfwords;
	uint8_t before;		/* half-words before the last instruction */
	uint8_t insns;
	uint8_t end;		/* enum nt_end */
	uint8_t type;		/* enum nt_type of the last instruction */
	bool seq;		/* an indirect jump whose target is known (seqjump) */
	bool table;		/* CM.JT, CM.JALT: where it goes is read from the table */
};

/*
 * What is forgotten together, at least: so many bytes of code.  Of pages that have
 * blocks there is a set.
 */
#define NT_PAGE_SHIFT	10

struct nt_code {
	struct nt_params params;
	nt_read_fn read;
	void *ctx;
	uint64_t mask;		/* of addresses */

	struct nt_block *blocks;
	uint32_t nr_blocks;	/* ever made; some may be on the free list */
	uint32_t nr_free;
	uint32_t max_blocks;
	uint32_t free;		/* first of the free list, linked by `fall` */

	uint32_t *table;	/* open addressing: pc -> index into blocks, see NT_ENTRY_* */
	unsigned int table_bits;

	uint64_t *pages;	/* open addressing: page + 1 of addresses of blocks, 0 none */
	unsigned int page_bits;
	uint32_t nr_pages;
	uint32_t nr_tables;	/* blocks that end with CM.JT, CM.JALT, stale ones included */
	uint32_t nr_stale;

	uint32_t generation;	/* changes when code does: what is known of a way is not */

	/* the code bytes read last */
	uint64_t window_pc;
	size_t window_len;
	uint8_t window[256];
};

/* Address behind a block, not masked to XLEN */
static inline uint64_t nt_block_end(const struct nt_block *blk)
{
	return blk->pc + 2u * blk->halfwords;
}

/* Address of a block's last instruction */
static inline uint64_t nt_block_last(const struct nt_block *blk)
{
	return blk->pc + 2u * blk->before;
}

/*
 * An entry of the table has a block's number, and above it bits of its address's
 * hash: hardly ever is a block looked at that is not the one looked for.
 */
#define NT_ENTRY_BITS	27
#define NT_ENTRY_NUMBER	((1u << NT_ENTRY_BITS) - 1)

static inline uint64_t nt_code_hash(uint64_t pc)
{
	return (pc >> 1) * 0x9e3779b97f4a7c15u;
}

static inline uint32_t nt_code_slot(const struct nt_code *code, uint64_t hash)
{
	return hash >> (64 - code->table_bits);
}

static inline bool nt_code_tagged(uint32_t entry, uint64_t hash)
{
	return !((entry ^ (uint32_t)hash) >> NT_ENTRY_BITS);
}

/*
 * The block at pc, made if need be.  Its number, which stays valid until
 * `generation` changes; code->blocks may move.  NT_BLOCK_NONE when there is no
 * code (*error = NT_EUNMAPPED) or no memory (NT_ENOMEM).
 */
uint32_t nt_code_make(struct nt_code *code, uint64_t pc, int *error);

/*
 * The instructions in the first `halfwords` half-words of a block, at least one
 * and fewer than it has: how many, and the address of the last.  Or negative:
 * -NT_EBOUNDARY when they end inside an instruction.
 */
int nt_code_part(struct nt_code *code, const struct nt_block *blk, unsigned int halfwords,
		 uint64_t *last);

static inline uint32_t nt_code_find(const struct nt_code *code, uint64_t pc)
{
	const uint32_t wrap = (1u << code->table_bits) - 1;
	uint64_t hash = nt_code_hash(pc);
	uint32_t slot = nt_code_slot(code, hash), entry;

	while ((entry = code->table[slot]) != NT_BLOCK_NONE) {
		uint32_t n = entry & NT_ENTRY_NUMBER;

		if (nt_code_tagged(entry, hash) && code->blocks[n].pc == pc)
			return n;
		slot = (slot + 1) & wrap;
	}
	return NT_BLOCK_NONE;
}

static inline uint32_t nt_code_block(struct nt_code *code, uint64_t pc, int *error)
{
	uint32_t n = nt_code_find(code, pc);

	return n != NT_BLOCK_NONE && code->blocks[n].end != NT_END_STALE ? n :
	       nt_code_make(code, pc, error);
}

#endif /* NTRACE_NT_CODE_H */
