// SPDX-License-Identifier: GPL-2.0-only
/*
 * A user program that wants no library and hardly a system: floating point, atomics, system calls.
 * A user-mode emulator runs it, and supervisor.c in U mode of a machine; what it does in between
 * its system calls is the same.  Stack and data are its own.
 */

#include <stdint.h>

#ifndef ROUNDS
#define ROUNDS 2600
#endif

#define SYS_CLOSE	57
#define SYS_WRITE	64
#define SYS_EXIT	93
#define SYS_NONE	999

static long call(long number, long a, const void *b, long c)
{
	register long a0 __asm__("a0") = a;
	register const void *a1 __asm__("a1") = b;
	register long a2 __asm__("a2") = c;
	register long a7 __asm__("a7") = number;

	__asm__ volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a7) : "memory");
	return a0;
}

static uint64_t words[8];

#define AMO(op, type, at, value) ({					\
	type old_;							\
	__asm__ volatile(op " %0, %2, %1" : "=r"(old_), "+A"(*(at)) : "r"(value)); \
	old_; })

static uint64_t amos(uint64_t x)
{
	uint32_t *half = (uint32_t *)words + (x & 7);
	uint64_t *at = words + (x & 7), sum = 0;

	sum += AMO("amoadd.d", uint64_t, at, x);
	sum ^= AMO("amoxor.d.aq", uint64_t, at, x * 3);
	sum += AMO("amoand.d", uint64_t, at, ~(x << 7));
	sum ^= AMO("amoor.w.rl", int32_t, half, (int32_t)x);
	sum += AMO("amoswap.w", int32_t, half, (int32_t)(x >> 3));
	sum += AMO("amomin.w", int32_t, half, (int32_t)x);
	sum ^= AMO("amomax.d", uint64_t, at, x);
	sum += AMO("amominu.d", uint64_t, at, x ^ ~0ull >> 9);
	sum ^= AMO("amomaxu.w", int32_t, half, (int32_t)(x * 5));
	return sum;
}

/* Reserved and stored again; and once without a reservation */
static uint64_t reserve(uint64_t x)
{
	uint64_t *at = words + (x & 7), old, failed;

	__asm__ volatile("1: lr.d %0, %2\n\t"
			 "add %1, %0, %3\n\t"
			 "sc.d %1, %1, %2\n\t"
			 "bnez %1, 1b\n\t"
			 "sc.w %1, %3, %2"
			 : "=&r"(old), "=&r"(failed), "+A"(*at) : "r"(x));
	return old + failed;
}

static double root(double x)
{
	__asm__("fsqrt.d %0, %0" : "+f"(x));
	return x;
}

static uint64_t classes(double x, float y)
{
	uint64_t a, b, flags;

	__asm__ volatile("fclass.d %0, %3; fclass.s %1, %4; frflags %2"
			 : "=r"(a), "=r"(b), "=r"(flags) : "f"(x), "f"(y));
	return a << 16 ^ b << 5 ^ flags;
}

static uint64_t fractions(uint64_t x)
{
	static volatile double zero;
	static float singles[4];
	double a = (double)(int64_t)x, b = a / 3.0 + 1e-9, c;
	float s = (float)x, t = s * 0.75f - (float)(int32_t)x;

	c = a * b + root(b < 0 ? -b : b);
	c = c > a ? -c / b : c + a;
	singles[x & 3] += t;
	if (!(x & 31))
		c /= zero;
	if (!(x & 15))
		__asm__ volatile("fsflags zero; fsrm %0" : : "r"(x >> 4 & 3));
	return classes(c, singles[x & 3]) ^ (uint64_t)(int64_t)(float)(t + s) ^ (c == a);
}

static unsigned int put(char *to, uint64_t x)
{
	for (unsigned int i = 0; i < 16; i++)
		to[i] = "0123456789abcdef"[x >> (60 - 4 * i) & 15];
	to[16] = '\n';
	return 17;
}

__attribute__((used)) static void run(void)
{
	uint64_t sum = 1, x = 0x9e3779b97f4a7c15;
	static char line[20];

	for (unsigned int round = 0; round < ROUNDS; round++) {
		x = x * 6364136223846793005 + 1442695040888963407;
		sum = (sum << 1 | sum >> 63) ^ amos(x >> 20) ^ reserve(x >> 13) ^
		      fractions(x >> 33);
		for (unsigned int i = 0; i < 40; i++)
			words[i & 7] += words[(i + sum) & 7] * 31 + i;
		if (!(round & 63))
			sum += call(SYS_CLOSE, 99, 0, 0) + call(SYS_NONE, 1, line, 2);
		if (!(round & 511))
			sum += call(SYS_WRITE, 1, line, put(line, sum));
	}
	call(SYS_WRITE, 1, line, put(line, sum));
	call(SYS_EXIT, 0, 0, 0);
}

__attribute__((used, aligned(16))) static char stack[16384];

__asm__(".section .init, \"ax\"\n"
	".globl _start\n"
	"_start:\n\t"
	".option push; .option norelax\n\t"
	"lla gp, __global_pointer$\n\t"
	".option pop\n\t"
	"lla sp, stack + 16384\n\t"
	"call run\n\t"
	".previous\n");
