/* SPDX-License-Identifier: GPL-2.0-only */
/* A stack for each thread, as calls and returns make it */
#ifndef NTRACE_FOLLOW_H
#define NTRACE_FOLLOW_H

#include <stddef.h>

#include "perf-script.h"

enum follow_kind {
	FOLLOW_BASE,		/* where trace found it, or a return led that was no call's */
	FOLLOW_CALL,
	FOLLOW_TRAP,		/* into the kernel, which is traced */
	FOLLOW_GAP,		/* the same, and it is not */
};

/* Why a frame is gone */
enum follow_end {
	FOLLOW_RETURNED,	/* or it jumped to another function */
	FOLLOW_LEFT,		/* what it was called from goes on, and it did not return */
	FOLLOW_CUT,		/* trace of it ends */
};

/* The first member of what a user has for a frame */
struct follow_frame {
	enum follow_kind kind;
	bool kernel;		/* its code is */
	uint64_t from;		/* the instruction that left for it; 0 of FOLLOW_BASE */
};

/* The first member of what a user has for a thread; the rest is 0 at first */
struct follow_thread {
	struct follow_thread *next;
	int pid, tid, cpu;
	unsigned int interval;	/* of those that were chosen, the one of its last event */
	size_t nr, room;	/* frames */
	char *frames;
};

struct follow_user {
	size_t thread_size, frame_size;
	uint64_t kernel_from;	/* the kernel's addresses begin here */
	/* th->nr frames are below it. `at' is its code; of FOLLOW_GAP what was left. */
	void (*enter)(void *ctx, struct follow_thread *th, void *frame,
		      const struct perf_event_line *ev, const struct perf_place *at);
	void (*leave)(void *ctx, struct follow_thread *th, void *frame, enum follow_end why);
	/* Is an address in the function of a frame?  NULL: nobody knows. */
	bool (*is_in)(void *ctx, struct follow_thread *th, const void *frame, uint64_t addr);
	void *ctx;
};

#define FOLLOW_BUCKETS	4096

struct follow {
	struct follow_user user;
	struct follow_thread *threads[FOLLOW_BUCKETS];
};

/* The idle tasks all have number 0: they are told apart by CPU. */
struct follow_thread *follow_thread(struct follow *f, int pid, int tid, int cpu);
/* NULL: there is none */
struct follow_thread *follow_find(struct follow *f, int tid, int cpu);
/* Frees it and its stack, not what the user has in it. */
void follow_remove(struct follow *f, struct follow_thread *th);
/* NULL; then each thread, in no order */
struct follow_thread *follow_next(struct follow *f, const struct follow_thread *th);

static inline void *follow_frame(const struct follow *f, const struct follow_thread *th, size_t i)
{
	return th->frames + i * f->user.frame_size;
}

/* A branch of a thread: frames come and go. */
void follow_branch(struct follow *f, struct follow_thread *th, const struct perf_event_line *ev);
/* The innermost frame's function jumps to another, which takes its place. */
void follow_tail(struct follow *f, struct follow_thread *th, const struct perf_event_line *ev);
/* The innermost frame returns, to where only so many are left. */
void follow_return(struct follow *f, struct follow_thread *th, size_t nr);
/* ... and whatever the others did, it was for the same reason. */
void follow_leave(struct follow *f, struct follow_thread *th, size_t nr, enum follow_end why);
/* An event is of that interval: between two of them nobody knows what the thread did. */
void follow_interval(struct follow *f, struct follow_thread *th, unsigned int interval);

/* Frees threads and stacks, not what users have in them. */
void follow_free(struct follow *f);

#endif /* NTRACE_FOLLOW_H */
