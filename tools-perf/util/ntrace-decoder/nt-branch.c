// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Branch encodings from the caller (nt_params.branches): parsing and checks
 */
#include <string.h>

#include "nt-int.h"

#define MASK_OF(bits)	((bits) < 64 ? (1ull << (bits)) - 1 : UINT64_MAX)

/* ------------------------------------------------------------- checks ---- */

/* Do mask and match require a 0 among bits lo to hi? */
static bool has_zero(const struct nt_branch *b, unsigned int hi, unsigned int lo)
{
	return b->mask & ~b->match & MASK_OF(hi + 1) & ~MASK_OF(lo);
}

static bool has_ones(const struct nt_branch *b, unsigned int bits)
{
	return !(~b->match & MASK_OF(bits));
}

/* The length in bytes of all matching instructions; 0: undetermined, or more than 8 */
static unsigned int length(const struct nt_branch *b)
{
	if (has_zero(b, 1, 0))
		return 2;
	if (has_ones(b, 2) && has_zero(b, 4, 2))
		return 4;
	if (has_ones(b, 5) && has_zero(b, 5, 5))
		return 6;
	if (has_ones(b, 6) && has_zero(b, 6, 6))
		return 8;
	return 0;
}

/* Is it the type of a branch? */
static bool is_kind(unsigned int type)
{
	switch (type) {
	case NT_TYPE_IJUMP:
	case NT_TYPE_IJUMP_LINK:
	case NT_TYPE_ICALL:
	case NT_TYPE_RET:
	case NT_TYPE_SWAP:
		return true;
	default:
		return nt_type_has_offset(type);
	}
}

/* 0, -NT_EOFFSET, or -NT_EKIND if an offset is missing or superfluous */
static int check_offset(const struct nt_branch *b, unsigned int bits, bool wanted)
{
	uint64_t from = b->mask, to = 1;	/* bits already used */
	unsigned int i;

	for (i = 0; i < NT_BRANCH_FIELDS; i++) {
		const struct nt_branch_field *f = &b->offset[i];
		uint64_t ones;

		if (!f->width)
			continue;
		if (f->width > 63 || f->from + f->width > bits || f->to + f->width > 64)
			return -NT_EOFFSET;
		ones = MASK_OF(f->width);
		if (from & ones << f->from || to & ones << f->to)
			return -NT_EOFFSET;
		from |= ones << f->from;
		to |= ones << f->to;
	}
	return (to != 1) == wanted ? 0 : -NT_EKIND;
}

static int check_branch(const struct nt_branch *b)
{
	static const uint8_t zeros[sizeof(b->reserved)];
	unsigned int bits = 8 * length(b);

	if (memcmp(b->reserved, zeros, sizeof(zeros)))
		return -NT_EINVAL;
	if (b->match & ~b->mask)
		return -NT_EMATCH;
	if (!bits || b->mask & ~MASK_OF(bits))
		return -NT_ELENGTH;
	if (!is_kind(b->type))
		return -NT_EKIND;
	return check_offset(b, bits, nt_type_has_offset(b->type));
}

/* Can an instruction match both? Both masks have the bits that determine the length. */
static bool overlap(const struct nt_branch *a, const struct nt_branch *b)
{
	return length(a) == length(b) && !((a->match ^ b->match) & a->mask & b->mask);
}

int nt_branches_check(const struct nt_params *params)
{
	const struct nt_branch *b = params->branches;
	uint32_t n = params->nr_branches, i, j;

	if (n > NT_BRANCHES_MAX || (n && !b))
		return -NT_EINVAL;
	for (i = 0; i < n; i++) {
		int ret = check_branch(&b[i]);

		if (ret)
			return ret;
		for (j = 0; j < i; j++)
			if (overlap(&b[i], &b[j]))
				return -NT_EOVERLAP;
	}
	return 0;
}

/* --------------------------------------------------------------- text ---- */

