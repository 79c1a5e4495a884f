/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * libntrace: RISC-V N-Trace 1.0, from bytes to control flow and back
 *
 * One section per layer, each with its own prefix; a layer calls only those
 * above it in this list, except that nt_flow_ uses both nt_msg_ and nt_code_:
 *
 *   nt_msg_    bytes -> one message; stateless
 *   nt_code_   instruction bytes -> basic blocks, decoded once, kept in a graph;
 *		nt_store_: one graph for many programs and threads
 *   nt_flow_   messages and code -> control flow, in batches of events
 *   nt_image_  ELF files and raw memory -> instruction bytes (stand-alone only)
 *   nt_enc_    retired instructions -> messages (nt-enc.h)
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
 *		older `size` count as 0.  Members that the library does not know
 *		yet must be 0: a caller that asks for more than exists is refused.
 *		Structures filled by the library have no `size`: functions named
 *		*_sized() take it, and inline functions here pass it on.  Members
 *		that only the caller knows are set to 0.
 *   Ownership	What is made by *_new() is freed by *_free(); *_free(NULL) is
 *		allowed.  Parameters are copied.  Buffers and callbacks stay the
 *		caller's and must outlive their use.
 *   Threads	There is no global state.  Objects may be used by one thread at
 *		a time; different objects by different threads.  nt_store_ goes further.
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

/* To compare with: LIBNTRACE_VERSION >= LIBNTRACE_VERSION_OF(0, 2, 0) */
#define LIBNTRACE_VERSION_OF(major, minor, patch)	((major) << 16 | (minor) << 8 | (patch))
#define LIBNTRACE_VERSION						\
	LIBNTRACE_VERSION_OF(LIBNTRACE_VERSION_MAJOR, LIBNTRACE_VERSION_MINOR,	\
			     LIBNTRACE_VERSION_PATCH)

/* LIBNTRACE_VERSION of the library that is used, whichever the program was built with */
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
	NT_ENOTSUP,		/* of nt_image_ and nt_read_fn: what has the code can't be read */
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
	NT_EMODE,		/* a message of BTM in HTM, or of HTM in BTM */
	NT_ENOMODE,		/* a branch without outcome, HTM or BTM unknown */
	/* of nt_params.branches */
	NT_EMATCH,		/* match has bits that mask has not */
	NT_ELENGTH,		/* mask does not settle the length, or goes beyond it */
	NT_EKIND,		/* not a branch's type, or with an offset too many or too few */
	NT_EOFFSET,		/* a field of the offset is where it can't be */
	NT_EOVERLAP,		/* two of them have an instruction in common */
	/* of the flow layer */
	NT_EAMBIGUOUS,		/* RepeatBranch, of an unknown encoder, may mean two ways */
	NT_EWORK,		/* more work than its bytes pay for: nt_params.work_per_byte */
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
	/*
	 * The ratified specification, of whatever encoder: where encoders read it in
	 * different ways, what fits the code counts (NT_EAMBIGUOUS: more than one).
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
	NT_MODE_UNKNOWN,	/* the messages tell, see nt_flow_new() */
	NT_MODE_BTM,		/* a message for each that is taken */
	NT_MODE_HTM,		/* as bits of HIST */
};

/* Extensions that change how bytes are read as instructions (nt_params.isa) */
#define NT_ISA_C	0x1	/* set by nt_isa_parse(), not needed for decoding */
/*
 * Where any of these is set, an encoding that D, Zcb, Zcmp and Zcmt alone could
 * define, and that is of none of those set, may do anything (NT_INSN_CUSTOM).
 */
#define NT_ISA_D	0x2	/* c.fsdsp; yields to Zcmp and Zcmt where they are set */
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
 * A branch or jump that the library does not know: a vendor's, or one of a later extension.
 * It is an instruction with (bits & mask) == match, of 2, 4, 6 or 8 bytes.  The length must
 * follow from mask and match.
 */
