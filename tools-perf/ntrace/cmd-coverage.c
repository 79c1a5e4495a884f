// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace coverage: how often each line, function and branch of a program's source was executed
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cover.h"

enum { OPT_FORMAT = 0x900, OPT_SOURCE };

static const struct argp_option options[] = {
	{ "format", OPT_FORMAT, "text|lcov", 0,
	  "what each file has in all (default), or a tracefile for genhtml and its like", 0 },
	{ "source", OPT_SOURCE, "FILE", 0, "counts beside the lines of this source file", 0 },
	{ 0 }
};

struct command_coverage {
	struct profile profile;
	bool lcov;
	const char *source;
	const char *program;	/* as given, or NULL */
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct command_coverage *cc = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &cc->profile.in;
		state->child_inputs[1] = &cc->profile.recording;
		break;
	case OPT_FORMAT:
		cc->lcov = !strcmp(arg, "lcov");
		if (!cc->lcov && strcmp(arg, "text"))
			argp_error(state, "--format: `%s' is none of text, lcov", arg);
		break;
	case OPT_SOURCE:
		cc->source = arg;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static void print_hints(const struct command_coverage *cc)
{
	const char *program = cc->program, *elf = program ? " --elf=" : "";

	if (!isatty(STDOUT_FILENO))
		return;
	printf("\ncounts beside the lines: ntrace coverage%s%s --source=FILE %s\n", elf,
	       program ?: "", cc->profile.in.file);
	printf("for genhtml:             ntrace coverage%s%s --format=lcov %s\n", elf,
	       program ?: "", cc->profile.in.file);
}

static void print(const struct command_coverage *cc, const struct cover *cover)
{
	if (cc->lcov) {
		cover_print_lcov(cover);
	} else if (!cc->source) {
		cover_print_table(cover);
		print_hints(cc);
	} else if (!cover_print_source(cover, cc->source)) {
		die("--source: %s has no code of a file named %s", cc->profile.in.elfs->path,
		    cc->source);
	}
}

int cmd_coverage(int argc, char **argv)
{
	static const struct argp_child children[] = {
		{ &input_argp, 0, NULL, 0 }, { &rec_argp, 0, NULL, 0 }, { 0 }
	};
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "FILE...",
		.doc = "Count how often each line, function and branch of the source of a program, "
		       "its first --elf, was executed.",
		.children = children,
	};
	struct command_coverage cc = { .lcov = false };
	struct cover_source source = { .nr_functions = 0 };
	struct profile *p = &cc.profile;
	struct nt_code *code;
	struct cover cover;

	input_init(&p->in);
	p->in.several = true;
	parse_arguments(&argp, argc, argv, &cc);
	if (p->in.elfs)
		cc.program = p->in.elfs->path;
	profile_open(p);
	if (!p->in.elfs)
		die("no program given: --elf%s", input_pipe_hint(&p->in));
	/* fail early, before the work that takes long */
	cover_dwarf_read(&source, p->in.elfs->path);
	profile_make(p);
	code = input_code(&p->in);
	cover_make(&cover, &source, p, code, p->in.elfs->bias);
	print(&cc, &cover);
	cover_free(&cover);
	cover_dwarf_free(&source);
	nt_code_free(code);
	return profile_end(p);
}
