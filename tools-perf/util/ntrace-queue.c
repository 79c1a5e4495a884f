// SPDX-License-Identifier: GPL-2.0-only
/*
 * One AUX buffer on its way through the decoder: windows in, control flow out,
 * in the order of time. Whose the flow is, and so which code it goes through,
 * comes from Ownership messages where there are any, else from the AUX records
 * and context switches.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <linux/bitfield.h>
#include <linux/kernel.h>
#include <linux/zalloc.h>

#include "callchain.h"
#include "debug.h"
#include "event.h"
#include "machine.h"
#include "session.h"
#include "thread.h"
#include "ntrace-priv.h"

/* No buffer is larger: a size beyond it is damage. */
#define WINDOW_MAX	(1ULL << 32)

struct ntrace_queue *ntrace_queue_new(struct ntrace *nt, struct nt_session_buffer *buffer)
{
	struct ntrace_queue *q = zalloc(sizeof(*q));

	if (!q)
		return NULL;
	q->nt = nt;
	q->buffer = buffer;
	q->cpu = -1;
	q->pid = -1;
	q->tid = -1;
	q->event = malloc(PERF_SAMPLE_MAX_SIZE);
	if (!q->event)
		zfree(&q);
	return q;
}

void ntrace_queue_free(struct ntrace_queue *q)
{
	if (!q)
		return;
	ntrace_decoder_free(q);
	thread__zput(q->thread);
	free(q->data);
	free(q->ev);
	free(q->event);
	free(q->chain);
	free(q->branches);
	free(q);
}

/* --- who runs --------------------------------------------------------------- */

static struct thread *find_thread(struct ntrace *nt, pid_t tid)
{
	struct thread *thread;

	if (!tid)
		return machine__idle_thread(nt->machine);
	thread = machine__find_thread(nt->machine, -1, tid);
	return thread ?: machine__findnew_thread(nt->machine, -1, tid);
}

void ntrace_queue_set_tid(struct ntrace_queue *q, pid_t tid)
{
	if (tid < 0)
		tid = -1;
	if (q->tid != tid)
		ntrace_synth_restart(q);
	q->tid = tid;
	q->task = tid < 0 ? NULL : ntrace_task(q->nt, tid, q->cpu);
	ntrace_queue_renew_thread(q);
}

/* What perf knows of the thread has changed, or is about to. */
void ntrace_queue_renew_thread(struct ntrace_queue *q)
{
	thread__zput(q->thread);
}

/*
 * Looked up as late as can be: a window is entered before all that comes before
 * its time is known. A thread whose process is not known is its own.
 */
void ntrace_queue_look_up_thread(struct ntrace_queue *q)
{
	if (!q->thread && q->tid >= 0)
		q->thread = find_thread(q->nt, q->tid);
	q->pid = q->thread ? thread__pid(q->thread) : -1;
	if (q->pid == -1)
		q->pid = q->tid;
}

static void use_code(struct ntrace_queue *q)
{
	struct ntrace *nt = q->nt;
	struct ntrace_space *user = NULL, *kernel = ntrace_space_kernel(nt, q->kernel_at_end);

	ntrace_queue_look_up_thread(q);
	if (q->quick)
		return;
	/* What a guest runs is in none of the files that perf knows of. */
	if (q->guest) {
		nt_flow_set_code(q->flow, NULL, NULL);
		return;
	}
	if (q->thread && q->tid)
		user = ntrace_space_get(nt, q->pid, q->thread);
	nt_flow_set_code(q->flow, ntrace_space_code(user), ntrace_space_code(kernel));
}

struct nt_code *ntrace_queue_code(struct ntrace_queue *q, u64 addr)
{
	struct ntrace *nt = q->nt;

	if (q->guest)
		return NULL;
	if (ntrace_is_kernel(nt, addr))
		return ntrace_space_code(ntrace_space_kernel(nt, q->kernel_at_end));
	if (!q->thread || !q->tid)
		return NULL;
	return ntrace_space_code(ntrace_space_get(nt, q->pid, q->thread));
}

/* --- windows ---------------------------------------------------------------- */

static bool same_code(const struct nt_params *a, const struct nt_params *b)
{
	return a->xlen == b->xlen && a->isa == b->isa && a->jvt == b->jvt &&
	       a->seqjump == b->seqjump;
}

