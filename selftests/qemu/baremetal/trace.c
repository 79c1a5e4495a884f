// SPDX-License-Identifier: GPL-2.0-only
/*
 * Linked to a program it has trace hardware record it, from its constructors on until it exits,
 * and prints where the trace is, in two parts: the first is empty if nothing was overwritten.
 *
 *	trace: ADDRESS-ADDRESS ADDRESS-ADDRESS lost 0|1
 *
 * By registers, in the order that the Trace Control Interface wants.  Nothing here but these is
 * the RTL's own; lab/topologies says where they are.
 */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef CONTROL
#define CONTROL	0		/* bits of trTeControl to set, beside the mode */
#endif
#ifndef TIMESTAMPS
#define TIMESTAMPS 0
#endif
#ifndef SRAM
#define SRAM 0			/* bytes of it; 0: system memory */
#endif
#ifndef WINDOW
#define WINDOW	0x2000000
#endif

#define ENCODER		0x18002000
#define FUNNEL		0x18004000
#define SINK		0x18005000
#define BUFFER		0x81000000u	/* for the trace, behind the program's memory */

#define CONTROL_REG	0x000
#define  ACTIVE		(1u << 0)
#define  ENABLE		(1u << 1)
#define  INST_TRACING	(1u << 2)
#define  EMPTY		(1u << 3)
#define  INST_MODE_HTM	(6u << 4)
#define  OVERFLOW	(1u << 12)
#define  FORMAT_NTRACE	(1u << 24)
#define  RAM_SMEM	(1u << 4)
#define INST_FEATURES	0x008
#define  SRC(n)		((n) << 16 | 4u << 28)
#define TS_CONTROL	0x040
#define DIS_INPUT	0x008
#define START		0x010
#define LIMIT		0x018
#define WP		0x020
#define RP		0x028
#define DATA		0x040

static uint32_t read_reg(uintptr_t base, unsigned int offset)
{
	return *(volatile uint32_t *)(base + offset);
}

static void write_reg(uintptr_t base, unsigned int offset, uint32_t value)
{
	*(volatile uint32_t *)(base + offset) = value;
}

static void wait_for(uintptr_t base, uint32_t mask, uint32_t value)
{
	unsigned int polls;

	for (polls = 0; polls < 1000; polls++)
		if ((read_reg(base, CONTROL_REG) & mask) == value)
			return;
	printf("trace: %lx: Control is %08x, not %x in %x\n", (unsigned long)base,
	       (unsigned int)read_reg(base, CONTROL_REG), (unsigned int)value, (unsigned int)mask);
	exit(1);
}

static void reset(uintptr_t base)
{
	write_reg(base, CONTROL_REG, 0);
	wait_for(base, ACTIVE, 0);
	write_reg(base, CONTROL_REG, ACTIVE);
	wait_for(base, ACTIVE, ACTIVE);
}

static void set_window(uint32_t start, uint32_t size)
{
	unsigned int high;

	for (high = START + 4; high <= WP + 4; high += 8)
		write_reg(SINK, high, 0);
	write_reg(SINK, START, start);
	write_reg(SINK, LIMIT, start + size - (SRAM ? 4 : 64));	/* both as this sink wants it */
	write_reg(SINK, WP, start);
}

static const uint32_t encoder_on = ACTIVE | INST_MODE_HTM | FORMAT_NTRACE | CONTROL;
static const uint32_t sink_on = ACTIVE | (SRAM ? 0 : RAM_SMEM);

__attribute__((constructor)) static void trace_on(void)
{
	reset(FUNNEL);			/* its Active clocks the sink */
	reset(SINK);
	reset(ENCODER);
	write_reg(SINK, CONTROL_REG, sink_on);
	if (SRAM)
		set_window(0, SRAM);
	else
		set_window(BUFFER, WINDOW);
	write_reg(FUNNEL, DIS_INPUT, 0);
	write_reg(ENCODER, CONTROL_REG, encoder_on);
	write_reg(ENCODER, INST_FEATURES, SRC(5));
	write_reg(ENCODER, TS_CONTROL, TIMESTAMPS ? 1 | 1 << 15 : 0);

	write_reg(SINK, CONTROL_REG, sink_on | ENABLE);
	wait_for(SINK, ENABLE, ENABLE);
	write_reg(FUNNEL, CONTROL_REG, ACTIVE | ENABLE);
	wait_for(FUNNEL, ENABLE, ENABLE);
	write_reg(ENCODER, CONTROL_REG, encoder_on | ENABLE);
	wait_for(ENCODER, ENABLE, ENABLE);
	write_reg(ENCODER, CONTROL_REG, encoder_on | ENABLE | INST_TRACING);
}

/* From the sink's own memory into the buffer; returns how much */
static uint32_t copy_sram(uint32_t wp)
{
	uint32_t *to = (uint32_t *)(uintptr_t)BUFFER;
	uint32_t end = wp & ~3u, n = wp & 1 ? SRAM : end, i;

	write_reg(SINK, RP, wp & 1 ? end : 0);
	for (i = 0; i < n / 4; i++)
		to[i] = read_reg(SINK, DATA);
	return n;
}

__attribute__((destructor)) static void trace_off(void)
{
	uint32_t wp, end, lost, last = BUFFER;

	write_reg(ENCODER, CONTROL_REG, encoder_on | ENABLE);
	lost = read_reg(ENCODER, CONTROL_REG) & OVERFLOW;
	write_reg(ENCODER, CONTROL_REG, encoder_on);
	wait_for(ENCODER, ENABLE | EMPTY, EMPTY);
	write_reg(FUNNEL, CONTROL_REG, ACTIVE);
	wait_for(FUNNEL, ENABLE | EMPTY, EMPTY);
	write_reg(SINK, CONTROL_REG, sink_on);
	wait_for(SINK, ENABLE | EMPTY, EMPTY);
	wp = read_reg(SINK, WP);
	end = SRAM ? BUFFER + copy_sram(wp) : wp & ~3u;
	if (!SRAM && wp & 1)
		last = BUFFER + WINDOW;
	printf("trace: %x-%x %x-%x lost %u\n", (unsigned int)(last > BUFFER ? end : BUFFER),
	       (unsigned int)last, BUFFER, (unsigned int)end, !!lost);
}
