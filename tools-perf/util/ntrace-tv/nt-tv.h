/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * libntrace-tv: the tandem-verification trace protocol (Bluespec, version 2018-11-20), a byte
 * stream of architectural state changes of one hart.
 *
 * Two independent halves, and a consumer of the reader's items:
 *
 *   writer   appends items to the caller's buffer, inline, one bounds
 *            check per item, and hands full buffers to a flush callback
 *   reader   decodes one item at a time; its only state is the parameters and,
 *            for a memory response, the previous request
 *   shadow   applies items, group by group, to a hart's state
 *
 * It needs no other library. Conventions, valid for every function below:
 *
 *   Errors	Functions returning int return >= 0 on success and a negative enum
 *		nt_tv_error on failure, which nt_tv_strerror() accepts as it is.
 *		nt_tv_shadow_new() returns NULL if memory is short or parameters
 *		are refused.
 *   Sizes	struct nt_tv_params begins with `size`, which the caller sets to sizeof
 *		the structure; members that the library does not know must be 0.
 *   Ownership	Writers, readers and their buffers belong to the caller; the reader
 *		never keeps a pointer into a buffer. Only the shadow allocates memory:
 *		nt_tv_shadow_free() frees it, and may be called with NULL. Parameters
 *		are copied.
 *   Threads	There is no global state, and there are no locks. An object may be
 *		used by one thread at a time, different objects by different threads.
 *
 * Decimal and hexadecimal: chapter 2 of the protocol numbers opcodes and identifiers in decimal,
 * its appendix C prints bytes in hexadecimal, so that the 32-bit instruction (17) is printed `11`
 * and the 16-bit one (16) `10`. The identifier of the program counter is 10 in chapter 2, byte
 * 0x0a; appendix C prints it `10` nevertheless. The writer emits byte 0x0a, like the known
 * implementations. Byte 0x10 has no other meaning, so the reader accepts it as the program counter,
 * too, with the flag NT_TV_F_PRINTED_PC. Likewise, C.4 prints a0 (x10) as 0x1010, which is a6, and
 * C.5 a 32-bit instruction with opcode `10`: these are errors of the examples and have no meaning
 * here.
 */
#ifndef NTRACE_NT_TV_H
#define NTRACE_NT_TV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LIBNTRACE_TV_VERSION_MAJOR	0
#define LIBNTRACE_TV_VERSION_MINOR	1
#define LIBNTRACE_TV_VERSION_PATCH	0

/* For comparisons: LIBNTRACE_TV_VERSION >= LIBNTRACE_TV_VERSION_OF(0, 2, 0) */
#define LIBNTRACE_TV_VERSION_OF(major, minor, patch)	((major) << 16 | (minor) << 8 | (patch))
#define LIBNTRACE_TV_VERSION							\
	LIBNTRACE_TV_VERSION_OF(LIBNTRACE_TV_VERSION_MAJOR, LIBNTRACE_TV_VERSION_MINOR,	\
				LIBNTRACE_TV_VERSION_PATCH)

/* LIBNTRACE_TV_VERSION of the library in use, whichever one the program was built with */
unsigned int nt_tv_version(void);

enum nt_tv_opcode {
	NT_TV_BEGIN		= 1,	/* begin group; ends an open group */
	NT_TV_END		= 2,	/* end group */
	NT_TV_INCPC		= 3,	/* pc += length of the group's instruction */
	NT_TV_REG		= 4,	/* register, full value */
	NT_TV_REG_ADD		= 5,	/* register += signed byte */
	NT_TV_REG_OR		= 6,	/* register |= byte */
	NT_TV_STATE		= 7,	/* additional state, see nt_tv_ident */
	NT_TV_MEMREQ		= 8,	/* memory request */
	NT_TV_MEMRSP		= 9,	/* memory response to the previous request */
	NT_TV_RESET		= 10,	/* hart reset */
	NT_TV_INIT		= 11,	/* state initialisation */
	NT_TV_INSN16		= 16,	/* 16-bit instruction */
	NT_TV_INSN32		= 17,	/* 32-bit instruction */
};

