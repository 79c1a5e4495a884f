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
 * A sync message may stand behind any instruction, and ends the walk at its F-ADDR. ProgTraceSync
 * has no HIST, and others may lack the outcome of the branch at which they were sent. The decoder
 * infers such outcomes from the copy in use, so the second walker tries both.
 *
 * Later messages are not considered, although the return from the interrupt may show which path was
 * taken. If a function that was called before the walk returns, the second walker takes the return
 * address from the first walker. If only the second walker returns from it, it does not know where
 * to, and the trace is taken to fit only the copy in use. This may be wrong, but is rare; to report
 * each such return would make most trace of patched functions a loss.
 */
#include <limits.h>
#include <string.h>

#include "nt-session.h"

/* As many as the decoder's return stack of N-Trace 1.0 has */
#define CALLS_MAX	32
/* Returns from functions that were called before the walk */
#define OUTER_MAX	16
/* More instructions than one message reports, and more branches without outcome */
#define STEPS_MAX	65536
#define TRIES_MAX	64
#define BRANCH_HALFWORDS	2

#define MIN(a, b)	((a) < (b) ? (a) : (b))

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
	bool		told;		/* the walk ends with a sync message, before end, */
	uint64_t	addr;		/* ... and this is its F-ADDR. */
	bool		hist;		/* It has HIST; */
	const struct nt_event *free;	/* ... else outcomes from here on may be inferred. */
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

	if (k->ev == k->end && (k->open || w->pc == (k->told ? k->addr : k->end->from)))
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

