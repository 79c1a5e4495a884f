// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace script: the branches or instructions of a perf.data, a line each
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "rec.h"

enum { OPT_BRANCHES = 0x600, OPT_INSNS };

static const struct argp_option options_list[] = {
	{ "branches", OPT_BRANCHES, NULL, 0, "taken branches, and where trace begins and ends "
	  "(default)", 0 },
	{ "insns", OPT_INSNS, NULL, 0, "every instruction that retired", 0 },
	{ 0 }
};

struct script {
	struct rec_options options;
	struct rec rec;
	const char *file;
	bool insns;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct script *s = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &s->options;
		break;
	case OPT_BRANCHES:
		s->insns = false;
		break;
	case OPT_INSNS:
		s->insns = true;
		break;
	case ARGP_KEY_ARG:
		if (s->file)
			argp_error(state, "more than one file: `%s' and `%s'", s->file, arg);
		s->file = arg;
		break;
	case ARGP_KEY_END:
		if (!s->file)
			argp_error(state, "no perf.data given (`-' is standard input)");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/* ---------------------------------------------------------------- fields - */

static const struct {
	unsigned int flags;
	const char *name;
} kinds[] = {
	{ NT_SESSION_BRANCH | NT_SESSION_CALL, "call" },
	{ NT_SESSION_BRANCH | NT_SESSION_RETURN, "return" },
	{ NT_SESSION_BRANCH | NT_SESSION_CONDITIONAL, "jcc" },
	{ NT_SESSION_BRANCH, "jmp" },
	{ NT_SESSION_BRANCH | NT_SESSION_CALL | NT_SESSION_INTERRUPT, "int" },
	{ NT_SESSION_BRANCH | NT_SESSION_RETURN | NT_SESSION_INTERRUPT, "iret" },
	{ NT_SESSION_BRANCH | NT_SESSION_CALL | NT_SESSION_SYSCALL, "syscall" },
	{ NT_SESSION_BRANCH | NT_SESSION_RETURN | NT_SESSION_SYSCALL, "sysret" },
	{ NT_SESSION_BRANCH | NT_SESSION_CALL | NT_SESSION_ASYNC | NT_SESSION_INTERRUPT, "hw int" },
};

static const char *kind_of(unsigned int flags)
{
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i].flags == flags)
			return kinds[i].name;
	return "";
}

/* Text, filled up to a width on the right, or on the left if that is negative */
static void put_padded(const char *text, int width)
{
	int len = (int)strlen(text), i;

	for (i = len; width < 0 && i < -width; i++)
		out_char(' ');
	out_plain(text);
	for (i = len; i < width; i++)
		out_char(' ');
}

/* As perf names them: where trace begins or ends, and what did it if anything */
static void put_flags(unsigned int flags)
{
	char text[32];

	if (flags == (NT_SESSION_BRANCH | NT_SESSION_BEGIN))
		strcpy(text, "tr strt");
	else if (flags == (NT_SESSION_BRANCH | NT_SESSION_END))
		strcpy(text, "tr end");
	else if (flags & NT_SESSION_END)
		snprintf(text, sizeof(text), "tr end  %s", kind_of(flags & ~NT_SESSION_END));
	else
		snprintf(text, sizeof(text), "%s", kind_of(flags));
	put_padded(text, 15);
}

static void put_digits(uint64_t value, int width)
{
	char text[24];

	snprintf(text, sizeof(text), "%0*" PRIu64, width, value);
	out_str(text);
}

static void put_head(const struct rec_sample *s)
{
	char text[16];

	put_padded(s->task ? s->task->comm : "unknown", -16);
	snprintf(text, sizeof(text), "%d", s->tid);
	out_char(' ');
	put_padded(text, -7);
	out_str(" [");
	put_digits(s->cpu, 3);
	out_str("] ");
	snprintf(text, sizeof(text), "%" PRIu64, s->time / 1000000000);
	put_padded(text, -5);
	out_char('.');
	put_digits(s->time % 1000000000, 9);
	out_str(": ");
}

static void put_place(struct script *s, const struct rec_sample *sample, uint64_t addr)
{
	uint64_t offset = 0;
	const char *name = rec_symbol(&s->rec, sample->task, addr, &offset);

	out_hex(addr);
	out_char(' ');
	if (!name) {
		out_str("[unknown]");
		return;
	}
	out_plain(name);
	out_str("+0x");
	out_hex(offset);
}

static void put_branch(void *ctx, const struct rec_sample *sample)
{
	put_head(sample);
	out_str("branches: ");
	put_flags(sample->flags);
	out_char(' ');
	put_place(ctx, sample, sample->ip);
	out_str(" => ");
	put_place(ctx, sample, sample->addr);
	out_char('\n');
}

static void put_insn(void *ctx, const struct rec_sample *sample)
{
	put_head(sample);
	out_str("instructions: ");
	put_place(ctx, sample, sample->ip);
	out_char('\n');
}

static void put_loss(void *ctx, const struct rec_loss *loss)
{
	char text[400];

	(void)ctx;
	snprintf(text, sizeof(text), "# loss time %" PRIu64 ".%09" PRIu64
		 " cpu %d pid %d tid %d ip %#" PRIx64 " code %u: ", loss->time / 1000000000,
		 loss->time % 1000000000, loss->cpu, loss->pid, loss->tid, loss->ip, loss->code);
	out_str(text);
	out_plain(loss->text);
	out_char('\n');
}

/* What was lost beside the trace, where it was found out */
static void put_note(void *ctx, const struct rec_note *n)
{
	char text[120];

	(void)ctx;
	if (!n->lost)
		return;
	snprintf(text, sizeof(text), "# lost time %" PRIu64 ".%09" PRIu64 " cpu %d: %" PRIu64 " %s\n",
		 n->time / 1000000000, n->time % 1000000000, n->cpu, n->lost,
		 n->type == NT_PERFDATA_LOST ? "events" : "samples");
	out_str(text);
}

int cmd_script(int argc, char **argv)
{
	static const struct argp_child children[] = { { &rec_argp, 0, NULL, 0 }, { 0 } };
	static const struct argp argp = {
		.options = options_list,
		.parser = parse,
		.args_doc = "PERF.DATA",
		.doc = "Print what a perf.data has trace of, without perf.",
		.children = children,
	};
	struct script s = { .insns = false };
	struct rec_output output = { .loss = put_loss, .note = put_note, .ctx = &s };
	int status;

	parse_arguments(&argp, argc, argv, &s);
	if (s.insns)
		output.insn = put_insn;
	else
		output.branch = put_branch;
	rec_open(&s.rec, s.file, &s.options);
	rec_run(&s.rec, &output);
	out_flush();
	out_free();
	status = rec_status(&s.rec);
	rec_free(&s.rec);
	rec_options_free(&s.options);
	return status;
}
