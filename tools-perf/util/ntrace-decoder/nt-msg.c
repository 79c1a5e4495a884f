// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The message layer: from bytes to one message
 *
 * A byte is MDO (6 bits) above MSEO (2 bits). Fields are packed from the least significant bit on;
 * the first variable field shares a byte with the end of the fixed ones, every later one begins a
 * byte:
 *
 *	 TCODE  SRC  fixed fields  variable   variable    variable
 *	|000000|ssss ff|ff ff vvvv|vvvvvv   |vvvvvv|...  |vvvvvv
 *	 MSEO 0  0      0          1         0      1     3: end of message
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "nt-short.h"

#define MSEO(byte)	((byte) & 3)
#define MDO(byte)	((byte) >> 2)

#define MSEO_MORE	0	/* start or middle of a field */
#define MSEO_FIELD	1	/* end of a field that is not the last */
#define MSEO_RESERVED	2
#define MSEO_END	3	/* end of message, or idle */

#define IDLE		0xff
/* A tt-dfd encoder sends this after some ResourceFull and Ownership messages */
#define STRAY		0x03

/* ----------------------------------------------------------- layouts ----- */

/*
 * fixed: a 4-bit field, then a 2-bit field; variable: in order, up to a 0.
 * HIST after CDF and RDATA1 depend on what comes before them, see var_count().
 */
struct layout {
	const char *name;
	uint32_t fixed4;
	uint32_t fixed2;
	uint32_t var[4];
};

static const struct layout layouts[64] = {
	[NT_TCODE_OWNERSHIP] = { "Ownership", 0, 0, { NT_F_PROCESS } },
	[NT_TCODE_DIRECT_BRANCH] = { "DirectBranch", 0, 0, { NT_F_ICNT } },
	[NT_TCODE_INDIRECT_BRANCH] = {
		"IndirectBranch", 0, NT_F_BTYPE, { NT_F_ICNT, NT_F_UADDR } },
	[NT_TCODE_ERROR] = { "Error", NT_F_ETYPE, 0, { NT_F_ECODE } },
	[NT_TCODE_PROG_TRACE_SYNC] = {
		"ProgTraceSync", NT_F_SYNC, 0, { NT_F_ICNT, NT_F_FADDR } },
	[NT_TCODE_DIRECT_BRANCH_SYNC] = {
		"DirectBranchSync", NT_F_SYNC, 0, { NT_F_ICNT, NT_F_FADDR } },
	[NT_TCODE_INDIRECT_BRANCH_SYNC] = {
		"IndirectBranchSync", NT_F_SYNC, NT_F_BTYPE, { NT_F_ICNT, NT_F_FADDR } },
	[NT_TCODE_RESOURCE_FULL] = {
		"ResourceFull", NT_F_RCODE, 0, { NT_F_RDATA0, NT_F_RDATA1 } },
	[NT_TCODE_INDIRECT_BRANCH_HIST] = {
		"IndirectBranchHist", 0, NT_F_BTYPE, { NT_F_ICNT, NT_F_UADDR, NT_F_HIST } },
	[NT_TCODE_INDIRECT_BRANCH_HIST_SYNC] = {
		"IndirectBranchHistSync", NT_F_SYNC, NT_F_BTYPE,
		{ NT_F_ICNT, NT_F_FADDR, NT_F_HIST } },
	[NT_TCODE_REPEAT_BRANCH] = { "RepeatBranch", 0, 0, { NT_F_BCNT } },
	[NT_TCODE_PROG_TRACE_CORRELATION] = {
		"ProgTraceCorrelation", NT_F_EVCODE, NT_F_CDF, { NT_F_ICNT, NT_F_HIST } },
};

const char *nt_tcode_name(unsigned int tcode)
{
	if (tcode < 64 && layouts[tcode].name)
		return layouts[tcode].name;
	if (tcode >= NT_TCODE_VENDOR_FIRST && tcode <= NT_TCODE_VENDOR_LAST)
		return "Vendor";
	return "Reserved";
}

bool nt_tcode_is_sync(unsigned int tcode)
{
	return tcode < 64 && NT_TCODES_SYNC >> tcode & 1;
}

/* ------------------------------------------------------------ reading ---- */

struct cursor {
	const uint8_t *p;
	const uint8_t *end;
	unsigned int bit;	/* of the MDO of *p, 0..5 */
	bool more;		/* the message continues after what was read */
	bool empty;		/* the next variable field has no bits */
};

