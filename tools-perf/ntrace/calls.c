// SPDX-License-Identifier: GPL-2.0-only
/*
 * The cost of calls. A frame is an open call. Retired instructions count as its own while it is the
 * innermost frame of its thread. The clock of a thread stands still while another task runs. The
 * cost of an interrupt is subtracted from that of the interrupted frames.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "rec.h"
#include "stacks.h"

/* Nesting levels of interrupts that count_open() distinguishes */
#define LEVELS	8

struct frame {
	struct follow_frame f;
	struct calls_function *function;
	const struct calls_function *caller;
	uint64_t begin;			/* in the time of the trace */
	uint64_t clock, insns;		/* of the thread, when the frame was entered */
	uint64_t own_time, own_insns;
	uint64_t off_time, off_insns;	/* of interrupts; not part of the call's cost */
	int cpu;
	unsigned int level;		/* number of interrupt frames up to this frame */
	bool interrupt, cut;
	bool inner;			/* a frame of the same function is open further out */
	struct stacks_node *node;
};

struct calls_thread {
	struct follow_thread f;
	struct rec_map open;		/* function and level -> number of frames + 1 */
	uint64_t now, clock, insns;
	uint64_t seen;			/* value of calls.losses at the last event */
	int cpu;			/* the last CPU */
	char comm[17];
	uint64_t end;			/* the time of its EXIT, or 0 */
	bool known;			/* an event of the thread was seen */
	bool away;			/* another task is running */
	bool outside;			/* it left traced code with an xRET */
	bool exec;			/* exec: the open frames will not be returned to */
	bool tail;			/* entering a frame for a tail call ... */
	bool of_interrupt;		/* ... in place of an interrupt handler */
	struct stacks_leaf *leaf;	/* the leaf that ran last */
};

static struct frame *frame_at(const struct calls *c, const struct calls_thread *th, size_t i)
{
	return follow_frame(&c->follow, &th->f, i);
}

static struct frame *innermost(const struct calls *c, const struct calls_thread *th)
{
	return th->f.nr ? frame_at(c, th, th->f.nr - 1) : NULL;
}

/* --------------------------------------------------------- functions --- */

static bool has_name(const struct calls_function *fn, const char *name)
{
	return name ? !strcmp(fn->name, name) : fn->name == fn->address;
}

struct calls_function *calls_function(struct calls *c, const char *name, const char *file,
				      const struct rec_file *build, uint64_t start)
{
	uint64_t hash = start * 0x9e3779b97f4a7c15ull + (uintptr_t)file * 31;
	struct calls_function **at, *fn;

	for (at = &c->functions[(hash >> 32) % CALLS_BUCKETS]; *at; at = &(*at)->next)
		if ((*at)->start == start && (*at)->build == build &&
		    !strcmp((*at)->file, file) && has_name(*at, name))
			return *at;
	fn = calloc(1, sizeof(*fn));
	if (!fn)
		die("%s", nt_strerror(NT_ENOMEM));
	snprintf(fn->address, sizeof(fn->address), "%.64s%s0x%" PRIx64, last_part(file),
		 *file ? "+" : "", start);
	fn->name = name ?: fn->address;
	fn->file = file;
	fn->build = build;
	fn->start = start;
	fn->number = c->nr_functions++;
	*at = fn;
	return fn;
}

static struct calls_function *function_at(struct calls *c, uint64_t addr, bool called, bool *start)
{
	bool part;
	struct calls_function *fn = c->find(c->ctx, addr, called, start, &part);

	return fn ?: calls_function(c, "[unknown]", "", NULL, 0);
}

/* Add to the number of open frames of a function. Returns the number before. */
static uintptr_t count_open(struct calls_thread *th, const struct frame *f, int add)
{
	unsigned int level = f->level < LEVELS ? f->level : LEVELS - 1;
	int64_t key = (int64_t)f->function->number * LEVELS + level;
	/* the map cannot store 0, so it contains the number + 1 */
	uintptr_t n = (uintptr_t)rec_map_find(&th->open, key);

	n += !n;
	rec_map_set(&th->open, key, (void *)(n + add));
	return n - 1;
}

/* ------------------------------------------------------------ frames --- */

static bool is_whole(const struct calls_thread *th, const struct frame *f, bool start)
{
	/* What ran before is not known, unless this is an entry into the kernel. */
	if (f->f.kind == FOLLOW_BASE && !th->tail)
		return start && (th->f.nr || th->outside);
	return true;
}

