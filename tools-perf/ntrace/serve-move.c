// SPDX-License-Identifier: GPL-2.0-only
/*
 * Commands that move: steps, and running to the next breakpoint, mark or end. If there are several
 * threads, the one that is first to reach something stops all. The others are then where they were
 * at that time.
 */
#include <inttypes.h>
#include <string.h>

#include "serve.h"

enum why { WHY_STEP, WHY_POINT, WHY_WATCH, WHY_MARK, WHY_BEGIN, WHY_END, WHY_INTERRUPT };

#define SIGNAL_INT	2	/* numbers of GDB */
#define SIGNAL_TRAP	5

struct stop {
	uint64_t at;
	enum why why;
	size_t watch;		/* index of the watchpoint */
};

/* ----------------------------------------------------------------- reply - */

static void put_signal(struct serve_session *s, unsigned int signal, const char *what)
{
	char id[24];
	uint64_t pc;

	serve_session_thread_id(s, s->current, id, sizeof(id));
	s->chosen = s->user = s->current;
	s->lists = 0;
	s->reply.len = 0;
	serve_text_put(&s->reply, "T%02uthread:%s;%s", signal, id, what);
	if (serve_view_pc(serve_session_view(s, s->current), s->at[s->current], &pc)) {
		serve_text_put(&s->reply, "%x:", SERVE_REG_PC);
		for (unsigned int i = 0; i < s->rec->xlen / 8; i++)
			serve_text_put(&s->reply, "%02x", (unsigned int)(pc >> 8 * i & 0xff));
		serve_text_put(&s->reply, ";");
	}
	s->packet(s->ctx, s->reply.s, s->reply.len);
	s->reply.len = 0;
}

static void put_stop(struct serve_session *s, const char *what)
{
	put_signal(s, SIGNAL_TRAP, what);
}

void serve_move_reason(struct serve_session *s)
{
	put_stop(s, "");
}

static void put_watch(struct serve_session *s, const struct serve_watch *w)
{
	char text[64];

	snprintf(text, sizeof(text), "%swatch:%" PRIx64 ";",
		 w->kind == '3' ? "r" : w->kind == '4' ? "a" :
		 "", w->addr);
	put_stop(s, text);
}

static void say_mark(struct serve_session *s, uint64_t insn, const char *where)
{
	const struct serve_mark *mark = serve_track_mark_at(s->rec->track[s->current], insn);

	if (mark && mark->kind != SERVE_BEGIN)
		serve_session_say(s, "ntrace: %s%s\n", mark->text, where);
}

static void tell(struct serve_session *s, const struct stop *stop, bool back)
{
	const struct serve_track *t = s->rec->track[s->current];
	bool passed = stop->why == WHY_STEP && back;

	switch (stop->why) {
	case WHY_BEGIN:
		serve_session_say(s, "ntrace: the recording of %s begins here\n", t->name);
		put_stop(s, "replaylog:begin;");
		return;
	case WHY_END:
		say_mark(s, t->insns, "");
		serve_session_say(s, "ntrace: the recording of %s ends here\n", t->name);
		put_stop(s, "replaylog:end;");
		return;
	case WHY_POINT:
		say_mark(s, stop->at, "");
		put_stop(s, s->swbreak ? "swbreak:;" : "");
		return;
	case WHY_WATCH:
		say_mark(s, stop->at, "");
		put_watch(s, &s->watch[stop->watch]);
		return;
	case WHY_INTERRUPT:
		serve_session_say(s, "ntrace: interrupted, so nothing has moved\n");
		put_signal(s, SIGNAL_INT, "");
		return;
	case WHY_STEP:
	case WHY_MARK:
		/* after a step back, the mark comes after the position */
		say_mark(s, stop->at + passed, passed ? " (behind this instruction)" : "");
		put_stop(s, "");
	}
}

/* ----------------------------------------------------------- one thread -- */

/* The next mark that stops execution, or the end, in either direction */
static struct stop next_mark(const struct serve_track *t, uint64_t at, bool back)
{
	size_t i = serve_track_first_mark(t, back ? at : at + 1);

