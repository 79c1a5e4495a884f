// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counting against delivering: what nt_flow_count() adds up, and the events that it passes on, are
 * what nt_flow_next() delivers; for traces that are right, damaged ones, and any bytes.
 */
#include "hart.h"

#define WINDOWS		2	/* the same one: in the second most is known */
#define EVENTS_MAX	500
#define EDGE_SLOTS	1024
#define BATCH		64

struct damage {
	unsigned int at, with;
};

static struct {
	struct fuzz_hart hart;
	struct nt_params params;
	const uint8_t *trace;
	size_t len;
	bool invalidate;
	/* what the slow path delivers: its edges by hash, and all other events */
	struct nt_edge edges[EDGE_SLOTS];
	uint16_t used[EVENTS_MAX];	/* places in edges */
	struct nt_event others[EVENTS_MAX];
	unsigned int nr_edges, nr_others, nr_events;
	uint64_t insns;
} c;

static void take_trace(struct input *in)
{
	unsigned int what = take(in), n = what >> 1 & 3, i;
	struct damage damage[3];

	c.invalidate = what & 8;
	if (what & 1) {
		take_params(in, &c.params);
		fuzz_program_make(&c.hart.prog, in, &c.params, false);
		c.params.jvt = c.hart.prog.base;
		c.trace = in->p;
		c.len = left(in);
		return;
	}
	for (i = 0; i < n; i++) {
		damage[i].at = take(in) | take(in) << 8;
		damage[i].with = take(in);
	}
	fuzz_execute(&c.hart, in);
	c.params = c.hart.params;
	c.trace = c.hart.trace;
	c.len = c.hart.len;
	for (i = 0; i < n && c.len; i++)
		c.hart.trace[damage[i].at % c.len] ^= damage[i].with;
}

/* ------------------------------------------------------------ slow path - */

static struct nt_edge *find_edge(uint64_t from, uint64_t to, unsigned int type)
{
	uint64_t h = ((from * 31 + to) * 31 + type) * 0x9e3779b97f4a7c15u >> 54;
	struct nt_edge *e;

	for (; ; h = (h + 1) % EDGE_SLOTS) {
		e = &c.edges[h];
		if (!e->count || (e->from == from && e->to == to && e->type == type))
			return e;
	}
}

static void on_event(const struct nt_event *ev)
{
	struct nt_edge *e;

	c.insns += ev->insns;
	if (ev->kind != NT_EV_BRANCH) {
		c.others[c.nr_others++] = *ev;
		return;
	}
	e = find_edge(ev->from, ev->to, ev->type);
	if (!e->count)
		c.used[c.nr_edges++] = e - c.edges;
	*e = (struct nt_edge){
		.from = ev->from, .to = ev->to, .count = e->count + 1, .type = ev->type,
	};
}

/* False when there is too much of it. */
static bool deliver(struct nt_flow *flow)
{
	struct nt_event ev[BATCH];
	int i, n;

	nt_flow_window(flow, c.trace, c.len, 0);
	while ((n = nt_flow_next(flow, ev, BATCH)) > 0) {
		c.nr_events += n;
		if (c.nr_events > EVENTS_MAX)
			return false;
		for (i = 0; i < n; i++)
			on_event(&ev[i]);
	}
	MUST(!n);
	return true;
}

/* ------------------------------------------------------------- counting - */

static void compare_event(const struct nt_event *a, const struct nt_event *b)
{
	MUST(a->kind == b->kind && a->from == b->from && a->to == b->to && a->time == b->time &&
	     a->offset == b->offset && a->context == b->context && a->type == b->type &&
	     a->reason == b->reason && a->flags == b->flags);
}

static void count(struct nt_flow *flow, struct nt_counts *counts, unsigned int *other)
{
	struct nt_event ev[256];
	int i, n;

	nt_flow_window(flow, c.trace, c.len, 0);
	while ((n = nt_flow_count(flow, counts, ev, 256)) > 0) {
		MUST(*other + n <= c.nr_others);
		for (i = 0; i < n; i++)
			compare_event(&ev[i], &c.others[(*other)++]);
	}
	MUST(!n);
}

static void compare_edges(struct nt_counts *counts)
{
	struct nt_counts_stats stats = { .size = sizeof(stats) };
	const struct nt_edge *edge;
	unsigned int nr = 0;
	size_t i, n;

	edge = nt_counts_edges(counts, &n);
	for (i = 0; i < n; i++) {
		/* an edge of a message that was refused is known, and was never taken */
		if (!edge[i].count)
			continue;
		MUST(find_edge(edge[i].from, edge[i].to, edge[i].type)->count == edge[i].count);
		nr++;
	}
	MUST(nr == c.nr_edges);
	nt_counts_get_stats(counts, &stats);
	MUST(stats.insns == c.insns);
}

static void begin(struct nt_code **code, struct nt_flow **flow)
{
	*code = nt_code_new(&c.params, fuzz_read, &c.hart.prog);
	*flow = nt_flow_new(&c.params);
	MUST(*code && *flow);
	nt_flow_set_code(*flow, *code, *code);
}

static void end(struct nt_code *code, struct nt_flow *flow)
{
	nt_flow_free(flow);
	nt_code_free(code);
}

static bool slow(void)
{
	struct nt_code *code;
	struct nt_flow *flow;
	unsigned int i;
	bool all = true;

	begin(&code, &flow);
	for (i = 0; i < WINDOWS && all; i++)
		all = deliver(flow);
	end(code, flow);
	return all;
}

static void fast(void)
{
	struct nt_counts *counts = nt_counts_new();
	unsigned int i, other = 0;
	struct nt_code *code;
	struct nt_flow *flow;

	MUST(counts);
	begin(&code, &flow);
	for (i = 0; i < WINDOWS; i++) {
		count(flow, counts, &other);
		if (c.invalidate)
			nt_code_invalidate(code, 0, 0);
	}
	MUST(other == c.nr_others);
	compare_edges(counts);
	end(code, flow);
	nt_counts_free(counts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, data + size };

	while (c.nr_edges)
		c.edges[c.used[--c.nr_edges]].count = 0;
	c.nr_others = c.nr_events = 0;
	c.insns = 0;
	take_trace(&in);
	if (slow())
		fast();
	return 0;
}
