// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tandem-verification codec: the protocol's examples both ways, every item
 * written and read back at random, every truncation, every illegal field.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nt-tv.h"

static const struct nt_tv_params rv64 = NT_TV_PARAMS_RV64;

/* ------------------------------------------------------- items as a tool */

static bool has_data(const struct nt_tv_item *it)
{
	return it->opcode != NT_TV_MEMREQ || it->bytes;
}

static void write_state(struct nt_tv_writer *w, const struct nt_tv_item *it)
{
	switch (it->ident) {
	case NT_TV_PRIV:
		nt_tv_priv(w, (unsigned int)it->value);
		break;
	case NT_TV_PADDR:
		nt_tv_paddr(w, it->value);
		break;
	case NT_TV_EADDR:
		nt_tv_eaddr(w, it->value);
		break;
	case NT_TV_PC_PADDR:
		nt_tv_pc_paddr(w, it->value);
		break;
	case NT_TV_MTIME:
		nt_tv_mtime(w, it->value);
		break;
	case NT_TV_PC:
		nt_tv_pc(w, it->value);
		break;
	default:
		nt_tv_store_data(w, it->ident - NT_TV_STORE8, it->value);
	}
}

static void write_item(struct nt_tv_writer *w, const struct nt_tv_item *it)
{
	switch (it->opcode) {
	case NT_TV_BEGIN:
		nt_tv_begin(w);
		break;
	case NT_TV_END:
		nt_tv_end(w);
		break;
	case NT_TV_INCPC:
		nt_tv_incpc(w);
		break;
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
		write_state(w, it);
		break;
	case NT_TV_MEMREQ:
		nt_tv_memreq(w, it->memop, it->memsize, it->addr, has_data(it) ? it->value : ~0ull);
		break;
	case NT_TV_MEMRSP:
		nt_tv_memrsp(w, it->memop, it->memsize, it->result, it->value);
		break;
	case NT_TV_RESET:
		nt_tv_hart_reset(w);
		break;
	case NT_TV_INIT:
		nt_tv_state_init(w);
		break;
	case NT_TV_INSN16:
		nt_tv_insn16(w, (uint16_t)it->value);
		break;
	case NT_TV_INSN32:
		nt_tv_insn32(w, (uint32_t)it->value);
		break;
	default:
		fail();
	}
}

static void assert_same(const struct nt_tv_item *a, const struct nt_tv_item *b)
{
	assert_int_equal(a->opcode, b->opcode);
	assert_int_equal(a->value, b->value);
	assert_int_equal(a->addr, b->addr);
	assert_int_equal(a->reg, b->reg);
	assert_int_equal(a->ident, b->ident);
	assert_int_equal(a->bytes, b->bytes);
	assert_int_equal(a->memop, b->memop);
	assert_int_equal(a->memsize, b->memsize);
	assert_int_equal(a->result, b->result);
}

/* ----------------------------------------------------- appendix C, 1 to 8 */

struct example {
	const char *name;
	const char *bytes;		/* as printed, but see the comments */
	struct nt_tv_item items[12];
};

#define I_BEGIN		{ .opcode = NT_TV_BEGIN }
#define I_END		{ .opcode = NT_TV_END }
#define I_INCPC		{ .opcode = NT_TV_INCPC }
#define I_INSN16(v)	{ .opcode = NT_TV_INSN16, .value = (v), .bytes = 2 }
#define I_INSN32(v)	{ .opcode = NT_TV_INSN32, .value = (v), .bytes = 4 }
#define I_REG(r, v)	{ .opcode = NT_TV_REG, .reg = (r), .value = (v), .bytes = 8 }
#define I_REG_OR(r, v)	{ .opcode = NT_TV_REG_OR, .reg = (r), .value = (v), .bytes = 1 }
#define I_PC(v)		{ .opcode = NT_TV_STATE, .ident = NT_TV_PC, .value = (v), .bytes = 8 }
#define I_PRIV(v)	{ .opcode = NT_TV_STATE, .ident = NT_TV_PRIV, .value = (v), .bytes = 1 }
#define I_PADDR(v)	{ .opcode = NT_TV_STATE, .ident = NT_TV_PADDR, .value = (v), .bytes = 8 }

