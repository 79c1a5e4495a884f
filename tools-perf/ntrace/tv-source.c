// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace tv verify: an N-Trace as a partial trace, and a recorded trace as the verifier
 */
#include <stdlib.h>
#include <string.h>

#include "tv-verify.h"

#define BATCH	256

/* ------------------------------------------------- a decoded N-Trace ----- */

struct run;

struct walker {
	struct nt_code *code;
	struct nt_flow *flow;
	struct nt_path *path;
	struct nt_event events[BATCH];
	int n, i;
	uint32_t done;		/* instructions of events[i] that are done */
	uint64_t pc;
	uint64_t mask;		/* of addresses */
	struct nt_tv_group group;
	struct nt_tv_item pc_item;
	struct run *runs;	/* an array of RUNS elements */
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

/* The next instruction of an event */
static int one_insn(struct tv_source *s, const struct nt_event *ev)
{
	struct walker *w = s->own;
	struct nt_insn insn;
	int len = nt_code_insn(w->code, w->pc, &insn);
	bool last = ++w->done == ev->insns && ev->kind == NT_EV_BRANCH &&
		    !nt_type_is_trap(ev->type);

	if (len < 0)
		die("%s: no code at 0x%llx, where the decoder found an instruction before: a mistake "
		    "of ntrace", s->name, (unsigned long long)w->pc);
	w->group.insn = (uint32_t)insn.raw;
	w->group.insn_bytes = len == 2 ? 2 : 4;
	if (len == 2)
		w->group.insn &= 0xffff;
	return told(s, ev, last ? ev->to : (w->pc + (unsigned int)len) & w->mask, 0);
}

/* What follows the instructions of an event; 0: nothing */
static int after_insns(struct tv_source *s, const struct nt_event *ev)
{
	struct walker *w = s->own;

	w->group.insn_bytes = 0;
	w->i++;
	w->done = 0;
	switch (ev->kind) {
	case NT_EV_BRANCH:
		return nt_type_is_trap(ev->type) ? told(s, ev, ev->to, 0) : 0;
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

/* ------------------------------------------------ runs, as their bytes --- */

/*
 * A program executes the same code many times. So the bytes of a run's groups are cached, and a
 * comparison is a single memcmp(). A reader between groups has already read the BEGIN of the next
 * one. So the bytes of a group exclude its own BEGIN, and include that of the next group.
 */
#define RUNS		32768u
#define RUN_INSNS	1024	/* longer runs are compared group by group */
#define GROUP_BYTES	16	/* of the longest group: BEGIN, pc, instruction */

struct run {
	uint64_t pc, to;
	uint32_t insns, len;
	uint8_t *bytes;
};

static uint8_t *put_group(uint8_t *p, const struct walker *w, const struct nt_insn *insn,
			  unsigned int len, uint64_t pc, uint64_t next)
{
	unsigned int bytes = w->mask == UINT32_MAX ? 4 : 8;

	if (next == ((pc + len) & w->mask)) {
		*p++ = NT_TV_INCPC;
	} else {
		*p++ = NT_TV_STATE;
		*p++ = NT_TV_PC;
		p = nt_tv_put(p, next, bytes);
	}
	*p++ = len == 2 ? NT_TV_INSN16 : NT_TV_INSN32;
	p = nt_tv_put32(p, (uint32_t)insn->raw) - (len == 2 ? 2 : 0);
	*p++ = NT_TV_BEGIN;
	return p;
}

static bool fill_run(struct run *r, const struct walker *w)
{
	struct nt_insn insn;
	uint8_t *p;

	free(r->bytes);
	r->bytes = p = malloc(r->insns * GROUP_BYTES);
	if (!p)
		die("%s", nt_strerror(NT_ENOMEM));
	nt_path_linear(w->path, w->code, r->pc, r->insns);
	for (uint32_t i = 0; i < r->insns; i++) {
		if (nt_path_insn(w->path, &insn) <= 0 || (insn.len != 2 && insn.len != 4))
			return false;
		p = put_group(p, w, &insn, insn.len, insn.pc,
			      i + 1 == r->insns ? r->to : nt_path_pc(w->path));
	}
	r->len = (uint32_t)(p - r->bytes);
	return true;
}

static const struct run *find_run(struct walker *w, const struct nt_event *ev)
{
	uint64_t hash = (w->pc ^ ev->to << 21 ^ ev->to >> 5 ^ (uint64_t)ev->insns << 40) *
			0x9e3779b97f4a7c15ull;
	struct run *r = &w->runs[hash >> 49];

	if (r->pc == w->pc && r->to == ev->to && r->insns == ev->insns && r->len)
		return r;
	*r = (struct run){ .pc = w->pc, .to = ev->to, .insns = ev->insns, .bytes = r->bytes };
	if (fill_run(r, w))
		return r;
	r->len = 0;
	return NULL;
}

/* The next event, if it is a run that has not begun; otherwise NULL */
static const struct nt_event *next_run(struct walker *w)
{
	const struct nt_event *ev = &w->events[w->i];

	/* a run that was compared group by group, with nothing after its instructions */
	if (w->i < w->n && w->done && w->done == ev->insns && ev->kind == NT_EV_BRANCH &&
	    !nt_type_is_trap(ev->type)) {
		ev = &w->events[++w->i];
		w->done = 0;
	}
	if (w->i == w->n) {
		w->i = w->done = 0;
		w->n = nt_flow_next(w->flow, w->events, BATCH);
		if (w->n < 0)
			die("%s", nt_strerror(w->n));
		ev = w->events;
		if (!w->n)
			return NULL;
	}
	return w->done || ev->kind != NT_EV_BRANCH || nt_type_is_trap(ev->type) || !ev->insns ||
	       ev->insns > RUN_INSNS ? NULL : ev;
}

/*
 * Advance both sources to the position of the N-Trace. An empty group stands for those that were
 * skipped.
 */
static void catch_up(const struct walker *w, struct tv_source *ntrace, struct tv_source *tv)
{
	const struct tv_input *in = tv->own;
	const struct nt_tv_item begin = { .offset = in->reader.offset - 1, .opcode = NT_TV_BEGIN };

	nt_tv_shadow_set_state(ntrace->shadow, NT_TV_PC, w->pc);
	nt_tv_shadow_set_state(tv->shadow, NT_TV_PC, w->pc);
	nt_tv_shadow_item(tv->shadow, &begin);
}

uint64_t tv_same_runs(struct tv_source *ntrace, struct tv_source *tv, uint64_t max)
{
	struct walker *w = ntrace->own;
	struct tv_input *in = tv->own;
	const struct nt_event *ev;
	uint64_t insns = 0, pc = 0;

	if (!in->reader.in_group || !nt_tv_shadow_state(tv->shadow, NT_TV_PC, &pc) || pc != w->pc)
		return 0;
	while ((ev = next_run(w)) && insns + ev->insns <= max) {
		const struct run *r = find_run(w, ev);
		const uint8_t *bytes = r ? tv_peek(in, r->len) : NULL;

		if (!bytes || memcmp(bytes, r->bytes, r->len))
			break;
		tv_pass(in, r->len);
		insns += ev->insns;
		w->pc = ev->to;
		w->i++;
	}
	if (insns)
		catch_up(w, ntrace, tv);
	return insns;
}

/* ---------------------------------------------------------- a source ---- */

void tv_source_ntrace(struct tv_source *s, const struct input *in)
{
	struct walker *w = calloc(1, sizeof(*w));

	if (!w || !(w->runs = calloc(RUNS, sizeof(*w->runs))))
		die("%s", nt_strerror(NT_ENOMEM));
	w->path = nt_path_new();
	if (!w->path)
		die("%s", nt_strerror(NT_ENOMEM));
	w->code = input_code(in);
	w->flow = input_flow(in, w->code, in->begin, in->size);
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

/* Groups with setup are in the recording, but need not be in the trace. */
static int step(struct tv_verifier *v, const struct nt_tv_group *g, uint64_t next_pc)
{
	struct tv_source *s = v->own;
	int ret;

	(void)g;
	(void)next_pc;
	do {
		ret = s->next(s);
	} while (ret > 0 && !tv_executes(s->group));
	v->group = s->group;
	return ret;
}

/* Resets are in the recording, too. */
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
