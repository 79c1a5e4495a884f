// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A patched place of the kernel behind which the trace fits both copies of its text.
 *
 * An instruction that was a NOP at one time and a jump at another makes two ways. Most often the
 * messages that follow fit one of them only. Where an interrupt comes right behind the place they
 * fit both: neither way has a branch that is reported, and both have as many halfwords.
 *
 * Two walkers go from the same address, one through the copy in use, along the decoder's events,
 * one through the other copy. The second takes the outcomes of the first one's conditional branches,
 * one by one. The first event that is more than an outcome ends the walk. The trace fits
 * the other copy, too, if the second walker can be there after as many halfwords.
 */
#include <linux/ntrace.h>

#include "nt-session.h"

#define CALLS_MAX	64
/* Returns from functions that were called before the walk began */
#define OUTER_MAX	16
/* Far more than a message can be about */
#define STEPS_MAX	65536

struct walker {
	struct nt_code	*code;
	uint64_t	pc;
	uint64_t	halfwords;
	uint64_t	transfers;	/* a sum of those that were taken */
	unsigned int	steps;
	unsigned int	calls, returns;	/* in the arrays; of the outer ones */
	uint64_t	call[CALLS_MAX];
};

struct walk {
	const struct nt_event *ev, *end;	/* the event to come, and the last one */
	bool		direct;			/* BTM: taken branches are messages */
	struct walker	mine, other;
	uint64_t	outer[OUTER_MAX];	/* where they led */
};

enum step { STEP_ON, STEP_BRANCH, STEP_END, STEP_FAILED };

static void transfer(struct walker *w, uint64_t to)
{
	w->transfers = ((w->transfers ^ w->pc) * 0x9e3779b97f4a7c15ULL ^ to) * 0x9e3779b97f4a7c15ULL;
	w->pc = to;
}

static bool enter_call(struct walker *w, const struct nt_insn *i)
{
	if (i->type != NT_TYPE_CALL && i->type != NT_TYPE_ICALL)
		return true;
	if (w->calls == CALLS_MAX)
		return false;
	w->call[w->calls++] = i->pc + i->len;
	return true;
}

static bool fetch(struct walker *w, struct nt_insn *i)
{
	return w->steps++ < STEPS_MAX && nt_code_insn(w->code, w->pc, i) > 0;
}

/* Over an instruction that is no transfer, or not taken */
static void pass(struct walker *w, const struct nt_insn *i)
{
	w->pc += i->len;
	w->halfwords += i->len / 2;
}

/* ----------------------------------------------------- along the events --- */

/* A taken branch that an outcome tells, or that needs none */
static bool is_silent(const struct walk *k, const struct nt_event *ev)
{
	if (ev->kind != NT_EV_BRANCH || ev->flags & (NT_EVF_SYNC | NT_EVF_LEFT))
		return false;
	return ev->type == NT_TYPE_JUMP || ev->type == NT_TYPE_CALL ||
	       ev->type == NT_TYPE_JUMP_LINK || ev->flags & NT_EVF_INFERRED ||
	       (ev->type == NT_TYPE_COND && !k->direct);
}

static bool mine_takes(struct walk *k, const struct nt_insn *i)
{
	struct walker *w = &k->mine;

	w->halfwords += i->len / 2;
	if (i->type == NT_TYPE_RET && w->calls) {
		w->calls--;
	} else if (i->type == NT_TYPE_RET) {
		if (w->returns == OUTER_MAX)
			return false;
		k->outer[w->returns++] = k->ev->to;
	}
	if (!enter_call(w, i))
		return false;
	transfer(w, k->ev->to);
	k->ev++;
	return true;
}

/* STEP_BRANCH: *taken is the outcome of a conditional branch, which was passed. */
static enum step mine_step(struct walk *k, bool *taken)
{
	struct walker *w = &k->mine;
	struct nt_insn i;

	if (k->ev == k->end && w->pc == k->end->from)
		return STEP_END;
	if (!fetch(w, &i))
		return STEP_FAILED;
	*taken = k->ev != k->end && w->pc == k->ev->from;
	if (!*taken)
		pass(w, &i);
	else if (!mine_takes(k, &i))
		return STEP_FAILED;
	return i.type == NT_TYPE_COND ? STEP_BRANCH : STEP_ON;
}

/* ------------------------------------------------ through the other copy --- */

static bool other_returns(struct walk *k)
{
	struct walker *w = &k->other;

	if (w->calls)
		transfer(w, w->call[--w->calls]);
	else if (w->returns < k->mine.returns)
		transfer(w, k->outer[w->returns++]);
	else
		return false;
	return true;
}

static bool other_takes(struct walk *k, const struct nt_insn *i)
{
	struct walker *w = &k->other;

	w->halfwords += i->len / 2;
	if (i->type == NT_TYPE_RET)
		return other_returns(k);
	if (!(i->flags & NT_INSN_DIRECT) || !enter_call(w, i))
		return false;
	transfer(w, i->target);
	return true;
}

