// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads PERF_RECORD_AUXTRACE_INFO: see ntrace-info.h for the layout.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <linux/bitfield.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/zalloc.h>

#include "debug.h"
#include "event.h"
#include "ntrace-priv.h"

static void unpack(void *bytes, const __u64 *word, size_t len)
{
	u8 *b = bytes;
	size_t i;

	for (i = 0; i < len; i++)
		b[i] = word[i / 8] >> (i % 8 * 8);
}

static int read_header(struct ntrace_info *info, const __u64 *word, size_t nr)
{
	struct perf_tsc_conversion *tc = &info->tc;

	if (!nr) {
		pr_err("ntrace: the file's AUXTRACE_INFO record is empty\n");
		return -EINVAL;
	}

	info->major = word[NTRACE_INFO_VERSION] >> 16;
	info->minor = word[NTRACE_INFO_VERSION] & 0xffff;
	if (info->major != NTRACE_INFO_MAJOR) {
		pr_err("ntrace: this file has layout version %u.%u, of a newer perf: this one reads %u.x\n",
		       info->major, info->minor, NTRACE_INFO_MAJOR);
		return -EINVAL;
	}
	if (nr < NTRACE_INFO_HEADER_MAX || word[NTRACE_INFO_HEADER_WORDS] > nr ||
	    word[NTRACE_INFO_HEADER_WORDS] < NTRACE_INFO_HEADER_MAX) {
		pr_err("ntrace: the file's AUXTRACE_INFO record is too short\n");
		return -EINVAL;
	}

	info->pmu_type = word[NTRACE_INFO_PMU_TYPE];
	info->flags    = word[NTRACE_INFO_FLAGS];
	info->xlen     = word[NTRACE_INFO_XLEN];
	if (info->xlen != 32 && info->xlen != 64) {
		pr_err("ntrace: the file says XLEN %u\n", info->xlen);
		return -EINVAL;
	}

	tc->time_shift	= word[NTRACE_INFO_TIME_SHIFT];
	tc->time_mult	= word[NTRACE_INFO_TIME_MULT];
	tc->time_zero	= word[NTRACE_INFO_TIME_ZERO];
	tc->time_cycles	= word[NTRACE_INFO_TIME_CYCLES];
	tc->time_mask	= word[NTRACE_INFO_TIME_MASK];
	tc->cap_user_time_zero	= word[NTRACE_INFO_TIME_CAPS] & NTRACE_INFO_TIME_CAP_ZERO;
	tc->cap_user_time_short	= word[NTRACE_INFO_TIME_CAPS] & NTRACE_INFO_TIME_CAP_SHORT;
	info->have_clock = tc->cap_user_time_zero && tc->time_mult && tc->time_shift < 64;
	return 0;
}

static int read_cpus(struct ntrace_info *info, const __u64 *word, size_t nr, u64 *used)
{
	u64 stride = word[NTRACE_INFO_CPU_WORDS], count = word[NTRACE_INFO_NR_CPUS];
	const __u64 *block = word + word[NTRACE_INFO_HEADER_WORDS];
	size_t room = nr - word[NTRACE_INFO_HEADER_WORDS];
	unsigned int i;

	if (!count || stride < NTRACE_INFO_CPU_MIN || stride > room || count > room / stride) {
		pr_err("ntrace: the file's AUXTRACE_INFO record has %" PRIu64 " CPUs of %" PRIu64
		       " words in %zu words\n", count, stride, room);
		return -EINVAL;
	}

	info->cpu = calloc(count, sizeof(*info->cpu));
	if (!info->cpu)
		return -ENOMEM;
	info->nr_cpus = count;
	for (i = 0; i < count; i++)
		memcpy(info->cpu[i], block + i * stride,
		       min_t(u64, stride, NTRACE_INFO_CPU_MAX) * sizeof(u64));

	*used = word[NTRACE_INFO_HEADER_WORDS] + count * stride;
	return 0;
}

