/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The ntrace command: what its subcommands share
 */
#ifndef NTRACE_CMD_H
#define NTRACE_CMD_H

#include <argp.h>
#include <stdio.h>
#include <string.h>

#include "ntrace.h"

/* A path without its folders */
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
 * A subcommand: argv[0] is its name.  Returns an exit status; argument errors
 * exit by themselves.
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
 * As die(), where the input is not to blame but this machine: a full disk, no process. The status is
 * die_machine_status, EXIT_UNUSABLE unless who runs the command tells the two apart.
 */
void __attribute__((format(printf, 1, 2), noreturn)) die_machine(const char *fmt, ...);
extern int die_machine_status;
/* What is worth knowing, and does not end the command */
void __attribute__((format(printf, 1, 2))) warn(const char *fmt, ...);

/*
 * The array with room for one more behind its n members of size bytes: it grows at each power of two.
 * Ends the command without memory.
 */
void *array_room(void *array, size_t n, size_t size);
/*
 * The n members of the array have size bytes each, begin with an address, and are sorted by it: how
 * many are before addr; and how many are before or at addr
 */
size_t array_before(const void *array, size_t n, size_t size, uint64_t addr);
size_t array_behind(const void *array, size_t n, size_t size, uint64_t addr);

/*
 * argp_parse(), but the error for an unknown option names the option that was
 * probably meant. Argument errors end the command.
 */
void parse_arguments(const struct argp *argp, int argc, char **argv, void *input);

/* What a mistyped word may have been meant to be: the one of words, up to NULL,
 * that is nearest; NULL when none is near. */
const char *nearest_word(const char *word, const char *const *words);
/*
 * A number of units of so many bytes, or with a letter: B, K, M or G. *p goes behind the number. If
 * there is none, or the size has more than 64 bits, *p stays and the size is 0.
 */
uint64_t arguments_size(const char **p, uint64_t bytes);

/* ------------------------------------------------- options of input ------ */

/* A program's file, which has symbols too */
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
	struct elf *elfs;	/* those that are ELF files, the first first */
	struct elf *raws;	/* pieces of memory; bias: where they were */
	unsigned int threads;
	bool xlen_given, srcbits_given;
	bool no_trace;		/* the command makes one, it reads none */
	unsigned int source;	/* SRC that is decoded, after input_check_sources() */
	const char *isa;
	struct nt_branch *branches;	/* those of params */
	const char *file;
	bool several;		/* set by a command that takes more files than one, */
	const char **more;	/* which are here */
	size_t nr_more;
	uint8_t *trace;
	size_t size;
	size_t begin;		/* where decoding begins: the trace may begin inside a message */
	bool wrapped;		/* it does, and what looks like the first one may be none */
	bool mapped;		/* the trace is, not read */
	bool live;		/* the command takes it as it comes: input_more() */
	int fd;			/* where more of it comes from, while !ended */
	bool ended;		/* all there is of the trace is in memory, or was */
	size_t reserved;	/* addresses for a trace that comes */
	size_t dropped;		/* so much of it is not needed any more */
};

/* For argp_children: parameters and images, and the one FILE argument; the
 * parser's input is the struct input. */
extern const struct argp input_argp;

void input_init(struct input *in);
/* After parsing: were there options that say how the trace was made? */
bool input_has_parameters(const struct input *in);
/* What to add when something is missing that a perf.data would tell: of a pipe, why it does not */
const char *input_pipe_hint(const struct input *in);
/* After parsing: settle what the images tell, read the trace, check it all. */
void input_open(struct input *in);
/* As --elf=path */
void input_add_elf(struct input *in, const char *path);
/*
 * Wait for more of a trace that comes through a pipe: in->size grows, or in->ended is set and
 * false returned.  What was put out so far is written before waiting.
 */
