// SPDX-License-Identifier: GPL-2.0-only
/*
 * The truth's marks of what was lost follow what became of each message: whether its bytes were
 * taken, and by when, not what the encoder believes. The model's truth runs here without QEMU; a
 * test plays the hart, the encoder and who takes the bytes.
 *
 * What came out is compared as a text: "begin 3 drop:2 1 restart:4 2 end" is a stretch of three
 * instructions, the last two of which are in no message that arrived, a fourth that nobody hears
 * of, and two that are told of again, from number 4 on (the first is number 0). "drop" without a
 * number: the same loss goes on at the beginning of a stretch.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmocka-tap.h"
#include "random.h"

/* As much of QEMU's interface, and of GLib, as the truth needs */
#define QEMU_PLUGIN_API_H
#define QEMU_PLUGIN_CB_R_REGS 1
#define FALSE false
typedef unsigned int guint;
typedef struct GByteArray GByteArray;
typedef struct { char *data; guint len; } GArray;
struct qemu_plugin_insn;
struct qemu_plugin_register;
enum qemu_plugin_discon_type { NO_DISCONTINUITY };
typedef uint64_t qemu_plugin_id_t;
#define g_new(type, n)			((type *)malloc((n) * sizeof(type)))
#define g_new0(type, n)			((type *)calloc(n, sizeof(type)))
#define g_malloc			malloc
#define g_realloc			realloc
#define g_free				free
#define g_array_index(a, type, i)	(((type *)(a)->data)[i])
#define g_array_set_size(a, n)		((a)->len = (n))
#define g_array_append_val(a, v)	g_array_append(a, v)
#define g_strdup_printf(format, n)	strdup_printf(format)
#define g_array_new(zero, clear, size)	g_new0(GArray, 1)

#define qemu_plugin_register_vcpu_insn_exec_cb(insn, callback, flags, data) \
	((void)(insn), (void)(callback), (void)(data))

static void g_array_append(GArray *a, unsigned int value)
{
	a->data = realloc(a->data, (a->len + 1) * sizeof(value));
	g_array_index(a, unsigned int, a->len++) = value;
}

static char *strdup_printf(const char *format)
{
	return strdup(format);
}

#include "../qemu/filter.c"
#include "../qemu/tsunit.c"
#define reset te_reset
#include "../qemu/te-regs.c"
#undef reset
#include "../qemu/truth-gate.c"
#define push loss_push
#include "../qemu/truth-loss.c"
#undef push
#include "../qemu/truth.c"
#include "../../tools-perf/util/ntrace-tv/nt-tv.h"

#define CODE	0x80000000ull
#define NR	4096		/* instructions of the program, 2 bytes each, in one block */

struct options opt = { .pid_offset = -1 };
struct hart *harts[MAX_HARTS];
unsigned int n_harts;

static const struct te_ability te_can = {
	.impl = 0x00010101, .format = 1, .btm = true, .htm = true, .retstack = 1, .syncmodes = 1,
	.filter = { .filters = 1, .privileges = 0xb },
};
static char path[4096];
static struct hart hart, *h = &hart;
static struct block *block;
static unsigned int at;			/* the next instruction */

uint64_t guest_reg(struct hart *hart, enum guest_reg reg)
{
	(void)hart, (void)reg;
	return 0;
}

bool guest_read(uint64_t satp, uint64_t vaddr, void *buf, unsigned int len)
{
	(void)satp, (void)vaddr, (void)buf, (void)len;
	return false;
}

void retire_until(struct hart *hart, const struct insn *last)
{
	(void)hart, (void)last;
}

/* ------------------------------------------------------------- the hart -- */

static void make_block(void)
{
	unsigned int i;

	block = calloc(1, sizeof(*block) + NR * sizeof(block->insn[0]));
	block->pc = CODE;
	block->n = NR;
	for (i = 0; i < NR; i++) {
		block->insn[i].op.pc = CODE + 2 * i;
		block->insn[i].op.len = 2;
		block->insn[i].bits = 1;		/* C.NOP */
		block->insn[i].index = i;
	}
	block->truth = malloc(truth_translate_size(block));
	block->truth_at = calloc(NR + 1, sizeof(block->truth_at[0]));
	truth_translate(block);
}

