// SPDX-License-Identifier: GPL-2.0-only
/*
 * Infer registers that follow with certainty from the code and the control flow: examine the
 * instructions that were executed shortly before, and evaluate those whose operands are constant or
 * known.
 */
#include <stdlib.h>
#include <string.h>

#include "serve.h"

#define BEFORE	4096u		/* number of instructions to examine */
#define CACHED	4096u		/* number of instructions in the cache */

struct serve_infer {
	const struct serve_recording *rec;
	/* position of the last query */
	const struct serve_track *track;
	uint64_t insn;
	bool valid;
	uint32_t known;		/* a bit for each register */
	uint64_t x[32];
	struct {
		uint64_t pc;
		uint32_t bits, space;
		bool there;
	} code[CACHED];
};

struct serve_infer *serve_infer_new(const struct serve_recording *r)
{
	struct serve_infer *s = calloc(1, sizeof(*s));

	if (!s)
		die("%s", nt_strerror(NT_ENOMEM));
	s->rec = r;
	return s;
}

void serve_infer_free(struct serve_infer *s)
{
	free(s);
}

/* ------------------------------------------------------------- registers - */

static void forget_all(struct serve_infer *s)
{
	s->known = 1;
	s->x[0] = 0;
}

static void forget(struct serve_infer *s, unsigned int rd)
{
	s->known &= ~(1u << rd) | 1;
}

/*
 * Forget a register that was loaded from memory, or a pair, for loads of twice XLEN. The pair of x0
 * stays 0.
 */
static void forget_loaded(struct serve_infer *s, unsigned int rd, bool two)
{
	forget(s, rd);
	if (two && rd)
		forget(s, rd | 1);
}

static bool is_known(const struct serve_infer *s, unsigned int reg)
{
	return s->known >> reg & 1;
}

static void set(struct serve_infer *s, unsigned int rd, uint64_t value)
{
	if (!rd)
		return;
	s->x[rd] = s->rec->xlen == 32 ? (uint32_t)value : value;
	s->known |= 1u << rd;
}

/* ---------------------------------------------------------- instructions - */

/* Move bits hi to lo of an instruction to bit `to'. */
static uint32_t part(uint32_t bits, unsigned int hi, unsigned int lo, unsigned int to)
{
	return (bits >> lo & ((2u << (hi - lo)) - 1)) << to;
}

static int64_t extend(uint32_t value, unsigned int bits)
{
	return (int32_t)(value << (32 - bits)) >> (32 - bits);
}

/* Evaluate an operation of 64 or 32 bits. Returns false if it is not known here. */
static bool compute(unsigned int funct3, bool other, uint64_t a, uint64_t b, unsigned int width,
		    uint64_t *value)
{
	unsigned int shift = (unsigned int)b & (width - 1);
	int64_t sa = width == 32 ? (int32_t)a : (int64_t)a,
		sb = width == 32 ? (int32_t)b : (int64_t)b;
	uint64_t ua = width == 32 ? (uint32_t)a : a, ub = width == 32 ? (uint32_t)b : b;

	switch (funct3) {
	case 0: *value = other ? a - b : a + b; break;
	case 1: *value = ua << shift; break;
	case 2: *value = sa < sb; break;
	case 3: *value = ua < ub; break;
	case 4: *value = a ^ b; break;
	case 5: *value = other ? (uint64_t)(sa >> shift) : ua >> shift; break;
	case 6: *value = a | b; break;
	default: *value = a & b; break;
	}
	if (width == 32)
		*value = (uint64_t)(int32_t)*value;
	return !other || funct3 == 0 || funct3 == 5;
}

static void operate(struct serve_infer *s, unsigned int rd, unsigned int funct3, bool other,
		    unsigned int rs1, bool known_b, uint64_t b, unsigned int width)
{
	uint64_t value;

	if (is_known(s, rs1) && known_b && compute(funct3, other, s->x[rs1], b, width, &value))
		set(s, rd, value);
	else
		forget(s, rd);
}

/* OP-IMM and OP-IMM-32. Other shift encodings belong to extensions, and are not evaluated. */
static void op_imm(struct serve_infer *s, uint32_t bits, unsigned int rd, unsigned int funct3,
		   unsigned int width)
{
	uint64_t imm = (uint64_t)extend(bits >> 20, 12);
	unsigned int high = bits >> (width == 64 ? 26 : 25), arithmetic = width == 64 ? 0x10 : 0x20;
	bool shift = funct3 == 1 || funct3 == 5;

	if (shift && high && !(high == arithmetic && funct3 == 5))
		forget(s, rd);
	else
		operate(s, rd, funct3, shift && high, bits >> 15 & 31, true,
			shift ? imm & (width - 1) : imm, width);
}

