// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a thread executed: the numbers of runs, in chunks. The next run is predicted from the two
 * before it, and most predictions are right. So a chunk contains the number of right predictions,
 * the number of the run that was mispredicted, and so on. This takes a small part of the trace's
 * size, and a chunk can be decoded quickly, anywhere.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "serve.h"

/* ----------------------------------------------------- what is expected -- */

#define EXPECT	4096u

struct expect {
	uint32_t next[EXPECT];
	uint32_t last, before;
};

static uint32_t *expected(struct expect *e)
{
	return &e->next[(e->last * 0x9e3779b1u ^ e->before * 0x85ebca6bu) >> 20];
}

static void expect_pass(struct expect *e, uint32_t run)
{
	*expected(e) = run;
	e->before = e->last;
	e->last = run;
}

/* ------------------------------------------------------------ making it -- */

struct serve_writer {
	struct expect expect;
	uint8_t *bytes;
	size_t len, room;
	uint32_t hits;
	struct serve_stack stack;
	struct serve_run left;	/* the previous run */
	bool has_left;
	bool paused;		/* since the last instruction */
	uint64_t next_pc;
};

static void put_number(struct serve_writer *w, uint32_t n)
{
	if (w->len + 5 > w->room) {
		w->room = w->room ? 2 * w->room : 4096;
		w->bytes = realloc(w->bytes, w->room);
		if (!w->bytes)
			die("%s", nt_strerror(NT_ENOMEM));
	}
	for (; n > 127; n >>= 7)
		w->bytes[w->len++] = (uint8_t)(n | 128);
	w->bytes[w->len++] = (uint8_t)n;
}

struct serve_track *serve_track_new(struct serve_program *p, const char *name, int id)
{
	struct serve_track *t = calloc(1, sizeof(*t));

	if (t)
		t->writer = calloc(1, sizeof(*t->writer));
	if (!t || !t->writer)
		die("%s", nt_strerror(NT_ENOMEM));
	t->program = p;
	t->id = id;
	t->core = -1;
	snprintf(t->name, sizeof(t->name), "%s", name);
	return t;
}

static struct serve_chunk *open_chunk(struct serve_track *t)
{
	return t->nr_chunks ? &t->chunk[t->nr_chunks - 1] : NULL;
}

static void close_chunk(struct serve_track *t)
{
	struct serve_chunk *c = open_chunk(t);
	struct serve_writer *w = t->writer;

	if (!c || c->bytes)
		return;
	put_number(w, w->hits);
	c->bytes = malloc(w->len);
	if (!c->bytes)
		die("%s", nt_strerror(NT_ENOMEM));
	memcpy(c->bytes, w->bytes, w->len);
	c->nr_bytes = (uint32_t)w->len;
}

static void keep_stack(struct serve_chunk *c, struct serve_stack *s)
{
	size_t nr = s->nr - s->low;

	c->nr_same = (uint32_t)s->low;
	s->low = s->nr;
	if (!nr)
		return;
	c->frame = calloc(nr, sizeof(*c->frame));
	if (!c->frame)
		die("%s", nt_strerror(NT_ENOMEM));
	memcpy(c->frame, s->frame + (s->nr - nr), nr * sizeof(*c->frame));
	c->nr_frames = (uint32_t)nr;
}

static struct serve_chunk *begin_chunk(struct serve_track *t)
{
	struct serve_writer *w = t->writer;
	struct serve_chunk *c;

	close_chunk(t);
	t->chunk = array_room(t->chunk, t->nr_chunks, sizeof(*t->chunk));
	c = &t->chunk[t->nr_chunks++];
	*c = (struct serve_chunk){ .insn = t->insns, .paused = w->paused };
	keep_stack(c, &w->stack);
	w->len = w->hits = 0;
	memset(&w->expect, 0, sizeof(w->expect));
	return c;
}

static void put_run(struct serve_track *t, uint32_t number)
{
	const struct serve_run *run = &t->program->run[number];
	struct serve_chunk *c = open_chunk(t);
	struct serve_writer *w = t->writer;

	if (w->has_left)
		serve_stack_step(&w->stack, &w->left, run->pc);
	if (!c || c->nr_runs == SERVE_CHUNK)
		c = begin_chunk(t);
	if (*expected(&w->expect) == number) {
		w->hits++;
	} else {
		put_number(w, w->hits);
		put_number(w, number);
		w->hits = 0;
	}
	expect_pass(&w->expect, number);
	c->filter[number % SERVE_FILTER / 64] |= 1ull << number % 64;
	c->nr_runs++;
	t->insns += run->insns;
	w->left = *run;
	w->has_left = true;
	w->paused = !run->insns && (w->paused || run->type == NT_TYPE_NONE);
}

