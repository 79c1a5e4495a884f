/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * libntrace: RISC-V N-Trace 1.0, from bytes to control flow and back
 *
 * One section per layer, each with its own prefix; a layer calls only those above it in this list,
 * except that nt_flow_ uses both nt_msg_ and nt_code_:
 *
 *   nt_msg_    bytes -> one message; stateless
 *   nt_code_   instruction bytes -> basic blocks, decoded once and kept in a graph;
 *		nt_store_: one graph for many programs and threads
 *   nt_flow_   messages and code -> control flow, in batches of events
 *   nt_image_  ELF files and raw memory -> instruction bytes (stand-alone only)
 *   nt_enc_    retired instructions -> messages (nt-enc.h)
 *
 * Conventions, valid for every function below:
 *
 *   Errors	Functions returning int return >= 0 on success and a negative
 *		enum nt_error on failure, which nt_strerror() accepts as it is.
 *		Functions returning a pointer return NULL if memory is short or
 *		parameters are refused (nt_params_check() gives the reason).
 *   Sizes	Structures filled by the caller begin with `size`, which the
 *		caller sets to sizeof the structure; members beyond a smaller,
 *		older `size` count as 0.  Members that the library does not know
 *		must be 0: a caller that uses unknown features is refused.
 *		Structures filled by the library have no `size`: functions named
 *		*_sized() take it, and inline functions here pass it.  Members
 *		that only the caller knows are set to 0.
 *   Ownership	Objects of *_new() are freed by *_free(); *_free(NULL) is
 *		allowed.  Parameters are copied.  Buffers and callbacks belong to
 *		the caller and must outlive their use.
 *   Threads	There is no global state.  An object may be used by one thread at
 *		a time, different objects by different threads.  nt_store_ allows more.
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

/* ------------------------------------------------------------ version ---- */

#define LIBNTRACE_VERSION_MAJOR	0
#define LIBNTRACE_VERSION_MINOR	1
#define LIBNTRACE_VERSION_PATCH	0

/* For comparisons: LIBNTRACE_VERSION >= LIBNTRACE_VERSION_OF(0, 2, 0) */
#define LIBNTRACE_VERSION_OF(major, minor, patch)	((major) << 16 | (minor) << 8 | (patch))
#define LIBNTRACE_VERSION						\
	LIBNTRACE_VERSION_OF(LIBNTRACE_VERSION_MAJOR, LIBNTRACE_VERSION_MINOR,	\
			     LIBNTRACE_VERSION_PATCH)

/* LIBNTRACE_VERSION of the library in use, whichever one the program was built with */
unsigned int nt_version(void);

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
	NT_ENOTSUP,		/* of nt_image_, nt_read_fn: cannot read this format of code */
	NT_EFILE,		/* a file cannot be read; see errno */
	NT_EFORMAT,		/* a file has the wrong format */
	/* of the message layer: the bytes are not a message */
	NT_EMSEO,		/* reserved MSEO value 2 */
	NT_EHEAD,		/* the byte cannot begin a message */
	NT_ELONG,		/* no end of message within NT_MSG_MAX bytes */
	NT_EFIELD,		/* a field is wider than allowed */
	NT_ESHORT,		/* the message ends before its last field */
	NT_EEXTRA,		/* the message has too many fields */
	NT_ECUT,		/* the message is cut off by the end of the buffer */
	NT_ETCODE,		/* reserved TCODE */
	NT_EVENDOR,		/* vendor defined TCODE */
	NT_ERESERVED,		/* reserved value in a field */
	/* of the flow layer: the messages do not match the code, or each other */
	NT_EOVERFLOW,		/* the encoder lost messages (Error message) */
	NT_ENOSYNC,		/* messages without a sync message before them */
	NT_EUNMAPPED,		/* no code at an executed address */
	NT_EBOUNDARY,		/* I-CNT ends inside an instruction */
	NT_ENEGATIVE,		/* HIST covers more half-words than I-CNT */
	NT_EINDIRECT,		/* an indirect jump without an address */
	NT_EHIST,		/* HIST is 0, or has outcomes without a branch */
	NT_ENOHIST,		/* a branch without outcome in HIST */
	NT_ESTACK,		/* a silent return with an empty return stack */
	NT_ENORETIRE,		/* counts an instruction that never retires */
	NT_EADDR,		/* the address contradicts the code */
	NT_ENOBRANCH,		/* reports a branch where the code has none */
	NT_EREPEAT,		/* RepeatBranch without a branch to repeat */
	NT_ERANGE,		/* a count beyond every limit */
	NT_ECDF,		/* ProgTraceCorrelation without HIST in HTM */
	NT_ENOTIME,		/* a sync message without timestamp */
	NT_EMODE,		/* a message of BTM in HTM, or of HTM in BTM */
	NT_ENOMODE,		/* a branch without outcome, HTM or BTM unknown */
	/* of nt_params.branches */
	NT_EMATCH,		/* match has bits that mask lacks */
	NT_ELENGTH,		/* mask does not determine the length, or exceeds it */
	NT_EKIND,		/* not the type of a branch, or offset missing or superfluous */
	NT_EOFFSET,		/* a field of the offset is at an invalid place */
	NT_EOVERLAP,		/* two encodings have an instruction in common */
	/* of the flow layer */
	NT_EAMBIGUOUS,		/* RepeatBranch of an unknown encoder is ambiguous */
	NT_EWORK,		/* more work than its bytes allow: nt_params.work_per_byte */
	NT_ERROR_MAX
};

/*
 * The text for a function's result (negative) or an event's reason (positive).  Never NULL; a
 * static string.
 */
