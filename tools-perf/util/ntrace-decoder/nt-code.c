// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * An address space: its mappings, and the blocks made from its instructions
 */
#include <stdlib.h>

#include "nt-code.h"

/* --------------------------------------------------------------- locks --- */

/* An nt_code with its own store is used by one thread at a time: no lock is needed. */
static void code_lock(struct nt_code *code)
{
	if (code->store->shared)
		pthread_mutex_lock(&code->store->making);
}

static void code_unlock(struct nt_code *code)
{
	if (code->store->shared)
		pthread_mutex_unlock(&code->store->making);
}

/* Keep out all threads that follow blocks. */
static void code_lock_all(struct nt_code *code)
{
	if (code->store->shared)
		pthread_rwlock_wrlock(&code->store->lock);
	code_lock(code);
}

static void code_unlock_all(struct nt_code *code)
{
	code_unlock(code);
	if (code->store->shared)
		pthread_rwlock_unlock(&code->store->lock);
}

static bool too_much(const struct nt_store *store)
{
	return __atomic_load_n(&store->bytes, __ATOMIC_RELAXED) > store->limit;
}

static void evict(struct nt_code *code)
{
	if (!code || !too_much(code->store))
		return;
	code_lock_all(code);
	if (too_much(code->store))
		nt_store_evict(code->store);
	code_unlock_all(code);
}

static void read_lock(struct nt_code *code)
{
	if (code && code->store->shared)
		pthread_rwlock_rdlock(&code->store->lock);
}

/* Take the locks of two stores by address, and no other lock while holding one. */
void nt_code_enter(struct nt_code *low, struct nt_code *high)
{
	evict(low);
	evict(high);
	if (low && high && low->store == high->store)
		high = NULL;
	if (low && high && (uintptr_t)high->store < (uintptr_t)low->store) {
		read_lock(high);
		high = NULL;
	}
	read_lock(low);
	read_lock(high);
}

void nt_code_leave(struct nt_code *low, struct nt_code *high)
{
	if (high && high->store->shared && (!low || high->store != low->store))
		pthread_rwlock_unlock(&high->store->lock);
	if (low && low->store->shared)
		pthread_rwlock_unlock(&low->store->lock);
}

/* ------------------------------------------------------ code in memory --- */

/* Returns the number of bytes read, at least one; or a negative error */
static int read_code(const struct nt_code *code, uint64_t addr, void *buf, size_t len)
{
	int got = code->read(code->ctx, code->space, addr & code->store->mask, buf, len);

	if (got > 0 && (size_t)got <= len)
		return got;
	if (!got)
		return -NT_EUNMAPPED;
	return got == -NT_EFORMAT || got == -NT_ENOTSUP ? got : -NT_EFILE;
}

/* Make at least `need` bytes at pc available.  Returns 0, or a negative error */
static int fetch(const struct nt_code *code, uint64_t pc, size_t need, const uint8_t **bytes)
{
	struct nt_store *s = code->store;
	uint64_t at = pc - s->window_pc;

	if (s->window_code != code || at > s->window_len || s->window_len - at < need) {
		s->window_code = code;
		s->window_pc = pc;
		s->window_len = 0;
		at = 0;
	}
	while (s->window_len - at < need) {
		size_t have = s->window_len, room = sizeof(s->window) - have;
		int got = read_code(code, s->window_pc + have, s->window + have, room);

		if (got < 0)
			return got;
		s->window_len += got;
	}
	*bytes = s->window + at;
	return 0;
}

/* ------------------------------------------------------- instructions ---- */

/* Read a table jump's target.  If that fails, the jump stays indirect: no trace matches it. */
static void read_jump(const struct nt_code *code, struct nt_decoded *d)
{
	const unsigned int width = code->store->params.xlen / 8;
	const uint64_t entry = (code->store->params.jvt & ~63ull) + d->index * width;
	uint8_t bytes[8];
	uint64_t target = 0;
	unsigned int i;

	for (i = 0; i < width; ) {
		int got = read_code(code, entry + i, bytes + i, width - i);

		if (got < 0)
			return;
		i += got;
	}
	for (i = 0; i < width; i++)
		target |= (uint64_t)bytes[i] << 8 * i;
	d->i->flags |= NT_INSN_DIRECT;
	d->i->target = target & ~1ull & code->store->mask;
}

