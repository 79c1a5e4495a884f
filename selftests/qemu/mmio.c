// SPDX-License-Identifier: GPL-2.0-only
/*
 * The guest's loads and stores of registers.
 *
 * Registers are words of ordinary guest memory that the model keeps up to date. QEMU calls back
 * after an access. So the value must be in memory before a read, and the model corrects it after a
 * write, before the next instruction.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

/*
 * The controller of the power domain is JH7110's for always-on domains, because kernels have a
 * driver for it. Its one register reads as it was written.
 */
#define POWER_PAGE		0xb0
#define POWER_ON		(1u << 30)

static struct component *at_page[REG_PAGES];
static FILE *log_file;

static uint32_t read_reg(const struct component *c, unsigned int offset)
{
	if (opt.version0)
		return v0_read(c, offset);
	switch (c->type) {
	case COMP_ENCODER:
		return te_read(&c->hart->te, offset);
	case COMP_FUNNEL:
		return funnel_read(&c->funnel, offset);
	case COMP_SINK:
		return ram_read(&c->sink, offset);
	default:
		return bridge_read(&c->bridge, offset);
	}
}

static void show(struct component *c, unsigned int offset)
{
	c->shown[offset / 4] = c->fault.dead || c->unpowered ? UINT32_MAX : read_reg(c, offset);
	c->page[offset / 4] = c->shown[offset / 4];
}

void mmio_show_all(struct component *c)
{
	unsigned int offset;

	if (!c->page)
		return;
	for (offset = 0; offset < PAGE; offset += 4)
		show(c, offset);
}

/* Update the registers that change by themselves */
void mmio_show_status(struct component *c)
{
	unsigned int offset;

	if (!c->page)
		return;
	show(c, 0);		/* Control */
	if (opt.version0) {
		for (offset = TS_CONTROL; offset <= TS_COUNTER_LOW; offset += 4)
			show(c, offset);
		show(c, RAM_LIMIT_HIGH);	/* WP in version 0 */
	} else if (c->type == COMP_ENCODER || c->type == COMP_FUNNEL) {
		show(c, TS_CONTROL);
		show(c, TS_COUNTER_LOW);
		show(c, TS_COUNTER_HIGH);
	} else if (c->type == COMP_SINK) {
		show(c, RAM_WP_LOW);
		show(c, RAM_WP_HIGH);
		show(c, RAM_RP_LOW);
		show(c, RAM_DATA);
	}
}

static uint32_t *page_at(uint64_t addr)
{
	uint64_t size;
	uint8_t *ram = guest_ram(&size);

	if (addr < opt.rambase || addr - opt.rambase + PAGE > size)
		die("register block 0x%llx is outside the guest's memory",
		    (unsigned long long)addr);
	return (uint32_t *)(ram + (addr - opt.rambase));
}

void mmio_init(void)
{
	unsigned int i;

	if (opt.reg_log) {
		log_file = fopen(opt.reg_log, "w");
		if (!log_file)
			die("reg_log: cannot write %s", opt.reg_log);
	}
	for (i = 0; i < n_components && !opt.rtl; i++) {
		struct component *c = components[i];
		uint64_t page = (c->addr - opt.regs) / PAGE;

		if ((c->type == COMP_ENCODER && !c->hart) || (c->type == COMP_SINK && opt.version0))
			continue;
		if (c->addr < opt.regs || page >= REG_PAGES || c->addr % PAGE || at_page[page])
			die("%s: no place for its registers at 0x%llx", c->name,
			    (unsigned long long)c->addr);
		at_page[page] = c;
		c->page = page_at(c->addr);
		c->shown = calloc(PAGE / 4, sizeof(*c->shown));
		if (!c->shown)
			die("out of memory");
		c->unpowered = opt.power_domain;
		mmio_show_all(c);
	}
}

void mmio_exit(void)
{
	if (log_file && fclose(log_file))
		die("reg_log: writing failed");
}

void mmio_log(const struct component *c, const char *what, unsigned int offset, uint32_t value)
{
	if (log_file)
		fprintf(log_file, "%s %s %03x %08x\n", c->name, what, offset, value);
}

/*
 * Accesses.  A hart may access the encoder of another hart.  All of its instructions up to the
 * access have retired by now.
 */

