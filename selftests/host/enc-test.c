// SPDX-License-Identifier: GPL-2.0-only
/*
 * The encoder: what it says of hand-made executions is compared, byte by byte, with messages put
 * together here. Names cite the requirements of the specification's fact sheet.
 */
#include <stdlib.h>

#include "cmocka-tap.h"
#include "pack.h"
#include "program.h"

/* ------------------------------------------------------------- bench ---- */

static struct bench {
	struct nt_enc *enc;
	uint8_t out[65536];
	size_t len;
	unsigned int refuse;	/* messages still to refuse */
	uint64_t now;
	struct pack want;
} bench;

static bool emit(void *ctx, const uint8_t *msg, unsigned int len)
{
	struct bench *b = ctx;

	if (b->refuse) {
		b->refuse--;
		return false;
	}
	if (msg) {
		assert_true(b->len + len <= sizeof(b->out));
		memcpy(b->out + b->len, msg, len);
		b->len += len;
	}
	return true;
}

static uint64_t now(void *ctx)
{
	return ((struct bench *)ctx)->now;
}

static struct nt_params defaults(void)
{
	struct nt_params p;

	nt_params_init(&p);
	p.src = 0;
	return p;
}

static void begin_with(const struct nt_params *p, struct nt_enc_config c)
{
	struct bench *b = &bench;

	nt_enc_free(b->enc);
	memset(b, 0, sizeof(*b));
	pack_init(&b->want);
	b->want.srcbits = p->srcbits;
	b->want.src = p->src;
	c.size = sizeof(c);
	c.emit = emit;
	c.time = now;
	c.ctx = b;
	b->enc = nt_enc_new(p, &c);
	assert_non_null(b->enc);
	nt_enc_start(b->enc, NT_SYNC_TRACE_ENABLE);
}

static void begin(struct nt_enc_config c)
{
	const struct nt_params p = defaults();

	begin_with(&p, c);
}

static const struct nt_enc_config htm = { .htm = true };
static const struct nt_enc_config btm;

static void check(void)
{
	assert_int_equal(bench.len, bench.want.len);
	assert_memory_equal(bench.out, bench.want.buf, bench.len);
}

/* Instructions by what they are */
#define CADD	0x952e		/* c.add a0, a1 */
#define ADD	0x00b50533	/* add a0, a0, a1 */
#define CJR_RA	0x8082		/* ret */
#define CJR_A0	0x8502
#define CJALR	0x9502		/* c.jalr a0 */
#define SRET	0x10200073

static void run(uint64_t pc, uint32_t insn)
{
	nt_enc_retire(bench.enc, pc, insn, (insn & 3) == 3 ? 4 : 2);
}

/* ----------------------------------------------- vectors of the text ---- */

/* 100 c.add; 102 b->200; 106 add; 10A b->300; 10E c.add; 110 add; 114 c.ebreak;
 * 200 c.add; 202 c.ebreak; 300 add; 304 c.ebreak */
static void program(int taken)
{
	run(0x100, CADD);
	run(0x102, insn_b(0xfe));
	if (taken == 1) {
		run(0x200, CADD);
		nt_enc_stop(bench.enc, NT_EVCODE_DEBUG, 0x202);
		return;
	}
	run(0x106, ADD);
	run(0x10a, insn_b(0x1f6));
	if (taken == 2) {
		run(0x300, ADD);
		nt_enc_stop(bench.enc, NT_EVCODE_DEBUG, 0x304);
		return;
	}
	run(0x10e, CADD);
	run(0x110, ADD);
	nt_enc_stop(bench.enc, NT_EVCODE_DEBUG, 0x114);
}

static void vector_6_htm(void **state)
{
	static const struct { unsigned int icnt, hist; } ptc[] = { { 10, 4 }, { 4, 3 }, { 9, 5 } };
	int taken;

	(void)state;
	for (taken = 0; taken < 3; taken++) {
		begin(htm);
		program(taken);
		pack_ptsync(&bench.want, 5, 0, 0x100);
		pack_ptc(&bench.want, 0, ptc[taken].icnt, ptc[taken].hist);
		check();
	}
}

static void vector_6_btm(void **state)
{
	static const unsigned int db[] = { 0, 3, 7 }, ptc[] = { 10, 1, 2 };
	int taken;

	(void)state;
	for (taken = 0; taken < 3; taken++) {
		begin(btm);
		program(taken);
		pack_ptsync(&bench.want, 5, 0, 0x100);
		if (taken)
			pack_db(&bench.want, db[taken]);
		pack_ptc(&bench.want, 0, ptc[taken], 0);
		check();
	}
}

/* A counter of 4 bits: the branch that ResourceFull covers is reported after it */
static void vector_7(void **state)
{
	struct nt_enc_config c = htm;

	(void)state;
	c.icnt_bits = 4;
	begin(c);
	run(0x100, CADD);
	run(0x102, insn_b(0xfe));
	run(0x106, ADD);
	run(0x10a, ADD);
	run(0x10e, ADD);
	run(0x112, ADD);
	run(0x116, ADD);
	run(0x11a, CADD);
	nt_enc_stop(bench.enc, NT_EVCODE_DEBUG, 0x11c);
	pack_ptsync(&bench.want, 5, 0, 0x100);
	pack_rf(&bench.want, 0, 9);
	pack_ptc(&bench.want, 0, 5, 2);
	check();
}

/* idle, then IndirectBranchHist I-CNT 0x7d U-ADDR 7 HIST 0xffe */
static void vector_1(void **state)
{
	static const uint8_t want[] = { 0x70, 0xd0, 0x1d, 0x1d, 0xf8, 0xff };
	struct nt_params p = { .size = sizeof(p), .xlen = 64 };
	struct nt_msg m = {
		.fields = NT_F_BTYPE | NT_F_ICNT | NT_F_UADDR | NT_F_HIST,
		.tcode = NT_TCODE_INDIRECT_BRANCH_HIST,
		.icnt = 0x7d, .addr = 7, .hist = 0xffe,
	};
	uint8_t buf[NT_ENC_MSG_MAX];

	(void)state;
	assert_int_equal(nt_enc_msg(&p, &m, buf), sizeof(want));
	assert_memory_equal(buf, want, sizeof(want));
}

/* The XOR chain of addresses */
static void vector_2(void **state)
{
	(void)state;
	begin(htm);
	run(0x3fc04, CJR_A0);
	run(0x3f368, CJR_A0);
	run(0x3e100, CJR_A0);
	nt_enc_stop(bench.enc, NT_EVCODE_DISABLE, 0x3e100);
	pack_ptsync(&bench.want, 5, 0, 0x3fc04);
	pack_ib(&bench.want, 0, 1, 0x7b6 << 1);
	pack_ib(&bench.want, 0, 1, 0x934 << 1);
	pack_ib(&bench.want, 0, 1, 0);
	pack_ptc(&bench.want, 4, 0, 1);
	check();
}

static unsigned int address_bytes(uint64_t addr, bool extaddr, uint8_t *buf)
{
	struct nt_params p = { .size = sizeof(p), .xlen = 64, .extaddr = extaddr };
	struct nt_msg m = { .fields = NT_F_SYNC | NT_F_ICNT | NT_F_FADDR, .sync = 5,
			    .tcode = NT_TCODE_PROG_TRACE_SYNC, .addr = addr >> 1 };
	uint8_t msg[NT_ENC_MSG_MAX];
	unsigned int len = nt_enc_msg(&p, &m, msg), i;

	/* TCODE, SYNC and I-CNT take two bytes */
	for (i = 2; i < len; i++)
		buf[i - 2] = msg[i] >> 2;
	return len - 2;
}

