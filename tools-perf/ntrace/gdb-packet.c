// SPDX-License-Identifier: GPL-2.0-only
/*
 * GDB's remote serial protocol: the encoding of packets, for a client and for a server
 */
#include <string.h>

#include "gdb.h"

unsigned int gdb_checksum(const char *text, size_t len)
{
	unsigned int sum = 0;

	while (len--)
		sum += (unsigned char)*text++;
	return sum & 0xff;
}

bool gdb_unhex(const char *text, size_t bytes, uint64_t *value)
{
	static const char digits[] = "0123456789abcdef";
	uint64_t v = 0;

	if (bytes > 8)
		return false;
	for (size_t i = 2 * bytes; i; i -= 2) {
		const char *high, *low;

		if (!text[i - 1] || !text[i - 2])
			return false;
		high = strchr(digits, text[i - 2] | 0x20);
		low = strchr(digits, text[i - 1] | 0x20);
		if (!high || !low)
			return false;
		v = v << 8 | (uint64_t)((high - digits) << 4 | (low - digits));
	}
	*value = v;
	return true;
}

int gdb_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool gdb_number(const char **text, uint64_t *value)
{
	const char *p = *text;

	for (*value = 0; gdb_digit(*p) >= 0; p++) {
		if (*value >> 60)
			return false;
		*value = *value << 4 | (uint64_t)gdb_digit(*p);
	}
	if (p == *text)
		return false;
	*text = p;
	return true;
}

bool gdb_is_special(char c)
{
	return c == '$' || c == '#' || c == '}' || c == '*';
}

int gdb_take(struct gdb_taker *t, char c)
{
	int digit = gdb_digit(c);

	switch (t->state) {
	case GDB_BETWEEN:
		if (c == '$') {
			t->state = GDB_BODY;
			t->len = t->sum = 0;
		}
		return c == '\003' ? GDB_BREAK : c == '-' ? GDB_AGAIN : GDB_MORE;
	case GDB_BODY:
		if (c == '#') {
			t->state = GDB_FIRST;
			return GDB_MORE;
		}
		/* the packet before was cut off */
		if (c == '$') {
			t->len = t->sum = 0;
			return GDB_MORE;
		}
		t->sum += (unsigned char)c;
		if (c == '}') {
			t->state = GDB_ESCAPED;
			return GDB_MORE;
		}
		break;
	case GDB_ESCAPED:
		t->state = GDB_BODY;
		t->sum += (unsigned char)c;
		c ^= 0x20;
		break;
	case GDB_FIRST:
		t->told = (unsigned int)(digit < 0 ? 0x100 : digit << 4);
		t->state = GDB_SECOND;
		return GDB_MORE;
	case GDB_SECOND:
		t->state = GDB_BETWEEN;
		if (t->len >= t->room || digit < 0 ||
		    (t->told | (unsigned int)digit) != (t->sum & 0xff))
			return GDB_BAD;
		t->body[t->len] = '\0';
		return GDB_PACKET;
	}
	/* a packet that is too long is refused at its end */
	if (t->len < t->room)
		t->body[t->len++] = c;
	return GDB_MORE;
}
