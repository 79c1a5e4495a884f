// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kind of instruction in a group of a tandem-verification trace, in the categories of the
 * protocol's appendix D, and what such an instruction writes
 */
#include "tv-verify.h"

/* indexed by enum tv_class; sizes in bytes for RV64 */
const struct tv_class_info tv_classes[TV_CLASSES] = {
	{ "integer computation", 23 }, { "nop", 12 }, { "branch, jump", 27 },
	{ "branch and link", 32 }, { "load", 33 }, { "load, virtual", 43 }, { "store", 32 },
	{ "store, virtual", 42 }, { "sc, amo", 53 }, { "csr read-write", 34 },
	{ "csr read only", 23 }, { "csr write only", 23 }, { "fp computation", 27 },
	{ "fp move", 23 }, { "fp conversion", 27 }, { "fp load", 43 }, { "fp store", 42 },
	{ "interrupt", 59 }, { "exception", 68 }, { "other", 0 }, { "between groups, setup", 0 },
};

/* By quadrant and funct3, for RV64 */
static enum tv_class class_16(uint32_t insn, bool rv32)
{
	static const uint8_t classes[3][8] = {
		{ TV_INT, TV_FP_LOAD, TV_LOAD, TV_LOAD, TV_OTHER, TV_FP_STORE, TV_STORE, TV_STORE },
		{ TV_INT, TV_INT, TV_INT, TV_INT, TV_INT, TV_JUMP, TV_JUMP, TV_JUMP },
		{ TV_INT, TV_FP_LOAD, TV_LOAD, TV_LOAD, TV_INT, TV_FP_STORE, TV_STORE, TV_STORE },
	};
	unsigned int quadrant = insn & 3, funct = insn >> 13 & 7, rd = insn >> 7 & 31;

	if (quadrant == 3)
		return TV_OTHER;
	if (rv32 && quadrant != 1 && (funct == 3 || funct == 7))
		return funct == 3 ? TV_FP_LOAD : TV_FP_STORE;
	if (rv32 && quadrant == 1 && funct == 1)
		return TV_LINK;
	if (quadrant == 1 && !funct && !rd)
		return TV_NOP;
	if (quadrant == 2 && funct == 4 && !(insn >> 2 & 31))	/* c.jr, c.jalr, c.ebreak */
		return insn >> 12 & 1 ? TV_LINK : TV_JUMP;
	return (enum tv_class)classes[quadrant][funct];
}

static enum tv_class class_system(uint32_t insn)
{
	unsigned int funct = insn >> 12 & 7, rd = insn >> 7 & 31, rs1 = insn >> 15 & 31;

	if (!(funct & 3))
		return TV_OTHER;
	if (!rd)
		return TV_CSR_WRITE;
	/* set and clear with x0 only read the CSR */
	return (funct & 2) && !rs1 ? TV_CSR_READ : TV_CSR;
}

static enum tv_class class_fp(uint32_t insn)
{
	switch (insn >> 27) {
	case 0x1c:	/* fmv.x, fclass */
	case 0x1e:
	case 0x04:	/* sign injection */
		return TV_FP_MOVE;
	case 0x08:
	case 0x14:	/* comparison: the result has the same size as that of a conversion */
	case 0x18:
	case 0x1a:
		return TV_FP_CONV;
	}
	return TV_FP;
}

static enum tv_class class_32(uint32_t insn)
{
	unsigned int rd = insn >> 7 & 31;

	switch (insn & 0x7f) {
	case 0x13: case 0x17: case 0x1b: case 0x33: case 0x37: case 0x3b:
		return rd ? TV_INT : TV_NOP;
	case 0x0f:
		return TV_NOP;
	case 0x63:
		return TV_JUMP;
	case 0x67: case 0x6f:
		return rd ? TV_LINK : TV_JUMP;
	case 0x03:
		return TV_LOAD;
	case 0x23:
		return TV_STORE;
	case 0x2f:
		return TV_AMO;
	case 0x07:
		return TV_FP_LOAD;
	case 0x27:
		return TV_FP_STORE;
	case 0x43: case 0x47: case 0x4b: case 0x4f:
		return TV_FP;
	case 0x53:
		return class_fp(insn);
	case 0x73:
		return class_system(insn);
	}
	return TV_OTHER;
}

enum tv_class tv_classify(const struct nt_tv_group *g, bool rv32)
{
	bool virtual = false, trap = false;
	enum tv_class class;

	if (g->flags & (NT_TV_G_INIT | NT_TV_G_RESET | NT_TV_G_ALONE))
		return TV_SETUP;
	for (size_t i = 0; i < g->n; i++) {
		const struct nt_tv_item *it = &g->items[i];

		virtual |= it->opcode == NT_TV_STATE && it->ident == NT_TV_EADDR;
		/* mcause, scause, vscause: software hardly ever writes them */
		trap |= it->opcode == NT_TV_REG && (it->reg & ~0x200) == 0x142;
		trap |= it->opcode == NT_TV_REG && it->reg == 0x242;
	}
	if (!g->insn_bytes)
		return trap ? TV_INTERRUPT : TV_OTHER;
	class = g->insn_bytes == 2 ? class_16(g->insn, rv32) : class_32(g->insn);
	if (trap && class != TV_CSR && class != TV_CSR_WRITE)
		return TV_EXCEPTION;
	if (virtual && (class == TV_LOAD || class == TV_STORE))
		class++;
	return class;
}

