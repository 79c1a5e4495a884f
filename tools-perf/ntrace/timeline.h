/* SPDX-License-Identifier: GPL-2.0-only */
/* ntrace timeline: branches -> slices of time */
#ifndef NTRACE_TIMELINE_H
#define NTRACE_TIMELINE_H

#include "cmd.h"
#include "perf-script.h"

#define TIMELINE_DEPTH_MAX	512	/* limit of the viewers */

struct timeline_limits {
	uint64_t min;		/* ns */
	unsigned int depth;
	uint64_t slices;	/* number of slices that are written before min doubles */
	uint64_t kernel_from;	/* the first address of the kernel */
};

struct timeline_totals {
	uint64_t slices, left_out, losses, threads;
	uint64_t min;		/* the final minimum */
};

struct timeline;

/*
 * Write JSON to stdout as slices end, so that only the stacks of threads are kept in memory. The
 * slices of a track are in the order of their ends.
 */
struct timeline *timeline_new(const struct timeline_limits *limits);
void timeline_event(struct timeline *t, const struct perf_event_line *ev);
/* A thread has ended, and no more of its events follow. */
void timeline_gone(struct timeline *t, int tid);
/* End open slices and free everything. */
void timeline_end(struct timeline *t, struct timeline_totals *totals);

/* --------------------------------------------------- timeline-json.c ----- */

/* A track contains the slices of a thread in user space, or in the kernel. */
struct track {
	int pid, tid;
	const char *thread;	/* the name of the thread */
	bool kernel;
};

/* A track must be named only once. */
void json_begin(void);
void json_track(const struct track *track);
/* Times are in ns. category and detail may be NULL. */
void json_slice(const struct track *track, const char *name, const char *category,
		uint64_t start, uint64_t end);
void json_instant(const struct track *track, const char *name, const char *category,
		  uint64_t time);
void json_end(void);

#endif /* NTRACE_TIMELINE_H */
