// SPDX-License-Identifier: GPL-2.0-only
/* Give files to a fuzz target, as a test without the fuzzer; prints how many */
#include <stdio.h>
#include <stdlib.h>

#include "fuzz.h"

#define SIZE_MAX_INPUT	(1 << 20)

static int replay(const char *path)
{
	uint8_t *data = malloc(SIZE_MAX_INPUT), *exact;
	FILE *f = fopen(path, "rb");
	size_t len;

	if (!f || !data) {
		perror(path);
		return -1;
	}
	len = fread(data, 1, SIZE_MAX_INPUT, f);
	fclose(f);
	/* so that a sanitizer sees a read beyond the end */
	exact = realloc(data, len ? len : 1);
	if (!exact)
		return -1;
	LLVMFuzzerTestOneInput(exact, len);
	free(exact);
	return 0;
}

int main(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++)
		if (replay(argv[i]))
			return 1;
	printf("%d\n", argc - 1);
	return 0;
}
