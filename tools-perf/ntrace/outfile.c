// SPDX-License-Identifier: GPL-2.0-only
/*
 * An output file gets its name when it is complete. Until then, the old file of that name stays.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd.h"

/* Name of the temporary file, which is removed if the command ends before the file is complete */
static char *unfinished;

static void remove_unfinished(void)
{
	if (unfinished)
		unlink(unfinished);
}

/*
 * Some file systems, such as NFS, do not support files without a name. The dot shows that the file
 * is temporary.
 */
static int open_named(struct outfile *o, const char *dir)
{
	static bool registered;
	mode_t mask = umask(0);
	int fd;

	umask(mask);
	if (asprintf(&o->beside, "%s/.ntrace.XXXXXX", dir) < 0)
		die("%s", nt_strerror(NT_ENOMEM));
	fd = mkostemp(o->beside, O_CLOEXEC);
	if (fd >= 0 && !*o->path)
		unlink(o->beside);
	if (fd < 0 || fchmod(fd, 0666 & ~mask) || !*o->path) {
		free(o->beside);
		o->beside = NULL;
		return fd;
	}
	unfinished = o->beside;
	if (!registered)
		atexit(remove_unfinished);
	registered = true;
	return fd;
}

/*
 * Make a file without a name in the folder of path, so that it disappears if the command ends in
 * any way. NFS does not support this.
 */
static int open_nameless(struct outfile *o, const char *path)
{
	const char *slash = strrchr(path, '/');
	char *dir = slash ? strndup(path, slash - path + 1) : strdup(".");
	int fd;

	if (!dir)
		die("%s", nt_strerror(NT_ENOMEM));
	fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
	if (fd < 0 && errno == EOPNOTSUPP)
		fd = open_named(o, dir);
	free(dir);
	return fd;
}

/* Write directly to a device or a FIFO. Returns true if path is one. "DIR/" is not. */
static bool open_special(struct outfile *o, const char *path)
{
	struct stat st;

	if (!path || !*path || path[strlen(path) - 1] == '/' || stat(path, &st) ||
	    S_ISREG(st.st_mode))
		return false;
	if (S_ISDIR(st.st_mode))
		die("%s: is a folder: name a file in it", path);
	o->fd = open(path, O_WRONLY | O_CLOEXEC);
	if (o->fd < 0)
		die_machine("%s: %s", path, strerror(errno));
	o->special = true;
	return true;
}

/* If path is a symbolic link, replace the file that it points to, and keep the link. */
static const char *follow_link(struct outfile *o, const char *path)
{
	struct stat st;

	if (path && *path && !lstat(path, &st) && S_ISLNK(st.st_mode))
		o->real = realpath(path, NULL);
	return o->real ? o->real : path;
}

void outfile_open(struct outfile *o, const char *path)
{
	const char *tmp = getenv("TMPDIR");
	char *beside = NULL;

	*o = (struct outfile){ .path = path, .fd = STDOUT_FILENO };
	if (open_special(o, path))
		return;
	o->path = path = follow_link(o, path);
	if (path && !*path && asprintf(&beside, "%s/", tmp && *tmp ? tmp : "/tmp") < 0)
		die("%s", nt_strerror(NT_ENOMEM));
	if (path)
		o->fd = open_nameless(o, beside ? beside : path);
	if (o->fd < 0)
		die_machine("%s: cannot make a file there: %s", beside ? beside : path,
			    strerror(errno));
	free(beside);
}

void outfile_bytes(struct outfile *o, const void *bytes, size_t len)
{
	const uint8_t *p = bytes;
	ssize_t n;

	o->written += len;
	while (len) {
		n = write(o->fd, p, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			die_machine("cannot write to %s: %s",
				    !o->path ? "standard output" : *o->path ? o->path : "TMPDIR",
				    strerror(errno));
		p += n;
		len -= n;
	}
}

static void close_named(struct outfile *o)
{
	/* NFS may report a failed write only here */
	if (close(o->fd) || rename(o->beside, o->path))
		die_machine("%s: %s", o->path, strerror(errno));
	unfinished = NULL;
	free(o->beside);
}

/* Give the file its name. An existing file is replaced atomically. */
void outfile_close(struct outfile *o)
{
	char *beside, from[32];
	int err;

	if (!o->path)
		return;
	if (o->special) {
		if (close(o->fd))
			die_machine("%s: %s", o->path, strerror(errno));
		return;
	}
	if (o->beside) {
		close_named(o);
		free(o->real);
		return;
	}
	snprintf(from, sizeof(from), "/proc/self/fd/%d", o->fd);
	if (asprintf(&beside, "%s.%d", o->path, getpid()) < 0)
		die("%s", nt_strerror(NT_ENOMEM));
	if (linkat(AT_FDCWD, from, AT_FDCWD, o->path, AT_SYMLINK_FOLLOW)) {
		if (errno != EEXIST ||
		    linkat(AT_FDCWD, from, AT_FDCWD, beside, AT_SYMLINK_FOLLOW))
			die_machine("%s: %s", o->path, strerror(errno));
		if (rename(beside, o->path)) {
			err = errno;
			unlink(beside);
			die_machine("%s: %s", o->path, strerror(err));
		}
	}
	free(beside);
	free(o->real);
	close(o->fd);
}

void outfile_copy(const char *from, const char *to)
{
	FILE *file = fopen(from, "re");
	static char buf[1 << 16];
	struct outfile o;
	size_t n;

	if (!file)
		die("%s: %s", from, strerror(errno));
	outfile_open(&o, to);
	while ((n = fread(buf, 1, sizeof(buf), file)))
		outfile_bytes(&o, buf, n);
	if (ferror(file))
		die("%s: %s", from, strerror(errno));
	fclose(file);
	outfile_close(&o);
}
