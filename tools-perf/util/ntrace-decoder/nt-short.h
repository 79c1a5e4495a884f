/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Decoding of common messages of up to 16 bytes without a loop over the bytes: DirectBranch,
 * IndirectBranch, IndirectBranchHist, ResourceFull
 *
 * nt-msg.c and nt-loop.c read nearly all messages this way. Any unusual message, whether malformed
 * or only long, is left to nt-msg.c.
 */
#ifndef NTRACE_NT_SHORT_H
#define NTRACE_NT_SHORT_H

#include <limits.h>
#include <string.h>

#include "nt-int.h"

/* Number of bytes that must be readable, whatever the length of the message */
#define NT_SHORT_ROOM	24

/* The properties of a stream's messages: constants, if the compiler shall specialize */
struct nt_shape {
	uint64_t tcodes;	/* wanted ones, of NT_SHORT_TCODES */
	unsigned int addr_bits;	/* see nt_addr_bits() */
	unsigned int srcbits;
	bool stamps;		/* messages may end with TSTAMP */
	bool extaddr;
	bool alljumps;
	bool rare;		/* the walk handles rare cases, too */
};

struct nt_short {
	unsigned int len;	/* in bytes */
	uint8_t tcode;
	uint8_t fixed;		/* B-TYPE, or RCODE */
	uint16_t src;
	bool stamped;		/* with TSTAMP */
	uint64_t icnt;		/* half-words */
	uint64_t addr;		/* U-ADDR, from bit 1 on, extended */
	uint64_t hist;		/* with the stop bit; ResourceFull: RDATA0 */
	uint64_t tstamp;
};

#define NT_SHORT_TCODES								\
	(NT_TCODE_BIT(DIRECT_BRANCH) | NT_TCODE_BIT(INDIRECT_BRANCH) |		\
	 NT_TCODE_BIT(INDIRECT_BRANCH_HIST) | NT_TCODE_BIT(RESOURCE_FULL))

/* Checks for unwanted kinds are free. */
NT_INLINE bool nt_short_is(const struct nt_shape *shape, const struct nt_short *m,
			   unsigned int tcode)
{
	return shape->tcodes >> tcode & 1 && m->tcode == tcode;
}

#define NT_EACH(byte)	(0x0101010101010101ull * (byte))

NT_INLINE uint64_t nt_short_load(const uint8_t *p)
{
	uint64_t w;

	memcpy(&w, p, sizeof(w));
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
	w = __builtin_bswap64(w);
#endif
	return w;
}

/* The MDOs of 8 bytes, without gaps */
NT_INLINE uint64_t nt_short_pack(uint64_t w)
{
	w = w >> 2 & NT_EACH(0x3f);
	w = (w & 0x003f003f003f003f) | (w & 0x3f003f003f003f00) >> 2;
	w = (w & 0x00000fff00000fff) | (w & 0x0fff00000fff0000) >> 4;
	return (w & 0xffffff) | (w & 0x00ffffff00000000) >> 8;
}

/* Bit 8n to bit n */
NT_INLINE unsigned int nt_short_gather(uint64_t w)
{
	return (w * 0x0102040810204080u) >> 56;
}

/*
 * The position of a message's fields. A message of up to 8 bytes is in one word, from which fields
 * are cut; the fields of a longer one are loaded one by one.
 */
struct nt_short_fields {
	const uint8_t *p;
	uint64_t bits;		/* of one word */
	uint64_t ends;		/* one word: bit 8n, otherwise bit n: byte n ends a field */
	unsigned int at;	/* one word: bits before the next field, otherwise bytes */
};

/* One word: the bits up to the end of the next field, which must exist */
NT_INLINE unsigned int nt_short_field_end(const struct nt_short_fields *s)
{
	return ((unsigned int)__builtin_ctzll(s->ends) * 3 + 24) / 4;
}

/* The next field of a message of one word.  There must be one, of at least one bit. */
NT_INLINE uint64_t nt_short_cut(struct nt_short_fields *s, unsigned int *width)
{
	unsigned int end = nt_short_field_end(s);
	uint64_t value = s->bits << (64 - end) >> (64 - end + s->at);

	s->ends &= s->ends - 1;
	*width = end - s->at;
	s->at = end;
	return value;
}

/*
 * The next field of a longer message without its `low` lowest bits; false: there is none, or it is
 * too long.
 */
