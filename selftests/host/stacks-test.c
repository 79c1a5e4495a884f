// SPDX-License-Identifier: GPL-2.0-only
/*
 * The rules by which the tests' own call chains and last branches are rebuilt from the truth
 * (truth/stacks.c), by hand: what a sample has to have, and that anything else is noticed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cmocka-tap.h"
#include "stacks.h"

#define CALL	0x000000ef	/* jal ra */
#define RET	0x00008067	/* ret */
#define JUMP	0x0000006f	/* j */
#define ERET	0x10200073	/* sret */

static void insn(struct stacks *s, uint64_t pc, uint32_t insn, uint64_t next)
{
	struct truth_event ev = { .kind = TRUTH_INSN, .pc = pc, .next = next, .insn = insn,
				   .len = 4 };

	stacks_branch(s, &ev);
}

static void trap(struct stacks *s, uint64_t pc, uint64_t cause, uint64_t next)
{
	struct truth_event ev = { .kind = TRUTH_TRAP, .pc = pc, .next = next, .value = cause };

	stacks_branch(s, &ev);
}

/* What truthcmp would find in this text, compared */
static const char *compare(const struct stacks *s, const char *text)
{
	static struct sample sample;
	struct line line;
	struct lines *lines;
	FILE *f = tmpfile();
	const char *why;
	bool fewer;

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0 && !fflush(f));
	rewind(f);
	lines = lines_open(fileno(f), FORMAT_PERF);
	assert_true(lines_next(lines, &line));
	assert_int_equal(line.kind, LINE_SAMPLE);
	assert_int_equal(line.tid, 170);
	assert_int_equal(line.cpu, 1);
	sample_begin(&sample, &line);
	while (lines_next(lines, &line))
		sample_add(&sample, &line);
	lines_close(lines);
	fclose(f);
	why = stacks_compare(s, &sample, 0x7000, 16, 3, &fewer);
	return !why && fewer ? "fewer than there were" : why;
}

#define HEAD "    170 [001] instructions:uH:                                        0\n\t            7000\n"
#define same(s, text) assert_null(compare(s, HEAD text))
#define other(s, text, why) assert_string_equal(compare(s, HEAD text), why)

static void test_calls(void **state)
{
	struct stacks *s = stacks_new();

	insn(s, 0x100, CALL, 0x200);
	insn(s, 0x200, CALL, 0x300);
	insn(s, 0x300, JUMP, 0x400);	/* a tail call: returns for both */
	same(s, "\t 204\n\t 104\n 0x300/0x400/P/-/-/0/UNCOND/-  0x200/0x300/P/-/-/0/CALL/-  0x100/0x200/P/-/-/0/CALL/- \n");
	insn(s, 0x400, RET, 0x204);
	same(s, "\t 104\n 0x400/0x204/P/-/-/0/RET/-  0x300/0x400/P/-/-/0/UNCOND/-  0x200/0x300/P/-/-/0/CALL \n");
	insn(s, 0x104, CALL, 0x108);	/* to what is behind it: a way to read the pc */
	other(s, "\t 108\n\t 104\n", "another caller");
	assert_int_equal(stacks_depth(s), 1);
	(void)state;
}

static void test_longjmp(void **state)
{
	struct stacks *s = stacks_new();

	insn(s, 0x100, CALL, 0x200);
	insn(s, 0x200, CALL, 0x300);
	insn(s, 0x300, CALL, 0x400);
	insn(s, 0x400, RET, 0x208);	/* nobody's: it stays as it is */
	assert_int_equal(stacks_depth(s), 3);
	insn(s, 0x208, RET, 0x104);	/* with it, all that was called later */
	assert_int_equal(stacks_depth(s), 0);
	(void)state;
}

static void test_traps(void **state)
{
	struct stacks *s = stacks_new();

	trap(s, 0x100, 8, 0x9000);	/* an ECALL */
	insn(s, 0x9000, ERET, 0x104);
	assert_int_equal(stacks_depth(s), 0);
	trap(s, 0x200, 13, 0x9000);	/* a page fault inside an interrupt */
	trap(s, 0x9000, 1ull << 63 | 5, 0x9000);
	same(s, "\t 9000\n\t 200\n 0x9000/0x9000/P/-/-/0/IRQ/-  0x200/0x9000/P/-/-/0//-  0x9000/0x104/P/-/-/0/ERET/- \n");
	insn(s, 0x9000, ERET, 0x9000);
	insn(s, 0x9000, ERET, 0x200);
	assert_int_equal(stacks_depth(s), 0);
	(void)state;
}

static void test_begin_end(void **state)
{
	struct stacks *s = stacks_new();

	insn(s, 0x100, CALL, 0x200);
	stacks_end(s, 0x200);
	stacks_begin(s, 0x200, true);
	same(s, "\t 104\n 0x0/0x200/P/-/-/0//-  0x200/0x0/P/-/-/0//-  0x100/0x200/P/-/-/0/CALL/- \n");
	insn(s, 0x200, RET, 0x104);
	insn(s, 0x100, CALL, 0x200);
	insn(s, 0x200, CALL, 0x100);	/* recursion: 0x104 once more */
	insn(s, 0x100, CALL, 0x200);
	stacks_end(s, 0x104);
	stacks_begin(s, 0x104, true);	/* interrupted where a call returns to */
	assert_int_equal(stacks_depth(s), 3);
	stacks_end(s, 0x104);
	stacks_begin(s, 0x104, false);	/* after something untold: a return may have been in it */
	assert_int_equal(stacks_depth(s), 2);
	stacks_forget(s);
	insn(s, 0x100, CALL, 0x200);
	stacks_forget(s);
	same(s, "");
	other(s, "\t 104\n", "more callers than there were");
	(void)state;
}

static void test_differences(void **state)
{
	struct stacks *s = stacks_new();

	for (uint64_t i = 0; i < 9; i++)
		insn(s, 0x100 * i, CALL, 0x100 * i + 0x100);
	other(s, "\t 804\n\t 704\n", "fewer than there were");
	other(s, "\t 804\n\t 700\n", "another caller");
	other(s, "\t 804\n\t 704\n\t 604\n\t 504\n\t 404\n\t 304\n\t 204\n\t 104\n\t 4\n",
	      "fewer than there were");
#define CHAIN "\t 804\n\t 704\n\t 604\n\t 504\n\t 404\n\t 304\n\t 204\n\t 104\n\t 4\n"
	other(s, CHAIN " 0x800/0x900/P/-/-/0/CALL/-  0x700/0x808/P/-/-/0/CALL/- \n",
	      "another branch in the stack");
	other(s, CHAIN " 0x800/0x900/P/-/-/0/RET/- \n", "another type in the stack");
	assert_string_equal(compare(s, "    170 [001] instructions:uH:  0\n\t 7002\n"),
			    "the sample is elsewhere");
	assert_string_equal(compare(s, "    170 [001] instructions:uH:  0\n"), "no call chain");
	(void)state;
}

/* As many as were asked for, or as can be kept */
static void test_depth(void **state)
{
	struct stacks *s = stacks_new();

	for (uint64_t i = 0; i < 2000; i++)
		insn(s, 0x100, CALL, 0x100);
	assert_int_equal(stacks_depth(s), 2000);
	for (uint64_t i = 0; i < 2000; i++)
		insn(s, 0x100, RET, 0x104);
	assert_int_equal(stacks_depth(s), 0);
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_longjmp),
		cmocka_unit_test(test_traps),
		cmocka_unit_test(test_begin_end),
		cmocka_unit_test(test_differences),
		cmocka_unit_test(test_depth),
	};

	return RUN_TAP(tests);
}
