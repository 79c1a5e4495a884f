// SPDX-License-Identifier: GPL-2.0-only
/*
 * Output: millions of short lines, so the formatting is done by hand
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"

/* One command writes one output: the only state that the command shares */
static char buffer[1 << 16];
static size_t used;

/* The longest thing that is put at once without looking: a number */
#define ROOM	32

void out_flush(void)
{
	if (fwrite(buffer, 1, used, stdout) != used || fflush(stdout))
		die("cannot write: %s", strerror(errno));
	used = 0;
}

static inline void need(size_t room)
{
	if (sizeof(buffer) - used < room)
		out_flush();
}

void out_char(char c)
{
	need(1);
	buffer[used++] = c;
}

void out_str(const char *s)
{
	while (*s)
		out_char(*s++);
}

void out_hex(uint64_t value)
{
	unsigned int digits = value ? (67 - __builtin_clzll(value)) / 4 : 1;

	need(ROOM);
	while (digits--)
		buffer[used++] = "0123456789abcdef"[value >> (4 * digits) & 15];
}

void out_dec(uint64_t value)
{
	char text[ROOM], *p = text + ROOM;

	*--p = '\0';
	do
		*--p = (char)('0' + value % 10);
	while (value /= 10);
	out_str(p);
}

void out_trouble(const struct nt_event *ev)
{
	out_str(ev->kind == NT_EV_LOSS ? "# loss at 0x" : "# note at 0x");
	out_hex(ev->offset);
	out_str(": ");
	out_str(nt_strerror(ev->reason));
	if (ev->kind == NT_EV_LOSS && ev->reason == NT_EUNMAPPED) {
		out_str(" at ");
		out_hex(ev->to);
	}
	if (ev->flags & NT_EVF_PC) {
		out_str(", pc ");
		out_hex(ev->from);
	}
	if (ev->kind == NT_EV_LOSS) {
		out_str(", skipped ");
		out_dec(ev->skipped);
	}
	out_char('\n');
}
