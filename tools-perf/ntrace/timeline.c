// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace timeline: a stack for each thread, as calls and returns make it
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "timeline.h"

/* A stack that is deeper than any program's has lost its returns. */
#define FRAMES_MAX	65536
/* Idle threads all have number 0. */
#define IDLE_TRACK	(1 << 22)

enum frame_kind {
	FRAME_BASE,		/* where trace found the thread, or a return led that was no call's */
	FRAME_CALL,
	FRAME_TRAP,		/* into the kernel, which is traced */
	FRAME_GAP,		/* the same, and it is not */
};

struct frame {
	enum frame_kind kind;
	const char *name;
	uint64_t from;		/* the instruction that left */
	uint64_t start;
	bool kernel;		/* the code of this frame is */
};

struct thread {
	struct thread *next;
	int pid, tid, cpu;
	char *name;
	struct frame *frames;
	size_t nr, room;
	uint64_t now;		/* of the last event; no two have the same */
	bool lost;		/* nobody knows what was executed */
	uint64_t lost_since;
	bool named[2];		/* the track: user, kernel */
	char *reason;		/* of the loss */
};

#define BUCKETS	4096

struct name {
	struct name *next;
	char text[];
};

struct timeline {
	struct timeline_limits limits;
	struct timeline_totals totals;
	uint64_t min, until;	/* slices until min doubles */
	struct thread *threads[BUCKETS];
	struct name *names[BUCKETS];
};

static void *checked(void *p)
{
	if (!p)
		die("%s", nt_strerror(NT_ENOMEM));
	return p;
}

/* ------------------------------------------------------------- names --- */

/* The line that has a name goes; programs have few names, compared to calls. */
static const char *keep(struct timeline *t, const char *text)
{
	uint32_t hash = 2166136261u;
	struct name **at, *n;
	const char *p;

	for (p = text; *p; p++)
		hash = (hash ^ (unsigned char)*p) * 16777619u;
	for (at = &t->names[hash % BUCKETS]; *at; at = &(*at)->next)
		if (!strcmp((*at)->text, text))
			return (*at)->text;
	n = checked(malloc(sizeof(*n) + strlen(text) + 1));
	strcpy(n->text, text);
	n->next = NULL;
	*at = n;
	return n->text;
}

static const char *name_of(struct timeline *t, const struct perf_place *place)
{
	char number[32];

	if (place->sym)
		return keep(t, place->sym);
	snprintf(number, sizeof(number), "0x%" PRIx64, place->addr);
	return keep(t, number);
}

static bool is_kernel(const struct timeline *t, const struct perf_place *place)
{
	return place->addr >= t->limits.kernel_from;
}

/* ------------------------------------------------------------ output --- */

static struct track track_of(struct thread *th, bool kernel)
{
	struct track track = {
		.pid = th->pid, .tid = th->tid > 0 ? th->tid : IDLE_TRACK + th->cpu,
		.thread = th->name, .kernel = kernel,
	};

	if (!th->named[kernel])
		json_track(&track);
	th->named[kernel] = true;
	return track;
}

/* However long a trace is, what is written of it grows slower and slower. */
static void ration(struct timeline *t, struct thread *th)
{
	struct track track = track_of(th, false);
	char text[80];

	if (t->until)
		return;
	t->until = t->limits.slices;
	t->min = t->min ? 2 * t->min : 1;
	snprintf(text, sizeof(text), "from here on only what takes %" PRIu64 " ns", t->min);
	json_instant(&track, text, "ntrace", th->now);
}

static void put_slice(struct timeline *t, struct thread *th, bool kernel, const char *name,
		      const char *category, uint64_t start, uint64_t end)
{
	struct track track = track_of(th, kernel);

	json_slice(&track, name, category, start, end);
	t->totals.slices++;
	t->until--;
	ration(t, th);
}

static void pop(struct timeline *t, struct thread *th)
{
	static const char *const categories[] = { "user", "user", "trap", "untraced" };
	struct frame *f = &th->frames[--th->nr];
	const char *category = f->kernel && f->kind < FRAME_TRAP ? "kernel" : categories[f->kind];

	if (th->now - f->start < t->min || th->nr >= t->limits.depth)
		t->totals.left_out++;
	else
		put_slice(t, th, f->kernel, f->name, category, f->start, th->now);
	/*
	 * Viewers add start and duration in floating point, and take what ends with its
	 * caller, or where the next begins, for longer than it is.
	 */
	th->now++;
}

