// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checkpoints of a tandem-verification trace: all registers, and the bytes of memory that were
 * reported since the previous checkpoint. Groups never depend on memory. So going to a checkpoint
 * only restores registers. The value of a byte is looked up when it is read: first after the
 * checkpoint, then in the checkpoint, then in earlier ones.
 *
 * Memory that was reported in an address space is not known in another one. It is not even known
 * when the hart returns to the first one, because other harts or address spaces may have changed
 * it.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "rec.h"
#include "serve-state.h"

#ifndef SERVE_APART	/* tests may use more checkpoints and less memory */
#define SERVE_APART	32768u	/* initial number of instructions between checkpoints */
#define SERVE_APART_MAX	262144u
#define SERVE_KEPT_MAX	((size_t)96 << 20)	/* total size of checkpoints, in bytes */
#endif
#define PAGE	4096u
#define PAGES_MAX ((size_t)1 << 18)	/* 1 GiB */

struct value {
	uint16_t reg;
	uint64_t value;
};

struct check {
	uint64_t insn;
	uint64_t offset;
	struct value *value;
	size_t nr;
	uint64_t state[3];	/* pc, privilege mode, mtime */
	bool has[3];
	size_t first;		/* first checkpoint in the same address space */
	uint8_t *bytes;		/* see keep_page() */
	size_t nr_bytes;
};

static const enum nt_tv_ident idents[3] = { NT_TV_PC, NT_TV_PRIV, NT_TV_MTIME };

/* A page in a checkpoint: stretches of bytes, each with a header; the last one has length 0 */
struct stretch {
	uint16_t at, len;
	bool known;		/* false: the bytes are not known any more, and omitted */
};

struct version {
	uint32_t check;
	uint32_t offset;	/* in its bytes */
};

struct page {
	uint64_t addr;
	struct version *version;	/* sorted by checkpoint */
	size_t nr;
	uint64_t *touched;		/* bytes touched since the last checkpoint; NULL: none */
};

/* An address space; all zeros: addresses are physical */
struct space {
	uint64_t satp, vsatp, hgatp;
};

struct serve_state {
	const char *path;
	const uint8_t *trace;
	size_t size;
	struct nt_tv_params params;
	struct nt_tv_reader reader;
	struct nt_tv_shadow *shadow;
	uint64_t insn;		/* number of retired instructions */
	uint64_t end;		/* end of the last applied group */
	bool ended;
	bool whole;		/* the whole trace was read */
	bool translated;	/* some virtual address differed from the physical one */
	struct check *check;
	size_t nr_checks;
	struct rec_map pages;
	struct page **dirty;
	size_t nr_dirty;
	uint64_t apart;		/* instructions between checkpoints */
	size_t limit;		/* total size of checkpoints, in bytes */
	size_t first;		/* of the current address space, see struct check */
	struct space space;
	bool leaving;		/* the hart leaves this space: known memory becomes unknown */
	struct nt_tv_item request;	/* outside of groups, until its response */
	/* position since the last restore: */
	size_t base;		/* the checkpoint that was restored */
	bool alone;		/* the memory of checkpoints is of another space */
	uint64_t *lost;		/* bytes that are not known any more */
	size_t nr_lost;
};

struct serve_state *serve_state_new(const struct nt_tv_params *params, const uint8_t *trace,
				    size_t size, const char *path)
{
	struct serve_state *s = calloc(1, sizeof(*s));

	if (!s)
		die("%s", nt_strerror(NT_ENOMEM));
	*s = (struct serve_state){
		.path = path, .trace = trace, .size = size, .params = *params,
		.shadow = nt_tv_shadow_new(params, PAGES_MAX), .apart = SERVE_APART,
		.limit = SERVE_KEPT_MAX,
	};
	if (!s->shadow || nt_tv_reader_init(&s->reader, params))
		die("--xlen and --flen are 32 or 64; --mlen is 32, 34 or 64");
	return s;
}

