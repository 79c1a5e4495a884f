// SPDX-License-Identifier: GPL-2.0-only
/*
 * perf as the host of a session's queues (ntrace-session/nt-session-queue.c): the task and the code
 * of a queue, and losses in perf's terms. ntrace-synth.c converts the control flow to samples.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/zalloc.h>

#include "callchain.h"
#include "debug.h"
#include "event.h"
#include "machine.h"
#include "maps.h"
#include "session.h"
#include "thread.h"
#include "ntrace-priv.h"

static struct ntrace_queue *queue_of(struct nt_session_queue *s)
{
	return container_of(s, struct ntrace_queue, s);
}

/* --- tasks ------------------------------------------------------------------ */

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
	if (q->s.tid != tid)
		ntrace_synth_restart(q);
	q->s.tid = tid;
	q->task = tid < 0 ? NULL : ntrace_task(q->nt, tid, q->s.cpu);
	ntrace_queue_renew_thread(q);
}

/* perf's information on the thread has changed, or is about to. */
void ntrace_queue_renew_thread(struct ntrace_queue *q)
{
	thread__zput(q->thread);
}

/*
 * Look the thread up as late as possible: when a window is opened, not all earlier records have
 * been processed yet. A thread whose process is unknown counts as a process of its own.
 */
void ntrace_queue_look_up_thread(struct ntrace_queue *q)
{
	if (!q->thread && q->s.tid >= 0)
		q->thread = find_thread(q->nt, q->s.tid);
	q->pid = q->thread ? thread__pid(q->thread) : -1;
	if (q->pid == -1)
		q->pid = q->s.tid;
}

static void set_tid(struct nt_session_queue *s, pid_t tid)
{
	ntrace_queue_set_tid(queue_of(s), tid);
}

static pid_t owner(struct nt_session_queue *s, pid_t tid)
{
	return ntrace_task_owner(queue_of(s)->nt, tid);
}

static bool knows_task(struct nt_session_queue *s, pid_t tid)
{
	struct thread *thread = machine__find_thread(queue_of(s)->nt->machine, -1, tid);
	bool known = thread;

	thread__put(thread);
	return known;
}

/* --- code ------------------------------------------------------------------- */

static struct nt_code *kernel_code(struct nt_session_queue *s)
{
	return ntrace_space_code(ntrace_space_kernel(queue_of(s)->nt, s->kernel_at_end));
}

static bool is_kernel(struct nt_session_queue *s, uint64_t addr)
{
	return ntrace_is_kernel(queue_of(s)->nt, addr);
}

static bool is_patched(struct nt_session_queue *s)
{
	/* TEXT_POKE records report all changes, so do not guess. */
	return s->patches && !queue_of(s)->nt->poked;
}

static void use_code(struct nt_session_queue *s)
{
	struct ntrace_queue *q = queue_of(s);
	struct ntrace_space *user = NULL;

	ntrace_queue_look_up_thread(q);
	if (s->quick)
		return;
	/* perf knows no files with a guest's code. */
	if (s->guest) {
		nt_flow_set_code(s->flow, NULL, NULL);
		return;
	}
	if (q->thread && s->tid)
		user = ntrace_space_get(q->nt, q->pid, q->thread);
	nt_flow_set_code(s->flow, ntrace_space_code(user), kernel_code(s));
}

struct nt_code *ntrace_queue_code(struct ntrace_queue *q, u64 addr)
{
	if (q->s.guest)
		return NULL;
	if (ntrace_is_kernel(q->nt, addr))
		return kernel_code(&q->s);
	if (!q->thread || !q->s.tid)
		return NULL;
	return ntrace_space_code(ntrace_space_get(q->nt, q->pid, q->thread));
}

/* --- parameters ------------------------------------------------------------- */

static bool same_code(const struct nt_params *a, const struct nt_params *b)
{
	return a->xlen == b->xlen && a->isa == b->isa && a->jvt == b->jvt &&
	       a->seqjump == b->seqjump;
}

