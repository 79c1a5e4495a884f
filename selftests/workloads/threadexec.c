// SPDX-License-Identifier: GPL-2.0-only
/* Other ways to another program: vfork, posix_spawn, and exec by a thread that is not the leader */
#define _GNU_SOURCE
#include <pthread.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>

#include "common.h"

#define OTHERS	3

extern char **environ;

static uint64_t compute(unsigned int n)
{
	uint64_t x = n;

	for (unsigned int i = 0; i < 3000; i++)
		x = lcg(x);
	return x;
}

static void reap(pid_t pid)
{
	int status;

	expect(pid > 0 && waitpid(pid, &status, 0) == pid, "wait");
	expect(WIFEXITED(status) && !WEXITSTATUS(status), "exit status");
}

static void spawn(char *self)
{
	char *args[] = { self, "child", NULL };
	pid_t pid = vfork();

	if (!pid) {
		execv("/proc/self/exe", args);
		_exit(99);
	}
	reap(pid);
	expect(!posix_spawn(&pid, "/proc/self/exe", NULL, NULL, args, environ), "posix_spawn");
	reap(pid);
}

static void *compute_on(void *arg)
{
	for (;;)
		compute(1);
	return arg;
}

static void *execute(void *self)
{
	const struct sched_param first = { .sched_priority = 1 };
	char *args[] = { self, "last", NULL };

	/*
	 * Without a context switch between the exec and the new program nothing else tells the new
	 * TID.
	 */
	expect(!sched_setscheduler(0, SCHED_FIFO, &first), "sched_setscheduler");
	run_on(1);
	compute(2);
	execv("/proc/self/exe", args);
	fail("exec by a thread");
}

/* A child with threads, one of which executes a program: that ends the others. */
static void become(char *self)
{
	pthread_t thread;
	pid_t pid = fork();

	if (pid) {
		reap(pid);
		return;
	}
	for (int i = 0; i < OTHERS; i++)
		expect(!pthread_create(&thread, NULL, compute_on, NULL), "pthread_create");
	expect(!pthread_create(&thread, NULL, execute, self), "pthread_create");
	pthread_join(thread, NULL);
	fail("exec by a thread");
}

int main(int argc, char **argv)
{
	unsigned long n;

	if (argc == 2 && !strcmp(argv[1], "child"))
		return compute(3) != lcg_jump(3, 3000);
	if (argc == 2 && !strcmp(argv[1], "last")) {
		expect(compute(4) == lcg_jump(4, 3000), "the computation behind the exec");
		return 0;
	}
	n = scale(argc, argv);
	for (unsigned long i = 0; i < n * 4; i++) {
		run_on((unsigned int)i);
		spawn(argv[0]);
		become(argv[0]);
	}
	return done("threadexec");
}
