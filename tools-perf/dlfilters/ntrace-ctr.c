// SPDX-License-Identifier: GPL-2.0-only
/*
 * Control transfer records (RISC-V CTR) of branch samples:
 *
 *	perf script --itrace=b --dlfilter ntrace-ctr.so --dlarg ctrctl=u,ste --dlarg depth=32
 *
 * prints what the hart's buffer would have held. Arguments are NAME=VALUE; one that
 * is none is refused.
 */
#include <perf/perf_dlfilter.h>

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nt-ctr.h"

#define visible	__attribute__((visibility("default")))

visible struct perf_dlfilter_fns perf_dlfilter_fns;

/* What a buffer is set up with */
struct setting {
	uint64_t ctl, vsctl;
	uint32_t depth;
};

/* Places in the program where something happens to the buffer */
enum {
	AT_START,		/* empty, and recording */
	AT_STOP,		/* printed, and off */
	AT_PAUSE,		/* off */
	AT_RESUME,
	AT_PRINT,
	PLACES
};

static const char *const places[PLACES] = {
	[AT_START] = "start", [AT_STOP] = "stop", [AT_PAUSE] = "pause",
	[AT_RESUME] = "resume", [AT_PRINT] = "print",
};

/* A thread, or a CPU */
struct owner {
	int32_t key;		/* TID or CPU */
	struct nt_ctr *ctr;
	bool on;
	bool pc_known;
	uint64_t pc;		/* where the last transfer led to, or trace ended */
	bool ended;		/* it did */
	unsigned int starts;
	const char *trouble;	/* why the buffer was emptied since it began */
};

struct filter {
	void *ctx;		/* of the sample in work */
	bool draft, per_cpu;
	struct setting setting;
	struct setting *list;	/* one for each start */
	size_t nr_list;
	bool has_place[PLACES];
	uint64_t place[PLACES];
	struct nt_params params;
	struct nt_code *code;
	struct owner **owners;
	size_t nr_owners;
	struct owner *last;
};

static int complain(const char *fmt, ...)
{
	va_list args;

	fprintf(stderr, "ntrace-ctr: ");
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fprintf(stderr, "\n");
	return -1;
}

/* --- arguments ---------------------------------------------------------------- */

static int parse_number(const char *name, const char *text, uint64_t max, uint64_t *value)
{
	char *end;

	*value = strtoull(text, &end, 0);
	if (!*text || *end || *text == '-' || *value > max)
		return complain("%s=%s: no number up to %#" PRIx64, name, text, max);
	return 0;
}

static int parse_ctl(const struct filter *f, const char *name, const char *text, uint64_t *ctl)
{
	size_t bad;

	if (!nt_ctr_parse(f->draft, text, ctl, &bad))
		return 0;
	return complain("%s: no field `%s'; ntrace(1) lists them", name, text + bad);
}

static int parse_depth(const char *text, uint32_t *depth)
{
	uint64_t value;

	if (parse_number("depth", text, NT_CTR_DEPTH_MAX, &value))
		return -1;
	*depth = (uint32_t)value;
	return value ? 0 : complain("depth=0: a buffer needs at least one entry");
}

/* Lines "CTRCTL DEPTH ...", of which each start takes the next */
static int read_list(struct filter *f, const char *path)
{
	char line[512], ctl[256], depth[32];
	FILE *file = fopen(path, "r");
	int err = 0;

	if (!file)
		return complain("list=%s: cannot be read", path);
	while (!err && fgets(line, sizeof(line), file)) {
		struct setting *more, s = { 0 };

		if (*line == '#' || sscanf(line, "%255s %31s", ctl, depth) != 2)
			continue;
		err = parse_ctl(f, "list", ctl, &s.ctl) || parse_depth(depth, &s.depth);
		s.vsctl = s.ctl;
		more = realloc(f->list, (f->nr_list + 1) * sizeof(*more));
		if (!more) {
			err = complain("no memory");
			break;
		}
		f->list = more;
		f->list[f->nr_list++] = s;
	}
	fclose(file);
	if (!err && !f->nr_list)
		err = complain("list=%s: has no line `CTRCTL DEPTH'", path);
	return err;
}

