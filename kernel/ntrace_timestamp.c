// SPDX-License-Identifier: GPL-2.0-only
/*
 * The timestamp unit: choose a source, start the counter, and find out whether it is the counter of
 * the kernel's clock. If it is, timestamps convert to perf's clock. Otherwise they only order
 * events.
 */
#include <linux/bitfield.h>
#include <linux/delay.h>
#include <linux/irqflags.h>
#include <linux/math64.h>

#include <asm/timex.h>

#include "ntrace_component.h"

static u64 ntrace_timestamp_read(struct ntrace_component *comp, const struct ntrace_timestamp *ts)
{
	u32 high, low;

	do {
		high = ntrace_read(comp, ts->counter + 4);
		low = ntrace_read(comp, ts->counter);
	} while (high != ntrace_read(comp, ts->counter + 4));

	return (u64)high << 32 | low;
}

/*
 * Is the counter between the values of `time` just before and just after? Allow a difference of one
 * microsecond, because the two may be in different clock domains.
 */
static bool ntrace_timestamp_matches(struct ntrace_component *comp,
				     const struct ntrace_timestamp *ts, unsigned int prescale)
{
	u64 slack = max(riscv_timebase / USEC_PER_SEC, 2UL);
	u64 mask = GENMASK_ULL(ts->width - 1, 0);
	u64 before, after, value;
	unsigned long flags;

	local_irq_save(flags);
	before = get_cycles64();
	value = ntrace_timestamp_read(comp, ts);
	after = get_cycles64();
	local_irq_restore(flags);

	before = (before - slack) >> 2 * prescale;
	after = (after + slack) >> 2 * prescale;

	return ((value - before) & mask) <= after - before;
}

/* Compare at increasing intervals, so that no counter of another rate or origin passes */
static bool ntrace_timestamp_tracks_time(struct ntrace_component *comp,
					 const struct ntrace_timestamp *ts, unsigned int prescale)
{
	unsigned int delay;

	for (delay = 10; delay <= 1000; delay *= 10) {
		if (!ntrace_timestamp_matches(comp, ts, prescale))
			return false;
		usleep_range(delay, 2 * delay);
	}

	return ntrace_timestamp_matches(comp, ts, prescale);
}

/* Is the source in another component? Then its prescaler is not visible here. */
static bool ntrace_timestamp_is_elsewhere(const struct ntrace_timestamp *ts)
{
	return ts->mode == TR_TS_MODE_SHARED || ts->mode == TR_TS_MODE_EXTERNAL;
}

/*
 * Find out whether a running counter tracks `time`. Called again when a source in another component
 * may have been started. Sleeps.
 */
void ntrace_timestamp_check(struct ntrace_component *comp, struct ntrace_timestamp *ts)
{
	unsigned int prescale = ts->prescale, last = ts->prescale;

	ts->tracks_time = false;
	if (ts->mode == TR_TS_MODE_NONE || !ntrace_has_register(comp, ts->counter))
		return;
	if (ntrace_timestamp_is_elsewhere(ts)) {
		prescale = 0;
		last = FIELD_MAX(TR_TS_CONTROL_PRESCALE);
	}

	for (; prescale <= last && !ts->tracks_time; prescale++) {
		ts->tracks_time = ntrace_timestamp_tracks_time(comp, ts, prescale);
		if (ts->tracks_time)
			ts->prescale = prescale;
	}
}

/*
 * Take the unit out of reset. While trTsActive reads 0, the unit keeps no other fields. trTsActive
 * may also be a copy of the component's Active that always reads 1 (R39). A unit that stays in
 * reset gives no timestamps.
 */
static bool ntrace_timestamp_activate(struct ntrace_component *comp)
{
	struct ntrace_deadline deadline = {};

	ntrace_write(comp, TR_TS_CONTROL, TR_TS_CONTROL_ACTIVE);
	do {
		if (ntrace_read(comp, TR_TS_CONTROL) & TR_TS_CONTROL_ACTIVE)
			return true;
	} while (!ntrace_deadline_passed(&deadline));

	return false;
}

/* Start the counter */
void ntrace_timestamp_run(struct ntrace_component *comp, const struct ntrace_timestamp *ts)
{
	if (ts->mode == TR_TS_MODE_NONE || !ntrace_timestamp_activate(comp))
		return;
	/* Version 0 needs the source to be set before it counts. */
	if (comp->version0)
		ntrace_write(comp, TR_TS_CONTROL, ts->control & ~TR_TS_CONTROL_COUNT);
	ntrace_write(comp, TR_TS_CONTROL, ts->control);
}

/* Control for a mode. In version 0 funnels count, and encoders select messages with TSTAMP. */
static u32 ntrace_timestamp_want(struct ntrace_component *comp, u8 mode, u32 enable)
{
	u32 want = TR_TS_CONTROL_ACTIVE | enable | FIELD_PREP(TR_TS_CONTROL_MODE, mode);

	return want | (comp->version0 && enable ? TR0_TS_MESSAGES : TR_TS_CONTROL_COUNT);
}

/* Is a mode possible? In version 0 the funnel has the counter, and encoders share it. */
static bool ntrace_timestamp_may(const struct ntrace_component *comp, u8 mode, u32 enable)
{
	return !comp->version0 || mode == (enable ? TR_TS_MODE_SHARED : TR_TS_MODE_INTERNAL_SYSTEM);
}

/*
 * Try the modes, the best one first: a system-wide counter gives the same time on all harts. Only
 * encoders set Enable, to send timestamps. A funnel only forwards its time to them.
 */
void ntrace_timestamp_probe(struct ntrace_component *comp, struct ntrace_timestamp *ts)
{
	static const u8 modes[] = {
		TR_TS_MODE_INTERNAL_SYSTEM,
		TR_TS_MODE_EXTERNAL,
		TR_TS_MODE_SHARED,
		TR_TS_MODE_INTERNAL_CORE,
	};
	u32 enable = comp->type == &ntrace_encoder_type ? TR_TS_CONTROL_ENABLE : 0;
	u32 want, got;
	int i;

	*ts = (struct ntrace_timestamp) {
		.counter = comp->version0 ? TR0_TS_COUNTER_LOW : TR_TS_COUNTER_LOW,
	};
	if (!ntrace_has_register(comp, TR_TS_CONTROL) || !ntrace_timestamp_activate(comp))
		return;

	for (i = 0; i < ARRAY_SIZE(modes); i++) {
		want = ntrace_timestamp_want(comp, modes[i], enable);
		if (!ntrace_timestamp_may(comp, modes[i], enable))
			continue;
		got = ntrace_write_back(comp, TR_TS_CONTROL, want);
		if (FIELD_GET(TR_TS_CONTROL_MODE, got) == modes[i] && (got & enable) == enable)
			break;
	}

	if (i == ARRAY_SIZE(modes)) {
		ntrace_write(comp, TR_TS_CONTROL, 0);
		return;
	}

	ts->mode = modes[i];
	ts->width = FIELD_GET(TR_TS_CONTROL_WIDTH, got) ?: 64;
	ts->prescale = FIELD_GET(TR_TS_CONTROL_PRESCALE, got);
	ts->control = want & ~enable;
	ts->control |= got & TR_TS_CONTROL_PRESCALE;
	ntrace_timestamp_run(comp, ts);
	if (enable)
		ntrace_timestamp_check(comp, ts);
}
