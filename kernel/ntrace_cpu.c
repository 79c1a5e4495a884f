// SPDX-License-Identifier: GPL-2.0-only
/*
 * A CPU that traces. While an event runs, a perf AUX transaction is open and the sink writes into a
 * window: of the AUX area itself, where nothing is copied then, or of a store from which it is
 * copied when the window is done. A timer on the same CPU moves the window on before it is full.
 */
#include <linux/cleanup.h>
#include <linux/cpu.h>
#include <linux/cpu_pm.h>
#include <linux/cpumask.h>
#include <linux/dma-mapping.h>
#include <linux/hrtimer.h>
#include <linux/irqflags.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/sizes.h>
#include <linux/smp.h>
#include <linux/suspend.h>

#include "ntrace_compat.h"
#include "ntrace_pmu.h"

/* How often a hart that waits for the reader looks for room */
#define NTRACE_WAIT_PERIOD_NS	(500 * NSEC_PER_USEC)

static unsigned int move_bytes = SZ_4M;
module_param(move_bytes, uint, 0644);
MODULE_PARM_DESC(move_bytes, "move a window when this much is written, at the latest");

/* Why tracing sleeps on a CPU */
#define NTRACE_ASLEEP_IDLE	BIT(0)
#define NTRACE_ASLEEP_SYSTEM	BIT(1)

static DEFINE_PER_CPU(struct ntrace_cpu, ntrace_cpus);

/* The system is suspended. A CPU may come back after that, or never. */
static bool ntrace_suspended;

u64 ntrace_clock_mult __read_mostly;

/* AUX transactions */

/* Copied trace needs limits of its own. */
static void ntrace_aux_limit_copies(struct ntrace_cpu *c)
{
	const struct ntrace_ramsink_store *store = &c->path->sink->store;

	if (c->path->sink->shared)
		ntrace_shared_limit(c);
	else if (c->copied)
		ntrace_aux_limit_store(&c->limits, store->size, store->fixed);
}

/**
 * ntrace_aux_open - open a transaction
 * @c: the CPU
 *
 * Return: 0, -ENOSPC when the area is full to the last byte, -EINVAL when there is no area for this
 * sink. After an error there is no transaction, no buffer, and no room to copy to.
 */
int ntrace_aux_open(struct ntrace_cpu *c)
{
	struct perf_output_handle *handle = &c->handle;

	/*
	 * The core fills this in before it looks for space, and tells the two failures apart in no
	 * other way.
	 */
	handle->rb = NULL;
	handle->size = 0;
	c->done = 0;
	c->lost = false;
	c->buf = perf_aux_output_begin(handle, c->event);
	if (!c->buf)
		return handle->rb ? -ENOSPC : -EINVAL;

	c->map = ntrace_buffer_find_map(c->buf, c->path->sink);
	if (!c->map) {
		perf_aux_output_end(handle, 0);
		handle->size = 0;
		c->buf = NULL;
		return -EINVAL;
	}
	ntrace_aux_limit(&c->limits, &c->pace, c->buf->layout.size, c->path->sink->align,
			 ntrace_cpu_lossless(c));
	c->limits.headroom = c->path->sink->headroom;
	c->limits.quantum = min_t(u64, c->limits.quantum, READ_ONCE(move_bytes));
	if (c->buf->ring)
		ntrace_aux_limit_row(&c->limits, &c->pace, c->buf->layout.size);
	c->copied = !c->map->addr;
	ntrace_aux_limit_copies(c);

	return 0;
}

/**
 * ntrace_aux_close - end a transaction, all of whose trace is accounted in done
 * @c: the CPU
 */
void ntrace_aux_close(struct ntrace_cpu *c)
{
	if (!perf_get_aux(&c->handle))
		return;
	if (c->lost)
		perf_aux_output_flag(&c->handle, PERF_AUX_FLAG_PARTIAL);
	perf_aux_output_end(&c->handle, c->done);
}

/* A component does not do as told, so nothing will be traced: the reader has to know. */
static void ntrace_aux_fail(struct ntrace_cpu *c)
{
	perf_aux_output_flag(&c->handle, PERF_AUX_FLAG_PARTIAL);
	perf_aux_output_end(&c->handle, 0);
}

/*
 * Nothing can go on without the reader: say so, and leave the event to it. perf's own attempt to
 * disable the event depends on the kernel's version, so do not rely on it; being asked twice does
 * not matter.
 */
