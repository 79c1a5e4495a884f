// SPDX-License-Identifier: GPL-2.0-only
/*
 * The timestamp unit: choose a source, let it count, and find out whether its counter is the one
 * that the kernel's clock is made of. If it is, timestamps convert to perf's clock; if not they
 * only order events.
 */
#include <linux/bitfield.h>
#include <linux/delay.h>
#include <linux/irqflags.h>
#include <linux/math64.h>

#include <asm/timex.h>

#include "ntrace_component.h"
#include "ntrace_regs.h"
#include "ntrace_timestamp.h"

static u64 ntrace_timestamp_read(struct ntrace_component *comp)
{
	u32 high, low;

	do {
		high = ntrace_read(comp, TR_TS_COUNTER_HIGH);
		low = ntrace_read(comp, TR_TS_COUNTER_LOW);
	} while (high != ntrace_read(comp, TR_TS_COUNTER_HIGH));

	return (u64)high << 32 | low;
}

/*
 * Is the counter, at one instant, what `time` was just before and just after? Two clock domains may
 * see each other late: a microsecond is allowed for that.
 */
static bool ntrace_timestamp_matches(struct ntrace_component *comp,
				     const struct ntrace_timestamp *ts)
{
	u64 slack = max(riscv_timebase / USEC_PER_SEC, 2UL);
	u64 mask = GENMASK_ULL(ts->width - 1, 0);
	u64 before, after, value;
	unsigned long flags;

	local_irq_save(flags);
	before = get_cycles64();
	value = ntrace_timestamp_read(comp);
	after = get_cycles64();
	local_irq_restore(flags);

	before = (before - slack) >> 2 * ts->prescale;
	after = (after + slack) >> 2 * ts->prescale;

	return ((value - before) & mask) <= after - before;
}

/* Three looks, at distances that no counter of another rate or origin fits */
static bool ntrace_timestamp_tracks_time(struct ntrace_component *comp,
					 const struct ntrace_timestamp *ts)
{
	unsigned int delay;

	for (delay = 10; delay <= 1000; delay *= 10) {
		if (!ntrace_timestamp_matches(comp, ts))
			return false;
		usleep_range(delay, 2 * delay);
	}

	return ntrace_timestamp_matches(comp, ts);
}

/**
 * ntrace_timestamp_run - let the counter run
 * @comp:	the component that the unit is part of
 * @ts:		the unit
 */
void ntrace_timestamp_run(struct ntrace_component *comp, const struct ntrace_timestamp *ts)
{
	if (ts->mode != TR_TS_MODE_NONE)
		ntrace_write(comp, TR_TS_CONTROL, ts->control);
}

/**
 * ntrace_timestamp_probe - find out what there is
 * @comp:	the component that the unit is part of
 * @ts:		where to leave it
 *
 * A system-wide counter comes first, because time means the same on all harts then.
 */
void ntrace_timestamp_probe(struct ntrace_component *comp, struct ntrace_timestamp *ts)
{
	static const u8 modes[] = {
		TR_TS_MODE_INTERNAL_SYSTEM,
		TR_TS_MODE_EXTERNAL,
		TR_TS_MODE_SHARED,
		TR_TS_MODE_INTERNAL_CORE,
	};
	u32 want, got;
	int i;

	for (i = 0; i < ARRAY_SIZE(modes); i++) {
		want = TR_TS_CONTROL_ACTIVE | TR_TS_CONTROL_COUNT | TR_TS_CONTROL_ENABLE |
		       FIELD_PREP(TR_TS_CONTROL_MODE, modes[i]);
		got = ntrace_write_back(comp, TR_TS_CONTROL, want);
		if (FIELD_GET(TR_TS_CONTROL_MODE, got) == modes[i] && got & TR_TS_CONTROL_ENABLE)
			break;
	}

	*ts = (struct ntrace_timestamp) {};
	if (i == ARRAY_SIZE(modes)) {
		ntrace_write(comp, TR_TS_CONTROL, 0);
		return;
	}

	ts->mode = modes[i];
	ts->width = FIELD_GET(TR_TS_CONTROL_WIDTH, got) ?: 64;
	ts->prescale = FIELD_GET(TR_TS_CONTROL_PRESCALE, got);
	ts->control = want & ~TR_TS_CONTROL_ENABLE;
	ts->control |= got & TR_TS_CONTROL_PRESCALE;
	ntrace_timestamp_run(comp, ts);
	ts->tracks_time = ntrace_timestamp_tracks_time(comp, ts);
}
