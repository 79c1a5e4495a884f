// SPDX-License-Identifier: GPL-2.0-only
/*
 * Add up edges. A recording counts only once, even if it arrives several times or in several sums.
 * Therefore, recordings stay separate until their sum is requested. Of several parts with the same
 * recordings one is chosen, always the same one. The sum reads all parts in parallel, with one
 * block of each in memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "edges.h"

/* Number of parts that are read in parallel. If there are more, partial sums are made first. */
#define WIDTH	1024

void edges_merge_add(struct edges_merge *m, const char *path)
{
	const char *wrong = edges_read_file(path, &m->parts, &m->codec);

	if (!wrong)
		return;
	warn("%s: %s: left out", path, wrong);
	m->skipped++;
}

/* ------------------------------------------------------ what counts once --- */

/* Parts with more recordings or counts come first. The rest only makes the order unique. */
static int compare_parts(const void *a, const void *b)
{
	const struct edges_part *x = a, *y = b;
	const struct edges_totals *p = &x->totals, *q = &y->totals;
	size_t i;
	int order;

	if (x->head.nr_recordings != y->head.nr_recordings)
		return x->head.nr_recordings > y->head.nr_recordings ? -1 : 1;
	for (i = 0; i < x->head.nr_recordings; i++) {
		order = edges_compare_recordings(&x->head.recording[i], &y->head.recording[i]);
		if (order)
			return order;
	}
	if (p->count != q->count)
		return p->count > q->count ? -1 : 1;
	if (p->edges != q->edges)
		return p->edges > q->edges ? -1 : 1;
	if (p->check != q->check)
		return p->check < q->check ? -1 : 1;
	/* the same content, compressed differently */
	if (x->end - x->begin != y->end - y->begin)
		return x->end - x->begin < y->end - y->begin ? -1 : 1;
	return 0;
}

/* Recordings of the parts that count, and the part that each is in */
struct counted {
	const struct edges_recording **recording;
	size_t *part;
	size_t nr, room;
};

static size_t find_slot(const struct counted *c, const uint8_t *id)
{
	size_t at;

	memcpy(&at, id, sizeof(at));
	for (at &= c->room - 1;
	     c->recording[at] && memcmp(c->recording[at]->id, id, EDGES_SHA256);)
		at = (at + 1) & (c->room - 1);
	return at;
}

static void make_counted(struct counted *c, const struct edges_merge *m)
{
	size_t i, all = 0;

	for (i = 0; i < m->parts.nr; i++)
		all += m->parts.part[i].head.nr_recordings;
	for (c->room = 64; c->room < 2 * all; c->room *= 2)
		;
	c->recording = calloc(c->room, sizeof(*c->recording));
	c->part = calloc(c->room, sizeof(*c->part));
	if (!c->recording || !c->part)
		die("%s", nt_strerror(NT_ENOMEM));
}

static void __attribute__((noreturn))
refuse_overlap(const struct edges_part *a, const struct edges_part *b, const uint8_t *id)
{
	char hex[EDGES_SHA256_HEX];

	edges_sha256_hex(id, hex);
	die("the recording %s is in a sum of %s, and in another one of %s: it cannot be taken out of either; merge what these were made from, or leave one out",
	    hex, a->path, b->path);
}

static bool same_part(const struct edges_part *a, const struct edges_part *b)
{
	return a->head.nr_recordings == b->head.nr_recordings &&
	       a->totals.count == b->totals.count && a->totals.edges == b->totals.edges &&
	       a->totals.check == b->totals.check;
}

/* Two entries of the same recording: do they have the same counts? */
static bool same_counts(const struct edges_recording *a, const struct edges_recording *b)
{
	return a->branches == b->branches && a->losses == b->losses && a->kernel == b->kernel &&
	       a->others == b->others;
}

static void warn_other_counts(const struct edges_part *part, const struct edges_part *other)
{
	if (part->head.nr_recordings == other->head.nr_recordings)
		warn("%s: has other counts of a recording than %s, which has more: left out",
		     part->path, other->path);
	else
		warn("%s: has other counts of a recording than the sum in %s, which they cannot be taken out of: left out",
		     part->path, other->path);
}

