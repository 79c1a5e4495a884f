// SPDX-License-Identifier: GPL-2.0-only
/*
 * A bare-metal program that goes through every kind of control transfer: calls, recursion, function
 * pointers, callbacks, jump tables, ECALL, an illegal instruction, a load fault, timer interrupts,
 * and U mode.  ROUNDS says how often; prints a checksum.
 */

#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef ROUNDS
#define ROUNDS 200
#endif

#define MTIMECMP	(*(volatile uint64_t *)0x02004000)
#define MTIME		(*(volatile uint64_t *)0x0200bff8)
#define TICK		300		/* of 100 ns */

#define CAUSE_ILLEGAL		2
#define CAUSE_LOAD_FAULT	5
#define CAUSE_ECALL_U		8
#define CAUSE_ECALL_M		11
#define CAUSE_TIMER		(1ul << 63 | 7)

static volatile unsigned long traps[16], ticks;
static jmp_buf to_machine;

static unsigned int insn_length(unsigned long pc)
{
	return (*(uint16_t *)pc & 3) == 3 ? 4 : 2;
}

static void back_to_machine(void)
{
	longjmp(to_machine, 1);
}

__attribute__((interrupt("machine"), aligned(4))) static void on_trap(void)
{
	unsigned long cause, epc;

	__asm__ volatile("csrr %0, mcause; csrr %1, mepc" : "=r"(cause), "=r"(epc));
	if (cause == CAUSE_TIMER) {
		ticks++;
		MTIMECMP = MTIME + TICK;
		return;
	}
	traps[cause & 15]++;
	epc += insn_length(epc);
	if (cause == CAUSE_ECALL_U) {
		epc = (unsigned long)back_to_machine;
		__asm__ volatile("csrs mstatus, %0" : : "r"(3ul << 11));
	}
	__asm__ volatile("csrw mepc, %0" : : "r"(epc));
}

/* Runs in U mode until it calls */
__attribute__((noreturn)) static void user_code(void)
{
	unsigned int i, sum = 0;

	for (i = 0; i < 50; i++)
		sum += i * i;
	__asm__ volatile("mv a0, %0; ecall" : : "r"(sum) : "a0");
	__builtin_unreachable();
}

static void visit_user(void)
{
	if (setjmp(to_machine))
		return;
	/* no interrupt may come between mepc and mret */
	__asm__ volatile("csrci mstatus, 8; csrc mstatus, %0; csrs mstatus, %1; csrw mepc, %2; mret"
			 : : "r"(3ul << 11), "r"(1ul << 7), "r"(user_code));
}

__attribute__((noinline)) static unsigned long ackermann(unsigned long m, unsigned long n)
{
	if (!m)
		return n + 1;
	if (!n)
		return ackermann(m - 1, 1);
	return ackermann(m - 1, ackermann(m, n - 1));
}

__attribute__((noinline)) static unsigned long descend(unsigned int depth)
{
	volatile unsigned long x = depth;

	return depth ? descend(depth - 1) + x : 0;
}

/* noipa: far() calls and jumps to them behind the compiler's back */
__attribute__((noipa)) unsigned long add(unsigned long a, unsigned long b)
{
	return a + b;
}

__attribute__((noipa)) unsigned long mix(unsigned long a, unsigned long b)
{
	return (a ^ b) * 0x9e3779b97f4a7c15;
}

static unsigned long sub(unsigned long a, unsigned long b)
{
	return a - b;
}

static unsigned long mul(unsigned long a, unsigned long b)
{
	return a * b;
}

static unsigned long (*volatile table[])(unsigned long, unsigned long) = { add, sub, mul, mix };

static unsigned long jump_table(unsigned long a)
{
	switch (a % 9) {
	case 0: return a + 1;
	case 1: return a * 3;
	case 2: return a ^ 0x55;
	case 3: return a << 2;
	case 4: return a - 7;
	case 5: return ~a;
	case 6: return a >> 1;
	case 7: return a * a;
	}
	return 1;
}

static int compare(const void *a, const void *b)
{
	unsigned long x = *(const unsigned long *)a, y = *(const unsigned long *)b;

	return (x > y) - (x < y);
}

/* Leaves by a return that no call announced */
static jmp_buf out;

__attribute__((noinline)) static void jump_out(unsigned int depth)
{
	if (depth == 0)
		longjmp(out, 1);
	jump_out(depth - 1);
	__asm__ volatile("");
}

static void leap(unsigned int depth)
{
	if (!setjmp(out))
		jump_out(depth);
}

/* Calls through x5, and a co-routine swap */
__attribute__((naked, noipa)) static void millicode(void)
{
	__asm__ volatile("mv a2, ra\n\t"
			 "jal t0, 1f\n\t"
			 "jal t0, 1f\n\t"
			 "la t0, 2f\n\t"
			 "jalr ra, t0\n\t"	/* swap */
			 "mv ra, a2\n\t"
			 "ret\n"
			 "1: addi a0, a0, 1\n\t"
			 "jr t0\n"
			 "2: addi a0, a0, 2\n\t"
			 "jalr t0, ra\n");	/* swap back */
}

/* Calls and jumps by AUIPC and JALR, as to far places */
__attribute__((naked, noipa)) static unsigned long far(unsigned long a __attribute__((unused)),
						       unsigned long b __attribute__((unused)))
{
	__asm__ volatile(".option push\n\t"
			 ".option norelax\n\t"
			 "mv a2, ra\n\t"
			 "call add\n\t"
			 "mv ra, a2\n\t"
			 "tail mix\n\t"
			 ".option pop");
}

static void raise_traps(void)
{
	__asm__ volatile("ecall");
	__asm__ volatile(".4byte 0x0000007b");	/* custom-3 */
	__asm__ volatile(".2byte 0");
	__asm__ volatile("lw t1, 8(zero)" : : : "t1");
}

/* How many instructions there were: those who watch the hart compare it with what they saw */
static unsigned long count(void)
{
	unsigned long n;

	__asm__ volatile("csrr %0, minstret" : "=r"(n));
	return n;
}

int main(void)
{
	unsigned long sum = 0, values[64], i, round, counted;

	__asm__ volatile("csrw mtvec, %0" : : "r"(on_trap));
	__asm__ volatile("csrw pmpaddr0, %0; csrw pmpcfg0, %1" : : "r"(-1ul), "r"(0x1f));
	MTIMECMP = MTIME + TICK;
	__asm__ volatile("csrs mie, %0; csrsi mstatus, 8" : : "r"(1ul << 7));

	counted = count();
	for (round = 0; round < ROUNDS; round++) {
		for (i = 0; i < 64; i++)
			values[i] = sum = table[(i + round) & 3](sum + i, jump_table(sum >> 8));
		qsort(values, 64, sizeof(values[0]), compare);
		sum ^= values[round & 63] + descend(round % 100) + ackermann(2, 3);
		leap(round % 40);
		millicode();
		sum = far(sum, round);
		raise_traps();
		if (round % 8 == 0)
			visit_user();
	}
	counted = count() - counted;
	/* On a busy machine, QEMU may be late with the first tick. */
	while (!ticks)
		__asm__ volatile("wfi");
	printf("tour: sum %lx illegal %lu fault %lu ecall %lu user %lu ticked\n", sum,
	       traps[CAUSE_ILLEGAL], traps[CAUSE_LOAD_FAULT], traps[CAUSE_ECALL_M],
	       traps[CAUSE_ECALL_U]);
	printf("tour: counted %lu\n", counted);
	return 0;
}