const char *nt_strerror(int error);

/* --------------------------------------------------------- parameters ---- */

/* Deviations from N-Trace 1.0 */
enum nt_profile {
	/*
	 * The ratified specification, for any encoder: if encoders interpret it differently, the
	 * interpretation that fits the code is used (NT_EAMBIGUOUS: more than one fits).
	 */
	NT_PROFILE_1_0,
	NT_PROFILE_P550,	/* XOR timestamps, RCODE 8 and 9, return counter of 1023 */
	NT_PROFILE_SIFIVE,	/* pre-1.0 Nexus of the E31 */
	/*
	 * Tenstorrent's open encoder, tt-dfd: HTM, SRC of 4 bits, absolute TSTAMP in every
	 * message; a byte 0x03 may stand between messages; an I-CNT of 0 may have no bits;
	 * a sync message lacks the outcome of the branch that it is sent at; RepeatBranch
	 * repeats U-ADDR, not the target; Ownership of FORMAT 0 has a context.
	 */
	NT_PROFILE_TT_DFD,
};

/* How the encoder reports conditional branches (trTeInstMode) */
enum nt_mode {
	NT_MODE_UNKNOWN,	/* inferred from the messages, see nt_flow_new() */
	NT_MODE_BTM,		/* a message for each taken branch */
	NT_MODE_HTM,		/* outcomes are bits of HIST */
};

/* Extensions that change how bytes are read as instructions (nt_params.isa) */
#define NT_ISA_C	0x1	/* set by nt_isa_parse(), not needed for decoding */
/*
 * If any of these is set, an encoding that only D, Zcb, Zcmp or Zcmt could define, and that none of
 * those set defines, may do anything (NT_INSN_CUSTOM).
 */
#define NT_ISA_D	0x2	/* c.fsdsp; Zcmp and Zcmt take precedence if set */
#define NT_ISA_ZCB	0x4	/* c.lbu to c.sh, c.zext.b to c.mul */
#define NT_ISA_ZCMP	0x8	/* cm.popret, cm.popretz are returns */
#define NT_ISA_ZCMT	0x10	/* cm.jt, cm.jalt jump through the table at jvt */

#define NT_ISA_ZIBI	0x20	/* beqi, bnei: BRANCH with funct3 2 and 3, reserved without it */

/* A part of a branch's offset: `width` bits of the instruction, from bit `from` on */
struct nt_branch_field {
	uint8_t from;
	uint8_t width;		/* 0: no field */
	uint8_t to;		/* bit of the offset that bit `from` is, at least 1 */
};

#define NT_BRANCH_FIELDS	8
#define NT_BRANCHES_MAX		64

/*
 * A branch or jump that the library does not know, from a vendor or a later extension. It is an
 * instruction with (bits & mask) == match, of 2, 4, 6 or 8 bytes. The length must follow from mask
 * and match.
 */
struct nt_branch {
	uint64_t mask;
	uint64_t match;
	/*
	 * For direct branches: the target is the instruction's own address plus the offset.  Offset
	 * bits in no field are 0; the highest bit in a field is the sign.  Fields must not overlap
	 * mask.
	 */
	struct nt_branch_field offset[NT_BRANCH_FIELDS];
	/*
	 * enum nt_type: COND, JUMP, JUMP_LINK, CALL with an offset; IJUMP, IJUMP_LINK, ICALL, RET,
	 * SWAP without.  An indirect branch is never a sequential jump.
	 */
	uint8_t type;
	uint8_t reserved[7];	/* 0 */
};

/*
 * Where Linux's own addresses begin. On RV64, canonical addresses are unambiguous; on RV32, user
 * space extends beyond the middle, up to the fixmap.
 */
#define NT_RV32_TASK_SIZE	0x9fc00000u

/* Parameters that the trace itself does not contain */
struct nt_params {
	size_t size;		/* sizeof(struct nt_params) */
	uint8_t xlen;		/* 32 or 64 */
	/* width of SRC in the stream, 0..12; 0 if inhibited.  Always 4 with TT_DFD */
	uint8_t srcbits;
	int32_t src;		/* the source to decode; -1: all (as one stream) */
	bool timestamps;	/* messages may end with TSTAMP, sync messages do */
	bool extaddr;		/* trTeInstExtendAddrMSB */
	bool seqjump;		/* trTeInstEnSequentialJump */
	bool alljumps;		/* trTeInstEnAllJumps */
	uint8_t retstack;	/* trTeInstImplicitReturnMode, 0 if not enabled */
	enum nt_profile profile;
	uint64_t jvt;		/* the jvt CSR: base of the Zcmt jump table */
	uint32_t isa;		/* NT_ISA_* */
	enum nt_mode mode;	/* trTeInstMode, if the recording has it; not BTM with TT_DFD */
	/*
	 * Width of an address field: it holds address bits 1 to addr_bits, and address bit
	 * addr_bits is the sign.  0: 48 with the profiles P550 and SIFIVE if XLEN is 64, otherwise
	 * XLEN - 1 (all bits).
	 */
	uint8_t addr_bits;
	/*
	 * The first address of nt_flow_set_code()'s `high`.  0: the first address with the top bit
	 * of XLEN set.  On RV32, Linux has user space beyond it.
	 */
	uint64_t high_from;
	/*
	 * Width of the trace clock, 8 to 64: a TSTAMP is the time modulo 2^tstamp_bits. 0: 40 with
	 * the profiles P550 and SIFIVE, otherwise 64. For narrower clocks, see nt_event.time.
	 */
	uint8_t tstamp_bits;
	/*
	 * Branches that the library does not know, at most NT_BRANCHES_MAX; they take precedence
	 * over known ones.  nt_code_new() and nt_enc_new() copy them, nt_flow_new() does not use
	 * them; nt_enc_classify() needs them only during the call.
	 */
	const struct nt_branch *branches;
	uint32_t nr_branches;
	/*
	 * Units of work that a byte of trace allows, 1 to NT_WORK_MAX; 0: NT_WORK_DEFAULT. A window
	 * starts with the units of 4096 bytes. A unit is an event, or a branch that was not taken;
	 * in long code without either, some instructions. Work beyond that is a LOSS, NT_EWORK: a
	 * single message may report a loop with millions of iterations. NT_WORK_UNLIMITED: no
	 * limit.
	 */
	uint64_t work_per_byte;
};

