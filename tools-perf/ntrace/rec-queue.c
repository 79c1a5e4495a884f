// SPDX-License-Identifier: GPL-2.0-only
/*
 * One AUX buffer on its way through the decoder: windows in, control flow out, in the order of
 * time. Whose the flow is, and so which code it goes through, comes from Ownership messages where
 * there are any, else from AUX records and context switches.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "rec.h"

/* Events of one call of the library; events that may wait for the end of their span */
#define BATCH		256
#define FIRST		16	/* before branches are counted */
#define WAITING_MAX	16384

struct rec_queue *rec_queue_new(struct rec *rec, struct nt_session_buffer *buffer)
{
	struct rec_queue *q = calloc(1, sizeof(*q));

	if (!q)
		die("%s", nt_strerror(NT_ENOMEM));
	q->rec = rec;
	q->buffer = buffer;
	q->cpu = q->pid = q->tid = -1;
	q->path = nt_path_new();
	if (!q->path)
		die("%s", nt_strerror(NT_ENOMEM));
	return q;
}

void rec_queue_free(struct rec_queue *q)
{
	if (!q)
		return;
	nt_flow_free(q->flow);
	nt_path_free(q->path);
	free(q->data);
	free(q->ev);
	free(q);
}

/* -------------------------------------------------------------- who runs - */

void rec_queue_set_tid(struct rec_queue *q, int tid)
{
	q->tid = tid < 0 ? -1 : tid;
	q->task = NULL;
	q->space = NULL;
}

/* As late as can be: a window is entered before all that comes before its time is known. */
static void look_up_task(struct rec_queue *q)
{
	if (!q->task && q->tid >= 0)
		q->task = rec_task_get(q->rec, q->tid, q->cpu);
	q->pid = q->task && q->task->pid >= 0 ? q->task->pid : q->tid;
	q->space = rec_task_space(q->rec, q->task);
}

static void use_code(struct rec_queue *q)
{
	look_up_task(q);
	/* What a guest runs is in none of the files. */
	if (q->guest)
		nt_flow_set_code(q->flow, NULL, NULL);
	else
		nt_flow_set_code(q->flow, rec_code_user(q->rec, q->space),
				 rec_code_kernel(q->rec));
}

struct nt_code *rec_queue_code(struct rec_queue *q, uint64_t addr)
{
	if (q->guest)
		return NULL;
	return rec_is_kernel(q->rec, addr) ? rec_code_kernel(q->rec) :
					     rec_code_user(q->rec, q->space);
}

/* ----------------------------------------------------------------- spans - */

static uint64_t message_time(const struct rec_queue *q, const struct nt_event *ev)
{
	if (!q->timed || !(ev->flags & NT_EVF_TIME))
		return q->time > q->span.to ? q->time : q->span.to;
	return ntrace_info_ns(&q->rec->info, ev->time << q->ts_shift);
}

static void begin_span(struct rec_queue *q, bool cut)
{
	struct nt_session_span *s = &q->span;
	const struct nt_event *last = q->ev + s->scan - 1;
	uint64_t to = message_time(q, last), usual;

	if (!s->known || last->kind == NT_EV_START)
		s->to = to;
	s->from = s->to < to ? s->to : to;
	usual = s->from + (nt_session_pace_of(&q->pace, s->sum) >> NT_SESSION_CLOCK_SHIFT);
	s->to = cut && usual < to ? usual : to;
	s->known = true;
	s->insns = s->sum;
	s->done = 0;
	s->end = s->scan;
	s->sum = 0;
	nt_session_pace_advance(&q->pace, s->insns, (s->to - s->from) << NT_SESSION_CLOCK_SHIFT, cut);
}

