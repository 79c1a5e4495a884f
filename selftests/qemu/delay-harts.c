// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stop single harts of a QEMU at random, as a busy machine does: delay-harts PID MS [SEED]
 *
 * A hart is a thread of QEMU's. Up to MS/2 milliseconds after the last one continued, one of them
 * is stopped for up to MS milliseconds. Ends with QEMU. SEED repeats the times and the harts, as
 * far as the machine lets it. A stopped thread continues when this process ends.
 */
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define HARTS	64

static pid_t harts[HARTS];
static unsigned int nr_harts;

/* QEMU calls the thread of hart N "CPU N/TCG", or one for all harts "ALL CPUs/TCG". */
static bool is_hart(const char *pid, const char *tid)
{
	char path[300], name[32] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%s/task/%s/comm", pid, tid);
	f = fopen(path, "r");
	if (!f)
		return false;
	if (!fgets(name, sizeof(name), f))
		name[0] = 0;
	fclose(f);

	return strstr(name, "CPU");
}

/* False: the process has ended */
static bool find_harts(const char *pid)
{
	struct dirent *e;
	char path[300];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%s/task", pid);
	dir = opendir(path);
	if (!dir)
		return false;
	nr_harts = 0;
	while ((e = readdir(dir)))
		if (e->d_name[0] != '.' && nr_harts < HARTS && is_hart(pid, e->d_name))
			harts[nr_harts++] = atoi(e->d_name);
	closedir(dir);

	return true;
}

static void sleep_up_to(unsigned int ms)
{
	usleep((unsigned long)random() % (ms * 1000UL + 1));
}

/* Let a thread that reported a stop continue, with the signal that it was about to take */
static bool go_on(pid_t tid, int status)
{
	const uintptr_t signal = status >> 16 == PTRACE_EVENT_STOP ? 0 : WSTOPSIG(status);

	return WIFSTOPPED(status) && !ptrace(PTRACE_CONT, tid, NULL, (void *)signal);
}

/* Signals stop threads, too. */
static void handle_signals(void)
{
	int status;
	pid_t tid;

	while ((tid = waitpid(-1, &status, __WALL | WNOHANG)) > 0)
		go_on(tid, status);
}

/* False: the thread has ended */
static bool delay(pid_t tid, unsigned int ms)
{
	int status;

	if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL))
		return false;
	while (waitpid(tid, &status, __WALL) == tid) {
		if (WIFSTOPPED(status) && status >> 16 == PTRACE_EVENT_STOP) {
			sleep_up_to(ms);
			return go_on(tid, status);
		}
		if (!go_on(tid, status))
			return false;
	}

	return false;
}

int main(int argc, char **argv)
{
	unsigned int ms = argc == 3 || argc == 4 ? atoi(argv[2]) : 0, n, i;

	if (!ms) {
		fprintf(stderr, "usage: delay-harts PID MS [SEED]\n");
		return 2;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	srandom(argc == 4 ? strtoul(argv[3], NULL, 0) : (unsigned long)getpid());
	/* QEMU makes the threads one after the other. */
	do {
		n = nr_harts;
		usleep(50000);
		if (!find_harts(argv[1]))
			return 0;
	} while (!nr_harts || nr_harts != n);
	for (i = 0; i < nr_harts; i++) {
		if (ptrace(PTRACE_SEIZE, harts[i], NULL, NULL)) {
			fprintf(stderr, "delay-harts: thread %d: %s\n", harts[i], strerror(errno));
			return 1;
		}
	}
	do {
		sleep_up_to(ms / 2);
		handle_signals();
	} while (delay(harts[random() % nr_harts], ms));

	return 0;
}
