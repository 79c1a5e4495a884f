// SPDX-License-Identifier: GPL-2.0-only
/*
 * Work is bounded: what a few bytes may make a decoder do, counted in events and blocks, not in
 * time. What is legal is delivered whole: the repetitions of RepeatBranch and HREPEAT.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "cmocka-tap.h"
#include "nt-flow.h"
#include "pack.h"
#include "program.h"

#define ICNT_LEGAL	((1u << 22) - 1)
#define REPEAT_LEGAL	((1u << 18) - 1)

static struct program prog;
static struct pack pk;
static struct nt_params params;
static bool slow;		/* nothing by nt_loop() */
static bool twice;		/* the second time there is a graph */

static struct {
	uint64_t events, insns;
	unsigned int starts, losses, reason;
	uint64_t stop;
	int64_t work;		/* that is left at the end */
} got;

static void begin(void)
{
	memset(&prog, 0, sizeof(prog));
	prog.base = prog.at = 0x1000;
	pack_init(&pk);
	nt_params_init(&params);
	pack_ptsync(&pk, NT_SYNC_TRACE_ENABLE, 0, 0x1000);
}

static void decode_window(struct nt_flow *flow, unsigned int batch)
{
	struct nt_event ev[256];
	int i, n;

	memset(&got, 0, sizeof(got));
	nt_flow_window(flow, pk.buf, pk.len, 0);
	while ((n = nt_flow_next(flow, ev, batch)) > 0) {
		got.events += n;
		for (i = 0; i < n; i++) {
			got.insns += ev[i].insns;
			got.starts += ev[i].kind == NT_EV_START;
			if (ev[i].kind == NT_EV_LOSS) {
				got.losses++;
				got.reason = ev[i].reason;
			} else if (ev[i].kind == NT_EV_STOP) {
				got.stop = ev[i].from;
			}
		}
	}
	assert_int_equal(n, 0);
	got.work = flow->work;
}

static void decode(unsigned int batch)
{
	struct nt_code *code = nt_code_new(&params, program_read, &prog);
	struct nt_flow *flow = nt_flow_new(&params);

	assert_non_null(code);
	assert_non_null(flow);
	nt_flow_set_code(flow, code, code);
	flow->slow = slow;
	if (twice)
		decode_window(flow, batch);
	decode_window(flow, batch);
	nt_flow_free(flow);
	nt_code_free(code);
}

/* 22 bits are what I-CNT has: B.1-9 */
static void R71_counts_of_more_than_22_bits(void **state)
{
	(void)state;
	begin();
	put_bytes(&prog, 0xa001, 2);	/* c.j . */
	pack_ptc(&pk, 4, 1u << 30, 0);
	decode(256);
	assert_int_equal(got.losses, 1);
	assert_int_equal(got.reason, NT_ERANGE);
	assert_true(got.events < 10);

	begin();
	put_bytes(&prog, 0xa001, 2);
	pack_ptc(&pk, 4, ICNT_LEGAL, 0);
	decode(256);
	assert_int_equal(got.losses, 0);
	assert_true(got.insns == ICNT_LEGAL);

	begin();
	put_bytes(&prog, 0xa001, 2);
	pack_rf(&pk, 0, (1u << 22) + 1);
	pack_ptc(&pk, 4, 1, 0);
	decode(256);
	assert_int_equal(got.reason, NT_ERANGE);
}

/* A loop of jumps alone: nothing that the encoder tells says how often, but counts of half-words */
static void R94_credit_of_jumps_alone_is_limited(void **state)
{
	unsigned int i;

	(void)state;
	begin();
	put_bytes(&prog, 0xa001, 2);
	for (i = 0; i < 1000; i++)
		pack_rf(&pk, 0, ICNT_LEGAL);
	pack_ptc(&pk, 4, 1, 0);
	decode(256);
	assert_int_equal(got.losses, 1);
	assert_int_equal(got.reason, NT_EWORK);
	assert_true(got.events <= (1u << 24) + pk.len * 4096);

	/* for as long as it is allowed, it is delivered: 12 million times */
	begin();
	put_bytes(&prog, 0xa001, 2);
	pack_rf(&pk, 0, ICNT_LEGAL);
	pack_rf(&pk, 0, ICNT_LEGAL);
	pack_ptc(&pk, 4, ICNT_LEGAL, 0);
	decode(256);
	assert_int_equal(got.losses, 0);
	assert_true(got.insns == 3ull * ICNT_LEGAL);
}

