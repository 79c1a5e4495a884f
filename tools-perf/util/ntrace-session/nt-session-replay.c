// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Kernel code that was patched while it was traced.
 *
 * There are two copies of its text, of the start and of the end of the recording
 * of which a host knows. Where the trace does not fit the copy in use, the window is
 * decoded again: with the same copy up to the time of the message that did not
 * fit, from there on with the other one; without timestamps with the other one
 * from the beginning. That can happen several times in a window: static keys are
 * switched one after another, and code that one of them changed runs between two
 * that others change. What was used of the window must come out the same, and is
 * passed over. If it does not, or the message still does not fit, the loss is
 * real, and the last turn is taken back.
 *
 * Where branches were counted, nobody knows how many events were used. Then the window is decoded
 * once more as it was, event by event up to the loss, before the first turn.
 */
#include <string.h>

#include "nt-session.h"

/*
 * Give up after so many turns that did not help: code may be wrong for another reason, errors are
 * many then, and each turn decodes the window from its beginning.
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

/* A window that needed a turn is decoded event by event from there on. */
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
	/* Without a time the whole window is decoded with the other copy, which helps once. */
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
