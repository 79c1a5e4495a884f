// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Control transfer records: recording
 */
#include <stdlib.h>
#include <string.h>

#include "nt-ctr-int.h"

void nt_ctr_params_init_sized(struct nt_ctr_params *params, size_t size)
{
	const struct nt_ctr_params first = {
		.size = size, .depth = 256, .depths = 0x1f, .cce_bits = 4, .xlen = 64,
	};

	memset(params, 0, size);
	memcpy(params, &first, size < sizeof(first) ? size : sizeof(first));
}

/* ------------------------------------------------------------ the modes -- */

bool ctr_enabled(const struct nt_ctr *c, unsigned int mode)
{
	switch (mode) {
	case NT_CTR_U:
		return c->ctl & NT_CTRCTL_U;
	case NT_CTR_S:
		return c->ctl & NT_CTRCTL_S;
	case NT_CTR_M:
		return c->ctl & NT_CTRCTL_M;
	case NT_CTR_VU:
		return c->vsctl & NT_CTRCTL_U;
	case NT_CTR_VS:
		return c->vsctl & NT_CTRCTL_S;
	default:		/* Debug Mode records nothing (R160) */
		return false;
	}
}

static bool is_virtual(unsigned int mode)
{
	return mode == NT_CTR_VU || mode == NT_CTR_VS;
}

/*
 * The register with the filters and RASEMU for a transfer.  If V changes, it is vsctrctl in either
 * direction (R166); in the draft, it is the register that is active when the instruction executes.
 */
static uint64_t settings(const struct nt_ctr *c, unsigned int source, unsigned int target)
{
	if (is_virtual(source) || (is_virtual(target) && !ctr_is_draft(c)))
		return c->vsctl;
	return c->ctl;
}

/*
 * The bits that must be set in each register for a trap from an enabled mode to a disabled one
 * (R164): those of the target and of all modes between.
 */
static const struct external {
	uint8_t source, target;
	uint64_t ctl, vsctl;
} externals[] = {
	{ NT_CTR_U, NT_CTR_S, NT_CTRCTL_STE, 0 },
	{ NT_CTR_U, NT_CTR_M, NT_CTRCTL_MTE | NT_CTRCTL_STE, 0 },
	{ NT_CTR_S, NT_CTR_M, NT_CTRCTL_MTE, 0 },
	{ NT_CTR_VU, NT_CTR_VS, 0, NT_CTRCTL_STE },
	{ NT_CTR_VU, NT_CTR_S, NT_CTRCTL_STE, NT_CTRCTL_STE },
	{ NT_CTR_VU, NT_CTR_M, NT_CTRCTL_MTE | NT_CTRCTL_STE, NT_CTRCTL_STE },
	{ NT_CTR_VS, NT_CTR_S, NT_CTRCTL_STE, 0 },
	{ NT_CTR_VS, NT_CTR_M, NT_CTRCTL_MTE | NT_CTRCTL_STE, 0 },
};

/* In the draft, the target decides, and the tool, which sets ETEN where it runs. */
static bool draft_external(const struct nt_ctr *c, const struct nt_ctr_transfer *t)
{
	if (!(settings(c, t->source, t->target) & CTL_ETEN))
		return false;
	switch (t->target) {
	case NT_CTR_M:
		return c->ctl & NT_CTRCTL_MTE;
	case NT_CTR_S:
		return c->ctl & NT_CTRCTL_STE;
	default:
		return c->vsctl & NT_CTRCTL_STE;
	}
}

static bool external(const struct nt_ctr *c, const struct nt_ctr_transfer *t)
{
	size_t i;

	for (i = 0; i < sizeof(externals) / sizeof(externals[0]); i++) {
		const struct external *e = &externals[i];

		if (e->source != t->source || e->target != t->target)
			continue;
		return ctr_is_draft(c) ? draft_external(c, t) :
		       !(e->ctl & ~c->ctl) && !(e->vsctl & ~c->vsctl);
	}
	return false;
}

/* ------------------------------------------------------- cycle counting -- */

uint16_t nt_ctr_cycles_encode(uint64_t n, unsigned int cce_bits)
{
	unsigned int cce_max, cce;

	if (cce_bits > 4)
		cce_bits = 4;
	cce_max = (1u << cce_bits) - 1;
	if (n < 4096)
		return (uint16_t)n;
	/* the leading bit is implied, CCM is the twelve bits below (R167) */
	cce = 63 - __builtin_clzll(n) - 11;
	if (cce > cce_max)
		return (uint16_t)(cce_max << 12 | 0xfff);
	return (uint16_t)(cce << 12 | (n >> (cce - 1) & 0xfff));
}

