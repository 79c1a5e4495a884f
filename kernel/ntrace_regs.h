/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Register map of the RISC-V Trace Control Interface 1.0, for an N-Trace encoder, a funnel, a RAM
 * sink and an ATB bridge.
 *
 * Every component is a 4 KiB page of 32-bit registers. While the Active bit of Control is 0, only
 * Control may be accessed. Reserved bits are written 0.
 */
#ifndef _NTRACE_REGS_H
#define _NTRACE_REGS_H

#include <linux/bits.h>

/* All components (chapter "Trace Component Common Registers") */
#define TR_CONTROL				0x000
#define   TR_CONTROL_ACTIVE			BIT(0)
#define   TR_CONTROL_ENABLE			BIT(1)
#define   TR_CONTROL_EMPTY			BIT(3)	/* read-only */
#define TR_IMPL					0x004
#define   TR_IMPL_VER_MAJOR			GENMASK(3, 0)
#define   TR_IMPL_VER_MINOR			GENMASK(7, 4)
#define     TR_IMPL_VER_MINOR_EXPERIMENTAL	15
#define   TR_IMPL_COMP_TYPE			GENMASK(11, 8)
#define     TR_COMP_ENCODER			0x1
#define     TR_COMP_FUNNEL			0x8
#define     TR_COMP_RAMSINK			0x9
#define     TR_COMP_PIBSINK			0xa
#define     TR_COMP_ATBBRIDGE			0xe

/* Trace encoder (chapter "Trace Encoder Control Interface") */
#define TR_TE_CONTROL				TR_CONTROL
#define   TR_TE_CONTROL_INST_TRACING		BIT(2)
#define   TR_TE_CONTROL_INST_MODE		GENMASK(6, 4)
#define     TR_TE_INST_MODE_BTM			3
#define     TR_TE_INST_MODE_HTM			6
#define   TR_TE_CONTROL_CONTEXT			BIT(9)
#define   TR_TE_CONTROL_STALL_OR_OVERFLOW	BIT(12)	/* write 1 or enable to clear */
#define   TR_TE_CONTROL_STALL_ENA		BIT(13)
#define   TR_TE_CONTROL_INHIBIT_SRC		BIT(15)
#define   TR_TE_CONTROL_SYNC_MODE		GENMASK(17, 16)
#define     TR_TE_SYNC_MESSAGES			1
#define     TR_TE_SYNC_ICNT			3
#define   TR_TE_CONTROL_SYNC_MAX		GENMASK(23, 20)
#define   TR_TE_CONTROL_FORMAT			GENMASK(26, 24)
#define     TR_TE_FORMAT_ETRACE			0
#define     TR_TE_FORMAT_NTRACE			1
#define TR_TE_IMPL				TR_IMPL
#define   TR_TE_IMPL_PROTOCOL_MAJOR		GENMASK(19, 16)
#define   TR_TE_IMPL_PROTOCOL_MINOR		GENMASK(23, 20)
#define TR_TE_INST_FEATURES			0x008
#define   TR_TE_FEATURES_SEQUENTIAL_JUMP	BIT(2)
#define   TR_TE_FEATURES_IMPLICIT_RETURN	BIT(3)
#define   TR_TE_FEATURES_IMPLICIT_RETURN_MODE	GENMASK(7, 6)
#define     TR_TE_RETURN_COUNTER		1
#define   TR_TE_FEATURES_REPEATED_HISTORY	BIT(8)
#define   TR_TE_FEATURES_ALL_JUMPS		BIT(9)
#define   TR_TE_FEATURES_EXTEND_ADDR_MSB	BIT(10)
#define   TR_TE_FEATURES_PROTOCOL		GENMASK(10, 0)
#define   TR_TE_FEATURES_SRC_ID			GENMASK(27, 16)
#define   TR_TE_FEATURES_SRC_BITS		GENMASK(31, 28)
#define     TR_TE_SRC_BITS_MAX			12
#define TR_TE_INST_FILTERS			0x00c
#define   TR_TE_INST_FILTERS_MASK		GENMASK(15, 0)
#define TR_TE_DATA_CONTROL			0x010
#define TR_TE_DATA_FILTERS			0x01c
#define TR_TE_TRIG_DBG_CONTROL			0x050
#define TR_TE_TRIG_EXT_IN_CONTROL		0x054
#define TR_TE_TRIG_EXT_OUT_CONTROL		0x058
#define TR_TE_NR_FILTERS			16
#define TR_TE_FILTER_CONTROL(i)			(0x400 + 0x20 * (i))
#define   TR_TE_FILTER_ENABLE			BIT(0)
#define   TR_TE_FILTER_MATCH_PRIVILEGE		BIT(1)
#define   TR_TE_FILTER_MATCH_COMP1		BIT(4)
#define   TR_TE_FILTER_COMP1			GENMASK(7, 5)
#define TR_TE_FILTER_MATCH_INST(i)		(0x404 + 0x20 * (i))
#define   TR_TE_FILTER_CHOICE_PRIVILEGE		GENMASK(7, 0)	/* bit n: ingress privilege n */

/* tt-dfd: a filter that compares with one privilege */
#define TR_TE_TT_FILTER_CONTROL			0x010
#define TR_TE_TT_FILTER_MATCH_INST		0x014

