// SPDX-License-Identifier: GPL-2.0-only
/*
 * The shadow state of tandem verification: what groups do to it, that they do it as
 * a whole, and what cannot stand together.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nt-tv.h"
#include "random.h"

static const struct nt_tv_params rv64 = NT_TV_PARAMS_RV64;

struct fixture {
	uint8_t buf[65536];
	struct nt_tv_writer w;
	struct nt_tv_reader r;
	struct nt_tv_shadow *sh;
	size_t at;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	assert_int_equal(nt_tv_writer_init(&f->w, &rv64, f->buf, sizeof(f->buf), NULL, NULL), 0);
	assert_int_equal(nt_tv_reader_init(&f->r, &rv64), 0);
	f->sh = nt_tv_shadow_new(&rv64, 16);
	assert_non_null(f->sh);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	nt_tv_shadow_free(f->sh);
	free(f);
	return 0;
}

/* Feed what was written since; the result of the last item, or the first error */
static int feed(struct fixture *f)
{
	size_t end = nt_tv_written(&f->w);
	int ret = 0;

	while (f->at < end) {
		struct nt_tv_item it;
		int n = nt_tv_next(&f->r, f->buf + f->at, end - f->at, &it);

		if (n < 0)
			return n;
		assert_true(n > 0);
		f->at += n;
		ret = nt_tv_shadow_item(f->sh, &it);
		if (ret < 0)
			return ret;
	}
	return ret;
}

static uint64_t reg(struct fixture *f, unsigned int n)
{
	uint64_t v = 0xdead;

	assert_true(nt_tv_shadow_reg(f->sh, n, &v));
	return v;
}

static uint64_t state_value(struct fixture *f, enum nt_tv_ident ident)
{
	uint64_t v = 0xdead;

	assert_true(nt_tv_shadow_state(f->sh, ident, &v));
	return v;
}

static void assert_memory(struct fixture *f, uint64_t addr, uint64_t value, size_t len)
{
	uint64_t v = 0;

	assert_int_equal(nt_tv_shadow_read(f->sh, addr, &v, len), len);
	assert_int_equal(v, value);
}

static void assert_unknown(struct fixture *f, uint64_t addr)
{
	uint8_t byte;

	assert_int_equal(nt_tv_shadow_read(f->sh, addr, &byte, 1), 0);
}

/* ---------------------------------------------------------------- groups -- */

static void nothing_is_known(void **state)
{
	struct fixture *f = *state;
	uint64_t v = 7;
	uint32_t r = 0;

	assert_false(nt_tv_shadow_reg(f->sh, 0x1001, &v));
	assert_false(nt_tv_shadow_state(f->sh, NT_TV_PC, &v));
	assert_false(nt_tv_shadow_state(f->sh, NT_TV_PADDR, &v));
	assert_false(nt_tv_shadow_next_reg(f->sh, &r));
	assert_int_equal(v, 7);
	assert_unknown(f, 0);
}

/* Registers, pages, an open group, a request that waits for its response */
static void forgets(void **state)
{
	struct fixture *f = *state;

	nt_tv_reg(&f->w, 0x1001, 5);
	nt_tv_memreq(&f->w, NT_TV_STORE, 3, 0x80000000, 7);
	nt_tv_begin(&f->w);
	nt_tv_pc(&f->w, 0x1000);
	assert_int_equal(feed(f), 0);
	nt_tv_shadow_forget(f->sh);
	assert_int_equal(nt_tv_shadow_end(f->sh), 0);
	nothing_is_known(state);
	assert_unknown(f, 0x80000000);
	nt_tv_begin(&f->w);
	nt_tv_pc(&f->w, 0x2000);
	nt_tv_end(&f->w);
	assert_int_equal(feed(f), 1);
	assert_int_equal(state_value(f, NT_TV_PC), 0x2000);
}

