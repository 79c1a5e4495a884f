/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Count the branches of a recording
 *
 *	profile-flow.c	where each thread is, and what was counted
 *	profile-own.c	the program's own addresses
 *	profile-perf.c	of what perf script prints
 *	profile-rec.c	of a perf.data, without perf
 */
#ifndef NTRACE_PROFILE_FLOW_H
#define NTRACE_PROFILE_FLOW_H

#include "perf-script.h"
#include "profile.h"
#include "rec.h"

/* The position of a thread, if it is in the program */
struct profile_where {
	int tid, cpu;		/* cpu: of idle threads only, because they share tid 0 */
	bool inside;		/* the last transfer led into the program, and trace continues */
	uint64_t to;		/* the target of that transfer */
	bool stopped;		/* trace ended inside of the program */
	uint64_t at;		/* before this address */
	uint64_t bias;		/* where the program was mapped, minus its own address */
	unsigned int interval;	/* the wanted interval of its last event */
	bool known;		/* false: it continues where the previous part has left it */
	size_t born;		/* of the task; another thread may have had the tid before */
};

/*
 * What comes first for a thread in a part of the recording. Its effect depends on where the
 * previous part has left the thread.
 */
struct profile_first {
	enum { PROFILE_FIRST_BRANCH, PROFILE_FIRST_LOSS, PROFILE_FIRST_GONE } kind;
	int tid, cpu;
	size_t born;
	unsigned int flags;
	uint64_t from, to;	/* BRANCH: places; LOSS: from is an address, or 0 */
};

/* How the program is related to a file that perf names */
enum profile_kinship { PROFILE_OTHER, PROFILE_OWN, PROFILE_KERNEL };

struct profile_file {
	char *dso;
	const struct rec_file *file;	/* see struct profile_reader */
	enum profile_kinship kinship;
};

struct profile_reader {
	struct profile_perf *result;
	const char *data;	/* path of the perf.data */
	const char *program;	/* path of the program */
	const char *name;	/* the same without folders */
	const char *build_id;	/* of the program, or NULL */
	struct perf_build_ids ids;
	const struct rec_file *file;	/* to look up, as names may repeat; NULL: by name */
	struct profile_file *files;	/* files with trace */
	size_t nr_files, last;
	struct rec_map threads;
	struct profile_where *last_thread;
	struct rec *rec;	/* NULL: perf decodes */
	struct profile_first *first;	/* if it is not the first part */
	size_t nr_first;
	const char *other;	/* another file that has trace */
	bool found;		/* the program has trace */
	bool kernel;		/* the program is the kernel, which has trace */
	bool no_kernel;		/* the kernel has trace, but is not the program */
};

/* ------------------------------------------------------ profile-flow.c -- */

/* Add so many transfers of a kind. */
void profile_flow_add(struct profile_perf *r, uint64_t from, uint64_t to, unsigned int type,
		      uint64_t count);
void profile_flow_add_edge(struct profile_perf *r, const struct nt_edge *edge);
/* The type of a transfer: of PERF_* flags */
unsigned int profile_flow_type(unsigned int flags);
/* cpu: used for idle tasks, and for unknown ones */
struct profile_where *profile_flow_thread(struct profile_reader *rd, int tid, int cpu);
void profile_flow_branch(struct profile_reader *rd, struct profile_where *w, unsigned int interval,
			 unsigned int flags, uint64_t from, uint64_t to);
/* Branches up to this place were counted otherwise. */
void profile_flow_reach(struct profile_where *w, uint64_t to);
void profile_flow_loss(struct profile_reader *rd, const struct perf_event_line *ev);
/* A thread has ended. born: see struct profile_where */
void profile_flow_gone(struct profile_reader *rd, int tid, size_t born);
/* A run that is open at the end of the recording has an unknown end. */
void profile_flow_end(struct profile_reader *rd);
/* The place of rd that is this place of the other reader */
typedef uint64_t (*profile_flow_adopt)(const struct profile_reader *rd,
				       const struct profile_reader *other, uint64_t at);
/* Add what the next part of the recording has counted. */
void profile_flow_append(struct profile_reader *rd, const struct profile_reader *other,
			 profile_flow_adopt adopt);
void profile_flow_free(struct profile_reader *rd);

/* ------------------------------------------------------- profile-own.c -- */

/*
 * The program's own address of a place, and the bias that was subtracted; PROFILE_ELSEWHERE for
 * places outside of the program
 */
uint64_t profile_own_place(struct profile_reader *rd, const struct perf_place *place,
			   uint64_t *bias);
enum profile_kinship profile_own_file(struct profile_reader *rd, const char *dso);
/* Detect trace of another build of the program before perf decodes for hours. */
void profile_own_check(const struct profile_reader *rd);
/* Ends the command if the program has no trace. */
void profile_own_found(const struct profile_reader *rd);
/* hex: of 2 * NT_PERFDATA_BUILD_ID_MAX + 1 characters; returns it */
const char *profile_own_hex(const struct nt_perfdata_build_id *id, char *hex);
/* Take over the files of another part. No file is looked up after this. */
void profile_own_append(struct profile_reader *rd, struct profile_reader *other);
void profile_own_free(struct profile_reader *rd);

#endif /* NTRACE_PROFILE_FLOW_H */
