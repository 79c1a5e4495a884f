// SPDX-License-Identifier: GPL-2.0-only
/*
 * The time of each instruction. A message tells the time of its last transfer. The
 * instructions since the message before are spread evenly between the two times: number k of
 * N is at from + (to - from) * k / N. Such a stretch is a span; a message without TSTAMP is
 * part of the span of the next that has one.
 *
 *	message        A              B                   C
 *	time          100            140                 200
 *	instructions   |..............|...................|
 *	               <- span of B -><--- span of C ----->
 *
 * Samples by time are placed on a clock of their own, which instructions advance, each by
 * the time that one took on average lately. Timestamps themselves would not do. Where a span
 * is shorter than a tick it has no time, or a whole tick, depending on where a tick happens
 * to end; and where nothing retires for a while (WFI, a virtual machine that does not run)
 * one instruction would get all of the samples.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>

#include "ntrace-period.h"
#include "ntrace-priv.h"

/* What an average is made of: at least so many ticks, and so many periods */
#define PACE_TICKS	1024
#define PACE_PERIODS	16

/* A span that takes so many times as long as usual, and some ticks, has nothing more to say. */
#define STALL		16
#define STALL_TICKS	4

/* Events that may wait for the end of their span, 768 KB of them */
#define WAITING_MAX	16384

/* --- of events ---------------------------------------------------------------- */

/* Is the end of @ev's message where its span ends? */
static bool ends_span(const struct nt_event *ev)
{
	return !(ev->flags & NT_EVF_TIME) || ev->flags & NT_EVF_STAMP;
}

/*
 * Goes on looking for the end of the span that begins at @first; @all: no more events of its
 * last message are going to come. True if it is found: @s->scan.
 */
bool ntrace_span_scan(struct ntrace_span *s, const struct nt_event *ev, int first, int nr,
		      bool all)
{
	while (s->scan < nr) {
		const struct nt_event *next = ev + s->scan;

		if (s->scan > first &&
		    (next->kind == NT_EV_START ||
		     (next->offset != next[-1].offset && ends_span(next - 1))))
			return true;
		s->sum += next->insns;
		s->scan++;
		/* Before it trace was off. */
		if (next->kind == NT_EV_START)
			return true;
	}
	return all && s->scan > first;
}

/* When instruction number @insn of the span retired */
u64 ntrace_span_at(const struct ntrace_span *s, u64 insn)
{
	if (insn >= s->insns)
		return s->to;
	return s->from + ntrace_scale(s->to - s->from, insn, s->insns);
}

/* --- the clock of samples ------------------------------------------------------- */

/* What so many instructions take; at the very beginning, a nanosecond each */
static u64 pace_of(const struct ntrace_pace *p, u64 insns)
{
	if (!p->time || !p->insns)
		return insns << NTRACE_CLOCK_SHIFT;
	return ntrace_scale(insns, p->time, p->insns);
}

static void pace_add(struct ntrace_pace *p, u64 insns, u64 time)
{
	u64 stall = (p->insns ? STALL * ntrace_scale(insns, p->time, p->insns) : 0) +
		    STALL_TICKS * p->tick;

	p->insns += insns;
	p->time	 += min(time, stall);
	while (p->time > max(PACE_TICKS * p->tick, PACE_PERIODS * p->period)) {
		p->insns = p->insns / 2 + 1;
		p->time /= 2;
	}
}

/*
 * How far the clock advances in a span, at least 1, or 0 if nothing retired. What that is
 * must not depend on where samples are: so each instruction counts the same in the end,
 * because a sample's weight is the inverse of how fast the clock was. @cut: there is more of
 * the span, in the same time.
 */
u64 ntrace_pace_advance(struct ntrace_pace *p, u64 insns, u64 time, bool cut)
{
	if (!insns)
		return 0;
	if (!cut)
		pace_add(p, insns, time);
	return pace_of(p, insns) ?: 1;
}

/* --- of a queue ------------------------------------------------------------------- */

/* What a message says of its time, on perf's clock */
static u64 message_time(const struct ntrace_queue *q, const struct nt_event *ev)
{
	if (!q->timed || !(ev->flags & NT_EVF_TIME))
		return max(q->time, q->span.to);
	return ntrace_ticks_to_ns(q->nt, ev->time << q->ts_shift);
}

