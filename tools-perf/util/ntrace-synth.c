// SPDX-License-Identifier: GPL-2.0-only
/*
 * Converts control flow to samples: branches, instructions, errors, with call chains and branch
 * stacks
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/zalloc.h>

#include "branch.h"
#include "callchain.h"
#include "debug.h"
#include "event.h"
#include "evlist.h"
#include "evsel.h"
#include "header.h"
#include "session.h"
#include "sort.h"
#include "synthetic-events.h"
#include "thread.h"
#include "thread-stack.h"
#include "ntrace-compat.h"
#include "ntrace-priv.h"

static_assert(PERF_IP_FLAG_SYSCALLRET == (u64)NT_SESSION_SYSCALL &&
	      PERF_IP_FLAG_INTERRUPT == (u64)NT_SESSION_INTERRUPT &&
	      PERF_IP_FLAG_TRACE_BEGIN == (u64)NT_SESSION_BEGIN &&
	      PERF_IP_FLAG_TRACE_END == (u64)NT_SESSION_END);

/* --- synthesized events ----------------------------------------------------- */

static struct evsel *find_evsel(struct ntrace *nt)
{
	struct evsel *evsel;

	evlist__for_each_entry(nt->session->evlist, evsel) {
		if (evsel->core.attr.type == nt->info.pmu_type)
			return evsel;
	}
	return NULL;
}

/* Is the branch stack the last part of a sample of this type? */
static bool stack_is_last(u64 sample_type)
{
	u64 up_to_it = 2ULL * PERF_SAMPLE_BRANCH_STACK - 1;

	return !(sample_type & ~(u64)PERF_SAMPLE_IDENTIFIER & ~up_to_it);
}

/*
 * Our branch stacks have a word for a hardware index, which does not exist. Omit the word in files,
 * because not all readers of branch stacks know it.
 */
static u64 branch_type(const struct ntrace *nt, u64 sample_type)
{
	if (nt->opts.inject && stack_is_last(sample_type))
		return PERF_SAMPLE_BRANCH_TYPE_SAVE;
	return PERF_SAMPLE_BRANCH_TYPE_SAVE | PERF_SAMPLE_BRANCH_HW_INDEX;
}

static void init_attr(struct ntrace *nt, struct evsel *evsel, struct perf_event_attr *attr)
{
	memset(attr, 0, sizeof(*attr));
	attr->size = sizeof(*attr);
	attr->type = PERF_TYPE_HARDWARE;
	attr->sample_type = evsel->core.attr.sample_type & PERF_SAMPLE_MASK;
	attr->sample_type |= PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			     PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD;
	attr->exclude_user   = evsel->core.attr.exclude_user;
	attr->exclude_kernel = evsel->core.attr.exclude_kernel;
	attr->exclude_hv     = evsel->core.attr.exclude_hv;
	attr->exclude_host   = evsel->core.attr.exclude_host;
	attr->exclude_guest  = evsel->core.attr.exclude_guest;
	attr->sample_id_all  = evsel->core.attr.sample_id_all;
	attr->read_format    = evsel->core.attr.read_format;
	if (nt->opts.last_branch)
		attr->branch_sample_type = branch_type(nt, attr->sample_type);
}

/*
 * A command that reads no event descriptions from a file, such as perf data convert, does not take
 * ours either: then add the event to those of the file's header.
 */
static int add_attr(struct ntrace *nt, struct perf_event_attr *attr, u64 id)
{
	struct perf_session *session = nt->session;
	union {
		struct {
			struct perf_record_header_attr attr;
			u64 ids[1];
		} with_id;
		union perf_event event;
	} ev = {
		.with_id = {
			.attr.header.type = PERF_RECORD_HEADER_ATTR,
			.attr.header.size = sizeof(ev.with_id),
			.attr.attr = *attr,
			.ids[0] = id,
		},
	};
	int err = perf_session__deliver_synth_attr_event(session, attr, id);

	if (err || evlist__id2sid(session->evlist, id))
		return err;
	return perf_event__process_attr(session->tool, &ev.event, &session->evlist);
}

