/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Filters and comparators of an encoder (RISC-V Trace Control Interface 1.0): registers, and which
 * instructions they pass, by privilege and instruction address.  Pure.  Not implemented:
 * exceptions, data, context and implementation-defined conditions.
 */
#ifndef FILTER_H
#define FILTER_H

#include <stdbool.h>
#include <stdint.h>

#define TE_FILTER(i)		(0x400 + 0x20 * (i))
#define  TE_FILTER_ENABLE	(1u << 0)
#define  TE_FILTER_MATCH_PRIV	(1u << 1)
#define  TE_FILTER_MATCH_COMP(k) (1u << (4 * (k)))	/* k from 1 to 3 */
#define  TE_FILTER_COMP_SHIFT(k) (4 * (k) + 1)
#define TE_FILTER_INST(i)	(TE_FILTER(i) + 4)
#define TE_COMP(j)		(0x600 + 0x20 * (j))
#define  TE_COMP_P_FUNCTION(v)	((v) >> 4 & 7)
#define  TE_COMP_S_FUNCTION(v)	((v) >> 8 & 7)
#define  TE_COMP_MODE(v)	((v) >> 12 & 3)
#define TE_COMP_P_LOW(j)	(TE_COMP(j) + 0x10)
#define TE_COMP_P_HIGH(j)	(TE_COMP(j) + 0x14)
#define TE_COMP_S_LOW(j)	(TE_COMP(j) + 0x18)
#define TE_COMP_S_HIGH(j)	(TE_COMP(j) + 0x1c)
#define TE_FILTER_END		0x700

#define TE_MAX_FILTERS		16
#define TE_MAX_COMPS		8

enum comp_function { FN_EQ, FN_NE, FN_LT, FN_LE, FN_GT, FN_GE, FN_SPECIAL, FN_TRUE };
enum comp_mode { COMP_P, COMP_AND, COMP_NAND, COMP_LATCH };

struct filter_ability {
	uint8_t filters, comps;
	uint8_t privileges;		/* mask of MatchChoicePrivilege */
	uint8_t comp_modes;		/* mask of MatchMode values; 0 is always supported */
};

struct comparator {
	uint32_t control;
	uint64_t p, s;
	bool latch;			/* mode 3: set by P, not yet cleared by S */
};

struct filters {
	const struct filter_ability *can;
	uint32_t selected;		/* trTeInstFilters */
	uint32_t control[TE_MAX_FILTERS], inst[TE_MAX_FILTERS];
	struct comparator comp[TE_MAX_COMPS];
	uint32_t used;			/* mask of comparators that selected filters use */
	bool latching;			/* one of these comparators is in mode 3 */
};

void filters_init(struct filters *f, const struct filter_ability *can);
void filters_select(struct filters *f, uint32_t mask);
void filters_write(struct filters *f, unsigned int offset, uint32_t value);
uint32_t filters_read(const struct filters *f, unsigned int offset);

/* Can any instruction of this privilege pass? */
bool filters_may_pass(const struct filters *f, unsigned int priv);

/* Does this instruction pass? Call this for all instructions in order, because of the latches. */
bool filters_pass(struct filters *f, unsigned int priv, uint64_t pc);

#endif /* FILTER_H */
