// SPDX-License-Identifier: GPL-2.0-only
/*
 * Decode a recording in threads, each from one time to another
 *
 *	part 0	|--------------->.........
 *	part 1	     s===========|--------------->
 *	                         T		s: a sync message   ==== decoded without a result
 *
 * A part needs the state that the previous part has when it ends. To find that state, the part
 * decodes from sync messages before its beginning, as for --time. When both are done, the states
 * are compared: the place in each buffer, the events that wait there, their task and times, and
 * what is known of tasks. If they differ, the part is dropped, and the previous part goes on
 * through its time. So the result is that of one thread in any case. Only what a consumer itself
 * remembers is left, see struct rec_parts. A part that cannot go on is dropped, too: the previous
 * part says why.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "rec.h"

/* A queue when a part begins or has ended */
struct state {
	struct nt_session_queue q;	/* its pointers must not be followed */
	struct nt_event *waiting;
	uint64_t at;			/* offset of the byte to decode next */
	bool is_over;
};

struct part {
	struct parts *all;
	struct rec *rec;
	struct rec_output output;
	unsigned int number;
	uint64_t from;			/* may become later until begun is set */
	uint64_t to;			/* where the next part begins at the earliest */
	bool begun, failed, accepted;
	struct state *begin;		/* of each queue */
	struct rec_map tasks, spaces;	/* copies when it begins: see take_tasks() */
};

struct parts {
	const struct rec_parts *how;
	struct part *part;
	size_t nr;
	struct size_at *list;		/* of all windows */
	size_t nr_windows;
	pthread_mutex_t lock;		/* of from and begun of each part */
	pthread_cond_t begins;
};

/* ------------------------------------------------------------- division - */

struct size_at {
	uint64_t time, size;
};

static int compare(const void *a, const void *b)
{
	const struct size_at *x = a, *y = b;

	return x->time < y->time ? -1 : x->time > y->time;
}

/* Where decoding can begin and end must be told by times. */
static bool can_be_divided(const struct rec *rec, const struct nt_session_window *w)
{
	return rec_queue_is_timed(rec, w) && w->time && !w->ring && !w->sampled;
}

/* The size of the trace up to each time; NULL: the recording cannot be divided */
static struct size_at *list_sizes(const struct rec *rec, size_t *nr)
{
	struct size_at *list = NULL;
	unsigned int i;
	size_t k;

	*nr = 0;
	for (i = 0; i < rec->trace.nr_buffers; i++) {
		const struct nt_session_buffer *b = rec->trace.buffer[i];

		for (k = 0; b && k < b->nr_windows; k++) {
			if (!can_be_divided(rec, &b->window[k])) {
				free(list);
				return NULL;
			}
			list = array_room(list, *nr, sizeof(*list));
			list[(*nr)++] = (struct size_at){ b->window[k].time, b->window[k].size };
		}
	}
	if (*nr)
		qsort(list, *nr, sizeof(*list), compare);
	for (k = 1; k < *nr; k++)
		list[k].size += list[k - 1].size;
	return list;
}

/* Divide the recording into up to n parts of the same size. */
static void divide(struct parts *p, const struct rec *rec, size_t n)
{
	const struct size_at *list;
	size_t i;

	p->nr = 1;
	list = p->list = rec->trace.nr_wanted ? NULL : list_sizes(rec, &p->nr_windows);
	for (i = 0; list && i < p->nr_windows && p->nr < n; i++) {
		if (list[i].size < list[p->nr_windows - 1].size / n * p->nr ||
		    list[i].time <= p->part[p->nr - 1].from ||
		    list[i].time == list[p->nr_windows - 1].time)
			continue;
		p->part[p->nr - 1].to = list[i].time;
		p->part[p->nr++].from = list[i].time;
	}
}

/* The time when the step-th window after this time ends; 0: there is none in the part */
static uint64_t later(const struct parts *p, const struct part *part, size_t step)
{
	size_t i = array_behind(p->list, p->nr_windows, sizeof(*p->list), part->from);

	if (step > p->nr_windows - i ||
	    (part->number + 1 < p->nr && p->list[i + step - 1].time >= part->to))
		return 0;
	return p->list[i + step - 1].time;
}

/* ---------------------------------------------------------------- states - */

