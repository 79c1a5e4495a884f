// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Sinks that several CPUs share. Each CPU that polls the sink moves the waiting trace into its own
 * AUX buffer, whichever CPU it comes from. So the sink's stream is spread over the AUX records of
 * all buffers, in the order of their times, and a message may begin in one record and end in the
 * next. SRC in the messages identifies the CPU. Each CPU gets a buffer of its own that contains the
 * whole stream, and its decoder ignores the messages of other CPUs.
 *
 * HW_ID has the parameters of an event on a CPU: SRC in its messages means that the sink is shared,
 * and which CPU has which SRC.
 */
#include <errno.h>
#include <stdlib.h>

#include <linux/perf_event.h>

#include "nt-session.h"

/* A window of a shared sink's stream, from any buffer */
struct entry {
	uint64_t			sink;
	size_t				nr;	/* in file order */
	uint64_t			time;	/* of its AUX record, or an orphan's next one */
	uint64_t			after;	/* time of the AUX record before it in its buffer */
	struct nt_session_window	*from;
	struct nt_session_window	window;
};

struct streams {
	struct entry		*entry;
	size_t			nr;
	struct nt_session_terms	*cpu;	/* each CPU with such a sink, once */
	size_t			nr_cpus;
};

/* The sink of a CPU's trace: the requested one, or the CPU's default */
static uint64_t sink_of(const struct nt_session *session, int cpu)
{
	const uint64_t *info = ntrace_info_cpu(session->info, cpu);
	uint64_t sum = session->sink;
	int i;

	for (i = NTRACE_INFO_CPU_SINK; info && !sum && i <= NTRACE_INFO_CPU_SINK_END; i++)
		sum = sum * 0x9e3779b97f4a7c15ULL + info[i];
	return sum;
}

/*
 * A sample stands alone: in a circular AUX buffer, it is unknown what is missing between two
 * records.
 */
static bool is_shared(const struct nt_session_window *w)
{
	return ntrace_is_shared(w->hw_id) && !w->sampled;
}

static int add_entry(const struct nt_session *session, struct streams *s,
		     struct nt_session_window *w, uint64_t time, uint64_t after)
{
	struct entry *entry = nt_session_grow(s->entry, s->nr, sizeof(*entry));

	if (!entry)
		return -ENOMEM;
	s->entry = entry;
	entry[s->nr] = (struct entry) {
		.sink = sink_of(session, w->cpu),
		.nr = s->nr,
		.time = time,
		.after = after,
		.from = w,
		.window = *w,
	};
	entry[s->nr].window.shared = true;
	s->nr++;
	return 0;
}

/* The last report of a CPU is valid. */
static int add_cpu(struct streams *s, const struct nt_session_terms *terms)
{
	struct nt_session_terms *cpu;
	size_t i;

	for (i = 0; i < s->nr_cpus; i++) {
		if (s->cpu[i].cpu == terms->cpu) {
			s->cpu[i] = *terms;
			return 0;
		}
	}
	cpu = nt_session_grow(s->cpu, s->nr_cpus, sizeof(*cpu));
	if (!cpu)
		return -ENOMEM;
	s->cpu = cpu;
	cpu[s->nr_cpus++] = *terms;
	return 0;
}

/* Find a buffer's windows of shared sinks, and the CPUs that have such a sink. */
static int find_entries(const struct nt_session *session, struct streams *s,
			struct nt_session_buffer *b)
{
	size_t i, last = b->nr_windows;
	uint64_t after = 0;
	int err = 0;

	while (last && b->window[last - 1].orphan)
		last--;
	for (i = 0; i < b->nr_windows && !err; i++) {
		struct nt_session_window *w = &b->window[i];

		if (is_shared(w))
			err = add_entry(session, s, w, i < last ? w->time : UINT64_MAX, after);
		if (!w->orphan)
			after = w->time;
	}
	for (i = 0; i < b->nr_terms && !err; i++) {
		if (ntrace_is_shared(b->terms[i].hw_id))
			err = add_cpu(s, &b->terms[i]);
	}
	return err;
}

static void drop_shared(struct nt_session_buffer *b)
{
	size_t i, kept = 0;

	for (i = 0; i < b->nr_windows; i++) {
		if (!is_shared(&b->window[i]))
			b->window[kept++] = b->window[i];
	}
	b->nr_windows = kept;
}

static int by_time(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->sink != y->sink)
		return x->sink < y->sink ? -1 : 1;
	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->nr < y->nr ? -1 : x->nr > y->nr;
}

/* Lost trace, or bytes whose order is unknown, break the stream. */
static bool is_broken(const struct nt_session_window *w)
{
	return w->orphan || w->ring ||
	       w->flags & (PERF_AUX_FLAG_TRUNCATED | PERF_AUX_FLAG_PARTIAL);
}

