/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A host's part of a fleet: record for a while, count, send
 *
 *	cmd-collect.c		options, and the main sequence
 *	collect-budget.c	the daily budget
 *	collect-run.c		run the recorder and the decoder as child processes
 *	collect-send.c		the outbox, and sending to the spool
 */
#ifndef NTRACE_COLLECT_H
#define NTRACE_COLLECT_H

#include <inttypes.h>
#include <stdbool.h>

#include "cmd.h"

struct collect {
	const char *spool, *state, *host, *event, *from;
	const char *duration;
	uint64_t day;		/* bytes to be sent per day */
	uint64_t room;		/* bytes that must stay free on the disk of `state' */
	uint64_t largest;	/* maximum size of a recording, in bytes */
	unsigned int cpu;	/* CPU seconds to count a recording */
	bool kernel, others, whole;	/* whole: send recordings instead of edges */
	char today[32];		/* the date of `used' */
	uint64_t used;		/* bytes used on that day */
};

/* A path in the state folder. Ends the command if out of memory. */
char *collect_path(const struct collect *c, const char *name);

/* Read how much was used today. */
void collect_budget_read(struct collect *c);
/* Charge before sending, so that a killed command has paid. Give back what was not sent. */
void collect_budget_charge(struct collect *c, uint64_t bytes);
void collect_budget_give_back(struct collect *c, uint64_t bytes);
/* Returns NULL, or why nothing may be recorded now. */
const char *collect_budget_refuses(const struct collect *c);

/* Returns an exit status. */
int collect_run_record(const struct collect *c, const char *to);
int collect_run_count(const struct collect *c, const char *from, const char *to);

/* Number of bytes that wait to be sent */
uint64_t collect_send_waiting(const struct collect *c);
/*
 * Move a file to the outbox, under a name derived from its content. Returns false with a warning,
 * and leaves the file where it is, if it is larger than the budget of a day.
 */
bool collect_send_add(const struct collect *c, const char *path, const char *suffix);
/*
 * Drop files that are larger than the budget of a day, which may have changed. Returns true if
 * there were any.
 */
bool collect_send_drop(const struct collect *c);
/* Send as much as today's budget allows. Returns true if nothing is left that may be sent. */
bool collect_send_all(struct collect *c);

#endif /* NTRACE_COLLECT_H */