static int read_item(struct ntrace_info *info, u32 tag, const __u64 *word, size_t len)
{
	char *bytes;

	if (tag != NTRACE_INFO_TAG_ISA && tag != NTRACE_INFO_TAG_VDSO)
		return 0;

	bytes = zalloc(len + 1);
	if (!bytes)
		return -ENOMEM;
	unpack(bytes, word, len);

	if (tag == NTRACE_INFO_TAG_ISA) {
		free(info->isa);
		info->isa = bytes;
	} else {
		free(info->vdso);
		info->vdso = bytes;
		info->vdso_size = len;
	}
	return 0;
}

static int read_items(struct ntrace_info *info, const __u64 *word, size_t nr)
{
	size_t len, words;
	int err;

	while (nr) {
		len = word[0] & 0xffffffff;
		words = 1 + (len + 7) / 8;
		if (words > nr) {
			pr_err("ntrace: the file's AUXTRACE_INFO record is cut\n");
			return -EINVAL;
		}
		err = read_item(info, word[0] >> 32, word + 1, len);
		if (err)
			return err;
		word += words;
		nr -= words;
	}
	return 0;
}

int ntrace_info_read(struct ntrace_info *info, const struct perf_record_auxtrace_info *event)
{
	size_t nr = (event->header.size - sizeof(*event)) / sizeof(u64);
	const __u64 *word = event->priv;
	u64 used = 0;
	int err;

	err = read_header(info, word, nr);
	if (!err)
		err = read_cpus(info, word, nr, &used);
	if (!err)
		err = read_items(info, word + used, nr - used);
	return err;
}

void ntrace_info_free(struct ntrace_info *info)
{
	zfree(&info->cpu);
	zfree(&info->isa);
	zfree(&info->vdso);
}

const u64 *ntrace_info_cpu(const struct ntrace_info *info, int cpu)
{
	unsigned int i;

	for (i = 0; i < info->nr_cpus; i++) {
		if ((int)info->cpu[i][NTRACE_INFO_CPU_NR] == cpu)
			return info->cpu[i];
	}
	return NULL;
}

static const struct {
	u64 bit;
	const char *name;
} cap_names[] = {
	{ NTRACE_CAP_HTM,	 "htm" },
	{ NTRACE_CAP_BTM,	 "btm" },
	{ NTRACE_CAP_CONTEXTID,	 "contextid" },
	{ NTRACE_CAP_TIMESTAMP,	 "timestamp" },
	{ NTRACE_CAP_SEQJUMP,	 "seqjump" },
	{ NTRACE_CAP_REPEATHIST, "repeathist" },
	{ NTRACE_CAP_EXTADDR,	 "extaddr" },
	{ NTRACE_CAP_ALLJUMPS,	 "alljumps" },
	{ NTRACE_CAP_STALL,	 "stall" },
	{ NTRACE_CAP_SRC_ALWAYS, "srcalways" },
};

