/* SPDX-License-Identifier: GPL-2.0-only */
/* What `perf script` prints of a trace, line by line */
#ifndef NTRACE_PERF_SCRIPT_H
#define NTRACE_PERF_SCRIPT_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

enum perf_flag {
	PERF_CALL	= 1 << 0,
	PERF_RETURN	= 1 << 1,
	PERF_TRAP	= 1 << 2,	/* exception, interrupt or system call */
	PERF_ERET	= 1 << 3,	/* the return from one */
	PERF_SYSCALL	= 1 << 4,	/* with PERF_TRAP or PERF_END: an ECALL */
	PERF_INTERRUPT	= 1 << 5,	/* with PERF_TRAP */
	PERF_BEGIN	= 1 << 6,	/* trace begins: `from' is nothing */
	PERF_END	= 1 << 7,	/* trace ends: `to' is nothing */
};

/* One end of a branch. The strings are those of the line, and go with it. */
struct perf_place {
	uint64_t addr;
	const char *sym;	/* or NULL */
	const char *dso;	/* or NULL */
	uint64_t offset;	/* in the dso; 0 of one that is no file, as [kernel.kallsyms] */
};

/* A branch, or what could not be decoded */
struct perf_event_line {
	const char *error;	/* the reason; NULL for a branch */
	char comm[17];		/* of branches */
	int pid, tid, cpu;
	uint64_t time;		/* ns */
	unsigned int interval;	/* of those that were chosen; perf does not say */
	unsigned int flags;	/* enum perf_flag */
	struct perf_place from, to;	/* of errors from.addr, 0 if not known */
};

struct perf_script {
	FILE *in;
	pid_t child;		/* perf, or 0 */
	const char *file;
	char *line;
	size_t room;
	uint64_t nr;		/* of the line */
};

/* Is it perf.data? Ends the command if it cannot be read. */
bool perf_is_data(const char *file);

/*
 * XLEN of the kernel that it was recorded under, 32 or 64; 64 too when perf does not say: then it
 * can't decode either, and says why.
 */
unsigned int perf_data_xlen(const char *perf, const char *file);

/* What decodes FILE; for argp_children, the parser's input is this */
struct perf_choice {
	const char *perf;	/* the command; NULL: none was given */
	bool text;		/* FILE is what perf printed */
};

extern const struct argp perf_argp;

/*
 * Have perf decode a perf.data, `perf' being the command to call it with; or, when
 * that is NULL, read what perf printed ("-": stdin). Both end the command if they can't.
 */
void perf_script_open(struct perf_script *s, const char *perf, const char *file,
		      const char *itrace, const char *fields);

/* False at the end. A line that is neither branch nor error ends the command. */
bool perf_script_next(struct perf_script *s, struct perf_event_line *ev);

/* Ends the command when perf failed */
void perf_script_close(struct perf_script *s);

#define PERF_BUILD_ID	64	/* hexadecimal digits at most */
#define PERF_STR(n)	PERF_STR_(n)
#define PERF_STR_(n)	#n

/* The build-ids that a perf.data has, of the files as perf script names them */
struct perf_build_ids {
	struct perf_build_id {
		char *path;
		char hex[PERF_BUILD_ID + 1];
	} *list;
	size_t n;
};

void perf_build_ids_add(struct perf_build_ids *ids, const char *path, const char *hex);
/* None of a perf.data that has none */
void perf_build_ids_read(struct perf_build_ids *ids, const char *perf, const char *file);
/* NULL: not known */
const char *perf_build_id(const struct perf_build_ids *ids, const char *path);
bool perf_same_build_id(const char *a, const char *b);
void perf_build_ids_free(struct perf_build_ids *ids);

#endif /* NTRACE_PERF_SCRIPT_H */
