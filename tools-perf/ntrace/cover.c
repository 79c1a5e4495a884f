// SPDX-License-Identifier: GPL-2.0-only
/*
 * From counts of instructions and transfers to counts of lines, functions and branches
 *
 * A function's code is cut into blocks, which control enters at the first instruction and leaves
 * behind the last. Each block belongs to the line that it ends on. As gcov counts, a line's count is
 * what enters its blocks from blocks of other lines, and each round of a loop within the line; lines
 * that a block passes count as often as the block. Compilers give code that they make up the line 0:
 * it belongs to no line, and does not leave the line that it is between.
 */
#include <stdlib.h>
#include <string.h>

#include "cover.h"

/* An instruction of a function */
struct insn {
	uint64_t pc, target, count;
	uint32_t file, line;	/* file SOURCE_NONE: of no line */
	uint8_t len, type;
	bool direct;
	bool leads;		/* a block begins here */
	uint64_t entered;	/* by jumps from the same function */
	uint64_t taken;		/* transfers from here, wherever to */
	size_t block;
};

struct block {
	size_t first, last;	/* instructions */
	uint64_t count;
	uint32_t file, line;	/* that it ends on */
	uint32_t near_file, near_line;	/* of one without a line: those of the block before */
	size_t seen;		/* by that search */
};

struct cover_work {
	struct cover *cover;
	struct cover_source *source;
	struct nt_code *code;
	uint64_t bias;
	const struct profile *profile;
	struct ranges_steps steps;
	struct insn *insn;
	size_t nr_insns;
	struct block *block;
	size_t nr_blocks;
	size_t *pending;	/* blocks that a search has seen, and not what comes behind them */
	size_t nr_pending;
	size_t search;		/* its number */
};

/* --------------------------------------------------------- one function -- */

/* Of a function's row that is of its opening brace alone, where the compiler put nothing else */
static const struct source_row *find_opening(const struct cover_work *w, const struct cover_function *f)
{
	const struct source_row *row = source_find(&w->source->lines, f->entry);

	return row && !row->replaces && row->file == f->file && row->line > f->line ? row : NULL;
}

/* The line that an instruction is of; the opening brace belongs to the line with the name. */
static void find_line(const struct cover_work *w, const struct cover_function *f,
		      const struct source_row *opening, struct insn *insn)
{
	const struct source_row *row = source_find(&w->source->lines, insn->pc);

	insn->file = row && row->line ? row->file : SOURCE_NONE;
	insn->line = row && row == opening ? f->line : row ? row->line : 0;
}

/* Its instructions, piece by piece: false if code is missing */
static bool read_insns(struct cover_work *w, const struct cover_function *f)
{
	const struct source_row *opening = find_opening(w, f);
	struct nt_insn insn;
	size_t i;

	w->nr_insns = 0;
	for (i = 0; i < f->nr_pieces; i++) {
		uint64_t pc = f->piece[i].low;

		while (pc < f->piece[i].high) {
			if (nt_code_insn(w->code, pc + w->bias, &insn) <= 0)
				return false;
			w->insn = array_room(w->insn, w->nr_insns, sizeof(*w->insn));
			w->insn[w->nr_insns] = (struct insn){
				.pc = pc, .target = insn.target - w->bias, .len = insn.len,
				.type = insn.type, .direct = insn.flags & NT_INSN_DIRECT,
			};
			find_line(w, f, opening, &w->insn[w->nr_insns++]);
			pc += insn.len;
		}
	}
	return w->nr_insns;
}

/* The number of an instruction; nr_insns: there is none at this address */
static size_t find_insn(const struct cover_work *w, uint64_t pc)
{
	size_t n = array_before(w->insn, w->nr_insns, sizeof(*w->insn), pc);

	return n < w->nr_insns && w->insn[n].pc == pc ? n : w->nr_insns;
}

/* Calls come back, and their targets are another function's, or another entry of this one. */
static bool is_jump(const struct insn *insn)
{
	return insn->type == NT_TYPE_COND || insn->type == NT_TYPE_JUMP ||
	       insn->type == NT_TYPE_IJUMP;
}

static void enter(struct cover_work *w, uint64_t target, uint64_t count)
{
	size_t to = find_insn(w, target);

	if (to == w->nr_insns)
		return;
	w->insn[to].leads = true;
	w->insn[to].entered += count;
}

static void count_insns(struct cover_work *w)
{
	const struct profile *p = w->profile;
	size_t i, e;

	for (i = 0; i < w->nr_insns; i++) {
		struct insn *insn = &w->insn[i];

		insn->count = ranges_count(&w->steps, insn->pc);
		if (is_jump(insn) && insn->direct)
			enter(w, insn->target, 0);
		e = profile_first_edge(p, insn->pc);
		for (; e < p->nr_edges && p->edges[e].from == insn->pc; e++) {
			insn->taken += p->edges[e].count;
			if (is_jump(insn))
				enter(w, p->edges[e].to, p->edges[e].count);
		}
		if (insn->type != NT_TYPE_NONE && i + 1 < w->nr_insns)
			w->insn[i + 1].leads = true;
	}
}

