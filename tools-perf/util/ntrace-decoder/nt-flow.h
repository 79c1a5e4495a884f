/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The decoder's state: nt-flow.c processes messages, nt-walk.c walks through code
 */
#ifndef NTRACE_NT_FLOW_H
#define NTRACE_NT_FLOW_H

#include <string.h>

#include "nt-code.h"

/*
 * Half-words that one I-CNT may count (22 bits, B.1-9), which also limits how far outcomes may run
 * ahead of I-CNT, since a full I-CNT is reported; and half-words that the outcomes of one HIST may
 * cover.  Fuzzers use small values.
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
 * Work is limited: a window begins with WORK_FIRST units and gets more with each byte of messages,
 * see nt_params.work_per_byte and charge_walk().
 */
#ifndef WORK_FIRST
#define WORK_FIRST	(1ll << 24)
#endif
#ifndef WORK_PER_BYTE
#define WORK_PER_BYTE	4096
#endif
#define WORK_PER_REPETITION	8

/* Half-words that the search for missing outcomes may walk on all paths together */
#define SETTLE_REACH	4096
/* Paths that it may have found and not walked yet */
#define SETTLE_WAYS	16

/* Messages after a RepeatBranch that may show what it repeats */
#define REPEAT_AHEAD	16

/* Inferring the mode: bytes to read, messages to count */
#define MODE_AHEAD	(64u << 10)
#define MODE_VOTES	15

/* Maps that are found without a lock */
#define NR_RECENT	16

/* Blocks that fit into a core's caches; beyond that, prefetching is worthwhile */
#define AHEAD_FROM	8192

/* Events that one message may need in addition to those of its walk */
#define ROOM		8

/* Events of an unfinished message that wait for its end */
#define HELD_MAX	256

/* A batch that has room for these and more */
#define QUEUE_MAX	(HELD_MAX + 2 * ROOM)

/* ---------------------------------------------------------- structures --- */

enum state {
	UNSYNCED,	/* no sync message yet, or none since a loss */
	RUNNING,
	STOPPED,	/* by ProgTraceCorrelation */
};

enum stage {
	NEXT_MESSAGE,
	WALKING,	/* f->walk continues, then comes the end of f->msg */
};

struct call {
	uint64_t pc;		/* return address */
	uint32_t block;		/* block of the call, in f->store; NT_BLOCK_NONE: unknown */
	const struct nt_map *map;	/* ... and its map */
};

struct stack {
	struct call *calls;	/* three copies, for look_ahead() and settle() */
	unsigned int wrap;	/* size - 1 */
	unsigned int top;	/* next to be written */
	unsigned int depth;
};

/* A position in the program, and how the graph leads there: blocks in f->map */
struct place {
	uint64_t pc;
	uint32_t block;		/* at pc; NT_BLOCK_NONE: not looked up yet */
	uint32_t link;		/* block that leads here and may be linked; or NONE */
	bool taken;		/* as its taken successor */
};

struct walk {
	int64_t left;		/* half-words; in a HIST walk, what HIST may cover */
	uint64_t hist;		/* outcomes: bit nbits - 1 is next */
	unsigned int nbits;
	bool by_hist;		/* ends with the outcomes, I-CNT follows later */
	bool plain;		/* BTM: branches on the path are not taken */
};

/* The state at the beginning of a repetition, to detect that the next one will be equal */
struct repetition {
	bool whole;		/* all of its events are in the batch */
	unsigned int left;	/* repetitions left of a pair that counts as one */
	unsigned int first;
	uint64_t pc;
	int64_t credit;
	uint32_t insns;
	int64_t cost;		/* units of work of a copy */
};

