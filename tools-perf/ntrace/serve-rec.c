// SPDX-License-Identifier: GPL-2.0-only
/*
 * Convert a perf.data to tracks: one for each thread of a process, or for each CPU. A track
 * includes kernel code, if that was traced.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "rec.h"
#include "serve.h"

/* The owner of a track */
struct owner {
	struct owner *next;
	int pid, tid, cpu;
	uintptr_t life;		/* of the process, because pids are reused */
	bool gone;		/* the tid belongs to another thread now */
	bool named;		/* the track was named when the thread ended */
	struct rec_task *task;
	struct serve_track *track;
	/* a run, until the transfer at its end is known */
	struct nt_code *code;
	uint64_t pc;
	uint32_t insns, space;
	bool pending;
	int ran;		/* by CPU: tid of the last instructions */
	uint64_t stop;		/* where trace ended, until it continues */
	bool stopped;
	unsigned int losses;
};

struct source {
	struct rec rec;
	struct rec_options *options;
	struct serve_recording *r;
	struct owner *owners;
	bool by_cpu;
	uint32_t spaces;	/* number of changes to mappings, in all processes */
	struct rec_map lives;	/* pid -> number of processes with it so far */
	struct change *change;		/* of all processes, ordered by time */
	size_t nr_changes;
	struct owner *last;
	/* The process whose symbols are used; 0: not known, -1: several */
	int process;
	uintptr_t life;
};

/* A new mapping of a process. It replaces what was mapped at these addresses. */
struct change {
	uint32_t space;		/* first space in which it is valid */
	int pid;
	uintptr_t life;
	struct rec_mapping map;	/* file NULL: exec, nothing is mapped any more */
};

/* ---------------------------------------------------------------- tracks - */

static uintptr_t life_of(const struct source *s, int pid)
{
	return (uintptr_t)rec_map_find(&s->lives, pid);
}

/* The process of a thread may become known later. */
static bool is_owner(const struct owner *o, int pid, int tid, int cpu)
{
	return !o->gone && o->tid == tid && o->cpu == cpu &&
	       (o->pid == pid || o->pid < 0 || pid < 0);
}

static void set_process(const struct source *s, struct owner *o, int pid)
{
	if (o->pid == pid || pid < 0)
		return;
	o->pid = pid;
	o->life = life_of(s, pid);
}

static struct owner *find_owner(struct source *s, int pid, int tid, int cpu)
{
	struct owner *o = s->last;

	/* there is an idle task for each CPU */
	if (tid > 0 && !s->by_cpu)
		cpu = -1;
	if (s->by_cpu)
		tid = pid = -1;
	if (o && is_owner(o, pid, tid, cpu))
		return o;
	for (o = s->owners; o && !is_owner(o, pid, tid, cpu); o = o->next)
		;
	if (!o) {
		char name[32];

		o = calloc(1, sizeof(*o));
		if (!o)
			die("%s", nt_strerror(NT_ENOMEM));
		*o = (struct owner){ .next = s->owners, .pid = -1, .tid = tid, .cpu = cpu };
		set_process(s, o, pid);
		snprintf(name, sizeof(name), "CPU %d", cpu);
		o->track = serve_track_new(&s->r->program, name, s->by_cpu ? cpu : tid);
		serve_track_mark(o->track, SERVE_BEGIN, "trace begins");
		s->owners = o;
	}
	s->last = o;
	return o;
}

static void flush(struct owner *o, unsigned int type)
{
	if (!o->pending)
		return;
	o->pending = false;
	if (!serve_track_add(o->track, o->code, o->pc, o->insns, type, o->space))
		serve_track_mark(o->track, SERVE_LOSS,
				 "the code at %#" PRIx64 " is not there any more",
				 o->pc);
}

/* ---------------------------------------------------------------- output - */

/* Calls and registers of the previous task are not valid for this one. */
static void take_change(struct owner *o, const struct rec_sample *sample)
{
	if (o->ran == sample->tid)
		return;
	flush(o, NT_TYPE_NONE);
	if (o->track->insns) {
		o->stopped = false;
		serve_track_mark(o->track, SERVE_BEGIN, "another task");
	}
	o->ran = sample->tid;
}

