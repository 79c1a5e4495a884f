// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The blocks of all programs: storage, lookup, invalidation and eviction
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "nt-code.h"

/* store->bytes counts all memory; nt_code_enter() reads it without a lock. */
static void account(struct nt_store *store, int64_t bytes)
{
	__atomic_fetch_add(&store->bytes, bytes, __ATOMIC_RELAXED);
}

/* -------------------------------------------------------------- table ---- */

/*
 * The table is at most 3/4 full.  Smaller predecessors are kept while other threads may be reading
 * them.
 */
#define FIRST_BITS	5

static uint32_t table_room(const struct nt_table *t)
{
	return 3u << (t->bits - 2);
}

static size_t table_bytes(unsigned int bits)
{
	return sizeof(struct nt_table) + (sizeof(uint32_t) << bits);
}

static struct nt_table *table_new(struct nt_store *store, unsigned int bits)
{
	struct nt_table *t = malloc(table_bytes(bits));

	if (!t)
		return NULL;
	t->older = NULL;
	t->bits = bits;
	memset(t->entry, 0xff, sizeof(*t->entry) << bits);
	account(store, table_bytes(bits));
	return t;
}

static void table_free(struct nt_store *store, struct nt_table *t)
{
	while (t) {
		struct nt_table *older = t->older;

		account(store, -(int64_t)table_bytes(t->bits));
		free(t);
		t = older;
	}
}

static void table_insert(const struct nt_store *store, struct nt_table *t, uint32_t n)
{
	const uint64_t pc = store->blocks[n].pc;
	const uint32_t tag = (uint32_t)nt_code_hash(pc) & ~NT_ENTRY_NUMBER;
	uint32_t slot;

	nt_table_find(store, t, pc, &slot);
	nt_block_set_link(&t->entry[slot], tag | n);
}

/* Iterate over the blocks of a table; NT_BLOCK_NONE at the end */
static uint32_t table_next(const struct nt_table *t, uint32_t *at)
{
	while (*at < 1u << t->bits) {
		uint32_t entry = t->entry[(*at)++];

		if (entry != NT_BLOCK_NONE)
			return entry & NT_ENTRY_NUMBER;
	}
	return NT_BLOCK_NONE;
}

static bool table_grow(struct nt_store *store, struct nt_text *text)
{
	struct nt_table *old = text->table, *t = table_new(store, old->bits + 1);
	uint32_t at = 0, n;

	if (!t)
		return false;
	while ((n = table_next(old, &at)) != NT_BLOCK_NONE)
		table_insert(store, t, n);
	__atomic_store_n(&text->table, t, __ATOMIC_RELEASE);
	if (store->shared)
		t->older = old;
	else
		table_free(store, old);
	return true;
}

/* ------------------------------------------------- pages that have blocks - */

#define FIRST_PAGES	3

static bool pages_find(const struct nt_text *text, uint64_t page, uint32_t *slot)
{
	const uint32_t wrap = (1u << text->page_bits) - 1;

	*slot = nt_code_hash(2 * page) >> (64 - text->page_bits);
	for (; text->pages[*slot]; *slot = (*slot + 1) & wrap)
		if (text->pages[*slot] == page + 1)
			return true;
	return false;
}

static void pages_insert(struct nt_text *text, uint64_t page)
{
	uint32_t slot;

	if (pages_find(text, page, &slot))
		return;
	text->pages[slot] = page + 1;
	text->nr_pages++;
}

/* Build the set of all blocks' pages, with room for twice as many. */
static bool pages_fill(struct nt_store *store, struct nt_text *text, unsigned int bits)
{
	uint64_t *pages = calloc((size_t)1 << bits, sizeof(*pages));
	uint32_t at = 0, n;

	if (!pages)
		return false;
	if (text->pages)
		account(store, -((int64_t)sizeof(*pages) << text->page_bits));
	account(store, sizeof(*pages) << bits);
	free(text->pages);
	text->pages = pages;
	text->page_bits = bits;
	text->nr_pages = 0;
	while ((n = table_next(text->table, &at)) != NT_BLOCK_NONE)
		pages_insert(text, store->blocks[n].pc >> NT_PAGE_SHIFT);
	return true;
}

