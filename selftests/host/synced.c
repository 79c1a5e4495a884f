// SPDX-License-Identifier: GPL-2.0-only
/*
 * A library to be preloaded: each rename() adds a line to the file that SYNCED_SEEN names, which
 * says whether the last fsync() or fdatasync() before was of the renamed file.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char last[PATH_MAX];

static int sync_as(const char *name, int fd)
{
	int (*real)(int fd) = (int (*)(int))dlsym(RTLD_NEXT, name);
	char link[64];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, last, sizeof(last) - 1);
	last[n > 0 ? n : 0] = '\0';
	return real(fd);
}

int fsync(int fd)
{
	return sync_as("fsync", fd);
}

int fdatasync(int fd)
{
	return sync_as("fdatasync", fd);
}

int rename(const char *from, const char *to)
{
	int (*real)(const char *from, const char *to) =
		(int (*)(const char *, const char *))dlsym(RTLD_NEXT, "rename");
	const char *seen = getenv("SYNCED_SEEN");
	FILE *file = seen ? fopen(seen, "a") : NULL;
	char path[PATH_MAX];

	if (file) {
		fprintf(file, "%s %s\n", realpath(from, path) && !strcmp(path, last) ?
			"synced" : "not-synced", to);
		fclose(file);
	}
	return real(from, to);
}
