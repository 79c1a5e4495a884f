// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tracing on a CPU. While an event runs, a perf AUX transaction is open, and the sink writes into a
 * window. The window is a part of the AUX area, or of a bounce buffer from which the driver copies
 * the trace. A timer on the same CPU switches the window before it is full.
 */
#include <linux/cleanup.h>
#include <linux/cpu.h>
#include <linux/cpu_pm.h>
#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>
#include <linux/hrtimer.h>
#include <linux/irqflags.h>
#include <linux/notifier.h>
#include <linux/smp.h>
#include <linux/suspend.h>

#include "ntrace_compat.h"
#include "ntrace_pmu.h"

/* Period of polls for room in a full area */
#define NTRACE_WAIT_PERIOD_NS	(500 * NSEC_PER_USEC)

/* Why tracing is suspended on a CPU */
#define NTRACE_ASLEEP_IDLE	BIT(0)
#define NTRACE_ASLEEP_SYSTEM	BIT(1)

static DEFINE_PER_CPU(struct ntrace_cpu, ntrace_cpus);

/* The system is suspended, also for CPUs that come online only later. */
static bool ntrace_suspended;

u64 ntrace_clock_mult __read_mostly;

/* A component failed and nothing will be traced: tell the reader. */
static void ntrace_cpu_fail(struct ntrace_cpu *c)
{
	perf_aux_output_flag(&c->handle, PERF_AUX_FLAG_PARTIAL);
	perf_aux_output_end(&c->handle, c->done);
}

/*
 * The area has no room. Report this once, with the encoder off, and poll until there is room.
 * perf's core would disable the event, and the reader would have to enable it again. But a reader
 * on another CPU may enable it before it is disabled, and then nothing would ever wake the reader
 * again.
 */
static void ntrace_cpu_full(struct ntrace_cpu *c)
{
	struct ntrace_event *ev = to_ntrace_event(c->event);

	if (!ev->full) {
		if (perf_get_aux(&c->handle))
			perf_aux_output_flag(&c->handle, PERF_AUX_FLAG_TRUNCATED);
		else
			ev->untold = true;
		ev->full = true;
	}
	if (c->state != NTRACE_OFF)
		c->ops->finish(c);
	else
		ntrace_buffer_close(c);
	c->full = true;
	c->resumed = false;
}

/* Running */

static void ntrace_cpu_write_hw_id(struct ntrace_cpu *c)
{
	struct perf_event *event = c->event->parent ?: c->event;
	struct ntrace_encoder *enc = c->path->encoder;
	s64 lost = atomic64_read(&event->lost_samples);

	perf_report_aux_output_id(event, ntrace_config_to_hw_id(&enc->config, enc,
								ntrace_path_is_shared(c->path)));
	/* If the record did not fit, perf's core has counted it as lost: try again next time. */
	if (atomic64_read(&event->lost_samples) == lost)
		cpumask_set_cpu(smp_processor_id(), &to_ntrace_event(event)->reported);
}

static void ntrace_cpu_report_hw_id(struct ntrace_cpu *c)
{
	if (!cpumask_test_cpu(smp_processor_id(), &to_ntrace_event(c->event)->reported))
		ntrace_cpu_write_hw_id(c);
}

/* Paths that end in a bridge: there is no transaction and no window, and perf gets no trace. */

static int ntrace_cpu_enable_away(struct ntrace_cpu *c)
{
	return ntrace_path_enable(c->path);
}

static void ntrace_cpu_finish_away(struct ntrace_cpu *c)
{
	bool overflow = false;

	ntrace_encoder_fell(c->path->encoder, &overflow);
	ntrace_path_stop_encoder(c->path, &overflow);
	ntrace_path_disable_downstream(c->path);
	c->state = NTRACE_OFF;
}

static const struct ntrace_window_ops ntrace_cpu_away = {
	.enable	= ntrace_cpu_enable_away,
	.finish	= ntrace_cpu_finish_away,
};

static const struct ntrace_window_ops *ntrace_cpu_ops(const struct ntrace_cpu *c)
{
	if (c->buf->ring)
		return &ntrace_window_circular;
	if (c->map->addr)
		return &ntrace_window_direct;

	return c->path->sink->shared ? &ntrace_shared_ops : &ntrace_window_copied;
}

/* The area is full. If it has room for a flush, the hart may wait; otherwise switch off. */
static int ntrace_cpu_wait(struct ntrace_cpu *c)
{
	int ret = 0;

	if (!ntrace_cpu_patient(c) || c->handle.size < NTRACE_AUX_MIN_WINDOW) {
		ntrace_cpu_full(c);
		return 0;
	}

	if (c->state == NTRACE_OFF)
		ret = c->ops->wait(c);
	if (!ret)
		c->state = NTRACE_WAITING;
	perf_aux_output_end(&c->handle, 0);

	return ret;
}