/* Identifier of the pc: 0a as chapter 2 says. C.5: instruction opcode 11, printed 10. */
static const struct example examples[] = {
	{ "C.1 add gp, t0, t1",
	  "01 03 11 b3 81 62 00 04 03 10 34 12 00 00 00 00 00 00 02",
	  { I_BEGIN, I_INCPC, I_INSN32(0x006281b3), I_REG(0x1003, 0x1234), I_END } },
	{ "C.2 jr 256(sp)",
	  "01 07 0a 00 01 00 0c 00 00 00 00 11 67 00 01 10 02",
	  { I_BEGIN, I_PC(0x0c000100), I_INSN32(0x10010067), I_END } },
	{ "C.3 fadd.s ft7, fa3, fa7",
	  "01 03 11 d3 f3 16 01 04 27 10 f9 f4 fe 66 ff ff ff ff 06 03 00 01 02",
	  { I_BEGIN, I_INCPC, I_INSN32(0x0116f3d3), I_REG(0x1027, 0xffffffff66fef4f9),
	    I_REG_OR(3, 1), I_END } },
	{ "C.4 c.sub a0, a1",
	  "01 03 10 0d 8d 04 10 10 78 56 34 12 ff ff ff ff 02",
	  { I_BEGIN, I_INCPC, I_INSN16(0x8d0d), I_REG(0x1010, 0xffffffff12345678), I_END } },
	{ "C.5 lw tp, 8(t0)",
	  "01 03 11 03 a2 82 00 04 04 10 aa 55 aa 55 aa 55 aa 55 07 02 08 00 00 01 00 00 00 00 02",
	  { I_BEGIN, I_INCPC, I_INSN32(0x0082a203), I_REG(0x1004, 0x55aa55aa55aa55aa),
	    I_PADDR(0x01000008), I_END } },
	{ "C.6 csrrc s1, mie, a1",
	  "01 03 11 f3 b4 45 30 04 09 10 88 08 00 00 00 00 00 00"
	  " 04 04 03 80 08 00 00 00 00 00 00 02",
	  { I_BEGIN, I_INCPC, I_INSN32(0x3045b4f3), I_REG(0x1009, 0x888), I_REG(0x304, 0x880),
	    I_END } },
	{ "C.7 illegal instruction",
	  "01 07 0a 00 00 01 00 00 00 00 00 11 00 00 00 00 04 41 03 34 12 08 00 00 00 00 00"
	  " 04 42 03 02 00 00 00 00 00 00 00 04 00 03 b0 18 00 00 0a 00 00 00"
	  " 04 43 03 00 00 00 00 00 00 00 00 07 01 03 02",
	  { I_BEGIN, I_PC(0x10000), I_INSN32(0), I_REG(0x341, 0x81234), I_REG(0x342, 2),
	    I_REG(0x300, 0xa000018b0), I_REG(0x343, 0), I_PRIV(3), I_END } },
	{ "C.8 interrupt",
	  "01 07 0a 00 00 01 00 00 00 00 00 04 41 03 56 12 08 00 00 00 00 00"
	  " 04 42 03 03 00 00 00 00 00 00 80 04 00 03 b0 18 00 00 0a 00 00 00"
	  " 04 43 03 00 00 00 00 00 00 00 00 07 01 03 02",
	  { I_BEGIN, I_PC(0x10000), I_REG(0x341, 0x81256), I_REG(0x342, 0x8000000000000003),
	    I_REG(0x300, 0xa000018b0), I_REG(0x343, 0), I_PRIV(3), I_END } },
};

static size_t from_hex(const char *hex, uint8_t *out)
{
	size_t n = 0;
	char *end;

	for (;; hex = end) {
		unsigned long v = strtoul(hex, &end, 16);

		if (end == hex)
			return n;
		out[n++] = (uint8_t)v;
	}
}

