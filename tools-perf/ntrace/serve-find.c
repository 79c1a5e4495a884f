// SPDX-License-Identifier: GPL-2.0-only
/*
 * Find where one of many addresses is executed next. The runs with such an address are determined
 * once. Chunks without any of these runs are skipped without decoding.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "serve.h"

/* ---------------------------------------------------------------- points - */

static size_t place(const struct serve_points *p, uint64_t addr)
{
	size_t low = 0, high = p->nr;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (p->addr[mid] < addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

bool serve_points_have(const struct serve_points *p, uint64_t addr)
{
	size_t i = place(p, addr);

	return i < p->nr && p->addr[i] == addr;
}

void serve_points_add(struct serve_points *p, uint64_t addr, unsigned int kind)
{
	size_t i = place(p, addr);

	if (i < p->nr && p->addr[i] == addr) {
		p->kinds[i] |= 1u << kind;
		return;
	}
	p->addr = array_room(p->addr, p->nr, sizeof(*p->addr));
	p->kinds = array_room(p->kinds, p->nr, sizeof(*p->kinds));
	memmove(p->addr + i + 1, p->addr + i, (p->nr - i) * sizeof(*p->addr));
	memmove(p->kinds + i + 1, p->kinds + i, (p->nr - i) * sizeof(*p->kinds));
	p->addr[i] = addr;
	p->kinds[i] = 1u << kind;
	p->nr++;
	p->stale = true;
}

void serve_points_remove(struct serve_points *p, uint64_t addr, unsigned int kind)
{
	size_t i = place(p, addr);

	if (i == p->nr || p->addr[i] != addr)
		return;
	p->kinds[i] &= ~(1u << kind);
	if (p->kinds[i])
		return;
	p->nr--;
	memmove(p->addr + i, p->addr + i + 1, (p->nr - i) * sizeof(*p->addr));
	memmove(p->kinds + i, p->kinds + i + 1, (p->nr - i) * sizeof(*p->kinds));
	p->stale = true;
}

void serve_points_free(struct serve_points *p)
{
	free(p->addr);
	free(p->kinds);
	free(p->hit);
}

static uint32_t hits_of(const struct serve_points *p, const struct serve_run *run)
{
	size_t i = place(p, run->pc);
	uint64_t pc = run->pc;
	uint32_t hits = 0;

	for (unsigned int n = 0; n < run->insns && i < p->nr; n++) {
		while (i < p->nr && p->addr[i] < pc)
			i++;
		if (i < p->nr && p->addr[i] == pc)
			hits |= 1u << n;
		pc += 2 * ((run->halves >> 2 * n & 3) + 1);
	}
	return hits;
}

static void renew(struct serve_points *p, const struct serve_program *program)
{
	if (!p->stale && p->nr_hits == program->nr)
		return;
	free(p->hit);
	p->hit = calloc(program->nr + 1, sizeof(*p->hit));
	if (!p->hit)
		die("%s", nt_strerror(NT_ENOMEM));
	memset(p->filter, 0, sizeof(p->filter));
	p->any = false;
	for (uint32_t i = 0; i < program->nr; i++) {
		p->hit[i] = hits_of(p, &program->run[i]);
		if (!p->hit[i])
			continue;
		p->any = true;
		p->filter[i % SERVE_FILTER / 64] |= 1ull << i % 64;
	}
	p->nr_hits = program->nr;
	p->stale = false;
}

/* ---------------------------------------------------------------- chunks - */

struct search {
	const struct serve_points *points;
	uint64_t low, high;	/* positions to search: [low, high] */
	bool back;
	struct serve_interrupt *interrupt;
};

static bool may_have(const struct serve_points *p, const struct serve_chunk *c)
{
	for (unsigned int i = 0; i < SERVE_FILTER / 64; i++)
		if (p->filter[i] & c->filter[i])
			return true;
	return false;
}

/* Find the nearest hit in a run, among the positions to search. */
static bool in_run(const struct search *s, uint32_t hits, uint64_t first, uint64_t *found)
{
	for (unsigned int i = 0; i < SERVE_RUN_MAX; i++) {
		unsigned int n = s->back ? SERVE_RUN_MAX - 1 - i : i;

		if (hits >> n & 1 && first + n >= s->low && first + n <= s->high) {
			*found = first + n;
			return true;
		}
	}
	return false;
}

static bool in_chunk(struct serve_view *v, const struct search *s, size_t chunk, uint64_t *found)
{
	const struct serve_chunk *c = &v->track->chunk[chunk];

	serve_view_chunk(v, chunk);
	for (uint32_t k = 0; k < c->nr_runs; k++) {
		uint32_t i = s->back ? c->nr_runs - 1 - k : k;
		uint32_t hits = s->points->hit[v->run[i]];

		if (hits && in_run(s, hits, c->insn + v->start[i], found))
			return true;
	}
	return false;
}

/* --------------------------------------------------------------- threads - */

/* Chunks that are searched in parallel, the nearest first */
struct helper {
	pthread_t thread;
	struct serve_view *view;
	const struct search *search;
	size_t chunk;
	uint64_t at;
	bool found, started;
};

#define HELPERS_MAX	64u

static void *help(void *arg)
{
	struct helper *h = arg;

	h->found = in_chunk(h->view, h->search, h->chunk, &h->at);
	return NULL;
}

static bool run_helpers(struct helper *h, unsigned int nr, uint64_t *found)
{
	bool any = false;

	for (unsigned int i = 1; i < nr; i++) {
		if (!h[i].view)
			h[i].view = malloc(sizeof(*h[i].view));
		if (!h[i].view)
			die("%s", nt_strerror(NT_ENOMEM));
		serve_view_init(h[i].view, h[0].view->track);
		h[i].started = !pthread_create(&h[i].thread, NULL, help, &h[i]);
	}
	help(&h[0]);
	for (unsigned int i = 1; i < nr; i++) {
		if (h[i].started)
			pthread_join(h[i].thread, NULL);
		else
			help(&h[i]);
	}
	for (unsigned int i = 0; i < nr && !any; i++) {
		any = h[i].found;
		*found = h[i].at;
	}
	return any;
}

/* Advance *at to the next chunk that may contain a hit. Returns false if there is none. */
static bool next_chunk(const struct serve_track *t, const struct search *s, size_t *at)
{
	for (; *at < t->nr_chunks; *at += s->back ? SIZE_MAX : 1) {
		const struct serve_chunk *c = &t->chunk[*at];
		uint64_t end = *at + 1 < t->nr_chunks ? c[1].insn : t->insns;

		if (s->back ? end <= s->low : c->insn > s->high)
			return false;
		if (c->insn <= s->high && end > s->low && may_have(s->points, c))
			return true;
	}
	return false;
}

/* The chunk where the search begins */
static size_t first_chunk(const struct serve_track *t, const struct search *s)
{
	uint64_t from = s->back ? s->high : s->low;
	size_t low = 0, high = t->nr_chunks;

	while (high - low > 1) {
		size_t mid = (low + high) / 2;

		if (t->chunk[mid].insn <= from)
			low = mid;
		else
			high = mid;
	}
	return low;
}

static bool find(struct serve_view *v, const struct search *s, unsigned int threads,
		 uint64_t *found)
{
	struct helper h[HELPERS_MAX] = { { .view = v } };
	size_t at = first_chunk(v->track, s);
	bool any = false, more = true;
	unsigned int n, wanted = 1;

	if (threads > HELPERS_MAX)
		threads = HELPERS_MAX;
	while (!any && more && !serve_interrupted(s->interrupt)) {
		for (n = 0; n < wanted; n++) {
			more = next_chunk(v->track, s, &at);
			if (!more)
				break;
			h[n].search = s;
			h[n].chunk = at;
			at += s->back ? SIZE_MAX : 1;
		}
		if (n)
			any = run_helpers(h, n, found);
		/* the first chunk usually has a hit, so further threads start only now */
		wanted = threads;
	}
	for (n = 1; n < HELPERS_MAX; n++)
		free(h[n].view);
	return any;
}

bool serve_find(struct serve_view *v, struct serve_points *p, uint64_t from, uint64_t to,
		unsigned int threads, struct serve_interrupt *interrupt, uint64_t *found)
{
	struct search s = { .points = p, .low = from + 1, .high = to, .interrupt = interrupt };
	uint64_t pc;

	if (to < from)
		s = (struct search){
			.points = p, .low = to, .high = from - 1, .back = true,
			.interrupt = interrupt,
		};
	renew(p, v->track->program);
	if (from == to || !p->nr)
		return false;
	/* the position after the last instruction is in no run */
	if (!s.back && s.high >= v->track->insns) {
		s.high = v->track->insns - 1;
		if (p->any && s.low <= s.high && find(v, &s, threads, found))
			return true;
		*found = to;
		return serve_view_pc(v, to, &pc) && serve_points_have(p, pc);
	}
	return p->any && find(v, &s, threads, found);
}