/* Code is read with the terms in mind: other terms, other reading. */
static void use_code_params(struct ntrace *nt, const struct nt_params *params)
{
	unsigned int i;

	if (nt->have_code_params && same_code(&nt->code_params, params))
		return;
	for (i = 0; i < nt->nr_queues; i++)
		ntrace_decoder_forget_code(nt->queue[i]);
	ntrace_spaces_free(nt);
	nt->code_params = *params;
	nt->have_code_params = true;
}

/* A thread that goes on elsewhere may find another encoder there. */
static bool is_made_for(const struct ntrace_queue *q, u64 hw_id, const struct nt_params *params)
{
	return (q->flow || q->quick) && q->flow_hw_id == hw_id &&
	       q->profile == params->profile && q->addr_bits == params->addr_bits &&
	       q->tstamp_bits == params->tstamp_bits;
}

static int use_terms(struct ntrace_queue *q, u64 hw_id, int cpu, struct nt_params *params)
{
	int err;

	err = ntrace_params(q->nt, hw_id, cpu, params);
	if (err)
		return err;
	params->branches = q->nt->custom;
	params->nr_branches = q->nt->nr_custom;
	nt_session_choose_src(params, hw_id);
	use_code_params(q->nt, params);

	if (is_made_for(q, hw_id, params))
		return 0;
	q->flow_hw_id = hw_id;
	q->profile = params->profile;
	q->addr_bits = params->addr_bits;
	q->tstamp_bits = params->tstamp_bits;
	return ntrace_decoder_new(q, params);
}

/* Do the ticks in this window's messages convert to perf's time? */
static bool is_timed(struct ntrace_queue *q, const struct nt_session_window *w)
{
	const u64 *cpu = ntrace_info_cpu(&q->nt->info, w->cpu);

	return q->nt->timed && w->hw_id & NTRACE_HW_ID_TIMESTAMP && cpu &&
	       (cpu[NTRACE_INFO_CPU_TS_CLOCK] == NTRACE_TS_CLOCK_TIME ||
		q->nt->opts.use_timestamp);
}

static int load(struct ntrace_queue *q, const struct nt_session_window *w, size_t *len)
{
	size_t size = nt_session_there(&q->nt->trace, w);
	u8 *bigger;
	ssize_t n;

	if (w->size > WINDOW_MAX)
		return -EINVAL;
	if (!w->resume)
		q->rest = 0;
	if (q->rest + size > q->data_room) {
		bigger = realloc(q->data, q->rest + size);
		if (!bigger)
			return -ENOMEM;
		q->data = bigger;
		q->data_room = q->rest + size;
	}

	n = nt_session_read(&q->nt->trace, w, q->data + q->rest, size);
	if (n < 0)
		return n;
	*len = n;
	return 0;
}

static bool is_padding(const struct ntrace_queue *q)
{
	return nt_session_is_padding(q->data, q->data_len);
}

/*
 * Reports what is known to be wrong with a window, before anything of it, but when
 * its time has come: it may have been opened early.
 */
static int report_early(struct ntrace_queue *q)
{
	const struct nt_session_window *w = q->window;

	if (q->begun)
		return 0;
	q->begun = true;
	if (!w->orphan || w->echo || is_padding(q))
		return 0;
	return ntrace_synth_error(q, NT_SESSION_LOSS_LOST, 0,
				  "AUX record lost for %#" PRIx64 " at %#" PRIx64,
				  w->size, w->offset);
}

/* The end of a window that the file has only the beginning of, behind all that is in it */
static int report_missing(struct ntrace_queue *q)
{
	const struct nt_session_window *w = q->window;
	size_t len = q->data_len - q->rest;

	if (len >= w->size || w->echo)
		return 0;
	return ntrace_synth_error(q, NT_SESSION_LOSS_FILE, 0,
				  "%#" PRIx64 " bytes not in the file at %#" PRIx64,
				  w->size - len, w->offset + len);
}

/*
 * Whose the trace is: Ownership messages tell it, the first of them right behind
 * the first sync. Where there are none, context switches do. A thread's own
 * buffer needs neither.
 */
static void choose_owner(struct ntrace_queue *q, struct nt_session_window *w)
{
	bool by_thread = q->buffer->cpu == -1 && w->tid > 0;

	q->owned = !by_thread && w->hw_id & NTRACE_HW_ID_CONTEXT;
	q->owned_until = UINT64_MAX;
	if (by_thread || (!q->owned && q->tid == -1))
		ntrace_queue_set_tid(q, w->tid);
}

