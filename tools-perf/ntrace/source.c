// SPDX-License-Identifier: GPL-2.0-only
/*
 * Source lines of a program, from its DWARF information
 */
#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rec.h"
#include "source.h"

const struct source_row *source_find(const struct source *source, uint64_t addr)
{
	size_t n = array_behind(source->row, source->nr_rows, sizeof(*source->row), addr);
	const struct source_row *row = n ? &source->row[n - 1] : NULL;

	return row && row->file != SOURCE_NONE && row->line ? row : NULL;
}

void source_free(struct source *source)
{
	size_t i;

	for (i = 0; i < source->nr_files; i++)
		free(source->file[i]);
	free(source->file);
	free(source->row);
}

#ifdef HAVE_LIBDW
struct source_reader {
	struct source *source;
	source_function_fn function;
	void *ctx;
	const char *dir;		/* compilation directory of the unit; NULL: not known */
	struct rec_map here;		/* current unit's names, as libdw's pointers -> file + 1 */
	void *names;			/* tsearch() tree of all files */
};

/* --------------------------------------------------------------- files --- */

/* A file by its full name */
struct source_known {
	const char *name;
	uint32_t file;
};

/*
 * Since DWARF 5, file 0 is the first file of a unit, and clang uses it. But older versions of libdw
 * take 0 for none.
 */
const char *source_of_entry(Dwarf_Die *entry)
{
	const char *file = dwarf_decl_file(entry);
	Dwarf_Attribute attr;
	Dwarf_Half version;
	Dwarf_Files *files;
	Dwarf_Word number;
	Dwarf_Die unit;
	size_t n;

	if (file || !dwarf_attr_integrate(entry, DW_AT_decl_file, &attr) ||
	    dwarf_formudata(&attr, &number) || number)
		return file;
	if (!dwarf_cu_die(attr.cu, &unit, &version, NULL, NULL, NULL, NULL, NULL) || version < 5 ||
	    dwarf_getsrcfiles(&unit, &files, &n) || !n)
		return NULL;
	return dwarf_filesrc(files, 0, NULL, NULL);
}

/* Names are relative to the compilation directory. */
static char *source_full_name(const struct source_reader *r, const char *name)
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

static int source_compare_known(const void *a, const void *b)
{
	return strcmp(((const struct source_known *)a)->name,
		      ((const struct source_known *)b)->name);
}

static uint32_t source_add_file(struct source_reader *r, char *full)
{
	struct source_known *own = malloc(sizeof(*own)), **at;
	struct source *s = r->source;

	if (!own)
		die("%s", nt_strerror(NT_ENOMEM));
	*own = (struct source_known){ full, (uint32_t)s->nr_files };
	at = tsearch(own, &r->names, source_compare_known);
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

/* There are millions of lines, but thousands of files, so look names up by their pointers. */
uint32_t source_file(struct source_reader *r, const char *name)
{
	uintptr_t file = (uintptr_t)rec_map_find(&r->here, (intptr_t)name);

	if (!file) {
		file = (uintptr_t)source_add_file(r, source_full_name(r, name)) + 1;
		rec_map_set(&r->here, (intptr_t)name, (void *)file);
	}
	return (uint32_t)(file - 1);
}

/* ---------------------------------------------------------------- rows --- */

static void source_add_row(struct source_reader *r, Dwarf_Line *line)
{
	struct source *s = r->source;
	struct source_row row = { .file = SOURCE_NONE, .number = (uint32_t)s->nr_rows };
	unsigned int discriminator;
	const char *name;
	Dwarf_Addr addr;
	bool end = false;
	int number = 0;

	if (dwarf_lineaddr(line, &addr) || dwarf_lineendsequence(line, &end))
		return;
	row.addr = addr;
	name = end ? NULL : dwarf_linesrc(line, NULL, NULL);
	if (name && !dwarf_lineno(line, &number)) {
		row.file = source_file(r, name);
		row.line = number > 0 ? (uint32_t)number : 0;
	}
	if (!dwarf_linediscriminator(line, &discriminator))
		row.discriminator = discriminator;
	s->row = array_room(s->row, s->nr_rows, sizeof(*s->row));
	s->row[s->nr_rows++] = row;
}

/* At the same address, the end of a sequence comes before the start of another one. */
static int source_compare_rows(const void *a, const void *b)
{
	const struct source_row *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	if ((x->file == SOURCE_NONE) != (y->file == SOURCE_NONE))
		return x->file == SOURCE_NONE ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* Of several rows at the same address, the last one has the line of the code. */
static void source_sort_rows(struct source *s)
{
	size_t i, n = 0;

	if (s->nr_rows)
		qsort(s->row, s->nr_rows, sizeof(*s->row), source_compare_rows);
	for (i = 0; i < s->nr_rows; i++) {
		bool replaces = n && s->row[n - 1].addr == s->row[i].addr;

		if (replaces) {
			n--;
			/* the end of the code before does not belong to this code */
			replaces = s->row[n].file != SOURCE_NONE;
		}
		s->row[n] = s->row[i];
		s->row[n++].replaces = replaces;
	}
	s->nr_rows = n;
}

/* --------------------------------------------------------------- units --- */

static int source_give_function(Dwarf_Die *entry, void *arg)
{
	struct source_reader *r = arg;

	r->function(r, entry, r->ctx);
	return DWARF_CB_OK;
}

static void source_read_unit(struct source_reader *r, Dwarf_Die *unit)
{
	Dwarf_Attribute attr;
	Dwarf_Lines *lines;
	size_t n, i;

	r->dir = NULL;
	if (dwarf_attr(unit, DW_AT_comp_dir, &attr))
		r->dir = dwarf_formstring(&attr);
	if (dwarf_getsrclines(unit, &lines, &n))
		n = 0;
	for (i = 0; i < n; i++)
		source_add_row(r, dwarf_onesrcline(lines, i));
	if (r->function)
		dwarf_getfuncs(unit, source_give_function, r, 0);
	rec_map_free(&r->here);
}

static void source_read_units(struct source_reader *r, Dwarf *dwarf)
{
	Dwarf_Off at = 0, next;
	size_t header;
	Dwarf_Die unit;

	while (!dwarf_nextcu(dwarf, at, &next, &header, NULL, NULL, NULL)) {
		if (dwarf_offdie(dwarf, at + header, &unit))
			source_read_unit(r, &unit);
		at = next;
	}
}

const char *source_read(struct source *source, const char *path, source_function_fn function,
			void *ctx)
{
	struct source_reader r = { .source = source, .function = function, .ctx = ctx };
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	const char *why = "";
	Dwarf *dwarf;

	if (fd < 0)
		die("%s: %s", path, strerror(errno));
	dwarf = dwarf_begin(fd, DWARF_C_READ);
	if (dwarf)
		source_read_units(&r, dwarf);
	else
		why = dwarf_errmsg(-1);
	source_sort_rows(source);
	tdestroy(r.names, free);
	dwarf_end(dwarf);
	close(fd);
	return source->nr_rows ? NULL : why ?: "";
}

void source_missing(const char *path, const char *why)
{
	die("%s: has no line numbers%s%s: compile it with -g, or give the file that was not stripped as --elf",
	    path, *why ? ", " : "", why);
}

#else
const char *source_read(struct source *source, const char *path, source_function_fn function,
			void *ctx)
{
	(void)source;
	(void)path;
	(void)function;
	(void)ctx;
	return "";
}

void source_missing(const char *path, const char *why)
{
	(void)why;
	die("%s: this ntrace was built without libdw, which reads line numbers", path);
}
#endif