void serve_state_free(struct serve_state *s)
{
	struct page *p;
	size_t at = 0;

	while ((p = rec_map_next(&s->pages, &at))) {
		free(p->version);
		free(p->touched);
		free(p);
	}
	rec_map_free(&s->pages);
	for (size_t i = 0; i < s->nr_checks; i++) {
		free(s->check[i].value);
		free(s->check[i].bytes);
	}
	free(s->check);
	free(s->dirty);
	free(s->lost);
	nt_tv_shadow_free(s->shadow);
	free(s);
}

/* ---------------------------------------------------------------- groups - */

/*
 * The number of bytes that an instruction loads; 0: not a load. A trace contains the address of a
 * load, but not its size.
 */
static unsigned int read_bytes(uint32_t insn, unsigned int insn_bytes, bool rv32)
{
	unsigned int funct = insn_bytes == 4 ? insn >> 12 & 7 : insn >> 13 & 7;

	/* lb to ld; flh to fld, no vectors; lr and AMO, not sc */
	if (insn_bytes == 4 && (insn & 0x7f) == 0x03)
		return 1u << (funct & 3);
	if (insn_bytes == 4 && (insn & 0x7f) == 0x07)
		return funct >= 1 && funct <= 3 ? 1u << funct : 0;
	if (insn_bytes == 4 && (insn & 0x7f) == 0x2f)
		return insn >> 27 == 3 ? 0 : 1u << (funct & 3);
	if (insn_bytes != 2 || insn & 1)
		return 0;
	/* c.fld, c.lw, c.ld or c.flw, also those relative to sp */
	if (funct >= 1 && funct <= 3)
		return funct == 2 || (funct == 3 && rv32) ? 4 : 8;
	/* c.lbu; c.lhu, c.lh */
	return (insn & 0xfc03) == 0x8000 ? 1 : (insn & 0xfc03) == 0x8400 ? 2 : 0;
}

static bool find_address(const struct nt_tv_group *g, unsigned int k, unsigned int ident,
			 uint64_t *addr)
{
	for (size_t i = 0; i < g->n; i++) {
		const struct nt_tv_item *it = &g->items[i];

		if (it->opcode != NT_TV_STATE || it->ident != ident || k--)
			continue;
		*addr = it->value;
		return true;
	}
	return false;
}

/* The k-th store data belongs to the k-th address. Prefer virtual addresses. */
static bool address_of(const struct nt_tv_group *g, unsigned int k, uint64_t *addr)
{
	return find_address(g, k, NT_TV_EADDR, addr) || find_address(g, k, NT_TV_PADDR, addr);
}

/* ... and for the shadow state, prefer physical addresses */
static bool shadow_address_of(const struct nt_tv_group *g, unsigned int k, uint64_t *addr)
{
	return find_address(g, k, NT_TV_PADDR, addr) || find_address(g, k, NT_TV_EADDR, addr);
}

size_t serve_state_accesses(const struct nt_tv_group *g, bool rv32, struct serve_access *access,
			    size_t max)
{
	uint64_t addr = 0;
	unsigned int bytes = address_of(g, 0, &addr) ? read_bytes(g->insn, g->insn_bytes, rv32) : 0;
	unsigned int stores = 0;
	size_t n = 0;

	if (bytes && n < max)
		access[n++] = (struct serve_access){ addr, bytes, false };
	for (size_t i = 0; i < g->n && n < max; i++) {
		const struct nt_tv_item *it = &g->items[i];

		if (it->opcode == NT_TV_MEMREQ && it->memop != NT_TV_FETCH)
			access[n++] = (struct serve_access){
				it->addr, 1ull << it->memsize,
				it->memop != NT_TV_LOAD && it->memop != NT_TV_LR,
			};
		else if (it->opcode == NT_TV_STATE && it->ident >= NT_TV_STORE8 &&
			 it->ident <= NT_TV_STORE64 && address_of(g, stores++, &addr))
			access[n++] = (struct serve_access){
				addr, 1ull << (it->ident - NT_TV_STORE8), true,
			};
	}
	return n;
}

static void __attribute__((noreturn)) refuse(const struct serve_state *s, uint64_t at, int err)
{
	die("%s: offset 0x%" PRIx64 ": %s", s->path, at, nt_tv_strerror(err));
}

