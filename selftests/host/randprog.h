/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Random programs and their random execution, for property tests. A slot is an instruction; what it
 * does is decided here before its bits are made, so neither of the library's two ways to read
 * instructions is trusted. An execution is what a hart could do: returns go back where calls came
 * from (with `stray`: not always), traps happen anywhere, indirect jumps go anywhere.
 */
#ifndef SELFTESTS_RANDPROG_H
#define SELFTESTS_RANDPROG_H

#include <stdbool.h>
#include <stdlib.h>

#include "program.h"
#include "random.h"

#define SLOTS_MAX	1500
#define CALLS_MAX	4096	/* what an execution remembers: more than any trace does */
#define JVT_OFFSET	0xf000u
#define NO_SLOT		UINT32_MAX

/* Instructions that only the parameters tell of; what insn_told() makes */
static const struct nt_branch told_branches[] = {
	{ .mask = 0x707f, .match = 0x600b, .type = NT_TYPE_COND,
	  .offset = { { 31, 1, 12 }, { 25, 6, 5 }, { 8, 4, 1 }, { 7, 1, 11 } } },
	{ .mask = 0x7f, .match = 0x2b, .type = NT_TYPE_JUMP, .offset = { { 8, 24, 1 } } },
	{ .mask = 0xffff, .match = 0x5b, .type = NT_TYPE_CALL, .offset = { { 16, 16, 1 } } },
	{ .mask = 0x707f, .match = 0x007b, .type = NT_TYPE_RET },
	{ .mask = 0x707f, .match = 0x107b, .type = NT_TYPE_ICALL },
	{ .mask = 0x707f, .match = 0x207b, .type = NT_TYPE_IJUMP },
	{ .mask = 0x707f, .match = 0x307b, .type = NT_TYPE_SWAP },
	{ .mask = 0x3f, .match = 0x1f, .type = NT_TYPE_COND,
	  .offset = { { 40, 8, 1 }, { 16, 8, 9 } } },
	{ .mask = 0x7f, .match = 0x3f, .type = NT_TYPE_CALL, .offset = { { 32, 31, 1 } } },
	{ .mask = 0xe003, .match = 0x6000, .type = NT_TYPE_COND, .offset = { { 2, 11, 1 } } },
};

/* Every option of the protocol, each as likely as it is worth testing */
static inline void random_params(struct nt_params *p)
{
	nt_params_init(p);
	p->xlen = rnd(3) ? 64 : 32;
	p->isa = NT_ISA_C | (rnd(2) ? NT_ISA_ZCMP | NT_ISA_ZCMT : NT_ISA_D);
	p->srcbits = rnd(3) ? 0 : rnd(13);
	p->src = p->srcbits ? rnd(1u << p->srcbits) : 0;
	p->timestamps = rnd(2);
	p->extaddr = rnd(2);
	p->seqjump = rnd(2);
	p->alljumps = rnd(4) == 0;
	p->retstack = rnd(4);
	if (rnd(2)) {
		p->branches = told_branches;
		p->nr_branches = sizeof(told_branches) / sizeof(told_branches[0]);
	}
}

enum op {
	OP_PLAIN,
	OP_UPPER,	/* LUI or AUIPC; the next slot jumps by it */
	OP_COND,
	OP_JUMP,	/* and call, direct */
	OP_INDIRECT,	/* jump, call, swap, return, trap return */
	OP_TRAPS,	/* ECALL, EBREAK, C.EBREAK */
};

struct slot {
	uint64_t raw;
	uint32_t off;		/* from the program's base */
	uint32_t target;	/* slot; of an indirect jump: by the OP_UPPER before it */
	uint8_t len, op, type;
	uint8_t shape;		/* how it is encoded; see put_slot() */
};

struct randprog {
	struct program mem;
	struct nt_params params;
	struct slot slots[SLOTS_MAX];
	unsigned int nr;
};

static inline uint64_t slot_pc(const struct randprog *p, uint32_t n)
{
	return p->mem.base + p->slots[n].off;
}

/* ------------------------------------------------------------- encoding - */

static inline uint32_t insn_cj(unsigned int funct3, int32_t off)
{
	uint32_t o = (uint32_t)off;

	return 1 | funct3 << 13 | (o >> 11 & 1) << 12 | (o >> 4 & 1) << 11 | (o >> 8 & 3) << 9 |
	       (o >> 10 & 1) << 8 | (o >> 6 & 1) << 7 | (o >> 7 & 1) << 6 | (o >> 1 & 7) << 3 |
	       (o >> 5 & 1) << 2;
}

