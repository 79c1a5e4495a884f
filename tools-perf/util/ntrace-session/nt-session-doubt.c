// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Does the trace fit both copies of the kernel's text after an instruction that was patched?
 *
 * A static key is a NOP at one time and a jump at another. Usually the next message fits only one
 * of them. If an interrupt comes right after the instruction, the message fits both: no branch is
 * reported on either path, and both paths have the same number of halfwords.
 *
 * Two walkers start at the same address. The first follows the decoder's events through the copy in
 * use. The second goes through the other copy and takes the same outcomes of conditional branches,
 * one by one. The walk ends at the first event that reports more than an outcome. The trace also
 * fits the other copy if the second walker can reach such an event after the same number of
 * halfwords. If such an event has not been decoded, the walk ends with the last outcome. Then all
 * events up to such an event are doubtful, unless the paths have met again.
 *
 * Later messages are not considered, although the return from the interrupt may show which path was
 * taken. If a function that was called before the walk returns, the second walker takes the return
 * address from the first walker.
 */
#include <string.h>

#include "nt-session.h"

/* As many as the decoder's return stack of N-Trace 1.0 has */
#define CALLS_MAX	32
/* Returns from functions that were called before the walk */
#define OUTER_MAX	16
/* More instructions than one message reports */
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
	uint64_t	transfers;	/* hash of taken transfers */
	unsigned int	steps;
	unsigned int	calls, returns;	/* entries of call[]; outer returns */
	bool		forgot;		/* entries of call[] */
	uint64_t	call[CALLS_MAX];
	struct nt_insn	before;		/* the previous instruction, unless a transfer */
};

struct walk {
	const struct nt_params *params;
	const struct nt_event *ev, *end;	/* next event, last event */
	bool		open;		/* end is behind the last event, and more will come */
	bool		behind;		/* end is behind the event that leads to a sync message */
	bool		told;		/* the walk ends with a sync message, */
	uint64_t	addr;		/* ... and this is its F-ADDR */
	bool		unsure;		/* there is no room to follow the walk further */
	struct walker	mine, other;
	uint64_t	outer[OUTER_MAX];	/* targets of outer returns */
};

enum step { STEP_ON, STEP_BRANCH, STEP_END, STEP_FAILED };
enum fit { FIT_ONE, FIT_SAME, FIT_BOTH };

static void transfer(struct walker *w, uint64_t to)
{
	const uint64_t k = 0x9e3779b97f4a7c15ULL;

	w->transfers = ((w->transfers ^ w->pc) * k ^ to) * k;
	w->pc = to;
}

static void enter_call(struct walker *w, const struct nt_insn *i)
{
	if (i->type != NT_TYPE_CALL && i->type != NT_TYPE_ICALL)
		return;
	if (w->calls == CALLS_MAX) {
		memmove(w->call, w->call + 1, --w->calls * sizeof(w->call[0]));
		w->forgot = true;
	}
	w->call[w->calls++] = i->pc + i->len;
}

static bool fetch(struct walk *k, struct walker *w, struct nt_insn *i)
{
	if (w->steps++ >= STEPS_MAX) {
		k->unsure = true;
		return false;
	}
	return nt_code_insn(w->code, w->pc, i) > 0;
}

/* The walk returns from a function that was called before it. */
static bool leave_outer(struct walk *k, struct walker *w)
{
	k->unsure |= w->forgot || w->returns == OUTER_MAX;
	return !k->unsure;
}

/* Step over an instruction that is not a taken transfer. */
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

/* Does the trace report the branch: an outcome in HTM, a message in BTM when it is taken? */
static bool is_reported(const struct walk *k, unsigned int type)
{
	return type == NT_TYPE_COND || (k->params->alljumps && is_direct(type));
}

static bool is_btm(const struct walk *k)
{
	return k->params->mode == NT_MODE_BTM;
}

/* --------------------------------------------------------- first walker --- */

/* The flow goes on as if the event were not there. */
static bool is_beside(const struct nt_event *ev)
{
	return ev->kind == NT_EV_CONTEXT || ev->kind == NT_EV_NOTICE;
}

