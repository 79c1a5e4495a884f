/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * libntrace: RISC-V N-Trace 1.0, from bytes to control flow and back
 *
 * One section per layer, each with its own prefix; a layer calls only those
 * above it in this list, except that nt_flow_ uses both nt_msg_ and nt_code_:
 *
 *   nt_msg_    bytes -> one message; stateless
 *   nt_code_   instruction bytes -> basic blocks, decoded once, kept in a graph
 *   nt_flow_   messages and code -> control flow, in batches of events
 *   nt_ctr_    control transfers -> CTR records (nt-ctr.h)
 *   nt_image_  ELF files and raw memory -> instruction bytes (stand-alone only)
 *   nt_enc_    retired instructions -> messages (nt-enc.h)
 *   nt_tv_     the tandem-verification trace format (nt-tv.h)
 *
 * Conventions, valid for every function below:
 *
 *   Errors	Functions returning int return >= 0 on success and a negative
 *		enum nt_error on failure; nt_strerror() takes exactly what was
 *		returned.  Functions returning a pointer return NULL when memory
 *		is short or the parameters are refused (nt_params_check() says
 *		which).
 *   Sizes	Structures filled by the caller begin with `size`, which the
 *		caller sets to sizeof the structure; members beyond a smaller,
 *		older `size` count as 0.
 *   Ownership	What is made by *_new() is freed by *_free(); *_free(NULL) is
 *		allowed.  Parameters are copied.  Buffers and callbacks stay the
 *		caller's and must outlive their use.
 *   Threads	There is no global state.  Objects may be used by one thread at
 *		a time; different objects by different threads.
 *   Addresses	Byte addresses, zero-extended to 64 bits when XLEN is 32.
 *   Lengths	Bytes; I-CNT and counts of half-words are in 2-byte units.
 */
#ifndef NTRACE_H
#define NTRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------- errors ---- */

/*
 * Returned negated by functions; the positive value is the `reason` of a LOSS
 * or NOTICE event.
 */
enum nt_error {
	NT_OK,
	/* of the caller or the machine */
	NT_EINVAL,		/* an argument or parameter is not allowed */
	NT_ENOMEM,		/* out of memory */
	NT_ENOTSUP,		/* this profile or option is not supported */
	NT_EFILE,		/* a file cannot be read; errno has more */
	NT_EFORMAT,		/* a file is not what it should be */
	/* of the message layer: the bytes cannot be a message */
	NT_EMSEO,		/* reserved MSEO value 2 */
	NT_EHEAD,		/* a byte that cannot begin a message */
	NT_ELONG,		/* no end of message within NT_MSG_MAX bytes */
	NT_EFIELD,		/* a field is wider than it can be */
	NT_ESHORT,		/* the message ends before its last field */
	NT_EEXTRA,		/* the message has a field too many */
	NT_ECUT,		/* the message is cut by the end of the buffer */
	NT_ETCODE,		/* reserved TCODE */
	NT_EVENDOR,		/* vendor defined TCODE */
	NT_ERESERVED,		/* reserved value in a field */
	/* of the flow layer: the messages do not fit the code, or each other */
	NT_EOVERFLOW,		/* the encoder lost messages (Error message) */
	NT_ENOSYNC,		/* messages without a sync message before them */
	NT_EUNMAPPED,		/* no code bytes at an address that was executed */
	NT_EBOUNDARY,		/* I-CNT ends inside an instruction */
	NT_ENEGATIVE,		/* HIST covered more half-words than I-CNT tells */
	NT_EINDIRECT,		/* an indirect jump without an address */
	NT_EHIST,		/* HIST is 0, or has outcomes without a branch */
	NT_ENOHIST,		/* a branch without outcome in HIST */
	NT_ESTACK,		/* a silent return with an empty return stack */
	NT_ENORETIRE,		/* counts an instruction that never retires */
	NT_EADDR,		/* the address does not follow from the code */
	NT_ENOBRANCH,		/* reports a branch where there is none */
	NT_EREPEAT,		/* RepeatBranch without a branch to repeat */
	NT_ERANGE,		/* a count beyond every limit */
	NT_ECDF,		/* ProgTraceCorrelation without HIST in HTM */
	NT_ENOTIME,		/* a sync message without timestamp */
	NT_ERROR_MAX
};

/*
 * Words for what a function returned (negative) or an event's reason
 * (positive).  Never NULL; a static string.
 */