static void r89_kernel_address(void **state)
{
	static const uint8_t want[] = { 0x3a, 0x23, 0x01, 0x00, 0x00, 0x3f };
	uint8_t buf[NT_ENC_MSG_MAX];

	(void)state;
	assert_int_equal(address_bytes(0xffffffff800031f4, false, buf), 11);
	assert_int_equal(address_bytes(0xffffffff800031f4, true, buf), 6);
	assert_memory_equal(buf, want, 6);
}

static void r88_extended_addresses(void **state)
{
	uint8_t buf[NT_ENC_MSG_MAX];

	(void)state;
	assert_int_equal(address_bytes(0xffffffffe, true, buf), 6);
	assert_int_equal(buf[4], 0x3f);
	assert_int_equal(buf[5], 0x1f);
	assert_int_equal(address_bytes(0xfffffffe3ffffffe, true, buf), 6);
	assert_int_equal(buf[5], 0x3c);
	/* all ones at the top need another MDO, or they would be extended */
	assert_int_equal(address_bytes(0x1ffffffffe, true, buf), 7);
	assert_int_equal(buf[5], 0x3f);
	assert_int_equal(buf[6], 0);
	assert_int_equal(address_bytes(0xbffffffffffffffe, true, buf), 11);
	assert_int_equal(buf[10], 5);
	assert_int_equal(address_bytes(~1ull, true, buf), 1);
	assert_int_equal(address_bytes(0, true, buf), 1);
}

/* Every width, with its neighbours, comes back as it went in */
static void r90_addresses_survive(void **state)
{
	struct nt_params p = { .size = sizeof(p) };
	unsigned int bit, delta, ext, xlen;

	(void)state;
	for (xlen = 32; xlen <= 64; xlen += 32)
	for (ext = 0; ext < 2; ext++)
	for (bit = 1; bit < xlen; bit++)
	for (delta = 0; delta < 4; delta++) {
		uint64_t mask = xlen == 32 ? 0xffffffff : ~0ull;
		uint64_t addr = ((1ull << bit) - 2 * delta) & mask & ~1ull;
		struct nt_msg m = { .fields = NT_F_SYNC | NT_F_ICNT | NT_F_FADDR, .sync = 5,
				    .tcode = NT_TCODE_PROG_TRACE_SYNC }, back;
		uint8_t buf[NT_ENC_MSG_MAX];
		int len;

		p.xlen = xlen;
		p.extaddr = ext;
		m.addr = addr >> 1;
		len = nt_enc_msg(&p, &m, buf);
		assert_int_equal(nt_msg_decode(&p, buf, len, &back), len);
		assert_int_equal((back.addr << 1) & mask, addr);
	}
}

/* `addr` behind `last`, from an encoder of p->addr_bits address bits, and back; its bytes */
static int address_back(const struct nt_params *p, uint64_t last, uint64_t addr)
{
	struct nt_msg m = { .fields = NT_F_BTYPE | NT_F_ICNT | NT_F_UADDR,
			    .tcode = NT_TCODE_INDIRECT_BRANCH, .addr = (addr ^ last) >> 1 }, back;
	uint8_t buf[NT_ENC_MSG_MAX];
	int len = nt_enc_msg(p, &m, buf);

	assert_int_equal(nt_msg_decode(p, buf, len, &back), len);
	assert_true(nt_msg_addr(p, &back, last) == addr);
	/* a decoder need not know more of the address before than its bits in the field */
	assert_true(nt_msg_addr(p, &back, last & ((2ull << p->addr_bits) - 1)) == addr);
	m.fields = NT_F_SYNC | NT_F_ICNT | NT_F_FADDR;
	m.tcode = NT_TCODE_PROG_TRACE_SYNC;
	m.addr = addr >> 1;
	len = nt_enc_msg(p, &m, buf);
	assert_int_equal(nt_msg_decode(p, buf, len, &back), len);
	assert_true(nt_msg_addr(p, &back, ~0ull) == addr);
	return len;
}

/* Addresses around the sign bit of every width; RV32's are zero-extended here */
static void addresses_of_n_bits(void **state)
{
	struct nt_params p = { .size = sizeof(p) };
	unsigned int bits, ext, delta;

	(void)state;
	for (p.xlen = 32; p.xlen <= 64; p.xlen += 32)
	for (ext = 0; ext < 2; ext++)
	for (bits = 4; bits < p.xlen; bits++)
	for (delta = 2; delta < 8; delta += 2) {
		uint64_t mask = p.xlen == 32 ? 0xffffffff : ~0ull;
		uint64_t highest = (1ull << bits) - delta, lowest = -(1ull << bits) + delta - 2;
		int len, most = 2 + (bits + 5 + ext) / 6;

		p.extaddr = ext;
		p.addr_bits = bits;
		len = address_back(&p, highest & mask, lowest & mask);
		assert_true(len <= most);
		len = address_back(&p, lowest & mask, highest & mask);
		assert_true(len <= most);
		address_back(&p, 0, -2 & mask);
	}
	p.extaddr = false;
	p.xlen = 64;
	p.addr_bits = 48;
	assert_int_equal(address_back(&p, 0, 0xffffffff80098894), 10);
}

static void addr_bits_out_of_range(void **state)
{
	struct nt_enc_config c = { .size = sizeof(c) };
	struct nt_params p = defaults();
	struct nt_enc *enc;

	(void)state;
	c.emit = emit;
	for (p.xlen = 32; p.xlen <= 64; p.xlen += 32) {
		p.addr_bits = p.xlen - 1;
		assert_int_equal(nt_params_check(&p), 0);
		enc = nt_enc_new(&p, &c);
		assert_non_null(enc);
		nt_enc_free(enc);
		p.addr_bits = p.xlen;
		assert_int_equal(nt_params_check(&p), -NT_EINVAL);
		assert_null(nt_enc_new(&p, &c));
	}
}

/* -------------------------------------------------------- resources ---- */

static void r91_hist_polarity(void **state)
{
	(void)state;
	begin(htm);
	run(0x100, insn_b(8));	/* not taken */
	run(0x104, insn_b(8));	/* taken */
	run(0x10c, CJR_A0);
	run(0x200, CADD);
	pack_ptsync(&bench.want, 5, 0, 0x100);
	pack_ibh(&bench.want, 0, 5, 0x100 ^ 0x200, 5);
	check();
}

static void r97_both_full_at_once(void **state)
{
	struct nt_enc_config c = htm;

	(void)state;
	c.icnt_bits = 4;
	c.hist_bits = 5;
	begin(c);
	run(0x100, insn_b(-0x80));
	run(0x104, insn_b(-0x80));
	run(0x108, insn_b(-0x80));
	run(0x10c, insn_b(-0x80));
	run(0x110, CADD);
	pack_ptsync(&bench.want, 5, 0, 0x100);
	pack_rf(&bench.want, 1, 0x10);
	pack_rf(&bench.want, 0, 8);
	check();
}

static void r93_resources_reset_alone(void **state)
{
	struct nt_enc_config c = htm;

	(void)state;
	c.hist_bits = 3;
	begin(c);
	run(0x100, insn_b(-0x80));
	run(0x104, insn_b(-0x80));	/* full: I-CNT goes on */
	run(0x108, CADD);
	nt_enc_stop(bench.enc, NT_EVCODE_DISABLE, 0x10a);
	pack_ptsync(&bench.want, 5, 0, 0x100);
	pack_rf(&bench.want, 1, 4);
	pack_ptc(&bench.want, 4, 5, 1);
	check();
}

