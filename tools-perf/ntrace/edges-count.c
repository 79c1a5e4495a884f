// SPDX-License-Identifier: GPL-2.0-only
/*
 * Convert what a recording or a raw trace has executed to edges. A recording is counted in all
 * files that are reported. All other code is elsewhere, so that nothing about it leaves the host.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "edges-count.h"
#include "profile-flow.h"

/* Numbers of files while counting. KERNEL and NOWHERE are not files. */
enum { KERNEL = 1, NOWHERE, FIRST };

/* The owner of a file */
enum whose { TOLD, KERNELS, OTHERS };

struct counted_file {
	const struct rec_file *file;	/* NULL: a kernel, or nowhere */
	struct edges_file is;
	enum whose whose;
};

struct counting {
	const struct edges_choice *choice;
	struct profile_perf r;
	struct counted_file *file;	/* indexed by number, starting at 0 */
	size_t nr_files;
	struct rec_map numbers;		/* rec_file -> number */
	struct edges_recording recording;
};

/* -------------------------------------------------------------- files --- */

/* perf pads build-ids of 16 bytes with zeros. */
static void set_id(struct edges_file *f, const uint8_t *id, unsigned int size)
{
	while (size > 16 && !id[size - 1])
		size--;
	memcpy(f->id, id, size);
	f->size = size;
}

