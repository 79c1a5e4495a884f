// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace encode: N-Trace from a list of retired PCs
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "marks.h"

#define CACHE_SIZE	16384	/* instructions, by address */
#define OWED_MAX	16	/* contexts between two instructions */

/* An instruction of the list, classified once and cached */
struct entry {
	struct nt_enc_op op;
	bool valid;
	bool traps;		/* never retires */
	bool anywhere;		/* the target is not in the instruction */
	uint64_t value;		/* what LUI and AUIPC write, and the offset of JALR */
};

/* How to handle an address that the instruction before does not lead to */
enum gaps { GAPS_REFUSE, GAPS_TRAP, GAPS_PAUSE };

struct encode {
	struct input in;
	struct nt_enc_config config;
	struct nt_params params;	/* of the stream */
	enum gaps gaps;
	const char *list, *output;
	FILE *from;
	struct nt_enc *enc;	/* created at the first instruction */
	struct entry cache[CACHE_SIZE];

	/* state of the list */
	struct entry last;	/* last instruction, whose successor is not yet known */
	uint8_t upper;		/* register written before `last'; 0: none, or unknown */
	uint64_t value;		/* its value */
	bool open;		/* a stretch is open */
	bool empty;		/* it has no instruction yet */
	bool exact;		/* a mark says what comes next: */
	uint64_t next;
	uint8_t reason;		/* SYNC of the next stretch */
	struct mark contexts[2];	/* before the encoder exists: scontext, hcontext */
	bool context_known[2];
	struct mark owed[OWED_MAX];	/* contexts that the command has to send */
	unsigned int nr_owed;
	uint64_t line, bytes, size;	/* read so far, and in all (0: unknown) */

	uint64_t unreported;	/* instructions since the last message with a count */
	uint64_t ticks;		/* of the trace clock: from marks, or instructions so far */
	bool clock;		/* the list has marks with times */
	bool stamped;		/* the time of the last mark is known */
	bool fresh;		/* the last mark was a start */
};

enum {
	OPT_PC = 0x200, OPT_SYNCMODE, OPT_SYNCMAX, OPT_REPEATHIST,
	OPT_REPEATBRANCH, OPT_GAPS,
};

static const struct argp_option options[] = {
	{ "pc", OPT_PC, "FILE", 0, "addresses of retired instructions, hexadecimal, one per line, "
	  "as decode --output=pc prints them, with its marks: lines `# start', `# stop', "
	  "`# exception' and so on", 0 },
	{ "gaps", OPT_GAPS, "refuse|trap|pause", 0,
	  "what an address is that neither an instruction nor a mark leads to: an error "
	  "(default), the handler of a trap, or where a new stretch of trace begins", 0 },
	{ "output", 'o', "FILE", 0, "where to write the trace", 0 },
	{ "syncmode", OPT_SYNCMODE, "0..3", 0,
	  "periodic sync messages: none, by messages, by instructions, by half-words", 0 },
	{ "syncmax", OPT_SYNCMAX, "0..15", 0, "every 2^(N+4) of them", 0 },
	{ "repeathist", OPT_REPEATHIST, NULL, 0, "equal full histories are one message", 0 },
	{ "repeatbranch", OPT_REPEATBRANCH, NULL, 0,
	  "with --btm: equal branches are one message", 0 },
	{ 0 }
};

static enum gaps parse_gaps(const char *text)
{
	static const char *const names[] = { "refuse", "trap", "pause" };
	unsigned int i;

	for (i = 0; i < 3; i++)
		if (!strcmp(text, names[i]))
			return (enum gaps)i;
	die("--gaps: `%s' is none of refuse, trap, pause", text);
}

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
	case OPT_GAPS:
		e->gaps = parse_gaps(arg);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/* -------------------------------------------------------- instructions --- */

static void __attribute__((format(printf, 2, 3), noreturn)) bad_line(const struct encode *e,
								      const char *fmt, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	die("%s: line %" PRIu64 ": %s", e->list, e->line, text);
}

#define INSN_MAX	22	/* bytes of the longest instruction whose length is not reserved */

/* Read up to INSN_MAX bytes at pc. Returns how many there are. */
static unsigned int fetch(struct encode *e, uint64_t pc, uint8_t bytes[INSN_MAX])
{
	unsigned int got = 0;
	int some;

	memset(bytes, 0, INSN_MAX);
	/* the rest may be in another segment */
	do {
		some = nt_image_read(e->in.image, 0, pc + got, bytes + got, INSN_MAX - got);
		got += some > 0 ? some : 0;
	} while (some > 0 && got < INSN_MAX);
	return got;
}

