// SPDX-License-Identifier: GPL-2.0-only
/* A bridge to an AMBA trace bus: see bridge.h */

#include <string.h>

#include "bridge.h"

static const struct late_bit_delay now;

void bridge_init(struct bridge *b, const struct bridge_ability *can)
{
	memset(b, 0, sizeof(*b));
	b->can = can;
	b->empty.is = b->empty.shown = true;
}

/* ATB reserves 0 and 0x70 to 0x7f. */
static bool is_reserved(uint32_t id)
{
	return !id || id >> BRIDGE_ID_SHIFT >= 0x70;
}

static unsigned int write_control(struct bridge *b, uint32_t value)
{
	bool active = value & BRIDGE_ACTIVE, enable = active && value & BRIDGE_ENABLE;
	bool enabled = b->enable.is;

	late_bit_set(&b->active, active, b->can->active);
	b->id = active ? value & BRIDGE_ID : 0;
	if (!active)
		b->async_freq = 0;
	late_bit_set(&b->enable, enable, active ? b->can->enable : now);
	/* a bridge never holds trace back */
	late_bit_set(&b->empty, !enable, enabled && active ? b->can->empty : now);
	if (!enable || enabled)
		return 0;
	b->misuse += is_reserved(b->id);
	return BRIDGE_DO_PULL;
}

unsigned int bridge_write(struct bridge *b, unsigned int offset, uint32_t value)
{
	value &= ~b->can->nostick[offset / 4];
	if (offset == BRIDGE_CONTROL)
		return write_control(b, value);
	if (offset == BRIDGE_IMPL && b->active.is)
		b->async_freq = value & BRIDGE_ASYNC_FREQ;
	return 0;
}

uint32_t bridge_read(const struct bridge *b, unsigned int offset)
{
	if (offset == BRIDGE_CONTROL)
		return b->id | (b->active.shown ? BRIDGE_ACTIVE : 0) |
		       (b->enable.shown ? BRIDGE_ENABLE : 0) | (b->empty.shown ? BRIDGE_EMPTY : 0);
	return offset == BRIDGE_IMPL && b->active.is ? b->can->impl | b->async_freq : 0;
}

void bridge_was_read(struct bridge *b, unsigned int offset)
{
	if (offset != BRIDGE_CONTROL)
		return;
	late_bit_was_read(&b->active);
	late_bit_was_read(&b->enable);
	late_bit_was_read(&b->empty);
}

unsigned int bridge_put(struct bridge *b, unsigned int len)
{
	if (!b->enable.is)
		return 0;
	b->bytes += len;
	return len;
}