static void group_applies_at_its_end(void **state)
{
	struct fixture *f = *state;
	uint64_t v;

	nt_tv_pc(&f->w, 0x1000);
	assert_int_equal(feed(f), 1);
	nt_tv_begin(&f->w);
	nt_tv_incpc(&f->w);
	nt_tv_insn32(&f->w, 0x006281b3);
	nt_tv_reg(&f->w, 0x1003, 0x1234);
	assert_int_equal(feed(f), 0);
	assert_int_equal(state_value(f, NT_TV_PC), 0x1000);
	assert_false(nt_tv_shadow_reg(f->sh, 0x1003, &v));
	nt_tv_end(&f->w);
	assert_int_equal(feed(f), 1);
	assert_int_equal(state_value(f, NT_TV_PC), 0x1004);
	assert_int_equal(reg(f, 0x1003), 0x1234);
}

static void begin_ends_the_group_before(void **state)
{
	struct fixture *f = *state;
	const struct nt_tv_group *g = nt_tv_shadow_group(f->sh);

	nt_tv_pc(&f->w, 0x1000);
	nt_tv_step(&f->w, 0x0001, 2);
	assert_int_equal(feed(f), 0);
	nt_tv_jump(&f->w, 0x2000, 0xa001, 2);
	assert_int_equal(feed(f), 0);	/* of the items of the second; the first has been */
	assert_int_equal(state_value(f, NT_TV_PC), 0x1002);
	assert_int_equal(g->insn, 1);
	assert_int_equal(g->insn_bytes, 2);
	assert_int_equal(g->pc, 0x1000);
	assert_int_equal(g->flags, NT_TV_G_PC);
	assert_int_equal(nt_tv_shadow_end(f->sh), 1);
	assert_int_equal(state_value(f, NT_TV_PC), 0x2000);
	assert_int_equal(nt_tv_shadow_end(f->sh), 0);
}

static void increments_and_bits(void **state)
{
	struct fixture *f = *state;
	uint64_t v;

	nt_tv_reg(&f->w, 0x1002, 0x100);
	nt_tv_reg(&f->w, 0x003, 0x10);
	nt_tv_begin(&f->w);
	nt_tv_reg_add(&f->w, 0x1002, -16);
	nt_tv_reg_or(&f->w, 0x003, 0x81);
	nt_tv_reg_add(&f->w, 0x1005, 1);	/* of what is not known */
	nt_tv_end(&f->w);
	assert_int_equal(feed(f), 1);
	assert_int_equal(reg(f, 0x1002), 0xf0);
	assert_int_equal(reg(f, 0x003), 0x91);
	assert_false(nt_tv_shadow_reg(f->sh, 0x1005, &v));
}

/* Both wrap at XLEN; floating-point registers have their own width. */
static void widths(void **state)
{
	static const struct nt_tv_params rv32 = { sizeof(rv32), 32, 64, 34, 0 };
	struct nt_tv_shadow *sh = nt_tv_shadow_new(&rv32, 1);
	struct nt_tv_item it = { .opcode = NT_TV_REG, .reg = 0x1001, .value = 0xffffffff };
	uint64_t v;

	(void)state;
	assert_non_null(sh);
	assert_int_equal(nt_tv_shadow_item(sh, &it), 1);
	it.opcode = NT_TV_REG_ADD;
	it.value = 1;
	assert_int_equal(nt_tv_shadow_item(sh, &it), 1);
	assert_true(nt_tv_shadow_reg(sh, 0x1001, &v));
	assert_int_equal(v, 0);
	/* the PC, too; the time is wider */
	it = (struct nt_tv_item){ .opcode = NT_TV_STATE, .ident = NT_TV_PC, .value = 0x300001000 };
	assert_int_equal(nt_tv_shadow_item(sh, &it), 1);
	assert_true(nt_tv_shadow_state(sh, NT_TV_PC, &v));
	assert_int_equal(v, 0x1000);
	it.ident = NT_TV_MTIME;
	assert_int_equal(nt_tv_shadow_item(sh, &it), 1);
	assert_true(nt_tv_shadow_state(sh, NT_TV_MTIME, &v));
	assert_int_equal(v, 0x300001000);
	nt_tv_shadow_set_reg(sh, 0x1020, 0x123456789a);
	assert_true(nt_tv_shadow_reg(sh, 0x1020, &v));
	assert_int_equal(v, 0x123456789a);
	nt_tv_shadow_free(sh);
	assert_null(nt_tv_shadow_new(&(struct nt_tv_params){ sizeof(rv32), 16, 64, 64, 0 }, 1));
}

