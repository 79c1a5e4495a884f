/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Marks: the lines `# ...' between the addresses that decode prints and encode reads.
 * They tell what no instruction tells:
 *
 *	# source ID			SRC of the messages that were decoded
 *	# time TICKS			of the messages up to here
 *	# start ADDR SYNC=N		trace begins at ADDR
 *	# stop ADDR [EVCODE=N]		trace ends before ADDR; no EVCODE: no message said so
 *	# sync ADDR SYNC=N		a trigger (0) or a watchpoint (6) before ADDR
 *	# context PRV=N V=N [scontext=X|hcontext=X]	an Ownership message
 *	# exception|interrupt|trap FROM TO	FROM did not retire, TO is the handler
 *	# ijump FROM TO			FROM, of an unknown encoding, led to TO
 *	# loss ...			trace was lost
 *
 * Addresses and contexts are hexadecimal, all else is decimal.
 */
#ifndef NTRACE_MARKS_H
#define NTRACE_MARKS_H

#include "cmd.h"

/* ------------------------------------------------------------- writing --- */

/* The time that was written last, of all pieces of the trace so far */
struct marks_time {
	bool timed;
	uint64_t time;
};

/* What was written of a piece of the trace; 0 at first, but for `before' */
struct marks {
	const struct marks_time *before;	/* of the pieces before, once it is this one's turn */
	uint64_t first;		/* the time that was written first, if `before' has another */
	bool timed;		/* `time' was written last */
	uint64_t time;
	bool due;		/* due_time is to be written behind the message at due_offset */
	uint64_t due_time;
	uint64_t due_offset;
	bool begun;		/* there was an event */
};

/* What no other line of the output tells */
#define MARKS_TRAP	0x1
#define MARKS_IJUMP	0x2	/* the event's instruction jumped, as its encoding does not tell */

/* Write the marks that belong before the instructions of an event, and behind them. */
void marks_before(struct marks *m, const struct piece *p, const struct nt_event *ev);
void marks_behind(struct marks *m, const struct piece *p, const struct nt_event *ev, bool seam,
		  unsigned int transfers);

/* ------------------------------------------------------------- reading --- */

enum mark_kind {
	MARK_NONE,		/* a remark */
	MARK_SOURCE,
	MARK_TIME,
	MARK_START,
	MARK_STOP,
	MARK_SYNC,
	MARK_CONTEXT,
	MARK_TRAP,
	MARK_IJUMP,
	MARK_LOSS,
};

struct mark {
	enum mark_kind kind;
	uint64_t pc, to;
	uint64_t value;		/* source, time, context */
	bool told;		/* STOP: there is an EVCODE */
	uint8_t reason;		/* SYNC, EVCODE, FORMAT of the Ownership message */
	uint8_t type;		/* TRAP: enum nt_type */
	uint8_t priv;
	bool virt;
};

/* Read a line that begins with #.  NULL, or what the line should look like. */
const char *mark_parse(const char *text, struct mark *mark);

#endif /* NTRACE_MARKS_H */
