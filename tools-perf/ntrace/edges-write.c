// SPDX-License-Identifier: GPL-2.0-only
/*
 * Recordings, files and edges -> blocks. The same content always results in the same bytes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "edges.h"

#define EDGE_MAX	30	/* bytes of an edge: three numbers */

static size_t put_number(uint8_t *p, uint64_t value)
{
	size_t n = 0;

	for (; value >= 0x80; value >>= 7)
		p[n++] = (uint8_t)(value | 0x80);
	p[n++] = (uint8_t)value;
	return n;
}

/* Move the sign to the lowest bit, so that small negative numbers are short, too. */
static uint64_t fold(uint64_t difference)
{
	return difference << 1 ^ (difference >> 63 ? UINT64_MAX : 0);
}

/* -------------------------------------------------------------- heads --- */

struct head_buffer {
	uint8_t *p;
	size_t len, room;
};

static void put(struct head_buffer *b, const void *bytes, size_t len)
{
	while (b->room - b->len < len) {
		b->room = b->room ? 2 * b->room : 4096;
		b->p = realloc(b->p, b->room);
		if (!b->p)
			die("%s", nt_strerror(NT_ENOMEM));
	}
	memcpy(b->p + b->len, bytes, len);
	b->len += len;
}

static void put_count(struct head_buffer *b, uint64_t value)
{
	uint8_t bytes[10];

	put(b, bytes, put_number(bytes, value));
}

static void put_string(struct head_buffer *b, const char *s)
{
	put_count(b, strlen(s));
	put(b, s, strlen(s));
}

static void put_recording(struct head_buffer *b, const struct edges_recording *r)
{
	put(b, r->id, sizeof(r->id));
	put_string(b, r->host);
	put_count(b, r->branches);
	put_count(b, r->losses);
	put_count(b, r->kernel);
	put_count(b, r->others);
}

static void put_file(struct head_buffer *b, const struct edges_file *f)
{
	put_count(b, f->size);
	put(b, f->id, f->size);
	put_count(b, f->base);
	put_string(b, f->name);
}

/* If a file has several names, the alphabetically first is used. */
static int compare_named(const void *a, const void *b)
{
	int order = edges_compare_files(a, b);

	return order ? order : strcmp(((const struct edges_file *)a)->name,
				      ((const struct edges_file *)b)->name);
}

void edges_settle_files(struct edges_head *h)
{
	size_t i, n = 0;

	if (h->nr_files)
		qsort(h->file, h->nr_files, sizeof(*h->file), compare_named);
	for (i = 0; i < h->nr_files; i++)
		if (!n || edges_compare_files(&h->file[n - 1], &h->file[i]))
			h->file[n++] = h->file[i];
	h->nr_files = n;
}

void edges_write_part(struct edges_writer *w, const struct edges_head *head)
{
	struct head_buffer b = { .p = NULL };
	size_t i;

	put_count(&b, head->scaled);
	put_count(&b, head->nr_recordings);
	for (i = 0; i < head->nr_recordings; i++)
		put_recording(&b, &head->recording[i]);
	put_count(&b, head->nr_files);
	for (i = 0; i < head->nr_files; i++)
		put_file(&b, &head->file[i]);
	if (b.len > EDGES_BLOCK_MAX)
		die("%zu recordings and %zu files are too many for one sum, which names them all in 64 MiB: make a sum of some at a time, such as of a few days; ntrace profile takes several sums, and ntrace merge without --flatten puts them into one file",
		    head->nr_recordings, head->nr_files);
	w->totals = (struct edges_totals){
		.check = edges_out_block(&w->out, EDGES_HEAD, b.p, b.len),
	};
	w->last = (struct edges_edge){ 0 };
	w->len = 0;
	free(b.p);
}

/* -------------------------------------------------------------- edges --- */

static void flush_edges(struct edges_writer *w)
{
	if (!w->len)
		return;
	w->totals.check = edges_check(w->totals.check,
				      edges_out_block(&w->out, EDGES_DATA, w->raw, w->len));
	w->len = 0;
	/* make the next block readable alone */
	w->last = (struct edges_edge){ 0 };
}

void edges_write_edge(struct edges_writer *w, const struct edges_edge *e)
{
	uint8_t *p;

	if (w->len > EDGES_BLOCK - EDGE_MAX)
		flush_edges(w);
	p = w->raw + w->len;
	p += put_number(p, (e->from - w->last.from) << 3 | e->kind);
	p += put_number(p, fold(e->to - e->from));
	p += put_number(p, e->count);
	w->len = p - w->raw;
	w->last = *e;
	w->totals.edges++;
	w->totals.count += e->count;
	if (e->kind == EDGES_BRANCH)
		w->totals.branches += e->count;
}

static void put_totals(struct edges_writer *w, uint8_t type, const uint64_t *value, size_t n)
{
	struct head_buffer b = { .p = NULL };
	size_t i;

	for (i = 0; i < n; i++)
		put_count(&b, value[i]);
	edges_out_block(&w->out, type, b.p, b.len);
	free(b.p);
}

void edges_write_part_end(struct edges_writer *w)
{
	flush_edges(w);
	put_totals(w, EDGES_TOTALS, (const uint64_t[]){
		w->totals.edges, w->totals.branches, w->totals.count, w->totals.check }, 4);
	w->nr_parts++;
	w->edges += w->totals.edges;
}

void edges_write_copy(struct edges_writer *w, int fd, uint64_t from, uint64_t to, uint64_t edges)
{
	size_t len;
	ssize_t n;

	for (; from < to; from += n) {
		len = to - from < EDGES_BLOCK ? to - from : EDGES_BLOCK;
		n = pread(fd, w->raw, len, (off_t)from);
		if (n <= 0)
			die("a file of edges has changed while it was read");
		outfile_bytes(&w->out.file, w->raw, n);
	}
	w->nr_parts++;
	w->edges += edges;
}

/* --------------------------------------------------------------- files --- */

void edges_write_open(struct edges_writer *w, const char *path)
{
	static const uint8_t version = EDGES_VERSION;

	*w = (struct edges_writer){ .raw = malloc(EDGES_BLOCK) };
	if (!w->raw)
		die("%s", nt_strerror(NT_ENOMEM));
	edges_out_open(&w->out, path);
	outfile_bytes(&w->out.file, EDGES_MAGIC, sizeof(EDGES_MAGIC) - 1);
	outfile_bytes(&w->out.file, &version, 1);
}

void edges_write_end(struct edges_writer *w)
{
	put_totals(w, EDGES_TRAILER, (const uint64_t[]){ w->nr_parts, w->edges }, 2);
	edges_out_end(&w->out);
	free(w->raw);
}

void edges_write_close(struct edges_writer *w)
{
	put_totals(w, EDGES_TRAILER, (const uint64_t[]){ w->nr_parts, w->edges }, 2);
	edges_out_close(&w->out);
	free(w->raw);
}
