/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Marks are the lines `# ...' between the addresses that decode prints and encode reads. They
 * contain what no instruction shows:
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
 * Addresses and contexts are hexadecimal, other numbers are decimal.
 */
#ifndef NTRACE_MARKS_H
#define NTRACE_MARKS_H

#include "cmd.h"

/* ------------------------------------------------------------- writing --- */

/* The time that was written last, in all pieces so far */
struct marks_time {
	bool timed;
	uint64_t time;
};

/* State of writing a piece; all zeros at first, except for `before' */
struct marks {
	const struct marks_time *before;	/* of pieces before, when it is this one's turn */
	uint64_t first;		/* the first time in this piece, if it differs from `before' */
	bool timed;		/* `time' was written */
	uint64_t time;
	bool due;		/* write due_time after the message at due_offset */
	uint64_t due_time;
	uint64_t due_offset;
	bool begun;		/* there was an event */
};

/* Transfers that the rest of the output does not show */
#define MARKS_TRAP	0x1
#define MARKS_IJUMP	0x2	/* a jump that the encoding does not show */

/* Write the marks that belong before, or after, the instructions of an event. */
void marks_before(struct marks *m, const struct piece *p, const struct nt_event *ev);
void marks_behind(struct marks *m, const struct piece *p, const struct nt_event *ev, bool seam,
		  unsigned int transfers);

/* ------------------------------------------------------------- reading --- */

enum mark_kind {
	MARK_NONE,		/* a comment */
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
	bool told;		/* STOP: it has an EVCODE */
	uint8_t reason;		/* SYNC, EVCODE, FORMAT of the Ownership message */
	uint8_t type;		/* TRAP: enum nt_type */
	uint8_t priv;
	bool virt;
};

/* Parse a line that begins with #. Returns NULL, or the expected format. */
const char *mark_parse(const char *text, struct mark *mark);

#endif /* NTRACE_MARKS_H */
