// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Converts the decoder's events to what a host shows: owners, where trace begins and ends, and
 * losses. A stop is held back until it is clear whether it was only a pause.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "nt-session.h"

int nt_session_flow_loss(struct nt_session_queue *q, enum nt_session_loss code, uint64_t ip,
			 const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return q->host->loss(q, code, ip, text);
}

/* Report the instructions from q->pc up to the event. Without q->pc, they are unknown. */
static int end_range(struct nt_session_queue *q, uint32_t insns)
{
	return q->have_pc ? q->host->range(q, insns) : 0;
}

/* ------------------------------------------------------------- held events -- */

static void hold(struct nt_session_queue *q, const struct nt_event *ev)
{
	q->held = *ev;
	q->held_time = q->time;
	q->have_held = true;
}

static int flush_held(struct nt_session_queue *q)
{
	bool stop = q->held.kind == NT_EV_STOP;
	uint64_t now = q->time;
	int err;

	if (!q->have_held)
		return 0;
	q->have_held = false;
	q->time = q->held_time;
	err = stop ? q->host->stop(q, &q->held) : q->host->start(q, &q->held);
	q->time = now;
	return err;
}

static int flush_stop(struct nt_session_queue *q)
{
	return q->held.kind == NT_EV_STOP ? flush_held(q) : 0;
}

int nt_session_flow_flush(struct nt_session_queue *q, uint64_t before)
{
	return q->held_time < before ? flush_held(q) : 0;
}

int nt_session_flow_left(struct nt_session_queue *q, uint64_t time)
{
	return q->held_time <= time ? flush_stop(q) : 0;
}

/* The stop was a pause. */
static int end_pause(struct nt_session_queue *q)
{
	return q->host->pause ? q->host->pause(q) : 0;
}

int nt_session_flow_gap(struct nt_session_queue *q)
{
	int err = q->paused ? end_pause(q) : flush_held(q);

	q->paused = false;
	q->have_pc = false;
	if (q->host->lost)
		q->host->lost(q);
	return err;
}

/* ------------------------------------------------------------------- owner -- */

/* Does this Ownership message determine the owner? */
static bool tells_owner(const struct nt_session_queue *q, const struct nt_event *ev)
{
	return ntrace_is_scontext(q->params.profile, ev->reason) && q->owned &&
	       ev->offset <= q->owned_until;
}

static bool is_of_another(struct nt_session_queue *q, const struct nt_event *ev)
{
	if (q->guest != !!(ev->flags & NT_EVF_VIRT))
		return true;
	return !q->guest && tells_owner(q, ev) && q->tid != (pid_t)ev->context &&
	       q->tid != q->host->owner(q, (pid_t)ev->context);
}

void nt_session_flow_context(struct nt_session_queue *q, const struct nt_event *ev)
{
	bool was_guest = q->guest;
	pid_t tid;

	q->guest = ev->flags & NT_EVF_VIRT;
	if (q->guest != was_guest) {
		/* The task IDs of a guest mean nothing to the host. */
		if (q->guest)
			q->host_tid = q->tid;
		q->host->set_tid(q, q->guest ? -1 : q->host_tid);
	}
	if (q->guest || !tells_owner(q, ev))
		return;
	tid = q->host->owner(q, (pid_t)ev->context);
	if (q->tid != tid)
		q->host->set_tid(q, tid);
}

/*
 * A held stop belongs to the previous task. So does a stop that looked like a pause, if another
 * task resumes at the same instruction. The kernel's own flow continues there, because the
 * Ownership message names the next task shortly before the switch ends.
 */
static int on_context(struct nt_session_queue *q, const struct nt_event *ev, bool paused)
{
	bool other = paused && !q->host->is_kernel(q, q->resumed.to) && is_of_another(q, ev);
	int err;

	if (other) {
		q->have_held = true;
		err = flush_stop(q);
	} else {
		err = paused ? end_pause(q) : flush_stop(q);
	}
	nt_session_flow_context(q, ev);
	if (other) {
		hold(q, &q->resumed);
		q->held_time = q->resumed_time;
	}
	return err;
}

/* ----------------------------------------------------------- start and stop -- */

/*
 * Trace stopped, and resumes at the same address soon: the program did not notice. A host delivers
 * older stops whenever another event comes. The result must not depend on whether one comes.
 */
