// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace calls: the cost of the calls of each function, or of each call of one function
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calls.h"

enum { OPT_FORMAT = 0x700, OPT_FUNCTION, OPT_BY };

static const struct argp_option options_list[] = {
	{ "format", OPT_FORMAT, "table|csv|json", 0, "default table", 0 },
	{ "function", OPT_FUNCTION, "NAME", 0, "each call of this function", 0 },
	{ "by", OPT_BY, "time|insns", 0,
	  "what calls took is time (default, if the trace has it), or instructions", 0 },
	{ 0 }
};

static const char *const format_names[] = {
	[CALLS_TABLE] = "table", [CALLS_CSV] = "csv", [CALLS_JSON] = "json",
};

struct command_calls {
	struct calls_feed feed;
	enum calls_format format;
	const char *function;
	bool found;		/* the function was executed */
	bool by_insns, by_time;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct command_calls *cc = state->input;
	size_t i;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &cc->feed.in;
		state->child_inputs[1] = &cc->feed.options;
		break;
	case OPT_FORMAT:
		for (i = 0; strcmp(format_names[i], arg); i++)
			if (i == CALLS_JSON)
				argp_error(state, "--format: `%s' is none of table, csv, json",
					   arg);
		cc->format = (enum calls_format)i;
		break;
	case OPT_FUNCTION:
		cc->function = arg;
		break;
	case OPT_BY:
		cc->by_insns = !strcmp(arg, "insns");
		cc->by_time = !strcmp(arg, "time");
		if (!cc->by_insns && !cc->by_time)
			argp_error(state, "--by: `%s' is neither time nor insns", arg);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static void put_one(void *ctx, const struct calls_one *one)
{
	struct calls_feed *f = ctx;
	struct command_calls *cc = f->ctx;

	if (strcmp(one->function->name, cc->function))
		return;
	cc->found = true;
	calls_print_one(&f->calls, cc->format, one);
}

static void begin(struct calls_feed *f)
{
	struct command_calls *cc = f->ctx;
	struct calls *c = &f->calls;

	c->by_insns = cc->by_insns || !c->time_unit;
	if (cc->by_time && !c->time_unit)
		die("%s: has no time", f->in.file);
	if (!cc->function)
		return;
	c->one = put_one;
	calls_print_begin(c, cc->format);
}

static void end(struct calls_feed *f)
{
	const struct command_calls *cc = f->ctx;

	if (cc->function)
		calls_print_end(cc->format);
	else
		calls_print(&f->calls, cc->format, f->in.file, isatty(STDOUT_FILENO));
	calls_free(&f->calls);
}

int cmd_calls(int argc, char **argv)
{
	static const struct argp_child children[] = {
		{ &input_argp, 0, NULL, 0 }, { &rec_argp, 0, NULL, 0 }, { 0 }
	};
	static const struct argp argp = {
		.options = options_list,
		.parser = parse,
		.args_doc = "FILE",
		.doc = "Count the calls of each function, and what they took, in an N-Trace file "
		       "or a perf.data.",
		.children = children,
	};
	struct command_calls *cc = calloc(1, sizeof(*cc));
	int status;

	if (!cc)
		die("%s", nt_strerror(NT_ENOMEM));
	cc->feed.begin = begin;
	cc->feed.end = end;
	cc->feed.ctx = cc;
	input_init(&cc->feed.in);
	parse_arguments(&argp, argc, argv, cc);
	status = calls_feed_run(&cc->feed);
	if (cc->function && !cc->found) {
		warn("--function: no function `%s' was executed", cc->function);
		status = EXIT_UNUSABLE;
	}
	free(cc);
	out_done();
	return status;
}
