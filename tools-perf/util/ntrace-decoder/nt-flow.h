/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The decoder's state: nt-flow.c does messages, nt-walk.c the way through code
 */
#ifndef NTRACE_NT_FLOW_H
#define NTRACE_NT_FLOW_H

#include <string.h>

#include "nt-code.h"

/*
 * Half-words that one I-CNT may count (22 bits, B.1-9), and by how many outcomes
 * may run ahead of I-CNT, which is reported when it is full; that the outcomes of
 * one HIST may cover.  A fuzzer wants them small.
 */
#ifndef ICNT_MAX
#define ICNT_MAX	(1ll << 22)
#define HIST_REACH	(1ll << 24)
#endif

/* Counts of repetitions: 18 bits by the specification */
#ifndef REPEAT_MAX
#define REPEAT_MAX	((1ull << 18) - 1)
#endif

/*
 * Work is limited: a window has so many units at first, and gets more with each byte of
 * messages, see nt_params.work_per_byte.  charge_walk() says what costs how much.
 */
#ifndef WORK_FIRST
#define WORK_FIRST	(1ll << 24)
#endif
#ifndef WORK_PER_BYTE
#define WORK_PER_BYTE	4096
#endif
#define WORK_PER_REPETITION	8

/* Half-words that the search for missing outcomes may walk, all its ways together */
#define SETTLE_REACH	4096
/* Ways that it may have found and not walked yet */
#define SETTLE_WAYS	16

/* Messages behind a RepeatBranch that may tell what it repeats */
#define REPEAT_AHEAD	16

/* To infer the mode: bytes that may be looked at, messages that are counted */
#define MODE_AHEAD	(64u << 10)
#define MODE_VOTES	15

/* Maps that are found again without a lock */
#define NR_RECENT	16

/* Blocks that a core's caches may hold; more are worth asking for in time */
#define AHEAD_FROM	8192

/* Events that one message may need beside those of its walk */
#define ROOM		8

/* Events of an unfinished message that wait for its end */
#define HELD_MAX	256

/* A batch in which these and more have room */
#define QUEUE_MAX	(HELD_MAX + 2 * ROOM)

/* ---------------------------------------------------------- structures --- */

enum state {
	UNSYNCED,	/* no sync message yet, or none since a loss */
	RUNNING,
	STOPPED,	/* by ProgTraceCorrelation */
};

enum stage {
	NEXT_MESSAGE,
	WALKING,	/* f->walk goes on, then comes the end of f->msg */
};

struct call {
	uint64_t pc;		/* where it returns to */
	uint32_t block;		/* the call's, in f->store; NT_BLOCK_NONE unknown */
	const struct nt_map *map;	/* ... and where that is */
};

struct stack {
	struct call *calls;	/* three times as many, for look_ahead() and settle() */
	unsigned int wrap;	/* size - 1 */
	unsigned int top;	/* next to be written */
	unsigned int depth;
};

/* A place in the program, and what is known of how the graph leads there: blocks in f->map */
struct place {
	uint64_t pc;
	uint32_t block;		/* at pc, or NT_BLOCK_NONE: to be looked up */
	uint32_t link;		/* block that leads here and may remember it, or NONE */
	bool taken;		/* by which of its successors */
};

struct walk {
	int64_t left;		/* half-words; in a HIST walk what HIST may cover */
	uint64_t hist;		/* outcomes: bit nbits - 1 is next */
	unsigned int nbits;
	bool by_hist;		/* ends with the outcomes, I-CNT comes later */
	bool plain;		/* BTM: branches inside are not taken */
};

/* The state in which a repetition began, so as to see that the next will be the same */
struct repetition {
	bool whole;		/* its events are in the batch, from the first on */
	unsigned int left;	/* of a pair that counts as one: still to be done */
	unsigned int first;
	uint64_t pc;
	int64_t credit;
	uint32_t insns;
	int64_t cost;		/* of its work, as a copy */
};

/* What begin_total() and finish() want to know of a branch message */
struct branch_msg {
	uint64_t icnt, hist;
	uint64_t addr;		/* as in struct nt_msg */
	uint64_t target;
	uint32_t fields;
	uint8_t tcode, btype;
};

struct nt_flow {
	struct nt_params params;
	uint64_t mask;
	struct nt_code *low, *high;

	/* the window */
	const uint8_t *buf;
	size_t len, pos;
	uint64_t offset;
	bool at_limit;
	bool open_end;		/* the window's end is not that of the trace */
	uint64_t limit;

