/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ntrace coverage: how often each line, function and branch of a program's source was executed
 *
 *	source.c	lines, of an ELF file's debug information
 *	cover-dwarf.c	functions, of the same
 *	cover.c		counts of instructions -> counts of lines, functions and branches
 *	cover-print.c	for lcov, or for people
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
	uint32_t file, line;	/* where it is declared; file SOURCE_NONE: not known */
	uint64_t entry;
	struct cover_piece *piece;	/* by address */
	size_t nr_pieces;
	uint64_t count;		/* how often it was entered */
	bool returns;		/* a value */
	bool known;		/* its code could be read */
};

struct cover_source {
	struct source lines;
	struct cover_function *function;	/* by address of their entries */
	size_t nr_functions;
};

/* Ends the command if the file has no debug information, or cannot be read. */
void cover_dwarf_read(struct cover_source *source, const char *path);
void cover_dwarf_free(struct cover_source *source);

struct cover_line {
	uint32_t file, line;
	uint64_t count;
	bool owned;		/* blocks end on it; else they only pass it */
};

/* A conditional branch */
struct cover_branch {
	uint32_t file, line;
	uint64_t addr;
	uint64_t passed, taken;	/* how often it went on behind itself, and away */
};

struct cover {
	const struct cover_source *source;
	struct cover_line *line;	/* by file and line */
	size_t nr_lines;
	struct cover_branch *branch;	/* by file, line and address */
	size_t nr_branches;
	bool lossy;			/* what is 0 is not known to be 0 */
};

/*
 * bias is where the program ran, less where its file says. Counts are those that gcov would make of
 * the same control flow: a line counts when it is entered from another one, and for each round of a
 * loop that does not leave it.
 */
void cover_make(struct cover *cover, struct cover_source *source, const struct profile *p,
		struct nt_code *code, uint64_t bias);
void cover_free(struct cover *cover);

void cover_print_lcov(const struct cover *cover);
/* What each file has in all */
void cover_print_table(const struct cover *cover);
/*
 * Counts beside the lines of each file whose name ends with `name', as whole parts of a path: how many
 * files there were
 */
size_t cover_print_source(const struct cover *cover, const char *name);

#endif /* NTRACE_COVER_H */
