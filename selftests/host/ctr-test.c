// SPDX-License-Identifier: GPL-2.0-only
/*
 * Control transfer records: what is recorded, what registers show, who may use them;
 * and a second buffer, made of a list, that has to agree
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka-tap.h"
#include "nt-ctr.h"
#include "program.h"
#include "random.h"

#define ALL	(NT_CTRCTL_U | NT_CTRCTL_S | NT_CTRCTL_M)
#define EXC	NT_CTRCTL_TYPE(NT_TYPE_EXCEPTION)
#define INTR	NT_CTRCTL_TYPE(NT_TYPE_INTERRUPT)
#define TYPES	0xff3e	/* those that a transfer can have: 1-5, 8-15 */

#define U	NT_CTR_U
#define S	NT_CTR_S
#define M	NT_CTR_M
#define VU	NT_CTR_VU
#define VS	NT_CTR_VS

/* ---------------------------------------------------------------- helpers */

static struct nt_ctr *make(uint32_t flags, uint32_t depth)
{
	struct nt_ctr_params p;
	struct nt_ctr *c;

	nt_ctr_params_init(&p);
	p.flags = flags;
	p.depth = depth;
	if (depth < 16 || depth > 256 || (depth & (depth - 1)))
		p.depths = 0;
	c = nt_ctr_new(&p);
	assert_non_null(c);
	return c;
}

static uint64_t csr(struct nt_ctr *c, unsigned int number)
{
	uint64_t value;

	assert_int_equal(nt_ctr_read(c, M, number, &value), 0);
	return value;
}

static void set(struct nt_ctr *c, unsigned int number, uint64_t value)
{
	assert_int_equal(nt_ctr_write(c, M, number, value), 0);
}

static struct nt_ctr *with(uint64_t ctl, uint64_t vsctl)
{
	struct nt_ctr *c = make(0, 16);

	set(c, NT_CSR_MCTRCTL, ctl);
	set(c, NT_CSR_VSCTRCTL, vsctl);
	return c;
}

static void go_at(struct nt_ctr *c, unsigned int type, unsigned int source, unsigned int target,
		  int cause, uint64_t from, uint64_t time)
{
	struct nt_ctr_transfer t = {
		.size = sizeof(t), .from = from, .to = from + 0x100, .time = time, .cause = cause,
		.type = type, .source = source, .target = target,
		.flags = time ? NT_CTR_TIME : 0,
	};

	assert_int_equal(nt_ctr_transfer(c, &t), 0);
}

static void go(struct nt_ctr *c, unsigned int type, unsigned int source, unsigned int target)
{
	go_at(c, type, source, target, NT_CTR_CAUSE_UNKNOWN, 0x1000, 0);
}

static unsigned int valid(struct nt_ctr *c)
{
	struct nt_ctr_entry e;
	unsigned int i, n = 0;

	for (i = 0; i < nt_ctr_depth(c); i++)
		n += nt_ctr_entry(c, i, &e);
	return n;
}

static struct nt_ctr_entry entry(struct nt_ctr *c, uint32_t i)
{
	struct nt_ctr_entry e;

	nt_ctr_entry(c, i, &e);
	return e;
}

/* Is there a record of just this transfer? */
static bool records(uint64_t ctl, uint64_t vsctl, unsigned int type, unsigned int source,
		    unsigned int target, struct nt_ctr_entry *e)
{
	struct nt_ctr *c = with(ctl, vsctl);
	struct nt_ctr_entry dummy;
	bool is;

	go(c, type, source, target);
	is = nt_ctr_entry(c, 0, e ? e : &dummy);
	assert_int_equal(csr(c, NT_CSR_SCTRSTATUS), is);
	nt_ctr_free(c);
	return is;
}

/* -------------------------------------------------------------- registers */

static void r144_numbers(void **state)
{
	static const unsigned int numbers[] = { 0x14e, 0x14f, 0x15f, 0x24e, 0x34e };
	static const unsigned int draft[] = { 0x181, 0x183, 0x281, 0x381, 0x383 };
	struct nt_ctr *c = make(0, 16), *d = make(NT_CTR_DRAFT, 16);
	uint64_t value;
	size_t i;

	(void)state;
	for (i = 0; i < 5; i++) {
		assert_int_equal(nt_ctr_read(c, M, numbers[i], &value), 0);
		assert_int_equal(nt_ctr_read(d, M, numbers[i], &value), NT_CTR_ILLEGAL);
		assert_int_equal(nt_ctr_read(c, M, draft[i], &value), NT_CTR_ILLEGAL);
		assert_int_equal(nt_ctr_read(d, M, draft[i], &value), 0);
	}
	/* upper halves are RV32's, the draft's */
	assert_int_equal(nt_ctr_read(d, M, 0x382, &value), NT_CTR_ILLEGAL);
	nt_ctr_free(c);
	nt_ctr_free(d);
}

static void r145_control_fields(void **state)
{
	const uint64_t fields = 0xff3e00001b87;
	struct nt_ctr *c = make(0, 16);

	(void)state;
	set(c, 0x34e, UINT64_MAX);
	assert_int_equal(csr(c, 0x34e), fields);
	assert_int_equal(csr(c, 0x14e), fields & ~0x204ull);
	set(c, 0x24e, UINT64_MAX);
	assert_int_equal(csr(c, 0x24e), fields & ~0x204ull);
	/* M and MTE ignore what S-mode writes */
	set(c, 0x14e, 0);
	assert_int_equal(csr(c, 0x34e), 0x204);
	set(c, 0x34e, 0);
	set(c, 0x14e, UINT64_MAX);
	assert_int_equal(csr(c, 0x34e), fields & ~0x204ull);
	nt_ctr_free(c);
}

static void r146_mode_bits(void **state)
{
	(void)state;
	assert_true(records(1 << 0, 0, NT_TYPE_JUMP, U, U, NULL));
	assert_true(records(1 << 1, 0, NT_TYPE_JUMP, S, S, NULL));
	assert_true(records(1 << 2, 0, NT_TYPE_JUMP, M, M, NULL));
	assert_false(records(6, 0, NT_TYPE_JUMP, U, U, NULL));
	assert_false(records(3, 0, NT_TYPE_JUMP, M, M, NULL));
	assert_true(records(0, 1 << 0, NT_TYPE_JUMP, VU, VU, NULL));
	assert_true(records(0, 1 << 1, NT_TYPE_JUMP, VS, VS, NULL));
	assert_true(records(1 | 1 << 8, 0, NT_TYPE_EXCEPTION, U, S, NULL));
	assert_true(records(2 | 1 << 9, 0, NT_TYPE_EXCEPTION, S, M, NULL));
}

static void r147_bit_7_clears_nothing(void **state)
{
	struct nt_ctr *c = with(ALL, 0);

	(void)state;
	go(c, NT_TYPE_CALL, U, U);
	set(c, 0x34e, ALL | 1 << 7);
	assert_int_equal(valid(c), 1);
	go(c, NT_TYPE_JUMP, U, U);
	assert_int_equal(valid(c), 1);
	nt_ctr_free(c);
}

static void r148_r155_r157_filters(void **state)
{
	unsigned int type, other;

	(void)state;
	for (type = 1; type < 16; type++) {
		if (!(TYPES >> type & 1))
			continue;
		assert_int_equal(records(ALL, 0, type, S, S, NULL), type != NT_TYPE_NOT_TAKEN);
		for (other = 1; other < 16; other++)
			if (TYPES >> other & 1)
				assert_int_equal(records(ALL | 1ull << (32 + other), 0, type, S, S,
							 NULL),
						 (type != 4) == (type != other));
	}
}

static void r149_r150_depths(void **state)
{
	struct nt_ctr_params p;
	struct nt_ctr *c;
	unsigned int i, j;

	(void)state;
	nt_ctr_params_init(&p);
	p.depth = 32;
	p.depths = 1 << 1 | 1 << 4;	/* not consecutive */
	c = nt_ctr_new(&p);
	for (i = 0; i < 8; i++) {
		uint64_t before = csr(c, 0x15f);

		set(c, 0x15f, i);
		assert_int_equal(csr(c, 0x15f), i == 1 || i == 4 ? i : before);
		assert_int_equal(nt_ctr_depth(c), 16u << csr(c, 0x15f));
	}
	nt_ctr_free(c);
	c = make(0, 16);
	for (i = 0; i < 5; i++) {
		set(c, 0x15f, i);
		assert_int_equal(csr(c, 0x15f), i);
		set(c, 0x34e, ALL);
		for (j = 0; j < 300; j++)
			go(c, NT_TYPE_JUMP, U, U);
		assert_int_equal(valid(c), 16u << i);
	}
	nt_ctr_free(c);
	/* any depth beyond; it is no encoding's */
	c = make(0, 1000);
	assert_int_equal(csr(c, 0x15f), 7);
	set(c, 0x34e, ALL);
	for (j = 0; j < 1003; j++)
		go(c, NT_TYPE_JUMP, U, U);
	assert_int_equal(valid(c), 1000);
	assert_int_equal(csr(c, 0x14f), 3);
	set(c, 0x14f, 999);
	assert_int_equal(csr(c, 0x14f), 999);
	nt_ctr_free(c);
	/* the first power of two that has none */
	c = make(0, 512);
	assert_int_equal(csr(c, 0x15f), 7);
	nt_ctr_free(c);
}