/*
 * Does the part count? Parts are sorted by size, so if an earlier part shares recordings with this
 * one, it may contain all of them.
 */
static bool counts(struct counted *c, const struct edges_parts *parts, size_t nr)
{
	const struct edges_part *part = &parts->part[nr], *other;
	const struct edges_recording *shared = NULL;
	size_t i, at, first = 0, n = 0;
	bool same = true;

	for (i = 0; i < part->head.nr_recordings; i++) {
		at = find_slot(c, part->head.recording[i].id);
		if (!c->recording[at])
			continue;
		shared = c->recording[at];
		same &= same_counts(shared, &part->head.recording[i]);
		if (n++ && c->part[at] != first)
			refuse_overlap(part, &parts->part[c->part[at]], shared->id);
		first = c->part[at];
	}
	other = &parts->part[first];
	if (n && n < part->head.nr_recordings)
		refuse_overlap(part, other, shared->id);
	if (part->head.nr_recordings == other->head.nr_recordings)
		same = same_part(part, other);
	if (n && !same)
		warn_other_counts(part, other);
	return !n;
}

static void remember(struct counted *c, const struct edges_part *part, size_t nr)
{
	size_t i, at;

	for (i = 0; i < part->head.nr_recordings; i++) {
		at = find_slot(c, part->head.recording[i].id);
		c->recording[at] = &part->head.recording[i];
		c->part[at] = nr;
	}
}

static void check_scaled(const struct edges_merge *m)
{
	size_t i;

	for (i = 0; m->parts.nr > 1 && i < m->parts.nr; i++)
		if (m->parts.part[i].head.scaled)
			die("%s: its counts are weighted or capped: merge what it was made from",
			    m->parts.part[i].path);
}

void edges_merge_settle(struct edges_merge *m)
{
	struct counted c = { .nr = 0 };
	size_t i, n = 0;

	if (!m->parts.nr)
		return;
	qsort(m->parts.part, m->parts.nr, sizeof(*m->parts.part), compare_parts);
	make_counted(&c, m);
	for (i = 0; i < m->parts.nr; i++) {
		struct edges_part part = m->parts.part[i];

		if (!counts(&c, &m->parts, i)) {
			edges_head_free(&part.head);
			continue;
		}
		m->parts.part[n] = part;
		remember(&c, &part, n++);
	}
	m->parts.nr = n;
	free(c.recording);
	free(c.part);
	check_scaled(m);
}

