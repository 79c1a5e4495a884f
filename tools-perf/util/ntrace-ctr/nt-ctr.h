/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * libntrace-ctr: control transfers -> control transfer records (CTR, Smctr/Ssctr 1.0)
 *
 * A model of a hart's buffer of records, with its registers. Its input is transfers, one by one
 * (nt_ctr_transfer()) or from nt_flow_ (nt_ctr_events()). It is configured and read through its
 * CSRs by number (nt_ctr_read(), nt_ctr_write()) or entry by entry (nt_ctr_entry()). Its depth may
 * exceed that of any hardware. With NT_CTR_DRAFT, it follows the draft v0.1.4: registers, fields
 * and rules.
 *
 * Transfers, events and programs are those of libntrace (ntrace.h), which this library uses.
 * Conventions, valid for every function below:
 *
 *   Errors	Functions returning int return >= 0 on success and a negative
 *		enum nt_error on failure, for nt_strerror(); register accesses
 *		that the hart would refuse return NT_CTR_ILLEGAL or NT_CTR_VIRTUAL.
 *		nt_ctr_new() returns NULL if memory is short or parameters are
 *		refused.
 *   Sizes	Structures filled by the caller begin with `size`, which the
 *		caller sets to sizeof the structure.  Members that the library does
 *		not know must be 0.  Functions named *_sized() take the size of
 *		other structures, and inline functions here pass it.  An entry is
 *		three registers and does not grow.
 *   Ownership	Objects of nt_ctr_new() are freed by nt_ctr_free();
 *		nt_ctr_free(NULL) is allowed.  Parameters are copied, a program is
 *		only used during the call.
 *   Threads	There is no global state.  A buffer may be used by one thread at a
 *		time, different buffers by different threads.
 *   Addresses	Byte addresses, zero-extended to 64 bits when XLEN is 32.
 *   Version	LIBNTRACE_VERSION: both libraries are built together.
 */
#ifndef NT_CTR_H
#define NT_CTR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ntrace.h"

