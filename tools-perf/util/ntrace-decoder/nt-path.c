// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The linear code between two events: its instructions, or its runs
 */
#include <stdlib.h>

#include "nt-code.h"

struct nt_path {
	struct nt_code *code;
	uint64_t pc;		/* of the next instruction */
	bool known;		/* pc is */
	bool branches;		/* the last of `left` is the event's own taken transfer */
	uint32_t left;		/* instructions up to the event */

	/* the event's target, for the next event */
	uint64_t to;
	bool leads, ends;

	/* a block that may be at pc, valid for this generation */
	const struct nt_map *map;
	uint32_t block;
	uint32_t generation;
};

struct nt_path *nt_path_new(void)
{
	struct nt_path *p = calloc(1, sizeof(*p));

	if (p)
		p->block = NT_BLOCK_NONE;
	return p;
}

void nt_path_free(struct nt_path *p)
{
	free(p);
}

static void set_code(struct nt_path *p, struct nt_code *code)
{
	if (code == p->code)
		return;
	p->code = code;
	p->block = NT_BLOCK_NONE;
	p->map = NULL;
}

void nt_path_release(struct nt_path *p)
{
	set_code(p, NULL);
	p->left = 0;
}

void nt_path_linear(struct nt_path *p, struct nt_code *code, uint64_t pc, uint32_t insns)
{
	set_code(p, code);
	p->pc = pc;
	p->known = true;
	p->leads = p->ends = p->branches = false;
	p->left = insns;
}

int nt_path_event_sized(struct nt_path *p, struct nt_code *code, const struct nt_event *ev,
			size_t size)
{
	if (size < NT_EVENT_LEAST)
		return -NT_EINVAL;
	if (p->leads)
		p->pc = p->to;
	p->known = p->leads || (p->known && !p->ends);
	set_code(p, code);
	p->left = ev->insns;
	p->branches = ev->kind == NT_EV_BRANCH && !nt_type_is_trap(ev->type) && ev->insns;
	p->to = ev->to;
	p->leads = ev->kind == NT_EV_START || ev->kind == NT_EV_SYNC || ev->kind == NT_EV_COUNTED ||
		   (ev->kind == NT_EV_BRANCH && !(ev->flags & NT_EVF_LEFT));
	p->ends = ev->kind == NT_EV_STOP || ev->kind == NT_EV_LOSS ||
		  (ev->kind == NT_EV_BRANCH && !p->leads);
	return p->left && (!p->known || !code) ? -NT_EUNMAPPED : 0;
}

uint64_t nt_path_pc(const struct nt_path *p)
{
	return p->pc;
}

/* ------------------------------------------------------- instructions ---- */

static int path_insn(struct nt_path *p, struct nt_insn *insn)
{
	int len;

	if (!p->left)
		return 0;
	if (!p->known || !p->code)
		return -NT_EUNMAPPED;
	len = nt_code_one(p->code, p->pc, insn);
	if (len < 0)
		return len;
	p->pc = (p->pc + (unsigned int)len) & p->code->store->mask;
	p->left--;
	return 1;
}

int nt_path_insn_sized(struct nt_path *p, struct nt_insn *insn, size_t size)
{
	struct nt_insn known;
	int ret;

	if (size == sizeof(*insn))
		return path_insn(p, insn);
	if (size < NT_INSN_LEAST)
		return -NT_EINVAL;
	ret = path_insn(p, &known);
	nt_give(insn, size, &known, sizeof(known));
	return ret;
}

/* --------------------------------------------------------------- runs ---- */

/* The block at p->pc; NULL: there is none (*error: why) */
static const struct nt_block *find_block(struct nt_path *p, int *error)
{
	struct nt_store *store = p->code->store;
	const uint32_t generation = p->code->generation + store->generation;

	if (generation != p->generation) {
		p->generation = generation;
		p->block = NT_BLOCK_NONE;
		p->map = NULL;
	}
	if (p->block != NT_BLOCK_NONE && store->blocks[p->block].pc + p->map->base == p->pc &&
	    store->blocks[p->block].is.end != NT_END_STALE)
		return &store->blocks[p->block];
	*error = NT_ENOMEM;
	if (!p->map || !nt_map_has(p->map, p->pc))
		p->map = nt_code_map(p->code, p->pc, error);
	p->block = p->map ? nt_code_block(p->code, &p->map, p->pc, error) : NT_BLOCK_NONE;
	return p->block == NT_BLOCK_NONE ? NULL : &store->blocks[p->block];
}

