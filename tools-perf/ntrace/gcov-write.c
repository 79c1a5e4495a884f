// SPDX-License-Identifier: GPL-2.0-only
/*
 * Write the file that gcc -fauto-profile reads, in version 2 of its format (GCC 14): 32-bit words,
 * little-endian. A count has two words, the lower half first. GCC refuses other versions.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gcov.h"

#define GCOV_MAGIC	0x67636461	/* "gcda" */
#define GCOV_VERSION	2
#define GCOV_NAMES	0xaa000000
#define GCOV_FUNCTIONS	0xac000000
#define GCOV_MODULES	0xae000000
/* kind of histogram for targets of indirect calls; GCC ignores it */
#define GCOV_INDIRECT_CALL	7
/* GCC takes index 0 for `no name', so put a dummy there */
#define GCOV_NO_NAME	"-"

struct gcov_writer {
	FILE *to;
	const char **name;	/* sorted */
	size_t nr_names;
	const struct gcov_function **function;
	size_t nr_functions;
};

/* ------------------------------------------------------------- numbers --- */

static void gcov_put(FILE *to, uint32_t value)
{
	int i;

	for (i = 0; i < 4; i++)
		putc((int)(value >> 8 * i & 0xff), to);
}

static void gcov_put_count(FILE *to, uint64_t count)
{
	gcov_put(to, (uint32_t)count);
	gcov_put(to, (uint32_t)(count >> 32));
}

static size_t gcov_name_size(const char *name)
{
	return strlen(name) + 1;
}

static void gcov_put_name(FILE *to, const char *name)
{
	gcov_put(to, (uint32_t)gcov_name_size(name));
	fwrite(name, 1, gcov_name_size(name), to);
}

/* --------------------------------------------------------------- names --- */

static int gcov_compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void gcov_add_name(struct gcov_writer *w, const char *name)
{
	w->name = array_room(w->name, w->nr_names, sizeof(*w->name));
	w->name[w->nr_names++] = name;
}

static void gcov_add_names(struct gcov_writer *w, const struct gcov_function *f)
{
	size_t i, t;

	gcov_add_name(w, f->name);
	for (i = 0; i < f->nr_places; i++)
		for (t = 0; t < f->place[i].nr_targets; t++)
			gcov_add_name(w, f->place[i].target[t].name);
	for (i = 0; i < f->nr_inlined; i++)
		gcov_add_names(w, f->inlined[i]);
}

static void gcov_sort_names(struct gcov_writer *w)
{
	size_t i, n = 0;

	if (w->nr_names)
		qsort(w->name, w->nr_names, sizeof(*w->name), gcov_compare_names);
	for (i = 0; i < w->nr_names; i++)
		if (!n || strcmp(w->name[n - 1], w->name[i]))
			w->name[n++] = w->name[i];
	w->nr_names = n;
}

static uint32_t gcov_number_of(const struct gcov_writer *w, const char *name)
{
	const char **at = bsearch(&name, w->name, w->nr_names, sizeof(*w->name),
				  gcov_compare_names);

	return (uint32_t)(at - w->name) + 1;
}

/* ----------------------------------------------------------- functions --- */

