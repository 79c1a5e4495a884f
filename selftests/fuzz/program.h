/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A small program made of the input: a byte is an instruction, direct jumps take one more for where
 * they go, so that a fuzzer changes one thing at a time. What an instruction does is decided here
 * before its bits are made; neither of the library's two ways to read them is asked.
 */
#ifndef SELFTESTS_FUZZ_PROGRAM_H
#define SELFTESTS_FUZZ_PROGRAM_H

#include "../host/randprog.h"	/* insn_b() and its like */
#include "fuzz.h"

#define FUZZ_SLOTS	64
#define FUZZ_CODE	(FUZZ_SLOTS * 8)

enum fuzz_shape {
	FZ_PLAIN,
	FZ_B, FZ_TOLD, FZ_CB, FZ_JAL, FZ_CJ, FZ_CJAL,	/* direct */
	FZ_PAIR,		/* AUIPC, and the JALR behind it */
	FZ_LOW,			/* that JALR */
	FZ_INDIRECT,
	FZ_TRAPS,
	FZ_ANY,			/* a half-word as the input has it */
};

struct fuzz_kind {
	uint32_t raw;
	uint8_t len, type, shape;
};

static const struct fuzz_kind fuzz_kinds[] = {
	{ 0x952e, 2, NT_TYPE_NONE, FZ_PLAIN },
	{ 0x00b50533, 4, NT_TYPE_NONE, FZ_PLAIN },
	/* custom, or a branch that parameters tell of */
	{ 0x0000000b, 4, NT_TYPE_NONE, FZ_PLAIN },
	{ 0x0000001f, 6, NT_TYPE_NONE, FZ_PLAIN },
	{ 0x00000000, 4, NT_TYPE_COND, FZ_B },
	{ 0x00001000, 4, NT_TYPE_COND, FZ_B },
	{ 6, 2, NT_TYPE_COND, FZ_CB },
	{ 7, 2, NT_TYPE_COND, FZ_CB },
	{ 0, 4, NT_TYPE_JUMP, FZ_JAL },
	{ 1, 4, NT_TYPE_CALL, FZ_JAL },
	{ 5, 4, NT_TYPE_CALL, FZ_JAL },
	{ 7, 4, NT_TYPE_JUMP_LINK, FZ_JAL },
	{ 5, 2, NT_TYPE_JUMP, FZ_CJ },
	{ 1, 2, NT_TYPE_CALL, FZ_CJAL },
	{ 0, 4, NT_TYPE_NONE, FZ_PAIR },
	{ 1, 4, NT_TYPE_NONE, FZ_PAIR },
	{ 0x8082, 2, NT_TYPE_RET, FZ_INDIRECT },
	{ 0x00028367, 4, NT_TYPE_RET, FZ_INDIRECT },
	{ 0x8502, 2, NT_TYPE_IJUMP, FZ_INDIRECT },
	{ 0x000503e7, 4, NT_TYPE_IJUMP_LINK, FZ_INDIRECT },
	{ 0x9502, 2, NT_TYPE_ICALL, FZ_INDIRECT },
	{ 0x000080e7, 4, NT_TYPE_ICALL, FZ_INDIRECT },
	{ 0x9282, 2, NT_TYPE_SWAP, FZ_INDIRECT },
	{ 0x30200073, 4, NT_TYPE_ERET, FZ_INDIRECT },
	{ 0xbe42, 2, NT_TYPE_RET, FZ_INDIRECT },	/* CM.POPRET, or C.FSDSP */
	{ 0x00000073, 4, NT_TYPE_NONE, FZ_TRAPS },
	{ 0x9002, 2, NT_TYPE_NONE, FZ_TRAPS },
	{ 0, 2, NT_TYPE_NONE, FZ_ANY },
};

#define FUZZ_KINDS	(sizeof(fuzz_kinds) / sizeof(fuzz_kinds[0]))

struct fuzz_slot {
	uint32_t raw;
	uint16_t off;		/* from the program's base */
	uint8_t len, type, shape;
	uint8_t target;		/* slot; first, how far it is away */
};

struct fuzz_program {
	uint64_t base, mask;
	unsigned int nr, size;
	struct fuzz_slot slots[FUZZ_SLOTS];
	uint8_t bytes[FUZZ_CODE];
};

static inline int fuzz_read(void *ctx, uint64_t space, uint64_t addr, void *buf, size_t len)
{
	const struct fuzz_program *p = ctx;
	uint64_t at = (addr - p->base) & p->mask;

	(void)space;
	if (at >= p->size)
		return 0;
	if (len > p->size - at)
		len = p->size - at;
	memcpy(buf, p->bytes + at, len);
	return len;
}