static void pop_to(struct timeline *t, struct thread *th, size_t nr)
{
	while (th->nr > nr)
		pop(t, th);
}

static void push(struct timeline *t, struct thread *th, enum frame_kind kind, const char *name,
		 uint64_t from, bool kernel)
{
	if (th->nr == FRAMES_MAX)
		pop_to(t, th, 0);
	if (th->nr == th->room) {
		th->room = th->room ? 2 * th->room : 64;
		th->frames = checked(reallocarray(th->frames, th->room, sizeof(*th->frames)));
	}
	th->frames[th->nr++] = (struct frame){ kind, name, from, th->now, kernel };
}

/* ----------------------------------------------------------- threads --- */

static struct thread *find_thread(struct timeline *t, const struct perf_event_line *ev)
{
	int cpu = ev->tid > 0 ? 0 : ev->cpu;
	struct thread **at = &t->threads[(unsigned int)(ev->tid * 31 + cpu) % BUCKETS], *th;
	char number[32];

	for (; *at; at = &(*at)->next)
		if ((*at)->tid == ev->tid && (*at)->cpu == cpu)
			return *at;
	th = checked(calloc(1, sizeof(*th)));
	th->pid = ev->pid;
	th->tid = ev->tid;
	th->cpu = cpu;
	snprintf(number, sizeof(number), ev->tid > 0 ? "%d" : "CPU %d", ev->tid > 0 ? ev->tid : cpu);
	th->name = checked(strdup(number));
	*at = th;
	t->totals.threads++;
	return th;
}

/*
 * Time of the trace is that of messages, and all branches of one have it: a
 * nanosecond between them lets viewers see what was in what.
 */
static void advance(struct thread *th, uint64_t time)
{
	th->now = time > th->now ? time : th->now + 1;
}

/* A program that was executed anew begins anew; names of branches are perf's. */
static void identify(struct timeline *t, struct thread *th, const struct perf_event_line *ev)
{
	if (th->pid == ev->pid && !strcmp(th->name, ev->comm))
		return;
	pop_to(t, th, 0);
	free(th->name);
	th->name = checked(strdup(ev->comm));
	th->pid = ev->pid;
	th->named[0] = th->named[1] = false;
}

/* ------------------------------------------------------------- stack --- */

/* Does the frame return there? Calls have two or four bytes, most traps return to what trapped. */
static bool returns_to(const struct frame *f, uint64_t addr)
{
	return addr == f->from + 2 || addr == f->from + 4 ||
	       (f->kind >= FRAME_TRAP && addr == f->from);
}

/* The innermost frame of a kind that returns there; -1 without one */
static long find_return(const struct thread *th, enum frame_kind least, uint64_t addr)
{
	long i;

	for (i = (long)th->nr - 1; i >= 0; i--) {
		const struct frame *f = &th->frames[i];

		/* What a trap interrupted is not what the kernel returns to with `ret'. */
		if (least < FRAME_TRAP && f->kind >= FRAME_TRAP)
			return -1;
		if (f->kind != FRAME_BASE && f->kind >= least && returns_to(f, addr))
			return i;
	}
	return -1;
}

/* Code that nothing on the stack called */
static void base(struct timeline *t, struct thread *th, const struct perf_place *to)
{
	push(t, th, FRAME_BASE, name_of(t, to), 0, is_kernel(t, to));
}

/* To a caller from before the trace: what there was belongs to what it called. */
static void on_return(struct timeline *t, struct thread *th, const struct perf_event_line *ev)
{
	long at = find_return(th, FRAME_CALL, ev->to.addr);
	size_t nr;

	if (at >= 0) {
		pop_to(t, th, at);
	} else {
		for (nr = th->nr; nr && th->frames[nr - 1].kind < FRAME_TRAP; nr--)
			;
		pop_to(t, th, nr);
		base(t, th, &ev->to);
	}
}

