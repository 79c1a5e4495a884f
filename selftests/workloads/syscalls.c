// SPDX-License-Identifier: GPL-2.0-only
/* Full of system calls, and calls into the vDSO */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>

#include "common.h"

static void through_pipe(const int *fd, unsigned int i)
{
	char out[64], in[64];
	struct iovec v[2] = { { out, 20 }, { out + 20, 44 } };

	memset(out, (int)(i & 0x7f), sizeof(out));
	expect(writev(fd[1], v, 2) == 64, "writev");
	expect(read(fd[0], in, sizeof(in)) == 64, "read");
	expect(!memcmp(in, out, sizeof(in)), "what came through the pipe");
}

static void identities(void)
{
	pid_t pid = getpid();

	expect(syscall(SYS_getpid) == pid && syscall(SYS_gettid) == pid, "pid");
	expect(syscall(SYS_getppid) == getppid(), "parent");
	expect(syscall(SYS_read, -1, NULL, 0) == -1, "reading nothing");
}

static void files(void)
{
	struct stat st;
	int fd = open("/proc/self/exe", O_RDONLY), copy;
	char magic[4];

	expect(fd >= 0 && !fstat(fd, &st) && st.st_size > 1000, "own file");
	copy = dup(fd);
	expect(copy >= 0 && lseek(copy, 0, SEEK_SET) == 0, "dup");
	expect(read(copy, magic, 4) == 4 && !memcmp(magic, "\177ELF", 4), "ELF");
	expect(!close(copy) && !close(fd), "close");
}

static void clocks(struct timespec *last)
{
	struct timespec t;

	expect(!clock_gettime(CLOCK_MONOTONIC, &t), "clock");
	expect(t.tv_sec > last->tv_sec ||
	       (t.tv_sec == last->tv_sec && t.tv_nsec >= last->tv_nsec), "time goes forward");
	*last = t;
}

int main(int argc, char **argv)
{
	unsigned long n = scale(argc, argv);
	struct timespec last = { 0 };
	int fd[2];

	expect(!pipe(fd), "pipe");
	for (unsigned int i = 0; i < 3000 * n; i++) {
		if (i % 500 == 0)
			run_on(i / 500);
		through_pipe(fd, i);
		identities();
		clocks(&last);
		if (i % 20 == 0)
			files();
		if (i % 16 == 0)
			sched_yield();
	}
	return done("syscalls");
}
