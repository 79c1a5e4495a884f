/* SPDX-License-Identifier: GPL-2.0-only */
/* What the benchmarks share: an end with words, and a clock */
#ifndef SELFTESTS_BENCH_H
#define SELFTESTS_BENCH_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline void die(const char *what)
{
	fprintf(stderr, "%s: %s\n", program_invocation_short_name, what);
	exit(1);
}

/* Seconds, of a thread's own or of all */
static inline double now(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec + ts.tv_nsec * 1e-9;
}

#endif /* SELFTESTS_BENCH_H */
