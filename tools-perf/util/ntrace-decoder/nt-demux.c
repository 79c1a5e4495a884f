// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A stream of several sources, split into one stream for each.
 *
 * Decoding a stream once for each of N sources would read all messages N times. Here each message
 * is read once, and copied to its source's piece, together with its position. A damaged message may
 * belong to any source, so it is copied to all: once per source, before the source's next good
 * message, because a flow skips everything from the first damaged message to a sync message.
 */
#include <stdlib.h>
#include <string.h>

#include "nt-short.h"

/* This much of a damaged message, and its end, determine its effect on a flow. */
#define BAD_MAX		(NT_MSG_MAX + 64u)

/* Small messages are copied as one piece of this size. */
#define COPY		16u

/* The piece's bytes from `at` on are the stream's bytes from `from` on. */
struct run {
	size_t at;
	uint64_t from;
};

struct piece {
	uint8_t *bytes;
	size_t len, room;
	struct run *runs;
	size_t nr_runs, max_runs;
	uint64_t shift;		/* run.from - run.at of the last */
	size_t kept;		/* where bytes to keep begin; SIZE_MAX: none */
	size_t nr_bad;		/* damaged messages that it has, or needs not have */
};

struct bad {
	size_t at, len;		/* in the buffer */
};

/* The bytes to split: the stream from `offset` on */
struct buffer {
	const uint8_t *bytes;
	size_t len;
	uint64_t offset;
};

struct nt_demux {
	struct nt_params params;
	struct nt_short_kind kinds[64];	/* empty if addresses may be too large */
	uint64_t end;		/* end of the split bytes in the stream */
	struct bad *bad;	/* the first one after each good message */
	size_t nr_bad, max_bad;
	bool inside;		/* the next bytes are the rest of a damaged message */
	unsigned int nr;
	struct piece piece[];
};

struct nt_demux *nt_demux_new(const struct nt_params *params)
{
	struct nt_demux *d;
	unsigned int nr, i;

	if (nt_params_check(params) || !nt_srcbits(params))
		return NULL;
	nr = 1u << nt_srcbits(params);
	d = calloc(1, sizeof(*d) + nr * sizeof(*d->piece));
	if (!d)
		return NULL;
	nt_params_get(params, &d->params);
	d->params.srcbits = nt_srcbits(params);
	d->params.addr_bits = nt_addr_bits(&d->params);
	if (d->params.addr_bits >= NT_SHORT_ADDR_MAX)
		nt_short_kinds(d->params.srcbits, d->kinds);
	d->nr = nr;
	for (i = 0; i < nr; i++)
		d->piece[i].kept = SIZE_MAX;
	return d;
}

void nt_demux_free(struct nt_demux *d)
{
	unsigned int i;

	if (!d)
		return;
	for (i = 0; i < d->nr; i++) {
		free(d->piece[i].bytes);
		free(d->piece[i].runs);
	}
	free(d->bad);
	free(d);
}

static bool piece_grow(struct piece *p, size_t len)
{
	size_t room = 2 * p->room + 4096;
	uint8_t *bytes;

	while (room - p->len < len + COPY)
		room *= 2;
	bytes = realloc(p->bytes, room);
	if (!bytes)
		return false;
	p->bytes = bytes;
	p->room = room;
	return true;
}

/* Make room for another element.  NULL: no memory, and the array is unchanged */
static void *grow(void *array, size_t *max, size_t size)
{
	void *bigger = reallocarray(array, 2 * *max + 64, size);

	if (bigger)
		*max = 2 * *max + 64;
	return bigger;
}

/* Make room for `len` more bytes, and another run. */
static __attribute__((noinline)) bool piece_room(struct piece *p, size_t len)
{
	struct run *runs = p->runs;

	if (p->nr_runs == p->max_runs)
		runs = grow(runs, &p->max_runs, sizeof(*runs));
	if (!runs)
		return false;
	p->runs = runs;
	return p->room - p->len >= len + COPY || piece_grow(p, len);
}

/* Append bytes of the buffer, from `at` on. */
NT_INLINE bool piece_put(struct piece *p, const struct buffer *b, size_t at, size_t len)
{
	const uint64_t from = b->offset + at, shift = from - p->len;

	if ((p->room - p->len < len + COPY || p->nr_runs == p->max_runs) && !piece_room(p, len))
		return false;
	if (shift != p->shift || !p->nr_runs)
		p->runs[p->nr_runs++] = (struct run){ p->len, from };
	p->shift = shift;
	if (len <= COPY && b->len - at >= COPY)
		memcpy(p->bytes + p->len, b->bytes + at, COPY);
	else
		memcpy(p->bytes + p->len, b->bytes + at, len);
	p->len += len;
	return true;
}

static bool piece_add(struct piece *p, const struct buffer *b, size_t at, size_t len)
{
	return piece_put(p, b, at, len);
}

/* Append the first of the damaged messages that the piece lacks. */
static bool piece_add_bad(const struct nt_demux *d, struct piece *p, const struct buffer *b)
{
	const struct bad *bad = &d->bad[p->nr_bad];

	p->nr_bad = d->nr_bad;
	if (bad->len <= BAD_MAX)
		return piece_add(p, b, bad->at, bad->len);
	return piece_add(p, b, bad->at, BAD_MAX - 1) &&
	       piece_add(p, b, bad->at + bad->len - 1, 1);
}

