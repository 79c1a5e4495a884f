// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A patched place of the kernel behind which the trace fits both copies of its text.
 *
 * An instruction that was a NOP at one time and a jump at another makes two ways. Most often the
 * next message fits one of them only. Where an interrupt comes right behind the place it fits both:
 * neither way has a branch that is reported, and both have as many halfwords.
 *
 * Two walkers go from the same address, one through the copy in use, along the decoder's events,
 * one through the other copy. The second takes the outcomes of the first one's conditional branches,
 * one by one. The first event that is more than an outcome ends the walk. The trace fits
 * the other copy, too, if the second walker can be there after as many halfwords.
 *
 * What comes later is not asked: a return from the interrupt may well tell which way was taken. Nor
 * does the second walker know where functions return to that were called before the walk, but from
 * the first one.
 */
#include "nt-session.h"

#define CALLS_MAX	64
/* Returns from functions that were called before the walk began */
#define OUTER_MAX	16
/* Far more than a message can be about */
#define STEPS_MAX	65536

#define OPCODE(raw)	((raw) & 0x7f)
#define OPCODE_AUIPC	0x17
#define OPCODE_LUI	0x37
#define OPCODE_JALR	0x67
#define RD(raw)		((raw) >> 7 & 31)
#define RS1(raw)	((raw) >> 15 & 31)

struct walker {
	struct nt_code	*code;
	uint64_t	pc;
	uint64_t	halfwords;
	uint64_t	transfers;	/* a sum of those that were taken */
	unsigned int	steps;
	unsigned int	calls, returns;	/* in the array; of the outer ones */
	uint64_t	call[CALLS_MAX];
	struct nt_insn	before;		/* the last one that was no transfer */
};

struct walk {
	const struct nt_params *params;
	const struct nt_event *ev, *end;	/* the event to come, and the last one */
	struct walker	mine, other;
	uint64_t	outer[OUTER_MAX];	/* where they led */
};

enum step { STEP_ON, STEP_BRANCH, STEP_END, STEP_FAILED };
enum fit { FIT_ONE, FIT_SAME, FIT_BOTH };

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
	w->before = *i;
}

static bool is_direct(unsigned int type)
{
	return type == NT_TYPE_JUMP || type == NT_TYPE_CALL || type == NT_TYPE_JUMP_LINK;
}

/* Is there an outcome, or in BTM a message, when it is taken? */
static bool is_told(const struct walk *k, unsigned int type)
{
	return type == NT_TYPE_COND || (k->params->alljumps && is_direct(type));
}

static bool is_btm(const struct walk *k)
{
	return k->params->mode == NT_MODE_BTM;
}

/* ----------------------------------------------------- along the events --- */

/* A taken branch without an address in its message */
static bool is_on_the_way(const struct nt_event *ev)
{
	if (ev->kind != NT_EV_BRANCH || ev->flags & (NT_EVF_SYNC | NT_EVF_LEFT))
		return false;
	return ev->type == NT_TYPE_COND || is_direct(ev->type) || ev->flags & NT_EVF_INFERRED;
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

/* STEP_BRANCH: *taken is whether a branch was that is told, and that was passed. */
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
	return is_told(k, i.type) ? STEP_BRANCH : STEP_ON;
}

/* ------------------------------------------------ through the other copy --- */

/* AUIPC or LUI, and a jump by its register: where that leads is known (seqjump). */
static bool sequential(const struct walk *k, const struct nt_insn *i, uint64_t *to)
{
	const struct nt_insn *before = &k->other.before;
	const uint64_t high = (uint64_t)(int64_t)(int32_t)(before->raw & 0xfffff000);

	if (!k->params->seqjump || OPCODE(i->raw) != OPCODE_JALR ||
	    before->pc + before->len != i->pc || !RD(before->raw) ||
	    RD(before->raw) != RS1(i->raw) ||
	    (OPCODE(before->raw) != OPCODE_AUIPC && OPCODE(before->raw) != OPCODE_LUI))
		return false;
	*to = high + (uint64_t)((int64_t)(int32_t)i->raw >> 20);
	if (OPCODE(before->raw) == OPCODE_AUIPC)
		*to += before->pc;
	*to &= k->params->xlen == 32 ? 0xfffffffe : ~1ULL;
	return true;
}

