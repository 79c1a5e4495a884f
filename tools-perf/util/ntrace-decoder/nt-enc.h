/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * nt_enc_: retired instructions -> N-Trace messages
 *
 * Part of ntrace.h, which includes it and describes the conventions.
 *
 * The encoder gets, in program order, what a hart's trace ingress port reports: retired
 * instructions, traps, the end of a stretch.  The target of an instruction is known when the next
 * one is passed, so messages are emitted by the next call.  The encoder has its own knowledge of
 * the instruction set and shares nothing with nt_code_, which must reach the same results.
 */
#ifndef NT_ENC_H
#define NT_ENC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct nt_enc;
struct nt_msg;
struct nt_params;

/* The properties of an instruction that matter to trace */
struct nt_enc_op {
	uint64_t pc;
	uint64_t target;	/* of direct jumps and branches */
	uint8_t len;		/* bytes */
	uint8_t type;		/* enum nt_type */
	uint8_t upper;		/* LUI, AUIPC: rd */
	uint8_t base;		/* JALR: rs1 */
	uint8_t reserved[4];	/* 0 */
};

/*
 * Profiles: 1.0; P550, for which retstack is always 1 (2 and 3 are refused), and which has neither
 * repeathist nor itype_3; and TT_DFD, which requires htm and has neither repeathist nor hcontext.
 * With TT_DFD, a sync message at a branch lacks the branch's outcome, which is lost if both
 * outcomes lead to the same address, and emit() gets a message together with the stray byte after
 * it.
 */
struct nt_enc_config {
	size_t size;		/* sizeof(struct nt_enc_config) */
	bool htm;		/* otherwise BTM */
	bool context;		/* Ownership messages */
	bool btype_1;		/* traps are B-TYPE 1, otherwise 2 and 3 */
	uint8_t icnt_bits;	/* width of the I-CNT counter, 4..22; 0: 22 */
	uint8_t hist_bits;	/* width of the HIST register, 2..32; 0: 32 */
	uint8_t syncmode;	/* periodic sync by 1 messages, 2 instructions, 3 half-words */
	uint8_t syncmax;	/* every 2^(syncmax + 4) of them */
	/*
	 * Takes a message.  false: there is no room, it is lost.  From then on, messages are only
	 * announced, with msg == NULL.  The result true promises room for two of the longest
	 * messages, and trace restarts at the next instruction: Error, then a sync message.
	 */
	bool (*emit)(void *ctx, const uint8_t *msg, unsigned int len);
	uint64_t (*time)(void *ctx);	/* with params.timestamps */
	void *ctx;
	bool repeathist;	/* HTM: send equal full histories once, with a count (RCODE 2) */
	bool repeatbranch;	/* BTM, TT_DFD only: send equal branch messages once, counted */
	bool hcontext;		/* with context: Ownership with hcontext, before scontext */
	/*
	 * The ingress port's itype has 3 bits: direct jumps look like other instructions, returns
	 * and calls like indirect jumps. Not with retstack or alljumps.
	 */
	bool itype_3;
};

/* The longest message of the encoder */
#define NT_ENC_MSG_MAX	48

/*
 * Uses all of params except mode and high_from; src < 0: 0.
 *
 * NULL: out of memory, or a parameter is out of range, or two are incompatible. A config of a
 * smaller `size` comes from an older caller: missing members are off.  `size` must include `ctx`.
 */
struct nt_enc *nt_enc_new(const struct nt_params *params, const struct nt_enc_config *config);
void nt_enc_free(struct nt_enc *enc);

/* Reset all state, like a reset of the component; nothing is emitted. */
void nt_enc_reset(struct nt_enc *enc);

/*
 * Tracing begins, for `reason` (enum nt_sync): the next instruction is the first of a new stretch.
 */
void nt_enc_start(struct nt_enc *enc, uint8_t reason);

/*
 * Convert instruction bits to an op; pass the first 8 bytes of longer instructions.  Uses of
 * params: xlen, isa, branches.
 */
void nt_enc_classify(const struct nt_params *params, uint64_t pc, uint64_t insn, unsigned int len,
		     struct nt_enc_op *op);

/*
 * The instruction has retired.  Ignored between stretches.  An op of length 0, with a type and the
 * pc of the previous op, changes that op's type: it retired before it was known to jump.
 */
void nt_enc_retire_op(struct nt_enc *enc, const struct nt_enc_op *op);
void nt_enc_retire(struct nt_enc *enc, uint64_t pc, uint64_t insn, unsigned int len);

/*
 * A trap: pc is the instruction that would have retired next.  The next instruction is the
 * handler's first.
 */
void nt_enc_trap(struct nt_enc *enc, uint64_t pc, bool interrupt);

/*
 * Like nt_enc_trap(), with type NT_TYPE_EXCEPTION, NT_TYPE_INTERRUPT, or NT_TYPE_TRAP if it is not
 * known which of the two; then the message has B-TYPE 1 whatever btype_1 says.
 */
void nt_enc_trap_as(struct nt_enc *enc, uint64_t pc, uint8_t type);

/* The stretch ends, for `evcode` (enum nt_evcode); next_pc is the next instruction. */
void nt_enc_stop(struct nt_enc *enc, uint8_t evcode, uint64_t next_pc);

/* Trace is disabled: report an unreported loss, if there is room. */
void nt_enc_flush(struct nt_enc *enc);

/* Send a sync message for `reason` (enum nt_sync) as soon as possible. */
void nt_enc_event_sync(struct nt_enc *enc, uint8_t reason);

/*
 * Set privilege and context from the next instruction on.  format: 0 only the privilege has changed
 * (value: scontext), 2 scontext was written, 3 hcontext. Before the first stretch, this only sets
 * what Ownership reports after sync messages.
 */
void nt_enc_context(struct nt_enc *enc, uint8_t format, uint8_t prv, bool v, uint64_t value);

/* Messages were lost and trace has not yet restarted. */
bool nt_enc_lost(const struct nt_enc *enc);

/* Encode one message, for tests; returns its length. */
unsigned int nt_enc_msg(const struct nt_params *params, const struct nt_msg *msg, uint8_t *buf);

#ifdef __cplusplus
}
#endif

#endif /* NT_ENC_H */
