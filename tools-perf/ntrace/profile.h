/* SPDX-License-Identifier: GPL-2.0-only */
/* ntrace profile: how often code was executed */
#ifndef NTRACE_PROFILE_H
#define NTRACE_PROFILE_H

#include "cmd.h"
#include "perf-script.h"
#include "rec.h"

/*
 * Counts at an address: how often execution came from elsewhere than the instruction before, or
 * went elsewhere than to the next instruction. A trap before the instruction retires, and the
 * return to it, do not break a linear run, because the program did not make this transfer.
 */
struct point {
	uint64_t pc;
	uint64_t in;		/* transfers to it, starts of the trace */
	uint64_t back;		/* returns from traps, continuations of the trace */
	uint64_t out;		/* transfers from it */
	uint64_t away;		/* traps before it, pauses of the trace */
	uint64_t lost;		/* trace was lost before it */
};

struct points {
	struct point *list;
	size_t n;
	size_t merged;		/* n when the points were last merged */
};

/* start and end are the addresses of instructions, both included */
struct range {
	uint64_t start, end;
	uint64_t count;
};

struct ranges {
	struct range *list;
	size_t n;
	uint64_t unmatched;	/* runs whose end could not be found */
};

/* The pointer is valid until the next point is added. */
struct point *points_add(struct points *points, uint64_t pc);

/*
 * Make linear runs that explain all points. Sums do not tell which start of a run belongs to which
 * end. But the counts of each instruction, and of each step from one to the next, are exact. Sorts
 * the points.
 */
void ranges_make(struct ranges *ranges, struct points *points, struct nt_code *code);

/* The number of executions from addr up to the addr of the next step */
struct ranges_step {
	uint64_t addr, count;
};

struct ranges_steps {
	struct ranges_step *list;
	size_t n;
};

/* For ranges_count(). The caller frees the list. */
void ranges_steps(struct ranges_steps *steps, const struct ranges *ranges);
/* How often the instruction at an address was executed */
uint64_t ranges_count(const struct ranges_steps *steps, uint64_t pc);

/* ------------------------------------------------------------ program ---- */

/* An executable segment of the program's file */
struct segment {
	uint64_t start, size, offset;
};

struct profile {
	struct input in;
	bool offsets;		/* the result contains offsets in the file, not addresses */
	struct segment *segments;
	size_t nr_segments;
	bool anywhere;		/* no ELF file: all addresses belong to the program */
	struct points points;
	struct ranges ranges;
	struct nt_edge *edges;	/* within the program */
	size_t nr_edges;
	uint64_t elsewhere;	/* transfers to or from other code */
	uint64_t losses, skipped;
	struct perf_choice perf;
	struct rec_options recording;
	bool of_perf;		/* FILE is a perf.data, or the output of perf */
	char build_id[PERF_BUILD_ID + 1];	/* of the program, or empty */
	bool of_edges;		/* each FILE contains edges */
	size_t damaged;		/* number of files that were skipped */
	bool partial;		/* code without a count may have been executed */
	bool rounded;		/* counts are weighted or capped */
	/*
	 * If set, the edges are passed to it, in the form of struct profile_perf, and no profile is
	 * made.
	 */
	void (*take)(void *ctx, const struct nt_edge *edge);
	void *ctx;
};

/*
 * Open the files, after p->in, p->perf and p->recording were set by arguments. Ends the command on
 * errors.
 */
void profile_open(struct profile *p);
/* Count. After that, edges and ranges are those of the program, sorted by address. */
void profile_make(struct profile *p);
/* The index of the first edge from this address or a higher one */
size_t profile_first_edge(const struct profile *p, uint64_t from);
/* Report what is missing, and free everything. Returns the exit status. */
int profile_end(struct profile *p);

/* ------------------------------------------------------- of perf.data ---- */

/* The other end of a transfer is outside of the program. */
#define PROFILE_ELSEWHERE	UINT64_MAX
/* The rest of a run is not known. An addition to enum nt_type */
#define PROFILE_TYPE_LOST	255

/*
 * Transfers, starts (from PROFILE_ELSEWHERE, NT_TYPE_NONE or, if trace resumes, _ERET), ends (to
 * PROFILE_ELSEWHERE, _TRAP) and losses. Entries with count 0 are unused.
 */
struct profile_perf {
	const struct profile *profile;
	struct nt_edge *edges;
	size_t room, nr_edges;
	uint64_t losses;
	bool partial;		/* only snapshots or samples of the trace, or counts are scaled */
	bool rounded;		/* counts are scaled */
	/*
	 * To count all files of a recording instead of one program: place() maps addresses to
	 * places, and done() can inspect the recording after decoding. Another thread calls
	 * another() for a context of its own. adopt() then returns the place of this context that
	 * is that place of the other one.
	 */
	uint64_t (*place)(void *ctx, struct rec *rec, const struct rec_space *space, uint64_t addr);
	void (*done)(void *ctx, struct rec *rec);
	void *(*another)(void *ctx);
	uint64_t (*adopt)(void *ctx, struct rec *rec, void *other, uint64_t place);
	void (*drop)(void *other);
	void *ctx;
};

/*
 * Read a perf.data, or the output of perf if `perf' is NULL. build_id is that of the program, in
 * hexadecimal digits, or NULL. Ends the command on errors.
 */
void profile_perf_read(struct profile_perf *r, const char *perf, const char *file,
		       const char *program, const char *build_id);

/* The same for a perf.data, without perf */
void profile_rec_decode(struct profile_perf *r, const struct rec_options *options,
			 const char *file, const char *program, const char *build_id);

/* The program's address of an offset in its file, or PROFILE_ELSEWHERE */
uint64_t profile_address(const struct profile *p, uint64_t offset);
/* The address itself if it is in the program, or PROFILE_ELSEWHERE */
uint64_t profile_inside(const struct profile *p, uint64_t addr);

#endif /* NTRACE_PROFILE_H */
