/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Chance, for tests. SEED in the environment repeats a run; ROUNDS and make check-all make a run
 * longer.
 */
#ifndef SELFTESTS_RANDOM_H
#define SELFTESTS_RANDOM_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static uint64_t rnd_state;

static inline uint64_t rnd(uint64_t below)
{
	rnd_state ^= rnd_state << 13;
	rnd_state ^= rnd_state >> 7;
	rnd_state ^= rnd_state << 17;
	return (rnd_state >> 8) % below;
}

/* Say which run this is. */
static inline void rnd_begin(void)
{
	const char *seed = getenv("SEED");

	rnd_state = seed ? strtoull(seed, NULL, 0) : (uint64_t)time(NULL) * 2654435761u + getpid();
	rnd_state |= 1;
	printf("# SEED=%" PRIu64 "\n", rnd_state);
	fflush(stdout);
}

static inline unsigned long rounds(unsigned long dflt)
{
	const char *s = getenv("ROUNDS"), *groups = getenv("groups");

	if (s)
		return strtoul(s, NULL, 0);
	return groups && !strcmp(groups, "all") ? 3 * dflt : dflt;
}

#endif /* SELFTESTS_RANDOM_H */