enum nt_tv_ident {
	NT_TV_PRIV		= 1,	/* privilege mode: 0 U, 1 S, 3 M */
	NT_TV_PADDR		= 2,	/* physical address, MLEN */
	NT_TV_EADDR		= 3,	/* effective address, MLEN */
	NT_TV_STORE8		= 4,	/* memory store data */
	NT_TV_STORE16		= 5,
	NT_TV_STORE32		= 6,
	NT_TV_STORE64		= 7,
	NT_TV_MTIME		= 8,	/* always 64 bits */
	NT_TV_PC_PADDR		= 9,	/* physical address of the pc, MLEN */
	NT_TV_PC		= 10,	/* program counter, XLEN */
	NT_TV_PC_PRINTED	= 16,	/* the same, as printed in appendix C */
};

enum nt_tv_memop {
	NT_TV_LOAD		= 0,
	NT_TV_STORE		= 1,
	NT_TV_LR		= 2,
	NT_TV_SC		= 3,
	NT_TV_SWAP		= 4,
	NT_TV_ADD		= 5,
	NT_TV_XOR		= 6,
	NT_TV_AND		= 7,
	NT_TV_OR		= 8,
	NT_TV_MIN		= 9,
	NT_TV_MAX		= 10,
	NT_TV_MINU		= 11,
	NT_TV_MAXU		= 12,
	NT_TV_FETCH		= 13,
};

enum nt_tv_memresult {
	NT_TV_SUCCESS		= 0,
	NT_TV_FAILURE		= 1,
};

/* Register addresses, as in the debug specification */
#define NT_TV_REG_CSR		0x0000	/* .. 0x0fff */
#define NT_TV_REG_X		0x1000	/* .. 0x101f */
#define NT_TV_REG_F		0x1020	/* .. 0x103f, FLEN wide; all others XLEN */
#define NT_TV_REG_CUSTOM	0xc000	/* .. 0xffff */

/* Errors, returned negative: -NT_TV_EARG and so on; distinct from libntrace's. */
enum nt_tv_error {
	NT_TV_EARG	= 64,	/* parameters or argument out of range */
	NT_TV_EOPCODE,		/* no such opcode */
	NT_TV_EIDENT,		/* no such additional-state identifier */
	NT_TV_EMEMOP,		/* no such memory request opcode */
	NT_TV_EMEMSIZE,		/* no such memory access size */
	NT_TV_EMEMRESULT,	/* no such memory response result */
	NT_TV_EORPHAN,		/* memory response not directly after a request */
	NT_TV_EPADDING,		/* strict: bits beyond MLEN or PRIVLEN are set */
	NT_TV_EROOM,		/* writer: no room and nothing to flush to */
	NT_TV_ETRUNC,		/* the stream ends inside an item (callers' use) */
	/* of the shadow state: conflicting items */
	NT_TV_ENOINSN,		/* increment pc in a group without an instruction */
	NT_TV_ENOGROUP,		/* an item outside of groups that must be in a group */
	NT_TV_EINIT,		/* initialisation with an instruction, increment pc or reset */
	NT_TV_ETWICE,		/* a second change of the same state in one group */
	NT_TV_ERSPSIZE,		/* size of a memory response differs from its request */
	NT_TV_EADDRS,		/* store data with ambiguous addresses */
	NT_TV_ELONG,		/* more items in a group than NT_TV_GROUP_MAX */
	NT_TV_EPAGES,		/* more memory than allowed for the shadow, or available */
	NT_TV_ERESET,		/* a reset with an instruction or increment pc */
};

/* The text for a function's result; never NULL. */
const char *nt_tv_strerror(int err);

