// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The header of a perf.data, in its two forms:
 *
 *	file	"PERFILE2", size, size of an attr, sections of attrs, data, event types, bits of
 *		features; after the data, a section for each feature
 *	pipe	"PERFILE2", 16; all else is in records
 */
#include <stdlib.h>

#include "nt-perfdata-int.h"

#define MAGIC		"PERFILE2"
#define MAGIC_SWAPPED	"2ELIFREP"
#define MAGIC_FIRST	"PERFFILE"	/* before Linux 3.2 */
#define MAGIC_LEN	8

#define PIPE_HEADER	16
#define FILE_HEADER	104
#define SECTION		16
#define FEATURE_MAX	((uint64_t)64 << 20)	/* maximum size of a feature */
#define IDS_CHUNK	4096

bool nt_perfdata_is(const void *buf, size_t len)
{
	return len >= MAGIC_LEN && (!memcmp(buf, MAGIC, MAGIC_LEN) ||
				    !memcmp(buf, MAGIC_SWAPPED, MAGIC_LEN) ||
				    !memcmp(buf, MAGIC_FIRST, MAGIC_LEN));
}

static int check_magic(struct nt_perfdata *pd, const uint8_t *p, int n)
{
	const char *name = pd->source[0].name;
	const union { uint16_t word; uint8_t first; } order = { 1 };

	if (n < MAGIC_LEN || !nt_perfdata_is(p, n))
		return nt_perfdata_fail(pd, NT_PERFDATA_EFORMAT, "%s: is no perf.data%s", name,
					n ? "" : ", it is empty");
	if (!memcmp(p, MAGIC_SWAPPED, MAGIC_LEN))
		return nt_perfdata_fail(pd, NT_PERFDATA_EORDER,
					"%s: was recorded on a %s-endian machine, and this one is %s-endian: files of the other byte order are not read",
					name, order.first ? "big" : "little",
					order.first ? "little" : "big");
	if (!memcmp(p, MAGIC_FIRST, MAGIC_LEN))
		return nt_perfdata_fail(pd, NT_PERFDATA_ENOTSUP,
					"%s: is of a perf before Linux 3.2, whose format is not read",
					name);
	return 0;
}

static struct nt_perfdata_section take_section(struct nt_perfdata_cursor *c)
{
	struct nt_perfdata_section s;

	s.offset = nt_perfdata_u64(c);
	s.size	 = nt_perfdata_u64(c);
	return s;
}

/* --------------------------------------------------------------- events -- */

static int read_ids(struct nt_perfdata *pd, unsigned int event, struct nt_perfdata_section ids)
{
	struct nt_perfdata_cursor c;
	const uint8_t *p;
	size_t want;
	int n, err;

	while (ids.size) {
		want = ids.size < IDS_CHUNK ? ids.size : IDS_CHUNK;
		n = nt_perfdata_peek(pd, ids.offset, want, &p);
		if (n < 0)
			return n;
		if ((size_t)n < want)
			return nt_perfdata_damaged(pd, 0, ids.offset,
						   "the file ends before the IDs of event %u do",
						   event);
		c = (struct nt_perfdata_cursor){ p, p + n, false };
		err = nt_perfdata_event_add_ids(pd, event, &c);
		if (err)
			return nt_perfdata_fail(pd, -err, "out of memory");
		ids.offset += n;
		ids.size -= n;
	}
	return 0;
}

/* Read the event at an offset: its attr, in `size' bytes, and the section of its IDs */
static int read_event(struct nt_perfdata *pd, uint64_t offset, uint64_t size)
{
	struct nt_perfdata_cursor c;
	const uint8_t *p;
	int n, err;

	n = nt_perfdata_peek(pd, offset, size, &p);
	if (n < 0)
		return n;
	if ((uint64_t)n < size)
		return nt_perfdata_damaged(pd, 0, offset, "the file ends before event %u does",
					   pd->nr_attrs);
	c = (struct nt_perfdata_cursor){ p, p + n, false };
	err = nt_perfdata_event_add(pd, &c);
	if (err == -NT_PERFDATA_ENOMEM)
		return nt_perfdata_fail(pd, NT_PERFDATA_ENOMEM, "out of memory");
	if (err || c.end - c.p != SECTION)
		return nt_perfdata_damaged(pd, 0, offset,
					   "event %u does not have the size that it tells",
					   pd->nr_attrs - !err);
	return read_ids(pd, pd->nr_attrs - 1, take_section(&c));
}