/*
 * A trap that returns elsewhere, as the kernel's does to a signal handler, stays
 * open: sigreturn comes back to what it left.
 */
static void on_resume(struct timeline *t, struct thread *th, const struct perf_event_line *ev)
{
	long at = find_return(th, FRAME_TRAP, ev->to.addr);

	if (at >= 0)
		pop_to(t, th, at);
	if (at < 0 || !th->nr)
		base(t, th, &ev->to);
}

static void on_trap(struct timeline *t, struct thread *th, const struct perf_event_line *ev)
{
	const char *what = ev->flags & PERF_SYSCALL ? "system call" :
			   ev->flags & PERF_INTERRUPT ? "interrupt" : "exception";

	push(t, th, FRAME_TRAP, what, ev->from.addr, is_kernel(t, &ev->to));
}

/* Why trace ended is known of system calls only. */
static void on_end(struct timeline *t, struct thread *th, const struct perf_event_line *ev)
{
	push(t, th, FRAME_GAP, ev->flags & PERF_SYSCALL ? "system call" : "not traced",
	     ev->from.addr, is_kernel(t, &ev->from));
}

static void on_branch(struct timeline *t, struct thread *th, const struct perf_event_line *ev)
{
	if (!th->nr && !(ev->flags & (PERF_BEGIN | PERF_END)))
		base(t, th, &ev->from);
	if (ev->flags & PERF_END)
		on_end(t, th, ev);
	else if (ev->flags & (PERF_BEGIN | PERF_ERET))
		on_resume(t, th, ev);
	else if (ev->flags & PERF_TRAP)
		on_trap(t, th, ev);
	else if (ev->flags & PERF_CALL)
		push(t, th, FRAME_CALL, name_of(t, &ev->to), ev->from.addr, is_kernel(t, &ev->to));
	else if (ev->flags & PERF_RETURN)
		on_return(t, th, ev);
}

/* ------------------------------------------------------------ losses --- */

static void on_loss(struct timeline *t, struct thread *th, const struct perf_event_line *ev)
{
	pop_to(t, th, 0);
	t->totals.losses++;
	if (th->lost)
		return;
	th->lost = true;
	th->lost_since = th->now;
	free(th->reason);
	th->reason = checked(strdup(ev->error));
}

/* However short it was: a loss is no detail. */
static void end_loss(struct timeline *t, struct thread *th)
{
	char *text = checked(malloc(strlen(th->reason) + sizeof("lost: ")));

	sprintf(text, "lost: %s", th->reason);
	put_slice(t, th, false, text, "loss", th->lost_since, th->now);
	free(text);
	th->lost = false;
	th->now++;
}

void timeline_event(struct timeline *t, const struct perf_event_line *ev)
{
	struct thread *th = find_thread(t, ev);

	advance(th, ev->time);
	if (ev->error) {
		on_loss(t, th, ev);
		return;
	}
	identify(t, th, ev);
	if (th->lost)
		end_loss(t, th);
	on_branch(t, th, ev);
}

/* --------------------------------------------------------------- all --- */

struct timeline *timeline_new(const struct timeline_limits *limits)
{
	struct timeline *t = checked(calloc(1, sizeof(*t)));

	t->limits = *limits;
	t->min = limits->min;
	t->until = limits->slices;
	json_begin();
	return t;
}

static void free_threads(struct thread *th)
{
	struct thread *next;

	for (; th; th = next) {
		next = th->next;
		free(th->frames);
		free(th->reason);
		free(th->name);
		free(th);
	}
}

static void free_names(struct name *n)
{
	struct name *next;

	for (; n; n = next) {
		next = n->next;
		free(n);
	}
}

void timeline_end(struct timeline *t, struct timeline_totals *totals)
{
	struct thread *th;
	size_t i;

	for (i = 0; i < BUCKETS; i++) {
		for (th = t->threads[i]; th; th = th->next) {
			advance(th, 0);
			pop_to(t, th, 0);
			if (th->lost)
				end_loss(t, th);
		}
	}
	json_end();
	*totals = t->totals;
	totals->min = t->min;
	for (i = 0; i < BUCKETS; i++) {
		free_threads(t->threads[i]);
		free_names(t->names[i]);
	}
	free(t);
}
