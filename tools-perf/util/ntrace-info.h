/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The description of RISC-V N-Trace in perf.data: the layout of PERF_RECORD_AUXTRACE_INFO.
 *
 * The record is a list of 64-bit words, so that a machine of the other endianness can read it.
 * Strings and bytes are packed into words by arithmetic, first byte lowest. The layout is
 *
 *	header	NTRACE_INFO_HEADER_WORDS words, as many as there are
 *	CPUs	NTRACE_INFO_NR_CPUS blocks of NTRACE_INFO_CPU_WORDS words
 *	items	up to the end: one word, tag in bits 63:32 and bytes in 31:0,
 *		then the bytes, padded to a word
 *
 * A new minor version may add words at the end of the header or of a block, and items with new tags
 * at the end. Readers ignore what they do not know. Any other change needs a new major version,
 * which older readers refuse.
 */
#ifndef INCLUDE__PERF_NTRACE_INFO_H__
#define INCLUDE__PERF_NTRACE_INFO_H__

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/ntrace.h>	/* NTRACE_AUXTRACE_TYPE */

#include "ntrace-decoder/ntrace.h"

#define NTRACE_PMU_NAME			"ntrace"

/*
 * Folders in a perf.data of --kcore, with the kernel's text at the start and at the end of the
 * recording. The second is named like the folder of a guest with an impossible PID: perf removes
 * such folders together with an old perf.data, and refuses to remove unknown ones.
 */
#define NTRACE_KCORE_START		"kcore_dir"
#define NTRACE_KCORE_END		"kcore_dir__4294967295"

#define NTRACE_INFO_MAJOR		1
#define NTRACE_INFO_MINOR		2

enum {
	NTRACE_INFO_VERSION,		/* major in 31:16, minor in 15:0 */
	NTRACE_INFO_HEADER_WORDS,
	NTRACE_INFO_NR_CPUS,
	NTRACE_INFO_CPU_WORDS,
	NTRACE_INFO_PMU_TYPE,
	NTRACE_INFO_FLAGS,
	NTRACE_INFO_XLEN,
	/* the events' clock from the `time` CSR, as in the perf mmap page */
	NTRACE_INFO_TIME_CAPS,
	NTRACE_INFO_TIME_SHIFT,
	NTRACE_INFO_TIME_MULT,
	NTRACE_INFO_TIME_ZERO,
	NTRACE_INFO_TIME_CYCLES,
	NTRACE_INFO_TIME_MASK,
	NTRACE_INFO_HEADER_MAX
};

/* NTRACE_INFO_FLAGS */
#define NTRACE_INFO_FLAG_PER_THREAD	(1ULL << 0)	/* no CPU has its own buffer */
#define NTRACE_INFO_FLAG_SNAPSHOT	(1ULL << 1)

/* NTRACE_INFO_TIME_CAPS */
#define NTRACE_INFO_TIME_CAP_ZERO	(1ULL << 0)	/* the conversion is valid */
#define NTRACE_INFO_TIME_CAP_SHORT	(1ULL << 1)	/* counter is time_mask wide */

/* For each CPU: the properties of its encoder, not the configuration of an event */
enum {
	NTRACE_INFO_CPU_NR,
	NTRACE_INFO_CPU_HART,
	NTRACE_INFO_CPU_IMPL,		/* trTeImpl as read */
	NTRACE_INFO_CPU_FORMAT,		/* NTRACE_FORMAT_* */
	NTRACE_INFO_CPU_PROTOCOL,	/* major in 7:4, minor in 3:0 */
	NTRACE_INFO_CPU_CAPS,		/* NTRACE_CAP_* */
	NTRACE_INFO_CPU_SRCID,
	NTRACE_INFO_CPU_SRCBITS,
	NTRACE_INFO_CPU_TS_MODE,
	NTRACE_INFO_CPU_TS_WIDTH,
	NTRACE_INFO_CPU_TS_PRESCALE,
	NTRACE_INFO_CPU_TS_FREQ,	/* Hz, 0 if unknown */
	NTRACE_INFO_CPU_TS_CLOCK,	/* NTRACE_TS_CLOCK_* */
	NTRACE_INFO_CPU_SINK,		/* four words of a name */
	NTRACE_INFO_CPU_SINK_END = NTRACE_INFO_CPU_SINK + 3,
	NTRACE_INFO_CPU_MIN,		/* the number of words in layout 1.0 */
	/* since layout 1.1 */
	NTRACE_INFO_CPU_ADDR_BITS = NTRACE_INFO_CPU_MIN, /* of an address field; 0: all */
	/* since layout 1.2 */
	NTRACE_INFO_CPU_PROFILE,	/* enum nt_profile */
	NTRACE_INFO_CPU_MAX
};