static void trap_and_mode(void **state)
{
	struct fixture *f = *state;

	nt_tv_begin(&f->w);
	nt_tv_pc(&f->w, 0x10000);
	nt_tv_insn32(&f->w, 0);
	nt_tv_reg(&f->w, 0x341, 0x81234);
	nt_tv_reg(&f->w, 0x342, 2);
	nt_tv_priv(&f->w, 3);
	nt_tv_mtime(&f->w, 99);
	nt_tv_end(&f->w);
	assert_int_equal(feed(f), 1);
	assert_int_equal(state_value(f, NT_TV_PC), 0x10000);
	assert_int_equal(state_value(f, NT_TV_PRIV), 3);
	assert_int_equal(state_value(f, NT_TV_MTIME), 99);
	assert_int_equal(reg(f, 0x342), 2);
	assert_int_equal(nt_tv_shadow_group(f->sh)->flags, 0);
	assert_int_equal(nt_tv_shadow_group(f->sh)->n, 6);
}

static void reset_forgets(void **state)
{
	struct fixture *f = *state;
	uint32_t r = 0;
	uint64_t v;

	nt_tv_pc(&f->w, 0x1000);
	nt_tv_reg(&f->w, 0x1001, 1);
	nt_tv_memreq(&f->w, NT_TV_STORE, 0, 0x10, 5);
	assert_int_equal(feed(f), 1);
	nt_tv_begin(&f->w);
	nt_tv_hart_reset(&f->w);
	nt_tv_reg(&f->w, 0x342, 4);
	nt_tv_end(&f->w);
	assert_int_equal(feed(f), 1);
	assert_int_equal(nt_tv_shadow_group(f->sh)->flags, NT_TV_G_RESET | NT_TV_G_PC);
	assert_false(nt_tv_shadow_state(f->sh, NT_TV_PC, &v));
	assert_int_equal(state_value(f, NT_TV_PRIV), 3);
	assert_true(nt_tv_shadow_next_reg(f->sh, &r));
	assert_int_equal(r, 0x342);
	r++;
	assert_false(nt_tv_shadow_next_reg(f->sh, &r));
	assert_memory(f, 0x10, 5, 1);
}

/* ---------------------------------------------------------------- memory -- */

static void store_data_at_its_address(void **state)
{
	struct fixture *f = *state;

	/* any order; the physical one counts */
	nt_tv_begin(&f->w);
	nt_tv_store_data(&f->w, 2, 0x11223344);
	nt_tv_eaddr(&f->w, 0x7fff0000);
	nt_tv_paddr(&f->w, 0xffe);	/* over the end of a page */
	nt_tv_end(&f->w);
	assert_int_equal(feed(f), 1);
	assert_memory(f, 0xffe, 0x11223344, 4);
	assert_unknown(f, 0x1002);
	assert_unknown(f, 0x7fff0000);
	nt_tv_begin(&f->w);
	nt_tv_eaddr(&f->w, 0x2000);
	nt_tv_store_data(&f->w, 0, 0x99);
	nt_tv_eaddr(&f->w, 0x3000);
	nt_tv_store_data(&f->w, 0, 0x88);
	nt_tv_end(&f->w);
	assert_int_equal(feed(f), 1);
	assert_memory(f, 0x2000, 0x99, 1);
	assert_memory(f, 0x3000, 0x88, 1);
	/* of a partial trace: nobody knows where */
	nt_tv_begin(&f->w);
	nt_tv_store_data(&f->w, 3, 0x77);
	nt_tv_end(&f->w);
	assert_int_equal(feed(f), 1);
}

