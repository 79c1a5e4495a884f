// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace profile: counts of transfers and linear runs, exact ones, for compilers
 */
#include <inttypes.h>
#include <string.h>

#include "profile.h"

struct format {
	const char *name;
	void (*write)(const struct profile *p);
	bool offsets;		/* in the file, not addresses */
};

struct command_profile {
	struct profile profile;
	const struct format *format;
};

static const struct format formats[];

enum { OPT_FORMAT = 0x200 };

static const struct argp_option options[] = {
	{ "format", OPT_FORMAT, "llvm-profgen|autofdo|bolt", 0,
	  "for llvm-profgen --unsymbolized-profile (default), create_gcov --profiler=text, or "
	  "perf2bolt -pa", 0 },
	{ 0 }
};

static const struct format *find_format(const char *name);

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct command_profile *cp = state->input;
	struct profile *p = &cp->profile;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &p->in;
		state->child_inputs[1] = &p->perf;
		state->child_inputs[2] = &p->recording;
		break;
	case OPT_FORMAT:
		cp->format = find_format(arg);
		if (!cp->format)
			argp_error(state, "--format: `%s' is none of llvm-profgen, autofdo, bolt",
				   arg);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/* -------------------------------------------------------------- writing -- */

static void write_ranges(const struct profile *p)
{
	size_t i;

	printf("%zu\n", p->ranges.n);
	for (i = 0; i < p->ranges.n; i++) {
		const struct range *r = &p->ranges.list[i];

		printf("%" PRIx64 "-%" PRIx64 ":%" PRIu64 "\n", r->start, r->end, r->count);
	}
}

static void write_branches(const struct profile *p)
{
	size_t i;

	printf("%zu\n", p->nr_edges);
	for (i = 0; i < p->nr_edges; i++) {
		const struct nt_edge *e = &p->edges[i];

		printf("%" PRIx64 "->%" PRIx64 ":%" PRIu64 "\n", e->from, e->to, e->count);
	}
}

static void write_profgen(const struct profile *p)
{
	write_ranges(p);
	write_branches(p);
}

static void write_autofdo(const struct profile *p)
{
	write_ranges(p);
	/* no samples of addresses: the ranges tell more */
	printf("0\n");
	write_branches(p);
}

static void write_bolt(const struct profile *p)
{
	size_t i;

	for (i = 0; i < p->nr_edges; i++) {
		const struct nt_edge *e = &p->edges[i];

		printf("B %" PRIx64 " %" PRIx64 " %" PRIu64 " 0\n", e->from, e->to, e->count);
	}
	for (i = 0; i < p->ranges.n; i++) {
		const struct range *r = &p->ranges.list[i];

		printf("F %" PRIx64 " %" PRIx64 " %" PRIu64 "\n", r->start, r->end, r->count);
	}
}

static const struct format formats[] = {
	{ "llvm-profgen", write_profgen, false },
	{ "autofdo", write_autofdo, true },
	{ "bolt", write_bolt, false },
};

static const struct format *find_format(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (!strcmp(formats[i].name, name))
			return &formats[i];
	return NULL;
}

/* -------------------------------------------------------------- command -- */

int cmd_profile(int argc, char **argv)
{
	static const struct argp_child children[] = {
		{ &input_argp, 0, NULL, 0 }, { &perf_argp, 0, NULL, 0 },
		{ &rec_argp, 0, NULL, 0 }, { 0 }
	};
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "FILE...",
		.doc = "Count how often every branch and every instruction of a program was "
		       "executed, for profile-guided optimisation of its first --elf.",
		.children = children,
	};
	struct command_profile cp = { .format = &formats[0] };
	struct profile *p = &cp.profile;

	input_init(&p->in);
	p->in.several = true;
	parse_arguments(&argp, argc, argv, &cp);
	p->offsets = cp.format->offsets;
	profile_open(p);
	if (p->offsets && !p->in.elfs)
		die("--format=%s: wants a program as --elf", cp.format->name);
	profile_make(p);
	cp.format->write(p);
	return profile_end(p);
}
