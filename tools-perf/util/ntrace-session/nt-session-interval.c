// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Chooses the windows to decode if only some times are wanted
 *
 * A window of a sink that one CPU uses does not depend on earlier windows: each begins with all
 * that a decoder has to know. The stream of a shared sink continues from window to window, and the
 * decoder of one CPU can only begin at that CPU's sync messages. In a window, what precedes the
 * last sync message before the interval need not be decoded, if its task is known.
 */
#include <stdlib.h>

#include <linux/perf_event.h>

#include "nt-session.h"

const struct nt_session_window *nt_session_window_before(const struct nt_session_buffer *b,
							 const struct nt_session_window *w)
{
	while (w > b->window)
		if (!(--w)->orphan)
			return w;
	return NULL;
}

/*
 * No trace of a window is earlier than this time; 0: unknown. When a shared sink is emptied,
 * encoders and funnels may still hold messages, which arrive in the next window.
 */
static uint64_t begin_of(const struct nt_session_buffer *b, size_t i)
{
	const struct nt_session_window *w = &b->window[i], *before;

	if (w->sampled || w->ring)
		return 0;
	before = nt_session_window_before(b, w);
	if (before && w->shared)
		before = nt_session_window_before(b, before);
	return before ? before->time : 0;
}

/* Bytes after the last AUX record may be of any later time: no record limits it. */
static uint64_t end_of(const struct nt_session_buffer *b, size_t i)
{
	const uint64_t end = b->window[i].time;

	while (i < b->nr_windows && b->window[i].orphan)
		i++;
	return i < b->nr_windows ? end : UINT64_MAX;
}

static bool is_wanted(const struct nt_session *s, const struct nt_session_buffer *b, size_t i)
{
	const uint64_t begin = begin_of(b, i), end = end_of(b, i);
	size_t k;

	for (k = 0; end && k < s->nr_wanted; k++) {
		const struct nt_session_interval *in = &s->wanted[k];

		if ((end >= in->from || in->from - end <= NT_SESSION_PAUSE_NS) &&
		    (begin <= in->to || begin - in->to <= NT_SESSION_PAUSE_NS))
			return true;
	}
	return !end;
}

/* Does the message name a task of the host? */
static bool tells_task(const struct nt_params *params, const struct nt_msg *msg)
{
	const bool guest = msg->process & 0x10;	/* V */

	return msg->tcode == NT_TCODE_OWNERSHIP && !guest &&
	       ntrace_is_scontext(params->profile, msg->process & 3);
}

/* Do the messages contain everything that is needed to find a CPU's flow and its owner? */
static bool tells_all(const struct nt_session_window *w, const struct nt_params *params,
		      const uint8_t *data, size_t len)
{
	size_t at = nt_session_window_skip(w, params, data, len, false);
	bool sync = false;
	struct nt_msg msg;

	while (nt_session_own_message(params, data, len, &at, &msg)) {
		sync |= nt_tcode_is_sync(msg.tcode);
		if (sync && (!(w->hw_id & NTRACE_HW_ID_CONTEXT) || tells_task(params, &msg)))
			return true;
	}
	return false;
}

/* Can a CPU's flow begin in this window of a stream? False if memory is short. */
static bool can_begin(const struct nt_session *s, const struct nt_session_window *w)
{
	struct nt_session_window anywhere = *w;
	char why[NTRACE_WHY];
	struct nt_params params;
	uint8_t *data;
	ssize_t len;
	bool can;

	if (!w->resume)
		return true;
	if (ntrace_info_params(s->info, w->hw_id, w->cpu, &params, why))
		return false;
	nt_session_choose_src(&params, w->hw_id);
	anywhere.begin = NT_SESSION_BEGIN_ANYWHERE;
	len = (ssize_t)nt_session_there(s, w);
	data = malloc(len + 1);
	if (!data)
		return false;
	len = nt_session_read(s, w, data, len);
	can = len > 0 && tells_all(&anywhere, &params, data, len);
	free(data);
	return can;
}

