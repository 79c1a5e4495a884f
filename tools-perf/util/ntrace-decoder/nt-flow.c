// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The flow layer: from messages and code to control flow
 *
 * A message reports how far execution went (I-CNT, and the I-CNT of earlier ResourceFull messages:
 * the credit), the outcome of each conditional branch on the path (HIST), and how the path ended:
 *
 *	begin_*()	message -> how far to walk, and with which outcomes
 *	nt_walk()	through the block graph; may take several batches
 *	finish()	what the message says about the end of the walk
 */
#include <stdlib.h>

#include "nt-count.h"
#include "nt-short.h"

/* Depth of the return stack: of the specification, and of the profiles' counter */
#define STACK_1_0	32
#define STACK_COUNTER	1024

/* ---------------------------------------------------------------- events - */

static void add_notice(struct nt_flow *f, struct batch *b, enum nt_error reason)
{
	struct nt_event *ev = add_event(f, b, NT_EV_NOTICE);

	ev->reason = reason;
	if (f->state == RUNNING) {
		ev->from = ev->to = f->at.pc;
		ev->flags |= NT_EVF_PC;
	}
}

static void mark(struct nt_flow *f, struct batch *b)
{
	b->mark = b->n;
	b->mark_pc = f->at.pc;
	b->mark_insns = f->insns;
}

/* ------------------------------------------------------------- messages -- */

static void stop(struct nt_flow *f, struct batch *b, unsigned int reason, bool exact)
{
	struct nt_event *ev = add_event(f, b, NT_EV_STOP);

	ev->from = f->at.pc;
	ev->reason = reason;
	ev->flags |= f->left ? NT_EVF_LEFT : 0;
	ev->insns = f->insns;
	f->insns = 0;
	f->left = false;
	f->state = STOPPED;
	f->stop_pc = f->at.pc;
	f->stop_valid = exact;
}

/* Does execution that left at stop_pc continue at addr? */
static bool joins(const struct nt_flow *f, uint64_t addr)
{
	struct nt_code *code = nt_walk_code_at(f, f->stop_pc);
	struct nt_insn insn;

	if (!f->stop_valid)
		return false;
	if (addr == f->stop_pc)
		return true;
	return code && nt_code_one(code, f->stop_pc, &insn) > 0 &&
	       (insn.flags & NT_INSN_TRAPS) &&
	       addr == ((f->stop_pc + insn.len) & f->mask);
}

static void start(struct nt_flow *f, struct batch *b, uint64_t addr)
{
	struct nt_event *ev = add_event(f, b, NT_EV_START);

	ev->from = ev->to = addr;
	ev->reason = f->msg.sync;
	if (joins(f, addr))
		ev->flags |= NT_EVF_JOIN;
	f->stop_valid = false;
	f->state = RUNNING;
	f->insns = 0;
	nt_walk_go_to(f, addr);
}

/* The effect of every sync message on the decoder */
static void resync(struct nt_flow *f)
{
	f->stack.depth = 0;
	f->credit = 0;
	f->last_at = SIZE_MAX;
	f->last_valid = false;
	f->just_synced = true;
	f->last_sync = f->msg_offset;
}

/* ------------------------------------------------------------ HTM or BTM - */

/* The mode of messages that only exist in one mode: B.2, B.3 */
static enum nt_mode mode_told(const struct nt_msg *m)
{
	switch (m->tcode) {
	case NT_TCODE_DIRECT_BRANCH:
	case NT_TCODE_DIRECT_BRANCH_SYNC:
		return NT_MODE_BTM;
	case NT_TCODE_INDIRECT_BRANCH_HIST:
	case NT_TCODE_INDIRECT_BRANCH_HIST_SYNC:
		return NT_MODE_HTM;
	case NT_TCODE_RESOURCE_FULL:
		return m->rcode && m->fields & NT_F_RDATA0 ? NT_MODE_HTM : NT_MODE_UNKNOWN;
	case NT_TCODE_PROG_TRACE_CORRELATION:
		return m->fields & NT_F_HIST ? NT_MODE_HTM : NT_MODE_UNKNOWN;
	default:
		/* IndirectBranch in HTM has an empty HIST, RepeatBranch is unspecified: B.6-6 */
		return NT_MODE_UNKNOWN;
	}
}

/* TCODEs of the messages that may contradict a mode */
static const uint64_t strange[] = {
	[NT_MODE_BTM] = NT_TCODE_BIT(INDIRECT_BRANCH_HIST) | NT_TCODE_BIT(RESOURCE_FULL) |
			NT_TCODE_BIT(INDIRECT_BRANCH_HIST_SYNC) |
			NT_TCODE_BIT(PROG_TRACE_CORRELATION),
	[NT_MODE_HTM] = NT_TCODE_BIT(DIRECT_BRANCH),
};

/*
 * Does the message contradict the mode?  An empty HIST is harmless in BTM, and DirectBranchSync has
 * an F-ADDR.
 */
static bool contradicts(const struct nt_flow *f)
{
	const struct nt_msg *m = &f->msg;

	if (!(strange[f->mode] >> m->tcode & 1))
		return false;
	return f->mode == NT_MODE_HTM ||
	       (mode_told(m) == NT_MODE_HTM &&
		(m->tcode != NT_TCODE_PROG_TRACE_CORRELATION || m->hist > 1));
}

/*
 * Were branches without outcome not taken?  In BTM, yes.  In HTM, they have outcomes that the
 * message lacks, which only sync messages may do.
 */
static bool is_plain(const struct nt_flow *f)
{
	if (contradicts(f))
		return f->msg.tcode == NT_TCODE_DIRECT_BRANCH;
	if (f->mode != NT_MODE_UNKNOWN)
		return f->mode == NT_MODE_BTM;
	return !nt_is_sync(&f->msg) && !(f->msg.fields & NT_F_HIST);
}

/* ---- begin: how far to walk */

static void begin_walk(struct nt_flow *f, const struct walk *w)
{
	f->walk = *w;
	f->open = NT_BLOCK_NONE;
	f->stage = WALKING;
}

static unsigned int hist_bits(uint64_t hist)
{
	return 63 - __builtin_clzll(hist);
}

/* Begin a message with I-CNT, perhaps with HIST.  0 or an enum nt_error */
static int begin_total(struct nt_flow *f)
{
	const struct nt_msg *m = &f->msg;
	struct walk w = { .left = 0 };

	if (m->icnt > (uint64_t)ICNT_MAX)
		return NT_ERANGE;
	w.left = f->credit + (int64_t)m->icnt;
	f->empty = !w.left;
	f->credit = 0;
	if (w.left < 0)
		return NT_ENEGATIVE;
	if (m->fields & NT_F_HIST) {
		if (!m->hist)
			return NT_EHIST;
		w.hist = m->hist;
		w.nbits = hist_bits(m->hist);
	}
	w.plain = is_plain(f);
	begin_walk(f, &w);
	return 0;
}

/*
 * Half-words in units of work: one each if each may be a branch that was not taken, otherwise a
 * fraction for walking them.
 */
static int64_t halfword_units(const struct walk *w, int64_t halfwords)
{
	return w->plain && halfwords > 0 ? halfwords : halfwords / 16;
}

/* Is there enough work left?  Check in advance: nothing stops a walk without events. */
static bool is_paid(const struct nt_flow *f, const struct walk *w)
{
	return !w->left || halfword_units(w, w->left) <= f->work;
}

/* begin_total() for a received message */
static int begin_message(struct nt_flow *f)
{
	int error = begin_total(f);

	return error || is_paid(f, &f->walk) ? error : NT_EWORK;
}

/* Begin ResourceFull with outcomes, once.  0 or an enum nt_error */
static int begin_outcomes(struct nt_flow *f, uint64_t hist)
{
	struct walk w = { .left = HIST_REACH, .by_hist = true, .hist = hist };

	if (f->credit < -ICNT_MAX)
		return NT_ERANGE;
	w.nbits = hist_bits(hist);
	if (w.nbits)
		begin_walk(f, &w);
	return 0;
}