static void r151_status(void **state)
{
	struct nt_ctr *c = make(0, 256);

	(void)state;
	set(c, 0x14f, UINT64_MAX);
	assert_int_equal(csr(c, 0x14f), 0x800000ff);
	set(c, 0x15f, 0);
	set(c, 0x14f, 0xffff);
	assert_int_equal(csr(c, 0x14f), 0xf);
	nt_ctr_free(c);
}

static void r152_r153_logical_order(void **state)
{
	struct nt_ctr *c = with(ALL, 0);
	unsigned int i;

	(void)state;
	for (i = 0; i < 20; i++) {
		assert_int_equal(csr(c, 0x14f), i % 16);
		go_at(c, NT_TYPE_JUMP, U, U, -1, 0x1000 + 2 * i, 0);
	}
	for (i = 0; i < 16; i++)
		assert_int_equal(entry(c, i).source, (0x1000 + 2 * (19 - i)) | 1);
	/* rebased at once by a write */
	set(c, 0x14f, 5);
	for (i = 0; i < 16; i++) {
		unsigned int physical = (5 - i - 1) & 15;
		unsigned int made = physical < 4 ? 16 + physical : physical;

		assert_int_equal(entry(c, i).source, (0x1000 + 2 * made) | 1);
	}
	nt_ctr_free(c);
}

static void r154_r183_indirect_access(void **state)
{
	struct nt_ctr *c = with(ALL, 0);
	uint64_t value;
	unsigned int i;

	(void)state;
	go(c, NT_TYPE_ICALL, U, U);
	set(c, 0x150, 0x200);
	assert_int_equal(csr(c, 0x151), 0x1001);
	assert_int_equal(csr(c, 0x152), 0x1100);
	assert_int_equal(csr(c, 0x153), 8);
	for (i = 0x155; i <= 0x157; i++) {
		set(c, i, 5);
		assert_int_equal(csr(c, i), 0);
	}
	for (i = 0x20f; i <= 0x2fe; i += 0xef) {
		set(c, 0x150, i);
		set(c, 0x151, 0x5555);
		assert_int_equal(csr(c, 0x151), i == 0x20f ? 0x5555 : 0);
	}
	set(c, 0x15f, 4);	/* nothing was written there either */
	assert_int_equal(csr(c, 0x151), 0);
	set(c, 0x150, 0x300);
	assert_int_equal(nt_ctr_read(c, M, 0x151, &value), NT_CTR_ILLEGAL);
	set(c, 0x350, 0x200);	/* miselect has no CTR range */
	assert_int_equal(nt_ctr_read(c, M, 0x351, &value), NT_CTR_ILLEGAL);
	assert_int_equal(nt_ctr_read(c, M, 0x154, &value), NT_CTR_ILLEGAL);
	nt_ctr_free(c);
}

static void r156_not_taken(void **state)
{
	struct nt_ctr_entry e;
	struct nt_ctr *c = with(ALL | NT_CTRCTL_NTBREN, 0);
	struct nt_ctr_transfer t = {
		.size = sizeof(t), .from = 0x2000, .to = 0x2004, .type = NT_TYPE_NOT_TAKEN,
		.flags = NT_CTR_MISPREDICTED,
	};

	(void)state;
	nt_ctr_transfer(c, &t);
	e = entry(c, 0);
	assert_int_equal(e.source, 0x2001);
	assert_int_equal(e.target, 0x2004 | NT_CTRTARGET_MISP);
	assert_int_equal(e.data, 4);
	nt_ctr_free(c);
}

static void r158_trap_source(void **state)
{
	struct nt_ctr_entry e;

	(void)state;
	assert_true(records(ALL, 0, NT_TYPE_INTERRUPT, U, S, &e));
	assert_int_equal(e.source, 0x1001);
	assert_int_equal(e.target, 0x1100);
	assert_int_equal(e.data, 2);
}

static void r159_r170_frozen(void **state)
{
	struct nt_ctr *c = with(ALL, 0);

	(void)state;
	go_at(c, NT_TYPE_JUMP, U, U, -1, 0x1000, 1000);
	nt_ctr_time(c, U, 1007);
	set(c, 0x14f, 1u << 31 | 1);
	go_at(c, NT_TYPE_JUMP, U, U, -1, 0x1000, 2000);
	assert_int_equal(csr(c, 0x14f), 1u << 31 | 1);
	assert_int_equal(valid(c), 1);
	set(c, 0x14f, 1);
	go_at(c, NT_TYPE_JUMP, U, U, -1, 0x1000, 2020);
	assert_int_equal(entry(c, 0).data, 27 << 16 | NT_CTRDATA_CCV | 11);
	nt_ctr_free(c);

	/* M-mode is not recorded: its cycles don't count */
	c = with(NT_CTRCTL_U, 0);
	go_at(c, NT_TYPE_JUMP, U, U, -1, 0x1000, 100);
	go_at(c, NT_TYPE_EXCEPTION, U, M, -1, 0x1000, 110);
	go_at(c, NT_TYPE_JUMP, M, M, -1, 0x1000, 300);
	go_at(c, NT_TYPE_ERET, M, U, -1, 0x1000, 500);
	go_at(c, NT_TYPE_JUMP, U, U, -1, 0x1000, 505);
	assert_int_equal(valid(c), 2);
	assert_int_equal(entry(c, 0).data, 15 << 16 | NT_CTRDATA_CCV | 11);
	/* when the time of the way there is not known, nor is the count */
	go_at(c, NT_TYPE_EXCEPTION, U, M, -1, 0x1000, 0);
	go_at(c, NT_TYPE_ERET, M, U, -1, 0x1000, 600);
	go_at(c, NT_TYPE_JUMP, U, U, -1, 0x1000, 605);
	assert_false(entry(c, 0).data & NT_CTRDATA_CCV);
	go_at(c, NT_TYPE_JUMP, U, U, -1, 0x1000, 606);
	assert_int_equal(entry(c, 0).data, 1 << 16 | NT_CTRDATA_CCV | 11);
	nt_ctr_free(c);
}

/* A clock that was set back: what passed is not known, and from there on it counts again. */
static void r159_time_goes_back(void **state)
{
	struct nt_ctr *c = with(ALL, 0);

	(void)state;
	go_at(c, NT_TYPE_JUMP, U, U, -1, 0x1000, 1000);
	go_at(c, NT_TYPE_JUMP, U, U, -1, 0x1000, 1010);
	assert_int_equal(entry(c, 0).data, 10 << 16 | NT_CTRDATA_CCV | 11);
	go_at(c, NT_TYPE_JUMP, U, U, -1, 0x1000, 990);
	assert_false(entry(c, 0).data & NT_CTRDATA_CCV);
	go_at(c, NT_TYPE_JUMP, U, U, -1, 0x1000, 995);
	assert_int_equal(entry(c, 0).data, 5 << 16 | NT_CTRDATA_CCV | 11);
	/* between transfers */
	nt_ctr_time(c, U, 500);
	go_at(c, NT_TYPE_JUMP, U, U, -1, 0x1000, 1005);
	assert_false(entry(c, 0).data & NT_CTRDATA_CCV);
	go_at(c, NT_TYPE_JUMP, U, U, -1, 0x1000, 1007);
	assert_int_equal(entry(c, 0).data, 2 << 16 | NT_CTRDATA_CCV | 11);
	nt_ctr_free(c);
}

static void r160_r174_debug_mode(void **state)
{
	struct nt_ctr *c = with(ALL | NT_CTRCTL_BPFRZ, 0);

	(void)state;
	go_at(c, NT_TYPE_EXCEPTION, U, NT_CTR_DEBUG, 3, 0x1000, 0);
	go(c, NT_TYPE_JUMP, NT_CTR_DEBUG, NT_CTR_DEBUG);
	go(c, NT_TYPE_ERET, NT_CTR_DEBUG, U);
	assert_int_equal(csr(c, 0x14f), 0);
	assert_int_equal(valid(c), 0);
	nt_ctr_free(c);
}

