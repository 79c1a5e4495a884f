// SPDX-License-Identifier: GPL-2.0-only
/*
 * Output of ntrace coverage. A count of 0 is reported only if the trace is complete: after a loss,
 * it is not known what ran.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cover.h"

/* Totals of a file */
struct part {
	size_t first_line, nr_lines;
	size_t first_branch, nr_branches;
	/* lines, functions and ways of branches: number, executed, unknown */
	size_t lines[3], functions[3], ways[3];
};

enum { ALL, RAN, UNKNOWN };

static bool is_unknown(const struct cover *c, uint64_t count)
{
	return !count && c->lossy;
}

static void add(const struct cover *c, size_t sums[3], uint64_t count)
{
	sums[ALL]++;
	sums[RAN] += count > 0;
	sums[UNKNOWN] += is_unknown(c, count);
}

static bool is_of(const struct cover_function *f, size_t file)
{
	return f->known && f->file == file;
}

/* The part of the next file begins where the part before ended. */
static struct part next_part(const struct cover *c, const struct part *before, size_t file)
{
	struct part p = {
		.first_line = before->first_line + before->nr_lines,
		.first_branch = before->first_branch + before->nr_branches,
	};
	const struct cover_line *line = c->line + p.first_line;
	const struct cover_branch *branch = c->branch + p.first_branch;
	size_t i;

	for (; line < c->line + c->nr_lines && line->file == file; line++, p.nr_lines++)
		add(c, p.lines, line->count);
	for (; branch < c->branch + c->nr_branches && branch->file == file;
	     branch++, p.nr_branches++) {
		add(c, p.ways, branch->passed);
		add(c, p.ways, branch->taken);
	}
	for (i = 0; i < c->source->nr_functions; i++)
		if (is_of(&c->source->function[i], file))
			add(c, p.functions, c->source->function[i].count);
	return p;
}

/* ----------------------------------------------------------------- lcov -- */

static void lcov_functions(const struct cover *c, size_t file, const struct part *p)
{
	const struct cover_source *s = c->source;
	const struct cover_function *f;

	for (f = s->function; f < s->function + s->nr_functions; f++)
		if (is_of(f, file) && !is_unknown(c, f->count))
			printf("FN:%" PRIu32 ",%s\n", f->line, f->name);
	for (f = s->function; f < s->function + s->nr_functions; f++)
		if (is_of(f, file) && !is_unknown(c, f->count))
			printf("FNDA:%" PRIu64 ",%s\n", f->count, f->name);
	printf("FNF:%zu\nFNH:%zu\n", p->functions[ALL] - p->functions[UNKNOWN], p->functions[RAN]);
}

static void lcov_way(const struct cover_branch *b, unsigned int number, unsigned int way,
		     uint64_t count)
{
	printf("BRDA:%" PRIu32 ",%u,%u,", b->line, number, way);
	if (b->passed || b->taken)
		printf("%" PRIu64 "\n", count);
	else
		puts("-");
}

static void lcov_branches(const struct cover *c, const struct part *p)
{
	const struct cover_branch *b = c->branch + p->first_branch;
	size_t i, found = 0, hit = 0;
	unsigned int number = 0;

	for (i = 0; i < p->nr_branches; i++, b++) {
		number = i && b->line == b[-1].line ? number + 1 : 0;
		/* lcov cannot express that it is not known whether a way was taken */
		if (is_unknown(c, b->passed) || is_unknown(c, b->taken))
			continue;
		lcov_way(b, number, 0, b->passed);
		lcov_way(b, number, 1, b->taken);
		found += 2;
		hit += (b->passed > 0) + (b->taken > 0);
	}
	printf("BRF:%zu\nBRH:%zu\n", found, hit);
}

static void lcov_file(const struct cover *c, size_t file, const struct part *p)
{
	const struct cover_line *line = c->line + p->first_line;
	size_t i;

	printf("TN:\nSF:%s\n", c->source->lines.file[file]);
	lcov_functions(c, file, p);
	lcov_branches(c, p);
	for (i = 0; i < p->nr_lines; i++, line++)
		if (!is_unknown(c, line->count))
			printf("DA:%" PRIu32 ",%" PRIu64 "\n", line->line, line->count);
	printf("LF:%zu\nLH:%zu\nend_of_record\n", p->lines[ALL] - p->lines[UNKNOWN], p->lines[RAN]);
}

void cover_print_lcov(const struct cover *c)
{
	struct part p = { 0 };
	size_t i;

	for (i = 0; i < c->source->lines.nr_files; i++) {
		p = next_part(c, &p, i);
		if (p.nr_lines)
			lcov_file(c, i, &p);
	}
}

/* --------------------------------------------------------------- people -- */

static void share(const size_t sums[3])
{
	char text[48] = "-";

	if (sums[ALL])
		snprintf(text, sizeof(text), "%zu of %zu", sums[RAN], sums[ALL]);
	printf("%17s ", text);
	if (sums[ALL])
		printf("%5.1f%% ", 100.0 * (double)sums[RAN] / (double)sums[ALL]);
	else
		printf("%6s ", "");
}

void cover_print_table(const struct cover *c)
{
	struct part p = { 0 };
	size_t i;

	printf("%17s %6s %17s %6s %17s %6s %s\n", "lines", "", "functions", "", "branches", "",
	       "file");
	for (i = 0; i < c->source->lines.nr_files; i++) {
		p = next_part(c, &p, i);
		if (!p.nr_lines)
			continue;
		share(p.lines);
		share(p.functions);
		share(p.ways);
		puts(c->source->lines.file[i]);
	}
	if (c->lossy)
		puts("# trace was lost: what did not run is not known, and counts are at least what is told");
}

static void source_line(const struct cover *c, const struct cover_line *line, size_t number,
			const char *text)
{
	if (!line)
		printf("%12s", "-");
	else if (is_unknown(c, line->count))
		printf("%12s", "?");
	else if (line->count)
		printf("%12" PRIu64, line->count);
	else
		printf("%12s", "never");
	printf(" %5zu  %s\n", number, text);
}

static void print_text(const struct cover *c, size_t file, const struct part *p)
{
	const struct cover_line *line = c->line + p->first_line, *end = line + p->nr_lines;
	char *text = NULL;
	size_t room = 0, number;
	FILE *f = fopen(c->source->lines.file[file], "r");

	printf("%s\n", c->source->lines.file[file]);
	if (!f) {
		printf("# %s; lines without their text:\n", strerror(errno));
		for (; line < end; line++)
			source_line(c, line, line->line, "");
		return;
	}
	for (number = 1; getline(&text, &room, f) >= 0; number++) {
		bool here = line < end && line->line == number;

		text[strcspn(text, "\n")] = '\0';
		source_line(c, here ? line : NULL, number, text);
		line += here;
	}
	free(text);
	fclose(f);
}

static bool is_named(const char *path, const char *name)
{
	size_t len = strlen(path), end = strlen(name);

	return len >= end && !strcmp(path + len - end, name) &&
	       (len == end || path[len - end - 1] == '/' || *name == '/');
}

size_t cover_print_source(const struct cover *c, const char *name)
{
	struct part p = { 0 };
	size_t i, n = 0;

	for (i = 0; i < c->source->lines.nr_files; i++) {
		p = next_part(c, &p, i);
		if (!p.nr_lines || !is_named(c->source->lines.file[i], name))
			continue;
		print_text(c, i, &p);
		n++;
	}
	return n;
}