static void op(struct serve_infer *s, uint32_t bits, unsigned int rd, unsigned int funct3,
	       unsigned int width)
{
	unsigned int rs2 = bits >> 20 & 31, funct7 = bits >> 25;

	if (funct7 && funct7 != 0x20)
		forget(s, rd);
	else
		operate(s, rd, funct3, funct7, bits >> 15 & 31, is_known(s, rs2), s->x[rs2], width);
}

/* A branch has shown that two registers are equal. */
static void make_equal(struct serve_infer *s, unsigned int a, unsigned int b)
{
	if (is_known(s, a))
		set(s, b, s->x[a]);
	else if (is_known(s, b))
		set(s, a, s->x[b]);
}

enum way { WAY_PASSED, WAY_TAKEN, WAY_UNKNOWN };

static void insn32(struct serve_infer *s, uint64_t pc, uint32_t bits, enum way way)
{
	unsigned int rd = bits >> 7 & 31, rs1 = bits >> 15 & 31, funct3 = bits >> 12 & 7;
	unsigned int xlen = s->rec->xlen;

	switch (bits & 0x7f) {
	case 0x37:	/* LUI */
		set(s, rd, (uint64_t)(int64_t)(int32_t)(bits & ~0xfffu));
		break;
	case 0x17:	/* AUIPC */
		set(s, rd, pc + (uint64_t)(int64_t)(int32_t)(bits & ~0xfffu));
		break;
	case 0x6f: case 0x67:	/* JAL, JALR */
		set(s, rd, pc + 4);
		break;
	case 0x63:	/* BEQ, BNE; other branches imply no value */
		if ((funct3 == 0 && way == WAY_TAKEN) || (funct3 == 1 && way == WAY_PASSED))
			make_equal(s, rs1, bits >> 20 & 31);
		break;
	case 0x13:
		op_imm(s, bits, rd, funct3, xlen);
		break;
	case 0x33:
		op(s, bits, rd, funct3, xlen);
		break;
	case 0x1b: case 0x3b:	/* OP-IMM-32, OP-32 */
		if (funct3 != 0 && funct3 != 1 && funct3 != 5)
			forget(s, rd);
		else if ((bits & 0x7f) == 0x1b)
			op_imm(s, bits, rd, funct3, 32);
		else
			op(s, bits, rd, funct3, 32);
		break;
	case 0x03:	/* loads; ld on RV32 loads a pair (Zilsd) */
		forget_loaded(s, rd, xlen == 32 && funct3 == 3);
		break;
	case 0x2f:	/* AMO; twice XLEN is amocas with pairs */
		forget_loaded(s, rd, funct3 == (xlen == 32 ? 3 : 4));
		break;
	case 0x73: case 0x57:	/* CSRs, vector instructions that write x registers */
		forget(s, rd);
		break;
	case 0x43: case 0x47: case 0x4b: case 0x4f: case 0x53:
		/* Zfinx writes x registers, and Zdinx on RV32 writes pairs */
		forget_loaded(s, rd, xlen == 32 && (bits >> 25 & 3) == 1);
		break;
	case 0x23: case 0x0f: case 0x07: case 0x27:
		break;
	default:
		forget_all(s);
	}
}

/* c.srli, c.srai, c.andi, and register-register operations */
static void compressed_alu(struct serve_infer *s, uint32_t bits)
{
	unsigned int rd = 8 + (bits >> 7 & 7), rs2 = 8 + (bits >> 2 & 7), kind = bits >> 10 & 3;
	static const uint8_t functs[] = { 0, 4, 6, 7 };
	uint64_t imm = (uint64_t)extend(part(bits, 12, 12, 5) | part(bits, 6, 2, 0), 6);
	unsigned int xlen = s->rec->xlen;

	if (kind == 2) {
		operate(s, rd, 7, false, rd, true, imm, xlen);
	} else if (kind < 2) {
		operate(s, rd, 5, kind, rd, true, imm & 63, xlen);
	} else if (!(bits >> 12 & 1)) {
		operate(s, rd, functs[bits >> 5 & 3], !(bits >> 5 & 3), rd, is_known(s, rs2),
			s->x[rs2],
			xlen);
	} else if (bits >> 6 & 1) {
		/* Zcb, or reserved */
		forget(s, rd);
	} else {
		operate(s, rd, 0, !(bits >> 5 & 1), rd, is_known(s, rs2), s->x[rs2], 32);
	}
}

