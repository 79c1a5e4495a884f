// SPDX-License-Identifier: GPL-2.0-only
/*
 * The flow layer: messages and a program in, events out. Tests are named after
 * the requirements that they prove. Every trace is decoded with the smallest
 * batches and with large ones; the events must be the same.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmocka-tap.h"
#include "nt-flow.h"
#include "pack.h"
#include "program.h"
#include "random.h"

#define ANSWER	16384

struct bench {
	struct nt_params params;
	struct program prog;
	struct pack pk;
	struct nt_code *code;
	struct nt_flow *flow;
	uint32_t syncs;		/* to be reported */
	char answer[ANSWER];
	size_t used;
};

static struct bench *bench_new(void)
{
	struct bench *t = calloc(1, sizeof(*t));

	assert_non_null(t);
	nt_params_init(&t->params);
	pack_init(&t->pk);
	return t;
}

static void say(struct bench *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	t->used += vsnprintf(t->answer + t->used, ANSWER - t->used, fmt, ap);
	va_end(ap);
	assert_true(t->used < ANSWER);
}

static void say_event(struct bench *t, const struct nt_event *ev)
{
	switch (ev->kind) {
	case NT_EV_BRANCH:
		say(t, "%s %" PRIx64 " %" PRIx64, nt_type_name(ev->type), ev->from, ev->to);
		if (ev->flags & NT_EVF_INFERRED)
			say(t, " inferred");
		break;
	case NT_EV_START:
		assert_true(ev->from == ev->to);
		say(t, "start %u %" PRIx64 "%s", ev->reason, ev->to,
		    ev->flags & NT_EVF_JOIN ? " join" : "");
		break;
	case NT_EV_STOP:
		say(t, "stop %u %" PRIx64, ev->reason, ev->from);
		break;
	case NT_EV_CONTEXT:
		say(t, "context %u priv %u%s %" PRIx64, ev->reason, ev->priv,
		    ev->flags & NT_EVF_VIRT ? "v" : "", ev->context);
		break;
	case NT_EV_LOSS:
		say(t, "loss %s at %" PRIu64, nt_strerror(ev->reason), ev->offset);
		if (ev->flags & NT_EVF_PC)
			say(t, " pc %" PRIx64, ev->from);
		say(t, " skipped %" PRIu64, ev->skipped);
		break;
	case NT_EV_SYNC:
		assert_true(ev->from == ev->to);
		say(t, "sync %u %" PRIx64, ev->reason, ev->to);
		break;
	default:
		say(t, "notice %s", nt_strerror(ev->reason));
	}
	if (ev->insns)
		say(t, " n%u", ev->insns);
	if (ev->flags & NT_EVF_TIME)
		say(t, " t%" PRIu64, ev->time);
	say(t, "\n");
}

/* Linear code up to an event, for lists of addresses */
static uint64_t say_pcs(struct bench *t, const struct nt_event *ev, uint64_t pc)
{
	uint32_t n;

	for (n = 0; n < ev->insns; n++) {
		struct nt_insn insn;
		int len = nt_code_insn(t->code, pc, &insn);

		assert_true(len > 0);
		say(t, "%" PRIx64 " ", pc);
		pc += len;
	}
	return ev->kind == NT_EV_BRANCH || ev->kind == NT_EV_START ? ev->to : pc;
}

static void new_flow(struct bench *t)
{
	nt_flow_free(t->flow);
	t->flow = nt_flow_new(&t->params);
	assert_non_null(t->flow);
	nt_flow_set_code(t->flow, t->code, t->code);
	nt_flow_report_syncs(t->flow, t->syncs);
}

static void bench_open(struct bench *t)
{
	t->code = nt_code_new(&t->params, program_read, &t->prog);
	assert_non_null(t->code);
	new_flow(t);
}

static void bench_close(struct bench *t)
{
	nt_flow_free(t->flow);
	nt_code_free(t->code);
	t->flow = NULL;
	t->code = NULL;
}

static void decode(struct bench *t, unsigned int max, bool pcs)
{
	struct nt_event ev[256];
	uint64_t pc = 0;
	int i, n;

	t->used = 0;
	t->answer[0] = '\0';
	nt_flow_window(t->flow, t->pk.buf, t->pk.len, 0);
	memset(ev, 0xa5, sizeof(ev));
	while ((n = nt_flow_next(t->flow, ev, max)) > 0) {
		assert_true(n <= (int)max);
		for (i = 0; i < n; i++) {
			if (pcs)
				pc = say_pcs(t, &ev[i], pc);
			else
				say_event(t, &ev[i]);
		}
	}
	assert_int_equal(n, 0);
	assert_false(nt_flow_at_limit(t->flow));
	assert_int_equal(nt_flow_consumed(t->flow), t->pk.len);
}

/* The same in pieces, which may end anywhere; what is not consumed comes again */
static void decode_pieces(struct bench *t, size_t size)
{
	size_t from = 0, to = size < t->pk.len ? size : t->pk.len;
	struct nt_event ev[64];
	int i, n;

	t->used = 0;
	t->answer[0] = '\0';
	nt_flow_open_end(t->flow, to < t->pk.len);
	nt_flow_window(t->flow, t->pk.buf, to, 0);
	for (;;) {
		while ((n = nt_flow_next(t->flow, ev, 64)) > 0)
			for (i = 0; i < n; i++)
				say_event(t, &ev[i]);
		assert_int_equal(n, 0);
		if (to == t->pk.len)
			break;
		from += nt_flow_consumed(t->flow);
		assert_true(from <= to);
		to = to + size < t->pk.len ? to + size : t->pk.len;
		nt_flow_open_end(t->flow, to < t->pk.len);
		nt_flow_more(t->flow, t->pk.buf + from, to - from, from);
	}
	assert_int_equal(from + nt_flow_consumed(t->flow), t->pk.len);
}

/* A loss at the end of a piece is reported in pieces too: the rest must be the same. */
static void without_losses(const char *answer, char *out, size_t size)
{
	const char *end;

	for (; *answer; answer = end + 1) {
		end = strchr(answer, '\n');
		if (strncmp(answer, "loss", 4)) {
			assert_true((size_t)(end + 1 - answer) < size);
			memcpy(out, answer, end + 1 - answer);
			out += end + 1 - answer;
			size -= end + 1 - answer;
		}
	}
	*out = '\0';
}

static void same_in_pieces(struct bench *t, size_t piece, const char *want)
{
	char wanted[4096], got[4096];

	decode_pieces(t, piece);
	if (!strstr(want, "loss")) {
		assert_string_equal(t->answer, want);
		return;
	}
	assert_non_null(strstr(t->answer, "loss"));
	without_losses(want, wanted, sizeof(wanted));
	without_losses(t->answer, got, sizeof(got));
	assert_string_equal(got, wanted);
}

/* nt_loop() wants some bytes behind a message, and a graph; it must not decide otherwise. */
static void same_quickly(struct bench *t)
{
	char slow[ANSWER];
	unsigned int n;

	for (n = 0; n < 64; n++)
		t->pk.buf[t->pk.len++] = 0xff;
	t->flow->slow = true;
	decode(t, 64, false);
	strcpy(slow, t->answer);
	new_flow(t);
	decode(t, 64, false);
	assert_string_equal(t->answer, slow);
	t->pk.len -= 64;
}

/*
 * Decode and compare; once more with the graph already there, by nt_loop(), and in pieces.
 * Frees t.
 */
static void expect(struct bench *t, const char *want)
{
	unsigned int max;
	size_t size;

	for (max = 1; max <= 256; max *= 4) {
		bench_open(t);
		decode(t, max, false);
		assert_string_equal(t->answer, want);
		new_flow(t);
		decode(t, max, false);
		assert_string_equal(t->answer, want);
		new_flow(t);
		same_quickly(t);
		bench_close(t);
	}
	for (size = 1; size < t->pk.len && size < 40; size++) {
		bench_open(t);
		same_in_pieces(t, size, want);
		bench_close(t);
	}
	free(t);
}

static void expect_pcs(struct bench *t, const char *want)
{
	bench_open(t);
	decode(t, 64, true);
	assert_string_equal(t->answer, want);
	bench_close(t);
	free(t);
}

/* ------------------------------------------- the specification's examples - */

static struct bench *example_6(void)
{
	struct bench *t = bench_new();
	struct program *p = &t->prog;

	org(p, 0x100);
	c_add(p);
	beq(p, 0x200);
	add(p);
	beq(p, 0x300);
	c_add(p);
	add(p);
	c_ebreak(p);
	org(p, 0x200);
	c_add(p);
	c_ebreak(p);
	org(p, 0x300);
	add(p);
	c_ebreak(p);
	pack_ptsync(&t->pk, 1, 0, 0x100);
	return t;
}

static void R102_R111_btm_example(void **state)
{
	struct bench *t = example_6();

	(void)state;
	pack_db(&t->pk, 3);
	pack_ptc(&t->pk, 0, 1, 0);
	expect_pcs(t, "100 102 200 ");

	t = example_6();
	pack_db(&t->pk, 7);
	pack_ptc(&t->pk, 0, 2, 0);
	expect_pcs(t, "100 102 106 10a 300 ");

	t = example_6();
	pack_ptc(&t->pk, 0, 10, 0);
	expect_pcs(t, "100 102 106 10a 10e 110 ");

	t = example_6();
	pack_db(&t->pk, 7);
	pack_ptc(&t->pk, 0, 2, 0);
	expect(t, "start 1 100\ncond 10a 300 n4\nstop 0 304 n1\n");
}

static void R102_htm_example(void **state)
{
	struct bench *t = example_6();

	(void)state;
	pack_ptc(&t->pk, 0, 4, 3);
	expect_pcs(t, "100 102 200 ");
	t = example_6();
	pack_ptc(&t->pk, 0, 9, 5);
	expect_pcs(t, "100 102 106 10a 300 ");
	t = example_6();
	pack_ptc(&t->pk, 0, 10, 4);
	expect_pcs(t, "100 102 106 10a 10e 110 ");
}

