/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The RAM sink: it writes trace to system memory (SMEM) or to memory of its own (SRAM).
 */
#ifndef _NTRACE_RAMSINK_H
#define _NTRACE_RAMSINK_H

#include <linux/spinlock.h>

#include "ntrace_component.h"
#include "ntrace_regs.h"

struct pid;

/**
 * struct ntrace_ramsink_store - memory that is not the AUX area, from which trace is copied
 * @cpu:	where the CPU sees it, NULL for SRAM
 * @bus:	where the sink sees it
 * @size:	in bytes, 0: there is none
 * @dma:	it came from the DMA API and goes back there
 * @pool:	likewise, which takes it from a pool that the tree names
 * @fixed:	the sink fills all of it, or nothing
 * @users:	who want it, if it came from the DMA API
 */
struct ntrace_ramsink_store {
	void *cpu;
	dma_addr_t bus;
	u64 size;
	bool dma;
	bool pool;
	bool fixed;
	unsigned int users;
};

/* Tells memory that no sink has written: no message has MSEO 2. */
#define NTRACE_UNWRITTEN_BYTE	0x02

/**
 * struct ntrace_ramsink - one sink
 * @comp:	the component that it is
 * @addr_bits:	width of the addresses it can reach
 * @align:	bytes it writes at a time
 * @unit_unknown: it may write fewer bytes at a time than @align
 * @can_ring:	it can go on at Start when it comes to Limit
 * @wp_exact:	see struct ntrace_variant
 * @rewinds:	likewise
 * @wrap_sticks: likewise
 * @headroom:	likewise
 * @overruns:	likewise, of the mode that it is in
 * @has_high:	addresses have a high half
 * @window_max:	bytes that a window of the AUX area may have
 * @stuck:	Wrap, if it was 1 before the sink was enabled
 * @control:	trRamControl, without Enable
 * @start:	address of the window it is set to
 * @limit:	of the last unit of that window
 * @size:	of that window
 * @guard:	the window's last unit, if the sink may overrun it; what it holds is not trace
 * @guard_bus:	where the sink sees that
 * @store:	its own memory, or the driver's for it
 * @copied:	trace is copied from @store; else the sink writes into the AUX area
 * @shared:	several encoders lead here
 * @owner:	whose events share it
 * @lock:	for what follows; interrupts off
 * @active:	CPUs whose trace goes here now
 * @drained:	bytes of the window that are copied
 * @lost:	trace was lost when nobody had an AUX transaction to tell of it
 */
struct ntrace_ramsink {
	struct ntrace_component comp;
	u8 addr_bits;
	u32 align;
	bool unit_unknown;
	bool can_ring;
	bool wp_exact;
	bool rewinds;
	bool wrap_sticks;
	u32 headroom;
	bool overruns;
	bool has_high;
	u64 window_max;
	u32 stuck;
	u32 control;
	u64 start;
	u64 limit;
	u64 size;
	void *guard;
	dma_addr_t guard_bus;
	struct ntrace_ramsink_store store;
	bool copied;
	bool shared;
	struct pid *owner;
	raw_spinlock_t lock;
	unsigned int active;
	u64 drained;
	bool lost;
};

static inline struct ntrace_ramsink *to_ntrace_ramsink(struct ntrace_component *comp)
{
	return container_of(comp, struct ntrace_ramsink, comp);
}

/* Does trace have to be fetched word by word? */
static inline bool ntrace_ramsink_is_sram(const struct ntrace_ramsink *sink)
{
	return sink->store.size && !sink->store.cpu;
}

extern const struct ntrace_component_type ntrace_ramsink_type;

int ntrace_ramsink_store_get(struct ntrace_ramsink *sink);
void ntrace_ramsink_store_put(struct ntrace_ramsink *sink);

