// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace tv verify: a trace against another implementation, group by group, as the
 * protocol's section 3.1 has it, and 3.2 for partial traces
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tv-verify.h"

#define PAGES		262144	/* 1 GiB of memory at most, each side */
#define MASKS		64

/* State that the verifier cannot know: some bits of a register, or mtime */
struct mask {
	bool mtime;
	uint16_t reg;
	uint64_t bits;
};

/* Elements that a partial trace may be without */
enum { ABSENT_X, ABSENT_F, ABSENT_CSR, ABSENT_MEMORY, ABSENT_PRIV, ABSENT_MTIME, ABSENT_ADDR, ABSENTS };

static const char *const absent_names[ABSENTS] = {
	"x", "f", "csr", "memory", "priv", "mtime", "addr",
};

struct verify {
	struct input in;
	struct nt_tv_params tv;
	const char *against;
	uint64_t most;		/* mismatches to print */
	struct mask masks[MASKS];
	unsigned int n_masks;
	unsigned int absent;	/* ABSENT_*: what the trace never tells */
	struct tv_source trace, recorded;
	struct tv_verifier verifier;
	struct symbols *symbols;
	uint64_t groups, insns, mismatches;
};

/* ------------------------------------------------------------ arguments -- */

enum { OPT_AGAINST = 0x200, OPT_FLEN, OPT_MLEN, OPT_NONDET, OPT_MOST, OPT_ABSENT };

static const struct argp_option options[] = {
	{ "against", OPT_AGAINST, "tv:FILE|ntrace:FILE", 0,
	  "the verifier: a recorded trace of another implementation, or an N-Trace, decoded "
	  "with the program", 0 },
	{ "nondeterministic", OPT_NONDET, "LIST", 0,
	  "state to be taken from the trace: names of registers, or NAME.BIT, with commas "
	  "between; default mip,mtime,time,cycle,instret", 0 },
	{ "absent", OPT_ABSENT, "LIST", 0,
	  "what the trace never tells, of x,f,csr,memory,priv,mtime,addr: neither compared nor "
	  "copied", 0 },
	{ "most", OPT_MOST, "N", 0, "mismatches to print; the others are counted (20)", 0 },
	{ "flen", OPT_FLEN, "32|64", 0, "width of floating-point registers (64)", 0 },
	{ "mlen", OPT_MLEN, "32|34|64", 0, "width of addresses (XLEN)", 0 },
	{ 0 },
};

static bool find_reg(const char *name, uint16_t *reg)
{
	char buf[32];

	for (unsigned int r = 0; r < 0x10000; r++) {
		if (strcmp(tv_reg_name((uint16_t)r, buf, sizeof(buf)), name))
			continue;
		*reg = (uint16_t)r;
		return true;
	}
	return false;
}

static void add_mask(struct verify *v, char *name)
{
	char *dot = strchr(name, '.');
	struct mask m = { .bits = ~0ull };

	if (dot) {
		m.bits = 1ull << parse_small(dot + 1, "--nondeterministic", 63);
		*dot = '\0';
	}
	m.mtime = !strcmp(name, "mtime");
	if (!m.mtime && !find_reg(name, &m.reg))
		die("--nondeterministic: `%s' is no register", name);
	if (v->n_masks == MASKS)
		die("--nondeterministic: more than %u", MASKS);
	v->masks[v->n_masks++] = m;
}

static void set_masks(struct verify *v, const char *list)
{
	char *copy = strdup(list), *at = copy, *name;

	if (!copy)
		die("%s", nt_strerror(NT_ENOMEM));
	v->n_masks = 0;
	while ((name = strsep(&at, ",")))
		if (*name)
			add_mask(v, name);
	free(copy);
}