static size_t write_example(const struct example *ex, const struct nt_tv_params *p, uint8_t *out,
			    size_t size)
{
	struct nt_tv_writer w;

	assert_int_equal(nt_tv_writer_init(&w, p, out, size, NULL, NULL), 0);
	for (const struct nt_tv_item *it = ex->items; it->opcode; it++)
		write_item(&w, it);
	assert_int_equal(w.error, 0);
	return nt_tv_written(&w);
}

static void read_example(const struct example *ex, const uint8_t *buf, size_t len)
{
	const struct nt_tv_item *want = ex->items;
	struct nt_tv_reader r;
	struct nt_tv_item it;
	size_t at = 0;
	int n;

	assert_int_equal(nt_tv_reader_init(&r, &rv64), 0);
	for (; at < len; at += (size_t)n, want++) {
		n = nt_tv_next(&r, buf + at, len - at, &it);
		assert_true(n > 0);
		assert_int_equal(it.offset, at);
		assert_same(&it, want);
	}
	assert_int_equal(want->opcode, 0);
}

static void test_version(void **state)
{
	(void)state;
	assert_int_equal(nt_tv_version(), LIBNTRACE_TV_VERSION);
	assert_true(LIBNTRACE_TV_VERSION >= LIBNTRACE_TV_VERSION_OF(0, 1, 0));
	assert_true(LIBNTRACE_TV_VERSION < LIBNTRACE_TV_VERSION_OF(1, 0, 0));
}

static void test_examples_read(void **state)
{
	uint8_t buf[128];

	(void)state;
	for (size_t i = 0; i < sizeof(examples) / sizeof(*examples); i++)
		read_example(&examples[i], buf, from_hex(examples[i].bytes, buf));
}

static void test_examples_write(void **state)
{
	uint8_t want[128], got[128];
	size_t len;

	(void)state;
	for (size_t i = 0; i < sizeof(examples) / sizeof(*examples); i++) {
		len = from_hex(examples[i].bytes, want);
		assert_int_equal(write_example(&examples[i], &rv64, got, sizeof(got)), len);
		assert_memory_equal(got, want, len);
	}
}

/* C.2, C.7 and C.8 letter by letter: `10` for the pc */
static void test_examples_as_printed(void **state)
{
	static const struct nt_tv_params printed = { sizeof(printed), 64, 64, 64,
						     NT_TV_P_PRINTED_PC };
	uint8_t want[128], got[128];
	size_t len;

	(void)state;
	for (size_t i = 0; i < sizeof(examples) / sizeof(*examples); i++) {
		len = from_hex(examples[i].bytes, want);
		if (want[1] == NT_TV_STATE)
			want[2] = 0x10;
		read_example(&examples[i], want, len);
		assert_int_equal(write_example(&examples[i], &printed, got, sizeof(got)), len);
		assert_memory_equal(got, want, len);
	}
}

static void test_pc_readings_differ(void **state)
{
	static const struct nt_tv_params strict = { sizeof(strict), 64, 64, 64, NT_TV_P_STRICT };
	static const uint8_t chapter2[] = { 7, 0x0a, 1, 2, 3, 4, 5, 6, 7, 8 };
	static const uint8_t printed[] = { 7, 0x10, 1, 2, 3, 4, 5, 6, 7, 8 };
	struct nt_tv_reader r;
	struct nt_tv_item it;

	(void)state;
	assert_int_equal(nt_tv_reader_init(&r, &rv64), 0);
	assert_int_equal(nt_tv_next(&r, chapter2, 10, &it), 10);
	assert_int_equal(it.flags, 0);
	assert_int_equal(nt_tv_next(&r, printed, 10, &it), 10);
	assert_int_equal(it.ident, NT_TV_PC);
	assert_int_equal(it.value, 0x0807060504030201);
	assert_int_equal(it.flags, NT_TV_F_PRINTED_PC);

	assert_int_equal(nt_tv_reader_init(&r, &strict), 0);
	assert_int_equal(nt_tv_next(&r, chapter2, 10, &it), 10);
	assert_int_equal(nt_tv_next(&r, printed, 10, &it), -NT_TV_EIDENT);
	assert_int_equal(r.offset, 10);
	assert_int_equal(r.bad, 1);
}

