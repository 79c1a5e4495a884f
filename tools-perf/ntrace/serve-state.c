// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checkpoints of a tandem-verification trace: all registers, and the pages of memory that changed
 * since the checkpoint before
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "rec.h"
#include "serve-state.h"

#define APART	32768u		/* instructions between two checkpoints */
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
};

static const enum nt_tv_ident idents[3] = { NT_TV_PC, NT_TV_PRIV, NT_TV_MTIME };

struct version {
	size_t check;
	uint8_t bytes[PAGE];
	uint8_t known[PAGE / 8];
};

struct page {
	uint64_t addr;
	struct version **version;	/* by checkpoint */
	size_t nr;
	bool dirty;
};

struct serve_state {
	const char *path;
	const uint8_t *trace;
	size_t size;
	struct nt_tv_params params;
	struct nt_tv_reader reader;
	struct nt_tv_shadow *shadow;
	uint64_t insn;		/* that many have retired */
	uint64_t end;		/* behind the group that was applied last */
	bool ended;
	bool whole;		/* the trace was gone over */
	bool translated;	/* some address was not the one in memory */
	struct check *check;
	size_t nr_checks;
	struct rec_map pages;
	struct page **dirty;
	size_t nr_dirty;
};

struct serve_state *serve_state_new(const struct nt_tv_params *params, const uint8_t *trace,
				    size_t size, const char *path)
{
	struct serve_state *s = calloc(1, sizeof(*s));

	if (!s)
		die("%s", nt_strerror(NT_ENOMEM));
	*s = (struct serve_state){
		.path = path, .trace = trace, .size = size, .params = *params,
		.shadow = nt_tv_shadow_new(params, PAGES_MAX),
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
		for (size_t i = 0; i < p->nr; i++)
			free(p->version[i]);
		free(p->version);
		free(p);
	}
	rec_map_free(&s->pages);
	for (size_t i = 0; i < s->nr_checks; i++)
		free(s->check[i].value);
	free(s->check);
	free(s->dirty);
	nt_tv_shadow_free(s->shadow);
	free(s);
}

/* ---------------------------------------------------------------- groups - */

/*
 * Bytes that an instruction reads; 0: none. A trace tells the address of a load, but not how
 * much it reads.
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
	/* c.fld, c.lw, c.ld or c.flw; from the stack, too */
	if (funct >= 1 && funct <= 3)
		return funct == 2 || (funct == 3 && rv32) ? 4 : 8;
	/* c.lbu; c.lhu, c.lh */
	return (insn & 0xfc03) == 0x8000 ? 1 : (insn & 0xfc03) == 0x8400 ? 2 : 0;
}

