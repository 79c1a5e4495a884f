// SPDX-License-Identifier: GPL-2.0-only
/*
 * Instructions: what kind of transfer each is, where it goes, how long it is
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka-tap.h"
#include "nt-code.h"
#include "program.h"

#define C	NT_ISA_C
#define D	NT_ISA_D
#define MP	NT_ISA_ZCMP
#define MT	NT_ISA_ZCMT
#define NOWHERE	UINT64_MAX	/* not a direct transfer */

struct sample {
	const char *text;
	uint8_t xlen;
	uint32_t isa;
	uint64_t raw;
	uint8_t len;
	uint8_t type;
	uint64_t target;	/* from pc 0x1000 */
};

static const struct sample samples[] = {
	{ "jal x0", 64, C, 0x0000006f | 1 << 21, 4, NT_TYPE_JUMP, 0x1002 },
	{ "jal x1, -4", 64, C, 0xffdff0ef, 4, NT_TYPE_CALL, 0xffc },
	{ "jal x5, 1 MiB back", 64, C, 0x800002ef, 4, NT_TYPE_CALL, 0xfffffffffff01000 },
	{ "the same, RV32", 32, C, 0x800002ef, 4, NT_TYPE_CALL, 0xfff01000 },
	{ "jal x6", 64, C, 0x0000036f, 4, NT_TYPE_JUMP_LINK, 0x1000 },
	{ "jalr x0, x1", 64, C, 0x00008067, 4, NT_TYPE_RET, NOWHERE },
	{ "jalr x0, x5", 64, C, 0x00028067, 4, NT_TYPE_RET, NOWHERE },
	{ "jalr x6, x1", 64, C, 0x00008367, 4, NT_TYPE_RET, NOWHERE },
	{ "jalr x0, x6", 64, C, 0x00030067, 4, NT_TYPE_IJUMP, NOWHERE },
	{ "jalr x7, x6", 64, C, 0x000303e7, 4, NT_TYPE_IJUMP_LINK, NOWHERE },
	{ "jalr x1, x6", 64, C, 0x000300e7, 4, NT_TYPE_ICALL, NOWHERE },
	{ "jalr x1, x1", 64, C, 0x000080e7, 4, NT_TYPE_ICALL, NOWHERE },
	{ "jalr x5, x5", 64, C, 0x000282e7, 4, NT_TYPE_ICALL, NOWHERE },
	{ "jalr x1, x5", 64, C, 0x000280e7, 4, NT_TYPE_SWAP, NOWHERE },
	{ "jalr x5, x1", 64, C, 0x000082e7, 4, NT_TYPE_SWAP, NOWHERE },
	{ "jalr with funct3 1", 64, C, 0x00009067, 4, NT_TYPE_NONE, NOWHERE },
	{ "beq -4096", 64, C, 0x80000063, 4, NT_TYPE_COND, 0 },
	{ "bne +4094", 64, C, 0x7e001fe3, 4, NT_TYPE_COND, 0x1ffe },
	{ "blt", 64, C, 0x00004463, 4, NT_TYPE_COND, 0x1008 },
	{ "bgeu", 64, C, 0x00007463, 4, NT_TYPE_COND, 0x1008 },
	{ "branch with funct3 2", 64, C, 0x00002463, 4, NT_TYPE_NONE, NOWHERE },
	{ "branch with funct3 3", 64, C, 0x00003463, 4, NT_TYPE_NONE, NOWHERE },
	{ "beqi a0, 3, +8 (Zibi)", 64, C | NT_ISA_ZIBI, 0x00352463, 4, NT_TYPE_COND, 0x1008 },
	{ "bnei a0, -1, -4096 (Zibi)", 64, C | NT_ISA_ZIBI, 0x80053063, 4, NT_TYPE_COND, 0 },
	{ "beqi, RV32 (Zibi)", 32, C | NT_ISA_ZIBI, 0x00352463, 4, NT_TYPE_COND, 0x1008 },
	{ "beq under Zibi", 64, C | NT_ISA_ZIBI, 0x80000063, 4, NT_TYPE_COND, 0 },
	{ "ecall", 64, C, 0x00000073, 4, NT_TYPE_EXCEPTION, NOWHERE },
	{ "ebreak", 64, C, 0x00100073, 4, NT_TYPE_EXCEPTION, NOWHERE },
	{ "sret", 64, C, 0x10200073, 4, NT_TYPE_ERET, NOWHERE },
	{ "mret", 64, C, 0x30200073, 4, NT_TYPE_ERET, NOWHERE },
	{ "wfi", 64, C, 0x10500073, 4, NT_TYPE_NONE, NOWHERE },
	{ "sfence.vma", 64, C, 0x12000073, 4, NT_TYPE_NONE, NOWHERE },
	{ "csrw satp, x0", 64, C, 0x18001073, 4, NT_TYPE_NONE, NOWHERE },
	{ "auipc", 64, C, 0x00000097, 4, NT_TYPE_NONE, NOWHERE },
	{ "c.j -2048", 64, C, 0xb001, 2, NT_TYPE_JUMP, 0x800 },
	{ "c.j +2046", 64, C, 0xaffd, 2, NT_TYPE_JUMP, 0x17fe },
	{ "c.jal, RV32", 32, C, 0x2001, 2, NT_TYPE_CALL, 0x1000 },
	{ "c.addiw, RV64", 64, C, 0x2001, 2, NT_TYPE_NONE, NOWHERE },
	{ "c.beqz -256", 64, C, 0xd001, 2, NT_TYPE_COND, 0xf00 },
	{ "c.bnez +254", 64, C, 0xeffd, 2, NT_TYPE_COND, 0x10fe },
	{ "c.jr x1", 64, C, 0x8082, 2, NT_TYPE_RET, NOWHERE },
	{ "c.jr x5", 64, C, 0x8282, 2, NT_TYPE_RET, NOWHERE },
	{ "c.jr x6", 64, C, 0x8302, 2, NT_TYPE_IJUMP, NOWHERE },
	{ "c.jalr x1", 64, C, 0x9082, 2, NT_TYPE_ICALL, NOWHERE },
	{ "c.jalr x5", 64, C, 0x9282, 2, NT_TYPE_SWAP, NOWHERE },
	{ "c.jalr x6", 64, C, 0x9302, 2, NT_TYPE_ICALL, NOWHERE },
	{ "c.mv", 64, C, 0x852e, 2, NT_TYPE_NONE, NOWHERE },
	{ "c.add", 64, C, 0x952e, 2, NT_TYPE_NONE, NOWHERE },
	{ "c.ebreak", 64, C, 0x9002, 2, NT_TYPE_EXCEPTION, NOWHERE },
	{ "all zero", 64, C, 0x0000, 2, NT_TYPE_EXCEPTION, NOWHERE },
	{ "c.nop", 64, C, 0x0001, 2, NT_TYPE_NONE, NOWHERE },
	{ "c.fsdsp", 64, C | D, 0xbe02, 2, NT_TYPE_NONE, NOWHERE },
	{ "cm.popret", 64, C | MP, 0xbe42, 2, NT_TYPE_RET, NOWHERE },
	{ "cm.popretz", 64, C | MP, 0xbc42, 2, NT_TYPE_RET, NOWHERE },
	{ "cm.popret over c.fsdsp", 64, C | D | MP, 0xbe42, 2, NT_TYPE_RET, NOWHERE },
	{ "c.fsdsp under Zcmt alone", 64, C | MT, 0xbe42, 2, NT_TYPE_NONE, NOWHERE },
	{ "cm.pop", 64, C | MP, 0xba42, 2, NT_TYPE_NONE, NOWHERE },
	{ "cm.push", 64, C | MP, 0xb842, 2, NT_TYPE_NONE, NOWHERE },
	{ "cm.popret, reserved list", 64, C | MP, 0xbe32, 2, NT_TYPE_NONE, NOWHERE },
	{ "cm.mvsa01", 64, C | MP, 0xac22, 2, NT_TYPE_NONE, NOWHERE },
	{ "cm.jt 3", 64, C | MT, 0xa00e, 2, NT_TYPE_JUMP, 0xabc0 },
	{ "cm.jt 31", 64, C | MT, 0xa07e, 2, NT_TYPE_JUMP, 0 },
	{ "cm.jalt 32", 64, C | MT, 0xa082, 2, NT_TYPE_CALL, 0 },
	{ "cm.jalt 40", 64, C | MT, 0xa0a2, 2, NT_TYPE_CALL, 0xdef0 },
	{ "cm.jt without Zcmt", 64, C | MP, 0xa00e, 2, NT_TYPE_NONE, NOWHERE },
	{ "c.lbu (Zcb)", 64, C | NT_ISA_ZCB, 0x8000, 2, NT_TYPE_NONE, NOWHERE },
	{ "c.mul (Zcb)", 64, C | NT_ISA_ZCB, 0x9c41, 2, NT_TYPE_NONE, NOWHERE },
	{ "custom-0", 64, C, 0x0000000b, 4, NT_TYPE_NONE, NOWHERE },
	{ "48 bits", 64, C, 0x12345678901f, 6, NT_TYPE_NONE, NOWHERE },
	{ "64 bits", 64, C, 0x123456789abcdc3f, 8, NT_TYPE_NONE, NOWHERE },
	{ "80 bits", 64, C, 0x123456789abc007f, 10, NT_TYPE_NONE, NOWHERE },
	{ "176 bits", 64, C, 0x123456789abc607f, 22, NT_TYPE_NONE, NOWHERE },
	{ "192 bits and more", 64, C, 0xffff, 2, NT_TYPE_EXCEPTION, NOWHERE },
};

