// SPDX-License-Identifier: GPL-2.0-only
/* The tandem-verification codec: any bytes are items, or refused, and never read beyond */
#include <stdlib.h>

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t mlen[] = { 32, 34, 64, 64 };
	struct nt_tv_params p = { .size = sizeof(p) };
	struct nt_tv_reader reader;
	struct nt_tv_item item;
	size_t at = 1;

	if (!size)
		return 0;
	p.xlen = data[0] & 1 ? 32 : 64;
	p.flen = data[0] & 2 ? 32 : 64;
	p.mlen = mlen[data[0] >> 2 & 3];
	p.flags = data[0] >> 4;
	if (nt_tv_reader_init(&reader, &p))
		return 0;
	while (at < size) {
		int n = nt_tv_next(&reader, data + at, size - at, &item);

		if (n <= 0)
			break;
		if ((size_t)n > size - at)
			abort();
		at += n;
	}
	return 0;
}
