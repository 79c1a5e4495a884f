// SPDX-License-Identifier: GPL-2.0-only
/* A RAM sink: see ramsink.h */

#include <string.h>

#include "ramsink.h"

#define RAM_IDLE	0xff	/* padding that a decoder skips */

static const struct late_bit_delay now;

static unsigned int width(const struct ram_sink *ram)
{
	return ram_in_sram(ram) ? RAM_SRAM_WIDTH : ram->can->width;
}

/* If only one memory exists, Mode is hardwired. */
static uint32_t warl_mode(const struct ram_sink *ram, uint32_t value)
{
	bool sram = ram->can->impl & RAM_HAS_SRAM, smem = ram->can->impl & RAM_HAS_SMEM;

	if (sram && smem)
		return value & RAM_MODE_SMEM;
	return sram ? 0 : RAM_MODE_SMEM;
}

static uint64_t warl_address(const struct ram_sink *ram, uint64_t addr)
{
	uint64_t mask = ~(uint64_t)(width(ram) - 1), last;

	if (ram_in_sram(ram))
		return addr & (ram->sram_size - 1) & mask;
	if (ram->can->addrbits < 64)
		addr &= (1ull << ram->can->addrbits) - 1;
	if (!ram->region_size)
		return addr & mask;
	last = ram->region + ram->region_size - width(ram);
	return (addr < ram->region ? ram->region : addr > last ? last : addr) & mask;
}

/* Start is fixed in SRAM and in a region. Limit may be fixed in SRAM. */
static void set_start(struct ram_sink *ram, uint64_t addr)
{
	if (ram_in_sram(ram))
		addr = 0;
	else if (ram->region_size)
		addr = ram->region;
	ram->start = warl_address(ram, addr);
}

static void set_limit(struct ram_sink *ram, uint64_t addr)
{
	if (ram_in_sram(ram) && ram->can->fixed_limit)
		addr = ram->sram_size - RAM_SRAM_WIDTH;
	ram->limit = warl_address(ram, addr);
}

static void reset_pointers(struct ram_sink *ram)
{
	set_start(ram, 0);
	set_limit(ram, 0);
	ram->wp = warl_address(ram, 0);
	ram->rp = 0;
	ram->wrap = false;
	ram->stray = false;
	ram->fill = 0;
}

static void reset(struct ram_sink *ram)
{
	ram->control = warl_mode(ram, 0);
	ram->n_late = 0;
	reset_pointers(ram);
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
	reset(ram);
}

/* size is a power of two */
void ram_set_sram(struct ram_sink *ram, uint8_t *sram, uint32_t size)
{
	ram->sram = sram;
	ram->sram_size = size;
	reset(ram);
}

void ram_set_region(struct ram_sink *ram, uint64_t region, uint64_t size)
{
	ram->region = region;
	ram->region_size = size;
	reset(ram);
}

/*
 * Writes to memory
 */

/* A word outside of memory is lost, like on a bus. */
static void land(struct ram_sink *ram, uint64_t address, const uint8_t *word)
{
	uint64_t at = address - ram->base;

	if (ram->wrote)
		ram->wrote(ram, address, width(ram));
	if (address >= ram->base && at + width(ram) <= ram->size)
		memcpy(ram->mem + at, word, width(ram));
	else
		ram->misuse++;
}

/* Write all pending words to memory, except for the newest ones */
static void land_all_but(struct ram_sink *ram, unsigned int newest)
{
	unsigned int i, n = ram->n_late - newest;

	for (i = 0; i < n; i++)
		land(ram, ram->late_at[i], ram->late[i]);
	memmove(ram->late_at, ram->late_at + n, newest * sizeof(ram->late_at[0]));
	memmove(ram->late, ram->late + n, newest * sizeof(ram->late[0]));
	ram->n_late = newest;
}

static void store_smem(struct ram_sink *ram)
{
	if (!ram->can->late) {
		land(ram, ram->wp, ram->word);
		return;
	}
	if (ram->n_late == ram->can->late)
		land_all_but(ram, ram->n_late - 1);
	ram->late_at[ram->n_late] = ram->wp;
	memcpy(ram->late[ram->n_late++], ram->word, width(ram));
}

static void store_word(struct ram_sink *ram)
{
	if (ram_in_sram(ram))
		memcpy(ram->sram + ram->wp, ram->word, RAM_SRAM_WIDTH);
	else
		store_smem(ram);
	ram->fill = 0;

	if (ram->wp != ram->limit) {
		ram->wp = warl_address(ram, ram->wp + width(ram));
		return;
	}
	ram->wp = ram->start;
	ram->wrap = true;
	if (ram->control & RAM_STOP_ON_WRAP) {
		late_bit_set(&ram->enable, false, now);
		land_all_but(ram, 0);
	}
}

