// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes code when it runs, and puts other code in its place later, as JIT compilers do. What
 * it made stands in a jitdump, with timestamps of the `time` CSR or, as those of V8 and OpenJDK,
 * of CLOCK_MONOTONIC: perf inject --jit reads it.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "common.h"

#define PLACE		4096
#define EM_RISCV	243

struct header {
	uint32_t magic, version, size, machine, pad, pid;
	uint64_t time, flags;
};

struct load {
	uint32_t id, size;
	uint64_t time;
	uint32_t pid, tid;
	uint64_t vma, addr, len, index;
};

/* a0: how often; adds up the odd, or all, and gives back the sum */
static const uint32_t all[] = {
	0x00050593,	/*	mv	a1, a0		*/
	0x00000513,	/*	li	a0, 0		*/
	0x00b50533,	/* 1:	add	a0, a0, a1	*/
	0xfff58593,	/*	addi	a1, a1, -1	*/
	0xfe059ce3,	/*	bnez	a1, 1b		*/
	0x00008067,	/*	ret			*/
};
static const uint32_t odd[] = {
	0x00050593,	/*	mv	a1, a0		*/
	0x00000513,	/*	li	a0, 0		*/
	0x0015f613,	/* 1:	andi	a2, a1, 1	*/
	0x00060463,	/*	beqz	a2, 2f		*/
	0x00b50533,	/*	add	a0, a0, a1	*/
	0xfff58593,	/* 2:	addi	a1, a1, -1	*/
	0xfe0598e3,	/*	bnez	a1, 1b		*/
	0x00008067,	/*	ret			*/
};

static bool monotonic;

static uint64_t now(void)
{
	struct timespec ts;
	uint64_t time;

	if (monotonic) {
		clock_gettime(CLOCK_MONOTONIC, &ts);
		return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
	}
	__asm__ volatile("rdtime %0" : "=r"(time));
	return time;
}

static int dump_new(const char *dir)
{
	struct header h = { 0x4a695444, 1, sizeof(h), EM_RISCV, 0, (uint32_t)getpid(), now(),
			    !monotonic };
	char path[200];
	int fd;

	snprintf(path, sizeof(path), "%s/jit-%d.dump", dir, getpid());
	fd = open(path, O_CREAT | O_TRUNC | O_RDWR, 0666);
	expect(fd >= 0 && write(fd, &h, sizeof(h)) == sizeof(h), "a jitdump");
	/* That is how perf finds it. */
	expect(mmap(NULL, PLACE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) != MAP_FAILED, "mmap");
	return fd;
}

static unsigned long run(int fd, void *place, const uint32_t *code, size_t len, const char *name,
			 unsigned long n)
{
	static uint64_t index;
	struct load l = {
		.size = (uint32_t)(sizeof(l) + strlen(name) + 1 + len),
		.pid = (uint32_t)getpid(), .tid = (uint32_t)getpid(),
		.vma = (uint64_t)place, .addr = (uint64_t)place, .len = len, .index = index++,
	};

	memcpy(place, code, len);
	__builtin___clear_cache(place, (char *)place + len);
	l.time = now();
	expect(write(fd, &l, sizeof(l)) == sizeof(l) &&
	       write(fd, name, strlen(name) + 1) == (ssize_t)strlen(name) + 1 &&
	       write(fd, code, len) == (ssize_t)len, "the jitdump");
	return ((unsigned long (*)(unsigned long))place)(n);
}

/* argv[1]: where the dump goes; argv[2]: "monotonic", the clock */
int main(int argc, char **argv)
{
	void *place = mmap(NULL, PLACE, PROT_READ | PROT_WRITE | PROT_EXEC,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd;

	monotonic = argc > 2 && !strcmp(argv[2], "monotonic");
	fd = dump_new(argc > 1 ? argv[1] : ".");
	expect(place != MAP_FAILED, "memory");
	run_on(0);
	go_straight();
	for (int i = 0; i < 4; i++) {
		expect(run(fd, place, all, sizeof(all), "all", 1000) == 500500, "the sum of all");
		run_on(1);
		expect(run(fd, place, odd, sizeof(odd), "odd", 1000) == 250000,
		       "the sum of the odd");
		run_on(0);
	}
	return done("jit");
}
