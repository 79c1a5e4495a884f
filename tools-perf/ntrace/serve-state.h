/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Registers and memory of a hart at any position of a tandem-verification trace: from the state
 * that was kept at a checkpoint, and the groups behind it
 */
#ifndef NTRACE_SERVE_STATE_H
#define NTRACE_SERVE_STATE_H

#include "serve.h"
#include "tv.h"

struct serve_state;

/* Of a trace in memory */
struct serve_state *serve_state_new(const struct nt_tv_params *params, const uint8_t *trace,
				    size_t size, const char *path);
void serve_state_free(struct serve_state *s);

/*
 * The next group; false: there are no more. `found' is valid until the next one. While the trace
 * is gone over the first time, checkpoints are made.
 */
bool serve_state_next(struct serve_state *s, const struct nt_tv_group **found);
/* Where the program counter is now, if that is known */
bool serve_state_pc(const struct serve_state *s, uint64_t *pc);

/* Go to where so many instructions have retired. */
void serve_state_goto(struct serve_state *s, uint64_t insn);
const struct nt_tv_shadow *serve_state_shadow(const struct serve_state *s);
/*
 * How many bytes of memory from addr on are known there, at most len: what the trace told up to
 * there, in the address space that the hart is in, and since it came to that
 */
size_t serve_state_read(const struct serve_state *s, uint64_t addr, void *buf, size_t len);
/* Bytes that all checkpoints take */
size_t serve_state_kept(const struct serve_state *s);
/* Are addresses of memory those that the program uses? */
bool serve_state_is_flat(const struct serve_state *s);

/* Memory that an instruction wrote or read */
struct serve_access {
	uint64_t addr, size;
	bool write;
};

/* Those of a group; how many, at most max */
size_t serve_state_accesses(const struct nt_tv_group *g, bool rv32, struct serve_access *access,
			    size_t max);

#endif /* NTRACE_SERVE_STATE_H */
