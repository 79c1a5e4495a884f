/* SPDX-License-Identifier: GPL-2.0-only */
/* Helpers that the guest's C tests share: the PMU, its events, a short trace */
#ifndef SELFTESTS_EVENT_H
#define SELFTESTS_EVENT_H

#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#define PMU		"/sys/bus/event_source/devices/ntrace/"
#define DRIVER		"/sys/bus/platform/drivers/ntrace/"
#define PAGE		4096UL

/* The number that a file begins with, or -1 */
static inline long read_number(const char *path)
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

/* The type of the PMU. Without a PMU, print a plan that skips all tests, and exit. */
static inline int pmu_type_or_skip(void)
{
	int type = read_number(PMU "type");

	if (type < 0) {
		printf("1..0 # SKIP no ntrace PMU\n");
		exit(4);
	}

	return type;
}

/* A disabled event for user space */
static inline struct perf_event_attr plain_attr(int type)
{
	return (struct perf_event_attr) {
		.size		= sizeof(struct perf_event_attr),
		.type		= type,
		.disabled	= 1,
		.exclude_kernel	= 1,
		.exclude_hv	= 1,
		.sample_period	= 1,
	};
}

static inline int event_open(struct perf_event_attr *attr, pid_t pid, int cpu)
{
	return syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Map an event with an AUX area and enable it for a moment. Returns bytes of trace, or -1 */
static inline long trace_shortly(int fd, size_t aux_size, int prot)
{
	struct perf_event_mmap_page *page = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE,
						 MAP_SHARED, fd, 0);
	long head = -1;
	void *aux;

	if (page == MAP_FAILED)
		return -1;
	page->aux_offset = 3 * PAGE;
	page->aux_size = aux_size;
	aux = mmap(NULL, aux_size, prot, MAP_SHARED, fd, 3 * PAGE);
	if (aux != MAP_FAILED) {
		ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
		for (volatile int i = 0; i < 1000; i++)
			;
		ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
		head = __atomic_load_n(&page->aux_head, __ATOMIC_ACQUIRE);
		munmap(aux, aux_size);
	}
	munmap(page, 3 * PAGE);

	return head;
}

#endif /* SELFTESTS_EVENT_H */
