// SPDX-License-Identifier: GPL-2.0-only
/*
 * Open a recording: find out what was recorded, and assign the bytes of the file to windows of
 * buffers. An AUX record follows its trace, so all records are read before anything is decoded.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "rec.h"

bool rec_is_data(const char *path)
{
	char magic[8] = "", *inside = NULL;
	struct stat st;
	size_t n = 0;
	FILE *f;

	if (!strcmp(path, "-"))
		return false;
	/* check this before the options, because the valid options depend on the kind of file */
	if (stat(path, &st))
		die("%s: %s", path, strerror(errno));
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return false;
	if (S_ISDIR(st.st_mode) && asprintf(&inside, "%s/data", path) < 0)
		die("%s", nt_strerror(NT_ENOMEM));
	f = fopen(inside ? inside : path, "re");
	if (!f && inside && errno == ENOENT)
		die("%s: Is a directory, and no recording: it has no file `data'", path);
	if (!f)
		die("%s: %s", inside ? inside : path, strerror(errno));
	free(inside);
	n = fread(magic, 1, sizeof(magic), f);
	fclose(f);
	return nt_perfdata_is(magic, n);
}

/* ------------------------------------------------------------- windows -- */

/* Handle an error of the session: a negative errno */
static void check(const struct rec *rec, int err, uint32_t idx)
{
	if (err && idx >= NT_SESSION_BUFFERS_MAX)
		die("%s: has a buffer number %u: the file is damaged", rec->path, idx);
	if (err)
		die("%s", nt_strerror(NT_ENOMEM));
}

static void ask(struct rec *rec)
{
	struct nt_perfdata_event e;
	struct nt_perfdata_id id;
	size_t at = 0;

	while (nt_perfdata_next_id(rec->pd, &at, &id)) {
		if (id.event < 0 || id.idx < 0 || nt_perfdata_event(rec->pd, id.event, &e) ||
		    e.type != rec->info.pmu_type)
			continue;
		const struct ntrace_asked asked = {
			.config = e.config, .config2 = e.config2,
			.exclude_user = e.flags & NT_PERFDATA_EXCLUDE_USER,
			.exclude_kernel = e.flags & NT_PERFDATA_EXCLUDE_KERNEL,
		};

		check(rec, nt_session_ask(&rec->trace, id.idx, id.cpu, &asked), id.idx);
	}
}

static void add_piece(struct rec *rec, const struct nt_perfdata_record *r)
{
	const struct nt_session_piece piece = {
		.offset = r->auxtrace.offset, .size = r->auxtrace.there,
		.file_offset = r->auxtrace.at,
	};

	if (r->file)
		die("%s: its trace is in several files (--threads), which is not decoded",
		    rec->path);
	/* a fragment that has lost all its bytes is dropped */
	if (!r->auxtrace.size || r->auxtrace.there)
		check(rec, nt_session_add_piece(&rec->trace, r->auxtrace.idx, r->auxtrace.cpu,
						r->auxtrace.tid, &piece, r->auxtrace.reference),
		      r->auxtrace.idx);
}

/* The buffer that a record belongs to. perf numbers buffers by event ID. */
static struct nt_perfdata_id id_of(const struct rec *rec, const struct nt_perfdata_record *r)
{
	struct nt_perfdata_id id;

	if (!(r->has & NT_PERFDATA_HAS_ID) || !nt_perfdata_find_id(rec->pd, r->id, &id) ||
	    id.idx < 0)
		die("%s: at %#" PRIx64 ": a record of trace whose buffer the file does not tell",
		    rec->path, r->offset);
	return id;
}

static struct nt_session_window window_of(const struct nt_perfdata_record *r)
{
	return (struct nt_session_window){
		.time = r->has & NT_PERFDATA_HAS_TIME ? r->time : 0,
		.cpu = (int)r->cpu,
		.pid = r->pid,
		.tid = r->tid,
	};
}

