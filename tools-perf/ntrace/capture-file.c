// SPDX-License-Identifier: GPL-2.0-only
/*
 * Write a perf.data: the header, events and their IDs, records with trace between them, and the
 * sections for features. The data size in the header is updated after each round, so that the file
 * is readable if the recording is killed: perf reads nothing if the size is 0.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture.h"
#include "cmd.h"

#define WAITING_MAX	((size_t)256 << 10)
#define HEADER_SIZE	104
#define DATA_SIZE_AT	48	/* offset of the size of the data */
#define AUXTRACE_SIZE	48
#define ALIGN8(n)	(((n) + 7) & ~7ULL)

/* ---------------------------------------------------------------- bytes -- */

void capture_put(struct capture_bytes *b, const void *bytes, size_t len)
{
	size_t room = b->room ? b->room : 256;
	uint8_t *more;

	while (room < b->len + len)
		room *= 2;
	if (room > b->room) {
		more = realloc(b->p, room);
		if (!more)
			die("%s", nt_strerror(NT_ENOMEM));
		b->p = more;
		b->room = room;
	}
	if (len)
		memcpy(b->p + b->len, bytes, len);
	b->len += len;
}

void capture_put32(struct capture_bytes *b, uint32_t val)
{
	capture_put(b, &val, sizeof(val));
}

void capture_put64(struct capture_bytes *b, uint64_t val)
{
	capture_put(b, &val, sizeof(val));
}

void capture_put_text(struct capture_bytes *b, const char *text, size_t align)
{
	size_t len = strlen(text) + 1;

	capture_put(b, text, len);
	for (; len % align; len++)
		capture_put(b, "", 1);
}

/* -------------------------------------------------------------- opening -- */

/* Files of a recording with --kcore */
static const char *const inside[] = {
	"data", NTRACE_KCORE_START "/kcore", NTRACE_KCORE_START "/kallsyms",
	NTRACE_KCORE_START "/modules", NTRACE_KCORE_START,
	NTRACE_KCORE_END "/kcore", NTRACE_KCORE_END, ""
};

/* A folder with any other file is not a recording, so nothing in it is removed. */
static void check_folder(const char *old)
{
	DIR *dir = opendir(old);
	struct dirent *entry;
	size_t i;

	while (dir && (entry = readdir(dir))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		for (i = 0; i < sizeof(inside) / sizeof(*inside); i++)
			if (!strcmp(entry->d_name, inside[i]))
				break;
		if (i == sizeof(inside) / sizeof(*inside))
			die("%s: is a folder with %s in it, and no recording: it is not replaced",
			    old, entry->d_name);
	}
	if (dir)
		closedir(dir);
}

void capture_file_remove_folder(const char *old)
{
	struct stat st;
	size_t i;
	char *path;

	if (lstat(old, &st) || !S_ISDIR(st.st_mode))
		return;
	check_folder(old);
	for (i = 0; i < sizeof(inside) / sizeof(*inside); i++) {
		if (asprintf(&path, "%s/%s", old, inside[i]) < 0)
			die("%s", nt_strerror(NT_ENOMEM));
		if (remove(path) && errno != ENOENT && !*inside[i])
			die("%s: cannot be replaced: %s", old, strerror(errno));
		free(path);
	}
}

/* As in perf record: rename an existing file to .old. */
static void keep_old(const char *path)
{
	struct stat st;
	char *old;

	if (lstat(path, &st) || (S_ISREG(st.st_mode) && !st.st_size))
		return;
	if (S_ISLNK(st.st_mode))
		die("%s: is a symbolic link: name the file itself, which is kept as .old", path);
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		die("%s: is neither a file nor a folder: a recording is written to a file", path);
	if (asprintf(&old, "%s.old", path) < 0)
		die("%s", nt_strerror(NT_ENOMEM));
	capture_file_remove_folder(old);
	/* a folder cannot replace a file */
	if (S_ISDIR(st.st_mode) && unlink(old) && errno != ENOENT)
		die("%s: cannot be replaced: %s", old, strerror(errno));
	if (rename(path, old))
		die("%s: cannot become %s: %s", path, old, strerror(errno));
	free(old);
}

/* Remove the output, because nothing was recorded. */
void capture_file_discard(struct capture *c)
{
	if (c->o.kcore)
		capture_file_remove_folder(c->file.path);
	else
		unlink(c->file.path);
}

