/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What events claim: that the code between them is linear, up to each one's `from`. Holds for any
 * trace, however damaged; whether it happened is another question.
 */
#ifndef SELFTESTS_LINEAR_H
#define SELFTESTS_LINEAR_H

#include <stdbool.h>

#include "ntrace.h"

#define LINEAR_MAX	4096

struct linear {
	struct nt_code *code;
	uint64_t mask;		/* of addresses */
	uint64_t pc;
	bool running;		/* between START and STOP or LOSS */
	/* pcs of the last event's instructions, the first of them */
	uint64_t walked[LINEAR_MAX];
	unsigned int nr_walked;
};

/* The instructions that the event counts */
static inline const char *linear_walk(struct linear *l, const struct nt_event *ev)
{
	struct nt_insn insn = { .type = NT_TYPE_NONE };
	uint64_t last = l->pc;
	uint32_t n;

	l->nr_walked = 0;
	for (n = 0; n < ev->insns; n++) {
		if (insn.type != NT_TYPE_NONE && insn.type != NT_TYPE_COND)
			return "a transfer is not reported";
		if (nt_code_insn(l->code, l->pc, &insn) < 0)
			return "no code";
		if (insn.flags & NT_INSN_TRAPS)
			return "counts what never retires";
		if (n < LINEAR_MAX)
			l->walked[l->nr_walked++] = l->pc;
		last = l->pc;
		l->pc = (l->pc + insn.len) & l->mask;
	}
	if (ev->kind != NT_EV_BRANCH || nt_type_is_trap(ev->type))
		return NULL;
	if (!ev->insns || ev->from != last)
		return "a branch is not the last instruction";
	if ((insn.flags & NT_INSN_DIRECT) && (ev->to != insn.target || ev->type != insn.type))
		return "a branch goes elsewhere";
	return NULL;
}

/* NULL, or what is wrong with the event */
static inline const char *linear_event(struct linear *l, const struct nt_event *ev)
{
	bool ends = ev->kind == NT_EV_STOP || ev->kind == NT_EV_LOSS;
	const char *wrong;

	l->nr_walked = 0;
	if (ev->kind == NT_EV_NOTICE || ev->kind == NT_EV_CONTEXT || !l->running) {
		if (ev->insns)
			return "counts instructions";
		if (!l->running && (ev->kind == NT_EV_BRANCH || ev->kind == NT_EV_STOP))
			return "no START before it";
	} else {
		wrong = linear_walk(l, ev);
		if (wrong)
			return wrong;
		if (ev->kind == NT_EV_START)
			return "START in a stretch";
		if ((ends || nt_type_is_trap(ev->type)) && ev->from != l->pc)
			return "ends elsewhere";
	}
	if (ev->kind == NT_EV_BRANCH || ev->kind == NT_EV_START)
		l->pc = ev->to;
	l->running = (l->running || ev->kind == NT_EV_START) && !ends;
	return NULL;
}

#endif /* SELFTESTS_LINEAR_H */