	for (; back && i; i--)
		if (t->mark[i - 1].kind != SERVE_BEGIN && t->mark[i - 1].insn)
			return (struct stop){ t->mark[i - 1].insn, WHY_MARK, 0 };
	for (; !back && i < t->nr_marks; i++)
		if (t->mark[i].kind != SERVE_BEGIN && t->mark[i].insn < t->insns)
			return (struct stop){ t->mark[i].insn, WHY_MARK, 0 };
	if (back)
		return (struct stop){ 0, WHY_BEGIN, 0 };
	return (struct stop){ serve_track_last(t), WHY_END, 0 };
}

#define STRETCH	65536u	/* number of instructions between checks for an interrupt */

/*
 * Stop where the accessing instruction is next: before it when going forwards, after it when going
 * back. This is what RISC-V does. GDB then removes the watchpoints, steps over the instruction and
 * looks for changes.
 */
static void find_touched(struct serve_session *s, size_t track, bool back, struct stop *stop)
{
	const struct serve_recording *r = s->rec;
	uint64_t from = s->at[track], found;
	uint64_t low = back ? stop->at : from, high = back ? from : stop->at;
	size_t which;

	if (!s->nr_watches || !r->touched)
		return;
	while (low < high && !serve_interrupted(&s->interrupt)) {
		uint64_t part = high - low > STRETCH ? STRETCH : high - low;
		uint64_t first = back ? high - part : low;

		if (r->touched(r->ctx, r->track[track], first, first + part, back, s->watch,
			       s->nr_watches, &found, &which)) {
			*stop = (struct stop){ found + back, WHY_WATCH, which };
			return;
		}
		low += back ? 0 : part;
		high -= back ? part : 0;
	}
}

static struct stop run_to(struct serve_session *s, size_t track, bool back)
{
	uint64_t from = s->at[track] + (back && s->past[track]), found;
	struct stop stop = next_mark(s->rec->track[track], from, back);

	if (serve_find(serve_session_view(s, track), &s->points, from, stop.at, s->options->threads,
		       &s->interrupt, &found))
		stop = (struct stop){ found, WHY_POINT, 0 };
	find_touched(s, track, back, &stop);
	return stop;
}

static struct stop step(struct serve_session *s, bool back)
{
	const struct serve_track *t = s->rec->track[s->current];
	uint64_t at = s->at[s->current];
	struct stop stop = { back ? at - 1 : at + 1, WHY_STEP, 0 };

	if (back && !at)
		return (struct stop){ 0, WHY_BEGIN, 0 };
	if (!back && at >= serve_track_last(t))
		return (struct stop){ at, WHY_END, 0 };
	find_touched(s, s->current, back, &stop);
	return stop;
}

/* Checking for an interrupt costs more than a run, so do it rarely. */
static bool may_go_on(struct serve_session *s, unsigned int turns)
{
	return turns % SERVE_CHUNK || !serve_interrupted(&s->interrupt);
}

/* Step as long as the pc is in [start, end). Runs that are completely inside are skipped. */
static struct stop step_range(struct serve_session *s, uint64_t start, uint64_t end)
{
	struct serve_view *v = serve_session_view(s, s->current);
	const struct serve_track *t = v->track;
	uint64_t at = s->at[s->current], found;
	struct stop limit = next_mark(t, at, false), stop = step(s, false);
	unsigned int turns = 0;

	if (stop.why != WHY_STEP)
		return stop;

	while (stop.why == WHY_STEP && stop.at < limit.at && may_go_on(s, turns++)) {
		unsigned int nth;
		uint32_t index;
		const struct serve_run *run = serve_view_at(v, stop.at, &nth, &index);
		uint64_t pc = run ? serve_run_pc(run, nth) : end;

		if (pc < start || pc >= end)
			break;
		if (!nth && serve_run_pc(run, run->insns) <= end)
			stop.at += run->insns;
		else
			stop.at++;
		if (stop.at > t->insns)
			break;
	}
	if (stop.at >= limit.at)
		stop = limit;
	/* search only up to here, because the rest may be long */
	if (serve_find(v, &s->points, at, stop.at, s->options->threads, &s->interrupt, &found))
		stop = (struct stop){ found, WHY_POINT, 0 };
	find_touched(s, s->current, false, &stop);
	return stop;
}