bool nt_session_time_is_wanted(const struct nt_session *s, uint64_t time)
{
	size_t i;

	for (i = 0; i < s->nr_wanted; i++)
		if (time >= s->wanted[i].from && time <= s->wanted[i].to)
			return true;
	return !s->nr_wanted;
}

uint64_t nt_session_unwanted_until(const struct nt_session *s, uint64_t time)
{
	uint64_t until = UINT64_MAX, from;
	size_t i;

	for (i = 0; i < s->nr_wanted; i++) {
		from = s->wanted[i].from > NT_SESSION_BEFORE_NS ?
		       s->wanted[i].from - NT_SESSION_BEFORE_NS : 0;
		if (s->wanted[i].to >= time && from < until)
			until = from;
	}
	return until;
}

size_t nt_session_wanted(const struct nt_session *s, struct nt_session_buffer *b, size_t next)
{
	size_t i = next;

	if (next < b->wanted)
		return next;
	while (s->nr_wanted && i < b->nr_windows && !is_wanted(s, b, i))
		i++;
	if (i == next || i == b->nr_windows || !b->window[i].resume)
		return i;
	/* check each window only once, even if decoding can begin in none */
	b->wanted = i;
	do
		i--;
	while (i > next && !can_begin(s, &b->window[i]));
	if (i > next && b->window[i].resume) {
		b->window[i].resume = false;
		b->window[i].begin = NT_SESSION_BEGIN_ANYWHERE;
	}
	return i;
}

/* ------------------------------------------------- inside of a window -- */

/* The search for a sync message ends when this many bytes are left. */
#define NEAR	256

/* Can decoding begin with the message at an offset? Sets *ticks to its time. */
static bool begins_at(const struct nt_session_queue *q, const struct nt_params *params, size_t at,
		      uint64_t *ticks)
{
	struct nt_msg msg;
	int n = nt_msg_decode(params, q->data + at, q->data_len - at, &msg);

	if (n <= 0 || !(msg.fields & NT_F_TSTAMP))
		return false;
	*ticks = nt_tstamp_widen(q->ticks_from, msg.tstamp, params->tstamp_bits);
	at += (size_t)n;
	return !q->owned || (nt_session_own_message(params, q->data, q->data_len, &at, &msg) &&
			     tells_task(params, &msg));
}

/* The last sync message between two offsets that decoding can begin with, or @high if none can */
static size_t find_between(const struct nt_session_queue *q, const struct nt_params *params,
			   size_t low, size_t high, uint64_t *ticks)
{
	size_t at = high;

	do {
		at = nt_msg_find_sync_before(params, q->data, q->data_len, at);
		if (at == q->data_len || at < low)
			return high;
	} while (!begins_at(q, params, at, ticks));
	return at;
}

/* Is the time of each timestamp of the window known without those before it? */
static bool is_one_range(const struct nt_session_queue *q, uint64_t begin,
			 const struct nt_session_window *w, const struct nt_params *params)
{
	const unsigned int bits = params->tstamp_bits;

	if (bits >= 63)
		return true;
	return nt_session_queue_ticks(q, w->time) - nt_session_queue_ticks(q, begin) <
	       (1ull << bits) - nt_tstamp_slack(bits);
}

size_t nt_session_interval_begin(const struct nt_session_queue *q,
				 const struct nt_session_window *w, const struct nt_params *params)
{
	const uint64_t begin = begin_of(q->buffer, w - q->buffer->window);
	size_t low = q->data_skip, high = q->data_len, best = low, mid, at;
	uint64_t until, ticks;

	/* Whether messages reported the loss of a PARTIAL window, decoding all of it tells. */
	if (!begin || w->orphan || w->flags & PERF_AUX_FLAG_PARTIAL || !params->timestamps ||
	    !is_one_range(q, begin, w, params))
		return best;
	until = nt_session_unwanted_until(q->session, begin);
	if (until == UINT64_MAX || until <= begin)
		return best;
	until = nt_session_queue_ticks(q, until);
	while (high - low > NEAR) {
		mid = low + (high - low) / 2;
		at = find_between(q, params, low, mid, &ticks);
		if (at != mid && ticks > until) {
			high = at;
			continue;
		}
		best = at == mid ? best : at;
		low = mid;
	}
	return best;
}