bool input_more(struct input *in);
/* To see the end of a run of bytes that are no message, wait for up to so many of a pipe */
#define BAD_MAX		((size_t)64 << 10)
/* All before `done` has been looked at, for good; cheap to call often */
void input_progress(struct input *in, size_t done);
/* What is between is not looked at for now: if a file has it, it takes no memory until it is. */
void input_forget(const struct input *in, size_t from, size_t to);
void input_free(struct input *in);

/*
 * The program as a graph, and a decoder of a part of the trace over it. The last
 * ends the command when the trace has several sources and none was chosen.
 */
struct nt_code *input_code(const struct input *in);
bool input_clock_wraps(const struct input *in);
struct nt_flow *input_flow(const struct input *in, struct nt_code *code, size_t begin, size_t end);
void input_check_sources(struct input *in);
/*
 * Opening a file for writing empties the file: ends the command if output is path by any name, or a
 * file in path, where that is a folder. output may be NULL.
 */
void input_refuse(const char *output, const char *path, const char *what);
void input_refuse_output(const struct input *in, const char *output);

/*
 * There were losses: say on stderr when other parameters would fit the trace, or when
 * the program does not; of damage nothing.
 */
void diagnose(const struct input *in);

/* Print a remark when decoding does not begin at the trace's first byte. */
void input_say_begin(const struct input *in);

/* The sync message of our source at or behind `from`, and its end; or the end */
size_t input_find_sync(const struct input *in, size_t from, size_t *end);

/* Read a number (decimal, 0x hex, 0 octal) or die, naming the option. */
uint64_t parse_number(const char *text, const char *what);
/* ... of at most max */
unsigned int parse_small(const char *text, const char *what, unsigned int max);

/* ------------------------------------------------------ in pieces -------- */

/*
 * A piece of the trace, from a sync message to behind the next piece's: what
 * that one tells of the way to it belongs here.
 */
struct piece {
	const struct input *in;
	struct nt_code *code;	/* the thread's */
	void *own;		/* the thread's too: what thread_new() returned */
	size_t begin, end;
	bool last;
};

/*
 * What a command does with the trace's events. Pieces are decoded side by side
 * in up to --threads threads; always the same pieces, so that the number of
 * threads can't be told from what comes out.
 */
struct consumer {
	size_t size;	/* of the state of each piece, which is 0 at first */
	uint32_t syncs;	/* reasons of sync messages that make events: nt_flow_report_syncs() */
	/* seam: a STOP which is none; execution goes on with the next piece */
	void (*event)(struct piece *p, void *state, const struct nt_event *ev, bool seam);
	/* in the trace's order, one at a time */
	void (*done)(void *ctx, void *state);
	/*
	 * Of a trace that comes, or NULL: all before `to` has been decoded. Returns how far
	 * the bytes are not needed any more.
	 */
	size_t (*passed)(void *ctx, size_t to);
	/* may be NULL, both */
	void *(*thread_new)(void *ctx);
	void (*thread_free)(void *own);
	void *ctx;
};

void pieces_decode(struct input *in, const struct consumer *consumer);

/* ------------------------------------------- instructions for people ----- */

struct symbols;

/* Read the symbols of the program's code; of what has none there are none. */
struct symbols *symbols_new(const struct input *in);
/* ... of a file, at its own addresses; of one in memory, which stays there; of a list of the kernel's */
struct symbols *symbols_of_file(const char *path, unsigned int xlen);
struct symbols *symbols_of_memory(void *elf, size_t size, unsigned int xlen);
struct symbols *symbols_of_kallsyms(const char *path);
void symbols_free(struct symbols *symbols);
/* The value of one symbol of a file, whatever that is; false: it has none of that name */
bool symbols_value(const char *path, const char *name, uint64_t *value);
/* The name of what pc is in, and how far; NULL when not known */
const char *symbols_find(const struct symbols *symbols, uint64_t pc, uint64_t *offset);
/* How many there are, and one of them, in the order of addresses */
size_t symbols_number(const struct symbols *symbols);
const char *symbols_get(const struct symbols *symbols, size_t i, uint64_t *start);

