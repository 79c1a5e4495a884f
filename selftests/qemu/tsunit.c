// SPDX-License-Identifier: GPL-2.0-only
/* A timestamp unit: see tsunit.h */

#include <string.h>

#include "tsunit.h"

void ts_init(struct ts_unit *ts, const struct ts_ability *can)
{
	memset(ts, 0, sizeof(*ts));
	ts->can = can;
	ts->active.is = ts->active.shown = !can->active.polls;
}

static bool is_supported(const struct ts_ability *can, unsigned int mode)
{
	return can->modes >> mode & 1;
}

/* An unsupported mode becomes the first supported one, but not "none". */
static unsigned int legal_mode(const struct ts_ability *can, unsigned int mode)
{
	if (!mode || is_supported(can, mode))
		return mode;
	return (unsigned int)__builtin_ctz(can->modes & ~1u);
}

static uint32_t warl(const struct ts_ability *can, uint32_t value)
{
	unsigned int mode = legal_mode(can, (value & TS_MODE) >> TS_MODE_SHIFT);
	unsigned int prescale = (value & TS_PRESCALE) >> TS_PRESCALE_SHIFT;

	if (prescale > can->prescale)
		prescale = can->prescale;
	if (prescale < can->prescale_min)
		prescale = can->prescale_min;
	return (value & TS_COUNT) | mode << TS_MODE_SHIFT | prescale << TS_PRESCALE_SHIFT |
	       (can->encoder ? value & TS_ENABLE : 0) |
	       (is_supported(can, TS_INTERNAL_CORE) ? value & TS_RUN_IN_DEBUG : 0);
}

unsigned int ts_write(struct ts_unit *ts, unsigned int offset, uint32_t value)
{
	if (offset != TS_CONTROL || !(ts->can->modes & ~1u))
		return 0;
	if (ts->can->active.polls)
		late_bit_set(&ts->active, value & TS_ACTIVE, ts->can->active);
	/* In reset, and until trTsActive reads 1, the unit keeps no fields. */
	if (!ts->active.is || !ts->active.shown) {
		ts->control = 0;
		return 0;
	}
	ts->control = warl(ts->can, value);
	return value & TS_RESET && ts_is_internal(ts) ? TS_DO_RESET : 0;
}

uint32_t ts_read(const struct ts_unit *ts, unsigned int offset)
{
	if (!(ts->can->modes & ~1u))
		return 0;
	switch (offset) {
	case TS_CONTROL:
		return ts->control | (ts->active.shown ? TS_ACTIVE : 0) |
		       (uint32_t)ts->can->width << TS_WIDTH_SHIFT;
	case TS_COUNTER_LOW:
		return ts->counter;
	case TS_COUNTER_HIGH:
		return ts->counter >> 32;
	}
	return 0;
}

void ts_was_read(struct ts_unit *ts, unsigned int offset)
{
	if (offset == TS_CONTROL)
		late_bit_was_read(&ts->active);
}

/* A stopped counter keeps its value. When restarted, it continues as if it had never stopped. */
uint64_t ts_advance(struct ts_unit *ts, uint64_t clock)
{
	unsigned int shift = 2 * ((ts->control & TS_PRESCALE) >> TS_PRESCALE_SHIFT);

	if (ts_mode(ts) == TS_NONE)
		return ts->counter;
	if (ts_is_internal(ts)) {
		if (!(ts->control & TS_COUNT))
			return ts->counter;
		clock = (clock - ts->zero) >> shift;
	}
	ts->counter = clock & ((1ull << ts->can->width) - 1);
	return ts->counter;
}

void ts_restart(struct ts_unit *ts, uint64_t clock)
{
	ts->zero = clock;
	ts->counter = 0;
}
