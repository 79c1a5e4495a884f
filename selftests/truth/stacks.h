/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A task's last branches and its call chain, rebuilt from what retired, and compared
 * with what a sample has.
 */
#ifndef STACKS_H
#define STACKS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "lines.h"
#include "truth.h"

/* As many as --itrace=g and l can ask for */
#define CHAIN_MAX	1024
#define LAST_MAX	1024

struct last_branch {
	uint64_t from, to;
	uint32_t types;		/* set of enum xfer that it may be, 0 where trace begins or ends */
};

struct sample {
	uint64_t number;	/* of its first line, 0: there is none */
	int32_t tid, cpu;
	unsigned int chain_nr, last_nr;
	uint64_t chain[CHAIN_MAX + 8];
	struct last_branch last[LAST_MAX + 1];
};

/* Lines of a sample: the first of one, or those that follow it */
void sample_begin(struct sample *s, const struct line *line);
void sample_add(struct sample *s, const struct line *line);

struct stacks;

struct stacks *stacks_new(void);

/* A transfer that was taken, or a trap */
void stacks_branch(struct stacks *s, const struct truth_event *ev);

/*
 * Trace ends at `from` and goes on at `to`; `joined`: that is where it ended, as far as
 * the task is concerned.
 */
void stacks_end(struct stacks *s, uint64_t from);
void stacks_begin(struct stacks *s, uint64_t to, bool joined);

/* Nothing before this is known any more, or it was of another program. */
void stacks_forget(struct stacks *s);

/*
 * As asked for with --itrace=gCHAINlLAST; NULL when what the sample has is true, else what is
 * wrong. `fewer`: the oldest callers or branches are not in it.
 */
const char *stacks_compare(const struct stacks *s, const struct sample *sample, uint64_t ip,
			   unsigned int chain, unsigned int last, bool *fewer);

void stacks_show(const struct stacks *s, const struct sample *sample, FILE *f);

unsigned int stacks_depth(const struct stacks *s);

#endif