/* Put the bytes that the caller wants again in front. */
static void piece_begin(struct piece *p)
{
	size_t kept = p->kept < p->len ? p->kept : p->len, i, n = 0;

	for (i = 0; i < p->nr_runs && p->len > kept; i++) {
		struct run r = p->runs[i];
		size_t end = i + 1 < p->nr_runs ? p->runs[i + 1].at : p->len;

		if (end <= kept)
			continue;
		if (r.at < kept)
			r = (struct run){ kept, r.from + (kept - r.at) };
		p->runs[n++] = (struct run){ r.at - kept, r.from };
	}
	p->nr_runs = n;
	p->shift += kept;
	p->len -= kept;
	if (p->len)
		memmove(p->bytes, p->bytes + kept, p->len);
	p->kept = SIZE_MAX;
	p->nr_bad = 0;
}

static bool note_bad(struct nt_demux *d, size_t at, size_t len)
{
	struct bad *bad = d->bad;

	if (d->nr_bad == d->max_bad)
		bad = grow(bad, &d->max_bad, sizeof(*bad));
	if (!bad)
		return false;
	d->bad = bad;
	bad[d->nr_bad++] = (struct bad){ at, len };
	return true;
}

static bool put_good(struct nt_demux *d, unsigned int src, const struct buffer *b, size_t at,
		     size_t len)
{
	struct piece *p = &d->piece[src];

	if (p->nr_bad < d->nr_bad && !piece_add_bad(d, p, b))
		return false;
	return piece_put(p, b, at, len);
}

/* Put good messages of up to COPY bytes, and move *pos behind them.  False: no memory */
NT_INLINE bool put_short(struct nt_demux *d, const struct buffer *b, size_t *pos, bool stamps)
{
	const unsigned int srcbits = d->params.srcbits;
	const size_t nr_bad = d->nr_bad;

	while (b->len - *pos >= NT_SHORT_ROOM) {
		const uint8_t *at = b->bytes + *pos;
		const unsigned int len = nt_short_length(at, d->kinds, stamps);
		struct piece *p = &d->piece[nt_short_source(nt_short_load(at), srcbits)];

		if (!len || p->nr_bad < nr_bad)
			break;
		if (!piece_put(p, b, *pos, len))
			return false;
		*pos += len;
	}
	return true;
}

/*
 * Skip the rest of a damaged message. All pieces got its beginning, so all get its end: a flow
 * skips what is between.  Returns the number of bytes, or a negative error
 */
static int64_t skip_inside(struct nt_demux *d, const uint8_t *buf, size_t len)
{
	size_t n = 0;

	while (d->inside && n < len)
		d->inside = (buf[n++] & 3) != 3;
	if (n && !d->inside && !note_bad(d, n - 1, 1))
		return -NT_ENOMEM;
	return (int64_t)n;
}

int nt_demux_split(struct nt_demux *d, const uint8_t *buf, size_t len, uint64_t offset,
		   bool open, size_t *consumed)
{
	const struct buffer b = { buf, len, offset };
	bool bad;		/* the previous message was damaged */
	struct nt_msg msg;
	size_t pos, at;
	unsigned int i;
	int64_t rest;
	int ret;

	d->nr_bad = 0;
	for (i = 0; i < d->nr; i++)
		piece_begin(&d->piece[i]);
	rest = skip_inside(d, buf, len);
	if (rest < 0)
		return (int)rest;
	pos = (size_t)rest;
	bad = pos > 0;
	while (pos < len) {
		at = pos;
		if (!(d->params.timestamps ? put_short(d, &b, &pos, true) :
					     put_short(d, &b, &pos, false)))
			return -NT_ENOMEM;
		bad &= pos == at;
		if (pos == len)
			break;
		ret = nt_msg_get(&d->params, buf + pos, len - pos, &msg);
		at = pos + msg.idle;
		if (ret > 0) {
			pos += ret;
			bad = false;
			if (!put_good(d, msg.src, &b, at, pos - at))
				return -NT_ENOMEM;
			continue;
		}
		if (!ret && (at == len || msg.idle == INT32_MAX)) {
			pos = at;
			continue;
		}
		if (!ret && open)
			break;
		pos = ret ? pos + msg.skip : len;
		if (!bad && !note_bad(d, at, pos - at))
			return -NT_ENOMEM;
		bad = true;
		d->inside = ret && pos == len && (buf[len - 1] & 3) != 3;
	}
	d->inside = d->inside && open;
	for (i = 0; i < d->nr; i++) {
		if (d->piece[i].nr_bad < d->nr_bad && !piece_add_bad(d, &d->piece[i], &b))
			return -NT_ENOMEM;
	}
	*consumed = pos;
	d->end = offset + pos;
	return 0;
}

const uint8_t *nt_demux_piece(const struct nt_demux *d, unsigned int src, size_t *len)
{
	const struct piece *p = src < d->nr ? &d->piece[src] : NULL;

	*len = p ? p->len : 0;
	return *len ? p->bytes : NULL;
}

uint64_t nt_demux_offset(const struct nt_demux *d, unsigned int src, size_t at)
{
	const struct piece *p = src < d->nr ? &d->piece[src] : NULL;
	size_t first = 0, n = p ? p->nr_runs : 0;

	if (!p || at >= p->len)
		return d->end;
	while (n > 1) {
		size_t half = n / 2;

		if (p->runs[first + half].at <= at) {
			first += half;
			n -= half;
		} else {
			n = half;
		}
	}
	return p->runs[first].from + (at - p->runs[first].at);
}

void nt_demux_keep(struct nt_demux *d, unsigned int src, size_t from)
{
	if (src < d->nr)
		d->piece[src].kept = from;
}
