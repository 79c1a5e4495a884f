// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files to be sent wait in outbox/, named by the SHA-256 of their content. So the receiver can
 * check that a file is complete, and a file that is sent again after a kill is recognised as the
 * same.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "collect.h"
#include "edges.h"

/* Age in seconds of temporary files that nobody writes any more */
#define ABANDONED	(24 * 60 * 60)

static DIR *open_outbox(const struct collect *c, char **path)
{
	DIR *dir;

	*path = collect_path(c, "outbox");
	dir = opendir(*path);
	if (!dir)
		die("%s: %s", *path, strerror(errno));
	return dir;
}

uint64_t collect_send_waiting(const struct collect *c)
{
	struct dirent *d;
	uint64_t all = 0;
	struct stat st;
	char *path;
	DIR *dir = open_outbox(c, &path);

	while ((d = readdir(dir)))
		if (*d->d_name != '.' && !fstatat(dirfd(dir), d->d_name, &st, 0))
			all += st.st_size;
	closedir(dir);
	free(path);
	return all;
}

static void sync_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fsync(fd))
		die("%s: cannot be written to the disk: %s", path, strerror(errno));
	close(fd);
}

/*
 * Copy the file if it is on another disk. Also copy the target of a link, because it is not ours to
 * move.
 */
static void move(const struct collect *c, const char *from, const char *to)
{
	char *copy;
	struct stat st;

	if (!lstat(from, &st) && !S_ISLNK(st.st_mode)) {
		if (!rename(from, to))
			return;
		if (errno != EXDEV)
			die("%s: cannot be moved to %s: %s", from, to, strerror(errno));
	}
	copy = collect_path(c, "recording");
	outfile_copy(from, copy);
	sync_file(copy);
	if (rename(copy, to))
		die("%s: %s", to, strerror(errno));
	free(copy);
}

static bool is_too_large(const struct collect *c, const char *path)
{
	struct stat st;

	if (stat(path, &st))
		die("%s: %s", path, strerror(errno));
	if ((uint64_t)st.st_size <= c->day)
		return false;
	warn("%s has %" PRIu64 " bytes, more than may be sent in a day (--day)", path,
	     (uint64_t)st.st_size);
	return true;
}

/* Sync the content to the disk first, because the new name promises it. */
bool collect_send_add(const struct collect *c, const char *path, const char *suffix)
{
	char *waiting, hex[EDGES_SHA256_HEX], *to;
	uint8_t id[EDGES_SHA256];

	if (is_too_large(c, path))
		return false;
	waiting = collect_path(c, "outbox");
	edges_sha256_file(path, id);
	edges_sha256_hex(id, hex);
	if (asprintf(&to, "%s/%s.%s", waiting, hex, suffix) < 0)
		die("%s", nt_strerror(NT_ENOMEM));
	sync_file(path);
	move(c, path, to);
	free(to);
	free(waiting);
	return true;
}

/* ------------------------------------------------------------------ the way --- */

static const char *copy_bytes(int from, int to)
{
	static char buf[1 << 16];
	ssize_t n, done, put;

	while ((n = read(from, buf, sizeof(buf))) > 0)
		for (done = 0; done < n; done += put) {
			put = write(to, buf + done, n - done);
			if (put < 0)
				return strerror(errno);
		}
	if (n < 0 || fchmod(to, 0644) || fsync(to))
		return strerror(errno);
	return NULL;
}

/*
 * Returns NULL, or an error text. The file gets its name when it is complete. Until then, it has a
 * unique name, in case another host uses our host name by mistake.
 */
static const char *copy_file(const char *from, char *beside, const char *to)
{
	int in = open(from, O_RDONLY | O_CLOEXEC), out;
	const char *wrong;

	if (in < 0)
		die("%s: %s", from, strerror(errno));
	out = mkostemp(beside, O_CLOEXEC);
	if (out < 0) {
		wrong = strerror(errno);
		close(in);
		return wrong;
	}
	wrong = copy_bytes(in, out);
	close(in);
	if (close(out) && !wrong)
		wrong = strerror(errno);
	if (!wrong && rename(beside, to))
		wrong = strerror(errno);
	if (wrong)
		unlink(beside);
	return wrong;
}

/* incoming/ belongs to the owner of the spool, and our folder in it belongs to us. */
static const char *make_folder(const char *path)
{
	return mkdir(path, 0777) && errno != EEXIST ? strerror(errno) : NULL;
}

/* Remove what killed senders have left. If this host may not list the folder, leave it. */
static void remove_abandoned(const char *folder)
{
	time_t now = time(NULL);
	struct dirent *d;
	struct stat st;
	DIR *dir = opendir(folder);

	while (dir && (d = readdir(dir)))
		if (!strncmp(d->d_name, ".ntrace.", 8) &&
		    !fstatat(dirfd(dir), d->d_name, &st, AT_SYMLINK_NOFOLLOW) &&
		    st.st_mtime < now - ABANDONED)
			unlinkat(dirfd(dir), d->d_name, 0);
	if (dir)
		closedir(dir);
}

static const char *send_one(struct collect *c, const char *name, const char *from, uint64_t size)
{
	char *folder, *beside, *to;
	const char *wrong;

	if (asprintf(&folder, "%s/incoming/%s", c->spool, c->host) < 0 ||
	    asprintf(&beside, "%s/.ntrace.XXXXXX", folder) < 0 ||
	    asprintf(&to, "%s/%s", folder, name) < 0)
		die("%s", nt_strerror(NT_ENOMEM));
	wrong = make_folder(folder);
	if (!wrong) {
		remove_abandoned(folder);
		collect_budget_charge(c, size);
		wrong = copy_file(from, beside, to);
		if (wrong)
			collect_budget_give_back(c, size);
	}
	if (wrong)
		warn("%s: %s: it is sent the next time", to, wrong);
	else if (unlink(from))
		die("%s: %s", from, strerror(errno));
	free(folder);
	free(beside);
	free(to);
	return wrong;
}

bool collect_send_drop(const struct collect *c)
{
	bool dropped = false;
	struct dirent *d;
	struct stat st;
	char *path;
	DIR *dir = open_outbox(c, &path);

	while ((d = readdir(dir))) {
		if (*d->d_name == '.' || fstatat(dirfd(dir), d->d_name, &st, 0) ||
		    (uint64_t)st.st_size <= c->day)
			continue;
		warn("%s/%s has %" PRIu64 " bytes, more than may be sent in a day: dropped (--day)", path,
		     d->d_name, (uint64_t)st.st_size);
		if (unlinkat(dirfd(dir), d->d_name, 0))
			die("%s/%s: %s", path, d->d_name, strerror(errno));
		dropped = true;
	}
	closedir(dir);
	free(path);
	return dropped;
}

bool collect_send_all(struct collect *c)
{
	const char *wrong = NULL;
	struct dirent *d;
	struct stat st;
	char *path, *from;
	DIR *dir = open_outbox(c, &path);

	while (!wrong && (d = readdir(dir))) {
		if (*d->d_name == '.' || fstatat(dirfd(dir), d->d_name, &st, 0) ||
		    c->used + st.st_size > c->day)
			continue;
		if (asprintf(&from, "%s/%s", path, d->d_name) < 0)
			die("%s", nt_strerror(NT_ENOMEM));
		wrong = send_one(c, d->d_name, from, st.st_size);
		free(from);
	}
	closedir(dir);
	free(path);
	return !wrong;
}
