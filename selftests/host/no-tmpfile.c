// SPDX-License-Identifier: GPL-2.0-only
/*
 * A library to be preloaded: open() as on NFS, where no file can be without a name. That it was
 * asked for one is written to the file that NO_TMPFILE_SEEN names.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static int refuse(void)
{
	const char *seen = getenv("NO_TMPFILE_SEEN");
	FILE *file = seen ? fopen(seen, "a") : NULL;

	if (file) {
		fputs("refused\n", file);
		fclose(file);
	}
	errno = EOPNOTSUPP;
	return -1;
}

int open(const char *path, int flags, ...)
{
	int (*real)(const char *path, int flags, ...) =
		(int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
	mode_t mode = 0;
	va_list ap;

	if ((flags & O_TMPFILE) == O_TMPFILE)
		return refuse();
	if (flags & O_CREAT) {
		va_start(ap, flags);
		mode = va_arg(ap, mode_t);
		va_end(ap);
	}
	return real(path, flags, mode);
}