static void ntrace_aux_full(struct ntrace_cpu *c)
{
	struct perf_event *event = c->event;

	if (perf_get_aux(&c->handle)) {
		perf_aux_output_flag(&c->handle, PERF_AUX_FLAG_TRUNCATED);
		perf_aux_output_end(&c->handle, 0);
	}
	event->pending_disable = 1;
	irq_work_queue(&event->pending_disable_irq);
}

/* A window in the store, of which nothing is in the area yet. Return: 0 or -ENOSPC */
static int ntrace_aux_bounce_window(struct ntrace_cpu *c, u64 taken, u64 least)
{
	const struct ntrace_ramsink_store *store = &c->path->sink->store;

	c->window.chunk = 0;
	c->window.offset = 0;
	c->window.size = ntrace_aux_bounce(&c->limits, c->handle.size, taken, store->size,
					   store->fixed);

	return c->window.size >= least ? 0 : -ENOSPC;
}

/* What the sink writes into the window may take that long to become visible. */
static void ntrace_aux_cap_window(struct ntrace_cpu *c)
{
	c->window.size = min(c->window.size, c->path->sink->window_max);
}

/* The first window, behind what has to be passed over. Return: 0 or -ENOSPC */
static int ntrace_aux_first_window(struct ntrace_cpu *c)
{
	u64 pad;
	int ret;

	if (c->copied)
		return ntrace_aux_bounce_window(c, c->limits.reserve,
						c->limits.want + c->limits.headroom);

	ret = ntrace_aux_first(&c->buf->layout, &c->limits, c->handle.head, c->handle.size, &pad,
			       &c->window);
	ntrace_aux_cap_window(c);
	if (ret || !pad)
		return ret;

	ntrace_buffer_skip(c->buf, c->map, c->handle.head, pad);

	return perf_aux_output_skip(&c->handle, pad);
}

/* One more, reserve included. Return: 0 or -ENOSPC */
static int ntrace_aux_next_window(struct ntrace_cpu *c)
{
	int ret;

	if (c->copied)
		return ntrace_aux_bounce_window(c, c->done, c->limits.align);

	ret = ntrace_aux_next(&c->buf->layout, &c->limits, c->handle.head, c->handle.size, c->done,
			      &c->window);
	ntrace_aux_cap_window(c);

	return ret;
}

static void ntrace_cpu_guard_window(struct ntrace_cpu *c)
{
	struct ntrace_ramsink *sink = c->path->sink;
	u64 at = c->window.size - sink->align;

	ntrace_ramsink_set_guard(sink, c->copied ? sink->store.cpu + at :
						   ntrace_buffer_at(c->buf, c->window.chunk,
								    c->window.offset + at));
}

static int ntrace_cpu_set_window(struct ntrace_cpu *c)
{
	struct ntrace_ramsink *sink = c->path->sink;
	dma_addr_t start = c->copied ? sink->store.bus :
				       c->map->addr[c->window.chunk] + c->window.offset;
	int ret;

	c->seen = 0;
	c->seen_at = ntrace_clock();

	ret = ntrace_ramsink_set_window(sink, start, c->window.size);
	if (ret)
		return ret;
	if (c->copied)
		ntrace_ramsink_hand_back(sink);
	if (sink->overruns)
		ntrace_cpu_guard_window(c);

	return 0;
}

/* What is written until now, and how fast it came */
static __always_inline void ntrace_cpu_see(struct ntrace_cpu *c, u64 used)
{
	u64 now = ntrace_clock();

	ntrace_aux_learn(&c->pace, used > c->seen ? used - c->seen : 0,
			 ntrace_clock_ns(now - c->seen_at));
	c->seen = used;
	c->seen_at = now;
}

/*
 * The sink is off: what did it write? Make that visible before anybody is told. Return: 0, -ENOSPC
 * if the window is full, or another error if nobody knows what the sink did
 */
static int ntrace_cpu_account_window(struct ntrace_cpu *c)
{
	bool full;
	u64 used;
	int ret;

	ret = ntrace_ramsink_account(c->path->sink, &used);
	/* After an overrun nobody knows how much came, only that the window was too small. */
	if (ret) {
		ntrace_cpu_see(c, c->window.size);
		return ret;
	}

	full = used == c->window.size;
	if (full)
		used -= ntrace_ramsink_unsure(c->path->sink);
	if (c->copied)
		ntrace_buffer_copy(c->buf, c->handle.head + c->done, c->path->sink, 0, used);
	else if (used)
		dma_sync_single_range_for_cpu(c->path->sink->comp.dev,
					      c->map->addr[c->window.chunk], c->window.offset, used,
					      DMA_FROM_DEVICE);
	ntrace_cpu_see(c, used);
	c->done += used;

	return full ? -ENOSPC : 0;
}

