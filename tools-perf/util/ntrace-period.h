/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the samples of a period are, and for how much each of them stands. Plain
 * arithmetic: no perf, no trace.
 */
#ifndef INCLUDE__PERF_NTRACE_PERIOD_H__
#define INCLUDE__PERF_NTRACE_PERIOD_H__

#include <stdbool.h>
#include <stdint.h>

/*
 * What is sampled, instructions or time, is cut into blocks of one period. Each block has
 * one sample, at a random place in it, so every unit is sampled with the same probability,
 * 1 / period, whatever loop it belongs to and however short the stretch is that it is in.
 * A block that begins anew after a gap has its own random place: when the stretch ends
 * before that place, there is no sample of the block.
 *
 *	|.....x....|..x.......|........x.|x.........|	x sample
 *	<- period ->
 */
struct ntrace_period {
	uint64_t	period;
	uint64_t	random;		/* state of the generator */
	uint64_t	rest;		/* of the block, behind its sample */
	bool		exact;		/* samples are one period apart, without chance */
};

void ntrace_period_init(struct ntrace_period *p, uint64_t period, uint64_t seed, bool exact);

/* Begin a new block: so many units, at least 1, from here to its sample */
uint64_t ntrace_period_begin(struct ntrace_period *p);

/* So many units from one sample to the next, at least 1 */
uint64_t ntrace_period_next(struct ntrace_period *p);

/* a * b / c, cut, or UINT64_MAX; c is not 0 */
uint64_t ntrace_scale(uint64_t a, uint64_t b, uint64_t c);

/* The same, up or down by chance, so that its mean is exact */
uint64_t ntrace_period_scale(struct ntrace_period *p, uint64_t a, uint64_t b, uint64_t c);

#endif
