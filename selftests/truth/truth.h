/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The truth stream of one hart: what the model says retired, as events.
 * Marks are groups of state initialisation with register 0xc000 as their kind.
 */
#ifndef TRUTH_H
#define TRUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nt-tv.h"

enum truth_kind {
	TRUTH_INSN,		/* retired at pc, went to next */
	TRUTH_BEGIN,		/* recording starts at pc; value: satp */
	TRUTH_END,		/* recording stops; pc is what would be next */
	TRUTH_OWNER,		/* another task's from here on, or its satp, in value */
	TRUTH_DROP,		/* messages are dropped from here on, which would have told the last
				 * `value` instructions before it; UINT64_MAX: the loss before goes
				 * on at the beginning of another stretch */
	TRUTH_RESTART,		/* trace goes on at pc */
	TRUTH_SEGMENT,		/* another recording, number in value */
	TRUTH_TRAP,		/* pc did not retire, went to next; cause in value */
};

struct truth_event {
	uint64_t pc;
	uint64_t next;
	uint64_t value;
	uint32_t insn;
	uint32_t tid;		/* BEGIN, OWNER: whose, 0 none or unknown */
	uint8_t kind;
	uint8_t len;		/* of insn; TRAP: 0 when the instruction is not given */
};

/* Transfer types, by our own reading of the instruction bits (never libntrace's) */
enum xfer {
	X_NONE, X_COND, X_JUMP, X_IJUMP, X_CALL, X_ICALL, X_RET, X_SWAP,
	X_EXCEPTION, X_INTERRUPT, X_TRAP, X_ERET, X_MAX,
};

extern const char *const xfer_names[X_MAX];

/* Type of the transfer that this instruction is, whether or not it was taken */
enum xfer truth_xfer(const struct truth_event *ev);

struct truth;

/*
 * spec: a file, a *.zst file, `-` or `|COMMAND`. Exits with 2 and words when it
 * cannot be opened; so do the functions below when the stream makes no sense.
 */
struct truth *truth_open(const char *spec);

/* The event `ahead` events from here, 0 the next one; NULL behind the end. */
const struct truth_event *truth_peek(struct truth *t, size_t ahead);

/* Take the next event; truth_peek(t, 0) must not have been NULL. */
void truth_pop(struct truth *t);

/* Skip everything up to the SEGMENT mark of this number; false if there is none. */
bool truth_seek_segment(struct truth *t, uint64_t number);

const char *truth_name(const struct truth *t);
void truth_close(struct truth *t);

/* Say why and exit with status 2: input or arguments are unusable. */
void die(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));

#endif
