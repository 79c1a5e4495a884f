// SPDX-License-Identifier: GPL-2.0-only
/*
 * Decode in the order of time. Before each other event of the recording, trace is decoded up to the
 * event's time. So code is read through the mappings that existed when it ran.
 */
#include <stdlib.h>

#include "rec.h"

/*
 * Find the queue with the earliest event, among those that are ready. *next: the time of the next
 * queue. NULL: no queue is ready
 */
static struct rec_queue *first_queue(struct rec *rec, uint64_t *next)
{
	struct rec_queue *first = NULL;
	uint64_t best = UINT64_MAX;
	unsigned int i;

	*next = UINT64_MAX;
	for (i = 0; i < rec->nr_queues; i++) {
		uint64_t time;

		if (!rec->ready[i])
			continue;
		time = nt_session_queue_time(&rec->queue[i]->s);
		if (!first || time < best) {
			if (first)
				*next = best;
			first = rec->queue[i];
			best = time;
		} else if (time < *next) {
			*next = time;
		}
	}
	return first;
}

static bool fetch(struct rec_queue *q, uint64_t limit)
{
	if (rec_queue_fetch(q, limit))
		return true;
	if (limit == UINT64_MAX)
		rec_queue_flush(q, UINT64_MAX);
	else if (limit > NT_SESSION_PAUSE_NS)
		rec_queue_flush(q, limit - NT_SESSION_PAUSE_NS);
	return false;
}

/* The last time that is wanted; the intervals are sorted */
static uint64_t last_wanted(const struct rec *rec)
{
	const struct nt_session *s = &rec->trace;

	return s->nr_wanted ? s->wanted[s->nr_wanted - 1].to : UINT64_MAX;
}

/* Behind this time, no event is wanted, and a stop that is still held back was no pause. */
static uint64_t wanted_until(const struct rec *rec)
{
	const uint64_t last = last_wanted(rec);

	return last < UINT64_MAX - NT_SESSION_PAUSE_NS ? last + NT_SESSION_PAUSE_NS : UINT64_MAX;
}

/*
 * Decode all queues up to the limit, the queue with the earliest event first. Events that are not
 * wanted any more are decoded nevertheless, because a message may begin before its time.
 */
static void decode_until(struct rec *rec, uint64_t limit)
{
	const uint64_t end = wanted_until(rec), to = limit < end ? limit : end;
	struct rec_queue *q;
	uint64_t next;
	unsigned int i;

	for (i = 0; i < rec->nr_queues; i++)
		rec->ready[i] = rec->queue[i] &&
				rec_cpu_is_wanted(rec->options, rec->queue[i]->s.buffer->cpu) &&
				fetch(rec->queue[i], limit);
	while ((q = first_queue(rec, &next)) && nt_session_queue_time(&q->s) <= to) {
		rec_queue_deliver(q, next < to ? next : to);
		for (i = 0; rec->queue[i] != q; i++)
			;
		rec->ready[i] = fetch(q, limit);
	}
	for (i = 0; limit > end && i < rec->nr_queues; i++)
		if (rec->ready[i])
			rec_queue_flush(rec->queue[i], last_wanted(rec) + 1);
}

/* ------------------------------------------------------ the other events - */

/* One warning is enough: the terms of an event do not change. */
static void warn_of_switch(struct rec *rec, struct rec_queue *q, int tid)
{
	if (rec->told_blind || q->s.tid <= 0 || tid <= 0 || q->s.tid == tid ||
	    !nt_session_queue_is_blind(&q->s))
		return;
	rec_warn(rec, "%s: CPU %d: trace that tells neither times nor tasks: what several tasks ran between two "
	     "AUX records is taken for the last one's", rec->path, q->s.buffer->cpu);
	rec->told_blind = true;
}

/* Set the running task of a CPU if the trace does not report it. */
static void on_switch(struct rec *rec, int cpu, int tid)
{
	unsigned int i;

	for (i = 0; i < rec->nr_queues; i++) {
		struct rec_queue *q = rec->queue[i];

		if (!q || q->s.buffer->cpu != cpu || cpu < 0 || q->s.owned)
			continue;
		warn_of_switch(rec, q, tid);
		rec_queue_set_tid(q, tid);
	}
}

/* A task that leaves the CPU does not pause there, so deliver stops that are held back. */
static void flush_cpu(struct rec *rec, int cpu)
{
	unsigned int i;

	for (i = 0; i < rec->nr_queues; i++)
		if (rec->queue[i] && rec->queue[i]->s.cpu == cpu)
			rec_queue_flush(rec->queue[i], UINT64_MAX);
}

/*
 * If the task executing on the CPU was not the leader, it now has the leader's tid. Earlier stops
 * belong to the old tid.
 */
static void rename_owner(struct rec *rec, int cpu)
{
	unsigned int i;

	for (i = 0; i < rec->nr_queues; i++) {
		struct rec_queue *q = rec->queue[i];
		int tid = q && q->s.cpu == cpu ? rec_task_owner(rec, q->s.tid) : -1;

		if (tid <= 0 || tid == q->s.tid)
			continue;
		rec_queue_flush(q, UINT64_MAX);
		rec_queue_set_tid(q, tid);
	}
}

/* A stop that is held back belongs to the task that had the tid before. */
static void flush_task(struct rec *rec, int tid)
{
	unsigned int i;

	for (i = 0; i < rec->nr_queues; i++)
		if (rec->queue[i] && rec->queue[i]->s.tid == tid)
			rec_queue_flush(rec->queue[i], UINT64_MAX);
}