/* Make room for the page of one more block. */
static bool pages_room(struct nt_store *store, struct nt_text *text)
{
	return text->nr_pages < 1u << (text->page_bits - 1) ||
	       pages_fill(store, text, text->page_bits + 1);
}

/* ------------------------------------------------------------- blocks ---- */

static uint32_t take_block(struct nt_store *store)
{
	uint32_t n = store->free;

	account(store, sizeof(struct nt_block));
	if (!store->nr_free)
		return store->nr_blocks++;
	store->free = store->blocks[n].fall;
	store->nr_free--;
	return n;
}

static void drop_block(struct nt_store *store, uint32_t n)
{
	account(store, -(int64_t)sizeof(struct nt_block));
	store->blocks[n].fall = store->free;
	store->free = n;
	store->nr_free++;
}

static bool is_stale(const struct nt_store *store, uint32_t n)
{
	return store->blocks[n].is.end == NT_END_STALE;
}

/* Record another block with a table jump. */
static bool note_jump(struct nt_store *store, struct nt_text *text, uint32_t n)
{
	uint32_t max = text->max_jumps ? 2 * text->max_jumps : 16, *jumps;

	if (text->nr_jumps == text->max_jumps) {
		jumps = realloc(text->jumps, max * sizeof(*jumps));
		if (!jumps)
			return false;
		account(store, (int64_t)(max - text->max_jumps) * sizeof(*jumps));
		text->jumps = jumps;
		text->max_jumps = max;
	}
	text->jumps[text->nr_jumps++] = n;
	return true;
}

/*
 * `n` replaces a stale block at the same address. Other threads may still reach the old block, and
 * continue with this one.
 */
static void replace_stale(struct nt_store *store, struct nt_text *text, uint32_t old, uint32_t n)
{
	struct nt_table *t = text->table;
	uint32_t slot, entry = nt_table_find(store, t, store->blocks[old].pc, &slot);

	nt_block_set_link(&t->entry[slot], (entry & ~NT_ENTRY_NUMBER) | n);
	nt_block_set_link(&store->blocks[old].taken, n);
	store->blocks[old].fall = text->dead;
	text->dead = old;
	text->nr_dead++;
	text->nr_stale--;
}

uint32_t nt_store_put(struct nt_store *store, struct nt_text *text, const struct nt_block *blk)
{
	const uint32_t old = nt_text_find(store, text, blk->pc);
	uint32_t n;

	if (!pages_room(store, text) ||
	    (text->nr_blocks >= table_room(text->table) && !table_grow(store, text)) ||
	    (!store->nr_free && store->nr_blocks >= store->max_blocks))
		return NT_BLOCK_NONE;
	n = take_block(store);
	if (blk->is.table && !note_jump(store, text, n)) {
		drop_block(store, n);
		return NT_BLOCK_NONE;
	}
	store->blocks[n] = *blk;
	if (old != NT_BLOCK_NONE) {
		replace_stale(store, text, old, n);
		return n;
	}
	table_insert(store, text->table, n);
	pages_insert(text, blk->pc >> NT_PAGE_SHIFT);
	__atomic_fetch_add(&text->nr_blocks, 1, __ATOMIC_RELAXED);
	return n;
}

/* ------------------------------------------------------- invalidation ---- */

/*
 * A block whose code has changed becomes stale: it is empty, but stays at its address, so that
 * links to it need not be searched.  The next walk that reaches it makes a new block.  When most
 * blocks are stale, all of them are dropped at once.
 */
#define STALE_MANY	1024

/* Maximum distance from a block's address to its last byte */
#define BLOCK_REACH	(2 * NT_BLOCK_MAX - 1)

static void make_stale(struct nt_store *store, struct nt_text *text, uint32_t n)
{
	struct nt_block *blk = &store->blocks[n];

	if (is_stale(store, n))
		return;
	blk->is = (struct nt_body){ .end = NT_END_STALE };
	blk->taken = blk->fall = NT_BLOCK_NONE;
	text->nr_stale++;
}

static bool overlaps(const struct nt_block *blk, uint64_t start, uint64_t last)
{
	/* an empty block covers the instruction that ended it: at most 4 bytes */
	uint64_t bytes = blk->is.halfwords ? 2 * blk->is.halfwords : 4;

	return blk->pc <= last && (blk->pc >= start || start - blk->pc < bytes);
}

