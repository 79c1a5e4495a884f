/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Arithmetic of the AUX area (windows, heads, rates), address filters, claims of components, and
 * the states of a sink. No hardware access, no perf.
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
 * Minimum size of a first window: switching a smaller one costs more than its trace is worth. No
 * encoder has that much in flight.
 */
#define NTRACE_AUX_MIN_WINDOW	512U

/* Room for a flush that should follow a window in its chunk */
#define NTRACE_AUX_MARGIN	2048U

/* The area has to be this many times as large as a fixed bounce buffer. */
#define NTRACE_AUX_STORES	4

/* The AUX area as its physically contiguous chunks */
struct ntrace_aux_layout {
	u64 size;		/* in bytes, a power of two */
	unsigned int nr;	/* of chunks */
	u64 *end;		/* offset at which each chunk ends, ascending; the last is size */
};

/* A part of one chunk */
struct ntrace_aux_window {
	unsigned int chunk;
	u64 offset;		/* in the chunk */
	u64 size;
};

/* What a window must respect */
struct ntrace_aux_limits {
	u32 align;	/* bytes that the sink writes at a time */
	u32 reserve;	/* bytes at the end of the free space that are kept for a flush */
	u64 want;	/* bytes that may arrive before a poll: minimum size of a window */
	u64 quantum;	/* bytes after which trace is published to the reader */
	u32 headroom;	/* bytes at a window's end that the sink keeps for trace in flight */
};

/* The rate of trace */
struct ntrace_aux_pace {
	u64 rate;	/* bytes per second: a peak that fades */
};

/* A terabyte per second: no memory is faster, and rate times period does not overflow 64 bits. */
#define NTRACE_AUX_MAX_RATE		BIT_ULL(40)
/*
 * How late a poll may be. The rest of a chunk that would fill in a shorter time is not used as a
 * window. Polls do come late when interrupts are off for long, as in a kernel that wakes many
 * tasks.
 */
#define NTRACE_AUX_LATENCY_NS		(10 * 1000 * 1000ULL)
#define NTRACE_AUX_MIN_PERIOD_NS	(100 * 1000ULL)
#define NTRACE_AUX_MAX_PERIOD_NS	(10 * 1000 * 1000ULL)
/*
 * Longest poll period where the trace of a full window is lost: an unexpected burst must not fill
 * the window between two polls.
 */
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

/* Which addresses are traced. With latch, NTRACE_NEVER stands for a missing start or stop. */
struct ntrace_ranges {
	unsigned int nr;		/* how many ranges, 0: all addresses */
	bool latch;			/* start and stop: trace from low until high was executed */
	u64 low[TR_TE_NR_COMPS];	/* first address */
	u64 high[TR_TE_NR_COMPS];	/* first address after the range; 0: the range is empty */
};

/* No instruction has an odd address. */
#define NTRACE_NEVER	U64_MAX

/* An address filter: a range, or an address at which trace starts or stops */
enum ntrace_ranges_kind {
	NTRACE_RANGE,
	NTRACE_RANGE_START,
	NTRACE_RANGE_STOP,
	NTRACE_RANGE_KINDS
};

/* The capabilities that all encoders share, and the filters of an event so far */
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
	const struct ntrace_claim *next; /* the next component of their paths */
	bool direct;			/* of an encoder: its users' paths end at the next one */
	bool ends;			/* a path may end here */
};

int ntrace_claim_busy(struct ntrace_claim *const *claim, unsigned int nr);
void ntrace_claim_take(struct ntrace_claim *const *claim, unsigned int nr);
bool ntrace_claim_sink_is_busy(const struct ntrace_claim *sink, bool shared, bool other_encoder,
			       bool other_owner);

/* The functions below run at every context switch. They are inline because a call costs more. */

/* Bytes that arrive within @ns at the current rate */
static inline u64 ntrace_aux_within(const struct ntrace_aux_pace *pace, u64 ns)
{
	return div64_u64(pace->rate * ns, NSEC_PER_SEC);
}

/* Bytes that may arrive before a late poll, in an area of `size` bytes: minimum size of a window */
static inline u64 ntrace_aux_want(const struct ntrace_aux_pace *pace, u64 size)
{
	u64 most = max(size / 16, (u64)NTRACE_AUX_MIN_WINDOW);

	return clamp(ntrace_aux_within(pace, NTRACE_AUX_LATENCY_NS), NTRACE_AUX_MIN_WINDOW, most);
}

/*
 * The limits for windows of an area. @lossless: the hart may wait for room across several context
 * switches, and each of them flushes into the reserve.
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
 * Update the rate. Peaks count at once and fade slowly: to expect a burst costs a few early polls,
 * to miss one costs trace.
 */
static inline void ntrace_aux_learn(struct ntrace_aux_pace *pace, u64 bytes, u64 ns)
{
	u64 rate = div64_u64(bytes * NSEC_PER_SEC, max(ns, 1ULL));

	pace->rate = max(min(rate, NTRACE_AUX_MAX_RATE), pace->rate - pace->rate / 32);
}

/*
 * Bytes after which the driver should switch the window: because the reader should get them, or
 * because the rest may fill before the next poll.
 */
static inline u64 ntrace_aux_mark(const struct ntrace_aux_limits *limits, u64 size)
{
	size -= min_t(u64, size, limits->headroom);

	return min(limits->quantum, size - min(limits->want, size / 2));
}

/* Should the driver switch a window with @used bytes of trace now? */
static inline bool ntrace_aux_due(const struct ntrace_aux_limits *limits, u64 used, u64 size)
{
	return used >= ntrace_aux_mark(limits, size);
}

/* When to poll next. Return: nanoseconds after which the window is due at the earliest */
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
 * The states of a RAM sink:
 *
 *	OFF      --set-->   ARMED    --start-->  RUNNING
 *	                    ARMED    <--stop--   RUNNING
 *	OFF      <--reset-- ARMED
 *	OFF      <--reset-- FAILED, entered from any state when the sink does not respond
 *
 * An enabled sink writes to memory. So its registers must hold a valid window before, the driver
 * must not change the window while the sink is enabled, and must not reset a running sink.
 */
enum ntrace_sink_state {
	NTRACE_SINK_OFF,	/* disabled; its registers hold no valid window */
	NTRACE_SINK_ARMED,	/* disabled and empty; its registers hold a window */
	NTRACE_SINK_RUNNING,	/* enabled */
	NTRACE_SINK_FAILED,	/* held in reset */
};

enum ntrace_sink_op {
	NTRACE_SINK_SET,	/* write the window's registers */
	NTRACE_SINK_START,	/* enable, at the current write pointer */
	NTRACE_SINK_STOP,	/* disable, and wait until it is empty */
	NTRACE_SINK_RESET,
};

/*
 * Return: the next state; -EIO when the step is not possible, because the sink has failed or is
 * disabled already; -EPERM when the step is not allowed, which is a bug in the driver
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
