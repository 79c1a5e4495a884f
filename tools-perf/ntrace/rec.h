/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A recording: a perf.data with N-Trace, decoded without perf
 *
 *	rec.c		open a recording; find its events and its trace
 *	rec-option.c	options: what to decode, and where files are
 *	rec-note.c	the other events, in the order of time
 *	rec-run.c	decode in the order of time, interleaved with the other events
 *	rec-parts.c	decode several parts of the time at once
 *	rec-queue.c	a buffer's windows -> control flow
 *	rec-flow.c	control flow -> branches and instructions
 *	rec-count.c	control flow -> how often each branch was taken
 *	rec-task.c	tasks and their mappings
 *	rec-code.c	code of processes and of the kernel
 *	rec-kcore.c	the kernel's text at the start and at the end
 *	rec-file.c	find the files that were recorded
 *	rec-symbol.c	symbols of addresses
 *	rec-program.c	find the program that was recorded
 *	rec-print.c	ntrace dump, stat and decode
 *	rec-line.c	branches and losses in the format of perf script
 *	rec-map.c	number -> pointer
 */
#ifndef NTRACE_REC_H
#define NTRACE_REC_H

#include "nt-perfdata.h"
#include "ntrace-info.h"
#include "nt-session.h"

#include "cmd.h"

/* ----------------------------------------------------------- rec-map.c -- */

/* A map from numbers to pointers; all zeros is an empty map */
struct rec_map {
	struct rec_entry {
		int64_t key;
		void *value;		/* NULL: free */
	} *entry;
	size_t room, used;
};

void *rec_map_find(const struct rec_map *map, int64_t key);
void rec_map_set(struct rec_map *map, int64_t key, void *value);
/* Returns the removed value, or NULL */
void *rec_map_remove(struct rec_map *map, int64_t key);
/* Iterate, starting with *at == 0; NULL at the end */
void *rec_map_next(const struct rec_map *map, size_t *at);
void rec_map_free(struct rec_map *map);

/* ------------------------------------------------------------ options --- */

/* The IDs or names to select; an empty list selects all */
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
	bool parts;			/* the times are in units of 1 / REC_PARTS */
	uint64_t memory;		/* limit for the command, in bytes; 0: none */
	const char *program;		/* fallback for a file that ran and is not found */
	unsigned int threads;		/* for rec_parts_run(); 0: one */
	bool one_by_one;		/* count no branches, see rec-count.c */
};

/* For argp_children; the parser's input is the struct rec_options. */
extern const struct argp rec_argp;

#define REC_PARTS	100000000	/* a millionth of a per cent each */

bool rec_list_has_id(const struct rec_list *list, int id);
bool rec_list_has_name(const struct rec_list *list, const char *name);

/* cpu -1: the trace is not that of a certain CPU */
static inline bool rec_cpu_is_wanted(const struct rec_options *o, int cpu)
{
	return cpu < 0 || !o->cpu || (cpu < o->nr_cpus && o->cpu[cpu]);
}

/* ----------------------------------------------------------- rec-file.c - */

/* A mapped file. All mappings with this name and build-id share it. */
struct rec_file {
	struct rec_file *next;
	char *name;			/* the name in the mapping event */
	struct nt_perfdata_build_id id;	/* size 0: not known */
	struct nt_perfdata_build_id own_id;	/* read from the file itself when it was opened */
	bool opened;
	int fd;				/* -1: not found */
	char *path;			/* of the file that was opened */
	bool vdso;
	struct symbols *symbols;
	struct rec_segment {
		uint64_t offset, size, addr;
		bool exec;
	} *segment;			/* the PT_LOAD segments */
	size_t nr_segments;
};

struct rec;

struct rec_file *rec_file_get(struct rec *rec, const char *name,
			      const struct nt_perfdata_build_id *id);
/* Read bytes at an offset; returns 0 if there are none */
int rec_file_read(struct rec *rec, struct rec_file *f, uint64_t offset, void *buf, size_t len);
/* Look for the file, once. Was it found? */
bool rec_file_open(struct rec *rec, struct rec_file *f);
/* The address that the ELF file gives to an offset; false: none */
bool rec_file_address(const struct rec_file *f, uint64_t offset, uint64_t *addr);
/* The build-id of an ELF file; size 0: none */
struct nt_perfdata_build_id rec_file_id(int fd);
void rec_files_free(struct rec *rec);