static int add_event(struct ntrace *nt, struct perf_event_attr *attr, u64 id,
		     struct ntrace_synth *synth)
{
	int err = add_attr(nt, attr, id);

	if (err) {
		pr_err("ntrace: cannot add an event of type %" PRIu64 " to the session\n",
		       (u64)attr->config);
		return err;
	}
	synth->on = true;
	synth->id = id;
	synth->sample_type = attr->sample_type;
	synth->branch_type = attr->branch_sample_type;
	return 0;
}

static int set_name(struct ntrace *nt, u64 id, const char *name)
{
	struct evsel *evsel = evlist__id2evsel(nt->session->evlist, id);
	char *copy = strdup(name);

	if (!evsel || !copy) {
		free(copy);
		return -ENOMEM;
	}
	free(evsel->name);
	evsel->name = copy;
	return 0;
}

/* Traps are not hardware events: their numbers are far from those of other synthesized events. */
static int add_traps(struct ntrace *nt, struct perf_event_attr *attr, u64 id)
{
	static const char *const names[NTRACE_TRAPS] = {
		[NTRACE_EXCEPTION] = "exception",
		[NTRACE_INTERRUPT] = "interrupt",
		[NTRACE_TRAP]	   = "trap",
	};
	int i, err = 0;

	attr->type = PERF_TYPE_SYNTH;
	attr->sample_type |= PERF_SAMPLE_ADDR;
	attr->sample_period = 1;
	for (i = 0; i < NTRACE_TRAPS && !err; i++, id++) {
		attr->config = (u64)NTRACE_AUXTRACE_TYPE << 16 | i;
		err = add_event(nt, attr, id, &nt->traps[i]);
		if (!err)
			err = set_name(nt, id, names[i]);
	}
	return err;
}

/* Transfers that produce no sample and change no call chain need only be remembered. */
#define JUMP_TYPES	(1U << NT_TYPE_COND | 1U << NT_TYPE_JUMP | 1U << NT_TYPE_JUMP_LINK | \
			 1U << NT_TYPE_IJUMP | 1U << NT_TYPE_IJUMP_LINK)
#define CALL_TYPES	(1U << NT_TYPE_CALL | 1U << NT_TYPE_ICALL | 1U << NT_TYPE_SWAP | \
			 1U << NT_TYPE_RET)

static u32 pass_types(const struct ntrace *nt)
{
	if (nt->branches.on || nt->traps[NTRACE_TRAP].on || nt->log || nt->opts.quick ||
	    ntrace_cycles_possible(nt))
		return 0;
	return nt->callstack ? JUMP_TYPES : JUMP_TYPES | CALL_TYPES;
}

int ntrace_synth_setup(struct ntrace *nt)
{
	struct evsel *evsel = find_evsel(nt);
	struct perf_event_attr attr;
	u64 id;
	int err;

	if (!evsel) {
		pr_err("ntrace: the file has no event of PMU type %u\n", nt->info.pmu_type);
		return -EINVAL;
	}
	nt->kernel_traced = !evsel->core.attr.exclude_kernel;
	init_attr(nt, evsel, &attr);
	id = ntrace_compat_id_start(evsel);

	if (nt->opts.branches) {
		attr.config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS;
		attr.sample_period = 1;
		attr.sample_type |= PERF_SAMPLE_ADDR;
		err = add_event(nt, &attr, id++, &nt->branches);
		if (err)
			return err;
		attr.sample_type &= ~(u64)PERF_SAMPLE_ADDR;
	}

	if (nt->opts.callchain)
		attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
	if (nt->opts.last_branch)
		attr.sample_type |= PERF_SAMPLE_BRANCH_STACK;
	attr.sample_period = nt->opts.period;
	if (nt->opts.instructions) {
		attr.config = PERF_COUNT_HW_INSTRUCTIONS;
		err = add_event(nt, &attr, id++, &nt->instructions);
		if (err)
			return err;
	}
	if (nt->opts.cycles && ntrace_cycles_possible(nt)) {
		attr.config = PERF_COUNT_HW_CPU_CYCLES;
		err = add_event(nt, &attr, id++, &nt->cycles);
		if (err)
			return err;
	}
	attr.sample_type &= ~(u64)(PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_BRANCH_STACK);
	err = nt->opts.intr_events ? add_traps(nt, &attr, id) : 0;
	nt->pass_types = pass_types(nt);
	return err;
}

