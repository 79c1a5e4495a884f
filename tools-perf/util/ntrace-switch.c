// SPDX-License-Identifier: GPL-2.0-only
/*
 * perf record --switch-output: makes each file decodable by itself.
 *
 * The first trace of a new file is older than the file, but perf describes only the tasks that
 * exist when it begins the file. So this code watches what perf reads from its ring buffers, and
 * keeps the records that describe tasks as long as trace to which they apply can still arrive. It
 * writes them into each new file, with their original times.
 *
 * An event that follows tasks has a window for each time a task spends on a CPU, from its arrival
 * until it leaves. When such a task has ended, and all ring buffers have been read since, no more
 * trace of it can arrive. If it executes another program, the same applies from when it left that
 * CPU. An event of a CPU has windows of all tasks that ran there since the previous AUX record:
 * anything older than the last AUX record of each CPU is no longer needed. The same applies to
 * sinks that CPUs share, because the AUX record of any CPU may report the trace.
 *
 * perf reads one ring buffer after the other, and each before the trace that belongs to it. So a
 * file that ends can have trace of a task that is described in another CPU's ring buffer, and trace
 * whose AUX record is still in the ring buffer. Records that are then in the ring buffers are
 * written into both files. A mark in the new file tells which AUX records belong to trace in the
 * previous file: a PERF_RECORD_AUXTRACE without bytes. Its reference is the time of the last of
 * these records, and its offset is the beginning of the new file's trace.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/bitfield.h>
#include <linux/bitops.h>
#include <linux/kernel.h>

#include <internal/lib.h> // page_size
#include "auxtrace.h"
#include "debug.h"
#include "event.h"
#include "evlist.h"
#include "evsel.h"
#include "mmap.h"
#include "pmu.h"
#include "pmus.h"
#include "record.h"
#include "target.h"
#include "ntrace.h"
#include "ntrace-compat.h"
#include "ntrace-history.h"
#include "ntrace-priv.h"

/* Limit for replaced records; half of a file's size if that is smaller */
#define MOST	(4UL << 20)

/* An AUX record whose bytes perf has not read completely, and where they end */
struct unread {
	struct ntrace_record	*rec;
	u64			end;
};

struct ring {
	struct mmap	*map;
	u64		next;		/* position up to which it was seen */
	pid_t		tid;		/* of its last record */
	u64		left;		/* that task arrived at this time or later */
	bool		reported;	/* it has AUX records */
	u64		since;		/* time of the last AUX record whose bytes were all read */
	struct unread	*unread;
	size_t		nr_unread;
};

static struct {
	bool			on;
	bool			describes;	/* records describe tasks, not only AUX */
	struct evlist		*evlist;
	bool			of_cpus;	/* the event is for CPUs, not for tasks */
	size_t			most;
	bool			circular;	/* snapshots, AUX area samples */
	bool			shared;		/* sinks that several CPUs share */
	bool			collecting;	/* collects what perf writes of running tasks */
	bool			lost;		/* records were lost */
	unsigned int		nr_rings;
	struct ring		*ring;
	union perf_event	*part;		/* a record whose rest is still to come */
	size_t			part_size;
	u64			round;		/* how many times the rings were read */
	struct list_head	queue;		/* in time order, until all rings were read */
	struct ntrace_history	*history;
} sw;

/* From now on, perf itself finds the tasks. */
static void give_up(int err)
{
	pr_warning("ntrace: %s: later files do not describe tasks that have ended\n",
		   err == -ENOMEM ? "no memory" : "a record that cannot be read");
	sw.on = false;
}

/* --- records ---------------------------------------------------------------- */

/* The size of the identifiers at the end of such an event, and the offset of the time in them */
static unsigned int ids_size(u64 sample_type, unsigned int *time_at)
{
	u64 ids = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |
		  PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;

	*time_at = sample_type & PERF_SAMPLE_TID ? sizeof(u64) : 0;
	return hweight64(sample_type & ids) * sizeof(u64);
}

