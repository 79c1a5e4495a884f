// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Converts the records of a file, in file order, to buffers with windows, each with the parameters
 * of its event. All records must be read before anything is decoded, because an AUX record comes
 * after its trace.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "nt-session.h"

struct nt_session_buffer *nt_session_buffer(struct nt_session *s, unsigned int idx)
{
	struct nt_session_buffer **more, *b;

	if (idx >= NT_SESSION_BUFFERS_MAX)
		return NULL;
	if (idx >= s->nr_buffers) {
		more = realloc(s->buffer, (idx + 1) * sizeof(*more));
		if (!more)
			return NULL;
		memset(more + s->nr_buffers, 0, (idx + 1 - s->nr_buffers) * sizeof(*more));
		s->buffer = more;
		s->nr_buffers = idx + 1;
	}
	if (!s->buffer[idx]) {
		b = calloc(1, sizeof(*b));
		if (!b)
			return NULL;
		b->idx = idx;
		b->cpu = b->tid = -1;
		s->buffer[idx] = b;
	}
	return s->buffer[idx];
}

void nt_session_free(struct nt_session *s)
{
	unsigned int i;

	for (i = 0; i < s->nr_buffers; i++) {
		if (!s->buffer[i])
			continue;
		nt_session_buffer_free(s->buffer[i]);
		free(s->buffer[i]->terms);
		free(s->buffer[i]);
	}
	free(s->buffer);
	free(s->asked);
	memset(s, 0, sizeof(*s));
}

/* --- terms ------------------------------------------------------------------ */

static struct nt_session_terms *find_terms(const struct nt_session_buffer *b, int cpu)
{
	size_t i;

	for (i = 0; i < b->nr_terms; i++) {
		if (b->terms[i].cpu == cpu)
			return &b->terms[i];
	}
	return NULL;
}

static uint64_t terms_of(const struct nt_session_buffer *b, int cpu)
{
	const struct nt_session_terms *terms = find_terms(b, cpu);

	return terms ? terms->hw_id : 0;
}

int nt_session_add_terms(struct nt_session *s, unsigned int idx, int cpu, uint64_t hw_id)
{
	struct nt_session_buffer *b = nt_session_buffer(s, idx);
	struct nt_session_terms *terms = b ? find_terms(b, cpu) : NULL;

	if (!b)
		return -ENOMEM;
	if (!terms) {
		terms = nt_session_grow(b->terms, b->nr_terms, sizeof(*terms));
		if (!terms)
			return -ENOMEM;
		b->terms = terms;
		terms += b->nr_terms++;
	}
	*terms = (struct nt_session_terms){ cpu, hw_id };
	return 0;
}

int nt_session_ask(struct nt_session *s, unsigned int idx, int cpu,
		   const struct ntrace_asked *what)
{
	struct nt_session_asked *more = nt_session_grow(s->asked, s->nr_asked, sizeof(*more));

	if (!more)
		return -ENOMEM;
	s->asked = more;
	more[s->nr_asked++] = (struct nt_session_asked){ idx, cpu, *what };
	s->sink |= what->config2 & NTRACE_CONFIG2_SINKID;
	return 0;
}

/* Derive the parameters of an event on a CPU: on its own CPU, or on any that has an encoder. */
static int guess_terms(struct nt_session *s, const struct nt_session_asked *asked)
{
	const struct nt_session_buffer *b = nt_session_buffer(s, asked->idx);
	unsigned int i;
	int err = b ? 0 : -ENOMEM;

	for (i = 0; i < s->info->nr_cpus && !err; i++) {
		int cpu = (int)s->info->cpu[i][NTRACE_INFO_CPU_NR];

		if ((asked->cpu == -1 || asked->cpu == cpu) && !find_terms(b, cpu))
			err = nt_session_add_terms(s, asked->idx, cpu,
						   ntrace_info_hw_id(s->info, &asked->what, cpu));
	}
	return err;
}

static bool lacks_terms(const struct nt_session *s)
{
	unsigned int i;
	size_t k;

	for (i = 0; i < s->nr_buffers; i++) {
		for (k = 0; s->buffer[i] && k < s->buffer[i]->nr_windows; k++) {
			if (!s->buffer[i]->window[k].hw_id)
				return true;
		}
	}
	return false;
}

/*
 * The kernel reports the parameters of an event once. A file that was begun later has trace from
 * before the report, or no report at all. The event's attributes and the description of the machine
 * give the same parameters.
 */
