// SPDX-License-Identifier: GPL-2.0-only
/* Moves to another CPU every millisecond, computing all the time */
#define _GNU_SOURCE
#include <time.h>

#include "common.h"

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

int main(int argc, char **argv)
{
	unsigned long hops = 50 * scale(argc, argv);
	uint64_t x = 1, steps = 0;

	/* Each hop has its share of work however slow the machine is. */
	for (unsigned int i = 0; i < hops; i++) {
		uint64_t end = now() + 1000000;

		run_on(i);
		do {
			for (int k = 0; k < 4000; k++)
				x = lcg(x);
			steps += 4000;
		} while (now() < end);
	}
	expect(x == lcg_jump(1, steps), "computation");
	return done("bounce");
}