/* Running */

static void ntrace_cpu_report_hw_id(struct ntrace_cpu *c)
{
	struct ntrace_event *ev = to_ntrace_event(c->event);
	struct ntrace_encoder *enc = c->path->encoder;
	int cpu = smp_processor_id();

	if (!cpumask_test_cpu(cpu, &ev->reported) &&
	    !cpumask_test_and_set_cpu(cpu, &ev->reported))
		perf_report_aux_output_id(c->event,
					  ntrace_config_to_hw_id(&enc->config, enc,
								 ntrace_path_is_shared(c->path)));
}

/*
 * The area is full, but has room for a flush: let the encoder fill up and stall the hart. A shared
 * sink stays enabled, because a disabled funnel input discards trace. Other CPUs may have room to
 * copy that trace.
 */
static int ntrace_cpu_wait(struct ntrace_cpu *c)
{
	struct ntrace_component *comp = &c->path->encoder->comp;
	int ret;

	if (c->state == NTRACE_OFF) {
		ret = ntrace_path_is_shared(c->path) ? ntrace_shared_enable(c, true) :
						       comp->type->enable(comp);
		if (ret)
			return ret;
	}
	c->state = NTRACE_WAITING;

	return 0;
}

/* Circular areas: never full, and no window ever moves. */

static int ntrace_cpu_run_ring(struct ntrace_cpu *c)
{
	int ret;

	ntrace_ring_open(&c->ring, c->buf, c->map, c->handle.head);
	ntrace_cpu_report_hw_id(c);
	ret = ntrace_ring_aim(&c->ring, &c->limits) ?: ntrace_path_enable(c->path);
	if (ret) {
		ntrace_aux_fail(c);
		return ret;
	}
	c->state = NTRACE_RUNNING;

	return 0;
}

/* Encoder off, sink off, and what they wrote is there to be read. */
static void ntrace_cpu_drain_ring(struct ntrace_cpu *c)
{
	bool overflow = false;
	int ret;

	c->lost |= ntrace_encoder_fell(c->path->encoder, &overflow);
	ret = ntrace_path_stop_encoder(c->path, &overflow);
	if (ret == -ENOSPC)
		ntrace_component_reset(&c->path->encoder->comp);
	c->lost |= ret || (overflow && !ntrace_cpu_lossless(c));

	/* What a sink that failed has written, nobody knows. */
	if (ntrace_path_disable_downstream(c->path)) {
		c->lost = true;
	} else if (!ntrace_ring_look(&c->ring, &c->pace)) {
		ntrace_ramsink_lost_way(c->path->sink);
		c->lost = true;
	} else if (ntrace_ring_overran(&c->ring)) {
		c->lost = true;
	}
	ntrace_ring_sync(&c->ring);
}

/* In a circular area the driver says where the head is. */
static void ntrace_cpu_finish_ring(struct ntrace_cpu *c)
{
	ntrace_cpu_drain_ring(c);
	c->state = NTRACE_OFF;
	if (c->lost)
		perf_aux_output_flag(&c->handle, PERF_AUX_FLAG_PARTIAL);
	c->handle.head = c->ring.head;
	perf_aux_output_end(&c->handle, ntrace_ring_new(&c->ring));
}

/* Trace that leaves over a bridge: nothing to open, nothing to move. */
static int ntrace_cpu_run_away(struct ntrace_cpu *c)
{
	int ret = ntrace_path_enable(c->path);

	if (!ret)
		c->state = NTRACE_AWAY;

	return ret;
}

static void ntrace_cpu_finish_away(struct ntrace_cpu *c)
{
	bool overflow = false;

	ntrace_encoder_fell(c->path->encoder, &overflow);
	ntrace_path_stop_encoder(c->path, &overflow);
	ntrace_path_disable_downstream(c->path);
	c->state = NTRACE_OFF;
}

/* The encoder was perhaps on while it waited, and what is downstream was not. */
static int ntrace_cpu_enable(struct ntrace_cpu *c)
{
	if (ntrace_path_is_shared(c->path))
		return c->state == NTRACE_WAITING ? 0 : ntrace_shared_enable(c, false);

	return ntrace_cpu_set_window(c) ?:
	       (c->state == NTRACE_WAITING ? ntrace_path_enable_downstream(c->path) :
					     ntrace_path_enable(c->path));
}