static char *name_of(const char *path)
{
	char *name = strdup(last_part(path)), *p;

	if (!name)
		die("%s", nt_strerror(NT_ENOMEM));
	for (p = name; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = '?';
	return name;
}

/*
 * The owner of the recorded file, or of its copy if the file no longer exists. With --symfs, the
 * recording is from another machine, so a local file of the same name is not related to it.
 */
static enum whose whose(const struct rec *rec, const struct rec_file *f)
{
	struct stat st;

	if (f->vdso)
		return TOLD;
	if ((rec->options->symfs || stat(f->name, &st)) && (!f->path || stat(f->path, &st)))
		return OTHERS;
	return !st.st_uid || st.st_uid == geteuid() ? TOLD : OTHERS;
}

static void identify(struct counted_file *c, struct rec *rec, struct rec_file *f)
{
	c->file = f;
	c->is.name = name_of(f->name);
	if (*f->name != '/' && !f->vdso) {
		c->whose = OTHERS;
		return;
	}
	c->whose = rec_file_open(rec, f) ? whose(rec, f) : OTHERS;
	if (f->id.size || f->own_id.size) {
		set_id(&c->is, f->id.size ? f->id.data : f->own_id.data,
		       f->id.size ? f->id.size : f->own_id.size);
	} else if (f->path) {
		edges_sha256_file(f->path, c->is.id);
		c->is.size = EDGES_SHA256;
	} else {
		c->whose = OTHERS;
	}
}

static struct counted_file *add_file(struct counting *c)
{
	c->file = array_room(c->file, c->nr_files, sizeof(*c->file));
	c->file[c->nr_files] = (struct counted_file){ .file = NULL };
	return &c->file[c->nr_files++];
}

static uint64_t number_of(struct counting *c, struct rec *rec, struct rec_file *f)
{
	uintptr_t number = (uintptr_t)rec_map_find(&c->numbers, (intptr_t)f);

	if (number)
		return number;
	number = c->nr_files;
	identify(add_file(c), rec, f);
	rec_map_set(&c->numbers, (intptr_t)f, (void *)number);
	return number;
}

static uint64_t place(void *ctx, struct rec *rec, const struct rec_space *space, uint64_t addr)
{
	struct counting *c = ctx;
	const struct rec_mapping *m;
	uint64_t own, number;

	if (!addr)
		return PROFILE_ELSEWHERE;
	if (rec_is_kernel(rec, addr))
		return edges_place(KERNEL, addr);
	m = space ? rec_space_find(space, addr) : NULL;
	if (!m)
		return edges_place(NOWHERE, addr);
	number = number_of(c, rec, m->file);
	if (!rec_file_address(m->file, m->offset + (addr - m->start), &own) ||
	    !edges_address_fits(own))
		return edges_place(NOWHERE, addr);
	return edges_place(number, own);
}

/* Find the kernel's build-id, and the address of its symbol _text. */
static void identify_kernel(struct counted_file *k, struct rec *rec)
{
	static const char name[] = "[kernel.kallsyms]";
	const struct nt_perfdata_mmap *m;
	struct nt_perfdata_file_id id;
	const struct rec_note *n;
	size_t i;

	k->whose = KERNELS;
	k->is.name = name_of(name);
	for (i = 0; nt_perfdata_file_id(rec->pd, i, &id) > 0; i++)
		if (!strcmp(id.name, name))
			set_id(&k->is, id.build_id.data, id.build_id.size);
	rec_notes_begin(rec);
	while (!k->is.base && (n = rec_note_next(rec))) {
		m = n->mmap;
		if (!m || strncmp(m->name, name, sizeof(name) - 1))
			continue;
		if (!strcmp(m->name + sizeof(name) - 1, "_text"))
			k->is.base = m->start;
		if (!k->is.size)
			set_id(&k->is, m->build_id.data, m->build_id.size);
	}
}

static void done(void *ctx, struct rec *rec)
{
	struct counting *c = ctx;
	const char *host;

	if (c->choice->whole && rec->damage)
		die("%s", rec->damage);
	identify_kernel(&c->file[KERNEL], rec);
	if (nt_perfdata_string(rec->pd, NT_PERFDATA_FEAT_HOSTNAME, 0, &host) > 0)
		c->recording.host = name_of(host);
}

/* -------------------------------------------------------------- edges --- */

static unsigned int kind_of(const struct nt_edge *e)
{
	switch (e->type) {
	case NT_TYPE_NONE:
		return EDGES_BEGIN;
	case PROFILE_TYPE_LOST:
		return EDGES_LOST;
	case NT_TYPE_ERET:
		return EDGES_RETURN;
	case NT_TYPE_EXCEPTION:
	case NT_TYPE_INTERRUPT:
	case NT_TYPE_TRAP:
		return EDGES_TRAP;
	default:
		return EDGES_BRANCH;
	}
}

static int compare_edges(const void *a, const void *b)
{
	return edges_compare(a, b);
}

static void write_sorted(struct edges_writer *w, struct edges_edge *edge, size_t n)
{
	size_t i;

	if (n)
		qsort(edge, n, sizeof(*edge), compare_edges);
	for (i = 0; i < n; i++) {
		if (i + 1 < n && !edges_compare(&edge[i], &edge[i + 1]))
			edge[i + 1].count += edge[i].count;
		else
			edges_write_edge(w, &edge[i]);
	}
}

static bool is_told(const struct counting *c, const struct counted_file *f)
{
	if (f->whose == KERNELS)
		return c->choice->kernel && f->is.size;
	return f->is.size && (f->whose == TOLD || c->choice->others);
}

/* The place in the files of the head; elsewhere if the file is not reported */
static uint64_t told_place(const uint64_t *number, uint64_t at)
{
	uint64_t to = at == PROFILE_ELSEWHERE ? 0 : number[edges_file_of(at)];

	return to ? edges_place(to, at) : 0;
}

static void count_left_out(struct counting *c, const struct nt_edge *e)
{
	uint64_t at = e->from == PROFILE_ELSEWHERE ? e->to : e->from;

	if (kind_of(e) != EDGES_BRANCH || at == PROFILE_ELSEWHERE)
		return;
	if (edges_file_of(at) == KERNEL)
		c->recording.kernel += e->count;
	else
		c->recording.others += e->count;
}

static struct edges_edge *make_edges(struct counting *c, const uint64_t *number, size_t *n)
{
	struct edges_edge *edge = calloc(c->r.nr_edges + 1, sizeof(*edge)), e;
	size_t i;

	if (!edge)
		die("%s", nt_strerror(NT_ENOMEM));
	for (*n = i = 0; i < c->r.room; i++) {
		const struct nt_edge *own = &c->r.edges[i];

		if (!own->count)
			continue;
		e = (struct edges_edge){ told_place(number, own->from), told_place(number, own->to),
					 own->count, kind_of(own) };
		/* losses and starts have only one end */
		if (!e.from && !e.to) {
			count_left_out(c, own);
			continue;
		}
		if (e.kind == EDGES_BRANCH)
			c->recording.branches += e.count;
		edge[(*n)++] = e;
	}
	return edge;
}

/* ------------------------------------------------------------ recordings --- */

/* Files with the same content but different names are one file. */
static void make_head(struct counting *c, struct edges_head *head, uint64_t *number)
{
	const struct edges_file *at;
	size_t i;

	head->file = calloc(c->nr_files, sizeof(*head->file));
	if (!head->file)
		die("%s", nt_strerror(NT_ENOMEM));
	for (i = 1; i < c->nr_files; i++)
		if (is_told(c, &c->file[i]))
			head->file[head->nr_files++] = c->file[i].is;
	edges_settle_files(head);
	for (i = 1; i < c->nr_files; i++) {
		if (!is_told(c, &c->file[i]))
			continue;
		at = bsearch(&c->file[i].is, head->file, head->nr_files, sizeof(*at),
			     edges_compare_files);
		number[i] = at - head->file + 1;
	}
}

static void write_part(struct counting *c, struct edges_writer *w)
{
	uint64_t *number = calloc(c->nr_files, sizeof(*number));
	struct edges_head head = { .recording = &c->recording, .nr_recordings = 1 };
	struct edges_edge *edge;
	size_t n;

	if (!number)
		die("%s", nt_strerror(NT_ENOMEM));
	make_head(c, &head, number);
	edge = make_edges(c, number, &n);
	edges_write_part(w, &head);
	write_sorted(w, edge, n);
	edges_write_part_end(w);
	free(edge);
	free(number);
	free(head.file);
}

static void counting_free(struct counting *c)
{
	while (c->nr_files)
		free(c->file[--c->nr_files].is.name);
	free(c->file);
	rec_map_free(&c->numbers);
	free(c->recording.host);
	free(c->r.edges);
}

static void counting_init(struct counting *c, const struct edges_choice *choice);

static void *another(void *ctx)
{
	struct counting *c = malloc(sizeof(*c));

	if (!c)
		die("%s", nt_strerror(NT_ENOMEM));
	counting_init(c, ((const struct counting *)ctx)->choice);
	return c;
}

static uint64_t adopt(void *ctx, struct rec *rec, void *other, uint64_t at)
{
	const struct counting *o = other;
	const struct rec_file *file = o->file[edges_file_of(at)].file;
	struct rec_file *own;

	if (!file)
		return at;
	own = rec_file_get(rec, file->name, &file->id);
	return edges_place(number_of(ctx, rec, own), edges_address(at));
}

static void drop(void *other)
{
	counting_free(other);
	free(other);
}

static void counting_init(struct counting *c, const struct edges_choice *choice)
{
	*c = (struct counting){ .choice = choice };
	while (c->nr_files < FIRST)
		add_file(c)->whose = OTHERS;
	c->r.place = place;
	c->r.done = done;
	c->r.another = another;
	c->r.adopt = adopt;
	c->r.drop = drop;
	c->r.ctx = c;
}

static void tell(const struct counting *c)
{
	if (c->recording.kernel)
		warn("%" PRIu64 " transfers of the kernel left out", c->recording.kernel);
	if (c->recording.others)
		warn("%" PRIu64 " transfers of others' programs, or of code in no file, left out",
		     c->recording.others);
	if (c->recording.losses)
		warn("%" PRIu64 " losses", c->recording.losses);
	if (c->r.partial)
		warn("one of these: the recording has snapshots or samples of its trace, and what ran "
		     "between them is not counted");
}

struct edges_missed edges_count_recording(struct edges_writer *w, const char *path,
					  const struct rec_options *options,
					  const struct edges_choice *choice)
{
	struct counting c;
	struct edges_missed missed;

	counting_init(&c, choice);
	edges_sha256_file(path, c.recording.id);
	profile_rec_decode(&c.r, options, path, NULL, NULL);
	c.recording.losses = c.r.losses + c.r.partial;
	if (!c.recording.host)
		c.recording.host = name_of("");
	write_part(&c, w);
	missed = (struct edges_missed){ c.recording.losses, c.recording.others };
	tell(&c);
	counting_free(&c);
	return missed;
}

/* ------------------------------------------------------------- raw traces --- */

static void take(void *ctx, const struct nt_edge *edge)
{
	struct counting *c = ctx;
	struct nt_edge e = *edge;

	if (e.from != PROFILE_ELSEWHERE)
		e.from = edges_place(FIRST, e.from);
	if (e.to != PROFILE_ELSEWHERE)
		e.to = edges_place(FIRST, e.to);
	profile_flow_add_edge(&c->r, &e);
}

static void identify_program(struct counted_file *f, const struct profile *p)
{
	uint8_t id[PERF_BUILD_ID / 2];
	unsigned int n;

	f->whose = TOLD;
	f->is.name = name_of(p->in.elfs->path);
	for (n = 0; p->build_id[2 * n]; n++)
		sscanf(p->build_id + 2 * n, "%2hhx", &id[n]);
	if (n) {
		set_id(&f->is, id, n);
	} else {
		edges_sha256_file(p->in.elfs->path, f->is.id);
		f->is.size = EDGES_SHA256;
	}
}

void edges_count_trace(struct edges_writer *w, struct profile *p)
{
	const struct edges_choice choice = { .others = true };
	struct edges_sha256 hash;
	struct counting c;

	counting_init(&c, &choice);
	edges_sha256_begin(&hash);
	edges_sha256_add(&hash, p->in.trace, p->in.size);
	edges_sha256_end(&hash, c.recording.id);
	c.recording.host = name_of("");
	identify_program(add_file(&c), p);
	p->take = take;
	p->ctx = &c;
	profile_make(p);
	c.recording.losses = p->losses;
	write_part(&c, w);
	counting_free(&c);
}

/* ------------------------------------------------------------------ back --- */

static bool is_program(const struct edges_file *f, const struct edges_file *program)
{
	return f->size == program->size && !memcmp(f->id, program->id, f->size);
}

static void show_files(const struct edges_merge *m)
{
	size_t i, k;

	for (i = 0; i < m->parts.nr; i++)
		for (k = 0; k < m->parts.part[i].head.nr_files; k++)
			fprintf(stderr, "\t%s\n", m->parts.part[i].head.file[k].name);
}

/*
 * Relation of a file to the program: is it the program, and how far was it moved from the addresses
 * of --elf?
 */
struct own {
	bool is;
	uint64_t moved;
};

static uint64_t own_address(const struct profile *p, const struct own *own, uint64_t at)
{
	const struct own *o = &own[edges_file_of(at)];

	return o->is ? profile_inside(p, edges_address(at) - o->moved) : PROFILE_ELSEWHERE;
}

/*
 * total: sum of all parts. No sum in a profile can be larger, so checking this one is sufficient.
 */
static void read_part(struct profile_perf *r, struct edges_merge *m, const struct edges_part *part,
		      const struct own *own, uint64_t *total)
{
	static const unsigned int types[EDGES_KINDS] = {
		[EDGES_BRANCH] = NT_TYPE_JUMP, [EDGES_TRAP] = NT_TYPE_TRAP,
		[EDGES_RETURN] = NT_TYPE_ERET, [EDGES_BEGIN] = NT_TYPE_NONE,
		[EDGES_LOST] = PROFILE_TYPE_LOST,
	};
	struct edges_stream s;
	struct nt_edge e;

	edges_stream_open(&s, part);
	while (edges_stream_next(&s, &m->codec)) {
		e = (struct nt_edge){
			.from = own_address(r->profile, own, s.e.from),
			.to = own_address(r->profile, own, s.e.to),
			.count = s.e.count, .type = (uint8_t)types[s.e.kind],
		};
		/* of other programs */
		if (e.from == PROFILE_ELSEWHERE && e.to == PROFILE_ELSEWHERE)
			continue;
		if (edges_saturate(total, s.e.count))
			die("%s: its counts add up to more than can be counted: merge with smaller --weight",
			    part->path);
		profile_flow_add_edge(r, &e);
	}
}

/*
 * A kernel relocates itself when it boots. The recording contains the address of its symbol _text.
 */
static uint64_t moved_by(const struct edges_file *f, const char *elf)
{
	uint64_t text;

	if (!f->base)
		return 0;
	if (!symbols_value(elf, "_text", &text))
		die("%s: has no symbol _text, and so does not tell how far the kernel moved, which was "
		    "recorded at %#" PRIx64 ": give a vmlinux with its symbols as --elf", elf,
		    f->base);
	return f->base - text;
}

static bool find_own(const struct edges_head *h, const struct edges_file *program,
		     const char *elf, struct own *own)
{
	bool found = false;
	size_t i;

	for (i = 0; i < h->nr_files; i++) {
		if (!is_program(&h->file[i], program))
			continue;
		own[i + 1] = (struct own){ true, moved_by(&h->file[i], elf) };
		found = true;
	}
	return found;
}

static void merge_files(struct edges_merge *m, const struct profile *p)
{
	size_t i;

	edges_merge_add(m, p->in.file);
	for (i = 0; i < p->in.nr_more; i++)
		edges_merge_add(m, p->in.more[i]);
	if (!m->parts.nr)
		die("%s: has no edges", p->in.file);
	edges_merge_settle(m);
}

size_t edges_count_back(struct profile_perf *r)
{
	struct edges_merge m = { .skipped = 0 };
	struct counted_file program = { .file = NULL };
	struct own *own;
	bool found = false;
	size_t i, k, skipped;
	uint64_t total = 0;

	identify_program(&program, r->profile);
	merge_files(&m, r->profile);
	for (i = 0; i < m.parts.nr; i++) {
		const struct edges_part *part = &m.parts.part[i];

		for (k = 0; k < part->head.nr_recordings; k++)
			r->losses += part->head.recording[k].losses;
		own = calloc(part->head.nr_files + 1, sizeof(*own));
		if (!own)
			die("%s", nt_strerror(NT_ENOMEM));
		r->partial |= part->head.scaled;
		r->rounded |= part->head.scaled;
		if (find_own(&part->head, &program.is, r->profile->in.elfs->path, own)) {
			read_part(r, &m, part, own, &total);
			found = true;
		}
		free(own);
	}
	if (!found) {
		warn("%s: has no edges of %s, which has another build-id, but of:",
		     r->profile->in.file,
		     r->profile->in.elfs->path);
		show_files(&m);
		exit(EXIT_UNUSABLE);
	}
	skipped = m.skipped;
	free(program.is.name);
	edges_merge_free(&m);
	return skipped;
}
