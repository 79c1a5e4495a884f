/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * libntrace-tv: the tandem-verification trace protocol (Bluespec, version 2018-11-20),
 * a byte stream of architectural state changes of one hart.
 *
 * Two independent halves, and what is made of the second's items:
 *
 *   writer   appends items to a buffer of the caller's, inline, one bounds
 *            check per item, and hands full buffers to a flush callback
 *   reader   turns bytes into one item at a time and knows nothing but the
 *            parameters and, for a memory response, the request before it
 *   shadow   applies items, group by group, to a hart's state
 *
 * It needs no other library. Conventions, valid for every function below:
 *
 *   Errors	Functions returning int return >= 0 on success and a negative enum
 *		nt_tv_error on failure; nt_tv_strerror() takes exactly what was
 *		returned. nt_tv_shadow_new() returns NULL when memory is short or
 *		the parameters are refused.
 *   Sizes	struct nt_tv_params begins with `size`, which the caller sets to sizeof
 *		the structure; members that the library does not know must be 0.
 *   Ownership	Writers and readers are plain structs of the caller's, and so are
 *		their buffers; the reader never keeps a pointer into the buffer it was
 *		given. Only the shadow allocates: nt_tv_shadow_free() frees it, and
 *		may be called with NULL. Parameters are copied.
 *   Threads	There is no global state, and there are no locks. An object may be
 *		used by one thread at a time; different ones by different threads.
 *
 * Decimal and hexadecimal: chapter 2 of the protocol numbers opcodes and
 * identifiers in decimal, its appendix C prints bytes in hexadecimal, so that the
 * 32-bit instruction (17) is printed `11` and the 16-bit one (16) `10`. The
 * identifier of the program counter is 10 in chapter 2, byte 0x0a; appendix C
 * prints it `10` all the same. Byte 0x0a is what is written here, as by the
 * implementations at large. Byte 0x10 names nothing else, so it is read as the
 * program counter too, and told apart by NT_TV_F_PRINTED_PC. Likewise C.4 prints
 * a0 (x10) as 0x1010, which is a6, and C.5 a 32-bit instruction with opcode `10`:
 * those are errors of the examples and have no meaning here.
 */
#ifndef NTRACE_NT_TV_H
#define NTRACE_NT_TV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum nt_tv_opcode {
	NT_TV_BEGIN		= 1,	/* begin group; ends an open one */
	NT_TV_END		= 2,	/* end group */
	NT_TV_INCPC		= 3,	/* pc += length of the group's instruction */
	NT_TV_REG		= 4,	/* register, full value */
	NT_TV_REG_ADD		= 5,	/* register += signed byte */
	NT_TV_REG_OR		= 6,	/* register |= byte */
	NT_TV_STATE		= 7,	/* additional state, see nt_tv_ident */
	NT_TV_MEMREQ		= 8,	/* memory request */
	NT_TV_MEMRSP		= 9,	/* memory response to the request just before */
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
	NT_TV_PC_PRINTED	= 16,	/* the same as appendix C prints it */
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

/*
 * Errors, returned negative: -NT_TV_EARG and so on; distinct from those of libntrace.
 */
enum nt_tv_error {
	NT_TV_EARG	= 64,	/* parameters or argument out of range */
	NT_TV_EOPCODE,		/* no such opcode */
	NT_TV_EIDENT,		/* no such additional-state identifier */
	NT_TV_EMEMOP,		/* no such memory request opcode */
	NT_TV_EMEMSIZE,		/* no such memory access size */
	NT_TV_EMEMRESULT,	/* no such memory response result */
	NT_TV_EORPHAN,		/* memory response not right behind a request */
	NT_TV_EPADDING,		/* strict: bits beyond MLEN or PRIVLEN are set */
	NT_TV_EROOM,		/* writer: no room and nothing to flush to */
	NT_TV_ETRUNC,		/* the stream ends inside an item (callers' use) */
	/* of the shadow state: items that cannot stand together */
	NT_TV_ENOINSN,		/* increment pc in a group without an instruction */
	NT_TV_ENOGROUP,		/* an item that has to be in a group is in none */
	NT_TV_EINIT,		/* initialisation with an instruction, increment pc or reset */
	NT_TV_ETWICE,		/* a second change of the same state in one group */
	NT_TV_ERSPSIZE,		/* a memory response of another size than its request */
	NT_TV_EADDRS,		/* store data that may be of several addresses */
	NT_TV_ELONG,		/* more items in a group than NT_TV_GROUP_MAX */
	NT_TV_EPAGES,		/* more memory than the shadow may have, or than there is */
	NT_TV_ERESET,		/* a reset with an instruction or increment pc */
};