void capture_file_open(struct capture *c)
{
	struct capture_file *f = &c->file;

	free(f->path);
	free(f->data);
	*f = (struct capture_file){ .path = strdup(c->o.output), .trace = f->trace,
				    .waiting = { f->waiting.p, 0, f->waiting.room },
				    .features = { f->features.p, 0, f->features.room } };
	if (!f->path || (c->o.kcore && asprintf(&f->data, "%s/data", f->path) < 0) ||
	    (!c->o.kcore && !(f->data = strdup(f->path))))
		die("%s", nt_strerror(NT_ENOMEM));
	keep_old(f->path);
	/* there may be an empty file */
	if (c->o.kcore)
		unlink(f->path);
	if (c->o.kcore && mkdir(f->path, 0700) && errno != EEXIST)
		die("%s: cannot make the folder: %s", f->path, strerror(errno));
	f->fd = open(f->data, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (f->fd < 0)
		die("%s: cannot be written: %s", f->data, strerror(errno));
}

/* -------------------------------------------------------------- writing -- */

/* Append to the file. Returns the number of bytes that were written. */
static size_t write_out(struct capture_file *f, const uint8_t *p, size_t len)
{
	size_t done = 0;
	ssize_t n;

	while (done < len && !f->error) {
		n = write(f->fd, p + done, len - done);
		if (n > 0)
			done += n;
		else if (n < 0 && errno != EINTR)
			f->error = errno;
		else if (!n)
			f->error = ENOSPC;
	}
	return done;
}

/* The disk is full: cut the file after the last complete record. */
static void cut_records(struct capture_file *f, size_t written)
{
	size_t whole = 0;
	uint16_t size;

	for (; whole + 8 <= written; whole += size) {
		memcpy(&size, f->waiting.p + whole + 6, sizeof(size));
		if (size < 8 || whole + size > written)
			break;
	}
	f->at -= f->waiting.len - whole;
}

void capture_file_flush(struct capture *c)
{
	struct capture_file *f = &c->file;
	size_t n;

	if (!f->waiting.len)
		return;
	n = write_out(f, f->waiting.p, f->waiting.len);
	if (n < f->waiting.len)
		cut_records(f, n);
	f->waiting.len = 0;
}

void capture_file_write(struct capture *c, const void *bytes, size_t len)
{
	struct capture_file *f = &c->file;

	if (f->error)
		return;
	if (f->waiting.len + len > WAITING_MAX)
		capture_file_flush(c);
	if (f->error)
		return;
	capture_put(&f->waiting, bytes, len);
	f->at += len;
}

/* Write a record that consists of its header alone */
void capture_file_mark(struct capture *c, uint32_t type)
{
	const struct perf_event_header header = { .type = type, .size = sizeof(header) };

	capture_file_write(c, &header, sizeof(header));
}

/* All records so far are complete and written, so readers can read up to here. */
void capture_file_round(struct capture *c)
{
	struct capture_file *f = &c->file;
	uint64_t size;

	capture_file_flush(c);
	size = f->at - f->start;
	if (!f->error && pwrite(f->fd, &size, sizeof(size), DATA_SIZE_AT) != sizeof(size))
		f->error = errno ? errno : ENOSPC;
}

static void put_trace_size(struct capture_file *f, uint64_t at, uint64_t size)
{
	if (pwrite(f->fd, &size, sizeof(size), at + 8) != sizeof(size))
		f->at = at;
}

void capture_file_trace(struct capture *c, unsigned int ring, uint64_t offset,
			const uint8_t *part[2], const size_t len[2])
{
	static const uint8_t zeros[8];
	struct capture_file *f = &c->file;
	size_t size = len[0] + len[1], padded = ALIGN8(size), done;
	struct {
		struct perf_event_header header;
		uint64_t size, offset, reference;
		uint32_t idx, tid, cpu, reserved;
	} rec = {
		.header = { .type = NT_PERFDATA_AUXTRACE, .size = sizeof(rec) },
		.size = padded, .offset = offset, .reference = ++c->pieces,
		.idx = ring, .tid = c->ring[ring].tid, .cpu = c->ring[ring].cpu,
	};
	uint64_t at;

	capture_file_write(c, &rec, sizeof(rec));
	capture_file_flush(c);
	if (f->error)
		return;
	at = f->at - sizeof(rec);
	f->trace = array_room(f->trace, f->nr_traces, sizeof(*f->trace));
	f->trace[f->nr_traces++] = at;
	done = write_out(f, part[0], len[0]);
	if (done == len[0])
		done += write_out(f, part[1], len[1]);
	if (done == size)
		done += write_out(f, zeros, padded - size);
	f->at += done;
	if (done == padded)
		return;
	f->at = at + sizeof(rec) + (done & ~7ULL);
	put_trace_size(f, at, done & ~7ULL);
}

/* ------------------------------------------------------ header and end --- */

static void write_header(struct capture *c, uint64_t data_size, const uint64_t features[4])
{
	struct capture_bytes b = { NULL, 0, 0 };
	const uint32_t attr_size = sizeof(struct perf_event_attr) + 16;
	uint64_t ids = 0;
	unsigned int i;

	for (i = 0; i < c->nr_events; i++)
		ids += c->event[i].nr_ids * sizeof(uint64_t);
	capture_put(&b, "PERFILE2", 8);
	capture_put64(&b, HEADER_SIZE);
	capture_put64(&b, attr_size);
	capture_put64(&b, HEADER_SIZE + ids);
	capture_put64(&b, c->nr_events * attr_size);
	capture_put64(&b, c->file.start);
	capture_put64(&b, data_size);
	capture_put64(&b, 0);		/* event types, which are obsolete */
	capture_put64(&b, 0);
	capture_put(&b, features, 4 * sizeof(*features));
	if (pwrite(c->file.fd, b.p, b.len, 0) != (ssize_t)b.len && !c->file.error)
		c->file.error = errno ? errno : ENOSPC;
	free(b.p);
}

void capture_file_begin(struct capture *c)
{
	static const uint64_t none[4];
	struct capture_file *f = &c->file;
	struct capture_bytes b = { NULL, 0, 0 };
	uint64_t at = HEADER_SIZE;
	unsigned int i;

	for (i = 0; i < c->nr_events; i++)
		capture_put(&b, c->event[i].id, c->event[i].nr_ids * sizeof(uint64_t));
	for (i = 0; i < c->nr_events; i++) {
		capture_put(&b, &c->event[i].attr, sizeof(c->event[i].attr));
		capture_put64(&b, at);
		capture_put64(&b, c->event[i].nr_ids * sizeof(uint64_t));
		at += c->event[i].nr_ids * sizeof(uint64_t);
	}
	f->start = HEADER_SIZE + b.len;
	f->at = f->start;
	write_header(c, 0, none);
	if (lseek(f->fd, HEADER_SIZE, SEEK_SET) < 0 || write_out(f, b.p, b.len) < b.len || f->error)
		die("%s: cannot be written: %s", f->data, strerror(f->error ? f->error : errno));
	free(b.p);
}

/*
 * Returns the end of the last record that ends at or before `end'. `at' is the start of a record.
 */
static uint64_t records_end(const struct capture_file *f, uint64_t at, uint64_t end)
{
	struct perf_event_header header;

	while (at + sizeof(header) <= end &&
	       pread(f->fd, &header, sizeof(header), at) == sizeof(header) &&
	       header.size >= sizeof(header) && at + header.size <= end)
		at += header.size;
	return at;
}

/*
 * Free space for the sections after the data, at the expense of the last records and trace: without
 * the sections, the file is hardly usable. Free two more pages than needed, because file systems
 * allocate pages.
 */
static void make_room(struct capture_file *f, size_t need)
{
	uint64_t less = (need | 4095) + 4097, at = f->start, end = f->at - less, size;

	if (f->at < f->start + less)
		return;
	while (f->nr_traces && f->trace[f->nr_traces - 1] + AUXTRACE_SIZE > end)
		f->nr_traces--;
	if (f->nr_traces) {
		at = f->trace[f->nr_traces - 1];
		if (pread(f->fd, &size, sizeof(size), at + 8) != sizeof(size))
			return;
		at += AUXTRACE_SIZE;
		if (at + size > end) {
			f->at = at + ((end - at) & ~7ULL);
			put_trace_size(f, at - AUXTRACE_SIZE, f->at - at);
			return;
		}
		at += size;
	}
	f->at = records_end(f, at, end);
}

/* Write the sections after the data. Returns false if there is no room for all of them. */
static bool write_features(struct capture *c, uint64_t features[4])
{
	struct capture_file *f = &c->file;
	struct capture_bytes *b = &f->features;

	b->len = 0;
	memset(features, 0, 4 * sizeof(*features));
	capture_header_make(c, b, f->at, features);
	f->error = 0;
	if (ftruncate(f->fd, f->at) || lseek(f->fd, f->at, SEEK_SET) < 0)
		f->error = errno;
	return write_out(f, b->p, b->len) == b->len;
}

void capture_file_end(struct capture *c)
{
	struct capture_file *f = &c->file;
	uint64_t features[4] = { 0 };
	int error;

	capture_file_flush(c);
	error = f->error;
	if (!write_features(c, features)) {
		error = error ? error : f->error;
		make_room(f, f->features.len);
		if (!write_features(c, features)) {
			memset(features, 0, sizeof(features));
			if (ftruncate(f->fd, f->at))
				error = errno;
		}
	}
	f->error = 0;
	write_header(c, f->at - f->start, features);
	if (close(f->fd) && !f->error)
		f->error = errno;
	f->fd = -1;
	f->error = error ? error : f->error;
}
