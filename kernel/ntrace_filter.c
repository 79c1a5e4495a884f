// SPDX-License-Identifier: GPL-2.0-only
/*
 * Filters and comparators of an encoder. What must hold together is in one filter; filters add up.
 * So each range of addresses has a filter of its own, which also has the event's privileges, and a
 * comparator:
 *
 *	filter i: privilege and comparator i        comparator i: address >= low and address < high
 */
#include <linux/bitfield.h>

#include "ntrace_encoder.h"
#include "ntrace_filter.h"

/* Discovery */

/* Filters that match privilege, counted from 0 on; then how many of them take a comparator, too. */
static void ntrace_filter_probe_filters(struct ntrace_encoder *enc)
{
	struct ntrace_component *comp = &enc->comp;
	u32 match = TR_TE_FILTER_ENABLE | TR_TE_FILTER_MATCH_PRIVILEGE;
	u32 mask, privs, both;
	int i;

	if (!ntrace_has_register(comp, TR_TE_INST_FILTERS))
		return;
	mask = ntrace_write_back(comp, TR_TE_INST_FILTERS, TR_TE_INST_FILTERS_MASK) &
	       TR_TE_INST_FILTERS_MASK;
	ntrace_write(comp, TR_TE_INST_FILTERS, 0);

	for (i = 0; i < TR_TE_NR_FILTERS; i++) {
		if (!(mask & BIT(i)) || !ntrace_has_register(comp, TR_TE_FILTER_CONTROL(i)))
			continue;

		privs = ntrace_write_back(comp, TR_TE_FILTER_MATCH_INST(i),
					  TR_TE_FILTER_CHOICE_PRIVILEGE) &
			TR_TE_FILTER_CHOICE_PRIVILEGE;
		if ((ntrace_write_back(comp, TR_TE_FILTER_CONTROL(i), match) & match) == match) {
			enc->caps.filters++;
			if (i == 0)
				enc->caps.privs = privs;
			both = match | TR_TE_FILTER_MATCH_COMP1 |
			       FIELD_PREP(TR_TE_FILTER_COMP1, i % TR_TE_NR_COMPS);
			if (i == enc->caps.ranges && i < TR_TE_NR_COMPS &&
			    privs == enc->caps.privs &&
			    ntrace_write_back(comp, TR_TE_FILTER_CONTROL(i), both) == both)
				enc->caps.ranges++;
		}
		ntrace_write(comp, TR_TE_FILTER_CONTROL(i), 0);
		ntrace_write(comp, TR_TE_FILTER_MATCH_INST(i), 0);
	}
}

static u32 ntrace_filter_range_control(void)
{
	return FIELD_PREP(TR_TE_COMP_P_FUNCTION, TR_TE_COMP_GE) |
	       FIELD_PREP(TR_TE_COMP_S_FUNCTION, TR_TE_COMP_LT) |
	       FIELD_PREP(TR_TE_COMP_MATCH_MODE, TR_TE_COMP_P_AND_S);
}

static u32 ntrace_filter_latch_control(const struct ntrace_ranges *ranges)
{
	/* Without a place to begin, trace runs until the place to end is reached. */
	u32 begin = ranges->low[0] == NTRACE_NEVER ? TR_TE_COMP_P_PRIME : TR_TE_COMP_EQ;

	return FIELD_PREP(TR_TE_COMP_P_FUNCTION, begin) |
	       FIELD_PREP(TR_TE_COMP_S_FUNCTION, TR_TE_COMP_EQ) |
	       FIELD_PREP(TR_TE_COMP_MATCH_MODE, TR_TE_COMP_LATCH);
}

static bool ntrace_filter_write64(struct ntrace_component *comp, u32 low, u64 value)
{
	/* The high half is the register behind the low one. */
	return ntrace_write_back(comp, low, lower_32_bits(value)) == lower_32_bits(value) &&
	       ntrace_write_back(comp, low + 4, upper_32_bits(value)) == upper_32_bits(value);
}

/* A comparator that cannot hold an address of the kernel's is of no use. */
static bool ntrace_filter_probe_comp(struct ntrace_component *comp, int j)
{
	u32 control = ntrace_filter_range_control();
	bool ok;

	if (!ntrace_has_register(comp, TR_TE_COMP_CONTROL(j)))
		return false;
	ok = ntrace_filter_write64(comp, TR_TE_COMP_P_MATCH_LOW(j), U64_MAX - 1) &&
	     ntrace_filter_write64(comp, TR_TE_COMP_S_MATCH_LOW(j), U64_MAX - 1) &&
	     ntrace_write_back(comp, TR_TE_COMP_CONTROL(j), control) == control;
	ntrace_write(comp, TR_TE_COMP_CONTROL(j), 0);
	ntrace_filter_write64(comp, TR_TE_COMP_P_MATCH_LOW(j), 0);
	ntrace_filter_write64(comp, TR_TE_COMP_S_MATCH_LOW(j), 0);

	return ok;
}

