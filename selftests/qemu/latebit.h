/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A status bit that shows a new value only after a number of reads, or never. Real hardware may be
 * slow, so this tests the waits of the driver.
 */
#ifndef LATEBIT_H
#define LATEBIT_H

#include <limits.h>
#include <stdbool.h>

#define LATE_NEVER	UINT_MAX

struct late_bit_delay {
	unsigned int polls;	/* reads that still see the old value */
};

struct late_bit {
	bool is;		/* actual value */
	bool shown;		/* value that software reads */
	unsigned int left;
};

static inline void late_bit_set(struct late_bit *bit, bool is, struct late_bit_delay delay)
{
	if (bit->is == is && bit->shown == is)
		return;
	bit->is = is;
	bit->left = delay.polls;
	if (!delay.polls)
		bit->shown = is;
}

static inline void late_bit_was_read(struct late_bit *bit)
{
	if (bit->shown == bit->is || bit->left == LATE_NEVER)
		return;
	if (bit->left)
		bit->left--;
	if (!bit->left)
		bit->shown = bit->is;
}

#endif /* LATEBIT_H */
