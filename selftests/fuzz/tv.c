// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tandem-verification codec: any bytes are items, or refused, and never read beyond; what was
 * read and is written again gives the same bytes.
 */
#include "fuzz.h"

static void write_item(struct nt_tv_writer *w, const struct nt_tv_item *it)
{
	w->pc_ident = it->flags & NT_TV_F_PRINTED_PC ? NT_TV_PC_PRINTED : NT_TV_PC;
	switch (it->opcode) {
	case NT_TV_REG:
		nt_tv_reg(w, it->reg, it->value);
		break;
	case NT_TV_REG_ADD:
		nt_tv_reg_add(w, it->reg, (int8_t)it->value);
		break;
	case NT_TV_REG_OR:
		nt_tv_reg_or(w, it->reg, (uint8_t)it->value);
		break;
	case NT_TV_STATE:
		if (it->ident == NT_TV_PC)
			nt_tv_pc(w, it->value);
		else
			nt_tv_state(w, it->ident, it->value, it->bytes);
		break;
	case NT_TV_MEMREQ:
		nt_tv_memreq(w, it->memop, it->memsize, it->addr, it->value);
		break;
	case NT_TV_MEMRSP:
		nt_tv_memrsp(w, it->memop, it->memsize, it->result, it->value);
		break;
	case NT_TV_INSN16:
		nt_tv_insn16(w, (uint16_t)it->value);
		break;
	case NT_TV_INSN32:
		nt_tv_insn32(w, (uint32_t)it->value);
		break;
	default:
		nt_tv_op(w, it->opcode);
		break;
	}
}

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
	static const uint8_t mlen[] = { 32, 34, 64, 64 };
	struct nt_tv_params p = { .size = sizeof(p) };
	struct input in = { data, data + size };
	struct nt_tv_reader reader;
	struct nt_tv_item item;
	unsigned int d = take(&in);
	int n;

	p.xlen = d & 1 ? 32 : 64;
	p.flen = d & 2 ? 32 : 64;
	p.mlen = mlen[d >> 2 & 3];
	p.flags = d >> 4;
	MUST(!nt_tv_reader_init(&reader, &p));
	while ((n = nt_tv_next(&reader, in.p, left(&in), &item)) > 0) {
		MUST((size_t)n <= left(&in));
		check(&p, &item, in.p, n);
		in.p += n;
	}
	MUST(*nt_tv_strerror(n));
	return 0;
}
