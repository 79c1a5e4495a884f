/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ntrace gdbserver: a recording as a target of GDB's remote protocol, which runs both ways
 *
 *	serve-program.c	runs: each stretch of linear code that was executed, stored once
 *	serve-track.c	what a thread executed, as runs in chunks; positions in it
 *	serve-stack.c	the call stack at a position
 *	serve-infer.c	registers that follow from code and control flow
 *	serve-find.c	the next breakpoint in either direction
 *	serve-raw.c	a raw trace and its program -> a track
 *	serve-rec.c	a perf.data -> a track for each task or CPU
 *	serve-tv.c	a tandem-verification trace -> a track, with registers and memory
 *	serve-state.c	these registers and this memory
 *	serve-recording.c	programs and libraries of a recording
 *	serve-files.c	memory from the program's files that cannot have changed
 *	serve-session.c	GDB's packets -> replies
 *	serve-move.c	packets that move the position
 *	serve-object.c	objects that GDB reads: target, threads, libraries, branch trace
 *	serve-monitor.c	GDB's `monitor' commands
 *	serve-link.c	the connection
 *
 * A source fills tracks with what was executed. The rest does not depend on the kind of source,
 * except that only some sources have registers and memory.
 */
#ifndef NTRACE_SERVE_H
#define NTRACE_SERVE_H

#include "cmd.h"

/* --------------------------------------------------- serve-program.c ------ */

/* Consecutive instructions, at most SERVE_RUN_MAX, that were executed without a transfer */
struct serve_run {
	uint64_t pc;
	uint64_t halves;	/* of each instruction, from the low bits on: half-words - 1 */
	uint32_t space;		/* of the code: the address may have other code in other spaces */
	uint8_t insns;		/* 0: a trap at the end of another run, or NONE: a pause */
	uint8_t type;		/* enum nt_type: the transfer from the last instruction */
};

#define SERVE_RUN_MAX	32

/* All runs of a recording, indexed by number */
struct serve_program {
	struct serve_run *run;
	uint32_t nr;
	uint32_t *bucket;	/* number + 1; 0: free */
	uint32_t nr_buckets;
	struct nt_path *path;
};

void serve_program_init(struct serve_program *p);
void serve_program_free(struct serve_program *p);

/* The address of instruction nth of a run. With nth == insns, the address after the run. */
static inline uint64_t serve_run_pc(const struct serve_run *run, unsigned int nth)
{
	uint64_t pc = run->pc;

	for (unsigned int i = 0; i < nth; i++)
		pc += 2 * ((run->halves >> 2 * i & 3) + 1);
	return pc;
}

/*
 * The number of the run with so many instructions, at most SERVE_RUN_MAX, from pc on. For a new
 * run, the code is read. Negative: there is no code, or out of memory.
 */
int64_t serve_program_run(struct serve_program *p, struct nt_code *code, uint64_t pc,
			  unsigned int insns, unsigned int type, uint32_t space);

/* The same for a run whose instructions are known, so that no code is read */
uint32_t serve_program_known(struct serve_program *p, const struct serve_run *run);

/* ------------------------------------------------------ serve-track.c ----- */

#ifndef SERVE_CHUNK	/* tests may use small ones */
#define SERVE_CHUNK	16384u	/* runs */
#endif
#define SERVE_FILTER	4096u	/* bits */

struct serve_frame {
	uint64_t from;		/* address of the call */
	uint64_t to;		/* address of the callee */
	uint64_t ret;		/* return address; for traps, the same as from */
	bool trap;
};

/* A chunk of runs, which is decoded as a whole. The state at its start is a checkpoint. */
struct serve_chunk {
	uint64_t insn;		/* index of its first instruction */
	bool paused;		/* between that instruction and the one before */
	uint8_t *bytes;
	uint32_t nr_bytes;
	uint32_t nr_runs;
	uint64_t filter[SERVE_FILTER / 64];	/* its runs, by number modulo SERVE_FILTER */
	/* the stack at its start: nr_same frames of the chunk before, and these inside of them */
	struct serve_frame *frame;
	uint32_t nr_same, nr_frames;
};