static void set_absent(struct verify *v, const char *list)
{
	char *copy = strdup(list), *at = copy, *name;
	unsigned int i;

	if (!copy)
		die("%s", nt_strerror(NT_ENOMEM));
	while ((name = strsep(&at, ","))) {
		for (i = 0; i < ABSENTS && strcmp(name, absent_names[i]); i++)
			;
		if (i == ABSENTS)
			die("--absent: `%s' is none of x, f, csr, memory, priv, mtime, addr", name);
		v->absent |= 1u << i;
	}
	free(copy);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct verify *v = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &v->in;
		return 0;
	case OPT_AGAINST:
		v->against = arg;
		return 0;
	case OPT_NONDET:
		set_masks(v, arg);
		return 0;
	case OPT_ABSENT:
		set_absent(v, arg);
		return 0;
	case OPT_MOST:
		v->most = parse_number(arg, "--most");
		return 0;
	case OPT_FLEN:
		v->tv.flen = (uint8_t)parse_small(arg, "--flen", 64);
		return 0;
	case OPT_MLEN:
		v->tv.mlen = (uint8_t)parse_small(arg, "--mlen", 64);
		return 0;
	case ARGP_KEY_END:
		if (!v->against)
			argp_error(state, "no verifier given: --against");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

/* -------------------------------------------------------------- sources -- */

static int tv_file_next(struct tv_source *s)
{
	uint64_t end;
	int ret = tv_next_group(s->own, s->shadow, &end);

	s->at = s->group->offset;
	return ret;
}

static void open_tv(struct verify *v, struct tv_source *s, const char *path)
{
	struct tv_input *in = calloc(1, sizeof(*in));

	if (!in)
		die("%s", nt_strerror(NT_ENOMEM));
	in->params = v->tv;
	in->path = path;
	tv_open(in);
	s->own = in;
	s->next = tv_file_next;
	s->group = nt_tv_shadow_group(s->shadow);
}

/* ntrace:FILE, or the file of a tandem-verification trace, with or without tv: */
static const char *ntrace_file(const char *name)
{
	return strncmp(name, "ntrace:", 7) ? NULL : name + 7;
}

static void open_source(struct verify *v, struct tv_source *s, const char *name)
{
	s->name = name;
	s->shadow = nt_tv_shadow_new(&v->tv, PAGES);
	if (!s->shadow)
		die("--flen is 32 or 64, --mlen is 32, 34 or 64");
	if (ntrace_file(name))
		tv_source_ntrace(s, &v->in);
	else
		open_tv(v, s, strncmp(name, "tv:", 3) ? name : name + 3);
}

static void open_all(struct verify *v, const char *trace)
{
	const char *first = ntrace_file(trace), *second = ntrace_file(v->against);

	if (!second && strncmp(v->against, "tv:", 3))
		die("--against: `%s' is none of tv:FILE, ntrace:FILE", v->against);
	if (first && second)
		die("an N-Trace against an N-Trace: nothing would be verified");
	if ((first || second) && !v->in.images)
		die("an N-Trace means nothing without its program: --elf or --raw");
	v->in.file = first ? first : second;
	v->in.no_trace = !v->in.file;
	input_open(&v->in);
	if (v->in.file)
		input_check_sources(&v->in);
	v->tv.xlen = v->in.params.xlen;
	if (!v->tv.mlen)
		v->tv.mlen = v->tv.xlen;
	open_source(v, &v->trace, trace);
	open_source(v, &v->recorded, v->against);
	tv_recorded_init(&v->verifier, &v->recorded);
}

/* ------------------------------------------------------------- reports --- */

static void where(const struct verify *v)
{
	const struct nt_tv_group *g = v->trace.group;
	const char *name = NULL;
	uint64_t offset;

	printf(" pc %" PRIx64, g->pc);
	if (g->insn_bytes)
		printf(" insn %0*" PRIx32, 2 * g->insn_bytes, g->insn);
	if (v->symbols)
		name = symbols_find(v->symbols, g->pc, &offset);
	if (name)
		printf(" %s+0x%" PRIx64, name, offset);
	putchar('\n');
}

/* True when it is one of those to be printed; then `where' has to follow. */
static bool mismatch(struct verify *v)
{
	if (v->mismatches++ >= v->most)
		return false;
	printf("0x%" PRIx64 ": ", v->trace.at);
	return true;
}

static void differs(struct verify *v, const char *what, uint64_t ours, uint64_t theirs)
{
	if (!mismatch(v))
		return;
	printf("%s: trace %" PRIx64 ", verifier %" PRIx64 ";", what, ours, theirs);
	where(v);
}

/* Known to one of both only */
static void missing(struct verify *v, const char *what, bool ours, uint64_t value)
{
	if (!mismatch(v))
		return;
	if (ours)
		printf("%s: trace %" PRIx64 ", verifier none;", what, value);
	else
		printf("%s: trace none, verifier %" PRIx64 ";", what, value);
	where(v);
}

/* ------------------------------------------------------------ comparing -- */

static bool absent_reg(const struct verify *v, uint16_t reg)
{
	unsigned int i = nt_tv_is_fpr(reg) ? ABSENT_F : reg < NT_TV_REG_X ? ABSENT_CSR : ABSENT_X;

	/* marks and the like are no state of a hart */
	return reg >= NT_TV_REG_CUSTOM || (v->absent >> i & 1);
}

static uint64_t compared_bits(const struct verify *v, bool mtime, uint16_t reg)
{
	uint64_t bits = ~0ull;

	for (unsigned int i = 0; i < v->n_masks; i++)
		if (v->masks[i].mtime == mtime && (mtime || v->masks[i].reg == reg))
			bits &= ~v->masks[i].bits;
	return bits;
}

static void compare_reg(struct verify *v, uint16_t reg)
{
	uint64_t ours = 0, theirs = 0, bits = compared_bits(v, false, reg);
	bool known = nt_tv_shadow_reg(v->trace.shadow, reg, &ours);
	bool knows = v->verifier.ops->read_reg(&v->verifier, reg, &theirs);
	const char *name;
	char buf[32];

	if (absent_reg(v, reg) || (known == knows && ours == theirs))
		return;
	name = tv_reg_name(reg, buf, sizeof(buf));
	if (known != knows && bits)
		missing(v, name, known, known ? ours : theirs);
	else if ((ours ^ theirs) & bits)
		differs(v, name, ours, theirs);
	if (known)
		v->verifier.ops->write_reg(&v->verifier, reg, ours);
}

static void compare_state(struct verify *v, enum nt_tv_ident ident, const char *name, uint64_t bits)
{
	uint64_t ours = 0, theirs = 0;
	bool known = nt_tv_shadow_state(v->trace.shadow, ident, &ours);
	bool knows = v->verifier.ops->read_state(&v->verifier, ident, &theirs);

	if (known == knows && ours == theirs)
		return;
	if (known != knows && bits)
		missing(v, name, known, known ? ours : theirs);
	else if ((ours ^ theirs) & bits)
		differs(v, name, ours, theirs);
	if (known)
		v->verifier.ops->write_state(&v->verifier, ident, ours);
}

static void compare_byte(struct verify *v, uint64_t addr)
{
	uint8_t ours = 0, theirs = 0;
	bool known = nt_tv_shadow_read(v->trace.shadow, addr, &ours, 1);
	bool knows = v->verifier.ops->read_memory(&v->verifier, addr, &theirs, 1);
	char what[40];

	if (known == knows && ours == theirs)
		return;
	snprintf(what, sizeof(what), "memory %" PRIx64, addr);
	if (known == knows)
		differs(v, what, ours, theirs);
	else
		missing(v, what, known, known ? ours : theirs);
	if (known)
		v->verifier.ops->write_memory(&v->verifier, addr, &ours, 1);
}

/*
 * What one of both says it changed.  They were equal before, so all that can differ
 * is among it, also what only the verifier changed.
 */
static void compare_touched(struct verify *v, const struct nt_tv_group *g)
{
	for (size_t i = 0; i < g->n; i++) {
		const struct nt_tv_item *it = &g->items[i];
		uint64_t addr = it->opcode == NT_TV_MEMREQ ? it->addr : it->value;

		if (it->opcode >= NT_TV_REG && it->opcode <= NT_TV_REG_OR)
			compare_reg(v, it->reg);
		else if (v->absent >> ABSENT_MEMORY & 1)
			continue;
		else if (it->opcode == NT_TV_MEMREQ ||
			 (it->opcode == NT_TV_STATE &&
			  (it->ident == NT_TV_PADDR || it->ident == NT_TV_EADDR)))
			for (unsigned int byte = 0; byte < 8; byte++)
				compare_byte(v, addr + byte);
	}
}

static size_t find_item(const struct nt_tv_group *g, size_t i, unsigned int ident)
{
	while (i < g->n && g->items[i].ident != ident)
		i++;
	return i;
}

/* The one after the other, and as many */
static void compare_addrs(struct verify *v, const struct nt_tv_group *ours,
			  const struct nt_tv_group *theirs, unsigned int ident, const char *name)
{
	size_t i = find_item(ours, 0, ident), j = find_item(theirs, 0, ident);

	while (i < ours->n && j < theirs->n) {
		if (ours->items[i].value != theirs->items[j].value)
			differs(v, name, ours->items[i].value, theirs->items[j].value);
		i = find_item(ours, i + 1, ident);
		j = find_item(theirs, j + 1, ident);
	}
	if (i < ours->n)
		missing(v, name, true, ours->items[i].value);
	else if (j < theirs->n)
		missing(v, name, false, theirs->items[j].value);
}

/* What is no state afterwards: the instruction, and where it was */
static void compare_insn(struct verify *v, const struct nt_tv_group *ours,
			 const struct nt_tv_group *theirs)
{
	/* of an N-Trace, traps have none */
	bool both = ours->insn_bytes && theirs->insn_bytes;
	bool pc_only = v->trace.pc_only || v->verifier.pc_only;

	if ((both || !pc_only) &&
	    (ours->insn != theirs->insn || ours->insn_bytes != theirs->insn_bytes))
		differs(v, "instruction", ours->insn, theirs->insn);
	if ((ours->flags & theirs->flags & NT_TV_G_PC) && ours->pc != theirs->pc)
		differs(v, "pc before", ours->pc, theirs->pc);
}

static void compare(struct verify *v)
{
	const struct nt_tv_group *ours = v->trace.group, *theirs = v->verifier.group;

	compare_insn(v, ours, theirs);
	compare_state(v, NT_TV_PC, "pc", ~0ull);
	if (v->trace.pc_only || v->verifier.pc_only)
		return;
	if (!(v->absent >> ABSENT_ADDR & 1)) {
		compare_addrs(v, ours, theirs, NT_TV_PADDR, "physical address");
		compare_addrs(v, ours, theirs, NT_TV_EADDR, "effective address");
		compare_addrs(v, ours, theirs, NT_TV_PC_PADDR, "physical address of the pc");
	}
	if (!(v->absent >> ABSENT_PRIV & 1))
		compare_state(v, NT_TV_PRIV, "privilege mode", ~0ull);
	if (!(v->absent >> ABSENT_MTIME & 1))
		compare_state(v, NT_TV_MTIME, "mtime", compared_bits(v, true, 0));
	compare_touched(v, ours);
	compare_touched(v, theirs);
}

/* -------------------------------------------------------------- copying -- */

/* Inputs of hardware that nobody models */
static void copy_nondeterministic(struct verify *v)
{
	const struct tv_verifier_ops *ops = v->verifier.ops;

	if (v->trace.pc_only || v->verifier.pc_only)
		return;
	for (unsigned int i = 0; i < v->n_masks; i++) {
		const struct mask *m = &v->masks[i];
		uint64_t ours, theirs = 0;

		if (m->mtime && nt_tv_shadow_state(v->trace.shadow, NT_TV_MTIME, &ours))
			ops->write_state(&v->verifier, NT_TV_MTIME, ours);
		if (m->mtime || !nt_tv_shadow_reg(v->trace.shadow, m->reg, &ours))
			continue;
		ops->read_reg(&v->verifier, m->reg, &theirs);
		ops->write_reg(&v->verifier, m->reg, (theirs & ~m->bits) | (ours & m->bits));
	}
}

static void copy_bytes(struct verify *v, uint64_t addr)
{
	uint8_t bytes[8];
	size_t n = nt_tv_shadow_read(v->trace.shadow, addr, bytes, sizeof(bytes));

	if (n)
		v->verifier.ops->write_memory(&v->verifier, addr, bytes, n);
}

/* A debugger, or whoever, changed this; nobody could have computed it. */
static void copy_setup(struct verify *v)
{
	static const enum nt_tv_ident idents[] = { NT_TV_PC, NT_TV_PRIV, NT_TV_MTIME };
	const struct tv_verifier_ops *ops = v->verifier.ops;
	const struct nt_tv_group *g = v->trace.group;
	uint64_t value;

	if (g->flags & NT_TV_G_RESET)
		ops->reset(&v->verifier);
	for (size_t i = 0; i < 3; i++)
		if (nt_tv_shadow_state(v->trace.shadow, idents[i], &value))
			ops->write_state(&v->verifier, idents[i], value);
	for (size_t i = 0; i < g->n && !v->verifier.pc_only; i++) {
		const struct nt_tv_item *it = &g->items[i];

		if (it->opcode >= NT_TV_REG && it->opcode <= NT_TV_REG_OR &&
		    nt_tv_shadow_reg(v->trace.shadow, it->reg, &value))
			ops->write_reg(&v->verifier, it->reg, value);
		if (it->opcode == NT_TV_MEMREQ)
			copy_bytes(v, it->addr);
	}
}

/* ------------------------------------------------------------ algorithm -- */

static void ended(struct verify *v, const char *words)
{
	if (!mismatch(v))
		return;
	printf("%s;", words);
	where(v);
}

/* False: it cannot go on. */
static bool verify_group(struct verify *v)
{
	int ret;

	v->groups++;
	if (!tv_executes(v->trace.group)) {
		copy_setup(v);
		return true;
	}
	v->insns += v->trace.group->insn_bytes != 0;
	copy_nondeterministic(v);
	ret = v->verifier.ops->step(&v->verifier);
	if (ret > 0)
		compare(v);
	else
		ended(v, ret ? "the verifier lost its way" : "the verifier has ended");
	return ret > 0;
}

static int run(struct verify *v)
{
	bool whole = true;
	int ret = 1;

	while (whole && (ret = v->trace.next(&v->trace)) > 0)
		whole = verify_group(v);
	if (ret < 0)
		ended(v, "the trace is lost");
	else if (whole && v->verifier.ops->step(&v->verifier) > 0)
		ended(v, "the trace ends, the verifier goes on");
	printf("# groups %" PRIu64 " instructions %" PRIu64 " mismatches %" PRIu64 "%s\n", v->groups,
	       v->insns, v->mismatches,
	       v->trace.pc_only || v->verifier.pc_only ? " compared: pc, instruction" : "");
	if (fflush(stdout))
		die("cannot write");
	return v->mismatches ? EXIT_LOSSES : EXIT_WHOLE;
}

int tv_verify(int argc, char **argv)
{
	static const struct argp_child children[] = { { &input_argp, 0, NULL, 0 }, { 0 } };
	static const struct argp argp = {
		.options = options, .parser = parse, .args_doc = "TRACE", .children = children,
		.doc = "Verify a tandem-verification trace, or (as ntrace:FILE) an N-Trace, group "
		       "by group. A line per mismatch: offset, what, both values, pc, instruction, "
		       "symbol. Status 1 if there is any.\vState that one side never tells is not "
		       "compared; an N-Trace tells the pc and no more.",
	};
	static struct verify v;
	int status;

	v.tv = (struct nt_tv_params){ sizeof(v.tv), 64, 64, 0, 0 };
	v.most = 20;
	set_masks(&v, "mip,mtime,time,cycle,instret");
	input_init(&v.in);
	parse_arguments(&argp, argc, argv, &v);
	open_all(&v, v.in.file);
	if (v.in.elfs)
		v.symbols = symbols_new(&v.in);
	status = run(&v);
	symbols_free(v.symbols);
	input_free(&v.in);
	return status;
}
