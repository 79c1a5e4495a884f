// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random events for the ntrace PMU: they are opened or refused, mapped, enabled and closed.
 * Afterwards the PMU must be in its initial state.
 *
 *	attr-fuzz [COUNT [SEED [others]]]
 *
 * With "others", other programs use the PMU, too: then the test does not check how many events were
 * opened and whether any are left. The same seed gives the same events. Each attribute is a valid
 * one with some random fields, so that most of them get past the first checks.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <linux/ntrace.h>

#include "event.h"
#include "hold.h"

#define ERRNOS		256
/* One in FEW events, at most FEW_MOST, runs without hold() */
#define FEW		5
#define FEW_MOST	5000UL
/* After this many events, run as fast as possible */
#define MANY		50000UL
#define TURN		1000UL
#define PROGRESS	50000UL

static uint64_t state;

static uint64_t random64(void)
{
	uint64_t z = state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;

	return z ^ z >> 31;
}

/* One in n */
static bool chance(unsigned int n)
{
	return !(random64() % n);
}

/* A value with few bits, with many bits, or a limit */
static uint64_t random_value(void)
{
	switch (random64() % 4) {
	case 0:
		return 1ULL << random64() % 64;
	case 1:
		return random64() & random64() & random64();
	case 2:
		return random64();
	default:
		return (uint64_t)(chance(2) ? 0 : -1) + random64() % 3;
	}
}

static const uint64_t config_bits =
	NTRACE_CONFIG_BTM | NTRACE_CONFIG_CONTEXTID | NTRACE_CONFIG_TIMESTAMP |
	NTRACE_CONFIG_RETSTACK | NTRACE_CONFIG_SEQJUMP | NTRACE_CONFIG_REPEATHIST |
	NTRACE_CONFIG_EXTADDR | NTRACE_CONFIG_ALLJUMPS | NTRACE_CONFIG_STALL |
	NTRACE_CONFIG_MMODE | NTRACE_CONFIG_SYNCMODE | NTRACE_CONFIG_SYNCMAX;

static void sampling_attr(struct perf_event_attr *attr, int type)
{
	*attr = plain_attr(type);
	attr->sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_CPU;
	attr->sample_id_all = 1;
}

/* The bit-fields after read_format have no address. */
static __u64 *attr_flags(struct perf_event_attr *attr)
{
	return &attr->read_format + 1;
}

static void random_attr(struct perf_event_attr *attr, int type)
{
	sampling_attr(attr, type);
	if (!chance(4))
		attr->config = random64() & random64() & config_bits;
	/* Without hold(), contextid is slow: its probe waits for a grace period. */
	if (!chance(8))
		attr->config &= ~NTRACE_CONFIG_CONTEXTID;
	if (chance(8))
		attr->config ^= random_value();
	if (chance(8))
		attr->config1 = random_value();
	if (chance(8))
		attr->config2 = random_value();
#ifdef PERF_ATTR_SIZE_VER8
	if (chance(16))
		attr->config3 = random_value();
#endif
	if (chance(8))
		attr->sample_type = random_value();
	if (chance(8))
		attr->read_format = random_value();
	if (chance(4))
		*attr_flags(attr) ^= 1ULL << random64() % 40;
	if (chance(16))
		*attr_flags(attr) ^= random_value();
	if (chance(8))
		attr->sample_period = random_value();
	if (chance(16))
		attr->wakeup_events = random_value();
	if (chance(16))
		attr->bp_type = random_value();
	if (chance(16))
		attr->aux_watermark = random_value();
	if (chance(16))
		attr->aux_sample_size = random_value();
	if (chance(32))
		attr->branch_sample_type = random_value();
	if (chance(32))
		attr->clockid = random_value();
	if (chance(32))
		attr->size = random_value();
}

static int random_open(struct perf_event_attr *attr, int cpus)
{
	int cpu = (int)(random64() % (cpus + 2)) - 1;
	pid_t pid = chance(3) ? -1 : 0;
	unsigned long flags = PERF_FLAG_FD_CLOEXEC;

	if (pid < 0 && cpu < 0)
		cpu = 0;
	if (chance(32))
		cpu = random_value();
	if (chance(64))
		flags = random_value();

	return syscall(SYS_perf_event_open, attr, pid, cpu, -1, flags);
}

