/* SPDX-License-Identifier: GPL-2.0-only */
/* ntrace profile: how often what was executed */
#ifndef NTRACE_PROFILE_H
#define NTRACE_PROFILE_H

#include "cmd.h"
#include "perf-script.h"
#include "rec.h"

/*
 * At an address, how many times execution came or went otherwise than from the
 * instruction before, or to the one behind. Going away before the instruction
 * retires, and coming back to it, are linear: in a trap that is no transfer that
 * the program made.
 */
struct point {
	uint64_t pc;
	uint64_t in;		/* transfers to it, starts of the trace */
	uint64_t back;		/* returns from traps, continuations of the trace */
	uint64_t out;		/* transfers from it */
	uint64_t away;		/* traps before it, pauses of the trace */
	uint64_t lost;		/* the trace was lost before it */
};

struct points {
	struct point *list;
	size_t n;
	size_t merged;		/* n after they were last merged */
};

/* start and end are instructions, both included */
struct range {
	uint64_t start, end;
	uint64_t count;
};

struct ranges {
	struct range *list;
	size_t n;
	uint64_t unmatched;	/* that went somewhere, nobody knows where */
};

/* Valid until the next is added */
struct point *points_add(struct points *points, uint64_t pc);

/*
 * Linear runs that explain all points. Which beginning belongs to which end is
 * not to be known from sums; but how often each instruction and each way from
 * one to the next was taken is. Sorts the points.
 */
void ranges_make(struct ranges *ranges, struct points *points, struct nt_code *code);

/* From addr on, up to the next one's, instructions were executed so often. */
struct ranges_step {
	uint64_t addr, count;
};

struct ranges_steps {
	struct ranges_step *list;
	size_t n;
};

/* For ranges_count(); the list is the caller's to free. */
void ranges_steps(struct ranges_steps *steps, const struct ranges *ranges);
/* How often the instruction at an address was executed */
uint64_t ranges_count(const struct ranges_steps *steps, uint64_t pc);

/* ------------------------------------------------------------ program ---- */

/* A piece of the program's file, which code may be in */
struct segment {
	uint64_t start, size, offset;
};

struct profile {
	struct input in;
	bool offsets;		/* the result has offsets in the file, not addresses */
	struct segment *segments;
	size_t nr_segments;
	bool anywhere;		/* there is no ELF file: every address is of the program */
	struct points points;
	struct ranges ranges;
	struct nt_edge *edges;	/* the program's own */
	size_t nr_edges;
	uint64_t elsewhere;	/* transfers that are not */
	uint64_t losses, skipped;
	struct perf_choice perf;
	struct rec_options recording;
	bool of_perf;		/* FILE is a perf.data, or what perf printed */
	char build_id[PERF_BUILD_ID + 1];	/* of the program, or empty */
	bool of_edges;		/* each FILE has edges */
	size_t damaged;		/* those that were left out */
	bool partial;		/* what has no count may have been executed */
	bool rounded;		/* counts are weighted or capped */
	/* What is counted goes there, as struct profile_perf has it, and nothing is made of it. */
	void (*take)(void *ctx, const struct nt_edge *edge);
	void *ctx;
};

/*
 * After p->in, p->perf and p->recording have been set by arguments: open what they name. Ends the
 * command if it can't.
 */
void profile_open(struct profile *p);
/* Count; then edges and ranges are those of the program, in the order of addresses. */
void profile_make(struct profile *p);
/* The first of the edges that come from an address, or what is behind the last edge from before */
size_t profile_first_edge(const struct profile *p, uint64_t from);
/* Say what is missing, and free everything. The command's exit status */
int profile_end(struct profile *p);

/* ------------------------------------------------------- of perf.data ---- */

/* Where the other end of a transfer is when it is not in the program */
#define PROFILE_ELSEWHERE	UINT64_MAX
/* The end of what is known of a run: beside enum nt_type */
#define PROFILE_TYPE_LOST	255

/*
 * Transfers, starts (from elsewhere, NT_TYPE_NONE or, where trace goes on, _ERET), ends
 * (to elsewhere, _TRAP) and losses; those of count 0 are none.
 */
struct profile_perf {
	const struct profile *profile;
	struct nt_edge *edges;
	size_t room, nr_edges;
	uint64_t losses;
	bool partial;		/* of snapshots, or samples, of the trace; or counts are scaled */
	bool rounded;		/* they are */
	/*
	 * Of all files of a recording, not of one: where an address is, and who may look at what
	 * was read
	 */
	uint64_t (*place)(void *ctx, struct rec *rec, const struct rec_space *space, uint64_t addr);
	void (*done)(void *ctx, struct rec *rec);
	void *ctx;
};

void profile_perf_add(struct profile_perf *r, const struct nt_edge *edge);

/*
 * Of a perf.data, or of what perf printed if `perf' is NULL. build_id is the program's, as
 * hexadecimal digits, or NULL. Ends the command if it can't.
 */
void profile_perf_read(struct profile_perf *r, const char *perf, const char *file,
		       const char *program, const char *build_id);

/* The same of a perf.data, without perf */
void profile_perf_decode(struct profile_perf *r, const struct rec_options *options,
			 const char *file, const char *program, const char *build_id);

/* The program's address of an offset in its file, or PROFILE_ELSEWHERE */
uint64_t profile_address(const struct profile *p, uint64_t offset);
/* The program's address itself, or PROFILE_ELSEWHERE */
uint64_t profile_inside(const struct profile *p, uint64_t addr);

#endif /* NTRACE_PROFILE_H */
