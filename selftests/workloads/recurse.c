// SPDX-License-Identifier: GPL-2.0-only
/* Deep recursion: a thousand levels, mutual, and as a tree */
#define _GNU_SOURCE
#include "common.h"

#define DEPTH	1000

static unsigned long __attribute__((noinline)) sum(unsigned long n)
{
	volatile unsigned long here = n;	/* no tail call, no loop */

	return n ? sum(n - 1) + here : 0;
}

static int odd(unsigned long n);

static int __attribute__((noinline)) even(unsigned long n)
{
	volatile int r = n ? odd(n - 1) : 1;

	return r;
}

static int __attribute__((noinline)) odd(unsigned long n)
{
	volatile int r = n ? even(n - 1) : 0;

	return r;
}

static unsigned long __attribute__((noinline)) fib(unsigned long n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static unsigned long __attribute__((noinline)) ackermann(unsigned long m, unsigned long n)
{
	if (!m)
		return n + 1;
	return ackermann(m - 1, n ? ackermann(m, n - 1) : 1);
}

int main(int argc, char **argv)
{
	unsigned long n = scale(argc, argv);

	for (unsigned long i = 0; i < 30 * n; i++) {
		if (i % 10 == 0)
			run_on((unsigned int)(i / 10));
		expect(sum(DEPTH) == DEPTH * (DEPTH + 1) / 2, "sum");
		expect(even(DEPTH) && odd(DEPTH - 1), "parity");
	}
	for (unsigned long i = 0; i < n; i++) {
		expect(fib(20) == 6765, "fibonacci");
		expect(ackermann(2, 60) == 123, "ackermann");
	}
	return done("recurse");
}
