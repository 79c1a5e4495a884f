/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A reader of perf.data: internal declarations
 *
 *	nt-perfdata.c		opens files and iterates over records
 *	nt-perfdata-record.c	parses records
 *	nt-perfdata-stream.c	compressed records
 *	nt-perfdata-header.c	the header: position of data, events, features
 *	nt-perfdata-event.c	events and the meaning of their IDs
 *	nt-perfdata-source.c	reads files, pipes, memory
 */
#ifndef NTRACE_NT_PERFDATA_INT_H
#define NTRACE_NT_PERFDATA_INT_H

#include <string.h>

#include "nt-perfdata.h"

#define RECORD_HEADER	8		/* in bytes: type, misc, size */
#define RECORD_MAX	65535		/* its size has 16 bits */

/* -------------------------------------------------------------- parsing -- */

/* Takes fields from the front of bytes, but never beyond their end: sets `bad' instead. */
struct nt_perfdata_cursor {
	const uint8_t *p, *end;
	bool bad;
};

static inline void nt_perfdata_take(struct nt_perfdata_cursor *c, void *to, size_t size)
{
	if ((size_t)(c->end - c->p) < size) {
		c->bad = true;
		memset(to, 0, size);
		return;
	}
	memcpy(to, c->p, size);
	c->p += size;
}

static inline uint64_t nt_perfdata_u64(struct nt_perfdata_cursor *c)
{
	uint64_t v;

	nt_perfdata_take(c, &v, sizeof(v));
	return v;
}

static inline uint32_t nt_perfdata_u32(struct nt_perfdata_cursor *c)
{
	uint32_t v;

	nt_perfdata_take(c, &v, sizeof(v));
	return v;
}

static inline uint16_t nt_perfdata_u16(struct nt_perfdata_cursor *c)
{
	uint16_t v;

	nt_perfdata_take(c, &v, sizeof(v));
	return v;
}

static inline const uint8_t *nt_perfdata_bytes(struct nt_perfdata_cursor *c, uint64_t size)
{
	const uint8_t *p = c->p;

	if ((uint64_t)(c->end - c->p) < size) {
		c->bad = true;
		return p;
	}
	c->p += size;
	return p;
}

/* Text up to its terminating 0, which must be present */
static inline const char *nt_perfdata_text(struct nt_perfdata_cursor *c)
{
	const uint8_t *p = c->p, *zero = memchr(p, 0, c->end - p);

	if (!zero) {
		c->bad = true;
		return "";
	}
	c->p = zero + 1;
	return (const char *)p;
}

/* ------------------------------------------------------------ structures - */

/* A source of bytes */
struct nt_perfdata_source {
	char *name;
	int fd;			/* -1: memory */
	bool own;		/* close fd at the end */
	bool pipe;		/* its bytes arrive once, and are stored in `kept' */
	bool ended;		/* no more bytes will arrive */
	int kept;
	uint64_t size;		/* of a pipe: received so far */
	const uint8_t *memory;
};


struct nt_perfdata_section {
	uint64_t offset, size;
};

struct nt_perfdata_feat {
	bool there;
	bool read;		/* data was read */
	struct nt_perfdata_section section;
	uint8_t *data;
};

/* Compressed records: see nt-perfdata-stream.c */
struct nt_perfdata_stream {
	void *zstd;
	uint8_t *in;		/* RECORD_MAX */
	size_t in_at, in_len;
	uint8_t *out;		/* STREAM_ROOM, records from out_at on */
	size_t out_at, out_len;
	uint64_t offset;	/* of the compressed record in the file */
};

struct nt_perfdata {
	char *folder;		/* opened folder, or NULL */
	struct nt_perfdata_source *source;	/* files */
	unsigned int nr_sources;
	bool opened;		/* opened, and the header was read */
	bool pipe_mode;
	bool unfinished;	/* the header was never completed: the end of the data is unknown */
	struct nt_perfdata_section data;	/* of the first file */

	/* the window */
	uint8_t *window;
	uint64_t window_at;
	size_t window_len;
	unsigned int window_of;	/* source */

	/* current position */
	unsigned int current;	/* source */
	uint64_t at, end;
	bool done;		/* this source is finished */
	struct nt_perfdata_stream stream;
	int kept;		/* file of compressed AUX area samples; -1: none yet */
	uint64_t kept_len;	/* its length since the first record */
	bool kept_before;	/* stored by the reader that was opened before */

