// SPDX-License-Identifier: GPL-2.0-only
/*
 * The guest's loads and stores of registers.
 *
 * Registers are words of ordinary guest memory that the model keeps up to date: QEMU calls back
 * after an access, so what a read returns has to be there before, and what a write left is put
 * right before the next instruction.
 */

#include <stdlib.h>

#include "model.h"

static uint32_t *page_at(uint64_t addr)
{
	uint64_t size;
	uint8_t *ram = guest_ram(&size);

	if (addr < opt.rambase || addr - opt.rambase + PAGE > size)
		die("register block 0x%llx is outside the guest's memory", (unsigned long long)addr);
	return (uint32_t *)(ram + (addr - opt.rambase));
}

static void show_te(struct hart *h, unsigned int offset)
{
	h->te_page[offset / 4] = te_read(&h->te, offset);
}

static void show_sink_word(struct hart *h, unsigned int offset)
{
	h->sink_page[offset / 4] = ram_read(&h->sink, offset);
}

static void show_all(struct hart *h)
{
	unsigned int offset;

	for (offset = 0; offset < PAGE; offset += 4) {
		show_te(h, offset);
		show_sink_word(h, offset);
	}
}

/* What changes by itself */
static void show_te_status(struct hart *h)
{
	show_te(h, TE_CONTROL);
	show_te(h, TE_TS_COUNTER_LOW);
	show_te(h, TE_TS_COUNTER_HIGH);
}

static void show_sink_status(struct hart *h)
{
	show_sink_word(h, RAM_CONTROL);
	show_sink_word(h, RAM_WP_LOW);
	show_sink_word(h, RAM_WP_HIGH);
}

void mmio_init_hart(struct hart *h)
{
	uint64_t base = opt.regs + (uint64_t)h->index * HART_STRIDE;

	h->te_page = page_at(base);
	h->sink_page = page_at(base + PAGE);
	show_all(h);
}

/*
 * Accesses.  The hart that stores is not always the one whose encoder it is; if it is, everything
 * up to the store itself has retired by now.
 */

static void te_store(struct hart *h, unsigned int offset, uint32_t value)
{
	unsigned int todo = te_write(&h->te, offset, value);

	encode_regs(h, todo);
	if (offset == TE_CONTROL)
		show_all(h);
	show_te(h, offset);
}

static void sink_store(struct hart *h, unsigned int offset, uint32_t value)
{
	unsigned int todo = ram_write(&h->sink, offset, value);

	if (todo & RAM_DO_ENABLE)
		encode_drain(h);
	if (offset == RAM_CONTROL)
		show_all(h);
	show_sink_word(h, offset);
	show_sink_status(h);
}

static void te_load(struct hart *h, unsigned int offset)
{
	te_was_read(&h->te, offset);
	show_te_status(h);
}

static void sink_load(struct hart *h, unsigned int offset)
{
	ram_was_read(&h->sink, offset);
	show_sink_status(h);
}

/*
 * What was stored is not to be read back from memory: meanwhile the model may have shown there
 * what it did by itself.
 */
static void access_page(struct hart *h, bool sink, unsigned int offset, qemu_plugin_meminfo_t info)
{
	uint32_t value;

	if (!qemu_plugin_mem_is_store(info)) {
		if (sink)
			sink_load(h, offset);
		else
			te_load(h, offset);
		return;
	}
	value = qemu_plugin_mem_get_value(info).data.u32;
	if (sink)
		sink_store(h, offset, value);
	else
		te_store(h, offset, value);
}

static void on_access(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *userdata)
{
	const struct qemu_plugin_hwaddr *hw = qemu_plugin_get_hwaddr(info, vaddr);
	const struct insn *insn = userdata;
	struct hart *h;
	uint64_t at;

	if (!hw)
		return;
	at = qemu_plugin_hwaddr_phys_addr(hw) - opt.regs;
	if (at >= (uint64_t)n_harts * HART_STRIDE)
		return;

	h = harts[at / HART_STRIDE];
	hart_lock(h);
	if (h->index == vcpu)
		retire_until(h, insn);
	encode_time(h);
	access_page(h, at & PAGE, at & (PAGE - 1) & ~3u, info);
	hart_unlock(h);
}

/*
 * Which instructions can be such accesses: 32-bit loads and stores outside of user programs.
 * Kernels run in the upper half of the address space, bare-metal programs in memory itself.
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
	if (!opt.ram || !is_word_access(insn->bits, insn->op.len))
		return;
	if (!(insn->op.pc >> 63) && insn->op.pc - opt.rambase >= 1ull << 30)
		return;
	qemu_plugin_register_vcpu_mem_cb(qi, on_access, QEMU_PLUGIN_CB_NO_REGS,
					 QEMU_PLUGIN_MEM_RW, (void *)insn);
}