static void print_cpu(const u64 *cpu)
{
	char sink[NTRACE_INFO_SINK_LEN + 1] = "";
	size_t i;

	unpack(sink, (const __u64 *)cpu + NTRACE_INFO_CPU_SINK, NTRACE_INFO_SINK_LEN);
	printf("  CPU %-3" PRIu64 "            hart %" PRIu64 ", N-Trace %" PRIu64 ".%" PRIu64
	       ", impl %#" PRIx64 ", SRC %" PRIu64 " in %" PRIu64 " bits, sink %s\n",
	       cpu[NTRACE_INFO_CPU_NR], cpu[NTRACE_INFO_CPU_HART],
	       cpu[NTRACE_INFO_CPU_PROTOCOL] >> 4, cpu[NTRACE_INFO_CPU_PROTOCOL] & 0xf,
	       cpu[NTRACE_INFO_CPU_IMPL], cpu[NTRACE_INFO_CPU_SRCID],
	       cpu[NTRACE_INFO_CPU_SRCBITS], sink[0] ? sink : "unknown");
	if (cpu[NTRACE_INFO_CPU_PROFILE])
		printf("    Profile          %s\n",
		       nt_profile_name(cpu[NTRACE_INFO_CPU_PROFILE]) ?: "unknown");
	if (cpu[NTRACE_INFO_CPU_ADDR_BITS])
		printf("    Address bits     %" PRIu64 "\n", cpu[NTRACE_INFO_CPU_ADDR_BITS]);
	printf("    Timestamps       mode %" PRIu64 ", %" PRIu64 " bits, prescale %" PRIu64
	       ", %" PRIu64 " Hz, clock %s\n",
	       cpu[NTRACE_INFO_CPU_TS_MODE], cpu[NTRACE_INFO_CPU_TS_WIDTH],
	       cpu[NTRACE_INFO_CPU_TS_PRESCALE], cpu[NTRACE_INFO_CPU_TS_FREQ],
	       cpu[NTRACE_INFO_CPU_TS_CLOCK] == NTRACE_TS_CLOCK_TIME ? "time" : "none");
	printf("    Capabilities    ");
	for (i = 0; i < ARRAY_SIZE(cap_names); i++) {
		if (cpu[NTRACE_INFO_CPU_CAPS] & cap_names[i].bit)
			printf(" %s", cap_names[i].name);
	}
	printf(" retstack=%#" PRIx64 " syncmode=%#" PRIx64 "\n",
	       cpu[NTRACE_INFO_CPU_CAPS] >> NTRACE_CAP_RETSTACK_SHIFT & 0xf,
	       cpu[NTRACE_INFO_CPU_CAPS] >> NTRACE_CAP_SYNCMODE_SHIFT & 0xf);
}

void ntrace_info_print(const struct ntrace_info *info)
{
	unsigned int i;

	printf("  Layout version     %u.%u\n", info->major, info->minor);
	printf("  PMU type           %u\n", info->pmu_type);
	printf("  Buffers            per %s\n",
	       info->flags & NTRACE_INFO_FLAG_PER_THREAD ? "thread" : "CPU");
	printf("  XLEN               %u\n", info->xlen);
	printf("  ISA                %s\n", info->isa ?: "unknown");
	printf("  vDSO               %zu bytes\n", info->vdso_size);
	if (info->have_clock)
		printf("  Clock              zero %" PRIu64 ", mult %u, shift %u%s\n",
		       info->tc.time_zero, info->tc.time_mult, info->tc.time_shift,
		       info->tc.cap_user_time_short ? ", short" : "");
	else
		printf("  Clock              does not convert\n");
	for (i = 0; i < info->nr_cpus; i++)
		print_cpu(info->cpu[i]);
}

/* trTeInstFeatures, of which a HW_ID carries bits 10:0 */
#define FEATURE_SEQUENTIAL_JUMP		0x004
#define FEATURE_IMPLICIT_RETURN		0x008
#define FEATURE_RETURN_MODE_SHIFT	6
#define FEATURE_RETURN_MODE_MASK	0x3
#define FEATURE_REPEATED_HISTORY	0x100
#define FEATURE_ALL_JUMPS		0x200
#define FEATURE_EXTEND_ADDR_MSB		0x400

/* trTeInstMode */
#define MODE_BTM			3
#define MODE_HTM			6

static void read_features(unsigned int features, struct nt_params *params)
{
	params->seqjump	 = features & FEATURE_SEQUENTIAL_JUMP;
	params->alljumps = features & FEATURE_ALL_JUMPS;
	params->extaddr	 = features & FEATURE_EXTEND_ADDR_MSB;
	/* The enable bit and the mode are two words of the standards for one thing. */
	params->retstack = features >> FEATURE_RETURN_MODE_SHIFT & FEATURE_RETURN_MODE_MASK;
	if (!params->retstack && features & FEATURE_IMPLICIT_RETURN)
		params->retstack = 3;
}