const char *nt_strerror(int error);

/* --------------------------------------------------------- parameters ---- */

/* Deviations from N-Trace 1.0 */
enum nt_profile {
	NT_PROFILE_1_0,		/* the ratified specification */
	NT_PROFILE_P550,	/* XOR timestamps, RCODE 8 and 9, return counter of 1023 */
	NT_PROFILE_SIFIVE,	/* pre-1.0 Nexus of the E31 */
};

/* Extensions that change how bytes are read as instructions (nt_params.isa) */
#define NT_ISA_C	0x1	/* set by nt_isa_parse(), not needed for decoding */
#define NT_ISA_D	0x2	/* c.fsdsp; yields to Zcmp and Zcmt where they are set */
#define NT_ISA_ZCB	0x4
#define NT_ISA_ZCMP	0x8	/* cm.popret, cm.popretz are returns */
#define NT_ISA_ZCMT	0x10	/* cm.jt, cm.jalt jump through the table at jvt */

/* What cannot be learnt from the trace itself */
struct nt_params {
	size_t size;		/* sizeof(struct nt_params) */
	uint8_t xlen;		/* 32 or 64 */
	uint8_t srcbits;	/* width of SRC in the stream, 0..12; 0 when inhibited */
	int32_t src;		/* the source to decode, -1 all (as one stream) */
	bool timestamps;	/* messages may end with TSTAMP, sync messages do */
	bool extaddr;		/* trTeInstExtendAddrMSB */
	bool seqjump;		/* trTeInstEnSequentialJump */
	bool alljumps;		/* trTeInstEnAllJumps */
	uint8_t retstack;	/* trTeInstImplicitReturnMode, 0 when not enabled */
	enum nt_profile profile;
	uint64_t jvt;		/* the jvt CSR: base of the Zcmt jump table */
	uint32_t isa;		/* NT_ISA_* */
};

/* Set *params to N-Trace 1.0, XLEN 64, no SRC, everything optional off. */
void nt_params_init(struct nt_params *params);

/* 0, -NT_EINVAL (a value out of range) or -NT_ENOTSUP. */
int nt_params_check(const struct nt_params *params);

/*
 * Read an ISA string such as "rv64imafdc_zicsr2p0_zcb" into params->xlen and
 * params->isa.  Unknown extensions and versions are passed over.  0, or
 * -NT_EINVAL when the string does not begin with rv32 or rv64; then *params is
 * unchanged.
 */
int nt_isa_parse(const char *isa, struct nt_params *params);

/* --------------------------------------------- nt_msg_: the messages ---- */

enum nt_tcode {
	NT_TCODE_OWNERSHIP = 2,
	NT_TCODE_DIRECT_BRANCH = 3,
	NT_TCODE_INDIRECT_BRANCH = 4,
	NT_TCODE_ERROR = 8,
	NT_TCODE_PROG_TRACE_SYNC = 9,
	NT_TCODE_DIRECT_BRANCH_SYNC = 11,
	NT_TCODE_INDIRECT_BRANCH_SYNC = 12,
	NT_TCODE_RESOURCE_FULL = 27,
	NT_TCODE_INDIRECT_BRANCH_HIST = 28,
	NT_TCODE_INDIRECT_BRANCH_HIST_SYNC = 29,
	NT_TCODE_REPEAT_BRANCH = 30,
	NT_TCODE_PROG_TRACE_CORRELATION = 33,
	NT_TCODE_VENDOR_FIRST = 56,
	NT_TCODE_VENDOR_LAST = 62,
};

/* Values of the SYNC field: why there is a sync message */
enum nt_sync {
	NT_SYNC_TRIGGER = 0,
	NT_SYNC_RESET = 1,
	NT_SYNC_PERIODIC = 2,
	NT_SYNC_DEBUG_EXIT = 3,
	NT_SYNC_ICNT_FULL = 4,
	NT_SYNC_TRACE_ENABLE = 5,
	NT_SYNC_TRACE_EVENT = 6,
	NT_SYNC_OVERRUN = 7,
	NT_SYNC_POWER_UP = 9,
};

/* Values of the EVCODE field: why trace stops; beyond 15 not of the trace */
enum nt_evcode {
	NT_EVCODE_DEBUG = 0,
	NT_EVCODE_LOW_POWER = 1,
	NT_EVCODE_DISABLE = 4,
	NT_EVCODE_NONE = 16,	/* STOP events: no message said it, see nt_event */
};

