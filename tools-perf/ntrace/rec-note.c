// SPDX-License-Identifier: GPL-2.0-only
/*
 * The other events of a recording, in the order of time. They may not fit into memory: each process
 * has some, and so has each task switch. Therefore, the file is read twice. The first pass only
 * keeps the least time in each block of events. While trace is decoded, the events are read again,
 * block by block, and wait in a heap until no later block has an earlier event. perf record writes
 * the buffers of CPUs one after the other, so no event waits for long.
 *
 * Events without a time come first. perf synthesizes such events for tasks that existed before. If
 * they follow other events in the file (--tail-synthesize), they are kept in memory.
 */
#include <stdlib.h>
#include <string.h>

#include "rec.h"

#define BLOCK	1024

/* ------------------------------------------------------------- a note --- */

static uint64_t time_of(const struct nt_perfdata_record *r)
{
	return r->has & NT_PERFDATA_HAS_TIME ? r->time : 0;
}

/* A note, with room after it for the data that it points to */
static struct rec_note *note_new(const struct nt_perfdata_record *r, size_t behind)
{
	struct rec_note *n = malloc(sizeof(*n) + behind);

	if (!n)
		die("%s", nt_strerror(NT_ENOMEM));
	*n = (struct rec_note){
		.time = time_of(r), .type = r->type, .misc = r->misc,
		.cpu = r->has & NT_PERFDATA_HAS_CPU ? (int)r->cpu : -1,
		.pid = r->pid, .tid = r->tid,
	};
	return n;
}

static struct rec_note *note_of_mmap(const struct nt_perfdata_record *r)
{
	const size_t len = strlen(r->mmap.name) + 1;
	struct rec_note *n = note_new(r, sizeof(*n->mmap) + len);
	struct nt_perfdata_mmap *mmap = (struct nt_perfdata_mmap *)(n + 1);

	*mmap = r->mmap;
	mmap->name = memcpy(mmap + 1, r->mmap.name, len);
	n->mmap = mmap;
	return n;
}

static struct rec_note *note_of_comm(const struct nt_perfdata_record *r)
{
	const size_t len = strlen(r->comm.name) + 1;
	struct rec_note *n = note_new(r, len);

	n->pid = r->comm.pid;
	n->tid = r->comm.tid;
	n->comm = memcpy(n + 1, r->comm.name, len);
	return n;
}

static void fill_note(struct rec_note *n, const struct nt_perfdata_record *r)
{
	switch (r->type) {
	case NT_PERFDATA_FORK:
	case NT_PERFDATA_EXIT:
		n->pid = r->task.pid;
		n->ppid = r->task.ppid;
		n->tid = r->task.tid;
		n->ptid = r->task.ptid;
		break;
	case NT_PERFDATA_KSYMBOL:
		n->start = r->ksymbol.addr;
		n->end = n->start + r->ksymbol.len;
		break;
	case NT_PERFDATA_TEXT_POKE:
		n->start = r->text_poke.addr;
		n->end = n->start + (r->text_poke.old_len > r->text_poke.new_len ?
				     r->text_poke.old_len : r->text_poke.new_len);
		break;
	case NT_PERFDATA_LOST:
	case NT_PERFDATA_LOST_SAMPLES:
		n->lost = r->misc & REC_MISC_FILTERED ? 0 : r->lost.lost;
		break;
	case NT_PERFDATA_ITRACE_START:
		n->tid = r->itrace_start.tid;
		break;
	case NT_PERFDATA_SWITCH_CPU_WIDE:
		if (r->misc & NT_PERFDATA_MISC_SWITCH_OUT)
			n->tid = r->other.tid;
		break;
	}
}

static struct rec_note *note_of(const struct nt_perfdata_record *r)
{
	struct rec_note *n;

	if (r->type == NT_PERFDATA_MMAP || r->type == NT_PERFDATA_MMAP2)
		return note_of_mmap(r);
	if (r->type == NT_PERFDATA_COMM)
		return note_of_comm(r);
	n = note_new(r, 0);
	fill_note(n, r);
	return n;
}

/* --------------------------------------------------------- the first time */

static void keep_late(struct rec_notes *s, const struct nt_perfdata_record *r)
{
	struct rec_note **late = nt_session_grow(s->late, s->nr_late, sizeof(*late));

	if (!late)
		die("%s", nt_strerror(NT_ENOMEM));
	s->late = late;
	late[s->nr_late++] = note_of(r);
}

static void count_block(struct rec_notes *s, uint64_t time)
{
	uint64_t *least;

	if (s->nr_in_file++ % BLOCK == 0) {
		least = nt_session_grow(s->least, s->nr_blocks, sizeof(*least));
		if (!least)
			die("%s", nt_strerror(NT_ENOMEM));
		s->least = least;
		least[s->nr_blocks++] = time;
	} else if (time < s->least[s->nr_blocks - 1]) {
		s->least[s->nr_blocks - 1] = time;
	}
}

void rec_note_see(struct rec *rec, const struct nt_perfdata_record *r)
{
	struct rec_notes *s = &rec->notes;
	const uint64_t time = time_of(r);

	s->nr++;
	if (!time && s->first != UINT64_MAX) {
		keep_late(s, r);
		return;
	}
	count_block(s, time);
	if (time && time < s->first)
		s->first = time;
}

