// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads and writes each word of the trace hardware's registers, and prints a line for each range
 * that answers, and how many accesses were faults:
 *
 *	probe: encoder 000-014 040-040 ...
 *	probe: N reads, N writes are access faults
 *
 * A fault has to be at the access: of the instruction, and with the address.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define CAUSE_LOAD_FAULT	5
#define CAUSE_STORE_FAULT	7

static volatile unsigned long cause, epc, tval;
static unsigned int loads, stores;

__attribute__((interrupt("machine"), aligned(4))) static void on_trap(void)
{
	unsigned long at;

	__asm__ volatile("csrr %0, mcause" : "=r"(cause));
	__asm__ volatile("csrr %0, mtval" : "=r"(tval));
	__asm__ volatile("csrr %0, mepc" : "=r"(at));
	epc = at;
	__asm__ volatile("csrw mepc, %0" : : "r"(at + 4));
}

static void check(unsigned long at, unsigned long address, unsigned long expected)
{
	if (cause == expected && epc == at && tval == address)
		return;
	printf("probe: at %lx, %lx: mcause %ld mepc %lx mtval %lx\n", at, address, cause, epc,
	       tval);
	exit(1);
}

/* Returns whether it did; registers that answer have an effect on rd, others none */
static bool load(unsigned long address, uint32_t *value)
{
	unsigned long at, word = 0x5eed5eed5eed;

	cause = 0;
	__asm__ volatile(".option push\n\t.option norvc\n\tla %1, 1f\n1:\tlw %0, 0(%2)\n\t.option pop"
			 : "+r"(word), "=&r"(at) : "r"(address) : "memory");
	if (!cause) {
		*value = word;
		return true;
	}
	check(at, address, CAUSE_LOAD_FAULT);
	if (word != 0x5eed5eed5eed) {
		printf("probe: %lx: the fault has a value\n", address);
		exit(1);
	}
	loads++;
	return false;
}

static bool store(unsigned long address, uint32_t value)
{
	unsigned long at;

	cause = 0;
	__asm__ volatile(".option push\n\t.option norvc\n\tla %0, 1f\n1:\tsw %1, 0(%2)\n\t.option pop"
			 : "=&r"(at) : "r"(value), "r"(address) : "memory");
	if (!cause)
		return true;
	check(at, address, CAUSE_STORE_FAULT);
	stores++;
	return false;
}

/* What was read is written: nothing is switched on by that */
static bool answers(unsigned long address)
{
	uint32_t value;
	bool read = load(address, &value);
	bool wrote = store(address, read ? value : 0);

	if (read != wrote) {
		printf("probe: %lx: reads %d, writes %d\n", address, read, wrote);
		exit(1);
	}
	return read;
}

static void probe(const char *name, unsigned long base)
{
	unsigned int offset, from = 1;

	printf("probe: %s", name);
	for (offset = 0; offset <= 0x1000; offset += 4) {
		bool is = offset < 0x1000 && answers(base + offset);

		if (is && from == 1)
			from = offset;
		if (!is && from != 1) {
			printf(" %03x-%03x", from, offset - 4);
			from = 1;
		}
	}
	printf("\n");
}

int main(void)
{
	uint32_t value;

	__asm__ volatile("csrw mtvec, %0" : : "r"(on_trap));
	probe("encoder", 0x18002000);
	probe("funnel", 0x18004000);
	probe("sink", 0x18005000);
	printf("probe: %u reads, %u writes are access faults\n", loads, stores);
	store(0x18004000, 1);
	store(0x18005000, 0x11);
	store(0x18005010, 0x12345640);
	printf("probe: start %x\n", load(0x18005010, &value) ? (unsigned int)value : 0);
	return 0;
}
