// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writes PERF_RECORD_AUXTRACE_INFO: everything about this machine that
 * decoding on another one will want to know. See util/ntrace-info.h.
 * No part of perf: the ntrace command has this file, too.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "../../../util/ntrace-decoder/ntrace.h"
#include "../../../util/ntrace-info.h"
#include "ntrace-pmu.h"

#define COUNT(array)	(sizeof(array) / sizeof((array)[0]))

typedef void (*say_fn)(bool error, const char *text);

/* A vDSO is a few pages; far more would not fit into one record. */
#define VDSO_MAX	(32 * 1024)

static int words_add(struct ntrace_words *w, const uint64_t *word, size_t nr)
{
	size_t room = w->room > 64 ? w->room : 64;
	uint64_t *bigger;

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

static void pack(uint64_t *word, const void *bytes, size_t len)
{
	const uint8_t *b = bytes;
	size_t i;

	for (i = 0; i < len; i++)
		word[i / 8] |= (uint64_t)b[i] << (i % 8 * 8);
}

static int words_add_item(struct ntrace_words *w, uint32_t tag, const void *bytes, size_t len)
{
	size_t nr = 1 + (len + 7) / 8;
	uint64_t *word = calloc(nr, sizeof(*word));
	int err;

	if (!word)
		return -ENOMEM;
	word[0] = (uint64_t)tag << 32 | len;
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

static uint64_t read_profile(const char *name, say_fn say)
{
	char text[160];
	unsigned int i;

	for (i = 0; nt_profile_name(i); i++) {
		if (!strcmp(nt_profile_name(i), name))
			return i;
	}
	snprintf(text, sizeof(text),
		 "%s: encoders of the profile %s are not known here: a newer version may decode their trace",
		 NTRACE_PMU_NAME, name);
	say(false, text);
	return NTRACE_PROFILE_UNKNOWN;
}

/* A word of a file of that CPU's; false: it has none. */
static bool read_word(int cpu, const char *name, char *word, size_t size)
{
	char file[64];

	snprintf(file, sizeof(file), "cpu%d/%s", cpu, name);
	return ntrace_pmu_line(file, word, size) > 0;
}

static void read_cpu(int cpu, uint64_t *block, say_fn say)
{
	char file[64], text[NTRACE_INFO_SINK_LEN + 1];
	size_t i;

	block[NTRACE_INFO_CPU_NR] = cpu;
	block[NTRACE_INFO_CPU_FORMAT] = NTRACE_FORMAT_NTRACE;
	/* The driver takes no encoder that speaks anything but 1.0. */
	block[NTRACE_INFO_CPU_PROTOCOL] = 0x10;

	for (i = 0; i < COUNT(cpu_attrs); i++) {
		snprintf(file, sizeof(file), "cpu%d/%s", cpu, cpu_attrs[i].name);
		ntrace_pmu_number(file, false, &block[cpu_attrs[i].word]);
	}

	if (read_word(cpu, "ts_clock", text, sizeof(text)) && !strcmp(text, "time"))
		block[NTRACE_INFO_CPU_TS_CLOCK] = NTRACE_TS_CLOCK_TIME;
	if (read_word(cpu, "profile", text, sizeof(text)))
		block[NTRACE_INFO_CPU_PROFILE] = read_profile(text, say);
	if (read_word(cpu, "sink", text, sizeof(text)))
		pack(block + NTRACE_INFO_CPU_SINK, text, strlen(text));
}

static int add_cpus(struct ntrace_words *w, say_fn say)
{
	int cpu, err, nr = sysconf(_SC_NPROCESSORS_CONF);
	uint64_t caps = ntrace_terms_caps();
	char file[64];

	for (cpu = 0; cpu < nr; cpu++) {
		uint64_t block[NTRACE_INFO_CPU_MAX] = { 0 };

		snprintf(file, sizeof(file), "cpu%d/hartid", cpu);
		if (!ntrace_pmu_exists(file))
			continue;

		read_cpu(cpu, block, say);
		block[NTRACE_INFO_CPU_CAPS] = caps;
		err = words_add(w, block, COUNT(block));
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

int ntrace_info_build(uint32_t type, uint64_t flags, struct ntrace_words *out, say_fn say)
{
	uint64_t header[NTRACE_INFO_HEADER_MAX] = {
		[NTRACE_INFO_VERSION]	   = NTRACE_INFO_MAJOR << 16 | NTRACE_INFO_MINOR,
		[NTRACE_INFO_HEADER_WORDS] = NTRACE_INFO_HEADER_MAX,
		[NTRACE_INFO_CPU_WORDS]	   = NTRACE_INFO_CPU_MAX,
		[NTRACE_INFO_PMU_TYPE]	   = type,
		[NTRACE_INFO_FLAGS]	   = flags,
		[NTRACE_INFO_XLEN]	   = 8 * sizeof(long),
	};
	int err;

	out->nr = 0;
	err = words_add(out, header, COUNT(header));
	if (!err)
		err = add_cpus(out, say);
	if (!err && !out->word[NTRACE_INFO_NR_CPUS]) {
		say(true, NTRACE_PMU_NAME ": no CPU of this machine has a trace encoder");
		err = -ENODEV;
	}
	if (!err)
		err = add_isa(out);
	if (!err)
		err = add_vdso(out);
	return err;
}
