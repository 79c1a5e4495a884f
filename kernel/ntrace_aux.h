/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Arithmetic of the AUX area, windows, heads, pace; ranges of addresses; who may use a component,
 * and what a sink may do when. No hardware, no perf.
 */
#ifndef _NTRACE_AUX_H
#define _NTRACE_AUX_H

#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/sizes.h>
#include <linux/time64.h>
#include <linux/types.h>

#include "ntrace_regs.h"

/*
 * No first window is smaller: below it, moving costs more than what it holds. More than any encoder
 * has on its way.
 */
#define NTRACE_AUX_MIN_WINDOW	512U

/* Room that should follow a window, to flush into */
#define NTRACE_AUX_MARGIN	2048U

/* A store that fills as a whole has to fit into the area so many times. */
#define NTRACE_AUX_STORES	4

/* The AUX area as its physically contiguous chunks */
struct ntrace_aux_layout {
	u64 size;		/* in bytes, a power of two */
	unsigned int nr;	/* of chunks */
	u64 *end;		/* offset at which each chunk ends, ascending; the last is size */
};

/* A piece of one chunk */
struct ntrace_aux_window {
	unsigned int chunk;
	u64 offset;		/* in the chunk */
	u64 size;
};

/* What a window must respect */
struct ntrace_aux_limits {
	u32 align;	/* bytes that the sink writes at a time */
	u32 reserve;	/* bytes at the end of the free space that stay free, to flush into */
	u64 want;	/* bytes that may fill before anybody looks: fewer are no window */
	u64 quantum;	/* bytes after which the reader should get them */
	u32 headroom;	/* bytes at a window's end that the sink keeps for what is on its way */
};

/* How fast trace comes */
struct ntrace_aux_pace {
	u64 rate;	/* bytes per second: a peak that fades */
};

/* A terabyte per second: no memory takes more, and products with times stay within 64 bits. */
#define NTRACE_AUX_MAX_RATE		BIT_ULL(40)
/*
 * How long a look may be late: what is left of a chunk and lasts no longer is no window. Where
 * interrupts are off for long, as in a kernel that wakes many tasks, it does happen.
 */
#define NTRACE_AUX_LATENCY_NS		(10 * 1000 * 1000ULL)
#define NTRACE_AUX_MIN_PERIOD_NS	(100 * 1000ULL)
#define NTRACE_AUX_MAX_PERIOD_NS	(10 * 1000 * 1000ULL)
/* Where a window that fills is lost: an unexpected burst must not do that between polls. */
#define NTRACE_AUX_ROW_PERIOD_NS	(1000 * 1000ULL)

u64 ntrace_aux_chunk_start(const struct ntrace_aux_layout *layout, unsigned int chunk);
void ntrace_aux_piece(const struct ntrace_aux_layout *layout, u64 head, u64 space, u32 align,
		      struct ntrace_aux_window *window);
int ntrace_aux_first(const struct ntrace_aux_layout *layout, const struct ntrace_aux_limits *limits,
		     u64 head, u64 space, u64 *pad, struct ntrace_aux_window *window);
void ntrace_aux_limit_store(struct ntrace_aux_limits *limits, u64 store, bool fixed);
u64 ntrace_aux_bounce(const struct ntrace_aux_limits *limits, u64 space, u64 taken, u64 store,
		      bool fixed);
u64 ntrace_aux_copyable(const struct ntrace_aux_limits *limits, u64 space, u64 done, u64 pending,
			bool last);
int ntrace_aux_next(const struct ntrace_aux_layout *layout, const struct ntrace_aux_limits *limits,
		    u64 head, u64 space, u64 done, struct ntrace_aux_window *window);

u64 ntrace_aux_advance(const struct ntrace_aux_pace *pace, u64 size, u64 from, u64 to, bool wrapped,
		       u64 ns);
u64 ntrace_aux_lap_period(const struct ntrace_aux_pace *pace, u64 size);
void ntrace_aux_limit_row(struct ntrace_aux_limits *limits, const struct ntrace_aux_pace *pace,
			  u64 size);
u64 ntrace_aux_row_period(const struct ntrace_aux_limits *limits,
			  const struct ntrace_aux_pace *pace, u64 used, u64 size);

/* Which addresses are traced. With latch, NTRACE_NEVER as an address stands for none. */
struct ntrace_ranges {
	unsigned int nr;		/* how many ranges, 0: all addresses */
	bool latch;			/* one that is no range: from low until high was executed */
	u64 low[TR_TE_NR_COMPS];	/* first address */
	u64 high[TR_TE_NR_COMPS];	/* the first one behind the range; 0: the range is empty */
};

/* No instruction has an odd address. */
#define NTRACE_NEVER	U64_MAX

/* A filter of addresses: one range, or a place where trace starts or stops */
enum ntrace_ranges_kind {
	NTRACE_RANGE,
	NTRACE_RANGE_START,
	NTRACE_RANGE_STOP,
	NTRACE_RANGE_KINDS
};

/* What the comparators of all encoders can do, and the filters of an event so far */
struct ntrace_ranges_check {
	unsigned int comps;
	bool latch;
	unsigned int nr[NTRACE_RANGE_KINDS];
};

const char *ntrace_ranges_refuse(struct ntrace_ranges_check *check, enum ntrace_ranges_kind kind,
				 u64 offset, u64 size);
void ntrace_ranges_add(struct ntrace_ranges *ranges, enum ntrace_ranges_kind kind, u64 start,
		       u64 size, bool file);
u32 ntrace_ranges_comp_control(const struct ntrace_ranges *ranges);

