// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The shadow state of tandem verification: a hart's registers and memory, as far as a trace
 * contains them
 */
#include <stdlib.h>
#include <string.h>

#include "nt-tv.h"

#define REGS		0x10000
#define PAGE		4096u
#define WORDS		64	/* bits of a word */

/* Persistent additional state; each has a bit in `touched` and `known` */
enum { PC, PRIV, MTIME, STATES, INSN = STATES };

struct page {
	uint64_t addr;
	uint64_t known[PAGE / WORDS];
	uint8_t bytes[PAGE];
};

struct nt_tv_shadow {
	uint8_t xbytes, fbytes;
	/* the state */
	uint64_t reg[REGS];
	uint64_t reg_known[REGS / WORDS];
	uint64_t state[STATES];
	uint8_t state_known;
	/* pages: an open hash table, at most half full */
	struct page **pages;
	size_t n_pages, max_pages, slots;
	/* the current group */
	struct nt_tv_item items[NT_TV_GROUP_MAX];
	size_t n;
	uint64_t offset;	/* of its BEGIN */
	uint64_t incpc;		/* offset of the increment */
	uint64_t reg_touched[REGS / WORDS];
	uint8_t touched;
	uint8_t flags;		/* NT_TV_G_* */
	bool open, refused, has_incpc;
	uint32_t insn;
	uint8_t insn_bytes;
	/* a request outside of groups, for its response */
	struct nt_tv_item request;
	/* the last applied group */
	struct nt_tv_group group;
	uint64_t bad;
	bool stale;		/* items belong to `group` */
};

static bool bit(const uint64_t *map, unsigned int n)
{
	return map[n / WORDS] >> n % WORDS & 1;
}

static void set_bit(uint64_t *map, unsigned int n)
{
	map[n / WORDS] |= 1ull << n % WORDS;
}

static void clear_bit(uint64_t *map, unsigned int n)
{
	map[n / WORDS] &= ~(1ull << n % WORDS);
}

/* ------------------------------------------------------------ new, free -- */

struct nt_tv_shadow *nt_tv_shadow_new(const struct nt_tv_params *p, size_t pages)
{
	struct nt_tv_reader check;
	struct nt_tv_shadow *sh;

	if (nt_tv_reader_init(&check, p) || pages > SIZE_MAX / 4 / sizeof(sh->pages[0]))
		return NULL;
	sh = calloc(1, sizeof(*sh));
	if (!sh)
		return NULL;
	sh->xbytes = check.xbytes;
	sh->fbytes = check.fbytes;
	sh->max_pages = pages;
	return sh;
}

static void free_pages(struct nt_tv_shadow *sh)
{
	for (size_t i = 0; i < sh->slots; i++)
		free(sh->pages[i]);
	free(sh->pages);
	sh->pages = NULL;
	sh->slots = sh->n_pages = 0;
}

void nt_tv_shadow_free(struct nt_tv_shadow *sh)
{
	if (!sh)
		return;
	free_pages(sh);
	free(sh);
}

/* Unknown values need not be cleared, which are most of the memory. */
void nt_tv_shadow_forget(struct nt_tv_shadow *sh)
{
	free_pages(sh);
	memset(sh->reg_known, 0, sizeof(sh->reg_known));
	memset(sh->reg_touched, 0, sizeof(sh->reg_touched));
	sh->state_known = 0;
	sh->n = 0;
	sh->touched = sh->flags = sh->insn_bytes = 0;
	sh->open = sh->refused = sh->has_incpc = sh->stale = false;
	sh->request = (struct nt_tv_item){ .opcode = 0 };
	sh->group = (struct nt_tv_group){ .offset = 0 };
	sh->bad = 0;
}

/* --------------------------------------------------------------- memory -- */