/*
 * Open a transaction and start, or go on after waiting. Return: 0 when running or waiting, else an
 * error and off
 */
static int ntrace_cpu_run(struct ntrace_cpu *c)
{
	int ret;

	if (!c->path->sink)
		return ntrace_cpu_run_away(c);

	ret = ntrace_aux_open(c);
	if (ret) {
		if (ret == -ENOSPC)
			ntrace_aux_full(c);
		return ret;
	}

	if (c->buf->ring)
		return ntrace_cpu_run_ring(c);

	ret = ntrace_path_is_shared(c->path) ? ntrace_shared_first(c) : ntrace_aux_first_window(c);
	if (ret && ntrace_cpu_patient(c) && c->handle.size >= NTRACE_AUX_MIN_WINDOW) {
		ret = ntrace_cpu_wait(c);
		perf_aux_output_end(&c->handle, 0);
		return ret;
	}
	if (ret) {
		ntrace_aux_full(c);
		return ret;
	}

	ntrace_cpu_report_hw_id(c);
	ret = ntrace_cpu_enable(c);
	if (ret) {
		ntrace_aux_fail(c);
		return ret;
	}
	c->state = NTRACE_RUNNING;

	return 0;
}

/*
 * The window is full, or nearly: take the next one of the same transaction, while the encoder is
 * on. What goes on behind a full window is the rest of a message; what is left of another one
 * becomes idle. Return: 0, or an error and the sink is off (the window's size is 0 then), or
 * -ENOSPC and nothing has changed
 */
static int ntrace_cpu_extend(struct ntrace_cpu *c)
{
	u64 end = c->done + c->window.size;
	int ret;

	if (c->handle.size < end + NTRACE_AUX_MIN_WINDOW)
		return -ENOSPC;
	if (c->copied && !ntrace_aux_bounce(&c->limits, c->handle.size, end,
					    c->path->sink->store.size, c->path->sink->store.fixed))
		return -ENOSPC;

	ret = ntrace_path_disable_downstream(c->path);
	if (ret)
		goto err;

	ret = ntrace_cpu_account_window(c);
	if (ret == -ENOSPC)
		c->lost |= !ntrace_cpu_lossless(c) || ntrace_ramsink_unsure(c->path->sink);
	else if (ret)
		goto err;
	if (!c->copied) {
		ntrace_buffer_fill_idle(c->buf, c->map, c->handle.head + c->done, end - c->done);
		c->done = end;
	}

	ret = ntrace_aux_next_window(c)	       ?:
		      ntrace_cpu_set_window(c) ?:
						 ntrace_path_enable_downstream(c->path);
	if (!ret)
		return 0;
err:
	c->window.size = 0;
	return ret;
}

/* Bytes that the sink still takes. One that keeps headroom always has enough. */
static u64 ntrace_cpu_room(const struct ntrace_cpu *c)
{
	if (c->path->sink->headroom)
		return c->path->sink->headroom;

	return c->window.size ? c->window.size - ntrace_ramsink_used(c->path->sink) : 0;
}

/*
 * Encoder off and empty, then sink off and empty. An encoder whose sink does not take any more may
 * keep what it has, or throw it away: so the sink gets room first. When there is none, the encoder
 * is emptied by a reset.
 */
static void ntrace_cpu_drain(struct ntrace_cpu *c)
{
	bool overflow = false;
	int ret;

	while (ntrace_cpu_room(c) < NTRACE_AUX_MIN_WINDOW)
		if (ntrace_cpu_extend(c))
			break;

	c->lost |= ntrace_encoder_fell(c->path->encoder, &overflow);
	do
		ret = ntrace_path_stop_encoder(c->path, &overflow);
	while (ret == -ENOSPC && !ntrace_cpu_extend(c));

	c->lost |= ret || (overflow && !ntrace_cpu_lossless(c));
	if (ret == -ENOSPC)
		ntrace_component_reset(&c->path->encoder->comp);
	if (!c->window.size || ntrace_path_disable_downstream(c->path) ||
	    ntrace_cpu_account_window(c))
		c->lost = true;
	c->window.size = 0;
	c->state = NTRACE_OFF;
}

/* Stop what runs, and publish it. */
static void ntrace_cpu_finish(struct ntrace_cpu *c)
{
	/* After a drain that failed to open the next transaction there is no buffer. */
	if (ntrace_path_is_shared(c->path)) {
		ntrace_shared_finish(c);
		return;
	}
	if (c->buf->ring) {
		ntrace_cpu_finish_ring(c);
		return;
	}

	ntrace_cpu_drain(c);
	ntrace_aux_close(c);
}