#define NR_SAMPLES (sizeof(samples) / sizeof(samples[0]))

static struct program *program_new(void)
{
	struct program *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	return p;
}

static void check_sample(const struct sample *s)
{
	struct program *p = program_new();
	struct nt_params params;
	struct nt_code *code;
	struct nt_insn insn;
	int len;

	nt_params_init(&params);
	params.xlen = s->xlen;
	params.isa = s->isa;
	params.jvt = 0x2000;
	org(p, 0x2000 + 3 * 8);
	put_bytes(p, 0xabc0, 8);
	org(p, 0x2000 + 31 * 8);
	put_bytes(p, 0, 16);
	org(p, 0x2000 + 40 * 8);
	put_bytes(p, 0xdef0, 8);
	org(p, 0x1000);
	put_bytes(p, s->raw, s->len < 8 ? s->len : 8);
	put_bytes(p, 0, s->len < 8 ? 0 : s->len - 8);

	code = nt_code_new(&params, program_read, p);
	assert_non_null(code);
	len = nt_code_insn(code, 0x1000, &insn);
	if (len != s->len || insn.type != s->type ||
	    (s->target == NOWHERE) != !(insn.flags & NT_INSN_DIRECT) ||
	    (s->target != NOWHERE && insn.target != s->target))
		fail_msg("%s: length %d, type %s, target %" PRIx64, s->text, len,
			 nt_type_name(insn.type), insn.target);
	assert_true(insn.raw == s->raw);
	assert_true(insn.pc == 0x1000);
	assert_int_equal(!!(insn.flags & NT_INSN_TRAPS), s->type == NT_TYPE_EXCEPTION);
	nt_code_free(code);
	free(p);
}

