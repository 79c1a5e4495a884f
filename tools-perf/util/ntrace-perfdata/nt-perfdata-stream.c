// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Records that perf record -z compressed. The COMPRESSED records of a file contain one zstd stream,
 * cut anywhere. Decompressed records may begin in one of them and end in the next.
 */
#include <stdlib.h>

#include "nt-perfdata-int.h"

#ifdef HAVE_ZSTD
#include <zstd.h>

/* Room for a partial record and a decompressed block */
#define STREAM_ROOM	((size_t)2 * RECORD_MAX + 2)

/* COMPRESSED: everything after the header. COMPRESSED2: a size, and that many bytes */
static int find_payload(struct nt_perfdata *pd, const uint8_t *record, uint32_t len,
			uint64_t offset, struct nt_perfdata_cursor *c)
{
	uint32_t type;
	uint64_t size;

	memcpy(&type, record, sizeof(type));
	*c = (struct nt_perfdata_cursor){ record + RECORD_HEADER, record + len, false };
	if (type == NT_PERFDATA_COMPRESSED)
		return 0;
	size = nt_perfdata_u64(c);
	if (c->bad || size > (uint64_t)(c->end - c->p))
		return nt_perfdata_damaged(pd, pd->current, offset,
					   "a compressed record of %u bytes tells of more", len);
	c->end = c->p + size;
	return 0;
}

static int begin(struct nt_perfdata *pd)
{
	struct nt_perfdata_stream *s = &pd->stream;

	if (!s->in)
		s->in = malloc(RECORD_MAX);
	if (!s->out)
		s->out = malloc(STREAM_ROOM);
	if (!s->zstd)
		s->zstd = ZSTD_createDStream();
	if (!s->in || !s->out || !s->zstd)
		return nt_perfdata_fail(pd, NT_PERFDATA_ENOMEM, "out of memory");
	return 0;
}

int nt_perfdata_stream_add(struct nt_perfdata *pd, const uint8_t *record, uint32_t len,
			   uint64_t offset)
{
	struct nt_perfdata_stream *s = &pd->stream;
	struct nt_perfdata_cursor c;
	int err;

	err = find_payload(pd, record, len, offset, &c);
	err = err ? err : begin(pd);
	if (err)
		return err;
	s->in_len = c.end - c.p;
	s->in_at = 0;
	s->offset = offset;
	memcpy(s->in, c.p, s->in_len);
	return 0;
}

/* Decompress more records.  Returns 1; 0: the compressed record is used up; or negative */
static int decompress(struct nt_perfdata *pd)
{
	struct nt_perfdata_stream *s = &pd->stream;
	ZSTD_outBuffer out;
	ZSTD_inBuffer in;
	size_t ret;

	memmove(s->out, s->out + s->out_at, s->out_len - s->out_at);
	s->out_len -= s->out_at;
	s->out_at = 0;
	out = (ZSTD_outBuffer){ s->out, STREAM_ROOM, s->out_len };
	in = (ZSTD_inBuffer){ s->in, s->in_len, s->in_at };
	ret = ZSTD_decompressStream(s->zstd, &out, &in);
	if (ZSTD_isError(ret)) {
		s->in_at = s->in_len;
		return nt_perfdata_damaged(pd, pd->current, s->offset,
					   "a compressed record cannot be decompressed: %s",
					   ZSTD_getErrorName(ret));
	}
	s->in_at = in.pos;
	/* if the buffer is full, the stream may have more */
	ret = out.pos - s->out_len;
	s->out_len = out.pos;
	return ret != 0;
}

/* Is the first record complete?  Returns 1 or 0, or negative */
static int front(struct nt_perfdata *pd, uint32_t *len)
{
	struct nt_perfdata_stream *s = &pd->stream;
	size_t there = s->out_len - s->out_at;
	uint16_t size;

	if (there < RECORD_HEADER)
		return 0;
	memcpy(&size, s->out + s->out_at + 6, sizeof(size));
	if (size < RECORD_HEADER)
		return nt_perfdata_damaged(pd, pd->current, s->offset,
					   "a compressed record has one of %u bytes in it; the least is %d",
					   size, RECORD_HEADER);
	*len = size;
	return there >= size;
}

int nt_perfdata_stream_next(struct nt_perfdata *pd, const uint8_t **p, uint32_t *len)
{
	struct nt_perfdata_stream *s = &pd->stream;
	int ret;

	if (!s->out)
		return 0;
	while (!(ret = front(pd, len))) {
		ret = decompress(pd);
		if (ret <= 0)
			return ret;
	}
	if (ret < 0)
		return ret;
	*p = s->out + s->out_at;
	s->out_at += *len;
	return 1;
}

size_t nt_perfdata_stream_rest(const struct nt_perfdata *pd)
{
	return pd->stream.out_len - pd->stream.out_at;
}

void nt_perfdata_stream_reset(struct nt_perfdata *pd)
{
	struct nt_perfdata_stream *s = &pd->stream;

	s->in_at = s->in_len = s->out_at = s->out_len = 0;
	if (s->zstd)
		ZSTD_initDStream(s->zstd);
}

void nt_perfdata_stream_free(struct nt_perfdata *pd)
{
	ZSTD_freeDStream(pd->stream.zstd);
	free(pd->stream.in);
	free(pd->stream.out);
}

#else

int nt_perfdata_stream_add(struct nt_perfdata *pd, const uint8_t *record, uint32_t len,
			   uint64_t offset)
{
	(void)record;
	(void)len;
	return nt_perfdata_fail(pd, NT_PERFDATA_ENOTSUP,
				"%s: at %#llx: is compressed, and this was built without zstd: build it with libzstd-dev",
				pd->source[pd->current].name, (unsigned long long)offset);
}

int nt_perfdata_stream_next(struct nt_perfdata *pd, const uint8_t **p, uint32_t *len)
{
	(void)pd;
	(void)p;
	(void)len;
	return 0;
}

size_t nt_perfdata_stream_rest(const struct nt_perfdata *pd)
{
	(void)pd;
	return 0;
}

void nt_perfdata_stream_reset(struct nt_perfdata *pd)
{
	(void)pd;
}

void nt_perfdata_stream_free(struct nt_perfdata *pd)
{
	(void)pd;
}

#endif
