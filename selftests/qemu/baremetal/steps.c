// SPDX-License-Identifier: GPL-2.0-only
/*
 * A bare-metal program for whoever steps through source lines: compiled without optimisation, so
 * that each statement is code of its own, in order. Loops of each kind, calls in calls, recursion,
 * calls by address, returns in the middle, several statements in a line and one in several lines;
 * variables of several types. No interrupt: it goes the same way each time, also step by step.
 */
#include <stdint.h>
#include <unistd.h>

struct parcel {
	struct parcel *next;
	unsigned int weight;
	char label[8];
};

static struct parcel parcels[6], *shelf;
volatile unsigned int delivered;
uint64_t checksum;
unsigned char bytes[16];

static unsigned int twice(unsigned int x)
{
	return 2 * x;
}

static unsigned int plus(unsigned int a, unsigned int b)
{
	unsigned int sum = a + b;

	return sum;
}

static unsigned int fib(unsigned int n)
{
	if (n < 2)
		return n;
	return fib(n - 1) + fib(n - 2);
}

static void put(struct parcel *p)
{
	p->next = shelf;
	shelf = p;
}

static struct parcel *take(void)
{
	struct parcel *p = shelf;

	if (!p)
		return 0;
	shelf = p->next;
	return p;
}

static int sign(long x)
{
	switch (x < 0 ? -1 : x > 0) {
	case -1:
		return -1;
	case 0:
		break;
	default:
		x = 1;
	}
	return (int)x;
}

static void sort(short *v, unsigned int n)
{
	for (unsigned int i = 1; i < n; i++) {
		short x = v[i];
		unsigned int at = i;

		while (at && v[at - 1] > x) {
			v[at] = v[at - 1];
			at--;
		}
		v[at] = x;
	}
}

static unsigned int nothing(void)
{
	return 0;
}

static unsigned int (*const table[])(unsigned int) = { twice, fib };

static unsigned int deliver(unsigned int order)
{
	struct parcel *p = take();
	unsigned int cost = 0;

	if (!p)
		return nothing();
	p->weight = order * 7 % 10;
	p->label[order % sizeof(p->label)] = (char)('a' + order % 26);
	if (p->weight > 6)
		goto refused;
	for (unsigned int i = 0; i < p->weight; i++)
		cost += table[i & 1](i);
	do {
		cost = plus(plus(cost, order),
			    twice(p->weight));
		if (cost & 1)
			continue;
		cost++;
	} while (cost < 40);
	delivered++; bytes[order % sizeof(bytes)] = (unsigned char)cost;
refused:
	put(p);
	return cost;
}

static void work(void)
{
	short values[12];

	for (unsigned int i = 0; i < sizeof(parcels) / sizeof(parcels[0]); i++)
		put(&parcels[i]);
	for (unsigned int order = 1; order <= 20; order++) {
		unsigned int cost = deliver(order);

		checksum = checksum * 31 + cost;
		values[order % 12] = (short)(cost * 37 % 101);
		if (order % 5 == 0)
			sort(values, 12);
	}
	checksum += (uint64_t)(sign((long)checksum - 5) + sign(0) + sign(-1));
}

static inline __attribute__((always_inline)) uint64_t fold(uint64_t x)
{
	x ^= x >> 32;
	return x ^ x >> 16;
}

/* A function that is inlined, behind all that is stepped through line by line */
static void leave(uint64_t x)
{
	bytes[0] = (unsigned char)fold(x);
	_exit(0);
}

int main(void)
{
	work();
	leave(checksum);
}
