// SPDX-License-Identifier: GPL-2.0-only
/*
 * Finds the windows of a file: each PERF_RECORD_AUX reports bytes of an AUX
 * buffer that begin with a sync message, PERF_RECORD_AUXTRACE holds the bytes,
 * PERF_RECORD_AUX_OUTPUT_HW_ID tells under which terms they were made. All of
 * them are looked up before anything is decoded, because an AUX record comes
 * only when its trace is past.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>
#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/unaligned.h>
#include <linux/zalloc.h>

#include "data.h"
#include "debug.h"
#include "event.h"
#include "evlist.h"
#include "evsel.h"
#include "header.h"
#include "session.h"
#include "ntrace-compat.h"
#include "ntrace-priv.h"

struct search {
	struct ntrace	*nt;
	struct ntrace_terms *terms;
	size_t		nr_terms;
	bool		compressed;
	bool		sampling;	/* some events take AUX area samples */
	int		err;
};

struct ntrace_queue *ntrace_queue_at(struct ntrace *nt, unsigned int idx)
{
	struct ntrace_queue **bigger;

	if (idx > 65536)
		return NULL;
	if (idx >= nt->nr_queues) {
		bigger = realloc(nt->queue, (idx + 1) * sizeof(*bigger));
		if (!bigger)
			return NULL;
		memset(bigger + nt->nr_queues, 0, (idx + 1 - nt->nr_queues) * sizeof(*bigger));
		nt->queue = bigger;
		nt->nr_queues = idx + 1;
	}
	if (!nt->queue[idx])
		nt->queue[idx] = ntrace_queue_new(nt);
	return nt->queue[idx];
}

/* The mark of a beginning is before all AUX records of the buffer, that of an end behind them. */
static void add_mark(struct ntrace_buffer *b, const struct perf_record_auxtrace *rec)
{
	struct ntrace_mark *mark = b->nr_windows ? &b->end : &b->begin;

	mark->there = true;
	mark->time = rec->reference;
	mark->offset = rec->offset;
}

static int add_piece(struct ntrace *nt, const struct perf_record_auxtrace *rec, u64 offset)
{
	struct ntrace_queue *q = ntrace_queue_at(nt, rec->idx);
	struct ntrace_piece *piece;

	if (!q)
		return -ENOMEM;
	q->buffer.cpu = rec->cpu;
	q->buffer.tid = rec->tid;
	if (!rec->size) {
		add_mark(&q->buffer, rec);
		return 0;
	}

	piece = ntrace_grow(q->buffer.piece, q->buffer.nr_pieces, sizeof(*piece));
	if (!piece)
		return -ENOMEM;
	q->buffer.piece = piece;
	piece[q->buffer.nr_pieces++] = (struct ntrace_piece) {
		.offset	     = rec->offset,
		.size	     = rec->size,
		.file_offset = offset + rec->header.size,
	};
	return 0;
}

/* Which buffer a record of an event is about: perf numbered them by event ID. */
static int sample_idx(struct ntrace *nt, const struct perf_sample *sample)
{
	struct perf_sample_id *sid = evlist__id2sid(nt->session->evlist, sample->id);

	return sid ? sid->idx : -1;
}

static bool sample_of_task(struct ntrace *nt, const struct perf_sample *sample)
{
	struct perf_sample_id *sid = evlist__id2sid(nt->session->evlist, sample->id);

	return sid && sid->tid != -1;
}

static int parse(struct ntrace *nt, union perf_event *event, struct perf_sample *sample)
{
	struct evsel *evsel = evlist__event2evsel(nt->session->evlist, event);

	if (!evsel)
		return -EINVAL;
	return evsel__parse_sample(evsel, event, sample);
}

static struct ntrace_terms *find_terms(const struct search *s, int idx, int cpu)
{
	size_t i;

	for (i = 0; i < s->nr_terms; i++) {
		if (s->terms[i].idx == idx && s->terms[i].cpu == cpu)
			return &s->terms[i];
	}
	return NULL;
}

static u64 terms_of(const struct search *s, int idx, int cpu)
{
	const struct ntrace_terms *terms = find_terms(s, idx, cpu);

	return terms ? terms->hw_id : 0;
}