static void r104_icnt_full_in_btm(void **state)
{
	struct nt_enc_config c = btm;

	(void)state;
	c.icnt_bits = 4;
	begin(c);
	run(0x100, ADD);
	run(0x104, ADD);
	run(0x108, ADD);
	run(0x10c, ADD);
	run(0x110, insn_jal(0, 16));
	run(0x120, CADD);
	nt_enc_stop(bench.enc, NT_EVCODE_DISABLE, 0x122);
	pack_ptsync(&bench.want, 5, 0, 0x100);
	pack_rf(&bench.want, 0, 8);
	pack_ptc(&bench.want, 4, 3, 0);
	check();
}

static void r78_r79_correlation(void **state)
{
	(void)state;
	begin(btm);
	run(0x100, CADD);
	nt_enc_stop(bench.enc, NT_EVCODE_DEBUG, 0x102);
	nt_enc_start(bench.enc, NT_SYNC_DEBUG_EXIT);
	run(0x104, CADD);
	nt_enc_stop(bench.enc, NT_EVCODE_DISABLE, 0x106);
	pack_ptsync(&bench.want, 5, 0, 0x100);
	pack_ptc(&bench.want, 0, 1, 0);
	pack_ptsync(&bench.want, 3, 0, 0x104);
	pack_ptc(&bench.want, 4, 1, 0);
	check();
	/* in HTM with HIST, though it is empty */
	begin(htm);
	run(0x100, CADD);
	nt_enc_stop(bench.enc, NT_EVCODE_DEBUG, 0x102);
	pack_ptsync(&bench.want, 5, 0, 0x100);
	pack_ptc(&bench.want, 0, 1, 1);
	check();
}

/* A stretch begins with ProgTraceSync, I-CNT 0 and the reason that there is */
static void r117_starts(void **state)
{
	(void)state;
	begin(htm);
	run(0x100, insn_b(0x20));
	nt_enc_stop(bench.enc, NT_EVCODE_DEBUG, 0x120);
	nt_enc_start(bench.enc, NT_SYNC_DEBUG_EXIT);
	run(0x120, ADD);
	nt_enc_stop(bench.enc, NT_EVCODE_DISABLE, 0x124);
	run(0x124, ADD);		/* not traced */
	nt_enc_start(bench.enc, NT_SYNC_TRACE_ENABLE);
	run(0x128, CJR_A0);
	bench.refuse = 1;
	run(0x200, CADD);
	run(0x202, CJR_A0);
	run(0x300, CADD);
	nt_enc_stop(bench.enc, NT_EVCODE_DISABLE, 0x302);
	pack_ptsync(&bench.want, 5, 0, 0x100);
	pack_ptc(&bench.want, 0, 2, 3);
	pack_ptsync(&bench.want, 3, 0, 0x120);
	pack_ptc(&bench.want, 4, 2, 1);
	pack_ptsync(&bench.want, 5, 0, 0x128);
	pack_error(&bench.want, 0, 4);
	pack_ptsync(&bench.want, 7, 0, 0x300);
	pack_ptc(&bench.want, 4, 1, 1);
	check();
}

/* What was pending when trace restarts belongs to what was lost. */
static void r117_restart_begins_empty(void **state)
{
	struct nt_enc_config c = htm;

	(void)state;
	c.icnt_bits = 4;
	begin(c);
	run(0x100, CJR_A0);
	bench.refuse = 1;
	run(0x200, insn_b(16));
	run(0x210, insn_b(16));
	run(0x220, insn_b(16));
	run(0x230, insn_b(16));
	run(0x240, CADD);		/* I-CNT is full: there is room again; HIST has four */
	run(0x242, insn_b(16));
	nt_enc_stop(bench.enc, NT_EVCODE_DISABLE, 0x252);
	pack_ptsync(&bench.want, 5, 0, 0x100);
	pack_error(&bench.want, 0, 4);
	pack_ptsync(&bench.want, 7, 0, 0x240);
	pack_ptc(&bench.want, 4, 3, 3);
	check();
}

/* Half-words: 1, 2 or more of each instruction, jumps of all kinds among them */
static void r100_half_words(void **state)
{
	static const struct { uint32_t insn; unsigned int len; uint64_t next; } t[] = {
		{ CADD, 2, 0x102 }, { ADD, 4, 0x104 }, { 0xa021, 2, 0x108 },	/* c.j +8 */
		{ 0x0080006f, 4, 0x108 }, { 0xc00d, 2, 0x122 },			/* c.beqz +34 */
		{ 0x00000463, 4, 0x108 }, { 0x0000001f, 6, 0x106 }, { 0x0000003f, 8, 0x108 },
	};
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		begin(htm);
		nt_enc_retire(bench.enc, 0x100, t[i].insn, t[i].len);
		nt_enc_stop(bench.enc, NT_EVCODE_DISABLE, t[i].next);
		pack_ptsync(&bench.want, 5, 0, 0x100);
		pack_ptc(&bench.want, 4, t[i].len / 2, i == 4 || i == 5 ? 3 : 1);
		check();
	}
	begin(htm);
	run(0x100, CJR_A0);
	run(0x200, insn_jalr(0, 10, 0));
	run(0x300, SRET);
	run(0x400, ADD);
	pack_ptsync(&bench.want, 5, 0, 0x100);
	pack_ib(&bench.want, 0, 1, 0x100 ^ 0x200);
	pack_ib(&bench.want, 0, 2, 0x200 ^ 0x300);
	pack_ib(&bench.want, 0, 2, 0x300 ^ 0x400);
	check();
}

/* R118: enabled and disabled with nothing between */
static void r118_empty_stretch(void **state)
{
	(void)state;
	begin(htm);
	nt_enc_stop(bench.enc, NT_EVCODE_DISABLE, 0x100);
	run(0x100, CADD);
	check();
}

/* ------------------------------------------------------------- traps ---- */

static void r99_r81_traps(void **state)
{
	struct nt_enc_config c = htm;

	(void)state;
	for (int one = 0; one < 2; one++) {
		c.btype_1 = one;
		begin(c);
		run(0x100, CADD);
		nt_enc_trap(bench.enc, 0x102, false);	/* ecall at 102 */
		run(0x800, CADD);
		nt_enc_trap(bench.enc, 0x802, true);
		nt_enc_trap(bench.enc, 0x900, false);	/* at the handler's first */
		run(0xa00, SRET);
		run(0x102, CADD);
		nt_enc_stop(bench.enc, NT_EVCODE_DISABLE, 0x104);
		pack_ptsync(&bench.want, 5, 0, 0x100);
		pack_ib(&bench.want, one ? 1 : 2, 1, 0x100 ^ 0x800);
		pack_ib(&bench.want, one ? 1 : 3, 1, 0x800 ^ 0x900);
		pack_ib(&bench.want, one ? 1 : 2, 0, 0x900 ^ 0xa00);
		pack_ib(&bench.want, 0, 2, 0xa00 ^ 0x102);
		pack_ptc(&bench.want, 4, 1, 1);
		check();
	}
}

/* The jump led to where the interrupt was taken: that is reported before the interrupt */
static void trap_behind_jump(void **state)
{
	(void)state;
	begin(htm);
	run(0x100, CJR_A0);
	nt_enc_trap(bench.enc, 0x300, true);
	run(0x800, CADD);
	nt_enc_stop(bench.enc, NT_EVCODE_DISABLE, 0x802);
	pack_ptsync(&bench.want, 5, 0, 0x100);
	pack_ib(&bench.want, 0, 1, 0x100 ^ 0x300);
	pack_ib(&bench.want, 3, 0, 0x300 ^ 0x800);
	pack_ptc(&bench.want, 4, 1, 1);
	check();
}