/* ----------------------------------------------------------- rec-task.c - */

struct rec_mapping {
	uint64_t start, end, offset;
	struct rec_file *file;
};

/* The address space of a process */
struct rec_space {
	struct rec *rec;
	int pid;
	struct rec_mapping *map;	/* sorted by address */
	size_t nr_maps;
	bool changed;			/* since `uncounted' was determined */
	bool uncounted;			/* do not count its branches, see rec-count.c */
	unsigned int users;		/* known tasks in this address space */
	bool at_end;			/* the kernel's text at the end of the recording */
	struct nt_code *code;
	/* the bytes read last */
	uint64_t chunk_addr;
	size_t chunk_len;
	uint8_t chunk[256];
};

struct rec_task {
	int pid, tid;			/* pid -1: not known */
	char comm[17];
	struct nt_session_syscall syscall;
	uint64_t image;			/* the process's exec when the task was created, or 0 */
	size_t born;			/* notes_done at its FORK event, or 0 */
	bool recorded;			/* an event has named it, not only trace */
	bool ended;			/* ... by an EXIT event at this time: */
	uint64_t end;
};

/* All idle tasks have tid 0, so cpu distinguishes them. */
struct rec_task *rec_task_get(struct rec *rec, int tid, int cpu);
/*
 * The task that the trace with this tid belongs to. When a thread executes a program, it takes over
 * the tid of its leader, and all other threads end. But the driver writes scontext only when a task
 * is switched in. Until then, Ownership messages have the thread's old tid.
 */
int rec_task_owner(const struct rec *rec, int tid);
struct rec_space *rec_space_get(struct rec *rec, int pid);
const struct rec_mapping *rec_space_find(const struct rec_space *space, uint64_t addr);
void rec_task_mmap(struct rec *rec, const struct nt_perfdata_mmap *m, bool kernel);
void rec_task_fork(struct rec *rec, int pid, int ppid, int tid, int ptid);
void rec_task_comm(struct rec *rec, int pid, int tid, const char *name, bool exec);
/* The task has ended. It is freed some time later, see rec-task.c. */
void rec_task_exit(struct rec *rec, int pid, int tid, uint64_t time);
/* NULL: the task has no address space, or it is not known */
struct rec_space *rec_task_space(struct rec *rec, const struct rec_task *task);
void rec_tasks_free(struct rec *rec);

/* ---------------------------------------------------------- rec-kcore.c - */

/* A copy of the kernel's text, made by perf record --kcore */
struct rec_kcore {
	int fd;				/* -1: no copy */
	struct rec_segment *segment;
	size_t nr_segments;
};

void rec_kcore_open(struct rec *rec);
void rec_kcore_close(struct rec *rec);
/*
 * @at_end: read the text at the end of the recording, not at its start. Returns 0 if there are no
 * bytes.
 */
size_t rec_kcore_read(struct rec *rec, bool at_end, uint64_t addr, void *buf, size_t len);
/* Warn once of each patched range in [pc, pc + len). */
void rec_kcore_ran(struct rec *rec, uint64_t pc, size_t len);

/* ----------------------------------------------------------- rec-code.c - */

/*
 * Set the parameters for decoding code. If they change, all code is decoded again.
 */
void rec_code_use(struct rec *rec, const struct nt_params *params);
struct nt_code *rec_code_user(struct rec *rec, struct rec_space *space);
struct nt_code *rec_code_kernel(struct rec *rec, bool at_end);
void rec_code_changed(struct rec_space *space, uint64_t start, uint64_t end);
void rec_code_kernel_changed(struct rec *rec, uint64_t start, uint64_t end);
/* Make all queues forget their code until they look it up again, so that code can be freed. */
void rec_code_release(struct rec *rec);
void rec_code_free(struct rec *rec);

/* --------------------------------------------------------- rec-symbol.c - */

/* The symbol that contains an address, and the offset in it; NULL: not known */
const char *rec_symbol(struct rec *rec, const struct rec_task *task, uint64_t addr,
		       uint64_t *offset);