int ntrace_ramsink_wait_started(struct ntrace_ramsink *sink);
int ntrace_ramsink_lost_way(struct ntrace_ramsink *sink);
int ntrace_ramsink_set_window(struct ntrace_ramsink *sink, u64 start, u64 size);
int ntrace_ramsink_set_ring(struct ntrace_ramsink *sink, u64 start, u64 size, u64 at);
bool ntrace_ramsink_ring_at(struct ntrace_ramsink *sink, u64 *at, bool *wrapped);
bool ntrace_ramsink_stopped(struct ntrace_ramsink *sink);
void ntrace_ramsink_set_guard(struct ntrace_ramsink *sink, void *unit);
bool ntrace_ramsink_overran(struct ntrace_ramsink *sink);
void ntrace_ramsink_fetch(struct ntrace_ramsink *sink, u64 from, u64 size);
void ntrace_ramsink_copy(struct ntrace_ramsink *sink, u64 from, void *to, u64 size);
void ntrace_ramsink_hand_back(struct ntrace_ramsink *sink);

/* What follows runs at every context switch: a call would cost more than what it is for. */

/**
 * ntrace_ramsink_start - enable it
 * @sink: the sink, set
 */
static inline int ntrace_ramsink_start(struct ntrace_ramsink *sink)
{
	ntrace_write(&sink->comp, TR_RAM_CONTROL, sink->control | TR_CONTROL_ENABLE);

	if (ntrace_read(&sink->comp, TR_RAM_CONTROL) & TR_CONTROL_ENABLE)
		return 0;

	return ntrace_ramsink_wait_started(sink);
}

/**
 * ntrace_ramsink_stop - disable it, and wait until it is empty
 * @sink: the sink
 */
static inline int ntrace_ramsink_stop(struct ntrace_ramsink *sink)
{
	ntrace_write(&sink->comp, TR_RAM_CONTROL, sink->control);

	return ntrace_wait(&sink->comp, TR_CONTROL_ENABLE | TR_CONTROL_EMPTY, TR_CONTROL_EMPTY,
			   "Enable=0 and Empty=1");
}

/**
 * ntrace_ramsink_written - how much of the window is written
 * @sink:	the sink
 * @used:	where to leave it, in bytes
 *
 * Return: false when the write pointer is outside of the window: nobody knows then
 */
static inline bool ntrace_ramsink_written(struct ntrace_ramsink *sink, u64 *used)
{
	u32 wp = ntrace_read(&sink->comp, TR_RAM_WP_LOW);

	/* A window is far smaller than 4 GiB: the low half is enough. */
	*used = (wp ^ sink->stuck) & TR_RAM_WP_LOW_WRAP ?
			sink->size :
			(u32)((wp & TR_RAM_WP_LOW_ADDR) - lower_32_bits(sink->start));

	return *used <= sink->size;
}

/**
 * ntrace_ramsink_used - the same for a poll
 * @sink: the sink
 *
 * A write pointer outside of the window counts as a full window, so that the sink is stopped and
 * ntrace_ramsink_account() finds out.
 */
static inline u64 ntrace_ramsink_used(struct ntrace_ramsink *sink)
{
	u64 used;

	return ntrace_ramsink_written(sink, &used) ? used : sink->size;
}

/**
 * ntrace_ramsink_account - how much of the window is written, now that the sink is off
 * @sink:	the sink
 * @used:	where to leave it, in bytes
 *
 * Return: 0; -ENOSPC when the sink wrapped and overwrote unread trace; or an error after
 * ntrace_component_fail(): a sink whose write pointer is outside of its window may have written
 * anywhere. @used is 0 after an error.
 */
static inline int ntrace_ramsink_account(struct ntrace_ramsink *sink, u64 *used)
{
	bool inside = ntrace_ramsink_written(sink, used);

	if (inside && !(sink->headroom && *used == sink->size) &&
	    !(sink->guard && ntrace_ramsink_overran(sink)))
		return 0;

	*used = 0;

	return inside ? -ENOSPC : ntrace_ramsink_lost_way(sink);
}

/**
 * ntrace_ramsink_unsure - bytes at the end of a full window that may be no trace
 * @sink: the sink
 *
 * Limit is the address of the last unit of a window. If the length of a unit is unknown, the driver
 * assumes the longest. A sink with shorter units does not write the rest of the last one.
 */
static inline u64 ntrace_ramsink_unsure(const struct ntrace_ramsink *sink)
{
	return sink->unit_unknown ? sink->align : 0;
}

#endif /* _NTRACE_RAMSINK_H */
