/* SPDX-License-Identifier: ((GPL-2.0-only WITH Linux-syscall-note) OR BSD-2-Clause) */
/*
 * RISC-V N-Trace: what crosses the line between the kernel's perf PMU "ntrace" and user space.
 *
 * Append only: a bit or a value that once had a meaning keeps it.
 */
#ifndef _UAPI_LINUX_NTRACE_H
#define _UAPI_LINUX_NTRACE_H

/*
 * Fields of perf_event_attr::config. Every other bit of config, config1, config2 and config3 is
 * refused. The terms of perf have the same names, in lower case; sysfs format/ lists them.
 */

/* Branch trace messaging; without it history trace messaging, where the encoder has it */
#define NTRACE_CONFIG_BTM		0x0000000000000001ULL
/*
 * Ownership messages: privilege, and the scontext CSR, which carries the TID of the running task
 * (as the initial PID namespace knows it)
 */
#define NTRACE_CONFIG_CONTEXTID		0x0000000000000002ULL
/* TSTAMP in the messages */
#define NTRACE_CONFIG_TIMESTAMP		0x0000000000000004ULL
/* trTeInstImplicitReturnMode: leave out returns that match their call, 0: report all */
#define NTRACE_CONFIG_RETSTACK		0x0000000000000018ULL
/* Leave out LUI/AUIPC + JALR pairs */
#define NTRACE_CONFIG_SEQJUMP		0x0000000000000020ULL
/* Count repeated history instead of sending it */
#define NTRACE_CONFIG_REPEATHIST	0x0000000000000040ULL
/* Send addresses without their sign extension */
#define NTRACE_CONFIG_EXTADDR		0x0000000000000080ULL
/* Report direct jumps like taken branches */
#define NTRACE_CONFIG_ALLJUMPS		0x0000000000000100ULL
/* Let the hart wait when trace cannot be delivered, instead of losing it */
#define NTRACE_CONFIG_STALL		0x0000000000000200ULL
/* Trace machine mode too (needs CAP_PERFMON) */
#define NTRACE_CONFIG_MMODE		0x0000000000000400ULL
/* Unit of the periodic synchronisation: 0 none, 1 messages, 2 hart cycles, 3 half-words */
#define NTRACE_CONFIG_SYNCMODE		0x0000000000003000ULL
/* Its period: 2^(SYNCMAX + 4) units */
#define NTRACE_CONFIG_SYNCMAX		0x00000000000f0000ULL

/* Field of perf_event_attr::config2: the sink, a value from sysfs sinks/NAME; 0: the default one */
#define NTRACE_CONFIG2_SINKID		0x00000000ffffffffULL

/*
 * What the driver passes over in the AUX area has no PERF_RECORD_AUX. It is idle bytes (0xff), or
 * it begins with as many as here, and the number of all its bytes follows, in eight, least first.
 */
#define NTRACE_AUX_SKIP_IDLE		8
#define NTRACE_AUX_SKIP_MARK		16

/*
 * PERF_RECORD_AUX_OUTPUT_HW_ID: what an event really uses on a CPU, read back from the hardware.
 * One record comes before the first AUX data of the event on that CPU, and another when something
 * changed. A reader refuses a version that it does not know.
 */
#define NTRACE_HW_ID_VERSION		0x000000000000000fULL /* NTRACE_HW_ID_VERSION_ */
#define NTRACE_HW_ID_INSTMODE		0x0000000000000070ULL /* trTeInstMode: 3 BTM, 6 HTM */
#define NTRACE_HW_ID_CONTEXT		0x0000000000000080ULL /* Ownership messages are on */
#define NTRACE_HW_ID_FEATURES		0x000000000007ff00ULL /* trTeInstFeatures[10:0] */
#define NTRACE_HW_ID_SRCBITS		0x0000000000780000ULL /* width of SRC in the stream */
#define NTRACE_HW_ID_TIMESTAMP		0x0000000000800000ULL /* messages carry TSTAMP */
#define NTRACE_HW_ID_PRIV_U		0x0000000001000000ULL /* user mode is traced */
#define NTRACE_HW_ID_PRIV_S		0x0000000002000000ULL /* supervisor mode is traced */
#define NTRACE_HW_ID_PRIV_M		0x0000000004000000ULL /* machine mode is traced */
#define NTRACE_HW_ID_SRCID		0x0000007ff8000000ULL /* trTeSrcID */
#define NTRACE_HW_ID_TSPRESCALE		0x0000018000000000ULL /* trTsPrescale */
#define NTRACE_HW_ID_PRIVATE		0x0000020000000000ULL /* nobody shares the sink */

#define NTRACE_HW_ID_VERSION_1		1
/* The same; messages deviate from N-Trace 1.0 as the encoder's file `profile` in sysfs says */
#define NTRACE_HW_ID_VERSION_2		2

/*
 * Type of PERF_RECORD_AUXTRACE_INFO in perf.data files: far from the numbers that perf itself hands
 * out.
 */
#define NTRACE_AUXTRACE_TYPE		0x4e54

#endif /* _UAPI_LINUX_NTRACE_H */
