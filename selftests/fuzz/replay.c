// SPDX-License-Identifier: GPL-2.0-only
/* Give files to a fuzz target, as a test without the fuzzer */
#include <stdio.h>
#include <stdlib.h>

#include "fuzz.h"

int main(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++) {
		FILE *f = fopen(argv[i], "rb");
		uint8_t *data = malloc(1 << 20), *exact;
		size_t len;

		if (!f || !data)
			return 1;
		len = fread(data, 1, 1 << 20, f);
		fclose(f);
		/* so that a sanitizer or valgrind sees a read beyond the end */
		exact = realloc(data, len ? len : 1);
		if (!exact)
			return 1;
		LLVMFuzzerTestOneInput(exact, len);
		free(exact);
	}
	printf("%d\n", argc - 1);
	return 0;
}