/* Start in an open transaction. Return: as ntrace_cpu_run() */
static int ntrace_cpu_run_open(struct ntrace_cpu *c)
{
	int ret;

	c->ops = ntrace_cpu_ops(c);
	if (!ntrace_window_resume(c) && c->ops->begin(c))
		return ntrace_cpu_wait(c);

	ntrace_cpu_report_hw_id(c);
	ret = c->resumed ? ntrace_path_enable_encoder(c->path) : c->ops->enable(c);
	if (ret) {
		ntrace_cpu_fail(c);
		return ret;
	}
	c->state = NTRACE_RUNNING;
	to_ntrace_event(c->event)->full = false;

	return 0;
}

/* Open a transaction. If trace was lost while there was no room to report it, do so first. */
static int ntrace_cpu_open(struct ntrace_cpu *c)
{
	struct ntrace_event *ev = to_ntrace_event(c->event);
	int ret = ntrace_buffer_open(c);

	if (ret || !ev->untold)
		return ret;

	ev->untold = false;
	perf_aux_output_flag(&c->handle, PERF_AUX_FLAG_TRUNCATED);
	ntrace_buffer_close(c);

	return ntrace_buffer_open(c);
}

/*
 * Open a transaction and start tracing, or continue after a wait. Return: 0 when running, waiting,
 * or off because there is no room; else an error, and tracing is off
 */
static int ntrace_cpu_run(struct ntrace_cpu *c)
{
	int ret;

	c->full = false;
	if (c->path->sink) {
		ret = ntrace_cpu_open(c);
		if (!ret)
			return ntrace_cpu_run_open(c);
		if (ret != -ENOSPC)
			return ret;
		ntrace_cpu_full(c);
		return 0;
	}

	ntrace_path_let_go();
	c->ops = &ntrace_cpu_away;
	ret = c->ops->enable(c);
	if (!ret)
		c->state = NTRACE_RUNNING;

	return ret;
}

/*
 * While the hart waits there is no transaction: open one for finish(). If that fails, c->buf is
 * NULL and nothing is copied.
 */
static __always_inline void ntrace_cpu_finish(struct ntrace_cpu *c)
{
	c->full = false;
	if (c->state == NTRACE_WAITING)
		ntrace_buffer_open(c);
	if (c->state != NTRACE_OFF)
		c->ops->finish(c);
}

/* The timer */

static u64 ntrace_cpu_period(const struct ntrace_cpu *c)
{
	return c->full || c->state == NTRACE_WAITING ? NTRACE_WAIT_PERIOD_NS : c->ops->period(c);
}

/*
 * Publish the trace so far, and continue in a new transaction. Return: as ntrace_cpu_run()
 */
static int ntrace_cpu_move(struct ntrace_cpu *c)
{
	int ret = c->ops->move ? c->ops->move(c) : -EOPNOTSUPP;

	if (ret == -EAGAIN)
		c->state = NTRACE_WAITING;
	if (!ret || ret == -EAGAIN)
		return 0;

	c->ops->finish(c);

	return ntrace_cpu_run(c);
}

/*
 * Set the timer for the next poll. Count from the expiry of this one, which avoids reading the
 * clock. But if this poll came very late, or the time of the last one is unknown, count from now,
 * so that no missed polls are made up for.
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

	if ((c->state == NTRACE_OFF && !c->full) || !c->path->sink)
		return HRTIMER_NORESTART;

	if (c->state == NTRACE_RUNNING && c->ops->look(c)) {
		ret = ntrace_cpu_move(c);
	} else if (c->full || c->state == NTRACE_WAITING) {
		ret = ntrace_cpu_run(c);
		if (ret)
			ntrace_cpu_finish(c);
	}

	if (ret) {
		c->event->hw.state |= PERF_HES_STOPPED;
		return HRTIMER_NORESTART;
	}

	ntrace_cpu_forward(c, ntrace_clock_ns(c->seen_at - last));

	return HRTIMER_RESTART;
}

/*
 * Make sure that the timer fires in time. A queued timer is kept if its period was not longer, or
 * if the window is the same: an early poll costs less than starting the timer at every context
 * switch.
 */
static void ntrace_cpu_arm(struct ntrace_cpu *c)
{
	u64 period;

	if (c->resumed && hrtimer_is_queued(&c->timer))
		return;

	period = ntrace_cpu_period(c);
	if (hrtimer_is_queued(&c->timer) && c->armed <= period)
		return;

	c->armed = period;
	hrtimer_start(&c->timer, ns_to_ktime(period), HRTIMER_MODE_REL_PINNED_HARD);
}

