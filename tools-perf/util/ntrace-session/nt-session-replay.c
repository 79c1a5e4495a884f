// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Handles kernel code that was patched while it was traced
 *
 * A host may have two copies of the kernel's text: of the start and of the end of the recording. If
 * the trace does not fit the copy in use, the window is decoded again: with the same copy up to the
 * time of the message that did not fit, and with the other copy from there on; without timestamps,
 * with the other copy from the beginning. This can happen several times in a window, because static
 * keys are switched one after another, and code that one switch changed may run between two others.
 * The events that were already used must be decoded to the same result, and are skipped. If they
 * differ, or the message still does not fit, the loss is real, and the last switch of the text is
 * undone.
 *
 * If branches were counted, the number of used events is unknown. Then the window is first decoded
 * again as it was, event by event up to the loss.
 */
#include <string.h>

#include "nt-session.h"

/*
 * Give up after this many failed attempts: the code may be wrong for another reason. Then there are
 * many errors, and each attempt decodes the window from its beginning.
 */
#define MAX_FAILED	16

void nt_session_replay_begin(struct nt_session_queue *q)
{
	memset(&q->replay, 0, sizeof(q->replay));
	q->replay.first = q->kernel_at_end;
}

static uint64_t sum_event(uint64_t sum, const struct nt_event *ev)
{
	sum = (sum ^ ev->from) * 0x9e3779b97f4a7c15ULL;
	sum = (sum ^ ev->to) * 0x9e3779b97f4a7c15ULL;
	return sum + ev->kind;
}

void nt_session_replay_note(struct nt_session_queue *q, const struct nt_event *ev, int nr)
{
	struct nt_session_replay *r = &q->replay;

	if (!q->patches)
		return;
	r->used += nr;
	for (; nr--; ev++)
		r->used_sum = sum_event(r->used_sum, ev);
}

uint64_t nt_session_replay_limit(const struct nt_session_queue *q)
{
	const struct nt_session_replay *r = &q->replay;

	return r->next < r->nr ? r->turn[r->next] : UINT64_MAX;
}

bool nt_session_replay_turn(struct nt_session_queue *q)
{
	struct nt_session_replay *r = &q->replay;

	if (r->next == r->nr)
		return false;
	r->next++;
	q->kernel_at_end = !q->kernel_at_end;
	return true;
}

/* The caller decodes the window again. */
static void restart(struct nt_session_queue *q)
{
	struct nt_session_replay *r = &q->replay;

	q->kernel_at_end = r->first;
	r->next = 0;
	while (r->next < r->nr && !r->turn[r->next])
		nt_session_replay_turn(q);
	r->left = r->used;
	r->sum = 0;
}

bool nt_session_replay_take_back(struct nt_session_queue *q)
{
	if (!q->replay.trial)
		return false;
	q->replay.nr--;
	q->replay.failed++;
	q->replay.trial = false;
	restart(q);
	return true;
}

bool nt_session_replay_same(struct nt_session_queue *q, const struct nt_event *ev)
{
	struct nt_session_replay *r = &q->replay;

	if (r->recount)
		return ev->kind != NT_EV_LOSS || ev->offset < r->until;
	r->sum = sum_event(r->sum, ev);
	return --r->left || r->sum == r->used_sum;
}

/* Once a window has needed a switch of the text, it is decoded event by event. */
bool nt_session_replay_may_count(const struct nt_session_queue *q)
{
	const struct nt_session_replay *r = &q->replay;

	return !q->patches || (!r->nr && !r->failed && !r->left && !q->losses);
}

static void recount(struct nt_session_queue *q, const struct nt_event *loss)
{
	struct nt_session_replay *r = &q->replay;

	q->kernel_at_end = r->first;
	r->counted = false;
	r->recount = true;
	r->until = loss->offset;
	r->used = r->used_sum = 0;
	r->left = UINT64_MAX;
}

bool nt_session_replay_is_recounted(struct nt_session_queue *q, const struct nt_event *ev)
{
	struct nt_session_replay *r = &q->replay;

	if (!r->recount)
		return false;
	if (ev->kind == NT_EV_LOSS && ev->offset == r->until &&
	    nt_session_loss(ev->reason) == NT_SESSION_LOSS_FLOW) {
		r->recount = false;
		r->left = 0;
		return true;
	}
	nt_session_replay_note(q, ev, 1);
	return false;
}

static bool can_turn(struct nt_session_queue *q, const struct nt_event *ev, uint64_t time)
{
	const struct nt_session_replay *r = &q->replay;

	if (q->window->shared || ev->offset <= r->at || r->failed == MAX_FAILED ||
	    r->nr == NT_SESSION_TURNS || !q->patches || !q->host->is_patched(q))
		return false;
	/* Without a time, the other copy is used for the whole window, which can help only once. */
	return time || !r->nr;
}

bool nt_session_replay_loss(struct nt_session_queue *q, const struct nt_event *ev)
{
	struct nt_session_replay *r = &q->replay;
	uint64_t time;

	if (ev->kind != NT_EV_LOSS)
		return false;
	if (r->trial && ev->offset == r->at)
		return nt_session_replay_take_back(q);
	time = ev->flags & NT_EVF_TIME && ev->time ? ev->time - 1 : 0;
	if (nt_session_loss(ev->reason) != NT_SESSION_LOSS_FLOW || !can_turn(q, ev, time))
		return false;
	if (r->counted) {
		recount(q, ev);
		return true;
	}
	r->at = ev->offset;
	r->turn[r->nr++] = time;
	r->trial = true;
	restart(q);
	return true;
}