/* The k-th store data belongs to the k-th address: those that the program used are first choice. */
static bool address_of(const struct nt_tv_group *g, unsigned int k, uint64_t *addr)
{
	static const uint8_t idents[] = { NT_TV_EADDR, NT_TV_PADDR };

	for (unsigned int j = 0; j < 2; j++) {
		unsigned int left = k;

		for (size_t i = 0; i < g->n; i++) {
			const struct nt_tv_item *it = &g->items[i];

			if (it->opcode != NT_TV_STATE || it->ident != idents[j] || left--)
				continue;
			*addr = it->value;
			return true;
		}
	}
	return false;
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

/* 1: a group was applied */
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

static bool apply_group(struct serve_state *s)
{
	while (!s->ended) {
		if (take_item(s)) {
			s->insn += !!nt_tv_shadow_group(s->shadow)->insn_bytes;
			return true;
		}
	}
	return false;
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

static void keep_page(struct serve_state *s, struct page *p)
{
	struct version *v = calloc(1, sizeof(*v));
	size_t i = 0, n;

	if (!v)
		die("%s", nt_strerror(NT_ENOMEM));
	v->check = s->nr_checks;
	while (i < PAGE) {
		n = nt_tv_shadow_read(s->shadow, p->addr + i, v->bytes + i, PAGE - i);
		for (; n; n--, i++)
			v->known[i / 8] |= (uint8_t)(1u << i % 8);
		i++;
	}
	p->version = array_room(p->version, p->nr, sizeof(struct version *));
	p->version[p->nr++] = v;
	p->dirty = false;
}

static void keep(struct serve_state *s)
{
	s->check = array_room(s->check, s->nr_checks, sizeof(*s->check));
	s->check[s->nr_checks] = (struct check){
		.insn = s->insn, .offset = s->end,
	};
	keep_registers(s, &s->check[s->nr_checks]);
	for (size_t i = 0; i < s->nr_dirty; i++)
		keep_page(s, s->dirty[i]);
	s->nr_dirty = 0;
	s->nr_checks++;
}

static void mark_page(struct serve_state *s, uint64_t addr)
{
	struct page *p = rec_map_find(&s->pages, (int64_t)(addr / PAGE));

	if (!p) {
		p = calloc(1, sizeof(*p));
		if (!p)
			die("%s", nt_strerror(NT_ENOMEM));
		p->addr = addr / PAGE * PAGE;
		rec_map_set(&s->pages, (int64_t)(addr / PAGE), p);
	}
	if (p->dirty)
		return;
	p->dirty = true;
	s->dirty = array_room(s->dirty, s->nr_dirty, sizeof(struct page *));
	s->dirty[s->nr_dirty++] = p;
}

/* Whatever memory the group is about: what it loads is known from then on, too */
static void mark_pages(struct serve_state *s, const struct nt_tv_group *g)
{
	uint64_t paddr = 0, eaddr = 0;
	bool has_paddr = false, has_eaddr = false;

	for (size_t i = 0; i < g->n; i++) {
		const struct nt_tv_item *it = &g->items[i];

		if (it->opcode == NT_TV_MEMREQ) {
			mark_page(s, it->addr);
			mark_page(s, it->addr + 7);
		}
		if (it->opcode != NT_TV_STATE)
			continue;
		if (it->ident == NT_TV_PADDR || it->ident == NT_TV_EADDR) {
			mark_page(s, it->value);
			mark_page(s, it->value + 7);
		}
		if (it->ident == NT_TV_PADDR) {
			paddr = it->value;
			has_paddr = true;
		} else if (it->ident == NT_TV_EADDR) {
			eaddr = it->value;
			has_eaddr = true;
		}
	}
	s->translated |= has_paddr && has_eaddr && paddr != eaddr;
}

bool serve_state_next(struct serve_state *s, const struct nt_tv_group **found)
{
	if (!s->whole && (!s->nr_checks || s->insn >= s->check[s->nr_checks - 1].insn + APART))
		keep(s);
	if (!apply_group(s)) {
		s->whole = true;
		return false;
	}
	*found = nt_tv_shadow_group(s->shadow);
	if (!s->whole)
		mark_pages(s, *found);
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

static void restore_page(struct serve_state *s, const struct page *p, size_t check)
{
	const struct version *v = NULL;
	size_t i = 0, n;

	for (size_t k = 0; k < p->nr && p->version[k]->check <= check; k++)
		v = p->version[k];
	while (v && i < PAGE) {
		for (n = 0; i + n < PAGE && v->known[(i + n) / 8] >> (i + n) % 8 & 1; n++)
			;
		if (n && nt_tv_shadow_write(s->shadow, p->addr + i, v->bytes + i, n))
			die("%s: %s", s->path, nt_tv_strerror(-NT_TV_EPAGES));
		i += n + 1;
	}
}

static void restore(struct serve_state *s, size_t check)
{
	const struct check *c = &s->check[check];
	const struct page *p;
	size_t at = 0;

	nt_tv_shadow_forget(s->shadow);
	nt_tv_reader_init(&s->reader, &s->params);
	s->reader.offset = c->offset;
	s->insn = c->insn;
	s->end = c->offset;
	s->ended = false;
	for (size_t i = 0; i < c->nr; i++)
		nt_tv_shadow_set_reg(s->shadow, c->value[i].reg, c->value[i].value);
	for (unsigned int i = 0; i < 3; i++)
		if (c->has[i])
			nt_tv_shadow_set_state(s->shadow, idents[i], c->state[i]);
	while ((p = rec_map_next(&s->pages, &at)))
		restore_page(s, p, check);
}

/* Does the group that is not applied yet have an instruction? */
static bool has_insn_next(const struct serve_state *s)
{
	struct nt_tv_reader r = s->reader;
	struct nt_tv_item item;
	bool open = s->end != r.offset;

	/* from its BEGIN on, which may have been read */
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
	/* what happened between two instructions belongs before the second */
	while (!s->ended && !has_insn_next(s) && apply_group(s))
		;
}
