// SPDX-License-Identifier: GPL-2.0-only
/*
 * Registers of version 0, from before the Trace Control Interface was ratified, as in SiFive's
 * P550, for the same encoders, funnels and sinks. A funnel and its sink are one component. Software
 * cannot enable features that these registers do not offer.
 */

#include "model.h"

/* Control of both encoders and funnels */
#define V0_ACTIVE		(1u << 0)
#define V0_ENABLE		(1u << 1)
#define V0_TRACING		(1u << 2)
#define V0_EMPTY		(1u << 3)
#define V0_MODE			(7u << 4)
#define  V0_MODE_BTM_SYNC	(3u << 4)
#define  V0_MODE_HTM		(6u << 4)
#define  V0_MODE_HTM_SYNC	(7u << 4)
#define V0_STALL_OR_OVERFLOW	(1u << 12)	/* cleared by writing 0 */
#define V0_STALL_ENA		(1u << 13)
#define V0_STOP_ON_WRAP		(1u << 14)
#define V0_INHIBIT_SRC		(1u << 15)
#define V0_SYNC_BTM_SHIFT	16
#define V0_SYNC_INST_SHIFT	20
#define  V0_SYNC_OFF		15u
#define V0_SYNCS		(0xffu << V0_SYNC_BTM_SHIFT)
#define V0_FORMAT		(1u << 24)
#define V0_SINK_SBA		(7u << 28)
#define V0_SINK_FUNNEL		(8u << 28)

#define V0_IMPL			0x004
#define V0_BASE_LOW		0x010
#define V0_BASE_HIGH		0x014
#define V0_LIMIT		0x018
#define V0_WP			0x01c
#define V0_TS_LOW		0x044
#define V0_TS_HIGH		0x048
#define V0_TS_MESSAGES		(0xfu << 16)	/* messages with TSTAMP */
#define  V0_TS_ALL		(3u << 16)

#define V0_SRC_BITS		2u

/*
 * Encoders
 */

static uint32_t encoder_impl(const struct hart *h)
{
	return h->index << 28 | V0_SRC_BITS << 24 | v0_src(h) << 20 | 1u << 8;
}

uint32_t v0_src(const struct hart *h)
{
	return h->index & ((1u << V0_SRC_BITS) - 1);
}

uint32_t v0_src_bits(const struct hart *h)
{
	return h->te.control & TE_INHIBIT_SRC ? 0 : V0_SRC_BITS;
}

bool v0_has_timestamps(const struct hart *h)
{
	return h->te.ts.control & TS_ENABLE && ts_mode(&h->te.ts) &&
	       (h->comp->v0_ts & V0_TS_ALL) == V0_TS_ALL;
}

/* Convert the period from 2^(n + 5) to that of 1.0, 2^(n + 4) */
static uint32_t sync_of(uint32_t value)
{
	uint32_t btm = value >> V0_SYNC_BTM_SHIFT & 15, inst = value >> V0_SYNC_INST_SHIFT & 15;

	if ((value & V0_MODE) == V0_MODE_HTM)
		return 0;
	if (btm != V0_SYNC_OFF)
		return 1u << TE_SYNC_MODE_SHIFT | (btm + 1) << 20;
	if (inst != V0_SYNC_OFF)
		return 3u << TE_SYNC_MODE_SHIFT | (inst + 1) << 20;
	return 0;
}

static uint32_t mode_of(uint32_t value)
{
	uint32_t mode = value & V0_MODE;

	if (!mode)
		return 0;
	return (mode == V0_MODE_BTM_SYNC ? TE_MODE_BTM : TE_MODE_HTM) << TE_INST_MODE_SHIFT;
}

static uint32_t encoder_control(const struct component *c)
{
	const uint32_t same = V0_ACTIVE | V0_ENABLE | V0_TRACING | V0_EMPTY | V0_STALL_OR_OVERFLOW |
			      V0_STALL_ENA | V0_INHIBIT_SRC;

	return (te_read(&c->hart->te, TE_CONTROL) & same) | c->v0_control | V0_FORMAT |
	       V0_SINK_FUNNEL;
}

static unsigned int write_encoder_control(struct component *c, uint32_t value)
{
	const uint32_t same = V0_ACTIVE | V0_ENABLE | V0_TRACING | V0_STALL_ENA | V0_INHIBIT_SRC;
	struct te_regs *te = &c->hart->te;

	if (!(value & V0_ACTIVE))
		c->v0_control = c->v0_ts = 0;
	else if (te->active.is && !te->enable.is)
		c->v0_control = value & (V0_MODE | V0_STOP_ON_WRAP | V0_SYNCS);
	return te_write(te, TE_CONTROL,
			(value & same) | mode_of(c->v0_control) | sync_of(c->v0_control) |
			(value & V0_STALL_OR_OVERFLOW ? 0 : TE_STALL_OR_OVERFLOW));
}

unsigned int v0_write_encoder(struct component *c, unsigned int offset, uint32_t value)
{
	struct te_regs *te = &c->hart->te;

	if (offset == TE_CONTROL)
		return write_encoder_control(c, value);
	if (offset != TS_CONTROL)
		return 0;
	if (te->active.is && !te->enable.is)
		c->v0_ts = value & V0_TS_MESSAGES;
	return te_write(te, offset, value & ~V0_TS_MESSAGES);
}

