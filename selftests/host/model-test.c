// SPDX-License-Identifier: GPL-2.0-only
/*
 * The hardware model's register files: what they read after every kind of write, and where the sink
 * puts its bytes. Names cite the requirements of the specification's fact sheet.
 */
#include <stdlib.h>
#include <string.h>

#include "cmocka-tap.h"

/* Each file has some of these */
#define reset ram_reset
#define write_control ram_write_control
#define now ram_now
#include "../qemu/ramsink.c"
#undef reset
#undef write_control
#undef now
#include "../qemu/filter.c"
#include "../qemu/tsunit.c"
#define reset te_reset
#define write_control te_write_control
#include "../qemu/te-regs.c"
#undef reset
#undef write_control
#define reset funnel_reset
#define write_control funnel_write_control
#include "../qemu/funnel.c"
#undef reset
#undef write_control
#define write_control bridge_write_control
#include "../qemu/bridge.c"

static struct te_ability te_can;
static struct ram_ability ram_can;
static struct funnel_ability funnel_can;
static struct bridge_ability bridge_can;
static struct te_regs te;
static struct ram_sink ram;
static struct funnel funnel;
static struct bridge bridge;
static uint8_t mem[4096], sram[1024];

#define BASE	0x80000000ull

static void power_up(void)
{
	te_init(&te, &te_can);
	memset(mem, 0, sizeof(mem));
	ram_init(&ram, &ram_can, mem, BASE, sizeof(mem));
	funnel_init(&funnel, &funnel_can, 0xf);
	bridge_init(&bridge, &bridge_can);
}

static int setup(void **state)
{
	(void)state;
	te_can = (struct te_ability){
		.impl = 0x00010101, .format = 1, .btm = true, .htm = true, .context = true,
		.ts = { .modes = 5, .width = 56, .encoder = true }, .stall = true, .extaddr = true,
		.retstack = 9, .syncmodes = 0xe, .srcbits = 12,
		.filter = { .filters = 4, .privileges = 0xb },
	};
	ram_can = (struct ram_ability){ .impl = 0x2901, .addrbits = 64, .width = 4 };
	funnel_can = (struct funnel_ability){ .impl = 0x801, .dis_inputs = 0xffff };
	bridge_can = (struct bridge_ability){ .impl = 0xe01 };
	power_up();
	return 0;
}

static void te_activate(void)
{
	te_write(&te, TE_CONTROL, TE_ACTIVE);
}

static void ram_window(uint32_t start, uint32_t limit, uint32_t flags)
{
	ram_write(&ram, RAM_CONTROL, RAM_ACTIVE);
	ram_write(&ram, RAM_CONTROL, RAM_ACTIVE | RAM_MODE_SMEM | flags);
	ram_write(&ram, RAM_START_LOW, BASE + start);
	ram_write(&ram, RAM_LIMIT_LOW, BASE + limit);
	ram_write(&ram, RAM_WP_LOW, BASE + start);
	ram_write(&ram, RAM_CONTROL, RAM_ACTIVE | RAM_MODE_SMEM | flags | RAM_ENABLE);
}

static uint32_t ram_wp(void)
{
	return ram_read(&ram, RAM_WP_LOW) - BASE;
}

/* ----------------------------------------------------------- encoder ---- */

static void r5_power_up(void **state)
{
	(void)state;
	assert_int_equal(te_read(&te, TE_CONTROL), TE_EMPTY);
	assert_int_equal(ram_read(&ram, RAM_CONTROL), RAM_EMPTY);
	/* Enable does not stick without Active */
	te_write(&te, TE_CONTROL, TE_ENABLE);
	assert_int_equal(te_read(&te, TE_CONTROL), TE_EMPTY);
	ram_write(&ram, RAM_CONTROL, RAM_ENABLE);
	assert_int_equal(ram_read(&ram, RAM_CONTROL), RAM_EMPTY);
}

static void r5_inactive_disables(void **state)
{
	unsigned int todo;

	(void)state;
	te_activate();
	te_write(&te, TE_CONTROL, TE_ACTIVE | TE_ENABLE | TE_INST_TRACING | TE_INST_MODE);
	assert_true(te_tracing(&te));
	todo = te_write(&te, TE_CONTROL, TE_ENABLE | TE_INST_TRACING | TE_INST_MODE);
	assert_int_equal(todo & (TE_DO_STOP | TE_DO_RESET), TE_DO_STOP | TE_DO_RESET);
	assert_int_equal(te_read(&te, TE_CONTROL) & (TE_ACTIVE | TE_ENABLE), 0);
	ram_window(0, 0xfc, 0);
	ram_write(&ram, RAM_CONTROL, RAM_ENABLE);
	assert_int_equal(ram_read(&ram, RAM_CONTROL) & (RAM_ACTIVE | RAM_ENABLE), 0);
}

/* Whatever is written anywhere, only what exists reads other than 0 */
static void r3_r32_unimplemented(void **state)
{
	unsigned int offset;

	(void)state;
	te_activate();
	for (offset = 4; offset < 0x1000; offset += 4)
		te_write(&te, offset, 0xffffffff);
	for (offset = 4; offset < 0x1000; offset += 4) {
		bool filter = offset >= 0x400 && offset < 0x480 && (offset & 0x1f) < 8;

		if (offset == TE_IMPL || offset == TE_INST_FEATURES || offset == TE_INST_FILTERS ||
		    offset == TS_CONTROL || filter)
			assert_int_not_equal(te_read(&te, offset), 0);
		else
			assert_int_equal(te_read(&te, offset), 0);
	}
	ram_write(&ram, RAM_CONTROL, RAM_ACTIVE);
	for (offset = 4; offset < 0x1000; offset += 4)
		ram_write(&ram, offset, 0xffffffff);
	for (offset = 4; offset < 0x1000; offset += 4)
		if (offset != RAM_IMPL && (offset < RAM_START_LOW || offset > RAM_WP_HIGH))
			assert_int_equal(ram_read(&ram, offset), 0);
}

static void impl_is_read_only(void **state)
{
	(void)state;
	te_activate();
	te_write(&te, TE_IMPL, 0);
	assert_int_equal(te_read(&te, TE_IMPL), 0x00010101);
	ram_write(&ram, RAM_CONTROL, RAM_ACTIVE);
	ram_write(&ram, RAM_IMPL, 0);
	assert_int_equal(ram_read(&ram, RAM_IMPL), 0x2901);
}

static unsigned int mode_for(unsigned int mode)
{
	te_write(&te, TE_CONTROL, TE_ACTIVE | mode << TE_INST_MODE_SHIFT);
	return (te_read(&te, TE_CONTROL) & TE_INST_MODE) >> TE_INST_MODE_SHIFT;
}

static void r17_inst_mode(void **state)
{
	unsigned int mode, abilities;

	(void)state;
	te_activate();
	for (abilities = 1; abilities < 4; abilities++) {
		te_can.btm = abilities & 1;
		te_can.htm = abilities & 2;
		assert_int_equal(mode_for(0), 0);
		for (mode = 1; mode < 8; mode++) {
			unsigned int got = mode_for(mode);

			assert_true((got == 3 && te_can.btm) || (got == 6 && te_can.htm));
		}
		assert_int_equal(mode_for(6), te_can.htm ? 6 : 3);
		assert_int_equal(mode_for(3), te_can.btm ? 3 : 6);
	}
}

