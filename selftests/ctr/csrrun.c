// SPDX-License-Identifier: GPL-2.0-only
/*
 * Write CTR's registers at random and read them back: csrrun SEED OUT
 *
 * OUT has lines "w CSR VALUE", "r CSR VALUE", "t CSR ..." (a trap), and "c" (SCTRCLR). csrcmp
 * repeats them on the library's buffer. "n" starts with an empty buffer of depth 256.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include "ctr_test.h"

#define ROUNDS	200

static uint64_t state;

static uint64_t rnd(void)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return state >> 24 ^ state << 30;
}

static void put(struct ctr_test_accesses *a, unsigned int csr, int write, uint64_t value)
{
	a->access[a->n++] = (struct ctr_test_access){ .csr = csr, .write = (__u16)write,
						       .value = value };
}

/* All ones now and then, so that it shows which bits there are */
static uint64_t any(void)
{
	return rnd() % 4 ? rnd() : ~0ull;
}

static void add_access(struct ctr_test_accesses *a)
{
	static const unsigned int readable[] = {
		0x14e, 0x14f, 0x150, 0x151, 0x152, 0x153, 0x155, 0x156, 0x157, 0x15f,
	};
	unsigned int csr;

	switch (rnd() % 12) {
	case 0:
		put(a, 0x14e, 1, any() & ~3ull);
		put(a, 0x14e, 0, 0);
		break;
	case 1:
		put(a, 0x14f, 1, any());
		put(a, 0x14f, 0, 0);
		break;
	case 2:
		put(a, 0x15f, 1, rnd() % 5);
		put(a, 0x15f, 0, 0);
		break;
	case 3:
		if (rnd() % 4 == 0)
			put(a, 0, 1, 0);
		break;
	case 4: case 5: case 6:
		/* few of them, so that what was written is read */
		put(a, 0x150, 1, 0x200 + rnd() % (rnd() % 2 ? 4 : 256));
		break;
	case 7: case 8: case 9:
		csr = 0x151 + (unsigned int)(rnd() % 3);
		put(a, csr, 1, any());
		if (rnd() % 2)
			put(a, csr, 0, 0);
		break;
	default:
		put(a, readable[rnd() % 10], 0, 0);
		break;
	}
}

int main(int argc, char **argv)
{
	int fd = open("/dev/ctr", O_RDWR), round;
	FILE *out = argc == 3 ? fopen(argv[2], "w") : NULL;

	if (fd < 0 || !out) {
		perror("csrrun");
		return 1;
	}
	state = strtoull(argv[1], NULL, 0);
	for (round = 0; round < ROUNDS; round++) {
		struct ctr_test_accesses a = { 0 };

		put(&a, 0x14e, 1, 0);
		put(&a, 0x15f, 1, 4);
		put(&a, 0, 1, 0);
		put(&a, 0x14f, 1, 0);
		put(&a, 0x150, 1, 0x200);
		while (a.n < CTR_TEST_ACCESSES_MAX - 2)
			add_access(&a);
		if (ioctl(fd, CTR_TEST_ACCESS, &a)) {
			perror("CTR_TEST_ACCESS");
			return 1;
		}
		fprintf(out, "n\n");
		for (unsigned int i = 0; i < a.n; i++)
			if (!a.access[i].csr)
				fprintf(out, "c\n");
			else
				fprintf(out, "%c %x %llx\n", a.access[i].trapped ? 't' :
					a.access[i].write ? 'w' : 'r',
					a.access[i].csr, a.access[i].value);
	}
	return fclose(out) ? 1 : 0;
}