/*
 * Pause or resume tracing for another event of the group. The transaction stays open. If the
 * encoder is off because the area is full, the pause takes effect when it is switched on.
 */
static void ntrace_cpu_pause(struct ntrace_cpu *c, struct perf_event *event, bool paused)
{
	if (c->event == event)
		ntrace_encoder_pause(c->path->encoder, paused);
}

/*
 * Components of this CPU may have lost their state or may be unbound since the last start. Return:
 * whether the path can be used
 */
static bool ntrace_cpu_awake(struct ntrace_cpu *c)
{
	if (READ_ONCE(c->path->gone))
		return false;

	ntrace_path_wake(c->path);
	c->path->woken = c->wakes;

	return true;
}

/* Report a gap in the trace that is not due to a full area. */
static void ntrace_cpu_break(struct ntrace_cpu *c)
{
	int ret = ntrace_buffer_open(c);

	if (ret == -ENOSPC)
		to_ntrace_event(c->event)->untold = true;
	c->lost = true;
	if (!ret)
		ntrace_buffer_close(c);
}

/* Start the event of this CPU */
static void ntrace_cpu_start_on(struct ntrace_cpu *c, const struct ntrace_event_cpu *on)
{
	struct perf_event *event = c->event;
	struct ntrace_event *ev = to_ntrace_event(event);
	int ret;

	if (!c->online)
		return;
	if (c->asleep) {
		c->resume = true;
		return;
	}
	if (c->path->woken != c->wakes && !ntrace_cpu_awake(c)) {
		event->hw.state |= PERF_HES_STOPPED;
		return;
	}

	event->hw.state = 0;
	c->path->encoder->paused = ntrace_aux_paused(event);
	if (ev->context)
		ntrace_context_write_current();

	ret = ntrace_encoder_configure(c->path->encoder, &on->config, ntrace_addr_ranges(event));
	if (ret && c->path->sink)
		ntrace_cpu_break(c);
	ret = ret ?: ntrace_cpu_run(c);
	if (ret) {
		event->hw.state |= PERF_HES_STOPPED;
		return;
	}

	if (c->path->sink)
		ntrace_cpu_arm(c);
}

/* perf callbacks */

/* perf's start: switch the encoder on, or resume */
void ntrace_cpu_start(struct perf_event *event, int flags)
{
	struct ntrace_cpu *c = this_cpu_ptr(&ntrace_cpus);

	if (flags & PERF_EF_RESUME)
		ntrace_cpu_pause(c, event, false);
	/* perf unthrottles an event even if a new mapping has started it meanwhile. */
	else if (c->event == event && event->hw.state & PERF_HES_STOPPED)
		ntrace_cpu_start_on(c, ntrace_event_cpu(event, smp_processor_id()));
}

/* Inline, as this runs at every context switch */
static __always_inline void __ntrace_cpu_stop(struct ntrace_cpu *c, struct perf_event *event,
					      int flags)
{
	if (flags & PERF_EF_PAUSE) {
		ntrace_cpu_pause(c, event, true);
		return;
	}
	if (c->event == event)
		c->resume = false;
	if (event->hw.state & PERF_HES_STOPPED)
		return;

	/*
	 * Without PERF_EF_UPDATE the event is throttled with its group: only this reports the gap.
	 */
	if (c->state == NTRACE_RUNNING && !(flags & PERF_EF_UPDATE))
		c->lost = true;
	/* Do not cancel the timer: the next event probably starts before it fires. */
	ntrace_cpu_finish(c);
	event->hw.state |= PERF_HES_STOPPED | PERF_HES_UPTODATE;
}

/* Switch the encoder off and publish its trace, or pause */
void ntrace_cpu_stop(struct perf_event *event, int flags)
{
	__ntrace_cpu_stop(this_cpu_ptr(&ntrace_cpus), event, flags);
}

/* Assign the encoder of this CPU to an event */
int ntrace_cpu_add(struct perf_event *event, int flags)
{
	struct ntrace_cpu *c = this_cpu_ptr(&ntrace_cpus);
	struct ntrace_event_cpu *on = ntrace_event_cpu(event, smp_processor_id());

	if (!on->path || READ_ONCE(on->path->gone) || !c->online)
		return -ENODEV;
	/* The CPU was offline when the event was opened, see ntrace_context_cpu_online(). */
	if (to_ntrace_event(event)->context && !c->scontext)
		return -ENODEV;
	if (c->event)
		return -EBUSY;

	c->event = event;
	c->path = on->path;
	/*
	 * When one thread of a program follows another one, perf may swap their contexts and leave
	 * the events running. An encoder that counts calls has to be off in between. perf does not
	 * swap a pinned context. The context is locked now.
	 */
	c->pinned = ntrace_config_counts_calls(&on->config);
	if (c->pinned)
		event->ctx->pin_count++;
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	if (flags & PERF_EF_START)
		ntrace_cpu_start_on(c, on);

	return 0;
}