static void r25_sync_mode(void **state)
{
	unsigned int modes, want;

	(void)state;
	te_activate();
	for (modes = 2; modes < 16; modes++) {
		te_can.syncmodes = modes;
		for (want = 0; want < 4; want++) {
			unsigned int got;

			te_write(&te, TE_CONTROL, TE_ACTIVE | want << TE_SYNC_MODE_SHIFT);
			got = (te_read(&te, TE_CONTROL) & TE_SYNC_MODE) >> TE_SYNC_MODE_SHIFT;
			assert_true(modes & 1 << got);
			if (modes & 1 << want)
				assert_int_equal(got, want);
		}
	}
}

static void r20_overflow_bit(void **state)
{
	const uint32_t on = TE_ACTIVE | TE_INST_MODE;

	(void)state;
	te_activate();
	te_write(&te, TE_CONTROL, on | TE_ENABLE);
	te_set_lost(&te);
	assert_true(te_read(&te, TE_CONTROL) & TE_STALL_OR_OVERFLOW);
	te_write(&te, TE_CONTROL, on | TE_ENABLE);		/* 0 leaves it */
	assert_true(te_read(&te, TE_CONTROL) & TE_STALL_OR_OVERFLOW);
	te_write(&te, TE_CONTROL, on);				/* so does disabling */
	assert_true(te_read(&te, TE_CONTROL) & TE_STALL_OR_OVERFLOW);
	te_write(&te, TE_CONTROL, on | TE_ENABLE);		/* enabling clears */
	assert_false(te_read(&te, TE_CONTROL) & TE_STALL_OR_OVERFLOW);
	te_set_lost(&te);
	te_write(&te, TE_CONTROL, on | TE_ENABLE | TE_STALL_OR_OVERFLOW);
	assert_false(te_read(&te, TE_CONTROL) & TE_STALL_OR_OVERFLOW);
	te_set_lost(&te);
	te_write(&te, TE_CONTROL, 0);
	te_activate();
	assert_false(te_read(&te, TE_CONTROL) & TE_STALL_OR_OVERFLOW);
}

static void r23_flush_then_empty(void **state)
{
	unsigned int todo;

	(void)state;
	te_activate();
	te_write(&te, TE_CONTROL, TE_ACTIVE | TE_INST_MODE | TE_ENABLE | TE_INST_TRACING);
	assert_false(te_read(&te, TE_CONTROL) & TE_EMPTY);
	todo = te_write(&te, TE_CONTROL, TE_ACTIVE | TE_INST_MODE);
	assert_int_equal(todo, TE_DO_STOP | TE_DO_FLUSH);
	/* not before the encoder says so */
	assert_false(te_read(&te, TE_CONTROL) & TE_EMPTY);
	te_set_empty(&te, true);
	assert_true(te_read(&te, TE_CONTROL) & TE_EMPTY);
}

static void r29_hard_zeroes(void **state)
{
	(void)state;
	te_activate();
	te_write(&te, TE_INST_FEATURES, 0xffffffff);
	assert_int_equal(te_read(&te, TE_INST_FEATURES) & (0x37 | 1 << 8 | 1 << 9 | 0xf800), 0);
	te_write(&te, 0x010, 0xffffffff);
	assert_int_equal(te_read(&te, 0x010), 0);
	te_write(&te, 0x01c, 0xffffffff);
	assert_int_equal(te_read(&te, 0x01c), 0);
}

static void features_warl(void **state)
{
	(void)state;
	te_activate();
	te_write(&te, TE_INST_FEATURES, 13u << 28 | 0x123 << 16 | 1 << 10 | 3 << 6 | 1 << 3);
	assert_int_equal(te_read(&te, TE_INST_FEATURES),
			 12u << 28 | 0x123 << 16 | 1 << 10 | 3 << 6 | 1 << 3);
	te_write(&te, TE_INST_FEATURES, 2 << 6 | 1 << 3);	/* mode 2 is not there */
	assert_int_equal(te_read(&te, TE_INST_FEATURES) & TE_RETURN_MODE, 0);
}

static void format_is_fixed(void **state)
{
	(void)state;
	te_activate();
	te_write(&te, TE_CONTROL, TE_ACTIVE | 7u << TE_FORMAT_SHIFT);
	assert_int_equal(te_read(&te, TE_CONTROL) & TE_FORMAT, 1u << TE_FORMAT_SHIFT);
	te_can.format = 0;	/* E-Trace */
	te_write(&te, TE_CONTROL, TE_ACTIVE | 1u << TE_FORMAT_SHIFT);
	assert_int_equal(te_read(&te, TE_CONTROL) & TE_FORMAT, 0);
}

static void enabled_keeps_its_configuration(void **state)
{
	(void)state;
	te_activate();
	te_write(&te, TE_INST_FEATURES, TE_EXTEND_ADDR_MSB);
	te_write(&te, TE_CONTROL, TE_ACTIVE | TE_ENABLE | 3 << TE_INST_MODE_SHIFT);
	te_write(&te, TE_CONTROL, TE_ACTIVE | TE_ENABLE | 6 << TE_INST_MODE_SHIFT);
	te_write(&te, TE_INST_FEATURES, 0);
	assert_int_equal((te_read(&te, TE_CONTROL) & TE_INST_MODE) >> TE_INST_MODE_SHIFT, 3);
	assert_int_equal(te_read(&te, TE_INST_FEATURES), TE_EXTEND_ADDR_MSB);
}

static void inst_tracing_starts_and_stops(void **state)
{
	const uint32_t on = TE_ACTIVE | TE_ENABLE | TE_INST_MODE;

	(void)state;
	te_activate();
	assert_int_equal(te_write(&te, TE_CONTROL, on), 0);
	assert_int_equal(te_write(&te, TE_CONTROL, on | TE_INST_TRACING), TE_DO_START);
	assert_int_equal(te_write(&te, TE_CONTROL, on | TE_INST_TRACING), 0);
	assert_int_equal(te_write(&te, TE_CONTROL, on), TE_DO_STOP);
}

static void r40_timestamp_unit(void **state)
{
	(void)state;
	te_activate();
	te_write(&te, TS_CONTROL, 0xffffffff);
	assert_int_equal(te_read(&te, TS_CONTROL), TS_ACTIVE | TS_COUNT | 2 << TS_MODE_SHIFT |
						   TS_ENABLE | 56 << TS_WIDTH_SHIFT);
	assert_int_equal(te_write(&te, TS_CONTROL, TS_RESET | 2 << TS_MODE_SHIFT), TE_DO_TS_RESET);
	assert_false(te_read(&te, TS_CONTROL) & TS_RESET);
	te_can.ts.modes = 0;
	te_write(&te, TS_CONTROL, 0xffffffff);
	assert_int_equal(te_read(&te, TS_CONTROL), 0);
}

static uint32_t ts_mode_for(struct ts_unit *ts, uint32_t mode)
{
	ts_write(ts, TS_CONTROL, mode << TS_MODE_SHIFT);
	return ts_mode(ts);
}

