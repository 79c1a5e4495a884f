// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counting against delivering: what nt_flow_count() adds up, and the events that it passes on, are
 * what nt_flow_next() delivers; for traces that are right, damaged ones, and any bytes. So are
 * those of nt_flow_count_until(), between which the decoder goes on and returns, and which delivers
 * each branch behind code that is watched.
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
	bool invalidate, returns;
	uint64_t watch_from, watch_to;
	/* what the slow path delivers: its edges by hash, and all other events */
	struct nt_edge edges[EDGE_SLOTS];
	unsigned int delivered[EDGE_SLOTS];	/* how often each was an event, not counted */
	uint16_t used[EVENTS_MAX];	/* places in edges */
	struct nt_event others[EVENTS_MAX];
	unsigned int nr_edges, nr_others, nr_events;
	uint64_t insns;
	uint64_t run;			/* where the code since the last transfer begins ... */
	bool have_run;			/* ... if known */
	unsigned int watched;		/* branches behind watched code */
} c;

static void take_trace(struct input *in)
{
	unsigned int what = take(in), n = what >> 1 & 3, i;
	struct damage damage[3];

	c.invalidate = what & 8;
	c.returns = what & 16;
	c.watch_from = what >> 5 ? take(in) * 2 : UINT64_MAX;
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

/* Is the event a branch, and did watched code run before it?  Follow where code begins. */
static bool ran_watched(const struct nt_event *ev)
{
	const bool trap = nt_type_is_trap(ev->type);
	bool ran = ev->kind == NT_EV_BRANCH && c.have_run && ev->insns &&
		   c.run < c.watch_to && c.watch_from < ev->from + (trap ? 0 : 2);

	if (ev->kind == NT_EV_BRANCH || ev->kind == NT_EV_START || ev->kind == NT_EV_COUNTED) {
		c.run = ev->to;
		c.have_run = !(ev->flags & NT_EVF_LEFT);
	} else if (ev->kind == NT_EV_LOSS || ev->kind == NT_EV_STOP) {
		c.have_run = false;
	}
	return ran;
}

static void on_event(const struct nt_event *ev)
{
	struct nt_edge *e;

	c.insns += ev->insns;
	c.watched += ran_watched(ev);
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

	c.have_run = false;
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

static bool is_watched(void *ctx, uint64_t start, uint64_t end)
{
	(void)ctx;
	return start < c.watch_to && c.watch_from < end;
}

/* Decode what comes next, and return. */
static void look(struct nt_flow *flow)
{
	struct nt_event ev[BATCH];
	int n = 1, i;

	if (nt_flow_mark(flow))
		return;
	for (i = 0; i < 3 && n > 0; i++)
		n = nt_flow_next(flow, ev, BATCH);
	MUST(!nt_flow_rewind(flow));
}

/* A delivered branch is one that is not counted. */
static void on_delivered(const struct nt_event *ev, unsigned int *other)
{
	struct nt_edge *e;

	c.watched -= ran_watched(ev);
	if (ev->kind == NT_EV_COUNTED) {
		MUST(ev->from == ev->to);
	} else if (ev->kind == NT_EV_BRANCH) {
		e = find_edge(ev->from, ev->to, ev->type);
		MUST(c.delivered[e - c.edges]++ < e->count);
	} else {
		MUST(*other < c.nr_others);
		compare_event(ev, &c.others[(*other)++]);
	}
}

static void count_until(struct nt_flow *flow, struct nt_counts *counts, unsigned int *other)
{
	struct nt_event ev[256];
	int i, n;

	c.have_run = false;
	nt_flow_window(flow, c.trace, c.len, 0);
	do {
		if (c.returns)
			look(flow);
		n = nt_flow_count_until(flow, counts, ev, 256);
		for (i = 0; i < n; i++)
			on_delivered(&ev[i], other);
	} while (n > 0);
	MUST(!n);
}

/* What was counted and what was delivered are all. */
static void compare_sums(struct nt_counts *counts)
{
	const struct nt_edge *edge, *e;
	unsigned int nr = 0, i;
	size_t k, n;

	edge = nt_counts_edges(counts, &n);
	for (k = 0; k < n; k++) {
		if (!edge[k].count)
			continue;
		e = find_edge(edge[k].from, edge[k].to, edge[k].type);
		MUST(edge[k].count + c.delivered[e - c.edges] == e->count);
		nr++;
	}
	for (i = 0; i < c.nr_edges; i++)
		nr -= c.delivered[c.used[i]] < c.edges[c.used[i]].count;
	MUST(!nr);
}

static void in_parts(void)
{
	struct nt_counts *counts = nt_counts_new();
	unsigned int i, other = 0;
	struct nt_code *code;
	struct nt_flow *flow;

	MUST(counts);
	nt_counts_watch(counts, c.watch_from != UINT64_MAX ? is_watched : NULL, NULL);
	begin(&code, &flow);
	for (i = 0; i < WINDOWS; i++)
		count_until(flow, counts, &other);
	MUST(other == c.nr_others);
	MUST(!c.watched || c.watch_from == UINT64_MAX);
	compare_sums(counts);
	end(code, flow);
	nt_counts_free(counts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, data + size };

	while (c.nr_edges) {
		c.edges[c.used[--c.nr_edges]].count = 0;
		c.delivered[c.used[c.nr_edges]] = 0;
	}
	c.nr_others = c.nr_events = 0;
	c.insns = c.watched = 0;
	take_trace(&in);
	if (c.watch_from != UINT64_MAX)
		c.watch_from += c.hart.prog.base;
	c.watch_to = c.watch_from == UINT64_MAX ? 0 : c.watch_from + 8;
	if (slow()) {
		fast();
		in_parts();
	}
	return 0;
}
