/* SPDX-License-Identifier: GPL-2.0-only */
/* ntrace stat: counters for raw traces and recordings */
#ifndef NTRACE_STAT_H
#define NTRACE_STAT_H

#include "cmd.h"

struct stat_messages {
	uint64_t count[64];	/* indexed by TCODE */
	uint64_t bytes[64];
	uint64_t idle;
	uint64_t bad;		/* bytes that are not part of a message */
};

struct stat_totals {
	uint64_t insns;
	uint64_t branches;
	uint64_t losses;
	uint64_t skipped;	/* bytes */
};

/* Add a message of len bytes, including idle bytes before it. */
void stat_add(struct stat_messages *m, const struct nt_msg *msg, size_t len);
void stat_print_messages(const struct stat_messages *m, const char *what, uint64_t size);
void stat_print_totals(const struct stat_totals *t, uint64_t size);

#endif /* NTRACE_STAT_H */
