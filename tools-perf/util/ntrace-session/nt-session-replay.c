// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Handles kernel code that was patched while it was traced
 *
 * A host may have two copies of the kernel's text: of the start and of the end of the recording. If
 * a message does not fit the copy in use, it is decoded again with the other copy, which is used
 * from there on. This can happen several times in a window, because static keys are switched one
 * after another, and code that one switch changed may run between two others. If the message fits
 * neither copy, the loss is real, and the copy stays.
 *
 * ResourceFull messages fit nearly any code, and DirectBranch messages much of it. So those right
 * before the message are decoded again, too, unless branches of them were already used or counted.
 * If that fails, only the message is.
 *
 * The decoder is taken back to the position before the batch with the loss, and from there forward
 * to the first of these messages. All events before it are used before the copy changes, because
 * nt_session_doubt() and the host's functions ask which copy an event was decoded with.
 */
#include <string.h>

#include "nt-session.h"

void nt_session_replay_begin(struct nt_session_queue *q)
{
	memset(&q->replay, 0, sizeof(q->replay));
	if (q->flow)
		nt_flow_limit_offset(q->flow, UINT64_MAX);
}

/*
 * Decoding is only repeated with the mappings of the first time. Where the rest of a message was
 * kept from another buffer, offsets may wrap, and cannot be compared.
 */
static bool can_return(const struct nt_session_queue *q)
{
	return q->replay.marked && q->replay.reached == q->session->reached &&
	       q->rest <= q->window->offset;
}

int nt_session_replay_mark(struct nt_session_queue *q)
{
	struct nt_session_replay *r = &q->replay;
	int ret;

	if (!q->patches)
		return 0;
	/* Weak messages behind patched code may have to be decoded again. */
	if (can_return(q) && nt_session_doubt_goes_on(q))
		return 0;
	ret = nt_flow_mark(q->flow);
	if (ret)
		return ret < 0 ? ret : 0;
	r->marked = true;
	r->mark = nt_session_queue_offset(q) + nt_flow_consumed(q->flow);
	r->reached = q->session->reached;
	return 0;
}

/* ------------------------------------------------------ which messages --- */

/*
 * Can other code make this loss disappear? Only if the walk through the code has failed. Nothing of
 * its message is an event then.
 */
static bool is_of_walk(const struct nt_event *ev)
{
	return ev->kind == NT_EV_LOSS && ev->reason >= NT_EBOUNDARY && ev->reason <= NT_ENOBRANCH;
}

static bool is_weak(const struct nt_msg *msg)
{
	return msg->tcode == NT_TCODE_RESOURCE_FULL || msg->tcode == NT_TCODE_DIRECT_BRANCH;
}

/*
 * The offset of the first of the weak messages right before the message at @lost that begins after
 * @behind, or @lost. 0: the message is damaged.
 */
static uint64_t find_first(const struct nt_session_queue *q, uint64_t lost, uint64_t behind)
{
	const uint64_t base = nt_session_queue_offset(q);
	const uint8_t *data = q->data + q->data_skip;
	const size_t len = q->data_len - q->data_skip;
	size_t at = q->replay.mark - base;
	uint64_t first = lost;
	struct nt_msg msg;

	while (at < len) {
		int ret = nt_msg_decode(&q->params, data + at, len - at, &msg);
		const uint64_t offset = base + at + msg.idle;

		if (offset >= lost)
			return ret > 0 && !(msg.fields & NT_F_HIST && !msg.hist) ? first : 0;
		at += ret > 0 ? (size_t)ret : msg.skip;
		if (ret > 0 && !nt_session_is_own(&q->params, &msg))
			continue;
		if (ret <= 0 || !is_weak(&msg) || offset <= behind)
			first = lost;
		else if (first == lost)
			first = offset;
	}
	return 0;
}

/* ---------------------------------------------------------- going back --- */

struct repeated {
	uint64_t events;
	uint64_t behind;	/* offset of the last of the first ones */
};

/*
 * Decode from the mark up to the message at @end a second time, without using the events. Branches
 * that were counted are events now. *sum: about all events, and the first @first ones
 */
static int go_before(struct nt_session_queue *q, uint64_t end, uint64_t first,
		     struct repeated *sum)
{
	struct nt_event ev[NT_SESSION_BATCH];
	int i, n;

	*sum = (struct repeated){ 0 };
	n = nt_flow_rewind(q->flow);
	if (n)
		return n;
	nt_flow_limit_offset(q->flow, end);
	while ((n = nt_flow_next(q->flow, ev, NT_SESSION_BATCH)) > 0) {
		for (i = 0; i < n; i++, sum->events++)
			if (sum->events < first)
				sum->behind = ev[i].offset;
	}
	return n;
}