/* An interrupt was not called by the interrupted function. */
static void enter_node(struct calls *c, struct frame *f, const struct frame *below)
{
	bool called = below && !f->interrupt;

	f->node = stacks_enter(c->stacks, called ? below->node : NULL, f->function,
			       called && f->f.from ? c->place(c->ctx, f->f.from) : 0, called);
	f->node->calls++;
}

static void enter(void *ctx, struct follow_thread *thread, void *frame,
		  const struct perf_event_line *ev, const struct perf_place *at)
{
	struct calls_thread *th = (struct calls_thread *)thread;
	struct calls *c = ctx;
	const struct frame *below = innermost(c, th);
	struct frame *f = frame;
	bool start = true;

	*f = (struct frame){
		.f = f->f, .begin = ev->time, .clock = th->clock, .insns = th->insns,
		.cpu = ev->cpu,
		.interrupt = th->tail ? th->of_interrupt :
				f->f.kind == FOLLOW_TRAP && ev->flags & PERF_INTERRUPT,
		.caller = below ? below->function : NULL,
	};
	if (f->f.kind == FOLLOW_GAP)
		f->function = ev->flags & PERF_SYSCALL ? c->syscall : c->untraced;
	else
		f->function = function_at(c, at->addr, f->f.kind != FOLLOW_BASE, &start);
	f->level = (below ? below->level : 0) + f->interrupt;
	f->cut = !is_whole(th, f, start);
	f->inner = count_open(th, f, 1);
	th->outside = false;
	if (c->stacks)
		enter_node(c, f, below);
}

static void add_whole(struct calls *c, const struct frame *f, uint64_t time, uint64_t insns,
		      enum follow_end why)
{
	struct calls_function *fn = f->function;
	uint64_t took = c->by_insns ? insns : time;

	fn->calls++;
	fn->left += why == FOLLOW_LEFT;
	quantiles_add(&fn->took, took);
	if (fn->calls > 1 && took <= fn->longest)
		return;
	fn->longest = took;
	fn->longest_at = f->begin;
	fn->longest_caller = f->caller;
}

static void leave(void *ctx, struct follow_thread *thread, void *frame, enum follow_end why)
{
	struct calls_thread *th = (struct calls_thread *)thread;
	struct calls *c = ctx;
	struct frame *f = frame, *below = innermost(c, th);
	struct calls_function *fn = f->function;
	uint64_t time = th->clock - f->clock - f->off_time;
	uint64_t insns = th->insns - f->insns - f->off_insns;
	bool cut = f->cut || why == FOLLOW_CUT;

	count_open(th, f, -1);
	fn->own_time += f->own_time;
	fn->own_insns += f->own_insns;
	if (!f->inner) {
		fn->total_time += time;
		fn->total_insns += insns;
	}
	if (!f->inner && f->node) {
		f->node->time += time;
		f->node->insns += insns;
	}
	th->leaf = NULL;
	if (below) {
		below->off_time += f->interrupt ? time + f->off_time : f->off_time;
		below->off_insns += f->interrupt ? insns + f->off_insns : f->off_insns;
	}
	/* A gap that is cut is not a call of what follows the trace. */
	if (cut && f->f.kind == FOLLOW_GAP)
		return;
	if (cut)
		fn->cut++;
	else
		add_whole(c, f, time, insns, why);
	if (c->one)
		c->one(c->ctx, &(struct calls_one){
			.function = fn, .caller = f->caller, .begin = f->begin, .time = time,
			.insns = insns, .own_insns = f->own_insns, .cpu = f->cpu,
			.pid = th->f.pid, .tid = th->f.tid, .comm = th->comm,
			.how = cut ? "cut" : why == FOLLOW_LEFT ? "left" : "whole",
		});
}

static bool is_in(void *ctx, struct follow_thread *th, const void *frame, uint64_t addr)
{
	const struct frame *f = frame;
	struct calls *c = ctx;
	bool start, part;

	(void)th;
	return c->find(c->ctx, addr, false, &start, &part) == f->function;
}

/* -------------------------------------------------------------- time --- */

static void come_back(struct calls_thread *th, uint64_t time)
{
	th->away = false;
	if (time > th->now)
		th->now = time;
}

static struct stacks_label label_of(const struct calls_thread *th)
{
	struct stacks_label label = { .pid = th->f.pid, .tid = th->f.tid, .cpu = th->cpu };

