// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Instructions: types and targets of control transfers
 */
#include "nt-code.h"

/* Bits [hi:lo] of an instruction, as an unsigned number */
#define BITS(insn, hi, lo)	((uint32_t)((insn) >> (lo)) & ((2u << ((hi) - (lo))) - 1))

/* Sign-extend a number of `width` bits. */
static int64_t sext(uint64_t value, unsigned int width)
{
	return (int64_t)(value << (64 - width)) >> (64 - width);
}

static bool is_link(unsigned int reg)
{
	return reg == 1 || reg == 5;
}

unsigned int nt_insn_length(unsigned int half)
{
	if ((half & 0x03) != 0x03)
		return 2;
	if ((half & 0x1f) != 0x1f)
		return 4;
	if ((half & 0x3f) == 0x1f)
		return 6;
	if ((half & 0x7f) == 0x3f)
		return 8;
	if ((half >> 12 & 7) != 7)
		return 10 + 2 * (half >> 12 & 7);
	return 0;
}

static void set_direct(struct nt_decoded *d, unsigned int type, int64_t offset)
{
	d->i->type = type;
	d->i->flags |= NT_INSN_DIRECT;
	d->i->target = (d->i->pc + offset) & d->mask;
}

void nt_insn_traps(struct nt_decoded *d)
{
	d->i->type = NT_TYPE_EXCEPTION;
	d->i->flags |= NT_INSN_TRAPS;
}

static unsigned int jal_type(unsigned int rd)
{
	if (!rd)
		return NT_TYPE_JUMP;
	return is_link(rd) ? NT_TYPE_CALL : NT_TYPE_JUMP_LINK;
}

static unsigned int jalr_type(unsigned int rd, unsigned int rs)
{
	if (is_link(rd))
		return is_link(rs) && rs != rd ? NT_TYPE_SWAP : NT_TYPE_ICALL;
	if (is_link(rs))
		return NT_TYPE_RET;
	return rd ? NT_TYPE_IJUMP_LINK : NT_TYPE_IJUMP;
}

static void set_jalr(struct nt_decoded *d, unsigned int rd, unsigned int rs, int64_t offset)
{
	d->i->type = jalr_type(rd, rs);
	d->jumps_to = rs;
	d->offset = offset;
}

/* ---- 32 bit */

static int64_t imm_b(uint32_t x)
{
	return sext(BITS(x, 31, 31) << 12 | BITS(x, 7, 7) << 11 | BITS(x, 30, 25) << 5 |
		    BITS(x, 11, 8) << 1, 13);
}

static int64_t imm_j(uint32_t x)
{
	return sext(BITS(x, 31, 31) << 20 | BITS(x, 19, 12) << 12 | BITS(x, 20, 20) << 11 |
		    BITS(x, 30, 21) << 1, 21);
}

static void decode_system(struct nt_decoded *d, uint32_t x)
{
	switch (x) {
	case 0x00000073:	/* ECALL */
	case 0x00100073:	/* EBREAK */
		nt_insn_traps(d);
		break;
	case 0x10200073:	/* SRET */
	case 0x30200073:	/* MRET */
	case 0x70200073:	/* MNRET */
	case 0x7b200073:	/* DRET */
		d->i->type = NT_TYPE_ERET;
		break;
	}
}

static void decode_32(struct nt_decoded *d, uint32_t x)
{
	switch (x & 0x7f) {
	case 0x0b: case 0x2b: case 0x5b: case 0x7b:
	case 0x6b:		/* reserved */
		d->i->flags |= NT_INSN_CUSTOM;
		break;
	case 0x17:		/* AUIPC */
		d->writes = BITS(x, 11, 7);
		d->value = d->i->pc + sext(x & 0xfffff000, 32);
		break;
	case 0x37:		/* LUI */
		d->writes = BITS(x, 11, 7);
		d->value = sext(x & 0xfffff000, 32);
		d->absolute = true;
		break;
	case 0x63:
		/* BEQI, BNEI have a number in the place of rs2 */
		if (BITS(x, 14, 13) != 1 || d->params->isa & NT_ISA_ZIBI)
			set_direct(d, NT_TYPE_COND, imm_b(x));
		else
			d->i->flags |= NT_INSN_CUSTOM;
		break;
	case 0x67:
		if (BITS(x, 14, 12))
			d->i->flags |= NT_INSN_CUSTOM;
		else
			set_jalr(d, BITS(x, 11, 7), BITS(x, 19, 15), sext(BITS(x, 31, 20), 12));
		break;
	case 0x6f:
		set_direct(d, jal_type(BITS(x, 11, 7)), imm_j(x));
		break;
	case 0x73:
		decode_system(d, x);
		break;
	}
}

/* ---- 16 bit */

static int64_t imm_cj(unsigned int x)
{
	return sext(BITS(x, 12, 12) << 11 | BITS(x, 8, 8) << 10 | BITS(x, 10, 9) << 8 |
		    BITS(x, 6, 6) << 7 | BITS(x, 7, 7) << 6 | BITS(x, 2, 2) << 5 |
		    BITS(x, 11, 11) << 4 | BITS(x, 5, 3) << 1, 12);
}

