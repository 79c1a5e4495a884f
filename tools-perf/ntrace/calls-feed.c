// SPDX-License-Identifier: GPL-2.0-only
/*
 * Feed a recording or a raw trace to struct calls
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"

/* ------------------------------------------------------------ functions --- */

/* The .cold part of a function has its own symbol. */
static bool is_part(const char *name)
{
	const char *dot = strstr(name, ".cold");

	return dot && (!dot[5] || dot[5] == '.');
}

static void look_up(struct calls_feed *f, struct calls_known *k)
{
	uint64_t offset = 0, place = k->addr;
	const struct rec_file *build = NULL;
	const struct rec_space *space;
	const char *file = "", *name;

	if (f->symbols) {
		name = symbols_find(f->symbols, k->addr, &offset);
	} else {
		name = rec_symbol(&f->rec, f->task, k->addr, &offset);
		space = rec_task_space(&f->rec, f->task);
		if (!rec_place(&f->rec, space, k->addr, &file, &place))
			file = "";
		else
			build = rec_file_at(&f->rec, space, k->addr);
		/* kernel code has no file offset */
		if (rec_is_kernel(&f->rec, k->addr))
			place = k->addr;
	}
	k->place = place;
	k->part = name && is_part(name);
	k->start = name ? !offset : k->called;
	if (!name && !k->called)
		k->function = NULL;
	else
		k->function = calls_function(&f->calls, name, file, build, place - offset);
}

static const struct calls_known *know(struct calls_feed *f, uint64_t addr, bool called)
{
	int pid = f->task && (f->symbols || !rec_is_kernel(&f->rec, addr)) ? f->task->pid : 0;
	uint64_t hash = (addr ^ (uint64_t)pid << 48) * 0x9e3779b97f4a7c15ull;
	struct calls_known *k = &f->known[hash >> 51];

	if (k->age != f->age || k->addr != addr || k->pid != pid || k->called != called) {
		*k = (struct calls_known){ .addr = addr, .pid = pid, .called = called,
					  .age = f->age };
		look_up(f, k);
	}
	return k;
}

static struct calls_function *find(void *ctx, uint64_t addr, bool called, bool *start, bool *part)
{
	const struct calls_known *k = know(ctx, addr, called);

	*start = k->start;
	*part = k->part;
	return k->function;
}

static uint64_t place(void *ctx, uint64_t addr)
{
	return know(ctx, addr, false)->place;
}

static void begin(struct calls_feed *f, uint64_t kernel_from, const char *time_unit)
{
	struct calls *c = &f->calls;

	f->age = 1;
	c->find = find;
	c->place = place;
	c->ctx = f;
	c->time_unit = time_unit;
	calls_init(c, kernel_from);
	f->begin(f);
}

/* ----------------------------------------------------------- recordings --- */

static unsigned int see_interval(struct calls_feed *f, uint64_t time)
{
	unsigned int interval = rec_interval(&f->rec, time);

	if (interval != f->interval)
		calls_interval(&f->calls);
	f->interval = interval;
	return interval;
}

static struct calls_event event_of(struct calls_feed *f, const struct rec_sample *s)
{
	f->task = s->task;
	return (struct calls_event){
		.time = s->time, .interval = see_interval(f, s->time),
		.cpu = s->cpu, .pid = s->pid, .tid = s->tid,
		.comm = s->task ? s->task->comm : NULL, .from = s->ip, .to = s->addr,
		.type = s->type,
	};
}

static void take_run(void *ctx, const struct rec_sample *s, uint32_t insns)
{
	struct calls_feed *f = ctx;
	struct calls_event ev = event_of(f, s);

	calls_run(&f->calls, &ev, insns);
}

static void take_branch(void *ctx, const struct rec_sample *s)
{
	struct calls_feed *f = ctx;
	struct calls_event ev;

	if (s->type == NT_TYPE_COND && !f->calls.stacks)
		return;
	ev = event_of(f, s);
	if (s->type != NT_TYPE_NONE)
		calls_branch(&f->calls, &ev);
	if (s->type == NT_TYPE_COND)
		return;
	ev.flags = (s->flags & NT_SESSION_BEGIN ? PERF_BEGIN : 0) |
		   (s->flags & NT_SESSION_END ? PERF_END : 0) |
		   (s->flags & NT_SESSION_SYSCALL ? PERF_SYSCALL : 0);
	calls_transfer(&f->calls, &ev);
}

