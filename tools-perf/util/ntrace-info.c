// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads PERF_RECORD_AUXTRACE_INFO: see ntrace-info.h for the layout. The ntrace command uses this
 * file, too.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ntrace-info.h"

/* For masks of contiguous bits */
#define GET(mask, word)		(((word) & (mask)) / ((mask) & -(mask)))
#define PREP(mask, value)	(((uint64_t)(value) * ((mask) & -(mask))) & (mask))

static int __attribute__((format(printf, 2, 3)))
refuse(char *why, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, NTRACE_WHY, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

static int no_memory(char *why)
{
	refuse(why, "out of memory");
	return -ENOMEM;
}

static void unpack(void *bytes, const uint64_t *word, size_t len)
{
	uint8_t *b = bytes;
	size_t i;

	for (i = 0; i < len; i++)
		b[i] = word[i / 8] >> (i % 8 * 8);
}

static int read_header(struct ntrace_info *info, const uint64_t *word, size_t nr, char *why)
{
	struct ntrace_conversion *c = &info->conversion;

	if (!nr)
		return refuse(why, "the file's AUXTRACE_INFO record is empty");

	info->major = word[NTRACE_INFO_VERSION] >> 16;
	info->minor = word[NTRACE_INFO_VERSION] & 0xffff;
	if (info->major != NTRACE_INFO_MAJOR)
		return refuse(why,
			      "this file has layout version %u.%u, of a newer perf: this one reads %u.x",
			      info->major, info->minor, NTRACE_INFO_MAJOR);
	if (nr < NTRACE_INFO_HEADER_MAX || word[NTRACE_INFO_HEADER_WORDS] > nr ||
	    word[NTRACE_INFO_HEADER_WORDS] < NTRACE_INFO_HEADER_MAX)
		return refuse(why, "the file's AUXTRACE_INFO record is too short");

	info->pmu_type = word[NTRACE_INFO_PMU_TYPE];
	info->flags    = word[NTRACE_INFO_FLAGS];
	info->xlen     = word[NTRACE_INFO_XLEN];
	if (info->xlen != 32 && info->xlen != 64)
		return refuse(why, "the file says XLEN %u", info->xlen);

	c->shift	 = word[NTRACE_INFO_TIME_SHIFT];
	c->mult		 = word[NTRACE_INFO_TIME_MULT];
	c->zero		 = word[NTRACE_INFO_TIME_ZERO];
	c->cycles	 = word[NTRACE_INFO_TIME_CYCLES];
	c->mask		 = word[NTRACE_INFO_TIME_MASK];
	c->short_counter = word[NTRACE_INFO_TIME_CAPS] & NTRACE_INFO_TIME_CAP_SHORT;
	info->have_clock = word[NTRACE_INFO_TIME_CAPS] & NTRACE_INFO_TIME_CAP_ZERO && c->mult &&
			   c->shift < 64;
	return 0;
}

static int read_cpus(struct ntrace_info *info, const uint64_t *word, size_t nr, uint64_t *used,
		     char *why)
{
	uint64_t stride = word[NTRACE_INFO_CPU_WORDS], count = word[NTRACE_INFO_NR_CPUS];
	const uint64_t *block = word + word[NTRACE_INFO_HEADER_WORDS];
	size_t room = nr - word[NTRACE_INFO_HEADER_WORDS];
	size_t known = stride < NTRACE_INFO_CPU_MAX ? stride : NTRACE_INFO_CPU_MAX;
	unsigned int i;

	if (!count || stride < NTRACE_INFO_CPU_MIN || stride > room || count > room / stride)
		return refuse(why,
			      "the file's AUXTRACE_INFO record has %" PRIu64 " CPUs of %" PRIu64
			      " words in %zu words", count, stride, room);

	info->cpu = calloc(count, sizeof(*info->cpu));
	if (!info->cpu)
		return no_memory(why);
	info->nr_cpus = count;
	for (i = 0; i < count; i++)
		memcpy(info->cpu[i], block + i * stride, known * sizeof(uint64_t));

	*used = word[NTRACE_INFO_HEADER_WORDS] + count * stride;
	return 0;
}

static int read_item(struct ntrace_info *info, uint32_t tag, const uint64_t *word, size_t len,
		     char *why)
{
	char *bytes;

	if (tag != NTRACE_INFO_TAG_ISA && tag != NTRACE_INFO_TAG_VDSO)
		return 0;

	bytes = calloc(1, len + 1);
	if (!bytes)
		return no_memory(why);
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

static int read_items(struct ntrace_info *info, const uint64_t *word, size_t nr, char *why)
{
	size_t len, words;
	int err;

	while (nr) {
		len = word[0] & 0xffffffff;
		words = 1 + (len + 7) / 8;
		if (words > nr)
			return refuse(why, "the file's AUXTRACE_INFO record is cut");
		err = read_item(info, word[0] >> 32, word + 1, len, why);
		if (err)
			return err;
		word += words;
		nr -= words;
	}
	return 0;
}

int ntrace_info_read(struct ntrace_info *info, const uint64_t *word, size_t nr, char *why)
{
	uint64_t used = 0;
	int err;

	err = read_header(info, word, nr, why);
	if (!err)
		err = read_cpus(info, word, nr, &used, why);
	if (!err)
		err = read_items(info, word + used, nr - used, why);
	return err;
}

void ntrace_info_free(struct ntrace_info *info)
{
	free(info->cpu);
	free(info->isa);
	free(info->vdso);
	memset(info, 0, sizeof(*info));
}

const uint64_t *ntrace_info_cpu(const struct ntrace_info *info, int cpu)
{
	unsigned int i;

	for (i = 0; i < info->nr_cpus; i++) {
		if ((int)info->cpu[i][NTRACE_INFO_CPU_NR] == cpu)
			return info->cpu[i];
	}
	return NULL;
}

/* --- clocks ----------------------------------------------------------------- */

uint64_t ntrace_info_ns(const struct ntrace_info *info, uint64_t ticks)
{
	const struct ntrace_conversion *c = &info->conversion;
	uint64_t whole, part;

	if (c->short_counter)
		ticks = c->cycles + ((ticks - c->cycles) & c->mask);
	whole = ticks >> c->shift;
	part  = ticks & ((1ULL << c->shift) - 1);
	return c->zero + whole * c->mult + ((part * c->mult) >> c->shift);
}

/* Nothing was traced before the clock began: return 0. */
uint64_t ntrace_info_ticks(const struct ntrace_info *info, uint64_t ns)
{
	const struct ntrace_conversion *c = &info->conversion;
	uint64_t since = ns - c->zero;

	if ((int64_t)since < 0)
		return 0;
	return ((since / c->mult) << c->shift) + ((since % c->mult) << c->shift) / c->mult;
}

/* Use the rate from a TIME_CONV record of perf record; @mark: the record's last bytes */
void ntrace_info_set_clock(struct ntrace_info *info, const struct ntrace_conversion *c,
			   const void *mark)
{
	if (!memcmp(mark, NTRACE_TIME_CONV_MARK, sizeof(NTRACE_TIME_CONV_MARK) - 1) && c->mult &&
	    c->shift < 64)
		info->conversion = *c;
}

/* --- output ----------------------------------------------------------------- */

static const struct {
	uint64_t bit;
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

static void print_cpu(const uint64_t *cpu)
{
	char sink[NTRACE_INFO_SINK_LEN + 1] = "";
	size_t i;

	unpack(sink, cpu + NTRACE_INFO_CPU_SINK, NTRACE_INFO_SINK_LEN);
	printf("  CPU %-3" PRIu64 "            hart %" PRIu64 ", N-Trace %" PRIu64 ".%" PRIu64
	       ", impl %#" PRIx64 ", SRC %" PRIu64 " in %" PRIu64 " bits, sink %s\n",
	       cpu[NTRACE_INFO_CPU_NR], cpu[NTRACE_INFO_CPU_HART],
	       cpu[NTRACE_INFO_CPU_PROTOCOL] >> 4, cpu[NTRACE_INFO_CPU_PROTOCOL] & 0xf,
	       cpu[NTRACE_INFO_CPU_IMPL], cpu[NTRACE_INFO_CPU_SRCID],
	       cpu[NTRACE_INFO_CPU_SRCBITS], sink[0] ? sink : "unknown");
	if (cpu[NTRACE_INFO_CPU_PROFILE])
		printf("    Profile          %s\n",
		       nt_profile_name(cpu[NTRACE_INFO_CPU_PROFILE]) ?
		       nt_profile_name(cpu[NTRACE_INFO_CPU_PROFILE]) : "unknown");
	if (cpu[NTRACE_INFO_CPU_ADDR_BITS])
		printf("    Address bits     %" PRIu64 "\n", cpu[NTRACE_INFO_CPU_ADDR_BITS]);
	printf("    Timestamps       mode %" PRIu64 ", %" PRIu64 " bits, prescale %" PRIu64
	       ", %" PRIu64 " Hz, clock %s\n",
	       cpu[NTRACE_INFO_CPU_TS_MODE], cpu[NTRACE_INFO_CPU_TS_WIDTH],
	       cpu[NTRACE_INFO_CPU_TS_PRESCALE], cpu[NTRACE_INFO_CPU_TS_FREQ],
	       cpu[NTRACE_INFO_CPU_TS_CLOCK] == NTRACE_TS_CLOCK_TIME ? "time" : "none");
	printf("    Capabilities    ");
	for (i = 0; i < sizeof(cap_names) / sizeof(cap_names[0]); i++) {
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
	printf("  ISA                %s\n", info->isa ? info->isa : "unknown");
	printf("  vDSO               %zu bytes\n", info->vdso_size);
	if (info->have_clock)
		printf("  Clock              zero %" PRIu64 ", mult %u, shift %u%s\n",
		       info->conversion.zero, info->conversion.mult, info->conversion.shift,
		       info->conversion.short_counter ? ", short" : "");
	else
		printf("  Clock              does not convert\n");
	for (i = 0; i < info->nr_cpus; i++)
		print_cpu(info->cpu[i]);
}

/* trTeInstFeatures; HW_ID contains bits 10:0 */
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
	/* The standards define both an enable bit and a mode for this feature. */
	params->retstack = features >> FEATURE_RETURN_MODE_SHIFT & FEATURE_RETURN_MODE_MASK;
	if (!params->retstack && features & FEATURE_IMPLICIT_RETURN)
		params->retstack = 3;
}

/* trTeInstMode; other modes are found from the messages */
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

uint64_t ntrace_info_kernel_start(const struct ntrace_info *info)
{
	return info->xlen == 32 ? NT_RV32_TASK_SIZE : 1ULL << 63;
}

/* Widths of fields that some encoders do not implement in full; 0: all bits, or unknown */
static void read_widths(const struct ntrace_info *info, int cpu_nr, struct nt_params *params)
{
	const uint64_t *cpu = ntrace_info_cpu(info, cpu_nr);
	uint64_t addr = cpu ? cpu[NTRACE_INFO_CPU_ADDR_BITS] : 0;
	uint64_t time = cpu ? cpu[NTRACE_INFO_CPU_TS_WIDTH] : 0;

	params->addr_bits = addr < info->xlen ? addr : 0;
	params->tstamp_bits = time >= 8 && time <= 64 ? time : 64;
}

static int check_version(unsigned int version, char *why)
{
	if (version == NTRACE_HW_ID_VERSION_1 || version == NTRACE_HW_ID_VERSION_2)
		return 0;
	return refuse(why,
		      "AUX_OUTPUT_HW_ID version %u is of a newer kernel: this perf reads version %u",
		      version, NTRACE_HW_ID_VERSION_2);
}

/* How messages deviate from the standard; HW_ID says whether they do. */
static int read_profile(const struct ntrace_info *info, uint64_t hw_id, int cpu_nr,
			struct nt_params *params, char *why)
{
	const uint64_t *cpu = ntrace_info_cpu(info, cpu_nr);
	uint64_t profile = cpu ? cpu[NTRACE_INFO_CPU_PROFILE] : 0;

	if (GET(NTRACE_HW_ID_VERSION, hw_id) == NTRACE_HW_ID_VERSION_1)
		return 0;
	if (profile == NT_PROFILE_1_0 || profile >= NTRACE_PROFILE_UNKNOWN ||
	    !nt_profile_name(profile))
		return refuse(why,
			      "CPU %d: its encoder's messages deviate from N-Trace 1.0, and the perf that recorded them does not say how: record with a newer perf",
			      cpu_nr);
	params->profile = profile;
	return 0;
}

/* The parameters for decoding trace of a CPU under an HW_ID */
int ntrace_info_params(const struct ntrace_info *info, uint64_t hw_id, int cpu,
		       struct nt_params *params, char *why)
{
	nt_params_init(params);
	params->xlen = info->xlen;
	params->src = -1;
	/* Recordings are decoded completely, even if a spinning hart produces few bytes. */
	params->work_per_byte = NT_WORK_UNLIMITED;
	/* An invalid ISA string leaves the defaults: only unambiguous encodings. */
	if (info->isa)
		nt_isa_parse(info->isa, params);
	params->xlen = info->xlen;

	if (check_version(GET(NTRACE_HW_ID_VERSION, hw_id), why) ||
	    read_profile(info, hw_id, cpu, params, why))
		return -EINVAL;
	params->high_from = ntrace_info_kernel_start(info);
	read_widths(info, cpu, params);
	params->srcbits = GET(NTRACE_HW_ID_SRCBITS, hw_id);
	params->timestamps = !!(hw_id & NTRACE_HW_ID_TIMESTAMP);
	params->mode = read_mode(GET(NTRACE_HW_ID_INSTMODE, hw_id));
	read_features(GET(NTRACE_HW_ID_FEATURES, hw_id), params);
	if (nt_params_check(params))
		return refuse(why, "AUX_OUTPUT_HW_ID %#" PRIx64 " has values that cannot be",
			      hw_id);
	return 0;
}

/* --- parameters of an event without HW_ID ------------------------------------ */

static unsigned int features(uint64_t config)
{
	unsigned int retstack = GET(NTRACE_CONFIG_RETSTACK, config);

	return (config & NTRACE_CONFIG_SEQJUMP ? FEATURE_SEQUENTIAL_JUMP : 0) |
	       (config & NTRACE_CONFIG_REPEATHIST ? FEATURE_REPEATED_HISTORY : 0) |
	       (config & NTRACE_CONFIG_ALLJUMPS ? FEATURE_ALL_JUMPS : 0) |
	       (config & NTRACE_CONFIG_EXTADDR ? FEATURE_EXTEND_ADDR_MSB : 0) |
	       (retstack ? FEATURE_IMPLICIT_RETURN : 0) | retstack << FEATURE_RETURN_MODE_SHIFT;
}

/*
 * Does another CPU have the same sink? For a sink that was chosen by name, only its number is
 * known: assume that it is shared, because a CPU's own sink need not be chosen.
 */
static bool has_shared_sink(const struct ntrace_info *info, const uint64_t *cpu, uint64_t sinkid)
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
 * The kernel reports the parameters of an event when a CPU first uses it. A file that begins later
 * (perf record --switch-output) lacks this report, but has the event's configuration and the
 * encoder's properties. The driver provides what was requested, or refuses it. Returns 0 if the CPU
 * is unknown, too.
 */
uint64_t ntrace_info_hw_id(const struct ntrace_info *info, const struct ntrace_asked *asked,
			   int cpu_nr)
{
	const uint64_t *cpu = ntrace_info_cpu(info, cpu_nr);
	bool btm, shared;

	if (!cpu)
		return 0;
	shared = has_shared_sink(info, cpu, asked->config2 & NTRACE_CONFIG2_SINKID);
	btm = asked->config & NTRACE_CONFIG_BTM || !(cpu[NTRACE_INFO_CPU_CAPS] & NTRACE_CAP_HTM);
	return PREP(NTRACE_HW_ID_VERSION,
			  cpu[NTRACE_INFO_CPU_PROFILE] == NT_PROFILE_1_0 ?
			  NTRACE_HW_ID_VERSION_1 : NTRACE_HW_ID_VERSION_2) |
	       PREP(NTRACE_HW_ID_INSTMODE, btm ? MODE_BTM : MODE_HTM) |
	       PREP(NTRACE_HW_ID_CONTEXT, !!(asked->config & NTRACE_CONFIG_CONTEXTID)) |
	       PREP(NTRACE_HW_ID_FEATURES, features(asked->config)) |
	       PREP(NTRACE_HW_ID_SRCBITS,
		    shared || cpu[NTRACE_INFO_CPU_CAPS] & NTRACE_CAP_SRC_ALWAYS ?
		    cpu[NTRACE_INFO_CPU_SRCBITS] & 0xf : 0) |
	       PREP(NTRACE_HW_ID_TIMESTAMP, !!(asked->config & NTRACE_CONFIG_TIMESTAMP)) |
	       PREP(NTRACE_HW_ID_PRIV_U, !asked->exclude_user) |
	       PREP(NTRACE_HW_ID_PRIV_S, !asked->exclude_kernel) |
	       PREP(NTRACE_HW_ID_PRIV_M, !!(asked->config & NTRACE_CONFIG_MMODE)) |
	       PREP(NTRACE_HW_ID_SRCID, cpu[NTRACE_INFO_CPU_SRCID] & 0xfff) |
	       PREP(NTRACE_HW_ID_TSPRESCALE, cpu[NTRACE_INFO_CPU_TS_PRESCALE] & 3) |
	       PREP(NTRACE_HW_ID_PRIVATE, !shared);
}
