// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Reads files, pipes and memory. Files are read, not mapped: if another program truncates one, it
 * just ends, without a signal.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nt-perfdata-int.h"

#define PIPE_CHUNK	((size_t)64 << 10)

/* Create an unnamed file, which vanishes with its last descriptor. */
static int open_nameless(void)
{
	const char *dir = getenv("TMPDIR");
	char path[PATH_MAX];
	int fd;

	if (!dir || !*dir)
		dir = "/tmp";
	fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0)
		return fd;
	if (snprintf(path, sizeof(path), "%s/nt-perfdata-XXXXXX", dir) >= (int)sizeof(path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		unlink(path);
	return fd;
}

static int begin_pipe(struct nt_perfdata *pd, struct nt_perfdata_source *s)
{
	s->pipe = true;
	s->size = 0;
	s->kept = open_nameless();
	if (s->kept < 0)
		return nt_perfdata_fail(pd, NT_PERFDATA_EFILE,
					"%s: no place in TMPDIR for what comes through the pipe: %s",
					s->name, strerror(errno));
	return 0;
}

int nt_perfdata_source_fd(struct nt_perfdata *pd, struct nt_perfdata_source *s, int fd,
			  const char *name)
{
	struct stat st;

	*s = (struct nt_perfdata_source){ .name = strdup(name), .fd = fd, .kept = -1 };
	if (!s->name)
		return nt_perfdata_fail(pd, NT_PERFDATA_ENOMEM, "out of memory");
	if (fstat(fd, &st))
		return nt_perfdata_fail(pd, NT_PERFDATA_EFILE, "%s: %s", name, strerror(errno));
	if (S_ISREG(st.st_mode) && lseek(fd, 0, SEEK_CUR) == 0) {
		s->size = st.st_size;
		s->ended = true;
		return 0;
	}
	if (S_ISDIR(st.st_mode))
		return nt_perfdata_fail(pd, NT_PERFDATA_EFILE, "%s: %s", name, strerror(EISDIR));
	return begin_pipe(pd, s);
}

int nt_perfdata_source_open(struct nt_perfdata *pd, struct nt_perfdata_source *s, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;

	if (fd < 0)
		return nt_perfdata_fail(pd, NT_PERFDATA_EFILE, "%s: %s", path, strerror(errno));
	err = nt_perfdata_source_fd(pd, s, fd, path);
	s->own = true;
	return err;
}

int nt_perfdata_source_again(struct nt_perfdata *pd, struct nt_perfdata_source *s,
			     const struct nt_perfdata_source *other)
{
	int fd = other->pipe ? other->kept : other->fd;

	*s = *other;
	s->fd = s->kept = -1;
	s->pipe = s->own = false;
	s->ended = true;
	s->name = strdup(other->name);
	if (!s->name)
		return nt_perfdata_fail(pd, NT_PERFDATA_ENOMEM, "out of memory");
	if (s->memory)
		return 0;
	s->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (s->fd < 0)
		return nt_perfdata_fail(pd, NT_PERFDATA_EFILE, "%s: %s", s->name, strerror(errno));
	s->own = true;
	return 0;
}

void nt_perfdata_source_close(struct nt_perfdata_source *s)
{
	if (s->own)
		close(s->fd);
	if (s->kept >= 0)
		close(s->kept);
	free(s->name);
}

static ssize_t read_at(int fd, void *buf, size_t len, uint64_t offset)
{
	size_t done = 0;
	ssize_t n;

	while (done < len) {
		n = pread(fd, (uint8_t *)buf + done, len - done, offset + done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (!n)
			break;
		done += n;
	}
	return done;
}

static int keep(int fd, uint64_t *size, const uint8_t *buf, size_t len)
{
	ssize_t n;

	while (len) {
		n = pwrite(fd, buf, len, *size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		buf += n;
		len -= n;
		*size += n;
	}
	return 0;
}

/* After nt_perfdata_rewind(), the same bytes get the same positions. */
int nt_perfdata_source_keep(struct nt_perfdata *pd, const uint8_t *p, size_t len, uint64_t *at)
{
	*at = pd->kept_len;
	if (pd->kept_before) {
		pd->kept_len += len;
		return 0;
	}
	if (pd->kept < 0)
		pd->kept = open_nameless();
	if (pd->kept < 0 || keep(pd->kept, &pd->kept_len, p, len))
		return nt_perfdata_fail(pd, NT_PERFDATA_EFILE,
					"cannot keep samples of the AUX area that were compressed in TMPDIR: %s",
					strerror(errno));
	return 0;
}

/* Wait until a pipe has delivered the bytes up to this offset, or has ended. */
static int wait_for(struct nt_perfdata *pd, struct nt_perfdata_source *s, uint64_t offset)
{
	uint8_t buf[PIPE_CHUNK];
	ssize_t n;

	while (!s->ended && s->size < offset) {
		n = read(s->fd, buf, sizeof(buf));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return nt_perfdata_fail(pd, NT_PERFDATA_EFILE, "%s: %s", s->name,
						strerror(errno));
		s->ended = !n;
		if (keep(s->kept, &s->size, buf, n))
			return nt_perfdata_fail(pd, NT_PERFDATA_EFILE,
						"%s: cannot keep what comes through the pipe in TMPDIR: %s",
						s->name, strerror(errno));
	}
	return 0;
}

int nt_perfdata_source_read_kept(struct nt_perfdata *pd, uint64_t offset, void *buf, size_t len)
{
	ssize_t n;

	if (len > INT_MAX)
		len = INT_MAX;
	if (pd->kept < 0 || offset > INT64_MAX - len)
		return 0;
	n = read_at(pd->kept, buf, len, offset);
	if (n < 0)
		return nt_perfdata_fail(pd, NT_PERFDATA_EFILE,
					"samples of the AUX area that were kept in TMPDIR: %s",
					strerror(errno));
	return n;
}

int nt_perfdata_source_read(struct nt_perfdata *pd, struct nt_perfdata_source *s, uint64_t offset,
			    void *buf, size_t len)
{
	ssize_t n;
	int err;

	if (len > INT_MAX)
		len = INT_MAX;
	if (offset > INT64_MAX - len)
		return 0;
	if (s->memory) {
		if (offset >= s->size)
			return 0;
		if (len > s->size - offset)
			len = s->size - offset;
		memcpy(buf, s->memory + offset, len);
		return len;
	}
	if (s->pipe) {
		err = wait_for(pd, s, offset + len);
		if (err)
			return err;
	}
	n = read_at(s->pipe ? s->kept : s->fd, buf, len, offset);
	if (n < 0)
		return nt_perfdata_fail(pd, NT_PERFDATA_EFILE, "%s: %s", s->name, strerror(errno));
	return n;
}

/* Do not wait for more of a pipe if the record has arrived. */
static size_t window_wanted(const struct nt_perfdata_source *s, uint64_t offset, size_t len)
{
	uint64_t there = s->size > offset ? s->size - offset : 0;

	if (!s->pipe || s->ended || there >= WINDOW_SIZE)
		return WINDOW_SIZE;
	return there > len ? there : len;
}

int nt_perfdata_peek(struct nt_perfdata *pd, uint64_t offset, size_t len, const uint8_t **p)
{
	struct nt_perfdata_source *s = &pd->source[pd->current];
	uint64_t at;
	int n;

	*p = pd->window;
	/* no file is that long */
	if (offset > INT64_MAX)
		return 0;
	if (pd->window_of != pd->current || offset < pd->window_at ||
	    offset + len > pd->window_at + pd->window_len) {
		pd->window_len = 0;
		n = nt_perfdata_source_read(pd, s, offset, pd->window,
					    window_wanted(s, offset, len));
		if (n < 0)
			return n;
		pd->window_of = pd->current;
		pd->window_at = offset;
		pd->window_len = n;
	}
	at = offset - pd->window_at;
	*p = pd->window + at;
	return pd->window_len - at < len ? pd->window_len - at : len;
}