static void R138_R139_R187_classification(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < NR_SAMPLES; i++)
		check_sample(&samples[i]);
}

/* Encodings that only D, Zcb, Zcmp or Zcmt define are reserved where the ISA has none of these. */
static void R143_reserved_in_this_isa(void **state)
{
	static const struct {
		uint32_t isa, raw;
		bool custom;
	} cases[] = {
		{ 0, 0xbe02, false }, { C, 0xbe02, true }, { C | D, 0xbe02, false },
		{ C | MP, 0xbe42, false }, { C | MT, 0xa00e, false },
		{ 0, 0x8000, false }, { C | D, 0x8000, true }, { C | NT_ISA_ZCB, 0x8000, false },
		{ 0, 0x9c41, false }, { C | D, 0x9c41, true }, { C | NT_ISA_ZCB, 0x9c41, false },
		{ C, 0x9c01, false },	/* c.subw */
		{ C, 0x8c41, false },	/* c.or */
	};
	struct program *p = program_new();
	unsigned int i;

	(void)state;
	org(p, 0x1000);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct nt_params params;
		struct nt_code *code;
		struct nt_insn insn;

		nt_params_init(&params);
		params.isa = cases[i].isa;
		p->at = 0x1000;
		put_bytes(p, cases[i].raw, 2);
		code = nt_code_new(&params, program_read, p);
		assert_non_null(code);
		assert_int_equal(nt_code_insn(code, 0x1000, &insn), 2);
		if (!!(insn.flags & NT_INSN_CUSTOM) != cases[i].custom)
			fail_msg("isa %x, %x: flags %x", cases[i].isa, cases[i].raw, insn.flags);
		nt_code_free(code);
	}
	free(p);
}

