// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs user.bin, which must be in memory at 0x81001000, in U mode, where it is at 0x41001000:
 * answers its system calls as Linux would, and takes timer interrupts all the while, or none, with
 * a TICK of 0. Then it reads no clock either, so that each run is the same.
 */

#include <stdint.h>

#define USER_ENTRY	0x41001000ul
#define USER_OFFSET	0x40000000ul		/* to where it really is */
#define MTIMECMP	(*(volatile uint64_t *)0x02004000)
#define MTIME		(*(volatile uint64_t *)0x0200bff8)
#ifndef TICK
#define TICK		3000		/* of 100 ns */
#endif

/* When the next interrupt is to come */
#define NEXT_TICK	(TICK ? MTIME + TICK : UINT64_MAX)

#define CAUSE_TIMER	(1ul << 63 | 7)
#define CAUSE_ECALL_U	8

enum { SEMI_WRITEC = 0x03, SEMI_EXIT = 0x18 };
enum { SYS_CLOSE = 57, SYS_WRITE = 64, SYS_EXIT = 93, EBADF = 9, ENOSYS = 38 };

static long semihost(long op, const void *arg)
{
	register long a0 __asm__("a0") = op;
	register const void *a1 __asm__("a1") = arg;

	__asm__ volatile(".option push; .option norvc; .balign 16\n\t"
			 "slli zero, zero, 0x1f; ebreak; srai zero, zero, 7\n\t"
			 ".option pop" : "+r"(a0) : "r"(a1) : "memory");
	return a0;
}

static void __attribute__((noreturn)) leave(long code)
{
	const uint64_t block[2] = { code ? 0x20023 : 0x20026, (uint64_t)code };

	for (;;)
		semihost(SEMI_EXIT, block);
}

static long system_call(const uint64_t *regs)
{
	const char *text = (const char *)(regs[11] + USER_OFFSET);

	switch (regs[17]) {
	case SYS_WRITE:
		for (uint64_t i = 0; i < regs[12]; i++)
			semihost(SEMI_WRITEC, text + i);
		return (long)regs[12];
	case SYS_CLOSE:
		return -EBADF;
	case SYS_EXIT:
		leave((long)regs[10]);
	}
	return -ENOSYS;
}

/* regs: of the program, by number */
__attribute__((used)) static void trap(uint64_t *regs)
{
	uint64_t cause, epc;

	__asm__ volatile("csrr %0, mcause; csrr %1, mepc" : "=r"(cause), "=r"(epc));
	if (cause == CAUSE_TIMER) {
		MTIMECMP = NEXT_TICK;
		return;
	}
	if (cause != CAUSE_ECALL_U)
		leave(1);
	regs[10] = (uint64_t)system_call(regs);
	__asm__ volatile("csrw mepc, %0" : : "r"(epc + 4));
}

__attribute__((aligned(4096))) static uint64_t table[512];

/* The second GiB is the third one's memory, in one leaf: V, R, W, X, U, A, D */
static void map(void)
{
	table[1] = 0x80000000ul >> 12 << 10 | 0xdf;
	__asm__ volatile("csrw satp, %0; sfence.vma" : : "r"(8ul << 60 | (uint64_t)table >> 12) :
			 "memory");
}

__attribute__((used)) static void begin(void)
{
	map();
	MTIMECMP = NEXT_TICK;
	__asm__ volatile("csrw pmpaddr0, %0; csrw pmpcfg0, %1" : : "r"(-1ul), "r"(0x1f));
	__asm__ volatile("csrc mstatus, %0; csrs mstatus, %1; csrs mie, %2; csrw mepc, %3; mret"
			 : : "r"(3ul << 11), "r"(3ul << 13 | 1ul << 7), "r"(1ul << 7),
			 "r"(USER_ENTRY));
}

__attribute__((used, aligned(16))) static char stack[4096];

#define R(n)	"sd x" #n ", 8*" #n "(sp)\n\t"
#define L(n)	"ld x" #n ", 8*" #n "(sp)\n\t"
#define EACH(m)	m(1) m(3) m(4) m(5) m(6) m(7) m(8) m(9) m(10) m(11) m(12) m(13) m(14) m(15) m(16) \
	m(17) m(18) m(19) m(20) m(21) m(22) m(23) m(24) m(25) m(26) m(27) m(28) m(29) m(30) m(31)

__asm__(".section .init, \"ax\"\n"
	".globl _start\n"
	"_start:\n\t"
	"lla sp, stack + 4096 - 256\n\t"
	"csrw mscratch, sp\n\t"
	"lla t0, enter\n\t"
	"csrw mtvec, t0\n\t"
	"call begin\n"
	".balign 4\n"
	"enter:\n\t"
	"csrrw sp, mscratch, sp\n\t"
	EACH(R)
	"mv a0, sp\n\t"
	"call trap\n\t"
	EACH(L)
	"csrrw sp, mscratch, sp\n\t"
	"mret\n\t"
	".previous\n");
