// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs of linear code, stored once, because a program executes the same ones again and again
 */
#include <stdlib.h>
#include <string.h>

#include "serve.h"

void serve_program_init(struct serve_program *p)
{
	*p = (struct serve_program){ .path = nt_path_new() };
	if (!p->path)
		die("%s", nt_strerror(NT_ENOMEM));
}

void serve_program_free(struct serve_program *p)
{
	nt_path_free(p->path);
	free(p->run);
	free(p->bucket);
}

static uint32_t hash(uint64_t pc, unsigned int insns, unsigned int type, uint32_t space)
{
	uint64_t key = pc ^ (uint64_t)insns << 56 ^ (uint64_t)type << 50 ^ (uint64_t)space << 33;

	return (uint32_t)(key * 0x9e3779b97f4a7c15ull >> 32);
}

static uint32_t *find(const struct serve_program *p, uint64_t pc, unsigned int insns,
		      unsigned int type, uint32_t space)
{
	uint32_t i = hash(pc, insns, type, space) & (p->nr_buckets - 1);

	while (p->bucket[i]) {
		const struct serve_run *run = &p->run[p->bucket[i] - 1];

		if (run->pc == pc && run->insns == insns && run->type == type &&
		    run->space == space)
			break;
		i = (i + 1) & (p->nr_buckets - 1);
	}
	return &p->bucket[i];
}

/* The table is at most half full. */
static void grow(struct serve_program *p)
{
	p->nr_buckets = p->nr_buckets ? 2 * p->nr_buckets : 1024;
	free(p->bucket);
	p->bucket = calloc(p->nr_buckets, sizeof(*p->bucket));
	if (!p->bucket)
		die("%s", nt_strerror(NT_ENOMEM));
	for (uint32_t n = 0; n < p->nr; n++) {
		const struct serve_run *run = &p->run[n];

		*find(p, run->pc, run->insns, run->type, run->space) = n + 1;
	}
}

static bool measure(struct serve_program *p, struct nt_code *code, struct serve_run *run)
{
	struct nt_insn insn;
	unsigned int n = 0;

	if (!run->insns)
		return true;
	nt_path_linear(p->path, code, run->pc, run->insns);
	while (nt_path_insn(p->path, &insn) > 0) {
		if (insn.len > 8)
			return false;
		run->halves |= (uint64_t)(insn.len / 2 - 1) << 2 * n++;
	}
	nt_path_release(p->path);
	return n == run->insns;
}

uint32_t serve_program_known(struct serve_program *p, const struct serve_run *run)
{
	struct serve_run new = *run;
	uint32_t *at;

	if (2 * p->nr >= p->nr_buckets)
		grow(p);
	for (;;) {
		at = find(p, new.pc, new.insns, new.type, new.space);
		if (!*at)
			break;
		if (p->run[*at - 1].halves == new.halves)
			return *at - 1;
		/* code at this address was modified in between */
		new.space++;
	}
	p->run = array_room(p->run, p->nr, sizeof(*p->run));
	p->run[p->nr++] = new;
	*at = p->nr;
	return *at - 1;
}

int64_t serve_program_run(struct serve_program *p, struct nt_code *code, uint64_t pc,
			  unsigned int insns, unsigned int type, uint32_t space)
{
	struct serve_run run = {
		.pc = pc, .insns = (uint8_t)insns, .type = (uint8_t)type, .space = space,
	};
	uint32_t *at;

	if (2 * p->nr >= p->nr_buckets)
		grow(p);
	at = find(p, pc, insns, type, space);
	if (*at)
		return *at - 1;
	if (!measure(p, code, &run))
		return -1;
	return serve_program_known(p, &run);
}
