// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Error texts, and the parameters that all layers share
 */
#include <string.h>

#include "nt-int.h"

static const char *const error_words[NT_ERROR_MAX] = {
	[NT_OK]		= "no error",
	[NT_EINVAL]	= "argument or parameter not allowed",
	[NT_ENOMEM]	= "out of memory",
	[NT_ENOTSUP]	= "no support for what has the code",
	[NT_EFILE]	= "file cannot be read",
	[NT_EFORMAT]	= "not a RISC-V ELF file",
	[NT_EMSEO]	= "reserved MSEO value",
	[NT_EHEAD]	= "byte cannot begin a message",
	[NT_ELONG]	= "message without end",
	[NT_EFIELD]	= "field is too wide",
	[NT_ESHORT]	= "message ends before its last field",
	[NT_EEXTRA]	= "message has a field too many",
	[NT_ECUT]	= "message cut by the end of the buffer",
	[NT_ETCODE]	= "reserved message type",
	[NT_EVENDOR]	= "vendor defined message",
	[NT_ERESERVED]	= "reserved value in a field",
	[NT_EOVERFLOW]	= "encoder lost messages",
	[NT_ENOSYNC]	= "no sync message yet",
	[NT_EUNMAPPED]	= "no code",
	[NT_EBOUNDARY]	= "trace ends inside an instruction",
	[NT_ENEGATIVE]	= "branch history is longer than the instruction count",
	[NT_EINDIRECT]	= "indirect jump without an address",
	[NT_EHIST]	= "branch history does not fit the code",
	[NT_ENOHIST]	= "conditional branch without branch history",
	[NT_ESTACK]	= "return with an empty return stack",
	[NT_ENORETIRE]	= "instruction that never retires was counted",
	[NT_EADDR]	= "address does not follow from the code",
	[NT_ENOBRANCH]	= "branch reported where there is none",
	[NT_EREPEAT]	= "no branch message to repeat",
	[NT_ERANGE]	= "count out of range",
	[NT_ECDF]	= "no branch history at the end of trace",
	[NT_ENOTIME]	= "sync message without timestamp",
	[NT_EMODE]	= "message of BTM in an HTM trace, or of HTM in a BTM trace",
	[NT_ENOMODE]	= "conditional branch without outcome, and no message tells HTM from BTM",
	[NT_EMATCH]	= "match of a branch encoding has bits that its mask has not",
	[NT_ELENGTH] =
		"mask of a branch encoding does not settle the instruction's length, or goes beyond it",
	[NT_EKIND] =
		"type of a branch encoding does not go with its offset, or is not that of a branch",
	[NT_EOFFSET] =
		"offset of a branch encoding has a bit twice, at bit 0, in the mask, or outside of the instruction",
	[NT_EOVERLAP]	= "two branch encodings have an instruction in common",
	[NT_EAMBIGUOUS]	= "RepeatBranch may mean two ways, profile unknown",
	[NT_EWORK] =
		"more repetitions than so few bytes may tell of (work_per_byte, --work-per-byte)",
};

const char *nt_strerror(int error)
{
	unsigned int n = error < 0 ? 0u - (unsigned int)error : (unsigned int)error;

	if (n >= NT_ERROR_MAX || !error_words[n])
		return "unknown error";
	return error_words[n];
}

unsigned int nt_version(void)
{
	return LIBNTRACE_VERSION;
}

/* ---------------------------------------------------------- parameters --- */

void nt_params_init_sized(struct nt_params *params, size_t size)
{
	const struct nt_params first = { .size = size, .xlen = 64, .src = -1 };

	nt_give(params, size, &first, sizeof(first));
}

const char *nt_profile_name(unsigned int profile)
{
	static const char *const names[] = {
		[NT_PROFILE_1_0]    = "1.0",
		[NT_PROFILE_P550]   = "p550",
		[NT_PROFILE_SIFIVE] = "sifive",
		[NT_PROFILE_TT_DFD] = "tt-dfd",
	};

	return profile < sizeof(names) / sizeof(names[0]) ? names[profile] : NULL;
}

