// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * AUX area samples, which may overlap. Like a snapshot, a sample may begin anywhere in the trace.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "nt-session.h"

/* A shorter overlap may be chance. */
#define MIN_OVERLAP	16

/*
 * How many of the last bytes of @a are the first bytes of @b? Finds the longest prefix of b that a
 * ends with (Knuth, Morris, Pratt).
 */
static ssize_t overlap(const uint8_t *a, size_t len_a, const uint8_t *b, size_t len_b)
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

/* Samples that were taken in quick succession overlap. */
static int clip_sample(const struct nt_session *s, const struct nt_session_window *last,
		       struct nt_session_window *w)
{
	uint8_t *data = malloc(last->size + w->size);
	ssize_t len_a, len_b, n = -ENOMEM;

	if (!data)
		return n;
	len_a = nt_session_read(s, last, data, last->size);
	len_b = nt_session_read(s, w, data + last->size, w->size);
	if (len_a >= 0 && len_b >= 0)
		n = overlap(data, len_a, data + last->size, len_b);
	free(data);
	if (n < 0)
		return n;

	if (n >= MIN_OVERLAP) {
		w->offset += n;
		w->size -= n;
		w->begin = NT_SESSION_BEGIN_MESSAGE;
	}
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct nt_session_window *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Keep only the AUX area samples of a buffer, and each byte only once. */
int nt_session_samples_clip(const struct nt_session *s, struct nt_session_buffer *b)
{
	struct nt_session_window last = { 0 }, *w;
	size_t i, nr = 0;
	int err = 0;

	for (i = 0; i < b->nr_windows; i++) {
		if (b->window[i].sampled)
			b->window[nr++] = b->window[i];
	}
	b->nr_windows = nr;
	qsort(b->window, nr, sizeof(*b->window), by_time);

	for (i = 0; i < nr && !err; i++) {
		struct nt_session_window whole = b->window[i];

		w = &b->window[i];
		if (i && last.cpu == w->cpu)
			err = clip_sample(s, &last, w);
		last = whole;
	}
	return err;
}
