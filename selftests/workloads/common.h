/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What every workload does: take a scale as its first argument, check its own result, change
 * the hart at least once where there is another, and run a stretch of straight code that
 * overflows an instruction counter of 14 bits.
 */
#ifndef WORKLOADS_COMMON_H
#define WORKLOADS_COMMON_H

#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define STRAIGHT	40000

/* Half-words of straight code: returns a + STRAIGHT. */
unsigned long straight(unsigned long a);

static inline void __attribute__((noreturn)) fail(const char *what)
{
	printf("wrong: %s\n", what);
	fflush(stdout);
	_exit(1);
}

static inline void expect(int right, const char *what)
{
	if (!right)
		fail(what);
}

/* Run on the n-th CPU of those that there are, counted around. Migrates at once. */
static inline void run_on(unsigned int n)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(n % (unsigned int)(cpus > 0 ? cpus : 1), &set);
	expect(!sched_setaffinity(0, sizeof(set), &set), "sched_setaffinity");
}

/* Twice: the first time, page faults interrupt it. */
static inline void go_straight(void)
{
	expect(straight(1) == STRAIGHT + 1 && straight(2) == STRAIGHT + 2, "straight code");
}

/* argv[1] times what is normal; 1 without it */
static inline unsigned long scale(int argc, char **argv)
{
	unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 0) : 1;

	run_on(0);
	go_straight();
	return n ? n : 1;
}

static inline int done(const char *name)
{
	printf("%s: right\n", name);
	return 0;
}

/* A cheap sequence of numbers that its index-th member can be told of without the others */
#define LCG_A	6364136223846793005ull
#define LCG_C	1442695040888963407ull

static inline uint64_t lcg(uint64_t x)
{
	return x * LCG_A + LCG_C;
}

/* lcg() n times, by squaring */
static inline uint64_t lcg_jump(uint64_t x, uint64_t n)
{
	uint64_t a = LCG_A, c = LCG_C, mul = 1, add = 0;

	for (; n; n >>= 1) {
		if (n & 1) {
			mul *= a;
			add = add * a + c;
		}
		c *= a + 1;
		a *= a;
	}
	return x * mul + add;
}

#endif
