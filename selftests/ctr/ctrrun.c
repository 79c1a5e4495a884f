// SPDX-License-Identifier: GPL-2.0-only
/*
 * Do the same with different records: ctrrun LIST OUT [CPU]
 *
 * LIST has lines "CTRCTL DEPTH WHAT": sctrctl in hexadecimal, entries, one of the
 * things below. Each is done with records on; what they were afterwards goes to OUT,
 * for each line "# start N", then in the words of `ntrace decode --output=ctr`. With
 * CPU the records are that CPU's, of everybody, not this thread's.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "ctr_test.h"

static void __attribute__((noreturn)) die(const char *what)
{
	fprintf(stderr, "ctrrun: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* --- what is done ------------------------------------------------------------- */

static volatile unsigned long sink;
static sigjmp_buf back;

static unsigned long __attribute__((noinline)) fib(unsigned long n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static unsigned long __attribute__((noinline)) deep(unsigned long n)
{
	volatile unsigned long here = n;	/* no tail call, no loop */

	return n ? deep(n - 1) + here : 0;
}

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Calls, returns, branches, indirect calls */
static void calls(void)
{
	int v[40];

	for (int i = 0; i < 40; i++)
		v[i] = (i * 7919) % 97;
	qsort(v, 40, sizeof(v[0]), compare);
	sink = fib(7) + (unsigned long)v[0];
}

/*
 * One of each type that the instruction alone tells: co-routine swaps both ways,
 * jumps that link to other registers, x5 as a link, and JALR x1,x1, which is a call.
 */
static void __attribute__((noinline)) types(void)
{
	asm volatile("	la	t1, 1f\n"
		     "	jalr	t2, t1\n"		/* indirect, links elsewhere */
		     "1:	jal	t2, 2f\n"	/* direct, links elsewhere */
		     "	nop\n"
		     "2:	la	t1, 3f\n"
		     "	jr	t1\n"			/* indirect jump */
		     "	nop\n"
		     "3:	j	4f\n"
		     "	nop\n"
		     "4:	la	t0, 5f\n"
		     "	jalr	ra, t0\n"		/* swap */
		     "	nop\n"
		     "5:	la	ra, 6f\n"
		     "	jalr	t0, ra\n"		/* swap */
		     "6:	la	ra, 7f\n"
		     "	jalr	ra, ra\n"		/* a call */
		     "7:	la	t0, 8f\n"
		     "	jalr	t0, t0\n"		/* a call */
		     "8:	jal	t0, 9f\n"		/* a call */
		     "9:	la	t0, 10f\n"
		     "	jr	t0\n"			/* a return */
		     "10:	la	t0, 11f\n"
		     "	jalr	t1, t0\n"		/* a return that links */
		     "11:	beqz	zero, 12f\n"
		     "	nop\n"
		     "12:	bnez	zero, 12b\n"
		     : : : "ra", "t0", "t1", "t2");
}

/* A taken branch to where it would have gone anyway */
static void __attribute__((noinline)) next(void)
{
	asm volatile("	beqz	zero, 1f\n"
		     "1:\n");
}

static void system_calls(void)
{
	for (int i = 0; i < 5; i++)
		syscall(SYS_getppid);
}

static void page_faults(void)
{
	long page = sysconf(_SC_PAGESIZE);
	volatile char *p = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		die("mmap");
	for (int i = 0; i < 4; i++)
		p[i * page] = 1;
	munmap((void *)p, 4 * page);
}

static void on_signal(int sig)
{
	sink = sink + (unsigned long)sig;
}

static void leave(int sig)
{
	siglongjmp(back, sig);
}

static void signals(void)
{
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
	signal(SIGSEGV, leave);
	if (!sigsetjmp(back, 1))
		asm volatile("sw zero, 8(zero)" : : : "memory");
	sink = fib(3);
}

/* A jump to where nothing is leaves no record but its trap's (R188). */
static void jump_away(void)
{
	signal(SIGSEGV, leave);
	if (!sigsetjmp(back, 1))
		asm volatile("jalr %0" : : "r" (16l) : "ra");
}

static void breakpoint(void)
{
	signal(SIGTRAP, leave);
	calls();
	if (!sigsetjmp(back, 1))
		asm volatile("ebreak");
	calls();
}

static jmp_buf levels[6];

static void __attribute__((noinline)) dive(int depth)
{
	if (depth == 6)
		longjmp(levels[2], 1);
	if (setjmp(levels[depth]))
		return;
	dive(depth + 1);
	sink = (unsigned long)depth;
}

static void long_jumps(void)
{
	dive(0);
	sink = fib(4);
}

static void recursion(void)
{
	sink = deep(600);
	sink = deep(5);
}

static void on_cpu(unsigned int n)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(n % (unsigned int)sysconf(_SC_NPROCESSORS_ONLN), &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("sched_setaffinity");
}

static void migrate(void)
{
	on_cpu(1);
	calls();
	on_cpu(0);
	types();
}

static void sleeping(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
	calls();
}

/* Until the timer has ticked for certain; QEMU's time has 10 MHz, and Linux 250 ticks */
static void tick(void)
{
	unsigned long now, end;

	asm volatile("rdtime %0" : "=r" (end));
	end += 200000;
	do
		asm volatile("rdtime %0\n"
			     "rdtime %0" : "=r" (now));
	while (now < end);
}

static void mixed(void)
{
	types();
	signals();
	calls();
	types();
	system_calls();
	long_jumps();
	types();
}

static const struct {
	const char *name;
	void (*what)(void);
} things[] = {
	{ "calls", calls }, { "types", types }, { "syscalls", system_calls },
	{ "faults", page_faults }, { "signals", signals }, { "away", jump_away },
	{ "break", breakpoint }, { "longjmp", long_jumps }, { "deep", recursion },
	{ "migrate", migrate }, { "sleep", sleeping }, { "mixed", mixed }, { "next", next },
	{ "tick", tick },
};

static void do_thing(const char *name)
{
	for (size_t i = 0; i < sizeof(things) / sizeof(things[0]); i++)
		if (!strcmp(things[i].name, name)) {
			things[i].what();
			return;
		}
	errno = EINVAL;
	die(name);
}

/* --- with records ------------------------------------------------------------- */

static const char *type_name(unsigned int type)
{
	static const char *const names[16] = {
		"none", "exception", "interrupt", "eret", "not", "cond", "trap", "none",
		"icall", "call", "ijump", "jump", "swap", "ret", "ijump", "jump",
	};

	return names[type];
}

static void print_records(FILE *out, unsigned int n, const struct ctr_test_records *r)
{
	fprintf(out, "# start %u switches %u moves %u\nsctrstatus %x\n", n, r->switches, r->moves,
		r->status);
	for (uint32_t i = 0; i < r->depth; i++) {
		const struct ctr_test_entry *e = &r->entry[i];

		if (e->source & 1)
			fprintf(out, "%u %llx %llx %llx %s\n", i, e->source, e->target, e->data,
				type_name(e->data & 15));
	}
}

int main(int argc, char **argv)
{
	int fd = open("/dev/ctr", O_RDWR | O_CLOEXEC), cpu = argc > 3 ? atoi(argv[3]) : -1;
	struct ctr_test_records *records = NULL;
	unsigned int n = 0, i;
	char line[256], what[32];
	FILE *list, *out;

	if (argc < 3 || argc > 4)
		die("usage: ctrrun LIST OUT [CPU]");
	list = fopen(argv[1], "r");
	out = fopen(argv[2], "w");
	if (fd < 0 || !list || !out)
		die(fd < 0 ? "/dev/ctr" : "files");
	on_cpu(0);
	calls();
	while (fgets(line, sizeof(line), list)) {
		struct ctr_test_start start = { .cpu = cpu };
		unsigned long long ctl;

		if (*line == '#')
			continue;
		if (sscanf(line, "%llx %u %31s", &ctl, &start.depth, what) != 3) {
			errno = EINVAL;
			die(line);
		}
		start.ctl = ctl;
		records = realloc(records, (n + 1) * sizeof(*records));
		if (!records)
			die("memory");
		memset(&records[n], 0, sizeof(*records));
		if (cpu >= 0)	/* from there, and by an interrupt from elsewhere */
			on_cpu((unsigned int)cpu + n);
		if (ioctl(fd, CTR_TEST_START, &start))
			die("CTR_TEST_START");
		do_thing(what);
		if (ioctl(fd, CTR_TEST_STOP, &records[n]))
			die("CTR_TEST_STOP");
		n++;
	}
	for (i = 0; i < n; i++)
		print_records(out, i + 1, &records[i]);
	if (fclose(out))
		die(argv[2]);
	return 0;
}
