// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace profile of perf.data: count the branches that perf script prints
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "perf-script.h"
#include "profile.h"
#include "rec.h"

/* The position of a thread, if it is in the program */
struct where {
	int tid, cpu;		/* cpu: of idle threads only, because they share tid 0 */
	bool inside;		/* the last transfer led into the program, and trace continues */
	uint64_t to;		/* the target of that transfer */
	bool stopped;		/* trace ended inside of the program */
	uint64_t at;		/* before this address */
	uint64_t bias;		/* where the program was mapped, minus its own address */
	unsigned int interval;	/* the wanted interval of its last event */
};

/* How the program is related to a file that perf names */
enum kinship { FILE_OTHER, FILE_OWN, FILE_KERNEL };

struct named {
	char *dso;
	const struct rec_file *file;	/* see struct reader */
	enum kinship kinship;
};

struct reader {
	struct profile_perf *result;
	const char *data;	/* path of the perf.data */
	const char *program;	/* path of the program */
	const char *name;	/* the same without folders */
	const char *build_id;	/* of the program, or NULL */
	struct perf_build_ids ids;
	const struct rec_file *file;	/* to look up, as names may repeat; NULL: by name */
	struct named *files;	/* files with trace */
	size_t nr_files, last;
	struct rec_map threads;
	struct where *last_thread;
	const char *other;	/* another file that has trace */
	bool found;		/* the program has trace */
	bool kernel;		/* the program is the kernel, which has trace */
	bool no_kernel;		/* the kernel has trace, but is not the program */
};

/* -------------------------------------------------------------- counts -- */

/* Spread the bits, because most edges differ in few of them. */
static size_t hash(const struct nt_edge *e)
{
	uint64_t h = e->from * 0x9e3779b97f4a7c15ull ^ (e->to + e->type) * 0xd6e8feb86659fd93ull;

	return h ^ h >> 32;
}

static struct nt_edge *find(struct nt_edge *table, size_t room, const struct nt_edge *e)
{
	size_t i = hash(e) & (room - 1);

	while (table[i].count && (table[i].from != e->from || table[i].to != e->to ||
				  table[i].type != e->type))
		i = (i + 1) & (room - 1);
	return &table[i];
}

/* At most half of the table is in use, so each search ends at a free entry. */
static void grow(struct profile_perf *r)
{
	size_t room = r->room ? 2 * r->room : 64, i;
	struct nt_edge *table = calloc(room, sizeof(*table));

	if (!table)
		die("%s", nt_strerror(NT_ENOMEM));
	for (i = 0; i < r->room; i++)
		if (r->edges[i].count)
			*find(table, room, &r->edges[i]) = r->edges[i];
	free(r->edges);
	r->edges = table;
	r->room = room;
}

static void add_times(struct profile_perf *r, uint64_t from, uint64_t to, unsigned int type,
		      uint64_t count)
{
	struct nt_edge edge = { .from = from, .to = to, .type = type }, *e;

	if (2 * r->nr_edges >= r->room)
		grow(r);
	e = find(r->edges, r->room, &edge);
	if (!e->count) {
		*e = edge;
		r->nr_edges++;
	}
	e->count += count;
}

static void add(struct profile_perf *r, uint64_t from, uint64_t to, unsigned int type)
{
	add_times(r, from, to, type, 1);
}

void profile_perf_add(struct profile_perf *r, const struct nt_edge *e)
{
	add_times(r, e->from, e->to, e->type, e->count);
}

/* ------------------------------------------------------------ threads -- */

static int64_t thread_key(int tid, int cpu)
{
	return tid > 0 ? tid : ((int64_t)tid - 1) * (1ll << 32) - cpu;
}

static struct where *find_thread(struct reader *rd, int tid, int cpu)
{
	struct where *w = rd->last_thread;

	cpu = tid > 0 ? -1 : cpu;
	if (w && w->tid == tid && w->cpu == cpu)
		return w;
	w = rec_map_find(&rd->threads, thread_key(tid, cpu));
	if (!w) {
		w = calloc(1, sizeof(*w));
		if (!w)
			die("%s", nt_strerror(NT_ENOMEM));
		w->tid = tid;
		w->cpu = cpu;
		rec_map_set(&rd->threads, thread_key(tid, cpu), w);
	}
	rd->last_thread = w;
	return w;
}

