// SPDX-License-Identifier: GPL-2.0-only
/*
 * A CPU that traces. While an event runs, a perf AUX transaction is open and the sink writes into a
 * window: of the AUX area itself, where nothing is copied then, or of a store from which it is
 * copied when the window is done. A timer on the same CPU moves the window on before it is full.
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

/* How often the driver looks for room in a full area */
#define NTRACE_WAIT_PERIOD_NS	(500 * NSEC_PER_USEC)

/* Why tracing sleeps on a CPU */
#define NTRACE_ASLEEP_IDLE	BIT(0)
#define NTRACE_ASLEEP_SYSTEM	BIT(1)

static DEFINE_PER_CPU(struct ntrace_cpu, ntrace_cpus);

/* The system is suspended. A CPU may come back after that, or never. */
static bool ntrace_suspended;

u64 ntrace_clock_mult __read_mostly;

/* A component does not do as told, so nothing will be traced: the reader has to know. */
static void ntrace_cpu_fail(struct ntrace_cpu *c)
{
	perf_aux_output_flag(&c->handle, PERF_AUX_FLAG_PARTIAL);
	perf_aux_output_end(&c->handle, c->done);
}

/*
 * The area has no room. Say so once, with the encoder off, and look for room until there is some.
 * The core would disable the event and leave it to the reader to enable it. A reader on another CPU
 * may do that before the event is disabled, and nothing would ever wake that reader again.
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
	/* The core only counts records that find no room: the next transaction tries again. */
	if (atomic64_read(&event->lost_samples) == lost)
		cpumask_set_cpu(smp_processor_id(), &to_ntrace_event(event)->reported);
}

static void ntrace_cpu_report_hw_id(struct ntrace_cpu *c)
{
	if (!cpumask_test_cpu(smp_processor_id(), &to_ntrace_event(c->event)->reported))
		ntrace_cpu_write_hw_id(c);
}

/* Trace that leaves over a bridge: nothing to open, nothing to move, none of it comes to perf. */

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

/* The area is full, but may have room for a flush. */
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

/* In a transaction that is open. Return: as ntrace_cpu_run() */
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

/* Open a transaction, behind a record of what was lost while none could be opened. */
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
 * Open a transaction and start, or go on after waiting. Return: 0 when running, waiting or off for
 * want of room, else an error and off
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

/* What waits has no transaction; one that cannot be opened leaves no buffer. */
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
 * The trace that is there goes to the reader, and tracing goes on. Return: as ntrace_cpu_run()
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
 * See to it that the timer fires in time. One that was started before does, if it was for no longer
 * a time or for the same window: it looks early, which costs less than starting it at every context
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
 * Another event of the group wants trace to pause, or to go on: the transaction stays open. An
 * encoder that is off because the area is full obeys when it is switched on.
 */
static void ntrace_cpu_pause(struct ntrace_cpu *c, struct perf_event *event, bool paused)
{
	if (c->event == event)
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
	c->path->woken = c->wakes;

	return true;
}

/* Trace ends here, though there is room for more. */
static void ntrace_cpu_break(struct ntrace_cpu *c)
{
	int ret = ntrace_buffer_open(c);

	if (ret == -ENOSPC)
		to_ntrace_event(c->event)->untold = true;
	c->lost = true;
	if (!ret)
		ntrace_buffer_close(c);
}

/* The event that the CPU has, from now on */
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

/* Switch the encoder on */
void ntrace_cpu_start(struct perf_event *event, int flags)
{
	struct ntrace_cpu *c = this_cpu_ptr(&ntrace_cpus);

	if (flags & PERF_EF_RESUME)
		ntrace_cpu_pause(c, event, false);
	/* The core starts again what it throttled, though a new mapping started it meanwhile. */
	else if (c->event == event && event->hw.state & PERF_HES_STOPPED)
		ntrace_cpu_start_on(c, ntrace_event_cpu(event, smp_processor_id()));
}

/* Switch the encoder off and publish what it had */
void ntrace_cpu_stop(struct perf_event *event, int flags)
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

	/* Throttled with its group, see PERF_EF_UPDATE: nothing else tells of the gap. */
	if (c->state == NTRACE_RUNNING && !(flags & PERF_EF_UPDATE))
		c->lost = true;
	/* The timer is left alone: likely a next event starts before it fires. */
	ntrace_cpu_finish(c);
	event->hw.state |= PERF_HES_STOPPED | PERF_HES_UPTODATE;
}

/* Give an event the encoder of this CPU */
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
	 * The core may leave an event alone when a task of a program follows another one. An
	 * encoder that counts calls has to be off between the two: a context that is pinned stays
	 * with its task. It is locked now.
	 */
	c->pinned = ntrace_config_counts_calls(&on->config);
	if (c->pinned)
		event->ctx->pin_count++;
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	if (flags & PERF_EF_START)
		ntrace_cpu_start_on(c, on);

	return 0;
}