/* HREPEAT of 18 bits, and the I-CNT of all that: 1000 c.bnez a0, 1000 */
static void R108_R110_all_histories_that_are_legal(void **state)
{
	const uint64_t all = 31ull * REPEAT_LEGAL, some = 30ull * (REPEAT_LEGAL / 2);
	unsigned int i;

	(void)state;
	begin();
	put_bytes(&prog, 0xe101, 2);
	pack_rf(&pk, 0, ICNT_LEGAL);
	pack_rf(&pk, 0, all - ICNT_LEGAL);
	pack_rf2(&pk, 0xffffffff, REPEAT_LEGAL);
	pack_ptc(&pk, 4, 1, 2);
	decode(256);
	assert_int_equal(got.losses, 0);
	assert_true(got.insns == all + 1);
	/* START, STOP */
	assert_true(got.events == all + 2);

	/* I-CNT comes later */
	begin();
	put_bytes(&prog, 0xe101, 2);
	pack_rf2(&pk, 0x7fffffff, REPEAT_LEGAL / 2);
	pack_ptc(&pk, 4, some + 1, 2);
	for (i = 1; i <= 256; i += 51) {
		decode(i);
		assert_int_equal(got.losses, 0);
		assert_true(got.insns == some + 1);
		assert_true(got.stop == 0x1002);
	}
}

/* 8 million branches of a loop in 20 bytes, again and again: see R108, R110 above */
static void pack_loops(unsigned int n)
{
	const uint32_t times = ICNT_LEGAL / 31;

	while (n--) {
		pack_rf2(&pk, 0xffffffff, times);
		pack_rf(&pk, 0, 31 * times);
	}
}

static uint64_t units(uint64_t per_byte)
{
	return (4096 + pk.len) * per_byte;
}

/* Repetitions draw on what the bytes pay for, and decoding goes on behind them. */
static void R110_histories_are_paid_for(void **state)
{
	(void)state;
	begin();
	put_bytes(&prog, 0xe101, 2);
	pack_loops(50);
	assert_true(pk.len < 1024);
	pack_ptsync(&pk, NT_SYNC_PERIODIC, 0, 0x1000);
	pack_rf2(&pk, 0xffffffff, 2);
	pack_ptc(&pk, 4, 62, 1);
	decode(256);
	assert_int_equal(got.losses, 1);
	assert_int_equal(got.reason, NT_EWORK);
	assert_int_equal(got.starts, 2);
	assert_true(got.stop == 0x1000);
	assert_true(got.insns >= 2 * (ICNT_LEGAL / 31) * 31 && got.events <= units(4096));

	/* more of them, of a caller who wants them, and all */
	params.work_per_byte = 8192;
	decode(256);
	assert_int_equal(got.reason, NT_EWORK);
	assert_true(got.insns >= 5 * (ICNT_LEGAL / 31) * 31 && got.events <= units(8192));
	begin();
	put_bytes(&prog, 0xe101, 2);
	pack_loops(10);
	pack_ptc(&pk, 4, 0, 1);
	params.work_per_byte = NT_WORK_UNLIMITED;
	decode(256);
	assert_int_equal(got.losses, 0);
	assert_true(got.insns == 10ull * (ICNT_LEGAL / 31) * 31);
}

/* Whatever the size of batches is, it is the same message that is refused. */
static void R110_payment_does_not_depend_on_batches(void **state)
{
	uint64_t insns = 0;
	unsigned int i;

	(void)state;
	for (i = 1; i <= 256; i += i < 20 ? 1 : 7) {
		begin();
		params.work_per_byte = 16;
		put_bytes(&prog, 0xe101, 2);
		while (pk.len < 2000) {
			pack_rf2(&pk, 0xffffffff, 60);
			pack_rf(&pk, 0, 31 * 60);
		}
		pack_ptc(&pk, 4, 0, 1);
		decode(i);
		assert_int_equal(got.losses, 1);
		assert_int_equal(got.reason, NT_EWORK);
		if (i == 1)
			insns = got.insns;
		assert_true(insns > 31 * 60 && insns < units(16));
		assert_true(got.insns == insns);
	}
}

