// SPDX-License-Identifier: GPL-2.0-only
/* Signals of every kind, and jumps out of where one is */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

#include "common.h"

static volatile sig_atomic_t caught;
static sigjmp_buf back;
static jmp_buf levels[8];

static void count(int sig)
{
	(void)sig;
	caught++;
}

static void nested(int sig)
{
	if (sig == SIGUSR1)
		raise(SIGUSR2);
	caught++;
}

static void leave(int sig)
{
	siglongjmp(back, sig);
}

static void handle(int sig, void (*handler)(int), int flags)
{
	struct sigaction sa = { .sa_handler = handler, .sa_flags = flags };

	expect(!sigaction(sig, &sa, NULL), "sigaction");
}

static void raised(void)
{
	caught = 0;
	handle(SIGUSR1, nested, 0);
	handle(SIGUSR2, nested, 0);
	for (int i = 0; i < 200; i++)
		raise(SIGUSR1);
	expect(caught == 400, "signals within signals");
}

/* A fault, left by a jump */
static void faults(void)
{
	volatile int *volatile nowhere = NULL;
	volatile int n = 0;

	handle(SIGSEGV, leave, SA_NODEFER);
	handle(SIGILL, leave, SA_NODEFER);
	handle(SIGTRAP, leave, SA_NODEFER);
	for (volatile int i = 0; i < 50; i++) {
		switch (sigsetjmp(back, 1)) {
		case 0:
			if (i % 3 == 0)
				*nowhere = 1;
			else if (i % 3 == 1)
				__asm__ volatile("unimp");
			else
				__asm__ volatile("ebreak");
			fail("went on after a fault");
		case SIGSEGV:
		case SIGILL:
		case SIGTRAP:
			n++;
		}
	}
	expect(n == 50, "faults");
}

static void __attribute__((noinline)) dive(int depth, int target)
{
	if (depth == 8)
		longjmp(levels[target], target + 1);
	if (setjmp(levels[depth]))
		return;
	dive(depth + 1, target);
}

static volatile int landed;

static void __attribute__((noinline)) jump_from(int target)
{
	if (setjmp(levels[0])) {
		landed++;
		return;
	}
	dive(1, target);
	landed++;
}

static void jumps(void)
{
	landed = 0;
	for (int i = 0; i < 400; i++)
		jump_from(i % 8);
	expect(landed == 400, "jumps");
}

/* Interrupted by a timer, the computation must not notice. */
static void timer(unsigned long n)
{
	struct itimerval often = { { 0, 1000 }, { 0, 1000 } }, never = { { 0, 0 }, { 0, 0 } };
	unsigned long steps = 0;
	uint64_t x = 1;

	caught = 0;
	handle(SIGALRM, count, SA_RESTART);
	setitimer(ITIMER_REAL, &often, NULL);
	while (steps < 100000 * n || caught < 3) {
		x = lcg(x);
		steps++;
	}
	setitimer(ITIMER_REAL, &never, NULL);
	expect(x == lcg_jump(1, steps), "interrupted computation");
}

/* A system call that signals interrupt, and that the kernel makes again each time */
static void restarted(void)
{
	struct itimerval often = { { 0, 1000 }, { 0, 1000 } }, never = { { 0, 0 }, { 0, 0 } };
	struct timespec while_waiting = { 0, 20000000 };
	pid_t child;

	caught = 0;
	handle(SIGALRM, count, SA_RESTART);
	while (caught < 3) {
		child = fork();
		if (!child) {
			nanosleep(&while_waiting, NULL);
			_exit(0);
		}
		expect(child > 0, "fork");
		setitimer(ITIMER_REAL, &often, NULL);
		expect(waitpid(child, NULL, 0) == child, "a wait that is made again");
		setitimer(ITIMER_REAL, &never, NULL);
	}
}

int main(int argc, char **argv)
{
	unsigned long n = scale(argc, argv);

	for (unsigned long i = 0; i < 2 * n; i++) {
		run_on((unsigned int)i);
		raised();
		faults();
		jumps();
	}
	timer(n);
	restarted();
	return done("signals");
}