/* All of a span was used: begin the next, if all of its events are there. */
static bool next_span(struct rec_queue *q, bool all)
{
	bool full = q->nr + BATCH > WAITING_MAX;

	if (q->pos == q->nr)
		return false;
	/* A CONTEXT is one message, and wants to be used before more is decoded. */
	all |= q->ev[q->nr - 1].kind == NT_EV_CONTEXT;
	if (!nt_session_span_scan(&q->span, q->ev, q->pos, q->nr, all || full))
		return false;
	begin_span(q, full && !all && q->span.scan == q->nr);
	return true;
}

static void make_room(struct rec_queue *q)
{
	if (q->pos)
		memmove(q->ev, q->ev + q->pos, (q->nr - q->pos) * sizeof(*q->ev));
	q->span.end -= q->pos;
	q->span.scan -= q->pos;
	q->nr -= q->pos;
	q->pos = 0;
	if (q->nr + 2 * BATCH <= q->room)
		return;
	q->room = q->room ? 2 * q->room : 4 * BATCH;
	q->ev = reallocarray(q->ev, q->room, sizeof(*q->ev));
	if (!q->ev)
		die("%s", nt_strerror(NT_ENOMEM));
}

/* Nothing is before other events that were there already: code was read through their mappings. */
uint64_t rec_queue_event_time(const struct rec_queue *q, uint64_t insns)
{
	uint64_t time;

	if (!q->timed)
		return q->time;
	time = nt_session_span_at(&q->span, q->span.done + insns);
	return time > q->rec->reached ? time : q->rec->reached;
}

uint64_t rec_queue_time(const struct rec_queue *q)
{
	uint64_t time = rec_queue_event_time(q, q->ev[q->pos].insns);

	return time > q->time ? time : q->time;
}

/* ----------------------------------------------------- a window's terms -- */

static bool is_made_for(const struct rec_queue *q, uint64_t hw_id, const struct nt_params *p)
{
	return q->flow && q->hw_id == hw_id && q->params.profile == p->profile &&
	       q->params.addr_bits == p->addr_bits && q->params.tstamp_bits == p->tstamp_bits;
}

static void use_terms(struct rec_queue *q, const struct nt_session_window *w, struct nt_params *params)
{
	char why[NTRACE_WHY];

	if (ntrace_info_params(&q->rec->info, w->hw_id, w->cpu, params, why))
		die("%s: %s", q->rec->path, why);
	nt_session_choose_src(params, w->hw_id);
	rec_code_use(q->rec, params);
	if (is_made_for(q, w->hw_id, params))
		return;
	nt_flow_free(q->flow);
	q->flow = nt_flow_new(params);
	if (!q->flow)
		die("%s", nt_strerror(NT_ENOMEM));
	q->hw_id = w->hw_id;
	q->params = *params;
}

/* Do the ticks in this window's messages convert to the recording's time? */
static bool is_timed(const struct rec_queue *q, const struct nt_session_window *w)
{
	const uint64_t *cpu = ntrace_info_cpu(&q->rec->info, w->cpu);

	return q->rec->info.have_clock && w->hw_id & NTRACE_HW_ID_TIMESTAMP && cpu &&
	       cpu[NTRACE_INFO_CPU_TS_CLOCK] == NTRACE_TS_CLOCK_TIME;
}

static void load(struct rec_queue *q, const struct nt_session_window *w)
{
	size_t size = nt_session_there(&q->rec->trace, w);

	if (!w->resume)
		q->rest = 0;
	if (q->rest + size > q->data_room) {
		q->data = realloc(q->data, q->rest + size);
		if (!q->data)
			die("%s", nt_strerror(NT_ENOMEM));
		q->data_room = q->rest + size;
	}
	q->data_len = q->rest + nt_session_read(&q->rec->trace, w, q->data + q->rest, size);
}

static bool is_padding(const struct rec_queue *q)
{
	return nt_session_is_padding(q->data, q->data_len);
}

/* ------------------------------------------------------------- its owner - */