struct nt_branch {
	uint64_t mask;
	uint64_t match;
	/*
	 * Of a direct one: its target is at its own address plus the offset.  Bits in no field
	 * are 0, the highest one in a field is the sign.  Fields lie outside of mask.
	 */
	struct nt_branch_field offset[NT_BRANCH_FIELDS];
	/*
	 * enum nt_type: COND, JUMP, JUMP_LINK, CALL with an offset; IJUMP, IJUMP_LINK, ICALL,
	 * RET, SWAP without.  An indirect one is never a sequential jump.
	 */
	uint8_t type;
	uint8_t reserved[7];	/* 0 */
};

/*
 * Where Linux has its own addresses. On RV64 canonical addresses leave no doubt; on
 * RV32 user space reaches beyond the middle, up to the fixmap.
 */
#define NT_RV32_TASK_SIZE	0x9fc00000u

/* What cannot be learnt from the trace itself */
struct nt_params {
	size_t size;		/* sizeof(struct nt_params) */
	uint8_t xlen;		/* 32 or 64 */
	/* width of SRC in the stream, 0..12; 0 when inhibited.  With TT_DFD always 4 */
	uint8_t srcbits;
	int32_t src;		/* the source to decode, -1 all (as one stream) */
	bool timestamps;	/* messages may end with TSTAMP, sync messages do */
	bool extaddr;		/* trTeInstExtendAddrMSB */
	bool seqjump;		/* trTeInstEnSequentialJump */
	bool alljumps;		/* trTeInstEnAllJumps */
	uint8_t retstack;	/* trTeInstImplicitReturnMode, 0 when not enabled */
	enum nt_profile profile;
	uint64_t jvt;		/* the jvt CSR: base of the Zcmt jump table */
	uint32_t isa;		/* NT_ISA_* */
	enum nt_mode mode;	/* trTeInstMode, if the recording tells; not BTM with TT_DFD */
	/*
	 * Width of an address field: it holds address bits 1 to addr_bits, and
	 * address bit addr_bits is the sign.  0: 48 with the profiles P550 and
	 * SIFIVE when XLEN is 64, else XLEN - 1, all bits there are.
	 */
	uint8_t addr_bits;
	/*
	 * The first address of nt_flow_set_code()'s `high`.  0: the first with the
	 * top bit of XLEN set.  Linux on RV32 has user space beyond it.
	 */
	uint64_t high_from;
	/*
	 * Width of the trace clock, 8 to 64: a TSTAMP is the time modulo
	 * 2^tstamp_bits.  0: 40 with the profiles P550 and SIFIVE, else 64.  Of a
	 * narrower clock see nt_event.time.
	 */
	uint8_t tstamp_bits;
	/*
	 * Branches that the library does not know, at most NT_BRANCHES_MAX; they go before those
	 * it knows.  Copied by nt_code_new() and nt_enc_new() and not used by nt_flow_new();
	 * nt_enc_classify() wants them for the time of the call.
	 */
	const struct nt_branch *branches;
	uint32_t nr_branches;
	/*
	 * How much a byte of trace may stand for, 1 to NT_WORK_MAX: units of work that it pays
	 * for, where a window has had 4096 bytes before its first.  0: NT_WORK_DEFAULT.  A unit
	 * is an event, or a branch that was not taken; where neither is told for long, some
	 * instructions.  Work that is not paid for is a LOSS, NT_EWORK: a message may tell of a
	 * loop that went round millions of times.  NT_WORK_UNLIMITED: follow all that was counted.
	 */
	uint64_t work_per_byte;
};

#define NT_WORK_DEFAULT		4096
#define NT_WORK_MAX		(1u << 20)
#define NT_WORK_UNLIMITED	UINT64_MAX

/* "1.0", "p550", "sifive", "tt-dfd"; NULL if the number is no profile's.  A static string. */
const char *nt_profile_name(unsigned int profile);

/* Set *params to N-Trace 1.0, XLEN 64, no SRC, everything optional off. */
void nt_params_init_sized(struct nt_params *params, size_t size);

static inline void nt_params_init(struct nt_params *params)
{
	nt_params_init_sized(params, sizeof(*params));
}