/* The symbol at an offset in a file */
const char *rec_file_symbol(struct rec *rec, struct rec_file *f, uint64_t at, uint64_t *offset);
/* Symbols of the kernel and its modules; NULL: perf record --kcore did not copy kallsyms */
struct symbols *rec_kernel_symbols(struct rec *rec);
void rec_symbols_free(struct rec *rec);
/*
 * The recorded name of the file that is mapped at an address, and the offset in the file; false:
 * not known. space may be NULL.
 */
bool rec_place(struct rec *rec, const struct rec_space *space, uint64_t addr, const char **file,
	       uint64_t *offset);
/* The mapped file itself, since file names may not be unique; NULL: the kernel, or not known */
const struct rec_file *rec_file_at(const struct rec *rec, const struct rec_space *space,
				   uint64_t addr);

/* -------------------------------------------------------------- output -- */

struct rec_sample {
	uint64_t ip, addr, time;
	unsigned int flags;		/* of branches: enum nt_session_flag */
	unsigned int type;		/* enum nt_type; NT_TYPE_NONE where trace begins or ends */
	int cpu, pid, tid;
	struct rec_task *task;		/* NULL: not known */
	struct rec_space *space;	/* of the task; NULL: none */
	bool kernel_at_end;		/* the kernel's text is that of the end of the recording */
};

/* A loss. The codes, 1 to 6, are those of perf. */
struct rec_loss {
	unsigned int code;
	uint64_t ip, time;
	int cpu, pid, tid;
	const char *text;
};

struct rec_note;

/* Callbacks of a consumer; members may be NULL */
struct rec_output {
	void (*branch)(void *ctx, const struct rec_sample *sample);
	void (*insn)(void *ctx, const struct rec_sample *sample);
	void (*loss)(void *ctx, const struct rec_loss *loss);
	/* Trace stopped and was resumed in the same place at `until'. No branch reports this. */
	void (*pause)(void *ctx, const struct rec_sample *sample, uint64_t until);
	/* So many consecutive instructions, from ip on */
	void (*run)(void *ctx, const struct rec_sample *sample, uint32_t insns);
	/*
	 * For a consumer that only sums up branches. Branches between two other events may be
	 * counted instead of being delivered one by one. edge() is called with the sums when a
	 * mapping changes, and at the end. space: the address space of addresses outside of the
	 * kernel, or NULL. branch() is called for branches that were not counted. reach() is called
	 * with the address (addr) that a task has reached after counted branches.
	 */
	void (*edge)(void *ctx, const struct rec_space *space, const struct nt_edge *edge);
	void (*reach)(void *ctx, const struct rec_sample *sample);
	/*
	 * Does the consumer need to know when a run continues, without a branch, from the code of
	 * one file into that of the file mapped after it? Branches of such address spaces are not
	 * counted.
	 */
	bool (*enters)(void *ctx, const struct rec_file *from, const struct rec_file *to);
	/*
	 * A thread has ended, and no more of its trace will follow, so that its data can be freed.
	 * Called before anything is reported about a new thread with the same tid.
	 */
	void (*gone)(void *ctx, const struct rec_task *task);
	/* Any other event of the recording; called after it has taken effect */
	void (*note)(void *ctx, const struct rec_note *note);
	void *ctx;
};

/* ---------------------------------------------------------- rec-queue.c - */

/* The decoding state of an AUX buffer */
struct rec_queue {
	struct nt_session_queue s;
	struct rec *rec;
	struct rec_task *task;
	struct rec_space *space;
	int pid;
	size_t seen;		/* notes_done when the members above were looked up; 0: never */
	bool chosen;		/* looked up at the same time */
};

static inline struct rec_queue *rec_queue_of(struct nt_session_queue *s)
{
	return (struct rec_queue *)((char *)s - offsetof(struct rec_queue, s));
}

struct rec_queue *rec_queue_new(struct rec *rec, struct nt_session_buffer *buffer);
void rec_queue_free(struct rec_queue *q);
/* Decode events up to the time limit. Are there any? */
bool rec_queue_fetch(struct rec_queue *q, uint64_t limit);
/* Deliver the decoded events that are not later than until. */
void rec_queue_deliver(struct rec_queue *q, uint64_t until);
/* Deliver a stop that was held back since before that time: it is not a pause. */
void rec_queue_flush(struct rec_queue *q, uint64_t before);
void rec_queue_set_tid(struct rec_queue *q, int tid);
/*
 * All trace before the returned time has been decoded, except for a stop that is held back.
 * UINT64_MAX: all trace
 */
