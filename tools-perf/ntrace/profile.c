// SPDX-License-Identifier: GPL-2.0-only
/*
 * Count what a program executed: transfers and linear runs, at the addresses of its file
 */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "edges-count.h"

/* -------------------------------------------------------------- program -- */

static void add_segment(struct profile *p, const GElf_Phdr *ph)
{
	p->segments = reallocarray(p->segments, p->nr_segments + 1, sizeof(*p->segments));
	if (!p->segments)
		die("%s", nt_strerror(NT_ENOMEM));
	p->segments[p->nr_segments++] = (struct segment){
		ph->p_vaddr + p->in.elfs->bias, ph->p_filesz, ph->p_offset,
	};
}

static void read_notes(struct profile *p, Elf *elf, const GElf_Phdr *ph)
{
	Elf_Data *data = elf_getdata_rawchunk(elf, (int64_t)ph->p_offset, ph->p_filesz,
					      ph->p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
	size_t at = 0, name, desc, i;
	GElf_Nhdr note;

	while (data && (at = gelf_getnote(data, at, &note, &name, &desc))) {
		const uint8_t *id = (const uint8_t *)data->d_buf + desc;

		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != sizeof("GNU") ||
		    memcmp((const char *)data->d_buf + name, "GNU", sizeof("GNU")) ||
		    note.n_descsz > PERF_BUILD_ID / 2)
			continue;
		for (i = 0; i < note.n_descsz; i++)
			snprintf(&p->build_id[2 * i], 3, "%02x", id[i]);
	}
}