static void take_loss(void *ctx, const struct rec_loss *loss)
{
	struct calls_feed *f = ctx;
	const struct calls_event ev = {
		.time = loss->time, .interval = see_interval(f, loss->time),
		.cpu = loss->cpu, .pid = loss->pid, .tid = loss->tid,
	};

	calls_loss(&f->calls, &ev);
}

static void take_note(void *ctx, const struct rec_note *n)
{
	struct calls_feed *f = ctx;
	bool out = n->misc & NT_PERFDATA_MISC_SWITCH_OUT;

	if ((n->type == NT_PERFDATA_SWITCH || n->type == NT_PERFDATA_SWITCH_CPU_WIDE) &&
	    (!rec_time_is_wanted(&f->rec, n->time) || !rec_cpu_is_wanted(f->rec.options, n->cpu)))
		return;
	switch (n->type) {
	case NT_PERFDATA_SWITCH:
		if (out) {
			calls_switch_out(&f->calls, n->time, n->pid, n->tid, n->cpu);
			break;
		}
		/* fall through */
	case NT_PERFDATA_SWITCH_CPU_WIDE:
		/* both kinds of this event name the next task */
		calls_switch_in(&f->calls, n->time, n->pid, n->tid, n->cpu);
		break;
	case NT_PERFDATA_EXIT:
		calls_exit(&f->calls, n->time, n->tid);
		break;
	case NT_PERFDATA_COMM:
		if (n->misc & NT_PERFDATA_MISC_COMM_EXEC)
			calls_exec(&f->calls, n->pid, n->tid);
		break;
	}
	/* mappings may have changed */
	if (n->type != NT_PERFDATA_SWITCH && n->type != NT_PERFDATA_SWITCH_CPU_WIDE)
		f->age++;
}

static void take_gone(void *ctx, const struct rec_task *task)
{
	struct calls_feed *f = ctx;

	calls_gone(&f->calls, task->tid);
	if (f->task == task)
		f->task = NULL;
}

static bool has_time(const struct rec *rec)
{
	const struct nt_session_buffer *b;
	unsigned int i;

	if (!rec->info.have_clock)
		return false;
	for (i = 0; i < rec->trace.nr_buffers; i++) {
		b = rec->trace.buffer[i];
		if (b && b->nr_windows && b->window[0].hw_id & NTRACE_HW_ID_TIMESTAMP)
			return true;
	}
	return false;
}

static int of_recording(struct calls_feed *f)
{
	const struct rec_output output = {
		.branch = take_branch, .loss = take_loss, .run = take_run, .note = take_note,
		.gone = take_gone, .ctx = f,
	};
	int status;

	rec_refuse_input(&f->in);
	rec_open(&f->rec, f->in.file, &f->options);
	begin(f, ntrace_info_kernel_start(&f->rec.info), has_time(&f->rec) ? "ns" : NULL);
	rec_run(&f->rec, &output);
	calls_end(&f->calls);
	f->end(f);
	status = rec_status(&f->rec);
	rec_free(&f->rec);
	return status;
}

/* ------------------------------------------------------------ raw traces --- */

struct raw {
	struct calls_feed *f;
	struct calls_event now;		/* the current task and time */
	uint64_t pc, skipped;
	enum { HELD_NONE, HELD_STOP, HELD_START } held;	/* until the next event */
	uint64_t held_pc, held_time;
};

static void put_transfer(struct raw *r, const struct nt_event *ev)
{
	struct calls_event to = r->now;

	to.from = ev->from;
	to.to = ev->to;
	to.type = ev->type;
	to.flags = ev->flags & NT_EVF_LEFT ? PERF_END : 0;
	calls_branch(&r->f->calls, &to);
	calls_transfer(&r->f->calls, &to);
}

static void flush_held(struct raw *r)
{
	struct calls_event ev = r->now;

	ev.time = r->held_time;
	ev.from = r->held == HELD_STOP ? r->held_pc : 0;
	ev.to = r->held == HELD_START ? r->held_pc : 0;
	ev.flags = r->held == HELD_STOP ? PERF_END : PERF_BEGIN;
	if (r->held)
		calls_transfer(&r->f->calls, &ev);
	r->held = HELD_NONE;
}

