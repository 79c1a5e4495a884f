// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writes PERF_RECORD_AUXTRACE_INFO: everything about this machine that
 * decoding on another one will want to know. See util/ntrace-info.h.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>
#include <linux/kernel.h>

#include "../../../util/debug.h"
#include "../../../util/pmu.h"
#include "../../../util/ntrace-decoder/ntrace.h"
#include "../../../util/ntrace-info.h"
#include "ntrace.h"

/* A vDSO is a few pages; far more would not fit into one record. */
#define VDSO_MAX	(32 * 1024)

static int words_add(struct ntrace_words *w, const u64 *word, size_t nr)
{
	size_t room = max_t(size_t, w->room, 64);
	u64 *bigger;

	while (room < w->nr + nr)
		room *= 2;
	if (room > w->room) {
		bigger = realloc(w->word, room * sizeof(*bigger));
		if (!bigger)
			return -ENOMEM;
		w->word = bigger;
		w->room = room;
	}
	memcpy(w->word + w->nr, word, nr * sizeof(*word));
	w->nr += nr;
	return 0;
}

static void pack(u64 *word, const void *bytes, size_t len)
{
	const u8 *b = bytes;
	size_t i;

	for (i = 0; i < len; i++)
		word[i / 8] |= (u64)b[i] << (i % 8 * 8);
}

static int words_add_item(struct ntrace_words *w, u32 tag, const void *bytes, size_t len)
{
	size_t nr = 1 + (len + 7) / 8;
	u64 *word = calloc(nr, sizeof(*word));
	int err;

	if (!word)
		return -ENOMEM;
	word[0] = (u64)tag << 32 | len;
	pack(word + 1, bytes, len);
	err = words_add(w, word, nr);
	free(word);
	return err;
}

/* What the kernel reports of one encoder, in the words' order */
static const struct {
	int word;
	const char *name;
} cpu_attrs[] = {
	{ NTRACE_INFO_CPU_HART,		"hartid" },
	{ NTRACE_INFO_CPU_IMPL,		"impl" },
	{ NTRACE_INFO_CPU_SRCID,	"srcid" },
	{ NTRACE_INFO_CPU_SRCBITS,	"srcbits" },
	{ NTRACE_INFO_CPU_TS_MODE,	"ts_mode" },
	{ NTRACE_INFO_CPU_TS_WIDTH,	"ts_width" },
	{ NTRACE_INFO_CPU_TS_PRESCALE,	"ts_prescale" },
	{ NTRACE_INFO_CPU_TS_FREQ,	"ts_freq" },
	{ NTRACE_INFO_CPU_ADDR_BITS,	"addrbits" },
};

static u64 read_profile(const char *name)
{
	unsigned int i;

	for (i = 0; nt_profile_name(i); i++) {
		if (!strcmp(nt_profile_name(i), name))
			return i;
	}
	pr_warning("%s: this perf does not know encoders of the profile %s\n", NTRACE_PMU_NAME,
		   name);
	return NTRACE_PROFILE_UNKNOWN;
}

static void read_cpu(struct perf_pmu *pmu, int cpu, u64 *block)
{
	char path[64], text[NTRACE_INFO_SINK_LEN + 1];
	unsigned long long val;
	size_t i;

	block[NTRACE_INFO_CPU_NR] = cpu;
	block[NTRACE_INFO_CPU_FORMAT] = NTRACE_FORMAT_NTRACE;
	/* The driver takes no encoder that speaks anything but 1.0. */
	block[NTRACE_INFO_CPU_PROTOCOL] = 0x10;

	for (i = 0; i < ARRAY_SIZE(cpu_attrs); i++) {
		snprintf(path, sizeof(path), "cpu%d/%s", cpu, cpu_attrs[i].name);
		if (perf_pmu__scan_file(pmu, path, "%lli", &val) == 1)
			block[cpu_attrs[i].word] = val;
	}

	snprintf(path, sizeof(path), "cpu%d/ts_clock", cpu);
	if (perf_pmu__scan_file(pmu, path, "%32s", text) == 1 && !strcmp(text, "time"))
		block[NTRACE_INFO_CPU_TS_CLOCK] = NTRACE_TS_CLOCK_TIME;

	snprintf(path, sizeof(path), "cpu%d/profile", cpu);
	if (perf_pmu__scan_file(pmu, path, "%32s", text) == 1)
		block[NTRACE_INFO_CPU_PROFILE] = read_profile(text);

	snprintf(path, sizeof(path), "cpu%d/sink", cpu);
	if (perf_pmu__scan_file(pmu, path, "%32s", text) == 1)
		pack(block + NTRACE_INFO_CPU_SINK, text, strlen(text));
}