#define NT_WORK_DEFAULT		4096
#define NT_WORK_MAX		(1u << 20)
#define NT_WORK_UNLIMITED	UINT64_MAX

/* "1.0", "p550", "sifive", "tt-dfd"; NULL if there is no such profile.  A static string. */
const char *nt_profile_name(unsigned int profile);

/* Set *params to N-Trace 1.0, XLEN 64, no SRC, everything optional off. */
void nt_params_init_sized(struct nt_params *params, size_t size);

static inline void nt_params_init(struct nt_params *params)
{
	nt_params_init_sized(params, sizeof(*params));
}

/*
 * Returns 0, -NT_EINVAL (a value out of range), or for a branch -NT_EMATCH, -NT_ELENGTH, -NT_EKIND,
 * -NT_EOFFSET or -NT_EOVERLAP.
 */
int nt_params_check(const struct nt_params *params);

/*
 * Parse MASK/MATCH[:TYPE[:OFFSET]], such as "0x707f/0x600b:cond:b", into *branch.  TYPE is cond
 * (the default), jump, call, ijump, icall, ret or swap.  OFFSET is b, j, cb or cj, for the layouts
 * of BEQ, JAL, C.BEQZ and C.J, or HI[-LO]@TO,...: bits HI to LO of the instruction are the offset's
 * bits from TO on.  Default: the layout of the standard's branch or jump of 2 or 4 bytes.  Returns
 * 0, -NT_EINVAL (wrong syntax), or an error of nt_params_check() for branches; then *branch is
 * unchanged.
 */
int nt_branch_parse(const char *text, struct nt_branch *branch);

/*
 * Parse an ISA string such as "rv64imafdc_zicsr2p0_zcb" into params->xlen and params->isa.  Unknown
 * extensions and versions are ignored.  Returns 0, or -NT_EINVAL if the string does not begin with
 * rv32 or rv64; then *params is unchanged.
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

/* Values of the SYNC field: the reason for a sync message */
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

/* Values of the EVCODE field: why trace stops; values above 15 do not occur in trace */
enum nt_evcode {
	NT_EVCODE_DEBUG = 0,
	NT_EVCODE_LOW_POWER = 1,
	NT_EVCODE_DISABLE = 4,
	NT_EVCODE_NONE = 16,	/* STOP events: no message reported it, see nt_event */
};

/* Bits of nt_msg.fields: the fields of a message, in transmission order */
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

/* Longest accepted message; the longest of the standard is 38 bytes */
#define NT_MSG_MAX	256

/*
 * A message.  Members without their bit in `fields` are 0.  A message with a reserved or vendor
 * defined TCODE has only `tcode` and, if present, `src`.
 */
