// SPDX-License-Identifier: GPL-2.0-only
/*
 * Follow calls: make a stack for each thread from its branches
 */
#include <stdlib.h>

#include "cmd.h"
#include "follow.h"

/* A stack that is deeper than that of any program means that returns were missed. */
#define FRAMES_MAX	65536

/* ----------------------------------------------------------- threads --- */

/* The pointer to the thread, or to where it has to be inserted */
static struct follow_thread **find_place(struct follow *f, int tid, int cpu)
{
	unsigned int hash = (unsigned int)(tid * 31 + (tid > 0 ? 0 : cpu)) % FOLLOW_BUCKETS;
	struct follow_thread **at;

	for (at = &f->threads[hash]; *at; at = &(*at)->next)
		if ((*at)->tid == tid && (tid > 0 || (*at)->cpu == cpu))
			break;
	return at;
}

struct follow_thread *follow_find(struct follow *f, int tid, int cpu)
{
	return *find_place(f, tid, cpu);
}

void follow_remove(struct follow *f, struct follow_thread *th)
{
	*find_place(f, th->tid, th->cpu) = th->next;
	free(th->frames);
	free(th);
}

struct follow_thread *follow_thread(struct follow *f, int pid, int tid, int cpu)
{
	struct follow_thread **at = find_place(f, tid, cpu), *th;

	if (*at)
		return *at;
	th = calloc(1, f->user.thread_size);
	if (!th)
		die("%s", nt_strerror(NT_ENOMEM));
	th->pid = pid;
	th->tid = tid;
	th->cpu = tid > 0 ? 0 : cpu;
	*at = th;
	return th;
}

struct follow_thread *follow_next(struct follow *f, const struct follow_thread *th)
{
	size_t i = 0;

	if (th && th->next)
		return th->next;
	if (th)
		i = (unsigned int)(th->tid * 31 + (th->tid > 0 ? 0 : th->cpu)) % FOLLOW_BUCKETS + 1;
	while (i < FOLLOW_BUCKETS && !f->threads[i])
		i++;
	return i < FOLLOW_BUCKETS ? f->threads[i] : NULL;
}

void follow_free(struct follow *f)
{
	struct follow_thread *th, *next;
	size_t i;

	for (i = 0; i < FOLLOW_BUCKETS; i++) {
		for (th = f->threads[i]; th; th = next) {
			next = th->next;
			free(th->frames);
			free(th);
		}
		f->threads[i] = NULL;
	}
}

/* ------------------------------------------------------------ frames --- */

static const struct follow_frame *frame(const struct follow *f, const struct follow_thread *th,
					size_t i)
{
	return follow_frame(f, th, i);
}

static void pop(struct follow *f, struct follow_thread *th, enum follow_end why)
{
	th->nr--;
	f->user.leave(f->user.ctx, th, follow_frame(f, th, th->nr), why);
}

void follow_leave(struct follow *f, struct follow_thread *th, size_t nr, enum follow_end why)
{
	while (th->nr > nr)
		pop(f, th, why);
}

void follow_interval(struct follow *f, struct follow_thread *th, unsigned int interval)
{
	if (th->interval != interval)
		follow_leave(f, th, 0, FOLLOW_CUT);
	th->interval = interval;
}

/*
 * The innermost frame returns, until only nr frames are left. The frames in between have not
 * returned, with one exception: with `own', the outermost of them has.
 */
static void return_to(struct follow *f, struct follow_thread *th, size_t nr, bool own)
{
	if (th->nr > nr)
		pop(f, th, FOLLOW_RETURNED);
	follow_leave(f, th, nr + own, FOLLOW_LEFT);
	follow_leave(f, th, nr, FOLLOW_RETURNED);
}

static void push(struct follow *f, struct follow_thread *th, struct follow_frame with,
		 const struct perf_event_line *ev, const struct perf_place *at)
{
	struct follow_frame *new;

	if (th->nr == FRAMES_MAX)
		follow_leave(f, th, 0, FOLLOW_CUT);
	if (th->nr == th->room) {
		th->room = th->room ? 2 * th->room : 64;
		th->frames = reallocarray(th->frames, th->room, f->user.frame_size);
		if (!th->frames)
			die("%s", nt_strerror(NT_ENOMEM));
	}
	new = follow_frame(f, th, th->nr);
	*new = with;
	new->kernel = at->addr >= f->user.kernel_from;
	f->user.enter(f->user.ctx, th, new, ev, at);
	th->nr++;
}