/* Decoded code depends on the parameters: discard it if they change. */
static void use_code_params(struct ntrace *nt, const struct nt_params *params)
{
	if (nt->have_code_params && same_code(&nt->code_params, params))
		return;
	ntrace_spaces_free(nt);
	nt->code_params = *params;
	nt->have_code_params = true;
}

static int terms(struct nt_session_queue *s, const struct nt_session_window *w,
		 struct nt_params *params)
{
	struct ntrace *nt = queue_of(s)->nt;
	int err = ntrace_params(nt, w->hw_id, w->cpu, params);

	if (err)
		return err;
	params->branches = nt->custom;
	params->nr_branches = nt->nr_custom;
	nt_session_choose_src(params, w->hw_id);
	use_code_params(nt, params);
	return 0;
}

static bool is_timed(struct nt_session_queue *s, const struct nt_session_window *w)
{
	struct ntrace *nt = queue_of(s)->nt;
	const u64 *cpu = ntrace_info_cpu(&nt->info, w->cpu);

	return nt->timed && w->hw_id & NTRACE_HW_ID_TIMESTAMP && cpu &&
	       (cpu[NTRACE_INFO_CPU_TS_CLOCK] == NTRACE_TS_CLOCK_TIME || nt->opts.use_timestamp);
}

static void enter(struct nt_session_queue *s, const struct nt_session_window *w)
{
	struct ntrace_queue *q = queue_of(s);
	bool timed = is_timed(s, w);

	/* Samples are by time, or by instructions if there are no times. */
	if (s->timed != timed)
		q->period.period = 0;
	if (!timed)
		ntrace_warn_untimed(q->nt);
	ntrace_cycles_window(q, w);
}

static void leave(struct nt_session_queue *s, size_t used)
{
	ntrace_log_leave(queue_of(s), used);
}

static int broken(struct nt_session_queue *s __maybe_unused, int err)
{
	pr_err("ntrace: decoder: %s\n", nt_strerror(err));
	return -EINVAL;
}

/* --- losses ----------------------------------------------------------------- */

/* What ran here, and what runs until trace resumes, is unknown. */
static void lost(struct nt_session_queue *s)
{
	struct ntrace_queue *q = queue_of(s);

	ntrace_tasks_lost(q->nt, q);
	s->behind_gap = true;
}

static int loss(struct nt_session_queue *s, enum nt_session_loss code, u64 ip, const char *text)
{
	return ntrace_synth_error(queue_of(s), code, ip, "%s", text);
}

static const char *place(struct nt_session_queue *s, u64 addr)
{
	struct ntrace_queue *q = queue_of(s);

	return ntrace_space_dso(q->nt, q->thread ?: q->nt->unknown_thread, addr);
}

/*
 * perf record --switch-output writes the mappings of tasks into each file with trace of these
 * tasks, unless there were too many mappings, or records were lost.
 */
static bool is_of_another_file(struct ntrace_queue *q, u64 addr)
{
	return q->thread && !ntrace_is_kernel(q->nt, addr) && maps__empty(thread__maps(q->thread));
}

static int no_code(struct nt_session_queue *s, const struct nt_event *ev)
{
	const char *dso = s->guest ? "a guest" : place(s, ev->to);

	if (!dso && is_of_another_file(queue_of(s), ev->to))
		return nt_session_flow_loss(s, NT_SESSION_LOSS_CODE, ev->to,
					    "no mappings of the task in this file: AUX %#" PRIx64,
					    ev->offset);
	return nt_session_flow_loss(s, NT_SESSION_LOSS_CODE, ev->to, "no code in %s: AUX %#" PRIx64,
				    dso ?: "unmapped memory", ev->offset);
}

/* --- control flow ----------------------------------------------------------- */