/* A return that no message tells */
static bool is_silent_return(const struct walk *k, const struct nt_insn *i)
{
	return i->type == NT_TYPE_RET && k->params->retstack &&
	       (k->other.calls || k->other.returns < k->mine.returns);
}

static bool other_takes(struct walk *k, const struct nt_insn *i)
{
	struct walker *w = &k->other;
	uint64_t to = i->target;

	if (is_silent_return(k, i))
		to = w->calls ? w->call[--w->calls] : k->outer[w->returns++];
	else if (!(i->flags & NT_INSN_DIRECT) && (i->type == NT_TYPE_RET || !sequential(k, i, &to)))
		return false;
	if (!enter_call(w, i))
		return false;
	w->halfwords += i->len / 2;
	transfer(w, to);
	return true;
}

/* Up to a branch that is told when it is taken, which is not passed, or so many halfwords */
static enum step other_step(struct walk *k, uint64_t halfwords, struct nt_insn *i)
{
	struct walker *w = &k->other;

	if (w->halfwords >= halfwords)
		return w->halfwords == halfwords ? STEP_END : STEP_FAILED;
	if (!fetch(w, i) || i->flags & NT_INSN_TRAPS)
		return STEP_FAILED;
	if (is_told(k, i->type))
		return STEP_BRANCH;
	if (i->type == NT_TYPE_NONE)
		pass(w, i);
	else if (!other_takes(k, i))
		return STEP_FAILED;
	return STEP_ON;
}

/* HTM: the next branch that is told has this outcome. */
static bool other_has_outcome(struct walk *k, bool taken)
{
	struct nt_insn i;
	enum step s;

	while ((s = other_step(k, UINT64_MAX, &i)) == STEP_ON)
		;
	if (s != STEP_BRANCH || (!taken && i.type != NT_TYPE_COND))
		return false;
	if (taken)
		return other_takes(k, &i);
	pass(&k->other, &i);
	return true;
}

/* BTM: a branch that is told was taken, and ends where mine did. Those before were not taken. */
static bool other_has_message(struct walk *k)
{
	struct nt_insn i;
	enum step s;

	while ((s = other_step(k, k->mine.halfwords, &i)) == STEP_ON || s == STEP_BRANCH) {
		if (s == STEP_ON)
			continue;
		if (k->other.halfwords + i.len / 2 == k->mine.halfwords)
			return other_takes(k, &i);
		if (i.type != NT_TYPE_COND)
			return false;
		pass(&k->other, &i);
	}
	return false;
}

/* On the way to the end no branch is told. */
static bool other_goes_on(struct walk *k, uint64_t halfwords, enum step *s)
{
	struct nt_insn i;

	*s = other_step(k, halfwords, &i);
	if (*s == STEP_BRANCH && is_btm(k) && i.type == NT_TYPE_COND)
		pass(&k->other, &i);
	else if (*s == STEP_BRANCH)
		*s = STEP_FAILED;
	return *s == STEP_ON || *s == STEP_BRANCH;
}

/* The last event is a branch, which its message counts: can this be it? */
static bool is_end(const struct walk *k, const struct nt_insn *i)
{
	if (i->type == NT_TYPE_NONE || i->flags & NT_INSN_TRAPS || is_silent_return(k, i))
		return false;
	if (i->flags & NT_INSN_DIRECT)
		return k->end->flags & NT_EVF_SYNC && i->target == k->end->to;
	return true;
}

static bool other_ends_in_branch(struct walk *k)
{
	struct nt_insn i;
	uint64_t all;
	enum step s;

	if (!fetch(&k->mine, &i))
		return false;
	all = k->mine.halfwords + i.len / 2;
	do {
		if (!fetch(&k->other, &i))
			return false;
		if (k->other.halfwords + i.len / 2 == all)
			return is_end(k, &i);
	} while (other_goes_on(k, all, &s));
	return false;
}