static int read_events(struct nt_perfdata *pd, struct nt_perfdata_section attrs, uint64_t size)
{
	uint64_t at;
	int err = 0;

	if (size < SECTION || size > IDS_CHUNK || attrs.size % size || !attrs.size ||
	    attrs.offset > INT64_MAX || attrs.size > INT64_MAX - attrs.offset)
		return nt_perfdata_damaged(pd, 0, 16, "%llu bytes of events, of %llu bytes each",
					   (unsigned long long)attrs.size,
					   (unsigned long long)size);
	for (at = 0; at < attrs.size && !err; at += size)
		err = read_event(pd, attrs.offset + at, size);
	return err;
}

/* ------------------------------------------------------------- features -- */

/* Find the features.  If this fails, the data can still be read. */
static int find_features(struct nt_perfdata *pd, const uint8_t *bits)
{
	uint64_t at = pd->data.offset + pd->data.size;
	struct nt_perfdata_cursor c;
	const uint8_t *p;
	unsigned int i;
	int n;

	for (i = 0; i < NT_PERFDATA_FEAT_MAX; i++) {
		if (!(bits[i / 8] >> (i % 8) & 1))
			continue;
		n = pd->unfinished ? 0 : nt_perfdata_peek(pd, at, SECTION, &p);
		if (n < 0)
			return n;
		pd->feat[i].there = true;
		c = (struct nt_perfdata_cursor){ p, p + n, false };
		/* a section beyond the file has no bytes */
		pd->feat[i].section = (struct nt_perfdata_section){ at, UINT64_MAX };
		if (n == SECTION)
			pd->feat[i].section = take_section(&c);
		at += SECTION;
	}
	return 0;
}

static int read_feature(struct nt_perfdata *pd, unsigned int i)
{
	struct nt_perfdata_feat *f = &pd->feat[i];
	int n;

	if (f->section.size > FEATURE_MAX)
		return nt_perfdata_damaged(pd, 0, f->section.offset,
					   "feature %u of the header is not in the file", i);
	f->data = malloc(f->section.size ? f->section.size : 1);
	if (!f->data)
		return nt_perfdata_fail(pd, NT_PERFDATA_ENOMEM, "out of memory");
	n = nt_perfdata_source_read(pd, &pd->source[0], f->section.offset, f->data,
				    f->section.size);
	if (n >= 0 && (uint64_t)n == f->section.size) {
		f->read = true;
		return 0;
	}
	free(f->data);
	f->data = NULL;
	if (n < 0)
		return n;
	return nt_perfdata_damaged(pd, 0, f->section.offset,
				   "the file ends before feature %u of the header does", i);
}

/* Add a HEADER_FEATURE record of pipe mode: number, bytes.  EDAMAGED without a message */
int nt_perfdata_header_feature(struct nt_perfdata *pd, const uint8_t *record, uint32_t len)
{
	struct nt_perfdata_cursor c = { record + RECORD_HEADER, record + len, false };
	uint64_t number = nt_perfdata_u64(&c);
	struct nt_perfdata_feat *f;

	if (c.bad)
		return -NT_PERFDATA_EDAMAGED;
	if (number >= NT_PERFDATA_FEAT_MAX || pd->feat[number].there)
		return 0;
	f = &pd->feat[number];
	f->data = malloc(len);
	if (!f->data)
		return -NT_PERFDATA_ENOMEM;
	f->section.size = c.end - c.p;
	memcpy(f->data, c.p, f->section.size);
	f->there = f->read = true;
	return 0;
}