/* Bits of nt_msg.fields: the fields that a message has, in transmission order */
#define NT_F_SRC	0x0001
#define NT_F_SYNC	0x0002
#define NT_F_BTYPE	0x0004
#define NT_F_ETYPE	0x0008
#define NT_F_RCODE	0x0010
#define NT_F_EVCODE	0x0020
#define NT_F_CDF	0x0040
#define NT_F_PROCESS	0x0080
#define NT_F_ECODE	0x0100
#define NT_F_BCNT	0x0200
#define NT_F_ICNT	0x0400
#define NT_F_RDATA0	0x0800
#define NT_F_RDATA1	0x1000
#define NT_F_FADDR	0x2000
#define NT_F_UADDR	0x4000
#define NT_F_HIST	0x8000
#define NT_F_TSTAMP	0x10000
#define NT_F_ADDR	(NT_F_FADDR | NT_F_UADDR)

/* Longest message that is accepted; the standard's own longest is 38 bytes */
#define NT_MSG_MAX	256

/*
 * A message.  Members that no bit of `fields` announces are 0.  A message with
 * a reserved or vendor defined TCODE has only `tcode` and, if any, `src`.
 */
struct nt_msg {
	uint32_t fields;	/* NT_F_* */
	uint32_t idle;		/* idle bytes before the message */
	size_t skip;		/* after an error: bytes to skip, idle ones included */
	uint16_t src;
	uint8_t tcode;
	uint8_t sync, btype, etype, rcode, evcode, cdf;
	uint64_t icnt;		/* half-words */
	/*
	 * The field as transmitted: address bits from bit 1 on; with extaddr
	 * its most significant bits are already extended, up to address bit
	 * XLEN-1.  An F-ADDR means address addr << 1.
	 */
	uint64_t addr;
	uint64_t hist;		/* with the stop bit */
	union {
		uint64_t process;
		uint64_t ecode;
		uint64_t bcnt;
		uint64_t rdata[2];
	};
	uint64_t tstamp;
};

/*
 * Decode the message at the beginning of buf.
 *
 * Returns the bytes consumed, idle bytes before the message included, or
 * 0 when buf ends before the message does (msg->idle == len: there are only
 * idle bytes), or -NT_EMSEO, -NT_EHEAD, -NT_ELONG, -NT_EFIELD, -NT_ESHORT or
 * -NT_EEXTRA when the bytes are no message; then msg->skip bytes, at least one
 * and at most len, lead to where the next message may begin.  Messages with
 * reserved TCODEs and field values are returned like any other.
 *
 * Uses of params: srcbits, timestamps, extaddr, xlen, profile.  params is
 * not checked.
 */
int nt_msg_decode(const struct nt_params *params, const uint8_t *buf, size_t len,
		  struct nt_msg *msg);

/*
 * Write "NAME FIELD=value ..." without SRC into buf, 0-terminated, cut to size.
 * Addresses, HIST, PROCESS, ECODE and RDATA0 as a history are hexadecimal
 * with 0x, all others decimal.  Returns the length without the cut.
 */
int nt_msg_format(const struct nt_msg *msg, char *buf, size_t size);

/* The specification's name of a TCODE, "Vendor" or "Reserved". */
const char *nt_tcode_name(unsigned int tcode);

/* True when messages of this TCODE carry SYNC and F-ADDR. */
bool nt_tcode_is_sync(unsigned int tcode);

/*
 * Offset of the first sync message at or after `from` that follows the end of
 * another message, or len when there is none.  With it a buffer can be split
 * for several decoders, each of which begins at a sync message.
 */
size_t nt_msg_find_sync(const struct nt_params *params, const uint8_t *buf, size_t len,
			size_t from);

/* ---------------------------------------------- nt_code_: the program ---- */

/*
 * Kinds of control transfer.  The numbers are those of the 4-bit itype of the
 * trace ingress port and of CTR's TYPE; NT_TYPE_TRAP takes a reserved one.
 */