/* An older caller's structure is shorter. */
static void figures_fit_the_caller(void **state)
{
	struct nt_code_stats stats;
	struct nt_params params;
	struct nt_code *code;

	(void)state;
	nt_params_init(&params);
	code = nt_code_new(&params, program_read, NULL);
	assert_non_null(code);
	memset(&stats, 0xa5, sizeof(stats));
	stats.size = offsetof(struct nt_code_stats, bytes);
	nt_code_get_stats(code, &stats);
	assert_int_equal(stats.size, offsetof(struct nt_code_stats, bytes));
	assert_int_equal(stats.blocks, 0);
	assert_true(stats.bytes == 0xa5a5a5a5a5a5a5a5);
	stats.size = sizeof(stats) + 8;
	nt_code_get_stats(code, &stats);
	assert_int_equal(stats.size, sizeof(stats));
	assert_true(stats.bytes > 0 && stats.bytes < 1 << 20);
	nt_code_free(code);
}

static void instructions_fit_the_caller(void **state)
{
	const size_t least = offsetof(struct nt_insn, flags) + 1;
	static struct program mem = { .base = 0x1000 };
	struct {
		struct nt_insn insn;
		uint8_t behind[32];
	} mine;
	struct nt_params params;
	struct nt_code *code;
	size_t size, i;

	(void)state;
	org(&mem, 0x1000);
	j(&mem, 0x1100);
	nt_params_init(&params);
	code = nt_code_new(&params, program_read, &mem);
	assert_non_null(code);
	for (size = least - 1; size <= sizeof(struct nt_insn) + 8; size++) {
		memset(&mine, 0xa5, sizeof(mine));
		assert_int_equal(nt_code_insn_sized(code, 0x1000, &mine.insn, size),
				 size < least ? -NT_EINVAL : 4);
		if (size >= least) {
			assert_int_equal(mine.insn.target, 0x1100);
			assert_int_equal(mine.insn.flags, NT_INSN_DIRECT);
		}
		for (i = size < least ? 0 : size; i < sizeof(mine); i++)
			assert_int_equal(((uint8_t *)&mine)[i], 0xa5);
	}
	nt_code_free(code);
}

static void half_an_instruction_is_none(void **state)
{
	struct program *p = program_new();
	struct nt_params params;
	struct nt_code *code;
	struct nt_insn insn;

	(void)state;
	nt_params_init(&params);
	org(p, 0x1000);
	put_bytes(p, 0x0533, 2);
	code = nt_code_new(&params, program_read, p);
	assert_int_equal(nt_code_insn(code, 0x1000, &insn), -NT_EUNMAPPED);
	assert_int_equal(nt_code_insn(code, 0x3000, &insn), -NT_EUNMAPPED);
	/* more of it arrives, from another piece of memory */
	org(p, 0x1002);
	put_bytes(p, 0x00b5, 2);
	nt_code_invalidate(code, 0x1000, 0x1004);
	assert_int_equal(nt_code_insn(code, 0x1000, &insn), 4);
	nt_code_free(code);
	free(p);
}

/* Memory that hands out one byte at a time */
static int read_single(void *ctx, uint64_t space, uint64_t addr, void *buf, size_t len)
{
	return program_read(ctx, space, addr, buf, len ? 1 : 0);
}