static int add_terms(struct search *s, int idx, int cpu, u64 hw_id)
{
	struct ntrace_terms *terms = find_terms(s, idx, cpu);

	if (terms) {
		terms->hw_id = hw_id;
		return 0;
	}

	terms = ntrace_grow(s->terms, s->nr_terms, sizeof(*terms));
	if (!terms)
		return -ENOMEM;
	s->terms = terms;
	terms[s->nr_terms++] = (struct ntrace_terms) {
		.idx = idx,
		.cpu = cpu,
		.hw_id = hw_id,
	};
	return 0;
}

static int add_window(struct search *s, const struct perf_record_aux *rec,
		      const struct perf_sample *sample)
{
	int idx = sample_idx(s->nt, sample);
	struct ntrace_window *window;
	struct ntrace_queue *q;

	q = idx < 0 ? NULL : ntrace_queue_at(s->nt, idx);
	if (!q) {
		pr_err("ntrace: an AUX record of an event that the file does not know\n");
		return -EINVAL;
	}

	window = ntrace_grow(q->buffer.window, q->buffer.nr_windows, sizeof(*window));
	if (!window)
		return -ENOMEM;
	q->buffer.window = window;
	/* A circular buffer has no room that is used up: there aux_offset is the end. */
	window[q->buffer.nr_windows++] = (struct ntrace_window) {
		.offset	= rec->flags & PERF_AUX_FLAG_OVERWRITE ? rec->aux_offset - rec->aux_size :
								 rec->aux_offset,
		.size	= rec->aux_size,
		.ring	= rec->flags & PERF_AUX_FLAG_OVERWRITE,
		.flags	= rec->flags,
		.time	= sample->time == (u64)-1 ? 0 : sample->time,
		.cpu	= sample->cpu,
		.pid	= sample->pid,
		.tid	= sample->tid,
		.hw_id	= terms_of(s, idx, sample->cpu),
		.of_task = sample_of_task(s->nt, sample),
	};
	return 0;
}

/* An AUX area sample: a piece and a window in one, at an offset of its own */
static int add_sample(struct search *s, union perf_event *event, u64 offset,
		      const struct perf_sample *sample)
{
	int idx = sample_idx(s->nt, sample);
	struct perf_record_auxtrace rec = {
		.header.size = (u8 *)sample->aux_sample.data - (u8 *)event,
		.size = sample->aux_sample.size,
		.idx = idx,
	};
	struct perf_record_aux aux = { .aux_size = rec.size };
	struct perf_sample_id *sid;
	struct ntrace_buffer *b;
	struct ntrace_queue *q;
	int err;

	q = idx < 0 ? NULL : ntrace_queue_at(s->nt, idx);
	if (!q)
		return -EINVAL;
	sid = evlist__id2sid(s->nt->session->evlist, sample->id);
	b = &q->buffer;
	rec.cpu = sid->cpu.cpu;
	rec.tid = sid->tid;
	rec.offset = aux.aux_offset = b->sampled;
	b->sampled += rec.size;

	err = add_piece(s->nt, &rec, offset) ?: add_window(s, &aux, sample);
	if (!err) {
		b->window[b->nr_windows - 1].sampled = true;
		b->window[b->nr_windows - 1].begin = NTRACE_BEGIN_ANYWHERE;
	}
	return err;
}

static int search_sample(struct search *s, union perf_event *event, u64 offset)
{
	struct perf_sample sample;
	int err;

	ntrace_compat_sample_init(&sample);
	err = parse(s->nt, event, &sample);
	if (!err && event->header.type == PERF_RECORD_AUX)
		err = add_window(s, &event->aux, &sample);
	else if (!err && event->header.type == PERF_RECORD_AUX_OUTPUT_HW_ID)
		err = add_terms(s, sample_idx(s->nt, &sample), sample.cpu,
				event->aux_output_hw_id.hw_id);
	else if (!err && sample.aux_sample.size)
		err = add_sample(s, event, offset, &sample);
	ntrace_compat_sample_exit(&sample);
	return err;
}

static void take_clock(struct ntrace *nt, const struct perf_record_time_conv *ev)
{
	struct perf_tsc_conversion *tc = &nt->info.tc;

	if (memcmp(ev->reserved, NTRACE_TIME_CONV_MARK, sizeof(ev->reserved)) ||
	    !ev->time_mult || ev->time_shift >= 64)
		return;
	tc->time_shift	= ev->time_shift;
	tc->time_mult	= ev->time_mult;
	tc->time_zero	= ev->time_zero;
	tc->time_cycles = ev->time_cycles;
	tc->time_mask	= ev->time_mask;
	tc->cap_user_time_short = ev->cap_user_time_short;
}