/*
 * Stop what waits. The encoder holds trace of what the hart did before it stalled: the reserve is
 * there for that.
 */
static void ntrace_cpu_finish_waiting(struct ntrace_cpu *c)
{
	struct ntrace_component *comp = &c->path->encoder->comp;
	int ret;

	ret = ntrace_aux_open(c);
	if (ntrace_path_is_shared(c->path)) {
		ntrace_shared_finish(c);
		return;
	}
	if (ret) {
		ntrace_component_reset(comp);
		c->state = NTRACE_OFF;
		return;
	}

	ret = ntrace_aux_next_window(c) ?:
	      ntrace_cpu_set_window(c) ?: ntrace_path_enable_downstream(c->path);
	if (ret) {
		ntrace_component_reset(comp);
		c->lost = true;
		c->state = NTRACE_OFF;
		ntrace_aux_close(c);
		return;
	}

	ntrace_cpu_finish(c);
}

static __always_inline void ntrace_cpu_stop(struct ntrace_cpu *c)
{
	if (c->state == NTRACE_RUNNING)
		ntrace_cpu_finish(c);
	else if (c->state == NTRACE_WAITING)
		ntrace_cpu_finish_waiting(c);
	else if (c->state == NTRACE_AWAY)
		ntrace_cpu_finish_away(c);
}

/* The timer */

static u64 ntrace_cpu_period(const struct ntrace_cpu *c)
{
	if (c->state == NTRACE_WAITING)
		return NTRACE_WAIT_PERIOD_NS;

	if (c->buf->ring)
		return ntrace_ring_period(&c->ring, &c->limits, &c->pace);
	if (ntrace_path_is_shared(c->path))
		return ntrace_aux_period(&c->limits, &c->pace, ntrace_shared_pending(c),
					 c->window.size);
	if (c->path->sink->overruns)
		return ntrace_aux_row_period(&c->limits, &c->pace, c->seen, c->window.size);

	return ntrace_aux_period(&c->limits, &c->pace, c->seen, c->window.size);
}

/*
 * The trace that is there goes to the reader, and tracing goes on. Return: 0 when running or
 * waiting, else an error and off
 */
static int ntrace_cpu_move(struct ntrace_cpu *c)
{
	/* The transaction of a shared sink can be replaced under way. */
	if (ntrace_path_is_shared(c->path)) {
		int ret = ntrace_shared_drain(c);

		if (ret == -EAGAIN)
			c->state = NTRACE_WAITING;
		if (!ret || ret == -EAGAIN)
			return 0;
	}

	ntrace_cpu_finish(c);

	return ntrace_cpu_run(c);
}

/* One look at the write pointer. Return: whether the window has to move */
static bool ntrace_cpu_look(struct ntrace_cpu *c)
{
	/* A circular area never moves, but a sink that writes elsewhere has to be stopped. */
	if (c->buf->ring)
		return !ntrace_ring_look(&c->ring, &c->pace) ||
		       ntrace_ring_ends(&c->ring, &c->limits);

	ntrace_cpu_see(c, ntrace_ramsink_used(c->path->sink));

	return ntrace_path_is_shared(c->path) ? ntrace_shared_due(c) :
						ntrace_aux_due(&c->limits, c->seen, c->window.size);
}

/*
 * The next look. It follows from when this one was meant to be, which costs no look at the clock,
 * unless the last one was so long ago, or nobody knows when, that many would be made up for.
 */
static void ntrace_cpu_forward(struct ntrace_cpu *c, u64 elapsed)
{
	u64 period = ntrace_cpu_period(c);

	if (elapsed && elapsed <= 2 * c->armed)
		hrtimer_add_expires_ns(&c->timer, period);
	else
		hrtimer_forward_now(&c->timer, ns_to_ktime(period));
	c->armed = period;
}

static enum hrtimer_restart ntrace_cpu_timer(struct hrtimer *timer)
{
	struct ntrace_cpu *c = container_of(timer, struct ntrace_cpu, timer);
	u64 last = c->seen_at;
	int ret = 0;

	if (c->state == NTRACE_OFF || c->state == NTRACE_AWAY)
		return HRTIMER_NORESTART;

