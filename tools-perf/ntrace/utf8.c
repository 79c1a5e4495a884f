// SPDX-License-Identifier: GPL-2.0-only
/*
 * Convert names to valid text. The kernel cuts the name of a thread at 15 bytes, maybe in the
 * middle of a character, and programs can set any name.
 */
#include <stdlib.h>
#include <string.h>

#include "cmd.h"

/* The number of bytes of the character at s; 0: invalid */
static unsigned int size_at(const char *s)
{
	const unsigned char *p = (const unsigned char *)s;
	unsigned int n = 0, i;

	if (*p < 0x80)
		n = 1;
	else if (*p >= 0xc2 && *p < 0xf5)
		n = *p < 0xe0 ? 2 : *p < 0xf0 ? 3 : 4;

	for (i = 1; i < n; i++)
		if (p[i] >> 6 != 2)
			return 0;
	/* overlong, surrogate, or beyond U+10FFFF */
	if ((*p == 0xe0 && p[1] < 0xa0) || (*p == 0xed && p[1] > 0x9f) ||
	    (*p == 0xf0 && p[1] < 0x90) || (*p == 0xf4 && p[1] > 0x8f))
		return 0;
	return n;
}

const char *utf8_text(const char *s, char **made)
{
	static const char replacement[] = "\xef\xbf\xbd";
	const char *p = s;
	unsigned int n;
	char *to;

	*made = NULL;
	while (*p && (n = size_at(p)))
		p += n;
	if (!*p)
		return s;
	*made = to = malloc(3 * strlen(s) + 1);
	if (!to)
		die("%s", nt_strerror(NT_ENOMEM));
	for (p = s; *p; p += n ? n : 1) {
		n = size_at(p);
		to = mempcpy(to, n ? p : replacement, n ? n : 3);
	}
	*to = '\0';
	return *made;
}

/* U+0080 to U+009F are control characters, too, which some terminals obey. */
char *utf8_plain(const char *s)
{
	char *made, *text, *p, *to;

	s = utf8_text(s, &made);
	text = made ? made : strdup(s);
	if (!text)
		die("%s", nt_strerror(NT_ENOMEM));
	for (p = to = text; *p; p++) {
		bool two = p[0] == '\xc2' && p[1] < '\xa0';

		*to++ = two || utf8_is_control(*p) ? '.' : *p;
		p += two;
	}
	*to = '\0';
	return text;
}

bool utf8_is_control(char c)
{
	return (unsigned char)c < ' ' || c == 0x7f;
}
