// SPDX-License-Identifier: GPL-2.0-only
/* Turn the control flow of nt-session-flow.c into branches, instructions and losses */
#include <inttypes.h>

#include "rec.h"

/* ---------------------------------------------------------------- output - */

bool rec_flow_is_chosen(const struct rec_queue *q)
{
	const struct rec_options *o = q->rec->options;

	if (!q->rec->chosen)
		return true;
	return rec_cpu_is_wanted(o, q->s.cpu) && rec_list_has_id(&o->pids, q->pid) &&
	       rec_list_has_id(&o->tids, q->s.tid) &&
	       rec_list_has_name(&o->comms, q->task ? q->task->comm : NULL);
}

static struct rec_sample sample_of(const struct rec_queue *q)
{
	return (struct rec_sample){
		.time = q->s.time, .cpu = q->s.cpu, .pid = q->pid, .tid = q->s.tid, .task = q->task,
		.space = q->space, .kernel_at_end = q->s.kernel_at_end,
	};
}

/* As rec_flow_is_chosen(), which look_up_task() has called since the last other event */
static bool is_chosen(const struct rec_queue *q)
{
	return q->seen == q->rec->notes_done ? q->chosen : rec_flow_is_chosen(q);
}

static bool is_wanted_at(const struct rec_queue *q, uint64_t time)
{
	return is_chosen(q) && rec_time_is_wanted(q->rec, time);
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
	if (out->branch && is_wanted_at(q, q->s.time))
		out->branch(out->ctx, &sample);
}

int rec_flow_loss(struct nt_session_queue *s, enum nt_session_loss code, uint64_t ip,
		  const char *text)
{
	struct rec_queue *q = rec_queue_of(s);
	const struct rec_output *out = q->rec->output;
	const struct rec_loss loss = {
		.code = code, .ip = ip, .time = s->time, .cpu = s->cpu, .pid = q->pid,
		.tid = s->tid, .text = text,
	};

	/* If the task or the time is not known, assume that the loss is wanted. */
	if (s->tid < 0 ? !rec_cpu_is_wanted(q->rec->options, s->cpu) : !rec_flow_is_chosen(q))
		return 0;
	if (!rec_time_is_wanted(q->rec, s->time ? s->time : s->window ? s->window->time : 0))
		return 0;
	q->rec->losses++;
	if (out->loss)
		out->loss(out->ctx, &loss);
	return 0;
}

static void put_run(struct rec_queue *q, uint32_t insns)
{
	const struct rec_output *out = q->rec->output;
	struct rec_sample sample = sample_of(q);

	sample.ip = q->s.pc;
	out->run(out->ctx, &sample, insns);
}

static void put_insns(struct rec_queue *q, uint32_t insns)
{
	const struct rec_output *out = q->rec->output;
	struct rec_sample sample = sample_of(q);
	struct nt_insn insn;
	uint32_t nth = 0;

	nt_path_linear(q->s.path, rec_queue_code(q, q->s.pc), q->s.pc, insns);
	while (nt_path_insn(q->s.path, &insn) > 0) {
		sample.ip = insn.pc;
		sample.time = nt_session_ahead_time(&q->s, ++nth);
		if (rec_time_is_wanted(q->rec, sample.time))
			out->insn(out->ctx, &sample);
	}
}

/* So many consecutive instructions have retired from q->s.pc on. */
int rec_flow_range(struct nt_session_queue *s, uint32_t insns)
{
	struct rec_queue *q = rec_queue_of(s);
	const struct rec_output *out = q->rec->output;

	if (!insns)
		return 0;
	if (is_wanted_at(q, q->s.time)) {
		q->rec->insns += insns;
		if (out->run)
			put_run(q, insns);
	}
	if (out->insn && is_chosen(q))
		put_insns(q, insns);
	return 0;
}

/* -------------------------------------------------------------- branches - */