/* With the opcode that C.5 prints, its second half would be an unknown opcode. */
static void test_c5_erratum(void **state)
{
	struct nt_tv_reader r;
	struct nt_tv_item it;
	uint8_t buf[8];
	size_t len = from_hex("01 03 10 03 a2 82 00", buf);

	(void)state;
	assert_int_equal(nt_tv_reader_init(&r, &rv64), 0);
	assert_int_equal(nt_tv_next(&r, buf, len, &it), 1);
	assert_int_equal(nt_tv_next(&r, buf + 1, len - 1, &it), 1);
	assert_int_equal(nt_tv_next(&r, buf + 2, len - 2, &it), 3);
	assert_int_equal(nt_tv_next(&r, buf + 5, len - 5, &it), -NT_TV_EOPCODE);
	assert_int_equal(r.offset, 5);
}

/* ------------------------------------------------------- exact layouts */

static void assert_bytes(struct nt_tv_writer *w, const char *hex)
{
	uint8_t want[64];
	size_t len = from_hex(hex, want);

	assert_int_equal((size_t)(w->pos - w->buf), len);
	assert_memory_equal(w->buf, want, len);
	w->pos = w->buf;
}

static void test_layout_rv64(void **state)
{
	struct nt_tv_writer w;
	uint8_t buf[64];

	(void)state;
	assert_int_equal(nt_tv_writer_init(&w, &rv64, buf, sizeof(buf), NULL, NULL), 0);
	nt_tv_memreq(&w, NT_TV_STORE, 2, 0x1122334455667788, 0xaabbccdd);
	assert_bytes(&w, "08 88 77 66 55 44 33 22 11 21 dd cc bb aa");
	nt_tv_memrsp(&w, NT_TV_STORE, 2, NT_TV_SUCCESS, 0xffff);
	assert_bytes(&w, "09 02");
	nt_tv_memreq(&w, NT_TV_LOAD, 3, 0x1000, 0xffff);
	assert_bytes(&w, "08 00 10 00 00 00 00 00 00 30");
	nt_tv_memrsp(&w, NT_TV_LOAD, 3, NT_TV_FAILURE, 0x0102030405060708);
	assert_bytes(&w, "09 13 08 07 06 05 04 03 02 01");
	nt_tv_memreq(&w, NT_TV_MAXU, 0, 1, 0x155);
	assert_bytes(&w, "08 01 00 00 00 00 00 00 00 0c 55");
	nt_tv_memreq(&w, NT_TV_FETCH, 1, 2, 0);
	assert_bytes(&w, "08 02 00 00 00 00 00 00 00 1d");
	nt_tv_store_data(&w, 1, 0x12345);
	assert_bytes(&w, "07 05 45 23");
	nt_tv_reg_add(&w, 0x1002, -16);
	assert_bytes(&w, "05 02 10 f0");
	nt_tv_step(&w, 0x8d0d, 2);
	assert_bytes(&w, "01 03 10 0d 8d");
	nt_tv_step(&w, 0x006281b3, 4);
	assert_bytes(&w, "01 03 11 b3 81 62 00");
	nt_tv_jump(&w, 0x0c000100, 0x10010067, 4);
	assert_bytes(&w, "01 07 0a 00 01 00 0c 00 00 00 00 11 67 00 01 10");
	nt_tv_jump(&w, 0x0c000100, 0x8082, 2);
	assert_bytes(&w, "01 07 0a 00 01 00 0c 00 00 00 00 10 82 80");
	nt_tv_hart_reset(&w);
	nt_tv_state_init(&w);
	assert_bytes(&w, "0a 0b");
	assert_int_equal(w.error, 0);
}

