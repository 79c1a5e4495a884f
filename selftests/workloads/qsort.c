// SPDX-License-Identifier: GPL-2.0-only
/* Sorting with callbacks, and a table of functions */
#define _GNU_SOURCE
#include <string.h>

#include "common.h"

#define N	1500

static uint64_t data[N], copy[N];

static int up(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static int down(const void *a, const void *b)
{
	return up(b, a);
}

static int bits(const void *a, const void *b)
{
	int x = __builtin_popcountll(*(const uint64_t *)a);
	int y = __builtin_popcountll(*(const uint64_t *)b);

	return x != y ? x - y : up(a, b);
}

static uint64_t add(uint64_t x) { return x + 12345; }
static uint64_t twist(uint64_t x) { return x ^ x >> 7; }
static uint64_t turn(uint64_t x) { return x << 13 | x >> 51; }
static uint64_t scale_up(uint64_t x) { return x * 31; }

static uint64_t (*const steps[])(uint64_t) = { add, twist, turn, scale_up };
static int (*const orders[])(const void *, const void *) = { up, down, bits };

/* The same through the table and without it */
static void table(uint64_t seed)
{
	uint64_t x = seed, y = seed;

	for (uint64_t i = 0, r = seed; i < 4000; i++, r = lcg(r))
		x = steps[r >> 62](x);
	for (uint64_t i = 0, r = seed; i < 4000; i++, r = lcg(r)) {
		switch (r >> 62) {
		case 0: y += 12345; break;
		case 1: y ^= y >> 7; break;
		case 2: y = y << 13 | y >> 51; break;
		default: y *= 31;
		}
	}
	expect(x == y, "table of functions");
}

static void sort(unsigned int order, uint64_t seed)
{
	uint64_t before = 0, after = 0;

	for (int i = 0; i < N; i++) {
		seed = lcg(seed);
		data[i] = seed >> 20;
		before += data[i];
	}
	qsort(data, N, sizeof(*data), orders[order]);
	memcpy(copy, data, sizeof(data));
	for (int i = 0; i < N; i++) {
		after += data[i];
		expect(!i || orders[order](&data[i - 1], &data[i]) <= 0, "order");
	}
	expect(before == after, "sum after sorting");
	for (int i = 0; i < N; i += 7)
		expect(bsearch(&copy[i], data, N, sizeof(*data), orders[order]) != NULL, "search");
}

int main(int argc, char **argv)
{
	unsigned long n = scale(argc, argv);

	for (unsigned long i = 0; i < 4 * n; i++) {
		run_on((unsigned int)i);
		sort(i % 3, i);
		table(i);
	}
	return done("qsort");
}
