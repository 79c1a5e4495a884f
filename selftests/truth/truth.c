// SPDX-License-Identifier: GPL-2.0-only
/* Reads a truth stream group by group, and converts the groups to events. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "truth.h"

#define REG_MARK	0xc000
#define REG_VALUE	0xc001
#define REG_UNREPORTED	0xc002

enum mark {
	MARK_BEGIN = 1,
	MARK_END,
	MARK_OWNER,
	MARK_DROP,
	MARK_RESTART,
	MARK_SEGMENT = 7,
};

/* Content of a group */
struct group {
	uint64_t pc, cause, mark, value, unreported, satp;
	uint32_t insn;
	uint8_t len;
	bool has_pc, has_cause, has_unreported, init;
};

struct truth {
	FILE *file;
	bool pipe;
	char *name;
	uint8_t *buf;
	size_t len, at;
	bool eof, recording;
	struct nt_tv_reader reader;
	struct group group;
	bool open;		/* a group has begun */
	uint64_t pc;
	/* events read ahead; the size of the ring is a power of two */
	struct truth_event *ring;
	size_t size, head, count;
};

#define BUF_SIZE	(1u << 18)

void die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("truthcmp: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
	exit(2);
}

/* -------------------------------------------------------- instruction bits */

const char *const xfer_names[X_MAX] = {
	"none", "cond", "jump", "ijump", "call", "icall", "ret", "swap",
	"exception", "interrupt", "trap", "eret",
};

static bool is_link(unsigned int reg)
{
	return reg == 1 || reg == 5;
}

static enum xfer jalr_xfer(unsigned int rd, unsigned int rs1)
{
	if (!is_link(rd))
		return is_link(rs1) ? X_RET : X_IJUMP;
	return is_link(rs1) && rs1 != rd ? X_SWAP : X_ICALL;
}

static enum xfer xfer16(unsigned int insn)
{
	unsigned int rs1 = insn >> 7 & 31, rs2 = insn >> 2 & 31;

	if ((insn & 3) == 1) {
		switch (insn >> 13) {
		case 5:
			return X_JUMP;
		case 6:
		case 7:
			return X_COND;
		}
		return X_NONE;
	}
	if ((insn & 0xe003) != 0x8002 || rs2 || !rs1)
		return insn == 0x9002 ? X_EXCEPTION : X_NONE;
	return jalr_xfer(insn >> 12 & 1, rs1);
}

static enum xfer xfer32(uint32_t insn)
{
	unsigned int rd = insn >> 7 & 31, rs1 = insn >> 15 & 31;

	switch (insn & 0x7f) {
	case 0x63:
		return X_COND;
	case 0x6f:
		return is_link(rd) ? X_CALL : X_JUMP;
	case 0x67:
		return jalr_xfer(rd, rs1);
	case 0x73:
		if (insn == 0x10200073 || insn == 0x30200073 || insn == 0x70200073)
			return X_ERET;
		return insn == 0x73 || insn == 0x100073 ? X_EXCEPTION : X_NONE;
	}
	return X_NONE;
}

enum xfer truth_xfer(const struct truth_event *ev)
{
	if (ev->kind == TRUTH_TRAP)
		return ev->value >> 63 ? X_INTERRUPT : X_EXCEPTION;
	if (ev->kind != TRUTH_INSN)
		return X_NONE;
	return ev->len == 2 ? xfer16(ev->insn) : xfer32(ev->insn);
}

/* ------------------------------------------------------------ bytes, items */

struct truth *truth_open(const char *spec)
{
	static const struct nt_tv_params params = NT_TV_PARAMS_RV64;
	struct truth *t = calloc(1, sizeof(*t));
	size_t n = strlen(spec);
	char *cmd = NULL;

