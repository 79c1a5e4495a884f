// SPDX-License-Identifier: GPL-2.0-only
/*
 * Arrays that grow
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