static int parse_place(struct filter *f, const char *name, const char *value)
{
	int i;

	for (i = 0; i < PLACES; i++) {
		if (strcmp(name, places[i]))
			continue;
		f->has_place[i] = true;
		return parse_number(name, value, UINT64_MAX, &f->place[i]);
	}
	return complain("%s: no such argument; see perf-riscv-ntrace(1)", name);
}

static int parse_argument(struct filter *f, const char *name, const char *value)
{
	uint64_t number;

	if (!strcmp(name, "ctrctl"))
		return parse_ctl(f, name, value, &f->setting.ctl);
	if (!strcmp(name, "vsctrctl"))
		return parse_ctl(f, name, value, &f->setting.vsctl);
	if (!strcmp(name, "depth"))
		return parse_depth(value, &f->setting.depth);
	if (!strcmp(name, "per")) {
		f->per_cpu = !strcmp(value, "cpu");
		return f->per_cpu || !strcmp(value, "thread") ? 0 :
		       complain("per=%s: is neither cpu nor thread", value);
	}
	if (!strcmp(name, "xlen")) {
		if (parse_number(name, value, 64, &number) || (number != 32 && number != 64))
			return complain("xlen=%s: is neither 32 nor 64", value);
		f->params.xlen = (uint8_t)number;
		return 0;
	}
	if (!strcmp(name, "isa"))
		return nt_isa_parse(value, &f->params) < 0 ?
			complain("isa=%s: not understood", value) : 0;
	if (!strcmp(name, "list"))
		return read_list(f, value);
	return parse_place(f, name, value);
}

/* "draft" says in which words others are to be understood, wherever it stands. */
static int parse_arguments(struct filter *f, int argc, char **argv)
{
	int i, err = 0;

	for (i = 0; i < argc; i++)
		if (!strcmp(argv[i], "draft"))
			f->draft = true;
	nt_ctr_parse(f->draft, "u,s,m", &f->setting.ctl, &(size_t){ 0 });
	f->setting.vsctl = UINT64_MAX;
	f->setting.depth = 256;
	for (i = 0; i < argc && !err; i++) {
		char *value = strchr(argv[i], '='), *name;

		if (!strcmp(argv[i], "draft"))
			continue;
		if (!value)
			return complain("%s: arguments are NAME=VALUE, or draft", argv[i]);
		name = strndup(argv[i], (size_t)(value - argv[i]));
		err = name ? parse_argument(f, name, value + 1) : complain("no memory");
		free(name);
	}
	if (f->setting.vsctl == UINT64_MAX)
		f->setting.vsctl = f->setting.ctl;
	if (!err && f->list && !f->has_place[AT_START])
		err = complain("list=... is for start=ADDRESS");
	return err;
}

/* --- buffers ------------------------------------------------------------------ */

static struct nt_ctr *new_buffer(const struct filter *f, const struct setting *s)
{
	struct nt_ctr_params params;
	struct nt_ctr *ctr;

	nt_ctr_params_init(&params);
	params.flags = (f->draft ? NT_CTR_DRAFT : 0) | NT_CTR_NO_CC;
	params.depth = s->depth;
	params.depths = 0;
	ctr = nt_ctr_new(&params);
	if (!ctr)
		return NULL;
	nt_ctr_write(ctr, NT_CTR_M, f->draft ? NT_CSR_DRAFT_MCTRCONTROL : NT_CSR_MCTRCTL, s->ctl);
	nt_ctr_write(ctr, NT_CTR_M, f->draft ? NT_CSR_DRAFT_VSCTRCONTROL : NT_CSR_VSCTRCTL,
		     s->vsctl);
	return ctr;
}