/* The bits of a variable field beyond bit 63 */
struct excess {
	unsigned int width;	/* of the field in bits, including zero fill */
	bool ones, zeros;	/* there were such bits from 64 on */
};

/* Not an enum nt_error: the buffer ends inside the message */
#define NEED_MORE	1

static void note_excess(struct excess *ex, unsigned int at, unsigned int mdo, unsigned int n)
{
	unsigned int inside = at >= 64 ? 0 : 64 - at;
	unsigned int bits;

	if (inside >= n)
		return;
	bits = mdo >> inside;
	ex->ones |= bits != 0;
	ex->zeros |= bits != (1u << (n - inside)) - 1;
}

/* The next byte of a message.  0, NEED_MORE or -NT_EMSEO */
static inline int read_byte(struct cursor *c, unsigned int *byte)
{
	if (c->p == c->end)
		return NEED_MORE;
	*byte = *c->p++;
	return MSEO(*byte) == MSEO_RESERVED ? -NT_EMSEO : 0;
}

/* Read the rest of a field of more than 58 bits, some of which may not fit. */
static int read_long(struct cursor *c, uint64_t *value, struct excess *ex)
{
	unsigned int byte;

	do {
		int ret = read_byte(c, &byte);

		if (ret)
			return ret;
		if (ex->width < 64)
			*value |= (uint64_t)MDO(byte) << ex->width;
		note_excess(ex, ex->width, MDO(byte), 6);
		ex->width += 6;
	} while (MSEO(byte) == MSEO_MORE);
	c->more = MSEO(byte) == MSEO_FIELD;
	return 0;
}

static inline int read_var(struct cursor *c, uint64_t *value, struct excess *ex)
{
	unsigned int byte, width = 0, shift = c->bit;
	uint64_t v = 0;

	ex->ones = ex->zeros = false;
	if (!c->more)
		return -NT_ESHORT;
	if (c->empty) {
		c->empty = false;
		ex->width = 0;
		*value = 0;
		return 0;
	}
	c->bit = 0;
	do {
		int ret = read_byte(c, &byte);

		if (ret)
			return ret;
		v |= (uint64_t)(MDO(byte) >> shift) << width;
		width += 6 - shift;
		shift = 0;
	} while (MSEO(byte) == MSEO_MORE && width <= 58);

	ex->width = width;
	*value = v;
	if (MSEO(byte) == MSEO_MORE)
		return read_long(c, value, ex);
	c->more = MSEO(byte) == MSEO_FIELD;
	return 0;
}

static int read_plain(struct cursor *c, uint64_t *value)
{
	struct excess ex;
	int ret = read_var(c, value, &ex);

	return !ret && ex.ones ? -NT_EFIELD : ret;
}

/*
 * A field may have more bits than the encoder's addresses: zero fill, or repetitions of the sign.
 */
static inline bool fits_addr_bits(const struct nt_params *params, uint64_t v, uint64_t mask)
{
	unsigned int bits;
	uint64_t above;

	/* the usual case: all bits, none above them */
	if (!params->addr_bits && !nt_is_sifive(params))
		return true;
	bits = nt_addr_bits(params);
	above = v >> bits;
	return !above || (above == mask >> bits && v >> (bits - 1) & 1);
}

/*
 * Address bits from bit 1 on.  With extaddr, the top bit of the last MDO is the sign; bits beyond
 * XLEN may then repeat it.
 */
static inline int fit_addr(const struct nt_params *params, uint64_t v, const struct excess *ex,
			   uint64_t *value)
{
	const uint64_t mask = UINT64_MAX >> (65 - params->xlen);
	bool ones = ex->ones;
	uint64_t above;

	if (params->extaddr && ex->width < 64 && v >> (ex->width - 1))
		v |= UINT64_MAX << ex->width;
	above = v & ~mask;
	if (params->extaddr && above == ~mask && !ex->zeros)
		ones = false;
	else if (above)
		return -NT_EFIELD;
	if (ones)
		return -NT_EFIELD;
	*value = v & mask;
	return fits_addr_bits(params, *value, mask) ? 0 : -NT_EFIELD;
}

static int read_addr(struct cursor *c, const struct nt_params *params, uint64_t *value)
{
	struct excess ex;
	uint64_t v;
	int ret = read_var(c, &v, &ex);

	return ret ? ret : fit_addr(params, v, &ex, value);
}

