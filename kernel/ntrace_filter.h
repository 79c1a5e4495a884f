/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Filters and comparators of an encoder.
 */
#ifndef _NTRACE_FILTER_H
#define _NTRACE_FILTER_H

#include "ntrace_regs.h"

struct ntrace_encoder;

/**
 * struct ntrace_ranges - which addresses are traced
 * @nr:		how many ranges, 0: all addresses
 * @latch:	there is one, and it is no range: trace runs from @low until @high was executed
 * @low:	first address
 * @high:	the first one behind the range; 0: the range is empty
 *
 * With @latch, NTRACE_NEVER as an address stands for none.
 */
struct ntrace_ranges {
	unsigned int nr;
	bool latch;
	u64 low[TR_TE_NR_COMPS];
	u64 high[TR_TE_NR_COMPS];
};

/* No instruction has an odd address. */
#define NTRACE_NEVER	U64_MAX

void ntrace_filter_probe(struct ntrace_encoder *enc);
bool ntrace_filter_write(struct ntrace_encoder *enc, u32 privs, const struct ntrace_ranges *ranges);

#endif /* _NTRACE_FILTER_H */
