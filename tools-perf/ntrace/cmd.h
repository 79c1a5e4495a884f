/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The ntrace command: declarations shared by the subcommands
 */
#ifndef NTRACE_CMD_H
#define NTRACE_CMD_H

#include <argp.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include "ntrace.h"

/* The last component of a path */
static inline const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Exit statuses, a contract with scripts */
enum {
	EXIT_WHOLE,		/* decoded whole */
	EXIT_LOSSES,		/* decoded, with losses (reported) */
	EXIT_UNUSABLE,		/* unusable input or arguments */
};

/*
 * A subcommand. argv[0] is its name. run() returns an exit status; argument errors exit directly.
 */
struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
};

int cmd_record(int argc, char **argv);
int cmd_dump(int argc, char **argv);
int cmd_decode(int argc, char **argv);
int cmd_encode(int argc, char **argv);
int cmd_stat(int argc, char **argv);
int cmd_script(int argc, char **argv);
int cmd_profile(int argc, char **argv);
int cmd_merge(int argc, char **argv);
int cmd_fleet(int argc, char **argv);
int cmd_collect(int argc, char **argv);
int cmd_calls(int argc, char **argv);
int cmd_coverage(int argc, char **argv);
int cmd_timeline(int argc, char **argv);
int cmd_gdbserver(int argc, char **argv);
int cmd_tv(int argc, char **argv);

/* Print "ntrace: ..." on stderr and exit with EXIT_UNUSABLE. */
void __attribute__((format(printf, 1, 2), noreturn)) die(const char *fmt, ...);
/*
 * Like die(), but for failures of this machine and not of the input: a full disk, fork() failed.
 * Exits with die_machine_status, which is EXIT_UNUSABLE unless the caller of the command
 * distinguishes the two.
 */
void __attribute__((format(printf, 1, 2), noreturn)) die_machine(const char *fmt, ...);
extern int die_machine_status;
/* If it is set, both jump there instead, without a word. */
extern _Thread_local jmp_buf *die_instead;
/* Print "ntrace: ..." on stderr and continue. */
void __attribute__((format(printf, 1, 2))) warn(const char *fmt, ...);

/*
 * Make room for one more element after the n elements of the array. The array grows at each power
 * of two. Ends the command if out of memory.
 */
void *array_room(void *array, size_t n, size_t size);
/*
 * Search an array that is sorted by address. Each of the n elements has size bytes and begins with
 * its address. Return the number of elements before addr, and before or at addr, respectively.
 */
size_t array_before(const void *array, size_t n, size_t size, uint64_t addr);
size_t array_behind(const void *array, size_t n, size_t size, uint64_t addr);

/*
 * argp_parse(), but the error for an unknown option names the option that was
 * probably meant. Argument errors end the command.
 */
void parse_arguments(const struct argp *argp, int argc, char **argv, void *input);

/*
 * Suggest a correction for a mistyped word: the nearest of words, which ends with NULL; NULL if
 * none is near
 */
const char *nearest_word(const char *word, const char *const *words);
/*
 * Parse a size: a number of units of so many bytes, or a number with a letter: B, K, M or G. *p
 * moves past it. If there is no number, or if the size needs more than 64 bits, *p stays and 0 is
 * returned.
 */
uint64_t arguments_size(const char **p, uint64_t bytes);

/* ------------------------------------------------- options of input ------ */

/* A file of the program, which may also have symbols */
struct elf {
	struct elf *next;
	char *path;
	uint64_t bias;
};

/* A trace, how to read it, and the program that made it */
struct input {
	struct nt_params params;
	struct nt_image *image;
	unsigned int images;	/* given on the command line */
	struct elf *elfs;	/* ELF files of the program, in the order given */
	struct elf *raws;	/* memory dumps; bias: their address */
	unsigned int threads;
	bool xlen_given, srcbits_given;
	bool no_trace;		/* the command makes a trace, it reads none */
	unsigned int source;	/* the SRC to decode, after input_check_sources() */
	const char *isa;
	struct nt_branch *branches;	/* owned; params points to it */
	const char *file;
	bool several;		/* set by a command that accepts several files, */
	const char **more;	/* the others are here */
	size_t nr_more;
	uint8_t *trace;
	size_t size;
	size_t begin;		/* where decoding begins: the trace may begin inside a message */
	bool wrapped;		/* it does, and what looks like the first message may be none */
	bool mapped;		/* the trace is mapped, not read */
	bool live;		/* the command decodes while data arrive: input_more() */
	int fd;			/* the source of more data, while !ended */
	bool ended;		/* the trace is complete: no more data to read */
	size_t reserved;	/* size of the address range reserved for a trace from a pipe */
	size_t dropped;		/* so many bytes at its start are no longer needed */
};

/*
 * For argp_children: parameters, images and the FILE argument. The parser's input is the struct
 * input.
 */
