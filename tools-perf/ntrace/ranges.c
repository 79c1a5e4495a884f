// SPDX-License-Identifier: GPL-2.0-only
/*
 * From counts of transfers to counts of linear runs: as much flows out of an
 * instruction as flows in, so one pass over the code in the order of addresses
 * finds what falls through.
 */
#include <stdlib.h>

#include "profile.h"

#define MERGE	65536	/* points, before those at one address become one */

struct sweep {
	struct ranges *ranges;
	struct nt_code *code;
	struct point *next, *end;
	struct range *open;	/* begun, the oldest first; `end` not yet known */
	size_t first, n;
	uint64_t flow;		/* the sum of their counts */
};

static int compare(const void *a, const void *b)
{
	const struct point *x = a, *y = b;

	return x->pc < y->pc ? -1 : x->pc > y->pc;
}

static void merge(struct points *points)
{
	size_t i, n = 0;

	if (points->n)
		qsort(points->list, points->n, sizeof(*points->list), compare);
	for (i = 0; i < points->n; i++) {
		const struct point *p = &points->list[i];
		struct point *to;

		if (!n || points->list[n - 1].pc != p->pc) {
			points->list[n++] = *p;
			continue;
		}
		to = &points->list[n - 1];
		to->in += p->in;
		to->back += p->back;
		to->out += p->out;
		to->away += p->away;
		to->lost += p->lost;
	}
	points->n = n;
}

struct point *points_add(struct points *points, uint64_t pc)
{
	/* a trace may stop and start many times at few places */
	if (points->n >= MERGE && points->n >= 2 * points->merged) {
		merge(points);
		points->merged = points->n;
	}
	points->list = array_room(points->list, points->n, sizeof(*points->list));
	points->list[points->n] = (struct point){ .pc = pc };
	return &points->list[points->n++];
}

static void begin(struct sweep *s, uint64_t pc, uint64_t count)
{
	if (!count)
		return;
	if (s->first == s->n)
		s->first = s->n = 0;
	s->open = array_room(s->open, s->n, sizeof(*s->open));
	s->open[s->n++] = (struct range){ pc, 0, count };
	s->flow += count;
}

/* `count` of them end, with the instruction `last`, before reaching pc. */
static void end(struct sweep *s, uint64_t last, uint64_t pc, uint64_t count)
{
	struct ranges *r = s->ranges;

	while (count && s->first < s->n) {
		struct range *open = &s->open[s->first];
		uint64_t part = count < open->count ? count : open->count;

		/* one that began at pc has nothing in it */
		if (open->start != pc) {
			r->list = array_room(r->list, r->n, sizeof(*r->list));
			r->list[r->n++] = (struct range){ open->start, last, part };
		}
		open->count -= part;
		s->flow -= part;
		count -= part;
		s->first += !open->count;
	}
	r->unmatched += count;
}

/* What goes away and comes back has not gone away. */
static void join(uint64_t *away, uint64_t *back)
{
	uint64_t both = *away < *back ? *away : *back;

	*away -= both;
	*back -= both;
}

static void give_up(struct sweep *s)
{
	s->ranges->unmatched += s->flow;
	s->flow = 0;
	s->first = s->n = 0;
}

/* From one instruction to the next as long as something flows. */
static void follow(struct sweep *s, uint64_t pc)
{
	uint64_t last = pc;

	do {
		struct point *p = s->next < s->end && s->next->pc == pc ? s->next++ : NULL;
		struct nt_insn insn;
		int len = nt_code_insn(s->code, pc, &insn);

		if (p) {
			join(&p->away, &p->back);
			/* an ECALL is executed, but never retires */
			if (len > 0 && (insn.flags & NT_INSN_TRAPS) && s->next < s->end &&
			    s->next->pc == pc + len)
				join(&p->away, &s->next->back);
			begin(s, pc, p->in + p->back);
			end(s, last, pc, p->away + p->lost);
			end(s, pc, pc + 1, p->out);
		}
		if (len < 0)
			break;
		last = pc;
		pc += len;
		/* code that is also executed from the middle of its instructions on */
		if (s->next < s->end && s->next->pc < pc)
			break;
	} while (s->flow);
	if (s->flow)
		give_up(s);
}

void ranges_make(struct ranges *ranges, struct points *points, struct nt_code *code)
{
	struct sweep s = { .ranges = ranges, .code = code };

	merge(points);
	s.next = points->list;
	s.end = points->list + points->n;
	while (s.next < s.end)
		follow(&s, s.next->pc);
	free(s.open);
}

/* ---------------------------------------------------------------- steps -- */

static int compare_steps(const void *a, const void *b)
{
	const struct ranges_step *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* Counts are added modulo 2^64: what ends is taken away. */
void ranges_steps(struct ranges_steps *steps, const struct ranges *ranges)
{
	size_t i;

	steps->n = 0;
	steps->list = calloc(2 * ranges->n + 1, sizeof(*steps->list));
	if (!steps->list)
		die("%s", nt_strerror(NT_ENOMEM));
	for (i = 0; i < ranges->n; i++) {
		const struct range *r = &ranges->list[i];

		steps->list[steps->n++] = (struct ranges_step){ r->start, r->count };
		/* the end is an instruction, too: behind its first byte */
		steps->list[steps->n++] = (struct ranges_step){ r->end + 1, -r->count };
	}
	qsort(steps->list, steps->n, sizeof(*steps->list), compare_steps);
	for (i = 1; i < steps->n; i++)
		steps->list[i].count += steps->list[i - 1].count;
}

uint64_t ranges_count(const struct ranges_steps *steps, uint64_t pc)
{
	size_t n = array_behind(steps->list, steps->n, sizeof(*steps->list), pc);

	return n ? steps->list[n - 1].count : 0;
}
