/* SPDX-License-Identifier: GPL-2.0-only */
/* Recordings and traces -> edges -> the counts of a program */
#ifndef NTRACE_EDGES_COUNT_H
#define NTRACE_EDGES_COUNT_H

#include <inttypes.h>

#include "edges.h"
#include "profile.h"

/* What is reported, in addition to programs of root and of the user who runs the command */
struct edges_choice {
	bool kernel, others;
	bool whole;		/* a damaged file ends the command */
};

/*
 * What the counts of a recording do not contain: losses, and skipped transfers of other users'
 * programs
 */
struct edges_missed {
	uint64_t losses, others;
};

/* Write a recording as a part of its own. */
struct edges_missed edges_count_recording(struct edges_writer *w, const char *path,
					  const struct rec_options *options,
					  const struct edges_choice *choice);
/* Call after profile_open(), instead of profile_make(). */
void edges_count_trace(struct edges_writer *w, struct profile *p);

/*
 * Read the counts of r->profile's program from files of edges. Returns the number of damaged files.
 */
size_t edges_count_back(struct profile_perf *r);

#endif /* NTRACE_EDGES_COUNT_H */