#define NTRACE_INFO_SINK_LEN		32

/*
 * The six reserved bytes of a PERF_RECORD_TIME_CONV of perf record -k: it converts the `time` CSR
 * to the chosen clock. The last such record of a file has the rate that was measured during the
 * recording.
 */
#define NTRACE_TIME_CONV_MARK		"ntrace"

#define NTRACE_FORMAT_NTRACE		1

/* A profile that perf record does not know */
#define NTRACE_PROFILE_UNKNOWN		255

#define NTRACE_TS_CLOCK_NONE		0	/* unrelated to other clocks */
#define NTRACE_TS_CLOCK_TIME		1	/* counts with the `time` CSR */

#define NTRACE_CAP_HTM			(1ULL << 0)
#define NTRACE_CAP_BTM			(1ULL << 1)
#define NTRACE_CAP_CONTEXTID		(1ULL << 2)
#define NTRACE_CAP_TIMESTAMP		(1ULL << 3)
#define NTRACE_CAP_SEQJUMP		(1ULL << 4)
#define NTRACE_CAP_REPEATHIST		(1ULL << 5)
#define NTRACE_CAP_EXTADDR		(1ULL << 6)
#define NTRACE_CAP_ALLJUMPS		(1ULL << 7)
#define NTRACE_CAP_STALL		(1ULL << 8)
#define NTRACE_CAP_SRC_ALWAYS		(1ULL << 9)	/* even if the sink is not shared */
#define NTRACE_CAP_RETSTACK_SHIFT	16	/* mask of accepted values */
#define NTRACE_CAP_SYNCMODE_SHIFT	20	/* mask of accepted values */

/* Items after the CPU blocks */
#define NTRACE_INFO_TAG_ISA		1	/* the ISA string of the first hart */
#define NTRACE_INFO_TAG_VDSO		2	/* the vDSO, for which there is no file */

/* --- reading it: ntrace-info.c ---------------------------------------------- */

/* Space for the reason of an error */
#define NTRACE_WHY	256

/* Converts the `time` CSR to the clock of the events, as in perf_event_mmap_page */
struct ntrace_conversion {
	uint64_t	zero, cycles, mask;
	uint32_t	mult;
	uint16_t	shift;
	bool		short_counter;	/* the counter has only the bits of mask */
};

struct ntrace_info {
	unsigned int	major, minor;
	unsigned int	nr_cpus;
	uint64_t	(*cpu)[NTRACE_INFO_CPU_MAX];
	uint32_t	pmu_type;
	uint64_t	flags;
	unsigned int	xlen;
	char		*isa;
	void		*vdso;
	size_t		vdso_size;
	bool		have_clock;	/* `time` converts to the events' clock */
	struct ntrace_conversion conversion;
};

/* The configuration of an event, from its perf_event_attr */
struct ntrace_asked {
	uint64_t	config, config2;
	bool		exclude_user, exclude_kernel;
};

/* Return 0, or -EINVAL or -ENOMEM with the reason in @why, NTRACE_WHY bytes. */
int ntrace_info_read(struct ntrace_info *info, const uint64_t *word, size_t nr, char *why);
int ntrace_info_params(const struct ntrace_info *info, uint64_t hw_id, int cpu,
		       struct nt_params *params, char *why);

void ntrace_info_print(const struct ntrace_info *info);
void ntrace_info_free(struct ntrace_info *info);
const uint64_t *ntrace_info_cpu(const struct ntrace_info *info, int cpu);
uint64_t ntrace_info_kernel_start(const struct ntrace_info *info);
uint64_t ntrace_info_hw_id(const struct ntrace_info *info, const struct ntrace_asked *asked,
			   int cpu);
uint64_t ntrace_info_ns(const struct ntrace_info *info, uint64_t ticks);
uint64_t ntrace_info_ticks(const struct ntrace_info *info, uint64_t ns);
void ntrace_info_set_clock(struct ntrace_info *info, const struct ntrace_conversion *c,
			   const void *mark);

/*
 * Is the sink shared with other CPUs? SRC alone does not show this, because some encoders always
 * send it. Earlier drivers did not know such encoders, and never set PRIVATE.
 */
static inline bool ntrace_is_shared(uint64_t hw_id)
{
	return hw_id & NTRACE_HW_ID_SRCBITS && !(hw_id & NTRACE_HW_ID_PRIVATE);
}

/*
 * Is this the FORMAT of Ownership messages with scontext? Only scontext is set by Linux: the driver
 * writes the TID to it. For tt-dfd, the device tree binding defines this, not the message.
 */
static inline bool ntrace_is_scontext(unsigned int profile, unsigned int format)
{
	return format == (profile == NT_PROFILE_TT_DFD ? 0 : 2);
}

#endif