/* Parameters on which both sides of a stream must agree; `size` is sizeof(struct nt_tv_params). */
struct nt_tv_params {
	size_t size;
	uint8_t xlen;		/* 32, 64 */
	uint8_t flen;		/* 32, 64 */
	uint8_t mlen;		/* 32, 34 (five bytes), 64 */
	uint8_t flags;		/* NT_TV_P_* */
};

#define NT_TV_P_STRICT		0x01	/* reader: refuse identifier 0x10 and nonzero padding */
#define NT_TV_P_PRINTED_PC	0x02	/* writer: pc identifier as printed in appendix C */

/* rv64gc: XLEN, FLEN, MLEN 64. */
#define NT_TV_PARAMS_RV64	{ sizeof(struct nt_tv_params), 64, 64, 64, 0 }

/* The longest item: a 64-bit store request with MLEN 64. */
#define NT_TV_ITEM_MAX		18

/* ---------------------------------------------------------------- reader */

/* An item's additional properties */
#define NT_TV_F_IMPLIED_END	0x01	/* this BEGIN ends an open group */
#define NT_TV_F_ORPHAN_END	0x02	/* this END closes nothing */
#define NT_TV_F_PRINTED_PC	0x04	/* pc under identifier 0x10 */

/*
 * One item. Fields that the opcode does not have are 0.
 *
 *   REG            reg, value (zero-extended), bytes: width of the value
 *   REG_ADD        reg, value: the offset, sign-extended
 *   REG_OR         reg, value: the mask
 *   STATE          ident (PC for either byte), value, bytes
 *   MEMREQ         value: data, bytes: how many (0 none), addr, memop, memsize (log2 of bytes)
 *   MEMRSP         value, bytes, memop (of the request), memsize, result
 *   INSN16/INSN32  value: the instruction, bytes: 2 or 4
 */
struct nt_tv_item {
	uint64_t offset;	/* in the stream */
	uint64_t value;
	uint64_t addr;
	uint16_t reg;
	uint8_t opcode;
	uint8_t ident;
	uint8_t bytes;
	uint8_t memop;
	uint8_t memsize;
	uint8_t result;
	uint8_t flags;
};

/* Owned by the caller; initialize it with nt_tv_reader_init(), read `offset` at any time. */
struct nt_tv_reader {
	uint64_t offset;	/* of the next item; after an error, of the bad byte's item */
	uint8_t xbytes, fbytes, mbytes;
	uint8_t mlen;
	uint8_t flags;
	uint8_t bad;		/* after an error: the bad byte, counted from `offset` */
	bool in_group;
	int8_t request;		/* opcode of the request that was just read, or -1 */
};

/* Returns 0 or -NT_TV_EARG. */
int nt_tv_reader_init(struct nt_tv_reader *r, const struct nt_tv_params *p);

/*
 * Read the item at buf. Returns the bytes consumed, 0 if the item does not end within len (call
 * again with more; the reader has not moved), or -NT_TV_EOPCODE, -EIDENT, -EMEMOP, -EMEMSIZE,
 * -EMEMRESULT, -EORPHAN, -EPADDING. The protocol has no sync point: nothing after a bad item can be
 * trusted.
 */
int nt_tv_next(struct nt_tv_reader *r, const uint8_t *buf, size_t len, struct nt_tv_item *item);

/* ---------------------------------------------------------------- writer */

/* Take all `len` bytes from buf. Returns 0, or a negative value that stops the writer. */
typedef int (*nt_tv_flush_fn)(void *ctx, const uint8_t *buf, size_t len);

/* Owned by the caller; initialize it with nt_tv_writer_init(). */
struct nt_tv_writer {
	uint8_t *pos;
	uint8_t *end;
	uint8_t *buf;
	nt_tv_flush_fn flush;
	void *ctx;
	uint64_t flushed;	/* bytes passed to flush so far */
	int error;		/* the first error; nothing is written after it */
	uint8_t xbytes, fbytes, mbytes;
	uint8_t pc_ident;
};