static void transactions(void **state)
{
	struct fixture *f = *state;

	nt_tv_begin(&f->w);
	nt_tv_state_init(&f->w);
	nt_tv_memreq(&f->w, NT_TV_STORE, 3, 0x100, 0x0807060504030201);
	nt_tv_memrsp(&f->w, NT_TV_STORE, 3, NT_TV_SUCCESS, 0);
	nt_tv_memreq(&f->w, NT_TV_FETCH, 1, 0x200, 0);
	nt_tv_memrsp(&f->w, NT_TV_FETCH, 1, NT_TV_SUCCESS, 0x4501);
	nt_tv_memreq(&f->w, NT_TV_LOAD, 1, 0x300, 0);
	nt_tv_memrsp(&f->w, NT_TV_LOAD, 1, NT_TV_FAILURE, 0x4501);
	nt_tv_end(&f->w);
	assert_int_equal(feed(f), 1);
	assert_int_equal(nt_tv_shadow_group(f->sh)->flags & NT_TV_G_INIT, NT_TV_G_INIT);
	assert_memory(f, 0x100, 0x0807060504030201, 8);
	assert_memory(f, 0x200, 0x4501, 2);
	assert_unknown(f, 0x300);
	/* outside of groups: the response of a request may come later in the bytes, only */
	nt_tv_memreq(&f->w, NT_TV_STORE, 0, 0x101, 0xff);
	assert_int_equal(feed(f), 1);
	assert_memory(f, 0x101, 0xff, 1);
	nt_tv_memrsp(&f->w, NT_TV_STORE, 0, NT_TV_FAILURE, 0);
	assert_int_equal(feed(f), 1);
	assert_unknown(f, 0x101);
	/* SC: one that failed leaves memory alone, one without answer what is not known */
	nt_tv_memreq(&f->w, NT_TV_SC, 0, 0x100, 0xee);
	nt_tv_memrsp(&f->w, NT_TV_SC, 0, NT_TV_SUCCESS, 0);
	assert_int_equal(feed(f), 1);
	assert_memory(f, 0x100, 0xee, 1);
	nt_tv_begin(&f->w);
	nt_tv_memreq(&f->w, NT_TV_SC, 0, 0x100, 0xdd);
	nt_tv_memrsp(&f->w, NT_TV_SC, 0, NT_TV_FAILURE, 0);
	nt_tv_memreq(&f->w, NT_TV_SC, 0, 0x102, 0xdd);
	nt_tv_end(&f->w);
	assert_int_equal(feed(f), 1);
	assert_memory(f, 0x100, 0xee, 1);
	assert_unknown(f, 0x102);
}

static void amos(void **state)
{
	static const struct { unsigned int op; uint32_t result, swapped; } cases[] = {
		{ NT_TV_SWAP, 3, 0xfffffffe }, { NT_TV_ADD, 1, 1 },
		{ NT_TV_XOR, 0xfffffffd, 0xfffffffd }, { NT_TV_AND, 2, 2 },
		{ NT_TV_OR, 0xffffffff, 0xffffffff }, { NT_TV_MIN, 0xfffffffe, 0xfffffffe },
		{ NT_TV_MAX, 3, 3 }, { NT_TV_MINU, 3, 3 }, { NT_TV_MAXU, 0xfffffffe, 0xfffffffe },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		nt_tv_begin(&f->w);
		nt_tv_memreq(&f->w, cases[i].op, 2, 0x100, 3);
		nt_tv_memrsp(&f->w, cases[i].op, 2, NT_TV_SUCCESS, 0xfffffffe);
		nt_tv_end(&f->w);
		assert_int_equal(feed(f), 1);
		assert_memory(f, 0x100, cases[i].result, 4);
		/* either operand has a sign */
		nt_tv_begin(&f->w);
		nt_tv_memreq(&f->w, cases[i].op, 2, 0x100, 0xfffffffe);
		nt_tv_memrsp(&f->w, cases[i].op, 2, NT_TV_SUCCESS, 3);
		nt_tv_end(&f->w);
		assert_int_equal(feed(f), 1);
		assert_memory(f, 0x100, cases[i].swapped, 4);
	}
	nt_tv_memreq(&f->w, NT_TV_ADD, 2, 0x100, 3);
	assert_int_equal(feed(f), 1);
	assert_unknown(f, 0x100);
}