/* Can what the last event tells be where the other way ends? */
static bool other_ends(struct walk *k)
{
	const struct nt_event *ev = k->end;
	enum step s;

	if (ev->kind == NT_EV_BRANCH && !nt_type_is_trap(ev->type))
		return other_ends_in_branch(k);
	while (other_goes_on(k, k->mine.halfwords, &s))
		;
	return s == STEP_END && (ev->kind != NT_EV_SYNC || k->other.pc == ev->from);
}

/* --------------------------------------------------------------- together --- */

static enum fit fit_other(struct walk *k)
{
	enum step s;
	bool taken;

	while ((s = mine_step(k, &taken)) != STEP_END) {
		if (s == STEP_FAILED)
			return FIT_ONE;
		if (s == STEP_BRANCH &&
		    !(is_btm(k) ? !taken || other_has_message(k) : other_has_outcome(k, taken)))
			return FIT_ONE;
	}
	if (!other_ends(k))
		return FIT_ONE;
	return k->mine.transfers == k->other.transfers && k->mine.pc == k->other.pc ? FIT_SAME :
										     FIT_BOTH;
}

static struct nt_code *other_code(struct nt_session_queue *q)
{
	struct nt_code *code;

	q->kernel_at_end = !q->kernel_at_end;
	code = q->host->kernel(q);
	q->kernel_at_end = !q->kernel_at_end;
	return code;
}

/* The first event from @ev on, of those that were decoded, that tells more */
static const struct nt_event *find_end(const struct nt_session_queue *q, const struct nt_event *ev)
{
	const struct nt_event *end = q->ev + q->nr;

	while (ev < end && is_on_the_way(ev))
		ev++;
	if (ev == end || ev->flags & NT_EVF_LEFT ||
	    (ev->kind == NT_EV_STOP && ev->reason == NT_EVCODE_NONE))
		return NULL;
	return ev->kind == NT_EV_BRANCH || ev->kind == NT_EV_STOP || ev->kind == NT_EV_SYNC ?
	       ev : NULL;
}

/* Both ways are the same up to the instruction that was patched. */
static enum fit fit_at(struct nt_session_queue *q, const struct nt_event *ev,
		       const struct nt_event *end, const struct nt_session_patch *patch)
{
	struct walk k = { .params = &q->params, .ev = ev, .end = end };
	struct nt_insn i;

	k.mine.code = q->host->kernel(q);
	k.other.code = other_code(q);
	if (!k.mine.code || !k.other.code)
		return FIT_ONE;
	k.mine.pc = q->pc;
	while (fetch(&k.mine, &i) && k.mine.pc != ev->from && k.mine.pc + i.len <= patch->start)
		pass(&k.mine, &i);
	k.other.pc = k.mine.pc;
	k.other.halfwords = k.mine.halfwords;
	k.other.before = k.mine.before;
	return fit_other(&k);
}

const struct nt_session_patch *nt_session_doubt(struct nt_session_queue *q,
						const struct nt_event *ev, unsigned int *events)
{
	/* Branch events are about their instruction, too; other events about what is before. */
	bool before = ev->kind != NT_EV_BRANCH || nt_type_is_trap(ev->type);
	const uint64_t last = ev->from + (before ? 0 : 4);
	const struct nt_session_patch *patch = NULL;
	const struct nt_event *end;
	enum fit fit = FIT_SAME;

	if (q->no_doubt) {
		q->no_doubt--;
		return NULL;
	}
	if (q->have_pc && (ev->insns || !before) && q->params.mode != NT_MODE_UNKNOWN)
		patch = nt_session_patches_find(q->patches, q->pc, last);
	end = patch ? find_end(q, ev) : NULL;
	for (; end && patch; patch = nt_session_patches_find(q->patches, patch->end, last)) {
		enum fit f = fit_at(q, ev, end, patch);

		if (f == FIT_BOTH) {
			*events = (unsigned int)(end - ev) + 1;
			return patch;
		}
		fit = f == FIT_SAME ? fit : FIT_ONE;
	}
	if (end && fit == FIT_SAME)
		q->no_doubt = (unsigned int)(end - ev);
	return NULL;
}
