// SPDX-License-Identifier: GPL-2.0-only
/* Children that compute, children that become another program */
#define _GNU_SOURCE
#include <string.h>
#include <sys/wait.h>

#include "common.h"

static int compute(unsigned int n)
{
	uint64_t x = n;

	for (unsigned int i = 0; i < 10000; i++)
		x = lcg(x);
	expect(x == lcg_jump(n, 10000), "a child's computation");
	return (int)(n & 0x3f);
}

static void reap(unsigned int n, pid_t pid)
{
	int status;

	expect(pid > 0 && waitpid(pid, &status, 0) == pid, "wait");
	expect(WIFEXITED(status) && WEXITSTATUS(status) == (int)(n & 0x3f), "exit status");
}

static pid_t forked(unsigned int n)
{
	pid_t pid = fork();

	if (!pid) {
		run_on(n);
		_exit(compute(n));
	}
	return pid;
}

static pid_t executed(unsigned int n, char *self)
{
	char number[16];
	char *args[] = { self, "child", number, NULL };
	pid_t pid;

	snprintf(number, sizeof(number), "%u", n);
	pid = fork();
	if (!pid) {
		execv("/proc/self/exe", args);
		_exit(99);
	}
	return pid;
}

int main(int argc, char **argv)
{
	unsigned long n;

	if (argc == 3 && !strcmp(argv[1], "child")) {
		run_on((unsigned int)atoi(argv[2]));
		return compute((unsigned int)atoi(argv[2]));
	}
	n = scale(argc, argv);
	for (unsigned int i = 0; i < 10 * n; i++) {
		pid_t a = forked(i), b = executed(i + 1, argv[0]);

		run_on(i);
		compute(i);
		reap(i, a);
		reap(i + 1, b);
	}
	return done("forkexec");
}
