// SPDX-License-Identifier: GPL-2.0-only
/*
 * The encoder's round trip: options, a program, its execution. The decoder reports what happened,
 * all of it and nothing else.
 */
#include "hart.h"

struct follower {
	const struct fuzz_hart *h;
	unsigned int item;	/* next to be reported */
	uint64_t pc;
	bool running;
	bool lost;		/* tt-dfd does not say whether a branch to the next was taken */
};

static void check_retired(struct follower *f, const struct nt_event *ev)
{
	const struct fuzz_item *it = &f->h->items[f->item];
	uint32_t n;

	MUST(ev->insns <= f->h->nr_items - f->item);
	for (n = 0; n < ev->insns; n++, it++) {
		MUST(it->type == NT_TYPE_NONE && it->from == f->pc);
		f->pc = it->to;
	}
	f->item += n;
}

static bool is_last_trap(const struct follower *f, const struct nt_event *ev)
{
	const struct fuzz_item *it = &f->h->items[f->item];

	return f->item < f->h->nr_items && it->from == ev->from &&
	       ends_at_trap(&f->h->params, ev, it->type, f->h->trace, f->h->len);
}

static void check(struct follower *f, const struct nt_event *ev)
{
	const bool tt_dfd = f->h->params.profile == NT_PROFILE_TT_DFD;
	const struct fuzz_item *it = f->h->items;

	switch (ev->kind) {
	case NT_EV_CONTEXT:
		return;
	case NT_EV_START:
		MUST(!f->running);
		f->running = true;
		f->pc = ev->to;
		return;
	case NT_EV_STOP:
		MUST(f->running);
		f->running = false;
		check_retired(f, ev);
		MUST(ev->from == f->pc && ev->reason != NT_EVCODE_NONE);
		f->item += is_last_trap(f, ev);
		return;
	case NT_EV_BRANCH:
		MUST(f->running);
		check_retired(f, ev);
		MUST(f->item < f->h->nr_items);
		it += f->item++;
		MUST(ev->type == it->type && ev->from == it->from);
		MUST(ev->flags & NT_EVF_LEFT ? tt_dfd && !ev->to : ev->to == it->to);
		f->pc = ev->to;
		return;
	case NT_EV_LOSS:
		MUST(tt_dfd && ev->reason == NT_ENOHIST);
		f->lost = true;
		return;
	}
	abort();	/* NOTICE */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, data + size };
	static struct fuzz_hart hart;
	struct follower f = { .h = &hart };
	struct nt_event ev[64];
	struct nt_code *code;
	struct nt_flow *flow;
	int n, i;

	fuzz_execute(&hart, &in);
	code = nt_code_new(&hart.params, fuzz_read, &hart.prog);
	flow = nt_flow_new(&hart.params);
	MUST(code && flow);
	nt_flow_set_code(flow, code, code);
	nt_flow_window(flow, hart.trace, hart.len, 0);
	while ((n = nt_flow_next(flow, ev, 64)) > 0)
		for (i = 0; i < n && !hart.lossy && !f.lost; i++)
			check(&f, &ev[i]);
	MUST(!n && nt_flow_consumed(flow) == hart.len);
	MUST(hart.lossy || f.lost || (f.item == hart.nr_items && !f.running));
	nt_flow_free(flow);
	nt_code_free(code);
	return 0;
}