/*
 * Write to buf (at least NT_TV_ITEM_MAX bytes), which stays the caller's. Without a flush callback,
 * the writer stops with NT_TV_EROOM if less than NT_TV_ITEM_MAX is left. Returns 0 or -NT_TV_EARG.
 */
int nt_tv_writer_init(struct nt_tv_writer *w, const struct nt_tv_params *p, uint8_t *buf,
		      size_t size, nt_tv_flush_fn flush, void *ctx);

/* Pass buffered bytes to the callback. Returns 0, the writer's error or the callback's. */
int nt_tv_flush(struct nt_tv_writer *w);

/* Slow path of nt_tv_room(). */
bool nt_tv_make_room(struct nt_tv_writer *w);

/* Bytes written so far, including flushed ones. */
static inline uint64_t nt_tv_written(const struct nt_tv_writer *w)
{
	return w->flushed + (uint64_t)(w->pos - w->buf);
}

/*
 * Make room for one item, by flushing if needed; false after an error. The writers below call it
 * themselves and drop their item if it fails: check w->error, or the result of nt_tv_flush(), at
 * the end.
 */
static inline bool nt_tv_room(struct nt_tv_writer *w)
{
	return (size_t)(w->end - w->pos) >= NT_TV_ITEM_MAX || nt_tv_make_room(w);
}

/* Compilers merge these stores into one. */
static inline uint8_t *nt_tv_put16(uint8_t *p, uint16_t v)
{
	p[0] = (uint8_t)v;
	p[1] = (uint8_t)(v >> 8);
	return p + 2;
}

static inline uint8_t *nt_tv_put32(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)v;
	p[1] = (uint8_t)(v >> 8);
	p[2] = (uint8_t)(v >> 16);
	p[3] = (uint8_t)(v >> 24);
	return p + 4;
}

static inline uint8_t *nt_tv_put64(uint8_t *p, uint64_t v)
{
	p[0] = (uint8_t)v;
	p[1] = (uint8_t)(v >> 8);
	p[2] = (uint8_t)(v >> 16);
	p[3] = (uint8_t)(v >> 24);
	p[4] = (uint8_t)(v >> 32);
	p[5] = (uint8_t)(v >> 40);
	p[6] = (uint8_t)(v >> 48);
	p[7] = (uint8_t)(v >> 56);
	return p + 8;
}

/* The low `bytes` bytes (0, 1, 2, 4, 5, 8) of v */
static inline uint8_t *nt_tv_put(uint8_t *p, uint64_t v, unsigned int bytes)
{
	if (bytes == 8)
		return nt_tv_put64(p, v);
	if (bytes == 4)
		return nt_tv_put32(p, (uint32_t)v);
	while (bytes--) {
		*p++ = (uint8_t)v;
		v >>= 8;
	}
	return p;
}

static inline void nt_tv_op(struct nt_tv_writer *w, enum nt_tv_opcode opcode)
{
	if (nt_tv_room(w))
		*w->pos++ = (uint8_t)opcode;
}

static inline void nt_tv_begin(struct nt_tv_writer *w)
{
	nt_tv_op(w, NT_TV_BEGIN);
}

static inline void nt_tv_end(struct nt_tv_writer *w)
{
	nt_tv_op(w, NT_TV_END);
}

/* pc += length of this group's instruction */
static inline void nt_tv_incpc(struct nt_tv_writer *w)
{
	nt_tv_op(w, NT_TV_INCPC);
}

static inline void nt_tv_hart_reset(struct nt_tv_writer *w)
{
	nt_tv_op(w, NT_TV_RESET);
}

static inline void nt_tv_state_init(struct nt_tv_writer *w)
{
	nt_tv_op(w, NT_TV_INIT);
}

static inline bool nt_tv_is_fpr(uint16_t reg)
{
	return reg >= NT_TV_REG_F && reg < NT_TV_REG_F + 32;
}