static void R98_invalid_counts(void **state)
{
	static const struct {
		unsigned int icnt;
		const char *want;
	} cases[] = {
		/* in the middle of an instruction, on the way to a taken branch */
		{ 2, "start 1 100\nloss trace ends inside an instruction at 6 pc 100 skipped 2\n" },
		{ 4, "start 1 100\nloss trace ends inside an instruction at 6 pc 100 skipped 2\n" },
		{ 6, "start 1 100\nloss trace ends inside an instruction at 6 pc 100 skipped 2\n" },
		/* at an instruction that is no branch */
		{ 5, "start 1 100\nloss branch reported where there is none at 6 pc 100 skipped 2\n" },
		/* at one that never retires */
		{ 11, "start 1 100\nloss instruction that never retires was counted at 6 pc 100 skipped 2\n" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bench *t = example_6();

		t->pk.len = 0;
		pack_ptsync(&t->pk, 1, 0, 0x80000100);
		t->prog.base = 0x80000000;
		assert_int_equal(t->pk.len, 8);
		t->pk.len = 0;
		t->prog.base = 0;
		pack_ptsync(&t->pk, 1, 0, 0x100);
		while (t->pk.len < 6)
			t->pk.buf[t->pk.len++] = 0xff;
		pack_db(&t->pk, cases[i].icnt);
		expect(t, cases[i].want);
	}
}

static struct bench *example_7(void)
{
	struct bench *t = bench_new();
	struct program *p = &t->prog;

	org(p, 0x100);
	c_add(p);
	beq(p, 0x200);
	add(p);		/* 106 */
	add(p);		/* 10a */
	add(p);		/* 10e */
	add(p);		/* 112 */
	add(p);		/* 116 */
	c_add(p);	/* 11a */
	c_ebreak(p);
	pack_ptsync(&t->pk, 3, 0, 0x100);
	return t;
}

static void R94_R103_icnt_full(void **state)
{
	static const char pcs[] = "100 102 106 10a 10e 112 116 11a ";
	struct bench *t = example_7();

	(void)state;
	/* the outcome comes after the count that covers its branch */
	pack_rf(&t->pk, 0, 9);
	pack_ptc(&t->pk, 0, 5, 2);
	expect_pcs(t, pcs);
	t = example_7();
	pack_ptsync(&t->pk, 4, 9, 0x112);
	pack_ptc(&t->pk, 0, 5, 0);
	expect_pcs(t, pcs);
	t = example_7();
	pack_ptsync(&t->pk, 4, 9, 0x112);
	pack_ptc(&t->pk, 0, 5, 0);
	expect(t, "start 3 100\nstop 0 11c n8\n");
}

/* --------------------------------------------------- addresses, branches -- */

static void R84_R85_xor_chain(void **state)
{
	struct bench *t = bench_new();

	(void)state;
	t->prog.base = 0x3e000;
	org(&t->prog, 0x3fc04);
	j(&t->prog, 0x3fd00);
	org(&t->prog, 0x3fd00);
	jr(&t->prog);
	org(&t->prog, 0x3f368);
	jr(&t->prog);
	pack_ptsync(&t->pk, 5, 0, 0x3fc04);
	pack_ib(&t->pk, 0, 4, 0x7b6 << 1);
	pack_ib(&t->pk, 0, 2, 0x934 << 1);
	pack_ptc(&t->pk, 4, 0, 0);
	/* relative to the last address sent, not to the pc, which has moved on */
	expect(t, "start 5 3fc04\njump 3fc04 3fd00 n1\nijump 3fd00 3f368 n1\n"
	       "ijump 3f368 3e100 n1\nstop 4 3e100\n");
	/* a branch told before has moved the pc, not what U-ADDR is relative to */
	t = bench_new();
	t->prog.base = 0x3e000;
	org(&t->prog, 0x3fc04);
	beq(&t->prog, 0x3fd00);
	org(&t->prog, 0x3fd00);
	jr(&t->prog);
	pack_ptsync(&t->pk, 5, 0, 0x3fc04);
	pack_db(&t->pk, 2);
	pack_ib(&t->pk, 0, 2, 0x7b6 << 1);
	pack_ptc(&t->pk, 4, 0, 0);
	expect(t, "start 5 3fc04\ncond 3fc04 3fd00 n1\nijump 3fd00 3f368 n1\nstop 4 3f368\n");
}

/* A loop of 3 half-words that is left at 106, then a jump */
static struct bench *loop(void)
{
	struct bench *t = bench_new();
	struct program *p = &t->prog;

	org(p, 0x100);
	c_add(p);
	beq(p, 0x100);
	jr(p);		/* 106 */
	org(p, 0x200);
	c_add(p);
	ret(p);
	c_ebreak(p);
	pack_ptsync(&t->pk, 5, 0, 0x100);
	return t;
}

static const char loop_5[] =
	"start 5 100\ncond 102 100 n2\ncond 102 100 n2\ncond 102 100 n2\ncond 102 100 n2\n"
	"ijump 106 200 n3\nstop 4 200\n";

static void R92_history_order(void **state)
{
	struct bench *t = loop();

	(void)state;
	pack_ibh(&t->pk, 0, 17, 0x100 ^ 0x200, 0x3e);
	pack_ptc(&t->pk, 4, 0, 1);
	expect(t, loop_5);
	/* 0 is no history; 1 is an empty one */
	t = loop();
	pack_ibh(&t->pk, 0, 17, 0x300, 0);
	expect(t, "start 5 100\nloss branch history does not fit the code at 4 pc 100 skipped 6\n");
	/* outcomes left over, outcomes missing */
	t = loop();
	pack_ibh(&t->pk, 0, 17, 0x300, 0x7c);
	expect(t, "start 5 100\nloss branch history does not fit the code at 4 pc 100 skipped 7\n");
	t = loop();
	pack_ibh(&t->pk, 0, 17, 0x300, 0xf);
	expect(t, "start 5 100\nloss conditional branch without branch history at 4 pc 100 skipped 6\n");
}

static void R95_R96_history_walked_first(void **state)
{
	struct bench *t = loop();

	(void)state;
	pack_rf(&t->pk, 1, 0x7);	/* T T */
	pack_rf(&t->pk, 1, 0x3);	/* T */
	pack_ibh(&t->pk, 0, 17, 0x300, 0x6);
	pack_ptc(&t->pk, 4, 0, 1);
	expect(t, loop_5);
	/* an empty history is nothing */
	t = loop();
	pack_rf(&t->pk, 1, 0x1f);
	pack_rf(&t->pk, 1, 1);
	pack_ibh(&t->pk, 0, 17, 0x300, 0x2);
	pack_ptc(&t->pk, 4, 0, 1);
	expect(t, loop_5);
	/* more outcomes than the count covers */
	t = loop();
	pack_rf(&t->pk, 1, 0x1f);
	pack_ptc(&t->pk, 4, 11, 1);
	expect(t, "start 5 100\ncond 102 100 n2\ncond 102 100 n2\ncond 102 100 n2\n"
	       "cond 102 100 n2\nloss branch history is longer than the instruction count"
	       " at 7 pc 100 skipped 4\n");
}

static void R97_both_full(void **state)
{
	struct bench *t = loop();

	(void)state;
	pack_rf(&t->pk, 0, 9);
	pack_rf(&t->pk, 1, 0xf);
	pack_ibh(&t->pk, 0, 8, 0x300, 0x6);
	pack_ptc(&t->pk, 4, 0, 1);
	expect(t, loop_5);
	t = loop();
	pack_rf(&t->pk, 1, 0xf);
	pack_rf(&t->pk, 0, 9);
	pack_ibh(&t->pk, 0, 8, 0x300, 0x6);
	pack_ptc(&t->pk, 4, 0, 1);
	expect(t, loop_5);
}

static void R108_R109_repeated_history(void **state)
{
	struct bench *t;
	unsigned int way;

	(void)state;
	for (way = 0; way < 4; way++) {
		unsigned int i;

		t = loop();
		switch (way) {
		case 0:
			for (i = 0; i < 10; i++)
				pack_rf(&t->pk, 1, 0x15 | 0x2a);
			break;
		case 1:
			pack_rf2(&t->pk, 0x3f, 10);
			break;
		case 2:
			pack_rf2(&t->pk, 3, 50);
			break;
		default:
			pack_rf2(&t->pk, 7, 20);
			pack_rf2(&t->pk, 7, 5);
		}
		pack_ibh(&t->pk, 0, 50 * 3 + 5, 0x300, 2);
		pack_ptc(&t->pk, 4, 0, 1);
		bench_open(t);
		decode(t, 16, true);
		for (i = 0; i < 50; i++)
			assert_memory_equal(t->answer + 8 * i, "100 102 ", 8);
		assert_string_equal(t->answer + 400, "100 102 106 ");
		bench_close(t);
		free(t);
	}
	t = loop();
	pack_rf2(&t->pk, 3, 1 << 18);
	expect(t, "start 5 100\nloss count out of range at 4 pc 100 skipped 6\n");
	t = loop();
	pack_rf2(&t->pk, 3, 0);
	expect(t, "start 5 100\nloss count out of range at 4 pc 100 skipped 3\n");
}

/* More than an encoder can count between two I-CNT: a message has an end. */
static void R108_R70_endless_history(void **state)
{
	struct bench *t = bench_new();
	unsigned int n;

	(void)state;
	org(&t->prog, 0x100);
	for (n = 0; n < 30000; n++)
		c_add(&t->prog);
	beq(&t->prog, t->prog.at + 8);
	ecall(&t->prog);
	j(&t->prog, 0x100);	/* not in reach of the branch */
	pack_ptsync(&t->pk, 5, 0, 0x100);
	pack_rf2(&t->pk, 3, 0x3ffff);
	bench_open(t);
	decode(t, 64, false);
	assert_string_equal(t->answer, "start 5 100\nloss count out of range at 4 pc 100 skipped 5\n");
	bench_close(t);
	free(t);

	/* the second outcome has no branch, in this life */
	t = bench_new();
	org(&t->prog, 0x100);
	beq(&t->prog, 0x200);
	org(&t->prog, 0x200);
	j(&t->prog, 0x200);
	pack_ptsync(&t->pk, 5, 0, 0x100);
	pack_rf(&t->pk, 1, 7);
	bench_open(t);
	decode(t, 64, false);
	assert_string_equal(t->answer, "start 5 100\nloss count out of range at 4 pc 100 skipped 3\n");
	bench_close(t);
	free(t);
}

static void R106_repeat_direct_branch(void **state)
{
	struct bench *t = loop();

	(void)state;
	pack_db(&t->pk, 3);
	pack_repeat(&t->pk, 3);
	pack_ib(&t->pk, 0, 5, 0x300);
	pack_ptc(&t->pk, 4, 0, 0);
	expect(t, loop_5);
	/* nothing to repeat behind a sync message */
	t = loop();
	pack_repeat(&t->pk, 3);
	expect(t, "start 5 100\nloss no branch message to repeat at 4 pc 100 skipped 2\n");
	t = loop();
	pack_db(&t->pk, 3);
	pack_dbsync(&t->pk, 2, 3, 0x100);
	pack_repeat(&t->pk, 3);
	expect(t, "start 5 100\ncond 102 100 n2\ncond 102 100 n2\n"
	       "loss no branch message to repeat at 10 pc 100 skipped 2\n");
}

static void R107_repeat_keeps_the_target(void **state)
{
	struct bench *t = bench_new();

	(void)state;
	t->params.profile = NT_PROFILE_P550;
	org(&t->prog, 0x100);
	jr(&t->prog);
	org(&t->prog, 0x200);
	jr(&t->prog);
	/* to 200, and from there to 200 again, three times in all; then 100 */
	pack_ptsync(&t->pk, 5, 0, 0x100);
	pack_ib(&t->pk, 0, 2, 0x300);
	pack_repeat(&t->pk, 2);
	pack_ib(&t->pk, 0, 2, 0x300);
	pack_ptc(&t->pk, 4, 0, 0);
	expect(t, "start 5 100\nijump 100 200 n1\nijump 200 200 n1\nijump 200 200 n1\n"
	       "ijump 200 100 n1\nstop 4 100\n");
}

static void R112_icnt_full_at_a_taken_branch(void **state)
{
	struct bench *t = loop();

	(void)state;
	pack_rf(&t->pk, 0, 3);
	pack_db(&t->pk, 0);
	pack_ptc(&t->pk, 4, 1, 0);
	expect(t, "start 5 100\ncond 102 100 n2\nstop 4 102 n1\n");
}

static void R141_indirect_branch_in_htm(void **state)
{
	struct bench *t = loop();

	(void)state;
	pack_rf(&t->pk, 1, 0x1e);	/* T T T NT: none left */
	pack_ib(&t->pk, 0, 14, 0x300);
	pack_ptc(&t->pk, 4, 0, 1);
	expect(t, "start 5 100\ncond 102 100 n2\ncond 102 100 n2\ncond 102 100 n2\n"
	       "ijump 106 200 n3\nstop 4 200\n");
}

/* ------------------------------------------------------------ HTM or BTM - */

/*
 * An if/else: from 100 over the branch at 102 to 10a, 3 half-words either way; and a second one,
 * 10a to 116, where the ways are of different length.
 */
static struct bench *if_else(void)
{
	struct bench *t = bench_new();
	struct program *p = &t->prog;

	org(p, 0x100);
	c_add(p);
	beq(p, 0x108);		/* 102 */
	c_j(p, 0x10a);		/* 106: else */
	c_add(p);		/* 108: then */
	jr(p);			/* 10a */
	org(p, 0x200);
	c_add(p);
	beq(p, 0x300);		/* 202 */
	add(p);			/* 206 */
	add(p);			/* 20a */
	jr(p);			/* 20e */
	org(p, 0x300);
	add(p);			/* 300 */
	c_j(p, 0x20a);		/* 304 */
	return t;
}

/*
 * B.7, sync examples, note 2: ProgTraceSync may mark an event in HTM although it has no HIST. What
 * the branches did is then known only where one way alone leads to F-ADDR.
 */
static void R121_mode_is_kept_across_syncs(void **state)
{
	struct bench *t = if_else();

	(void)state;
	/* both ways lead to 10a */
	pack_ptsync(&t->pk, 5, 0, 0x100);
	pack_ibhsync(&t->pk, 2, 0, 1, 0x102, 1);
	pack_ptsync(&t->pk, 6, 3, 0x10a);
	pack_ptc(&t->pk, 4, 0, 1);
	expect(t, "start 5 100\n"
	       "loss conditional branch without branch history at 10 pc 102 skipped 0 n1\n"
	       "start 6 10a\nstop 4 10a\n");
	/* 206 and what is behind it, or 300: F-ADDR tells */
	t = if_else();
	pack_ptsync(&t->pk, 5, 0, 0x200);
	pack_ibhsync(&t->pk, 2, 0, 1, 0x202, 1);
	pack_ptsync(&t->pk, 6, 4, 0x304);
	pack_ibh(&t->pk, 0, 1 + 2 + 2, 0x304 ^ 0x100, 1);
	pack_ptc(&t->pk, 4, 0, 1);
	expect(t, "start 5 200\ncond 202 300 n2\njump 304 20a n2\nijump 20e 100 n2\nstop 4 100\n");
	t = if_else();
	pack_ptsync(&t->pk, 5, 0, 0x200);
	pack_ibhsync(&t->pk, 2, 0, 1, 0x202, 1);
	pack_ptsync(&t->pk, 6, 4, 0x20a);
	pack_ptc(&t->pk, 4, 0, 1);
	expect(t, "start 5 200\nstop 4 20a n3\n");
}

/* A periodic sync message on a conditional branch, of which HIST has no outcome yet */
static void R121_last_outcome_is_missing(void **state)
{
	static const uint64_t to[] = { 0x300, 0x206 };
	unsigned int i, carrier;

	(void)state;
	for (carrier = 0; carrier < 3; carrier++)
	for (i = 0; i < 2; i++) {
		struct bench *t = if_else();
		char want[200];

		pack_ptsync(&t->pk, 5, 0, 0x200);
		if (carrier == 0)
			pack_ptsync(&t->pk, 2, 3, to[i]);
		else if (carrier == 1)
			pack_ibsync(&t->pk, 2, 0, 3, to[i]);
		else
			pack_ibhsync(&t->pk, 2, 0, 3, to[i], 1);
		pack_ibhsync(&t->pk, 6, 0, 2, to[i] + 4, 1);
		pack_ptc(&t->pk, 4, 0, 1);
		snprintf(want, sizeof(want), "start 5 200\n%sstop 4 %" PRIx64 " n%u\n",
			 i ? "" : "cond 202 300 n2\n", to[i] + 4, i ? 3 : 1);
		expect(t, want);
	}
}

/* Nothing tells the mode, and both ways lead to the address: a loss, not a guess. */
static void R121_mode_is_unknown(void **state)
{
	static const char *const want[] = {
		[NT_MODE_UNKNOWN] = "start 5 100\nloss conditional branch without outcome, and no "
			"message tells HTM from BTM at 4 pc 100 skipped 0\nstart 6 10a\nstop 16 10a\n",
		[NT_MODE_BTM] = "start 5 100\njump 106 10a n3\nstop 16 10a\n",
		[NT_MODE_HTM] = "start 5 100\nloss conditional branch without branch history"
			" at 4 pc 100 skipped 0\nstart 6 10a\nstop 16 10a\n",
	};
	unsigned int mode;

	(void)state;
	for (mode = 0; mode < 3; mode++) {
		struct bench *t = if_else();

		t->params.mode = (enum nt_mode)mode;
		pack_ptsync(&t->pk, 5, 0, 0x100);
		pack_ptsync(&t->pk, 6, 4, 0x10a);
		expect(t, want[mode]);
	}
	/* only one way leads there, whatever the mode */
	for (mode = 0; mode < 3; mode++) {
		struct bench *t = if_else();

		t->params.mode = (enum nt_mode)mode;
		pack_ptsync(&t->pk, 5, 0, 0x200);
		pack_ptsync(&t->pk, 6, 5, 0x20a);
		expect(t, "start 5 200\nstop 16 20a n3\n");
	}
	/* an address that no way leads to */
	{
		struct bench *t = if_else();

		pack_ptsync(&t->pk, 5, 0, 0x200);
		pack_ptsync(&t->pk, 6, 5, 0x20c);
		expect(t, "start 5 200\nloss conditional branch without outcome, and no message tells "
		       "HTM from BTM at 4 pc 200 skipped 0\nstart 6 20c\nstop 16 20c\n");
	}
}

/* What tells the mode may come later, also after other messages that don't. */
static void R121_mode_is_told_later(void **state)
{
	unsigned int way, i;

	(void)state;
	for (way = 0; way < 6; way++) {
		bool htm = way & 1;
		struct bench *t = if_else();
		char want[1000];

		pack_ptsync(&t->pk, 5, 0, 0x100);
		pack_ptsync(&t->pk, 6, 4, 0x10a);
		for (i = 0; i < 3 * way; i++)
			pack_ib(&t->pk, 0, 2, 0);
		switch (way) {
		case 0:
			pack_ptc(&t->pk, 4, 0, 0);
			break;
		case 1:
			pack_ptc(&t->pk, 4, 0, 1);
			break;
		case 2:
			pack_ib(&t->pk, 0, 2, 0x10a ^ 0x200);
			pack_db(&t->pk, 3);
			break;
		case 3:
			pack_ib(&t->pk, 0, 2, 0x10a ^ 0x200);
			pack_rf(&t->pk, 1, 3);
			break;
		case 4:
			pack_ib(&t->pk, 0, 2, 0x10a ^ 0x200);
			pack_dbsync(&t->pk, 2, 3, 0x300);
			break;
		case 5:
			pack_ib(&t->pk, 0, 2, 0x10a ^ 0x200);
			pack_ibhsync(&t->pk, 2, 0, 3, 0x300, 3);
			break;
		}
		snprintf(want, sizeof(want), "%s", htm ?
			 "start 5 100\nloss conditional branch without branch history at 4 pc 100"
			 " skipped 0\nstart 6 10a\n" : "start 5 100\njump 106 10a n3\n");
		for (i = 0; i < 3 * way; i++)
			strcat(want, "ijump 10a 10a n1\n");
		if (way >= 2)
			strcat(want, "ijump 10a 200 n1\ncond 202 300 n2\nstop 16 300\n");
		else
			strcat(want, "stop 4 10a\n");
		expect(t, want);
	}
}

/* One message of the other mode does not make the trace one of it. */
static void R121_damage_does_not_tell_the_mode(void **state)
{
	struct bench *t = if_else();

	(void)state;
	pack_ptsync(&t->pk, 5, 0, 0x202);
	pack_db(&t->pk, 2);
	pack_ib(&t->pk, 0, 2 + 1 + 2 + 2, 0x202 ^ 0x100);	/* from 300, to 100 */
	pack_ptsync(&t->pk, 6, 4, 0x10a);
	pack_ibh(&t->pk, 0, 2, 0, 1);
	pack_ibh(&t->pk, 0, 2, 0, 1);
	pack_ptc(&t->pk, 4, 0, 1);
	expect(t, "start 5 202\ncond 202 300 n1\njump 304 20a n2\nijump 20e 100 n2\n"
	       "loss conditional branch without branch history at 10 pc 100 skipped 0\n"
	       "start 6 10a\nijump 10a 10a n1\nijump 10a 10a n1\nstop 4 10a\n");
}

/* The recording told the mode: what contradicts it is no message of that trace. */
static void R121_mode_is_given(void **state)
{
	static const char refused[] = "start 5 202\nloss message of BTM in an HTM trace, or of HTM in"
		" a BTM trace at 4 pc 202 skipped %u\nstart 2 300\nstop 4 300\n";
	unsigned int way;
	char want[200];

	(void)state;
	for (way = 0; way < 4; way++) {
		struct bench *t = if_else();
		size_t at;

		t->params.mode = way ? NT_MODE_BTM : NT_MODE_HTM;
		pack_ptsync(&t->pk, 5, 0, 0x202);
		at = t->pk.len;
		if (way == 0)
			pack_db(&t->pk, 2);
		else if (way == 1)
			pack_rf(&t->pk, 1, 3);
		else if (way == 2)
			pack_ibh(&t->pk, 0, 2, 0, 3);
		else
			pack_ptc(&t->pk, 4, 2, 3);
		snprintf(want, sizeof(want), refused, (unsigned int)(t->pk.len - at));
		pack_ptsync(&t->pk, 2, 0, 0x300);
		pack_ptc(&t->pk, 4, 0, way ? 1 : 2);
		if (!way)
			strcpy(strstr(want, "start 2"),
			       "start 2 300\nloss branch history does not fit"
			       " the code at 10 pc 300 skipped 4\n");
		expect(t, want);
	}
}

/* The mode that one window told counts in the next one. */
static void R121_mode_is_kept_across_windows(void **state)
{
	unsigned int htm;

	(void)state;
	for (htm = 0; htm < 2; htm++) {
		struct bench *t = if_else();

		pack_ptsync(&t->pk, 5, 0, 0x202);
		if (htm)
			pack_ibh(&t->pk, 0, 2 + 2 + 1 + 2 + 2, 0, 3);
		else
			pack_db(&t->pk, 2);
		bench_open(t);
		decode(t, 64, false);
		t->pk.len = 0;
		pack_ptsync(&t->pk, 5, 0, 0x100);
		pack_ptsync(&t->pk, 6, 4, 0x10a);
		decode(t, 64, false);
		assert_string_equal(t->answer, htm ? "start 5 100\nloss conditional branch without"
				    " branch history at 4 pc 100 skipped 0\nstart 6 10a\nstop 16 10a\n" :
				    "start 5 100\njump 106 10a n3\nstop 16 10a\n");
		bench_close(t);
		free(t);
	}
}

/* ------------------------------------------------------------------ traps - */

static struct bench *traps(void)
{
	struct bench *t = bench_new();
	struct program *p = &t->prog;

	org(p, 0x100);
	add(p);
	ecall(p);	/* 104 */
	add(p);
	org(p, 0x200);
	c_add(p);
	mret(p);
	org(p, 0x300);
	mret(p);
	return t;
}

static void R99_R101_traps(void **state)
{
	struct bench *t = traps();

	(void)state;
	pack_ptsync(&t->pk, 5, 0, 0x100);
	pack_ibh(&t->pk, 2, 2, 0x100 ^ 0x200, 1);	/* ECALL at 104 */
	pack_ibh(&t->pk, 3, 0, 0x200 ^ 0x300, 1);	/* interrupt at once */
	pack_ibh(&t->pk, 0, 2, 0x300 ^ 0x200, 1);
	pack_ibh(&t->pk, 1, 1, 0x200 ^ 0x300, 1);	/* some trap at 202 */
	pack_ibh(&t->pk, 0, 2, 0x300 ^ 0x108, 1);
	pack_ptc(&t->pk, 4, 2, 1);
	expect(t, "start 5 100\nexception 104 200 n1\ninterrupt 200 300\neret 300 200 n1\n"
	       "trap 202 300 n1\neret 300 108 n1\nstop 4 10c n1\n");
	/* counting the ECALL itself is an error */
	t = traps();
	pack_ptsync(&t->pk, 5, 0, 0x100);
	pack_ibh(&t->pk, 2, 4, 0x100 ^ 0x200, 1);
	expect(t, "start 5 100\nloss instruction that never retires was counted at 4"
	       " pc 100 skipped 5\n");
}

static void R130_trap_right_after_return(void **state)
{
	struct bench *t = traps();

	(void)state;
	pack_ptsync(&t->pk, 5, 0, 0x200);
	pack_ib(&t->pk, 0, 3, 0x200 ^ 0x100);
	pack_ptsync(&t->pk, 2, 0, 0x100);
	pack_ownership(&t->pk, 0);
	pack_ibsync(&t->pk, 2, 3, 0, 0x300);
	pack_ownership(&t->pk, 0xc);
	pack_ib(&t->pk, 0, 2, 0x300 ^ 0x100);
	pack_ptc(&t->pk, 4, 2, 0);
	expect(t, "start 5 200\neret 202 100 n2\ncontext 0 priv 0 0\ninterrupt 100 300\n"
	       "context 0 priv 3 0\neret 300 100 n1\nstop 4 104 n1\n");
	/* the second one without B-TYPE */
	t = traps();
	pack_ptsync(&t->pk, 5, 0, 0x200);
	pack_ib(&t->pk, 0, 3, 0x200 ^ 0x100);
	pack_ptsync(&t->pk, 2, 0, 0x100);
	pack_ptsync(&t->pk, 2, 0, 0x300);
	pack_ptc(&t->pk, 4, 0, 0);
	expect(t, "start 5 200\neret 202 100 n2\ntrap 100 300\nstop 4 300\n");
}

/* ------------------------------------------------------------ return stack - */

/* main at 100 calls 200, which calls 300, which returns */
static struct bench *calls(unsigned int retstack)
{
	struct bench *t = bench_new();
	struct program *p = &t->prog;

	t->params.retstack = retstack;
	org(p, 0x100);
	call(p, 0x200);
	add(p);		/* 104 */
	jr(p);		/* 108 */
	org(p, 0x200);
	call(p, 0x300);
	ret(p);		/* 204 */
	org(p, 0x300);
	c_add(p);
	ret(p);		/* 302 */
	pack_ptsync(&t->pk, 5, 0, 0x100);
	return t;
}

static const char calls_silent[] =
	"start 5 100\ncall 100 200 n1\ncall 200 300 n1\nret 302 204 inferred n2\n"
	"ret 204 104 inferred n1\nijump 108 100 n2\nstop 4 100\n";

static void R131_silent_returns(void **state)
{
	unsigned int mode;

	(void)state;
	for (mode = 1; mode <= 3; mode++) {
		struct bench *t = calls(mode);

		pack_ibh(&t->pk, 0, 13, 0, 1);
		pack_ptc(&t->pk, 4, 0, 1);
		expect(t, calls_silent);
	}
}

static void R131_explicit_returns_pop_too(void **state)
{
	struct bench *t = calls(3);

	(void)state;
	pack_ib(&t->pk, 0, 7, 0x100 ^ 0x204);
	pack_ib(&t->pk, 0, 6, 0x204 ^ 0x100);
	pack_ptc(&t->pk, 4, 0, 0);
	expect(t, "start 5 100\ncall 100 200 n1\ncall 200 300 n1\nret 302 204 n2\n"
	       "ret 204 104 inferred n1\nijump 108 100 n2\nstop 4 100\n");
	/* without implicit return, a return inside the count is an error */
	t = calls(0);
	pack_ib(&t->pk, 0, 13, 0);
	expect(t, "start 5 100\nloss indirect jump without an address at 4 pc 100 skipped 3\n");
}

static void R131_depth_32(void **state)
{
	struct bench *t = bench_new();
	struct program *p = &t->prog;
	unsigned int depth;

	(void)state;
	for (depth = 32; depth <= 33; depth++) {
		bool fits = depth == 32;

		pack_init(&t->pk);
		t->params.retstack = 3;
		org(p, 0x100);
		beq(p, 0x110);
		call(p, 0x100);
		org(p, 0x108);
		ret(p);
		org(p, 0x110);
		ret(p);
		pack_ptsync(&t->pk, 5, 0, 0x100);
		/* `depth` calls, the innermost branches to 110; all return */
		pack_rf2(&t->pk, 2, depth);
		pack_ibh(&t->pk, 0, depth * 4 + 2 + 2 + depth * 2 - 2 + 2, 0, 3);
		bench_open(t);
		decode(t, 64, false);
		assert_int_equal(!strstr(t->answer, "loss"), fits);
		if (!fits)
			assert_non_null(strstr(t->answer, nt_strerror(NT_ESTACK)));
		bench_close(t);
	}
	free(t);
}

static void R113_R132_sync_empties_the_stack(void **state)
{
	struct bench *t = calls(3);

	(void)state;
	pack_ibhsync(&t->pk, 2, 0, 2, 0x200, 1);	/* after the first call */
	pack_ibh(&t->pk, 0, 11, 0x300, 1);
	expect(t, "start 5 100\ncall 100 200 n1\n"
	       "loss return with an empty return stack at 10 pc 200 skipped 5\n");
	t = calls(3);
	pack_ibhsync(&t->pk, 2, 0, 2, 0x200, 1);
	pack_ibh(&t->pk, 0, 7, 0x304, 1);
	pack_ibh(&t->pk, 0, 4, 4, 1);
	pack_ptc(&t->pk, 4, 0, 1);
	expect(t, "start 5 100\ncall 100 200 n1\ncall 200 300 n1\nret 302 204 inferred n2\n"
	       "ret 204 104 n1\nijump 108 100 n2\nstop 4 100\n");
}

static void R133_trap_after_silent_return(void **state)
{
	struct bench *t = calls(3);

	(void)state;
	pack_ibh(&t->pk, 3, 7, 0x100 ^ 0x200, 1);
	pack_ptc(&t->pk, 4, 0, 1);
	expect(t, "start 5 100\ncall 100 200 n1\ncall 200 300 n1\nret 302 204 inferred n2\n"
	       "interrupt 204 200\nstop 4 200\n");
	/* and a stop there */
	t = calls(3);
	pack_ptc(&t->pk, 4, 7, 1);
	expect(t, "start 5 100\ncall 100 200 n1\ncall 200 300 n1\nret 302 204 inferred n2\n"
	       "stop 4 204\n");
	/* without implicit return the return had to be reported itself */
	t = calls(0);
	pack_ibh(&t->pk, 3, 7, 0x100 ^ 0x200, 1);
	expect(t, "start 5 100\nloss indirect jump without an address at 4 pc 100 skipped 5\n");
}

static void R135_swap_pops_then_pushes(void **state)
{
	struct bench *t = bench_new();
	struct program *p = &t->prog;

	(void)state;
	t->params.retstack = 3;
	org(p, 0x100);
	call(p, 0x200);
	jr(p);			/* 104 */
	org(p, 0x200);
	jalr(p, 5, 1, 0);	/* swap to 104's place; pushes 204 */
	org(p, 0x204);
	c_add(p);
	jr(p);
	org(p, 0x104);
	jalr(p, 0, 5, 0);	/* returns to 204 */
	pack_ptsync(&t->pk, 5, 0, 0x100);
	pack_ibh(&t->pk, 0, 2 + 2 + 2 + 3, 0, 1);
	pack_ptc(&t->pk, 4, 0, 1);
	expect(t, "start 5 100\ncall 100 200 n1\nswap 200 104 inferred n1\n"
	       "ret 104 204 inferred n1\nijump 206 100 n2\nstop 4 100\n");
}

static void R136_sequential_jumps(void **state)
{
	struct bench *t = bench_new();
	struct program *p = &t->prog;

	(void)state;
	t->params.seqjump = true;
	org(p, 0x100);
	auipc(p, 6, 0);
	jalr(p, 0, 6, 0x100);	/* to 200 */
	org(p, 0x200);
	lui(p, 7, 0);
	jalr(p, 1, 7, 0x300);	/* to 300, a call */
	org(p, 0x300);
	lui(p, 7, 0);
	add(p);			/* a gap */
	jalr(p, 0, 7, 0x100);
	pack_ptsync(&t->pk, 5, 0, 0x100);
	pack_ibh(&t->pk, 0, 4 + 4 + 6, 0, 1);
	/* the jump alone, entered from elsewhere, is an ordinary one */
	pack_ibh(&t->pk, 3, 2, 0x100 ^ 0x200, 1);
	pack_ibh(&t->pk, 3, 0, 0x200 ^ 0x104, 1);
	pack_ibh(&t->pk, 0, 2, 0x104 ^ 0x300, 1);
	pack_ptc(&t->pk, 4, 0, 1);
	expect(t, "start 5 100\nijump 104 200 inferred n2\nicall 204 300 inferred n2\n"
	       "ijump 308 100 n3\ninterrupt 104 200 n1\ninterrupt 200 104\n"
	       "ijump 104 300 n1\nstop 4 300\n");
}

/* A block holds 64 half-words: LUI and the jump behind it may not be in two of them. */
static void R136_sequential_jump_at_the_end_of_a_block(void **state)
{
	unsigned int before, i;

	(void)state;
	for (before = 56; before <= 66; before++) {
		struct bench *t = bench_new();
		struct program *p = &t->prog;
		char want[100];

		t->params.seqjump = true;
		org(p, 0x100);
		for (i = 0; i < before; i++)
			c_add(p);
		lui(p, 7, 0);
		jalr(p, 0, 7, 0x300);
		org(p, 0x300);
		add(p);
		pack_ptsync(&t->pk, 5, 0, 0x100);
		pack_ptc(&t->pk, 4, before + 4 + 2, 1);
		snprintf(want, sizeof(want), "start 5 100\nijump %x 300 inferred n%u\nstop 4 304 n1\n",
			 0x100 + 2 * before + 4, before + 2);
		expect(t, want);
	}
}

/* Where a sequential jump leads is known: another address does not follow. */
static void R136_address_behind_a_sequential_jump(void **state)
{
	unsigned int way;

	(void)state;
	for (way = 0; way < 6; way++) {
		uint64_t to = way & 1 ? 0x300 : 0x200;
		struct bench *t = bench_new();
		struct program *p = &t->prog;

		t->params.seqjump = true;
		org(p, 0x100);
		auipc(p, 6, 0);
		jalr(p, 0, 6, 0x100);	/* to 200 */
		org(p, 0x200);
		add(p);
		org(p, 0x300);
		add(p);
		pack_ptsync(&t->pk, 5, 0, 0x100);
		if (way < 2)
			pack_ib(&t->pk, 0, 4, 0x100 ^ to);
		else if (way < 4)
			pack_ptsync(&t->pk, 2, 4, to);
		else
			pack_ibhsync(&t->pk, 2, 0, 4, to, 1);
		pack_ptc(&t->pk, 4, 2, 1);
		if (!(way & 1))
			expect(t, "start 5 100\nijump 104 200 n2\nstop 4 204 n1\n");
		else if (way == 1)
			expect(t, "start 5 100\nloss address does not follow from the code at 4"
			       " pc 100 skipped 8\n");
		else
			expect(t, "start 5 100\nloss address does not follow from the code at 4"
			       " pc 100 skipped 0\nstart 2 300\nstop 4 304 n1\n");
	}
}

static void R137_all_jumps(void **state)
{
	struct bench *t = calls(3);

	(void)state;
	t->params.alljumps = true;
	pack_ibh(&t->pk, 0, 13, 0, 7);
	pack_ptc(&t->pk, 4, 0, 1);
	expect(t, calls_silent);
	/* HIST 0 for a jump */
	t = calls(3);
	t->params.alljumps = true;
	pack_ibh(&t->pk, 0, 13, 0, 6);
	expect(t, "start 5 100\nloss branch history does not fit the code at 4 pc 100 skipped 4\n");
	/* BTM: a DirectBranch each */
	t = calls(3);
	t->params.alljumps = true;
	pack_db(&t->pk, 2);
	pack_db(&t->pk, 2);
	pack_ib(&t->pk, 0, 9, 0);
	pack_ptc(&t->pk, 4, 0, 0);
	expect(t, calls_silent);
	/* trace ends behind a jump that was not reported yet */
	t = calls(3);
	t->params.alljumps = true;
	pack_db(&t->pk, 2);
	pack_ptc(&t->pk, 4, 2, 0);
	expect(t, "start 5 100\ncall 100 200 n1\nstop 4 204 n1\n");
	t = calls(3);
	t->params.alljumps = true;
	pack_db(&t->pk, 4);
	expect(t, "start 5 100\nloss conditional branch without branch history at 4 pc 100 skipped 2\n");
}

static void R143_custom_instructions(void **state)
{
	struct bench *t = bench_new();

	(void)state;
	org(&t->prog, 0x100);
	custom(&t->prog);
	custom(&t->prog);
	add(&t->prog);
	pack_ptsync(&t->pk, 5, 0, 0x100);
	pack_ib(&t->pk, 0, 4, 0x100 ^ 0x100);
	pack_ptc(&t->pk, 4, 6, 0);
	expect(t, "start 5 100\nijump 104 100 n2\nstop 4 10c n3\n");
}

/* ------------------------------------------------------------------- sync - */

static struct bench *branch_to_the_next(enum nt_mode mode, bool jump)
{
	struct bench *t = bench_new();

	t->params.mode = mode;
	t->params.alljumps = jump;
	org(&t->prog, 0x100);
	if (jump)
		j(&t->prog, 0x104);
	else
		beq(&t->prog, 0x104);
	add(&t->prog);
	pack_ptsync(&t->pk, 5, 0, 0x100);
	return t;
}

/* Taken or not, a sync message is at the same address: its kind, or an outcome, tells. */
static void R102_sync_at_a_branch_to_the_next(void **state)
{
	static const char taken[] = "start 5 100\ncond 100 104 n1\nstop 4 108 n1\n";
	static const char jump[] = "start 5 100\njump 100 104 n1\nstop 4 108 n1\n";
	static const char not[] = "start 5 100\nstop 4 108 n2\n";
	struct bench *t;
	unsigned int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		t = branch_to_the_next(NT_MODE_BTM, false);
		(i ? pack_dbsync : pack_ptsync)(&t->pk, 2, 2, 0x104);
		pack_ptc(&t->pk, 4, 2, 0);
		expect(t, i ? taken : not);

		t = branch_to_the_next(NT_MODE_BTM, false);
		if (i)
			pack_db(&t->pk, 2);
		pack_ptc(&t->pk, 4, i ? 2 : 4, 0);
		expect(t, i ? taken : not);

		t = branch_to_the_next(NT_MODE_HTM, false);
		pack_ibhsync(&t->pk, 2, 0, 2, 0x104, i ? 3 : 2);
		pack_ptc(&t->pk, 4, 2, 1);
		expect(t, i ? taken : not);

		/* a jump has one way only */
		t = branch_to_the_next(NT_MODE_BTM, true);
		(i ? pack_dbsync : pack_ptsync)(&t->pk, 2, 2, 0x104);
		pack_ptc(&t->pk, 4, 2, 0);
		expect(t, jump);
	}
	/* elsewhere ProgTraceSync tells enough */
	t = example_6();
	t->params.mode = NT_MODE_BTM;
	pack_ptsync(&t->pk, 2, 3, 0x200);
	pack_ptc(&t->pk, 4, 1, 0);
	expect(t, "start 1 100\ncond 102 200 n2\nstop 4 202 n1\n");
}