/* ---------------------------------------------------------- all threads -- */

void serve_move_sync(struct serve_session *s, size_t track)
{
	const struct serve_recording *r = s->rec;
	uint64_t time;

	s->followed = track;
	if (r->nr_tracks < 2 || !serve_track_time_at(r->track[track], s->at[track], &time))
		return;
	/* order: by time, then by track; everything before the position was executed */
	s->past[track] = false;
	for (size_t i = 0; i < r->nr_tracks; i++) {
		uint64_t at = serve_track_since(r->track[i], time, i > track);

		if (i == track || !r->track[i]->nr_times)
			continue;
		s->past[i] = at > serve_track_last(r->track[i]);
		s->at[i] = at - s->past[i];
	}
}

/*
 * Find what another thread reaches before the stop of this one, in the order of serve_move_sync().
 * Breakpoints count, its own marks and ends do not.
 */
static bool come_first(struct serve_session *s, size_t track, size_t nearest, bool back,
		       struct stop *best)
{
	const struct serve_track *t = s->rec->track[track];
	struct serve_view *v = serve_session_view(s, track);
	uint64_t from = s->at[track] + s->past[track], bound = back ? 0 : t->insns;
	uint64_t time, found, pc;
	struct stop stop;

	if (best->why != WHY_BEGIN && best->why != WHY_END) {
		if (!t->nr_times ||
		    !serve_track_time_at(s->rec->track[nearest], best->at, &time))
			return false;
		bound = serve_track_since(t, time, track > nearest);
	}
	if (back ? bound >= from : bound <= from)
		return false;
	stop = (struct stop){ bound, WHY_MARK, 0 };
	/* a breakpoint here was not reported yet, unless this thread stopped last */
	if (!back && track != s->followed && serve_view_pc(v, from, &pc) &&
	    serve_points_have(&s->points, pc))
		stop = (struct stop){ from, WHY_POINT, 0 };
	else if (serve_find(v, &s->points, from, back ? bound : bound - 1, s->options->threads,
			    &s->interrupt, &found))
		stop = (struct stop){ found, WHY_POINT, 0 };
	find_touched(s, track, back, &stop);
	if (stop.why == WHY_MARK)
		return false;
	*best = stop;
	return true;
}

/*
 * Other threads stop only at breakpoints and watchpoints, and continue past the end of this thread.
 */
static struct stop others(struct serve_session *s, bool back, struct stop best)
{
	size_t first = s->current, nearest = first;

	for (size_t i = 0; i < s->rec->nr_tracks && (s->points.nr || s->nr_watches); i++) {
		if (serve_interrupted(&s->interrupt))
			break;
		if (i != first && come_first(s, i, nearest, back, &best))
			nearest = i;
	}
	s->current = nearest;
	return best;
}

void serve_move(struct serve_session *s, enum serve_how how, bool back, uint64_t start,
		uint64_t end, bool alone)
{
	size_t first = s->current;
	struct stop stop;

	s->interrupt.came = false;
	if (how == SERVE_STEP)
		stop = step(s, back);
	else if (how == SERVE_RANGE)
		stop = step_range(s, start, end);
	else
		stop = run_to(s, first, back);
	if (!alone)
		stop = others(s, back, stop);
	/* the nearest stop is not known, so all threads stay where they are */
	if (s->interrupt.came) {
		s->current = first;
		stop = (struct stop){ s->at[first], WHY_INTERRUPT, 0 };
	}
	/* if this thread does not move, neither do the others */
	if (s->at[s->current] != stop.at || s->current != first) {
		s->at[s->current] = stop.at;
		if (!alone)
			serve_move_sync(s, s->current);
	}
	tell(s, &stop, back);
}