/* Skip the rest of a message of which only the framing is known. */
static int read_opaque(struct cursor *c)
{
	uint64_t v;
	struct excess ex;
	int ret = 0;

	while (c->more && !ret)
		ret = read_var(c, &v, &ex);
	return ret;
}

/* ------------------------------------------------------------ messages --- */

static void set_fixed4(struct nt_msg *msg, uint32_t field, uint32_t value)
{
	switch (field) {
	case NT_F_SYNC:
		msg->sync = value;
		break;
	case NT_F_ETYPE:
		msg->etype = value;
		break;
	case NT_F_RCODE:
		msg->rcode = value;
		break;
	case NT_F_EVCODE:
		msg->evcode = value;
		break;
	}
}

/*
 * Read TCODE, SRC and the fixed fields: at most 24 bits.  The message must continue after bytes
 * that they fill; the byte in which they end may also end the first variable field.
 */
static int read_head(struct cursor *c, const struct nt_params *params, struct nt_msg *msg)
{
	const struct layout *l = &layouts[MDO(*c->p)];
	unsigned int srcbits = nt_srcbits(params);
	unsigned int need = 6 + srcbits + (l->fixed4 ? 4 : 0) + (l->fixed2 ? 2 : 0);
	unsigned int have;
	uint32_t bits = 0;

	for (have = 0; have < need; have += 6) {
		if (c->p == c->end)
			return NEED_MORE;
		bits |= (uint32_t)MDO(*c->p) << have;
		if (need - have < 6) {
			c->bit = need - have;
			break;
		}
		/* tt-dfd: an I-CNT of 0 has no bits if the fixed fields end with a byte */
		c->empty = need - have == 6 && MSEO(*c->p) == MSEO_FIELD && nt_is_tt_dfd(params);
		if (MSEO(*c->p) != MSEO_MORE && !c->empty)
			return MSEO(*c->p) == MSEO_RESERVED ? -NT_EMSEO : -NT_ESHORT;
		c->p++;
	}
	msg->tcode = bits & 0x3f;
	bits >>= 6;
	msg->fields = l->fixed4 | l->fixed2;
	if (srcbits) {
		msg->src = bits & ((1u << srcbits) - 1);
		msg->fields |= NT_F_SRC;
		bits >>= srcbits;
	}
	if (l->fixed4) {
		set_fixed4(msg, l->fixed4, bits & 15);
		bits >>= 4;
	}
	if (l->fixed2 == NT_F_CDF)
		msg->cdf = bits & 3;
	else if (l->fixed2)
		msg->btype = bits & 3;
	return 0;
}

static uint64_t *field_place(struct nt_msg *msg, uint32_t field)
{
	switch (field) {
	case NT_F_ICNT:
		return &msg->icnt;
	case NT_F_HIST:
		return &msg->hist;
	case NT_F_RDATA1:
		return &msg->rdata[1];
	default:
		return &msg->rdata[0];
	}
}

/*
 * The number of the layout's variable fields in this message; -1: unknown because of a reserved
 * value
 */
static int var_count(const struct nt_params *params, const struct nt_msg *msg)
{
	switch (msg->tcode) {
	case NT_TCODE_RESOURCE_FULL:
		if (msg->rcode < 2)
			return 1;
		if (msg->rcode == 2)
			return 2;
		if (nt_is_sifive(params) && (msg->rcode == 8 || msg->rcode == 9))
			return 1;
		return -1;
	case NT_TCODE_PROG_TRACE_CORRELATION:
		return msg->cdf < 2 ? 1 + msg->cdf : -1;
	default:
		return 3;
	}
}

static int read_body(struct cursor *c, const struct nt_params *params, struct nt_msg *msg)
{
	const struct layout *l = &layouts[msg->tcode];
	int i, ret, count = var_count(params, msg);

	if (!l->name || count < 0)
		return read_opaque(c);

	for (i = 0; i < count && l->var[i]; i++) {
		if (l->var[i] & NT_F_ADDR)
			ret = read_addr(c, params, &msg->addr);
		else
			ret = read_plain(c, field_place(msg, l->var[i]));
		if (ret)
			return ret;
		msg->fields |= l->var[i];
	}
	if (c->more && params->timestamps) {
		ret = read_plain(c, &msg->tstamp);
		if (ret)
			return ret;
		msg->fields |= NT_F_TSTAMP;
	}
	return c->more ? -NT_EEXTRA : 0;
}