static uint64_t get_raw(const uint8_t *bytes, unsigned int len)
{
	uint64_t raw = 0;
	unsigned int i;

	for (i = 0; i < len && i < 8; i++)
		raw |= (uint64_t)bytes[i] << 8 * i;
	return raw;
}

/* Returns the length, or a negative error */
static int decode(const struct nt_code *code, uint64_t pc, struct nt_decoded *d)
{
	struct nt_insn *i = d->i;
	const uint8_t *bytes;
	int ret;

	memset(i, 0, sizeof(*i));
	i->pc = pc;
	ret = fetch(code, pc, 2, &bytes);
	if (ret)
		return ret;
	i->len = nt_insn_length(bytes[0] | bytes[1] << 8);
	if (!i->len) {
		i->len = 2;
		i->raw = get_raw(bytes, 2);
		nt_insn_traps(d);
		return i->len;
	}
	ret = fetch(code, pc, i->len, &bytes);
	if (ret)
		return ret;
	i->raw = get_raw(bytes, i->len);
	nt_insn_decode(d);
	if (d->table)
		read_jump(code, d);
	return i->len;
}

static struct nt_decoded decoded_in(const struct nt_code *code, struct nt_insn *insn)
{
	return (struct nt_decoded){ .i = insn, .params = &code->store->params,
				    .mask = code->store->mask };
}

/* The cache entry of the instruction, or NULL */
static struct nt_memo *memo_at(const struct nt_code *code, uint64_t pc)
{
	struct nt_store *s = code->store;

	if (!s->memo)
		s->memo = calloc((size_t)1 << NT_MEMO_BITS, sizeof(*s->memo));
	return s->memo ? &s->memo[nt_code_hash(pc ^ (uintptr_t)code) >> (64 - NT_MEMO_BITS)] : NULL;
}

static void memo_forget(struct nt_store *store)
{
	store->memo_generation++;
}

static int one(struct nt_code *code, uint64_t pc, struct nt_insn *insn)
{
	struct nt_decoded d = decoded_in(code, insn);
	struct nt_memo *memo = memo_at(code, pc);
	int ret;

	if (memo && memo->code == code && memo->insn.pc == pc &&
	    memo->generation == code->store->memo_generation) {
		*insn = memo->insn;
		return insn->len;
	}
	ret = decode(code, pc, &d);
	if (memo && ret > 0)
		*memo = (struct nt_memo){ code, code->store->memo_generation, *insn };
	return ret;
}

int nt_code_one(struct nt_code *code, uint64_t pc, struct nt_insn *insn)
{
	int ret;

	code_lock(code);
	ret = one(code, pc & code->store->mask & ~1ull, insn);
	code_unlock(code);
	return ret;
}

int nt_code_insn_sized(struct nt_code *code, uint64_t pc, struct nt_insn *insn, size_t size)
{
	struct nt_insn known;
	int ret;

	if (size == sizeof(*insn))
		return nt_code_one(code, pc, insn);
	if (size < NT_INSN_LEAST)
		return -NT_EINVAL;
	ret = nt_code_one(code, pc, &known);
	nt_give(insn, size, &known, sizeof(known));
	return ret;
}

int nt_code_part(struct nt_code *code, uint64_t pc, unsigned int halfwords, uint64_t *last,
		 unsigned int *insns)
{
	struct nt_insn insn;
	unsigned int at = 0;
	int len;

	for (*insns = 0; at < halfwords; ++*insns) {
		*last = pc + 2 * at;
		len = nt_code_one(code, *last, &insn);
		if (len < 0)
			return len;
		at += len / 2;
		if (at > halfwords)
			return -NT_EBOUNDARY;
	}
	return 0;
}

/* ------------------------------------------------------------- blocks ---- */

