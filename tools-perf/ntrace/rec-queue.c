// SPDX-License-Identifier: GPL-2.0-only
/*
 * Host callbacks of a session's queues (ntrace-session/nt-session-queue.c) for a recording: the
 * current task and code of a queue. rec-flow.c handles the control flow.
 */
#include <stdlib.h>
#include <string.h>

#include "rec.h"

static void check(const struct rec_queue *q, int err)
{
	if (err < 0)
		die("%s: %s", q->rec->path, strerror(-err));
}

/* -------------------------------------------------------------- who runs - */

void rec_queue_set_tid(struct rec_queue *q, int tid)
{
	q->s.tid = tid < 0 ? -1 : tid;
	q->task = NULL;
	q->space = NULL;
	q->seen = 0;
}

/*
 * Look the task up as late as possible: when a window is opened, not all earlier records have been
 * processed yet.
 */
static void look_up_task(struct rec_queue *q)
{
	/* Only other events can change the result. */
	if (q->seen == q->rec->notes_done)
		return;
	q->seen = q->rec->notes_done;
	if (!q->task && q->s.tid >= 0) {
		q->task = rec_task_get(q->rec, q->s.tid, q->s.cpu);
		q->rec->used_ended |= q->task->ended && q->task->end < q->rec->begun;
	}
	q->pid = q->task && q->task->pid >= 0 ? q->task->pid : q->s.tid;
	q->space = rec_task_space(q->rec, q->task);
	q->chosen = rec_flow_is_chosen(q);
}

static void set_tid(struct nt_session_queue *s, pid_t tid)
{
	rec_queue_set_tid(rec_queue_of(s), tid);
}

static pid_t owner(struct nt_session_queue *s, pid_t tid)
{
	return rec_task_owner(rec_queue_of(s)->rec, tid);
}

static bool knows_task(struct nt_session_queue *s, pid_t tid)
{
	const struct rec_task *task = rec_map_find(&rec_queue_of(s)->rec->tasks, tid);

	return task && task->recorded;
}

/* ------------------------------------------------------------------ code - */

static struct nt_code *kernel_code(struct nt_session_queue *s)
{
	return rec_code_kernel(rec_queue_of(s)->rec, s->kernel_at_end);
}

static bool is_patched(struct nt_session_queue *s)
{
	return rec_queue_of(s)->rec->patches.nr;
}

static bool is_kernel(struct nt_session_queue *s, uint64_t addr)
{
	return rec_is_kernel(rec_queue_of(s)->rec, addr);
}

static void use_code(struct nt_session_queue *s)
{
	struct rec_queue *q = rec_queue_of(s);

	look_up_task(q);
	/* The code of a guest is in none of the files. */
	if (s->guest)
		nt_flow_set_code(s->flow, NULL, NULL);
	else
		nt_flow_set_code(s->flow, rec_code_user(q->rec, q->space), kernel_code(s));
}

struct nt_code *rec_queue_code(struct rec_queue *q, uint64_t addr)
{
	if (q->s.guest)
		return NULL;
	return rec_is_kernel(q->rec, addr) ? kernel_code(&q->s) :
					     rec_code_user(q->rec, q->space);
}

/* ----------------------------------------------------------------- terms - */

static int terms(struct nt_session_queue *s, const struct nt_session_window *w,
		 struct nt_params *params)
{
	struct rec *rec = rec_queue_of(s)->rec;
	char why[NTRACE_WHY];

	if (ntrace_info_params(&rec->info, w->hw_id, w->cpu, params, why))
		die("%s: %s", rec->path, why);
	nt_session_choose_src(params, w->hw_id);
	rec_code_use(rec, params);
	return 0;
}

bool rec_queue_is_timed(const struct rec *rec, const struct nt_session_window *w)
{
	const struct ntrace_info *info = &rec->info;
	const uint64_t *cpu = ntrace_info_cpu(info, w->cpu);

	return info->have_clock && w->hw_id & NTRACE_HW_ID_TIMESTAMP && cpu &&
	       cpu[NTRACE_INFO_CPU_TS_CLOCK] == NTRACE_TS_CLOCK_TIME;
}