unsigned int ram_put(struct ram_sink *ram, const uint8_t *buf, unsigned int len)
{
	unsigned int i;

	for (i = 0; i < len && ram->enable.is; i++) {
		ram->word[ram->fill++] = buf[i];
		if (ram->fill == width(ram))
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
	return ram->limit + width(ram) - ram->wp - ram->fill;
}

/* Complete the partial word with idle bytes, and write all pending words */
static void write_through(struct ram_sink *ram)
{
	if (ram->fill) {
		memset(ram->word + ram->fill, RAM_IDLE, width(ram) - ram->fill);
		store_word(ram);
	}
	land_all_but(ram, 0);
}

void ram_settle(struct ram_sink *ram)
{
	if (ram->enable.is && !ram->can->lazy)
		write_through(ram);
}

/* Enable fell */
static void flush(struct ram_sink *ram)
{
	late_bit_set(&ram->empty, false, now);
	write_through(ram);
	late_bit_set(&ram->empty, true, ram->can->empty);
}

void ram_drop_enable(struct ram_sink *ram)
{
	late_bit_set(&ram->enable, false, now);
	land_all_but(ram, 0);
	late_bit_set(&ram->empty, true, ram->can->empty);
}

void ram_stray(struct ram_sink *ram)
{
	ram->stray = true;
}

/*
 * Registers
 */

/* A change of Mode resets the pointers, because they belong to the other memory. */
static void set_control(struct ram_sink *ram, uint32_t value)
{
	uint32_t mode = warl_mode(ram, value);

	if (mode != (ram->control & RAM_MODE_SMEM)) {
		ram->control = mode;
		reset_pointers(ram);
	}
	ram->control = mode | (value & RAM_STOP_ON_WRAP);
}

static unsigned int write_control(struct ram_sink *ram, uint32_t value)
{
	bool enabled = ram->enable.is, enable = value & RAM_ENABLE;
	unsigned int todo = 0;

	if (!(value & RAM_ACTIVE)) {
		if (ram->active.is) {
			late_bit_set(&ram->enable, false, now);
			late_bit_set(&ram->empty, true, now);
			reset(ram);
			todo = RAM_DO_RESET;
		}
		late_bit_set(&ram->active, false, ram->can->active);
		return todo;
	}
	late_bit_set(&ram->active, true, ram->can->active);
	if (!enabled)
		set_control(ram, value);
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

static void write_pointer(struct ram_sink *ram, unsigned int offset, uint32_t value)
{
	switch (offset) {
	case RAM_START_LOW:
		set_start(ram, with_low(ram->start, value));
		break;
	case RAM_START_HIGH:
		set_start(ram, with_high(ram->start, value));
		break;
	case RAM_LIMIT_LOW:
		set_limit(ram, with_low(ram->limit, value));
		break;
	case RAM_LIMIT_HIGH:
		set_limit(ram, with_high(ram->limit, value));
		break;
	case RAM_WP_LOW:
		ram->wp = warl_address(ram, with_low(ram->wp, value));
		ram->wrap = ram->can->wrap_sticks ? ram->wrap : value & RAM_WRAP;
		ram->stray = false;
		break;
	case RAM_WP_HIGH:
		ram->wp = warl_address(ram, with_high(ram->wp, value));
		break;
	}
}

/* trRamData reads SRAM only. Software reads SMEM directly. */
static bool data_works(const struct ram_sink *ram)
{
	return ram_in_sram(ram) && (ram->can->live_data || (!ram->enable.is && ram->empty.is));
}

static void write_rp(struct ram_sink *ram, uint32_t value)
{
	if (data_works(ram))
		ram->rp = warl_address(ram, value);
}

static uint32_t read_data(const struct ram_sink *ram)
{
	uint32_t word = 0;

	if (data_works(ram))
		memcpy(&word, ram->sram + ram->rp, sizeof(word));
	return word;
}

static void data_was_read(struct ram_sink *ram)
{
	if (!data_works(ram))
		return;
	ram->rp = ram->rp == ram->limit ? ram->start : warl_address(ram, ram->rp + RAM_SRAM_WIDTH);
}

unsigned int ram_write(struct ram_sink *ram, unsigned int offset, uint32_t value)
{
	value &= ~ram->can->nostick[offset / 4];
	value |= ram->can->stick[offset / 4];
	if (offset == RAM_CONTROL)
		return write_control(ram, value);
	if (!ram->active.is)
		return 0;
	if (offset == RAM_RP_LOW) {
		write_rp(ram, value);
		return 0;
	}
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
		return (ram->active.is ? ram->control : 0) | (ram->active.shown ? RAM_ACTIVE : 0) |
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
		if (ram->stray)
			return (uint32_t)ram->start - 0x1000;
		return (uint32_t)ram->wp | (ram->wrap ? RAM_WRAP : 0);
	case RAM_WP_HIGH:
		return ram->wp >> 32;
	case RAM_RP_LOW:
		return ram->rp;
	case RAM_DATA:
		return read_data(ram);
	}
	return 0;
}

void ram_was_read(struct ram_sink *ram, unsigned int offset)
{
	if (offset == RAM_DATA && ram->active.is)
		data_was_read(ram);
	if (offset != RAM_CONTROL)
		return;
	late_bit_was_read(&ram->active);
	late_bit_was_read(&ram->enable);
	late_bit_was_read(&ram->empty);
}
