/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ntrace calls: the cost of the calls of each function
 *
 *	cmd-calls.c	the command
 *	calls-feed.c	trace and recordings -> events; functions of addresses
 *	calls.c		calls and their sums
 *	calls-print.c	tables
 *	quantile.c	the distribution of many values in little memory
 */
#ifndef NTRACE_CALLS_H
#define NTRACE_CALLS_H

#include "cmd.h"
#include "follow.h"
#include "rec.h"

/* ---------------------------------------------------------- quantile.c --- */

#define QUANTILE_EXACT	1000	/* up to so many values are stored */
#define QUANTILE_BITS	6	/* above, values of the same power of two are in 2^6 classes */

struct quantiles {
	uint64_t n, sum, max;
	uint64_t *values;		/* the first QUANTILE_EXACT values */
	uint64_t *classes[65 - QUANTILE_BITS];	/* all values, if there are more */
};

void quantiles_add(struct quantiles *q, uint64_t value);
/* The least value that so many per cent of the values do not exceed; 0 if there are none */
uint64_t quantiles_at(struct quantiles *q, unsigned int percent);
void quantiles_free(struct quantiles *q);

/* ------------------------------------------------------------- calls.c --- */

struct calls_function {
	struct calls_function *next;
	const char *name, *file;
	const struct rec_file *build;	/* file names may not be unique; NULL: not known */
	uint64_t start;			/* in the file */
	char address[96];		/* the name of a function without a symbol: FILE+0xSTART */
	unsigned int number;
	/* everything that was seen of the function */
	uint64_t own_insns, own_time, total_insns, total_time;
	uint64_t calls;			/* complete calls */
	uint64_t left;			/* complete calls that did not return */
	uint64_t cut;
	struct quantiles took;		/* of complete calls: time or instructions */
	uint64_t longest, longest_at;	/* its cost, and the time when it began */
	const struct calls_function *longest_caller;
};

/* A call that has ended */
struct calls_one {
	const struct calls_function *function, *caller;	/* caller NULL: not known */
	uint64_t begin, time, insns, own_insns;
	unsigned int interval;		/* rec_interval() */
	int cpu, pid, tid;
	const char *comm;
	const char *how;		/* "whole", "left" or "cut" */
};

/* An event of a thread */
struct calls_event {
	uint64_t time;
	unsigned int interval;		/* rec_interval() */
	int cpu, pid, tid;
	const char *comm;		/* or NULL */
	uint64_t from, to;
	unsigned int type;		/* enum nt_type; NT_TYPE_NONE where trace begins or ends */
	unsigned int flags;		/* PERF_BEGIN, PERF_END, PERF_SYSCALL with PERF_END */
};

#define CALLS_BUCKETS	4096

struct calls {
	struct follow follow;
	struct calls_function *functions[CALLS_BUCKETS];
	unsigned int nr_functions;
	struct calls_function *untraced, *syscall;	/* stand-ins for what was not traced */
	struct calls_thread **running;	/* by CPU */
	unsigned int nr_running;
	struct calls_thread *last;
	const char *time_unit;		/* "ns", "ticks"; NULL: no time */
	bool by_insns;			/* costs are numbers of instructions */
	uint64_t from, to;		/* time range; from 0: none yet */
	uint64_t insns, losses;
	/*
	 * The function that contains addr. `start': it begins there. `part': it is a part of
	 * another function, so that a jump there is not a call. NULL: not known, unless it was
	 * called.
	 */
	struct calls_function *(*find)(void *ctx, uint64_t addr, bool called, bool *start,
				       bool *part);
	void (*one)(void *ctx, const struct calls_one *call);	/* or NULL */
	struct stacks *stacks;		/* counts what ran in which stack; or NULL */
	/* the offset of an address in its file; needed with stacks */
	uint64_t (*place)(void *ctx, uint64_t addr);
	void *ctx;
};

void calls_init(struct calls *c, uint64_t kernel_from);
/*
 * Get the function with this name, file, build and start. The strings are not copied. Without a
 * name, the function is named after its address.
 */
struct calls_function *calls_function(struct calls *c, const char *name, const char *file,
				      const struct rec_file *build, uint64_t start);
/* So many consecutive instructions retired from ev->from on. */
void calls_run(struct calls *c, const struct calls_event *ev, uint64_t insns);
/* A branch of any kind was taken at the end of that run. Needed for stacks. */
void calls_branch(struct calls *c, const struct calls_event *ev);
/* A transfer, or a place where trace begins or ends */
void calls_transfer(struct calls *c, const struct calls_event *ev);
/* What ran until the next event is not known. */
void calls_gap(struct calls *c, const struct calls_event *ev);
/* ... because trace was lost */
void calls_loss(struct calls *c, const struct calls_event *ev);
/* Another wanted interval begins. */
void calls_interval(struct calls *c);
/*
 * A task is switched in, and the previous task of that CPU is switched out; or a task is switched
 * out.
 */
void calls_switch_in(struct calls *c, uint64_t time, int pid, int tid, int cpu);
void calls_switch_out(struct calls *c, uint64_t time, int pid, int tid, int cpu);
/* The task is about to run another program. */
void calls_exec(struct calls *c, int pid, int tid);
/* A thread exits. From now on, only traced code counts as its time. */
void calls_exit(struct calls *c, uint64_t time, int tid);
/* A thread has ended, and none of its trace follows. */
void calls_gone(struct calls *c, int tid);
/* End the trace: open frames are cut. */
void calls_end(struct calls *c);
void calls_free(struct calls *c);

/* -------------------------------------------------------- calls-feed.c --- */

/* What is known about an address, until mappings change */
struct calls_known {
	uint64_t addr;
	int pid;
	bool called, start, part;
	uint64_t place;
	struct calls_function *function;
	unsigned long age;
};

#define CALLS_KNOWN	8192

struct calls_feed {
	struct calls calls;
	struct input in;
	struct rec_options options;
	struct rec rec;
	struct symbols *symbols;	/* of a raw trace */
	const struct rec_task *task;	/* the task of the current event */
	struct calls_known known[CALLS_KNOWN];
	unsigned long age;		/* incremented when mappings or names may have changed */
	unsigned int interval;
	/* callbacks before the first event, and after the last event of the calls */
	void (*begin)(struct calls_feed *f);
	void (*end)(struct calls_feed *f);
	void *ctx;
};

/*
 * Run with f->in and f->options, which were set by arguments. Frees them. Returns the exit status.
 */
int calls_feed_run(struct calls_feed *f);

/* ------------------------------------------------------- calls-print.c --- */

enum calls_format { CALLS_TABLE, CALLS_CSV, CALLS_JSON };

/*
 * Print the functions. `people': print a summary, only the top functions, and how to see more of
 * `file'.
 */
void calls_print(struct calls *c, enum calls_format format, const char *file, bool people);
/* Print single calls, between begin and end. */
void calls_print_begin(const struct calls *c, enum calls_format format);
void calls_print_one(const struct calls *c, enum calls_format format, const struct calls_one *one);
void calls_print_end(enum calls_format format);

#endif /* NTRACE_CALLS_H */