/* Returns 1 if a group was applied. */
static int take_item(struct serve_state *s)
{
	uint64_t at = s->reader.offset;
	struct nt_tv_item item;
	int ret;

	if (at == s->size) {
		s->ended = true;
		s->end = at;
		ret = nt_tv_shadow_end(s->shadow);
		if (ret < 0)
			refuse(s, nt_tv_shadow_bad(s->shadow), ret);
		return ret;
	}
	ret = nt_tv_next(&s->reader, s->trace + at, s->size - at, &item);
	if (ret <= 0)
		refuse(s, ret ? at + s->reader.bad : at, ret ? ret : -NT_TV_ETRUNC);
	s->end = item.opcode == NT_TV_BEGIN ? item.offset : s->reader.offset;
	ret = nt_tv_shadow_item(s->shadow, &item);
	if (ret < 0)
		refuse(s, nt_tv_shadow_bad(s->shadow), ret);
	return ret;
}

/* ----------------------------------------------------------- checkpoints - */

static void keep_registers(struct serve_state *s, struct check *c)
{
	uint32_t reg = 0;
	uint64_t value;

	for (; nt_tv_shadow_next_reg(s->shadow, &reg); reg++) {
		nt_tv_shadow_reg(s->shadow, (uint16_t)reg, &value);
		c->value = array_room(c->value, c->nr, sizeof(*c->value));
		c->value[c->nr++] = (struct value){ (uint16_t)reg, value };
	}
	for (unsigned int i = 0; i < 3; i++)
		c->has[i] = nt_tv_shadow_state(s->shadow, idents[i], &c->state[i]);
}

/* Restore the registers. All memory is forgotten. */
static void load(struct serve_state *s, const struct check *c)
{
	nt_tv_shadow_forget(s->shadow);
	nt_tv_reader_init(&s->reader, &s->params);
	s->reader.offset = c->offset;
	s->insn = c->insn;
	s->end = c->offset;
	s->ended = false;
	s->nr_lost = 0;
	for (size_t i = 0; i < c->nr; i++)
		nt_tv_shadow_set_reg(s->shadow, c->value[i].reg, c->value[i].value);
	for (unsigned int i = 0; i < 3; i++)
		if (c->has[i])
			nt_tv_shadow_set_state(s->shadow, idents[i], c->state[i]);
}

static bool is_touched(const struct page *p, unsigned int i)
{
	return p->touched[i / 64] >> i % 64 & 1;
}

enum { OPEN, KNOWN, UNKNOWN };	/* state of a byte during a look-up */

/* Read the bytes of a page, from `at' on, that a checkpoint contains. */
static void read_version(const struct serve_state *s, const struct version *v, unsigned int at,
			 uint8_t *buf, uint8_t *found, size_t len)
{
	const uint8_t *p = s->check[v->check].bytes + v->offset;
	struct stretch t;

	for (memcpy(&t, p, sizeof(t)); t.len; memcpy(&t, p, sizeof(t))) {
		p += sizeof(t);
		for (unsigned int i = 0; i < t.len; i++) {
			size_t to = t.at + i - at;

			if (t.at + i < at || to >= len || found[to])
				continue;
			found[to] = t.known ? KNOWN : UNKNOWN;
			if (t.known)
				buf[to] = p[i];
		}
		p += t.known ? t.len : 0;
	}
}

static void put_bytes(struct check *c, size_t *room, const void *bytes, size_t len)
{
	if (c->nr_bytes + len > *room) {
		*room = 2 * (c->nr_bytes + len);
		c->bytes = realloc(c->bytes, *room);
		if (!c->bytes)
			die("%s", nt_strerror(NT_ENOMEM));
	}
	memcpy(c->bytes + c->nr_bytes, bytes, len);
	c->nr_bytes += len;
}

/* Store the contents of a page in a checkpoint. */
static void put_page(struct check *c, size_t *room, const uint8_t *bytes, const uint8_t *found)
{
	struct stretch t = { .len = 0 };

	do {
		unsigned int at = t.at + t.len;

		while (at < PAGE && found[at] == OPEN)
			at++;
		t = (struct stretch){ .at = (uint16_t)at };
		t.known = at < PAGE && found[at] == KNOWN;
		while (at < PAGE && found[at] == found[t.at]) {
			t.len++;
			at++;
		}
		put_bytes(c, room, &t, sizeof(t));
		if (t.known)
			put_bytes(c, room, bytes + t.at, t.len);
	} while (t.len);
}

