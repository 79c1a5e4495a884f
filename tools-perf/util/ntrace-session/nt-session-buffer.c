// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Finds the windows of an AUX buffer. AUX records tell where windows are, AUXTRACE records contain
 * the bytes. This file handles bytes that only one of the two mentions. Of a circular buffer, the
 * file has only what a snapshot took, which may begin anywhere in the trace.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <linux/ntrace.h>

#include "nt-session.h"

/* perf pads AUXTRACE records to a multiple of this. */
#define RECORD_ALIGNMENT	8

#define MIN(a, b)	((a) < (b) ? (a) : (b))
#define MAX(a, b)	((a) > (b) ? (a) : (b))

/* Make room for one more element in an array of @nr */
void *nt_session_grow(void *array, size_t nr, size_t size)
{
	/* The capacity is the next power of two. */
	if (nr & (nr - 1))
		return array;
	return realloc(array, (nr ? nr * 2 : 1) * size);
}

/* --- records ---------------------------------------------------------------- */

/* A mark of a beginning precedes all AUX records of the buffer, a mark of an end follows them. */
static void add_mark(struct nt_session_buffer *b, uint64_t offset, uint64_t time)
{
	struct nt_session_mark *mark = b->nr_windows ? &b->end : &b->begin;

	mark->there = true;
	mark->time = time;
	mark->offset = offset;
}

/* An AUXTRACE record. An empty one is a mark, and @reference is its time. */
int nt_session_buffer_add_piece(struct nt_session_buffer *b, const struct nt_session_piece *piece,
				uint64_t reference)
{
	struct nt_session_piece *more;

	if (!piece->size) {
		add_mark(b, piece->offset, reference);
		return 0;
	}
	more = nt_session_grow(b->piece, b->nr_pieces, sizeof(*more));
	if (!more)
		return -ENOMEM;
	b->piece = more;
	b->unordered |= b->nr_pieces && (piece->offset < more[b->nr_pieces - 1].offset ||
					 piece->offset + piece->size <
						 more[b->nr_pieces - 1].offset +
						 more[b->nr_pieces - 1].size);
	more[b->nr_pieces++] = *piece;
	return 0;
}

int nt_session_buffer_add_window(struct nt_session_buffer *b,
				 const struct nt_session_window *window)
{
	struct nt_session_window *more = nt_session_grow(b->window, b->nr_windows, sizeof(*more));

	if (!more)
		return -ENOMEM;
	b->window = more;
	more[b->nr_windows++] = *window;
	return 0;
}

/* --- order of windows ------------------------------------------------------- */

static int by_offset(const void *a, const void *b)
{
	const struct nt_session_window *x = a, *y = b;

	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	/* An empty window goes first: it refers to what was before. */
	if (x->size != y->size)
		return x->size < y->size ? -1 : 1;
	return x->time < y->time ? -1 : x->time > y->time;
}

/*
 * perf record reads the head of its ring buffer twice. Records that arrive between the two reads
 * are written now, and again the next time. So records that are equal in everything, including the
 * time, are one record.
 */
static bool is_repeated(const struct nt_session_window *a, const struct nt_session_window *b)
{
	return a->time && a->offset == b->offset && a->size == b->size && a->flags == b->flags &&
	       a->time == b->time && a->cpu == b->cpu && a->tid == b->tid;
}

static void drop_repeated(struct nt_session_buffer *b)
{
	size_t i, nr = 0;

	for (i = 0; i < b->nr_windows; i++) {
		if (!nr || !is_repeated(&b->window[nr - 1], &b->window[i]))
			b->window[nr++] = b->window[i];
	}
	b->nr_windows = nr;
}

/* An AUX record is in the file that has its bytes. Is this record's trace in another file? */
static bool is_elsewhere(const struct nt_session_buffer *b, const struct nt_session_window *w)
{
	uint64_t end = w->offset + w->size;

	return (b->begin.there && w->time <= b->begin.time && end <= b->begin.offset) ||
	       (b->end.there && w->time > b->end.time && end > b->end.offset);
}

static void drop_elsewhere(struct nt_session_buffer *b)
{
	size_t i, nr = 0;

	for (i = 0; i < b->nr_windows; i++) {
		if (!is_elsewhere(b, &b->window[i]))
			b->window[nr++] = b->window[i];
	}
	b->nr_windows = nr;
}

static int add_orphan(struct nt_session_buffer *b, uint64_t offset, uint64_t size, size_t like)
{
	struct nt_session_window orphan = { 0 };

	if (b->nr_windows)
		orphan = b->window[MIN(like, b->nr_windows - 1)];
	orphan.offset = offset;
	orphan.size   = size;
	orphan.flags  = 0;
	orphan.orphan = true;
	if (orphan.ring)
		orphan.begin = NT_SESSION_BEGIN_ANYWHERE;
	orphan.idx    = b->idx;
	if (b->cpu >= 0)
		orphan.cpu = b->cpu;
	return nt_session_buffer_add_window(b, &orphan);
}

static uint64_t window_end(const struct nt_session_window *w)
{
	return w->offset + w->size;
}