static int add_cpus(struct perf_pmu *pmu, struct ntrace_words *w)
{
	int cpu, err, nr = sysconf(_SC_NPROCESSORS_CONF);
	u64 caps = ntrace_config_caps(pmu);
	char path[64];

	for (cpu = 0; cpu < nr; cpu++) {
		u64 block[NTRACE_INFO_CPU_MAX] = { 0 };

		snprintf(path, sizeof(path), "cpu%d/hartid", cpu);
		if (!perf_pmu__file_exists(pmu, path))
			continue;

		read_cpu(pmu, cpu, block);
		block[NTRACE_INFO_CPU_CAPS] = caps;
		err = words_add(w, block, ARRAY_SIZE(block));
		if (err)
			return err;
		w->word[NTRACE_INFO_NR_CPUS]++;
	}
	return 0;
}

static int add_isa(struct ntrace_words *w)
{
	char *line = NULL, *isa;
	size_t room = 0;
	int err = 0;
	FILE *f;

	f = fopen("/proc/cpuinfo", "r");
	if (!f)
		return 0;

	while (getline(&line, &room, f) > 0) {
		if (strncmp(line, "isa", 3) || !strchr(line, ':'))
			continue;
		isa = strchr(line, ':') + 1;
		isa += strspn(isa, " \t");
		isa[strcspn(isa, "\n")] = '\0';
		err = words_add_item(w, NTRACE_INFO_TAG_ISA, isa, strlen(isa));
		break;
	}
	free(line);
	fclose(f);
	return err;
}

/* Every process has the same one, this one too. */
static int add_vdso(struct ntrace_words *w)
{
	unsigned long start, end, vdso = getauxval(AT_SYSINFO_EHDR);
	char *line = NULL;
	size_t room = 0;
	int err = 0;
	FILE *f;

	f = vdso ? fopen("/proc/self/maps", "r") : NULL;
	if (!f)
		return 0;

	while (getline(&line, &room, f) > 0) {
		if (sscanf(line, "%lx-%lx", &start, &end) != 2 || start != vdso)
			continue;
		if (end - start <= VDSO_MAX)
			err = words_add_item(w, NTRACE_INFO_TAG_VDSO, (void *)start, end - start);
		break;
	}
	free(line);
	fclose(f);
	return err;
}

/* All words but those of the clock, which the caller knows. */
int ntrace_info_build(struct perf_pmu *pmu, u64 flags, struct ntrace_words *out)
{
	u64 header[NTRACE_INFO_HEADER_MAX] = {
		[NTRACE_INFO_VERSION]	   = NTRACE_INFO_MAJOR << 16 | NTRACE_INFO_MINOR,
		[NTRACE_INFO_HEADER_WORDS] = NTRACE_INFO_HEADER_MAX,
		[NTRACE_INFO_CPU_WORDS]	   = NTRACE_INFO_CPU_MAX,
		[NTRACE_INFO_PMU_TYPE]	   = pmu->type,
		[NTRACE_INFO_FLAGS]	   = flags,
		[NTRACE_INFO_XLEN]	   = __riscv_xlen,
	};
	int err;

	out->nr = 0;
	err = words_add(out, header, ARRAY_SIZE(header));
	if (!err)
		err = add_cpus(pmu, out);
	if (!err && !out->word[NTRACE_INFO_NR_CPUS]) {
		pr_err("%s: no CPU of this machine has a trace encoder\n", pmu->name);
		err = -ENODEV;
	}
	if (!err)
		err = add_isa(out);
	if (!err)
		err = add_vdso(out);
	return err;
}
