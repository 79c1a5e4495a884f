// SPDX-License-Identifier: GPL-2.0-only
/*
 * Follow each thread of a recording through the program, and count transfers, starts, ends and
 * losses. The counts of a part that another thread has decoded are added to those before it.
 */
#include <stdlib.h>

#include "profile-flow.h"

/* -------------------------------------------------------------- counts -- */

/* Spread the bits, because most edges differ in few of them. */
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

/* At most half of the table is in use, so each search ends at a free entry. */
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

void profile_flow_add(struct profile_perf *r, uint64_t from, uint64_t to, unsigned int type,
		      uint64_t count)
{
	struct nt_edge edge = { .from = from, .to = to, .type = type }, *e;

	if (2 * r->nr_edges >= r->room)
		grow(r);
	e = find(r->edges, r->room, &edge);
	if (!e->count) {
		*e = edge;
		r->nr_edges++;
	}
	e->count += count;
}

static void add(struct profile_perf *r, uint64_t from, uint64_t to, unsigned int type)
{
	profile_flow_add(r, from, to, type, 1);
}

void profile_flow_add_edge(struct profile_perf *r, const struct nt_edge *e)
{
	profile_flow_add(r, e->from, e->to, e->type, e->count);
}

/* ------------------------------------------------------------ threads -- */

static int64_t thread_key(int tid, int cpu)
{
	return tid > 0 ? tid : ((int64_t)tid - 1) * (1ll << 32) - cpu;
}

/* Idle tasks are never created. Neither are tasks that perf decodes: their tids stay. */
static size_t born(const struct profile_reader *rd, int tid)
{
	const struct rec_task *task = rd->rec && tid > 0 ? rec_map_find(&rd->rec->tasks, tid) :
							   NULL;

	return task ? task->born : 0;
}

/* Does another part precede this one? */
static bool is_later_part(const struct profile_reader *rd)
{
	return rd->rec && rd->rec->part;
}

static struct profile_where *add_thread(struct profile_reader *rd, int tid, int cpu, size_t born)
{
	struct profile_where *w = calloc(1, sizeof(*w));

	if (!w)
		die("%s", nt_strerror(NT_ENOMEM));
	w->tid = tid;
	w->cpu = cpu;
	w->born = born;
	w->known = !is_later_part(rd);
	rec_map_set(&rd->threads, thread_key(tid, cpu), w);
	return w;
}

struct profile_where *profile_flow_thread(struct profile_reader *rd, int tid, int cpu)
{
	struct profile_where *w = rd->last_thread;

	cpu = tid > 0 ? -1 : cpu;
	if (w && w->tid == tid && w->cpu == cpu)
		return w;
	w = rec_map_find(&rd->threads, thread_key(tid, cpu));
	if (!w)
		w = add_thread(rd, tid, cpu, born(rd, tid));
	rd->last_thread = w;
	return w;
}

static void add_first(struct profile_reader *rd, struct profile_where *w,
		      const struct profile_first *f)
{
	rd->first = array_room(rd->first, rd->nr_first, sizeof(*rd->first));
	rd->first[rd->nr_first] = *f;
	rd->first[rd->nr_first].tid = w->tid;
	rd->first[rd->nr_first].cpu = w->cpu;
	rd->first[rd->nr_first++].born = w->born;
	w->known = true;
}

/* --------------------------------------------------------------- flow -- */

void profile_flow_reach(struct profile_where *w, uint64_t to)
{
	w->inside = to != PROFILE_ELSEWHERE;
	w->to = to;
	w->stopped = false;
}

/* Trace may resume where it ended, or after an ECALL, which never retires. */
static bool resumes(const struct profile_where *w, uint64_t to)
{
	return w->stopped && (to == w->at || to == w->at + 4);
}

/* The rest of the thread's current run is unknown. */
static void lose(struct profile_reader *rd, struct profile_where *w, uint64_t pc)
{
	if (w->inside)
		add(rd->result, pc > w->to ? pc : w->to, PROFILE_ELSEWHERE, PROFILE_TYPE_LOST);
	w->inside = w->stopped = false;
}

/* A run that ends at the start of an interval has an unknown beginning. */
static void begin_interval(struct profile_reader *rd, struct profile_where *w,
			   unsigned int interval, unsigned int flags, uint64_t from)
{
	if (w->interval != interval)
		lose(rd, w, 0);
	w->interval = interval;
	if (!w->inside && from != PROFILE_ELSEWHERE && !(flags & PERF_BEGIN))
		add(rd->result, PROFILE_ELSEWHERE, from, NT_TYPE_NONE);
}

unsigned int profile_flow_type(unsigned int flags)
{
	return flags & PERF_TRAP ? NT_TYPE_TRAP : flags & PERF_ERET ? NT_TYPE_ERET : NT_TYPE_JUMP;
}

/* Count what a branch tells about the code before it. */
static void count_branch(struct profile_reader *rd, struct profile_where *w, unsigned int interval,
			 unsigned int flags, uint64_t from, uint64_t to)
{
	struct profile_perf *r = rd->result;

	begin_interval(rd, w, interval, flags, from);
	if (flags & PERF_BEGIN)
		add(r, PROFILE_ELSEWHERE, to, resumes(w, to) ? NT_TYPE_ERET : NT_TYPE_NONE);
	else if (flags & PERF_END)
		add(r, from, PROFILE_ELSEWHERE, NT_TYPE_TRAP);
	else
		add(r, from, to, profile_flow_type(flags));
}

