/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The timestamp unit of an encoder or a funnel (RISC-V Trace Control Interface 1.0).  Pure: the
 * owner provides the time.
 */
#ifndef TSUNIT_H
#define TSUNIT_H

#include <stdbool.h>
#include <stdint.h>

#include "latebit.h"

#define TS_CONTROL		0x040
#define  TS_ACTIVE		(1u << 0)
#define  TS_COUNT		(1u << 1)
#define  TS_RESET		(1u << 2)
#define  TS_RUN_IN_DEBUG	(1u << 3)
#define  TS_MODE		(7u << 4)
#define  TS_MODE_SHIFT		4
#define  TS_PRESCALE		(3u << 8)
#define  TS_PRESCALE_SHIFT	8
#define  TS_ENABLE		(1u << 15)
#define  TS_WIDTH_SHIFT		24
#define TS_COUNTER_LOW		0x048
#define TS_COUNTER_HIGH		0x04c

enum ts_mode { TS_NONE, TS_EXTERNAL, TS_INTERNAL_SYSTEM, TS_INTERNAL_CORE, TS_SHARED };

#define TS_DO_RESET		(1u << 0)	/* the counter begins at 0 */

struct ts_ability {
	uint8_t modes;			/* mask of the accepted trTsMode values; 0: no unit */
	uint8_t prescale;		/* the largest */
	uint8_t prescale_min;		/* the smallest */
	uint8_t width;
	bool encoder;			/* has trTsEnable */
	struct late_bit_delay active;	/* 0: trTsActive always reads 1 */
};

struct ts_unit {
	const struct ts_ability *can;
	struct late_bit active;
	uint32_t control;
	uint64_t counter;
	uint64_t zero;			/* time at which the counter was 0 */
};

void ts_init(struct ts_unit *ts, const struct ts_ability *can);
unsigned int ts_write(struct ts_unit *ts, unsigned int offset, uint32_t value);
uint32_t ts_read(const struct ts_unit *ts, unsigned int offset);
void ts_was_read(struct ts_unit *ts, unsigned int offset);

/* Update the counter from the clock of its mode */
uint64_t ts_advance(struct ts_unit *ts, uint64_t clock);
void ts_restart(struct ts_unit *ts, uint64_t clock);

static inline enum ts_mode ts_mode(const struct ts_unit *ts)
{
	return (ts->control & TS_MODE) >> TS_MODE_SHIFT;
}

static inline bool ts_is_internal(const struct ts_unit *ts)
{
	return ts_mode(ts) == TS_INTERNAL_SYSTEM || ts_mode(ts) == TS_INTERNAL_CORE;
}

#endif /* TSUNIT_H */