	/* of the stream */
	enum state state;
	enum stage stage;
	enum nt_mode mode;	/* of params, or inferred */
	size_t no_mode;		/* position up to which nothing tells it */
	uint64_t ref;		/* address that U-ADDR is relative to */
	int64_t credit;
	uint64_t time;		/* the last, of whatever window */
	bool time_valid;
	bool had_time;
	uint64_t time_from;	/* see nt_flow_time_from() */
	bool no_time;		/* a sync message of the window had no timestamp */
	struct stack stack;
	uint64_t stop_pc;	/* where the last STOP left, for NT_EVF_JOIN */
	bool stop_valid;
	bool leaving;		/* the message leads to what is not traced, see know_leaving() */
	bool left;		/* ... was followed */

	/* where we are */
	struct place at;
	struct nt_store *store;	/* of all block numbers here */
	const struct nt_map *map;	/* of at, or of the block walked last */
	const struct nt_map *recent[NR_RECENT];	/* by address; NULL: none */
	uint32_t generation;	/* of store, low and high, when all this was valid */
	uint32_t open;		/* block in map whose end the message has to tell */
	uint64_t last_pc;	/* last instruction of a finished walk */

	/* the message being worked on */
	struct nt_msg msg;
	uint64_t msg_offset;
	uint64_t msg_target;	/* its address, absolute */
	bool empty;		/* it counts no half-words, credit included */
	struct walk walk;
	uint64_t last_sync;	/* offset of the last sync message, UINT64_MAX none */
	bool just_synced;	/* nothing retired since a sync message */
	bool draining;		/* walking credit that no message will claim */
	bool trying;		/* outcomes that settle() has chosen */
	enum nt_error pending;	/* the loss that comes after it, if any */

	/* for RepeatBranch: the last branch message without SYNC, resolved, or where it is */
	size_t last_at;		/* SIZE_MAX: in `last`, if that is valid */
	struct branch_msg last;
	bool last_valid;
	bool by_uaddr;		/* it repeats U-ADDR, not the target ... */
	bool unclear;		/* ... or may as well do the other */
	uint64_t repeats;	/* of it, or of the outcomes of ResourceFull, to come */
	struct repetition rep;
	bool inside;		/* what comes first is the rest of a damaged message */
	bool skipping;		/* a loss may go on in what comes, see nt_flow_open_end() */
	int64_t work;		/* units left, see WORK_FIRST ... */
	int64_t work_per_byte;

	uint32_t insns;		/* since the last event */
	uint32_t ahead_from;	/* blocks from which on nt_loop() reads ahead */
	uint32_t reported_syncs;	/* bits of the reasons that make events */
	bool slow;		/* nothing by nt_loop(); for tests, which compare */
	struct nt_counts *counts;	/* of nt_flow_count() while in it, or NULL */
	bool too_much;		/* the batch ended for the store to evict */
	bool until_other;	/* a batch ends behind what nt_flow_count_until() does not count */

	/*
	 * A message that turns out not to fit the code must not have been
	 * reported: its events are held back until it is done with, or `sure`
	 * to fit.
	 */
	bool sure;
	unsigned int nr_held;
	uint64_t held_pc;	/* batch.mark_pc, batch.mark_insns of that message */
	uint32_t held_insns;
	struct nt_event *held;	/* HELD_MAX */

	/* a batch that was made to be handed out in smaller ones */
	unsigned int queue_at, queue_end;
	struct nt_event *queue;	/* QUEUE_MAX */
};

/* The events of one call, and what to go back to when a message is refused */
struct batch {
	struct nt_event *ev;
	unsigned int n, max;
	bool end;		/* no more in this batch */
	unsigned int mark;
	uint64_t mark_pc;
	uint32_t mark_insns;
};

/* ---------------------------------------------------------------- events - */

/* The time that an absolute TSTAMP stands for */
static inline uint64_t absolute_time(const struct nt_flow *f, uint64_t stamp)
{
	return nt_tstamp_behind(f->had_time ? f->time : 0, f->time_from, stamp,
				f->params.tstamp_bits);
}

/* NT_EVF_TIME, NT_EVF_STAMP: what the message being worked on tells of its time */
static inline unsigned int time_flags(const struct nt_flow *f)
{
	if (!f->time_valid)
		return 0;
	return NT_EVF_TIME | (f->msg.fields & NT_F_TSTAMP ? NT_EVF_STAMP : 0);
}

static inline struct nt_event *add_event(struct nt_flow *f, struct batch *b,
					 enum nt_event_kind kind)
{
	struct nt_event *ev = &b->ev[b->n++];