/* The first of @nr events in q->ev that may be dropped: the others were used, or counted. */
static int find_free(const struct nt_session_queue *q, int nr)
{
	int i = nr;

	while (i > q->pos && q->ev[i - 1].kind != NT_EV_COUNTED)
		i--;
	return i;
}

/* The first of @nr events that begins at @offset or later; not before @first */
static int find_event(const struct nt_session_queue *q, int first, int nr, uint64_t offset)
{
	while (nr > first && q->ev[nr - 1].offset >= offset)
		nr--;
	return nr;
}

/* Use only @keep of the events in q->ev. */
static void drop_events(struct nt_session_queue *q, int keep)
{
	struct nt_session_span *s = &q->span;

	while (s->scan > keep)
		s->sum -= q->ev[--s->scan].insns;
	if (q->nr > keep)
		q->nr = keep;
}

/*
 * The event number @lost of @nr in q->ev is a loss: go back to the message that is decoded again.
 * Returns how many events stay, or a negative error.
 */
static int go_back(struct nt_session_queue *q, int lost, int nr)
{
	struct nt_session_replay *r = &q->replay;
	const int free = find_event(q, find_free(q, lost), lost, r->mark);
	int keep, err;
	struct repeated sum;
	uint64_t used;

	if (!find_first(q, r->lost, 0))
		return nr;
	err = go_before(q, r->lost, UINT64_MAX, &sum);
	/* Since the mark, all before those that are free were used, or counted. */
	used = sum.events - (uint64_t)(lost - free);
	if (!err)
		err = go_before(q, r->lost, used, &sum);
	r->first = r->tries++ ? r->lost : find_first(q, r->lost, sum.behind);
	keep = find_event(q, free, lost, r->first);
	if (!err && r->first < r->lost)
		err = go_before(q, r->first, 0, &sum);
	r->tries += r->first == r->lost;
	r->due = true;
	return err ? err : keep;
}

/* ---------------------------------------------------------- both copies --- */

static void use_other_copy(struct nt_session_queue *q)
{
	q->kernel_at_end = !q->kernel_at_end;
	q->host->use_code(q);
}

/*
 * The other copy did not help: decode the messages with the previous one, unless some events were
 * used.
 */
static int take_back(struct nt_session_queue *q, int n)
{
	struct repeated sum;
	int err;

	use_other_copy(q);
	if (!can_return(q) || q->replay.batches > 1)
		return n;
	err = go_before(q, q->replay.first, 0, &sum);
	nt_flow_limit_offset(q->flow, UINT64_MAX);
	return err ? err : nt_flow_next(q->flow, q->ev + q->nr, NT_SESSION_BATCH);
}

/* @n events were decoded with the other copy, the first ones after the change. */
static int judge(struct nt_session_queue *q, int n)
{
	struct nt_session_replay *r = &q->replay;
	const struct nt_event *ev = q->ev + q->nr;
	int i = 0;

	r->batches++;
	while (i < n && ev[i].offset <= r->lost && ev[i].kind != NT_EV_LOSS)
		i++;
	if (i == n)
		return n;
	r->trial = false;
	if (ev[i].offset <= r->lost)
		return take_back(q, n);
	/* From an earlier mark, some would be decoded with the wrong copy. */
	r->marked &= r->mark >= r->first;
	return n;
}

#define TRIES_MAX	2

static bool may_try(const struct nt_session_replay *r, const struct nt_event *loss)
{
	return loss->offset > r->lost || (loss->offset == r->lost && r->tries < TRIES_MAX);
}

/* The first of @n new events that is a loss to be tried with the other copy, or @n */
static int find_loss(const struct nt_session_queue *q, int n)
{
	const struct nt_event *ev = q->ev + q->nr;
	int i = 0;

	while (i < n && !(is_of_walk(&ev[i]) && may_try(&q->replay, &ev[i])))
		i++;
	return i;
}

int nt_session_replay_check(struct nt_session_queue *q, int n)
{
	struct nt_session_replay *r = &q->replay;
	int i, keep;

	if (n > 0 && r->trial)
		n = judge(q, n);
	if (n <= 0)
		return n;
	i = find_loss(q, n);
	if (i < n && can_return(q) && q->host->is_patched(q)) {
		if (q->ev[q->nr + i].offset != r->lost)
			r->tries = 0;
		r->lost = q->ev[q->nr + i].offset;
		keep = go_back(q, q->nr + i, q->nr + n);
		if (keep < 0)
			return keep;
		n = keep > q->nr ? keep - q->nr : 0;
		drop_events(q, keep);
	}
	return n;
}

bool nt_session_replay_turn(struct nt_session_queue *q)
{
	struct nt_session_replay *r = &q->replay;

	if (!r->due)
		return false;
	r->due = false;
	r->trial = true;
	r->batches = 0;
	nt_flow_limit_offset(q->flow, UINT64_MAX);
	q->kernel_at_end = !q->kernel_at_end;
	return true;
}
