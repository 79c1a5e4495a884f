// SPDX-License-Identifier: GPL-2.0-only
/* A trace funnel: see funnel.h */

#include <string.h>

#include "funnel.h"

void funnel_init(struct funnel *f, const struct funnel_ability *can, uint32_t inputs)
{
	memset(f, 0, sizeof(*f));
	f->can = can;
	f->inputs = inputs;
	f->empty.is = f->empty.shown = true;
	ts_init(&f->ts, &can->ts);
}

/*
 * Messages
 */

unsigned int funnel_message(const uint8_t *buf, unsigned int len)
{
	unsigned int i;

	for (i = 0; i < len; i++)
		if ((buf[i] & 3) == 3)		/* MSEO: the last byte */
			return i + 1;
	return 0;
}

static bool append(struct funnel *f, const uint8_t *msg, unsigned int len)
{
	if (f->fill + len > FUNNEL_BUFFER)
		return false;
	memcpy(f->buf + f->fill, msg, len);
	f->fill += len;
	return true;
}

/* Move messages from the inputs to the buffer, as far as there is room */
static bool release(struct funnel *f)
{
	unsigned int i;
	bool all = true;

	for (i = 0; i < FUNNEL_INPUTS; i++) {
		if (!f->held_len[i])
			continue;
		if (append(f, f->held[i], f->held_len[i]))
			f->held_len[i] = 0;
		else
			all = false;
	}
	return all;
}

bool funnel_put(struct funnel *f, unsigned int input, const uint8_t *msg, unsigned int len)
{
	if (!f->enable.is)
		return false;
	if (f->dis_input >> input & 1)
		return true;
	if (!f->can->input_fifo || len > FUNNEL_HELD)
		return release(f) && append(f, msg, len);
	release(f);
	if (f->held_len[input])
		return false;
	memcpy(f->held[input], msg, len);
	f->held_len[input] = len;
	return true;
}

static bool holds(const struct funnel *f)
{
	unsigned int i;

	for (i = 0; i < FUNNEL_INPUTS; i++)
		if (f->held_len[i])
			return true;
	return false;
}

/* Only a disabled funnel reports Empty: while it is enabled, more trace may arrive at any time. */
static void update_empty(struct funnel *f)
{
	late_bit_set(&f->empty, !f->enable.is && !f->fill && !holds(f),
		     f->enable.is ? (struct late_bit_delay){ 0 } : f->can->empty);
}

void funnel_took(struct funnel *f, unsigned int len)
{
	if (!len)
		return;
	f->cut = (f->buf[len - 1] & 3) != 3;
	memmove(f->buf, f->buf + len, f->fill - len);
	f->fill -= len;
	if (!f->enable.is)
		release(f);
	update_empty(f);
}

void funnel_drop_enable(struct funnel *f)
{
	late_bit_set(&f->enable, false, (struct late_bit_delay){ 0 });
	update_empty(f);
}

/*
 * Registers
 */

static void reset(struct funnel *f)
{
	late_bit_set(&f->enable, false, (struct late_bit_delay){ 0 });
	late_bit_set(&f->empty, true, (struct late_bit_delay){ 0 });
	f->dis_input = 0;
	ts_init(&f->ts, &f->can->ts);
	f->fill = 0;
	memset(f->held_len, 0, sizeof(f->held_len));
	f->cut = false;
}

static unsigned int write_control(struct funnel *f, uint32_t value)
{
	bool active = value & FUNNEL_ACTIVE, enabled = f->enable.is;

	if (!active && f->active.is)
		reset(f);
	late_bit_set(&f->active, active, f->can->active);
	if (!active)
		return 0;
	late_bit_set(&f->enable, value & FUNNEL_ENABLE, f->can->enable);
	if (!f->enable.is)
		release(f);
	update_empty(f);
	return f->enable.is != enabled ? FUNNEL_DO_PULL : 0;
}

unsigned int funnel_write(struct funnel *f, unsigned int offset, uint32_t value)
{
	unsigned int i;

	value &= ~f->can->nostick[offset / 4];
	if (offset == FUNNEL_CONTROL)
		return write_control(f, value);
	if (!f->active.is)
		return 0;
	if (ts_write(&f->ts, offset, value))
		return FUNNEL_DO_TS_RESET;
	if (offset != FUNNEL_DIS_INPUT)
		return 0;
	f->dis_input = value & f->inputs & f->can->dis_inputs;
	for (i = 0; i < FUNNEL_INPUTS; i++)
		if (f->dis_input >> i & 1)
			f->held_len[i] = 0;
	return FUNNEL_DO_PULL;
}

uint32_t funnel_read(const struct funnel *f, unsigned int offset)
{
	if (offset == FUNNEL_CONTROL)
		return (f->active.shown ? FUNNEL_ACTIVE : 0) |
		       (f->enable.shown ? FUNNEL_ENABLE : 0) |
		       (f->empty.shown ? FUNNEL_EMPTY : 0);
	if (!f->active.is)
		return 0;
	if (offset == FUNNEL_IMPL)
		return f->can->impl;
	if (offset == FUNNEL_DIS_INPUT)
		return f->dis_input;
	return ts_read(&f->ts, offset);
}

void funnel_was_read(struct funnel *f, unsigned int offset)
{
	ts_was_read(&f->ts, offset);
	if (offset != FUNNEL_CONTROL)
		return;
	late_bit_was_read(&f->active);
	late_bit_was_read(&f->enable);
	late_bit_was_read(&f->empty);
}