uint32_t nt_ctr_cycles_decode(uint16_t cc)
{
	unsigned int cce = cc >> 12, ccm = cc & 0xfff;

	return cce ? (4096 + ccm) << (cce - 1) : ccm;
}

void ctr_restart_cycles(struct nt_ctr *c)
{
	c->cycles = 0;
	c->exact = false;
}

void nt_ctr_time(struct nt_ctr *c, unsigned int mode, uint64_t time)
{
	/* a trace's time may go back: then the number of cycles is unknown */
	if (time < c->last_time)
		c->exact = false;
	else if (ctr_enabled(c, mode) && !c->frozen)
		c->cycles += time - c->last_time;
	c->last_time = time;
}

/*
 * Time passes until the transfer.  If it is unknown, cycles in counting modes cannot be separated
 * from others.
 */
static void pass_time(struct nt_ctr *c, const struct nt_ctr_transfer *t)
{
	if (t->flags & NT_CTR_TIME)
		nt_ctr_time(c, t->source, t->time);
	else if (t->source != t->target)
		c->exact = false;
}

/* CCV and CC of a record; restarts counting */
static uint64_t take_cycles(struct nt_ctr *c, bool timed)
{
	uint64_t data = 0;

	if (timed && c->exact)
		data = NT_CTRDATA_CCV |
		       (uint64_t)nt_ctr_cycles_encode(c->cycles, c->params.cce_bits) << 16;
	c->exact = timed;
	c->cycles = 0;
	return data;
}

/* ------------------------------------------------------------ recording -- */

static void fill(struct nt_ctr *c, struct nt_ctr_entry *e, const struct nt_ctr_transfer *t,
		 uint64_t from, uint64_t to)
{
	uint64_t misp = t->flags & NT_CTR_MISPREDICTED ? NT_CTRTARGET_MISP : 0;

	e->source = (from & ~1ull) | NT_CTRSOURCE_V;
	e->target = ((to & ~1ull) | misp) & c->target_mask;
	e->data = (t->type | take_cycles(c, t->flags & NT_CTR_TIME)) & c->data_mask;
}

/* The youngest entry becomes invalid, and the oldest; its cycles continue to count. */
static void pop(struct nt_ctr *c)
{
	struct nt_ctr_entry *e = ctr_at(c, 0);

	if ((e->source & NT_CTRSOURCE_V) && (e->data & NT_CTRDATA_CCV))
		c->cycles += nt_ctr_cycles_decode((uint16_t)(e->data >> 16));
	else
		c->exact = false;
	e->source &= ~NT_CTRSOURCE_V;
	if (!c->wrptr) {
		c->wrptr = c->depth;
		c->wrap = false;
	}
	c->wrptr--;
}

/* RAS emulation: the buffer is a stack of calls, independent of filters (R171, R172). */
static void emulate(struct nt_ctr *c, const struct nt_ctr_transfer *t)
{
	switch (t->type) {
	case NT_TYPE_RET:
		pop(c);
		break;
	case NT_TYPE_SWAP: {
		bool wrap = c->wrap;

		/* a return and a call, in place */
		pop(c);
		fill(c, &c->entries[c->wrptr], t, t->from, t->to);
		ctr_advance(c);
		c->wrap = wrap;
		break;
	}
	case NT_TYPE_ICALL:
	case NT_TYPE_CALL:
		fill(c, &c->entries[c->wrptr], t, t->from, t->to);
		ctr_advance(c);
		break;
	}
}

static bool inhibited(uint64_t set, unsigned int type)
{
	if (type == NT_TYPE_TRAP)
		return !(~set & (NT_CTRCTL_TYPE(NT_TYPE_EXCEPTION) |
				 NT_CTRCTL_TYPE(NT_TYPE_INTERRUPT)));
	/* NTBREN has the opposite polarity (R148) */
	return !(set & NT_CTRCTL_TYPE(type)) == (type == NT_TYPE_NOT_TAKEN);
}

/*
 * A trap sets FROZEN instead of being recorded.  The register that decides depends on the trap's
 * target (R173-R175); in the draft, on its source.
 */