	memcpy(label.comm, th->comm, sizeof(label.comm));
	return label;
}

/*
 * The leaf that time is added to: that of the last run, or the function itself if nothing was
 * traced.
 */
static struct stacks_leaf *leaf_of(struct calls *c, struct calls_thread *th, const struct frame *f)
{
	const struct stacks_label label = label_of(th);

	if (!th->leaf || th->leaf->node != f->node)
		th->leaf = stacks_run(c->stacks, f->node, f->function->start, 0, &label);
	return th->leaf;
}

/* The thread ran from the last event to this time, unless it was away. */
static void advance(struct calls *c, struct calls_thread *th, uint64_t time)
{
	struct frame *f = innermost(c, th);

	if (th->known && !th->away && time > th->now) {
		th->clock += time - th->now;
		if (f)
			f->own_time += time - th->now;
		if (f && c->stacks)
			leaf_of(c, th, f)->time += time - th->now;
	}
	th->known = true;
	come_back(th, time);
}

static void go_away(struct calls *c, struct calls_thread *th, uint64_t time)
{
	if (th->away)
		return;
	/* no event tells when it left the CPU for the last time */
	if (th->end && time > th->end)
		time = th->end;
	advance(c, th, time);
	th->away = true;
}

static struct calls_thread **running(struct calls *c, int cpu)
{
	unsigned int n = cpu < 0 ? 1 : cpu + 2;

	if (n > c->nr_running) {
		c->running = reallocarray(c->running, n, sizeof(*c->running));
		if (!c->running)
			die("%s", nt_strerror(NT_ENOMEM));
		memset(c->running + c->nr_running, 0, (n - c->nr_running) * sizeof(*c->running));
		c->nr_running = n;
	}
	return &c->running[n - 1];
}

/*
 * In the lost trace, the kernel may have switched to a task that is not traced now. So the thread's
 * next event does not tell whether it has returned meanwhile.
 */
static void see_losses(struct calls *c, struct calls_thread *th)
{
	const struct frame *f = innermost(c, th);

	if (f && (th->away || f->f.kind == FOLLOW_GAP))
		follow_leave(&c->follow, &th->f, 0, FOLLOW_CUT);
	th->seen = c->losses;
}

static void switch_to(struct calls *c, struct calls_thread *th, const struct calls_event *ev)
{
	struct calls_thread **at = running(c, ev->cpu);

	if (*at && *at != th && (*at)->cpu == ev->cpu)
		go_away(c, *at, ev->time);
	*at = th;
	th->cpu = ev->cpu;
	th->f.pid = ev->pid;
	if (ev->comm && strcmp(th->comm, ev->comm))
		th->leaf = NULL;
	if (ev->comm)
		memcpy(th->comm, ev->comm, strnlen(ev->comm, sizeof(th->comm) - 1) + 1);
	c->last = th;
}

/* The thread of an event; its clock is advanced to the event's time. */
static struct calls_thread *thread_of(struct calls *c, const struct calls_event *ev)
{
	struct calls_thread *th = c->last;

	if (!th || th->f.tid != ev->tid || th->cpu != ev->cpu || th->f.pid != ev->pid ||
	    (ev->comm && strcmp(th->comm, ev->comm))) {
		th = (struct calls_thread *)follow_thread(&c->follow, ev->pid, ev->tid, ev->cpu);
		if (!th->known)
			th->seen = c->losses;
		switch_to(c, th, ev);
	}
	if (th->seen != c->losses)
		see_losses(c, th);
	follow_interval(&c->follow, &th->f, ev->interval);
	advance(c, th, ev->time);
	if (!c->from)
		c->from = ev->time;
	if (ev->time > c->to)
		c->to = ev->time;
	return th;
}

void calls_interval(struct calls *c)
{
	struct follow_thread *f;

	for (f = follow_next(&c->follow, NULL); f; f = follow_next(&c->follow, f)) {
		follow_leave(&c->follow, f, 0, FOLLOW_CUT);
		((struct calls_thread *)f)->known = false;
		((struct calls_thread *)f)->away = false;
	}
	c->last = NULL;
}

void calls_switch_in(struct calls *c, uint64_t time, int pid, int tid, int cpu)
{
	struct calls_thread *th = *running(c, cpu);

	if (th && th->f.tid != tid && th->cpu == cpu)
		go_away(c, th, time);
	th = (struct calls_thread *)follow_thread(&c->follow, pid, tid, cpu);
	if (th->away)
		come_back(th, time);
}

