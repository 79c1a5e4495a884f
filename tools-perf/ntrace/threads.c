// SPDX-License-Identifier: GPL-2.0-only
/* Threads that work on one thing and end with it */
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "cmd.h"

/*
 * glibc reserves 128 MB of addresses for a moment whenever it gives a thread a heap of its own.
 * Under ulimit -v another thread's allocation may fail at that moment, so all threads use one heap.
 */
static void limit_heaps(void)
{
#ifdef __GLIBC__
	struct rlimit all;

	if (!getrlimit(RLIMIT_AS, &all) && all.rlim_cur != RLIM_INFINITY)
		mallopt(M_ARENA_MAX, 1);
#endif
}

void threads_run(size_t n, void *(*work)(void *), void *state, size_t size)
{
	pthread_t *thread = calloc(n, sizeof(*thread));
	size_t i;
	int err;

	if (!thread)
		die("%s", nt_strerror(NT_ENOMEM));
	if (n > 1)
		limit_heaps();
	for (i = 1; i < n; i++) {
		err = pthread_create(&thread[i], NULL, work, (char *)state + i * size);
		if (err)
			die("cannot start thread %zu of %zu: %s; --threads asks for fewer", i + 1,
			    n, strerror(err));
	}
	work(state);
	for (i = 1; i < n; i++)
		pthread_join(thread[i], NULL);
	free(thread);
}