/* The instruction at pc, which must have this length */
static struct nt_insn insn_at(struct nt_code *code, uint64_t pc, int len)
{
	struct nt_insn insn;

	assert_int_equal(nt_code_insn(code, pc, &insn), len);
	return insn;
}

struct counted {
	struct program *p;
	unsigned int reads;
};

static int read_counted(void *ctx, uint64_t space, uint64_t addr, void *buf, size_t len)
{
	struct counted *c = ctx;

	c->reads++;
	return program_read(c->p, space, addr, buf, len);
}

/* Those of branches are asked for again and again, in any order. */
static void an_instruction_is_decoded_once(void **state)
{
	struct counted one = { program_new(), 0 }, other = { program_new(), 0 };
	struct nt_code *code, *second;
	struct nt_params params;
	struct nt_store *store;
	unsigned int i;

	(void)state;
	nt_params_init(&params);
	store = nt_store_new(&params, 1 << 20);
	code = nt_store_code(store, 0, read_counted, NULL, &one);
	second = nt_store_code(store, 0, read_counted, NULL, &other);
	for (i = 0; i < 2; i++) {
		org(one.p, 0x1000 + 0x1000 * i);
		put_bytes(one.p, 0x00008067, 4);
		org(other.p, 0x1000 + 0x1000 * i);
		put_bytes(other.p, 0x00000073, 4);
	}
	for (i = 0; i < 10; i++) {
		assert_int_equal(insn_at(code, 0x1000 + 0x1000 * (i % 2), 4).type, NT_TYPE_RET);
		assert_int_equal(insn_at(second, 0x1000, 4).type, NT_TYPE_EXCEPTION);
	}
	assert_int_equal(one.reads, 2);
	assert_int_equal(other.reads, 1);
	/* until it is another one */
	one.p->at = 0x1000;
	put_bytes(one.p, 0x8082, 2);
	nt_code_invalidate(code, 0x1000, 0x1002);
	assert_int_equal(insn_at(code, 0x1000, 2).raw, 0x8082);
	assert_int_equal(insn_at(code, 0x2000, 4).type, NT_TYPE_RET);
	nt_code_free(code);
	/* an address space that may be where the freed one was */
	code = nt_store_code(store, 0, read_counted, NULL, &other);
	assert_int_equal(insn_at(code, 0x1000, 4).type, NT_TYPE_EXCEPTION);
	nt_code_free(code);
	nt_code_free(second);
	nt_store_free(store);
	free(one.p);
	free(other.p);
}

struct told {
	struct counted counted;
	uint64_t pc[8];
	size_t len[8];
	unsigned int nr;
};

static void tell(void *ctx, uint64_t space, uint64_t pc, size_t len)
{
	struct told *t = ctx;

	assert_int_equal(space, 3);
	assert_true(t->nr < 8);
	t->pc[t->nr] = pc;
	t->len[t->nr++] = len;
}

/* The callback gets the blocks that are made, not the bytes read beyond them. */
static void told_of_blocks(void **state)
{
	struct told t = { .counted = { program_new(), 0 } };
	const struct nt_map *map;
	struct nt_params params;
	struct nt_store *store;
	struct nt_code *code;
	int error;

	(void)state;
	nt_params_init(&params);
	store = nt_store_new(&params, 1 << 20);
	code = nt_store_code(store, 3, read_counted, NULL, &t);
	nt_code_tell(code, tell);
	org(t.counted.p, 0x1000);
	put_bytes(t.counted.p, 0x0001, 2);
	put_bytes(t.counted.p, 0x00008067, 4);
	put_bytes(t.counted.p, 0x00008067, 4);
	assert_int_equal(insn_at(code, 0x1006, 4).type, NT_TYPE_RET);
	assert_int_equal(t.nr, 0);
	map = nt_code_map(code, 0x1000, &error);
	assert_non_null(map);
	assert_int_not_equal(nt_code_block(code, &map, 0x1000, &error), NT_BLOCK_NONE);
	assert_int_not_equal(nt_code_block(code, &map, 0x1000, &error), NT_BLOCK_NONE);
	assert_int_equal(t.nr, 1);
	assert_int_equal(t.pc[0], 0x1000);
	assert_int_equal(t.len[0], 6);
	nt_code_free(code);
	nt_store_free(store);
	free(t.counted.p);
}

