// SPDX-License-Identifier: GPL-2.0-only
/* Tells the machine that what is recorded from here on is number so and so: recording NUMBER */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	register unsigned long number __asm__("a0") = argc > 1 ? strtoul(argv[1], NULL, 0) : 0;

	/* a hint: nothing happens on any other machine */
	__asm__ volatile(".word (0x54e << 20 | 10 << 15 | 2 << 12 | 0x13)" : : "r" (number));
	return 0;
}