/* The slot of the page, or a free one for it */
static size_t slot_of(struct page *const *pages, size_t slots, uint64_t addr)
{
	size_t i = (size_t)((addr / PAGE * 0x9e3779b97f4a7c15ull) >> 20) & (slots - 1);

	while (pages[i] && pages[i]->addr != addr)
		i = (i + 1) & (slots - 1);
	return i;
}

static struct page *find_page(const struct nt_tv_shadow *sh, uint64_t addr)
{
	addr -= addr % PAGE;
	return sh->slots ? sh->pages[slot_of(sh->pages, sh->slots, addr)] : NULL;
}

static int grow(struct nt_tv_shadow *sh)
{
	size_t slots = sh->slots ? 2 * sh->slots : 64;
	struct page **pages = calloc(slots, sizeof(*pages));

	if (!pages)
		return -NT_TV_EPAGES;
	for (size_t i = 0; i < sh->slots; i++)
		if (sh->pages[i])
			pages[slot_of(pages, slots, sh->pages[i]->addr)] = sh->pages[i];
	free(sh->pages);
	sh->pages = pages;
	sh->slots = slots;
	return 0;
}

/* Adding a page without known bytes does not change the state. */
static int make_page(struct nt_tv_shadow *sh, uint64_t addr)
{
	struct page *page;

	if (find_page(sh, addr))
		return 0;
	if (sh->n_pages >= sh->max_pages)
		return -NT_TV_EPAGES;
	if (2 * (sh->n_pages + 1) > sh->slots && grow(sh))
		return -NT_TV_EPAGES;
	page = calloc(1, sizeof(*page));
	if (!page)
		return -NT_TV_EPAGES;
	page->addr = addr - addr % PAGE;
	sh->pages[slot_of(sh->pages, sh->slots, page->addr)] = page;
	sh->n_pages++;
	return 0;
}

static int make_pages(struct nt_tv_shadow *sh, uint64_t addr, uint64_t bytes)
{
	int err = bytes ? make_page(sh, addr) : 0;

	return err || !bytes ? err : make_page(sh, addr + bytes - 1);
}

static void put_byte(struct nt_tv_shadow *sh, uint64_t addr, uint8_t value, bool known)
{
	struct page *page = find_page(sh, addr);

	page->bytes[addr % PAGE] = value;
	if (known)
		set_bit(page->known, addr % PAGE);
	else
		clear_bit(page->known, addr % PAGE);
}

/* make_pages() must have been called */
static void put_memory(struct nt_tv_shadow *sh, uint64_t addr, uint64_t value, unsigned int bytes,
		       bool known)
{
	for (unsigned int i = 0; i < bytes; i++)
		put_byte(sh, addr + i, (uint8_t)(value >> 8 * i), known);
}

int nt_tv_shadow_write(struct nt_tv_shadow *sh, uint64_t addr, const void *buf, size_t len)
{
	const uint8_t *bytes = buf;

	for (size_t i = 0; i < len; i++) {
		int err = make_page(sh, addr + i);

		if (err)
			return err;
		put_byte(sh, addr + i, bytes[i], true);
	}
	return 0;
}

size_t nt_tv_shadow_read(const struct nt_tv_shadow *sh, uint64_t addr, void *buf, size_t len)
{
	uint8_t *bytes = buf;
	size_t i;

	for (i = 0; i < len; i++) {
		const struct page *page = find_page(sh, addr + i);

		if (!page || !bit(page->known, (addr + i) % PAGE))
			break;
		bytes[i] = page->bytes[(addr + i) % PAGE];
	}
	return i;
}

bool nt_tv_shadow_next_page(const struct nt_tv_shadow *sh, size_t *page, uint64_t *addr)
{
	while (*page < sh->slots) {
		const struct page *p = sh->pages[(*page)++];

		if (p) {
			*addr = p->addr;
			return true;
		}
	}
	return false;
}

/* ------------------------------------------------------------ registers -- */

static uint64_t reg_mask(const struct nt_tv_shadow *sh, uint16_t reg)
{
	return ~0ull >> (64 - 8 * (nt_tv_is_fpr(reg) ? sh->fbytes : sh->xbytes));
}