void calls_switch_out(struct calls *c, uint64_t time, int pid, int tid, int cpu)
{
	struct calls_thread *th = (struct calls_thread *)follow_thread(&c->follow, pid, tid, cpu);

	if (th->known)
		go_away(c, th, time);
}

void calls_exec(struct calls *c, int pid, int tid)
{
	struct calls_thread *th = (struct calls_thread *)follow_thread(&c->follow, pid, tid, -1);

	th->exec = true;
	/* if another thread takes the leader's place, the leader's EXIT came before */
	th->end = 0;
}

void calls_exit(struct calls *c, uint64_t time, int tid)
{
	struct follow_thread *f = follow_find(&c->follow, tid, -1);

	if (f)
		((struct calls_thread *)f)->end = time;
}

void calls_gone(struct calls *c, int tid)
{
	struct follow_thread *f = follow_find(&c->follow, tid, -1);
	struct calls_thread *th = (struct calls_thread *)f;
	unsigned int i;

	if (!f)
		return;
	follow_leave(&c->follow, f, 0, FOLLOW_CUT);
	for (i = 0; i < c->nr_running; i++)
		if (c->running[i] == th)
			c->running[i] = NULL;
	if (c->last == th)
		c->last = NULL;
	rec_map_free(&th->open);
	follow_remove(&c->follow, f);
}

/* ------------------------------------------------------------ events --- */

static struct perf_event_line line_of(const struct calls_event *ev, unsigned int flags)
{
	return (struct perf_event_line){
		.pid = ev->pid, .tid = ev->tid, .cpu = ev->cpu, .time = ev->time, .flags = flags,
		.from.addr = ev->from, .to.addr = ev->to,
	};
}

void calls_run(struct calls *c, const struct calls_event *ev, uint64_t insns)
{
	struct calls_thread *th = thread_of(c, ev);
	struct perf_event_line line;

	if (!th->f.nr) {
		line = line_of(ev, 0);
		follow_branch(&c->follow, &th->f, &line);
	}
	innermost(c, th)->own_insns += insns;
	th->insns += insns;
	c->insns += insns;
	if (!c->stacks)
		return;
	const struct stacks_label label = label_of(th);

	th->leaf = stacks_run(c->stacks, innermost(c, th)->node, c->place(c->ctx, ev->from),
			      (uint32_t)insns, &label);
}

void calls_branch(struct calls *c, const struct calls_event *ev)
{
	struct calls_thread *th;
	const struct frame *f;

	if (!c->stacks)
		return;
	th = thread_of(c, ev);
	f = innermost(c, th);
	if (f)
		leaf_of(c, th, f)->branches++;
}

static unsigned int flags_of(const struct calls_event *ev)
{
	switch (ev->type) {
	case NT_TYPE_CALL:
	case NT_TYPE_ICALL:
	case NT_TYPE_SWAP:
		/* code that reads its own address calls the next instruction */
		return ev->to == ev->from + 4 || ev->to == ev->from + 2 ? 0 : PERF_CALL;
	case NT_TYPE_RET:
		return PERF_RETURN;
	case NT_TYPE_ERET:
		return PERF_ERET;
	case NT_TYPE_INTERRUPT:
		return PERF_TRAP | PERF_INTERRUPT;
	case NT_TYPE_EXCEPTION:
	case NT_TYPE_TRAP:
		return PERF_TRAP;
	default:
		return 0;
	}
}

/* A jump to the start of another function */
static bool is_tail(struct calls *c, const struct calls_thread *th, const struct calls_event *ev)
{
	const struct frame *f = innermost(c, th);
	const struct calls_function *fn;
	bool start, part;

	if (ev->type != NT_TYPE_JUMP && ev->type != NT_TYPE_IJUMP &&
	    ev->type != NT_TYPE_JUMP_LINK && ev->type != NT_TYPE_IJUMP_LINK)
		return false;
	fn = c->find(c->ctx, ev->to, false, &start, &part);
	return f && fn && start && !part && fn != f->function && f->f.kind != FOLLOW_GAP;
}

/*
 * After an xRET, all kernel frames of the trap have ended. If it leaves traced code, so has the
 * trap itself.
 */