static void take_state(struct state *s, const struct rec_queue *rq)
{
	const struct nt_session_queue *q = &rq->s;
	const int n = q->nr - q->pos;

	s->q = *q;
	s->at = 0;
	if (q->window && q->flow)
		s->at = q->window->offset + q->data_skip - q->rest + nt_flow_consumed(q->flow);
	s->is_over = !q->window && q->next_window == q->buffer->nr_windows && !n && !q->have_held;
	s->waiting = calloc(n + 1, sizeof(*s->waiting));
	if (!s->waiting)
		die("%s", nt_strerror(NT_ENOMEM));
	if (n)
		memcpy(s->waiting, q->ev + q->pos, n * sizeof(*s->waiting));
}

static struct state *take_states(const struct rec *rec)
{
	struct state *states = calloc(rec->nr_queues + 1, sizeof(*states));
	unsigned int i;

	if (!states)
		die("%s", nt_strerror(NT_ENOMEM));
	for (i = 0; i < rec->nr_queues; i++)
		if (rec->queue[i])
			take_state(&states[i], rec->queue[i]);
	return states;
}

static void free_states(struct state *states, unsigned int nr)
{
	while (states && nr)
		free(states[--nr].waiting);
	free(states);
}

static bool same_event(const struct nt_event *a, const struct nt_event *b)
{
	return a->kind == b->kind && a->flags == b->flags && a->type == b->type &&
	       a->reason == b->reason && a->from == b->from && a->to == b->to &&
	       a->insns == b->insns && a->time == b->time && a->offset == b->offset &&
	       a->context == b->context;
}

static bool same_waiting(const struct state *a, const struct state *b)
{
	const int n = a->q.nr - a->q.pos;
	int i;

	if (n != b->q.nr - b->q.pos)
		return false;
	for (i = 0; i < n; i++)
		if (!same_event(&a->waiting[i], &b->waiting[i]))
			return false;
	return true;
}

/* The beginning of a span is not needed at its end. */
static bool same_span(const struct nt_session_queue *a, const struct nt_session_queue *b)
{
	const struct nt_session_span *x = &a->span, *y = &b->span;
	const bool ended = x->done == x->insns && y->done == y->insns;

	return x->to == y->to && x->known == y->known && x->sum == y->sum &&
	       (ended || (x->from == y->from && x->insns == y->insns && x->done == y->done)) &&
	       x->end - a->pos == y->end - b->pos && x->scan - a->pos == y->scan - b->pos;
}

static bool same_held(const struct nt_session_queue *a, const struct nt_session_queue *b)
{
	if (a->have_held != b->have_held || a->paused != b->paused)
		return false;
	return (!a->have_held ||
		(a->held_time == b->held_time && same_event(&a->held, &b->held))) &&
	       (!a->paused ||
		(a->resumed_time == b->resumed_time && same_event(&a->held, &b->held) &&
		 same_event(&a->resumed, &b->resumed)));
}

/* In a window with Ownership messages, the first of them tells the task. */
static bool same_task(const struct nt_session_queue *a, const struct nt_session_queue *b)
{
	return a->cpu == b->cpu && a->tid == b->tid && a->owned == b->owned &&
	       a->owned_until == b->owned_until && a->guest == b->guest &&
	       (!a->guest || a->host_tid == b->host_tid);
}

static bool same_flow(const struct nt_session_queue *a, const struct nt_session_queue *b)
{
	return a->have_pc == b->have_pc && (!a->have_pc || a->pc == b->pc) &&
	       a->kernel_at_end == b->kernel_at_end && a->doubtful == b->doubtful &&
	       a->replay.due == b->replay.due && a->replay.trial == b->replay.trial &&
	       a->calls_unsure == b->calls_unsure && a->calls == b->calls;
}

static bool same_losses(const struct nt_session_queue *a, const struct nt_session_queue *b)
{
	return a->begun == b->begun && a->lost_some == b->lost_some && a->unsaid == b->unsaid &&
	       a->after_loss == b->after_loss && a->broken == b->broken &&
	       (!a->broken || a->broken_at == b->broken_at) &&
	       a->next_offset == b->next_offset;
}

/*
 * The time of the last event and the clock of samples are not compared. No waiting event is earlier
 * than the former, and only samples use the latter.
 */
static bool same_state(const struct state *a, const struct state *b)
{
	if (a->is_over && b->is_over)
		return true;
	return a->is_over == b->is_over && a->q.next_window == b->q.next_window &&
	       !a->q.window == !b->q.window && a->at == b->at && a->q.timed == b->q.timed &&
	       a->q.hw_id == b->q.hw_id && same_waiting(a, b) && same_span(&a->q, &b->q) &&
	       same_held(&a->q, &b->q) && same_task(&a->q, &b->q) && same_flow(&a->q, &b->q) &&
	       same_losses(&a->q, &b->q);
}