/*
 * 0, or -NT_EINVAL (a value out of range), or of a branch -NT_EMATCH, -NT_ELENGTH, -NT_EKIND,
 * -NT_EOFFSET or -NT_EOVERLAP.
 */
int nt_params_check(const struct nt_params *params);

/*
 * Read MASK/MATCH[:TYPE[:OFFSET]] such as "0x707f/0x600b:cond:b" into *branch.  TYPE is cond (the
 * default), jump, call, ijump, icall, ret or swap.  OFFSET is b, j, cb or cj, as BEQ, JAL, C.BEQZ
 * and C.J have it, or HI[-LO]@TO,... for bits HI to LO of the instruction that are those of the
 * offset from TO on; default: as the standard's branch or jump of 2 or 4 bytes.  0, -NT_EINVAL
 * (not so written), or what nt_params_check() says of a branch; then *branch is unchanged.
 */
int nt_branch_parse(const char *text, struct nt_branch *branch);

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
	 * XLEN-1.  nt_msg_addr() makes an address of it.
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
 * Uses of params: srcbits, timestamps, extaddr, addr_bits, xlen, profile.
 * params is not checked.  -NT_EINVAL: `size` is smaller than the first version's.
 */
int nt_msg_decode_sized(const struct nt_params *params, const uint8_t *buf, size_t len,
			struct nt_msg *msg, size_t size);

static inline int nt_msg_decode(const struct nt_params *params, const uint8_t *buf, size_t len,
				struct nt_msg *msg)
{
	return nt_msg_decode_sized(params, buf, len, msg, sizeof(*msg));
}

/*
 * The address that a message with NT_F_ADDR reports.  `last` is the address
 * that the message with NT_F_ADDR before it reported; an F-ADDR does not need
 * it.  Uses of params: xlen, addr_bits, profile.
 */
uint64_t nt_msg_addr(const struct nt_params *params, const struct nt_msg *msg, uint64_t last);

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

/*
 * Offset of the last sync message of params->src that begins before `before`, or len when
 * there is none: where decoding begins that shall come to `before`.  buf must begin at a
 * message or idle.  Looks at no more bytes before `before` than it has to.
 */
size_t nt_msg_find_sync_before(const struct nt_params *params, const uint8_t *buf, size_t len,
			       size_t before);

/* ---- a stream of several sources, split into one stream for each */

struct nt_demux;

/*
 * Uses of params: those of nt_msg_decode().  NULL: no memory, params are refused, or the stream
 * has no SRC.
 */
struct nt_demux *nt_demux_new(const struct nt_params *params);
void nt_demux_free(struct nt_demux *demux);

/*
 * Split what begins at `offset` of the stream, at a message or idle.  Each source's messages
 * become its piece, instead of the pieces of the call before, and without idle.  Damaged messages
 * may be anyone's: each source has the first of several behind its last good one, cut if it is
 * longer than any message.  So a flow with params->src makes the same events of the source's piece
 * as of the whole stream, but counts `skipped` bytes, and offsets, in the piece.  While `open` is
 * set a message whose end is not there yet is left alone.  If it is damaged, it is done with, and
 * the next split puts its last byte in front of the pieces.  *consumed bytes are done with.  0, or
 * -NT_ENOMEM; then the pieces are undefined.
 */
int nt_demux_split(struct nt_demux *demux, const uint8_t *buf, size_t len, uint64_t offset,
		   bool open, size_t *consumed);

/* The piece of a source, until the next split; NULL and a length of 0 if it has none */
const uint8_t *nt_demux_piece(const struct nt_demux *demux, unsigned int src, size_t *len);

/* Offset in the stream of a byte of the piece; behind the piece: of the end of what was split */
uint64_t nt_demux_offset(const struct nt_demux *demux, unsigned int src, size_t at);

/* The next split puts the piece's bytes from `from` on, of which a flow wants more, in front. */
void nt_demux_keep(struct nt_demux *demux, unsigned int src, size_t from);

/* ---- times of a clock of `bits` bits, 8 to 64, which wraps */

