// SPDX-License-Identifier: GPL-2.0-only
/*
 * Convert counts of instructions and transfers to counts of lines, functions and branches
 *
 * The code of a function is split into blocks. Control enters a block at its first instruction and
 * leaves it after the last. A block belongs to the line that it ends on. As in gcov, the count of a
 * line is the number of times that control enters its blocks from blocks of other lines, plus the
 * rounds of loops within the line. Lines that a block only passes get the count of the block.
 * Compilers assign line 0 to code that they generate. Such code belongs to no line, and does not
 * leave the line around it.
 */
#include <stdlib.h>
#include <string.h>

#include "cover.h"

/* An instruction of a function */
struct insn {
	uint64_t pc, target, count;
	uint32_t file, line;	/* file SOURCE_NONE: no line */
	uint8_t len, type;
	bool direct;
	bool leads;		/* a block begins here */
	uint64_t entered;	/* number of jumps to it from the same function */
	uint64_t taken;		/* number of transfers from it, to any target */
	size_t block;
};

struct block {
	size_t first, last;	/* instructions */
	uint64_t count;
	uint32_t file, line;	/* of its end */
	uint32_t near_file, near_line;	/* without a line: those of the block before */
	size_t seen;		/* number of the last search that reached it */
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
	size_t *pending;	/* blocks that the search has reached, but not yet followed */
	size_t nr_pending;
	size_t search;		/* number of the current search */
};

/* --------------------------------------------------------- one function -- */

/* Find the row of a function's opening brace, if the brace has a row of its own. */
static const struct source_row *find_opening(const struct cover_work *w,
					     const struct cover_function *f)
{
	const struct source_row *row = source_find(&w->source->lines, f->entry);

	return row && !row->replaces && row->file == f->file && row->line > f->line ? row : NULL;
}

/* Find the line of an instruction. The opening brace belongs to the line with the name. */
static void find_line(const struct cover_work *w, const struct cover_function *f,
		      const struct source_row *opening, struct insn *insn)
{
	const struct source_row *row = source_find(&w->source->lines, insn->pc);

	insn->file = row && row->line ? row->file : SOURCE_NONE;
	insn->line = row && row == opening ? f->line : row ? row->line : 0;
}

/* Read the instructions of a function, range by range. False if code is missing. */
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

/* The index of the instruction at an address; nr_insns: none */
static size_t find_insn(const struct cover_work *w, uint64_t pc)
{
	size_t n = array_before(w->insn, w->nr_insns, sizeof(*w->insn), pc);

	return n < w->nr_insns && w->insn[n].pc == pc ? n : w->nr_insns;
}

/* Calls return. They lead to another function, or enter this one again. */
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
 * How often control went from an instruction to the next, or returned there from a call. 0 after a
 * jump, because the next instruction is then reached only by jumps.
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
 * The closing brace of a function that returns a value is not a statement. End the block before it,
 * on the line of the return statement.
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
			*b = (struct block){ .first = i, .count = insn->count,
					     .file = SOURCE_NONE };
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

/* Visit the blocks on the same line that control went to from a block. */
static void visit_next(struct cover_work *w, size_t n)
{
	const struct insn *last = &w->insn[w->block[n].last];
	const struct profile *p = w->profile;
	size_t e, to;

	if (passed(w, w->block[n].last))
		visit(w, n + 1, n);
	if (!is_jump(last))
		return;
	for (e = profile_first_edge(p, last->pc); e < p->nr_edges && p->edges[e].from == last->pc;
	     e++) {
		to = find_insn(w, p->edges[e].to);
		if (to < w->nr_insns)
			visit(w, w->insn[to].block, n);
	}
}

/* Did control return from block `to' to block `from' without leaving the line? */
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
 * Does a transfer between blocks count for the target's line? Within a line, it counts if it is a
 * round of a loop. A loop that contains other lines is counted when control arrives from these.
 */
static uint64_t counts(struct cover_work *w, size_t from, size_t to, uint64_t count)
{
	const struct block *a = &w->block[from], *b = &w->block[to];

	if (is_same_line(a, b) && (to > from || !count || !is_round(w, from, to)))
		return 0;
	return count;
}

/*
 * How often a block was entered: from the block before, by jumps, and from outside of the function
 */
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
	/* users and gcov expect the number of calls on the line with the name */
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

/*
 * If blocks end on a line, count only the entries of these. Blocks that pass the line add nothing.
 */
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