/* Copy what is known of tasks, by tid, and the number of mappings of processes, by pid. */
static void take_tasks(struct part *part)
{
	const struct rec_space *space;
	const struct rec_task *task;
	struct rec_task *copy;
	size_t at = 0;

	while ((task = rec_map_next(&part->rec->tasks, &at))) {
		if (!task->recorded)
			continue;
		copy = malloc(sizeof(*copy));
		if (!copy)
			die("%s", nt_strerror(NT_ENOMEM));
		*copy = *task;
		rec_map_set(&part->tasks, task->tid, copy);
	}
	for (at = 0; (space = rec_map_next(&part->rec->spaces, &at));)
		if (space->nr_maps)
			rec_map_set(&part->spaces, space->pid, (void *)space->nr_maps);
}

static void free_tasks(struct part *part)
{
	void *copy;
	size_t at = 0;

	while ((copy = rec_map_next(&part->tasks, &at)))
		free(copy);
	rec_map_free(&part->tasks);
	rec_map_free(&part->spaces);
}

static bool same_task_info(const struct rec_task *a, const struct rec_task *b)
{
	return a->pid == b->pid && !strcmp(a->comm, b->comm) && a->image == b->image &&
	       a->born == b->born && a->ended == b->ended && (!a->ended || a->end == b->end);
}

/*
 * What the previous part knows of tasks, the part knows, too. Of others, the part knows only that
 * they have ended: the previous part has freed them already.
 */
static bool same_tasks(const struct rec *rec, const struct part *part)
{
	const struct rec_task *task, *copy;
	const struct rec_space *space;
	size_t at = 0;

	while ((task = rec_map_next(&rec->tasks, &at))) {
		copy = task->recorded ? rec_map_find(&part->tasks, task->tid) : task;
		if (!copy || !same_task_info(task, copy))
			return false;
	}
	for (at = 0; (copy = rec_map_next(&part->tasks, &at));) {
		task = rec_map_find(&rec->tasks, copy->tid);
		if (!copy->ended && (!task || !task->recorded))
			return false;
	}
	for (at = 0; (space = rec_map_next(&rec->spaces, &at));)
		if ((size_t)rec_map_find(&part->spaces, space->pid) != space->nr_maps)
			return false;
	return true;
}

/* Has decoding come to where the part began? */
static bool fits(const struct rec *rec, const struct part *part)
{
	struct state *end;
	unsigned int i;
	bool same;

	if (part->failed || part->rec->used_ended || rec->nr_queues != part->rec->nr_queues ||
	    !same_tasks(rec, part))
		return false;
	end = take_states(rec);
	for (i = 0, same = true; same && i < rec->nr_queues; i++)
		if (rec->queue[i])
			same = same_state(&end[i], &part->begin[i]);
	free_states(end, rec->nr_queues);
	return same;
}

/* ----------------------------------------------------------------- parts - */

/* Is it known what runs in each queue? */
static bool is_settled(const struct rec *rec)
{
	unsigned int i;

	for (i = 0; i < rec->nr_queues; i++) {
		const struct nt_session_queue *q = rec->queue[i] ? &rec->queue[i]->s : NULL;

		if (q && q->tid < 0 && (q->window || q->next_window < q->buffer->nr_windows))
			return false;
	}
	return true;
}

/* part->from does not change any more. */
static void tell_begin(struct part *part)
{
	struct parts *all = part->all;

	pthread_mutex_lock(&all->lock);
	part->begun = true;
	pthread_cond_broadcast(&all->begins);
	pthread_mutex_unlock(&all->lock);
}

/*
 * Begin where it is known what runs in each queue, which a CPU that is idle does not tell for a
 * while. The previous part waits to be told.
 */
static void find_begin(struct part *part)
{
	struct parts *all = part->all;
	size_t step = 1;
	uint64_t next;

	rec_run_skip(part->rec, part->from);
	while (!is_settled(part->rec) && (next = later(all, part, step))) {
		part->from = next;
		rec_run_skip(part->rec, next);
		step *= 2;
	}
	part->begin = take_states(part->rec);
	take_tasks(part);
	part->rec->begun = part->from;
	tell_begin(part);
}

/* The time when the next part begins; UINT64_MAX: there is none */
static uint64_t end_of(struct part *part)
{
	struct parts *all = part->all;

	if (part->number + 1 == all->nr)
		return UINT64_MAX;
	pthread_mutex_lock(&all->lock);
	while (!part[1].begun)
		pthread_cond_wait(&all->begins, &all->lock);
	pthread_mutex_unlock(&all->lock);
	return part[1].from;
}

