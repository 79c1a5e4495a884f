// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace encode: N-Trace from a list of retired PCs
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd.h"

#define CACHE_SIZE	16384	/* instructions, by address */

/* An instruction of the list, classified once */
struct entry {
	struct nt_enc_op op;
	bool valid;
	bool traps;		/* never retires */
	bool anywhere;		/* where it goes is not in the instruction */
};

struct encode {
	struct input in;
	struct nt_enc_config config;
	bool mode_given;
	const char *list, *output;
	FILE *from, *to;
	struct nt_enc *enc;
	struct entry cache[CACHE_SIZE];
	struct entry last;	/* of the list; what comes next is not yet known */
	bool open;		/* there is a last one */
	uint64_t line, bytes, size;	/* of the list: read so far, in all (0 unknown) */
	uint64_t ticks;		/* of the trace clock: instructions so far */
};

enum {
	OPT_BTM = 0x200, OPT_HTM, OPT_PC, OPT_SYNCMODE, OPT_SYNCMAX, OPT_REPEATHIST,
	OPT_REPEATBRANCH,
};

static const struct argp_option options[] = {
	{ "pc", OPT_PC, "FILE", 0, "addresses of retired instructions, hexadecimal, one per line, "
	  "as decode --output=pc prints them; a line `# loss...' is a pause of the trace", 0 },
	{ "output", 'o', "FILE", 0, "where to write the trace", 0 },
	{ "btm", OPT_BTM, NULL, 0, "a message per taken branch", 0 },
	{ "htm", OPT_HTM, NULL, 0, "branches as history bits (default)", 0 },
	{ "syncmode", OPT_SYNCMODE, "0..3", 0,
	  "periodic sync messages: none, by messages, by instructions, by half-words", 0 },
	{ "syncmax", OPT_SYNCMAX, "0..15", 0, "every 2^(N+4) of them", 0 },
	{ "repeathist", OPT_REPEATHIST, NULL, 0, "equal full histories are one message", 0 },
	{ "repeatbranch", OPT_REPEATBRANCH, NULL, 0,
	  "with --btm: equal branches are one message", 0 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct encode *e = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &e->in;
		break;
	case OPT_PC:
		e->list = arg;
		break;
	case 'o':
		e->output = arg;
		break;
	case OPT_BTM:
	case OPT_HTM:
		if (e->mode_given && e->config.htm != (key == OPT_HTM))
			argp_error(state, "either --btm or --htm");
		e->mode_given = true;
		e->config.htm = key == OPT_HTM;
		break;
	case OPT_SYNCMODE:
		e->config.syncmode = parse_small(arg, "--syncmode", 3);
		break;
	case OPT_SYNCMAX:
		e->config.syncmax = parse_small(arg, "--syncmax", 15);
		break;
	case OPT_REPEATHIST:
		e->config.repeathist = true;
		break;
	case OPT_REPEATBRANCH:
		e->config.repeatbranch = true;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/* -------------------------------------------------------- instructions --- */

static void __attribute__((noreturn)) bad_line(const struct encode *e, const char *what)
{
	die("%s: line %" PRIu64 ": %s", e->list, e->line, what);
}

/* The number of bytes there is code for, up to 4 */
static unsigned int fetch(struct encode *e, uint64_t pc, uint32_t *insn)
{
	uint8_t b[4] = { 0 };
	size_t got = nt_image_read(e->in.image, pc, b, 4);

	/* the second half may be in another piece */
	if (got == 2)
		got += nt_image_read(e->in.image, pc + 2, b + 2, 2);
	*insn = b[0] | b[1] << 8 | b[2] << 16 | (uint32_t)b[3] << 24;
	return got;
}

static unsigned int insn_length(uint32_t insn)
{
	if ((insn & 3) != 3)
		return 2;
	if ((insn & 0x1f) != 0x1f)
		return 4;
	return insn & 0x20 ? 8 : 6;
}

/* cm.jt and cm.jalt find their target in memory */
static bool table_jump(struct encode *e, uint32_t insn, struct nt_enc_op *op)
{
	unsigned int i, size = e->in.params.xlen / 8;
	uint64_t addr = (e->in.params.jvt & ~63ull) + (insn >> 2 & 0xff) * size;
	uint8_t b[8] = { 0 };

	if (nt_image_read(e->in.image, addr, b, size) != size)
		return false;
	op->target = 0;
	for (i = 0; i < size; i++)
		op->target |= (uint64_t)b[i] << (8 * i);
	op->target &= ~1ull;
	return true;
}

static bool is_direct(uint8_t type)
{
	return type == NT_TYPE_JUMP || type == NT_TYPE_JUMP_LINK || type == NT_TYPE_CALL;
}

static void classify(struct encode *e, uint64_t pc, struct entry *entry)
{
	struct nt_enc_op *op = &entry->op;
	uint32_t insn;
	unsigned int got = fetch(e, pc, &insn), len = insn_length(insn);

	if (pc & 1)
		bad_line(e, "an odd address");
	if (got < (len < 4 ? len : 4))
		bad_line(e, "no code at this address");
	nt_enc_classify(&e->in.params, pc, insn, len, op);
	entry->valid = true;
	/* ECALL, EBREAK, C.EBREAK */
	entry->traps = (len == 4 && (insn == 0x73 || insn == 0x100073)) ||
		       (len == 2 && (insn & 0xffff) == 0x9002);
	entry->anywhere = op->type != NT_TYPE_NONE && op->type != NT_TYPE_COND &&
			  !is_direct(op->type);
	if (len == 2 && is_direct(op->type) && (insn & 3) == 2)
		entry->anywhere = !table_jump(e, insn, op);
}

static const struct entry *lookup(struct encode *e, uint64_t pc)
{
	struct entry *entry = &e->cache[pc / 2 % CACHE_SIZE];

	if (!entry->valid || entry->op.pc != pc)
		classify(e, pc, entry);
	return entry;
}

/* -------------------------------------------------------------- the list - */

/* Where execution goes when nothing interferes, branches not being taken */
static uint64_t onward(const struct encode *e, const struct entry *entry)
{
	const struct nt_enc_op *op = &entry->op;
	uint64_t next = is_direct(op->type) && !entry->anywhere ? op->target : op->pc + op->len;

	return e->in.params.xlen == 32 ? next & UINT32_MAX : next;
}

static bool explains(const struct encode *e, const struct entry *entry, uint64_t pc)
{
	return entry->anywhere || pc == onward(e, entry) ||
	       (entry->op.type == NT_TYPE_COND && pc == entry->op.target);
}

static void add_pc(struct encode *e, uint64_t pc)
{
	const struct entry *entry;

	if (e->in.params.xlen == 32 && pc > UINT32_MAX)
		bad_line(e, "an address beyond 32 bits");
	entry = lookup(e, pc);
	if (!e->open)
		nt_enc_start(e->enc, NT_SYNC_TRACE_ENABLE);
	else if (e->last.traps || !explains(e, &e->last, pc))
		nt_enc_trap(e->enc, e->last.traps ? e->last.op.pc : onward(e, &e->last), false);
	e->ticks++;
	if (!entry->traps)
		nt_enc_retire_op(e->enc, &entry->op);
	else if (!e->open)
		bad_line(e, "begins with an instruction that never retires");
	e->last = *entry;
	e->open = true;
}

static void pause_trace(struct encode *e)
{
	if (!e->open)
		return;
	nt_enc_stop(e->enc, NT_EVCODE_DISABLE,
		    e->last.traps ? e->last.op.pc : onward(e, &e->last));
	e->open = false;
}

static void add_line(struct encode *e, const char *text)
{
	uint64_t pc;
	char *end;

	if (*text == '#') {
		if (!strncmp(text, "# loss", 6))
			pause_trace(e);
		return;
	}
	errno = 0;
	pc = strtoull(text, &end, 16);
	if (errno || end == text || *text == '-' || (*end && strcspn(end, "\r\n")))
		bad_line(e, "not a hexadecimal address");
	add_pc(e, pc);
}

static void read_list(struct encode *e)
{
	char *text = NULL;
	size_t room = 0;
	ssize_t len;

	while ((len = getline(&text, &room, e->from)) >= 0) {
		e->line++;
		e->bytes += len;
		add_line(e, text);
		progress(e->bytes, e->size);
	}
	progress_end();
	free(text);
	if (ferror(e->from))
		die("%s: %s", e->list, strerror(errno));
	if (!e->ticks)
		die("%s: no addresses", e->list);
	pause_trace(e);
}

/* ---------------------------------------------------------------- trace -- */

static bool emit(void *ctx, const uint8_t *msg, unsigned int len)
{
	struct encode *e = ctx;

	if (fwrite(msg, 1, len, e->to) != len)
		die("%s: %s", e->output, strerror(errno));
	return true;
}

static uint64_t ticks(void *ctx)
{
	return ((struct encode *)ctx)->ticks;
}

static FILE *open_file(const char *path, const char *mode, FILE *std)
{
	FILE *f = strcmp(path, "-") ? fopen(path, mode) : std;

	if (!f)
		die("%s: %s", path, strerror(errno));
	return f;
}

static void start(struct encode *e)
{
	struct nt_enc_config *c = &e->config;
	struct stat st;

	c->size = sizeof(*c);
	c->params = e->in.params;
	c->btype_1 = true;	/* a list does not tell exceptions from interrupts */
	c->emit = emit;
	c->time = ticks;
	c->ctx = e;
	if (c->params.profile != NT_PROFILE_1_0)
		die("--profile: only 1.0 can be encoded");
	if (c->htm && c->repeatbranch)
		die("--repeatbranch is for --btm: what it means with history is not settled");
	e->enc = nt_enc_new(c);
	if (!e->enc)
		die("%s", nt_strerror(NT_ENOMEM));
	e->from = open_file(e->list, "re", stdin);
	if (!fstat(fileno(e->from), &st) && S_ISREG(st.st_mode))
		e->size = st.st_size;
	e->to = open_file(e->output, "we", stdout);
}

static void finish(struct encode *e)
{
	nt_enc_free(e->enc);
	if (e->from != stdin)
		fclose(e->from);
	if (fflush(e->to) || (e->to != stdout && fclose(e->to)))
		die("%s: %s", e->output, strerror(errno));
}

int cmd_encode(int argc, char **argv)
{
	static const struct argp_child children[] = { { &input_argp, 0, NULL, 0 }, { 0 } };
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "",
		.doc = "Make an N-Trace file of a list of retired instructions."
		       "\vWhat no instruction explains is a trap, of B-TYPE 1. A last instruction "
		       "that jumps who knows where is taken to lead behind itself. The clock of "
		       "--timestamps counts the list's instructions.",
		.children = children,
	};
	struct encode *e = calloc(1, sizeof(*e));

	if (!e)
		die("%s", nt_strerror(NT_ENOMEM));
	e->config.htm = true;
	input_init(&e->in);
	e->in.no_trace = true;
	parse_arguments(&argp, argc, argv, e);
	if (!e->in.images)
		die("no program given: --elf or --raw");
	if (!e->list || !e->output)
		die("%s", e->list ? "no output given: -o" : "no list given: --pc");
	input_open(&e->in);
	start(e);
	read_list(e);
	finish(e);
	input_free(&e->in);
	free(e);
	return EXIT_WHOLE;
}