/* What leads to nothing was work, too: jumps without end, and an address they do not lead to */
static void what_is_refused_is_paid_for(void **state)
{
	unsigned int i;

	(void)state;
	begin();
	put_bytes(&prog, 0xa001, 2);
	put_bytes(&prog, 0xa001, 2);
	for (i = 0; i < 50; i++)
		pack_ibsync(&pk, NT_SYNC_PERIODIC, 0, ICNT_LEGAL, i % 2 ? 0x1000 : 0x1002);
	params.mode = NT_MODE_BTM;
	decode(256);
	assert_int_equal(got.losses, 50);
	assert_int_equal(got.reason, NT_EWORK);
	assert_true(got.work < ICNT_LEGAL);
}

/* No event, no outcome, a block each: branches that are not taken, in BTM */
static void branches_not_taken_are_paid_for(void **state)
{
	unsigned int i;

	(void)state;
	begin();
	for (i = 0; i < 1000; i++)
		put_bytes(&prog, 0xc111, 2);	/* c.beqz a0, +4 */
	j(&prog, 0x1000);
	for (i = 0; i < 50; i++)
		pack_ibsync(&pk, NT_SYNC_PERIODIC, 0, 1002 * 4000, 0x1000);
	params.mode = NT_MODE_BTM;
	decode(256);
	assert_true(got.losses > 0);
	assert_int_equal(got.reason, NT_EWORK);
	assert_true(got.insns > 0 && got.insns <= units(4096));
}

/* A long way to a branch that is taken, back to the beginning: BRANCH and jump are all events. */
static void long_way(unsigned int half_words, bool linear)
{
	unsigned int i;

	begin();
	params.mode = NT_MODE_BTM;
	params.work_per_byte = 16;
	for (i = 0; i < half_words - 1; i++)
		put_bytes(&prog, linear ? 0x952e : 0xc111, 2);	/* c.add, or c.beqz a0, +4 */
	put_bytes(&prog, 0xc119, 2);		/* c.beqz a0, +6 */
	c_add(&prog);
	c_add(&prog);
	j(&prog, 0x1000);
}

/* What makes next to no events is paid for, however it is walked, and counted. */
static void ways_without_events_are_paid_for(void **state)
{
	const unsigned int half_words = 30000;
	unsigned int i, batch;

	(void)state;
	twice = true;
	for (i = 0; i < 4; i++)
	for (batch = 1; batch <= 256; batch += 51) {
		slow = i & 1;
		long_way(half_words, i & 2);
		pack_db(&pk, half_words);
		while (pk.len < 4000)
			pack_db(&pk, half_words + 2);
		decode(batch);
		assert_int_equal(got.losses, 1);
		assert_int_equal(got.reason, NT_EWORK);
		assert_true(got.insns >= half_words && got.insns <= units(16));
	}
	slow = twice = false;
}

/* Likewise what no message claims */
static void credit_without_events_is_paid_for(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		long_way(30000, i);
		pack_rf(&pk, 0, 29000);
		decode(256);
		assert_int_equal(got.losses, 0);
		/* whether the last branch was taken is not known */
		assert_true(got.insns == 28999 + i);
		while (pk.len < 1000)
			pack_rf(&pk, 0, ICNT_LEGAL);
		decode(256);
		assert_int_equal(got.losses, 1);
		assert_int_equal(got.reason, NT_EWORK);
		assert_true(got.insns <= units(16));
	}
}

