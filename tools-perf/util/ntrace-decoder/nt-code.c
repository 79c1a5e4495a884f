// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The program: instructions, and basic blocks made of them once
 */
#include <stdlib.h>
#include <string.h>

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

/* ------------------------------------------------------ code in memory --- */

/* Have at least `need` bytes at pc in the window; false when there are not. */
static bool fetch(struct nt_code *code, uint64_t pc, size_t need, const uint8_t **bytes)
{
	uint64_t at = pc - code->window_pc;

	if (at > code->window_len || code->window_len - at < need) {
		code->window_pc = pc;
		code->window_len = 0;
		at = 0;
	}
	while (code->window_len - at < need) {
		size_t have = code->window_len, room = sizeof(code->window) - have;
		size_t got = code->read(code->ctx, (code->window_pc + have) & code->mask,
					code->window + have, room);

		if (!got || got > room)
			return false;
		code->window_len += got;
	}
	*bytes = code->window + at;
	return true;
}

/* ------------------------------------------------------- instructions ---- */

/*
 * An instruction as the classification sees it: what nt_insn tells, and for
 * sequential jumps who reads or writes which register.
 */
struct decoded {
	struct nt_insn *i;
	uint64_t mask;
	int writes;		/* register that gets `value`, 0 none */
	uint64_t value;
	int jumps_to;		/* register that an indirect jump goes to, 0 none */
	int64_t offset;		/* added to it */
	bool table;		/* where it goes stands in the jump table */
};

/* Bytes of an instruction by its first half-word; 0 for the reserved lengths */
static unsigned int insn_length(unsigned int half)
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

static void set_direct(struct decoded *d, unsigned int type, int64_t offset)
{
	d->i->type = type;
	d->i->flags |= NT_INSN_DIRECT;
	d->i->target = (d->i->pc + offset) & d->mask;
}

static void set_traps(struct decoded *d)
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

static void set_jalr(struct decoded *d, unsigned int rd, unsigned int rs, int64_t offset)
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

static void decode_system(struct decoded *d, uint32_t x)
{
	switch (x) {
	case 0x00000073:	/* ECALL */
	case 0x00100073:	/* EBREAK */
		set_traps(d);
		break;
	case 0x10200073:	/* SRET */
	case 0x30200073:	/* MRET */
	case 0x70200073:	/* MNRET */
	case 0x7b200073:	/* DRET */
		d->i->type = NT_TYPE_ERET;
		break;
	}
}

static void decode_32(const struct nt_code *code, struct decoded *d, uint32_t x)
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
		break;
	case 0x63:
		/* BEQI, BNEI compare with the number in the place of rs2 */
		if (BITS(x, 14, 13) != 1 || code->params.isa & NT_ISA_ZIBI)
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
static void decode_cr(struct decoded *d, unsigned int x)
{
	unsigned int rs1 = BITS(x, 11, 7), link = BITS(x, 12, 12);

	if (BITS(x, 6, 2))
		return;		/* C.MV, C.ADD */
	if (rs1)
		set_jalr(d, link, rs1, 0);
	else
		set_traps(d);	/* C.EBREAK, or reserved */
}

/*
 * CM.JT and CM.JALT: the target stands in a table of XLEN-wide entries.  Where
 * the table can't be read the jump stays indirect, which no trace will satisfy.
 */
static void decode_table_jump(struct nt_code *code, struct decoded *d, unsigned int x)
{
	unsigned int index = BITS(x, 9, 2), width = code->params.xlen / 8, i;
	uint64_t entry = (code->params.jvt & ~63ull) + index * width, target = 0;
	uint8_t bytes[8];

	d->i->type = index < 32 ? NT_TYPE_JUMP : NT_TYPE_CALL;
	d->table = true;
	for (i = 0; i < width; ) {
		size_t got = code->read(code->ctx, (entry + i) & code->mask, bytes + i, width - i);

		if (!got || got > width - i)
			return;
		i += got;
	}
	for (i = 0; i < width; i++)
		target |= (uint64_t)bytes[i] << 8 * i;
	d->i->flags |= NT_INSN_DIRECT;
	d->i->target = target & ~1ull & code->mask;
}