static void hold(struct raw *r, int what, uint64_t pc)
{
	r->held = what;
	r->held_pc = pc;
	r->held_time = r->now.time;
}

static void put_run(struct raw *r, const struct nt_event *ev)
{
	if (!ev->insns)
		return;
	r->now.from = r->pc;
	calls_run(&r->f->calls, &r->now, ev->insns);
}

static void put_loss(struct raw *r, const struct nt_event *ev)
{
	if (!is_loss(ev))
		return;
	r->skipped += ev->skipped;
	calls_loss(&r->f->calls, &r->now);
}

/*
 * A stop that is held back belongs to the task before. A start belongs to the task in the context
 * that follows.
 */
static void put_context(struct raw *r, const struct nt_event *ev)
{
	if (r->held == HELD_STOP)
		flush_held(r);
	if (ntrace_is_scontext(r->f->in.params.profile, ev->reason))
		r->now.pid = r->now.tid = (int)ev->context;
}

static void put_start(struct raw *r, const struct nt_event *ev)
{
	bool pause = r->held == HELD_STOP && ev->flags & NT_EVF_JOIN && ev->to == r->held_pc;

	if (!pause)
		flush_held(r);
	r->held = HELD_NONE;
	if (ev->flags & NT_EVF_TIME)
		r->now.time = ev->time;
	if (!pause)
		hold(r, HELD_START, ev->to);
}

static void put_event(struct raw *r, const struct nt_event *ev)
{
	if (ev->kind == NT_EV_START) {
		put_start(r, ev);
	} else if (ev->kind == NT_EV_CONTEXT) {
		put_context(r, ev);
	} else {
		flush_held(r);
		if (ev->flags & NT_EVF_TIME)
			r->now.time = ev->time;
		put_run(r, ev);
	}
	if (ev->kind == NT_EV_BRANCH)
		put_transfer(r, ev);
	else if (ev->kind == NT_EV_STOP && ev->reason == NT_EVCODE_NONE)
		calls_gap(&r->f->calls, &r->now);
	else if (ev->kind == NT_EV_STOP && !(ev->flags & NT_EVF_LEFT))
		hold(r, HELD_STOP, ev->from);
	else if (ev->kind == NT_EV_LOSS || ev->kind == NT_EV_NOTICE)
		put_loss(r, ev);
	if (ev->kind == NT_EV_BRANCH || ev->kind == NT_EV_START || ev->kind == NT_EV_SYNC)
		r->pc = ev->to;
}

static int of_trace(struct calls_feed *f)
{
	struct input *in = &f->in;
	struct raw r = { .f = f };
	struct nt_event ev[256];
	struct nt_code *code;
	struct nt_flow *flow;
	uint64_t losses;
	int i, n;

	if (!in->images)
		die("no program given: --elf or --raw%s", input_pipe_hint(in));
	input_open(in);
	input_check_sources(in);
	input_say_begin(in);
	f->symbols = symbols_new(in);
	code = input_code(in);
	flow = input_flow(in, code, in->begin, in->size);
	begin(f, in->params.xlen == 32 ? NT_RV32_TASK_SIZE : 1ull << 63,
	      in->params.timestamps ? "ticks" : NULL);
	while ((n = nt_flow_next(flow, ev, 256)) > 0) {
		for (i = 0; i < n; i++)
			put_event(&r, &ev[i]);
		progress(nt_flow_consumed(flow), in->size - in->begin);
	}
	if (n < 0)
		die("%s", nt_strerror(n));
	progress_end();
	flush_held(&r);
	losses = f->calls.losses;
	calls_end(&f->calls);
	f->end(f);
	if (losses) {
		fprintf(stderr, "ntrace: %" PRIu64 " losses, %" PRIu64 " bytes skipped\n", losses,
			r.skipped);
		diagnose(in);
	}
	nt_flow_free(flow);
	nt_code_free(code);
	symbols_free(f->symbols);
	return losses ? EXIT_LOSSES : EXIT_WHOLE;
}

int calls_feed_run(struct calls_feed *f)
{
	int status;

	if (rec_is_data(f->in.file)) {
		status = of_recording(f);
	} else {
		rec_refuse_options(&f->options, "a raw trace");
		status = of_trace(f);
	}
	rec_options_free(&f->options);
	input_free(&f->in);
	return status;
}