/* In pipe mode, build-ids are records; in a file, they are a feature with such records. */
int nt_perfdata_header_build_id(struct nt_perfdata *pd, const uint8_t *record, uint32_t len)
{
	uint8_t *more;

	if (!pd->pipe_mode)
		return 0;
	more = realloc(pd->file_ids, pd->file_ids_len + len);
	if (!more)
		return -NT_PERFDATA_ENOMEM;
	memcpy(more + pd->file_ids_len, record, len);
	pd->file_ids = more;
	pd->file_ids_len += len;
	return 0;
}

void nt_perfdata_header_free(struct nt_perfdata *pd)
{
	unsigned int i;

	for (i = 0; i < NT_PERFDATA_FEAT_MAX; i++)
		free(pd->feat[i].data);
	free(pd->file_ids);
}

/* ----------------------------------------------------------- the header -- */

static int read_file_header(struct nt_perfdata *pd)
{
	struct nt_perfdata_section attrs;
	struct nt_perfdata_cursor c;
	uint8_t bits[NT_PERFDATA_FEAT_MAX / 8];
	uint64_t attr_size;
	const uint8_t *p;
	int n, err;

	n = nt_perfdata_peek(pd, 0, FILE_HEADER, &p);
	if (n < 0)
		return n;
	if (n < FILE_HEADER)
		return nt_perfdata_damaged(pd, 0, n, "the file ends in its header");
	c = (struct nt_perfdata_cursor){ p + PIPE_HEADER, p + FILE_HEADER, false };
	attr_size = nt_perfdata_u64(&c);
	attrs = take_section(&c);
	pd->data = take_section(&c);
	take_section(&c);
	nt_perfdata_take(&c, bits, sizeof(bits));
	if (pd->data.offset > INT64_MAX || pd->data.size > INT64_MAX - pd->data.offset)
		return nt_perfdata_damaged(pd, 0, 40, "the header tells of data beyond any file");
	pd->unfinished = !pd->data.size;
	err = read_events(pd, attrs, attr_size);
	return err ? err : find_features(pd, bits);
}

int nt_perfdata_header_read(struct nt_perfdata *pd)
{
	struct nt_perfdata_cursor c;
	const uint8_t *p;
	uint64_t size;
	int n, err;

	n = nt_perfdata_peek(pd, 0, PIPE_HEADER, &p);
	if (n < 0)
		return n;
	err = check_magic(pd, p, n);
	if (err)
		return err;
	if (n < PIPE_HEADER)
		return nt_perfdata_damaged(pd, 0, n, "the file ends in its header");
	c = (struct nt_perfdata_cursor){ p + MAGIC_LEN, p + n, false };
	size = nt_perfdata_u64(&c);
	if (size == PIPE_HEADER) {
		pd->pipe_mode = true;
		pd->data = (struct nt_perfdata_section){ PIPE_HEADER, UINT64_MAX - PIPE_HEADER };
		return 0;
	}
	if (size == FILE_HEADER)
		return read_file_header(pd);
	return nt_perfdata_fail(pd, NT_PERFDATA_ENOTSUP,
				"%s: has a header of %llu bytes; those of %d and %d are known",
				pd->source[0].name, (unsigned long long)size, FILE_HEADER,
				PIPE_HEADER);
}

/* --------------------------------------------------------------- public -- */

int nt_perfdata_feature(struct nt_perfdata *pd, unsigned int feature, const uint8_t **data,
			size_t *len)
{
	int err;

	if (feature >= NT_PERFDATA_FEAT_MAX)
		return nt_perfdata_fail(pd, NT_PERFDATA_EINVAL, "there is no feature %u", feature);
	if (!pd->feat[feature].there)
		return 0;
	err = pd->feat[feature].read ? 0 : read_feature(pd, feature);
	if (err)
		return err;
	*data = pd->feat[feature].data;
	*len = pd->feat[feature].section.size;
	return 1;
}