/* An exec replaces the program, so an earlier stop in user space was not a pause. */
static void on_exec(struct rec *rec, int tid)
{
	unsigned int i;

	for (i = 0; i < rec->nr_queues; i++) {
		struct rec_queue *q = rec->queue[i];

		if (!q || q->s.tid != tid)
			continue;
		/* the first program has no trace before it */
		if ((rec->images || rec->forked) && !rec->told_exec &&
		    nt_session_queue_is_untimed(&q->s)) {
			rec_warn(rec, "%s: task %d executed a program in trace without times: what it ran before may be "
			     "taken for the new program's", rec->path, tid);
			rec->told_exec = true;
		}
		if (!q->s.have_held || !rec_is_kernel(rec, q->s.held.from))
			rec_queue_flush(q, UINT64_MAX);
	}
}

static void on_note(struct rec *rec, const struct rec_note *n)
{
	rec->notes_done++;
	switch (n->type) {
	case NT_PERFDATA_MMAP:
	case NT_PERFDATA_MMAP2:
		rec_task_mmap(rec, n->mmap, (n->misc & NT_PERFDATA_MISC_CPUMODE) ==
					    NT_PERFDATA_MISC_KERNEL);
		break;
	case NT_PERFDATA_COMM:
		if (n->misc & NT_PERFDATA_MISC_COMM_EXEC)
			on_exec(rec, n->tid);
		rec_task_comm(rec, n->pid, n->tid, n->comm,
			      n->misc & NT_PERFDATA_MISC_COMM_EXEC);
		if (n->misc & NT_PERFDATA_MISC_COMM_EXEC)
			rename_owner(rec, n->cpu);
		break;
	case NT_PERFDATA_FORK:
		rec->forked |= n->time;
		flush_task(rec, n->tid);
		rec_task_fork(rec, n->pid, n->ppid, n->tid, n->ptid);
		break;
	case NT_PERFDATA_EXIT:
		rec_task_exit(rec, n->pid, n->tid, n->time);
		break;
	case NT_PERFDATA_KSYMBOL:
	case NT_PERFDATA_TEXT_POKE:
		rec_code_kernel_changed(rec, n->start, n->end);
		break;
	case NT_PERFDATA_ITRACE_START:
		on_switch(rec, n->cpu, n->tid);
		break;
	case NT_PERFDATA_SWITCH:
		if (!(n->misc & NT_PERFDATA_MISC_SWITCH_OUT))
			on_switch(rec, n->cpu, n->tid);
		break;
	case NT_PERFDATA_SWITCH_CPU_WIDE:
		on_switch(rec, n->cpu, n->tid);
		break;
	}
}

static void make_queues(struct rec *rec)
{
	unsigned int i;

	if (nt_session_streams(&rec->trace))
		die("%s", nt_strerror(NT_ENOMEM));
	rec->nr_queues = rec->trace.nr_buffers;
	rec->queue = calloc(rec->nr_queues + 1, sizeof(*rec->queue));
	if (!rec->queue)
		die("%s", nt_strerror(NT_ENOMEM));
	for (i = 0; i < rec->nr_queues; i++)
		if (rec->trace.buffer[i])
			rec->queue[i] = rec_queue_new(rec, rec->trace.buffer[i]);
}

void rec_run_begin(struct rec *rec, const struct rec_output *output)
{
	rec->output = output;
	rec->notes_done = 1;
	make_queues(rec);
	rec->ready = calloc(rec->nr_queues + 1, sizeof(*rec->ready));
	if (!rec->ready)
		die("%s", nt_strerror(NT_ENOMEM));
	rec_notes_begin(rec);
	rec->note = rec_note_next(rec);
}

static void use_note(struct rec *rec, const struct rec_note *n)
{
	if (n->time)
		decode_until(rec, n->time);
	if (n->type == NT_PERFDATA_SWITCH || n->type == NT_PERFDATA_SWITCH_CPU_WIDE)
		flush_cpu(rec, n->cpu);
	if (n->time > rec->trace.reached)
		rec->trace.reached = n->time;
	on_note(rec, n);
	if (rec->output->note)
		rec->output->note(rec->output->ctx, n);
	if (!rec->part)
		progress(rec->notes_done - 1, rec->notes.nr);
}

void rec_run_until(struct rec *rec, uint64_t time)
{
	while (rec->note && rec->note->time <= time && rec->trace.reached <= wanted_until(rec)) {
		use_note(rec, rec->note);
		rec->note = rec_note_next(rec);
	}
	if (!rec->note || rec->note->time > time)
		decode_until(rec, time);
	rec_count_end(rec);
}

void rec_run_skip(struct rec *rec, uint64_t time)
{
	static const struct rec_output nothing;
	const struct rec_output *output = rec->output;
	const struct nt_session_interval rest = { time, UINT64_MAX };

	rec->output = &nothing;
	rec->skipping = true;
	rec->trace.wanted = &rest;
	rec->trace.nr_wanted = 1;
	rec_run_until(rec, time);
	rec->trace.wanted = NULL;
	rec->trace.nr_wanted = 0;
	rec->output = output;
	rec->skipping = false;
	rec->losses = 0;
	rec->insns = 0;
}

void rec_run(struct rec *rec, const struct rec_output *output)
{
	rec_run_begin(rec, output);
	rec_run_until(rec, UINT64_MAX);
	progress_end();
}
