// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocks -> recordings, files and edges. Files are not trusted: everything is checked before it is
 * used.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "edges.h"

/* The rest of a block; p is NULL if the block was too short */
struct rest {
	const uint8_t *p, *end;
};

static inline uint64_t get_number(struct rest *r)
{
	const uint8_t *p = r->p;
	uint64_t value = 0;
	unsigned int shift;

	for (shift = 0; p && p < r->end && shift < 64; shift += 7) {
		value |= (uint64_t)(*p & 0x7f) << shift;
		if (*p++ < 0x80) {
			r->p = p;
			return value;
		}
	}
	r->p = NULL;
	return 0;
}

static uint64_t unfold(uint64_t value)
{
	return value >> 1 ^ (value & 1 ? UINT64_MAX : 0);
}

static void get(struct rest *r, void *buf, size_t len)
{
	if (!r->p || (size_t)(r->end - r->p) < len) {
		r->p = NULL;
		return;
	}
	memcpy(buf, r->p, len);
	r->p += len;
}

/* ---------------------------------------------------------------- heads --- */

/* Names are shown to people, so control characters must not get into them. */
static char *get_string(struct rest *r)
{
	size_t len = get_number(r), i;
	char *s;

	if (!r->p || (size_t)(r->end - r->p) < len)
		len = 0;
	s = malloc(len + 1);
	if (!s)
		die("%s", nt_strerror(NT_ENOMEM));
	get(r, s, len);
	s[len] = '\0';
	for (i = 0; i < len; i++)
		if ((unsigned char)s[i] < 0x20 || s[i] == 0x7f)
			r->p = NULL;
	return s;
}

static void get_recording(struct rest *r, struct edges_recording *to)
{
	get(r, to->id, sizeof(to->id));
	to->host = get_string(r);
	to->branches = get_number(r);
	to->losses = get_number(r);
	to->kernel = get_number(r);
	to->others = get_number(r);
}

static void get_file(struct rest *r, struct edges_file *to)
{
	uint64_t size = get_number(r);

	to->size = size <= EDGES_ID_MAX ? (unsigned int)size : 0;
	if (!to->size)
		r->p = NULL;
	get(r, to->id, to->size);
	to->base = get_number(r);
	to->name = get_string(r);
}

/*
 * Read a number of elements of at least so many bytes each. Fails if the block is too short for
 * them.
 */
static size_t get_count(struct rest *r, size_t least)
{
	uint64_t n = get_number(r);

	if (r->p && n > (size_t)(r->end - r->p) / least)
		r->p = NULL;
	return r->p ? n : 0;
}

int edges_compare_recordings(const void *a, const void *b)
{
	const struct edges_recording *x = a, *y = b;

	return memcmp(x->id, y->id, sizeof(x->id));
}

int edges_compare_files(const void *a, const void *b)
{
	const struct edges_file *x = a, *y = b;
	int order = memcmp(x->id, y->id, x->size < y->size ? x->size : y->size);

	if (order || x->size != y->size)
		return order ? order : x->size < y->size ? -1 : 1;
	return x->base < y->base ? -1 : x->base > y->base;
}

static bool in_order(const struct edges_head *h)
{
	size_t i;

	for (i = 1; i < h->nr_recordings; i++)
		if (edges_compare_recordings(&h->recording[i - 1], &h->recording[i]) >= 0)
			return false;
	for (i = 1; i < h->nr_files; i++)
		if (edges_compare_files(&h->file[i - 1], &h->file[i]) >= 0)
			return false;
	return h->nr_recordings && h->nr_files <= EDGES_FILES_MAX;
}

static bool get_head(const struct edges_block *b, struct edges_head *h)
{
	struct rest r = { b->raw, b->raw + b->len };
	size_t i, n;

	*h = (struct edges_head){ .scaled = get_number(&r) };
	n = get_count(&r, EDGES_SHA256);
	h->recording = calloc(n + 1, sizeof(*h->recording));
	for (i = 0; h->recording && i < n; i++)
		get_recording(&r, &h->recording[h->nr_recordings++]);
	n = get_count(&r, 4);
	h->file = calloc(n + 1, sizeof(*h->file));
	for (i = 0; h->file && i < n; i++)
		get_file(&r, &h->file[h->nr_files++]);
	if (!h->recording || !h->file)
		die("%s", nt_strerror(NT_ENOMEM));
	return r.p == r.end && in_order(h);
}