/* A.13-9: what is asked for, or the first there is; never none unasked */
static void timestamp_modes(void **state)
{
	struct ts_ability can = { .width = 40, .prescale = 2 };
	struct ts_unit ts;
	unsigned int mode;

	(void)state;
	for (can.modes = 2; can.modes < 32; can.modes++) {
		ts_init(&ts, &can);
		assert_int_equal(ts_mode_for(&ts, 0), 0);
		for (mode = 1; mode < 8 && can.modes & ~1; mode++) {
			uint32_t got = ts_mode_for(&ts, mode);

			assert_true(got && can.modes >> got & 1);
			if (can.modes >> mode & 1)
				assert_int_equal(got, mode);
		}
	}
	ts_write(&ts, TS_CONTROL, 3 << TS_PRESCALE_SHIFT | TS_ENABLE);
	assert_int_equal(ts_read(&ts, TS_CONTROL) & (TS_PRESCALE | TS_ENABLE),
			 2 << TS_PRESCALE_SHIFT);	/* TS_ENABLE: encoders only */
}

static void r40_timestamp_counts(void **state)
{
	struct ts_ability can = { .width = 40, .prescale = 3, .modes = 0x1f };
	struct ts_unit ts;

	(void)state;
	ts_init(&ts, &can);
	ts_write(&ts, TS_CONTROL, TS_COUNT | TS_INTERNAL_SYSTEM << TS_MODE_SHIFT |
				  2 << TS_PRESCALE_SHIFT);
	ts_restart(&ts, 1000);
	assert_int_equal(ts_advance(&ts, 1000 + 16 * 77 + 15), 77);
	/* stopped, it stays */
	ts_write(&ts, TS_CONTROL, TS_INTERNAL_SYSTEM << TS_MODE_SHIFT);
	assert_int_equal(ts_advance(&ts, 99999), 77);
	/* not its own: neither Count nor Prescale matter */
	ts_write(&ts, TS_CONTROL, TS_EXTERNAL << TS_MODE_SHIFT | 3 << TS_PRESCALE_SHIFT);
	assert_int_equal(ts_advance(&ts, 0x1234567890abcull), 0x1234567890abcull & 0xffffffffff);
	assert_int_equal(ts_read(&ts, TS_COUNTER_HIGH), 0x45);
	ts_write(&ts, TS_CONTROL, 0);
	ts_advance(&ts, 5);
	assert_int_equal(ts_read(&ts, TS_COUNTER_HIGH), 0x45);
}

/* ----------------------------------------------------------- filters ---- */

static void filter_power_up(void)
{
	te_can.filter = (struct filter_ability){ .filters = 4, .comps = 4, .comp_modes = 0xf,
						 .privileges = 0x6b };
	power_up();
	te_activate();
}

/* Filter i is enabled with these comparators, by a mask */
static void filter_by(unsigned int i, uint32_t control, unsigned int comps)
{
	unsigned int j, k = 1;

	for (j = 0; j < 4; j++)
		if (comps >> j & 1) {
			control |= TE_FILTER_MATCH_COMP(k) | j << TE_FILTER_COMP_SHIFT(k);
			k++;
		}
	te_write(&te, TE_FILTER(i), TE_FILTER_ENABLE | control);
	assert_int_equal(te_read(&te, TE_FILTER(i)), TE_FILTER_ENABLE | control);
}

static void comparator(unsigned int j, uint32_t p, uint32_t s, uint32_t mode, uint64_t pm,
		       uint64_t sm)
{
	te_write(&te, TE_COMP_P_LOW(j), pm);
	te_write(&te, TE_COMP_P_HIGH(j), pm >> 32);
	te_write(&te, TE_COMP_S_LOW(j), sm);
	te_write(&te, TE_COMP_S_HIGH(j), sm >> 32);
	te_write(&te, TE_COMP(j), p << 4 | s << 8 | mode << 12);
	assert_int_equal(te_read(&te, TE_COMP(j)), p << 4 | s << 8 | mode << 12);
	assert_int_equal(te_read(&te, TE_COMP_S_HIGH(j)), sm >> 32);
}

static bool passes(unsigned int priv, uint64_t pc)
{
	return filters_pass(&te.filter, priv, pc);
}

static void r33_filters_are_ored(void **state)
{
	(void)state;
	filter_power_up();
	assert_true(passes(0, 0x1000));		/* none selected: all */
	te_write(&te, TE_FILTER_INST(0), 1);
	te_write(&te, TE_FILTER_INST(2), 2);
	filter_by(0, TE_FILTER_MATCH_PRIV, 0);
	filter_by(2, TE_FILTER_MATCH_PRIV, 0);
	assert_true(passes(3, 0x1000));
	te_write(&te, TE_INST_FILTERS, 0xffffffff);
	assert_int_equal(te_read(&te, TE_INST_FILTERS), 0xf);
	assert_true(passes(0, 0x1000));
	assert_true(passes(1, 0x1000));
	assert_false(passes(3, 0x1000));
	te_write(&te, TE_INST_FILTERS, 4);
	assert_false(passes(0, 0x1000));
	te_write(&te, TE_FILTER(2), 0);
	assert_false(passes(1, 0x1000));
	te_write(&te, TE_INST_FILTERS, 8);		/* selected, not enabled */
	assert_false(passes(0, 0x1000));
}

static void r34_conditions_are_anded(void **state)
{
	(void)state;
	filter_power_up();
	comparator(0, FN_GE, FN_LT, COMP_AND, 0x1000, 0x2000);
	comparator(3, FN_NE, FN_TRUE, COMP_P, 0x1800, 0);
	te_write(&te, TE_FILTER_INST(1), 1);
	te_write(&te, TE_INST_FILTERS, 2);
	filter_by(1, TE_FILTER_MATCH_PRIV, 9);
	assert_true(passes(0, 0x1000));
	assert_true(passes(0, 0x1ffe));
	assert_false(passes(0, 0xffe));
	assert_false(passes(0, 0x2000));
	assert_false(passes(1, 0x1000));
	assert_false(passes(0, 0x1800));
	assert_true(filters_may_pass(&te.filter, 0));
	assert_false(filters_may_pass(&te.filter, 1));
}

static void r36_functions(void **state)
{
	static const struct {
		enum comp_function fn;
		bool below, at, above;
	} want[] = {
		{ FN_EQ, 0, 1, 0 }, { FN_NE, 1, 0, 1 }, { FN_LT, 1, 0, 0 }, { FN_LE, 1, 1, 0 },
		{ FN_GT, 0, 0, 1 }, { FN_GE, 0, 1, 1 }, { FN_SPECIAL, 0, 0, 0 },
		{ FN_TRUE, 1, 1, 1 },
	};
	const uint64_t at = 0xffffffff80000000ull;	/* unsigned, all 64 bits */
	unsigned int i, mode;

	(void)state;
	filter_power_up();
	te_write(&te, TE_INST_FILTERS, 1);
	filter_by(0, 0, 1);
	for (i = 0; i < 8; i++) {
		comparator(0, want[i].fn, 0, COMP_P, at, 0);
		assert_int_equal(passes(0, 0x80000000), want[i].below);
		assert_int_equal(passes(0, at), want[i].at);
		assert_int_equal(passes(0, at + 2), want[i].above);
		/* the second one's 6 is true */
		for (mode = COMP_AND; mode <= COMP_NAND; mode++) {
			bool not = mode == COMP_NAND;

			if (i == FN_SPECIAL)
				continue;
			comparator(0, FN_TRUE, want[i].fn, mode, 0, at);
			assert_int_equal(passes(0, 0x80000000), want[i].below ^ not);
			assert_int_equal(passes(0, at), want[i].at ^ not);
			assert_int_equal(passes(0, at + 2), want[i].above ^ not);
		}
	}
	comparator(0, FN_EQ, FN_SPECIAL, COMP_AND, 0x12345000, ~0xfffull);
	assert_true(passes(0, 0x12345678));
	assert_false(passes(0, 0x12346678));
}

