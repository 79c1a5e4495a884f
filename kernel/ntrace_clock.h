/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How much time has passed on this CPU: what a rate takes. local_clock() would tell, in 60
 * instructions, at every context switch.
 */
#ifndef _NTRACE_CLOCK_H
#define _NTRACE_CLOCK_H

#include <linux/delay.h>
#include <linux/math64.h>
#include <linux/time64.h>
#include <linux/timex.h>
#include <linux/types.h>

/* Enough for counters from 1 MHz to 1 GHz: an error below a thousandth, no overflow for days */
#define NTRACE_CLOCK_SHIFT	10

extern u64 ntrace_clock_mult;

static inline void ntrace_clock_init(void)
{
	ntrace_clock_mult = div_u64((u64)NSEC_PER_SEC << NTRACE_CLOCK_SHIFT, riscv_timebase);
}

/**
 * ntrace_clock - now, in ticks
 */
static inline u64 ntrace_clock(void)
{
	return get_cycles64();
}

/**
 * ntrace_clock_ns - a distance in nanoseconds
 * @ticks: it
 */
static inline u64 ntrace_clock_ns(u64 ticks)
{
	return ticks * ntrace_clock_mult >> NTRACE_CLOCK_SHIFT;
}

#endif /* _NTRACE_CLOCK_H */
