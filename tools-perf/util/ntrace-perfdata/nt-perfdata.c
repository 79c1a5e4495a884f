// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Reading perf.data: opens files and iterates over records
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nt-perfdata-int.h"

#define FILES_MAX	65536	/* in a folder */

/* --------------------------------------------------------------- errors -- */

int nt_perfdata_fail(struct nt_perfdata *pd, enum nt_perfdata_error error, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(pd->message, sizeof(pd->message), fmt, ap);
	va_end(ap);
	return -(int)error;
}

int nt_perfdata_damaged(struct nt_perfdata *pd, unsigned int source, uint64_t offset,
			const char *fmt, ...)
{
	const char *name = pd->source[source].name;
	va_list ap;
	int n;

	n = snprintf(pd->message, sizeof(pd->message), "%.300s: at %#llx: ", name,
		     (unsigned long long)offset);
	va_start(ap, fmt);
	vsnprintf(pd->message + n, sizeof(pd->message) - n, fmt, ap);
	va_end(ap);
	return -NT_PERFDATA_EDAMAGED;
}

const char *nt_perfdata_message(const struct nt_perfdata *pd)
{
	return pd->message;
}

/* -------------------------------------------------------------- opening -- */

struct nt_perfdata *nt_perfdata_new(void)
{
	struct nt_perfdata *pd = calloc(1, sizeof(*pd));

	if (!pd)
		return NULL;
	pd->kept = -1;
	pd->window = malloc(WINDOW_SIZE);
	if (!pd->window) {
		free(pd);
		return NULL;
	}
	return pd;
}

void nt_perfdata_free(struct nt_perfdata *pd)
{
	if (!pd)
		return;
	while (pd->nr_sources)
		nt_perfdata_source_close(&pd->source[--pd->nr_sources]);
	if (pd->kept >= 0)
		close(pd->kept);
	free(pd->source);
	free(pd->folder);
	free(pd->window);
	nt_perfdata_stream_free(pd);
	nt_perfdata_event_free(pd);
	nt_perfdata_header_free(pd);
	free(pd);
}

/* Add a source, to be filled in by the caller. */
static struct nt_perfdata_source *new_source(struct nt_perfdata *pd)
{
	struct nt_perfdata_source *more;

	more = realloc(pd->source, (pd->nr_sources + 1) * sizeof(*more));
	if (!more) {
		nt_perfdata_fail(pd, NT_PERFDATA_ENOMEM, "out of memory");
		return NULL;
	}
	pd->source = more;
	more += pd->nr_sources++;
	*more = (struct nt_perfdata_source){ .fd = -1, .kept = -1 };
	return more;
}

static int check_unopened(struct nt_perfdata *pd)
{
	return pd->nr_sources ?
	       nt_perfdata_fail(pd, NT_PERFDATA_EINVAL, "a reader is opened once") : 0;
}

static void enter(struct nt_perfdata *pd, unsigned int source)
{
	pd->current = source;
	pd->done = false;
	pd->at = source ? 0 : pd->data.offset;
	pd->end = UINT64_MAX;
	if (!source && !pd->unfinished)
		pd->end = pd->data.offset + pd->data.size;
	nt_perfdata_stream_reset(pd);
}

static int begin(struct nt_perfdata *pd)
{
	int err = nt_perfdata_header_read(pd);

	/* opening failed: there is nothing to read */
	pd->done = err;
	pd->opened = !err;
	if (!err)
		enter(pd, 0);
	return err;
}

int nt_perfdata_open_fd(struct nt_perfdata *pd, int fd, const char *name)
{
	struct nt_perfdata_source *s;
	int err = check_unopened(pd);

	if (err)
		return err;
	s = new_source(pd);
	if (!s)
		return -NT_PERFDATA_ENOMEM;
	err = nt_perfdata_source_fd(pd, s, fd, name);
	if (err)
		pd->done = true;
	return err ? err : begin(pd);
}

int nt_perfdata_open_memory(struct nt_perfdata *pd, const void *buf, size_t len)
{
	struct nt_perfdata_source *s;
	int err = check_unopened(pd);

	if (err)
		return err;
	s = new_source(pd);
	if (!s)
		return -NT_PERFDATA_ENOMEM;
	*s = (struct nt_perfdata_source){
		.name = strdup("memory"), .fd = -1, .kept = -1, .ended = true, .size = len,
		.memory = buf ? buf : (const uint8_t *)"",
	};
	if (!s->name)
		return nt_perfdata_fail(pd, NT_PERFDATA_ENOMEM, "out of memory");
	return begin(pd);
}