static bool freezes(const struct nt_ctr *c, const struct nt_ctr_transfer *t)
{
	uint64_t set = is_virtual(ctr_is_draft(c) ? t->source : t->target) ? c->vsctl : c->ctl;

	if (t->cause == NT_CTR_CAUSE_LCOFI && t->type == NT_TYPE_INTERRUPT)
		return set & NT_CTRCTL_LCOFIFRZ;
	if (t->cause == NT_CTR_CAUSE_BREAKPOINT && t->type == NT_TYPE_EXCEPTION)
		return set & NT_CTRCTL_BPFRZ;
	return false;
}

/* The table of modes (R163).  The pc of the disabled mode is not recorded. */
static void record(struct nt_ctr *c, const struct nt_ctr_transfer *t, uint64_t set)
{
	bool source = ctr_enabled(c, t->source), target = ctr_enabled(c, t->target);
	uint64_t from = t->from, to = t->to;

	if (nt_type_is_trap(t->type)) {
		if (source && !target) {
			if (!external(c, t))
				return;
			to = 0;
		} else if (!target || inhibited(set, t->type)) {
			return;
		} else if (!source) {
			from = 0;
		}
	} else {
		if (!source || inhibited(set, t->type))
			return;
		if (t->type == NT_TYPE_ERET && !target)
			to = 0;
	}
	fill(c, &c->entries[c->wrptr], t, from, to);
	ctr_advance(c);
}

static void transfer(struct nt_ctr *c, const struct nt_ctr_transfer *t)
{
	uint64_t set;

	if (t->type == NT_TYPE_NONE || t->type == 7 || t->type > 15)
		return;
	pass_time(c, t);
	if (c->frozen || t->source == NT_CTR_DEBUG || t->target == NT_CTR_DEBUG)
		return;
	if (nt_type_is_trap(t->type) && freezes(c, t)) {
		c->frozen = true;
		ctr_refresh(c);
		return;
	}
	set = settings(c, t->source, t->target);
	if (!(set & NT_CTRCTL_RASEMU))
		record(c, t, set);
	else if (ctr_enabled(c, t->source))
		emulate(c, t);
}

/* Size of the first version */
#define TRANSFER_LEAST	(offsetof(struct nt_ctr_transfer, flags) + 1)

int nt_ctr_transfer(struct nt_ctr *c, const struct nt_ctr_transfer *t)
{
	struct nt_ctr_transfer known;

	if (!ctr_take(&known, sizeof(known), t, t->size, TRANSFER_LEAST))
		return -NT_EINVAL;
	ctr_settle(c, NULL);
	transfer(c, &known);
	return 0;
}

/* --------------------------------------------------------------- events -- */

/* Types of transfers within a mode, which only affect the buffer */
#define WITHIN	(~(1u << NT_TYPE_NONE | 1u << NT_TYPE_EXCEPTION | 1u << NT_TYPE_INTERRUPT |	\
		   1u << NT_TYPE_ERET | 1u << NT_TYPE_TRAP | 1u << 7) & 0xffff)

void ctr_refresh(struct nt_ctr *c)
{
	uint64_t set = settings(c, c->mode, c->mode);
	unsigned int type;

	c->plain = c->idle = 0;
	c->walks = false;
	if (!ctr_enabled(c, c->mode) || c->frozen) {
		/* cycles still count */
		if (!c->pending.is && !c->params.cycles_per_tick)
			c->idle = WITHIN;
		return;
	}
	c->walks = (set & (NT_CTRCTL_NTBREN | NT_CTRCTL_RASEMU)) == NT_CTRCTL_NTBREN;
	if (c->pending.is || c->params.cycles_per_tick || set & NT_CTRCTL_RASEMU)
		return;
	for (type = 0; type < 16; type++)
		if (!(WITHIN >> type & 1))
			continue;
		else if (inhibited(set, type))
			c->idle |= 1u << type;
		else
			c->plain |= 1u << type;
}

static uint8_t mode_of_address(const struct nt_ctr *c, uint64_t addr)
{
	bool kernel = c->params.code_xlen == 32 ? (uint32_t)addr >= NT_RV32_TASK_SIZE : addr >> 63;

	return kernel ? NT_CTR_S : NT_CTR_U;
}