void edges_head_free(struct edges_head *h)
{
	while (h->nr_recordings)
		free(h->recording[--h->nr_recordings].host);
	while (h->nr_files)
		free(h->file[--h->nr_files].name);
	free(h->recording);
	free(h->file);
}

/* ---------------------------------------------------------------- edges --- */

static bool is_edge(const struct edges_stream *s, const struct edges_edge *e, bool first)
{
	bool from = e->from, to = e->to;

	if (e->kind >= EDGES_KINDS || !e->count || edges_file_of(e->from) > s->nr_files ||
	    edges_file_of(e->to) > s->nr_files || (!first && edges_compare(&s->last, e) >= 0))
		return false;
	/* `elsewhere' has no addresses */
	if ((from && !edges_file_of(e->from)) || (to && !edges_file_of(e->to)))
		return false;
	return (from || to) && (e->kind != EDGES_BEGIN || !from) && (e->kind != EDGES_LOST || !to);
}

/* Returns false if the block does not contain a valid edge. */
static inline bool get_edge(struct edges_stream *s)
{
	struct rest r = { s->block.raw + s->at, s->block.raw + s->block.len };
	bool first = !s->at;
	uint64_t number = get_number(&r);
	struct edges_edge e = { .kind = number & 7 };

	e.from = (first ? 0 : s->last.from) + (number >> 3);
	e.to = e.from + unfold(get_number(&r));
	e.count = get_number(&r);
	if (!r.p || !is_edge(s, &e, first))
		return false;
	s->at = r.p - s->block.raw;
	s->last = e;
	return true;
}

/* ---------------------------------------------------------------- files --- */

static bool get_totals(const struct edges_block *b, struct edges_totals *t)
{
	struct rest r = { b->raw, b->raw + b->len };

	*t = (struct edges_totals){ 0 };
	t->edges = get_number(&r);
	t->branches = get_number(&r);
	t->count = get_number(&r);
	t->check = (uint32_t)get_number(&r);
	return r.p == r.end;
}

static bool same_totals(const struct edges_totals *a, const struct edges_totals *b)
{
	return a->edges == b->edges && a->branches == b->branches && a->count == b->count &&
	       a->check == b->check;
}

/* Check all edges of a block, and add up their counts. */
static bool count_edges(struct edges_stream *s, struct edges_totals *t)
{
	struct edges_edge before = s->last;

	s->at = 0;
	t->check = edges_check(t->check, s->block.check);
	while (s->at < s->block.len) {
		bool first = !s->at;

		if (!get_edge(s) || (first && t->edges && edges_compare(&before, &s->last) >= 0))
			return false;
		t->edges++;
		t->count += s->last.count;
		if (s->last.kind == EDGES_BRANCH)
			t->branches += s->last.count;
	}
	return true;
}

/* s->block contains the head of the part. */
static const char *read_part(struct edges_stream *s, struct edges_part *part,
			     struct edges_codec *codec)
{
	struct edges_totals sum = { .check = s->block.check }, said;
	const char *wrong;

	if (s->block.type != EDGES_HEAD || !get_head(&s->block, &part->head))
		return "is damaged: recordings were expected";
	part->data = s->offset = s->block.end;
	s->nr_files = part->head.nr_files;
	for (;;) {
		wrong = edges_read_block(s->fd, s->offset, &s->block, codec);
		if (wrong)
			return wrong;
		if (!s->block.type)
			return "is cut: it ends before its edges do";
		s->offset = s->block.end;
		if (s->block.type != EDGES_DATA)
			break;
		if (!count_edges(s, &sum))
			return "is damaged: edges are not in order";
	}
	if (s->block.type != EDGES_TOTALS || !get_totals(&s->block, &said) ||
	    !same_totals(&sum, &said))
		return "is damaged: its edges are others than it says";
	part->totals = sum;
	part->end = s->offset;
	return NULL;
}

