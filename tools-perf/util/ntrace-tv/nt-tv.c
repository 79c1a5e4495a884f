// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The tandem-verification trace protocol: parameters, reader, slow path of the writer */
#include "nt-tv.h"

unsigned int nt_tv_version(void)
{
	return LIBNTRACE_TV_VERSION;
}

const char *nt_tv_strerror(int err)
{
	switch (-err) {
	case 0:
		return "no error";
	case NT_TV_EARG:
		return "parameter out of range";
	case NT_TV_EOPCODE:
		return "unknown opcode";
	case NT_TV_EIDENT:
		return "unknown additional-state identifier";
	case NT_TV_EMEMOP:
		return "unknown memory request opcode";
	case NT_TV_EMEMSIZE:
		return "unknown memory access size";
	case NT_TV_EMEMRESULT:
		return "unknown memory response result";
	case NT_TV_EORPHAN:
		return "memory response without its request";
	case NT_TV_EPADDING:
		return "unused bits are set";
	case NT_TV_EROOM:
		return "no room in the buffer";
	case NT_TV_ETRUNC:
		return "stream ends inside an item";
	case NT_TV_ENOINSN:
		return "increment pc without an instruction";
	case NT_TV_ENOGROUP:
		return "not in a group, but has to be";
	case NT_TV_EINIT:
		return "state initialisation together with execution or reset";
	case NT_TV_ETWICE:
		return "second change of the same state in a group";
	case NT_TV_ERSPSIZE:
		return "memory response of another size than its request";
	case NT_TV_EADDRS:
		return "store data without an address each";
	case NT_TV_ELONG:
		return "too many items in a group";
	case NT_TV_EPAGES:
		return "no room for more memory";
	case NT_TV_ERESET:
		return "reset together with execution";
	}
	return "unknown error";
}

/* Size of the first version */
#define PARAMS_LEAST	(offsetof(struct nt_tv_params, flags) + 1)
/* No caller's structure is larger: otherwise, `size` was never set. */
#define PARAMS_MAX	4096

/* Unknown members must be 0. */
static bool params_valid(const struct nt_tv_params *p)
{
	size_t i;

	if (p->size < PARAMS_LEAST || p->size > PARAMS_MAX)
		return false;
	for (i = sizeof(*p); i < p->size; i++)
		if (((const uint8_t *)p)[i])
			return false;
	return (p->xlen == 32 || p->xlen == 64) && (p->flen == 32 || p->flen == 64) &&
	       (p->mlen == 32 || p->mlen == 34 || p->mlen == 64);
}

/* ---------------------------------------------------------------- reader */

int nt_tv_reader_init(struct nt_tv_reader *r, const struct nt_tv_params *p)
{
	if (!params_valid(p))
		return -NT_TV_EARG;
	*r = (struct nt_tv_reader) {
		.xbytes = p->xlen / 8,
		.fbytes = p->flen / 8,
		.mbytes = (uint8_t)((p->mlen + 7) / 8),
		.mlen = p->mlen,
		.flags = p->flags,
		.request = -1,
	};
	return 0;
}

static uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] | p[1] << 8);
}