/* Tracing goes on or off. */
static void trace(bool on)
{
	te_write(&h->te, TE_CONTROL, TE_ACTIVE | TE_MODE_BTM << TE_INST_MODE_SHIFT |
				     (on ? TE_ENABLE | TE_INST_TRACING : 0));
	truth_regs(h, 0);
	truth_gate(h);
}

static int setup(void **state)
{
	const char *tmp = getenv("TMPDIR");
	int fd;

	(void)state;
	memset(h, 0, sizeof(*h));
	snprintf(path, sizeof(path), "%s/loss-test-XXXXXX", tmp ? tmp : "/tmp");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	opt.truth = path;
	te_init(&h->te, &te_can);
	te_write(&h->te, TE_CONTROL, TE_ACTIVE);
	h->next_pc = CODE;
	at = 0;
	truth_init_hart(h);
	loss_begin(h);
	trace(true);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	unlink(path);
	return 0;
}

/* So many instructions retire. What the encoder counts is not asked for, so it is nonsense. */
static void retire(unsigned int n)
{
	h->retired = 1000000 - h->retired;
	assert_true(at + n <= NR);
	at += n;
	h->next_pc = CODE + 2 * at;
	truth_groups(h, block, at - n, at, h->next_pc);
}

/* Likewise, and the encoder says something before each of them: the run is not in the truth yet. */
static void retire_and(unsigned int n, void (*before)(unsigned int i))
{
	assert_true(at + n <= NR);
	h->run = block;
	h->run_truth = at;
	for (n += at; at < n; at++) {
		h->run_at = at;
		before(at);
	}
	h->next_pc = CODE + 2 * at;
	truth_groups(h, block, h->run_truth, at, h->next_pc);
	h->run = NULL;
}

/* ---------------------------------------------------------- the encoder -- */

static void message(unsigned int tcode, unsigned int len)
{
	uint8_t bytes[NT_ENC_MSG_MAX] = { tcode << 2 };

	loss_message(h, bytes, len);
}

/* A message of ten bytes, the sink takes so many of what waits, and the rest waits on. */
static void message_taken(unsigned int tcode, unsigned int taken)
{
	message(tcode, 10);
	loss_taken(h, taken);
	loss_wait(h);
}

#define BRANCH	NT_TCODE_DIRECT_BRANCH
#define SYNC	NT_TCODE_PROG_TRACE_SYNC

/* ------------------------------------------------------------ the truth -- */

struct group {
	unsigned int mark;
	uint64_t unreported, pc;
	bool numbered, is_insn, is_mark;
};

static char text[1 << 16];

static void add_text(const char *format, uint64_t value)
{
	unsigned int len = strlen(text);

	snprintf(text + len, sizeof(text) - len, format, value);
}

static void end_of_insns(unsigned int *insns)
{
	if (*insns)
		add_text(" %" PRIu64, *insns);
	*insns = 0;
}

static void end_of_group(const struct group *g, unsigned int *insns)
{
	static const char *const names[] = {
		[MARK_BEGIN] = " begin", [MARK_END] = " end", [MARK_DROP] = " drop",
		[MARK_RESTART] = " restart",
	};

	*insns += g->is_insn;
	if (!g->is_mark)
		return;
	end_of_insns(insns);
	add_text(names[g->mark], 0);
	if (g->numbered)
		add_text(":%" PRIu64, g->unreported);
	if (g->mark == MARK_RESTART)
		add_text(":%" PRIu64, (g->pc - CODE) / 2);
}

static void note_item(struct group *g, const struct nt_tv_item *item)
{
	g->is_mark |= item->opcode == NT_TV_INIT;
	g->is_insn |= item->opcode == NT_TV_INSN16;
	if (item->opcode == NT_TV_STATE && item->ident == NT_TV_PC)
		g->pc = item->value;
	if (item->opcode == NT_TV_REG && item->reg == REG_MARK)
		g->mark = item->value;
	if (item->opcode == NT_TV_REG && item->reg == REG_UNREPORTED) {
		g->unreported = item->value;
		g->numbered = true;
	}
}