static inline uint32_t insn_cb(unsigned int funct3, int32_t off)
{
	uint32_t o = (uint32_t)off;

	return 1 | funct3 << 13 | (o >> 8 & 1) << 12 | (o >> 3 & 3) << 10 | (o >> 6 & 3) << 5 |
	       (o >> 1 & 3) << 3 | (o >> 5 & 1) << 2;
}

/* Number n of told_branches, `off` from itself */
static inline uint64_t insn_told(unsigned int n, int32_t off)
{
	uint64_t o = (uint32_t)off;

	switch (n) {
	case 0:
		return (insn_b(off) & ~0x707fu) | 0x600b;
	case 1:
		return 0x2b | (o >> 1 & 0xffffff) << 8;
	case 2:
		return 0x5b | (o >> 1 & 0xffff) << 16;
	case 7:
		return 0x1f | (o >> 1 & 0xff) << 40 | (o >> 9 & 0xff) << 16;
	case 8:
		return 0x3f | (o >> 1) << 32;
	case 9:
		return 0x6000 | (o >> 1 & 0x7ff) << 2;
	default:
		return told_branches[n].match;
	}
}

static inline unsigned int told_length(unsigned int n)
{
	return n == 9 ? 2 : n == 8 ? 8 : n == 7 ? 6 : 4;
}

enum shape {
	SHAPE_RAW,	/* needs no target */
	SHAPE_B, SHAPE_CB,
	SHAPE_JAL, SHAPE_CJ, SHAPE_CJAL,
	SHAPE_JT,	/* and JALT: raw is made of an index; the table gets the target */
	SHAPE_AUIPC, SHAPE_LUI,
	SHAPE_LOW,	/* JALR behind one of these */
	SHAPE_TOLD,	/* number `raw` of told_branches */
};

/* ----------------------------------------------------------- generation - */

static inline void set(struct slot *s, enum op op, unsigned int len, unsigned int type,
		       enum shape shape, uint64_t raw)
{
	s->op = op;
	s->len = len;
	s->type = type;
	s->shape = shape;
	s->raw = raw;
	s->target = NO_SLOT;
}

static inline void make_plain(struct slot *s)
{
	static const uint32_t some[] = {
		0x952e, 0x0001, 0x4501, 0x00b50533, 0x00053503, 0x0000000f, 0x34202573,
		0x000005b7, 0x00000597, 0x10500073, 0x1141, 0x6105,
	};
	uint32_t raw = some[rnd(sizeof(some) / sizeof(some[0]))];

	set(s, OP_PLAIN, (raw & 3) == 3 ? 4 : 2, NT_TYPE_NONE, SHAPE_RAW, raw);
}

static inline void make_cond(struct slot *s)
{
	if (rnd(2))
		set(s, OP_COND, 4, NT_TYPE_COND, SHAPE_B, rnd(2) << 12 | rnd(2) << 14);
	else
		set(s, OP_COND, 2, NT_TYPE_COND, SHAPE_CB, 6 + rnd(2));
}

static inline void make_jump(const struct nt_params *params, struct slot *s)
{
	static const uint8_t rds[] = { 0, 1, 5, 7 };
	static const uint8_t types[] = {
		NT_TYPE_JUMP, NT_TYPE_CALL, NT_TYPE_CALL, NT_TYPE_JUMP_LINK
	};
	unsigned int n = rnd(4), index;

	switch (rnd(4)) {
	case 0:
		set(s, OP_JUMP, 2, NT_TYPE_JUMP, SHAPE_CJ, 5);
		return;
	case 1:
		if (params->xlen == 64)
			break;
		set(s, OP_JUMP, 2, NT_TYPE_CALL, SHAPE_CJAL, 1);
		return;
	case 2:
		if (!(params->isa & NT_ISA_ZCMT))
			break;
		index = rnd(256);
		set(s, OP_JUMP, 2, index < 32 ? NT_TYPE_JUMP : NT_TYPE_CALL, SHAPE_JT,
		    0xa002 | index << 2);
		return;
	}
	set(s, OP_JUMP, 4, types[n], SHAPE_JAL, rds[n]);
}