/* ... `times` times */
static int begin_hist(struct nt_flow *f, uint64_t hist, uint64_t times)
{
	if (!hist)
		return NT_EHIST;
	if (!times || times > REPEAT_MAX)
		return NT_ERANGE;
	if (times > 1 && hist > 1) {
		f->repeats = times - 1;
		f->rep.whole = false;
		f->rep.left = 0;
		/* begin_again() needs it there; a memo is for a single walk */
		f->msg.hist = hist;
		if (f->counts)
			f->counts->was.valid = false;
	}
	return begin_outcomes(f, hist);
}

static int begin_resource_full(struct nt_flow *f)
{
	const struct nt_msg *m = &f->msg;

	switch (m->rcode) {
	case 0:
		if (m->rdata[0] > (uint64_t)ICNT_MAX)
			return NT_ERANGE;
		f->credit += (int64_t)m->rdata[0];
		return 0;
	case 1:
		return begin_hist(f, m->rdata[0], 1);
	case 2:
		return begin_hist(f, m->rdata[0], m->rdata[1]);
	}
	if (!(m->fields & NT_F_RDATA0))
		return NT_ERESERVED;
	/* profiles: RCODE 8 and 9 count equal outcomes, not taken and taken */
	return begin_hist(f, m->rcode == 8 ? 2 : 3, m->rdata[0]);
}

static int begin_repeat(struct nt_flow *f)
{
	if (!f->last_valid)
		return NT_EREPEAT;
	if (f->msg.bcnt > REPEAT_MAX)
		return NT_ERANGE;
	f->repeats = f->msg.bcnt;
	f->rep.left = 0;
	return 0;
}

static void take_address(struct nt_flow *f)
{
	if (f->msg.fields & NT_F_ADDR)
		f->msg_target = f->ref = nt_msg_addr(&f->params, &f->msg, f->ref);
}

/* Repeat the outcomes, or the last branch message: to its target, or by its U-ADDR. */
static int begin_again(struct nt_flow *f)
{
	if (f->work < 0)
		return NT_EWORK;
	f->work -= WORK_PER_REPETITION;
	f->rep.cost += WORK_PER_REPETITION;
	f->repeats--;
	if (f->msg.tcode == NT_TCODE_RESOURCE_FULL)
		return begin_outcomes(f, f->msg.hist);
	f->msg.fields = f->last.fields;
	f->msg.tcode = f->last.tcode;
	f->msg.btype = f->last.btype;
	f->msg.icnt = f->last.icnt;
	f->msg.hist = f->last.hist;
	f->msg.addr = f->last.addr;
	f->msg_target = f->last.target;
	if (f->by_uaddr)
		take_address(f);
	return begin_total(f);
}

/* ---- finish: what the message says about the end of the walk */

static const uint8_t trap_types[4] = {
	NT_TYPE_NONE, NT_TYPE_TRAP, NT_TYPE_EXCEPTION, NT_TYPE_INTERRUPT,
};

static int finish_trap(struct nt_flow *f, struct batch *b, unsigned int type)
{
	uint64_t to = f->msg_target;
	int error = nt_walk_silent(f, b);

	if (error)
		return error;
	add_branch(f, b, type, f->at.pc, to, 0);
	b->end |= f->until_other;
	nt_walk_go_to(f, to);
	return 0;
}

static int finish_indirect(struct nt_flow *f, struct batch *b)
{
	if (f->open == NT_BLOCK_NONE)
		return nt_walk_custom(f, b, f->msg_target);
	if (nt_walk_open_is_direct(f))
		return NT_ENOBRANCH;
	/* if the encoder does not know the target, the code may */
	if (f->leaving && nt_walk_open_is_known(f, &f->msg_target))
		f->leaving = false;
	return nt_walk_told(f, b, f->msg_target);
}

static int finish_direct(struct nt_flow *f, struct batch *b)
{
	if (f->open == NT_BLOCK_NONE || !nt_walk_open_is_direct(f))
		return NT_ENOBRANCH;
	nt_walk_direct(f, b);
	return 0;
}

/* Does this sync message mean that something else, or nothing, ran before it? */
static bool restarts(const struct nt_msg *m)
{
	switch (m->sync) {
	case NT_SYNC_RESET:
	case NT_SYNC_DEBUG_EXIT:
	case NT_SYNC_TRACE_ENABLE:
	case NT_SYNC_POWER_UP:
		return true;
	default:
		return false;
	}
}

/* Do the counted instructions lead to the message's address, without a trap? */
static bool leads_to_address(const struct nt_msg *m)
{
	return nt_is_sync(m) && m->sync != NT_SYNC_OVERRUN && !restarts(m) && !m->btype;
}

/* Report a mark, if requested. */
static void report_sync(struct nt_flow *f, struct batch *b)
{
	struct nt_event *ev;

	if (!(f->reported_syncs >> f->msg.sync & 1))
		return;
	ev = add_event(f, b, NT_EV_SYNC);
	ev->from = ev->to = f->at.pc;
	ev->reason = f->msg.sync;
	ev->insns = f->insns;
	f->insns = 0;
}

/* The open block's end, or linear code, must lead to the sync address. */
static int check_sync(struct nt_flow *f, struct batch *b, bool just_synced)
{
	uint64_t addr = f->msg_target;

	if (f->open != NT_BLOCK_NONE && !nt_walk_open_is_direct(f))
		return nt_walk_told(f, b, addr);
	/* with ProgTraceSync, the branch was taken only if there is no other way to the address */
	if (f->open != NT_BLOCK_NONE && addr == nt_walk_open_target(f) &&
	    (f->msg.tcode == NT_TCODE_DIRECT_BRANCH_SYNC || !nt_walk_open_leads_on(f))) {
		nt_walk_direct(f, b);
		return 0;
	}
	if (addr == f->at.pc)
		return nt_walk_silent(f, b);
	/* a trap right after a trap return: two sync messages with nothing between them */
	if (just_synced && f->empty)
		return finish_trap(f, b, NT_TYPE_TRAP);
	return nt_walk_custom(f, b, addr) ? NT_EADDR : 0;
}

/*
 * No message shows whether the open branch was taken: go back to it, otherwise it would count as
 * not taken.
 */
static void leave_open_branch(struct nt_flow *f)
{
	if (f->open == NT_BLOCK_NONE || !nt_walk_open_is_direct(f))
		return;
	nt_walk_go_to(f, f->last_pc);
	f->insns--;
}

/*
 * Something else ran.  An open return or jump has retired before that, and its target needs no
 * message.  Returns whether the position is known.
 */
static bool leave(struct nt_flow *f, struct batch *b)
{
	if (f->open != NT_BLOCK_NONE && nt_walk_open_is_direct(f)) {
		leave_open_branch(f);
		return false;
	}
	return !nt_walk_silent(f, b);
}

static int finish_sync(struct nt_flow *f, struct batch *b, bool just_synced)
{
	int error;

	if (f->msg.sync == NT_SYNC_OVERRUN)
		return NT_EOVERFLOW;
	if (restarts(&f->msg)) {
		bool exact = leave(f, b);

		stop(f, b, NT_EVCODE_NONE, exact);
		start(f, b, f->msg_target);
	} else {
		error = f->msg.btype ? finish_trap(f, b, trap_types[f->msg.btype]) :
			check_sync(f, b, just_synced);
		if (error)
			return error;
		report_sync(f, b);
	}
	resync(f);
	return 0;
}

static int finish_stop(struct nt_flow *f, struct batch *b)
{
	bool exact = !nt_walk_silent(f, b);

	if (f->mode == NT_MODE_HTM && !f->msg.cdf && !nt_is_sifive(&f->params))
		add_notice(f, b, NT_ECDF);
	stop(f, b, f->msg.evcode, exact);
	return 0;
}