static inline uint64_t fuzz_pc(const struct fuzz_program *p, unsigned int slot)
{
	return p->base + p->slots[slot].off;
}

/* One slot of the input, or two; the number of slots */
static inline unsigned int fuzz_take_slot(struct fuzz_slot *s, struct input *in,
					  const struct nt_params *params, bool executes)
{
	const struct fuzz_kind *k = &fuzz_kinds[take(in) % FUZZ_KINDS];

	if ((k->shape == FZ_CJAL && params->xlen == 64) || (k->shape == FZ_ANY && executes))
		k = &fuzz_kinds[0];
	*s = (struct fuzz_slot){ .raw = k->raw, .len = k->len, .type = k->type, .shape = k->shape };
	if (k->raw == 0xbe42 && !(params->isa & NT_ISA_ZCMP)) {
		s->type = NT_TYPE_NONE;
		s->shape = FZ_PLAIN;
	}
	if (k->raw == fuzz_told.match && params->nr_branches) {
		s->type = NT_TYPE_COND;
		s->shape = FZ_TOLD;
	}
	if (s->shape >= FZ_B && s->shape <= FZ_PAIR)
		s->target = take(in);
	if (k->shape == FZ_ANY)
		s->raw = take(in) | take(in) << 8;
	if (k->shape != FZ_PAIR)
		return 1;
	s[1] = (struct fuzz_slot){ .raw = k->raw, .len = 4, .shape = FZ_LOW,
				   .type = k->raw ? NT_TYPE_ICALL : NT_TYPE_IJUMP };
	return 2;
}

/* A place n for it to go to, which is not right behind it */
static inline void fuzz_settle_target(struct fuzz_program *p, unsigned int n)
{
	struct fuzz_slot *s = &p->slots[n];
	int reach, to = ((int)n + (int8_t)s->target) % (int)p->nr;

	if (to < 0)
		to += p->nr;
	reach = p->slots[to].off - s->off;
	if (to == (int)n + 1 || (s->shape == FZ_CB && (reach < -256 || reach > 254)))
		to = n;
	s->target = to;
	if (s->shape == FZ_PAIR)
		s[1].target = to;
}

static inline uint32_t fuzz_encode(const struct fuzz_program *p, unsigned int n)
{
	const struct fuzz_slot *s = &p->slots[n];
	int off = p->slots[s->target].off - s->off;

	switch (s->shape) {
	case FZ_B:
		return insn_b(off) | s->raw;
	case FZ_TOLD:
		return (insn_b(off) & ~0x7fu) | s->raw;
	case FZ_CB:
		return insn_cb(s->raw, off);
	case FZ_JAL:
		return insn_jal(s->raw, off);
	case FZ_CJ:
	case FZ_CJAL:
		return insn_cj(s->raw, off);
	case FZ_PAIR:
		return 0x00000317 | (uint32_t)((off + 0x800) & ~0xfff);	/* AUIPC t1 */
	case FZ_LOW:
		return insn_jalr(s->raw, 6, (uint32_t)(off + 4));
	}
	return s->raw;
}

/*
 * executes: without instructions of which it is not known what they do, and without a way off
 * the end.
 */
static inline void fuzz_program_make(struct fuzz_program *p, struct input *in,
				     const struct nt_params *params, bool executes)
{
	static const uint64_t bases[] = { 0, 0x80000000, 0x1000, 0xffffffff80000000 };
	unsigned int n = take(in), want = 2 + (n & 63) % (FUZZ_SLOTS - 3), i, k;

	p->mask = params->xlen == 32 ? UINT32_MAX : UINT64_MAX;
	p->base = bases[n >> 6] & p->mask;
	for (p->nr = 0; p->nr < want; )
		p->nr += fuzz_take_slot(&p->slots[p->nr], in, params, executes);
	p->slots[p->nr++] = (struct fuzz_slot){ 0x8502, 0, 2, NT_TYPE_IJUMP, FZ_INDIRECT, 0 };
	for (p->size = 0, n = 0; n < p->nr; n++) {
		p->slots[n].off = p->size;
		p->size += p->slots[n].len;
	}
	for (n = 0; n < p->nr; n++) {
		struct fuzz_slot *s = &p->slots[n];

		if (s->shape >= FZ_B && s->shape <= FZ_PAIR)
			fuzz_settle_target(p, n);
		s->raw = fuzz_encode(p, n);
		for (k = s->off, i = 0; i < s->len; i++)
			p->bytes[k++] = i < 4 ? s->raw >> 8 * i & 0xff : 0;
	}
}

#endif /* SELFTESTS_FUZZ_PROGRAM_H */
