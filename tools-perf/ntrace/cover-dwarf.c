// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lines and functions of a program, of its DWARF information
 */
#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cover.h"

#ifdef HAVE_LIBDW
#include <dwarf.h>
#include <elfutils/libdw.h>

struct reader {
	struct cover_source *source;
	const char *dir;		/* where the unit was compiled; NULL: not known */
	struct rec_map here;		/* names of the unit, as libdw has them -> files, and 1 */
	void *names;			/* tsearch()'s tree of all files */
};

/* A file by its whole name */
struct known {
	const char *name;
	uint32_t file;
};

/* Names of files are relative to where they were compiled. */
static char *full_name(const struct reader *r, const char *name)
{
	char *full;

	if (*name == '/' || !r->dir)
		full = strdup(name);
	else if (asprintf(&full, "%s/%s", r->dir, name) < 0)
		full = NULL;
	if (!full)
		die("%s", nt_strerror(NT_ENOMEM));
	return full;
}

static int compare_known(const void *a, const void *b)
{
	return strcmp(((const struct known *)a)->name, ((const struct known *)b)->name);
}

static uint32_t add_file(struct reader *r, char *full)
{
	struct cover_source *s = r->source;
	struct known *own = malloc(sizeof(*own)), **at;

	if (!own)
		die("%s", nt_strerror(NT_ENOMEM));
	*own = (struct known){ full, (uint32_t)s->nr_files };
	at = tsearch(own, &r->names, compare_known);
	if (!at)
		die("%s", nt_strerror(NT_ENOMEM));
	if (*at != own) {
		free(own);
		free(full);
		return (*at)->file;
	}
	s->file = array_room(s->file, s->nr_files, sizeof(*s->file));
	s->file[s->nr_files] = full;
	return (uint32_t)s->nr_files++;
}

/* Programs have millions of lines in thousands of files: names of a unit are looked up by address. */
static uint32_t find_file(struct reader *r, const char *name)
{
	uintptr_t file = (uintptr_t)rec_map_find(&r->here, (intptr_t)name);

	if (!file) {
		file = (uintptr_t)add_file(r, full_name(r, name)) + 1;
		rec_map_set(&r->here, (intptr_t)name, (void *)file);
	}
	return (uint32_t)(file - 1);
}

static void add_row(struct reader *r, Dwarf_Line *line)
{
	struct cover_source *s = r->source;
	struct cover_row row = { .file = COVER_NONE, .number = (uint32_t)s->nr_rows };
	const char *name;
	Dwarf_Addr addr;
	bool end = false;
	int number = 0;

	if (dwarf_lineaddr(line, &addr) || dwarf_lineendsequence(line, &end))
		return;
	row.addr = addr;
	name = end ? NULL : dwarf_linesrc(line, NULL, NULL);
	if (name && !dwarf_lineno(line, &number)) {
		row.file = find_file(r, name);
		row.line = number > 0 ? (uint32_t)number : 0;
	}
	s->row = array_room(s->row, s->nr_rows, sizeof(*s->row));
	s->row[s->nr_rows++] = row;
}

static void read_lines(struct reader *r, Dwarf_Die *unit)
{
	Dwarf_Lines *lines;
	size_t n, i;

	if (dwarf_getsrclines(unit, &lines, &n))
		return;
	for (i = 0; i < n; i++)
		add_row(r, dwarf_onesrcline(lines, i));
}

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

/* What has code: neither declarations nor what was inlined everywhere */
static int add_function(Dwarf_Die *entry, void *arg)
{
	struct reader *r = arg;
	struct cover_source *s = r->source;
	struct cover_function f = { .file = COVER_NONE };
	const char *name = dwarf_diename(entry), *file;
	Dwarf_Attribute attr;
	int line;

	add_pieces(&f, entry);
	if (!f.nr_pieces || !name) {
		free(f.piece);
		return DWARF_CB_OK;
	}
	file = dwarf_decl_file(entry);
	if (file && !dwarf_decl_line(entry, &line) && line > 0) {
		f.file = find_file(r, file);
		f.line = (uint32_t)line;
	}
	f.returns = dwarf_attr_integrate(entry, DW_AT_type, &attr);
	f.name = strdup(name);
	if (!f.name)
		die("%s", nt_strerror(NT_ENOMEM));
	s->function = array_room(s->function, s->nr_functions, sizeof(*s->function));
	s->function[s->nr_functions++] = f;
	return DWARF_CB_OK;
}