static void take_run(void *ctx, const struct rec_sample *sample, uint32_t insns)
{
	struct source *s = ctx;
	struct owner *o = find_owner(s, sample->pid, sample->tid, sample->cpu);
	bool kernel = rec_is_kernel(&s->rec, sample->ip);

	if (s->by_cpu)
		take_change(o, sample);
	if (s->by_cpu && !kernel && s->process != sample->pid)
		s->process = s->process ? -1 : sample->pid;
	flush(o, NT_TYPE_NONE);
	o->task = sample->task;
	set_process(s, o, s->by_cpu ? -1 : sample->pid);
	o->track->core = sample->cpu;
	o->code = kernel ? rec_code_kernel(&s->rec, sample->kernel_at_end) :
			   rec_code_user(&s->rec, sample->space);
	o->pc = sample->ip;
	o->insns = insns;
	o->space = s->spaces;
	o->pending = true;
	serve_track_time(o->track, sample->time, false);
}

static void take_begin(struct owner *o, uint64_t to, uint64_t time)
{
	bool follows = o->stopped && (to == o->stop || to == o->stop + 2 || to == o->stop + 4);

	flush(o, NT_TYPE_NONE);
	if (o->track->insns && !follows)
		serve_track_mark(o->track, SERVE_GAP,
				 "trace ended at %#" PRIx64 ", and goes on here",
				 o->stop);
	else if (o->track->insns)
		serve_track_pause(o->track, to);
	serve_track_time(o->track, time, true);
	o->stopped = false;
}

static void take_pause(void *ctx, const struct rec_sample *sample, uint64_t until)
{
	struct source *s = ctx;
	struct owner *o = find_owner(s, sample->pid, sample->tid, sample->cpu);

	flush(o, NT_TYPE_NONE);
	serve_track_time(o->track, sample->time, true);
	serve_track_time(o->track, until, true);
}

static void take_branch(void *ctx, const struct rec_sample *sample)
{
	struct source *s = ctx;
	struct owner *o = find_owner(s, sample->pid, sample->tid, sample->cpu);

	if (sample->flags & NT_SESSION_BEGIN) {
		if (s->by_cpu)
			take_change(o, sample);
		take_begin(o, sample->addr, sample->time);
		return;
	}
	if (!o->pending && nt_type_is_trap(sample->type)) {
		o->pc = sample->ip;
		o->insns = 0;
		o->pending = true;
	}
	flush(o, sample->type);
	serve_track_stop(o->track, sample->addr, !(sample->flags & NT_SESSION_END));
	if (!(sample->flags & NT_SESSION_END))
		return;
	serve_track_time(o->track, sample->time, true);
	o->stop = sample->ip;
	o->stopped = true;
	serve_track_stop(o->track, sample->ip, sample->type == NT_TYPE_NONE);
}

/* Losses without a known thread concern all threads on the CPU. */
static bool concerns(const struct source *s, const struct owner *o, const struct rec_loss *loss)
{
	if (s->by_cpu)
		return o->cpu == loss->cpu;
	if (o->gone)
		return false;
	return loss->tid > 0 ? o->tid == loss->tid : o->track->core == loss->cpu;
}

static void take_loss(void *ctx, const struct rec_loss *loss)
{
	struct source *s = ctx;

	for (struct owner *o = s->owners; o; o = o->next) {
		if (!concerns(s, o, loss))
			continue;
		flush(o, NT_TYPE_NONE);
		o->stopped = false;
		o->losses++;
		serve_track_mark(o->track, SERVE_LOSS, "trace is lost here: %s", loss->text);
	}
}

/* End all threads with this tid, or of this process. */
static void end_owners(struct source *s, int pid, int tid)
{
	for (struct owner *o = s->owners; o; o = o->next) {
		if (o->gone || (o->tid != tid && (pid != tid || o->pid != pid)))
			continue;
		flush(o, NT_TYPE_NONE);
		o->gone = true;
	}
}

