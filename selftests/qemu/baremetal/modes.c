// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bare metal: control transfer records over changes of mode, V included, that Linux
 * does not make. Prints what was done and what was recorded, for modescmp:
 *
 *	s NAME ADDRESS
 *	c START DOWN TRAP TARGET MCTRCTL VSCTRCTL SCTRSTATUS
 *	e SOURCE TARGET DATA
 *
 * Each c: M-mode returns to START, U or S; that returns to DOWN, unless it is 9; there are a
 * call, a return, then ECALL (TRAP 0) or EBREAK (1) to TARGET; if that is not M-mode, a
 * call, a return and ECALL to it. Modes are 0 U, 1 S, 3 M, 4 VU, 5 VS.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { U = 0, S = 1, M = 3, VU = 4, VS = 5, NONE = 9 };

#define ROUNDS_EACH	60

#define csr_write(csr, value)							\
	__asm__ volatile("csrw %0, %1" : : "i" (csr), "r" ((uint64_t)(value)))
#define csr_read(csr)								\
	({ uint64_t v_; __asm__ volatile("csrr %0, %1" : "=r" (v_) : "i" (csr)); v_; })

uint64_t saved[16], ctl[2];
void enter(void);
extern char leave[], body_ecall[], body_ebreak[], up_ecall[], up_ebreak[], down[], f[], handler[],
	    call_handler[], up_handler[], back[];

/* Nothing is recorded but what is meant: sctrctl is set last, and cleared first. */
__asm__(".text\n"
	".option push\n"
	".option norvc\n"
	".balign 4\n"
	"enter:	la	t0, saved\n"
	"	sd	ra, 0(t0)\n	sd	sp, 8(t0)\n	sd	gp, 16(t0)\n	sd	tp, 24(t0)\n"
	"	la	t0, ctl\n"
	"	ld	t1, 0(t0)\n	ld	t2, 8(t0)\n"
	"	csrw	0x24e, t1\n"
	"	csrw	0x34e, t2\n"
	"leave:	mret\n"
	"body_ecall:	jal	ra, f\n"
	"up_ecall:	ecall\n"
	"body_ebreak:	jal	ra, f\n"
	"up_ebreak:	ebreak\n"
	"down:	sret\n"
	"f:	ret\n"
	".balign 4\n"
	"handler:\n"
	"call_handler:	jal	ra, f\n"
	"up_handler:	ecall\n"
	".balign 4\n"
	"back:	csrw	0x34e, zero\n"
	"	la	t0, saved\n"
	"	ld	ra, 0(t0)\n	ld	sp, 8(t0)\n	ld	gp, 16(t0)\n	ld	tp, 24(t0)\n"
	"	ret\n"
	".globl enter, leave, body_ecall, body_ebreak, up_ecall, up_ebreak, down, f, handler,"
	" call_handler, up_handler, back\n"
	".option pop\n");

static uint64_t state = 1;

static uint64_t rnd(unsigned int n)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (state >> 33) % n;
}

/* Percent of each: modes 70, xTE and BPFRZ 50, RASEMU 15, filters 20 */
static uint64_t any_ctl(void)
{
	uint64_t value = 0;
	unsigned int bit;

	for (bit = 0; bit < 48; bit++) {
		unsigned int odds = bit < 3 ? 70 : bit == 8 || bit == 9 || bit == 11 ? 50 :
				    bit == 7 ? 15 : bit >= 33 && bit != 38 && bit != 39 ? 20 : 0;

		if (rnd(100) < odds)
			value |= 1ull << bit;
	}
	return value;
}

/* The returns that are going to be made, and where traps go to */
static void prepare(int start, int to, int trap, int target)
{
	const uint64_t body = (uint64_t)(trap ? body_ebreak : body_ecall);
	const int at = to == NONE ? start : to;
	uint64_t cause = trap ? 3 : at == VS ? 10 : at == S ? 9 : 8;

	/* a return to M-mode clears MPV, which a write does not in this QEMU */
	__asm__ volatile("la	t0, 1f\n"
			 "csrw	mepc, t0\n"
			 "li	t0, 0x1800\n"
			 "csrs	mstatus, t0\n"
			 "mret\n"
			 "1:" : : : "t0", "memory");
	csr_write(0x300, (uint64_t)start << 11);
	csr_write(0x341, to == NONE ? body : (uint64_t)down);
	csr_write(0x141, body);				/* sepc, and S's return */
	csr_write(0x600, (csr_read(0x600) & ~0x80ull) | (to & 4 ? 0x80 : 0));
	csr_write(0x100, (csr_read(0x100) & ~0x100ull) | (to & 1 ? 0x100 : 0));
	csr_write(0x302, target == M ? 0 : 1ull << cause);
	csr_write(0x602, target == VS ? 1ull << cause : 0);
}

static void one(int start, int to, int trap, int target)
{
	uint64_t status;
	int i;

	prepare(start, to, trap, target);
	ctl[0] = any_ctl() & ~(1ull << 2 | 1ull << 9);
	ctl[1] = any_ctl();
	csr_write(0x34e, 0);
	csr_write(0x14f, 0);
	__asm__ volatile(".word 0x10400073");
	__asm__ volatile("call enter" : : : "ra", "t0", "t1", "t2", "memory");
	csr_write(0x24e, 0);
	status = csr_read(0x14f);
	printf("c %d %d %d %d %llx %llx %llx\n", start, to, trap, target,
	       (unsigned long long)ctl[1], (unsigned long long)ctl[0], (unsigned long long)status);
	for (i = 0; i < 16; i++) {
		csr_write(0x150, 0x200 + i);
		if (csr_read(0x151) & 1)
			printf("e %llx %llx %llx\n", (unsigned long long)csr_read(0x151),
			       (unsigned long long)csr_read(0x152),
			       (unsigned long long)csr_read(0x153));
	}
}

/* Can that trap go there? ECALL's causes of S and VS are those of the way back. */
static int possible(int at, int trap, int target)
{
	if (target == VS)
		return at & 4 && (trap || at == VU);
	if (target == S)
		return at != S || trap;
	return target == M;
}

static void all(int start, int to)
{
	static const int targets[] = { M, S, VS };
	int trap, i, k;

	for (trap = 0; trap < 2; trap++)
		for (i = 0; i < 3; i++)
			for (k = 0; k < ROUNDS_EACH; k++)
				if (possible(to == NONE ? start : to, trap, targets[i]))
					one(start, to, trap, targets[i]);
}

int main(void)
{
	static const struct { const char *name; char *at; } names[] = {
		{ "leave", leave }, { "body_ecall", body_ecall }, { "body_ebreak", body_ebreak },
		{ "up_ecall", up_ecall }, { "up_ebreak", up_ebreak }, { "down", down }, { "f", f },
		{ "handler", handler }, { "up_handler", up_handler }, { "back", back },
	};
	unsigned int i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		printf("s %s %llx\n", names[i].name, (unsigned long long)(uintptr_t)names[i].at);
	csr_write(0x3b0, -1);			/* physical memory is everybody's */
	csr_write(0x3a0, 0x1f);
	csr_write(0x30c, -1);			/* mstateen0, hstateen0: all is open */
	csr_write(0x60c, -1);
	csr_write(0x15f, 0);
	csr_write(0x305, back);
	csr_write(0x105, handler);
	csr_write(0x205, handler);
	all(U, NONE);
	all(S, NONE);
	all(S, U);
	all(S, VU);
	all(S, VS);
	printf("end\n");
	return 0;
}
