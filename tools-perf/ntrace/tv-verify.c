// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace tv verify: compare a trace with another implementation, group by group, according to
 * section 3.1 of the protocol, and 3.2 for partial traces
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "gdb.h"
#include "tv-verify.h"

#define PAGES		262144	/* at most 1 GiB of memory on each side */
#define MASKS		64

/*
 * State that the verifier cannot know: bits of a register, mtime, or the results of loads from an
 * address range
 */
struct mask {
	bool mtime, range;
	uint16_t reg;
	uint64_t bits;
	uint64_t first, last;
	/* value that a live verifier was given */
	bool given;
	uint64_t value;
};

/* Elements that may be absent in a partial trace */
enum { ABSENT_X, ABSENT_F, ABSENT_CSR, ABSENT_MEMORY, ABSENT_PRIV, ABSENT_MTIME, ABSENT_ADDR,
       ABSENTS };

static const char *const absent_names[ABSENTS] = {
	"x", "f", "csr", "memory", "priv", "mtime", "addr",
};

/* By default, only the traced machine can know these. */
#define NONDETERMINISTIC "mip,mtime,time,timeh,cycle,cycleh,instret,instreth,mcycle,mcycleh," \
	"minstret,minstreth,sc"

struct verify {
	struct input in;
	struct nt_tv_params tv;
	const char *against;
	uint64_t most;		/* maximum number of mismatches to print */
	struct mask masks[MASKS];
	unsigned int n_masks;
	unsigned int absent;	/* ABSENT_*: elements that the trace does not contain */
	struct tv_source trace, recorded;
	struct tv_verifier verifier;
	struct symbols *symbols;
	struct lines *lines;
	struct gdb_place place;
	const char *reset_command;
	uint64_t sweep;		/* number of groups between complete comparisons */
	uint64_t limit;		/* maximum number of groups to verify */
	uint64_t size;		/* of the trace, for progress; 0: not known */
	uint64_t groups, insns, mismatches, taken;
	bool tells_stores;	/* the trace has reported a store */
	bool any_sc;		/* success of SC is not deterministic */
	struct tv_store sc;	/* what the verifier's SC is about to store */
	uint64_t sc_value;
	uint64_t transaction;	/* address of the last requested transaction */
	/* state that a live verifier has never reported */
	bool untold[GDB_OF + 2];
};

/* ------------------------------------------------------------ arguments -- */

enum {
	OPT_AGAINST = 0x200, OPT_FLEN, OPT_MLEN, OPT_NONDET, OPT_MOST, OPT_ABSENT, OPT_ANY,
	OPT_TIMEOUT, OPT_RESET, OPT_SWEEP, OPT_LIMIT,
};

static const struct argp_option options[] = {
	{ "against", OPT_AGAINST, "tv:FILE|ntrace:FILE|gdb:HOST:PORT|gdb:/SOCKET|gdb-pipe:COMMAND",
	  0,
	  "the verifier: a recorded trace of another implementation, an N-Trace, decoded "
	  "with the program, or whatever a GDB stub is before: a simulator, a debug probe; "
	  "that of a command by its standard input and output", 0 },
	{ "nondeterministic", OPT_NONDET, "LIST", 0,
	  "state to be taken from the trace: names of registers, NAME.BIT, or FIRST-LAST for "
	  "what is loaded from these addresses (hexadecimal), with commas between; default "
	  NONDETERMINISTIC "; sc is whether a store conditional succeeds", 0 },
	{ "absent", OPT_ABSENT, "LIST", 0,
	  "what the trace never tells, of x,f,csr,memory,priv,mtime,addr: neither compared nor "
	  "copied", 0 },
	{ "most", OPT_MOST, "N", 0, "mismatches to print; the others are counted (20)", 0 },
	{ "limit", OPT_LIMIT, "N", 0, "verify the first N groups only", 0 },
	{ "sweep", OPT_SWEEP, "N", 0, "over GDB: compare all registers, not only the integer ones "
	  "and those that instruction and trace are about, with every Nth group (1000)", 0 },
	{ "timeout", OPT_TIMEOUT, "SECONDS", 0, "over GDB: the longest silence (10)", 0 },
	{ "reset-command", OPT_RESET, "WORDS", 0, "over GDB: what the monitor is told for a reset "
	  "(system_reset)", 0 },
	{ "any-address", OPT_ANY, NULL, 0, "gdb:HOST:PORT may be another machine", 0 },
	{ "flen", OPT_FLEN, "32|64", 0, "width of floating-point registers (64)", 0 },
	{ "mlen", OPT_MLEN, "32|34|64", 0, "width of addresses (XLEN)", 0 },
	{ 0 },
};