	if (c->state == NTRACE_RUNNING && ntrace_cpu_look(c)) {
		ret = ntrace_cpu_move(c);
	} else if (c->state == NTRACE_WAITING) {
		ret = ntrace_cpu_run(c);
		if (ret)
			ntrace_cpu_stop(c);
	}

	if (ret) {
		c->event->hw.state |= PERF_HES_STOPPED;
		return HRTIMER_NORESTART;
	}

	ntrace_cpu_forward(c, ntrace_clock_ns(c->seen_at - last));

	return HRTIMER_RESTART;
}

/*
 * See to it that the timer fires in time. One that was started before, for no longer a time, does:
 * it looks early, which costs less than starting it at every context switch.
 */
static void ntrace_cpu_arm(struct ntrace_cpu *c)
{
	u64 period = ntrace_cpu_period(c);

	if (hrtimer_is_queued(&c->timer) && c->armed <= period)
		return;

	c->armed = period;
	hrtimer_start(&c->timer, ns_to_ktime(period), HRTIMER_MODE_REL_PINNED_HARD);
}

/*
 * Another event of the group wants trace to pause, or to go on: the transaction stays open. An
 * encoder that is off learns of it when it is switched on.
 */
static void ntrace_cpu_pause(struct ntrace_cpu *c, struct perf_event *event, bool paused)
{
	if (c->event == event && c->state != NTRACE_OFF)
		ntrace_encoder_pause(c->path->encoder, paused);
}

/*
 * Before the first start since components of this CPU may have slept, or gone. Return: whether they
 * can be used
 */
static bool ntrace_cpu_awake(struct ntrace_cpu *c)
{
	if (READ_ONCE(c->path->gone))
		return false;

	ntrace_path_wake(c->path);
	c->awoke = false;

	return true;
}

/* The event that the CPU has, from now on */
static void ntrace_cpu_start(struct ntrace_cpu *c, const struct ntrace_event_cpu *on)
{
	struct perf_event *event = c->event;
	struct ntrace_event *ev = to_ntrace_event(event);
	int ret;

	if (c->asleep) {
		c->resume = true;
		return;
	}
	if (c->awoke && !ntrace_cpu_awake(c)) {
		event->hw.state |= PERF_HES_STOPPED;
		return;
	}

	event->hw.state = 0;
	c->path->encoder->paused = ntrace_aux_paused(event);
	if (ev->context)
		ntrace_context_write_current();

	ret = ntrace_encoder_configure(c->path->encoder, &on->config, ntrace_addr_ranges(event)) ?:
	      ntrace_cpu_run(c);
	if (ret) {
		event->hw.state |= PERF_HES_STOPPED;
		return;
	}

	if (c->state != NTRACE_AWAY)
		ntrace_cpu_arm(c);
}

/* perf callbacks */

/**
 * ntrace_run_start - switch the encoder on
 * @event:	perf's event
 * @flags:	PERF_EF_
 */
void ntrace_run_start(struct perf_event *event, int flags)
{
	struct ntrace_cpu *c = this_cpu_ptr(&ntrace_cpus);

	if (flags & PERF_EF_RESUME)
		ntrace_cpu_pause(c, event, false);
	else if (c->event == event)
		ntrace_cpu_start(c, ntrace_event_cpu(event, smp_processor_id()));
}

/**
 * ntrace_run_stop - switch the encoder off and publish what it had
 * @event:	perf's event
 * @flags:	PERF_EF_
 */
void ntrace_run_stop(struct perf_event *event, int flags)
{
	struct ntrace_cpu *c = this_cpu_ptr(&ntrace_cpus);

	if (flags & PERF_EF_PAUSE) {
		ntrace_cpu_pause(c, event, true);
		return;
	}
	if (c->event == event)
		c->resume = false;
	if (event->hw.state & PERF_HES_STOPPED)
		return;

	/* The timer is left alone: likely a next event starts before it fires. */
	ntrace_cpu_stop(c);
	event->hw.state |= PERF_HES_STOPPED | PERF_HES_UPTODATE;
}

/**
 * ntrace_run_add - give an event the encoder of this CPU
 * @event:	perf's event
 * @flags:	PERF_EF_
 */
int ntrace_run_add(struct perf_event *event, int flags)
{
	struct ntrace_cpu *c = this_cpu_ptr(&ntrace_cpus);
	struct ntrace_event_cpu *on = ntrace_event_cpu(event, smp_processor_id());

	if (!on->path || READ_ONCE(on->path->gone) || !c->online)
		return -ENODEV;
	/* The CPU was offline when the event was opened, so nobody knew. */
	if (to_ntrace_event(event)->context && !c->scontext)
		return -ENODEV;
	if (c->event)
		return -EBUSY;

	c->event = event;
	c->path = on->path;
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	if (flags & PERF_EF_START)
		ntrace_cpu_start(c, on);

	return 0;
}

