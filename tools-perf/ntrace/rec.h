/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A recording: a perf.data with N-Trace in it, decoded without perf
 *
 *	rec.c		opening; what was recorded, and where its trace is
 *	rec-option.c	what to decode of it, and where files are
 *	rec-note.c	the other events, in the order of time
 *	rec-run.c	decoding in the order of time, other events between
 *	rec-queue.c	a buffer's windows -> control flow
 *	rec-flow.c	control flow -> branches and instructions
 *	rec-count.c	control flow -> how often each branch was taken
 *	rec-task.c	tasks, and what they have mapped
 *	rec-code.c	bytes of code, of processes and of the kernel
 *	rec-kcore.c	the kernel's text at the start and at the end
 *	rec-file.c	which file here is the one that was recorded
 *	rec-symbol.c	names of addresses
 *	rec-program.c	which program was recorded
 *	rec-print.c	ntrace dump, stat and decode
 *	rec-line.c	in the words of perf script
 *	rec-map.c	number -> pointer
 */
#ifndef NTRACE_REC_H
#define NTRACE_REC_H

#include "nt-perfdata.h"
#include "ntrace-info.h"
#include "nt-session.h"

#include "cmd.h"

/* ----------------------------------------------------------- rec-map.c -- */

/* Pointers by number; none at first */
struct rec_map {
	struct rec_entry {
		int64_t key;
		void *value;		/* NULL: free */
	} *entry;
	size_t room, used;
};

void *rec_map_find(const struct rec_map *map, int64_t key);
void rec_map_set(struct rec_map *map, int64_t key, void *value);
/* What was there, or NULL */
void *rec_map_remove(struct rec_map *map, int64_t key);
/* From *at == 0 on; NULL behind the last */
void *rec_map_next(const struct rec_map *map, size_t *at);
void rec_map_free(struct rec_map *map);

/* ------------------------------------------------------------ options --- */

/* Numbers or names of which one is meant; none: all are */
struct rec_list {
	int *id;
	char **name;
	size_t nr;
};

struct rec_options {
	const char *symfs;		/* NULL: / */
	const char *buildid_dir;	/* NULL: ~/.debug */
	bool *cpu;			/* NULL: all */
	int nr_cpus;
	struct rec_list pids, tids, comms;
	struct nt_session_interval *time;	/* in ns, or in parts of the recording; none: all */
	size_t nr_times;
	bool parts;			/* of REC_PARTS */
	uint64_t memory;		/* bytes for all; 0: as much as there is */
	const char *program;		/* a file that ran, if it is nowhere else */
};

/* For argp_children; the parser's input is the struct rec_options. */
extern const struct argp rec_argp;

#define REC_PARTS	100000000	/* a millionth of a per cent each */

bool rec_list_has_id(const struct rec_list *list, int id);
bool rec_list_has_name(const struct rec_list *list, const char *name);

/* -1 is no CPU's */
static inline bool rec_cpu_is_wanted(const struct rec_options *o, int cpu)
{
	return cpu < 0 || !o->cpu || (cpu < o->nr_cpus && o->cpu[cpu]);
}

/* ----------------------------------------------------------- rec-file.c - */

/* A file that was mapped: the same wherever it was, as long as its build-id is */
struct rec_file {
	struct rec_file *next;
	char *name;			/* as it was mapped */
	struct nt_perfdata_build_id id;	/* size 0: not known */
	struct nt_perfdata_build_id own_id;	/* as it has it itself, once it was opened */
	bool opened;
	int fd;				/* -1: not found */
	char *path;			/* where it was found */
	bool vdso;
	struct symbols *symbols;
	struct rec_segment {
		uint64_t offset, size, addr;
		bool exec;
	} *segment;			/* those that are loaded */
	size_t nr_segments;
};

struct rec;

struct rec_file *rec_file_get(struct rec *rec, const char *name,
			      const struct nt_perfdata_build_id *id);
