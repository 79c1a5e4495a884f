/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ntrace tv verify: interfaces between the algorithm, traces and verifiers
 */
#ifndef NTRACE_TV_VERIFY_H
#define NTRACE_TV_VERIFY_H

#include "tv.h"

/*
 * A source of groups: a trace file, or a decoded N-Trace. Groups are applied to the shadow; `group`
 * is the last one.
 */
struct tv_source {
	struct nt_tv_shadow *shadow;
	const struct nt_tv_group *group;
	const char *name;
	/* Returns 1 with a group, 0 at the end, or -1 if the rest cannot be known (reported). */
	int (*next)(struct tv_source *s);
	uint64_t at;		/* offset of the group in the file */
	bool pc_only;		/* everything else is absent */
	void *own;
};

/*
 * A tandem verifier: the four operations of section 3.4 of the protocol. State is read and written
 * element by element. Reading fails for state that the verifier does not know.
 */
struct tv_verifier {
	const struct tv_verifier_ops *ops;
	const struct nt_tv_group *group;	/* what the last step reported as changed */
	bool pc_only;
	bool live;		/* reports neither what changed nor its complete state */
	void *own;
};

struct tv_verifier_ops {
	bool (*read_reg)(struct tv_verifier *v, uint16_t reg, uint64_t *value);
	bool (*read_state)(struct tv_verifier *v, enum nt_tv_ident ident, uint64_t *value);
	size_t (*read_memory)(struct tv_verifier *v, uint64_t addr, void *buf, size_t len);
	void (*write_reg)(struct tv_verifier *v, uint16_t reg, uint64_t value);
	void (*write_state)(struct tv_verifier *v, enum nt_tv_ident ident, uint64_t value);
	void (*write_memory)(struct tv_verifier *v, uint64_t addr, const void *buf, size_t len);
	/* Like next() above. The group of the trace and next_pc tell what will be read. */
	int (*step)(struct tv_verifier *v, const struct nt_tv_group *g, uint64_t next_pc);
	void (*reset)(struct tv_verifier *v);
};

/* A recorded verifier: writes have no effect on its execution */
void tv_recorded_init(struct tv_verifier *v, struct tv_source *s);

/* A verifier behind GDB's protocol. reset_command: a monitor command */
struct gdb_place;
void tv_gdb_init(struct tv_verifier *v, const struct gdb_place *place, const char *reset_command);
void tv_gdb_end(struct tv_verifier *v);

/*
 * The floating-point registers and CSRs that the group's instruction or trap writes, even if the
 * trace does not report it. Returns their number.
 */
#define TV_MRET		0x30200073u
#define TV_SRET		0x10200073u
#define TV_OWN		4
unsigned int tv_own_registers(const struct nt_tv_group *g, uint16_t *regs);

/* The integer register that a load writes; 0 for other instructions */
unsigned int tv_loads_to(const struct nt_tv_group *g);

/* A store of the group; without translation, both addresses are the same */
struct tv_store {
	uint64_t paddr, eaddr;
	uint8_t bytes;
};

#define TV_STORES	16
unsigned int tv_stores(const struct nt_tv_group *g, struct tv_store *stores);

/* The operand of the group's store instruction, including SC; false: not a store */
struct tv_operand {
	uint16_t base;		/* base register, which the instruction does not change */
	int16_t offset;
	uint8_t bytes;
};

bool tv_stores_to(const struct nt_tv_group *g, bool rv32, struct tv_operand *to);

/* Decode the trace opened by `in'. Each instruction and each trap is a group. */
void tv_source_ntrace(struct tv_source *s, const struct input *in);

/*
 * Advance both sources as long as the tandem-verification trace contains the bytes that would be
 * written for the N-Trace, up to max instructions. Returns the number of instructions. What follows
 * has to be compared group by group.
 */
uint64_t tv_same_runs(struct tv_source *ntrace, struct tv_source *tv, uint64_t max);

/*
 * The number of instructions of s before the start of other. 0 also if both start at the same
 * address, or if other is empty; -1 if s never gets there. Reads both.
 */
int64_t tv_find_start(struct tv_source *s, struct tv_source *other);

/* Skip so many instructions, and everything after them up to pc. Returns false at the end. */
bool tv_pass_over(struct tv_source *s, uint64_t insns, uint64_t pc);

/* The address of the first instruction. Returns false if there is none. Reads the source. */
bool tv_first_pc(struct tv_source *s, uint64_t *pc);

/* Does the group execute something? */
bool tv_executes(const struct nt_tv_group *g);

#endif /* NTRACE_TV_VERIFY_H */
