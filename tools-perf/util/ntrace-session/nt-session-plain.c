// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Branches behind a branch, which is what nearly all events are: nothing is held back, and it is
 * clear whose they are and which copy of the code they went through. So nothing has to be asked
 * again for each of them.
 */
#include "nt-session.h"

/* Does nothing but the next event itself matter? */
static bool is_settled(const struct nt_session_queue *q)
{
	return q->have_pc && !q->have_held && !q->paused && !q->replay.left && !q->doubtful &&
	       !q->behind_gap && q->begun;
}

/* Is none of the span's events later, so that nobody needs to know when they happened? */
bool nt_session_plain_ends_before(const struct nt_session_queue *q, uint64_t until)
{
	return q->time <= until && (!q->timed || (q->span.to <= until &&
						  q->session->reached <= until));
}

/* May code that was patched have run up to this branch? nt_session_doubt() is to look, then. */
static bool is_doubtful(struct nt_session_queue *q, const struct nt_event *ev)
{
	if (!q->patches)
		return false;
	if (q->no_doubt) {
		q->no_doubt--;
		return false;
	}
	return nt_session_patches_maybe(q->patches, q->pc, ev->from + 4);
}

int nt_session_plain_use(struct nt_session_queue *q, uint64_t until)
{
	const bool all = nt_session_plain_ends_before(q, until);
	int err = 0;

	if (!is_settled(q))
		return 0;
	while (!err && q->pos < q->span.end) {
		const struct nt_event *ev = &q->ev[q->pos];
		uint64_t time;

		if (ev->kind != NT_EV_BRANCH || ev->flags & NT_EVF_LEFT)
			break;
		time = nt_session_queue_event_time(q, ev);
		if ((!all && time > until) || is_doubtful(q, ev))
			break;
		q->time = time;
		q->pos++;
		nt_session_replay_note(q, ev, 1);
		err = q->host->range(q, ev->insns);
		if (!err)
			err = q->host->branch(q, ev);
		q->pc = ev->to;
		q->span.done += ev->insns;
	}
	return err;
}