static bool store_funnel(struct hart *h, struct component *c, unsigned int offset, uint32_t value)
{
	unsigned int todo = funnel_write(&c->funnel, offset, value);

	if (todo & FUNNEL_DO_TS_RESET)
		ts_restart(&c->funnel.ts, guest_time(h));
	return todo & FUNNEL_DO_PULL;
}

/* Returns whether components upstream may send again */
static bool store(struct hart *h, struct component *c, unsigned int offset, uint32_t value)
{
	unsigned int todo;

	switch (c->type) {
	case COMP_ENCODER:
		encode_regs(c->hart, opt.version0 ? v0_write_encoder(c, offset, value) :
						    te_write(&c->hart->te, offset, value));
		truth_regs(c->hart, offset);
		retire_rewatch(c->hart);
		return false;
	case COMP_FUNNEL:
		if (opt.version0)
			return v0_write_funnel(h, c, offset, value);
		return store_funnel(h, c, offset, value);
	case COMP_SINK:
		todo = ram_write(&c->sink, offset, value);
		if (todo & RAM_DO_ENABLE)
			net_log_enable(c, guest_time(h));
		else if (offset == RAM_CONTROL && !(value & RAM_ENABLE))
			net_log_disable(c, guest_time(h));
		return todo & RAM_DO_ENABLE;
	default:
		return bridge_write(&c->bridge, offset, value) & BRIDGE_DO_PULL;
	}
}

static void load(struct component *c, unsigned int offset)
{
	if (opt.version0) {
		v0_was_read(c, offset);
		return;
	}
	switch (c->type) {
	case COMP_ENCODER:
		te_was_read(&c->hart->te, offset);
		break;
	case COMP_FUNNEL:
		funnel_was_read(&c->funnel, offset);
		break;
	case COMP_SINK:
		ram_was_read(&c->sink, offset);
		break;
	default:
		bridge_was_read(&c->bridge, offset);
	}
}

/* Fault: after a number of accesses all registers read as ones */
static void count_access(struct component *c)
{
	if (!c->fault.ones_after || ++c->accesses != c->fault.ones_after)
		return;
	c->fault.dead = true;
	mmio_show_all(c);
}

static bool put(struct hart *h, struct component *c, unsigned int offset, uint32_t value)
{
	bool pull = false;

	if (!c->unpowered)
		pull = store(h, c, offset, value);
	if (offset || c->unpowered)
		show(c, offset);
	else
		mmio_show_all(c);
	return pull;
}

/* Is everything as the model has shown it, but for the word at `offset` after a store to it? */
static bool is_as_shown(const struct component *c, unsigned int offset, bool is_store)
{
	const unsigned int rest = offset + (is_store ? 4 : 0);

	return !memcmp(c->page, c->shown, offset) &&
	       !memcmp(c->page + rest / 4, c->shown + rest / 4, PAGE - rest);
}

/*
 * A word that is not as the model has shown it was written, but there was no callback: take the
 * write now. Otherwise the guest would read what it wrote, and the model would never know. A store
 * to `offset` is the access at hand.
 */
static bool catch_up(struct hart *h, struct component *c, unsigned int offset, bool is_store)
{
	bool pull = false;
	unsigned int at;
	uint32_t value;

	for (at = is_as_shown(c, offset, is_store) ? PAGE : 0; at < PAGE; at += 4) {
		value = c->page[at / 4];
		if (value == c->shown[at / 4] || (is_store && at == offset))
			continue;
		fprintf(stderr, "ntrace model: %s: a write of %08x to %03x came without a callback\n",
			c->name, value, at);
		mmio_log(c, "missed", at, value);
		pull |= put(h, c, at, value);
	}
	return pull;
}

/*
 * Take the value of a store from QEMU, not from memory: the model may have updated the register
 * there meanwhile.
 */
static bool access_page(struct hart *h, struct component *c, unsigned int offset,
			qemu_plugin_meminfo_t info)
{
	const bool is_store = qemu_plugin_mem_is_store(info);
	const uint32_t value = qemu_plugin_mem_get_value(info).data.u32;
	bool pull = catch_up(h, c, offset, is_store);

	count_access(c);
	mmio_log(c, is_store ? "write" : "read", offset, value);
	if (is_store)
		pull |= put(h, c, offset, value);
	else
		load(c, offset);
	mmio_show_status(c);
	return pull;
}

static void access_encoder(struct hart *h, struct component *c, unsigned int offset,
			   qemu_plugin_meminfo_t info)
{
	hart_lock(c->hart);
	encode_time(c->hart);
	access_page(h, c, offset, info);
	hart_unlock(c->hart);
}