/* Bytes at an offset; 0 if there are none */
int rec_file_read(struct rec *rec, struct rec_file *f, uint64_t offset, void *buf, size_t len);
/* Look for it, once: was it found? */
bool rec_file_open(struct rec *rec, struct rec_file *f);
/* The address that the file itself has for an offset; false: none */
bool rec_file_address(const struct rec_file *f, uint64_t offset, uint64_t *addr);
/* The build-id of an ELF file; size 0: it has none */
struct nt_perfdata_build_id rec_file_id(int fd);
void rec_files_free(struct rec *rec);

/* ----------------------------------------------------------- rec-task.c - */

struct rec_mapping {
	uint64_t start, end, offset;
	struct rec_file *file;
};

/* An address space, of a process */
struct rec_space {
	struct rec *rec;
	int pid;
	struct rec_mapping *map;	/* by address */
	size_t nr_maps;
	bool changed;			/* since `uncounted' was found out */
	bool uncounted;			/* its branches are not to be counted, see rec-count.c */
	unsigned int users;		/* tasks that are known to have it */
	bool at_end;			/* the kernel's: as it was when recording ended */
	struct nt_code *code;
	/* what was read last */
	uint64_t chunk_addr;
	size_t chunk_len;
	uint8_t chunk[256];
};

struct rec_task {
	int pid, tid;			/* pid -1: not known */
	char comm[17];
	uint64_t syscall_ip;		/* of the ECALL that it is in, or 0 */
	uint64_t image;			/* number of its process's exec when it came, or 0 */
	bool ended;			/* ... at the time of its EXIT: */
	uint64_t end;
};

/* The idle tasks have one number between them: they are told apart by CPU. */
struct rec_task *rec_task_get(struct rec *rec, int tid, int cpu);
/*
 * Whose trace is it that has the number of this task? A thread that executes a program takes its
 * leader's number, and no other thread is left. But scontext, which the driver writes when a task is
 * switched in, and so the Ownership messages, have its old number until then.
 */
int rec_task_owner(const struct rec *rec, int tid);
struct rec_space *rec_space_get(struct rec *rec, int pid);
const struct rec_mapping *rec_space_find(const struct rec_space *space, uint64_t addr);
void rec_task_mmap(struct rec *rec, const struct nt_perfdata_mmap *m, bool kernel);
void rec_task_fork(struct rec *rec, int pid, int ppid, int tid, int ptid);
void rec_task_comm(struct rec *rec, int pid, int tid, const char *name, bool exec);
/* It has ended. What is known of it is freed some time behind, see rec-task.c. */
void rec_task_exit(struct rec *rec, int pid, int tid, uint64_t time);
/* NULL: it has none, or is not known */
struct rec_space *rec_task_space(struct rec *rec, const struct rec_task *task);
void rec_tasks_free(struct rec *rec);

/* ---------------------------------------------------------- rec-kcore.c - */

/* A copy of the kernel's text, as perf record --kcore makes them */
struct rec_kcore {
	int fd;				/* -1: there is none */
	struct rec_segment *segment;
	size_t nr_segments;
};

void rec_kcore_open(struct rec *rec);
void rec_kcore_close(struct rec *rec);
/* @at_end: as it was when recording ended, not when it started. 0: there are no bytes */
size_t rec_kcore_read(struct rec *rec, bool at_end, uint64_t addr, void *buf, size_t len);
/* Warn once of each patched range in [pc, pc + len). */
void rec_kcore_ran(struct rec *rec, uint64_t pc, size_t len);

/* ----------------------------------------------------------- rec-code.c - */

/* Code is read with the terms in mind: other terms, other reading. */
void rec_code_use(struct rec *rec, const struct nt_params *params);
struct nt_code *rec_code_user(struct rec *rec, struct rec_space *space);
struct nt_code *rec_code_kernel(struct rec *rec, bool at_end);
void rec_code_changed(struct rec_space *space, uint64_t start, uint64_t end);
void rec_code_kernel_changed(struct rec *rec, uint64_t start, uint64_t end);
/* Nobody is at any code any more, until it is looked up again: some of it may be freed. */
void rec_code_release(struct rec *rec);
void rec_code_free(struct rec *rec);

/* --------------------------------------------------------- rec-symbol.c - */

/* The name of what an address is in, and how far; NULL: not known */
const char *rec_symbol(struct rec *rec, const struct rec_task *task, uint64_t addr,
		       uint64_t *offset);
