// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The flow layer: messages and code to control flow
 *
 * A message tells how far execution went (I-CNT, and the I-CNT of ResourceFull
 * messages before it: the credit), which way each conditional branch on the way
 * went (HIST), and what was at the end of it:
 *
 *	begin_*()	message -> how far to walk, and with which outcomes
 *	nt_walk()	through the block graph; may take several batches
 *	finish()	what the message says about the end of the walk
 */
#include <stdlib.h>

#include "nt-count.h"

/* Half-words that all credit together may count */
#define TOTAL_MAX	(ICNT_MAX << 10)
/* Counts of repetitions: 18 bits by the specification */
#define REPEAT_MAX	((1ull << 18) - 1)
/* Half-words of all repetitions of a branch message: one message has an end */
#define REPEAT_REACH	(ICNT_MAX << 2)

/* Calls remembered: by the specification, and by the profiles' counter */
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
	ev->insns = f->insns;
	f->insns = 0;
	f->state = STOPPED;
	f->stop_pc = f->at.pc;
	f->stop_valid = exact;
}

/* Does execution that left at stop_pc go on at addr? */
static bool joins(const struct nt_flow *f, uint64_t addr)
{
	struct nt_code *code = nt_walk_code_at(f, f->stop_pc);
	struct nt_insn insn;

	if (!f->stop_valid)
		return false;
	if (addr == f->stop_pc)
		return true;
	return code && nt_code_insn(code, f->stop_pc, &insn) > 0 &&
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

/* What every sync message does to the decoder */
static void resync(struct nt_flow *f)
{
	f->stack.depth = 0;
	f->credit = 0;
	f->htm = f->btm = false;
	f->last_valid = false;
	f->just_synced = true;
}

/* ---- beginning: how far to walk */

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

/* A message with I-CNT, maybe HIST.  0 or an enum nt_error */
static int begin_total(struct nt_flow *f)
{
	const struct nt_msg *m = &f->msg;
	struct walk w = { .left = 0 };

	if (m->icnt > (uint64_t)ICNT_MAX)
		return NT_ERANGE;
	f->total = w.left = f->credit + (int64_t)m->icnt;
	f->credit = 0;
	if (w.left < 0)
		return NT_ENEGATIVE;
	if (m->fields & NT_F_HIST) {
		if (!m->hist)
			return NT_EHIST;
		w.hist = m->hist;
		w.nbits = hist_bits(m->hist);
		f->htm = true;
	}
	f->btm |= m->tcode == NT_TCODE_DIRECT_BRANCH || m->tcode == NT_TCODE_DIRECT_BRANCH_SYNC;
	w.plain = !f->htm || f->btm;
	begin_walk(f, &w);
	return 0;
}

/* ResourceFull with outcomes; `times` in all.  0 or an enum nt_error */
static int begin_hist(struct nt_flow *f, uint64_t hist, uint64_t times)
{
	struct walk w = { .left = HIST_REACH, .by_hist = true, .hist = hist };

	f->htm = true;
	if (!hist)
		return NT_EHIST;
	if (!times || times > REPEAT_MAX || f->credit < -ICNT_MAX)
		return NT_ERANGE;
	w.nbits = w.reload = hist_bits(hist);
	w.repeat = times - 1;
	if (w.nbits)
		begin_walk(f, &w);
	return 0;
}

static int begin_resource_full(struct nt_flow *f)
{
	const struct nt_msg *m = &f->msg;

	switch (m->rcode) {
	case 0:
		if (m->rdata[0] > (uint64_t)ICNT_MAX || f->credit > TOTAL_MAX)
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
	if (f->msg.bcnt > REPEAT_MAX || f->msg.bcnt * f->last.icnt > (uint64_t)REPEAT_REACH)
		return NT_ERANGE;
	f->repeats = f->msg.bcnt;
	return 0;
}

/* Once more the last branch message, to the same target. */
static int begin_again(struct nt_flow *f)
{
	f->repeats--;
	f->msg.fields = f->last.fields;
	f->msg.tcode = f->last.tcode;
	f->msg.btype = f->last.btype;
	f->msg.icnt = f->last.icnt;
	f->msg.hist = f->last.hist;
	f->msg_target = f->last.target;
	return begin_total(f);
}

/* ---- finishing: what the message says about the end of the walk */

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
	nt_walk_go_to(f, to);
	return 0;
}

static int finish_indirect(struct nt_flow *f, struct batch *b)
{
	if (f->open == NT_BLOCK_NONE)
		return nt_walk_custom(f, b, f->msg_target);
	if (nt_walk_open_is_direct(f))
		return NT_ENOBRANCH;
	nt_walk_told(f, b, f->msg_target);
	return 0;
}

static int finish_direct(struct nt_flow *f, struct batch *b)
{
	if (f->open == NT_BLOCK_NONE || !nt_walk_open_is_direct(f))
		return NT_ENOBRANCH;
	nt_walk_direct(f, b);
	return 0;
}

/* Does this sync message say that something else ran, or nothing, before it? */
static bool restarts(const struct nt_msg *m)
{
	if (m->tcode != NT_TCODE_PROG_TRACE_SYNC)
		return false;
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

/* The open block's end, or linear code, has to lead to the sync address. */
static int check_sync(struct nt_flow *f, struct batch *b, bool just_synced)
{
	uint64_t addr = f->msg_target;

	if (f->open != NT_BLOCK_NONE && !nt_walk_open_is_direct(f)) {
		nt_walk_told(f, b, addr);
		return 0;
	}
	if (f->open != NT_BLOCK_NONE && addr == f->code->blocks[f->open].target) {
		nt_walk_direct(f, b);
		return 0;
	}
	if (addr == f->at.pc)
		return nt_walk_silent(f, b);
	/* a trap right after a trap return: two sync messages, nothing between */
	if (just_synced && !f->total)
		return finish_trap(f, b, NT_TYPE_TRAP);
	return nt_walk_custom(f, b, addr) ? NT_EADDR : 0;
}

/*
 * No message tells whether the branch that is open was taken: be before it, or it
 * would be taken for one that was not.
 */
static void leave_open_branch(struct nt_flow *f)
{
	if (f->open == NT_BLOCK_NONE || !nt_walk_open_is_direct(f))
		return;
	nt_walk_go_to(f, f->last_pc);
	f->insns--;
}

static int finish_sync(struct nt_flow *f, struct batch *b, bool just_synced)
{
	int error;

	if (f->msg.sync == NT_SYNC_OVERRUN)
		return NT_EOVERFLOW;
	if (restarts(&f->msg)) {
		bool exact = f->open == NT_BLOCK_NONE;

		leave_open_branch(f);
		stop(f, b, NT_EVCODE_NONE, exact);
		start(f, b, f->msg_target);
	} else {
		error = f->msg.btype ? finish_trap(f, b, trap_types[f->msg.btype]) :
			check_sync(f, b, just_synced);
		if (error)
			return error;
	}
	resync(f);
	return 0;
}

static int finish_stop(struct nt_flow *f, struct batch *b)
{
	bool exact = !nt_walk_silent(f, b);

	if (f->htm && !f->msg.cdf && f->params.profile == NT_PROFILE_1_0)
		add_notice(f, b, NT_ECDF);
	stop(f, b, f->msg.evcode, exact);
	return 0;
}

/* A message was done, for RepeatBranch to do it again; its address is f->msg_target. */
void nt_flow_remember(struct nt_flow *f, const struct nt_msg *msg)
{
	f->last_valid = !nt_is_sync(msg);
	f->last.fields = msg->fields;
	f->last.tcode = msg->tcode;
	f->last.btype = msg->btype;
	f->last.icnt = msg->icnt;
	f->last.hist = msg->hist;
	f->last.target = f->msg_target;
}

/* The walk is done.  0 or an enum nt_error */
static int finish(struct nt_flow *f, struct batch *b)
{
	bool just_synced = f->just_synced;
	int error;

	f->stage = NEXT_MESSAGE;
	f->just_synced = false;
	if (f->walk.by_hist)	/* as far as it may reach, and outcomes are left? */
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
 * nt_msg_decode() found no end of a message in `left` bytes: is there only
 * idle?  It looks at no more than INT32_MAX bytes at once.
 */
static bool is_idle(const struct nt_msg *m, size_t left)
{
	return m->idle == (left < INT32_MAX ? left : INT32_MAX);
}

/* Move on to the next sync message, or the end of the window. */
static void skip_to_sync(struct nt_flow *f)
{
	struct nt_msg m;

	while (f->pos < f->len) {
		int ret = nt_msg_decode(&f->params, f->buf + f->pos, f->len - f->pos, &m);

		if (!ret) {
			bool idle = is_idle(&m, f->len - f->pos);

			if (!idle && f->open_end)
				return;
			f->pos = idle ? f->pos + m.idle : f->len;
		} else if (ret > 0 && nt_is_sync(&m) && !other_source(f, &m)) {
			f->pos += m.idle;
			return;
		} else {
			f->pos += ret > 0 ? (size_t)ret : m.skip;
		}
	}
}

/*
 * The half-words of ResourceFull messages did retire, even when the message
 * that should have claimed them never comes.  Walk them as far as the way is
 * certain: over a branch only in what is known to be BTM.
 */
static void drain(struct nt_flow *f, enum nt_error pending)
{
	struct walk w = { .left = f->credit, .plain = f->btm };

	f->credit = 0;
	f->draining = true;
	f->pending = pending;
	begin_walk(f, &w);
}

/*
 * What the message at msg_offset says, or its bytes, cannot be followed.  Its
 * events are taken back; if it is a sync message itself, decoding goes on with
 * its address.
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
	if (reason == NT_EUNMAPPED)
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

/* -------------------------------------------------------------- messages - */

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
	ev->context = process & 2 ? process >> 5 : 0;
	ev->from = ev->to = f->at.pc;
	b->end = true;
}

/* Messages while nothing is being followed.  0 or an enum nt_error */
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
	switch (f->msg.tcode) {
	case NT_TCODE_OWNERSHIP:
		context(f, b);
		return 0;
	case NT_TCODE_RESOURCE_FULL:
		return begin_resource_full(f);
	case NT_TCODE_REPEAT_BRANCH:
		return begin_repeat(f);
	case NT_TCODE_PROG_TRACE_CORRELATION:
		if (!(f->msg.fields & NT_F_ICNT))
			return NT_ERESERVED;
		return begin_total(f);
	default:
		return begin_total(f);
	}
}

static int on_message(struct nt_flow *f, struct batch *b)
{
	const struct nt_msg *m = &f->msg;

	if (m->tcode == NT_TCODE_ERROR)
		return NT_EOVERFLOW;
	return f->state == RUNNING ? on_running(f, b) : on_stopped(f, b);
}

static void take_address(struct nt_flow *f)
{
	uint64_t addr = f->msg.addr << 1;

	if (!(f->msg.fields & NT_F_ADDR))
		return;
	if (f->msg.fields & NT_F_UADDR)
		addr ^= f->ref;
	f->msg_target = f->ref = addr & f->mask;
}

/* False when the message is beyond the limit; then nothing has changed. */
static bool take_time(struct nt_flow *f)
{
	const struct nt_msg *m = &f->msg;
	uint64_t time = m->tstamp;

	if (!(m->fields & NT_F_TSTAMP))
		return !f->time_valid || f->time <= f->limit;
	if (!nt_is_sync(m)) {
		if (!f->time_valid)
			return true;
		if (f->params.profile == NT_PROFILE_1_0)
			time += f->time;
		else
			time ^= f->time;
	}
	if (time > f->limit)
		return false;
	f->time = time;
	f->time_valid = true;
	return true;
}

/* The rest of the window is no whole message. */
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

/* Decode the next message and begin it.  False: window consumed, or limit. */
static bool next_message(struct nt_flow *f, struct batch *b)
{
	int error, ret;

	ret = nt_msg_decode(&f->params, f->buf + f->pos, f->len - f->pos, &f->msg);
	if (!ret)
		return end_of_window(f, b);
	f->msg_offset = f->offset + f->pos + f->msg.idle;
	f->sure = false;
	mark(f, b);
	if (ret < 0) {
		f->pos += f->msg.skip;
		f->msg.fields = 0;
		lose(f, b, (enum nt_error)-ret);
		return true;
	}
	if (other_source(f, &f->msg)) {
		f->pos += ret;
		return true;
	}
	if (!take_time(f)) {
		f->at_limit = true;
		return false;
	}
	f->pos += ret;
	take_address(f);
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

/*
 * Go on with f->walk.  0, an enum nt_error that the message is refused for, or
 * negative when decoding cannot go on at all
 */
static int go_on(struct nt_flow *f, struct batch *b)
{
	int ret = NT_WALK_DONE;

	if (f->walk.left)
		ret = nt_walk(f, b);
	if (ret == NT_WALK_FULL) {
		b->end = true;
		return 0;
	}
	if (ret == -NT_ENOMEM)
		return ret;
	if (f->draining) {
		finish_drain(f, b);
		return 0;
	}
	if (ret == NT_WALK_DONE)
		ret = -finish(f, b);
	if (!ret && f->counts)
		nt_count_learn(f, b);
	return -ret;
}

static void check_blocks(struct nt_flow *f)
{
	if (f->code && f->code->generation != f->generation) {
		f->generation = f->code->generation;
		nt_walk_forget(f);
	}
}

/* ---------------------------------- batches that end inside a message ----- */

/* Is there a message whose events may still have to be taken back? */
static bool in_message(const struct nt_flow *f)
{
	return f->repeats || (f->stage == WALKING && !f->draining);
}

static int step_message(struct nt_flow *f, struct batch *b)
{
	return f->stage == WALKING ? go_on(f, b) : begin_again(f);
}

/* Follow the message to its end, reporting nothing.  As go_on(); 0: all is as before */
static int look_ahead(struct nt_flow *f)
{
	const size_t size = (f->stack.wrap + 1) * sizeof(*f->stack.calls);
	struct nt_event ev[8 * ROOM];
	struct nt_flow was = *f;
	int ret;

	memcpy(f->stack.calls + f->stack.wrap + 1, f->stack.calls, size);
	f->counts = NULL;
	do {
		struct batch b = { .ev = ev, .max = 8 * ROOM };

		ret = step_message(f, &b);
	} while (!ret && in_message(f));
	was.at.pc = ret ? f->at.pc : was.at.pc;
	*f = was;
	memcpy(f->stack.calls, f->stack.calls + f->stack.wrap + 1, size);
	return ret;
}

/*
 * The batch is full.  What it has of a message that is not done with must not
 * be handed out if that message is refused later: the next batch begins with
 * it, unless it is too much; then the message is looked at to its end.
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

static void take_held(struct nt_flow *f, struct batch *b)
{
	mark(f, b);
	if (f->sure || !in_message(f))
		return;
	memcpy(b->ev, f->held, f->nr_held * sizeof(*b->ev));
	b->n = f->nr_held;
	b->mark_pc = f->held_pc;
	b->mark_insns = f->held_insns;
	f->nr_held = 0;
}

/* Fill a batch with room for what was held back.  Events, or negative */
static int fill(struct nt_flow *f, struct nt_event *ev, unsigned int max)
{
	struct batch b = { .ev = ev, .max = max };
	int ret;

	check_blocks(f);
	f->at_limit = false;
	take_held(f, &b);
	while (!b.end && b.n + ROOM <= max) {
		if (f->stage == WALKING || f->repeats) {
			ret = step_message(f, &b);
			if (ret < 0)
				return ret;
			if (ret)
				lose(f, &b, (enum nt_error)ret);
		} else {
			if (f->counts)
				nt_count_replay(f);
			else
				nt_quick(f, &b);
			if (b.end || !next_message(f, &b))
				break;
		}
	}
	ret = in_message(f) ? hold_back(f, &b) : 0;
	return ret ? ret : (int)b.n;
}

/* ------------------------------------------------------------- interface - */

int nt_flow_next(struct nt_flow *f, struct nt_event *ev, unsigned int max)
{
	unsigned int n;
	int ret;

	if (!ev || !max)
		return -NT_EINVAL;
	if (f->queue_at == f->queue_end) {
		if (max >= 2 * ROOM && max >= f->nr_held + ROOM)
			return fill(f, ev, max);
		ret = fill(f, f->queue, QUEUE_MAX);
		if (ret <= 0)
			return ret;
		f->queue_at = 0;
		f->queue_end = ret;
	}
	n = f->queue_end - f->queue_at;
	n = n < max ? n : max;
	memcpy(ev, f->queue + f->queue_at, n * sizeof(*ev));
	f->queue_at += n;
	return (int)n;
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

void nt_flow_set_code(struct nt_flow *f, struct nt_code *low, struct nt_code *high)
{
	f->low = low;
	f->high = high;
	f->code = NULL;
	nt_walk_forget(f);
}

void nt_flow_window(struct nt_flow *f, const uint8_t *buf, size_t len, uint64_t offset)
{
	f->buf = buf;
	f->len = len;
	f->pos = 0;
	f->offset = offset;
	f->state = UNSYNCED;
	f->stage = NEXT_MESSAGE;
	f->time_valid = false;
	f->repeats = 0;
	f->draining = false;
	f->insns = 0;
	f->nr_held = 0;
	f->queue_at = f->queue_end = 0;
	f->at_limit = false;
	resync(f);
	f->just_synced = false;
}

void nt_flow_open_end(struct nt_flow *f, bool open)
{
	f->open_end = open;
}

void nt_flow_more(struct nt_flow *f, const uint8_t *buf, size_t len, uint64_t offset)
{
	f->buf = buf;
	f->len = len;
	f->pos = 0;
	f->offset = offset;
	f->at_limit = false;
}

void nt_flow_skip_partial(struct nt_flow *f)
{
	while (f->pos < f->len && (f->buf[f->pos] & 3) != 3)
		f->pos++;
	if (f->pos < f->len)
		f->pos++;
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
	if (f->params.profile != NT_PROFILE_1_0) {
		size = STACK_COUNTER;
		if (!f->params.retstack)
			f->params.retstack = 1;
	}
	f->stack.calls = calloc(2 * size, sizeof(*f->stack.calls));
	f->held = malloc(HELD_MAX * sizeof(*f->held));
	f->queue = malloc(QUEUE_MAX * sizeof(*f->queue));
	if (!f->stack.calls || !f->held || !f->queue) {
		nt_flow_free(f);
		return NULL;
	}
	f->stack.wrap = size - 1;
	f->mask = f->params.xlen == 32 ? UINT32_MAX : UINT64_MAX;
	f->limit = UINT64_MAX;
	f->ahead_from = AHEAD_FROM;
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
	free(f);
}
