/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Registers of version 0, from before the RISC-V Trace Control Interface was ratified, as in
 * SiFive's P550. The driver uses the values of 1.0, and converts them here.
 */
#ifndef _NTRACE_VERSION0_H
#define _NTRACE_VERSION0_H

#include <linux/bitfield.h>
#include <linux/types.h>
#include <linux/wordpart.h>

#include "ntrace_regs.h"

struct ntrace_encoder;
struct ntrace_ramsink;

/*
 * Convert trTeControl from 1.0 to version 0, without Enable and InstTracing. Version 0 has two
 * synchronisation periods, in messages and in half-words, and both begin at 2^5.
 */
static inline u32 ntrace_version0_te_control(u32 control)
{
	u32 same = TR_CONTROL_ACTIVE | TR_TE_CONTROL_STALL_ENA | TR_TE_CONTROL_INHIBIT_SRC |
		   TR_TE_CONTROL_FORMAT;
	bool btm = FIELD_GET(TR_TE_CONTROL_INST_MODE, control) == TR_TE_INST_MODE_BTM;
	u32 mode = FIELD_GET(TR_TE_CONTROL_SYNC_MODE, control);
	u32 max = FIELD_GET(TR_TE_CONTROL_SYNC_MAX, control);

	max -= !!max;

	return (control & same) | FIELD_PREP(TR0_SINK, TR0_SINK_FUNNEL) |
	       FIELD_PREP(TR_TE_CONTROL_INST_MODE,
			  btm ? TR_TE_INST_MODE_BTM : TR0_TE_INST_MODE_HTM_SYNC) |
	       FIELD_PREP(TR0_TE_SYNC_MAX_MESSAGES,
			  mode == TR_TE_SYNC_MESSAGES ? max : TR0_TE_SYNC_OFF) |
	       FIELD_PREP(TR0_TE_SYNC_MAX_ICNT, mode == TR_TE_SYNC_ICNT ? max : TR0_TE_SYNC_OFF);
}

/* Base and limit share one high half, and WP has none, so a window must not cross 4 GiB. */
static inline bool ntrace_version0_reaches(u64 start, u64 limit)
{
	return limit >= start && !upper_32_bits(start ^ limit);
}

int ntrace_version0_probe_encoder(struct ntrace_encoder *enc);
void ntrace_version0_clear_lost(struct ntrace_encoder *enc);
int ntrace_version0_probe_sink(struct ntrace_ramsink *sink);

#endif /* _NTRACE_VERSION0_H */
