/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ntrace record: events of the kernel's, their buffers, and the perf.data that they are written to
 */
#ifndef NTRACE_CAPTURE_H
#define NTRACE_CAPTURE_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include "nt-perfdata.h"
#include "ntrace-info.h"
#include "../arch/riscv/util/ntrace-pmu.h"

/* Numbers from the command line or from sysfs: CPUs, processes, threads */
struct capture_list {
	int *id;
	size_t nr;
};

struct capture_options {
	const char *event, *output, *filter;
	bool all;			/* all CPUs */
	struct capture_list cpus, pids, tids;
	uint64_t data_size, aux_size;	/* bytes, 0: what fits */
	uint64_t duration;		/* in ns, 0: until it ends by itself */
	bool kcore;
	bool snapshots, snapshot_at_end;
	uint64_t snapshot_size;
	bool switches, switch_by_signal;
	uint64_t switch_size, switch_time;	/* bytes, ns; 0: none */
	uint64_t sample_size;			/* bytes of trace with each sample */
	unsigned int sample_freq;		/* in Hz, 0: not given */
	unsigned int switch_files;		/* so many are kept, 0: all */
	char **command;			/* or NULL */
	int argc;			/* of all, for the header */
	char **argv;
};

/* One kind of event, which is open for each CPU and task */
struct capture_event {
	struct perf_event_attr attr;
	char *name;
	uint64_t *id;
	size_t nr_ids;
};

enum {
	EVENT_TRACE,		/* ntrace: the trace itself */
	EVENT_TASKS,		/* dummy: names, mappings, forks, switches */
	NR_EVENTS = 4		/* with those that not every recording has */
};

struct capture_fd {
	int fd;
	unsigned int event, ring;
	int cpu;
	pid_t tid;		/* -1: of a CPU */
	uint64_t id;
};

/* What the events of a CPU write to */
struct capture_ring {
	int cpu, fd;
	pid_t tid;		/* the first task's, -1: of a CPU */
	bool encoder;		/* so there is trace */
	struct perf_event_mmap_page *page;
	uint8_t *data;
	uint8_t *aux;		/* or NULL */
	uint64_t aux_old;	/* trace before it is in the file */
	unsigned int stopped;	/* the driver had no room, and may stand still: tries left */
};

/* Bytes that grow */
struct capture_bytes {
	uint8_t *p;
	size_t len, room;
};

void capture_put(struct capture_bytes *b, const void *bytes, size_t len);
void capture_put32(struct capture_bytes *b, uint32_t val);
void capture_put64(struct capture_bytes *b, uint64_t val);
/* Filled up with zeros to a multiple of `align' */
void capture_put_text(struct capture_bytes *b, const char *text, size_t align);

/* --- capture-file.c: the perf.data --------------------------------------------- */

struct capture_file {
	char *path;			/* as given */
	char *data;			/* the file itself: of a folder the one in it */
	int fd;
	uint64_t at;			/* where the next byte goes */
	uint64_t start;			/* of the data section */
	struct capture_bytes waiting;	/* not written yet */
	uint64_t *trace;		/* where the records of trace are */
	size_t nr_traces;
	int error;			/* errno: nothing more is written */
	struct capture_bytes features;	/* what stands behind the data */
};

struct capture;

void capture_file_open(struct capture *c);
void capture_file_discard(struct capture *c);
/* A folder that is a recording, if there is one */
void capture_file_remove_folder(const char *path);
void capture_file_begin(struct capture *c);
void capture_file_write(struct capture *c, const void *bytes, size_t len);
/* Trace of a ring from `offset' on, in two parts as it lies there */
void capture_file_trace(struct capture *c, unsigned int ring, uint64_t offset,
			const uint8_t *part[2], const size_t len[2]);
void capture_file_mark(struct capture *c, uint32_t type);
void capture_file_flush(struct capture *c);
void capture_file_round(struct capture *c);
void capture_file_end(struct capture *c);

/* --- capture-header.c: what stands behind the data ----------------------------- */

void capture_header_make(struct capture *c, struct capture_bytes *b, uint64_t at,
			 uint64_t *features);

/* --- capture-build-id.c: which files ran --------------------------------------- */

#define BUILD_ID_MAX	20

struct capture_file_id {
	struct capture_file_id *next;
	uint16_t misc;
	int32_t pid;
	uint8_t size, id[BUILD_ID_MAX];
	uint64_t dev, ino;	/* of a file without one; 0: not known */
	char *name;
};

/* @size: of the build-id; 0: there is none, and `id' is NULL or maj, min and ino of MMAP2 */
void capture_build_id_note(struct capture *c, uint16_t misc, const char *name, const uint8_t *id,
			   unsigned int size);
/* Of a file, or of notes as /sys has them: its size, 0 without one */
unsigned int capture_build_id_read(const char *path, uint8_t id[BUILD_ID_MAX]);
unsigned int capture_build_id_notes(const char *path, uint8_t id[BUILD_ID_MAX]);