static void r161_r162_sctrclr(void **state)
{
	struct nt_ctr *c = with(ALL, 0);
	unsigned int i;

	(void)state;
	assert_int_equal(NT_CTR_SCTRCLR, 0x10400073);
	set(c, 0x15f, 4);
	for (i = 0; i < 40; i++)
		go_at(c, NT_TYPE_JUMP, U, U, -1, 0x1000, 100 + i);
	set(c, 0x15f, 0);	/* some of them beyond this */
	set(c, 0x14f, 1u << 31 | 7);
	assert_int_equal(nt_ctr_clear(c, S), 0);
	assert_int_equal(csr(c, 0x14f), 1u << 31 | 7);
	set(c, 0x15f, 4);
	for (i = 0; i < 256; i++) {
		struct nt_ctr_entry e = entry(c, i);

		assert_int_equal(e.source | e.target | e.data, 0);
	}
	set(c, 0x14f, 7);
	go_at(c, NT_TYPE_JUMP, U, U, -1, 0x1000, 200);
	assert_int_equal(entry(c, 0).data, 11);
	go_at(c, NT_TYPE_JUMP, U, U, -1, 0x1000, 201);
	assert_int_equal(entry(c, 0).data, 1 << 16 | NT_CTRDATA_CCV | 11);
	nt_ctr_free(c);
}

/* --------------------------------------------------------- modes and traps */

static void r163_mode_table(void **state)
{
	struct nt_ctr_entry e;

	(void)state;
	assert_true(records(3, 0, NT_TYPE_EXCEPTION, U, S, &e));
	assert_int_equal(e.source, 0x1001);
	assert_int_equal(e.target, 0x1100);
	assert_false(records(1, 0, NT_TYPE_EXCEPTION, U, S, NULL));
	assert_true(records(2, 0, NT_TYPE_EXCEPTION, U, S, &e));
	assert_int_equal(e.source, 1);
	assert_int_equal(e.target, 0x1100);
	assert_false(records(4, 0, NT_TYPE_EXCEPTION, U, S, NULL));
	assert_true(records(3, 0, NT_TYPE_ERET, S, U, &e));
	assert_int_equal(e.source, 0x1001);
	assert_int_equal(e.target, 0x1100);
	assert_true(records(2, 0, NT_TYPE_ERET, S, U, &e));
	assert_int_equal(e.source, 0x1001);
	assert_int_equal(e.target, 0);
	assert_false(records(1, 0, NT_TYPE_ERET, S, U, NULL));
	assert_false(records(4, 0, NT_TYPE_ERET, S, U, NULL));
	/* types that are inhibited stay so */
	assert_false(records(2 | EXC, 0, NT_TYPE_EXCEPTION, U, S, NULL));
	assert_false(records(2 | 1ull << 35, 0, NT_TYPE_ERET, S, U, NULL));
}

#define STE	NT_CTRCTL_STE
#define MTE	NT_CTRCTL_MTE

static const struct {
	unsigned int source, target;
	uint64_t ctl, vsctl;
} external[] = {
	{ U, S, STE, 0 },	{ U, M, MTE | STE, 0 },		{ S, M, MTE, 0 },
	{ VU, VS, 0, STE },	{ VU, S, STE, STE },		{ VU, M, MTE | STE, STE },
	{ VS, S, STE, 0 },	{ VS, M, MTE | STE, 0 },
};

static void r164_r165_external_traps(void **state)
{
	unsigned int i, bits;

	(void)state;
	for (i = 0; i < 8; i++) {
		unsigned int source = external[i].source;
		/* the source alone is enabled, and its filters say no */
		uint64_t ctl = (source == U ? 1 : source == S ? 2 : 0) | EXC | INTR;
		uint64_t vsctl = (source == VU ? 1 : source == VS ? 2 : 0) | EXC | INTR;

		for (bits = 0; bits < 8; bits++) {
			uint64_t c = (bits & 1 ? STE : 0) | (bits & 2 ? MTE : 0);
			uint64_t v = bits & 4 ? STE : 0;
			unsigned int type = bits & 1 ? NT_TYPE_EXCEPTION : NT_TYPE_INTERRUPT;
			struct nt_ctr_entry e;
			bool want = !(external[i].ctl & ~c) && !(external[i].vsctl & ~v);

			assert_int_equal(records(ctl | c, vsctl | v, type, source,
						 external[i].target, &e), want);
			if (!want)
				continue;
			assert_int_equal(e.source, 0x1001);
			assert_int_equal(e.target, 0);
			assert_int_equal(e.data, type);
		}
		/* the mode itself has to be enabled */
		assert_false(records(MTE | STE, STE, NT_TYPE_EXCEPTION, source,
				     external[i].target, NULL));
	}
}

static void r166_virtualisation_changes(void **state)
{
	(void)state;
	/* into and out of V: vsctrctl's filters, not those of sctrctl */
	assert_true(records(ALL | EXC, 3, NT_TYPE_EXCEPTION, VU, S, NULL));
	assert_false(records(ALL, 3 | EXC, NT_TYPE_EXCEPTION, VU, S, NULL));
	assert_true(records(ALL | 1ull << 35, 3, NT_TYPE_ERET, S, VS, NULL));
	assert_false(records(ALL, 3 | 1ull << 35, NT_TYPE_ERET, S, VS, NULL));
	assert_false(records(ALL, 3 | 1 << 7, NT_TYPE_ERET, S, VS, NULL));
	assert_true(records(ALL | 1 << 7, 3, NT_TYPE_ERET, S, VS, NULL));
	/* within V=0, sctrctl's */
	assert_true(records(ALL, 3 | EXC, NT_TYPE_EXCEPTION, U, S, NULL));
	assert_false(records(ALL | EXC, 3, NT_TYPE_EXCEPTION, U, S, NULL));
}

/* ------------------------------------------------------------------ cycles */

