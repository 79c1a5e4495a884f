/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ntrace profile --format=gcc: a profile of source places for gcc -fauto-profile
 *
 *	source.c	lines, from the debug information of an ELF file
 *	gcov-dwarf.c	functions and what was inlined into them, from the same
 *	gcov-count.c	counts of instructions and transfers -> counts of places
 *	gcov-write.c	write the file
 */
#ifndef NTRACE_GCOV_H
#define NTRACE_GCOV_H

#include "profile.h"
#include "source.h"

/* A function that an indirect call led to */
struct gcov_target {
	const char *name;
	uint64_t count;
};

/* A place in a function: the line, relative to the declaration, and the discriminator */
struct gcov_place {
	uint32_t where;
	uint64_t count;
	uint64_t body;		/* count in the current body */
	struct gcov_target *target;
	size_t nr_targets;
};

/* A function, or an inlined instance of one */
struct gcov_function {
	char *name;		/* linker name, without suffixes of copies */
	const char *file;	/* of the declaration, or NULL */
	uint32_t line;
	uint32_t where;		/* place of the call in the function that it was inlined into */
	uint64_t head;		/* number of calls */
	uint64_t total;		/* sum of all its places, including inlined ones */
	struct gcov_place *place;	/* sorted by where */
	size_t nr_places;
	struct gcov_function **inlined;
	size_t nr_inlined;
};

/* Code in [low, high) belongs to this function. */
struct gcov_scope {
	uint64_t low, high;
	struct gcov_function *function;
};

/* A copy of a function, including what was inlined into it */
struct gcov_body {
	uint64_t entry;
	struct gcov_function *function;
	struct gcov_scope *scope;	/* inlined functions follow those that contain them */
	size_t nr_scopes, nr_own;	/* the first nr_own are the copy's own */
};

struct gcov {
	struct gcov_function **function;
	size_t nr_functions;
	void *names;		/* tsearch() tree of functions */
	struct gcov_body *body;	/* sorted by entry */
	size_t nr_bodies;
	struct source lines;
};

/* Read the debug information. Ends the command if the file has none, or cannot be read. */
void gcov_dwarf_read(struct gcov *g, const char *path);
/* bias: the address where the program ran minus the address in its file */
void gcov_count(struct gcov *g, const struct profile *p, struct nt_code *code, uint64_t bias);
/* Write the profile to standard output. */
void gcov_write(const struct gcov *g);
void gcov_free(struct gcov *g);

/* Get a place of a function. It is added if it does not exist. */
struct gcov_place *gcov_place(struct gcov_function *f, uint32_t where);

#endif /* NTRACE_GCOV_H */