static inline void make_indirect(const struct nt_params *params, struct slot *s)
{
	static const struct { uint8_t type; uint32_t raw; } some[] = {
		{ NT_TYPE_RET, 0x8082 }, { NT_TYPE_RET, 0x8082 }, { NT_TYPE_RET, 0x00008067 },
		{ NT_TYPE_RET, 0x8282 }, { NT_TYPE_RET, 0x00028367 },
		{ NT_TYPE_IJUMP, 0x8502 }, { NT_TYPE_IJUMP, 0x00050067 },
		{ NT_TYPE_IJUMP_LINK, 0x000503e7 }, { NT_TYPE_ICALL, 0x9502 },
		{ NT_TYPE_ICALL, 0x000500e7 }, { NT_TYPE_ICALL, 0x000502e7 },
		{ NT_TYPE_ICALL, 0x000080e7 }, { NT_TYPE_SWAP, 0x9282 },
		{ NT_TYPE_SWAP, 0x000082e7 }, { NT_TYPE_ERET, 0x30200073 },
		{ NT_TYPE_ERET, 0x10200073 }, { NT_TYPE_RET, 0xbe42 }, { NT_TYPE_RET, 0xbc42 },
	};
	unsigned int n = rnd(sizeof(some) / sizeof(some[0]) - (params->isa & NT_ISA_ZCMP ? 0 : 2));

	set(s, OP_INDIRECT, (some[n].raw & 3) == 3 ? 4 : 2, some[n].type, SHAPE_RAW, some[n].raw);
}

/* An address in a register, and the jump by it: two slots */
static inline void make_pair(struct slot *s, bool low, bool swaps)
{
	static const struct { uint8_t type, rd, base; } some[] = {
		{ NT_TYPE_IJUMP, 0, 6 }, { NT_TYPE_ICALL, 1, 6 }, { NT_TYPE_IJUMP_LINK, 7, 6 },
		{ NT_TYPE_ICALL, 5, 6 }, { NT_TYPE_ICALL, 5, 5 }, { NT_TYPE_SWAP, 1, 5 },
	};
	unsigned int n = rnd(swaps ? 6 : 5);

	set(&s[0], OP_UPPER, 4, NT_TYPE_NONE, low && rnd(2) ? SHAPE_LUI : SHAPE_AUIPC,
	    some[n].base);
	set(&s[1], OP_INDIRECT, 4, some[n].type, SHAPE_LOW, some[n].rd | some[n].base << 8);
}

static inline void make_traps(struct slot *s)
{
	static const uint32_t some[] = { 0x9002, 0x00000073, 0x00100073 };
	uint32_t raw = some[rnd(3)];

	set(s, OP_TRAPS, (raw & 3) == 3 ? 4 : 2, NT_TYPE_NONE, SHAPE_RAW, raw);
}

static inline void make_told(struct slot *s)
{
	unsigned int n = rnd(sizeof(told_branches) / sizeof(told_branches[0]));
	unsigned int type = told_branches[n].type;
	enum op op = type == NT_TYPE_COND ? OP_COND :
		     told_branches[n].offset[0].width ? OP_JUMP : OP_INDIRECT;

	set(s, op, told_length(n), type, SHAPE_TOLD, n);
}

/*
 * A slot near n, so that branches reach it; not the one behind n.  told_branches may have 8 bytes,
 * all others have 4.
 */
static inline uint32_t near(const struct randprog *p, uint32_t n, unsigned int most)
{
	unsigned int reach = p->params.nr_branches ? most / 2 : most;
	uint32_t lo = n > reach ? n - reach : 0;
	uint32_t hi = n + reach < p->nr ? n + reach : p->nr - 1;
	uint32_t to = lo + rnd(hi - lo + 1);

	return to == n + 1 ? n : to;
}

static inline void choose_target(struct randprog *p, uint32_t n)
{
	struct slot *s = &p->slots[n];

	switch (s->shape) {
	case SHAPE_B:
		s->target = near(p, n, rnd(4) ? 20 : 900);
		break;
	case SHAPE_CB:
		s->target = near(p, n, 50);
		break;
	case SHAPE_CJ:
	case SHAPE_CJAL:
		s->target = near(p, n, 450);
		break;
	case SHAPE_JAL:
	case SHAPE_JT:
		s->target = rnd(p->nr);
		break;
	case SHAPE_AUIPC:
	case SHAPE_LUI:
		s->target = p->slots[n + 1].target = rnd(p->nr);
		break;
	case SHAPE_TOLD:
		/* the shortest reaches 2 KB */
		if (s->op != OP_INDIRECT)
			s->target = near(p, n, rnd(4) ? 20 : 500);
		break;
	}
}

/* All jumps through one entry of the jump table go to the same place. */
static inline void share_table_entries(struct randprog *p)
{
	uint32_t entries[256], n;

	memset(entries, 0xff, sizeof(entries));
	for (n = 0; n < p->nr; n++) {
		struct slot *s = &p->slots[n];
		unsigned int index = s->raw >> 2 & 0xff;

		if (s->shape != SHAPE_JT)
			continue;
		if (entries[index] == NO_SLOT)
			entries[index] = s->target;
		s->target = entries[index];
		org(&p->mem, p->params.jvt + index * p->params.xlen / 8);
		put_bytes(&p->mem, slot_pc(p, s->target), p->params.xlen / 8);
	}
}

