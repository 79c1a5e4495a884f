// SPDX-License-Identifier: GPL-2.0-only
/*
 * Finds the windows of a file. Each PERF_RECORD_AUX reports bytes of an AUX buffer that begin with
 * a sync message, PERF_RECORD_AUXTRACE contains the bytes, and PERF_RECORD_AUX_OUTPUT_HW_ID the
 * parameters of the trace. All of them are read before anything is decoded, because an AUX record
 * comes after its trace.
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
	struct zstd_data zstd;
	u8		*unpacked;	/* decompressed records, after the unused rest */
	size_t		rest, room;
	bool		packed;		/* the current record was compressed */
	bool		sampling;	/* some events take AUX area samples */
	int		err;
};

static int add_piece(struct ntrace *nt, const struct perf_record_auxtrace *rec, u64 offset)
{
	const struct nt_session_piece piece = {
		.offset	     = rec->offset,
		.size	     = rec->size,
		.file_offset = offset + rec->header.size,
	};

	return nt_session_add_piece(&nt->trace, rec->idx, rec->cpu, rec->tid, &piece,
				    rec->reference);
}

/* The buffer of an event's record: perf numbers buffers by event ID. */
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

static struct nt_session_window window_of(struct search *s, const struct perf_record_aux *rec,
					  const struct perf_sample *sample)
{
	return (struct nt_session_window) {
		.offset	= rec->aux_offset,
		.size	= rec->aux_size,
		.ring	= rec->flags & PERF_AUX_FLAG_OVERWRITE,
		.flags	= rec->flags,
		.time	= sample->time == (u64)-1 ? 0 : sample->time,
		.cpu	= sample->cpu,
		.pid	= sample->pid,
		.tid	= sample->tid,
		.of_task = sample_of_task(s->nt, sample),
	};
}

static int add_window(struct search *s, int idx, const struct perf_record_aux *rec,
		      const struct perf_sample *sample)
{
	const struct nt_session_window window = window_of(s, rec, sample);

	return nt_session_add_window(&s->nt->trace, idx, &window);
}

/* A compressed sample has no bytes in the file: copy them to one of our own. */
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

/* Add an AUX area sample, which is both a piece and a window. */
static int add_sample(struct search *s, int idx, union perf_event *event, u64 offset,
		      const struct perf_sample *sample)
{
	const struct perf_record_aux rec = { .aux_size = sample->aux_sample.size };
	const struct nt_session_window window = window_of(s, &rec, sample);
	struct perf_sample_id *sid = evlist__id2sid(s->nt->session->evlist, sample->id);
	int err = 0;

	offset += (u8 *)sample->aux_sample.data - (u8 *)event;
	if (s->packed)
		err = keep_sample(s->nt, sample, &offset);
	return err ?: nt_session_add_sample(&s->nt->trace, idx, sid->cpu.cpu, sid->tid, &window,
					    s->packed, offset);
}

static int search_sample(struct search *s, union perf_event *event, u64 offset)
{
	struct perf_sample sample;
	int idx, err;

	ntrace_compat_sample_init(&sample);
	err = parse(s->nt, event, &sample);
	idx = err ? -1 : sample_idx(s->nt, &sample);
	if (!err && idx < 0 &&
	    (event->header.type != PERF_RECORD_SAMPLE || sample.aux_sample.size)) {
		pr_err("ntrace: a record of trace of an event that the file does not know\n");
		err = -EINVAL;
	}
	if (!err && event->header.type == PERF_RECORD_AUX)
		err = add_window(s, idx, &event->aux, &sample);
	else if (!err && event->header.type == PERF_RECORD_AUX_OUTPUT_HW_ID)
		err = nt_session_add_terms(&s->nt->trace, idx, sample.cpu,
					   event->aux_output_hw_id.hw_id);
	else if (!err && sample.aux_sample.size)
		err = add_sample(s, idx, event, offset, &sample);
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

/* Like perf_session__process_compressed_event(): a record may end in the next compressed record. */
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

	/* perf would read the same record forever. */
	if (event->header.size < sizeof(event->header)) {
		pr_err("ntrace: no record at %#" PRIx64 " of the file, but one of %u bytes\n",
		       offset, event->header.size);
		return -EINVAL;
	}
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
		return search_compressed(s, event->pack.data,
					 event->header.size - sizeof(event->pack));
	case NTRACE_RECORD_COMPRESSED2:
		packed = ntrace_compat_compressed2(event, &len);
		return search_compressed(s, packed, len);
	default:
		return 0;
	}
}

/* perf maps the file up to the size in its header: access to missing parts would raise a signal. */
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

static int ask(struct ntrace *nt)
{
	struct perf_sample_id *sid;
	struct ntrace_asked asked;
	struct evsel *evsel;
	unsigned int i;
	int err = 0;

	evlist__for_each_entry(nt->session->evlist, evsel) {
		if (evsel->core.attr.type != nt->info.pmu_type)
			continue;
		asked = (struct ntrace_asked) {
			.config		= evsel->core.attr.config,
			.config2	= evsel->core.attr.config2,
			.exclude_user	= evsel->core.attr.exclude_user,
			.exclude_kernel = evsel->core.attr.exclude_kernel,
		};
		for (i = 0; i < evsel->core.ids && !err; i++) {
			sid = evlist__id2sid(nt->session->evlist, evsel->core.id[i]);
			if (sid && sid->idx >= 0)
				err = nt_session_ask(&nt->trace, sid->idx, sid->cpu.cpu, &asked);
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

/* @unpacked: read from the file of decompressed bytes */
static ssize_t read_file(void *ctx, unsigned int unpacked, u64 offset, void *buf, size_t len)
{
	struct ntrace *nt = ctx;
	int fd = unpacked ? nt->unpacked : perf_data__fd(nt->session->data);
	ssize_t n = pread(fd, buf, len, offset);

	return n < 0 ? -errno : n;
}

static int make_queues(struct ntrace *nt)
{
	unsigned int i;

	nt->queue = calloc(nt->trace.nr_buffers + 1, sizeof(*nt->queue));
	if (!nt->queue)
		return -ENOMEM;
	nt->nr_queues = nt->trace.nr_buffers;
	for (i = 0; i < nt->nr_queues; i++) {
		if (!nt->trace.buffer[i])
			continue;
		nt->queue[i] = ntrace_queue_new(nt, nt->trace.buffer[i]);
		if (!nt->queue[i])
			return -ENOMEM;
	}
	return 0;
}

int ntrace_windows_find(struct ntrace *nt)
{
	struct search s = { .nt = nt, .sampling = is_sampling(nt) };
	int err;

	nt->trace.info = &nt->info;
	nt->trace.read = read_file;
	nt->trace.ctx = nt;
	zstd_init(&s.zstd, 0);
	err = search_all(&s);
	zstd_fini(&s.zstd);
	free(s.unpacked);
	if (err && !s.err)
		pr_err("ntrace: the file ends early, or is damaged: decoding what there is\n");
	err = s.err ?: ask(nt);
	err = err ?: nt_session_finish(&nt->trace);
	/* A dump shows the records unchanged. */
	if (!err)
		err = dump_trace ? nt_session_streams_mark(&nt->trace) :
				   nt_session_streams(&nt->trace);
	return err ?: make_queues(nt);
}