/*
 * An orphan is sorted before the next AUX record of its buffer. Its bytes may belong before any
 * window of another buffer that is between that one and the one before.
 */
static void tear_windows(struct streams *s, size_t orphan)
{
	struct entry *e = &s->entry[orphan];
	size_t i;

	for (i = orphan; i; i--) {
		struct entry *between = &s->entry[i - 1];

		if (between->sink != e->sink || between->time <= e->after)
			return;
		e->window.unplaced = true;
		between->window.torn = true;
		between->window.resume = false;
		between->window.begin = NT_SESSION_BEGIN_ANYWHERE;
	}
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
	for (i = 0; i < s->nr; i++)
		if (s->entry[i].window.orphan)
			tear_windows(s, i);
}

/* The window as one CPU's decoder sees it. The flags are for the CPU that read the trace. */
static struct nt_session_window window_for(const struct entry *entry,
					   const struct nt_session_terms *terms)
{
	struct nt_session_window w = entry->window;

	w.echo	= w.cpu != terms->cpu;
	w.tid	= w.echo ? -1 : w.tid;
	w.cpu	= terms->cpu;
	w.hw_id	= terms->hw_id;
	return w;
}

static int add_stream(struct nt_session *session, const struct streams *s,
		      const struct nt_session_terms *terms)
{
	struct nt_session_buffer *b = nt_session_buffer(session, session->nr_buffers);
	uint64_t sink = sink_of(session, terms->cpu);
	struct nt_session_window w;
	int err = b ? 0 : -ENOMEM;
	size_t i;

	if (b)
		b->cpu = terms->cpu;
	for (i = 0; i < s->nr && !err; i++) {
		if (s->entry[i].sink != sink)
			continue;
		w = window_for(&s->entry[i], terms);
		err = nt_session_buffer_add_window(b, &w);
	}
	return err;
}

static int find_streams(struct nt_session *session, struct streams *s)
{
	unsigned int idx;
	int err = 0;

	for (idx = 0; idx < session->nr_buffers && !err; idx++)
		err = session->buffer[idx] ? find_entries(session, s, session->buffer[idx]) : 0;
	if (!err && s->nr) {
		qsort(s->entry, s->nr, sizeof(*s->entry), by_time);
		link_windows(s);
	}
	return err;
}

int nt_session_streams(struct nt_session *session)
{
	struct streams s = { .nr = 0 };
	unsigned int idx;
	int err = find_streams(session, &s);
	size_t i;

	for (idx = 0; idx < session->nr_buffers && !err; idx++)
		if (session->buffer[idx])
			drop_shared(session->buffer[idx]);
	for (i = 0; s.nr && i < s.nr_cpus && !err; i++)
		err = add_stream(session, &s, &s.cpu[i]);
	free(s.entry);
	free(s.cpu);
	return err;
}

/* Does a message continue after the window? Idle bytes look like the end of a message. */
static bool ends_inside(const struct nt_session *session, const struct nt_session_window *w)
{
	struct nt_session_window last = *w;
	uint8_t byte;

	last.offset += w->size - 1;
	last.size = 1;
	return nt_session_read(session, &last, &byte, 1) == 1 && (byte & 3) != 3;
}

int nt_session_streams_mark(struct nt_session *session)
{
	/* the window whose last message continues */
	struct nt_session_window *inside = NULL;
	struct streams s = { .nr = 0 };
	int err = find_streams(session, &s);
	bool there = true;
	size_t i;

	for (i = 0; i < s.nr && !err; i++) {
		const struct nt_session_window *w = &s.entry[i].window;
		struct nt_session_window *from = s.entry[i].from;

		if (!w->resume)
			inside = NULL;
		if (inside)
			from->begin = NT_SESSION_BEGIN_REST;
		else if ((w->begin == NT_SESSION_BEGIN_ANYWHERE || (w->resume && !there)) &&
			 !w->orphan)
			from->begin = NT_SESSION_BEGIN_LOSS;
		if (!w->size)
			continue;
		if (inside)
			inside->unfinished = true;
		there = nt_session_there(session, w) == w->size;
		inside = there && ends_inside(session, w) ? from : NULL;
	}
	free(s.entry);
	free(s.cpu);
	return err;
}

bool nt_session_goes_on(struct nt_session_buffer *b, size_t next, bool whole)
{
	struct nt_session_window *w = next < b->nr_windows ? &b->window[next] : NULL;

	if (!w || !w->resume)
		return false;
	if (!whole) {
		w->resume = false;
		w->begin = NT_SESSION_BEGIN_ANYWHERE;
	}
	return w->resume;
}

void nt_session_choose_src(struct nt_params *params, uint64_t hw_id)
{
	if (params->srcbits)
		params->src = (hw_id & NTRACE_HW_ID_SRCID) /
			      (NTRACE_HW_ID_SRCID & -NTRACE_HW_ID_SRCID) &
			      ((1u << params->srcbits) - 1);
}