static inline void put_slot(struct randprog *p, uint32_t n)
{
	struct slot *s = &p->slots[n];
	uint64_t pc = slot_pc(p, n), to = s->target == NO_SLOT ? 0 : slot_pc(p, s->target);
	int32_t off = (int32_t)(to - pc);

	switch (s->shape) {
	case SHAPE_B:
		s->raw |= insn_b(off);
		break;
	case SHAPE_CB:
		s->raw = insn_cb(s->raw, off);
		break;
	case SHAPE_JAL:
		s->raw = insn_jal(s->raw, off);
		break;
	case SHAPE_CJ:
	case SHAPE_CJAL:
		s->raw = insn_cj(s->raw, off);
		break;
	case SHAPE_AUIPC:
		s->raw = 0x17 | s->raw << 7 | (uint32_t)((off + 0x800) & ~0xfff);
		break;
	case SHAPE_LUI:
		s->raw = 0x37 | s->raw << 7 | (uint32_t)((to + 0x800) & ~0xfffull);
		break;
	case SHAPE_LOW:
		if (p->slots[n - 1].shape == SHAPE_AUIPC)
			to -= slot_pc(p, n - 1);
		s->raw = insn_jalr(s->raw & 0xff, s->raw >> 8, (uint32_t)to);
		break;
	case SHAPE_TOLD:
		s->raw = insn_told(s->raw, off);
		break;
	}
	org(&p->mem, pc);
	put_bytes(&p->mem, s->raw, s->len);
}

/* Where programs lie: anywhere an address may look special */
static inline uint64_t random_base(unsigned int xlen)
{
	static const uint64_t some[] = {
		0x10000, 0x80000000, 0x7fff0000, 0xffffffff80000000, 0x3ffff0000,
		0x5555555555550000, 0xffffffc000000000, 0xfff00000,
	};
	uint64_t base = some[rnd(8)];

	return xlen == 32 ? base & 0xffff0000 : base;
}

/* Is the program where addresses of so many bits can tell it? */
static inline bool fits_addr_bits(const struct randprog *p, unsigned int bits)
{
	const uint64_t mask = p->params.xlen == 32 ? UINT32_MAX : UINT64_MAX;
	const uint64_t ends[] = { p->mem.base, p->mem.base + PROGRAM_SIZE - 1 };
	unsigned int i;

	for (i = 0; i < 2; i++) {
		uint64_t below = ends[i] & ((2ull << bits) - 1), sign = ends[i] >> bits & 1;

		if (((below | (sign ? -(2ull << bits) : 0)) & mask) != ends[i])
			return false;
	}
	return true;
}

static inline void random_addr_bits(struct randprog *p)
{
	unsigned int bits = 1 + rnd(p->params.xlen - 1);

	if (rnd(2) && fits_addr_bits(p, bits))
		p->params.addr_bits = bits;
}

/*
 * Make a program; params has xlen, isa, jvt and all else set when it is done.
 * plain: of ten slots how many do nothing.
 */
static inline void randprog_make(struct randprog *p, const struct nt_params *params)
{
	unsigned int plain = 2 + rnd(7), n = 0;

	memset(p, 0, sizeof(*p));
	p->params = *params;
	/* An F-ADDR of 0 in front of an end is no address with tt-dfd: see know_leaving(). */
	do {
		p->mem.base = random_base(params->xlen);
	} while (!p->mem.base && params->profile == NT_PROFILE_TT_DFD);
	random_addr_bits(p);
	if (params->isa & NT_ISA_ZCMT)
		p->params.jvt = p->mem.base + JVT_OFFSET;
	p->nr = 20 + rnd(rnd(3) ? 100 : SLOTS_MAX - 22);
	while (n < p->nr) {
		struct slot *s = &p->slots[n++];

		if (rnd(10) < plain)
			make_plain(s);
		else if (params->nr_branches && rnd(4) == 0)
			make_told(s);
		else if (rnd(2))
			make_cond(s);
		else if (rnd(2))
			make_jump(params, s);
		else if (rnd(10) == 0)
			make_traps(s);
		else if (rnd(4) == 0) {
			make_pair(s, p->mem.base < 0x7fff0000 || params->xlen == 32,
				  params->retstack != 1);
			n++;
		} else
			make_indirect(params, s);
	}
	p->nr = n;
	/* execution never falls off the end */
	set(&p->slots[n - 1], OP_INDIRECT, 2, NT_TYPE_IJUMP, SHAPE_RAW, 0x8502);
	if (p->slots[n - 2].op == OP_UPPER)
		make_plain(&p->slots[n - 2]);
	for (n = 1; n < p->nr; n++)
		p->slots[n].off = p->slots[n - 1].off + p->slots[n - 1].len;
	for (n = 0; n < p->nr; n++)
		choose_target(p, n);
	share_table_entries(p);
	for (n = 0; n < p->nr; n++)
		put_slot(p, n);
}