/* An encoding that only these extensions define: of a known ISA without them it may jump. */
static void need_isa(const struct nt_code *code, struct decoded *d, uint32_t isa)
{
	if (code->params.isa && !(code->params.isa & isa))
		d->i->flags |= NT_INSN_CUSTOM;
}

/* Quadrant 2, funct3 101: C.FSDSP, or Zcmp and Zcmt in its place */
static void decode_zcm(struct nt_code *code, struct decoded *d, unsigned int x)
{
	need_isa(code, d, NT_ISA_D | NT_ISA_ZCMP | NT_ISA_ZCMT);
	if ((code->params.isa & NT_ISA_ZCMT) && BITS(x, 12, 10) == 0)
		decode_table_jump(code, d, x);
	else if ((code->params.isa & NT_ISA_ZCMP) && (x & 0xfd00) == 0xbc00 &&
		 BITS(x, 7, 4) >= 4)
		set_jalr(d, 0, 1, 0);	/* CM.POPRET, CM.POPRETZ */
}

static void decode_16(struct nt_code *code, struct decoded *d, unsigned int x)
{
	switch (x & 0xe003) {
	case 0x0000:
		if (!x)
			set_traps(d);	/* defined as illegal */
		break;
	case 0x2001:
		if (code->params.xlen == 32)
			set_direct(d, NT_TYPE_CALL, imm_cj(x));
		break;
	case 0x6001:		/* C.LUI; rd 2 is C.ADDI16SP, immediate 0 something else */
		if (BITS(x, 11, 7) != 2 && (x & 0x107c)) {
			d->writes = BITS(x, 11, 7);
			d->value = sext(BITS(x, 12, 12) << 17 | BITS(x, 6, 2) << 12, 18);
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
			need_isa(code, d, NT_ISA_ZCB);
		break;
	case 0x8000:		/* C.LBU to C.SH */
		need_isa(code, d, NT_ISA_ZCB);
		break;
	case 0x8002:
		decode_cr(d, x);
		break;
	case 0xa002:
		decode_zcm(code, d, x);
		break;
	}
}

/* ---- what the caller told of */

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

/* The lengths agree, for mask and match settle theirs. */
static bool decode_told(const struct nt_code *code, struct decoded *d)
{
	uint32_t n;

	for (n = 0; n < code->params.nr_branches; n++) {
		const struct nt_branch *b = &code->params.branches[n];

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

static uint64_t get_raw(const uint8_t *bytes, unsigned int len)
{
	uint64_t raw = 0;
	unsigned int i;

	for (i = 0; i < len && i < 8; i++)
		raw |= (uint64_t)bytes[i] << 8 * i;
	return raw;
}

/* Length, or -NT_EUNMAPPED */
static int decode(struct nt_code *code, uint64_t pc, struct decoded *d)
{
	struct nt_insn *i = d->i;
	const uint8_t *bytes;

	memset(i, 0, sizeof(*i));
	i->pc = pc;
	d->mask = code->mask;
	d->writes = d->jumps_to = 0;
	d->table = false;
	if (!fetch(code, pc, 2, &bytes))
		return -NT_EUNMAPPED;
	i->len = insn_length(bytes[0] | bytes[1] << 8);
	if (!i->len) {
		i->len = 2;
		set_traps(d);
	} else if (!fetch(code, pc, i->len, &bytes)) {
		return -NT_EUNMAPPED;
	}
	i->raw = get_raw(bytes, i->len);
	if (i->flags & NT_INSN_TRAPS || decode_told(code, d))
		return i->len;
	if (i->len == 2)
		decode_16(code, d, (unsigned int)i->raw);
	else if (i->len == 4)
		decode_32(code, d, (uint32_t)i->raw);
	else
		i->flags |= NT_INSN_CUSTOM;
	return i->len;
}

int nt_code_insn(struct nt_code *code, uint64_t pc, struct nt_insn *insn)
{
	struct decoded d = { .i = insn };

	return decode(code, pc & code->mask & ~1ull, &d);
}

const char *nt_type_name(unsigned int type)
{
	static const char *const names[16] = {
		"none", "exception", "interrupt", "eret", "not", "cond", "trap", "?",
		"icall", "call", "ijump", "jump", "swap", "ret", "ijump", "jump",
	};

	return type < 16 ? names[type] : "?";
}

/* ------------------------------------------------------------- blocks ---- */

static enum nt_end end_of(const struct nt_insn *i)
{
	switch (i->type) {
	case NT_TYPE_COND:
		return NT_END_COND;
	case NT_TYPE_JUMP:
	case NT_TYPE_JUMP_LINK:
		return i->flags & NT_INSN_DIRECT ? NT_END_JUMP : NT_END_INDIRECT;
	case NT_TYPE_CALL:
		return i->flags & NT_INSN_DIRECT ? NT_END_CALL : NT_END_ICALL;
	case NT_TYPE_ICALL:
		return NT_END_ICALL;
	case NT_TYPE_RET:
		return NT_END_RET;
	case NT_TYPE_SWAP:
		return NT_END_SWAP;
	case NT_TYPE_IJUMP:
	case NT_TYPE_IJUMP_LINK:
	case NT_TYPE_ERET:
		return NT_END_INDIRECT;
	default:
		return NT_END_LINEAR;
	}
}

static void append(struct nt_block *blk, const struct nt_insn *i)
{
	blk->before = blk->halfwords;
	blk->halfwords += i->len / 2;
	blk->insns++;
}

/*
 * The instruction before wrote the register that this one jumps to.  Function
 * returns don't qualify, they are for the return stack.
 */
static void close_sequential(struct nt_block *blk, const struct decoded *d,
			     int written, uint64_t value)
{
	if (!written || d->jumps_to != written || blk->end == NT_END_RET)
		return;
	blk->seq = true;
	blk->target = (value + d->offset) & ~1ull & d->mask;
}

/* Does an instruction of this length, and for LUI the jump behind it, fit? */
static bool fits(const struct nt_code *code, const struct nt_block *blk,
		 const struct decoded *d)
{
	unsigned int need = d->i->len / 2;

	if (code->params.seqjump && d->writes)
		need += 2;
	return blk->halfwords + need <= NT_BLOCK_MAX;
}

/* Fill a block from blk->pc on.  0 or -NT_EUNMAPPED: not one instruction there. */
static int scan_block(struct nt_code *code, struct nt_block *blk)
{
	struct nt_insn insn;
	struct decoded d = { .i = &insn };
	uint64_t value = 0;
	int written = 0;

	for (;;) {
		uint64_t pc = nt_block_end(blk) & code->mask;
		int len = decode(code, pc, &d);

		if (len < 0 && !blk->halfwords)
			return len;
		/* pc < blk->pc: no block spans the end of the address space */
		if (len < 0 || pc < blk->pc || !fits(code, blk, &d))
			return 0;
		if (insn.flags & NT_INSN_TRAPS) {
			if (!blk->halfwords)
				blk->end = NT_END_TRAPS;
			return 0;
		}
		append(blk, &insn);
		blk->end = end_of(&insn);
		if (blk->end != NT_END_LINEAR)
			break;
		written = code->params.seqjump ? d.writes : 0;
		value = d.value;
	}
	blk->type = insn.type;
	blk->target = insn.target;
	blk->table = d.table;
	close_sequential(blk, &d, written, value);
	return 0;
}

int nt_code_part(struct nt_code *code, const struct nt_block *blk, unsigned int halfwords,
		 uint64_t *last)
{
	struct nt_insn insn;
	struct decoded d = { .i = &insn };
	unsigned int at = 0;
	int insns = 0, len;

	while (at < halfwords) {
		len = decode(code, blk->pc + 2 * at, &d);
		if (len < 0)
			return len;
		*last = insn.pc;
		at += len / 2;
		insns++;
	}
	return at == halfwords ? insns : -NT_EBOUNDARY;
}

/* -------------------------------------------------------------- graph ---- */

/*
 * The table is at most 3/4 full, and the array of blocks at most 1/8 larger than
 * need be, from some megabytes on: more often it would only cost time.
 */
#define MANY_BLOCKS	65536

static uint32_t table_room(const struct nt_code *code)
{
	return 3u << (code->table_bits - 2);
}

static void table_insert(struct nt_code *code, uint32_t n)
{
	const uint32_t wrap = (1u << code->table_bits) - 1;
	uint64_t hash = nt_code_hash(code->blocks[n].pc);
	uint32_t slot = nt_code_slot(code, hash);

	while (code->table[slot] != NT_BLOCK_NONE)
		slot = (slot + 1) & wrap;
	code->table[slot] = ((uint32_t)hash & ~NT_ENTRY_NUMBER) | n;
}

static bool is_free(const struct nt_block *blk)
{
	return blk->end == NT_END_LINEAR && !blk->halfwords;
}

static void table_fill(struct nt_code *code)
{
	uint32_t n;

	memset(code->table, 0xff, sizeof(*code->table) << code->table_bits);
	for (n = 0; n < code->nr_blocks; n++)
		if (!is_free(&code->blocks[n]))
			table_insert(code, n);
}

/* Not beside the old table: together they would be more than the blocks may take. */
static bool table_alloc(struct nt_code *code, unsigned int bits)
{
	uint32_t *table = realloc(code->table, sizeof(*table) << bits);

	if (!table)
		return false;
	code->table = table;
	code->table_bits = bits;
	table_fill(code);
	return true;
}

/* ---- pages that have blocks */

static bool pages_insert(struct nt_code *code, uint64_t page)
{
	const uint32_t wrap = (1u << code->page_bits) - 1;
	uint32_t slot = nt_code_hash(2 * page) >> (64 - code->page_bits);

	for (; code->pages[slot]; slot = (slot + 1) & wrap)
		if (code->pages[slot] == page + 1)
			return false;
	code->pages[slot] = page + 1;
	code->nr_pages++;
	return true;
}

static bool pages_have(const struct nt_code *code, uint64_t page)
{
	const uint32_t wrap = (1u << code->page_bits) - 1;
	uint32_t slot = nt_code_hash(2 * page) >> (64 - code->page_bits);

	for (; code->pages[slot]; slot = (slot + 1) & wrap)
		if (code->pages[slot] == page + 1)
			return true;
	return false;
}

/* The set of all blocks' pages, with room for twice as many */
static bool pages_fill(struct nt_code *code, unsigned int bits)
{
	uint64_t *pages = calloc((size_t)1 << bits, sizeof(*pages));
	uint32_t n;

	if (!pages)
		return false;
	free(code->pages);
	code->pages = pages;
	code->page_bits = bits;
	code->nr_pages = 0;
	for (n = 0; n < code->nr_blocks; n++)
		if (!is_free(&code->blocks[n]))
			pages_insert(code, code->blocks[n].pc >> NT_PAGE_SHIFT);
	return true;
}

/* A page for one more block */
static bool pages_room(struct nt_code *code)
{
	return code->nr_pages < 1u << (code->page_bits - 1) ||
	       pages_fill(code, code->page_bits + 1);
}

/* Room for one more block */
static bool make_room(struct nt_code *code)
{
	struct nt_block *blocks;
	uint32_t max;

	if (!pages_room(code))
		return false;
	if (code->nr_free)
		return true;
	/* the last number would not be told apart from an empty place */
	if (code->nr_blocks >= NT_ENTRY_NUMBER)
		return false;
	if (code->nr_blocks >= table_room(code) && !table_alloc(code, code->table_bits + 1))
		return false;
	if (code->nr_blocks < code->max_blocks)
		return true;
	max = code->max_blocks + code->max_blocks / (code->max_blocks < MANY_BLOCKS ? 1 : 8);
	blocks = realloc(code->blocks, (size_t)max * sizeof(*blocks));
	if (!blocks)
		return false;
	code->blocks = blocks;
	code->max_blocks = max;
	return true;
}

static uint32_t take_block(struct nt_code *code)
{
	uint32_t n = code->free;

	if (!code->nr_free)
		return code->nr_blocks++;
	code->free = code->blocks[n].fall;
	code->nr_free--;
	return n;
}

uint32_t nt_code_make(struct nt_code *code, uint64_t pc, int *error)
{
	struct nt_block blk = { .pc = pc, .taken = NT_BLOCK_NONE, .fall = NT_BLOCK_NONE };
	uint32_t n = nt_code_find(code, pc);

	if (scan_block(code, &blk)) {
		*error = NT_EUNMAPPED;
		return NT_BLOCK_NONE;
	}
	code->nr_tables += blk.table;
	if (n != NT_BLOCK_NONE) {	/* a stale one, which others lead to */
		code->blocks[n] = blk;
		code->nr_stale--;
		return n;
	}
	if (!make_room(code)) {
		code->nr_tables -= blk.table;
		*error = NT_ENOMEM;
		return NT_BLOCK_NONE;
	}
	n = take_block(code);
	code->blocks[n] = blk;
	table_insert(code, n);
	pages_insert(code, pc >> NT_PAGE_SHIFT);
	return n;
}

/* ------------------------------------------------------- invalidation ---- */

/*
 * A block whose code has changed becomes stale: empty, but still that at its
 * address, so what leads to it need not be looked for.  It is made again when
 * it is next met.  When most blocks are stale they go, all at once.
 */
#define STALE_MANY	1024

/* Bytes from a block's address that it may reach beyond */
#define BLOCK_REACH	(2 * NT_BLOCK_MAX - 1)

static void make_stale(struct nt_code *code, uint32_t n)
{
	struct nt_block *blk = &code->blocks[n];

	code->nr_tables -= blk->table;
	*blk = (struct nt_block){ .pc = blk->pc, .taken = NT_BLOCK_NONE, .fall = NT_BLOCK_NONE,
				  .end = NT_END_STALE };
	code->nr_stale++;
}

static bool overlaps(const struct nt_block *blk, uint64_t start, uint64_t last)
{
	/* an empty block stands for the instruction that ended it: at most 4 bytes */
	uint64_t bytes = blk->halfwords ? 2 * blk->halfwords : 4;

	return blk->pc <= last && (blk->pc >= start || start - blk->pc < bytes);
}

static void forget_page(struct nt_code *code, uint64_t page, uint64_t start, uint64_t last)
{
	uint64_t pc = page << NT_PAGE_SHIFT;
	unsigned int i;
	uint32_t n;

	for (i = 0; i < 1u << (NT_PAGE_SHIFT - 1) && pc <= last; i++, pc += 2) {
		if (pc < start && start - pc > BLOCK_REACH)
			continue;
		n = nt_code_find(code, pc);
		if (n != NT_BLOCK_NONE && code->blocks[n].end != NT_END_STALE &&
		    overlaps(&code->blocks[n], start, last))
			make_stale(code, n);
	}
}

static void forget_range(struct nt_code *code, uint64_t start, uint64_t last)
{
	const uint64_t first = (start > BLOCK_REACH ? start - BLOCK_REACH : 0) >> NT_PAGE_SHIFT;
	const uint64_t end = last >> NT_PAGE_SHIFT;
	uint64_t page;
	uint32_t i;

	if (end - first < 1u << code->page_bits) {
		for (page = first; page <= end; page++)
			if (pages_have(code, page))
				forget_page(code, page, start, last);
		return;
	}
	for (i = 0; i < 1u << code->page_bits; i++) {
		page = code->pages[i] - 1;
		if (code->pages[i] && page >= first && page <= end)
			forget_page(code, page, start, last);
	}
}

/* Where CM.JT and CM.JALT go stands in the table, which may have changed. */
static void forget_tables(struct nt_code *code, uint64_t start, uint64_t last)
{
	const uint64_t table = code->params.jvt & ~63ull;
	uint32_t n;

	if (!code->nr_tables || table > last || table + 32 * code->params.xlen - 1 < start)
		return;
	for (n = 0; n < code->nr_blocks; n++)
		if (code->blocks[n].table)
			make_stale(code, n);
}

static void drop_block(struct nt_code *code, uint32_t n)
{
	struct nt_block *blk = &code->blocks[n];

	memset(blk, 0, sizeof(*blk));
	blk->fall = code->free;
	code->free = n;
	code->nr_free++;
}

static void drop_stale(struct nt_code *code)
{
	uint32_t n;

	for (n = 0; n < code->nr_blocks; n++)
		if (code->blocks[n].end == NT_END_STALE)
			drop_block(code, n);
	code->nr_stale = 0;
	for (n = 0; n < code->nr_blocks; n++) {
		struct nt_block *blk = &code->blocks[n];

		if (is_free(blk))
			continue;
		if (blk->taken != NT_BLOCK_NONE && is_free(&code->blocks[blk->taken]))
			blk->taken = NT_BLOCK_NONE;
		if (blk->fall != NT_BLOCK_NONE && is_free(&code->blocks[blk->fall]))
			blk->fall = NT_BLOCK_NONE;
	}
	table_fill(code);
	/* without memory for another the old set will do: it has pages too many */
	pages_fill(code, code->page_bits);
}

void nt_code_invalidate(struct nt_code *code, uint64_t start, uint64_t end)
{
	const uint64_t last = end - 1;
	const uint32_t stale = code->nr_stale;

	code->window_len = 0;
	if (last < start)
		return;
	forget_range(code, start, last);
	forget_tables(code, start, last);
	if (code->nr_stale == stale)
		return;
	code->generation++;
	if (code->nr_stale > STALE_MANY &&
	    code->nr_stale > (code->nr_blocks - code->nr_free) / 2)
		drop_stale(code);
}

/* ------------------------------------------------------------ objects ---- */

#define FIRST_BLOCKS	256
#define FIRST_BITS	9
#define FIRST_PAGES	6

/* The caller's table may be gone when a block is made. */
static bool copy_branches(struct nt_params *params)
{
	size_t size = params->nr_branches * sizeof(*params->branches);
	struct nt_branch *copy = size ? malloc(size) : NULL;

	if (copy)
		memcpy(copy, params->branches, size);
	params->branches = copy;
	return copy || !size;
}

struct nt_code *nt_code_new(const struct nt_params *params, nt_read_fn read, void *ctx)
{
	struct nt_code *code;

	if (nt_params_check(params) || !read)
		return NULL;
	code = calloc(1, sizeof(*code));
	if (!code)
		return NULL;
	nt_params_get(params, &code->params);
	code->read = read;
	code->ctx = ctx;
	code->mask = code->params.xlen == 32 ? UINT32_MAX : UINT64_MAX;
	code->free = NT_BLOCK_NONE;
	code->max_blocks = FIRST_BLOCKS;
	code->blocks = malloc(FIRST_BLOCKS * sizeof(*code->blocks));
	if (!copy_branches(&code->params) || !code->blocks || !table_alloc(code, FIRST_BITS) ||
	    !pages_fill(code, FIRST_PAGES)) {
		nt_code_free(code);
		return NULL;
	}
	return code;
}

void nt_code_free(struct nt_code *code)
{
	if (!code)
		return;
	free(code->blocks);
	free(code->table);
	free(code->pages);
	free((void *)code->params.branches);
	free(code);
}

void nt_code_get_stats(const struct nt_code *code, struct nt_code_stats *stats)
{
	const struct nt_code_stats now = {
		.size = stats->size < sizeof(now) ? stats->size : sizeof(now),
		.blocks = code->nr_blocks - code->nr_free - code->nr_stale,
		.bytes = sizeof(*code) + code->max_blocks * sizeof(*code->blocks) +
			 (sizeof(*code->table) << code->table_bits) +
			 (sizeof(*code->pages) << code->page_bits),
	};

	memcpy(stats, &now, now.size);
}
