// SPDX-License-Identifier: GPL-2.0-only
/* Opening files: whatever an ELF file says of itself, and the same bytes as raw memory */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"

#define RAW_AT	0x80000040

/* A file that only this process sees, and that is never written to a disk */
static const char *make_file(const uint8_t *data, size_t size)
{
	static int fd = -1;
	static char path[64];

	if (fd < 0) {
		fd = memfd_create("fuzz", 0);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	MUST(fd >= 0 && !ftruncate(fd, size) && pwrite(fd, data, size, 0) == (ssize_t)size);
	return path;
}

static void check_elf(struct nt_image *image, int ret)
{
	const char *isa = nt_image_isa(image);
	struct nt_params p;

	MUST(!ret || ret == -NT_EFORMAT);
	MUST(ret || nt_image_xlen(image) == 32 || nt_image_xlen(image) == 64);
	nt_params_init(&p);
	if (isa && !nt_isa_parse(isa, &p))
		MUST(!nt_params_check(&p));
}

static void read_some(struct nt_image *image)
{
	static const uint64_t at[] = { 0, 0x40, 0x1000, 0x10000, 0x80000000, 0x80000030,
				       0x80000100, 0xfffffff0, UINT64_MAX - 7 };
	uint8_t buf[64];
	unsigned int i;

	for (i = 0; i < sizeof(at) / sizeof(at[0]); i++)
		MUST(nt_image_read(image, 0, at[i], buf, sizeof(buf)) <= (int)sizeof(buf));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, data + size };
	unsigned int what = take(&in);
	struct nt_image *image;
	const char *path;
	uint8_t first;

	data = in.p;
	size = left(&in);
	path = make_file(data, size);
	image = nt_image_new();
	MUST(image);
	check_elf(image, nt_image_add_elf(image, path, (uint64_t)(int8_t)what << 8));
	if (what & 1) {
		MUST(!nt_image_add_raw(image, path, RAW_AT));
		/* what was added first counts, so maybe not these bytes */
		MUST(!size || nt_image_read(image, 0, RAW_AT, &first, 1) == 1);
	}
	read_some(image);
	nt_image_free(image);
	return 0;
}
