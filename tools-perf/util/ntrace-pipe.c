// SPDX-License-Identifier: GPL-2.0-only
/*
 * Recordings that are read from a pipe. An AUX record comes after its trace, but decoding needs it
 * first. So the rest of the pipe is saved in an unnamed file, which then replaces the pipe. perf
 * continues to read from this file, and trace can be read at any offset.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE		/* O_TMPFILE */
#endif
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/kernel.h>

#include <internal/lib.h> // writen
#include "data.h"
#include "debug.h"
#include "event.h"
#include "header.h"
#include "session.h"
#include "ntrace-compat.h"
#include "ntrace-priv.h"

#define CHUNK	65536

/* Create an unnamed file in TMPDIR. Returns its descriptor, or a negative error */
int ntrace_pipe_file(void)
{
	const char *dir = getenv("TMPDIR") ?: "/tmp";
	int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0)
		return fd;
	pr_err("ntrace: cannot make a file in %s (%s): set TMPDIR to a folder with room for the recording\n",
	       dir, strerror(errno));
	return -errno;
}

static ssize_t pipe_take(struct perf_data *data, void *buf)
{
	size_t n;

	if (!ntrace_compat_use_stdio(data))
		return read(perf_data__fd(data), buf, CHUNK);
	n = fread(buf, 1, CHUNK, data->file.fptr);
	return !n && ferror(data->file.fptr) ? -1 : (ssize_t)n;
}

static int pipe_copy(struct perf_data *data, int to)
{
	static char buf[CHUNK];
	ssize_t n;

	while ((n = pipe_take(data, buf)) > 0) {
		if (writen(to, buf, n) != n) {
			pr_err("ntrace: cannot keep the recording that comes through the pipe: %s; TMPDIR says where\n",
			       strerror(errno));
			return -errno;
		}
	}
	if (!n)
		return 0;
	pr_err("ntrace: cannot read the pipe: %s\n", strerror(errno));
	return -errno;
}

/* The offset of the next record. -1: a real pipe, not a file that was made from one */
static off_t pipe_tell(struct perf_data *data)
{
	if (ntrace_compat_use_stdio(data))
		return ftello(data->file.fptr);
	return lseek(perf_data__fd(data), 0, SEEK_CUR);
}

/* Replace the pipe by an unnamed file. */
static int pipe_keep(struct perf_data *data)
{
	int fd = ntrace_pipe_file(), err;

	if (fd < 0)
		return fd;
	err = pipe_copy(data, fd);
	if (!err && (lseek(fd, 0, SEEK_SET) || dup2(fd, perf_data__fd(data)) < 0))
		err = -errno;
	if (ntrace_compat_use_stdio(data))
		clearerr(data->file.fptr);
	close(fd);
	return err;
}

/* Returns 0, with *@begin set to the offset of the first record after AUXTRACE_INFO, or an error */
int ntrace_pipe_open(struct perf_session *session, off_t *begin)
{
	struct perf_data *data = session->data;
	int err;

	if (session->header.needs_swap) {
		pr_err("ntrace: a pipe from a machine of the other byte order: record into a file\n");
		return -EINVAL;
	}
	*begin = pipe_tell(data);
	if (*begin >= 0)
		return 0;
	err = pipe_keep(data);
	*begin = 0;
	return err;
}

/* Call @cb for each record from @begin on. Returns 0, its error, or -EIO if the last is cut off. */
int ntrace_pipe_peek(struct perf_session *session, off_t begin, peek_events_cb_t cb, void *ctx)
{
	char buf[PERF_SAMPLE_MAX_SIZE] __aligned(sizeof(u64));
	int fd = perf_data__fd(session->data), err;
	u64 pos = 0, size;
	ssize_t n = 0;

	for (;;) {
		union perf_event *event = (union perf_event *)(buf + pos);

		if (n - pos < sizeof(event->header) || n - pos < event->header.size) {
			n = pread(fd, buf, sizeof(buf), begin);
			if (n <= 0)
				return n ? -errno : 0;
			pos = 0;
			event = (union perf_event *)buf;
		}
		if ((size_t)n < sizeof(event->header) || event->header.size > n - pos ||
		    event->header.size < sizeof(event->header))
			return -EIO;
		err = cb(session, event, begin, ctx);
		if (err)
			return err;
		size = event->header.size;
		if (event->header.type == PERF_RECORD_AUXTRACE)
			size += event->auxtrace.size;
		begin += size;
		pos += min_t(u64, size, n - pos);
	}
}

/* Skip the trace between two records: perf reads a pipe sequentially. */
int ntrace_pipe_skip(struct perf_session *session, u64 size)
{
	char buf[4096];
	u64 len;

	if (!ntrace_compat_use_stdio(session->data))
		return lseek(perf_data__fd(session->data), size, SEEK_CUR) < 0 ? -errno : 0;
	for (; size; size -= len) {
		len = min_t(u64, size, sizeof(buf));
		if (perf_data__read(session->data, buf, len) <= 0)
			return -EIO;
	}
	return 0;
}
