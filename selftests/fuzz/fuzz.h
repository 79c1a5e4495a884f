/* SPDX-License-Identifier: GPL-2.0-only */
/* What fuzz targets share: an input is read from the front, parameters first */
#ifndef SELFTESTS_FUZZ_H
#define SELFTESTS_FUZZ_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "ntrace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What must hold, whatever the input */
#define MUST(cond)	do { if (!(cond)) abort(); } while (0)

struct input {
	const uint8_t *p, *end;
};

/* The next byte; 0 behind the last, so that every input means something */
static inline unsigned int take(struct input *in)
{
	return in->p < in->end ? *in->p++ : 0;
}

static inline size_t left(const struct input *in)
{
	return in->end - in->p;
}

/* Parameters that nt_params_check() has nothing against, of four bytes */
static inline void take_params(struct input *in, struct nt_params *p)
{
	unsigned int d = take(in);

	nt_params_init(p);
	p->xlen = d & 1 ? 32 : 64;
	p->timestamps = d & 2;
	p->extaddr = d & 4;
	p->seqjump = d & 8;
	p->alljumps = d & 16;
	p->retstack = d >> 5 & 3;
	d = take(in);
	p->srcbits = d & 0x80 ? (d & 15) % 13 : 0;
	d = take(in);
	p->src = d & 0x80 ? (int32_t)(d & ((1u << p->srcbits) - 1)) : -1;
	d = take(in);
	p->profile = (enum nt_profile)((d & 7) < 3 ? d & 7 : NT_PROFILE_1_0);
	p->isa = d >> 3;
}

/* Likewise those of tandem verification, of a byte */
static inline void take_tv_params(struct input *in, struct nt_tv_params *p)
{
	static const uint8_t mlen[] = { 32, 34, 64, 64 };
	unsigned int d = take(in);

	*p = (struct nt_tv_params){
		.size = sizeof(*p),
		.xlen = d & 1 ? 32 : 64,
		.flen = d & 2 ? 32 : 64,
		.mlen = mlen[d >> 2 & 3],
		.flags = d >> 4,
	};
}

#endif /* SELFTESTS_FUZZ_H */