/* Parse FIRST-LAST */
static bool find_range(const char *text, struct mask *m)
{
	char *end;

	m->first = strtoull(text, &end, 16);
	if (end == text || *end != '-')
		return false;
	text = end + 1;
	m->last = strtoull(text, &end, 16);
	m->range = true;
	return end != text && !*end && m->last >= m->first;
}

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
	if (!strcmp(name, "sc")) {
		v->any_sc = true;
		return;
	}
	m.mtime = !strcmp(name, "mtime");
	if (!m.mtime && !find_reg(name, &m.reg) && !find_range(name, &m))
		die("--nondeterministic: `%s' is no register; expected one such as a0, f0, mstatus, mtime, "
		    "numbers such as b00-b1f, or sc", name);
	if (v->n_masks == MASKS)
		die("--nondeterministic: more than %u registers", MASKS);
	v->masks[v->n_masks++] = m;
}

static void set_masks(struct verify *v, const char *list)
{
	char *copy = strdup(list), *at = copy, *name;

	if (!copy)
		die("%s", nt_strerror(NT_ENOMEM));
	v->n_masks = 0;
	v->any_sc = false;
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
	case OPT_ANY:
		v->place.any_address = true;
		return 0;
	case OPT_TIMEOUT:
		v->place.seconds = parse_small(arg, "--timeout", 3600);
		return 0;
	case OPT_RESET:
		v->reset_command = arg;
		return 0;
	case OPT_SWEEP:
		v->sweep = parse_number(arg, "--sweep");
		if (!v->sweep)
			die("--sweep: at least 1, not 0");
		return 0;
	case OPT_LIMIT:
		v->limit = parse_number(arg, "--limit");
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
		die("--flen is 32 or 64, not %u; --mlen is 32, 34 or 64, not %u: one of them",
		    v->tv.flen, v->tv.mlen);
	if (ntrace_file(name))
		tv_source_ntrace(s, &v->in);
	else
		open_tv(v, s, strncmp(name, "tv:", 3) ? name : name + 3);
}

/* For progress; not known for pipes */
static uint64_t size_of(const struct verify *v, const char *ntrace)
{
	const struct tv_input *in = v->trace.own;
	struct stat st;

	if (ntrace)
		return v->in.size;
	return fstat(fileno(in->file), &st) || !S_ISREG(st.st_mode) ? 0 : (uint64_t)st.st_size;
}

static void open_all(struct verify *v, const char *trace)
{
	const char *first = ntrace_file(trace), *second = ntrace_file(v->against);

	if (!second && !gdb_is_place(v->against) && strncmp(v->against, "tv:", 3))
		die("--against: `%s' is none of tv:FILE, ntrace:FILE, gdb:HOST:PORT, gdb:/SOCKET, "
		    "gdb-pipe:COMMAND", v->against);
	if (first && second)
		die("an N-Trace against an N-Trace: nothing would be verified; one of them has to be "
		    "tv:FILE, gdb:HOST:PORT, gdb:/SOCKET or gdb-pipe:COMMAND");
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
	v->size = size_of(v, first);
	if (gdb_is_place(v->against)) {
		v->place.name = v->against;
		tv_gdb_init(&v->verifier, &v->place, v->reset_command);
		return;
	}
	open_source(v, &v->recorded, v->against);
	tv_recorded_init(&v->verifier, &v->recorded);
}

/* ----------------------------------------------------------- beginnings -- */

static struct tv_source open_again(struct verify *v, const char *name)
{
	struct tv_source s = { .at = 0 };

	open_source(v, &s, name);
	return s;
}

