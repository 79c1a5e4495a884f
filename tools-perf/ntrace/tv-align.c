// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace tv verify: where two recordings of one run begin.  One may have been switched
 * on later than the other, which then has to be passed over up to there.
 */
#include <stdlib.h>
#include <string.h>

#include "tv-verify.h"

#define COMMON	1024	/* instructions in a row that make a common beginning */

/* Addresses of instructions in the order of execution, the last COMMON of them */
struct recent {
	uint64_t pc[COMMON];
	uint64_t n;		/* instructions so far */
};

static bool next_pc(struct tv_source *s, struct recent *r)
{
	while (s->next(s) > 0) {
		if (!tv_executes(s->group) || !s->group->insn_bytes)
			continue;
		r->pc[r->n++ % COMMON] = s->group->pc;
		return true;
	}
	return false;
}

static void first_pcs(struct tv_source *s, struct recent *r)
{
	r->n = 0;
	while (r->n < COMMON && next_pc(s, r))
		;
}

/* Are the last ones what `want` begins with? */
static bool is_at(const struct recent *r, const struct recent *want)
{
	uint64_t i;

	if (!want->n || r->n < want->n)
		return false;
	for (i = 0; i < want->n; i++)
		if (r->pc[(r->n - want->n + i) % COMMON] != want->pc[i])
			return false;
	return true;
}

/* Instructions of s before those that `want` begins with; r has its first.  -1: not there */
static int64_t find(struct tv_source *s, struct recent *r, const struct recent *want)
{
	do {
		if (is_at(r, want))
			return (int64_t)(r->n - want->n);
	} while (next_pc(s, r));
	return -1;
}

int64_t tv_find_start(struct tv_source *s, struct tv_source *other)
{
	struct recent ours, theirs;

	first_pcs(other, &theirs);
	ours.n = 0;
	if (!theirs.n || !next_pc(s, &ours) || ours.pc[0] == theirs.pc[0])
		return 0;
	return find(s, &ours, &theirs);
}

/* Also traps between the last of them and the first that counts */
bool tv_pass_over(struct tv_source *s, uint64_t insns, uint64_t pc)
{
	uint64_t at = ~pc;

	while (insns || !nt_tv_shadow_state(s->shadow, NT_TV_PC, &at) || at != pc) {
		if (s->next(s) <= 0)
			return false;
		insns -= insns && tv_executes(s->group) && s->group->insn_bytes;
	}
	return true;
}

/* The first instruction's; false when there is none */
bool tv_first_pc(struct tv_source *s, uint64_t *pc)
{
	struct recent r = { .n = 0 };

	if (!next_pc(s, &r))
		return false;
	*pc = r.pc[0];
	return true;
}
