/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Messages for tests, put together field by field. Not the library's encoder:
 * it must not be wrong in the same way.
 */
#ifndef SELFTESTS_PACK_H
#define SELFTESTS_PACK_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "ntrace.h"

struct pack {
	uint8_t buf[65536];
	size_t len;
	unsigned int bit;	/* of the byte being filled, 0: none begun */
	unsigned int srcbits, src;
	int timestamp;		/* -1: messages end without TSTAMP */
};

static inline void pack_init(struct pack *p)
{
	memset(p, 0, sizeof(*p));
	p->timestamp = -1;
}

static inline void pack_bits(struct pack *p, uint64_t value, unsigned int width)
{
	while (width--) {
		if (!p->bit)
			p->buf[p->len++] = 0;
		p->buf[p->len - 1] |= (value & 1) << (2 + p->bit);
		value >>= 1;
		p->bit = (p->bit + 1) % 6;
	}
}

static inline void pack_head(struct pack *p, unsigned int tcode)
{
	p->bit = 0;
	pack_bits(p, tcode, 6);
	pack_bits(p, p->src, p->srcbits);
}

/* A variable field: all of value that is needed, at least one bit */
static inline void pack_var(struct pack *p, uint64_t value)
{
	do {
		unsigned int n = 6 - p->bit;

		pack_bits(p, value & ((1u << n) - 1), n);
		value >>= n;
	} while (value);
	p->buf[p->len - 1] |= 1;	/* MSEO 01; pack_end() makes 11 of the last */
}

static inline void pack_end(struct pack *p)
{
	if (p->timestamp >= 0)
		pack_var(p, p->timestamp);
	p->buf[p->len - 1] |= 3;
}

static inline void pack_ptsync(struct pack *p, unsigned int sync, uint64_t icnt, uint64_t addr)
{
	pack_head(p, NT_TCODE_PROG_TRACE_SYNC);
	pack_bits(p, sync, 4);
	pack_var(p, icnt);
	pack_var(p, addr >> 1);
	pack_end(p);
}

static inline void pack_dbsync(struct pack *p, unsigned int sync, uint64_t icnt, uint64_t addr)
{
	pack_head(p, NT_TCODE_DIRECT_BRANCH_SYNC);
	pack_bits(p, sync, 4);
	pack_var(p, icnt);
	pack_var(p, addr >> 1);
	pack_end(p);
}

static inline void pack_ibsync(struct pack *p, unsigned int sync, unsigned int btype,
			       uint64_t icnt, uint64_t addr)
{
	pack_head(p, NT_TCODE_INDIRECT_BRANCH_SYNC);
	pack_bits(p, sync, 4);
	pack_bits(p, btype, 2);
	pack_var(p, icnt);
	pack_var(p, addr >> 1);
	pack_end(p);
}

static inline void pack_ibhsync(struct pack *p, unsigned int sync, unsigned int btype,
				uint64_t icnt, uint64_t addr, uint64_t hist)
{
	pack_head(p, NT_TCODE_INDIRECT_BRANCH_HIST_SYNC);
	pack_bits(p, sync, 4);
	pack_bits(p, btype, 2);
	pack_var(p, icnt);
	pack_var(p, addr >> 1);
	pack_var(p, hist);
	pack_end(p);
}

static inline void pack_db(struct pack *p, uint64_t icnt)
{
	pack_head(p, NT_TCODE_DIRECT_BRANCH);
	pack_var(p, icnt);
	pack_end(p);
}

/* xor: the address, XOR the one sent last */
static inline void pack_ib(struct pack *p, unsigned int btype, uint64_t icnt, uint64_t xor)
{
	pack_head(p, NT_TCODE_INDIRECT_BRANCH);
	pack_bits(p, btype, 2);
	pack_var(p, icnt);
	pack_var(p, xor >> 1);
	pack_end(p);
}

static inline void pack_ibh(struct pack *p, unsigned int btype, uint64_t icnt, uint64_t xor,
			    uint64_t hist)
{
	pack_head(p, NT_TCODE_INDIRECT_BRANCH_HIST);
	pack_bits(p, btype, 2);
	pack_var(p, icnt);
	pack_var(p, xor >> 1);
	pack_var(p, hist);
	pack_end(p);
}

static inline void pack_rf(struct pack *p, unsigned int rcode, uint64_t rdata0)
{
	pack_head(p, NT_TCODE_RESOURCE_FULL);
	pack_bits(p, rcode, 4);
	pack_var(p, rdata0);
	pack_end(p);
}

static inline void pack_rf2(struct pack *p, uint64_t hist, uint64_t hrepeat)
{
	pack_head(p, NT_TCODE_RESOURCE_FULL);
	pack_bits(p, 2, 4);
	pack_var(p, hist);
	pack_var(p, hrepeat);
	pack_end(p);
}

static inline void pack_repeat(struct pack *p, uint64_t bcnt)
{
	pack_head(p, NT_TCODE_REPEAT_BRANCH);
	pack_var(p, bcnt);
	pack_end(p);
}

/* hist 0: CDF 0 */
static inline void pack_ptc(struct pack *p, unsigned int evcode, uint64_t icnt, uint64_t hist)
{
	pack_head(p, NT_TCODE_PROG_TRACE_CORRELATION);
	pack_bits(p, evcode, 4);
	pack_bits(p, hist ? 1 : 0, 2);
	pack_var(p, icnt);
	if (hist)
		pack_var(p, hist);
	pack_end(p);
}

static inline void pack_error(struct pack *p, unsigned int etype, uint64_t ecode)
{
	pack_head(p, NT_TCODE_ERROR);
	pack_bits(p, etype, 4);
	pack_var(p, ecode);
	pack_end(p);
}

static inline void pack_ownership(struct pack *p, uint64_t process)
{
	pack_head(p, NT_TCODE_OWNERSHIP);
	pack_var(p, process);
	pack_end(p);
}

#endif /* SELFTESTS_PACK_H */
