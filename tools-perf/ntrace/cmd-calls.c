// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace calls: what the calls of each function took, or each call of one function
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calls.h"
#include "rec.h"

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

/* What is known of an address, as long as code stays where it is */
struct known {
	uint64_t addr;
	int pid;
	bool called, start, part;
	struct calls_function *function;
	unsigned long age;
};

#define KNOWN	8192

struct command_calls {
	struct calls calls;
	struct input in;
	struct rec_options options;
	struct rec rec;
	struct symbols *symbols;	/* of a raw trace */
	const struct rec_task *task;	/* whose event it is */
	enum calls_format format;
	const char *function;
	bool by_insns, by_time;
	struct known known[KNOWN];
	unsigned long age;		/* counts what has changed */
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct command_calls *cc = state->input;
	size_t i;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &cc->in;
		state->child_inputs[1] = &cc->options;
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

/* ------------------------------------------------------------ functions --- */

/* .cold parts of functions have names of their own. */
static bool is_part(const char *name)
{
	const char *dot = strstr(name, ".cold");

	return dot && (!dot[5] || dot[5] == '.');
}

static void look_up(struct command_calls *cc, struct known *k)
{
	uint64_t offset = 0, place = k->addr;
	const char *file = "", *name;

	if (cc->symbols) {
		name = symbols_find(cc->symbols, k->addr, &offset);
	} else {
		name = rec_symbol(&cc->rec, cc->task, k->addr, &offset);
		if (!rec_place(&cc->rec, rec_task_space(&cc->rec, cc->task), k->addr, &file, &place))
			file = "";
		/* the kernel has no offsets */
		if (rec_is_kernel(&cc->rec, k->addr))
			place = k->addr;
	}
	k->part = name && is_part(name);
	k->start = name ? !offset : k->called;
	if (!name && !k->called)
		k->function = NULL;
	else
		k->function = calls_function(&cc->calls, name ?: "[unknown]", file, place - offset);
}

static struct calls_function *find(void *ctx, uint64_t addr, bool called, bool *start, bool *part)
{
	struct command_calls *cc = ctx;
	int pid = cc->task && (cc->symbols || !rec_is_kernel(&cc->rec, addr)) ? cc->task->pid : 0;
	uint64_t hash = (addr ^ (uint64_t)pid << 48) * 0x9e3779b97f4a7c15ull;
	struct known *k = &cc->known[hash >> 51];