static enum nt_end end_of(const struct nt_insn *i)
{
	switch (i->type) {
	case NT_TYPE_COND:
		return NT_END_COND;
	case NT_TYPE_JUMP:
	case NT_TYPE_JUMP_LINK:
		return i->flags & NT_INSN_DIRECT ? NT_END_JUMP : NT_END_INDIRECT;
	case NT_TYPE_CALL:
		return i->flags & NT_INSN_DIRECT ? NT_END_CALL : NT_END_ICALL;
	case NT_TYPE_ICALL:
		return NT_END_ICALL;
	case NT_TYPE_RET:
		return NT_END_RET;
	case NT_TYPE_SWAP:
		return NT_END_SWAP;
	case NT_TYPE_IJUMP:
	case NT_TYPE_IJUMP_LINK:
	case NT_TYPE_ERET:
		return NT_END_INDIRECT;
	default:
		return NT_END_LINEAR;
	}
}

static void append(struct nt_block *blk, const struct nt_insn *i)
{
	blk->is.before = blk->is.halfwords;
	blk->is.halfwords += i->len / 2;
	blk->is.insns++;
}

/* The register that the previous instruction wrote */
struct written {
	int reg;		/* 0: none */
	uint64_t value;
	bool absolute;
};

/*
 * Does this jump go to the address in that register?  Function returns do not qualify, they use the
 * return stack.
 */
static bool is_sequential(const struct nt_block *blk, const struct nt_decoded *d,
			  const struct written *w)
{
	return w->reg && d->jumps_to == w->reg && blk->is.end != NT_END_RET;
}

/* Does an instruction of this length fit, with room for a jump after LUI or AUIPC? */
static bool fits(const struct nt_block *blk, const struct nt_decoded *d)
{
	unsigned int need = d->i->len / 2;

	if (d->params->seqjump && d->writes)
		need += 2;
	return blk->is.halfwords + need <= NT_BLOCK_MAX;
}

/* blk->is, `one`, `two`: the block, without its last instruction, without its last two */
struct scan {
	const struct nt_map *map;
	uint64_t first;		/* the block's address */
	struct nt_decoded d;
	struct written w;
	struct nt_body one, two;
	bool outside;		/* the mapping ends before a sequential jump */
};

/*
 * The mapping ends at pc, or in the instruction there, which may be the jump that belongs to the
 * last one. For a file, both are excluded, because other mappings continue differently.  Returns
 * the same as scan_linear()
 */
static int scan_outside(const struct nt_code *code, struct scan *s, struct nt_block *blk,
			uint64_t pc)
{
	if (!s->w.reg)
		return 0;
	s->outside = s->map->text->file;
	if (s->outside)
		return 1;
	if (decode(code, pc, &s->d) < 0)
		return 0;
	blk->is.end = end_of(s->d.i);
	if (!is_sequential(blk, &s->d, &s->w)) {
		blk->is.end = NT_END_LINEAR;
		return 0;
	}
	append(blk, s->d.i);
	return 1;
}

/* Scan up to a transfer.  1: found, 0: the block ends before one, or negative: no code */
static int scan_linear(const struct nt_code *code, struct scan *s, struct nt_block *blk)
{
	for (;;) {
		uint64_t pc = (s->first + 2 * blk->is.halfwords) & s->d.mask;
		int len;

		/* pc < first: no block spans the end of the address space */
		if (blk->is.halfwords && pc < s->first)
			return 0;
		if (blk->is.halfwords && !nt_map_has(s->map, pc))
			return scan_outside(code, s, blk, pc);
		len = decode(code, pc, &s->d);
		if (len < 0)
			return blk->is.halfwords ? 0 : len;
		if (s->d.i->flags & NT_INSN_TRAPS) {
			blk->is.end = blk->is.halfwords ? NT_END_LINEAR : NT_END_TRAPS;
			return 0;
		}
		if (!fits(blk, &s->d))
			return 0;
		if (blk->is.halfwords && !nt_map_has(s->map, pc + len - 1))
			return scan_outside(code, s, blk, pc);
		s->two = s->one;
		s->one = blk->is;
		append(blk, s->d.i);
		blk->is.end = end_of(s->d.i);
		if (blk->is.end != NT_END_LINEAR)
			return 1;
		s->w = (struct written){ s->d.params->seqjump ? s->d.writes : 0, s->d.value,
					 s->d.absolute };
	}
}

