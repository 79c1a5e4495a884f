/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the layers of the library share with each other, and nobody else
 */
#ifndef NTRACE_NT_INT_H
#define NTRACE_NT_INT_H

#include "ntrace.h"

/*
 * Copy parameters of any known size into the current shape.  0, or -NT_EINVAL
 * when there are fewer than the first version of the structure had.
 */
int nt_params_get(const struct nt_params *from, struct nt_params *to);

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