/* All of the truth, as text */
static const char *truth_text(void)
{
	static const struct nt_tv_params params = NT_TV_PARAMS_RV64;
	static uint8_t bytes[4 << 20];
	FILE *file = fopen(path, "r");
	unsigned int insns = 0;
	struct nt_tv_reader reader;
	struct nt_tv_item item;
	struct group g = { 0 };
	size_t len, used = 0;
	int n;

	assert_non_null(file);
	len = fread(bytes, 1, sizeof(bytes), file);
	assert_true(len < sizeof(bytes));
	fclose(file);
	text[0] = '\0';
	assert_int_equal(nt_tv_reader_init(&reader, &params), 0);
	while ((n = nt_tv_next(&reader, bytes + used, len - used, &item)) > 0) {
		used += n;
		if (item.opcode == NT_TV_BEGIN) {
			end_of_group(&g, &insns);
			g = (struct group){ 0 };
		}
		note_item(&g, &item);
	}
	assert_int_equal(n, 0);
	assert_int_equal(used, len);
	end_of_group(&g, &insns);
	end_of_insns(&insns);
	return text + 1;
}

static void expect(const char *want)
{
	trace(false);
	truth_exit(h);
	assert_string_equal(truth_text(), want);
}

/* --------------------------------------------------------------- tests -- */

static void all_is_taken(void **state)
{
	(void)state;
	retire(3);
	message_taken(SYNC, 10);
	retire(4);
	message_taken(BRANCH, 10);
	expect("begin 7 end");
}

/* Nothing says that the encoder lost a message but that there was no room for it. */
static void refused(void **state)
{
	(void)state;
	retire(3);
	message_taken(BRANCH, 10);
	retire(2);
	loss_refused(h);
	retire(4);
	loss_refused(h);
	retire(1);
	message_taken(NT_TCODE_ERROR, 10);
	message_taken(SYNC, 10);
	retire(6);
	expect("begin 5 drop:2 5 restart:10 6 end");
}

/* One arrives in between, but nothing can be told with it before there is a sync message. */
static void refused_again(void **state)
{
	(void)state;
	retire(3);
	loss_refused(h);
	retire(1);
	message_taken(NT_TCODE_ERROR, 10);
	retire(1);
	loss_refused(h);
	retire(1);
	message_taken(BRANCH, 10);
	retire(1);
	message_taken(SYNC, 10);
	expect("begin 3 drop:3 2 drop:5 2 restart:7 end");
}

static void taken_late(void **state)
{
	(void)state;
	retire(3);
	message_taken(BRANCH, 0);
	retire(4);
	message_taken(BRANCH, 5);
	retire(4);
	loss_taken(h, 14);
	retire(1);
	loss_taken(h, 1);
	expect("begin 12 end");
}

/* It was made, but it never came: the mark is where it was made, not where that turned out. */
static void gone(void **state)
{
	(void)state;
	retire(3);
	message_taken(BRANCH, 10);
	retire(2);
	message_taken(BRANCH, 0);
	retire(5);
	message_taken(BRANCH, 0);
	retire(1);
	loss_gone(h);
	retire(1);
	message_taken(SYNC, 10);
	expect("begin 5 drop:2 7 restart:12 end");
}

/* A message is taken when its last byte is. */
static void gone_but_for_some_bytes(void **state)
{
	(void)state;
	retire(3);
	message_taken(BRANCH, 0);
	retire(2);
	message_taken(BRANCH, 19);
	retire(1);
	loss_gone(h);
	expect("begin 5 drop:2 1 end");
}

/* The encoder says that it goes on; nobody hears of it. */
static void sync_that_is_made_and_gone(void **state)
{
	(void)state;
	retire(3);
	loss_refused(h);
	retire(2);
	message_taken(NT_TCODE_ERROR, 0);
	message_taken(SYNC, 0);
	retire(2);
	message_taken(BRANCH, 0);
	loss_gone(h);
	retire(2);
	message_taken(SYNC, 10);
	retire(1);
	expect("begin 3 drop:3 6 restart:9 1 end");
}

/* What is told again begins where the sync message was made, however late it arrives. */
static void sync_that_is_late(void **state)
{
	(void)state;
	retire(3);
	loss_refused(h);
	retire(2);
	message_taken(NT_TCODE_ERROR, 0);
	message_taken(SYNC, 0);
	retire(2);
	loss_taken(h, 19);
	retire(2);
	loss_taken(h, 1);
	expect("begin 3 drop:3 2 restart:5 4 end");
}