static void r167_cycle_vectors(void **state)
{
	static const struct {
		uint32_t n, cce, ccm, back;
	} v[] = {
		{ 0, 0, 0, 0 }, { 4095, 0, 4095, 4095 }, { 4096, 1, 0, 4096 },
		{ 5000, 1, 904, 5000 }, { 8191, 1, 4095, 8191 }, { 8192, 2, 0, 8192 },
		{ 10000, 2, 904, 10000 }, { 10001, 2, 904, 10000 }, { 32764, 3, 4095, 32764 },
		/* the largest CCE counts, too, before it saturates */
		{ 67190784, 15, 5, 67190784 }, { 134201344, 15, 4095, 134201344 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		uint16_t cc = nt_ctr_cycles_encode(v[i].n, 4);

		assert_int_equal(cc >> 12, v[i].cce);
		assert_int_equal(cc & 0xfff, v[i].ccm);
		assert_int_equal(nt_ctr_cycles_decode(cc), v[i].back);
	}
}

static void r168_saturation(void **state)
{
	static const uint32_t max[] = { 4095, 8191, 32764, 524224, 134201344 };
	unsigned int bits;

	(void)state;
	for (bits = 0; bits <= 4; bits++) {
		assert_int_equal(nt_ctr_cycles_decode(nt_ctr_cycles_encode(UINT64_MAX, bits)),
				 max[bits]);
		assert_int_equal(nt_ctr_cycles_decode(nt_ctr_cycles_encode(max[bits], bits)),
				 max[bits]);
		assert_true(nt_ctr_cycles_decode(nt_ctr_cycles_encode(max[bits] / 2, bits)) <
			    max[bits]);
	}
}

static void r169_control_writes_reset_cycles(void **state)
{
	static const unsigned int regs[] = { 0x34e, 0x14e, 0x24e };
	struct nt_ctr *c = with(ALL, 0);
	uint64_t time = 100;
	unsigned int i;

	(void)state;
	go_at(c, NT_TYPE_JUMP, U, U, -1, 0x1000, time);
	for (i = 0; i < 3; i++) {
		set(c, regs[i], csr(c, regs[i]));
		go_at(c, NT_TYPE_JUMP, U, U, -1, 0x1000, time += 10);
		assert_false(entry(c, 0).data & NT_CTRDATA_CCV);
		go_at(c, NT_TYPE_JUMP, U, U, -1, 0x1000, time += 10);
		assert_int_equal(entry(c, 0).data, 10 << 16 | NT_CTRDATA_CCV | 11);
	}
	nt_ctr_free(c);
}

/* ------------------------------------------------------------ RAS emulation */

static void r171_ras_emulation(void **state)
{
	struct nt_ctr *c = with(ALL | NT_CTRCTL_RASEMU, 0);

	(void)state;
	go_at(c, NT_TYPE_CALL, U, U, -1, 0x1000, 100);
	go_at(c, NT_TYPE_ICALL, U, U, -1, 0x2000, 110);
	assert_int_equal(csr(c, 0x14f), 2);
	go_at(c, NT_TYPE_SWAP, U, U, -1, 0x3000, 130);
	assert_int_equal(csr(c, 0x14f), 2);
	assert_int_equal(entry(c, 0).source, 0x3001);
	/* the popped call's cycles are the new one's too */
	assert_int_equal(entry(c, 0).data, 30 << 16 | NT_CTRDATA_CCV | 12);
	assert_int_equal(entry(c, 1).source, 0x1001);
	go_at(c, NT_TYPE_RET, U, U, -1, 0x4000, 150);
	assert_int_equal(csr(c, 0x14f), 1);
	assert_int_equal(valid(c), 1);
	assert_int_equal(entry(c, 15).source, 0x3000);
	go_at(c, NT_TYPE_CALL, U, U, -1, 0x5000, 170);
	assert_int_equal(entry(c, 0).data, 70 << 16 | NT_CTRDATA_CCV | 9);
	/* below the bottom it goes on all the same */
	go(c, NT_TYPE_RET, U, U);
	go(c, NT_TYPE_RET, U, U);
	go(c, NT_TYPE_RET, U, U);
	assert_int_equal(csr(c, 0x14f), 15);
	assert_int_equal(valid(c), 0);
	nt_ctr_free(c);
}

static void r172_ras_emulation_ignores(void **state)
{
	const uint64_t filters = 0xff2eull << 32;
	unsigned int type;

	(void)state;
	for (type = 1; type < 16; type++) {
		bool push = type == NT_TYPE_CALL || type == NT_TYPE_ICALL;

		if (!(TYPES >> type & 1) || type == NT_TYPE_RET || type == NT_TYPE_SWAP)
			continue;
		assert_int_equal(records(ALL | NT_CTRCTL_RASEMU | filters | NT_CTRCTL_NTBREN, 0,
					 type, S, S, NULL), push);
	}
	assert_false(records(1 | STE | NT_CTRCTL_RASEMU, 0, NT_TYPE_EXCEPTION, U, S, NULL));
	assert_false(records(2 | NT_CTRCTL_RASEMU, 0, NT_TYPE_CALL, U, U, NULL));
}

/* ----------------------------------------------------------------- freezing */

static bool freezes(uint64_t ctl, uint64_t vsctl, unsigned int type, int cause,
		    unsigned int source, unsigned int target)
{
	struct nt_ctr *c = with(ctl | ALL, vsctl | 3);
	bool frozen;

	go_at(c, type, source, target, cause, 0x1000, 0);
	frozen = csr(c, 0x14f) >> 31;
	assert_int_equal(valid(c), !frozen);
	nt_ctr_free(c);
	return frozen;
}

#define BP	NT_CTRCTL_BPFRZ
#define LC	NT_CTRCTL_LCOFIFRZ

static void r173_r174_freezes(void **state)
{
	(void)state;
	assert_true(freezes(LC, 0, NT_TYPE_INTERRUPT, 13, U, S));
	assert_true(freezes(LC, 0, NT_TYPE_INTERRUPT, 13, S, M));
	assert_true(freezes(LC, 0, NT_TYPE_INTERRUPT, 13, VU, S));
	assert_false(freezes(BP, LC | BP, NT_TYPE_INTERRUPT, 13, VU, S));
	assert_false(freezes(LC | BP, 0, NT_TYPE_INTERRUPT, 5, U, S));
	assert_false(freezes(LC | BP, 0, NT_TYPE_EXCEPTION, 13, U, S));
	assert_false(freezes(LC | BP, 0, NT_TYPE_INTERRUPT, NT_CTR_CAUSE_UNKNOWN, U, S));
	assert_true(freezes(BP, 0, NT_TYPE_EXCEPTION, 3, U, S));
	assert_true(freezes(BP, 0, NT_TYPE_EXCEPTION, 3, VS, M));
	assert_false(freezes(LC, LC | BP, NT_TYPE_EXCEPTION, 3, U, S));
	assert_false(freezes(BP, 0, NT_TYPE_INTERRUPT, 3, U, S));
}

static void r175_virtual_freezes(void **state)
{
	(void)state;
	assert_true(freezes(0, LC, NT_TYPE_INTERRUPT, 13, VU, VS));
	assert_true(freezes(0, LC, NT_TYPE_INTERRUPT, 13, VS, VS));
	assert_false(freezes(LC | BP, 0, NT_TYPE_INTERRUPT, 13, VU, VS));
	assert_true(freezes(0, BP, NT_TYPE_EXCEPTION, 3, VU, VS));
	assert_false(freezes(LC | BP, 0, NT_TYPE_EXCEPTION, 3, VU, VS));
}

static void r176_only_software_thaws(void **state)
{
	struct nt_ctr *c = with(ALL | BP, 0);

	(void)state;
	go_at(c, NT_TYPE_EXCEPTION, U, S, 3, 0x1000, 0);
	go(c, NT_TYPE_ERET, S, U);
	go_at(c, NT_TYPE_EXCEPTION, U, M, 3, 0x1000, 0);
	go(c, NT_TYPE_ERET, M, U);
	set(c, 0x34e, ALL);
	go(c, NT_TYPE_JUMP, U, U);
	assert_int_equal(csr(c, 0x14f), 1u << 31);
	set(c, 0x14f, 0);
	go(c, NT_TYPE_JUMP, U, U);
	assert_int_equal(csr(c, 0x14f), 1);
	nt_ctr_free(c);
}

/* ------------------------------------------------------------------- access */

static int try(struct nt_ctr *c, unsigned int mode, unsigned int number)
{
	uint64_t value;
	int ret = nt_ctr_read(c, mode, number, &value);

	assert_int_equal(nt_ctr_write(c, mode, number, value), ret);
	return ret;
}

static const unsigned int listed[] = { 0x14e, 0x14f, 0x15f, 0x24e, 0x151, 0x153, 0x251 };

static void r177_mstateen(void **state)
{
	static const unsigned int modes[] = { U, S, VU, VS };
	struct nt_ctr *c = with(ALL, 0);
	unsigned int i, m;

	(void)state;
	set(c, 0x150, 0x200);
	set(c, 0x250, 0x200);
	for (i = 0; i < 7; i++)
		assert_int_equal(try(c, S, listed[i]), 0);
	set(c, NT_CSR_MSTATEEN0, 1ull << 60 | 1ull << 55);	/* 55 is of no effect */
	for (i = 0; i < 7; i++) {
		for (m = 0; m < 4; m++)
			assert_int_equal(try(c, modes[m], listed[i]), NT_CTR_ILLEGAL);
		assert_int_equal(try(c, M, listed[i]), 0);
	}
	for (m = 0; m < 4; m++)
		assert_int_equal(nt_ctr_clear(c, modes[m]), NT_CTR_ILLEGAL);
	assert_int_equal(nt_ctr_clear(c, M), 0);
	set(c, NT_CSR_HSTATEEN0, UINT64_MAX);	/* nor can the hypervisor allow it */
	assert_int_equal(csr(c, NT_CSR_HSTATEEN0), 1ull << 60);
	/* without CSRIND no indirect access */
	set(c, NT_CSR_MSTATEEN0, 1ull << 54);
	assert_int_equal(csr(c, NT_CSR_HSTATEEN0), 0);
	assert_int_equal(try(c, S, 0x150), NT_CTR_ILLEGAL);
	assert_int_equal(try(c, S, 0x151), NT_CTR_ILLEGAL);
	assert_int_equal(try(c, S, 0x14e), 0);
	nt_ctr_free(c);
}

static void r178_hstateen(void **state)
{
	struct nt_ctr *c = with(ALL, 0);

	(void)state;
	set(c, 0x250, 0x200);
	assert_int_equal(try(c, VS, 0x14e), 0);
	assert_int_equal(try(c, VS, 0x151), 0);
	assert_int_equal(nt_ctr_clear(c, VS), 0);
	set(c, NT_CSR_HSTATEEN0, 1ull << 60);
	assert_int_equal(try(c, VS, 0x14e), NT_CTR_VIRTUAL);
	assert_int_equal(try(c, VS, 0x14f), NT_CTR_VIRTUAL);
	assert_int_equal(try(c, VS, 0x151), NT_CTR_VIRTUAL);
	assert_int_equal(try(c, VS, 0x24e), NT_CTR_VIRTUAL);
	assert_int_equal(nt_ctr_clear(c, VS), NT_CTR_VIRTUAL);
	assert_int_equal(try(c, S, 0x14e), 0);
	assert_int_equal(try(c, VS, 0x150), 0);
	nt_ctr_free(c);
}

static void r179_r180_virtual_instruction(void **state)
{
	struct nt_ctr *c = with(ALL, 0);

	(void)state;
	assert_int_equal(try(c, VS, 0x15f), NT_CTR_VIRTUAL);
	assert_int_equal(try(c, VU, 0x15f), NT_CTR_VIRTUAL);
	assert_int_equal(try(c, S, 0x15f), 0);
	assert_int_equal(nt_ctr_clear(c, U), NT_CTR_ILLEGAL);
	assert_int_equal(nt_ctr_clear(c, VU), NT_CTR_VIRTUAL);
	assert_int_equal(try(c, U, 0x14e), NT_CTR_ILLEGAL);
	assert_int_equal(try(c, VU, 0x14e), NT_CTR_VIRTUAL);
	assert_int_equal(try(c, S, 0x34e), NT_CTR_ILLEGAL);
	assert_int_equal(try(c, VS, 0x34e), NT_CTR_ILLEGAL);
	assert_int_equal(try(c, 7, 0x14e), -NT_EINVAL);
	nt_ctr_free(c);
	c = make(NT_CTR_NO_H, 16);
	assert_int_equal(try(c, M, 0x24e), NT_CTR_ILLEGAL);
	nt_ctr_free(c);
}

static void r181_records_without_access(void **state)
{
	struct nt_ctr *c = with(ALL, 3);

	(void)state;
	set(c, NT_CSR_HSTATEEN0, 0);
	set(c, NT_CSR_MSTATEEN0, 0);
	go(c, NT_TYPE_JUMP, U, U);
	go(c, NT_TYPE_JUMP, VS, VS);
	assert_int_equal(valid(c), 2);
	nt_ctr_free(c);
}

static void r182_one_buffer_two_views(void **state)
{
	struct nt_ctr *c = with(ALL, 0);
	uint64_t value;

	(void)state;
	go(c, NT_TYPE_JUMP, U, U);
	set(c, 0x150, 0x203);
	set(c, 0x250, 0x200);
	assert_int_equal(csr(c, 0x251), 0x1001);
	assert_int_equal(nt_ctr_read(c, VS, 0x151, &value), 0);
	assert_int_equal(value, 0x1001);
	assert_int_equal(csr(c, 0x151), 0);
	assert_int_equal(nt_ctr_write(c, VS, 0x14e, 1), 0);
	assert_int_equal(csr(c, 0x24e), 1);
	assert_int_equal(csr(c, 0x34e), ALL);
	nt_ctr_free(c);
}

/* ------------------------------------------------------------ what software does */

static void copy_entries(struct nt_ctr *from, struct nt_ctr *to)
{
	unsigned int i, reg;

	for (i = 0x200; i < 0x210; i++) {
		set(from, 0x150, i);
		set(to, 0x150, i);
		for (reg = 0x151; reg <= 0x153; reg++)
			set(to, reg, csr(from, reg));
	}
}

static void r184_save_restore(void **state)
{
	struct nt_ctr *c = with(ALL, 0), *d = make(0, 16);
	unsigned int i;

	(void)state;
	for (i = 0; i < 21; i++)
		go_at(c, NT_TYPE_JUMP, U, U, -1, 0x1000 + 2 * i, 100 + i);
	set(d, 0x14f, csr(c, 0x14f));
	copy_entries(c, d);
	set(d, 0x34e, csr(c, 0x34e));
	for (i = 0; i < 16; i++) {
		struct nt_ctr_entry a = entry(c, i), b = entry(d, i);

		assert_memory_equal(&a, &b, sizeof(a));
	}
	go_at(c, NT_TYPE_CALL, U, U, -1, 0x5000, 0);
	go_at(d, NT_TYPE_CALL, U, U, -1, 0x5000, 0);
	for (i = 0; i < 16; i++)
		assert_int_equal(entry(c, i).source, entry(d, i).source);
	nt_ctr_free(c);
	nt_ctr_free(d);
}

static void r185_emulated_transfers(void **state)
{
	struct nt_ctr *c = with(ALL, 0), *d = with(0, 0);

	(void)state;
	/* a record by hand is as good as one made */
	go(c, NT_TYPE_CALL, U, U);
	set(d, 0x14f, csr(d, 0x14f) + 1);
	set(d, 0x150, 0x200);
	set(d, 0x151, 0x1001);
	set(d, 0x152, 0x1100);
	set(d, 0x153, 9);
	assert_int_equal(csr(c, 0x14f), csr(d, 0x14f));
	assert_memory_equal(&(struct nt_ctr_entry[]){ entry(c, 0) },
			    &(struct nt_ctr_entry[]){ entry(d, 0) }, sizeof(struct nt_ctr_entry));
	/* and a return */
	set(c, 0x34e, ALL | NT_CTRCTL_RASEMU);
	go(c, NT_TYPE_RET, U, U);
	set(d, 0x151, csr(d, 0x151) & ~1ull);
	set(d, 0x14f, csr(d, 0x14f) - 1);
	assert_int_equal(csr(c, 0x14f), csr(d, 0x14f));
	assert_int_equal(entry(c, 15).source, entry(d, 15).source);
	nt_ctr_free(c);
	nt_ctr_free(d);
}

static void r186_optional_fields(void **state)
{
	struct nt_ctr_params p;
	struct nt_ctr *c;

	(void)state;
	nt_ctr_params_init(&p);
	p.flags = NT_CTR_NO_MISP | NT_CTR_NO_TYPE | NT_CTR_NO_CC;
	p.fields = 1ull << 63;		/* that is: none */
	c = nt_ctr_new(&p);
	set(c, 0x34e, UINT64_MAX);
	assert_int_equal(csr(c, 0x34e), 0x1807);
	set(c, 0x150, 0x200);
	set(c, 0x152, UINT64_MAX);
	set(c, 0x153, UINT64_MAX);
	assert_int_equal(csr(c, 0x152), UINT64_MAX - 1);
	assert_int_equal(csr(c, 0x153), 0);
	go_at(c, NT_TYPE_JUMP, U, U, -1, 0x1000, 5);
	go_at(c, NT_TYPE_JUMP, U, U, -1, 0x1000, 9);
	assert_int_equal(entry(c, 0).data, 0);
	nt_ctr_free(c);
	p.flags |= NT_CTR_NO_SSCOFPMF;
	c = nt_ctr_new(&p);
	set(c, 0x34e, UINT64_MAX);
	assert_int_equal(csr(c, 0x34e), 0x807);
	nt_ctr_free(c);
	p.flags = 0;
	p.cce_bits = 3;
	c = nt_ctr_new(&p);
	set(c, 0x150, 0x200);
	set(c, 0x153, UINT64_MAX);
	assert_int_equal(csr(c, 0x153), 0x7fff800f);
	nt_ctr_free(c);
}

/* ------------------------------------------------------------------ the draft */

static void draft_layout(void **state)
{
	struct nt_ctr *c = make(NT_CTR_DRAFT, 16);
	unsigned int i;

	(void)state;
	set(c, 0x381, 0xff7e00001f07);
	assert_int_equal(csr(c, 0x381), 0xff7e00001f07);
	assert_int_equal(csr(c, 0x181), 0xff7e00001f07 & ~0x101ull);
	for (i = 0; i < 5; i++) {
		uint64_t thermometer = (uint64_t)((1 << i) - 1) << 16;

		set(c, 0x381, 7 | thermometer);
		assert_int_equal(csr(c, 0x381), 7 | thermometer);
		assert_int_equal(csr(c, 0x281), thermometer);	/* a copy */
		assert_int_equal(nt_ctr_depth(c), 16u << i);
	}
	set(c, 0x281, 0);
	assert_int_equal(nt_ctr_depth(c), 256);
	set(c, 0x381, 7);
	for (i = 0; i < 15; i++)
		go(c, NT_TYPE_JUMP, U, U);
	assert_int_equal(csr(c, 0x383), 15);
	go(c, NT_TYPE_JUMP, U, U);
	assert_int_equal(csr(c, 0x383), 1 << 14);
	/* WRAP goes when a return goes below 0 */
	set(c, 0x381, 7 | 1 << 10);
	go(c, NT_TYPE_RET, U, U);
	assert_int_equal(csr(c, 0x383), 15);
	/* a swap moves nothing, so nothing wraps */
	set(c, 0x383, 0);
	go(c, NT_TYPE_SWAP, U, U);
	assert_int_equal(csr(c, 0x383), 0);
	set(c, 0x383, 1 << 15 | 3);
	assert_int_equal(csr(c, 0x183), 1 << 15 | 3);
	/* M-mode's own selector */
	set(c, 0x350, 0x20f);
	assert_int_equal(csr(c, 0x351), 0x1001);
	set(c, 0x381, 7 | 1 << 7);
	assert_int_equal(csr(c, 0x383), 0);
	assert_int_equal(valid(c), 0);
	assert_int_equal(nt_ctr_clear(c, M), NT_CTR_ILLEGAL);
	nt_ctr_free(c);
}

static bool draft_records(uint64_t ctl, uint64_t vsctl, unsigned int type, unsigned int source,
			  unsigned int target)
{
	struct nt_ctr *c = make(NT_CTR_DRAFT, 16);
	bool is;

	set(c, 0x381, ctl);
	set(c, 0x281, vsctl);
	go(c, type, source, target);
	is = valid(c);
	nt_ctr_free(c);
	return is;
}

static void draft_rules(void **state)
{
	const uint64_t eten = 1ull << 38;

	(void)state;
	assert_true(draft_records(4, 0, NT_TYPE_JUMP, U, U));
	assert_true(draft_records(1, 0, NT_TYPE_JUMP, M, M));
	/* external traps: ETEN, and the target's bit alone */
	assert_true(draft_records(4 | eten | 1 << 8, 0, NT_TYPE_EXCEPTION, U, M));
	assert_false(draft_records(4 | 1 << 8 | 1 << 9, 0, NT_TYPE_EXCEPTION, U, M));
	assert_false(draft_records(4 | eten | 1 << 9, 0, NT_TYPE_EXCEPTION, U, M));
	assert_true(draft_records(4 | eten | 1 << 9, 0, NT_TYPE_EXCEPTION, U, S));
	assert_true(draft_records(1 << 9, 4 | eten, NT_TYPE_EXCEPTION, VU, S));
	assert_false(draft_records(eten, 4 | eten, NT_TYPE_EXCEPTION, VU, S));
	assert_true(draft_records(0, 4 | eten | 1 << 9, NT_TYPE_EXCEPTION, VU, VS));
	/* the register that is active at the instruction filters */
	assert_true(draft_records(7, 6 | 1ull << 35, NT_TYPE_ERET, S, VS));
	assert_false(draft_records(7 | 1ull << 35, 6, NT_TYPE_ERET, S, VS));
}

static void draft_upper_half_on_rv32(void **state)
{
	struct nt_ctr_params p;
	struct nt_ctr *c;

	(void)state;
	nt_ctr_params_init(&p);
	p.xlen = 32;
	p.flags = NT_CTR_DRAFT;
	c = nt_ctr_new(&p);
	set(c, 0x382, UINT64_MAX);
	set(c, 0x381, 7);
	assert_int_equal(csr(c, 0x382), 0xff7e);
	assert_int_equal(csr(c, 0x381) & 7, 7);
	assert_int_equal(csr(c, 0x182), 0xff7e);
	nt_ctr_free(c);
	/* the ratified text has no way there */
	p.flags = 0;
	c = nt_ctr_new(&p);
	set(c, 0x34e, UINT64_MAX);
	assert_int_equal(csr(c, 0x34e), 0x1b87);
	go(c, NT_TYPE_CALL, U, U);
	assert_int_equal(valid(c), 1);
	nt_ctr_free(c);
}

static void parameters(void **state)
{
	struct nt_ctr_params p;

	(void)state;
#define REFUSED(member, value) do {			\
		nt_ctr_params_init(&p);			\
		p.member = value;			\
		assert_null(nt_ctr_new(&p));		\
	} while (0)
	REFUSED(size, 8);
	REFUSED(flags, 0x40);
	REFUSED(depth, 0);
	REFUSED(depth, 17);
	REFUSED(depths, 0x20);
	REFUSED(depths, 0xf);	/* the depth is not of them */
	REFUSED(cce_bits, 5);
	REFUSED(xlen, 48);
	REFUSED(code_xlen, 48);
	nt_ctr_params_init(&p);
	p.depths = 0;
	p.depth = NT_CTR_DEPTH_MAX + 1;
	assert_null(nt_ctr_new(&p));
	assert_string_equal(nt_ctr_field_name(false, 46), "indljmpinh");
	assert_string_equal(nt_ctr_field_name(true, 46), "indojmpinh");
	assert_null(nt_ctr_field_name(false, 38));
	assert_string_equal(nt_ctr_field_name(true, 38), "eten");
	assert_null(nt_ctr_field_name(false, 64));
}