static uint8_t mode_of_context(const struct nt_event *ev)
{
	return (ev->priv & 3) | (ev->flags & NT_EVF_VIRT ? 4 : 0);
}

/*
 * An Ownership message right after a trap or trap return has the new mode, if the privilege has
 * changed; without Ownership messages, derive it from the address.  A message has the time of its
 * last transfer.
 */
void ctr_settle(struct nt_ctr *c, const struct nt_event *next)
{
	struct nt_ctr_transfer *t = &c->pending.transfer;

	if (!c->pending.is)
		return;
	c->pending.is = false;
	if (nt_type_is_trap(t->type) || t->type == NT_TYPE_ERET) {
		if (next && next->kind == NT_EV_CONTEXT)
			t->target = mode_of_context(next);
		else if (!c->owned)
			t->target = mode_of_address(c, t->to);
	}
	if (next && next->offset == c->pending.offset && next->kind != NT_EV_CONTEXT)
		t->flags &= (uint8_t)~NT_CTR_TIME;
	/* a message without timestamp has the time of the previous one */
	if (t->flags & NT_CTR_TIME && t->time == c->last_time)
		t->flags &= (uint8_t)~NT_CTR_TIME;
	transfer(c, t);
	c->mode = t->target;
	ctr_refresh(c);
}

/* Derive properties of a trap from the instruction that did not retire. */
static void look_at_trap(struct nt_code *code, struct nt_ctr_transfer *t)
{
	struct nt_insn insn;

	if (!code || t->type == NT_TYPE_INTERRUPT || nt_code_insn(code, t->from, &insn) < 0 ||
	    !(insn.flags & NT_INSN_TRAPS))
		return;
	t->type = NT_TYPE_EXCEPTION;
	if (insn.raw == 0x00100073 || (insn.len == 2 && insn.raw == 0x9002))
		t->cause = NT_CTR_CAUSE_BREAKPOINT;
}

static void branch(struct nt_ctr *c, struct nt_code *code, const struct nt_event *ev)
{
	struct nt_ctr_transfer t = {
		.size = sizeof(t), .from = ev->from, .to = ev->to, .type = ev->type,
		.cause = NT_CTR_CAUSE_UNKNOWN, .source = c->mode, .target = c->mode,
	};
	bool trap = nt_type_is_trap(ev->type);

	if (c->params.cycles_per_tick && ev->flags & NT_EVF_TIME) {
		t.flags = NT_CTR_TIME;
		t.time = ev->time * c->params.cycles_per_tick;
	}
	if (trap)
		look_at_trap(code, &t);
	if (!trap && ev->type != NT_TYPE_ERET && !c->params.cycles_per_tick) {
		transfer(c, &t);
		return;
	}
	c->pending.is = true;
	c->pending.transfer = t;
	c->pending.offset = ev->offset;
	ctr_refresh(c);
}

/* --- not-taken branches: each ends a block on the path to an event -- */

static inline void put_not_taken(struct nt_ctr *c, uint64_t from, uint64_t to)
{
	struct nt_ctr_entry *e = &c->entries[c->wrptr];

	e->source = from | NT_CTRSOURCE_V;
	e->target = to & ~1ull;
	e->data = NT_TYPE_NOT_TAKEN & c->data_mask;
	ctr_restart_cycles(c);
	ctr_advance(c);
}

/* Record branches that fell through before an event, but not the event's own instruction. */
static int fall_through(struct nt_ctr *c, struct nt_code *code, const struct nt_event *ev)
{
	int ret = nt_path_event(c->path, code, ev);
	struct nt_run run;

	if (!c->walks)
		return 0;
	while (!ret && (ret = nt_path_run(c->path, &run)) > 0) {
		if (run.type == NT_TYPE_COND && !run.taken)
			put_not_taken(c, run.last, run.end);
		ret = 0;
	}
	return ret;
}

/* The lost transfers would precede the next record. */
static void lose(struct nt_ctr *c)
{
	ctr_zero(c, c->room);
	ctr_restart_cycles(c);
}

