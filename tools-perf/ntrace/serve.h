/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ntrace gdbserver: a recording as a target of GDB's remote protocol, which runs both ways
 *
 *	serve-program.c	runs: each stretch of linear code that was executed, once
 *	serve-track.c	what a thread executed, as runs in chunks; positions in it
 *	serve-stack.c	the calls that a position is in
 *	serve-infer.c	registers that follow from code and flow
 *	serve-find.c	the next breakpoint, either way
 *	serve-raw.c	a raw trace and its program -> a track
 *	serve-rec.c	a perf.data -> a track for each task or CPU
 *	serve-tv.c	a tandem-verification trace -> a track, with registers and memory
 *	serve-state.c	the registers and the memory
 *	serve-recording.c	what is served
 *	serve-files.c	memory that cannot have changed: of programs' files
 *	serve-session.c	GDB's packets, one by one -> replies
 *	serve-move.c	those that move the position
 *	serve-object.c	the objects that GDB reads: target, threads, libraries, branch trace
 *	serve-monitor.c	GDB's `monitor' commands
 *	serve-link.c	the connection
 *
 * A source fills tracks with what was executed. Nothing behind it knows which source it was, but
 * for the registers and the memory that a source may have, too.
 */
#ifndef NTRACE_SERVE_H
#define NTRACE_SERVE_H

#include "cmd.h"

/* --------------------------------------------------- serve-program.c ------ */

/* Instructions one behind the other: as far as the trace says, but at most SERVE_RUN_MAX */
struct serve_run {
	uint64_t pc;
	uint64_t halves;	/* of each instruction, from the low bits on: its half-words - 1 */
	uint32_t space;		/* whose code it is: the same address may have other code elsewhere */
	uint8_t insns;		/* 0: a trap where another run ended, or NONE: a pause */
	uint8_t type;		/* enum nt_type: how the last instruction was left */
};

#define SERVE_RUN_MAX	32

/* All runs of a recording, by number */
struct serve_program {
	struct serve_run *run;
	uint32_t nr;
	uint32_t *bucket;	/* number + 1; 0: free */
	uint32_t nr_buckets;
	struct nt_path *path;
};

void serve_program_init(struct serve_program *p);
void serve_program_free(struct serve_program *p);

/* Address of instruction nth of a run; behind its last: where linear code goes on */
static inline uint64_t serve_run_pc(const struct serve_run *run, unsigned int nth)
{
	uint64_t pc = run->pc;

	for (unsigned int i = 0; i < nth; i++)
		pc += 2 * ((run->halves >> 2 * i & 3) + 1);
	return pc;
}

/*
 * The number of the run of so many instructions, at most SERVE_RUN_MAX, from pc on; code is read
 * when it is a new one. Negative: there is no code, or memory is short.
 */
int64_t serve_program_run(struct serve_program *p, struct nt_code *code, uint64_t pc,
			  unsigned int insns, unsigned int type, uint32_t space);

/* The same of a run whose instructions are known: no code is read */
uint32_t serve_program_known(struct serve_program *p, const struct serve_run *run);

/* ------------------------------------------------------ serve-track.c ----- */

#ifndef SERVE_CHUNK	/* tests may want small ones */
#define SERVE_CHUNK	16384u	/* runs */
#endif
#define SERVE_FILTER	4096u	/* bits */

struct serve_frame {
	uint64_t from;		/* the call */
	uint64_t to;		/* what was called */
	uint64_t ret;		/* where it returns to; of traps the same as from */
	bool trap;
};

/* So many runs, which are decoded at once; what is known where they begin is a checkpoint. */
struct serve_chunk {
	uint64_t insn;		/* number of its first instruction */
	bool paused;		/* between that and the one before */
	uint8_t *bytes;
	uint32_t nr_bytes;
	uint32_t nr_runs;
	uint64_t filter[SERVE_FILTER / 64];	/* which runs it has, by number modulo SERVE_FILTER */
	/* behind the outermost nr_same, which are those of the chunk before */
	struct serve_frame *frame;
	uint32_t nr_same, nr_frames;
};