/* --itrace=q: the message's address is all that is known. */
static int address(struct ntrace_queue *q, const struct nt_event *ev)
{
	return q->s.quick && ev->to ? ntrace_synth_address(q, ev->to) : 0;
}

/* A task that continues here stopped earlier in another queue: that stop was not a pause. */
static int stop_elsewhere(struct ntrace_queue *q)
{
	struct ntrace *nt = q->nt;
	unsigned int i;
	int err = 0;

	for (i = 0; q->task && i < nt->nr_queues && !err; i++) {
		struct ntrace_queue *other = nt->queue[i];

		if (other && other != q && other->task == q->task)
			err = nt_session_flow_left(&other->s, q->s.time);
	}
	return err;
}

static int start(struct nt_session_queue *s, const struct nt_event *ev)
{
	struct ntrace_queue *q = queue_of(s);

	return stop_elsewhere(q) ?: ntrace_synth_start(q, ev) ?: address(q, ev);
}

static int stop(struct nt_session_queue *s, const struct nt_event *ev)
{
	return ntrace_synth_stop(queue_of(s), ev);
}

static int range(struct nt_session_queue *s, u32 insns)
{
	return ntrace_synth_range(queue_of(s), insns);
}

static int branch(struct nt_session_queue *s, const struct nt_event *ev)
{
	return ntrace_synth_branch(queue_of(s), ev);
}

static int pass(struct nt_session_queue *s, u64 until)
{
	struct ntrace_queue *q = queue_of(s);

	return q->nt->pass_types ? ntrace_synth_pass(q, until) : 0;
}

int ntrace_queue_event(struct nt_session_queue *s, const struct nt_event *ev, bool last)
{
	struct ntrace_queue *q = queue_of(s);
	int err;

	if (s->behind_gap)
		ntrace_tasks_lost(q->nt, q);
	s->behind_gap = false;
	ntrace_cycles_event(q, ev, last);
	ntrace_log_flow(q, ev);
	err = nt_session_flow_event(s, ev);
	if (ev->kind == NT_EV_CONTEXT)
		ntrace_queue_look_up_thread(q);
	else if (ev->kind == NT_EV_START)
		ntrace_synth_restart(q);
	else if (!err)
		err = address(q, ev);
	return err;
}

static const struct nt_session_host perf_host = {
	.is_timed	= is_timed,
	.enter		= enter,
	.leave		= leave,
	.terms		= terms,
	.use_code	= use_code,
	.broken		= broken,
	.kernel		= kernel_code,
	.is_kernel	= is_kernel,
	.is_patched	= is_patched,
	.owner		= owner,
	.knows		= knows_task,
	.set_tid	= set_tid,
	.pass		= pass,
	.event		= ntrace_queue_event,
	.range		= range,
	.branch		= branch,
	.start		= start,
	.stop		= stop,
	.lost		= lost,
	.loss		= loss,
	.no_code	= no_code,
	.place		= place,
};

struct ntrace_queue *ntrace_queue_new(struct ntrace *nt, struct nt_session_buffer *buffer)
{
	struct ntrace_queue *q = zalloc(sizeof(*q));

	if (!q)
		return NULL;
	q->nt = nt;
	q->pid = -1;
	q->event = malloc(PERF_SAMPLE_MAX_SIZE);
	if (!q->event || nt_session_queue_init(&q->s, &perf_host, &nt->trace, buffer)) {
		ntrace_queue_free(q);
		return NULL;
	}
	q->s.without_code = nt->opts.quick;
	q->s.exact_period = nt->exact_period;
	q->s.patches = ntrace_kcore_patches(nt);
	q->s.pace.period = nt->opts.period << NT_SESSION_CLOCK_SHIFT;
	return q;
}

void ntrace_queue_free(struct ntrace_queue *q)
{
	if (!q)
		return;
	nt_session_queue_exit(&q->s);
	thread__zput(q->thread);
	free(q->event);
	free(q->chain);
	free(q->branches);
	free(q);
}