static int gcov_compare(const void *a, const void *b)
{
	const struct gcov_function *x = *(const struct gcov_function *const *)a;
	const struct gcov_function *y = *(const struct gcov_function *const *)b;
	int order = strcmp(x->name, y->name);

	if (order)
		return order;
	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

/*
 * Choose the functions that were executed. GCC identifies functions by name only, so of several
 * with the same name, the most executed one is written.
 */
static void gcov_choose(struct gcov_writer *w, const struct gcov *g)
{
	size_t i, n = 0, left_out = 0;

	for (i = 0; i < g->nr_functions; i++) {
		if (!g->function[i]->total)
			continue;
		w->function = array_room(w->function, w->nr_functions, sizeof(*w->function));
		w->function[w->nr_functions++] = g->function[i];
	}
	if (w->nr_functions)
		qsort(w->function, w->nr_functions, sizeof(*w->function), gcov_compare);
	for (i = 0; i < w->nr_functions; i++) {
		if (n && !strcmp(w->function[n - 1]->name, w->function[i]->name))
			left_out++;
		else
			w->function[n++] = w->function[i];
	}
	w->nr_functions = n;
	if (left_out)
		fprintf(stderr, "ntrace: %zu functions left out that have the name of a busier one: GCC knows functions by name\n",
			left_out);
}

static void gcov_put_place(struct gcov_writer *w, const struct gcov_place *place)
{
	size_t i;

	gcov_put(w->to, place->where);
	gcov_put(w->to, (uint32_t)place->nr_targets);
	gcov_put_count(w->to, place->count);
	for (i = 0; i < place->nr_targets; i++) {
		gcov_put(w->to, GCOV_INDIRECT_CALL);
		gcov_put_count(w->to, gcov_number_of(w, place->target[i].name));
		gcov_put_count(w->to, place->target[i].count);
	}
}

static void gcov_put_function(struct gcov_writer *w, const struct gcov_function *f)
{
	size_t i;

	gcov_put(w->to, gcov_number_of(w, f->name));
	gcov_put(w->to, (uint32_t)f->nr_places);
	gcov_put(w->to, (uint32_t)f->nr_inlined);
	for (i = 0; i < f->nr_places; i++)
		gcov_put_place(w, &f->place[i]);
	for (i = 0; i < f->nr_inlined; i++) {
		gcov_put(w->to, f->inlined[i]->where);
		gcov_put_function(w, f->inlined[i]);
	}
}

/* ------------------------------------------------------------ sections --- */

/* The length precedes the section. */
static void gcov_put_section(uint32_t tag, const char *bytes, size_t size)
{
	gcov_put(stdout, tag);
	gcov_put(stdout, (uint32_t)size);
	fwrite(bytes, 1, size, stdout);
}

static void gcov_put_names(struct gcov_writer *w)
{
	size_t i;

	gcov_put(w->to, (uint32_t)w->nr_names + 1);
	gcov_put_name(w->to, GCOV_NO_NAME);
	for (i = 0; i < w->nr_names; i++)
		gcov_put_name(w->to, w->name[i]);
}

static void gcov_put_functions(struct gcov_writer *w)
{
	size_t i;

	gcov_put(w->to, (uint32_t)w->nr_functions);
	for (i = 0; i < w->nr_functions; i++) {
		gcov_put_count(w->to, w->function[i]->head);
		gcov_put_function(w, w->function[i]);
	}
}

/* No modules: GCC has dropped the optimisation that used them, but requires the section. */
static void gcov_put_modules(struct gcov_writer *w)
{
	gcov_put(w->to, 0);
}

static void gcov_section(struct gcov_writer *w, uint32_t tag, void (*put)(struct gcov_writer *w))
{
	char *bytes = NULL;
	size_t size = 0;

	w->to = open_memstream(&bytes, &size);
	if (!w->to)
		die("%s", nt_strerror(NT_ENOMEM));
	put(w);
	if (ferror(w->to) || fclose(w->to))
		die("%s", nt_strerror(NT_ENOMEM));
	gcov_put_section(tag, bytes, size);
	free(bytes);
}

void gcov_write(const struct gcov *g)
{
	struct gcov_writer w = { .to = NULL };
	size_t i;

	gcov_choose(&w, g);
	for (i = 0; i < w.nr_functions; i++)
		gcov_add_names(&w, w.function[i]);
	gcov_sort_names(&w);
	gcov_put(stdout, GCOV_MAGIC);
	gcov_put(stdout, GCOV_VERSION);
	gcov_put(stdout, 0);
	gcov_section(&w, GCOV_NAMES, gcov_put_names);
	gcov_section(&w, GCOV_FUNCTIONS, gcov_put_functions);
	gcov_section(&w, GCOV_MODULES, gcov_put_modules);
	free(w.function);
	free(w.name);
}
