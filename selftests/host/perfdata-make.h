/* SPDX-License-Identifier: GPL-2.0-only */
/* Makes perf.data files by hand, byte by byte as the formats are documented */
#ifndef SELFTESTS_PERFDATA_MAKE_H
#define SELFTESTS_PERFDATA_MAKE_H

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MAKE_ROOM
#define MAKE_ROOM	((size_t)1 << 16)
#endif

struct make {
	uint8_t bytes[MAKE_ROOM];
	size_t len;
	size_t record;		/* the one being made */
};

static inline size_t put(struct make *m, const void *p, size_t len)
{
	size_t at = m->len;

	if (sizeof(m->bytes) - at < len)
		abort();
	memcpy(m->bytes + at, p, len);
	m->len += len;
	return at;
}

static inline size_t put64(struct make *m, uint64_t v)
{
	return put(m, &v, 8);
}

static inline size_t put32(struct make *m, uint32_t v)
{
	return put(m, &v, 4);
}

static inline size_t put16(struct make *m, uint16_t v)
{
	return put(m, &v, 2);
}

static inline void set64(struct make *m, size_t at, uint64_t v)
{
	memcpy(m->bytes + at, &v, 8);
}

/* A string with its 0, which fills the record up to a multiple of `unit' bytes */
static inline void put_text(struct make *m, const char *text, size_t unit)
{
	put(m, text, strlen(text) + 1);
	while ((m->len - m->record) % unit)
		put(m, "", 1);
}

/* The strings of features: length, bytes, filled up */
static inline void put_string(struct make *m, const char *text)
{
	size_t size = (strlen(text) + 1 + 63) & ~(size_t)63, at;

	put32(m, (uint32_t)size);
	at = m->len;
	put(m, text, strlen(text) + 1);
	while (m->len < at + size)
		put(m, "", 1);
}

/* A record begins, and ends: its size is known then. */
static inline void begin(struct make *m, uint32_t type, uint16_t misc)
{
	m->record = m->len;
	put32(m, type);
	put16(m, misc);
	put16(m, 0);
}

static inline void end(struct make *m)
{
	uint16_t size = (uint16_t)(m->len - m->record);

	memcpy(m->bytes + m->record + 6, &size, 2);
}

/* sample_type: IDENTIFIER, TID, TIME, CPU; records end with all of these */
#define SAMPLE_TYPE	(1u << 16 | 1u << 1 | 1u << 2 | 1u << 7)
#define TRAILER_LEN	32

static inline void end_with(struct make *m, int pid, int tid, uint64_t time, uint32_t cpu,
			    uint64_t id)
{
	put32(m, pid);
	put32(m, tid);
	put64(m, time);
	put32(m, cpu);
	put32(m, 0);
	put64(m, id);
	end(m);
}

#define ATTR_SIZE	136

static inline void put_attr(struct make *m, uint32_t type, uint64_t config)
{
	size_t at = put32(m, type);

	put32(m, ATTR_SIZE);
	put64(m, config);
	put64(m, 0);
	put64(m, SAMPLE_TYPE);
	put64(m, 4);			/* read_format: ID */
	put64(m, 1ull << 18 | 1ull << 5);	/* sample_id_all, exclude_kernel */
	put64(m, 0);
	put64(m, 0x11);			/* config1 */
	put64(m, 0x22);			/* config2 */
	while (m->len < at + ATTR_SIZE)
		put64(m, 0);
}

/* The header of a file with two events of one ID each; data is to follow. */
struct header {
	size_t attrs, ids, data;
};

#define PMU_TYPE	9
#define ID_TRACE	71
#define ID_DUMMY	72

static inline struct header put_header(struct make *m)
{
	struct header h;
	unsigned int i;

	m->len = 0;
	put(m, "PERFILE2", 8);
	put64(m, 104);
	put64(m, ATTR_SIZE + 16);
	for (i = 0; i < 10; i++)
		put64(m, 0);
	h.ids = put64(m, ID_TRACE);
	put64(m, ID_DUMMY);
	h.attrs = m->len;
	put_attr(m, PMU_TYPE, 0x2e);
	put64(m, h.ids);
	put64(m, 8);
	put_attr(m, 1, 9);
	put64(m, h.ids + 8);
	put64(m, 8);
	set64(m, 24, h.attrs);
	set64(m, 32, m->len - h.attrs);
	h.data = m->len;
	set64(m, 40, h.data);
	return h;
}