/* Message for a value that a function here returned; never NULL. */
const char *nt_tv_strerror(int err);

/* What both sides of a stream must agree on; `size` is sizeof(struct nt_tv_params). */
struct nt_tv_params {
	size_t size;
	uint8_t xlen;		/* 32, 64 */
	uint8_t flen;		/* 32, 64 */
	uint8_t mlen;		/* 32, 34 (five bytes), 64 */
	uint8_t flags;		/* NT_TV_P_* */
};

#define NT_TV_P_STRICT		0x01	/* reader: refuse identifier 0x10 and nonzero padding */
#define NT_TV_P_PRINTED_PC	0x02	/* writer: pc identifier as appendix C prints it */

/* rv64gc: XLEN, FLEN, MLEN 64. */
#define NT_TV_PARAMS_RV64	{ sizeof(struct nt_tv_params), 64, 64, 64, 0 }

/* The longest item: a 64-bit store request of MLEN 64. */
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

/* Owned by the caller; fill it with nt_tv_reader_init(), read `offset` as you like. */
struct nt_tv_reader {
	uint64_t offset;	/* of the next item; after an error, of the bad byte's item */
	uint8_t xbytes, fbytes, mbytes;
	uint8_t mlen;
	uint8_t flags;
	uint8_t bad;		/* after an error: the bad byte, counted from `offset` */
	bool in_group;
	int8_t request;		/* opcode of the request just read, or -1 */
};

/* Returns 0 or -NT_TV_EARG. */
int nt_tv_reader_init(struct nt_tv_reader *r, const struct nt_tv_params *p);

/*
 * Read the item at buf. Returns the bytes consumed, 0 when the item does not end
 * within len (call again with more; the reader has not moved), or
 * -NT_TV_EOPCODE, -EIDENT, -EMEMOP, -EMEMSIZE, -EMEMRESULT, -EORPHAN, -EPADDING.
 * The protocol has no sync point: nothing behind a bad item can be trusted.
 */
int nt_tv_next(struct nt_tv_reader *r, const uint8_t *buf, size_t len, struct nt_tv_item *item);

/* ---------------------------------------------------------------- writer */

/* Take `len` bytes from buf, all of them. Returns 0, or a negative value that stops the writer. */
typedef int (*nt_tv_flush_fn)(void *ctx, const uint8_t *buf, size_t len);

/* Owned by the caller; fill it with nt_tv_writer_init(). */
struct nt_tv_writer {
	uint8_t *pos;
	uint8_t *end;
	uint8_t *buf;
	nt_tv_flush_fn flush;
	void *ctx;
	uint64_t flushed;	/* bytes handed to flush so far */
	int error;		/* the first error; nothing is written after it */
	uint8_t xbytes, fbytes, mbytes;
	uint8_t pc_ident;
};

/*
 * Write to buf (at least NT_TV_ITEM_MAX bytes), which stays the caller's. Without a
 * flush callback the writer stops with NT_TV_EROOM when less than NT_TV_ITEM_MAX is
 * left. Returns 0 or -NT_TV_EARG.
 */
int nt_tv_writer_init(struct nt_tv_writer *w, const struct nt_tv_params *p, uint8_t *buf,
		      size_t size, nt_tv_flush_fn flush, void *ctx);

/* Hand over what is buffered. Returns 0, the writer's error or the callback's. */
int nt_tv_flush(struct nt_tv_writer *w);

/* Slow path of nt_tv_room(). */
bool nt_tv_make_room(struct nt_tv_writer *w);

/* Bytes written so far, flushed ones included. */
static inline uint64_t nt_tv_written(const struct nt_tv_writer *w)
{
	return w->flushed + (uint64_t)(w->pos - w->buf);
}

/*
 * Room for one item, made by flushing if need be; false after an error. The writers
 * below call it themselves and drop their item when it fails: check w->error,
 * or what nt_tv_flush() returns, when done.
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

/* Right behind its request, with the request's memop; data is ignored for STORE and SC. */
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
 * The whole group of an instruction that did nothing but move the pc: to the next
 * instruction, or to new_pc. One bounds check; what a pc-only trace is made of.
 * len: 2 or 4. The group is left open: the next BEGIN ends it.
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

/* The most items that a group can have */
#define NT_TV_GROUP_MAX		1024

