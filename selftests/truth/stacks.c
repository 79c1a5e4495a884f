// SPDX-License-Identifier: GPL-2.0-only
/*
 * Call chains and branch stacks, computed from retired instructions by these rules:
 *
 * Branch stack: the newest branches of the sample's task, on any CPU. Branches are all taken
 * transfers and all traps. The beginning (from 0) and the end (to 0) of trace count, too,
 * unless trace continues where it ended.
 *
 * Call chain: all calls that were entered and have not returned. A call returns when a return
 * goes to the address after it (a trap: to the interrupted instruction, or after its ECALL).
 * Later calls that have not returned by themselves end then, too. Reasons are longjmp, a
 * handled signal, or another path through the kernel's context switch. So a frame that longjmp
 * left stays until an outer call returns. Tail calls are jumps. Where trace does not continue
 * where it ended (at the beginning or the end of a signal handler), a return may be missing.
 *
 * After a loss nothing is known. A new program has no callers.
 */
#include <stdlib.h>
#include <string.h>

#include "stacks.h"

struct stacks {
	struct last_branch last[LAST_MAX];	/* a ring, the newest at nr - 1 */
	uint64_t nr;
	uint64_t *calls;			/* return addresses, the innermost one last */
	unsigned int depth, room;
};

struct stacks *stacks_new(void)
{
	struct stacks *s = calloc(1, sizeof(*s));

	if (!s)
		die("out of memory");
	return s;
}

unsigned int stacks_depth(const struct stacks *s)
{
	return s->depth;
}

static void add_last(struct stacks *s, uint64_t from, uint64_t to, uint32_t types)
{
	s->last[s->nr++ % LAST_MAX] = (struct last_branch) { from, to, types };
}

static void call(struct stacks *s, uint64_t back)
{
	if (s->depth == s->room) {
		s->room = s->room ? 2 * s->room : 64;
		s->calls = realloc(s->calls, s->room * sizeof(*s->calls));
		if (!s->calls)
			die("out of memory");
	}
	s->calls[s->depth++] = back;
}

static void back(struct stacks *s, uint64_t to)
{
	for (unsigned int i = s->depth; i--;)
		if (s->calls[i] == to) {
			s->depth = i;
			return;
		}
}

/* An ECALL from U mode is the only trap that returns after its instruction. */
static uint64_t trap_return(const struct truth_event *ev)
{
	return ev->value == 8 ? ev->pc + 4 : ev->pc;
}

void stacks_branch(struct stacks *s, const struct truth_event *ev)
{
	enum xfer x = truth_xfer(ev);

	add_last(s, ev->pc, ev->next, 1u << x);
	switch (x) {
	case X_CALL:
	case X_ICALL:
	case X_SWAP:
		if (ev->next != ev->pc + ev->len)
			call(s, ev->pc + ev->len);
		break;
	case X_EXCEPTION:
	case X_INTERRUPT:
		call(s, trap_return(ev));
		break;
	case X_RET:
	case X_ERET:
		back(s, ev->next);
		break;
	default:
		break;
	}
}

void stacks_end(struct stacks *s, uint64_t from)
{
	add_last(s, from, 0, 0);
}

void stacks_begin(struct stacks *s, uint64_t to, bool joined)
{
	add_last(s, 0, to, 0);
	if (!joined)
		back(s, to);
}

void stacks_forget(struct stacks *s)
{
	s->nr = 0;
	s->depth = 0;
}

/* ----------------------------------------------------------------- samples */

static const struct {
	const char *name;
	uint32_t types;
} entry_types[] = {
	{ "COND", 1u << X_COND }, { "UNCOND", 1u << X_JUMP },
	{ "IND", 1u << X_IJUMP | 1u << X_SWAP }, { "CALL", 1u << X_CALL },
	{ "IND_CALL", 1u << X_ICALL },
	{ "RET", 1u << X_RET }, { "IRQ", 1u << X_INTERRUPT }, { "SYSCALL", 1u << X_EXCEPTION },
	{ "SYSRET", 1u << X_ERET }, { "ERET", 1u << X_ERET },
};

/* perf has no name for exceptions other than system calls, nor for beginnings and ends. */
static uint32_t types_named(const char *p, size_t len)
{
	for (size_t i = 0; i < sizeof(entry_types) / sizeof(*entry_types); i++)
		if (strlen(entry_types[i].name) == len && !memcmp(entry_types[i].name, p, len))
			return entry_types[i].types;
	return 1u << X_EXCEPTION;
}

void sample_begin(struct sample *s, const struct line *line)
{
	s->number = line->number;
	s->tid = line->tid;
	s->cpu = line->cpu;
	s->chain_nr = s->last_nr = 0;
}

