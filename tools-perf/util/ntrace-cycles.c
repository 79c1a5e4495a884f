// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cycles and instructions per cycle. In the timestamp mode Internal Core, timestamps count the
 * hart's cycles. A message has the time of its last transfer, where both cycles and instructions
 * are known. For events before it, --itrace=A uses the values of the previous message. Cycles while
 * trace is off do not count.
 */
#include <linux/bitfield.h>
#include <linux/kernel.h>

#include "evlist.h"
#include "evsel.h"
#include "sample.h"
#include "session.h"
#include "ntrace-priv.h"

#define TS_MODE_INTERNAL_CORE	3

static bool counts_cycles(const u64 *cpu)
{
	return cpu && cpu[NTRACE_INFO_CPU_TS_MODE] == TS_MODE_INTERNAL_CORE;
}

/* Does any CPU have timestamps that count cycles? */
bool ntrace_cycles_possible(const struct ntrace *nt)
{
	unsigned int i;

	for (i = 0; i < nt->info.nr_cpus; i++) {
		if (counts_cycles(nt->info.cpu[i]))
			return true;
	}
	return false;
}

/* The message with the time @c->ticks is complete. */
static void pass(struct ntrace_cycles *c)
{
	if (c->known)
		c->count += ((c->ticks - c->base) & c->mask) << c->shift;
	c->base = c->ticks;
	c->known = true;
}

void ntrace_cycles_window(struct ntrace_queue *q, const struct nt_session_window *w)
{
	const u64 *cpu = ntrace_info_cpu(&q->nt->info, w->cpu);
	struct ntrace_cycles *c = &q->cycles;

	if (c->on)
		pass(c);
	c->on = w->hw_id & NTRACE_HW_ID_TIMESTAMP && counts_cycles(cpu);
	c->known = false;
	c->shift = 2 * FIELD_GET(NTRACE_HW_ID_TSPRESCALE, w->hw_id);
	c->mask = ~0ULL;
	if (cpu && cpu[NTRACE_INFO_CPU_TS_WIDTH] && cpu[NTRACE_INFO_CPU_TS_WIDTH] < 64)
		c->mask = (1ULL << cpu[NTRACE_INFO_CPU_TS_WIDTH]) - 1;
}

/* The instructions and cycles until now are unknown. */
static void forget(struct ntrace_queue *q)
{
	struct ntrace_cycles *c = &q->cycles;
	unsigned int i;

	c->known = false;
	for (i = 0; i < ARRAY_SIZE(c->told); i++) {
		c->told[i].cycles = c->count;
		c->told[i].insns = q->insns;
	}
}

/* @last: the last event of its message */
void ntrace_cycles_event(struct ntrace_queue *q, const struct nt_event *ev, bool last)
{
	struct ntrace_cycles *c = &q->cycles;

	if (!c->on)
		return;
	if (ev->kind == NT_EV_LOSS || !(ev->flags & NT_EVF_TIME)) {
		forget(q);
		return;
	}
	if (ev->kind == NT_EV_START) {
		/* Trace was off since the last message. */
		if (c->offset != ev->offset)
			pass(c);
		c->base = c->ticks = ev->time;
		c->offset = ev->offset;
		c->known = c->exact = true;
		return;
	}
	if (c->offset != ev->offset && c->known)
		pass(c);
	c->was_exact = c->exact;
	c->exact = last;
	c->offset = ev->offset;
	c->ticks = ev->time;
	if (last)
		pass(c);
}

/* Set cycles and instructions since the last such sample. Returns the cycles; 0: unknown */
u64 ntrace_cycles_take(struct ntrace_queue *q, struct perf_sample *sample, enum ntrace_ipc which,
		       u64 insns, bool exact)
{
	struct ntrace_cycles *c = &q->cycles;
	u64 cycles = c->count - c->told[which].cycles;

	if (!c->on || !cycles || !(exact || q->nt->opts.approx_ipc))
		return 0;
	/* perf shows no IPC without instructions: the next sample gets these cycles, too. */
	if (which != NTRACE_IPC_CYCLES && insns == c->told[which].insns)
		return 0;
	sample->cyc_cnt	 = cycles;
	sample->insn_cnt = insns - c->told[which].insns;
	c->told[which].cycles = c->count;
	c->told[which].insns  = insns;
	return cycles;
}

/*
 * The cycles since the previous entry of the branch stack. They are known only if both entries are
 * the last of their messages.
 */
u64 ntrace_cycles_of_branch(struct ntrace_queue *q)
{
	struct ntrace_cycles *c = &q->cycles;
	u64 cycles = c->count - c->entry;
	bool both = c->on && c->exact && c->was_exact;

	c->entry = c->count;
	return both ? min_t(u64, cycles, 0xffff) : 0;
}