/* --- capture-ring.c: the buffers ----------------------------------------------- */

void capture_ring_map(struct capture *c, unsigned int ring);
/* Writes what came since the last time. True: there was something. */
bool capture_ring_drain(struct capture *c, unsigned int ring, bool to_the_end);
/* Has any to be drained again soon? */
bool capture_ring_stopped(const struct capture *c);
void capture_ring_snapshot(struct capture *c, unsigned int ring);

/* --- capture-open.c: events ---------------------------------------------------- */

void capture_open(struct capture *c);
void capture_enable(struct capture *c, bool on);
void capture_close(struct capture *c);

/* --- capture-error.c: errors in words ------------------------------------------ */

void __attribute__((noreturn)) capture_die_pmu(void);
void __attribute__((noreturn)) capture_die_open(const struct capture *c, unsigned int event,
						int cpu, pid_t tid, int err);
void __attribute__((noreturn)) capture_die_map(const struct capture *c, bool aux, int err);
void capture_say(bool error, const char *text);
bool capture_may_lock(void);
/* kernel.NAME, or `otherwise' */
long capture_sysctl(const char *name, long otherwise);

/* --- capture-event.c: what -e says ---------------------------------------------- */

void capture_event_parse(struct capture *c, const char *text, uint64_t kept);

/* --- capture-symbol.c: the kernel's symbols ------------------------------------- */

struct capture_symbol {
	uint64_t addr;
	const char *name;	/* `len' bytes */
	size_t len;
	bool module;		/* of a module's, or of code that the kernel compiled */
};

int capture_read_file(const char *path, struct capture_bytes *b);
const char *capture_symbols(struct capture *c);
bool capture_symbol_next(const char **at, struct capture_symbol *s);

static inline bool capture_symbol_is(const struct capture_symbol *s, const char *name)
{
	return s->len == strlen(name) && !memcmp(s->name, name, s->len);
}

/* --- capture-task.c: what was there before the recording ------------------------ */

void capture_task_write(struct capture *c, pid_t pid, bool forks);
void capture_task_write_all(struct capture *c);
void capture_task_follow(struct capture *c, const struct perf_event_header *h, const uint8_t *p);
/* The process that a thread is of */
pid_t capture_task_process(pid_t tid);
void capture_task_write_kernel(struct capture *c);
void capture_task_write_comm(struct capture *c, pid_t pid, pid_t tid, const char *comm);

/* --- capture-begin.c: what each file begins with -------------------------------- */

void capture_begin_clock(struct capture *c);
void capture_begin_write(struct capture *c);

/* --- capture-switch.c: one file after the other --------------------------------- */

struct capture_names {
	char **name;		/* of the files that are kept, if not all are */
	size_t nr;		/* files that are complete */
};

/* Rename the complete file to FILE.TIMESTAMP. */
void capture_switch_name(struct capture *c);

/* --- capture-kcore.c: the kernel's text ----------------------------------------- */

void capture_kcore_check(struct capture *c);
void capture_kcore_start(struct capture *c);
void capture_kcore_end(struct capture *c);

/* --- capture-run.c: the recording ----------------------------------------------- */

struct capture {
	struct capture_options o;
	uint32_t type;			/* of the PMU */
	struct capture_list online;	/* CPUs */
	struct capture_list encoders;	/* those of them that have one */
	struct capture_list tasks;	/* threads that are traced; none: CPUs are */
	struct capture_list live;	/* their processes, and those that they started */
	bool per_task;
	struct capture_event event[NR_EVENTS];
	unsigned int nr_events;
	unsigned int samples;		/* cpu-clock: each sample has the newest trace; 0: none */
	unsigned int code;		/* dummy: kernel code that changes, on all CPUs; 0: none */
	struct capture_fd *fd;
	size_t nr_fds;
	struct capture_ring *ring;
	size_t nr_rings;
	uint64_t data_size, aux_size;
	struct ntrace_words info;
	struct capture_file file;
	bool failed;		/* a file could not be completed */
	struct capture_names files;
	struct capture_bytes hw_ids;	/* records */
	struct capture_file_id *ids;
	struct capture_bytes kallsyms;
	uint64_t first, last;		/* times of records */
	uint64_t lost, cut, partial;	/* records; AUX records with such flags */
	uint64_t pieces;		/* of trace, so far */
	unsigned int taken;		/* snapshots */
	pid_t child;
	int go, told;			/* pipes: the command may start; why it did not */
};

/* Returns an exit status. */
int capture_run(struct capture *c);

/* The buffer for trace keeps the newest, whether anybody reads it or not. */
static inline bool capture_is_circular(const struct capture *c)
{
	return c->o.snapshots || c->o.sample_size;
}

bool capture_list_has(const struct capture_list *list, int id);
void capture_list_add(struct capture_list *list, int id);
/* A list such as 0,2-3: false if it is none */
bool capture_list_parse(struct capture_list *list, const char *text);

#endif /* NTRACE_CAPTURE_H */