/**
 * ntrace_run_del - take it back
 * @event:	perf's event
 * @flags:	PERF_EF_
 */
void ntrace_run_del(struct perf_event *event, int flags)
{
	struct ntrace_cpu *c = this_cpu_ptr(&ntrace_cpus);

	ntrace_run_stop(event, PERF_EF_UPDATE);
	if (c->event == event)
		c->event = NULL;
}

/**
 * ntrace_run_sample - the last bytes of trace, for a sample of another event
 * @event:	perf's event, whose AUX area is circular
 * @handle:	of the sample
 * @size:	how many bytes
 *
 * Called with interrupts off, in a handler of one. The encoder is emptied for it, which is a wait
 * with an end. Return: how many bytes there are
 */
long ntrace_run_sample(struct perf_event *event, struct perf_output_handle *handle,
		       unsigned long size)
{
	struct ntrace_cpu *c = this_cpu_ptr(&ntrace_cpus);
	long ret;

	if (c->event != event || c->state != NTRACE_RUNNING || !c->buf->ring)
		return ntrace_sample_idle(handle, size);

	ntrace_cpu_drain_ring(c);
	ret = ntrace_sample_copy(&c->handle, handle, c->ring.head, size);
	if (!ntrace_ring_aim(&c->ring, &c->limits) && !ntrace_path_enable(c->path))
		return ret;

	/* A component has failed: it said so. What is there so far is not lost. */
	hrtimer_try_to_cancel(&c->timer);
	c->state = NTRACE_OFF;
	event->hw.state |= PERF_HES_STOPPED | PERF_HES_UPTODATE;
	perf_aux_output_flag(&c->handle, PERF_AUX_FLAG_PARTIAL);
	c->handle.head = c->ring.head;
	perf_aux_output_end(&c->handle, ntrace_ring_new(&c->ring));

	return ret;
}

/* Components that go */

/* Trace ends here, though there is room for more. */
static void ntrace_aux_break(struct ntrace_cpu *c)
{
	if (!perf_aux_output_begin(&c->handle, c->event))
		return;

	perf_aux_output_flag(&c->handle, PERF_AUX_FLAG_PARTIAL);
	perf_aux_output_end(&c->handle, 0);
}

static void ntrace_run_evict_here(void *unused)
{
	struct ntrace_cpu *c = this_cpu_ptr(&ntrace_cpus);
	struct perf_event *event = c->event;

	/* Whatever wants to start looks twice. */
	c->awoke = true;
	if (!event || !READ_ONCE(c->path->gone))
		return;

	ntrace_run_stop(event, PERF_EF_UPDATE);
	if (c->path->sink)
		ntrace_aux_break(c);
	/* On other CPUs a task may be traced still. */
	if (ntrace_event_is_lost(event)) {
		event->pending_disable = 1;
		irq_work_queue(&event->pending_disable_irq);
	}
}

/**
 * ntrace_run_evict - stop what runs on paths that are gone
 *
 * What was traced so far is published; the last AUX record has a flag. Nothing starts there again.
 */
void ntrace_run_evict(void)
{
	on_each_cpu(ntrace_run_evict_here, NULL, 1);
}

/* CPUs that sleep, that come and go */

/**
 * ntrace_run_sleep - stop what runs on this CPU, for a while
 * @why: NTRACE_ASLEEP_
 *
 * Called with interrupts off.
 */
static void ntrace_run_sleep(unsigned int why)
{
	struct ntrace_cpu *c = this_cpu_ptr(&ntrace_cpus);
	bool resume = c->resume;

	if (c->event && !(c->event->hw.state & PERF_HES_STOPPED)) {
		ntrace_run_stop(c->event, PERF_EF_UPDATE);
		resume = true;
	}
	c->resume = resume;
	c->asleep |= why;
}

/**
 * ntrace_run_wake - go on
 * @why: NTRACE_ASLEEP_
 *
 * Called with interrupts off.
 */
static void ntrace_run_wake(unsigned int why)
{
	struct ntrace_cpu *c = this_cpu_ptr(&ntrace_cpus);

	c->asleep &= ~why;
	c->awoke = true;
	if (c->asleep || !c->resume)
		return;

	c->resume = false;
	ntrace_run_start(c->event, PERF_EF_RELOAD);
}