/* Behind a loss only a whole sync message counts. */
static void first_behind_a_loss(void **state)
{
	(void)state;
	retire(3);
	message_taken(BRANCH, 4);
	retire(1);
	loss_gone(h);
	retire(1);
	message_taken(BRANCH, 10);
	retire(1);
	message_taken(SYNC, 9);
	retire(1);
	loss_gone(h);
	retire(1);
	message_taken(SYNC, 10);
	expect("begin 3 drop:3 3 drop:1 2 restart:8 end");
}

/* ResourceFull, Ownership and Error do not tell how far execution has come. */
static void messages_that_tell_nothing(void **state)
{
	(void)state;
	retire(3);
	message_taken(BRANCH, 10);
	retire(1);
	message_taken(NT_TCODE_RESOURCE_FULL, 10);
	retire(1);
	message_taken(NT_TCODE_OWNERSHIP, 10);
	retire(1);
	message_taken(NT_TCODE_ERROR, 10);
	retire(1);
	loss_refused(h);
	expect("begin 7 drop:4 end");
}

/* Whether one that waits arrives decides what of those before a refused one is told. */
static void refused_behind_what_waits(void **state)
{
	(void)state;
	retire(3);
	message_taken(BRANCH, 0);
	retire(2);
	loss_refused(h);
	retire(2);
	loss_refused(h);
	retire(1);
	loss_taken(h, 10);
	retire(1);
	message_taken(SYNC, 10);
	expect("begin 5 drop:2 4 restart:9 end");
}

static void gone_with_a_refused_one(void **state)
{
	(void)state;
	retire(3);
	message_taken(BRANCH, 0);
	retire(2);
	loss_refused(h);
	retire(2);
	loss_gone(h);
	expect("begin 3 drop:3 4 end");
}

/* In the middle of a run that is accounted for as a whole */
static void say(unsigned int i)
{
	if (i == 2)
		message_taken(BRANCH, 10);
	if (i == 5)
		loss_refused(h);
	if (i == 8)
		message_taken(SYNC, 0);
	if (i == 9)
		loss_taken(h, 10);
}

static void inside_a_run(void **state)
{
	(void)state;
	retire_and(12, say);
	expect("begin 5 drop:3 3 restart:8 4 end");
}

/* Stretches that begin while something waits go with it. */
static void stretches_that_are_gone(void **state)
{
	(void)state;
	retire(3);
	message_taken(BRANCH, 10);
	retire(1);
	message_taken(BRANCH, 0);
	trace(false);
	trace(true);
	message_taken(SYNC, 0);
	retire(2);
	trace(false);
	trace(true);
	message_taken(SYNC, 0);
	retire(3);
	loss_gone(h);
	retire(1);
	message_taken(SYNC, 10);
	expect("begin 4 drop:1 end begin drop 2 end begin drop 4 restart:10 end");
}

static void stretches_that_arrive(void **state)
{
	(void)state;
	retire(3);
	message_taken(BRANCH, 0);
	trace(false);
	trace(true);
	message_taken(SYNC, 0);
	retire(2);
	loss_taken(h, 20);
	expect("begin 3 end begin 2 end");
}

/* The first of them is told of, the second is not. */
static void stretches_of_which_one_arrives(void **state)
{
	(void)state;
	retire(3);
	message_taken(BRANCH, 0);
	trace(false);
	trace(true);
	message_taken(SYNC, 0);
	retire(2);
	loss_taken(h, 20);
	message_taken(BRANCH, 0);
	trace(false);
	trace(true);
	message_taken(SYNC, 0);
	retire(2);
	loss_gone(h);
	expect("begin 3 end begin 2 drop:2 end begin drop 2 end");
}

static void stretch_within_a_loss(void **state)
{
	(void)state;
	retire(3);
	loss_refused(h);
	retire(1);
	trace(false);
	trace(true);
	loss_refused(h);
	retire(2);
	trace(false);
	trace(true);
	message_taken(SYNC, 10);
	retire(1);
	trace(false);
	trace(true);
	retire(1);
	expect("begin 3 drop:3 1 end begin drop 2 end begin drop restart:6 1 end begin 1 end");
}

/* What waits may arrive, but the refused one behind it does not. */
static void stretch_behind_a_refused_one(void **state)
{
	(void)state;
	retire(3);
	message_taken(BRANCH, 0);
	retire(1);
	loss_refused(h);
	trace(false);
	trace(true);
	retire(2);
	loss_taken(h, 10);
	message_taken(SYNC, 10);
	expect("begin 4 drop:1 end begin drop 2 restart:6 end");
}