/* Remember a complete message for RepeatBranch; its address is f->msg_target. */
void nt_flow_remember(struct nt_flow *f, const struct nt_msg *msg)
{
	f->last_at = SIZE_MAX;
	f->last_valid = !nt_is_sync(msg);
	f->last.fields = msg->fields;
	f->last.tcode = msg->tcode;
	f->last.btype = msg->btype;
	f->last.icnt = msg->icnt;
	f->last.hist = msg->hist;
	f->last.addr = msg->addr;
	f->last.target = f->msg_target;
}

/* nt_loop() only stores the position of the last message: decode it to f->last. */
static void have_last(struct nt_flow *f)
{
	size_t at = f->last_at;
	struct nt_msg msg;

	if (at == SIZE_MAX || nt_msg_get(&f->params, f->buf + at, f->len - at, &msg) <= 0)
		return;
	nt_flow_remember(f, &msg);
	f->last.target = f->ref;
}

/* Complete the message after its walk.  0 or an enum nt_error */
static int finish(struct nt_flow *f, struct batch *b)
{
	bool just_synced = f->just_synced;
	int error;

	f->stage = NEXT_MESSAGE;
	f->just_synced = false;
	if (f->walk.by_hist)	/* are outcomes left at the maximum reach? */
		return f->walk.nbits ? NT_ERANGE : 0;
	if (f->walk.nbits)
		return NT_EHIST;
	if (nt_is_sync(&f->msg))
		return finish_sync(f, b, just_synced);
	if (f->msg.tcode == NT_TCODE_PROG_TRACE_CORRELATION)
		return finish_stop(f, b);
	if (f->msg.tcode == NT_TCODE_DIRECT_BRANCH)
		error = finish_direct(f, b);
	else if (f->msg.btype)
		error = finish_trap(f, b, trap_types[f->msg.btype]);
	else
		error = finish_indirect(f, b);
	if (!error && f->leaving) {
		b->ev[b->n - 1].flags |= NT_EVF_LEFT;
		b->end |= f->until_other;
		f->left = true;
	}
	if (!error)
		nt_flow_remember(f, &f->msg);
	return error;
}

/* ------------------------------------------------------------------ loss - */

static bool other_source(const struct nt_flow *f, const struct nt_msg *m)
{
	return (m->fields & NT_F_SRC) && f->params.src >= 0 && m->src != f->params.src;
}

/*
 * nt_msg_decode() found no end of a message in `left` bytes: are they all idle?  It reads at most
 * INT32_MAX bytes at once.
 */
static bool is_idle(const struct nt_msg *m, size_t left)
{
	return m->idle == (left < INT32_MAX ? left : INT32_MAX);
}

/* Skip a damaged message.  `inside`: its end has not arrived yet. */
static void skip_damaged(struct nt_flow *f, const struct nt_msg *m)
{
	f->pos += m->skip;
	f->inside = f->open_end && f->pos == f->len && (f->buf[f->pos - 1] & 3) != 3;
}

/* ... and its rest, in later bytes */
static void skip_inside(struct nt_flow *f)
{
	while (f->inside && f->pos < f->len)
		f->inside = (f->buf[f->pos++] & 3) != 3;
	/* after the end of a trace, there is no rest */
	f->inside = f->inside && f->open_end;
}

/* Skip to the next sync message or the window's end; `skipping`: it may still arrive. */
static void skip_to_sync(struct nt_flow *f)
{
	struct nt_msg m;

	f->skipping = f->open_end;
	skip_inside(f);
	while (f->pos < f->len) {
		int ret = nt_msg_get(&f->params, f->buf + f->pos, f->len - f->pos, &m);

		if (!ret) {
			bool idle = is_idle(&m, f->len - f->pos);

			if (!idle && f->open_end)
				return;
			f->pos = idle ? f->pos + m.idle : f->len;
		} else if (ret < 0) {
			skip_damaged(f, &m);
		} else if (!nt_is_sync(&m) || other_source(f, &m)) {
			f->pos += ret;
		} else {
			f->pos += m.idle;
			f->skipping = false;
			return;
		}
	}
}

/*
 * The half-words of ResourceFull messages have retired, even if the message that should claim them
 * never arrives.  Walk them as far as the path is certain: over a branch only if the mode is known
 * to be BTM.
 */
static void drain(struct nt_flow *f, enum nt_error pending)
{
	struct walk w = { .left = f->credit, .plain = f->mode == NT_MODE_BTM };

	f->credit = 0;
	f->draining = true;
	f->pending = pending;
	if (!is_paid(f, &w)) {
		w.left = 0;
		f->pending = pending ? pending : NT_EWORK;
	}
	begin_walk(f, &w);
}

/*
 * The message at msg_offset, or its bytes, cannot be followed.  Its events are dropped; if it is a
 * sync message itself, decoding continues at its address.
 */
static void lose(struct nt_flow *f, struct batch *b, enum nt_error reason)
{
	struct nt_event *ev;
	bool here;

	if (f->state == RUNNING && f->stage == NEXT_MESSAGE && f->credit > 0) {
		drain(f, reason);
		return;
	}
	b->n = b->mark;
	ev = add_event(f, b, NT_EV_LOSS);
	ev->reason = reason;
	if (nt_is_no_code(reason))
		ev->to = f->at.pc;
	if (f->state == RUNNING) {
		ev->from = b->mark_pc;
		ev->insns = b->mark_insns;
		ev->flags |= NT_EVF_PC;
	}
	f->insns = 0;
	f->state = UNSYNCED;
	f->stage = NEXT_MESSAGE;
	f->repeats = 0;
	f->stop_valid = false;

	here = f->msg.fields && nt_is_sync(&f->msg);
	if (here) {
		start(f, b, f->msg_target);
		resync(f);
		return;
	}
	skip_to_sync(f);
	ev->skipped = f->offset + f->pos - f->msg_offset;
	f->time_valid = false;
}

static void context(struct nt_flow *f, struct batch *b)
{
	uint64_t process = f->msg.process;
	struct nt_event *ev;

	if ((process & 3) == 1) {
		add_notice(f, b, NT_ERESERVED);
		return;
	}
	ev = add_event(f, b, NT_EV_CONTEXT);
	ev->reason = process & 3;
	ev->priv = process >> 2 & 3;
	ev->flags |= process & 0x10 ? NT_EVF_VIRT : 0;
	ev->context = process & 2 || nt_is_tt_dfd(&f->params) ? process >> 5 : 0;
	ev->from = ev->to = f->at.pc;
	b->end = true;
}

/* ------------------------------------------------------- finding the mode - */

/* Counts of messages that show the mode */
struct votes {
	unsigned int nr[3];	/* by enum nt_mode */
	enum nt_mode first;
	bool stop;		/* ProgTraceCorrelation without HIST */
};

static void vote(struct votes *v, const struct nt_msg *m)
{
	enum nt_mode mode = mode_told(m);

	v->nr[mode]++;
	if (v->first == NT_MODE_UNKNOWN)
		v->first = mode;
	v->stop |= m->tcode == NT_TCODE_PROG_TRACE_CORRELATION && mode == NT_MODE_UNKNOWN;
}

static enum nt_mode elected(const struct nt_flow *f, const struct votes *v)
{
	if (v->nr[NT_MODE_BTM] != v->nr[NT_MODE_HTM])
		return v->nr[NT_MODE_BTM] > v->nr[NT_MODE_HTM] ? NT_MODE_BTM : NT_MODE_HTM;
	/* B.3: in HTM, it must have HIST; encoders before 1.0 omit an empty HIST */
	if (!v->first && v->stop && !nt_is_sifive(&f->params))
		return NT_MODE_BTM;
	return v->first;
}

/*
 * Infer the mode from the messages at f->pos and after it.  The majority decides, so that one
 * damaged message does not.  False: wait for more messages.
 */