enum nt_type {
	NT_TYPE_NONE = 0,	/* not a transfer */
	NT_TYPE_EXCEPTION = 1,
	NT_TYPE_INTERRUPT = 2,
	NT_TYPE_ERET = 3,
	NT_TYPE_NOT_TAKEN = 4,
	NT_TYPE_COND = 5,	/* conditional branch; in events: a taken one */
	NT_TYPE_TRAP = 6,	/* exception or interrupt, the encoder does not say */
	NT_TYPE_ICALL = 8,
	NT_TYPE_CALL = 9,
	NT_TYPE_IJUMP = 10,	/* indirect jump without linkage */
	NT_TYPE_JUMP = 11,	/* direct jump without linkage */
	NT_TYPE_SWAP = 12,	/* co-routine swap */
	NT_TYPE_RET = 13,
	NT_TYPE_IJUMP_LINK = 14, /* with linkage, but not to a link register */
	NT_TYPE_JUMP_LINK = 15,
};

/*
 * The word for a type: cond jump ijump call icall ret swap exception interrupt
 * trap eret not none; 10 and 14, and 11 and 15, have the same.
 */
const char *nt_type_name(unsigned int type);

/* One instruction */
struct nt_insn {
	uint64_t pc;
	uint64_t target;	/* with NT_INSN_DIRECT: where it goes (when taken) */
	uint64_t raw;		/* the instruction, its first 8 bytes if longer */
	uint8_t len;		/* 2, 4, 6, ... */
	uint8_t type;		/* enum nt_type; NT_TYPE_COND for every conditional branch */
	uint8_t flags;		/* NT_INSN_* */
};

#define NT_INSN_DIRECT	0x1	/* target is known from the instruction (or jump table) */
#define NT_INSN_TRAPS	0x2	/* never retires: ECALL, EBREAK, C.EBREAK, illegal */
#define NT_INSN_CUSTOM	0x4	/* of a custom or unknown encoding: may do anything */

/*
 * Supplies code: copies up to len bytes of memory at addr to buf and returns
 * how many (0: nothing there).  Fewer than len means that the next byte is not
 * to be had from the same piece; it is asked for separately.
 */
typedef size_t (*nt_read_fn)(void *ctx, uint64_t addr, void *buf, size_t len);

struct nt_code;

/*
 * A program: basic blocks, made when first reached, from what `read` supplies.
 * Uses of params: xlen, isa, jvt, seqjump.  One nt_code may serve several
 * nt_flow one after the other, or alternating, in one thread.
 */
struct nt_code *nt_code_new(const struct nt_params *params, nt_read_fn read, void *ctx);
void nt_code_free(struct nt_code *code);

/*
 * The memory [start, end) has changed or is about to: forget what was made
 * from it.  end == 0 stands for the end of the address space.  Allowed between
 * any two calls of nt_flow_next().
 */
void nt_code_invalidate(struct nt_code *code, uint64_t start, uint64_t end);

/*
 * Decode the one instruction at pc.  Returns its length, or -NT_EUNMAPPED.
 * Does not look at other instructions: a jump that can be inferred only from
 * the instruction before it (seqjump) is reported as indirect.
 */
int nt_code_insn(struct nt_code *code, uint64_t pc, struct nt_insn *insn);

/* What there is in a program's graph; for figures */
struct nt_code_stats {
	size_t size;		/* sizeof(struct nt_code_stats), set by the caller */
	uint64_t blocks;	/* blocks that exist now */
	uint64_t bytes;		/* memory taken by all */
};

void nt_code_get_stats(const struct nt_code *code, struct nt_code_stats *stats);

/* ----------------------------------------- nt_flow_: the control flow ---- */

enum nt_event_kind {
	NT_EV_BRANCH,
	NT_EV_START,
	NT_EV_STOP,
	NT_EV_CONTEXT,
	NT_EV_LOSS,
	NT_EV_NOTICE,
};