static void keep_page(struct serve_state *s, struct check *c, size_t *room, struct page *p)
{
	uint8_t bytes[PAGE], found[PAGE] = { OPEN };

	p->version = array_room(p->version, p->nr, sizeof(*p->version));
	p->version[p->nr++] = (struct version){ (uint32_t)s->nr_checks, (uint32_t)c->nr_bytes };
	for (unsigned int i = 0; i < PAGE; i++)
		if (is_touched(p, i))
			found[i] = nt_tv_shadow_read(s->shadow, p->addr + i, bytes + i, 1) ?
				   KNOWN : UNKNOWN;
	put_page(c, room, bytes, found);
}

static void forget_touched(struct serve_state *s)
{
	for (size_t i = 0; i < s->nr_dirty; i++) {
		free(s->dirty[i]->touched);
		s->dirty[i]->touched = NULL;
	}
	s->nr_dirty = 0;
}

size_t serve_state_kept(const struct serve_state *s)
{
	size_t sum = s->nr_checks * sizeof(struct check), at = 0;
	const struct page *p;

	for (size_t i = 0; i < s->nr_checks; i++)
		sum += s->check[i].nr_bytes + s->check[i].nr * sizeof(struct value);
	while ((p = rec_map_next(&s->pages, &at)))
		sum += sizeof(*p) + p->nr * sizeof(struct version);
	return sum;
}

/* ---------------------------------------------------------------- fewer - */

/*
 * If checkpoints take too much memory, drop every other one, and move its memory contents to the
 * next one. The last checkpoint stays.
 */
static size_t number_then(size_t check)
{
	return (check + 1) / 2;
}

/* Does the next checkpoint need the contents of this one? Not if its address space differs. */
static bool is_needed(const struct serve_state *s, size_t check)
{
	return check % 2 == 0 || check + 1 == s->nr_checks || s->check[check + 1].first <= check;
}

static void thin_page(struct serve_state *s, struct page *p, struct check *new, size_t *room)
{
	size_t nr = 0;

	for (size_t i = 0; i < p->nr; i++) {
		uint8_t bytes[PAGE], found[PAGE] = { OPEN };
		const struct version v = p->version[i];
		const struct version *next = i + 1 < p->nr ? &p->version[i + 1] : NULL;
		size_t number = number_then(v.check);

		if (!is_needed(s, v.check))
			continue;
		if (next && number_then(next->check) == number) {
			read_version(s, next, 0, bytes, found, PAGE);
			i++;
		}
		read_version(s, &v, 0, bytes, found, PAGE);
		p->version[nr++] = (struct version){
			(uint32_t)number, (uint32_t)new[number].nr_bytes,
		};
		put_page(&new[number], &room[number], bytes, found);
	}
	p->nr = nr;
}

/* Move registers and other state of the remaining checkpoints. */
static void thin_rest(struct serve_state *s, struct check *new)
{
	for (size_t i = 0; i < s->nr_checks; i++) {
		struct check *old = &s->check[i], *to = &new[number_then(i)];

		free(old->bytes);
		if (i % 2 && i + 1 < s->nr_checks) {
			free(old->value);
			continue;
		}
		old->bytes = to->bytes;
		old->nr_bytes = to->nr_bytes;
		old->first = number_then(old->first);
		*to = *old;
	}
}

static void thin(struct serve_state *s)
{
	size_t nr = s->nr_checks / 2 + 1, at = 0;
	struct check *new = calloc(nr, sizeof(*new));
	size_t *room = calloc(nr, sizeof(*room));
	struct page *p;

	if (!new || !room)
		die("%s", nt_strerror(NT_ENOMEM));
	while ((p = rec_map_next(&s->pages, &at)))
		thin_page(s, p, new, room);
	for (size_t i = 0; i < nr; i++)
		if (new[i].nr_bytes)
			new[i].bytes = realloc(new[i].bytes, new[i].nr_bytes);
	thin_rest(s, new);
	memcpy(s->check, new, nr * sizeof(*new));
	free(new);
	free(room);
	s->nr_checks = nr;
	s->base = nr - 1;
	s->first = number_then(s->first);
	s->apart *= 2;
}

