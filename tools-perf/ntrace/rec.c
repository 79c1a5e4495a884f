// SPDX-License-Identifier: GPL-2.0-only
/*
 * Opening a recording: what was recorded, and which bytes of the file are a window of which
 * buffer. An AUX record comes only when its trace is past, so all records are looked at before anything
 * is decoded.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "rec.h"

#define SAMPLE_AUX	(1ull << 20)	/* of sample_type: AUX area samples */
#define BUFFERS_MAX	65536

bool rec_is_data(const char *path)
{
	char magic[8] = "", *inside = NULL;
	struct stat st;
	size_t n = 0;
	FILE *f;

	if (!strcmp(path, "-") || stat(path, &st))
		return false;
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return false;
	if (S_ISDIR(st.st_mode) && asprintf(&inside, "%s/data", path) < 0)
		die("%s", nt_strerror(NT_ENOMEM));
	f = fopen(inside ? inside : path, "re");
	free(inside);
	if (f) {
		n = fread(magic, 1, sizeof(magic), f);
		fclose(f);
	}
	return nt_perfdata_is(magic, n);
}

/* --------------------------------------------------------------- terms -- */

static struct rec_terms *find_terms(const struct rec *rec, int idx, int cpu)
{
	size_t i;

	for (i = 0; i < rec->nr_terms; i++)
		if (rec->terms[i].idx == idx && rec->terms[i].cpu == cpu)
			return &rec->terms[i];
	return NULL;
}

static uint64_t terms_of(const struct rec *rec, int idx, int cpu)
{
	const struct rec_terms *terms = find_terms(rec, idx, cpu);

	return terms ? terms->hw_id : 0;
}

static void add_terms(struct rec *rec, int idx, int cpu, uint64_t hw_id)
{
	struct rec_terms *terms = find_terms(rec, idx, cpu);

	if (!terms) {
		rec->terms = reallocarray(rec->terms, rec->nr_terms + 1, sizeof(*terms));
		if (!rec->terms)
			die("%s", nt_strerror(NT_ENOMEM));
		terms = &rec->terms[rec->nr_terms++];
	}
	*terms = (struct rec_terms){ idx, cpu, hw_id };
}

/* What an event was to use on a CPU, where no record tells what it got */
static void guess_terms(struct rec *rec, const struct nt_perfdata_event *e,
			const struct nt_perfdata_id *id)
{
	const struct ntrace_info *info = &rec->info;
	const struct ntrace_asked asked = {
		.config = e->config, .config2 = e->config2,
		.exclude_user = e->flags & NT_PERFDATA_EXCLUDE_USER,
		.exclude_kernel = e->flags & NT_PERFDATA_EXCLUDE_KERNEL,
	};
	unsigned int i;

	for (i = 0; i < info->nr_cpus; i++) {
		int cpu = (int)info->cpu[i][NTRACE_INFO_CPU_NR];

		if ((id->cpu == -1 || id->cpu == cpu) && !find_terms(rec, id->idx, cpu))
			add_terms(rec, id->idx, cpu, ntrace_info_hw_id(info, &asked, cpu));
	}
}

static bool lack_terms(const struct rec *rec)
{
	unsigned int i;
	size_t k;

	for (i = 0; i < rec->nr_queues; i++)
		for (k = 0; rec->queue[i] && k < rec->queue[i]->buffer.nr_windows; k++)
			if (!rec->queue[i]->buffer.window[k].hw_id)
				return true;
	return false;
}

/*
 * The kernel tells once what an event uses. In a file that was begun later there is trace before
 * that was told, or it never was: the event's attributes and the description of the machine have
 * it, too.
 */
static void complete_terms(struct rec *rec)
{
	struct nt_perfdata_event e;
	struct nt_perfdata_id id;
	struct nt_session_window *w;
	unsigned int i;
	size_t at = 0, k;

	if (!lack_terms(rec))
		return;
	while (nt_perfdata_next_id(rec->pd, &at, &id))
		if (id.event >= 0 && !nt_perfdata_event(rec->pd, id.event, &e) &&
		    e.type == rec->info.pmu_type)
			guess_terms(rec, &e, &id);
	for (i = 0; i < rec->nr_queues; i++) {
		for (k = 0; rec->queue[i] && k < rec->queue[i]->buffer.nr_windows; k++) {
			w = &rec->queue[i]->buffer.window[k];
			if (!w->hw_id)
				w->hw_id = terms_of(rec, i, w->cpu);
		}
	}
}