static void R105_sync_4_with_history(void **state)
{
	struct bench *t = loop();

	(void)state;
	pack_ibhsync(&t->pk, 4, 0, 6, 0x100, 7);
	pack_ibh(&t->pk, 0, 11, 0x300, 0xe);
	pack_ptc(&t->pk, 4, 0, 1);
	expect(t, loop_5);
}

static void R115_nothing_before_the_first_sync(void **state)
{
	struct bench *t = loop();

	(void)state;
	t->pk.len = 0;
	pack_db(&t->pk, 3);
	pack_ownership(&t->pk, 0xc);
	pack_rf(&t->pk, 1, 7);
	pack_ptsync(&t->pk, 2, 0, 0x100);
	pack_db(&t->pk, 3);
	pack_ptc(&t->pk, 4, 0, 0);
	expect(t, "loss no sync message yet at 0 skipped 7\nstart 2 100\ncond 102 100 n2\n"
	       "stop 4 100\n");
}

static void R116_linear_syncs(void **state)
{
	struct bench *t = loop();

	(void)state;
	pack_dbsync(&t->pk, 2, 1, 0x102);		/* behind c.add */
	pack_ibsync(&t->pk, 6, 0, 2, 0x106);		/* branch not taken */
	pack_ptsync(&t->pk, 0, 0, 0x106);
	pack_ib(&t->pk, 0, 2, 0x106 ^ 0x100);
	pack_dbsync(&t->pk, 2, 3, 0x100);		/* branch taken */
	pack_ibsync(&t->pk, 2, 0, 3, 0x100);
	pack_ibhsync(&t->pk, 2, 0, 5, 0x200, 2);	/* at a jump */
	pack_ptc(&t->pk, 4, 0, 1);
	expect(t, "start 5 100\nijump 106 100 n3\ncond 102 100 n2\ncond 102 100 n2\n"
	       "ijump 106 200 n3\nstop 4 200\n");
	/* an address that does not follow: what was counted is given up */
	t = loop();
	pack_ibsync(&t->pk, 2, 0, 1, 0x200);
	pack_ptc(&t->pk, 4, 1, 0);
	expect(t, "start 5 100\nloss address does not follow from the code at 4 pc 100 skipped 0\n"
	       "start 2 200\nstop 4 202 n1\n");
}