void edges_merge_write(struct edges_merge *m, struct edges_writer *w)
{
	size_t i;
	int fd;

	for (i = 0; i < m->parts.nr; i++) {
		const struct edges_part *part = &m->parts.part[i];

		fd = open(part->path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			die("%s: %s", part->path, strerror(errno));
		edges_write_copy(w, fd, part->begin, part->end, part->totals.edges);
		close(fd);
	}
}

/* ---------------------------------------------------------------- scales --- */

/* The counts of a host are multiplied by up / down. */
struct scale {
	const char *host;
	uint64_t up, down;
	uint64_t rest[EDGES_KINDS];	/* remainders of rounding, in units of 1 / down */
};

struct scales {
	struct scale *list;	/* the first has factor 1 */
	size_t nr;
};

static const struct edges_weight *find_weight(const struct edges_weight *list, size_t nr,
					      const char *host)
{
	const struct edges_weight *any = NULL;
	size_t i;

	for (i = 0; i < nr; i++) {
		if (list[i].host && !strcmp(list[i].host, host))
			return &list[i];
		if (!list[i].host)
			any = &list[i];
	}
	return any;
}

static uint64_t branches_of(const struct edges_merge *m, const char *host)
{
	uint64_t all = 0;
	size_t i;

	for (i = 0; i < m->parts.nr; i++)
		if (!strcmp(m->parts.part[i].head.recording[0].host, host))
			all += m->parts.part[i].totals.branches;
	return all;
}

/*
 * Start with a remainder that differs between hosts, or else hosts that ran the same code would
 * round the same edges up. It is less than down, so that the total is exact.
 */
static uint64_t first_rest(const char *host, uint64_t down)
{
	return edges_crc(0, host, strlen(host)) * 0x9e3779b97f4a7c15ull % down;
}

static struct scale scale_of(const struct edges_merge *m, const char *host)
{
	const struct edges_weight *weight = find_weight(m->weight, m->nr_weights, host);
	const struct edges_weight *cap = find_weight(m->cap, m->nr_caps, host);
	struct scale s = { .host = host, .up = weight ? weight->value : 1, .down = 1 };
	uint64_t all = branches_of(m, host);
	size_t kind;

	if (cap && (unsigned __int128)all * s.up > cap->value) {
		s.up = cap->value;
		s.down = all;
	}
	for (kind = 0; kind < EDGES_KINDS; kind++)
		s.rest[kind] = first_rest(host, s.down);
	return s;
}

/* In a sum of several hosts, counts cannot be assigned to hosts. */
static const char *one_host(const struct edges_part *part)
{
	size_t i;

	for (i = 1; i < part->head.nr_recordings; i++)
		if (strcmp(part->head.recording[i].host, part->head.recording[0].host))
			die("%s: has a sum of several hosts, which weights and caps cannot tell apart: merge what it was made from",
			    part->path);
	return part->head.recording[0].host;
}

static size_t find_scale(struct scales *scales, const struct edges_merge *m,
			 const struct edges_part *part)
{
	const char *host;
	struct scale s;
	size_t i;

	if (!m->nr_weights && !m->nr_caps)
		return 0;
	host = one_host(part);
	for (i = 1; i < scales->nr; i++)
		if (!strcmp(scales->list[i].host, host))
			return i;
	s = scale_of(m, host);
	if (s.up == s.down)
		return 0;
	scales->list = array_room(scales->list, scales->nr, sizeof(s));
	scales->list[scales->nr++] = s;
	return i;
}

/*
 * Carry the remainder: if each count was rounded by itself, many small counts would become 0 or
 * double.
 */
static uint64_t scaled(struct scale *s, unsigned int kind, uint64_t count, bool *over)
{
	unsigned __int128 product = (unsigned __int128)count * s->up + s->rest[kind];

	s->rest[kind] = (uint64_t)(product % s->down);
	product /= s->down;
	if (product <= UINT64_MAX)
		return (uint64_t)product;
	*over = true;
	return UINT64_MAX;
}

/* ------------------------------------------------------------- the heads --- */

/* The sort key of an edge, as one number; the maximum for a stream that has ended */
typedef unsigned __int128 edges_key;

struct runner {
	edges_key key;
	size_t stream;
};

struct sum {
	struct edges_merge *m;
	struct edges_head head;
	struct scales scales;
	struct edges_stream *stream;
	uint64_t **map;		/* file numbers of each part -> those of the sum */
	size_t *scale;
	size_t nr;
	/* a tournament tree: the loser at each node, and the winner at node 0 */
	struct runner *node;
	size_t width;
	uint64_t *value;	/* sums of the current edge, by scale */
	bool over;		/* one of them is saturated */
};

static void add_heads(struct sum *s)
{
	const struct edges_parts *parts = &s->m->parts;
	size_t i, k, recordings = 0, files = 0;

	for (i = 0; i < parts->nr; i++) {
		recordings += parts->part[i].head.nr_recordings;
		files += parts->part[i].head.nr_files;
		s->head.scaled |= parts->part[i].head.scaled;
	}
	s->head.recording = calloc(recordings + 1, sizeof(*s->head.recording));
	s->head.file = calloc(files + 1, sizeof(*s->head.file));
	if (!s->head.recording || !s->head.file)
		die("%s", nt_strerror(NT_ENOMEM));
	for (i = 0; i < parts->nr; i++) {
		const struct edges_head *h = &parts->part[i].head;

		for (k = 0; k < h->nr_recordings; k++)
			s->head.recording[s->head.nr_recordings++] = h->recording[k];
		for (k = 0; k < h->nr_files; k++)
			s->head.file[s->head.nr_files++] = h->file[k];
	}
}

static void settle_heads(struct edges_head *h)
{
	qsort(h->recording, h->nr_recordings, sizeof(*h->recording), edges_compare_recordings);
	edges_settle_files(h);
	if (h->nr_files > EDGES_FILES_MAX)
		die("%zu files are too many for one sum: at most %" PRIu64, h->nr_files,
		    EDGES_FILES_MAX);
}

static uint64_t *make_map(const struct edges_head *all, const struct edges_head *h)
{
	uint64_t *map = calloc(h->nr_files + 1, sizeof(*map));
	const struct edges_file *at;
	size_t i;

	if (!map)
		die("%s", nt_strerror(NT_ENOMEM));
	for (i = 0; i < h->nr_files; i++) {
		at = bsearch(&h->file[i], all->file, all->nr_files, sizeof(*at),
			     edges_compare_files);
		map[i + 1] = at - all->file + 1;
	}
	return map;
}

/* --------------------------------------------------------- the tournament --- */

static inline edges_key key_of(const struct edges_stream *s)
{
	return s->ended ? ~(edges_key)0 :
	       (edges_key)s->e.from << 64 | s->e.to << 3 | s->e.kind;
}

/* Play all matches below a node. Returns the winner. */
static struct runner play(struct sum *s, const struct edges_stream *stream, size_t node)
{
	struct runner a, b;

	if (node >= s->width)
		return (struct runner){ key_of(&stream[node - s->width]), node - s->width };
	a = play(s, stream, 2 * node);
	b = play(s, stream, 2 * node + 1);
	s->node[node] = b.key < a.key ? a : b;
	return b.key < a.key ? b : a;
}

/* The winner's stream has advanced to its next edge. Find the new winner. */
static inline void replay(struct sum *s, edges_key key)
{
	struct runner winner = { key, s->node[0].stream };
	size_t node;

	for (node = (winner.stream + s->width) / 2; node; node /= 2) {
		struct runner other = s->node[node];
		bool beaten = other.key < winner.key;

		s->node[node] = beaten ? winner : other;
		winner = beaten ? other : winner;
	}
	s->node[0] = winner;
}

static void put(struct sum *s, struct edges_writer *w, struct edges_edge *e)
{
	bool over = s->over;
	size_t i;

	s->over = false;
	e->count = s->value[0];
	for (i = 1; i < s->scales.nr; i++) {
		over |= edges_saturate(&e->count,
				       scaled(&s->scales.list[i], e->kind, s->value[i], &over));
		s->value[i] = 0;
	}
	s->value[0] = 0;
	s->m->saturated += over;
	if (e->count)
		edges_write_edge(w, e);
}

/* Add up streams [first, first + n). scale: of each stream, or NULL if all have the same */
static void add_up(struct sum *s, struct edges_writer *w, size_t first, size_t n,
		   const size_t *scale)
{
	struct edges_stream *stream = &s->stream[first], *from;
	const edges_key none = ~(edges_key)0;
	edges_key key = none;
	struct edges_edge e;
	size_t i;

	for (i = 0; i < n; i++)
		edges_stream_next(&stream[i], &s->m->codec);
	s->width = n;
	s->node[0] = play(s, stream, 1);
	while (s->node[0].key != none) {
		i = s->node[0].stream;
		from = &stream[i];
		if (s->node[0].key != key) {
			if (key != none)
				put(s, w, &e);
			e = from->e;
			key = s->node[0].key;
		}
		s->over |= edges_saturate(&s->value[scale ? scale[i] : 0], from->e.count);
		edges_stream_next(from, &s->m->codec);
		replay(s, key_of(from));
	}
	if (key != none)
		put(s, w, &e);
}

/* ---------------------------------------------------------------- the sum --- */

static void open_streams(struct sum *s)
{
	size_t i;

	s->nr = s->m->parts.nr;
	s->stream = calloc(s->nr + 1, sizeof(*s->stream));
	s->map = calloc(s->nr + 1, sizeof(*s->map));
	s->scale = calloc(s->nr + 1, sizeof(*s->scale));
	s->node = calloc(s->nr + 1, sizeof(*s->node));
	s->scales.list = array_room(NULL, 0, sizeof(*s->scales.list));
	s->scales.list[0] = (struct scale){ .up = 1, .down = 1 };
	s->scales.nr = 1;
	if (!s->stream || !s->map || !s->scale || !s->node)
		die("%s", nt_strerror(NT_ENOMEM));
	for (i = 0; i < s->nr; i++) {
		edges_stream_open(&s->stream[i], &s->m->parts.part[i]);
		s->map[i] = make_map(&s->head, &s->m->parts.part[i].head);
		s->stream[i].map = s->map[i];
		s->scale[i] = find_scale(&s->scales, s->m, &s->m->parts.part[i]);
	}
	s->head.scaled |= s->scales.nr > 1;
	s->value = calloc(s->scales.nr, sizeof(*s->value));
	if (!s->value)
		die("%s", nt_strerror(NT_ENOMEM));
}

/*
 * Make a stream from the sum of several streams of one scale, in a temporary file without a name.
 */
static struct edges_stream make_stream(struct sum *s, size_t first, size_t n)
{
	struct scales scales = s->scales;
	struct edges_stream to = { .path = "a temporary file" };
	struct edges_writer w;

	edges_write_open(&w, "");
	s->scales.nr = 1;
	to.offset = w.out.file.written;
	add_up(s, &w, first, n, NULL);
	s->scales = scales;
	edges_write_part_end(&w);
	edges_write_end(&w);
	to.fd = w.out.file.fd;
	to.nr_files = s->head.nr_files;
	return to;
}

static int compare_scales(const void *a, const void *b)
{
	size_t x = *(const size_t *)a >> 32, y = *(const size_t *)b >> 32;

	return x < y ? -1 : x > y;
}

/* Sort the streams by scale. */
static void sort_by_scale(struct sum *s)
{
	struct edges_stream *stream = calloc(s->nr + 1, sizeof(*stream));
	size_t *key = calloc(s->nr + 1, sizeof(*key)), i;

	if (!stream || !key)
		die("%s", nt_strerror(NT_ENOMEM));
	for (i = 0; i < s->nr; i++)
		key[i] = s->scale[i] << 32 | i;
	qsort(key, s->nr, sizeof(*key), compare_scales);
	for (i = 0; i < s->nr; i++) {
		stream[i] = s->stream[key[i] & UINT32_MAX];
		s->scale[i] = key[i] >> 32;
	}
	free(s->stream);
	free(key);
	s->stream = stream;
}

/* Replace streams by sums of up to WIDTH streams of one scale each. */
static void narrow(struct sum *s)
{
	struct edges_stream sum;
	size_t i, n, k, to = 0;

	for (i = 0; i < s->nr; i += n) {
		for (n = 1; n < WIDTH && i + n < s->nr && s->scale[i + n] == s->scale[i]; n++)
			;
		s->scale[to] = s->scale[i];
		if (n == 1) {
			s->stream[to++] = s->stream[i];
			continue;
		}
		sum = make_stream(s, i, n);
		for (k = i; k < i + n; k++)
			if (s->stream[k].fd >= 0)
				close(s->stream[k].fd);
		s->stream[to++] = sum;
	}
	s->nr = to;
}

static void close_streams(struct sum *s)
{
	size_t i;

	for (i = 0; i < s->nr; i++)
		if (s->stream[i].fd >= 0)
			close(s->stream[i].fd);
	for (i = 0; i < s->m->parts.nr; i++)
		free(s->map[i]);
	free(s->map);
	free(s->stream);
	free(s->scale);
	free(s->node);
	free(s->value);
	free(s->scales.list);
	free(s->head.recording);
	free(s->head.file);
}

void edges_merge_sum(struct edges_merge *m, struct edges_writer *w)
{
	struct sum s = { .m = m };
	size_t before;

	add_heads(&s);
	settle_heads(&s.head);
	open_streams(&s);
	if (s.nr > WIDTH)
		sort_by_scale(&s);
	do {
		before = s.nr;
		if (s.nr > WIDTH)
			narrow(&s);
	} while (s.nr > WIDTH && s.nr < before);
	edges_write_part(w, &s.head);
	add_up(&s, w, 0, s.nr, s.scale);
	edges_write_part_end(w);
	close_streams(&s);
}

void edges_merge_free(struct edges_merge *m)
{
	edges_parts_free(&m->parts);
	edges_codec_free(&m->codec);
	free(m->weight);
	free(m->cap);
}