/* --- samples ---------------------------------------------------------------- */

static bool skip_event(struct ntrace *nt)
{
	return nt->opts.initial_skip && nt->num_events++ < nt->opts.initial_skip;
}

static u8 cpumode(const struct ntrace_queue *q, u64 addr)
{
	bool kernel = ntrace_is_kernel(q->nt, addr);

	if (q->s.guest)
		return kernel ? PERF_RECORD_MISC_GUEST_KERNEL : PERF_RECORD_MISC_GUEST_USER;
	return kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER;
}

static void fill_insn(struct ntrace_queue *q, struct perf_sample *sample, u64 ip)
{
	struct nt_code *code = ntrace_queue_code(q, ip);
	struct nt_insn insn;
	size_t i;

	if (!code || nt_code_insn(code, ip, &insn) < 0)
		return;
	/*
	 * The flags do not say whether a branch was taken, its successor does. An instruction that
	 * traps does not retire. Branch samples set their own flags.
	 */
	sample->flags = nt_session_flags(insn.type);
	sample->insn_len = insn.len;
	for (i = 0; i < insn.len && i < sizeof(insn.raw); i++)
		sample->insn[i] = insn.raw >> (8 * i);
}

static void fill_sample(struct ntrace_queue *q, struct perf_sample *sample,
			const struct ntrace_synth *synth, u64 ip, u64 addr)
{
	ntrace_compat_sample_init(sample);
	q->event->sample.header.type = PERF_RECORD_SAMPLE;
	q->event->sample.header.size = sizeof(struct perf_event_header);
	sample->ip	  = ip;
	sample->addr	  = addr;
	sample->pid	  = q->pid;
	sample->tid	  = q->s.tid;
	sample->cpu	  = q->s.cpu;
	sample->time	  = q->s.time;
	sample->id	  = synth->id;
	sample->stream_id = synth->id;
	sample->period	  = 1;
	sample->cpumode	  = cpumode(q, ip ?: addr);
	q->event->sample.header.misc = sample->cpumode;
	if (ip && !q->s.quick)
		fill_insn(q, sample, ip);
}

static int deliver(struct ntrace_queue *q, struct perf_sample *sample,
		   const struct ntrace_synth *synth)
{
	struct ntrace *nt = q->nt;
	int err = 0;

	if (nt->opts.inject)
		err = ntrace_compat_synthesize(q->event, synth->sample_type, synth->branch_type,
					       sample);
	if (!err)
		err = perf_session__deliver_synth_event(nt->session, q->event, sample);
	if (err)
		pr_err("ntrace: a sample cannot be passed on: %d\n", err);
	ntrace_compat_sample_exit(sample);
	return err;
}

