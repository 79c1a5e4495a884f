/* SPDX-License-Identifier: GPL-2.0-only */
/* Small programs for tests, assembled by hand */
#ifndef SELFTESTS_PROGRAM_H
#define SELFTESTS_PROGRAM_H

#include <stdint.h>
#include <string.h>

#include "ntrace.h"

#define PROGRAM_SIZE	0x10000

/* Memory from `base` on; only what was written is there. */
struct program {
	uint64_t base;
	uint64_t at;		/* where the next instruction goes */
	uint8_t bytes[PROGRAM_SIZE];
	uint8_t there[PROGRAM_SIZE];
};

static inline int program_read(void *ctx, uint64_t space, uint64_t addr, void *buf, size_t len)
{
	struct program *p = ctx;
	uint64_t off = addr - p->base;
	size_t n = 0;

	(void)space;
	while (n < len && off + n < PROGRAM_SIZE && off < PROGRAM_SIZE && p->there[off + n]) {
		((uint8_t *)buf)[n] = p->bytes[off + n];
		n++;
	}
	return n;
}

static inline void put_bytes(struct program *p, uint64_t value, unsigned int len)
{
	while (len--) {
		p->bytes[p->at - p->base] = value & 0xff;
		p->there[p->at - p->base] = 1;
		p->at++;
		value >>= 8;
	}
}

static inline void org(struct program *p, uint64_t addr)
{
	p->at = addr;
}

static inline void c_add(struct program *p)	{ put_bytes(p, 0x952e, 2); }
static inline void c_ebreak(struct program *p)	{ put_bytes(p, 0x9002, 2); }
static inline void add(struct program *p)	{ put_bytes(p, 0x00b50533, 4); }
static inline void ecall(struct program *p)	{ put_bytes(p, 0x00000073, 4); }
static inline void mret(struct program *p)	{ put_bytes(p, 0x30200073, 4); }
static inline void custom(struct program *p)	{ put_bytes(p, 0x0000000b, 4); }

static inline uint32_t insn_b(int64_t off)
{
	uint32_t o = (uint32_t)off;

	return 0x00b50063 | (o >> 12 & 1) << 31 | (o >> 5 & 0x3f) << 25 | (o >> 1 & 15) << 8 |
	       (o >> 11 & 1) << 7;
}

static inline uint32_t insn_jal(unsigned int rd, int64_t off)
{
	uint32_t o = (uint32_t)off;

	return 0x6f | rd << 7 | (o >> 20 & 1) << 31 | (o >> 1 & 0x3ff) << 21 |
	       (o >> 11 & 1) << 20 | (o >> 12 & 0xff) << 12;
}

static inline uint32_t insn_jalr(unsigned int rd, unsigned int rs, unsigned int imm)
{
	return 0x67 | rd << 7 | rs << 15 | (imm & 0xfff) << 20;
}

static inline void beq(struct program *p, uint64_t to)
{
	put_bytes(p, insn_b((int64_t)(to - p->at)), 4);
}

static inline void jal(struct program *p, unsigned int rd, uint64_t to)
{
	put_bytes(p, insn_jal(rd, (int64_t)(to - p->at)), 4);
}

static inline void jalr(struct program *p, unsigned int rd, unsigned int rs, unsigned int imm)
{
	put_bytes(p, insn_jalr(rd, rs, imm), 4);
}

static inline void j(struct program *p, uint64_t to)	{ jal(p, 0, to); }
static inline void c_j(struct program *p, uint64_t to)
{
	uint32_t o = (uint32_t)(to - p->at);

	put_bytes(p, 0xa001 | (o >> 11 & 1) << 12 | (o >> 4 & 1) << 11 | (o >> 8 & 3) << 9 |
		  (o >> 10 & 1) << 8 | (o >> 6 & 1) << 7 | (o >> 7 & 1) << 6 | (o >> 1 & 7) << 3 |
		  (o >> 5 & 1) << 2, 2);
}

static inline void call(struct program *p, uint64_t to)	{ jal(p, 1, to); }
static inline void ret(struct program *p)		{ jalr(p, 0, 1, 0); }
static inline void jr(struct program *p)		{ jalr(p, 0, 10, 0); }

static inline void lui(struct program *p, unsigned int rd, uint32_t upper)
{
	put_bytes(p, 0x37 | rd << 7 | upper << 12, 4);
}

static inline void auipc(struct program *p, unsigned int rd, uint32_t upper)
{
	put_bytes(p, 0x17 | rd << 7 | upper << 12, 4);
}

#endif /* SELFTESTS_PROGRAM_H */