/* The length according to the first half-word; 0: reserved, for 192 bits and more */
static unsigned int insn_length(uint64_t insn)
{
	unsigned int more = insn >> 12 & 7;

	if ((insn & 3) != 3)
		return 2;
	if ((insn & 0x1f) != 0x1f)
		return 4;
	if ((insn & 0x7f) != 0x7f)
		return insn & 0x20 ? 8 : 6;
	return more < 7 ? 10 + 2 * more : 0;
}

/* cm.jt and cm.jalt read their target from the table in memory */
static bool table_jump(struct encode *e, uint64_t insn, struct nt_enc_op *op)
{
	unsigned int i, size = e->in.params.xlen / 8;
	uint64_t addr = (e->in.params.jvt & ~63ull) + (insn >> 2 & 0xff) * size;
	uint8_t b[8] = { 0 };

	if (nt_image_read(e->in.image, 0, addr, b, size) != (int)size)
		return false;
	op->target = 0;
	for (i = 0; i < size; i++)
		op->target |= (uint64_t)b[i] << (8 * i);
	op->target &= ~1ull;
	return true;
}

/* The value that LUI, AUIPC and C.LUI write to a register, or the offset that JALR adds to one */
static uint64_t immediate(const struct nt_enc_op *op, uint64_t insn)
{
	const uint32_t bits = (uint32_t)insn;
	const uint64_t sign = insn & 0x1000 ? ~0ull << 17 : 0;

	if (op->len == 2)
		return op->upper ? sign | (insn & 0x7c) << 10 : 0;
	if (!op->upper)
		return (uint64_t)((int32_t)bits >> 20);
	return (uint64_t)(int32_t)(bits & ~0xfffu) + (bits & 0x20 ? 0 : op->pc);
}

static bool is_direct(uint8_t type)
{
	return type == NT_TYPE_JUMP || type == NT_TYPE_JUMP_LINK || type == NT_TYPE_CALL;
}