static int64_t imm_cb(unsigned int x)
{
	return sext(BITS(x, 12, 12) << 8 | BITS(x, 6, 5) << 6 | BITS(x, 2, 2) << 5 |
		    BITS(x, 11, 10) << 3 | BITS(x, 4, 3) << 1, 9);
}

/* C.JR, C.JALR, C.EBREAK: funct4 100x with rs2 = 0 */
static void decode_cr(struct nt_decoded *d, unsigned int x)
{
	unsigned int rs1 = BITS(x, 11, 7), link = BITS(x, 12, 12);

	if (BITS(x, 6, 2))
		return;		/* C.MV, C.ADD */
	if (rs1)
		set_jalr(d, link, rs1, 0);
	else
		nt_insn_traps(d);	/* C.EBREAK, or reserved */
}

/* CM.JT and CM.JALT: the target is in a table, which only the caller can read. */
static void decode_table_jump(struct nt_decoded *d, unsigned int x)
{
	d->index = BITS(x, 9, 2);
	d->i->type = d->index < 32 ? NT_TYPE_JUMP : NT_TYPE_CALL;
	d->table = true;
}

/* An encoding that only these extensions define: if a known ISA lacks them, it may jump. */
static void need_isa(struct nt_decoded *d, uint32_t isa)
{
	if (d->params->isa && !(d->params->isa & isa))
		d->i->flags |= NT_INSN_CUSTOM;
}

/* Quadrant 2, funct3 101: C.FSDSP, or Zcmp and Zcmt in its place */
static void decode_zcm(struct nt_decoded *d, unsigned int x)
{
	need_isa(d, NT_ISA_D | NT_ISA_ZCMP | NT_ISA_ZCMT);
	if ((d->params->isa & NT_ISA_ZCMT) && BITS(x, 12, 10) == 0)
		decode_table_jump(d, x);
	else if ((d->params->isa & NT_ISA_ZCMP) && (x & 0xfd00) == 0xbc00 &&
		 BITS(x, 7, 4) >= 4)
		set_jalr(d, 0, 1, 0);	/* CM.POPRET, CM.POPRETZ */
}

static void decode_16(struct nt_decoded *d, unsigned int x)
{
	switch (x & 0xe003) {
	case 0x0000:
		if (!x)
			nt_insn_traps(d);	/* defined as illegal */
		break;
	case 0x2001:
		if (d->params->xlen == 32)
			set_direct(d, NT_TYPE_CALL, imm_cj(x));
		break;
	case 0x6001:		/* C.LUI; rd 2 is C.ADDI16SP, immediate 0 something else */
		if (BITS(x, 11, 7) != 2 && (x & 0x107c)) {
			d->writes = BITS(x, 11, 7);
			d->value = sext(BITS(x, 12, 12) << 17 | BITS(x, 6, 2) << 12, 18);
			d->absolute = true;
		}
		break;
	case 0xa001:
		set_direct(d, NT_TYPE_JUMP, imm_cj(x));
		break;
	case 0xc001:
	case 0xe001:
		set_direct(d, NT_TYPE_COND, imm_cb(x));
		break;
	case 0x8001:		/* C.ZEXT.B to C.MUL, among the arithmetic ones */
		if ((x & 0xfc40) == 0x9c40)
			need_isa(d, NT_ISA_ZCB);
		break;
	case 0x8000:		/* C.LBU to C.SH */
		need_isa(d, NT_ISA_ZCB);
		break;
	case 0x8002:
		decode_cr(d, x);
		break;
	case 0xa002:
		decode_zcm(d, x);
		break;
	}
}

/* ---- encodings of the caller */

static int64_t branch_offset(const struct nt_branch *b, uint64_t raw)
{
	unsigned int top = 1, i;
	uint64_t offset = 0;

	for (i = 0; i < NT_BRANCH_FIELDS; i++) {
		const struct nt_branch_field *f = &b->offset[i];

		if (!f->width)
			continue;
		offset |= (raw >> f->from & ((1ull << f->width) - 1)) << f->to;
		if (f->to + f->width > top)
			top = f->to + f->width;
	}
	return sext(offset, top);
}

/* The lengths agree, because mask and match determine the length. */
static bool decode_told(struct nt_decoded *d)
{
	uint32_t n;

	for (n = 0; n < d->params->nr_branches; n++) {
		const struct nt_branch *b = &d->params->branches[n];

		if ((d->i->raw & b->mask) != b->match)
			continue;
		d->i->type = b->type;
		if (nt_type_has_offset(b->type))
			set_direct(d, b->type, branch_offset(b, d->i->raw));
		return true;
	}
	return false;
}

/* ---- any */

void nt_insn_decode(struct nt_decoded *d)
{
	d->writes = d->jumps_to = 0;
	d->absolute = d->table = false;
	if (decode_told(d))
		return;
	if (d->i->len == 2)
		decode_16(d, (unsigned int)d->i->raw);
	else if (d->i->len == 4)
		decode_32(d, (uint32_t)d->i->raw);
	else
		d->i->flags |= NT_INSN_CUSTOM;
}

const char *nt_type_name(unsigned int type)
{
	static const char *const names[16] = {
		"none", "exception", "interrupt", "eret", "not", "cond", "trap", "?",
		"icall", "call", "ijump", "jump", "swap", "ret", "ijump", "jump",
	};

	return type < 16 ? names[type] : "?";
}