NT_INLINE bool nt_short_next(struct nt_short_fields *s, unsigned int low, uint64_t *value,
			     unsigned int *width)
{
	unsigned int end, bits;

	if (!s->ends)
		return false;
	end = (unsigned int)__builtin_ctzll(s->ends) + 1;
	s->ends &= s->ends - 1;
	bits = 6 * (end - s->at);
	/* the first one must extend beyond the fixed fields */
	if ((low && bits <= low) || bits > 48)
		return false;
	*value = (nt_short_pack(nt_short_load(s->p + s->at)) & ((1ull << bits) - 1)) >> low;
	*width = bits - low;
	s->at = end;
	return true;
}

/* SRC, B-TYPE and RCODE, from the first bits of the message; returns the number of these bits */
NT_INLINE unsigned int nt_short_fixed(uint64_t bits, const struct nt_shape *shape,
				      struct nt_short *m)
{
	const bool full = nt_short_is(shape, m, NT_TCODE_RESOURCE_FULL);
	unsigned int at = 6 + shape->srcbits;

	m->src = bits >> 6 & ((1u << shape->srcbits) - 1);
	m->fixed = 0;
	if (nt_short_is(shape, m, NT_TCODE_DIRECT_BRANCH))
		return at;
	m->fixed = bits >> at & (full ? 15 : 3);
	return at + (full ? 4 : 2);
}

/* Extend U-ADDR, with extaddr.  False: it does not fit an address, or needs nt-msg.c */
NT_INLINE bool nt_short_fit(const struct nt_params *params, const struct nt_shape *shape,
			    unsigned int width, struct nt_short *m)
{
	const uint64_t mask = UINT64_MAX >> (65 - params->xlen);

	if (!shape->extaddr || !(m->addr >> (width - 1)))
		return !(m->addr >> shape->addr_bits);
	m->addr |= UINT64_MAX << width;
	if (~m->addr & ~mask)
		return false;
	m->addr &= mask;
	return m->addr >> (shape->addr_bits - 1) == mask >> (shape->addr_bits - 1);
}

/* The variable fields of a message of one word */
NT_INLINE bool nt_short_one(struct nt_short_fields *s, const struct nt_params *params,
			    const struct nt_shape *shape, struct nt_short *m)
{
	const bool full = nt_short_is(shape, m, NT_TCODE_RESOURCE_FULL);
	const bool direct = nt_short_is(shape, m, NT_TCODE_DIRECT_BRANCH);
	const bool hist = nt_short_is(shape, m, NT_TCODE_INDIRECT_BRANCH_HIST);
	const unsigned int n = (unsigned int)(s->ends * NT_EACH(1) >> 56);
	const unsigned int fields = hist ? 3 : full || direct ? 1 : 2;
	unsigned int width;

	s->at = nt_short_fixed(s->bits, shape, m);
	/* the first field must extend beyond the fixed ones */
	if (n - fields > shape->stamps || nt_short_field_end(s) <= s->at)
		return false;
	m->stamped = shape->stamps && n > fields;
	if (full) {
		if (m->fixed > 1)
			return false;
		m->hist = nt_short_cut(s, &width);
	} else {
		m->icnt = nt_short_cut(s, &width);
		if (!direct) {
			m->addr = nt_short_cut(s, &width);
			if (!nt_short_fit(params, shape, width, m))
				return false;
		}
		if (hist)
			m->hist = nt_short_cut(s, &width);
	}
	if (m->stamped)
		m->tstamp = nt_short_cut(s, &width);
	return true;
}

/* The variable fields of a longer message */
NT_INLINE bool nt_short_more(struct nt_short_fields *s, const struct nt_params *params,
			     const struct nt_shape *shape, struct nt_short *m)
{
	const unsigned int low = nt_short_fixed(nt_short_pack(nt_short_load(s->p)), shape, m);
	unsigned int width;

	if (nt_short_is(shape, m, NT_TCODE_RESOURCE_FULL)) {
		if (m->fixed > 1 || !nt_short_next(s, low, &m->hist, &width))
			return false;
	} else {
		if (!nt_short_next(s, low, &m->icnt, &width))
			return false;
		if (!nt_short_is(shape, m, NT_TCODE_DIRECT_BRANCH) &&
		    (!nt_short_next(s, 0, &m->addr, &width) ||
		     !nt_short_fit(params, shape, width, m)))
			return false;
		if (nt_short_is(shape, m, NT_TCODE_INDIRECT_BRANCH_HIST) &&
		    !nt_short_next(s, 0, &m->hist, &width))
			return false;
	}
	m->stamped = shape->stamps && s->ends;
	if (m->stamped && !nt_short_next(s, 0, &m->tstamp, &width))
		return false;
	return !s->ends;
}