static void begin_span(struct ntrace_queue *q, bool cut)
{
	struct ntrace_span *s = &q->span;
	const struct nt_event *last = q->ev + s->scan - 1;
	u64 to = message_time(q, last), time;

	q->clock += s->advance;
	if (!s->known || last->kind == NT_EV_START)
		s->to = to;
	s->from	 = min(s->to, to);
	s->to	 = cut ? min(to, s->from + (pace_of(&q->pace, s->sum) >> NTRACE_CLOCK_SHIFT)) : to;
	s->known = true;
	s->insns = s->sum;
	s->done	 = 0;
	s->end	 = s->scan;
	s->sum	 = 0;
	time	 = (s->to - s->from) << NTRACE_CLOCK_SHIFT;
	if (q->nt->exact_period)
		s->advance = s->insns ? time : 0;
	else
		s->advance = ntrace_pace_advance(&q->pace, s->insns, time, cut);
}

/*
 * All of a span was used: begin the next, if all of its events are there. @all: no more
 * events of the last message are going to come.
 */
bool ntrace_span_next(struct ntrace_queue *q, bool all)
{
	bool full = q->nr + NTRACE_BATCH > WAITING_MAX;

	if (q->pos == q->nr)
		return false;
	/* A CONTEXT is one message, and wants to be used before more is decoded. */
	all |= q->ev[q->nr - 1].kind == NT_EV_CONTEXT;
	if (ntrace_span_scan(&q->span, q->ev, q->pos, q->nr, all || full)) {
		begin_span(q, full && !all && q->span.scan == q->nr);
		return true;
	}
	return false;
}

/*
 * The span before was used. Pass over whole spans: those that end among the next @nr events,
 * if that is not later than @until. Returns how many events these are, and in @insns
 * how many instructions of the @insns that all of the @nr have.
 */
int ntrace_span_pass(struct ntrace_queue *q, int nr, u64 until, u64 *insns)
{
	const struct nt_event *ev = q->ev + q->pos;
	struct ntrace_span *s = &q->span;
	u64 to;

	/* The last one ends where the next message begins. */
	if (q->pos + nr == q->nr && nr)
		*insns -= ev[--nr].insns;
	while (nr && !(ev[nr - 1].offset != ev[nr].offset && ends_span(&ev[nr - 1])))
		*insns -= ev[--nr].insns;
	to = nr ? message_time(q, &ev[nr - 1]) : 0;
	if (!nr || to > until)
		return 0;
	q->clock += s->advance;
	*s = (struct ntrace_span) { .end = q->pos + nr, .scan = q->pos + nr, .from = to, .to = to,
				    .known = true };
	return nr;
}

/* What was not used is not wanted; what comes next begins with a START. */
void ntrace_span_reset(struct ntrace_queue *q)
{
	q->clock += q->span.advance;
	q->span = (struct ntrace_span) { .to = q->span.to };
	q->nr = q->pos = 0;
}

/* Room for another batch behind the events that wait for the end of their span */
int ntrace_span_room(struct ntrace_queue *q)
{
	struct ntrace_span *s = &q->span;
	struct nt_event *ev;

	memmove(q->ev, q->ev + q->pos, (q->nr - q->pos) * sizeof(*q->ev));
	s->end	-= q->pos;
	s->scan -= q->pos;
	q->nr	-= q->pos;
	q->pos	 = 0;
	if (q->nr + NTRACE_BATCH <= q->room)
		return 0;
	ev = realloc(q->ev, (2 * q->room ?: 2 * NTRACE_BATCH) * sizeof(*ev));
	if (!ev)
		return -ENOMEM;
	q->ev = ev;
	q->room = 2 * q->room ?: 2 * NTRACE_BATCH;
	return 0;
}

/*
 * When the instruction retired that is @insns behind the last event. Other events of the
 * session were there already: code is read through the mappings that they tell of, so
 * nothing is before them.
 */
u64 ntrace_span_time(const struct ntrace_queue *q, u64 insns)
{
	if (!q->timed)
		return q->time;
	return max(ntrace_span_at(&q->span, q->span.done + insns), q->nt->reached);
}
