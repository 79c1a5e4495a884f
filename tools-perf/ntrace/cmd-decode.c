// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace decode: what was executed, as instructions, branches, blocks or records
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "marks.h"
#include "rec.h"

struct view;

/*
 * An output format. The instructions before each event are walked, except for branches without
 * --not-taken.
 */
struct output {
	const char *name;
	void (*insn)(struct view *v, const struct nt_insn *insn);
	void (*event)(struct view *v, const struct nt_event *ev, bool seam);
};

/* A linear run of instructions, without instructions that were executed elsewhere */
struct run {
	uint64_t first, last;
	uint64_t insns;
};

struct decode {
	struct input in;
	const struct output *output;
	bool not_taken;
	bool no_marks;
	struct records records;
	struct rec_options recording;
	unsigned long losses;
	struct symbols *symbols;
	struct run open;	/* a run that the end of the pieces printed so far leaves open */
	struct marks_time time;	/* the time printed last */
};

#define STRETCHES	4096
#define STRETCH_INSNS	16
#define PC_LINE		17	/* the longest line of --output=pc */

/*
 * Cached text of consecutive instructions for --output=pc. Loops execute the same ones many times.
 */
struct stretch {
	uint64_t pc, last;
	uint32_t insns;		/* 0: empty */
	bool custom;
	uint16_t len;
	char text[STRETCH_INSNS * PC_LINE];
};

#define TRANSFERS	4096
#define TRANSFER_LINE	64

/* The same for --output=branch */
struct transfer {
	uint64_t from, to;
	unsigned int type;
	unsigned int len;	/* 0: empty */
	char text[TRANSFER_LINE];
};

/* State of each thread */
struct printer {
	struct decode *d;
	struct stretch *stretches;	/* NULL: not used by this output format */
	struct transfer *transfers;	/* NULL: likewise */
	struct lines *lines;	/* of instructions */
	struct nt_path *path;
};

/* State of each piece of the trace */
struct view {
	struct piece *piece;
	struct decode *d;
	struct lines *lines;
	struct nt_path *path;
	struct stretch *stretches;
	struct transfer *transfers;
	uint64_t pc;		/* address to be printed next */
	uint64_t last;		/* address printed last */
	bool custom;		/* of a custom instruction, which may do anything */
	unsigned long losses;
	struct marks marks;
	struct run head;	/* may continue a run of earlier pieces */
	struct run tail;	/* may be continued by later pieces */
	bool ended;		/* head is complete */
};

static const struct output outputs[];

enum {
	OPT_OUTPUT = 0x200, OPT_NOT_TAKEN, OPT_NO_MARKS,
};

static const struct argp_option options[] = {
	{ "output", OPT_OUTPUT, "pc|insn|branch|block|ctr", 0,
	  "one line per instruction's address, instruction (address bits symbol+offset text), "
	  "taken transfer (from to type), or linear run (first last instructions); or the "
	  "control transfer records that a buffer would have at the end; default pc",
	  0 },
	{ "not-taken", OPT_NOT_TAKEN, NULL, 0,
	  "with --output=branch: branches not taken too, of type `not'", 0 },
	{ "no-marks", OPT_NO_MARKS, NULL, 0,
	  "no lines `# ...' for starts, stops, traps, contexts, time and source; losses stay", 0 },
	{ 0 }
};

static const struct output *find_output(const char *name);

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct decode *d = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &d->in;
		state->child_inputs[1] = &d->records;
		state->child_inputs[2] = &d->recording;
		break;
	case OPT_OUTPUT:
		d->output = find_output(arg);
		if (!d->output)
			argp_error(state, "--output: `%s' is none of pc, insn, branch, block, ctr",
				   arg);
		break;
	case OPT_NOT_TAKEN:
		d->not_taken = true;
		break;
	case OPT_NO_MARKS:
		d->no_marks = true;
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
	lines_put(v->lines, insn);
}

static void put_branch(struct view *v, uint64_t from, uint64_t to, unsigned int type)
{
	struct transfer *t = &v->transfers[(from ^ to << 3) / 2 % TRANSFERS];
	const char *text;
	size_t begin, len;

	if (t->len && t->from == from && t->to == to && t->type == type) {
		out_bytes(t->text, t->len);
		return;
	}
	/* twice the size: out_hex() and out_str() ask for more room than they use */
	begin = out_room(2 * sizeof(t->text));
	out_hex(from);
	out_char(' ');
	out_hex(to);
	out_char(' ');
	out_str(nt_type_name(type));
	out_char('\n');
	text = out_since(begin, &len);
	if (len > sizeof(t->text))
		return;
	*t = (struct transfer){ from, to, type, (unsigned int)len, "" };
	memcpy(t->text, text, len);
}