/* The first time from `from` on that an absolute TSTAMP may stand for */
static inline uint64_t nt_tstamp_widen(uint64_t from, uint64_t stamp, unsigned int bits)
{
	const unsigned int unused = 64 - bits;

	return from + ((stamp - from) << unused >> unused);
}

/*
 * Times rise, but one may be before the last by so much: an eighth of the clock's range, or
 * a damaged message would add a whole range to all times behind it.
 */
static inline uint64_t nt_tstamp_slack(unsigned int bits)
{
	return 1ull << (bits - 3);
}

/* The time of an absolute TSTAMP behind the time `last` (0: none), not before `from` */
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

/* Is it a transfer that the hart made instead of an instruction? */
static inline bool nt_type_is_trap(unsigned int type)
{
	return type == NT_TYPE_EXCEPTION || type == NT_TYPE_INTERRUPT || type == NT_TYPE_TRAP;
}

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
 * Supplies code: copies up to len bytes (at most INT_MAX) of an address space's memory
 * at addr to buf and returns how many (0: nothing there).  Fewer than len means that
 * the next byte is not to be had from the same piece; it is asked for separately.
 * `space` is the number that the address space was given.
 *
 * Or negative: -NT_EFILE, -NT_EFORMAT or -NT_ENOTSUP when there is something that can't
 * be read, which is the reason of the LOSS then; anything else counts as -NT_EFILE.
 */
typedef int (*nt_read_fn)(void *ctx, uint64_t space, uint64_t addr, void *buf, size_t len);

struct nt_code;

/*
 * A program: basic blocks, made when first reached, from what `read` supplies for
 * space 0.  Uses of params: xlen, isa, jvt, seqjump, branches, high_from.  One nt_code may serve
 * several nt_flow one after the other, or alternating, in one thread.
 */
struct nt_code *nt_code_new(const struct nt_params *params, nt_read_fn read, void *ctx);
void nt_code_free(struct nt_code *code);

/* ---- many address spaces, and threads */

/* What is mapped at an address */
struct nt_mapping {
	size_t size;		/* of this structure, set by the library */
	uint64_t start, end;	/* [start, end); end == 0: the end of the address space */
	uint64_t file;		/* number of a file that these bytes are from; 0: none */
	uint64_t offset;	/* of `start` in the file */
};

/*
 * Tells what is mapped around addr: 0, or negative when nothing is known, which is asked for each
 * page then.  The same bytes of a file have the same number and offset wherever they are
 * mapped; what an address space has changed of them is no part of the file there.
 */
typedef int (*nt_map_fn)(void *ctx, uint64_t space, uint64_t addr, struct nt_mapping *mapping);

struct nt_store;

/*
 * Blocks of many programs.  What is mapped from files is decoded once for all address spaces of
 * the store.  All of this may take `limit` bytes, 0: any number; beyond, the files and
 * memory that were not executed for the longest time are forgotten, and decoded again
 * when need be.  Less than a megabyte counts as that much.  Uses of params as nt_code_new().
 *
 * What belongs to one store may be used by many threads at the same time: nt_flow_next()
 * of different nt_flow, and everything of nt_code.  `read` and `map` are called by one
 * thread at a time, and call nothing of the library.  The store outlives its nt_code.
 */
struct nt_store *nt_store_new(const struct nt_params *params, uint64_t limit);
void nt_store_free(struct nt_store *store);

/* An address space; map == NULL: nothing of it is from files that others map. */
struct nt_code *nt_store_code(struct nt_store *store, uint64_t space, nt_read_fn read,
			      nt_map_fn map, void *ctx);

/*
 * The memory [start, end) has changed or is about to, or what is mapped there: forget
 * what was made from it.  end == 0 stands for the end of the address space.  Allowed
 * between any two calls of nt_flow_next().
 */
void nt_code_invalidate(struct nt_code *code, uint64_t start, uint64_t end);

/*
 * Called when a block is made of the code in [pc, pc + len): the flow reached it for the first
 * time, or again after it was forgotten.  `read` may be asked for more than what runs.  Not called
 * for code of mapped files.  Must not call the library.
 */
typedef void (*nt_made_fn)(void *ctx, uint64_t space, uint64_t pc, size_t len);