/* Count what pk has.  How much was lost, none of it for another reason than the work */
static unsigned int count_all(struct nt_counts_stats *stats)
{
	struct nt_counts *counts = nt_counts_new();
	struct nt_code *code = nt_code_new(&params, program_read, &prog);
	struct nt_flow *flow = nt_flow_new(&params);
	struct nt_event ev[256];
	unsigned int lost = 0;
	int n, i;

	assert_true(code && flow && counts);
	nt_flow_set_code(flow, code, code);
	nt_flow_window(flow, pk.buf, pk.len, 0);
	while ((n = nt_flow_count(flow, counts, ev, 256)) > 0)
		for (i = 0; i < n; i++) {
			assert_true(ev[i].kind != NT_EV_LOSS || ev[i].reason == NT_EWORK);
			lost += ev[i].kind == NT_EV_LOSS;
		}
	assert_int_equal(n, 0);
	nt_counts_get_stats(counts, stats);
	nt_counts_free(counts);
	nt_flow_free(flow);
	nt_code_free(code);
	return lost;
}

/* Messages that are like others are not walked, so cost nothing. */
static void R110_counting_without_events_is_paid_for(void **state)
{
	struct nt_counts_stats stats = { .size = sizeof(stats) };
	const unsigned int half_words = 30000;
	unsigned int i;

	(void)state;
	long_way(half_words, false);
	/* each another way, that no memo stands for */
	for (i = 0; i < 200; i++) {
		pack_ptsync(&pk, NT_SYNC_PERIODIC, 20000 + i, 0x1000 + 2 * (20000 + i));
		pack_ptsync(&pk, NT_SYNC_TRACE_ENABLE, 0, 0x1000);
	}
	assert_true(count_all(&stats) > 100);
	assert_true(stats.insns >= 20000 && stats.insns <= units(16));
}

/* Counting is paid for as delivering is. */
static void R110_counting_is_paid_for(void **state)
{
	struct nt_counts_stats stats = { .size = sizeof(stats) };

	(void)state;
	begin();
	put_bytes(&prog, 0xe101, 2);
	pack_loops(50);
	decode(256);
	count_all(&stats);
	assert_true(stats.insns == got.insns && got.losses == 1);
}

static void work_per_byte_out_of_range(void **state)
{
	(void)state;
	begin();
	params.work_per_byte = NT_WORK_MAX;
	assert_int_equal(nt_params_check(&params), 0);
	params.work_per_byte++;
	assert_int_equal(nt_params_check(&params), -NT_EINVAL);
	params.work_per_byte = NT_WORK_UNLIMITED;
	assert_int_equal(nt_params_check(&params), 0);
}

/* Outcomes may not run ahead of I-CNT by more than it can count: the rest is a loss, and soon */
static void R96_histories_too_far_ahead(void **state)
{
	unsigned int i;

	(void)state;
	begin();
	put_bytes(&prog, 0xe101, 2);
	for (i = 0; i < 100; i++)
		pack_rf2(&pk, 0xffffffff, REPEAT_LEGAL);
	pack_ptc(&pk, 4, 0, 1);
	decode(256);
	assert_int_equal(got.losses, 1);
	assert_int_equal(got.reason, NT_ERANGE);
	assert_true(got.events < 10);
}

/* 18 bits of B-CNT times a long way: over 30,000 half-words without a branch that is taken */
static void R106_R110_all_repetitions_that_are_legal(void **state)
{
	const unsigned int half_words = 30000;
	unsigned int i;

	(void)state;
	begin();
	for (i = 0; i < half_words - 2; i++)
		put_bytes(&prog, i % 8 ? 0x952e : 0xc101, 2);	/* c.add, c.beqz a0, . */
	/* those are never taken; bne back to the beginning reaches 4096 bytes, so: */
	org(&prog, 0x1000 + 2 * (half_words - 2));
	put_bytes(&prog, 0xc119, 2);	/* c.beqz a0, +6 */
	put_bytes(&prog, 0x0001, 2);
	put_bytes(&prog, 0x0001, 2);
	j(&prog, 0x1000);
	params.work_per_byte = NT_WORK_UNLIMITED;
	pack_db(&pk, half_words - 1);
	pack_db(&pk, half_words + 1);
	pack_repeat(&pk, REPEAT_LEGAL);
	pack_ptc(&pk, 4, 0, 0);
	decode(256);
	assert_int_equal(got.losses, 0);
	/* the jump and the branch of each; START, STOP */
	assert_true(got.events == 2ull * (REPEAT_LEGAL + 1) + 1 + 2);
}