enum serve_mark_kind {
	SERVE_BEGIN,		/* trace begins, or another task's does; nothing is missing */
	SERVE_LOSS,		/* trace was lost */
	SERVE_GAP,		/* nothing was traced: trace was off, or the thread ran elsewhere */
};

/* A discontinuity between two instructions */
struct serve_mark {
	uint64_t insn;		/* index of the instruction after it */
	enum serve_mark_kind kind;
	char *text;
};

struct serve_time {
	uint64_t insn, time;
};

/* What a thread or a hart executed */
struct serve_track {
	struct serve_program *program;
	char name[32];
	int id;			/* of the task, the CPU or the source */
	int core;		/* -1: not known */
	uint64_t insns;
	uint64_t end_pc;	/* address of the next instruction */
	bool has_end_pc;
	struct serve_chunk *chunk;
	size_t nr_chunks;
	struct serve_mark *mark;
	size_t nr_marks;
	struct serve_time *time;
	size_t nr_times;
	struct serve_writer *writer;	/* while the track is being made */
};

struct serve_track *serve_track_new(struct serve_program *p, const char *name, int id);
void serve_track_free(struct serve_track *t);

/*
 * Add so many instructions, starting at pc. type: the transfer from the last one. Returns false if
 * there is no code.
 */
bool serve_track_add(struct serve_track *t, struct nt_code *code, uint64_t pc, uint64_t insns,
		     unsigned int type, uint32_t space);
/* The same for a run that is known */
void serve_track_put(struct serve_track *t, const struct serve_run *run);
/*
 * Add a mark before what is added next. Of several marks at a position, only one is kept: a loss
 * takes precedence over a gap, and a gap over a begin.
 */
void __attribute__((format(printf, 3, 4)))
serve_track_mark(struct serve_track *t, enum serve_mark_kind kind, const char *fmt, ...);
/*
 * What is added next happened at this time, or later. `edge': the thread stopped or continued at
 * this time. No instructions retired between the two.
 */
void serve_track_time(struct serve_track *t, uint64_t time, bool edge);
/*
 * What is added next continues the control flow, but other code may have been executed in between:
 * a system call, an interrupt.
 */
void serve_track_pause(struct serve_track *t, uint64_t pc);
/* The address where the track would continue, if known */
void serve_track_stop(struct serve_track *t, uint64_t pc, bool known);
/* Complete the track. */
void serve_track_end(struct serve_track *t);

/* The last position: after the last instruction, if the address of the next one is known */
static inline uint64_t serve_track_last(const struct serve_track *t)
{
	return t->has_end_pc || !t->insns ? t->insns : t->insns - 1;
}

/* The mark at a position, or NULL */
const struct serve_mark *serve_track_mark_at(const struct serve_track *t, uint64_t insn);
/* The index of the first mark at or after the position */
size_t serve_track_first_mark(const struct serve_track *t, uint64_t insn);

/* Returns false if the time is not known. */
bool serve_track_time_at(const struct serve_track *t, uint64_t insn, uint64_t *time);
/* The last position that is not later than the time; 0 if all are later */
uint64_t serve_track_at_time(const struct serve_track *t, uint64_t time);

/*
 * The first position that is later or, with `same', not earlier than the time; after the end if
 * there is none
 */
uint64_t serve_track_since(const struct serve_track *t, uint64_t time, bool same);

/* A decoded chunk; each thread of ntrace has its own view */
struct serve_view {
	const struct serve_track *track;
	size_t chunk;			/* SIZE_MAX: no chunk */
	uint32_t run[SERVE_CHUNK];
	uint32_t start[SERVE_CHUNK + 1];	/* instructions of the chunk before each run */
};

void serve_view_init(struct serve_view *v, const struct serve_track *t);
void serve_view_chunk(struct serve_view *v, size_t chunk);
/* The run that contains an instruction, and the instruction's index in it */
const struct serve_run *serve_view_at(struct serve_view *v, uint64_t insn, unsigned int *nth,
				      uint32_t *index);
