// SPDX-License-Identifier: GPL-2.0-only
/* Filters and comparators of an encoder: see filter.h */

#include <string.h>

#include "filter.h"

void filters_init(struct filters *f, const struct filter_ability *can)
{
	memset(f, 0, sizeof(*f));
	f->can = can;
}

/*
 * Registers
 */

static unsigned int comp_of(uint32_t control, unsigned int k)
{
	return control >> TE_FILTER_COMP_SHIFT(k) & 7;
}

static bool is_used(const struct filters *f, unsigned int i)
{
	return f->selected >> i & 1 && f->control[i] & TE_FILTER_ENABLE;
}

/* Find the comparators that must be evaluated for each instruction */
static void update_used(struct filters *f)
{
	unsigned int i, j, k;

	f->used = 0;
	f->latching = false;
	for (i = 0; i < TE_MAX_FILTERS; i++)
		for (k = 1; k <= 3; k++)
			if (is_used(f, i) && f->control[i] & TE_FILTER_MATCH_COMP(k))
				f->used |= 1u << comp_of(f->control[i], k);
	for (j = 0; j < TE_MAX_COMPS; j++)
		f->latching |= f->used >> j & 1 &&
			       TE_COMP_MODE(f->comp[j].control) == COMP_LATCH;
}

void filters_select(struct filters *f, uint32_t mask)
{
	f->selected = mask & ((1u << f->can->filters) - 1);
	update_used(f);
}

static uint32_t warl_filter_control(const struct filters *f, uint32_t value)
{
	uint32_t control = value & (TE_FILTER_ENABLE | TE_FILTER_MATCH_PRIV);
	unsigned int k, comp;

	for (k = 1; k <= 3 && f->can->comps; k++) {
		comp = comp_of(value, k);
		if (comp >= f->can->comps)
			comp = f->can->comps - 1;
		control |= (value & TE_FILTER_MATCH_COMP(k)) | comp << TE_FILTER_COMP_SHIFT(k);
	}
	return control;
}

/* The only input is the instruction's address.  There are no watchpoints. */
static uint32_t warl_comp_control(const struct filters *f, uint32_t value)
{
	uint32_t mode = TE_COMP_MODE(value);

	if (!(f->can->comp_modes >> mode & 1))
		mode = COMP_P;
	return (value & (7u << 4 | 7u << 8)) | mode << 12;
}

static void write_comp_control(struct filters *f, struct comparator *c, uint32_t value)
{
	c->control = warl_comp_control(f, value);
	c->latch = TE_COMP_MODE(c->control) == COMP_LATCH &&
		   TE_COMP_P_FUNCTION(c->control) == FN_SPECIAL;
}

/* The 64-bit value of which a register is one half; NULL: it is another register */
static uint64_t *half_of(struct comparator *c, unsigned int offset, unsigned int *shift)
{
	offset &= 0x1f;
	*shift = offset & 4 ? 32 : 0;
	if (offset == 0x10 || offset == 0x14)
		return &c->p;
	return offset == 0x18 || offset == 0x1c ? &c->s : NULL;
}

static void write_comp(struct filters *f, unsigned int offset, uint32_t value)
{
	unsigned int j = (offset - TE_COMP(0)) / 0x20, shift;
	uint64_t *half;

	if (j >= f->can->comps)
		return;
	if (offset == TE_COMP(j)) {
		write_comp_control(f, &f->comp[j], value);
		return;
	}
	half = half_of(&f->comp[j], offset, &shift);
	if (half)
		*half = (*half & ~(0xffffffffull << shift)) | (uint64_t)value << shift;
}

void filters_write(struct filters *f, unsigned int offset, uint32_t value)
{
	unsigned int i = (offset - TE_FILTER(0)) / 0x20;

	if (offset >= TE_COMP(0))
		write_comp(f, offset, value);
	else if (i < f->can->filters && offset == TE_FILTER(i))
		f->control[i] = warl_filter_control(f, value);
	else if (i < f->can->filters && offset == TE_FILTER_INST(i))
		f->inst[i] = value & f->can->privileges;
	update_used(f);
}

static uint32_t read_comp(const struct filters *f, unsigned int offset)
{
	unsigned int j = (offset - TE_COMP(0)) / 0x20, shift;
	const uint64_t *half;

	if (offset == TE_COMP(j))
		return f->comp[j].control;
	half = half_of((struct comparator *)&f->comp[j], offset, &shift);
	return half ? *half >> shift : 0;
}

uint32_t filters_read(const struct filters *f, unsigned int offset)
{
	unsigned int i = (offset - TE_FILTER(0)) / 0x20;

	if (offset >= TE_COMP(0))
		return read_comp(f, offset);
	if (offset == TE_FILTER(i))
		return f->control[i];
	return offset == TE_FILTER_INST(i) ? f->inst[i] : 0;
}

/*
 * Matching
 */

static bool is_true(enum comp_function fn, uint64_t value, uint64_t match)
{
	switch (fn) {
	case FN_EQ:
		return value == match;
	case FN_NE:
		return value != match;
	case FN_LT:
		return value < match;
	case FN_LE:
		return value <= match;
	case FN_GT:
		return value > match;
	case FN_GE:
		return value >= match;
	default:
		return true;
	}
}

static bool compare(struct comparator *c, uint64_t pc)
{
	enum comp_function pf = TE_COMP_P_FUNCTION(c->control);
	enum comp_function sf = TE_COMP_S_FUNCTION(c->control);
	uint64_t mask = sf == FN_SPECIAL ? c->s : UINT64_MAX;
	bool p = pf != FN_SPECIAL && is_true(pf, pc & mask, c->p & mask);
	bool s = is_true(sf, pc, c->s), on;

	switch (TE_COMP_MODE(c->control)) {
	case COMP_P:
		return p;
	case COMP_AND:
		return p && s;
	case COMP_NAND:
		return !(p && s);
	default:
		on = c->latch || p;
		c->latch = on && !s;	/* the instruction at S still passes */
		return on;
	}
}

static bool priv_matches(const struct filters *f, unsigned int i, unsigned int priv)
{
	return !(f->control[i] & TE_FILTER_MATCH_PRIV) || f->inst[i] >> priv & 1;
}

bool filters_may_pass(const struct filters *f, unsigned int priv)
{
	unsigned int i;

	if (!f->selected)
		return true;
	for (i = 0; i < f->can->filters; i++)
		if (is_used(f, i) && priv_matches(f, i, priv))
			return true;
	return false;
}

static bool comps_match(const struct filters *f, unsigned int i, uint32_t matching)
{
	unsigned int k;

	for (k = 1; k <= 3; k++)
		if (f->control[i] & TE_FILTER_MATCH_COMP(k) &&
		    !(matching >> comp_of(f->control[i], k) & 1))
			return false;
	return true;
}

bool filters_pass(struct filters *f, unsigned int priv, uint64_t pc)
{
	uint32_t matching = 0;
	unsigned int i, j;

	for (j = 0; j < f->can->comps; j++)
		if (f->used >> j & 1 && compare(&f->comp[j], pc))
			matching |= 1u << j;
	if (!f->selected)
		return true;
	for (i = 0; i < f->can->filters; i++)
		if (is_used(f, i) && priv_matches(f, i, priv) && comps_match(f, i, matching))
			return true;
	return false;
}