static bool is_timed(struct nt_session_queue *s, const struct nt_session_window *w)
{
	return rec_queue_is_timed(rec_queue_of(s)->rec, w);
}

static struct nt_counts *counts(struct nt_session_queue *s, uint64_t *until)
{
	return rec_count(rec_queue_of(s), until);
}

static int broken(struct nt_session_queue *s, int err)
{
	die("%s: %s", rec_queue_of(s)->rec->path, nt_strerror(err));
}

static int on_event(struct nt_session_queue *s, const struct nt_event *ev, bool last)
{
	(void)last;
	/* Only losses show a gap here. The fast path for branches may be used again. */
	s->behind_gap = false;
	look_up_task(rec_queue_of(s));
	return nt_session_flow_event(s, ev);
}

static const struct nt_session_host host = {
	.is_timed = is_timed,
	.terms = terms,
	.use_code = use_code,
	.counts = counts,
	.broken = broken,
	.kernel = kernel_code,
	.is_patched = is_patched,
	.is_kernel = is_kernel,
	.owner = owner,
	.knows = knows_task,
	.set_tid = set_tid,
	.event = on_event,
	.plain_branches = true,
	.range = rec_flow_range,
	.branch = rec_flow_branch,
	.start = rec_flow_start,
	.stop = rec_flow_stop,
	.pause = rec_flow_pause,
	.other = rec_flow_other,
	.loss = rec_flow_loss,
	.no_code = rec_flow_no_code,
	.place = rec_flow_place,
};

/* ------------------------------------------------------------ its passage - */

struct rec_queue *rec_queue_new(struct rec *rec, struct nt_session_buffer *buffer)
{
	struct rec_queue *q = calloc(1, sizeof(*q));

	if (!q)
		die("%s", nt_strerror(NT_ENOMEM));
	q->rec = rec;
	q->pid = -1;
	check(q, nt_session_queue_init(&q->s, &host, &rec->trace, buffer));
	q->s.patches = rec->patches.nr ? &rec->patches : NULL;
	q->s.pace.period = 1 << NT_SESSION_CLOCK_SHIFT;
	return q;
}

void rec_queue_free(struct rec_queue *q)
{
	if (q)
		nt_session_queue_exit(&q->s);
	free(q);
}

bool rec_queue_fetch(struct rec_queue *q, uint64_t limit)
{
	int ret = nt_session_queue_fetch(&q->s, limit);

	check(q, ret);
	return ret;
}

void rec_queue_deliver(struct rec_queue *q, uint64_t until)
{
	check(q, nt_session_queue_deliver(&q->s, until, until));
}

void rec_queue_flush(struct rec_queue *q, uint64_t before)
{
	check(q, nt_session_flow_flush(&q->s, before));
}

/*
 * Trace without times is decoded when the record of its window arrives. It may be from any time
 * since the window before. Times of messages and of records may differ slightly.
 */
uint64_t rec_queue_done(struct rec_queue *q)
{
	const struct nt_session_buffer *b = q->s.buffer;
	const uint64_t reached = q->rec->trace.reached;
	const struct nt_session_window *w = q->s.window, *before;

	if (!rec_cpu_is_wanted(q->rec->options, b->cpu))
		return UINT64_MAX;
	if (!w && q->s.next_window == b->nr_windows && q->s.pos == q->s.nr && !q->s.have_held)
		return UINT64_MAX;
	if (!w && q->s.next_window < b->nr_windows)
		w = &b->window[q->s.next_window];
	if (!w || q->s.host->is_timed(&q->s, w))
		return reached > NT_SESSION_PAUSE_NS ? reached - NT_SESSION_PAUSE_NS : 0;
	before = w->sampled ? NULL : nt_session_window_before(b, w);
	return before ? before->time : 0;
}