/*
 * perf pads every AUXTRACE record to a multiple of 8 bytes. The padding is not part of the AUX
 * buffer, and the next record begins before it. After a snapshot, there may be no next record
 * although trace continues, or the next record begins further on. But a snapshot ends where a
 * window ends, and no window is as short as the padding.
 */
static void trim_pieces(struct nt_session_buffer *b)
{
	bool ring = b->nr_windows && b->window[0].ring;
	uint64_t covered = 0;
	size_t i, w = 0;

	for (i = 0; i < b->nr_windows; i++)
		covered = MAX(covered, window_end(&b->window[i]));

	for (i = 0; i < b->nr_pieces; i++) {
		struct nt_session_piece *p = &b->piece[i];
		uint64_t filled = p->offset + p->size;
		uint64_t end = i + 1 < b->nr_pieces ? p[1].offset : covered;

		while (ring && w < b->nr_windows &&
		       window_end(&b->window[w]) + RECORD_ALIGNMENT <= filled)
			w++;
		if (ring && w < b->nr_windows && window_end(&b->window[w]) < filled)
			end = MIN(end, window_end(&b->window[w]));
		if (filled > end && filled - end < RECORD_ALIGNMENT)
			p->size = end - p->offset;
	}
}

/*
 * Trace without an AUX record: the record itself was lost, or the recording ended before perf could
 * read it. It can be decoded as if it were one window.
 */
static int find_orphans(struct nt_session_buffer *b)
{
	size_t i, w, nr = b->nr_windows;
	bool ring = nr && b->window[0].ring;
	uint64_t at, end, stop;
	int err = 0;

	for (i = 0, w = 0; i < b->nr_pieces && !err; i++) {
		at = b->piece[i].offset;
		end = at + b->piece[i].size;
		while (at < end && !err) {
			while (w < nr && b->window[w].offset + b->window[w].size <= at)
				w++;
			stop = w < nr ? MIN(MAX(b->window[w].offset, at), end) : end;
			/* In a snapshot, the record's padding is still there. */
			if (stop - at >= (ring ? RECORD_ALIGNMENT : 1))
				err = add_orphan(b, at, stop - at, w);
			at = end;
			if (w < nr)
				at = MAX(stop, MIN(b->window[w].offset + b->window[w].size, end));
		}
	}
	if (b->nr_windows)
		qsort(b->window, b->nr_windows, sizeof(*b->window), by_offset);
	return err;
}

/* --- snapshots -------------------------------------------------------------- */

/* The part of the window that the piece contains. It always ends where the window ends. */
static bool intersect(const struct nt_session_window *w, const struct nt_session_piece *p,
		      struct nt_session_window *part)
{
	uint64_t begin = MAX(w->offset, p->offset);
	uint64_t end = MIN(w->offset + w->size, p->offset + p->size);

	if (begin >= end)
		return false;
	*part = *w;
	part->offset = begin;
	part->size = end - begin;
	if (begin > w->offset)
		part->begin = NT_SESSION_BEGIN_ANYWHERE;
	return true;
}

static int clip_window(struct nt_session_buffer *b, const struct nt_session_window *w,
		       struct nt_session_window **kept, size_t *nr)
{
	struct nt_session_window part, *bigger;
	size_t i;

	for (i = 0; i < b->nr_pieces; i++) {
		if (!intersect(w, &b->piece[i], &part))
			continue;
		bigger = nt_session_grow(*kept, *nr, sizeof(part));
		if (!bigger)
			return -ENOMEM;
		*kept = bigger;
		bigger[(*nr)++] = part;
	}
	return 0;
}

/*
 * Reduce each window to what the snapshots contain; the windows are in order. If a window does not
 * begin where the previous one ended, the writer made more than one lap.
 */
static int clip_ring(struct nt_session_buffer *b)
{
	struct nt_session_window *kept = NULL;
	size_t i, nr = 0;
	uint64_t end = 0;
	int err = 0;

	if (!b->nr_windows || !b->window[0].ring)
		return 0;

	for (i = 0; i < b->nr_windows && !err; i++) {
		struct nt_session_window *w = &b->window[i];

		if (w->offset != end)
			w->begin = NT_SESSION_BEGIN_ANYWHERE;
		end = w->offset + w->size;
		err = clip_window(b, w, &kept, &nr);
	}
	free(b->window);
	b->window = kept;
	b->nr_windows = nr;
	return err;
}

/* Sort a buffer's windows, and find out which of their bytes are present. */
int nt_session_buffer_finish(struct nt_session_buffer *b)
{
	int err;

	if (b->nr_windows)
		qsort(b->window, b->nr_windows, sizeof(*b->window), by_offset);
	drop_repeated(b);
	drop_elsewhere(b);
	trim_pieces(b);
	err = clip_ring(b);
	return err ? err : find_orphans(b);
}

void nt_session_buffer_free(struct nt_session_buffer *b)
{
	free(b->piece);
	free(b->window);
	b->piece = NULL;
	b->window = NULL;
	b->nr_pieces = b->nr_windows = 0;
}