static void test_layout_rv32(void **state)
{
	static const struct nt_tv_params sv32 = { sizeof(sv32), 32, 64, 34, 0 };
	static const struct nt_tv_params bare = { sizeof(bare), 32, 32, 32, 0 };
	struct nt_tv_writer w;
	uint8_t buf[64];

	(void)state;
	assert_int_equal(nt_tv_writer_init(&w, &sv32, buf, sizeof(buf), NULL, NULL), 0);
	nt_tv_reg(&w, 0x1005, 0xffffffff80000001);
	assert_bytes(&w, "04 05 10 01 00 00 80");
	nt_tv_reg(&w, 0x103f, 0x0102030405060708);
	assert_bytes(&w, "04 3f 10 08 07 06 05 04 03 02 01");
	nt_tv_reg(&w, 0x1040, 1);
	assert_bytes(&w, "04 40 10 01 00 00 00");
	nt_tv_pc(&w, 0x80001234);
	assert_bytes(&w, "07 0a 34 12 00 80");
	nt_tv_paddr(&w, 0x380001234);
	assert_bytes(&w, "07 02 34 12 00 80 03");
	nt_tv_pc_paddr(&w, 0x380001234);
	assert_bytes(&w, "07 09 34 12 00 80 03");
	nt_tv_mtime(&w, 0x0102030405060708);
	assert_bytes(&w, "07 08 08 07 06 05 04 03 02 01");
	nt_tv_memreq(&w, NT_TV_SWAP, 2, 0x2fffffffc, 0x55);
	assert_bytes(&w, "08 fc ff ff ff 02 24 55 00 00 00");

	assert_int_equal(nt_tv_writer_init(&w, &bare, buf, sizeof(buf), NULL, NULL), 0);
	nt_tv_reg(&w, 0x1020, 0x0102030405060708);
	assert_bytes(&w, "04 20 10 08 07 06 05");
	nt_tv_eaddr(&w, 0x80001234);
	assert_bytes(&w, "07 03 34 12 00 80");
}

/* --------------------------------------------------- random round trips */

static uint64_t seed = 0x9e3779b97f4a7c15;

static uint64_t rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static uint64_t low_bytes(uint64_t v, unsigned int bytes)
{
	return bytes >= 8 ? v : v & ((1ull << 8 * bytes) - 1);
}

static uint64_t rnd_addr(const struct nt_tv_params *p)
{
	return p->mlen == 64 ? rnd() : rnd() & ((1ull << p->mlen) - 1);
}

static void random_reg(const struct nt_tv_params *p, struct nt_tv_item *it)
{
	it->reg = (uint16_t)(rnd() & 1 ? rnd() : 0x1000 + rnd() % 0x48);
	it->bytes = 1;
	it->value = rnd() & 0xff;
	if (it->opcode == NT_TV_REG_ADD)
		it->value = (uint64_t)(int8_t)it->value;
	if (it->opcode != NT_TV_REG)
		return;
	it->bytes = (it->reg >> 5 == 0x1020 >> 5 ? p->flen : p->xlen) / 8;
	it->value = low_bytes(rnd(), it->bytes);
}

static void random_state(const struct nt_tv_params *p, struct nt_tv_item *it)
{
	const uint8_t mbytes = p->mlen == 34 ? 5 : p->mlen / 8;
	const uint8_t bytes[] = { 0, 1, mbytes, mbytes, 1, 2, 4, 8, 8, mbytes, p->xlen / 8 };

	it->ident = (uint8_t)(1 + rnd() % 10);
	it->bytes = bytes[it->ident];
	it->value = it->ident == NT_TV_PRIV ? rnd() & 3 : low_bytes(rnd(), it->bytes);
	if (it->bytes == mbytes && mbytes == 5)
		it->value = rnd_addr(p);
}

static void random_item(const struct nt_tv_params *p, const struct nt_tv_item *prev,
			struct nt_tv_item *it)
{
	static const uint8_t opcodes[] = { 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 16, 17 };
	static const uint8_t request[] = { 0, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0 };
	static const uint8_t response[] = { 1, 0, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };

	memset(it, 0, sizeof(*it));
	it->opcode = opcodes[rnd() % sizeof(opcodes)];
	if (prev->opcode == NT_TV_MEMREQ && rnd() & 1)
		it->opcode = NT_TV_MEMRSP;
	switch (it->opcode) {
	case NT_TV_REG:
	case NT_TV_REG_ADD:
	case NT_TV_REG_OR:
		random_reg(p, it);
		break;
	case NT_TV_STATE:
		random_state(p, it);
		break;
	case NT_TV_MEMREQ:
		it->memop = (uint8_t)(rnd() % 14);
		it->memsize = rnd() & 3;
		it->addr = rnd_addr(p);
		it->bytes = (uint8_t)(request[it->memop] << it->memsize);
		it->value = low_bytes(rnd(), it->bytes);
		break;
	case NT_TV_MEMRSP:
		it->memop = prev->memop;
		it->memsize = rnd() & 3;
		it->result = rnd() & 1;
		it->bytes = (uint8_t)(response[it->memop] << it->memsize);
		it->value = low_bytes(rnd(), it->bytes);
		break;
	case NT_TV_INSN16:
	case NT_TV_INSN32:
		it->bytes = it->opcode == NT_TV_INSN16 ? 2 : 4;
		it->value = low_bytes(rnd(), it->bytes);
	}
}

#define ITEMS 4000

static void round_trip(const struct nt_tv_params *p)
{
	static struct nt_tv_item items[ITEMS + 1];
	static uint8_t buf[ITEMS * NT_TV_ITEM_MAX];
	struct nt_tv_writer w;
	struct nt_tv_reader r;
	struct nt_tv_item it;
	size_t at = 0, len;

	assert_int_equal(nt_tv_writer_init(&w, p, buf, sizeof(buf), NULL, NULL), 0);
	assert_int_equal(nt_tv_reader_init(&r, p), 0);
	for (int i = 1; i <= ITEMS; i++) {
		random_item(p, &items[i - 1], &items[i]);
		write_item(&w, &items[i]);
	}
	assert_int_equal(w.error, 0);
	len = nt_tv_written(&w);
	for (int i = 1; i <= ITEMS; i++) {
		int n = nt_tv_next(&r, buf + at, len - at, &it);

		assert_true(n > 0);
		assert_same(&it, &items[i]);
		/* cut anywhere, it asks for more and does not move */
		for (int cut = 0; cut < n; cut++) {
			struct nt_tv_reader copy = r;
			struct nt_tv_item poison;

			copy.offset -= (unsigned int)n;
			copy.request = items[i].opcode == NT_TV_MEMRSP ?
				       (int8_t)items[i].memop : -1;
			assert_int_equal(nt_tv_next(&copy, buf + at, (size_t)cut, &poison), 0);
			assert_int_equal(copy.offset, at);
		}
		at += (size_t)n;
	}
	assert_int_equal(at, len);
	assert_int_equal(r.offset, len);
}

static void test_round_trips(void **state)
{
	static const uint8_t widths[][3] = { { 32, 32, 32 }, { 32, 32, 34 }, { 32, 64, 32 },
					     { 32, 64, 34 }, { 64, 32, 64 }, { 64, 64, 64 } };

	(void)state;
	for (size_t i = 0; i < sizeof(widths) / sizeof(*widths); i++) {
		struct nt_tv_params p = { sizeof(p), widths[i][0], widths[i][1], widths[i][2],
					  NT_TV_P_STRICT };

		for (int round = 0; round < 10; round++)
			round_trip(&p);
	}
}

/* --------------------------------------------------------- illegal bytes */

static void assert_error(const struct nt_tv_params *p, const char *hex, int err,
			 unsigned int offset, unsigned int bad)
{
	struct nt_tv_reader r;
	struct nt_tv_item it;
	uint8_t buf[64];
	size_t len = from_hex(hex, buf), at = 0;
	int n;

	assert_int_equal(nt_tv_reader_init(&r, p), 0);
	while ((n = nt_tv_next(&r, buf + at, len - at, &it)) > 0)
		at += (size_t)n;
	assert_int_equal(n, -err);
	assert_int_equal(r.offset, offset);
	if (n)
		assert_int_equal(r.bad, bad);
}