/* FROM/TO/P/-/-/CYCLES/TYPE/-: the seventh word is the type */
static uint32_t entry_type(const char *p, const char *end)
{
	const char *slash = NULL;

	for (int i = 0; i < 4; i++, p = slash + 1)
		if (!(slash = memchr(p, '/', (size_t)(end - p))))
			return 0;
	slash = memchr(p, '/', (size_t)(end - p));
	return types_named(p, (size_t)((slash ? slash : end) - p));
}

static void add_entries(struct sample *s, const struct line *line)
{
	const char *p = line->text, *end = p + line->len, *stop;
	char *next;

	while (p < end) {
		if (*p == ' ') {
			p++;
			continue;
		}
		stop = memchr(p, ' ', (size_t)(end - p));
		stop = stop ? stop : end;
		if (s->last_nr > LAST_MAX)
			die("decoded line %llu: more branches than were asked for",
			    (unsigned long long)line->number);
		s->last[s->last_nr].from = strtoull(p, &next, 16);
		if (*next != '/')
			die("decoded line %llu: no stack of branches",
			    (unsigned long long)line->number);
		s->last[s->last_nr].to = strtoull(next + 1, &next, 16);
		s->last[s->last_nr++].types = *next == '/' ? entry_type(next + 1, stop) : 0;
		p = stop;
	}
}

void sample_add(struct sample *s, const struct line *line)
{
	if (!s->number)
		die("decoded line %llu: of no sample", (unsigned long long)line->number);
	if (line->kind == LINE_LAST)
		add_entries(s, line);
	else if (s->chain_nr < sizeof(s->chain) / sizeof(*s->chain))
		s->chain[s->chain_nr++] = line->from;
}

/* -------------------------------------------------------------- comparison */

static const struct last_branch *newest(const struct stacks *s, uint64_t age)
{
	return &s->last[(s->nr - 1 - age) % LAST_MAX];
}

static const char *compare_last(const struct stacks *s, const struct sample *sample,
				unsigned int last, bool *fewer)
{
	uint64_t there = s->nr < last ? s->nr : last;

	for (unsigned int i = 0; i < sample->last_nr; i++) {
		if (i >= there)
			return "more branches than there were";
		if (newest(s, i)->from != sample->last[i].from ||
		    newest(s, i)->to != sample->last[i].to)
			return "another branch in the stack";
		if (newest(s, i)->types && !(newest(s, i)->types & sample->last[i].types))
			return "another type in the stack";
	}
	*fewer |= sample->last_nr < there;
	return NULL;
}

const char *stacks_compare(const struct stacks *s, const struct sample *sample, uint64_t ip,
			   unsigned int chain, unsigned int last, bool *fewer)
{
	if (!sample->chain_nr)
		return "no call chain";
	if (sample->chain[0] != ip)
		return "the sample is elsewhere";
	for (unsigned int i = 1; i < sample->chain_nr; i++) {
		if (i > s->depth)
			return "more callers than there were";
		if (sample->chain[i] != s->calls[s->depth - i])
			return "another caller";
	}
	/* perf's limit includes the markers between user and kernel, which it does not print */
	*fewer = sample->chain_nr < s->depth + 1 && sample->chain_nr + 4 < chain;
	return compare_last(s, sample, last, fewer);
}

#define SHOWN	12

void stacks_show(const struct stacks *s, const struct sample *sample, FILE *f)
{
	unsigned int i;

	fprintf(f, "# callers, true and sampled: %u, %u\n", s->depth, sample->chain_nr - 1);
	for (i = 0; i < SHOWN && (i < s->depth || i + 1 < sample->chain_nr); i++)
		fprintf(f, "#   %16llx %16llx\n",
			(unsigned long long)(i < s->depth ? s->calls[s->depth - 1 - i] : 0),
			(unsigned long long)(i + 1 < sample->chain_nr ? sample->chain[i + 1] : 0));
	fprintf(f, "# branches, true and sampled: %llu in all, %u\n", (unsigned long long)s->nr,
		sample->last_nr);
	for (i = 0; i < SHOWN && (i < s->nr || i < sample->last_nr); i++) {
		struct last_branch none = { 0 }, t = i < s->nr ? *newest(s, i) : none;
		struct last_branch d = i < sample->last_nr ? sample->last[i] : none;

		fprintf(f, "#   %16llx -> %16llx  %16llx -> %16llx\n", (unsigned long long)t.from,
			(unsigned long long)t.to, (unsigned long long)d.from,
			(unsigned long long)d.to);
	}
}