struct nt_msg {
	uint32_t fields;	/* NT_F_* */
	uint32_t idle;		/* idle bytes before the message */
	size_t skip;		/* after an error: bytes to skip, including idle bytes */
	uint16_t src;
	uint8_t tcode;
	uint8_t sync, btype, etype, rcode, evcode, cdf;
	uint64_t icnt;		/* half-words */
	/*
	 * The field as transmitted: address bits from bit 1 on; with extaddr, its most significant
	 * bit is already extended, up to address bit XLEN-1.  nt_msg_addr() converts it to an
	 * address.
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
 * Returns the bytes consumed, including idle bytes before the message, or 0 if buf ends before the
 * message does (msg->idle == len: there are only idle bytes), or -NT_EMSEO, -NT_EHEAD, -NT_ELONG,
 * -NT_EFIELD, -NT_ESHORT or -NT_EEXTRA if the bytes are not a message; then the next message may
 * begin after msg->skip bytes, at least one and at most len.  Messages with reserved TCODEs and
 * field values are returned like any other.
 *
 * Uses of params: srcbits, timestamps, extaddr, addr_bits, xlen, profile.  params is not checked.
 * -NT_EINVAL: `size` is smaller than the first version's.
 */
int nt_msg_decode_sized(const struct nt_params *params, const uint8_t *buf, size_t len,
			struct nt_msg *msg, size_t size);

static inline int nt_msg_decode(const struct nt_params *params, const uint8_t *buf, size_t len,
				struct nt_msg *msg)
{
	return nt_msg_decode_sized(params, buf, len, msg, sizeof(*msg));
}

/*
 * The address that a message with NT_F_ADDR reports.  `last` is the address that the previous
 * message with NT_F_ADDR reported; an F-ADDR does not need it.  Uses of params: xlen, addr_bits,
 * profile.
 */
uint64_t nt_msg_addr(const struct nt_params *params, const struct nt_msg *msg, uint64_t last);

/*
 * Write "NAME FIELD=value ..." without SRC to buf, 0-terminated, truncated to size.  Addresses,
 * HIST, PROCESS, ECODE and RDATA0 as a history are hexadecimal with 0x, all others decimal.
 * Returns the length before truncation.
 */
int nt_msg_format(const struct nt_msg *msg, char *buf, size_t size);

/* The specification's name of a TCODE, "Vendor" or "Reserved". */
const char *nt_tcode_name(unsigned int tcode);

/* Do messages of this TCODE have SYNC and F-ADDR? */
bool nt_tcode_is_sync(unsigned int tcode);

/*
 * Offset of the first sync message at or after `from` that follows the end of another message, or
 * len if there is none.  This can be used to split a buffer for several decoders, each of which
 * begins at a sync message.
 */
size_t nt_msg_find_sync(const struct nt_params *params, const uint8_t *buf, size_t len,
			size_t from);

/*
 * Offset of the last sync message of params->src that begins before `before`, or len if there is
 * none: where to begin decoding in order to reach `before`.  buf must begin at a message or idle.
 * Reads only as many bytes before `before` as needed.
 */
size_t nt_msg_find_sync_before(const struct nt_params *params, const uint8_t *buf, size_t len,
			       size_t before);

/*
 * Offset of the first message of params->src at or after `from` that has no TSTAMP, or len if there
 * is none.  `from` must be where a message or idle begins.  Damaged messages do not count.
 */
size_t nt_msg_find_unstamped(const struct nt_params *params, const uint8_t *buf, size_t len,
			     size_t from);

/* ---- a stream of several sources, split into one stream for each */

struct nt_demux;

/*
 * Uses of params: those of nt_msg_decode().  NULL: no memory, params are refused, or the stream has
 * no SRC.
 */
struct nt_demux *nt_demux_new(const struct nt_params *params);
void nt_demux_free(struct nt_demux *demux);

/*
 * Split the bytes that begin at `offset` of the stream, at a message or idle.  Each source's
 * messages become its piece, without idle bytes, and replace the pieces of the previous call.  A
 * damaged message may belong to any source: each source gets the first of several damaged messages
 * after its last good one, truncated if it is longer than any message.  So a flow with params->src
 * makes the same events from the source's piece as from the whole stream, but counts `skipped`
 * bytes and offsets in the piece.  While `open` is set, a message whose end is missing is left
 * alone.  If it is damaged, it is consumed, and the next split puts its last byte in front of the
 * pieces.  *consumed bytes need not be passed again.  Returns 0, or -NT_ENOMEM; then the pieces are
 * undefined.
 */
int nt_demux_split(struct nt_demux *demux, const uint8_t *buf, size_t len, uint64_t offset,
		   bool open, size_t *consumed);

/* The piece of a source, valid until the next split; NULL and a length of 0 if it has none */
const uint8_t *nt_demux_piece(const struct nt_demux *demux, unsigned int src, size_t *len);

/* Offset in the stream of a byte of the piece; after the piece's end: the end of what was split */
uint64_t nt_demux_offset(const struct nt_demux *demux, unsigned int src, size_t at);

/* The next split puts the piece's bytes from `from` on, which a flow still needs, in front. */
void nt_demux_keep(struct nt_demux *demux, unsigned int src, size_t from);

/* ---- times of a clock of `bits` bits, 8 to 64, which wraps */

/* The first time from `from` on that an absolute TSTAMP may stand for */
static inline uint64_t nt_tstamp_widen(uint64_t from, uint64_t stamp, unsigned int bits)
{
	const unsigned int unused = 64 - bits;

	return from + ((stamp - from) << unused >> unused);
}

/*
 * Times increase, but a time may precede the last one by this much: an eighth of the clock's range.
 * Otherwise, a damaged message would add a whole range to all later times.
 */
static inline uint64_t nt_tstamp_slack(unsigned int bits)
{
	return 1ull << (bits - 3);
}

/* The time of an absolute TSTAMP after the time `last` (0: none), not before `from` */
static inline uint64_t nt_tstamp_behind(uint64_t last, uint64_t from, uint64_t stamp,
					unsigned int bits)
{
	const uint64_t slack = nt_tstamp_slack(bits), first = last > slack ? last - slack : 0;

	return nt_tstamp_widen(first > from ? first : from, stamp, bits);
}

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
	NT_TYPE_TRAP = 6,	/* exception or interrupt, not distinguished by the encoder */
	NT_TYPE_ICALL = 8,
	NT_TYPE_CALL = 9,
	NT_TYPE_IJUMP = 10,	/* indirect jump without linkage */
	NT_TYPE_JUMP = 11,	/* direct jump without linkage */
	NT_TYPE_SWAP = 12,	/* co-routine swap */
	NT_TYPE_RET = 13,
	NT_TYPE_IJUMP_LINK = 14, /* with linkage, but not to a link register */
	NT_TYPE_JUMP_LINK = 15,
};

/* Is it a transfer that the hart made instead of executing an instruction? */
static inline bool nt_type_is_trap(unsigned int type)
{
	return type == NT_TYPE_EXCEPTION || type == NT_TYPE_INTERRUPT || type == NT_TYPE_TRAP;
}

/*
 * The name of a type: cond jump ijump call icall ret swap exception interrupt trap eret not none;
 * 10 and 14, and 11 and 15, have the same name.
 */
const char *nt_type_name(unsigned int type);

/* One instruction */
struct nt_insn {
	uint64_t pc;
	uint64_t target;	/* with NT_INSN_DIRECT: the target (if taken) */
	uint64_t raw;		/* the instruction; if it is longer, its first 8 bytes */
	uint8_t len;		/* 2, 4, 6, ... */
	uint8_t type;		/* enum nt_type; NT_TYPE_COND for every conditional branch */
	uint8_t flags;		/* NT_INSN_* */
};

