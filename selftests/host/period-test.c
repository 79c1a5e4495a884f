// SPDX-License-Identifier: GPL-2.0-only
/*
 * Periods of samples: no loop is in step with them, and short stretches count as much as long
 * ones.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cmocka-tap.h"
#include "nt-session.h"

#define PERIOD	1000
#define LOOPS	1000

/* --- loops ---------------------------------------------------------------------- */

/* Mean of the total variation that n independent samples of m equal places have */
static double sampling_error(double n, double m)
{
	double p = 1 / m, k = floor(n * p) + 1;

	if (m < 2)
		return 0;
	return m / 2 * 2 / n *
	       exp(log(k) + lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) + k * log(p) +
		   (n - k + 1) * log1p(-p));
}

/* Total variation of n samples from a loop of that many instructions, all run as often */
static double loop_error(unsigned int length, unsigned int n, bool exact)
{
	static unsigned int hits[LOOPS];
	struct nt_session_period p;
	double tv = 0;
	uint64_t at;

	memset(hits, 0, sizeof(hits));
	nt_session_period_init(&p, PERIOD, length, exact);
	at = nt_session_period_begin(&p);
	for (unsigned int i = 0; i < n; i++, at += nt_session_period_next(&p))
		hits[(at - 1) % length]++;
	for (unsigned int i = 0; i < length; i++)
		tv += fabs((double)hits[i] / n - 1.0 / length) / 2;
	return tv;
}

static void test_loops(void **state)
{
	double worst = 0;

	(void)state;
	for (unsigned int length = 1; length <= LOOPS; length++) {
		double tv = loop_error(length, 20000, false), error = sampling_error(20000, length);

		if (tv > error + 0.02)
			fail_msg("a loop of %u: total variation %.4f, sampling error %.4f", length,
				 tv, error);
		worst = tv - error > worst ? tv - error : worst;
	}
	printf("# at most %.4f above the sampling error\n", worst);
}

/* That test sees what it is for. */
static void test_exact(void **state)
{
	(void)state;
	assert_true(loop_error(40, 20000, true) > 0.9);
	assert_true(loop_error(PERIOD, 20000, true) > 0.9);
	assert_true(loop_error(7, 20000, true) < 0.01);
}

/* Each block has one, so no two are farther apart than two periods, and the sum is exact. */
static void test_blocks(void **state)
{
	struct nt_session_period p;
	uint64_t at, step;

	(void)state;
	nt_session_period_init(&p, PERIOD, 1, false);
	at = nt_session_period_begin(&p);
	for (uint64_t block = 0; block < 100000; block++) {
		assert_true(at > block * PERIOD && at <= (block + 1) * PERIOD);
		step = nt_session_period_next(&p);
		assert_true(step >= 1 && step < 2 * PERIOD);
		at += step;
	}
}

static void test_one(void **state)
{
	struct nt_session_period p;

	(void)state;
	for (uint64_t period = 0; period < 2; period++) {
		nt_session_period_init(&p, period, 7, false);
		assert_int_equal(nt_session_period_begin(&p), 1);
		for (int i = 0; i < 100; i++)
			assert_int_equal(nt_session_period_next(&p), 1);
	}
}

static void test_same(void **state)
{
	struct nt_session_period a, b, c;
	unsigned int differ = 0;

	(void)state;
	nt_session_period_init(&a, PERIOD, 3, false);
	nt_session_period_init(&b, PERIOD, 3, false);
	nt_session_period_init(&c, PERIOD, 4, false);
	for (int i = 0; i < 1000; i++) {
		uint64_t next = nt_session_period_next(&a);

		assert_int_equal(next, nt_session_period_next(&b));
		differ += next != nt_session_period_next(&c);
	}
	assert_true(differ > 900);
}

/* --- stretches ------------------------------------------------------------------- */

/* Samples of a stretch that begins anew, of which the first @part are told apart */
static unsigned int stretch(struct nt_session_period *p, uint64_t length, uint64_t part,
			    unsigned int *early)
{
	unsigned int n = 0;

	for (uint64_t at = nt_session_period_begin(p); at <= length;
	     at += nt_session_period_next(p)) {
		*early += at <= part;
		n++;
	}
	return n;
}