uint64_t rec_queue_done(struct rec_queue *q);
struct nt_code *rec_queue_code(struct rec_queue *q, uint64_t addr);
/* Do the ticks in this window's messages convert to the recording's time? */
bool rec_queue_is_timed(const struct rec *rec, const struct nt_session_window *w);

/* ----------------------------------------------------------- rec-flow.c - */

/* Is the queue at a CPU and task that were chosen? Ignores times. */
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

/*
 * The counts to add the next branches to, up to about the time *until; NULL: report the branches
 * one by one.
 */
struct nt_counts *rec_count(const struct rec_queue *q, uint64_t *until);
/* An address space was added. */
void rec_count_space(struct rec *rec);
/* The mappings in this range are about to change. */
void rec_count_changing(struct rec *rec, const struct rec_space *space, uint64_t start,
			uint64_t end);
/* Report the counts, and forget the messages that the library remembers. */
void rec_count_end(struct rec *rec);

/* --------------------------------------------------------- rec-note.c -- */

/* LOST_SAMPLES for samples that perf record dropped because of a filter */
#define REC_MISC_FILTERED	(1 << 15)

/* Another event of the recording */
struct rec_note {
	uint64_t time;
	uint32_t type;
	uint16_t misc;
	int32_t cpu;
	int32_t pid, tid;	/* of the record; SWITCH_CPU_WIDE, ITRACE_START: of the next task */
	int32_t ppid, ptid;
	uint64_t start, end;	/* the range of code that changes */
	const struct nt_perfdata_mmap *mmap;	/* MMAP, MMAP2 */
	const char *comm;
	uint64_t lost;		/* LOST, LOST_SAMPLES: number lost */
};

struct rec_notes {
	uint64_t nr;		/* number of all notes */
	uint64_t first;		/* the least time other than 0; UINT64_MAX: no note has a time */
	uint64_t *least;	/* least time in each block and in those after it, see rec-note.c */
	size_t nr_blocks, nr_in_file;
	struct rec_note **late;	/* notes without a time that follow notes with one */
	size_t nr_late;
	/* for reading: */
	struct nt_perfdata *pd;
	bool ended, timed;
	size_t nr_read, nr_queued;
	struct rec_waiting {
		uint64_t time;
		size_t order;
		struct rec_note *note;
		bool late;
	} *waiting, now;	/* a heap, with the earliest note first */
	size_t nr_waiting, room;
};

/*
 * Count a record on the first pass through the file. After that, notes can be read any number of
 * times.
 */
void rec_note_see(struct rec *rec, const struct nt_perfdata_record *r);
void rec_notes_seen(struct rec *rec);
void rec_notes_begin(struct rec *rec);
/*
 * The next note, in the order of time and, for equal times, of the file. Valid until the next call.
 * NULL: no more
 */
const struct rec_note *rec_note_next(struct rec *rec);
void rec_notes_free(struct rec *rec);

/* --------------------------------------------------------------- rec.c -- */

struct rec {
	const char *path;
	const struct rec_options *options;
	bool chosen;		/* only some CPUs, processes, threads or names are chosen */
	const struct rec_output *output;
	struct nt_perfdata *pd;
	char *damage;		/* error message about the file, or NULL */
	struct ntrace_info info;
	bool have_info;
	struct nt_session trace;
	struct nt_session_interval *wanted;	/* owned; `trace' points to it */
	struct rec_queue **queue;
	bool *ready;			/* does this queue have an event up to the current limit? */
	unsigned int nr_queues;
	size_t notes_done;		/* notes that took effect, plus 1 */
	struct rec_notes notes;
	const struct rec_note *note;	/* takes effect next */
	unsigned int part;		/* of rec_parts_run(): 0 is the first */
	bool skipping;			/* see rec_run_skip() */
	uint64_t begun;			/* when this part began; 0: it is the first one */
	bool used_ended;		/* it used a task that had ended before it began */
	uint64_t until;			/* this part ends then; 0: at the end of the recording */
	char **told;			/* warnings; only the first part prints them */
	size_t nr_told;
	bool forked;			/* tasks were created while recording */
	bool told_blind, told_exec;	/* see rec-run.c */
	bool partial;		/* it contains only snapshots or samples of the trace */
	unsigned long losses;
	uint64_t lost;		/* events that were lost while recording */
	uint64_t lost_samples;
	uint64_t insns;		/* retired instructions of what was chosen */
	struct rec_map tasks, spaces;
	uint64_t images;	/* execs so far */
	unsigned int spaces_made;	/* since counts were reported, see rec-count.c */
	struct rec_ended {
		int tid;
		uint64_t time;
	} *ended;		/* tasks that are not freed yet */
	size_t nr_ended, ended_left;	/* and how many the last search kept */
	bool keep_tasks;		/* also those that have ended */
	struct rec_file *files;
	struct rec_kcore kcore[2];	/* at the start and at the end */
	struct nt_session_patches patches;
	struct rec_space *kernel[2];
	struct symbols *kernel_symbols;
	bool kernel_symbols_read;
	struct nt_store *store;
	struct nt_params code_params;
	/* see rec-count.c; NULL: none */
	struct nt_counts *counts;	/* of the output */
	struct nt_counts *skipped;	/* of what is not wanted */
};