/*
 * A control flow event.  Between two events of one stretch the code is linear:
 * what retired since the last event lies in [its `to` (or the last known pc) ..
 * `from`], every conditional branch in it not taken.  `insns` of all events
 * together is the number of instructions known to have retired.
 *
 * BRANCH	a taken transfer of `type`.  from: its instruction, counted by
 *		insns.  For traps from is the instruction that did not retire,
 *		or would have been next, and is not counted.  to: where it went.
 *		reason: of the sync message that reported it, if NT_EVF_SYNC.
 * START	decoding begins, or goes on after STOP or LOSS.  to: first pc;
 *		from = to.  reason: SYNC field.  NT_EVF_JOIN when it follows
 *		from where the last STOP left, at the same pc, or behind an
 *		ECALL or EBREAK at which it left; call stacks are still good.
 * STOP		from: pc of the instruction that would be next, exclusive end.
 *		reason: EVCODE, or NT_EVCODE_NONE when the window ended, or
 *		trace restarted, without the trace saying so: then from is only
 *		the last certain pc and instructions behind it may have retired.
 * CONTEXT	an Ownership message.  priv: PRV 0..3 and, with NT_EVF_VIRT, V.
 *		reason: its FORMAT, 0 only priv, 2 context is scontext, 3 it is
 *		hcontext.  It took place somewhere between the last event and
 *		the next, directly after the last if that was START or a trap.
 *		from = to = the last known pc; insns = 0.
 * LOSS		trace could not be followed.  from: last certain pc, exclusive,
 *		0 without NT_EVF_PC.  reason: enum nt_error.  to: with
 *		NT_EUNMAPPED the address without code.  skipped: bytes from
 *		offset to the next sync message; 0 when the one at offset is
 *		that itself.  The stretch is over, the next event is START.
 * NOTICE	something odd that did not disturb the flow: reason as for LOSS,
 *		from = to = the last known pc; insns = 0.
 *
 * There may be further kinds in future: pass over those that you don't know.
 */
struct nt_event {
	uint64_t from;
	uint64_t to;
	uint64_t time;		/* of the message, with NT_EVF_TIME; in trace clock ticks */
	uint64_t offset;	/* of the message: window's offset + position in it */
	union {
		uint64_t context;	/* CONTEXT: value of the CSR */
		uint64_t skipped;	/* LOSS */
	};
	uint32_t insns;		/* retired since the event before, see above */
	uint8_t kind;		/* enum nt_event_kind */
	union {
		uint8_t type;	/* BRANCH: enum nt_type */
		uint8_t priv;	/* CONTEXT */
	};
	uint8_t reason;
	uint8_t flags;		/* NT_EVF_* */
};

#define NT_EVF_JOIN	0x01	/* START */
#define NT_EVF_SYNC	0x02	/* BRANCH: reported by a sync message */
#define NT_EVF_TIME	0x04	/* time is valid */
#define NT_EVF_VIRT	0x08	/* CONTEXT: V=1 */
#define NT_EVF_PC	0x10	/* LOSS, NOTICE: from is valid */
#define NT_EVF_INFERRED	0x20	/* BRANCH: a silent return or sequential jump */

struct nt_flow;

/*
 * A decoder of one stream.  Uses all of params; -NT_ENOTSUP cases of
 * nt_params_check() give NULL.
 */
struct nt_flow *nt_flow_new(const struct nt_params *params);
void nt_flow_free(struct nt_flow *flow);

/*
 * The program to follow from now on: `high` for addresses with the top bit of
 * XLEN set, `low` for all others; may be equal; NULL: all unmapped.  Allowed
 * between any two calls of nt_flow_next(); return stack, pc and all else are
 * kept.  The nt_code must be made with the same params and outlive their use.
 */
void nt_flow_set_code(struct nt_flow *flow, struct nt_code *low, struct nt_code *high);

/*
 * Begin a new window.  Decoder state restarts and wants a sync message; what
 * was not yet decoded of the old window is given up.  Where the last STOP left
 * is remembered for NT_EVF_JOIN.  `buf` must begin at a message or idle, and
 * stays the caller's, unchanged until the window is consumed.  `offset` is
 * only added to positions in events.
 */
void nt_flow_window(struct nt_flow *flow, const uint8_t *buf, size_t len, uint64_t offset);

/*
 * A stream that comes in pieces.  While `open` is set, the end of a window is
 * not that of the trace: no STOP is made of it, and a message whose end is not
 * there yet is left alone, so that nt_flow_consumed() is where it begins.  Then
 * nt_flow_more() goes on with another buffer, which must begin there; all state
 * is kept, and what of the old buffer was not consumed is given up.  Both
 * nt_flow_window() and nt_flow_more() leave `open` as it is.
 */
void nt_flow_open_end(struct nt_flow *flow, bool open);
void nt_flow_more(struct nt_flow *flow, const uint8_t *buf, size_t len, uint64_t offset);

/*
 * The window just begun may begin inside a message (a circular buffer that has
 * wrapped): pass over everything up to the first end of a message.
 */
void nt_flow_skip_partial(struct nt_flow *flow);