/* ------------------------------------------------------------ execution - */

struct hart {
	const struct randprog *prog;
	uint32_t at, before;	/* slot to be executed; the one that retired last */
	uint32_t calls[CALLS_MAX];
	unsigned int nr_calls;
	uint32_t traps[64];
	unsigned int nr_traps;
	unsigned int stray;	/* of 100 returns how many go elsewhere */
	bool busy;		/* loops go around often, and indirect jumps to the same places */
};

static inline void hart_call(struct hart *h, uint32_t back)
{
	if (h->nr_calls == CALLS_MAX) {
		memmove(h->calls, h->calls + 1, sizeof(h->calls) - sizeof(h->calls[0]));
		h->nr_calls--;
	}
	h->calls[h->nr_calls++] = back;
}

static inline uint32_t hart_return(struct hart *h)
{
	uint32_t to = h->nr_calls ? h->calls[--h->nr_calls] : (uint32_t)rnd(h->prog->nr);

	return rnd(100) < h->stray ? (uint32_t)rnd(h->prog->nr) : to;
}

/* Where an indirect transfer goes */
static inline uint32_t hart_indirect(struct hart *h, const struct slot *s)
{
	uint32_t to = h->busy && rnd(8) ? h->at : rnd(h->prog->nr);

	if (s->type == NT_TYPE_RET || s->type == NT_TYPE_SWAP)
		to = hart_return(h);
	else if (s->type == NT_TYPE_ERET && h->nr_traps)
		to = h->traps[--h->nr_traps];
	if (s->type == NT_TYPE_ICALL || s->type == NT_TYPE_SWAP)
		hart_call(h, h->at + 1);
	if (s->shape == SHAPE_LOW && h->before == h->at - 1)
		to = s->target;
	return to;
}

/* Retire the instruction at h->at.  True when it was a taken transfer. */
static inline bool hart_step(struct hart *h)
{
	const struct slot *s = &h->prog->slots[h->at];
	uint32_t to = h->at + 1;
	bool taken = false;

	switch (s->op) {
	case OP_COND:
		/* loops end, most of the time */
		taken = s->target <= h->at && h->busy ? rnd(50) != 0 :
			rnd(5) < (s->target < h->at ? 3u : 2u);
		if (taken)
			to = s->target;
		break;
	case OP_JUMP:
		taken = true;
		to = s->target;
		if (s->type == NT_TYPE_CALL)
			hart_call(h, h->at + 1);
		break;
	case OP_INDIRECT:
		taken = true;
		to = hart_indirect(h, s);
		break;
	}
	h->before = h->at;
	h->at = to;
	return taken;
}

/* A trap instead of the instruction at h->at; its handler is anywhere. */
static inline void hart_trap(struct hart *h)
{
	bool again = h->prog->slots[h->at].op != OP_TRAPS;

	if (h->nr_traps == 64)
		h->nr_traps = 0;
	h->traps[h->nr_traps++] = again ? h->at : h->at + 1;
	h->before = NO_SLOT;
	h->at = rnd(h->prog->nr);
}

/*
 * Is this a stop in place of a trap of `type`?  tt-dfd does not tell where the last one led, and
 * nt_flow_ makes a STOP of its message.
 */
static inline bool ends_at_trap(const struct nt_params *p, const struct nt_event *ev,
				unsigned int type, const uint8_t *bytes, size_t len)
{
	struct nt_msg msg;

	return p->profile == NT_PROFILE_TT_DFD && ev->kind == NT_EV_STOP &&
	       (type == NT_TYPE_TRAP || type == NT_TYPE_EXCEPTION || type == NT_TYPE_INTERRUPT) &&
	       ev->offset < len &&
	       nt_msg_decode(p, bytes + ev->offset, len - ev->offset, &msg) > 0 &&
	       msg.tcode == NT_TCODE_INDIRECT_BRANCH_HIST;
}

#endif /* SELFTESTS_RANDPROG_H */