/* The loss ends with a sync message that waits, if that arrives. */
static void stretch_behind_a_sync_that_waits(void **state)
{
	(void)state;
	retire(3);
	loss_refused(h);
	retire(1);
	message_taken(SYNC, 0);
	retire(1);
	trace(false);
	trace(true);
	message_taken(SYNC, 0);
	retire(2);
	loss_taken(h, 20);
	expect("begin 3 drop:3 1 restart:4 1 end begin 2 end");
}

static void stretch_behind_what_is_gone(void **state)
{
	(void)state;
	retire(3);
	message_taken(BRANCH, 0);
	loss_gone(h);
	retire(1);
	trace(false);
	trace(true);
	retire(2);
	message_taken(SYNC, 10);
	expect("begin 3 drop:3 1 end begin drop 2 restart:6 end");
}

/* The mark of a refused one moves what is behind it, as long as other messages wait. */
static void stretch_that_is_gone_behind_a_refused_one(void **state)
{
	(void)state;
	retire(3);
	message_taken(BRANCH, 0);
	retire(1);
	loss_refused(h);
	retire(1);
	message_taken(SYNC, 0);
	retire(1);
	trace(false);
	trace(true);
	message_taken(SYNC, 0);
	retire(2);
	loss_taken(h, 10);
	loss_gone(h);
	expect("begin 4 drop:1 2 end begin drop 2 end");
}

/* A sync message between stretches ends the loss; the next stretch has one of its own. */
static void sync_between_stretches(void **state)
{
	(void)state;
	retire(3);
	loss_refused(h);
	trace(false);
	message_taken(SYNC, 10);
	trace(true);
	retire(1);
	expect("begin 3 drop:3 end begin 1 end");
}

/* Enabled again, an encoder knows nothing of what was; as long as nothing waits. */
static void begun_anew(void **state)
{
	(void)state;
	retire(3);
	loss_refused(h);
	retire(1);
	trace(false);
	loss_begin(h);
	trace(true);
	message_taken(SYNC, 10);
	retire(2);
	loss_refused(h);
	expect("begin 3 drop:3 1 end begin 2 drop:2 end");
}

static void not_begun_anew_while_one_waits(void **state)
{
	(void)state;
	retire(3);
	message_taken(BRANCH, 0);
	retire(1);
	trace(false);
	loss_begin(h);
	trace(true);
	message_taken(SYNC, 0);
	retire(2);
	loss_gone(h);
	expect("begin 3 drop:3 1 end begin drop 2 end");
}

static long written(void)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_size;
}

#define TIMES	60

/* Two megabytes of truth, from the block's first instruction on */
static void retire_much(void)
{
	unsigned int i;

	for (i = 0; i < TIMES; i++)
		truth_groups(h, block, 0, NR, CODE);
	at = 0;
	h->next_pc = CODE;
}

/* Nothing is written as long as it may get a mark. */
static void held_back(void **state)
{
	char want[80];
	long before;

	(void)state;
	message_taken(BRANCH, 0);
	retire_much();
	assert_int_equal(written(), 0);
	loss_gone(h);
	before = written();
	assert_true(before > 1 << 20);
	retire_much();
	assert_true(written() > before);
	snprintf(want, sizeof(want), "begin drop:0 %u end", 2 * TIMES * NR);
	expect(want);
}

/* A stretch that arrived is none of those that begin when something waits again. */
static void held_back_twice(void **state)
{
	char want[80];

	(void)state;
	message_taken(BRANCH, 0);
	retire_much();
	trace(false);
	trace(true);
	message_taken(SYNC, 0);
	loss_taken(h, 20);
	assert_true(written() > 1 << 20);
	message_taken(BRANCH, 0);
	retire(1);
	loss_gone(h);
	snprintf(want, sizeof(want), "begin %u end begin drop:0 1 end", TIMES * NR);
	expect(want);
}

static void not_held_back(void **state)
{
	(void)state;
	message_taken(BRANCH, 10);
	retire_much();
	assert_int_not_equal(written(), 0);
	truth_exit(h);
}

/* --------------------------------------------------------- by chance -- */

