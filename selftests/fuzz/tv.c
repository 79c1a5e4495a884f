// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tandem-verification codec: any bytes are items, or refused, and never read beyond; what was
 * read and is written again gives the same bytes.
 */
#include "fuzz.h"
#include "../host/tv-write.h"

static void check(const struct nt_tv_params *p, const struct nt_tv_item *it, const uint8_t *bytes,
		  int n)
{
	uint8_t buf[NT_TV_ITEM_MAX];
	struct nt_tv_writer w;

	MUST(!nt_tv_writer_init(&w, p, buf, sizeof(buf), NULL, NULL));
	write_item(&w, it);
	MUST(!w.error && nt_tv_written(&w) == (uint64_t)n);
	MUST(!memcmp(buf, bytes, n));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nt_tv_params p;
	struct input in = { data, data + size };
	struct nt_tv_reader reader;
	struct nt_tv_item item;
	int n;

	take_tv_params(&in, &p);
	MUST(!nt_tv_reader_init(&reader, &p));
	while ((n = nt_tv_next(&reader, in.p, left(&in), &item)) > 0) {
		MUST((size_t)n <= left(&in));
		check(&p, &item, in.p, n);
		in.p += n;
	}
	MUST(*nt_tv_strerror(n));
	return 0;
}