/* Comparators: each compares input 0, the instruction's address, with two values, P and S */
#define TR_TE_NR_COMPS				8
#define TR_TE_COMP_CONTROL(j)			(0x600 + 0x20 * (j))
#define   TR_TE_COMP_P_FUNCTION			GENMASK(6, 4)
#define   TR_TE_COMP_S_FUNCTION			GENMASK(10, 8)
#define     TR_TE_COMP_EQ			0
#define     TR_TE_COMP_LT			2
#define     TR_TE_COMP_GE			5
#define     TR_TE_COMP_P_PRIME			6	/* never, but the latch is set at first */
#define   TR_TE_COMP_MATCH_MODE			GENMASK(13, 12)
#define     TR_TE_COMP_P_AND_S			1
#define     TR_TE_COMP_LATCH			3	/* set by P, cleared after S */
#define TR_TE_COMP_P_MATCH_LOW(j)		(0x610 + 0x20 * (j))
#define TR_TE_COMP_S_MATCH_LOW(j)		(0x618 + 0x20 * (j))
#define     TR_TE_PRIV_U			BIT(0)
#define     TR_TE_PRIV_S			BIT(1)
#define     TR_TE_PRIV_M			BIT(3)
#define     TR_TE_PRIV_VU			BIT(5)
#define     TR_TE_PRIV_VS			BIT(6)

/* Timestamp unit, at the same place in encoders and funnels */
#define TR_TS_CONTROL				0x040
#define   TR_TS_CONTROL_ACTIVE			BIT(0)
#define   TR_TS_CONTROL_COUNT			BIT(1)
#define   TR_TS_CONTROL_MODE			GENMASK(6, 4)
#define     TR_TS_MODE_NONE			0
#define     TR_TS_MODE_EXTERNAL			1
#define     TR_TS_MODE_INTERNAL_SYSTEM		2
#define     TR_TS_MODE_INTERNAL_CORE		3
#define     TR_TS_MODE_SHARED			4
#define   TR_TS_CONTROL_PRESCALE		GENMASK(9, 8)
#define   TR_TS_CONTROL_ENABLE			BIT(15)
#define   TR_TS_CONTROL_WIDTH			GENMASK(29, 24)	/* read-only */
#define TR_TS_COUNTER_LOW			0x048
#define TR_TS_COUNTER_HIGH			0x04c

/* Funnel (chapter "Trace Funnel") */
#define TR_FUNNEL_CONTROL			TR_CONTROL
#define TR_FUNNEL_DIS_INPUT			0x008
#define   TR_FUNNEL_DIS_INPUT_MASK		GENMASK(15, 0)	/* bit n: discard input n */
#define     TR_FUNNEL_NR_INPUTS			16

/* RAM sink (chapter "Trace RAM Sink") */
#define TR_RAM_CONTROL				TR_CONTROL
#define   TR_RAM_CONTROL_MODE_SMEM		BIT(4)
#define   TR_RAM_CONTROL_STOP_ON_WRAP		BIT(8)
#define   TR_RAM_CONTROL_MEM_FORMAT		GENMASK(10, 9)
#define TR_RAM_IMPL				TR_IMPL
#define   TR_RAM_IMPL_HAS_SRAM			BIT(12)
#define   TR_RAM_IMPL_HAS_SMEM			BIT(13)
#define TR_RAM_START_LOW			0x010
#define TR_RAM_START_HIGH			0x014
#define TR_RAM_LIMIT_LOW			0x018	/* address of the last word: inclusive */
#define TR_RAM_LIMIT_HIGH			0x01c
#define TR_RAM_WP_LOW				0x020
#define   TR_RAM_WP_LOW_WRAP			BIT(0)
#define   TR_RAM_WP_LOW_ADDR			GENMASK(31, 2)
#define TR_RAM_WP_HIGH				0x024
#define TR_RAM_RP_LOW				0x028
#define TR_RAM_RP_HIGH				0x02c
#define TR_RAM_DATA				0x040	/* a read advances RP */

/* ATB bridge (chapter "Trace ATB Bridge") */
#define TR_ATB_CONTROL				TR_CONTROL
#define   TR_ATB_CONTROL_ID			GENMASK(14, 8)
#define     TR_ATB_ID_MIN			0x01
#define     TR_ATB_ID_MAX			0x6f

/*
 * Differences of version 0 (P550). Enable, InstTracing, Empty, StallOrOverflow, StallEna,
 * InhibitSrc and the format are the same bits as in 1.0.
 */
#define TR0_STOP_ON_WRAP			BIT(14)
#define TR0_SINK_ERROR				BIT(27)	/* write 1 to clear */
#define TR0_SINK				GENMASK(31, 28)
#define   TR0_SINK_SYSTEM_MEMORY		7
#define   TR0_SINK_FUNNEL			8
#define TR0_TE_INST_MODE_HTM_SYNC		7
#define TR0_TE_SYNC_MAX_MESSAGES		GENMASK(19, 16)	/* every 2^(n + 5) */
#define TR0_TE_SYNC_MAX_ICNT			GENMASK(23, 20)	/* likewise */
#define   TR0_TE_SYNC_OFF			15
#define TR0_IMPL_VERSION			GENMASK(3, 0)
#define TR0_IMPL_SYSTEM_MEMORY			BIT(7)
#define TR0_IMPL_TO_FUNNEL			BIT(8)
#define TR0_IMPL_WIDTH				GENMASK(17, 16)	/* 4 << n bytes */
#define TR0_TE_IMPL_SRC_ID			GENMASK(23, 20)
#define TR0_TE_IMPL_SRC_BITS			GENMASK(26, 24)
#define TR0_WP					0x01c
#define TR0_TS_MESSAGES				GENMASK(19, 16)	/* messages with TSTAMP */
#define TR0_TS_COUNTER_LOW			0x044
#define TR0_TS_COUNTER_HIGH			0x048

#endif /* _NTRACE_REGS_H */