static void ntrace_run_suspend_here(void *unused)
{
	ntrace_run_sleep(NTRACE_ASLEEP_SYSTEM);
}

static void ntrace_run_resume_here(void *unused)
{
	ntrace_run_wake(NTRACE_ASLEEP_SYSTEM);
}

/**
 * ntrace_run_suspend - stop what runs on all CPUs, or go on
 * @suspended: which of both
 *
 * Both hold for CPUs that are offline, too: they look when they come back.
 */
static void ntrace_run_suspend(bool suspended)
{
	guard(cpus_read_lock)();
	WRITE_ONCE(ntrace_suspended, suspended);
	on_each_cpu(suspended ? ntrace_run_suspend_here : ntrace_run_resume_here, NULL, 1);
}

/*
 * Power management. A hart in a deep idle state, or a system that is suspended, may take the state
 * of trace components with it. So tracing stops before, publishing what there is, and begins anew
 * afterwards, with components that are reset if they forgot what they were.
 */

/* The hart's own: with interrupts off, on that hart */
static int ntrace_pm_idle(struct notifier_block *nb, unsigned long action, void *data)
{
	switch (action) {
	case CPU_PM_ENTER:
		ntrace_run_sleep(NTRACE_ASLEEP_IDLE);
		break;
	case CPU_PM_ENTER_FAILED:
	case CPU_PM_EXIT:
		ntrace_run_wake(NTRACE_ASLEEP_IDLE);
		break;
	}

	return NOTIFY_OK;
}

static struct notifier_block ntrace_pm_idle_block = {
	.notifier_call = ntrace_pm_idle,
};

/* Before tasks are frozen, and after they are thawed */
static int ntrace_pm_system(struct notifier_block *nb, unsigned long action, void *data)
{
	switch (action) {
	case PM_SUSPEND_PREPARE:
	case PM_HIBERNATION_PREPARE:
		ntrace_run_suspend(true);
		break;
	case PM_POST_SUSPEND:
	case PM_POST_HIBERNATION:
		ntrace_run_suspend(false);
		break;
	}

	return NOTIFY_OK;
}

static struct notifier_block ntrace_pm_system_block = {
	.notifier_call = ntrace_pm_system,
};

/**
 * ntrace_pm_register - be told from now on
 */
int ntrace_pm_register(void)
{
	int ret;

	ret = cpu_pm_register_notifier(&ntrace_pm_idle_block);
	if (ret)
		return ret;

	ret = register_pm_notifier(&ntrace_pm_system_block);
	if (ret)
		cpu_pm_unregister_notifier(&ntrace_pm_idle_block);

	return ret;
}

/**
 * ntrace_pm_unregister - no longer
 */
void ntrace_pm_unregister(void)
{
	unregister_pm_notifier(&ntrace_pm_system_block);
	cpu_pm_unregister_notifier(&ntrace_pm_idle_block);
}

/**
 * ntrace_run_cpu_online - events may run on this CPU from now on
 * @cpu: it
 */
int ntrace_run_cpu_online(unsigned int cpu)
{
	struct ntrace_cpu *c = this_cpu_ptr(&ntrace_cpus);

	c->scontext = ntrace_context_cpu_online(cpu);
	c->online = true;
	c->awoke = true;
	c->asleep = READ_ONCE(ntrace_suspended) ? NTRACE_ASLEEP_SYSTEM : 0;

	return 0;
}

/**
 * ntrace_run_cpu_offline - stop what runs on this CPU
 * @cpu: it
 *
 * perf takes its events off the CPU later than this; they find nothing to do then.
 */
int ntrace_run_cpu_offline(unsigned int cpu)
{
	struct ntrace_cpu *c = this_cpu_ptr(&ntrace_cpus);

	scoped_guard(irqsave) {
		c->online = false;
		if (c->event)
			ntrace_run_stop(c->event, PERF_EF_UPDATE);
	}
	hrtimer_cancel(&c->timer);

	return 0;
}

/**
 * ntrace_run_init - get every CPU's part ready
 */
void ntrace_run_init(void)
{
	int cpu;

	ntrace_clock_init();
	for_each_possible_cpu(cpu)
		hrtimer_setup(&per_cpu(ntrace_cpus, cpu).timer, ntrace_cpu_timer, CLOCK_MONOTONIC,
			      HRTIMER_MODE_REL_PINNED_HARD);
}
