// SPDX-License-Identifier: GPL-2.0-only
/* Page faults: fresh memory, copies on write, files, repaired protection */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "common.h"

#define PAGES	256

static long page;
static volatile sig_atomic_t repaired;

/* The instruction that faulted is executed again. */
static void repair(int sig, siginfo_t *info, void *context)
{
	uintptr_t at = (uintptr_t)info->si_addr & ~(uintptr_t)(page - 1);

	(void)sig;
	(void)context;
	if (mprotect((void *)at, (size_t)page, PROT_READ | PROT_WRITE))
		_exit(2);
	repaired++;
}

static unsigned char *map(int prot)
{
	void *p = mmap(NULL, (size_t)(PAGES * page), prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	expect(p != MAP_FAILED, "mmap");
	return p;
}

static void touch(unsigned char *p, unsigned int add)
{
	for (long i = 0; i < PAGES; i++) {
		unsigned char *at = p + i * page + i;

		expect(*at == (unsigned char)(add ? i : 0), "content of a page");
		for (int k = 0; k < 100; k++)
			at[k] = (unsigned char)(i + add);
	}
}

static void fresh(void)
{
	unsigned char *p = map(PROT_READ | PROT_WRITE);

	touch(p, 0);
	touch(p, 1);
	munmap(p, (size_t)(PAGES * page));
}

static void copied(void)
{
	unsigned char *p = map(PROT_READ | PROT_WRITE);
	int status;
	pid_t pid;

	touch(p, 0);
	pid = fork();
	if (!pid) {
		touch(p, 1);
		_exit(0);
	}
	expect(pid > 0 && waitpid(pid, &status, 0) == pid && !status, "child");
	touch(p, 1);
	munmap(p, (size_t)(PAGES * page));
}

static void protected(void)
{
	struct sigaction sa = { .sa_sigaction = repair, .sa_flags = SA_SIGINFO };
	unsigned char *p = map(PROT_NONE);

	repaired = 0;
	expect(!sigaction(SIGSEGV, &sa, NULL), "sigaction");
	touch(p, 0);
	expect(repaired == PAGES, "repairs");
	munmap(p, (size_t)(PAGES * page));
}

static void of_file(void)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	off_t size = lseek(fd, 0, SEEK_END);
	unsigned char *p = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	unsigned long ones = 0, again = 0;

	expect(fd >= 0 && p != MAP_FAILED, "own file");
	for (off_t i = 0; i < size; i += 64)
		ones += p[i];
	for (off_t i = 0; i < size; i += 64)
		p[i] = (unsigned char)(p[i] + 1);
	for (off_t i = 0; i < size; i += 64)
		again += (unsigned char)(p[i] - 1);
	expect(ones == again, "private copy of a file");
	munmap(p, (size_t)size);
	close(fd);
}

int main(int argc, char **argv)
{
	unsigned long n = scale(argc, argv);

	page = sysconf(_SC_PAGESIZE);
	for (unsigned long i = 0; i < 3 * n; i++) {
		run_on((unsigned int)i);
		fresh();
		copied();
		protected();
		of_file();
	}
	return done("faults");
}