/*
 * Limit the time of a seek: when checkpoints have reached the maximum distance, their size is not
 * limited any more.
 */
static void make_room(struct serve_state *s)
{
	do {
		thin(s);
	} while (s->apart < SERVE_APART_MAX && serve_state_kept(s) > SERVE_KEPT_MAX / 8 * 7);
	if (s->apart >= SERVE_APART_MAX)
		s->limit = SIZE_MAX;
}

static void keep(struct serve_state *s)
{
	struct check *c;
	size_t room = 0;

	s->check = array_room(s->check, s->nr_checks, sizeof(*s->check));
	c = &s->check[s->nr_checks];
	*c = (struct check){ .insn = s->insn, .offset = s->end, .first = s->first };
	keep_registers(s, c);
	for (size_t i = 0; i < s->nr_dirty; i++)
		keep_page(s, c, &room, s->dirty[i]);
	forget_touched(s);
	if (c->nr_bytes)
		c->bytes = realloc(c->bytes, c->nr_bytes);
	s->base = s->nr_checks++;
	s->alone = false;
	/* the shadow state need not contain what is in the checkpoint */
	load(s, c);
	if (serve_state_kept(s) > s->limit)
		make_room(s);
}

/* ------------------------------------------------------ bytes of a group - */

static struct page *touched_page(struct serve_state *s, uint64_t addr)
{
	struct page *p = rec_map_find(&s->pages, (int64_t)(addr / PAGE));

	if (!p) {
		p = calloc(1, sizeof(*p));
		if (!p)
			die("%s", nt_strerror(NT_ENOMEM));
		p->addr = addr / PAGE * PAGE;
		rec_map_set(&s->pages, (int64_t)(addr / PAGE), p);
	}
	if (!p->touched) {
		p->touched = calloc(PAGE / 64, sizeof(*p->touched));
		if (!p->touched)
			die("%s", nt_strerror(NT_ENOMEM));
		s->dirty = array_room(s->dirty, s->nr_dirty, sizeof(struct page *));
		s->dirty[s->nr_dirty++] = p;
	}
	return p;
}

/* These bytes were reported by the group, or became unknown. */
static void touch(struct serve_state *s, uint64_t addr, uint64_t size)
{
	struct page *p = NULL;
	uint8_t byte;

	for (uint64_t at = addr; at - addr < size; at++) {
		if (!s->whole && (!p || at % PAGE == 0))
			p = touched_page(s, at);
		if (p)
			p->touched[at % PAGE / 64] |= 1ull << at % 64;
		if (nt_tv_shadow_read(s->shadow, at, &byte, 1))
			continue;
		s->lost = array_room(s->lost, s->nr_lost, sizeof(*s->lost));
		s->lost[s->nr_lost++] = at;
	}
}

static void touch_request(struct serve_state *s, const struct nt_tv_item *req,
			  const struct nt_tv_item *rsp)
{
	bool any = rsp && !rsp->result;

	if (req->memop == NT_TV_STORE)
		any = true;
	else if (req->memop != NT_TV_LOAD && req->memop != NT_TV_LR && req->memop != NT_TV_FETCH)
		any |= !rsp;
	if (any)
		touch(s, req->addr, 1ull << req->memsize);
}

/* Must match how nt_tv_shadow_item() applies the group. */
static void touch_all(struct serve_state *s, const struct nt_tv_group *g)
{
	unsigned int stores = 0;
	uint64_t addr;

	if (g->n && g->items[0].opcode == NT_TV_MEMRSP && s->request.opcode == NT_TV_MEMREQ)
		touch_request(s, &s->request, &g->items[0]);
	for (size_t i = 0; i < g->n; i++) {
		const struct nt_tv_item *it = &g->items[i];
		bool answered = i + 1 < g->n && it[1].opcode == NT_TV_MEMRSP;

		if (it->opcode == NT_TV_MEMREQ)
			touch_request(s, it, answered ? it + 1 : NULL);
		else if (it->opcode == NT_TV_STATE && it->ident >= NT_TV_STORE8 &&
			 it->ident <= NT_TV_STORE64 && shadow_address_of(g, stores++, &addr))
			touch(s, addr, it->bytes);
	}
	s->request = (struct nt_tv_item){ .opcode = 0 };
	if (g->flags & NT_TV_G_ALONE && g->items[0].opcode == NT_TV_MEMREQ)
		s->request = g->items[0];
}