enum serve_mark_kind {
	SERVE_BEGIN,		/* trace begins, or is another task's; nothing is missing before */
	SERVE_LOSS,		/* trace is missing that should be there */
	SERVE_GAP,		/* nothing was traced: trace was off, or the thread elsewhere */
};

/* Something between two instructions */
struct serve_mark {
	uint64_t insn;		/* number of the instruction behind it */
	enum serve_mark_kind kind;
	char *text;
};

struct serve_time {
	uint64_t insn, time;
};

/* What one thread, or one hart, executed */
struct serve_track {
	struct serve_program *program;
	char name[32];
	int id;			/* for people: of the task, the CPU or the source */
	int core;		/* -1: not known */
	uint64_t insns;
	uint64_t end_pc;	/* of what would be next */
	bool has_end_pc;
	struct serve_chunk *chunk;
	size_t nr_chunks;
	struct serve_mark *mark;
	size_t nr_marks;
	struct serve_time *time;
	size_t nr_times;
	struct serve_writer *writer;	/* while it is made */
};

struct serve_track *serve_track_new(struct serve_program *p, const char *name, int id);
void serve_track_free(struct serve_track *t);

/*
 * So many instructions were executed from pc on; the last was left as `type' says. False: no code.
 */
bool serve_track_add(struct serve_track *t, struct nt_code *code, uint64_t pc, uint64_t insns,
		     unsigned int type, uint32_t space);
/* The same of one run that is known */
void serve_track_put(struct serve_track *t, const struct serve_run *run);
/*
 * What comes next is behind that; of several in one place one counts, a loss before a gap, and a
 * gap before a begin.
 */
void __attribute__((format(printf, 3, 4)))
serve_track_mark(struct serve_track *t, enum serve_mark_kind kind, const char *fmt, ...);
/*
 * What comes next happened at that time, or later. `edge': the thread stopped or went on then. No
 * instructions retired between the two.
 */
void serve_track_time(struct serve_track *t, uint64_t time, bool edge);
/*
 * What comes next follows from what was before, and other code may have been executed in between:
 * a system call, an interrupt
 */
void serve_track_pause(struct serve_track *t, uint64_t pc);
/* Where it would go on, if that is known */
void serve_track_stop(struct serve_track *t, uint64_t pc, bool known);
/* It is complete. */
void serve_track_end(struct serve_track *t);

/* The last position: behind the last instruction, if it is known where that is */
static inline uint64_t serve_track_last(const struct serve_track *t)
{
	return t->has_end_pc || !t->insns ? t->insns : t->insns - 1;
}

/* The mark at a position, or NULL */
const struct serve_mark *serve_track_mark_at(const struct serve_track *t, uint64_t insn);
/* Number of the first mark at the position or behind it */
size_t serve_track_first_mark(const struct serve_track *t, uint64_t insn);

/* False: nothing is known of the time. */
bool serve_track_time_at(const struct serve_track *t, uint64_t insn, uint64_t *time);
/* The last position that is not later; 0 if all are */
uint64_t serve_track_at_time(const struct serve_track *t, uint64_t time);

/* The first position that is later, or with `same' not earlier; behind all if none is */
uint64_t serve_track_since(const struct serve_track *t, uint64_t time, bool same);

/* A chunk, decoded; each thread of ntrace has its own */
struct serve_view {
	const struct serve_track *track;
	size_t chunk;			/* SIZE_MAX: none */
	uint32_t run[SERVE_CHUNK];
	uint32_t start[SERVE_CHUNK + 1];	/* instructions of the chunk before each */
};

void serve_view_init(struct serve_view *v, const struct serve_track *t);
void serve_view_chunk(struct serve_view *v, size_t chunk);
/* The run that an instruction is in, and which of it the instruction is */
const struct serve_run *serve_view_at(struct serve_view *v, uint64_t insn, unsigned int *nth,
				      uint32_t *index);
/* Address of what is executed next at a position; false: it is not known. */
bool serve_view_pc(struct serve_view *v, uint64_t insn, uint64_t *pc);
/* The space of what is executed next; at the end, of what was executed last */
uint32_t serve_view_space(struct serve_view *v, uint64_t insn);

/* ------------------------------------------------------ serve-stack.c ----- */

