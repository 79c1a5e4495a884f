// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace decode: what was executed, as instructions, branches or blocks
 */
#include <stdlib.h>
#include <string.h>

#include "cmd.h"

struct view;

/*
 * How to print.  Everything but branches is printed by walking the linear code
 * that each event ends.
 */
struct output {
	const char *name;
	void (*insn)(struct view *v, const struct nt_insn *insn);
	void (*event)(struct view *v, const struct nt_event *ev);
};

struct view {
	struct input in;
	struct nt_code *code;
	const struct output *output;
	bool not_taken;
	uint64_t pc;		/* next to be printed */
	uint64_t last;		/* that was printed last */
	unsigned long losses;
};

static const struct output outputs[];

enum {
	OPT_OUTPUT = 0x200, OPT_NOT_TAKEN,
};

static const struct argp_option options[] = {
	{ "output", OPT_OUTPUT, "pc|insn|branch|block", 0,
	  "one line per instruction's address, instruction, taken transfer (from to type), "
	  "or linear run (first last instructions); default pc", 0 },
	{ "not-taken", OPT_NOT_TAKEN, NULL, 0,
	  "with --output=branch: branches not taken too, of type `not'", 0 },
	{ 0 }
};

static const struct output *find_output(const char *name);

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct view *v = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &v->in;
		break;
	case OPT_OUTPUT:
		v->output = find_output(arg);
		if (!v->output)
			argp_error(state, "--output: `%s' is none of pc, insn, branch, block", arg);
		break;
	case OPT_NOT_TAKEN:
		v->not_taken = true;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/* ------------------------------------------------------------- printing -- */

static void pc_insn(struct view *v, const struct nt_insn *insn)
{
	(void)v;
	out_hex(insn->pc);
	out_char('\n');
}

static void insn_insn(struct view *v, const struct nt_insn *insn)
{
	unsigned int digits = insn->len < 8 ? 2 * insn->len : 16;

	(void)v;
	out_hex(insn->pc);
	out_char(' ');
	while (digits--)
		out_char("0123456789abcdef"[insn->raw >> (4 * digits) & 15]);
	if (insn->type != NT_TYPE_NONE) {
		out_char(' ');
		out_str(nt_type_name(insn->type));
	}
	if (insn->flags & NT_INSN_DIRECT) {
		out_char(' ');
		out_hex(insn->target);
	}
	out_char('\n');
}

static void put_branch(uint64_t from, uint64_t to, unsigned int type)
{
	out_hex(from);
	out_char(' ');
	out_hex(to);
	out_char(' ');
	out_str(nt_type_name(type));
	out_char('\n');
}

/* The one that the event is about is printed by branch_event(). */
static void branch_insn(struct view *v, const struct nt_insn *insn)
{
	if (insn->type == NT_TYPE_COND)
		put_branch(insn->pc, insn->pc + insn->len, NT_TYPE_NOT_TAKEN);
	(void)v;
}

static void branch_event(struct view *v, const struct nt_event *ev)
{
	(void)v;
	if (ev->kind == NT_EV_BRANCH)
		put_branch(ev->from, ev->to, ev->type);
}

static void block_event(struct view *v, const struct nt_event *ev)
{
	if (!ev->insns)
		return;
	out_hex(v->pc);
	out_char(' ');
	out_hex(v->last);
	out_char(' ');
	out_dec(ev->insns);
	out_char('\n');
}

static void no_insn(struct view *v, const struct nt_insn *insn)
{
	(void)v;
	(void)insn;
}

static const struct output outputs[] = {
	{ "pc", pc_insn, NULL },
	{ "insn", insn_insn, NULL },
	{ "branch", branch_insn, branch_event },
	{ "block", no_insn, block_event },
};

static const struct output *find_output(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(outputs) / sizeof(outputs[0]); i++)
		if (!strcmp(outputs[i].name, name))
			return &outputs[i];
	return NULL;
}

/* -------------------------------------------------------------- walking -- */

static bool is_trap(const struct nt_event *ev)
{
	return ev->type == NT_TYPE_EXCEPTION || ev->type == NT_TYPE_INTERRUPT ||
	       ev->type == NT_TYPE_TRAP;
}

/* The linear code up to the event, whose own instruction is left to it. */
static void walk(struct view *v, const struct nt_event *ev)
{
	bool branch = ev->kind == NT_EV_BRANCH && !is_trap(ev);
	bool own = v->output->event == branch_event && branch;
	uint64_t pc = v->pc;
	uint32_t n;

	for (n = 0; n < ev->insns; n++) {
		struct nt_insn insn;
		int len = nt_code_insn(v->code, pc, &insn);

		if (len < 0)
			die("no code at %llx any more", (unsigned long long)pc);
		if (!own || n + 1 < ev->insns)
			v->output->insn(v, &insn);
		v->last = pc;
		pc = insn.pc + len;
		if (v->in.params.xlen == 32)
			pc &= UINT32_MAX;
	}
}

static bool walks(const struct view *v)
{
	return v->output->event != branch_event || v->not_taken;
}

static void show(struct view *v, const struct nt_event *ev)
{
	if (walks(v))
		walk(v, ev);
	if (v->output->event)
		v->output->event(v, ev);
	switch (ev->kind) {
	case NT_EV_BRANCH:
	case NT_EV_START:
		v->pc = ev->to;
		break;
	case NT_EV_LOSS:
		v->losses++;
		out_trouble(ev);
		break;
	case NT_EV_NOTICE:
		out_trouble(ev);
		break;
	}
}

static void decode(struct view *v)
{
	struct nt_flow *flow = input_flow(&v->in, v->code);
	struct nt_event ev[256];
	int i, n;

	while ((n = nt_flow_next(flow, ev, 256)) > 0) {
		for (i = 0; i < n; i++)
			show(v, &ev[i]);
		progress(nt_flow_consumed(flow), v->in.size);
	}
	progress_end();
	out_flush();
	if (n < 0)
		die("%s", nt_strerror(n));
	nt_flow_free(flow);
}

int cmd_decode(int argc, char **argv)
{
	static const struct argp_child children[] = { { &input_argp, 0, NULL, 0 }, { 0 } };
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "FILE",
		.doc = "Decode an N-Trace file with the program that was traced.",
		.children = children,
	};
	struct view v = { .output = &outputs[0] };

	input_init(&v.in);
	if (argp_parse(&argp, argc, argv, 0, NULL, &v))
		return EXIT_UNUSABLE;
	if (!v.in.images)
		die("no program given: --elf or --raw");
	input_open(&v.in);
	v.code = input_code(&v.in);
	decode(&v);
	nt_code_free(v.code);
	input_free(&v.in);
	return v.losses ? EXIT_LOSSES : EXIT_WHOLE;
}
