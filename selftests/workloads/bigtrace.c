// SPDX-License-Identifier: GPL-2.0-only
/*
 * As much trace as possible: indirect calls that follow each other closely, to places far
 * apart. Argument: thousands of calls, default 200.
 */
#define _GNU_SOURCE
#include "common.h"

#define FAR(n)	static uint64_t __attribute__((noinline, aligned(4096))) far##n(uint64_t x) \
		{ return x + (n); }

FAR(0) FAR(1) FAR(2) FAR(3) FAR(4) FAR(5) FAR(6) FAR(7)
FAR(8) FAR(9) FAR(10) FAR(11) FAR(12) FAR(13) FAR(14) FAR(15)

static uint64_t (*const table[])(uint64_t) = {
	far0, far1, far2, far3, far4, far5, far6, far7,
	far8, far9, far10, far11, far12, far13, far14, far15,
};

int main(int argc, char **argv)
{
	unsigned long calls = 1000 * (argc > 1 ? strtoul(argv[1], NULL, 0) : 200);
	uint64_t x = 0, y = 0, r = 1;

	run_on(0);
	go_straight();
	for (unsigned long i = 0; i < calls; i++) {
		r = lcg(r);
		x = table[r >> 60](x);
	}
	run_on(1);
	r = 1;
	for (unsigned long i = 0; i < calls; i++) {
		r = lcg(r);
		y += r >> 60;
	}
	expect(x == y, "sum");
	return done("bigtrace");
}
