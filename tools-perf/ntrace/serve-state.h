/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Registers and memory of a hart at any position of a tandem-verification trace, from the
 * checkpoint before it and the groups that follow
 */
#ifndef NTRACE_SERVE_STATE_H
#define NTRACE_SERVE_STATE_H

#include "serve.h"
#include "tv.h"

struct serve_state;

/* The trace is in memory. */
struct serve_state *serve_state_new(const struct nt_tv_params *params, const uint8_t *trace,
				    size_t size, const char *path);
void serve_state_free(struct serve_state *s);

/*
 * Apply the next group. Returns false at the end. `found' is valid until the next call. Checkpoints
 * are made when the trace is read for the first time.
 */
bool serve_state_next(struct serve_state *s, const struct nt_tv_group **found);
/* The current program counter, if it is known */
bool serve_state_pc(const struct serve_state *s, uint64_t *pc);

/* Go to the position where so many instructions have retired. */
void serve_state_goto(struct serve_state *s, uint64_t insn);
const struct nt_tv_shadow *serve_state_shadow(const struct serve_state *s);
/*
 * Read up to len bytes of memory, and return how many are known: what the trace has reported so
 * far, in the current address space and since it was entered
 */
size_t serve_state_read(const struct serve_state *s, uint64_t addr, void *buf, size_t len);
/* Size of all checkpoints, in bytes */
size_t serve_state_kept(const struct serve_state *s);
/* Are the program's addresses physical? */
bool serve_state_is_flat(const struct serve_state *s);

/* Memory that an instruction has written or read */
struct serve_access {
	uint64_t addr, size;
	bool write;
};

/* The accesses of a group. Returns their number, at most max. */
size_t serve_state_accesses(const struct nt_tv_group *g, bool rv32, struct serve_access *access,
			    size_t max);

#endif /* NTRACE_SERVE_STATE_H */
