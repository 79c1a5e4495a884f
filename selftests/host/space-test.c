// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two programs, one below the other: where the second begins
 */
#include "cmocka-tap.h"
#include "nt-flow.h"
#include "pack.h"
#include "program.h"

#define TASK_SIZE	0x9fc00000	/* Linux, RV32 */

/* One program that is there for addresses below `end` only, or from it on */
struct side {
	struct program *prog;
	uint64_t end;
	bool high;
};

static int read_side(void *ctx, uint64_t space, uint64_t addr, void *buf, size_t len)
{
	const struct side *s = ctx;

	return (addr >= s->end) == s->high ? program_read(s->prog, space, addr, buf, len) : 0;
}

/*
 * c.jr a0 at `from`, to `to`, and back, over and over: branches that are reported, 0 with a loss.
 * The decoder has a fast path for messages without SRC.
 */
static unsigned int decode_src(unsigned int srcbits, unsigned int xlen, uint64_t high_from,
			       uint64_t end, uint64_t from, uint64_t to)
{
	static struct program prog[2];
	static struct pack pk;
	struct side low = { &prog[0], end, false }, high = { &prog[1], end, true };
	struct nt_code *code[2];
	struct nt_params params;
	struct nt_flow *flow;
	struct nt_event ev[64];
	unsigned int branches = 0, losses = 0, i;
	int n;

	memset(prog, 0, sizeof(prog));
	for (i = 0; i < 2; i++) {
		struct program *p = &prog[(i ? to : from) >= end];

		p->base = (i ? to : from) & ~(uint64_t)(PROGRAM_SIZE - 1);
		org(p, i ? to : from);
		put_bytes(p, 0x8502, 2);
	}
	nt_params_init(&params);
	params.xlen = xlen;
	params.high_from = high_from;
	params.srcbits = srcbits;
	pack_init(&pk);
	pk.srcbits = srcbits;
	pack_ptsync(&pk, NT_SYNC_TRACE_ENABLE, 0, from);
	for (i = 0; i < 40; i++)
		pack_ib(&pk, 0, 1, from ^ to);
	pack_ptc(&pk, 4, 0, 0);
	code[0] = nt_code_new(&params, read_side, &low);
	code[1] = nt_code_new(&params, read_side, &high);
	flow = nt_flow_new(&params);
	assert_true(code[0] && code[1] && flow);
	nt_flow_set_code(flow, code[0], code[1]);
	nt_flow_window(flow, pk.buf, pk.len, 0);
	while ((n = nt_flow_next(flow, ev, 64)) > 0)
		while (n--) {
			branches += ev[n].kind == NT_EV_BRANCH;
			losses += ev[n].kind == NT_EV_LOSS;
		}
	nt_flow_free(flow);
	nt_code_free(code[0]);
	nt_code_free(code[1]);
	return losses ? 0 : branches;
}

static unsigned int decode(unsigned int xlen, uint64_t high_from, uint64_t end, uint64_t from,
			   uint64_t to)
{
	unsigned int fast = decode_src(0, xlen, high_from, end, from, to);

	assert_int_equal(decode_src(2, xlen, high_from, end, from, to), fast);
	return fast;
}

static void the_top_bit(void **state)
{
	(void)state;
	assert_int_equal(decode(64, 0, 1ull << 63, 0x10000, 0xffffffff80000000), 40);
	assert_int_equal(decode(64, 0, 1ull << 63, 0x7ffffffffffffff0, 0x8000000000000000), 40);
	assert_int_equal(decode(32, 0, 0x80000000, 0x10000, 0x80000000), 40);
}

/* A library or the stack of a process, beyond the top bit; the kernel begins behind */
static void rv32_user_space_reaches_beyond_the_top_bit(void **state)
{
	(void)state;
	assert_int_equal(decode(32, TASK_SIZE, TASK_SIZE, 0x95550000, 0xc0000000), 40);
	assert_int_equal(decode(32, TASK_SIZE, TASK_SIZE, TASK_SIZE - 2, TASK_SIZE), 40);
	/* the same taken for the kernel's */
	assert_int_equal(decode(32, 0, TASK_SIZE, 0x95550000, 0xc0000000), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_top_bit),
		cmocka_unit_test(rv32_user_space_reaches_beyond_the_top_bit),
	};

	return RUN_TAP(tests);
}
