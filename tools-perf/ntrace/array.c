// SPDX-License-Identifier: GPL-2.0-only
/*
 * Growing arrays
 */
#include <stdlib.h>

#include "cmd.h"

void *array_room(void *array, size_t n, size_t size)
{
	if (!(n & (n - 1)))
		array = reallocarray(array, n ? 2 * n : 1, size);
	if (!array)
		die("%s", nt_strerror(NT_ENOMEM));
	return array;
}

size_t array_before(const void *array, size_t n, size_t size, uint64_t addr)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (*(const uint64_t *)((const char *)array + mid * size) < addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

size_t array_behind(const void *array, size_t n, size_t size, uint64_t addr)
{
	return addr == UINT64_MAX ? n : array_before(array, n, size, addr + 1);
}