extern const struct argp input_argp;

void input_init(struct input *in);
/* After parsing: were options given that say how the trace was made? */
bool input_has_parameters(const struct input *in);
/*
 * Text to add to an error about information that a perf.data would contain: for a pipe, why it does
 * not help
 */
const char *input_pipe_hint(const struct input *in);
/* After parsing: take parameters from the images, read the trace, check everything. */
void input_open(struct input *in);
/* Like --elf=path */
void input_add_elf(struct input *in, const char *path);
/*
 * Wait for more data of a trace from a pipe. in->size grows, or in->ended is set and false
 * returned. Flushes the output before it waits.
 */
bool input_more(struct input *in);
/*
 * Wait for up to so many bytes of a pipe, to find the end of a run of bytes that are not a message.
 */
#define BAD_MAX		((size_t)64 << 10)
/* All bytes before `done` have been decoded and are not needed again. Cheap to call often. */
void input_progress(struct input *in, size_t done);
/*
 * The bytes from `from` to `to` are not needed for now. Those of a mapped file are dropped from
 * memory until they are read again.
 */
void input_forget(const struct input *in, size_t from, size_t to);
void input_free(struct input *in);

/*
 * The program as a graph, and a decoder for a part of the trace. input_check_sources() ends the
 * command if the trace has several sources and none was chosen.
 */
struct nt_code *input_code(const struct input *in);
bool input_clock_wraps(const struct input *in);
struct nt_flow *input_flow(const struct input *in, struct nt_code *code, size_t begin, size_t end);
void input_check_sources(struct input *in);
/*
 * Opening a file for writing empties it. End the command if output is the same file as path, by any
 * name, or a file in the folder path. output may be NULL.
 */
void input_refuse(const char *output, const char *path, const char *what);
void input_refuse_output(const struct input *in, const char *output);

/*
 * After losses: report on stderr if other parameters would fit the trace, or if the program does
 * not. Damage is not reported here.
 */
void diagnose(const struct input *in);

/* Print a note if decoding does not begin at the first byte of the trace. */
void input_say_begin(const struct input *in);

/*
 * Find the first sync message of the chosen source at or after `from`, and its end. Returns the
 * size of the trace if there is none.
 */
size_t input_find_sync(const struct input *in, size_t from, size_t *end);

/* Read a number (decimal, 0x hex, 0 octal) or die, naming the option. */
uint64_t parse_number(const char *text, const char *what);
/* ... which is at most max */
unsigned int parse_small(const char *text, const char *what, unsigned int max);

/* ------------------------------------------------------ threads.c -------- */

/*
 * Call work() for each of n elements of @state, which have @size bytes: for the first in the
 * calling thread, for the others in threads of their own. Returns when all have returned. Ends the
 * command on errors.
 */
void threads_run(size_t n, void *(*work)(void *), void *state, size_t size);

/* ------------------------------------------------------ in pieces -------- */

/*
 * A piece of the trace. It begins with a sync message and ends after the sync message of the next
 * piece, whose fields also describe the execution that led to it.
 */
struct piece {
	const struct input *in;
	struct nt_code *code;	/* of the thread */
	void *own;		/* of the thread: the return value of thread_new() */
	size_t begin, end;
	bool last;
};

/*
 * How a command handles the events of the trace. Pieces are decoded in parallel, in up to --threads
 * threads. The split into pieces does not depend on the number of threads, and neither does the
 * output.
 */
struct consumer {
	size_t size;	/* of the state of each piece, which starts as zeros */
	uint32_t syncs;	/* sync reasons that are reported as events: nt_flow_report_syncs() */
	/* seam: this STOP is only the end of the piece; execution continues in the next piece */
	void (*event)(struct piece *p, void *state, const struct nt_event *ev, bool seam);
	/* called in the order of the trace, one piece at a time */
	void (*done)(void *ctx, void *state);
	/*
	 * For a trace from a pipe, or NULL: everything before `to` has been decoded. Returns up to
	 * where the command no longer needs the bytes.
	 */
	size_t (*passed)(void *ctx, size_t to);
	/* both may be NULL */
	void *(*thread_new)(void *ctx);
	void (*thread_free)(void *own);
	void *ctx;
};

void pieces_decode(struct input *in, const struct consumer *consumer);

/* ------------------------------------------- instructions for people ----- */

struct symbols;

/* Read the symbols of the program's files. Files without symbols are skipped. */
struct symbols *symbols_new(const struct input *in);
/*
 * ... of a file, at the file's own addresses; of an ELF file in memory, which the caller keeps; of
 * kallsyms
 */