static struct owner *add_owner(struct filter *f, int32_t key)
{
	struct owner **more = realloc(f->owners, (f->nr_owners + 1) * sizeof(*more));
	struct owner *o = calloc(1, sizeof(*o));

	if (more)
		f->owners = more;
	if (!more || !o) {
		free(o);
		return NULL;
	}
	o->key = key;
	o->ctr = new_buffer(f, &f->setting);
	o->on = !f->has_place[AT_START] && !f->has_place[AT_RESUME];
	if (!o->ctr) {
		free(o);
		return NULL;
	}
	f->owners[f->nr_owners++] = o;
	return o;
}

static struct owner *find_owner(struct filter *f, int32_t key)
{
	size_t i;

	if (f->last && f->last->key == key)
		return f->last;
	for (i = 0; i < f->nr_owners; i++)
		if (f->owners[i]->key == key)
			return f->last = f->owners[i];
	return f->last = add_owner(f, key);
}

static void print_buffer(const struct filter *f, struct owner *o)
{
	uint32_t i, depth = nt_ctr_depth(o->ctr);
	struct nt_ctr_entry e;
	uint64_t status;
	char line[80];

	printf("# %s %" PRId32, f->per_cpu ? "cpu" : "thread", o->key);
	if (o->starts)
		printf(" start %u", o->starts);
	if (o->trouble)
		printf(" %s", o->trouble);
	nt_ctr_read(o->ctr, NT_CTR_M, f->draft ? NT_CSR_DRAFT_MCTRSTATUS : NT_CSR_SCTRSTATUS,
		    &status);
	printf("\n%s %" PRIx64 "\n", f->draft ? "mctrstatus" : "sctrstatus", status);
	for (i = 0; i < depth; i++) {
		if (!nt_ctr_entry(o->ctr, i, &e))
			continue;
		nt_ctr_format(&e, line, sizeof(line));
		printf("%" PRIu32 " %s\n", i, line);
	}
}

/* What is missing would have been in the buffer. */
static void lose(struct owner *o, const char *what)
{
	const struct nt_event loss = { .kind = NT_EV_LOSS };

	if (!o->on)
		return;
	nt_ctr_events(o->ctr, NULL, &loss, 1);
	o->trouble = what;
}

static int start_buffer(struct filter *f, struct owner *o)
{
	const struct setting *s = &f->setting;

	if (f->list) {
		if (o->starts >= f->nr_list)
			return complain("the list has %zu lines, and there are more starts",
					f->nr_list);
		s = &f->list[o->starts];
	}
	o->starts++;
	nt_ctr_free(o->ctr);
	o->ctr = new_buffer(f, s);
	o->on = true;
	o->trouble = NULL;
	return o->ctr ? 0 : complain("no memory");
}

static int at_place(struct filter *f, struct owner *o, int which)
{
	switch (which) {
	case AT_START:
		return start_buffer(f, o);
	case AT_STOP:
		print_buffer(f, o);
		o->on = false;
		return 0;
	case AT_PRINT:
		print_buffer(f, o);
		return 0;
	default:
		o->on = which == AT_RESUME;
		return 0;
	}
}

/* --- transfers ---------------------------------------------------------------- */

static int read_code(void *arg, uint64_t space, uint64_t addr, void *buf, size_t len)
{
	const struct filter *f = arg;
	int32_t n = perf_dlfilter_fns.object_code(f->ctx, addr, buf, (uint32_t)len);

	(void)space;
	return n > 0 ? (size_t)n : 0;
}

static unsigned int mode_of(const struct filter *f, uint64_t addr)
{
	/* RV32 Linux has user space beyond the top bit, up to its fixmap */
	const uint64_t kernel = f->params.xlen == 32 ? 0x9fc00000 : 1ull << 63;

	return addr >= kernel ? NT_CTR_S : NT_CTR_U;
}