void nt_tv_shadow_set_reg(struct nt_tv_shadow *sh, uint16_t reg, uint64_t value)
{
	sh->reg[reg] = value & reg_mask(sh, reg);
	set_bit(sh->reg_known, reg);
}

bool nt_tv_shadow_reg(const struct nt_tv_shadow *sh, uint16_t reg, uint64_t *value)
{
	if (!bit(sh->reg_known, reg))
		return false;
	*value = sh->reg[reg];
	return true;
}

bool nt_tv_shadow_next_reg(const struct nt_tv_shadow *sh, uint32_t *reg)
{
	for (; *reg < REGS; ++*reg) {
		if (!(sh->reg_known[*reg / WORDS] >> *reg % WORDS)) {
			*reg |= WORDS - 1;	/* none in the rest of the word */
			continue;
		}
		if (bit(sh->reg_known, *reg))
			return true;
	}
	return false;
}

static int state_of(unsigned int ident)
{
	switch (ident) {
	case NT_TV_PC:
		return PC;
	case NT_TV_PRIV:
		return PRIV;
	case NT_TV_MTIME:
		return MTIME;
	}
	return -1;
}

static void set_state(struct nt_tv_shadow *sh, int i, uint64_t value)
{
	sh->state[i] = i == PC ? value & reg_mask(sh, NT_TV_REG_X) : value;
	sh->state_known |= (uint8_t)(1u << i);
}

int nt_tv_shadow_set_state(struct nt_tv_shadow *sh, enum nt_tv_ident ident, uint64_t value)
{
	int i = state_of(ident);

	if (i < 0)
		return -NT_TV_EARG;
	set_state(sh, i, value);
	return 0;
}

bool nt_tv_shadow_state(const struct nt_tv_shadow *sh, enum nt_tv_ident ident, uint64_t *value)
{
	int i = state_of(ident);

	if (i < 0 || !(sh->state_known >> i & 1))
		return false;
	*value = sh->state[i];
	return true;
}

/* ------------------------------------------------------------- applying -- */

static int64_t sign(uint64_t value, unsigned int bytes)
{
	unsigned int unused = 64 - 8 * bytes;

	return (int64_t)(value << unused) >> unused;
}

static uint64_t amo(unsigned int op, uint64_t old, uint64_t arg, unsigned int bytes)
{
	switch (op) {
	case NT_TV_ADD:
		return old + arg;
	case NT_TV_XOR:
		return old ^ arg;
	case NT_TV_AND:
		return old & arg;
	case NT_TV_OR:
		return old | arg;
	case NT_TV_MIN:
		return sign(old, bytes) < sign(arg, bytes) ? old : arg;
	case NT_TV_MAX:
		return sign(old, bytes) > sign(arg, bytes) ? old : arg;
	case NT_TV_MINU:
		return old < arg ? old : arg;
	case NT_TV_MAXU:
		return old > arg ? old : arg;
	}
	return arg;	/* swap */
}

/* rsp: NULL if the request has no response, or not yet */
static void apply_memory(struct nt_tv_shadow *sh, const struct nt_tv_item *req,
			 const struct nt_tv_item *rsp)
{
	unsigned int bytes = 1u << req->memsize;

	switch (req->memop) {
	case NT_TV_STORE:
		/* a failed store may have written any part of it */
		put_memory(sh, req->addr, req->value, bytes, !rsp || !rsp->result);
		return;
	case NT_TV_SC:
		if (!rsp)
			put_memory(sh, req->addr, 0, bytes, false);
		else if (!rsp->result)
			put_memory(sh, req->addr, req->value, bytes, true);
		return;
	case NT_TV_LOAD:
	case NT_TV_LR:
	case NT_TV_FETCH:
		if (rsp && !rsp->result)
			put_memory(sh, req->addr, rsp->value, bytes, true);
		return;
	}
	if (!rsp)
		put_memory(sh, req->addr, 0, bytes, false);
	else if (!rsp->result)
		put_memory(sh, req->addr, amo(req->memop, rsp->value, req->value, bytes), bytes,
			   true);
}

