// SPDX-License-Identifier: GPL-2.0-only
/*
 * Code from files: of segments that overlap the one that was added first has each address; the ISA
 * string of damaged attributes
 */
#define _GNU_SOURCE
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

static size_t read_sample(uint8_t *bytes, size_t room)
{
	const char *out = getenv("out");
	char path[4096];
	size_t len;
	FILE *f;

	snprintf(path, sizeof(path), "%s/samples/rv32/rv32.elf", out ? out : "build/host");
	f = fopen(path, "rb");
	if (!f)
		print_error("cannot open %s (is $out set?)\n", path);
	assert_non_null(f);
	len = fread(bytes, 1, room, f);
	fclose(f);
	return len;
}

/* What the file with these bytes says, "-" if nothing */
static void assert_isa(const uint8_t *bytes, size_t len, const char *want)
{
	struct nt_image *image = nt_image_new();
	char path[] = "/tmp/image-test.XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), len);
	close(fd);
	assert_int_equal(nt_image_add_elf(image, path, 0), 0);
	assert_string_equal(nt_image_isa(image) ? nt_image_isa(image) : "-", want);
	nt_image_free(image);
	unlink(path);
}

/* No string is longer than its part of the section. */
static void attributes_without_an_end(void **state)
{
	static const char isa[] = "rv32i2p1_c2p0";
	static uint8_t bytes[1 << 20];
	uint8_t *at, *name;
	size_t len = read_sample(bytes, sizeof(bytes));

	(void)state;
	at = memmem(bytes, len, isa, sizeof(isa));
	assert_non_null(at);
	assert_isa(bytes, len, isa);
	at[sizeof(isa) - 1] = 'x';
	assert_isa(bytes, len, "-");
	at[sizeof(isa) - 1] = 0;
	name = memmem(at - 16, 16, "riscv", sizeof("riscv"));
	assert_non_null(name);
	memset(name, 'x', at + sizeof(isa) - name);
	assert_isa(bytes, len, "-");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(segments_that_overlap),
		cmocka_unit_test(segments_that_touch),
		cmocka_unit_test(attributes_without_an_end),
	};

	return RUN_TAP(tests);
}
