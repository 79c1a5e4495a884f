/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A host's part of a fleet: record for a while, count, send
 *
 *	cmd-collect.c		options, and the order of things
 *	collect-budget.c	what may be spent today
 *	collect-run.c		the recorder and the decoder, in processes of their own
 *	collect-send.c		what waits to be sent, and the way to the spool
 */
#ifndef NTRACE_COLLECT_H
#define NTRACE_COLLECT_H

#include <inttypes.h>
#include <stdbool.h>

#include "cmd.h"

struct collect {
	const char *spool, *state, *host, *event, *from;
	const char *duration;
	uint64_t day;		/* bytes to be sent in one */
	uint64_t room;		/* bytes that stay free on the disk of state */
	uint64_t largest;	/* bytes of a recording */
	unsigned int cpu;	/* seconds to count it */
	bool kernel, others, whole;	/* whole: recordings are sent, not edges */
	char today[32];		/* the day that they are of */
	uint64_t used;		/* bytes today */
};

/* A path in the state folder; ends the command without memory */
char *collect_path(const struct collect *c, const char *name);

/* Read what was used today. */
void collect_budget_read(struct collect *c);
/* Before something is sent, so that a kill does not make it free; and back, if it was not sent. */
void collect_budget_charge(struct collect *c, uint64_t bytes);
void collect_budget_give_back(struct collect *c, uint64_t bytes);
/* NULL, or why nothing is recorded now */
const char *collect_budget_refuses(const struct collect *c);

/* Returns an exit status. */
int collect_run_record(const struct collect *c, const char *to);
int collect_run_count(const struct collect *c, const char *from, const char *to);

/* Bytes that wait */
uint64_t collect_send_waiting(const struct collect *c);
/*
 * It waits from now on, under the name that its content gives it. False, with a word, if it is larger
 * than a day's budget: then it is where it was.
 */
bool collect_send_add(const struct collect *c, const char *path, const char *suffix);
/* Of what waits, drop what is larger than a day's budget has become. True if there was any */
bool collect_send_drop(const struct collect *c);
/* As far as today's budget goes. Returns whether nothing is left that might have been sent. */
bool collect_send_all(struct collect *c);

#endif /* NTRACE_COLLECT_H */