/* Can this instruction be at the end instead of the first walker's? */
static bool is_end(const struct walk *k, const struct nt_insn *mine, const struct nt_insn *i)
{
	return i->type != NT_TYPE_NONE && !(i->flags & (NT_INSN_DIRECT | NT_INSN_TRAPS)) &&
	       !is_silent_return(k, i) &&
	       (is_btm(k) || is_reported(k, i->type) == is_reported(k, mine->type));
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

/* Does the sync message at the end tell the target of an indirect jump or return? Go there. */
static bool other_is_told(struct walk *k)
{
	struct nt_insn i;

	if (!fetch(k, &k->other, &i) || i.type == NT_TYPE_NONE ||
	    i.flags & (NT_INSN_DIRECT | NT_INSN_TRAPS) ||
	    k->other.halfwords + i.len / 2 != k->mine.halfwords)
		return false;
	transfer(&k->other, k->addr);
	return true;
}

static bool is_same(const struct walk *k)
{
	return k->mine.transfers == k->other.transfers && k->mine.pc == k->other.pc;
}

/* HTM: go to the next branch without outcome. STEP_END: arrived where the sync message tells */
static enum step other_tries_to(struct walk *k, struct nt_insn *i)
{
	enum step s;

	while ((s = other_step(k, k->mine.halfwords, i)) == STEP_ON)
		;
	if (s == STEP_BRANCH && k->hist &&
	    k->mine.halfwords - k->other.halfwords > BRANCH_HALFWORDS)
		return STEP_FAILED;
	if (s == STEP_END && k->other.pc != k->addr)
		return STEP_FAILED;
	if (s == STEP_FAILED && other_is_told(k))
		return STEP_END;
	return s;
}

/* Is there a way to the end that is not the first walker's? If not: is there any? */
static bool other_tries(struct walk *k)
{
	struct walker todo[TRIES_MAX], same = k->other, before;
	unsigned int n = 0, steps = k->other.steps;
	bool found = false;
	struct nt_insn i;
	enum step s;

	todo[n++] = k->other;
	while (n && !k->unsure) {
		k->other = todo[--n];
		k->other.steps = steps;
		s = other_tries_to(k, &i);
		steps = k->other.steps;
		if (s == STEP_END && !is_same(k))
			return true;
		if (s == STEP_END) {
			found = true;
			same = k->other;
		}
		if (s != STEP_BRANCH)
			continue;
		k->unsure |= n + 2 > TRIES_MAX;
		if (k->unsure)
			break;
		before = k->other;
		if (other_takes(k, &i))
			todo[n++] = k->other;
		if (i.type == NT_TYPE_COND) {
			pass(&before, &i);
			todo[n++] = before;
		}
	}
	/* Else k->other is where it gave up. */
	if (!k->unsure)
		k->other = same;
	return found;
}

/* Can the second walker reach what the last event reports? */
static bool other_ends(struct walk *k)
{
	const struct nt_event *ev = k->end;
	enum step s;

	if (k->told && !is_btm(k))
		return other_tries(k);
	if (!k->told && ev->kind == NT_EV_BRANCH && !nt_type_is_trap(ev->type))
		return other_ends_in_branch(k);
	while (other_goes_on(k, k->mine.halfwords, &s))
		;
	if (s == STEP_FAILED && k->told)
		return other_is_told(k);
	return s == STEP_END && (!k->told || k->other.pc == k->addr);
}

/* ----------------------------------------------------------- both walkers --- */

/* Is this the first walker's last branch, whose outcome the sync message at the end may lack? */
static bool is_last_branch(const struct walk *k)
{
	return k->told && k->ev == k->end && k->mine.pc == k->addr;
}

static bool other_follows(struct walk *k, bool taken)
{
	if (is_btm(k))
		return !taken || other_has_message(k);
	return is_last_branch(k) || other_has_outcome(k, taken);
}

/* Do both walkers reach the end? */
static bool both_end(struct walk *k)
{
	bool free, taken;
	enum step s;

	do {
		free = k->free && k->ev >= k->free;
		s = mine_step(k, &taken);
		if (s == STEP_FAILED)
			return false;
		if (s == STEP_BRANCH && !free && !other_follows(k, taken))
			return false;
	} while (s != STEP_END);
	return k->open || other_ends(k);
}

static enum fit fit_other(struct walk *k)
{
	if (!both_end(k) && !k->unsure)
		return FIT_ONE;
	return is_same(k) ? FIT_SAME : FIT_BOTH;
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

/* May a sync message in the middle of trace have this event? Not where trace begins, or traps. */
static bool is_of_sync(const struct nt_event *ev)
{
	return is_beside(ev) || ev->kind == NT_EV_SYNC ||
	       (ev->kind == NT_EV_BRANCH && !(ev->flags & NT_EVF_LEFT) &&
		!nt_type_is_trap(ev->type));
}

static bool is_before(uint64_t offset, uint64_t other)
{
	return (int64_t)(offset - other) < 0;
}

/* May more events of the message come behind this one, whatever its flags? */
static bool may_go_on(const struct nt_event *ev)
{
	return ev->kind != NT_EV_BRANCH || ev->type == NT_TYPE_COND || is_direct(ev->type) ||
	       ev->flags & NT_EVF_INFERRED;
}

/*
 * Let the walk from the address @from on end at the sync message at @offset. False: the message
 * says nothing about it.
 */
static bool end_at_sync(const struct nt_session_queue *q, struct walk *k, uint64_t offset,
			const struct nt_msg *msg, uint64_t from)
{
	const struct nt_event *ev = k->ev, *last = q->ev + q->nr, *first;
	const uint64_t addr = nt_msg_addr(&q->params, msg, 0);

	while (ev < last && is_before(ev->offset, offset))
		ev++;
	first = ev;
	while (ev < last && ev->offset == offset && is_of_sync(ev))
		ev++;
	if (ev == last ? ev == first || may_go_on(&ev[-1]) : ev->offset == offset)
		return false;
	/* A message without an event stands in the code before the next one. */
	if (ev == k->ev && (addr <= from || addr > ev->from))
		return false;
	k->end = ev;
	k->open = false;
	k->told = true;
	k->addr = addr;
	/* tt-dfd may lack the last outcome wherever the branch is. */
	k->hist = msg->fields & NT_F_HIST && q->params.profile != NT_PROFILE_TT_DFD;
	k->free = k->hist || is_btm(k) ? NULL : first;
	return true;
}

/* Look for a sync message among those from the previous event on, up to @end. */
static void find_sync(const struct nt_session_queue *q, struct walk *k, uint64_t end,
		      uint64_t from)
{
	const uint64_t base = nt_session_queue_offset(q);
	const uint8_t *data = q->data + q->data_skip;
	const size_t len = q->data_len - q->data_skip;
	const bool same = k->ev->offset == q->used;
	size_t at = is_before(base, q->used) ? q->used - base : 0;
	struct nt_msg msg;
	uint64_t offset;
	int n;

	while ((n = nt_session_own_message(&q->params, data, len, &at, &msg))) {
		offset = base + at - (size_t)n + msg.idle;
		if (is_before(end, offset))
			return;
		if (!nt_tcode_is_sync(msg.tcode) || is_before(offset, q->used + !same))
			continue;
		if (end_at_sync(q, k, offset, &msg, from))
			return;
	}
}

/*
 * k->end: the first decoded event from k->ev on that reports more than an outcome. If there is none
 * yet: behind the last outcome, and k->open. NULL: nothing is reported
 */
static void find_event(const struct nt_session_queue *q, struct walk *k)
{
	const struct nt_event *ev = k->ev, *end = q->ev + q->nr;

	while (ev < end && (is_beside(ev) || is_on_the_way(q, ev)))
		ev++;
	k->end = ev;
	if (ev < end && is_end_of_walk(ev))
		return;
	while (ev > k->ev && (is_beside(&ev[-1]) || !is_reported(k, ev[-1].type)))
		ev--;
	k->open = ev > k->ev;
	k->end = k->open ? ev : NULL;
}

/* Where does the walk from the address @from on end? False: nothing is reported */
static bool find_end(const struct nt_session_queue *q, struct walk *k, uint64_t from)
{
	const struct nt_event *last;

	find_event(q, k);
	last = k->end && !k->open ? k->end : q->ev + q->nr - 1;
	find_sync(q, k, last->offset, from);
	return k->end;
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

/* Both walkers start at @start, a patched instruction: the path up to there is the same. */
static enum fit fit_at(struct nt_session_queue *q, struct walk *k, uint64_t start)
{
	const uint64_t from = k->ev->from;
	struct walker *w = &k->mine;
	struct nt_insn i;

	w->code = q->host->kernel(q);
	k->other.code = other_code(q);
	if (!w->code || !k->other.code)
		return FIT_ONE;
	w->pc = q->pc;
	while (fetch(k, w, &i) && w->pc != from && w->pc + i.len <= start)
		pass(w, &i);
	k->other.pc = w->pc;
	k->other.halfwords = w->halfwords;
	k->other.before = w->before;
	return fit_other(k);
}

/* How many events there are up to the end */
static unsigned int count_events(const struct walk *k, const struct nt_event *ev)
{
	const unsigned int events = (unsigned int)(k->end - ev) + !k->told;

	return events ? events : 1;
}

/* Compare both ways from each patched place up to @last, from @patch on. */
static const struct nt_session_patch *
find_doubtful(struct nt_session_queue *q, const struct nt_event *ev,
	      const struct nt_session_patch *patch, uint64_t last, unsigned int *events)
{
	unsigned int same = UINT_MAX;
	uint64_t from = patch->start;

	while (patch) {
		struct walk k = { .params = &q->params, .ev = ev };
		enum fit fit = find_end(q, &k, from) ? fit_at(q, &k, from) : FIT_ONE;

		if (fit == FIT_BOTH) {
			*events = k.open ? NT_SESSION_DOUBT_OPEN : count_events(&k, ev);
			return patch;
		}
		if (fit == FIT_ONE || k.open)
			same = 1;
		else
			same = MIN(same, count_events(&k, ev));
		/* A sync message may stand inside of what was patched. */
		from = patch->end;
		if (k.told && k.end == ev && k.addr < from) {
			from = k.addr;
			continue;
		}
		patch = nt_session_patches_find(q->patches, from, last);
		from = patch ? patch->start : 0;
	}
	q->no_doubt = same - 1;
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