/* Have `made` called, with the ctx of `read`.  Call this before the code is used. */
void nt_code_tell(struct nt_code *code, nt_made_fn made);

/*
 * Decode the one instruction at pc.  Returns its length, or -NT_EUNMAPPED, or what
 * nt_read_fn says; -NT_EINVAL: `size` is smaller than the first version's.
 * Does not look at other instructions: a jump that can be inferred only from
 * the instruction before it (seqjump) is reported as indirect.
 */
int nt_code_insn_sized(struct nt_code *code, uint64_t pc, struct nt_insn *insn, size_t size);

static inline int nt_code_insn(struct nt_code *code, uint64_t pc, struct nt_insn *insn)
{
	return nt_code_insn_sized(code, pc, insn, sizeof(*insn));
}

/* What there is in a store; for figures */
struct nt_code_stats {
	size_t size;		/* sizeof(struct nt_code_stats), set by the caller */
	uint64_t blocks;	/* blocks that exist now */
	uint64_t bytes;		/* memory taken by all */
};

/* Fills in stats->size bytes at most, and sets it to how many have a meaning. */
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
 * what retired since the last event lies in [its `to` (or the last known pc) ..
 * `from`], every conditional branch in it not taken.  `insns` of all events
 * together is the number of instructions known to have retired.
 *
 * BRANCH	a taken transfer of `type`.  from: its instruction, counted by
 *		insns.  For traps from is the instruction that did not retire,
 *		or would have been next, and is not counted.  to: where it went.
 *		reason: of the sync message that reported it, if NT_EVF_SYNC.
 *		NT_EVF_LEFT when it led to what is not traced, and the trace does not
 *		tell where that is: to is 0, and so is the from of the STOP behind it.
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
 *		hcontext; with TT_DFD it is 0, and which CSR context is of only
 *		the hart's maker knows.  It took place somewhere between the last event and
 *		the next, directly after the last if that was START or a trap.
 *		from = to = the last known pc; insns = 0.
 * LOSS		trace could not be followed.  from: last certain pc, exclusive,
 *		0 without NT_EVF_PC.  reason: enum nt_error.  to: with
 *		NT_EUNMAPPED, or what nt_read_fn said, the address without
 *		code.  skipped: bytes from
 *		offset to the next sync message; 0 when the one at offset is
 *		that itself.  The stretch is over, the next event is START.
 * NOTICE	something odd that did not disturb the flow: reason as for LOSS,
 *		from = to = the last known pc; insns = 0.  NT_ENOTIME: this sync
 *		message, the first such one of the window, lacks its timestamp.
 *
 * COUNTED	of nt_flow_count_until() alone: branches were counted, the last led to
 *		from = to.  insns = 0.
 *
 * SYNC		a sync message that neither began nor restarted trace, if
 *		nt_flow_report_syncs() asked for its reason: a trigger, a
 *		watchpoint.  from = to: its F-ADDR, up to which insns counts.
 *		reason: SYNC field.  The stretch goes on.  It comes behind the
 *		BRANCH that the message reported, if any.
 *
 * There may be further kinds in future: pass over those that you don't know.
 *
 * A clock of less than 64 bits (nt_params.tstamp_bits) wraps, the time of events
 * goes on rising: of the times that a TSTAMP may stand for it is the first that
 * is not more than an eighth of the clock's range before the last time of this
 * nt_flow, whatever window that was in.  The first time is the TSTAMP itself.
 * Who knows more tells it: nt_flow_time_from().
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
#define NT_EVF_STAMP	0x40	/* with NT_EVF_TIME: the message itself has a TSTAMP */
#define NT_EVF_LEFT	0x80	/* BRANCH, and the STOP behind it: the target is unknown */

struct nt_flow;

/*
 * A decoder of one stream.  Uses all of params.
 *
 * With NT_MODE_UNKNOWN the decoder infers the mode when it needs it: from the
 * messages that only one mode has among the next 64 KiB, by the majority of the
 * first 15.  It keeps the mode across sync messages, losses and windows; a
 * message that contradicts it makes the decoder infer it again.  A branch whose
 * outcome depends on a mode that no message tells is a LOSS (NT_ENOMODE), not a
 * guess.  With any other mode a message that contradicts it is a LOSS (NT_EMODE).
 */
