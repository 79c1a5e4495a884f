/* SPDX-License-Identifier: GPL-2.0-only */
/* Decoded control flow as text: `perf script` or `ntrace decode`, line by line. */
#ifndef LINES_H
#define LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum line_kind {
	LINE_INSN,		/* from: its pc */
	LINE_BRANCH,		/* from, to, type */
	LINE_START,		/* perf's `tr strt`: to */
	LINE_STOP,		/* perf's `tr end`: from */
	LINE_SAMPLE,		/* what follows is of a sample: */
	LINE_FRAME,		/* from: the sample's address, then its callers */
	LINE_LAST,		/* text: its last branches */
	LINE_DOUBT,		/* both copies of a patched kernel fit, up to the next line */
	LINE_LOSS,		/* the messages tell a loss at this place, or are wrong here */
	LINE_LOST,		/* trace was lost at the end of this window */
	LINE_FULL,		/* the AUX buffer was full: the driver stopped behind this window */
	LINE_SINK,		/* the sink was full: trace may be lost at the end of this window */
};

enum line_format {
	FORMAT_PERF,		/* perf script -F cpu,tid,event,ip[,addr,flags[,brstack]] */
	FORMAT_NTRACE,		/* ntrace decode --output=pc|branch */
};

struct line {
	const char *text;	/* not terminated */
	size_t len;
	uint64_t from, to;
	uint64_t number;	/* of the line, from 1 */
	int32_t tid;		/* -1 unknown */
	int32_t cpu;		/* -1 unknown */
	uint32_t types;		/* set of enum xfer that the words allow, 0: no words, or others */
	int8_t syscall;		/* of an exception: 1 the words say so, 0 another, -1 nothing */
	uint8_t kind;
};

struct lines;

/* fd: read to its end; exits with 2 when a line cannot be understood */
struct lines *lines_open(int fd, enum line_format format);

/* The next line that means something; false at the end. Valid until the next call. */
bool lines_next(struct lines *l, struct line *line);

void lines_close(struct lines *l);

#endif