/* The lowest bit of the byte that ends the first message in a word; 0: none does */
NT_INLINE uint64_t nt_short_end(uint64_t word)
{
	uint64_t ends = word & (word >> 1) & NT_EACH(1);

	return ends & -ends;
}

/* Mask up to and including the byte whose lowest bit is `bit` */
NT_INLINE uint64_t nt_short_up_to(uint64_t bit)
{
	return (bit << 8) - 1;
}

/* Is there a reserved MSEO in these bytes? */
NT_INLINE bool nt_short_reserved(uint64_t word, uint64_t bytes)
{
	return word >> 1 & ~word & NT_EACH(1) & bytes;
}

/*
 * A message of up to 16 bytes without SRC and TSTAMP: different words if messages with a TCODE that
 * is not 0 differ. Up to 8 bytes are the upper ones of word[0], and word[1] is 0.
 */
struct nt_short_frame {
	uint64_t word[2];
	uint64_t stamp;
	unsigned int tcode;
	unsigned int len;	/* in bytes, with TSTAMP */
};

/* TSTAMP from the bytes of a field, followed by zeros.  False: a reserved MSEO */
NT_INLINE bool nt_short_stamp(uint64_t field, uint64_t *stamp)
{
	if (__builtin_expect(field >> 16 != 0, false)) {
		*stamp = nt_short_pack(field);
		return !nt_short_reserved(field, UINT64_MAX);
	}
	*stamp = (field >> 2 & 0x3f) | (field >> 4 & 0xfc0);
	return (field & 3) != 2;
}

/* The same for a message of more than 8 bytes, of which `word` has the first 8, without SRC. */
NT_INLINE bool nt_short_frame_long(const uint8_t *p, uint64_t word, bool stamps,
				   struct nt_short_frame *f)
{
	uint64_t more = nt_short_load(p + 8), end = nt_short_end(more), ends;
	unsigned int last;

	if (!end)
		return false;
	f->len = 9 + ((unsigned int)__builtin_ctzll(end) >> 3);
	f->word[0] = word;
	f->word[1] = more & nt_short_up_to(end);
	if (!stamps)
		return true;
	ends = more & NT_EACH(1) & (end - 1);
	if (ends) {
		last = 9 + ((63 ^ (unsigned int)__builtin_clzll(ends)) >> 3);
		f->word[1] &= UINT64_MAX >> (128 - 8 * last);
	} else {
		ends = word & NT_EACH(1);
		last = ends ? 1 + ((63 ^ (unsigned int)__builtin_clzll(ends)) >> 3) : 0;
		if (!ends || f->len - last > 8)
			return false;
		f->word[0] <<= 64 - 8 * last;
		f->word[1] = 0;
	}
	return nt_short_stamp(nt_short_load(p + last) &
			      (UINT64_MAX >> (64 - 8 * (f->len - last))),
			      &f->stamp);
}

/*
 * Get the frame of the message at p, from where NT_SHORT_ROOM can be read.  False: the message is
 * longer.  `stamps`: its last field is TSTAMP; false also if this is its only field, or unusual.
 * `src`: the position of SRC, see nt_short_src()
 */
NT_INLINE bool nt_short_frame(const uint8_t *p, bool stamps, uint64_t src,
			      struct nt_short_frame *f)
{
	uint64_t word = nt_short_load(p) & ~src, end = word & (word >> 1) & NT_EACH(1), ends;
	unsigned int last;

	f->tcode = word >> 2 & 0x3f;
	if (!end)
		return nt_short_frame_long(p, word, stamps, f);
	last = (unsigned int)__builtin_ctzll(end);
	f->len = (last >> 3) + 1;
	f->word[0] = word << (56 ^ last);
	f->word[1] = 0;
	if (!stamps)
		return true;
	ends = f->word[0] & NT_EACH(1) >> 8;
	if (!ends)
		return false;
	/* up to the last field but one */
	last = 63 ^ (unsigned int)__builtin_clzll(ends);
	word = f->word[0] >> last >> 8;
	f->word[0] <<= 56 ^ last;
	return nt_short_stamp(word, &f->stamp);
}

