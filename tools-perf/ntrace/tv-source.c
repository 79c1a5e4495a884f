// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace tv verify: an N-Trace as a partial trace, and what was recorded as verifier
 */
#include <stdlib.h>
#include <string.h>

#include "tv-verify.h"

#define BATCH	256

/* ------------------------------------------------- a decoded N-Trace ----- */

struct walker {
	struct nt_code *code;
	struct nt_flow *flow;
	struct nt_event events[BATCH];
	int n, i;
	uint32_t done;		/* instructions of events[i] */
	uint64_t pc;
	uint64_t mask;		/* of addresses */
	struct nt_tv_group group;
	struct nt_tv_item pc_item;
};

static int told(struct tv_source *s, const struct nt_event *ev, uint64_t to, unsigned int flags)
{
	struct walker *w = s->own;

	w->group.offset = ev->offset;
	w->group.pc = w->pc;
	w->group.flags = (uint8_t)(flags | NT_TV_G_PC);
	w->pc_item.value = to;
	w->pc = to;
	s->at = ev->offset;
	nt_tv_shadow_set_state(s->shadow, NT_TV_PC, to);
	return 1;
}

static bool is_trap(const struct nt_event *ev)
{
	return ev->type == NT_TYPE_EXCEPTION || ev->type == NT_TYPE_INTERRUPT ||
	       ev->type == NT_TYPE_TRAP;
}

/* The next of the instructions that the event tells of */
static int one_insn(struct tv_source *s, const struct nt_event *ev)
{
	struct walker *w = s->own;
	struct nt_insn insn;
	int len = nt_code_insn(w->code, w->pc, &insn);
	bool last = ++w->done == ev->insns && ev->kind == NT_EV_BRANCH && !is_trap(ev);

	if (len < 0)
		die("no code at %llx any more", (unsigned long long)w->pc);
	w->group.insn = (uint32_t)insn.raw;
	w->group.insn_bytes = len == 2 ? 2 : 4;
	if (len == 2)
		w->group.insn &= 0xffff;
	return told(s, ev, last ? ev->to : (w->pc + (unsigned int)len) & w->mask, 0);
}

/* What is behind the instructions; 0: nothing */
static int after_insns(struct tv_source *s, const struct nt_event *ev)
{
	struct walker *w = s->own;

	w->group.insn_bytes = 0;
	w->i++;
	w->done = 0;
	switch (ev->kind) {
	case NT_EV_BRANCH:
		return is_trap(ev) ? told(s, ev, ev->to, 0) : 0;
	case NT_EV_START:
		return told(s, ev, ev->to, NT_TV_G_INIT);
	case NT_EV_LOSS:
		out_trouble(ev);
		return -1;
	case NT_EV_NOTICE:
		out_trouble(ev);
	}
	return 0;
}

static int ntrace_next(struct tv_source *s)
{
	struct walker *w = s->own;
	int ret = 0;

	while (!ret) {
		const struct nt_event *ev = &w->events[w->i];

		if (w->i == w->n) {
			w->i = 0;
			w->n = nt_flow_next(w->flow, w->events, BATCH);
			if (w->n < 0)
				die("%s", nt_strerror(w->n));
			if (!w->n)
				return 0;
			continue;
		}
		ret = w->done < ev->insns ? one_insn(s, ev) : after_insns(s, ev);
	}
	return ret;
}

void tv_source_ntrace(struct tv_source *s, const struct input *in)
{
	struct walker *w = calloc(1, sizeof(*w));

	if (!w)
		die("%s", nt_strerror(NT_ENOMEM));
	w->code = input_code(in);
	w->flow = input_flow(in, w->code, 0, in->size);
	w->mask = in->params.xlen == 32 ? UINT32_MAX : UINT64_MAX;
	w->pc_item = (struct nt_tv_item){ .opcode = NT_TV_STATE, .ident = NT_TV_PC };
	w->group.items = &w->pc_item;
	w->group.n = 1;
	s->group = &w->group;
	s->own = w;
	s->next = ntrace_next;
	s->pc_only = true;
}

/* ---------------------------------------------- a recorded verifier ------ */

static bool read_reg(struct tv_verifier *v, uint16_t reg, uint64_t *value)
{
	const struct tv_source *s = v->own;

	return nt_tv_shadow_reg(s->shadow, reg, value);
}

static bool read_state(struct tv_verifier *v, enum nt_tv_ident ident, uint64_t *value)
{
	const struct tv_source *s = v->own;

	return nt_tv_shadow_state(s->shadow, ident, value);
}

static size_t read_memory(struct tv_verifier *v, uint64_t addr, void *buf, size_t len)
{
	const struct tv_source *s = v->own;

	return nt_tv_shadow_read(s->shadow, addr, buf, len);
}

static void write_reg(struct tv_verifier *v, uint16_t reg, uint64_t value)
{
	const struct tv_source *s = v->own;

	nt_tv_shadow_set_reg(s->shadow, reg, value);
}

static void write_state(struct tv_verifier *v, enum nt_tv_ident ident, uint64_t value)
{
	const struct tv_source *s = v->own;

	nt_tv_shadow_set_state(s->shadow, ident, value);
}

static void write_memory(struct tv_verifier *v, uint64_t addr, const void *buf, size_t len)
{
	const struct tv_source *s = v->own;
	int err = nt_tv_shadow_write(s->shadow, addr, buf, len);

	if (err)
		die("%s: address %llx: %s", s->name, (unsigned long long)addr,
		    nt_tv_strerror(err));
}

bool tv_executes(const struct nt_tv_group *g)
{
	return !(g->flags & (NT_TV_G_INIT | NT_TV_G_RESET | NT_TV_G_ALONE)) && g->n;
}

/* It was recorded what was set up; that is not the trace's business. */
static int step(struct tv_verifier *v)
{
	struct tv_source *s = v->own;
	int ret;

	do {
		ret = s->next(s);
	} while (ret > 0 && !tv_executes(s->group));
	v->group = s->group;
	return ret;
}

/* A reset is in the recording, too. */
static void reset(struct tv_verifier *v)
{
	(void)v;
}

void tv_recorded_init(struct tv_verifier *v, struct tv_source *s)
{
	static const struct tv_verifier_ops ops = {
		.read_reg = read_reg, .read_state = read_state, .read_memory = read_memory,
		.write_reg = write_reg, .write_state = write_state,
		.write_memory = write_memory, .step = step, .reset = reset,
	};

	*v = (struct tv_verifier){ .ops = &ops, .pc_only = s->pc_only, .own = s };
}