/* Up to a conditional branch, which is not passed, or so many halfwords */
static enum step other_step(struct walk *k, uint64_t halfwords, struct nt_insn *i)
{
	struct walker *w = &k->other;

	if (w->halfwords >= halfwords)
		return w->halfwords == halfwords ? STEP_END : STEP_FAILED;
	if (!fetch(w, i) || i->flags & NT_INSN_TRAPS)
		return STEP_FAILED;
	if (i->type == NT_TYPE_COND)
		return STEP_BRANCH;
	if (i->type == NT_TYPE_NONE)
		pass(w, i);
	else if (!other_takes(k, i))
		return STEP_FAILED;
	return STEP_ON;
}

static bool other_branches(struct walk *k, bool taken)
{
	struct nt_insn i;
	enum step s;

	while ((s = other_step(k, UINT64_MAX, &i)) == STEP_ON)
		;
	if (s != STEP_BRANCH)
		return false;
	if (taken)
		return other_takes(k, &i);
	pass(&k->other, &i);
	return true;
}

/* Can what the last event tells be where the other way ends? */
static bool other_ends(struct walk *k)
{
	const struct nt_event *ev = k->end;
	struct nt_insn i;
	enum step s;

	while ((s = other_step(k, k->mine.halfwords, &i)) != STEP_END) {
		if (s == STEP_FAILED || (s == STEP_BRANCH && !k->direct))
			return false;
		if (s == STEP_BRANCH)
			pass(&k->other, &i);
	}
	if (ev->kind == NT_EV_SYNC)
		return k->other.pc == ev->from;
	if (ev->kind != NT_EV_BRANCH || nt_type_is_trap(ev->type))
		return true;
	if (!fetch(&k->other, &i) || i.flags & NT_INSN_TRAPS || i.type == NT_TYPE_NONE)
		return false;
	/* A message about a taken branch alone does not tell where it led. */
	if (ev->type == NT_TYPE_COND && !(ev->flags & NT_EVF_SYNC))
		return i.type == NT_TYPE_COND;
	return !(i.flags & NT_INSN_DIRECT) || i.target == ev->to;
}

/* --------------------------------------------------------------- together --- */

/* The outcomes of BTM that are not taken are in no message. */
static bool fits_other(struct walk *k)
{
	enum step s;
	bool taken;

	while ((s = mine_step(k, &taken)) != STEP_END) {
		if (s == STEP_FAILED)
			return false;
		if (s == STEP_BRANCH && !k->direct && !other_branches(k, taken))
			return false;
	}
	return other_ends(k) && (k->mine.transfers != k->other.transfers ||
				 k->mine.pc != k->other.pc);
}

static struct nt_code *other_code(struct nt_session_queue *q)
{
	struct nt_code *code;

	q->kernel_at_end = !q->kernel_at_end;
	code = q->host->kernel(q);
	q->kernel_at_end = !q->kernel_at_end;
	return code;
}

/* The first event from @ev on, of those that were decoded, that is more than an outcome */
static const struct nt_event *find_end(const struct nt_session_queue *q, const struct walk *k)
{
	const struct nt_event *ev = k->ev, *end = q->ev + q->nr;

	while (ev < end && is_silent(k, ev))
		ev++;
	if (ev == end || (ev->kind == NT_EV_BRANCH && !ev->from) ||
	    (ev->kind == NT_EV_STOP && (ev->reason == NT_EVCODE_NONE || ev->flags & NT_EVF_LEFT)))
		return NULL;
	return ev->kind == NT_EV_BRANCH || ev->kind == NT_EV_STOP || ev->kind == NT_EV_SYNC ?
	       ev : NULL;
}

/* Branch events are about their instruction, too; other events about what is before. */
static const struct nt_session_patch *patch_passed(const struct nt_session_queue *q,
						   const struct nt_event *ev)
{
	bool trap = ev->kind != NT_EV_BRANCH || nt_type_is_trap(ev->type);

	if (!q->have_pc || (!ev->insns && trap))
		return NULL;
	return nt_session_patches_find(q->patches, q->pc, ev->from + !trap);
}

const struct nt_session_patch *nt_session_doubt(struct nt_session_queue *q,
						const struct nt_event *ev, unsigned int *events)
{
	const struct nt_session_patch *patch = patch_passed(q, ev);
	const uint64_t mode = (q->hw_id & NTRACE_HW_ID_INSTMODE) /
			      (NTRACE_HW_ID_INSTMODE & -NTRACE_HW_ID_INSTMODE);
	struct walk k = { .ev = ev, .direct = mode == 3 };

	if (!patch)
		return NULL;
	k.end = find_end(q, &k);
	k.mine.code = q->host->kernel(q);
	k.other.code = other_code(q);
	k.mine.pc = k.other.pc = q->pc;
	if (!k.end || !k.mine.code || !k.other.code)
		return NULL;
	if (!fits_other(&k))
		return NULL;
	*events = (unsigned int)(k.end - ev) + 1;
	return patch;
}
