/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The first event sets up, and the last one removes, things that take much longer than an event
 * itself: perf's hooks in the scheduler and the probe of sched_switch, which patch kernel text and
 * wait for grace periods, and components that are reset. Between hold() and let_go() all of these
 * are kept, for tests that open very many events.
 */
#ifndef SELFTESTS_HOLD_H
#define SELFTESTS_HOLD_H

#include <dirent.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "event.h"

#define HOLD_SWITCH	"/sys/kernel/tracing/events/sched/sched_switch/id"

/* "on": all components are always on; "auto": components are on while they are used */
static inline void hold_power(const char *control)
{
	struct dirent *entry;
	DIR *dir = opendir(DRIVER);
	char path[512];
	FILE *f;

	while (dir && (entry = readdir(dir))) {
		if (!strstr(entry->d_name, ".trace"))
			continue;
		snprintf(path, sizeof(path), DRIVER "%s/power/control", entry->d_name);
		f = fopen(path, "w");
		if (!f)
			continue;
		fputs(control, f);
		fclose(f);
	}
	if (dir)
		closedir(dir);
}

/*
 * Are there no events? Then the module has no users. A built-in driver does not count users, but
 * then its components are off.
 */
static inline bool no_users(void)
{
	long users = read_number("/sys/module/ntrace/refcnt");
	char path[512], status[16];
	struct dirent *entry;
	int components = 0;
	bool off = true;
	DIR *dir;
	FILE *f;

	if (users >= 0)
		return !users;
	dir = opendir(DRIVER);
	while (dir && (entry = readdir(dir))) {
		if (!strstr(entry->d_name, ".trace"))
			continue;
		snprintf(path, sizeof(path), DRIVER "%s/power/runtime_status", entry->d_name);
		f = fopen(path, "r");
		off &= f && fgets(status, sizeof(status), f) && !strcmp(status, "suspended\n");
		components++;
		if (f)
			fclose(f);
	}
	if (dir)
		closedir(dir);

	return off && components;
}

/*
 * An event of another PMU keeps perf's hooks and the probe like an event of ntrace, but does not
 * make ntrace's events fail with EBUSY. Returns its fd.
 */
static inline int hold(void)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.disabled = 1,
	};
	FILE *f = fopen(HOLD_SWITCH, "r");
	unsigned long id;

	if (f && fscanf(f, "%lu", &id) == 1) {
		attr.type = PERF_TYPE_TRACEPOINT;
		attr.config = id;
	}
	if (f)
		fclose(f);
	hold_power("on");

	return syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static inline void let_go(int fd)
{
	if (fd >= 0)
		close(fd);
	hold_power("auto");
}

/*
 * Stay on one CPU, because migration at each wakeup would keep all CPUs busy. Ignore the error if
 * the CPU is offline.
 */
static inline void hold_on_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

#endif