/* On RV32, jumps across the end of the address space depend on where the file is mapped. */
static bool wraps(const struct scan *s, uint64_t target)
{
	return s->d.params->xlen == 32 && !nt_map_has(s->map, target);
}

/*
 * Fill a block.  Returns 0, or negative: why there is no instruction.  Positive: the instructions
 * in this many bytes cannot be shared by the file, because their effect depends on the file's
 * address, on other memory, or on what is mapped after it.
 */
static int scan_block(const struct nt_code *code, struct scan *s, struct nt_block *blk)
{
	const bool file = s->map->text->file;
	int ret = scan_linear(code, s, blk), bytes = 2 * blk->is.halfwords;
	const struct nt_body *part = NULL;
	uint64_t target;
	bool sequential;

	if (ret < 0)
		return ret;
	/* only the first instruction may extend beyond the map */
	if (file && bytes && !nt_map_has(s->map, s->first + bytes - 1)) {
		blk->is = (struct nt_body){ 0 };
		return bytes;
	}
	if (!ret)
		return 0;
	sequential = is_sequential(blk, &s->d, &s->w);
	target = sequential ? (s->w.value + s->d.offset) & ~1ull & s->d.mask : s->d.i->target;
	if (file && (s->outside || s->d.table ||
		     (s->d.i->flags & NT_INSN_DIRECT && wraps(s, target))))
		part = &s->one;
	else if (file && sequential && (s->w.absolute || wraps(s, target)))
		part = &s->two;
	if (part) {
		blk->is = *part;
		return part->halfwords ? 0 : bytes;
	}
	blk->is.type = s->d.i->type;
	blk->is.table = s->d.table;
	blk->is.seq = sequential;
	blk->target = target - s->map->base;
	return 0;
}

/* --------------------------------------------------------------- maps ---- */

/* The size of a map if the caller reports none */
#define PAGE	4096u