#define NT_INSN_DIRECT	0x1	/* target is known from the instruction (or jump table) */
#define NT_INSN_TRAPS	0x2	/* never retires: ECALL, EBREAK, C.EBREAK, illegal */
#define NT_INSN_CUSTOM	0x4	/* custom or unknown encoding: may do anything */

/*
 * Supplies code: copies up to len bytes (at most INT_MAX) of an address space's memory at addr to
 * buf and returns their number (0: no memory there).  Fewer than len bytes means that the next byte
 * is in another piece, which is requested separately.  `space` is the number of the address space.
 *
 * Returns -NT_EFILE, -NT_EFORMAT or -NT_ENOTSUP if the code exists but cannot be read; this becomes
 * the reason of the LOSS.  Any other negative value counts as -NT_EFILE.
 */
typedef int (*nt_read_fn)(void *ctx, uint64_t space, uint64_t addr, void *buf, size_t len);

struct nt_code;

/*
 * A program: basic blocks, made when first reached from the code that `read` supplies for space 0.
 * Uses of params: xlen, isa, jvt, seqjump, branches, high_from.  One nt_code may serve several
 * nt_flow one after the other, or alternating, in one thread.
 */
struct nt_code *nt_code_new(const struct nt_params *params, nt_read_fn read, void *ctx);
void nt_code_free(struct nt_code *code);

/* ---- many address spaces, and threads */

/* What is mapped at an address */
struct nt_mapping {
	size_t size;		/* of this structure, set by the library */
	uint64_t start, end;	/* [start, end); end == 0: the end of the address space */
	uint64_t file;		/* number of the file with these bytes; 0: none */
	uint64_t offset;	/* offset of `start` in the file */
};

/*
 * Reports the mapping around addr.  Returns 0, or a negative value if it is unknown; then it is
 * called for each page.  The same bytes of a file have the same number and offset wherever they are
 * mapped.  Bytes that an address space has modified do not count as part of the file there.
 */
typedef int (*nt_map_fn)(void *ctx, uint64_t space, uint64_t addr, struct nt_mapping *mapping);

struct nt_store;

/*
 * Blocks of many programs. Mapped files are decoded once for all address spaces of the store.
 * `limit` is the maximum memory for all of this in bytes (less than a megabyte counts as a
 * megabyte); 0: unlimited. Beyond the limit, the least recently executed files and memory are
 * dropped, and decoded again when needed. Uses of params: those of nt_code_new().
 *
 * The objects of one store may be used by many threads at the same time: nt_flow_next() of
 * different nt_flow, and all functions of nt_code. `read` and `map` are called by one thread at a
 * time, and must not call the library. The store must outlive its nt_code.
 */
struct nt_store *nt_store_new(const struct nt_params *params, uint64_t limit);
void nt_store_free(struct nt_store *store);

/* An address space; map == NULL: it shares no mapped files with others. */
struct nt_code *nt_store_code(struct nt_store *store, uint64_t space, nt_read_fn read,
			      nt_map_fn map, void *ctx);

/*
 * The memory [start, end), or its mapping, has changed or is about to: discard the code that was
 * decoded from it.  end == 0 is the end of the address space.  Allowed between any two calls of
 * nt_flow_next().
 */
void nt_code_invalidate(struct nt_code *code, uint64_t start, uint64_t end);

/*
 * Called when a block is made from the code in [pc, pc + len): the flow reached this code for the
 * first time, or again after it was discarded.  `read` may be called for more code than is
 * executed.  Not called for code of mapped files.  Must not call the library.
 */
typedef void (*nt_made_fn)(void *ctx, uint64_t space, uint64_t pc, size_t len);

/* Set the callback `made`, which gets the ctx of `read`.  Call this before the code is used. */
void nt_code_tell(struct nt_code *code, nt_made_fn made);

/*
 * Decode the instruction at pc.  Returns its length, -NT_EUNMAPPED, an error of nt_read_fn, or
 * -NT_EINVAL (`size` is smaller than the first version's).  Other instructions are not considered:
 * a jump that can be inferred only from the previous instruction (seqjump) is reported as indirect.
 */
int nt_code_insn_sized(struct nt_code *code, uint64_t pc, struct nt_insn *insn, size_t size);

static inline int nt_code_insn(struct nt_code *code, uint64_t pc, struct nt_insn *insn)
{
	return nt_code_insn_sized(code, pc, insn, sizeof(*insn));
}

/* Statistics of a store */
struct nt_code_stats {
	size_t size;		/* sizeof(struct nt_code_stats), set by the caller */
	uint64_t blocks;	/* blocks that exist now */
	uint64_t bytes;		/* memory taken by all */
};

/* Fill in at most stats->size bytes, and set stats->size to the number of valid bytes. */
void nt_store_get_stats(struct nt_store *store, struct nt_code_stats *stats);
void nt_code_get_stats(const struct nt_code *code, struct nt_code_stats *stats);

/* ----------------------------------------- nt_flow_: the control flow ---- */

enum nt_event_kind {
	NT_EV_BRANCH,
	NT_EV_START,
	NT_EV_STOP,
	NT_EV_CONTEXT,
	NT_EV_LOSS,
	NT_EV_NOTICE,
	NT_EV_SYNC,
	NT_EV_COUNTED,
};