/* BTM: a taken branch, then a trap at its target */
static void taken_then_trap(void **state)
{
	(void)state;
	begin(btm);
	run(0x100, insn_b(0x20));
	nt_enc_trap(bench.enc, 0x120, false);
	run(0x800, CADD);
	pack_ptsync(&bench.want, 5, 0, 0x100);
	pack_db(&bench.want, 2);
	pack_ib(&bench.want, 2, 0, 0x100 ^ 0x800);
	check();
}

/* ---------------------------------------------------------- returns ---- */

static void begin_with_stack(unsigned int mode)
{
	struct nt_params p = defaults();

	p.retstack = mode;
	begin_with(&p, htm);
}

static void r134_matching_return_is_silent(void **state)
{
	(void)state;
	begin_with_stack(3);
	run(0x100, insn_jal(1, 0x100));
	run(0x200, CJR_RA);
	run(0x104, CADD);
	nt_enc_stop(bench.enc, NT_EVCODE_DISABLE, 0x106);
	pack_ptsync(&bench.want, 5, 0, 0x100);
	pack_ptc(&bench.want, 4, 4, 1);
	check();
}

static void r134_mismatch_and_empty_tell(void **state)
{
	(void)state;
	begin_with_stack(3);
	run(0x100, insn_jal(1, 0x100));
	run(0x200, CJR_RA);
	run(0x300, CJR_RA);	/* it went elsewhere, and was popped all the same */
	run(0x104, CADD);
	pack_ptsync(&bench.want, 5, 0, 0x100);
	pack_ib(&bench.want, 0, 3, 0x100 ^ 0x300);
	pack_ib(&bench.want, 0, 1, 0x300 ^ 0x104);
	check();
}

static void r135_swap_pops_then_pushes(void **state)
{
	(void)state;
	begin_with_stack(3);
	run(0x100, insn_jal(1, 0x100));
	run(0x200, insn_jalr(5, 1, 0));		/* back to 104, pushes 204 */
	run(0x104, CADD);
	run(0x106, insn_jalr(1, 5, 0));		/* to 204, pushes 10a */
	run(0x204, CJR_RA);
	run(0x10a, CADD);
	nt_enc_stop(bench.enc, NT_EVCODE_DISABLE, 0x10c);
	pack_ptsync(&bench.want, 5, 0, 0x100);
	pack_ptc(&bench.want, 4, 2 + 2 + 1 + 2 + 1 + 1, 1);
	check();
}

/* 33 calls deep: the oldest is forgotten, its return must be reported */
static void oldest_is_dropped(unsigned int mode)
{
	uint64_t icnt = 0;
	unsigned int i;

	begin_with_stack(mode);
	for (i = 0; i < 33; i++, icnt += 2)
		run(0x1000 + 4 * i, insn_jal(1, 4));
	for (i = 33; i-- > 0; icnt++)
		run(i == 32 ? 0x1084 : 0x1008 + 4 * i, CJR_RA);
	run(0x1004, CADD);
	pack_ptsync(&bench.want, 5, 0, 0x1000);
	pack_ib(&bench.want, 0, icnt, 0x1000 ^ 0x1004);
	check();
}

/* The counter does not compare addresses: it alone says that there is no call left. */
static void r131_oldest_is_dropped(void **state)
{
	(void)state;
	oldest_is_dropped(3);
	oldest_is_dropped(1);
}

static void r113_sync_empties_the_stack(void **state)
{
	(void)state;
	begin_with_stack(3);
	run(0x100, insn_jal(1, 0x100));
	nt_enc_event_sync(bench.enc, NT_SYNC_TRACE_EVENT);
	run(0x200, CJR_RA);
	run(0x104, CADD);
	pack_ptsync(&bench.want, 5, 0, 0x100);
	pack_ibsync(&bench.want, 6, 0, 2, 0x200);
	pack_ib(&bench.want, 0, 1, 0x200 ^ 0x104);
	check();
}

static void counter_mode(void **state)
{
	(void)state;
	begin_with_stack(1);
	run(0x100, insn_jal(1, 0x100));
	run(0x200, CJR_RA);
	run(0x300, CJR_RA);	/* silent though wrong, then the counter is 0 */
	run(0x400, CADD);
	pack_ptsync(&bench.want, 5, 0, 0x100);
	pack_ib(&bench.want, 0, 4, 0x100 ^ 0x400);
	check();
}

/* ----------------------------------------------- other optimisations ---- */

static void r136_sequential_jump(void **state)
{
	struct nt_enc_config c = htm;
	struct nt_params p = defaults();

	(void)state;
	p.seqjump = true;
	begin_with(&p, c);
	run(0x100, 0x00000337);		/* lui t1 */
	run(0x104, insn_jalr(0, 6, 0));
	run(0x300, 0x00000337);
	run(0x304, CADD);		/* between the two */
	run(0x306, insn_jalr(0, 6, 0));
	run(0x400, CADD);
	pack_ptsync(&bench.want, 5, 0, 0x100);
	pack_ib(&bench.want, 0, 9, 0x100 ^ 0x400);
	check();
}

static void r136_not_across_messages(void **state)
{
	struct nt_enc_config c = htm;
	struct nt_params p = defaults();

	(void)state;
	p.seqjump = true;
	begin_with(&p, c);
	run(0x100, 0x00000337);
	nt_enc_event_sync(bench.enc, NT_SYNC_TRACE_EVENT);
	run(0x104, insn_jalr(0, 6, 0));
	run(0x300, CADD);
	pack_ptsync(&bench.want, 5, 0, 0x100);
	pack_ibsync(&bench.want, 6, 0, 2, 0x104);
	pack_ib(&bench.want, 0, 2, 0x104 ^ 0x300);
	check();
}

static void r137_all_jumps(void **state)
{
	struct nt_enc_config c = htm;
	struct nt_params p = defaults();

	(void)state;
	p.alljumps = true;
	begin_with(&p, c);
	run(0x100, insn_jal(0, 0x100));
	run(0x200, CADD);
	nt_enc_stop(bench.enc, NT_EVCODE_DISABLE, 0x202);
	pack_ptsync(&bench.want, 5, 0, 0x100);
	pack_ptc(&bench.want, 4, 3, 3);
	check();

	c.htm = false;
	begin_with(&p, c);
	run(0x100, insn_jal(0, 0x100));
	run(0x200, CADD);
	pack_ptsync(&bench.want, 5, 0, 0x100);
	pack_db(&bench.want, 2);
	check();
}

/* -------------------------------------------------------------- sync ---- */

/* 16 of each unit, and any other sync message begins anew */
static void r24_periodic_sync(void **state)
{
	struct nt_enc_config c = htm;
	unsigned int i;

	(void)state;
	c.syncmode = 2;
	begin(c);
	for (i = 0; i < 40; i++) {
		if (i == 20)
			nt_enc_event_sync(bench.enc, NT_SYNC_TRACE_EVENT);
		run(0x100 + 4 * i, ADD);
	}
	pack_ptsync(&bench.want, 5, 0, 0x100);
	pack_ibsync(&bench.want, 2, 0, 32, 0x140);
	pack_ibsync(&bench.want, 6, 0, 8, 0x150);
	pack_ibsync(&bench.want, 2, 0, 32, 0x190);
	check();

	c.syncmode = 3;
	begin(c);
	for (i = 0; i < 9; i++)
		run(0x100 + 4 * i, ADD);
	pack_ptsync(&bench.want, 5, 0, 0x100);
	pack_ibsync(&bench.want, 2, 0, 16, 0x120);
	check();
}