static bool find_mode(struct nt_flow *f)
{
	size_t end = f->len - f->pos < MODE_AHEAD ? f->len : f->pos + MODE_AHEAD, pos = f->pos;
	struct votes v = { .first = NT_MODE_UNKNOWN };
	struct nt_msg m;
	int ret = 1;

	if (f->no_mode > pos)
		pos = f->no_mode;
	while (pos < end && v.nr[NT_MODE_BTM] + v.nr[NT_MODE_HTM] < MODE_VOTES) {
		ret = nt_msg_get(&f->params, f->buf + pos, f->len - pos, &m);
		if (!ret)
			break;
		pos += ret > 0 ? (size_t)ret : m.skip;
		if (ret > 0 && !other_source(f, &m))
			vote(&v, &m);
		else if (ret < 0 && pos == f->len)
			ret = 0;	/* its end has not arrived yet */
		if (!ret)
			break;
	}
	if (f->open_end && (!ret || (pos >= f->len && f->len - f->pos < MODE_AHEAD)) &&
	    v.nr[NT_MODE_BTM] + v.nr[NT_MODE_HTM] < MODE_VOTES)
		return false;
	f->mode = elected(f, &v);
	if (f->mode == NT_MODE_UNKNOWN)
		f->no_mode = pos;
	return true;
}

/*
 * Find the mode, if possible.  A message that contradicts an inferred mode begins another trace, or
 * is damaged: the following messages decide.  False: see find_mode()
 */
static bool have_mode(struct nt_flow *f)
{
	if (f->state != RUNNING || f->params.mode)
		return true;
	if (f->mode != NT_MODE_UNKNOWN && !contradicts(f))
		return true;
	/* messages with a memo need no inference */
	if (f->counts)
		f->counts->was.valid = false;
	return find_mode(f);
}

/* -------------------------------------------------------------- messages - */

/* Process a message while no flow is followed.  0 or an enum nt_error */
static int on_stopped(struct nt_flow *f, struct batch *b)
{
	if (nt_is_sync(&f->msg)) {
		start(f, b, f->msg_target);
		resync(f);
		return 0;
	}
	switch (f->msg.tcode) {
	case NT_TCODE_PROG_TRACE_CORRELATION:
		return 0;	/* already stopped, or never started */
	case NT_TCODE_OWNERSHIP:
		if (f->state == UNSYNCED)
			return NT_ENOSYNC;
		context(f, b);
		return 0;
	default:
		return NT_ENOSYNC;
	}
}

static int on_running(struct nt_flow *f, struct batch *b)
{
	if (f->params.mode && contradicts(f))
		return NT_EMODE;
	switch (f->msg.tcode) {
	case NT_TCODE_OWNERSHIP:
		context(f, b);
		return 0;
	case NT_TCODE_RESOURCE_FULL:
		return begin_resource_full(f);
	case NT_TCODE_REPEAT_BRANCH:
		return f->unclear ? NT_EAMBIGUOUS : begin_repeat(f);
	case NT_TCODE_PROG_TRACE_CORRELATION:
		if (!(f->msg.fields & NT_F_ICNT))
			return NT_ERESERVED;
		return begin_message(f);
	default:
		return begin_message(f);
	}
}

static int on_message(struct nt_flow *f, struct batch *b)
{
	const struct nt_msg *m = &f->msg;

	if (m->tcode == NT_TCODE_ERROR)
		return NT_EOVERFLOW;
	return f->state == RUNNING ? on_running(f, b) : on_stopped(f, b);
}

/* False if the message is beyond the limit; then nothing has changed. */
static bool take_time(struct nt_flow *f)
{
	const struct nt_msg *m = &f->msg;
	uint64_t time = m->tstamp;

	if (!(m->fields & NT_F_TSTAMP))
		return !f->time_valid || f->time <= f->limit;
	if (!nt_is_sync(m) && !f->time_valid)
		return true;
	if (nt_is_sync(m) || nt_is_tt_dfd(&f->params))
		time = absolute_time(f, time);
	else if (nt_stamps_differences(&f->params))
		time += f->time;
	else
		time = absolute_time(f, time ^ f->time);
	if (time > f->limit)
		return false;
	f->time = time;
	f->time_valid = f->had_time = true;
	return true;
}

/* B.8: with timestamps, every sync message has one.  Report the first one without. */
static void check_time(struct nt_flow *f, struct batch *b)
{
	if (!f->params.timestamps || f->no_time || !nt_is_sync(&f->msg) ||
	    f->msg.fields & NT_F_TSTAMP)
		return;
	f->no_time = true;
	add_notice(f, b, NT_ENOTIME);
}

/* The rest of the window is not a complete message. */
static bool end_of_window(struct nt_flow *f, struct batch *b)
{
	size_t left = f->len - f->pos;

	f->msg_offset = f->offset + f->pos + f->msg.idle;
	f->msg.fields = 0;
	mark(f, b);
	if (!is_idle(&f->msg, left)) {
		if (f->open_end)
			return false;
		lose(f, b, NT_ECUT);
		return true;
	}
	f->pos += f->msg.idle;
	if (f->pos < f->len)
		return true;
	if (f->state != RUNNING || f->open_end)
		return false;
	if (f->credit > 0)
		drain(f, NT_OK);
	else
		stop(f, b, NT_EVCODE_NONE, false);
	return true;
}

/*
 * tt-dfd knows a target only from the next instruction.  If trace stops before that, because of a
 * filter or a full sink, the message of the last transfer has a U-ADDR of 0, or an F-ADDR of 0 if a
 * sync message is due.  ProgTraceCorrelation with an I-CNT of 0 follows, perhaps after Ownership.
 * In N-Trace 1.0, a trap into untraced code has no message: make it the end of the stretch.  The
 * target of any other transfer stays unknown.  False: wait for the following messages.
 */
static bool know_leaving(struct nt_flow *f, size_t len)
{
	size_t pos = f->pos + len;
	struct nt_msg m;
	int ret;

	f->leaving = false;
	if (!nt_is_tt_dfd(&f->params) || f->msg.addr ||
	    (f->msg.tcode != NT_TCODE_INDIRECT_BRANCH_HIST &&
	     f->msg.tcode != NT_TCODE_INDIRECT_BRANCH_HIST_SYNC))
		return true;
	/* this depends on later messages, which a memo does not include */
	if (f->counts)
		f->counts->was.valid = false;
	for (;; pos += ret) {
		ret = nt_msg_get(&f->params, f->buf + pos, f->len - pos, &m);
		if (!ret)
			return !f->open_end;
		if (ret < 0)
			return true;
		if (!other_source(f, &m) && m.tcode < NT_TCODE_VENDOR_FIRST &&
		    m.tcode != NT_TCODE_OWNERSHIP)
			break;
	}
	if (m.tcode != NT_TCODE_PROG_TRACE_CORRELATION || m.icnt)
		return true;
	f->leaving = !f->msg.btype;
	/* Decoding cannot continue at an F-ADDR of 0. */
	f->msg.tcode = NT_TCODE_INDIRECT_BRANCH_HIST;
	f->msg.fields = (f->msg.fields & ~(NT_F_FADDR | NT_F_SYNC)) | NT_F_UADDR;
	if (!f->leaving) {
		f->msg.tcode = m.tcode;
		f->msg.fields &= ~(NT_F_UADDR | NT_F_BTYPE);
		f->msg.fields |= NT_F_EVCODE | NT_F_CDF;
		f->msg.evcode = m.evcode;
		f->msg.cdf = m.cdf;
	}
	return true;
}

static bool know_repeat(struct nt_flow *f, size_t len);

/*
 * Skip the rest of a loss in new bytes: the skipped bytes must not depend on how many arrive at a
 * time.  False: there is none.
 */
static bool skip_rest(struct nt_flow *f, struct batch *b)
{
	const size_t at = f->pos;
	struct nt_event *ev;

	f->msg_offset = f->offset + at;
	skip_to_sync(f);
	if (f->pos == at)
		return false;
	mark(f, b);
	ev = add_event(f, b, NT_EV_LOSS);
	ev->reason = NT_ENOSYNC;
	ev->skipped = f->pos - at;
	return true;
}