bool serve_track_add(struct serve_track *t, struct nt_code *code, uint64_t pc, uint64_t insns,
		     unsigned int type, uint32_t space)
{
	if (!insns && !nt_type_is_trap(type))
		return true;
	t->has_end_pc = false;
	do {
		unsigned int n = insns > SERVE_RUN_MAX ? SERVE_RUN_MAX : (unsigned int)insns;
		int64_t run;

		insns -= n;
		run = serve_program_run(t->program, code, pc, n, insns ? NT_TYPE_NONE : type,
					space);
		if (run < 0)
			return false;
		put_run(t, (uint32_t)run);
		pc = serve_run_pc(&t->program->run[run], n);
	} while (insns);
	return true;
}

void serve_track_put(struct serve_track *t, const struct serve_run *run)
{
	t->has_end_pc = false;
	put_run(t, serve_program_known(t->program, run));
}

void serve_track_mark(struct serve_track *t, enum serve_mark_kind kind, const char *fmt, ...)
{
	struct serve_mark *last = t->nr_marks ? &t->mark[t->nr_marks - 1] : NULL;
	char *text;
	va_list ap;
	int n;

	/* calls before the mark are not known any more */
	serve_stack_forget(&t->writer->stack);
	t->writer->has_left = false;
	if (last && last->insn == t->insns &&
	    (last->kind == SERVE_LOSS || (last->kind == SERVE_GAP && kind == SERVE_BEGIN)))
		return;
	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0)
		die("%s", nt_strerror(NT_ENOMEM));
	if (!last || last->insn != t->insns) {
		t->mark = array_room(t->mark, t->nr_marks, sizeof(*t->mark));
		last = &t->mark[t->nr_marks++];
		last->text = NULL;
	}
	free(last->text);
	*last = (struct serve_mark){ t->insns, kind, text };
}

/* Between two times, all instructions are assumed to take equally long. */
#define TIMES_APART	64u

static bool is_news(const struct serve_track *t, const struct serve_time *last, uint64_t time,
		    bool edge)
{
	if (edge)
		return time > last->time || (time == last->time && t->insns > last->insn);
	return time > last->time && t->insns >= last->insn + TIMES_APART;
}

void serve_track_time(struct serve_track *t, uint64_t time, bool edge)
{
	if (t->nr_times && !is_news(t, &t->time[t->nr_times - 1], time, edge))
		return;
	t->time = array_room(t->time, t->nr_times, sizeof(*t->time));
	t->time[t->nr_times++] = (struct serve_time){ t->insns, time };
}

void serve_track_pause(struct serve_track *t, uint64_t pc)
{
	put_run(t, serve_program_known(t->program, &(struct serve_run){ .pc = pc }));
}

void serve_track_stop(struct serve_track *t, uint64_t pc, bool known)
{
	t->end_pc = pc;
	t->has_end_pc = known;
}

void serve_track_end(struct serve_track *t)
{
	close_chunk(t);
	free(t->writer->bytes);
	free(t->writer->stack.frame);
	free(t->writer);
	t->writer = NULL;
}

void serve_track_free(struct serve_track *t)
{
	if (!t)
		return;
	if (t->writer)
		serve_track_end(t);
	for (size_t i = 0; i < t->nr_chunks; i++) {
		free(t->chunk[i].bytes);
		free(t->chunk[i].frame);
	}
	for (size_t i = 0; i < t->nr_marks; i++)
		free(t->mark[i].text);
	free(t->chunk);
	free(t->mark);
	free(t->time);
	free(t);
}

/* ------------------------------------------------------- marks and time -- */

