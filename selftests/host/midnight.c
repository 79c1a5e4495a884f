// SPDX-License-Identifier: GPL-2.0-only
/*
 * A library to be preloaded: it is the end of a day when a process asks for the time first, and
 * behind that the beginning of the next one.
 */
#include <time.h>

time_t time(time_t *to)
{
	static int asked;
	/* 2026-03-01 23:59:59 UTC */
	time_t now = 1772409599 + (asked++ ? 2 : 0);

	if (to)
		*to = now;
	return now;
}