/* Of an offset in a file */
const char *rec_file_symbol(struct rec *rec, struct rec_file *f, uint64_t at, uint64_t *offset);
/* Those of the kernel and its modules; NULL: perf record --kcore did not copy them */
struct symbols *rec_kernel_symbols(struct rec *rec);
void rec_symbols_free(struct rec *rec);
/*
 * The file that an address is in, by its recorded name, and where in it; false: not known. space may
 * be NULL.
 */
bool rec_place(struct rec *rec, const struct rec_space *space, uint64_t addr, const char **file,
	       uint64_t *offset);
/* The file itself, which another one may share its name with; NULL: the kernel, or not known */
const struct rec_file *rec_file_at(const struct rec *rec, const struct rec_space *space,
				   uint64_t addr);

/* -------------------------------------------------------------- output -- */

struct rec_sample {
	uint64_t ip, addr, time;
	unsigned int flags;		/* of branches: enum nt_session_flag */
	unsigned int type;		/* enum nt_type; NT_TYPE_NONE where trace begins or ends */
	int cpu, pid, tid;
	struct rec_task *task;		/* NULL: not known */
	struct rec_space *space;	/* its; NULL: it has none */
	bool kernel_at_end;		/* the kernel's code was that of the recording's end */
};

/* A loss: code as perf has it, 1 to 6 */
struct rec_loss {
	unsigned int code;
	uint64_t ip, time;
	int cpu, pid, tid;
	const char *text;
};

struct rec_note;

/* Who wants what; members may be NULL */
struct rec_output {
	void (*branch)(void *ctx, const struct rec_sample *sample);
	void (*insn)(void *ctx, const struct rec_sample *sample);
	void (*loss)(void *ctx, const struct rec_loss *loss);
	/* Trace stopped, and went on at `until' where it had stopped: no branch tells that. */
	void (*pause)(void *ctx, const struct rec_sample *sample, uint64_t until);
	/* So many instructions from ip on, one behind the other */
	void (*run)(void *ctx, const struct rec_sample *sample, uint32_t insns);
	/*
	 * For a consumer that only adds branches up. Branches between two other events may be counted
	 * instead of being delivered one by one; edge is called with the sums when a mapping changes,
	 * and at the end. space: of addresses that are not the kernel's, or NULL. branch is called for
	 * the branches that were not counted, and reach where counted ones led a task to: addr.
	 */
	void (*edge)(void *ctx, const struct rec_space *space, const struct nt_edge *edge);
	void (*reach)(void *ctx, const struct rec_sample *sample);
	/*
	 * Is it to be known when a run goes on, without a branch, from code of one file to that of the
	 * other, mapped behind it? Of such tasks no branches are counted.
	 */
	bool (*enters)(void *ctx, const struct rec_file *from, const struct rec_file *to);
	/*
	 * A thread has ended, and no more will come of it: what is known of it can be freed. Of a thread
	 * that has the same number later, nothing is said before this.
	 */
	void (*gone)(void *ctx, const struct rec_task *task);
	/* Any other event of the recording; it has taken effect */
	void (*note)(void *ctx, const struct rec_note *note);
	void *ctx;
};

/* ---------------------------------------------------------- rec-queue.c - */

/* One AUX buffer on its way through the decoder */
struct rec_queue {
	struct nt_session_queue s;
	struct rec *rec;
	struct rec_task *task;
	struct rec_space *space;
	int pid;
	size_t seen;		/* notes before these were looked up; 0: not looked up ... */
	bool chosen;		/* ... and this */
};

static inline struct rec_queue *rec_queue_of(struct nt_session_queue *s)
{
	return (struct rec_queue *)((char *)s - offsetof(struct rec_queue, s));
}