struct serve_stack {
	struct serve_frame *frame;	/* the outermost first */
	size_t nr, room;
	size_t low;			/* the fewest since somebody set it */
};

/* No call is known any more. */
static inline void serve_stack_forget(struct serve_stack *s)
{
	s->nr = s->low = 0;
}

/*
 * A run was executed behind another that was left as its type says: what is called, or returned
 * from
 */
void serve_stack_step(struct serve_stack *s, const struct serve_run *left, uint64_t pc);
/* The calls that a position is in; the caller frees the frames. */
struct serve_stack serve_stack_at(struct serve_view *v, uint64_t insn);

/* ------------------------------------------------------- serve-find.c ----- */

/* Addresses that are looked for */
struct serve_points {
	uint64_t *addr;		/* sorted */
	uint32_t *kinds;	/* a bit for each kind of breakpoint there */
	size_t nr;
	/* of each run, which of its instructions are at one of them */
	uint32_t *hit;
	uint32_t nr_hits;
	bool stale;
	bool any;
	uint64_t filter[SERVE_FILTER / 64];
};

void serve_points_add(struct serve_points *p, uint64_t addr, unsigned int kind);
void serve_points_remove(struct serve_points *p, uint64_t addr, unsigned int kind);
bool serve_points_have(const struct serve_points *p, uint64_t addr);
void serve_points_free(struct serve_points *p);

/* Whoever asked for something that may take long may want no more of it. */
struct serve_interrupt {
	bool (*wanted)(void *ctx);	/* NULL: never */
	void *ctx;
	bool came;
};

static inline bool serve_interrupted(struct serve_interrupt *i)
{
	if (i->wanted && !i->came)
		i->came = i->wanted(i->ctx);
	return i->came;
}

/*
 * The first position in (from, to] with one of the addresses, or going back the last in [to, from).
 * Chunks without any are not decoded; the others in up to so many threads. False: there is none,
 * or an interrupt came, which is asked for before each chunk.
 */
bool serve_find(struct serve_view *v, struct serve_points *p, uint64_t from, uint64_t to,
		unsigned int threads, struct serve_interrupt *interrupt, uint64_t *found);

/* ------------------------------------------------------ serve-infer.c ----- */

struct serve_infer;
struct serve_recording;

struct serve_infer *serve_infer_new(const struct serve_recording *r);
void serve_infer_free(struct serve_infer *s);
/* x0 to x31 at a position; false: nothing is certain */
bool serve_infer_reg(struct serve_infer *s, struct serve_view *v, uint64_t insn, unsigned int reg,
		     uint64_t *value);

/* ------------------------------------------------------- serve-files.c ---- */

/*
 * Memory as files have it that programs cannot write to. Which file is mapped at an address may
 * change: a part is there in the spaces from `from' up to, not with, `to'.
 */
struct serve_files {
	struct serve_part {
		uint64_t start, size;
		uint64_t offset;
		int fd;
		uint32_t from, to;
		uint32_t file;		/* number of the ELF file that it is of; 0: none */
	} *part;
	size_t nr;
	uint32_t space;			/* what is added is there from that one on */
	uint32_t nr_files;
	int *fd;
	size_t nr_fds;
};

/* What of an ELF file cannot be written to; returns the file's number, 0: it is none. */
uint32_t serve_files_add_elf(struct serve_files *f, const char *path, uint64_t bias);
/* A part of a file that the caller keeps open */
void serve_files_add(struct serve_files *f, int fd, uint64_t addr, uint64_t size, uint64_t offset);
bool serve_files_add_raw(struct serve_files *f, const char *path, uint64_t addr);
/* From the space at hand on, something else is there. */
void serve_files_cut(struct serve_files *f, uint64_t start, uint64_t end);
/* From the space at hand on, nothing is mapped of that ELF file; 0: of any */
void serve_files_end(struct serve_files *f, uint32_t file);
/* How many bytes from addr on are known in that space, at most len */
size_t serve_files_read(const struct serve_files *f, uint32_t space, uint64_t addr, void *buf,
			size_t len);
void serve_files_free(struct serve_files *f);

/* ---------------------------------------------------- what is served ------ */

/*
 * The numbers GDB knows registers by: x0 to x31, pc, f0 to f31, fflags, frm, fcsr; behind them CSRs
 */