static struct ntrace_record *record_new(const union perf_event *event, const struct evsel *evsel)
{
	struct ntrace_record *rec = calloc(1, sizeof(*rec) + event->header.size);
	unsigned int time_at;

	if (!rec)
		return NULL;
	rec->round = sw.round;
	rec->ids = ids_size(evsel->core.attr.sample_type, &time_at);
	rec->time_at = event->header.size - rec->ids + time_at;
	memcpy(rec->data, event, event->header.size);
	return rec;
}

static bool is_about_tasks(const union perf_event *event)
{
	switch (event->header.type) {
	case PERF_RECORD_FORK:
	case PERF_RECORD_COMM:
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
	case PERF_RECORD_EXIT:
	case PERF_RECORD_ITRACE_START:
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		return sw.describes;
	default:
		return false;
	}
}

/* Read the time of a record, and the task that wrote it. */
static int read_ids(const struct evsel *evsel, union perf_event *event, u64 *time, pid_t *tid)
{
	struct perf_sample sample;
	int err;

	ntrace_compat_sample_init(&sample);
	err = evsel__parse_sample((struct evsel *)evsel, event, &sample);
	*time = sample.time;
	*tid = sample.tid;
	ntrace_compat_sample_exit(&sample);
	return err ?: *time == (u64)-1 ? -EINVAL : 0;
}

static void enqueue(struct ntrace_record *rec)
{
	struct ntrace_record *before;

	list_for_each_entry_reverse(before, &sw.queue, node) {
		if (before->time <= rec->time)
			break;
	}
	list_add(&rec->node, &before->node);
}

/* --- AUX records ------------------------------------------------------------ */

/* In a circular buffer, aux_offset is the end. */
static u64 aux_end(const struct perf_record_aux *aux)
{
	return aux->aux_offset + (aux->flags & PERF_AUX_FLAG_OVERWRITE ? 0 : aux->aux_size);
}

/* Takes ownership of @rec. */
static int on_aux(struct ring *ring, struct ntrace_record *rec)
{
	struct unread *unread = nt_session_grow(ring->unread, ring->nr_unread, sizeof(*unread));

	if (!unread) {
		free(rec);
		return -ENOMEM;
	}
	ring->unread = unread;
	unread[ring->nr_unread++] = (struct unread) {
		.rec = rec,
		.end = aux_end(&ntrace_record_event(rec)->aux),
	};
	ring->reported = true;
	ring->left = rec->time;
	return 0;
}

/* Bytes of a circular buffer may be read until they are overwritten. */
static u64 read_up_to(const struct ring *ring)
{
	const struct auxtrace_mmap *mm = &ring->map->auxtrace_mmap;
	u64 end;

	if (!sw.circular || !ring->nr_unread)
		return mm->prev;
	end = ring->unread[ring->nr_unread - 1].end;
	return end > mm->len ? end - mm->len : 0;
}

static void drop_read(struct ring *ring)
{
	u64 limit = read_up_to(ring);
	size_t n = 0;

	for (; n < ring->nr_unread && ring->unread[n].end <= limit; n++) {
		ring->since = ring->unread[n].rec->time;
		free(ring->unread[n].rec);
	}
	ring->nr_unread -= n;
	memmove(ring->unread, ring->unread + n, ring->nr_unread * sizeof(*ring->unread));
}

/* --- ring buffers ----------------------------------------------------------- */

typedef int (*on_event_t)(struct ring *ring, union perf_event *event, void *ctx);

/* A record may wrap at the end of a ring buffer: complete the record in sw.part. */
static int on_part(struct ring *ring, const u8 **buf, size_t *size, on_event_t fn, void *ctx)
{
	const size_t header = sizeof(struct perf_event_header);
	size_t wanted = sw.part_size < header ? header : sw.part->header.size;
	size_t n = min(*size, wanted - sw.part_size);

	memcpy((u8 *)sw.part + sw.part_size, *buf, n);
	sw.part_size += n;
	*buf += n;
	*size -= n;
	if (sw.part_size < header || sw.part_size < sw.part->header.size)
		return 0;
	sw.part_size = 0;
	return fn(ring, sw.part, ctx);
}

