/* SPDX-License-Identifier: ((GPL-2.0-only WITH Linux-syscall-note) OR BSD-2-Clause) */
/*
 * RISC-V N-Trace: what crosses the line between the kernel's perf PMU "ntrace" and user space.
 *
 * Append only: a bit or a value that once had a meaning keeps it.
 */
#ifndef _UAPI_LINUX_NTRACE_H
#define _UAPI_LINUX_NTRACE_H

/*
 * Fields of perf_event_attr: F(name, word of the attr, lowest bit, highest bit). The sysfs directory format/ of the
 * PMU is made from this list, and so is the check that refuses every other bit.
 *
 *   btm         branch trace messaging; without it history trace messaging where the encoder has it
 *   contextid   Ownership messages: privilege, and the scontext CSR, which carries the TID of the running task (as the
 *               initial PID namespace knows it)
 *   timestamp   TSTAMP in the messages
 *   retstack    returns that match the call are left out; the value is trTeInstImplicitReturnMode (0: all reported)
 *   seqjump     LUI/AUIPC + JALR pairs are left out
 *   repeathist  repeated history is counted instead of sent
 *   extaddr     addresses are sent without their sign extension
 *   alljumps    direct jumps are reported like taken branches
 *   stall       the hart waits when trace cannot be delivered, instead of losing it
 *   mmode       machine mode is traced too (needs CAP_PERFMON)
 *   syncmode    unit of the periodic synchronisation: 0 none, 1 messages, 2 hart cycles, 3 half-words
 *   syncmax     its period: 2^(syncmax + 4) units
 *   sinkid      the sink: a value from sinks/NAME, 0 for the default one
 */
#define NTRACE_CONFIG_FIELDS(F)			\
	F(btm,		config,		0,  0)	\
	F(contextid,	config,		1,  1)	\
	F(timestamp,	config,		2,  2)	\
	F(retstack,	config,		3,  4)	\
	F(seqjump,	config,		5,  5)	\
	F(repeathist,	config,		6,  6)	\
	F(extaddr,	config,		7,  7)	\
	F(alljumps,	config,		8,  8)	\
	F(stall,	config,		9,  9)	\
	F(mmode,	config,		10, 10)	\
	F(syncmode,	config,		12, 13)	\
	F(syncmax,	config,		16, 19)	\
	F(sinkid,	config2,	0,  31)

/*
 * PERF_RECORD_AUX_OUTPUT_HW_ID: what an event really uses on a CPU, read back from the hardware. One record comes before
 * the first AUX data of the event on that CPU, and another when something changed. A reader refuses a version that it
 * does not know.
 */
#define NTRACE_HW_ID_VERSION		0x000000000000000fULL	/* NTRACE_HW_ID_VERSION_1 */
#define NTRACE_HW_ID_INSTMODE		0x0000000000000070ULL	/* trTeInstMode: 3 BTM, 6 HTM */
#define NTRACE_HW_ID_CONTEXT		0x0000000000000080ULL	/* Ownership messages are on */
#define NTRACE_HW_ID_FEATURES		0x000000000007ff00ULL	/* trTeInstFeatures[10:0] */
#define NTRACE_HW_ID_SRCBITS		0x0000000000780000ULL	/* width of SRC in the stream, 0: none */
#define NTRACE_HW_ID_TIMESTAMP		0x0000000000800000ULL	/* messages carry TSTAMP */
#define NTRACE_HW_ID_PRIV_U		0x0000000001000000ULL	/* user mode (VU included) is traced */
#define NTRACE_HW_ID_PRIV_S		0x0000000002000000ULL	/* supervisor mode (VS included) is traced */
#define NTRACE_HW_ID_PRIV_M		0x0000000004000000ULL	/* machine mode is traced */
#define NTRACE_HW_ID_SRCID		0x0000007ff8000000ULL	/* trTeSrcID */
#define NTRACE_HW_ID_TSPRESCALE		0x0000018000000000ULL	/* trTsPrescale: a tick is 4^value of ts_freq's */

#define NTRACE_HW_ID_VERSION_1		1

/*
 * Type of PERF_RECORD_AUXTRACE_INFO in perf.data files: far from the numbers that perf itself hands out.
 */
#define NTRACE_AUXTRACE_TYPE		0x4e54

#endif /* _UAPI_LINUX_NTRACE_H */
