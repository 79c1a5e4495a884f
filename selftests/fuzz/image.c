// SPDX-License-Identifier: GPL-2.0-only
/* Opening files: whatever an ELF file says of itself */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	static char path[64];
	struct nt_image *image = nt_image_new();
	struct nt_params p;
	uint8_t buf[64];
	unsigned int i;

	if (fd < 0) {
		fd = memfd_create("fuzz", 0);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	if (fd < 0 || ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	if (!nt_image_add_elf(image, path, 0))
		for (i = 0; i < 64; i++)
			nt_image_read(image, 0x80000000 + i * 0x100, buf, sizeof(buf));
	if (nt_image_isa(image))
		nt_isa_parse(nt_image_isa(image), &p);
	nt_image_free(image);
	return 0;
}