/*
 * Skip common messages of other sources at once. Before each message that is left to
 * next_message(), the replay of memos and nt_loop() look past them for one of their own.
 */
static void skip_others(struct nt_flow *f)
{
	const unsigned int bits = f->params.srcbits, own = (unsigned int)f->params.src;
	const uint8_t *p = f->buf + f->pos;
	unsigned int len;

	while (f->pos + NT_SHORT_ROOM <= f->end && nt_short_source(nt_short_load(p), bits) != own) {
		len = nt_short_length(p, f->kinds, f->params.timestamps);
		if (!len)
			break;
		p += len;
		f->pos += len;
	}
}

/* Decode the next message and begin it.  False: the window is consumed, or the limit is reached. */
static bool next_message(struct nt_flow *f, struct batch *b)
{
	int error, ret;

	if (f->skipping && skip_rest(f, b))
		return true;
	ret = nt_msg_get(&f->params, f->buf + f->pos, f->len - f->pos, &f->msg);
	if (f->end < f->len && f->pos + f->msg.idle >= f->end) {
		f->at_limit = true;
		return false;
	}
	if (!ret)
		return end_of_window(f, b);
	f->msg_offset = f->offset + f->pos + f->msg.idle;
	f->sure = false;
	mark(f, b);
	if (ret < 0) {
		skip_damaged(f, &f->msg);
		f->msg.fields = 0;
		lose(f, b, (enum nt_error)-ret);
		return true;
	}
	if (other_source(f, &f->msg)) {
		f->pos += ret;
		skip_others(f);
		return true;
	}
	if (!have_mode(f) || !know_leaving(f, ret) || !know_repeat(f, ret))
		return false;
	if (!take_time(f)) {
		f->at_limit = true;
		return false;
	}
	f->pos += ret;
	f->work += ret * f->work_per_byte;
	check_time(f, b);
	take_address(f);
	if (f->leaving)
		f->msg_target = 0;
	if (!nt_is_known(&f->msg)) {
		add_notice(f, b, f->msg.tcode >= NT_TCODE_VENDOR_FIRST &&
			   f->msg.tcode <= NT_TCODE_VENDOR_LAST ? NT_EVENDOR : NT_ETCODE);
		return true;
	}
	error = on_message(f, b);
	if (error)
		lose(f, b, (enum nt_error)error);
	return true;
}

static void finish_drain(struct nt_flow *f, struct batch *b)
{
	f->draining = false;
	f->stage = NEXT_MESSAGE;
	leave_open_branch(f);
	mark(f, b);
	if (f->pending)
		lose(f, b, f->pending);
	else
		stop(f, b, NT_EVCODE_NONE, false);
}

/* ---------------------------------- following a message without reporting it - */

static int go_on(struct nt_flow *f, struct batch *b);

/* Is there a message whose events may still have to be dropped? */
static bool in_message(const struct nt_flow *f)
{
	return f->repeats || (f->stage == WALKING && !f->draining);
}

/* After how many repetitions may one be equal?  U-ADDR alternates between two addresses. */
static unsigned int period(const struct nt_flow *f)
{
	return f->by_uaddr && f->msg.tcode != NT_TCODE_RESOURCE_FULL && f->last.addr ? 2 : 1;
}

static int step_message(struct nt_flow *f, struct batch *b)
{
	if (f->stage == WALKING)
		return go_on(f, b);
	if (!f->rep.left)
		f->rep = (struct repetition){ true, period(f), b->n, f->at.pc, f->credit, f->insns,
					      0 };
	f->rep.left--;
	return begin_again(f);
}

static bool moves_stack(const struct nt_event *ev)
{
	return ev->type == NT_TYPE_CALL || ev->type == NT_TYPE_ICALL ||
	       ev->type == NT_TYPE_RET || ev->type == NT_TYPE_SWAP;
}

/*
 * Has a repetition, or a pair of them, led back to its beginning, so that all others do?  Returns
 * their number, as far as outcomes do not run too far ahead of I-CNT.
 */
static uint64_t equal_repetitions(const struct nt_flow *f, const struct batch *b)
{
	const struct repetition *r = &f->rep;
	int64_t ahead = r->credit - f->credit;
	uint64_t times = f->repeats / period(f), most;
	unsigned int i;

	if (f->stage == WALKING || r->left || !times || !r->whole || f->at.pc != r->pc ||
	    f->insns != r->insns || b->n == r->first)
		return 0;
	for (i = r->first; f->params.retstack && i < b->n; i++)
		if (moves_stack(&b->ev[i]))
			return 0;
	if (ahead <= 0)
		return times;
	most = f->credit < -ICNT_MAX ? 0 : (uint64_t)(f->credit + ICNT_MAX) / ahead;
	return times < most ? times : most;
}

/* How many more repetitions begin_again() would allow */
static uint64_t affordable(const struct nt_flow *f)
{
	return f->work < 0 ? 0 : f->work / f->rep.cost + 1;
}

/* Copy the events of the last repetition for all equal ones for which there is room. */
static void copy_repetitions(struct nt_flow *f, struct batch *b)
{
	uint64_t times = equal_repetitions(f, b), room, i;
	const struct nt_event *from = b->ev + f->rep.first;
	unsigned int n = b->n - f->rep.first;

	if (!times || b->n + ROOM > b->max)
		return;
	room = (b->max - ROOM - b->n) / n;
	times = times < room ? times : room;
	times = times < affordable(f) ? times : affordable(f);
	f->work -= (int64_t)times * f->rep.cost;
	for (i = 0; i < times; i++, b->n += n)
		memcpy(b->ev + b->n, from, n * sizeof(*from));
	f->repeats -= times * period(f);
	f->credit -= (f->rep.credit - f->credit) * (int64_t)times;
	f->rep.whole = false;
}

/* Follow the message to its end, reporting nothing.  Returns the same as go_on() */
static int follow_message(struct nt_flow *f)
{
	struct nt_event ev[8 * ROOM];
	struct batch b = { .ev = ev, .max = 8 * ROOM };
	uint64_t equal;
	int ret = 0;

	f->counts = NULL;
	f->rep.whole = false;
	while (!ret && in_message(f)) {
		if (!f->rep.left || !f->rep.whole)
			b.n = 0;
		ret = step_message(f, &b);
		equal = ret ? 0 : equal_repetitions(f, &b);
		/* all repetitions end here; half a pair may be left */
		if (equal && equal == f->repeats / period(f)) {
			if (equal > affordable(f))
				return NT_EWORK;
			f->repeats %= period(f);
		}
	}
	return ret;
}

/*
 * Follow the message to its end, reporting nothing, and restore the state.  Returns the same as
 * go_on(); *pc: where it ended.  `save` has room for the return stack.
 */
static int rehearse(struct nt_flow *f, struct call *save, uint64_t *pc)
{
	const size_t size = (f->stack.wrap + 1) * sizeof(*f->stack.calls);
	struct nt_flow was;
	int ret;

	/* the previous block may lead elsewhere in this rehearsal */
	f->at.link = NT_BLOCK_NONE;
	was = *f;
	memcpy(save, f->stack.calls, size);
	ret = follow_message(f);
	*pc = f->at.pc;
	/* an accepted message is walked, and charged, again */
	if (ret)
		was.work = f->work;
	*f = was;
	memcpy(f->stack.calls, save, size);
	return ret;
}

/* ------------------------------------------------ meaning of RepeatBranch - */

/* The verdict on one interpretation */
enum verdict {
	CANNOT_BE,	/* the repetitions do not match the code */
	CONTRADICTED,	/* the following messages do not match then */
	MAY_BE,
	MAY_BE_YET,	/* the messages that decide have not arrived */
};

/* Messages that lead to a known position */
#define TCODES_LEADING								\
	(NT_TCODES_SYNC | NT_TCODE_BIT(DIRECT_BRANCH) | NT_TCODE_BIT(INDIRECT_BRANCH) |	\
	 NT_TCODE_BIT(INDIRECT_BRANCH_HIST) | NT_TCODE_BIT(RESOURCE_FULL) |	\
	 NT_TCODE_BIT(PROG_TRACE_CORRELATION))