static void test_errors(void **state)
{
	static const struct nt_tv_params strict = { sizeof(strict), 32, 32, 34, NT_TV_P_STRICT };
	static const struct nt_tv_params loose = { sizeof(loose), 32, 32, 34, 0 };

	(void)state;
	assert_error(&rv64, "01 00", NT_TV_EOPCODE, 1, 0);
	assert_error(&rv64, "0c", NT_TV_EOPCODE, 0, 0);
	assert_error(&rv64, "0f", NT_TV_EOPCODE, 0, 0);
	assert_error(&rv64, "12", NT_TV_EOPCODE, 0, 0);
	assert_error(&rv64, "ff", NT_TV_EOPCODE, 0, 0);
	assert_error(&rv64, "03 07 00", NT_TV_EIDENT, 1, 1);
	assert_error(&rv64, "07 0b", NT_TV_EIDENT, 0, 1);
	assert_error(&loose, "08 00 00 00 00 00 0e", NT_TV_EMEMOP, 0, 6);
	assert_error(&loose, "08 00 00 00 00 00 40", NT_TV_EMEMSIZE, 0, 6);
	assert_error(&loose, "08 00 00 00 00 00 00 09 04", NT_TV_EMEMSIZE, 7, 1);
	assert_error(&loose, "08 00 00 00 00 00 00 09 20", NT_TV_EMEMRESULT, 7, 1);
	assert_error(&loose, "09 00", NT_TV_EORPHAN, 0, 0);
	assert_error(&loose, "08 00 00 00 00 00 00 03 09 00 00", NT_TV_EORPHAN, 8, 0);
	assert_error(&loose, "08 00 00 00 00 00 00 09 00 00 09", NT_TV_EORPHAN, 10, 0);
	assert_error(&loose, "07 02 00 00 00 00 04 07 01 04", 0, 10, 0);
	assert_error(&strict, "07 02 00 00 00 00 04", NT_TV_EPADDING, 0, 6);
	assert_error(&strict, "07 01 04", NT_TV_EPADDING, 0, 2);
	assert_error(&strict, "08 00 00 00 00 04 00", NT_TV_EPADDING, 0, 5);
}

/* Every opcode byte is either an item or an error; none is silently skipped. */
static void test_all_opcodes(void **state)
{
	uint8_t buf[NT_TV_ITEM_MAX] = { 0 };
	struct nt_tv_reader r;
	struct nt_tv_item it;

	(void)state;
	for (unsigned int op = 0; op < 256; op++) {
		bool known = (op >= 1 && op <= 11) || op == 16 || op == 17;
		int n;

		assert_int_equal(nt_tv_reader_init(&r, &rv64), 0);
		buf[0] = (uint8_t)op;
		buf[1] = op == NT_TV_STATE;
		n = nt_tv_next(&r, buf, sizeof(buf), &it);
		if (op == NT_TV_MEMRSP)
			assert_int_equal(n, -NT_TV_EORPHAN);
		else if (known)
			assert_true(n > 0);
		else
			assert_int_equal(n, -NT_TV_EOPCODE);
	}
}

static void test_groups(void **state)
{
	static const uint8_t buf[] = { 1, 3, 1, 3, 2, 2, 1 };
	static const uint8_t flags[] = { 0, 0, NT_TV_F_IMPLIED_END, 0, 0, NT_TV_F_ORPHAN_END, 0 };
	struct nt_tv_reader r;
	struct nt_tv_item it;

	(void)state;
	assert_int_equal(nt_tv_reader_init(&r, &rv64), 0);
	for (size_t i = 0; i < sizeof(buf); i++) {
		assert_int_equal(nt_tv_next(&r, buf + i, sizeof(buf) - i, &it), 1);
		assert_int_equal(it.flags, flags[i]);
	}
	assert_true(r.in_group);
}

static void test_params(void **state)
{
	struct nt_tv_params p = NT_TV_PARAMS_RV64;
	struct nt_tv_reader r;
	struct nt_tv_writer w;
	uint8_t buf[NT_TV_ITEM_MAX];

	(void)state;
	assert_int_equal(nt_tv_writer_init(&w, &p, buf, sizeof(buf) - 1, NULL, NULL), -NT_TV_EARG);
	p.size = 4;
	assert_int_equal(nt_tv_reader_init(&r, &p), -NT_TV_EARG);
	p.size = sizeof(p);
	p.mlen = 33;
	assert_int_equal(nt_tv_reader_init(&r, &p), -NT_TV_EARG);
	p.mlen = 64;
	p.xlen = 128;
	assert_int_equal(nt_tv_writer_init(&w, &p, buf, sizeof(buf), NULL, NULL), -NT_TV_EARG);
}