/* --- skipped areas ---------------------------------------------------------- */

/* The length of the skipped area, if it begins with a mark of the driver; 0: no mark */
static uint64_t skipped_at(const uint8_t *data, uint64_t len)
{
	uint64_t skipped = 0;
	size_t i;

	if (len < NTRACE_AUX_SKIP_MARK)
		return 0;
	for (i = 0; i < NTRACE_AUX_SKIP_IDLE; i++) {
		if (data[i] != 0xff)
			return 0;
	}
	for (i = 0; i < 8; i++)
		skipped |= (uint64_t)data[NTRACE_AUX_SKIP_IDLE + i] << (8 * i);
	return skipped >= NTRACE_AUX_SKIP_MARK && skipped <= len ? skipped : 0;
}

/* Is the rest padding of the last AUXTRACE record? See trim_pieces(). */
static bool is_fill(const uint8_t *data, uint64_t len)
{
	uint64_t i;

	for (i = 0; i < len; i++) {
		if (data[i])
			return false;
	}
	return len < RECORD_ALIGNMENT;
}

/* The number of bytes from here on that the driver skipped, marked or not, or of padding */
static uint64_t passed_at(const uint8_t *data, uint64_t len)
{
	uint64_t skipped = skipped_at(data, len), idle = 0;

	while (idle < len && data[idle] == 0xff)
		idle++;
	if (!skipped && idle < NTRACE_AUX_SKIP_MARK)
		return idle && is_fill(data + idle, len - idle) ? len : 0;
	return is_fill(data + skipped, len - skipped) ? len : skipped;
}

/*
 * Replace old data in skipped areas with idle bytes. Trace whose AUX record was lost may follow a
 * skipped area, or precede it: then the area extends to the end.
 */
void nt_session_buffer_blank(uint8_t *data, uint64_t len)
{
	uint64_t at, skipped = passed_at(data, len);

	memset(data, 0xff, skipped);
	for (at = skipped; at < len; at++) {
		if (data[at] == 0xff && passed_at(data + at, len - at) == len - at) {
			memset(data + at, 0xff, len - at);
			return;
		}
	}
}

/* --- where decoding begins -------------------------------------------------- */

/* The byte after the first end of a message */
static size_t next_message(const uint8_t *data, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++) {
		if ((data[i] & 3) == 3)
			return i + 1;
	}
	return len;
}

/*
 * Decode the next intact message from *@at on and move *@at past it. Returns its length; 0: there
 * is none, or it is cut off.
 */
int nt_session_message(const struct nt_params *params, const uint8_t *data, size_t len, size_t *at,
		       struct nt_msg *msg)
{
	int n;

	while (*at < len) {
		n = nt_msg_decode(params, data + *at, len - *at, msg);
		if (!n)
			break;
		*at += n > 0 ? (size_t)n : msg->skip;
		if (n > 0)
			return n;
	}
	return 0;
}

/* The same, without the messages of other sources */
int nt_session_own_message(const struct nt_params *params, const uint8_t *data, size_t len,
			   size_t *at, struct nt_msg *msg)
{
	int n;

	do {
		n = nt_session_message(params, data, len, at, msg);
	} while (n && !nt_session_is_own(params, msg));
	return n;
}

const char *nt_session_window_passed_text(const struct nt_session_window *w)
{
	if (w->begin == NT_SESSION_BEGIN_REST)
		return "rest of a message";
	if (w->begin == NT_SESSION_BEGIN_LOSS)
		return "behind a loss, may be inside a message";
	return NULL;
}

/*
 * The number of bytes before the first message with a full address, or before the first message if
 * nt_session_streams_mark() marked the window. @open: the next window continues the stream, so keep
 * a message that is cut off at the end.
 */
size_t nt_session_window_skip(const struct nt_session_window *w, const struct nt_params *params,
			      const uint8_t *data, size_t len, bool open)
{
	struct nt_msg msg;
	size_t at = 0;
	int n;

	if (w->begin == NT_SESSION_BEGIN_SYNC)
		return 0;
	if (nt_session_window_passed_text(w))
		return next_message(data, len);
	if (w->begin == NT_SESSION_BEGIN_ANYWHERE)
		at = next_message(data, len);
	while ((n = nt_session_message(params, data, len, &at, &msg)))
		if (nt_tcode_is_sync(msg.tcode))
			return at - n;
	return open ? at : len;
}

/* Does the window end inside a message whose beginning is unknown? @skip: bytes to skip */
bool nt_session_window_is_middle(const uint8_t *data, size_t len, size_t skip)
{
	return len && skip == len && (data[len - 1] & 3) != 3;
}

/*
 * Do skipped bytes contain messages of the encoder? A message that is cut off may be from any
 * encoder.
 */
bool nt_session_window_passed(const struct nt_params *params, const uint8_t *data, size_t len)
{
	struct nt_msg msg;
	size_t at = 0;

	if (nt_session_own_message(params, data, len, &at, &msg))
		return true;
	return at < len && msg.idle < len - at;
}