static int complete_terms(struct nt_session *s)
{
	struct nt_session_window *w;
	unsigned int i;
	size_t k;
	int err = 0;

	if (!lacks_terms(s))
		return 0;
	for (k = 0; k < s->nr_asked && !err; k++)
		err = guess_terms(s, &s->asked[k]);
	for (i = 0; i < s->nr_buffers && !err; i++) {
		for (k = 0; s->buffer[i] && k < s->buffer[i]->nr_windows; k++) {
			w = &s->buffer[i]->window[k];
			if (!w->hw_id)
				w->hw_id = terms_of(s->buffer[i], w->cpu);
		}
	}
	return err;
}

/* --- records ---------------------------------------------------------------- */

int nt_session_add_piece(struct nt_session *s, unsigned int idx, int cpu, pid_t tid,
			 const struct nt_session_piece *piece, uint64_t reference)
{
	struct nt_session_buffer *b = nt_session_buffer(s, idx);

	if (!b)
		return -ENOMEM;
	b->cpu = cpu;
	b->tid = tid;
	return nt_session_buffer_add_piece(b, piece, reference);
}

int nt_session_add_window(struct nt_session *s, unsigned int idx,
			  const struct nt_session_window *window)
{
	struct nt_session_buffer *b = nt_session_buffer(s, idx);
	struct nt_session_window w = *window;

	if (!b)
		return -ENOMEM;
	w.idx = idx;
	w.hw_id = terms_of(b, w.cpu);
	/* A circular buffer is never used up: its record has the end offset. */
	if (w.ring)
		w.offset -= w.size;
	return nt_session_buffer_add_window(b, &w);
}

int nt_session_add_sample(struct nt_session *s, unsigned int idx, int cpu, pid_t tid,
			  const struct nt_session_window *window, unsigned int file,
			  uint64_t file_offset)
{
	struct nt_session_buffer *b = nt_session_buffer(s, idx);
	const struct nt_session_piece piece = {
		b ? b->sampled : 0, window->size, file_offset, file
	};
	struct nt_session_window w = *window;
	int err = b ? nt_session_add_piece(s, idx, cpu, tid, &piece, 0) : -ENOMEM;

	if (err)
		return err;
	w.offset = b->sampled;
	w.sampled = true;
	w.begin = NT_SESSION_BEGIN_ANYWHERE;
	b->sampled += w.size;
	return nt_session_add_window(s, idx, &w);
}

int nt_session_finish(struct nt_session *s)
{
	int err = complete_terms(s);
	unsigned int i;

	for (i = 0; i < s->nr_buffers && !err; i++) {
		struct nt_session_buffer *b = s->buffer[i];

		if (b)
			err = b->sampled ? nt_session_samples_clip(s, b) :
					   nt_session_buffer_finish(b);
	}
	/* again, for trace without a record */
	return err ? err : complete_terms(s);
}

/* --- bytes ------------------------------------------------------------------ */

/* The first piece that may contain the byte at an offset */
static size_t first_piece(const struct nt_session_buffer *b, uint64_t at)
{
	size_t low = 0, high = b->nr_pieces;

	if (b->unordered)
		return 0;
	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (b->piece[mid].offset + b->piece[mid].size <= at)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Find the piece with the byte at an offset, from number *i on; NULL: none */
static const struct nt_session_piece *piece_at(const struct nt_session_buffer *b, size_t *i,
					       uint64_t at, uint64_t *len)
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

size_t nt_session_there(const struct nt_session *s, const struct nt_session_window *w)
{
	const struct nt_session_buffer *b = s->buffer[w->idx];
	size_t i = first_piece(b, w->offset);
	uint64_t done = 0, len;

	while (done < w->size && piece_at(b, &i, w->offset + done, &len))
		done += len;
	return done < w->size ? done : w->size;
}

ssize_t nt_session_read(const struct nt_session *s, const struct nt_session_window *w,
			uint8_t *data, size_t size)
{
	const struct nt_session_buffer *b = s->buffer[w->idx];
	size_t i = first_piece(b, w->offset);
	const struct nt_session_piece *p;
	uint64_t done = 0, len;
	ssize_t n;

	while (done < size && (p = piece_at(b, &i, w->offset + done, &len))) {
		if (len > size - done)
			len = size - done;
		n = s->read(s->ctx, p->file, p->file_offset + (w->offset + done - p->offset),
			    data + done, len);
		if (n < 0)
			return n;
		done += n;
		if ((uint64_t)n < len)
			break;
	}
	if (w->orphan)
		nt_session_buffer_blank(data, done);
	return done;
}

bool nt_session_is_padding(const uint8_t *data, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++) {
		if (data[i] != 0xff)
			return false;
	}
	return true;
}
