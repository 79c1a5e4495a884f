/* SPDX-License-Identifier: GPL-2.0-only */
/* ntrace timeline: from branches to slices of time */
#ifndef NTRACE_TIMELINE_H
#define NTRACE_TIMELINE_H

#include "cmd.h"
#include "perf-script.h"

#define TIMELINE_DEPTH_MAX	512	/* that viewers draw */

struct timeline_limits {
	uint64_t min;		/* ns */
	unsigned int depth;
	uint64_t slices;	/* written, until min doubles */
	uint64_t kernel_from;	/* the kernel's addresses begin here */
};

struct timeline_totals {
	uint64_t slices, left_out, losses, threads;
	uint64_t min;		/* what it has come to */
};

struct timeline;

/*
 * Writes JSON to stdout as it comes: a slice when it ends, so that a thread's stack is
 * all there is to remember. Slices of a track are in the order of their ends.
 */
struct timeline *timeline_new(const struct timeline_limits *limits);
void timeline_event(struct timeline *t, const struct perf_event_line *ev);
/* A thread has ended: nothing more comes of it. */
void timeline_gone(struct timeline *t, int tid);
/* Ends what is open, frees. */
void timeline_end(struct timeline *t, struct timeline_totals *totals);

/* --------------------------------------------------- timeline-json.c ----- */

/* A track has slices of one thread, either side of the user/kernel line. */
struct track {
	int pid, tid;
	const char *thread;	/* its name */
	bool kernel;
};

/* Names tell no more than once what a track is. */
void json_begin(void);
void json_track(const struct track *track);
/* ns; category and detail may be NULL */
void json_slice(const struct track *track, const char *name, const char *category,
		uint64_t start, uint64_t end);
void json_instant(const struct track *track, const char *name, const char *category,
		  uint64_t time);
void json_end(void);

#endif /* NTRACE_TIMELINE_H */
