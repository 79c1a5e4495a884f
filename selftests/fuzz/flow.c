// SPDX-License-Identifier: GPL-2.0-only
/*
 * The flow layer with any program: parameters, a program, what happens between batches, then
 * messages. What is reported has to be linear code, and the same when the messages come in pieces,
 * or are all read the plain way.
 */
#include "nt-flow.h"
#include "program.h"

#define INSNS_MAX	4096	/* looked at, of a repetition that would not end */
#define EVENTS_KEPT	256	/* to be compared */

struct follower {
	struct fuzz_program prog;
	struct nt_params params;
	struct nt_code *code;
	struct nt_flow *flow;
	uint32_t syncs;		/* that are reported */
	uint64_t pc;
	size_t len;		/* of the window */
	bool running;
	unsigned int insns;
	struct nt_event kept[EVENTS_KEPT];
	unsigned int nr_kept;
};

/* Is the code from the last event on linear, for as long as this one counts? */
static void check_linear(struct follower *f, const struct nt_event *ev)
{
	struct nt_insn insn = { .type = NT_TYPE_NONE };
	uint64_t last = f->pc;
	uint32_t n;

	MUST(ev->insns <= FUZZ_CODE);
	for (n = 0; n < ev->insns; n++) {
		MUST(insn.type == NT_TYPE_NONE || insn.type == NT_TYPE_COND);
		MUST(nt_code_insn(f->code, f->pc, &insn) > 0);
		MUST(!(insn.flags & NT_INSN_TRAPS));
		last = f->pc;
		f->pc = (f->pc + insn.len) & f->prog.mask;
	}
	f->insns += n + 1;
	if (ev->kind != NT_EV_BRANCH || nt_type_is_trap(ev->type)) {
		MUST(ev->from == f->pc);
		return;
	}
	MUST(ev->insns && ev->from == last);
	if (insn.flags & NT_INSN_DIRECT)
		MUST(ev->to == insn.target && ev->type == insn.type);
}

static bool same(const struct nt_event *a, const struct nt_event *b)
{
	return a->from == b->from && a->to == b->to && a->time == b->time &&
	       a->offset == b->offset && a->context == b->context && a->insns == b->insns &&
	       a->kind == b->kind && a->type == b->type && a->reason == b->reason &&
	       a->flags == b->flags;
}

static void check(struct follower *f, const struct nt_event *ev)
{
	MUST(ev->offset <= f->len);
	switch (ev->kind) {
	case NT_EV_NOTICE:
	case NT_EV_CONTEXT:
		MUST(!ev->insns);
		return;
	case NT_EV_START:
		MUST(!f->running && !ev->insns);
		f->running = true;
		break;
	case NT_EV_BRANCH:
	case NT_EV_SYNC:
	case NT_EV_STOP:
		MUST(f->running);
		check_linear(f, ev);
		f->running = ev->kind != NT_EV_STOP;
		break;
	case NT_EV_LOSS:
		if (f->running)
			check_linear(f, ev);
		f->running = false;
		break;
	default:
		abort();
	}
	f->pc = ev->to;
}

/* Between two batches: the program goes away and comes back, other numbers for its blocks */
static void interfere(struct follower *f, unsigned int d)
{
	switch (d & 7) {
	case 1:
		nt_code_invalidate(f->code, 0, 0);
		break;
	case 2:
		nt_code_invalidate(f->code, f->prog.base + (d >> 3), f->prog.base + (d >> 3) + 2);
		break;
	case 3:
		nt_flow_set_code(f->flow, f->code, NULL);
		break;
	case 4:
		nt_flow_set_code(f->flow, f->code, f->code);
		break;
	case 5:
		nt_flow_limit(f->flow, d);
		break;
	}
}

