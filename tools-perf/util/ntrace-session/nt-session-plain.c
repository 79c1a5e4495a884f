// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Fast path for branches after a branch, which nearly all events are. Nothing is held back, and the
 * owner and the copy of the code are known, so these checks need not be repeated for each branch.
 */
#include "nt-session.h"

/* Does nothing but the next event matter? */
static bool is_settled(const struct nt_session_queue *q)
{
	return q->have_pc && !q->have_held && !q->paused && !q->doubtful && !q->behind_gap &&
	       !q->calls_unsure && q->begun;
}

/* Do all events of the span happen up to @until, so that their exact times do not matter? */
bool nt_session_plain_ends_before(const struct nt_session_queue *q, uint64_t until)
{
	return q->time <= until && (!q->timed || (q->span.to <= until &&
						  q->session->reached <= until));
}

/* May patched code have run up to this branch? Then nt_session_doubt() has to check. */
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
		err = q->host->range(q, ev->insns);
		if (!err)
			err = q->host->branch(q, ev);
		q->pc = ev->to;
		q->used = ev->offset;
		q->span.done += ev->insns;
	}
	return err;
}