/*
 * A control flow event.  Between two events of one stretch the code is linear:
 * the instructions that retired since the last event lie in [its `to` (or the
 * last known pc) .. `from`], and no conditional branch in it was taken.  The sum
 * of all `insns` is the number of instructions known to have retired.
 *
 * BRANCH	a taken transfer of `type`.  from: its instruction, included in
 *		insns.  For traps, from is the instruction that did not retire,
 *		or would have been next, and is not included.  to: the target.
 *		reason: of the sync message that reported it, if NT_EVF_SYNC.
 *		NT_EVF_LEFT if it led to untraced code, and the trace does not
 *		contain the target: to is 0, and so is the from of the following STOP.
 * START	decoding begins, or continues after STOP or LOSS.  to: first pc;
 *		from = to.  reason: SYNC field.  NT_EVF_JOIN if it continues
 *		where the last STOP left, at the same pc, or after the ECALL or
 *		EBREAK at which it left; call stacks are still valid.
 * STOP		from: pc of the instruction that would be next, exclusive end.
 *		reason: EVCODE, or NT_EVCODE_NONE if the window ended, or
 *		trace restarted, without a message that reports it: then from is
 *		only the last certain pc, and later instructions may have retired.
 * CONTEXT	an Ownership message.  priv: PRV 0..3 and, with NT_EVF_VIRT, V.
 *		reason: its FORMAT: 0 only priv, 2 context is scontext, 3 it is
 *		hcontext; with TT_DFD it is 0, and only the hart's vendor knows
 *		the CSR of context.  The change happened between the last event and
 *		the next, directly after the last if that was START or a trap.
 *		from = to = the last known pc; insns = 0.
 * LOSS		trace could not be followed.  from: last certain pc, exclusive,
 *		0 without NT_EVF_PC.  reason: enum nt_error.  to: with
 *		NT_EUNMAPPED or an error of nt_read_fn, the address without
 *		code.  skipped: bytes from offset to the next sync message; 0 if
 *		the message at offset is that sync message.  The stretch is
 *		over, the next event is START.
 * NOTICE	an anomaly that did not disturb the flow: reason as for LOSS,
 *		from = to = the last known pc; insns = 0.  NT_ENOTIME: this sync
 *		message, the first such one of the window, lacks its timestamp.
 *
 * COUNTED	only of nt_flow_count_until(): branches were counted, the last one
 *		led to from = to.  insns = 0.  offset: inside of that one's message,
 *		or a later one that was counted.
 *
 * SYNC		a sync message that neither began nor restarted trace, if
 *		nt_flow_report_syncs() selected its reason: a trigger, a
 *		watchpoint.  from = to: its F-ADDR, up to which insns counts.
 *		reason: SYNC field.  The stretch continues.  It follows the
 *		BRANCH that the message reported, if any.
 *
 * Later versions may add kinds: ignore unknown ones.
 *
 * A clock of less than 64 bits (nt_params.tstamp_bits) wraps, but the time of
 * events keeps increasing: of the times that a TSTAMP may stand for, it is the
 * first that is not more than an eighth of the clock's range before the last time
 * of this nt_flow, in any window.  The first time is the TSTAMP itself.  Callers
 * that know more use nt_flow_time_from().
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
	uint32_t insns;		/* retired since the previous event, see above */
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
#define NT_EVF_STAMP	0x40	/* with NT_EVF_TIME: the message itself has a TSTAMP */
#define NT_EVF_LEFT	0x80	/* BRANCH, and the STOP after it: the target is unknown */

struct nt_flow;

/*
 * A decoder of one stream. Uses all of params.
 *
 * With NT_MODE_UNKNOWN, the decoder infers the mode when it needs it, from messages in the next 64
 * KiB that exist in only one mode: the majority of the first 15 decides. It keeps the mode across
 * sync messages, losses and windows; a message that contradicts it makes the decoder infer it
 * again. If a branch's outcome depends on the mode and no message shows it, this is a LOSS
 * (NT_ENOMODE), not a guess. With any other mode, a message that contradicts it is a LOSS
 * (NT_EMODE).
 */
struct nt_flow *nt_flow_new(const struct nt_params *params);
void nt_flow_free(struct nt_flow *flow);

/*
 * The program to follow from now on: `high` for addresses from params.high_from on, `low` for all
 * others; the two may be equal; NULL: all unmapped. Allowed between any two calls of
 * nt_flow_next(); all state, such as the return stack and the pc, is kept. The nt_code must be made
 * with the same params and outlive their use.
 */
void nt_flow_set_code(struct nt_flow *flow, struct nt_code *low, struct nt_code *high);

/*
 * Report each sync message with one of these reasons as a SYNC event; `reasons` has a bit for each:
 * 1u << NT_SYNC_TRIGGER | 1u << NT_SYNC_TRACE_EVENT selects marks that a user has set; periodic
 * messages are frequent.  Initially none.  START events, and BRANCH events with NT_EVF_SYNC, always
 * have the reason of their message.
 */
void nt_flow_report_syncs(struct nt_flow *flow, uint32_t reasons);

/*
 * Begin a new window.  The decoder's state is reset, and it waits for a sync message; undecoded
 * bytes of the old window are discarded.  The address of the last STOP is kept for NT_EVF_JOIN.
 * `buf` must begin at a message or idle, and must stay unchanged until the window is consumed.
 * `offset` is only added to positions in events.
 */
void nt_flow_window(struct nt_flow *flow, const uint8_t *buf, size_t len, uint64_t offset);

/*
 * For a stream that arrives in pieces.  While `open` is set, the end of a window is not the end of
 * the trace: it makes no STOP, and a message whose end is missing is left alone, so that
 * nt_flow_consumed() is where it begins.  Then nt_flow_more() continues with another buffer, which
 * must begin there; all state is kept, and unconsumed bytes of the old buffer are discarded.  A
 * damaged message is consumed completely; its rest is skipped.  nt_flow_window() and nt_flow_more()
 * do not change `open`.
 */
