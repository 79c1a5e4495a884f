// SPDX-License-Identifier: GPL-2.0-only
/* The message layer: any bytes, any parameters. The first bytes choose these. */
#include <stdlib.h>

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nt_params p;
	size_t at = 0;

	if (!fuzz_params(&p, &data, &size))
		return 0;
	while (at < size) {
		char text[64];
		struct nt_msg m;
		int n = nt_msg_decode(&p, data + at, size - at, &m);

		if (!n)
			break;
		if (n > 0)
			nt_msg_format(&m, text, sizeof(text));
		else if (!m.skip || m.skip > size - at)
			abort();
		at += n > 0 ? (size_t)n : m.skip;
		if (at > size)
			abort();
	}
	if (nt_msg_find_sync(&p, data, size, 0) > size)
		abort();
	return 0;
}