#ifdef __cplusplus
extern "C" {
#endif

struct nt_ctr;

/* Privilege modes: PRV, with V as bit 2; Debug Mode has no PRV */
enum nt_ctr_mode {
	NT_CTR_U = 0,
	NT_CTR_S = 1,		/* or HS */
	NT_CTR_M = 3,
	NT_CTR_VU = 4,
	NT_CTR_VS = 5,
	NT_CTR_DEBUG = 8,
};

/* CSRs of the ratified specification; siselect.. also for the draft, like M-mode's mi.. */
enum nt_ctr_csr {
	NT_CSR_SCTRCTL = 0x14e,
	NT_CSR_SCTRSTATUS = 0x14f,
	NT_CSR_SISELECT = 0x150,
	NT_CSR_SIREG = 0x151,	/* ctrsource of the selected entry */
	NT_CSR_SIREG2 = 0x152,	/* ctrtarget */
	NT_CSR_SIREG3 = 0x153,	/* ctrdata */
	NT_CSR_SIREG4 = 0x155,	/* 4 to 6 read 0 */
	NT_CSR_SIREG6 = 0x157,
	NT_CSR_SCTRDEPTH = 0x15f,
	NT_CSR_VSCTRCTL = 0x24e,
	NT_CSR_VSISELECT = 0x250,
	NT_CSR_VSIREG = 0x251,
	NT_CSR_MSTATEEN0 = 0x30c, /* only bits CTR and CSRIND; both are initially 1 */
	NT_CSR_MCTRCTL = 0x34e,
	NT_CSR_MISELECT = 0x350, /* only in the draft */
	NT_CSR_MIREG = 0x351,
	NT_CSR_HSTATEEN0 = 0x60c,
	/* of the draft; those with H are the upper halves on RV32 */
	NT_CSR_DRAFT_SCTRCONTROL = 0x181,
	NT_CSR_DRAFT_SCTRCONTROLH = 0x182,
	NT_CSR_DRAFT_SCTRSTATUS = 0x183,
	NT_CSR_DRAFT_VSCTRCONTROL = 0x281,
	NT_CSR_DRAFT_VSCTRCONTROLH = 0x282,
	NT_CSR_DRAFT_MCTRCONTROL = 0x381,
	NT_CSR_DRAFT_MCTRCONTROLH = 0x382,
	NT_CSR_DRAFT_MCTRSTATUS = 0x383,
};

/* Fields of mctrctl, sctrctl and vsctrctl; see nt_ctr_field_name() for those of the draft */
#define NT_CTRCTL_U		(1ull << 0)
#define NT_CTRCTL_S		(1ull << 1)
#define NT_CTRCTL_M		(1ull << 2)
#define NT_CTRCTL_RASEMU	(1ull << 7)
#define NT_CTRCTL_STE		(1ull << 8)
#define NT_CTRCTL_MTE		(1ull << 9)
#define NT_CTRCTL_BPFRZ		(1ull << 11)
#define NT_CTRCTL_LCOFIFRZ	(1ull << 12)
#define NT_CTRCTL_NTBREN	(1ull << 36)
/* inhibits records of enum nt_type; for NT_TYPE_NOT_TAKEN, it is NTBREN, which enables them */
#define NT_CTRCTL_TYPE(type)	(1ull << (32 + (type)))

#define NT_CTRSTATUS_FROZEN	(1u << 31)
#define NT_CTRSTATUS_DRAFT_FROZEN (1u << 15)
#define NT_CTRSTATUS_DRAFT_WRAP	(1u << 14)

/* Bits of the entries */
#define NT_CTRSOURCE_V		1ull
#define NT_CTRTARGET_MISP	1ull
#define NT_CTRDATA_TYPE		0xfull
#define NT_CTRDATA_CCV		(1ull << 15)
#define NT_CTRDATA_CC		(0xffffull << 16)

/* SCTRCLR, as an instruction */
#define NT_CTR_SCTRCLR		0x10400073

#define NT_STATEEN_CTR		(1ull << 54)
#define NT_STATEEN_DRAFT_CTR	(1ull << 55)
#define NT_STATEEN_CSRIND	(1ull << 60)

#define NT_CTR_DEPTH_MAX	(1u << 24)

/* Bits of nt_ctr_params.flags; none: all optional features are implemented */
#define NT_CTR_DRAFT		0x01	/* the draft v0.1.4 */
#define NT_CTR_NO_MISP		0x02	/* ctrtarget.MISP reads 0 */
#define NT_CTR_NO_TYPE		0x04	/* ctrdata.TYPE reads 0 */
#define NT_CTR_NO_CC		0x08	/* no cycle counting: CCV, CC read 0 */
#define NT_CTR_NO_SSCOFPMF	0x10	/* LCOFIFRZ may be missing in `fields` */
#define NT_CTR_NO_H		0x20	/* no VS, VU; no vs... registers */

/* The properties of a buffer */
struct nt_ctr_params {
	size_t size;		/* sizeof(struct nt_ctr_params) */
	uint32_t flags;		/* NT_CTR_* */
	uint32_t depth;		/* entries, 1 to NT_CTR_DEPTH_MAX */
	/*
	 * Bit i: software may select a depth of 16 << i, i 0 to 4.  0: the depth is fixed; if it is
	 * not one of these, sctrdepth reads 7.
	 */
	uint8_t depths;
	uint8_t cce_bits;	/* number of exponent bits of ctrdata.CC, 0 to 4 */
	uint8_t xlen;		/* of the registers (MXLEN): 32 or 64 */
	uint8_t code_xlen;	/* of the executed code; 0: the same */
	/*
	 * CPU cycles per tick of nt_event.time, for nt_ctr_events(): known if timestamps have the
	 * mode Internal Core and their prescaler is known.  0: unknown, and no record has CCV set.
	 */
	uint32_t cycles_per_tick;
	/*
	 * Implemented optional fields of the control registers, at the ratified positions (the
	 * draft's ETEN: 38); 0: all.
	 */
	uint64_t fields;
};

/* Set *params to the ratified specification, depth 256 of all five, XLEN 64, all features. */
void nt_ctr_params_init_sized(struct nt_ctr_params *params, size_t size);

static inline void nt_ctr_params_init(struct nt_ctr_params *params)
{
	nt_ctr_params_init_sized(params, sizeof(*params));
}

/* NULL: no memory, or parameters out of range.  Registers and entries are initially 0. */
struct nt_ctr *nt_ctr_new(const struct nt_ctr_params *params);
void nt_ctr_free(struct nt_ctr *ctr);

/* ---- registers, for software in a mode */

/* The result of an access, if not 0 */
#define NT_CTR_ILLEGAL	1	/* illegal-instruction exception */
#define NT_CTR_VIRTUAL	2	/* virtual-instruction exception */

/*
 * CSR accesses by software in `mode`: 0, NT_CTR_ILLEGAL, NT_CTR_VIRTUAL, or -NT_EINVAL for a mode
 * that executes nothing.  Accesses depend on the mode as specified: in VS-mode, s... registers
 * stand for vs... ones.  CSRs that do not belong to CTR are illegal, and so are indirect accesses
 * with another selector.
 *
 * sctrstatus.WRPTR has up to 31 bits if the depth exceeds 256; the draft's shows 8. Only
 * nt_ctr_entry() can access entries beyond 256.
 */
int nt_ctr_read(struct nt_ctr *ctr, unsigned int mode, unsigned int csr, uint64_t *value);
int nt_ctr_write(struct nt_ctr *ctr, unsigned int mode, unsigned int csr, uint64_t value);

/* SCTRCLR in `mode`; results as above.  Illegal in the draft. */
int nt_ctr_clear(struct nt_ctr *ctr, unsigned int mode);

/* The name of the field of the control registers at `bit`, in lower case; NULL if there is none. */
const char *nt_ctr_field_name(bool draft, unsigned int bit);

/*
 * Parse a control register's value in its layout: "u,ste,retinh" or a number, 0x... or decimal.
 * Returns 0, or -NT_EINVAL: the word at text + *bad is not a field, or the number is malformed
 * (*bad is 0).
 */
int nt_ctr_parse(bool draft, const char *text, uint64_t *value, size_t *bad);

/* ---- records */

/* One entry */
struct nt_ctr_entry {
	uint64_t source;	/* ctrsource: PC, bit 0 V */
	uint64_t target;	/* ctrtarget: PC, bit 0 MISP */
	uint64_t data;		/* ctrdata: TYPE, CCV, CC */
};

/*
 * Get logical entry i, 0 being the youngest.  True if it is valid; all 0 from the depth on.  This
 * completes a trap that was the last event: later events cannot determine its mode any more.
 */
bool nt_ctr_entry(struct nt_ctr *ctr, uint32_t i, struct nt_ctr_entry *entry);

/* The current number of entries: logical entries are 0 to this, exclusive */
uint32_t nt_ctr_depth(const struct nt_ctr *ctr);

/*
 * Format as "SOURCE TARGET DATA TYPE", hexadecimal and nt_type_name(), and " CYCLES" if CCV is set.
 * Returns the length; with a buffer of less than 80 bytes, the text may be truncated.
 */
int nt_ctr_format(const struct nt_ctr_entry *entry, char *buf, size_t size);

/* Encode n cycles as CC with this number of exponent bits (0 to 4); decode CC */
uint16_t nt_ctr_cycles_encode(uint64_t n, unsigned int cce_bits);
uint32_t nt_ctr_cycles_decode(uint16_t cc);

/* ---- events in the hart */

#define NT_CTR_CAUSE_UNKNOWN	(-1)
#define NT_CTR_CAUSE_BREAKPOINT	3	/* for exceptions */
#define NT_CTR_CAUSE_LCOFI	13	/* for interrupts: local counter overflow */

/* A transfer */
struct nt_ctr_transfer {
	size_t size;		/* sizeof(struct nt_ctr_transfer) */
	uint64_t from;		/* the instruction; for traps, epc */
	uint64_t to;
	uint64_t time;		/* with NT_CTR_TIME: its cycle */
	int16_t cause;		/* for traps: exception code, or NT_CTR_CAUSE_UNKNOWN */
	uint8_t type;		/* enum nt_type, including branches not taken */
	uint8_t source, target;	/* enum nt_ctr_mode */
	uint8_t flags;		/* NT_CTR_TIME, NT_CTR_MISPREDICTED */
};

#define NT_CTR_TIME		0x1
#define NT_CTR_MISPREDICTED	0x2

/*
 * Process a transfer: record it, ignore it, or freeze.  NT_TYPE_TRAP, which may be an exception or
 * an interrupt, is recorded unless both are inhibited, and keeps its number, 6, which no hardware
 * uses as TYPE.  NT_TYPE_NONE and 7 are not transfers and have no effect.  Returns 0, or -NT_EINVAL
 * (the size, or an unknown member).
 */
int nt_ctr_transfer(struct nt_ctr *ctr, const struct nt_ctr_transfer *transfer);

/*
 * The hart was in `mode` up to cycle `time`; for register changes between transfers, which have no
 * time of their own.  If this is before the last time, the next record has no cycles (CCV is 0).
 */
void nt_ctr_time(struct nt_ctr *ctr, unsigned int mode, uint64_t time);

/*
 * Process transfers as reported by nt_flow_next(), in any portions.  `code` is their program, which
 * is read at traps (EBREAK is a breakpoint, ECALL an exception) and, with NTBREN, for branches not
 * taken.  It may be NULL if neither matters.
 *
 * Modes come from Ownership messages.  Until there is one, the mode is derived from the address
 * after START, a trap or a trap return: S with the top bit of XLEN set, otherwise U.  A trace has
 * no causes of traps other than EBREAK's, so LCOFI never freezes.  CCV is set if cycles_per_tick
 * is, for a record whose transfer ended a message with a new time, if the previous record was also
 * such a record.
 *
 * A LOSS empties the buffer, so that its content never has gaps (under RAS emulation: it has only
 * later calls).  A STOP does not: while filters pause the trace, the hart runs in modes without
 * records.
 *
 * Returns 0, or -NT_EUNMAPPED: some not-taken branches are missing because their code could not be
 * read, or `code` is NULL; all others are recorded.
 */
int nt_ctr_events_sized(struct nt_ctr *ctr, struct nt_code *code, const struct nt_event *ev,
			size_t size, unsigned int n);

static inline int nt_ctr_events(struct nt_ctr *ctr, struct nt_code *code,
				const struct nt_event *ev, unsigned int n)
{
	return nt_ctr_events_sized(ctr, code, ev, sizeof(*ev), n);
}

#ifdef __cplusplus
}
#endif

#endif /* NT_CTR_H */
