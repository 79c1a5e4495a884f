// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the decoder says of the control flow -> branches, instructions, losses. A stop is held back
 * until it is clear whether it was only a pause of the window.
 */
#include <inttypes.h>
#include <stdarg.h>

#include "rec.h"

/* ---------------------------------------------------------------- output - */

bool rec_flow_is_chosen(const struct rec_queue *q)
{
	const struct rec_options *o = q->rec->options;

	if (!q->rec->chosen)
		return true;
	return rec_cpu_is_wanted(o, q->cpu) && rec_list_has_id(&o->pids, q->pid) &&
	       rec_list_has_id(&o->tids, q->tid) &&
	       rec_list_has_name(&o->comms, q->task ? q->task->comm : NULL);
}

static struct rec_sample sample_of(const struct rec_queue *q)
{
	return (struct rec_sample){
		.time = q->time, .cpu = q->cpu, .pid = q->pid, .tid = q->tid, .task = q->task,
	};
}

static bool is_wanted_at(const struct rec_queue *q, uint64_t time)
{
	return rec_flow_is_chosen(q) && rec_time_is_wanted(q->rec, time);
}

static void put_branch(struct rec_queue *q, uint64_t from, uint64_t to, unsigned int type,
		       unsigned int flags)
{
	const struct rec_output *out = q->rec->output;
	struct rec_sample sample = sample_of(q);

	sample.ip = from;
	sample.addr = to;
	sample.type = type;
	sample.flags = flags;
	if (out->branch && is_wanted_at(q, q->time))
		out->branch(out->ctx, &sample);
}

void rec_flow_loss(struct rec_queue *q, unsigned int code, uint64_t ip, const char *fmt, ...)
{
	const struct rec_output *out = q->rec->output;
	struct rec_loss loss = {
		.code = code, .ip = ip, .time = q->time, .cpu = q->cpu, .pid = q->pid,
		.tid = q->tid,
	};
	char text[256];
	va_list ap;

	if (!is_wanted_at(q, q->time))
		return;
	q->rec->losses++;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	loss.text = text;
	if (out->loss)
		out->loss(out->ctx, &loss);
}

/* So many instructions have retired from q->pc on, one behind the other. */
static void put_range(struct rec_queue *q, uint32_t insns)
{
	const struct rec_output *out = q->rec->output;
	struct rec_sample sample = sample_of(q);
	struct nt_insn insn;
	uint32_t nth = 0;

	if (is_wanted_at(q, q->time)) {
		q->rec->insns += insns;
		sample.ip = q->pc;
		if (insns && out->run)
			out->run(out->ctx, &sample, insns);
	}
	if (!insns || !out->insn || !rec_flow_is_chosen(q))
		return;
	nt_path_linear(q->path, rec_queue_code(q, q->pc), q->pc, insns);
	while (nt_path_insn(q->path, &insn) > 0) {
		sample.ip = insn.pc;
		sample.time = rec_queue_event_time(q, ++nth);
		if (rec_time_is_wanted(q->rec, sample.time))
			out->insn(out->ctx, &sample);
	}
}

/* -------------------------------------------------------------- branches - */

/* Code at an address of user space, else NULL */
static struct nt_code *user_code(struct rec_queue *q, uint64_t addr)
{
	return rec_is_kernel(q->rec, addr) ? NULL : rec_queue_code(q, addr);
}

static unsigned int branch_flags(struct rec_queue *q, const struct nt_event *ev)
{
	struct nt_code *code = nt_type_is_trap(ev->type) ? user_code(q, ev->from) : NULL;

	return nt_session_branch_flags(ev, code, q->task ? &q->task->syscall_ip : NULL);
}

static void put_stop(struct rec_queue *q, const struct nt_event *ev)
{
	unsigned int flags = NT_SESSION_BRANCH | NT_SESSION_END;

	if (ev->reason == NT_EVCODE_DISABLE && nt_session_is_ecall(user_code(q, ev->from), ev->from))
		flags |= NT_SESSION_CALL | NT_SESSION_SYSCALL;
	put_branch(q, ev->from, 0, NT_TYPE_NONE, flags);
}

/* ------------------------------------------------------------ what is held */

static void flush_stop(struct rec_queue *q)
{
	uint64_t now = q->time;

	q->have_held = false;
	q->time = q->held_time;
	put_stop(q, &q->held);
	q->time = now;
}