int nt_params_check(const struct nt_params *p)
{
	struct nt_params all;
	int ret = nt_params_get(p, &all);

	if (ret)
		return ret;
	if (all.xlen != 32 && all.xlen != 64)
		return -NT_EINVAL;
	if (all.srcbits > 12 || all.retstack > 3)
		return -NT_EINVAL;
	if (all.addr_bits >= all.xlen)
		return -NT_EINVAL;
	if (all.tstamp_bits && (all.tstamp_bits < 8 || all.tstamp_bits > 64))
		return -NT_EINVAL;
	if (all.src < -1 || (all.src >= 0 && all.src >> nt_srcbits(&all)))
		return -NT_EINVAL;
	if (all.work_per_byte > NT_WORK_MAX && all.work_per_byte != NT_WORK_UNLIMITED)
		return -NT_EINVAL;
	if (!nt_profile_name(all.profile))
		return -NT_EINVAL;
	if ((unsigned int)all.mode > NT_MODE_HTM ||
	    (nt_is_tt_dfd(&all) && all.mode == NT_MODE_BTM))
		return -NT_EINVAL;
	return nt_branches_check(&all);
}

int nt_take(void *to, size_t known, const void *from, size_t size, size_t least)
{
	const uint8_t *byte = from;
	size_t i;

	if (size < least || size > NT_SIZE_MAX)
		return -NT_EINVAL;
	for (i = known; i < size; i++)
		if (byte[i])
			return -NT_EINVAL;
	memset(to, 0, known);
	memcpy(to, from, size < known ? size : known);
	return 0;
}

void nt_give(void *to, size_t size, const void *from, size_t known)
{
	memcpy(to, from, size < known ? size : known);
	if (size > known)
		memset((char *)to + known, 0, size - known);
}

#define PARAMS_LEAST	(offsetof(struct nt_params, isa) + sizeof(uint32_t))

const struct nt_params *nt_params_use(const struct nt_params *from, struct nt_params *copy)
{
	if (from->size >= sizeof(*from) || from->size < PARAMS_LEAST)
		return from;
	nt_params_get(from, copy);
	return copy;
}

int nt_params_get(const struct nt_params *from, struct nt_params *to)
{
	int ret = from ? nt_take(to, sizeof(*to), from, from->size, PARAMS_LEAST) : -NT_EINVAL;

	if (!ret)
		to->size = sizeof(*to);
	return ret;
}

/* ---------------------------------------------------------- ISA strings -- */

struct isa_name {
	const char *name;
	uint32_t flags;
};

static const struct isa_name isa_names[] = {
	{ "zca", NT_ISA_C },
	{ "zcb", NT_ISA_C | NT_ISA_ZCB },
	{ "zcd", NT_ISA_C | NT_ISA_D },
	{ "zcmp", NT_ISA_C | NT_ISA_ZCMP },
	{ "zcmt", NT_ISA_C | NT_ISA_ZCMT },
	{ "zibi", NT_ISA_ZIBI },
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Length of a multi-letter name, without the version after it */
static size_t name_length(const char *s)
{
	size_t n = 0, end;

	while (s[n] && s[n] != '_')
		n++;
	/* a version is digits, or digits p digits, at the end */
	end = n;
	while (n && is_digit(s[n - 1]))
		n--;
	if (n > 1 && n < end && lower(s[n - 1]) == 'p' && is_digit(s[n - 2])) {
		n--;
		while (n && is_digit(s[n - 1]))
			n--;
	}
	return n;
}

static uint32_t multi_letter(const char *s, size_t len)
{
	size_t i, j;

	for (i = 0; i < sizeof(isa_names) / sizeof(isa_names[0]); i++) {
		const char *name = isa_names[i].name;

		for (j = 0; j < len && name[j] == lower(s[j]); j++)
			;
		if (j == len && !name[j])
			return isa_names[i].flags;
	}
	return 0;
}

static uint32_t single_letter(char c)
{
	switch (c) {
	case 'c':
		return NT_ISA_C;
	case 'd':
	case 'g':
	case 'q':
		return NT_ISA_D;
	default:
		return 0;
	}
}

int nt_isa_parse(const char *isa, struct nt_params *params)
{
	uint32_t flags = 0;
	uint8_t xlen;
	const char *s;

	if (!isa || lower(isa[0]) != 'r' || lower(isa[1]) != 'v')
		return -NT_EINVAL;
	if (isa[2] == '3' && isa[3] == '2')
		xlen = 32;
	else if (isa[2] == '6' && isa[3] == '4')
		xlen = 64;
	else
		return -NT_EINVAL;

	for (s = isa + 4; *s; ) {
		char c = lower(*s);

		if (c == 'z' || c == 's' || c == 'x') {
			flags |= multi_letter(s, name_length(s));
			while (*s && *s != '_')
				s++;
			continue;
		}
		flags |= single_letter(c);
		s++;
		/* the p of a version is not the P extension; both are skipped */
		while (is_digit(*s) || (lower(*s) == 'p' && is_digit(s[-1]) && is_digit(s[1])))
			s++;
	}
	params->xlen = xlen;
	params->isa = flags;
	return 0;
}