void rec_notes_seen(struct rec *rec)
{
	struct rec_notes *s = &rec->notes;
	size_t i;

	for (i = s->nr_blocks; i > 1; i--)
		if (s->least[i - 1] < s->least[i - 2])
			s->least[i - 2] = s->least[i - 1];
}

/* ------------------------------------------------------------- the heap - */

static bool is_before(const struct rec_waiting *a, const struct rec_waiting *b)
{
	return a->time < b->time || (a->time == b->time && a->order < b->order);
}

static void push(struct rec_notes *s, struct rec_note *note, bool late)
{
	const struct rec_waiting w = { note->time, s->nr_queued++, note, late };
	size_t i = s->nr_waiting++;

	if (i == s->room) {
		s->room = s->room ? 2 * s->room : BLOCK;
		s->waiting = reallocarray(s->waiting, s->room, sizeof(*s->waiting));
		if (!s->waiting)
			die("%s", nt_strerror(NT_ENOMEM));
	}
	for (; i && is_before(&w, &s->waiting[(i - 1) / 2]); i = (i - 1) / 2)
		s->waiting[i] = s->waiting[(i - 1) / 2];
	s->waiting[i] = w;
}

static struct rec_waiting pop(struct rec_notes *s)
{
	const struct rec_waiting first = s->waiting[0], w = s->waiting[--s->nr_waiting];
	size_t i = 0, next;

	while ((next = 2 * i + 1) < s->nr_waiting) {
		if (next + 1 < s->nr_waiting &&
		    is_before(&s->waiting[next + 1], &s->waiting[next]))
			next++;
		if (!is_before(&s->waiting[next], &w))
			break;
		s->waiting[i] = s->waiting[next];
		i = next;
	}
	s->waiting[i] = w;
	return first;
}

/* -------------------------------------------------------- once again ---- */

static void forget(const struct rec_waiting *w)
{
	if (!w->late)
		free(w->note);
}

static void forget_all(struct rec_notes *s)
{
	forget(&s->now);
	s->now = (struct rec_waiting){ .note = NULL };
	while (s->nr_waiting)
		forget(&s->waiting[--s->nr_waiting]);
}

/*
 * Use a second reader: in pipe mode, the first one would lose the information about events and
 * files from earlier records.
 */
static void open_again(struct rec *rec)
{
	struct rec_notes *s = &rec->notes;
	int err;

	if (s->pd) {
		err = nt_perfdata_rewind(s->pd);
	} else {
		s->pd = nt_perfdata_new();
		if (!s->pd)
			die("%s", nt_strerror(NT_ENOMEM));
		err = nt_perfdata_open_again(s->pd, rec->pd);
	}
	if (err)
		die("%s", nt_perfdata_message(s->pd));
}

void rec_notes_begin(struct rec *rec)
{
	struct rec_notes *s = &rec->notes;

	forget_all(s);
	open_again(rec);
	s->ended = s->timed = false;
	s->nr_read = s->nr_queued = 0;
}

/* All events without a time that precede this one in the file have been read. */
static void push_late(struct rec_notes *s)
{
	size_t i;

	for (i = 0; !s->timed && i < s->nr_late; i++)
		push(s, s->late[i], true);
	s->timed = true;
}

static void take_record(struct rec_notes *s, const struct nt_perfdata_record *r)
{
	const uint64_t time = time_of(r);

	if (r->type >= NT_PERFDATA_USER_FIRST || (!time && s->timed))
		return;
	if (time)
		push_late(s);
	push(s, note_of(r), false);
	s->nr_read++;
}

/* Damage of the file was reported when it was opened. */
static void read_block(struct rec_notes *s)
{
	const size_t end = s->nr_read + BLOCK;
	struct nt_perfdata_record r;

	while (s->nr_read < end && !s->ended) {
		int ret = nt_perfdata_next(s->pd, &r);

		if (ret > 0)
			take_record(s, &r);
		else if (ret && ret != -NT_PERFDATA_EDAMAGED)
			die("%s", nt_perfdata_message(s->pd));
		s->ended = !ret;
	}
}

static bool is_next(const struct rec_notes *s)
{
	const size_t block = s->nr_read / BLOCK;

	return s->nr_waiting &&
	       (block >= s->nr_blocks || s->waiting[0].time <= s->least[block]);
}

const struct rec_note *rec_note_next(struct rec *rec)
{
	struct rec_notes *s = &rec->notes;

	forget(&s->now);
	s->now = (struct rec_waiting){ .note = NULL };
	while (!s->ended && !is_next(s))
		read_block(s);
	if (s->nr_waiting)
		s->now = pop(s);
	return s->now.note;
}

void rec_notes_free(struct rec *rec)
{
	struct rec_notes *s = &rec->notes;

	forget_all(s);
	while (s->nr_late)
		free(s->late[--s->nr_late]);
	free(s->late);
	free(s->least);
	free(s->waiting);
	nt_perfdata_free(s->pd);
}
