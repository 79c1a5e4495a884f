// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace tv verify: align the starts of two recordings of the same run. One recording may have been
 * started later than the other, whose beginning then has to be skipped.
 */
#include <stdlib.h>
#include <string.h>

#include "tv-verify.h"

#define COMMON	1024	/* number of consecutive instructions that identify a common start */

/* The last COMMON addresses of instructions, in the order of execution */
struct recent {
	uint64_t pc[COMMON];
	uint64_t n;		/* number of instructions so far */
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

/* Do the last instructions match the start of `want`? */
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

/*
 * The number of instructions of s before the start of `want`. r contains the first ones of s. -1:
 * not found
 */
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

/* Also skips traps between the last of these instructions and pc. */
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

/* The address of the first instruction. Returns false if there is none. */
bool tv_first_pc(struct tv_source *s, uint64_t *pc)
{
	struct recent r = { .n = 0 };

	if (!next_pc(s, &r))
		return false;
	*pc = r.pc[0];
	return true;
}