/* trTeInstMode; of others than these two, the messages tell */
static enum nt_mode read_mode(unsigned int instmode)
{
	switch (instmode) {
	case 3:
		return NT_MODE_BTM;
	case 6:
		return NT_MODE_HTM;
	default:
		return NT_MODE_UNKNOWN;
	}
}

u64 ntrace_info_kernel_start(const struct ntrace_info *info)
{
	return info->xlen == 32 ? NT_RV32_TASK_SIZE : 1ULL << 63;
}

/* Widths of fields that not every encoder has in full; 0: all bits, or not known. */
static void read_widths(const struct ntrace_info *info, int cpu_nr, struct nt_params *params)
{
	const u64 *cpu = ntrace_info_cpu(info, cpu_nr);
	u64 addr = cpu ? cpu[NTRACE_INFO_CPU_ADDR_BITS] : 0;
	u64 time = cpu ? cpu[NTRACE_INFO_CPU_TS_WIDTH] : 0;

	params->addr_bits = addr < info->xlen ? addr : 0;
	params->tstamp_bits = time >= 8 && time <= 64 ? time : 64;
}

static int check_version(unsigned int version)
{
	if (version == NTRACE_HW_ID_VERSION_1 || version == NTRACE_HW_ID_VERSION_2)
		return 0;
	pr_err("ntrace: AUX_OUTPUT_HW_ID version %u is of a newer kernel: this perf reads version %u\n",
	       version, NTRACE_HW_ID_VERSION_2);
	return -EINVAL;
}

/* How messages deviate; the HW_ID tells whether they do. */
static int read_profile(const struct ntrace_info *info, u64 hw_id, int cpu_nr,
			struct nt_params *params)
{
	const u64 *cpu = ntrace_info_cpu(info, cpu_nr);
	u64 profile = cpu ? cpu[NTRACE_INFO_CPU_PROFILE] : 0;

	if (FIELD_GET(NTRACE_HW_ID_VERSION, hw_id) == NTRACE_HW_ID_VERSION_1)
		return 0;
	if (profile == NT_PROFILE_1_0 || profile >= NTRACE_PROFILE_UNKNOWN ||
	    !nt_profile_name(profile)) {
		pr_err("ntrace: CPU %d: its encoder's messages deviate from N-Trace 1.0, and the perf that recorded them does not say how: record with a newer perf\n",
		       cpu_nr);
		return -EINVAL;
	}
	params->profile = profile;
	return 0;
}

/* What the library has to know to read trace that a CPU made under these terms. */
int ntrace_info_params(const struct ntrace_info *info, u64 hw_id, int cpu, struct nt_params *params)
{
	nt_params_init(params);
	params->xlen = info->xlen;
	params->src = -1;
	/* A hart that spins is worth few bytes: a recording is decoded whole. */
	params->work_per_byte = NT_WORK_UNLIMITED;
	/* An ISA string that is not one leaves the defaults: encodings that no one disputes. */
	if (info->isa)
		nt_isa_parse(info->isa, params);
	params->xlen = info->xlen;

	if (check_version(FIELD_GET(NTRACE_HW_ID_VERSION, hw_id)))
		return -EINVAL;
	if (read_profile(info, hw_id, cpu, params))
		return -EINVAL;
	params->high_from = ntrace_info_kernel_start(info);
	read_widths(info, cpu, params);
	params->srcbits = FIELD_GET(NTRACE_HW_ID_SRCBITS, hw_id);
	params->timestamps = !!(hw_id & NTRACE_HW_ID_TIMESTAMP);
	params->mode = read_mode(FIELD_GET(NTRACE_HW_ID_INSTMODE, hw_id));
	read_features(FIELD_GET(NTRACE_HW_ID_FEATURES, hw_id), params);
	return nt_params_check(params) ? -EINVAL : 0;
}

/* --- what an event asks for, where no HW_ID tells what it got ---------------- */