static void quadrant0(struct serve_infer *s, uint32_t bits)
{
	unsigned int rd = 8 + (bits >> 2 & 7);

	switch (bits >> 13) {
	case 0:	/* c.addi4spn */
		operate(s, rd, 0, false, 2, true, part(bits, 10, 7, 6) | part(bits, 12, 11, 4) |
			part(bits, 5, 5, 3) | part(bits, 6, 6, 2), s->rec->xlen);
		break;
	case 1: case 2: case 3:	/* c.fld, c.lw, and c.ld or c.flw */
		/* or c.ld of Zclsd, which loads a pair */
		if (bits >> 13 != 1)
			forget_loaded(s, rd, bits >> 13 == 3 && s->rec->xlen == 32);
		break;
	case 4:
		forget_all(s);
		break;
	}
}

static void quadrant1(struct serve_infer *s, uint64_t pc, uint32_t bits, enum way way)
{
	unsigned int rd = bits >> 7 & 31, rs1 = 8 + (bits >> 7 & 7), xlen = s->rec->xlen;
	uint64_t imm = (uint64_t)extend(part(bits, 12, 12, 5) | part(bits, 6, 2, 0), 6);

	switch (bits >> 13) {
	case 0:	/* c.addi */
		operate(s, rd, 0, false, rd, true, imm, xlen);
		break;
	case 1:	/* c.addiw, on RV32 c.jal */
		if (xlen == 32)
			set(s, 1, pc + 2);
		else
			operate(s, rd, 0, false, rd, true, imm, 32);
		break;
	case 2:
		set(s, rd, imm);
		break;
	case 3:	/* c.addi16sp, c.lui */
		if (rd == 2)
			operate(s, 2, 0, false, 2, true,
				(uint64_t)extend(part(bits, 12, 12, 9) | part(bits, 4, 3, 7) |
						 part(bits, 5, 5, 6) | part(bits, 2, 2, 5) |
						 part(bits, 6, 6, 4), 10), xlen);
		else if (part(bits, 12, 12, 5) | part(bits, 6, 2, 0))
			set(s, rd, imm << 12);
		else
			forget_all(s);
		break;
	case 4:
		compressed_alu(s, bits);
		break;
	case 6: case 7:	/* c.beqz, c.bnez */
		if (way == (bits >> 13 == 6 ? WAY_TAKEN : WAY_PASSED))
			set(s, rs1, 0);
		break;
	}
}

static void quadrant2(struct serve_infer *s, uint64_t pc, uint32_t bits)
{
	unsigned int rd = bits >> 7 & 31, rs2 = bits >> 2 & 31, xlen = s->rec->xlen;
	bool high = bits >> 12 & 1;

	switch (bits >> 13) {
	case 0:	/* c.slli */
		operate(s, rd, 1, false, rd, true, part(bits, 12, 12, 5) | part(bits, 6, 2, 0),
			xlen);
		break;
	case 2:	/* c.lwsp */
		forget(s, rd);
		break;
	case 3:	/* c.ldsp; on RV32 that of Zclsd, or c.flwsp, for which this forgets too much */
		forget_loaded(s, rd, xlen == 32);
		break;
	case 4:
		if (rs2 && !high)	/* c.mv */
			operate(s, rd, 0, false, 0, is_known(s, rs2), s->x[rs2], xlen);
		else if (rs2)		/* c.add */
			operate(s, rd, 0, false, rd, is_known(s, rs2), s->x[rs2], xlen);
		else if (high)		/* c.jalr */
			set(s, 1, pc + 2);
		break;
	case 5:	/* c.fsdsp, or Zcmp and Zcmt, which may write many registers */
		forget_all(s);
		break;
	}
}

static void execute(struct serve_infer *s, uint64_t pc, unsigned int len, uint32_t bits,
		    enum way way)
{
	if (len == 4)
		insn32(s, pc, bits, way);
	else if (len != 2)
		forget_all(s);
	else if ((bits & 3) == 0)
		quadrant0(s, bits & 0xffff);
	else if ((bits & 3) == 1)
		quadrant1(s, pc, bits & 0xffff, way);
	else
		quadrant2(s, pc, bits & 0xffff);
}

/* ------------------------------------------------------------ going there  */