/* A task that goes on here did not pause where it stopped, and that was before. */
static void stop_elsewhere(struct rec_queue *q)
{
	unsigned int i;

	for (i = 0; q->task && i < q->rec->nr_queues; i++) {
		struct rec_queue *other = q->rec->queue[i];

		if (other && other != q && other->have_held && other->task == q->task &&
		    other->held.kind == NT_EV_STOP && other->held_time <= q->time)
			flush_stop(other);
	}
}

static void flush_held(struct rec_queue *q)
{
	uint64_t now = q->time;

	if (!q->have_held)
		return;
	if (q->held.kind == NT_EV_STOP) {
		flush_stop(q);
		return;
	}
	q->have_held = false;
	q->time = q->held_time;
	stop_elsewhere(q);
	put_branch(q, 0, q->held.to, NT_TYPE_NONE, NT_SESSION_BRANCH | NT_SESSION_BEGIN);
	q->time = now;
}

void rec_flow_flush(struct rec_queue *q, uint64_t before)
{
	if (q->have_held && q->held_time < before)
		flush_held(q);
}

void rec_flow_gap(struct rec_queue *q)
{
	flush_held(q);
	q->paused = false;
	q->have_pc = false;
}

static void hold(struct rec_queue *q, const struct nt_event *ev)
{
	q->held = *ev;
	q->held_time = q->time;
	q->have_held = true;
}

/* ---------------------------------------------------------------- losses - */

/* What is mapped at an address, for messages */
static const char *place_of(struct rec_queue *q, uint64_t addr)
{
	const struct rec_mapping *m;

	if (q->guest)
		return "a guest";
	if (rec_is_kernel(q->rec, addr))
		return "the kernel";
	m = q->space ? rec_space_find(q->space, addr) : NULL;
	return m ? m->file->name : "unmapped memory";
}

static void on_loss(struct rec_queue *q, const struct nt_event *ev)
{
	uint64_t ip = ev->flags & NT_EVF_PC ? ev->from : 0;
	enum nt_session_loss code = nt_session_loss(ev->reason);

	if (q->have_pc && ev->flags & NT_EVF_PC)
		put_range(q, ev->insns);
	q->have_pc = false;
	q->lost_some = true;
	q->unsaid = q->broken = false;
	if (code == NT_SESSION_LOSS_CODE)
		rec_flow_loss(q, code, ev->to, "no code in %s: AUX %#" PRIx64,
			      place_of(q, ev->to), ev->offset);
	else if (code == NT_SESSION_LOSS_FLOW && ip)
		rec_flow_loss(q, code, ip, "%s: %s: AUX %#" PRIx64, nt_strerror(ev->reason),
			      place_of(q, ip), ev->offset);
	else
		rec_flow_loss(q, code, ip, "%s: AUX %#" PRIx64, nt_strerror(ev->reason),
			      ev->offset);
}

/* -------------------------------------------------------------- the flow - */

/* Does an Ownership message say whose the trace is? */
static bool tells_owner(const struct rec_queue *q, const struct nt_event *ev)
{
	return ntrace_is_scontext(q->params.profile, ev->reason) && q->owned &&
	       ev->offset <= q->owned_until;
}

static bool is_of_another(const struct rec_queue *q, const struct nt_event *ev)
{
	if (q->guest != !!(ev->flags & NT_EVF_VIRT))
		return true;
	return !q->guest && tells_owner(q, ev) && q->tid != (int)ev->context &&
	       q->tid != rec_task_owner(q->rec, (int)ev->context);
}

static void change_owner(struct rec_queue *q, const struct nt_event *ev)
{
	bool was_guest = q->guest;
	int tid;

	q->guest = ev->flags & NT_EVF_VIRT;
	if (q->guest != was_guest) {
		/* A guest numbers its tasks as it likes. */
		if (q->guest)
			q->host_tid = q->tid;
		rec_queue_set_tid(q, q->guest ? -1 : q->host_tid);
	}
	if (q->guest || !tells_owner(q, ev))
		return;
	tid = rec_task_owner(q->rec, (int)ev->context);
	if (q->tid != tid)
		rec_queue_set_tid(q, tid);
}

/* What looked like a pause was one. */
static void put_pause(struct rec_queue *q)
{
	const struct rec_output *out = q->rec->output;
	struct rec_sample sample = sample_of(q);

	if (!out->pause || !is_wanted_at(q, q->resumed_time))
		return;
	sample.ip = q->held.from;
	sample.time = q->held_time;
	out->pause(out->ctx, &sample, q->resumed_time);
}