static void test_every_error_has_words(void **state)
{
	(void)state;
	for (int e = NT_TV_EARG; e <= NT_TV_ERESET; e++) {
		assert_string_not_equal(nt_tv_strerror(-e), nt_tv_strerror(-1));
		for (int other = NT_TV_EARG; other < e; other++)
			assert_string_not_equal(nt_tv_strerror(-e), nt_tv_strerror(-other));
	}
	assert_string_equal(nt_tv_strerror(-NT_TV_ERESET - 1), nt_tv_strerror(-1));
}

/* ------------------------------------------------------------- flushing */

struct sink {
	uint8_t data[4096];
	size_t len;
	unsigned int calls, fail_at;
};

static int take(void *ctx, const uint8_t *buf, size_t len)
{
	struct sink *s = ctx;

	if (++s->calls == s->fail_at)
		return -5;
	memcpy(s->data + s->len, buf, len);
	s->len += len;
	return 0;
}

static void test_flush(void **state)
{
	uint8_t small[NT_TV_ITEM_MAX + 3], whole[4096];
	struct sink s = { .fail_at = 0 };
	struct nt_tv_writer a, b;

	(void)state;
	assert_int_equal(nt_tv_writer_init(&a, &rv64, small, sizeof(small), take, &s), 0);
	assert_int_equal(nt_tv_writer_init(&b, &rv64, whole, sizeof(whole), NULL, NULL), 0);
	for (unsigned int i = 0; i < 150; i++) {
		nt_tv_step(&a, i, i & 1 ? 2 : 4);
		nt_tv_step(&b, i, i & 1 ? 2 : 4);
		nt_tv_jump(&a, i, i, 4);
		nt_tv_jump(&b, i, i, 4);
	}
	assert_int_equal(nt_tv_flush(&a), 0);
	assert_int_equal(b.error, 0);
	assert_int_equal(s.len, nt_tv_written(&b));
	assert_int_equal(nt_tv_written(&a), s.len);
	assert_memory_equal(s.data, whole, s.len);
}

static void test_writer_stops(void **state)
{
	uint8_t small[NT_TV_ITEM_MAX + 3];
	struct sink s = { .fail_at = 2 };
	struct nt_tv_writer w;
	size_t full;

	(void)state;
	assert_int_equal(nt_tv_writer_init(&w, &rv64, small, sizeof(small), NULL, NULL), 0);
	nt_tv_pc(&w, 1);
	full = nt_tv_written(&w);
	nt_tv_pc(&w, 2);
	nt_tv_end(&w);
	assert_int_equal(w.error, -NT_TV_EROOM);
	assert_int_equal(nt_tv_written(&w), full);

	assert_int_equal(nt_tv_writer_init(&w, &rv64, small, sizeof(small), take, &s), 0);
	for (int i = 0; i < 10; i++)
		nt_tv_pc(&w, 3);
	assert_int_equal(w.error, -5);
	assert_int_equal(nt_tv_flush(&w), -5);
	assert_int_equal(s.calls, 2);
	assert_int_equal(s.len, 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_version),
		cmocka_unit_test(test_examples_read),
		cmocka_unit_test(test_examples_write),
		cmocka_unit_test(test_examples_as_printed),
		cmocka_unit_test(test_pc_readings_differ),
		cmocka_unit_test(test_c5_erratum),
		cmocka_unit_test(test_layout_rv64),
		cmocka_unit_test(test_layout_rv32),
		cmocka_unit_test(test_round_trips),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_all_opcodes),
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_params),
		cmocka_unit_test(test_every_error_has_words),
		cmocka_unit_test(test_flush),
		cmocka_unit_test(test_writer_stops),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