static int read_message(struct cursor *c, const struct nt_params *params, struct nt_msg *msg)
{
	int ret;

	if (MSEO(*c->p) == MSEO_RESERVED)
		return -NT_EMSEO;
	if (MSEO(*c->p) != MSEO_MORE)
		return -NT_EHEAD;
	ret = read_head(c, params, msg);
	return ret ? ret : read_body(c, params, msg);
}

/* ---------------------------------------------------- short messages ----- */

/* Length of the message at buf, with NT_SHORT_ROOM readable bytes; 0: use read_message() */
NT_INLINE unsigned int read_shape(const struct nt_params *params, const struct nt_shape *shape,
				  const uint8_t *buf, struct nt_msg *msg)
{
	struct nt_short m = { .len = 0 };

	*msg = (struct nt_msg){ .fields = 0 };
	if (!nt_short_get(buf, params, shape, &m))
		return 0;
	msg->tcode = m.tcode;
	if (shape->srcbits) {
		msg->src = m.src;
		msg->fields = NT_F_SRC;
	}
	if (m.stamped) {
		msg->tstamp = m.tstamp;
		msg->fields |= NT_F_TSTAMP;
	}
	if (m.tcode == NT_TCODE_RESOURCE_FULL) {
		msg->rcode = m.fixed;
		msg->rdata[0] = m.hist;
		msg->fields |= NT_F_RCODE | NT_F_RDATA0;
		return m.len;
	}
	msg->icnt = m.icnt;
	msg->fields |= NT_F_ICNT;
	if (m.tcode == NT_TCODE_DIRECT_BRANCH)
		return m.len;
	msg->btype = m.fixed;
	msg->fields |= NT_F_BTYPE | NT_F_UADDR;
	if (m.tcode == NT_TCODE_INDIRECT_BRANCH_HIST) {
		msg->hist = m.hist;
		msg->fields |= NT_F_HIST;
	}
	msg->addr = m.addr;
	return m.len;
}

/* After malformed bytes: skip to the next end of a message. */
static size_t skip_length(const uint8_t *buf, size_t from, size_t len)
{
	while (from < len && MSEO(buf[from]) != MSEO_END)
		from++;
	return from < len ? from + 1 : len;
}

/* Not inlined, because its registers would be saved for short messages, too. */
static __attribute__((noinline)) int decode_any(const struct nt_params *params,
						const uint8_t *buf, size_t len, struct nt_msg *msg)
{
	struct cursor c = { .more = true };
	size_t idle = 0, left;
	int ret;

	*msg = (struct nt_msg){ .fields = 0 };
	/* the result must be an int: more idle bytes take several calls */
	if (len > INT32_MAX)
		len = INT32_MAX;
	while (idle < len && (buf[idle] == IDLE || (buf[idle] == STRAY && nt_is_tt_dfd(params))))
		idle++;
	msg->idle = idle;
	if (idle == len)
		return 0;

	left = len - idle;
	c.p = buf + idle;
	c.end = c.p + (left < NT_MSG_MAX ? left : NT_MSG_MAX);
	ret = read_message(&c, params, msg);
	if (ret == NEED_MORE) {
		if (left < NT_MSG_MAX)
			return 0;
		ret = -NT_ELONG;
	}
	if (ret < 0) {
		msg->skip = skip_length(buf, idle, len);
		return ret;
	}
	return c.p - buf;
}

#define DECODE_SHAPE(name, ...)								\
static __attribute__((noinline)) int name(const struct nt_params *params, const uint8_t *buf,	\
					  size_t len, struct nt_msg *msg)			\
{												\
	const struct nt_shape shape = { .tcodes = NT_SHORT_TCODES,				\
					.addr_bits = nt_addr_bits(params), __VA_ARGS__ };	\
	unsigned int ret = read_shape(params, &shape, buf, msg);				\
												\
	return ret ? (int)ret : decode_any(params, buf, len, msg);				\
}

/* Specialized functions: the compiler omits what a stream does not have. */
DECODE_SHAPE(decode_plain, .stamps = false)
DECODE_SHAPE(decode_stamps, .stamps = true)
DECODE_SHAPE(decode_more, .srcbits = nt_srcbits(params), .stamps = params->timestamps,
	     .extaddr = params->extaddr)