/* Every instruction weighs 1 in the mean, however long its stretch is, and wherever it is there. */
static void test_stretches(void **state)
{
	static const unsigned int lengths[] = { 1, 7, 50, 400, 999, 1000, 1001, 1700, 5000 };
	struct nt_session_period p;

	(void)state;
	nt_session_period_init(&p, PERIOD, 11, false);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		unsigned int rounds = 40000000 / lengths[i], n = 0, early = 0;
		double insns = (double)rounds * lengths[i], error;

		for (unsigned int k = 0; k < rounds; k++)
			n += stretch(&p, lengths[i], lengths[i] / 2, &early);
		/* 40,000 samples: 5 standard deviations */
		error = 5 * sqrt(insns / PERIOD) * PERIOD;
		if (fabs((double)n * PERIOD - insns) > error)
			fail_msg("stretches of %u: %u samples of %.0f", lengths[i], n, insns);
		insns = (double)rounds * (lengths[i] / 2);
		if (fabs((double)early * PERIOD - insns) > error)
			fail_msg("first halves of %u: %u samples of %.0f", lengths[i], early,
				 insns);
	}
}

/* --- the clock of samples ----------------------------------------------------------- */

/*
 * What a span of @insns in @time advances the clock by, when all before were such; least and most
 */
static void steady(uint64_t insns, uint64_t time, uint64_t *least, uint64_t *most)
{
	struct nt_session_pace p = { .tick = 1 };
	uint64_t n;

	*least = UINT64_MAX;
	*most = 0;
	for (int i = 0; i < 2000; i++) {
		n = nt_session_pace_advance(&p, insns, time, false);
		if (i < 1000)
			continue;
		*least = n < *least ? n : *least;
		*most = n > *most ? n : *most;
	}
}

/* As fast as the spans are; a span longer than what the average is made of still moves it. */
static void test_pace(void **state)
{
	uint64_t least, most;

	(void)state;
	steady(1000, 1000, &least, &most);
	assert_in_range(least, 990, 1000);
	assert_in_range(most, 990, 1000);
	steady(100000, 500, &least, &most);
	assert_in_range(least, 490, 500);
	assert_in_range(most, 490, 500);
	steady(1, 2000, &least, &most);
	assert_in_range(least, 200, 2000);
	assert_in_range(most, 200, 2000);
}

/* --- arithmetic --------------------------------------------------------------------- */

static void test_scale(void **state)
{
	(void)state;
	assert_int_equal(nt_session_scale(7, 3, 2), 10);
	assert_int_equal(nt_session_scale(0, 3, 2), 0);
	assert_int_equal(nt_session_scale(UINT64_MAX, 1, UINT64_MAX), 1);
	assert_int_equal(nt_session_scale(1ull << 40, 1ull << 20, 1ull << 30), 1ull << 30);
	assert_int_equal(nt_session_scale(1ull << 60, 1ull << 60, 3), UINT64_MAX);
	/* more than 64 bits between: to a part in 2^20 */
	uint64_t x = nt_session_scale((1ull << 50) - 1, 1ull << 40, 1ull << 50);
	assert_true(x <= 1ull << 40 && x >= (1ull << 40) - (1ull << 20));
}

static void test_rounding(void **state)
{
	struct nt_session_period p;
	double sum = 0;

	(void)state;
	nt_session_period_init(&p, PERIOD, 5, false);
	assert_int_equal(nt_session_period_scale(&p, 6, 5, 3), 10);
	for (int i = 0; i < 100000; i++) {
		uint64_t x = nt_session_period_scale(&p, 1, 7, 30);

		assert_true(x <= 1);
		sum += (double)x;
	}
	assert_true(fabs(sum / 100000 - 7.0 / 30) < 0.01);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loops),
		cmocka_unit_test(test_exact),
		cmocka_unit_test(test_blocks),
		cmocka_unit_test(test_one),
		cmocka_unit_test(test_same),
		cmocka_unit_test(test_stretches),
		cmocka_unit_test(test_pace),
		cmocka_unit_test(test_scale),
		cmocka_unit_test(test_rounding),
	};

	return RUN_TAP(tests);
}
