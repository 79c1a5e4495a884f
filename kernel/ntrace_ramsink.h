/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The RAM sink, in SMEM mode: it writes trace to system memory.
 */
#ifndef _NTRACE_RAMSINK_H
#define _NTRACE_RAMSINK_H

#include "ntrace_component.h"

/**
 * struct ntrace_ramsink - one sink
 * @comp:	the component that it is
 * @id:		what `sinkid` calls it
 * @addr_bits:	width of the addresses it can reach
 * @align:	bytes it writes at a time
 * @can_ring:	it can go on at Start when it comes to Limit
 * @control:	trRamControl, without Enable
 * @start:	address of the window it is set to
 * @size:	of that window
 */
struct ntrace_ramsink {
	struct ntrace_component comp;
	u32 id;
	u8 addr_bits;
	u32 align;
	bool can_ring;
	u32 control;
	u64 start;
	u64 size;
};

static inline struct ntrace_ramsink *to_ntrace_ramsink(struct ntrace_component *comp)
{
	return container_of(comp, struct ntrace_ramsink, comp);
}

extern const struct ntrace_component_type ntrace_ramsink_type;

int ntrace_ramsink_set_window(struct ntrace_ramsink *sink, u64 start, u64 size);
int ntrace_ramsink_set_ring(struct ntrace_ramsink *sink, u64 start, u64 size, u64 at);
u64 ntrace_ramsink_ring_at(struct ntrace_ramsink *sink, bool *wrapped);
bool ntrace_ramsink_stopped(struct ntrace_ramsink *sink);
u64 ntrace_ramsink_used(struct ntrace_ramsink *sink);

#endif /* _NTRACE_RAMSINK_H */