static unsigned int features(u64 config)
{
	unsigned int retstack = FIELD_GET(NTRACE_CONFIG_RETSTACK, config);

	return (config & NTRACE_CONFIG_SEQJUMP ? FEATURE_SEQUENTIAL_JUMP : 0) |
	       (config & NTRACE_CONFIG_REPEATHIST ? FEATURE_REPEATED_HISTORY : 0) |
	       (config & NTRACE_CONFIG_ALLJUMPS ? FEATURE_ALL_JUMPS : 0) |
	       (config & NTRACE_CONFIG_EXTADDR ? FEATURE_EXTEND_ADDR_MSB : 0) |
	       (retstack ? FEATURE_IMPLICIT_RETURN : 0) | retstack << FEATURE_RETURN_MODE_SHIFT;
}

/*
 * Has another CPU the same sink? Of one that was chosen by name only its number is known: that is
 * done for sinks that are nobody's own.
 */
static bool has_shared_sink(const struct ntrace_info *info, const u64 *cpu, u64 sinkid)
{
	const size_t size = NTRACE_INFO_SINK_LEN;
	unsigned int i;

	for (i = 0; i < info->nr_cpus && !sinkid; i++) {
		if (info->cpu[i] != cpu &&
		    !memcmp(info->cpu[i] + NTRACE_INFO_CPU_SINK, cpu + NTRACE_INFO_CPU_SINK, size))
			return true;
	}
	return sinkid;
}

/*
 * The kernel reports what an event uses when it is used first on a CPU. A file that begins later
 * (perf record --switch-output) has no such report, but what was asked for, and what the encoder
 * is: the driver gives what it is asked for or refuses. 0 if the CPU is not known either.
 */
u64 ntrace_info_hw_id(const struct ntrace_info *info, const struct perf_event_attr *attr, int cpu_nr)
{
	const u64 *cpu = ntrace_info_cpu(info, cpu_nr);
	bool btm, shared;

	if (!cpu)
		return 0;
	shared = has_shared_sink(info, cpu, attr->config2 & NTRACE_CONFIG2_SINKID);
	btm = attr->config & NTRACE_CONFIG_BTM || !(cpu[NTRACE_INFO_CPU_CAPS] & NTRACE_CAP_HTM);
	return FIELD_PREP(NTRACE_HW_ID_VERSION,
			  cpu[NTRACE_INFO_CPU_PROFILE] == NT_PROFILE_1_0 ?
			  NTRACE_HW_ID_VERSION_1 : NTRACE_HW_ID_VERSION_2) |
	       FIELD_PREP(NTRACE_HW_ID_INSTMODE, btm ? MODE_BTM : MODE_HTM) |
	       FIELD_PREP(NTRACE_HW_ID_CONTEXT, !!(attr->config & NTRACE_CONFIG_CONTEXTID)) |
	       FIELD_PREP(NTRACE_HW_ID_FEATURES, features(attr->config)) |
	       FIELD_PREP(NTRACE_HW_ID_SRCBITS,
			  shared || cpu[NTRACE_INFO_CPU_CAPS] & NTRACE_CAP_SRC_ALWAYS ?
			  cpu[NTRACE_INFO_CPU_SRCBITS] & 0xf : 0) |
	       FIELD_PREP(NTRACE_HW_ID_TIMESTAMP, !!(attr->config & NTRACE_CONFIG_TIMESTAMP)) |
	       FIELD_PREP(NTRACE_HW_ID_PRIV_U, !attr->exclude_user) |
	       FIELD_PREP(NTRACE_HW_ID_PRIV_S, !attr->exclude_kernel) |
	       FIELD_PREP(NTRACE_HW_ID_PRIV_M, !!(attr->config & NTRACE_CONFIG_MMODE)) |
	       FIELD_PREP(NTRACE_HW_ID_SRCID, cpu[NTRACE_INFO_CPU_SRCID] & 0xfff) |
	       FIELD_PREP(NTRACE_HW_ID_TSPRESCALE, cpu[NTRACE_INFO_CPU_TS_PRESCALE] & 3) |
	       FIELD_PREP(NTRACE_HW_ID_PRIVATE, !shared);
}