/* Options for recordings were given for something else: ends the command */
void rec_refuse_options(const struct rec_options *options, const char *what);
/*
 * Options for raw traces were given for a recording, which contains this information: ends the
 * command
 */
void rec_refuse_input(const struct input *in);
/*
 * Parse the arguments of a command that takes a raw trace or a perf.data. Ends the command for
 * options of the other kind. Is FILE a perf.data?
 */
bool rec_parse_either(const char *doc, int argc, char **argv, struct input *in,
		      struct rec_options *options);
void rec_options_free(struct rec_options *options);

/*
 * Is it a perf.data, as a file or a folder? False for a pipe, because bytes that were read for this
 * test would be missing later. Ends the command if there is no such file.
 */
bool rec_is_data(const char *path);

/* Open a recording. Ends the command if it has no N-Trace, or cannot be decoded. */
void rec_open(struct rec *rec, const char *path, const struct rec_options *options);
/* The same for a part of rec_parts_run() */
void rec_open_part(struct rec *rec, const char *path, const struct rec_options *options,
		   unsigned int part);
/* warn(), once for equal text; what other parts than the first say waits until all are decoded. */
void __attribute__((format(printf, 2, 3))) rec_warn(struct rec *rec, const char *fmt, ...);
void rec_free(struct rec *rec);

/*
 * The index of the wanted interval that contains the time. The number of intervals, if none does or
 * if all times are wanted.
 */
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

/* Decode what was chosen. */
void rec_run(struct rec *rec, const struct rec_output *output);

/*
 * The same in steps. rec_run_skip() may follow rec_run_begin(), even several times: it decodes what
 * is needed to begin at that time, and reports nothing. rec_run_until() reports what is not later
 * than that time and was not decoded before.
 */
void rec_run_begin(struct rec *rec, const struct rec_output *output);
void rec_run_skip(struct rec *rec, uint64_t time);
void rec_run_until(struct rec *rec, uint64_t time);

/* --------------------------------------------------------- rec-parts.c -- */

/* How a consumer takes parts. ctx is that of the struct rec_output of the first part. */
struct rec_parts {
	/* The output for another part, which rec is decoded for. Called in another thread */
	struct rec_output (*begin)(void *ctx, struct rec *rec);
	/* Add the results of the next part, whose output has the context `other'. */
	void (*append)(void *ctx, void *other);
	void (*drop)(void *other);
};

/*
 * Like rec_run(), but in rec->options->threads threads if the recording can be divided. The
 * consumer gets the same, except that some branches may come counted or one by one. What it
 * remembers from one event to the next is unknown at the beginning of a part.
 */
void rec_parts_run(struct rec *rec, const struct rec_output *output, const struct rec_parts *parts);

struct perf_event_line;

/* A line as perf script would print it, but without symbols */
void rec_line_branch(struct rec *rec, const struct rec_sample *s, struct perf_event_line *line);
/* Convert the flags of a struct rec_sample. */
unsigned int rec_line_flags(unsigned int flags);
void rec_line_loss(struct rec *rec, const struct rec_loss *loss, struct perf_event_line *line);

/*
 * The file of the only program that was started while recording. The caller frees it. Ends the
 * command if there were several, listing their names, or none.
 */
char *rec_program(const char *path, const struct rec_options *options);

/* Report damage of the file and the number of losses on stderr. Returns the exit status. */
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