/* Code at a user space address, else NULL */
static struct nt_code *user_code(struct rec_queue *q, uint64_t addr)
{
	return rec_is_kernel(q->rec, addr) ? NULL : rec_queue_code(q, addr);
}

static unsigned int branch_flags(struct rec_queue *q, const struct nt_event *ev)
{
	struct nt_code *code = NULL;

	if (nt_session_flags_need_code(ev))
		code = user_code(q, nt_session_flags_addr(ev));
	return nt_session_branch_flags(&q->rec->trace, ev, code,
				       q->task ? &q->task->syscall : NULL);
}

int rec_flow_stop(struct nt_session_queue *s, const struct nt_event *ev)
{
	struct rec_queue *q = rec_queue_of(s);
	unsigned int flags = NT_SESSION_BRANCH | NT_SESSION_END;

	if (ev->reason == NT_EVCODE_DISABLE &&
	    nt_session_is_ecall(user_code(q, ev->from), ev->from))
		flags |= NT_SESSION_CALL | NT_SESSION_SYSCALL;
	put_branch(q, ev->from, 0, NT_TYPE_NONE, flags);
	return 0;
}

int rec_flow_branch(struct nt_session_queue *s, const struct nt_event *ev)
{
	struct rec_queue *q = rec_queue_of(s);
	unsigned int flags = branch_flags(q, ev);

	if (ev->flags & NT_EVF_LEFT)
		flags |= NT_SESSION_END;
	put_branch(q, ev->from, ev->to, ev->type, flags);
	return 0;
}

/* The task continues on this queue, so an earlier stop on another queue was not a pause. */
static void stop_elsewhere(struct rec_queue *q)
{
	unsigned int i;

	for (i = 0; q->task && i < q->rec->nr_queues; i++) {
		struct rec_queue *other = q->rec->queue[i];

		if (other && other != q && other->task == q->task)
			nt_session_flow_left(&other->s, q->s.time);
	}
}

int rec_flow_start(struct nt_session_queue *s, const struct nt_event *ev)
{
	struct rec_queue *q = rec_queue_of(s);

	stop_elsewhere(q);
	put_branch(q, 0, ev->to, NT_TYPE_NONE, NT_SESSION_BRANCH | NT_SESSION_BEGIN);
	return 0;
}

int rec_flow_pause(struct nt_session_queue *s)
{
	struct rec_queue *q = rec_queue_of(s);
	const struct rec_output *out = q->rec->output;
	struct rec_sample sample = sample_of(q);

	if (!out->pause || !is_wanted_at(q, s->resumed_time))
		return 0;
	sample.ip = s->held.from;
	sample.time = s->held_time;
	out->pause(out->ctx, &sample, s->resumed_time);
	return 0;
}

/* The branches up to here were counted. */
int rec_flow_other(struct nt_session_queue *s, const struct nt_event *ev)
{
	struct rec_queue *q = rec_queue_of(s);
	const struct rec_output *out = q->rec->output;
	struct rec_sample sample = sample_of(q);

	if (ev->kind != NT_EV_COUNTED)
		return 0;
	sample.addr = ev->to;
	if (out->reach && is_wanted_at(q, q->s.time))
		out->reach(out->ctx, &sample);
	s->pc = ev->to;
	s->have_pc = true;
	return 0;
}

/* ---------------------------------------------------------------- losses - */

const char *rec_flow_place(struct nt_session_queue *s, uint64_t addr)
{
	struct rec_queue *q = rec_queue_of(s);
	const struct rec_mapping *m;

	if (s->guest)
		return "a guest";
	if (rec_is_kernel(q->rec, addr))
		return "the kernel";
	m = q->space ? rec_space_find(q->space, addr) : NULL;
	return m ? m->file->name : "unmapped memory";
}

int rec_flow_no_code(struct nt_session_queue *s, const struct nt_event *ev)
{
	return nt_session_flow_loss(s, NT_SESSION_LOSS_CODE, ev->to, "no code in %s: AUX %#" PRIx64,
				    rec_flow_place(s, ev->to), ev->offset);
}
