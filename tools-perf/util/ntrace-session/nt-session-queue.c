// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Decodes one AUX buffer: windows in, control flow out, in time order. The owner of the flow, and
 * so the code to decode with, comes from Ownership messages if there are any, otherwise from AUX
 * records and context switches.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <linux/ntrace.h>
#include <linux/perf_event.h>

#include "nt-session.h"

/* No buffer is larger: a greater size means a damaged file. */
#define WINDOW_MAX	(1ull << 32)

/* The number of events to decode one by one before branches are counted */
#define FIRST		16

/* About the number of events after which it is in doubt which copy of the kernel's text ran */
#define AHEAD_MAX	4096

int nt_session_queue_init(struct nt_session_queue *q, const struct nt_session_host *host,
			  struct nt_session *s, struct nt_session_buffer *buffer)
{
	*q = (struct nt_session_queue) {
		.host = host, .session = s, .buffer = buffer, .path = nt_path_new(),
		.cpu = -1, .tid = -1,
	};
	return q->path ? 0 : -ENOMEM;
}

static void free_decoder(struct nt_session_queue *q)
{
	nt_flow_free(q->flow);
	nt_session_quick_free(q->quick);
	q->flow = NULL;
	q->quick = NULL;
}

void nt_session_queue_exit(struct nt_session_queue *q)
{
	free_decoder(q);
	nt_path_free(q->path);
	free(q->data);
	free(q->ev);
}

void nt_session_queue_forget_code(struct nt_session_queue *q)
{
	if (q->flow)
		nt_flow_set_code(q->flow, NULL, NULL);
	nt_path_release(q->path);
}

/* ------------------------------------------------- parameters of a window -- */

/* A thread that moves to another CPU may find another encoder there. */
static bool is_made_for(const struct nt_session_queue *q, uint64_t hw_id,
			const struct nt_params *p)
{
	return (q->flow || q->quick) && q->hw_id == hw_id && q->params.profile == p->profile &&
	       q->params.addr_bits == p->addr_bits && q->params.tstamp_bits == p->tstamp_bits;
}

static int use_terms(struct nt_session_queue *q, const struct nt_session_window *w,
		     struct nt_params *params)
{
	int err = q->host->terms(q, w, params);

	if (err || is_made_for(q, w->hw_id, params))
		return err;
	free_decoder(q);
	if (q->without_code)
		q->quick = nt_session_quick_new(params, q->without_code > 1);
	else
		q->flow = nt_flow_new(params);
	q->hw_id = w->hw_id;
	q->params = *params;
	return q->flow || q->quick ? 0 : -ENOMEM;
}

static int load(struct nt_session_queue *q, const struct nt_session_window *w)
{
	size_t size = nt_session_there(q->session, w);
	uint8_t *bigger;
	ssize_t n;

	if (!w->resume)
		q->rest = 0;
	if (q->rest + size > q->data_room) {
		bigger = realloc(q->data, q->rest + size);
		if (!bigger)
			return -ENOMEM;
		q->data = bigger;
		q->data_room = q->rest + size;
	}
	n = nt_session_read(q->session, w, q->data + q->rest, size);
	if (n < 0)
		return (int)n;
	q->data_len = q->rest + (size_t)n;
	return 0;
}

static bool is_padding(const struct nt_session_queue *q)
{
	return nt_session_is_padding(q->data, q->data_len);
}

/* ------------------------------------------------------------------- owner -- */

/*
 * Choose the source of the owner: Ownership messages, of which the first comes right after the
 * first sync; otherwise context switches. A thread's own buffer needs neither.
 */
static void choose_owner(struct nt_session_queue *q, const struct nt_session_window *w)
{
	bool by_thread = q->buffer->cpu == -1 && w->tid > 0;

	q->owned = !by_thread && w->hw_id & NTRACE_HW_ID_CONTEXT;
	q->owned_until = UINT64_MAX;
	if (by_thread || (!q->owned && q->tid == -1))
		q->host->set_tid(q, w->tid);
}