static void R113_every_sync_reason(void **state)
{
	unsigned int reason;

	(void)state;
	for (reason = 0; reason < 16; reason++) {
		struct bench *t = calls(3);
		bool restarts = reason == 1 || reason == 3 || reason == 5 || reason == 9;
		char want[500];

		pack_rf(&t->pk, 0, 1);
		pack_ptsync(&t->pk, reason, 1, 0x200);	/* behind the call */
		pack_ibh(&t->pk, 0, 2 + 3 + 2, 0x200 ^ 0x104, 1);
		pack_ptc(&t->pk, 4, 0, 1);
		snprintf(want, sizeof(want),
			 "start 5 100\ncall 100 200 n1\n%scall 200 300 n1\n"
			 "ret 302 204 inferred n2\nret 204 104 n1\nstop 4 104\n",
			 restarts ? "stop 16 200\nstart @ 200 join\n" : "");
		if (restarts)
			*strchr(want, '@') = '0' + reason;
		if (reason == 7)
			snprintf(want, sizeof(want),
				 "start 5 100\nloss encoder lost messages at 6 pc 100 skipped 0\n"
				 "start 7 200\ncall 200 300 n1\nret 302 204 inferred n2\n"
				 "ret 204 104 n1\nstop 4 104\n");
		expect(t, want);
	}
}

/* Marks are reported to who asks for them, behind the transfer that the message reports. */
static void R113_sync_messages_are_reported(void **state)
{
	unsigned int reason;

	(void)state;
	for (reason = 0; reason < 16; reason++) {
		bool restarts = reason == 1 || reason == 3 || reason == 5 || reason == 9;
		struct bench *t = loop();
		char want[500];

		t->syncs = 1u << reason;
		pack_ibhsync(&t->pk, reason, 0, 1, 0x102, 1);	/* behind c.add */
		pack_ibhsync(&t->pk, reason, 0, 2, 0x100, 3);	/* branch taken */
		pack_ibhsync(&t->pk, reason ^ 1, 0, 3, 0x100, 3);
		pack_ibhsync(&t->pk, reason, 3, 3, 0x200, 2);	/* and an interrupt */
		pack_ptc(&t->pk, 4, 0, 1);
		snprintf(want, sizeof(want), "start 5 100\nsync %u 102 n1\ncond 102 100 n1\n"
			 "sync %u 100\ncond 102 100 n2\ninterrupt 106 200 n2\nsync %u 200\n"
			 "stop 4 200\n", reason, reason, reason);
		/* START tells the reason; of 7 is a loss */
		if (restarts || (reason ^ 1) == 1 || (reason ^ 1) == 3 || (reason ^ 1) == 5 ||
		    (reason ^ 1) == 9 || reason == 7 || reason == 6)
			t->pk.len = 0;
		if (!t->pk.len) {
			pack_ptsync(&t->pk, reason, 0, 0x100);
			pack_ibhsync(&t->pk, reason, 0, 1, 0x102, 1);
			pack_ptc(&t->pk, 4, 0, 1);
			snprintf(want, sizeof(want), restarts ?
				 "start %u 100\nstop 16 102 n1\nstart %u 102 join\nstop 4 102\n" :
				 reason == 7 ? "start %u 100\nloss encoder lost messages at 4 pc 100"
				 " skipped 0\nstart %u 102\nstop 4 102\n" :
				 "start %u 100\nsync %u 102 n1\nstop 4 102\n", reason, reason);
		}
		expect(t, want);
	}
}

static void R120_overflow(void **state)
{
	struct bench *t = loop();

	(void)state;
	pack_db(&t->pk, 3);
	pack_error(&t->pk, 0, 4);
	pack_ptsync(&t->pk, 7, 0, 0x200);
	pack_ptc(&t->pk, 4, 1, 0);
	expect(t, "start 5 100\ncond 102 100 n2\nloss encoder lost messages at 6 pc 100 skipped 3\n"
	       "start 7 200\nstop 4 202 n1\n");
	/* as the last message */
	t = loop();
	pack_db(&t->pk, 3);
	pack_error(&t->pk, 0, 0);
	expect(t, "start 5 100\ncond 102 100 n2\nloss encoder lost messages at 6 pc 100 skipped 2\n");
}

static void R122_stop_before_any_sync(void **state)
{
	struct bench *t = loop();

	(void)state;
	t->pk.len = 0;
	pack_ptc(&t->pk, 4, 0, 1);
	pack_ptc(&t->pk, 0, 0, 0);
	pack_ptsync(&t->pk, 5, 0, 0x100);
	pack_ptc(&t->pk, 0, 1, 1);
	pack_ptc(&t->pk, 4, 0, 1);
	expect(t, "start 5 100\nstop 0 102 n1\n");
}

static void R123_no_periodic_sync(void **state)
{
	struct bench *t = loop();
	int i;

	(void)state;
	for (i = 0; i < 5000; i++)
		pack_db(&t->pk, 3);
	pack_ptc(&t->pk, 4, 0, 0);
	bench_open(t);
	t->used = 0;
	{
		struct nt_event ev[100];
		unsigned int branches = 0;
		int n;

		nt_flow_window(t->flow, t->pk.buf, t->pk.len, 0);
		while ((n = nt_flow_next(t->flow, ev, 100)) > 0)
			for (i = 0; i < n; i++) {
				assert_int_not_equal(ev[i].kind, NT_EV_LOSS);
				branches += ev[i].kind == NT_EV_BRANCH;
			}
		assert_int_equal(branches, 5000);
	}
	bench_close(t);
	free(t);
}

static void window_ends_without_stop(void **state)
{
	struct bench *t = loop();

	(void)state;
	pack_db(&t->pk, 3);
	pack_ptsync(&t->pk, 2, 1, 0x102);
	memset(t->pk.buf + t->pk.len, 0xff, 10);
	t->pk.len += 10;
	expect(t, "start 5 100\ncond 102 100 n2\nstop 16 102 n1\n");
	/* and in the middle of a message */
	t = loop();
	pack_db(&t->pk, 3);
	pack_ib(&t->pk, 0, 5, 0x300);
	t->pk.len--;
	expect(t, "start 5 100\ncond 102 100 n2\n"
	       "loss message cut by the end of the buffer at 6 pc 100 skipped 3\n");
}

