// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The time of each instruction. A message has the time of its last transfer. The instructions since
 * the previous message are spread evenly between the two times: instruction k of N is at from + (to
 * - from) * k / N. They form a span. A message without TSTAMP belongs to the span of the next
 * message that has one.
 *
 *	message        A              B                   C
 *	time          100            140                 200
 *	instructions   |..............|...................|
 *	               <- span of B -><--- span of C ----->
 *
 * Samples by time use a clock of their own. Each instruction advances it by the recent average time
 * of an instruction. Timestamps cannot be used directly. A span that is shorter than a tick would
 * take no time or a whole tick, depending on where the tick ends. And if nothing retires for a
 * while (WFI, a virtual machine that does not run), one instruction would get all samples.
 */
#include "nt-session.h"

#define MIN(a, b)	((a) < (b) ? (a) : (b))
#define MAX(a, b)	((a) > (b) ? (a) : (b))

/* An average covers at least this many ticks and sampling periods. */
#define PACE_TICKS	1024
#define PACE_PERIODS	16

/* A span counts at most as this multiple of the usual time, plus some ticks: it is a stall. */
#define STALL		16
#define STALL_TICKS	4

/* --- spans of events ---------------------------------------------------------- */

/* Does a span end with @ev's message? */
bool nt_session_span_ends(const struct nt_event *ev)
{
	return !(ev->flags & NT_EVF_TIME) || ev->flags & NT_EVF_STAMP;
}

/*
 * Continue to look for the end of the span that begins at @first. @all: no more events of the last
 * message will come. Returns true if it is found, at @s->scan.
 */
bool nt_session_span_scan(struct nt_session_span *s, const struct nt_event *ev, int first, int nr,
			  bool all)
{
	while (s->scan < nr) {
		const struct nt_event *next = ev + s->scan;

		if (s->scan > first &&
		    (next->kind == NT_EV_START || next[-1].kind == NT_EV_COUNTED ||
		     (next->offset != next[-1].offset && nt_session_span_ends(next - 1))))
			return true;
		s->sum += next->insns;
		s->scan++;
		/* Trace was off before this event. */
		if (next->kind == NT_EV_START)
			return true;
	}
	return all && s->scan > first;
}

/* --- the clock of samples ------------------------------------------------------- */

/* The time that @insns instructions take; initially, 1 ns each */
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
 * How far the clock advances in a span: at least 1, or 0 if nothing retired. The result must not
 * depend on where samples are. A sample is weighted with the inverse of the clock's speed, so each
 * instruction counts the same in the end. @cut: more of the span follows, in the same time.
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