static void keep_change(struct source *s, int pid, const struct rec_mapping *map)
{
	s->change = array_room(s->change, s->nr_changes, sizeof(*s->change));
	s->change[s->nr_changes++] = (struct change){ s->spaces, pid, life_of(s, pid), *map };
}

/*
 * A new process has the mappings of its parent. For processes that existed before, perf reports all
 * mappings.
 */
static void take_fork(struct source *s, const struct rec_note *note)
{
	const struct rec_space *space;

	if (!s->by_cpu)
		end_owners(s, note->pid, note->tid);
	if (note->pid != note->tid)
		return;
	rec_map_set(&s->lives, note->pid, (void *)(life_of(s, note->pid) + 1));
	s->spaces++;
	space = rec_space_get(&s->rec, note->pid);
	for (size_t i = 0; i < space->nr_maps && !(note->misc & NT_PERFDATA_MISC_FORK_EXEC); i++)
		keep_change(s, note->pid, &space->map[i]);
}

/* The mapping has taken effect in struct rec. Keep it if it is executable. */
static void take_mmap(struct source *s, const struct rec_note *note)
{
	const struct rec_mapping *map;

	if ((note->misc & NT_PERFDATA_MISC_CPUMODE) == NT_PERFDATA_MISC_KERNEL ||
	    !(note->mmap->prot & PROT_EXEC))
		return;
	map = rec_space_find(rec_space_get(&s->rec, note->mmap->pid), note->mmap->start);
	if (map && map->start == note->mmap->start)
		keep_change(s, note->mmap->pid, map);
}

static void keep_name(const struct source *s, struct owner *o)
{
	char *p;

	if (!o->task || o->named || s->by_cpu)
		return;
	snprintf(o->track->name, sizeof(o->track->name), "%s %d", o->task->comm, o->tid);
	/* XML does not allow control characters, and they would break lines */
	for (p = o->track->name; *p; p++)
		if (utf8_is_control(*p))
			*p = '.';
}

/* From now on, the tid and the pid may belong to others. */
static void take_exit(struct source *s, const struct rec_note *note)
{
	for (struct owner *o = s->owners; o && !s->by_cpu; o = o->next) {
		if (o->gone || o->pid != note->pid || o->tid != note->tid)
			continue;
		flush(o, NT_TYPE_NONE);
		keep_name(s, o);
		o->named = true;
	}
}

/*
 * An exec: the thread continues if it takes the place of the leader, whose EXIT came first. All old
 * mappings are gone.
 */
static void take_comm(struct source *s, const struct rec_note *note)
{
	if (note->misc & NT_PERFDATA_MISC_COMM_EXEC) {
		s->spaces++;
		keep_change(s, note->pid, &(struct rec_mapping){ .file = NULL });
	}
	for (struct owner *o = s->owners; o; o = o->next)
		if (!o->gone && o->tid == note->tid)
			o->named = false;
}

static void take_note(void *ctx, const struct rec_note *note)
{
	struct source *s = ctx;

	if (note->type == NT_PERFDATA_FORK)
		take_fork(s, note);
	else if (note->type == NT_PERFDATA_EXIT)
		take_exit(s, note);
	else if (note->type == NT_PERFDATA_COMM)
		take_comm(s, note);
	/* from now on, the code at these addresses may differ */
	if (note->mmap || note->start != note->end)
		s->spaces++;
	if (note->mmap)
		take_mmap(s, note);
}

/* ---------------------------------------------------------- what to serve  */

/* With `of' NULL: is the process of this owner unknown? */
static bool is_of_process(const struct owner *o, const struct owner *of)
{
	return of ? o->pid == of->pid && o->life == of->life : o->pid < 0;
}

static uint64_t insns_of(const struct source *s, const struct owner *of)
{
	uint64_t sum = 0;

	for (const struct owner *o = s->owners; o; o = o->next)
		if (is_of_process(o, of))
			sum += o->track->insns;
	return sum;
}

/*
 * GDB has only one address space here: that of the process that executed most instructions. Returns
 * one of its threads, or NULL if there is none.
 */