static void apply_reg(struct nt_tv_shadow *sh, const struct nt_tv_item *it)
{
	if (it->opcode == NT_TV_REG)
		nt_tv_shadow_set_reg(sh, it->reg, it->value);
	else if (!bit(sh->reg_known, it->reg))
		return;		/* a change of an unknown value */
	else if (it->opcode == NT_TV_REG_ADD)
		nt_tv_shadow_set_reg(sh, it->reg, sh->reg[it->reg] + it->value);
	else
		nt_tv_shadow_set_reg(sh, it->reg, sh->reg[it->reg] | it->value);
}

/* Other state of a reset, according to the debug specification, comes in separate items. */
static void apply_reset(struct nt_tv_shadow *sh)
{
	memset(sh->reg_known, 0, sizeof(sh->reg_known));
	sh->state_known = 0;
	set_state(sh, PRIV, 3);
}

/* The k-th store data belongs to the k-th address; physical addresses are preferred. */
static bool store_addr(const struct nt_tv_item *items, size_t n, unsigned int k, uint64_t *addr)
{
	static const uint8_t idents[] = { NT_TV_PADDR, NT_TV_EADDR };

	for (unsigned int j = 0; j < 2; j++) {
		unsigned int left = k;

		for (size_t i = 0; i < n; i++) {
			if (items[i].opcode != NT_TV_STATE || items[i].ident != idents[j])
				continue;
			if (left--)
				continue;
			*addr = items[i].value;
			return true;
		}
	}
	return false;
}

static bool is_store_data(const struct nt_tv_item *it)
{
	return it->opcode == NT_TV_STATE && it->ident >= NT_TV_STORE8 &&
	       it->ident <= NT_TV_STORE64;
}

static void apply_items(struct nt_tv_shadow *sh, const struct nt_tv_item *items, size_t n)
{
	unsigned int stores = 0;

	for (size_t i = 0; i < n; i++) {
		const struct nt_tv_item *it = &items[i];
		bool answered = i + 1 < n && it[1].opcode == NT_TV_MEMRSP;
		uint64_t addr;

		if (it->opcode >= NT_TV_REG && it->opcode <= NT_TV_REG_OR)
			apply_reg(sh, it);
		else if (it->opcode == NT_TV_MEMREQ)
			apply_memory(sh, it, answered ? it + 1 : NULL);
		else if (is_store_data(it) && store_addr(items, n, stores++, &addr))
			put_memory(sh, addr, it->value, it->bytes, true);
		else if (it->opcode == NT_TV_STATE && state_of(it->ident) >= 0)
			set_state(sh, state_of(it->ident), it->value);
	}
}

/* ------------------------------------------------------------- checking -- */

static int refuse(struct nt_tv_shadow *sh, uint64_t offset, int err)
{
	sh->bad = offset;
	sh->refused = true;
	return -err;
}

/* Allocate pages first, so that applying the group cannot fail. */
static int check_memory(struct nt_tv_shadow *sh, const struct nt_tv_item *items, size_t n)
{
	unsigned int stores = 0, addrs[2] = { 0, 0 };
	uint64_t addr, at = 0;

	for (size_t i = 0; i < n; i++) {
		const struct nt_tv_item *it = &items[i];
		int err = 0;

		if (it->opcode == NT_TV_MEMREQ)
			err = make_pages(sh, it->addr, 1u << it->memsize);
		else if (it->opcode == NT_TV_STATE && it->ident == NT_TV_PADDR)
			addrs[0]++;
		else if (it->opcode == NT_TV_STATE && it->ident == NT_TV_EADDR)
			addrs[1]++;
		else if (is_store_data(it) && store_addr(items, n, stores, &addr))
			err = make_pages(sh, addr, it->bytes);
		if (err)
			return refuse(sh, it->offset, -err);
		if (is_store_data(it)) {
			stores++;
			at = it->offset;
		}
	}
	/* a single store without an address belongs to a partial trace */
	if ((stores > 1 || addrs[0] > 1 || addrs[1] > 1) && stores &&
	    stores != (addrs[0] ? addrs[0] : addrs[1]))
		return refuse(sh, at, NT_TV_EADDRS);
	return 0;
}

