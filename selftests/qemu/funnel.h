/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A trace funnel (RISC-V Trace Control Interface 1.0): registers and a buffer of whole messages.
 * Pure: the owner connects it to other components.
 *
 * With input_fifo a message waits at its input until another one arrives, or until the funnel is
 * switched off. So the funnel may hold trace of an encoder that is empty.
 */
#ifndef FUNNEL_H
#define FUNNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "latebit.h"
#include "tsunit.h"

#define FUNNEL_CONTROL		0x000
#define  FUNNEL_ACTIVE		(1u << 0)
#define  FUNNEL_ENABLE		(1u << 1)
#define  FUNNEL_EMPTY		(1u << 3)
#define FUNNEL_IMPL		0x004
#define FUNNEL_DIS_INPUT	0x008

#define FUNNEL_INPUTS		16
#define FUNNEL_BUFFER		256	/* several of the longest messages */
#define FUNNEL_HELD		64	/* the longest message */

#define FUNNEL_DO_PULL		(1u << 0)	/* it can take more than before */
#define FUNNEL_DO_TS_RESET	(1u << 1)

struct funnel_ability {
	uint32_t impl;
	uint32_t dis_inputs;		/* mask of the inputs that can be disabled */
	struct ts_ability ts;
	struct late_bit_delay active, enable, empty;
	bool input_fifo;
	uint32_t nostick[0x1000 / 4];
};

struct funnel {
	const struct funnel_ability *can;
	uint32_t inputs;		/* mask of the inputs that exist */
	struct late_bit active, enable, empty;
	uint32_t dis_input;
	struct ts_unit ts;
	uint8_t buf[FUNNEL_BUFFER];
	unsigned int fill;
	uint8_t held[FUNNEL_INPUTS][FUNNEL_HELD];
	unsigned int held_len[FUNNEL_INPUTS];
	bool cut;			/* the sink has the beginning of the first message in buf */
};

void funnel_init(struct funnel *f, const struct funnel_ability *can, uint32_t inputs);
unsigned int funnel_write(struct funnel *f, unsigned int offset, uint32_t value);
uint32_t funnel_read(const struct funnel *f, unsigned int offset);
void funnel_was_read(struct funnel *f, unsigned int offset);

/* Take a whole message, or nothing. A disabled input discards the message. */
bool funnel_put(struct funnel *f, unsigned int input, const uint8_t *msg, unsigned int len);

/* Length of the first message in a buffer; 0: the message is not complete */
unsigned int funnel_message(const uint8_t *buf, unsigned int len);

/* Remove @len bytes that were sent from buf */
void funnel_took(struct funnel *f, unsigned int len);

/* Fault: Enable falls by itself */
void funnel_drop_enable(struct funnel *f);

#endif /* FUNNEL_H */