static void choose_owner(struct rec_queue *q, const struct nt_session_window *w)
{
	bool by_thread = q->buffer->cpu == -1 && w->tid > 0;

	q->owned = !by_thread && w->hw_id & NTRACE_HW_ID_CONTEXT;
	q->owned_until = UINT64_MAX;
	if (by_thread || (!q->owned && q->tid == -1))
		rec_queue_set_tid(q, w->tid);
}

static bool knows_task(void *ctx, pid_t tid)
{
	struct rec_queue *q = ctx;

	return rec_map_find(&q->rec->tasks, tid);
}

static struct nt_code *kernel_code(void *ctx)
{
	struct rec_queue *q = ctx;

	return rec_code_kernel(q->rec);
}

static void trim_ownership(struct rec_queue *q, const struct nt_session_window *w)
{
	const struct nt_session_owners owners = {
		.knows = knows_task, .kernel = kernel_code, .ctx = q,
	};

	if (q->owned)
		q->owned_until = nt_session_owned_until(w, &q->params, q->data, q->data_len,
							q->rest, &owners);
	if (q->owned_until)
		return;
	/* A stop before the window was another task's. */
	if (q->tid != w->tid)
		rec_flow_flush(q, UINT64_MAX);
	rec_queue_set_tid(q, w->tid);
}

/* --------------------------------------------------------------- windows - */

static void enter(struct rec_queue *q, struct nt_session_window *w)
{
	const struct ntrace_info *info = &q->rec->info;
	uint64_t tick;

	/* A thread that goes on elsewhere did not pause: it stopped where it was. */
	if (q->cpu != w->cpu)
		rec_flow_flush(q, UINT64_MAX);
	q->window = w;
	q->cpu = w->cpu;
	q->lost_some = false;
	q->timed = is_timed(q, w);
	q->ts_shift = 2 * ((w->hw_id & NTRACE_HW_ID_TSPRESCALE) /
			   (NTRACE_HW_ID_TSPRESCALE & -NTRACE_HW_ID_TSPRESCALE));
	if (info->have_clock) {
		tick = ntrace_info_ns(info, 1ull << q->ts_shift) - ntrace_info_ns(info, 0);
		q->pace.tick = (tick ? tick : 1) << NT_SESSION_CLOCK_SHIFT;
	}
	q->pace.period = 1 << NT_SESSION_CLOCK_SHIFT;
	if (!q->timed && w->time > q->time)
		q->time = w->time;
	choose_owner(q, w);
}

static uint64_t window_ticks(const struct rec_queue *q, const struct nt_session_window *w)
{
	return w->time ? ntrace_info_ticks(&q->rec->info, w->time) >> q->ts_shift : 0;
}

/*
 * Since when the window's times are: it was begun when the one before ended. Samples of an AUX
 * area go back farther than to the sample before.
 */