static void r36_latch(void **state)
{
	(void)state;
	filter_power_up();
	te_write(&te, TE_INST_FILTERS, 1);
	filter_by(0, 0, 2);
	comparator(1, FN_EQ, FN_EQ, COMP_LATCH, 0x1000, 0x2000);
	assert_true(te.filter.latching);
	assert_false(passes(0, 0x2000));
	assert_true(passes(0, 0x1000));
	assert_true(passes(3, 0x5000));
	assert_true(passes(0, 0x2000));		/* the stop itself */
	assert_false(passes(0, 0x2002));
	assert_false(passes(0, 0x1002));
	assert_true(passes(0, 0x1000));
	comparator(1, FN_EQ, FN_EQ, COMP_LATCH, 0x1000, 0x2000);	/* anew */
	assert_false(passes(0, 0x1002));
	comparator(1, FN_SPECIAL, FN_EQ, COMP_LATCH, 0, 0x2000);	/* primed */
	assert_true(passes(0, 0x1002));
	assert_true(passes(0, 0x2000));
	assert_false(passes(0, 0x1002));
}

static void comparators_warl(void **state)
{
	(void)state;
	filter_power_up();
	te_write(&te, TE_COMP(0), 0xffffffff);
	assert_int_equal(te_read(&te, TE_COMP(0)), 0x3770);
	te_write(&te, TE_COMP(4), 0xffffffff);		/* there are four */
	assert_int_equal(te_read(&te, TE_COMP(4)), 0);
	te_write(&te, TE_COMP_P_LOW(4), 0xffffffff);
	assert_int_equal(te_read(&te, TE_COMP_P_LOW(4)), 0);
	te_write(&te, TE_FILTER(0), 0xffffffff);
	assert_int_equal(te_read(&te, TE_FILTER(0)), 0x7773);
	te_can.filter.comp_modes = 0x3;
	te_write(&te, TE_COMP(0), 3 << 12);
	assert_int_equal(te_read(&te, TE_COMP(0)), 0);
	te_can.filter.comps = 0;
	te_write(&te, TE_FILTER(0), 0xffffffff);
	assert_int_equal(te_read(&te, TE_FILTER(0)), 3);
}

/* Which comparators exist is which a filter can be told */
static void comparators_of_filters(void **state)
{
	unsigned int comps, comp, k;

	(void)state;
	filter_power_up();
	for (comps = 1; comps <= TE_MAX_COMPS; comps++) {
		te_can.filter.comps = comps;
		for (comp = 0; comp < 8; comp++) {
			unsigned int want = comp < comps ? comp : comps - 1;

			for (k = 1; k <= 3; k++) {
				te_write(&te, TE_FILTER(1), comp << TE_FILTER_COMP_SHIFT(k));
				assert_int_equal(te_read(&te, TE_FILTER(1)),
						 want << TE_FILTER_COMP_SHIFT(k));
			}
		}
	}
}

/* R34: all three that a filter can have count, whichever of them it is */
static void r34_three_comparators(void **state)
{
	unsigned int j;

	(void)state;
	filter_power_up();
	te_write(&te, TE_INST_FILTERS, 1);
	filter_by(0, 0, 7);
	assert_int_equal(te.filter.used, 7);
	for (j = 0; j < 3; j++)
		comparator(j, FN_NE, FN_TRUE, COMP_P, 0x1000 * (j + 1), 0);
	assert_true(passes(0, 0x4000));
	for (j = 0; j < 3; j++)
		assert_false(passes(0, 0x1000 * (j + 1)));
	for (j = 0; j < 3; j++) {
		assert_false(te.filter.latching);
		comparator(j, FN_EQ, FN_EQ, COMP_LATCH, 0x1000, 0x2000);
		assert_true(te.filter.latching);
		comparator(j, FN_NE, FN_TRUE, COMP_P, 0x1000, 0);
	}
	/* what no selected filter has is not looked at */
	filter_by(0, 0, 4);
	assert_int_equal(te.filter.used, 4);
	te_write(&te, TE_INST_FILTERS, 2);
	assert_int_equal(te.filter.used, 0);
}

/* R36: the mask is for both sides, and only where the secondary's function is that */
static void r36_mask(void **state)
{
	(void)state;
	filter_power_up();
	te_write(&te, TE_INST_FILTERS, 1);
	filter_by(0, 0, 1);
	comparator(0, FN_EQ, FN_SPECIAL, COMP_AND, 0x12345678, ~0xfffull);
	assert_true(passes(0, 0x12345000));
	assert_true(passes(0, 0x12345678));
	assert_false(passes(0, 0x12344678));
	comparator(0, FN_GE, FN_SPECIAL, COMP_P, 0x12345678, ~0xfffull);
	assert_true(passes(0, 0x12345000));
	assert_false(passes(0, 0x12344ffe));
	comparator(0, FN_EQ, FN_TRUE, COMP_P, 0x12345678, ~0xfffull);
	assert_false(passes(0, 0x12345000));
}

/* R33: each of the filters, alone */
static void r33_each_filter(void **state)
{
	unsigned int i, priv;

	(void)state;
	filter_power_up();
	for (i = 0; i < 4; i++) {
		te_write(&te, TE_FILTER_INST(i), i & 1 ? 1 : 2);
		filter_by(i, TE_FILTER_MATCH_PRIV, 0);
		te_write(&te, TE_INST_FILTERS, 1u << i);
		for (priv = 0; priv < 2; priv++) {
			assert_int_equal(passes(priv, 0x1000), priv != (i & 1));
			assert_int_equal(filters_may_pass(&te.filter, priv), priv != (i & 1));
		}
		te_write(&te, TE_FILTER(i), 0);
		assert_false(filters_may_pass(&te.filter, i & 1 ? 0 : 1));
	}
	/* comparators may pass any instruction, of the privileges that match */
	comparator(0, FN_EQ, FN_TRUE, COMP_P, 0x1000, 0);
	filter_by(3, 0, 1);
	assert_true(filters_may_pass(&te.filter, 1));
	assert_false(passes(1, 0x2000));
}

/* ------------------------------------------------------- late and never ---- */

static void late_bits(void **state)
{
	unsigned int i;

	(void)state;
	te_can.active.polls = 3;
	te_can.empty.polls = 2;
	power_up();
	te_activate();
	for (i = 0; i < 3; i++) {
		assert_false(te_read(&te, TE_CONTROL) & TE_ACTIVE);
		te_was_read(&te, TE_CONTROL);
	}
	assert_true(te_read(&te, TE_CONTROL) & TE_ACTIVE);

	te_write(&te, TE_CONTROL, TE_ACTIVE | TE_ENABLE | TE_INST_MODE);
	te_write(&te, TE_CONTROL, TE_ACTIVE | TE_INST_MODE);
	te_set_empty(&te, true);
	for (i = 0; i < 2; i++) {
		assert_false(te_read(&te, TE_CONTROL) & TE_EMPTY);
		te_was_read(&te, TE_CONTROL);
	}
	assert_true(te_read(&te, TE_CONTROL) & TE_EMPTY);
}

static void never(void **state)
{
	unsigned int i;

	(void)state;
	te_can.active.polls = LATE_NEVER;
	power_up();
	te_activate();
	for (i = 0; i < 100000; i++)
		te_was_read(&te, TE_CONTROL);
	assert_false(te_read(&te, TE_CONTROL) & TE_ACTIVE);
}