/* Skip in `late` up to the start of `early', if it gets there. */
static bool pass_over(struct verify *v, struct tv_source *late, const char *late_name,
		      const char *early_name)
{
	struct tv_source s = open_again(v, late_name), other = open_again(v, early_name);
	int64_t insns = tv_find_start(&s, &other);
	uint64_t pc;

	other = open_again(v, early_name);
	if (insns <= 0 || !tv_first_pc(&other, &pc) || !tv_pass_over(late, (uint64_t)insns, pc))
		return insns == 0;
	printf("# aligned: %" PRId64 " instructions of %s passed over, up to pc %" PRIx64
	       ", where %s begins\n", insns, late_name, pc, early_name);
	return true;
}

static bool can_reopen(const char *name)
{
	const char *colon = strchr(name, ':');
	const char *path = strncmp(name, "tv:", 3) && strncmp(name, "ntrace:", 7) ?
			   name : colon + 1;
	struct stat st;

	return strcmp(path, "-") && !stat(path, &st) && S_ISREG(st.st_mode);
}

/* An N-Trace and another recording of the same run may have started at different times. */
static void align(struct verify *v, const char *trace)
{
	if (!v->trace.pc_only && !v->verifier.pc_only)
		return;
	if (v->verifier.live || !can_reopen(trace) || !can_reopen(v->against))
		return;
	if (!pass_over(v, &v->trace, trace, v->against) &&
	    !pass_over(v, &v->recorded, v->against, trace))
		printf("# not aligned: neither recording comes to where the other begins\n");
}

/* ------------------------------------------------------------- reports --- */

static void where(const struct verify *v)
{
	const struct nt_tv_group *g = v->trace.group;
	const char *name = NULL;
	uint64_t offset;
	char text[160];

	printf(" pc %" PRIx64, g->pc);
	if (g->insn_bytes) {
		lines_words(v->lines, g->pc, g->insn, g->insn_bytes, text, sizeof(text));
		printf(" insn %0*" PRIx32 " `%s'", 2 * g->insn_bytes, g->insn, text);
	}
	if (v->symbols)
		name = symbols_find(v->symbols, g->pc, &offset);
	if (name)
		printf(" %s+0x%" PRIx64, name, offset);
	putchar('\n');
}

/* Returns true if the mismatch has to be printed; then call `where' afterwards. */
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

/* Report a value that is known on one side only. */
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

	/* marks and other custom registers are not state of a hart */
	return reg >= NT_TV_REG_CUSTOM || (v->absent >> i & 1);
}

