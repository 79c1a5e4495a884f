/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A RAM sink (RISC-V Trace Control Interface 1.0): registers, and writing of trace to system memory
 * (SMEM) or to its own memory (SRAM).  Pure: the owner provides the memory.
 */
#ifndef RAMSINK_H
#define RAMSINK_H

#include <stdbool.h>
#include <stdint.h>

#include "latebit.h"

#define RAM_CONTROL		0x000
#define  RAM_ACTIVE		(1u << 0)
#define  RAM_ENABLE		(1u << 1)
#define  RAM_EMPTY		(1u << 3)
#define  RAM_MODE_SMEM		(1u << 4)
#define  RAM_STOP_ON_WRAP	(1u << 8)
#define RAM_IMPL		0x004
#define  RAM_HAS_SRAM		(1u << 12)
#define  RAM_HAS_SMEM		(1u << 13)
#define RAM_START_LOW		0x010
#define RAM_START_HIGH		0x014
#define RAM_LIMIT_LOW		0x018
#define RAM_LIMIT_HIGH		0x01c
#define RAM_WP_LOW		0x020
#define  RAM_WRAP		(1u << 0)
#define RAM_WP_HIGH		0x024
#define RAM_RP_LOW		0x028
#define RAM_DATA		0x040

#define RAM_SRAM_WIDTH		4	/* bytes written at once to SRAM */

#define RAM_LATE_MAX		16

#define RAM_DO_ENABLE		(1u << 0)	/* Enable rose: there is room again */
#define RAM_DO_RESET		(1u << 1)

struct ram_ability {
	uint32_t impl;
	uint8_t addrbits;		/* of Start, Limit and WP; 32: no High registers */
	uint8_t width;			/* bytes written at once: A of the specification */
	bool live_data;			/* trRamData works while the sink is enabled */
	uint8_t late;			/* words before WP that are not yet in SMEM */
	bool fixed_limit;		/* SRAM: Limit is fixed at the end of the memory */
	bool wrap_sticks;		/* only a reset clears Wrap */
	bool lazy;			/* a partial word waits until the sink is disabled */
	struct late_bit_delay active, enable, empty;
	uint32_t nostick[0x1000 / 4];	/* bits that are always written as 0 */
	uint32_t stick[0x1000 / 4];	/* bits that are always written as 1 */
};

struct ram_sink {
	const struct ram_ability *can;
	uint8_t *mem;			/* system memory */
	uint64_t base, size;		/* address and size of mem */
	uint64_t region, region_size;	/* the part that this sink can reach; size 0: all */
	uint8_t *sram;
	uint32_t sram_size;
	struct late_bit active, enable, empty;
	uint32_t control;		/* without Active, Enable, Empty */
	uint64_t start, limit, wp;
	uint32_t rp;
	bool wrap;
	unsigned int fill;		/* bytes of a partial word */
	uint8_t word[64];
	unsigned int n_late;		/* pending words, the oldest first */
	uint64_t late_at[RAM_LATE_MAX];
	uint8_t late[RAM_LATE_MAX][64];
	uint64_t written;		/* bytes of trace since reset */
	unsigned int misuse;		/* writes that the specification forbids */
	bool stray;			/* WP reads as an address outside of the window */
	void (*wrote)(struct ram_sink *ram, uint64_t at, unsigned int len);	/* to SMEM */
};

void ram_init(struct ram_sink *ram, const struct ram_ability *can, uint8_t *mem, uint64_t base,
	      uint64_t size);
void ram_set_sram(struct ram_sink *ram, uint8_t *sram, uint32_t size);
void ram_set_region(struct ram_sink *ram, uint64_t region, uint64_t size);
unsigned int ram_write(struct ram_sink *ram, unsigned int offset, uint32_t value);
uint32_t ram_read(const struct ram_sink *ram, unsigned int offset);
void ram_was_read(struct ram_sink *ram, unsigned int offset);

/* Returns how many of the bytes the sink took: less than len only if it is or becomes full */
unsigned int ram_put(struct ram_sink *ram, const uint8_t *buf, unsigned int len);

/* Fault: Enable falls by itself */
void ram_drop_enable(struct ram_sink *ram);
/* Fault: WP reads as an address outside of the window until it is written */
void ram_stray(struct ram_sink *ram);

static inline bool ram_in_sram(const struct ram_sink *ram)
{
	return !(ram->control & RAM_MODE_SMEM);
}

/* The encoder has flushed: write all of its trace to memory, as far as there is room */
void ram_settle(struct ram_sink *ram);
/* How many bytes the sink can take now; UINT64_MAX: any number, because it wraps */
uint64_t ram_room(const struct ram_sink *ram);

#endif /* RAMSINK_H */