/* ---------------------------------------------------------- address spaces */

#define SATP	0x180
#define VSATP	0x280
#define HGATP	0x680
#define MSTATUS	0x300

static bool is_translated(const struct space *space)
{
	return space->satp | space->vsatp | space->hgatp;
}

/* Returns 0 if addresses are not translated. */
static uint64_t table_of(const struct serve_state *s, uint16_t reg)
{
	uint64_t value;

	if (!nt_tv_shadow_reg(s->shadow, reg, &value))
		return 0;
	return value >> (s->params.xlen == 32 ? 31 : 60) ? value : 0;
}

/* Are loads and stores done in machine mode? mstatus may select another mode for them. */
static bool is_machine(const struct serve_state *s)
{
	uint64_t mode, status;

	if (!nt_tv_shadow_state(s->shadow, NT_TV_PRIV, &mode) || (mode & 3) != 3)
		return false;
	return !nt_tv_shadow_reg(s->shadow, MSTATUS, &status) || !(status >> 17 & 1) ||
	       (status >> 11 & 3) == 3;
}

static struct space space_now(const struct serve_state *s)
{
	struct space now = { .satp = 0 };

	if (is_machine(s))
		return now;
	now.satp = table_of(s, SATP);
	now.vsatp = table_of(s, VSATP);
	now.hgatp = table_of(s, HGATP);
	return now;
}

/* sfence.vma, hfence.vvma and hfence.gvma, and those of Svinval */
static bool is_fence(const struct nt_tv_group *g)
{
	unsigned int funct = g->insn >> 25 & ~2u;

	return g->insn_bytes == 4 && (g->insn & 0x7fff) == 0x73 &&
	       (funct == 0x09 || funct == 0x11 || funct == 0x31);
}

/*
 * Are the program's addresses physical? If a group contains an address only once, it is both.
 * Requests contain physical addresses.
 */
static bool is_plain(const struct serve_state *s, const struct nt_tv_group *g)
{
	uint64_t paddr, eaddr;

	for (unsigned int k = 0; find_address(g, k, NT_TV_PADDR, &paddr); k++)
		if (find_address(g, k, NT_TV_EADDR, &eaddr) && paddr != eaddr)
			return false;
	for (size_t i = 0; i < g->n && is_translated(&s->space); i++)
		if (g->items[i].opcode == NT_TV_MEMREQ)
			return false;
	return true;
}

/* From now on, the same addresses mean other memory, so nothing is known. */
static void enter_space(struct serve_state *s)
{
	struct check now = { .insn = s->insn, .offset = s->end };

	if (!s->leaving)
		return;
	s->leaving = false;
	keep_registers(s, &now);
	load(s, &now);
	free(now.value);
	s->alone = true;
	if (s->whole)
		return;
	forget_touched(s);
	s->first = s->nr_checks;
}

static void watch_space(struct serve_state *s, const struct nt_tv_group *g)
{
	struct space now = space_now(s);

	s->leaving = memcmp(&now, &s->space, sizeof(now)) || (is_translated(&now) && is_fence(g));
	s->space = now;
}

static void restore(struct serve_state *s, size_t check)
{
	load(s, &s->check[check]);
	s->base = check;
	s->alone = s->leaving = false;
	s->request = (struct nt_tv_item){ .opcode = 0 };
	s->space = space_now(s);
}

static bool apply_group(struct serve_state *s)
{
	const struct nt_tv_group *g = nt_tv_shadow_group(s->shadow);

	enter_space(s);
	/* the next checkpoint contains everything before it */
	if (s->whole && s->base + 1 < s->nr_checks && s->end == s->check[s->base + 1].offset)
		restore(s, s->base + 1);
	while (!s->ended) {
		if (!take_item(s))
			continue;
		s->insn += !!g->insn_bytes;
		touch_all(s, g);
		s->translated |= !is_plain(s, g);
		watch_space(s, g);
		return true;
	}
	return false;
}

