// SPDX-License-Identifier: GPL-2.0-only
/* A library, made twice with code that is not the same at the same place: see reload.c */

unsigned long work(unsigned long n);

unsigned long work(unsigned long n)
{
	unsigned long sum = 0;

	for (unsigned long i = 0; i < n; i++) {
#if WAY == 1
		if (i % 3)
			sum += i;
#else
		if (i & 4)
			sum ^= i * 5;
		else if (i % 7 == 1)
			sum -= 3;
#endif
	}
	return sum;
}
