// SPDX-License-Identifier: GPL-2.0-only
/* A RAM sink in SMEM mode: see ramsink.h */

#include <string.h>

#include "ramsink.h"

#define RAM_IDLE	0xff	/* padding that a decoder skips */

static void reset(struct ram_sink *ram)
{
	ram->control = 0;
	ram->start = 0;
	ram->limit = 0;
	ram->wp = 0;
	ram->wrap = false;
	ram->fill = 0;
}

void ram_init(struct ram_sink *ram, const struct ram_ability *can, uint8_t *mem, uint64_t base,
	      uint64_t size)
{
	memset(ram, 0, sizeof(*ram));
	ram->can = can;
	ram->mem = mem;
	ram->base = base;
	ram->size = size;
	ram->empty.is = ram->empty.shown = true;
}

/*
 * The way into memory
 */

/* A word that would land outside memory is lost, like on a bus */
static void store_word(struct ram_sink *ram)
{
	unsigned int width = ram->can->width;
	uint64_t at = ram->wp - ram->base;

	if (ram->wp >= ram->base && at + width <= ram->size)
		memcpy(ram->mem + at, ram->word, width);
	else
		ram->misuse++;
	ram->fill = 0;

	if (ram->wp != ram->limit) {
		ram->wp += width;
		return;
	}
	ram->wp = ram->start;
	ram->wrap = true;
	if (ram->control & RAM_STOP_ON_WRAP)
		late_bit_set(&ram->enable, false, (struct late_bit_delay){ 0 });
}

unsigned int ram_put(struct ram_sink *ram, const uint8_t *buf, unsigned int len)
{
	unsigned int i;

	for (i = 0; i < len && ram->enable.is; i++) {
		ram->word[ram->fill++] = buf[i];
		if (ram->fill == ram->can->width)
			store_word(ram);
	}
	ram->written += i;
	return i;
}

uint64_t ram_room(const struct ram_sink *ram)
{
	if (!ram->enable.is)
		return 0;
	if (!(ram->control & RAM_STOP_ON_WRAP))
		return UINT64_MAX;
	return ram->limit + ram->can->width - ram->wp - ram->fill;
}

/* Enable fell: the started word is filled up with idle bytes */
static void flush(struct ram_sink *ram)
{
	late_bit_set(&ram->empty, false, (struct late_bit_delay){ 0 });
	if (ram->fill) {
		memset(ram->word + ram->fill, RAM_IDLE, ram->can->width - ram->fill);
		store_word(ram);
	}
	late_bit_set(&ram->empty, true, ram->can->empty);
}

/*
 * Registers
 */

static unsigned int write_control(struct ram_sink *ram, uint32_t value)
{
	bool enabled = ram->enable.is, enable = value & RAM_ENABLE;
	unsigned int todo = 0;

	if (!(value & RAM_ACTIVE)) {
		if (ram->active.is) {
			late_bit_set(&ram->enable, false, (struct late_bit_delay){ 0 });
			late_bit_set(&ram->empty, true, (struct late_bit_delay){ 0 });
			reset(ram);
			todo = RAM_DO_RESET;
		}
		late_bit_set(&ram->active, false, ram->can->active);
		return todo;
	}
	late_bit_set(&ram->active, true, ram->can->active);
	if (!enabled)
		ram->control = RAM_MODE_SMEM | (value & RAM_STOP_ON_WRAP);
	if (enabled && !enable)
		flush(ram);
	if (!enabled && enable)
		todo |= RAM_DO_ENABLE;
	late_bit_set(&ram->enable, enable, ram->can->enable);
	return todo;
}

static uint64_t with_low(uint64_t old, uint32_t value)
{
	return (old & ~0xffffffffull) | value;
}

static uint64_t with_high(uint64_t old, uint32_t value)
{
	return (old & 0xffffffffull) | (uint64_t)value << 32;
}

static uint64_t warl_address(const struct ram_sink *ram, uint64_t addr)
{
	if (ram->can->addrbits < 64)
		addr &= (1ull << ram->can->addrbits) - 1;
	return addr & ~(uint64_t)(ram->can->width - 1);
}

static void write_pointer(struct ram_sink *ram, unsigned int offset, uint32_t value)
{
	switch (offset) {
	case RAM_START_LOW:
		ram->start = warl_address(ram, with_low(ram->start, value));
		break;
	case RAM_START_HIGH:
		ram->start = warl_address(ram, with_high(ram->start, value));
		break;
	case RAM_LIMIT_LOW:
		ram->limit = warl_address(ram, with_low(ram->limit, value));
		break;
	case RAM_LIMIT_HIGH:
		ram->limit = warl_address(ram, with_high(ram->limit, value));
		break;
	case RAM_WP_LOW:
		ram->wp = warl_address(ram, with_low(ram->wp, value));
		ram->wrap = value & RAM_WRAP;
		break;
	case RAM_WP_HIGH:
		ram->wp = warl_address(ram, with_high(ram->wp, value));
		break;
	}
}

unsigned int ram_write(struct ram_sink *ram, unsigned int offset, uint32_t value)
{
	value &= ~ram->can->nostick[offset / 4];
	if (offset == RAM_CONTROL)
		return write_control(ram, value);
	if (!ram->active.is)
		return 0;
	if (ram->enable.is || !ram->empty.shown) {
		ram->misuse++;
		return 0;
	}
	write_pointer(ram, offset, value);
	return 0;
}

uint32_t ram_read(const struct ram_sink *ram, unsigned int offset)
{
	if (offset == RAM_CONTROL)
		return ram->control | (ram->active.shown ? RAM_ACTIVE : 0) |
		       (ram->enable.shown ? RAM_ENABLE : 0) | (ram->empty.shown ? RAM_EMPTY : 0);
	if (!ram->active.is)
		return 0;

	switch (offset) {
	case RAM_IMPL:
		return ram->can->impl;
	case RAM_START_LOW:
		return ram->start;
	case RAM_START_HIGH:
		return ram->start >> 32;
	case RAM_LIMIT_LOW:
		return ram->limit;
	case RAM_LIMIT_HIGH:
		return ram->limit >> 32;
	case RAM_WP_LOW:
		return (uint32_t)ram->wp | (ram->wrap ? RAM_WRAP : 0);
	case RAM_WP_HIGH:
		return ram->wp >> 32;
	}
	return 0;
}

void ram_was_read(struct ram_sink *ram, unsigned int offset)
{
	if (offset != RAM_CONTROL)
		return;
	late_bit_was_read(&ram->active);
	late_bit_was_read(&ram->enable);
	late_bit_was_read(&ram->empty);
}