/* ------------------------------------------------------------- windows -- */

static struct rec_queue *queue_at(struct rec *rec, uint32_t idx)
{
	if (idx >= BUFFERS_MAX)
		die("%s: has a buffer number %u: the file is damaged", rec->path, idx);
	if (idx >= rec->nr_queues) {
		rec->queue = reallocarray(rec->queue, idx + 1, sizeof(*rec->queue));
		if (!rec->queue)
			die("%s", nt_strerror(NT_ENOMEM));
		memset(rec->queue + rec->nr_queues, 0,
		       (idx + 1 - rec->nr_queues) * sizeof(*rec->queue));
		rec->nr_queues = idx + 1;
	}
	if (!rec->queue[idx])
		rec->queue[idx] = rec_queue_new(rec);
	return rec->queue[idx];
}

static void add_piece(struct rec *rec, const struct nt_perfdata_record *r)
{
	struct rec_queue *q = queue_at(rec, r->auxtrace.idx);
	const struct nt_session_piece piece = {
		.offset = r->auxtrace.offset, .size = r->auxtrace.there,
		.file_offset = r->auxtrace.at,
	};

	if (r->file)
		die("%s: its trace is in several files (--threads), which is not decoded", rec->path);
	q->buffer.cpu = r->auxtrace.cpu;
	q->buffer.tid = r->auxtrace.tid;
	/* of one that has lost all its bytes nothing is left, not even a mark */
	if (r->auxtrace.size && !r->auxtrace.there)
		return;
	if (nt_session_buffer_add_piece(&q->buffer, &piece, r->auxtrace.reference))
		die("%s", nt_strerror(NT_ENOMEM));
}

/* Which buffer a record of an event is about: perf numbered them by event ID. */
static struct nt_perfdata_id id_of(const struct rec *rec, const struct nt_perfdata_record *r)
{
	struct nt_perfdata_id id;

	if (!(r->has & NT_PERFDATA_HAS_ID) || !nt_perfdata_find_id(rec->pd, r->id, &id) ||
	    id.idx < 0)
		die("%s: at %#" PRIx64 ": a record of trace whose buffer the file does not tell",
		    rec->path, r->offset);
	return id;
}

static void add_window(struct rec *rec, const struct nt_perfdata_record *r)
{
	const struct nt_perfdata_id id = id_of(rec, r);
	bool ring = r->aux.flags & NT_PERFDATA_AUX_OVERWRITE;
	/* A circular buffer has no room that is used up: there offset is the end. */
	const struct nt_session_window window = {
		.offset = ring ? r->aux.offset - r->aux.size : r->aux.offset,
		.size = r->aux.size,
		.ring = ring,
		.flags = r->aux.flags,
		.time = r->has & NT_PERFDATA_HAS_TIME ? r->time : 0,
		.cpu = (int)r->cpu,
		.pid = r->pid,
		.tid = r->tid,
		.hw_id = terms_of(rec, id.idx, (int)r->cpu),
		.of_task = id.tid != -1,
	};

	if (nt_session_buffer_add_window(&queue_at(rec, id.idx)->buffer, &window))
		die("%s", nt_strerror(NT_ENOMEM));
}

/* The piece that has the byte at an offset, and how many from there on; NULL: none has */
static const struct nt_session_piece *piece_at(const struct nt_session_buffer *b, size_t *i, uint64_t at,
					   uint64_t *len)
{
	for (; *i < b->nr_pieces; (*i)++) {
		const struct nt_session_piece *p = &b->piece[*i];

		if (at < p->offset || at - p->offset >= p->size)
			continue;
		*len = p->size - (at - p->offset);
		return p;
	}
	return NULL;
}

size_t rec_window_there(const struct nt_session_buffer *b, const struct nt_session_window *w)
{
	uint64_t done = 0, len;
	size_t i = 0;

	while (done < w->size && piece_at(b, &i, w->offset + done, &len))
		done += len;
	return done < w->size ? done : w->size;
}

