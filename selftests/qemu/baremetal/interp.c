// SPDX-License-Identifier: GPL-2.0-only
/*
 * A workload of an interpreter's kind: a stack machine with a switch, running a sieve and a Collatz
 * search written in its code. REPEAT says how often.
 */

#include <stdint.h>
#include <stdio.h>

#ifndef REPEAT
#define REPEAT 14
#endif

enum op {
	PUSH, LOAD, STORE, PEEK, POKE, ADD, SUB, MUL, HALF, ODD, LESS, JUMP, JZERO, CALL, RET, HALT,
};

#define CELLS 2048

static int32_t memory[CELLS], vars[8], stack[64];
static const uint16_t *return_stack[16];

/* Operations that are long enough for a function of their own */
static __attribute__((noinline)) int32_t load_cell(int32_t at)
{
	return (uint32_t)at < CELLS ? memory[at] : -1;
}

static __attribute__((noinline)) void store_cell(int32_t at, int32_t value)
{
	if ((uint32_t)at < CELLS)
		memory[at] = value;
}

static int32_t run(const uint16_t *code)
{
	const uint16_t *pc = code, **calls = return_stack;
	int32_t *sp = stack;

	for (;;) {
		switch ((enum op)*pc++) {
		case PUSH:	*sp++ = *pc++; break;
		case LOAD:	*sp++ = vars[*pc++]; break;
		case STORE:	vars[*pc++] = *--sp; break;
		case PEEK:	sp[-1] = load_cell(sp[-1]); break;
		case POKE:	sp -= 2; store_cell(sp[0], sp[1]); break;
		case ADD:	sp--; sp[-1] += *sp; break;
		case SUB:	sp--; sp[-1] -= *sp; break;
		case MUL:	sp--; sp[-1] *= *sp; break;
		case HALF:	sp[-1] >>= 1; break;
		case ODD:	sp[-1] &= 1; break;
		case LESS:	sp--; sp[-1] = sp[-1] < *sp; break;
		case JUMP:	pc = code + *pc; break;
		case JZERO:	pc = *--sp ? pc + 1 : code + *pc; break;
		case CALL:	*calls++ = pc + 1; pc = code + *pc; break;
		case RET:	pc = *--calls; break;
		case HALT:	return *--sp;
		}
	}
}

/* vars: 0 i, 1 j, 2 count */
static const uint16_t sieve[] = {
	/*  0 */ PUSH, 0, STORE, 2, PUSH, 2, STORE, 0,
	/*  8 */ LOAD, 0, PUSH, CELLS, LESS, JZERO, 55,
	/* 15 */ LOAD, 0, PEEK, JZERO, 27,		/* not struck out yet */
	/* 20 */ LOAD, 0, PUSH, 1, ADD, JUMP, 51,
	/* 27 */ LOAD, 2, PUSH, 1, ADD, STORE, 2, LOAD, 0, STORE, 1,
	/* 38 */ CALL, 58, LOAD, 0, PUSH, 1, ADD, JUMP, 51, HALT, HALT, HALT, HALT,
	/* 51 */ STORE, 0, JUMP, 8,
	/* 55 */ LOAD, 2, HALT,
	/* 58 */ LOAD, 1, LOAD, 0, ADD, STORE, 1,	/* strike out multiples */
	/* 65 */ LOAD, 1, PUSH, CELLS, LESS, JZERO, 79,
	/* 72 */ LOAD, 1, PUSH, 1, POKE, JUMP, 58,
	/* 79 */ RET,
};

/* vars: 0 n, 1 x, 2 steps */
static const uint16_t collatz[] = {
	/*  0 */ PUSH, 0, STORE, 2, PUSH, 1, STORE, 0,
	/*  8 */ LOAD, 0, PUSH, 300, LESS, JZERO, 59,
	/* 15 */ LOAD, 0, STORE, 1,
	/* 19 */ PUSH, 1, LOAD, 1, LESS, JZERO, 50,
	/* 26 */ LOAD, 2, PUSH, 1, ADD, STORE, 2,
	/* 33 */ LOAD, 1, ODD, JZERO, 43,
	/* 38 */ CALL, 62, JUMP, 19, HALT,
	/* 43 */ LOAD, 1, HALF, STORE, 1, JUMP, 19,
	/* 50 */ LOAD, 0, PUSH, 1, ADD, STORE, 0, JUMP, 8,
	/* 59 */ LOAD, 2, HALT,
	/* 62 */ LOAD, 1, PUSH, 3, MUL, PUSH, 1, ADD, STORE, 1, RET,
};

int main(void)
{
	int32_t sum = 0;
	int i, j;

	for (i = 0; i < REPEAT; i++) {
		for (j = 0; j < CELLS; j++)
			memory[j] = 0;
		sum += run(sieve);
		sum += run(collatz);
	}
	printf("interp: sum %ld\n", (long)sum);
	return 0;
}