/* Separate code for the typical message of BTM needs so few registers that none is saved. */
NT_INLINE unsigned int read_direct(const uint8_t *buf, bool stamps, struct nt_msg *msg)
{
	struct nt_short m;

	if (buf[0] != NT_TCODE_DIRECT_BRANCH << 2 ||
	    !nt_short_direct(nt_short_load(buf), stamps, &m))
		return 0;
	*msg = (struct nt_msg){ .tcode = NT_TCODE_DIRECT_BRANCH, .icnt = m.icnt,
				.fields = NT_F_ICNT };
	if (m.stamped) {
		msg->tstamp = m.tstamp;
		msg->fields |= NT_F_TSTAMP;
	}
	return m.len;
}

NT_INLINE int get(const struct nt_params *params, const uint8_t *buf, size_t len,
		  struct nt_msg *msg)
{
	unsigned int ret;

	if (len < NT_SHORT_ROOM)
		return decode_any(params, buf, len, msg);
	if (nt_srcbits(params) || params->extaddr)
		return decode_more(params, buf, len, msg);
	if (params->timestamps) {
		ret = read_direct(buf, true, msg);
		return ret ? (int)ret : decode_stamps(params, buf, len, msg);
	}
	ret = read_direct(buf, false, msg);
	return ret ? (int)ret : decode_plain(params, buf, len, msg);
}

int nt_msg_get(const struct nt_params *params, const uint8_t *buf, size_t len, struct nt_msg *msg)
{
	return get(params, buf, len, msg);
}

/* Fields of the first version with a size */
#define MSG_LEAST	(offsetof(struct nt_msg, tstamp) + sizeof(uint64_t))

static __attribute__((noinline)) int decode_older(const struct nt_params *params,
						  const uint8_t *buf, size_t len,
						  struct nt_msg *msg, size_t size)
{
	struct nt_params all;
	struct nt_msg known;
	int ret;

	if (size < MSG_LEAST)
		return -NT_EINVAL;
	ret = nt_msg_get(nt_params_use(params, &all), buf, len, &known);
	nt_give(msg, size, &known, sizeof(known));
	return ret;
}

int nt_msg_decode_sized(const struct nt_params *params, const uint8_t *buf, size_t len,
			struct nt_msg *msg, size_t size)
{
	if (size != sizeof(*msg) || params->size < sizeof(*params))
		return decode_older(params, buf, len, msg, size);
	return get(params, buf, len, msg);
}

size_t nt_msg_find_sync(const struct nt_params *params, const uint8_t *buf, size_t len,
			size_t from)
{
	size_t at = skip_length(buf, from < len ? from : len, len);
	struct nt_params all;

	params = nt_params_use(params, &all);
	while (at < len) {
		struct nt_msg msg;
		int ret = nt_msg_get(params, buf + at, len - at, &msg);

		if (!ret)
			break;
		if (ret > 0 && nt_tcode_is_sync(msg.tcode))
			return at + msg.idle;
		at += ret > 0 ? (size_t)ret : msg.skip;
	}
	return len;
}

/* Beginning of the message with the byte at `at` */
static size_t begin_of(const uint8_t *buf, size_t at)
{
	while (at && MSEO(buf[at - 1]) != MSEO_END)
		at--;
	return at;
}

static bool is_own(const struct nt_params *params, const struct nt_msg *msg)
{
	return !(msg->fields & NT_F_SRC) || params->src < 0 || msg->src == params->src;
}

size_t nt_msg_find_sync_before(const struct nt_params *params, const uint8_t *buf, size_t len,
			       size_t before)
{
	size_t at = before < len ? before : len;
	struct nt_params all;
	struct nt_msg msg;

	params = nt_params_use(params, &all);
	while (at) {
		at = begin_of(buf, at - 1);
		if (!nt_tcode_is_sync(buf[at] >> 2) ||
		    nt_msg_get(params, buf + at, len - at, &msg) <= 0 || msg.idle)
			continue;
		if (is_own(params, &msg))
			return at;
	}
	return len;
}

size_t nt_msg_find_unstamped(const struct nt_params *params, const uint8_t *buf, size_t len,
			     size_t from)
{
	size_t at = from < len ? from : len;
	struct nt_short_kind kinds[64];
	struct nt_params all;
	struct nt_msg msg;
	unsigned int i;
	int ret;

	params = nt_params_use(params, &all);
	nt_short_kinds(nt_srcbits(params), kinds);
	/* TSTAMP is one more field, and must be there */
	for (i = 0; i < 64; i++)
		kinds[i].fields += !!kinds[i].fields;
	while (at < len) {
		ret = at + NT_SHORT_ROOM <= len ? (int)nt_short_length(buf + at, kinds, false) : 0;
		if (ret) {
			at += (size_t)ret;
			continue;
		}
		ret = nt_msg_get(params, buf + at, len - at, &msg);
		if (!ret)
			break;
		if (ret > 0 && !(msg.fields & NT_F_TSTAMP) && is_own(params, &msg))
			return at + msg.idle;
		at += ret > 0 ? (size_t)ret : msg.skip;
	}
	return len;
}