static void R94_unclaimed_credit(void **state)
{
	struct bench *t = calls(3);

	(void)state;
	/* all that was counted did retire; how far is certain */
	pack_rf(&t->pk, 0, 7);
	pack_rf(&t->pk, 0, 4);
	expect(t, "start 5 100\ncall 100 200 n1\ncall 200 300 n1\nret 302 204 inferred n2\n"
	       "ret 204 104 inferred n1\nstop 16 108 n1\n");
	t = calls(3);
	pack_rf(&t->pk, 0, 6 + 10000);
	pack_error(&t->pk, 0, 4);
	expect(t, "start 5 100\ncall 100 200 n1\ncall 200 300 n1\nret 302 204 inferred n2\n"
	       "ret 204 104 inferred n1\n"
	       "loss encoder lost messages at 8 pc 108 skipped 3 n1\n");
	/*
	 * in BTM branches before the last instruction were not taken; of the last one nobody
	 * knows
	 */
	t = loop();
	pack_db(&t->pk, 3);
	pack_rf(&t->pk, 0, 3);
	pack_error(&t->pk, 0, 0);
	expect(t, "start 5 100\ncond 102 100 n2\n"
	       "loss encoder lost messages at 8 pc 102 skipped 2 n1\n");
	t = loop();
	pack_db(&t->pk, 3);
	pack_rf(&t->pk, 0, 5);
	pack_error(&t->pk, 0, 0);
	expect(t, "start 5 100\ncond 102 100 n2\n"
	       "loss encoder lost messages at 9 pc 10a skipped 2 n3\n");
	t = loop();
	pack_rf(&t->pk, 0, 3);
	pack_ptsync(&t->pk, 5, 0, 0x200);
	pack_ptc(&t->pk, 4, 0, 0);
	expect(t, "start 5 100\nstop 16 102 n1\nstart 5 200\nstop 4 200\n");
	/* a branch without outcome ends certainty */
	t = loop();
	pack_rf(&t->pk, 1, 3);
	pack_rf(&t->pk, 0, 8);
	pack_db(&t->pk, 1);
	t->pk.len--;
	expect(t, "start 5 100\ncond 102 100 n2\n"
	       "loss message cut by the end of the buffer at 9 pc 102 skipped 1 n1\n");
}

/* Over a jump, by the count of a ResourceFull message */
static struct bench *credit_over_a_jump(void)
{
	struct bench *t = bench_new();

	t->params.mode = NT_MODE_BTM;
	org(&t->prog, 0x100);
	j(&t->prog, 0x200);
	org(&t->prog, 0x200);
	add(&t->prog);
	pack_ptsync(&t->pk, 5, 0, 0x100);
	pack_rf(&t->pk, 0, 4);
	return t;
}

static void expect_no_sync(struct bench *t, enum nt_error lost)
{
	unsigned int i, branches = 0, losses = 0;
	struct nt_event ev[64];
	int n;

	bench_open(t);
	nt_flow_window(t->flow, t->pk.buf, t->pk.len, 0);
	while ((n = nt_flow_next(t->flow, ev, 64)) > 0)
		for (i = 0; i < (unsigned int)n; i++) {
			losses += ev[i].kind == NT_EV_LOSS && ev[i].reason == lost;
			if (ev[i].kind != NT_EV_BRANCH)
				continue;
			branches++;
			assert_int_equal(ev[i].reason, 0);
			assert_false(ev[i].flags & NT_EVF_SYNC);
		}
	assert_int_equal(branches, 1);
	assert_int_equal(losses, 1);
	bench_close(t);
	free(t);
}

/* What is walked because its message does not come is not of the one that does. */
static void R94_unclaimed_credit_is_of_no_sync_message(void **state)
{
	struct bench *t = credit_over_a_jump();

	(void)state;
	pack_ptsync(&t->pk, 2, 0, 0x100);
	t->pk.len--;
	expect_no_sync(t, NT_ECUT);

	t = credit_over_a_jump();
	pack_ptsync(&t->pk, 2, 0, 0x100);
	t->pk.buf[t->pk.len - 1] ^= 1;		/* a reserved MSEO */
	expect_no_sync(t, NT_EMSEO);

	/* intact, and refused */
	t = credit_over_a_jump();
	pack_ptsync(&t->pk, 2, 1ull << 40, 0x100);
	expect_no_sync(t, NT_ERANGE);
	t = credit_over_a_jump();
	pack_ibhsync(&t->pk, 2, 0, 2, 0x100, 1);
	expect_no_sync(t, NT_EMODE);
}

static void joins(void **state)
{
	struct bench *t = traps();

	(void)state;
	/* left at 104, an ECALL: 104 and 108 follow, 10c does not */
	pack_ptsync(&t->pk, 5, 0, 0x100);
	pack_ptc(&t->pk, 4, 2, 1);
	pack_ptsync(&t->pk, 5, 0, 0x108);
	pack_ptc(&t->pk, 4, 0, 1);
	pack_ptsync(&t->pk, 5, 0, 0x108);
	pack_ptc(&t->pk, 4, 0, 1);
	pack_ptsync(&t->pk, 5, 0, 0x10c);
	pack_ptc(&t->pk, 4, 0, 1);
	expect(t, "start 5 100\nstop 4 104 n1\nstart 5 108 join\nstop 4 108\n"
	       "start 5 108 join\nstop 4 108\nstart 5 10c\nstop 4 10c\n");
}

static void joins_over_windows(void **state)
{
	struct bench *t = traps();
	struct nt_event ev[16];

	(void)state;
	pack_ptsync(&t->pk, 5, 0, 0x100);
	pack_ptc(&t->pk, 4, 2, 1);
	bench_open(t);
	nt_flow_window(t->flow, t->pk.buf, t->pk.len, 0);
	assert_int_equal(nt_flow_next(t->flow, ev, 16), 2);
	assert_int_equal(nt_flow_next(t->flow, ev, 16), 0);
	t->pk.len = 0;
	pack_ptsync(&t->pk, 5, 0, 0x104);
	pack_ptc(&t->pk, 4, 0, 1);
	nt_flow_window(t->flow, t->pk.buf, t->pk.len, 1000);
	assert_int_equal(nt_flow_next(t->flow, ev, 16), 2);
	assert_int_equal(ev[0].kind, NT_EV_START);
	assert_true(ev[0].flags & NT_EVF_JOIN);
	assert_int_equal(ev[0].offset, 1000);
	bench_close(t);
	free(t);
}

/* --------------------------------------------- timestamps, context, source - */

static void R124_timestamps(void **state)
{
	struct bench *t = loop();

	(void)state;
	t->params.timestamps = true;
	t->pk.len = 0;
	t->pk.timestamp = 1000;
	pack_ptsync(&t->pk, 5, 0, 0x100);
	t->pk.timestamp = 5;
	pack_db(&t->pk, 3);
	t->pk.timestamp = -1;
	pack_db(&t->pk, 3);
	t->pk.timestamp = 0;
	pack_db(&t->pk, 3);
	t->pk.timestamp = 900;
	pack_dbsync(&t->pk, 2, 3, 0x100);
	t->pk.timestamp = 1;
	pack_ptc(&t->pk, 4, 0, 0);
	expect(t, "start 5 100 t1000\ncond 102 100 n2 t1005\ncond 102 100 n2 t1005\n"
	       "cond 102 100 n2 t1005\ncond 102 100 n2 t900\nstop 4 100 t901\n");
}

/* What a TSTAMP of `bits' bits says: `stamp' behind a time, in a sync message */
static uint64_t time_behind(unsigned int bits, enum nt_profile profile, uint64_t first,
			    uint64_t stamp, bool windows)
{
	struct bench *t = loop();
	struct nt_event ev[64];
	uint64_t time;
	int n;

	t->params.timestamps = true;
	t->params.tstamp_bits = bits;
	t->params.profile = profile;
	t->pk.len = 0;
	t->pk.timestamp = (int)first;
	pack_ptsync(&t->pk, 5, 0, 0x100);
	t->pk.timestamp = (int)stamp;
	bench_open(t);
	if (windows) {
		nt_flow_window(t->flow, t->pk.buf, t->pk.len, 0);
		n = nt_flow_next(t->flow, ev, 64);
		assert_int_equal(n, 2);
		assert_true(ev[0].time == first);
		t->pk.len = 0;
		pack_ptsync(&t->pk, 5, 0, 0x100);
		nt_flow_window(t->flow, t->pk.buf, t->pk.len, 0);
		n = nt_flow_next(t->flow, ev, 64);
		assert_int_equal(n, 2);
		time = ev[0].time;
	} else {
		pack_ptsync(&t->pk, 2, 0, 0x100);
		pack_ptc(&t->pk, 4, 0, 0);
		nt_flow_window(t->flow, t->pk.buf, t->pk.len, 0);
		n = nt_flow_next(t->flow, ev, 64);
		assert_int_equal(n, 2);
		assert_true(ev[0].time == first);
		time = ev[n - 1].time;
		if (profile == NT_PROFILE_1_0)
			time -= stamp;
	}
	bench_close(t);
	free(t);
	return time;
}

/* A clock that wraps: time rises; it may go back by an eighth of the clock's range */
static void R124_clock_that_wraps(void **state)
{
	unsigned int windows;

	(void)state;
	for (windows = 0; windows < 2; windows++) {
		const enum nt_profile now = NT_PROFILE_1_0;

		/* 16 bits */
		assert_int_equal(time_behind(16, now, 0xfffe, 3, windows), 0x10003);
		assert_int_equal(time_behind(16, now, 0x9000, 0x8fff, windows), 0x8fff);
		assert_int_equal(time_behind(16, now, 0x9000, 0x7000, windows), 0x7000);
		assert_int_equal(time_behind(16, now, 0x9000, 0x6fff, windows), 0x16fff);
		assert_int_equal(time_behind(16, now, 0x10, 0xfff0, windows), 0xfff0);
		/* what is wider than the clock */
		assert_int_equal(time_behind(8, now, 0xfe, 0x4503, windows), 0x103);
		/* all 64, as they are */
		assert_int_equal(time_behind(0, now, 0xfffe, 3, windows), 3);
		assert_int_equal(time_behind(64, now, 0xfffe, 3, windows), 3);
	}
	/* of the other profiles, with XORed times between */
	for (windows = 0; windows < 2; windows++)
		assert_int_equal(time_behind(16, NT_PROFILE_P550, 0xfffe, 3, windows),
				 windows ? 0x10003 : 0x10000);
}

/* A loop, and a clock of 16 bits: `first` at its start, `ticks` more after one round */
static struct bench *timed_loop(int first, int ticks)
{
	struct bench *t = loop();

	t->params.timestamps = true;
	t->params.tstamp_bits = 16;
	t->pk.len = 0;
	t->pk.timestamp = first;
	pack_ptsync(&t->pk, 5, 0, 0x100);
	t->pk.timestamp = ticks;
	pack_db(&t->pk, 3);
	return t;
}

/* The difference leads across the end, and the next sync message counts from there. */
static void R124_wrap_between_sync_messages(void **state)
{
	struct bench *t = timed_loop(0xfff0, 0x20);

	(void)state;
	t->pk.timestamp = 0x18;
	pack_dbsync(&t->pk, 2, 3, 0x100);
	t->pk.timestamp = 0x7fff;
	pack_dbsync(&t->pk, 2, 3, 0x100);
	t->pk.timestamp = 2;
	pack_ptc(&t->pk, 4, 0, 0);
	expect(t, "start 5 100 t65520\ncond 102 100 n2 t65552\ncond 102 100 n2 t65560\n"
	       "cond 102 100 n2 t98303\nstop 4 100 t98305\n");
}

/* Someone who knows how often the clock wrapped before says so, for each window. */
static void R124_time_from(void **state)
{
	static const struct { uint64_t from, time; } windows[] = {
		{ 0x7000, 0x8000 },
		{ 0x98001, 0xa8000 },		/* a pause of ten ranges */
		{ 0x98000, 0x98000 },		/* the same window once more, a range earlier */
		{ 0, 0x8000 },
	};
	struct bench *t = timed_loop(0x8000, 0x10);
	struct nt_event ev[64];
	unsigned int i;

	(void)state;
	bench_open(t);
	for (i = 0; i < sizeof(windows) / sizeof(windows[0]); i++) {
		nt_flow_window(t->flow, t->pk.buf, t->pk.len, 0);
		nt_flow_time_from(t->flow, windows[i].from);
		assert_true(nt_flow_next(t->flow, ev, 64) >= 2);
		assert_true(ev[0].time == windows[i].time);
		assert_true(ev[1].time == windows[i].time + 0x10);
	}
	/* In a stream that goes on, time does too: the next sync is behind the pause. */
	nt_flow_open_end(t->flow, true);
	nt_flow_window(t->flow, t->pk.buf, t->pk.len, 0);
	assert_true(nt_flow_next(t->flow, ev, 64) >= 2);
	nt_flow_more(t->flow, t->pk.buf, t->pk.len, 0);
	nt_flow_time_from(t->flow, 0x98001);
	assert_true(nt_flow_next(t->flow, ev, 64) >= 1);
	assert_true(ev[0].time == 0xa8000 || ev[1].time == 0xa8000);
	bench_close(t);
	free(t);
}

/* Timestamps were promised, and the trace has none. */
static void R125_sync_without_timestamp(void **state)
{
	struct bench *t = loop();

	(void)state;
	t->params.timestamps = true;
	pack_dbsync(&t->pk, 2, 3, 0x100);
	t->pk.timestamp = 900;
	pack_dbsync(&t->pk, 2, 3, 0x100);
	t->pk.timestamp = -1;
	pack_dbsync(&t->pk, 2, 3, 0x100);
	pack_ptc(&t->pk, 4, 0, 0);
	expect(t, "notice sync message without timestamp\nstart 5 100\ncond 102 100 n2\n"
	       "cond 102 100 n2 t900\ncond 102 100 n2 t900\nstop 4 100 t900\n");
}

static void limit_holds_back(void **state)
{
	struct bench *t = loop();
	struct nt_event ev[64];
	size_t at;

	(void)state;
	t->params.timestamps = true;
	t->pk.len = 0;
	t->pk.timestamp = 1000;
	pack_ptsync(&t->pk, 5, 0, 0x100);
	t->pk.timestamp = 5;
	pack_db(&t->pk, 3);
	at = t->pk.len;
	pack_db(&t->pk, 3);
	bench_open(t);
	nt_flow_window(t->flow, t->pk.buf, t->pk.len, 0);
	nt_flow_limit(t->flow, 999);
	assert_int_equal(nt_flow_next(t->flow, ev, 64), 0);
	assert_true(nt_flow_at_limit(t->flow));
	nt_flow_limit(t->flow, 1009);
	assert_int_equal(nt_flow_next(t->flow, ev, 64), 2);
	assert_int_equal(ev[1].time, 1005);
	assert_int_equal(nt_flow_next(t->flow, ev, 64), 0);
	assert_true(nt_flow_at_limit(t->flow));
	assert_int_equal(nt_flow_consumed(t->flow), at);
	nt_flow_limit(t->flow, UINT64_MAX);
	assert_int_equal(nt_flow_next(t->flow, ev, 64), 2);
	assert_int_equal(ev[0].time, 1010);
	assert_false(nt_flow_at_limit(t->flow));
	bench_close(t);
	free(t);
}

static void R127_R128_context(void **state)
{
	struct bench *t = loop();
	struct nt_event ev[64];

	(void)state;
	pack_ownership(&t->pk, 0x3b2);
	pack_ownership(&t->pk, 5u << 5 | 1 << 2 | 3);
	pack_ownership(&t->pk, 1);
	pack_db(&t->pk, 3);
	pack_ptc(&t->pk, 4, 0, 0);
	bench_open(t);
	nt_flow_window(t->flow, t->pk.buf, t->pk.len, 0);
	/* a batch ends behind each, so that other code can be set */
	assert_int_equal(nt_flow_next(t->flow, ev, 64), 2);
	assert_int_equal(nt_flow_next(t->flow, ev, 64), 1);
	assert_int_equal(nt_flow_next(t->flow, ev, 64), 3);
	bench_close(t);
	expect(t, "start 5 100\ncontext 2 priv 0v 1d\ncontext 3 priv 1 5\n"
	       "notice reserved value in a field\ncond 102 100 n2\nstop 4 100\n");
}