static uint64_t compared_bits(const struct verify *v, bool mtime, uint16_t reg)
{
	uint64_t bits = ~0ull;

	for (unsigned int i = 0; i < v->n_masks; i++)
		if (!v->masks[i].range && v->masks[i].mtime == mtime &&
		    (mtime || v->masks[i].reg == reg))
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
	if (v->verifier.live && (!known || !knows)) {
		if (known && reg < GDB_OF)
			v->untold[reg] = true;
		return;
	}
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
	if (v->verifier.live && (!known || !knows)) {
		if (known)
			v->untold[ident == NT_TV_PRIV ? GDB_OF : GDB_OF + 1] = true;
		return;
	}
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
 * Compare what one of both sides reports as changed. Both were equal before, so all possible
 * differences are included, also changes that only the verifier reports.
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

/* The addresses must be the same, in the same order. */
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

/* Compare what is not part of the state: the instruction and its address */
static void compare_insn(struct verify *v, const struct nt_tv_group *ours,
			 const struct nt_tv_group *theirs)
{
	/* traps of an N-Trace contain no instruction */
	bool both = ours->insn_bytes && theirs->insn_bytes;
	bool pc_only = v->trace.pc_only || v->verifier.pc_only;

	if ((both || !pc_only) &&
	    (ours->insn != theirs->insn || ours->insn_bytes != theirs->insn_bytes))
		differs(v, "instruction", ours->insn, theirs->insn);
	if ((ours->flags & theirs->flags & NT_TV_G_PC) && ours->pc != theirs->pc)
		differs(v, "pc before", ours->pc, theirs->pc);
}

/* Compare everything that the trace has reported: after a mismatch, and periodically */
static void compare_all(struct verify *v)
{
	for (uint32_t reg = 0; nt_tv_shadow_next_reg(v->trace.shadow, &reg); reg++)
		compare_reg(v, (uint16_t)reg);
	if (!(v->absent >> ABSENT_PRIV & 1))
		compare_state(v, NT_TV_PRIV, "privilege mode", ~0ull);
}

static bool in_range(const struct verify *v, uint64_t addr)
{
	for (unsigned int i = 0; i < v->n_masks; i++)
		if (v->masks[i].range && addr >= v->masks[i].first && addr <= v->masks[i].last)
			return true;
	return false;
}

static void compare_store(struct verify *v, const struct tv_store *s)
{
	uint8_t ours[8], theirs[8];
	char what[40];

	if (in_range(v, s->paddr) ||
	    nt_tv_shadow_read(v->trace.shadow, s->paddr, ours, s->bytes) != s->bytes)
		return;
	if (v->verifier.ops->read_memory(&v->verifier, s->eaddr, theirs, s->bytes) != s->bytes) {
		snprintf(what, sizeof(what), "memory %" PRIx64 " to be read", s->eaddr);
		missing(v, what, true, ours[0]);
		return;
	}
	for (unsigned int i = 0; i < s->bytes; i++) {
		snprintf(what, sizeof(what), "memory %" PRIx64, s->paddr + i);
		if (ours[i] != theirs[i])
			differs(v, what, ours[i], theirs[i]);
	}
	if (memcmp(ours, theirs, s->bytes))
		v->verifier.ops->write_memory(&v->verifier, s->eaddr, ours, s->bytes);
}

static bool is_sc(const struct nt_tv_group *g)
{
	return g->insn_bytes == 4 && (g->insn & 0xf800007f) == 0x1800002f;
}

static uint16_t xreg(uint32_t insn, unsigned int shift)
{
	return (uint16_t)(NT_TV_REG_X + (insn >> shift & 31));
}

/* Has the store of this instruction taken place? Not if it trapped, or if an SC failed. */
static bool has_stored(const struct verify *v, const struct tv_operand *to, uint64_t *addr)
{
	const struct nt_tv_group *g = v->trace.group;
	uint16_t rd = xreg(g->insn, 7);
	uint64_t pc, failed;

	if (!(g->flags & NT_TV_G_PC) || !nt_tv_shadow_state(v->trace.shadow, NT_TV_PC, &pc) ||
	    pc != g->pc + g->insn_bytes ||
	    !nt_tv_shadow_reg(v->trace.shadow, to->base, addr))
		return false;
	*addr += (uint64_t)(int64_t)to->offset;
	/* if the result of an SC is discarded, its success is not known */
	return !is_sc(g) ||
	       (rd != NT_TV_REG_X && nt_tv_shadow_reg(v->trace.shadow, rd, &failed) && !failed);
}

/*
 * Check a store that the trace should have reported, but did not. A live verifier has done the
 * store in its memory, but does not report it.
 */
static void compare_untold_store(struct verify *v)
{
	const struct nt_tv_group *g = v->trace.group;
	struct tv_store s = { 0 };
	struct tv_operand to;
	uint8_t theirs[8];
	char what[40];
	size_t i;

	if (!v->tells_stores || !tv_stores_to(g, v->tv.xlen == 32, &to) ||
	    !has_stored(v, &to, &s.eaddr))
		return;
	for (i = 0; i < g->n; i++)
		if (g->items[i].opcode == NT_TV_MEMREQ)
			return;		/* reported as transactions */
	i = find_item(g, 0, NT_TV_PADDR);
	s.paddr = i < g->n ? g->items[i].value : s.eaddr;
	s.bytes = to.bytes;
	if (nt_tv_shadow_read(v->trace.shadow, s.paddr, theirs, s.bytes) == s.bytes) {
		compare_store(v, &s);
		return;
	}
	snprintf(what, sizeof(what), "memory %" PRIx64, s.paddr);
	if (!in_range(v, s.paddr) &&
	    v->verifier.ops->read_memory(&v->verifier, s.eaddr, theirs, s.bytes) == s.bytes)
		missing(v, what, false, theirs[0]);
}

/* Compare the instruction that the verifier is about to execute. */
static void compare_code(struct verify *v)
{
	const struct nt_tv_group *g = v->trace.group;
	uint64_t pc = 0;
	uint32_t theirs = 0;

	if (g->insn_bytes && v->verifier.ops->read_state(&v->verifier, NT_TV_PC, &pc) &&
	    v->verifier.ops->read_memory(&v->verifier, pc, &theirs, g->insn_bytes) ==
	    g->insn_bytes && theirs != g->insn)
		differs(v, "instruction", g->insn, theirs);
}

/* A live verifier only has its current state. Compare whatever may differ. */
static void compare_live(struct verify *v)
{
	const struct nt_tv_group *g = v->trace.group;
	struct tv_store stores[TV_STORES];
	uint64_t before = v->mismatches;
	uint16_t own[TV_OWN];
	unsigned int n;

	compare_state(v, NT_TV_PC, "pc", ~0ull);
	for (unsigned int i = 1; i < 32; i++)
		compare_reg(v, (uint16_t)(NT_TV_REG_X + i));
	for (size_t i = 0; i < g->n; i++)
		if (g->items[i].opcode >= NT_TV_REG && g->items[i].opcode <= NT_TV_REG_OR &&
		    (g->items[i].reg < NT_TV_REG_X || g->items[i].reg >= NT_TV_REG_F))
			compare_reg(v, g->items[i].reg);
	for (n = tv_own_registers(g, own); n--; )
		compare_reg(v, own[n]);
	if (!(v->absent >> ABSENT_PRIV & 1) && (!g->insn_bytes || (g->insn & 0x7f) == 0x73))
		compare_state(v, NT_TV_PRIV, "privilege mode", ~0ull);
	if (!(v->absent >> ABSENT_MEMORY & 1)) {
		n = tv_stores(g, stores);
		v->tells_stores |= n != 0;
		if (!n)
			compare_untold_store(v);
		while (n--)
			compare_store(v, &stores[n]);
	}
	if (v->mismatches != before || !(v->groups % v->sweep))
		compare_all(v);
}

static void compare(struct verify *v)
{
	const struct nt_tv_group *ours = v->trace.group, *theirs = v->verifier.group;

	if (v->verifier.live) {
		compare_live(v);
		return;
	}
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

/* Copy inputs of hardware that the verifier does not model. */
static void copy_nondeterministic(struct verify *v)
{
	const struct tv_verifier_ops *ops = v->verifier.ops;

	if (v->trace.pc_only || v->verifier.pc_only)
		return;
	for (unsigned int i = 0; i < v->n_masks; i++) {
		struct mask *m = &v->masks[i];
		uint64_t ours, theirs = 0;

		if (m->range)
			continue;
		if (m->mtime && nt_tv_shadow_state(v->trace.shadow, NT_TV_MTIME, &ours))
			ops->write_state(&v->verifier, NT_TV_MTIME, ours);
		if (m->mtime || !nt_tv_shadow_reg(v->trace.shadow, m->reg, &ours))
			continue;
		/* reading it would cost as much as the step */
		if (v->verifier.live && m->given && m->value == ours)
			continue;
		m->given = true;
		m->value = ours;
		ops->read_reg(&v->verifier, m->reg, &theirs);
		ops->write_reg(&v->verifier, m->reg, (theirs & ~m->bits) | (ours & m->bits));
	}
}

/* Does the instruction only read nondeterministic state? Returns the register with the value. */
static unsigned int taken_register(const struct verify *v, const struct nt_tv_group *g)
{
	unsigned int rd = g->insn >> 7 & 31;

	if (g->insn_bytes == 4 && (g->insn & 0x7f) == 0x73 && (g->insn >> 12 & 3)) {
		for (unsigned int i = 0; i < v->n_masks; i++)
			if (!v->masks[i].range && !v->masks[i].mtime &&
			    v->masks[i].reg == g->insn >> 20)
				return rd;
		return 0;
	}
	for (size_t i = 0; i < g->n; i++)
		if (g->items[i].opcode == NT_TV_STATE && g->items[i].ident == NT_TV_PADDR &&
		    in_range(v, g->items[i].value))
			return tv_loads_to(g);
	return 0;
}

/* If a debugger stops after LR, the reservation is lost before SC. Prepare to do the store. */
static void prepare_sc(struct verify *v)
{
	const struct tv_verifier_ops *ops = v->verifier.ops;
	uint32_t insn = v->trace.group->insn;

	v->sc.bytes = 0;
	if (v->any_sc && is_sc(v->trace.group) &&
	    ops->read_reg(&v->verifier, xreg(insn, 15), &v->sc.eaddr) &&
	    ops->read_reg(&v->verifier, xreg(insn, 20), &v->sc_value))
		v->sc.bytes = insn & 0x1000 ? 8 : 4;
}

/*
 * Store what the verifier's SC would have stored, not what the trace reports, which still has to be
 * compared.
 */
static void help_sc(struct verify *v)
{
	const struct tv_verifier_ops *ops = v->verifier.ops;
	uint16_t rd = xreg(v->trace.group->insn, 7);
	uint64_t ours = 0, theirs = 0;

	if (!v->sc.bytes || rd == NT_TV_REG_X ||
	    !nt_tv_shadow_reg(v->trace.shadow, rd, &ours) || ours ||
	    !ops->read_reg(&v->verifier, rd, &theirs) || !theirs)
		return;
	v->taken++;
	ops->write_reg(&v->verifier, rd, 0);
	ops->write_memory(&v->verifier, v->sc.eaddr, &v->sc_value, v->sc.bytes);
}

/* If a stub does not allow its time to be written, write the register that received the time. */
static void copy_taken(struct verify *v)
{
	unsigned int rd = taken_register(v, v->trace.group);
	uint64_t ours, theirs;

	if (!rd || !nt_tv_shadow_reg(v->trace.shadow, (uint16_t)(NT_TV_REG_X + rd), &ours) ||
	    !v->verifier.ops->read_reg(&v->verifier, (uint16_t)(NT_TV_REG_X + rd), &theirs) ||
	    ours == theirs)
		return;
	v->taken++;
	v->verifier.ops->write_reg(&v->verifier, (uint16_t)(NT_TV_REG_X + rd), ours);
}

static void copy_bytes(struct verify *v, uint64_t addr)
{
	uint8_t bytes[8];
	size_t n = nt_tv_shadow_read(v->trace.shadow, addr, bytes, sizeof(bytes));

	if (n)
		v->verifier.ops->write_memory(&v->verifier, addr, bytes, n);
}

/* Changes by a debugger and the like cannot be computed, so copy them. */
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

/*
 * Bus transactions are reported after the instruction, which has been executed by now. So their
 * memory contents must be compared, not copied.
 */
static bool is_transaction(const struct nt_tv_group *g)
{
	return (g->flags & NT_TV_G_ALONE) && g->n &&
	       (g->items[0].opcode == NT_TV_MEMREQ || g->items[0].opcode == NT_TV_MEMRSP);
}

static void compare_transaction(struct verify *v)
{
	const struct nt_tv_item *it = v->trace.group->items;
	uint8_t ours, theirs;
	char what[40];

	if (it->opcode == NT_TV_MEMREQ) {
		v->transaction = it->addr;
		return;
	}
	/* a stub's memory is compared with the group's store data */
	for (unsigned int i = 0; !v->verifier.live && i < 1u << it->memsize; i++) {
		uint64_t addr = v->transaction + i;

		if (!nt_tv_shadow_read(v->trace.shadow, addr, &ours, 1) ||
		    !v->verifier.ops->read_memory(&v->verifier, addr, &theirs, 1) || ours == theirs)
			continue;
		snprintf(what, sizeof(what), "transaction at %" PRIx64, addr);
		differs(v, what, ours, theirs);
		nt_tv_shadow_write(v->trace.shadow, addr, &theirs, 1);
	}
}

/*
 * A register that changes between groups, after execution has begun, is an input if it is declared
 * as one. Otherwise, nothing could have changed it.
 */
static bool compare_alone(struct verify *v)
{
	const struct nt_tv_item *it = v->trace.group->items;
	bool reg = it->opcode >= NT_TV_REG && it->opcode <= NT_TV_REG_OR;
	uint64_t theirs;

	if (!(v->trace.group->flags & NT_TV_G_ALONE) || !v->insns || v->verifier.pc_only)
		return false;
	if (reg && compared_bits(v, false, it->reg)) {
		compare_reg(v, it->reg);
		return true;
	}
	if (it->opcode != NT_TV_STATE || (it->ident != NT_TV_PC && it->ident != NT_TV_PRIV) ||
	    !v->verifier.ops->read_state(&v->verifier, it->ident, &theirs))
		return false;
	compare_state(v, it->ident, it->ident == NT_TV_PC ? "pc" : "privilege mode", ~0ull);
	return true;
}

/* Returns false if verification cannot continue. */
static bool verify_group(struct verify *v)
{
	uint64_t next_pc = 0;
	int ret;

	v->groups++;
	if (is_transaction(v->trace.group)) {
		if (!(v->absent >> ABSENT_MEMORY & 1) && !v->verifier.pc_only)
			compare_transaction(v);
		return true;
	}
	if (!tv_executes(v->trace.group)) {
		if (!compare_alone(v))
			copy_setup(v);
		return true;
	}
	v->insns += v->trace.group->insn_bytes != 0;
	copy_nondeterministic(v);
	if (v->verifier.live) {
		prepare_sc(v);
		compare_code(v);
	}
	nt_tv_shadow_state(v->trace.shadow, NT_TV_PC, &next_pc);
	ret = v->verifier.ops->step(&v->verifier, v->trace.group, next_pc);
	if (ret > 0 && v->verifier.live) {
		help_sc(v);
		copy_taken(v);
	}
	if (ret > 0)
		compare(v);
	else
		ended(v, ret ? "the verifier lost its way" : "the verifier has ended");
	return ret > 0;
}

/* List what was not verified, so that nobody assumes it was. */
static void print_untold(const struct verify *v)
{
	bool any = false;
	char buf[32];

	for (unsigned int i = 0; i < GDB_OF + 2; i++) {
		if (!v->untold[i])
			continue;
		printf("%s %s", any ? "" : "# not compared, the verifier does not tell:",
		       i == GDB_OF ? "priv" : i > GDB_OF ? "mtime" :
		       tv_reg_name((uint16_t)i, buf, sizeof(buf)));
		any = true;
	}
	if (any)
		putchar('\n');
	if (v->taken)
		printf("# values taken from the trace: %" PRIu64 "\n", v->taken);
}

/* Most of an N-Trace need not be compared group by group. */
static void ahead(struct verify *v)
{
	uint64_t n = 0;

	if (v->trace.pc_only && !v->verifier.live)
		n = tv_same_runs(&v->trace, &v->recorded, v->limit - v->groups);
	else if (v->verifier.pc_only)
		n = tv_same_runs(&v->recorded, &v->trace, v->limit - v->groups);
	v->groups += n;
	v->insns += n;
}

static int run(struct verify *v)
{
	bool whole = true;
	int ret = 1;

	while (whole && (ahead(v), v->groups < v->limit) && (ret = v->trace.next(&v->trace)) > 0) {
		whole = verify_group(v);
		progress(v->trace.at, v->size);
	}
	progress_end();
	if (ret < 0)
		ended(v, "the trace is lost");
	else if (whole && ret > 0)
		;	/* --limit */
	else if (whole && v->verifier.live)
		compare_all(v);
	else if (whole && v->verifier.ops->step(&v->verifier, v->trace.group, 0) > 0)
		ended(v, "the trace ends, the verifier goes on");
	print_untold(v);
	printf("# groups %" PRIu64 " instructions %" PRIu64 " mismatches %" PRIu64 "%s\n",
	       v->groups, v->insns, v->mismatches,
	       v->trace.pc_only || v->verifier.pc_only ? " compared: pc, instruction" : "");
	out_done();
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
	v.limit = UINT64_MAX;
	v.sweep = 1000;
	v.place.seconds = 10;
	v.reset_command = "system_reset";
	set_masks(&v, NONDETERMINISTIC);
	input_init(&v.in);
	parse_arguments(&argp, argc, argv, &v);
	open_all(&v, v.in.file);
	if (v.in.elfs)
		v.symbols = symbols_new(&v.in);
	v.lines = lines_new(&v.in.params, v.symbols);
	align(&v, v.trace.name);
	status = run(&v);
	if (v.verifier.live)
		tv_gdb_end(&v.verifier);
	lines_free(v.lines);
	symbols_free(v.symbols);
	input_free(&v.in);
	return status;
}