static void r24_periodic_by_messages(void **state)
{
	struct nt_enc_config c = btm;
	unsigned int i;

	(void)state;
	c.syncmode = 1;
	begin(c);
	for (i = 0; i <= 18; i++)
		run(0x1000 + 0x10 * i, insn_b(0x10));
	pack_ptsync(&bench.want, 5, 0, 0x1000);
	for (i = 0; i < 16; i++)
		pack_db(&bench.want, 2);
	pack_dbsync(&bench.want, 2, 2, 0x1110);
	pack_db(&bench.want, 2);
	check();
}

static void r121_r114_event_keeps_history(void **state)
{
	(void)state;
	begin(htm);
	run(0x100, insn_b(8));
	nt_enc_event_sync(bench.enc, NT_SYNC_TRACE_EVENT);
	run(0x104, CADD);
	pack_ptsync(&bench.want, 5, 0, 0x100);
	pack_ibhsync(&bench.want, 6, 0, 2, 0x104, 2);
	check();
}

static void r125_timestamps(void **state)
{
	struct nt_enc_config c = htm;
	struct nt_params p = defaults();

	(void)state;
	p.timestamps = true;
	begin_with(&p, c);
	bench.now = 1000;
	run(0x100, CJR_A0);
	bench.now = 1010;
	run(0x200, CJR_A0);
	bench.now = 1010;
	nt_enc_event_sync(bench.enc, NT_SYNC_TRACE_EVENT);
	run(0x300, CADD);
	bench.now = 1077;
	nt_enc_stop(bench.enc, NT_EVCODE_DISABLE, 0x302);
	bench.want.timestamp = 1000;
	pack_ptsync(&bench.want, 5, 0, 0x100);
	bench.want.timestamp = 10;
	pack_ib(&bench.want, 0, 1, 0x100 ^ 0x200);
	bench.want.timestamp = 1010;
	pack_ibsync(&bench.want, 6, 0, 1, 0x300);
	bench.want.timestamp = 67;
	pack_ptc(&bench.want, 4, 1, 1);
	check();
}

/* A clock of 16 bits: absolute times and differences have no more, whether `now' wraps or not */
static void R124_narrow_clock(void **state)
{
	struct nt_enc_config c = htm;
	struct nt_params p = defaults();
	unsigned int wraps;

	(void)state;
	p.timestamps = true;
	p.tstamp_bits = 16;
	for (wraps = 0; wraps < 2; wraps++) {
		begin_with(&p, c);
		bench.now = 0x1fffe;
		run(0x100, CJR_A0);
		bench.now = wraps ? 3 : 0x20003;
		run(0x200, CJR_A0);
		nt_enc_event_sync(bench.enc, NT_SYNC_TRACE_EVENT);
		run(0x300, CADD);
		nt_enc_stop(bench.enc, NT_EVCODE_DISABLE, 0x302);
		bench.want.timestamp = 0xfffe;
		pack_ptsync(&bench.want, 5, 0, 0x100);
		bench.want.timestamp = 5;
		pack_ib(&bench.want, 0, 1, 0x100 ^ 0x200);
		bench.want.timestamp = 3;
		pack_ibsync(&bench.want, 6, 0, 1, 0x300);
		bench.want.timestamp = 0;
		pack_ptc(&bench.want, 4, 1, 1);
		check();
	}
	c.size = sizeof(c);
	p.xlen = 64;
	c.emit = emit;
	c.time = now;
	for (p.tstamp_bits = 1; p.tstamp_bits < 70; p.tstamp_bits++) {
		struct nt_enc *enc = nt_enc_new(&p, &c);
		bool good = p.tstamp_bits >= 8 && p.tstamp_bits <= 64;

		assert_true(!!enc == good);
		nt_enc_free(enc);
			assert_int_equal(nt_params_check(&p), good ? 0 : -NT_EINVAL);
	}
}

static void src_in_every_message(void **state)
{
	struct nt_enc_config c = htm;
	struct nt_params p = defaults();

	(void)state;
	p.srcbits = 5;
	p.src = 21;
	begin_with(&p, c);
	run(0x100, CJR_A0);
	run(0x200, insn_b(16));
	run(0x210, CADD);
	nt_enc_stop(bench.enc, NT_EVCODE_DISABLE, 0x212);
	pack_ptsync(&bench.want, 5, 0, 0x100);
	pack_ib(&bench.want, 0, 1, 0x100 ^ 0x200);
	pack_ptc(&bench.want, 4, 3, 3);
	check();
}

/* --------------------------------------------------------- ownership ---- */

static void r128_r129_ownership(void **state)
{
	struct nt_enc_config c = htm;

	(void)state;
	c.context = true;
	begin(c);
	nt_enc_context(bench.enc, 0, 0, false, 0x1d);
	run(0x100, CADD);
	nt_enc_trap(bench.enc, 0x102, false);		/* U to S */
	nt_enc_context(bench.enc, 0, 1, false, 0x1d);
	run(0x800, CADD);
	nt_enc_trap(bench.enc, 0x802, true);		/* S to S: silent */
	run(0x900, CADD);
	nt_enc_context(bench.enc, 2, 1, false, 0x1e);	/* csrw scontext at 900 */
	run(0x902, CADD);
	nt_enc_event_sync(bench.enc, NT_SYNC_TRACE_EVENT);
	run(0x904, CADD);
	pack_ptsync(&bench.want, 5, 0, 0x100);
	pack_ownership(&bench.want, 2 | 0 << 2 | 0x1d << 5);
	pack_ib(&bench.want, 2, 1, 0x100 ^ 0x800);
	pack_ownership(&bench.want, 0 | 1 << 2);
	pack_ib(&bench.want, 3, 1, 0x800 ^ 0x900);
	pack_ownership(&bench.want, 2 | 1 << 2 | 0x1e << 5);
	pack_ibsync(&bench.want, 6, 0, 2, 0x904);
	pack_ownership(&bench.want, 2 | 1 << 2 | 0x1e << 5);
	check();
}

/* With hcontext two messages after a sync; after a write the one that it is about */
static void r128_hcontext_comes_first(void **state)
{
	struct nt_enc_config c = htm;

	(void)state;
	c.context = c.hcontext = true;
	begin(c);
	nt_enc_context(bench.enc, 3, 0, true, 0x77);
	nt_enc_context(bench.enc, 2, 0, true, 0x1d);
	run(0x100, CADD);
	nt_enc_context(bench.enc, 2, 0, true, 0x1e);
	run(0x102, CADD);
	nt_enc_context(bench.enc, 3, 1, true, 0x78);
	run(0x104, CADD);
	nt_enc_trap(bench.enc, 0x106, true);
	nt_enc_context(bench.enc, 0, 1, false, 0x1e);
	run(0x800, CADD);
	nt_enc_event_sync(bench.enc, NT_SYNC_TRACE_EVENT);
	run(0x802, CADD);
	pack_ptsync(&bench.want, 5, 0, 0x100);
	pack_ownership(&bench.want, 3 | 0x10 | 0x77 << 5);
	pack_ownership(&bench.want, 2 | 0x10 | 0x1d << 5);
	pack_ownership(&bench.want, 2 | 0x10 | 0x1e << 5);
	pack_ownership(&bench.want, 3 | 1 << 2 | 0x10 | 0x78 << 5);
	pack_ib(&bench.want, 3, 3, 0x100 ^ 0x800);
	pack_ownership(&bench.want, 0 | 1 << 2);
	pack_ibsync(&bench.want, 6, 0, 1, 0x802);
	pack_ownership(&bench.want, 3 | 1 << 2 | 0x78 << 5);
	pack_ownership(&bench.want, 2 | 1 << 2 | 0x1e << 5);
	check();
}

