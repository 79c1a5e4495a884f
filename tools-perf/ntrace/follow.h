/* SPDX-License-Identifier: GPL-2.0-only */
/* A call stack for each thread, made from its calls and returns */
#ifndef NTRACE_FOLLOW_H
#define NTRACE_FOLLOW_H

#include <stddef.h>

#include "perf-script.h"

enum follow_kind {
	FOLLOW_BASE,		/* the start of trace, or the target of a return without a call */
	FOLLOW_CALL,
	FOLLOW_TRAP,		/* into the kernel, which is traced */
	FOLLOW_GAP,		/* into code that is not traced */
};

/* Why a frame has ended */
enum follow_end {
	FOLLOW_RETURNED,	/* returned, or jumped to another function */
	FOLLOW_LEFT,		/* did not return, but an outer frame continues */
	FOLLOW_CUT,		/* its trace ends */
};

/* First member of the user's struct for a frame */
struct follow_frame {
	enum follow_kind kind;
	bool kernel;		/* its code is in the kernel */
	uint64_t from;		/* the instruction that entered it; 0 for FOLLOW_BASE */
};

/* First member of the user's struct for a thread; the rest starts as zeros */
struct follow_thread {
	struct follow_thread *next;
	int pid, tid, cpu;
	unsigned int interval;	/* the wanted interval of its last event */
	size_t nr, room;	/* frames */
	char *frames;
};

struct follow_user {
	size_t thread_size, frame_size;
	uint64_t kernel_from;	/* the first address of the kernel */
	/*
	 * th->nr frames are below the new one. `at': its code; for FOLLOW_GAP: the code that was
	 * left
	 */
	void (*enter)(void *ctx, struct follow_thread *th, void *frame,
		      const struct perf_event_line *ev, const struct perf_place *at);
	void (*leave)(void *ctx, struct follow_thread *th, void *frame, enum follow_end why);
	/* Is an address in the function of a frame? NULL: not known */
	bool (*is_in)(void *ctx, struct follow_thread *th, const void *frame, uint64_t addr);
	void *ctx;
};

#define FOLLOW_BUCKETS	4096

struct follow {
	struct follow_user user;
	struct follow_thread *threads[FOLLOW_BUCKETS];
};

/* All idle tasks have tid 0, so cpu distinguishes them. */
struct follow_thread *follow_thread(struct follow *f, int pid, int tid, int cpu);
/* NULL: not found */
struct follow_thread *follow_find(struct follow *f, int tid, int cpu);
/* Free the thread and its stack, but not what the user's structs point to. */
void follow_remove(struct follow *f, struct follow_thread *th);
/* Iterate over threads, in any order. Start with NULL. */
struct follow_thread *follow_next(struct follow *f, const struct follow_thread *th);

static inline void *follow_frame(const struct follow *f, const struct follow_thread *th, size_t i)
{
	return th->frames + i * f->user.frame_size;
}

/* Handle a branch: push and pop frames. */
void follow_branch(struct follow *f, struct follow_thread *th, const struct perf_event_line *ev);
/* The innermost frame's function jumps to another function, which takes its place. */
void follow_tail(struct follow *f, struct follow_thread *th, const struct perf_event_line *ev);
/* The innermost frame returns, and nr frames are left. */
void follow_return(struct follow *f, struct follow_thread *th, size_t nr);
/* End all frames but nr, all for the same reason. */
void follow_leave(struct follow *f, struct follow_thread *th, size_t nr, enum follow_end why);
/* The next event is in this interval. What the thread did between two intervals is not known. */
void follow_interval(struct follow *f, struct follow_thread *th, unsigned int interval);

/* Free all threads and stacks, but not what the user's structs point to. */
void follow_free(struct follow *f);

#endif /* NTRACE_FOLLOW_H */