bool nt_session_doubt_is_on_the_way(const struct nt_event *ev, bool last)
{
	if (ev->kind != NT_EV_BRANCH || ev->flags & NT_EVF_LEFT ||
	    (ev->flags & NT_EVF_SYNC && last))
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
		if (!leave_outer(k, w))
			return false;
		k->outer[w->returns++] = k->ev->to;
	}
	enter_call(w, i);
	transfer(w, k->ev->to);
	do {
		k->ev++;
	} while (k->ev != k->end && is_beside(k->ev));
	return true;
}

/* STEP_BRANCH: the walker passed a reported branch; *taken: whether it was taken */
static enum step mine_step(struct walk *k, bool *taken)
{
	struct walker *w = &k->mine;
	struct nt_insn i;

	if (k->ev == k->end && (k->open || k->behind || w->pc == k->end->from))
		return STEP_END;
	if (!fetch(k, w, &i))
		return STEP_FAILED;
	*taken = k->ev != k->end && w->pc == k->ev->from;
	if (!*taken)
		pass(w, &i);
	else if (!mine_takes(k, &i))
		return STEP_FAILED;
	return is_reported(k, i.type) ? STEP_BRANCH : STEP_ON;
}

/* --------------------------------------------------------- second walker --- */

/* The target of a jump through the register that AUIPC or LUI before it wrote (seqjump) */
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

/* A return that is not reported */
static bool is_silent_return(const struct walk *k, const struct nt_insn *i)
{
	return i->type == NT_TYPE_RET && k->params->retstack &&
	       (k->other.calls || k->other.returns < k->mine.returns);
}

static bool other_takes(struct walk *k, const struct nt_insn *i)
{
	struct walker *w = &k->other;
	uint64_t to = i->target;

	if (is_silent_return(k, i)) {
		if (!w->calls && !leave_outer(k, w))
			return false;
		to = w->calls ? w->call[--w->calls] : k->outer[w->returns++];
	} else if (!(i->flags & NT_INSN_DIRECT) &&
		   (i->type == NT_TYPE_RET || !sequential(k, i, &to))) {
		k->unsure |= i->type == NT_TYPE_RET && k->params->retstack && w->forgot;
		return false;
	}
	enter_call(w, i);
	w->halfwords += i->len / 2;
	transfer(w, to);
	return true;
}

/* One instruction. STEP_BRANCH: a reported branch is next; STEP_END: at @halfwords */
static enum step other_step(struct walk *k, uint64_t halfwords, struct nt_insn *i)
{
	struct walker *w = &k->other;

	if (w->halfwords >= halfwords)
		return w->halfwords == halfwords ? STEP_END : STEP_FAILED;
	if (!fetch(k, w, i) || i->flags & NT_INSN_TRAPS)
		return STEP_FAILED;
	if (is_reported(k, i->type))
		return STEP_BRANCH;
	if (i->type == NT_TYPE_NONE)
		pass(w, i);
	else if (!other_takes(k, i))
		return STEP_FAILED;
	return STEP_ON;
}

/* HTM: give the next reported branch this outcome. */
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

/* BTM: take the branch that ends where the first walker's did, and none before it. */
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

/* Step one instruction towards the end, past no reported branch; false: arrived or failed */
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

/*
 * Can this instruction be at the end instead of the first walker's? A sync message may stand behind
 * any instruction.
 */
static bool is_end(const struct walk *k, const struct nt_insn *mine, const struct nt_insn *i)
{
	const bool sync = k->end->flags & NT_EVF_SYNC;

	if (i->flags & NT_INSN_TRAPS || is_silent_return(k, i) ||
	    (!is_btm(k) && is_reported(k, i->type) != is_reported(k, mine->type)))
		return false;
	if (i->type == NT_TYPE_NONE)
		return sync && i->pc + i->len == k->end->to;
	if (i->flags & NT_INSN_DIRECT)
		return sync && i->target == k->end->to;
	return true;
}

