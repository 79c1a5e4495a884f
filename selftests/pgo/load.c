// SPDX-License-Identifier: GPL-2.0-only
/*
 * What make pgo-kernel's kernel is to do: system calls, pipes, forks and execs, the same number of
 * each in every round.	load ROUNDS
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE	4096

static void expect(bool right, const char *what)
{
	if (right)
		return;
	perror(what);
	_exit(1);
}

static void reap(pid_t pid)
{
	int status;

	expect(pid > 0 && waitpid(pid, &status, 0) == pid && !status, "a child");
}

/* Those that do little, and fail early */
static void calls(void)
{
	char byte;
	int i;

	for (i = 0; i < 200; i++) {
		expect(syscall(SYS_getpid) == getpid(), "getpid");
		expect(read(-1, &byte, 1) == -1, "read of nothing");
		sched_yield();
	}
}

static void files(const char *self)
{
	char block[PAGE];
	struct stat st;
	int i, fd;

	for (i = 0; i < 40; i++) {
		fd = open("/tmp/load", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		memset(block, i, sizeof(block));
		expect(fd >= 0 && write(fd, block, sizeof(block)) == PAGE, "write");
		expect(!lseek(fd, 0, SEEK_SET) && read(fd, block, 100) == 100, "read");
		expect(!fstat(fd, &st) && st.st_size == PAGE && !close(fd), "fstat");
		expect(!stat(self, &st) && stat("/tmp/none", &st), "stat");
		expect(!unlink("/tmp/load"), "unlink");
	}
}

static void memory(void)
{
	char *pages;
	int i, at;

	for (i = 0; i < 10; i++) {
		pages = mmap(NULL, 16 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			     -1, 0);
		expect(pages != MAP_FAILED, "mmap");
		for (at = 0; at < 16 * PAGE; at += PAGE)
			pages[at] = 1;
		expect(!mprotect(pages, PAGE, PROT_READ) && !munmap(pages, 16 * PAGE), "munmap");
	}
}

/* There and back, between two processes */
static void pipes(void)
{
	int there[2], back[2], i;
	char text[256];
	pid_t pid;

	memset(text, 'x', sizeof(text));
	expect(!pipe(there) && !pipe(back), "pipe");
	pid = fork();
	if (!pid) {
		for (i = 0; i < 100; i++) {
			expect(read(there[0], text, sizeof(text)) == sizeof(text),
			       "read of a pipe");
			expect(write(back[1], text, sizeof(text)) == sizeof(text),
			       "write of a pipe");
		}
		_exit(0);
	}
	for (i = 0; i < 100; i++) {
		expect(write(there[1], text, sizeof(text)) == sizeof(text), "write of a pipe");
		expect(read(back[0], text, sizeof(text)) == sizeof(text), "read of a pipe");
	}
	reap(pid);
	for (i = 0; i < 2; i++)
		expect(!close(there[i]) && !close(back[i]), "close");
}

static void processes(char *self)
{
	char *args[] = { self, "child", NULL };
	pid_t pid;
	int i;

	for (i = 0; i < 10; i++) {
		pid = fork();
		if (!pid)
			_exit(0);
		reap(pid);
		pid = fork();
		if (!pid) {
			execv(self, args);
			_exit(99);
		}
		reap(pid);
	}
}

int main(int argc, char **argv)
{
	int rounds;

	if (argc != 2) {
		fprintf(stderr, "usage: load ROUNDS\n");
		return 2;
	}
	if (!strcmp(argv[1], "child"))
		return 0;
	for (rounds = atoi(argv[1]); rounds > 0; rounds--) {
		calls();
		files(argv[0]);
		memory();
		pipes();
		processes(argv[0]);
	}
	return 0;
}
