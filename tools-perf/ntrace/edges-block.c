// SPDX-License-Identifier: GPL-2.0-only
/*
 * A file of blocks. Each block is compressed by itself and has its own checksum, so that it can be
 * read alone. Damaged and truncated files are detected.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

#include "edges.h"

#define LEVEL	1

/* type, length, stored length, checksum of these and of the stored bytes; little-endian */
#define HEADER	13

/* --------------------------------------------------------------- check --- */

/* CRC-32 as in zlib, eight bytes at a time */
static uint32_t table[8][256];

static void make_table(void)
{
	uint32_t i, j, crc;

	for (i = 0; i < 256; i++) {
		for (crc = i, j = 0; j < 8; j++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
		table[0][i] = crc;
	}
	for (j = 1; j < 8; j++)
		for (i = 0; i < 256; i++)
			table[j][i] = table[j - 1][i] >> 8 ^ table[0][table[j - 1][i] & 0xff];
}

uint32_t edges_crc(uint32_t crc, const void *bytes, size_t len)
{
	const uint8_t *p = bytes;

	if (!table[0][1])
		make_table();
	crc = ~crc;
	for (; len >= 8; len -= 8, p += 8) {
		crc ^= p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
		crc = table[7][crc & 0xff] ^ table[6][crc >> 8 & 0xff] ^
		      table[5][crc >> 16 & 0xff] ^ table[4][crc >> 24] ^
		      table[3][p[4]] ^ table[2][p[5]] ^ table[1][p[6]] ^ table[0][p[7]];
	}
	while (len--)
		crc = crc >> 8 ^ table[0][(crc ^ *p++) & 0xff];
	return ~crc;
}

static void put32(uint8_t *p, uint32_t value)
{
	unsigned int i;

	for (i = 0; i < 4; i++)
		p[i] = (uint8_t)(value >> (8 * i));
}

static uint32_t get32(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

uint32_t edges_check(uint32_t check, uint32_t block)
{
	uint8_t bytes[4];

	put32(bytes, block);
	return edges_crc(check, bytes, sizeof(bytes));
}

/* ------------------------------------------------------------- writing --- */

void edges_out_open(struct edges_out *o, const char *path)
{
	*o = (struct edges_out){ .zstd = NULL };
	outfile_open(&o->file, path);
	if (!path && isatty(o->file.fd))
		die("edges are no text: write them to a file, with -o FILE or >FILE");
}

/* Compress a block. Returns 0 if it has to be stored uncompressed. */
static size_t compress(struct edges_out *o, const uint8_t *raw, size_t len)
{
#ifdef HAVE_ZSTD
	size_t n;

	if (!o->zstd)
		o->zstd = ZSTD_createCCtx();
	o->stored = realloc(o->stored, len + 1);
	if (!o->zstd || !o->stored)
		die("%s", nt_strerror(NT_ENOMEM));
	n = ZSTD_compressCCtx(o->zstd, o->stored, len, raw, len, LEVEL);
	return ZSTD_isError(n) || n >= len ? 0 : n;
#else
	(void)o;
	(void)raw;
	(void)len;
	return 0;
#endif
}

uint32_t edges_out_block(struct edges_out *o, uint8_t type, const uint8_t *raw, size_t len)
{
	size_t stored = compress(o, raw, len);
	const uint8_t *bytes = stored ? o->stored : raw;
	uint8_t header[HEADER] = { type };

	if (!stored)
		stored = len;
	put32(header + 1, (uint32_t)len);
	put32(header + 5, (uint32_t)stored);
	put32(header + 9, edges_crc(edges_crc(0, header, 9), bytes, stored));
	outfile_bytes(&o->file, header, HEADER);
	outfile_bytes(&o->file, bytes, stored);
	return edges_crc(0, raw, len);
}

void edges_out_end(struct edges_out *o)
{
#ifdef HAVE_ZSTD
	ZSTD_freeCCtx(o->zstd);
#endif
	free(o->stored);
	o->zstd = NULL;
	o->stored = NULL;
}

void edges_out_close(struct edges_out *o)
{
	edges_out_end(o);
	outfile_close(&o->file);
}

/* ------------------------------------------------------------- reading --- */

static ssize_t read_at(int fd, void *buf, size_t len, uint64_t offset)
{
	uint8_t *p = buf;
	size_t done = 0;
	ssize_t n;

	while (done < len) {
		n = pread(fd, p + done, len - done, (off_t)(offset + done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return n;
		if (!n)
			break;
		done += n;
	}
	return (ssize_t)done;
}

bool edges_is(const char *path)
{
	char magic[sizeof(EDGES_MAGIC) - 1];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	bool is;

	if (fd < 0)
		return false;
	is = !fstat(fd, &st) && S_ISREG(st.st_mode) &&
	     read_at(fd, magic, sizeof(magic), 0) == sizeof(magic) &&
	     !memcmp(magic, EDGES_MAGIC, sizeof(magic));
	close(fd);
	return is;
}

const char *edges_read_magic(int fd, uint64_t *offset)
{
	uint8_t magic[sizeof(EDGES_MAGIC)];
	struct stat st;

	if (fstat(fd, &st))
		return strerror(errno);
	if (!S_ISREG(st.st_mode))
		return "is no regular file: edges are read twice";
	if (read_at(fd, magic, sizeof(magic), 0) != sizeof(magic) ||
	    memcmp(magic, EDGES_MAGIC, sizeof(magic) - 1))
		return "is no file of edges, as ntrace profile --format=edges makes them";
	if (magic[sizeof(magic) - 1] != EDGES_VERSION)
		return "is of a version of the format that this ntrace does not know";
	*offset = sizeof(magic);
	return NULL;
}

static void make_room(uint8_t **buf, size_t *room, size_t len)
{
	if (len <= *room)
		return;
	free(*buf);
	*buf = malloc(len);
	if (!*buf)
		die("%s", nt_strerror(NT_ENOMEM));
	*room = len;
}

static const char *decompress(struct edges_block *b, struct edges_codec *c, size_t stored)
{
#ifdef HAVE_ZSTD
	if (!c->zstd)
		c->zstd = ZSTD_createDCtx();
	if (!c->zstd)
		die("%s", nt_strerror(NT_ENOMEM));
	if (ZSTD_decompressDCtx(c->zstd, b->raw, b->len, c->stored, stored) != b->len)
		return "is damaged: a block does not decompress";
	return NULL;
#else
	(void)b;
	(void)c;
	(void)stored;
	return "is compressed, and this ntrace was built without zstd";
#endif
}

static const char *read_stored(int fd, uint64_t offset, struct edges_block *b,
			       struct edges_codec *c, const uint8_t *header)
{
	size_t stored = get32(header + 5);
	ssize_t n;

	make_room(&c->stored, &c->room, stored);
	n = read_at(fd, c->stored, stored, offset + HEADER);
	if (n < 0)
		return strerror(errno);
	if ((size_t)n < stored)
		return "is cut: it ends in a block";
	if (edges_crc(edges_crc(0, header, 9), c->stored, stored) != get32(header + 9))
		return "is damaged: a block's check is wrong";
	make_room(&b->raw, &b->room, b->len);
	if (stored < b->len)
		return decompress(b, c, stored);
	memcpy(b->raw, c->stored, stored);
	return NULL;
}

const char *edges_read_block(int fd, uint64_t offset, struct edges_block *b,
			     struct edges_codec *c)
{
	uint8_t header[HEADER];
	ssize_t n = read_at(fd, header, HEADER, offset);
	const char *wrong;

	b->type = 0;
	if (n < 0)
		return strerror(errno);
	if (!n)
		return NULL;
	if (n < HEADER)
		return "is cut: it ends in a block";
	b->len = get32(header + 1);
	if (b->len > EDGES_BLOCK_MAX || get32(header + 5) > b->len ||
	    (header[0] == EDGES_DATA && b->len > EDGES_BLOCK))
		return "is damaged: a block has a length that none can have";
	wrong = read_stored(fd, offset, b, c, header);
	if (wrong)
		return wrong;
	b->type = header[0];
	b->end = offset + HEADER + get32(header + 5);
	b->check = edges_crc(0, b->raw, b->len);
	return NULL;
}

void edges_codec_free(struct edges_codec *c)
{
#ifdef HAVE_ZSTD
	ZSTD_freeDCtx(c->zstd);
#endif
	free(c->stored);
}