/* A profile is of one file: the first that was given. */
static void read_segments(struct profile *p)
{
	const struct elf *file = p->in.elfs;
	size_t i, count = 0;
	Elf *elf;
	int fd;

	p->anywhere = !file;
	if (!file)
		return;
	elf_version(EV_CURRENT);
	fd = open(file->path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		die("%s: %s", file->path, strerror(errno));
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (!elf || elf_getphdrnum(elf, &count))
		die("%s: %s", file->path, nt_strerror(NT_EFORMAT));
	for (i = 0; i < count; i++) {
		GElf_Phdr ph;

		if (!gelf_getphdr(elf, i, &ph))
			continue;
		if (ph.p_type == PT_LOAD && (ph.p_flags & PF_X))
			add_segment(p, &ph);
		else if (ph.p_type == PT_NOTE)
			read_notes(p, elf, &ph);
	}
	elf_end(elf);
	close(fd);
}

/* The file's own address or offset of pc; false if pc is outside of the file */
static bool place(const struct profile *p, uint64_t pc, uint64_t *at)
{
	size_t i;

	*at = pc;
	for (i = 0; i < p->nr_segments; i++) {
		const struct segment *s = &p->segments[i];

		if (pc - s->start >= s->size)
			continue;
		*at = p->offsets ? pc - s->start + s->offset : pc - p->in.elfs->bias;
		return true;
	}
	return p->anywhere;
}

uint64_t profile_address(const struct profile *p, uint64_t offset)
{
	size_t i;

	for (i = 0; i < p->nr_segments; i++) {
		const struct segment *s = &p->segments[i];

		if (offset - s->offset < s->size)
			return offset - s->offset + s->start;
	}
	return PROFILE_ELSEWHERE;
}

uint64_t profile_inside(const struct profile *p, uint64_t addr)
{
	size_t i;

	for (i = 0; i < p->nr_segments; i++)
		if (addr - p->segments[i].start < p->segments[i].size)
			return addr;
	return PROFILE_ELSEWHERE;
}

/* ------------------------------------------------------------- counting -- */

static void add_event(struct profile *p, const struct nt_event *ev)
{
	switch (ev->kind) {
	case NT_EV_START:
		if (ev->flags & NT_EVF_JOIN)
			points_add(&p->points, ev->to)->back++;
		else
			points_add(&p->points, ev->to)->in++;
		break;
	case NT_EV_STOP:
		points_add(&p->points, ev->from)->away++;
		break;
	case NT_EV_LOSS:
		p->losses++;
		p->skipped += ev->skipped;
		if (ev->flags & NT_EVF_PC)
			points_add(&p->points, ev->from)->lost++;
		break;
	}
}

/* Is it a transfer that the program makes, and a compiler knows about? */
static bool of_program(unsigned int type)
{
	return type != NT_TYPE_EXCEPTION && type != NT_TYPE_INTERRUPT && type != NT_TYPE_TRAP &&
	       type != NT_TYPE_ERET;
}

static void add_ends(struct profile *p, const struct nt_edge *e)
{
	struct point *point;

	if (e->from != PROFILE_ELSEWHERE) {
		point = points_add(&p->points, e->from);
		if (e->type == PROFILE_TYPE_LOST)
			point->lost += e->count;
		else if (of_program(e->type) || e->type == NT_TYPE_ERET)
			point->out += e->count;
		else
			point->away += e->count;
	}
	if (e->to != PROFILE_ELSEWHERE) {
		point = points_add(&p->points, e->to);
		if (e->type == NT_TYPE_ERET)
			point->back += e->count;
		else
			point->in += e->count;
	}
}

static void add_edge(struct profile *p, const struct nt_edge *e)
{
	struct nt_edge *own = &p->edges[p->nr_edges];

	add_ends(p, e);
	if (!of_program(e->type))
		return;
	*own = *e;
	if (place(p, e->from, &own->from) && place(p, e->to, &own->to))
		p->nr_edges++;
	else
		p->elsewhere += e->count;
}

static uint64_t own_place(const struct profile *p, uint64_t pc)
{
	uint64_t at;

	return pc != PROFILE_ELSEWHERE && place(p, pc, &at) ? at : PROFILE_ELSEWHERE;
}

static void give(const struct profile *p, uint64_t from, uint64_t to, unsigned int type,
		 uint64_t count)
{
	const struct nt_edge e = {
		.from = own_place(p, from), .to = own_place(p, to), .type = (uint8_t)type,
		.count = count,
	};

	if (count && (e.from != PROFILE_ELSEWHERE || e.to != PROFILE_ELSEWHERE))
		p->take(p->ctx, &e);
}

/* At this point, the points only contain events that are not transfers. */
static void give_all(const struct profile *p, const struct nt_edge *edges, size_t nr_edges)
{
	const struct point *pt;
	size_t i;

	for (i = 0; i < p->points.n; i++) {
		pt = &p->points.list[i];
		give(p, PROFILE_ELSEWHERE, pt->pc, NT_TYPE_NONE, pt->in);
		give(p, PROFILE_ELSEWHERE, pt->pc, NT_TYPE_ERET, pt->back);
		give(p, pt->pc, PROFILE_ELSEWHERE, NT_TYPE_TRAP, pt->away);
		give(p, pt->pc, PROFILE_ELSEWHERE, PROFILE_TYPE_LOST, pt->lost);
	}
	for (i = 0; i < nr_edges; i++)
		give(p, edges[i].from, edges[i].to, edges[i].type, edges[i].count);
}

static void count(struct profile *p)
{
	struct nt_code *code = input_code(&p->in);
	struct nt_flow *flow = input_flow(&p->in, code, p->in.begin, p->in.size);
	struct nt_counts *counts = nt_counts_new();
	const struct nt_edge *edges;
	struct nt_event ev[256];
	size_t i, nr_edges;
	int n;

	if (!counts)
		die("%s", nt_strerror(NT_ENOMEM));
	while ((n = nt_flow_count(flow, counts, ev, 256)) > 0) {
		for (i = 0; i < (size_t)n; i++)
			add_event(p, &ev[i]);
		input_progress(&p->in, nt_flow_consumed(flow));
	}
	progress_end();
	if (n < 0)
		die("%s", nt_strerror(n));
	edges = nt_counts_edges(counts, &nr_edges);
	p->edges = calloc(nr_edges + 1, sizeof(*p->edges));
	if (!p->edges)
		die("%s", nt_strerror(NT_ENOMEM));
	if (p->take)
		give_all(p, edges, nr_edges);
	for (i = 0; !p->take && i < nr_edges; i++)
		add_edge(p, &edges[i]);
	if (!p->take)
		ranges_make(&p->ranges, &p->points, code);
	nt_counts_free(counts);
	nt_flow_free(flow);
	nt_code_free(code);
}

static void count_recording(struct profile *p, struct profile_perf *r, const char *file)
{
	const char *build_id = *p->build_id ? p->build_id : NULL;

	if (p->perf.text || p->perf.perf)
		profile_perf_read(r, p->perf.perf, file, p->in.elfs->path, build_id);
	else
		profile_rec_decode(r, &p->recording, file, p->in.elfs->path, build_id);
}

static void count_recordings(struct profile *p, struct profile_perf *r)
{
	size_t i;

	p->recording.program = p->in.elfs->path;
	count_recording(p, r, p->in.file);
	for (i = 0; i < p->in.nr_more; i++)
		count_recording(p, r, p->in.more[i]);
}

/* The edges were counted at the program's own addresses. */
static void count_perf(struct profile *p)
{
	struct profile_perf r = { .profile = p };
	struct nt_code *code = input_code(&p->in);
	size_t i;

	if (p->of_edges)
		p->damaged = edges_count_back(&r);
	else
		count_recordings(p, &r);
	p->losses = r.losses;
	p->partial = r.partial;
	p->rounded = r.rounded;
	p->edges = calloc(r.nr_edges + 1, sizeof(*p->edges));
	if (!p->edges)
		die("%s", nt_strerror(NT_ENOMEM));
	for (i = 0; i < r.room; i++) {
		const struct nt_edge *e = &r.edges[i];

		/* where trace begins or ends, there is no transfer */
		if (e->count && (e->type == NT_TYPE_NONE || e->type == PROFILE_TYPE_LOST))
			add_ends(p, e);
		else if (e->count)
			add_edge(p, e);
	}
	ranges_make(&p->ranges, &p->points, code);
	free(r.edges);
	nt_code_free(code);
}

/*
 * Convert ranges to the file's addresses or offsets, and drop those that are outside of the file.
 */
static void place_ranges(struct profile *p)
{
	size_t i, n = 0;

	for (i = 0; i < p->ranges.n; i++) {
		struct range r = p->ranges.list[i];

		if (place(p, r.start, &r.start) && place(p, r.end, &r.end))
			p->ranges.list[n++] = r;
	}
	p->ranges.n = n;
}

static int compare(const void *a, const void *b)
{
	const struct nt_edge *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return x->to < y->to ? -1 : x->to > y->to;
}

/* The first file that contains edges, or NULL */
static const char *edges_among(const struct profile *p)
{
	size_t i;

	if (edges_is(p->in.file))
		return p->in.file;
	for (i = 0; i < p->in.nr_more; i++)
		if (edges_is(p->in.more[i]))
			return p->in.more[i];
	return NULL;
}

/*
 * If one file contains edges, the others are skipped if they are damaged. But other kinds of files
 * are an error.
 */
static void check_edges(const struct profile *p, const char *edges)
{
	size_t i;

	if (perf_is_data(p->in.file))
		die("%s: is no file of edges, as %s is", p->in.file, edges);
	for (i = 0; i < p->in.nr_more; i++)
		if (perf_is_data(p->in.more[i]))
			die("%s: is no file of edges, as %s is", p->in.more[i], edges);
}

/* Raw traces differ in their parameters, so only one is allowed. */
static void check_more(const struct profile *p)
{
	size_t i;

	for (i = 0; !p->of_edges && i < p->in.nr_more; i++)
		if (!p->of_perf || (!p->perf.text && !perf_is_data(p->in.more[i])))
			die("%s: several files have to be recordings, each a perf.data",
			    p->of_perf ? p->in.more[i] : p->in.file);
}

/* A recording contains the name of the program. */
static void find_program(struct profile *p)
{
	char *path = rec_program(p->in.file, &p->recording);

	input_add_elf(&p->in, path);
	free(path);
}

/* -------------------------------------------------------------- public -- */

void profile_open(struct profile *p)
{
	const char *edges = p->perf.text ? NULL : edges_among(p);

	p->of_edges = edges;
	p->of_perf = p->of_edges || p->perf.text || perf_is_data(p->in.file);
	if (p->of_edges)
		check_edges(p, edges);
	check_more(p);
	if (p->of_edges && !p->in.images)
		die("%s: has counts of several programs: give the one that is meant as --elf=FILE",
		    edges);
	if (p->of_edges)
		rec_refuse_options(&p->recording, "a sum of counts");
	if (!p->in.images && p->of_perf && !p->perf.text)
		find_program(p);
	if (!p->in.images)
		die("no program given: --elf or --raw%s", input_pipe_hint(&p->in));
	if (p->of_perf && (!p->in.elfs || p->in.elfs->bias))
		die("%s: %s: give it as --elf=FILE", p->in.file, p->of_edges ?
		    "has the program's own addresses" : "perf knows where the program was mapped");
	if (p->perf.text)
		p->perf.perf = NULL;
	if (!p->of_perf)
		rec_refuse_options(&p->recording, "a raw trace");
	p->in.no_trace = p->of_perf;
	input_open(&p->in);
	input_check_sources(&p->in);
	read_segments(p);
}

void profile_make(struct profile *p)
{
	if (p->of_perf)
		count_perf(p);
	else
		count(p);
	if (p->nr_edges)
		qsort(p->edges, p->nr_edges, sizeof(*p->edges), compare);
	place_ranges(p);
}

size_t profile_first_edge(const struct profile *p, uint64_t from)
{
	return array_before(p->edges, p->nr_edges, sizeof(*p->edges), from);
}

/* Report what is missing in the profile, on stderr, because stdout is for programs. */
static void tell(const struct profile *p)
{
	if (p->losses && p->of_perf)
		fprintf(stderr, "ntrace: %" PRIu64 " losses\n", p->losses);
	else if (p->losses)
		fprintf(stderr, "ntrace: %" PRIu64 " losses, %" PRIu64 " bytes skipped\n",
			p->losses, p->skipped);
	if (p->elsewhere)
		fprintf(stderr, "ntrace: %" PRIu64 " transfers to or from other code than %s's "
			"left out\n", p->elsewhere, p->in.elfs->path);
	if (p->ranges.unmatched && p->rounded)
		fprintf(stderr, "ntrace: %" PRIu64 " runs left out: their counts are rounded, as those of "
			"weights and caps are, and do not fit together\n", p->ranges.unmatched);
	else if (p->ranges.unmatched)
		fprintf(stderr, "ntrace: %" PRIu64 " runs left out that overlap others: code "
			"entered in the middle of instructions\n", p->ranges.unmatched);
}

int profile_end(struct profile *p)
{
	bool lost = p->losses || (p->ranges.unmatched && !p->rounded) || p->damaged;

	tell(p);
	if (p->losses && !p->of_perf)
		diagnose(&p->in);
	rec_options_free(&p->recording);
	free(p->segments);
	free(p->points.list);
	free(p->ranges.list);
	free(p->edges);
	input_free(&p->in);
	out_done();
	return lost ? EXIT_LOSSES : EXIT_WHOLE;
}