/* The part of a branch message that begin_total() and finish() need */
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
	struct nt_short_kind *kinds;	/* to skip other sources' messages; NULL: no SRC */
	struct nt_code *low, *high;

	/* the window */
	const uint8_t *buf;
	size_t len, pos;
	size_t end;		/* len, or where messages begin that are beyond limit_offset */
	uint64_t offset;
	bool at_limit;
	bool open_end;		/* the trace continues after the window */
	uint64_t limit;
	uint64_t limit_offset;

	/* of the stream */
	enum state state;
	enum stage stage;
	enum nt_mode mode;	/* from params, or inferred */
	size_t no_mode;		/* position up to which no message shows it */
	uint64_t ref;		/* address that U-ADDR is relative to */
	int64_t credit;
	uint64_t time;		/* last time, in any window */
	bool time_valid;
	bool had_time;
	uint64_t time_from;	/* see nt_flow_time_from() */
	bool no_time;		/* a sync message of the window had no timestamp */
	struct stack stack;
	uint64_t stop_pc;	/* pc of the last STOP, for NT_EVF_JOIN */
	bool stop_valid;
	bool leaving;		/* the message leads to untraced code, see know_leaving() */
	bool left;		/* ... and was followed */

	/* current position */
	struct place at;
	struct nt_store *store;	/* of all block numbers in this structure */
	const struct nt_map *map;	/* of at, or of the last walked block */
	const struct nt_map *recent[NR_RECENT];	/* by address; NULL: none */
	uint32_t generation;	/* of store, low and high, when this state was valid */
	uint32_t open;		/* block in map whose end depends on the message */
	uint64_t last_pc;	/* last instruction of a finished walk */

	/* the current message */
	struct nt_msg msg;
	uint64_t msg_offset;
	uint64_t msg_target;	/* its absolute address */
	bool empty;		/* it counts no half-words, including credit */
	struct walk walk;
	uint64_t last_sync;	/* offset of the last sync message; UINT64_MAX: none */
	bool just_synced;	/* nothing retired since a sync message */
	bool draining;		/* walking credit that no message claims */
	bool trying;		/* trying outcomes for settle() */
	enum nt_error pending;	/* the loss after that, if any */

	/* for RepeatBranch: the last branch message without SYNC, resolved, or its position */
	size_t last_at;		/* SIZE_MAX: in `last`, if that is valid */
	struct branch_msg last;
	bool last_valid;
	bool by_uaddr;		/* RepeatBranch repeats U-ADDR, not the target ... */
	bool unclear;		/* ... or the other way round, which is unknown */
	uint64_t repeats;	/* repetitions left, of it or of the outcomes of ResourceFull */
	struct repetition rep;
	bool inside;		/* the next bytes are the rest of a damaged message */
	bool skipping;		/* a loss may continue in the next bytes, see nt_flow_open_end() */
	int64_t work;		/* units left, see WORK_FIRST ... */
	int64_t work_per_byte;

	uint32_t insns;		/* since the last event */
	uint32_t ahead_from;	/* number of blocks from which nt_loop() reads ahead */
	uint32_t reported_syncs;	/* bits of the reasons that produce events */
	bool slow;		/* do not use nt_loop(); for tests that compare */
	struct nt_counts *counts;	/* set during nt_flow_count(), or NULL */
	bool too_much;		/* the batch ended because the store must evict */
	bool until_other;	/* end batches after events that are not counted */
	uint64_t run;		/* target of the last transfer that was delivered or counted, */
	bool run_ended;		/* and another event was delivered after it */

	/*
	 * A message that does not match the code must not have been reported: its events are held
	 * back until it is complete, or `sure` to match.
	 */
	bool sure;
	unsigned int nr_held;
	uint64_t held_pc;	/* batch.mark_pc, batch.mark_insns of this message */
	uint32_t held_insns;
	struct nt_event *held;	/* HELD_MAX */

	/* a batch that is handed out in smaller ones */
	unsigned int queue_at, queue_end;
	struct nt_event *queue;	/* QUEUE_MAX */

	struct nt_flow *marked;	/* a copy with a stack and held events of its own, or NULL */
	bool is_marked;
};

/* The events of one call, and the state to return to if a message is refused */
struct batch {
	struct nt_event *ev;
	unsigned int n, max;
	bool end;		/* no more in this batch */
	bool last;		/* no more messages */
	unsigned int mark;
	uint64_t mark_pc;
	uint32_t mark_insns;
};

/* ---------------------------------------------------------------- events - */

/* The time of an absolute TSTAMP */
static inline uint64_t absolute_time(const struct nt_flow *f, uint64_t stamp)
{
	return nt_tstamp_behind(f->had_time ? f->time : 0, f->time_from, stamp,
				f->params.tstamp_bits);
}