static void memory_is_bounded(void **state)
{
	struct fixture *f = *state;
	size_t page = 0, pages = 0;
	uint64_t addr;

	for (unsigned int i = 0; i < 16; i++)
		nt_tv_memreq(&f->w, NT_TV_STORE, 0, 0x10000ull * i, i);
	assert_int_equal(feed(f), 1);
	nt_tv_begin(&f->w);
	nt_tv_reg(&f->w, 0x1001, 1);
	nt_tv_memreq(&f->w, NT_TV_STORE, 0, 0x100000, 1);
	nt_tv_end(&f->w);
	assert_int_equal(feed(f), -NT_TV_EPAGES);
	assert_false(nt_tv_shadow_reg(f->sh, 0x1001, &addr));
	while (nt_tv_shadow_next_page(f->sh, &page, &addr)) {
		assert_memory(f, addr, addr >> 16, 1);
		pages++;
	}
	assert_int_equal(pages, 16);
	assert_int_equal(nt_tv_shadow_write(f->sh, 0x100000, "x", 1), -NT_TV_EPAGES);
	assert_int_equal(nt_tv_shadow_write(f->sh, 0xffe, "xy", 2), 0);
	assert_memory(f, 0xffe, 'x' | 'y' << 8, 2);
}

/* ---------------------------------------------------------------- errors -- */

static struct nt_tv_item op(unsigned int opcode)
{
	return (struct nt_tv_item){ .opcode = opcode, .bytes = 4 };
}

static struct nt_tv_item ident(unsigned int i)
{
	return (struct nt_tv_item){ .opcode = NT_TV_STATE, .ident = i, .bytes = 8 };
}

/*
 * A group, or, if it doesn't begin so, items alone: `err` is to blame on item `bad`,
 * nothing of the group is done, and the next group is as good as any.
 */
static void refused(const char *what, int err, unsigned int bad, const struct nt_tv_item *items,
		    unsigned int n)
{
	struct nt_tv_shadow *sh = nt_tv_shadow_new(&rv64, 1);
	struct nt_tv_item end = { .opcode = NT_TV_END }, it = { .opcode = NT_TV_BEGIN };
	bool grouped = items[0].opcode == NT_TV_BEGIN;
	int got = 0;
	uint64_t v;

	assert_non_null(sh);
	for (unsigned int i = 0; i < n && !got; i++) {
		struct nt_tv_item x = items[i];

		x.offset = 100 + i;
		got = nt_tv_shadow_item(sh, &x);
		/* a group of loose items is none */
		if (!grouped && got == 1 && i + 1 < n)
			got = 0;
		/* the rest of a refused group is passed over */
		if (got < 0)
			for (i++; i < n; i++)
				assert_int_equal(nt_tv_shadow_item(sh, &items[i]), 0);
	}
	if (!got)
		got = nt_tv_shadow_item(sh, &end);
	else if (grouped)
		assert_int_equal(nt_tv_shadow_item(sh, &end), 0);
	if (got != -err || nt_tv_shadow_bad(sh) != 100 + bad)
		fail_msg("%s: %d at %d", what, got, (int)nt_tv_shadow_bad(sh) - 100);
	if (grouped)
		assert_false(nt_tv_shadow_reg(sh, 0x1001, &v));
	assert_int_equal(nt_tv_shadow_item(sh, &it), 0);
	it = (struct nt_tv_item){ .opcode = NT_TV_REG, .reg = 0x1001, .value = 6 };
	assert_int_equal(nt_tv_shadow_item(sh, &it), 0);
	assert_int_equal(nt_tv_shadow_item(sh, &end), 1);
	assert_true(nt_tv_shadow_reg(sh, 0x1001, &v));
	assert_int_equal(v, 6);
	nt_tv_shadow_free(sh);
}