#define SERVE_REG_PC	32
#define SERVE_REG_F	33
#define SERVE_REG_FFLAGS	(SERVE_REG_F + 32)
#define SERVE_REGS	(SERVE_REG_FFLAGS + 3)

/* A CSR that the trace has a value of, other than fflags, frm and fcsr */
struct serve_csr {
	uint16_t number;
	char name[16];
};

#define SERVE_CSRS	512u	/* at most, so that all registers fit into a packet */

/* A file that was mapped at these addresses, in the spaces from `from' up to, not with, `to' */
struct serve_library {
	char *path;
	uint64_t start, end;
	uint32_t from, to;
	uint32_t file;			/* number in struct serve_files */
	bool shared;			/* in other spaces, another file was at these addresses */
	bool exec;			/* it is the exec_file */
};

/* Memory that is watched: kind as in GDB's packets, 2 writes, 3 reads, 4 both */
struct serve_watch {
	uint64_t addr, size;
	char kind;
};

struct serve_recording {
	const char *path;		/* of the file */
	struct serve_program program;
	struct serve_track **track;
	size_t nr_tracks;
	unsigned int xlen, flen;	/* flen 0: none */
	struct serve_csr *csr;
	size_t nr_csrs;
	struct serve_files files;
	/*
	 * The program, if it is none of Linux: of one of Linux GDB computes itself where a step
	 * leads, of registers that are not known.  It does not if the program is one of the
	 * libraries.
	 */
	char *exec_file;		/* the path of one of these: */
	struct serve_library *library;
	size_t nr_libraries;
	bool timed;			/* times are ns of the recording's clock, not ticks */
	/* The name of an address, as it was in a space; NULL: there is none */
	const char *(*symbol)(void *ctx, uint32_t space, uint64_t addr, uint64_t *offset);
	/* Registers (NT_TV_REG_ numbers) and memory at a position; NULL: the source has none */
	bool (*reg)(void *ctx, const struct serve_track *t, uint64_t insn, unsigned int reg,
		    uint64_t *value);
	size_t (*memory)(void *ctx, const struct serve_track *t, uint64_t insn, uint64_t addr,
			 void *buf, size_t len);
	/*
	 * The nearest instruction in [low, high) that writes or reads what is watched, from low
	 * on or going back from high; false: none does. NULL: the source does not know
	 */
	bool (*touched)(void *ctx, const struct serve_track *t, uint64_t low, uint64_t high,
			bool back,
			const struct serve_watch *watch, size_t nr, uint64_t *found, size_t *which);
	void (*free)(void *ctx);
	void *ctx;
};

/* Read all of it; end the command if that is not possible. */
void serve_raw_open(struct serve_recording *r, struct input *in);
struct nt_tv_params;
/* A tandem-verification trace, of a program whose files `in' has */
void serve_tv_open(struct serve_recording *r, struct input *in, const struct nt_tv_params *params);
struct rec_options;
void serve_rec_open(struct serve_recording *r, const char *path, const struct rec_options *options);
/* The kernel's symbols as of the recording, as an ELF file for GDB's symbol-file */
void serve_rec_write_symbols(struct serve_recording *r, const char *path);

/* ---------------------------------------------------- serve-symbols.c - */

struct symbols;

void serve_symbols_write(const struct symbols *symbols, const char *path, unsigned int xlen);
void serve_recording_free(struct serve_recording *r);
/* One of its programs, or a library: it is there from files.space on. */
void serve_recording_add_elf(struct serve_recording *r, const char *path, uint64_t bias);
/* The same, and no file is there any more whose addresses it has. */
void serve_recording_replace(struct serve_recording *r, const char *path, uint64_t bias);
/* There is no file any more at these addresses. */
void serve_recording_unmap(struct serve_recording *r, uint64_t start, uint64_t end);
/* From files.space on, nothing is mapped. */
void serve_recording_end(struct serve_recording *r);
/* Is GDB told of that library while a thread is in that space? */
static inline bool serve_library_is_told(const struct serve_library *l, uint32_t space)
{
	return !l->exec && (!l->shared || (space >= l->from && space < l->to));
}
/* All those of the command line */
void serve_recording_add_input(struct serve_recording *r, const struct input *in);