static void short_reads(void **state)
{
	struct program *p = program_new();
	struct nt_params params;
	struct nt_code *code;

	(void)state;
	nt_params_init(&params);
	params.isa = NT_ISA_ZCMT;
	params.jvt = 0x2000;
	org(p, 0x1000);
	put_bytes(p, 0x12345678901f, 6);
	org(p, 0x1006);
	put_bytes(p, 0xa002, 2);
	org(p, 0x2000);
	put_bytes(p, 0x12345678, 8);
	code = nt_code_new(&params, read_single, p);
	assert_true(insn_at(code, 0x1000, 6).raw == 0x12345678901f);
	assert_true(insn_at(code, 0x1006, 2).target == 0x12345678);
	nt_code_free(code);
	free(p);
}

/* Branches that the caller tells of, as the decoder and as the encoder read them, from pc 0x1000 */
static void told_branches(void **state)
{
	static const struct {
		const char *text;
		uint8_t xlen;
		uint64_t raw;
		uint8_t len, type;
		uint64_t target;
	} cases[] = {
		{ "0x707f/0x600b", 64, 0x0035640b | 1u << 31, 4, NT_TYPE_COND, 0x8 },
		{ "0x707f/0x600b", 64, 0x0035640b, 4, NT_TYPE_COND, 0x1008 },
		{ "0x707f/0x600b:cond:b", 32, 0x8005600b, 4, NT_TYPE_COND, 0 },
		{ "0x707f/0x600b", 64, 0x0035740b, 4, NT_TYPE_NONE, NOWHERE },
		{ "0xfff/0x02b:jump", 64, 0x0010002b | 7 << 21, 4, NT_TYPE_JUMP, 0x180e },
		{ "0xfff/0x0ab:call:j", 64, 0xffdff0ab, 4, NT_TYPE_CALL, 0xffc },
		{ "0xfff/0x0ab:call:j", 32, 0x800000ab, 4, NT_TYPE_CALL, 0xfff01000 },
		{ "0x7f/0x5b:ret", 64, 0xfffff0db, 4, NT_TYPE_RET, NOWHERE },
		{ "0x7f/0x5b:icall", 64, 0x0000005b, 4, NT_TYPE_ICALL, NOWHERE },
		{ "0x7f/0x5b:ijump", 64, 0x0000005b, 4, NT_TYPE_IJUMP, NOWHERE },
		{ "0x7f/0x5b:swap", 64, 0x0000005b, 4, NT_TYPE_SWAP, NOWHERE },
		{ "0xe003/0x8000", 64, 0x9ffc, 2, NT_TYPE_COND, 0xffe },
		{ "0xe003/0x8000:jump", 64, 0x9000, 2, NT_TYPE_JUMP, 0x800 },
		/* 10 bits, the sign at the top of the instruction */
		{ "0x707f/0x505b:cond:31@10,29-25@5,11-8@1", 64, 0x8000505b, 4, NT_TYPE_COND,
		  0xc00 },
		{ "0x707f/0x505b:cond:31@10,29-25@5,11-8@1", 64, 0x7e005fdb, 4, NT_TYPE_COND,
		  0x13fe },
		/* of 48 and 64 bits; forwards and backwards by more than 2 GiB */
		{ "0x7f/0x1f:jump:47-16@1", 64, 0x80000000001f, 6, NT_TYPE_JUMP,
		  0xffffffff00001000 },
		{ "0x7f/0x1f:call:47-16@1", 64, 0x00000002001f, 6, NT_TYPE_CALL, 0x1004 },
		{ "0xff/0x3f:jump:63-8@8", 64, 0x7fffffffffffff3f, 8, NT_TYPE_JUMP,
		  0x8000000000000f00 },
		/* what the library knows as something else */
		{ "0x707f/0x0067:cond", 64, 0x00050467, 4, NT_TYPE_COND, 0x1008 },
		{ "0xffffffff/0x00000073:ijump", 64, 0x00000073, 4, NT_TYPE_IJUMP, NOWHERE },
	};
	struct program *p = program_new();
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct nt_branch *branch = malloc(sizeof(*branch));
		struct nt_params params;
		struct nt_code *code;
		struct nt_enc_op op;
		struct nt_insn insn;
		bool direct = cases[i].target != NOWHERE;

		assert_int_equal(nt_branch_parse(cases[i].text, branch), 0);
		nt_params_init(&params);
		params.xlen = cases[i].xlen;
		params.branches = branch;
		params.nr_branches = 1;
		org(p, 0x1000);
		put_bytes(p, cases[i].raw, cases[i].len);
		code = nt_code_new(&params, program_read, p);
		assert_non_null(code);
		nt_enc_classify(&params, 0x1000, cases[i].raw, cases[i].len, &op);
		/* the table was copied */
		memset(branch, 0xff, sizeof(*branch));
		free(branch);
		assert_int_equal(nt_code_insn(code, 0x1000, &insn), cases[i].len);
		if (insn.type != cases[i].type || !(insn.flags & NT_INSN_DIRECT) == direct ||
		    (direct && insn.target != cases[i].target))
			fail_msg("%s, %" PRIx64 ": %s to %" PRIx64, cases[i].text, cases[i].raw,
				 nt_type_name(insn.type), insn.target);
		if (op.type != cases[i].type || (direct && op.target != cases[i].target))
			fail_msg("%s, %" PRIx64 ", encoder: %s to %" PRIx64, cases[i].text,
				 cases[i].raw, nt_type_name(op.type), op.target);
		/* a branch that is known may not do just anything */
		assert_int_equal(!!(insn.flags & NT_INSN_CUSTOM), cases[i].type == NT_TYPE_NONE);
		assert_false(insn.flags & NT_INSN_TRAPS);
		nt_code_free(code);
	}
	free(p);
}

