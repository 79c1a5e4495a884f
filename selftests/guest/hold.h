/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What comes with the first event and goes with the last one takes much longer than an event does:
 * perf's hooks in the scheduler and the probe of sched_switch, which are patched into the kernel's
 * text and wait for grace periods, and components that are reset. Between hold() and let_go() it
 * all stays, for those who open very many.
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

/* "on": all components are, whoever uses them; "auto": as they are wanted */
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
 * Nobody has an event: the module has no users. A driver that is built in does not count them, but
 * its components are off.
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
 * Another PMU's event is as good as one of ntrace's for perf and the probe, and refuses none of
 * those. Returns its fd.
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
 * Woken up elsewhere each time, it would have every CPU wake up for it. If this one is offline, so
 * be it.
 */
static inline void hold_on_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

#endif
