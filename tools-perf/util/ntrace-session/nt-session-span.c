// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
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
#include "nt-session.h"

#define MIN(a, b)	((a) < (b) ? (a) : (b))
#define MAX(a, b)	((a) > (b) ? (a) : (b))

/* What an average is made of: at least so many ticks, and so many periods */
#define PACE_TICKS	1024
#define PACE_PERIODS	16

/* A span that takes so many times as long as usual, and some ticks, has nothing more to say. */
#define STALL		16
#define STALL_TICKS	4

/* --- of events ---------------------------------------------------------------- */

/* Is the end of @ev's message where its span ends? */
bool nt_session_span_ends(const struct nt_event *ev)
{
	return !(ev->flags & NT_EVF_TIME) || ev->flags & NT_EVF_STAMP;
}

/*
 * Goes on looking for the end of the span that begins at @first; @all: no more events of its
 * last message are going to come. True if it is found: @s->scan.
 */
bool nt_session_span_scan(struct nt_session_span *s, const struct nt_event *ev, int first, int nr,
			  bool all)
{
	while (s->scan < nr) {
		const struct nt_event *next = ev + s->scan;

		if (s->scan > first &&
		    (next->kind == NT_EV_START ||
		     (next->offset != next[-1].offset && nt_session_span_ends(next - 1))))
			return true;
		s->sum += next->insns;
		s->scan++;
		/* Before it trace was off. */
		if (next->kind == NT_EV_START)
			return true;
	}
	return all && s->scan > first;
}

/* --- the clock of samples ------------------------------------------------------- */

/* What so many instructions take; at the very beginning, a nanosecond each */
uint64_t nt_session_pace_of(const struct nt_session_pace *p, uint64_t insns)
{
	if (!p->time || !p->insns)
		return insns << NT_SESSION_CLOCK_SHIFT;
	return nt_session_scale(insns, p->time, p->insns);
}

static void pace_add(struct nt_session_pace *p, uint64_t insns, uint64_t time)
{
	uint64_t stall = (p->insns ? STALL * nt_session_scale(insns, p->time, p->insns) : 0) +
		    STALL_TICKS * p->tick;

	p->insns += insns;
	p->time	 += MIN(time, stall);
	while (p->time > MAX(PACE_TICKS * p->tick, PACE_PERIODS * p->period)) {
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
uint64_t nt_session_pace_advance(struct nt_session_pace *p, uint64_t insns, uint64_t time, bool cut)
{
	if (!insns)
		return 0;
	if (!cut)
		pace_add(p, insns, time);
	insns = nt_session_pace_of(p, insns);
	return insns ? insns : 1;
}
