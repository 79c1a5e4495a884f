// SPDX-License-Identifier: GPL-2.0-only
/*
 * Convert counts of instructions and transfers to counts of places in the source
 *
 * Within a body, the count of a place is that of its most executed instruction. The instructions of
 * a place belong to one statement, and the compiler may have moved some of them to where they are
 * executed less often. Bodies of the same function are copies, and their counts are added up.
 */
#include <stdlib.h>
#include <string.h>

#include "gcov.h"

struct gcov_insn {
	uint64_t pc, count;
	uint8_t type;
	struct gcov_function *function;
};

struct gcov_work {
	struct gcov *g;
	struct nt_code *code;
	uint64_t bias;
	const struct profile *profile;
	struct ranges_steps steps;
	struct gcov_insn *insn;		/* of a body, scope by scope */
	size_t nr_insns;
};

/* ------------------------------------------------------------- places ---- */

struct gcov_place *gcov_place(struct gcov_function *f, uint32_t where)
{
	size_t low = 0, high = f->nr_places;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (f->place[mid].where < where)
			low = mid + 1;
		else
			high = mid;
	}
	if (low < f->nr_places && f->place[low].where == where)
		return &f->place[low];
	f->place = array_room(f->place, f->nr_places, sizeof(*f->place));
	memmove(&f->place[low + 1], &f->place[low], (f->nr_places - low) * sizeof(*f->place));
	f->place[low] = (struct gcov_place){ .where = where };
	f->nr_places++;
	return &f->place[low];
}

static const struct gcov_function *gcov_entered(const struct gcov *g, uint64_t pc)
{
	size_t n = array_before(g->body, g->nr_bodies, sizeof(*g->body), pc);

	return n < g->nr_bodies && g->body[n].entry == pc ? g->body[n].function : NULL;
}

static void gcov_add_target(struct gcov_place *place, const char *name, uint64_t count)
{
	size_t i;

	for (i = 0; i < place->nr_targets && strcmp(place->target[i].name, name); i++)
		;
	if (i == place->nr_targets) {
		place->target = array_room(place->target, i, sizeof(*place->target));
		place->target[place->nr_targets++] = (struct gcov_target){ name, 0 };
	}
	place->target[i].count += count;
}

/* Add the functions that an indirect call led to. */
static void gcov_add_targets(const struct gcov_work *w, struct gcov_place *place, uint64_t pc)
{
	const struct profile *p = w->profile;
	const struct gcov_function *f;
	size_t i;

	for (i = profile_first_edge(p, pc); i < p->nr_edges && p->edges[i].from == pc; i++) {
		f = gcov_entered(w->g, p->edges[i].to);
		if (f)
			gcov_add_target(place, f->name, p->edges[i].count);
	}
}

/* ------------------------------------------------------------- bodies ---- */

/* Returns false if code is missing. */
static bool gcov_read_insns(struct gcov_work *w, const struct gcov_body *body)
{
	struct nt_insn insn;
	size_t i;
	uint64_t pc;

	w->nr_insns = 0;
	for (i = 0; i < body->nr_own; i++)
		for (pc = body->scope[i].low; pc < body->scope[i].high; pc += insn.len) {
			if (nt_code_insn(w->code, pc + w->bias, &insn) <= 0)
				return false;
			w->insn = array_room(w->insn, w->nr_insns, sizeof(*w->insn));
			w->insn[w->nr_insns++] = (struct gcov_insn){
				.pc = pc, .type = insn.type, .count = ranges_count(&w->steps, pc),
				.function = body->function,
			};
		}
	return w->nr_insns;
}

static int gcov_compare_insns(const void *a, const void *b)
{
	const struct gcov_insn *x = a, *y = b;

	return x->pc < y->pc ? -1 : x->pc > y->pc;
}

/* The index of the first instruction at or after pc */
static size_t gcov_find_insn(const struct gcov_work *w, uint64_t pc)
{
	return array_before(w->insn, w->nr_insns, sizeof(*w->insn), pc);
}

static bool gcov_executed(const struct gcov_work *w)
{
	size_t i;

	for (i = 0; i < w->nr_insns && !w->insn[i].count; i++)
		;
	return i < w->nr_insns;
}

/* How often a body was entered from outside: not by its own jumps */
static uint64_t gcov_head(const struct gcov_work *w, const struct gcov_body *body)
{
	size_t entry = gcov_find_insn(w, body->entry), i, e;
	const struct profile *p = w->profile;
	uint64_t head;

	if (entry == w->nr_insns || w->insn[entry].pc != body->entry)
		return 0;
	head = w->insn[entry].count;
	for (i = 0; i < w->nr_insns; i++) {
		const struct gcov_insn *insn = &w->insn[i];

		if (insn->type != NT_TYPE_COND && insn->type != NT_TYPE_JUMP &&
		    insn->type != NT_TYPE_IJUMP)
			continue;
		e = profile_first_edge(p, insn->pc);
		for (; e < p->nr_edges && p->edges[e].from == insn->pc; e++)
			if (p->edges[e].to == body->entry)
				head -= p->edges[e].count < head ? p->edges[e].count : head;
	}
	return head;
}

static void gcov_count_insn(const struct gcov_work *w, const struct gcov_insn *insn)
{
	const struct source_row *row = source_find(&w->g->lines, insn->pc);
	struct gcov_place *place;

	if (!row)
		return;
	place = gcov_place(insn->function, (row->line - insn->function->line) << 16 |
			   (row->discriminator & 0xffff));
	if (insn->count > place->body)
		place->body = insn->count;
	if (insn->type == NT_TYPE_ICALL)
		gcov_add_targets(w, place, insn->pc);
}

/* Add the counts of a body to those of the function's earlier bodies. */
static void gcov_end_body(struct gcov_function *f)
{
	size_t i;

	for (i = 0; i < f->nr_places; i++) {
		f->place[i].count += f->place[i].body;
		f->place[i].body = 0;
	}
	for (i = 0; i < f->nr_inlined; i++)
		gcov_end_body(f->inlined[i]);
}

static void gcov_count_body(struct gcov_work *w, const struct gcov_body *body)
{
	size_t i, n;

	if (!gcov_read_insns(w, body))
		return;
	qsort(w->insn, w->nr_insns, sizeof(*w->insn), gcov_compare_insns);
	if (!gcov_executed(w))
		return;
	for (i = body->nr_own; i < body->nr_scopes; i++) {
		const struct gcov_scope *s = &body->scope[i];

		for (n = gcov_find_insn(w, s->low); n < w->nr_insns && w->insn[n].pc < s->high; n++)
			w->insn[n].function = s->function;
	}
	for (i = 0; i < w->nr_insns; i++)
		gcov_count_insn(w, &w->insn[i]);
	body->function->head += gcov_head(w, body);
	gcov_end_body(body->function);
}

static uint64_t gcov_total(struct gcov_function *f)
{
	size_t i;

	for (i = 0; i < f->nr_places; i++)
		f->total += f->place[i].count;
	for (i = 0; i < f->nr_inlined; i++)
		f->total += gcov_total(f->inlined[i]);
	return f->total;
}

void gcov_count(struct gcov *g, const struct profile *p, struct nt_code *code, uint64_t bias)
{
	struct gcov_work w = { .g = g, .profile = p, .code = code, .bias = bias };
	size_t i;

	ranges_steps(&w.steps, &p->ranges);
	for (i = 0; i < g->nr_bodies; i++)
		gcov_count_body(&w, &g->body[i]);
	for (i = 0; i < g->nr_functions; i++)
		gcov_total(g->function[i]);
	free(w.steps.list);
	free(w.insn);
}