/* A string is a length and bytes padded with zeros. */
int nt_perfdata_string(struct nt_perfdata *pd, unsigned int feature, unsigned int nr,
		       const char **string)
{
	struct nt_perfdata_cursor c, in;
	unsigned int count = 1, i;
	const uint8_t *data;
	size_t len;
	int ret;

	ret = nt_perfdata_feature(pd, feature, &data, &len);
	if (ret <= 0)
		return ret;
	c = (struct nt_perfdata_cursor){ data, data + len, false };
	if (feature == NT_PERFDATA_FEAT_CMDLINE)
		count = nt_perfdata_u32(&c);
	if (!c.bad && nr >= count)
		return 0;
	for (i = 0; i <= nr && !c.bad; i++) {
		len = nt_perfdata_u32(&c);
		in.p = nt_perfdata_bytes(&c, len);
		in.end = c.p;
		in.bad = c.bad;
	}
	*string = c.bad ? "" : nt_perfdata_text(&in);
	if (c.bad || in.bad)
		return nt_perfdata_damaged(pd, 0, pd->feat[feature].section.offset,
					   "feature %u of the header is no string", feature);
	return 1;
}

#define FILE_ID_SIZE_TOLD	(1 << 15)	/* PERF_RECORD_MISC_BUILD_ID_SIZE */

/* pid, 24 bytes with the build-id in the first 20 and then its size, name */
static bool take_file_id(struct nt_perfdata_cursor *c, struct nt_perfdata_file_id *id)
{
	struct nt_perfdata_cursor in = *c;
	uint16_t size;

	memset(id, 0, sizeof(*id));
	nt_perfdata_u32(&in);
	id->misc = nt_perfdata_u16(&in);
	size = nt_perfdata_u16(&in);
	in.end = nt_perfdata_bytes(c, size) + (c->bad ? 0 : size);
	if (c->bad || size < RECORD_HEADER)
		return false;
	id->pid = nt_perfdata_u32(&in);
	nt_perfdata_take(&in, id->build_id.data, sizeof(id->build_id.data));
	nt_perfdata_take(&in, &id->build_id.size, 1);
	nt_perfdata_bytes(&in, 3);
	if (!(id->misc & FILE_ID_SIZE_TOLD) || id->build_id.size > NT_PERFDATA_BUILD_ID_MAX)
		id->build_id.size = NT_PERFDATA_BUILD_ID_MAX;
	id->name = nt_perfdata_text(&in);
	return !in.bad;
}

int nt_perfdata_file_id_sized(struct nt_perfdata *pd, size_t nr, struct nt_perfdata_file_id *id,
			      size_t size)
{
	const uint8_t *data = pd->file_ids;
	const uint64_t start = pd->feat[NT_PERFDATA_FEAT_BUILD_ID].section.offset;
	size_t len = pd->file_ids_len, at = 0, i = 0;
	struct nt_perfdata_file_id one;
	struct nt_perfdata_cursor c;
	int ret;

	if (!pd->pipe_mode) {
		ret = nt_perfdata_feature(pd, NT_PERFDATA_FEAT_BUILD_ID, &data, &len);
		if (ret <= 0)
			return ret;
	}
	if (!len)
		return 0;
	/* continue after the last one, so that iterating does not start over each time */
	if (nr && nr >= pd->file_id_nr) {
		i = pd->file_id_nr;
		at = pd->file_id_at;
	}
	c = (struct nt_perfdata_cursor){ data + at, data + len, false };
	for (; c.p < c.end; i++) {
		pd->file_id_nr = i;
		pd->file_id_at = c.p - data;
		if (!take_file_id(&c, &one))
			return nt_perfdata_damaged(pd, 0, start + pd->file_id_at,
						   "build-id %zu is damaged", i);
		if (i < nr)
			continue;
		memcpy(id, &one, size < sizeof(one) ? size : sizeof(one));
		if (size > sizeof(one))
			memset((uint8_t *)id + sizeof(one), 0, size - sizeof(one));
		return 1;
	}
	return 0;
}
