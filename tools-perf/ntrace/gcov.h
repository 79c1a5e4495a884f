/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ntrace profile --format=gcc: a profile of source places, as gcc -fauto-profile reads it
 *
 *	source.c	lines, of an ELF file's debug information
 *	gcov-dwarf.c	functions, and what was inlined into them, of the same
 *	gcov-count.c	counts of instructions and transfers -> counts of places
 *	gcov-write.c	the file
 */
#ifndef NTRACE_GCOV_H
#define NTRACE_GCOV_H

#include "profile.h"
#include "source.h"

/* The function that an indirect call led to */
struct gcov_target {
	const char *name;
	uint64_t count;
};

/* A place in a function: lines behind the one that it is declared on, and the discriminator */
struct gcov_place {
	uint32_t where;
	uint64_t count;
	uint64_t body;		/* the count in the body that is being counted */
	struct gcov_target *target;
	size_t nr_targets;
};

/* A function, or what became of it where it was inlined */
struct gcov_function {
	char *name;		/* as the linker knows it, without suffixes of copies */
	const char *file;	/* where it is declared, or NULL */
	uint32_t line;
	uint32_t where;		/* of the call, in the function that it was inlined into */
	uint64_t head;		/* how often it was called */
	uint64_t total;		/* of all its places, those of what was inlined too */
	struct gcov_place *place;	/* sorted by where */
	size_t nr_places;
	struct gcov_function **inlined;
	size_t nr_inlined;
};

/* Code from low up to high is of this function. */
struct gcov_scope {
	uint64_t low, high;
	struct gcov_function *function;
};

/* A copy of a function, with all that was inlined */
struct gcov_body {
	uint64_t entry;
	struct gcov_function *function;
	struct gcov_scope *scope;	/* what is inlined is behind what it is inlined into */
	size_t nr_scopes, nr_own;	/* the first ones are the copy's own */
};

struct gcov {
	struct gcov_function **function;
	size_t nr_functions;
	void *names;		/* tsearch()'s tree of them */
	struct gcov_body *body;	/* by entry */
	size_t nr_bodies;
	struct source lines;
};

/* Ends the command if the file has no debug information, or cannot be read. */
void gcov_dwarf_read(struct gcov *g, const char *path);
/* bias is where the program ran, less where its file says. */
void gcov_count(struct gcov *g, const struct profile *p, struct nt_code *code, uint64_t bias);
/* To standard output */
void gcov_write(const struct gcov *g);
void gcov_free(struct gcov *g);

/* The place of a function, which is made if there is none */
struct gcov_place *gcov_place(struct gcov_function *f, uint32_t where);

#endif /* NTRACE_GCOV_H */
