// SPDX-License-Identifier: GPL-2.0-only
/*
 * Convert counts of transfers to counts of linear runs. As many runs leave an instruction as enter
 * it, so a single pass over the code in the order of addresses finds those that fall through.
 */
#include <stdlib.h>

#include "profile.h"

#define MERGE	65536	/* number of points before those with the same address are merged */

struct sweep {
	struct ranges *ranges;
	struct nt_code *code;
	struct point *next, *end;
	struct range *open;	/* runs whose end is not known yet, the oldest first */
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
	/* merge now and then: a trace may stop and start many times at few places */
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

/* End `count` runs, after the instruction `last` and before reaching pc. */
static void end(struct sweep *s, uint64_t last, uint64_t pc, uint64_t count)
{
	struct ranges *r = s->ranges;

	while (count && s->first < s->n) {
		struct range *open = &s->open[s->first];
		uint64_t part = count < open->count ? count : open->count;

		/* a run that begins at pc is empty */
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

/* Leaving for a trap and returning from it cancel each other out. */
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

/* Follow the code from pc as long as runs are open. */
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
		/* some runs begin in the middle of this instruction */
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

/* Counts are added modulo 2^64, so the end of a range subtracts its count. */
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
		/* end at the second byte of the last instruction, which is included */
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
