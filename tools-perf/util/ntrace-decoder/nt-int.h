/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Declarations that the layers of the library share, but do not export
 */
#ifndef NTRACE_NT_INT_H
#define NTRACE_NT_INT_H

#include "ntrace.h"

/*
 * Copy parameters of any known size into the current layout.  0, or -NT_EINVAL if they are smaller
 * than the first version of the structure.
 */
int nt_params_get(const struct nt_params *from, struct nt_params *to);

/*
 * The caller's parameters for a function that uses them once and checks nothing; those of an older
 * caller are completed in *copy.
 */
const struct nt_params *nt_params_use(const struct nt_params *from, struct nt_params *copy);

#define NT_INLINE	static inline __attribute__((always_inline))

/* No caller's structure is larger: otherwise, `size` was never set. */
#define NT_SIZE_MAX	4096

/*
 * Copy a caller's structure of `size` bytes into the library's layout of `known` bytes, without its
 * `size`.  Members that the caller does not know are 0.  0, or -NT_EINVAL: it is smaller than the
 * first version's `least` bytes, or members that the library does not know are not 0.
 */
int nt_take(void *to, size_t known, const void *from, size_t size, size_t least);

/*
 * Copy the `known` bytes of a structure to a caller's structure of `size` bytes; members that only
 * the caller knows are 0.
 */
void nt_give(void *to, size_t size, const void *from, size_t known);

/* Size of structures that the library fills, in the first version with a size */
#define NT_EVENT_LEAST	(offsetof(struct nt_event, flags) + 1)
#define NT_INSN_LEAST	(offsetof(struct nt_insn, flags) + 1)

/* Did the source of code cause an error of nt_msg_ or nt_flow_? */
static inline bool nt_is_no_code(int error)
{
	return error == NT_EUNMAPPED || (error > NT_OK && error <= NT_EFORMAT);
}

/* nt_msg_decode() for callers with the current layout of both structures */
int nt_msg_get(const struct nt_params *params, const uint8_t *buf, size_t len, struct nt_msg *msg);

/* 0, or an error of params->branches: see nt_params_check(). */
int nt_branches_check(const struct nt_params *params);

/* Is it an encoder from SiFive older than 1.0? */
static inline bool nt_is_sifive(const struct nt_params *params)
{
	return params->profile == NT_PROFILE_P550 || params->profile == NT_PROFILE_SIFIVE;
}

static inline bool nt_is_tt_dfd(const struct nt_params *params)
{
	return params->profile == NT_PROFILE_TT_DFD;
}

/* Is TSTAMP a difference, except in sync messages?  Otherwise it is absolute, or XORed. */
static inline bool nt_stamps_differences(const struct nt_params *params)
{
	return !nt_is_tt_dfd(params) && !nt_is_sifive(params);
}

/* Bits of SRC, see nt_params.srcbits */
static inline unsigned int nt_srcbits(const struct nt_params *params)
{
	return nt_is_tt_dfd(params) ? 4 : params->srcbits;
}

/* Does a branch of this type, in nt_params.branches, have an offset to its target? */
static inline bool nt_type_has_offset(unsigned int type)
{
	return type == NT_TYPE_COND || type == NT_TYPE_CALL || type == NT_TYPE_JUMP ||
	       type == NT_TYPE_JUMP_LINK;
}

/* Address bits in an address field, see nt_params.addr_bits */
static inline unsigned int nt_addr_bits(const struct nt_params *params)
{
	if (params->addr_bits)
		return params->addr_bits;
	return nt_is_sifive(params) && params->xlen == 64 ? 48 : params->xlen - 1u;
}

/* Bits of the trace clock, see nt_params.tstamp_bits */
static inline unsigned int nt_tstamp_bits(const struct nt_params *params)
{
	if (params->tstamp_bits)
		return params->tstamp_bits;
	return nt_is_sifive(params) ? 40 : 64;
}

/* Bits 1 to `bits` of an address are known: extend the sign to bit 63. */
static inline uint64_t nt_extend_addr(uint64_t addr, unsigned int bits)
{
	return (uint64_t)((int64_t)(addr << (63 - bits)) >> (63 - bits));
}

#define NT_TCODE_BIT(t)	(1ull << NT_TCODE_##t)

/* Messages with SYNC and F-ADDR; nt_tcode_is_sync() for the inner loops */
#define NT_TCODES_SYNC							\
	(NT_TCODE_BIT(PROG_TRACE_SYNC) | NT_TCODE_BIT(DIRECT_BRANCH_SYNC) |	\
	 NT_TCODE_BIT(INDIRECT_BRANCH_SYNC) | NT_TCODE_BIT(INDIRECT_BRANCH_HIST_SYNC))

/* Messages of the standard */
#define NT_TCODES_KNOWN							\
	(NT_TCODES_SYNC | NT_TCODE_BIT(OWNERSHIP) | NT_TCODE_BIT(DIRECT_BRANCH) |	\
	 NT_TCODE_BIT(INDIRECT_BRANCH) | NT_TCODE_BIT(ERROR) |			\
	 NT_TCODE_BIT(RESOURCE_FULL) | NT_TCODE_BIT(INDIRECT_BRANCH_HIST) |	\
	 NT_TCODE_BIT(REPEAT_BRANCH) | NT_TCODE_BIT(PROG_TRACE_CORRELATION))

static inline bool nt_is_sync(const struct nt_msg *msg)
{
	return NT_TCODES_SYNC >> msg->tcode & 1;
}

static inline bool nt_is_known(const struct nt_msg *msg)
{
	return NT_TCODES_KNOWN >> msg->tcode & 1;
}

#endif /* NTRACE_NT_INT_H */