void nt_flow_open_end(struct nt_flow *flow, bool open);
void nt_flow_more(struct nt_flow *flow, const uint8_t *buf, size_t len, uint64_t offset);

/*
 * The current window may begin inside a message (a circular buffer that has wrapped): skip
 * everything up to the first end of a message.
 */
void nt_flow_skip_partial(struct nt_flow *flow);

/*
 * Decode no message with a time later than `ticks`; UINT64_MAX (the default): no limit.  Messages
 * without timestamp count as having the previous time.
 */
void nt_flow_limit(struct nt_flow *flow, uint64_t ticks);

/*
 * Decode no message that begins at `offset` or later, where offsets are as in events, and may wrap
 * if the window's offset is near UINT64_MAX; UINT64_MAX (the default): no limit.
 */
void nt_flow_limit_offset(struct nt_flow *flow, uint64_t offset);

/*
 * For a clock of less than 64 bits: no TSTAMP from here on stands for a time before `ticks`.  After
 * nt_flow_window(), this also discards the time of earlier windows: the window may be decoded a
 * second time, or follow a pause in which the clock wrapped, or be the first window of a clock that
 * has wrapped before.
 */
void nt_flow_time_from(struct nt_flow *flow, uint64_t ticks);

/*
 * Continue to decode.  Writes up to max events (at least 1; 256 is a good number) and returns their
 * number; 0: the window is consumed or the limit is reached.  A batch ends after a CONTEXT event,
 * so that the caller can set other code before decoding continues.  -NT_EINVAL: no room for events,
 * or `size` is smaller than the first version's; -NT_ENOMEM.
 *
 * If a message does not match the code, nothing of it is reported except a LOSS, whatever the size
 * of batches; unless code was changed between two batches with events of one message.
 */
int nt_flow_next_sized(struct nt_flow *flow, struct nt_event *ev, size_t size, unsigned int max);

static inline int nt_flow_next(struct nt_flow *flow, struct nt_event *ev, unsigned int max)
{
	return nt_flow_next_sized(flow, ev, sizeof(*ev), max);
}

/* Did nt_flow_next() return 0 because of nt_flow_limit() or nt_flow_limit_offset()? */
bool nt_flow_at_limit(const struct nt_flow *flow);

/*
 * Bytes of the window that are decoded, or given up as lost.  Their events may still be waiting for
 * the next batch.
 */
size_t nt_flow_consumed(const struct nt_flow *flow);

/*
 * Offset of the last sync message that was decoded in this window, or of an earlier one in it
 * (nt_flow_count()): decoding from there reaches the current position, too.  UINT64_MAX: none yet.
 */
uint64_t nt_flow_last_sync(const struct nt_flow *flow);

/*
 * Remember the position, for nt_flow_rewind(), if nothing is pending at it: no message whose events
 * are not all delivered, and no outcomes or half-words of ResourceFull. Returns 0; 1: something is
 * pending, and the previous position stays remembered, if there is one; or -NT_ENOMEM: none is.
 * nt_flow_window() and nt_flow_more() forget it.
 */
int nt_flow_mark(struct nt_flow *flow);

/*
 * Return to the remembered position, which stays remembered: the events after it are decoded a
 * second time, with the code and the limits that are set now. Returns 0, or -NT_EINVAL: no position
 * is remembered.
 */
int nt_flow_rewind(struct nt_flow *flow);

/* ---- what was executed between two events */

/* Consecutive instructions, of which only the last may be a transfer */
struct nt_run {
	uint64_t pc;		/* of the first */
	uint64_t last;		/* of the last */
	uint64_t end;		/* end of the last */
	uint32_t insns;		/* at least 1 */
	uint8_t type;		/* of the last, as nt_insn.type */
	bool taken;		/* the last is the transfer of the event */
};

struct nt_path;

/* Iterates over the linear code that an event's `insns` counts. */
struct nt_path *nt_path_new(void);
void nt_path_free(struct nt_path *path);

/*
 * Iterate over the instructions that retired between the previous event, which must have been
 * passed to this function, and `ev`.  Pass every event in turn, even if its instructions are not
 * needed.  `code`: the program there, may be NULL.  Returns 0, or -NT_EUNMAPPED: there are
 * instructions, but their address is unknown.
 */
int nt_path_event_sized(struct nt_path *path, struct nt_code *code, const struct nt_event *ev,
			size_t size);

static inline int nt_path_event(struct nt_path *path, struct nt_code *code,
				const struct nt_event *ev)
{
	return nt_path_event_sized(path, code, ev, sizeof(*ev));
}

/* Call this before freeing an nt_code that the path may use.  The address is kept. */
void nt_path_release(struct nt_path *path);

/* Iterate over `insns` instructions from pc on. */
void nt_path_linear(struct nt_path *path, struct nt_code *code, uint64_t pc, uint32_t insns);

/*
 * Get the next run, or the next instruction.  Returns 1; 0: there are no more; or a negative error:
 * -NT_EUNMAPPED, an error of nt_read_fn, -NT_ENOMEM, -NT_EINVAL (`size`).  Calls of the two may
 * alternate.
 */
int nt_path_run_sized(struct nt_path *path, struct nt_run *run, size_t size);
int nt_path_insn_sized(struct nt_path *path, struct nt_insn *insn, size_t size);

static inline int nt_path_run(struct nt_path *path, struct nt_run *run)
{
	return nt_path_run_sized(path, run, sizeof(*run));
}

static inline int nt_path_insn(struct nt_path *path, struct nt_insn *insn)
{
	return nt_path_insn_sized(path, insn, sizeof(*insn));
}