	if (k->age != cc->age || k->addr != addr || k->pid != pid || k->called != called) {
		*k = (struct known){ .addr = addr, .pid = pid, .called = called, .age = cc->age };
		look_up(cc, k);
	}
	*start = k->start;
	*part = k->part;
	return k->function;
}

static void put_one(void *ctx, const struct calls_one *one)
{
	struct command_calls *cc = ctx;

	if (!strcmp(one->function->name, cc->function))
		calls_print_one(&cc->calls, cc->format, one);
}

static void begin(struct command_calls *cc, uint64_t kernel_from, const char *time_unit)
{
	struct calls *c = &cc->calls;

	cc->age = 1;
	c->find = find;
	c->ctx = cc;
	c->time_unit = time_unit;
	c->by_insns = cc->by_insns || !time_unit;
	if (cc->by_time && !time_unit)
		die("%s: has no time", cc->in.file);
	calls_init(c, kernel_from);
	if (!cc->function)
		return;
	c->one = put_one;
	calls_print_begin(c, cc->format);
}

static void end(struct command_calls *cc)
{
	calls_end(&cc->calls);
	if (cc->function)
		calls_print_end(cc->format);
	else
		calls_print(&cc->calls, cc->format, cc->in.file, isatty(STDOUT_FILENO));
	calls_free(&cc->calls);
}

/* ----------------------------------------------------------- recordings --- */

static struct calls_event event_of(struct command_calls *cc, const struct rec_sample *s)
{
	cc->task = s->task;
	return (struct calls_event){
		.time = s->time, .interval = rec_interval(&cc->rec, s->time),
		.cpu = s->cpu, .pid = s->pid, .tid = s->tid,
		.comm = s->task ? s->task->comm : NULL, .from = s->ip, .to = s->addr,
		.type = s->type,
	};
}

static void take_run(void *ctx, const struct rec_sample *s, uint32_t insns)
{
	struct command_calls *cc = ctx;
	struct calls_event ev = event_of(cc, s);

	calls_run(&cc->calls, &ev, insns);
}

static void take_branch(void *ctx, const struct rec_sample *s)
{
	struct command_calls *cc = ctx;
	struct calls_event ev;

	if (s->type == NT_TYPE_COND)
		return;
	ev = event_of(cc, s);
	ev.flags = (s->flags & NT_SESSION_BEGIN ? PERF_BEGIN : 0) | (s->flags & NT_SESSION_END ? PERF_END : 0) |
		   (s->flags & NT_SESSION_SYSCALL ? PERF_SYSCALL : 0);
	calls_transfer(&cc->calls, &ev);
}

static void take_loss(void *ctx, const struct rec_loss *loss)
{
	struct command_calls *cc = ctx;
	const struct calls_event ev = {
		.time = loss->time, .interval = rec_interval(&cc->rec, loss->time),
		.cpu = loss->cpu, .pid = loss->pid, .tid = loss->tid,
	};

	calls_loss(&cc->calls, &ev);
}

static void take_note(void *ctx, const struct rec_note *n)
{
	struct command_calls *cc = ctx;
	bool out = n->misc & NT_PERFDATA_MISC_SWITCH_OUT;

	switch (n->type) {
	case NT_PERFDATA_SWITCH:
		if (out) {
			calls_switch_out(&cc->calls, n->time, n->pid, n->tid, n->cpu);
			break;
		}
		/* fall through */
	case NT_PERFDATA_SWITCH_CPU_WIDE:
		/* both of its kinds tell who comes */
		calls_switch_in(&cc->calls, n->time, n->pid, n->tid, n->cpu);
		break;
	case NT_PERFDATA_COMM:
		if (n->misc & NT_PERFDATA_MISC_COMM_EXEC)
			calls_exec(&cc->calls, n->pid, n->tid);
		break;
	}
	/* what is mapped where may be something else now */
	if (n->type != NT_PERFDATA_SWITCH && n->type != NT_PERFDATA_SWITCH_CPU_WIDE)
		cc->age++;
}

static bool has_time(const struct rec *rec)
{
	const struct nt_session_buffer *b;
	unsigned int i;

	if (!rec->info.have_clock)
		return false;
	for (i = 0; i < rec->trace.nr_buffers; i++) {
		b = rec->trace.buffer[i];
		if (b && b->nr_windows && b->window[0].hw_id & NTRACE_HW_ID_TIMESTAMP)
			return true;
	}
	return false;
}

static int of_recording(struct command_calls *cc)
{
	const struct rec_output output = {
		.branch = take_branch, .loss = take_loss, .run = take_run, .note = take_note,
		.ctx = cc,
	};
	int status;

	rec_refuse_input(&cc->in);
	rec_open(&cc->rec, cc->in.file, &cc->options);
	begin(cc, ntrace_info_kernel_start(&cc->rec.info), has_time(&cc->rec) ? "ns" : NULL);
	rec_run(&cc->rec, &output);
	end(cc);
	status = rec_status(&cc->rec);
	rec_free(&cc->rec);
	return status;
}

/* ------------------------------------------------------------ raw traces --- */

struct raw {
	struct command_calls *cc;
	struct calls_event now;		/* whose what follows is, and when */
	uint64_t pc, skipped;
	enum { HELD_NONE, HELD_STOP, HELD_START } held;	/* until what follows is clear */
	uint64_t held_pc, held_time;
};

static void put_transfer(struct raw *r, const struct nt_event *ev)
{
	struct calls_event to = r->now;

	to.from = ev->from;
	to.to = ev->to;
	to.type = ev->type;
	to.flags = ev->flags & NT_EVF_LEFT ? PERF_END : 0;
	calls_transfer(&r->cc->calls, &to);
}

static void flush_held(struct raw *r)
{
	struct calls_event ev = r->now;

	ev.time = r->held_time;
	ev.from = r->held == HELD_STOP ? r->held_pc : 0;
	ev.to = r->held == HELD_START ? r->held_pc : 0;
	ev.flags = r->held == HELD_STOP ? PERF_END : PERF_BEGIN;
	if (r->held)
		calls_transfer(&r->cc->calls, &ev);
	r->held = HELD_NONE;
}

static void hold(struct raw *r, int what, uint64_t pc)
{
	r->held = what;
	r->held_pc = pc;
	r->held_time = r->now.time;
}

static void put_run(struct raw *r, const struct nt_event *ev)
{
	if (!ev->insns)
		return;
	r->now.from = r->pc;
	calls_run(&r->cc->calls, &r->now, ev->insns);
}

static void put_loss(struct raw *r, const struct nt_event *ev)
{
	if (!is_loss(ev))
		return;
	r->skipped += ev->skipped;
	calls_loss(&r->cc->calls, &r->now);
}

/* A stop was the task's before; whose a start is tells the context that follows. */
static void put_context(struct raw *r, const struct nt_event *ev)
{
	if (r->held == HELD_STOP)
		flush_held(r);
	if (ntrace_is_scontext(r->cc->in.params.profile, ev->reason))
		r->now.pid = r->now.tid = (int)ev->context;
}

static void put_start(struct raw *r, const struct nt_event *ev)
{
	bool pause = r->held == HELD_STOP && ev->flags & NT_EVF_JOIN && ev->to == r->held_pc;

	if (!pause)
		flush_held(r);
	r->held = HELD_NONE;
	if (ev->flags & NT_EVF_TIME)
		r->now.time = ev->time;
	if (!pause)
		hold(r, HELD_START, ev->to);
}

static void put_event(struct raw *r, const struct nt_event *ev)
{
	if (ev->kind == NT_EV_START) {
		put_start(r, ev);
	} else if (ev->kind == NT_EV_CONTEXT) {
		put_context(r, ev);
	} else {
		flush_held(r);
		if (ev->flags & NT_EVF_TIME)
			r->now.time = ev->time;
		put_run(r, ev);
	}
	if (ev->kind == NT_EV_BRANCH)
		put_transfer(r, ev);
	else if (ev->kind == NT_EV_STOP && ev->reason == NT_EVCODE_NONE)
		calls_gap(&r->cc->calls, &r->now);
	else if (ev->kind == NT_EV_STOP && !(ev->flags & NT_EVF_LEFT))
		hold(r, HELD_STOP, ev->from);
	else if (ev->kind == NT_EV_LOSS || ev->kind == NT_EV_NOTICE)
		put_loss(r, ev);
	if (ev->kind == NT_EV_BRANCH || ev->kind == NT_EV_START || ev->kind == NT_EV_SYNC)
		r->pc = ev->to;
}

static int of_trace(struct command_calls *cc)
{
	struct input *in = &cc->in;
	struct raw r = { .cc = cc };
	struct nt_event ev[256];
	struct nt_code *code;
	struct nt_flow *flow;
	uint64_t losses;
	int i, n;

	if (!in->images)
		die("no program given: --elf or --raw");
	input_open(in);
	input_check_sources(in);
	input_say_begin(in);
	cc->symbols = symbols_new(in);
	code = input_code(in);
	flow = input_flow(in, code, in->begin, in->size);
	begin(cc, in->params.xlen == 32 ? NT_RV32_TASK_SIZE : 1ull << 63,
	      in->params.timestamps ? "ticks" : NULL);
	while ((n = nt_flow_next(flow, ev, 256)) > 0) {
		for (i = 0; i < n; i++)
			put_event(&r, &ev[i]);
		progress(nt_flow_consumed(flow), in->size - in->begin);
	}
	if (n < 0)
		die("%s", nt_strerror(n));
	progress_end();
	flush_held(&r);
	losses = cc->calls.losses;
	end(cc);
	if (losses) {
		fprintf(stderr, "ntrace: %" PRIu64 " losses, %" PRIu64 " bytes skipped\n", losses,
			r.skipped);
		diagnose(in);
	}
	nt_flow_free(flow);
	nt_code_free(code);
	symbols_free(cc->symbols);
	return losses ? EXIT_LOSSES : EXIT_WHOLE;
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
	input_init(&cc->in);
	parse_arguments(&argp, argc, argv, cc);
	if (rec_is_data(cc->in.file)) {
		status = of_recording(cc);
	} else {
		rec_refuse_options(&cc->options);
		status = of_trace(cc);
	}
	rec_options_free(&cc->options);
	input_free(&cc->in);
	free(cc);
	if (fflush(stdout) || ferror(stdout))
		die("cannot write to standard output: %s", strerror(errno));
	return status;
}