/* Does f->msg say nothing about the position before it? */
static bool tells_nothing(const struct nt_flow *f)
{
	const struct nt_msg *m = &f->msg;

	if (!(TCODES_LEADING >> m->tcode & 1) || (f->mode != NT_MODE_UNKNOWN && contradicts(f)))
		return true;
	return nt_is_sync(m) && (m->sync == NT_SYNC_OVERRUN || restarts(m));
}

/* Follow the messages at f->pos, up to a sync message. */
static enum verdict try_messages(struct nt_flow *f)
{
	struct nt_event ev[ROOM];
	struct batch b = { .ev = ev, .max = ROOM };
	unsigned int n;
	int ret;

	for (n = 0; n < REPEAT_AHEAD; n++) {
		ret = nt_msg_get(&f->params, f->buf + f->pos, f->len - f->pos, &f->msg);
		if (!ret)
			return f->open_end ? MAY_BE_YET : MAY_BE;
		if (ret < 0)
			return MAY_BE;
		f->pos += ret;
		if (other_source(f, &f->msg))
			continue;
		if (tells_nothing(f))
			return MAY_BE;
		take_address(f);
		ret = on_running(f, &b);
		if (!ret)
			ret = follow_message(f);
		if (ret > 0 && !nt_is_no_code(ret) && ret != NT_ENOMODE)
			return CONTRADICTED;
		if (ret || nt_is_sync(&f->msg) || f->state != RUNNING)
			return MAY_BE;
	}
	return MAY_BE;
}

/*
 * Try an interpretation of the RepeatBranch of `len` bytes at f->pos and the following messages,
 * and restore the state.
 */
static enum verdict try_repeat(struct nt_flow *f, size_t len, bool by_uaddr)
{
	const size_t size = (f->stack.wrap + 1) * sizeof(*f->stack.calls);
	struct call *save = f->stack.calls + f->stack.wrap + 1;
	struct nt_flow was;
	enum verdict v;
	int ret;

	f->at.link = NT_BLOCK_NONE;	/* see rehearse() */
	was = *f;
	memcpy(save, f->stack.calls, size);
	f->pos += len;
	f->by_uaddr = by_uaddr;
	ret = begin_repeat(f);
	if (!ret)
		ret = follow_message(f);
	if (!ret)
		v = try_messages(f);
	else
		v = ret < 0 || nt_is_no_code(ret) ? MAY_BE : CANNOT_BE;
	/* charge for it, because many such messages take few bytes */
	if (v != MAY_BE_YET)
		was.work = f->work;
	*f = was;
	memcpy(f->stack.calls, save, size);
	return v;
}

/*
 * According to N-Trace 1.0, RepeatBranch repeats the branch, so the target (R107); some encoders
 * repeat the message, so U-ADDR.  If the encoder is unknown, the code and the following messages
 * decide, if they can.  False: wait for these messages.
 */
static bool know_repeat(struct nt_flow *f, size_t len)
{
	enum verdict target, uaddr;

	f->unclear = false;
	if (f->msg.tcode != NT_TCODE_REPEAT_BRANCH)
		return true;
	have_last(f);
	if (f->params.profile != NT_PROFILE_1_0)
		return true;
	f->by_uaddr = false;
	if (f->state != RUNNING || !f->last_valid || !f->last.addr || !f->msg.bcnt ||
	    f->msg.bcnt > REPEAT_MAX)
		return true;
	target = try_repeat(f, len, false);
	uaddr = try_repeat(f, len, true);
	if (target == CANNOT_BE || uaddr == CANNOT_BE) {
		f->by_uaddr = uaddr != CANNOT_BE;
		return true;
	}
	if (target == MAY_BE_YET || uaddr == MAY_BE_YET)
		return false;
	f->unclear = (target == CONTRADICTED) == (uaddr == CONTRADICTED);
	f->by_uaddr = target == CONTRADICTED;
	return true;
}

/* --------------------------------------------------------- missing outcomes - */

struct outcomes {
	uint64_t hist;
	unsigned int nbits;
};

/* Try the message with these outcomes.  Returns the same as go_on() */
static int try_outcomes(struct nt_flow *f, const struct outcomes *o)
{
	const struct walk was = f->walk;
	uint64_t pc;
	int ret;

	f->trying = true;
	f->walk.hist = o->hist;
	f->walk.nbits = o->nbits;
	ret = rehearse(f, f->stack.calls + 2 * (f->stack.wrap + 1), &pc);
	f->trying = false;
	f->walk = was;
	return ret;
}

#define BRANCH_HALFWORDS	2

/*
 * A sync message lacks the outcome of the branch at f->at.  In HTM, this is legal: ProgTraceSync
 * has no HIST (sync examples, note 2), and encoders omit the outcome of the branch at which they
 * send a periodic sync message.  The outcomes must lead to F-ADDR.  If exactly one choice of
 * outcomes does, take it.
 */
static int settle(struct nt_flow *f)
{
	struct outcomes todo[SETTLE_WAYS] = { { 0, 1 }, { 1, 1 } }, found = { .nbits = 0 };
	int64_t reach = SETTLE_REACH;
	unsigned int n = 2;

	/*
	 * Behind HIST, only the branch at which the message was sent can lack its outcome. tt-dfd
	 * also sends it later.
	 */
	if (f->msg.fields & NT_F_HIST && f->walk.left > BRANCH_HALFWORDS &&
	    !nt_is_tt_dfd(&f->params))
		return -NT_ENOHIST;
	while (n) {
		const struct outcomes o = todo[--n];
		int ret;

		reach -= f->walk.left;
		if (reach < 0)
			return -NT_ENOHIST;
		ret = try_outcomes(f, &o);
		if (ret < 0)
			return ret;
		/* unknown code may lead anywhere */
		if (nt_is_no_code(ret) || (!ret && found.nbits))
			return -NT_ENOHIST;
		if (!ret)
			found = o;
		if (ret != NT_ENOHIST)
			continue;
		/* tt-dfd only omits the outcome of the last branch */
		if (n + 2 > SETTLE_WAYS || nt_is_tt_dfd(&f->params))
			return -NT_ENOHIST;
		todo[n++] = (struct outcomes){ o.hist << 1, o.nbits + 1 };
		todo[n++] = (struct outcomes){ o.hist << 1 | 1, o.nbits + 1 };
	}
	if (!found.nbits)
		return -NT_ENOHIST;
	f->walk.hist = found.hist;
	f->walk.nbits = found.nbits;
	/* this depends on more than a memo contains */
	if (f->counts)
		f->counts->was.valid = false;
	return NT_WALK_ON;
}

/* The walk reached a branch without outcome.  NT_WALK_ON, or a negative enum nt_error */
static int no_outcome(struct nt_flow *f)
{
	int ret;

	if (f->trying || f->mode == NT_MODE_BTM)
		return -NT_ENOHIST;
	if (leads_to_address(&f->msg)) {
		ret = settle(f);
		if (ret != -NT_ENOHIST)
			return ret;
	}
	return f->mode == NT_MODE_UNKNOWN ? -NT_ENOMODE : -NT_ENOHIST;
}

/* Outcomes of `was` that the walk has used without making an event */
static unsigned int not_taken(const struct walk *was, const struct walk *now)
{
	unsigned int n = was->nbits - now->nbits;

	if (!n)
		return 0;
	return n - __builtin_popcountll((was->hist >> now->nbits) & (UINT64_MAX >> (64 - n)));
}

/* A unit of work is an event, or an outcome without one; see halfword_units() for the rest. */
static void charge_walk(struct nt_flow *f, const struct walk *was, unsigned int events)
{
	const int64_t halfwords = was->by_hist ? 0 : was->left - f->walk.left;
	const int64_t units = events + not_taken(was, &f->walk);

	f->rep.cost += units;
	f->work -= halfword_units(was, halfwords);
	f->work -= was->plain && halfwords > 0 ? 0 : units;
}

