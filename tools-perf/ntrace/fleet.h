/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Profiles of a fleet: a folder to which hosts send recordings, or edges, becomes one sum
 *
 *	fleet-spool.c	the folder: what was sent, and what became of it
 *	fleet-decode.c	one file that was sent -> edges of its recordings
 *	fleet-plan.c	the tree of sums
 *	fleet-run.c	steps in processes of their own, some at a time
 *	fleet-slurm.c	the same as job arrays of Slurm
 *	fleet-report.c	the line of each host, and what is wrong
 *
 * Documentation/trace/ntrace-fleet.rst describes the folder. A step's output appears under its name
 * when it is whole, and a step whose output is there is done. So it does not matter who does a
 * step, how often, and whether a process before it was killed.
 */
#ifndef NTRACE_FLEET_H
#define NTRACE_FLEET_H

#include "edges-count.h"

/*
 * What one step merges: at most so many, on average 14, and at least two if there are. The tree is the
 * same, whoever works.
 */
#define FLEET_WIDTH	32

/* What became of a file that was sent. Put off: it could not be read here; the next run tries. */
enum fleet_state { FLEET_WAITING, FLEET_COUNTED, FLEET_GARBAGE, FLEET_PUT_OFF };

/* Edges of one recording: "ID-COUNT-EDGES-CHECK", below leaves/ and the first two letters */
struct fleet_leaf {
	char *name;
	uint64_t branches, losses;
	uint64_t others;	/* transfers of others' programs, left out */
	uint64_t time;		/* of the file that was sent, in ns */
	size_t order;		/* as it was sent, by host and name */
	bool twice;		/* the same recording was sent by another file that comes before */
};

/* A file that was sent; a folder, if it was recorded with --kcore */
struct fleet_item {
	char *host, *name;
	char *path;
	bool stray;		/* in no host's folder */
	char *status;		/* the path of its status */
	uint64_t size, time;	/* in bytes; when it was written, in ns */
	enum fleet_state state;
	char *reason;		/* of garbage, and of what is put off */
	char *programs;		/* those that it was decoded with, if some were missing: a digest */
	struct fleet_leaf *leaf;
	size_t nr_leaves;
};

struct fleet {
	const char *spool;
	struct edges_choice choice;
	unsigned int jobs;
	int lock;		/* for as long as it is open */
	struct fleet_item *item;	/* by host and name, strays behind them */
	size_t nr_items, nr_strays;
	char **host;			/* those that are expected, and those that sent, by name */
	size_t nr_hosts;
	const struct fleet_leaf **leaf;	/* that count, as they came; of fleet_item */
	size_t nr_leaves;
	size_t failed;			/* steps that this machine could not do */
	size_t saturated;		/* sums with counts that are the most that one can be */
	/* Slurm's */
	char **sbatch;			/* arguments */
	size_t nr_sbatch;
};

/* A path in the spool; ends the command without memory */
char *fleet_path(const struct fleet *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* -------------------------------------------------------- fleet-spool.c --- */

/* Make the folders that are missing; lock what is made, against another command. */
void fleet_spool_open(struct fleet *f, bool lock);
/* Read what was sent, and the status of each. May be called again. */
void fleet_spool_read(struct fleet *f);
void fleet_spool_free(struct fleet *f);
/* Read the status of one again. */
void fleet_spool_read_status(const struct fleet *f, struct fleet_item *item);
/* Write a file beside, then give it its name. */
void fleet_spool_write(const char *path, const char *text, size_t len);
/* Of garbage, and of what is put off, as the next run will read it */
void fleet_spool_mark(struct fleet_item *item, enum fleet_state state, const char *reason);
/* Remove what no file that was sent is the cause of, and what killed processes left. */
void fleet_spool_clean(struct fleet *f);
/* Remove all but these names, which are sorted. */
void fleet_spool_keep(const struct fleet *f, const char *folder, char **keep, size_t nr);

/* ------------------------------------------------------- fleet-decode.c --- */

/* In a process of its own: writes leaves, then the status; ends it where it cannot. */
void fleet_decode(const struct fleet *f, struct fleet_item *item);
/* Where programs of a host are: symfs/HOST, else symfs; NULL: on this machine. To be freed. */
char *fleet_decode_symfs(const struct fleet *f, const char *host);
/* What is there, by path, size and time: another text when something came, went or changed */
void fleet_decode_digest(const struct fleet *f, const char *symfs, char hex[EDGES_SHA256_HEX]);

/* --------------------------------------------------------- fleet-plan.c --- */

/* A sum to make: of leaves, or of sums */
struct fleet_node {
	char *path;
	char **from;		/* paths */
	size_t nr_from;
	unsigned int level;	/* 1: of leaves */
};

struct fleet_plan {
	struct fleet_node *node;	/* by level */
	size_t nr;
	unsigned int levels;
};

/* Of what is decoded; the last node is the sum of all. */
void fleet_plan_make(struct fleet *f, struct fleet_plan *plan);
void fleet_plan_free(struct fleet_plan *plan);
/* In a process of its own */
void fleet_plan_merge(const struct fleet_node *node);
/* How many of its sums have counts that are the most that one can be */
size_t fleet_plan_saturated(const struct fleet_plan *plan);
/* Give the sum of all its name, and remove sums of other plans. */
void fleet_plan_publish(const struct fleet *f, const struct fleet_plan *plan);
/* About so many steps merge n sums, or recordings: rather more than less */
size_t fleet_plan_steps(size_t n);

/* ---------------------------------------------------------- fleet-run.c --- */

/* Of the steps of a stage, those of one task among several */
struct fleet_share {
	unsigned int stage;	/* 0: decode; else the level of sums */
	size_t index, of;
};

void fleet_run_share(struct fleet *f, const struct fleet_share *share);
/* Everything, here */
void fleet_run(struct fleet *f);
/* A profile of a program, into merged/; if it cannot be made, that is in f->failed */
void fleet_run_profile(struct fleet *f, const char *format, const char *program);
/* On a terminal, how far it is; n == of: the line goes away. */
void fleet_run_progress(const char *what, size_t n, size_t of);

/* -------------------------------------------------------- fleet-slurm.c --- */

/* Everything, as jobs */
void fleet_slurm(struct fleet *f);

/* ------------------------------------------------------- fleet-report.c --- */

/* Returns whether all is well: everything counted, no losses, and of each host something. */
bool fleet_report(struct fleet *f);

#endif /* NTRACE_FLEET_H */
