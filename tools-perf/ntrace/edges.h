/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counts of transfers that can be added up: between recordings, machines and days
 *
 *	edges-block.c	files of blocks that are compressed, and whose damage is noticed
 *	edges-write.c	recordings, files and edges -> blocks
 *	edges-read.c	and back
 *	edges-merge.c	many files: what counts once, and its sum
 *	edges-show.c	what is in them, for people
 *	edges-count.c	a recording or a trace -> edges
 *	edges-sha256.c	the names of recordings
 *
 * The format is in Documentation/trace/ntrace-edges.rst.
 */
#ifndef NTRACE_EDGES_H
#define NTRACE_EDGES_H

#include "cmd.h"

/* --------------------------------------------------------- what it has --- */

/*
 * A place: which file, counted from 1 in the order of a part's files, and the address that the file
 * itself has for it. 0 is elsewhere: of no file that is told.
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

/* Addresses of the kernel have their upper bits set. */
static inline uint64_t edges_address(uint64_t place)
{
	return (uint64_t)((int64_t)(place << (64 - EDGES_ADDRESS_BITS)) >> (64 - EDGES_ADDRESS_BITS));
}

static inline bool edges_address_fits(uint64_t addr)
{
	return edges_address(edges_place(0, addr)) == addr;
}

enum edges_kind {
	EDGES_BRANCH,		/* from an instruction to another */
	EDGES_TRAP,		/* away, before `from' retired; `to' 0: trace ended there */
	EDGES_RETURN,		/* back from that; `from' 0: trace went on there */
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
	uint64_t branches;	/* in all, EDGES_BRANCH */
	uint64_t losses;
	uint64_t kernel, others;	/* left out: transfers of the kernel, of others' programs */
};

#define EDGES_ID_MAX	64

struct edges_file {
	uint8_t id[EDGES_ID_MAX];	/* build-id; of a file without, its SHA-256 */
	unsigned int size;
	uint64_t base;		/* of a kernel: where it was */
	char *name;		/* without folders */
};

/* What comes before the edges that were counted in some recordings */
struct edges_head {
	struct edges_recording *recording;	/* by id */
	size_t nr_recordings;
	struct edges_file *file;		/* by id and base */
	size_t nr_files;
	bool scaled;		/* counts are weighted, or capped */
};

struct edges_totals {
	uint64_t edges, branches;
	uint64_t count;		/* of all kinds */
	uint32_t check;		/* of the content, whatever compressed it */
};

void edges_head_free(struct edges_head *head);
int edges_compare_files(const void *a, const void *b);
/* Files in their order, each once; the strings stay their owner's */
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
#define EDGES_BLOCK	((size_t)64 << 10)	/* of edges; what describes them may be more */
#define EDGES_BLOCK_MAX	((size_t)64 << 20)

enum edges_type { EDGES_HEAD = 'H', EDGES_DATA = 'E', EDGES_TOTALS = 'S', EDGES_TRAILER = 'T' };

struct edges_block {
	uint8_t type;
	uint8_t *raw;		/* room for len */
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

/* Compresses and decompresses, for one thread at a time */
struct edges_codec {
	uint8_t *stored;
	size_t room;
	void *zstd;
};

uint32_t edges_crc(uint32_t crc, const void *p, size_t len);
/* That of a part, with one more block */
uint32_t edges_check(uint32_t check, uint32_t block);
void edges_out_open(struct edges_out *o, const char *path);
/* Returns the check of its raw bytes */
uint32_t edges_out_block(struct edges_out *o, uint8_t type, const uint8_t *raw, size_t len);
/* Now it has its name. */
void edges_out_close(struct edges_out *o);
/* Keeps the file open: for what has no name */
void edges_out_end(struct edges_out *o);

/* Is it a file of edges, by its first bytes? */
bool edges_is(const char *path);
/* NULL, or what is wrong with the first bytes; *offset is behind them */
const char *edges_read_magic(int fd, uint64_t *offset);
/* NULL, or what is wrong. type 0: the end of the file */
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
	struct edges_totals totals;	/* of this part */
	uint64_t edges;			/* of all */
};

void edges_write_open(struct edges_writer *w, const char *path);
void edges_write_part(struct edges_writer *w, const struct edges_head *head);
/* In the order of edges_compare(); several at one place are for the caller to add */
void edges_write_edge(struct edges_writer *w, const struct edges_edge *e);
void edges_write_part_end(struct edges_writer *w);
/* A part as another file has it, of which all blocks were checked */
void edges_write_copy(struct edges_writer *w, int fd, uint64_t from, uint64_t to, uint64_t edges);
void edges_write_close(struct edges_writer *w);
void edges_write_end(struct edges_writer *w);

/* -------------------------------------------------------- edges-read.c --- */

/* Edges of a part, one block in memory at a time */
struct edges_stream {
	const char *path;
	int fd;			/* -1: it is opened for each block */
	uint64_t offset;
	struct edges_block block;
	size_t at;
	uint64_t nr_files;	/* in the part */
	const uint64_t *map;	/* what its files are to the reader, by number; NULL: the same */
	struct edges_edge last;	/* as the file has it */
	struct edges_edge e;	/* this one */
	bool ended;
};

struct edges_part {
	const char *path;
	uint64_t begin, data, end;	/* offsets of its head, its edges, and behind it */
	struct edges_head head;
	struct edges_totals totals;
};

struct edges_parts {
	struct edges_part *part;
	size_t nr;
};

/* All parts of a file, every byte looked at. NULL, or what is wrong: then none is added */
const char *edges_read_file(const char *path, struct edges_parts *parts,
			    struct edges_codec *codec);
void edges_parts_free(struct edges_parts *parts);

void edges_stream_open(struct edges_stream *s, const struct edges_part *part);
/* Have the next edge in s->e. False behind the last; ends the command if the file has changed */
bool edges_stream_next(struct edges_stream *s, struct edges_codec *codec);
void edges_stream_close(struct edges_stream *s);

/* ------------------------------------------------------- edges-merge.c --- */

struct edges_weight {
	const char *host;	/* NULL: any other */
	uint64_t value;
};

/* More than a count can be is the most that it can: true then */
static inline bool edges_saturate(uint64_t *sum, uint64_t more)
{
	if (!__builtin_add_overflow(*sum, more, sum))
		return false;
	*sum = UINT64_MAX;
	return true;
}

struct edges_merge {
	struct edges_parts parts;	/* in an order that does not depend on that of files */
	size_t skipped;			/* files */
	uint64_t saturated;		/* edges whose sum is more than a count can be */
	struct edges_codec codec;
	struct edges_weight *weight, *cap;
	size_t nr_weights, nr_caps;
};

/* Read files; name and skip those that are damaged. */
void edges_merge_add(struct edges_merge *m, const char *path);
/* Drop what counts twice. Ends the command where it can't. */
void edges_merge_settle(struct edges_merge *m);
/* Each part as it is */
void edges_merge_write(struct edges_merge *m, struct edges_writer *w);
/* The sum as one part. The head's strings are those of the parts. */
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
/* As text, with a NUL */
#define EDGES_SHA256_HEX	(2 * EDGES_SHA256 + 1)
void edges_sha256_hex(const uint8_t digest[EDGES_SHA256], char hex[EDGES_SHA256_HEX]);
/* Of a file; of a folder, of the file `data' in it. Ends the command if it cannot be read. */
void edges_sha256_file(const char *path, uint8_t digest[EDGES_SHA256]);

#endif /* NTRACE_EDGES_H */