static void R126_R142_sources_are_apart(void **state)
{
	struct bench *t = loop();
	struct pack *k = &t->pk;
	unsigned int src;

	(void)state;
	t->params.srcbits = k->srcbits = 2;
	t->params.timestamps = true;
	k->len = 0;
	/* two sources, message by message in turn */
	k->timestamp = 10;
	for (src = 1; src <= 2; src++) {
		k->src = src;
		k->timestamp = 10 * src;
		pack_ptsync(k, 5, 0, src == 1 ? 0x100 : 0x106);
	}
	k->timestamp = 1;
	k->src = 1;
	pack_db(k, 3);
	k->src = 2;
	pack_ib(k, 0, 2, 0x106 ^ 0x106);
	k->src = 1;
	pack_repeat(k, 2);
	k->src = 2;
	pack_repeat(k, 1);
	for (src = 1; src <= 2; src++) {
		k->src = src;
		pack_ptc(k, 4, 0, 0);
	}
	t->params.src = 1;
	bench_open(t);
	decode(t, 64, false);
	assert_string_equal(t->answer, "start 5 100 t10\ncond 102 100 n2 t11\n"
			    "cond 102 100 n2 t12\ncond 102 100 n2 t12\nstop 4 100 t13\n");
	bench_close(t);
	t->params.src = 2;
	expect(t, "start 5 106 t20\nijump 106 106 n1 t21\nijump 106 106 n1 t22\nstop 4 106 t23\n");
}

/* Calls in each other, and their returns, of which only the last is reported */
static void nested_calls(struct bench *t, unsigned int depth)
{
	struct program *p = &t->prog;

	org(p, 0x100);
	beq(p, 0x110);
	call(p, 0x100);
	org(p, 0x108);
	ret(p);
	org(p, 0x110);
	ret(p);
	pack_ptsync(&t->pk, 5, 0, 0x100);
	pack_rf(&t->pk, 8, depth);
	pack_rf(&t->pk, 9, 1);
	pack_ib(&t->pk, 0, depth * 4 + 2 + 2 + depth * 2, 0);
	pack_ptc(&t->pk, 4, 0, 0);
}

/* The P550 counts calls up to 1023, so that as many returns may be silent. */
static void p550_return_counter(void **state)
{
	static const unsigned int depths[] = { 33, 1023 };
	unsigned int i, k;
	int n;

	(void)state;
	for (i = 0; i < 2; i++) {
		unsigned int rets = 0, told = 0;
		struct bench *t = bench_new();
		struct nt_event ev[64];

		t->params.profile = NT_PROFILE_P550;
		nested_calls(t, depths[i]);
		bench_open(t);
		nt_flow_window(t->flow, t->pk.buf, t->pk.len, 0);
		while ((n = nt_flow_next(t->flow, ev, 64)) > 0)
			for (k = 0; k < (unsigned int)n; k++) {
				assert_int_not_equal(ev[k].kind, NT_EV_LOSS);
				if (ev[k].kind != NT_EV_BRANCH || ev[k].type != NT_TYPE_RET)
					continue;
				rets++;
				told += !(ev[k].flags & NT_EVF_INFERRED);
			}
		assert_int_equal(rets, depths[i] + 1);
		assert_int_equal(told, 1);
		bench_close(t);
		free(t);
	}
}

/* By hand: TSTAMP is absolute in sync messages, elsewhere XORed with the time before. */
static void p550_times(void **state)
{
	static const uint8_t trace[] = {
		/* ProgTraceSync SYNC 5, I-CNT 0, F-ADDR 80, TSTAMP 1000 = 15:40 */
		0x24, 0x15, 0x00, 0x09, 0xa0, 0x3f,
		/* ResourceFull RCODE 9, 3, TSTAMP 8 = 992 ^ 1000 */
		0x6c, 0xe5, 0x23,
		/* ResourceFull RCODE 8, 1, without TSTAMP */
		0x6c, 0x63,
		/* IndirectBranch B-TYPE 0, I-CNT 14, U-ADDR 180, TSTAMP 4095 = 3103 ^ 992 */
		0x10, 0xe1, 0x00, 0x19, 0xfc, 0xff,
		/* DirectBranchSync SYNC 2, I-CNT 1, F-ADDR 101, TSTAMP 7 */
		0x2c, 0x49, 0x04, 0x11, 0x1f,
		/* ProgTraceCorrelation EVCODE 4, CDF 0, I-CNT 0, TSTAMP 3 */
		0x84, 0x10, 0x01, 0x0f,
	};
	struct bench *t = loop();

	(void)state;
	t->params.profile = NT_PROFILE_P550;
	t->params.timestamps = true;
	memcpy(t->pk.buf, trace, sizeof(trace));
	t->pk.len = sizeof(trace);
	expect(t, "start 5 100 t1000\ncond 102 100 n2 t992\ncond 102 100 n2 t992\n"
	       "cond 102 100 n2 t992\nijump 106 200 n3 t3103\nstop 4 202 n1 t4\n");
}

static void profiles(void **state)
{
	struct bench *t = loop();

	(void)state;
	/* RCODE 9: so many taken, 8: so many not taken; times are XORed */
	t->params.profile = NT_PROFILE_SIFIVE;
	t->params.timestamps = true;
	t->pk.len = 0;
	t->pk.timestamp = 1000;
	pack_ptsync(&t->pk, 5, 0, 0x100);
	t->pk.timestamp = 8;
	pack_rf(&t->pk, 9, 3);
	t->pk.timestamp = 1;
	pack_rf(&t->pk, 8, 1);
	pack_ib(&t->pk, 0, 14, 0x300);
	pack_ptc(&t->pk, 4, 0, 0);
	expect(t, "start 5 100 t1000\ncond 102 100 n2 t992\ncond 102 100 n2 t992\n"
	       "cond 102 100 n2 t992\nijump 106 200 n3 t992\nstop 4 200 t993\n");
	/* RCODE 9 means nothing in 1.0 */
	t = loop();
	pack_rf(&t->pk, 9, 3);
	expect(t, "start 5 100\nloss reserved value in a field at 4 pc 100 skipped 2\n");
}

/* ---------------------------------------------------------------- defects - */

static void R74_R82_odd_messages(void **state)
{
	struct bench *t = loop();

	(void)state;
	pack_head(&t->pk, 60);
	pack_var(&t->pk, 123);
	pack_end(&t->pk);
	pack_head(&t->pk, 5);
	pack_var(&t->pk, 123);
	pack_end(&t->pk);
	pack_db(&t->pk, 3);
	pack_rf(&t->pk, 5, 1);
	pack_db(&t->pk, 3);
	pack_ptsync(&t->pk, 12, 0, 0x100);
	pack_db(&t->pk, 3);
	pack_ptc(&t->pk, 6, 0, 0);
	expect(t, "start 5 100\nnotice vendor defined message\nnotice reserved message type\n"
	       "cond 102 100 n2\nloss reserved value in a field at 12 pc 100 skipped 4\n"
	       "start 12 100\ncond 102 100 n2\nstop 6 100\n");
	/* a reserved ETYPE is a loss all the same; of CDF 2 nothing is known */
	t = loop();
	pack_error(&t->pk, 3, 0);
	pack_ptsync(&t->pk, 7, 0, 0x100);
	pack_head(&t->pk, NT_TCODE_PROG_TRACE_CORRELATION);
	pack_bits(&t->pk, 4, 4);
	pack_bits(&t->pk, 2, 2);
	pack_var(&t->pk, 0);
	pack_end(&t->pk);
	expect(t, "start 5 100\nloss encoder lost messages at 4 pc 100 skipped 2\nstart 7 100\n"
	       "loss reserved value in a field at 10 pc 100 skipped 3\n");
}

static void unmapped_code(void **state)
{
	struct bench *t = loop();

	(void)state;
	pack_ib(&t->pk, 0, 5, 0x100 ^ 0x8000);
	pack_ib(&t->pk, 0, 5, 0x100);
	pack_ptsync(&t->pk, 2, 0, 0x100);
	pack_ptc(&t->pk, 4, 0, 0);
	expect(t, "start 5 100\nijump 106 8000 n3\nloss no code at 9 pc 8000 skipped 4\n"
	       "start 2 100\nstop 4 100\n");
}

static void bad_bytes(void **state)
{
	struct bench *t = loop();

	(void)state;
	pack_db(&t->pk, 3);
	t->pk.buf[t->pk.len++] = 0x02;
	t->pk.buf[t->pk.len++] = 0x07;
	pack_db(&t->pk, 3);
	pack_ptsync(&t->pk, 2, 0, 0x100);
	pack_ptc(&t->pk, 4, 0, 0);
	expect(t, "start 5 100\ncond 102 100 n2\nloss reserved MSEO value at 6 pc 100 skipped 4\n"
	       "start 2 100\nstop 4 100\n");
}

struct list {
	struct nt_event ev[64];
	int nr;
};

/* The rest of a loss, in what came later, is the same loss. */
static bool goes_on_losing(const struct list *l, const struct nt_event *ev)
{
	const struct nt_event *last = &l->ev[l->nr - 1];

	return l->nr && last->kind == NT_EV_LOSS && ev->kind == NT_EV_LOSS &&
	       ev->reason == NT_ENOSYNC && !(ev->flags & NT_EVF_PC) &&
	       ev->offset == last->offset + last->skipped;
}

/* What is decoded when no more than the bytes up to each of the ends is there at first */
static void decode_cut(struct bench *t, const size_t *end, unsigned int nr, struct list *l)
{
	struct nt_event ev;
	unsigned int i;
	size_t from = 0;

	l->nr = 0;
	bench_open(t);
	for (i = 0; i < nr; i++) {
		nt_flow_open_end(t->flow, end[i] < t->pk.len);
		if (i)
			nt_flow_more(t->flow, t->pk.buf + from, end[i] - from, from);
		else
			nt_flow_window(t->flow, t->pk.buf, end[i], 0);
		while (nt_flow_next(t->flow, &ev, 1) == 1) {
			if (goes_on_losing(l, &ev)) {
				l->ev[l->nr - 1].skipped += ev.skipped;
				continue;
			}
			assert_true(l->nr < 64);
			l->ev[l->nr++] = ev;
		}
		from += nt_flow_consumed(t->flow);
		assert_true(from <= end[i]);
	}
	assert_int_equal(from, t->pk.len);
	bench_close(t);
}

static void say_list(struct bench *t, const struct list *l)
{
	int i;

	t->used = 0;
	t->answer[0] = '\0';
	for (i = 0; i < l->nr; i++)
		say_event(t, &l->ev[i]);
}

static void pack_odd(struct pack *p, unsigned int tcode)
{
	pack_head(p, tcode);
	pack_var(p, 123456);
	pack_end(p);
}

/* What lies between a loss and the next sync message is skipped, whenever it comes. */
static void a_loss_in_pieces(void **state)
{
	const char *want = "start 5 100\ncond 102 100 n2\n"
			   "loss reserved MSEO value at 6 pc 100 skipped 24\n"
			   "start 2 100\nnotice reserved message type\ncond 102 100 n2\n"
			   "loss reserved value in a field at 40 pc 100 skipped 10\n"
			   "start 2 100\nstop 4 100\n";
	struct bench *t = loop();
	struct list l;
	size_t end[3];

	(void)state;
	t->params.mode = NT_MODE_BTM;	/* else it is to come first, and all waits for it */
	pack_db(&t->pk, 3);
	t->pk.buf[t->pk.len++] = 0x02;
	t->pk.buf[t->pk.len++] = 0x07;
	pack_odd(&t->pk, 5);		/* reserved, and once more between others */
	pack_odd(&t->pk, 60);		/* a vendor's */
	pack_db(&t->pk, 3);
	t->pk.buf[t->pk.len++] = 0xff;
	t->pk.buf[t->pk.len++] = 0xff;
	pack_odd(&t->pk, 5);
	pack_rf(&t->pk, 5, 1);		/* a reserved RCODE */
	pack_odd(&t->pk, 5);
	pack_ptsync(&t->pk, 2, 0, 0x100);
	/* and behind the sync message the same is told */
	pack_odd(&t->pk, 5);
	pack_db(&t->pk, 3);
	pack_rf(&t->pk, 5, 1);
	pack_odd(&t->pk, 5);
	pack_odd(&t->pk, 60);
	pack_ptsync(&t->pk, 2, 0, 0x100);
	pack_ptc(&t->pk, 4, 0, 0);

	end[2] = t->pk.len;
	for (end[0] = 0; end[0] <= end[2]; end[0]++)
		for (end[1] = end[0]; end[1] <= end[2]; end[1]++) {
			decode_cut(t, end, 3, &l);
			say_list(t, &l);
			assert_string_equal(t->answer, want);
		}
	free(t);
}

/* What is left of a damaged message is no message, wherever it was cut. */
static void rest_of_a_damaged_message(void **state)
{
	struct bench *t = bench_new();

	(void)state;
	org(&t->prog, 0x100);
	c_add(&t->prog);
	c_add(&t->prog);
	jr(&t->prog);
	t->params.mode = NT_MODE_BTM;
	pack_ptsync(&t->pk, 5, 0, 0x100);
	t->pk.buf[t->pk.len++] = 0x02;
	pack_ptsync(&t->pk, 5, 0, 0x102);
	pack_ptsync(&t->pk, 5, 0, 0x100);
	pack_ptc(&t->pk, 4, 2, 0);
	expect(t, "start 5 100\n"
		  "loss reserved MSEO value at 4 pc 100 skipped 5\nstart 5 100\nstop 4 104 n2\n");
}

static void pack_by_chance(struct pack *pk)
{
	while (pk->len < 150) {
		switch (rnd(6)) {
		case 0:
			pack_db(pk, 3);
			break;
		case 1:
			pack_ptc(pk, 4, 2 + rnd(2), 0);
			break;
		case 2:
			pack_ibsync(pk, 5, 0, rnd(4), 0x100 + 2 * rnd(6));
			break;
		case 3:
			pack_rf(pk, 0, rnd(8));
			break;
		default:
			pack_ptsync(pk, 1 + rnd(6), 0, 0x100 + 2 * rnd(6));
		}
	}
}

static void damage_by_chance(struct pack *pk)
{
	unsigned int n = 1 + rnd(8);

	while (n--) {
		size_t at = rnd(pk->len);

		if (rnd(2))
			pk->buf[at] = rnd(256);
		else
			pk->buf[at] = (pk->buf[at] & ~3) | rnd(4);
	}
}