static inline void nt_tv_reg(struct nt_tv_writer *w, uint16_t reg, uint64_t value)
{
	if (!nt_tv_room(w))
		return;
	*w->pos++ = NT_TV_REG;
	w->pos = nt_tv_put16(w->pos, reg);
	w->pos = nt_tv_put(w->pos, value, nt_tv_is_fpr(reg) ? w->fbytes : w->xbytes);
}

static inline void nt_tv_reg_add(struct nt_tv_writer *w, uint16_t reg, int8_t offset)
{
	if (!nt_tv_room(w))
		return;
	*w->pos++ = NT_TV_REG_ADD;
	w->pos = nt_tv_put16(w->pos, reg);
	*w->pos++ = (uint8_t)offset;
}

static inline void nt_tv_reg_or(struct nt_tv_writer *w, uint16_t reg, uint8_t mask)
{
	if (!nt_tv_room(w))
		return;
	*w->pos++ = NT_TV_REG_OR;
	w->pos = nt_tv_put16(w->pos, reg);
	*w->pos++ = mask;
}

static inline void nt_tv_state(struct nt_tv_writer *w, uint8_t ident, uint64_t value,
			       unsigned int bytes)
{
	if (!nt_tv_room(w))
		return;
	*w->pos++ = NT_TV_STATE;
	*w->pos++ = ident;
	w->pos = nt_tv_put(w->pos, value, bytes);
}

static inline void nt_tv_pc(struct nt_tv_writer *w, uint64_t pc)
{
	nt_tv_state(w, w->pc_ident, pc, w->xbytes);
}

static inline void nt_tv_priv(struct nt_tv_writer *w, unsigned int priv)
{
	nt_tv_state(w, NT_TV_PRIV, priv, 1);
}

static inline void nt_tv_paddr(struct nt_tv_writer *w, uint64_t addr)
{
	nt_tv_state(w, NT_TV_PADDR, addr, w->mbytes);
}

static inline void nt_tv_eaddr(struct nt_tv_writer *w, uint64_t addr)
{
	nt_tv_state(w, NT_TV_EADDR, addr, w->mbytes);
}

static inline void nt_tv_pc_paddr(struct nt_tv_writer *w, uint64_t addr)
{
	nt_tv_state(w, NT_TV_PC_PADDR, addr, w->mbytes);
}

static inline void nt_tv_mtime(struct nt_tv_writer *w, uint64_t time)
{
	nt_tv_state(w, NT_TV_MTIME, time, 8);
}

/* memsize: 0..3, log2 of the bytes stored */
static inline void nt_tv_store_data(struct nt_tv_writer *w, unsigned int memsize, uint64_t data)
{
	memsize &= 3;
	nt_tv_state(w, (uint8_t)(NT_TV_STORE8 + memsize), data, 1u << memsize);
}

static inline void nt_tv_insn16(struct nt_tv_writer *w, uint16_t insn)
{
	if (!nt_tv_room(w))
		return;
	*w->pos++ = NT_TV_INSN16;
	w->pos = nt_tv_put16(w->pos, insn);
}

static inline void nt_tv_insn32(struct nt_tv_writer *w, uint32_t insn)
{
	if (!nt_tv_room(w))
		return;
	*w->pos++ = NT_TV_INSN32;
	w->pos = nt_tv_put32(w->pos, insn);
}

/* Bytes of data in a request and in its response */
static inline unsigned int nt_tv_request_bytes(unsigned int memop, unsigned int memsize)
{
	bool reads_only = memop == NT_TV_LOAD || memop == NT_TV_LR || memop == NT_TV_FETCH;

	return reads_only ? 0 : 1u << memsize;
}

static inline unsigned int nt_tv_response_bytes(unsigned int memop, unsigned int memsize)
{
	bool writes_only = memop == NT_TV_STORE || memop == NT_TV_SC;

	return writes_only ? 0 : 1u << memsize;
}