static uint32_t read_encoder(const struct component *c, unsigned int offset)
{
	const struct te_regs *te = &c->hart->te;

	if (offset == TE_CONTROL)
		return encoder_control(c);
	if (!te->active.is)
		return 0;
	switch (offset) {
	case V0_IMPL:
		return encoder_impl(c->hart);
	case TS_CONTROL:
		return te_read(te, TS_CONTROL) | c->v0_ts;
	case V0_TS_LOW:
		return te_read(te, TS_COUNTER_LOW);
	case V0_TS_HIGH:
		return te_read(te, TS_COUNTER_HIGH);
	}
	return 0;
}

/*
 * Funnels with a built-in sink
 */

static struct component *sink_of(const struct component *c)
{
	return c->out[0].to;
}

static unsigned int write_sink(const struct component *c, unsigned int offset, uint32_t value)
{
	struct component *sink = sink_of(c);
	unsigned int todo;

	comp_lock(sink);
	todo = ram_write(&sink->sink, offset, value);
	comp_unlock(sink);
	return todo;
}

static unsigned int set_sink(struct hart *h, struct component *c, uint32_t value)
{
	unsigned int todo;

	todo = write_sink(c, RAM_CONTROL, (value & (V0_ACTIVE | V0_ENABLE)) | RAM_MODE_SMEM |
			  (value & V0_STOP_ON_WRAP ? RAM_STOP_ON_WRAP : 0));
	if (todo & RAM_DO_ENABLE)
		net_log_enable(sink_of(c), guest_time(h));
	else if (!(value & V0_ENABLE))
		net_log_disable(sink_of(c), guest_time(h));
	return todo & RAM_DO_ENABLE;
}

/* Enable the sink first and disable it last. Returns whether components upstream may send again. */
static bool write_funnel_control(struct hart *h, struct component *c, uint32_t value)
{
	bool pull = false;

	if (value & V0_ENABLE)
		pull = set_sink(h, c, value);
	pull |= funnel_write(&c->funnel, FUNNEL_CONTROL, value & (V0_ACTIVE | V0_ENABLE));
	if (!(value & V0_ENABLE))
		set_sink(h, c, value);
	c->v0_control = value & V0_ACTIVE ? value & V0_STOP_ON_WRAP : 0;
	return pull;
}

/* Base, limit and WP share one high half */
bool v0_write_funnel(struct hart *h, struct component *c, unsigned int offset, uint32_t value)
{
	switch (offset) {
	case FUNNEL_CONTROL:
		return write_funnel_control(h, c, value);
	case V0_BASE_LOW:
		write_sink(c, RAM_START_LOW, value);
		break;
	case V0_BASE_HIGH:
		write_sink(c, RAM_START_HIGH, value);
		write_sink(c, RAM_LIMIT_HIGH, value);
		write_sink(c, RAM_WP_HIGH, value);
		break;
	case V0_LIMIT:
		write_sink(c, RAM_LIMIT_LOW, value);
		break;
	case V0_WP:
		write_sink(c, RAM_WP_LOW, value);
		break;
	case TS_CONTROL:
		if (funnel_write(&c->funnel, TS_CONTROL, value) & FUNNEL_DO_TS_RESET)
			ts_restart(&c->funnel.ts, guest_time(h));
		break;
	}
	return false;
}

/* Empty is the sink's: the funnel may hold the rest of a message for the next window. */
static uint32_t funnel_control(const struct component *c)
{
	uint32_t sink = ram_read(&sink_of(c)->sink, RAM_CONTROL);

	return (sink & (V0_ACTIVE | V0_ENABLE | V0_EMPTY)) | c->v0_control | V0_SINK_SBA;
}

static uint32_t read_funnel(const struct component *c, unsigned int offset)
{
	const struct ram_sink *sink = &sink_of(c)->sink;
	uint32_t width = __builtin_ctz(sink->can->width / 4);

	if (offset == FUNNEL_CONTROL)
		return funnel_control(c);
	if (!c->funnel.active.is)
		return 0;
	switch (offset) {
	case V0_IMPL:
		return width << 16 | 1u << 7;
	case V0_BASE_LOW:
		return ram_read(sink, RAM_START_LOW);
	case V0_BASE_HIGH:
		return ram_read(sink, RAM_START_HIGH);
	case V0_LIMIT:
		return ram_read(sink, RAM_LIMIT_LOW);
	case V0_WP:
		return ram_read(sink, RAM_WP_LOW);
	case TS_CONTROL:
		return funnel_read(&c->funnel, TS_CONTROL);
	case V0_TS_LOW:
		return funnel_read(&c->funnel, TS_COUNTER_LOW);
	case V0_TS_HIGH:
		return funnel_read(&c->funnel, TS_COUNTER_HIGH);
	}
	return 0;
}

/*
 * Both
 */

uint32_t v0_read(const struct component *c, unsigned int offset)
{
	return c->type == COMP_ENCODER ? read_encoder(c, offset) : read_funnel(c, offset);
}

void v0_was_read(struct component *c, unsigned int offset)
{
	if (c->type == COMP_ENCODER) {
		te_was_read(&c->hart->te, offset);
		return;
	}
	funnel_was_read(&c->funnel, offset);
	if (offset == FUNNEL_CONTROL)
		ram_was_read(&sink_of(c)->sink, RAM_CONTROL);
}
