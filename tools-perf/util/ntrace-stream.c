// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sinks that several CPUs share. Whichever CPU comes to look takes what there
 * is into its own AUX buffer, whosever it is, so the sink's stream is in the AUX
 * records of all buffers, in the order of their times, and a message may begin
 * in one and end in the next. SRC in the messages tells whose they are: each CPU
 * gets a queue of its own that reads the whole stream and leaves the others'.
 *
 * What an event uses on a CPU, HW_ID tells: SRC in its messages means that the
 * sink is shared, and which SRC is which CPU.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <linux/bitfield.h>
#include <linux/kernel.h>
#include <linux/zalloc.h>

#include "event.h"
#include "evlist.h"
#include "evsel.h"
#include "session.h"
#include "ntrace-priv.h"

/* A window of a shared sink's stream, wherever it was found */
struct entry {
	u64			sink;
	size_t			nr;	/* in the order of the file */
	struct nt_session_window	window;
};

struct streams {
	struct entry	*entry;
	size_t		nr;
};

/* Which sink a CPU's trace went to: the one that was asked for, or its default */
static u64 sink_of(struct ntrace *nt, int cpu)
{
	const u64 *info = ntrace_info_cpu(&nt->info, cpu);
	struct evsel *evsel;
	u64 sum = 0;
	int i;

	evlist__for_each_entry(nt->session->evlist, evsel) {
		if (evsel->core.attr.type == nt->info.pmu_type)
			sum |= evsel->core.attr.config2 & NTRACE_CONFIG2_SINKID;
	}
	for (i = NTRACE_INFO_CPU_SINK; info && !sum && i <= NTRACE_INFO_CPU_SINK_END; i++)
		sum = sum * 0x9e3779b97f4a7c15ULL + info[i];
	return sum;
}

/*
 * Of a circular AUX buffer no one can tell what is missing between two records;
 * a sample is a stretch by itself.
 */
static bool is_shared(const struct nt_session_window *w)
{
	return ntrace_is_shared(w->hw_id) && !w->sampled;
}

static int add_entry(struct ntrace *nt, struct streams *s, unsigned int idx,
		     const struct nt_session_window *w)
{
	struct entry *entry = nt_session_grow(s->entry, s->nr, sizeof(*entry));

	if (!entry)
		return -ENOMEM;
	s->entry = entry;
	entry[s->nr] = (struct entry) { .sink = sink_of(nt, w->cpu), .nr = s->nr, .window = *w };
	entry[s->nr].window.idx = idx;
	entry[s->nr].window.shared = true;
	s->nr++;
	return 0;
}

/* Take the windows of shared sinks from the buffer that they were found in. */
static int take_windows(struct ntrace *nt, struct streams *s, unsigned int idx)
{
	struct nt_session_buffer *b = &nt->queue[idx]->buffer;
	size_t i, kept = 0;
	int err = 0;

	for (i = 0; i < b->nr_windows && !err; i++) {
		if (is_shared(&b->window[i]))
			err = add_entry(nt, s, idx, &b->window[i]);
		else
			b->window[kept++] = b->window[i];
	}
	b->nr_windows = kept;
	return err;
}

static int by_time(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->sink != y->sink)
		return x->sink < y->sink ? -1 : 1;
	if (x->window.time != y->window.time)
		return x->window.time < y->window.time ? -1 : 1;
	return x->nr < y->nr ? -1 : x->nr > y->nr;
}

/* Trace that was lost, or bytes that are in no order, break the stream. */
static bool is_broken(const struct nt_session_window *w)
{
	return w->orphan || w->ring ||
	       w->flags & (PERF_AUX_FLAG_TRUNCATED | PERF_AUX_FLAG_PARTIAL);
}

static void link_windows(struct streams *s)
{
	size_t i;

	for (i = 0; i < s->nr; i++) {
		struct nt_session_window *w = &s->entry[i].window;
		bool first = !i || s->entry[i].sink != s->entry[i - 1].sink;
		bool ordered = !w->orphan && !w->ring;

		w->resume = !first && ordered && !is_broken(&s->entry[i - 1].window);
		if (!w->resume && !(first && ordered))
			w->begin = NT_SESSION_BEGIN_ANYWHERE;
	}
}