static int search_event(struct perf_session *session __maybe_unused, union perf_event *event,
			u64 offset, void *data)
{
	struct search *s = data;

	switch (event->header.type) {
	case PERF_RECORD_AUXTRACE:
		if (event->header.size < sizeof(event->auxtrace))
			return -EINVAL;
		return s->err = add_piece(s->nt, &event->auxtrace, offset);
	case PERF_RECORD_SAMPLE:
		if (!s->sampling)
			return 0;
		fallthrough;
	case PERF_RECORD_AUX:
	case PERF_RECORD_AUX_OUTPUT_HW_ID:
		return s->err = search_sample(s, event, offset);
	case PERF_RECORD_TIME_CONV:
		if (event->header.size >= sizeof(event->time_conv))
			take_clock(s->nt, &event->time_conv);
		return 0;
	case PERF_RECORD_COMPRESSED:
		s->compressed = true;
		return 0;
	default:
		return 0;
	}
}

static int by_offset(const void *a, const void *b)
{
	const struct ntrace_window *x = a, *y = b;

	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	/* One without bytes goes first: it is about what was before. */
	if (x->size != y->size)
		return x->size < y->size ? -1 : 1;
	return x->time < y->time ? -1 : x->time > y->time;
}

/*
 * perf record looks twice how far its buffer is filled. What comes between the two
 * looks is written now, and again the next time: records that are the same in
 * all, time included, are one.
 */
static bool is_repeated(const struct ntrace_window *a, const struct ntrace_window *b)
{
	return a->time && a->offset == b->offset && a->size == b->size && a->flags == b->flags &&
	       a->time == b->time && a->cpu == b->cpu && a->tid == b->tid;
}

static void drop_repeated(struct ntrace_buffer *b)
{
	size_t i, nr = 0;

	for (i = 0; i < b->nr_windows; i++) {
		if (!nr || !is_repeated(&b->window[nr - 1], &b->window[i]))
			b->window[nr++] = b->window[i];
	}
	b->nr_windows = nr;
}

/* An AUX record is where its bytes are. When another file has those, it is not about this one. */
static bool is_elsewhere(const struct ntrace_buffer *b, const struct ntrace_window *w)
{
	u64 end = w->offset + w->size;

	return (b->begin.there && w->time <= b->begin.time && end <= b->begin.offset) ||
	       (b->end.there && w->time > b->end.time && end > b->end.offset);
}

static void drop_elsewhere(struct ntrace_buffer *b)
{
	size_t i, nr = 0;

	for (i = 0; i < b->nr_windows; i++) {
		if (!is_elsewhere(b, &b->window[i]))
			b->window[nr++] = b->window[i];
	}
	b->nr_windows = nr;
}

static int add_orphan(struct ntrace_buffer *b, u64 offset, u64 size, size_t like)
{
	struct ntrace_window *window, orphan = { 0 };

	if (b->nr_windows)
		orphan = b->window[min(like, b->nr_windows - 1)];
	window = ntrace_grow(b->window, b->nr_windows, sizeof(*window));
	if (!window)
		return -ENOMEM;
	b->window = window;

	orphan.offset = offset;
	orphan.size   = size;
	orphan.flags  = 0;
	orphan.orphan = true;
	if (orphan.ring)
		orphan.begin = NTRACE_BEGIN_ANYWHERE;
	if (b->cpu >= 0)
		orphan.cpu = b->cpu;
	window[b->nr_windows++] = orphan;
	return 0;
}

static u64 window_end(const struct ntrace_window *w)
{
	return w->offset + w->size;
}

/*
 * perf fills every AUXTRACE record up to a multiple of 8 bytes: those bytes are
 * not of the AUX buffer, and the next record begins before them. Of snapshots
 * there may be no next one, though trace goes on, or it begins further behind;
 * but a snapshot ends where a window does, and no window is as short as what it
 * is filled up with.
 */
static void trim_pieces(struct ntrace_buffer *b)
{
	bool ring = b->nr_windows && b->window[0].ring;
	u64 covered = 0;
	size_t i, w = 0;

	for (i = 0; i < b->nr_windows; i++)
		covered = max(covered, window_end(&b->window[i]));

	for (i = 0; i < b->nr_pieces; i++) {
		struct ntrace_piece *p = &b->piece[i];
		u64 filled = p->offset + p->size;
		u64 end = i + 1 < b->nr_pieces ? p[1].offset : covered;

		while (ring && w < b->nr_windows &&
		       window_end(&b->window[w]) + PERF_AUXTRACE_RECORD_ALIGNMENT <= filled)
			w++;
		if (ring && w < b->nr_windows && window_end(&b->window[w]) < filled)
			end = min(end, window_end(&b->window[w]));
		if (filled > end && filled - end < PERF_AUXTRACE_RECORD_ALIGNMENT)
			p->size = end - p->offset;
	}
}

