// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace timeline: slices of time between calls and returns
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "follow.h"
#include "timeline.h"

/* All idle threads have tid 0. */
#define IDLE_TRACK	(1 << 22)

struct frame {
	struct follow_frame f;
	const char *name;
	uint64_t start;
};

struct thread {
	struct follow_thread f;
	char *name;
	uint64_t now;		/* of the last event; unique */
	bool lost;		/* what was executed is not known */
	uint64_t lost_since;
	bool named[2];		/* the names of the tracks were written: user, kernel */
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
	uint64_t min, until;	/* number of slices until min doubles */
	struct follow follow;
	struct name *names[BUCKETS];
};

static void *checked(void *p)
{
	if (!p)
		die("%s", nt_strerror(NT_ENOMEM));
	return p;
}

/* ------------------------------------------------------------- names --- */

/*
 * Keep a copy of a name, because the line that contains it is freed. Programs have few names,
 * compared to calls.
 */
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

/* ------------------------------------------------------------ output --- */

static struct track track_of(struct thread *th, bool kernel)
{
	struct track track = {
		.pid = th->f.pid, .tid = th->f.tid > 0 ? th->f.tid : IDLE_TRACK + th->f.cpu,
		.thread = th->name, .kernel = kernel,
	};

	if (!th->named[kernel])
		json_track(&track);
	th->named[kernel] = true;
	return track;
}

/* Limit the output: the longer the trace, the longer a slice has to be. */
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

/* The reason for the end of trace is known for system calls only. */
static const char *frame_name(struct timeline *t, enum follow_kind kind,
			      const struct perf_event_line *ev, const struct perf_place *at)
{
	if (kind < FOLLOW_TRAP)
		return name_of(t, at);
	if (ev->flags & PERF_SYSCALL)
		return "system call";
	if (kind == FOLLOW_GAP)
		return "not traced";
	return ev->flags & PERF_INTERRUPT ? "interrupt" : "exception";
}

static void enter(void *ctx, struct follow_thread *thread, void *frame,
		  const struct perf_event_line *ev, const struct perf_place *at)
{
	struct thread *th = (struct thread *)thread;
	struct frame *f = frame;

	f->name = frame_name(ctx, f->f.kind, ev, at);
	f->start = th->now;
}

static void leave(void *ctx, struct follow_thread *thread, void *frame, enum follow_end why)
{
	static const char *const categories[] = { "user", "user", "trap", "untraced" };
	struct thread *th = (struct thread *)thread;
	const struct frame *f = frame;
	struct timeline *t = ctx;
	const char *category = f->f.kernel && f->f.kind < FOLLOW_TRAP ? "kernel" :
			       categories[f->f.kind];

	(void)why;
	if (th->now - f->start < t->min || thread->nr >= t->limits.depth)
		t->totals.left_out++;
	else
		put_slice(t, th, f->f.kernel, f->name, category, f->start, th->now);
	/*
	 * Viewers add start and duration in floating point. So a slice that ends together with its
	 * caller, or where the next one begins, may seem to overlap it.
	 */
	th->now++;
}

/* ----------------------------------------------------------- threads --- */

static struct thread *find_thread(struct timeline *t, const struct perf_event_line *ev)
{
	struct thread *th = (struct thread *)follow_thread(&t->follow, ev->pid, ev->tid, ev->cpu);
	char number[32];

	if (th->name)
		return th;
	snprintf(number, sizeof(number), ev->tid > 0 ? "%d" : "CPU %d",
		 ev->tid > 0 ? ev->tid : ev->cpu);
	th->name = checked(strdup(number));
	t->totals.threads++;
	return th;
}

/*
 * All branches of a message have the message's time. Put a nanosecond between them, so that viewers
 * can nest the slices.
 */
static void advance(struct thread *th, uint64_t time)
{
	th->now = time > th->now ? time : th->now + 1;
}

/* After an exec, all frames have ended. The comm in lines of branches is that from perf. */
static void identify(struct timeline *t, struct thread *th, const struct perf_event_line *ev)
{
	if (th->f.pid == ev->pid && !strcmp(th->name, ev->comm))
		return;
	follow_leave(&t->follow, &th->f, 0, FOLLOW_LEFT);
	free(th->name);
	th->name = checked(strdup(ev->comm));
	th->f.pid = ev->pid;
	th->named[0] = th->named[1] = false;
}

/* ------------------------------------------------------------ losses --- */

static void on_loss(struct timeline *t, struct thread *th, const struct perf_event_line *ev)
{
	follow_leave(&t->follow, &th->f, 0, FOLLOW_CUT);
	t->totals.losses++;
	if (th->lost)
		return;
	th->lost = true;
	th->lost_since = th->now;
	free(th->reason);
	th->reason = checked(strdup(ev->error));
}

/* A loss is always shown, however short. */
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

	follow_interval(&t->follow, &th->f, ev->interval);
	advance(th, ev->time);
	if (ev->error) {
		on_loss(t, th, ev);
		return;
	}
	identify(t, th, ev);
	if (th->lost)
		end_loss(t, th);
	follow_branch(&t->follow, &th->f, ev);
}

/* --------------------------------------------------------------- all --- */

struct timeline *timeline_new(const struct timeline_limits *limits)
{
	struct timeline *t = checked(calloc(1, sizeof(*t)));

	t->limits = *limits;
	t->min = limits->min;
	t->until = limits->slices;
	t->follow.user = (struct follow_user){
		.thread_size = sizeof(struct thread), .frame_size = sizeof(struct frame),
		.kernel_from = limits->kernel_from, .enter = enter, .leave = leave, .ctx = t,
	};
	json_begin();
	return t;
}

static void free_names(struct name *n)
{
	struct name *next;

	for (; n; n = next) {
		next = n->next;
		free(n);
	}
}

static void end_thread(struct timeline *t, struct thread *th)
{
	advance(th, 0);
	follow_leave(&t->follow, &th->f, 0, FOLLOW_CUT);
	if (th->lost)
		end_loss(t, th);
	free(th->reason);
	free(th->name);
}

void timeline_gone(struct timeline *t, int tid)
{
	struct follow_thread *th = follow_find(&t->follow, tid, -1);

	if (!th)
		return;
	end_thread(t, (struct thread *)th);
	follow_remove(&t->follow, th);
}

void timeline_end(struct timeline *t, struct timeline_totals *totals)
{
	struct follow_thread *th;
	size_t i;

	for (th = follow_next(&t->follow, NULL); th; th = follow_next(&t->follow, th))
		end_thread(t, (struct thread *)th);
	json_end();
	*totals = t->totals;
	totals->min = t->min;
	follow_free(&t->follow);
	for (i = 0; i < BUCKETS; i++)
		free_names(t->names[i]);
	free(t);
}
