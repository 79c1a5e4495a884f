// SPDX-License-Identifier: GPL-2.0-only
/*
 * Functions and what was inlined into them, from the DWARF information of a program
 */
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "gcov.h"

#ifdef HAVE_LIBDW
/* used by GCC and LLVM; elfutils headers before 0.190 do not define it */
#ifndef DW_AT_GNU_discriminator
#define DW_AT_GNU_discriminator	0x2136
#endif

/* --------------------------------------------------------- functions ----- */

/* Copies made by the compiler (constprop, part, cold) have a suffix that begins with a dot. */
static char *gcov_name(Dwarf_Die *entry)
{
	Dwarf_Attribute attr;
	const char *name = NULL;
	char *own;

	if (dwarf_attr_integrate(entry, DW_AT_linkage_name, &attr))
		name = dwarf_formstring(&attr);
	if (!name)
		name = dwarf_diename(entry);
	if (!name || *name == '.')
		return NULL;
	own = strndup(name, strcspn(name, "."));
	if (!own)
		die("%s", nt_strerror(NT_ENOMEM));
	return own;
}

/* Returns NULL if it has no name. */
static struct gcov_function *gcov_function(Dwarf_Die *entry)
{
	char *name = gcov_name(entry);
	struct gcov_function *f;
	int line = 0;

	if (!name)
		return NULL;
	f = calloc(1, sizeof(*f));
	if (!f)
		die("%s", nt_strerror(NT_ENOMEM));
	f->name = name;
	f->file = source_of_entry(entry);
	if (!dwarf_decl_line(entry, &line) && line > 0)
		f->line = (uint32_t)line;
	return f;
}

static void gcov_function_free(struct gcov_function *f)
{
	size_t i;

	for (i = 0; i < f->nr_inlined; i++)
		gcov_function_free(f->inlined[i]);
	for (i = 0; i < f->nr_places; i++)
		free(f->place[i].target);
	free(f->inlined);
	free(f->place);
	free((char *)f->file);
	free(f->name);
	free(f);
}

/* Functions with the same name in different files are different functions. */
static int gcov_compare_functions(const void *a, const void *b)
{
	const struct gcov_function *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	if (order)
		return order;
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	return strcmp(x->file ?: "", y->file ?: "");
}

/* Copies of a function are merged with it. */
static struct gcov_function *gcov_add_function(struct gcov *g, struct gcov_function *f)
{
	struct gcov_function **at = tsearch(f, &g->names, gcov_compare_functions);

	if (!at)
		die("%s", nt_strerror(NT_ENOMEM));
	if (*at != f) {
		f->file = NULL;
		gcov_function_free(f);
		return *at;
	}
	/* the strings of libdw are freed with it */
	f->file = f->file ? strdup(f->file) : NULL;
	g->function = array_room(g->function, g->nr_functions, sizeof(*g->function));
	g->function[g->nr_functions++] = f;
	return f;
}

/* What was inlined from one call is one function, even if it is in several parts. */
static struct gcov_function *gcov_add_inlined(struct gcov_function *into, struct gcov_function *f)
{
	size_t i;

	f->file = NULL;
	for (i = 0; i < into->nr_inlined; i++) {
		struct gcov_function *known = into->inlined[i];

		if (known->where == f->where && !strcmp(known->name, f->name)) {
			gcov_function_free(f);
			return known;
		}
	}
	into->inlined = array_room(into->inlined, into->nr_inlined, sizeof(*into->inlined));
	into->inlined[into->nr_inlined++] = f;
	return f;
}

/* ------------------------------------------------------------- bodies ---- */

static void gcov_add_scopes(struct gcov_body *body, Dwarf_Die *entry, struct gcov_function *f)
{
	Dwarf_Addr base, low, high;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(entry, at, &base, &low, &high)) > 0) {
		if (low >= high)
			continue;
		body->scope = array_room(body->scope, body->nr_scopes, sizeof(*body->scope));
		body->scope[body->nr_scopes++] = (struct gcov_scope){ low, high, f };
	}
}

static uint32_t gcov_number(Dwarf_Die *entry, unsigned int name)
{
	Dwarf_Attribute attr;
	Dwarf_Word value;

	if (!dwarf_attr(entry, name, &attr) || dwarf_formudata(&attr, &value))
		return 0;
	return (uint32_t)value;
}

/* The place of the call in `into' that this was inlined from */
static uint32_t gcov_call_site(Dwarf_Die *entry, const struct gcov_function *into)
{
	uint32_t line = gcov_number(entry, DW_AT_call_line);

	return (line - into->line) << 16 | (gcov_number(entry, DW_AT_GNU_discriminator) & 0xffff);
}

static void gcov_add_children(struct gcov_body *body, Dwarf_Die *entry, struct gcov_function *into)
{
	struct gcov_function *f;
	Dwarf_Die child;

	if (dwarf_child(entry, &child))
		return;
	do {
		switch (dwarf_tag(&child)) {
		case DW_TAG_lexical_block:
			gcov_add_children(body, &child, into);
			break;
		case DW_TAG_inlined_subroutine:
			f = gcov_function(&child);
			if (!f)
				break;
			f->where = gcov_call_site(&child, into);
			f = gcov_add_inlined(into, f);
			gcov_add_scopes(body, &child, f);
			gcov_add_children(body, &child, f);
			break;
		}
	} while (!dwarf_siblingof(&child, &child));
}

static void gcov_add_body(struct source_reader *reader, void *entry, void *ctx)
{
	struct gcov_body body = { .entry = 0 };
	struct gcov *g = ctx;
	Dwarf_Addr pc;

	(void)reader;

	gcov_add_scopes(&body, entry, NULL);
	if (!body.nr_scopes)
		return;
	body.function = gcov_function(entry);
	if (!body.function) {
		free(body.scope);
		return;
	}
	body.function = gcov_add_function(g, body.function);
	for (; body.nr_own < body.nr_scopes; body.nr_own++)
		body.scope[body.nr_own].function = body.function;
	body.entry = dwarf_entrypc(entry, &pc) ? body.scope[0].low : pc;
	gcov_add_children(&body, entry, body.function);
	g->body = array_room(g->body, g->nr_bodies, sizeof(*g->body));
	g->body[g->nr_bodies++] = body;
}

static int gcov_compare_bodies(const void *a, const void *b)
{
	const struct gcov_body *x = a, *y = b;

	return x->entry < y->entry ? -1 : x->entry > y->entry;
}

void gcov_dwarf_read(struct gcov *g, const char *path)
{
	const char *why = source_read(&g->lines, path, gcov_add_body, g);

	if (why || !g->nr_bodies)
		source_missing(path, why ?: "");
	qsort(g->body, g->nr_bodies, sizeof(*g->body), gcov_compare_bodies);
}
#else
static void gcov_function_free(struct gcov_function *f)
{
	(void)f;
}

void gcov_dwarf_read(struct gcov *g, const char *path)
{
	source_missing(path, source_read(&g->lines, path, NULL, NULL));
}
#endif

static void gcov_keep(void *function)
{
	(void)function;
}

void gcov_free(struct gcov *g)
{
	size_t i;

	tdestroy(g->names, gcov_keep);
	for (i = 0; i < g->nr_functions; i++)
		gcov_function_free(g->function[i]);
	for (i = 0; i < g->nr_bodies; i++)
		free(g->body[i].scope);
	free(g->function);
	free(g->body);
	source_free(&g->lines);
}
