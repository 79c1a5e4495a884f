/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ntrace record: the kernel's events and their buffers, and the perf.data that they are written to
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
	uint64_t data_size, aux_size;	/* in bytes; 0: choose */
	uint64_t duration;		/* in ns; 0: until the recording ends by itself */
	bool kcore;
	bool snapshots, snapshot_at_end;
	uint64_t snapshot_size;
	bool switches, switch_by_signal;
	uint64_t switch_size, switch_time;	/* bytes, ns; 0: none */
	uint64_t sample_size;			/* bytes of trace with each sample */
	unsigned int sample_freq;		/* in Hz, 0: not given */
	unsigned int switch_files;		/* number of files that are kept, 0: all */
	char **command;			/* or NULL */
	int argc;			/* of the whole command line, for the header */
	char **argv;
};

/* A kind of event, which is opened for each CPU and task */
struct capture_event {
	struct perf_event_attr attr;
	char *name;
	uint64_t *id;
	size_t nr_ids;
};

enum {
	EVENT_TRACE,		/* ntrace: the trace itself */
	EVENT_TASKS,		/* dummy: names, mappings, forks, switches */
	NR_EVENTS = 4		/* including those that not every recording has */
};

struct capture_fd {
	int fd;
	unsigned int event, ring;
	int cpu;
	pid_t tid;		/* -1: of a CPU */
	uint64_t id;
};

/* The buffer that the events of a CPU write to */
struct capture_ring {
	int cpu, fd;
	pid_t tid;		/* of the first task; -1: a buffer of a CPU */
	bool encoder;		/* the CPU has an encoder, so there is trace */
	struct perf_event_mmap_page *page;
	uint8_t *data;
	uint8_t *aux;		/* or NULL */
	uint64_t aux_old;	/* trace before this offset has been written */
	unsigned int stopped;	/* tries left to restart the event, after the driver had no room */
};

/* A growing array of bytes */
struct capture_bytes {
	uint8_t *p;
	size_t len, room;
};

void capture_put(struct capture_bytes *b, const void *bytes, size_t len);
void capture_put32(struct capture_bytes *b, uint32_t val);
void capture_put64(struct capture_bytes *b, uint64_t val);
/* Pad with zeros to a multiple of `align' */
void capture_put_text(struct capture_bytes *b, const char *text, size_t align);

/* --- capture-file.c: the perf.data --------------------------------------------- */

struct capture_file {
	char *path;			/* as given */
	char *data;			/* path of the file, inside of the folder if there is one */
	int fd;
	uint64_t at;			/* current end of the file */
	uint64_t start;			/* of the data section */
	struct capture_bytes waiting;	/* bytes that are not written yet */
	uint64_t *trace;		/* offsets of the AUXTRACE records */
	size_t nr_traces;
	int error;			/* errno; if set, nothing more is written */
	struct capture_bytes features;	/* sections after the data */
};

struct capture;

void capture_file_open(struct capture *c);
void capture_file_discard(struct capture *c);
/* Remove a folder, if it exists and is a recording */
void capture_file_remove_folder(const char *path);
void capture_file_begin(struct capture *c);
void capture_file_write(struct capture *c, const void *bytes, size_t len);
/* Write trace of a ring, starting at `offset', in the two parts of a circular buffer */
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
	uint64_t dev, ino;	/* for files without a build-id; 0: not known */
	char *name;
};

/* @size: of the build-id. 0: no build-id; then `id' is NULL, or maj, min and ino of MMAP2. */
void capture_build_id_note(struct capture *c, uint16_t misc, const char *name, const uint8_t *id,
			   unsigned int size);
/* Read the build-id of an ELF file, or of a file with notes in /sys. Returns its size, or 0. */
unsigned int capture_build_id_read(const char *path, uint8_t id[BUILD_ID_MAX]);
unsigned int capture_build_id_notes(const char *path, uint8_t id[BUILD_ID_MAX]);

/* --- capture-ring.c: the buffers ----------------------------------------------- */

void capture_ring_map(struct capture *c, unsigned int ring);
/* Write what has arrived since the last call. Returns true if there was something. */
bool capture_ring_drain(struct capture *c, unsigned int ring, bool to_the_end);
/* Does a ring need to be drained again soon? */
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
/* The value of kernel.NAME, or `otherwise' */
long capture_sysctl(const char *name, long otherwise);

/* --- capture-event.c: what -e says ---------------------------------------------- */

void capture_event_parse(struct capture *c, const char *text, uint64_t kept);

/* --- capture-symbol.c: the kernel's symbols ------------------------------------- */

struct capture_symbol {
	uint64_t addr;
	const char *name;	/* `len' bytes */
	size_t len;
	bool module;		/* of a module, or of code that the kernel has generated */
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
/* The process of a thread */
pid_t capture_task_process(pid_t tid);
void capture_task_write_kernel(struct capture *c);
void capture_task_write_comm(struct capture *c, pid_t pid, pid_t tid, const char *comm);

/* --- capture-begin.c: what each file begins with -------------------------------- */

void capture_begin_clock(struct capture *c);
void capture_begin_write(struct capture *c);

/* --- capture-switch.c: one file after the other --------------------------------- */

struct capture_names {
	char **name;		/* names of the files that are kept, if not all are */
	size_t nr;		/* number of complete files */
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
	struct capture_list online;	/* online CPUs */
	struct capture_list encoders;	/* online CPUs with an encoder */
	struct capture_list tasks;	/* threads to trace; empty: trace CPUs */
	struct capture_list live;	/* processes of the threads, and those forked from them */
	bool per_task;
	struct capture_event event[NR_EVENTS];
	unsigned int nr_events;
	unsigned int samples;		/* cpu-clock event, samples have the newest trace; or 0 */
	unsigned int code;		/* dummy event: changed kernel code, on all CPUs; or 0 */
	struct capture_fd *fd;
	size_t nr_fds;
	struct capture_ring *ring;
	size_t nr_rings;
	uint64_t data_size, aux_size;
	struct ntrace_words info;
	struct capture_file file;
	bool failed;		/* a file could not be completed */
	struct capture_names files;
	struct capture_bytes hw_ids;	/* the records, with the newest of each ID */
	struct capture_file_id *ids;
	struct capture_bytes kallsyms;
	uint64_t first, last;		/* earliest and latest time of records */
	uint64_t lost, cut, partial;	/* lost records; AUX records with such flags */
	uint64_t pieces;		/* number of fragments of trace so far */
	unsigned int taken;		/* number of snapshots */
	pid_t child;
	int go, told;			/* pipes: start the command; report why it failed */
};

/* Returns an exit status. */
int capture_run(struct capture *c);

/* Does the AUX buffer keep the newest trace, whether it is read or not? */
static inline bool capture_is_circular(const struct capture *c)
{
	return c->o.snapshots || c->o.sample_size;
}

bool capture_list_has(const struct capture_list *list, int id);
void capture_list_add(struct capture_list *list, int id);
/* Parse a list such as 0,2-3. Returns false for anything else. */
bool capture_list_parse(struct capture_list *list, const char *text);

#endif /* NTRACE_CAPTURE_H */