static bool knows_task(void *ctx, pid_t tid)
{
	struct ntrace_queue *q = ctx;
	struct thread *thread = machine__find_thread(q->nt->machine, -1, tid);
	bool known = thread;

	thread__put(thread);
	return known;
}

static struct nt_code *kernel_code(void *ctx)
{
	struct ntrace_queue *q = ctx;

	return ntrace_space_code(ntrace_space_kernel(q->nt, q->kernel_at_end));
}

static int trim_ownership(struct ntrace_queue *q, const struct nt_session_window *w,
			  const struct nt_params *params)
{
	const struct nt_session_owners owners = {
		.knows = knows_task, .kernel = kernel_code, .ctx = q,
	};
	int err;

	if (q->owned)
		q->owned_until = nt_session_owned_until(w, params, q->data, q->data_len,
							q->rest, &owners);
	if (q->owned_until)
		return 0;
	/* A stop before the window was another task's. */
	err = q->tid == w->tid ? 0 : ntrace_queue_flush(q, UINT64_MAX);
	ntrace_queue_set_tid(q, w->tid);
	return err;
}

static int enter(struct ntrace_queue *q, struct nt_session_window *w)
{
	/* A thread that goes on elsewhere did not pause: it stopped where it was. */
	int err = q->cpu == w->cpu ? 0 : ntrace_queue_flush(q, UINT64_MAX);

	q->window = w;
	q->cpu = w->cpu;
	q->lost_some = false;
	/* Samples by time, or else by instructions */
	if (q->timed != is_timed(q, w))
		q->period.period = 0;
	q->timed = is_timed(q, w);
	q->ts_shift = 2 * FIELD_GET(NTRACE_HW_ID_TSPRESCALE, w->hw_id);
	q->pace.tick = (ntrace_ticks_to_ns(q->nt, 1ULL << q->ts_shift) -
			ntrace_ticks_to_ns(q->nt, 0) ?: 1) << NT_SESSION_CLOCK_SHIFT;
	q->pace.period = q->nt->opts.period << NT_SESSION_CLOCK_SHIFT;
	ntrace_cycles_window(q, w);
	if (!q->timed && w->time > q->time)
		q->time = w->time;
	choose_owner(q, w);
	return err;
}

/* @whole: all of the window's bytes are in the file, as they must be for the next to go on. */
static void start_flow(struct ntrace_queue *q, bool whole)
{
	const struct nt_session_window *w = q->window;
	bool open = nt_session_goes_on(q->buffer, q->next_window, whole);

	if (!w->resume)
		ntrace_span_reset(q);
	ntrace_decoder_window(q, q->data + q->data_skip, q->data_len - q->data_skip,
			      w->offset + q->data_skip - q->rest, open, w->resume);
	ntrace_decoder_time_from(q, q->ticks_from);
}

/* The window is used up. Keep the beginning of a message that ends in the next. */
static int keep_rest(struct ntrace_queue *q)
{
	size_t used = q->data_skip + ntrace_decoder_consumed(q);

	q->rest = nt_session_goes_on(q->buffer, q->next_window, true) ? q->data_len - used : 0;
	if (q->rest > NT_SESSION_REST_MAX) {
		q->rest = 0;
		return ntrace_synth_error(q, NT_SESSION_LOSS_DATA, 0,
					  "no end of a message: AUX %#" PRIx64, q->window->offset);
	}
	memmove(q->data, q->data + used, q->rest);
	return 0;
}

static u64 window_ticks(const struct ntrace_queue *q, const struct nt_session_window *w)
{
	return w->time ? ntrace_ns_to_ticks(q->nt, w->time) >> q->ts_shift : 0;
}

/*
 * Since when the window's times are: it was begun when the one before ended. Samples of an AUX
 * area go back farther than to the sample before.
 */
