// SPDX-License-Identifier: GPL-2.0-only
/*
 * Code from files: of segments that overlap the one that was added first has each address
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmocka-tap.h"
#include "ntrace.h"

#define SIZE	16

/* A file of SIZE equal bytes, at addr */
static void add(struct nt_image *image, int byte, uint64_t addr)
{
	char path[] = "/tmp/image-test.XXXXXX";
	uint8_t bytes[SIZE];
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	memset(bytes, byte, SIZE);
	assert_int_equal(write(fd, bytes, SIZE), SIZE);
	close(fd);
	assert_int_equal(nt_image_add_raw(image, path, addr), 0);
	unlink(path);
}

/* `len` bytes from addr on, as many calls as it takes: one character each, '-' if not there */
static void assert_read(struct nt_image *image, uint64_t addr, size_t len, const char *want)
{
	char got[3 * SIZE + 1] = "", *to = got;
	uint8_t buf[3 * SIZE];
	size_t n, i;

	while (len) {
		n = nt_image_read(image, 0, addr, buf, len);
		assert_true(n <= len);
		for (i = 0; i < n; i++)
			*to++ = (char)buf[i];
		if (!n)
			*to++ = '-', n = 1;
		addr += n;
		len -= n;
	}
	*to = 0;
	assert_string_equal(got, want);
}

static void segments_that_overlap(void **state)
{
	struct nt_image *image = nt_image_new();

	(void)state;
	assert_non_null(image);
	add(image, 'a', 0x1008);
	add(image, 'b', 0x1000);
	add(image, 'c', 0x1010);
	assert_read(image, 0x1000, 34, "bbbbbbbbaaaaaaaaaaaaaaaacccccccc--");
	assert_read(image, 0x1004, 8, "bbbbaaaa");
	assert_read(image, 0x1007, 2, "ba");
	assert_read(image, 0x1008, 2, "aa");
	assert_read(image, 0x1017, 2, "ac");
	nt_image_free(image);
}

static void segments_that_touch(void **state)
{
	struct nt_image *image = nt_image_new();

	(void)state;
	assert_non_null(image);
	add(image, 'a', 0x1010);
	add(image, 'b', 0x1000);
	assert_read(image, 0x0ffe, 34, "--bbbbbbbbbbbbbbbbaaaaaaaaaaaaaaaa");
	assert_read(image, 0x100f, 1, "b");
	nt_image_free(image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(segments_that_overlap),
		cmocka_unit_test(segments_that_touch),
	};

	return RUN_TAP(tests);
}