static int trim_ownership(struct nt_session_queue *q, const struct nt_session_window *w,
			  const struct nt_params *params)
{
	int err;

	if (q->owned)
		q->owned_until = nt_session_owned_until(q, w, params);
	if (q->owned_until)
		return 0;
	/* A stop before the window belongs to another task. */
	err = q->tid == w->tid ? 0 : nt_session_flow_flush(q, UINT64_MAX);
	q->host->set_tid(q, w->tid);
	return err;
}

/* ---------------------------------------------------------------- windows -- */

static int enter(struct nt_session_queue *q, struct nt_session_window *w)
{
	const struct ntrace_info *info = q->session->info;
	uint64_t tick;
	int err;

	/* A thread that moved to another CPU did not pause: it stopped. */
	err = q->cpu == w->cpu ? 0 : nt_session_flow_flush(q, UINT64_MAX);
	q->window = w;
	q->cpu = w->cpu;
	q->lost_some = false;
	if (q->host->enter)
		q->host->enter(q, w);
	q->timed = q->host->is_timed(q, w);
	q->ts_shift = 2 * (unsigned int)((w->hw_id & NTRACE_HW_ID_TSPRESCALE) /
					 (NTRACE_HW_ID_TSPRESCALE & -NTRACE_HW_ID_TSPRESCALE));
	tick = ntrace_info_ns(info, 1ull << q->ts_shift) - ntrace_info_ns(info, 0);
	q->pace.tick = (tick ? tick : 1) << NT_SESSION_CLOCK_SHIFT;
	if (!q->timed && w->time > q->time)
		q->time = w->time;
	choose_owner(q, w);
	return err;
}

static void begin_window(struct nt_session_queue *q, const uint8_t *buf, size_t len,
			 uint64_t offset, bool open, bool more)
{
	if (q->quick) {
		nt_session_quick_window(q->quick, buf, len, offset, open, more);
		nt_session_quick_time_from(q->quick, q->ticks_from);
		return;
	}
	nt_flow_open_end(q->flow, open);
	if (more)
		nt_flow_more(q->flow, buf, len, offset);
	else
		nt_flow_window(q->flow, buf, len, offset);
	nt_flow_time_from(q->flow, q->ticks_from);
}

/*
 * whole: all bytes of the window are present, which the next window needs to continue. more: this
 * one continues the previous one.
 */
static void start_flow(struct nt_session_queue *q, bool whole, bool more)
{
	const struct nt_session_window *w = q->window;
	bool open = nt_session_goes_on(q->buffer, q->next_window, whole);

	q->no_doubt = 0;
	q->used = nt_session_queue_offset(q) - 1;
	if (!more)
		nt_session_ahead_reset(q);
	begin_window(q, q->data + q->data_skip, q->data_len - q->data_skip,
		     w->offset + q->data_skip - q->rest, open, more);
}

/* The window is complete: the number of bytes that the next window does not need */
static size_t used_bytes(const struct nt_session_queue *q)
{
	if (!nt_session_goes_on(q->buffer, q->next_window, true))
		return q->data_len;
	return q->data_skip + (q->quick ? nt_session_quick_consumed(q->quick) :
					  nt_flow_consumed(q->flow));
}

/* Keep the beginning of a message that ends in the next window. */
static int keep_rest(struct nt_session_queue *q, size_t used)
{
	q->rest = q->data_len - used;
	if (q->rest > NT_SESSION_REST_MAX) {
		q->rest = 0;
		return nt_session_flow_loss(q, NT_SESSION_LOSS_DATA, 0,
					    "no end of a message: AUX %#" PRIx64,
					    q->window->offset);
	}
	memmove(q->data, q->data + used, q->rest);
	return 0;
}

static uint64_t window_ticks(const struct nt_session_queue *q, const struct nt_session_window *w)
{
	return w->time ? nt_session_queue_ticks(q, w->time) : 0;
}

/*
 * The earliest time of the window: it began when the previous window ended. AUX area samples reach
 * back further than the previous sample.
 */
static uint64_t find_time(const struct nt_session_queue *q, const struct nt_session_window *w,
			  const struct nt_params *params)
{
	const struct nt_session_window *before =
		w->sampled ? NULL : nt_session_window_before(q->buffer, w);

	if (!q->timed)
		return 0;
	return nt_session_time_from(params, before ? window_ticks(q, before) : 0,
				    window_ticks(q, w), q->data + q->data_skip,
				    q->data_len - q->data_skip);
}

