// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which instructions belong to the truth: computed from the registers as software reads them,
 * independently of the encoder's filters in filter.c. If the two differ, one of them is wrong.
 */

#include <string.h>

#include "model.h"

enum { NR_COMPS = 8, NR_FILTERS = 16 };

struct window {
	uint64_t p, s;
	uint32_t control;
	bool running;			/* start/stop: between the start and the stop address */
};

struct truth_gate {
	uint32_t selected;
	uint32_t filter[NR_FILTERS];
	uint32_t privileges[NR_FILTERS];
	struct window window[NR_COMPS];
	bool by_address;
};

static bool is_start_stop(const struct window *w)
{
	return w->control >> 12 == 3;
}

static uint64_t read64(const struct hart *h, unsigned int offset)
{
	return te_read(&h->te, offset) | (uint64_t)te_read(&h->te, offset + 4) << 32;
}

/* Software has written a register */
void truth_regs(struct hart *h, unsigned int offset)
{
	struct truth_gate *g = h->gate;
	unsigned int i;

	if (!g || (offset && offset != 0xc && (offset < 0x400 || offset >= 0x700)))
		return;
	g->selected = te_read(&h->te, 0xc);
	g->by_address = false;
	for (i = 0; i < NR_FILTERS; i++) {
		g->filter[i] = te_read(&h->te, 0x400 + 32 * i);
		g->privileges[i] = te_read(&h->te, 0x404 + 32 * i) & 0xff;
		if (g->selected >> i & 1 && g->filter[i] & 1)
			g->by_address |= g->filter[i] & 0x1110;
	}
	for (i = 0; i < NR_COMPS; i++) {
		struct window *w = &g->window[i];
		uint32_t before = w->control;

		w->control = te_read(&h->te, 0x600 + 32 * i);
		w->p = read64(h, 0x610 + 32 * i);
		w->s = read64(h, 0x618 + 32 * i);
		if (offset == 0x600 + 32 * i || w->control != before)
			w->running = is_start_stop(w) && (w->control & 0x70) == 0x60;
	}
}

bool truth_by_address(const struct hart *h)
{
	return h->gate && h->gate->by_address;
}

/* Must the gate see instructions that do not pass? They may start or stop a window. */
bool truth_wants_all(const struct hart *h)
{
	unsigned int i;

	for (i = 0; truth_by_address(h) && i < NR_COMPS; i++)
		if (is_start_stop(&h->gate->window[i]))
			return true;
	return false;
}

bool truth_passes(const struct hart *h, enum priv priv)
{
	const struct truth_gate *g = h->gate;
	bool pass;
	unsigned int i;

	if (!g)
		return false;
	pass = !g->selected;
	for (i = 0; i < NR_FILTERS; i++)
		if (g->selected >> i & 1 && g->filter[i] & 1)
			pass |= !(g->filter[i] & 2) || g->privileges[i] >> priv & 1;
	return pass;
}

/* The table has a mask for each function: true if less (1), equal (2), greater (4) */
static bool holds(unsigned int function, uint64_t a, uint64_t b)
{
	static const uint8_t truth[6] = { 2, 5, 1, 3, 4, 6 };
	unsigned int order = a < b ? 1 : a == b ? 2 : 4;

	return function > 5 || truth[function] & order;
}

static bool in_window(struct window *w, uint64_t pc)
{
	unsigned int mode = w->control >> 12, first = w->control >> 4 & 7;
	unsigned int second = w->control >> 8 & 7;
	bool start, stop, on;

	if (second == 6)
		start = holds(first, pc & w->s, w->p & w->s);
	else
		start = holds(first, pc, w->p);
	if (first == 6)
		start = false;
	stop = holds(second, pc, w->s);
	if (mode < 3)
		return mode == 0 ? start : (start && stop) == (mode == 1);
	on = w->running | start;
	w->running = on && !stop;
	return on;
}

/* Must be called for all instructions of the hart, in order */
bool truth_passes_insn(struct hart *h, uint64_t pc)
{
	struct truth_gate *g = h->gate;
	bool in[NR_COMPS], pass = false;
	unsigned int i, slot;

	for (i = 0; i < NR_COMPS; i++)
		in[i] = in_window(&g->window[i], pc);
	for (i = 0; i < NR_FILTERS; i++) {
		bool all = g->selected >> i & 1 && g->filter[i] & 1;

		if (g->filter[i] & 2)
			all &= g->privileges[i] >> h->priv & 1;
		for (slot = 4; slot <= 12; slot += 4)
			if (g->filter[i] >> slot & 1)
				all &= in[g->filter[i] >> (slot + 1) & 7];
		pass |= all;
	}
	return pass;
}

void truth_init_gate(struct hart *h)
{
	h->gate = g_new0(struct truth_gate, 1);
	truth_regs(h, 0);
}
