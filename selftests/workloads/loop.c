// SPDX-License-Identifier: GPL-2.0-only
/* Loops: nested, data dependent, with and without branches inside */
#define _GNU_SOURCE
#include <string.h>

#include "common.h"

#define N	24
#define LIMIT	20000

static unsigned int a[N][N], b[N][N], c[N][N];
static unsigned char composite[LIMIT];

static void multiply(void)
{
	memset(c, 0, sizeof(c));
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++)
			for (int k = 0; k < N; k++)
				c[i][j] += a[i][k] * b[k][j];
}

/* b is the unit matrix turned upside down: the product's rows run backwards */
static void matrices(void)
{
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++) {
			a[i][j] = (unsigned int)(i * 31 + j);
			b[i][j] = i + j == N - 1;
		}
	multiply();
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++)
			expect(c[i][j] == a[i][N - 1 - j], "product");
}

static void primes(void)
{
	unsigned int count = 0;

	memset(composite, 0, sizeof(composite));
	for (unsigned int p = 2; p < LIMIT; p++) {
		if (composite[p])
			continue;
		count++;
		for (unsigned int m = p * 2; m < LIMIT; m += p)
			composite[m] = 1;
	}
	expect(count == 2262, "primes below 20000");
}

static void collatz(void)
{
	unsigned int best = 0, start = 0;

	for (unsigned int n = 1; n < 2000; n++) {
		unsigned int steps = 0;

		for (unsigned long x = n; x != 1; steps++)
			x = x & 1 ? 3 * x + 1 : x / 2;
		if (steps > best) {
			best = steps;
			start = n;
		}
	}
	expect(start == 1161 && best == 181, "longest chain below 2000");
}

int main(int argc, char **argv)
{
	unsigned long n = scale(argc, argv);

	for (unsigned long i = 0; i < 2 * n; i++) {
		run_on((unsigned int)i);
		matrices();
		primes();
		collatz();
	}
	return done("loop");
}