/*
 * What goes on from an instruction to the next, or comes back there from a call: none behind a jump,
 * as the next one runs only where jumps lead to it
 */
static uint64_t passed(const struct cover_work *w, size_t i)
{
	const struct insn *insn = &w->insn[i], *next = insn + 1;

	if (i + 1 == w->nr_insns || next->pc != insn->pc + insn->len)
		return 0;
	if (insn->type == NT_TYPE_COND)
		return insn->count > insn->taken ? insn->count - insn->taken : 0;
	return next->count > next->entered ? next->count - next->entered : 0;
}

/*
 * The closing brace of a function that returns a value is no statement: what is before it ends on
 * the line of a return.
 */
static void cut_closing(struct cover_work *w)
{
	size_t i, first;

	for (i = 0; i < w->nr_insns; i++) {
		if (w->insn[i].type != NT_TYPE_RET)
			continue;
		for (first = i; first && w->insn[first - 1].line == w->insn[i].line; first--)
			;
		w->insn[first].leads = true;
	}
}

static void set_near(struct cover_work *w)
{
	size_t i;

	for (i = 0; i < w->nr_blocks; i++) {
		struct block *b = &w->block[i];
		const bool has_line = b->file != SOURCE_NONE || !i;

		b->near_file = has_line ? b->file : b[-1].near_file;
		b->near_line = has_line ? b->line : b[-1].near_line;
	}
}

static void make_blocks(struct cover_work *w)
{
	struct block *b = NULL;
	size_t i;

	w->nr_blocks = 0;
	for (i = 0; i < w->nr_insns; i++) {
		struct insn *insn = &w->insn[i];

		if (!i || insn->leads || insn->pc != insn[-1].pc + insn[-1].len) {
			w->block = array_room(w->block, w->nr_blocks, sizeof(*w->block));
			b = &w->block[w->nr_blocks++];
			*b = (struct block){ .first = i, .count = insn->count, .file = SOURCE_NONE };
		}
		insn->block = (size_t)(b - w->block);
		b->last = i;
		if (insn->file != SOURCE_NONE) {
			b->file = insn->file;
			b->line = insn->line;
		}
	}
	set_near(w);
}

/* --------------------------------------------------------------- lines --- */

static void add_line(struct cover_work *w, uint32_t file, uint32_t line, uint64_t count, bool owns)
{
	struct cover *c = w->cover;

	if (file == SOURCE_NONE)
		return;
	c->line = array_room(c->line, c->nr_lines, sizeof(*c->line));
	c->line[c->nr_lines++] = (struct cover_line){ file, line, count, owns };
}

static bool is_same_line(const struct block *a, const struct block *b)
{
	return a->near_file == b->near_file && a->near_line == b->near_line;
}

static void visit(struct cover_work *w, size_t n, size_t line_of)
{
	struct block *b = &w->block[n];

	if (b->seen == w->search || !is_same_line(b, &w->block[line_of]))
		return;
	b->seen = w->search;
	w->pending = array_room(w->pending, w->nr_pending, sizeof(*w->pending));
	w->pending[w->nr_pending++] = n;
}

/* Where control went from a block, on the same line */
static void visit_next(struct cover_work *w, size_t n)
{
	const struct insn *last = &w->insn[w->block[n].last];
	const struct profile *p = w->profile;
	size_t e, to;

	if (passed(w, w->block[n].last))
		visit(w, n + 1, n);
	if (!is_jump(last))
		return;
	for (e = profile_first_edge(p, last->pc); e < p->nr_edges && p->edges[e].from == last->pc; e++) {
		to = find_insn(w, p->edges[e].to);
		if (to < w->nr_insns)
			visit(w, w->insn[to].block, n);
	}
}

/* Did control come from block `to' to `from' again without leaving the line? */
static bool is_round(struct cover_work *w, size_t from, size_t to)
{
	w->search++;
	w->nr_pending = 0;
	visit(w, to, to);
	while (w->nr_pending && w->block[from].seen != w->search)
		visit_next(w, w->pending[--w->nr_pending]);
	return w->block[from].seen == w->search;
}

/*
 * Of a transfer between blocks: does it count for the line that it leads to? On one line that is a
 * round of a loop. A loop with other lines in it was counted when it came from these.
 */
static uint64_t counts(struct cover_work *w, size_t from, size_t to, uint64_t count)
{
	const struct block *a = &w->block[from], *b = &w->block[to];

	if (is_same_line(a, b) && (to > from || !count || !is_round(w, from, to)))
		return 0;
	return count;
}