	struct nt_perfdata_event *attr;
	unsigned int nr_attrs;
	struct nt_perfdata_id *id;		/* hash table */
	size_t nr_ids, id_room;
	struct nt_perfdata_feat feat[NT_PERFDATA_FEAT_MAX];
	uint8_t *file_ids;	/* pipe mode: HEADER_BUILD_ID records */
	size_t file_ids_len;
	size_t file_id_nr, file_id_at;	/* last build-id that was looked up, and its offset */

	char message[512];
};

/* --------------------------------------------------------------- errors -- */

int __attribute__((format(printf, 3, 4)))
nt_perfdata_fail(struct nt_perfdata *pd, enum nt_perfdata_error error, const char *fmt, ...);

/* Returns -NT_PERFDATA_EDAMAGED, with file and offset in the message */
int __attribute__((format(printf, 4, 5)))
nt_perfdata_damaged(struct nt_perfdata *pd, unsigned int source, uint64_t offset,
		    const char *fmt, ...);

/* ------------------------------------------------- nt-perfdata-source.c -- */

int nt_perfdata_source_open(struct nt_perfdata *pd, struct nt_perfdata_source *s, const char *path);
int nt_perfdata_source_fd(struct nt_perfdata *pd, struct nt_perfdata_source *s, int fd,
			  const char *name);
/* Open the same bytes with an own position; of a pipe, all that have arrived */
int nt_perfdata_source_again(struct nt_perfdata *pd, struct nt_perfdata_source *s,
			     const struct nt_perfdata_source *other);
void nt_perfdata_source_close(struct nt_perfdata_source *s);

/* Read up to len bytes; returns their number, or a negative error */
int nt_perfdata_source_read(struct nt_perfdata *pd, struct nt_perfdata_source *s, uint64_t offset,
			    void *buf, size_t len);

/* Store a decompressed AUX area sample in the file with this number, at *at.  0 or negative */
#define KEPT_FILE	UINT32_MAX
int nt_perfdata_source_keep(struct nt_perfdata *pd, const uint8_t *p, size_t len, uint64_t *at);
int nt_perfdata_source_read_kept(struct nt_perfdata *pd, uint64_t offset, void *buf, size_t len);

/*
 * Get bytes of the current source in place: *p, valid until the next call.  At most WINDOW_SIZE.
 * Returns the same as nt_perfdata_source_read()
 */
#define WINDOW_SIZE	((size_t)256 << 10)
int nt_perfdata_peek(struct nt_perfdata *pd, uint64_t offset, size_t len, const uint8_t **p);

/* ------------------------------------------------- nt-perfdata-header.c -- */

int nt_perfdata_header_read(struct nt_perfdata *pd);
int nt_perfdata_header_feature(struct nt_perfdata *pd, const uint8_t *record, uint32_t len);
int nt_perfdata_header_build_id(struct nt_perfdata *pd, const uint8_t *record, uint32_t len);
void nt_perfdata_header_free(struct nt_perfdata *pd);

/* -------------------------------------------------- nt-perfdata-event.c -- */

/* Add an event from a perf_event_attr; 0 or negative, EDAMAGED without a message */
int nt_perfdata_event_add(struct nt_perfdata *pd, struct nt_perfdata_cursor *attr);
int nt_perfdata_event_add_ids(struct nt_perfdata *pd, unsigned int event,
			      struct nt_perfdata_cursor *ids);
int nt_perfdata_event_index(struct nt_perfdata *pd, struct nt_perfdata_cursor *entries);
struct nt_perfdata_id *nt_perfdata_event_find(const struct nt_perfdata *pd, uint64_t id);
void nt_perfdata_event_free(struct nt_perfdata *pd);

/* ------------------------------------------------- nt-perfdata-record.c -- */

/* Parse the record.  0, or -NT_PERFDATA_EDAMAGED with the reason in *what, without the position. */
int nt_perfdata_record_parse(struct nt_perfdata *pd, struct nt_perfdata_record *rec,
			     const char **what);

/* ------------------------------------------------- nt-perfdata-stream.c -- */

/* Add a compressed record: its records come next. */
int nt_perfdata_stream_add(struct nt_perfdata *pd, const uint8_t *record, uint32_t len,
			   uint64_t offset);
/* Get the next of them.  Returns 1, *p and *len; 0: there is none, or it is incomplete */
int nt_perfdata_stream_next(struct nt_perfdata *pd, const uint8_t **p, uint32_t *len);
/* Number of bytes of an incomplete record */
size_t nt_perfdata_stream_rest(const struct nt_perfdata *pd);
void nt_perfdata_stream_reset(struct nt_perfdata *pd);
void nt_perfdata_stream_free(struct nt_perfdata *pd);

#endif /* NTRACE_NT_PERFDATA_INT_H */