/*
 * A held stop belongs to the previous task. So does a stop that looked like a pause, if another task
 * resumes at the same instruction. The kernel's own flow continues there, as the Ownership message
 * names the next task a little before the switch ends.
 */
static void on_context(struct rec_queue *q, const struct nt_event *ev, bool paused)
{
	bool other = paused && !rec_is_kernel(q->rec, q->resumed.to) &&
		     is_of_another(q, ev);

	if (other)
		flush_stop(q);
	else if (paused)
		put_pause(q);
	else if (q->have_held && q->held.kind == NT_EV_STOP)
		flush_held(q);
	change_owner(q, ev);
	if (other) {
		hold(q, &q->resumed);
		q->held_time = q->resumed_time;
	}
}

/* Trace stopped, and resumes where it stopped: to the program nothing happened. */
static bool is_pause(const struct rec_queue *q, const struct nt_event *ev)
{
	return q->have_held && q->held.kind == NT_EV_STOP && ev->flags & NT_EVF_JOIN &&
	       ev->to == q->held.from;
}

/*
 * Trace resumes after a shared sink was full. An encoder that had no room for its messages reports a
 * loss first. It reports none if a part of a message was in the sink, or if a funnel that was off
 * discarded messages. No trace is missing between a reported stop and a start by enabling.
 */
static void on_broken(struct rec_queue *q, unsigned int sync)
{
	bool broken = q->broken && (q->unsaid || sync != NT_SYNC_TRACE_ENABLE);

	q->unsaid = q->broken = false;
	if (!broken)
		return;
	rec_flow_gap(q);
	rec_flow_loss(q, NT_SESSION_LOSS_LOST, 0, "trace lost: the shared sink was full at %#" PRIx64,
		      q->broken_at);
}

static void on_start(struct rec_queue *q, const struct nt_event *ev)
{
	on_broken(q, ev->reason);
	if (is_pause(q, ev)) {
		q->have_held = false;
		q->paused = true;
		q->resumed = *ev;
		q->resumed_time = q->time;
	} else {
		flush_held(q);
		/* Whose it is tells the Ownership message that follows. */
		hold(q, ev);
	}
	q->pc = ev->to;
	q->have_pc = true;
}

static void on_stop(struct rec_queue *q, const struct nt_event *ev)
{
	if (q->have_pc)
		put_range(q, ev->insns);
	q->have_pc = false;
	/* The branch before was the end. */
	if (ev->flags & NT_EVF_LEFT)
		return;
	hold(q, ev);
	/* Here the trace did not say that it stops: it may have gone on. */
	q->unsaid = ev->reason == NT_EVCODE_NONE;
	if (q->unsaid)
		rec_flow_gap(q);
}

static void on_branch(struct rec_queue *q, const struct nt_event *ev)
{
	unsigned int flags = branch_flags(q, ev);

	if (q->have_pc)
		put_range(q, ev->insns);
	if (ev->flags & NT_EVF_LEFT)
		flags |= NT_SESSION_END;
	put_branch(q, ev->from, ev->to, ev->type, flags);
	q->pc = ev->to;
	q->have_pc = !(ev->flags & NT_EVF_LEFT);
}

/* Branches were counted up to here. */
static void on_counted(struct rec_queue *q, const struct nt_event *ev)
{
	const struct rec_output *out = q->rec->output;
	struct rec_sample sample = sample_of(q);

	sample.addr = ev->to;
	if (out->reach)
		out->reach(out->ctx, &sample);
	q->pc = ev->to;
	q->have_pc = true;
}

void rec_flow_event(struct rec_queue *q, const struct nt_event *ev, uint64_t time)
{
	bool paused = q->paused;

	if (time > q->time)
		q->time = time;
	q->paused = false;
	if (ev->kind == NT_EV_CONTEXT) {
		on_context(q, ev, paused);
		return;
	}
	if (paused)
		put_pause(q);
	if (ev->kind != NT_EV_START)
		flush_held(q);
	switch (ev->kind) {
	case NT_EV_BRANCH:
		on_branch(q, ev);
		break;
	case NT_EV_START:
		on_start(q, ev);
		break;
	case NT_EV_STOP:
		on_stop(q, ev);
		break;
	case NT_EV_LOSS:
		on_loss(q, ev);
		break;
	case NT_EV_COUNTED:
		on_counted(q, ev);
		break;
	}
}