#define REFUSED(err, bad, ...) do {						\
		const struct nt_tv_item list[] = { __VA_ARGS__ };		\
		refused(#__VA_ARGS__, err, bad, list, sizeof(list) / sizeof(list[0])); \
	} while (0)

static void illegal_combinations(void **state)
{
	const struct nt_tv_item B = op(NT_TV_BEGIN), INSN = op(NT_TV_INSN32),
		INSN16 = op(NT_TV_INSN16), INC = op(NT_TV_INCPC), INIT = op(NT_TV_INIT),
		RST = op(NT_TV_RESET), END = op(NT_TV_END), PC = ident(NT_TV_PC);
	struct nt_tv_item r1 = op(NT_TV_REG), add = op(NT_TV_REG_ADD), or = op(NT_TV_REG_OR);
	struct nt_tv_item req = op(NT_TV_MEMREQ), rsp = op(NT_TV_MEMRSP), wide;
	struct nt_tv_item st = ident(NT_TV_STORE8), pa = ident(NT_TV_PADDR);

	(void)state;
	r1.reg = add.reg = or.reg = 0x1001;
	wide = rsp;
	wide.memsize = 1;
	REFUSED(NT_TV_ENOINSN, 1, B, INC, r1);
	REFUSED(NT_TV_ENOINSN, 0, INC);
	REFUSED(NT_TV_ENOGROUP, 0, INSN);
	REFUSED(NT_TV_ENOGROUP, 0, INSN16);
	REFUSED(NT_TV_ENOGROUP, 0, INIT);
	REFUSED(NT_TV_ENOGROUP, 0, END);
	REFUSED(NT_TV_EINIT, 3, B, r1, INIT, INSN);
	REFUSED(NT_TV_EINIT, 3, B, INSN16, r1, INIT);
	REFUSED(NT_TV_EINIT, 2, B, INIT, RST, r1);
	REFUSED(NT_TV_EINIT, 2, B, INIT, INC, INSN);
	REFUSED(NT_TV_ERESET, 2, B, RST, INSN);
	REFUSED(NT_TV_ERESET, 3, B, INC, INSN16, RST);
	REFUSED(NT_TV_ERESET, 2, B, RST, INC, INSN);
	REFUSED(NT_TV_ETWICE, 3, B, r1, INSN, r1);
	REFUSED(NT_TV_ETWICE, 2, B, r1, add);
	REFUSED(NT_TV_ETWICE, 2, B, or, add);
	REFUSED(NT_TV_ETWICE, 4, B, r1, INSN, INC, PC);
	REFUSED(NT_TV_ETWICE, 3, B, r1, INC, INC);
	REFUSED(NT_TV_ETWICE, 3, B, PC, r1, PC);
	REFUSED(NT_TV_ETWICE, 2, B, ident(NT_TV_PRIV), ident(NT_TV_PRIV));
	REFUSED(NT_TV_ETWICE, 2, B, ident(NT_TV_MTIME), ident(NT_TV_MTIME), r1);
	REFUSED(NT_TV_ETWICE, 2, B, INSN, INSN16, r1);
	REFUSED(NT_TV_EORPHAN, 2, B, r1, rsp);
	REFUSED(NT_TV_EORPHAN, 3, B, req, r1, rsp);
	REFUSED(NT_TV_EORPHAN, 3, B, req, rsp, rsp);
	REFUSED(NT_TV_EORPHAN, 1, r1, rsp);
	REFUSED(NT_TV_ERSPSIZE, 2, B, req, wide, r1);
	REFUSED(NT_TV_ERSPSIZE, 1, req, wide);
	REFUSED(NT_TV_EADDRS, 3, B, pa, st, st, r1);
	REFUSED(NT_TV_EADDRS, 3, B, st, pa, st);
	REFUSED(NT_TV_EADDRS, 3, B, pa, pa, st, r1);
}