static void forget_page(struct nt_store *store, struct nt_text *text, uint64_t page,
			uint64_t start, uint64_t last)
{
	uint64_t pc = page << NT_PAGE_SHIFT;
	unsigned int i;
	uint32_t n;

	for (i = 0; i < 1u << (NT_PAGE_SHIFT - 1) && pc <= last; i++, pc += 2) {
		if (pc < start && start - pc > BLOCK_REACH)
			continue;
		n = nt_text_find(store, text, pc);
		if (n != NT_BLOCK_NONE && overlaps(&store->blocks[n], start, last))
			make_stale(store, text, n);
	}
}

static void forget_range(struct nt_store *store, struct nt_text *text, uint64_t start,
			 uint64_t last)
{
	const uint64_t first = (start > BLOCK_REACH ? start - BLOCK_REACH : 0) >> NT_PAGE_SHIFT;
	const uint64_t end = last >> NT_PAGE_SHIFT;
	uint32_t slot, i;
	uint64_t page;

	if (end - first < 1u << text->page_bits) {
		for (page = first; page <= end; page++)
			if (pages_find(text, page, &slot))
				forget_page(store, text, page, start, last);
		return;
	}
	for (i = 0; i < 1u << text->page_bits; i++) {
		page = text->pages[i] - 1;
		if (text->pages[i] && page >= first && page <= end)
			forget_page(store, text, page, start, last);
	}
}

/* The targets of CM.JT and CM.JALT are in the table, which may have changed. */
static void forget_jumps(struct nt_store *store, struct nt_text *text, uint64_t start,
			 uint64_t last)
{
	const uint64_t table = store->params.jvt & ~63ull;
	uint32_t i;

	if (table > last || table + 32 * store->params.xlen - 1 < start)
		return;
	for (i = 0; i < text->nr_jumps; i++)
		make_stale(store, text, text->jumps[i]);
	text->nr_jumps = 0;
}

static void drop_dead(struct nt_store *store, struct nt_text *text)
{
	while (text->nr_dead) {
		uint32_t n = text->dead;

		text->dead = store->blocks[n].fall;
		text->nr_dead--;
		drop_block(store, n);
	}
}

static void unlink_stale(const struct nt_store *store, uint32_t *link)
{
	if (*link != NT_BLOCK_NONE && is_stale(store, *link))
		*link = NT_BLOCK_NONE;
}

/* `jumps` may have stale blocks: those invalidated again */
static void drop_stale(struct nt_store *store, struct nt_text *text)
{
	struct nt_table *t = table_new(store, text->table->bits), *old = text->table;
	uint32_t at = 0, n, i, nr = 0;

	/* without memory for a new table, keep the old one: it only has stale blocks */
	if (!t)
		return;
	while ((n = table_next(old, &at)) != NT_BLOCK_NONE) {
		if (is_stale(store, n))
			continue;
		unlink_stale(store, &store->blocks[n].taken);
		unlink_stale(store, &store->blocks[n].fall);
		table_insert(store, t, n);
	}
	for (i = 0; i < text->nr_jumps; i++)
		if (!is_stale(store, text->jumps[i]))
			text->jumps[nr++] = text->jumps[i];
	text->nr_jumps = nr;
	at = 0;
	while ((n = table_next(old, &at)) != NT_BLOCK_NONE)
		if (is_stale(store, n))
			drop_block(store, n);
	drop_dead(store, text);
	table_free(store, old);
	text->table = t;
	text->nr_blocks -= text->nr_stale;
	text->nr_stale = 0;
	/* without memory for a new set, keep the old one: it only has too many pages */
	pages_fill(store, text, text->page_bits);
}

void nt_store_forget(struct nt_store *store, struct nt_text *text, uint64_t start, uint64_t last)
{
	const uint32_t stale = text->nr_stale;
	uint32_t empty;

	forget_range(store, text, start, last);
	forget_jumps(store, text, start, last);
	empty = text->nr_stale + text->nr_dead;
	if (text->nr_stale != stale && empty > STALE_MANY && empty > text->nr_blocks / 2)
		drop_stale(store, text);
}

/* ---------------------------------------------------------------- texts -- */

static struct nt_text **chain_of(struct nt_store *store, uint64_t file, uint64_t offset)
{
	const uint64_t hash = (file ^ offset << 17) * 0x9e3779b97f4a7c15u;