/* The index of the first map that ends at or after pc */
static uint32_t map_search(const struct nt_code *code, uint64_t pc)
{
	uint32_t from = 0, to = code->nr_maps;

	while (from < to) {
		uint32_t mid = from + (to - from) / 2;

		if (code->maps[mid]->last < pc)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

static struct nt_text *own_text(struct nt_code *code)
{
	if (!code->own) {
		code->own = nt_store_text(code->store, 0, 0, 0);
		if (code->own)
			code->own->nr_maps++;
	}
	return code->own;
}

/* Make room for `more` maps. */
static bool maps_room(struct nt_code *code, uint32_t more)
{
	uint32_t max = code->max_maps ? 2 * code->max_maps : 4;
	struct nt_map **maps;

	if (code->nr_maps + more <= code->max_maps)
		return true;
	maps = realloc(code->maps, max * sizeof(*maps));
	if (!maps)
		return false;
	code->maps = maps;
	code->max_maps = max;
	return true;
}

static struct nt_map *map_new(const struct nt_map *from)
{
	struct nt_map *map = from->text ? malloc(sizeof(*map)) : NULL;

	if (!map)
		return NULL;
	*map = *from;
	map->text->nr_maps++;
	return map;
}

static void map_free(struct nt_map *map)
{
	if (map)
		map->text->nr_maps--;
	free(map);
}

/* The caller has made room. */
static void map_insert(struct nt_code *code, uint32_t at, struct nt_map *map)
{
	memmove(code->maps + at + 1, code->maps + at, (code->nr_maps - at) * sizeof(*code->maps));
	code->maps[at] = map;
	code->nr_maps++;
}

/* Ask the caller for the mapping of pc, and clip it to the gap between the known maps. */
static struct nt_mapping map_ask(const struct nt_code *code, uint32_t at, uint64_t pc, bool *known)
{
	const uint64_t mask = code->store->mask;
	struct nt_mapping m = { .size = sizeof(m) };
	uint64_t first = 0, last = mask;

	*known = !code->map || (!code->map(code->ctx, code->space, pc, &m) && pc >= m.start &&
				pc <= ((m.end - 1) & mask));
	if (!*known)
		m = (struct nt_mapping){ .start = pc & ~(uint64_t)(PAGE - 1),
					 .end = (pc | (PAGE - 1)) + 1 };
	/* Maps end at the boundary between the two halves of the address space. */
	if (pc >= code->store->params.high_from)
		first = code->store->params.high_from;
	else
		last = code->store->params.high_from - 1;
	if (at && code->maps[at - 1]->last >= first)
		first = code->maps[at - 1]->last + 1;
	if (at < code->nr_maps && code->maps[at]->first <= last)
		last = code->maps[at]->first - 1;
	m.offset += m.start < first ? first - m.start : 0;
	m.start = m.start < first ? first : m.start;
	m.end = (((m.end - 1) & mask) > last ? last : (m.end - 1) & mask) + 1;
	return m;
}

/* Like nt_code_map(), without the lock */
static const struct nt_map *map_get(struct nt_code *code, uint64_t pc, int *error)
{
	uint32_t at = map_search(code, pc);
	struct nt_map from, *map;
	struct nt_mapping m;
	uint8_t bytes[2];
	bool known;
	int ret;

	if (at < code->nr_maps && nt_map_has(code->maps[at], pc))
		return code->maps[at];
	m = map_ask(code, at, pc, &known);
	/* a damaged trace leads to many unmapped places: remember nothing about them */
	ret = known ? 0 : read_code(code, pc, bytes, sizeof(bytes));
	if (ret < 0) {
		*error = -ret;
		return NULL;
	}
	*error = NT_ENOMEM;
	from = (struct nt_map){ .first = m.start, .last = m.end - 1, .code = code };
	if (m.file) {
		from.base = m.start - m.offset;
		from.text = nt_store_text(code->store, m.file, m.offset, m.end - m.start);
	} else {
		from.text = own_text(code);
	}
	map = maps_room(code, 1) ? map_new(&from) : NULL;
	if (map)
		map_insert(code, at, map);
	return map;
}

const struct nt_map *nt_code_map(struct nt_code *code, uint64_t pc, int *error)
{
	const struct nt_map *map;

	code_lock(code);
	map = map_get(code, pc, error);
	if (map)
		__atomic_store_n(&map->text->used,
				 __atomic_add_fetch(&code->store->clock, 1, __ATOMIC_RELAXED),
				 __ATOMIC_RELAXED);
	code_unlock(code);
	return map;
}

/*
 * Make these bytes of a mapped file part of the address space's own memory.  Other threads may use
 * the old map, which is kept: it is still right for the other bytes.  NULL: no memory
 */
static const struct nt_map *map_cut(struct nt_code *code, uint64_t pc, unsigned int bytes)
{
	const uint32_t at = map_search(code, pc);
	struct nt_map *old = code->maps[at], *own, *left = NULL, *right = NULL;
	struct nt_map from = { .first = pc, .text = own_text(code), .code = code };

	from.last = bytes - 1 < old->last - pc ? pc + bytes - 1 : old->last;
	own = maps_room(code, 2) ? map_new(&from) : NULL;
	from = *old;
	from.last = pc - 1;
	if (own && old->first < pc)
		left = map_new(&from);
	from = *old;
	from.first = own ? own->last + 1 : 0;
	if (own && own->last < old->last)
		right = map_new(&from);
	if (!own || (old->first < pc && !left) || (own->last < old->last && !right)) {
		map_free(own);
		map_free(left);
		map_free(right);
		return NULL;
	}
	old->next = code->old;
	code->old = old;
	code->maps[at] = own;
	if (right)
		map_insert(code, at + 1, right);
	if (left)
		map_insert(code, at, left);
	return own;
}

/* ---- blocks in maps */

static uint32_t block_make(struct nt_code *code, const struct nt_map **map, uint64_t pc, int *error)
{
	uint32_t n;
	int ret;

	*map = map_get(code, pc, error);
	*error = *map ? NT_ENOMEM : *error;
	while (*map) {
		struct nt_block blk = { .pc = pc - (*map)->base, .taken = NT_BLOCK_NONE,
					.fall = NT_BLOCK_NONE };
		struct nt_insn insn;
		struct scan s = { .map = *map, .first = pc, .d = decoded_in(code, &insn) };

		/* another thread may have made it */
		n = nt_text_find(code->store, (*map)->text, blk.pc);
		if (n != NT_BLOCK_NONE && code->store->blocks[n].is.end != NT_END_STALE)
			return n;
		ret = scan_block(code, &s, &blk);
		if (!ret) {
			if (code->made && !(*map)->text->file)
				code->made(code->ctx, code->space, pc, 2 * blk.is.halfwords);
			return nt_store_put(code->store, (*map)->text, &blk);
		}
		if (ret < 0) {
			*error = -ret;
			break;
		}
		*map = map_cut(code, pc, ret);
	}
	return NT_BLOCK_NONE;
}

uint32_t nt_code_block(struct nt_code *code, const struct nt_map **map, uint64_t pc, int *error)
{
	const struct nt_store *store = code->store;
	uint32_t n = nt_text_find(store, (*map)->text, pc - (*map)->base);

	if (n != NT_BLOCK_NONE && store->blocks[n].is.end != NT_END_STALE)
		return n;
	code_lock(code);
	n = block_make(code, map, pc, error);
	code_unlock(code);
	return n;
}

/* ------------------------------------------------------- invalidation ---- */

/* The mappings of a range must be requested again. */
static void maps_drop(struct nt_code *code, uint64_t start, uint64_t last)
{
	uint32_t from = map_search(code, start), to = from;

	while (to < code->nr_maps && code->maps[to]->first <= last)
		map_free(code->maps[to++]);
	if (to == from)
		return;
	memmove(code->maps + from, code->maps + to, (code->nr_maps - to) * sizeof(*code->maps));
	code->nr_maps -= to - from;
	code->generation++;
}

static void old_drop(struct nt_code *code)
{
	code->generation += !!code->old;
	while (code->old) {
		struct nt_map *map = code->old;

		code->old = map->next;
		map_free(map);
	}
}

void nt_code_invalidate(struct nt_code *code, uint64_t start, uint64_t end)
{
	const uint64_t last = end - 1;

	code_lock_all(code);
	code->store->window_len = 0;
	memo_forget(code->store);
	if (last >= start && code->own) {
		/* remembered messages may depend on evicted blocks */
		nt_store_forget(code->store, code->own, start, last);
		code->generation++;
	}
	if (last >= start && code->map) {
		maps_drop(code, start, last);
		old_drop(code);
	}
	code_unlock_all(code);
}

/* ------------------------------------------------------------ objects ---- */

struct nt_code *nt_store_code(struct nt_store *store, uint64_t space, nt_read_fn read,
			      nt_map_fn map, void *ctx)
{
	struct nt_code *code;

	if (!store || !read)
		return NULL;
	code = calloc(1, sizeof(*code));
	if (!code)
		return NULL;
	code->store = store;
	code->space = space;
	code->read = read;
	code->map = map;
	code->ctx = ctx;
	return code;
}

struct nt_code *nt_code_new(const struct nt_params *params, nt_read_fn read, void *ctx)
{
	struct nt_store *store = nt_store_new(params, 0);
	struct nt_code *code = nt_store_code(store, 0, read, NULL, ctx);

	if (!code) {
		nt_store_free(store);
		return NULL;
	}
	store->shared = false;
	code->own_store = true;
	return code;
}

void nt_code_tell(struct nt_code *code, nt_made_fn made)
{
	code->made = made;
}

void nt_code_free(struct nt_code *code)
{
	struct nt_store *own_store;

	if (!code)
		return;
	own_store = code->own_store ? code->store : NULL;
	code_lock_all(code);
	maps_drop(code, 0, UINT64_MAX);
	old_drop(code);
	if (code->own)
		nt_store_drop(code->store, code->own);
	if (code->store->window_code == code)
		code->store->window_code = NULL;
	memo_forget(code->store);
	code_unlock_all(code);
	nt_store_free(own_store);
	free(code->maps);
	free(code);
}

void nt_code_get_stats(const struct nt_code *code, struct nt_code_stats *stats)
{
	nt_store_get_stats(code->store, stats);
}
