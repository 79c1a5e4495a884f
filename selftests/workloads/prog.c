// SPDX-License-Identifier: GPL-2.0-only
/*
 * The program of the documentation's examples, ./prog: every function that they name, of known
 * shares and numbers of calls. The same each time: it changes no hart and asks for no time.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ROUNDS	32
#define N	256

static uint32_t picture[N];

/* Loops of lengths that share no factor with a period of samples */
static uint32_t __attribute__((noinline)) weigh(uint32_t x)
{
	uint32_t sum = 0;

	for (int i = 0; i < 37; i++)
		sum = sum * 33 + (x ^ (uint32_t)i);
	return sum;
}

static uint32_t __attribute__((noinline)) shade(uint32_t x)
{
	return x & 1 ? weigh(x) : x * 7 + 1;
}

static int __attribute__((noinline)) compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static unsigned int __attribute__((noinline, noclone)) fib(unsigned int n)
{
	unsigned int sum = 1;

	for (; n > 1; n -= 2)
		sum += fib(n - 1);
	return sum;
}

void __attribute__((noinline)) load(uint32_t seed)
{
	for (int i = 0; i < N; i++) {
		seed = seed * 1664525 + 1013904223;
		picture[i] = seed >> 8;
	}
}

void __attribute__((noinline)) draw(void)
{
	for (int i = 0; i < N; i++)
		picture[i] = shade(picture[i]);
}

int main(void)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < ROUNDS; i++) {
		load(i);
		draw();
		if (i % 4 == 0)
			qsort(picture, N, sizeof(*picture), compare);
		sum += picture[N / 2] + fib(12);
		if (i % 16 == 0 && getppid() < 0)
			return 1;
	}
	printf("prog: %08x\n", sum);
	return 0;
}