unsigned int tv_own_registers(const struct nt_tv_group *g, uint16_t *regs)
{
	static const uint16_t traps[] = { 0x300, 0x341, 0x342, 0x343 };
	uint32_t insn = g->insn;
	unsigned int n = 0;

	for (size_t i = 0; i < g->n; i++) {
		if (g->items[i].opcode != NT_TV_STATE || g->items[i].ident != NT_TV_PRIV ||
		    insn == TV_MRET || insn == TV_SRET)
			continue;
		for (; n < 4; n++)
			regs[n] = g->items[i].value == 1 && n ? traps[n] & ~0x200 : traps[n];
		return n;
	}
	if (g->insn_bytes == 2) {
		/* c.fld to one of eight registers, c.fldsp to any */
		if ((insn & 0xe003) == 0x2000)
			regs[n++] = NT_TV_REG_F + 8 + (insn >> 2 & 7);
		if ((insn & 0xe003) == 0x2002)
			regs[n++] = NT_TV_REG_F + (insn >> 7 & 31);
		return n;
	}
	switch (g->insn_bytes ? insn & 0x7f : 0) {
	case 0x43: case 0x47: case 0x4b: case 0x4f: case 0x53:
		regs[n++] = 0x003;
		/* fall through */
	case 0x07:
		regs[n++] = NT_TV_REG_F + (insn >> 7 & 31);
		break;
	case 0x73:
		if (insn >> 12 & 3)
			regs[n++] = insn >> 20;
		break;
	}
	return n;
}

static size_t next_ident(const struct nt_tv_group *g, size_t i, unsigned int first,
			 unsigned int last)
{
	while (i < g->n && (g->items[i].opcode != NT_TV_STATE || g->items[i].ident < first ||
			    g->items[i].ident > last))
		i++;
	return i;
}

unsigned int tv_stores(const struct nt_tv_group *g, struct tv_store *stores)
{
	size_t p = next_ident(g, 0, NT_TV_PADDR, NT_TV_PADDR);
	size_t e = next_ident(g, 0, NT_TV_EADDR, NT_TV_EADDR);
	size_t d = next_ident(g, 0, NT_TV_STORE8, NT_TV_STORE64);
	unsigned int n = 0;

	while (d < g->n && (p < g->n || e < g->n) && n < TV_STORES) {
		struct tv_store *s = &stores[n++];

		s->paddr = g->items[p < g->n ? p : e].value;
		s->eaddr = g->items[e < g->n ? e : p].value;
		s->bytes = g->items[d].bytes;
		p = next_ident(g, p + 1, NT_TV_PADDR, NT_TV_PADDR);
		e = next_ident(g, e + 1, NT_TV_EADDR, NT_TV_EADDR);
		d = next_ident(g, d + 1, NT_TV_STORE8, NT_TV_STORE64);
	}
	return n;
}

unsigned int tv_loads_to(const struct nt_tv_group *g)
{
	uint32_t insn = g->insn;

	if (g->insn_bytes == 4)
		return (insn & 0x7f) == 0x03 ? insn >> 7 & 31 : 0;
	/* c.lw, c.ld; c.lwsp, c.ldsp */
	if (g->insn_bytes == 2 && (insn & 0xc000) == 0x4000 && !(insn & 3))
		return 8 + (insn >> 2 & 7);
	if (g->insn_bytes == 2 && (insn & 0xc000) == 0x4000 && (insn & 3) == 2)
		return insn >> 7 & 31;
	return 0;
}

/* c.fsd, c.sw, c.sd (c.fsw), c.sb and c.sh, also those relative to sp */
static bool stores_to_16(uint32_t insn, bool rv32, struct tv_operand *to)
{
	unsigned int funct = insn >> 13 & 7;
	bool stack = (insn & 3) == 2, word = funct == 6 || (rv32 && funct == 7);

	if (!(insn & 1) && funct >= 5) {
		to->bytes = word ? 4 : 8;
		to->base = NT_TV_REG_X + (stack ? 2 : 8 + (insn >> 7 & 7));
		if (stack && word)
			to->offset = (insn >> 7 & 0x3c) | (insn >> 1 & 0xc0);
		else if (stack)
			to->offset = (insn >> 7 & 0x38) | (insn >> 1 & 0x1c0);
		else if (word)
			to->offset = (insn >> 7 & 0x38) | (insn >> 4 & 0x4) | (insn << 1 & 0x40);
		else
			to->offset = (insn >> 7 & 0x38) | (insn << 1 & 0xc0);
		return true;
	}
	if ((insn & 0xfc03) != 0x8800 && (insn & 0xfc43) != 0x8c00)
		return false;
	to->bytes = insn & 0x400 ? 2 : 1;
	to->base = NT_TV_REG_X + 8 + (insn >> 7 & 7);
	to->offset = insn & 0x400 ? insn >> 4 & 2 : (insn >> 6 & 1) | (insn >> 4 & 2);
	return true;
}

bool tv_stores_to(const struct nt_tv_group *g, bool rv32, struct tv_operand *to)
{
	uint32_t insn = g->insn;
	unsigned int funct = insn >> 12 & 7, rd = insn >> 7 & 31, rs1 = insn >> 15 & 31;

	if (g->insn_bytes == 2)
		return (insn & 3) != 1 && stores_to_16(insn, rv32, to);
	if (g->insn_bytes != 4 || funct > 3)
		return false;
	*to = (struct tv_operand){ .base = NT_TV_REG_X + rs1, .bytes = (uint8_t)(1u << funct) };
	switch (insn & 0x7f) {
	case 0x23:
	case 0x27:
		to->offset = (int16_t)((int32_t)(insn & 0xfe000000) >> 20 | (int32_t)rd);
		return true;
	case 0x2f:	/* all but LR; if rd is the base register, the address is lost afterwards */
		return insn >> 27 != 2 && rd != rs1;
	}
	return false;
}