/* SRC at its position in the first word of a message */
static inline uint64_t nt_short_src(unsigned int srcbits, unsigned int src)
{
	uint64_t word = 0;
	unsigned int i;

	for (i = 0; i < srcbits; i++)
		if (src >> i & 1)
			word |= 4ull << ((i + 6) / 6 * 8 + i % 6);
	return word;
}

/* Take a field of one or two bytes from the lowest end of *w; false: it is longer */
NT_INLINE bool nt_short_bytes(uint64_t *w, uint64_t *value, unsigned int *len)
{
	bool two = !(*w & 3);

	if (two && !(*w >> 8 & 3))
		return false;
	*value = (*w >> 2 & 0x3f) | (two ? (*w >> 10 & 0x3f) << 6 : 0);
	/* keep the end of the field in the lowest bits */
	*w >>= two ? 8 : 0;
	*len += two ? 2 : 1;
	return true;
}

/*
 * A DirectBranch without SRC, with one or two bytes for I-CNT and for TSTAMP: the typical message
 * of BTM. False: it may be another short message.
 */
NT_INLINE bool nt_short_direct(uint64_t w, bool stamps, struct nt_short *m)
{
	m->src = m->fixed = 0;
	m->stamped = false;
	m->len = 1;
	w >>= 8;
	if (!nt_short_bytes(&w, &m->icnt, &m->len))
		return false;
	if ((w & 3) == 3)
		return true;
	if (!stamps || (w & 3) != 1)
		return false;
	w >>= 8;
	m->stamped = true;
	return nt_short_bytes(&w, &m->tstamp, &m->len) && (w & 3) == 3;
}

/* Decode a message of this kind, a constant: what only other kinds have is not compiled. */
NT_INLINE bool nt_short_get_kind(const uint8_t *p, const struct nt_params *params,
				 struct nt_shape shape, unsigned int tcode, struct nt_short *m)
{
	uint64_t word = nt_short_load(p), more, end = nt_short_end(word), mask;
	struct nt_short_fields s = { .p = p };
	unsigned int ends, last;

	if (!(shape.tcodes >> tcode & 1))
		return false;
	shape.tcodes = 1ull << tcode;
	m->tcode = (uint8_t)tcode;
	if (nt_short_is(&shape, m, NT_TCODE_DIRECT_BRANCH) && !shape.srcbits &&
	    nt_short_direct(word, shape.stamps, m))
		return true;
	if (end) {
		mask = nt_short_up_to(end);
		if (nt_short_reserved(word, mask))
			return false;
		m->len = ((unsigned int)__builtin_ctzll(end) >> 3) + 1;
		s.bits = nt_short_pack(word);
		s.ends = word & NT_EACH(1) & mask;
		return nt_short_one(&s, params, &shape, m);
	}
	more = nt_short_load(p + 8);
	ends = nt_short_gather(word & NT_EACH(1)) | nt_short_gather(more & NT_EACH(1)) << 8;
	last = nt_short_gather(more & (more >> 1) & NT_EACH(1)) << 8;
	if (!last)
		return false;
	mask = last ^ (last - 1);
	if ((nt_short_gather(word >> 1 & ~word & NT_EACH(1)) |
	     nt_short_gather(more >> 1 & ~more & NT_EACH(1)) << 8) & mask)
		return false;
	m->len = (unsigned int)__builtin_ctz(last) + 1;
	s.ends = ends & mask;
	return nt_short_more(&s, params, &shape, m);
}

/*
 * Decode the message at p, from where NT_SHORT_ROOM bytes can be read.  False: another kind, and *m
 * is undefined.
 */
NT_INLINE bool nt_short_get(const uint8_t *p, const struct nt_params *params,
			    const struct nt_shape *shape, struct nt_short *m)
{
	switch (p[0]) {
	case NT_TCODE_DIRECT_BRANCH << 2:
		return nt_short_get_kind(p, params, *shape, NT_TCODE_DIRECT_BRANCH, m);
	case NT_TCODE_INDIRECT_BRANCH << 2:
		return nt_short_get_kind(p, params, *shape, NT_TCODE_INDIRECT_BRANCH, m);
	case NT_TCODE_INDIRECT_BRANCH_HIST << 2:
		return nt_short_get_kind(p, params, *shape, NT_TCODE_INDIRECT_BRANCH_HIST, m);
	case NT_TCODE_RESOURCE_FULL << 2:
		return nt_short_get_kind(p, params, *shape, NT_TCODE_RESOURCE_FULL, m);
	default:
		return false;
	}
}

/* The maximum width of U-ADDR in a message of up to 8 bytes */
#define NT_SHORT_ADDR_MAX	36

