/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ntrace tv verify: what the algorithm, and those that it is run on, share
 */
#ifndef NTRACE_TV_VERIFY_H
#define NTRACE_TV_VERIFY_H

#include "tv.h"

/*
 * Where groups come from: a trace file, or an N-Trace that is decoded.  The shadow
 * has their effect; `group` is what was applied last.
 */
struct tv_source {
	struct nt_tv_shadow *shadow;
	const struct nt_tv_group *group;
	const char *name;
	/* 1 a group, 0 the end, -1 what follows cannot be known (reported) */
	int (*next)(struct tv_source *s);
	uint64_t at;		/* offset of the group in the file */
	bool pc_only;		/* all else is absent */
	void *own;
};

/*
 * A tandem verifier: the four operations of the protocol's section 3.4.  State is
 * read and written piece by piece; what the verifier doesn't know is not read.
 */
struct tv_verifier {
	const struct tv_verifier_ops *ops;
	const struct nt_tv_group *group;	/* what the last step said it changed */
	bool pc_only;
	bool live;		/* does not tell what changed, nor all that it has */
	void *own;
};

struct tv_verifier_ops {
	bool (*read_reg)(struct tv_verifier *v, uint16_t reg, uint64_t *value);
	bool (*read_state)(struct tv_verifier *v, enum nt_tv_ident ident, uint64_t *value);
	size_t (*read_memory)(struct tv_verifier *v, uint64_t addr, void *buf, size_t len);
	void (*write_reg)(struct tv_verifier *v, uint16_t reg, uint64_t value);
	void (*write_state)(struct tv_verifier *v, enum nt_tv_ident ident, uint64_t value);
	void (*write_memory)(struct tv_verifier *v, uint64_t addr, const void *buf, size_t len);
	/* as next() above; what will be looked at is of the trace's group, and behind it */
	int (*step)(struct tv_verifier *v, const struct nt_tv_group *g, uint64_t next_pc);
	void (*reset)(struct tv_verifier *v);
};

/* A verifier that was recorded: it goes its own way, whatever is written */
void tv_recorded_init(struct tv_verifier *v, struct tv_source *s);

/* One behind GDB's protocol; the command that resets it */
struct gdb_place;
void tv_gdb_init(struct tv_verifier *v, const struct gdb_place *place, const char *reset_command);
void tv_gdb_end(struct tv_verifier *v);

/*
 * Registers that the group's instruction or trap is there to write, whatever the trace
 * says: floating-point ones and CSRs.  Returns how many.
 */
#define TV_MRET		0x30200073u
#define TV_SRET		0x10200073u
#define TV_OWN		4
unsigned int tv_own_registers(const struct nt_tv_group *g, uint16_t *regs);

/* The integer register that a load is there to write; 0 for all else */
unsigned int tv_loads_to(const struct nt_tv_group *g);

/* What the group stores; without translation both addresses are the same */
struct tv_store {
	uint64_t paddr, eaddr;
	uint8_t bytes;
};

#define TV_STORES	16
unsigned int tv_stores(const struct nt_tv_group *g, struct tv_store *stores);

/* Where the group's instruction is there to store, SC if it succeeds; false: nowhere */
struct tv_operand {
	uint16_t base;		/* register, which it does not change */
	int16_t offset;
	uint8_t bytes;
};

bool tv_stores_to(const struct nt_tv_group *g, bool rv32, struct tv_operand *to);

/* The trace that in has opened, decoded; each instruction and each trap a group */
void tv_source_ntrace(struct tv_source *s, const struct input *in);

/*
 * As long as the bytes of a tandem-verification trace are those that would be written
 * for what the N-Trace tells, both go on, up to max instructions; how many.  What it
 * stops at is for groups to be looked at one by one.
 */
uint64_t tv_same_runs(struct tv_source *ntrace, struct tv_source *tv, uint64_t max);

/*
 * Instructions of s before those that other begins with: 0 also when both begin at the
 * same address, or other has none; -1 when s never comes there.  Reads both.
 */
int64_t tv_find_start(struct tv_source *s, struct tv_source *other);

/* Pass over so many instructions, and what is between them and pc. False: the end */
bool tv_pass_over(struct tv_source *s, uint64_t insns, uint64_t pc);

/* Address of the first instruction; false when there is none. Reads it. */
bool tv_first_pc(struct tv_source *s, uint64_t *pc);

/* Does the group execute something? */
bool tv_executes(const struct nt_tv_group *g);

#endif /* NTRACE_TV_VERIFY_H */
