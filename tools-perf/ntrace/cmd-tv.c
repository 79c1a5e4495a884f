// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace tv: traces in the tandem-verification format
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tv.h"

/* Marks of the hardware model's truth streams: custom registers */
#define REG_MARK	0xc000		/* kind */
#define REG_VALUE	0xc001		/* thread ID, or number of a recording */
#define REG_UNREPORTED	0xc002		/* number of instructions that no message reported */

static const char *const marks[] = {
	NULL, "BEGIN", "END", "OWNER", "DROP", "RESTART", NULL, "RECORDING",
};

/* ----------------------------------------------------------- arguments --- */

enum { OPT_XLEN = 256, OPT_FLEN, OPT_MLEN, OPT_STRICT };

static const struct argp_option options[] = {
	{ "xlen", OPT_XLEN, "N", 0, "32 or 64 (default)", 0 },
	{ "flen", OPT_FLEN, "N", 0, "32 or 64 (default)", 0 },
	{ "mlen", OPT_MLEN, "N", 0, "32, 34 or 64; default: XLEN", 0 },
	{ "strict", OPT_STRICT, NULL, 0,
	  "Refuse the pc as appendix C prints it, and bits that must be 0", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct tv_input *in = state->input;

	switch (key) {
	case OPT_XLEN:
		in->params.xlen = (uint8_t)parse_small(arg, "--xlen", 64);
		return 0;
	case OPT_FLEN:
		in->params.flen = (uint8_t)parse_small(arg, "--flen", 64);
		return 0;
	case OPT_MLEN:
		in->params.mlen = (uint8_t)parse_small(arg, "--mlen", 64);
		return 0;
	case OPT_STRICT:
		in->params.flags |= NT_TV_P_STRICT;
		return 0;
	case ARGP_KEY_ARG:
		if (in->path)
			argp_error(state, "more than one FILE: `%s' and `%s'", in->path, arg);
		in->path = arg;
		return 0;
	case ARGP_KEY_END:
		if (!in->path)
			argp_error(state, "no FILE given (`-' is standard input)");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static void open_input(struct tv_input *in, int argc, char **argv, const char *doc)
{
	const struct argp argp = { options, parse, "FILE", doc, NULL, NULL, NULL };

	*in = (struct tv_input) { .params = { sizeof(in->params), 64, 64, 0, 0 } };
	parse_arguments(&argp, argc, argv, in);
	if (!in->params.mlen)
		in->params.mlen = in->params.xlen;
	tv_open(in);
}

/* Report what ended the stream prematurely. Returns the exit status. */
static int finish(struct tv_input *in, int ret)
{
	uint64_t at = in->reader.offset;

	out_flush();
	out_done();
	if (!ret)
		return EXIT_WHOLE;
	if (ret != -NT_TV_ETRUNC)
		at += in->reader.bad;
	die("%s: offset 0x%" PRIx64 ": %s", in->path, at, nt_tv_strerror(ret));
}

/* ------------------------------------------------------------------ dump --- */

static void put_field(const char *name, const char *op, uint64_t value)
{
	out_char(' ');
	out_str(name);
	out_str(op);
	out_hex(value);
}

static void put_reg(const struct nt_tv_item *it)
{
	static const char *const ops[] = { "=", "+=", "|=" };
	bool minus = it->opcode == NT_TV_REG_ADD && (int64_t)it->value < 0;
	uint64_t value = minus ? -it->value : it->value;
	char buf[32];

	if (it->opcode == NT_TV_REG && it->reg == REG_MARK &&
	    value < sizeof(marks) / sizeof(marks[0]) && marks[value]) {
		out_str(" mark=");
		out_str(marks[value]);
		return;
	}
	put_field(it->reg == REG_VALUE ? "value" : it->reg == REG_UNREPORTED ? "unreported" :
		  tv_reg_name(it->reg, buf, sizeof(buf)),
		  minus ? "-=" : ops[it->opcode - NT_TV_REG], value);
}

static void put_state(const struct nt_tv_item *it)
{
	static const char *const names[] = {
		[NT_TV_PADDR] = "paddr", [NT_TV_EADDR] = "eaddr", [NT_TV_STORE8] = "store8",
		[NT_TV_STORE16] = "store16", [NT_TV_STORE32] = "store32",
		[NT_TV_STORE64] = "store64", [NT_TV_MTIME] = "mtime",
		[NT_TV_PC_PADDR] = "pc_paddr", [NT_TV_PC] = "pc",
	};
	static const char *const modes[] = { "U", "S", "2", "M" };

	if (it->ident != NT_TV_PRIV) {
		put_field(names[it->ident], "=", it->value);
	} else if (it->value < 4) {
		out_str(" priv=");
		out_str(modes[it->value]);
	} else {
		put_field("priv", "=", it->value);
	}
}

static void put_memory(const struct nt_tv_item *it)
{
	static const char *const names[] = {
		"load", "store", "lr", "sc", "amoswap", "amoadd", "amoxor", "amoand", "amoor",
		"amomin", "amomax", "amominu", "amomaxu", "fetch",
	};

	out_char(' ');
	if (it->opcode == NT_TV_MEMREQ) {
		out_str(names[it->memop]);
		out_dec(8u << it->memsize);
		put_field("addr", "=", it->addr);
	} else {
		out_str(it->result ? "response=failed" : "response=ok");
	}
	if (it->bytes)
		put_field("data", "=", it->value);
}

static void put_insn(const struct nt_tv_item *it)
{
	unsigned int digits = it->bytes * 2u;

	out_str(" insn=");
	while (digits--)
		out_char("0123456789abcdef"[it->value >> 4 * digits & 15]);
}

static void put_item(const struct nt_tv_item *it)
{
	switch (it->opcode) {
	case NT_TV_INCPC:
		out_str(" pc+");
		break;
	case NT_TV_REG:
	case NT_TV_REG_ADD:
	case NT_TV_REG_OR:
		put_reg(it);
		break;
	case NT_TV_STATE:
		put_state(it);
		break;
	case NT_TV_MEMREQ:
	case NT_TV_MEMRSP:
		put_memory(it);
		break;
	case NT_TV_RESET:
		out_str(" reset");
		break;
	case NT_TV_INIT:
		out_str(" init");
		break;
	case NT_TV_INSN16:
	case NT_TV_INSN32:
		put_insn(it);
		break;
	}
}

/* Print a line per group, starting with its offset. Items outside of groups are marked. */
static int dump(struct tv_input *in)
{
	struct nt_tv_item it;
	bool open = false;
	int ret;

	while ((ret = tv_next_item(in, &it)) > 0) {
		if (it.opcode == NT_TV_END && open) {
			out_char('\n');
			open = false;
			continue;
		}
		if (it.opcode == NT_TV_BEGIN || !open) {
			if (open)
				out_char('\n');
			out_hex(it.offset);
			out_char(':');
			open = true;
			if (it.opcode != NT_TV_BEGIN)
				out_str(it.opcode == NT_TV_END ? " end outside of a group" :
								 " outside of groups:");
		}
		put_item(&it);
		/* an item outside of groups gets a line of its own */
		if (!in->reader.in_group) {
			out_char('\n');
			open = false;
		}
	}
	if (open)
		out_char('\n');
	return finish(in, ret);
}

/* ------------------------------------------------------------------ stat --- */

static const char *const opcode_names[] = {
	[NT_TV_BEGIN] = "begin group", [NT_TV_END] = "end group",
	[NT_TV_INCPC] = "increment pc", [NT_TV_REG] = "full register",
	[NT_TV_REG_ADD] = "incremental register", [NT_TV_REG_OR] = "register bits",
	[NT_TV_STATE] = "additional state", [NT_TV_MEMREQ] = "memory request",
	[NT_TV_MEMRSP] = "memory response", [NT_TV_RESET] = "hart reset",
	[NT_TV_INIT] = "state initialisation", [NT_TV_INSN16] = "16-bit instruction",
	[NT_TV_INSN32] = "32-bit instruction",
};

#define STAT_PAGES	65536	/* number of memory pages; memory is not examined */
#define OPCODES	(sizeof(opcode_names) / sizeof(opcode_names[0]))

/* Bytes of groups by category; none if the groups of the trace are not valid */
struct sizes {
	uint64_t count[TV_CLASSES], bytes[TV_CLASSES], most[TV_CLASSES];
	uint64_t from;		/* of the open group */
	bool refused;
};

static void add_group(struct sizes *s, struct nt_tv_shadow *sh, bool rv32, uint64_t end)
{
	enum tv_class class = tv_classify(nt_tv_shadow_group(sh), rv32);
	uint64_t bytes = end - s->from;

	s->count[class]++;
	s->bytes[class] += bytes;
	if (bytes > s->most[class])
		s->most[class] = bytes;
}

static void add_item(struct sizes *s, struct nt_tv_shadow *sh, const struct tv_input *in,
		     const struct nt_tv_item *it)
{
	int ret = nt_tv_shadow_item(sh, it);
	uint64_t end = it->opcode == NT_TV_BEGIN ? it->offset : in->reader.offset;

	if (ret == 1)
		add_group(s, sh, in->params.xlen == 32, end);
	/* memory is not examined here, so a lack of pages does not matter */
	if (ret < 0 && ret != -NT_TV_EPAGES && !s->refused) {
		s->refused = true;
		fprintf(stderr, "ntrace: %s: offset 0x%" PRIx64 ": %s; not in the table\n",
			in->path, nt_tv_shadow_bad(sh), nt_tv_strerror(ret));
	}
	if (ret == 1 || it->opcode == NT_TV_BEGIN)
		s->from = end;
}

static void print_sizes(const struct sizes *s, bool rv64)
{
	printf("\n%-24s %12s %9s %5s  %s\n", "groups", "", "average", "most",
	       rv64 ? "table D" : "");
	for (unsigned int i = 0; i < TV_CLASSES; i++) {
		if (!s->count[i])
			continue;
		printf("%-24s %12" PRIu64 " %9.2f %5" PRIu64, tv_classes[i].name, s->count[i],
		       (double)s->bytes[i] / (double)s->count[i], s->most[i]);
		if (tv_classes[i].table && rv64)
			printf("  %7u%s", tv_classes[i].table,
			       s->most[i] > tv_classes[i].table ? " exceeded" : "");
		putchar('\n');
	}
}

static int stat(struct tv_input *in)
{
	struct nt_tv_shadow *sh = nt_tv_shadow_new(&in->params, STAT_PAGES);
	struct sizes sizes = { .from = 0 };
	uint64_t count[OPCODES] = { 0 }, bytes[OPCODES] = { 0 }, insns, before = 0;
	struct nt_tv_item it;
	int ret;

	if (!sh)
		die("%s", nt_strerror(NT_ENOMEM));
	while ((ret = tv_next_item(in, &it)) > 0) {
		add_item(&sizes, sh, in, &it);
		count[it.opcode]++;
		bytes[it.opcode] += in->reader.offset - before;
		before = in->reader.offset;
	}
	for (size_t i = 0; i < OPCODES; i++)
		if (count[i])
			printf("%-24s %12" PRIu64 " items %14" PRIu64 " bytes\n", opcode_names[i],
			       count[i], bytes[i]);
	insns = count[NT_TV_INSN16] + count[NT_TV_INSN32];
	printf("%-24s %12" PRIu64 " bytes\n", "in all", before);
	if (insns)
		printf("%-24s %12.3f\n", "bytes per instruction", (double)before / (double)insns);
	if (!ret && nt_tv_shadow_end(sh) == 1)
		add_group(&sizes, sh, in->params.xlen == 32, before);
	print_sizes(&sizes, in->params.xlen == 64);
	nt_tv_shadow_free(sh);
	return finish(in, ret);
}

/* --------------------------------------------------------------- command --- */

static const struct {
	const char *name;
	int (*run)(struct tv_input *in);
	const char *doc;
} actions[] = {
	{ "dump", dump, "Print a tandem-verification trace, a group per line: its offset, then "
			"what it changes. Numbers are hexadecimal." },
	{ "stat", stat, "Count what is in a tandem-verification trace: items, and bytes of groups "
			"by kind of instruction, beside what the protocol's appendix D tells." },
};

/* Actions with their own arguments */
static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} others[] = {
	{ "from-elf", tv_from_elf },
	{ "verify", tv_verify },
};

int cmd_tv(int argc, char **argv)
{
	static struct tv_input in;

	for (size_t i = 0; argc > 1 && i < sizeof(actions) / sizeof(actions[0]); i++) {
		char name[64];

		if (strcmp(argv[1], actions[i].name))
			continue;
		snprintf(name, sizeof(name), "%s %s", argv[0], argv[1]);
		argv[1] = name;
		open_input(&in, argc - 1, argv + 1, actions[i].doc);
		return actions[i].run(&in);
	}
	for (size_t i = 0; argc > 1 && i < sizeof(others) / sizeof(others[0]); i++) {
		char name[64];

		if (strcmp(argv[1], others[i].name))
			continue;
		snprintf(name, sizeof(name), "%s %s", argv[0], argv[1]);
		argv[1] = name;
		return others[i].run(argc - 1, argv + 1);
	}
	if (argc > 1 && !strcmp(argv[1], "--help")) {
		puts("Usage: ntrace tv dump|stat|from-elf|verify [OPTION...] FILE\n\nTraces in the "
		     "tandem-verification format. `ntrace tv dump --help' tells the options.");
		return EXIT_WHOLE;
	}
	die("tv: expected dump, stat, from-elf or verify%s%s%s; `ntrace tv --help' tells more",
	    argc > 1 ? ", got `" : "", argc > 1 ? argv[1] : "", argc > 1 ? "'" : "");
}
