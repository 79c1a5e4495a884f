/* SPDX-License-Identifier: GPL-2.0-only */
/* ntrace tv: shared declarations */
#ifndef NTRACE_TV_H
#define NTRACE_TV_H

#include <stddef.h>

#include "cmd.h"
#include "nt-tv.h"

/* The name of a register: ABI name, CSR name, or "customc000". Uses buf if it is in no table. */
const char *tv_reg_name(uint16_t reg, char *buf, size_t size);

/* ------------------------------------------------------------- a file ---- */

/* A trace that is read in parts */
struct tv_input {
	struct nt_tv_params params;
	const char *path;
	FILE *file;
	struct nt_tv_reader reader;
	uint8_t buf[1 << 16];
	size_t at, len;
	bool eof;
};

/* Open path, with params; both are already set. Ends the command on errors. "-": standard input */
void tv_open(struct tv_input *in);

/* Returns 1 with an item, 0 at the end, or a negative error of nt_tv_. */
int tv_next_item(struct tv_input *in, struct nt_tv_item *item);

/* The next len bytes, at most 32 KiB, without consuming them; NULL: there are fewer */
const uint8_t *tv_peek(struct tv_input *in, size_t len);
/* Consume len bytes. The next item must be within a group. */
void tv_pass(struct tv_input *in, size_t len);

/*
 * Feed items to the shadow until a group is applied. Returns 1, or 0 at the end. Ends the command
 * on errors. *end: offset after the group
 */
int tv_next_group(struct tv_input *in, struct nt_tv_shadow *sh, uint64_t *end);

/* ----------------------------------------------------------- categories -- */

enum tv_class {
	TV_INT, TV_NOP, TV_JUMP, TV_LINK, TV_LOAD, TV_LOAD_VIRTUAL, TV_STORE, TV_STORE_VIRTUAL,
	TV_AMO, TV_CSR, TV_CSR_READ, TV_CSR_WRITE, TV_FP, TV_FP_MOVE, TV_FP_CONV, TV_FP_LOAD,
	TV_FP_STORE, TV_INTERRUPT, TV_EXCEPTION, TV_OTHER, TV_SETUP, TV_CLASSES
};

struct tv_class_info {
	const char *name;
	unsigned int table;	/* bytes in appendix D; 0: not listed */
};

extern const struct tv_class_info tv_classes[TV_CLASSES];

enum tv_class tv_classify(const struct nt_tv_group *g, bool rv32);

/* -------------------------------------------------------------- actions -- */

/* Actions with their own arguments. They return an exit status. */
int tv_from_elf(int argc, char **argv);
int tv_verify(int argc, char **argv);

#endif /* NTRACE_TV_H */