/* NT_EVF_TIME, NT_EVF_STAMP: the time of the current message */
static inline unsigned int time_flags(const struct nt_flow *f)
{
	if (!f->time_valid)
		return 0;
	return NT_EVF_TIME | (f->msg.fields & NT_F_TSTAMP ? NT_EVF_STAMP : 0);
}

/* Does the event say where the program continues? */
static inline bool nt_event_leads(const struct nt_event *ev)
{
	return ev->kind == NT_EV_BRANCH || ev->kind == NT_EV_START;
}

/* A branch, not a trap, with a known target */
static inline bool nt_event_is_plain(const struct nt_event *ev)
{
	return ev->kind == NT_EV_BRANCH && !nt_type_is_trap(ev->type) &&
	       !(ev->flags & NT_EVF_LEFT);
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

/* Does a sync message report the current walk?  Drained credit belongs to earlier messages. */
static inline bool is_of_sync(const struct nt_flow *f)
{
	return nt_is_sync(&f->msg) && !f->draining;
}

/* Field by field, because clearing the event first would cost more than the rest. */
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

/* The result of a walk; or negative, an enum nt_error about the current instruction */
enum nt_walked {
	NT_WALK_ON,		/* not finished */
	NT_WALK_DONE,
	NT_WALK_FULL,		/* the batch is full; continue with the next one */
	/* internal, see nt-walk.h */
	NT_WALK_UNKNOWN,	/* the next block is not known */
	NT_WALK_OUTCOMES,	/* outcomes are used up */
	NT_WALK_LAST,		/* the block ends with or after the walk, or is rare */
	NT_WALK_OPEN,		/* the message determines how the last block ended */
};

/*
 * Do f->walk, which has half-words left, from f->at on.  Returns NT_WALK_DONE, NT_WALK_FULL or a
 * negative error; f->at is then the last certain position.
 */
int nt_walk(struct nt_flow *f, struct batch *b);

/* Look up the block at f->at, and store it in the link to it.  Returns 0 or an enum nt_error. */
int nt_walk_discover(struct nt_flow *f);

/* Set the position to pc, without a link to it. */
void nt_walk_go_to(struct nt_flow *f, uint64_t pc);

/* Discard all block numbers in *f, which have become stale. */
void nt_walk_forget(struct nt_flow *f);

/* The program at an address; NULL if none was set */
struct nt_code *nt_walk_code_at(const struct nt_flow *f, uint64_t pc);

/*
 * Completes the block that a walk left open (f->open):
 *   told	the message has the target of its indirect transfer
 *   direct	its branch, or direct jump, was taken
 *   silent	the message has nothing about it: the branch was not taken, an
 *		indirect transfer must be inferred.  Also if nothing is open.
 *   custom	nothing is open; but the last instruction is of a custom
 *		encoding and may have jumped
 * int: 0 or an enum nt_error.
 */
int nt_walk_told(struct nt_flow *f, struct batch *b, uint64_t addr);
void nt_walk_direct(struct nt_flow *f, struct batch *b);
int nt_walk_silent(struct nt_flow *f, struct batch *b);
int nt_walk_custom(struct nt_flow *f, struct batch *b, uint64_t addr);

/* The target of the open block according to the code */
uint64_t nt_walk_open_target(const struct nt_flow *f);
/* Is the open transfer a branch or direct jump? */
bool nt_walk_open_is_direct(const struct nt_flow *f);
/* Is the open branch's target the next instruction, whether taken or not? */
bool nt_walk_open_leads_on(const struct nt_flow *f);
/* Is it a sequential jump, whose target is in the code? */
bool nt_walk_open_is_known(const struct nt_flow *f, uint64_t *target);

/* --------------------------------------------------------- in nt-loop.c -- */

/*
 * Process messages of the common kinds, as many as fit, or `one`.  False: there was none, or its
 * walk continues; see f->stage.
 */
bool nt_loop(struct nt_flow *f, struct batch *b, bool one);

/* -------------------------------------------- in nt-flow.c, for counting - */

/* nt_flow_next(), with events of `size` bytes; arguments are not checked. */
int nt_flow_events(struct nt_flow *f, struct nt_event *ev, size_t size, unsigned int max);

/* Remember a complete message for RepeatBranch; its address is f->msg_target. */
void nt_flow_remember(struct nt_flow *f, const struct nt_msg *msg);

#endif /* NTRACE_NT_FLOW_H */