static void follow(struct follower *f, struct input *in, unsigned int what)
{
	unsigned int max = 1 + (what >> 2 & 0x3f);
	struct nt_event ev[64];
	int n, i;

	f->len = left(in);
	f->running = false;
	nt_flow_report_syncs(f->flow, f->syncs);
	nt_flow_window(f->flow, in->p, f->len, 0);
	if (what & 1)
		nt_flow_skip_partial(f->flow);
	for (;;) {
		n = nt_flow_next(f->flow, ev, max);
		MUST(n >= 0 && n <= (int)max);
		for (i = 0; i < n; i++) {
			check(f, &ev[i]);
			if (f->nr_kept < EVENTS_KEPT)
				f->kept[f->nr_kept++] = ev[i];
		}
		if (!n && nt_flow_at_limit(f->flow))
			nt_flow_limit(f->flow, UINT64_MAX);
		else if (!n || f->insns > INSNS_MAX)
			break;
		else if (what & 2)
			interfere(f, f->pc ^ what);
	}
	if (!n)
		MUST(nt_flow_consumed(f->flow) == f->len && !f->running);
}

/*
 * What was kept, from a decoder that gets `piece` bytes more at a time. Up to the first loss: what
 * is no message may be lost in several pieces.
 */
static void compare_pieces(struct follower *f, struct input *in, size_t piece)
{
	struct nt_flow *flow = nt_flow_new(&f->params);
	struct nt_event ev[EVENTS_KEPT];
	unsigned int nr = 0, i;
	size_t end = 0;
	int n = 0;

	MUST(flow);
	nt_flow_set_code(flow, f->code, f->code);
	nt_flow_report_syncs(flow, f->syncs);
	nt_flow_open_end(flow, true);
	nt_flow_window(flow, in->p, 0, 0);
	while (nr < f->nr_kept) {
		n = nt_flow_next(flow, ev, EVENTS_KEPT);
		MUST(n >= 0);
		for (i = 0; i < (unsigned int)n && nr < f->nr_kept; i++, nr++) {
			if (f->kept[nr].kind == NT_EV_LOSS)
				goto out;
			MUST(same(&ev[i], &f->kept[nr]));
		}
		if (n)
			continue;
		MUST(end < f->len);
		in->p += nt_flow_consumed(flow);
		end = end + piece < f->len ? end + piece : f->len;
		nt_flow_open_end(flow, end < f->len);
		nt_flow_more(flow, in->p, in->end - f->len + end - in->p,
			     f->len - left(in));
	}
out:
	nt_flow_free(flow);
}

/* What was kept, once more: the graph is there, so nt_loop() does all that it can, or nothing. */
static void compare_again(struct follower *f, const uint8_t *bytes, bool skip, bool slow,
			  bool large)
{
	struct nt_flow *flow = nt_flow_new(&f->params);
	struct nt_event ev[EVENTS_KEPT];
	unsigned int nr = 0, i;
	int n;

	MUST(flow);
	flow->slow = slow;
	if (large)
		flow->ahead_from = 0;
	nt_flow_set_code(flow, f->code, f->code);
	nt_flow_report_syncs(flow, f->syncs);
	nt_flow_window(flow, bytes, f->len, 0);
	if (skip)
		nt_flow_skip_partial(flow);
	while (nr < f->nr_kept) {
		n = nt_flow_next(flow, ev, EVENTS_KEPT);
		MUST(n > 0);
		for (i = 0; i < (unsigned int)n && nr < f->nr_kept; i++, nr++)
			MUST(same(&ev[i], &f->kept[nr]));
	}
	nt_flow_free(flow);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, data + size };
	static struct follower f;
	unsigned int what;

	take_params(&in, &f.params);
	what = take(&in);
	fuzz_program_make(&f.prog, &in, &f.params, false);
	f.params.jvt = f.prog.base;
	f.insns = f.nr_kept = 0;
	f.syncs = what & 4 ? (uint32_t)what << 8 | what : 0;
	f.code = nt_code_new(&f.params, fuzz_read, &f.prog);
	f.flow = nt_flow_new(&f.params);
	MUST(f.code && f.flow);
	nt_flow_set_code(f.flow, f.code, f.code);
	follow(&f, &in, what);
	/* once more: the graph is there, a stretch may join the last */
	if (what & 2)
		follow(&f, &in, what & ~2u);
	if (!(what & 2)) {
		compare_again(&f, in.p, what & 1, false, false);
		compare_again(&f, in.p, what & 1, false, true);
		compare_again(&f, in.p, what & 1, true, false);
	}
	if (!(what & 3) && f.len)
		compare_pieces(&f, &in, 1 + (what >> 2));
	nt_flow_free(f.flow);
	nt_code_free(f.code);
	return 0;
}