/* --------------------------------------------------------------------- events */

static struct nt_event ev(unsigned int kind, unsigned int type, uint64_t from, uint64_t to,
			  uint32_t insns, uint64_t offset)
{
	return (struct nt_event){ .kind = kind, .type = type, .from = from, .to = to,
				  .insns = insns, .offset = offset };
}

static struct nt_event context(unsigned int priv, bool v)
{
	struct nt_event e = ev(NT_EV_CONTEXT, priv, 0, 0, 0, 0);

	e.flags = v ? NT_EVF_VIRT : 0;
	return e;
}

/* In portions of every size the same */
static void feed(struct nt_ctr *c, struct nt_code *code, const struct nt_event *e, unsigned int n,
		 unsigned int portion)
{
	while (n) {
		unsigned int now = n < portion ? n : portion;

		assert_int_equal(nt_ctr_events(c, code, e, now), 0);
		e += now;
		n -= now;
	}
}

static void modes_of_events(void **state)
{
	const uint64_t high = 0xffffffff80000000;
	const struct nt_event owned[] = {
		ev(NT_EV_START, 0, 0x100, 0x100, 0, 0), context(0, false),
		ev(NT_EV_BRANCH, NT_TYPE_JUMP, 0x100, 0x200, 1, 1),
		/* to M, though the address looks like U's */
		ev(NT_EV_BRANCH, NT_TYPE_EXCEPTION, 0x200, 0x300, 0, 2), context(3, false),
		ev(NT_EV_BRANCH, NT_TYPE_JUMP, 0x300, 0x400, 1, 3),
		ev(NT_EV_BRANCH, NT_TYPE_ERET, 0x400, 0x500, 1, 4), context(0, true),
		ev(NT_EV_BRANCH, NT_TYPE_JUMP, 0x500, 0x600, 1, 5),
	};
	const struct nt_event plain[] = {
		ev(NT_EV_START, 0, 0x100, 0x100, 0, 0),
		ev(NT_EV_BRANCH, NT_TYPE_EXCEPTION, 0x100, high, 0, 1),
		ev(NT_EV_BRANCH, NT_TYPE_JUMP, high, high + 8, 1, 2),
		ev(NT_EV_BRANCH, NT_TYPE_ERET, high + 8, 0x100, 1, 3),
	};
	unsigned int portion;

	(void)state;
	for (portion = 1; portion < 10; portion++) {
		struct nt_ctr *c = with(NT_CTRCTL_U, NT_CTRCTL_U);

		feed(c, NULL, owned, 9, portion);
		assert_int_equal(valid(c), 2);	/* U's jump and VU's; the rest is M's */
		assert_int_equal(entry(c, 0).source, 0x501);
		assert_int_equal(entry(c, 1).source, 0x101);
		nt_ctr_free(c);

		c = with(NT_CTRCTL_M, 0);
		feed(c, NULL, owned, 9, portion);
		assert_int_equal(valid(c), 3);
		assert_int_equal(entry(c, 2).source, 1);
		assert_int_equal(entry(c, 0).target, 0);
		nt_ctr_free(c);

		c = with(NT_CTRCTL_S, 0);
		feed(c, NULL, plain, 4, portion);
		assert_int_equal(valid(c), 3);
		assert_int_equal(entry(c, 2).source, 1);
		assert_int_equal(entry(c, 0).target, 0);
		nt_ctr_free(c);
	}
}