/* Use an event like perf does, with random sizes and order */
static bool random_use(int fd)
{
	static const char *const filters[] = {
		"filter 0x10000/0x100", "start 0x10000", "stop 0x20000", "filter 0/0",
		"tracestop 1/2", "", "filter x@y",
	};
	size_t data = PAGE * (1 + (1UL << random64() % 4));
	size_t aux_size = PAGE << random64() % 8;
	struct perf_event_mmap_page *page;
	void *aux = MAP_FAILED;
	bool mapped = false;

	if (chance(4))
		ioctl(fd, PERF_EVENT_IOC_SET_FILTER,
		      filters[random64() % (sizeof(filters) / sizeof(filters[0]))]);
	page = mmap(NULL, data, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page != MAP_FAILED) {
		page->aux_offset = data;
		page->aux_size = chance(8) ? random_value() : aux_size;
		aux = mmap(NULL, aux_size, chance(4) ? PROT_READ : PROT_READ | PROT_WRITE,
			   MAP_SHARED, fd, data);
		mapped = aux != MAP_FAILED;
	}
	if (chance(8))
		ioctl(fd, PERF_EVENT_IOC_PERIOD, &(uint64_t){ random_value() });
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	for (volatile int i = 0; i < 300; i++)
		;
	if (chance(2))
		ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	/* the AUX area may be unmapped before the fd is closed, or after it */
	if (mapped && chance(2)) {
		munmap(aux, aux_size);
		mapped = false;
	}
	close(fd);
	if (mapped)
		munmap(aux, aux_size);
	if (page != MAP_FAILED)
		munmap(page, data);

	return aux != MAP_FAILED;
}

static unsigned long refusals[ERRNOS], opened, traced;

static void fuzz(unsigned long count, int type, bool alone)
{
	unsigned long few = count / FEW < FEW_MOST ? count / FEW : FEW_MOST;
	int cpus = sysconf(_SC_NPROCESSORS_CONF);	/* slow: reads files */
	struct perf_event_attr attr;
	int held = -1;

	for (unsigned long i = 0; i < count; i++) {
		int fd;

		if (alone && i == few)
			held = hold();
		if (i && !(i % PROGRESS)) {
			printf("# %lu events, %lu opened\n", i, opened);
			fflush(stdout);
		}
		if (alone && i >= MANY && !(i % TURN))
			hold_on_cpu(i / TURN % cpus);
		random_attr(&attr, type);
		fd = random_open(&attr, cpus);
		if (fd < 0) {
			refusals[errno % ERRNOS]++;
			continue;
		}
		opened++;
		/* Mapping is a hundred times slower than opening, so map only a few events. */
		if (chance(i < MANY ? 8 : 128))
			traced += random_use(fd);
		else
			close(fd);
	}
	if (alone)
		let_go(held);
}

/*
 * Check that only known errors occurred. ENOMEM: attr.aux_sample_size and the like are too large.
 */
static bool words_are_known(void)
{
	static const int known[] = {
		EINVAL, EOPNOTSUPP, EBUSY, E2BIG, ENODEV, ENOENT, EACCES, EPERM,
		EOVERFLOW, ENOMEM, EBADF, ESRCH, ENOSPC,
	};
	bool good = true;

	for (int e = 0; e < ERRNOS; e++) {
		bool found = false;

		for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
			found |= e == known[i];
		if (refusals[e])
			printf("# %lu refused: %s\n", refusals[e], strerror(e));
		good &= found || !refusals[e];
	}

	return good;
}

static bool idle(void)
{
	/* The last event is freed after a grace period. */
	for (int i = 0; i < 600; i++) {
		if (no_users())
			return true;
		usleep(100 * 1000);
	}

	return false;
}

static bool plain_opens(int type)
{
	struct perf_event_attr attr;
	int fd;

	sampling_attr(&attr, type);
	fd = event_open(&attr, 0, -1);
	if (fd < 0)
		return false;
	close(fd);

	return true;
}

static int result(int number, bool good, const char *what)
{
	printf("%sok %d - %s\n", good ? "" : "not ", number, what);
	fflush(stdout);

	return !good;
}

int main(int argc, char **argv)
{
	unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 0) : 20000;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : (uint64_t)time(NULL);
	int type = pmu_type_or_skip(), failed = 0;
	bool alone = argc <= 3;
	struct timespec from, to;

	printf("1..%d\n# repeat: attr-fuzz %lu %llu\n", alone ? 4 : 1, count,
	       (unsigned long long)seed);
	fflush(stdout);
	state = seed;
	clock_gettime(CLOCK_MONOTONIC, &from);
	fuzz(count, type, alone);
	clock_gettime(CLOCK_MONOTONIC, &to);
	printf("# %lu events: %lu opened, %lu of them with an AUX area, in %ld s\n", count,
	       opened, traced, (long)(to.tv_sec - from.tv_sec));

	failed += result(1, words_are_known(), "those refused are so in words that perf knows");
	if (!alone)
		return failed;
	failed += result(2, opened > count / 50 && opened < count,
			 "some events are opened, some refused");
	failed += result(3, idle(), "no event is left behind");
	failed += result(4, plain_opens(type), "a plain event can still be opened");

	return failed ? 1 : 0;
}