size_t rec_window_read(struct rec *rec, const struct nt_session_buffer *b,
		       const struct nt_session_window *w, uint8_t *data, size_t size)
{
	const struct nt_session_piece *p;
	uint64_t done = 0, at, len;
	size_t i = 0;
	int n;

	while (done < size && (p = piece_at(b, &i, w->offset + done, &len))) {
		at = w->offset + done;
		if (len > size - done)
			len = size - done;
		n = nt_perfdata_read(rec->pd, 0, p->file_offset + (at - p->offset), data + done,
				     len);
		if (n < 0)
			die("%s", nt_perfdata_message(rec->pd));
		done += n;
		if ((uint64_t)n < len)
			break;
	}
	if (w->orphan)
		nt_session_buffer_blank(data, done);
	return done;
}

/* --------------------------------------------------------------- notes -- */

static struct nt_perfdata_record *copy_mmap(const struct nt_perfdata_record *r)
{
	size_t len = strlen(r->mmap.name) + 1;
	struct nt_perfdata_record *copy = malloc(sizeof(*copy) + len);

	if (!copy)
		die("%s", nt_strerror(NT_ENOMEM));
	*copy = *r;
	copy->data = NULL;
	copy->mmap.name = memcpy(copy + 1, r->mmap.name, len);
	return copy;
}

static void fill_note(struct rec_note *n, const struct nt_perfdata_record *r)
{
	switch (r->type) {
	case NT_PERFDATA_MMAP:
	case NT_PERFDATA_MMAP2:
		n->mmap = copy_mmap(r);
		break;
	case NT_PERFDATA_COMM:
		n->pid = r->comm.pid;
		n->tid = r->comm.tid;
		n->comm = strdup(r->comm.name);
		if (!n->comm)
			die("%s", nt_strerror(NT_ENOMEM));
		break;
	case NT_PERFDATA_FORK:
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
	case NT_PERFDATA_ITRACE_START:
		n->tid = r->itrace_start.tid;
		break;
	case NT_PERFDATA_SWITCH_CPU_WIDE:
		if (r->misc & NT_PERFDATA_MISC_SWITCH_OUT)
			n->tid = r->other.tid;
		break;
	}
}

static void add_note(struct rec *rec, const struct nt_perfdata_record *r)
{
	struct rec_note *n = nt_session_grow(rec->note, rec->nr_notes, sizeof(*n));

	if (!n)
		die("%s", nt_strerror(NT_ENOMEM));
	rec->note = n;
	n += rec->nr_notes++;
	*n = (struct rec_note){
		.time = r->has & NT_PERFDATA_HAS_TIME ? r->time : 0, .type = r->type,
		.misc = r->misc, .cpu = r->has & NT_PERFDATA_HAS_CPU ? (int)r->cpu : -1,
		.pid = r->pid, .tid = r->tid,
	};
	fill_note(n, r);
}

/* Those of one time stay in the order of the file. */
static void sort_notes(struct rec *rec)
{
	size_t n = rec->nr_notes, width, i;
	struct rec_note *from = rec->note, *to = reallocarray(NULL, n + 1, sizeof(*to)), *swap;

	if (!to)
		die("%s", nt_strerror(NT_ENOMEM));
	for (width = 1; width < n; width *= 2) {
		for (i = 0; i < n; i += 2 * width) {
			size_t a = i, b = i + width < n ? i + width : n, out = i;
			const size_t a_end = b, b_end = i + 2 * width < n ? i + 2 * width : n;

			while (a < a_end || b < b_end)
				to[out++] = b == b_end || (a < a_end && from[a].time <= from[b].time) ?
					    from[a++] : from[b++];
		}
		swap = from;
		from = to;
		to = swap;
	}
	rec->note = from;
	free(to);
}

/* ------------------------------------------------------------- records -- */

static void take_info(struct rec *rec, const struct nt_perfdata_record *r)
{
	size_t nr = r->auxtrace_info.words;
	uint64_t *word = calloc(nr + 1, sizeof(*word));
	char why[NTRACE_WHY];

	if (!word)
		die("%s", nt_strerror(NT_ENOMEM));
	if (r->auxtrace_info.type != NTRACE_AUXTRACE_TYPE)
		die("%s: has trace of type %u, which is not N-Trace", rec->path,
		    r->auxtrace_info.type);
	if (rec->have_info)
		die("%s: describes its trace twice: the file is damaged", rec->path);
	memcpy(word, r->auxtrace_info.priv, nr * sizeof(*word));
	if (ntrace_info_read(&rec->info, word, nr, why))
		die("%s: %s", rec->path, why);
	free(word);
	rec->have_info = true;
}