	if (!t || !(t->buf = malloc(BUF_SIZE)))
		die("out of memory");
	t->name = strdup(spec);
	if (spec[0] == '|') {
		cmd = strdup(spec + 1);
	} else if (n > 4 && !strcmp(spec + n - 4, ".zst")) {
		if (asprintf(&cmd, "exec zstd -dcq -- '%s'", spec) < 0)
			die("out of memory");
	}
	t->pipe = cmd != NULL;
	t->file = cmd ? popen(cmd, "r") : strcmp(spec, "-") ? fopen(spec, "rb") : stdin;
	free(cmd);
	if (!t->file)
		die("%s: cannot be opened", spec);
	nt_tv_reader_init(&t->reader, &params);
	return t;
}

const char *truth_name(const struct truth *t)
{
	return t->name;
}

/* If a command failed, the stream is not complete. */
static void end_of_file(struct truth *t)
{
	t->eof = true;
	if (ferror(t->file))
		die("%s: cannot be read", t->name);
	if (t->pipe) {
		if (pclose(t->file))
			die("%s: the command failed", t->name);
		t->file = NULL;
	}
}

void truth_close(struct truth *t)
{
	if (t->file && t->pipe)
		pclose(t->file);
	else if (t->file && t->file != stdin)
		fclose(t->file);
	free(t->ring);
	free(t->buf);
	free(t->name);
	free(t);
}

static void refill(struct truth *t)
{
	size_t n;

	t->len -= t->at;
	memmove(t->buf, t->buf + t->at, t->len);
	t->at = 0;
	n = fread(t->buf + t->len, 1, BUF_SIZE - t->len, t->file);
	t->len += n;
	if (!n)
		end_of_file(t);
}

/* Returns false at the end of the stream */
static bool next_item(struct truth *t, struct nt_tv_item *it)
{
	for (;;) {
		int n = nt_tv_next(&t->reader, t->buf + t->at, t->len - t->at, it);

		if (n > 0) {
			t->at += (size_t)n;
			return true;
		}
		if (n < 0)
			die("%s: offset %llu: %s", t->name,
			    (unsigned long long)t->reader.offset + t->reader.bad,
			    nt_tv_strerror(n));
		if (t->eof) {
			/* A killed emulator may leave an incomplete item: ignore it. */
			if (t->at < t->len)
				fprintf(stderr, "truthcmp: %s: ends inside an item\n", t->name);
			t->at = t->len;
			return false;
		}
		refill(t);
	}
}

/* ----------------------------------------------------------- groups, events */

static void note_reg(struct group *g, uint16_t reg, uint64_t value)
{
	switch (reg) {
	case REG_MARK:
		g->mark = value;
		break;
	case REG_VALUE:
		g->value = value;
		break;
	case REG_UNREPORTED:
		g->has_unreported = true;
		g->unreported = value;
		break;
	case 0x180:
		g->satp = value;
		break;
	case 0x142:	/* scause */
	case 0x342:	/* mcause */
		g->has_cause = true;
		g->cause = value;
		break;
	}
}

static void note_item(struct group *g, const struct nt_tv_item *it)
{
	switch (it->opcode) {
	case NT_TV_INSN16:
	case NT_TV_INSN32:
		g->insn = (uint32_t)it->value;
		g->len = it->bytes;
		break;
	case NT_TV_STATE:
		if (it->ident == NT_TV_PC) {
			g->has_pc = true;
			g->pc = it->value;
		}
		break;
	case NT_TV_REG:
		note_reg(g, it->reg, it->value);
		break;
	case NT_TV_INIT:
		g->init = true;
		break;
	}
}

static struct truth_event *push(struct truth *t)
{
	if (t->count == t->size) {
		size_t size = t->size ? t->size * 2 : 1024;
		struct truth_event *ring = malloc(size * sizeof(*ring));

		if (!ring)
			die("out of memory");
		for (size_t i = 0; i < t->count; i++)
			ring[i] = t->ring[(t->head + i) & (t->size - 1)];
		free(t->ring);
		t->ring = ring;
		t->size = size;
		t->head = 0;
	}
	return &t->ring[(t->head + t->count++) & (t->size - 1)];
}

