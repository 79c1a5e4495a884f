// SPDX-License-Identifier: GPL-2.0-only
/*
 * Traces in the tandem-verification format, from files and pipes
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tv.h"

void tv_open(struct tv_input *in)
{
	if (nt_tv_reader_init(&in->reader, &in->params))
		die("--xlen and --flen are 32 or 64, not %u and %u; --mlen is 32, 34 or 64, not %u: "
		    "one of them", in->params.xlen, in->params.flen, in->params.mlen);
	in->file = strcmp(in->path, "-") ? fopen(in->path, "rb") : stdin;
	if (!in->file)
		die("%s: %s", in->path, strerror(errno));
}

static void refill(struct tv_input *in)
{
	size_t n;

	in->len -= in->at;
	memmove(in->buf, in->buf + in->at, in->len);
	in->at = 0;
	n = fread(in->buf + in->len, 1, sizeof(in->buf) - in->len, in->file);
	if (ferror(in->file))
		die("%s: cannot read: %s", in->path, strerror(errno));
	in->len += n;
	in->eof = !n;
}

int tv_next_item(struct tv_input *in, struct nt_tv_item *item)
{
	for (;;) {
		int n = nt_tv_next(&in->reader, in->buf + in->at, in->len - in->at, item);

		if (n > 0)
			in->at += (size_t)n;
		if (n)
			return n < 0 ? n : 1;
		if (in->eof)
			return in->at == in->len ? 0 : -NT_TV_ETRUNC;
		refill(in);
	}
}

const uint8_t *tv_peek(struct tv_input *in, size_t len)
{
	while (in->len - in->at < len && !in->eof)
		refill(in);
	return in->len - in->at < len ? NULL : in->buf + in->at;
}

void tv_pass(struct tv_input *in, size_t len)
{
	in->at += len;
	in->reader.offset += len;
	in->reader.request = -1;
}

static void __attribute__((noreturn)) refuse(const struct tv_input *in, uint64_t at, int err)
{
	die("%s: offset 0x%" PRIx64 ": %s", in->path, at, nt_tv_strerror(err));
}

int tv_next_group(struct tv_input *in, struct nt_tv_shadow *sh, uint64_t *end)
{
	struct nt_tv_item item;
	int ret;

	do {
		ret = tv_next_item(in, &item);
		if (ret < 0)
			refuse(in, in->reader.offset + (ret == -NT_TV_ETRUNC ? 0 : in->reader.bad),
			       ret);
		*end = ret && item.opcode == NT_TV_BEGIN ? item.offset : in->reader.offset;
		ret = ret ? nt_tv_shadow_item(sh, &item) : nt_tv_shadow_end(sh);
		if (ret < 0)
			refuse(in, nt_tv_shadow_bad(sh), ret);
	} while (!ret && !(in->eof && in->at == in->len));
	return ret ? ret : nt_tv_shadow_end(sh);
}