uint64_t nt_msg_addr(const struct nt_params *params, const struct nt_msg *msg, uint64_t last)
{
	uint64_t addr = msg->addr << 1;
	struct nt_params all;

	params = nt_params_use(params, &all);
	if (msg->fields & NT_F_UADDR)
		addr ^= last;
	/* whether `last` was extended does not affect the relevant bits */
	addr = nt_extend_addr(addr, nt_addr_bits(params));
	return params->xlen == 32 ? (uint32_t)addr : addr;
}

/* ---------------------------------------------------------------- text --- */

struct text {
	char *buf;
	size_t size;
	size_t len;
};

static void __attribute__((format(printf, 2, 3))) put(struct text *t, const char *fmt, ...)
{
	size_t room = t->len < t->size ? t->size - t->len : 0;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(room ? t->buf + t->len : NULL, room, fmt, ap);
	va_end(ap);
	if (n > 0)
		t->len += n;
}

static void put_process(struct text *t, uint64_t process)
{
	put(t, " PROCESS=0x%" PRIx64 " FORMAT=%u PRV=%u V=%u", process,
	    (unsigned int)(process & 3), (unsigned int)(process >> 2 & 3),
	    (unsigned int)(process >> 4 & 1));
	if (process & 2 || process >> 5)
		put(t, " CONTEXT=0x%" PRIx64, process >> 5);
}

static void put_fixed(struct text *t, const struct nt_msg *msg)
{
	if (msg->fields & NT_F_SYNC)
		put(t, " SYNC=%u", msg->sync);
	if (msg->fields & NT_F_ETYPE)
		put(t, " ETYPE=%u", msg->etype);
	if (msg->fields & NT_F_RCODE)
		put(t, " RCODE=%u", msg->rcode);
	if (msg->fields & NT_F_EVCODE)
		put(t, " EVCODE=%u", msg->evcode);
	if (msg->fields & NT_F_CDF)
		put(t, " CDF=%u", msg->cdf);
	if (msg->fields & NT_F_BTYPE)
		put(t, " B-TYPE=%u", msg->btype);
}

static void put_variable(struct text *t, const struct nt_msg *msg)
{
	if (msg->fields & NT_F_PROCESS)
		put_process(t, msg->process);
	if (msg->fields & NT_F_ECODE)
		put(t, " ECODE=0x%" PRIx64, msg->ecode);
	if (msg->fields & NT_F_BCNT)
		put(t, " B-CNT=%" PRIu64, msg->bcnt);
	if (msg->fields & NT_F_ICNT)
		put(t, " I-CNT=%" PRIu64, msg->icnt);
	if (msg->fields & NT_F_RDATA0) {
		bool hist = msg->rcode == 1 || msg->rcode == 2;

		put(t, hist ? " RDATA0=0x%" PRIx64 : " RDATA0=%" PRIu64, msg->rdata[0]);
	}
	if (msg->fields & NT_F_RDATA1)
		put(t, " RDATA1=%" PRIu64, msg->rdata[1]);
	if (msg->fields & NT_F_FADDR)
		put(t, " F-ADDR=0x%" PRIx64, msg->addr);
	if (msg->fields & NT_F_UADDR)
		put(t, " U-ADDR=0x%" PRIx64, msg->addr);
	if (msg->fields & NT_F_HIST)
		put(t, " HIST=0x%" PRIx64, msg->hist);
	if (msg->fields & NT_F_TSTAMP)
		put(t, " TSTAMP=%" PRIu64, msg->tstamp);
}

int nt_msg_format(const struct nt_msg *msg, char *buf, size_t size)
{
	struct text t = { .buf = buf, .size = size };

	put(&t, "%s", nt_tcode_name(msg->tcode));
	if (!layouts[msg->tcode & 63].name)
		put(&t, " TCODE=%u", msg->tcode);
	put_fixed(&t, msg);
	put_variable(&t, msg);
	return (int)t.len;
}