/* Returns false if the bytes are not in a file, or may have changed */
static bool read_code(struct serve_infer *s, uint32_t space, uint64_t pc, unsigned int len,
		      uint32_t *bits)
{
	unsigned int i = pc / 2 % CACHED;
	uint8_t bytes[4] = { 0 };

	if (s->code[i].pc != pc || s->code[i].space != space || !s->code[i].there) {
		s->code[i].pc = pc;
		s->code[i].space = space;
		s->code[i].there = serve_files_read(&s->rec->files, space, pc, bytes, len) == len;
		s->code[i].bits = bytes[0] | bytes[1] << 8 | bytes[2] << 16 |
				  (uint32_t)bytes[3] << 24;
	}
	*bits = s->code[i].bits;
	return s->code[i].there;
}

static void pass_run(struct serve_infer *s, const struct serve_run *run, unsigned int from,
		     unsigned int to)
{
	for (unsigned int n = from; n < to; n++) {
		uint64_t pc = serve_run_pc(run, n);
		unsigned int len = 2 * ((run->halves >> 2 * n & 3) + 1u);
		enum way way = n + 1 < run->insns ? WAY_PASSED :
			       run->type == NT_TYPE_COND ? WAY_TAKEN : WAY_UNKNOWN;
		uint32_t bits;

		if (len > 4 || !read_code(s, run->space, pc, len, &bits))
			forget_all(s);
		else
			execute(s, pc, len, bits, way);
	}
}

/*
 * Other code may have been executed in between. In the kernel of a recording with several tasks, so
 * may another task.
 */
static bool is_break(const struct serve_infer *s, const struct serve_run *run)
{
	return (!run->insns && run->type == NT_TYPE_NONE) ||
	       (s->rec->timed && run->pc >> (s->rec->xlen - 1));
}

/* A trap that returns at once: it was handled by a host, or by code that is not traced. */
static bool is_answered(const struct serve_run *run, uint64_t pc)
{
	return nt_type_is_trap(run->type) && pc - serve_run_pc(run, run->insns) <= 4;
}

/*
 * Is there a break before a run of the current chunk? The end of the chunk before is not examined,
 * so assume one there.
 */
static bool is_behind_break(const struct serve_infer *s, const struct serve_view *v, uint32_t index)
{
	const struct serve_track *t = v->track;
	const uint64_t pc = serve_run_pc(&t->program->run[v->run[index]], 0);

	for (; index; index--) {
		const struct serve_run *run = &t->program->run[v->run[index - 1]];

		if (is_answered(run, pc))
			return true;
		if (run->insns)
			return false;
		if (is_break(s, run))
			return true;
	}
	return t->chunk[v->chunk].paused || v->chunk;
}

static void go(struct serve_infer *s, struct serve_view *v, uint64_t insn)
{
	const struct serve_track *t = v->track;
	uint64_t at = insn > BEFORE ? insn - BEFORE : 0;
	size_t mark = serve_track_first_mark(t, insn + 1);
	uint64_t next = 0;

	if (mark && t->mark[mark - 1].insn > at)
		at = t->mark[mark - 1].insn;
	forget_all(s);
	while (at < insn) {
		unsigned int nth, to;
		uint32_t index;
		const struct serve_run *run = serve_view_at(v, at, &nth, &index);

		if ((!nth && is_behind_break(s, v, index)) || is_break(s, run) ||
		    (next && next != serve_run_pc(run, nth)))
			forget_all(s);
		to = insn - at < run->insns - nth ? nth + (unsigned int)(insn - at) : run->insns;
		pass_run(s, run, nth, to);
		at += to - nth;
		/* after a trap, its handler's instructions come before the next one */
		next = run->type == NT_TYPE_NONE && to == run->insns ? serve_run_pc(run, to) : 0;
	}
}

/* There may also be a break after the last instruction that was examined. */
static bool breaks_at(struct serve_infer *s, struct serve_view *v, uint64_t insn)
{
	const struct serve_track *t = v->track;
	unsigned int nth;
	uint32_t index;

	if (insn >= t->insns)
		return false;
	serve_view_at(v, insn, &nth, &index);
	return !nth && is_behind_break(s, v, index);
}

bool serve_infer_reg(struct serve_infer *s, struct serve_view *v, uint64_t insn, unsigned int reg,
		     uint64_t *value)
{
	if (!s->valid || s->track != v->track || s->insn != insn) {
		go(s, v, insn);
		if (breaks_at(s, v, insn))
			forget_all(s);
		s->track = v->track;
		s->insn = insn;
		s->valid = true;
	}
	*value = s->x[reg];
	return is_known(s, reg);
}
