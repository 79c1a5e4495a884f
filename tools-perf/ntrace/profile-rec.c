// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace profile of perf.data, without perf: count the branches of a recording, in threads if there
 * are several
 */
#include <stdlib.h>
#include <string.h>

#include "profile-flow.h"

/* Cache of profile_own_place(), which is expensive and often called for the same addresses */
struct known {
	const struct rec_space *space;
	uint64_t addr, own, bias;
	unsigned int generation;
};

#define KNOWN	16384

struct native {
	struct profile_reader rd;
	struct known *known;
	unsigned int generation;	/* changes with mappings; starts at 1 */
};

static void look_up(struct native *n, struct known *k)
{
	const struct profile_perf *r = n->rd.result;
	struct perf_place place = { .addr = k->addr };

	if (r->place) {
		k->own = r->place(r->ctx, n->rd.rec, k->space, k->addr);
		k->bias = k->addr - k->own;
		return;
	}
	if (!rec_place(n->rd.rec, k->space, k->addr, &place.dso, &place.offset))
		place.dso = NULL;
	n->rd.file = place.dso ? rec_file_at(n->rd.rec, k->space, k->addr) : NULL;
	k->own = profile_own_place(&n->rd, &place, &k->bias);
}

/* profile_own_place() with a cache */
static uint64_t own_at(struct native *n, const struct rec_space *space, uint64_t addr,
		       uint64_t *bias)
{
	uint64_t h = (addr ^ (uintptr_t)space) * 0x9e3779b97f4a7c15ull;
	struct known *k = &n->known[h >> 50 & (KNOWN - 1)];

	if (n->rd.no_kernel && rec_is_kernel(n->rd.rec, addr))
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
	struct profile_where *w = profile_flow_thread(&n->rd, s->tid, s->cpu);
	uint64_t from = own_at(n, s->space, s->ip, &w->bias);
	uint64_t to = own_at(n, s->space, s->addr, &w->bias);

	profile_flow_branch(&n->rd, w, rec_interval(n->rd.rec, s->time), rec_line_flags(s->flags),
			    from, to);
}

static void take_edge(void *ctx, const struct rec_space *space, const struct nt_edge *edge)
{
	struct native *n = ctx;
	uint64_t bias;
	uint64_t from = own_at(n, space, edge->from, &bias), to = own_at(n, space, edge->to, &bias);

	profile_flow_add(n->rd.result, from, to,
			 profile_flow_type(rec_line_flags(nt_session_flags(edge->type))),
			 edge->count);
}

/* The target of the last branch that was counted as an edge */
static void take_reach(void *ctx, const struct rec_sample *s)
{
	struct native *n = ctx;
	struct profile_where *w = profile_flow_thread(&n->rd, s->tid, s->cpu);

	profile_flow_reach(w, own_at(n, s->space, s->addr, &w->bias));
}

static void take_gone(void *ctx, const struct rec_task *task)
{
	struct native *n = ctx;

	profile_flow_gone(&n->rd, task->tid, task->born);
}

/* Mappings may have changed. */
static void take_note(void *ctx, const struct rec_note *note)
{
	struct native *n = ctx;

	if (note->type != NT_PERFDATA_SWITCH && note->type != NT_PERFDATA_SWITCH_CPU_WIDE)
		n->generation++;
}

static enum profile_kinship kinship_of(struct profile_reader *rd, const struct rec_file *file)
{
	rd->file = file;
	return profile_own_file(rd, file->name);
}

/* A run begins where the program is entered, even without a branch. */
static bool enters(void *ctx, const struct rec_file *from, const struct rec_file *to)
{
	struct native *n = ctx;

	if (n->rd.result->place)
		return true;
	return kinship_of(&n->rd, from) == PROFILE_OTHER && kinship_of(&n->rd, to) != PROFILE_OTHER;
}

static void take_loss(void *ctx, const struct rec_loss *loss)
{
	struct native *n = ctx;
	struct perf_event_line line;

	rec_line_loss(n->rd.rec, loss, &line);
	profile_flow_loss(&n->rd, &line);
}