static void classify(struct encode *e, uint64_t pc, struct entry *entry)
{
	struct nt_enc_op *op = &entry->op;
	uint8_t bytes[INSN_MAX];
	unsigned int got = fetch(e, pc, bytes), len, i;
	uint64_t insn = 0;

	for (i = 0; i < 8; i++)
		insn |= (uint64_t)bytes[i] << 8 * i;
	len = insn_length(insn);
	if (pc & 1)
		bad_line(e, "%" PRIx64 " is an odd address; instructions begin at even ones", pc);
	if (!len)
		bad_line(e, "no instruction at %" PRIx64 ": %04x begins one of 192 bits or more, "
			 "which the architecture reserves", pc, (unsigned int)(insn & 0xffff));
	if (got < len)
		bad_line(e, "no code at %" PRIx64 ": it is in no --elf or --raw", pc);
	nt_enc_classify(&e->in.params, pc, insn, len, op);
	entry->valid = true;
	entry->value = op->upper || op->base ? immediate(op, insn) : 0;
	/* ECALL, EBREAK, C.EBREAK */
	entry->traps = (len == 4 && ((uint32_t)insn == 0x73 || (uint32_t)insn == 0x100073)) ||
		       (len == 2 && (insn & 0xffff) == 0x9002);
	entry->anywhere = op->type != NT_TYPE_NONE && op->type != NT_TYPE_COND &&
			  !is_direct(op->type);
	if (len == 2 && is_direct(op->type) && (insn & 0xfc03) == 0xa002)
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

/* The next address if nothing interferes and branches are not taken */
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

/*
 * --seqjump (B.10-1): the target follows from the instruction before, so no message reports it.
 * Returns are reported even after such an instruction.
 */
static bool is_sequential(const struct encode *e)
{
	return e->params.seqjump && e->upper && e->upper == e->last.op.base &&
	       e->last.op.type != NT_TYPE_RET;
}

static uint64_t sequential_target(const struct encode *e)
{
	uint64_t target = (e->value + e->last.value) & ~1ull;

	return e->in.params.xlen == 32 ? target & UINT32_MAX : target;
}

/* Can `pc` be next? */
static bool follows(const struct encode *e, uint64_t pc)
{
	if (e->exact)
		return pc == e->next;
	if (e->empty)
		return true;
	if (is_sequential(e))
		return pc == sequential_target(e);
	return e->last.traps ? pc == e->last.op.pc : explains(e, &e->last, pc);
}

/* The next address of the list if nothing interferes */
static uint64_t expected(const struct encode *e)
{
	if (e->exact)
		return e->next;
	if (is_sequential(e))
		return sequential_target(e);
	return e->last.traps ? e->last.op.pc : onward(e, &e->last);
}

/* Contexts from marks before the first instruction go into the configuration. */
static void make_encoder(struct encode *e)
{
	unsigned int i;

	if (e->enc)
		return;
	e->enc = nt_enc_new(&e->params, &e->config);
	if (!e->enc)
		die("%s", nt_strerror(NT_ENOMEM));
	for (i = 0; i < 2; i++)
		if (e->context_known[i])
			nt_enc_context(e->enc, e->contexts[i].reason, e->contexts[i].priv,
				       e->contexts[i].virt, e->contexts[i].value);
	if (e->open)
		nt_enc_start(e->enc, e->reason);
}

static void begin(struct encode *e, uint8_t reason)
{
	e->open = true;
	e->empty = true;
	e->exact = false;
	e->stamped = e->fresh = true;
	e->reason = reason;
	if (e->enc)
		nt_enc_start(e->enc, reason);
}

/*
 * Execution has arrived at pc, but nothing retires there. Make the encoder report what led to pc,
 * by means of an instruction without length.
 */
static void arrive(struct encode *e, uint64_t pc)
{
	const struct nt_enc_op nothing = { .pc = pc, .type = NT_TYPE_NONE };

	nt_enc_retire_op(e->enc, &nothing);
}

static bool emit(void *ctx, const uint8_t *msg, unsigned int len)
{
	unsigned int tcode = msg[0] >> 2;
	struct encode *e = ctx;

	if (fwrite(msg, 1, len, stdout) != len)
		out_done();
	if (tcode != NT_TCODE_OWNERSHIP && tcode != NT_TCODE_RESOURCE_FULL)
		e->unreported = 0;
	return true;
}

/* Send the Ownership messages that had to wait for what led to pc. They have no timestamp. */
static void send_owed(struct encode *e, uint64_t pc)
{
	struct nt_msg msg = { .tcode = NT_TCODE_OWNERSHIP, .fields = NT_F_PROCESS };
	uint8_t buf[NT_ENC_MSG_MAX];
	unsigned int i;

	if (!e->nr_owed)
		return;
	arrive(e, pc);
	msg.src = e->params.src > 0 ? e->params.src : 0;
	for (i = 0; i < e->nr_owed; i++) {
		const struct mark *m = &e->owed[i];

		msg.process = m->reason | m->priv << 2 | m->virt << 4 | m->value << 5;
		emit(e, buf, nt_enc_msg(&e->params, &msg, buf));
	}
	e->nr_owed = 0;
}

static void pause_trace(struct encode *e)
{
	if (!e->open)
		return;
	if (!e->empty || e->exact) {
		make_encoder(e);
		if (e->empty)
			arrive(e, e->next);
		nt_enc_stop(e->enc, NT_EVCODE_DISABLE, expected(e));
	}
	e->unreported = 0;
	e->nr_owed = 0;
	e->open = false;
}

/* Handle an address that cannot follow the one before. */
static void unexplained(struct encode *e, uint64_t pc)
{
	if (e->exact)
		bad_line(e, "the mark before leads to %" PRIx64 ", not to %" PRIx64, e->next, pc);
	if (e->gaps == GAPS_TRAP) {
		nt_enc_trap_as(e->enc, expected(e), NT_TYPE_TRAP);
	} else if (e->gaps == GAPS_PAUSE) {
		pause_trace(e);
		begin(e, NT_SYNC_TRACE_ENABLE);
	} else {
		bad_line(e, "%" PRIx64 " cannot follow %" PRIx64 ", and no mark tells of a trap or "
			 "pause; --gaps=trap or --gaps=pause takes it for one", pc,
			 e->last.op.pc);
	}
}

static void check_address(const struct encode *e, uint64_t pc)
{
	if (e->in.params.xlen == 32 && pc > UINT32_MAX)
		bad_line(e, "%" PRIx64 " is an address beyond the 32 bits of --xlen=32", pc);
}

static void add_pc(struct encode *e, uint64_t pc)
{
	const struct entry *entry;
	uint8_t upper = 0;

	check_address(e, pc);
	entry = lookup(e, pc);
	if (!e->open)
		begin(e, NT_SYNC_TRACE_ENABLE);
	make_encoder(e);
	if (!e->empty && !e->exact && e->last.traps)
		/* the instruction always traps, so this is its handler */
		nt_enc_trap_as(e->enc, e->last.op.pc, NT_TYPE_TRAP);
	else if (!follows(e, pc))
		unexplained(e, pc);
	else
		upper = e->empty || e->exact ? 0 : e->last.op.upper;
	send_owed(e, pc);
	if (!e->clock)
		e->ticks++;
	if (!entry->traps)
		nt_enc_retire_op(e->enc, &entry->op);
	else if (e->empty)
		bad_line(e, "trace begins at %" PRIx64 ", an instruction that never retires: leave "
			 "it out", pc);
	/* the messages that this instruction caused count only those before it */
	e->unreported++;
	e->upper = upper;
	e->value = e->last.value;
	e->last = *entry;
	e->empty = e->exact = false;
}

/* --------------------------------------------------------------- marks --- */

static void mark_start(struct encode *e, const struct mark *m)
{
	if (e->open)
		bad_line(e, "trace begins at %" PRIx64 ", but has not stopped before: `# stop' is "
			 "missing", m->pc);
	begin(e, m->reason);
	e->exact = true;
	e->next = m->pc;
}

static void check_follows(const struct encode *e, const struct mark *m, const char *what)
{
	if (!e->open)
		bad_line(e, "%s at %" PRIx64 ", but trace has not begun: `# start' or an address is "
			 "missing", what, m->pc);
	if (!follows(e, m->pc))
		bad_line(e, "%s at %" PRIx64 ", but what comes next is at %" PRIx64, what, m->pc,
			 expected(e));
}

/*
 * Without EVCODE no message ends the trace, so the last message does. If that message does not
 * count all instructions, one more is needed.
 */
static void mark_stop(struct encode *e, const struct mark *m)
{
	check_follows(e, m, "a stop");
	make_encoder(e);
	if (e->empty || !m->told)
		arrive(e, m->pc);
	send_owed(e, m->pc);
	if (m->told || e->unreported)
		nt_enc_stop(e->enc, m->told ? m->reason : NT_EVCODE_DISABLE, m->pc);
	e->unreported = 0;
	e->open = false;
}

static void mark_sync(struct encode *e, const struct mark *m)
{
	check_follows(e, m, "a sync message");
	make_encoder(e);
	nt_enc_event_sync(e->enc, m->reason);
}

static void mark_trap(struct encode *e, const struct mark *m)
{
	check_follows(e, m, "a trap");
	make_encoder(e);
	send_owed(e, m->pc);
	nt_enc_trap_as(e->enc, m->pc, m->type);
	e->empty = e->stamped = e->fresh = false;
	e->exact = true;
	e->next = m->to;
}

/* Retire the last instruction again, without length and as the jump that it was. */
static void mark_ijump(struct encode *e, const struct mark *m)
{
	const struct nt_enc_op jump = { .pc = m->pc, .type = NT_TYPE_IJUMP };

	if (!e->open || e->empty || e->exact || m->pc != e->last.op.pc)
		bad_line(e, "a jump from %" PRIx64 ", which is not the instruction before", m->pc);
	nt_enc_retire_op(e->enc, &jump);
	e->exact = true;
	e->next = m->to;
}

/*
 * If a context follows the first sync message, the encoder sends it. Otherwise, Ownership messages
 * are sent only where the marks are.
 */
static void mark_context(struct encode *e, const struct mark *m)
{
	bool hcontext = m->reason == 3;

	e->fresh = false;
	e->stamped = true;
	if (!e->enc && e->open && !e->nr_owed &&
	    (m->reason || e->in.params.profile == NT_PROFILE_TT_DFD))
		e->config.context = true;
	if (!e->config.context) {
		if (e->nr_owed == OWED_MAX)
			bad_line(e, "more than %d contexts at one place", OWED_MAX);
		e->owed[e->nr_owed++] = *m;
		return;
	}
	if (e->enc && hcontext && !e->config.hcontext)
		bad_line(e, "an hcontext, but none before the first address: the encoder sends it "
			 "behind every sync message or never");
	e->config.hcontext |= hcontext;
	if (e->enc) {
		nt_enc_context(e->enc, m->reason, m->priv, m->virt, m->value);
		return;
	}
	e->contexts[hcontext] = *m;
	e->context_known[hcontext] = true;
}

/*
 * Events that marks announced up to here belong to the old time. But a sync message and the context
 * after it cannot be separated.
 */
static void mark_time(struct encode *e, uint64_t time)
{
	if (e->open && e->exact && e->stamped && time != e->ticks && !e->fresh) {
		make_encoder(e);
		arrive(e, e->next);
	}
	e->ticks = time;
	e->clock = true;
	e->stamped = true;
}

static void mark_source(struct encode *e, const struct mark *m)
{
	if (e->enc || e->in.params.src >= 0)
		return;
	if (m->value >> e->params.srcbits)
		bad_line(e, "source %" PRIu64 " does not fit in --srcbits=%u", m->value,
			 e->params.srcbits);
	e->params.src = (int)m->value;
}

static void add_mark(struct encode *e, const char *text)
{
	struct mark m;
	const char *form = mark_parse(text, &m);

	if (form)
		bad_line(e, "expected %s, found `%.*s'", form, (int)strcspn(text, "\r\n"), text);
	check_address(e, m.pc);
	check_address(e, m.to);
	switch (m.kind) {
	case MARK_NONE:
		break;
	case MARK_SOURCE:
		mark_source(e, &m);
		break;
	case MARK_TIME:
		mark_time(e, m.value);
		break;
	case MARK_START:
		mark_start(e, &m);
		break;
	case MARK_STOP:
		mark_stop(e, &m);
		break;
	case MARK_SYNC:
		mark_sync(e, &m);
		break;
	case MARK_CONTEXT:
		mark_context(e, &m);
		break;
	case MARK_TRAP:
		mark_trap(e, &m);
		break;
	case MARK_IJUMP:
		mark_ijump(e, &m);
		break;
	case MARK_LOSS:
		pause_trace(e);
		break;
	}
}

static void add_line(struct encode *e, const char *text)
{
	uint64_t pc;
	char *end;

	if (*text == '#') {
		add_mark(e, text);
		return;
	}
	errno = 0;
	pc = strtoull(text, &end, 16);
	if (errno || end == text || *text == '-' || (*end && strcspn(end, "\r\n")))
		bad_line(e, "expected a hexadecimal address, found `%.*s'",
			 (int)strcspn(text, "\r\n"), text);
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
	if (!e->enc && !e->open)
		die("%s: no addresses; expected lines as decode --output=pc prints them", e->list);
	pause_trace(e);
}

/* ---------------------------------------------------------------- trace -- */

static uint64_t ticks(void *ctx)
{
	return ((struct encode *)ctx)->ticks;
}

/* The output must not be one of the input files, under any name. */
static void check_output(const struct encode *e)
{
	struct stat st, list;

	if (stat(e->output, &st) || !S_ISREG(st.st_mode))
		return;
	if (!fstat(fileno(e->from), &list) && list.st_dev == st.st_dev && list.st_ino == st.st_ino)
		die("%s: is the list itself (--pc); give another file as -o", e->output);
	input_refuse_output(&e->in, e->output);
}

static void start(struct encode *e)
{
	struct nt_enc_config *c = &e->config;
	struct nt_params *p = &e->params;
	struct stat st;

	c->size = sizeof(*c);
	*p = e->in.params;
	c->htm = p->mode != NT_MODE_BTM;
	c->emit = emit;
	c->time = ticks;
	c->ctx = e;
	if (p->profile == NT_PROFILE_SIFIVE)
		die("--profile: only 1.0, p550 and tt-dfd can be encoded");
	if (p->profile != NT_PROFILE_1_0 && c->repeathist)
		die("--repeathist: there is none with --profile=%s", nt_profile_name(p->profile));
	if (p->profile == NT_PROFILE_P550 && p->retstack > 1)
		die("--retstack: with --profile=p550 it is always 1");
	if (c->htm && c->repeatbranch && p->profile != NT_PROFILE_TT_DFD)
		die("--repeatbranch is for --btm: what it means with history is not settled");
	e->from = strcmp(e->list, "-") ? fopen(e->list, "re") : stdin;
	if (!e->from)
		die("%s: %s", e->list, strerror(errno));
	if (!fstat(fileno(e->from), &st) && S_ISREG(st.st_mode))
		e->size = st.st_size;
	check_output(e);
	if (strcmp(e->output, "-"))
		out_to(e->output);
}

static void finish(struct encode *e)
{
	nt_enc_free(e->enc);
	if (e->from != stdin)
		fclose(e->from);
	out_done();
}

int cmd_encode(int argc, char **argv)
{
	static const struct argp_child children[] = { { &input_argp, 0, NULL, 0 }, { 0 } };
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "",
		.doc = "Make an N-Trace file of a list of retired instructions."
		       "\vThe last instruction, where it is an indirect jump, is taken to lead "
		       "to what is behind it. The clock of --timestamps is that of the lines "
		       "`# time'; without them it counts the list's instructions.",
		.children = children,
	};
	struct encode *e = calloc(1, sizeof(*e));

	if (!e)
		die("%s", nt_strerror(NT_ENOMEM));
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
