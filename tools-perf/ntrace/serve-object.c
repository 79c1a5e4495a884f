// SPDX-License-Identifier: GPL-2.0-only
/*
 * Objects that GDB reads: target description, threads, program and libraries, branch trace
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "serve.h"

static void put_xml(struct serve_text *t, const char *text)
{
	char *made;
	const char *s = utf8_text(text, &made);

	for (; *s; s++) {
		if (*s == '&' || *s == '<' || *s == '>' || *s == '"' || *s == '\'')
			serve_text_put(t, "&#%d;", *s);
		else
			serve_text_bytes(t, s, 1);
	}
	free(made);
}

/* ---------------------------------------------------------------- target - */

static void put_reg(struct serve_text *t, const char *name, unsigned int bits, const char *type)
{
	serve_text_put(t, "<reg name=\"%s\" bitsize=\"%u\" type=\"%s\"/>\n", name, bits, type);
}

static void put_fpu(struct serve_text *t, unsigned int flen)
{
	char name[8];

	serve_text_put(t, "</feature>\n<feature name=\"org.gnu.gdb.riscv.fpu\">\n");
	for (unsigned int i = 0; i < 32; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		put_reg(t, name, flen, flen == 32 ? "ieee_single" : "ieee_double");
	}
	put_reg(t, "fflags", 32, "int");
	put_reg(t, "frm", 32, "int");
	put_reg(t, "fcsr", 32, "int");
}

static void put_csrs(struct serve_text *t, const struct serve_recording *r)
{
	serve_text_put(t, "</feature>\n<feature name=\"org.gnu.gdb.riscv.csr\">\n");
	for (size_t i = 0; i < r->nr_csrs; i++)
		put_reg(t, r->csr[i].name, r->xlen, "int");
}

static bool make_target(struct serve_session *s, const char *annex, struct serve_text *t)
{
	static const char *const pointers[] = { "ra", "sp", "gp", "tp" };
	unsigned int xlen = s->rec->xlen;
	char name[8];

	if (strcmp(annex, "target.xml"))
		return false;
	serve_text_put(t, "<?xml version=\"1.0\"?>\n<!DOCTYPE target SYSTEM \"gdb-target.dtd\">\n"
		       "<target version=\"1.0\">\n<architecture>riscv:rv%u</architecture>\n"
		       "<osabi>none</osabi>\n", xlen);
	serve_text_put(t, "<feature name=\"org.gnu.gdb.riscv.cpu\">\n");
	for (unsigned int i = 0; i < 32; i++) {
		snprintf(name, sizeof(name), "x%u", i);
		put_reg(t, i && i < 5 ? pointers[i - 1] : i == 8 ? "fp" : i ? name : "zero", xlen,
			i == 1 ? "code_ptr" : i && i < 5 ? "data_ptr" : "int");
	}
	put_reg(t, "pc", xlen, "code_ptr");
	if (s->rec->flen)
		put_fpu(t, s->rec->flen);
	if (s->rec->nr_csrs)
		put_csrs(t, s->rec);
	serve_text_put(t, "</feature>\n</target>\n");
	return true;
}

/* --------------------------------------------------------------- threads - */

static bool make_threads(struct serve_session *s, const char *annex, struct serve_text *t)
{
	char id[24];

	s->lists++;
	serve_text_put(t, "<?xml version=\"1.0\"?>\n<threads>\n");
	for (size_t i = 0; i < s->rec->nr_tracks; i++) {
		const struct serve_track *track = s->rec->track[i];

		serve_session_thread_id(s, i, id, sizeof(id));
		serve_text_put(t, "<thread id=\"%s\"", id);
		if (track->core >= 0)
			serve_text_put(t, " core=\"%d\"", track->core);
		serve_text_put(t, " name=\"");
		put_xml(t, track->name);
		serve_text_put(t, "\"/>\n");
	}
	serve_text_put(t, "</threads>\n");
	return !*annex;
}

/* --------------------------------------------------------- what is mapped  */

static bool make_exec_file(struct serve_session *s, const char *annex, struct serve_text *t)
{
	(void)annex;
	if (s->rec->exec_file)
		serve_text_put(t, "%s", s->rec->exec_file);
	return s->rec->exec_file;
}

bool serve_object_has_libraries(const struct serve_recording *r)
{
	for (size_t i = 0; i < r->nr_libraries; i++)
		if (!r->library[i].exec)
			return true;
	return false;
}