static void values_that_do_not_stick(void **state)
{
	(void)state;
	te_can.nostick[TE_CONTROL / 4] = TE_CONTEXT;
	ram_can.nostick[RAM_LIMIT_LOW / 4] = 0xff0;
	te_write(&te, TE_CONTROL, TE_ACTIVE | TE_CONTEXT | TE_STALL_ENA);
	assert_int_equal(te_read(&te, TE_CONTROL) & (TE_CONTEXT | TE_STALL_ENA), TE_STALL_ENA);
	ram_write(&ram, RAM_CONTROL, RAM_ACTIVE);
	ram_write(&ram, RAM_LIMIT_LOW, 0x80000ffc);
	assert_int_equal(ram_read(&ram, RAM_LIMIT_LOW), 0x8000000c);
}

/* -------------------------------------------------------------- sink ---- */

static const uint8_t bytes[64] = {
	1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24,
};

static void r47_wrap(void **state)
{
	(void)state;
	ram_window(0x100, 0x108, 0);
	assert_int_equal(ram_put(&ram, bytes, 8), 8);
	assert_int_equal(ram_wp(), 0x108);
	ram_put(&ram, bytes + 8, 4);		/* the word at Limit */
	assert_int_equal(ram_wp(), 0x100 | RAM_WRAP);
	assert_int_equal(ram_put(&ram, bytes + 12, 4), 4);
	assert_int_equal(ram_wp(), 0x104 | RAM_WRAP);
	assert_memory_equal(mem + 0x100, bytes + 12, 4);
	assert_memory_equal(mem + 0x104, bytes + 4, 8);
	assert_int_equal(mem[0x10c], 0);
}

static void r48_r53_stop_on_wrap(void **state)
{
	(void)state;
	ram_window(0x100, 0x108, RAM_STOP_ON_WRAP);
	assert_int_equal(ram_put(&ram, bytes, 20), 12);	/* Limit + A - Start */
	assert_false(ram_read(&ram, RAM_CONTROL) & RAM_ENABLE);
	assert_true(ram_wp() & RAM_WRAP);
	assert_int_equal(ram_put(&ram, bytes, 1), 0);
	assert_memory_equal(mem + 0x100, bytes, 12);
	assert_int_equal(mem[0x10c], 0);
}

static void r49_wrap_flag(void **state)
{
	(void)state;
	ram_window(0x100, 0x100, 0);
	ram_put(&ram, bytes, 4);
	assert_true(ram_wp() & RAM_WRAP);
	ram_write(&ram, RAM_CONTROL, RAM_ACTIVE);
	ram_write(&ram, RAM_CONTROL, RAM_ACTIVE | RAM_ENABLE);
	assert_true(ram_wp() & RAM_WRAP);	/* neither of these clears it */
	ram_write(&ram, RAM_CONTROL, RAM_ACTIVE);
	ram_write(&ram, RAM_WP_LOW, BASE + 0x100);
	assert_false(ram_wp() & RAM_WRAP);
	ram_write(&ram, RAM_WP_LOW, BASE + 0x103);
	assert_int_equal(ram_wp(), 0x100 | RAM_WRAP);	/* bit 1 is always 0 */
}

static void r50_enable_moves_nothing(void **state)
{
	(void)state;
	ram_window(0x100, 0x1fc, 0);
	assert_int_equal(ram_read(&ram, RAM_START_LOW), BASE + 0x100);
	assert_int_equal(ram_read(&ram, RAM_LIMIT_LOW), BASE + 0x1fc);
	assert_int_equal(ram_wp(), 0x100);
	ram_put(&ram, bytes, 6);
	assert_int_equal(ram_wp(), 0x104);
	ram_write(&ram, RAM_CONTROL, RAM_ACTIVE | RAM_MODE_SMEM);
	assert_int_equal(ram_wp(), 0x108);	/* flushed */
	assert_int_equal(ram_read(&ram, RAM_START_LOW), BASE + 0x100);
}

static void r61_flush_pads_with_idle(void **state)
{
	static const uint8_t want[] = { 5, 6, 0xff, 0xff };

	(void)state;
	ram_window(0x100, 0x1fc, 0);
	ram_put(&ram, bytes, 6);
	ram_write(&ram, RAM_CONTROL, RAM_ACTIVE | RAM_MODE_SMEM);
	assert_memory_equal(mem + 0x104, want, 4);
}

static void r51_pointers_are_locked_while_enabled(void **state)
{
	(void)state;
	ram_window(0x100, 0x1fc, 0);
	ram_write(&ram, RAM_START_LOW, BASE);
	ram_write(&ram, RAM_LIMIT_LOW, BASE);
	ram_write(&ram, RAM_WP_LOW, BASE);
	assert_int_equal(ram_read(&ram, RAM_START_LOW), BASE + 0x100);
	assert_int_equal(ram_read(&ram, RAM_LIMIT_LOW), BASE + 0x1fc);
	assert_int_equal(ram_wp(), 0x100);
	assert_int_equal(ram.misuse, 3);
}

static void r52_widths(void **state)
{
	unsigned int width;

	(void)state;
	for (width = 4; width <= 64; width *= 2) {
		ram_can.width = width;
		power_up();
		ram_window(0x100 + width - 1, 0x1ff, 0);
		assert_int_equal(ram_read(&ram, RAM_START_LOW), BASE + 0x100);
		assert_int_equal(ram_read(&ram, RAM_LIMIT_LOW), BASE + 0x200 - width);
		ram_put(&ram, bytes, width - 1);
		assert_int_equal(ram_wp() & ~RAM_WRAP, 0x100);
		ram_put(&ram, bytes, 1);
		assert_int_equal(ram_wp() & ~RAM_WRAP, 0x100 + width);
	}
}

static void r59_32_bit_addresses(void **state)
{
	(void)state;
	ram_can.addrbits = 32;
	ram_write(&ram, RAM_CONTROL, RAM_ACTIVE);
	ram_write(&ram, RAM_START_HIGH, 0xffffffff);
	ram_write(&ram, RAM_LIMIT_HIGH, 0xffffffff);
	ram_write(&ram, RAM_WP_HIGH, 0xffffffff);
	assert_int_equal(ram_read(&ram, RAM_START_HIGH), 0);
	assert_int_equal(ram_read(&ram, RAM_LIMIT_HIGH), 0);
	assert_int_equal(ram_read(&ram, RAM_WP_HIGH), 0);
	ram_can.addrbits = 64;
	ram_write(&ram, RAM_LIMIT_HIGH, 0x12345678);
	assert_int_equal(ram_read(&ram, RAM_LIMIT_HIGH), 0x12345678);
}

static void outside_memory_is_lost(void **state)
{
	(void)state;
	ram_window(0xffc, 0x1000, 0);
	assert_int_equal(ram_put(&ram, bytes, 8), 8);
	assert_memory_equal(mem + 0xffc, bytes, 4);
	assert_int_equal(ram.misuse, 1);
}