/* data is ignored for LOAD, LR and FETCH */
static inline void nt_tv_memreq(struct nt_tv_writer *w, enum nt_tv_memop memop,
				unsigned int memsize, uint64_t addr, uint64_t data)
{
	memsize &= 3;
	if (!nt_tv_room(w))
		return;
	*w->pos++ = NT_TV_MEMREQ;
	w->pos = nt_tv_put(w->pos, addr, w->mbytes);
	*w->pos++ = (uint8_t)((unsigned int)memop | memsize << 4);
	w->pos = nt_tv_put(w->pos, data, nt_tv_request_bytes(memop, memsize));
}

/* Directly after its request, with the request's memop; data is ignored for STORE and SC. */
static inline void nt_tv_memrsp(struct nt_tv_writer *w, enum nt_tv_memop memop,
				unsigned int memsize, enum nt_tv_memresult result, uint64_t data)
{
	memsize &= 3;
	if (!nt_tv_room(w))
		return;
	*w->pos++ = NT_TV_MEMRSP;
	*w->pos++ = (uint8_t)(memsize | (unsigned int)result << 4);
	w->pos = nt_tv_put(w->pos, data, nt_tv_response_bytes(memop, memsize));
}

/*
 * The complete group of an instruction that only moved the pc: to the next instruction, or to
 * new_pc. One bounds check; a pc-only trace consists of these. len: 2 or 4. The group is left open:
 * the next BEGIN ends it.
 */
static inline void nt_tv_step(struct nt_tv_writer *w, uint32_t insn, unsigned int len)
{
	uint8_t *p;

	if (!nt_tv_room(w))
		return;
	p = w->pos;
	*p++ = NT_TV_BEGIN;
	*p++ = NT_TV_INCPC;
	*p++ = len == 2 ? NT_TV_INSN16 : NT_TV_INSN32;
	p = nt_tv_put32(p, insn);
	w->pos = len == 2 ? p - 2 : p;
}

static inline void nt_tv_jump(struct nt_tv_writer *w, uint64_t new_pc, uint32_t insn,
			      unsigned int len)
{
	uint8_t *p;

	if (!nt_tv_room(w))
		return;
	p = w->pos;
	*p++ = NT_TV_BEGIN;
	*p++ = NT_TV_STATE;
	*p++ = w->pc_ident;
	p = nt_tv_put(p, new_pc, w->xbytes);
	*p++ = len == 2 ? NT_TV_INSN16 : NT_TV_INSN32;
	p = nt_tv_put32(p, insn);
	w->pos = len == 2 ? p - 2 : p;
}

/* ---------------------------------------------------------------- shadow */

/* The maximum number of items in a group */
#define NT_TV_GROUP_MAX		1024

/*
 * The architectural state of a hart according to a trace: registers (all of the 16-bit space), pc,
 * privilege mode, mtime, memory.  State that no item has set is unknown.
 *
 * Memory comes from stores and memory transactions.  Store data goes to the physical address of its
 * group or, without one, to the effective address; data of loads and fetches is memory, too; an
 * answered AMO writes its result.  Memory is kept in pages of 4096 bytes.
 */
struct nt_tv_shadow;

/*
 * pages: the maximum memory in pages of 4096 bytes, which are allocated when first written.  NULL:
 * parameters refused, or no memory (a shadow without pages takes 650 KiB).
 */
struct nt_tv_shadow *nt_tv_shadow_new(const struct nt_tv_params *p, size_t pages);
void nt_tv_shadow_free(struct nt_tv_shadow *sh);

/* Reset it for another trace, which is cheaper than a new one. */
void nt_tv_shadow_forget(struct nt_tv_shadow *sh);

/* A group after it was applied */
struct nt_tv_group {
	uint64_t offset;		/* of its first item: BEGIN, or the single item */
	const struct nt_tv_item *items;	/* without BEGIN and END */
	size_t n;
	uint64_t pc;			/* before the group, with NT_TV_G_PC */
	uint32_t insn;
	uint8_t insn_bytes;		/* 2, 4; 0: no instruction */
	uint8_t flags;			/* NT_TV_G_* */
};