static uint64_t find_time(const struct rec_queue *q, const struct nt_session_window *w,
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

static bool is_behind_gap(const struct rec_queue *q, const struct nt_session_window *w)
{
	if (w->sampled || w->begin == NT_SESSION_BEGIN_ANYWHERE || (w->orphan && !is_padding(q)))
		return true;
	return !w->shared && w->offset != q->next_offset;
}

/* A shared sink's windows go on from one to the next, if all bytes of the one before are there. */
static void start_flow(struct rec_queue *q, bool whole)
{
	const struct nt_session_window *w = q->window;
	uint64_t offset = w->offset + q->data_skip - q->rest;

	nt_flow_open_end(q->flow, nt_session_goes_on(q->buffer, q->next_window, whole));
	if (w->resume) {
		nt_flow_more(q->flow, q->data, q->data_len, offset);
		return;
	}
	q->span = (struct nt_session_span){ .to = q->span.to };
	q->nr = q->pos = 0;
	nt_flow_window(q->flow, q->data + q->data_skip, q->data_len - q->data_skip, offset);
}

/* The window is used up. Keep the beginning of a message that ends in the next. */
static void keep_rest(struct rec_queue *q)
{
	size_t used = q->data_skip + nt_flow_consumed(q->flow);

	q->rest = nt_session_goes_on(q->buffer, q->next_window, true) ? q->data_len - used : 0;
	if (q->rest > NT_SESSION_REST_MAX) {
		q->rest = 0;
		rec_flow_loss(q, NT_SESSION_LOSS_DATA, 0, "no end of a message: AUX %#" PRIx64,
			      q->window->offset);
	}
	memmove(q->data, q->data + used, q->rest);
}

/* Of a window that was overwritten in part there may be nothing left to begin with. */
static void report_no_begin(struct rec_queue *q, const struct nt_session_window *w)
{
	/* A buffer that was never full, or a stretch of which a few bytes are left */
	if (w->sampled && !is_padding(q))
		rec_flow_loss(q, NT_SESSION_LOSS_LOST, 0,
			      "no full address in a sample of %#" PRIx64 " bytes: see syncmax",
			      w->size);
}

/* Begins the next window. Is it known how to decode it? */
static bool open_window(struct rec_queue *q, struct nt_session_window *w)
{
	struct nt_params params;
	bool whole;

	enter(q, w);
	if (!w->size)
		return true;
	if (!w->hw_id) {
		q->lost_some = true;
		rec_flow_loss(q, NT_SESSION_LOSS_FILE, 0, "no HW_ID record for the trace at %#" PRIx64,
			      w->offset);
		return false;
	}
	use_terms(q, w, &params);
	load(q, w);
	q->begun = q->guest = false;
	if (is_behind_gap(q, w))
		rec_flow_flush(q, UINT64_MAX);
	whole = q->data_len - q->rest == w->size;
	q->next_offset = w->offset + q->data_len - q->rest;
	trim_ownership(q, w);
	q->data_skip = w->resume ? 0 : nt_session_window_skip(w, &params, q->data, q->data_len);
	start_flow(q, whole);
	nt_flow_time_from(q->flow, find_time(q, w, &params));
	if (!w->shared && q->data_skip == q->data_len)
		report_no_begin(q, w);
	return true;
}

/* What is known to be wrong with a window, before anything of it, when its time has come */
static void report_early(struct rec_queue *q)
{
	const struct nt_session_window *w = q->window;

	if (q->begun)
		return;
	q->begun = true;
	if (w->orphan && !w->echo && !is_padding(q))
		rec_flow_loss(q, NT_SESSION_LOSS_LOST, 0, "AUX record lost for %#" PRIx64 " at %#" PRIx64,
			      w->size, w->offset);
}

/* The end of a window that the file has only the beginning of, behind all that is in it */
static void report_missing(struct rec_queue *q)
{
	const struct nt_session_window *w = q->window;
	size_t len = q->data_len - q->rest;

	if (len < w->size && !w->echo)
		rec_flow_loss(q, NT_SESSION_LOSS_FILE, 0, "%#" PRIx64 " bytes not in the file at %#" PRIx64,
			      w->size - len, w->offset + len);
}

/* A window that lost trace says so in a flag; where messages said it, it is the same loss. */
static void close_window(struct rec_queue *q)
{
	struct nt_session_window *w = q->window;
	bool truncated = w->flags & NT_PERFDATA_AUX_TRUNCATED;
	bool partial = !truncated && w->flags & NT_PERFDATA_AUX_PARTIAL && !q->lost_some;

	if (w->size) {
		report_early(q);
		report_missing(q);
		keep_rest(q);
	}
	q->window = NULL;
	if (w->echo && w->flags & (NT_PERFDATA_AUX_TRUNCATED | NT_PERFDATA_AUX_PARTIAL)) {
		q->unsaid |= q->have_pc;
		q->broken = true;
		q->broken_at = w->offset + w->size;
	}
	if (w->echo)
		return;
	if (truncated || partial)
		rec_flow_gap(q);
	if (truncated || partial)
		rec_flow_loss(q, NT_SESSION_LOSS_LOST, 0, "trace lost: %s at %#" PRIx64,
			      truncated ? "AUX buffer full" : "the sink was full",
			      w->offset + w->size);
}

/* ---------------------------------------------------------------- events - */

static uint64_t limit_ticks(const struct rec_queue *q, uint64_t limit)
{
	if (!q->timed || limit == UINT64_MAX)
		return UINT64_MAX;
	return ntrace_info_ticks(&q->rec->info, limit) >> q->ts_shift;
}

static int take_events(struct rec_queue *q, int n)
{
	if (n < 0)
		die("%s", nt_strerror(n));
	q->nr += n;
	return n;
}

/*
 * More events; false at the end of the window, or of what is not later than limit.  Whoever wants
 * sums gets branches one by one behind everything else, until it is clear where the task is.
 */
static bool decode(struct rec_queue *q, uint64_t limit)
{
	const struct nt_event *last;
	struct nt_counts *counts;
	int n;

	if (!q->window->size)
		return false;
	use_code(q);
	make_room(q);
	counts = rec_count(q);
	nt_flow_limit(q->flow, limit_ticks(q, limit));
	n = take_events(q, nt_flow_next(q->flow, q->ev + q->nr, counts ? FIRST : BATCH));
	last = q->ev + q->nr - 1;
	if (counts && n && last->kind == NT_EV_BRANCH && !(last->flags & NT_EVF_LEFT))
		take_events(q, nt_flow_count_until(q->flow, counts, q->ev + q->nr, BATCH));
	return n;
}

bool rec_queue_fetch(struct rec_queue *q, uint64_t limit)
{
	struct nt_session_window *w;

	while (q->pos == q->span.end && !next_span(q, false)) {
		if (!q->window) {
			q->next_window = nt_session_wanted(&q->rec->trace, q->buffer,
							   q->next_window);
			if (q->next_window == q->buffer->nr_windows)
				return false;
			w = &q->buffer->window[q->next_window];
			if (!is_timed(q, w) && w->time > limit)
				return false;
			q->next_window++;
			if (!open_window(q, w))
				q->window = NULL;
			continue;
		}
		/* No message is decoded in part: what is there is all of the last one. */
		if (decode(q, limit) || next_span(q, true))
			continue;
		if (q->window->size && nt_flow_at_limit(q->flow))
			return false;
		close_window(q);
	}
	return true;
}

/*
 * Trace without times is decoded when the record comes that tells of its window, and is from any time
 * since the window before. Times of messages and of records may differ a little.
 */
uint64_t rec_queue_done(const struct rec_queue *q)
{
	const struct nt_session_buffer *b = q->buffer;
	const uint64_t reached = q->rec->reached;
	const struct nt_session_window *w = q->window, *before;

	if (!rec_cpu_is_wanted(q->rec->options, b->cpu))
		return UINT64_MAX;
	if (!w && q->next_window == b->nr_windows && q->pos == q->nr && !q->have_held)
		return UINT64_MAX;
	if (!w && q->next_window < b->nr_windows)
		w = &b->window[q->next_window];
	if (!w || is_timed(q, w))
		return reached > NT_SESSION_PAUSE_NS ? reached - NT_SESSION_PAUSE_NS : 0;
	before = w->sampled ? NULL : nt_session_window_before(b, w);
	return before ? before->time : 0;
}

void rec_queue_deliver(struct rec_queue *q, uint64_t until)
{
	while (q->pos < q->span.end || next_span(q, false)) {
		struct nt_event ev = q->ev[q->pos];
		uint64_t time = rec_queue_event_time(q, ev.insns);

		if ((time > q->time ? time : q->time) > until)
			break;
		q->pos++;
		report_early(q);
		look_up_task(q);
		rec_flow_event(q, &ev, time);
		q->span.done += ev.insns;
	}
}