static bool other_ends_in_branch(struct walk *k)
{
	struct nt_insn mine, i;
	uint64_t all;
	enum step s;

	if (!fetch(k, &k->mine, &mine))
		return false;
	all = k->mine.halfwords + mine.len / 2;
	do {
		if (!fetch(k, &k->other, &i))
			return false;
		if (k->other.halfwords + i.len / 2 == all)
			return is_end(k, &mine, &i);
	} while (other_goes_on(k, all, &s));
	return false;
}

/* Does the sync message at the end tell the target of an indirect jump or return? */
static bool other_is_told(struct walk *k)
{
	struct nt_insn i;

	return fetch(k, &k->other, &i) && i.type != NT_TYPE_NONE &&
	       !(i.flags & (NT_INSN_DIRECT | NT_INSN_TRAPS)) &&
	       k->other.halfwords + i.len / 2 == k->mine.halfwords;
}

/* Can the second walker reach what the last event reports? */
static bool other_ends(struct walk *k)
{
	const struct nt_event *ev = k->end;
	enum step s;

	if (!k->told && ev->kind == NT_EV_BRANCH && !nt_type_is_trap(ev->type))
		return other_ends_in_branch(k);
	while (other_goes_on(k, k->mine.halfwords, &s))
		;
	if (s == STEP_FAILED && k->told)
		return other_is_told(k);
	return s == STEP_END && (!k->told || k->other.pc == k->addr);
}

/* ----------------------------------------------------------- both walkers --- */

/* Do both walkers reach the end? */
static bool both_end(struct walk *k)
{
	enum step s;
	bool taken;

	while ((s = mine_step(k, &taken)) != STEP_END) {
		if (s == STEP_FAILED)
			return false;
		if (s == STEP_BRANCH &&
		    !(is_btm(k) ? !taken || other_has_message(k) : other_has_outcome(k, taken)))
			return false;
	}
	return k->open || other_ends(k);
}