/* ----------------------------------------------------- serve-session.c ---- */

#define SERVE_PACKET_MAX	16384u

/* Text that grows */
struct serve_text {
	char *s;
	size_t len, room;
};

void __attribute__((format(printf, 2, 3))) serve_text_put(struct serve_text *t, const char *fmt,
							  ...);
void serve_text_bytes(struct serve_text *t, const void *bytes, size_t len);

struct serve_options {
	unsigned int threads;
	uint64_t btrace;	/* instructions of a branch trace, at most */
	int out;		/* where packets go that standard input answers */
};

/* What GDB is told, and where it is */
struct serve_session {
	const struct serve_recording *rec;
	const struct serve_options *options;
	struct serve_view **view;	/* of each track; NULL: not used yet */
	uint64_t *at;			/* position in each */
	bool *past;			/* even the last one was executed, and no more is known */
	size_t followed;		/* track: all others are where they were at its position */
	size_t current;			/* track */
	size_t chosen;			/* by Hg */
	bool told;			/* by Hc, which thread goes on; else the user's */
	size_t user;			/* that the user looks at, as far as GDB tells */
	unsigned int lists;		/* of threads that were read since something moved */
	struct serve_points points;
	struct serve_infer *infer;
	struct serve_watch *watch;
	size_t nr_watches;
	bool no_ack, swbreak, ended, btrace;
	uint64_t *btrace_sent;		/* of each track: up to there; UINT64_MAX: nothing */
	void (*packet)(void *ctx, const char *data, size_t len);	/* to GDB */
	void *ctx;
	struct serve_interrupt interrupt;	/* of what moves: nothing moves then */
	struct serve_text object;	/* that is being read, */
	char object_name[96];		/* by name */
	struct serve_text reply;
};

void serve_session_init(struct serve_session *s, const struct serve_recording *r,
			const struct serve_options *options);
void serve_session_free(struct serve_session *s);
struct serve_view *serve_session_view(struct serve_session *s, size_t track);
/* A register of the chosen thread, by NT_TV_REG_ number; false: it is not known */
bool serve_session_reg(struct serve_session *s, unsigned int reg, uint64_t *value);
/* A packet, without its frame; ends with a zero byte, which len does not count. */
void serve_session_packet(struct serve_session *s, const char *data, size_t len);
/* Say something on GDB's terminal: only before the reply to what moves, or to qRcmd */
void __attribute__((format(printf, 2, 3))) serve_session_say(struct serve_session *s,
							     const char *fmt, ...);
void __attribute__((format(printf, 2, 3))) serve_session_reply(struct serve_session *s,
							       const char *fmt, ...);
void serve_session_thread_id(const struct serve_session *s, size_t track, char *text, size_t size);

/* ------------------------------------------------------- serve-move.c ----- */

enum serve_how { SERVE_STEP, SERVE_RANGE, SERVE_CONTINUE };

/* Move, forwards or backwards, and send why it stopped there. `alone': others stay as they are. */
void serve_move(struct serve_session *s, enum serve_how how, bool back, uint64_t start,
		uint64_t end, bool alone);
/* All threads are where they were when that one was at its position. */
void serve_move_sync(struct serve_session *s, size_t track);
/* Why it is where it is */
void serve_move_reason(struct serve_session *s);

/* ------------------------------------------------------ serve-object.c ---- */

/* Is a library in the list at any position? */
bool serve_object_has_libraries(const struct serve_recording *r);
/* False: there is no such object. */
bool serve_object_make(struct serve_session *s, const char *object, const char *annex,
		       struct serve_text *text);

/* ----------------------------------------------------- serve-monitor.c ---- */

/* Answers with serve_session_say(). */
void serve_monitor(struct serve_session *s, const char *command);

/* -------------------------------------------------------- serve-link.c ---- */

/*
 * Serve one client: `place' is PORT, HOST:PORT or - for standard input and output. Returns when
 * it has gone; false: the connection broke.
 */
bool serve_link(const struct serve_recording *r, const struct serve_options *options,
		const char *place);

#endif /* NTRACE_SERVE_H */