static const struct {
	const char *name;
	struct nt_branch_field offset[NT_BRANCH_FIELDS];
} formats[] = {
	{ "b", { { 31, 1, 12 }, { 25, 6, 5 }, { 8, 4, 1 }, { 7, 1, 11 } } },
	{ "j", { { 31, 1, 20 }, { 21, 10, 1 }, { 20, 1, 11 }, { 12, 8, 12 } } },
	{ "cb", { { 12, 1, 8 }, { 10, 2, 3 }, { 5, 2, 6 }, { 3, 2, 1 }, { 2, 1, 5 } } },
	{ "cj", { { 12, 1, 11 }, { 11, 1, 4 }, { 9, 2, 8 }, { 8, 1, 10 }, { 7, 1, 6 },
		  { 6, 1, 7 }, { 3, 3, 1 }, { 2, 1, 5 } } },
};

/* The names of nt_type_name() that are types of branches */
static const uint8_t types[] = {
	NT_TYPE_COND, NT_TYPE_JUMP, NT_TYPE_CALL, NT_TYPE_IJUMP, NT_TYPE_ICALL, NT_TYPE_RET,
	NT_TYPE_SWAP,
};

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 16;
}

/* A number of at most `max`, hexadecimal after 0x; advances *s, or returns false */
static bool number(const char **s, uint64_t max, uint64_t *value)
{
	int base = 10;

	*value = 0;
	if ((*s)[0] == '0' && (*s)[1] == 'x') {
		base = 16;
		*s += 2;
	}
	if (digit(**s) >= base)
		return false;
	for (; digit(**s) < base; ++*s) {
		uint64_t d = digit(**s);

		if (d > max || *value > (max - d) / base)
			return false;
		*value = *value * base + d;
	}
	return true;
}

/* Does the string up to a colon or its end equal the word? */
static bool is_word(const char *s, const char *word)
{
	size_t n = strlen(word);

	return !strncmp(s, word, n) && (!s[n] || s[n] == ':');
}

static bool parse_type(const char *s, struct nt_branch *b)
{
	size_t i;

	for (i = 0; i < sizeof(types); i++)
		if (is_word(s, nt_type_name(types[i]))) {
			b->type = types[i];
			return true;
		}
	return false;
}

/* HI[-LO]@TO,... */
static bool parse_fields(const char *s, struct nt_branch *b)
{
	unsigned int i;

	for (i = 0; i < NT_BRANCH_FIELDS; i++) {
		uint64_t hi, lo, to;

		if (!number(&s, 63, &hi))
			return false;
		lo = hi;
		if (*s == '-' && (s++, !number(&s, hi, &lo)))
			return false;
		if (*s++ != '@' || !number(&s, 63, &to))
			return false;
		b->offset[i] = (struct nt_branch_field){ lo, hi - lo + 1, to };
		if (!*s)
			return true;
		if (*s++ != ',')
			return false;
	}
	return false;
}

static bool parse_offset(const char *s, struct nt_branch *b)
{
	size_t i;

	for (i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (!strcmp(s, formats[i].name)) {
			memcpy(b->offset, formats[i].offset, sizeof(b->offset));
			return true;
		}
	return parse_fields(s, b);
}

/* The offset layout of the standard's instructions of this type and length */
static const char *usual_offset(const struct nt_branch *b)
{
	bool cond = b->type == NT_TYPE_COND;

	switch (nt_type_has_offset(b->type) ? length(b) : 0) {
	case 2:
		return cond ? "cb" : "cj";
	case 4:
		return cond ? "b" : "j";
	default:
		return NULL;
	}
}

int nt_branch_parse(const char *text, struct nt_branch *branch)
{
	struct nt_branch b = { .type = NT_TYPE_COND };
	const char *s = text, *offset;
	int ret;

	if (!s || !number(&s, UINT64_MAX, &b.mask) || *s++ != '/' ||
	    !number(&s, UINT64_MAX, &b.match) || (*s && *s != ':'))
		return -NT_EINVAL;
	if (*s && !parse_type(++s, &b))
		return -NT_EINVAL;
	while (*s && *s != ':')
		s++;
	offset = *s ? s + 1 : usual_offset(&b);
	if (offset && !parse_offset(offset, &b))
		return -NT_EINVAL;
	ret = check_branch(&b);
	if (!ret)
		*branch = b;
	return ret;
}