/* @type: enum nt_type, NT_TYPE_NONE where trace begins or ends */
static int branch_sample(struct ntrace_queue *q, u64 from, u64 to, unsigned int type, u32 flags,
			 u16 cycles)
{
	struct ntrace *nt = q->nt;
	struct perf_sample sample;
	struct {
		u64			nr;
		u64			hw_idx;
		struct branch_entry	entries;
	} one;

	if (!nt->branches.on || (nt->branches_filter && !(nt->branches_filter & flags)))
		return 0;
	if (skip_event(nt))
		return 0;

	fill_sample(q, &sample, &nt->branches, from, to);
	sample.flags = flags;
	/* Like Intel PT: no length, because the trapped instruction runs again. */
	if (flags & PERF_IP_FLAG_CALL && flags & PERF_IP_FLAG_INTERRUPT)
		sample.insn_len = 0;
	/* Sorting by branches ignores samples without a stack. */
	if (nt->opts.last_branch && sort__mode == SORT_MODE__BRANCH) {
		one.nr = 1;
		one.hw_idx = -1ULL;
		one.entries = ntrace_branch_entry(nt, from, to, type, flags);
		one.entries.flags.cycles = cycles;
		sample.branch_stack = (struct branch_stack *)&one;
	}
	ntrace_cycles_take(q, &sample, NTRACE_IPC_BRANCHES, q->insns, q->cycles.exact);
	return deliver(q, &sample, &nt->branches);
}

static int trap_sample(struct ntrace_queue *q, const struct nt_event *ev, u32 flags)
{
	int which = ev->type == NT_TYPE_EXCEPTION ? NTRACE_EXCEPTION :
		    ev->type == NT_TYPE_INTERRUPT ? NTRACE_INTERRUPT :
		    ev->type == NT_TYPE_TRAP ? NTRACE_TRAP : -1;
	struct perf_sample sample;

	if (which < 0 || !q->nt->traps[which].on || skip_event(q->nt))
		return 0;
	fill_sample(q, &sample, &q->nt->traps[which], ev->from, ev->to);
	sample.flags = flags;
	return deliver(q, &sample, &q->nt->traps[which]);
}

static void add_callchain(struct ntrace_queue *q, struct perf_sample *sample)
{
	struct ntrace *nt = q->nt;
	size_t sz = nt->opts.callchain_sz + 1;

	if (!q->chain)
		q->chain = zalloc(sizeof(*q->chain) + sz * sizeof(u64));
	if (!q->chain || !q->thread)
		return;
	thread_stack__sample(q->thread, q->s.cpu, q->chain, sz, sample->ip,
			     ntrace_kernel_start(nt));
	sample->callchain = q->chain;
}

static void add_stacks(struct ntrace_queue *q, struct perf_sample *sample)
{
	if (q->nt->opts.callchain)
		add_callchain(q, sample);
	if (q->nt->opts.last_branch)
		sample->branch_stack = ntrace_last_copy(q->nt, q->task, &q->branches);
}

static int cycles_sample(struct ntrace_queue *q, u64 ip, u64 insns, bool exact)
{
	struct ntrace *nt = q->nt;
	struct perf_sample sample;

	fill_sample(q, &sample, &nt->cycles, ip, 0);
	sample.period = ntrace_cycles_take(q, &sample, NTRACE_IPC_CYCLES, insns, exact);
	if (!sample.period || skip_event(nt)) {
		ntrace_compat_sample_exit(&sample);
		return 0;
	}
	add_stacks(q, &sample);
	return deliver(q, &sample, &nt->cycles);
}

/*
 * @insns: instructions retired up to this one; @exact: it is the last of its message; @period: the
 * number of instructions that it stands for
 */
static int insn_sample(struct ntrace_queue *q, u64 ip, u64 insns, bool exact, u64 period)
{
	struct ntrace *nt = q->nt;
	struct perf_sample sample;
	int err = 0;

	if (nt->instructions.on && !skip_event(nt)) {
		fill_sample(q, &sample, &nt->instructions, ip, 0);
		sample.period = period;
		add_stacks(q, &sample);
		ntrace_cycles_take(q, &sample, NTRACE_IPC_INSTRUCTIONS, insns, exact);
		err = deliver(q, &sample, &nt->instructions);
	}
	/* Like Intel PT: where a count is known, report all cycles up to here. */
	if (!err && nt->cycles.on)
		err = cycles_sample(q, ip, insns, true);
	return err;
}

