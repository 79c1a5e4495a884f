// SPDX-License-Identifier: GPL-2.0-only
/*
 * Opens, maps, uses and closes events, again and again: memory must not leak.
 *
 *	event-cycle [COUNT]
 *
 * The kinds of events alternate: of a task, of a CPU, never enabled, with an area, with a snapshot.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "event.h"
#include "hold.h"

#define AUX		(64 * 1024UL)
#define KINDS		4
/* Number of events without hold() */
#define FEW		1000UL

/* MemAvailable and the like, in KiB */
static long meminfo(const char *name)
{
	FILE *f = fopen("/proc/meminfo", "r");
	char line[128];
	long value = -1;

	while (f && value < 0 && fgets(line, sizeof(line), f))
		if (!strncmp(line, name, strlen(name)))
			value = strtol(line + strlen(name) + 1, NULL, 10);
	if (f)
		fclose(f);

	return value;
}

/*
 * The pages on the allocator's per-CPU lists, in KiB. MemAvailable does not count them, events make
 * the lists long, and an idle CPU keeps them.
 */
static long kept_by_cpus(void)
{
	FILE *f = fopen("/proc/zoneinfo", "r");
	long pages = 0, n;
	char line[128];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, " count: %ld", &n) == 1)
			pages += n;
	if (f)
		fclose(f);

	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static long available(void)
{
	return meminfo("MemAvailable") + kept_by_cpus();
}

/* Show where memory is used, if some is missing */
static void show_meminfo(void)
{
	FILE *f = fopen("/proc/meminfo", "r");
	char line[128];

	while (f && fgets(line, sizeof(line), f))
		printf("# after: %s", line);
	if (f)
		fclose(f);
}

/* Returns false if the event did not work */
static bool cycle(int type, unsigned int kind)
{
	struct perf_event_attr attr = plain_attr(type);
	bool cpu = kind == 1, used = kind != 2;
	int fd = event_open(&attr, cpu ? -1 : 0, cpu ? 0 : -1);
	long bytes = 1;

	if (fd < 0)
		return false;
	if (used)
		bytes = trace_shortly(fd, AUX, kind == 3 ? PROT_READ : PROT_READ | PROT_WRITE);
	close(fd);

	/* an event of CPU 0 may have no trace if the task runs on another CPU */
	return bytes > 0 || (cpu && !bytes);
}

int main(int argc, char **argv)
{
	unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 0) : 1000, bad[KINDS] = {};
	int type = pmu_type_or_skip(), failed = 0;
	long before, kept, after = 0, least = (long)count / 2 + 4096;
	time_t from = time(NULL);
	int held = -1;

	printf("1..2\n");
	/* warm up, so that everything that is allocated only once is allocated */
	for (unsigned int i = 0; i < 100; i++)
		cycle(type, i % KINDS);
	before = available();
	kept = kept_by_cpus();
	for (unsigned long i = 0; i < count; i++) {
		if (i == FEW)
			held = hold();
		bad[i % KINDS] += !cycle(type, i % KINDS);
	}
	if (count > FEW)
		let_go(held);
	/*
	 * Buffers are freed after a grace period, a few at a time, so wait for that. A page that
	 * leaks in each cycle never comes back.
	 */
	for (int i = 0; i < 120; i++) {
		sleep(1);
		after = available();
		if (after >= before - least)
			break;
	}
	printf("# %lu events opened and closed in %ld s; memory available %ld KiB before, %ld after\n",
	       count, (long)(time(NULL) - from), before, after);
	printf("# of these on per-CPU lists: %ld KiB before, %ld after\n", kept, kept_by_cpus());
	for (unsigned int i = 0; i < KINDS; i++) {
		if (bad[i])
			printf("# %lu of kind %u did not work: %s\n", bad[i], i, strerror(errno));
		failed += !!bad[i];
	}
	printf("%sok 1 - each event is opened, used and closed\n", failed ? "not " : "");
	if (after < before - least) {
		show_meminfo();
		printf("not ");
		failed++;
	}
	printf("ok 2 - memory is what it was\n");

	return failed ? 1 : 0;
}