/* nt_walk() with a limit for the work */
static int walk(struct nt_flow *f, struct batch *b)
{
	const struct walk was = f->walk;
	const unsigned int n = b->n;
	int ret = nt_walk(f, b);

	charge_walk(f, &was, b->n - n);
	return f->work < 0 && ret == NT_WALK_FULL ? -NT_EWORK : ret;
}

/*
 * Continue f->walk.  0, an enum nt_error for which the message is refused, or negative if decoding
 * cannot continue at all
 */
static int go_on(struct nt_flow *f, struct batch *b)
{
	int ret = NT_WALK_DONE;

	if (f->walk.left)
		ret = walk(f, b);
	if (ret == NT_WALK_FULL) {
		b->end = true;
		f->rep.whole = false;
		return 0;
	}
	if (ret == -NT_ENOMEM)
		return ret;
	if (f->draining) {
		finish_drain(f, b);
		return 0;
	}
	if (ret == -NT_ENOHIST)
		ret = no_outcome(f);
	if (ret == NT_WALK_ON)
		return 0;
	if (ret == NT_WALK_DONE)
		ret = -finish(f, b);
	if (!ret && f->counts)
		nt_count_learn(f, b);
	return -ret;
}

/* Changes when block numbers and maps become invalid */
static uint32_t generation(const struct nt_flow *f)
{
	uint32_t sum = 0;

	if (f->low)
		sum += f->low->generation + f->low->store->generation;
	if (f->high)
		sum += f->high->generation + f->high->store->generation;
	return sum;
}

static void check_blocks(struct nt_flow *f)
{
	if (generation(f) == f->generation)
		return;
	f->generation = generation(f);
	nt_walk_forget(f);
}

/* ---------------------------------- batches that end inside a message ----- */

/* Will the message be refused?  Same result as go_on(); f->at.pc: the faulty position */
static int look_ahead(struct nt_flow *f)
{
	uint64_t pc;
	int ret = rehearse(f, f->stack.calls + f->stack.wrap + 1, &pc);

	if (ret)
		f->at.pc = pc;
	return ret;
}

/*
 * The batch is full.  Events of an incomplete message must not be delivered if the message may be
 * refused later: the next batch begins with them, unless there are too many; then the message is
 * followed to its end in advance.
 */
static int hold_back(struct nt_flow *f, struct batch *b)
{
	int ret;

	if (f->sure)
		return 0;
	if (b->mark && b->n - b->mark <= HELD_MAX) {
		f->nr_held = b->n - b->mark;
		f->held_pc = b->mark_pc;
		f->held_insns = b->mark_insns;
		memcpy(f->held, b->ev + b->mark, f->nr_held * sizeof(*f->held));
		b->n = b->mark;
		return 0;
	}
	ret = look_ahead(f);
	if (ret > 0)
		lose(f, b, (enum nt_error)ret);
	f->sure = !ret;
	return ret < 0 ? ret : 0;
}

/* After an event that is not counted, no memo may count before the batch is delivered. */
static void take_held(struct nt_flow *f, struct batch *b)
{
	unsigned int i;

	mark(f, b);
	if (f->sure || !in_message(f))
		return;
	memcpy(b->ev, f->held, f->nr_held * sizeof(*b->ev));
	b->n = f->nr_held;
	b->mark_pc = f->held_pc;
	b->mark_insns = f->held_insns;
	f->nr_held = 0;
	for (i = 0; f->until_other && i < b->n; i++)
		b->last |= !nt_event_is_plain(&b->ev[i]);
}

static uint64_t store_bytes(const struct nt_flow *f)
{
	return f->store ? __atomic_load_n(&f->store->bytes, __ATOMIC_RELAXED) : 0;
}

/*
 * When counting, a batch may be a whole window, and nothing is evicted during a batch: so end it
 * when the store has exceeded its limit or, if that is already exceeded, has grown by a part of it.
 */
static uint64_t store_most(const struct nt_flow *f)
{
	uint64_t bytes = store_bytes(f), limit = f->store ? f->store->limit : UINT64_MAX;

	return bytes <= limit ? limit : bytes + limit / 64;
}

/* Fill a batch with room for held events.  Returns the number of events, or negative */
static int fill(struct nt_flow *f, struct nt_event *ev, unsigned int max)
{
	struct batch b = { .ev = ev, .max = max };
	const uint64_t most = f->counts ? store_most(f) : 0;
	bool memos;
	int ret;

	if (f->counts && f->counts->pause)
		f->counts->pause--;
	f->at_limit = false;
	f->rep.whole = false;
	take_held(f, &b);
	for (;;) {
		if (f->counts && f->counts->watch.fn)
			nt_count_watch(f, &b);
		if (b.end || b.n + ROOM > max)
			break;
		if (f->stage == WALKING || f->repeats) {
			ret = step_message(f, &b);
			if (ret < 0)
				return ret;
			if (ret)
				lose(f, &b, (enum nt_error)ret);
			else
				copy_repetitions(f, &b);
			b.end |= b.last && !in_message(f);
		} else {
			memos = f->counts && !f->counts->pause;
			if (memos)
				nt_count_replay(f, &b);
			if (nt_loop(f, &b, memos) && memos)
				nt_count_learn(f, &b);
			else if (!b.end && f->stage == NEXT_MESSAGE && !next_message(f, &b))
				break;
			f->too_much = memos && store_bytes(f) > most;
			b.end |= f->too_much;
		}
	}
	have_last(f);
	ret = in_message(f) ? hold_back(f, &b) : 0;
	return ret ? ret : (int)b.n;
}

/* ------------------------------------------------------------- interface - */

/* fill() with the store's lock held */
static int fill_safely(struct nt_flow *f, struct nt_event *ev, unsigned int max)
{
	int ret;

	do {
		f->too_much = false;
		nt_code_enter(f->low, f->high);
		check_blocks(f);
		if (f->counts)
			nt_count_enter(f);
		if (f->map)
			__atomic_store_n(&f->map->text->used,
					 __atomic_load_n(&f->store->clock, __ATOMIC_RELAXED),
					 __ATOMIC_RELAXED);
		ret = fill(f, ev, max);
		nt_code_leave(f->low, f->high);
	} while (!ret && f->too_much);
	return ret;
}

/* Note where the last of these events leads. */
static int note_run(struct nt_flow *f, const struct nt_event *ev, int n)
{
	int i = n;

	while (i > 0 && !nt_event_leads(&ev[i - 1]))
		i--;
	if (n > 0)
		f->run_ended = i < n;
	if (i > 0)
		f->run = ev[i - 1].to;
	return n;
}

int nt_flow_events(struct nt_flow *f, struct nt_event *ev, size_t size, unsigned int max)
{
	unsigned int n, i;
	int ret;

	if (f->queue_at == f->queue_end) {
		if (size == sizeof(*ev) && max >= 2 * ROOM && max >= f->nr_held + ROOM)
			return note_run(f, ev, fill_safely(f, ev, max));
		ret = fill_safely(f, f->queue, QUEUE_MAX);
		if (ret <= 0)
			return ret;
		f->queue_at = 0;
		f->queue_end = ret;
	}
	n = f->queue_end - f->queue_at;
	n = n < max ? n : max;
	for (i = 0; i < n; i++)
		nt_give((char *)ev + i * size, size, f->queue + f->queue_at + i, sizeof(*ev));
	note_run(f, f->queue + f->queue_at, (int)n);
	f->queue_at += n;
	return (int)n;
}

int nt_flow_next_sized(struct nt_flow *f, struct nt_event *ev, size_t size, unsigned int max)
{
	if (!ev || !max || size < NT_EVENT_LEAST)
		return -NT_EINVAL;
	return nt_flow_events(f, ev, size, max);
}