/*
 * The architectural state of a hart, as a trace tells it: registers (all of the
 * 16-bit space), pc, privilege mode, mtime, memory.  Whatever no item has told
 * yet is not known, and not made up.
 *
 * Memory is what stores and memory transactions said.  Store data is put at the
 * physical address of its group, or, without one, at the effective address; data
 * that loads and fetches got is memory, too; an AMO that has been answered writes
 * what it makes of the two values.  It is kept in pages of 4096 bytes.
 */
struct nt_tv_shadow;

/*
 * pages: the most memory to keep, in pages of 4096 bytes; they are allocated when
 * first written.  NULL: refused parameters or no memory (a shadow without pages has
 * 650 KiB).
 */
struct nt_tv_shadow *nt_tv_shadow_new(const struct nt_tv_params *p, size_t pages);
void nt_tv_shadow_free(struct nt_tv_shadow *sh);

/* As if it were new, for another trace: cheaper than a new one. */
void nt_tv_shadow_forget(struct nt_tv_shadow *sh);

/* A group that has been applied */
struct nt_tv_group {
	uint64_t offset;		/* of its first item: BEGIN, or what stood alone */
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
 * Take the next item.  A group changes the state when it ends, as a whole, also
 * when the end is implied by the next BEGIN; what stands outside of groups at once.
 * Returns 1 when a group has been applied, which nt_tv_shadow_group() then tells;
 * 0 when there was none; or
 *
 *   -NT_TV_ENOINSN	increment pc, and no instruction in the group (or no group)
 *   -NT_TV_ENOGROUP	an instruction, an initialisation or an END outside of groups
 *   -NT_TV_EINIT	initialisation together with an instruction, increment pc, reset
 *   -NT_TV_ERESET	reset together with an instruction, increment pc: which came first?
 *   -NT_TV_ETWICE	a register, the pc (increment pc counts), the privilege mode, mtime
 *			or the instruction for the second time in the group
 *   -NT_TV_EORPHAN	a response that is not right behind its request
 *   -NT_TV_ERSPSIZE	a response whose size is not its request's
 *   -NT_TV_EADDRS	several store data, and not as many addresses
 *   -NT_TV_ELONG, -NT_TV_EPAGES
 *
 * After an error nothing of that group is applied: its other items are passed over,
 * and nt_tv_shadow_bad() is the offset of the item that is to blame.
 */
int nt_tv_shadow_item(struct nt_tv_shadow *sh, const struct nt_tv_item *item);

/* The stream has ended: apply a group that is open, if any.  Returns as above. */
int nt_tv_shadow_end(struct nt_tv_shadow *sh);

/* The group applied last; valid until the next item is taken. */
const struct nt_tv_group *nt_tv_shadow_group(const struct nt_tv_shadow *sh);

uint64_t nt_tv_shadow_bad(const struct nt_tv_shadow *sh);

/* The value of what is known; false, and *value unchanged, of what is not. */
bool nt_tv_shadow_reg(const struct nt_tv_shadow *sh, uint16_t reg, uint64_t *value);

/* ident: NT_TV_PC, NT_TV_PRIV, NT_TV_MTIME; of others nothing is known. */
bool nt_tv_shadow_state(const struct nt_tv_shadow *sh, enum nt_tv_ident ident, uint64_t *value);

/* Copies bytes of memory from addr on, up to the first that is not known; how many. */
size_t nt_tv_shadow_read(const struct nt_tv_shadow *sh, uint64_t addr, void *buf, size_t len);

/*
 * The next register that is known, *reg or behind it; the next page of memory of
 * which something is, in no order: *page is 0 at first, then not the caller's to
 * change, and 4096 bytes from *addr on are worth a look.  False: no more.
 */
bool nt_tv_shadow_next_reg(const struct nt_tv_shadow *sh, uint32_t *reg);
bool nt_tv_shadow_next_page(const struct nt_tv_shadow *sh, size_t *page, uint64_t *addr);

/*
 * Change what no item does: copy state of another place.  ident as above, of
 * others -NT_TV_EARG; nt_tv_shadow_write() 0 or -NT_TV_EPAGES.
 */
void nt_tv_shadow_set_reg(struct nt_tv_shadow *sh, uint16_t reg, uint64_t value);
int nt_tv_shadow_set_state(struct nt_tv_shadow *sh, enum nt_tv_ident ident, uint64_t value);
int nt_tv_shadow_write(struct nt_tv_shadow *sh, uint64_t addr, const void *buf, size_t len);

#ifdef __cplusplus
}
#endif

#endif /* NTRACE_NT_TV_H */
