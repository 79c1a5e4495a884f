// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the decoder says of the control flow -> samples and errors. A stop is
 * held back until it is clear whether it was only a pause.
 */
#include <inttypes.h>
#include <linux/compiler.h>
#include <linux/kernel.h>

#include "event.h"
#include "maps.h"
#include "thread.h"
#include "ntrace-priv.h"

/* --- losses ----------------------------------------------------------------- */

/* What ran here, and whatever runs here until trace goes on, is not known any more. */
static void lose(struct ntrace_queue *q)
{
	ntrace_tasks_lost(q->nt, q);
	q->behind_gap = true;
}

/*
 * perf record --switch-output writes the mappings of tasks into each file in which there is trace
 * of them, unless they were too many, or some were lost.
 */
static bool is_of_another_file(struct ntrace_queue *q, u64 addr)
{
	return q->thread && !ntrace_is_kernel(q->nt, addr) && maps__empty(thread__maps(q->thread));
}

static int no_code(struct ntrace_queue *q, const struct nt_event *ev)
{
	const char *dso = q->guest ? "a guest" :
			  ntrace_space_dso(q->nt, q->thread ?: q->nt->unknown_thread, ev->to);

	if (!dso && is_of_another_file(q, ev->to))
		return ntrace_synth_error(q, NT_SESSION_LOSS_CODE, ev->to,
					  "no mappings of the task in this file: AUX %#" PRIx64,
					  ev->offset);
	return ntrace_synth_error(q, NT_SESSION_LOSS_CODE, ev->to, "no code in %s: AUX %#" PRIx64,
				  dso ?: "unmapped memory", ev->offset);
}

static int on_loss(struct ntrace_queue *q, const struct nt_event *ev)
{
	u64 ip = ev->flags & NT_EVF_PC ? ev->from : 0;
	enum nt_session_loss code = nt_session_loss(ev->reason);
	const char *dso;
	int err = 0;

	if (q->have_pc && ev->flags & NT_EVF_PC)
		err = ntrace_synth_range(q, ev->insns);
	q->have_pc = false;
	q->lost_some = true;
	q->unsaid = q->broken = false;
	lose(q);
	if (err)
		return err;

	if (code == NT_SESSION_LOSS_CODE)
		return no_code(q, ev);
	if (code == NT_SESSION_LOSS_FLOW && ip) {
		dso = ntrace_space_dso(q->nt, q->thread ?: q->nt->unknown_thread, ip);
		if (dso)
			return ntrace_synth_error(q, code, ip, "%s: %s: AUX %#" PRIx64,
						  nt_strerror(ev->reason), dso, ev->offset);
	}
	return ntrace_synth_error(q, code, ip, "%s: AUX %#" PRIx64, nt_strerror(ev->reason),
				  ev->offset);
}

/* --- the flow --------------------------------------------------------------- */

/* Does an Ownership message say whose the trace is? */
static bool tells_owner(const struct ntrace_queue *q, const struct nt_event *ev)
{
	return ntrace_is_scontext(q->profile, ev->reason) && q->owned &&
	       ev->offset <= q->owned_until;
}

void ntrace_flow_context(struct ntrace_queue *q, const struct nt_event *ev)
{
	bool was_guest = q->guest;
	pid_t tid;

	q->guest = ev->flags & NT_EVF_VIRT;
	if (q->guest != was_guest) {
		/* A guest numbers its tasks as it likes. */
		if (q->guest)
			q->host_tid = q->tid;
		ntrace_queue_set_tid(q, q->guest ? -1 : q->host_tid);
		ntrace_queue_look_up_thread(q);
	}
	if (q->guest || !tells_owner(q, ev))
		return;
	tid = ntrace_task_owner(q->nt, ev->context);
	if (q->tid != tid)
		ntrace_queue_set_tid(q, tid);
	ntrace_queue_look_up_thread(q);
}

static int hold(struct ntrace_queue *q, const struct nt_event *ev)
{
	q->held = *ev;
	q->held_time = q->time;
	q->have_held = true;
	return 0;
}

/* --itrace=q: the address that a message tells is all there is. */
static int address(struct ntrace_queue *q, const struct nt_event *ev)
{
	return q->quick && ev->to ? ntrace_synth_address(q, ev->to) : 0;
}

static int flush_stop(struct ntrace_queue *q)
{
	u64 now = q->time;
	int err;

	q->have_held = false;
	q->time = q->held_time;
	err = ntrace_synth_stop(q, &q->held);
	q->time = now;
	return err;
}

/* A task that goes on here did not pause where it stopped, and that was before. */
static int stop_elsewhere(struct ntrace_queue *q)
{
	struct ntrace *nt = q->nt;
	unsigned int i;
	int err = 0;

	for (i = 0; q->task && i < nt->nr_queues && !err; i++) {
		struct ntrace_queue *other = nt->queue[i];

		if (other && other != q && other->have_held && other->task == q->task &&
		    other->held.kind == NT_EV_STOP && other->held_time <= q->time)
			err = flush_stop(other);
	}
	return err;
}

static int flush_held(struct ntrace_queue *q)
{
	u64 now = q->time;
	int err;

	if (!q->have_held)
		return 0;
	if (q->held.kind == NT_EV_STOP)
		return flush_stop(q);
	q->have_held = false;
	q->time = q->held_time;
	err = stop_elsewhere(q) ?: ntrace_synth_start(q, &q->held) ?: address(q, &q->held);
	q->time = now;
	return err;
}