/* Repetitions with calls in them, with and without a return stack, in batches of any size */
static void R106_repetitions_with_calls(void **state)
{
	unsigned int batch, retstack;

	(void)state;
	for (retstack = 0; retstack < 2; retstack++)
	for (batch = 1; batch <= 256; batch += batch < 20 ? 1 : 59) {
		begin();
		params.retstack = retstack ? 3 : 0;
		call(&prog, 0x1100);
		beq(&prog, 0x1000);
		c_add(&prog);
		org(&prog, 0x1100);
		if (retstack)
			ret(&prog);
		else
			j(&prog, 0x1004);
		pack_db(&pk, 6);
		pack_repeat(&pk, 5000);
		pack_ptc(&pk, 4, 7, 0);
		decode(batch);
		assert_int_equal(got.losses, 0);
		assert_true(got.insns == 3 * 5001 + 4);
		assert_true(got.events == 3 * 5001 + 2 + 2);
		assert_true(got.stop == 0x100a);
	}
}

/*
 * A shared sink, and a hart that is idle: 1 MB of another hart's messages before one that the fast
 * loops leave to the rest of the decoder. No 1 MB may take a minute of processor time. This takes
 * milliseconds; minutes, if the decoder looks past all of the others before it skips one.
 */
static void messages_of_others_are_passed_once(void **state)
{
	static uint8_t buf[1 << 20];
	const clock_t begun = clock();
	struct nt_counts *counts = nt_counts_new();
	struct nt_event ev[256];
	struct nt_flow *flow;
	struct nt_code *code;
	size_t own, len;
	int n, events = 0;

	(void)state;
	begin();
	params.mode = NT_MODE_HTM;
	params.srcbits = pk.srcbits = 2;
	params.src = pk.src = 1;
	pk.len = 0;
	put_bytes(&prog, 0xa001, 2);	/* c.j . */
	pack_ptsync(&pk, NT_SYNC_TRACE_ENABLE, 0, 0x1000);
	pack_ownership(&pk, 5 << 5 | 2);
	own = pk.len;
	pk.src = 2;
	pack_db(&pk, 4);
	memcpy(buf, pk.buf, own);
	for (len = own; len + pk.len < sizeof(buf); len += pk.len - own)
		memcpy(buf + len, pk.buf + own, pk.len - own);
	memcpy(buf + len, pk.buf, own);
	code = nt_code_new(&params, program_read, &prog);
	flow = nt_flow_new(&params);
	assert_non_null(code);
	assert_non_null(flow);
	assert_non_null(counts);
	nt_flow_set_code(flow, code, code);
	nt_flow_window(flow, buf, len + own, 0);
	while ((n = nt_flow_count_until(flow, counts, ev, 256)) > 0)
		events += n;
	assert_int_equal(n, 0);
	assert_in_range(events, 4, 16);
	nt_flow_free(flow);
	nt_code_free(code);
	nt_counts_free(counts);
	assert_in_range((clock() - begun) / CLOCKS_PER_SEC, 0, 59);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(R71_counts_of_more_than_22_bits),
		cmocka_unit_test(R94_credit_of_jumps_alone_is_limited),
		cmocka_unit_test(R108_R110_all_histories_that_are_legal),
		cmocka_unit_test(R110_histories_are_paid_for),
		cmocka_unit_test(R110_payment_does_not_depend_on_batches),
		cmocka_unit_test(what_is_refused_is_paid_for),
		cmocka_unit_test(branches_not_taken_are_paid_for),
		cmocka_unit_test(ways_without_events_are_paid_for),
		cmocka_unit_test(credit_without_events_is_paid_for),
		cmocka_unit_test(R110_counting_without_events_is_paid_for),
		cmocka_unit_test(R110_counting_is_paid_for),
		cmocka_unit_test(work_per_byte_out_of_range),
		cmocka_unit_test(R96_histories_too_far_ahead),
		cmocka_unit_test(R106_R110_all_repetitions_that_are_legal),
		cmocka_unit_test(R106_repetitions_with_calls),
		cmocka_unit_test(messages_of_others_are_passed_once),
	};

	return RUN_TAP(tests);
}
