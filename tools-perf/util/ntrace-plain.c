// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes the output of perf inject readable for other programs. Older perfs, and programs that read
 * perf.data themselves, refuse attributes that are longer than the ones they know, even if the rest
 * is zero. So the attributes are written as short as possible.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>

#include "debug.h"
#include "header.h"
#include "session.h"
#include "ntrace.h"

/* The size in Linux 5.14 to 6.2, which branch stacks and AUX area samples need */
#define PLAIN_SIZE	128

static bool read_all(int fd, void *buf, size_t len, u64 offset)
{
	return pread(fd, buf, len, offset) == (ssize_t)len;
}

static bool is_zero(const u8 *p, size_t len)
{
	while (len--) {
		if (*p++)
			return false;
	}
	return true;
}

/*
 * Each entry of the table has an attribute and a perf_file_section. Shorten the entries in place;
 * false if one of the attributes needs its length.
 */
static bool shorten(u8 *table, u64 nr, u64 size)
{
	const u64 plain = PLAIN_SIZE + sizeof(struct perf_file_section);
	u32 attr_size = PLAIN_SIZE;
	u64 i;

	for (i = 0; i < nr; i++) {
		if (!is_zero(table + i * size + PLAIN_SIZE, size - plain))
			return false;
	}
	for (i = 0; i < nr; i++) {
		u8 *from = table + i * size, *to = table + i * plain;

		memmove(to, from, PLAIN_SIZE);
		memcpy(to + offsetof(struct perf_event_attr, size), &attr_size, sizeof(attr_size));
		memmove(to + PLAIN_SIZE, from + size - sizeof(struct perf_file_section),
			sizeof(struct perf_file_section));
	}
	return true;
}

static int write_table(int fd, struct perf_file_header *header, const u8 *table, u64 nr)
{
	header->attr_size = PLAIN_SIZE + sizeof(struct perf_file_section);
	header->attrs.size = nr * header->attr_size;
	if (pwrite(fd, table, header->attrs.size, header->attrs.offset) !=
	    (ssize_t)header->attrs.size ||
	    pwrite(fd, header, sizeof(*header), 0) != sizeof(*header)) {
		pr_err("ntrace: cannot write the attributes of events: %s\n", strerror(errno));
		return -errno;
	}
	return 0;
}

int ntrace_plain_attrs(struct perf_session *session, int fd)
{
	struct perf_file_header header;
	int err = 0;
	u8 *table;
	u64 nr;

	if (!ntrace_is_ours(session))
		return 0;
	if (!read_all(fd, &header, sizeof(header), 0))
		return -EIO;
	if (header.attr_size <= PLAIN_SIZE + sizeof(struct perf_file_section))
		return 0;
	nr = header.attrs.size / header.attr_size;
	table = malloc(header.attrs.size);
	if (!table)
		return -ENOMEM;
	/* The file's size does not change: no program reads the gap after the table. */
	if (!read_all(fd, table, header.attrs.size, header.attrs.offset))
		err = -EIO;
	else if (shorten(table, nr, header.attr_size))
		err = write_table(fd, &header, table, nr);
	free(table);
	return err;
}