	return &store->chains[hash / (UINT64_MAX / NT_TEXT_CHAINS + 1)];
}

static void text_free(struct nt_store *store, struct nt_text *text)
{
	if (!text)
		return;
	account(store, -(int64_t)(sizeof(*text) + text->max_jumps * sizeof(*text->jumps)));
	if (text->pages)
		account(store, -((int64_t)sizeof(*text->pages) << text->page_bits));
	table_free(store, text->table);
	free(text->pages);
	free(text->jumps);
	free(text);
}

static struct nt_text *text_new(struct nt_store *store)
{
	struct nt_text *text = calloc(1, sizeof(*text));

	if (!text)
		return NULL;
	account(store, sizeof(*text));
	text->table = table_new(store, FIRST_BITS);
	if (text->table && pages_fill(store, text, FIRST_PAGES))
		return text;
	text_free(store, text);
	return NULL;
}

struct nt_text *nt_store_text(struct nt_store *store, uint64_t file, uint64_t offset,
			      uint64_t size)
{
	struct nt_text **chain = chain_of(store, file, offset), *text;

	for (text = file ? *chain : NULL; text; text = text->next)
		if (text->file == file && text->offset == offset && text->size == size)
			return text;
	text = text_new(store);
	if (!text)
		return NULL;
	text->file = file;
	text->offset = offset;
	text->size = size;
	text->next = *chain;
	*chain = text;
	return text;
}

/* No flow refers to these blocks any more. */
static void drop_blocks(struct nt_store *store, struct nt_text *text)
{
	uint32_t at = 0, n;

	while ((n = table_next(text->table, &at)) != NT_BLOCK_NONE)
		drop_block(store, n);
	drop_dead(store, text);
}

void nt_store_drop(struct nt_store *store, struct nt_text *text)
{
	struct nt_text **at = chain_of(store, text->file, text->offset);

	while (*at != text)
		at = &(*at)->next;
	*at = text->next;
	drop_blocks(store, text);
	text_free(store, text);
}

/* ------------------------------------------------------------- eviction -- */

/* Maps refer to the text: keep it, but empty */
static void text_empty(struct nt_store *store, struct nt_text *text)
{
	struct nt_table *t = table_new(store, FIRST_BITS);

	if (!t)
		return;
	drop_blocks(store, text);
	table_free(store, text->table);
	text->table = t;
	text->nr_blocks = text->nr_stale = text->nr_jumps = 0;
	pages_fill(store, text, FIRST_PAGES);
}

static int older_first(const void *a, const void *b)
{
	const struct nt_text *const *x = a, *const *y = b;

	return (*x)->used < (*y)->used ? -1 : (*x)->used > (*y)->used;
}

/* All texts, by age; NULL: no memory */
static struct nt_text **texts_by_age(struct nt_store *store, size_t *nr)
{
	struct nt_text *text, **all;
	unsigned int c;

	*nr = 0;
	for (c = 0; c < NT_TEXT_CHAINS; c++)
		for (text = store->chains[c]; text; text = text->next)
			++*nr;
	all = malloc((*nr + 1) * sizeof(*all));
	if (!all)
		return NULL;
	*nr = 0;
	for (c = 0; c < NT_TEXT_CHAINS; c++)
		for (text = store->chains[c]; text; text = text->next)
			all[(*nr)++] = text;
	qsort(all, *nr, sizeof(*all), older_first);
	return all;
}

/* Evict down to three quarters of the limit, so that this does not happen too often. */
void nt_store_evict(struct nt_store *store)
{
	struct nt_text **all;
	size_t nr, i;

	all = texts_by_age(store, &nr);
	if (!all)
		return;
	for (i = 0; i < nr && store->bytes > store->limit - store->limit / 4; i++) {
		if (all[i]->nr_maps)
			text_empty(store, all[i]);
		else
			nt_store_drop(store, all[i]);
	}
	free(all);
	__atomic_fetch_add(&store->generation, 1, __ATOMIC_RELAXED);
}

/* -------------------------------------------------------------- objects -- */

/* The part of a limited address space (ulimit -v) that a store may take */
#define PART	16

/*
 * Blocks never move, so that they can be followed while others are made: reserve space for all of
 * them, which costs nothing until it is used.
 */