/* Linux for RV32 has user addresses above the middle. */
static void modes_of_addresses_on_rv32(void **state)
{
	const struct nt_event e[] = {
		ev(NT_EV_START, 0, 0x95000000, 0x95000000, 0, 0),
		ev(NT_EV_BRANCH, NT_TYPE_JUMP, 0x95000000, 0x95000100, 1, 1),
		ev(NT_EV_BRANCH, NT_TYPE_EXCEPTION, 0x95000100, 0xc0000000, 0, 2),
		ev(NT_EV_BRANCH, NT_TYPE_JUMP, 0xc0000000, 0xc0000100, 1, 3),
	};
	struct nt_ctr_params p;
	struct nt_ctr *c;

	(void)state;
	nt_ctr_params_init(&p);
	p.xlen = 32;
	c = nt_ctr_new(&p);
	set(c, NT_CSR_MCTRCTL, NT_CTRCTL_U);
	feed(c, NULL, e, 4, 4);
	assert_int_equal(valid(c), 1);
	assert_int_equal(entry(c, 0).source, 0x95000001);
	nt_ctr_free(c);
}

static void losses_empty_the_buffer(void **state)
{
	const struct nt_event e[] = {
		ev(NT_EV_START, 0, 0x100, 0x100, 0, 0),
		ev(NT_EV_BRANCH, NT_TYPE_JUMP, 0x100, 0x200, 1, 1),
		ev(NT_EV_LOSS, 0, 0, 0, 0, 2), ev(NT_EV_START, 0, 0x300, 0x300, 0, 3),
		ev(NT_EV_BRANCH, NT_TYPE_TRAP, 0x300, 0x400, 0, 4),
		ev(NT_EV_STOP, 0, 0x400, 0x400, 0, 5), ev(NT_EV_START, 0, 0x400, 0x400, 0, 6),
		ev(NT_EV_BRANCH, NT_TYPE_JUMP, 0x400, 0x400, 1, 7),
	};
	struct nt_ctr *c = with(ALL, 0);

	(void)state;
	feed(c, NULL, e, 8, 8);
	assert_int_equal(valid(c), 2);
	assert_int_equal(entry(c, 1).data, NT_TYPE_TRAP);
	nt_ctr_free(c);
	c = with(ALL | EXC, 0);	/* one of both: it may be the other */
	feed(c, NULL, e, 8, 8);
	assert_int_equal(valid(c), 2);
	nt_ctr_free(c);
	c = with(ALL | EXC | INTR, 0);
	feed(c, NULL, e, 8, 8);
	assert_int_equal(valid(c), 1);
	nt_ctr_free(c);
}