static void add_id(struct perf_build_ids *ids, const char *name,
		   const struct nt_perfdata_build_id *id)
{
	char hex[2 * NT_PERFDATA_BUILD_ID_MAX + 1];
	size_t i;

	/* a program that was rebuilt during the recording has several build-ids */
	profile_own_hex(id, hex);
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

	for (i = 0; nt_perfdata_file_id(n->rd.rec->pd, i, &id) > 0; i++)
		add_id(&n->rd.ids, id.name, &id.build_id);
	rec_notes_begin(n->rd.rec);
	while ((note = rec_note_next(n->rd.rec)))
		if (note->mmap)
			add_id(&n->rd.ids, note->mmap->name, &note->mmap->build_id);
}

static void native_init(struct native *n, const struct profile_reader *rd)
{
	*n = (struct native){
		.rd = *rd, .known = calloc(KNOWN, sizeof(*n->known)), .generation = 1,
	};
	if (!n->known)
		die("%s", nt_strerror(NT_ENOMEM));
}

static struct rec_output output_of(struct native *n)
{
	return (struct rec_output){
		.branch = take_branch, .loss = take_loss, .edge = take_edge, .reach = take_reach,
		.enters = enters, .note = take_note, .gone = take_gone, .ctx = n,
	};
}

/* ------------------------------------------------------- several parts --- */

static struct rec_output part_begin(void *ctx, struct rec *rec)
{
	const struct native *first = ctx;
	const struct profile_perf *r = first->rd.result;
	struct native *n = malloc(sizeof(*n));
	struct profile_perf *result = malloc(sizeof(*result));
	const struct profile_reader rd = {
		.result = result, .data = first->rd.data, .program = first->rd.program,
		.name = first->rd.name, .build_id = first->rd.build_id, .ids = first->rd.ids,
		.rec = rec,
	};

	if (!n || !result)
		die("%s", nt_strerror(NT_ENOMEM));
	*result = (struct profile_perf){
		.profile = r->profile, .place = r->place, .adopt = r->adopt, .drop = r->drop,
		.ctx = r->another ? r->another(r->ctx) : NULL,
	};
	native_init(n, &rd);
	return output_of(n);
}

/* The place of the first part that is this place of another part */
static uint64_t adopt(const struct profile_reader *rd, const struct profile_reader *other,
		      uint64_t at)
{
	const struct profile_perf *r = rd->result;

	if (!r->adopt || at == PROFILE_ELSEWHERE)
		return at;
	return r->adopt(r->ctx, rd->rec, other->result->ctx, at);
}

static void part_append(void *ctx, void *other)
{
	struct native *n = ctx, *o = other;

	profile_flow_append(&n->rd, &o->rd, adopt);
	profile_own_append(&n->rd, &o->rd);
}

static void part_drop(void *other)
{
	struct native *n = other;
	struct profile_perf *r = n->rd.result;

	if (r->drop)
		r->drop(r->ctx);
	free(r->edges);
	free(r);
	free(n->known);
	profile_flow_free(&n->rd);
	profile_own_free(&n->rd);
	free(n);
}

/* --------------------------------------------------------------- public -- */

void profile_rec_decode(struct profile_perf *r, const struct rec_options *options,
			 const char *file, const char *program, const char *build_id)
{
	static const struct rec_parts parts = {
		.begin = part_begin, .append = part_append, .drop = part_drop,
	};
	struct rec rec;
	const struct profile_reader rd = {
		.result = r, .data = file, .program = program,
		.name = program ? last_part(program) : NULL, .build_id = build_id, .rec = &rec,
	};
	struct rec_output output;
	struct native n;

	native_init(&n, &rd);
	output = output_of(&n);
	rec_open(&rec, file, options);
	if (!r->place) {
		read_ids(&n);
		profile_own_check(&n.rd);
	}
	/* losses found when the file was opened, such as damage */
	r->losses += rec.losses;
	r->partial |= rec.partial;
	rec_parts_run(&rec, &output, &parts);
	if (rec.damage)
		fprintf(stderr, "ntrace: %s: decoded up to there\n", rec.damage);
	profile_flow_end(&n.rd);
	if (r->done)
		r->done(r->ctx, &rec);
	else if (!n.rd.nr_files && (rec.chosen || options->nr_times))
		die("%s: nothing was executed in what was chosen of it (--cpu, --pid, --tid, --comm, --time)",
		    file);
	else
		profile_own_found(&n.rd);
	free(n.known);
	perf_build_ids_free(&n.rd.ids);
	profile_flow_free(&n.rd);
	profile_own_free(&n.rd);
	rec_free(&rec);
}