static struct nt_block *blocks_new(struct nt_store *store)
{
	/* twice, because eviction only happens between batches, and a batch may make many */
	uint64_t max = store->limit / sizeof(struct nt_block) * 2;
	struct rlimit all;
	void *blocks;

	/* the last number would look like an empty entry */
	if (max > NT_ENTRY_NUMBER)
		max = NT_ENTRY_NUMBER;
	if (!getrlimit(RLIMIT_AS, &all) && all.rlim_cur != RLIM_INFINITY &&
	    max > all.rlim_cur / PART / sizeof(struct nt_block))
		max = all.rlim_cur / PART / sizeof(struct nt_block);
	if (!getrlimit(RLIMIT_DATA, &all) && all.rlim_cur != RLIM_INFINITY &&
	    max > all.rlim_cur / PART / sizeof(struct nt_block))
		max = all.rlim_cur / PART / sizeof(struct nt_block);
	for (; max >= 1024; max /= 2) {
		blocks = mmap(NULL, max * sizeof(struct nt_block), PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (blocks == MAP_FAILED)
			continue;
		store->max_blocks = (uint32_t)max;
		/* evict before all are used */
		if (store->limit > max / 2 * sizeof(struct nt_block))
			store->limit = max / 2 * sizeof(struct nt_block);
		return blocks;
	}
	return NULL;
}

/* Copy the table: the caller's may be gone when blocks are made. */
static bool copy_branches(struct nt_params *params)
{
	size_t size = params->nr_branches * sizeof(*params->branches);
	struct nt_branch *copy = size ? malloc(size) : NULL;

	if (copy)
		memcpy(copy, params->branches, size);
	params->branches = copy;
	return copy || !size;
}

/*
 * Less would not be enough for one batch of events.  Tests use a small value, so that small
 * programs are evicted.
 */
#ifndef LIMIT_LEAST
#define LIMIT_LEAST	(1u << 20)
#endif

struct nt_store *nt_store_new(const struct nt_params *params, uint64_t limit)
{
	pthread_rwlockattr_t attr;
	struct nt_store *store;

	if (nt_params_check(params))
		return NULL;
	store = calloc(1, sizeof(*store));
	if (!store)
		return NULL;
	nt_params_get(params, &store->params);
	if (!store->params.high_from)
		store->params.high_from = 1ull << (store->params.xlen - 1);
	store->mask = store->params.xlen == 32 ? UINT32_MAX : UINT64_MAX;
	store->shared = true;
	store->limit = limit && limit < UINT64_MAX / 2 ? limit : UINT64_MAX / 2;
	if (store->limit < LIMIT_LEAST)
		store->limit = LIMIT_LEAST;
	store->bytes = sizeof(*store);
	store->free = NT_BLOCK_NONE;
	pthread_rwlockattr_init(&attr);
	/* otherwise, many readers could block a thread that invalidates */
	pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&store->lock, &attr);
	pthread_rwlockattr_destroy(&attr);
	pthread_mutex_init(&store->making, NULL);
	store->blocks = blocks_new(store);
	if (!copy_branches(&store->params) || !store->blocks) {
		nt_store_free(store);
		return NULL;
	}
	return store;
}

void nt_store_free(struct nt_store *store)
{
	struct nt_text *text;
	unsigned int c;

	if (!store)
		return;
	for (c = 0; c < NT_TEXT_CHAINS; c++) {
		while ((text = store->chains[c])) {
			store->chains[c] = text->next;
			text_free(store, text);
		}
	}
	if (store->blocks)
		munmap(store->blocks, (size_t)store->max_blocks * sizeof(struct nt_block));
	pthread_rwlock_destroy(&store->lock);
	pthread_mutex_destroy(&store->making);
	free(store->memo);
	free((void *)store->params.branches);
	free(store);
}

void nt_store_get_stats(struct nt_store *store, struct nt_code_stats *stats)
{
	struct nt_code_stats now = { .size = sizeof(now) };
	struct nt_text *text;
	unsigned int c;

	if (stats->size < now.size)
		now.size = stats->size;
	pthread_mutex_lock(&store->making);
	for (c = 0; c < NT_TEXT_CHAINS; c++)
		for (text = store->chains[c]; text; text = text->next)
			now.blocks += text->nr_blocks - text->nr_stale;
	now.bytes = store->bytes;
	pthread_mutex_unlock(&store->making);
	memcpy(stats, &now, now.size);
}
