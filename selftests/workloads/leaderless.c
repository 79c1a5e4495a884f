// SPDX-License-Identifier: GPL-2.0-only
/*
 * A process whose first thread ends while another one goes on, which then executes a program: its
 * number is that of a thread that has gone, and then that of the other one. With $UNTIL_EXEC and
 * $UNTIL_END each of the two computes until the file of that name is there.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>

#include "common.h"

static void compute_until(const char *name, unsigned long n)
{
	const char *path = getenv(name);
	uint64_t x;

	do {
		x = n;
		for (unsigned int i = 0; i < 3000; i++)
			x = lcg(x);
		expect(x == lcg_jump(n, 3000), "the computation");
		if (path)
			usleep(1000);
	} while (path && access(path, F_OK));
}

static void *go_on(void *self)
{
	char *args[] = { self, "last", NULL };

	run_on(1);
	compute_until("UNTIL_EXEC", 5);
	execv("/proc/thread-self/exe", args);
	fail("exec by a thread");
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc == 2 && !strcmp(argv[1], "last")) {
		compute_until("UNTIL_END", 6);
		return done("leaderless");
	}
	scale(argc, argv);
	expect(!pthread_create(&thread, NULL, go_on, argv[0]), "pthread_create");
	pthread_exit(NULL);
}