/* However much of a damaged stream comes at a time, it is the same but for the losses. */
static void damage_in_pieces(void **state)
{
	unsigned long n = rounds(400);
	char whole[ANSWER];
	size_t size;

	(void)state;
	while (n--) {
		struct bench *t = bench_new();

		org(&t->prog, 0x100);
		c_add(&t->prog);
		beq(&t->prog, 0x100);
		c_add(&t->prog);
		jr(&t->prog);
		t->params.mode = rnd(2) ? NT_MODE_BTM : NT_MODE_UNKNOWN;
		pack_by_chance(&t->pk);
		damage_by_chance(&t->pk);
		bench_open(t);
		decode(t, 64, false);
		without_losses(t->answer, whole, sizeof(whole));
		for (size = 1; size <= 30; size++) {
			char got[ANSWER];

			new_flow(t);
			decode_pieces(t, size);
			without_losses(t->answer, got, sizeof(got));
			assert_string_equal(got, whole);
		}
		bench_close(t);
		free(t);
	}
}

static void R72_partial_window(void **state)
{
	struct bench *t = loop();
	struct nt_event ev[16];

	(void)state;
	/* what is left of a message looks like a sync message */
	t->pk.len = 0;
	pack_ptsync(&t->pk, 2, 0, 0x200);
	pack_ptsync(&t->pk, 2, 0, 0x100);
	bench_open(t);
	nt_flow_window(t->flow, t->pk.buf, t->pk.len, 0);
	nt_flow_skip_partial(t->flow);
	assert_int_equal(nt_flow_next(t->flow, ev, 16), 2);
	assert_int_equal(ev[0].kind, NT_EV_START);
	assert_int_equal(ev[0].to, 0x100);
	bench_close(t);
	free(t);
}

/* B-CNT has 18 bits. */
static void R110_largest_repetition(void **state)
{
	unsigned int more;

	(void)state;
	for (more = 0; more < 2; more++) {
		struct bench *t = loop();
		struct nt_event ev[256];
		unsigned int branches = 0, losses = 0;
		int i, n;

		pack_db(&t->pk, 3);
		pack_repeat(&t->pk, (1 << 18) - 1 + more);
		pack_ptc(&t->pk, 4, 0, 0);
		bench_open(t);
		nt_flow_window(t->flow, t->pk.buf, t->pk.len, 0);
		while ((n = nt_flow_next(t->flow, ev, 256)) > 0)
			for (i = 0; i < n; i++) {
				branches += ev[i].kind == NT_EV_BRANCH;
				losses += ev[i].kind == NT_EV_LOSS && ev[i].reason == NT_ERANGE;
			}
		assert_int_equal(branches, more ? 1 : 1 << 18);
		assert_int_equal(losses, more);
		bench_close(t);
		free(t);
	}
}

/* 64 KB of code, of which the last instruction leads to the first */
static struct bench *large_loop(bool branch)
{
	struct bench *t = bench_new();
	struct program *p = &t->prog;
	unsigned int i;

	org(p, 0);
	for (i = 0; i < PROGRAM_SIZE / 4 - 1; i++)
		add(p);
	/* a branch does not reach that far: it leads to a jump that does */
	if (branch) {
		org(p, PROGRAM_SIZE - 8);
		beq(p, PROGRAM_SIZE - 4);
	}
	org(p, PROGRAM_SIZE - 4);
	j(p, 0);
	pack_ptsync(&t->pk, 5, 0, 0);
	return t;
}

/* Events of a whole trace: transfers, and the last loss */
static unsigned int count_transfers(struct bench *t, bool slow, enum nt_error *loss)
{
	struct nt_event ev[256];
	unsigned int branches = 0;
	int i, n;

	*loss = NT_OK;
	t->flow->slow = slow;
	nt_flow_window(t->flow, t->pk.buf, t->pk.len, 0);
	while ((n = nt_flow_next(t->flow, ev, 256)) > 0)
		for (i = 0; i < n; i++) {
			branches += ev[i].kind == NT_EV_BRANCH;
			if (ev[i].kind == NT_EV_LOSS)
				*loss = (enum nt_error)ev[i].reason;
		}
	assert_int_equal(n, 0);
	return branches;
}

/* I-CNT has 22 bits, and more are accepted: up to 2^30 half-words. */
static void R71_largest_count(void **state)
{
	unsigned int more;

	(void)state;
	for (more = 0; more < 2; more++) {
		struct bench *t = large_loop(false);
		enum nt_error loss;

		pack_ptc(&t->pk, 4, (uint64_t)ICNT_MAX + 2 * more, 1);
		bench_open(t);
		assert_int_equal(count_transfers(t, true, &loss),
				 more ? 0 : ICNT_MAX / (PROGRAM_SIZE / 2));
		assert_int_equal(loss, more ? NT_ERANGE : NT_OK);
		bench_close(t);
		free(t);
	}
}

/* Outcomes run ahead of I-CNT by 2^30 half-words and no more, on both ways of decoding. */
static void R96_outcomes_far_ahead(void **state)
{
	/* half-words that each message of 31 outcomes covers */
	const unsigned int each = 31 * (PROGRAM_SIZE / 2), nr = ICNT_MAX / each + 2;
	struct bench *t = large_loop(true);
	unsigned int i, slow, branches;
	enum nt_error loss;

	(void)state;
	for (i = 0; i < nr + 20; i++)
		pack_rf(&t->pk, 1, 0xffffffff);
	bench_open(t);
	/* the graph, first */
	slow = count_transfers(t, true, &loss);
	assert_int_equal(loss, NT_ERANGE);
	assert_in_range(slow, 31 * 2 * (nr - 2), 31 * 2 * nr);
	new_flow(t);
	t->flow->mode = NT_MODE_HTM;
	branches = count_transfers(t, false, &loss);
	assert_int_equal(loss, NT_ERANGE);
	assert_int_equal(branches, slow);
	bench_close(t);
	free(t);
}

/* A loss goes on to the next sync message of the same source. */
static void R142_loss_among_sources(void **state)
{
	struct bench *t = loop();
	struct pack *k = &t->pk;

	(void)state;
	t->params.srcbits = k->srcbits = 2;
	t->params.src = 1;
	k->len = 0;
	k->src = 1;
	pack_ptsync(k, 5, 0, 0x100);
	pack_error(k, 0, 4);
	k->src = 2;
	pack_ptsync(k, 7, 0, 0x200);
	pack_db(k, 3);
	k->src = 1;
	pack_ptsync(k, 7, 0, 0x100);
	pack_ptc(k, 4, 1, 0);
	expect(t, "start 5 100\nloss encoder lost messages at 5 pc 100 skipped 10\n"
	       "start 7 100\nstop 4 102 n1\n");
}

/* What comes behind lost messages does not join what was before them. */
static void loss_while_stopped_joins_nothing(void **state)
{
	struct bench *t = loop();

	(void)state;
	pack_ptc(&t->pk, 4, 1, 0);
	pack_error(&t->pk, 0, 4);
	pack_ptsync(&t->pk, 7, 0, 0x102);
	pack_ptc(&t->pk, 4, 0, 0);
	expect(t, "start 5 100\nstop 4 102 n1\nloss encoder lost messages at 7 skipped 3\n"
	       "start 7 102\nstop 4 102\n");
}

/* Another window knows nothing of the time of the one before. */
static void R124_time_of_another_window(void **state)
{
	struct bench *t = loop();

	(void)state;
	t->params.timestamps = true;
	t->pk.len = 0;
	t->pk.timestamp = 1000;
	pack_ptsync(&t->pk, 5, 0, 0x100);
	bench_open(t);
	decode(t, 64, false);
	t->pk.len = 0;
	t->pk.timestamp = -1;
	pack_ptsync(&t->pk, 5, 0, 0x100);
	t->pk.timestamp = 3;
	pack_ptc(&t->pk, 4, 1, 0);
	decode(t, 64, false);
	assert_string_equal(t->answer, "notice sync message without timestamp\nstart 5 100\n"
			    "stop 4 102 n1\n");
	bench_close(t);
	free(t);
}

/* A window is given up while what ResourceFull counted is walked to the end. */
static void R94_another_window_meanwhile(void **state)
{
	struct bench *t = bench_new();
	struct nt_event ev[16];

	(void)state;
	org(&t->prog, 0x100);
	j(&t->prog, 0x100);
	pack_ptsync(&t->pk, 5, 0, 0x100);
	pack_rf(&t->pk, 0, 1000);
	bench_open(t);
	nt_flow_window(t->flow, t->pk.buf, t->pk.len, 0);
	assert_int_not_equal(nt_flow_next(t->flow, ev, 16), 0);
	assert_int_not_equal(nt_flow_next(t->flow, ev, 16), 0);
	t->pk.len = 0;
	pack_ptsync(&t->pk, 5, 0, 0x100);
	pack_ptc(&t->pk, 4, 4, 1);
	decode(t, 64, false);
	assert_string_equal(t->answer, "start 5 100\njump 100 100 n1\njump 100 100 n1\nstop 4 100\n");
	bench_close(t);
	free(t);
}

/* An address that has a bit too many is refused on both ways of decoding. */
static void R71_address_too_wide(void **state)
{
	unsigned int wide;

	(void)state;
	for (wide = 0; wide < 2; wide++) {
		struct bench *t = loop();

		t->params.xlen = 32;
		t->params.mode = NT_MODE_BTM;
		pack_ib(&t->pk, 0, 5, 0);
		pack_ib(&t->pk, 0, 5, 0);
		pack_ib(&t->pk, 0, 5, (uint64_t)wide << 32);
		pack_ptsync(&t->pk, 2, 0, 0x100);
		expect(t, wide ? "start 5 100\nijump 106 100 n3\nijump 106 100 n3\n"
		       "loss field is too wide at 10 pc 100 skipped 8\nstart 2 100\nstop 16 100\n" :
		       "start 5 100\nijump 106 100 n3\nijump 106 100 n3\nijump 106 100 n3\n"
		       "stop 16 100\n");
	}
}

/* B.16-25: what RepeatBranch repeats is a branch message, whatever came behind it. */
static void R106_repeat_behind_resource_full(void **state)
{
	struct bench *t = bench_new();

	(void)state;
	t->params.mode = NT_MODE_HTM;
	org(&t->prog, 0x100);
	beq(&t->prog, 0x100);
	jr(&t->prog);
	pack_ptsync(&t->pk, 5, 0, 0x100);
	pack_rf(&t->pk, 1, 3);
	pack_ibh(&t->pk, 0, 6, 0, 2);
	pack_rf(&t->pk, 1, 3);
	pack_repeat(&t->pk, 1);
	pack_ptc(&t->pk, 4, 0, 1);
	expect(t, "start 5 100\ncond 100 100 n1\nijump 104 100 n2\ncond 100 100 n1\n"
	       "ijump 104 100 n2\nstop 4 100\n");
}

/* Many times around the loop, by n messages; at its end comes a wrong count */
static struct bench *wrong_at_the_end(unsigned int way)
{
	struct bench *t = loop();

	pack_db(&t->pk, 3);
	switch (way) {
	case 0:		/* one of 31 outcomes after others that are right */
		pack_rf(&t->pk, 1, 0x7fffffff);
		pack_ibh(&t->pk, 0, 61 * 3 + 7, 0x300, 0xffffffff);
		break;
	case 1:		/* more than any batch holds, then one that does not fit */
		pack_rf2(&t->pk, 6, 1000);
		break;
	case 2:		/* the last repetition has no code */
		pack_repeat(&t->pk, 1000);
		break;
	case 3:		/* two batches of 256 hold what one does not */
		pack_rf2(&t->pk, 0x7fffffff, 8);
		pack_rf2(&t->pk, 0x7fffffff, 8);
		pack_rf2(&t->pk, 0x7ffffffe, 10);
		break;
	}
	pack_ptsync(&t->pk, 2, 0, 0x100);
	pack_ptc(&t->pk, 4, 0, 0);
	return t;
}

/* Nothing of a refused message is reported, however small or large the batches are. */
static void refused_messages_report_nothing(void **state)
{
	static const unsigned int branches[] = { 1 + 30, 1, 1 + 1000, 1 + 2 * 8 * 30 };
	static const unsigned int sizes[] = { 1, 2, 7, 16, 17, 24, 63, 256 };
	unsigned int way, i, k, n;

	(void)state;
	for (way = 0; way < 4; way++)
	for (i = 0; i < 8; i++) {
		struct bench *t = wrong_at_the_end(way);
		struct nt_event ev[256];
		unsigned int told = 0, losses = 0;

		bench_open(t);
		nt_flow_window(t->flow, t->pk.buf, t->pk.len, 0);
		while ((n = nt_flow_next(t->flow, ev, sizes[i])) > 0)
			for (k = 0; k < n; k++) {
				told += ev[k].kind == NT_EV_BRANCH;
				losses += ev[k].kind == NT_EV_LOSS;
				if (ev[k].kind == NT_EV_LOSS)
					assert_int_equal(ev[k].from, 0x100);
			}
		if (told != branches[way] || losses != (way != 2))
			fail_msg("case %u, batches of %u: %u branches, %u losses", way, sizes[i],
				 told, losses);
		bench_close(t);
		free(t);
	}
}

static void endless_jump_under_history(void **state)
{
	struct bench *t = bench_new();
	struct nt_event ev[256];
	uint64_t branches = 0;
	int i, n;

	(void)state;
	/* outcomes for a branch that is never reached: j . */
	org(&t->prog, 0x100);
	j(&t->prog, 0x100);
	pack_ptsync(&t->pk, 5, 0, 0x100);
	pack_rf(&t->pk, 1, 2);
	bench_open(t);
	nt_flow_window(t->flow, t->pk.buf, t->pk.len, 0);
	while ((n = nt_flow_next(t->flow, ev, 256)) > 0)
		for (i = 0; i < n; i++)
			branches += ev[i].kind == NT_EV_BRANCH;
	assert_int_equal(ev[0].kind == NT_EV_LOSS || branches, 1);
	assert_true(branches < 1 << 24);
	bench_close(t);
	free(t);
}

/* --------------------------------------------------------- changing code -- */

static void code_is_invalidated(void **state)
{
	struct bench *t = loop();
	uint64_t at = 0x102;
	int i;

	(void)state;
	pack_db(&t->pk, 3);
	pack_ptc(&t->pk, 4, 0, 0);
	bench_open(t);
	for (i = 0; i < 4; i++) {
		uint64_t to = i & 1 ? 0x200 : 0x100;
		char want[100];

		t->prog.at = at;
		beq(&t->prog, to);
		nt_code_invalidate(t->code, at, at + 4);
		new_flow(t);
		decode(t, 16, false);
		snprintf(want, sizeof(want),
			 "start 5 100\ncond 102 %" PRIx64 " n2\nstop 4 %" PRIx64 "\n", to, to);
		assert_string_equal(t->answer, want);
	}
	nt_code_invalidate(t->code, 0, 0);
	{
		struct nt_code_stats stats = { .size = sizeof(stats) };

		nt_code_get_stats(t->code, &stats);
		assert_int_equal(stats.blocks, 0);
	}
	decode(t, 16, false);
	bench_close(t);
	free(t);
}