static void cycles_of_events(void **state)
{
	struct nt_event e[] = {
		ev(NT_EV_START, 0, 0x100, 0x100, 0, 0),
		ev(NT_EV_BRANCH, NT_TYPE_COND, 0x100, 0x200, 1, 1),
		/* two of one message: only of the last is the time known */
		ev(NT_EV_BRANCH, NT_TYPE_COND, 0x200, 0x300, 1, 2),
		ev(NT_EV_BRANCH, NT_TYPE_IJUMP, 0x300, 0x400, 1, 2),
		ev(NT_EV_BRANCH, NT_TYPE_COND, 0x400, 0x500, 1, 3),
		/* no timestamp: the one before is still there */
		ev(NT_EV_BRANCH, NT_TYPE_COND, 0x500, 0x600, 1, 4),
		ev(NT_EV_BRANCH, NT_TYPE_COND, 0x600, 0x700, 1, 5),
		ev(NT_EV_BRANCH, NT_TYPE_COND, 0x700, 0x800, 1, 6),
	};
	static const uint64_t times[] = { 10, 20, 30, 30, 45, 45, 60, 70 };
	static const int want[] = { -1, -1, -1, 60, -1, -1, 40 };
	struct nt_ctr_params p;
	unsigned int i, portion;

	(void)state;
	for (i = 0; i < 8; i++) {
		e[i].time = times[i];
		e[i].flags = NT_EVF_TIME;
	}
	nt_ctr_params_init(&p);
	p.cycles_per_tick = 4;
	for (portion = 1; portion < 9; portion++) {
		struct nt_ctr *c = nt_ctr_new(&p);

		set(c, 0x34e, ALL);
		feed(c, NULL, e, 8, portion);
		for (i = 0; i < 7; i++) {
			struct nt_ctr_entry r = entry(c, 6 - i);

			assert_int_equal(r.source, e[i + 1].from | 1);
			assert_int_equal(r.data & NT_CTRDATA_CCV ? (int)(r.data >> 16) : -1,
					 want[i]);
		}
		nt_ctr_free(c);
	}
}

/* A program, whose first trap is at a jump that faults, and its second an EBREAK */
static void r188_r156_r174_code_of_events(void **state)
{
	static struct program program = { .base = 0x100 };
	struct nt_params np;
	struct nt_code *code;
	struct nt_ctr *c;
	const struct nt_event e[] = {
		ev(NT_EV_START, 0, 0x100, 0x100, 0, 0),
		/* 100 beq, not taken; 104 ret: faults */
		ev(NT_EV_BRANCH, NT_TYPE_EXCEPTION, 0x104, 0x200, 1, 1), context(1, false),
		/* 200 beq, not taken; 204 beq, taken */
		ev(NT_EV_BRANCH, NT_TYPE_COND, 0x204, 0x300, 2, 2),
		ev(NT_EV_BRANCH, NT_TYPE_TRAP, 0x300, 0x200, 0, 3),
	};
	const struct nt_event late[] = {
		ev(NT_EV_START, 0, 0x400, 0x400, 0, 0),
		ev(NT_EV_BRANCH, NT_TYPE_JUMP, 0x400, 0x200, 1, 1), context(1, true),
		ev(NT_EV_BRANCH, NT_TYPE_COND, 0x204, 0x300, 2, 2),
	};
	unsigned int portion;

	(void)state;
	org(&program, 0x100);
	beq(&program, 0x100);
	ret(&program);
	org(&program, 0x200);
	beq(&program, 0x200);
	beq(&program, 0x300);
	org(&program, 0x300);
	c_ebreak(&program);
	nt_params_init(&np);
	code = nt_code_new(&np, program_read, &program);
	for (portion = 1; portion < 6; portion++) {
		c = with(ALL | NT_CTRCTL_NTBREN, 0);
		feed(c, code, e, 5, portion);
		assert_int_equal(valid(c), 5);
		assert_int_equal(entry(c, 0).data, NT_TYPE_EXCEPTION);
		assert_int_equal(entry(c, 1).data, NT_TYPE_COND);
		assert_int_equal(entry(c, 2).source, 0x201);
		assert_int_equal(entry(c, 2).target, 0x204);
		assert_int_equal(entry(c, 3).source, 0x105);
		assert_int_equal(entry(c, 3).data, NT_TYPE_EXCEPTION);
		assert_int_equal(entry(c, 4).source, 0x101);
		assert_int_equal(entry(c, 4).target, 0x104);
		assert_int_equal(entry(c, 4).data, NT_TYPE_NOT_TAKEN);
		nt_ctr_free(c);
		/* the breakpoint */
		c = with(ALL | BP, 0);
		feed(c, code, e, 5, portion);
		assert_int_equal(csr(c, 0x14f), 1u << 31 | 2);
		nt_ctr_free(c);
	}
	/* where it is wanted only after transfers of which it was not */
	c = with(0, 2 | NT_CTRCTL_NTBREN);
	feed(c, code, late, 4, 4);
	assert_int_equal(valid(c), 2);
	assert_int_equal(entry(c, 1).source, 0x201);
	nt_ctr_free(c);
	/* without code they are missing, and that is reported */
	c = with(ALL | NT_CTRCTL_NTBREN, 0);
	assert_int_equal(nt_ctr_events(c, NULL, e, 5), -NT_EUNMAPPED);
	assert_int_equal(valid(c), 3);
	nt_ctr_free(c);
	nt_code_free(code);
}

/* ------------------------------------------------- a second buffer, for doubters */

#define LIST	64

/* The youngest first; what does not fit falls off */
struct list {
	uint64_t ctl, vsctl;
	unsigned int depth;
	uint64_t source[LIST], target[LIST], type[LIST];
	bool frozen;
};

static void list_push(struct list *l, uint64_t source, uint64_t target, uint64_t type)
{
	memmove(&l->source[1], &l->source[0], (l->depth - 1) * 8);
	memmove(&l->target[1], &l->target[0], (l->depth - 1) * 8);
	memmove(&l->type[1], &l->type[0], (l->depth - 1) * 8);
	l->source[0] = source | 1;
	l->target[0] = target;
	l->type[0] = type;
}

static void list_rotate(struct list *l)
{
	uint64_t source = l->source[0], target = l->target[0], type = l->type[0];

	memmove(&l->source[0], &l->source[1], (l->depth - 1) * 8);
	memmove(&l->target[0], &l->target[1], (l->depth - 1) * 8);
	memmove(&l->type[0], &l->type[1], (l->depth - 1) * 8);
	l->source[l->depth - 1] = source & ~1ull;
	l->target[l->depth - 1] = target;
	l->type[l->depth - 1] = type;
}

static bool list_on(const struct list *l, unsigned int mode)
{
	return (mode >= 4 ? l->vsctl : l->ctl) >> (mode == 3 ? 2 : mode & 3) & 1;
}

/* Every mode on the way up, the target included, has to agree, by its own bit. */
static bool list_external(const struct list *l, unsigned int source, unsigned int target)
{
	if (source == VU && !(l->vsctl & STE))
		return false;
	if (target == VS)
		return true;
	if (source != S && !(l->ctl & STE))
		return false;
	return target != M || l->ctl & MTE;
}

static void list_go(struct list *l, const struct nt_ctr_transfer *t)
{
	uint64_t own = t->source >= 4 || t->target >= 4 ? l->vsctl : l->ctl;
	uint64_t stop = t->target >= 4 ? l->vsctl : l->ctl;
	bool on = list_on(l, t->source), to = list_on(l, t->target);
	bool wanted = (own >> (32 + t->type) & 1) == (t->type == 4);

	if (l->frozen)
		return;
	if ((t->type == 1 && t->cause == 3 && stop >> 11 & 1) ||
	    (t->type == 2 && t->cause == 13 && stop >> 12 & 1)) {
		l->frozen = true;
		return;
	}
	if (own >> 7 & 1) {
		if (!on)
			return;
		if (t->type == 8 || t->type == 9)
			list_push(l, t->from, t->to, t->type);
		if (t->type == 13)
			list_rotate(l);
		if (t->type == 12) {
			l->source[0] = t->from | 1;
			l->target[0] = t->to;
			l->type[0] = t->type;
		}
		return;
	}
	if (t->type > 3) {
		if (on && wanted)
			list_push(l, t->from, t->to, t->type);
	} else if (t->type == 3) {
		if (on && wanted)
			list_push(l, t->from, to ? t->to : 0, 3);
	} else if (on && !to) {
		if (list_external(l, t->source, t->target))
			list_push(l, t->from, 0, t->type);
	} else if (to && wanted) {
		list_push(l, on ? t->from : 0, t->to, t->type);
	}
}