/* Several in one table, in any order */
static void the_branch_that_fits(void **state)
{
	static const char *const texts[] = { "0xfff/0x02b:jump", "0x707f/0x600b",
					     "0xe003/0x8000:jump" };
	struct nt_branch branches[3];
	struct program *p = program_new();
	struct nt_params params;
	struct nt_code *code;
	unsigned int i;

	(void)state;
	nt_params_init(&params);
	params.branches = branches;
	params.nr_branches = 3;
	for (i = 0; i < 3; i++)
		assert_int_equal(nt_branch_parse(texts[i], &branches[i]), 0);
	org(p, 0x1000);
	put_bytes(p, 0x0035640b, 4);
	put_bytes(p, 0x9000, 2);
	put_bytes(p, 0x0010002b, 4);
	code = nt_code_new(&params, program_read, p);
	assert_int_equal(insn_at(code, 0x1000, 4).type, NT_TYPE_COND);
	assert_true(insn_at(code, 0x1004, 2).target == 0x804);
	assert_true(insn_at(code, 0x1006, 4).target == 0x1806);
	nt_code_free(code);
	free(p);
}

static void type_names(void **state)
{
	(void)state;
	assert_string_equal(nt_type_name(NT_TYPE_COND), "cond");
	assert_string_equal(nt_type_name(NT_TYPE_IJUMP_LINK), "ijump");
	assert_string_equal(nt_type_name(NT_TYPE_JUMP_LINK), "jump");
	assert_string_equal(nt_type_name(NT_TYPE_TRAP), "trap");
	assert_string_equal(nt_type_name(1000), "?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(R138_R139_R187_classification),
		cmocka_unit_test(R143_reserved_in_this_isa),
		cmocka_unit_test(figures_fit_the_caller),
		cmocka_unit_test(instructions_fit_the_caller),
		cmocka_unit_test(half_an_instruction_is_none),
		cmocka_unit_test(an_instruction_is_decoded_once),
		cmocka_unit_test(told_of_blocks),
		cmocka_unit_test(short_reads),
		cmocka_unit_test(told_branches),
		cmocka_unit_test(the_branch_that_fits),
		cmocka_unit_test(type_names),
	};

	return RUN_TAP(tests);
}