/* -------------------------------------------------------------- loss ---- */

static void r119_loss_then_restart(void **state)
{
	(void)state;
	begin_with_stack(3);
	run(0x100, CJR_A0);
	bench.refuse = 3;	/* one message, then the question whether there is room, twice */
	run(0x200, CJR_A0);
	run(0x300, CJR_A0);
	run(0x400, CJR_A0);
	run(0x500, insn_b(16));
	run(0x510, CJR_A0);
	run(0x600, CADD);
	run(0x602, CADD);
	nt_enc_stop(bench.enc, NT_EVCODE_DISABLE, 0x604);
	pack_ptsync(&bench.want, 5, 0, 0x100);
	pack_error(&bench.want, 0, 4);
	pack_ptsync(&bench.want, 7, 0, 0x500);
	pack_ibh(&bench.want, 0, 3, 0x500 ^ 0x600, 3);
	pack_ptc(&bench.want, 4, 2, 1);
	check();
}

static void r119_error_alone_at_the_end(void **state)
{
	(void)state;
	begin(htm);
	run(0x100, CJR_A0);
	bench.refuse = 1;
	run(0x200, CADD);
	assert_true(nt_enc_lost(bench.enc));
	nt_enc_stop(bench.enc, NT_EVCODE_DISABLE, 0x202);
	assert_false(nt_enc_lost(bench.enc));
	pack_ptsync(&bench.want, 5, 0, 0x100);
	pack_error(&bench.want, 0, 4);
	check();
}

static void r119_error_when_switched_off(void **state)
{
	(void)state;
	begin(htm);
	run(0x100, CJR_A0);
	bench.refuse = 2;
	run(0x200, CADD);
	nt_enc_stop(bench.enc, NT_EVCODE_DISABLE, 0x202);
	nt_enc_flush(bench.enc);
	nt_enc_flush(bench.enc);	/* told once */
	pack_ptsync(&bench.want, 5, 0, 0x100);
	pack_error(&bench.want, 0, 4);
	check();
}

/* Lost over a pause: the next stretch tells of it before it begins */
static void loss_over_a_pause(void **state)
{
	(void)state;
	begin(htm);
	run(0x100, CJR_A0);
	bench.refuse = 2;
	run(0x200, CADD);
	nt_enc_stop(bench.enc, NT_EVCODE_DISABLE, 0x202);
	assert_true(nt_enc_lost(bench.enc));
	nt_enc_start(bench.enc, NT_SYNC_TRACE_ENABLE);
	run(0x300, CADD);
	nt_enc_stop(bench.enc, NT_EVCODE_DISABLE, 0x302);
	pack_ptsync(&bench.want, 5, 0, 0x100);
	pack_error(&bench.want, 0, 4);
	pack_ptsync(&bench.want, 7, 0, 0x300);
	pack_ptc(&bench.want, 4, 1, 1);
	check();
}

/* ------------------------------------------------------ instructions ---- */

static void r138_r139_types(void **state)
{
	static const struct {
		uint32_t insn;
		unsigned int len, type, isa;
	} t[] = {
		{ 0x0000006f, 4, NT_TYPE_JUMP, 0 },	/* j */
		{ 0x000000ef, 4, NT_TYPE_CALL, 0 },
		{ 0x000002ef, 4, NT_TYPE_CALL, 0 },	/* jal t0 */
		{ 0x0000036f, 4, NT_TYPE_JUMP_LINK, 0 },
		{ 0x00050067, 4, NT_TYPE_IJUMP, 0 },	/* jr a0 */
		{ 0x00008067, 4, NT_TYPE_RET, 0 },
		{ 0x00028067, 4, NT_TYPE_RET, 0 },		/* jr t0 */
		{ 0x00008567, 4, NT_TYPE_RET, 0 },		/* jalr a0, ra */
		{ 0x000500e7, 4, NT_TYPE_ICALL, 0 },
		{ 0x000080e7, 4, NT_TYPE_ICALL, 0 },	/* jalr ra, ra */
		{ 0x000280e7, 4, NT_TYPE_SWAP, 0 },	/* jalr ra, t0 */
		{ 0x000082e7, 4, NT_TYPE_SWAP, 0 },	/* jalr t0, ra */
		{ 0x000282e7, 4, NT_TYPE_ICALL, 0 },	/* jalr t0, t0 */
		{ 0x00058567, 4, NT_TYPE_IJUMP_LINK, 0 },
		{ 0x00051067, 4, NT_TYPE_NONE, 0 },	/* funct3 1 */
		{ 0x00000063, 4, NT_TYPE_COND, 0 },
		{ 0x00007063, 4, NT_TYPE_COND, 0 },
		{ 0x00002063, 4, NT_TYPE_NONE, 0 },	/* reserved */
		{ 0x10200073, 4, NT_TYPE_ERET, 0 },
		{ 0x30200073, 4, NT_TYPE_ERET, 0 },
		{ 0x00000073, 4, NT_TYPE_NONE, 0 },	/* ecall never retires */
		{ 0xa001, 2, NT_TYPE_JUMP, 0 },
		{ 0xc001, 2, NT_TYPE_COND, 0 },
		{ 0xe001, 2, NT_TYPE_COND, 0 },
		{ 0x8082, 2, NT_TYPE_RET, 0 },
		{ 0x8282, 2, NT_TYPE_RET, 0 },		/* c.jr t0 */
		{ 0x8502, 2, NT_TYPE_IJUMP, 0 },
		{ 0x9502, 2, NT_TYPE_ICALL, 0 },
		{ 0x9082, 2, NT_TYPE_ICALL, 0 },		/* c.jalr ra */
		{ 0x9282, 2, NT_TYPE_SWAP, 0 },		/* c.jalr t0 */
		{ 0x9002, 2, NT_TYPE_NONE, 0 },		/* c.ebreak */
		{ 0x8002, 2, NT_TYPE_NONE, 0 },		/* reserved */
		{ 0x2001, 2, NT_TYPE_NONE, 0 },		/* c.addiw on RV64 */
		{ 0xbe42, 2, NT_TYPE_NONE, 0 },		/* c.fsdsp */
		{ 0xbe42, 2, NT_TYPE_RET, NT_ISA_ZCMP }, /* cm.popret */
		{ 0xbc42, 2, NT_TYPE_RET, NT_ISA_ZCMP }, /* cm.popretz */
		{ 0xba42, 2, NT_TYPE_NONE, NT_ISA_ZCMP }, /* cm.pop */
		{ 0xa002, 2, NT_TYPE_JUMP, NT_ISA_ZCMT }, /* cm.jt 0 */
		{ 0xa082, 2, NT_TYPE_CALL, NT_ISA_ZCMT }, /* cm.jalt 32 */
	};
	struct nt_params p = { .size = sizeof(p), .xlen = 64 };
	struct nt_enc_op op;
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		memset(&op, 0xa5, sizeof(op));
		p.isa = t[i].isa;
		nt_enc_classify(&p, 0x1000, t[i].insn, t[i].len, &op);
		if (op.type != t[i].type)
			fail_msg("%x: type %u, want %u", t[i].insn, op.type, t[i].type);
	}
	p.xlen = 32;
	nt_enc_classify(&p, 0x1000, 0x2001, 2, &op);
	assert_int_equal(op.type, NT_TYPE_CALL);	/* c.jal */
}