/* A run of `insns` single instructions, if blocks cannot be used */
static int run_insns(struct nt_path *p, struct nt_run *run, uint32_t insns)
{
	struct nt_insn insn = { .type = NT_TYPE_NONE };

	run->pc = p->pc;
	for (run->insns = 0; run->insns < insns; run->insns++) {
		int ret = path_insn(p, &insn);

		if (ret < 0)
			return ret;
		run->last = insn.pc;
	}
	run->end = p->pc;
	run->type = insn.type;
	run->taken = p->branches && !p->left;
	p->block = NT_BLOCK_NONE;
	return 1;
}

static int run_block(struct nt_path *p, struct nt_run *run, const struct nt_block *blk)
{
	const struct nt_body is = blk->is;

	run->pc = p->pc;
	run->last = p->pc + 2u * is.before;
	run->end = (p->pc + 2u * is.halfwords) & p->code->store->mask;
	run->insns = is.insns;
	run->type = is.end == NT_END_LINEAR ? NT_TYPE_NONE : is.type;
	run->taken = p->branches && is.insns == p->left;
	p->pc = run->end;
	p->left -= is.insns;
	/* this is usually the next one */
	p->block = nt_block_link(run->taken ? &blk->taken : &blk->fall);
	return 1;
}

static int path_run(struct nt_path *p, struct nt_run *run)
{
	const struct nt_block *blk;
	int error = NT_EUNMAPPED, ret;

	if (!p->left)
		return 0;
	if (!p->known || !p->code)
		return -NT_EUNMAPPED;
	nt_code_enter(p->code, NULL);
	blk = find_block(p, &error);
	if (!blk)
		ret = -error;
	else if (!blk->is.insns)
		ret = run_insns(p, run, 1);	/* the trace says that it retired */
	else if (blk->is.insns > p->left)
		ret = run_insns(p, run, p->left);
	else
		ret = run_block(p, run, blk);
	nt_code_leave(p->code, NULL);
	return ret;
}

/* Fields of the first version */
#define RUN_LEAST	(offsetof(struct nt_run, taken) + 1)

int nt_path_run_sized(struct nt_path *p, struct nt_run *run, size_t size)
{
	struct nt_run known = { .pc = 0 };
	int ret;

	if (size < RUN_LEAST)
		return -NT_EINVAL;
	if (size == sizeof(*run))
		return path_run(p, run);
	ret = path_run(p, &known);
	nt_give(run, size, &known, sizeof(known));
	return ret;
}

/* Skip a block, if it fits; or one instruction */
static int skip_some(struct nt_path *p, uint32_t insns)
{
	int error = NT_EUNMAPPED, ret = 1;
	const struct nt_block *blk = NULL;
	struct nt_insn insn;
	struct nt_run run;

	/* looking for a block costs more than a few instructions */
	if (insns > 2) {
		nt_code_enter(p->code, NULL);
		blk = find_block(p, &error);
		if (blk && blk->is.insns && blk->is.insns <= insns)
			ret = run_block(p, &run, blk);
		else
			blk = NULL;
		nt_code_leave(p->code, NULL);
	}
	return blk ? ret : path_insn(p, &insn);
}

int nt_path_skip(struct nt_path *p, uint32_t insns)
{
	const uint32_t end = insns < p->left ? p->left - insns : 0;
	int ret = 1;

	if (p->left > end && (!p->known || !p->code))
		return -NT_EUNMAPPED;
	while (p->left > end && ret > 0)
		ret = skip_some(p, p->left - end);
	return ret < 0 ? ret : 0;
}
