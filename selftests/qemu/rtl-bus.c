// SPDX-License-Identifier: GPL-2.0-only
/*
 * The guest's loads and stores of RTL registers.
 *
 * QEMU has no device at these addresses.  If the RTL's bus accepts an access, it is emulated here,
 * and the hart resumes after the instruction.  If the bus refuses it, QEMU executes the
 * instruction, which raises an access fault.
 */

#include <stdlib.h>

#include "model.h"

#define CACHE	256			/* pages */

/* Cache of pages that hold no registers, valid until a mapping changes */
struct bus_cache {
	uint64_t page[CACHE];
	uint64_t generation;
};

static atomic_ullong generation = 1;

/* Which offsets have a register; the others are bus errors. Each offset is tested once. */
enum answer { UNKNOWN, YES, NO };
static uint8_t answers[3][PAGE / 4];

/* A word load or store */
struct access {
	bool store, sign;
	unsigned int base, reg;
	int64_t offset;
};

static bool decode16(uint32_t bits, struct access *a)
{
	unsigned int op = bits & 0xe003;

	if (op != 0x4000 && op != 0xc000)
		return false;
	*a = (struct access){
		.store = op == 0xc000,
		.sign = true,
		.base = 8 + (bits >> 7 & 7),
		.reg = 8 + (bits >> 2 & 7),
		.offset = (bits >> 10 & 7) << 3 | (bits >> 6 & 1) << 2 | (bits >> 5 & 1) << 6,
	};
	return true;
}

static bool decode(uint32_t bits, unsigned int len, struct access *a)
{
	unsigned int op = bits & 0x707f;

	if (len == 2)
		return decode16(bits, a);
	if (op != 0x2003 && op != 0x6003 && op != 0x2023)
		return false;
	a->store = op == 0x2023;
	a->sign = op == 0x2003;
	a->base = bits >> 15 & 31;
	a->reg = a->store ? bits >> 20 & 31 : bits >> 7 & 31;
	a->offset = (int32_t)bits >> 20;
	if (a->store)
		a->offset = (a->offset & ~31) | (bits >> 7 & 31);
	return true;
}

static struct component *component_at(uint64_t phys)
{
	unsigned int i;

	for (i = 0; i < n_components; i++)
		if (phys / PAGE == components[i]->addr / PAGE)
			return components[i];
	return NULL;
}

static bool is_cached(struct hart *h, uint64_t page)
{
	struct bus_cache *c = h->bus_cache;
	unsigned int i;

	if (c->generation == generation)
		return c->page[page % CACHE] == page;
	c->generation = generation;
	for (i = 0; i < CACHE; i++)
		c->page[i] = ~0ull;
	return false;
}

static struct component *find(struct hart *h, uint64_t vaddr, unsigned int *offset)
{
	struct component *c;
	uint64_t size, phys;

	guest_ram(&size);
	if (vaddr - opt.rambase < size || is_cached(h, vaddr / PAGE))
		return NULL;
	if (!qemu_plugin_translate_vaddr(vaddr, &phys))
		return NULL;
	c = component_at(phys);
	if (!c)
		h->bus_cache->page[vaddr / PAGE % CACHE] = vaddr / PAGE;
	*offset = vaddr % PAGE;
	return c;
}

/* Test a register by reading it. Only a read of trRamData has a side effect, so do not read it. */
static bool exists(const struct component *c, unsigned int offset)
{
	uint8_t *known = &answers[c->type][offset / 4];
	uint32_t value;

	if (*known == UNKNOWN && c->type == COMP_SINK && offset == RAM_DATA)
		*known = YES;
	if (*known == UNKNOWN)
		*known = rtl_read(c, offset, &value) ? YES : NO;
	return *known == YES;
}

static void store(struct component *c, unsigned int offset, uint32_t value)
{
	mmio_log(c, "write", offset, value);
	rtl_write(c, offset, value);
	if (c->type == COMP_ENCODER && offset == TE_CONTROL)
		feed_control(c->hart);
	if (c->type == COMP_SINK && offset == RAM_CONTROL)
		rtl_sink_control(c, value);
}

static uint64_t load(struct component *c, unsigned int offset, bool sign)
{
	uint32_t value = 0;

	rtl_read(c, offset, &value);
	mmio_log(c, "read", offset, value);
	if (c->type == COMP_ENCODER && offset == TE_CONTROL)
		feed_control(c->hart);
	return sign ? (uint64_t)(int32_t)value : value;
}

static void access_reg(struct hart *h, struct component *c, unsigned int offset,
		       const struct access *a)
{
	struct hart *other = c->type == COMP_ENCODER ? c->hart : h;

	hart_lock(other);
	feed_settle(other);
	if (a->store)
		store(c, offset, guest_reg(h, REG_GPR + a->reg));
	else
		guest_set_gpr(h, a->reg, load(c, offset, a->sign));
	hart_unlock(other);
}

static void on_exec(unsigned int vcpu, void *userdata)
{
	const struct insn *insn = userdata;
	uint64_t next = insn->op.pc + insn->op.len;
	struct hart *h = harts[vcpu];
	struct component *c;
	struct access a;
	unsigned int offset;

	decode(insn->bits, insn->op.len, &a);
	c = find(h, guest_reg(h, REG_GPR + a.base) + a.offset, &offset);
	if (!c)
		return;
	if (offset % 4 || !exists(c, offset)) {
		mmio_log(c, "fault", offset, 0);
		return;
	}
	hart_lock(h);
	retire_until(h, insn);
	hart_unlock(h);
	access_reg(h, c, offset, &a);
	qemu_plugin_set_pc(next);
}

static void on_fence(unsigned int vcpu, void *userdata)
{
	(void)vcpu;
	(void)userdata;
	generation++;
}

/* SFENCE.VMA and similar instructions, after which an address may map another page */
static bool is_fence(uint32_t bits, unsigned int len)
{
	return len == 4 && (bits & 0x707f) == 0x73 && (bits >> 25 == 0x09 || bits >> 25 == 0x0b ||
						       bits >> 25 == 0x11 || bits >> 25 == 0x31);
}

void rtl_translate(struct qemu_plugin_insn *qi, const struct insn *insn)
{
	struct access a;

	if (is_fence(insn->bits, insn->op.len))
		qemu_plugin_register_vcpu_insn_exec_cb(qi, on_fence, QEMU_PLUGIN_CB_NO_REGS, NULL);
	else if (decode(insn->bits, insn->op.len, &a))
		qemu_plugin_register_vcpu_insn_exec_cb(qi, on_exec, QEMU_PLUGIN_CB_RW_REGS_PC,
						       (void *)insn);
}

void rtl_init_bus(struct hart *h)
{
	h->bus_cache = g_new0(struct bus_cache, 1);
}