/* -------------------------------------------------------------- files -- */

static bool is_kernel(const char *dso)
{
	static const char kernel[] = "[kernel.kallsyms]";

	return !strncmp(dso, kernel, sizeof(kernel) - 1);
}

/* Compare names only. perf uses another name for the kernel than that of its file. */
static bool same_name(const struct reader *rd, const char *dso)
{
	return is_kernel(dso) ? !strncmp(rd->name, "vmlinux", 7) :
				!strcmp(last_part(dso), rd->name);
}

static const char *hex_of(const struct nt_perfdata_build_id *id, char *hex)
{
	unsigned int i;

	*hex = '\0';
	for (i = 0; i < id->size; i++)
		sprintf(hex + 2 * i, "%02x", id->data[i]);
	return hex;
}

/*
 * Compare build-ids if both are known: a copy may have any name, and another file may have the same
 * name.
 */
static enum kinship kinship(const struct reader *rd, const char *dso)
{
	const char *id = rd->build_id ? perf_build_id(&rd->ids, dso) : NULL;
	char hex[2 * NT_PERFDATA_BUILD_ID_MAX + 1];

	if (rd->build_id && rd->file && rd->file->id.size)
		id = hex_of(&rd->file->id, hex);
	if (id ? !perf_same_build_id(id, rd->build_id) : !same_name(rd, dso))
		return FILE_OTHER;
	return is_kernel(dso) ? FILE_KERNEL : FILE_OWN;
}

static bool is_named(const struct reader *rd, const struct named *n, const char *dso)
{
	return n->file == rd->file && !strcmp(n->dso, dso);
}

static enum kinship find_file(struct reader *rd, const char *dso)
{
	size_t i;

	if (rd->nr_files && is_named(rd, &rd->files[rd->last], dso))
		return rd->files[rd->last].kinship;
	for (i = 0; i < rd->nr_files && !is_named(rd, &rd->files[i], dso); i++)
		;
	rd->last = i;
	if (i < rd->nr_files)
		return rd->files[i].kinship;
	rd->files = reallocarray(rd->files, i + 1, sizeof(*rd->files));
	if (!rd->files)
		die("%s", nt_strerror(NT_ENOMEM));
	rd->files[i] = (struct named){ strdup(dso), rd->file, kinship(rd, dso) };
	if (!rd->files[i].dso)
		die("%s", nt_strerror(NT_ENOMEM));
	rd->nr_files++;
	return rd->files[i].kinship;
}

/* Detect trace of another build of the program before perf decodes for hours. */
static void check_build_ids(const struct reader *rd)
{
	const struct perf_build_id *wrong = NULL;
	size_t i;

	for (i = 0; rd->build_id && i < rd->ids.n; i++) {
		if (perf_same_build_id(rd->ids.list[i].hex, rd->build_id))
			return;
		if (same_name(rd, rd->ids.list[i].path))
			wrong = &rd->ids.list[i];
	}
	if (wrong)
		die("%s: has trace of %s with the build-id %s, and %s has %s: give the file that "
		    "was executed", rd->data, wrong->path, wrong->hex, rd->program, rd->build_id);
}

/* Choose a name that does not depend on the order of events. The name of the kernel sorts last. */
static void found_other(struct reader *rd, const char *dso)
{
	if (!rd->other || strcmp(dso, rd->other) < 0)
		rd->other = dso;
}

/*
 * The program's own address of a place, and the bias that was subtracted; PROFILE_ELSEWHERE for
 * places outside of the program
 */
