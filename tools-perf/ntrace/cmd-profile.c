// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace profile: exact counts of transfers and linear runs, for compilers
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "edges-count.h"
#include "gcov.h"
#include "stacks.h"

struct command_profile;

struct format {
	const char *name;
	void (*write)(const struct profile *p);	/* NULL: edges, source places or stacks */
	bool offsets;		/* write offsets in the file, not addresses */
	bool places;		/* write places in the source */
	void (*stacks)(const struct command_profile *cp, struct calls_feed *f,
		       struct stacks_files *files);
};

struct command_profile {
	struct profile profile;
	const struct format *format;
	const char *output;
	struct edges_choice choice;
	enum stacks_value value;
	bool value_given;
	struct stacks stacks;
};

static const struct format formats[];

enum { OPT_FORMAT = 0x200, OPT_KERNEL, OPT_OTHERS, OPT_VALUE };

static const struct argp_option options[] = {
	{ "format", OPT_FORMAT, "llvm-profgen|autofdo|gcc|bolt|edges|pprof|folded|callgrind", 0,
	  "for llvm-profgen --unsymbolized-profile (default), create_gcov --profiler=text, "
	  "gcc -fauto-profile, perf2bolt -pa; for ntrace merge; or, with call stacks, for pprof, flame graphs, KCachegrind",
	  0 },
	{ "value", OPT_VALUE, "insns|branches|time", 0, "folded: what is counted (default insns)",
	 0 },
	{ "output", 'o', "FILE", 0, "default: standard output", 0 },
	{ "kernel", OPT_KERNEL, NULL, 0, "edges: of the kernel, too", 0 },
	{ "others", OPT_OTHERS, NULL, 0,
	  "edges: of programs, too, that are neither root's nor yours", 0 },
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
			argp_error(state, "--format: `%s' is none of llvm-profgen, autofdo, gcc, bolt, edges, pprof, folded, callgrind",
				   arg);
		break;
	case OPT_VALUE:
		cp->value_given = true;
		cp->value = !strcmp(arg, "time") ? STACKS_TIME :
			    !strcmp(arg, "branches") ? STACKS_BRANCHES : STACKS_INSNS;
		if (cp->value == STACKS_INSNS && strcmp(arg, "insns"))
			argp_error(state, "--value: `%s' is none of insns, branches, time", arg);
		break;
	case 'o':
		cp->output = arg;
		break;
	case OPT_KERNEL:
		cp->choice.kernel = true;
		break;
	case OPT_OTHERS:
		cp->choice.others = true;
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
	/* no samples of addresses, because the ranges contain more */
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

static void put_pprof(const struct command_profile *cp, struct calls_feed *f,
		      struct stacks_files *files)
{
	const char *host = "";

	if (f->rec.pd && nt_perfdata_string(f->rec.pd, NT_PERFDATA_FEAT_HOSTNAME, 0, &host) <= 0)
		host = "";
	stacks_print_pprof(&cp->stacks, files, f->calls.time_unit, host);
}

static void put_folded(const struct command_profile *cp, struct calls_feed *f,
		       struct stacks_files *files)
{
	(void)files;
	if (cp->value == STACKS_TIME && !f->calls.time_unit)
		die("%s: has no time", f->in.file);
	stacks_print_folded(&cp->stacks, cp->value);
}

static void put_callgrind(const struct command_profile *cp, struct calls_feed *f,
			  struct stacks_files *files)
{
	stacks_print_callgrind(&cp->stacks, files, f->calls.time_unit);
}

static const struct format formats[] = {
	{ .name = "llvm-profgen", .write = write_profgen },
	{ .name = "autofdo", .write = write_autofdo, .offsets = true },
	{ .name = "gcc", .places = true },
	{ .name = "bolt", .write = write_bolt },
	{ .name = "edges" },
	{ .name = "pprof", .stacks = put_pprof },
	{ .name = "folded", .stacks = put_folded },
	{ .name = "callgrind", .stacks = put_callgrind },
};

static const struct format *find_format(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (!strcmp(formats[i].name, name))
			return &formats[i];
	return NULL;
}

/* ---------------------------------------------------------------- edges -- */

/* Counts are of whole recordings. With parts, merging could not tell what is counted twice. */
static void check_whole(const struct rec_options *o)
{
	if (o->cpu || o->pids.nr || o->tids.nr || o->comms.nr || o->nr_times)
		die("--format=edges: edges are of whole recordings, so that what arrives twice is known: choose nothing of it");
}

static int write_edges(struct command_profile *cp)
{
	struct profile *p = &cp->profile;
	struct edges_writer w;
	uint64_t losses = 0;
	size_t i;

	if (p->perf.text || p->perf.perf)
		die("--format=edges: is made without perf");
	if (!perf_is_data(p->in.file)) {
		profile_open(p);
		if (!p->in.elfs || p->of_edges)
			die("%s: --format=edges wants recordings, or a raw trace and a program as --elf",
			    p->in.file);
		edges_write_open(&w, cp->output);
		edges_count_trace(&w, p);
		edges_write_close(&w);
		return profile_end(p);
	}
	check_whole(&p->recording);
	for (i = 0; i < p->in.nr_more; i++)
		if (!perf_is_data(p->in.more[i]))
			die("%s: is no recording, as %s is", p->in.more[i], p->in.file);
	if (p->in.elfs)
		p->recording.program = p->in.elfs->path;
	edges_write_open(&w, cp->output);
	losses = edges_count_recording(&w, p->in.file, &p->recording, &cp->choice).losses;
	for (i = 0; i < p->in.nr_more; i++)
		losses += edges_count_recording(&w, p->in.more[i], &p->recording,
						&cp->choice).losses;
	edges_write_close(&w);
	rec_options_free(&p->recording);
	input_free(&p->in);
	return losses ? EXIT_LOSSES : EXIT_WHOLE;
}

/* -------------------------------------------------------- source places -- */

static int write_places(struct command_profile *cp)
{
	struct profile *p = &cp->profile;
	struct gcov g = { .nr_functions = 0 };
	struct nt_code *code;

	profile_open(p);
	if (!p->in.elfs)
		die("--format=%s: wants a program as --elf", cp->format->name);
	/* fail early, before the work that takes long */
	gcov_dwarf_read(&g, p->in.elfs->path);
	profile_make(p);
	code = input_code(&p->in);
	gcov_count(&g, p, code, p->in.elfs->bias);
	nt_code_free(code);
	gcov_write(&g);
	gcov_free(&g);
	return profile_end(p);
}

/* --------------------------------------------------------------- stacks -- */

static void begin_stacks(struct calls_feed *f)
{
	struct command_profile *cp = f->ctx;

	f->calls.stacks = &cp->stacks;
}

static void end_stacks(struct calls_feed *f)
{
	struct command_profile *cp = f->ctx;
	struct stacks_files files = { .feed = f };

	cp->format->stacks(cp, f, &files);
	stacks_files_free(&files);
	stacks_free(&cp->stacks);
	calls_free(&f->calls);
}

/* From counts alone: each function is a stack of its own. */
static int write_flat(struct command_profile *cp)
{
	struct calls_feed *f = calloc(1, sizeof(*f));
	struct stacks_files files = { .feed = f };
	struct profile *p = &cp->profile;

	if (!f)
		die("%s", nt_strerror(NT_ENOMEM));
	profile_open(p);
	profile_make(p);
	f->in = p->in;
	f->symbols = symbols_new(&p->in);
	stacks_flat(&cp->stacks, &f->calls, p, f->symbols);
	cp->format->stacks(cp, f, &files);
	stacks_files_free(&files);
	stacks_free(&cp->stacks);
	calls_free(&f->calls);
	symbols_free(f->symbols);
	free(f);
	return profile_end(p);
}

static int write_stacks(struct command_profile *cp)
{
	struct profile *p = &cp->profile;
	struct calls_feed *f = calloc(1, sizeof(*f));
	int status;

	if (!f)
		die("%s", nt_strerror(NT_ENOMEM));
	if (p->perf.text || p->perf.perf)
		die("--format=%s: is made without perf", cp->format->name);
	if (p->in.nr_more)
		die("%s: --format=%s is of one recording or trace", p->in.more[0],
		    cp->format->name);
	f->in = p->in;
	f->options = p->recording;
	f->begin = begin_stacks;
	f->end = end_stacks;
	f->ctx = cp;
	status = calls_feed_run(f);
	free(f);
	out_done();
	return status;
}

/* -------------------------------------------------------------- command -- */

static int write_text(struct command_profile *cp)
{
	struct profile *p = &cp->profile;

	if (cp->format->places)
		return write_places(cp);
	if (cp->format->stacks && edges_is(p->in.file))
		return write_flat(cp);
	if (cp->format->stacks)
		return write_stacks(cp);
	profile_open(p);
	if (p->offsets && !p->in.elfs)
		die("--format=%s: wants a program as --elf", cp->format->name);
	profile_make(p);
	cp->format->write(p);
	return profile_end(p);
}

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
	int status;

	input_init(&p->in);
	p->in.several = true;
	parse_arguments(&argp, argc, argv, &cp);
	if (cp.value_given && cp.format->stacks != put_folded)
		die("--value: is for --format=folded");
	input_refuse_output(&p->in, cp.output);
	p->recording.threads = p->in.threads;
	if (!cp.format->write && !cp.format->stacks && !cp.format->places)
		return write_edges(&cp);
	if (cp.choice.kernel || cp.choice.others)
		die("--kernel, --others: are for --format=edges");
	p->offsets = cp.format->offsets;
	if (cp.output)
		out_to(cp.output);
	status = write_text(&cp);
	out_done();
	return status;
}