static const struct owner *choose_process(const struct source *s)
{
	const struct owner *chosen = NULL;
	uint64_t most = 0;

	for (const struct owner *o = s->owners; o; o = o->next) {
		uint64_t insns = insns_of(s, o);

		if (o->tid > 0 && insns > most) {
			most = insns;
			chosen = o;
		}
	}
	return chosen;
}

static void keep(struct source *s, struct owner *o)
{
	struct serve_recording *r = s->r;

	flush(o, NT_TYPE_NONE);
	serve_track_end(o->track);
	keep_name(s, o);
	r->track = array_room(r->track, r->nr_tracks, sizeof(*r->track));
	r->track[r->nr_tracks++] = o->track;
	o->track = NULL;
}

static int by_id(const void *a, const void *b)
{
	const struct serve_track *const *x = a, *const *y = b;

	return (*x)->id < (*y)->id ? -1 : (*x)->id > (*y)->id;
}

static void choose_tracks(struct source *s, const struct owner *chosen)
{
	unsigned int others = 0;

	for (struct owner *o = s->owners; o; o = o->next) {
		if (!o->track->insns)
			continue;
		if (s->by_cpu || is_of_process(o, chosen))
			keep(s, o);
		else
			others += o->tid > 0;
	}
	if (!s->r->nr_tracks)
		die("%s: no instruction could be decoded of what was chosen; `ntrace script' says why",
		    s->rec.path);
	qsort(s->r->track, s->r->nr_tracks, sizeof(*s->r->track), by_id);
	if (others)
		warn("process %d is served, which executed most; other processes had %u threads: --pid "
		     "chooses one, --cpu what CPUs executed", chosen ? chosen->pid : -1, others);
}

/* ---------------------------------------------------- programs and files - */

/*
 * The load address of a file minus the address in its segment. Returns false if there is no such
 * segment.
 */
static bool find_bias(const struct rec_mapping *m, bool code, uint64_t *bias)
{
	const struct rec_file *f = m->file;

	for (size_t i = 0; i < f->nr_segments; i++) {
		const struct rec_segment *s = &f->segment[i];

		if (s->exec != code || m->offset < (s->offset & ~0xfffull) ||
		    m->offset >= s->offset + s->size)
			continue;
		*bias = m->start - (s->addr + (m->offset - s->offset));
		return true;
	}
	return false;
}

/*
 * Prefer code segments: the last page of code may also contain data, whose segment is loaded
 * elsewhere.
 */
static uint64_t bias_of(const struct rec_mapping *m)
{
	uint64_t bias = m->start;

	if (!find_bias(m, true, &bias))
		find_bias(m, false, &bias);
	return bias;
}

/* A loaded file, identified by its bias, because it may be mapped in several parts */
struct placed {
	const struct rec_file *file;
	uint64_t bias;
	uint32_t number;	/* of the library */
};

/* Is the file already in the list? Then this is another part of it. */
static bool is_there(const struct serve_recording *r, const struct placed *piece, size_t nr,
		     const struct rec_mapping *m)
{
	for (size_t i = 0; i < nr; i++)
		if (piece[i].file == m->file && piece[i].bias == bias_of(m) &&
		    r->library[piece[i].number].to == UINT32_MAX)
			return true;
	return false;
}

/* Memory that is not from a file, as the code of a just-in-time compiler */
static bool is_anonymous(const struct rec_file *f)
{
	return !strncmp(f->name, "//anon", 6) || *f->name == '[';
}

static void add_file(struct source *s, const struct rec_mapping *m, struct placed **piece,
		     size_t *nr)
{
	struct serve_recording *r = s->r;

	if (is_anonymous(m->file)) {
		serve_files_cut(&r->files, m->start, m->end);
		return;
	}
	if (!rec_file_open(&s->rec, m->file) || !m->file->nr_segments || !m->file->path) {
		serve_recording_unmap(r, m->start, m->end);
		return;
	}
	if (is_there(r, *piece, *nr, m))
		return;
	serve_recording_replace(r, m->file->path, bias_of(m));
	*piece = array_room(*piece, *nr, sizeof(**piece));
	(*piece)[(*nr)++] = (struct placed){
		m->file, bias_of(m), (uint32_t)r->nr_libraries - 1
	};
}