static uint64_t own(struct reader *rd, const struct perf_place *place, uint64_t *bias)
{
	const struct profile *p = rd->result->profile;
	enum kinship file;
	uint64_t addr;

	if (!place->dso)
		return PROFILE_ELSEWHERE;
	file = find_file(rd, place->dso);
	if (file == FILE_OTHER) {
		found_other(rd, rd->files[rd->last].dso);
		rd->no_kernel |= is_kernel(place->dso);
		return PROFILE_ELSEWHERE;
	}
	/* the kernel runs at the addresses of vmlinux, and file offsets are not known */
	rd->kernel |= file == FILE_KERNEL;
	addr = file == FILE_KERNEL ? profile_inside(p, place->addr) :
				     profile_address(p, place->offset);
	if (addr == PROFILE_ELSEWHERE)
		return addr;
	*bias = place->addr - addr;
	rd->found = true;
	return addr;
}

/* --------------------------------------------------------------- flow -- */

static void go_on(struct where *w, uint64_t to)
{
	w->inside = to != PROFILE_ELSEWHERE;
	w->to = to;
	w->stopped = false;
}

/* Trace may resume where it ended, or after an ECALL, which never retires. */
static bool resumes(const struct where *w, uint64_t to)
{
	return w->stopped && (to == w->at || to == w->at + 4);
}

/* The rest of the thread's current run is unknown. */
static void lose(struct reader *rd, struct where *w, uint64_t pc)
{
	if (w->inside)
		add(rd->result, pc > w->to ? pc : w->to, PROFILE_ELSEWHERE, PROFILE_TYPE_LOST);
	w->inside = w->stopped = false;
}

/* A run that ends at the start of an interval has an unknown beginning. */
static void begin_interval(struct reader *rd, struct where *w, unsigned int interval,
			   unsigned int flags, uint64_t from)
{
	if (w->interval != interval)
		lose(rd, w, 0);
	w->interval = interval;
	if (!w->inside && from != PROFILE_ELSEWHERE && !(flags & PERF_BEGIN))
		add(rd->result, PROFILE_ELSEWHERE, from, NT_TYPE_NONE);
}

static unsigned int type_of(unsigned int flags)
{
	return flags & PERF_TRAP ? NT_TYPE_TRAP : flags & PERF_ERET ? NT_TYPE_ERET : NT_TYPE_JUMP;
}

static void on_branch(struct reader *rd, struct where *w, unsigned int interval,
		      unsigned int flags, uint64_t from, uint64_t to)
{
	struct profile_perf *r = rd->result;

	begin_interval(rd, w, interval, flags, from);
	if (flags & PERF_BEGIN) {
		add(r, PROFILE_ELSEWHERE, to, resumes(w, to) ? NT_TYPE_ERET : NT_TYPE_NONE);
		go_on(w, to);
	} else if (flags & PERF_END) {
		add(r, from, PROFILE_ELSEWHERE, NT_TYPE_TRAP);
		w->inside = false;
		w->stopped = from != PROFILE_ELSEWHERE;
		w->at = from;
	} else {
		add(r, from, to, type_of(flags));
		go_on(w, to);
	}
}

/* Count what was executed before a loss, if its address is known. */
static void on_error(struct reader *rd, const struct perf_event_line *ev)
{
	struct where *w = find_thread(rd, ev->tid, ev->cpu);

	rd->result->losses++;
	lose(rd, w, ev->from.addr ? ev->from.addr - w->bias : 0);
}

/* A run that is open at the end of the recording has an unknown end. */
static void end_threads(struct reader *rd)
{
	struct where *w;
	size_t at = 0;

	while ((w = rec_map_next(&rd->threads, &at)))
		lose(rd, w, 0);
}

static void must_have_found(const struct reader *rd)
{
	if (rd->found)
		return;
	if (rd->kernel)
		die("%s: the kernel was not at the addresses that %s has: it moves itself, unless "
		    "booted with nokaslr", rd->data, rd->program);
	die("%s: has no trace of a file named %s%s%s%s", rd->data, rd->name,
	    rd->other ? ", but of " : "", rd->other ? rd->other : "",
	    rd->other ? ": give the file that was executed as --elf" : "");
}

static void free_reader(struct reader *rd)
{
	struct where *w;
	size_t at = 0;

	while (rd->nr_files)
		free(rd->files[--rd->nr_files].dso);
	free(rd->files);
	while ((w = rec_map_next(&rd->threads, &at)))
		free(w);
	rec_map_free(&rd->threads);
	perf_build_ids_free(&rd->ids);
}