#define NT_TV_G_PC	0x01	/* pc was known before the group */
#define NT_TV_G_INIT	0x02	/* state initialisation */
#define NT_TV_G_RESET	0x04
#define NT_TV_G_ALONE	0x08	/* an item outside of groups */

/*
 * Process the next item.  A group changes the state as a whole when it ends, even if the next BEGIN
 * implies the end; items outside of groups change it at once. Returns 1 if a group was applied, see
 * nt_tv_shadow_group(); 0 if not; or
 *
 *   -NT_TV_ENOINSN	increment pc without an instruction in the group (or outside of groups)
 *   -NT_TV_ENOGROUP	an instruction, an initialisation or an END outside of groups
 *   -NT_TV_EINIT	initialisation together with an instruction, increment pc, reset
 *   -NT_TV_ERESET	reset together with an instruction, increment pc: their order is unknown
 *   -NT_TV_ETWICE	a register, the pc (increment pc counts), the privilege mode, mtime
 *			or the instruction for the second time in the group
 *   -NT_TV_EORPHAN	a response that is not directly after its request
 *   -NT_TV_ERSPSIZE	a response whose size differs from its request
 *   -NT_TV_EADDRS	several store data with another number of addresses
 *   -NT_TV_ELONG, -NT_TV_EPAGES
 *
 * After an error, nothing of this group is applied: its other items are ignored, and
 * nt_tv_shadow_bad() returns the offset of the faulty item.
 */
int nt_tv_shadow_item(struct nt_tv_shadow *sh, const struct nt_tv_item *item);

/* The stream has ended: apply an open group, if any.  Returns the same as nt_tv_shadow_item(). */
int nt_tv_shadow_end(struct nt_tv_shadow *sh);

/* The last applied group; valid until the next item is processed. */
const struct nt_tv_group *nt_tv_shadow_group(const struct nt_tv_shadow *sh);

uint64_t nt_tv_shadow_bad(const struct nt_tv_shadow *sh);

/* Get a known value; false, and *value unchanged, if it is unknown. */
bool nt_tv_shadow_reg(const struct nt_tv_shadow *sh, uint16_t reg, uint64_t *value);

/* ident: NT_TV_PC, NT_TV_PRIV, NT_TV_MTIME; others are always unknown. */
bool nt_tv_shadow_state(const struct nt_tv_shadow *sh, enum nt_tv_ident ident, uint64_t *value);

/* Copy bytes of memory from addr on, up to the first unknown one; returns their number. */
size_t nt_tv_shadow_read(const struct nt_tv_shadow *sh, uint64_t addr, void *buf, size_t len);

/*
 * Find the next known register from *reg on; the next page of memory that may have known bytes, in
 * no particular order: *page is initially 0 and must not be changed by the caller, and the page has
 * 4096 bytes from *addr on.  False: no more.
 */
bool nt_tv_shadow_next_reg(const struct nt_tv_shadow *sh, uint32_t *reg);
bool nt_tv_shadow_next_page(const struct nt_tv_shadow *sh, size_t *page, uint64_t *addr);

/*
 * Change the state without an item, to copy it from elsewhere.  ident as above, -NT_TV_EARG for
 * others; nt_tv_shadow_write() returns 0 or -NT_TV_EPAGES.
 */
void nt_tv_shadow_set_reg(struct nt_tv_shadow *sh, uint16_t reg, uint64_t value);
int nt_tv_shadow_set_state(struct nt_tv_shadow *sh, enum nt_tv_ident ident, uint64_t value);
int nt_tv_shadow_write(struct nt_tv_shadow *sh, uint64_t addr, const void *buf, size_t len);

#ifdef __cplusplus
}
#endif

#endif /* NTRACE_NT_TV_H */