static void end_trap(struct calls *c, struct calls_thread *th, bool outside)
{
	size_t nr = th->f.nr;

	while (nr && frame_at(c, th, nr - 1)->f.kind != FOLLOW_TRAP)
		nr--;
	follow_return(&c->follow, &th->f, nr && outside ? nr - 1 : nr);
	th->outside = outside;
}

/*
 * Trace continued elsewhere in the kernel, and what ran in between is not known. All open frames
 * are cut, up to the innermost interrupt. Returns true if one of these frames continues; the frames
 * that it had called have then ended.
 */
static bool mark_gap(struct calls *c, struct calls_thread *th, uint64_t to)
{
	size_t i, found = 0;

	follow_leave(&c->follow, &th->f, th->f.nr - 1, FOLLOW_RETURNED);
	for (i = th->f.nr; i--;) {
		struct frame *f = frame_at(c, th, i);

		f->cut = true;
		if (!found && is_in(c, &th->f, f, to))
			found = i + 1;
		if (f->interrupt)
			break;
	}
	if (found)
		follow_leave(&c->follow, &th->f, found, FOLLOW_CUT);
	return found;
}

/* Returns true if no new frame begins. */
static bool on_begin(struct calls *c, struct calls_thread *th, uint64_t to)
{
	const struct frame *f = innermost(c, th);

	return f && f->f.kind == FOLLOW_GAP && f->f.kernel && to != f->f.from &&
	       mark_gap(c, th, to);
}

void calls_transfer(struct calls *c, const struct calls_event *ev)
{
	struct calls_thread *th = thread_of(c, ev);
	struct perf_event_line line = line_of(ev, ev->flags | flags_of(ev));

	/* the name may have changed since the thread ran last */
	if (line.flags & PERF_BEGIN)
		switch_to(c, th, ev);
	if (line.flags & PERF_ERET)
		end_trap(c, th, line.flags & PERF_END);
	if (line.flags & PERF_ERET && line.flags & PERF_END)
		return;
	if (line.flags & PERF_END)
		line.flags &= ~(PERF_TRAP | PERF_INTERRUPT | PERF_CALL | PERF_RETURN);
	if (th->exec && line.flags & (PERF_ERET | PERF_BEGIN) &&
	    line.to.addr < c->follow.user.kernel_from) {
		follow_leave(&c->follow, &th->f, 0, FOLLOW_LEFT);
		th->exec = false;
	}
	if (line.flags & PERF_BEGIN && on_begin(c, th, line.to.addr))
		return;
	if (is_tail(c, th, ev)) {
		th->tail = true;
		th->of_interrupt = innermost(c, th)->interrupt;
		follow_tail(&c->follow, &th->f, &line);
		th->tail = false;
	} else {
		follow_branch(&c->follow, &th->f, &line);
	}
}

void calls_gap(struct calls *c, const struct calls_event *ev)
{
	follow_leave(&c->follow, &thread_of(c, ev)->f, 0, FOLLOW_CUT);
}

void calls_loss(struct calls *c, const struct calls_event *ev)
{
	calls_gap(c, ev);
	c->last->seen = ++c->losses;
}

/* --------------------------------------------------------------- all --- */

void calls_init(struct calls *c, uint64_t kernel_from)
{
	c->follow.user = (struct follow_user){
		.thread_size = sizeof(struct calls_thread), .frame_size = sizeof(struct frame),
		.kernel_from = kernel_from, .enter = enter, .leave = leave, .is_in = is_in,
		.ctx = c,
	};
	c->untraced = calls_function(c, "[not traced]", "", NULL, 1);
	c->syscall = calls_function(c, "[system call]", "", NULL, 2);
}

void calls_end(struct calls *c)
{
	struct follow_thread *th;

	for (th = follow_next(&c->follow, NULL); th; th = follow_next(&c->follow, th))
		follow_leave(&c->follow, th, 0, FOLLOW_CUT);
}

void calls_free(struct calls *c)
{
	struct calls_function *fn, *next;
	struct follow_thread *th;
	size_t i;

	for (th = follow_next(&c->follow, NULL); th; th = follow_next(&c->follow, th))
		rec_map_free(&((struct calls_thread *)th)->open);
	follow_free(&c->follow);
	for (i = 0; i < CALLS_BUCKETS; i++) {
		for (fn = c->functions[i]; fn; fn = next) {
			next = fn->next;
			quantiles_free(&fn->took);
			free(fn);
		}
	}
	free(c->running);
}
