// SPDX-License-Identifier: GPL-2.0-only
/* Register file of a trace encoder: see te-regs.h */

#include <string.h>

#include "te-regs.h"

/* Control fields that tracing reads once when it is enabled: frozen until it is disabled */
#define CONTROL_CONFIG	(TE_INST_MODE | TE_CONTEXT | TE_STALL_ENA | TE_INHIBIT_SRC | \
			 TE_SYNC_MODE | TE_SYNC_MAX | TE_FORMAT)

static void reset(struct te_regs *te)
{
	te->control = 0;
	te->features = 0;
	filters_init(&te->filter, &te->can->filter);
	ts_init(&te->ts, &te->can->ts);
	te->drop = 0;
}

void te_init(struct te_regs *te, const struct te_ability *can)
{
	memset(te, 0, sizeof(*te));
	te->can = can;
	te->empty.is = te->empty.shown = true;
	reset(te);
}

/*
 * WARL conversions: from the written value to a supported one
 */

/* A mode other than 0 never becomes 0. */
static uint32_t warl_inst_mode(const struct te_ability *can, uint32_t mode)
{
	if (!mode)
		return 0;
	if (mode == TE_MODE_BTM && can->btm)
		return TE_MODE_BTM;
	return can->htm ? TE_MODE_HTM : TE_MODE_BTM;
}

static uint32_t warl_sync_mode(const struct te_ability *can, uint32_t mode)
{
	return can->syncmodes & (1u << mode) ? mode :
	       31u - (uint32_t)__builtin_clz(can->syncmodes);
}

static uint32_t control_config(const struct te_ability *can, uint32_t value)
{
	uint32_t mode = (value & TE_INST_MODE) >> TE_INST_MODE_SHIFT;
	uint32_t sync = (value & TE_SYNC_MODE) >> TE_SYNC_MODE_SHIFT;

	return warl_inst_mode(can, mode) << TE_INST_MODE_SHIFT |
	       (can->context ? value & TE_CONTEXT : 0) |
	       (can->stall ? value & TE_STALL_ENA : 0) |
	       (value & TE_INHIBIT_SRC) |
	       warl_sync_mode(can, sync) << TE_SYNC_MODE_SHIFT |
	       (value & TE_SYNC_MAX) |
	       (uint32_t)can->format << TE_FORMAT_SHIFT;
}

static uint32_t warl_features(const struct te_ability *can, uint32_t value)
{
	uint32_t mode = (value & TE_RETURN_MODE) >> TE_RETURN_MODE_SHIFT;
	uint32_t bits = value >> TE_SRC_BITS_SHIFT;

	if (!(can->retstack & (1u << mode)))
		mode = 0;
	if (bits > can->srcbits)
		bits = can->srcbits;
	return (can->retstack & ~1u ? value & TE_IMPLICIT_RETURN : 0) |
	       mode << TE_RETURN_MODE_SHIFT |
	       (can->extaddr ? value & TE_EXTEND_ADDR_MSB : 0) |
	       (can->seqjump ? value & TE_SEQUENTIAL_JUMP : 0) |
	       (can->alljumps ? value & TE_ALL_JUMPS : 0) |
	       (can->srcbits ? value & TE_SRC_ID : 0) |
	       bits << TE_SRC_BITS_SHIFT;
}

/*
 * Writes
 */

static unsigned int set_active(struct te_regs *te, bool active)
{
	unsigned int todo = 0;

	if (!active && te->active.is) {
		todo = TE_DO_STOP | TE_DO_RESET;
		late_bit_set(&te->enable, false, (struct late_bit_delay){ 0 });
		reset(te);
		te_set_empty(te, true);
	}
	late_bit_set(&te->active, active, te->can->active);
	return todo;
}

