// SPDX-License-Identifier: GPL-2.0-only
/*
 * Count the branches of a recording. The library counts edges by address in each address space, and
 * remembers most messages, so that they need not be decoded again. The file of an address is looked
 * up only once for each edge, before something else is mapped there.
 */
#include <string.h>

#include "rec.h"

/*
 * Start with an empty table after so many new address spaces. By then, most of the old ones have
 * ended, and their edges take memory. The library remembers messages for no more address spaces
 * than that.
 */
#define SPACES	64

/*
 * No code runs past the end of a mapping that is padded. An instruction may end with two zeros, as
 * NOP does, but none of its parcels before that is zero, too.
 */
static bool is_padded(struct rec *rec, const struct rec_mapping *m)
{
	static const uint8_t zeros[4];
	uint8_t last[sizeof(zeros)] = { 0 };

	rec_file_read(rec, m->file, m->offset + (m->end - m->start) - sizeof(last), last,
		      sizeof(last));
	return !memcmp(last, zeros, sizeof(last));
}

/* Edges do not tell where a run continues from the code of one file to that of another. */
static bool is_entered(struct rec *rec, const struct rec_space *space)
{
	const struct rec_output *out = rec->output;
	const struct rec_mapping *m;

	for (m = space->map; m + 1 < space->map + space->nr_maps; m++)
		if (m[0].end == m[1].start && m[0].file != m[1].file &&
		    out->enters(out->ctx, m[0].file, m[1].file) && !is_padded(rec, m))
			return true;
	return false;
}

static bool is_countable(struct rec *rec, struct rec_space *space)
{
	if (rec->output->enters && space->changed)
		space->uncounted = is_entered(rec, space);
	space->changed = false;
	return !space->uncounted && space->pid > 0;
}

/* Is something before this time left to count? Branches are counted up to a little before. */
static bool is_before(const struct rec_queue *q, uint64_t time, uint64_t *until)
{
	if (time < NT_SESSION_BEFORE_NS)
		return false;
	*until = time - NT_SESSION_BEFORE_NS;
	return *until > q->s.time;
}

/* May branches that are not wanted be counted, to skip them? */
static bool may_skip(const struct rec_queue *q, uint64_t *until)
{
	if (!q->rec->trace.nr_wanted || !q->s.timed)
		return false;
	*until = nt_session_unwanted_until(&q->rec->trace, q->s.time);
	return *until > q->s.time && *until != UINT64_MAX;
}

/* May branches of the output be counted? */
static bool may_count(const struct rec_queue *q, uint64_t *until)
{
	const struct rec_output *out = q->rec->output;
	const struct nt_session *s = &q->rec->trace;
	const unsigned int i = rec_interval(q->rec, q->s.time);

	if (s->nr_wanted &&
	    (!q->s.timed || i == s->nr_wanted || !is_before(q, s->wanted[i].to, until)))
		return false;
	/* The next part skips to its beginning in the same way, and compares: see rec-parts.c. */
	if (q->rec->until && !is_before(q, q->rec->until, until))
		return false;
	return out->edge && !q->s.guest && rec_flow_is_chosen(q) &&
	       (!q->space || is_countable(q->rec, q->space));
}

struct nt_counts *rec_count(const struct rec_queue *q, uint64_t *until)
{
	struct rec *rec = q->rec;
	struct nt_counts **counts;

	if (rec->options->one_by_one)
		return NULL;
	if (may_skip(q, until))
		counts = &rec->skipped;
	else if (may_count(q, until))
		counts = &rec->counts;
	else
		return NULL;
	if (!*counts)
		*counts = nt_counts_new();
	if (!*counts)
		die("%s", nt_strerror(NT_ENOMEM));
	return *counts;
}

static void tell(struct rec *rec)
{
	size_t i, n;
	const struct nt_edge *edge;

	edge = nt_counts_edges(rec->counts, &n);
	if (!edge && n)
		die("%s", nt_strerror(NT_ENOMEM));
	for (i = 0; i < n; i++)
		if (edge[i].count)
			rec->output->edge(rec->output->ctx,
					  rec_map_find(&rec->spaces, (int64_t)edge[i].space),
					  &edge[i]);
}

void rec_count_space(struct rec *rec)
{
	if (++rec->spaces_made == SPACES)
		rec_count_end(rec);
}

void rec_count_changing(struct rec *rec, const struct rec_space *space, uint64_t start,
			uint64_t end)
{
	const uint64_t pid = (uint64_t)space->pid;

	if (rec->skipped && nt_counts_have(rec->skipped, pid, start, end))
		nt_counts_clear(rec->skipped);
	if (!rec->counts || !nt_counts_have(rec->counts, pid, start, end))
		return;
	tell(rec);
	nt_counts_clear(rec->counts);
}

void rec_count_end(struct rec *rec)
{
	struct nt_counts_stats stats = { .size = sizeof(stats) };

	rec->spaces_made = 0;
	nt_counts_free(rec->skipped);
	rec->skipped = NULL;
	if (!rec->counts)
		return;
	tell(rec);
	nt_counts_get_stats(rec->counts, &stats);
	rec->insns += stats.insns;
	nt_counts_free(rec->counts);
	rec->counts = NULL;
}