static void take_clock(struct rec *rec, const struct nt_perfdata_record *r)
{
	const struct ntrace_conversion c = {
		.zero = r->time_conv.zero, .cycles = r->time_conv.cycles,
		.mask = r->time_conv.mask, .mult = (uint32_t)r->time_conv.mult,
		.shift = r->time_conv.shift < 64 ? (uint16_t)r->time_conv.shift : 64,
		.short_counter = r->time_conv.short_counter,
	};

	ntrace_info_set_clock(&rec->info, &c, r->time_conv.reserved);
}

static void take_record(struct rec *rec, const struct nt_perfdata_record *r)
{
	switch (r->type) {
	case NT_PERFDATA_AUXTRACE_INFO:
		take_info(rec, r);
		break;
	case NT_PERFDATA_AUXTRACE:
		add_piece(rec, r);
		break;
	case NT_PERFDATA_TIME_CONV:
		take_clock(rec, r);
		break;
	case NT_PERFDATA_AUX:
		add_window(rec, r);
		break;
	case NT_PERFDATA_AUX_OUTPUT_HW_ID:
		add_terms(rec, id_of(rec, r).idx, (int)r->cpu, r->hw_id);
		break;
	}
	if (r->type < NT_PERFDATA_USER_FIRST)
		add_note(rec, r);
}

/* A damaged file is decoded up to the damage. */
static void read_records(struct rec *rec)
{
	struct nt_perfdata_record r;
	uint64_t done, total;
	int ret;

	while ((ret = nt_perfdata_next(rec->pd, &r))) {
		if (ret > 0) {
			take_record(rec, &r);
			nt_perfdata_progress(rec->pd, &done, &total);
			progress(done, total);
			continue;
		}
		if (ret != -NT_PERFDATA_EDAMAGED)
			die("%s", nt_perfdata_message(rec->pd));
		if (!rec->damage)
			rec->damage = strdup(nt_perfdata_message(rec->pd));
		rec->losses++;
	}
	progress_end();
}

const char *rec_undecoded(const struct rec *rec)
{
	struct nt_perfdata_event e;
	unsigned int i;
	size_t k;

	for (i = 0; !nt_perfdata_event(rec->pd, i, &e); i++)
		if (e.sample_type & SAMPLE_AUX)
			return "has samples of the AUX area (--aux-sample)";
	/* such a stream goes on from AUX record to AUX record, whoever made them */
	for (k = 0; k < rec->nr_terms; k++)
		if (ntrace_is_shared(rec->terms[k].hw_id))
			return "its trace went to a sink that several CPUs share";
	return NULL;
}

void rec_open(struct rec *rec, const char *path, const struct rec_options *o)
{
	unsigned int i;

	*rec = (struct rec){ .path = path, .options = o, .pd = nt_perfdata_new() };
	if (!rec->pd)
		die("%s", nt_strerror(NT_ENOMEM));
	if (nt_perfdata_open(rec->pd, path))
		die("%s", nt_perfdata_message(rec->pd));
	read_records(rec);
	if (!rec->have_info)
		die("%s: %s", rec->path, rec->damage ? rec->damage :
		    "has no trace: it was recorded without an ntrace event");
	sort_notes(rec);
	complete_terms(rec);
	for (i = 0; i < rec->nr_queues; i++)
		if (rec->queue[i] && nt_session_buffer_finish(&rec->queue[i]->buffer))
			die("%s", nt_strerror(NT_ENOMEM));
	/* once more, for what has no record */
	complete_terms(rec);
	rec_code_open(rec);
}

int rec_status(const struct rec *rec)
{
	if (rec->damage)
		fprintf(stderr, "ntrace: %s: decoded up to there\n", rec->damage);
	if (rec->losses)
		fprintf(stderr, "ntrace: %lu losses\n", rec->losses);
	return rec->losses ? EXIT_LOSSES : EXIT_WHOLE;
}

void rec_free(struct rec *rec)
{
	unsigned int i;
	size_t k;

	for (k = 0; k < rec->nr_notes; k++) {
		free(rec->note[k].mmap);
		free(rec->note[k].comm);
	}
	free(rec->note);
	free(rec->terms);
	free(rec->damage);
	rec_code_free(rec);
	for (i = 0; i < rec->nr_queues; i++)
		rec_queue_free(rec->queue[i]);
	free(rec->queue);
	rec_tasks_free(rec);
	rec_files_free(rec);
	rec_symbols_free(rec);
	ntrace_info_free(&rec->info);
	nt_perfdata_free(rec->pd);
}