struct rec_queue *rec_queue_new(struct rec *rec, struct nt_session_buffer *buffer);
void rec_queue_free(struct rec_queue *q);
/* Have events ready that are not later than limit: are there any? */
bool rec_queue_fetch(struct rec_queue *q, uint64_t limit);
/* Use up what was fetched, as far as it is not later than until. */
void rec_queue_deliver(struct rec_queue *q, uint64_t until);
/* What is held back since before that time is true. */
void rec_queue_flush(struct rec_queue *q, uint64_t before);
void rec_queue_set_tid(struct rec_queue *q, int tid);
/* All trace before that time has been decoded, but for what is held back: UINT64_MAX all there is */
uint64_t rec_queue_done(struct rec_queue *q);
struct nt_code *rec_queue_code(struct rec_queue *q, uint64_t addr);

/* ----------------------------------------------------------- rec-flow.c - */

/* Does it belong to what was chosen, whatever the time? */
bool rec_flow_is_chosen(const struct rec_queue *q);
/* See struct nt_session_host */
int rec_flow_range(struct nt_session_queue *s, uint32_t insns);
int rec_flow_branch(struct nt_session_queue *s, const struct nt_event *ev);
int rec_flow_start(struct nt_session_queue *s, const struct nt_event *ev);
int rec_flow_stop(struct nt_session_queue *s, const struct nt_event *ev);
int rec_flow_pause(struct nt_session_queue *s);
int rec_flow_other(struct nt_session_queue *s, const struct nt_event *ev);
int rec_flow_loss(struct nt_session_queue *s, enum nt_session_loss code, uint64_t ip,
		  const char *text);
int rec_flow_no_code(struct nt_session_queue *s, const struct nt_event *ev);
const char *rec_flow_place(struct nt_session_queue *s, uint64_t addr);

/* --------------------------------------------------------- rec-count.c -- */

/* What the branches that follow may be added to; NULL: they are to be told one by one. */
struct nt_counts *rec_count(const struct rec_queue *q);
/* There is one more address space. */
void rec_count_space(struct rec *rec);
/* Something else is going to be mapped there. */
void rec_count_changing(struct rec *rec, const struct rec_space *space, uint64_t start,
			uint64_t end);
/* Tell what was counted; what messages stand for is forgotten, too. */
void rec_count_end(struct rec *rec);

/* --------------------------------------------------------- rec-note.c -- */

/* LOST_SAMPLES of what a filter of perf record left out, as it was told to */
#define REC_MISC_FILTERED	(1 << 15)

/* Another event of the recording */
struct rec_note {
	uint64_t time;
	uint32_t type;
	uint16_t misc;
	int32_t cpu;
	int32_t pid, tid;	/* of the record; of SWITCH_CPU_WIDE, ITRACE_START: who comes */
	int32_t ppid, ptid;
	uint64_t start, end;	/* of code that changes */
	const struct nt_perfdata_mmap *mmap;	/* MMAP, MMAP2 */
	const char *comm;
	uint64_t lost;		/* LOST, LOST_SAMPLES: so many */
};

struct rec_notes {
	uint64_t nr;		/* all that there are */
	uint64_t first;		/* the least time but 0; UINT64_MAX: none has one */
	uint64_t *least;	/* of each block of the file and those behind it, see rec-note.c */
	size_t nr_blocks, nr_in_file;
	struct rec_note **late;	/* those without a time that come behind some with one */
	size_t nr_late;
	/* while they are read: */
	struct nt_perfdata *pd;
	bool ended, timed;
	size_t nr_read, nr_queued;
	struct rec_waiting {
		uint64_t time;
		size_t order;
		struct rec_note *note;
		bool late;
	} *waiting, now;	/* a heap, the next one in front */
	size_t nr_waiting, room;
};

/* A record of the recording: all are seen once, and then read as often as need be. */
void rec_note_see(struct rec *rec, const struct nt_perfdata_record *r);
void rec_notes_seen(struct rec *rec);
void rec_notes_begin(struct rec *rec);
/* In the order of time, and of the file. Valid until the next call. NULL: there are no more */
const struct rec_note *rec_note_next(struct rec *rec);
void rec_notes_free(struct rec *rec);

/* --------------------------------------------------------------- rec.c -- */