struct made {
	unsigned int tcode, at, len;
	bool taken;
};

/* What the marks have to be, after all */
static void expect_fates(const struct made *m, unsigned int n)
{
	bool dropping = false, lost = false;
	unsigned int told = 0, done = 0;
	static char want[1 << 16];
	char *p = want;

	p += sprintf(p, "begin");
	for (; n--; m++) {
		bool drop = !m->taken && !dropping;
		bool restart = m->taken && lost && m->tcode == SYNC;

		if ((drop || restart) && m->at > done) {
			p += sprintf(p, " %u", m->at - done);
			done = m->at;
		}
		if (drop)
			p += sprintf(p, " drop:%u", m->at - told);
		if (restart)
			p += sprintf(p, " restart:%u", m->at);
		dropping = !m->taken;
		lost = (lost && !restart) || dropping;
		if (m->taken && m->tcode != NT_TCODE_ERROR && m->tcode != NT_TCODE_OWNERSHIP &&
		    m->tcode != NT_TCODE_RESOURCE_FULL)
			told = m->at;
	}
	if (at > done)
		p += sprintf(p, " %u", at - done);
	sprintf(p, " end");
	expect(want);
}

/*
 * Of the messages that wait, from `first` on, those that `bytes` complete are taken; what is left
 * of the bytes is of the next. A refused one has none, and is not.
 */
static unsigned int take(struct made *m, unsigned int first, unsigned int n, unsigned int *bytes)
{
	for (; first < n && *bytes >= m[first].len; first++) {
		*bytes -= m[first].len;
		m[first].taken = m[first].len > 0;
	}
	return first;
}

static void one_by_chance(void)
{
	static const uint8_t tcodes[] = {
		BRANCH, BRANCH, BRANCH, SYNC, NT_TCODE_ERROR, NT_TCODE_OWNERSHIP,
		NT_TCODE_RESOURCE_FULL,
	};
	static struct made m[1000];
	unsigned int n = 0, first = 0, sum, waiting = 0, rest = 0, lazy = 2 + rnd(40);

	while (n < 900 && at < NR - 4) {
		retire(rnd(4));
		if (rnd(10) == 0) {
			m[n++] = (struct made){ .at = at };
			loss_refused(h);
		} else {
			m[n] = (struct made){ tcodes[rnd(sizeof(tcodes))], at, 1 + rnd(20), false };
			message(m[n].tcode, m[n].len);
			waiting += m[n++].len;
			loss_wait(h);
		}
		if (rnd(lazy) == 0) {
			sum = rnd(waiting + 1);
			loss_taken(h, sum);
			waiting -= sum;
			rest += sum;
			first = take(m, first, n, &rest);
		}
		if (rnd(3 * lazy) == 0) {
			loss_gone(h);
			waiting = rest = 0;
			first = n;
		}
	}
	loss_gone(h);
	expect_fates(m, n);
}

static void by_chance(void **state)
{
	unsigned long n = rounds(300);

	(void)state;
	while (n--) {
		one_by_chance();
		unlink(path);
		setup(NULL);
	}
	truth_exit(h);
}

#define TEST(name)	cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(all_is_taken),
		TEST(refused),
		TEST(refused_again),
		TEST(taken_late),
		TEST(gone),
		TEST(gone_but_for_some_bytes),
		TEST(sync_that_is_made_and_gone),
		TEST(sync_that_is_late),
		TEST(first_behind_a_loss),
		TEST(messages_that_tell_nothing),
		TEST(refused_behind_what_waits),
		TEST(gone_with_a_refused_one),
		TEST(inside_a_run),
		TEST(stretches_that_are_gone),
		TEST(stretches_that_arrive),
		TEST(stretches_of_which_one_arrives),
		TEST(stretch_within_a_loss),
		TEST(stretch_behind_a_refused_one),
		TEST(stretch_behind_a_sync_that_waits),
		TEST(stretch_behind_what_is_gone),
		TEST(stretch_that_is_gone_behind_a_refused_one),
		TEST(sync_between_stretches),
		TEST(begun_anew),
		TEST(not_begun_anew_while_one_waits),
		TEST(held_back),
		TEST(held_back_twice),
		TEST(not_held_back),
		TEST(by_chance),
	};

	rnd_begin();
	make_block();
	return RUN_TAP(tests);
}
