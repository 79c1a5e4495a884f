// SPDX-License-Identifier: GPL-2.0-only
/*
 * Quantiles. They are exact if there are few values. Otherwise, they are accurate to the width of a
 * class. There are 64 classes between a power of two and the next one, so the middle of a class
 * differs from its values by at most 1/128.
 */
#include <stdlib.h>
#include <string.h>

#include "calls.h"

#define CLASSES	(1u << QUANTILE_BITS)

static void *checked(void *p)
{
	if (!p)
		die("%s", nt_strerror(NT_ENOMEM));
	return p;
}

/* The power of two of a value, relative to CLASSES. Smaller values have classes of their own. */
static unsigned int octave_of(uint64_t value)
{
	return value < CLASSES ? 0 : 64 - QUANTILE_BITS - __builtin_clzll(value);
}

static void add_to_class(struct quantiles *q, uint64_t value)
{
	unsigned int octave = octave_of(value);
	uint64_t **counts = &q->classes[octave];

	if (!*counts)
		*counts = checked(calloc(CLASSES, sizeof(**counts)));
	(*counts)[octave ? value >> (octave - 1) & (CLASSES - 1) : value]++;
}

void quantiles_add(struct quantiles *q, uint64_t value)
{
	size_t i;

	if (!q->n)
		q->values = checked(malloc(QUANTILE_EXACT * sizeof(*q->values)));
	if (q->n == QUANTILE_EXACT) {
		for (i = 0; i < q->n; i++)
			add_to_class(q, q->values[i]);
		free(q->values);
		q->values = NULL;
	}
	if (q->n < QUANTILE_EXACT)
		q->values[q->n] = value;
	else
		add_to_class(q, value);
	q->n++;
	q->sum += value;
	if (value > q->max)
		q->max = value;
}

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static uint64_t middle(const struct quantiles *q, unsigned int octave, unsigned int i)
{
	uint64_t value;

	if (!octave)
		return i;
	value = ((uint64_t)(CLASSES + i) << (octave - 1)) + (1ull << (octave - 1)) / 2;
	return value < q->max ? value : q->max;
}

uint64_t quantiles_at(struct quantiles *q, unsigned int percent)
{
	uint64_t rank, below = 0;
	unsigned int octave, i;

	if (!q->n)
		return 0;
	/* compute it without overflow */
	rank = q->n / 100 * percent + (q->n % 100 * percent + 99) / 100;
	if (q->values) {
		qsort(q->values, q->n, sizeof(*q->values), compare);
		return q->values[rank - 1];
	}
	for (octave = 0; octave < sizeof(q->classes) / sizeof(q->classes[0]); octave++) {
		for (i = 0; q->classes[octave] && i < CLASSES; i++) {
			below += q->classes[octave][i];
			if (below >= rank)
				return middle(q, octave, i);
		}
	}
	return q->max;
}

void quantiles_free(struct quantiles *q)
{
	size_t i;

	free(q->values);
	for (i = 0; i < sizeof(q->classes) / sizeof(q->classes[0]); i++)
		free(q->classes[i]);
}
