/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The decoder's state: nt-flow.c does messages, nt-walk.c the way through code
 */
#ifndef NTRACE_NT_FLOW_H
#define NTRACE_NT_FLOW_H

#include <string.h>

#include "nt-code.h"

/*
 * Half-words that one I-CNT may count, and by how many outcomes may run ahead
 * of I-CNT; that the outcomes of one HIST may cover.  A fuzzer wants them small.
 */
#ifndef ICNT_MAX
#define ICNT_MAX	(1ll << 30)
#define HIST_REACH	(1ll << 24)
#endif

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
	uint32_t block;		/* the call's, in f->code; NT_BLOCK_NONE unknown */
};

struct stack {
	struct call *calls;	/* twice as many: the others are for look_ahead() */
	unsigned int wrap;	/* size - 1 */
	unsigned int top;	/* next to be written */
	unsigned int depth;
};

/* A place in the program, and what is known of how the graph leads there */
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
	unsigned int reload;	/* nbits at the start of each repetition */
	uint64_t repeat;	/* of the outcomes, still to come */
	bool by_hist;		/* ends with the outcomes, I-CNT comes later */
	bool plain;		/* BTM: branches inside are not taken */
};

/* What begin_total() and finish() want to know of a branch message */
struct branch_msg {
	uint64_t icnt, hist;
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
	bool htm, btm;		/* messages since the last sync message show that it is */
	uint64_t ref;		/* address that U-ADDR is relative to */
	int64_t credit;
	uint64_t time;
	bool time_valid;
	struct stack stack;
	uint64_t stop_pc;	/* where the last STOP left, for NT_EVF_JOIN */
	bool stop_valid;

	/* where we are */
	struct place at;
	struct nt_code *code;	/* of all block numbers here */
	uint32_t generation;	/* of code when they were valid */
	uint32_t open;		/* block whose end the message has to tell */
	uint64_t last_pc;	/* last instruction of a finished walk */

	/* the message being worked on */
	struct nt_msg msg;
	uint64_t msg_offset;
	uint64_t msg_target;	/* its address, absolute */
	int64_t total;		/* half-words it counts, credit included */
	struct walk walk;
	bool just_synced;	/* nothing retired since a sync message */
	bool draining;		/* walking credit that no message will claim */
	enum nt_error pending;	/* the loss that comes after it, if any */

	/* for RepeatBranch: the last branch message without SYNC, resolved */
	struct branch_msg last;
	bool last_valid;
	uint64_t repeats;

	uint32_t insns;		/* since the last event */
	uint32_t ahead_from;	/* blocks from which on nt_quick() reads ahead */
	bool slow;		/* nothing by nt_quick(); for tests, which compare */
	struct nt_counts *counts;	/* of nt_flow_count() while in it, or NULL */

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

static inline struct nt_event *add_event(struct nt_flow *f, struct batch *b, enum nt_event_kind kind)
{
	struct nt_event *ev = &b->ev[b->n++];

	memset(ev, 0, sizeof(*ev));
	ev->kind = kind;
	ev->offset = f->msg_offset;
	ev->time = f->time;
	ev->flags = f->time_valid ? NT_EVF_TIME : 0;
	return ev;
}

/* Field by field: clearing it first costs more than all else about an event. */
static inline void add_branch(struct nt_flow *f, struct batch *b, unsigned int type,
		       uint64_t from, uint64_t to, unsigned int flags)
{
	struct nt_event *ev = &b->ev[b->n++];
	bool sync = nt_is_sync(&f->msg);

	ev->from = from;
	ev->to = to;
	ev->time = f->time;
	ev->offset = f->msg_offset;
	ev->context = 0;
	ev->insns = f->insns;
	ev->kind = NT_EV_BRANCH;
	ev->type = type;
	ev->reason = sync ? f->msg.sync : 0;
	ev->flags = flags | (f->time_valid ? NT_EVF_TIME : 0) | (sync ? NT_EVF_SYNC : 0);
	f->insns = 0;
}

/* --------------------------------------------------------- in nt-walk.c -- */

enum nt_walked {
	NT_WALK_DONE,
	NT_WALK_FULL,	/* the batch is; go on with the next */
};

/*
 * Do f->walk, which has half-words left, from f->at on.  NT_WALK_*, or a
 * negative enum nt_error; f->at is then as far as the way is certain.
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
void nt_walk_told(struct nt_flow *f, struct batch *b, uint64_t addr);
void nt_walk_direct(struct nt_flow *f, struct batch *b);
int nt_walk_silent(struct nt_flow *f, struct batch *b);
int nt_walk_custom(struct nt_flow *f, struct batch *b, uint64_t addr);

/* Is what is open a branch or direct jump? */
bool nt_walk_open_is_direct(const struct nt_flow *f);

/* -------------------------------------------------------- in nt-quick.c -- */

/* Do as many messages as are of the common kinds, and there is room for. */
void nt_quick(struct nt_flow *f, struct batch *b);

/* -------------------------------------------- in nt-flow.c, for counting - */

/* A message was done, for RepeatBranch to do it again; its address is f->msg_target. */
void nt_flow_remember(struct nt_flow *f, const struct nt_msg *msg);

#endif /* NTRACE_NT_FLOW_H */