static void forget_group(struct nt_tv_shadow *sh)
{
	for (size_t i = 0; i < sh->n; i++)
		if (sh->items[i].opcode >= NT_TV_REG && sh->items[i].opcode <= NT_TV_REG_OR)
			clear_bit(sh->reg_touched, sh->items[i].reg);
	sh->n = 0;
	sh->touched = 0;
	sh->flags = 0;
	sh->insn_bytes = 0;
	sh->has_incpc = false;
	sh->refused = false;
	sh->stale = false;
}

/* The group is complete: apply it.  Returns 1 if applied, 0 if there is none, or an error */
static int apply_group(struct nt_tv_shadow *sh)
{
	int err;

	sh->stale = true;
	if (!sh->open || sh->refused)
		return 0;
	if (sh->has_incpc && !sh->insn_bytes)
		return refuse(sh, sh->incpc, NT_TV_ENOINSN);
	err = check_memory(sh, sh->items, sh->n);
	if (err)
		return err;
	sh->group = (struct nt_tv_group) {
		.offset = sh->offset, .items = sh->items, .n = sh->n, .pc = sh->state[PC],
		.insn = sh->insn, .insn_bytes = sh->insn_bytes,
		.flags = (uint8_t)(sh->flags | (sh->state_known >> PC & 1 ? NT_TV_G_PC : 0)),
	};
	if (sh->flags & NT_TV_G_RESET)
		apply_reset(sh);
	if (sh->has_incpc && sh->state_known >> PC & 1)
		set_state(sh, PC, sh->state[PC] + sh->insn_bytes);
	apply_items(sh, sh->items, sh->n);
	return 1;
}

static bool touch(struct nt_tv_shadow *sh, int i)
{
	if (sh->touched >> i & 1)
		return false;
	sh->touched |= (uint8_t)(1u << i);
	return true;
}

/* Would this item make the group ambiguous or illegal? */
static int check_item(struct nt_tv_shadow *sh, const struct nt_tv_item *it)
{
	const struct nt_tv_item *before = sh->n ? &sh->items[sh->n - 1] : NULL;

	switch (it->opcode) {
	case NT_TV_REG:
	case NT_TV_REG_ADD:
	case NT_TV_REG_OR:
		if (bit(sh->reg_touched, it->reg))
			return NT_TV_ETWICE;
		set_bit(sh->reg_touched, it->reg);
		return 0;
	case NT_TV_STATE:
		return state_of(it->ident) < 0 || touch(sh, state_of(it->ident)) ? 0 : NT_TV_ETWICE;
	case NT_TV_INCPC:
		sh->has_incpc = true;
		sh->incpc = it->offset;
		return touch(sh, PC) ? 0 : NT_TV_ETWICE;
	case NT_TV_INSN16:
	case NT_TV_INSN32:
		sh->insn = (uint32_t)it->value;
		sh->insn_bytes = it->bytes;
		return touch(sh, INSN) ? 0 : NT_TV_ETWICE;
	case NT_TV_RESET:
		sh->flags |= NT_TV_G_RESET;
		return 0;
	case NT_TV_INIT:
		sh->flags |= NT_TV_G_INIT;
		return 0;
	case NT_TV_MEMRSP:
		if (!before || before->opcode != NT_TV_MEMREQ)
			return NT_TV_EORPHAN;
		return before->memsize == it->memsize ? 0 : NT_TV_ERSPSIZE;
	}
	return 0;
}