struct rec {
	const char *path;
	const struct rec_options *options;
	bool chosen;		/* CPUs, processes, threads or names of the recording, not all */
	const struct rec_output *output;
	struct nt_perfdata *pd;
	char *damage;		/* what is wrong with the file, or NULL */
	struct ntrace_info info;
	bool have_info;
	struct nt_session trace;
	struct nt_session_interval *wanted;	/* its */
	struct rec_queue **queue;
	unsigned int nr_queues;
	size_t notes_done;		/* that had effect, and 1 */
	struct rec_notes notes;
	bool forked;			/* tasks came while it was recorded */
	bool told_blind, told_exec;	/* see rec-run.c */
	bool partial;		/* it has snapshots, or samples, of the trace only */
	unsigned long losses;
	uint64_t lost;		/* other events, while it was recorded */
	uint64_t lost_samples;
	uint64_t insns;		/* retired, of what was chosen */
	struct rec_map tasks, spaces;
	uint64_t images;	/* execs so far */
	unsigned int spaces_made;	/* since counts were told, see rec-count.c */
	struct rec_ended {
		int tid;
		uint64_t time;
	} *ended;		/* tasks that are not freed yet */
	size_t nr_ended, ended_left;	/* and how many the last search left */
	bool keep_tasks;		/* even those that have ended */
	struct rec_file *files;
	struct rec_kcore kcore[2];	/* of the start, and of the end */
	struct nt_session_patches patches;
	struct rec_space *kernel[2];
	struct symbols *kernel_symbols;
	bool kernel_symbols_read;
	struct nt_store *store;
	struct nt_params code_params;
	struct nt_counts *counts;	/* see rec-count.c; NULL: none */
};

/* Options of a recording were given for what is none: ends the command */
void rec_refuse_options(const struct rec_options *options, const char *what);
/* The other way round: a recording tells itself what ran, and how its trace was made. */
void rec_refuse_input(const struct input *in);
/*
 * The arguments of a command that takes a raw trace or a perf.data.  Ends the command for options
 * that the other one has.  Is FILE a perf.data?
 */
bool rec_parse_either(const char *doc, int argc, char **argv, struct input *in,
		      struct rec_options *options);
void rec_options_free(struct rec_options *options);

/*
 * Is it a perf.data, a file or a folder?  What is read of a pipe would be missing afterwards.
 * Ends the command where there is no such file.
 */
bool rec_is_data(const char *path);

/* Find out what was recorded. Ends the command if that is not N-Trace, or cannot be decoded. */
void rec_open(struct rec *rec, const char *path, const struct rec_options *options);
void rec_free(struct rec *rec);

/* The number of the wanted interval that has the time; their number: none has, or all times are wanted */
static inline unsigned int rec_interval(const struct rec *rec, uint64_t time)
{
	size_t i;

	for (i = 0; i < rec->trace.nr_wanted; i++)
		if (time >= rec->trace.wanted[i].from && time <= rec->trace.wanted[i].to)
			break;
	return (unsigned int)i;
}

static inline bool rec_time_is_wanted(const struct rec *rec, uint64_t time)
{
	return !rec->trace.nr_wanted || nt_session_time_is_wanted(&rec->trace, time);
}

/* Decode all that was chosen. */
void rec_run(struct rec *rec, const struct rec_output *output);

struct perf_event_line;

/* As perf script would print it, but without symbols */
void rec_line_branch(struct rec *rec, const struct rec_sample *s, struct perf_event_line *line);
/* Of flags as struct rec_sample has them */
unsigned int rec_line_flags(unsigned int flags);
void rec_line_loss(struct rec *rec, const struct rec_loss *loss, struct perf_event_line *line);

/*
 * The file of the one program that was started while it was recorded, the caller's to free. Ends the
 * command, with their names, if there were several, or none.
 */
char *rec_program(const char *path, const struct rec_options *options);

/* Say on stderr what was wrong: the file's damage, how many losses. Exit status */
int rec_status(const struct rec *rec);

/* ntrace dump, stat and decode of a recording; return an exit status. */
int rec_dump(const char *path, const struct rec_options *options);
int rec_stat(const char *path, const struct rec_options *options);
int rec_decode(const char *path, const struct rec_options *options, bool branches, bool marks);

static inline bool rec_is_kernel(const struct rec *rec, uint64_t addr)
{
	return addr >= ntrace_info_kernel_start(&rec->info);
}

#endif /* NTRACE_REC_H */