static void invalidated_between_batches(void **state)
{
	struct bench *t = calls(3);
	struct nt_event ev[64];
	int n;

	(void)state;
	/* between a call and its silent return; links and stack must not be stale */
	pack_ibhsync(&t->pk, 2, 0, 0, 0x100, 1);
	pack_rf(&t->pk, 0, 7);
	pack_ibh(&t->pk, 3, 0, 0, 1);
	pack_ptc(&t->pk, 4, 0, 1);
	bench_open(t);
	decode(t, 64, false);
	nt_flow_window(t->flow, t->pk.buf, t->pk.len, 0);
	while ((n = nt_flow_next(t->flow, ev, 16)) > 0) {
		nt_code_invalidate(t->code, 0x200, 0x204);
		nt_code_invalidate(t->code, 0x104, 0x105);
	}
	assert_int_equal(n, 0);
	new_flow(t);
	decode(t, 16, false);
	assert_string_equal(t->answer, "start 5 100\ncall 100 200 n1\ncall 200 300 n1\n"
			    "ret 302 204 inferred n2\ninterrupt 204 100\nstop 4 100\n");
	bench_close(t);
	free(t);
}

static void two_address_spaces(void **state)
{
	struct bench *user = loop(), *kernel = bench_new();
	struct nt_code *high, *other;
	struct nt_event ev[64];
	int i, n;

	(void)state;
	kernel->prog.base = 0xffffffff80000000;
	org(&kernel->prog, 0xffffffff80000000);
	c_add(&kernel->prog);
	mret(&kernel->prog);
	high = nt_code_new(&user->params, program_read, &kernel->prog);
	other = nt_code_new(&user->params, program_read, &user->prog);

	pack_db(&user->pk, 3);
	pack_ib(&user->pk, 2, 1, 0x100 ^ 0xffffffff80000000);
	pack_ownership(&user->pk, 7u << 5 | 1 << 2 | 2);
	pack_ib(&user->pk, 0, 3, 0xffffffff80000000 ^ 0x100);
	pack_db(&user->pk, 3);
	pack_ptc(&user->pk, 4, 0, 0);

	bench_open(user);
	nt_flow_set_code(user->flow, user->code, high);
	nt_flow_window(user->flow, user->pk.buf, user->pk.len, 0);
	while ((n = nt_flow_next(user->flow, ev, 64)) > 0)
		for (i = 0; i < n; i++) {
			say_event(user, &ev[i]);
			if (ev[i].kind == NT_EV_CONTEXT)
				nt_flow_set_code(user->flow, other, high);
		}
	assert_string_equal(user->answer,
			    "start 5 100\ncond 102 100 n2\n"
			    "exception 102 ffffffff80000000 n1\ncontext 2 priv 1 7\n"
			    "eret ffffffff80000002 100 n2\ncond 102 100 n2\nstop 4 100\n");
	bench_close(user);
	nt_code_free(high);
	nt_code_free(other);
	free(user);
	free(kernel);
}

struct two_programs {
	struct program low, high;
};

static int read_two(void *ctx, uint64_t space, uint64_t addr, void *buf, size_t len)
{
	struct two_programs *p = ctx;

	return program_read(addr >> 31 ? &p->high : &p->low, space, addr, buf, len);
}

static const char *link_events(char *want, bool low, bool high)
{
	unsigned int i, l = 0x100 + 2 * low, h = 2 * high;

	sprintf(want, "start 5 100\n");
	for (i = 0; i < 2; i++)
		sprintf(want + strlen(want), "ijump %x 80000000 n%u\n"
			"ijump 8000000%x 100 n%u\nijump %x 100 n%u\n", l, 1 + low, h, 1 + high,
			l, 1 + low);
	return strcat(want, "stop 4 100\n");
}

/*
 * Two programs with code at the low addresses and at the high ones, the second one's is longer.
 * First each alone; then the first at the low addresses and the second at the high ones.
 */
static void links_stay_in_one_program(void **state)
{
	const uint64_t top = 0x80000000;
	static struct two_programs mem[2];
	struct nt_code *code[2];
	struct bench *t = bench_new();
	unsigned int i, pass;
	char want[1000];

	(void)state;
	t->params.xlen = 32;	/* jumps that the quick way takes */
	for (i = 0; i < 2; i++) {
		org(&mem[i].low, 0x100);
		mem[i].high.base = top;
		org(&mem[i].high, top);
		if (i) {
			c_add(&mem[i].low);
			c_add(&mem[i].high);
		}
		jr(&mem[i].low);
		jr(&mem[i].high);
		code[i] = nt_code_new(&t->params, read_two, &mem[i]);
		assert_non_null(code[i]);
	}
	t->params.mode = NT_MODE_BTM;
	for (pass = 0; pass < 4; pass++) {
		bool low = pass == 1, high = pass & 1;

		pack_init(&t->pk);
		pack_ptsync(&t->pk, 5, 0, 0x100);
		for (i = 0; i < 2; i++) {
			pack_ib(&t->pk, 0, 2 + low, 0x100 ^ top);
			pack_ib(&t->pk, 0, 2 + high, 0x100 ^ top);
			/* somewhere else, so that where it led last is not there */
			pack_ib(&t->pk, 0, 2 + low, 0);
		}
		pack_ptc(&t->pk, 4, 0, 0);
		for (i = 0; i < 64; i++)
			t->pk.buf[t->pk.len++] = 0xff;
		t->flow = nt_flow_new(&t->params);
		assert_non_null(t->flow);
		nt_flow_set_code(t->flow, code[low], code[high]);
		decode(t, 64, false);
		assert_string_equal(t->answer, link_events(want, low, high));
		nt_flow_free(t->flow);
	}
	nt_code_free(code[0]);
	nt_code_free(code[1]);
	free(t);
}

static void long_blocks_and_the_end_of_memory(void **state)
{
	struct bench *t = bench_new();
	unsigned int i;

	(void)state;
	/* more than one block's worth of linear code, odd sizes */
	org(&t->prog, 0x100);
	c_add(&t->prog);
	for (i = 0; i < 300; i++)
		add(&t->prog);
	jr(&t->prog);
	pack_ptsync(&t->pk, 5, 0, 0x100);
	pack_ib(&t->pk, 0, 1 + 600 + 2, 0);
	pack_ib(&t->pk, 2, 1 + 64, 0);
	pack_ptc(&t->pk, 4, 0, 0);
	expect(t, "start 5 100\nijump 5b2 100 n302\nexception 182 100 n33\nstop 4 100\n");

	t = bench_new();
	t->params.xlen = 32;
	t->prog.base = 0xffff0000;
	org(&t->prog, 0xfffffffc);
	add(&t->prog);
	pack_ptsync(&t->pk, 5, 0, 0xfffffffc);
	pack_ptc(&t->pk, 4, 4, 0);
	expect(t, "start 5 fffffffc\nloss no code at 8 pc fffffffc skipped 3\n");
}

static void arguments_are_checked(void **state)
{
	struct nt_params p;
	struct nt_flow *flow;
	struct nt_event ev[16];

	(void)state;
	nt_params_init(&p);
	flow = nt_flow_new(&p);
	assert_non_null(flow);
	assert_int_equal(nt_flow_next(flow, ev, 0), -NT_EINVAL);
	assert_int_equal(nt_flow_next(flow, NULL, 16), -NT_EINVAL);
	nt_flow_window(flow, NULL, 0, 0);
	assert_int_equal(nt_flow_next(flow, ev, 16), 0);
	nt_flow_free(flow);
	nt_flow_free(NULL);
	nt_code_free(NULL);
	p.xlen = 16;
	assert_null(nt_flow_new(&p));
	assert_null(nt_code_new(&p, program_read, NULL));
	nt_params_init(&p);
	assert_null(nt_code_new(&p, NULL, NULL));
}

static void pack_kind(struct pack *k, unsigned int kind)
{
	switch (kind) {
	case 0: pack_db(k, 100); break;
	case 1: pack_ib(k, 0, 3, 0x123456789); break;
	case 2: pack_ibh(k, 0, 300, 0x12, 0x155); break;
	case 3: pack_rf(k, 1, 0x7fffffff); break;
	case 4: pack_ptsync(k, 2, 7, 0xffffffff80001234); break;
	case 5: pack_ownership(k, 1234 << 5 | 2); break;
	case 6: pack_repeat(k, 1000); break;
	case 7: pack_error(k, 0, 1); break;
	case 8: pack_rf2(k, 0x15, 77); break;
	default: pack_ptc(k, 4, 9, 0);
	}
}

/* Each kind of message without TSTAMP is found between others that have one. */
static void R124_find_the_one_without_time(void **state)
{
	unsigned int kind, src, before, i;
	struct nt_params params;
	static struct pack k;
	size_t at, found;

	(void)state;
	nt_params_init(&params);
	params.timestamps = true;
	params.mode = NT_MODE_HTM;
	for (kind = 0; kind < 10; kind++)
	for (src = 0; src < 3; src++)
	for (before = 0; before < 12; before++) {
		pack_init(&k);
		params.srcbits = k.srcbits = src ? 2 : 0;
		params.src = k.src = src ? 1 : 0;
		k.timestamp = 1000000;
		for (i = 0; i < before; i++)
			pack_kind(&k, i % 10);
		at = k.len;
		k.timestamp = -1;
		/* of another source it does not matter */
		k.src = src == 2 ? 3 : k.src;
		pack_kind(&k, kind);
		k.src = src ? 1 : 0;
		k.timestamp = 3;
		for (i = 0; i < 12; i++)
			pack_kind(&k, (i + kind) % 10);
		found = nt_msg_find_unstamped(&params, k.buf, k.len, 0);
		assert_int_equal(found, src == 2 ? k.len : at);
		assert_int_equal(nt_msg_find_unstamped(&params, k.buf, k.len, at),
				 src == 2 ? k.len : at);
		assert_int_equal(nt_msg_find_unstamped(&params, k.buf, at, 0), at);
		assert_int_equal(nt_msg_find_unstamped(&params, k.buf, k.len, k.len + 1), k.len);
		while (k.buf[at++] % 4 != 3)
			;
		assert_int_equal(nt_msg_find_unstamped(&params, k.buf, k.len, at), k.len);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(R102_R111_btm_example),
		cmocka_unit_test(R102_htm_example),
		cmocka_unit_test(R98_invalid_counts),
		cmocka_unit_test(R94_R103_icnt_full),
		cmocka_unit_test(R84_R85_xor_chain),
		cmocka_unit_test(R92_history_order),
		cmocka_unit_test(R95_R96_history_walked_first),
		cmocka_unit_test(R97_both_full),
		cmocka_unit_test(R108_R109_repeated_history),
		cmocka_unit_test(R108_R70_endless_history),
		cmocka_unit_test(R106_repeat_direct_branch),
		cmocka_unit_test(R107_repeat_keeps_the_target),
		cmocka_unit_test(R112_icnt_full_at_a_taken_branch),
		cmocka_unit_test(R141_indirect_branch_in_htm),
		cmocka_unit_test(R121_mode_is_kept_across_syncs),
		cmocka_unit_test(R121_last_outcome_is_missing),
		cmocka_unit_test(R121_mode_is_unknown),
		cmocka_unit_test(R121_mode_is_told_later),
		cmocka_unit_test(R121_damage_does_not_tell_the_mode),
		cmocka_unit_test(R121_mode_is_given),
		cmocka_unit_test(R121_mode_is_kept_across_windows),
		cmocka_unit_test(R99_R101_traps),
		cmocka_unit_test(R130_trap_right_after_return),
		cmocka_unit_test(R131_silent_returns),
		cmocka_unit_test(R131_explicit_returns_pop_too),
		cmocka_unit_test(R131_depth_32),
		cmocka_unit_test(R113_R132_sync_empties_the_stack),
		cmocka_unit_test(R133_trap_after_silent_return),
		cmocka_unit_test(R135_swap_pops_then_pushes),
		cmocka_unit_test(R136_sequential_jumps),
		cmocka_unit_test(R136_sequential_jump_at_the_end_of_a_block),
		cmocka_unit_test(R136_address_behind_a_sequential_jump),
		cmocka_unit_test(R137_all_jumps),
		cmocka_unit_test(R143_custom_instructions),
		cmocka_unit_test(R102_sync_at_a_branch_to_the_next),
		cmocka_unit_test(R105_sync_4_with_history),
		cmocka_unit_test(R115_nothing_before_the_first_sync),
		cmocka_unit_test(R116_linear_syncs),
		cmocka_unit_test(R113_every_sync_reason),
		cmocka_unit_test(R113_sync_messages_are_reported),
		cmocka_unit_test(R120_overflow),
		cmocka_unit_test(R122_stop_before_any_sync),
		cmocka_unit_test(R123_no_periodic_sync),
		cmocka_unit_test(window_ends_without_stop),
		cmocka_unit_test(R94_unclaimed_credit),
		cmocka_unit_test(R94_unclaimed_credit_is_of_no_sync_message),
		cmocka_unit_test(joins),
		cmocka_unit_test(joins_over_windows),
		cmocka_unit_test(R124_timestamps),
		cmocka_unit_test(R124_clock_that_wraps),
		cmocka_unit_test(R124_wrap_between_sync_messages),
		cmocka_unit_test(R124_time_from),
		cmocka_unit_test(R125_sync_without_timestamp),
		cmocka_unit_test(limit_holds_back),
		cmocka_unit_test(R127_R128_context),
		cmocka_unit_test(R126_R142_sources_are_apart),
		cmocka_unit_test(profiles),
		cmocka_unit_test(p550_times),
		cmocka_unit_test(p550_return_counter),
		cmocka_unit_test(R74_R82_odd_messages),
		cmocka_unit_test(unmapped_code),
		cmocka_unit_test(bad_bytes),
		cmocka_unit_test(a_loss_in_pieces),
		cmocka_unit_test(rest_of_a_damaged_message),
		cmocka_unit_test(damage_in_pieces),
		cmocka_unit_test(R72_partial_window),
		cmocka_unit_test(R110_largest_repetition),
		cmocka_unit_test(R71_largest_count),
		cmocka_unit_test(R96_outcomes_far_ahead),
		cmocka_unit_test(R142_loss_among_sources),
		cmocka_unit_test(loss_while_stopped_joins_nothing),
		cmocka_unit_test(R124_time_of_another_window),
		cmocka_unit_test(R94_another_window_meanwhile),
		cmocka_unit_test(R71_address_too_wide),
		cmocka_unit_test(R106_repeat_behind_resource_full),
		cmocka_unit_test(R124_find_the_one_without_time),
		cmocka_unit_test(refused_messages_report_nothing),
		cmocka_unit_test(endless_jump_under_history),
		cmocka_unit_test(code_is_invalidated),
		cmocka_unit_test(invalidated_between_batches),
		cmocka_unit_test(two_address_spaces),
		cmocka_unit_test(links_stay_in_one_program),
		cmocka_unit_test(long_blocks_and_the_end_of_memory),
		cmocka_unit_test(arguments_are_checked),
	};

	rnd_begin();
	return RUN_TAP(tests);
}