void profile_flow_branch(struct profile_reader *rd, struct profile_where *w, unsigned int interval,
			 unsigned int flags, uint64_t from, uint64_t to)
{
	const struct profile_first first = {
		.kind = PROFILE_FIRST_BRANCH, .flags = flags, .from = from, .to = to,
	};

	if (w->known)
		count_branch(rd, w, interval, flags, from, to);
	else
		add_first(rd, w, &first);
	if (flags & PERF_END) {
		w->inside = false;
		w->stopped = from != PROFILE_ELSEWHERE;
		w->at = from;
	} else {
		profile_flow_reach(w, to);
	}
}

/* Count what was executed before a loss, if its address is known. */
static void lose_at(struct profile_reader *rd, struct profile_where *w, uint64_t pc)
{
	const struct profile_first first = { .kind = PROFILE_FIRST_LOSS, .from = pc };

	if (w->known)
		lose(rd, w, pc ? pc - w->bias : 0);
	else
		add_first(rd, w, &first);
}

void profile_flow_loss(struct profile_reader *rd, const struct perf_event_line *ev)
{
	rd->result->losses++;
	lose_at(rd, profile_flow_thread(rd, ev->tid, ev->cpu), ev->from.addr);
}

static void forget_thread(struct profile_reader *rd, struct profile_where *w)
{
	rec_map_remove(&rd->threads, thread_key(w->tid, w->cpu));
	if (rd->last_thread == w)
		rd->last_thread = NULL;
	free(w);
}

void profile_flow_gone(struct profile_reader *rd, int tid, size_t born)
{
	static const struct profile_first first = { .kind = PROFILE_FIRST_GONE };
	struct profile_where *w = rec_map_find(&rd->threads, thread_key(tid, -1));

	if (!w && !is_later_part(rd))
		return;
	if (!w)
		w = add_thread(rd, tid, -1, born);
	if (w->known)
		lose(rd, w, 0);
	else
		add_first(rd, w, &first);
	forget_thread(rd, w);
}

void profile_flow_end(struct profile_reader *rd)
{
	struct profile_where *w;
	size_t at = 0;

	while ((w = rec_map_next(&rd->threads, &at)))
		lose(rd, w, 0);
}

/* ------------------------------------------------------- several parts --- */

/* Where the previous parts have left a thread. Another thread with this tid has ended since. */
static struct profile_where *left_thread(struct profile_reader *rd, const struct profile_where *key)
{
	struct profile_where *w = rec_map_find(&rd->threads, thread_key(key->tid, key->cpu));

	if (w && w->born != key->born) {
		lose(rd, w, 0);
		forget_thread(rd, w);
		w = NULL;
	}
	if (!w)
		w = add_thread(rd, key->tid, key->cpu, key->born);
	rd->last_thread = w;
	return w;
}

static void append_first(struct profile_reader *rd, const struct profile_reader *other,
			 const struct profile_first *f, profile_flow_adopt adopt)
{
	const struct profile_where key = { .tid = f->tid, .cpu = f->cpu, .born = f->born };
	struct profile_where *w = left_thread(rd, &key);

	if (f->kind == PROFILE_FIRST_BRANCH)
		count_branch(rd, w, w->interval, f->flags, adopt(rd, other, f->from),
			     adopt(rd, other, f->to));
	else
		lose(rd, w, f->from ? f->from - w->bias : 0);
	/* what follows is in the other part */
	w->inside = w->stopped = false;
	if (f->kind == PROFILE_FIRST_GONE)
		forget_thread(rd, w);
}

static void append_thread(struct profile_reader *rd, const struct profile_reader *other,
			  const struct profile_where *from, profile_flow_adopt adopt)
{
	struct profile_where *w = left_thread(rd, from);

	*w = *from;
	if (w->stopped)
		w->at = adopt(rd, other, from->at);
	if (!w->inside)
		return;
	w->to = adopt(rd, other, from->to);
	w->bias -= w->to - from->to;
}

void profile_flow_append(struct profile_reader *rd, const struct profile_reader *other,
			 profile_flow_adopt adopt)
{
	const struct profile_perf *from = other->result;
	const struct profile_where *w;
	size_t i, at = 0;

	for (i = 0; i < other->nr_first; i++)
		append_first(rd, other, &other->first[i], adopt);
	while ((w = rec_map_next(&other->threads, &at)))
		append_thread(rd, other, w, adopt);
	for (i = 0; i < from->room; i++)
		if (from->edges[i].count)
			profile_flow_add(rd->result, adopt(rd, other, from->edges[i].from),
					 adopt(rd, other, from->edges[i].to), from->edges[i].type,
					 from->edges[i].count);
	rd->result->losses += from->losses;
}

void profile_flow_free(struct profile_reader *rd)
{
	struct profile_where *w;
	size_t at = 0;

	free(rd->first);
	while ((w = rec_map_next(&rd->threads, &at)))
		free(w);
	rec_map_free(&rd->threads);
}