static int on_bytes(struct ring *ring, const u8 *buf, size_t size, on_event_t fn, void *ctx)
{
	union perf_event *event;
	int err = 0;

	while (size && !err) {
		event = (union perf_event *)buf;
		if (sw.part_size || size < sizeof(event->header) || size < event->header.size) {
			err = on_part(ring, &buf, &size, fn, ctx);
			continue;
		}
		if (event->header.size < sizeof(event->header))
			return -EINVAL;
		buf += event->header.size;
		size -= event->header.size;
		err = fn(ring, event, ctx);
	}
	return err;
}

static int on_event(struct ring *ring, union perf_event *event, void *ctx __maybe_unused)
{
	bool aux = event->header.type == PERF_RECORD_AUX;
	struct ntrace_record *rec;
	struct evsel *evsel;
	pid_t tid;
	int err;

	sw.lost |= event->header.type == PERF_RECORD_LOST;
	if (event->header.type == PERF_RECORD_AUX_OUTPUT_HW_ID)
		sw.shared |= ntrace_is_shared(event->aux_output_hw_id.hw_id);
	if (!aux && !is_about_tasks(event))
		return 0;
	evsel = evlist__event2evsel(sw.evlist, event);
	rec = evsel ? record_new(event, evsel) : NULL;
	if (!rec)
		return evsel ? -ENOMEM : -EINVAL;
	rec->ring = ring - sw.ring;
	err = read_ids(evsel, event, &rec->time, &tid);
	if (err) {
		free(rec);
		return err;
	}
	/* Another task: the previous one has left. */
	if (tid != ring->tid)
		ring->left = rec->time;
	ring->tid = tid;
	if (aux)
		return on_aux(ring, rec);
	enqueue(rec);
	return 0;
}

/* perf has read @size bytes of a ring buffer. */
void ntrace_switch_read(struct mmap *map, const void *buf, size_t size)
{
	u64 pos = map->core.start - size, seen;
	unsigned int i;
	int err;

	for (i = 0; sw.on && i < sw.nr_rings; i++) {
		struct ring *ring = &sw.ring[i];

		if (ring->map != map)
			continue;
		/* perf reads records twice that arrive while it reads. */
		seen = ring->next > pos ? min((size_t)(ring->next - pos), size) : 0;
		ring->next = max(ring->next, pos + size);
		err = on_bytes(ring, (const u8 *)buf + seen, size - seen, on_event, NULL);
		if (err)
			give_up(err);
		return;
	}
}

/* --- records that are no longer needed -------------------------------------- */

/*
 * Add the records up to the newest one of an earlier round to the history: all ring buffers have
 * been read since.
 */
static int take_over(void)
{
	struct ntrace_record *rec, *last = NULL;
	int err = 0;

	list_for_each_entry_reverse(rec, &sw.queue, node) {
		if (rec->round < sw.round) {
			last = rec;
			break;
		}
	}
	while (last && !err) {
		rec = list_first_entry(&sw.queue, struct ntrace_record, node);
		list_del_init(&rec->node);
		if (rec == last)
			last = NULL;
		err = ntrace_history_add(sw.history, rec);
	}
	return err;
}