static void add_window(struct rec *rec, const struct nt_perfdata_record *r)
{
	const struct nt_perfdata_id id = id_of(rec, r);
	struct nt_session_window window = window_of(r);

	window.offset = r->aux.offset;
	window.size = r->aux.size;
	window.flags = r->aux.flags;
	window.ring = r->aux.flags & NT_PERFDATA_AUX_OVERWRITE;
	rec->partial |= window.ring;
	window.of_task = id.tid != -1;
	check(rec, nt_session_add_window(&rec->trace, id.idx, &window), id.idx);
}

/* A sample contains both a window and its bytes. */
static void add_sample(struct rec *rec, const struct nt_perfdata_record *r)
{
	struct nt_session_window window = window_of(r);
	struct nt_perfdata_id id;

	if (!r->aux_sample.size)
		return;
	if (r->file)
		die("%s: has samples of the AUX area in several files (--threads), which are not decoded",
		    rec->path);
	id = id_of(rec, r);
	rec->partial = true;
	window.size = r->aux_sample.size;
	check(rec, nt_session_add_sample(&rec->trace, id.idx, id.cpu, id.tid, &window,
					 r->aux_sample.file, r->aux_sample.at), id.idx);
}

static void add_terms(struct rec *rec, const struct nt_perfdata_record *r)
{
	int idx = id_of(rec, r).idx;

	check(rec, nt_session_add_terms(&rec->trace, idx, (int)r->cpu, r->hw_id), idx);
}

static ssize_t read_file(void *ctx, unsigned int file, uint64_t offset, void *buf, size_t len)
{
	struct rec *rec = ctx;
	int n = nt_perfdata_read(rec->pd, file, offset, buf, len);

	if (n < 0)
		die("%s", nt_perfdata_message(rec->pd));
	return n;
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
	case NT_PERFDATA_LOST:
		rec->lost += r->lost.lost;
		break;
	case NT_PERFDATA_LOST_SAMPLES:
		if (!(r->misc & REC_MISC_FILTERED))
			rec->lost_samples += r->lost.lost;
		break;
	case NT_PERFDATA_AUX:
		add_window(rec, r);
		break;
	case NT_PERFDATA_SAMPLE:
		add_sample(rec, r);
		break;
	case NT_PERFDATA_AUX_OUTPUT_HW_ID:
		add_terms(rec, r);
		break;
	}
	if (r->type < NT_PERFDATA_USER_FIRST)
		rec_note_see(rec, r);
}

/* Decode a damaged file up to the damage. */
static void read_records(struct rec *rec)
{
	struct nt_perfdata_record r;
	uint64_t done, total;
	int ret;

	while ((ret = nt_perfdata_next(rec->pd, &r))) {
		if (ret > 0) {
			take_record(rec, &r);
			nt_perfdata_progress(rec->pd, &done, &total);
			if (!rec->part)
				progress(done, total);
			continue;
		}
		if (ret != -NT_PERFDATA_EDAMAGED)
			die("%s", nt_perfdata_message(rec->pd));
		if (!rec->damage)
			rec->damage = strdup(nt_perfdata_message(rec->pd));
		rec->losses++;
	}
	if (!rec->part)
		progress_end();
}

/* The time of the first event or window, and that of the last window */
static void find_times(const struct rec *rec, uint64_t *first, uint64_t *last)
{
	unsigned int i;
	size_t k;

	*first = rec->notes.first;
	*last = 0;
	for (i = 0; i < rec->trace.nr_buffers; i++) {
		const struct nt_session_buffer *b = rec->trace.buffer[i];

		for (k = 0; b && k < b->nr_windows; k++) {
			uint64_t time = b->window[k].time;

			if (time && time < *first)
				*first = time;
			if (time > *last)
				*last = time;
		}
	}
	if (*first > *last)
		*first = *last;
}

