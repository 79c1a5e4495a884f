// SPDX-License-Identifier: GPL-2.0-only
/* Four threads on two CPUs: a mutex, a condition, atomics */
#define _GNU_SOURCE
#include <pthread.h>

#include "common.h"

#define THREADS	4

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn_changed = PTHREAD_COND_INITIALIZER;
static unsigned int turn;
static unsigned long locked, loose;
static unsigned long rounds;

static void in_turn(unsigned int me)
{
	pthread_mutex_lock(&mutex);
	while (turn % THREADS != me)
		pthread_cond_wait(&turn_changed, &mutex);
	turn++;
	pthread_cond_broadcast(&turn_changed);
	pthread_mutex_unlock(&mutex);
}

static void *work(void *arg)
{
	unsigned int me = (unsigned int)(uintptr_t)arg;
	uint64_t x = me;

	run_on(me);
	for (unsigned long i = 0; i < rounds; i++) {
		for (int k = 0; k < 1000; k++)
			x = lcg(x);
		pthread_mutex_lock(&mutex);
		locked += me + 1;
		pthread_mutex_unlock(&mutex);
		__atomic_fetch_add(&loose, me + 1, __ATOMIC_RELAXED);
		in_turn(me);
		if (i % 16 == 15)
			run_on(me + (unsigned int)(i / 16));
	}
	expect(x == lcg_jump(me, rounds * 1000), "a thread's own computation");
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS];

	rounds = 60 * scale(argc, argv);
	for (unsigned int i = 0; i < THREADS; i++)
		expect(!pthread_create(&thread[i], NULL, work, (void *)(uintptr_t)i), "a thread");
	for (unsigned int i = 0; i < THREADS; i++)
		expect(!pthread_join(thread[i], NULL), "join");
	expect(locked == 10 * rounds, "sum under the mutex");
	expect(loose == 10 * rounds, "atomic sum");
	expect(turn == THREADS * rounds, "turns");
	return done("threads");
}