size_t serve_track_first_mark(const struct serve_track *t, uint64_t insn)
{
	size_t low = 0, high = t->nr_marks;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (t->mark[mid].insn < insn)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

const struct serve_mark *serve_track_mark_at(const struct serve_track *t, uint64_t insn)
{
	size_t i = serve_track_first_mark(t, insn);

	return i < t->nr_marks && t->mark[i].insn == insn ? &t->mark[i] : NULL;
}

/* The index of the last time that is not after the instruction, or not later */
static size_t find_time(const struct serve_track *t, uint64_t value, bool by_time)
{
	size_t low = 0, high = t->nr_times;

	while (high - low > 1) {
		size_t mid = (low + high) / 2;

		if ((by_time ? t->time[mid].time : t->time[mid].insn) <= value)
			low = mid;
		else
			high = mid;
	}
	return low;
}

static uint64_t scale(uint64_t value, uint64_t by, uint64_t of)
{
	return of ? (uint64_t)((unsigned __int128)value * by / of) : 0;
}

bool serve_track_time_at(const struct serve_track *t, uint64_t insn, uint64_t *time)
{
	const struct serve_time *a;
	size_t i;

	if (!t->nr_times)
		return false;
	i = find_time(t, insn, false);
	a = &t->time[i];
	*time = a->time;
	if (insn > a->insn && i + 1 < t->nr_times)
		*time += scale(insn - a->insn, a[1].time - a->time, a[1].insn - a->insn);
	return true;
}

uint64_t serve_track_at_time(const struct serve_track *t, uint64_t time)
{
	const struct serve_time *a;
	uint64_t insn;
	size_t i;

	if (!t->nr_times || time < t->time[0].time)
		return 0;
	i = find_time(t, time, true);
	a = &t->time[i];
	if (i + 1 == t->nr_times)
		return time > a->time ? serve_track_last(t) : a->insn;
	insn = a->insn + scale(time - a->time, a[1].insn - a->insn, a[1].time - a->time);
	return insn < a[1].insn ? insn : a[1].insn;
}

uint64_t serve_track_since(const struct serve_track *t, uint64_t time, bool same)
{
	uint64_t low = 0, high = t->insns, at;

	while (low < high) {
		uint64_t mid = low + (high - low) / 2;

		if (serve_track_time_at(t, mid, &at) && (at < time || (at == time && !same)))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* ------------------------------------------------------------ reading it - */

void serve_view_init(struct serve_view *v, const struct serve_track *t)
{
	v->track = t;
	v->chunk = SIZE_MAX;
}

static uint32_t get_number(const uint8_t **p)
{
	uint32_t n = 0;

	for (unsigned int shift = 0; ; shift += 7) {
		uint8_t byte = *(*p)++;

		n |= (uint32_t)(byte & 127) << shift;
		if (byte < 128)
			return n;
	}
}

void serve_view_chunk(struct serve_view *v, size_t chunk)
{
	const struct serve_chunk *c = &v->track->chunk[chunk];
	const struct serve_run *run = v->track->program->run;
	const uint8_t *p = c->bytes;
	struct expect expect = { .last = 0 };
	uint32_t hits, sum = 0;

	if (v->chunk == chunk)
		return;
	v->chunk = chunk;
	hits = get_number(&p);
	for (uint32_t i = 0; i < c->nr_runs; i++) {
		uint32_t number;

		if (hits) {
			number = *expected(&expect);
			hits--;
		} else {
			number = get_number(&p);
			hits = get_number(&p);
		}
		expect_pass(&expect, number);
		v->run[i] = number;
		v->start[i] = sum;
		sum += run[number].insns;
	}
	v->start[c->nr_runs] = sum;
}

/* The chunk of an instruction. Chunks without instructions precede it. */
static size_t find_chunk(const struct serve_track *t, uint64_t insn)
{
	size_t low = 0, high = t->nr_chunks;

	while (high - low > 1) {
		size_t mid = (low + high) / 2;

		if (t->chunk[mid].insn <= insn)
			low = mid;
		else
			high = mid;
	}
	return low;
}

const struct serve_run *serve_view_at(struct serve_view *v, uint64_t insn, unsigned int *nth,
				      uint32_t *index)
{
	const struct serve_track *t = v->track;
	uint32_t low = 0, high, at;

	if (insn >= t->insns)
		return NULL;
	serve_view_chunk(v, find_chunk(t, insn));
	at = (uint32_t)(insn - t->chunk[v->chunk].insn);
	high = t->chunk[v->chunk].nr_runs;
	while (high - low > 1) {
		uint32_t mid = (low + high) / 2;

		if (v->start[mid] <= at)
			low = mid;
		else
			high = mid;
	}
	*nth = at - v->start[low];
	*index = low;
	return &t->program->run[v->run[low]];
}

uint32_t serve_view_space(struct serve_view *v, uint64_t insn)
{
	const struct serve_track *t = v->track;
	unsigned int nth;
	uint32_t index;

	if (!t->insns)
		return 0;
	return serve_view_at(v, insn < t->insns ? insn : t->insns - 1, &nth, &index)->space;
}

bool serve_view_pc(struct serve_view *v, uint64_t insn, uint64_t *pc)
{
	const struct serve_track *t = v->track;
	const struct serve_run *run;
	unsigned int nth;
	uint32_t index;

	if (insn >= t->insns) {
		*pc = t->end_pc;
		return t->has_end_pc;
	}
	run = serve_view_at(v, insn, &nth, &index);
	*pc = serve_run_pc(run, nth);
	return true;
}