static bool samples_by_time(const struct ntrace_queue *q)
{
	return q->nt->opts.period_type != PERF_ITRACE_PERIOD_INSTRUCTIONS && q->s.timed;
}

/* The queue's position, in the unit of sampling periods */
static u64 sample_clock(const struct ntrace_queue *q)
{
	const struct nt_session_span *s = &q->s.span;

	if (!samples_by_time(q))
		return q->insns;
	if (!s->insns)
		return q->s.clock + s->advance;
	return q->s.clock + nt_session_scale(s->advance, s->done, s->insns);
}

static u64 queue_seed(const struct ntrace_queue *q)
{
	return (u64)(u32)q->s.buffer->cpu << 32 | (u32)q->s.buffer->tid;
}

/*
 * The next instructions are unrelated to the previous ones: another task runs, or trace was off.
 * Exact periods continue nevertheless, otherwise stretches shorter than a period would have no
 * samples.
 */
void ntrace_synth_restart(struct ntrace_queue *q)
{
	struct ntrace *nt = q->nt;
	u64 period;

	if (!q->period.period) {
		period = samples_by_time(q) ? nt->opts.period << NT_SESSION_CLOCK_SHIFT :
					      nt->untimed_period;
		nt_session_period_init(&q->period, period, queue_seed(q), nt->exact_period);
	} else if (nt->exact_period) {
		return;
	}
	q->next_sample = sample_clock(q) + nt_session_period_begin(&q->period);
}

/* A walk through linear code: instruction number @at is at @pc. */
struct walk {
	struct nt_path	*path;
	u64		pc;
	u32		at;
};

static bool walk_to(struct walk *w, u32 nth)
{
	if (nt_path_skip(w->path, nth - w->at))
		return false;
	w->at = nth;
	w->pc = nt_path_pc(w->path);
	return true;
}

/* Sample instruction number @nth, from 1, of the @insns of a range. */
static int sample_nth(struct ntrace_queue *q, struct walk *w, u32 nth, u32 insns, u64 period)
{
	u64 now = q->s.time;
	int err;

	if (!walk_to(w, nth))
		return 0;
	if (q->nt->exact_period)
		period = q->insns + nth - q->sampled_insns;
	if (!period)
		return 0;
	q->sampled_insns = q->insns + nth;
	q->s.time = nt_session_ahead_time(&q->s, nth);
	err = insn_sample(q, w->pc, q->insns + nth, q->cycles.exact && nth == insns, period);
	q->s.time = now;
	return err;
}

/* Sample by instructions. */
static int sample_by_insns(struct ntrace_queue *q, struct walk *w, u32 insns)
{
	int err = 0;

	while (!err && q->next_sample <= q->insns + insns) {
		err = sample_nth(q, w, q->next_sample - q->insns, insns, q->period.period);
		q->next_sample += nt_session_period_next(&q->period);
	}
	return err;
}

/* The first instruction of the span at or after the clock of the next sample */
static u64 due(const struct ntrace_queue *q)
{
	const struct nt_session_span *s = &q->s.span;
	u64 ahead = q->next_sample - q->s.clock;

	if (q->next_sample > q->s.clock + s->advance)
		return UINT64_MAX;
	if (q->next_sample <= q->s.clock)
		return 1;
	return min(nt_session_scale(ahead - 1, s->insns, s->advance) + 1, s->insns);
}

/* Is the clock so fast that every instruction has a sample? */
static bool is_each_due(const struct ntrace_queue *q)
{
	return q->s.span.advance / q->period.period >= q->s.span.insns;
}

static int sample_each(struct ntrace_queue *q, struct walk *w, u32 insns)
{
	int err = 0;
	u32 nth;

	for (nth = 1; nth <= insns && !err; nth++)
		err = sample_nth(q, w, nth, insns, 1);
	if (q->s.span.done + insns == q->s.span.insns)
		q->next_sample = q->s.clock + q->s.span.advance +
				 nt_session_period_begin(&q->period);
	return err;
}

