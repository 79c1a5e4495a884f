// SPDX-License-Identifier: GPL-2.0-only
/*
 * As much trace as possible: indirect jumps that follow each other closely, to places far
 * apart. Argument: thousands of jumps, default 300.
 */
#define _GNU_SOURCE
#include "common.h"

struct far;
typedef uint64_t far_fn(uint64_t r, unsigned long left, const struct far *table, uint64_t a,
			uint64_t c);

struct far {
	far_fn *fn;
};

/* Each jumps to the next, which is a random one; the last returns the random number. */
#define FAR(n)										\
	static uint64_t __attribute__((noipa, aligned(65536)))				\
	far##n(uint64_t r, unsigned long left, const struct far *table, uint64_t a,	\
	       uint64_t c)								\
	{										\
		if (!left)								\
			return r;							\
		return table[r >> 60].fn(r * a + c, left - 1, table, a, c);		\
	}

FAR(0) FAR(1) FAR(2) FAR(3) FAR(4) FAR(5) FAR(6) FAR(7)
FAR(8) FAR(9) FAR(10) FAR(11) FAR(12) FAR(13) FAR(14) FAR(15)

static const struct far table[16] = {
	{ far0 }, { far1 }, { far2 }, { far3 }, { far4 }, { far5 }, { far6 }, { far7 },
	{ far8 }, { far9 }, { far10 }, { far11 }, { far12 }, { far13 }, { far14 }, { far15 },
};

int main(int argc, char **argv)
{
	unsigned long jumps = 1000 * (argc > 1 ? strtoul(argv[1], NULL, 0) : 300);

	run_on(0);
	go_straight();
	expect(far0(1, jumps / 2, table, LCG_A, LCG_C) == lcg_jump(1, jumps / 2), "one half");
	run_on(1);
	expect(far0(2, jumps / 2, table, LCG_A, LCG_C) == lcg_jump(2, jumps / 2), "other half");
	return done("bigtrace");
}
