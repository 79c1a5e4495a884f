// SPDX-License-Identifier: GPL-2.0-only
/*
 * A perf.data -> a track for each thread of one process, or for each CPU. Each has what it
 * executed in the kernel, too, if that was traced.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "rec.h"
#include "serve.h"

/* What becomes a track */
struct owner {
	struct owner *next;
	int pid, tid, cpu;
	struct rec_task *task;
	struct serve_track *track;
	/* a run, until it is known how it was left */
	struct nt_code *code;
	uint64_t pc;
	uint32_t insns, space;
	bool pending;
	uint64_t stop;		/* where trace ended, until it goes on */
	bool stopped;
	unsigned int losses;
};

struct source {
	struct rec rec;
	struct rec_options *options;
	struct serve_recording *r;
	struct owner *owners;
	bool by_cpu;
	uint32_t spaces;	/* how often something was mapped, in any of them */
	struct owner *last;
};

/* ---------------------------------------------------------------- tracks - */

static struct owner *find_owner(struct source *s, int pid, int tid, int cpu)
{
	struct owner *o = s->last;

	/* the idle tasks are one for each CPU */
	if (tid > 0 && !s->by_cpu)
		cpu = -1;
	if (s->by_cpu)
		tid = pid = -1;
	if (o && o->tid == tid && o->cpu == cpu)
		return o;
	for (o = s->owners; o && (o->tid != tid || o->cpu != cpu); o = o->next)
		;
	if (!o) {
		char name[32];

		o = calloc(1, sizeof(*o));
		if (!o)
			die("%s", nt_strerror(NT_ENOMEM));
		*o = (struct owner){ .next = s->owners, .pid = pid, .tid = tid, .cpu = cpu };
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

static void take_run(void *ctx, const struct rec_sample *sample, uint32_t insns)
{
	struct source *s = ctx;
	struct owner *o = find_owner(s, sample->pid, sample->tid, sample->cpu);
	bool kernel = rec_is_kernel(&s->rec, sample->ip);

	flush(o, NT_TYPE_NONE);
	o->task = sample->task;
	o->pid = s->by_cpu ? -1 : sample->pid;
	o->track->core = sample->cpu;
	o->code = kernel ? rec_code_kernel(&s->rec) :
			   rec_code_user(&s->rec, rec_task_space(&s->rec, sample->task));
	o->pc = sample->ip;
	o->insns = insns;
	o->space = s->spaces;
	o->pending = true;
	serve_track_time(o->track, sample->time);
}

static void take_begin(struct owner *o, uint64_t to)
{
	bool follows = o->stopped && (to == o->stop || to == o->stop + 2 || to == o->stop + 4);

	flush(o, NT_TYPE_NONE);
	if (o->track->insns && !follows)
		serve_track_mark(o->track, SERVE_GAP,
				 "trace ended at %#" PRIx64 ", and goes on here",
				 o->stop);
	else if (o->track->insns)
		serve_track_pause(o->track, to);
	o->stopped = false;
}

static void take_branch(void *ctx, const struct rec_sample *sample)
{
	struct source *s = ctx;
	struct owner *o = find_owner(s, sample->pid, sample->tid, sample->cpu);

	if (sample->flags & NT_SESSION_BEGIN) {
		take_begin(o, sample->addr);
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
	o->stop = sample->ip;
	o->stopped = true;
	serve_track_stop(o->track, sample->ip, sample->type == NT_TYPE_NONE);
}

/* Of no known thread: of whoever was there */
static bool concerns(const struct source *s, const struct owner *o, const struct rec_loss *loss)
{
	if (s->by_cpu)
		return o->cpu == loss->cpu;
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

static void take_note(void *ctx, const struct rec_note *note)
{
	struct source *s = ctx;

	/* the same address may have other code from now on */
	if (note->mmap || note->start != note->end)
		s->spaces++;
}

/* ---------------------------------------------------------- what to serve  */

static uint64_t insns_of(const struct source *s, int pid)
{
	uint64_t sum = 0;

	for (const struct owner *o = s->owners; o; o = o->next)
		if (o->pid == pid)
			sum += o->track->insns;
	return sum;
}

/* GDB has one address space here: that of the process which executed most. */
static int choose_process(const struct source *s)
{
	uint64_t most = 0;
	int pid = -1;

	for (const struct owner *o = s->owners; o; o = o->next) {
		uint64_t insns = insns_of(s, o->pid);

		if (o->tid > 0 && insns > most) {
			most = insns;
			pid = o->pid;
		}
	}
	return pid;
}

static void keep(struct source *s, struct owner *o)
{
	struct serve_recording *r = s->r;

	flush(o, NT_TYPE_NONE);
	serve_track_end(o->track);
	if (o->task)
		snprintf(o->track->name, sizeof(o->track->name), "%s %d", o->task->comm, o->tid);
	r->track = array_room(r->track, r->nr_tracks, sizeof(*r->track));
	r->track[r->nr_tracks++] = o->track;
	o->track = NULL;
}

static int by_id(const void *a, const void *b)
{
	const struct serve_track *const *x = a, *const *y = b;

	return (*x)->id < (*y)->id ? -1 : (*x)->id > (*y)->id;
}

static void choose_tracks(struct source *s, int pid)
{
	unsigned int others = 0;

	for (struct owner *o = s->owners; o; o = o->next) {
		if (!o->track->insns)
			continue;
		if (s->by_cpu || o->pid == pid)
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
		     "chooses one, --cpu what CPUs executed", pid, others);
}

/* ---------------------------------------------------- programs and files - */

/* Where a file's own addresses are, less what the file says */
static uint64_t bias_of(const struct rec_mapping *m)
{
	const struct rec_file *f = m->file;
	uint64_t bias = m->start;

	for (size_t i = 0; i < f->nr_segments; i++) {
		const struct rec_segment *s = &f->segment[i];

		if (m->offset >= (s->offset & ~0xfffull) && m->offset < s->offset + s->size)
			bias = m->start - (s->addr + (m->offset - s->offset));
	}
	return bias;
}

static bool is_added(const struct rec_space *space, size_t nth)
{
	for (size_t i = 0; i < nth; i++)
		if (space->map[i].file == space->map[nth].file)
			return true;
	return false;
}

static void add_files(struct source *s, int pid)
{
	struct serve_recording *r = s->r;
	const struct rec_space *space = rec_space_get(&s->rec, pid);

	for (size_t i = 0; i < space->nr_maps; i++) {
		const struct rec_mapping *m = &space->map[i];

		/* a file may be mapped in several pieces */
		if (rec_file_open(&s->rec, m->file) && m->file->nr_segments && m->file->path &&
		    !is_added(space, i))
			serve_recording_add_elf(r, m->file->path, bias_of(m));
	}
}

static void add_kernel(struct source *s)
{
	const struct rec_kcore *k = &s->rec.kcore;

	for (size_t i = 0; i < k->nr_segments; i++)
		serve_files_add(&s->r->files, k->fd, k->segment[i].addr, k->segment[i].size,
				k->segment[i].offset);
}

/* ------------------------------------------------------------- the whole - */

static const char *name_of(void *ctx, uint64_t addr, uint64_t *offset)
{
	struct source *s = ctx;

	return rec_symbol(&s->rec, s->last ? s->last->task : NULL, addr, offset);
}

static void free_source(void *ctx)
{
	struct source *s = ctx;

	while (s->owners) {
		struct owner *o = s->owners;

		s->owners = o->next;
		serve_track_free(o->track);
		free(o);
	}
	rec_free(&s->rec);
	free(s);
}

/* Whose symbols names are looked up in */
static void remember_process(struct source *s, int pid)
{
	s->last = NULL;
	for (struct owner *o = s->owners; o; o = o->next)
		if (o->task && (s->by_cpu || o->pid == pid))
			s->last = o;
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
		.run = take_run, .branch = take_branch, .loss = take_loss, .note = take_note,
		.ctx = s,
	};
	int pid;

	if (!s)
		die("%s", nt_strerror(NT_ENOMEM));
	*r = (struct serve_recording){
		.path = path, .timed = true, .symbol = name_of, .free = free_source, .ctx = s,
	};
	serve_program_init(&r->program);
	s->r = r;
	s->by_cpu = options->cpu;
	rec_open(&s->rec, path, options);
	/* it goes back in time, too */
	s->rec.keep_tasks = true;
	r->xlen = s->rec.info.xlen;
	rec_run(&s->rec, &output);
	rec_status(&s->rec);
	pid = choose_process(s);
	remember_process(s, pid);
	choose_tracks(s, pid);
	if (pid > 0)
		add_files(s, pid);
	add_kernel(s);
}
