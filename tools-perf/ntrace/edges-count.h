/* SPDX-License-Identifier: GPL-2.0-only */
/* Recordings and traces -> edges -> the counts of a program */
#ifndef NTRACE_EDGES_COUNT_H
#define NTRACE_EDGES_COUNT_H

#include <inttypes.h>

#include "edges.h"
#include "profile.h"

/* What is told beside the programs of root and of who runs the command */
struct edges_choice {
	bool kernel, others;
	bool whole;		/* a file that is damaged ends the command */
};

/* What is not in a recording's counts: losses, and transfers of others' programs, left out */
struct edges_missed {
	uint64_t losses, others;
};

/* A part of its own */
struct edges_missed edges_count_recording(struct edges_writer *w, const char *path,
					  const struct rec_options *options,
					  const struct edges_choice *choice);
/* After profile_open(), in place of profile_make() */
void edges_count_trace(struct edges_writer *w, struct profile *p);

/* What files of edges have of r->profile's program. Returns how many files were damaged. */
size_t edges_count_back(struct profile_perf *r);

#endif /* NTRACE_EDGES_COUNT_H */