/* What the CPU is to see of a window. Flags are for the CPU that it came by. */
static struct nt_session_window window_for(const struct entry *entry, const struct ntrace_terms *terms)
{
	struct nt_session_window w = entry->window;

	w.echo	= w.cpu != terms->cpu;
	w.tid	= w.echo ? -1 : w.tid;
	w.cpu	= terms->cpu;
	w.hw_id	= terms->hw_id;
	return w;
}

static int add_queue(struct ntrace *nt, const struct streams *s, const struct ntrace_terms *terms)
{
	struct ntrace_queue *q = ntrace_queue_at(nt, nt->nr_queues);
	u64 sink = sink_of(nt, terms->cpu);
	struct nt_session_window *window;
	size_t i;

	if (!q)
		return -ENOMEM;
	q->buffer.cpu = terms->cpu;
	for (i = 0; i < s->nr; i++) {
		if (s->entry[i].sink != sink)
			continue;
		window = nt_session_grow(q->buffer.window, q->buffer.nr_windows, sizeof(*window));
		if (!window)
			return -ENOMEM;
		q->buffer.window = window;
		window[q->buffer.nr_windows++] = window_for(&s->entry[i], terms);
	}
	return 0;
}

/* Every CPU once, with the terms that were reported last */
static bool is_last(const struct ntrace_terms *terms, size_t i, size_t nr)
{
	size_t k;

	for (k = i + 1; k < nr; k++) {
		if (terms[k].cpu == terms[i].cpu && ntrace_is_shared(terms[k].hw_id))
			return false;
	}
	return ntrace_is_shared(terms[i].hw_id);
}

/* Replaces the windows of shared sinks, all in the order that the file has them. */
int ntrace_streams_find(struct ntrace *nt, const struct ntrace_terms *terms, size_t nr)
{
	struct streams s = { 0 };
	unsigned int idx;
	int err = 0;
	size_t i;

	for (idx = 0; idx < nt->nr_queues && !err; idx++)
		err = nt->queue[idx] ? take_windows(nt, &s, idx) : 0;
	if (!err && s.nr) {
		qsort(s.entry, s.nr, sizeof(*s.entry), by_time);
		link_windows(&s);
		for (i = 0; i < nr && !err; i++) {
			if (is_last(terms, i, nr))
				err = add_queue(nt, &s, &terms[i]);
		}
	}
	free(s.entry);
	return err;
}

/* --- pieces ------------------------------------------------------------------- */

/* No message is longer, or even nearly as long. */
#define REST_MAX	4096

/* Does the next window of the queue go on where this one ends? */
static bool goes_on(const struct ntrace_queue *q)
{
	return q->next_window < q->buffer.nr_windows && q->buffer.window[q->next_window].resume;
}

/*
 * The window is in q->data, behind the rest of the one before. All of the file's
 * bytes must be there for the next one to go on.
 */
void ntrace_stream_start(struct ntrace_queue *q, bool whole)
{
	struct nt_session_window *w = q->window;

	if (!whole && goes_on(q)) {
		q->buffer.window[q->next_window].resume = false;
		q->buffer.window[q->next_window].begin = NT_SESSION_BEGIN_ANYWHERE;
	}
	if (w->resume)
		ntrace_decoder_window(q, q->data, q->data_len, w->offset - q->rest, goes_on(q),
				      true);
	else
		ntrace_decoder_window(q, q->data + q->data_skip, q->data_len - q->data_skip,
				      w->offset + q->data_skip, goes_on(q), false);
}

/* The window is used up. Keep the beginning of a message that ends in the next. */
int ntrace_stream_end(struct ntrace_queue *q)
{
	const struct nt_session_window *w = q->window;
	size_t used;

	if (!w->size)
		return 0;
	used = q->data_skip + ntrace_decoder_consumed(q);
	q->rest = goes_on(q) ? q->data_len - used : 0;
	if (q->rest > REST_MAX) {
		q->rest = 0;
		return ntrace_synth_error(q, NT_SESSION_LOSS_DATA, 0,
					  "no end of a message: AUX %#" PRIx64, w->offset);
	}
	memmove(q->data, q->data + used, q->rest);
	return 0;
}