bool serve_state_next(struct serve_state *s, const struct nt_tv_group **found)
{
	enter_space(s);
	/* right after an instruction, so that no response is pending */
	if (!s->whole &&
	    (!s->nr_checks || s->insn >= s->check[s->nr_checks - 1].insn + s->apart))
		keep(s);
	if (!apply_group(s)) {
		s->whole = true;
		return false;
	}
	*found = nt_tv_shadow_group(s->shadow);
	return true;
}

bool serve_state_pc(const struct serve_state *s, uint64_t *pc)
{
	return nt_tv_shadow_state(s->shadow, NT_TV_PC, pc);
}

const struct nt_tv_shadow *serve_state_shadow(const struct serve_state *s)
{
	return s->shadow;
}

bool serve_state_is_flat(const struct serve_state *s)
{
	return !s->translated;
}

/* ----------------------------------------------------------- going there - */

/* Does the next group contain an instruction? */
static bool has_insn_next(const struct serve_state *s)
{
	struct nt_tv_reader r = s->reader;
	struct nt_tv_item item;
	bool open = s->end != r.offset;

	/* start at its BEGIN, which may have been read already */
	while (r.offset < s->size) {
		int ret = nt_tv_next(&r, s->trace + r.offset, s->size - r.offset, &item);

		if (ret <= 0)
			return false;
		if (item.opcode == NT_TV_INSN16 || item.opcode == NT_TV_INSN32)
			return true;
		if (item.opcode == NT_TV_END || (open && item.opcode == NT_TV_BEGIN))
			return false;
		if (!open && item.opcode != NT_TV_BEGIN)
			return false;
		open = true;
	}
	return true;
}

void serve_state_goto(struct serve_state *s, uint64_t insn)
{
	size_t low = 0, high = s->nr_checks;

	while (high - low > 1) {
		size_t mid = (low + high) / 2;

		if (s->check[mid].insn <= insn)
			low = mid;
		else
			high = mid;
	}
	if (s->insn > insn || s->check[low].insn > s->insn)
		restore(s, low);
	while (s->insn < insn && apply_group(s))
		;
	/* groups between two instructions belong before the second one */
	while (!s->ended && !has_insn_next(s) && apply_group(s))
		;
	enter_space(s);
}

/* ---------------------------------------------------------------- memory - */

static bool is_open(const uint8_t *found, size_t len)
{
	return memchr(found, OPEN, len);
}

/* Read within a page, newest contents first. */
static size_t read_page(const struct serve_state *s, uint64_t addr, uint8_t *buf, size_t len)
{
	const struct page *p = rec_map_find(&s->pages, (int64_t)(addr / PAGE));
	uint8_t found[PAGE] = { OPEN };
	size_t n;

	for (size_t i = 0; i < len; i++)
		found[i] = nt_tv_shadow_read(s->shadow, addr + i, buf + i, 1) ? KNOWN : OPEN;
	for (size_t i = 0; i < s->nr_lost; i++)
		if (s->lost[i] - addr < len && found[s->lost[i] - addr] == OPEN)
			found[s->lost[i] - addr] = UNKNOWN;
	for (size_t i = p && !s->alone ? p->nr : 0; i-- && is_open(found, len);) {
		const struct version *v = &p->version[i];

		if (v->check <= s->base && v->check >= s->check[s->base].first)
			read_version(s, v, addr % PAGE, buf, found, len);
	}
	for (n = 0; n < len && found[n] == KNOWN; n++)
		;
	return n;
}

size_t serve_state_read(const struct serve_state *s, uint64_t addr, void *buf, size_t len)
{
	size_t done = 0, part, n;

	do {
		part = PAGE - (addr + done) % PAGE;
		if (part > len - done)
			part = len - done;
		n = read_page(s, addr + done, (uint8_t *)buf + done, part);
		done += n;
	} while (n == part && done < len);
	return done;
}