/* ---------------------------------------------------------- perf prints -- */

void profile_perf_read(struct profile_perf *r, const char *perf, const char *file,
		       const char *program, const char *build_id)
{
	struct reader rd = {
		.result = r, .data = file, .program = program, .name = last_part(program),
		.build_id = build_id,
	};
	struct perf_event_line ev;
	struct perf_script s;
	uint64_t from, to;
	struct where *w;

	if (perf)
		perf_build_ids_read(&rd.ids, perf, file);
	check_build_ids(&rd);
	perf_script_open(&s, perf, file, "be", "comm,pid,tid,cpu,time,flags,ip,addr,dso,dsoff");
	while (perf_script_next(&s, &ev)) {
		if (ev.error) {
			on_error(&rd, &ev);
			continue;
		}
		w = find_thread(&rd, ev.tid, ev.cpu);
		from = own(&rd, &ev.from, &w->bias);
		to = own(&rd, &ev.to, &w->bias);
		on_branch(&rd, w, ev.interval, ev.flags, from, to);
	}
	perf_script_close(&s);
	end_threads(&rd);
	must_have_found(&rd);
	free_reader(&rd);
}

/* ------------------------------------------------------- without perf ---- */

/* Cache of own(), which is expensive and called for the same addresses again and again */
struct known {
	const struct rec_space *space;
	uint64_t addr, own, bias;
	unsigned int generation;
};

#define KNOWN	16384

struct native {
	struct reader rd;
	struct rec rec;
	struct known *known;
	unsigned int generation;	/* changes with mappings; starts at 1 */
};

static void look_up(struct native *n, struct known *k)
{
	const struct profile_perf *r = n->rd.result;
	struct perf_place place = { .addr = k->addr };

	if (r->place) {
		k->own = r->place(r->ctx, &n->rec, k->space, k->addr);
		k->bias = k->addr - k->own;
		return;
	}
	if (!rec_place(&n->rec, k->space, k->addr, &place.dso, &place.offset))
		place.dso = NULL;
	n->rd.file = place.dso ? rec_file_at(&n->rec, k->space, k->addr) : NULL;
	k->own = own(&n->rd, &place, &k->bias);
}

/* own() with a cache */
static uint64_t own_at(struct native *n, const struct rec_space *space, uint64_t addr,
		       uint64_t *bias)
{
	uint64_t h = (addr ^ (uintptr_t)space) * 0x9e3779b97f4a7c15ull;
	struct known *k = &n->known[h >> 50 & (KNOWN - 1)];

	if (n->rd.no_kernel && rec_is_kernel(&n->rec, addr))
		return PROFILE_ELSEWHERE;
	if (k->addr != addr || k->space != space || k->generation != n->generation) {
		*k = (struct known){ .space = space, .addr = addr, .generation = n->generation };
		look_up(n, k);
	}
	if (k->own != PROFILE_ELSEWHERE)
		*bias = k->bias;
	return k->own;
}

static void take_branch(void *ctx, const struct rec_sample *s)
{
	struct native *n = ctx;
	struct where *w = find_thread(&n->rd, s->tid, s->cpu);
	uint64_t from = own_at(n, s->space, s->ip, &w->bias);
	uint64_t to = own_at(n, s->space, s->addr, &w->bias);

	on_branch(&n->rd, w, rec_interval(&n->rec, s->time), rec_line_flags(s->flags), from, to);
}

static void take_edge(void *ctx, const struct rec_space *space, const struct nt_edge *edge)
{
	struct native *n = ctx;
	uint64_t bias;
	uint64_t from = own_at(n, space, edge->from, &bias), to = own_at(n, space, edge->to, &bias);

	add_times(n->rd.result, from, to, type_of(rec_line_flags(nt_session_flags(edge->type))),
		  edge->count);
}

/* The target of the last branch that was counted as an edge */
static void take_reach(void *ctx, const struct rec_sample *s)
{
	struct native *n = ctx;
	struct where *w = find_thread(&n->rd, s->tid, s->cpu);

	go_on(w, own_at(n, s->space, s->addr, &w->bias));
}

