// SPDX-License-Identifier: GPL-2.0-only
/*
 * Functions of a program, from its DWARF information
 */
#include <stdlib.h>
#include <string.h>

#include "cover.h"

#ifdef HAVE_LIBDW
static int compare_pieces(const void *a, const void *b)
{
	const struct cover_piece *x = a, *y = b;

	return x->low < y->low ? -1 : x->low > y->low;
}

static void add_pieces(struct cover_function *f, Dwarf_Die *die)
{
	Dwarf_Addr base, low, high;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &low, &high)) > 0) {
		if (low >= high)
			continue;
		f->piece = array_room(f->piece, f->nr_pieces, sizeof(*f->piece));
		f->piece[f->nr_pieces++] = (struct cover_piece){ low, high };
	}
	if (!f->nr_pieces)
		return;
	if (dwarf_entrypc(die, &low))
		low = f->piece[0].low;
	f->entry = low;
	qsort(f->piece, f->nr_pieces, sizeof(*f->piece), compare_pieces);
}

/* Add functions that have code: neither declarations nor functions that were only inlined. */
static void add_function(struct source_reader *reader, void *entry, void *ctx)
{
	struct cover_function f = { .file = SOURCE_NONE };
	struct cover_source *s = ctx;
	const char *name = dwarf_diename(entry), *file;
	Dwarf_Attribute attr;
	int line;

	add_pieces(&f, entry);
	if (!f.nr_pieces || !name) {
		free(f.piece);
		return;
	}
	file = source_of_entry(entry);
	if (file && !dwarf_decl_line(entry, &line) && line > 0) {
		f.file = source_file(reader, file);
		f.line = (uint32_t)line;
	}
	f.returns = dwarf_attr_integrate(entry, DW_AT_type, &attr);
	f.name = strdup(name);
	if (!f.name)
		die("%s", nt_strerror(NT_ENOMEM));
	s->function = array_room(s->function, s->nr_functions, sizeof(*s->function));
	s->function[s->nr_functions++] = f;
}

static int compare_functions(const void *a, const void *b)
{
	const struct cover_function *x = a, *y = b;

	return x->entry < y->entry ? -1 : x->entry > y->entry;
}

void cover_dwarf_read(struct cover_source *source, const char *path)
{
	const char *why = source_read(&source->lines, path, add_function, source);

	if (why)
		source_missing(path, why);
	if (source->nr_functions)
		qsort(source->function, source->nr_functions, sizeof(*source->function),
		      compare_functions);
}
#else
void cover_dwarf_read(struct cover_source *source, const char *path)
{
	source_missing(path, source_read(&source->lines, path, NULL, NULL));
}
#endif

void cover_dwarf_free(struct cover_source *source)
{
	size_t i;

	for (i = 0; i < source->nr_functions; i++) {
		free(source->function[i].name);
		free(source->function[i].piece);
	}
	free(source->function);
	source_free(&source->lines);
}