static u64 find_time(const struct ntrace_queue *q, const struct nt_session_window *w,
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
 * Is trace missing between the window before and this one? Samples may have bytes
 * in common, but what is before the first sync of the later one is not decoded.
 */
static bool is_behind_gap(const struct ntrace_queue *q, const struct nt_session_window *w)
{
	if (w->sampled || w->begin == NT_SESSION_BEGIN_ANYWHERE || (w->orphan && !is_padding(q)))
		return true;
	return !w->shared && w->offset != q->next_offset;
}

/* Of a window that was overwritten in part there may be nothing left to begin with. */
static int no_begin(struct ntrace_queue *q, const struct nt_session_window *w)
{
	/* A buffer that was never full, or a stretch of which a few bytes are left */
	if (is_padding(q) || !w->sampled)
		return 1;
	return ntrace_synth_error(q, NT_SESSION_LOSS_LOST, 0,
				  "no full address in a sample of %#" PRIx64 " bytes: see syncmax",
				  w->size) ?: 1;
}

/* Begins the next window. Returns 1 if there is something to decode in it. */
static int open_window(struct ntrace_queue *q, struct nt_session_window *w)
{
	struct nt_params params;
	size_t len = 0;
	int err;

	err = enter(q, w);
	if (err)
		return err;
	if (w->size && !w->hw_id) {
		q->lost_some = true;
		return ntrace_synth_error(q, NT_SESSION_LOSS_FILE, 0,
					  "no HW_ID record for the trace at %#" PRIx64, w->offset);
	}
	if (!w->size)
		return 1;

	err = use_terms(q, w->hw_id, w->cpu, &params);
	if (!err)
		err = load(q, w, &len);
	if (err)
		return err;
	q->data_len = q->rest + len;
	q->begun = q->guest = false;
	if (is_behind_gap(q, w)) {
		/* Others may not be as far in time: the first event makes it known. */
		q->behind_gap = true;
		err = ntrace_queue_flush(q, UINT64_MAX);
		if (err)
			return err;
	}
	q->next_offset = w->offset + len;
	err = trim_ownership(q, w, &params);
	if (err)
		return err;
	q->window_tid = q->tid;
	ntrace_replay_begin(q);
	q->data_skip = w->resume ? 0 : nt_session_window_skip(w, &params, q->data, len);
	q->ticks_from = find_time(q, w, &params);
	start_flow(q, len == w->size);
	return w->shared || q->data_skip < len ? 1 : no_begin(q, w);
}

/*
 * A window that lost trace says so in an AUX flag. Where the messages said it
 * already it is the same loss.
 */
static int close_window(struct ntrace_queue *q)
{
	struct nt_session_window *w = q->window;
	int err = 0;

	if (w->size)
		err = report_early(q);
	if (!err && w->size)
		err = report_missing(q);
	if (!err && w->size)
		err = keep_rest(q);
	q->window = NULL;
	if (w->echo && w->flags & (PERF_AUX_FLAG_TRUNCATED | PERF_AUX_FLAG_PARTIAL)) {
		q->unsaid |= q->have_pc;
		q->broken = true;
		q->broken_at = w->offset + w->size;
	}
	if (err || w->echo)
		return err;
	if (w->flags & PERF_AUX_FLAG_TRUNCATED ||
	    (w->flags & PERF_AUX_FLAG_PARTIAL && !q->lost_some))
		err = ntrace_flow_gap(q);
	if (err)
		return err;
	if (w->flags & PERF_AUX_FLAG_TRUNCATED)
		err = ntrace_synth_error(q, NT_SESSION_LOSS_LOST, 0,
					 "trace lost: AUX buffer full at %#" PRIx64,
					 w->offset + w->size);
	else if (w->flags & PERF_AUX_FLAG_PARTIAL && !q->lost_some)
		err = ntrace_synth_error(q, NT_SESSION_LOSS_LOST, 0,
					 "trace lost: the sink was full at %#" PRIx64,
					 w->offset + w->size);
	return err;
}

/* The window from its beginning, against other code: see ntrace-replay.c. */
static void decode_again(struct ntrace_queue *q)
{
	ntrace_queue_set_tid(q, q->window_tid);
	start_flow(q, true);
}

/* What was used of the window did not come again. */
static int came_otherwise(struct ntrace_queue *q)
{
	if (ntrace_replay_take_back(q)) {
		decode_again(q);
		return 0;
	}
	/* A decoder that is given the same does the same: this is for errors of ours. */
	q->replay.left = 0;
	return ntrace_synth_error(q, NT_SESSION_LOSS_FLOW, 0,
				  "the trace at %#" PRIx64 " was not decoded twice alike",
				  q->window->offset);
}

/* --- events ----------------------------------------------------------------- */

/* When the event happened that is used next */
u64 ntrace_event_time(const struct ntrace_queue *q, const struct nt_event *ev)
{
	return max(ntrace_span_time(q, ev->insns), q->time);
}

/* There is one, with all of its span. */
u64 ntrace_queue_time(const struct ntrace_queue *q)
{
	return ntrace_event_time(q, &q->ev[q->pos]);
}

static u64 limit_ticks(const struct ntrace_queue *q, u64 limit)
{
	if (!q->timed || limit == UINT64_MAX)
		return UINT64_MAX;
	return ntrace_ns_to_ticks(q->nt, limit) >> q->ts_shift;
}

static int decode(struct ntrace_queue *q, u64 limit)
{
	u64 ticks = min(limit_ticks(q, limit), ntrace_replay_limit(q));
	int n;

	if (!q->window->size)
		return 0;
	use_code(q);
	n = ntrace_span_room(q);
	if (n)
		return n;
	n = ntrace_decoder_next(q, ticks);
	if (n < 0) {
		pr_err("ntrace: decoder: %s\n", nt_strerror(n));
		return -EINVAL;
	}
	q->nr += n;
	return n;
}

/*
 * Have events ready that are not later than @limit. Returns 1 if there are, 0 if
 * not yet or not any more.
 */
int ntrace_queue_fetch(struct ntrace_queue *q, u64 limit)
{
	struct nt_session_window *w;
	int ret;

	while (q->pos == q->span.end && !ntrace_span_next(q, false)) {
		if (!q->window) {
			q->next_window = nt_session_wanted(&q->nt->trace, q->buffer,
							   q->next_window);
			if (q->next_window == q->buffer->nr_windows)
				return 0;
			w = &q->buffer->window[q->next_window];
			if (!is_timed(q, w) && w->time > limit)
				return 0;
			q->next_window++;
			q->nt->opened++;
			ret = open_window(q, w);
			if (ret < 0)
				return ret;
			if (!ret)
				q->window = NULL;
			continue;
		}

		ret = decode(q, limit);
		if (ret < 0)
			return ret;
		/* No message is decoded in part: what is there is all of the last one. */
		if (ret || ntrace_span_next(q, true))
			continue;
		if (limit_ticks(q, limit) >= ntrace_replay_limit(q) && ntrace_replay_turn(q))
			continue;
		if (q->window->size && ntrace_decoder_at_limit(q))
			return 0;
		if (q->replay.left) {
			ret = came_otherwise(q);
			if (ret)
				return ret;
			continue;
		}
		ret = close_window(q);
		if (ret)
			return ret;
	}
	return 1;
}

/* --- using them --------------------------------------------------------------- */

/* An event that was used before. Whose the code is must be known again, though. */
static int pass_over(struct ntrace_queue *q, const struct nt_event *ev)
{
	if (ev->kind == NT_EV_CONTEXT)
		ntrace_flow_context(q, ev);
	q->span.done += ev->insns;
	if (q->replay.left == 1)
		ntrace_synth_restart(q);
	return ntrace_replay_same(q, ev) ? 0 : came_otherwise(q);
}

/* The event is @q's newest: is another one from the same message? */
static bool is_last(const struct ntrace_queue *q, const struct nt_event *ev)
{
	return q->pos < q->nr && q->ev[q->pos].offset != ev->offset;
}

static int use_event(struct ntrace_queue *q, const struct nt_event *ev)
{
	int err;

	if (q->replay.left)
		return pass_over(q, ev);
	if (ntrace_replay_loss(q, ev)) {
		decode_again(q);
		return 0;
	}
	ntrace_replay_note(q, ev, 1);
	err = report_early(q);
	err = err ?: ntrace_flow_event(q, ev, is_last(q, ev));
	q->span.done += ev->insns;
	return err;
}

/* Events that make no sample, all at once */
static int pass(struct ntrace_queue *q, u64 until)
{
	int first = q->pos, n;

	if (!q->nt->pass_types || q->replay.left || !q->begun || q->behind_gap)
		return 0;
	n = ntrace_synth_pass(q, until);
	if (n > 0)
		ntrace_replay_note(q, q->ev + first, n);
	return n;
}

/* Use up what was fetched, as far as it is not later than @until. */
int ntrace_queue_deliver(struct ntrace_queue *q, u64 until)
{
	int err;

	while (q->pos < q->span.end || ntrace_span_next(q, false)) {
		struct nt_event ev;

		err = pass(q, until);
		if (err < 0)
			return err;
		if (q->pos == q->span.end)
			continue;
		ev = q->ev[q->pos];
		if (ntrace_event_time(q, &ev) > until)
			break;
		q->pos++;
		err = use_event(q, &ev);
		if (err)
			return err;
	}
	return 0;
}