static void forget_gone(void)
{
	bool any = sw.shared || sw.of_cpus;
	u64 open = UINT64_MAX, closed = UINT64_MAX;
	struct ring *ring;
	unsigned int i;

	for (i = 0; i < sw.nr_rings; i++) {
		ring = &sw.ring[i];
		if (!ring->map->auxtrace_mmap.base)
			continue;
		drop_read(ring);
		if (ring->reported || sw.of_cpus)
			open = min(open, ring->since);
		if (ring->nr_unread)
			closed = min(closed, ring->since);
	}
	ntrace_history_forget(sw.history, NTRACE_HISTORY_EXIT, any ? open : closed);
	ntrace_history_forget(sw.history, NTRACE_HISTORY_MAP, open);
	for (i = 0; i < sw.nr_rings; i++) {
		ring = &sw.ring[i];
		ntrace_history_forget(sw.history, NTRACE_HISTORY_EXEC(i),
				      any ? open : min(closed, ring->left));
		ntrace_history_forget(sw.history, NTRACE_HISTORY_SWITCH(i),
				      sw.shared ? open : ring->since);
	}
	if (ntrace_history_limit(sw.history, sw.most))
		pr_warning_once("ntrace: more than %zu KiB describe tasks that have ended since some CPU last reported trace: in later files, trace of the first of them cannot be decoded\n",
				sw.most >> 10);
}

/* perf has read all ring buffers. */
void ntrace_switch_round(void)
{
	int err;

	sw.collecting = false;
	if (!sw.on)
		return;
	err = take_over();
	if (err)
		give_up(err);
	else
		forget_gone();
	sw.round++;
}

/* --- files ------------------------------------------------------------------ */

/* perf describes a task that already runs. */
void ntrace_switch_synthesized(const union perf_event *event)
{
	struct ntrace_record *rec;
	int err;

	if (!sw.on || !sw.collecting || !is_about_tasks(event))
		return;
	rec = record_new(event, evlist__first(sw.evlist));
	err = rec ? ntrace_history_add(sw.history, rec) : -ENOMEM;
	if (err)
		give_up(err);
}

struct writer {
	const struct perf_tool	*tool;
	ntrace_write_t		write;
	struct machine		*machine;
};

static int write_event(struct writer *w, union perf_event *event)
{
	return w->write(w->tool, event, NULL, w->machine);
}

static int write_record(void *ctx, struct ntrace_record *rec)
{
	return write_event(ctx, ntrace_record_event(rec));
}

/*
 * AUX records up to ring->since are about bytes before the offset, later ones about bytes from
 * there on.
 */
static int write_mark(struct writer *w, const struct ring *ring)
{
	const struct auxtrace_mmap *mm = &ring->map->auxtrace_mmap;
	union perf_event event = {
		.auxtrace = {
			.header = {
				.type = PERF_RECORD_AUXTRACE,
				.size = sizeof(event.auxtrace),
			},
			.offset	   = mm->prev,
			.reference = ring->since,
			.idx	   = mm->idx,
			.tid	   = mm->tid,
			.cpu	   = mm->cpu,
		},
	};

	return write_event(w, &event);
}

/* Write a record that perf has not read yet, if it is about the file that ends. */
static int write_ahead(struct ring *ring, union perf_event *event, void *ctx)
{
	struct evsel *evsel;
	pid_t tid;
	int err;

	if (event->header.type == PERF_RECORD_AUX) {
		if (sw.circular || aux_end(&event->aux) > ring->map->auxtrace_mmap.prev)
			return 0;
		evsel = evlist__event2evsel(sw.evlist, event);
		err = evsel ? read_ids(evsel, event, &ring->since, &tid) : -EINVAL;
		if (err)
			return err;
	} else if (event->header.type != PERF_RECORD_AUX_OUTPUT_HW_ID && !is_about_tasks(event)) {
		return 0;
	}
	return write_event(ctx, event);
}

static int look_ahead(struct ring *ring, struct writer *w)
{
	struct perf_mmap *map = &ring->map->core;
	const u8 *data = (u8 *)map->base + page_size;
	u64 pos = ring->next, head = map->base ? perf_mmap__read_head(map) : 0;
	size_t size, at;
	int err = 0;

	while (pos < head && !err) {
		at = pos & map->mask;
		size = min((size_t)(head - pos), (size_t)map->mask + 1 - at);
		err = on_bytes(ring, data + at, size, write_ahead, w);
		pos += size;
	}
	sw.part_size = 0;
	/* The unread bytes of AUX records that perf has read go to the next file. */
	if (!err && ring->nr_unread && !sw.circular)
		err = write_mark(w, ring);
	return err;
}

