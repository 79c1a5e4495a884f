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

/* Text that is used in many lines */
struct text {
	unsigned int len;
	char bytes[92];
};

/* The start of a line, up to the seconds */
struct head {
	const struct rec_task *task;
	int tid, cpu;
	uint64_t second;
	unsigned int generation;
	struct text text;
};

struct place {
	const struct rec_space *space;
	uint64_t addr;
	unsigned int generation;
	struct text text;
};

/* A line from the flags on: nearly all transfers were made before */
struct tail {
	const struct rec_space *space;
	uint64_t ip, addr;
	unsigned int flags, generation;
	unsigned int len;		/* 0: too long */
	char bytes[148];
};

#define HEADS	64
#define PLACES	8192
#define FLAGS	1024
#define TAILS	4096

struct kept {
	struct head heads[HEADS];
	struct place places[PLACES];
	struct text flags[FLAGS];
	struct tail tails[TAILS];
};

struct script {
	struct rec_options options;
	struct rec rec;
	const char *file;
	bool insns;
	unsigned int generation;	/* changes with names and mappings; starts at 1 */
	struct kept *kept;
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

/* Pad text on the right up to a width, or on the left if the width is negative */
static void put_padded(const char *text, int width)
{
	int len = (int)strlen(text), i;

	for (i = len; width < 0 && i < -width; i++)
		out_char(' ');
	out_plain(text);
	for (i = len; i < width; i++)
		out_char(' ');
}

/* Flags as perf names them: where trace begins or ends, and the kind of branch, if any */
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

static void put_task(const struct rec_sample *s, uint64_t second)
{
	char text[24];

	put_padded(s->task ? s->task->comm : ":-1", -16);
	snprintf(text, sizeof(text), "%d", s->tid);
	out_char(' ');
	put_padded(text, -7);
	out_str(" [");
	snprintf(text, sizeof(text), "%03d", s->cpu);
	out_str(text);
	out_str("] ");
	snprintf(text, sizeof(text), "%" PRIu64, second);
	put_padded(text, -5);
	out_char('.');
}

static void put_text(const struct text *text)
{
	out_bytes(text->bytes, text->len);
}

/* Text of at most this length, printed from here on, can be cached. */
#define KEEP_ROOM	sizeof(((struct text *)NULL)->bytes)

/*
 * Twice the room: a number asks for more than it needs, and what is to be kept must not be flushed.
 */
static size_t begin_kept(void)
{
	return out_room(2 * KEEP_ROOM);
}

static void keep(struct text *text, size_t begin)
{
	size_t len;
	const char *put = out_since(begin, &len);

	text->len = (unsigned int)len;
	memcpy(text->bytes, put, len);
}

static void put_head(struct script *s, const struct rec_sample *sample)
{
	const uint64_t second = sample->time / 1000000000;
	struct head *h = &s->kept->heads[(unsigned int)sample->cpu % HEADS];
	size_t begin;

	if (h->generation == s->generation && h->task == sample->task && h->tid == sample->tid &&
	    h->cpu == sample->cpu && h->second == second) {
		put_text(&h->text);
	} else {
		begin = begin_kept();
		put_task(sample, second);
		*h = (struct head){ .task = sample->task, .tid = sample->tid, .cpu = sample->cpu,
				    .second = second, .generation = s->generation };
		keep(&h->text, begin);
	}
	out_nanoseconds(sample->time % 1000000000);
}

/* Room for two numbers and the characters between them */
#define NAME_ROOM	(KEEP_ROOM - 40)

static void put_symbol(const char *name, uint64_t addr, uint64_t offset)
{
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

/* The address space that the names of these addresses depend on: none for the kernel's */
static const struct rec_space *space_of(struct script *s, const struct rec_sample *sample,
					uint64_t a, uint64_t b)
{
	return rec_is_kernel(&s->rec, a) && rec_is_kernel(&s->rec, b) ? NULL : sample->space;
}

/* Print an address with its symbol. Cached, because the same addresses occur again and again. */
static void put_place(struct script *s, const struct rec_sample *sample, uint64_t addr)
{
	const struct rec_space *space = space_of(s, sample, addr, addr);
	const uint64_t h = (addr ^ (uintptr_t)space) * 0x9e3779b97f4a7c15ull;
	struct place *p = &s->kept->places[h >> 32 & (PLACES - 1)];
	uint64_t offset = 0;
	const char *name;
	size_t begin;

	if (p->addr == addr && p->space == space && p->generation == s->generation) {
		put_text(&p->text);
		return;
	}
	name = rec_symbol(&s->rec, sample->task, addr, &offset);
	begin = begin_kept();
	put_symbol(name, addr, offset);
	if (name && strlen(name) > NAME_ROOM)
		return;
	*p = (struct place){ .space = space, .addr = addr, .generation = s->generation };
	keep(&p->text, begin);
}

static void put_kind(struct script *s, unsigned int flags)
{
	struct text *text = &s->kept->flags[flags % FLAGS];
	size_t begin;

	if (!text->len) {
		begin = begin_kept();
		out_str(": branches: ");
		put_flags(flags);
		out_char(' ');
		keep(text, begin);
		return;
	}
	put_text(text);
}

static void make_tail(struct script *s, const struct rec_sample *sample, struct tail *t)
{
	/* what is printed until then must not be flushed: see begin_kept() */
	const size_t begin = out_room(4 * KEEP_ROOM);
	const char *put;
	size_t len;

	put_kind(s, sample->flags);
	put_place(s, sample, sample->ip);
	out_str(" => ");
	put_place(s, sample, sample->addr);
	out_char('\n');
	put = out_since(begin, &len);
	t->len = len <= sizeof(t->bytes) ? (unsigned int)len : 0;
	memcpy(t->bytes, put, t->len);
}

static void put_tail(struct script *s, const struct rec_sample *sample)
{
	const struct rec_space *space = space_of(s, sample, sample->ip, sample->addr);
	const uint64_t h = (sample->ip ^ sample->addr << 21 ^ (uintptr_t)space) *
			   0x9e3779b97f4a7c15ull;
	struct tail *t = &s->kept->tails[h >> 40 & (TAILS - 1)];

	if (t->len && t->ip == sample->ip && t->addr == sample->addr &&
	    t->space == space && t->flags == sample->flags &&
	    t->generation == s->generation) {
		out_bytes(t->bytes, t->len);
		return;
	}
	*t = (struct tail){ .space = space, .ip = sample->ip, .addr = sample->addr,
			    .flags = sample->flags, .generation = s->generation };
	make_tail(s, sample, t);
}

static void put_branch(void *ctx, const struct rec_sample *sample)
{
	put_head(ctx, sample);
	put_tail(ctx, sample);
}

static void put_insn(void *ctx, const struct rec_sample *sample)
{
	put_head(ctx, sample);
	out_str(": instructions: ");
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

/* Print a loss of events or samples, where it was found. */
static void put_note(void *ctx, const struct rec_note *n)
{
	struct script *s = ctx;
	char text[120];

	if (n->type != NT_PERFDATA_SWITCH && n->type != NT_PERFDATA_SWITCH_CPU_WIDE)
		s->generation++;
	if (!n->lost)
		return;
	snprintf(text, sizeof(text),
		 "# lost time %" PRIu64 ".%09" PRIu64 " cpu %d: %" PRIu64 " %s\n",
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
	struct script s = { .generation = 1 };
	struct rec_output output = { .loss = put_loss, .note = put_note, .ctx = &s };
	int status;

	parse_arguments(&argp, argc, argv, &s);
	s.kept = calloc(1, sizeof(*s.kept));
	if (!s.kept)
		die("%s", nt_strerror(NT_ENOMEM));
	if (s.insns)
		output.insn = put_insn;
	else
		output.branch = put_branch;
	rec_open(&s.rec, s.file, &s.options);
	rec_run(&s.rec, &output);
	out_flush();
	out_free();
	free(s.kept);
	status = rec_status(&s.rec);
	rec_free(&s.rec);
	rec_options_free(&s.options);
	return status;
}