static bool is_of(const struct change *c, int pid, uintptr_t life)
{
	return c->pid == pid && c->life == life;
}

/* Add all files that the process had mapped, with their times. */
static void add_files(struct source *s, int pid, uintptr_t life)
{
	struct placed *piece = NULL;
	size_t nr = 0;

	for (size_t i = 0; i < s->nr_changes; i++) {
		const struct change *c = &s->change[i];

		if (!is_of(c, pid, life))
			continue;
		s->r->files.space = c->space;
		if (c->map.file)
			add_file(s, &c->map, &piece, &nr);
		else
			serve_recording_end(s->r);
	}
	s->r->files.space = 0;
	free(piece);
}

static void add_kernel(struct source *s)
{
	const struct rec_kcore *k = &s->rec.kcore[0];

	for (size_t i = 0; i < k->nr_segments; i++)
		serve_files_add(&s->r->files, k->fd, k->segment[i].addr, k->segment[i].size,
				k->segment[i].offset);
}

/* ------------------------------------------------------------- the whole - */

/* The mapping at an address in a given space */
static const struct rec_mapping *mapping_at(const struct source *s, uint32_t space, uint64_t addr)
{
	for (size_t i = s->nr_changes; i--;) {
		const struct change *c = &s->change[i];

		if (c->space > space || !is_of(c, s->process, s->life))
			continue;
		if (!c->map.file)
			return NULL;
		if (addr >= c->map.start && addr < c->map.end)
			return &c->map;
	}
	return NULL;
}

static const char *name_of(void *ctx, uint32_t space, uint64_t addr, uint64_t *offset)
{
	struct source *s = ctx;
	const struct rec_mapping *m;

	if (!addr || rec_is_kernel(&s->rec, addr))
		return rec_symbol(&s->rec, NULL, addr, offset);
	m = mapping_at(s, space, addr);
	return m ? rec_file_symbol(&s->rec, m->file, m->offset + (addr - m->start), offset) : NULL;
}

static void free_source(void *ctx)
{
	struct source *s = ctx;

	free(s->change);
	rec_map_free(&s->lives);
	while (s->owners) {
		struct owner *o = s->owners;

		s->owners = o->next;
		serve_track_free(o->track);
		free(o);
	}
	rec_free(&s->rec);
	free(s);
}

/* With --cpu, there may also be a single process. */
static void remember_process(struct source *s, const struct owner *chosen)
{
	if (chosen) {
		s->process = chosen->pid;
		s->life = chosen->life;
	} else if (s->by_cpu && s->process > 0) {
		s->life = life_of(s, s->process);
	}
}

void serve_rec_write_symbols(struct serve_recording *r, const char *path)
{
	struct source *s = r->ctx;
	struct symbols *symbols = rec_kernel_symbols(&s->rec);

	if (!symbols || !symbols_number(symbols))
		die("%s: has no symbols of the kernel; perf record --kcore copies them", r->path);
	serve_symbols_write(symbols, path, r->xlen);
}

void serve_rec_open(struct serve_recording *r, const char *path, const struct rec_options *options)
{
	struct source *s = calloc(1, sizeof(*s));
	const struct rec_output output = {
		.run = take_run, .branch = take_branch, .pause = take_pause, .loss = take_loss,
		.note = take_note, .ctx = s,
	};
	const struct owner *chosen;

	if (!s)
		die("%s", nt_strerror(NT_ENOMEM));
	*r = (struct serve_recording){
		.path = path, .timed = true, .symbol = name_of, .free = free_source, .ctx = s,
	};
	serve_program_init(&r->program);
	s->r = r;
	s->by_cpu = options->cpu;
	rec_open(&s->rec, path, options);
	/* GDB also goes back in time */
	s->rec.keep_tasks = true;
	r->xlen = s->rec.info.xlen;
	rec_run(&s->rec, &output);
	rec_status(&s->rec);
	chosen = s->by_cpu ? NULL : choose_process(s);
	remember_process(s, chosen);
	choose_tracks(s, chosen);
	/* also for a CPU, if it had only one process */
	if (s->process > 0)
		add_files(s, s->process, s->life);
	add_kernel(s);
}