static int event(struct nt_ctr *c, struct nt_code *code, const struct nt_event *ev)
{
	int err;

	ctr_settle(c, ev);
	err = fall_through(c, code, ev);
	switch (ev->kind) {
	case NT_EV_BRANCH:
		branch(c, code, ev);
		break;
	case NT_EV_START:
		if (!c->owned)
			c->mode = mode_of_address(c, ev->to);
		c->exact = false;
		break;
	case NT_EV_STOP:
		c->exact = false;
		break;
	case NT_EV_CONTEXT:
		c->mode = mode_of_context(ev);
		c->owned = true;
		break;
	case NT_EV_LOSS:
		lose(c);
		break;
	default:
		break;
	}
	if (ev->kind != NT_EV_BRANCH)
		ctr_refresh(c);
	return err;
}

/* Record plain events up to another kind, or the end; *at: position of records */
static const struct nt_event *put_plain(const struct nt_ctr *c, struct nt_ctr_entry **at,
					const struct nt_event *ev, const struct nt_event *end)
{
	const uint32_t plain = c->plain, idle = c->idle;
	const uint64_t mask = c->data_mask;
	struct nt_ctr_entry *e = *at;

	for (; ev < end && ev->kind == NT_EV_BRANCH; ev++) {
		unsigned int type = ev->type & 15;

		if (plain >> type & 1) {
			e->source = ev->from | NT_CTRSOURCE_V;
			e->target = ev->to & ~1ull;
			e->data = type & mask;
			e++;
		} else if (!(idle >> type & 1)) {
			break;
		}
	}
	*at = e;
	return ev;
}

/* The same with branches not taken */
static unsigned int quick_walk(struct nt_ctr *c, struct nt_code *code, const struct nt_event *ev,
			       unsigned int n, int *err)
{
	const uint32_t plain = c->plain, idle = c->idle;
	unsigned int i;

	for (i = 0; i < n && ev[i].kind == NT_EV_BRANCH; i++) {
		uint32_t type = 1u << (ev[i].type & 15);
		struct nt_ctr_entry *e;
		int ret;

		if (!((plain | idle) & type))
			break;
		ret = fall_through(c, code, &ev[i]);
		*err = *err ? *err : ret;
		if (!(plain & type))
			continue;
		e = &c->entries[c->wrptr];
		e->source = ev[i].from | NT_CTRSOURCE_V;
		e->target = ev[i].to & ~1ull;
		e->data = ev[i].type & c->data_mask;
		ctr_advance(c);
	}
	return i;
}

/* Fast path for most events: the leading plain ones.  Returns their number. */
static unsigned int quick(struct nt_ctr *c, struct nt_code *code, const struct nt_event *ev,
			  unsigned int n, int *err)
{
	const struct nt_event *p = ev, *end = ev + n, *stop;

	if (c->walks)
		return quick_walk(c, code, ev, n, err);
	do {
		/* as many as certainly fit before the buffer wraps */
		struct nt_ctr_entry *e = &c->entries[c->wrptr];
		uint32_t room = c->depth - c->wrptr;

		stop = (size_t)(end - p) > room ? p + room : end;
		p = put_plain(c, &e, p, stop);
		c->wrptr = (uint32_t)(e - c->entries);
		if (c->wrptr == c->depth) {
			c->wrptr = 0;
			c->wrap = true;
		}
	} while (p == stop && p < end);
	if (p > ev)
		nt_path_linear(c->path, code, p[-1].to, 0);
	return (unsigned int)(p - ev);
}

static int events(struct nt_ctr *c, struct nt_code *code, const struct nt_event *ev,
		  unsigned int n)
{
	unsigned int i = 0;
	int err = 0;

	while ((i += quick(c, code, ev + i, n - i, &err)) < n) {
		int e = event(c, code, &ev[i++]);

		err = err ? err : e;
	}
	/* the caller may free the code */
	nt_path_release(c->path);
	return err;
}

/* Size of struct nt_event in the first version */
#define EVENT_LEAST	(offsetof(struct nt_event, flags) + 1)

int nt_ctr_events_sized(struct nt_ctr *c, struct nt_code *code, const struct nt_event *ev,
			size_t size, unsigned int n)
{
	struct nt_event known;
	unsigned int i;
	int err = 0, ret;

	if (size == sizeof(*ev))
		return events(c, code, ev, n);
	if (size < EVENT_LEAST)
		return -NT_EINVAL;
	for (i = 0; i < n; i++) {
		memset(&known, 0, sizeof(known));
		memcpy(&known, (const char *)ev + i * size,
		       size < sizeof(known) ? size : sizeof(known));
		ret = events(c, code, &known, 1);
		err = err ? err : ret;
	}
	return err;
}