/*
 * Sample by time: the instruction that retired at each sample's time. Fast instructions have few
 * samples, so each stands for more instructions: as many as retire in a period at the speed of this
 * span.
 */
static int sample_by_time(struct ntrace_queue *q, struct walk *w, u32 insns)
{
	const struct nt_session_span *s = &q->s.span;
	u64 nth, periods;
	int err = 0;

	if (!q->nt->exact_period && is_each_due(q))
		return sample_each(q, w, insns);

	while (!err && (nth = due(q)) <= s->done + insns) {
		for (periods = 0; due(q) == nth; periods++)
			q->next_sample += nt_session_period_next(&q->period);
		nth = nth > s->done ? nth - s->done : 1;
		if (!q->nt->exact_period)
			periods = nt_session_period_scale(&q->period,
							  periods * q->period.period,
							  s->insns, s->advance);
		err = sample_nth(q, w, nth, insns, periods);
	}
	return err;
}

/* @insns instructions have retired from q->s.pc on, without a transfer. */
int ntrace_synth_range(struct ntrace_queue *q, u32 insns)
{
	struct walk w = { .path = q->s.path, .pc = q->s.pc, .at = 1 };
	struct ntrace *nt = q->nt;
	int err = 0;

	if (!insns)
		return 0;
	if (nt->instructions.on || nt->cycles.on) {
		nt_path_linear(w.path, ntrace_queue_code(q, q->s.pc), q->s.pc, insns);
		if (samples_by_time(q))
			err = sample_by_time(q, &w, insns);
		else
			err = sample_by_insns(q, &w, insns);
	}
	q->insns += insns;
	return err;
}

/* --itrace=q: it is only known that execution reached this address. */
int ntrace_synth_address(struct ntrace_queue *q, u64 ip)
{
	q->insns++;
	return q->nt->instructions.on ? insn_sample(q, ip, q->insns, false, 1) : 0;
}

/* --- branches --------------------------------------------------------------- */

/* The code at an address of user space; NULL for others */
static struct nt_code *user_code(struct ntrace_queue *q, u64 addr)
{
	return q->s.quick || ntrace_is_kernel(q->nt, addr) ? NULL : ntrace_queue_code(q, addr);
}

static u32 branch_flags(struct ntrace_queue *q, const struct nt_event *ev)
{
	struct nt_code *code = NULL;

	if (nt_session_flags_need_code(ev))
		code = user_code(q, nt_session_flags_addr(ev));
	return nt_session_branch_flags(&q->nt->trace, ev, code, q->task ? &q->task->syscall : NULL);
}

/*
 * Distance from @from to the return address of a call: the length of the instruction; 0 after most
 * traps, which return to the instruction itself
 */
static u16 return_distance(struct ntrace_queue *q, u64 from, u32 flags)
{
	struct nt_code *code;
	struct nt_insn insn;

	if (!(flags & PERF_IP_FLAG_CALL) || flags & PERF_IP_FLAG_INTERRUPT)
		return 0;
	code = ntrace_queue_code(q, from);
	return code && nt_code_insn(code, from, &insn) > 0 ? insn.len : 0;
}

static void feed_thread_stack(struct ntrace_queue *q, u64 from, u64 to, u32 flags)
{
	struct ntrace *nt = q->nt;
	u64 trace_nr = q->task ? ntrace_task_trace_nr(nt, q->task) : 0;

	if (!q->thread)
		return;
	if (nt->callstack)
		thread_stack__event(q->thread, q->s.cpu, flags, from, to,
				    return_distance(q, from, flags), trace_nr, true, 0, false);
	else
		thread_stack__set_trace_nr(q->thread, q->s.cpu, trace_nr);
}