static uint32_t get32(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* 0, 1, 2, 4, 5 or 8 bytes */
static uint64_t get(const uint8_t *p, unsigned int bytes)
{
	uint64_t v = 0;

	if (bytes == 8)
		return get32(p) | (uint64_t)get32(p + 4) << 32;
	if (bytes == 4)
		return get32(p);
	while (bytes--)
		v = v << 8 | p[bytes];
	return v;
}

static int bad(struct nt_tv_reader *r, unsigned int byte, int err)
{
	r->bad = (uint8_t)byte;
	return -err;
}

static int read_reg(struct nt_tv_reader *r, const uint8_t *buf, size_t len,
		    struct nt_tv_item *it)
{
	if (len < 3)
		return 0;
	it->reg = get16(buf + 1);
	it->bytes = nt_tv_is_fpr(it->reg) ? r->fbytes : r->xbytes;
	if (len < 3u + it->bytes)
		return 0;
	it->value = get(buf + 3, it->bytes);
	return 3 + it->bytes;
}

static int read_reg_change(const uint8_t *buf, size_t len, struct nt_tv_item *it)
{
	if (len < 4)
		return 0;
	it->reg = get16(buf + 1);
	it->bytes = 1;
	it->value = buf[3];
	if (it->opcode == NT_TV_REG_ADD)
		it->value = (uint64_t)(int64_t)(int8_t)buf[3];
	return 4;
}

static unsigned int state_bytes(const struct nt_tv_reader *r, unsigned int ident)
{
	switch (ident) {
	case NT_TV_PRIV:
	case NT_TV_STORE8:
		return 1;
	case NT_TV_STORE16:
		return 2;
	case NT_TV_STORE32:
		return 4;
	case NT_TV_STORE64:
	case NT_TV_MTIME:
		return 8;
	case NT_TV_PADDR:
	case NT_TV_EADDR:
	case NT_TV_PC_PADDR:
		return r->mbytes;
	case NT_TV_PC:
		return r->xbytes;
	case NT_TV_PC_PRINTED:
		return r->flags & NT_TV_P_STRICT ? 0 : r->xbytes;
	}
	return 0;
}

static bool addr_too_wide(const struct nt_tv_reader *r, uint64_t addr)
{
	return (r->flags & NT_TV_P_STRICT) && r->mlen == 34 && addr >> 34;
}

static bool state_too_wide(const struct nt_tv_reader *r, const struct nt_tv_item *it)
{
	switch (it->ident) {
	case NT_TV_PRIV:
		return (r->flags & NT_TV_P_STRICT) && it->value > 3;
	case NT_TV_PADDR:
	case NT_TV_EADDR:
	case NT_TV_PC_PADDR:
		return addr_too_wide(r, it->value);
	}
	return false;
}

static int read_state(struct nt_tv_reader *r, const uint8_t *buf, size_t len,
		      struct nt_tv_item *it)
{
	if (len < 2)
		return 0;
	it->ident = buf[1];
	it->bytes = (uint8_t)state_bytes(r, it->ident);
	if (!it->bytes)
		return bad(r, 1, NT_TV_EIDENT);
	if (len < 2u + it->bytes)
		return 0;
	it->value = get(buf + 2, it->bytes);
	if (it->ident == NT_TV_PC_PRINTED) {
		it->ident = NT_TV_PC;
		it->flags |= NT_TV_F_PRINTED_PC;
	}
	if (state_too_wide(r, it))
		return bad(r, 1u + it->bytes, NT_TV_EPADDING);
	return 2 + it->bytes;
}

static int read_memreq(struct nt_tv_reader *r, const uint8_t *buf, size_t len,
		       struct nt_tv_item *it)
{
	unsigned int head = 1u + r->mbytes;

	if (len < head + 1)
		return 0;
	it->addr = get(buf + 1, r->mbytes);
	if (addr_too_wide(r, it->addr))
		return bad(r, head - 1, NT_TV_EPADDING);
	it->memop = buf[head] & 0xf;
	it->memsize = buf[head] >> 4;
	if (it->memop > NT_TV_FETCH)
		return bad(r, head, NT_TV_EMEMOP);
	if (it->memsize > 3)
		return bad(r, head, NT_TV_EMEMSIZE);
	it->bytes = (uint8_t)nt_tv_request_bytes(it->memop, it->memsize);
	if (len < head + 1 + it->bytes)
		return 0;
	it->value = get(buf + head + 1, it->bytes);
	return (int)(head + 1 + it->bytes);
}

/* Whether a response has data depends on the request. */
static int read_memrsp(struct nt_tv_reader *r, const uint8_t *buf, size_t len,
		       struct nt_tv_item *it)
{
	if (r->request < 0)
		return bad(r, 0, NT_TV_EORPHAN);
	if (len < 2)
		return 0;
	it->memop = (uint8_t)r->request;
	it->memsize = buf[1] & 0xf;
	it->result = buf[1] >> 4;
	if (it->memsize > 3)
		return bad(r, 1, NT_TV_EMEMSIZE);
	if (it->result > NT_TV_FAILURE)
		return bad(r, 1, NT_TV_EMEMRESULT);
	it->bytes = (uint8_t)nt_tv_response_bytes(it->memop, it->memsize);
	if (len < 2u + it->bytes)
		return 0;
	it->value = get(buf + 2, it->bytes);
	return 2 + it->bytes;
}

static int read_insn(const uint8_t *buf, size_t len, struct nt_tv_item *it)
{
	it->bytes = it->opcode == NT_TV_INSN16 ? 2 : 4;
	if (len < 1u + it->bytes)
		return 0;
	it->value = it->bytes == 2 ? get16(buf + 1) : get32(buf + 1);
	return 1 + it->bytes;
}

static int read_group(struct nt_tv_reader *r, struct nt_tv_item *it)
{
	bool begin = it->opcode == NT_TV_BEGIN;

	if (begin && r->in_group)
		it->flags |= NT_TV_F_IMPLIED_END;
	if (!begin && !r->in_group)
		it->flags |= NT_TV_F_ORPHAN_END;
	r->in_group = begin;
	return 1;
}

static int read_item(struct nt_tv_reader *r, const uint8_t *buf, size_t len,
		     struct nt_tv_item *it)
{
	switch (it->opcode) {
	case NT_TV_BEGIN:
	case NT_TV_END:
		return read_group(r, it);
	case NT_TV_INCPC:
	case NT_TV_RESET:
	case NT_TV_INIT:
		return 1;
	case NT_TV_INSN16:
	case NT_TV_INSN32:
		return read_insn(buf, len, it);
	case NT_TV_REG:
		return read_reg(r, buf, len, it);
	case NT_TV_REG_ADD:
	case NT_TV_REG_OR:
		return read_reg_change(buf, len, it);
	case NT_TV_STATE:
		return read_state(r, buf, len, it);
	case NT_TV_MEMREQ:
		return read_memreq(r, buf, len, it);
	case NT_TV_MEMRSP:
		return read_memrsp(r, buf, len, it);
	}
	return bad(r, 0, NT_TV_EOPCODE);
}

int nt_tv_next(struct nt_tv_reader *r, const uint8_t *buf, size_t len, struct nt_tv_item *item)
{
	int n;

	if (!len)
		return 0;
	*item = (struct nt_tv_item) { .offset = r->offset, .opcode = buf[0] };
	n = read_item(r, buf, len, item);
	if (n > 0) {
		r->offset += (unsigned int)n;
		r->request = item->opcode == NT_TV_MEMREQ ? (int8_t)item->memop : -1;
	}
	return n;
}

/* ---------------------------------------------------------------- writer */

int nt_tv_writer_init(struct nt_tv_writer *w, const struct nt_tv_params *p, uint8_t *buf,
		      size_t size, nt_tv_flush_fn flush, void *ctx)
{
	if (!params_valid(p) || !buf || size < NT_TV_ITEM_MAX)
		return -NT_TV_EARG;
	*w = (struct nt_tv_writer) {
		.pos = buf,
		.end = buf + size,
		.buf = buf,
		.flush = flush,
		.ctx = ctx,
		.xbytes = p->xlen / 8,
		.fbytes = p->flen / 8,
		.mbytes = (uint8_t)((p->mlen + 7) / 8),
		.pc_ident = p->flags & NT_TV_P_PRINTED_PC ? NT_TV_PC_PRINTED : NT_TV_PC,
	};
	return 0;
}

int nt_tv_flush(struct nt_tv_writer *w)
{
	size_t len = (size_t)(w->pos - w->buf);
	int err;

	if (w->error || !w->flush || !len)
		return w->error;
	err = w->flush(w->ctx, w->buf, len);
	if (err < 0) {
		w->error = err;
		w->end = w->pos;	/* nt_tv_room() fails from here on */
		return err;
	}
	w->flushed += len;
	w->pos = w->buf;
	return 0;
}

bool nt_tv_make_room(struct nt_tv_writer *w)
{
	if (!w->error && !w->flush)
		w->error = -NT_TV_EROOM;
	return !w->error && !nt_tv_flush(w);
}
