/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SELFTESTS_FUZZ_H
#define SELFTESTS_FUZZ_H

#include <stdbool.h>
#include <string.h>

#include "ntrace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Take parameters off the front of the data. False when there is too little. */
static inline bool fuzz_params(struct nt_params *p, const uint8_t **data, size_t *size)
{
	const uint8_t *d = *data;

	if (*size < 4)
		return false;
	nt_params_init(p);
	p->xlen = d[0] & 1 ? 32 : 64;
	p->timestamps = d[0] & 2;
	p->extaddr = d[0] & 4;
	p->seqjump = d[0] & 8;
	p->alljumps = d[0] & 16;
	p->retstack = d[0] >> 5 & 3;
	p->srcbits = d[1] % 13;
	p->src = (int32_t)(d[1] >> 4) - 1;
	p->profile = (enum nt_profile)(d[2] % 3);
	p->isa = d[2] >> 3;
	*data += 4;
	*size -= 4;
	return true;
}

#endif /* SELFTESTS_FUZZ_H */
