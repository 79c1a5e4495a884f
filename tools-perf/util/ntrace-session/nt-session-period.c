// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Sampling periods. The same seed gives the same samples, so decoding a file is reproducible.
 */
#include "nt-session.h"

/* Sebastiano Vigna's splitmix64: any seed is good */
static uint64_t draw(struct nt_session_period *p)
{
	uint64_t x = p->random += 0x9e3779b97f4a7c15ULL;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

/* 0 to n - 1. For periods far below 2^64, the remainder is uniform enough. */
static uint64_t below(struct nt_session_period *p, uint64_t n)
{
	return draw(p) % n;
}

void nt_session_period_init(struct nt_session_period *p, uint64_t period, uint64_t seed, bool exact)
{
	p->period = period ? period : 1;
	p->random = seed;
	p->rest = 0;
	p->exact = exact;
}

uint64_t nt_session_period_begin(struct nt_session_period *p)
{
	uint64_t place = p->exact ? p->period : below(p, p->period) + 1;

	p->rest = p->period - place;
	return place;
}

uint64_t nt_session_period_next(struct nt_session_period *p)
{
	uint64_t rest = p->rest;

	return rest + nt_session_period_begin(p);
}

/*
 * a * b / c and the remainder of the division by *c. Low bits are lost only if the product of a % c
 * and b exceeds 64 bits.
 */
static uint64_t divide(uint64_t a, uint64_t b, uint64_t *c, uint64_t *rest)
{
	uint64_t whole = a / *c, part = a % *c;

	if (whole && b > UINT64_MAX / 2 / whole) {
		*rest = 0;
		return UINT64_MAX;
	}
	whole *= b;
	while (part && b > UINT64_MAX / part) {
		part /= 2;
		*c /= 2;
	}
	*rest = part * b % *c;
	return whole + part * b / *c;
}

uint64_t nt_session_scale(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t rest;

	/* Usually one division is enough. The 32-bit one is faster. */
	if (a <= UINT32_MAX && b <= UINT32_MAX) {
		a *= b;
		return (a | c) <= UINT32_MAX ? (uint32_t)a / (uint32_t)c : a / c;
	}

	return divide(a, b, &c, &rest);
}

uint64_t nt_session_period_scale(struct nt_session_period *p, uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t rest, value = divide(a, b, &c, &rest);

	return value + (rest && below(p, c) < rest);
}