/* The address of the next instruction at a position. Returns false if it is not known. */
bool serve_view_pc(struct serve_view *v, uint64_t insn, uint64_t *pc);
/* The space of the next instruction; at the end, that of the last one */
uint32_t serve_view_space(struct serve_view *v, uint64_t insn);

/* ------------------------------------------------------ serve-stack.c ----- */

struct serve_stack {
	struct serve_frame *frame;	/* the outermost frame first */
	size_t nr, room;
	size_t low;			/* minimum of nr since it was last set */
};

/* Forget all calls. */
static inline void serve_stack_forget(struct serve_stack *s)
{
	s->nr = s->low = 0;
}

/* Update the stack: after run `left', which ended as its type says, execution continues at pc. */
void serve_stack_step(struct serve_stack *s, const struct serve_run *left, uint64_t pc);
/* The call stack at a position. The caller frees the frames. */
struct serve_stack serve_stack_at(struct serve_view *v, uint64_t insn);

/* ------------------------------------------------------- serve-find.c ----- */

/* Addresses to search for */
struct serve_points {
	uint64_t *addr;		/* sorted */
	uint32_t *kinds;	/* of each address: a bit for each kind of breakpoint */
	size_t nr;
	/* of each run: a bit for each instruction at one of the addresses */
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

/* Check for an interrupt of the client during long operations. */
struct serve_interrupt {
	bool (*wanted)(void *ctx);	/* NULL: no interrupts */
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
 * Find the first position in (from, to] with one of the addresses, or, backwards, the last one in
 * [to, from). Only chunks with such runs are decoded, in at most this number of threads. Returns
 * false if there is none, or after an interrupt, which is checked for before each chunk.
 */
bool serve_find(struct serve_view *v, struct serve_points *p, uint64_t from, uint64_t to,
		unsigned int threads, struct serve_interrupt *interrupt, uint64_t *found);

/* ------------------------------------------------------ serve-infer.c ----- */

struct serve_infer;
struct serve_recording;

struct serve_infer *serve_infer_new(const struct serve_recording *r);
void serve_infer_free(struct serve_infer *s);
/* The value of x0 to x31 at a position. Returns false if it is not certain. */
bool serve_infer_reg(struct serve_infer *s, struct serve_view *v, uint64_t insn, unsigned int reg,
		     uint64_t *value);

/* ------------------------------------------------------- serve-files.c ---- */

/*
 * Memory from files that the program cannot write. The mappings may change: a part is valid in
 * spaces [from, to).
 */
struct serve_files {
	struct serve_part {
		uint64_t start, size;
		uint64_t offset;
		int fd;
		uint32_t from, to;
		uint32_t file;		/* number of its ELF file; 0: none */
	} *part;
	size_t nr;
	uint32_t space;			/* parts that are added are valid from this space on */
	uint32_t nr_files;
	int *fd;
	size_t nr_fds;
};

/*
 * Add the parts of an ELF file that cannot be written. Returns the number of the file, or 0 if it
 * is not one.
 */
uint32_t serve_files_add_elf(struct serve_files *f, const char *path, uint64_t bias);
/* Add a part of a file, which the caller keeps open. */
void serve_files_add(struct serve_files *f, int fd, uint64_t addr, uint64_t size, uint64_t offset);
bool serve_files_add_raw(struct serve_files *f, const char *path, uint64_t addr);
/* From the current space on, these addresses are mapped to something else. */
void serve_files_cut(struct serve_files *f, uint64_t start, uint64_t end);
/* From the current space on, the ELF file is not mapped any more; 0: no file is */
void serve_files_end(struct serve_files *f, uint32_t file);
/* Read up to len bytes in a space. Returns the number of bytes that are known. */
size_t serve_files_read(const struct serve_files *f, uint32_t space, uint64_t addr, void *buf,
			size_t len);
void serve_files_free(struct serve_files *f);

/* ---------------------------------------------------- what is served ------ */

/* GDB's register numbers: x0 to x31, pc, f0 to f31, fflags, frm, fcsr; followed by CSRs */
#define SERVE_REG_PC	32
#define SERVE_REG_F	33
#define SERVE_REG_FFLAGS	(SERVE_REG_F + 32)
#define SERVE_REGS	(SERVE_REG_FFLAGS + 3)

/* A CSR with a value in the trace, other than fflags, frm and fcsr */
struct serve_csr {
	uint16_t number;
	char name[16];
};

#define SERVE_CSRS	512u	/* limit, so that all registers fit into a packet */

/* A file that was mapped at these addresses, in spaces [from, to) */
struct serve_library {
	char *path;
	uint64_t start, end;
	uint32_t from, to;
	uint32_t file;			/* number in struct serve_files */
	bool shared;			/* in other spaces, another file was at these addresses */
	bool exec;			/* is the exec_file */
};

/* A watchpoint. kind as in GDB's packets: 2 writes, 3 reads, 4 both */
struct serve_watch {
	uint64_t addr, size;
	char kind;
};

struct serve_recording {
	const char *path;		/* of the recording */
	struct serve_program program;
	struct serve_track **track;
	size_t nr_tracks;
	unsigned int xlen, flen;	/* flen 0: no FPU */
	struct serve_csr *csr;
	size_t nr_csrs;
	struct serve_files files;
	/*
	 * The program, unless it is a Linux program. For Linux programs, GDB itself computes the
	 * target of a step, from registers that are not known. It does not do so if the program is
	 * one of the libraries.
	 */
	char *exec_file;		/* path of one of these: */
	struct serve_library *library;
	size_t nr_libraries;
	bool timed;			/* times are in ns of the recording's clock, not in ticks */
	/* The symbol of an address in a space; NULL: none */
	const char *(*symbol)(void *ctx, uint32_t space, uint64_t addr, uint64_t *offset);
	/* Registers (NT_TV_REG_ numbers) and memory at a position; NULL: not supported */
	bool (*reg)(void *ctx, const struct serve_track *t, uint64_t insn, unsigned int reg,
		    uint64_t *value);
	size_t (*memory)(void *ctx, const struct serve_track *t, uint64_t insn, uint64_t addr,
			 void *buf, size_t len);
	/*
	 * Find the instruction in [low, high) that accesses a watchpoint: the first one, or the
	 * last one when going back. Returns false if there is none. NULL: not supported
	 */
	bool (*touched)(void *ctx, const struct serve_track *t, uint64_t low, uint64_t high,
			bool back,
			const struct serve_watch *watch, size_t nr, uint64_t *found, size_t *which);
	void (*free)(void *ctx);
	void *ctx;
};

/* Read a recording. Ends the command if this is not possible. */
void serve_raw_open(struct serve_recording *r, struct input *in);
struct nt_tv_params;
/* A tandem-verification trace. `in' has the files of the program. */
void serve_tv_open(struct serve_recording *r, struct input *in, const struct nt_tv_params *params);
struct rec_options;
void serve_rec_open(struct serve_recording *r, const char *path, const struct rec_options *options);
/* Write the kernel's symbols in the recording as an ELF file for GDB's symbol-file. */
void serve_rec_write_symbols(struct serve_recording *r, const char *path);

/* ---------------------------------------------------- serve-symbols.c - */

struct symbols;

void serve_symbols_write(const struct symbols *symbols, const char *path, unsigned int xlen);
void serve_recording_free(struct serve_recording *r);
/* Add a program or a library, which is mapped from files.space on. */
void serve_recording_add_elf(struct serve_recording *r, const char *path, uint64_t bias);
/* The same, but first unmap all files at its addresses. */
void serve_recording_replace(struct serve_recording *r, const char *path, uint64_t bias);
/* Unmap the files at these addresses. */
void serve_recording_unmap(struct serve_recording *r, uint64_t start, uint64_t end);
/* Unmap everything from files.space on. */
void serve_recording_end(struct serve_recording *r);
/* Is the library reported to GDB while a thread is in this space? */
static inline bool serve_library_is_told(const struct serve_library *l, uint32_t space)
{
	return !l->exec && (!l->shared || (space >= l->from && space < l->to));
}
/* Add all files of the command line. */
void serve_recording_add_input(struct serve_recording *r, const struct input *in);

/* ----------------------------------------------------- serve-session.c ---- */

#define SERVE_PACKET_MAX	16384u

/* A growing text */
struct serve_text {
	char *s;
	size_t len, room;
};

void __attribute__((format(printf, 2, 3))) serve_text_put(struct serve_text *t, const char *fmt,
							  ...);
void serve_text_bytes(struct serve_text *t, const void *bytes, size_t len);

struct serve_options {
	unsigned int threads;
	uint64_t btrace;	/* maximum number of instructions in a branch trace */
	int out;		/* for packets, if the client uses standard input */
};

/* State of a connection with GDB */
struct serve_session {
	const struct serve_recording *rec;
	const struct serve_options *options;
	struct serve_view **view;	/* of each track; NULL: not used yet */
	uint64_t *at;			/* position in each track */
	bool *past;			/* after the last instruction; the next is not known */
	size_t followed;		/* track that determines the positions of the others */
	size_t current;			/* track that moved last */
	size_t chosen;			/* track chosen by Hg */
	bool told;			/* Hc names the thread to move; else the user's moves */
	size_t user;			/* track that the user looks at, as far as GDB reports it */
	unsigned int lists;		/* lists of threads read since the last move */
	struct serve_points points;
	struct serve_infer *infer;
	struct serve_watch *watch;
	size_t nr_watches;
	bool no_ack, swbreak, ended, btrace;
	uint64_t *btrace_sent;		/* of each track: end of what was sent; UINT64_MAX: none */
	void (*packet)(void *ctx, const char *data, size_t len);	/* sends a packet to GDB */
	void *ctx;
	struct serve_interrupt interrupt;	/* of a move: then nothing moves */
	struct serve_text object;	/* being read ... */
	char object_name[96];		/* ... under this name */
	struct serve_text reply;
};

void serve_session_init(struct serve_session *s, const struct serve_recording *r,
			const struct serve_options *options);
void serve_session_free(struct serve_session *s);
struct serve_view *serve_session_view(struct serve_session *s, size_t track);
/* A register of the chosen thread, by NT_TV_REG_ number. Returns false if it is not known. */
bool serve_session_reg(struct serve_session *s, unsigned int reg, uint64_t *value);
/* Handle a packet without its frame. A zero byte follows, which len does not count. */
void serve_session_packet(struct serve_session *s, const char *data, size_t len);
/* Print text on GDB's terminal. Only allowed before the reply to a move or to qRcmd. */
void __attribute__((format(printf, 2, 3))) serve_session_say(struct serve_session *s,
							     const char *fmt, ...);
void __attribute__((format(printf, 2, 3))) serve_session_reply(struct serve_session *s,
							       const char *fmt, ...);
void serve_session_thread_id(const struct serve_session *s, size_t track, char *text, size_t size);

/* ------------------------------------------------------- serve-move.c ----- */

enum serve_how { SERVE_STEP, SERVE_RANGE, SERVE_CONTINUE };

/* Move, forwards or backwards, and send a stop reply. `alone': other threads do not move. */
void serve_move(struct serve_session *s, enum serve_how how, bool back, uint64_t start,
		uint64_t end, bool alone);
/* Move all threads to where they were when this thread was at its position. */
void serve_move_sync(struct serve_session *s, size_t track);
/* Send the reason of the last stop. */
void serve_move_reason(struct serve_session *s);

/* ------------------------------------------------------ serve-object.c ---- */

/* Is any library in the list at any position? */
bool serve_object_has_libraries(const struct serve_recording *r);
/* Returns false if there is no such object. */
bool serve_object_make(struct serve_session *s, const char *object, const char *annex,
		       struct serve_text *text);

/* ----------------------------------------------------- serve-monitor.c ---- */

/* Handle a command. The output goes to serve_session_say(). */
void serve_monitor(struct serve_session *s, const char *command);

/* -------------------------------------------------------- serve-link.c ---- */

/*
 * Serve a client. `place' is PORT, HOST:PORT, or - for standard input and output. Returns when the
 * client has disconnected; false: the connection broke.
 */
bool serve_link(const struct serve_recording *r, const struct serve_options *options,
		const char *place);

#endif /* NTRACE_SERVE_H */
