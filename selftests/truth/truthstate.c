// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checks the truth: compares the truth stream of a hart with its full state of the same run. The
 * model writes the two by different means: the truth from blocks of code and how many of their
 * instructions retired, the state from a callback before every instruction. Here the privilege and
 * pc of the state decide which instructions are traced, not the registers of the trace hardware.
 *
 * The hart's counter is a third source: the difference between the first and the last value of
 * `minstret' that the program reads must be the number of instructions in the truth between the two
 * reads (with -icount only; without it QEMU does not count instructions).
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nt-tv.h"
#include "truth.h"

enum { MCAUSE = 0x342, SCAUSE = 0x142 };

#define EBREAK		0x100073
#define SLLI_BEFORE_EBREAK	0x01f01013	/* slli zero, zero, 31: begins a semihosting call */
/* csrr RD, minstret */
#define READS_MINSTRET(insn)	(((insn) & 0xfffff07f) == 0xb0202073)
#define CONTEXT		6
#define BUF_SIZE	(1u << 16)

/* Content of a group of the state */
struct group {
	uint64_t pc, cause;
	uint32_t insn;
	uint8_t len, priv;
	bool has_pc, has_cause, has_priv, incpc, init;
};

struct state {
	FILE *file;
	struct nt_tv_reader reader;
	uint8_t buf[BUF_SIZE];
	size_t at, len;
	struct group group;
	bool open;
	uint64_t pc;
	uint8_t priv;
};

/* An instruction or trap of the state */
struct step {
	struct truth_event ev;
	uint8_t priv, after;		/* privilege before and after it */
};

struct check {
	struct state state;
	struct truth *truth;
	unsigned int privileges;	/* mask of traced privileges */
	uint64_t from, to;		/* range of traced addresses */
	uint64_t base;			/* code below (QEMU's boot ROM) is not traced */
	bool begun, by_address;
	bool called;			/* the last instruction was a semihosting call */
	uint64_t insns, traps, stretches;
	uint64_t first, last;		/* instructions before first and last read of minstret */
	unsigned int looks;
	struct truth_event past[CONTEXT];
	uint64_t npast;
};

/* ------------------------------------------------------------------ the state */

/* Returns false at the end */
static bool next_item(struct state *s, struct nt_tv_item *it)
{
	int n;

	while (!(n = nt_tv_next(&s->reader, s->buf + s->at, s->len - s->at, it))) {
		s->len -= s->at;
		memmove(s->buf, s->buf + s->at, s->len);
		s->at = 0;
		n = (int)fread(s->buf + s->len, 1, BUF_SIZE - s->len, s->file);
		if (n <= 0)
			return false;
		s->len += (size_t)n;
	}
	if (n < 0)
		die("state: offset %llu: %s", (unsigned long long)s->reader.offset,
		    nt_tv_strerror(n));
	s->at += (size_t)n;
	return true;
}

static void note_item(struct state *s, const struct nt_tv_item *it)
{
	struct group *g = &s->group;

	switch (it->opcode) {
	case NT_TV_INSN16:
	case NT_TV_INSN32:
		g->insn = (uint32_t)it->value;
		g->len = it->bytes;
		break;
	case NT_TV_INCPC:
		g->incpc = true;
		break;
	case NT_TV_INIT:
		g->init = true;
		break;
	case NT_TV_STATE:
		if (it->ident == NT_TV_PC) {
			g->has_pc = true;
			g->pc = it->value;
		} else if (it->ident == NT_TV_PRIV) {
			g->has_priv = true;
			g->priv = (uint8_t)it->value;
		}
		break;
	case NT_TV_REG:
		if (it->reg == MCAUSE || it->reg == SCAUSE) {
			g->has_cause = true;
			g->cause = it->value;
		}
		break;
	}
}

/* A group is complete. Returns whether it is an instruction or a trap. */
static bool end_group(struct state *s, struct step *step)
{
	const struct group *g = &s->group;
	bool trap = g->has_cause && g->has_priv && g->has_pc;
	bool event = !g->init && (g->len || trap);

	*step = (struct step) {
		.ev = { .kind = trap ? TRUTH_TRAP : TRUTH_INSN, .pc = s->pc, .insn = g->insn,
			.len = g->len, .value = g->cause,
			.next = g->has_pc ? g->pc : s->pc + g->len },
		.priv = s->priv, .after = g->has_priv ? g->priv : s->priv,
	};
	if (event || g->has_pc)
		s->pc = step->ev.next;
	s->priv = step->after;
	return event;
}

static bool next_step(struct state *s, struct step *step)
{
	struct nt_tv_item it;

	while (next_item(s, &it)) {
		if (it.opcode == NT_TV_BEGIN) {
			s->open = true;
			s->group = (struct group) { 0 };
		} else if (it.opcode == NT_TV_END) {
			s->open = false;
			if (end_group(s, step))
				return true;
		} else if (s->open) {
			note_item(s, &it);
		}
	}
	return false;
}

/* -------------------------------------------------------------- what is traced */

static bool in_range(const struct check *c, uint64_t pc)
{
	return pc >= c->from && pc < c->to;
}

/*
 * A trap is recorded if both privileges are traced. An EBREAK that retired is a semihosting call,
 * which enters debug mode. Afterwards recording begins with the next instruction, also if a trap
 * comes first.
 */
static bool is_traced(struct check *c, const struct step *step)
{
	bool called = c->called;

	c->called = step->ev.kind == TRUTH_INSN && step->ev.len == 4 && step->ev.insn == EBREAK;
	if (!c->begun && step->ev.pc < c->base)
		return false;
	c->begun = true;
	if (!(c->privileges >> step->priv & 1))
		return false;
	if (step->ev.kind == TRUTH_TRAP)
		return c->privileges >> step->after & 1 && !c->by_address && !called;
	return in_range(c, step->ev.pc) && !c->called;
}

static bool expected(struct check *c, struct step *step)
{
	while (next_step(&c->state, step))
		if (is_traced(c, step))
			return true;
	return false;
}

/* The next instruction or trap of the truth; with address filters traps do not count */
static const struct truth_event *told(struct check *c)
{
	const struct truth_event *ev;

	while ((ev = truth_peek(c->truth, 0))) {
		if (ev->kind == TRUTH_INSN || (ev->kind == TRUTH_TRAP && !c->by_address))
			return ev;
		c->stretches += ev->kind == TRUTH_BEGIN;
		truth_pop(c->truth);
	}
	return NULL;
}

/* ------------------------------------------------------------------ comparison */

static void show(const char *who, const struct truth_event *ev)
{
	printf("# %s %16llx %08x/%u -> %llx%s", who, (unsigned long long)ev->pc, ev->insn, ev->len,
	       (unsigned long long)ev->next, ev->kind == TRUTH_TRAP ? " trap" : "");
	if (ev->kind == TRUTH_TRAP)
		printf(" cause %llx", (unsigned long long)ev->value);
	putchar('\n');
}

static void __attribute__((noreturn))
differ(struct check *c, const char *why, const struct truth_event *truth, const struct step *step)
{
	printf("different after %llu instructions, %llu traps: %s\n", (unsigned long long)c->insns,
	       (unsigned long long)c->traps, why);
	for (uint64_t i = c->npast > CONTEXT ? c->npast - CONTEXT : 0; i < c->npast; i++)
		show("both ", &c->past[i % CONTEXT]);
	if (truth)
		show("truth", truth);
	if (step)
		show("state", &step->ev);
	exit(1);
}

static bool same(const struct truth_event *a, const struct truth_event *b)
{
	return a->kind == b->kind && a->pc == b->pc && a->next == b->next && a->insn == b->insn &&
	       a->len == b->len && a->value == b->value;
}

/*
 * Is this the semihosting call that ends the emulator? Its block never ends, so it is not recorded.
 */
static bool is_exit(struct check *c, const struct step *step)
{
	struct step next;

	return step->ev.len == 4 && step->ev.insn == SLLI_BEFORE_EBREAK && !expected(c, &next);
}

/* Count an event of the truth like minstret, which does not count traps */
static void count(struct check *c, const struct truth_event *ev)
{
	if (ev->kind != TRUTH_INSN)
		return;
	if (ev->len == 4 && READS_MINSTRET(ev->insn)) {
		if (!c->looks++)
			c->first = c->insns;
		c->last = c->insns;
	}
	c->insns++;
}

static void compare(struct check *c)
{
	const struct truth_event *ev;
	struct step step;

	while (expected(c, &step)) {
		ev = told(c);
		if (!ev && is_exit(c, &step))
			break;
		if (!ev)
			differ(c, "the state goes on", NULL, &step);
		if (!same(ev, &step.ev))
			differ(c, "not the same", ev, &step);
		c->past[c->npast++ % CONTEXT] = *ev;
		count(c, ev);
		c->traps += ev->kind == TRUTH_TRAP;
		truth_pop(c->truth);
	}
	ev = told(c);
	if (ev)
		differ(c, "the truth goes on", ev, NULL);
}

/* Without a state, count the truth only, to compare it with minstret */
static void count_all(struct check *c)
{
	const struct truth_event *ev;

	for (; (ev = told(c)); truth_pop(c->truth)) {
		count(c, ev);
		c->traps += ev->kind == TRUTH_TRAP;
	}
}

static void __attribute__((noreturn)) usage(int status)
{
	fputs("usage: truthstate --truth STREAM [--state FILE] [OPTION...]\n"
	      "  --privileges MASK   bit 0 U, 1 S, 3 M (all)\n"
	      "  --range FROM:TO     addresses that are traced, TO not included; traps are not compared\n"
	      "  --base ADDR         the program's first address (0x80000000)\n"
	      "  --insns N           at least so many instructions\n"
	      "  --counted N         what minstret grew by from the first to the last read; needs -icount\n"
	      "Exit status: 0 equal, 1 different or too little, 2 unusable.\n",
	      status ? stderr : stdout);
	exit(status);
}

static uint64_t number(const char *text)
{
	char *end;
	uint64_t value = strtoull(text, &end, 0);

	if (end == text || *end)
		die("%s: not a number", text);
	return value;
}

static void set_range(struct check *c, const char *text)
{
	char *end;

	c->by_address = true;
	c->from = strtoull(text, &end, 0);
	if (*end != ':')
		die("--range %s: not FROM:TO", text);
	c->to = number(end + 1);
}

static void open_state(struct state *s, const char *name)
{
	s->file = fopen(name, "rb");
	if (!s->file)
		die("%s: cannot be opened", name);
}

int main(int argc, char **argv)
{
	static const struct nt_tv_params params = NT_TV_PARAMS_RV64;
	static const struct option options[] = {
		{ "truth", 1, NULL, 't' }, { "state", 1, NULL, 's' },
		{ "privileges", 1, NULL, 'p' }, { "range", 1, NULL, 'r' }, { "base", 1, NULL, 'b' },
		{ "insns", 1, NULL, 'i' }, { "counted", 1, NULL, 'c' }, { "help", 0, NULL, 'h' },
		{ 0 },
	};
	static struct check c = { .privileges = 0xb, .to = UINT64_MAX, .base = 0x80000000 };
	uint64_t least = 1, counted = UINT64_MAX;
	int opt;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (opt) {
		case 't': c.truth = truth_open(optarg); break;
		case 's': open_state(&c.state, optarg); break;
		case 'p': c.privileges = (unsigned int)number(optarg); break;
		case 'r': set_range(&c, optarg); break;
		case 'b': c.base = number(optarg); break;
		case 'i': least = number(optarg); break;
		case 'c': counted = number(optarg); break;
		default: usage(opt == 'h' ? 0 : 2);
		}
	}
	if (!c.truth || (!c.state.file && counted == UINT64_MAX) || optind != argc)
		usage(2);
	nt_tv_reader_init(&c.state.reader, &params);
	if (c.state.file)
		compare(&c);
	else
		count_all(&c);
	if (counted != UINT64_MAX && (c.looks < 2 || c.last - c.first != counted)) {
		printf("different: %u looks at minstret, which grew by %llu, while %llu were executed\n",
		       c.looks, (unsigned long long)counted,
		       (unsigned long long)(c.last - c.first));
		return 1;
	}
	printf("%s insns=%llu traps=%llu stretches=%llu counted=%llu\n",
	       c.insns < least ? "too little:" : "equal", (unsigned long long)c.insns,
	       (unsigned long long)c.traps, (unsigned long long)c.stretches,
	       (unsigned long long)(c.last - c.first));
	return c.insns < least;
}