/*
 * Is trace missing before this window? Samples may overlap, but nothing before the first sync of
 * the later sample is decoded.
 */
static bool is_behind_gap(const struct nt_session_queue *q, const struct nt_session_window *w)
{
	if (w->sampled || w->begin == NT_SESSION_BEGIN_ANYWHERE || (w->orphan && !is_padding(q)))
		return true;
	return !w->shared && w->offset != q->next_offset;
}

/* A sample may have no message left to begin with. */
static int report_no_begin(struct nt_session_queue *q, const struct nt_session_window *w)
{
	/* No loss: a buffer that was never full, or a stretch with a few bytes left */
	if (w->shared || q->data_skip < q->data_len || is_padding(q) || !w->sampled)
		return 0;
	return nt_session_flow_loss(q, NT_SESSION_LOSS_LOST, 0,
				    "no full address in a sample of %#" PRIx64
				    " bytes: see syncmax",
				    w->size);
}

static int start_behind_gap(struct nt_session_queue *q)
{
	/* Other queues may be behind: report the gap with the first event. */
	q->behind_gap = true;
	return nt_session_flow_flush(q, UINT64_MAX);
}

/*
 * If the host only counts what precedes an interval, begin as late as possible. Then the window
 * does not continue the previous one: clears *more.
 */
static int skip_unwanted(struct nt_session_queue *q, const struct nt_session_window *w,
			 const struct nt_params *params, bool *more)
{
	size_t at = q->data_skip;
	uint64_t until;

	q->unstamped = false;
	if (!q->session->nr_wanted || !q->host->counts || !q->timed)
		return 0;
	if (q->host->counts(q, &until))
		at = nt_session_interval_begin(q, w, params);
	/* a message without TSTAMP may be later than its time says */
	q->unstamped = nt_msg_find_unstamped(params, q->data, q->data_len, at) < q->data_len;
	if (at == q->data_skip)
		return 0;
	q->data_skip = at;
	q->doubtful = 0;
	q->calls_unsure = *more = false;
	q->session->skips++;
	return start_behind_gap(q);
}

static int begin_flow(struct nt_session_queue *q, struct nt_session_window *w,
		      const struct nt_params *params)
{
	bool whole = q->data_len - q->rest == w->size, more = w->resume, open;
	int err = 0;

	q->begun = q->guest = false;
	if (is_behind_gap(q, w))
		err = start_behind_gap(q);
	q->next_offset = w->offset + q->data_len - q->rest;
	if (!err)
		err = trim_ownership(q, w, params);
	if (err)
		return err;
	nt_session_replay_begin(q);
	q->data_skip = 0;
	if (!w->resume) {
		open = nt_session_goes_on(q->buffer, q->next_window, whole);
		q->data_skip = w->unplaced ? q->data_len :
			nt_session_window_skip(w, params, q->data, q->data_len, open);
		whole &= !nt_session_window_is_middle(q->data, q->data_len, q->data_skip);
	}
	/* The skipped bytes may contain a start, so the next start does not follow a stop. */
	q->unsaid |= w->shared && nt_session_window_passed(params, q->data, q->data_skip);
	q->ticks_from = find_time(q, w, params);
	err = skip_unwanted(q, w, params, &more);
	if (err)
		return err;
	start_flow(q, whole, more);
	return report_no_begin(q, w);
}

static int refuse(struct nt_session_queue *q, const struct nt_session_window *w)
{
	if (!w->hw_id)
		return nt_session_flow_loss(q, NT_SESSION_LOSS_FILE, 0,
					    "no HW_ID record for the trace at %#" PRIx64,
					    w->offset);
	return nt_session_flow_loss(q, NT_SESSION_LOSS_FILE, 0,
				    "%#" PRIx64 " bytes at %#" PRIx64 ": no buffer is so large",
				    w->size, w->offset);
}