/* 3 bits of itype: direct jumps are nothing, what JALR does is an indirect jump */
static void r140_narrow_itype(void **state)
{
	static const uint32_t jumps[] = { 0x0080006f, 0x008000ef, 0x008003ef };
	struct nt_enc_config c = htm;
	struct nt_params p = defaults();
	unsigned int i;

	(void)state;
	c.itype_3 = true;
	p.seqjump = true;
	begin_with(&p, c);
	for (i = 0; i < 3; i++)
		run(0x100, jumps[i]);	/* to 108 each; none is reported */
	run(0x108, 0x000003b7);		/* lui t2 */
	run(0x10c, insn_jalr(1, 7, 0));		/* sequential: silent as with 4 bits */
	run(0x200, 0x000000b7);		/* lui ra */
	run(0x204, insn_jalr(0, 1, 0));		/* a return: told */
	run(0x300, insn_jalr(1, 5, 0));
	run(0x400, CJR_RA);
	run(0x500, insn_b(16));
	run(0x510, SRET);
	run(0x600, CADD);
	pack_ptsync(&bench.want, 5, 0, 0x100);
	pack_ib(&bench.want, 0, 2 + 2 + 2 + 4 + 4, 0x100 ^ 0x300);
	pack_ib(&bench.want, 0, 2, 0x300 ^ 0x400);
	pack_ib(&bench.want, 0, 1, 0x400 ^ 0x500);
	pack_ibh(&bench.want, 0, 4, 0x500 ^ 0x600, 3);
	check();
}

static void targets(void **state)
{
	static const struct { uint32_t insn; unsigned int len; int64_t offset; } t[] = {
		{ 0xfe000ee3, 4, -4 }, { 0x7e000fe3, 4, 4094 }, { 0x80000063, 4, -4096 },
		{ 0xffdff06f, 4, -4 }, { 0x7ffff06f, 4, 0xffffe }, { 0x8000006f, 4, -0x100000 },
		{ 0xbffd, 2, -2 }, { 0xaffd, 2, 0x7fe }, { 0xb001, 2, -2048 },
		{ 0xdffd, 2, -2 }, { 0xcffd, 2, 254 }, { 0xd001, 2, -256 },
	};
	struct nt_params p = { .size = sizeof(p), .xlen = 64 };
	struct nt_enc_op op;
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		nt_enc_classify(&p, 0x80000000, t[i].insn, t[i].len, &op);
		if (op.target != (uint64_t)(0x80000000 + t[i].offset))
			fail_msg("%x: target %llx", t[i].insn, (unsigned long long)op.target);
	}
}

/* ----------------------------------------------------------- repeats ---- */

/* A branch to itself, n times */
static void spin(unsigned int n)
{
	while (n--)
		run(0x100, insn_b(0));
}

static void r108_equal_histories(void **state)
{
	struct nt_enc_config c = htm;

	(void)state;
	c.hist_bits = 5;
	c.repeathist = true;
	begin(c);
	spin(4 * 10 + 2);
	run(0x104, CADD);
	nt_enc_stop(bench.enc, NT_EVCODE_DISABLE, 0x106);
	pack_ptsync(&bench.want, 5, 0, 0x100);
	pack_rf2(&bench.want, 0x1f, 10);
	pack_ptc(&bench.want, 4, 4 * 10 * 2 + 4 + 1, 6);
	check();
}

/* Other histories, and other messages, come in their places; one is no repeat */
static void r114_histories_in_order(void **state)
{
	struct nt_enc_config c = htm;

	(void)state;
	c.hist_bits = 3;
	c.repeathist = true;
	begin(c);
	spin(4);
	run(0x100, insn_b(8));
	run(0x104, insn_b(8));
	spin(2);
	run(0x100, CJR_A0);
	nt_enc_event_sync(bench.enc, NT_SYNC_TRACE_EVENT);
	run(0x200, CADD);
	pack_ptsync(&bench.want, 5, 0, 0x100);
	pack_rf2(&bench.want, 7, 2);
	pack_rf(&bench.want, 1, 4);
	pack_rf(&bench.want, 1, 7);
	pack_ibsync(&bench.want, 6, 0, 17, 0x200);
	check();
}

static void r110_hrepeat_has_18_bits(void **state)
{
	struct nt_enc_config c = htm;

	(void)state;
	c.hist_bits = 3;
	c.repeathist = true;
	c.icnt_bits = 22;
	begin(c);
	spin(2 * (0x3ffff + 1) + 1);
	nt_enc_stop(bench.enc, NT_EVCODE_DISABLE, 0x104);
	pack_ptsync(&bench.want, 5, 0, 0x100);
	pack_rf2(&bench.want, 7, 0x3ffff);
	pack_rf(&bench.want, 1, 7);
	pack_ptc(&bench.want, 4, 2 * (2 * (0x3ffff + 1) + 1), 2);
	check();
}

static void r106_equal_branches(void **state)
{
	struct nt_enc_config c = btm;

	(void)state;
	c.repeatbranch = true;
	begin(c);
	spin(11);
	run(0x100, CADD);
	run(0x102, insn_b(-2));
	run(0x100, CADD);
	nt_enc_stop(bench.enc, NT_EVCODE_DISABLE, 0x102);
	pack_ptsync(&bench.want, 5, 0, 0x100);
	pack_db(&bench.want, 2);
	pack_repeat(&bench.want, 10);
	pack_db(&bench.want, 3);
	pack_ptc(&bench.want, 4, 1, 0);
	check();
}

static void r110_bcnt_has_18_bits(void **state)
{
	struct nt_enc_config c = btm;

	(void)state;
	c.repeatbranch = true;
	begin(c);
	spin(1 + 0x3ffff + 2);
	run(0x104, CADD);
	nt_enc_stop(bench.enc, NT_EVCODE_DISABLE, 0x106);
	pack_ptsync(&bench.want, 5, 0, 0x100);
	pack_db(&bench.want, 2);
	pack_repeat(&bench.want, 0x3ffff);
	pack_repeat(&bench.want, 1);
	pack_ptc(&bench.want, 4, 3, 0);
	check();
}

/* Equal I-CNT alone is not enough, and a U-ADDR has to be 0 */
static void r107_same_target(void **state)
{
	struct nt_enc_config c = btm;
	unsigned int i;

	(void)state;
	c.repeatbranch = true;
	begin(c);
	run(0x100, insn_b(0x10));
	run(0x110, insn_b(0x10));
	for (i = 0; i < 4; i++)
		run(0x120, CJR_A0);
	run(0x140, CJR_A0);
	run(0x120, CJR_A0);
	run(0x140, CADD);
	pack_ptsync(&bench.want, 5, 0, 0x100);
	pack_db(&bench.want, 2);
	pack_db(&bench.want, 2);
	pack_ib(&bench.want, 0, 1, 0x20);
	pack_ib(&bench.want, 0, 1, 0);
	pack_repeat(&bench.want, 1);
	pack_ib(&bench.want, 0, 1, 0x60);
	pack_ib(&bench.want, 0, 1, 0x60);
	pack_ib(&bench.want, 0, 1, 0x60);
	check();
}

/* What is held back when messages are lost is lost with them */
static void r119_repeats_and_loss(void **state)
{
	struct nt_enc_config c = htm;

	(void)state;
	c.hist_bits = 3;
	c.repeathist = true;
	begin(c);
	spin(4);
	bench.refuse = 2;
	run(0x100, CJR_A0);
	spin(4);
	run(0x100, CJR_A0);
	run(0x200, CADD);
	nt_enc_stop(bench.enc, NT_EVCODE_DISABLE, 0x202);
	pack_ptsync(&bench.want, 5, 0, 0x100);
	pack_error(&bench.want, 0, 4);
	pack_ptsync(&bench.want, 7, 0, 0x200);
	pack_ptc(&bench.want, 4, 1, 1);
	check();
}

