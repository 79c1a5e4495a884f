/* SPDX-License-Identifier: GPL-2.0-only */
/* A tandem-verification item, as it was read, written again: the same bytes */
#ifndef SELFTESTS_TV_WRITE_H
#define SELFTESTS_TV_WRITE_H

#include "nt-tv.h"

static inline void write_item(struct nt_tv_writer *w, const struct nt_tv_item *it)
{
	w->pc_ident = it->flags & NT_TV_F_PRINTED_PC ? NT_TV_PC_PRINTED : NT_TV_PC;
	switch (it->opcode) {
	case NT_TV_REG:
		nt_tv_reg(w, it->reg, it->value);
		break;
	case NT_TV_REG_ADD:
		nt_tv_reg_add(w, it->reg, (int8_t)it->value);
		break;
	case NT_TV_REG_OR:
		nt_tv_reg_or(w, it->reg, (uint8_t)it->value);
		break;
	case NT_TV_STATE:
		if (it->ident == NT_TV_PC)
			nt_tv_pc(w, it->value);
		else
			nt_tv_state(w, it->ident, it->value, it->bytes);
		break;
	case NT_TV_MEMREQ:
		nt_tv_memreq(w, it->memop, it->memsize, it->addr, it->value);
		break;
	case NT_TV_MEMRSP:
		nt_tv_memrsp(w, it->memop, it->memsize, it->result, it->value);
		break;
	case NT_TV_INSN16:
		nt_tv_insn16(w, (uint16_t)it->value);
		break;
	case NT_TV_INSN32:
		nt_tv_insn32(w, (uint32_t)it->value);
		break;
	default:
		nt_tv_op(w, it->opcode);
		break;
	}
}

#endif /* SELFTESTS_TV_WRITE_H */