/*
 * Does the frame return to this address? A call has two or four bytes. Most traps return to the
 * instruction that trapped.
 */
static bool returns_to(const struct follow_frame *fr, uint64_t addr)
{
	return addr == fr->from + 2 || addr == fr->from + 4 ||
	       (fr->kind >= FOLLOW_TRAP && addr == fr->from);
}

/* The index of the innermost frame, of at least this kind, that returns to the address; -1: none */
static long find_return(const struct follow *f, const struct follow_thread *th,
			enum follow_kind least, uint64_t addr)
{
	long i;

	for (i = (long)th->nr - 1; i >= 0; i--) {
		const struct follow_frame *fr = frame(f, th, i);

		/* The kernel's `ret' does not return to what a trap interrupted. */
		if (least < FOLLOW_TRAP && fr->kind >= FOLLOW_TRAP)
			return -1;
		if (fr->kind != FOLLOW_BASE && fr->kind >= least && returns_to(fr, addr))
			return i;
	}
	return -1;
}

/* The innermost frame whose function contains the address: longjmp() returns there. */
static long find_function(struct follow *f, struct follow_thread *th, uint64_t addr)
{
	bool kernel = addr >= f->user.kernel_from;
	long i;

	for (i = (long)th->nr - 1; f->user.is_in && i >= 0; i--) {
		const struct follow_frame *fr = frame(f, th, i);

		if (fr->kind != FOLLOW_GAP && fr->kernel == kernel &&
		    f->user.is_in(f->user.ctx, th, fr, addr))
			return i;
		/* The kernel's `ret' does not return to what it interrupted. */
		if (kernel && fr->kind >= FOLLOW_TRAP)
			return -1;
	}
	return -1;
}

/* Code that no frame on the stack has called */
static void base(struct follow *f, struct follow_thread *th, const struct perf_event_line *ev,
		 const struct perf_place *at)
{
	push(f, th, (struct follow_frame){ .kind = FOLLOW_BASE }, ev, at);
}

/*
 * If the return leads to a caller from before the trace, all frames of the called functions have
 * ended.
 */
static void on_return(struct follow *f, struct follow_thread *th, const struct perf_event_line *ev)
{
	long at = find_return(f, th, FOLLOW_CALL, ev->to.addr);
	size_t nr;

	if (at >= 0) {
		return_to(f, th, at, true);
		return;
	}
	at = find_function(f, th, ev->to.addr);
	if (at >= 0) {
		return_to(f, th, at + 1, false);
		return;
	}
	for (nr = th->nr; nr && frame(f, th, nr - 1)->kind < FOLLOW_TRAP; nr--)
		;
	return_to(f, th, nr, false);
	base(f, th, ev, &ev->to);
}

/*
 * If a trap returns elsewhere, for example to a signal handler, its frame stays open: sigreturn
 * returns to the interrupted code later.
 */
static void on_resume(struct follow *f, struct follow_thread *th, const struct perf_event_line *ev)
{
	long at = find_return(f, th, FOLLOW_TRAP, ev->to.addr);

	if (at >= 0)
		return_to(f, th, at, true);
	if (at < 0 || !th->nr)
		base(f, th, ev, &ev->to);
}

void follow_branch(struct follow *f, struct follow_thread *th, const struct perf_event_line *ev)
{
	struct follow_frame with = { .from = ev->from.addr };

	if (!th->nr && !(ev->flags & (PERF_BEGIN | PERF_END)))
		base(f, th, ev, &ev->from);
	if (ev->flags & PERF_END) {
		with.kind = FOLLOW_GAP;
		push(f, th, with, ev, &ev->from);
	} else if (ev->flags & (PERF_BEGIN | PERF_ERET)) {
		on_resume(f, th, ev);
	} else if (ev->flags & PERF_TRAP) {
		with.kind = FOLLOW_TRAP;
		push(f, th, with, ev, &ev->to);
	} else if (ev->flags & PERF_CALL) {
		with.kind = FOLLOW_CALL;
		push(f, th, with, ev, &ev->to);
	} else if (ev->flags & PERF_RETURN) {
		on_return(f, th, ev);
	}
}

void follow_tail(struct follow *f, struct follow_thread *th, const struct perf_event_line *ev)
{
	struct follow_frame with = *frame(f, th, th->nr - 1);

	pop(f, th, FOLLOW_RETURNED);
	push(f, th, with, ev, &ev->to);
}

void follow_return(struct follow *f, struct follow_thread *th, size_t nr)
{
	return_to(f, th, nr, false);
}