static int open_file(struct nt_perfdata *pd, const char *path)
{
	struct nt_perfdata_source *s = new_source(pd);

	return s ? nt_perfdata_source_open(pd, s, path) : -NT_PERFDATA_ENOMEM;
}

/* data, and data.0, data.1 ... of --threads */
static int open_folder(struct nt_perfdata *pd, const char *path)
{
	unsigned int i;
	char *name;
	int err = 0;

	pd->folder = strdup(path);
	for (i = 0; pd->folder && i < FILES_MAX && !err; i++) {
		if ((i ? asprintf(&name, "%s/data.%u", path, i - 1) :
			 asprintf(&name, "%s/data", path)) < 0)
			break;
		if (i && access(name, F_OK)) {
			free(name);
			return 0;
		}
		err = open_file(pd, name);
		free(name);
	}
	if (err)
		return err;
	return i == FILES_MAX ?
	       nt_perfdata_fail(pd, NT_PERFDATA_ENOTSUP, "%s: has more than %d files", path,
				i - 1) :
	       nt_perfdata_fail(pd, NT_PERFDATA_ENOMEM, "out of memory");
}

int nt_perfdata_open(struct nt_perfdata *pd, const char *path)
{
	struct stat st;
	int err = check_unopened(pd);

	if (err)
		return err;
	if (!strcmp(path, "-"))
		return nt_perfdata_open_fd(pd, STDIN_FILENO, "standard input");
	if (stat(path, &st))
		return nt_perfdata_fail(pd, NT_PERFDATA_EFILE, "%s: %s", path, strerror(errno));
	err = S_ISDIR(st.st_mode) ? open_folder(pd, path) : open_file(pd, path);
	if (err)
		pd->done = true;
	return err ? err : begin(pd);
}

/* Decompressed AUX area samples are already stored. */
static int keep_again(struct nt_perfdata *pd, const struct nt_perfdata *other)
{
	pd->kept_before = true;
	if (other->kept < 0)
		return 0;
	pd->kept = fcntl(other->kept, F_DUPFD_CLOEXEC, 0);
	return pd->kept < 0 ? nt_perfdata_fail(pd, NT_PERFDATA_EFILE, "%s", strerror(errno)) : 0;
}

int nt_perfdata_open_again(struct nt_perfdata *pd, const struct nt_perfdata *other)
{
	struct nt_perfdata_source *s;
	unsigned int i;
	int err = check_unopened(pd);

	if (err)
		return err;
	if (!other->opened || !other->done || other->current + 1 < other->nr_sources)
		return nt_perfdata_fail(pd, NT_PERFDATA_EINVAL, "not all records were read before");
	if (other->folder) {
		pd->folder = strdup(other->folder);
		err = pd->folder ? 0 : nt_perfdata_fail(pd, NT_PERFDATA_ENOMEM, "out of memory");
	}
	for (i = 0; i < other->nr_sources && !err; i++) {
		s = new_source(pd);
		err = s ? nt_perfdata_source_again(pd, s, &other->source[i]) : -NT_PERFDATA_ENOMEM;
	}
	err = err ? err : keep_again(pd, other);
	if (err)
		pd->done = true;
	return err ? err : begin(pd);
}

int nt_perfdata_beside(const struct nt_perfdata *pd, const char *name, char *buf, size_t size)
{
	return pd->folder ? snprintf(buf, size, "%s/%s", pd->folder, name) : 0;
}

bool nt_perfdata_is_pipe(const struct nt_perfdata *pd)
{
	return pd->pipe_mode;
}

/* -------------------------------------------------------------- records -- */

/* The size of the data after a record that the record's size does not include */
static int find_payload(struct nt_perfdata *pd, uint32_t type, const uint8_t *p, uint32_t len,
			uint64_t *payload)
{
	struct nt_perfdata_cursor c = { p + RECORD_HEADER, p + len, false };
	uint64_t left;

	*payload = 0;
	if (type == NT_PERFDATA_AUXTRACE)
		*payload = nt_perfdata_u64(&c);
	else if (type == NT_PERFDATA_HEADER_TRACING_DATA)
		*payload = ((uint64_t)nt_perfdata_u32(&c) + 7) & ~7ull;
	left = (pd->end < INT64_MAX ? pd->end : INT64_MAX) - pd->at - len;
	if (*payload > left)
		return nt_perfdata_damaged(pd, pd->current, pd->at,
					   "a record of type %u tells of %#llx bytes behind it, where %#llx can be",
					   type, (unsigned long long)*payload,
					   (unsigned long long)left);
	return 0;
}