static int transfer(struct ntrace_queue *q, u64 from, u64 to, unsigned int type, u32 flags)
{
	u16 cycles = ntrace_cycles_of_branch(q);
	int err;

	feed_thread_stack(q, from, to, flags);
	err = ntrace_last_push(q->nt, q->task, from, to, type, flags, cycles);
	return err ?: branch_sample(q, from, to, type, flags, cycles);
}

/*
 * A task has reached user space: after an exec, no earlier caller gets control again. If a
 * recording begins in the exec (enable_on_exec), there was no other program.
 */
static void enter_user(struct ntrace_queue *q, u64 addr)
{
	struct ntrace_task *task = q->task;

	if (!task || ntrace_is_kernel(q->nt, addr))
		return;
	task->execs += task->exec && task->user;
	task->exec = false;
	task->user = true;
}

int ntrace_synth_branch(struct ntrace_queue *q, const struct nt_event *ev)
{
	u32 flags = branch_flags(q, ev);
	int err;

	if (ev->flags & NT_EVF_LEFT)
		flags |= PERF_IP_FLAG_TRACE_END;
	else if (ev->type == NT_TYPE_ERET)
		enter_user(q, ev->to);
	err = transfer(q, ev->from, ev->to, ev->type, flags);
	return err ?: trap_sample(q, ev, flags);
}

/* Trace of the task resumes where it ended, perhaps on another CPU. */
static bool goes_on(const struct ntrace_task *task, u64 addr)
{
	return task && (addr == task->left_at || addr == task->left_behind);
}

/*
 * perf takes a start for an unseen return if there is a matching caller. If nothing is missing,
 * there was no return, even if a caller has this address.
 */
int ntrace_synth_start(struct ntrace_queue *q, const struct nt_event *ev)
{
	u32 flags = PERF_IP_FLAG_BRANCH | PERF_IP_FLAG_TRACE_BEGIN;
	int err;

	enter_user(q, ev->to);
	feed_thread_stack(q, 0, ev->to, goes_on(q->task, ev->to) ? PERF_IP_FLAG_BRANCH : flags);
	err = ntrace_last_push(q->nt, q->task, 0, ev->to, NT_TYPE_NONE, flags, 0);
	return err ?: branch_sample(q, 0, ev->to, NT_TYPE_NONE, flags, 0);
}

int ntrace_synth_stop(struct ntrace_queue *q, const struct nt_event *ev)
{
	u32 flags = PERF_IP_FLAG_BRANCH | PERF_IP_FLAG_TRACE_END;
	bool ecall = nt_session_is_ecall(user_code(q, ev->from), ev->from);

	if (q->task) {
		q->task->left_at = ev->from;
		q->task->left_behind = ecall ? ev->from + 4 : ev->from;
	}
	if (ev->reason == NT_EVCODE_DISABLE && ecall)
		flags |= PERF_IP_FLAG_CALL | PERF_IP_FLAG_SYSCALLRET;
	return transfer(q, ev->from, 0, NT_TYPE_NONE, flags);
}

/* --- transfers without samples ------------------------------------------------- */

/* The number of transfers among the @nr events before instruction number @most from here */
static int passable(const struct ntrace_queue *q, const struct nt_event *ev, int nr, u64 most,
		    u64 *insns)
{
	const struct nt_session_patches *patches = q->nt->poked ? NULL : q->s.patches;
	u64 pc = q->s.pc;
	int i;

	*insns = 0;
	for (i = 0; i < nr; i++) {
		if (ev[i].kind != NT_EV_BRANCH || !(q->nt->pass_types >> ev[i].type & 1) ||
		    *insns + ev[i].insns >= most)
			break;
		/* nt_session_doubt() has to check where patched code may have run. */
		if (patches && nt_session_patches_maybe(patches, pc, ev[i].from + 4))
			break;
		*insns += ev[i].insns;
		pc = ev[i].to;
	}
	return i;
}