/*
 * If records were lost, the state of all tasks is unknown: use only what perf finds when it begins
 * the next file.
 */
static int forget_all(void)
{
	struct ntrace_record *rec, *next;

	list_for_each_entry_safe(rec, next, &sw.queue, node) {
		list_del(&rec->node);
		free(rec);
	}
	ntrace_history_free(sw.history);
	sw.history = ntrace_history_new(sw.nr_rings);
	sw.collecting = true;
	return sw.history ? 0 : -ENOMEM;
}

/* A file ends. */
void ntrace_switch_end(const struct perf_tool *tool, ntrace_write_t write, struct machine *machine)
{
	struct writer w = { .tool = tool, .write = write, .machine = machine };
	unsigned int i;
	int err = 0;

	for (i = 0; sw.on && i < sw.nr_rings && !err; i++)
		err = look_ahead(&sw.ring[i], &w);
	if (!err && sw.on && sw.lost)
		err = forget_all();
	if (err)
		give_up(err);
}

static int write_beginning(struct writer *w)
{
	struct ring *ring;
	unsigned int i;
	size_t n;
	int err = 0;

	if (sw.circular)
		return 0;
	for (i = 0; i < sw.nr_rings && !err; i++) {
		ring = &sw.ring[i];
		if (ring->since)
			err = write_mark(w, ring);
		for (n = 0; n < ring->nr_unread && !err; n++)
			err = write_record(w, ring->unread[n].rec);
	}
	return err;
}

/* A new file begins. Returns 1 if perf has to find the existing tasks. */
int ntrace_switch_write(const struct perf_tool *tool, ntrace_write_t write,
			struct machine *machine)
{
	struct writer w = { .tool = tool, .write = write, .machine = machine };
	struct ntrace_record *rec;
	int err;

	if (!sw.on)
		return 1;
	err = write_beginning(&w);
	if (sw.lost) {
		sw.lost = false;
		return err ?: 1;
	}
	err = err ?: ntrace_history_write(sw.history, write_record, &w);
	list_for_each_entry(rec, &sw.queue, node)
		err = err ?: write_record(&w, rec);
	return err;
}

/* Recording begins, into files of at most @size bytes; 0: unlimited */
void ntrace_switch_start(struct evlist *evlist, struct record_opts *opts, bool several, u64 size)
{
	struct mmap *maps = ntrace_compat_evlist_mmap(evlist);
	unsigned int i;

	if (!several || !ntrace_is_recorded(evlist))
		return;
	sw.evlist = evlist;
	sw.of_cpus = target__has_cpu(&opts->target);
	sw.most = size ? min(size / 2, (u64)MOST) : MOST;
	sw.circular = opts->auxtrace_snapshot_mode || opts->auxtrace_sample_mode;
	sw.nr_rings = ntrace_compat_evlist_core(evlist)->nr_mmaps;
	sw.ring = calloc(sw.nr_rings, sizeof(*sw.ring));
	sw.part = malloc(PERF_SAMPLE_MAX_SIZE);
	sw.history = ntrace_history_new(sw.nr_rings);
	INIT_LIST_HEAD(&sw.queue);
	if (!sw.ring || !sw.part || !sw.history) {
		give_up(-ENOMEM);
		return;
	}
	for (i = 0; i < sw.nr_rings; i++)
		sw.ring[i].map = &maps[i];
	/* For the kernel on selected CPUs, perf records no mappings, and not all tasks. */
	sw.describes = !opts->target.cpu_list || !evlist__first(evlist)->core.attr.exclude_user;
	sw.on = sw.collecting = true;
}