/*
 * Trace without an AUX record: the record itself was lost, or the recording
 * ended before it could be read. It can be decoded, as if it were one window.
 */
static int find_orphans(struct ntrace_buffer *b)
{
	size_t i, w, nr = b->nr_windows;
	bool ring = nr && b->window[0].ring;
	u64 at, end, stop;
	int err = 0;

	for (i = 0, w = 0; i < b->nr_pieces && !err; i++) {
		at = b->piece[i].offset;
		end = at + b->piece[i].size;
		while (at < end && !err) {
			while (w < nr && b->window[w].offset + b->window[w].size <= at)
				w++;
			stop = w < nr ? min(max(b->window[w].offset, at), end) : end;
			/* Of a snapshot, what perf filled the record up with is still there. */
			if (stop - at >= (ring ? PERF_AUXTRACE_RECORD_ALIGNMENT : 1))
				err = add_orphan(b, at, stop - at, w);
			at = w < nr ? max(stop, min(b->window[w].offset + b->window[w].size, end)) : end;
		}
	}
	qsort(b->window, b->nr_windows, sizeof(*b->window), by_offset);
	return err;
}

/*
 * perf maps the whole file, as long as its header says: what is not there would
 * be found out by a signal.
 */
int ntrace_file_check(struct perf_session *session)
{
	u64 end = session->header.data_offset + session->header.data_size;
	struct stat st;

	if (perf_data__is_pipe(session->data)) {
		pr_err("ntrace: trace cannot be decoded from a pipe: record into a file\n");
		return -EINVAL;
	}
	if (fstat(perf_data__fd(session->data), &st))
		return -errno;
	if ((u64)st.st_size < end) {
		pr_err("ntrace: the file is truncated: it has %" PRIu64 " bytes of %" PRIu64 "\n",
		       (u64)st.st_size, end);
		return -EINVAL;
	}
	return 0;
}

static bool is_sampling(struct ntrace *nt)
{
	struct evsel *evsel;

	evlist__for_each_entry(nt->session->evlist, evsel) {
		if (evsel->core.attr.sample_type & PERF_SAMPLE_AUX)
			return true;
	}
	return false;
}

/* Put a buffer's windows in order, and find out what the file has of them. */
static int finish_buffer(struct ntrace *nt, struct ntrace_buffer *b)
{
	int err;

	if (b->sampled)
		return ntrace_samples_clip(nt, b);

	qsort(b->window, b->nr_windows, sizeof(*b->window), by_offset);
	drop_repeated(b);
	drop_elsewhere(b);
	trim_pieces(b);
	err = ntrace_ring_clip(b);
	return err ?: find_orphans(b);
}

static struct evsel *find_evsel(struct ntrace *nt)
{
	struct evsel *evsel;

	evlist__for_each_entry(nt->session->evlist, evsel) {
		if (evsel->core.attr.type == nt->info.pmu_type)
			return evsel;
	}
	return NULL;
}

/* What the event was to use on a CPU: the CPU's own event's, or on any CPU that has an encoder */
static int guess_terms(struct search *s, const struct evsel *evsel,
		       const struct perf_sample_id *sid)
{
	const struct ntrace_info *info = &s->nt->info;
	unsigned int i;
	int cpu, err = 0;

	for (i = 0; i < info->nr_cpus && !err; i++) {
		cpu = info->cpu[i][NTRACE_INFO_CPU_NR];
		if ((sid->cpu.cpu == -1 || sid->cpu.cpu == cpu) && !find_terms(s, sid->idx, cpu))
			err = add_terms(s, sid->idx, cpu,
					ntrace_info_hw_id(info, &evsel->core.attr, cpu));
	}
	return err;
}

static bool lack_terms(struct ntrace *nt)
{
	unsigned int i;
	size_t k;

	for (i = 0; i < nt->nr_queues; i++) {
		for (k = 0; nt->queue[i] && k < nt->queue[i]->buffer.nr_windows; k++) {
			if (!nt->queue[i]->buffer.window[k].hw_id)
				return true;
		}
	}
	return false;
}