static void access_other(struct hart *h, struct component *c, unsigned int offset,
			 qemu_plugin_meminfo_t info)
{
	bool pull;

	comp_lock(c);
	if (c->type == COMP_FUNNEL)
		net_time(h, c);
	pull = access_page(h, c, offset, info);
	comp_unlock(c);
	if (pull)
		net_pull(c);
}

/* Without power there are no registers. Switching on resets them. */
static void set_power(struct hart *h, struct component *c, bool on)
{
	if (!on && !c->unpowered)
		store(h, c, 0, 0);
	c->unpowered = !on;
	mmio_show_all(c);
}

static bool all_asleep(void)
{
	unsigned int i;

	for (i = 0; i < n_harts; i++)
		if (!atomic_load(&harts[i]->asleep))
			return false;
	return true;
}

/*
 * Components that harts share lose power when all harts sleep, which resets them. A hart that
 * accesses registers counts as awake: if an interrupt ends its wait before it begins, there is no
 * callback.
 */
void mmio_lose_shared(struct hart *h)
{
	unsigned int i;

	atomic_store(&h->asleep, true);

	for (i = 0; i < n_components; i++) {
		struct component *c = components[i];

		if (c->type == COMP_ENCODER)
			continue;
		comp_lock(c);
		if (all_asleep()) {
			store(h, c, 0, 0);
			mmio_show_all(c);
		}
		comp_unlock(c);
	}
}

static void access_power(struct hart *h, qemu_plugin_meminfo_t info)
{
	bool on;
	unsigned int i;

	if (!qemu_plugin_mem_is_store(info))
		return;
	on = qemu_plugin_mem_get_value(info).data.u32 & POWER_ON;
	for (i = 0; i < n_components; i++) {
		struct component *c = components[i];

		if (!c->page)
			continue;
		if (c->type == COMP_ENCODER) {
			hart_lock(c->hart);
			encode_time(c->hart);
			set_power(h, c, on);
			hart_unlock(c->hart);
		} else {
			comp_lock(c);
			set_power(h, c, on);
			comp_unlock(c);
		}
	}
}

static void on_access(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *userdata)
{
	const struct qemu_plugin_hwaddr *hw = qemu_plugin_get_hwaddr(info, vaddr);
	struct hart *h = harts[vcpu];
	struct component *c;
	uint64_t at;

	if (!hw)
		return;
	at = qemu_plugin_hwaddr_phys_addr(hw) - opt.regs;
	if (at >= REG_PAGES * PAGE)
		return;
	c = at_page[at / PAGE];
	if (opt.miss && qemu_plugin_mem_is_store(info) && !(++h->stores % opt.miss))
		return;
	if (!c && !(at / PAGE == POWER_PAGE && opt.power_domain))
		return;

	atomic_store(&h->asleep, false);
	hart_lock(h);
	retire_until(h, userdata);
	hart_unlock(h);
	if (!c)
		access_power(h, info);
	else if (c->type == COMP_ENCODER)
		access_encoder(h, c, at & (PAGE - 4), info);
	else
		access_other(h, c, at & (PAGE - 4), info);
}

/*
 * Which instructions can access registers: 32-bit loads and stores outside of user programs.
 * Kernels run in the upper half of the address space, bare-metal programs at physical addresses.
 */
static bool is_word_access(uint32_t bits, unsigned int len)
{
	if (len == 2)
		return (bits & 0xe003) == 0x4000 || (bits & 0xe003) == 0xc000;	/* c.lw, c.sw */
	return (bits & 0x707f) == 0x2003 || (bits & 0x707f) == 0x6003 ||	/* lw, lwu */
	       (bits & 0x707f) == 0x2023;					/* sw */
}

void mmio_translate(struct qemu_plugin_insn *qi, const struct insn *insn)
{
	if (!opt.ram || (!(insn->op.pc >> 63) && insn->op.pc - opt.rambase >= 1ull << 30))
		return;
	if (opt.rtl) {
		rtl_translate(qi, insn);
		return;
	}
	if (!is_word_access(insn->bits, insn->op.len))
		return;
	qemu_plugin_register_vcpu_mem_cb(qi, on_access, QEMU_PLUGIN_CB_NO_REGS,
					 QEMU_PLUGIN_MEM_RW, (void *)insn);
}