static int open_window(struct nt_session_queue *q, struct nt_session_window *w)
{
	struct nt_params params;
	int err;

	err = enter(q, w);
	if (err || !w->size)
		return err;
	if (!w->hw_id || w->size > WINDOW_MAX) {
		q->lost_some = true;
		q->window = NULL;
		return refuse(q, w);
	}
	err = use_terms(q, w, &params);
	if (!err)
		err = load(q, w);
	return err ? err : begin_flow(q, w, &params);
}

#define LOST_RECORD	"the shared sink's AUX record is lost"

/*
 * The stream of a shared sink lacks trace at this offset, perhaps of this CPU: see on_broken().
 * What follows a loss, up to the next start, is a part of that loss.
 */
static void tear(struct nt_session_queue *q, const char *why, uint64_t at, bool unsaid)
{
	if (q->after_loss)
		return;
	q->unsaid |= unsaid || q->have_pc;
	q->broken = why;
	q->broken_at = at;
}

/*
 * Report a known loss of a window before its first event. Not in open_window(), because a window
 * may be opened early.
 */
static int report_early(struct nt_session_queue *q)
{
	const struct nt_session_window *w = q->window;

	if (q->begun)
		return 0;
	q->begun = true;
	if ((!w->orphan && !w->torn) || is_padding(q))
		return 0;
	if (w->shared)
		tear(q, LOST_RECORD, w->offset, true);
	if (!w->orphan || w->echo)
		return 0;
	q->broken = NULL;
	q->after_loss |= w->unplaced;
	return nt_session_flow_loss(q, NT_SESSION_LOSS_LOST, 0,
				    "AUX record lost for %#" PRIx64 " at %#" PRIx64,
				    w->size, w->offset);
}

/* Report the missing end of an incomplete window after everything else in it. */
static int report_missing(struct nt_session_queue *q)
{
	const struct nt_session_window *w = q->window;
	size_t len = q->data_len - q->rest;

	if (len >= w->size)
		return 0;
	if (w->shared)
		tear(q, "the shared sink's bytes are missing", w->offset + len, true);
	if (w->echo)
		return 0;
	q->broken = NULL;
	return nt_session_flow_loss(q, NT_SESSION_LOSS_FILE, 0,
				    "%#" PRIx64 " bytes not in the file at %#" PRIx64,
				    w->size - len, w->offset + len);
}

/* Report the loss that the window's flags report. */
static int report_flags(struct nt_session_queue *q, const struct nt_session_window *w)
{
	bool truncated = w->flags & PERF_AUX_FLAG_TRUNCATED;
	int err = nt_session_flow_gap(q);

	q->broken = NULL;
	return err ? err : nt_session_flow_loss(q, NT_SESSION_LOSS_LOST, 0,
						"trace lost: %s at %#" PRIx64,
						truncated ? "AUX buffer full" : "the sink was full",
						w->offset + w->size);
}

static int leave(struct nt_session_queue *q)
{
	size_t used = used_bytes(q);
	int err = report_early(q);

	if (err)
		return err;
	if (q->host->leave)
		q->host->leave(q, used);
	err = report_missing(q);
	return err ? err : keep_rest(q, used);
}

/*
 * If messages reported a loss, PARTIAL reports the same one, unless the trace also ends without a
 * stop. But the first message of a shared sink's next window is left out, and may be a start: see
 * on_broken().
 */
static int close_window(struct nt_session_queue *q)
{
	struct nt_session_window *w = q->window;
	int err = w->size ? leave(q) : 0;
	const bool told = q->lost_some && !q->unsaid && !(w->flags & PERF_AUX_FLAG_TRUNCATED);

	q->window = NULL;
	if (!err && w->shared && w->orphan)
		tear(q, LOST_RECORD, w->offset + w->size, false);
	if (err || !(w->flags & (PERF_AUX_FLAG_TRUNCATED | PERF_AUX_FLAG_PARTIAL)))
		return err;
	if (!w->echo && !told)
		return report_flags(q, w);
	if (w->shared)
		tear(q, "the shared sink was full", w->offset + w->size, false);
	return 0;
}

bool nt_session_queue_is_untimed(struct nt_session_queue *q)
{
	const struct nt_session_buffer *b = q->buffer;

	return q->next_window < b->nr_windows &&
	       !q->host->is_timed(q, &b->window[q->next_window]);
}

