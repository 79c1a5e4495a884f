/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A bridge to an AMBA trace bus (RISC-V Trace Control Interface 1.0): registers only.  Trace that
 * goes over the bridge leaves the model.
 */
#ifndef BRIDGE_H
#define BRIDGE_H

#include <stdbool.h>
#include <stdint.h>

#include "latebit.h"

#define BRIDGE_CONTROL		0x000
#define  BRIDGE_ACTIVE		(1u << 0)
#define  BRIDGE_ENABLE		(1u << 1)
#define  BRIDGE_EMPTY		(1u << 3)
#define  BRIDGE_ID		(0x7fu << 8)
#define  BRIDGE_ID_SHIFT	8
#define BRIDGE_IMPL		0x004
#define  BRIDGE_ASYNC_FREQ	(7u << 12)	/* in this register, not in Control */

#define BRIDGE_DO_PULL		(1u << 0)

struct bridge_ability {
	uint32_t impl;
	struct late_bit_delay active, enable, empty;
	uint32_t nostick[0x1000 / 4];
};

struct bridge {
	const struct bridge_ability *can;
	struct late_bit active, enable, empty;
	uint32_t id, async_freq;	/* not shifted */
	uint64_t bytes;			/* sent over the bridge */
	unsigned int misuse;		/* times enabled with a reserved ID */
};

void bridge_init(struct bridge *b, const struct bridge_ability *can);
unsigned int bridge_write(struct bridge *b, unsigned int offset, uint32_t value);
uint32_t bridge_read(const struct bridge *b, unsigned int offset);
void bridge_was_read(struct bridge *b, unsigned int offset);
unsigned int bridge_put(struct bridge *b, unsigned int len);

#endif /* BRIDGE_H */
