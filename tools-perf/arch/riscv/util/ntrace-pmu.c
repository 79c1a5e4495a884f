// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the kernel tells in sysfs of the PMU
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../util/ntrace-info.h"
#include "ntrace-pmu.h"

#define PMU_DIR		"/sys/bus/event_source/devices/" NTRACE_PMU_NAME "/"

static bool path_of(const char *file, char *path)
{
	return snprintf(path, PATH_MAX, PMU_DIR "%s", file) < PATH_MAX;
}

bool ntrace_pmu_exists(const char *file)
{
	char path[PATH_MAX];

	return path_of(file, path) && !access(path, F_OK);
}

int ntrace_pmu_line(const char *file, char *line, size_t size)
{
	char path[PATH_MAX], *got;
	FILE *f;

	f = path_of(file, path) ? fopen(path, "re") : NULL;
	if (!f)
		return -1;
	got = fgets(line, size, f);
	fclose(f);
	if (!got)
		return -1;
	line[strcspn(line, "\n")] = '\0';
	return strlen(line);
}

bool ntrace_pmu_number(const char *file, bool hex, uint64_t *val)
{
	char line[32], *end;

	if (ntrace_pmu_line(file, line, sizeof(line)) <= 0)
		return false;
	*val = strtoull(line, &end, hex ? 16 : 0);
	return end != line;
}

uint64_t ntrace_pmu_bits(const char *name, const char *word)
{
	unsigned int first, last;
	char file[64], line[64];
	size_t len = strlen(word);
	int n;

	snprintf(file, sizeof(file), "format/%s", name);
	if (strchr(name, '/') || ntrace_pmu_line(file, line, sizeof(line)) < 0 ||
	    strncmp(line, word, len) || line[len] != ':')
		return 0;
	n = sscanf(line + len + 1, "%u-%u", &first, &last);
	if (n == 1)
		last = first;
	if (n < 1 || first > last || last > 63)
		return 0;
	return (~0ULL >> (63 - (last - first))) << first;
}