bool nt_session_queue_is_blind(struct nt_session_queue *q)
{
	const struct nt_session_window *w = &q->buffer->window[q->next_window];

	return nt_session_queue_is_untimed(q) && q->buffer->cpu >= 0 && !w->of_task &&
	       !(w->hw_id & NTRACE_HW_ID_CONTEXT);
}

/* ----------------------------------------------------------------- events -- */

uint64_t nt_session_queue_time(const struct nt_session_queue *q)
{
	return nt_session_queue_event_time(q, &q->ev[q->pos]);
}

static uint64_t limit_ticks(const struct nt_session_queue *q, uint64_t limit)
{
	if (!q->timed || limit == UINT64_MAX)
		return UINT64_MAX;
	return nt_session_queue_ticks(q, limit);
}

/* Add new events. A loss may disappear with the other copy of the kernel. */
static int take_in(struct nt_session_queue *q, int n)
{
	if (q->patches && q->flow)
		n = nt_session_replay_check(q, n);
	q->nr += n > 0 ? n : 0;
	return n;
}

static int decode_events(struct nt_session_queue *q, unsigned int max)
{
	int err = nt_session_replay_mark(q);

	return err ? err : take_in(q, nt_flow_next(q->flow, q->ev + q->nr, max));
}

/* Is the task's address known? A message that is later than @until must be decoded to its end. */
static bool can_count(const struct nt_session_queue *q, uint64_t until)
{
	const struct nt_event *last = &q->ev[q->nr - 1];

	return q->nr && !q->replay.due && !q->doubtful && !q->calls_unsure &&
	       last->kind == NT_EV_BRANCH && !(last->flags & NT_EVF_LEFT) && last->time <= until;
}

static bool watch_patches(void *patches, uint64_t start, uint64_t end)
{
	return nt_session_patches_find(patches, start, end);
}

/* Decode the events that nt_session_doubt() needs. */
static int look_ahead(struct nt_session_queue *q)
{
	const int most = q->nr + AHEAD_MAX;
	int n = 1;

	while (n > 0 && q->nr < most && !q->replay.due && nt_session_doubt_goes_on(q)) {
		n = nt_session_ahead_room(q);
		if (!n)
			n = decode_events(q, NT_SESSION_BATCH);
	}
	return n < 0 ? n : 0;
}

/* Count up to patched code, because which copy of the kernel ran must be found out by events. */
static int count_events(struct nt_session_queue *q, struct nt_counts *counts, uint64_t ticks)
{
	int err = nt_session_ahead_room(q);

	if (!err)
		err = nt_session_replay_mark(q);
	if (err)
		return err;
	nt_flow_limit(q->flow, ticks);
	nt_counts_watch(counts, q->patches ? watch_patches : NULL, (void *)q->patches);
	return take_in(q, nt_flow_count_until(q->flow, counts, q->ev + q->nr, NT_SESSION_BATCH));
}

static struct nt_counts *counts_of(struct nt_session_queue *q, uint64_t *until)
{
	struct nt_counts *counts = NULL;

	*until = UINT64_MAX;
	if (q->host->counts)
		counts = q->host->counts(q, until);
	if (q->unstamped && *until != UINT64_MAX)
		return NULL;
	return counts;
}

/*
 * If the host wants counts, decode single events after anything but a branch, until the task's
 * address is known.
 */
static int decode_flow(struct nt_session_queue *q, uint64_t ticks)
{
	const int first = q->nr;
	uint64_t until;
	struct nt_counts *counts = counts_of(q, &until);
	int n, err;

	until = limit_ticks(q, until);
	nt_flow_limit(q->flow, ticks);
	n = decode_events(q, counts ? FIRST : NT_SESSION_BATCH);
	if (n <= 0)
		return n;
	err = look_ahead(q);
	if (!err && counts && can_count(q, until) && !nt_session_doubt_goes_on(q) &&
	    !(q->params.retstack && nt_session_doubt_is_possible(q))) {
		n = count_events(q, counts, until < ticks ? until : ticks);
		err = n < 0 ? n : look_ahead(q);
	}
	/* Events that waited may have been dropped. */
	return err ? err : q->nr > first ? q->nr - first : 0;
}

