/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Profiles of a fleet: hosts send recordings or edges to a folder, and ntrace makes one sum
 *
 *	fleet-spool.c	the folder: received files and their states
 *	fleet-decode.c	a received file -> edges of its recordings
 *	fleet-plan.c	the tree of sums
 *	fleet-run.c	run steps in child processes, several at a time
 *	fleet-slurm.c	run steps as job arrays of Slurm
 *	fleet-report.c	print a line for each host, and problems
 *
 * Documentation/trace/ntrace-fleet.rst describes the folder. The output of a step appears under its
 * name when it is complete, and a step whose output exists is done. So it does not matter which
 * process runs a step, how often, or whether an earlier one was killed.
 */
#ifndef NTRACE_FLEET_H
#define NTRACE_FLEET_H

#include "edges-count.h"

/*
 * Maximum number of inputs of a step. The average is 14, and the minimum is 2 if possible. The tree
 * does not depend on who runs the steps.
 */
#define FLEET_WIDTH	32

/* State of a received file. FLEET_PUT_OFF: it could not be read here, the next run tries again. */
enum fleet_state { FLEET_WAITING, FLEET_COUNTED, FLEET_GARBAGE, FLEET_PUT_OFF };

/* Edges of a recording. The file is leaves/ID[0..1]/ID-COUNT-EDGES-CHECK. */
struct fleet_leaf {
	char *name;
	uint64_t branches, losses;
	uint64_t others;	/* skipped transfers of other users' programs */
	uint64_t time;		/* of the received file, in ns */
	size_t order;		/* position among all leaves, by host and name */
	bool twice;		/* an earlier file contains the same recording */
};

/* A received file, or the folder of a recording with --kcore */
struct fleet_item {
	char *host, *name;
	char *path;
	bool stray;		/* outside of the hosts' folders */
	char *status;		/* path of the status file */
	uint64_t size, time;	/* in bytes; modification time in ns */
	enum fleet_state state;
	char *reason;		/* of FLEET_GARBAGE and FLEET_PUT_OFF */
	char *programs;		/* digest of the programs at decoding, if some were missing */
	struct fleet_leaf *leaf;
	size_t nr_leaves;
};

struct fleet {
	const char *spool;
	struct edges_choice choice;
	unsigned int jobs;
	int lock;		/* locked as long as it is open */
	struct fleet_item *item;	/* sorted by host and name, followed by strays */
	size_t nr_items, nr_strays;
	char **host;			/* expected hosts and those that sent files, sorted */
	size_t nr_hosts;
	const struct fleet_leaf **leaf;	/* leaves that count, by arrival; owned by fleet_item */
	size_t nr_leaves;
	size_t failed;			/* number of steps that failed because of this machine */
	size_t saturated;		/* number of sums with saturated counts */
	/* for Slurm */
	char **sbatch;			/* arguments */
	size_t nr_sbatch;
};

/* A path in the spool. Ends the command if out of memory. */
char *fleet_path(const struct fleet *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* -------------------------------------------------------- fleet-spool.c --- */

/* Make missing folders, and lock the spool against other commands. */
void fleet_spool_open(struct fleet *f, bool lock);
/* Read the received files and their statuses. May be called again. */
void fleet_spool_read(struct fleet *f);
void fleet_spool_free(struct fleet *f);
/* Read the status of an item again. */
void fleet_spool_read_status(const struct fleet *f, struct fleet_item *item);
/* Write a temporary file, then rename it. */
void fleet_spool_write(const char *path, const char *text, size_t len);
/* Write the status of garbage or of a file that is put off, for the next run. */
void fleet_spool_mark(struct fleet_item *item, enum fleet_state state, const char *reason);
/* Remove statuses and leaves without a received file, and temporary files of killed processes. */
void fleet_spool_clean(struct fleet *f);
/* Remove everything but these names, which are sorted. */
void fleet_spool_keep(const struct fleet *f, const char *folder, char **keep, size_t nr);

/* ------------------------------------------------------- fleet-decode.c --- */

/* Call in a child process: writes leaves, then the status. Exits on errors. */
void fleet_decode(const struct fleet *f, struct fleet_item *item);
/*
 * The folder with a host's programs: symfs/HOST, or else symfs; NULL: this machine. The caller
 * frees it.
 */
char *fleet_decode_symfs(const struct fleet *f, const char *host);
/*
 * Digest of a folder's content, by path, size and time. It changes when a file is added, removed or
 * modified.
 */
void fleet_decode_digest(const struct fleet *f, const char *symfs, char hex[EDGES_SHA256_HEX]);

/* --------------------------------------------------------- fleet-plan.c --- */

/* A sum to be made from leaves or from other sums */
struct fleet_node {
	char *path;
	char **from;		/* paths */
	size_t nr_from;
	unsigned int level;	/* 1: sum of leaves */
};

struct fleet_plan {
	struct fleet_node *node;	/* sorted by level */
	size_t nr;
	unsigned int levels;
};

/* Plan the sums of what has been decoded. The last node is the total. */
void fleet_plan_make(struct fleet *f, struct fleet_plan *plan);
void fleet_plan_free(struct fleet_plan *plan);
/* Call in a child process */
void fleet_plan_merge(const struct fleet_node *node);
/* The number of sums in the plan with saturated counts */
size_t fleet_plan_saturated(const struct fleet_plan *plan);
/* Give the total its name, and remove sums that are not in the plan. */
void fleet_plan_publish(const struct fleet *f, const struct fleet_plan *plan);
/* An estimate of the number of steps to merge n recordings, rather too large than too small */
size_t fleet_plan_steps(size_t n);

/* ---------------------------------------------------------- fleet-run.c --- */

/* The part of a stage's steps that a task of a job array runs */
struct fleet_share {
	unsigned int stage;	/* 0: decode; else the level of sums */
	size_t index, of;
};

void fleet_run_share(struct fleet *f, const struct fleet_share *share);
/* Run all steps on this machine. */
void fleet_run(struct fleet *f);
/* Write a profile of a program into merged/. Failures are counted in f->failed. */
void fleet_run_profile(struct fleet *f, const char *format, const char *program);
/* Show the progress on a terminal; n == of: remove the line. */
void fleet_run_progress(const char *what, size_t n, size_t of);

/* -------------------------------------------------------- fleet-slurm.c --- */

/* Run all steps as jobs. */
void fleet_slurm(struct fleet *f);

/* ------------------------------------------------------- fleet-report.c --- */

/* Returns true if everything was counted without losses, and each host has sent something. */
bool fleet_report(struct fleet *f);

#endif /* NTRACE_FLEET_H */
