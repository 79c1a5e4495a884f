/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Register file of a trace encoder (RISC-V Trace Control Interface 1.0).
 *
 * Pure: independent of QEMU and of the encoder.  A write returns the actions that the encoder must
 * take.  The encoder reports its state through te_set_*().
 */
#ifndef TE_REGS_H
#define TE_REGS_H

#include <stdbool.h>
#include <stdint.h>

#include "filter.h"
#include "latebit.h"
#include "tsunit.h"

#define TE_CONTROL		0x000
#define  TE_ACTIVE		(1u << 0)
#define  TE_ENABLE		(1u << 1)
#define  TE_INST_TRACING	(1u << 2)
#define  TE_EMPTY		(1u << 3)
#define  TE_INST_MODE		(7u << 4)
#define  TE_INST_MODE_SHIFT	4
#define  TE_CONTEXT		(1u << 9)
#define  TE_STALL_OR_OVERFLOW	(1u << 12)
#define  TE_STALL_ENA		(1u << 13)
#define  TE_INHIBIT_SRC		(1u << 15)
#define  TE_SYNC_MODE		(3u << 16)
#define  TE_SYNC_MODE_SHIFT	16
#define  TE_SYNC_MAX		(15u << 20)
#define  TE_SYNC_MAX_SHIFT	20
#define  TE_FORMAT		(7u << 24)
#define  TE_FORMAT_SHIFT	24
#define TE_IMPL			0x004
#define TE_INST_FEATURES	0x008
#define  TE_SEQUENTIAL_JUMP	(1u << 2)
#define  TE_IMPLICIT_RETURN	(1u << 3)
#define  TE_RETURN_MODE		(3u << 6)
#define  TE_RETURN_MODE_SHIFT	6
#define  TE_ALL_JUMPS		(1u << 9)
#define  TE_EXTEND_ADDR_MSB	(1u << 10)
#define  TE_SRC_ID		(0xfffu << 16)
#define  TE_SRC_ID_SHIFT	16
#define  TE_SRC_BITS		(15u << 28)
#define  TE_SRC_BITS_SHIFT	28
#define TE_INST_FILTERS		0x00c
#define TE_DROP			0xe00	/* vendor: drop the next N messages */

#define TE_MODE_BTM		3
#define TE_MODE_HTM		6

/* Actions of the encoder after a write, in the order of the bits */
#define TE_DO_STOP		(1u << 0)	/* tracing ends */
#define TE_DO_FLUSH		(1u << 1)	/* Enable fell: buffered trace is sent */
#define TE_DO_RESET		(1u << 2)	/* Active fell: all state is lost */
#define TE_DO_START		(1u << 3)	/* tracing begins */
#define TE_DO_TS_RESET		(1u << 4)
#define TE_DO_DROP		(1u << 5)	/* drop te_regs.drop messages */

/* Capabilities of an encoder; all other fields of its registers are hardwired to 0 */
struct te_ability {
	uint32_t impl;
	uint8_t format;			/* 1 N-Trace, 0 E-Trace */
	bool btm, htm;
	bool context, stall, extaddr, seqjump, alljumps;
	uint8_t retstack;		/* mask of the accepted ImplicitReturnMode values */
	uint8_t syncmodes;		/* mask of the accepted SyncMode values */
	uint8_t srcbits;		/* widest SRC */
	struct filter_ability filter;
	struct ts_ability ts;
	struct late_bit_delay active, enable, empty;
	uint32_t nostick[0x1000 / 4];	/* bits that are always written as 0 */
	uint32_t stick[0x1000 / 4];	/* bits that are always written as 1 */
};

struct te_regs {
	const struct te_ability *can;
	struct late_bit active, enable, empty;
	uint32_t control;		/* without Active, Enable, Empty */
	uint32_t features;
	struct filters filter;
	struct ts_unit ts;
	uint32_t drop;
};

void te_init(struct te_regs *te, const struct te_ability *can);
unsigned int te_write(struct te_regs *te, unsigned int offset, uint32_t value);
uint32_t te_read(const struct te_regs *te, unsigned int offset);
void te_was_read(struct te_regs *te, unsigned int offset);

/* Changes that the encoder makes by itself */
void te_set_empty(struct te_regs *te, bool empty);
void te_set_lost(struct te_regs *te);
unsigned int te_drop_enable(struct te_regs *te);
unsigned int te_power_loss(struct te_regs *te);

/* Copy Control from another register file, of which this one is a shadow */
void te_mirror(struct te_regs *te, uint32_t control);

static inline bool te_tracing(const struct te_regs *te)
{
	return te->enable.is && (te->control & TE_INST_TRACING) &&
	       (te->control & TE_INST_MODE);
}

#endif /* TE_REGS_H */