/*
 * Decode no message whose time is later than `ticks`; UINT64_MAX (as at first):
 * no limit.  Messages without timestamp count as of the time before them.
 */
void nt_flow_limit(struct nt_flow *flow, uint64_t ticks);

/*
 * Decode on.  Writes up to max events (at least 1; 256 is a good number) and
 * returns their number; 0: the window is consumed or the limit reached.  A batch
 * ends after a CONTEXT event, so that the caller can set other code before what
 * follows is decoded.  -NT_EINVAL: no room for events; -NT_ENOMEM.
 *
 * Of a message that turns out not to fit the code nothing is reported, whatever
 * the size of batches is, except a LOSS; unless code was changed between two
 * batches that have events of one message.
 */
int nt_flow_next(struct nt_flow *flow, struct nt_event *ev, unsigned int max);

/* True when nt_flow_next() returned 0 because of nt_flow_limit(). */
bool nt_flow_at_limit(const struct nt_flow *flow);

/*
 * Bytes of the window that are decoded, or given up as lost.  Events of them may
 * still be waiting for the next batch.
 */
size_t nt_flow_consumed(const struct nt_flow *flow);

/* ---- counting, for profiles */

/* A control transfer that was taken, and how often */
struct nt_edge {
	uint64_t from, to;	/* as in a BRANCH event */
	uint64_t count;
	uint8_t type;		/* enum nt_type */
};

struct nt_counts_stats {
	size_t size;		/* sizeof(struct nt_counts_stats), set by the caller */
	uint64_t insns;		/* retired, as the events' insns tell */
	uint64_t walks;		/* messages with a way through the program */
	uint64_t hits;		/* of these: known from an earlier one, not decoded again */
	uint64_t memos;		/* messages that are remembered */
	uint64_t bytes;		/* memory taken by all */
};

struct nt_counts;

/*
 * Counts of edges, none at first.  What is remembered of messages takes
 * 15 MB, and up to 6 MB more with the number of places they were met at; an edge
 * 40 to 80 bytes.
 */
struct nt_counts *nt_counts_new(void);
void nt_counts_free(struct nt_counts *counts);

/*
 * Decode on like nt_flow_next(), but add BRANCH events to counts instead of
 * delivering them: the faster the more a program repeats itself.  Writes
 * all other events to `ev`, in which `max`, at least 256, must fit, and returns
 * their number, or what nt_flow_next() would.  The two may alternate.  The
 * nt_code set in flow must live as long as counts is used.
 */
int nt_flow_count(struct nt_flow *flow, struct nt_counts *counts, struct nt_event *ev,
		  unsigned int max);

/* The edges counted up to now, *n in all; counts' own, valid until it is used again. */
const struct nt_edge *nt_counts_edges(struct nt_counts *counts, size_t *n);

void nt_counts_get_stats(const struct nt_counts *counts, struct nt_counts_stats *stats);

/* --------------------------------------------- nt_image_: code on disk ---- */

struct nt_image;

/* A set of memory images, empty at first. */
struct nt_image *nt_image_new(void);
void nt_image_free(struct nt_image *image);

/*
 * Add the loadable segments of an ELF file, at their virtual addresses plus
 * bias.  0, -NT_EFILE, -NT_EFORMAT (not a RISC-V ELF file) or -NT_ENOMEM.
 * Where images overlap, the one added first counts.
 */
int nt_image_add_elf(struct nt_image *image, const char *path, uint64_t bias);

/* Add a file of plain memory at addr.  0, -NT_EFILE or -NT_ENOMEM. */
int nt_image_add_raw(struct nt_image *image, const char *path, uint64_t addr);

/* An nt_read_fn; ctx is the nt_image. */
size_t nt_image_read(void *image, uint64_t addr, void *buf, size_t len);

/*
 * XLEN of the ELF files added (0: none), and the ISA string of their
 * attributes (NULL: none), owned by the image.
 */
unsigned int nt_image_xlen(const struct nt_image *image);
const char *nt_image_isa(const struct nt_image *image);

#ifdef __cplusplus
}
#endif

/* ------------------------------ nt_ctr_: control transfer records ---- */

#include "nt-ctr.h"

/* ------------------------------- nt_tv_: tandem-verification traces ---- */

#include "nt-tv.h"

/* --------------------------- nt_enc_: instructions to messages ---- */

#include "nt-enc.h"

#endif /* NTRACE_H */
