/* SPDX-License-Identifier: GPL-2.0-only */
/* Parse the output of `perf script' for a trace, line by line */
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
	PERF_ERET	= 1 << 3,	/* return from a trap */
	PERF_SYSCALL	= 1 << 4,	/* with PERF_TRAP or PERF_END: an ECALL */
	PERF_INTERRUPT	= 1 << 5,	/* with PERF_TRAP */
	PERF_BEGIN	= 1 << 6,	/* trace begins: `from' is empty */
	PERF_END	= 1 << 7,	/* trace ends: `to' is empty */
};

/* One end of a branch. The strings are parts of the line, and valid as long as it is. */
struct perf_place {
	uint64_t addr;
	const char *sym;	/* or NULL */
	const char *dso;	/* or NULL */
	uint64_t offset;	/* in the dso; 0 if that is not a file, as [kernel.kallsyms] */
};

/* A branch, or an error */
struct perf_event_line {
	const char *error;	/* the reason; NULL for a branch */
	char comm[17];		/* of branches only */
	int pid, tid, cpu;
	uint64_t time;		/* ns */
	unsigned int interval;	/* the wanted interval; not known with perf */
	unsigned int flags;	/* enum perf_flag */
	struct perf_place from, to;	/* errors: from.addr, or 0 if not known */
};

struct perf_script {
	FILE *in;
	pid_t child;		/* perf, or 0 */
	const char *file;
	char *line;
	size_t room;
	uint64_t nr;		/* number of the line */
};

/* Is the file a perf.data? Ends the command if it cannot be read. */
bool perf_is_data(const char *file);

/*
 * XLEN of the kernel that was recorded, 32 or 64. Returns 64 if perf does not know: then perf
 * cannot decode either, and reports why.
 */
unsigned int perf_data_xlen(const char *perf, const char *file);

/* How FILE is decoded. For argp_children; the parser's input is this struct. */
struct perf_choice {
	const char *perf;	/* the command; NULL: not given */
	bool text;		/* FILE is the output of perf */
};

extern const struct argp perf_argp;

/*
 * Let perf decode a perf.data; `perf' is the command. If it is NULL, read the output of perf from
 * the file ("-": stdin). Ends the command on errors.
 */
void perf_script_open(struct perf_script *s, const char *perf, const char *file,
		      const char *itrace, const char *fields);

/* Returns false at the end. Ends the command if a line is neither a branch nor an error. */
bool perf_script_next(struct perf_script *s, struct perf_event_line *ev);

/* Ends the command if perf failed. */
void perf_script_close(struct perf_script *s);

#define PERF_BUILD_ID	64	/* maximum number of hexadecimal digits */
#define PERF_STR(n)	PERF_STR_(n)
#define PERF_STR_(n)	#n

/* Build-ids in a perf.data, with the file names of perf script */
struct perf_build_ids {
	struct perf_build_id {
		char *path;
		char hex[PERF_BUILD_ID + 1];
	} *list;
	size_t n;
};

void perf_build_ids_add(struct perf_build_ids *ids, const char *path, const char *hex);
/* Empty if the perf.data contains none */
void perf_build_ids_read(struct perf_build_ids *ids, const char *perf, const char *file);
/* NULL: not known */
const char *perf_build_id(const struct perf_build_ids *ids, const char *path);
bool perf_same_build_id(const char *a, const char *b);
void perf_build_ids_free(struct perf_build_ids *ids);

#endif /* NTRACE_PERF_SCRIPT_H */