/* Skip `insns` instructions, or all that are left.  Returns 0, or a negative error as above */
int nt_path_skip(struct nt_path *path, uint32_t insns);

/* Address of the next instruction; at the end: where linear code continues */
uint64_t nt_path_pc(const struct nt_path *path);

/* ---- counting, for profiles */

/* A taken control transfer, and how often it was taken */
struct nt_edge {
	uint64_t from, to;	/* as in a BRANCH event */
	uint64_t count;
	uint8_t type;		/* enum nt_type */
	uint64_t space;		/* of the nt_code of the lower address, see nt_store_code() */
};

struct nt_counts_stats {
	size_t size;		/* sizeof(struct nt_counts_stats), set by the caller */
	uint64_t insns;		/* retired, as in the events' insns */
	uint64_t walks;		/* messages that describe a path through the program */
	uint64_t hits;		/* of these, known from an earlier one and not decoded again */
	uint64_t memos;		/* remembered messages */
	uint64_t bytes;		/* memory taken by all */
};

struct nt_counts;

/*
 * Counts of edges, initially empty.  Remembered messages take 15 MB, and up to 6 MB more with the
 * number of places where they occurred; an edge takes 48 to 96 bytes.
 */
struct nt_counts *nt_counts_new(void);
void nt_counts_free(struct nt_counts *counts);

/*
 * Continue to decode like nt_flow_next(), but add BRANCH events to counts instead of delivering
 * them: the more a program repeats itself, the faster.  Writes all other events to `ev`, which must
 * have room for `max` events, at least 256, and returns their number, or the result of
 * nt_flow_next().  The two functions may alternate.  The nt_code set in flow must live as long as
 * counts is used.
 */
int nt_flow_count_sized(struct nt_flow *flow, struct nt_counts *counts, struct nt_event *ev,
			size_t size, unsigned int max);

static inline int nt_flow_count(struct nt_flow *flow, struct nt_counts *counts,
				struct nt_event *ev, unsigned int max)
{
	return nt_flow_count_sized(flow, counts, ev, sizeof(*ev), max);
}

/*
 * Like nt_flow_count(), but counts only up to the first event that is not a BRANCH, is a trap, or
 * has NT_EVF_LEFT, for callers that need the counts between other events. Writes this event and the
 * following ones like nt_flow_next(); before it, or where the window is consumed or the limit
 * reached, a COUNTED event if any branch was counted. The `insns` of the event after a COUNTED is
 * that of nt_flow_next(): what retired after the last counted branch.
 */
int nt_flow_count_until_sized(struct nt_flow *flow, struct nt_counts *counts, struct nt_event *ev,
			      size_t size, unsigned int max);

static inline int nt_flow_count_until(struct nt_flow *flow, struct nt_counts *counts,
				      struct nt_event *ev, unsigned int max)
{
	return nt_flow_count_until_sized(flow, counts, ev, sizeof(*ev), max);
}

/* Is any of the code in [start, end) watched? */
typedef bool (*nt_watch_fn)(void *ctx, uint64_t start, uint64_t end);

/*
 * Let nt_flow_count_until() count no BRANCH if watched code ran since the event before: it delivers
 * the BRANCH like an event of another kind, and so all others of the message in which the code ran.
 * `watch` may be called with a range that extends up to
 * two bytes beyond the code that ran, and must always give the same answer. NULL: watch nothing.
 */
void nt_counts_watch(struct nt_counts *counts, nt_watch_fn watch, void *ctx);

/*
 * The edges counted so far, *n in all; owned by counts, and valid until it is used again.  NULL: no
 * memory, or `size` is smaller than the first version's.
 */
const struct nt_edge *nt_counts_edges_sized(struct nt_counts *counts, size_t *n, size_t size);

static inline const struct nt_edge *nt_counts_edges(struct nt_counts *counts, size_t *n)
{
	return nt_counts_edges_sized(counts, n, sizeof(struct nt_edge));
}

/* Reset all counts to 0; edges and remembered messages stay. */
void nt_counts_clear(struct nt_counts *counts);

/* Is there an edge of this space from or to an address in [start, end)?  end == 0 as above */
bool nt_counts_have(const struct nt_counts *counts, uint64_t space, uint64_t start, uint64_t end);

void nt_counts_get_stats(const struct nt_counts *counts, struct nt_counts_stats *stats);

/* --------------------------------------------- nt_image_: code on disk ---- */

struct nt_image;

/* A set of memory images, initially empty */
struct nt_image *nt_image_new(void);
void nt_image_free(struct nt_image *image);

/*
 * Add the loadable segments of an ELF file, at their virtual addresses plus bias. 0, -NT_EFILE,
 * -NT_EFORMAT (not a RISC-V ELF file) or -NT_ENOMEM. If images overlap, the first one added is
 * used.
 */
int nt_image_add_elf(struct nt_image *image, const char *path, uint64_t bias);

/* Add a file of plain memory at addr.  0, -NT_EFILE or -NT_ENOMEM. */
int nt_image_add_raw(struct nt_image *image, const char *path, uint64_t addr);

/* An nt_read_fn; ctx is the nt_image, which is the same in all spaces. */
int nt_image_read(void *image, uint64_t space, uint64_t addr, void *buf, size_t len);

/*
 * XLEN of the added ELF files (0: none), and the ISA string of their attributes (NULL: none), owned
 * by the image
 */
unsigned int nt_image_xlen(const struct nt_image *image);
const char *nt_image_isa(const struct nt_image *image);

#ifdef __cplusplus
}
#endif

/* --------------------------- nt_enc_: instructions to messages ---- */

#include "nt-enc.h"

#endif /* NTRACE_H */
