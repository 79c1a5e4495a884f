/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counts of transfers that can be added up over recordings, machines and days
 *
 *	edges-block.c	files of compressed blocks with checksums
 *	edges-write.c	recordings, files and edges -> blocks
 *	edges-read.c	blocks -> recordings, files and edges
 *	edges-merge.c	many files: find what counts once, and add it up
 *	edges-show.c	print the content for people
 *	edges-count.c	a recording or a trace -> edges
 *	edges-sha256.c	IDs of recordings
 *
 * Documentation/trace/ntrace-edges.rst specifies the format.
 */
#ifndef NTRACE_EDGES_H
#define NTRACE_EDGES_H

#include "cmd.h"

/* --------------------------------------------------------- what it has --- */

/*
 * A place: the number of a file, starting at 1 in the order of the part's files, and the file's own
 * address. 0 is elsewhere: in no file that is reported.
 */
#define EDGES_ADDRESS_BITS	40
#define EDGES_FILES_MAX		((uint64_t)1 << 20)

static inline uint64_t edges_place(uint64_t file, uint64_t addr)
{
	return file << EDGES_ADDRESS_BITS | (addr & ((1ull << EDGES_ADDRESS_BITS) - 1));
}

static inline uint64_t edges_file_of(uint64_t place)
{
	return place >> EDGES_ADDRESS_BITS;
}

/* Extend the sign, because addresses of the kernel have their upper bits set. */
static inline uint64_t edges_address(uint64_t place)
{
	return (uint64_t)((int64_t)(place << (64 - EDGES_ADDRESS_BITS)) >>
			  (64 - EDGES_ADDRESS_BITS));
}

static inline bool edges_address_fits(uint64_t addr)
{
	return edges_address(edges_place(0, addr)) == addr;
}

enum edges_kind {
	EDGES_BRANCH,		/* from an instruction to another one */
	EDGES_TRAP,		/* before `from' retired; `to' 0: trace ended there */
	EDGES_RETURN,		/* back from a trap; `from' 0: trace resumed there */
	EDGES_BEGIN,		/* `from' 0: trace began there */
	EDGES_LOST,		/* `to' 0: trace was lost before `from' retired */
	EDGES_KINDS
};

struct edges_edge {
	uint64_t from, to;	/* places */
	uint64_t count;
	unsigned int kind;
};

#define EDGES_SHA256	32

struct edges_recording {
	uint8_t id[EDGES_SHA256];	/* of its file */
	char *host;
	uint64_t branches;	/* number of all EDGES_BRANCH */
	uint64_t losses;
	uint64_t kernel, others;	/* skipped transfers: the kernel's, other users' */
};

#define EDGES_ID_MAX	64

struct edges_file {
	uint8_t id[EDGES_ID_MAX];	/* build-id, or the SHA-256 of a file without one */
	unsigned int size;
	uint64_t base;		/* of a kernel: the address of _text */
	char *name;		/* without folders */
};

/* The head of a part, before the edges of one or more recordings */
struct edges_head {
	struct edges_recording *recording;	/* sorted by id */
	size_t nr_recordings;
	struct edges_file *file;		/* sorted by id and base */
	size_t nr_files;
	bool scaled;		/* counts are weighted or capped */
};

struct edges_totals {
	uint64_t edges, branches;
	uint64_t count;		/* sum of all kinds */
	uint32_t check;		/* checksum of the content, independent of its compression */
};

void edges_head_free(struct edges_head *head);
int edges_compare_files(const void *a, const void *b);
/* Sort the files and remove duplicates. The strings stay with their owner. */
void edges_settle_files(struct edges_head *head);
int edges_compare_recordings(const void *a, const void *b);

static inline int edges_compare(const struct edges_edge *a, const struct edges_edge *b)
{
	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	if (a->to != b->to)
		return a->to < b->to ? -1 : 1;
	return (int)a->kind - (int)b->kind;
}

/* ------------------------------------------------------- edges-block.c --- */

#define EDGES_MAGIC	"NTEDGES\n"
#define EDGES_VERSION	1
#define EDGES_BLOCK	((size_t)64 << 10)	/* of edges; other blocks may be larger */
#define EDGES_BLOCK_MAX	((size_t)64 << 20)

enum edges_type { EDGES_HEAD = 'H', EDGES_DATA = 'E', EDGES_TOTALS = 'S', EDGES_TRAILER = 'T' };

struct edges_block {
	uint8_t type;
	uint8_t *raw;		/* has room for len */
	size_t len, room;
	uint64_t end;		/* offset of the next block */
	uint32_t check;		/* of raw */
};

/* A file of blocks to write */
struct edges_out {
	struct outfile file;
	uint8_t *stored;
	void *zstd;
};

/* Buffers to compress and decompress, for one thread at a time */
struct edges_codec {
	uint8_t *stored;
	size_t room;
	void *zstd;
};

uint32_t edges_crc(uint32_t crc, const void *p, size_t len);
/* Add the checksum of a block to that of its part. */
uint32_t edges_check(uint32_t check, uint32_t block);
void edges_out_open(struct edges_out *o, const char *path);
/* Returns the checksum of the raw bytes. */
uint32_t edges_out_block(struct edges_out *o, uint8_t type, const uint8_t *raw, size_t len);
/* Give the file its name. */
void edges_out_close(struct edges_out *o);
/* Finish a file without a name, and keep it open. */
void edges_out_end(struct edges_out *o);