/* Data ends here. Features that `bits' tells follow, as sections of what `put' makes. */
static inline void put_features(struct make *m, const struct header *h, uint64_t bits,
				void (*feature)(struct make *m, unsigned int nr))
{
	size_t table = m->len, at;
	unsigned int i;

	set64(m, 48, m->len - h->data);
	set64(m, 72, bits);
	for (i = 0; i < 64; i++)
		if (bits >> i & 1) {
			put64(m, 0);
			put64(m, 0);
		}
	for (i = 0; i < 64; i++) {
		if (!(bits >> i & 1))
			continue;
		at = m->len;
		feature(m, i);
		set64(m, table, at);
		set64(m, table + 8, m->len - at);
		table += 16;
	}
}

/* ------------------------------------------------------------- records ---- */

static inline void put_mmap2(struct make *m)
{
	begin(m, 10, 2 | 1 << 14);
	put32(m, 100);
	put32(m, 101);
	put64(m, 0x10000);
	put64(m, 0x3000);
	put64(m, 0x1000);
	put32(m, 20);			/* size of the build-id, which has bytes 1 to 20 */
	put(m, "\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17\20\21\22\23\24", 20);
	put32(m, 5);
	put32(m, 2);
	put_text(m, "/usr/bin/prog", 8);
	end_with(m, 100, 101, 1000, 1, ID_DUMMY);
}

static inline void put_aux(struct make *m, uint64_t offset, uint64_t size, uint64_t flags,
			   uint64_t time)
{
	begin(m, 11, 0);
	put64(m, offset);
	put64(m, size);
	put64(m, flags);
	end_with(m, 100, 101, time, 1, ID_TRACE);
}

/* A record of trace, and `size' bytes of it, that count up from `offset' */
static inline void put_auxtrace(struct make *m, uint64_t offset, uint64_t size)
{
	uint8_t byte;
	uint64_t i;

	begin(m, 71, 0);
	put64(m, size);
	put64(m, offset);
	put64(m, 0xabc);
	put32(m, 3);
	put32(m, (uint32_t)-1);
	put32(m, 1);
	put32(m, 0);
	end(m);
	for (i = 0; i < size; i++) {
		byte = (uint8_t)(offset + i);
		put(m, &byte, 1);
	}
}

static inline void put_id_index(struct make *m)
{
	begin(m, 69, 0);
	put64(m, 1);
	put64(m, ID_TRACE);
	put64(m, 3);
	put64(m, 1);
	put64(m, (uint64_t)-1);
	end(m);
}

static inline void put_comm(struct make *m, const char *name)
{
	begin(m, 3, 1 << 13);
	put32(m, 100);
	put32(m, 101);
	put_text(m, name, 8);
	end_with(m, 100, 101, 1001, 1, ID_DUMMY);
}

/* A COMPRESSED record, or COMPRESSED2 with the bytes that fill it up, of one raw block of zstd */
static inline void put_compressed(struct make *m, bool first, bool second, const void *p,
				  size_t len)
{
	static const uint8_t frame[] = { 0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x38 };
	size_t at = 0;

	begin(m, second ? 83 : 81, 0);
	if (second)
		at = put64(m, 0);
	if (first)
		put(m, frame, sizeof(frame));
	put(m, (uint8_t[]){ len << 3, len >> 5, len >> 13 }, 3);
	put(m, p, len);
	if (second) {
		set64(m, at, m->len - at - 8);
		while ((m->len - m->record) % 8)
			put(m, "", 1);
	}
	end(m);
}

/* A whole file. Ends the program if that cannot be read. */
static inline uint8_t *load(const char *path, size_t *len)
{
	int fd = open(path, O_RDONLY);
	struct stat st;
	uint8_t *p;

	if (fd < 0 || fstat(fd, &st)) {
		perror(path);
		exit(1);
	}
	p = malloc(st.st_size);
	if (!p || read(fd, p, st.st_size) != st.st_size)
		exit(1);
	close(fd);
	*len = st.st_size;
	return p;
}

#endif /* SELFTESTS_PERFDATA_MAKE_H */