void ntrace_cpu_del(struct perf_event *event, int flags)
{
	struct ntrace_cpu *c = this_cpu_ptr(&ntrace_cpus);

	__ntrace_cpu_stop(c, event, PERF_EF_UPDATE);
	if (c->event != event)
		return;
	if (c->pinned)
		event->ctx->pin_count--;
	c->event = NULL;
}

/*
 * There is no trace. perf's core has reserved @size bytes: fill them, so that none stay undefined.
 * Return: bytes written
 */
static long ntrace_cpu_sample_idle(struct perf_output_handle *handle, unsigned long size)
{
	static const u8 idle[64] = { [0 ... 63] = 0xff };
	unsigned long left, n;

	for (left = size; left; left -= n) {
		n = min(left, sizeof(idle));
		if (ntrace_output_copy(handle, idle, n))
			break;
	}

	return size - left;
}

/*
 * Copy the last bytes of trace of an event with a circular AUX area into a sample of another event.
 * Called with interrupts off, in an interrupt handler. This waits, for a limited time, until the
 * encoder is empty. Return: the number of bytes
 */
long ntrace_cpu_sample(struct perf_event *event, struct perf_output_handle *handle,
		       unsigned long size)
{
	struct ntrace_cpu *c = this_cpu_ptr(&ntrace_cpus);
	long ret;

	if (c->event != event || c->state != NTRACE_RUNNING || c->ops != &ntrace_window_circular)
		return ntrace_cpu_sample_idle(handle, size);

	/* If a tracepoint of the same group fires in between, it must find nothing to sample. */
	c->state = NTRACE_OFF;
	ntrace_window_drain_ring(c);
	ret = ntrace_output_copy_aux(&c->handle, handle, c->ring.head - size, c->ring.head);
	if (!c->ops->enable(c)) {
		c->state = NTRACE_RUNNING;
		return ret;
	}

	/*
	 * A component has failed and was reported. The trace so far is not lost. Do not cancel the
	 * timer, it ends by itself: the sampled event may be in the middle of starting a timer.
	 */
	event->hw.state |= PERF_HES_STOPPED | PERF_HES_UPTODATE;
	c->lost = true;
	ntrace_window_close_ring(c);

	return ret;
}

/* Components that are unbound */

static void ntrace_cpu_evict_here(void *unused)
{
	struct ntrace_cpu *c = this_cpu_ptr(&ntrace_cpus);
	struct perf_event *event = c->event;

	/* The next start checks its path again, see ntrace_cpu_awake(). */
	c->wakes++;
	ntrace_path_let_go();
	if (!event || !READ_ONCE(c->path->gone))
		return;

	ntrace_cpu_stop(event, PERF_EF_UPDATE);
	if (c->path->sink)
		ntrace_cpu_break(c);
	/* Disable the event only if no other CPU can trace it. */
	if (ntrace_event_is_lost(event)) {
		event->pending_disable = 1;
		irq_work_queue(&event->pending_disable_irq);
	}
}

/*
 * Stop events on paths that are gone. Their trace so far is published, and the last AUX record has
 * a flag. No event starts on these paths again.
 */
void ntrace_cpu_evict(void)
{
	on_each_cpu(ntrace_cpu_evict_here, NULL, 1);
}

/* Idle, suspend and hotplug */

/* Suspend tracing on this CPU. Called with interrupts off. */
static void ntrace_cpu_sleep(unsigned int why)
{
	struct ntrace_cpu *c = this_cpu_ptr(&ntrace_cpus);
	bool resume = c->resume;

	if (c->event && !(c->event->hw.state & PERF_HES_STOPPED)) {
		ntrace_cpu_stop(c->event, PERF_EF_UPDATE);
		resume = true;
	}
	ntrace_path_let_go();
	c->resume = resume;
	c->asleep |= why;
}

/* Resume tracing on this CPU. Called with interrupts off. */
static void ntrace_cpu_wake(unsigned int why)
{
	struct ntrace_cpu *c = this_cpu_ptr(&ntrace_cpus);

	c->asleep &= ~why;
	c->wakes++;
	if (c->asleep || !c->resume)
		return;

	c->resume = false;
	ntrace_cpu_start(c->event, PERF_EF_RELOAD);
}