static bool is_pause(const struct nt_session_queue *q, const struct nt_event *ev)
{
	if (q->timed && q->time > q->held_time + NT_SESSION_PAUSE_NS)
		return false;
	return q->have_held && q->held.kind == NT_EV_STOP && ev->flags & NT_EVF_JOIN &&
	       ev->to == q->held.from;
}

/*
 * Trace resumes after a shared sink was full. An encoder that had no room for its messages reports
 * a loss first. It reports none if the sink contained a part of a message, or if a disabled funnel
 * discarded messages. No trace is missing between a reported stop and a start by enabling.
 */
static int on_broken(struct nt_session_queue *q, unsigned int sync)
{
	const char *broken = q->unsaid || sync != NT_SYNC_TRACE_ENABLE ? q->broken : NULL;
	int err;

	q->unsaid = false;
	q->broken = NULL;
	if (!broken)
		return 0;
	err = nt_session_flow_gap(q);
	return err ? err : nt_session_flow_loss(q, NT_SESSION_LOSS_LOST, 0,
						"trace lost: %s at %#" PRIx64, broken,
						q->broken_at);
}

int nt_session_flow_unstarted(struct nt_session_queue *q)
{
	return on_broken(q, NT_SYNC_TRACE_ENABLE);
}

static int on_start(struct nt_session_queue *q, const struct nt_event *ev)
{
	int err = on_broken(q, ev->reason);

	if (err)
		return err;
	q->after_loss = false;
	if (is_pause(q, ev)) {
		q->have_held = false;
		q->paused = true;
		q->resumed = *ev;
		q->resumed_time = q->time;
	} else {
		err = flush_held(q);
		/* The Ownership message that follows names the owner. */
		hold(q, ev);
	}
	q->pc = ev->to;
	q->have_pc = true;
	return err;
}

static int on_stop(struct nt_session_queue *q, const struct nt_event *ev)
{
	int err = end_range(q, ev->insns);

	q->have_pc = false;
	/* The previous branch was the end. */
	if (ev->flags & NT_EVF_LEFT)
		return err;
	/* This may be only a pause. */
	hold(q, ev);
	/* The trace did not report this stop, so it may have continued. */
	q->unsaid = ev->reason == NT_EVCODE_NONE;
	if (!err && q->unsaid)
		err = nt_session_flow_gap(q);
	return err;
}

static int on_branch(struct nt_session_queue *q, const struct nt_event *ev)
{
	int err = end_range(q, ev->insns);

	if (!err)
		err = q->host->branch(q, ev);
	q->pc = ev->to;
	q->have_pc = !(ev->flags & NT_EVF_LEFT);
	return err;
}

static int on_loss(struct nt_session_queue *q, const struct nt_event *ev)
{
	uint64_t ip = ev->flags & NT_EVF_PC ? ev->from : 0;
	enum nt_session_loss code = nt_session_loss(ev->reason);
	const char *place;
	int err = 0;

	if (ev->flags & NT_EVF_PC)
		err = end_range(q, ev->insns);
	q->have_pc = false;
	/* Other losses concern code or an earlier loss, not the one that PARTIAL reports. */
	q->lost_some |= code == NT_SESSION_LOSS_OVERFLOW || code == NT_SESSION_LOSS_DATA;
	q->unsaid = false;
	q->broken = NULL;
	q->after_loss = true;
	if (q->host->lost)
		q->host->lost(q);
	if (err)
		return err;
	if (code == NT_SESSION_LOSS_CODE)
		return q->host->no_code(q, ev);
	place = code == NT_SESSION_LOSS_FLOW && ip ? q->host->place(q, ip) : NULL;
	if (place)
		return nt_session_flow_loss(q, code, ip, "%s: %s: AUX %#" PRIx64,
					    nt_strerror(ev->reason), place, ev->offset);
	return nt_session_flow_loss(q, code, ip, "%s: AUX %#" PRIx64, nt_strerror(ev->reason),
				    ev->offset);
}

int nt_session_flow_event(struct nt_session_queue *q, const struct nt_event *ev)
{
	bool paused = q->paused;
	int err = 0;

	q->paused = false;
	if (ev->kind == NT_EV_CONTEXT)
		return on_context(q, ev, paused);
	if (paused)
		err = end_pause(q);
	if (!err && ev->kind != NT_EV_START)
		err = flush_held(q);
	if (err)
		return err;
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
		return q->host->other ? q->host->other(q, ev) : 0;
	}
}