static int parse(struct nt_perfdata *pd, struct nt_perfdata_record *rec, const uint8_t *p,
		 uint32_t len, uint64_t offset, bool compressed)
{
	const char *what;
	int err;

	memset(rec, 0, sizeof(*rec));
	memcpy(&rec->type, p, 4);
	memcpy(&rec->misc, p + 4, 2);
	rec->pid = rec->tid = rec->event = -1;
	rec->file = pd->current;
	rec->offset = offset;
	rec->compressed = compressed;
	rec->data = p;
	rec->len = len;
	err = nt_perfdata_record_parse(pd, rec, &what);
	if (err == -NT_PERFDATA_ENOMEM)
		return nt_perfdata_fail(pd, NT_PERFDATA_ENOMEM, "out of memory");
	if (err == -NT_PERFDATA_EFILE)
		return err;
	if (err)
		return nt_perfdata_damaged(pd, pd->current, offset,
					   "a record of type %u, %u bytes, %s", rec->type, len,
					   what);
	return 1;
}

/* The file ends `there' bytes after pd->at, inside a record or between two. */
static int ended(struct nt_perfdata *pd, size_t there)
{
	size_t rest = nt_perfdata_stream_rest(pd);

	if (there)
		return nt_perfdata_damaged(pd, pd->current, pd->at,
					   "the file ends in a record, %zu bytes behind its begin",
					   there);
	if (rest)
		return nt_perfdata_damaged(pd, pd->current, pd->stream.offset,
					   "compressed records end in one, %zu bytes behind its begin",
					   rest);
	if (pd->current || pd->pipe_mode || pd->at == pd->end)
		return 0;
	if (pd->unfinished)
		return nt_perfdata_damaged(pd, pd->current, pd->at,
					   "the file ends; its header was never completed, for perf record did not end by itself");
	return nt_perfdata_damaged(pd, pd->current, pd->at,
				   "the file ends %#llx bytes before its data does",
				   (unsigned long long)(pd->end - pd->at));
}

/* Trace may be truncated, too: the previous record has more bytes than the file. */
static int check_trace(struct nt_perfdata *pd)
{
	const struct nt_perfdata_source *s = &pd->source[pd->current];

	if (!s->ended || pd->at <= s->size)
		return 0;
	return nt_perfdata_damaged(pd, pd->current, s->size,
				   "the file ends in trace, %#llx bytes before that does",
				   (unsigned long long)(pd->at - s->size));
}

/* Find the record at pd->at.  Returns its length, 0 at the end, or negative */
static int find_record(struct nt_perfdata *pd, const uint8_t **p)
{
	uint64_t left = pd->end - pd->at;
	uint16_t size;
	int n;

	n = left ? nt_perfdata_peek(pd, pd->at, RECORD_HEADER, p) : 0;
	if (n >= 0 && check_trace(pd))
		n = -NT_PERFDATA_EDAMAGED;
	if (n < 0)
		return n;
	if (!left)
		return ended(pd, 0);
	if (n < RECORD_HEADER)
		return ended(pd, n);
	memcpy(&size, *p + 6, sizeof(size));
	if (size < RECORD_HEADER || size > left)
		return nt_perfdata_damaged(pd, pd->current, pd->at,
					   "a record of %u bytes; expected %d to %llu", size,
					   RECORD_HEADER,
					   (unsigned long long)(left < RECORD_MAX ?
								left : RECORD_MAX));
	n = nt_perfdata_peek(pd, pd->at, size, p);
	return n < 0 || n == size ? n : ended(pd, n);
}

/* Find out how much of the record's trace is in the file; for a pipe, after it has arrived. */
static int find_trace(struct nt_perfdata *pd, struct nt_perfdata_record *rec)
{
	const struct nt_perfdata_source *s = &pd->source[pd->current];
	uint64_t at = rec->offset + rec->len, size = rec->auxtrace.size, there;
	const uint8_t *p;
	int n;

	if (s->pipe && !s->ended) {
		n = nt_perfdata_source_read(pd, &pd->source[pd->current], at + size, &p, 0);
		if (n < 0)
			return n;
	}
	there = s->size > at ? s->size - at : 0;
	rec->auxtrace.at = at;
	rec->auxtrace.there = there < size ? there : size;
	return 1;
}

