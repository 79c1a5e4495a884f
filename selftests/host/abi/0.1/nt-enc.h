/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * nt_enc_: retired instructions -> N-Trace messages
 *
 * Part of ntrace.h, which includes it and states the conventions.
 *
 * The encoder is fed in program order with what a hart's trace ingress port
 * tells: instructions that retired, traps, the end of a stretch.  Where an
 * instruction led is known when the next one is passed, so messages come with
 * the next call.  It knows the instruction set by itself and shares nothing
 * with nt_code_, which has to come to the same conclusions.
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

/* An instruction as far as it matters to trace */
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
 * Profiles: 1.0, and TT_DFD, which wants htm and has neither repeathist nor hcontext. A sync
 * message at a branch lacks its outcome then, which nobody can tell when both lead to the same
 * place. emit() gets a message together with the stray byte behind it.
 */
struct nt_enc_config {
	size_t size;		/* sizeof(struct nt_enc_config) */
	bool htm;		/* else BTM */
	bool context;		/* Ownership messages */
	bool btype_1;		/* traps are B-TYPE 1, else 2 and 3 */
	uint8_t icnt_bits;	/* width of the I-CNT counter, 4..22; 0: 22 */
	uint8_t hist_bits;	/* width of the HIST register, 2..32; 0: 32 */
	uint8_t syncmode;	/* periodic sync by 1 messages, 2 instructions, 3 half-words */
	uint8_t syncmax;	/* every 2^(syncmax + 4) of them */
	/*
	 * Takes a message.  false: no room, it is lost.  From then on messages
	 * are only announced, with msg == NULL; answering true promises room for
	 * two of the longest messages, and trace restarts with the next
	 * instruction: Error, then a sync message.
	 */
	bool (*emit)(void *ctx, const uint8_t *msg, unsigned int len);
	uint64_t (*time)(void *ctx);	/* with params.timestamps */
	void *ctx;
	bool repeathist;	/* HTM: send equal full histories once, with a count (RCODE 2) */
	/* BTM or TT_DFD only: send equal branch messages once, with a count */
	bool repeatbranch;
	bool hcontext;		/* with context: Ownership with hcontext, before scontext */
	/*
	 * The ingress port's itype has 3 bits: direct jumps are not told apart from
	 * other instructions, nor returns and calls from indirect jumps. Not with
	 * retstack, nor with alljumps.
	 */
	bool itype_3;
};

/* The longest message the encoder makes */
#define NT_ENC_MSG_MAX	48

/*
 * Uses all of params but mode and high_from; src < 0: 0.
 *
 * NULL: out of memory, or a parameter is out of range, or two don't go together.
 * A config of a smaller `size` is taken as that of an older caller: what it lacks
 * is off.  `size` must reach behind `ctx`.
 */
struct nt_enc *nt_enc_new(const struct nt_params *params, const struct nt_enc_config *config);
void nt_enc_free(struct nt_enc *enc);

/* Forget everything, as a reset of the component does; nothing is emitted. */
void nt_enc_reset(struct nt_enc *enc);

/*
 * Tracing begins, for `reason` (enum nt_sync): the next instruction told is
 * the first of a new stretch.
 */
void nt_enc_start(struct nt_enc *enc, uint8_t reason);

/*
 * Make an op of instruction bits, the first 8 bytes of longer ones.  Uses of params: xlen, isa,
 * branches.
 */
void nt_enc_classify(const struct nt_params *params, uint64_t pc, uint64_t insn, unsigned int len,
		     struct nt_enc_op *op);

/* The instruction has retired.  Ignored between stretches. */
void nt_enc_retire_op(struct nt_enc *enc, const struct nt_enc_op *op);
void nt_enc_retire(struct nt_enc *enc, uint64_t pc, uint64_t insn, unsigned int len);

/*
 * A trap: pc is the instruction that would have retired next.  The next
 * instruction told is the handler's first.
 */
void nt_enc_trap(struct nt_enc *enc, uint64_t pc, bool interrupt);

/*
 * The same of type NT_TYPE_EXCEPTION, NT_TYPE_INTERRUPT, or NT_TYPE_TRAP: it is not
 * known which of the two, and the message has B-TYPE 1 whatever btype_1 says.
 */
void nt_enc_trap_as(struct nt_enc *enc, uint64_t pc, uint8_t type);

/* The stretch ends, for `evcode` (enum nt_evcode); next_pc is what would have come. */
void nt_enc_stop(struct nt_enc *enc, uint8_t evcode, uint64_t next_pc);

/* Trace is switched off: report a loss that was not reported yet, if there is room. */
void nt_enc_flush(struct nt_enc *enc);

/* A sync message for `reason` (enum nt_sync) as soon as possible. */
void nt_enc_event_sync(struct nt_enc *enc, uint8_t reason);

/*
 * Privilege and context from the next instruction on.  format: 0 only the
 * privilege has changed (value: scontext), 2 scontext was written, 3 hcontext;
 * told before the first stretch, it only sets what Ownership after sync messages
 * reports.
 */
void nt_enc_context(struct nt_enc *enc, uint8_t format, uint8_t prv, bool v, uint64_t value);

/* Messages were lost and trace has not yet restarted. */
bool nt_enc_lost(const struct nt_enc *enc);

/* Put one message together, for tests; returns its length. */
unsigned int nt_enc_msg(const struct nt_params *params, const struct nt_msg *msg, uint8_t *buf);

#ifdef __cplusplus
}
#endif

#endif /* NT_ENC_H */
