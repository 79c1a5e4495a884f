/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ntrace coverage: how often each line, function and branch of a program's source was executed
 *
 *	source.c	lines, from the debug information of an ELF file
 *	cover-dwarf.c	functions, from the same
 *	cover.c		counts of instructions -> counts of lines, functions and branches
 *	cover-print.c	output for lcov or for people
 */
#ifndef NTRACE_COVER_H
#define NTRACE_COVER_H

#include "profile.h"
#include "source.h"

struct cover_piece {
	uint64_t low, high;	/* [low, high) */
};

struct cover_function {
	char *name;
	uint32_t file, line;	/* of the declaration; file SOURCE_NONE: not known */
	uint64_t entry;
	struct cover_piece *piece;	/* sorted by address */
	size_t nr_pieces;
	uint64_t count;		/* number of times that it was entered */
	bool returns;		/* it returns a value */
	bool known;		/* its code could be read */
};

struct cover_source {
	struct source lines;
	struct cover_function *function;	/* sorted by the address of their entries */
	size_t nr_functions;
};

/* Read the debug information. Ends the command if the file has none, or cannot be read. */
void cover_dwarf_read(struct cover_source *source, const char *path);
void cover_dwarf_free(struct cover_source *source);

struct cover_line {
	uint32_t file, line;
	uint64_t count;
	bool owned;		/* blocks end on the line; otherwise, they only pass it */
};

/* A conditional branch */
struct cover_branch {
	uint32_t file, line;
	uint64_t addr;
	uint64_t passed, taken;	/* number of times that it was not taken, and taken */
};

struct cover {
	const struct cover_source *source;
	struct cover_line *line;	/* sorted by file and line */
	size_t nr_lines;
	struct cover_branch *branch;	/* sorted by file, line and address */
	size_t nr_branches;
	bool lossy;			/* losses: a count of 0 is not certain */
};

/*
 * Make the counts. bias: the address where the program ran minus the address in its file. The
 * counts are those of gcov for the same control flow: a line is counted when control enters it from
 * another line, and for each round of a loop within it.
 */
void cover_make(struct cover *cover, struct cover_source *source, const struct profile *p,
		struct nt_code *code, uint64_t bias);
void cover_free(struct cover *cover);

void cover_print_lcov(const struct cover *cover);
/* The totals of each file */
void cover_print_table(const struct cover *cover);
/*
 * Print the lines with their counts, for each file whose path ends with `name', compared by whole
 * components. Returns the number of such files.
 */
size_t cover_print_source(const struct cover *cover, const char *name);

#endif /* NTRACE_COVER_H */