/* Branches not taken from o->pc on; the instruction at `end` is another's affair. */
static void fall_through(struct filter *f, struct owner *o, uint64_t end)
{
	struct nt_ctr_transfer t = {
		.size = sizeof(t), .type = NT_TYPE_NOT_TAKEN, .cause = NT_CTR_CAUSE_UNKNOWN,
	};
	struct nt_insn insn;

	t.source = t.target = (uint8_t)mode_of(f, end);
	for (t.from = o->pc; t.from < end; t.from = t.to) {
		if (nt_code_insn(f->code, t.from, &insn) < 0) {
			lose(o, "code-missing");
			return;
		}
		t.to = t.from + insn.len;
		if (insn.type == NT_TYPE_COND)
			nt_ctr_transfer(o->ctr, &t);
	}
}

/* Does anybody want to know of branches not taken? */
static bool wants_not_taken(const struct filter *f, struct owner *o)
{
	uint64_t ctl;

	nt_ctr_read(o->ctr, NT_CTR_M, f->draft ? NT_CSR_DRAFT_MCTRCONTROL : NT_CSR_MCTRCTL, &ctl);
	return ctl & NT_CTRCTL_NTBREN;
}

/*
 * The program went from o->pc to `end` in a straight line; `retired`: the
 * instruction there, too. What happens at a place happens with its instruction.
 */
static int straight(struct filter *f, struct owner *o, uint64_t end, bool retired)
{
	int i, err = 0;

	if (!o->pc_known || o->pc > end)
		return 0;
	for (i = 0; i < PLACES && !err; i++) {
		uint64_t at = f->place[i];

		if (f->has_place[i] && at >= o->pc && (at < end || (at == end && retired)))
			err = at_place(f, o, i);
	}
	if (!err && o->on && wants_not_taken(f, o))
		fall_through(f, o, end);
	return err;
}

static bool is_breakpoint(const struct nt_insn *insn)
{
	return insn->raw == 0x00100073 || (insn->len == 2 && insn->raw == 0x9002);
}

/* What of a transfer the sample's flags tell, and what only its instruction does */
static void classify(struct filter *f, const struct perf_dlfilter_sample *s,
		     struct nt_ctr_transfer *t)
{
	struct nt_insn insn = { 0 };
	bool known = nt_code_insn(f->code, s->ip, &insn) > 0;
	uint32_t both = s->flags & (PERF_DLFILTER_FLAG_INTERRUPT | PERF_DLFILTER_FLAG_SYSCALLRET);

	if (both && s->flags & PERF_DLFILTER_FLAG_RETURN)
		t->type = NT_TYPE_ERET;
	else if (both && s->flags & PERF_DLFILTER_FLAG_ASYNC)
		t->type = NT_TYPE_INTERRUPT;
	else if (both)
		t->type = NT_TYPE_EXCEPTION;
	else
		t->type = known ? insn.type : NT_TYPE_NONE;
	if (t->type == NT_TYPE_EXCEPTION && known && is_breakpoint(&insn))
		t->cause = NT_CTR_CAUSE_BREAKPOINT;
}

static int on_branch(struct filter *f, struct owner *o, const struct perf_dlfilter_sample *s)
{
	struct nt_ctr_transfer t = {
		.size = sizeof(t), .from = s->ip, .to = s->addr, .cause = NT_CTR_CAUSE_UNKNOWN,
		.source = (uint8_t)mode_of(f, s->ip), .target = (uint8_t)mode_of(f, s->addr),
	};
	int err;

	/* most of a trace may be none of the buffer's business */
	classify(f, s, &t);
	err = straight(f, o, s->ip, t.type != NT_TYPE_EXCEPTION && t.type != NT_TYPE_INTERRUPT);
	if (o->on && t.type == NT_TYPE_NONE)
		lose(o, "code-missing");
	else if (o->on)
		nt_ctr_transfer(o->ctr, &t);
	o->pc = s->addr;
	o->pc_known = true;
	return err;
}