static void read_unit(struct reader *r, Dwarf_Die *unit)
{
	Dwarf_Attribute attr;

	r->dir = NULL;
	if (dwarf_attr(unit, DW_AT_comp_dir, &attr))
		r->dir = dwarf_formstring(&attr);
	read_lines(r, unit);
	dwarf_getfuncs(unit, add_function, r, 0);
	rec_map_free(&r->here);
}

/* At one address the end of one sequence comes before the beginning of another. */
static int compare_rows(const void *a, const void *b)
{
	const struct cover_row *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	if ((x->file == COVER_NONE) != (y->file == COVER_NONE))
		return x->file == COVER_NONE ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static int compare_functions(const void *a, const void *b)
{
	const struct cover_function *x = a, *y = b;

	return x->entry < y->entry ? -1 : x->entry > y->entry;
}

/* Of several rows at one address the last one tells: the code is of that line. */
static void sort_rows(struct cover_source *s)
{
	size_t i, n = 0;

	if (s->nr_rows)
		qsort(s->row, s->nr_rows, sizeof(*s->row), compare_rows);
	for (i = 0; i < s->nr_rows; i++) {
		bool replaces = n && s->row[n - 1].addr == s->row[i].addr;

		if (replaces) {
			n--;
			/* the end of the code before is none of this one's */
			replaces = s->row[n].file != COVER_NONE;
		}
		s->row[n] = s->row[i];
		s->row[n++].replaces = replaces;
	}
	s->nr_rows = n;
}

static void read_units(struct reader *r, Dwarf *dwarf)
{
	Dwarf_Off at = 0, next;
	size_t header;
	Dwarf_Die unit;

	while (!dwarf_nextcu(dwarf, at, &next, &header, NULL, NULL, NULL)) {
		if (dwarf_offdie(dwarf, at + header, &unit))
			read_unit(r, &unit);
		at = next;
	}
}

/* What is wrong, in words of libdw, is for who asks for lines and nothing else. */
static bool read_source(struct cover_source *source, const char *path, const char **why)
{
	struct reader r = { .source = source };
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Dwarf *dwarf;

	if (fd < 0)
		die("%s: %s", path, strerror(errno));
	dwarf = dwarf_begin(fd, DWARF_C_READ);
	*why = dwarf ? NULL : dwarf_errmsg(-1);
	if (dwarf)
		read_units(&r, dwarf);
	if (source->nr_rows)
		sort_rows(source);
	if (source->nr_functions)
		qsort(source->function, source->nr_functions, sizeof(*source->function),
		      compare_functions);
	tdestroy(r.names, free);
	dwarf_end(dwarf);
	close(fd);
	return source->nr_rows;
}

void cover_dwarf_read(struct cover_source *source, const char *path)
{
	const char *why;

	if (!read_source(source, path, &why))
		die("%s: has no line numbers%s%s: compile it with -g, or give the file that was not stripped as --elf",
		    path, why ? ", " : "", why ?: "");
}

struct cover_source *cover_dwarf_find(const char *path)
{
	struct cover_source *source = calloc(1, sizeof(*source));
	const char *why;

	if (!source)
		die("%s", nt_strerror(NT_ENOMEM));
	if (read_source(source, path, &why))
		return source;
	cover_dwarf_free(source);
	free(source);
	return NULL;
}
#else
void cover_dwarf_read(struct cover_source *source, const char *path)
{
	(void)source;
	die("%s: this ntrace was built without libdw, which reads line numbers", path);
}

struct cover_source *cover_dwarf_find(const char *path)
{
	(void)path;
	return NULL;
}
#endif

void cover_dwarf_free(struct cover_source *source)
{
	size_t i;

	for (i = 0; i < source->nr_files; i++)
		free(source->file[i]);
	for (i = 0; i < source->nr_functions; i++) {
		free(source->function[i].name);
		free(source->function[i].piece);
	}
	free(source->file);
	free(source->row);
	free(source->function);
}
