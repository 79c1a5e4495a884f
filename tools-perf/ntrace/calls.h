/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ntrace calls: what the calls of each function took
 *
 *	cmd-calls.c	the command
 *	calls-feed.c	trace and recordings in, functions of addresses
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

#define QUANTILE_EXACT	1000	/* up to so many values */
#define QUANTILE_BITS	6	/* beyond, values of the same power of two are in so many classes */

struct quantiles {
	uint64_t n, sum, max;
	uint64_t *values;		/* the first QUANTILE_EXACT */
	uint64_t *classes[65 - QUANTILE_BITS];	/* of all, when there are more */
};

void quantiles_add(struct quantiles *q, uint64_t value);
/* The least value that so many of a hundred are not above; 0 of none */
uint64_t quantiles_at(struct quantiles *q, unsigned int percent);
void quantiles_free(struct quantiles *q);

/* ------------------------------------------------------------- calls.c --- */

struct calls_function {
	struct calls_function *next;
	const char *name, *file;
	const struct rec_file *build;	/* the file itself, as builds may share a name; or NULL */
	uint64_t start;			/* in the file */
	char address[96];		/* the name of one that has none: FILE+0xSTART */
	unsigned int number;
	/* All of it that was seen */
	uint64_t own_insns, own_time, total_insns, total_time;
	uint64_t calls;			/* whole */
	uint64_t left;			/* of these, without a return */
	uint64_t cut;
	struct quantiles took;		/* of whole calls: time or instructions */
	uint64_t longest, longest_at;	/* what it took, the time it began */
	const struct calls_function *longest_caller;
};

/* A call that is over */
struct calls_one {
	const struct calls_function *function, *caller;	/* caller NULL: not known */
	uint64_t begin, time, insns, own_insns;
	unsigned int interval;		/* follow_interval() */
	int cpu, pid, tid;
	const char *comm;
	const char *how;		/* whole, left, cut */
};

/* Where something happened */
struct calls_event {
	uint64_t time;
	unsigned int interval;		/* follow_interval() */
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
	struct calls_function *untraced, *syscall;	/* for what was not traced */
	struct calls_thread **running;	/* by CPU */
	unsigned int nr_running;
	struct calls_thread *last;
	const char *time_unit;		/* "ns", "ticks"; NULL: there is no time */
	bool by_insns;			/* what calls took is instructions */
	uint64_t from, to;		/* time; from 0: none yet */
	uint64_t insns, losses;
	/*
	 * The function that addr is in; `start': it begins there. NULL: not known, unless it was
	 * called. `part': of another function, so that a jump there is no call.
	 */
	struct calls_function *(*find)(void *ctx, uint64_t addr, bool called, bool *start,
				       bool *part);
	void (*one)(void *ctx, const struct calls_one *call);	/* or NULL */
	struct stacks *stacks;		/* what ran in which stack is counted there; or NULL */
	/* Where an address is in its file; with stacks */
	uint64_t (*place)(void *ctx, uint64_t addr);
	void *ctx;
};

void calls_init(struct calls *c, uint64_t kernel_from);
/*
 * The one function of that name, file, build and start. The strings are not copied. Without a name
 * the function is called by its address.
 */
struct calls_function *calls_function(struct calls *c, const char *name, const char *file,
				      const struct rec_file *build, uint64_t start);
/* So many instructions retired from ev->from on, one behind the other. */
void calls_run(struct calls *c, const struct calls_event *ev, uint64_t insns);
/* A branch was taken, of any kind, at the end of that run: for stacks. */
void calls_branch(struct calls *c, const struct calls_event *ev);
/* A transfer, or where trace begins or ends */
void calls_transfer(struct calls *c, const struct calls_event *ev);
/* Nobody knows what ran until the next event. */
void calls_gap(struct calls *c, const struct calls_event *ev);
/* ... because trace was lost */
void calls_loss(struct calls *c, const struct calls_event *ev);
/* Another interval begins. */
void calls_interval(struct calls *c);
/* A task comes, and who was on that CPU leaves it; or it leaves. */
void calls_switch_in(struct calls *c, uint64_t time, int pid, int tid, int cpu);
void calls_switch_out(struct calls *c, uint64_t time, int pid, int tid, int cpu);
/* It is going to run another program. */
void calls_exec(struct calls *c, int pid, int tid);
/* A thread ends: from here on only what is traced of it takes time. */
void calls_exit(struct calls *c, uint64_t time, int tid);
/* A thread has ended: nothing more comes of it. */
void calls_gone(struct calls *c, int tid);
/* Of what is open the trace ends. */
void calls_end(struct calls *c);
void calls_free(struct calls *c);

/* -------------------------------------------------------- calls-feed.c --- */

/* What is known of an address, as long as code stays where it is */
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
	const struct rec_task *task;	/* whose event it is */
	struct calls_known known[CALLS_KNOWN];
	unsigned long age;		/* counts what has changed */
	unsigned int interval;
	/* What the command does before the first event, and behind the last, of the calls */
	void (*begin)(struct calls_feed *f);
	void (*end)(struct calls_feed *f);
	void *ctx;
};

/* After f->in and f->options have been set by arguments, which it frees. Exit status */
int calls_feed_run(struct calls_feed *f);

/* ------------------------------------------------------- calls-print.c --- */

enum calls_format { CALLS_TABLE, CALLS_CSV, CALLS_JSON };

/* The functions. `people': an overview before, the first only, and how to see more of `file' */
void calls_print(struct calls *c, enum calls_format format, const char *file, bool people);
/* The single calls, between begin and end */
void calls_print_begin(const struct calls *c, enum calls_format format);
void calls_print_one(const struct calls *c, enum calls_format format, const struct calls_one *one);
void calls_print_end(enum calls_format format);

#endif /* NTRACE_CALLS_H */
