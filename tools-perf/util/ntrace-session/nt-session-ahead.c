// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A queue's events, up to the next timestamp: see nt-session-span.c
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "nt-session.h"

#define MIN(a, b)	((a) < (b) ? (a) : (b))
#define MAX(a, b)	((a) > (b) ? (a) : (b))

/* The number of events that may wait for the end of their span: 768 KB */
#define WAITING_MAX	16384

/* The time of the event's message on perf's clock */
static uint64_t message_time(const struct nt_session_queue *q, const struct nt_event *ev)
{
	if (!q->timed || !(ev->flags & NT_EVF_TIME))
		return MAX(q->time, q->span.to);
	return ntrace_info_ns(q->session->info, ev->time << q->ts_shift);
}

static void begin_span(struct nt_session_queue *q, bool cut)
{
	struct nt_session_span *s = &q->span;
	const struct nt_event *last = q->ev + s->scan - 1;
	uint64_t to = message_time(q, last), time;

	q->clock += s->advance;
	if (!s->known || last->kind == NT_EV_START)
		s->to = to;
	s->from	 = MIN(s->to, to);
	s->to	 = to;
	if (cut)
		s->to = MIN(to, s->from + (nt_session_pace_of(&q->pace, s->sum) >>
					   NT_SESSION_CLOCK_SHIFT));
	s->known = true;
	s->insns = s->sum;
	s->done	 = 0;
	s->end	 = s->scan;
	s->sum	 = 0;
	time	 = (s->to - s->from) << NT_SESSION_CLOCK_SHIFT;
	if (q->exact_period)
		s->advance = s->insns ? time : 0;
	else
		s->advance = nt_session_pace_advance(&q->pace, s->insns, time, cut);
}

/*
 * All of a span was used: begin the next one, if it is complete. @all: no more events of the last
 * message will come.
 */
bool nt_session_ahead_next(struct nt_session_queue *q, bool all)
{
	bool full = q->nr + NT_SESSION_BATCH > WAITING_MAX;

	if (q->pos == q->nr)
		return false;
	/* A CONTEXT is a message of its own, and must be used before more is decoded. */
	all |= q->ev[q->nr - 1].kind == NT_EV_CONTEXT;
	if (nt_session_span_scan(&q->span, q->ev, q->pos, q->nr, all || full)) {
		begin_span(q, full && !all && q->span.scan == q->nr);
		return true;
	}
	return false;
}

/*
 * The previous span was used. Skip whole spans that end among the next @nr events and not later
 * than @until. Returns the number of skipped events. On entry, *@insns is the number of
 * instructions of all @nr events; on return, that of the skipped ones.
 */
int nt_session_ahead_pass(struct nt_session_queue *q, int nr, uint64_t until, uint64_t *insns)
{
	const struct nt_event *ev = q->ev + q->pos;
	struct nt_session_span *s = &q->span;
	uint64_t to;

	/* The last span ends where the next message begins. */
	if (q->pos + nr == q->nr && nr)
		*insns -= ev[--nr].insns;
	while (nr && !(ev[nr - 1].offset != ev[nr].offset && nt_session_span_ends(&ev[nr - 1])))
		*insns -= ev[--nr].insns;
	to = nr ? message_time(q, &ev[nr - 1]) : 0;
	if (!nr || to > until)
		return 0;
	q->clock += s->advance;
	*s = (struct nt_session_span) {
		.end = q->pos + nr,
		.scan = q->pos + nr,
		.from = to,
		.to = to,
		.known = true,
	};
	return nr;
}

/* Discard unused events; the next event is a START. */
void nt_session_ahead_reset(struct nt_session_queue *q)
{
	q->clock += q->span.advance;
	q->pace.insns = q->pace.time = 0;
	q->span = (struct nt_session_span) { .to = q->span.to };
	q->nr = q->pos = 0;
}

/* Forget the events that were used. */
void nt_session_ahead_move(struct nt_session_queue *q)
{
	struct nt_session_span *s = &q->span;

	if (q->pos)
		memmove(q->ev, q->ev + q->pos, (q->nr - q->pos) * sizeof(*q->ev));
	s->end	-= q->pos;
	s->scan -= q->pos;
	q->nr	-= q->pos;
	q->pos	 = 0;
}

/* Make room for two batches after the events that wait for the end of their span */
int nt_session_ahead_room(struct nt_session_queue *q)
{
	struct nt_event *ev;
	int room;

	if (q->nr + 2 * NT_SESSION_BATCH <= q->room)
		return 0;
	room = q->room ? 2 * q->room : 4 * NT_SESSION_BATCH;
	ev = realloc(q->ev, room * sizeof(*ev));
	if (!ev)
		return -ENOMEM;
	q->ev = ev;
	q->room = room;
	return 0;
}