/* Check the trailer, which must be at the end of the file. */
static const char *read_trailer(struct edges_stream *s, uint64_t nr_parts, uint64_t edges,
				struct edges_codec *codec)
{
	struct rest r = { s->block.raw, s->block.raw + s->block.len };
	uint64_t parts = get_number(&r), all = get_number(&r);
	const char *wrong;

	if (r.p != r.end || parts != nr_parts || all != edges)
		return "is damaged: its parts are others than it says";
	wrong = edges_read_block(s->fd, s->block.end, &s->block, codec);
	return wrong || !s->block.type ? wrong : "is damaged: something is behind its end";
}

static const char *read_parts(struct edges_stream *s, struct edges_parts *parts, size_t first,
			      struct edges_codec *codec)
{
	uint64_t edges = 0;
	struct edges_part *part;
	const char *wrong = edges_read_magic(s->fd, &s->offset);

	while (!wrong) {
		uint64_t begin = s->offset;

		wrong = edges_read_block(s->fd, s->offset, &s->block, codec);
		if (wrong)
			break;
		if (!s->block.type)
			return "is cut: its end is missing";
		if (s->block.type == EDGES_TRAILER)
			return read_trailer(s, parts->nr - first, edges, codec);
		parts->part = array_room(parts->part, parts->nr, sizeof(*parts->part));
		part = &parts->part[parts->nr++];
		*part = (struct edges_part){ .path = s->path, .begin = begin };
		wrong = read_part(s, part, codec);
		edges += part->totals.edges;
	}
	return wrong;
}

const char *edges_read_file(const char *path, struct edges_parts *parts,
			    struct edges_codec *codec)
{
	struct edges_stream s = { .path = path, .fd = open(path, O_RDONLY | O_CLOEXEC) };
	size_t first = parts->nr;
	const char *wrong;

	if (s.fd < 0)
		return strerror(errno);
	wrong = read_parts(&s, parts, first, codec);
	while (wrong && parts->nr > first)
		edges_head_free(&parts->part[--parts->nr].head);
	close(s.fd);
	free(s.block.raw);
	return wrong;
}

void edges_parts_free(struct edges_parts *parts)
{
	while (parts->nr)
		edges_head_free(&parts->part[--parts->nr].head);
	free(parts->part);
}

/* -------------------------------------------------------------- streams --- */

void edges_stream_open(struct edges_stream *s, const struct edges_part *part)
{
	*s = (struct edges_stream){
		.path = part->path, .fd = -1, .offset = part->data,
		.nr_files = part->head.nr_files,
	};
}

static void __attribute__((noreturn)) has_changed(const struct edges_stream *s)
{
	die("%s: has changed while it was read", s->path);
}

/* The number of streams may exceed the limit for open files. */
static bool next_block(struct edges_stream *s, struct edges_codec *codec)
{
	int fd = s->fd < 0 ? open(s->path, O_RDONLY | O_CLOEXEC) : s->fd;

	if (fd < 0 || edges_read_block(fd, s->offset, &s->block, codec))
		has_changed(s);
	if (s->fd < 0)
		close(fd);
	s->offset = s->block.end;
	s->at = 0;
	s->ended = s->block.type != EDGES_DATA;
	if (s->ended)
		edges_stream_close(s);
	return !s->ended;
}

static inline uint64_t map_place(const struct edges_stream *s, uint64_t place)
{
	uint64_t file = edges_file_of(place);

	return file ? edges_place(s->map[file], place) : place;
}

bool edges_stream_next(struct edges_stream *s, struct edges_codec *codec)
{
	if (s->ended || (s->at == s->block.len && !next_block(s, codec)))
		return false;
	if (!get_edge(s))
		has_changed(s);
	s->e = s->last;
	if (s->map) {
		s->e.from = map_place(s, s->e.from);
		s->e.to = map_place(s, s->e.to);
	}
	return true;
}

void edges_stream_close(struct edges_stream *s)
{
	free(s->block.raw);
	s->block.raw = NULL;
	s->block.room = 0;
}