static bool ntrace_filter_probe_latch(struct ntrace_component *comp)
{
	static const struct ntrace_ranges ranges[] = {
		{ .nr = 1, .latch = true },
		{ .nr = 1, .latch = true, .low = { NTRACE_NEVER } },
	};
	bool ok = true;
	u32 control;
	int i;

	for (i = 0; i < ARRAY_SIZE(ranges); i++) {
		control = ntrace_filter_latch_control(&ranges[i]);
		ok = ok && ntrace_write_back(comp, TR_TE_COMP_CONTROL(0), control) == control;
	}
	ntrace_write(comp, TR_TE_COMP_CONTROL(0), 0);

	return ok;
}

/**
 * ntrace_filter_probe - find out what there is
 * @enc: the encoder, reset
 */
void ntrace_filter_probe(struct ntrace_encoder *enc)
{
	unsigned int j;

	if (enc->caps.filter_value) {
		enc->caps.filters = 1;
		enc->caps.privs = TR_TE_PRIV_U | TR_TE_PRIV_S | TR_TE_PRIV_M;
		return;
	}
	ntrace_filter_probe_filters(enc);
	for (j = 0; j < enc->caps.ranges; j++)
		if (!ntrace_filter_probe_comp(&enc->comp, j))
			break;
	enc->caps.ranges = j;
	enc->caps.latch = enc->caps.ranges && ntrace_filter_probe_latch(&enc->comp);
}

/* Configuration. What to compare with stands before what says to compare. */

static bool ntrace_filter_write_comp(struct ntrace_component *comp,
				     const struct ntrace_ranges *ranges, int j)
{
	u32 control = ranges->latch ? ntrace_filter_latch_control(ranges) :
				      ntrace_filter_range_control();

	/* Control last: a latch begins anew with it. */
	ntrace_write(comp, TR_TE_COMP_CONTROL(j), 0);
	return ntrace_filter_write64(comp, TR_TE_COMP_P_MATCH_LOW(j), ranges->low[j]) &&
	       ntrace_filter_write64(comp, TR_TE_COMP_S_MATCH_LOW(j), ranges->high[j]) &&
	       ntrace_write_back(comp, TR_TE_COMP_CONTROL(j), control) == control;
}

static bool ntrace_filter_write_one(struct ntrace_component *comp, u32 privs, bool range, int i)
{
	u32 match = TR_TE_FILTER_ENABLE;

	if (privs)
		match |= TR_TE_FILTER_MATCH_PRIVILEGE;
	if (range)
		match |= TR_TE_FILTER_MATCH_COMP1 | FIELD_PREP(TR_TE_FILTER_COMP1, i);

	return ntrace_write_back(comp, TR_TE_FILTER_MATCH_INST(i), privs) == privs &&
	       ntrace_write_back(comp, TR_TE_FILTER_CONTROL(i), match) == match;
}

/* The filter of tt-dfd. It compares with a privilege, where others have a mask of them. */
static bool ntrace_filter_write_value(struct ntrace_component *comp, u32 privs)
{
	u32 match = privs ? TR_TE_FILTER_ENABLE | TR_TE_FILTER_MATCH_PRIVILEGE : 0;
	u32 priv = privs ? __ffs(privs) : 0;

	return ntrace_write_back(comp, TR_TE_TT_FILTER_MATCH_INST, priv) == priv &&
	       ntrace_write_back(comp, TR_TE_TT_FILTER_CONTROL, match) == match &&
	       ntrace_write_back(comp, TR_TE_INST_FILTERS, !!privs) == !!privs;
}

/**
 * ntrace_filter_write - let through what an event wants
 * @enc:	the encoder, not enabled
 * @privs:	privileges, 0: all of them
 * @ranges:	addresses
 *
 * Return: whether the encoder took it
 */
bool ntrace_filter_write(struct ntrace_encoder *enc, u32 privs, const struct ntrace_ranges *ranges)
{
	struct ntrace_component *comp = &enc->comp;
	unsigned int nr = ranges->nr ?: !!privs, i;
	u32 select = GENMASK(nr, 0) >> 1;

	if (!enc->caps.filters || ranges->nr > enc->caps.ranges)
		return !nr;
	if (enc->caps.filter_value)
		return ntrace_filter_write_value(comp, privs);

	/* Filters that are not selected do nothing, whatever they hold. */
	for (i = 0; i < nr; i++) {
		if (ranges->nr && !ntrace_filter_write_comp(comp, ranges, i))
			return false;
		if (!ntrace_filter_write_one(comp, privs, ranges->nr, i))
			return false;
	}

	return ntrace_write_back(comp, TR_TE_INST_FILTERS, select) == select;
}