/* Who uses a component */
struct ntrace_claim {
	unsigned int users;		/* events whose paths lead through it */
	const struct ntrace_claim *next; /* where their trace goes from here */
	bool direct;			/* of an encoder: a path may end there */
	bool ends;			/* a path may end here */
};

int ntrace_claim_busy(struct ntrace_claim *const *claim, unsigned int nr);
void ntrace_claim_take(struct ntrace_claim *const *claim, unsigned int nr);
bool ntrace_claim_sink_is_busy(const struct ntrace_claim *sink, bool shared, bool other_encoder,
			       bool other_owner);

/* What follows runs at every context switch: a call would cost more than what it is for. */

/* Bytes that come within a time, at the rate that is known */
static inline u64 ntrace_aux_within(const struct ntrace_aux_pace *pace, u64 ns)
{
	return div64_u64(pace->rate * ns, NSEC_PER_SEC);
}

/* How much of an area of `size` bytes comes before a late poll: less is no window */
static inline u64 ntrace_aux_want(const struct ntrace_aux_pace *pace, u64 size)
{
	u64 most = max(size / 16, (u64)NTRACE_AUX_MIN_WINDOW);

	return clamp(ntrace_aux_within(pace, NTRACE_AUX_LATENCY_NS), NTRACE_AUX_MIN_WINDOW, most);
}

/*
 * The limits for windows of an area. @lossless: the hart waits for room, possibly through several
 * context switches, each of which flushes into the reserve.
 */
static inline void ntrace_aux_limit(struct ntrace_aux_limits *limits,
				    const struct ntrace_aux_pace *pace, u64 size, u32 align,
				    bool lossless)
{
	limits->align = align;
	limits->headroom = 0;
	limits->reserve = lossless ? min_t(u64, size / 4, SZ_16K) : min_t(u64, size / 16, SZ_4K);
	limits->want = ntrace_aux_want(pace, size);
	limits->quantum = size / 8;
}

/*
 * Take in one more observation. Peaks count at once and fade slowly: expecting a burst costs a few
 * early looks, missing one costs trace.
 */
static inline void ntrace_aux_learn(struct ntrace_aux_pace *pace, u64 bytes, u64 ns)
{
	u64 rate = div64_u64(bytes * NSEC_PER_SEC, max(ns, 1ULL));

	pace->rate = max(min(rate, NTRACE_AUX_MAX_RATE), pace->rate - pace->rate / 32);
}

/*
 * Bytes of a window after which it should move: for the reader's sake, or because the rest may not
 * last.
 */
static inline u64 ntrace_aux_mark(const struct ntrace_aux_limits *limits, u64 size)
{
	size -= min_t(u64, size, limits->headroom);

	return min(limits->quantum, size - min(limits->want, size / 2));
}

/* Should a window of which so much is written move now? */
static inline bool ntrace_aux_due(const struct ntrace_aux_limits *limits, u64 used, u64 size)
{
	return used >= ntrace_aux_mark(limits, size);
}

/* When to look next. Return: nanoseconds after which the window should be due, at the earliest */
static inline u64 ntrace_aux_period(const struct ntrace_aux_limits *limits,
				    const struct ntrace_aux_pace *pace, u64 used, u64 size)
{
	u64 mark = ntrace_aux_mark(limits, size);
	u64 left = mark - min(used, mark);

	if (!pace->rate)
		return NTRACE_AUX_MIN_PERIOD_NS;

	return clamp(div64_u64(left * NSEC_PER_SEC, pace->rate), NTRACE_AUX_MIN_PERIOD_NS,
		     NTRACE_AUX_MAX_PERIOD_NS);
}

/*
 * What a RAM sink may do when:
 *
 *	OFF      --set-->   ARMED    --start-->  RUNNING
 *	                    ARMED    <--stop--   RUNNING
 *	OFF      <--reset-- ARMED
 *	OFF      <--reset-- FAILED, where a sink gets from anywhere when it does not do as told
 *
 * A sink that is enabled writes to memory: so it must hold a window that is meant before, which
 * nobody changes under it, and a reset must not surprise who uses it.
 */
enum ntrace_sink_state {
	NTRACE_SINK_OFF,	/* disabled; its registers hold nothing that is meant */
	NTRACE_SINK_ARMED,	/* disabled and empty; they hold a window */
	NTRACE_SINK_RUNNING,	/* enabled */
	NTRACE_SINK_FAILED,	/* held in reset */
};

enum ntrace_sink_op {
	NTRACE_SINK_SET,	/* write the window's registers */
	NTRACE_SINK_START,	/* enable, where the write pointer is */
	NTRACE_SINK_STOP,	/* disable, and wait until it is empty */
	NTRACE_SINK_RESET,
};

/*
 * Return: the next state; -EIO when there is nothing to be done, because the sink has failed or is
 * disabled already; -EPERM when it must not be done: that would be a mistake of the driver's
 */
static inline int ntrace_sink_next(enum ntrace_sink_state state, enum ntrace_sink_op op)
{
	if (state == NTRACE_SINK_FAILED)
		return op == NTRACE_SINK_RESET ? NTRACE_SINK_OFF : -EIO;

	switch (op) {
	case NTRACE_SINK_SET:
		return state == NTRACE_SINK_RUNNING ? -EPERM : NTRACE_SINK_ARMED;
	case NTRACE_SINK_START:
		return state == NTRACE_SINK_ARMED ? NTRACE_SINK_RUNNING : -EPERM;
	case NTRACE_SINK_STOP:
		return state == NTRACE_SINK_RUNNING ? NTRACE_SINK_ARMED : -EIO;
	default:
		return state == NTRACE_SINK_RUNNING ? -EPERM : NTRACE_SINK_OFF;
	}
}

#endif /* _NTRACE_AUX_H */