/*
 * A pause of the window: trace stopped, and resumes where it stopped. As far as
 * the program is concerned nothing happened.
 */
static bool is_pause(const struct ntrace_queue *q, const struct nt_event *ev)
{
	return q->have_held && q->held.kind == NT_EV_STOP && ev->flags & NT_EVF_JOIN &&
	       ev->to == q->held.from;
}

/*
 * Trace resumes after a shared sink was full. An encoder that had no room for its messages reports
 * a loss first. It reports none if a part of a message was in the sink, or if a funnel that was off
 * discarded messages. No trace is missing between a reported stop and a start by enabling.
 */
static int on_broken(struct ntrace_queue *q, unsigned int sync)
{
	bool broken = q->broken && (q->unsaid || sync != NT_SYNC_TRACE_ENABLE);

	q->unsaid = q->broken = false;
	if (!broken)
		return 0;
	return ntrace_flow_gap(q) ?:
	       ntrace_synth_error(q, NT_SESSION_LOSS_LOST, 0,
				  "trace lost: the shared sink was full at %#" PRIx64,
				  q->broken_at);
}

static int on_start(struct ntrace_queue *q, const struct nt_event *ev)
{
	int err = on_broken(q, ev->reason);

	if (err)
		return err;
	if (is_pause(q, ev)) {
		q->have_held = false;
		q->paused = true;
		q->resumed = *ev;
		q->resumed_time = q->time;
	} else {
		err = flush_held(q);
		/* Whose it is tells the Ownership message that follows. */
		hold(q, ev);
	}
	q->pc = ev->to;
	q->have_pc = true;
	ntrace_synth_restart(q);
	return err;
}

static int on_stop(struct ntrace_queue *q, const struct nt_event *ev)
{
	int err = 0;

	if (q->have_pc)
		err = ntrace_synth_range(q, ev->insns);
	q->have_pc = false;
	/* The branch before was the end. */
	if (ev->flags & NT_EVF_LEFT)
		return err;
	/* It may be a mere pause. */
	hold(q, ev);
	/* Here the trace did not say that it stops: it may have gone on. */
	q->unsaid = ev->reason == NT_EVCODE_NONE;
	if (!err && q->unsaid)
		err = ntrace_flow_gap(q);
	return err;
}

/* Between what was and what comes next trace is missing. */
int ntrace_flow_gap(struct ntrace_queue *q)
{
	int err = flush_held(q);

	q->paused = false;

	q->have_pc = false;
	lose(q);
	return err;
}

static int on_branch(struct ntrace_queue *q, const struct nt_event *ev)
{
	int err = 0;

	if (q->have_pc)
		err = ntrace_synth_range(q, ev->insns);
	if (!err)
		err = ntrace_synth_branch(q, ev);
	q->pc = ev->to;
	q->have_pc = !(ev->flags & NT_EVF_LEFT);
	return err;
}

static int follow(struct ntrace_queue *q, const struct nt_event *ev)
{
	switch (ev->kind) {
	case NT_EV_BRANCH:
		return on_branch(q, ev);
	case NT_EV_START:
		return on_start(q, ev);
	case NT_EV_STOP:
		return on_stop(q, ev);
	case NT_EV_LOSS:
		return on_loss(q, ev);
	default:
		return 0;
	}
}

static bool is_of_another(const struct ntrace_queue *q, const struct nt_event *ev)
{
	if (q->guest != !!(ev->flags & NT_EVF_VIRT))
		return true;
	return !q->guest && tells_owner(q, ev) && q->tid != (pid_t)ev->context &&
	       q->tid != ntrace_task_owner(q->nt, ev->context);
}

/*
 * A held stop belongs to the previous task. So does a stop that looked like a pause, if another
 * task resumes at the same instruction. The kernel's own flow continues there, as the Ownership
 * message names the next task a little before the switch ends.
 */
static int on_context(struct ntrace_queue *q, const struct nt_event *ev, bool paused)
{
	bool other = paused && !ntrace_is_kernel(q->nt, q->resumed.to) &&
		     is_of_another(q, ev);
	int err = 0;

	if (other)
		err = flush_stop(q);
	else if (q->have_held && q->held.kind == NT_EV_STOP)
		err = flush_held(q);
	ntrace_flow_context(q, ev);
	if (other) {
		hold(q, &q->resumed);
		q->held_time = q->resumed_time;
	}
	return err;
}

/* @last: no other event is from the same message, as far as is known. */
int ntrace_flow_event(struct ntrace_queue *q, const struct nt_event *ev, bool last)
{
	bool paused = q->paused;
	int err = 0;

	q->time = ntrace_event_time(q, ev);
	if (q->behind_gap)
		ntrace_tasks_lost(q->nt, q);
	q->behind_gap = false;
	ntrace_cycles_event(q, ev, last);
	ntrace_log_flow(q, ev);
	q->paused = false;
	if (ev->kind == NT_EV_CONTEXT)
		return on_context(q, ev, paused);

	if (ev->kind != NT_EV_START)
		err = flush_held(q);
	if (!err)
		err = follow(q, ev);
	if (!err && ev->kind != NT_EV_START)
		err = address(q, ev);
	return err;
}

/*
 * What is held back since before that time is true: trace that was going to
 * resume would have resumed.
 */
int ntrace_queue_flush(struct ntrace_queue *q, u64 before)
{
	if (!q->have_held || q->held_time >= before)
		return 0;
	return flush_held(q);
}
