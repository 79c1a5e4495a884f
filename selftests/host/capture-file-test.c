// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace record's file on a disk that becomes full: wherever that is, the data ends behind a whole
 * record or piece of trace, and what stands behind the data is whole as well. A limit on the file's
 * size stands for the disk.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture.h"
#include "cmocka-tap.h"
#include "die.h"

#define FEATURES	600	/* bytes: of the section, and of what stands in it */
#define RECORD		PERF_RECORD_COMM
#define ROUNDS		12
#define PIECES_FROM	4	/* rounds before have no trace, and that of PIECES_FROM is long */

/* Which feature that is does not matter here */
void capture_header_make(struct capture *c, struct capture_bytes *b, uint64_t at,
			 uint64_t *features)
{
	const uint8_t byte = 0xfe;
	unsigned int i;

	(void)c;
	features[0] |= 8;
	capture_put64(b, at + 16);
	capture_put64(b, FEATURES - 16);
	for (i = 16; i < FEATURES; i++)
		capture_put(b, &byte, 1);
}

static void put_records(struct capture *c, unsigned int nr)
{
	struct {
		struct perf_event_header header;
		uint64_t body[5];
	} rec = { { .type = RECORD, .size = sizeof(rec) }, { 0 } };

	while (nr--)
		capture_file_write(c, &rec, sizeof(rec));
}

static void put_trace(struct capture *c, size_t len)
{
	static const uint8_t trace[20000];
	const uint8_t *part[2] = { trace, trace + len / 3 };
	const size_t lens[2] = { len / 3, len - len / 3 };

	capture_file_trace(c, 0, 0, part, lens);
}

/* The whole recording, of which the disk takes so much; returns how long it wanted to be */
static uint64_t record(const char *path, rlim_t room, int *error)
{
	struct capture c = { .o = { .output = path }, .nr_events = 1 };
	struct rlimit limit = { room, RLIM_INFINITY };
	struct capture_ring ring = { .tid = 1 };
	uint64_t at;
	unsigned int i;

	c.ring = &ring;
	capture_file_open(&c);
	capture_file_begin(&c);
	assert_false(setrlimit(RLIMIT_FSIZE, &limit));
	for (i = 0; i < ROUNDS; i++) {
		put_records(&c, 40 + 7 * i);
		if (i >= PIECES_FROM)
			put_trace(&c, i == PIECES_FROM ? 20000 : 1000 + 77 * i);
		put_records(&c, i == ROUNDS - 1 ? 200 : 3);
		capture_file_round(&c);
	}
	at = c.file.at;
	capture_file_end(&c);
	limit.rlim_cur = RLIM_INFINITY;
	assert_false(setrlimit(RLIMIT_FSIZE, &limit));
	*error = c.file.error;
	free(c.file.path);
	free(c.file.data);
	free(c.file.waiting.p);
	free(c.file.features.p);
	free(c.file.trace);
	return at;
}

/* Records and trace up to the end of the data; returns how much of either there is */
static void walk(const uint8_t *p, uint64_t from, uint64_t to, uint64_t amount[2])
{
	struct perf_event_header header;
	uint64_t size;

	amount[0] = amount[1] = 0;
	while (from < to) {
		assert_true(from + sizeof(header) <= to);
		memcpy(&header, p + from, sizeof(header));
		assert_true(header.size >= sizeof(header) && from + header.size <= to);
		if (header.type == NT_PERFDATA_AUXTRACE) {
			memcpy(&size, p + from + sizeof(header), sizeof(size));
			assert_true(size <= to && from + header.size + size <= to);
			assert_int_equal(size % 8, 0);
			amount[1] += size;
			from += size;
		} else {
			assert_int_equal(header.type, RECORD);
			amount[0] += header.size;
		}
		from += header.size;
	}
}

static uint64_t value_at(const uint8_t *p, uint64_t at)
{
	uint64_t val;

	memcpy(&val, p + at, sizeof(val));
	return val;
}

/* Data that can be walked through, and the features behind it */
static void check(const char *path, uint64_t amount[2])
{
	static uint8_t bytes[1 << 20];
	FILE *f = fopen(path, "r");
	uint64_t data, end, i;
	size_t len;

	assert_non_null(f);
	len = fread(bytes, 1, sizeof(bytes), f);
	fclose(f);
	assert_in_range(len, 104, sizeof(bytes) - 1);
	data = value_at(bytes, 40);
	end = data + value_at(bytes, 48);
	assert_int_equal(len, end + FEATURES);
	assert_int_equal(value_at(bytes, 72), 8);
	assert_int_equal(value_at(bytes, end), end + 16);
	for (i = end + 16; i < len; i++)
		assert_int_equal(bytes[i], 0xfe);
	walk(bytes, data, end, amount);
}

static void full_anywhere(void **unused)
{
	uint64_t all[2], amount[2], wanted, room;
	char dir[] = "/tmp/capture-file.XXXXXX", path[64];
	int error;

	(void)unused;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/perf.data", dir);
	wanted = record(path, RLIM_INFINITY, &error);
	assert_int_equal(error, 0);
	check(path, all);
	/* below, the file has no room for the features in place of records */
	for (room = 10000; room < wanted + FEATURES; room += 24) {
		assert_false(unlink(path));
		record(path, room, &error);
		assert_int_equal(error, EFBIG);
		check(path, amount);
		/* what makes room is two pages at most, and a record */
		assert_true(amount[0] + amount[1] + 3 * 4096 + ROUNDS * 48 >=
			    (all[0] + all[1] < room ? all[0] + all[1] : room));
		assert_true(amount[0] <= all[0] && amount[1] <= all[1]);
	}
	assert_false(unlink(path));
	assert_false(rmdir(dir));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(full_anywhere),
	};

	/* a file that may not grow is a disk that is full */
	signal(SIGXFSZ, SIG_IGN);
	return RUN_TAP(tests);
}
