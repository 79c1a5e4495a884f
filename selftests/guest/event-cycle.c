// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events opened, mapped, used and closed, again and again: nothing piles up.
 *
 *	event-cycle [COUNT]
 *
 * Kinds of events take turns: of a task, of a CPU, never switched on, with an area, with a snapshot.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PMU		"/sys/bus/event_source/devices/ntrace/"
#define PAGE		4096UL
#define AUX		(64 * 1024UL)
#define KINDS		4

static long read_number(const char *path)
{
	FILE *f = fopen(path, "r");
	long value;

	if (!f)
		return -1;
	if (fscanf(f, "%li", &value) != 1)
		value = -1;
	fclose(f);

	return value;
}

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

/* Bytes of trace, or -1 */
static long trace(int fd, int prot)
{
	struct perf_event_mmap_page *page = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	long head = -1;
	void *aux;

	if (page == MAP_FAILED)
		return -1;
	page->aux_offset = 3 * PAGE;
	page->aux_size = AUX;
	aux = mmap(NULL, AUX, prot, MAP_SHARED, fd, 3 * PAGE);
	if (aux != MAP_FAILED) {
		ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
		for (volatile int i = 0; i < 1000; i++)
			;
		ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
		head = __atomic_load_n(&page->aux_head, __ATOMIC_ACQUIRE);
		munmap(aux, AUX);
	}
	munmap(page, 3 * PAGE);

	return head;
}

/* false: this one did not work */
static bool cycle(int type, unsigned int kind)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = type,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.sample_period = 1,
	};
	bool cpu = kind == 1, used = kind != 2;
	int fd = syscall(SYS_perf_event_open, &attr, cpu ? -1 : 0, cpu ? 0 : -1, -1, PERF_FLAG_FD_CLOEXEC);
	long bytes = 1;

	if (fd < 0)
		return false;
	if (used)
		bytes = trace(fd, kind == 3 ? PROT_READ : PROT_READ | PROT_WRITE);
	close(fd);

	/* an event of CPU 0 may see nothing of a task elsewhere */
	return bytes > 0 || (cpu && !bytes);
}

int main(int argc, char **argv)
{
	unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 0) : 1000, bad[KINDS] = {};
	int type = read_number(PMU "type"), failed = 0;
	long before, after = 0, least = (long)count / 2 + 4096;
	time_t from = time(NULL);

	if (type < 0) {
		printf("1..0 # SKIP no ntrace PMU\n");
		return 4;
	}
	printf("1..2\n");
	/* what is allocated once has been */
	for (unsigned int i = 0; i < 100; i++)
		cycle(type, i % KINDS);
	before = meminfo("MemAvailable");
	for (unsigned long i = 0; i < count; i++)
		bad[i % KINDS] += !cycle(type, i % KINDS);
	/* Buffers go after a grace period, a few at a time. A page lost in each cycle stays lost. */
	for (int i = 0; i < 30; i++) {
		sleep(1);
		after = meminfo("MemAvailable");
		if (after >= before - least)
			break;
	}
	printf("# %lu events opened and closed in %ld s; memory available %ld KiB before, %ld after\n", count,
	       (long)(time(NULL) - from), before, after);
	for (unsigned int i = 0; i < KINDS; i++) {
		if (bad[i])
			printf("# %lu of kind %u did not work: %s\n", bad[i], i, strerror(errno));
		failed += !!bad[i];
	}
	printf("%sok 1 - each event is opened, used and closed\n", failed ? "not " : "");
	if (after < before - least) {
		printf("not ");
		failed++;
	}
	printf("ok 2 - memory is what it was\n");

	return failed ? 1 : 0;
}