static int decode(struct nt_session_queue *q, uint64_t limit)
{
	const uint64_t ticks = limit_ticks(q, limit);
	int n;

	if (!q->window->size || q->replay.due)
		return 0;
	q->host->use_code(q);
	nt_session_ahead_move(q);
	n = nt_session_ahead_room(q);
	if (n)
		return n;
	if (q->quick) {
		n = take_in(q, nt_session_quick_next(q->quick, q->ev + q->nr, NT_SESSION_BATCH,
						     ticks));
	} else {
		n = decode_flow(q, ticks);
	}
	return n < 0 ? q->host->broken(q, n) : n;
}

static bool is_at_limit(const struct nt_session_queue *q)
{
	if (!q->window->size)
		return false;
	return q->quick ? nt_session_quick_at_limit(q->quick) : nt_flow_at_limit(q->flow);
}

/* 1: no window is left, or none before the limit */
static int next_window(struct nt_session_queue *q, uint64_t limit)
{
	const size_t next = q->next_window;
	struct nt_session_window *w;

	if (q->next_window == q->buffer->nr_windows)
		return nt_session_flow_unstarted(q) ?: 1;
	q->next_window = nt_session_wanted(q->session, q->buffer, q->next_window);
	q->session->skips += q->next_window > next;
	if (q->next_window == q->buffer->nr_windows)
		return 1;
	w = &q->buffer->window[q->next_window];
	if (!q->host->is_timed(q, w) && w->time > limit)
		return 1;
	q->next_window++;
	q->session->opened++;
	return open_window(q, w);
}

/* There are no more events up to the limit. 1: the limit is reached, decode other queues first */
static int end_batch(struct nt_session_queue *q)
{
	if (nt_session_replay_turn(q))
		return 0;
	return is_at_limit(q) ? 1 : close_window(q);
}

int nt_session_queue_fetch(struct nt_session_queue *q, uint64_t limit)
{
	int ret;

	while (q->pos == q->span.end && !nt_session_ahead_next(q, false)) {
		if (q->window) {
			ret = decode(q, limit);
			/* Messages are never decoded in part, so the last one is complete. */
			if (!ret && !nt_session_ahead_next(q, true))
				ret = end_batch(q);
			else if (ret > 0)
				ret = 0;
		} else {
			ret = next_window(q, limit);
		}
		if (ret)
			return ret < 0 ? ret : 0;
	}
	return 1;
}

/* --------------------------------------------------------------- delivery -- */

/* Is it known that the event is the last one of its message? */
static bool is_last(const struct nt_session_queue *q, const struct nt_event *ev)
{
	return q->pos < q->nr && q->ev[q->pos].offset != ev->offset;
}

/* Drop the events after the loss. The last of them tells where the flow continues. */
static int use_doubtful(struct nt_session_queue *q, const struct nt_event *ev)
{
	struct nt_event start = { .from = ev->to, .to = ev->to, .time = ev->time,
				  .offset = ev->offset, .kind = NT_EV_START,
				  .flags = ev->flags & (NT_EVF_TIME | NT_EVF_STAMP) };
	const char *broken = q->broken;
	const bool unsaid = q->unsaid;
	int err;

	if (q->doubtful == NT_SESSION_DOUBT_OPEN) {
		if (nt_session_doubt_is_on_the_way(ev, is_last(q, ev)))
			return 0;
		if (ev->kind != NT_EV_BRANCH && ev->kind != NT_EV_STOP && ev->kind != NT_EV_SYNC) {
			if (ev->kind == NT_EV_LOSS || ev->kind == NT_EV_START)
				q->doubtful = 0;
			return q->host->event(q, ev, is_last(q, ev));
		}
		q->doubtful = 1;
	}
	if (--q->doubtful || ev->kind == NT_EV_STOP)
		return 0;
	/* The trace did not start here: keep what on_broken() needs for the next real start. */
	q->broken = NULL;
	err = q->host->event(q, &start, is_last(q, ev));
	q->unsaid = unsaid;
	q->broken = broken;
	return err;
}