/* GDB asks rarely, so a library is always in the list if no other file ever had its addresses. */
static bool make_libraries(struct serve_session *s, const char *annex, struct serve_text *t)
{
	uint32_t space = serve_view_space(serve_session_view(s, s->chosen), s->at[s->chosen]);

	(void)annex;
	serve_text_put(t, "<library-list>\n");
	for (size_t i = 0; i < s->rec->nr_libraries; i++) {
		const struct serve_library *l = &s->rec->library[i];

		if (!serve_library_is_told(l, space))
			continue;
		serve_text_put(t, "<library name=\"");
		put_xml(t, l->path);
		serve_text_put(t, "\"><segment address=\"%#" PRIx64 "\"/></library>\n", l->start);
	}
	serve_text_put(t, "</library-list>\n");
	return serve_object_has_libraries(s->rec);
}

/* ---------------------------------------------------------- branch trace - */

/*
 * The first instruction of the branch trace for GDB: as many instructions as fit, but nothing
 * before a loss or a gap
 */
static uint64_t first_of(const struct serve_session *s)
{
	const struct serve_track *t = s->rec->track[s->chosen];
	uint64_t at = s->at[s->chosen], first;
	size_t i = serve_track_first_mark(t, at + 1);

	first = at > s->options->btrace ? at - s->options->btrace : 0;
	return i && t->mark[i - 1].insn > first ? t->mark[i - 1].insn : first;
}

struct block {
	uint64_t begin, last;
	bool open;
};

static void put_block(struct serve_text *t, struct block *b)
{
	if (b->open)
		serve_text_put(t, "<block begin=\"%#" PRIx64 "\" end=\"%#" PRIx64 "\"/>\n",
			       b->begin,
			       b->last);
	b->open = false;
}

/*
 * Blocks, the newest first. Consecutive runs without a transfer are one block. The newest block
 * ends at the next instruction. The oldest block of a delta continues one that GDB already has, so
 * it begins at 0.
 */
static void put_blocks(struct serve_session *s, struct serve_text *t, uint64_t first, uint64_t at,
		       bool delta)
{
	struct serve_view *v = serve_session_view(s, s->chosen);
	struct block b = { .open = false };
	uint64_t pc;

	if (at < v->track->insns)
		at++;
	else if (serve_view_pc(v, at, &pc))
		b = (struct block){ .begin = pc, .last = pc, .open = true };
	while (at > first) {
		unsigned int nth, from;
		uint32_t index;
		const struct serve_run *run = serve_view_at(v, at - 1, &nth, &index);
		bool follows;

		from = at - first < nth + 1 ? nth + 1 - (unsigned int)(at - first) : 0;
		follows = b.open && run->type == NT_TYPE_NONE &&
			  b.begin == serve_run_pc(run, nth + 1);
		if (!follows)
			put_block(t, &b);
		if (!b.open)
			b.last = serve_run_pc(run, nth);
		b.begin = serve_run_pc(run, from);
		b.open = true;
		at -= nth + 1 - from;
	}
	if (delta)
		b.begin = 0;
	put_block(t, &b);
}

static bool make_btrace(struct serve_session *s, const char *annex, struct serve_text *t)
{
	uint64_t at = s->at[s->chosen], first = first_of(s), *sent = &s->btrace_sent[s->chosen];
	bool delta = !strcmp(annex, "delta"), new = !strcmp(annex, "new");

	if (!s->btrace || (!delta && !new && strcmp(annex, "all")))
		return false;
	/* GDB appends a delta to its data. If there is no delta, GDB reads `new'. */
	if (delta) {
		if (*sent > at || *sent < first)
			return false;
		first = *sent;
	}
	serve_text_put(t, "<!DOCTYPE btrace SYSTEM \"btrace.dtd\">\n<btrace version=\"1.0\">\n");
	if (!new || *sent != at)
		put_blocks(s, t, first, at, delta);
	serve_text_put(t, "</btrace>\n");
	*sent = at;
	return true;
}

static bool make_btrace_conf(struct serve_session *s, const char *annex, struct serve_text *t)
{
	(void)annex;
	if (!s->btrace)
		return false;
	serve_text_put(t, "<!DOCTYPE btrace-conf SYSTEM \"btrace-conf.dtd\">\n"
		       "<btrace-conf version=\"1.0\"><bts size=\"%#" PRIx64 "\"/></btrace-conf>\n",
		       s->options->btrace);
	return true;
}

static const struct {
	const char *name;
	bool (*make)(struct serve_session *s, const char *annex, struct serve_text *t);
} objects[] = {
	{ "features", make_target },
	{ "threads", make_threads },
	{ "exec-file", make_exec_file },
	{ "libraries", make_libraries },
	{ "btrace", make_btrace },
	{ "btrace-conf", make_btrace_conf },
};

bool serve_object_make(struct serve_session *s, const char *object, const char *annex,
		       struct serve_text *text)
{
	for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++)
		if (!strcmp(objects[i].name, object))
			return objects[i].make(s, annex, text);
	return false;
}