static bool is_compressed(uint32_t type)
{
	return type == NT_PERFDATA_COMPRESSED || type == NT_PERFDATA_COMPRESSED2;
}

/* Get the next record of this file.  Returns 1; 0 at its end, or negative */
static int next_here(struct nt_perfdata *pd, struct nt_perfdata_record *rec)
{
	uint64_t payload, offset;
	const uint8_t *p;
	uint32_t type, len;
	int ret;

	for (;;) {
		ret = nt_perfdata_stream_next(pd, &p, &len);
		if (ret < 0)
			return ret;
		if (ret) {
			memcpy(&type, p, sizeof(type));
			/* trace and compressed records are never compressed */
			if (is_compressed(type) || type == NT_PERFDATA_AUXTRACE ||
			    type == NT_PERFDATA_HEADER_TRACING_DATA)
				return nt_perfdata_damaged(pd, pd->current, pd->stream.offset,
							   "a compressed record has one of type %u in it",
							   type);
			return parse(pd, rec, p, len, pd->stream.offset, true);
		}
		ret = find_record(pd, &p);
		if (ret <= 0)
			return ret;
		len = ret;
		offset = pd->at;
		memcpy(&type, p, sizeof(type));
		ret = find_payload(pd, type, p, len, &payload);
		if (ret)
			return ret;
		pd->at += len + payload;
		if (!is_compressed(type))
			break;
		ret = nt_perfdata_stream_add(pd, p, len, offset);
		if (ret)
			return ret;
	}
	ret = parse(pd, rec, p, len, offset, false);
	if (ret == 1 && type == NT_PERFDATA_AUXTRACE)
		ret = find_trace(pd, rec);
	return ret;
}

int nt_perfdata_next_sized(struct nt_perfdata *pd, struct nt_perfdata_record *rec, size_t size)
{
	struct nt_perfdata_record one;
	int ret;

	if (!pd->nr_sources)
		return nt_perfdata_fail(pd, NT_PERFDATA_EINVAL, "nothing was opened");
	while (!pd->done || pd->current + 1 < pd->nr_sources) {
		if (pd->done)
			enter(pd, pd->current + 1);
		ret = next_here(pd, &one);
		pd->done = ret <= 0;
		if (ret < 0)
			return ret;
		if (!ret)
			continue;
		memcpy(rec, &one, size < sizeof(one) ? size : sizeof(one));
		if (size > sizeof(one))
			memset((uint8_t *)rec + sizeof(one), 0, size - sizeof(one));
		return 1;
	}
	return 0;
}

int nt_perfdata_rewind(struct nt_perfdata *pd)
{
	if (!pd->opened)
		return nt_perfdata_fail(pd, NT_PERFDATA_EINVAL, "nothing was opened");
	/* these come again in records */
	if (pd->pipe_mode) {
		pd->nr_attrs = pd->nr_ids = 0;
		if (pd->id_room)
			memset(pd->id, 0, pd->id_room * sizeof(*pd->id));
		pd->file_ids_len = pd->file_id_nr = pd->file_id_at = 0;
	}
	pd->kept_len = 0;
	enter(pd, 0);
	return 0;
}

int nt_perfdata_read(struct nt_perfdata *pd, unsigned int file, uint64_t offset, void *buf,
		     size_t len)
{
	if (file == KEPT_FILE)
		return nt_perfdata_source_read_kept(pd, offset, buf, len);
	if (file >= pd->nr_sources)
		return nt_perfdata_fail(pd, NT_PERFDATA_EINVAL, "there is no file %u", file);
	return nt_perfdata_source_read(pd, &pd->source[file], offset, buf, len);
}

void nt_perfdata_progress(const struct nt_perfdata *pd, uint64_t *done, uint64_t *total)
{
	unsigned int i;

	*done = *total = 0;
	for (i = 0; i < pd->nr_sources; i++) {
		*total += pd->source[i].size;
		if (i < pd->current)
			*done += pd->source[i].size;
		else if (i == pd->current)
			*done += pd->at < pd->source[i].size ? pd->at : pd->source[i].size;
	}
}
