// SPDX-License-Identifier: GPL-2.0-only
/*
 * scontext (CSR 0x5a8), which QEMU lacks.  In S and M mode QEMU does not execute the instruction:
 * the model emulates it, tells the encoder about writes, and resumes after it.  In U mode QEMU
 * raises the illegal instruction exception.
 */

#include "model.h"

#define CSR_SCONTEXT	0x5a8

static bool is_scontext(uint32_t bits)
{
	return (bits & 0x7f) == 0x73 && (bits >> 12 & 3) && bits >> 20 == CSR_SCONTEXT;
}

/* Returns whether the instruction writes the CSR */
static bool execute(struct hart *h, uint32_t bits)
{
	unsigned int rd = bits >> 7 & 31, rs = bits >> 15 & 31, op = bits >> 12 & 3;
	uint64_t old = h->scontext, operand, mask = (1ull << opt.scontext_bits) - 1;

	if (opt.scontext_harts && h->index >= opt.scontext_harts)
		mask = 0;

	operand = bits & 1u << 14 ? rs : guest_reg(h, REG_GPR + rs);
	if (op == 1)
		h->scontext = operand & mask;
	else if (op == 2)
		h->scontext = old | (operand & mask);
	else
		h->scontext = old & ~operand;
	guest_set_gpr(h, rd, old);
	return op == 1 || rs;
}

static void on_exec(unsigned int vcpu, void *userdata)
{
	const struct insn *insn = userdata;
	uint64_t next = insn->op.pc + insn->op.len;
	struct hart *h = harts[vcpu];

	if (guest_reg(h, REG_PRIV) == PRIV_U)
		return;

	hart_lock(h);
	retire_until(h, insn);
	if (execute(h, insn->bits))
		encode_scontext(h);
	hart_unlock(h);
	qemu_plugin_set_pc(next);
}

bool scontext_translate(struct qemu_plugin_insn *qi, const struct insn *insn)
{
	if (!opt.scontext || insn->op.len != 4 || !is_scontext(insn->bits))
		return false;
	qemu_plugin_register_vcpu_insn_exec_cb(qi, on_exec, QEMU_PLUGIN_CB_RW_REGS_PC,
					       (void *)insn);
	return true;
}