/* Does the file begin like a file of edges? */
bool edges_is(const char *path);
/* Returns NULL, or an error text. *offset: after the magic number */
const char *edges_read_magic(int fd, uint64_t *offset);
/* Returns NULL, or an error text. type 0: end of the file */
const char *edges_read_block(int fd, uint64_t offset, struct edges_block *b,
			     struct edges_codec *codec);
void edges_codec_free(struct edges_codec *codec);

/* ------------------------------------------------------- edges-write.c --- */

struct edges_writer {
	struct edges_out out;
	uint8_t *raw;
	size_t len;
	uint64_t nr_parts;
	struct edges_edge last;
	struct edges_totals totals;	/* of the current part */
	uint64_t edges;			/* of all parts */
};

void edges_write_open(struct edges_writer *w, const char *path);
void edges_write_part(struct edges_writer *w, const struct edges_head *head);
/*
 * Edges have to be in the order of edges_compare(). The caller adds up edges that are equal in it.
 */
void edges_write_edge(struct edges_writer *w, const struct edges_edge *e);
void edges_write_part_end(struct edges_writer *w);
/* Copy a part from another file, after all of its blocks were checked. */
void edges_write_copy(struct edges_writer *w, int fd, uint64_t from, uint64_t to, uint64_t edges);
void edges_write_close(struct edges_writer *w);
void edges_write_end(struct edges_writer *w);

/* -------------------------------------------------------- edges-read.c --- */

/* Iterator over the edges of a part, with one block at a time in memory */
struct edges_stream {
	const char *path;
	int fd;			/* -1: open the file for each block */
	uint64_t offset;
	struct edges_block block;
	size_t at;
	uint64_t nr_files;	/* in the part */
	const uint64_t *map;	/* file number -> the reader's number; NULL: unchanged */
	struct edges_edge last;	/* the previous edge, with the numbers of the file */
	struct edges_edge e;	/* the current edge */
	bool ended;
};

struct edges_part {
	const char *path;
	uint64_t begin, data, end;	/* offsets of its head, its edges and its end */
	struct edges_head head;
	struct edges_totals totals;
};

struct edges_parts {
	struct edges_part *part;
	size_t nr;
};

/* Read and check all parts of a file. Returns NULL, or an error text; then no part is added. */
const char *edges_read_file(const char *path, struct edges_parts *parts,
			    struct edges_codec *codec);
void edges_parts_free(struct edges_parts *parts);

void edges_stream_open(struct edges_stream *s, const struct edges_part *part);
/*
 * Read the next edge into s->e. Returns false at the end. Ends the command if the file has changed.
 */
bool edges_stream_next(struct edges_stream *s, struct edges_codec *codec);
void edges_stream_close(struct edges_stream *s);

/* ------------------------------------------------------- edges-merge.c --- */

struct edges_weight {
	const char *host;	/* NULL: all others */
	uint64_t value;
};

/* Add to a sum, up to the maximum. Returns true on overflow. */
static inline bool edges_saturate(uint64_t *sum, uint64_t more)
{
	if (!__builtin_add_overflow(*sum, more, sum))
		return false;
	*sum = UINT64_MAX;
	return true;
}

struct edges_merge {
	struct edges_parts parts;	/* in an order that does not depend on that of the files */
	size_t skipped;			/* files */
	uint64_t saturated;		/* number of edges whose sum exceeds the maximum */
	struct edges_codec codec;
	struct edges_weight *weight, *cap;
	size_t nr_weights, nr_caps;
};

/* Read a file. A damaged file is reported and skipped. */
void edges_merge_add(struct edges_merge *m, const char *path);
/* Drop parts whose recordings would count twice. Ends the command if this is not possible. */
void edges_merge_settle(struct edges_merge *m);
/* Write each part unchanged. */
void edges_merge_write(struct edges_merge *m, struct edges_writer *w);
/* Write the sum as one part. The strings in its head belong to the parts. */
void edges_merge_sum(struct edges_merge *m, struct edges_writer *w);
void edges_merge_free(struct edges_merge *m);

/* -------------------------------------------------------- edges-show.c --- */

void edges_show(struct edges_merge *m);

/* ------------------------------------------------------ edges-sha256.c --- */

struct edges_sha256 {
	uint32_t state[8];
	uint64_t len;
	uint8_t block[64];
};

void edges_sha256_begin(struct edges_sha256 *s);
void edges_sha256_add(struct edges_sha256 *s, const void *p, size_t len);
void edges_sha256_end(struct edges_sha256 *s, uint8_t digest[EDGES_SHA256]);
/* In hexadecimal digits, with a NUL */
#define EDGES_SHA256_HEX	(2 * EDGES_SHA256 + 1)
void edges_sha256_hex(const uint8_t digest[EDGES_SHA256], char hex[EDGES_SHA256_HEX]);
/*
 * The SHA-256 of a file; of a folder, that of the file `data' in it. Ends the command if it cannot
 * be read.
 */
void edges_sha256_file(const char *path, uint8_t digest[EDGES_SHA256]);

#endif /* NTRACE_EDGES_H */
