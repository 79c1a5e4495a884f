// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace profile of perf.data: the branches that perf script prints, counted
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "perf-script.h"
#include "profile.h"

/* Where a thread is, as far as it is in the program */
struct where {
	int tid, cpu;		/* the CPU of idle threads only: they share their number */
	bool inside;		/* the last transfer led into the program, and trace goes on */
	uint64_t to;		/* there */
	bool stopped;		/* trace ended inside of it */
	uint64_t at;		/* before that */
	uint64_t bias;		/* of where the program was mapped */
};

struct reader {
	struct profile_perf *result;
	const char *name;	/* of the program's file, without folders */
	struct where *threads;
	size_t nr_threads;
	char *other;		/* another file that there is trace of */
	bool found;		/* there is of the program's */
};

/* -------------------------------------------------------------- counts -- */

/* Spreads what is alike in most bits over all */
static size_t hash(const struct nt_edge *e)
{
	uint64_t h = e->from * 0x9e3779b97f4a7c15ull ^ (e->to + e->type) * 0xd6e8feb86659fd93ull;

	return h ^ h >> 32;
}

static struct nt_edge *find(struct nt_edge *table, size_t room, const struct nt_edge *e)
{
	size_t i = hash(e) & (room - 1);

	while (table[i].count && (table[i].from != e->from || table[i].to != e->to ||
				  table[i].type != e->type))
		i = (i + 1) & (room - 1);
	return &table[i];
}

/* At most half of the table is in use, so there is always an end of a search. */
static void grow(struct profile_perf *r)
{
	size_t room = r->room ? 2 * r->room : 64, i;
	struct nt_edge *table = calloc(room, sizeof(*table));

	if (!table)
		die("%s", nt_strerror(NT_ENOMEM));
	for (i = 0; i < r->room; i++)
		if (r->edges[i].count)
			*find(table, room, &r->edges[i]) = r->edges[i];
	free(r->edges);
	r->edges = table;
	r->room = room;
}

static void add(struct profile_perf *r, uint64_t from, uint64_t to, unsigned int type)
{
	struct nt_edge edge = { .from = from, .to = to, .type = type }, *e;

	if (2 * r->nr_edges >= r->room)
		grow(r);
	e = find(r->edges, r->room, &edge);
	if (!e->count) {
		*e = edge;
		r->nr_edges++;
	}
	e->count++;
}

/* --------------------------------------------------------------- flow -- */

static struct where *find_thread(struct reader *rd, const struct perf_event_line *ev)
{
	int cpu = ev->tid > 0 ? -1 : ev->cpu;
	size_t i;

	for (i = 0; i < rd->nr_threads; i++)
		if (rd->threads[i].tid == ev->tid && rd->threads[i].cpu == cpu)
			return &rd->threads[i];
	rd->threads = reallocarray(rd->threads, i + 1, sizeof(*rd->threads));
	if (!rd->threads)
		die("%s", nt_strerror(NT_ENOMEM));
	rd->threads[i] = (struct where){ .tid = ev->tid, .cpu = cpu };
	rd->nr_threads++;
	return &rd->threads[i];
}

/* The program's own address of a place; PROFILE_ELSEWHERE of others */
static uint64_t own(struct reader *rd, const struct perf_place *place, struct where *w)
{
	const char *slash = place->dso ? strrchr(place->dso, '/') : NULL;
	const char *name = slash ? slash + 1 : place->dso;
	uint64_t addr;

	if (!name)
		return PROFILE_ELSEWHERE;
	if (strcmp(name, rd->name)) {
		if (!rd->other)
			rd->other = strdup(place->dso);
		return PROFILE_ELSEWHERE;
	}
	addr = profile_address(rd->result->profile, place->offset);
	if (addr == PROFILE_ELSEWHERE)
		return addr;
	w->bias = place->addr - addr;
	rd->found = true;
	return addr;
}

static void go_on(struct where *w, uint64_t to)
{
	w->inside = to != PROFILE_ELSEWHERE;
	w->to = to;
	w->stopped = false;
}

/* Trace may go on where it ended; behind an ECALL, too, which never retires. */
static bool resumes(const struct where *w, uint64_t to)
{
	return w->stopped && (to == w->at || to == w->at + 4);
}

static void on_branch(struct reader *rd, const struct perf_event_line *ev)
{
	struct profile_perf *r = rd->result;
	struct where *w = find_thread(rd, ev);
	uint64_t from = own(rd, &ev->from, w), to = own(rd, &ev->to, w);

	if (ev->flags & PERF_BEGIN) {
		add(r, PROFILE_ELSEWHERE, to, resumes(w, to) ? NT_TYPE_ERET : NT_TYPE_NONE);
		go_on(w, to);
	} else if (ev->flags & PERF_END) {
		add(r, from, PROFILE_ELSEWHERE, NT_TYPE_TRAP);
		w->inside = false;
		w->stopped = from != PROFILE_ELSEWHERE;
		w->at = from;
	} else {
		add(r, from, to, ev->flags & PERF_TRAP ? NT_TYPE_TRAP :
				 ev->flags & PERF_ERET ? NT_TYPE_ERET : NT_TYPE_JUMP);
		go_on(w, to);
	}
}

/* What was executed up to a loss counts, if it is known where that was. */
static void on_error(struct reader *rd, const struct perf_event_line *ev)
{
	struct where *w = find_thread(rd, ev);
	uint64_t pc;

	rd->result->losses++;
	if (w->inside) {
		pc = ev->from.addr ? ev->from.addr - w->bias : w->to;
		add(rd->result, pc >= w->to ? pc : w->to, PROFILE_ELSEWHERE, PROFILE_TYPE_LOST);
	}
	w->inside = w->stopped = false;
}

void profile_perf_read(struct profile_perf *r, const char *perf, const char *file,
		       const char *program)
{
	const char *slash = strrchr(program, '/');
	struct reader rd = { .result = r, .name = slash ? slash + 1 : program };
	struct perf_event_line ev;
	struct perf_script s;

	perf_script_open(&s, perf, file, "be", "comm,pid,tid,cpu,time,flags,ip,addr,dso,dsoff");
	while (perf_script_next(&s, &ev)) {
		if (ev.error)
			on_error(&rd, &ev);
		else
			on_branch(&rd, &ev);
	}
	perf_script_close(&s);
	if (!rd.found)
		die("%s: has no trace of a file named %s%s%s", file, rd.name,
		    rd.other ? ", but of " : "", rd.other ? rd.other : "");
	free(rd.threads);
	free(rd.other);
}