/* SRC, from the first word of a message; the inverse of nt_short_src() */
NT_INLINE uint16_t nt_short_source(uint64_t word, unsigned int srcbits)
{
	uint64_t src = word >> 10 & 0x3f;

	if (srcbits > 6)
		src |= (word >> 18 & 0x3f) << 6 | (word >> 26 & 0x3f) << 12;
	return src & ((1u << srcbits) - 1);
}

/* What the first word of a message must have so that its length is known, by TCODE */
struct nt_short_kind {
	uint64_t zero;		/* no field ends inside the fixed fields; RCODE is 0 or 1 */
	uint16_t fields;	/* variable fields without TSTAMP; 0: not in NT_SHORT_TCODES */
	uint16_t fixed;		/* bit n: byte n has only fixed fields */
};

static inline void nt_short_kinds(unsigned int srcbits, struct nt_short_kind kinds[64])
{
	const struct nt_shape shape = { .tcodes = NT_SHORT_TCODES, .srcbits = srcbits };
	struct nt_short m;
	unsigned int low;

	memset(kinds, 0, 64 * sizeof(*kinds));
	for (m.tcode = 0; m.tcode < 64; m.tcode++) {
		struct nt_short_kind *k = &kinds[m.tcode];

		if (!(NT_SHORT_TCODES >> m.tcode & 1))
			continue;
		/* number of bits of the fixed fields */
		low = nt_short_fixed(0, &shape, &m);
		k->fixed = (uint16_t)((1u << low / 6) - 1);
		k->zero = NT_EACH(1) & ((1ull << low / 6 * 8) - 1);
		k->fields = m.tcode == NT_TCODE_INDIRECT_BRANCH_HIST ? 3 :
			    m.tcode == NT_TCODE_INDIRECT_BRANCH ? 2 : 1;
		if (m.tcode == NT_TCODE_RESOURCE_FULL)
			k->zero |= nt_short_src(low - 6, UINT_MAX) &
				   ~nt_short_src(low - 9, UINT_MAX);
	}
}

/*
 * The length of a message of 9 to 16 bytes, of which `word` has the first 8.  0: it is longer, or
 * has a field of more than 6 bytes, which may be too large for an address.
 */
NT_INLINE unsigned int nt_short_length_long(const uint8_t *p, uint64_t word,
					    const struct nt_short_kind *k, bool stamps)
{
	const uint64_t more = nt_short_load(p + 8), end = nt_short_end(more);
	const uint64_t bytes = nt_short_up_to(end);
	const uint64_t first = word & NT_EACH(1), second = more & NT_EACH(1) & bytes;
	unsigned int near, len;

	if (!end || nt_short_reserved(word, UINT64_MAX) || nt_short_reserved(more, bytes) ||
	    (unsigned int)((first + second) * NT_EACH(1) >> 56) - k->fields > stamps)
		return 0;
	len = ((unsigned int)__builtin_ctzll(end) >> 3) + 9;
	/* bytes that end a field or are fixed, then bytes up to 1, 3 and 5 before such a byte */
	near = nt_short_gather(first) | nt_short_gather(second) << 8 | k->fixed;
	near |= near >> 1;
	near |= near >> 2;
	near |= near >> 2;
	return ~near & ((1u << len) - 1) ? 0 : len;
}

/*
 * The length of the message at p, from where NT_SHORT_ROOM bytes can be read.  0: it has more than
 * 16 bytes, or a long field, or nt_short_get() would not take it.
 */
NT_INLINE unsigned int nt_short_length(const uint8_t *p, const struct nt_short_kind kinds[64],
				       bool stamps)
{
	const uint64_t word = nt_short_load(p), end = word & (word >> 1) & NT_EACH(1);
	const struct nt_short_kind *k = &kinds[p[0] >> 2];
	unsigned int last;
	uint64_t whole;

	if (!k->fields || word & k->zero)
		return 0;
	if (!end)
		return nt_short_length_long(p, word, k, stamps);
	last = (unsigned int)__builtin_ctzll(end);
	/* the message at the upper end of a word, without the bytes behind it */
	whole = word << (56 ^ last);
	if (nt_short_reserved(whole, UINT64_MAX) ||
	    (unsigned int)((whole & NT_EACH(1)) * NT_EACH(1) >> 56) - k->fields > stamps)
		return 0;
	return (last >> 3) + 1;
}

#endif /* NTRACE_NT_SHORT_H */