static int add_item(struct nt_tv_shadow *sh, const struct nt_tv_item *it)
{
	int err;

	if (sh->refused)
		return 0;
	if (sh->n == NT_TV_GROUP_MAX)
		return refuse(sh, it->offset, NT_TV_ELONG);
	err = check_item(sh, it);
	if (!err && (sh->flags & NT_TV_G_INIT) &&
	    (sh->insn_bytes || sh->has_incpc || (sh->flags & NT_TV_G_RESET)))
		err = NT_TV_EINIT;
	if (!err && (sh->flags & NT_TV_G_RESET) && (sh->insn_bytes || sh->has_incpc))
		err = NT_TV_ERESET;
	if (err)
		return refuse(sh, it->offset, err);
	sh->items[sh->n++] = *it;
	return 0;
}

/* ------------------------------------------------------- outside of groups */

static int check_alone(struct nt_tv_shadow *sh, const struct nt_tv_item *it,
		       const struct nt_tv_item *request)
{
	switch (it->opcode) {
	case NT_TV_INCPC:
		return NT_TV_ENOINSN;
	case NT_TV_INIT:
	case NT_TV_INSN16:
	case NT_TV_INSN32:
	case NT_TV_END:
		return NT_TV_ENOGROUP;
	case NT_TV_MEMREQ:
		return -make_pages(sh, it->addr, 1u << it->memsize);
	case NT_TV_MEMRSP:
		if (request->opcode != NT_TV_MEMREQ)
			return NT_TV_EORPHAN;
		return request->memsize == it->memsize ? 0 : NT_TV_ERSPSIZE;
	}
	return 0;
}

/* Apply a single item.  Single store data has no address: it changes nothing. */
static int apply_alone(struct nt_tv_shadow *sh, const struct nt_tv_item *it)
{
	struct nt_tv_item request = sh->request;
	int err = check_alone(sh, it, &request);

	sh->request = *it;
	if (err) {
		sh->bad = it->offset;
		return -err;
	}
	sh->items[0] = *it;
	sh->group = (struct nt_tv_group) {
		.offset = it->offset, .items = sh->items, .n = 1, .pc = sh->state[PC],
		.flags = (uint8_t)(NT_TV_G_ALONE |
				   (it->opcode == NT_TV_RESET ? NT_TV_G_RESET : 0) |
				   (sh->state_known >> PC & 1 ? NT_TV_G_PC : 0)),
	};
	if (it->opcode == NT_TV_RESET)
		apply_reset(sh);
	else if (it->opcode == NT_TV_MEMRSP)
		apply_memory(sh, &request, it);
	else
		apply_items(sh, sh->items, 1);
	return 1;
}

/* ---------------------------------------------------------------- calls -- */

int nt_tv_shadow_item(struct nt_tv_shadow *sh, const struct nt_tv_item *it)
{
	int ret = 0;

	/* the caller could read the old group's items until now */
	if (sh->stale)
		forget_group(sh);
	if (!sh->open && it->opcode != NT_TV_BEGIN)
		return apply_alone(sh, it);
	if (it->opcode != NT_TV_BEGIN && it->opcode != NT_TV_END)
		return add_item(sh, it);
	if (sh->open) {
		ret = apply_group(sh);
		sh->open = it->opcode == NT_TV_BEGIN;
		if (!sh->open)
			return ret;
	}
	/* The new group has no items yet, so the old ones may stay. */
	sh->offset = it->offset;
	sh->request.opcode = 0;
	sh->open = true;
	return ret;
}

int nt_tv_shadow_end(struct nt_tv_shadow *sh)
{
	int ret = sh->open && !sh->stale ? apply_group(sh) : 0;

	sh->open = false;
	return ret;
}

const struct nt_tv_group *nt_tv_shadow_group(const struct nt_tv_shadow *sh)
{
	return &sh->group;
}

uint64_t nt_tv_shadow_bad(const struct nt_tv_shadow *sh)
{
	return sh->bad;
}