/* What enters a block: from the block before, by jumps, and from outside of the function */
static uint64_t entries(struct cover_work *w, size_t n)
{
	const struct block *b = &w->block[n];
	const struct insn *first = &w->insn[b->first];
	uint64_t before = b->first ? passed(w, b->first - 1) : 0, sum;

	sum = first->count > before + first->entered ? first->count - before - first->entered : 0;
	if (n)
		sum += counts(w, n - 1, n, before);
	return sum;
}

static void add_passed_lines(struct cover_work *w, const struct block *b)
{
	uint32_t file = SOURCE_NONE, line = 0;
	size_t i;

	for (i = b->first; i <= b->last; i++) {
		const struct insn *insn = &w->insn[i];

		if (insn->file == SOURCE_NONE || (insn->file == file && insn->line == line))
			continue;
		if (file != SOURCE_NONE)
			add_line(w, file, line, b->count, false);
		file = insn->file;
		line = insn->line;
	}
}

static void count_jumps(struct cover_work *w, size_t i)
{
	const struct insn *insn = &w->insn[i];
	const struct profile *p = w->profile;
	size_t e, to;

	if (!is_jump(insn))
		return;
	e = profile_first_edge(p, insn->pc);
	for (; e < p->nr_edges && p->edges[e].from == insn->pc; e++) {
		to = find_insn(w, p->edges[e].to);
		if (to == w->nr_insns)
			continue;
		to = w->insn[to].block;
		add_line(w, w->block[to].file, w->block[to].line,
			 counts(w, insn->block, to, p->edges[e].count), true);
	}
}

static void add_branch(struct cover_work *w, const struct insn *insn)
{
	struct cover *c = w->cover;

	if (insn->type != NT_TYPE_COND || insn->file == SOURCE_NONE)
		return;
	c->branch = array_room(c->branch, c->nr_branches, sizeof(*c->branch));
	c->branch[c->nr_branches++] = (struct cover_branch){
		.file = insn->file, .line = insn->line, .addr = insn->pc, .taken = insn->taken,
		.passed = insn->count > insn->taken ? insn->count - insn->taken : 0,
	};
}

static void count_function(struct cover_work *w, struct cover_function *f)
{
	const struct source_row *row;
	size_t i, entry;

	f->known = read_insns(w, f);
	if (!f->known)
		return;
	count_insns(w);
	if (f->returns)
		cut_closing(w);
	make_blocks(w);
	entry = find_insn(w, f->entry);
	if (entry < w->nr_insns && w->insn[entry].count > w->insn[entry].entered)
		f->count = w->insn[entry].count - w->insn[entry].entered;
	/* people, and gcov, look for how often a function was called beside its name */
	row = source_find(&w->source->lines, f->entry);
	if (!find_opening(w, f) && !(row && row->file == f->file && row->line == f->line))
		add_line(w, f->file, f->line, f->count, false);
	for (i = 0; i < w->nr_blocks; i++) {
		add_passed_lines(w, &w->block[i]);
		add_line(w, w->block[i].file, w->block[i].line, entries(w, i), true);
	}
	for (i = 0; i < w->nr_insns; i++) {
		count_jumps(w, i);
		add_branch(w, &w->insn[i]);
	}
}

/* --------------------------------------------------------------- result -- */

static int compare_lines(const void *a, const void *b)
{
	const struct cover_line *x = a, *y = b;

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

static int compare_branches(const void *a, const void *b)
{
	const struct cover_branch *x = a, *y = b;

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* A line that blocks end on counts what enters these, and no more when others pass it. */
static void merge_lines(struct cover *c)
{
	size_t i, n = 0;

	if (c->nr_lines)
		qsort(c->line, c->nr_lines, sizeof(*c->line), compare_lines);
	for (i = 0; i < c->nr_lines; i++) {
		struct cover_line *to, *from = &c->line[i];

		if (!n || compare_lines(&c->line[n - 1], from)) {
			c->line[n++] = *from;
			continue;
		}
		to = &c->line[n - 1];
		if (to->owned == from->owned)
			to->count += from->count;
		else if (from->owned)
			*to = *from;
	}
	c->nr_lines = n;
}

void cover_make(struct cover *cover, struct cover_source *source, const struct profile *p,
		struct nt_code *code, uint64_t bias)
{
	struct cover_work w = {
		.cover = cover, .source = source, .profile = p, .code = code, .bias = bias,
	};
	size_t i;

	*cover = (struct cover){
		.source = source,
		.lossy = p->losses || p->ranges.unmatched || p->damaged || p->partial,
	};
	ranges_steps(&w.steps, &p->ranges);
	for (i = 0; i < source->nr_functions; i++)
		count_function(&w, &source->function[i]);
	merge_lines(cover);
	if (cover->nr_branches)
		qsort(cover->branch, cover->nr_branches, sizeof(*cover->branch), compare_branches);
	free(w.steps.list);
	free(w.insn);
	free(w.block);
	free(w.pending);
}

void cover_free(struct cover *cover)
{
	free(cover->line);
	free(cover->branch);
}