/*
 * The kernel tells once what an event uses. In a file that was begun later there is trace before
 * that was told, or it never was: the event's attributes and the description of the machine have
 * it, too.
 */
static int complete_terms(struct search *s)
{
	struct ntrace *nt = s->nt;
	struct evsel *evsel = find_evsel(nt);
	struct perf_sample_id *sid;
	struct ntrace_buffer *b;
	unsigned int i;
	int err = 0;
	size_t k;

	if (!evsel || !lack_terms(nt))
		return 0;
	for (i = 0; i < evsel->core.ids && !err; i++) {
		sid = evlist__id2sid(nt->session->evlist, evsel->core.id[i]);
		err = sid ? guess_terms(s, evsel, sid) : 0;
	}
	for (i = 0; i < nt->nr_queues && !err; i++) {
		b = nt->queue[i] ? &nt->queue[i]->buffer : NULL;
		for (k = 0; b && k < b->nr_windows; k++) {
			if (!b->window[k].hw_id)
				b->window[k].hw_id = terms_of(s, i, b->window[k].cpu);
		}
	}
	return err;
}

int ntrace_windows_find(struct ntrace *nt)
{
	struct perf_session *session = nt->session;
	struct search s = { .nt = nt, .sampling = is_sampling(nt) };
	unsigned int i;
	int err;

	err = perf_session__peek_events(session, session->header.data_offset,
					session->header.data_size, search_event, &s);
	if (err)
		pr_err("ntrace: the file ends early, or is damaged: decoding what there is\n");
	err = s.err;
	if (!err && s.compressed) {
		pr_err("ntrace: this file was recorded with compression (-z): its AUX records cannot be found\n");
		err = -EINVAL;
	}

	err = err ?: complete_terms(&s);
	for (i = 0; i < nt->nr_queues && !err; i++)
		err = nt->queue[i] ? finish_buffer(nt, &nt->queue[i]->buffer) : 0;
	/* once more, for what has no record */
	err = err ?: complete_terms(&s);
	/* A dump shows the records as they are. */
	if (!err && !dump_trace)
		err = ntrace_streams_find(nt, s.terms, s.nr_terms);
	free(s.terms);
	return err;
}

void ntrace_buffer_free(struct ntrace_buffer *buffer)
{
	zfree(&buffer->piece);
	zfree(&buffer->window);
}

/* The length that a mark of the driver's tells of what it passed over, 0 if this is none */
static u64 skipped_at(const u8 *data, u64 len)
{
	u64 skipped;
	size_t i;

	if (len < NTRACE_AUX_SKIP_MARK)
		return 0;
	for (i = 0; i < NTRACE_AUX_SKIP_IDLE; i++) {
		if (data[i] != 0xff)
			return 0;
	}
	skipped = get_unaligned_le64(data + NTRACE_AUX_SKIP_IDLE);
	return skipped >= NTRACE_AUX_SKIP_MARK && skipped <= len ? skipped : 0;
}

/*
 * Idle bytes in place of whatever was there before it was passed over. Trace whose
 * AUX record was lost may be behind that, or before it: then it goes up to the end.
 */
static void blank_skipped(u8 *data, u64 len)
{
	u64 at, skipped = skipped_at(data, len);

	memset(data, 0xff, skipped);
	for (at = skipped; at < len; at++) {
		if (data[at] == 0xff && skipped_at(data + at, len - at) == len - at) {
			memset(data + at, 0xff, len - at);
			return;
		}
	}
}

/*
 * Copy a window's bytes to @data. Returns how many there are, from the start on:
 * fewer than its size if the file does not have them all.
 */
ssize_t ntrace_window_read(struct ntrace *nt, const struct ntrace_buffer *buffer,
			   const struct ntrace_window *window, void *data)
{
	int fd = perf_data__fd(nt->session->data);
	u64 done = 0, at, len;
	size_t i;
	ssize_t n;

	for (i = 0; i < buffer->nr_pieces && done < window->size; i++) {
		const struct ntrace_piece *p = &buffer->piece[i];

		at = window->offset + done;
		if (at < p->offset || at >= p->offset + p->size)
			continue;
		len = min(window->size - done, p->offset + p->size - at);
		n = pread(fd, data + done, len, p->file_offset + (at - p->offset));
		if (n < 0)
			return -errno;
		done += n;
		if ((u64)n < len)
			break;
	}
	if (window->orphan)
		blank_skipped(data, done);
	return done;
}