struct symbols *symbols_of_file(const char *path, unsigned int xlen);
struct symbols *symbols_of_memory(void *elf, size_t size, unsigned int xlen);
struct symbols *symbols_of_kallsyms(const char *path);
void symbols_free(struct symbols *symbols);
/* The value of a symbol of any type in a file; false: the file has no such symbol */
bool symbols_value(const char *path, const char *name, uint64_t *value);
/* The name of the symbol that contains pc, and the offset in it; NULL if not known */
const char *symbols_find(const struct symbols *symbols, uint64_t pc, uint64_t *offset);
/* The number of symbols, and symbol number i in the order of addresses */
size_t symbols_number(const struct symbols *symbols);
const char *symbols_get(const struct symbols *symbols, size_t i, uint64_t *start);

/*
 * Lines "address bits symbol+offset text". The text comes from Capstone, if the command is built
 * with it. Lines are cached, because a program executes most of its instructions often.
 */
struct lines;

struct lines *lines_new(const struct nt_params *params, const struct symbols *symbols);
void lines_free(struct lines *lines);
void lines_put(struct lines *lines, const struct nt_insn *insn);
/* Only the text */
void lines_words(struct lines *lines, uint64_t pc, uint64_t raw, unsigned int len, char *text,
		 size_t size);
/* The name of the disassembler */
const char *lines_disassembler(void);

/* ------------------------------------------- control transfer records ---- */

/* Options of a buffer for control transfer records */
struct records {
	const char *ctl, *vsctl;	/* as given, or NULL */
	unsigned int depth;		/* 0: not given */
	unsigned int cycles_per_tick;
	bool draft;
	const char *given;		/* the first of these options that was given */
};

/* For argp_children; the parser's input is the struct records. */
extern const struct argp records_argp;

/* Print the content of the buffer at the end of the trace. Returns the number of losses. */
unsigned long records_decode(const struct records *records, struct input *in);

/* ------------------------------------------------ files to write --------- */

/* An output file. It gets its name only when it is complete. */
struct outfile {
	const char *path;	/* NULL: standard output; "": a temporary file without a name */
	char *beside;		/* temporary name, where the file system needs one */
	char *real;		/* the target of path, if path is a symbolic link */
	bool special;		/* a device or a FIFO */
	int fd;
	uint64_t written;
};

void outfile_open(struct outfile *o, const char *path);
void outfile_bytes(struct outfile *o, const void *p, size_t len);
/* Give the file its name. */
void outfile_close(struct outfile *o);
void outfile_copy(const char *from, const char *to);

/* -------------------------------------------------- buffered output ------ */

/* Write hexadecimal numbers and words to stdout. printf() would take most of the run time. */
void out_hex(uint64_t value);
size_t out_room(size_t room);
const char *out_since(size_t begin, size_t *len);
void out_nanoseconds(uint32_t ns);
void out_dec(uint64_t value);
void out_str(const char *s);
void out_char(char c);
void out_bytes(const char *text, size_t len);	/* at most 64 KiB */
/* Write out the buffer. Ends the command if stdout fails. */
void out_flush(void);
/* Redirect stdout to a file, which gets its name in out_done(). */
void out_to(const char *path);
/* Has stdout accepted everything? If not, an error was printed. */
bool out_whole(void);
/* At the end of a command: finish the output, or end the command with an error. */
void out_done(void);

/*
 * For threads that produce parts of the output. turn() returns whether this thread's part is next
 * to be written; with wait, it first waits for that. Until then, the thread buffers up to a few
 * megabytes of text.
 */
void out_turns(bool (*turn)(void *ctx, bool wait), void *ctx);
/*
 * Leave a hole in the output, for text that is not known before this thread's turn. hole() then
 * writes the text to stdout.
 */
void out_later(void (*hole)(void *ctx), void *ctx);
void out_free(void);	/* call before a thread ends */

/* Like out_str(), but control characters become dots, so that they cannot end the line */
void out_plain(const char *s);

/* Convert to UTF-8: invalid bytes become U+FFFD. The caller frees *made. */
const char *utf8_text(const char *s, char **made);
/*
 * A name as one line of text that is safe for a terminal: control characters become dots. The
 * caller frees it.
 */
char *utf8_plain(const char *s);
bool utf8_is_control(char c);

/* Write a JSON string to stdout. */
void json_string(const char *s);

/*
 * Report progress: done of total, in any unit. Draws a bar if stderr is a terminal, stdout is not,
 * and the work takes long. Cheap to call often.
 */
void progress(uint64_t done, uint64_t total);
void progress_end(void);

/* One line "# ..." for a LOSS or NOTICE event */
void out_trouble(const struct nt_event *ev);

/* Does the event mean that part of the trace is missing? */
static inline bool is_loss(const struct nt_event *ev)
{
	return ev->kind == NT_EV_LOSS || (ev->kind == NT_EV_NOTICE && ev->reason == NT_ENOTIME);
}

#endif /* NTRACE_CMD_H */