static void run_until(struct rec *rec, uint64_t time)
{
	rec->until = time == UINT64_MAX ? 0 : time;
	rec_run_until(rec, time);
}

static void decode_part(struct part *p)
{
	struct parts *all = p->all;
	struct rec *first = all->part[0].rec, *rec = p->rec;
	const bool last = p->number + 1 == all->nr;
	const uint64_t to = last ? UINT64_MAX : p->to;

	if (p->number) {
		rec_open_part(rec, first->path, first->options, p->number);
		p->output = all->how->begin(all->part[0].output.ctx, rec);
	}
	rec_run_begin(rec, &p->output);
	if (p->number)
		find_begin(p);
	run_until(rec, to);
	if (!last && end_of(p) > to)
		run_until(rec, end_of(p));
}

static void *decode(void *arg)
{
	struct part *p = arg;
	jmp_buf failed;

	if (!p->number) {
		decode_part(p);
		return NULL;
	}
	die_instead = &failed;
	if (setjmp(failed))
		p->failed = true;
	else
		decode_part(p);
	die_instead = NULL;
	tell_begin(p);
	return NULL;
}

/* Print what accepted parts have to say, up to @last. */
static void tell(struct parts *p, size_t last)
{
	struct rec *rec = p->part[0].rec;
	size_t i, k;

	for (i = 1; i <= last; i++)
		for (k = 0; p->part[i].accepted && k < p->part[i].rec->nr_told; k++)
			rec_warn(rec, "%s", p->part[i].rec->told[k]);
}

/* Does each part fit the one before it? Otherwise that one goes on, which may end the command. */
static size_t accept_parts(struct parts *p)
{
	size_t i, last = 0;

	for (i = 1; i < p->nr; i++) {
		p->part[i].accepted = fits(p->part[last].rec, &p->part[i]);
		if (p->part[i].accepted) {
			last = i;
		} else {
			tell(p, last);
			run_until(p->part[last].rec, end_of(&p->part[i]));
		}
	}
	return last;
}

/* Add the results of the accepted parts to those of the first one. */
static void join(struct parts *p)
{
	const size_t last = accept_parts(p);
	struct part *first = &p->part[0];
	bool used_ended = false;
	size_t i;

	for (i = 1; i <= last; i++)
		used_ended |= p->part[i].accepted && p->part[i].rec->used_ended;
	if (used_ended) {
		run_until(first->rec, UINT64_MAX);
		return;
	}
	tell(p, last);
	for (i = 1; i <= last; i++) {
		struct part *part = &p->part[i];

		if (!part->accepted)
			continue;
		first->rec->losses += part->rec->losses;
		first->rec->insns += part->rec->insns;
		p->how->append(first->output.ctx, part->output.ctx);
	}
}

/* What a failed part has is left alone: it may be incomplete. */
static void free_part(struct part *p)
{
	if (p->failed)
		return;
	free_states(p->begin, p->rec->nr_queues);
	free_tasks(p);
	p->all->how->drop(p->output.ctx);
	rec_free(p->rec);
	free(p->rec);
}

/* Parts rely on the events of tasks, and need memory each. */
static bool is_complete(const struct rec *rec)
{
	return !rec->lost && !rec->damage && !rec->options->memory;
}

void rec_parts_run(struct rec *rec, const struct rec_output *output, const struct rec_parts *how)
{
	const size_t n = is_complete(rec) && rec->options->threads ? rec->options->threads : 1;
	struct parts p = {
		.how = how, .part = calloc(n, sizeof(*p.part)),
		.lock = PTHREAD_MUTEX_INITIALIZER, .begins = PTHREAD_COND_INITIALIZER,
	};
	size_t i;

	if (!p.part)
		die("%s", nt_strerror(NT_ENOMEM));
	if (n > 1)
		divide(&p, rec, n);
	else
		p.nr = 1;
	for (i = 0; i < p.nr; i++) {
		p.part[i].all = &p;
		p.part[i].number = (unsigned int)i;
		p.part[i].rec = i ? calloc(1, sizeof(*rec)) : rec;
		if (!p.part[i].rec)
			die("%s", nt_strerror(NT_ENOMEM));
	}
	p.part[0].output = *output;
	threads_run(p.nr, decode, p.part, sizeof(*p.part));
	join(&p);
	progress_end();
	for (i = 1; i < p.nr; i++)
		free_part(&p.part[i]);
	free(p.part);
	free(p.list);
}
