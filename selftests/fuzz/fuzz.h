/* SPDX-License-Identifier: GPL-2.0-only */
/* What fuzz targets share: an input is read from the front, parameters first */
#ifndef SELFTESTS_FUZZ_H
#define SELFTESTS_FUZZ_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "ntrace.h"
#include "nt-tv.h"

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

/* In half of all programs custom-0 is a branch, as BEQ is one. */
static const struct nt_branch fuzz_told = {
	.mask = 0x7f, .match = 0x0b, .type = NT_TYPE_COND,
	.offset = { { 31, 1, 12 }, { 25, 6, 5 }, { 8, 4, 1 }, { 7, 1, 11 } },
};

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
	/* wide enough for fuzz_program_make()'s addresses, wherever the program is */
	p->addr_bits = p->xlen == 64 && d & 0x40 ? 32 + (d >> 4 & 3) * 8 : 0;
	d = take(in);
	p->src = d & 0x80 ? (int32_t)(d & ((1u << p->srcbits) - 1)) : -1;
	d = take(in);
	p->profile = (enum nt_profile)((d & 7) < 3 ? d & 7 : NT_PROFILE_1_0);
	if ((d & 7) == 5) {
		p->profile = NT_PROFILE_TT_DFD;
		p->srcbits = 4;
		p->src = p->src < 0 ? -1 : p->src & 15;
	}
	p->mode = (d & 7) == 6 ? NT_MODE_BTM : (d & 7) == 7 ? NT_MODE_HTM : NT_MODE_UNKNOWN;
	p->isa = d >> 3;
	/* NT_ISA_C means nothing to the library */
	if (p->isa & NT_ISA_C) {
		p->branches = &fuzz_told;
		p->nr_branches = 1;
	}
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