/* The instruction of the event itself is printed by branch_event(). */
static void branch_insn(struct view *v, const struct nt_insn *insn)
{
	if (insn->type == NT_TYPE_COND)
		put_branch(v, insn->pc, insn->pc + insn->len, NT_TYPE_NOT_TAKEN);
}

static void branch_event(struct view *v, const struct nt_event *ev, bool seam)
{
	(void)seam;
	if (ev->kind == NT_EV_BRANCH)
		put_branch(v, ev->from, ev->to, ev->type);
}

/* Join the last run of one piece and the first run of the next */
static struct run join_runs(struct run a, struct run b)
{
	if (!a.insns)
		return b;
	if (!b.insns)
		return a;
	return (struct run){ a.first, b.last, a.insns + b.insns };
}

static void put_head(void *arg)
{
	struct view *v = arg;
	struct run run = join_runs(v->d->open, v->head);

	v->d->open.insns = 0;
	if (run.insns)
		printf("%" PRIx64 " %" PRIx64 " %" PRIu64 "\n", run.first, run.last, run.insns);
}

static void block_event(struct view *v, const struct nt_event *ev, bool seam)
{
	struct run run = { v->pc, v->last, ev->insns };

	if (ev->kind != NT_EV_BRANCH && ev->kind != NT_EV_STOP && ev->kind != NT_EV_LOSS)
		return;
	if (seam) {
		v->tail = run;
	} else if (!v->ended) {
		v->ended = true;
		v->head = run;
		out_later(put_head, v);
	} else if (run.insns) {
		out_hex(run.first);
		out_char(' ');
		out_hex(run.last);
		out_char(' ');
		out_dec(run.insns);
		out_char('\n');
	}
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
	{ "ctr", NULL, NULL },	/* see records_decode() */
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

/* Walk the instructions up to the event. The event prints its own instruction. */
static void walk(struct view *v, const struct nt_event *ev)
{
	bool branch = ev->kind == NT_EV_BRANCH && !nt_type_is_trap(ev->type);
	bool own = v->d->output->event == branch_event && branch;
	struct nt_insn insn;
	uint32_t n = 0;
	int ret;

	nt_path_linear(v->path, v->piece->code, v->pc, ev->insns);
	while ((ret = nt_path_insn(v->path, &insn)) > 0) {
		if (++n < ev->insns || !own)
			v->d->output->insn(v, &insn);
		v->last = insn.pc;
		v->custom = insn.flags & NT_INSN_CUSTOM;
	}
	if (ret < 0)
		die("%s: no code at 0x%llx, where the decoder found an instruction before: a "
		    "mistake of ntrace", v->d->in.file, (unsigned long long)nt_path_pc(v->path));
}

/* The same, from the cache */
static void walk_again(struct view *v, const struct nt_event *ev)
{
	struct stretch *s = &v->stretches[(v->pc / 2 + 31 * ev->insns) % STRETCHES];
	const char *text;
	size_t begin, len;

	if (!ev->insns || ev->insns > STRETCH_INSNS) {
		walk(v, ev);
		return;
	}
	if (s->insns == ev->insns && s->pc == v->pc) {
		out_bytes(s->text, s->len);
		v->last = s->last;
		v->custom = s->custom;
		return;
	}
	/* twice the size: a line asks for more room than it uses */
	begin = out_room(2 * sizeof(s->text));
	walk(v, ev);
	text = out_since(begin, &len);
	memcpy(s->text, text, len);
	s->len = (uint16_t)len;
	s->pc = v->pc;
	s->insns = ev->insns;
	s->last = v->last;
	s->custom = v->custom;
}

static bool walks(const struct decode *d)
{
	return d->output->event != branch_event || d->not_taken;
}

/* The transfers that the output format does not show: MARKS_* */
static unsigned int untold(const struct view *v, const struct nt_event *ev)
{
	if (v->d->output->event == branch_event)
		return 0;
	return MARKS_TRAP | (v->custom && v->last == ev->from ? MARKS_IJUMP : 0);
}

static void show(struct piece *p, void *state, const struct nt_event *ev, bool seam)
{
	const struct printer *printer = p->own;
	struct view *v = state;

	v->piece = p;
	v->d = printer->d;
	v->lines = printer->lines;
	v->path = printer->path;
	v->stretches = printer->stretches;
	v->transfers = printer->transfers;
	v->marks.before = &v->d->time;
	if (!v->d->no_marks)
		marks_before(&v->marks, p, ev);
	if (v->stretches)
		walk_again(v, ev);
	else if (walks(v->d))
		walk(v, ev);
	if (v->d->output->event)
		v->d->output->event(v, ev, seam);
	if (!v->d->no_marks)
		marks_behind(&v->marks, p, ev, seam, untold(v, ev));
	switch (ev->kind) {
	case NT_EV_BRANCH:
	case NT_EV_START:
	case NT_EV_SYNC:
		v->pc = ev->to;
		break;
	case NT_EV_LOSS:
		v->losses++;
		out_trouble(ev);
		break;
	case NT_EV_NOTICE:
		v->losses += is_loss(ev);
		out_trouble(ev);
		break;
	}
}

static void piece_done(void *ctx, void *state)
{
	struct decode *d = ctx;
	struct view *v = state;

	d->losses += v->losses;
	d->open = join_runs(d->open, v->tail);
	if (v->marks.timed)
		d->time = (struct marks_time){ true, v->marks.time };
}

static void *new_printer(void *ctx)
{
	struct printer *p = calloc(1, sizeof(*p));

	if (!p)
		die("%s", nt_strerror(NT_ENOMEM));
	p->d = ctx;
	p->path = nt_path_new();
	if (!p->path)
		die("%s", nt_strerror(NT_ENOMEM));
	if (p->d->output->insn == pc_insn)
		p->stretches = calloc(STRETCHES, sizeof(*p->stretches));
	if (p->d->output->event == branch_event) {
		p->transfers = calloc(TRANSFERS, sizeof(*p->transfers));
		if (!p->transfers)
			die("%s", nt_strerror(NT_ENOMEM));
	}
	if (p->d->symbols)
		p->lines = lines_new(&p->d->in.params, p->d->symbols);
	return p;
}

static void free_printer(void *own)
{
	struct printer *p = own;

	lines_free(p->lines);
	nt_path_free(p->path);
	free(p->stretches);
	free(p->transfers);
	free(p);
}

static void decode(struct decode *d)
{
	/* sync messages do not end a block */
	const bool syncs = !d->no_marks && d->output->event != block_event;
	const struct consumer consumer = {
		.syncs = syncs ? 1u << NT_SYNC_TRIGGER | 1u << NT_SYNC_TRACE_EVENT : 0,
		.size = sizeof(struct view), .event = show, .done = piece_done,
		.thread_new = new_printer, .thread_free = free_printer, .ctx = d,
	};

	if (d->output->insn == insn_insn)
		d->symbols = symbols_new(&d->in);
	pieces_decode(&d->in, &consumer);
	symbols_free(d->symbols);
}

static int decode_recording(struct decode *d)
{
	bool branches = d->output->event == branch_event;
	int status;

	rec_refuse_input(&d->in);
	if (!branches && d->output->insn != pc_insn)
		die("--output=%s: of a perf.data only pc and branch; ntrace script has symbols",
		    d->output->name);
	if (d->not_taken)
		die("--not-taken: not of a perf.data");
	status = rec_decode(d->in.file, &d->recording, branches, !d->no_marks);
	rec_options_free(&d->recording);
	input_free(&d->in);
	return status;
}

int cmd_decode(int argc, char **argv)
{
	static const struct argp_child children[] = {
		{ &input_argp, 0, NULL, 0 }, { &records_argp, 0, NULL, 0 },
		{ &rec_argp, 0, NULL, 0 }, { 0 }
	};
	char doc[250];
	const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "FILE",
		.doc = doc,
		.children = children,
	};
	struct decode d = { .output = &outputs[0] };
	bool ctr;

	snprintf(doc, sizeof(doc), "Decode an N-Trace file with the program that was traced, or a perf.data.\v"
		 "Disassembler of --output=insn: %s.", lines_disassembler());
	input_init(&d.in);
	parse_arguments(&argp, argc, argv, &d);
	if (rec_is_data(d.in.file))
		return decode_recording(&d);
	rec_refuse_options(&d.recording, "a raw trace");
	if (!d.in.images)
		die("no program given: --elf or --raw%s", input_pipe_hint(&d.in));
	ctr = !strcmp(d.output->name, "ctr");
	if (ctr && d.not_taken)
		die("--not-taken is for --output=branch; records have --ctrctl=...,ntbren");
	if (!ctr && d.records.given)
		die("--%s is for --output=ctr", d.records.given);
	d.in.live = !ctr;
	input_open(&d.in);
	if (ctr)
		d.losses = records_decode(&d.records, &d.in);
	else
		decode(&d);
	if (d.losses)
		diagnose(&d.in);
	input_free(&d.in);
	return d.losses ? EXIT_LOSSES : EXIT_WHOLE;
}