/* The room that there is is what it takes, from every place in a word */
static void room_is_what_it_takes(void **state)
{
	unsigned int width, used;

	(void)state;
	for (width = 4; width <= 64; width *= 2) {
		for (used = 0; used <= 0x100; used++) {
			uint8_t trace[0x140] = { 0 };
			uint64_t room;

			ram_can.width = width;
			power_up();
			ram_window(0x100, 0x1ff, RAM_STOP_ON_WRAP);
			assert_int_equal(ram_put(&ram, trace, used), used);
			room = ram_room(&ram);
			assert_int_equal(room, 0x100 - used);
			assert_int_equal(ram_put(&ram, trace, sizeof(trace)), room);
			assert_int_equal(ram_room(&ram), 0);
		}
	}
	ram_can.width = 4;
	power_up();
	ram_window(0x100, 0x1fc, 0);
	assert_true(ram_room(&ram) == UINT64_MAX);
	ram_write(&ram, RAM_CONTROL, RAM_ACTIVE | RAM_MODE_SMEM);
	assert_int_equal(ram_room(&ram), 0);
}

/* R51: nor may pointers be written before it is empty */
static void r51_pointers_are_locked_until_empty(void **state)
{
	(void)state;
	ram_can.empty.polls = 2;
	ram_window(0x100, 0x1fc, 0);
	ram_put(&ram, bytes, 6);
	ram_write(&ram, RAM_CONTROL, RAM_ACTIVE | RAM_MODE_SMEM);
	ram_write(&ram, RAM_START_LOW, BASE);
	assert_int_equal(ram_read(&ram, RAM_START_LOW), BASE + 0x100);
	assert_int_equal(ram.misuse, 1);
	ram_was_read(&ram, RAM_CONTROL);
	ram_was_read(&ram, RAM_CONTROL);
	assert_true(ram_read(&ram, RAM_CONTROL) & RAM_EMPTY);
	ram_write(&ram, RAM_START_LOW, BASE);
	assert_int_equal(ram_read(&ram, RAM_START_LOW), BASE);
	assert_int_equal(ram.misuse, 1);
}

/* --------------------------------------------------- sink's own memory ---- */

static void sram_power_up(void)
{
	ram_can.impl = 0x1901;
	power_up();
	ram_set_sram(&ram, sram, sizeof(sram));
	ram_write(&ram, RAM_CONTROL, RAM_ACTIVE);
}

static uint32_t read_ram(unsigned int offset)
{
	uint32_t value = ram_read(&ram, offset);

	ram_was_read(&ram, offset);
	return value;
}

static void r45_mode_warl(void **state)
{
	(void)state;
	sram_power_up();
	ram_write(&ram, RAM_CONTROL, RAM_ACTIVE | RAM_MODE_SMEM);
	assert_false(ram_read(&ram, RAM_CONTROL) & RAM_MODE_SMEM);
	ram_can.impl = 0x2901;
	power_up();
	ram_write(&ram, RAM_CONTROL, RAM_ACTIVE);
	assert_true(ram_read(&ram, RAM_CONTROL) & RAM_MODE_SMEM);
	ram_can.impl = 0x3901;
	power_up();
	ram_set_sram(&ram, sram, sizeof(sram));
	ram_write(&ram, RAM_CONTROL, RAM_ACTIVE | RAM_MODE_SMEM);
	assert_true(ram_read(&ram, RAM_CONTROL) & RAM_MODE_SMEM);
	ram_write(&ram, RAM_LIMIT_LOW, BASE + 0x1fc);
	assert_int_equal(ram_read(&ram, RAM_LIMIT_LOW), BASE + 0x1fc);
	/* another mode, other registers */
	ram_write(&ram, RAM_CONTROL, RAM_ACTIVE);
	assert_false(ram_read(&ram, RAM_CONTROL) & RAM_MODE_SMEM);
	ram_write(&ram, RAM_LIMIT_LOW, 0xffffffff);
	assert_int_equal(ram_read(&ram, RAM_LIMIT_LOW), sizeof(sram) - 4);
	ram_write(&ram, RAM_LIMIT_HIGH, 0xffffffff);
	assert_int_equal(ram_read(&ram, RAM_LIMIT_HIGH), 0);
	ram_write(&ram, RAM_START_LOW, 0x10);
	assert_int_equal(ram_read(&ram, RAM_START_LOW), 0);
}

static void fixed_limit(void **state)
{
	(void)state;
	ram_can.fixed_limit = true;
	sram_power_up();
	ram_write(&ram, RAM_LIMIT_LOW, 0x10);
	assert_int_equal(ram_read(&ram, RAM_LIMIT_LOW), sizeof(sram) - 4);
}

/* R56, R57: while it is enabled neither RP nor Data does anything */
static void r55_data_advances(void **state)
{
	uint32_t word;
	unsigned int i;

	(void)state;
	sram_power_up();
	ram_write(&ram, RAM_LIMIT_LOW, 8);
	ram_write(&ram, RAM_WP_LOW, 0);
	ram_write(&ram, RAM_CONTROL, RAM_ACTIVE | RAM_ENABLE);
	assert_int_equal(ram_put(&ram, bytes, 11), 11);
	ram_write(&ram, RAM_RP_LOW, 4);
	assert_int_equal(read_ram(RAM_RP_LOW), 0);
	read_ram(RAM_DATA);
	assert_int_equal(read_ram(RAM_RP_LOW), 0);
	ram_write(&ram, RAM_CONTROL, RAM_ACTIVE);		/* flush: the third word */
	assert_int_equal(ram_read(&ram, RAM_WP_LOW), RAM_WRAP);
	ram_write(&ram, RAM_RP_LOW, 8);
	assert_int_equal(read_ram(RAM_RP_LOW), 8);
	for (i = 2; i < 8; i++) {
		word = read_ram(RAM_DATA);
		if (i % 3 == 2)
			assert_int_equal(word, 0xff0b0a09);
		else
			assert_memory_equal(&word, bytes + i % 3 * 4, 4);
	}
	assert_int_equal(read_ram(RAM_RP_LOW), 8);		/* twice round */
	assert_int_equal(mem[0], 0);
}

static void r56_live_data(void **state)
{
	uint32_t word;

	(void)state;
	ram_can.live_data = true;
	sram_power_up();
	ram_write(&ram, RAM_LIMIT_LOW, 0x3fc);
	ram_write(&ram, RAM_CONTROL, RAM_ACTIVE | RAM_ENABLE);
	ram_put(&ram, bytes, 8);
	ram_write(&ram, RAM_RP_LOW, 4);
	word = read_ram(RAM_DATA);
	assert_memory_equal(&word, bytes + 4, 4);
	assert_int_equal(read_ram(RAM_RP_LOW), 8);
}

/*
 * When the encoder has flushed, what began a word is in memory, and before WP, unless it is lazy.
 */
static void r23_settles(void **state)
{
	(void)state;
	ram_window(0x100, 0x1fc, 0);
	ram_put(&ram, bytes, 5);
	assert_int_equal(ram_wp(), 0x104);
	ram_can.lazy = true;
	ram_settle(&ram);
	assert_int_equal(ram_wp(), 0x104);
	ram_can.lazy = false;
	ram_settle(&ram);
	assert_int_equal(ram_wp(), 0x108);
	assert_memory_equal(mem + 0x104, "\x05\xff\xff\xff", 4);
	ram_settle(&ram);				/* nothing waits */
	assert_int_equal(ram_wp(), 0x108);
	ram_put(&ram, bytes, 4);
	assert_int_equal(ram_wp(), 0x10c);
	ram_write(&ram, RAM_CONTROL, RAM_ACTIVE | RAM_MODE_SMEM);
	assert_int_equal(ram_wp(), 0x10c);
}