static unsigned int random_up(unsigned int mode)
{
	static const unsigned int above[6][4] = {
		[U] = { S, M, S, M }, [S] = { S, M, M, S }, [M] = { M, M, M, M },
		[VU] = { VS, S, M, VS }, [VS] = { VS, S, M, S },
	};

	return above[mode][rnd(4)];
}

static unsigned int random_down(unsigned int mode)
{
	static const unsigned int below[6][4] = {
		[U] = { U, U, U, U }, [S] = { U, S, VU, VS }, [M] = { U, S, VS, VU },
		[VU] = { VU, VU, VU, VU }, [VS] = { VU, VS, VU, VS },
	};

	return below[mode][rnd(4)];
}

static void same_as_list(const struct list *l, struct nt_ctr *c)
{
	unsigned int i;

	assert_int_equal(csr(c, 0x14f) >> 31, l->frozen);
	for (i = 0; i < l->depth; i++) {
		struct nt_ctr_entry e = entry(c, i);

		assert_int_equal(e.source, l->source[i]);
		assert_int_equal(e.target, l->target[i]);
		assert_int_equal(e.data, l->type[i]);
	}
}

static void one_walk(unsigned int depth, unsigned int steps)
{
	static const uint8_t types[] = { 1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15, 9, 13, 9,
					 13 };
	const uint64_t odd = 0xff3e00001b87;
	struct list l = { .depth = depth };
	struct nt_ctr *c = make(0, depth);
	unsigned int mode = M;

	l.ctl = (rnd(1ull << 48) & (rnd(1ull << 48) | ALL)) & odd;
	l.vsctl = (rnd(1ull << 48) & (rnd(1ull << 48) | 3)) & odd & ~0x204ull;
	set(c, 0x34e, l.ctl);
	set(c, 0x24e, l.vsctl);
	while (steps--) {
		struct nt_ctr_transfer t = {
			.size = sizeof(t), .from = rnd(1ull << 48) & 0xffffe,
			.to = rnd(1ull << 48) & 0xffffe, .source = mode, .target = mode,
			.type = types[rnd(sizeof(types))],
			.cause = rnd(16),
		};

		if (t.type < 3)
			t.target = random_up(mode);
		else if (t.type == 3)
			t.target = random_down(mode);
		/* U and VU execute no trap returns */
		if (t.type == 3 && (mode == U || mode == VU))
			continue;
		mode = t.target;
		list_go(&l, &t);
		nt_ctr_transfer(c, &t);
		if (l.frozen && !rnd(8)) {
			l.frozen = false;
			set(c, 0x14f, csr(c, 0x14f) & 0x7fffffff);
		}
	}
	same_as_list(&l, c);
	nt_ctr_free(c);
}

static void control_words(void **state)
{
	uint64_t value;
	size_t bad;

	(void)state;
	assert_int_equal(nt_ctr_parse(false, "u,STE,retinh", &value, &bad), 0);
	assert_int_equal(value, 1 | 1 << 8 | 1ull << 45);
	assert_int_equal(nt_ctr_parse(true, "u,ste,eten", &value, &bad), 0);
	assert_int_equal(value, 1 << 2 | 1 << 9 | 1ull << 38);
	assert_int_equal(nt_ctr_parse(false, "0x1003", &value, &bad), 0);
	assert_int_equal(value, 0x1003);
	assert_int_equal(nt_ctr_parse(false, "u,eten", &value, &bad), -NT_EINVAL);
	assert_int_equal(bad, 2);
	assert_int_equal(nt_ctr_parse(false, "ste,", &value, &bad), -NT_EINVAL);
	assert_int_equal(bad, 4);
	assert_int_equal(nt_ctr_parse(false, "", &value, &bad), -NT_EINVAL);
	assert_int_equal(nt_ctr_parse(false, "st", &value, &bad), -NT_EINVAL);
	assert_int_equal(nt_ctr_parse(false, "1x", &value, &bad), -NT_EINVAL);
	assert_int_equal(bad, 0);
}

static void control_numbers(void **state)
{
	static const struct {
		const char *text;
		uint64_t value;
	} good[] = {
		{ "0", 0 }, { "010", 10 }, { "089", 89 }, { "0x10", 16 }, { "0X1f", 31 },
		{ "18446744073709551615", UINT64_MAX }, { "0xffffffffffffffff", UINT64_MAX },
	};
	static const char *const refused[] = {
		"18446744073709551616", "0x10000000000000000", "99999999999999999999999999",
		"0x", "0xg", "10,", "1 ", "0b1",
	};
	uint64_t value;
	unsigned int i;
	size_t bad;

	(void)state;
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(nt_ctr_parse(false, good[i].text, &value, &bad), 0);
		assert_true(value == good[i].value);
	}
	for (i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		bad = 1;
		assert_int_equal(nt_ctr_parse(false, refused[i], &value, &bad), -NT_EINVAL);
		assert_int_equal(bad, 0);
	}
}

static void entries_as_text(void **state)
{
	struct nt_ctr_entry e = { 0x1001, 0x2000, NT_TYPE_CALL };
	char line[80];
	int n;

	(void)state;
	assert_int_equal(nt_ctr_format(&e, line, sizeof(line)), strlen("1001 2000 9 call"));
	assert_string_equal(line, "1001 2000 9 call");
	e = (struct nt_ctr_entry){ ~0ull, ~0ull, ~0ull << 16 | NT_CTRDATA_CCV | NT_TYPE_EXCEPTION };
	n = nt_ctr_format(&e, line, sizeof(line));
	assert_int_equal(n, strlen(line));
	assert_true(n < 80);
	assert_non_null(strstr(line, " exception 134201344"));
}

static void r152_r157_r163_r164_r166_r171_same_as_a_list(void **state)
{
	unsigned long i, n = rounds(20000);

	(void)state;
	for (i = 0; i < n; i++)
		one_walk(i & 1 ? 16 : 1 + rnd(LIST), 1 + rnd(150));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(control_words),
		cmocka_unit_test(control_numbers),
		cmocka_unit_test(entries_as_text),
		cmocka_unit_test(r144_numbers),
		cmocka_unit_test(r145_control_fields),
		cmocka_unit_test(r146_mode_bits),
		cmocka_unit_test(r147_bit_7_clears_nothing),
		cmocka_unit_test(r148_r155_r157_filters),
		cmocka_unit_test(r149_r150_depths),
		cmocka_unit_test(r151_status),
		cmocka_unit_test(r152_r153_logical_order),
		cmocka_unit_test(r154_r183_indirect_access),
		cmocka_unit_test(r156_not_taken),
		cmocka_unit_test(r158_trap_source),
		cmocka_unit_test(r159_r170_frozen),
		cmocka_unit_test(r159_time_goes_back),
		cmocka_unit_test(r160_r174_debug_mode),
		cmocka_unit_test(r161_r162_sctrclr),
		cmocka_unit_test(r163_mode_table),
		cmocka_unit_test(r164_r165_external_traps),
		cmocka_unit_test(r166_virtualisation_changes),
		cmocka_unit_test(r167_cycle_vectors),
		cmocka_unit_test(r168_saturation),
		cmocka_unit_test(r169_control_writes_reset_cycles),
		cmocka_unit_test(r171_ras_emulation),
		cmocka_unit_test(r172_ras_emulation_ignores),
		cmocka_unit_test(r173_r174_freezes),
		cmocka_unit_test(r175_virtual_freezes),
		cmocka_unit_test(r176_only_software_thaws),
		cmocka_unit_test(r177_mstateen),
		cmocka_unit_test(r178_hstateen),
		cmocka_unit_test(r179_r180_virtual_instruction),
		cmocka_unit_test(r181_records_without_access),
		cmocka_unit_test(r182_one_buffer_two_views),
		cmocka_unit_test(r184_save_restore),
		cmocka_unit_test(r185_emulated_transfers),
		cmocka_unit_test(r186_optional_fields),
		cmocka_unit_test(draft_layout),
		cmocka_unit_test(draft_rules),
		cmocka_unit_test(draft_upper_half_on_rv32),
		cmocka_unit_test(parameters),
		cmocka_unit_test(modes_of_events),
		cmocka_unit_test(modes_of_addresses_on_rv32),
		cmocka_unit_test(losses_empty_the_buffer),
		cmocka_unit_test(cycles_of_events),
		cmocka_unit_test(r188_r156_r174_code_of_events),
		cmocka_unit_test(r152_r157_r163_r164_r166_r171_same_as_a_list),
	};

	rnd_begin();
	return RUN_TAP(tests);
}