static uint8_t mark_kind(const struct truth *t, uint64_t mark)
{
	switch (mark) {
	case MARK_BEGIN:
		return TRUTH_BEGIN;
	case MARK_END:
		return TRUTH_END;
	case MARK_OWNER:
		return TRUTH_OWNER;
	case MARK_DROP:
		return TRUTH_DROP;
	case MARK_RESTART:
		return TRUTH_RESTART;
	case MARK_SEGMENT:
		return TRUTH_SEGMENT;
	}
	die("%s: offset %llu: unknown mark %llu", t->name, (unsigned long long)t->reader.offset,
	    (unsigned long long)mark);
}

static void end_mark(struct truth *t, const struct group *g)
{
	uint64_t unreported = g->has_unreported ? g->unreported : UINT64_MAX;
	uint8_t kind = mark_kind(t, g->mark);

	if ((kind == TRUTH_BEGIN || kind == TRUTH_RESTART) && !g->has_pc)
		die("%s: offset %llu: a start without pc", t->name,
		    (unsigned long long)t->reader.offset);
	if (g->has_pc)
		t->pc = g->pc;
	if (kind == TRUTH_BEGIN)
		t->recording = true;
	if (kind == TRUTH_END)
		t->recording = false;
	*push(t) = (struct truth_event) {
		.kind = kind, .pc = t->pc, .next = t->pc, .tid = (uint32_t)g->value,
		.value = kind == TRUTH_DROP ? unreported :
			 kind == TRUTH_SEGMENT ? g->value : g->satp,
	};
}

/* A group is complete: convert it to an event, if it is one. */
static void end_group(struct truth *t)
{
	struct group *g = &t->group;
	struct truth_event *ev;

	if (g->init) {
		end_mark(t, g);
		return;
	}
	if (!g->len && !g->has_cause) {
		if (g->has_pc)
			t->pc = g->pc;
		return;
	}
	if (!t->recording)
		die("%s: offset %llu: an instruction or trap outside BEGIN..END", t->name,
		    (unsigned long long)t->reader.offset);
	ev = push(t);
	ev->kind = g->has_cause ? TRUTH_TRAP : TRUTH_INSN;
	ev->pc = t->pc;
	ev->insn = g->insn;
	ev->len = g->len;
	ev->value = g->cause;
	ev->next = g->has_pc ? g->pc : t->pc + g->len;
	ev->tid = 0;
	t->pc = ev->next;
}

/* Read groups until there is at least one more event. Returns false at the end. */
static bool read_event(struct truth *t)
{
	size_t before = t->count;
	struct nt_tv_item it;

	while (t->count == before) {
		if (t->eof && t->at == t->len && !t->open)
			return false;
		if (!next_item(t, &it)) {
			if (t->open)
				end_group(t);
			t->open = false;
			continue;
		}
		if (it.opcode == NT_TV_BEGIN || it.opcode == NT_TV_END) {
			if (t->open)
				end_group(t);
			t->open = it.opcode == NT_TV_BEGIN;
			t->group = (struct group) { 0 };
		} else if (t->open) {
			note_item(&t->group, &it);
		}
	}
	return true;
}

const struct truth_event *truth_peek(struct truth *t, size_t ahead)
{
	while (t->count <= ahead)
		if (!read_event(t))
			return NULL;
	return &t->ring[(t->head + ahead) & (t->size - 1)];
}

void truth_pop(struct truth *t)
{
	t->head = (t->head + 1) & (t->size - 1);
	t->count--;
}

bool truth_seek_segment(struct truth *t, uint64_t number)
{
	const struct truth_event *ev;

	while ((ev = truth_peek(t, 0))) {
		bool found = ev->kind == TRUTH_SEGMENT && ev->value == number;

		truth_pop(t);
		if (found)
			return true;
	}
	return false;
}
