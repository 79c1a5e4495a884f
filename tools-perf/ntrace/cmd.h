/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The ntrace command: what its subcommands share
 */
#ifndef NTRACE_CMD_H
#define NTRACE_CMD_H

#include <argp.h>
#include <stdio.h>

#include "ntrace.h"

/* Exit statuses, a contract with scripts */
enum {
	EXIT_WHOLE,		/* decoded whole */
	EXIT_LOSSES,		/* decoded, with losses (reported) */
	EXIT_UNUSABLE,		/* unusable input or arguments */
};

/*
 * A subcommand: argv[0] is its name.  Returns an exit status; argument errors
 * exit by themselves.
 */
struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
};

int cmd_dump(int argc, char **argv);
int cmd_decode(int argc, char **argv);
int cmd_encode(int argc, char **argv);
int cmd_stat(int argc, char **argv);
int cmd_tv(int argc, char **argv);

/* Print "ntrace: ..." on stderr and exit with EXIT_UNUSABLE. */
void __attribute__((format(printf, 1, 2), noreturn)) die(const char *fmt, ...);

/* ------------------------------------------------- options of input ------ */

/* A trace, how to read it, and the program that made it */
struct input {
	struct nt_params params;
	struct nt_image *image;
	unsigned int images;	/* given on the command line */
	unsigned int threads;
	bool xlen_given;
	bool no_trace;		/* the command makes one, it reads none */
	const char *isa;
	const char *file;
	uint8_t *trace;
	size_t size;
};

/* For argp_children: parameters and images, and the one FILE argument; the
 * parser's input is the struct input. */
extern const struct argp input_argp;

void input_init(struct input *in);
/* After parsing: settle what the images tell, read the trace, check it all. */
void input_open(struct input *in);
void input_free(struct input *in);

/*
 * The program as a graph, and a decoder of the trace over it.  Ends the
 * command when the trace has several sources and none was chosen.
 */
struct nt_code *input_code(const struct input *in);
struct nt_flow *input_flow(struct input *in, struct nt_code *code);

/*
 * Split the trace at sync messages into at most max pieces of about the same
 * size, each for a decoder of its own; returns their number.  A piece ends
 * behind the sync message that the next one begins with.
 */
struct piece {
	size_t begin, end;
};

unsigned int input_split(struct input *in, struct piece *pieces, unsigned int max);

/* Read a number (decimal, 0x hex, 0 octal) or die, naming the option. */
uint64_t parse_number(const char *text, const char *what);
/* ... of at most max */
unsigned int parse_small(const char *text, const char *what, unsigned int max);

/* -------------------------------------------------- buffered output ------ */

/*
 * Lines of hexadecimal numbers and words, to stdout: what printf() would take
 * most of the time for.
 */
void out_hex(uint64_t value);
void out_dec(uint64_t value);
void out_str(const char *s);
void out_char(char c);
/* Write out; dies when stdout can't take it. */
void out_flush(void);

/*
 * Done so far of the whole, in any unit: draws a bar when stderr is a terminal,
 * stdout another place, and the work long. Cheap to call often.
 */
void progress(uint64_t done, uint64_t total);
void progress_end(void);

/* One line "# ..." for a LOSS or NOTICE event */
void out_trouble(const struct nt_event *ev);

#endif /* NTRACE_CMD_H */