static void refuses(void **state)
{
	struct nt_enc_config c = { .size = sizeof(c), .emit = emit };
	struct nt_params p = defaults();

	(void)state;
	p.xlen = 48;
	assert_null(nt_enc_new(&p, &c));
	p.xlen = 64;
	p.timestamps = true;
	assert_null(nt_enc_new(&p, &c));	/* no clock */
	p.timestamps = false;
	c.hist_bits = 33;
	assert_null(nt_enc_new(&p, &c));
	c.hist_bits = 0;
	p.srcbits = 13;
	assert_null(nt_enc_new(&p, &c));
	p.srcbits = 0;
	assert_non_null(bench.enc = nt_enc_new(&p, &c));
	nt_enc_free(bench.enc);
	bench.enc = NULL;
	c.htm = true;
	c.repeatbranch = true;
	assert_null(nt_enc_new(&p, &c));	/* its meaning is not settled */
	c.repeatbranch = false;
	c.hcontext = true;
	assert_null(nt_enc_new(&p, &c));	/* no Ownership messages at all */
	c.hcontext = false;
	c.itype_3 = true;
	p.retstack = 3;
	assert_null(nt_enc_new(&p, &c));	/* no returns are reported */
	p.retstack = 0;
	p.src = 1;
	assert_null(nt_enc_new(&p, &c));	/* SRC has no bits */
	assert_null(nt_enc_new(&p, NULL));
	assert_null(nt_enc_new(NULL, &c));
}

/* Who knew of fewer members gets what there was then, whatever lies behind them */
static void older_callers(void **state)
{
	struct nt_enc_config c = { .emit = emit, .htm = true };
	const struct nt_params p = defaults();
	const size_t first = offsetof(struct nt_enc_config, repeathist);

	(void)state;
	begin(htm);
	nt_enc_free(bench.enc);
	memset((char *)&c + first, 0xff, sizeof(c) - first);
	c.ctx = &bench;
	c.hist_bits = 3;
	c.size = first;
	bench.enc = nt_enc_new(&p, &c);
	assert_non_null(bench.enc);
	nt_enc_start(bench.enc, NT_SYNC_TRACE_ENABLE);
	spin(5);
	nt_enc_stop(bench.enc, NT_EVCODE_DISABLE, 0x100);
	pack_ptsync(&bench.want, 5, 0, 0x100);
	pack_rf(&bench.want, 1, 7);
	pack_rf(&bench.want, 1, 7);
	pack_ptc(&bench.want, 4, 10, 3);
	check();
	c.size = first - 1;
	assert_null(nt_enc_new(&p, &c));
	c.size = 0;
	assert_null(nt_enc_new(&p, &c));
	/* who knows of more, later: only if none of it is asked for */
	memset((char *)&c + first, 0, sizeof(c) - first);
	c.size = sizeof(c) + 100;
	begin(htm);
	{
		struct { struct nt_enc_config c; char more[100]; } later = { .c = c };

		nt_enc_free(bench.enc);
		bench.enc = nt_enc_new(&p, &later.c);
		assert_non_null(bench.enc);
		later.more[99] = 1;
		assert_null(nt_enc_new(&p, &later.c));
	}
}

static int cleanup(void **state)
{
	(void)state;
	nt_enc_free(bench.enc);
	bench.enc = NULL;
	return 0;
}

/* A variable field of 0 takes a byte only where no bits are left; ECODE 0 is there */
static void r69_r80_empty_fields(void **state)
{
	struct nt_params p = { .size = sizeof(p), .xlen = 64 };
	struct nt_msg owner = { .tcode = NT_TCODE_OWNERSHIP, .fields = NT_F_PROCESS };
	struct nt_msg error = { .tcode = NT_TCODE_ERROR, .fields = NT_F_ETYPE | NT_F_ECODE };
	uint8_t buf[NT_ENC_MSG_MAX];

	(void)state;
	assert_int_equal(nt_enc_msg(&p, &owner, buf), 2);
	assert_int_equal(buf[1], 0x03);
	assert_int_equal(nt_enc_msg(&p, &error, buf), 2);
	p.srcbits = 2;		/* now ETYPE ends with its byte */
	assert_int_equal(nt_enc_msg(&p, &error, buf), 3);
	assert_int_equal(buf[2], 0x03);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(r69_r80_empty_fields),
		cmocka_unit_test(vector_1),
		cmocka_unit_test(vector_2),
		cmocka_unit_test(vector_6_htm),
		cmocka_unit_test(vector_6_btm),
		cmocka_unit_test(vector_7),
		cmocka_unit_test(r89_kernel_address),
		cmocka_unit_test(r88_extended_addresses),
		cmocka_unit_test(r90_addresses_survive),
		cmocka_unit_test(addresses_of_n_bits),
		cmocka_unit_test(addr_bits_out_of_range),
		cmocka_unit_test(r91_hist_polarity),
		cmocka_unit_test(r93_resources_reset_alone),
		cmocka_unit_test(r97_both_full_at_once),
		cmocka_unit_test(r104_icnt_full_in_btm),
		cmocka_unit_test(r78_r79_correlation),
		cmocka_unit_test(r117_starts),
		cmocka_unit_test(r117_restart_begins_empty),
		cmocka_unit_test(r100_half_words),
		cmocka_unit_test(r118_empty_stretch),
		cmocka_unit_test(r99_r81_traps),
		cmocka_unit_test(trap_behind_jump),
		cmocka_unit_test(taken_then_trap),
		cmocka_unit_test(r134_matching_return_is_silent),
		cmocka_unit_test(r134_mismatch_and_empty_tell),
		cmocka_unit_test(r135_swap_pops_then_pushes),
		cmocka_unit_test(r131_oldest_is_dropped),
		cmocka_unit_test(r113_sync_empties_the_stack),
		cmocka_unit_test(counter_mode),
		cmocka_unit_test(r136_sequential_jump),
		cmocka_unit_test(r136_not_across_messages),
		cmocka_unit_test(r137_all_jumps),
		cmocka_unit_test(r24_periodic_sync),
		cmocka_unit_test(r24_periodic_by_messages),
		cmocka_unit_test(r121_r114_event_keeps_history),
		cmocka_unit_test(r125_timestamps),
		cmocka_unit_test(R124_narrow_clock),
		cmocka_unit_test(src_in_every_message),
		cmocka_unit_test(r128_r129_ownership),
		cmocka_unit_test(r128_hcontext_comes_first),
		cmocka_unit_test(r119_loss_then_restart),
		cmocka_unit_test(r119_error_alone_at_the_end),
		cmocka_unit_test(r119_error_when_switched_off),
		cmocka_unit_test(loss_over_a_pause),
		cmocka_unit_test(r138_r139_types),
		cmocka_unit_test(r108_equal_histories),
		cmocka_unit_test(r114_histories_in_order),
		cmocka_unit_test(r110_hrepeat_has_18_bits),
		cmocka_unit_test(r110_bcnt_has_18_bits),
		cmocka_unit_test(r106_equal_branches),
		cmocka_unit_test(r107_same_target),
		cmocka_unit_test(r119_repeats_and_loss),
		cmocka_unit_test(r140_narrow_itype),
		cmocka_unit_test(targets),
		cmocka_unit_test(older_callers),
		cmocka_unit_test(refuses),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("enc", tests, NULL, cleanup);
}