/*
 * Lines "address bits symbol+offset text", the text from Capstone where the
 * command is built with it; kept, for a program executes most of its lines often.
 */
struct lines;

struct lines *lines_new(const struct nt_params *params, const struct symbols *symbols);
void lines_free(struct lines *lines);
void lines_put(struct lines *lines, const struct nt_insn *insn);
/* The text alone */
void lines_words(struct lines *lines, uint64_t pc, uint64_t raw, unsigned int len, char *text,
		 size_t size);
/* What makes the text */
const char *lines_disassembler(void);

/* ------------------------------------------- control transfer records ---- */

/* A buffer of them, as options tell */
struct records {
	const char *ctl, *vsctl;	/* as given, or NULL */
	unsigned int depth;		/* 0: not given */
	unsigned int cycles_per_tick;
	bool draft;
	const char *given;		/* the first option of these that was */
};

/* For argp_children; the parser's input is the struct records. */
extern const struct argp records_argp;

/* Print what the buffer has when the trace ends; returns losses. */
unsigned long records_decode(const struct records *records, struct input *in);

/* ------------------------------------------------ files to write --------- */

/* A file to write, beside the name that it gets when it is whole */
struct outfile {
	const char *path;	/* NULL: standard output; "": without a name, for a while */
	char *beside;		/* its name until then, where a file has to have one */
	char *real;		/* what path is, if that is a link */
	bool special;		/* it is a device or a FIFO */
	int fd;
	uint64_t written;
};

void outfile_open(struct outfile *o, const char *path);
void outfile_bytes(struct outfile *o, const void *p, size_t len);
/* Now it has its name. */
void outfile_close(struct outfile *o);
void outfile_copy(const char *from, const char *to);

/* -------------------------------------------------- buffered output ------ */

/*
 * Lines of hexadecimal numbers and words, to stdout: what printf() would take
 * most of the time for.
 */
void out_hex(uint64_t value);
size_t out_room(size_t room);
const char *out_since(size_t begin, size_t *len);
void out_digits(uint64_t value, unsigned int width);
void out_dec(uint64_t value);
void out_str(const char *s);
void out_char(char c);
void out_bytes(const char *text, size_t len);	/* at most 64 KiB */
/* Write out; dies when stdout can't take it. */
void out_flush(void);
/* stdout is that file, which has its name from out_done() on. */
void out_to(const char *path);
/* Has stdout taken everything? Otherwise that was said. */
bool out_whole(void);
/* At a command's end: it has, or the command dies. */
void out_done(void);

/*
 * For threads that make parts of the output: turn() tells whether this thread's
 * part is the one to be written now; if it is to wait, when that has come. Until
 * then the thread keeps up to some megabytes of text.
 */
void out_turns(bool (*turn)(void *ctx, bool wait), void *ctx);
/*
 * What belongs here is known only when it is this thread's turn: hole() then
 * writes it to stdout.
 */
void out_later(void (*hole)(void *ctx), void *ctx);
void out_free(void);	/* before a thread ends */

/* ... of which no line can be made: control characters are dots */
void out_plain(const char *s);

/* As UTF-8: what is none is U+FFFD. *made is to be freed. */
const char *utf8_text(const char *s, char **made);
/* A name as text of one line, which a terminal survives: controls are dots. To be freed. */
char *utf8_plain(const char *s);
bool utf8_is_control(char c);

/* A string of JSON, to stdout */
void json_string(const char *s);

/*
 * Done so far of the whole, in any unit: draws a bar when stderr is a terminal,
 * stdout another place, and the work long. Cheap to call often.
 */
void progress(uint64_t done, uint64_t total);
void progress_end(void);

/* One line "# ..." for a LOSS or NOTICE event */
void out_trouble(const struct nt_event *ev);

/* Is something missing that the trace should have? */
static inline bool is_loss(const struct nt_event *ev)
{
	return ev->kind == NT_EV_LOSS || (ev->kind == NT_EV_NOTICE && ev->reason == NT_ENOTIME);
}

#endif /* NTRACE_CMD_H */