static void pass_on(struct ntrace_queue *q, int nr, u64 insns)
{
	if (!nr)
		return;
	q->s.pos	 += nr;
	q->insns += insns;
	q->s.pc	  = q->s.ev[q->s.pos - 1].to;
	q->s.time	  = max(nt_session_ahead_time(&q->s, 0), q->s.time);
}

/* Skip transfers of the current span. */
static int pass_in_span(struct ntrace_queue *q, u64 until)
{
	struct nt_session_span *s = &q->s.span;
	u64 insns, most = UINT64_MAX;
	int nr;

	if (max(s->to, q->s.time) > until)
		return 0;
	if (q->nt->instructions.on && samples_by_time(q)) {
		if (is_each_due(q))
			return 0;
		most = due(q);
		most -= min(most, s->done);
	} else if (q->nt->instructions.on) {
		most = q->next_sample - q->insns;
	}
	nr = passable(q, q->s.ev + q->s.pos, s->end - q->s.pos, most, &insns);
	s->done += insns;
	pass_on(q, nr, insns);
	return nr;
}

/* Skip whole spans, unless samples need the clock. */
static void pass_spans(struct ntrace_queue *q, u64 until)
{
	u64 insns, most = UINT64_MAX;
	int nr;

	if (q->nt->instructions.on) {
		if (samples_by_time(q))
			return;
		most = q->next_sample - q->insns;
	}
	nr = passable(q, q->s.ev + q->s.pos, q->s.nr - q->s.pos, most, &insns);
	nr = nt_session_ahead_pass(&q->s, nr, until, &insns);
	pass_on(q, nr, insns);
}

/*
 * Between two samples, hundreds of transfers need only be remembered. Take all of the next ones up
 * to @until at once. Returns their number.
 */
int ntrace_synth_pass(struct ntrace_queue *q, u64 until)
{
	int first = q->s.pos, err;

	if (!q->s.have_pc || q->s.have_held)
		return 0;
	while (pass_in_span(q, until) && q->s.pos == q->s.span.end) {
		pass_spans(q, until);
		if (!nt_session_ahead_next(&q->s, false))
			break;
	}
	if (q->s.pos == first)
		return 0;
	err = ntrace_last_push_all(q->nt, q->task, q->s.ev + first, q->s.pos - first);
	return err ?: q->s.pos - first;
}

/* --- errors ----------------------------------------------------------------- */

static bool error_wanted(const struct ntrace *nt, enum nt_session_loss code, u64 time)
{
	unsigned int minus = nt->opts.error_minus_flags;

	if (!nt->opts.errors || !nt_session_time_is_wanted(&nt->trace, time))
		return false;
	if (code == NT_SESSION_LOSS_OVERFLOW && minus & AUXTRACE_ERR_FLG_OVERFLOW)
		return false;
	return !(code == NT_SESSION_LOSS_LOST && minus & AUXTRACE_ERR_FLG_DATA_LOST);
}

int ntrace_synth_error(struct ntrace_queue *q, enum nt_session_loss code, u64 ip,
		       const char *fmt, ...)
{
	char msg[MAX_AUXTRACE_ERROR_MSG];
	union perf_event event;
	va_list args;
	int err;

	va_start(args, fmt);
	vsnprintf(msg, sizeof(msg), fmt, args);
	va_end(args);
	ntrace_log_error(q, msg);
	if (!error_wanted(q->nt, code, q->s.time))
		return 0;

	auxtrace_synth_error(&event.auxtrace_error, PERF_AUXTRACE_ERROR_ITRACE, code, q->s.cpu,
			     q->pid, q->s.tid, ip, msg, q->s.time);

	err = perf_session__deliver_synth_event(q->nt->session, &event, NULL);
	if (err)
		pr_err("ntrace: failed to deliver an error event: %d\n", err);
	return err;
}
