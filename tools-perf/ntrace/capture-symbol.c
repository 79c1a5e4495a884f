// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel's symbols. Reading the list takes long, so it is read only once.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture.h"
#include "cmd.h"

#define CHUNK	((size_t)64 << 10)

/* Read a file of /proc, whose size is unknown until its end, and append a NUL. */
int capture_read_file(const char *path, struct capture_bytes *b)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err = 0;
	uint8_t chunk[CHUNK];
	ssize_t n = -1;

	b->len = 0;
	if (fd < 0)
		return -errno;
	while ((n = read(fd, chunk, sizeof(chunk))) > 0)
		capture_put(b, chunk, n);
	if (n < 0)
		err = -errno;
	close(fd);
	capture_put(b, "", 1);
	return err;
}

static uint64_t take_hex(const char **p)
{
	uint64_t val = 0;

	for (;; (*p)++) {
		if (**p >= '0' && **p <= '9')
			val = val << 4 | (**p - '0');
		else if (**p >= 'a' && **p <= 'f')
			val = val << 4 | (**p - 'a' + 10);
		else
			return val;
	}
}

/*
 * Parse the next line, "ADDRESS TYPE NAME [MODULE]", and move *at past it. Returns false at the
 * end.
 */
bool capture_symbol_next(const char **at, struct capture_symbol *s)
{
	const char *p = *at, *end = strchrnul(p, '\n');

	if (!*p)
		return false;
	s->addr = take_hex(&p);
	s->name = p + 3 < end ? p + 3 : end;
	s->len = strcspn(s->name, " \t\n");
	s->module = memchr(s->name + s->len, '[', end - s->name - s->len);
	*at = *end ? end + 1 : end;
	return true;
}

const char *capture_symbols(struct capture *c)
{
	if (!c->kallsyms.len && capture_read_file("/proc/kallsyms", &c->kallsyms))
		capture_put(&c->kallsyms, "", 1);
	return (const char *)c->kallsyms.p;
}