static enum fit fit_other(struct walk *k)
{
	if (!both_end(k) && !k->unsure)
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

static bool is_on_the_way(const struct nt_session_queue *q, const struct nt_event *ev)
{
	/* Behind the last decoded event, more of its message may come. */
	const bool last = ev + 1 < q->ev + q->nr && ev[1].offset != ev->offset;

	return nt_session_doubt_is_on_the_way(ev, last);
}

static bool is_end_of_walk(const struct nt_event *ev)
{
	if (ev->flags & NT_EVF_LEFT || (ev->kind == NT_EV_STOP && ev->reason == NT_EVCODE_NONE))
		return false;
	return ev->kind == NT_EV_BRANCH || ev->kind == NT_EV_STOP || ev->kind == NT_EV_SYNC;
}

/*
 * A sync message may stand behind any instruction, so the branch before it may be another one, or
 * none. The walk ends with its address.
 */
static const struct nt_event *find_told(struct walk *k, const struct nt_event *ev)
{
	if (ev->kind == NT_EV_SYNC) {
		k->told = true;
		k->addr = ev->from;
	} else if (ev->flags & NT_EVF_SYNC && (is_direct(ev->type) || ev->type == NT_TYPE_COND ||
					       ev->flags & NT_EVF_INFERRED)) {
		k->told = k->behind = true;
		k->addr = ev->to;
		ev++;
	}
	return ev;
}

/*
 * The first decoded event from k->ev on that reports more than an outcome. If there is none yet:
 * behind the last outcome, and k->open. NULL: nothing is reported
 */
static const struct nt_event *find_end(const struct nt_session_queue *q, struct walk *k)
{
	const struct nt_event *ev = k->ev, *end = q->ev + q->nr;

	while (ev < end && (is_beside(ev) || is_on_the_way(q, ev)))
		ev++;
	if (ev < end && is_end_of_walk(ev))
		return find_told(k, ev);
	while (ev > k->ev && (is_beside(&ev[-1]) || !is_reported(k, ev[-1].type)))
		ev--;
	k->open = ev > k->ev;
	return k->open ? ev : NULL;
}

/* Where the code before q->ev[i] begins; false: not known */
static bool run_start(const struct nt_session_queue *q, int i, uint64_t *pc)
{
	const struct nt_event *ev;

	while (i-- > q->pos) {
		ev = &q->ev[i];
		*pc = ev->to;
		if (ev->kind == NT_EV_BRANCH || ev->kind == NT_EV_START ||
		    ev->kind == NT_EV_COUNTED)
			return true;
		if (ev->kind == NT_EV_STOP || ev->kind == NT_EV_LOSS)
			return false;
	}
	*pc = q->pc;
	return q->have_pc;
}

static bool ran_patched(const struct nt_session_queue *q, int i)
{
	uint64_t pc;

	for (; i < q->nr; i++)
		if (run_start(q, i, &pc) &&
		    nt_session_patches_find(q->patches, pc, q->ev[i].from + 4))
			return true;
	return false;
}

bool nt_session_doubt_is_possible(const struct nt_session_queue *q)
{
	return q->patches && ran_patched(q, q->pos);
}

bool nt_session_doubt_goes_on(const struct nt_session_queue *q)
{
	int i = q->nr;

	if (!q->patches)
		return false;
	while (i > q->pos && is_on_the_way(q, &q->ev[i - 1]))
		i--;
	return ran_patched(q, i);
}

/* Both walkers start at the patched instruction: the path up to there is the same. */
static enum fit fit_at(struct nt_session_queue *q, struct walk k,
		       const struct nt_session_patch *patch)
{
	const struct nt_event *ev = k.ev;
	struct nt_insn i;

	k.mine.code = q->host->kernel(q);
	k.other.code = other_code(q);
	if (!k.mine.code || !k.other.code)
		return FIT_ONE;
	k.mine.pc = q->pc;
	while (fetch(&k, &k.mine, &i) && k.mine.pc != ev->from && k.mine.pc + i.len <= patch->start)
		pass(&k.mine, &i);
	k.other.pc = k.mine.pc;
	k.other.halfwords = k.mine.halfwords;
	k.other.before = k.mine.before;
	return fit_other(&k);
}

/* How many events there are up to the end */
static unsigned int count_events(const struct walk *k, const struct nt_event *ev)
{
	return (unsigned int)(k->end - ev) + !k->behind;
}

/* Compare both ways from each patched place up to @last, from @patch on. */
static const struct nt_session_patch *
find_doubtful(struct nt_session_queue *q, const struct nt_event *ev,
	      const struct nt_session_patch *patch, uint64_t last, unsigned int *events)
{
	struct walk k = { .params = &q->params, .ev = ev };
	enum fit fit = FIT_SAME;

	k.end = find_end(q, &k);
	for (; k.end && patch; patch = nt_session_patches_find(q->patches, patch->end, last)) {
		enum fit f = fit_at(q, k, patch);

		if (f == FIT_BOTH) {
			*events = k.open ? NT_SESSION_DOUBT_OPEN : count_events(&k, ev);
			return patch;
		}
		fit = f == FIT_SAME ? fit : FIT_ONE;
	}
	if (k.end && !k.open && fit == FIT_SAME)
		q->no_doubt = count_events(&k, ev) - 1;
	return NULL;
}

const struct nt_session_patch *nt_session_doubt(struct nt_session_queue *q,
						const struct nt_event *ev, unsigned int *events)
{
	/* Only branches executed the instruction at ev->from. */
	bool before = ev->kind != NT_EV_BRANCH || nt_type_is_trap(ev->type);
	const uint64_t last = ev->from + (before ? 0 : 4);
	const struct nt_session_patch *patch;

	if (q->no_doubt) {
		q->no_doubt--;
		return NULL;
	}
	if (!q->have_pc || (!ev->insns && before) || q->params.mode == NT_MODE_UNKNOWN)
		return NULL;
	patch = nt_session_patches_find(q->patches, q->pc, last);
	return patch ? find_doubtful(q, ev, patch, last, events) : NULL;
}
