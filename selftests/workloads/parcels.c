// SPDX-License-Identifier: GPL-2.0-only
/*
 * The program of Documentation/trace/ntrace-gdb.rst. It has a bug: a parcel that is refused is put
 * back twice. Nothing of that is seen before the end.
 */
#include <stdio.h>

#define PARCELS	16
#define ORDERS	1000

static struct parcel {
	struct parcel *next;
	unsigned int weight;
} parcels[PARCELS], *shelf;
static volatile unsigned int delivered, refused;

static struct parcel * __attribute__((noinline)) take(void)
{
	struct parcel *p = shelf;

	shelf = p->next;
	return p;
}

static void __attribute__((noinline)) put(struct parcel *p)
{
	p->next = shelf;
	shelf = p;
}

static void __attribute__((noinline)) refuse(struct parcel *p)
{
	p->weight = 0;
	put(p);
	refused++;
}

static void __attribute__((noinline)) deliver(unsigned int order)
{
	struct parcel *p = take();

	p->weight = order * 7 % 1000;
	if (p->weight > 990)
		refuse(p);
	put(p);
	delivered++;
}

static unsigned int __attribute__((noinline)) count(void)
{
	unsigned int n = 0;

	for (const struct parcel *p = shelf; p && n <= PARCELS; p = p->next)
		n++;
	return n;
}

int main(void)
{
	for (unsigned int i = 0; i < PARCELS; i++)
		put(&parcels[i]);
	for (unsigned int i = 1; i <= ORDERS; i++)
		deliver(i);
	if (count() == PARCELS)
		return 0;
	fprintf(stderr, "parcels: there are not %d of them on the shelf\n", PARCELS);
	return 1;
}
