// SPDX-License-Identifier: GPL-2.0-only
/*
 * Circular buffers: of the windows that AUX records report, only what a snapshot
 * or an AUX area sample took is in the file. Such a piece may begin anywhere in
 * the trace; decoding begins at its first full address.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/zalloc.h>

#include "event.h"
#include "ntrace-priv.h"

/* Fewer bytes that are alike may be alike by chance. */
#define MIN_OVERLAP	16

/* Room for one more in an array of @nr */
void *ntrace_grow(void *array, size_t nr, size_t size)
{
	/* At powers of two: the array is full, or is not there. */
	if (nr & (nr - 1))
		return array;
	return realloc(array, (nr ? nr * 2 : 1) * size);
}

/* --- snapshots -------------------------------------------------------------- */

/* What the piece has of the window. Its end is that of the window, always. */
static bool intersect(const struct ntrace_window *w, const struct ntrace_piece *p,
		      struct ntrace_window *part)
{
	u64 begin = max(w->offset, p->offset), end = min(w->offset + w->size, p->offset + p->size);

	if (begin >= end)
		return false;
	*part = *w;
	part->offset = begin;
	part->size = end - begin;
	if (begin > w->offset)
		part->begin = NTRACE_BEGIN_ANYWHERE;
	return true;
}

static int clip_window(struct ntrace_buffer *b, const struct ntrace_window *w,
		       struct ntrace_window **kept, size_t *nr)
{
	struct ntrace_window part, *bigger;
	size_t i;

	for (i = 0; i < b->nr_pieces; i++) {
		if (!intersect(w, &b->piece[i], &part))
			continue;
		bigger = ntrace_grow(*kept, *nr, sizeof(part));
		if (!bigger)
			return -ENOMEM;
		*kept = bigger;
		bigger[(*nr)++] = part;
	}
	return 0;
}

/*
 * Leave of each window what the snapshots have; the windows are in order. One
 * that does not begin where the one before ended made more than a lap.
 */
int ntrace_ring_clip(struct ntrace_buffer *b)
{
	struct ntrace_window *kept = NULL;
	size_t i, nr = 0;
	u64 end = 0;
	int err = 0;

	if (!b->nr_windows || !b->window[0].ring)
		return 0;

	for (i = 0; i < b->nr_windows && !err; i++) {
		struct ntrace_window *w = &b->window[i];

		if (w->offset != end)
			w->begin = NTRACE_BEGIN_ANYWHERE;
		end = w->offset + w->size;
		err = clip_window(b, w, &kept, &nr);
	}
	free(b->window);
	b->window = kept;
	b->nr_windows = nr;
	return err;
}

/* --- samples ---------------------------------------------------------------- */

/*
 * How many of the last bytes of @a are the first of @b? The longest prefix of b
 * that a ends with, by Knuth, Morris and Pratt.
 */
static ssize_t overlap(const u8 *a, size_t len_a, const u8 *b, size_t len_b)
{
	size_t *border = calloc(len_b + 1, sizeof(*border)), i, k;

	if (!border)
		return -ENOMEM;
	for (i = 1, k = 0; i < len_b; i++) {
		while (k && b[i] != b[k])
			k = border[k];
		k += b[i] == b[k];
		border[i + 1] = k;
	}
	for (i = 0, k = 0; i < len_a; i++) {
		while (k && (k == len_b || a[i] != b[k]))
			k = border[k];
		k += a[i] == b[k];
	}
	free(border);
	return k;
}

/* Samples that were taken in quick succession have bytes in common. */
static int clip_sample(struct ntrace *nt, struct ntrace_buffer *b, const struct ntrace_window *last,
		       struct ntrace_window *w)
{
	u8 *data = malloc(last->size + w->size);
	ssize_t len_a, len_b, n = -ENOMEM;

	if (!data)
		return n;
	len_a = ntrace_window_read(nt, b, last, data);
	len_b = ntrace_window_read(nt, b, w, data + last->size);
	if (len_a >= 0 && len_b >= 0)
		n = overlap(data, len_a, data + last->size, len_b);
	free(data);
	if (n < 0)
		return n;

	if (n >= MIN_OVERLAP) {
		w->offset += n;
		w->size -= n;
		w->begin = NTRACE_BEGIN_MESSAGE;
	}
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct ntrace_window *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Of a buffer with AUX area samples, leave these, and each byte once. */
int ntrace_samples_clip(struct ntrace *nt, struct ntrace_buffer *b)
{
	struct ntrace_window last = { 0 }, *w;
	size_t i, nr = 0;
	int err = 0;

	for (i = 0; i < b->nr_windows; i++) {
		if (b->window[i].sampled)
			b->window[nr++] = b->window[i];
	}
	b->nr_windows = nr;
	qsort(b->window, nr, sizeof(*b->window), by_time);

	for (i = 0; i < nr && !err; i++) {
		struct ntrace_window whole = b->window[i];

		w = &b->window[i];
		if (i && last.cpu == w->cpu)
			err = clip_sample(nt, b, &last, w);
		last = whole;
	}
	return err;
}

/* --- where to begin --------------------------------------------------------- */

/* The byte behind the first end of a message */
static size_t next_message(const u8 *data, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++) {
		if ((data[i] & 3) == 3)
			return i + 1;
	}
	return len;
}

static bool is_sync(const struct nt_msg *msg)
{
	return msg->tcode == NT_TCODE_PROG_TRACE_SYNC ||
	       msg->tcode == NT_TCODE_DIRECT_BRANCH_SYNC ||
	       msg->tcode == NT_TCODE_INDIRECT_BRANCH_SYNC ||
	       msg->tcode == NT_TCODE_INDIRECT_BRANCH_HIST_SYNC;
}

/* Bytes of a window to pass over: up to the first message with a full address */
size_t ntrace_window_skip(const struct ntrace_window *w, const struct nt_params *params,
			  const u8 *data, size_t len)
{
	struct nt_msg msg;
	size_t at = 0;
	int n;

	if (w->begin == NTRACE_BEGIN_SYNC)
		return 0;
	if (w->begin == NTRACE_BEGIN_ANYWHERE)
		at = next_message(data, len);
	while (at < len) {
		n = nt_msg_decode(params, data + at, len - at, &msg);
		if (!n)
			return len;
		if (n > 0 && is_sync(&msg))
			return at;
		at += n > 0 ? (size_t)n : msg.skip ?: 1;
	}
	return len;
}
