// SPDX-License-Identifier: GPL-2.0-only
/*
 * The shadow state of tandem verification takes any items, in groups and outside of them, and what
 * it applies is what was read.  One state serves all inputs of the same parameters, so
 * it has to forget, too.
 */
#include "fuzz.h"

static void apply(struct nt_tv_shadow *sh, const struct nt_tv_item *it)
{
	const struct nt_tv_group *group = nt_tv_shadow_group(sh);
	int ret = it ? nt_tv_shadow_item(sh, it) : nt_tv_shadow_end(sh);

	MUST(ret >= -NT_TV_ERESET && ret <= 1);
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


/* As new: nothing is known */
static struct nt_tv_shadow *shadow(const struct nt_tv_params *p)
{
	static struct nt_tv_shadow *all[4];
	struct nt_tv_shadow **sh = &all[(p->xlen == 32) | (p->flen == 32) << 1];
	uint64_t value;
	uint32_t reg = 0;
	size_t page = 0;

	if (!*sh)
		*sh = nt_tv_shadow_new(p, 64);
	MUST(*sh);
	nt_tv_shadow_forget(*sh);
	MUST(!nt_tv_shadow_next_reg(*sh, &reg) && !nt_tv_shadow_next_page(*sh, &page, &value));
	MUST(!nt_tv_shadow_state(*sh, NT_TV_PC, &value) && !nt_tv_shadow_end(*sh));
	return *sh;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nt_tv_params p;
	struct input in = { data, data + size };
	struct nt_tv_reader reader;
	struct nt_tv_shadow *sh;
	struct nt_tv_item item;
	int n;

	take_tv_params(&in, &p);
	MUST(!nt_tv_reader_init(&reader, &p));
	sh = shadow(&p);
	while ((n = nt_tv_next(&reader, in.p, left(&in), &item)) > 0) {
		apply(sh, &item);
		in.p += n;
	}
	apply(sh, NULL);
	return 0;
}