static void ntrace_cpu_suspend_here(void *unused)
{
	if (READ_ONCE(ntrace_suspended))
		ntrace_cpu_sleep(NTRACE_ASLEEP_SYSTEM);
	else
		ntrace_cpu_wake(NTRACE_ASLEEP_SYSTEM);
}

/*
 * Suspend or resume tracing on all CPUs. Offline CPUs check ntrace_suspended when they come online.
 */
static void ntrace_cpu_suspend(bool suspended)
{
	guard(cpus_read_lock)();
	WRITE_ONCE(ntrace_suspended, suspended);
	on_each_cpu(ntrace_cpu_suspend_here, NULL, 1);
}

/*
 * Trace components may lose their state when a hart enters a deep idle state, or when the system is
 * suspended. So tracing stops before, and publishes its trace. It starts again afterwards. Then the
 * driver resets components that have lost their state.
 */

/* Called on the hart that enters or leaves an idle state, with interrupts off */
static int ntrace_cpu_idle(struct notifier_block *nb, unsigned long action, void *data)
{
	switch (action) {
	case CPU_PM_ENTER:
		ntrace_cpu_sleep(NTRACE_ASLEEP_IDLE);
		break;
	case CPU_PM_ENTER_FAILED:
	case CPU_PM_EXIT:
		ntrace_cpu_wake(NTRACE_ASLEEP_IDLE);
		break;
	}

	return NOTIFY_OK;
}

static struct notifier_block ntrace_cpu_idle_block = {
	.notifier_call = ntrace_cpu_idle,
};

/* Called before tasks are frozen, and after they are thawed */
static int ntrace_cpu_system(struct notifier_block *nb, unsigned long action, void *data)
{
	switch (action) {
	case PM_SUSPEND_PREPARE:
	case PM_HIBERNATION_PREPARE:
	case PM_RESTORE_PREPARE:
		ntrace_cpu_suspend(true);
		break;
	case PM_POST_SUSPEND:
	case PM_POST_HIBERNATION:
	case PM_POST_RESTORE:
		ntrace_cpu_suspend(false);
		break;
	}

	return NOTIFY_OK;
}

static struct notifier_block ntrace_cpu_system_block = {
	.notifier_call = ntrace_cpu_system,
};

static int ntrace_cpu_online(unsigned int cpu)
{
	struct ntrace_cpu *c = this_cpu_ptr(&ntrace_cpus);

	c->scontext = ntrace_context_cpu_online(cpu);
	c->online = true;
	c->wakes++;
	c->asleep = READ_ONCE(ntrace_suspended) ? NTRACE_ASLEEP_SYSTEM : 0;

	return 0;
}

/* perf removes its events from the CPU only later, when there is nothing left to do. */
static int ntrace_cpu_offline(unsigned int cpu)
{
	struct ntrace_cpu *c = this_cpu_ptr(&ntrace_cpus);

	scoped_guard(irqsave) {
		c->online = false;
		if (c->event)
			ntrace_cpu_stop(c->event, PERF_EF_UPDATE);
		ntrace_path_let_go();
	}
	hrtimer_cancel(&c->timer);

	return 0;
}

static enum cpuhp_state ntrace_cpuhp_state;

int ntrace_cpu_init(void)
{
	int cpu, ret;

	ntrace_clock_init();
	for_each_possible_cpu(cpu)
		hrtimer_setup(&per_cpu(ntrace_cpus, cpu).timer, ntrace_cpu_timer, CLOCK_MONOTONIC,
			      HRTIMER_MODE_REL_PINNED_HARD);

	ret = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "perf/ntrace:online", ntrace_cpu_online,
				ntrace_cpu_offline);
	if (ret < 0)
		return ret;
	ntrace_cpuhp_state = ret;

	ret = cpu_pm_register_notifier(&ntrace_cpu_idle_block);
	if (ret)
		goto err_cpuhp;
	ret = register_pm_notifier(&ntrace_cpu_system_block);
	if (ret)
		goto err_idle;

	return 0;

err_idle:
	cpu_pm_unregister_notifier(&ntrace_cpu_idle_block);
err_cpuhp:
	cpuhp_remove_state(ntrace_cpuhp_state);
	return ret;
}

/* All events and components are gone. */
void ntrace_cpu_exit(void)
{
	unregister_pm_notifier(&ntrace_cpu_system_block);
	cpu_pm_unregister_notifier(&ntrace_cpu_idle_block);
	cpuhp_remove_state(ntrace_cpuhp_state);
}
