// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace timeline: who called what, when and for how long, as trace_event JSON for Perfetto and
 * Chrome
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "perf-script.h"
#include "rec.h"
#include "timeline.h"

enum { OPT_MIN = 0x200, OPT_DEPTH, OPT_SLICES, OPT_XLEN };

static const struct argp_option options[] = {
	{ "min", OPT_MIN, "NS", 0, "leave out what is shorter (1000)", 0 },
	{ "depth", OPT_DEPTH, "N", 0, "leave out what is nested deeper (64)", 0 },
	{ "slices", OPT_SLICES, "N", 0, "double --min each time so many are written (500000)", 0 },
	{ "xlen", OPT_XLEN, "32|64", 0,
	  "of the kernel, which tells its addresses from programs' (what a perf.data says, else 64)", 0 },
	{ 0 }
};

struct arguments {
	struct timeline_limits limits;
	struct perf_choice perf;
	struct rec_options recording;
	const char *file;
	unsigned int xlen;	/* 0: not given */
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->perf;
		state->child_inputs[1] = &a->recording;
		break;
	case OPT_MIN:
		a->limits.min = parse_number(arg, "--min");
		break;
	case OPT_DEPTH:
		a->limits.depth = parse_small(arg, "--depth", TIMELINE_DEPTH_MAX);
		break;
	case OPT_SLICES:
		a->limits.slices = parse_number(arg, "--slices");
		if (!a->limits.slices)
			argp_error(state, "--slices: 0 is too few");
		break;
	case OPT_XLEN:
		a->xlen = parse_small(arg, "--xlen", 64);
		if (a->xlen != 32 && a->xlen != 64)
			die("--xlen: %u is neither 32 nor 64", a->xlen);
		break;
	case ARGP_KEY_ARG:
		if (a->file)
			argp_error(state, "more than one file: `%s' and `%s'", a->file, arg);
		a->file = arg;
		break;
	case ARGP_KEY_END:
		if (!a->file)
			argp_error(state, "no perf.data given");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/* Report what the timeline does not show. */
static void tell(const struct timeline_totals *t, const struct timeline_limits *limits)
{
	fprintf(stderr, "ntrace: %" PRIu64 " slices of %" PRIu64 " threads", t->slices, t->threads);
	if (t->left_out)
		fprintf(stderr,
			", %" PRIu64 " left out (shorter than %" PRIu64 " ns%s, or deeper than %u)",
			t->left_out, limits->min, t->min > limits->min ? " or more" : "",
			limits->depth);
	fprintf(stderr, ", %" PRIu64 " losses\n", t->losses);
}

/* `xlen` is that of the recording, and the user's option takes precedence. */
static struct timeline *begin(struct arguments *a, unsigned int xlen)
{
	xlen = a->xlen ? a->xlen : xlen;
	a->limits.kernel_from = xlen == 32 ? NT_RV32_TASK_SIZE : 1ull << 63;
	return timeline_new(&a->limits);
}

/* ---------------------------------------------------------- perf prints -- */

static struct timeline *read_lines(struct arguments *a, const char *perf)
{
	struct timeline *timeline = begin(a, perf ? perf_data_xlen(perf, a->file) : 64);
	struct perf_event_line ev;
	struct perf_script script;

	perf_script_open(&script, perf, a->file, "cre", "comm,pid,tid,cpu,time,flags,ip,sym,addr");
	while (perf_script_next(&script, &ev))
		timeline_event(timeline, &ev);
	perf_script_close(&script);
	return timeline;
}

/* ------------------------------------------------------- without perf ---- */

struct native {
	struct timeline *timeline;
	struct rec rec;
};

/* Calls and returns, including traps, and where trace begins and ends */
#define WANTED	(NT_SESSION_CALL | NT_SESSION_RETURN | NT_SESSION_BEGIN | NT_SESSION_END)

static void take_branch(void *ctx, const struct rec_sample *s)
{
	struct native *n = ctx;
	struct perf_event_line line;
	uint64_t offset;

	if (!(s->flags & WANTED))
		return;
	rec_line_branch(&n->rec, s, &line);
	line.from.sym = rec_symbol(&n->rec, s->task, s->ip, &offset);
	line.to.sym = rec_symbol(&n->rec, s->task, s->addr, &offset);
	timeline_event(n->timeline, &line);
}

static void take_loss(void *ctx, const struct rec_loss *loss)
{
	struct native *n = ctx;
	struct perf_event_line line;

	rec_line_loss(&n->rec, loss, &line);
	timeline_event(n->timeline, &line);
}

static void take_gone(void *ctx, const struct rec_task *task)
{
	struct native *n = ctx;

	timeline_gone(n->timeline, task->tid);
}

/* *losses: those of the recording, including damage of the file */
static struct timeline *decode(struct arguments *a, unsigned long *losses)
{
	struct native n = { 0 };
	const struct rec_output output = {
		.branch = take_branch, .loss = take_loss, .gone = take_gone, .ctx = &n,
	};

	rec_open(&n.rec, a->file, &a->recording);
	n.timeline = begin(a, n.rec.info.xlen);
	rec_run(&n.rec, &output);
	*losses = n.rec.losses;
	if (n.rec.damage)
		fprintf(stderr, "ntrace: %s: decoded up to there\n", n.rec.damage);
	rec_free(&n.rec);
	return n.timeline;
}

int cmd_timeline(int argc, char **argv)
{
	static const struct argp_child children[] = {
		{ &perf_argp, 0, NULL, 0 }, { &rec_argp, 0, NULL, 0 }, { 0 }
	};
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "PERF.DATA",
		.doc = "Turn a trace into a timeline of calls: JSON for ui.perfetto.dev or "
		       "chrome://tracing.",
		.children = children,
	};
	struct arguments a = { .limits = { .min = 1000, .depth = 64, .slices = 500000 } };
	struct timeline_totals totals;
	struct timeline *timeline;
	unsigned long losses = 0;

	parse_arguments(&argp, argc, argv, &a);
	if (!a.perf.text && !strcmp(a.file, "-"))
		die("-: a perf.data is read from a file; ntrace script reads it from a pipe, too, and what perf script printed wants --perf-script");
	if (!a.perf.text && !perf_is_data(a.file))
		die("%s: is not a perf.data; what perf script printed wants --perf-script", a.file);
	if (a.perf.text)
		timeline = read_lines(&a, NULL);
	else if (a.perf.perf)
		timeline = read_lines(&a, a.perf.perf);
	else
		timeline = decode(&a, &losses);
	rec_options_free(&a.recording);
	timeline_end(timeline, &totals);
	tell(&totals, &a.limits);
	out_done();
	return totals.losses || losses ? EXIT_LOSSES : EXIT_WHOLE;
}