static void region_is_a_fence(void **state)
{
	(void)state;
	ram_set_region(&ram, BASE + 0x200, 0x100);
	ram_window(0, 0xffc, 0);
	assert_int_equal(ram_read(&ram, RAM_START_LOW), BASE + 0x200);
	assert_int_equal(ram_read(&ram, RAM_LIMIT_LOW), BASE + 0x2fc);
	assert_int_equal(ram_wp(), 0x200);
	ram_write(&ram, RAM_CONTROL, RAM_ACTIVE);
	ram_write(&ram, RAM_LIMIT_LOW, BASE + 0x220);		/* trimmable */
	assert_int_equal(ram_read(&ram, RAM_LIMIT_LOW), BASE + 0x220);
	assert_int_equal(mem[0x1ff], 0);
}

/* Pointers that are fixed are so from when the mode changes */
static void modes_have_their_fences(void **state)
{
	(void)state;
	ram_can.impl = 0x3901;
	ram_can.fixed_limit = true;
	power_up();
	ram_set_sram(&ram, sram, sizeof(sram));
	ram_set_region(&ram, BASE + 0x200, 0x100);
	ram_write(&ram, RAM_CONTROL, RAM_ACTIVE);
	ram_write(&ram, RAM_CONTROL, RAM_ACTIVE | RAM_MODE_SMEM);
	assert_int_equal(ram_read(&ram, RAM_START_LOW), BASE + 0x200);
	assert_int_equal(ram_read(&ram, RAM_LIMIT_LOW), BASE + 0x200);
	assert_int_equal(ram_wp(), 0x200);
	ram_write(&ram, RAM_CONTROL, RAM_ACTIVE);
	assert_int_equal(ram_read(&ram, RAM_START_LOW), 0);
	assert_int_equal(ram_read(&ram, RAM_LIMIT_LOW), sizeof(sram) - 4);
	assert_int_equal(ram_read(&ram, RAM_WP_LOW), 0);
	/* without a change they stay */
	ram_write(&ram, RAM_WP_LOW, 0x40);
	ram_write(&ram, RAM_CONTROL, RAM_ACTIVE | RAM_STOP_ON_WRAP);
	assert_int_equal(ram_read(&ram, RAM_WP_LOW), 0x40);
}

/* R55: behind Limit, RP goes on to the end of the memory, and around that */
static void r55_data_behind_limit(void **state)
{
	(void)state;
	sram_power_up();
	ram_write(&ram, RAM_LIMIT_LOW, 0x10);
	ram_write(&ram, RAM_RP_LOW, 0x14);
	read_ram(RAM_DATA);
	assert_int_equal(read_ram(RAM_RP_LOW), 0x18);
	ram_write(&ram, RAM_RP_LOW, sizeof(sram) - 4);
	read_ram(RAM_DATA);
	assert_int_equal(read_ram(RAM_RP_LOW), 0);
	ram_write(&ram, RAM_RP_LOW, 0xc);
	read_ram(RAM_DATA);
	assert_int_equal(read_ram(RAM_RP_LOW), 0x10);
	read_ram(RAM_DATA);
	assert_int_equal(read_ram(RAM_RP_LOW), 0);
}

static uint64_t wrote_from, wrote_to;

static void on_wrote(struct ram_sink *sink, uint64_t at, unsigned int len)
{
	(void)sink;
	if (!wrote_from)
		wrote_from = at;
	wrote_to = at + len;
}

static void writes_are_told(void **state)
{
	(void)state;
	wrote_from = wrote_to = 0;
	ram.wrote = on_wrote;
	ram_window(0x100, 0x1fc, 0);
	ram_put(&ram, bytes, 10);
	assert_int_equal(wrote_from, BASE + 0x100);
	assert_int_equal(wrote_to, BASE + 0x108);
}

/* ------------------------------------------------------------ funnel ---- */

static const uint8_t msg[] = { 0x24, 0x04, 0x07 };	/* the last one ends it */

static void funnel_enable(void)
{
	funnel_write(&funnel, FUNNEL_CONTROL, FUNNEL_ACTIVE);
	funnel_write(&funnel, FUNNEL_CONTROL, FUNNEL_ACTIVE | FUNNEL_ENABLE);
}

static void r5_funnel_power_up(void **state)
{
	unsigned int offset;

	(void)state;
	assert_int_equal(funnel_read(&funnel, FUNNEL_CONTROL), FUNNEL_EMPTY);
	funnel_write(&funnel, FUNNEL_CONTROL, FUNNEL_ENABLE);
	assert_int_equal(funnel_read(&funnel, FUNNEL_CONTROL), FUNNEL_EMPTY);
	assert_int_equal(funnel_read(&funnel, FUNNEL_IMPL), 0);
	funnel_write(&funnel, FUNNEL_CONTROL, FUNNEL_ACTIVE);
	assert_int_equal(funnel_read(&funnel, FUNNEL_IMPL), 0x801);
	for (offset = 4; offset < 0x1000; offset += 4)
		funnel_write(&funnel, offset, 0xffffffff);
	for (offset = 12; offset < 0x1000; offset += 4)
		assert_int_equal(funnel_read(&funnel, offset), 0);
	funnel_enable();
	funnel_write(&funnel, FUNNEL_CONTROL, FUNNEL_ENABLE);
	assert_int_equal(funnel_read(&funnel, FUNNEL_CONTROL), FUNNEL_EMPTY);
}

static void r44_dis_input_warl(void **state)
{
	(void)state;
	funnel_enable();
	funnel_write(&funnel, FUNNEL_DIS_INPUT, 0xffffffff);
	assert_int_equal(funnel_read(&funnel, FUNNEL_DIS_INPUT), 0xf);	/* there are four */
	funnel_can.dis_inputs = 0xd;
	funnel_write(&funnel, FUNNEL_DIS_INPUT, 0xffff);
	assert_int_equal(funnel_read(&funnel, FUNNEL_DIS_INPUT), 0xd);
	funnel_write(&funnel, FUNNEL_DIS_INPUT, 0);
	assert_int_equal(funnel_read(&funnel, FUNNEL_DIS_INPUT), 0);
}

static void r42_disabled_input_is_drained(void **state)
{
	unsigned int i;

	(void)state;
	funnel_enable();
	funnel_write(&funnel, FUNNEL_DIS_INPUT, 2);
	for (i = 0; i < 1000; i++)
		assert_true(funnel_put(&funnel, 1, msg, sizeof(msg)));
	assert_int_equal(funnel.fill, 0);
	assert_true(funnel_put(&funnel, 0, msg, sizeof(msg)));
	assert_int_equal(funnel.fill, sizeof(msg));
	/* off, it takes nothing, not even that */
	funnel_write(&funnel, FUNNEL_CONTROL, FUNNEL_ACTIVE);
	assert_false(funnel_put(&funnel, 1, msg, sizeof(msg)));
}

static void r43_whole_messages(void **state)
{
	unsigned int n = 0, i;

	(void)state;
	funnel_enable();
	while (funnel_put(&funnel, n % 4, msg, sizeof(msg)))
		n++;
	assert_int_equal(n, FUNNEL_BUFFER / sizeof(msg));
	assert_int_equal(funnel.fill, n * sizeof(msg));
	for (i = 0; i < n; i++) {
		assert_int_equal(funnel_message(funnel.buf, funnel.fill), sizeof(msg));
		assert_memory_equal(funnel.buf, msg, sizeof(msg));
		funnel_took(&funnel, 1);		/* a sink that takes byte for byte */
		funnel_took(&funnel, 2);
	}
	assert_int_equal(funnel.fill, 0);
}