struct nt_flow *nt_flow_new(const struct nt_params *params);
void nt_flow_free(struct nt_flow *flow);

/*
 * The program to follow from now on: `high` for addresses from params.high_from
 * on, `low` for all others; may be equal; NULL: all unmapped.  Allowed
 * between any two calls of nt_flow_next(); return stack, pc and all else are
 * kept.  The nt_code must be made with the same params and outlive their use.
 */
void nt_flow_set_code(struct nt_flow *flow, struct nt_code *low, struct nt_code *high);

/*
 * Make a SYNC event of each sync message with one of these reasons, a bit for
 * each: 1u << NT_SYNC_TRIGGER | 1u << NT_SYNC_TRACE_EVENT are the marks that
 * someone set; periodic ones are many.  None at first.  START events, and
 * BRANCH events with NT_EVF_SYNC, tell the reason of their message anyway.
 */
void nt_flow_report_syncs(struct nt_flow *flow, uint32_t reasons);

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
 * is kept, and what of the old buffer was not consumed is given up.  Of a
 * damaged message all is consumed; its rest is passed over.  Both
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
 * A clock of less than 64 bits: no TSTAMP from here on stands for a time before
 * `ticks`.  Called behind nt_flow_window(), it also puts an end to what earlier
 * windows told of the time: the window may be decoded a second time, or follow a
 * pause in which the clock wrapped, or be the first one of a clock that has
 * wrapped before.
 */
void nt_flow_time_from(struct nt_flow *flow, uint64_t ticks);

/*
 * Decode on.  Writes up to max events (at least 1; 256 is a good number) and
 * returns their number; 0: the window is consumed or the limit reached.  A batch
 * ends after a CONTEXT event, so that the caller can set other code before what
 * follows is decoded.  -NT_EINVAL: no room for events, or `size` is smaller than
 * the first version's; -NT_ENOMEM.
 *
 * Of a message that turns out not to fit the code nothing is reported, whatever
 * the size of batches is, except a LOSS; unless code was changed between two
 * batches that have events of one message.
 */
int nt_flow_next_sized(struct nt_flow *flow, struct nt_event *ev, size_t size, unsigned int max);

static inline int nt_flow_next(struct nt_flow *flow, struct nt_event *ev, unsigned int max)
{
	return nt_flow_next_sized(flow, ev, sizeof(*ev), max);
}

/* True when nt_flow_next() returned 0 because of nt_flow_limit(). */
bool nt_flow_at_limit(const struct nt_flow *flow);

/*
 * Bytes of the window that are decoded, or given up as lost.  Events of them may
 * still be waiting for the next batch.
 */
size_t nt_flow_consumed(const struct nt_flow *flow);

/*
 * Offset of the last sync message that decoding has come to in this window, or of an earlier one
 * of it (nt_flow_count()): decoding that begins there comes to what is next, too.  UINT64_MAX:
 * there was none yet.
 */
uint64_t nt_flow_last_sync(const struct nt_flow *flow);

/* ---- what was executed between two events */

/* Instructions one behind the other, of which only the last may be a transfer */
struct nt_run {
	uint64_t pc;		/* of the first */
	uint64_t last;		/* of the last */
	uint64_t end;		/* behind it */
	uint32_t insns;		/* at least 1 */
	uint8_t type;		/* of the last, as nt_insn.type */
	bool taken;		/* the last is the transfer that the event tells of */
};

struct nt_path;

/* Goes over linear code, over the instructions that an event's `insns` counts. */
struct nt_path *nt_path_new(void);
void nt_path_free(struct nt_path *path);

/*
 * Go over what retired between the event before, which was given to this function as well,
 * and `ev`.  Every event is to be passed here in turn, whether anybody wants what was
 * before it or not.  `code`: the program there, maybe NULL.  0, or -NT_EUNMAPPED: there are
 * instructions, but it is not known where.
 */