/*
 * Trace goes on. Without an end before there was a loss. Where it ended or begins in
 * the kernel, and goes on elsewhere, there is a gap. Firmware returns to where it was
 * called, or behind the instruction that it stood in for; what it does to the kernel's
 * trap vector, and an interrupt right behind it, look alike.
 */
static void on_begin(struct filter *f, struct owner *o, uint64_t to)
{
	if (o->pc_known && !o->ended)
		lose(o, "loss");
	else if (o->ended && to - o->pc > 4 &&
		 (mode_of(f, o->pc) == NT_CTR_S || mode_of(f, to) == NT_CTR_S))
		lose(o, "gap");
	o->pc = to;
	o->pc_known = true;
	o->ended = false;
}

visible int filter_event(void *data, const struct perf_dlfilter_sample *s, void *ctx)
{
	struct filter *f = data;
	struct owner *o;
	int err = 0;

	if (!(s->flags & PERF_DLFILTER_FLAG_BRANCH))
		return 1;
	f->ctx = ctx;
	/* code may have changed: nothing is kept from the sample before */
	nt_code_invalidate(f->code, 0, 0);
	o = find_owner(f, f->per_cpu ? s->cpu : s->tid);
	if (!o)
		return complain("no memory");
	if (s->flags & PERF_DLFILTER_FLAG_TRACE_BEGIN) {
		on_begin(f, o, s->addr);
	} else if (s->flags & PERF_DLFILTER_FLAG_TRACE_END) {
		err = straight(f, o, s->ip, false);
		o->pc = s->ip;
		o->ended = true;
	} else {
		err = on_branch(f, o, s);
	}
	return err ? err : 1;
}

/* --- life --------------------------------------------------------------------- */

static int by_key(const void *a, const void *b)
{
	const struct owner *x = *(struct owner *const *)a, *y = *(struct owner *const *)b;

	return x->key < y->key ? -1 : x->key > y->key;
}

static void filter_free(struct filter *f)
{
	size_t i;

	for (i = 0; i < f->nr_owners; i++) {
		nt_ctr_free(f->owners[i]->ctr);
		free(f->owners[i]);
	}
	nt_code_free(f->code);
	free(f->owners);
	free(f->list);
	free(f);
}

visible int start(void **data, void *ctx)
{
	int argc = 0, err;
	char **argv = perf_dlfilter_fns.args(ctx, &argc);
	struct filter *f = calloc(1, sizeof(*f));

	if (!f)
		return complain("no memory");
	nt_params_init(&f->params);
	err = parse_arguments(f, argv ? argc : 0, argv);
	if (!err) {
		f->code = nt_code_new(&f->params, read_code, f);
		err = f->code ? 0 : complain("no memory");
	}
	if (err) {
		filter_free(f);
		return err;
	}
	*data = f;
	return 0;
}

/* Without places that tell when: what the buffers have at the end */
visible int stop(void *data, void *ctx)
{
	struct filter *f = data;
	size_t i;

	(void)ctx;
	if (!f)
		return 0;
	if (f->nr_owners)
		qsort(f->owners, f->nr_owners, sizeof(*f->owners), by_key);
	for (i = 0; i < f->nr_owners; i++)
		if (!f->has_place[AT_STOP] && !f->has_place[AT_PRINT])
			print_buffer(f, f->owners[i]);
	filter_free(f);
	return 0;
}

visible const char *filter_description(const char **long_description)
{
	static const char text[] =
		"Arguments (--dlarg): ctrctl=FIELD,... depth=N draft as of `ntrace decode';\n"
		"per=thread|cpu; start, stop, pause, resume, print=ADDRESS; list=FILE; xlen=32|64;\n"
		"isa=STRING. Use with --itrace=b.";

	if (long_description)
		*long_description = text;
	return "control transfer records (RISC-V CTR) of branch samples";
}