void nt_flow_report_syncs(struct nt_flow *f, uint32_t reasons)
{
	f->reported_syncs = reasons;
}

uint64_t nt_flow_last_sync(const struct nt_flow *f)
{
	return f->last_sync;
}

bool nt_flow_at_limit(const struct nt_flow *f)
{
	return f->at_limit;
}

size_t nt_flow_consumed(const struct nt_flow *f)
{
	return f->pos;
}

void nt_flow_limit(struct nt_flow *f, uint64_t ticks)
{
	f->limit = ticks;
}

/* Offsets may wrap in a window, see nt_flow_limit_offset(). */
static void find_end(struct nt_flow *f)
{
	const uint64_t end = f->limit_offset - f->offset;

	if (f->limit_offset == UINT64_MAX)
		f->end = f->len;
	else if (end >> 63)
		f->end = 0;
	else
		f->end = end < f->len ? end : f->len;
}

void nt_flow_limit_offset(struct nt_flow *f, uint64_t offset)
{
	f->limit_offset = offset;
	find_end(f);
}

void nt_flow_time_from(struct nt_flow *f, uint64_t ticks)
{
	f->time_from = ticks;
	if (!f->time_valid)
		f->had_time = false;
}

void nt_flow_set_code(struct nt_flow *f, struct nt_code *low, struct nt_code *high)
{
	f->low = low;
	f->high = high;
	f->store = NULL;
	nt_walk_forget(f);
}

/* Without bytes, the caller's buffer may be NULL, to which no offset may be added. */
static const uint8_t no_bytes[1];

void nt_flow_window(struct nt_flow *f, const uint8_t *buf, size_t len, uint64_t offset)
{
	f->buf = len ? buf : no_bytes;
	f->len = len;
	f->pos = 0;
	f->offset = offset;
	f->state = UNSYNCED;
	f->stage = NEXT_MESSAGE;
	f->time_valid = false;
	f->no_time = false;
	f->no_mode = 0;
	f->repeats = 0;
	f->work = f->work_per_byte ? WORK_FIRST / WORK_PER_BYTE * f->work_per_byte : INT64_MAX;
	f->draining = false;
	f->insns = 0;
	f->run_ended = true;
	f->nr_held = 0;
	f->queue_at = f->queue_end = 0;
	f->at_limit = false;
	f->skipping = false;
	f->inside = false;
	resync(f);
	f->just_synced = false;
	f->last_sync = UINT64_MAX;
	f->is_marked = false;
	find_end(f);
}

void nt_flow_open_end(struct nt_flow *f, bool open)
{
	f->open_end = open;
}

void nt_flow_more(struct nt_flow *f, const uint8_t *buf, size_t len, uint64_t offset)
{
	f->no_mode -= f->no_mode < f->pos ? f->no_mode : f->pos;
	f->buf = len ? buf : no_bytes;
	f->len = len;
	f->pos = 0;
	f->offset = offset;
	f->last_at = SIZE_MAX;
	f->at_limit = false;
	f->is_marked = false;
	find_end(f);
}

/* ------------------------------------------------- returning to a position - */

/*
 * Room for one copy of the return stack: the other two are only used during a walk. No events are
 * held or queued where nothing is pending.
 */
static struct nt_flow *new_mark(const struct nt_flow *f)
{
	struct nt_flow *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->stack.calls = calloc(f->stack.wrap + 1, sizeof(*m->stack.calls));
	if (m->stack.calls)
		return m;
	nt_flow_free(m);
	return NULL;
}

/* Copy the state.  Each nt_flow keeps its own memory. */
static void copy_state(struct nt_flow *to, const struct nt_flow *from)
{
	struct nt_event *held = to->held, *queue = to->queue;
	struct call *calls = to->stack.calls;
	struct nt_short_kind *kinds = to->kinds;
	struct nt_flow *marked = to->marked;

	*to = *from;
	to->stack.calls = calls;
	to->held = held;
	to->queue = queue;
	to->kinds = kinds;
	to->marked = marked;
	memcpy(calls, from->stack.calls, (from->stack.wrap + 1) * sizeof(*calls));
}

/* Has a message begun whose events are not all delivered, or whose outcomes are ahead of I-CNT? */
static bool is_pending(const struct nt_flow *f)
{
	return f->stage != NEXT_MESSAGE || f->repeats || f->nr_held || f->credit ||
	       f->skipping || f->queue_at != f->queue_end;
}

int nt_flow_mark(struct nt_flow *f)
{
	if (is_pending(f))
		return 1;
	f->is_marked = false;
	if (!f->marked)
		f->marked = new_mark(f);
	if (!f->marked)
		return -NT_ENOMEM;
	copy_state(f->marked, f);
	f->is_marked = true;
	return 0;
}

int nt_flow_rewind(struct nt_flow *f)
{
	const struct nt_flow now = *f;

	if (!f->is_marked)
		return -NT_EINVAL;
	copy_state(f, f->marked);
	f->is_marked = true;
	f->limit = now.limit;
	f->reported_syncs = now.reported_syncs;
	f->open_end = now.open_end;
	nt_flow_limit_offset(f, now.limit_offset);
	nt_flow_set_code(f, now.low, now.high);
	return 0;
}

void nt_flow_skip_partial(struct nt_flow *f)
{
	while (f->pos < f->len && (f->buf[f->pos] & 3) != 3)
		f->pos++;
	if (f->pos < f->len)
		f->pos++;
}

/* 0: there is no limit */
static int64_t work_per_byte(const struct nt_params *p)
{
	if (p->work_per_byte == NT_WORK_UNLIMITED)
		return 0;
	return p->work_per_byte ? (int64_t)p->work_per_byte : WORK_PER_BYTE;
}

struct nt_flow *nt_flow_new(const struct nt_params *params)
{
	struct nt_flow *f;
	unsigned int size = STACK_1_0;

	if (nt_params_check(params))
		return NULL;
	f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	nt_params_get(params, &f->params);
	/* only used by the code, and owned by the caller */
	f->params.branches = NULL;
	f->params.nr_branches = 0;
	f->params.srcbits = nt_srcbits(&f->params);
	if (nt_is_tt_dfd(&f->params))
		f->params.mode = NT_MODE_HTM;
	f->params.addr_bits = nt_addr_bits(&f->params);
	f->params.tstamp_bits = nt_tstamp_bits(&f->params);
	f->work_per_byte = work_per_byte(&f->params);
	if (!f->params.high_from)
		f->params.high_from = 1ull << (f->params.xlen - 1);
	if (nt_is_sifive(&f->params)) {
		size = STACK_COUNTER;
		if (!f->params.retstack)
			f->params.retstack = 1;
	}
	f->stack.calls = calloc(3 * size, sizeof(*f->stack.calls));
	f->held = malloc(HELD_MAX * sizeof(*f->held));
	f->queue = malloc(QUEUE_MAX * sizeof(*f->queue));
	f->kinds = f->params.srcbits ? calloc(64, sizeof(*f->kinds)) : NULL;
	if (!f->stack.calls || !f->held || !f->queue || (f->params.srcbits && !f->kinds)) {
		nt_flow_free(f);
		return NULL;
	}
	if (f->kinds && f->params.addr_bits >= NT_SHORT_ADDR_MAX)
		nt_short_kinds(f->params.srcbits, f->kinds);
	f->stack.wrap = size - 1;
	f->mask = f->params.xlen == 32 ? UINT32_MAX : UINT64_MAX;
	f->mode = f->params.mode;
	f->by_uaddr = nt_is_tt_dfd(&f->params);
	f->limit = f->limit_offset = UINT64_MAX;
	f->ahead_from = AHEAD_FROM;
	f->last_at = SIZE_MAX;
	nt_walk_forget(f);
	return f;
}

void nt_flow_free(struct nt_flow *f)
{
	if (!f)
		return;
	free(f->stack.calls);
	free(f->held);
	free(f->queue);
	free(f->kinds);
	nt_flow_free(f->marked);
	free(f);
}