static int compare_times(const void *a, const void *b)
{
	const struct nt_session_interval *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

/* Sort intervals, and let those that overlap be one. Returns their number. */
static size_t merge_times(struct nt_session_interval *in, size_t nr)
{
	size_t i, last = 0;

	qsort(in, nr, sizeof(*in), compare_times);
	for (i = 1; i < nr; i++) {
		if (in[i].from > in[last].to)
			in[++last] = in[i];
		else if (in[i].to > in[last].to)
			in[last].to = in[i].to;
	}
	return last + 1;
}

static void choose_times(struct rec *rec)
{
	const struct rec_options *o = rec->options;
	uint64_t first, last;
	size_t i;

	if (!o->nr_times)
		return;
	rec->wanted = calloc(o->nr_times, sizeof(*rec->wanted));
	if (!rec->wanted)
		die("%s", nt_strerror(NT_ENOMEM));
	find_times(rec, &first, &last);
	for (i = 0; i < o->nr_times; i++) {
		rec->wanted[i] = o->time[i];
		if (!o->parts)
			continue;
		rec->wanted[i].from = first + (unsigned __int128)(last - first) * o->time[i].from /
					      REC_PARTS;
		rec->wanted[i].to = first + (unsigned __int128)(last - first) * o->time[i].to /
					    REC_PARTS;
	}
	rec->trace.wanted = rec->wanted;
	rec->trace.nr_wanted = merge_times(rec->wanted, o->nr_times);
}

/*
 * Some kernels report the same loss in both records. A lost sample may have contained trace. If
 * other events were lost, the running task and the mapped files are uncertain.
 */
static void tell_lost(struct rec *rec)
{
	if (rec->lost)
		rec_warn(rec, "%s: %" PRIu64 " events were lost while it was recorded: whose trace is whose, and what code ran, may be wrong from there on; perf record --mmap-pages makes more room",
			 rec->path, rec->lost);
	else if (rec->lost_samples)
		rec_warn(rec, "%s: %" PRIu64 " samples were lost while it was recorded; perf record --mmap-pages makes more room",
			 rec->path, rec->lost_samples);
	rec->losses += rec->lost || rec->lost_samples;
}

static bool has_told(const struct rec *rec, const char *text)
{
	size_t i;

	for (i = 0; i < rec->nr_told; i++)
		if (!strcmp(rec->told[i], text))
			return true;
	return false;
}

void rec_warn(struct rec *rec, const char *fmt, ...)
{
	va_list ap;
	char *text;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		die("%s", nt_strerror(NT_ENOMEM));
	va_end(ap);
	if (has_told(rec, text)) {
		free(text);
		return;
	}
	if (!rec->part)
		warn("%s", text);
	rec->told = array_room(rec->told, rec->nr_told, sizeof(*rec->told));
	rec->told[rec->nr_told++] = text;
}

void rec_open(struct rec *rec, const char *path, const struct rec_options *o)
{
	rec_open_part(rec, path, o, 0);
}

void rec_open_part(struct rec *rec, const char *path, const struct rec_options *o,
		   unsigned int part)
{
	*rec = (struct rec){
		.part = part,
		.path = path, .options = o, .pd = nt_perfdata_new(),
		.chosen = o->cpu || o->pids.nr || o->tids.nr || o->comms.nr,
		.trace = { .info = &rec->info, .read = read_file, .ctx = rec },
		.notes = { .first = UINT64_MAX },
	};
	if (!rec->pd)
		die("%s", nt_strerror(NT_ENOMEM));
	if (nt_perfdata_open(rec->pd, path))
		die("%s", nt_perfdata_message(rec->pd));
	read_records(rec);
	rec_notes_seen(rec);
	if (!rec->have_info)
		die("%s: %s", rec->path, rec->damage ? rec->damage :
		    "has no trace: it was recorded without an ntrace event");
	tell_lost(rec);
	ask(rec);
	check(rec, nt_session_finish(&rec->trace), 0);
	choose_times(rec);
	rec_kcore_open(rec);
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

	rec_notes_free(rec);
	free(rec->damage);
	free(rec->wanted);
	rec_code_free(rec);
	rec_kcore_close(rec);
	for (i = 0; i < rec->nr_queues; i++)
		rec_queue_free(rec->queue[i]);
	free(rec->queue);
	free(rec->ready);
	while (rec->nr_told)
		free(rec->told[--rec->nr_told]);
	free(rec->told);
	rec_tasks_free(rec);
	rec_files_free(rec);
	nt_session_free(&rec->trace);
	rec_symbols_free(rec);
	ntrace_info_free(&rec->info);
	nt_perfdata_free(rec->pd);
}
