// SPDX-License-Identifier: GPL-2.0-only
/*
 * perf record -k: events have times of a clock of the user's choice, the trace has those of the
 * `time` CSR. The kernel tells how that converts to its own clock only, so both are read here,
 * at the start of each file and at its end: between the two a straight line is right to the
 * microsecond, though the clock may be slewed.
 */
#include <limits.h>
#include <string.h>
#include <time.h>
#include <linux/kernel.h>
#include <linux/types.h>

#include "../../../util/event.h"
#include "../../../util/ntrace-info.h"
#include "ntrace.h"

/* The nearest of so many readings counts: others were interrupted. */
#define READINGS	32

/* Below that the kernel's idea of the rate is better than what can be measured. */
#define MIN_NS		10000000

static u64 read_time(void)
{
	unsigned long now;

	__asm__ __volatile__("rdtime %0" : "=r" (now));
	return now;
}

static bool read_pair(clockid_t id, u64 *ticks, u64 *ns)
{
	u64 before, after, best = ~0ULL;
	struct timespec ts;
	int i;

	for (i = 0; i < READINGS; i++) {
		before = read_time();
		if (clock_gettime(id, &ts))
			return false;
		after = read_time();
		if (after - before >= best)
			continue;
		best = after - before;
		*ticks = before + best / 2;
		*ns = ts.tv_sec * 1000000000ULL + ts.tv_nsec;
	}
	return true;
}

/* Both pairs, or the only one, are on the line. */
static void put_through(struct perf_tsc_conversion *tc, u64 ticks, u64 ns)
{
	tc->time_zero = 0;
	tc->time_zero = ns - tsc_to_perf_time(ticks, tc);
}

/* @tc: what the kernel says of its own clock, of which the rate is near */
void ntrace_clock_start(struct ntrace_clock *clock, const struct perf_tsc_conversion *tc)
{
	clock->tc = *tc;
	clock->started = read_pair(clock->id, &clock->ticks, &clock->ns);
	if (clock->started)
		put_through(&clock->tc, clock->ticks, clock->ns);
}

void ntrace_clock_end(struct ntrace_clock *clock)
{
	unsigned __int128 mult;
	u64 ticks = 0, ns = 0;

	if (!read_pair(clock->id, &ticks, &ns) || ns < clock->ns + MIN_NS || ticks <= clock->ticks)
		return;
	mult = ((unsigned __int128)(ns - clock->ns) << clock->tc.time_shift) /
	       (ticks - clock->ticks);
	if (!mult || mult > UINT_MAX)
		return;
	clock->tc.time_mult = mult;
	put_through(&clock->tc, clock->ticks, clock->ns);
}

/* As an event, which takes the place of the one that perf writes for the kernel's own clock */
void ntrace_clock_event(const struct ntrace_clock *clock, struct perf_record_time_conv *ev)
{
	memset(ev, 0, sizeof(*ev));
	ev->header.type = PERF_RECORD_TIME_CONV;
	ev->header.size = sizeof(*ev);
	ev->time_shift	= clock->tc.time_shift;
	ev->time_mult	= clock->tc.time_mult;
	ev->time_zero	= clock->tc.time_zero;
	ev->time_cycles = clock->tc.time_cycles;
	ev->time_mask	= clock->tc.time_mask;
	ev->cap_user_time_zero	= 1;
	ev->cap_user_time_short = clock->tc.cap_user_time_short;
	memcpy(ev->reserved, NTRACE_TIME_CONV_MARK, sizeof(ev->reserved));
}