static unsigned int write_control(struct te_regs *te, uint32_t value)
{
	bool traced = te_tracing(te), enabled = te->enable.is;
	bool enable = value & TE_ENABLE;
	unsigned int todo;

	todo = set_active(te, value & TE_ACTIVE);
	if (!te->active.is)
		return todo;

	if (value & TE_STALL_OR_OVERFLOW)
		te->control &= ~TE_STALL_OR_OVERFLOW;
	te->control = (te->control & ~TE_INST_TRACING) | (value & TE_INST_TRACING);
	if (!enabled)
		te->control = (te->control & ~CONTROL_CONFIG) | control_config(te->can, value);
	if (enable && !enabled) {
		te->control &= ~TE_STALL_OR_OVERFLOW;
		late_bit_set(&te->empty, false, (struct late_bit_delay){ 0 });
	}
	late_bit_set(&te->enable, enable, te->can->enable);

	if (traced && !te_tracing(te))
		todo |= TE_DO_STOP;
	if (enabled && !enable)
		todo |= TE_DO_FLUSH;
	if (!traced && te_tracing(te))
		todo |= TE_DO_START;
	return todo;
}

/* Registers that only a disabled encoder accepts. Filters can be written at any time. */
static unsigned int write_config(struct te_regs *te, unsigned int offset, uint32_t value)
{
	if (te->enable.is)
		return 0;
	if (offset == TE_INST_FEATURES)
		te->features = warl_features(te->can, value);
	else if (offset == TS_CONTROL && ts_write(&te->ts, offset, value))
		return TE_DO_TS_RESET;
	return 0;
}

unsigned int te_write(struct te_regs *te, unsigned int offset, uint32_t value)
{
	value &= ~te->can->nostick[offset / 4];
	value |= te->can->stick[offset / 4];
	if (offset == TE_CONTROL)
		return write_control(te, value);
	if (!te->active.is)
		return 0;

	if (offset == TE_INST_FILTERS)
		filters_select(&te->filter, value);
	else if (offset == TE_DROP) {
		te->drop = value;
		return TE_DO_DROP;
	} else if (offset >= TE_FILTER(0) && offset < TE_FILTER_END)
		filters_write(&te->filter, offset, value);
	else
		return write_config(te, offset, value);
	return 0;
}

/*
 * Reads
 */

uint32_t te_read(const struct te_regs *te, unsigned int offset)
{
	if (offset == TE_CONTROL)
		return te->control | (te->active.shown ? TE_ACTIVE : 0) |
		       (te->enable.shown ? TE_ENABLE : 0) | (te->empty.shown ? TE_EMPTY : 0);
	if (!te->active.is)
		return 0;

	switch (offset) {
	case TE_IMPL:
		return te->can->impl;
	case TE_INST_FEATURES:
		return te->features;
	case TE_INST_FILTERS:
		return te->filter.selected;
	case TS_CONTROL:
	case TS_COUNTER_LOW:
	case TS_COUNTER_HIGH:
		return ts_read(&te->ts, offset);
	}
	if (offset >= TE_FILTER(0) && offset < TE_FILTER_END)
		return filters_read(&te->filter, offset);
	return 0;
}

void te_was_read(struct te_regs *te, unsigned int offset)
{
	ts_was_read(&te->ts, offset);
	if (offset != TE_CONTROL)
		return;
	late_bit_was_read(&te->active);
	late_bit_was_read(&te->enable);
	late_bit_was_read(&te->empty);
}

void te_set_empty(struct te_regs *te, bool empty)
{
	late_bit_set(&te->empty, empty, te->can->empty);
}

void te_set_lost(struct te_regs *te)
{
	te->control |= TE_STALL_OR_OVERFLOW;
}

/* The hart and its encoder lost power: the encoder comes up as after power-up */
unsigned int te_power_loss(struct te_regs *te)
{
	unsigned int todo = te->active.is ? TE_DO_STOP | TE_DO_RESET : 0;

	te_init(te, te->can);
	return todo;
}

void te_mirror(struct te_regs *te, uint32_t control)
{
	static const struct late_bit_delay now;

	te->control = control & ~(TE_ACTIVE | TE_ENABLE | TE_EMPTY);
	late_bit_set(&te->active, control & TE_ACTIVE, now);
	late_bit_set(&te->enable, control & TE_ENABLE, now);
	late_bit_set(&te->empty, control & TE_EMPTY, now);
}

/* A fault: as if software had disabled it */
unsigned int te_drop_enable(struct te_regs *te)
{
	unsigned int todo = te_tracing(te) ? TE_DO_STOP : 0;

	if (!te->enable.is)
		return 0;
	late_bit_set(&te->enable, false, (struct late_bit_delay){ 0 });
	return todo | TE_DO_FLUSH;
}