static void take_gone(void *ctx, const struct rec_task *task)
{
	struct native *n = ctx;
	struct where *w = rec_map_remove(&n->rd.threads, thread_key(task->tid, -1));

	if (!w)
		return;
	lose(&n->rd, w, 0);
	if (n->rd.last_thread == w)
		n->rd.last_thread = NULL;
	free(w);
}

/* Mappings may have changed. */
static void take_note(void *ctx, const struct rec_note *note)
{
	struct native *n = ctx;

	if (note->type != NT_PERFDATA_SWITCH && note->type != NT_PERFDATA_SWITCH_CPU_WIDE)
		n->generation++;
}

static enum kinship kinship_of(struct reader *rd, const struct rec_file *file)
{
	rd->file = file;
	return find_file(rd, file->name);
}

/* A run begins where the program is entered, even without a branch. */
static bool enters(void *ctx, const struct rec_file *from, const struct rec_file *to)
{
	struct native *n = ctx;

	if (n->rd.result->place)
		return true;
	return kinship_of(&n->rd, from) == FILE_OTHER && kinship_of(&n->rd, to) != FILE_OTHER;
}

static void take_loss(void *ctx, const struct rec_loss *loss)
{
	struct native *n = ctx;
	struct perf_event_line line;

	rec_line_loss(&n->rec, loss, &line);
	on_error(&n->rd, &line);
}

static void add_id(struct perf_build_ids *ids, const char *name,
		   const struct nt_perfdata_build_id *id)
{
	char hex[2 * NT_PERFDATA_BUILD_ID_MAX + 1];
	size_t i;

	/* a program that was rebuilt during the recording has several build-ids */
	hex_of(id, hex);
	for (i = 0; i < ids->n; i++)
		if (!strcmp(ids->list[i].path, name) && !strcmp(ids->list[i].hex, hex))
			return;
	if (*hex)
		perf_build_ids_add(ids, name, hex);
}

/* Read the build-ids of files that were hit, and those in mapping events. */
static void read_ids(struct native *n)
{
	const struct rec_note *note;
	struct nt_perfdata_file_id id;
	size_t i;

	for (i = 0; nt_perfdata_file_id(n->rec.pd, i, &id) > 0; i++)
		add_id(&n->rd.ids, id.name, &id.build_id);
	rec_notes_begin(&n->rec);
	while ((note = rec_note_next(&n->rec)))
		if (note->mmap)
			add_id(&n->rd.ids, note->mmap->name, &note->mmap->build_id);
}

void profile_perf_decode(struct profile_perf *r, const struct rec_options *options,
			 const char *file, const char *program, const char *build_id)
{
	struct native n = {
		.rd = {
			.result = r, .data = file, .program = program,
			.name = program ? last_part(program) : NULL, .build_id = build_id,
		},
		.known = calloc(KNOWN, sizeof(*n.known)), .generation = 1,
	};
	const struct rec_output output = {
		.branch = take_branch, .loss = take_loss, .edge = take_edge, .reach = take_reach,
		.enters = enters, .note = take_note, .gone = take_gone, .ctx = &n,
	};

	if (!n.known)
		die("%s", nt_strerror(NT_ENOMEM));
	rec_open(&n.rec, file, options);
	if (!r->place) {
		read_ids(&n);
		check_build_ids(&n.rd);
	}
	/* losses found when the file was opened, such as damage */
	r->losses += n.rec.losses;
	r->partial |= n.rec.partial;
	rec_run(&n.rec, &output);
	if (n.rec.damage)
		fprintf(stderr, "ntrace: %s: decoded up to there\n", n.rec.damage);
	end_threads(&n.rd);
	if (r->done)
		r->done(r->ctx, &n.rec);
	else if (!n.rd.nr_files && (n.rec.chosen || options->nr_times))
		die("%s: nothing was executed in what was chosen of it (--cpu, --pid, --tid, --comm, --time)",
		    file);
	else
		must_have_found(&n.rd);
	free(n.known);
	free_reader(&n.rd);
	rec_free(&n.rec);
}
