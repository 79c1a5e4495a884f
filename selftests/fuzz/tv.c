// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tandem-verification codec: any bytes are items, or refused, and never read beyond; what was
 * read and is written again gives the same bytes. The shadow state takes any items, and
 * what it applies is what was read.
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

static void apply(struct nt_tv_shadow *sh, const struct nt_tv_item *it)
{
	const struct nt_tv_group *group = nt_tv_shadow_group(sh);
	int ret = it ? nt_tv_shadow_item(sh, it) : nt_tv_shadow_end(sh);

	MUST(ret >= -NT_TV_EPAGES && ret <= 1);
	if (ret < 0)
		MUST(*nt_tv_strerror(ret) && (!it || nt_tv_shadow_bad(sh) <= it->offset));
	if (ret != 1)
		return;
	MUST(group->n <= NT_TV_GROUP_MAX);
	for (size_t i = 0; i < group->n; i++) {
		uint64_t value;

		if (group->items[i].opcode == NT_TV_REG)
			MUST(nt_tv_shadow_reg(sh, group->items[i].reg, &value) &&
			     value == group->items[i].value);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t mlen[] = { 32, 34, 64, 64 };
	struct nt_tv_params p = { .size = sizeof(p) };
	struct input in = { data, data + size };
	struct nt_tv_reader reader;
	struct nt_tv_shadow *sh;
	struct nt_tv_item item;
	unsigned int d = take(&in);
	int n;

	p.xlen = d & 1 ? 32 : 64;
	p.flen = d & 2 ? 32 : 64;
	p.mlen = mlen[d >> 2 & 3];
	p.flags = d >> 4;
	MUST(!nt_tv_reader_init(&reader, &p));
	sh = nt_tv_shadow_new(&p, 64);
	MUST(sh);
	while ((n = nt_tv_next(&reader, in.p, left(&in), &item)) > 0) {
		MUST((size_t)n <= left(&in));
		check(&p, &item, in.p, n);
		apply(sh, &item);
		in.p += n;
	}
	apply(sh, NULL);
	nt_tv_shadow_free(sh);
	MUST(*nt_tv_strerror(n));
	return 0;
}