static void too_many_items(void **state)
{
	struct fixture *f = *state;
	uint64_t v;

	nt_tv_begin(&f->w);
	for (unsigned int i = 0; i < NT_TV_GROUP_MAX; i++)
		nt_tv_reg(&f->w, i, i);
	assert_int_equal(feed(f), 0);
	nt_tv_end(&f->w);
	assert_int_equal(feed(f), 1);
	assert_int_equal(reg(f, NT_TV_GROUP_MAX - 1), NT_TV_GROUP_MAX - 1);
	nt_tv_begin(&f->w);
	for (unsigned int i = 0; i <= NT_TV_GROUP_MAX; i++)
		nt_tv_reg(&f->w, 0x2000 + i, i);
	assert_int_equal(feed(f), -NT_TV_ELONG);
	assert_false(nt_tv_shadow_reg(f->sh, 0x2000, &v));
}

static void words_for_errors(void **state)
{
	(void)state;
	for (int err = NT_TV_EARG; err <= NT_TV_ERESET; err++)
		assert_string_not_equal(nt_tv_strerror(-err), "unknown error");
}

/* ------------------------------------------------------------------ chance */

/* Any items at all: the shadow holds what a simple reading of accepted groups gives. */
static void registers_by_chance(void **state)
{
	struct fixture *f = *state;
	uint64_t regs[8] = { 0 };
	bool known[8] = { false };

	for (unsigned long round = rounds(20000); round; round--) {
		unsigned int n = rnd(4), used = 0;
		uint64_t want[8];
		bool wanted[8], bad = false;
		struct nt_tv_item it = { .opcode = NT_TV_BEGIN };
		int ret = nt_tv_shadow_item(f->sh, &it), err = 0;

		memcpy(want, regs, sizeof(want));
		memcpy(wanted, known, sizeof(wanted));
		while (n--) {
			unsigned int r = rnd(8);

			it.opcode = NT_TV_REG + rnd(3);
			it.reg = 0x1000 + r;
			it.value = rnd(1u << 20);
			ret = nt_tv_shadow_item(f->sh, &it);
			bad |= used >> r & 1;
			used |= 1u << r;
			err = ret < 0 ? ret : err;
			if (it.opcode == NT_TV_REG) {
				want[r] = it.value;
				wanted[r] = true;
			} else {
				want[r] = it.opcode == NT_TV_REG_ADD ? want[r] + it.value :
								       (want[r] | it.value);
			}
		}
		it.opcode = NT_TV_END;
		ret = nt_tv_shadow_item(f->sh, &it);
		assert_int_equal(err, bad ? -NT_TV_ETWICE : 0);
		assert_int_equal(ret, bad ? 0 : 1);
		if (!bad) {
			memcpy(regs, want, sizeof(want));
			memcpy(known, wanted, sizeof(wanted));
		}
		for (unsigned int r = 0; r < 8; r++) {
			uint64_t v = 0;

			assert_int_equal(nt_tv_shadow_reg(f->sh, 0x1000 + r, &v), known[r]);
			if (known[r])
				assert_int_equal(v, regs[r]);
			else
				regs[r] = 0;
		}
	}
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(nothing_is_known), T(group_applies_at_its_end), T(begin_ends_the_group_before),
		T(forgets),
		T(increments_and_bits), cmocka_unit_test(widths), T(trap_and_mode),
		T(reset_forgets), T(store_data_at_its_address), T(transactions), T(amos),
		T(memory_is_bounded), cmocka_unit_test(illegal_combinations), T(too_many_items),
		cmocka_unit_test(words_for_errors), T(registers_by_chance),
	};

	rnd_begin();
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
