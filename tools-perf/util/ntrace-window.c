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
#include <linux/zalloc.h>

#include <internal/lib.h> // writen
#include "compress.h"
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
	struct zstd_data zstd;
	u8		*unpacked;	/* out of a compressed record, behind the rest of the one before */
	size_t		rest, room;
	bool		packed;		/* what is looked at was compressed */
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

static int add_piece(struct ntrace *nt, const struct perf_record_auxtrace *rec, u64 offset,
		     bool unpacked)
{
	struct ntrace_queue *q = ntrace_queue_at(nt, rec->idx);
	const struct nt_session_piece piece = {
		.offset	     = rec->offset,
		.size	     = rec->size,
		.file_offset = offset + rec->header.size,
		.unpacked    = unpacked,
	};

	if (!q)
		return -ENOMEM;
	q->buffer.cpu = rec->cpu;
	q->buffer.tid = rec->tid;
	return nt_session_buffer_add_piece(&q->buffer, &piece, rec->reference);
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

	terms = nt_session_grow(s->terms, s->nr_terms, sizeof(*terms));
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
	struct nt_session_window window;
	struct ntrace_queue *q;

	q = idx < 0 ? NULL : ntrace_queue_at(s->nt, idx);
	if (!q) {
		pr_err("ntrace: an AUX record of an event that the file does not know\n");
		return -EINVAL;
	}

	/* A circular buffer has no room that is used up: there aux_offset is the end. */
	window = (struct nt_session_window) {
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
	return nt_session_buffer_add_window(&q->buffer, &window);
}

/* The bytes of a sample that was compressed are in no file: they get one. */
static int keep_sample(struct ntrace *nt, const struct perf_sample *sample, u64 *offset)
{
	off_t end;

	if (nt->unpacked < 0)
		nt->unpacked = ntrace_pipe_file();
	if (nt->unpacked < 0)
		return nt->unpacked;
	end = lseek(nt->unpacked, 0, SEEK_END);
	if (end < 0 || writen(nt->unpacked, sample->aux_sample.data, sample->aux_sample.size) < 0)
		return -errno;
	*offset = end;
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
	struct nt_session_buffer *b;
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

	if (s->packed) {
		rec.header.size = 0;
		err = keep_sample(s->nt, sample, &offset);
		if (err)
			return err;
	}
	err = add_piece(s->nt, &rec, offset, s->packed) ?: add_window(s, &aux, sample);
	if (!err) {
		b->window[b->nr_windows - 1].sampled = true;
		b->window[b->nr_windows - 1].begin = NT_SESSION_BEGIN_ANYWHERE;
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
	const struct ntrace_conversion c = {
		.zero	= ev->time_zero,
		.cycles	= ev->time_cycles,
		.mask	= ev->time_mask,
		.mult	= ev->time_mult,
		.shift	= min_t(u64, ev->time_shift, UINT16_MAX),
		.short_counter = ev->cap_user_time_short,
	};

	ntrace_info_set_clock(&nt->info, &c, ev->reserved);
}

static int search_event(struct perf_session *session, union perf_event *event, u64 offset,
			void *data);

/* As perf_session__process_compressed_event() takes them: a record may end in the next one. */
static int search_unpacked(struct search *s, size_t size)
{
	union perf_event *event;
	size_t at = 0;
	int err;

	s->packed = true;
	while (size - at >= sizeof(event->header)) {
		event = (union perf_event *)(s->unpacked + at);
		if (event->header.size < sizeof(event->header))
			return -EINVAL;
		if (event->header.size > size - at)
			break;
		err = search_event(s->nt->session, event, 0, s);
		if (err)
			return err;
		at += event->header.size;
	}
	s->packed = false;
	s->rest = size - at;
	memmove(s->unpacked, s->unpacked + at, s->rest);
	return 0;
}

static int search_compressed(struct search *s, void *src, size_t len)
{
	size_t room = s->nt->session->header.env.comp_mmap_len + PERF_SAMPLE_MAX_SIZE, size;
	u8 *bigger;

	if (room > s->room) {
		bigger = realloc(s->unpacked, room);
		if (!bigger)
			return s->err = -ENOMEM;
		s->unpacked = bigger;
		s->room = room;
	}
	size = zstd_decompress_stream(&s->zstd, src, len, s->unpacked + s->rest, s->room - s->rest);
	if (!size) {
		pr_err("ntrace: a record that was compressed (perf record -z) cannot be read: it is damaged, or this perf was built without zstd\n");
		return s->err = -EINVAL;
	}
	return search_unpacked(s, s->rest + size);
}

static int search_event(struct perf_session *session __maybe_unused, union perf_event *event,
			u64 offset, void *data)
{
	struct search *s = data;
	void *packed;
	size_t len;

	/* perf would look at the same place for ever. */
	if (event->header.size < sizeof(event->header)) {
		pr_err("ntrace: no record at %#" PRIx64 " of the file, but one of %u bytes\n",
		       offset, event->header.size);
		return -EINVAL;
	}
	switch (event->header.type) {
	case PERF_RECORD_AUXTRACE:
		if (event->header.size < sizeof(event->auxtrace))
			return -EINVAL;
		return s->err = add_piece(s->nt, &event->auxtrace, offset, false);
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
		return search_compressed(s, event->pack.data,
					 event->header.size - sizeof(event->pack));
	case NTRACE_RECORD_COMPRESSED2:
		packed = ntrace_compat_compressed2(event, &len);
		return search_compressed(s, packed, len);
	default:
		return 0;
	}
}

/*
 * perf maps the whole file, as long as its header says: what is not there would
 * be found out by a signal.
 */
int ntrace_file_check(struct perf_session *session)
{
	u64 end = session->header.data_offset + session->header.data_size;
	struct stat st;

	if (perf_data__is_pipe(session->data))
		return 0;
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

static int finish_buffer(struct ntrace *nt, struct nt_session_buffer *b)
{
	return b->sampled ? ntrace_samples_clip(nt, b) : nt_session_buffer_finish(b);
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
	const struct ntrace_asked asked = {
		.config		= evsel->core.attr.config,
		.config2	= evsel->core.attr.config2,
		.exclude_user	= evsel->core.attr.exclude_user,
		.exclude_kernel = evsel->core.attr.exclude_kernel,
	};
	unsigned int i;
	int cpu, err = 0;

	for (i = 0; i < info->nr_cpus && !err; i++) {
		cpu = info->cpu[i][NTRACE_INFO_CPU_NR];
		if ((sid->cpu.cpu == -1 || sid->cpu.cpu == cpu) && !find_terms(s, sid->idx, cpu))
			err = add_terms(s, sid->idx, cpu,
					ntrace_info_hw_id(info, &asked, cpu));
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
	struct nt_session_buffer *b;
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

static int search_all(struct search *s)
{
	struct perf_session *session = s->nt->session;
	off_t begin = 0;

	if (!perf_data__is_pipe(session->data))
		return perf_session__peek_events(session, session->header.data_offset,
						 session->header.data_size, search_event, s);
	s->err = ntrace_pipe_open(session, &begin);
	return s->err ?: ntrace_pipe_peek(session, begin, search_event, s);
}

int ntrace_windows_find(struct ntrace *nt)
{
	struct search s = { .nt = nt, .sampling = is_sampling(nt) };
	unsigned int i;
	int err;

	zstd_init(&s.zstd, 0);
	err = search_all(&s);
	zstd_fini(&s.zstd);
	free(s.unpacked);
	if (err && !s.err)
		pr_err("ntrace: the file ends early, or is damaged: decoding what there is\n");
	err = s.err ?: complete_terms(&s);
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

/*
 * Copy a window's bytes to @data. Returns how many there are, from the start on:
 * fewer than its size if the file does not have them all.
 */
ssize_t ntrace_window_read(struct ntrace *nt, const struct nt_session_buffer *buffer,
			   const struct nt_session_window *window, void *data)
{
	u64 done = 0, at, len;
	size_t i;
	ssize_t n;
	int fd;

	for (i = 0; i < buffer->nr_pieces && done < window->size; i++) {
		const struct nt_session_piece *p = &buffer->piece[i];

		at = window->offset + done;
		if (at < p->offset || at >= p->offset + p->size)
			continue;
		len = min(window->size - done, p->offset + p->size - at);
		fd = p->unpacked ? nt->unpacked : perf_data__fd(nt->session->data);
		n = pread(fd, data + done, len, p->file_offset + (at - p->offset));
		if (n < 0)
			return -errno;
		done += n;
		if ((u64)n < len)
			break;
	}
	if (window->orphan)
		nt_session_buffer_blank(data, done);
	return done;
}