static bool pops(const struct nt_event *ev)
{
	return ev->type == NT_TYPE_RET || ev->type == NT_TYPE_SWAP;
}

static bool pushes(const struct nt_event *ev)
{
	return ev->type == NT_TYPE_CALL || ev->type == NT_TYPE_ICALL || ev->type == NT_TYPE_SWAP;
}

/* Calls of doubtful code may be on the return stack: does the event return from one of them? */
static bool is_unsure_return(struct nt_session_queue *q, const struct nt_event *ev)
{
	const bool sync = ev->flags & NT_EVF_SYNC || ev->kind == NT_EV_SYNC;

	if (ev->kind == NT_EV_START || ev->kind == NT_EV_STOP || ev->kind == NT_EV_LOSS)
		q->calls_unsure = false;
	if (!q->calls_unsure)
		return false;
	if (ev->kind == NT_EV_BRANCH && pops(ev)) {
		if (!q->calls && ev->flags & NT_EVF_INFERRED)
			return true;
		q->calls -= !!q->calls;
	}
	q->calls += ev->kind == NT_EV_BRANCH && pushes(ev);
	/* A sync message empties the stack. */
	if (sync && is_last(q, ev))
		q->calls_unsure = false;
	return false;
}

/* Report a loss if the next message fits both copies of the kernel. */
static int report_doubt(struct nt_session_queue *q, const struct nt_event *ev)
{
	const struct nt_session_patch *patch = NULL;
	int err;

	if (!q->doubtful && is_unsure_return(q, ev)) {
		q->doubtful = NT_SESSION_DOUBT_OPEN;
		q->calls = 0;
		err = nt_session_flow_gap(q);
		return err ? err : nt_session_flow_loss(q, NT_SESSION_LOSS_FLOW, ev->from,
			"return behind patched code: AUX %#" PRIx64, ev->offset);
	}
	if (q->patches && !q->doubtful && q->host->is_patched(q))
		patch = nt_session_doubt(q, q->ev + q->pos - 1, &q->doubtful);
	if (!patch)
		return 0;
	q->calls_unsure = q->params.retstack;
	q->calls = 0;
	err = nt_session_flow_gap(q);
	if (err)
		return err;
	/* perf has room for 63 characters. */
	return nt_session_flow_loss(q, NT_SESSION_LOSS_FLOW, patch->start,
				    "patched here, both copies of the kernel fit: AUX %#" PRIx64,
				    ev->offset);
}

static int use_event(struct nt_session_queue *q, const struct nt_event *ev)
{
	int err;

	err = report_early(q);
	if (!err) {
		q->time = nt_session_queue_event_time(q, ev);
		err = report_doubt(q, ev);
	}
	if (!err)
		err = q->doubtful ? use_doubtful(q, ev) : q->host->event(q, ev, is_last(q, ev));
	q->span.done += ev->insns;
	q->used = ev->offset;
	return err;
}

/* Skip events that produce no output, all at once. */
static int pass(struct nt_session_queue *q, uint64_t until)
{
	int n;

	if (!q->host->pass || !q->begun || q->behind_gap || q->doubtful || q->no_doubt ||
	    q->calls_unsure)
		return 0;
	n = q->host->pass(q, until);
	if (n > 0)
		q->used = q->ev[q->pos - 1].offset;
	return n;
}

int nt_session_queue_deliver(struct nt_session_queue *q, uint64_t until, uint64_t limit)
{
	int err;

	while (q->pos < q->span.end || nt_session_ahead_next(q, false)) {
		struct nt_event ev;

		err = pass(q, limit);
		if (err < 0)
			return err;
		if (q->pos == q->span.end)
			continue;
		ev = q->ev[q->pos];
		if (!nt_session_plain_ends_before(q, until) &&
		    nt_session_queue_event_time(q, &ev) > until)
			break;
		q->pos++;
		err = use_event(q, &ev);
		if (!err && q->host->plain_branches && ev.kind == NT_EV_BRANCH)
			err = nt_session_plain_use(q, until);
		if (err)
			return err;
	}
	return 0;
}
