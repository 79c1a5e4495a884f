/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What was executed in which call stack: all instructions, branches and time, not samples
 *
 *	stacks.c	a tree of calls, and what ran in each
 *	stacks-flat.c	the same from counts, without stacks
 *	stacks-file.c	offsets in files -> addresses, instructions and lines
 *	stacks-print.c	output: folded stacks, and the format of callgrind
 *	stacks-pprof.c	output: the format of pprof
 */
#ifndef NTRACE_STACKS_H
#define NTRACE_STACKS_H

#include "calls.h"
#include "source.h"

/* A function that its parent called from `site' */
struct stacks_node {
	struct stacks_node *parent;
	struct stacks_node *next;	/* in its bucket */
	const struct stacks_node *middle;	/* see stacks_called(), or NULL */
	const struct calls_function *function;
	uint64_t site;			/* of the call, in the parent's file */
	bool called;			/* the call was seen; otherwise, site is not known */
	uint64_t calls;
	uint64_t insns, time;		/* inclusive, without what an outer frame already has */
	uint32_t number;
	uint32_t depth;			/* number of frames, including this one */
};

/* The task that ran, and its CPU */
struct stacks_label {
	int pid, tid, cpu;
	char comm[17];
};

/* A run of instructions in a stack */
struct stacks_leaf {
	struct stacks_leaf *next;
	const struct stacks_node *node;
	uint64_t place;			/* in the file of the node's function */
	uint32_t insns;			/* of one run; 0: time only */
	uint32_t label;
	uint64_t runs, branches, time;
};

struct stacks {
	struct stacks_node **node;	/* all nodes, parents first */
	size_t nr_nodes;
	struct stacks_leaf **leaf;
	size_t nr_leaves;
	struct stacks_label *label;
	size_t nr_labels, last_label;
	uint32_t *label_number;		/* a hash table of numbers, starting at 1; 0 is free */
	size_t label_room;
	struct stacks_node **node_bucket;
	struct stacks_leaf **leaf_bucket;
	size_t node_room, leaf_room;
	bool flat;			/* the cost of calls is not known */
};

/* parent NULL: the caller is not known */
struct stacks_node *stacks_enter(struct stacks *s, struct stacks_node *parent,
				 const struct calls_function *function, uint64_t site, bool called);
struct stacks_leaf *stacks_run(struct stacks *s, const struct stacks_node *node, uint64_t place,
			       uint32_t insns, const struct stacks_label *label);
void stacks_free(struct stacks *s);

/* -------------------------------------------------------- stacks-flat.c --- */

struct profile;

/* Call after profile_make(), with addresses. c contains the functions. */
void stacks_flat(struct stacks *s, struct calls *c, const struct profile *p,
		 const struct symbols *symbols);

/* -------------------------------------------------------- stacks-file.c --- */

struct stacks_file {
	struct stacks_file *next;
	const char *name;		/* the name in struct calls_function ... */
	const struct rec_file *build;	/* ... and its build */
	char *path;			/* NULL: not found */
	int fd;
	bool raw;			/* places are addresses, not offsets */
	uint64_t bias;
	struct rec_segment *segment;
	size_t nr_segments;
	struct nt_perfdata_build_id id;
	struct source lines;
	uint32_t number;		/* starting at 1 */
};

struct stacks_files {
	struct calls_feed *feed;
	struct stacks_file *list;
	uint32_t nr;
};

/* The file that contains a function */
struct stacks_file *stacks_file_get(struct stacks_files *files, const struct calls_function *fn);
/* The file's own address of a place */
uint64_t stacks_file_address(const struct stacks_file *f, uint64_t place);
/* Does the file contain code at this place? */
bool stacks_file_has(const struct stacks_file *f, uint64_t place);
/* The length of the instruction there; 0: not known */
unsigned int stacks_file_insn(const struct stacks_file *f, uint64_t place);
/* The line of an address; 0: not known */
unsigned int stacks_file_line(const struct stacks_file *f, uint64_t addr, const char **source);
void stacks_files_free(struct stacks_files *files);

/* ----------------------------------------------------------- writing ---- */

/*
 * Of very deep stacks, only both ends are kept: the innermost and the outermost frames. Is frame n
 * kept in the stack of leaf?
 */
#define STACKS_DEPTH	1024

static inline bool stacks_is_kept(const struct stacks_node *leaf, const struct stacks_node *n)
{
	return leaf->depth - n->depth < STACKS_DEPTH / 2 || n->depth <= STACKS_DEPTH / 2;
}

/*
 * The next kept frame further out is the parent of the returned one: n itself, or the last frame of
 * the middle. So omitted frames cost no time.
 */
static inline const struct stacks_node *stacks_called(const struct stacks_node *leaf,
						      const struct stacks_node *n)
{
	return !n->parent || stacks_is_kept(leaf, n->parent) ? n : leaf->middle;
}

enum stacks_value { STACKS_INSNS, STACKS_BRANCHES, STACKS_TIME };

void stacks_print_folded(const struct stacks *s, enum stacks_value value);
/* time_unit: see struct calls */
void stacks_print_callgrind(const struct stacks *s, struct stacks_files *files,
			    const char *time_unit);
void stacks_print_pprof(const struct stacks *s, struct stacks_files *files, const char *time_unit,
			const char *host);

/*
 * Call put() for each instruction of all runs, with equal ones added up. Leaves come one at a time,
 * with their places in order.
 */
void stacks_each(const struct stacks *s, struct stacks_files *files,
		 void (*put)(void *ctx, const struct stacks_leaf *leaf, const struct stacks_file *f,
			     uint64_t addr, const uint64_t value[3]), void *ctx);

#endif /* NTRACE_STACKS_H */