/* Take it back */
void ntrace_cpu_del(struct perf_event *event, int flags)
{
	struct ntrace_cpu *c = this_cpu_ptr(&ntrace_cpus);

	ntrace_cpu_stop(event, PERF_EF_UPDATE);
	if (c->event != event)
		return;
	if (c->pinned)
		event->ctx->pin_count--;
	c->event = NULL;
}

/*
 * No trace: the core has made room for @size bytes, and nothing may stay undefined. Return: bytes
 * written
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
 * The last bytes of trace of an event whose AUX area is circular, for a sample of another event.
 * Called with interrupts off, in a handler of one. The encoder is emptied for it, which is a wait
 * with an end. Return: how many bytes there are
 */
long ntrace_cpu_sample(struct perf_event *event, struct perf_output_handle *handle,
		       unsigned long size)
{
	struct ntrace_cpu *c = this_cpu_ptr(&ntrace_cpus);
	long ret;

	if (c->event != event || c->state != NTRACE_RUNNING || c->ops != &ntrace_window_circular)
		return ntrace_cpu_sample_idle(handle, size);

	/* A tracepoint on the way, an event of the same group, finds nothing to sample. */
	c->state = NTRACE_OFF;
	ntrace_window_drain_ring(c);
	ret = ntrace_output_copy_aux(&c->handle, handle, c->ring.head - size, c->ring.head);
	if (!c->ops->enable(c)) {
		c->state = NTRACE_RUNNING;
		return ret;
	}

	/*
	 * A component has failed: it said so. What is there so far is not lost. The timer ends by
	 * itself: the event that is sampled may be in the middle of starting a timer.
	 */
	event->hw.state |= PERF_HES_STOPPED | PERF_HES_UPTODATE;
	c->lost = true;
	ntrace_window_close_ring(c);

	return ret;
}

/* Components that go */

static void ntrace_cpu_evict_here(void *unused)
{
	struct ntrace_cpu *c = this_cpu_ptr(&ntrace_cpus);
	struct perf_event *event = c->event;

	/* Whatever wants to start looks twice. */
	c->wakes++;
	ntrace_path_let_go();
	if (!event || !READ_ONCE(c->path->gone))
		return;

	ntrace_cpu_stop(event, PERF_EF_UPDATE);
	if (c->path->sink)
		ntrace_cpu_break(c);
	/* On other CPUs a task may be traced still. */
	if (ntrace_event_is_lost(event)) {
		event->pending_disable = 1;
		irq_work_queue(&event->pending_disable_irq);
	}
}

/*
 * Stop what runs on paths that are gone. What was traced so far is published; the last AUX record
 * has a flag. Nothing starts there again.
 */
void ntrace_cpu_evict(void)
{
	on_each_cpu(ntrace_cpu_evict_here, NULL, 1);
}

/* CPUs that sleep, that come and go */

/* Stop what runs on this CPU, for a while. Called with interrupts off. */
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

/* Go on. Called with interrupts off. */
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
 * Stop what runs on all CPUs, or go on. Both hold for CPUs that are offline, too: they look when
 * they come back.
 */
static void ntrace_cpu_suspend(bool suspended)
{
	guard(cpus_read_lock)();
	WRITE_ONCE(ntrace_suspended, suspended);
	on_each_cpu(ntrace_cpu_suspend_here, NULL, 1);
}

/*
 * A hart in a deep idle state, or a system that is suspended, may take the state
 * of trace components with it. So tracing stops before, publishing what there is, and begins anew
 * afterwards, with components that are reset if they forgot what they were.
 */

/* The hart's own: with interrupts off, on that hart */
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

/* Before tasks are frozen, and after they are thawed */
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

/* Events may run on this CPU from now on. */
static int ntrace_cpu_online(unsigned int cpu)
{
	struct ntrace_cpu *c = this_cpu_ptr(&ntrace_cpus);

	c->scontext = ntrace_context_cpu_online(cpu);
	c->online = true;
	c->wakes++;
	c->asleep = READ_ONCE(ntrace_suspended) ? NTRACE_ASLEEP_SYSTEM : 0;

	return 0;
}

/* perf takes its events off the CPU later than this; they find nothing to do then. */
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

/* Get every CPU's part ready */
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

/* No events, and no components, any more */
void ntrace_cpu_exit(void)
{
	unregister_pm_notifier(&ntrace_cpu_system_block);
	cpu_pm_unregister_notifier(&ntrace_cpu_idle_block);
	cpuhp_remove_state(ntrace_cpuhp_state);
}