	b->end |= f->until_other;
	memset(ev, 0, sizeof(*ev));
	ev->kind = kind;
	ev->offset = f->msg_offset;
	ev->time = f->time;
	ev->flags = time_flags(f);
	return ev;
}

/* Is what is followed told by a sync message?  What is drained comes before it. */
static inline bool is_of_sync(const struct nt_flow *f)
{
	return nt_is_sync(&f->msg) && !f->draining;
}

/* Field by field: clearing it first costs more than all else about an event. */
static inline void add_branch(struct nt_flow *f, struct batch *b, unsigned int type,
			      uint64_t from, uint64_t to, unsigned int flags)
{
	struct nt_event *ev = &b->ev[b->n++];
	bool sync = is_of_sync(f);

	ev->from = from;
	ev->to = to;
	ev->time = f->time;
	ev->offset = f->msg_offset;
	ev->context = 0;
	ev->insns = f->insns;
	ev->kind = NT_EV_BRANCH;
	ev->type = type;
	ev->reason = sync ? f->msg.sync : 0;
	ev->flags = flags | time_flags(f) | (sync ? NT_EVF_SYNC : 0);
	f->insns = 0;
}

/* --------------------------------------------------------- in nt-walk.c -- */

/* How far a walk came; or negative, an enum nt_error about the instruction there */
enum nt_walked {
	NT_WALK_ON,		/* there is more to do */
	NT_WALK_DONE,
	NT_WALK_FULL,		/* the batch is; go on with the next */
	/* of what is inside, see nt-walk.h */
	NT_WALK_UNKNOWN,	/* the next block is not known */
	NT_WALK_OUTCOMES,	/* they are used up */
	NT_WALK_LAST,		/* the block ends where the walk does, or behind it, or is rare */
	NT_WALK_OPEN,		/* the message will tell how the block ended that was the last */
};

/*
 * Do f->walk, which has half-words left, from f->at on.  NT_WALK_DONE, NT_WALK_FULL or
 * negative; f->at is then as far as the way is certain.
 */
int nt_walk(struct nt_flow *f, struct batch *b);

/*
 * Look up the block at f->at, and let the graph remember it.  0 or an enum
 * nt_error.
 */
int nt_walk_discover(struct nt_flow *f);

/* Be at pc, without knowing how one comes there. */
void nt_walk_go_to(struct nt_flow *f, uint64_t pc);

/* Block numbers in *f have become stale. */
void nt_walk_forget(struct nt_flow *f);

/* The program at an address; NULL when none was set */
struct nt_code *nt_walk_code_at(const struct nt_flow *f, uint64_t pc);

/*
 * What ends the block that a walk left open (f->open):
 *   told	the message says where its indirect transfer went
 *   direct	its branch, or direct jump, was taken
 *   silent	the message doesn't tell: the branch was not taken, an indirect
 *		transfer must be inferred.  Also when nothing is open.
 *   custom	nothing is open; but the last instruction is of a custom
 *		encoding and may have jumped
 * int: 0 or an enum nt_error.
 */
int nt_walk_told(struct nt_flow *f, struct batch *b, uint64_t addr);
void nt_walk_direct(struct nt_flow *f, struct batch *b);
int nt_walk_silent(struct nt_flow *f, struct batch *b);
int nt_walk_custom(struct nt_flow *f, struct batch *b, uint64_t addr);

/* Where the code says that what is open leads */
uint64_t nt_walk_open_target(const struct nt_flow *f);
/* Is what is open a branch or direct jump? */
bool nt_walk_open_is_direct(const struct nt_flow *f);
/* A branch to what is behind it: that is where it leads, taken or not. */
bool nt_walk_open_leads_on(const struct nt_flow *f);
/* A sequential jump: the code tells its target. */
bool nt_walk_open_is_known(const struct nt_flow *f, uint64_t *target);

/* --------------------------------------------------------- in nt-loop.c -- */

/*
 * Do as many messages as are of the common kinds, and there is room for, or `one`.  False: there
 * was none, or its walk goes on; f->stage tells.
 */
bool nt_loop(struct nt_flow *f, struct batch *b, bool one);

/* -------------------------------------------- in nt-flow.c, for counting - */

/* nt_flow_next(), with events of `size` bytes; arguments are not checked. */
int nt_flow_events(struct nt_flow *f, struct nt_event *ev, size_t size, unsigned int max);

/* A message was done, for RepeatBranch to do it again; its address is f->msg_target. */
void nt_flow_remember(struct nt_flow *f, const struct nt_msg *msg);

#endif /* NTRACE_NT_FLOW_H */