int nt_path_event_sized(struct nt_path *path, struct nt_code *code, const struct nt_event *ev,
			size_t size);

static inline int nt_path_event(struct nt_path *path, struct nt_code *code,
				const struct nt_event *ev)
{
	return nt_path_event_sized(path, code, ev, sizeof(*ev));
}

/* Before an nt_code is freed that the path was at: forget it, but not the address. */
void nt_path_release(struct nt_path *path);

/* Go over so many instructions from pc on. */
void nt_path_linear(struct nt_path *path, struct nt_code *code, uint64_t pc, uint32_t insns);

/*
 * The next run, or instruction: 1.  0: there are no more.  Or negative: -NT_EUNMAPPED or what
 * nt_read_fn says, -NT_ENOMEM, -NT_EINVAL (`size`).  The two may alternate.
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

/* Pass over so many instructions, or all that are left.  0, or negative as above */
int nt_path_skip(struct nt_path *path, uint32_t insns);

/* Address of the next instruction; when there are no more: where linear code goes on */
uint64_t nt_path_pc(const struct nt_path *path);

/* ---- counting, for profiles */

/* A control transfer that was taken, and how often */
struct nt_edge {
	uint64_t from, to;	/* as in a BRANCH event */
	uint64_t count;
	uint8_t type;		/* enum nt_type */
	uint64_t space;		/* of the nt_code of the lower address, see nt_store_code() */
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
 * 48 to 96 bytes.
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
int nt_flow_count_sized(struct nt_flow *flow, struct nt_counts *counts, struct nt_event *ev,
			size_t size, unsigned int max);

static inline int nt_flow_count(struct nt_flow *flow, struct nt_counts *counts,
				struct nt_event *ev, unsigned int max)
{
	return nt_flow_count_sized(flow, counts, ev, sizeof(*ev), max);
}

/*
 * The same, for who must know what is between other events: counts up to the first that is no
 * BRANCH, is a trap, or has NT_EVF_LEFT.  Writes that one and what is behind it, as nt_flow_next()
 * would; before it, or where the window is consumed or the limit reached, a COUNTED event if any
 * branch was counted. The `insns` of the event behind that one tell nothing: how many instructions
 * retired is in the statistics.
 */
int nt_flow_count_until_sized(struct nt_flow *flow, struct nt_counts *counts, struct nt_event *ev,
			      size_t size, unsigned int max);

static inline int nt_flow_count_until(struct nt_flow *flow, struct nt_counts *counts,
				      struct nt_event *ev, unsigned int max)
{
	return nt_flow_count_until_sized(flow, counts, ev, sizeof(*ev), max);
}

/*
 * The edges counted up to now, *n in all; counts' own, valid until it is used again.
 * NULL: there is no memory, or `size` is smaller than the first version's.
 */
const struct nt_edge *nt_counts_edges_sized(struct nt_counts *counts, size_t *n, size_t size);

static inline const struct nt_edge *nt_counts_edges(struct nt_counts *counts, size_t *n)
{
	return nt_counts_edges_sized(counts, n, sizeof(struct nt_edge));
}

/* All counts are 0 again; edges, and what is remembered of messages, stay. */
void nt_counts_clear(struct nt_counts *counts);

/* Is there an edge of this space from or to an address in [start, end)?  end == 0 as above */
bool nt_counts_have(const struct nt_counts *counts, uint64_t space, uint64_t start, uint64_t end);

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

/* An nt_read_fn; ctx is the nt_image, which is the same in all spaces. */
int nt_image_read(void *image, uint64_t space, uint64_t addr, void *buf, size_t len);

/*
 * XLEN of the ELF files added (0: none), and the ISA string of their
 * attributes (NULL: none), owned by the image.
 */
unsigned int nt_image_xlen(const struct nt_image *image);
const char *nt_image_isa(const struct nt_image *image);

#ifdef __cplusplus
}
#endif

/* --------------------------- nt_enc_: instructions to messages ---- */

#include "nt-enc.h"

#endif /* NTRACE_H */
