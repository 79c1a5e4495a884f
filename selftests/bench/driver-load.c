// SPDX-License-Identifier: GPL-2.0-only
/*
 * Something for the driver to do, in the guest, between two marks for ntrace-cost.so:
 *
 *	driver-load LABEL switch N	N switches to a partner on the same CPU and back
 *	driver-load LABEL idle N	N rounds of a loop that makes next to no trace
 *	driver-load LABEL busy N	N indirect calls
 *
 * Functions to count are the arguments after these. Prints nothing.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void hint(int report, unsigned long x, unsigned long y)
{
	register unsigned long a0 __asm__("a0") = x;
	register unsigned long a1 __asm__("a1") = y;

	if (report)
		__asm__ volatile(".word 0x54d << 20 | 10 << 15 | 2 << 12 | 0x13" : :
				 "r"(a0), "r"(a1));
	else
		__asm__ volatile(".word 0x54c << 20 | 10 << 15 | 2 << 12 | 0x13" : :
				 "r"(a0), "r"(a1));
}

static unsigned long address_of(const char *name)
{
	FILE *f = fopen("/proc/kallsyms", "r");
	char line[512], symbol[256];
	unsigned long at;

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx %*c %255s", &at, symbol) == 2 && !strcmp(symbol, name)) {
			fclose(f);
			return at;
		}
	}
	fprintf(stderr, "driver-load: the kernel has no %s\n", name);
	exit(1);
}

static void pass_on(int in, int out, unsigned long n, int first)
{
	char c = 0;

	while (n--) {
		if (first && write(out, &c, 1) != 1)
			exit(1);
		if (read(in, &c, 1) != 1)
			exit(1);
		if (!first && write(out, &c, 1) != 1)
			exit(1);
	}
}

static void switches(unsigned long n)
{
	int there[2], back[2], status;
	pid_t pid;

	if (pipe(there) || pipe(back))
		exit(1);
	pid = fork();
	if (!pid) {
		pass_on(there[0], back[1], n, 0);
		_exit(0);
	}
	pass_on(back[0], there[1], n, 1);
	waitpid(pid, &status, 0);
}

static void idle(unsigned long n)
{
	while (n--)
		__asm__ volatile(".rept 512\n\tnop\n\t.endr");
}

static void callee(void)
{
	__asm__ volatile("");
}

static void busy(unsigned long n)
{
	void (*volatile call)(void) = callee;

	while (n--)
		call();
}

int main(int argc, char **argv)
{
	unsigned long n;
	cpu_set_t set;
	int i;

	if (argc < 4)
		return 2;
	CPU_ZERO(&set);
	CPU_SET(0, &set);
	sched_setaffinity(0, sizeof(set), &set);
	for (i = 4; i < argc; i++)
		hint(0, i - 4, address_of(argv[i]));
	n = strtoul(argv[3], NULL, 0);
	hint(1, 0, 0);
	if (!strcmp(argv[2], "switch"))
		switches(n);
	else if (!strcmp(argv[2], "idle"))
		idle(n);
	else
		busy(n);
	hint(1, strtoul(argv[1], NULL, 0), 0);
	return 0;
}
