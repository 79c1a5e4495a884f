// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel code that was patched while it was traced.
 *
 * There are two copies of its text, of the start and of the end of the recording
 * (ntrace-kcore.c). Where the trace does not fit the copy in use, the window is
 * decoded again: with the same copy up to the time of the message that did not
 * fit, from there on with the other one; without timestamps with the other one
 * from the beginning. That can happen several times in a window: static keys are
 * switched one after another, and code that one of them changed runs between two
 * that others change. What was used of the window must come out the same, and is
 * passed over. If it does not, or the message still does not fit, the loss is
 * real, and the last turn is taken back.
 */
#include <string.h>
#include <linux/kernel.h>

#include "ntrace-priv.h"

/*
 * Give up after so many turns that did not help: code may be wrong for another reason, errors are
 * many then, and each turn decodes the window from its beginning.
 */
#define MAX_FAILED	16

/* Only where there is another copy of the kernel is anything decoded again. */
void ntrace_replay_begin(struct ntrace_queue *q)
{
	memset(&q->replay, 0, sizeof(q->replay));
	q->replay.first = q->kernel_at_end;
}

static u64 sum_event(u64 sum, const struct nt_event *ev)
{
	sum = (sum ^ ev->from) * 0x9e3779b97f4a7c15ULL;
	sum = (sum ^ ev->to) * 0x9e3779b97f4a7c15ULL;
	return sum + ev->kind;
}

/* @nr events were used. */
void ntrace_replay_note(struct ntrace_queue *q, const struct nt_event *ev, int nr)
{
	struct ntrace_replay *r = &q->replay;

	if (!q->nt->kcore)
		return;
	r->used += nr;
	for (; nr--; ev++)
		r->used_sum = sum_event(r->used_sum, ev);
}

/* Until when the copy in use is the right one, in ticks; UINT64_MAX: no end is known. */
u64 ntrace_replay_limit(const struct ntrace_queue *q)
{
	const struct ntrace_replay *r = &q->replay;

	return r->next < r->nr ? r->turn[r->next] : UINT64_MAX;
}

/* All up to the limit is decoded: use the other copy. False: there was no limit. */
bool ntrace_replay_turn(struct ntrace_queue *q)
{
	struct ntrace_replay *r = &q->replay;

	if (r->next == r->nr)
		return false;
	r->next++;
	q->kernel_at_end = !q->kernel_at_end;
	return true;
}

/* The caller decodes the window again. */
static void restart(struct ntrace_queue *q)
{
	struct ntrace_replay *r = &q->replay;

	q->kernel_at_end = r->first;
	r->next = 0;
	while (r->next < r->nr && !r->turn[r->next])
		ntrace_replay_turn(q);
	r->left = r->used;
	r->sum = 0;
}

/* The last turn was wrong: once more without it, loss and all. False: that was tried before. */
bool ntrace_replay_take_back(struct ntrace_queue *q)
{
	if (!q->replay.trial)
		return false;
	q->replay.nr--;
	q->replay.failed++;
	q->replay.trial = false;
	restart(q);
	return true;
}

/* An event that was used before came again. False: it was the last one, and they differ. */
bool ntrace_replay_same(struct ntrace_queue *q, const struct nt_event *ev)
{
	struct ntrace_replay *r = &q->replay;

	r->sum = sum_event(r->sum, ev);
	return --r->left || r->sum == r->used_sum;
}

static bool can_turn(const struct ntrace_queue *q, const struct nt_event *ev, u64 time)
{
	const struct ntrace_replay *r = &q->replay;

	if (q->window->shared || ev->offset <= r->at || r->failed == MAX_FAILED ||
	    r->nr == ARRAY_SIZE(r->turn) || !ntrace_kcore_differs(q->nt))
		return false;
	/* Without a time the whole window is decoded with the other copy, which helps once. */
	return time || !r->nr;
}

/* A new event: returns true if the caller has to decode the window again before it is used. */
bool ntrace_replay_loss(struct ntrace_queue *q, const struct nt_event *ev)
{
	struct ntrace_replay *r = &q->replay;
	u64 time;

	if (ev->kind != NT_EV_LOSS)
		return false;
	if (r->trial && ev->offset == r->at)
		return ntrace_replay_take_back(q);
	time = ev->flags & NT_EVF_TIME && ev->time ? ev->time - 1 : 0;
	if (nt_session_loss(ev->reason) != NT_SESSION_LOSS_FLOW || !can_turn(q, ev, time))
		return false;
	r->at = ev->offset;
	r->turn[r->nr++] = time;
	r->trial = true;
	restart(q);
	return true;
}