static void funnel_empties_when_it_has_left(void **state)
{
	(void)state;
	funnel_can.empty.polls = 1;
	funnel_enable();
	assert_false(funnel_read(&funnel, FUNNEL_CONTROL) & FUNNEL_EMPTY);
	funnel_put(&funnel, 0, msg, sizeof(msg));
	funnel_write(&funnel, FUNNEL_CONTROL, FUNNEL_ACTIVE);
	funnel_was_read(&funnel, FUNNEL_CONTROL);
	funnel_was_read(&funnel, FUNNEL_CONTROL);
	assert_false(funnel_read(&funnel, FUNNEL_CONTROL) & FUNNEL_EMPTY);
	funnel_took(&funnel, sizeof(msg));
	assert_false(funnel_read(&funnel, FUNNEL_CONTROL) & FUNNEL_EMPTY);
	funnel_was_read(&funnel, FUNNEL_CONTROL);
	assert_true(funnel_read(&funnel, FUNNEL_CONTROL) & FUNNEL_EMPTY);
}

static void enable_that_falls_by_itself(void **state)
{
	(void)state;
	funnel_enable();
	funnel_drop_enable(&funnel);
	assert_false(funnel_read(&funnel, FUNNEL_CONTROL) & FUNNEL_ENABLE);
	assert_false(funnel_put(&funnel, 0, msg, sizeof(msg)));
	ram_window(0, 0xfc, 0);
	ram_drop_enable(&ram);
	assert_false(ram_read(&ram, RAM_CONTROL) & RAM_ENABLE);
	assert_int_equal(ram_put(&ram, bytes, 4), 0);
}

/* ------------------------------------------------------------ bridge ---- */

static void r62_bridge(void **state)
{
	(void)state;
	assert_int_equal(bridge_read(&bridge, BRIDGE_CONTROL), BRIDGE_EMPTY);
	bridge_write(&bridge, BRIDGE_CONTROL, BRIDGE_ACTIVE);
	assert_int_equal(bridge_read(&bridge, BRIDGE_IMPL), 0xe01);
	bridge_write(&bridge, BRIDGE_IMPL, 0xffffffff);
	assert_int_equal(bridge_read(&bridge, BRIDGE_IMPL), 0x7e01);	/* AsyncFreq */
	bridge_write(&bridge, BRIDGE_CONTROL, BRIDGE_ACTIVE | BRIDGE_ENABLE | 0x35 << 8);
	assert_int_equal(bridge_read(&bridge, BRIDGE_CONTROL),
			 BRIDGE_ACTIVE | BRIDGE_ENABLE | 0x35 << 8);
	assert_int_equal(bridge.misuse, 0);
	assert_int_equal(bridge_put(&bridge, 7), 7);
	bridge_write(&bridge, BRIDGE_CONTROL, BRIDGE_ACTIVE);
	assert_int_equal(bridge_read(&bridge, BRIDGE_CONTROL), BRIDGE_ACTIVE | BRIDGE_EMPTY);
	assert_int_equal(bridge_put(&bridge, 7), 0);
	bridge_write(&bridge, BRIDGE_CONTROL, BRIDGE_ACTIVE | BRIDGE_ENABLE | 0x70 << 8);
	bridge_write(&bridge, BRIDGE_CONTROL, BRIDGE_ACTIVE);
	bridge_write(&bridge, BRIDGE_CONTROL, BRIDGE_ACTIVE | BRIDGE_ENABLE);
	assert_int_equal(bridge.misuse, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(r5_power_up, setup),
		cmocka_unit_test_setup(r5_inactive_disables, setup),
		cmocka_unit_test_setup(r3_r32_unimplemented, setup),
		cmocka_unit_test_setup(impl_is_read_only, setup),
		cmocka_unit_test_setup(r17_inst_mode, setup),
		cmocka_unit_test_setup(r25_sync_mode, setup),
		cmocka_unit_test_setup(r20_overflow_bit, setup),
		cmocka_unit_test_setup(r23_flush_then_empty, setup),
		cmocka_unit_test_setup(r29_hard_zeroes, setup),
		cmocka_unit_test_setup(features_warl, setup),
		cmocka_unit_test_setup(format_is_fixed, setup),
		cmocka_unit_test_setup(enabled_keeps_its_configuration, setup),
		cmocka_unit_test_setup(inst_tracing_starts_and_stops, setup),
		cmocka_unit_test_setup(r40_timestamp_unit, setup),
		cmocka_unit_test_setup(timestamp_modes, setup),
		cmocka_unit_test_setup(r40_timestamp_counts, setup),
		cmocka_unit_test_setup(r33_filters_are_ored, setup),
		cmocka_unit_test_setup(r34_conditions_are_anded, setup),
		cmocka_unit_test_setup(r36_functions, setup),
		cmocka_unit_test_setup(r36_latch, setup),
		cmocka_unit_test_setup(comparators_warl, setup),
		cmocka_unit_test_setup(comparators_of_filters, setup),
		cmocka_unit_test_setup(r34_three_comparators, setup),
		cmocka_unit_test_setup(r36_mask, setup),
		cmocka_unit_test_setup(r33_each_filter, setup),
		cmocka_unit_test_setup(late_bits, setup),
		cmocka_unit_test_setup(never, setup),
		cmocka_unit_test_setup(values_that_do_not_stick, setup),
		cmocka_unit_test_setup(r47_wrap, setup),
		cmocka_unit_test_setup(r48_r53_stop_on_wrap, setup),
		cmocka_unit_test_setup(r49_wrap_flag, setup),
		cmocka_unit_test_setup(r50_enable_moves_nothing, setup),
		cmocka_unit_test_setup(r61_flush_pads_with_idle, setup),
		cmocka_unit_test_setup(r51_pointers_are_locked_while_enabled, setup),
		cmocka_unit_test_setup(r52_widths, setup),
		cmocka_unit_test_setup(r59_32_bit_addresses, setup),
		cmocka_unit_test_setup(outside_memory_is_lost, setup),
		cmocka_unit_test_setup(room_is_what_it_takes, setup),
		cmocka_unit_test_setup(r51_pointers_are_locked_until_empty, setup),
		cmocka_unit_test_setup(modes_have_their_fences, setup),
		cmocka_unit_test_setup(r55_data_behind_limit, setup),
		cmocka_unit_test_setup(r45_mode_warl, setup),
		cmocka_unit_test_setup(fixed_limit, setup),
		cmocka_unit_test_setup(r55_data_advances, setup),
		cmocka_unit_test_setup(r56_live_data, setup),
		cmocka_unit_test_setup(r23_settles, setup),
		cmocka_unit_test_setup(region_is_a_fence, setup),
		cmocka_unit_test_setup(writes_are_told, setup),
		cmocka_unit_test_setup(r5_funnel_power_up, setup),
		cmocka_unit_test_setup(r44_dis_input_warl, setup),
		cmocka_unit_test_setup(r42_disabled_input_is_drained, setup),
		cmocka_unit_test_setup(r43_whole_messages, setup),
		cmocka_unit_test_setup(funnel_empties_when_it_has_left, setup),
		cmocka_unit_test_setup(enable_that_falls_by_itself, setup),
		cmocka_unit_test_setup(r62_bridge, setup),
	};

	return RUN_TAP(tests);
}
